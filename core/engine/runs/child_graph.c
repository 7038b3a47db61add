/* child_graph.c -- compile the graph of a native child. */
#include "core/engine/language.h"
#include "core/engine/runs/children.h"

static int compile_child_graph(struct mortise_live *live, const char *path,
                               const struct mortise_buf *text,
                               struct mortise_graph **out,
                               struct mortise_err *err)
{
    struct mortise_source file = {path, text->p, text->n};
    struct mortise_buf report;
    int rv;

    mortise_buf_init(&report, live->m->mem);
    rv = mortise_graphs_derive(live->m, live->graph, &file, out, &report, err);
    if (rv == MORTISE_ECHECK && mortise_buf_cstr(&report) != NULL)
        mortise_fail(err, rv,
                     "the graph of a child of this node is not valid:\n%.400s",
                     report.p);
    mortise_buf_finish(&report);
    return rv;
}

int mortise_child_make_graph(struct mortise_live *live,
                             const struct mortise_node *at, const char *name,
                             const json_t *task, struct mortise_graph **out,
                             struct mortise_err *err)
{
    struct mortise_buf text, path;
    int rv;

    *out = NULL;
    mortise_buf_init(&text, live->m->mem);
    mortise_buf_init(&path, live->m->mem);
    mortise_buf_printf(&path, "%s#%s", live->graph->sources[0].path, at->id);
    rv = mortise_graph_write_child(&text, live->graph, at, name, task, err);
    if (rv == MORTISE_OK && mortise_buf_cstr(&path) == NULL)
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = compile_child_graph(live, path.p, &text, out, err);
    mortise_buf_finish(&path);
    mortise_buf_finish(&text);
    return rv;
}
