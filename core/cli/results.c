/* results.c -- what each E_... code of an error means, for people.
 *
 * The names are enum mortise_result's (base/err.c); a test holds the two lists
 * together.  Programs act upon a code, people upon the words beside it: an
 * explanation says what all the errors of a code have in common, and what one
 * does about them. */
#include "cli/results.h"

const struct mortise_code mortise_result_codes[] = {
    {"E_NO_MEMORY", "out of memory",
     "An allocation was refused.  What was recorded before it stays recorded; "
     "give the process more memory, or smaller files and states, and resume.",
     "$ (ulimit -v 20000; mortise show RUN)\n"
     "mortise: out of memory (E_NO_MEMORY)\n"},
    {"E_IO", "the disk or the system said no",
     "Reading or writing failed for a reason that the words name.  After a "
     "failed write nothing more is written with that handle: the store is "
     "opened anew, and runs go on from what is known to be on disk.",
     "$ mortise version >/dev/full\n"
     "mortise: write the output: No space left on device\n"},
    {"E_INVALID", "input that breaks its rules",
     "An argument, a value or a message is not what belongs there.  Asking "
     "again the same way will not help.",
     "$ mortise runs --limit ten\n"
     "mortise: --limit: 'ten' is not a whole number\n"},
    {"E_NOT_FOUND", "no such run, checkpoint or file",
     "Nothing of that name is there, or it is another tenant's.  `mortise "
     "runs` lists what there is; the beginning of an id is enough when it "
     "begins one run only.",
     "$ mortise show 0197\n"
     "mortise: no run '0197' in the store ./.mortise (E_NOT_FOUND)\n"},
    {"E_CHECK", "a file has findings",
     "They were printed before, each with its place and its code, and "
     "`mortise explain` has more about each code.",
     "$ mortise run broken.yaml\n"
     "broken.yaml:6:9: error[E0207]: ...\n"},
    {"E_CONFIG", "the configuration cannot work as written",
     "The deployment names something that is not there or does not fit: a "
     "directory, a plugin, a configuration that a plugin refuses.",
     "$ mortise run a.yaml --deployment elsewhere.yaml\n"},
    {"E_FORMAT", "of a format that this version does not read",
     "A later version wrote the store or the file, or a development version "
     "before 0.2.0.  It was left untouched; use the version that wrote it.",
     "$ mortise-0.1 runs --store made-by-0.9\n"},
    {"E_STORE_CORRUPT", "the store contradicts itself",
     "Records are missing or damaged, which no crash of ours can cause: look "
     "at the disk, and restore a backup, or have 'mortise store salvage' write "
     "what can be read into a new store.  Nothing was written, and nobody "
     "writes to it; 'runs', 'show' and their like look at a copy.",
     "$ rm .mortise/db/000005.log; mortise runs\n"},
    {"E_STORE_BUSY", "another process holds the store",
     "It holds the lock and does not answer on its control socket, so it is "
     "starting, stopping or stuck.  The words name its process id.",
     "$ mortise runs\n"
     "mortise: the store .mortise is held by process 4711 (E_STORE_BUSY)\n"},
    {"E_NOT_ALLOWED", "trust, permission or actor refuses",
     "A signature that no trusted key made, a file of somebody else, a plugin "
     "that may not do this, or a decision that is not yours to take.",
     "$ mortise plugin verify acme.pay\n"},
    {"E_CONFLICT", "somebody else moved the run first",
     "Two commands met.  One was applied, this one changed nothing: look at "
     "the run and decide anew.",
     "$ mortise resume RUN & mortise resume RUN\n"},
    {"E_EXISTS", "a run of that id exists",
     "Ids are never used twice, pruned runs included.  Leave --id out, or "
     "choose another.",
     "$ mortise run a.yaml --id r; mortise run a.yaml --id r\n"},
    {"E_UNKNOWN_NODE", "the run's graph has no such node",
     "Nothing was recorded.  A run keeps the graph that it started with: "
     "`mortise show RUN` lists its nodes.",
     "$ mortise resume RUN --goto nowhere\n"},
    {"E_DECISION_MISMATCH", "a decision that fits no pending request",
     "The request is unknown, settled or expired, or what would run is not "
     "what was approved.  Of a settled one the words say how, and by whom.  "
     "`mortise inbox` shows what is pending now.",
     "$ mortise approve RUN 8f31c09a; mortise approve RUN 8f31c09a\n"},
    {"E_DECISION_INVALID", "a decision that is none",
     "A request of this kind cannot be settled this way: tool calls take "
     "--args and --digest, questions take --answer.",
     "$ mortise approve RUN 8f31c09a --answer 12   # of a tool call\n"},
    {"E_IN_DOUBT", "an effect may or may not have happened",
     "An effect began, and nothing says how it ended: the process died, time "
     "ran out, a connection was lost, a server failed in the middle, the call "
     "was told to stop.  The plugin can neither repeat it safely nor find "
     "out.  `mortise why RUN` says which it was.  Look at the world and say "
     "what "
     "became of it.  An update or a goto is refused with this while such an "
     "effect is under way: it is not stopped for that; wait for it, or pause "
     "the run first.",
     "$ mortise resume RUN\n"
     "$ mortise resolve RUN ID --done '{\"id\": \"re_123\"}'   # or --retry, "
     "--fail\n"},
    {"E_BLOCKED", "a plugin of the run is missing, has changed or is deadly",
     "A run goes on with the very plugins that it started with, and with the "
     "definitions of MCP tools that mortise.lock had then.  Put the old "
     "version back, or accept the change.  A graph that a later version of "
     "Mortise does not take any more runs on with the one that took it.  Where "
     "a plugin took the process down three times in one node of the run, "
     "install a version that does not, or let this one try again; `mortise "
     "why RUN` says which.",
     "$ mortise resume RUN --accept-plugins\n"
     "$ mortise plugin unquarantine acme.pay && mortise resume RUN\n"},
    {"E_NOT_AVAILABLE", "not in this build",
     "The design has it and this build does not; ignoring it would be worse.  "
     "A later version may have it.",
     "$ mortise check uses-memory.yaml\n"},
    {"E_DETERMINISM", "a replay asked for something else",
     "A plugin that was entered again did not repeat what it did before: "
     "between asks it must be a function of its request and of the answers.  "
     "This is an error in the plugin.",
     "$ mortise resume RUN\n"},
    {"E_LIMIT", "a declared bound was passed",
     "A size, a count or a cost is beyond what the graph, the deployment or "
     "the format allows; the words name the bound.  Or no file descriptor was "
     "left: raise `ulimit -n` (LimitNOFILE= of a service).  Calls of a run "
     "wait "
     "for one; nothing is paused.",
     "$ mortise run a.yaml --input @65MiB.json\n"},
    {"E_STATE", "not in this state",
     "The thing exists and cannot do this now; the words say how it stands.",
     "$ mortise cancel RUN   # which has ended\n"
     "$ mortise pause RUN    # which has ended\n"},
    {"E_NO_SPACE", "the disk is full",
     "Nothing that was acknowledged is lost.  Make room, then resume.",
     "$ mortise run a.yaml\n"},
    {"E_STALE_TOKEN", "a spawn handle was claimed again",
     "Whoever holds this token was thought dead, and somebody else claimed the "
     "handle since.  What it did for the child is not undone; it has nothing "
     "more to say of it.  Claim again to go on.",
     NULL},
    {"E_ALREADY_SETTLED", "a spawn handle is settled already",
     "It ended with another status or result, or was abandoned when its run "
     "ended.  The first word holds; claim it to read that.",
     NULL},
    {"E_NOT_RUNNING", "a spawn handle has no child yet",
     "A child is registered before it is dispatched or settled.", NULL},
    {"E_ALREADY_REGISTERED", "the handle has a child, or the child a handle",
     "A handle has one child and a child one handle.  A run that has spawned "
     "something, or from which the handle's own run descends, cannot become "
     "one.",
     NULL},
    {"E_STALE_ATTEMPT", "the child makes another attempt by now",
     "What was said is about an attempt that is over, or never was: it is "
     "refused as a whole.  Look which attempt it makes, and say it again if it "
     "still holds.",
     NULL},
};

const size_t mortise_n_result_codes =
    sizeof mortise_result_codes / sizeof mortise_result_codes[0];
