/* generation.c -- the fields of an execution that last for one generation: its
 * arguments, guardrail verdicts and decisions.
 *
 * A generation is a new start of the same visit.  It starts without a journal,
 * and evaluates its arguments and lookups anew.  The exception: if an effect of
 * the previous generation is in doubt, that is settled first, with the
 * arguments that the effect started with.
 */
#include <assert.h>
#include <string.h>

#include "core/base/utf8.h"
#include "core/run/asks/asks.h"

/* ---- arguments ----------------------------------------------------------- */

void mortise_generation_set_body(struct exec *x, json_t *body)
{
    assert(x->body == NULL && !x->body_is_given);
    x->body = body;
}

void mortise_generation_set_choice(struct exec *x, uint32_t choice)
{
    x->choice = choice;
}

void mortise_generation_set_given_body(struct exec *x, json_t *body)
{
    assert(x->body == NULL && x->state == 0); /* it is being created */
    mortise_json_set_ref(&x->body, body);
    x->body_is_given = true;
}

void mortise_generation_set_tool_body(struct exec *x, json_t *body)
{
    assert(x->body == NULL && x->serves != 0);
    mortise_json_set_ref(&x->body, body);
    x->body_is_given = true;
}

void mortise_generation_set_checked(struct exec *x, json_t *body)
{
    x->checked = x->generation;
    if (body == NULL)
        return;
    mortise_json_set_ref(&x->body, body);
    x->body_is_given = true;
}

void mortise_generation_set_approved(struct exec *x, json_t *shown,
                                     json_t *edited)
{
    if (edited != NULL || shown != NULL) {
        mortise_json_set_ref(&x->body, edited != NULL ? edited : shown);
        x->body_is_given = true;
    }
    if (edited != NULL)
        x->checked = 0; /* guardrails have not checked these */
}

int mortise_generation_set_approver(struct exec *x,
                                    const struct mortise_entry *e,
                                    struct mortise_err *err)
{
    json_t *approval;

    if (!mortise_utf8_is_valid(e->actor, strlen(e->actor)))
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

/* Evaluate the arguments anew, unless an effect in doubt started with them. */
static void drop_stale_body(struct exec *x)
{
    if (x->body_is_given &&
        (x->effect_open || mortise_step_has_kept_journal(x)))
        return;
    mortise_json_clear_ref(&x->body);
    x->body_is_given = false;
}

/* ---- lookups ------------------------------------------------------------- */

void mortise_generation_set_lookup(struct exec *x, enum mortise_lookup which,
                                   json_t *value)
{
    mortise_json_set_ref(&x->found[which], value);
}

/* Keep the results if an effect in doubt started with them. */
static void drop_stale_lookups(struct exec *x)
{
    if (x->effect_open || mortise_step_has_kept_journal(x))
        return;
    for (int i = 0; i < MORTISE_LOOKUPS; i++)
        mortise_json_clear_ref(&x->found[i]);
}

/* ---- output for successors ----------------------------------------------- */

void mortise_generation_set_compacted(struct exec *x, json_t *told)
{
    mortise_json_set_ref(&x->compacted, told);
}

/* ---- verdicts and decisions ---------------------------------------------- */

int mortise_generation_add_verdicts(struct exec *x, json_t *verdicts,
                                    struct mortise_err *err)
{
    if (x->notes == NULL)
        x->notes = json_array();
    return x->notes != NULL && json_array_extend(x->notes, verdicts) == 0
               ? MORTISE_OK
               : mortise_nomem(err);
}

void mortise_generation_set_advice(struct exec *x, json_t *advice)
{
    mortise_json_set_ref(&x->advice, advice);
}

void mortise_generation_set_decision(struct exec *x, json_t *decision)
{
    mortise_json_set_ref(&x->decision, decision);
}

int mortise_generation_set_refusal(struct exec *x, json_t *refusal,
                                   struct mortise_err *err)
{
    mortise_json_clear_ref(&x->refusal);
    x->refusal = refusal;
    return refusal != NULL ? MORTISE_OK : mortise_nomem(err);
}

void mortise_generation_set_refused(struct exec *x)
{
    x->refused = json_object_get(x->refusal, "actor") != NULL;
}

void mortise_generation_clear_refused(struct mortise_run *r)
{
    for (size_t i = 1; i < r->n_execs; i++)
        r->execs[i]->refused = false;
}

/* ---- continuing ---------------------------------------------------------- */

void mortise_generation_continue(struct exec *x, bool again, bool asks)
{
    x->child_again = again;
    x->child_asks = asks;
}

void mortise_generation_count_request(struct exec *x)
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

/* ---- its end ------------------------------------------------------------- */

int mortise_generation_release(struct mortise_run *r, struct exec *x,
                               struct mortise_err *err)
{
    drop_stale_body(x);
    mortise_json_clear_ref(&x->decision);
    mortise_json_clear_ref(&x->refusal);
    return mortise_step_has_kept_journal(x)
               ? mortise_step_withdraw_requests(r, x, err)
               : mortise_step_clear_journal(r, x, err);
}

/* The journal is empty, unless a step in it must be settled first. */
int mortise_generation_start_next(struct mortise_run *r, struct exec *x,
                                  struct mortise_err *err)
{
    assert(x->state != X_RUNNING &&
           x->state != X_STOPPING); /* no call is in flight */
    mortise_exec_begin_generation(x);
    if (!x->effect_open && !mortise_step_has_kept_journal(x))
        x->choice = 0;
    mortise_generation_continue(x, false, false);
    x->ordinal = 0;
    x->unknown = false;
    drop_stale_body(x);
    drop_stale_lookups(x);
    mortise_json_clear_ref(&x->decision);
    mortise_json_clear_ref(&x->refusal);
    mortise_json_clear_ref(&x->advice);
    mortise_json_clear_ref(&x->notes);
    mortise_json_clear_ref(&x->approval);
    mortise_json_clear_ref(&x->compacted);
    mortise_budget_settle_ended(r, x);
    if (!mortise_step_has_kept_journal(x) &&
        mortise_step_clear_journal(r, x, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    return mortise_exec_make_ready(r, x, err);
}
