/* store.c -- `mortise store salvage`: its options and help.  mortise-salvage has its
 * function (tools/salvage/command.c). */
#include "cli/cli.h"

static const struct mortise_opt salvage_opts[] = {
    MORTISE_OPT_DEPLOYMENT,
    MORTISE_OPT_STORE,
    {"graph", "FILE", MORTISE_OPT_AT(const char **, graphs),
     "An unchanged copy of a run's graph file, used if the\n"
     "store's copy cannot be read; can be repeated",
     0, MORTISE_ARGS_GRAPHS - 1},
    MORTISE_OPT_END};

const struct mortise_cmd mortise_cmd_store_salvage = {
    .name = "store salvage",
    .salvages = true,
    .operands = "NEW-DIR",
    .summary = "Copy the readable part of a damaged store to a new one",
    .text =
        "Use this for a store that fails with E_STORE_CORRUPT if you have\n"
        "no backup.  The damaged store does not change.  NEW-DIR must be\n"
        "empty or not exist.  The command makes it a store that contains,\n"
        "for each run, all commits before the first missing one.  The\n"
        "command prints a line for each run that is left out or may be\n"
        "incomplete, then a summary.\n"
        "\n"
        "If the command is interrupted, NEW-DIR is not a store: run the\n"
        "command again with the same directory.  The exit code is 0 if\n"
        "nothing is missing, and 2 if something is missing.  If parts of\n"
        "the database cannot be read, the summary reports that whole runs\n"
        "may be lost.  If the store's file `mark`, which records the last\n"
        "commit, is lost, the summary reports that the newest commits may\n"
        "be missing.  A new run cannot have the id of a run that was left\n"
        "out.  The files of a memory plugin (STORE/memory) are not copied:\n"
        "the command prints how to copy them, and the exit code is 2.\n"
        "\n"
        "A run whose graph cannot be read is left out, and the command\n"
        "prints the digest of the graph.  Pass a copy of this graph's file\n"
        "with --graph, and salvage into another directory.  Mortise\n"
        "ignores a file with another digest.\n"
        "\n"
        "The new store has the same identity as the old one.  Servers use\n"
        "this identity to recognise repeated effects.  Put the new store\n"
        "in place of the old one; never use both.  A run that lacks\n"
        "commits repeats the work of these commits.  Such a run is paused,\n"
        "or waits for a pending request.  Check which effects were in\n"
        "flight before you resume the run.\n",
    .opts = salvage_opts,
    .exits = MORTISE_EXITS_STORE | MORTISE_EXITS_FINDINGS,
    .example = "mortise store salvage ./saved",
    .program = "mortise-salvage",
};
