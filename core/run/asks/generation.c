/* generation.c -- what an execution has for one generation, and forgets between
 * two of them: its arguments, what guardrails said, a decision.
 *
 * A generation is a new start of the same visit.  It begins with no journal and
 * finds its arguments, and what is looked up for them, anew; unless an effect of
 * the one before is in doubt, which is settled first, and is about the arguments
 * that it was begun with.
 */
#include <assert.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/run/asks/asks.h"

/* ---- arguments ------------------------------------------------------------ */

void mortise_generation_find(struct exec *x, json_t *body)
{
    assert(x->body == NULL && !x->body_is_given);
    x->body = body;
}

void mortise_generation_choose(struct exec *x, uint32_t choice)
{
    x->choice = choice;
}

void mortise_generation_given(struct exec *x, json_t *body)
{
    assert(x->body == NULL && x->state == 0); /* it is being made */
    mortise_json_hold(&x->body, body);
    x->body_is_given = true;
}

void mortise_generation_again(struct exec *x, json_t *body)
{
    assert(x->body == NULL && x->serves != 0);
    mortise_json_hold(&x->body, body);
    x->body_is_given = true;
}

void mortise_generation_checked(struct exec *x, json_t *body)
{
    x->checked = x->generation;
    if (body == NULL)
        return;
    mortise_json_hold(&x->body, body);
    x->body_is_given = true;
}

void mortise_generation_approved(struct exec *x, json_t *shown, json_t *edited)
{
    if (edited != NULL || shown != NULL) {
        mortise_json_hold(&x->body, edited != NULL ? edited : shown);
        x->body_is_given = true;
    }
    if (edited != NULL)
        x->checked = 0; /* guardrails have not seen these */
}

int mortise_generation_approved_by(struct exec *x,
                                   const struct mortise_entry *e,
                                   struct mortise_err *err)
{
    json_t *approval;

    if (!mortise_utf8_valid(e->actor, strlen(e->actor)))
        return mortise_entry_corrupt(err, e);
    approval = json_pack("{s:s, s:O*, s:o*}", "actor", e->actor, "reason",
                         json_object_get(e->value, "reason"), "edited",
                         json_object_get(e->value, "args") != NULL ? json_true()
                                                                   : NULL);
    if (approval == NULL)
        return mortise_nomem(err);
    json_decref(x->approval);
    x->approval = approval;
    return MORTISE_OK;
}

/* They are to be found anew; unless an effect is in doubt, which is about those
 * that it was begun with. */
static void drop_body(struct exec *x)
{
    if (x->body_is_given && (x->effect_open || mortise_step_is_kept(x)))
        return;
    mortise_json_drop(&x->body);
    x->body_is_given = false;
}

/* ---- what was looked up --------------------------------------------------- */

void mortise_generation_found_out(struct exec *x, enum mortise_lookup which,
                                  json_t *value)
{
    mortise_json_hold(&x->found[which], value);
}

/* It stays where an effect is in doubt, which is about what it was begun with. */
static void drop_found(struct exec *x)
{
    if (x->effect_open || mortise_step_is_kept(x))
        return;
    for (int i = 0; i < MORTISE_LOOKUPS; i++)
        mortise_json_drop(&x->found[i]);
}

/* ---- what is told of it --------------------------------------------------- */

void mortise_generation_compacted(struct exec *x, json_t *told)
{
    mortise_json_hold(&x->compacted, told);
}

/* ---- what was said of it -------------------------------------------------- */

int mortise_generation_note(struct exec *x, json_t *verdicts,
                            struct mortise_err *err)
{
    if (x->notes == NULL)
        x->notes = json_array();
    return x->notes != NULL && json_array_extend(x->notes, verdicts) == 0
               ? MORTISE_OK
               : mortise_nomem(err);
}

void mortise_generation_advised(struct exec *x, json_t *advice)
{
    mortise_json_hold(&x->advice, advice);
}

void mortise_generation_decide(struct exec *x, json_t *decision)
{
    mortise_json_hold(&x->decision, decision);
}

int mortise_generation_refuse(struct exec *x, json_t *refusal,
                              struct mortise_err *err)
{
    mortise_json_drop(&x->refusal);
    x->refusal = refusal;
    return refusal != NULL ? MORTISE_OK : mortise_nomem(err);
}

void mortise_generation_refused(struct exec *x)
{
    x->refused = json_object_get(x->refusal, "actor") != NULL;
}

void mortise_generation_came_about(struct mortise_run *r)
{
    for (size_t i = 1; i < r->n_execs; i++)
        r->execs[i]->refused = false;
}

/* ---- what it goes on from ------------------------------------------------ */

void mortise_generation_go_on(struct exec *x, bool again, bool asks)
{
    x->child_again = again;
    x->child_asks = asks;
}

void mortise_generation_asked(struct exec *x)
{
    x->ordinal++;
}

int mortise_apply_left(struct mortise_run *r, struct exec *x,
                       const struct mortise_entry *e, struct mortise_err *err)
{
    (void)r;
    (void)e;
    (void)err;
    x->unknown = true;
    return MORTISE_OK;
}

/* ---- its end -------------------------------------------------------------- */

int mortise_generation_rest(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err)
{
    drop_body(x);
    mortise_json_drop(&x->decision);
    mortise_json_drop(&x->refusal);
    return mortise_step_is_kept(x) ? mortise_step_rest(r, x, err)
                                   : mortise_step_clear(r, x, err);
}

/* A new start of the same visit, with an empty journal; unless a step in it is
 * to be settled first. */
int mortise_generation_next(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err)
{
    assert(x->state != X_RUNNING &&
           x->state != X_STOPPING); /* no call is out */
    mortise_exec_start_over(x);
    if (!x->effect_open && !mortise_step_is_kept(x))
        x->choice = 0;
    mortise_generation_go_on(x, false, false);
    x->ordinal = 0;
    x->unknown = false;
    drop_body(x);
    drop_found(x);
    mortise_json_drop(&x->decision);
    mortise_json_drop(&x->refusal);
    mortise_json_drop(&x->advice);
    mortise_json_drop(&x->notes);
    mortise_json_drop(&x->approval);
    mortise_json_drop(&x->compacted);
    mortise_budget_call_ended(r, x);
    if (!mortise_step_is_kept(x) && mortise_step_clear(r, x, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    return mortise_exec_ready(r, x, err);
}
