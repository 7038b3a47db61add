/* config_import.c -- `mortise config import`: its options and help.  mortise-import
 * has its function (tools/import/command.c). */
#include "cli/cli.h"

static const struct mortise_opt opts[] = {
    {"output", "FILE", offsetof(struct mortise_args, output),
     "Write to this file, which must not exist, instead\n"
     "of stdout",
     'o', 0},
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_config_import = {
    .name = "config import",
    .operands = "FILE",
    .summary = "Convert an MCP configuration file into a deployment",
    .text =
        "FILE is a configuration file of an assistant or an editor: a\n"
        ".mcp.json (mcpServers), an mcp.json (servers and inputs), or\n"
        "settings that contain one of these objects.  FILE can contain\n"
        "comments.  The result is a Deployment file with these servers in\n"
        "tools.mcp.\n"
        "\n"
        "A value that looks like a secret is not copied.  Instead, the new\n"
        "file refers to a secret that Mortise reads from an environment\n"
        "variable.  For each program, the new file has a sandbox in which\n"
        "the program can read only the paths in its arguments.\n"
        "\n"
        "The command lists each part of FILE that it leaves out, and each\n"
        "server that cannot start unchanged, with the place in FILE.  It\n"
        "also writes this list as a comment at the head of the new file.\n"
        "The exit code is then 2.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_FINDINGS | MORTISE_EXITS_STORE,
    .example = "mortise config import .mcp.json -o mortise.yaml",
    .program = "mortise-import",
};
