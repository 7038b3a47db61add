/* config_import.c -- `mortise config import`: the MCP servers of another program
 * as a Deployment file.
 *
 * As with `graph import`, what needs a hand is told on stderr and by the exit
 * code, and the file is written nevertheless.  A deployment that is there is
 * never replaced. */
#include <string.h>

#include "base/err.h"
#include "base/files.h"
#include "cli/cli.h"
#include "import/servers.h"

/* NULL: to stdout. */
static const char *target(const struct mortise_cli *cli)
{
    const char *path = cli->args.output;

    return path != NULL && strcmp(path, "-") != 0 ? path : NULL;
}

static int write_out(struct mortise_cli *cli, struct mortise_buf *b,
                     struct mortise_err *err)
{
    const char *path = target(cli);
    int rv;

    if (path == NULL) {
        if (mortise_buf_cstr(b) == NULL)
            return mortise_nomem(err);
        mortise_out_text(&cli->out, b->p, 0);
        return MORTISE_OK;
    }
    rv = mortise_file_write(path, b->p, b->n, 0666, MORTISE_FILE_NEW, err);
    return rv == MORTISE_EEXISTS
               ? mortise_fail(err, rv,
                              "%s is there already: write to another file, and "
                              "take `tools` and `secrets` over into this one",
                              path)
               : rv;
}

static int config_import(struct mortise_cli *cli, struct mortise_err *err)
{
    const char *path = cli->args.operands[0];
    struct mortise_diags diags;
    struct mortise_buf b;
    char *text;
    size_t n;
    int rv = mortise_cli_read(cli, path, &text, &n, err);

    if (rv != MORTISE_OK)
        return rv;
    mortise_buf_init(&b, cli->mem);
    mortise_diags_init(&diags, cli->mem);
    rv = mortise_servers_import(&b, path, target(cli), text, n, &diags, err);
    if (rv == MORTISE_OK)
        rv = write_out(cli, &b, err);
    if (rv == MORTISE_OK && diags.n > 0)
        rv = MORTISE_EXIT_FINDINGS;
    mortise_cli_findings(cli, &diags);
    mortise_buf_finish(&b);
    mortise_release(cli->mem, text, n + 1);
    return rv;
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
