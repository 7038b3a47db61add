/* pipeline.c -- an output on its way to the `done` entry that says all of it.
 *
 * Whoever gives an output (a call, the cache, what was recorded, a plugin that
 * was asked what happened, a person, on_error, the graph inside a node, a
 * guardrail node that passed its target) hands it to mortise_pipeline_enter(),
 * with how it came about.  From there it goes through the rows of stages.def,
 * in their order, and this file is the only one that takes it from one to the
 * next.  A stage has one function and one thing to say:
 *
 *   judge    go on, with a part more of the entry; or no, with words
 *   wait     something is asked, or recorded, and the output stands still
 *   record   what was judged is in the commit
 *
 * The promises:
 *
 *   (1) Nothing of an output is recorded as its node's before it is judged in
 *       full; then one `done` entry says all of it.  What was tried is on the
 *       execution, and goes without a trace when a stage says no.
 *   (2) A refusal is the failure of the node with the stage's code, whichever
 *       stage it is and however the output came about: retry_policy and
 *       on_error follow (fail.c).  Of what on_error gave it is the last word.
 *   (3) Before an output waits, or is refused, the effect that it is of is
 *       acknowledged (result.c), so that nobody makes it happen twice (R11).
 *   (4) Where an output waits stands on the execution (`awaits`, `how`), and is
 *       nothing that a crash could lose: behind it the output is there again,
 *       and comes to that stage again.  A `leaving` entry, which holds an
 *       output, has x READY; when its turn comes, that output goes on at the
 *       guardrails that it was recorded for.  A `remembering` entry holds it for
 *       the write to the memory, which waits until that entry is on disk.  An effect that was acknowledged
 *       is handed in again as what it was (DONE_RECORDED).  Anything else is
 *       called again.
 *   (5) What differs by how an output came about is a column of origin.c.
 *   (6) A stage decides on the execution's view, the entry and what is recorded
 *       of x, so that it decides the same when it is come to again.
 *
 *   (7) When what an output waited for is over, it goes through the stages once
 *       more, and what it waited for up to there is not asked for again: the
 *       judges ahead of that decide as they did, unless the output is another.
 *
 * A stage more is a row more (docs/extending.md).  What rewords an output stands
 * ahead of `fits`, whose schemas then hold of what it made; what remembers an
 * output is a record ahead of `done`. */
#include "core/run/outcome/outcome.h"

/* ---- an outcome ---------------------------------------------------------- */

void mortise_pipeline_init(struct outcome *o, struct mortise_run *r,
                           struct exec *x, enum mortise_entry_type type)
{
    assert(!mortise_exec_is_over(x));
    o->r = r;
    o->x = x;
    o->from = mortise_origin_of(DONE_EXECUTED);
    o->entry = mortise_exec_entry(r, x, type);
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
        mortise_sub_hold(o->x, NULL);
    json_decref(o->output);
    json_decref(o->grounds);
    mortise_patch_finish(&o->said);
    mortise_arena_finish(&o->arena);
}

/* An output, or none, that came about so. */
static void init_done(struct outcome *o, struct mortise_run *r, struct exec *x,
                      json_t *output, enum done_how how)
{
    mortise_pipeline_init(o, r, x, MORTISE_E_DONE);
    o->from = mortise_origin_of(how);
    o->entry.how = (uint8_t)how;
    o->output = json_incref(output);
    o->entry.value = json_incref(output);
    o->entry.note = json_incref(x->verdicts);
}

void mortise_pipeline_hold(struct exec *x, enum done_how how)
{
    x->how = how;
}

/* ---- the ways out of a stage ---------------------------------------------- */

/* (1), (3): nothing was tried, and nothing that happened is forgotten. */
static int let_go(struct outcome *o, struct mortise_err *err)
{
    mortise_writes_undo(o->r, o->x);
    return o->over > 0 /* it waited before */
               ? MORTISE_OK
               : mortise_result_keep(o->r, o->x, o->output,
                                     (enum done_how)o->entry.how, err);
}

/* (2) */
static int refuse(struct outcome *o, struct mortise_err *err)
{
    int rv;

    assert(o->code != NULL);
    mortise_exec_forget_leaving(o->x);
    rv = let_go(o, err);
    if (rv != MORTISE_OK)
        return rv;
    return o->from->is_last
               ? mortise_fail_for_good(o->r, o->x, o->code, o->why.msg, false,
                                       err)
               : mortise_fail_attempt(o->r, o->x, o->code, "permanent",
                                      o->why.msg, err);
}

/* (4) */
static int wait_at(struct outcome *o, size_t at, struct mortise_err *err)
{
    int rv = let_go(o, err);

    assert(mortise_stages[at].is_due != NULL && at >= o->over);
    o->x->awaits = (uint8_t)at;
    mortise_pipeline_hold(o->x, (enum done_how)o->entry.how);
    return rv == MORTISE_OK ? mortise_stages[at].does(o, err) : rv;
}

/* Where x is to stop, nobody is asked about its output until it goes on: then
 * the effect is known to have happened, and is not done again.  Nor is anybody
 * while commands are obeyed, and of a run that stands still: what people decided
 * is kept (generation.c). */
int mortise_pipeline_stands(struct outcome *o, bool *stands,
                            struct mortise_err *err)
{
    struct exec *x = o->x;
    bool stopping = x->state == X_STOPPING;

    *stands = true;
    if (stopping && x->stop == STOP_RUN)
        return mortise_doubt_cancelled(o->r, x, err);
    if ((stopping && (x->stop == STOP_COMMAND || x->stop == STOP_BUDGET)) ||
        o->r->held != NULL || o->r->obeys || !o->r->live) {
        mortise_exec_stop_for(x, STOP_NONE);
        return mortise_exec_ready(o->r, x, err);
    }
    *stands = false;
    return MORTISE_OK;
}

/* ---- the way through ------------------------------------------------------ */

int mortise_pipeline_judge(struct outcome *o, enum stage_id judge,
                           struct mortise_err *err)
{
    assert(mortise_stages[judge].code != NULL);
    o->code = mortise_stages[judge].code;
    return mortise_stages[judge].does(o, err);
}

/* As far as the output gets. */
static int go_through(struct outcome *o, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t at = 0; rv == MORTISE_OK && at < N_STAGES; at++) {
        const struct stage *s = &mortise_stages[at];

        if (s->code != NULL) {
            rv = mortise_pipeline_judge(o, (enum stage_id)at, err);
            if (rv == MORTISE_EINVAL)
                return refuse(o, err);
        } else if (s->is_due == NULL) {
            rv = s->does(o, err);
        } else if (at >= o->over && s->is_due(o)) {
            return wait_at(o, at, err);
        }
    }
    return rv;
}

/* An output, for which the stages ahead of `over` are not waited for; or which
 * is refused. */
static int pass(struct mortise_run *r, struct exec *x, json_t *output,
                enum done_how how, size_t over,
                const struct mortise_err *refused, struct mortise_err *err)
{
    struct outcome o;
    int rv;

    init_done(&o, r, x, output, how);
    o.over = over;
    if (refused != NULL) {
        o.code = "guardrail";
        o.why = *refused;
    }
    rv = refused != NULL ? refuse(&o, err) : go_through(&o, err);
    mortise_pipeline_finish(&o);
    return rv;
}

int mortise_pipeline_enter(struct mortise_run *r, struct exec *x,
                           json_t *output, enum done_how how,
                           struct mortise_err *err)
{
    assert(x->leaving == NULL); /* that one goes on, and is not begun */
    return pass(r, x, output, how, 0, NULL, err);
}

int mortise_pipeline_go_on(struct mortise_run *r, struct exec *x,
                           struct mortise_err *err)
{
    assert(x->leaving != NULL && x->state == X_READY);
    return pass(r, x, x->leaving, x->how,
                x->trace != NULL                        ? STAGE_remember
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
    return pass(r, x, output, x->how, (size_t)x->awaits + 1, refused, err);
}

int mortise_pipeline_divert(struct mortise_run *r, struct exec *x,
                            enum mortise_edge_kind kind,
                            struct mortise_err *err)
{
    struct outcome o;
    uint32_t edge[1];
    int rv;

    init_done(&o, r, x, NULL, DONE_EXECUTED);
    o.entry.edges = edge;
    mortise_route_of_kind(x, &o.entry, kind);
    assert(o.entry.n_edges == 1); /* graph/ lets no such node in without it */
    rv = mortise_stage_done(&o, err);
    mortise_pipeline_finish(&o);
    return rv;
}
