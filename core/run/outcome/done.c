/* done.c -- an execution succeeded: which entries that becomes.
 *
 * A result is judged in full before anything is recorded (judge.c); only then
 * does one `done` entry say all of it.  Whatever goes wrong on the way makes it
 * a failure of the node instead (fail.c), with a code of its own, and leaves no
 * trace of the result.
 *
 * A `write` or `external` call whose result fails that judgement did happen.
 * A `result` entry keeps what it gave, so that nobody who tries the node again
 * makes it happen twice (R11).
 */
#include <string.h>

#include "run/outcome/outcome.h"

/* Room for the arrays of an entry of this node; what its executor wants written
 * stands in it already. */
static int entry_room(const struct mortise_node *n, const struct patch *said,
                      struct mortise_arena *a, struct mortise_entry *e,
                      struct mortise_err *err)
{
    e->edges = mortise_arena_alloc(a, n->n_out * sizeof e->edges[0]);
    e->writes = mortise_arena_alloc(
        a, (said->n + n->n_outputs + n->n_output_mapping + 2) *
               sizeof e->writes[0]);
    if (e->edges == NULL || e->writes == NULL)
        return mortise_nomem(err);
    for (; e->n_writes < said->n; e->n_writes++) {
        e->writes[e->n_writes] = said->writes[e->n_writes];
        json_incref(e->writes[e->n_writes].value);
    }
    return MORTISE_OK;
}

/* What its executor said besides the output, as writes. */
static int make_said(struct patch *said, const struct exec *x,
                     enum done_how how, struct mortise_err *why,
                     struct mortise_err *err)
{
    const json_t *update = mortise_judge_said(x, how, "update");

    return update != NULL ? mortise_judge_verdict(
                                mortise_patch_make(said, update, why), err)
                          : MORTISE_OK;
}

int mortise_done_ask_after(struct mortise_run *r, struct exec *x,
                           struct mortise_err *err)
{
    return mortise_request_ask(r, x, MORTISE_ASK_AFTER,
                               json_pack("{s:s}", "when", "after"), 0, err);
}

/* What was judged: what its edges stand on, then the success itself. */
static int record_done(struct mortise_run *r, struct exec *x,
                       struct mortise_entry *e, const json_t *grounds,
                       struct mortise_err *err)
{
    const struct mortise_graph *g = x->frame->graph;
    int rv = mortise_cache_keep(r, x, (enum done_how)e->how, err);

    for (size_t i = 0, k = 0; rv == MORTISE_OK && i < e->n_edges; i++) {
        const struct mortise_edge *edge = &g->edges[e->edges[i]];
        struct mortise_entry first = mortise_exec_entry(
            r, x,
            edge->kind == MORTISE_EDGE_MAP ? MORTISE_E_FAN : MORTISE_E_FOUND);

        if (!mortise_route_stands_on(edge))
            continue;
        first.edges = &e->edges[i];
        first.n_edges = 1;
        first.value = json_array_get(grounds, k++);
        rv = mortise_run_record(r, &first, err);
    }
    return rv == MORTISE_OK ? mortise_run_record(r, e, err) : rv;
}

bool mortise_done_is_kept(const struct exec *x)
{
    return x->result != NULL &&
           memcmp(x->key, x->result_key, sizeof x->key) == 0;
}

/* The call ends with its result; what nobody could use is as if it were not
 * said. */
static int keep_said(struct mortise_run *r, struct exec *x, json_t *said,
                     struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_SAID);

    e.value = said;
    return mortise_fold_check_depth(said, NULL) == MORTISE_OK
               ? mortise_run_record(r, &e, err)
               : MORTISE_OK;
}

/* The effect is acknowledged, whatever becomes of its node. */
int mortise_done_keep_result(struct mortise_run *r, struct exec *x,
                             json_t *output, enum done_how how,
                             struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_RESULT);
    json_t *said;
    int rv;

    if (mortise_exec_node(r, x)->effect < MORTISE_WRITE ||
        (how != DONE_EXECUTED && how != DONE_RECONCILED &&
         how != DONE_RESOLVED) ||
        (mortise_done_is_kept(x) &&
         mortise_judge_output(mortise_exec_node(r, x), x->result, NULL) ==
             MORTISE_OK))
        return MORTISE_OK;
    said = json_incref(x->said);
    e.value = mortise_fold_check_depth(output, NULL) == MORTISE_OK
                  ? json_incref(output)
                  : json_null(); /* nobody could use it either */
    memcpy(e.digest, x->key, sizeof e.digest);
    rv = mortise_run_record(r, &e, err);
    json_decref(e.value);
    if (rv == MORTISE_OK && said != NULL && how != DONE_RESOLVED)
        rv = keep_said(r, x, said, err);
    json_decref(said);
    return rv;
}

int mortise_done_judged(struct mortise_run *r, struct exec *x, json_t *output,
                        enum done_how how, struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_DONE);
    const char *code = "schema";
    json_t *grounds = NULL;
    struct patch said;
    struct mortise_arena a;
    struct mortise_err why;
    int rv;

    mortise_arena_init(&a, r->mem);
    e.how = (uint8_t)how;
    e.value = json_incref(output);
    e.note = json_incref(x->verdicts);
    mortise_patch_init(&said, r, x->frame->graph);
    rv = make_said(&said, x, how, &why, err);
    if (rv == MORTISE_OK)
        rv = entry_room(mortise_exec_node(r, x), &said, &a, &e, err);
    if (rv == MORTISE_OK && x->child_over && how == DONE_EXECUTED)
        rv = mortise_sub_recall(r, x, output, err);
    if (rv == MORTISE_OK)
        rv = mortise_judge_done(r, x, &e, &grounds, &code, &why, err);
    if (rv == MORTISE_OK && mortise_edge_guards_are_due(x, &e)) {
        mortise_writes_undo(r, x);
        rv = mortise_done_keep_result(r, x, output, how, err);
        if (rv == MORTISE_OK)
            rv = mortise_edge_guards_record(r, x, &e, err);
    } else if (rv == MORTISE_OK) {
        rv = record_done(r, x, &e, grounds, err);
        if (rv == MORTISE_OK && x->state == X_HELD)
            rv = mortise_done_ask_after(r, x, err);
    } else if (rv == MORTISE_EINVAL) {
        mortise_writes_undo(r, x);
        mortise_exec_forget_leaving(x);
        rv = mortise_done_keep_result(r, x, output, how, err);
        if (rv == MORTISE_OK && how == DONE_ON_ERROR)
            rv = mortise_fail_for_good(r, x, code, why.msg, false, err);
        else if (rv == MORTISE_OK)
            rv = mortise_fail_attempt_err(r, x, code, &why, err);
    }
    mortise_entry_finish(&e);
    if (x->child_over)
        mortise_json_drop(&x->child_state);
    json_decref(grounds);
    mortise_patch_finish(&said);
    mortise_arena_finish(&a);
    return rv;
}

int mortise_done_stopped(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_STOPPED);
    int rv = mortise_doubt_cancelled(r, x, err);

    return rv == MORTISE_OK ? mortise_run_record(r, &e, err) : rv;
}

/* Its guardrails look at the output now; or, where it is to stop, when it goes
 * on: then the effect is known to have happened, and is not done again. */
static int guard_output(struct mortise_run *r, struct exec *x, json_t *output,
                        enum done_how how, struct mortise_err *err)
{
    int rv = mortise_done_keep_result(r, x, output, how, err);
    bool stopping = x->state == X_STOPPING;

    if (rv != MORTISE_OK || how == DONE_RESOLVED) /* it is READY by now */
        return rv;
    if (stopping && x->stop == STOP_RUN)
        return mortise_done_stopped(r, x, err);
    if ((stopping && (x->stop == STOP_COMMAND || x->stop == STOP_BUDGET)) ||
        r->held != NULL) {
        x->stop = STOP_NONE;
        return mortise_exec_ready(r, x, err);
    }
    x->how = how;
    mortise_json_drop(&x->judged);
    return mortise_guard_begin(r, x, MORTISE_GUARD_OUTPUT, output, err);
}

int mortise_done_settle(struct mortise_run *r, struct exec *x, json_t *output,
                        enum done_how how, struct mortise_err *err)
{
    /* One that breaks its schema fails without being looked at. */
    if (!mortise_guard_wants_output(r, x, how) ||
        mortise_judge_output(mortise_exec_node(r, x), output, NULL) !=
            MORTISE_OK)
        return mortise_done_judged(r, x, output, how, err);
    return mortise_exec_node(r, x)->sub != NULL
               ? mortise_edge_guards_record_inside(r, x, output, err)
               : guard_output(r, x, output, how, err);
}
