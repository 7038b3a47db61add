/* import.c -- `mortise graph import`: a graph of another system as one of ours.
 *
 * What is left behind is told on stderr and by the exit code, so that a script
 * which imports many notices; the file is written nevertheless, with the same
 * words at its head.
 */
#include <string.h>

#include "base/err.h"
#include "cli/cli.h"
#include "import/import.h"
#include "base/files.h"

static int write_out(struct mortise_cli *cli, const char *path, unsigned flags,
                     struct mortise_buf *b, struct mortise_err *err)
{
    if (path != NULL)
        return mortise_file_write(path, b->p, b->n, 0666, flags, err);
    if (mortise_buf_cstr(b) == NULL)
        return mortise_nomem(err);
    mortise_out_text(&cli->out, b->p, 0);
    return MORTISE_OK;
}

int mortise_cli_import(struct mortise_cli *cli, unsigned flags,
                       mortise_cli_import_fn *import, struct mortise_err *err)
{
    const char *path = cli->args.operands[0], *to = cli->args.output;
    struct mortise_diags diags;
    struct mortise_buf b;
    char *text;
    size_t n;
    int rv = mortise_cli_read(cli, path, &text, &n, err);

    if (rv != MORTISE_OK)
        return rv;
    if (to != NULL && strcmp(to, "-") == 0)
        to = NULL;
    mortise_buf_init(&b, cli->mem);
    mortise_diags_init(&diags, cli->mem);
    rv = import(&b, path, to, text, n, &diags, err);
    if (rv == MORTISE_OK)
        rv = write_out(cli, to, flags, &b, err);
    if (rv == MORTISE_OK && diags.n > 0)
        rv = MORTISE_EXIT_FINDINGS;
    mortise_cli_findings(cli, &diags);
    mortise_buf_finish(&b);
    mortise_release(cli->mem, text, n + 1);
    return rv;
}

/* It counts no paths, wherever it goes. */
static int import_graph(struct mortise_buf *out, const char *path,
                        const char *target, const char *text, size_t n,
                        struct mortise_diags *diags, struct mortise_err *err)
{
    (void)target;
    return mortise_graph_import(out, path, text, n, diags, err);
}

static int graph_import(struct mortise_cli *cli, struct mortise_err *err)
{
    return mortise_cli_import(cli, 0, import_graph, err);
}

static const struct mortise_opt opts[] = {
    {"output", "FILE", offsetof(struct mortise_args, output),
     "Write there, and not to stdout", 'o', 0},
    MORTISE_OPT_END,
};

const struct mortise_cmd mortise_cmd_graph_import = {
    .name = "graph import",
    .operands = "FILE",
    .summary = "Turn a graph of another system into a graph file",
    .text = "Two shapes of JSON are known by what they have: the task graph "
            "(a goal,\n"
            "and nodes by id that depend on each other) and the compiled "
            "execution\n"
            "graph (nodes and edges as lists, __START__ and __END__).  "
            "docs/mappings.md\n"
            "says what becomes of each field.\n"
            "\n"
            "What cannot be carried over (a condition that is a function, a "
            "debate, an\n"
            "id that is none here, an unknown field) is listed, with its "
            "place, and\n"
            "stands as a comment at the head of what is written; the exit "
            "code is 2\n"
            "then.  Where what is missing decides what runs, `mortise check` "
            "refuses\n"
            "the new file until it is written by hand.  A file that "
            "contradicts\n"
            "itself gives errors, and nothing is written.\n",
    .opts = opts,
    .exits = MORTISE_EXITS_FINDINGS,
    .example = "mortise graph import plan.json -o plan.graph.yaml",
    .run = graph_import,
};
