/* command.c -- `mortise graph import` and `mortise config import`.
 *
 * A part that the import leaves out is reported on stderr and by the exit code,
 * so that a script that imports many files notices it.  The file is written in
 * this case, too, with the same list at its head.  `graph import` also reports
 * the errors that `mortise check` finds in the new file. */
#include "tools/import/command.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/files.h"
#include "tools/import/import.h"
#include "tools/import/servers.h"

/* Converts `text`, read from `path`, and appends the new file, which will be at
 * `target`, to `out`. */
typedef int import_fn(struct mortise_buf *out, const char *path,
                      const char *target, const char *text, size_t n,
                      struct mortise_diags *diags, struct mortise_err *err);
/* Adds the findings about the new file to `diags`. */
typedef int check_fn(struct mortise_cli *cli, const char *path,
                     const char *text, size_t n, struct mortise_diags *diags,
                     struct mortise_err *err);

static int write_imported(struct mortise_cli *cli, const char *path,
                          unsigned flags, struct mortise_buf *b,
                          struct mortise_err *err)
{
    if (path != NULL)
        return mortise_file_write_output(path, b->p, b->n, 0666, flags, err);
    if (mortise_buf_cstr(b) == NULL)
        return mortise_nomem(err);
    mortise_out_put_text(&cli->out, b->p, 0);
    return MORTISE_OK;
}

/* Read the file, convert it and write the new file. */
static int import_and_write(struct mortise_cli *cli, unsigned flags,
                            import_fn *import, const char *to,
                            struct mortise_buf *b, struct mortise_diags *diags,
                            struct mortise_err *err)
{
    const char *path = cli->args.operands[0];
    char *text;
    size_t n;
    int rv = mortise_cli_read_file(cli, path, &text, &n, err);

    if (rv != MORTISE_OK)
        return rv;
    rv = import(b, path, to, text, n, diags, err);
    if (rv == MORTISE_OK)
        rv = write_imported(cli, to, flags, b, err);
    mortise_release(cli->mem, text, n + 1);
    return rv;
}

static int run_import(struct mortise_cli *cli, unsigned flags,
                      import_fn *import, check_fn *check,
                      struct mortise_err *err)
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
    rv = import_and_write(cli, flags, import, to, &b, &diags, err);
    if (rv == MORTISE_OK && check != NULL)
        rv = check(cli, to != NULL ? to : "<stdout>", b.p, b.n, &made, err);
    if (rv == MORTISE_OK && diags.n + made.n > 0)
        rv = MORTISE_EXIT_FINDINGS;
    mortise_cli_print_findings(cli, &diags);
    mortise_cli_print_findings(cli, &made);
    mortise_buf_finish(&b);
    return rv;
}

/* Is the finding about a part that this build lacks, and not about the
 * language? */
static bool is_build_finding(const struct mortise_diag *d)
{
    static const char *const codes[] = {"E0202", "E0205", "E0404"};

    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
        if (strcmp(d->code, codes[i]) == 0)
            return true;
    return false;
}

/* Find the errors that `mortise check` reports in the new file. */
static int check_imported_graph(struct mortise_cli *cli, const char *path,
                                const char *text, size_t n,
                                struct mortise_diags *diags,
                                struct mortise_err *err)
{
    int rv = mortise_cli_check_graph(cli, path, text, n, diags, err);
    size_t kept = 0;

    if (rv != MORTISE_OK && rv != MORTISE_ECHECK)
        return rv;
    for (size_t i = 0; i < diags->n; i++)
        if (diags->list[i].severity == MORTISE_ERROR &&
            !is_build_finding(&diags->list[i]))
            diags->list[kept++] = diags->list[i];
    diags->n = kept;
    return MORTISE_OK;
}

/* A graph contains no paths that depend on the place of the new file. */
static int import_graph_text(struct mortise_buf *out, const char *path,
                             const char *target, const char *text, size_t n,
                             struct mortise_diags *diags,
                             struct mortise_err *err)
{
    (void)target;
    return mortise_graph_import(out, path, text, n, diags, err);
}

int mortise_import_graph_run(struct mortise_cli *cli, struct mortise_err *err)
{
    return run_import(cli, 0, import_graph_text, check_imported_graph, err);
}

int mortise_import_config_run(struct mortise_cli *cli, struct mortise_err *err)
{
    int rv =
        run_import(cli, MORTISE_FILE_NEW, mortise_servers_import, NULL, err);

    return rv == MORTISE_EEXISTS
               ? mortise_fail(err, rv,
                              "%s already exists; write to another file, then "
                              "copy the keys `tools` and `secrets` of that "
                              "file into the existing file",
                              cli->args.output)
               : rv;
}
