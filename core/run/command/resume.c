/* resume.c -- the command that continues a run from its head.
 *
 * Any command list continues the run (command.c).  A `resume` also retries
 * failures, passes scheduled pauses, and asks about effects that ended in
 * doubt.
 */
#include "core/run/command/command.h"

/* Does the same list settle x's doubt?  If nothing was stopped, any resolve
 * counts. */
static bool is_doubt_resolved(const struct mortise_run *r,
                              const struct mortise_command_list *h,
                              const struct exec *x)
{
    for (size_t i = 0; i < h->n; i++) {
        const struct mortise_run_command *c = &h->list[i];

        if (c->kind == MORTISE_CMD_RESOLVE &&
            (x->loss == LOSS_NONE || mortise_decide_find_doubt(r, c) == x))
            return true;
    }
    return false;
}

/* Is an execution about to end that a resume would retry? but_doubts: ignore
 * those that wait for a doubt to be settled. */
static bool has_stopping_execs(const struct mortise_run *r, bool but_doubts)
{
    for (size_t i = 1; i < r->n_execs; i++) {
        const struct exec *x = r->execs[i];

        if (x->loss != LOSS_NONE && x->was.state == 0 &&
            mortise_race_has_undoable_loss(x) && !mortise_exec_has_ended(x) &&
            !(but_doubts &&
              (mortise_doubt_is_settling(x) || x->state == X_INNER_GRAPH ||
               mortise_tools_are_active(x))))
            return true;
    }
    return false;
}

int mortise_command_check_resume(struct mortise_run *r,
                                 const struct mortise_command_list *h,
                                 const struct mortise_run_command *c,
                                 struct mortise_err *err)
{
    (void)c;
    if (r->live && r->status == MORTISE_RUN_RUNNING && h->n == 1)
        return mortise_fail(
            err, MORTISE_ECONFLICT,
            "run %s is already running; another command resumed it", r->id);
    if (r->live && has_stopping_execs(r, true))
        return mortise_fail(
            err, MORTISE_ECONFLICT,
            "run %s is being stopped; resume it when it has stopped", r->id);
    if (r->status == MORTISE_RUN_IN_DOUBT) {
        for (size_t i = 1; i < r->n_execs; i++) {
            const struct exec *x = r->execs[i];

            if (x->state == X_ASKED && x->ask == MORTISE_ASK_DOUBT &&
                !is_doubt_resolved(r, h, x))
                return mortise_fail(
                    err, MORTISE_EINDOUBT,
                    "the effect of node '%s' may have happened; find out "
                    "whether it did, then resolve it (request %s)",
                    mortise_exec_node(r, x)->id, x->request);
        }
    }
    return MORTISE_OK;
}

/* Has an execution failed because people rejected it, or took its effect as
 * failed, since the last pause or resume? */
static bool has_rejected_failure(const struct mortise_run *r)
{
    for (size_t i = 1; i < r->n_execs; i++) {
        const struct exec *x = r->execs[i];

        if (x->state == X_FAILED && !x->handled && x->refused)
            return true;
    }
    return false;
}

/* Does the run fail by a decision once it continues?  The decision was in the
 * same list, or came while the run was paused (`stayed`). */
static bool must_fail_by_decision(const struct mortise_run *r, bool stayed)
{
    return r->error == NULL && r->frames[0]->failed &&
           (r->n_failed > r->failed_before ||
            (stayed && has_rejected_failure(r)));
}

/* Retry failures and pass scheduled pauses.  First, executions that were being
 * stopped when the process died are stopped, active finalizers end, and
 * decisions that were made during the pause take effect: otherwise an effect
 * that a person took as failed would be asked about again at once.  Doubts of
 * ended executions are asked about (doubt.c (11)), even if nothing else
 * continues. */
int mortise_command_obey_resume(struct mortise_run *r,
                                const struct mortise_command_list *h,
                                const struct mortise_run_command *c,
                                struct mortise_err *err)
{
    struct mortise_entry e = {.type = MORTISE_E_RESUME, .actor = h->actor};
    struct mortise_entry back = {.type = MORTISE_E_LOOK_BACK,
                                 .actor = h->actor};
    bool ended = r->status >= MORTISE_RUN_COMPLETED;
    bool paused = r->paused != MORTISE_PAUSE_OVER;
    bool stayed = !r->live && (paused || r->stays != NULL);
    bool retries;
    int rv = MORTISE_OK;

    (void)c;
    if (mortise_run_has_kept_doubt(r))
        return mortise_run_record(r, &back, err);
    if (mortise_run_is_closed(r) || r->cancelling)
        return MORTISE_OK;
    retries = !has_stopping_execs(r, false) && !mortise_final_is_active(r) &&
              !must_fail_by_decision(r, stayed);
    if (!retries && !paused)
        return MORTISE_OK;
    /* Otherwise the entry of the resume ends the pause. */
    if (retries && paused && r->frames[0]->failed)
        rv = mortise_pause_record(r, MORTISE_PAUSE_OVER, NULL, h->actor, err);
    if (rv == MORTISE_OK)
        rv = mortise_run_record(r, &e, err);
    if (rv == MORTISE_OK && ended && mortise_doubt_has_any_ended_open(r))
        rv = mortise_run_record(r, &back, err);
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if ((x->state == X_ASKED && x->ask == MORTISE_ASK_BEFORE) ||
            x->state == X_HELD)
            rv = mortise_request_settle(r, x, MORTISE_SETTLE_PASSED, NULL, NULL,
                                        h->actor, err);
    }
    return rv == MORTISE_OK && r->plan.error != NULL ? mortise_plan_ask(r, err)
                                                     : rv;
}
