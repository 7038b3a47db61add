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
                              "%s already exists; write to another file, and "
                              "copy its `tools` and `secrets` into this one",
                              cli->args.output)
               : rv;
}

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
    .summary = "Convert another program's MCP servers into a deployment",
    .text = "FILE is a configuration file of an assistant or an editor: a\n"
            ".mcp.json (mcpServers), an mcp.json (servers and inputs), or\n"
            "settings that contain one.  It can contain comments.  The result\n"
            "is tools.mcp of a Deployment file.\n"
            "\n"
            "A value that looks like a secret is not copied.  It becomes a\n"
            "reference to a secret, which reads an environment variable.\n"
            "The import writes a sandbox in which a program can read only\n"
            "the paths in its arguments.  It lists everything that it leaves\n"
            "out, or that cannot start unchanged, with its place and as a\n"
            "comment at the head of the new file.  The exit code is then 2.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_FINDINGS | MORTISE_EXITS_STORE,
    .example = "mortise config import .mcp.json -o mortise.yaml",
    .run = config_import,
};
