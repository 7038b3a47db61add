/* generation.c -- what an execution forgets: between two generations of it, and
 * when it has ended.
 *
 * A generation is a new start of the same visit.  It begins with no journal and
 * finds its arguments anew; unless an effect of the one before is in doubt,
 * which is settled first, and is about the arguments that it was begun with.
 */
#include <assert.h>

#include "run/asks/asks.h"

/* The arguments of x are to be found anew; unless an effect is in doubt, which
 * is about those that it was begun with. */
static void drop_body(struct exec *x)
{
    if (x->body_is_given && (x->effect_open || mortise_step_is_kept(x)))
        return;
    mortise_json_drop(&x->body);
    x->body_is_given = false;
}

int mortise_exec_forget_live(struct mortise_run *r, struct exec *x,
                             struct mortise_err *err)
{
    mortise_exec_forget_leaving(x);
    drop_body(x);
    mortise_json_drop(&x->broke);
    mortise_json_drop(&x->failure);
    mortise_json_drop(&x->subject);
    mortise_json_drop(&x->judged);
    mortise_json_drop(&x->verdicts);
    mortise_json_drop(&x->decision);
    x->stop = STOP_NONE;
    return mortise_step_is_kept(x) ? mortise_step_rest(r, x, err)
                                   : mortise_step_clear(r, x, err);
}

/* A new start of the same visit, with an empty journal; unless a step in it is
 * to be settled first. */
int mortise_exec_next_generation(struct mortise_run *r, struct exec *x,
                                 struct mortise_err *err)
{
    assert(x->state != X_RUNNING &&
           x->state != X_STOPPING); /* no call is out */
    x->generation++;
    x->attempt = 1;
    x->child_again = x->child_asks = false;
    x->ordinal = 0;
    x->ended_ms = 0;
    x->unknown = false;
    drop_body(x);
    mortise_exec_forget_leaving(x);
    mortise_json_drop(&x->decision);
    mortise_json_drop(&x->error);
    mortise_json_drop(&x->notes);
    mortise_budget_call_ended(r, x);
    if (!mortise_step_is_kept(x) && mortise_step_clear(r, x, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    return mortise_exec_ready(r, x, err);
}
