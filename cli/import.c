/* import.c -- `mortise graph import`: a graph of another system as one of ours.
 *
 * What is left behind is told on stderr and by the exit code, so that a script
 * which imports many notices; the file is written nevertheless, with the same
 * words at its head.  So is what `mortise check` has against the new file: an
 * import that ends with 0 made a graph that loads, or will in a build that has
 * all of the language.
 */
#include <string.h>

#include "core/base/err.h"
#include "cli/cli.h"
#include "tools/import/import.h"
#include "core/base/files.h"

static int write_out(struct mortise_cli *cli, const char *path, unsigned flags,
                     struct mortise_buf *b, struct mortise_err *err)
{
    if (path != NULL)
        return mortise_file_output(path, b->p, b->n, 0666, flags, err);
    if (mortise_buf_cstr(b) == NULL)
        return mortise_nomem(err);
    mortise_out_text(&cli->out, b->p, 0);
    return MORTISE_OK;
}

/* What is made of the text, and what is said of it on the way. */
static int make(struct mortise_cli *cli, unsigned flags,
                mortise_cli_import_fn *import, const char *to,
                struct mortise_buf *b, struct mortise_diags *diags,
                struct mortise_err *err)
{
    const char *path = cli->args.operands[0];
    char *text;
    size_t n;
    int rv = mortise_cli_read(cli, path, &text, &n, err);

    if (rv != MORTISE_OK)
        return rv;
    rv = import(b, path, to, text, n, diags, err);
    if (rv == MORTISE_OK)
        rv = write_out(cli, to, flags, b, err);
    mortise_release(cli->mem, text, n + 1);
    return rv;
}

int mortise_cli_import(struct mortise_cli *cli, unsigned flags,
                       mortise_cli_import_fn *import,
                       mortise_cli_made_fn *check, struct mortise_err *err)
{
    const char *to = cli->args.output;
    struct mortise_diags diags, made;
    struct mortise_buf b;
    int rv;

    if (to != NULL && strcmp(to, "-") == 0)
        to = NULL;
    mortise_buf_init(&b, cli->mem);
    mortise_diags_init(&diags, cli->mem);
    mortise_diags_init(&made, cli->mem);
    rv = make(cli, flags, import, to, &b, &diags, err);
    if (rv == MORTISE_OK && check != NULL)
        rv = check(cli, to != NULL ? to : "<stdout>", b.p, b.n, &made, err);
    if (rv == MORTISE_OK && diags.n + made.n > 0)
        rv = MORTISE_EXIT_FINDINGS;
    mortise_cli_findings(cli, &diags);
    mortise_cli_findings(cli, &made);
    mortise_buf_finish(&b);
    return rv;
}

/* Does the build refuse it, and not the language? */
static bool is_of_build(const struct mortise_diag *d)
{
    static const char *const codes[] = {"E0202", "E0205", "E0404"};

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (strcmp(d->code, codes[i]) == 0)
            return true;
    return false;
}

/* What `mortise check` refuses of it. */
static int check_graph(struct mortise_cli *cli, const char *path,
                       const char *text, size_t n, struct mortise_diags *diags,
                       struct mortise_err *err)
{
    int rv = mortise_cli_check_graph(cli, path, text, n, diags, err);
    size_t kept = 0;

    if (rv != MORTISE_OK && rv != MORTISE_ECHECK)
        return rv;
    for (size_t i = 0; i < diags->n; i++)
        if (diags->list[i].severity == MORTISE_ERROR &&
            !is_of_build(&diags->list[i]))
            diags->list[kept++] = diags->list[i];
    diags->n = kept;
    return MORTISE_OK;
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
    return mortise_cli_import(cli, 0, import_graph, check_graph, err);
}

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
    .run = graph_import,
};
