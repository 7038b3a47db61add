/* graph_import.c -- `mortise graph import`: its options and help.  mortise-import has
 * its function (tools/import/command.c). */
#include "cli/cli.h"

static const struct mortise_opt opts[] = {
    {"output", "FILE", offsetof(struct mortise_args, output),
     "Write to this file instead of stdout", 'o', 0},
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_graph_import = {
    .name = "graph import",
    .operands = "FILE",
    .summary = "Convert a graph of another system into a graph file",
    .text =
        "The command recognises two JSON formats.  A task graph has a goal\n"
        "and nodes that depend on each other (by id or in a list), or is a\n"
        "single node.  A compiled execution graph has lists of nodes and\n"
        "edges, with __START__ and __END__.  docs/mappings.md describes\n"
        "the translation of each field.\n"
        "\n"
        "Parts that cannot be translated (a condition that is a function,\n"
        "a debate, an invalid id, an unknown field) are listed with their\n"
        "place.  They are also comments at the head of the new file, and\n"
        "the exit code is 2.\n"
        "\n"
        "The exit code is also 2 if `mortise check` rejects the new file\n"
        "with the deployment that Mortise finds for it.  This happens if a\n"
        "missing part decides what runs.  Add this part by hand.  Errors\n"
        "about features that this build of Mortise lacks do not change the\n"
        "exit code.  If parts of FILE contradict each other, the command\n"
        "prints errors and writes nothing.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_FINDINGS,
    .example = "mortise graph import plan.json -o plan.graph.yaml",
    .program = "mortise-import",
};
