/* compile.c -- load a graph, with its findings as text and as JSON. */
#include "core/engine/language.h"
#include "lang/graph/load.h"

int mortise_graph_compile(struct mortise_graph **out,
                          const struct mortise_mem *mem,
                          const struct mortise_source *file,
                          const struct mortise_catalog *catalog,
                          struct mortise_buf *report,
                          struct mortise_buf *findings, struct mortise_err *err)
{
    struct mortise_diags diags;
    int rv;

    mortise_diags_init(&diags, mem);
    rv = mortise_graph_load(out, mem, file->path, file->text, file->size,
                            catalog, &diags, err);
    if (rv == MORTISE_OK || rv == MORTISE_ECHECK)
        mortise_diags_format(&diags, report);
    if (findings != NULL && report->n > 0)
        mortise_diags_json(&diags, findings);
    if (rv == MORTISE_ECHECK && diags.short_of != NULL)
        rv = mortise_fail(err, MORTISE_ELIMIT, "%s cannot be checked now: %s",
                          file->path, diags.short_of);
    else if (rv == MORTISE_ECHECK)
        rv = mortise_fail(err, mortise_diags_result(&diags),
                          "%s has %zu error%s", file->path, diags.n_errors,
                          diags.n_errors == 1 ? "" : "s");
    mortise_diags_finish(&diags);
    if (rv == MORTISE_OK && report->failed) {
        mortise_graph_unref(*out);
        *out = NULL;
    }
    return report->failed ? mortise_nomem(err) : rv;
}
