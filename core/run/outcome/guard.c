/* guard.c -- guardrails: which are asked, about which subject, in which order.
 *
 * Guardrails are asked one after the other; each sees the subject as the
 * previous one left it.  A round ends when all have passed, or when one ends it
 * (verdict.c).  A round belongs to one of the stages of a node (graph.h), or to
 * the edges that a success takes.
 *
 *   (1) Guardrails fail closed.  A guardrail that did not answer counts as a
 *       violation, and its replacement, if any, is not used; neither is a
 *       replacement that is nested too deeply to be stored.
 *   (2) Nothing on the protected path runs before its guardrails have passed.
 *       Arguments are checked before anybody is asked to approve them and
 *       before an intent; an output is checked before any of it is written.
 *   (3) The arguments that passed are recorded (`checked`) before they are
 *       used: an approval, an idempotency key and a call after a crash concern
 *       exactly those.  Arguments that a person edits, and those of a new
 *       generation, are checked again.  An effect in doubt keeps the arguments
 *       it began with.
 *   (4) A `write` or `external` call has happened when its output is checked.
 *       Its `result` is recorded first (R11), so that after a crash, or in a
 *       retry, the output is checked again and the call is not repeated.
 *   (5) An executor that writes the state itself (`update`) cannot bypass the
 *       guardrails of its output or its edges: they check the update after the
 *       output, in the same round.
 *   (6) Edges are checked in their order, and the guardrails of each edge in
 *       theirs.  The edges were chosen before (leaving.c).  On a violation,
 *       `block` fails the node; `warn` only notes it; `sanitize` replaces the
 *       node's output, for all of its edges and its writes; `reroute` takes the
 *       detour instead of that edge, while the node's other edges stay.
 */
#include <string.h>

#include "core/run/outcome/outcome.h"

/* ---- the guardrails of a round ------------------------------------------- */

const struct mortise_edge *
mortise_guard_get_violation_edge(const struct exec *x)
{
    assert(x->stage == MORTISE_GUARD_EDGE && x->at < x->n_chosen);
    return &x->frame->graph->edges[mortise_exec_get_taken_edges(x)[x->at]];
}

static const struct mortise_guard_list *
get_guard_list(const struct mortise_run *r, const struct exec *x)
{
    return x->stage == MORTISE_GUARD_EDGE
               ? &mortise_guard_get_violation_edge(x)->policy->guards
               : &mortise_exec_node(r, x)->guards[x->stage];
}

const char *mortise_guard_get_id(const struct mortise_run *r,
                                 const struct exec *x)
{
    assert(x->guard < get_guard_list(r, x)->n);
    return get_guard_list(r, x)->ids[x->guard];
}

bool mortise_guard_is_last(const struct mortise_run *r, const struct exec *x)
{
    return x->guard + 1 == get_guard_list(r, x)->n;
}

/* Find the next guardrail, from x's position on. */
static bool find_next_guard(const struct mortise_run *r, struct exec *x)
{
    if (x->stage != MORTISE_GUARD_EDGE)
        return x->guard < mortise_exec_node(r, x)->guards[x->stage].n;
    for (; x->at < x->n_chosen; x->at++, x->guard = 0) {
        const struct mortise_edge *e = mortise_guard_get_violation_edge(x);

        if (mortise_edge_is_guarded(e) && x->guard < e->policy->guards.n)
            return true;
    }
    return false;
}

/* (5): start with the update, if there is one and it was not checked yet. */
static bool start_update_check(struct exec *x)
{
    json_t *update = mortise_origin_get_member(x, x->how, "update");

    if ((x->stage != MORTISE_GUARD_OUTPUT && x->stage != MORTISE_GUARD_EDGE) ||
        x->judged != NULL || update == NULL)
        return false;
    mortise_json_set_ref(&x->judged, x->subject);
    mortise_json_set_ref(&x->subject, update);
    x->replaced = false;
    x->at = x->guard = 0;
    return true;
}

int mortise_guard_ask_next(struct mortise_run *r, struct exec *x, bool *asked,
                           struct mortise_err *err)
{
    *asked = find_next_guard(r, x) ||
             (start_update_check(x) && find_next_guard(r, x));
    return *asked ? mortise_call_start(r, x, MORTISE_RUN_CHECK, err)
                  : MORTISE_OK;
}

int mortise_guard_start_round(struct mortise_run *r, struct exec *x,
                              enum mortise_guard_stage stage, json_t *subject,
                              struct mortise_err *err)
{
    bool asked;
    int rv;

    assert(stage < MORTISE_GUARD_STAGES);
    assert(stage != MORTISE_GUARD_EDGE || x->n_chosen > 0);
    x->stage = stage;
    x->guard = x->at = x->turn = 0;
    x->replaced = false;
    if (stage == MORTISE_GUARD_EDGE)
        memcpy(mortise_exec_get_taken_edges(x), x->chosen,
               x->n_chosen * sizeof x->chosen[0]);
    mortise_json_set_ref(&x->subject, subject);
    mortise_json_clear_ref(&x->judged);
    rv = mortise_guard_ask_next(r, x, &asked, err);
    assert(asked); /* the caller knows that there is one */
    return rv;
}

void mortise_guard_set_answer(struct exec *x, json_t *replacement)
{
    assert(x->call == MORTISE_RUN_CHECK);
    x->turn++;
    x->guard++;
    if (replacement == NULL)
        return;
    mortise_json_set_ref(&x->subject, replacement);
    x->replaced = true;
}

void mortise_guard_set_detour(struct exec *x)
{
    mortise_exec_get_taken_edges(x)[x->at] =
        mortise_guard_get_violation_edge(x)->policy->end;
    x->turn++;
}

int mortise_guard_get_output(struct exec *x, json_t **output,
                             struct mortise_err *err)
{
    json_t *said;
    int rv;

    *output = x->judged != NULL ? x->judged : x->subject;
    if (x->judged == NULL || !x->replaced)
        return MORTISE_OK;
    said = json_copy(x->said); /* replace the update by the one that passed */
    rv = said != NULL && json_object_set(said, "update", x->subject) == 0
             ? MORTISE_OK
             : mortise_nomem(err);
    if (rv == MORTISE_OK)
        mortise_result_set_said(x, said);
    json_decref(said);
    return rv;
}

void mortise_guard_drop_subject(struct exec *x)
{
    mortise_json_clear_ref(&x->subject);
    mortise_json_clear_ref(&x->judged);
}

/* ---- input guardrails ---------------------------------------------------- */

bool mortise_guard_must_check_input(const struct mortise_run *r,
                                    const struct exec *x)
{
    return mortise_exec_node(r, x)->guards[MORTISE_GUARD_INPUT].n > 0 &&
           x->checked != x->generation && !x->effect_open &&
           !mortise_step_has_open_effect(x);
}

/* ---- output and edge guardrails (stages of pipeline.c) ------------------ */

/* An output that breaks its schema fails without being checked. */
bool mortise_stage_output_is_due(const struct outcome *o)
{
    const struct mortise_node *n = mortise_exec_node(o->r, o->x);

    return n->guards[MORTISE_GUARD_OUTPUT].n > 0 && o->from->is_guarded &&
           mortise_judge_check_output(o->x->frame->graph, n, o->output, NULL) ==
               MORTISE_OK;
}

int mortise_stage_output(struct outcome *o, struct mortise_err *err)
{
    bool stands;
    int rv = mortise_pipeline_must_stop(o, &stands, err);

    return rv != MORTISE_OK || stands
               ? rv
               : mortise_guard_start_round(o->r, o->x, MORTISE_GUARD_OUTPUT,
                                           o->output, err);
}

bool mortise_stage_along_is_due(const struct outcome *o)
{
    return o->x->n_chosen > 0;
}

int mortise_stage_along(struct outcome *o, struct mortise_err *err)
{
    assert(o->x->leaving == o->output);
    return mortise_guard_start_round(o->r, o->x, MORTISE_GUARD_EDGE, o->output,
                                     err);
}
