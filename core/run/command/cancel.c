/* cancel.c -- the command that ends a run; only a goto continues it then.
 *
 * Active executions are stopped; then finalizers run (flow/final.c), and the
 * run ends when they have ended.  A second cancel does not wait for finalizers.
 * A blocked run is cancelled like any other: the engine fails each call for
 * which a plugin is missing (live.c). */
#include <assert.h>
#include <string.h>

#include "core/run/command/command.h"

/* An ended run cannot be cancelled, unless the same list continues it.  An
 * engine that stops pauses any run. */
int mortise_command_check_cancel(struct mortise_run *r,
                                 const struct mortise_command_list *h,
                                 const struct mortise_run_command *c,
                                 struct mortise_err *err)
{
    int rv = c->kind == MORTISE_CMD_CANCEL
                 ? mortise_decide_check_used(r, h, "cancel", err)
                 : MORTISE_OK;

    if (rv != MORTISE_OK)
        return rv;
    if (r->status < MORTISE_RUN_COMPLETED ||
        (c->flags & MORTISE_CMD_SHUTDOWN) != 0 ||
        mortise_command_has_restart(h) ||
        mortise_command_has_kind(h, MORTISE_CMD_RESUME))
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_ESTATE,
                        "run %s has already ended: it is %s", r->id,
                        mortise_run_status_name(r->status));
}

int mortise_command_stop_idle(struct mortise_run *r, struct mortise_err *err)
{
    int rv = mortise_plan_withdraw(r, err);

    /* A withdrawn request can activate nodes: the list grows during the
     * loop. */
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->loss == LOSS_CANCEL ||
            (r->cancelling && !mortise_exec_must_stop(r, x)))
            continue; /* it ends after its doubt is settled, or by itself */
        if (x->state == X_INTENT && x->effect_open && r->live)
            rv =
                mortise_fail_undo_intent(r, x, err); /* it was not called yet */
        if (rv != MORTISE_OK)
            break;
        if (!mortise_exec_has_ended(x) && x->state != X_RUNNING &&
            x->state != X_STOPPING)
            rv = mortise_stop_exec(r, x, MORTISE_E_STOPPED, err);
    }
    return rv;
}

int mortise_command_obey_cancel(struct mortise_run *r,
                                const struct mortise_command_list *h,
                                const struct mortise_run_command *c,
                                struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_CANCEL, .actor = h->actor};
    int rv;

    assert(h->actor != NULL);
    if (r->status >= MORTISE_RUN_COMPLETED ||
        (r->cancelling && !mortise_doubt_has_any_reopened(r) &&
         (r->given_up || !mortise_final_is_active(r))))
        return MORTISE_OK;
    e.value = c->reason != NULL
                  ? mortise_json_make_string(c->reason, strlen(c->reason))
                  : NULL;
    rv = mortise_run_record(r, &e, err);
    json_decref(e.value);
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (mortise_exec_must_stop(r, x) &&
            (x->state == X_RUNNING || x->state == X_STOPPING))
            rv = mortise_exec_cancel_call(r, x, STOP_RUN, err);
    }
    return rv != MORTISE_OK ? rv : mortise_command_stop_idle(r, err);
}
