/* config_import.c -- `mortise config import`: the MCP servers of another program
 * as a Deployment file.
 *
 * As with `graph import`, what needs a hand is told on stderr and by the exit
 * code, and the file is written nevertheless.  A deployment that is there is
 * never replaced. */
#include "base/err.h"
#include "base/files.h"
#include "cli/cli.h"
#include "import/servers.h"

static int config_import(struct mortise_cli *cli, struct mortise_err *err)
{
    int rv = mortise_cli_import(cli, MORTISE_FILE_NEW, mortise_servers_import,
                                NULL, err);

    return rv == MORTISE_EEXISTS
               ? mortise_fail(err, rv,
                              "%s is there already: write to another file, and "
                              "take `tools` and `secrets` over into this one",
                              cli->args.output)
               : rv;
}

static const struct mortise_opt opts[] = {
    {"output", "FILE", offsetof(struct mortise_args, output),
     "Write there, and not to stdout; it must not exist", 'o', 0},
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_config_import = {
    .name = "config import",
    .operands = "FILE",
    .summary = "Turn another program's list of MCP servers into a deployment",
    .text =
        "FILE is what assistants and editors keep: a .mcp.json (mcpServers), "
        "an\n"
        "mcp.json (servers and inputs), or settings that have one.  Comments "
        "may\n"
        "stand in it.  It becomes tools.mcp of a Deployment file.\n"
        "\n"
        "What looks like a secret is not taken over: it becomes a reference "
        "to a\n"
        "secret that a variable of the environment is to have.  A program may\n"
        "read what its arguments name, and no more, and that is written out "
        "as\n"
        "its sandbox.  What is left behind, and what does not start as it is,\n"
        "is listed with its place and stands at the head of what is written; "
        "the\n"
        "exit code is 2 then.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_FINDINGS | MORTISE_EXITS_STORE,
    .example = "mortise config import .mcp.json -o mortise.yaml",
    .run = config_import,
};
