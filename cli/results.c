/* results.c -- explanations of the E_... error codes.
 *
 * The names are those of enum mortise_result (core/base/err.c); a test compares
 * both lists.  An explanation describes the common cause of all errors with
 * this code, and how to fix them; the error's message has the details. */
#include "cli/results.h"

const struct mortise_code mortise_result_codes[] = {
    {"E_NO_MEMORY", "out of memory",
     "The process could not allocate memory.  Everything that was already "
     "recorded stays recorded.  Give the process more memory, or use smaller "
     "files and states, then resume.",
     "$ (ulimit -v 20000; mortise show RUN)\n"
     "mortise: out of memory (E_NO_MEMORY)\n"},
    {"E_IO", "an error of the disk or the system",
     "Reading or writing failed.  The message names the cause.  After a failed "
     "write, Mortise closes the store and opens it again.  Runs continue from "
     "the data that is known to be on disk.",
     "$ mortise version >/dev/full\n"
     "mortise: write the output: No space left on device\n"},
    {"E_INVALID", "invalid input",
     "An argument, or a value in a file or a request, is not valid.  Correct "
     "the input before you try again.",
     "$ mortise runs --limit ten\n"
     "mortise: --limit: 'ten' is not a whole number\n"},
    {"E_NOT_FOUND", "no such run, checkpoint or file",
     "Nothing has this name or id, or the object belongs to another tenant "
     "(--tenant).  `mortise runs` lists the runs.  The beginning of an id is "
     "enough if no other run's id begins with it.",
     "$ mortise show 0197\n"
     "mortise: no run '0197' in the store ./.mortise (E_NOT_FOUND)\n"},
    {"E_CHECK", "a file has findings",
     "The findings are printed before this error, each with its place and its "
     "code.  `mortise explain CODE` explains each code.",
     "$ mortise run broken.yaml\n"
     "broken.yaml:6:9: error[E0207]: ...\n"},
    {"E_CONFIG", "the configuration cannot work as written",
     "The deployment names a directory or a plugin that does not exist, or has "
     "a configuration that a plugin rejects.",
     "$ mortise run a.yaml --deployment elsewhere.yaml\n"},
    {"E_FORMAT", "a format that this version does not read",
     "A later version, or a development version before 0.2.0, wrote the store "
     "or the file.  Mortise has not changed it.  Use the version that wrote "
     "it.",
     "$ mortise-0.1 runs --store made-by-0.9\n"},
    {"E_STORE_CORRUPT", "the store contradicts itself",
     "Records are missing or damaged.  A crash of Mortise cannot cause this: "
     "check the disk.  Restore a backup, or let `mortise store salvage` copy "
     "the readable data into a new store.  Mortise changed nothing in the "
     "damaged store, and every command that writes to it fails.  Commands that "
     "only read, such as `runs` and `show`, work on a copy of the store.",
     "$ rm .mortise/db/000005.log; mortise runs\n"},
    {"E_STORE_BUSY", "another process holds the store",
     "Only one process at a time can hold (have open) a store.  Other commands "
     "reach the store through the control socket of this process, so they "
     "seldom get this error.  There are three causes.  You start a second "
     "engine on the store (`mortise engine`, or a program with libmortise).  "
     "Or a command such as `mortise store salvage` needs the store for itself. "
     " Or the process that holds the store does not answer, because it is "
     "starting, stopping, overloaded or stuck.  The message contains the id of "
     "this process.  Stop this process, use another store, or try again.",
     "$ mortise runs\n"
     "mortise: the store .mortise is held by process 4711 (E_STORE_BUSY)\n"},
    {"E_NOT_ALLOWED", "a signature, permission or actor was refused",
     "There are five causes.  No trusted key made the signature of a plugin.  "
     "A file belongs to another user, or others can write to it.  The plugin "
     "has no permission for what it tried to do.  The decision is reserved for "
     "another person.  Or Mortise found a deployment that you have not allowed "
     "(`mortise config allow FILE`).  The message names the cause.",
     "$ mortise plugin verify acme.pay\n"},
    {"E_CONFLICT", "another command changed the run first",
     "Two commands wanted to change the run at the same time.  Mortise applied "
     "the other command, and this command changed nothing.  Look at the run "
     "(`mortise show RUN`), then decide whether to repeat this command.",
     "$ mortise resume RUN & mortise resume RUN\n"},
    {"E_EXISTS", "a run of that id exists",
     "Mortise never uses an id twice, not even after the run was removed.  "
     "Omit --id, or choose another id.",
     "$ mortise run a.yaml --id r; mortise run a.yaml --id r\n"},
    {"E_UNKNOWN_NODE", "the run's graph has no such node",
     "The command changed nothing.  A run keeps the graph that it started "
     "with.  `mortise show RUN` lists the nodes of this graph.",
     "$ mortise resume RUN --goto nowhere\n"},
    {"E_DECISION_MISMATCH", "a decision that fits no pending request",
     "The request is unknown, settled or expired, or the call has changed "
     "since you saw the request.  For a settled request, the message names the "
     "decision and the person who made it.  `mortise inbox` lists the pending "
     "requests.",
     "$ mortise approve RUN 8f31c09a; mortise approve RUN 8f31c09a\n"},
    {"E_DECISION_INVALID", "an invalid decision",
     "This decision does not fit the kind of the request.  Only a request for "
     "a tool call accepts --args and --digest, and only a question accepts "
     "--answer.",
     "$ mortise approve RUN 8f31c09a --answer 12   # of a tool call\n"},
    {"E_IN_DOUBT", "an effect may or may not have happened",
     "An effect began, but its outcome is unknown: the process died, time ran "
     "out, a connection was lost, a server failed in the middle, or the call "
     "was cancelled.  The plugin can neither repeat the effect safely nor find "
     "out whether it happened.  `mortise why RUN` names the effect.  Check "
     "whether the effect happened, then settle it with `mortise resolve`.  An "
     "update or a goto also fails with this code while an effect is in flight, "
     "because the command would not stop the effect.  Wait for the end of the "
     "effect, or pause the run first.",
     "$ mortise resume RUN\n"
     "$ mortise resolve RUN ID --done '{\"id\": \"re_123\"}'   # or --retry, "
     "--fail\n"},
    {"E_BLOCKED", "a plugin of the run is missing, has changed or crashes",
     "A run continues only with the plugins that it started with, and with the "
     "definitions of MCP tools that mortise.lock contained at its start.  "
     "Install the old version again, or accept the change (`mortise resume RUN "
     "--accept-plugins`).  If this version of Mortise rejects the graph, "
     "continue the run with the version that started it.  If a plugin crashed "
     "the process three times in one node of the run, install a version that "
     "does not crash, or end the plugin's quarantine.  `mortise why RUN` names "
     "the cause.",
     "$ mortise resume RUN --accept-plugins\n"
     "$ mortise plugin unquarantine acme.pay && mortise resume RUN\n"},
    {"E_NOT_AVAILABLE", "not in this build",
     "This build does not implement the feature.  A later version may "
     "implement it.",
     "$ mortise check uses-memory.yaml\n"},
    {"E_DETERMINISM", "a replay asked for something else",
     "After an interruption, the engine calls the plugin again (a re-entry).  "
     "The plugin must then repeat its earlier requests to the host in the "
     "same order.  It did not.  Between these requests, a plugin must depend "
     "only on its input and on the host's answers.  This is a bug of the "
     "plugin.",
     "$ mortise resume RUN\n"},
    {"E_LIMIT", "a declared limit was exceeded",
     "A size, a count or a cost exceeds what the graph, the deployment or the "
     "format allows.  The message names the limit.  Another cause: the process "
     "has no file descriptor left.  Raise `ulimit -n` (LimitNOFILE= of a "
     "service).  Until a descriptor is free, the calls of a run wait, and the "
     "run does not pause.",
     "$ mortise run a.yaml --input @65MiB.json\n"},
    {"E_STATE", "not possible in this state",
     "The object, such as a run, exists, but the command is not possible in "
     "its current state.  The message names the state.",
     "$ mortise cancel RUN   # which has ended\n"
     "$ mortise pause RUN    # which has ended\n"},
    {"E_NO_SPACE", "the disk is full",
     "No acknowledged data is lost.  Free space on the disk, then resume the "
     "run.",
     "$ mortise run a.yaml\n"},
    {"E_STALE_TOKEN", "a spawn handle was claimed again",
     "A spawn handle records one child that a program made for a run "
     "(mortise.h(3)).  Another process claimed the handle, because the holder "
     "of this token seemed to be dead.  The changes that the old holder "
     "recorded stay, but it can record no more.  Claim the handle again to "
     "continue.",
     NULL},
    {"E_ALREADY_SETTLED", "a spawn handle is settled already",
     "The handle already has a different status or result, or it was abandoned "
     "when its run ended.  The first result is final.  To read it, claim the "
     "handle.",
     NULL},
    {"E_NOT_RUNNING", "a spawn handle has no child yet",
     "Register a child before you advance the handle to `dispatched` or settle "
     "it.",
     NULL},
    {"E_ALREADY_REGISTERED", "the handle has a child, or the child a handle",
     "A handle has exactly one child, and a child has exactly one handle.  A "
     "run cannot become a child if it has spawned something, or if the run of "
     "the handle descends from it.",
     NULL},
    {"E_STALE_ATTEMPT", "the child is in another attempt",
     "The report belongs to an attempt of the child that has ended or never "
     "existed.  Mortise rejects the whole report.  Read the current attempt, "
     "and report again if the report still applies.",
     NULL},
};

const size_t mortise_n_result_codes =
    sizeof mortise_result_codes / sizeof mortise_result_codes[0];
