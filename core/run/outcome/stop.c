/* stop.c -- stopping executions, by a command or because they lost (race.c).
 * The call is cancelled, a doubt is settled if it must be, and then an entry
 * ends the execution. */
#include "core/run/outcome/outcome.h"

int mortise_stop_drop_state(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err)
{
    mortise_exec_drop_leaving(x);
    mortise_guard_drop_subject(x);
    mortise_verdict_drop(x);
    mortise_doubt_set_failure(x, NULL);
    json_decref(mortise_step_take_divergence(x));
    mortise_exec_set_stop(x, STOP_NONE);
    return mortise_generation_release(r, x, err);
}

int mortise_stop_exec(struct mortise_run *r, struct exec *x,
                      enum mortise_entry_type type, struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, type);
    int rv = MORTISE_OK;

    assert(type == MORTISE_E_STOPPED ||
           (type == MORTISE_E_LOST && x->loss != LOSS_NONE));
    if (x->state == X_ASKED || x->state == X_HELD)
        rv = mortise_request_withdraw(r, x, err);
    if (rv == MORTISE_OK)
        rv = mortise_exec_disarm_timer(r, x, err);
    if (rv != MORTISE_OK || x->state == X_DONE)
        return rv;
    if (type == MORTISE_E_STOPPED || mortise_race_can_resume(x))
        rv = mortise_doubt_record_cause(r, x, err);
    return rv == MORTISE_OK ? mortise_run_record(r, &e, err) : rv;
}

/* ---- losers -------------------------------------------------------------- */

int mortise_stop_end_loser(struct mortise_run *r, struct exec *x,
                           struct mortise_err *err)
{
    int rv = !mortise_race_can_resume(x) && mortise_doubt_has_open_effect(r, x)
                 ? mortise_doubt_record_left(r, x, err)
                 : MORTISE_OK;

    return rv == MORTISE_OK ? mortise_stop_exec(r, x, MORTISE_E_LOST, err) : rv;
}

/* The output of a loser is not used; its effect is recorded. */
bool mortise_stage_lost_is_due(const struct outcome *o)
{
    return o->x->loss != LOSS_NONE && o->from->happened;
}

int mortise_stage_lost(struct outcome *o, struct mortise_err *err)
{
    return mortise_stop_exec(o->r, o->x, MORTISE_E_LOST, err);
}

/* Must x wait for something else to stop first? */
static bool must_wait_to_stop(const struct exec *x)
{
    return x->state == X_STOPPING || mortise_doubt_is_settling(x) ||
           (x->state == X_INNER_GRAPH && x->child->scope->n_live > 0) ||
           mortise_tools_are_active(x);
}

/* Stop x as far as possible now.  *ended: it has ended. */
static int stop_loser(struct mortise_run *r, struct exec *x, bool *ended,
                      struct mortise_err *err)
{
    int rv = MORTISE_OK;

    *ended = false;
    if (x->state == X_RUNNING && !mortise_doubt_is_settling(x))
        rv = mortise_exec_cancel_call(r, x, STOP_RACE, err);
    if (x->state == X_READY && mortise_tools_are_active(x))
        mortise_exec_await_tools(r, x); /* x itself is not working */
    if (rv != MORTISE_OK || must_wait_to_stop(x))
        return rv;
    if (x->state == X_INTENT && x->effect_open) /* it was not called yet */
        rv = mortise_fail_undo_intent(r, x, err);
    if (rv != MORTISE_OK || mortise_doubt_must_settle(r, x))
        return rv == MORTISE_OK ? mortise_doubt_begin_for_loser(r, x, err) : rv;
    *ended = true;
    return mortise_stop_end_loser(r, x, err);
}

/* One round over the losers.  *ended: one ended, so make another round. */
static int stop_losers_once(struct mortise_run *r, bool *ended,
                            struct mortise_err *err)
{
    size_t kept = 0;
    int rv = MORTISE_OK;

    *ended = false;
    /* An end can add losers: the list grows during the loop. */
    for (size_t i = 0; rv == MORTISE_OK && i < r->losers.n; i++) {
        struct exec *x = r->execs[r->losers.list[i]];
        bool over;

        /* A replay marks losers without stopping them; those that were retried
         * since are none any more. */
        if (mortise_exec_has_ended(x) || x->loss == LOSS_NONE)
            continue;
        rv = stop_loser(r, x, &over, err);
        if (!over)
            r->losers.list[kept++] = r->losers.list[i];
        *ended |= over;
    }
    r->losers.n = kept;
    return rv;
}

int mortise_stop_losers(struct mortise_run *r, struct mortise_err *err)
{
    bool ended = true;
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && ended && r->losers.n > 0)
        rv = stop_losers_once(r, &ended, err);
    return rv;
}

/* ---- finalizers ---------------------------------------------------------- */

/* Does x wait for more than its own tools? */
static bool is_waiting_finalizer(const struct exec *x)
{
    return x->state == X_ASKED || x->state == X_HELD || x->state == X_BACKOFF ||
           (x->state == X_SUSPENDED && !x->lent);
}

/* End the wait of x: a held one is done, another one fails. */
static int end_finalizer_wait(struct mortise_run *r, struct exec *x,
                              struct mortise_err *err)
{
    bool held = x->state == X_HELD, open = mortise_doubt_has_open_effect(r, x);
    int rv = x->state == X_ASKED || held ? mortise_request_withdraw(r, x, err)
                                         : MORTISE_OK;

    if (rv == MORTISE_OK)
        rv = mortise_exec_disarm_timer(r, x, err);
    return rv != MORTISE_OK || held
               ? rv
               : mortise_fail_without_retry(
                     r, x, "stopped",
                     "the graph was stopped, and a finaliser cannot wait", open,
                     err);
}

int mortise_finals_end_waits(struct mortise_run *r, bool *any,
                             struct mortise_err *err)
{
    int rv = MORTISE_OK;

    *any = false;
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (is_waiting_finalizer(x) && x->loss == LOSS_NONE &&
            mortise_exec_is_final(x) && !mortise_exec_must_stop(r, x)) {
            *any = true;
            rv = end_finalizer_wait(r, x, err);
        }
    }
    return rv;
}
