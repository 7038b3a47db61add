/* leaving.c -- outputs that are recorded before they are checked.
 *
 * A `leaving` entry stores an output in the middle of the pipeline and makes
 * its execution READY.  When its turn comes, the output continues at its
 * guardrails (pipeline.c, 4).  After a crash in between, the same output is
 * checked again, and the node does not run again.
 *
 *   (1) The edges of an output are chosen first, from the node's own output,
 *       and stay, even if guardrails replace the output.  They are in the
 *       entry, and the guardrails of each check the output (guard.c).
 *   (2) The output of an inner graph is recorded in the same way, without
 *       edges, before any call about it: to its guardrails, to discovery for
 *       its edges, or to a compaction.  So a finished graph never runs again
 *       because of them.  The state it ended with is restored when the output
 *       continues.  The same holds for the on_error value after the inner graph
 *       failed. */
#include "core/run/outcome/outcome.h"

/* ---- outputs of inner graphs (2) ---------------------------------------- */

bool mortise_stage_inside_is_due(const struct outcome *o)
{
    const struct mortise_side_operation *short_by =
        mortise_exec_node(o->r, o->x)->compaction;

    return o->x->state == X_INNER_GRAPH && /* its end is not recorded yet */
           (mortise_stage_output_is_due(o) ||
            mortise_exec_get_next_discovery(o->x) != NULL ||
            (short_by != NULL && short_by->op != NULL));
}

int mortise_stage_inside(struct outcome *o, struct mortise_err *err)
{
    assert(o->x->child != NULL && o->entry.edges == NULL);
    return mortise_stage_leaving(o, err);
}

int mortise_stage_recall(struct outcome *o, struct mortise_err *err)
{
    assert(!o->x->child_over || o->x->child != NULL);
    return o->x->child_over && o->from->from_own_call
               ? mortise_sub_rebuild_state(o->r, o->x, o->output, err)
               : MORTISE_OK;
}

/* ---- edges with guardrails (1) ------------------------------------------ */

bool mortise_stage_leaving_is_due(const struct outcome *o)
{
    const struct mortise_edge *edges = o->x->frame->graph->edges;

    for (size_t i = 0; o->x->n_chosen == 0 && i < o->entry.n_edges; i++) {
        if (mortise_edge_is_guarded(&edges[o->entry.edges[i]]))
            return true;
    }
    return false;
}

int mortise_leaving_record(struct outcome *o, struct mortise_entry *e,
                           struct mortise_err *err)
{
    bool says =
        o->from->says && mortise_exec_node(o->r, o->x)->effect < MORTISE_WRITE;
    json_t *said = says ? json_incref(o->x->said) : NULL;
    int rv;

    assert(o->x->n_writes == 0);
    e->writes = NULL;
    e->n_writes = 0;
    rv = mortise_run_record(o->r, e, err);
    if (rv == MORTISE_OK)
        rv = mortise_result_record_said(o->r, o->x, said, err);
    json_decref(said);
    return rv;
}

int mortise_stage_leaving(struct outcome *o, struct mortise_err *err)
{
    struct mortise_entry e = o->entry;

    assert(o->x->n_chosen == 0);
    e.type = MORTISE_E_LEAVING;
    return mortise_leaving_record(o, &e, err);
}

int mortise_leaving_store(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e, json_t *sought,
                          struct mortise_err *err)
{
    int rv;

    json_incref(sought); /* it may be x->sought */
    rv = mortise_stop_drop_state(r, x, err);
    if (rv == MORTISE_OK)
        rv = mortise_exec_store_leaving(r, x, e, err);
    mortise_exec_set_sought(x, sought);
    json_decref(sought);
    if (rv != MORTISE_OK)
        return rv;
    mortise_exec_set_attempt(x, e->attempt, e->started_ms);
    mortise_exec_set_effect_open(x, false);
    mortise_doubt_remove_evidence(x);
    mortise_pipeline_set_origin(x, (enum done_how)e->how);
    if (x->child != NULL)
        mortise_sub_set_done(x);
    return mortise_verdict_store(r, x, e, err);
}

int mortise_leaving_store_ready(struct mortise_run *r, struct exec *x,
                                const struct mortise_entry *e, json_t *sought,
                                struct mortise_err *err)
{
    int rv = mortise_leaving_store(r, x, e, sought, err);

    return rv == MORTISE_OK ? mortise_exec_make_ready(r, x, err) : rv;
}

int mortise_apply_leaving(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e,
                          struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);

    if (!mortise_exec_can_take_edges(n->out, n->n_out, e) || e->value == NULL ||
        e->generation != x->generation || e->how > DONE_CACHED)
        return mortise_entry_corrupt(err, e);
    return mortise_leaving_store_ready(r, x, e, x->sought, err);
}
