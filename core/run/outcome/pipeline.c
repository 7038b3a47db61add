/* pipeline.c -- the way of an output to its `done` entry.
 *
 * Every source of outputs (a call, the cache, a record, a plugin's reconcile, a
 * person, on_error, the graph inside a node, a guardrail node that passed its
 * target) gives the output to mortise_pipeline_enter(), with how it came about.
 * The output then passes the rows of stages.def in order.  Only this file moves
 * it from one stage to the next.  There are three types of stage:
 *
 *   judge    adds a part of the entry, or rejects the output with a message
 *   wait     makes a call or records an entry, and the output waits
 *   record   adds the judged output to the commit
 *
 * The promises:
 *
 *   (1) Nothing of an output is recorded as its node's before all of it is
 *       judged; then a single `done` entry records everything.  Tentative
 *       writes are on the execution, and are undone when a stage rejects the
 *       output.
 *   (2) A rejection fails the node with the stage's code, for every stage and
 *       every source of output; retry_policy and on_error apply (fail.c).  A
 *       rejected output of on_error is final: it is not retried.
 *   (3) Before an output waits or is rejected, the effect that gave it is
 *       recorded (result.c), so that it is never repeated (R11).
 *   (4) The stage at which an output waits is on the execution (`awaits`,
 *       `how`).  A crash loses nothing, because the output comes to that stage
 *       again.  A `leaving` entry stores an output and makes x READY; when its
 *       turn comes, that output continues at the guardrails it was recorded
 *       for.  A `remembering` entry stores it for the write to the memory,
 *       which waits until that entry is on disk.  A recorded effect enters
 *       again as DONE_RECORDED.  Any other call is repeated.
 *   (5) Differences between sources of outputs are columns of origin.c.
 *   (6) A stage depends only on the execution's view, the entry and the record
 *       of x, so that it decides equally when the output comes to it again.
 *
 *   (7) When the wait is over, the output passes all stages again, but does not
 *       wait again at the stages up to that one.  The judges before it decide
 *       as they did, unless the output was replaced.
 *
 * A new stage is a new row (docs/extending.md).  A stage that changes the
 * output must precede `fits`, so that the schemas check its result; one that
 * stores the output must precede `done`. */
#include "core/run/outcome/outcome.h"

/* ---- an outcome ---------------------------------------------------------- */

void mortise_pipeline_init(struct outcome *o, struct mortise_run *r,
                           struct exec *x, enum mortise_entry_type type)
{
    assert(!mortise_exec_has_ended(x));
    o->r = r;
    o->x = x;
    o->from = mortise_origin_get(DONE_EXECUTED);
    o->entry = mortise_exec_make_entry(r, x, type);
    o->output = o->grounds = NULL;
    o->over = 0;
    o->code = NULL;
    mortise_arena_init(&o->arena, r->mem);
    mortise_patch_init(&o->said, r, x->frame->graph);
}

void mortise_pipeline_finish(struct outcome *o)
{
    mortise_entry_finish(&o->entry);
    if (o->x->child_over)
        mortise_sub_set_state(o->x, NULL);
    json_decref(o->output);
    json_decref(o->grounds);
    mortise_patch_finish(&o->said);
    mortise_arena_finish(&o->arena);
}

/* An outcome with an output (NULL: none), and how it came about. */
static void init_done_outcome(struct outcome *o, struct mortise_run *r,
                              struct exec *x, json_t *output, enum done_how how)
{
    mortise_pipeline_init(o, r, x, MORTISE_E_DONE);
    o->from = mortise_origin_get(how);
    o->entry.how = (uint8_t)how;
    o->output = json_incref(output);
    o->entry.value = json_incref(output);
    o->entry.note = json_incref(x->verdicts);
}

void mortise_pipeline_set_origin(struct exec *x, enum done_how how)
{
    x->how = how;
}

/* ---- leaving a stage ----------------------------------------------------- */

/* (1), (3): undo tentative writes, and record an effect that happened. */
static int undo_and_keep_result(struct outcome *o, struct mortise_err *err)
{
    mortise_writes_remove(o->r, o->x);
    return o->over > 0 /* it was recorded at its first wait */
               ? MORTISE_OK
               : mortise_result_record(o->r, o->x, o->output,
                                       (enum done_how)o->entry.how, err);
}

/* (2) */
static int reject_output(struct outcome *o, struct mortise_err *err)
{
    int rv;

    assert(o->code != NULL);
    mortise_exec_drop_leaving(o->x);
    rv = undo_and_keep_result(o, err);
    if (rv != MORTISE_OK)
        return rv;
    return o->from->is_last
               ? mortise_fail_without_retry(o->r, o->x, o->code, o->why.msg,
                                            false, err)
               : mortise_fail_attempt(o->r, o->x, o->code, "permanent",
                                      o->why.msg, err);
}

/* (4) */
static int wait_at_stage(struct outcome *o, size_t at, struct mortise_err *err)
{
    int rv = undo_and_keep_result(o, err);

    assert(mortise_stages[at].is_due != NULL && at >= o->over);
    o->x->awaits = (uint8_t)at;
    mortise_pipeline_set_origin(o->x, (enum done_how)o->entry.how);
    return rv == MORTISE_OK ? mortise_stages[at].does(o, err) : rv;
}

/* If x must stop, make no call about its output until x continues: its effect
 * is recorded and is not repeated.  The same holds while commands are applied
 * and while the run is paused: people's decisions are stored (generation.c). */
int mortise_pipeline_must_stop(struct outcome *o, bool *stands,
                               struct mortise_err *err)
{
    struct exec *x = o->x;
    bool stopping = x->state == X_STOPPING;

    *stands = true;
    if (stopping && x->stop == STOP_RUN)
        return mortise_doubt_record_stopped(o->r, x, err);
    if ((stopping && (x->stop == STOP_COMMAND || x->stop == STOP_BUDGET)) ||
        o->r->held != NULL || o->r->obeys || !o->r->live) {
        mortise_exec_set_stop(x, STOP_NONE);
        return mortise_exec_make_ready(o->r, x, err);
    }
    *stands = false;
    return MORTISE_OK;
}

/* ---- passing the stages -------------------------------------------------- */

int mortise_pipeline_judge(struct outcome *o, enum stage_id judge,
                           struct mortise_err *err)
{
    assert(mortise_stages[judge].code != NULL);
    o->code = mortise_stages[judge].code;
    return mortise_stages[judge].does(o, err);
}

/* Run the stages until the output is done, waits, or is rejected. */
static int run_stages(struct outcome *o, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t at = 0; rv == MORTISE_OK && at < N_STAGES; at++) {
        const struct stage *s = &mortise_stages[at];

        if (s->code != NULL) {
            rv = mortise_pipeline_judge(o, (enum stage_id)at, err);
            if (rv == MORTISE_EINVAL)
                return reject_output(o, err);
        } else if (s->is_due == NULL) {
            rv = s->does(o, err);
        } else if (at >= o->over && s->is_due(o)) {
            return wait_at_stage(o, at, err);
        }
    }
    return rv;
}

/* Process an output, without waits at the stages before `over`; or reject it
 * (`refused`). */
static int process_output(struct mortise_run *r, struct exec *x, json_t *output,
                          enum done_how how, size_t over,
                          const struct mortise_err *refused,
                          struct mortise_err *err)
{
    struct outcome o;
    int rv;

    init_done_outcome(&o, r, x, output, how);
    o.over = over;
    if (refused != NULL) {
        o.code = "guardrail";
        o.why = *refused;
    }
    rv = refused != NULL ? reject_output(&o, err) : run_stages(&o, err);
    mortise_pipeline_finish(&o);
    return rv;
}

int mortise_pipeline_enter(struct mortise_run *r, struct exec *x,
                           json_t *output, enum done_how how,
                           struct mortise_err *err)
{
    /* A leaving output continues by mortise_pipeline_continue_leaving() instead. */
    assert(x->leaving == NULL);
    return process_output(r, x, output, how, 0, NULL, err);
}

int mortise_pipeline_continue_leaving(struct mortise_run *r, struct exec *x,
                                      struct mortise_err *err)
{
    assert(x->leaving != NULL && x->state == X_READY);
    return process_output(r, x, x->leaving, x->how,
                          x->trace != NULL ? STAGE_remember
                          : x->sought != NULL && x->n_chosen == 0 ? STAGE_sought
                          : x->n_chosen == 0                      ? STAGE_output
                                                                  : STAGE_along,
                          NULL, err);
}

int mortise_pipeline_resume(struct mortise_run *r, struct exec *x,
                            json_t *output, const struct mortise_err *refused,
                            struct mortise_err *err)
{
    assert(x->awaits < N_STAGES && mortise_stages[x->awaits].is_due != NULL);
    return process_output(r, x, output, x->how, (size_t)x->awaits + 1, refused,
                          err);
}

int mortise_pipeline_end_by_edge(struct mortise_run *r, struct exec *x,
                                 enum mortise_edge_kind kind,
                                 struct mortise_err *err)
{
    struct outcome o;
    uint32_t edge[1];
    int rv;

    init_done_outcome(&o, r, x, NULL, DONE_EXECUTED);
    o.entry.edges = edge;
    mortise_route_add_edge_of_kind(x, &o.entry, kind);
    assert(o.entry.n_edges == 1); /* graph/ rejects a node without this edge */
    rv = mortise_stage_done(&o, err);
    mortise_pipeline_finish(&o);
    return rv;
}
