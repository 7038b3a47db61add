/* results.c -- what each E_... code of an error means, for people.
 *
 * The names are enum mortise_result's (base/err.c); a test holds the two lists
 * together.  Programs act upon a code, people upon the words beside it: an
 * explanation says what all the errors of a code have in common, and what one
 * does about them. */
#include "cli/results.h"

const struct mortise_code mortise_result_codes[] = {
    {"E_NO_MEMORY", "out of memory",
     "The system refused an allocation.  Everything that was already recorded "
     "stays recorded.  Give the process more memory, or use smaller files and "
     "states, then resume.",
     "$ (ulimit -v 20000; mortise show RUN)\n"
     "mortise: out of memory (E_NO_MEMORY)\n"},
    {"E_IO", "an error of the disk or the system",
     "Reading or writing failed.  The message names the cause.  After a failed "
     "write, Mortise closes the store and opens it again.  Runs continue from "
     "the data that is known to be on disk.",
     "$ mortise version >/dev/full\n"
     "mortise: write the output: No space left on device\n"},
    {"E_INVALID", "invalid input",
     "An argument, a value or a message breaks the rules for its place.  "
     "Correct the input, because the same input always fails.",
     "$ mortise runs --limit ten\n"
     "mortise: --limit: 'ten' is not a whole number\n"},
    {"E_NOT_FOUND", "no such run, checkpoint or file",
     "Nothing has this name, or the object belongs to another tenant.  "
     "`mortise runs` lists the runs.  The beginning of an id is enough if no "
     "other run begins with it.",
     "$ mortise show 0197\n"
     "mortise: no run '0197' in the store ./.mortise (E_NOT_FOUND)\n"},
    {"E_CHECK", "a file has findings",
     "The findings are printed before this error, each with its place and its "
     "code.  `mortise explain CODE` explains a code.",
     "$ mortise run broken.yaml\n"
     "broken.yaml:6:9: error[E0207]: ...\n"},
    {"E_CONFIG", "the configuration cannot work as written",
     "The deployment names something that does not exist or does not fit: a "
     "directory, a plugin, or a configuration that a plugin rejects.",
     "$ mortise run a.yaml --deployment elsewhere.yaml\n"},
    {"E_FORMAT", "a format that this version does not read",
     "A later version, or a development version before 0.2.0, wrote the store "
     "or the file.  Mortise has not changed it.  Use the version that wrote "
     "it.",
     "$ mortise-0.1 runs --store made-by-0.9\n"},
    {"E_STORE_CORRUPT", "the store contradicts itself",
     "Records are missing or damaged.  A crash of Mortise cannot cause this: "
     "check the disk.  Restore a backup, or let 'mortise store salvage' write "
     "the readable data into a new store.  Nothing was written, and every "
     "write to this store fails.  'runs', 'show' and other commands that only "
     "read work on a copy of the store.",
     "$ rm .mortise/db/000005.log; mortise runs\n"},
    {"E_STORE_BUSY", "another process holds the store",
     "Only one process at a time holds a store.  Other commands reach the "
     "store through the control socket of this process, so they seldom get "
     "this error.  You get it if you start a second engine on the store "
     "(`mortise engine`, or a program with libmortise).  You also get it if a "
     "command such as `mortise store salvage` needs the store for itself.  The "
     "third cause is that the process which holds the store does not answer, "
     "because it is starting, stopping, overloaded or stuck.  The message "
     "contains the id of this process.  Stop this process, use another store, "
     "or try again.",
     "$ mortise runs\n"
     "mortise: the store .mortise is held by process 4711 (E_STORE_BUSY)\n"},
    {"E_NOT_ALLOWED", "trust, permission or actor refuses",
     "No trusted key made the signature, the file belongs to another user, the "
     "plugin has no permission for this, or the decision is reserved for "
     "another person.",
     "$ mortise plugin verify acme.pay\n"},
    {"E_CONFLICT", "another command changed the run first",
     "Two commands wanted to change the run at the same time.  Mortise applied "
     "the other command, and this command changed nothing.  Look at the run "
     "and decide again.",
     "$ mortise resume RUN & mortise resume RUN\n"},
    {"E_EXISTS", "a run of that id exists",
     "Ids are never used twice, not even after a run is pruned.  Omit --id, or "
     "choose another id.",
     "$ mortise run a.yaml --id r; mortise run a.yaml --id r\n"},
    {"E_UNKNOWN_NODE", "the run's graph has no such node",
     "Nothing was recorded.  A run keeps the graph that it started with.  "
     "`mortise show RUN` lists its nodes.",
     "$ mortise resume RUN --goto nowhere\n"},
    {"E_DECISION_MISMATCH", "a decision that fits no pending request",
     "The request is unknown, settled or expired, or the call has changed "
     "since it was shown.  For a settled request, the message names the "
     "decision and the person.  `mortise inbox` lists the pending requests.",
     "$ mortise approve RUN 8f31c09a; mortise approve RUN 8f31c09a\n"},
    {"E_DECISION_INVALID", "an invalid decision",
     "This decision does not fit the kind of the request.  Only a tool call "
     "accepts --args and --digest, and only a question accepts --answer.",
     "$ mortise approve RUN 8f31c09a --answer 12   # of a tool call\n"},
    {"E_IN_DOUBT", "an effect may or may not have happened",
     "An effect began, but its outcome is unknown: the process died, time ran "
     "out, a connection was lost, a server failed in the middle, or the call "
     "was cancelled.  The plugin can neither repeat the effect safely nor find "
     "out whether it happened.  `mortise why RUN` names the effect.  Check "
     "whether the effect happened, then settle it with `mortise resolve`.  An "
     "update or a goto fails with this code while an effect is in flight, "
     "because neither of them stops the effect.  Wait for the effect, or pause "
     "the run first.",
     "$ mortise resume RUN\n"
     "$ mortise resolve RUN ID --done '{\"id\": \"re_123\"}'   # or --retry, "
     "--fail\n"},
    {"E_BLOCKED", "a plugin of the run is missing, has changed or is deadly",
     "A run continues only with the plugins that it started with, and with the "
     "definitions of MCP tools that mortise.lock had then.  Install the old "
     "version again, or accept the change.  If this version of Mortise rejects "
     "the graph, continue the run with the version that started it.  If a "
     "plugin crashed the process three times in one node of the run, install a "
     "version that does not crash, or end the plugin's quarantine.  `mortise "
     "why RUN` names the cause.",
     "$ mortise resume RUN --accept-plugins\n"
     "$ mortise plugin unquarantine acme.pay && mortise resume RUN\n"},
    {"E_NOT_AVAILABLE", "not in this build",
     "This build does not implement the feature.  Mortise reports that, "
     "because ignoring the feature would be worse.  A later version may "
     "implement it.",
     "$ mortise check uses-memory.yaml\n"},
    {"E_DETERMINISM", "a replay asked for something else",
     "After a re-entry, the plugin did not repeat its earlier asks.  Between "
     "its asks, a plugin must be a function of its request and the answers.  "
     "This is a bug of the plugin.",
     "$ mortise resume RUN\n"},
    {"E_LIMIT", "a declared limit was exceeded",
     "A size, a count or a cost exceeds what the graph, the deployment or the "
     "format allows.  The message names the limit.  Or the process has no file "
     "descriptor left: raise `ulimit -n` (LimitNOFILE= of a service).  The "
     "calls of a run then wait for a descriptor, and the run does not pause.",
     "$ mortise run a.yaml --input @65MiB.json\n"},
    {"E_STATE", "not possible in this state",
     "The object exists but cannot do this in its current state.  The message "
     "names the state.",
     "$ mortise cancel RUN   # which has ended\n"
     "$ mortise pause RUN    # which has ended\n"},
    {"E_NO_SPACE", "the disk is full",
     "No acknowledged data is lost.  Free space on the disk, then resume.",
     "$ mortise run a.yaml\n"},
    {"E_STALE_TOKEN", "a spawn handle was claimed again",
     "Another process claimed the handle, because the holder of this token "
     "seemed to be dead.  Everything that the old holder did for the child "
     "stays, but the old holder can no longer report.  Claim the handle again "
     "to continue.",
     NULL},
    {"E_ALREADY_SETTLED", "a spawn handle is settled already",
     "The handle already has a different status or result, or it was abandoned "
     "when its run ended.  The first result is final.  Claim the handle to "
     "read it.",
     NULL},
    {"E_NOT_RUNNING", "a spawn handle has no child yet",
     "Register a child before you dispatch or settle it.", NULL},
    {"E_ALREADY_REGISTERED", "the handle has a child, or the child a handle",
     "A handle has one child, and a child has one handle.  A run cannot become "
     "a child if it has spawned something, or if the run of the handle "
     "descends from it.",
     NULL},
    {"E_STALE_ATTEMPT", "the child is in another attempt",
     "The report belongs to an attempt that has ended or never existed.  "
     "Mortise rejects it as a whole.  Read the current attempt, and report "
     "again if the report still applies.",
     NULL},
};

const size_t mortise_n_result_codes =
    sizeof mortise_result_codes / sizeof mortise_result_codes[0];
