/* done.c -- record an output that was judged: the last stages of pipeline.c. */
#include "core/run/outcome/outcome.h"

/* Record the values that the edges depend on before the success itself. */
int mortise_stage_stands(struct outcome *o, struct mortise_err *err)
{
    const struct mortise_graph *g = o->x->frame->graph;
    int rv = MORTISE_OK;
    size_t k = 0;

    for (size_t i = 0; rv == MORTISE_OK && i < o->entry.n_edges; i++) {
        const struct mortise_edge *edge = &g->edges[o->entry.edges[i]];
        struct mortise_entry first;

        if (!mortise_route_needs_value(edge))
            continue;
        first = mortise_exec_make_entry(
            o->r, o->x,
            mortise_edge_is_map(edge) ? MORTISE_E_FAN : MORTISE_E_FOUND);
        first.edges = &o->entry.edges[i];
        first.n_edges = 1;
        first.value = json_array_get(o->grounds, k++);
        rv = mortise_run_record(o->r, &first, err);
    }
    assert(rv != MORTISE_OK || k == json_array_size(o->grounds));
    return rv;
}

/* If `interrupt_after` holds the edges back, ask at once. */
int mortise_stage_done(struct outcome *o, struct mortise_err *err)
{
    int rv;

    assert(o->entry.type == MORTISE_E_DONE);
    assert(o->entry.n_writes == 0 || o->x->n_writes == o->entry.n_writes);
    rv = mortise_run_record(o->r, &o->entry, err);
    if (rv != MORTISE_OK || o->x->state != X_HELD)
        return rv;
    return mortise_request_record(o->r, o->x, MORTISE_ASK_AFTER,
                                  json_pack("{s:s}", "when", "after"), 0, err);
}
