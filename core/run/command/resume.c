/* resume.c -- the command that has a run go on from its head as it stands.
 *
 * That it goes on is the list's business (command.c), as with any other; this
 * is what people ask for besides: what failed is tried again, scheduled pauses
 * are passed, and what an end left in doubt is asked about.
 */
#include "core/run/command/command.h"

/* Is its doubt settled by the same list?  Where nothing was stopped, any other
 * may be. */
static bool is_resolved(const struct mortise_run *r,
                        const struct mortise_said *h, const struct exec *x)
{
    for (size_t i = 0; i < h->n; i++) {
        const struct mortise_run_command *c = &h->list[i];

        if (c->kind == MORTISE_CMD_RESOLVE &&
            (x->loss == LOSS_NONE || mortise_decide_doubt(r, c) == x))
            return true;
    }
    return false;
}

/* Is something of it about to end that a resume would bring back, but for what
 * waits until its doubt is settled? */
static bool is_stopping(const struct mortise_run *r, bool but_doubts)
{
    for (size_t i = 1; i < r->n_execs; i++) {
        const struct exec *x = r->execs[i];

        if (x->loss != LOSS_NONE && x->was.state == 0 &&
            mortise_race_may_return(x) && !mortise_exec_is_over(x) &&
            !(but_doubts &&
              (mortise_doubt_is_asked(x) || x->state == X_INSIDE ||
               mortise_tools_are_at_work(x))))
            return true;
    }
    return false;
}

int mortise_command_check_resume(struct mortise_run *r,
                                 const struct mortise_said *h,
                                 const struct mortise_run_command *c,
                                 struct mortise_err *err)
{
    (void)c;
    if (r->live && r->status == MORTISE_RUN_RUNNING && h->n == 1)
        return mortise_fail(
            err, MORTISE_ECONFLICT,
            "run %s is already running; another command resumed it", r->id);
    if (r->live && is_stopping(r, true))
        return mortise_fail(
            err, MORTISE_ECONFLICT,
            "run %s is being stopped; resume it when it has stopped", r->id);
    if (r->status == MORTISE_RUN_IN_DOUBT) {
        for (size_t i = 1; i < r->n_execs; i++) {
            const struct exec *x = r->execs[i];

            if (x->state == X_ASKED && x->ask == MORTISE_ASK_DOUBT &&
                !is_resolved(r, h, x))
                return mortise_fail(
                    err, MORTISE_EINDOUBT,
                    "the effect of node '%s' may have happened; find out "
                    "whether it did, then resolve it (request %s)",
                    mortise_exec_node(r, x)->id, x->request);
        }
    }
    return MORTISE_OK;
}

/* Did something fail because people rejected it, or took its effect as failed,
 * since the run was paused or resumed? */
static bool is_any_refused(const struct mortise_run *r)
{
    for (size_t i = 1; i < r->n_execs; i++) {
        const struct exec *x = r->execs[i];

        if (x->state == X_FAILED && !x->handled && x->refused)
            return true;
    }
    return false;
}

/* Is it to fail of what was decided, once it goes on?  By the same list, or while
 * the run stood still (`stayed`). */
static bool is_decided(const struct mortise_run *r, bool stayed)
{
    return r->error == NULL && r->frames[0]->failed &&
           (r->n_failed > r->failed_before || (stayed && is_any_refused(r)));
}

/* Try again what failed, pass scheduled pauses.  What died while it was being
 * stopped is stopped first, finalisers that were at work then come to their end,
 * and what was decided while nothing ran comes about first: to take an effect as
 * failed is not to be asked again at once.  What
 * its end left in doubt is asked about (doubt.c (11)), also where nothing else
 * goes on. */
int mortise_command_obey_resume(struct mortise_run *r,
                                const struct mortise_said *h,
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
    if (mortise_run_keeps_doubt(r))
        return mortise_run_record(r, &back, err);
    if (mortise_run_is_over(r) || r->cancelling)
        return MORTISE_OK;
    retries = !is_stopping(r, false) && !mortise_final_is_at_work(r) &&
              !is_decided(r, stayed);
    if (!retries && !paused)
        return MORTISE_OK;
    if (retries && paused && r->frames[0]->failed) /* else it ends the pause */
        rv = mortise_pause_record(r, MORTISE_PAUSE_OVER, NULL, h->actor, err);
    if (rv == MORTISE_OK)
        rv = mortise_run_record(r, &e, err);
    if (rv == MORTISE_OK && ended && mortise_doubt_is_any_kept(r))
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
