/* generation.c -- what an execution forgets: between two generations of it, and
 * when it has ended.
 *
 * A generation is a new start of the same visit.  It begins with no journal and
 * finds its arguments anew; unless an effect of the one before is in doubt,
 * which is settled first, and is about the arguments that it was begun with.
 */
#include "run/asks/asks.h"

void exec_drop_body(struct exec *x)
{
    if (x->body_is_given && (x->effect_open || step_is_kept(x)))
        return;
    drop(&x->body);
    x->body_is_given = false;
}

int exec_forget_live(struct mortise_run *r, struct exec *x,
                     struct mortise_err *err)
{
    exec_forget_leaving(x);
    exec_drop_body(x);
    drop(&x->broke);
    drop(&x->failure);
    drop(&x->subject);
    drop(&x->judged);
    drop(&x->verdicts);
    drop(&x->decision);
    x->stop = STOP_NONE;
    return step_is_kept(x) ? step_rest(r, x, err) : step_clear(r, x, err);
}

/* A new start of the same visit, with an empty journal; unless a step in it is
 * to be settled first. */
int exec_next_generation(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err)
{
    x->generation++;
    x->attempt = 1;
    x->child_again = x->child_asks = false;
    x->ordinal = 0;
    x->ended_ms = 0;
    x->unknown = false;
    exec_drop_body(x);
    exec_forget_leaving(x);
    drop(&x->decision);
    drop(&x->error);
    drop(&x->notes);
    budget_call_ended(r, x);
    if (!step_is_kept(x) && step_clear(r, x, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    return exec_ready(r, x, err);
}
