/* edge_guards_record.c -- an output that is judged before it leaves: recorded,
 * and on which edges (edge_guards.c). */
#include <string.h>

#include "run/outcome/outcome.h"

bool mortise_edge_guards_are_due(const struct exec *x,
                                 const struct mortise_entry *e)
{
    const struct mortise_edge *edges = x->frame->graph->edges;

    for (size_t i = 0; x->n_chosen == 0 && i < e->n_edges; i++) {
        if (mortise_edge_is_guarded(&edges[e->edges[i]]))
            return true;
    }
    return false;
}

/* Behind a `result`, where there is one, it is kept already. */
static int record_said(struct mortise_run *r, struct exec *x, enum done_how how,
                       struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_SAID);
    int rv;

    if (x->said == NULL || how != DONE_EXECUTED ||
        mortise_exec_node(r, x)->effect >= MORTISE_WRITE)
        return MORTISE_OK;
    e.value = json_incref(x->said);
    rv = mortise_run_record(r, &e, err);
    mortise_entry_finish(&e);
    return rv;
}

int mortise_edge_guards_record_inside(struct mortise_run *r, struct exec *x,
                                      json_t *output, struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_LEAVING);

    e.value = output;
    e.how = DONE_EXECUTED;
    return mortise_run_record(r, &e, err);
}

int mortise_edge_guards_record(struct mortise_run *r, struct exec *x,
                               const struct mortise_entry *done,
                               struct mortise_err *err)
{
    struct mortise_entry e = *done;
    int rv;

    e.type = MORTISE_E_LEAVING;
    e.writes = NULL;
    e.n_writes = 0;
    rv = mortise_run_record(r, &e, err);
    return rv == MORTISE_OK ? record_said(r, x, (enum done_how)done->how, err)
                            : rv;
}

int mortise_apply_leaving(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e,
                          struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    size_t size = e->n_edges * sizeof x->chosen[0];
    int rv;

    if (!mortise_exec_edges_fit(n->out, n->n_out, e) || e->value == NULL ||
        e->generation != x->generation)
        return mortise_entry_corrupt(err, e);
    x->chosen = mortise_arena_alloc(&r->arena, 2 * size);
    if (x->chosen == NULL)
        return mortise_nomem(err);
    if (mortise_exec_forget_live(r, x, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    if (size > 0)
        memcpy(x->chosen, e->edges, size);
    x->going = x->chosen + e->n_edges;
    x->n_chosen = (uint32_t)e->n_edges;
    x->attempt = e->attempt;
    x->started_ms = e->started_ms;
    x->effect_open = false;
    mortise_doubt_forget(x);
    x->how = (enum done_how)e->how;
    x->child_over = x->child != NULL;
    mortise_json_hold(&x->leaving, e->value);
    rv = mortise_guard_keep(r, x, e, err);
    return rv == MORTISE_OK ? mortise_exec_ready(r, x, err) : rv;
}
