/* guard.c -- guardrails: which are asked, about what, and in which order.
 *
 * They are asked one after the other, each about what the one before left; a
 * round of them is over when all passed, or when one of them ended it
 * (verdict.c).  A round is of a node's, at one of the stages that graph.h has,
 * or of those of the edges that a success takes.
 *
 *   (1) It fails closed: one that failed to answer is a violation, and what it
 *       may have offered as a replacement is not used; nor is a replacement
 *       that is too deep to be kept.
 *   (2) Nothing on the protected path runs before its guardrails passed: the
 *       arguments are judged before anybody is asked to approve them and before
 *       an intent, the output before anything of it is written.
 *   (3) What the arguments came to is recorded (`checked`) before it is used:
 *       an approval, an idempotency key and a call after a crash are about the
 *       very arguments that passed.  Arguments that a person edits are judged
 *       anew, and so are those of a new generation; what is in doubt keeps
 *       those that it was begun with.
 *   (4) A `write` or `external` call whose output is about to be judged did
 *       happen: its `result` is recorded first (R11), so that a crash in
 *       between, or a retry, judges the output again and calls nothing.
 *   (5) An executor that writes the state by itself (`update`) is no way
 *       around the guardrails of its output, or of its edges: they see that,
 *       too, behind the output and in the same round.
 *   (6) Edges are looked at in their order, and each one's guardrails in
 *       theirs.  Which they are was decided before (leaving.c), and a violation
 *       is the node's failure (`block`), or only noted (`warn`), or the
 *       replacement becomes the node's output, for all of its edges and for
 *       what it writes (`sanitize`); or that edge is not taken, and its detour
 *       is (`reroute`), while the node's other edges stay.
 */
#include <string.h>

#include "core/run/outcome/outcome.h"

/* ---- who is asked -------------------------------------------------------- */

const struct mortise_edge *mortise_guard_edge(const struct exec *x)
{
    assert(x->stage == MORTISE_GUARD_EDGE && x->at < x->n_chosen);
    return &x->frame->graph->edges[mortise_exec_going(x)[x->at]];
}

static const struct mortise_guard_list *list_of(const struct mortise_run *r,
                                                const struct exec *x)
{
    return x->stage == MORTISE_GUARD_EDGE
               ? &mortise_guard_edge(x)->policy->guards
               : &mortise_exec_node(r, x)->guards[x->stage];
}

const char *mortise_guard_id(const struct mortise_run *r, const struct exec *x)
{
    assert(x->guard < list_of(r, x)->n);
    return list_of(r, x)->ids[x->guard];
}

bool mortise_guard_is_last(const struct mortise_run *r, const struct exec *x)
{
    return x->guard + 1 == list_of(r, x)->n;
}

/* Is there one from here on? */
static bool find_next(const struct mortise_run *r, struct exec *x)
{
    if (x->stage != MORTISE_GUARD_EDGE)
        return x->guard < mortise_exec_node(r, x)->guards[x->stage].n;
    for (; x->at < x->n_chosen; x->at++, x->guard = 0) {
        const struct mortise_edge *e = mortise_guard_edge(x);

        if (mortise_edge_is_guarded(e) && x->guard < e->policy->guards.n)
            return true;
    }
    return false;
}

/* (5): is there an update that they have not seen yet? */
static bool turn_to_update(struct exec *x)
{
    json_t *update = mortise_origin_said(x, x->how, "update");

    if ((x->stage != MORTISE_GUARD_OUTPUT && x->stage != MORTISE_GUARD_EDGE) ||
        x->judged != NULL || update == NULL)
        return false;
    mortise_json_hold(&x->judged, x->subject);
    mortise_json_hold(&x->subject, update);
    x->replaced = false;
    x->at = x->guard = 0;
    return true;
}

int mortise_guard_ask(struct mortise_run *r, struct exec *x, bool *asked,
                      struct mortise_err *err)
{
    *asked = find_next(r, x) || (turn_to_update(x) && find_next(r, x));
    return *asked ? mortise_call_start(r, x, MORTISE_RUN_CHECK, err)
                  : MORTISE_OK;
}

int mortise_guard_begin(struct mortise_run *r, struct exec *x,
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
        memcpy(mortise_exec_going(x), x->chosen,
               x->n_chosen * sizeof x->chosen[0]);
    mortise_json_hold(&x->subject, subject);
    mortise_json_drop(&x->judged);
    rv = mortise_guard_ask(r, x, &asked, err);
    assert(asked); /* who begins a round has seen that there is one */
    return rv;
}

void mortise_guard_answered(struct exec *x, json_t *replacement)
{
    assert(x->call == MORTISE_RUN_CHECK);
    x->turn++;
    x->guard++;
    if (replacement == NULL)
        return;
    mortise_json_hold(&x->subject, replacement);
    x->replaced = true;
}

void mortise_guard_detour(struct exec *x)
{
    mortise_exec_going(x)[x->at] = mortise_guard_edge(x)->policy->end;
    x->turn++;
}

int mortise_guard_left(struct exec *x, json_t **output, struct mortise_err *err)
{
    json_t *said;
    int rv;

    *output = x->judged != NULL ? x->judged : x->subject;
    if (x->judged == NULL || !x->replaced)
        return MORTISE_OK;
    said = json_copy(x->said); /* what was said is the update as it passed */
    rv = said != NULL && json_object_set(said, "update", x->subject) == 0
             ? MORTISE_OK
             : mortise_nomem(err);
    if (rv == MORTISE_OK)
        mortise_result_say(x, said);
    json_decref(said);
    return rv;
}

void mortise_guard_forget(struct exec *x)
{
    mortise_json_drop(&x->subject);
    mortise_json_drop(&x->judged);
}

/* ---- on the way in ------------------------------------------------------- */

bool mortise_guard_wants_input(const struct mortise_run *r,
                               const struct exec *x)
{
    return mortise_exec_node(r, x)->guards[MORTISE_GUARD_INPUT].n > 0 &&
           x->checked != x->generation && !x->effect_open &&
           !mortise_step_is_open(x);
}

/* ---- on the way out (stages of pipeline.c) -------------------------------- */

/* One that breaks its schema fails without being looked at. */
bool mortise_stage_output_is_due(const struct outcome *o)
{
    const struct mortise_node *n = mortise_exec_node(o->r, o->x);

    return n->guards[MORTISE_GUARD_OUTPUT].n > 0 && o->from->is_guarded &&
           mortise_judge_output(o->x->frame->graph, n, o->output, NULL) ==
               MORTISE_OK;
}

int mortise_stage_output(struct outcome *o, struct mortise_err *err)
{
    bool stands;
    int rv = mortise_pipeline_stands(o, &stands, err);

    return rv != MORTISE_OK || stands
               ? rv
               : mortise_guard_begin(o->r, o->x, MORTISE_GUARD_OUTPUT,
                                     o->output, err);
}

bool mortise_stage_along_is_due(const struct outcome *o)
{
    return o->x->n_chosen > 0;
}

int mortise_stage_along(struct outcome *o, struct mortise_err *err)
{
    assert(o->x->leaving == o->output);
    return mortise_guard_begin(o->r, o->x, MORTISE_GUARD_EDGE, o->output, err);
}
