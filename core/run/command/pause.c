/* pause.c -- the command that pauses a run until it is resumed, or, when an
 * engine stops, until the next engine continues it. */
#include <assert.h>
#include <string.h>

#include "core/run/command/command.h"

int mortise_pause_record(struct mortise_run *r, enum mortise_pause how,
                         const char *reason, const char *actor,
                         struct mortise_err *err)
{
    struct mortise_entry e = {
        .type = MORTISE_E_PAUSE, .how = (uint8_t)how, .actor = actor};
    int rv;

    assert(r->paused != how); /* an entry is a change */
    if (reason != NULL) {
        e.value = mortise_json_make_string(reason, strlen(reason));
        if (e.value == NULL)
            return mortise_nomem(err);
    }
    rv = mortise_run_record(r, &e, err);
    json_decref(e.value);
    return rv;
}

const char *mortise_pause_get_cause(const struct mortise_run_command *c)
{
    return (c->flags & MORTISE_CMD_SHUTDOWN) != 0 ? "the engine was stopped"
                                                  : "the run was paused";
}

int mortise_command_check_pause(struct mortise_run *r,
                                const struct mortise_command_list *h,
                                const struct mortise_run_command *c,
                                struct mortise_err *err)
{
    if (mortise_command_has_kind(h, MORTISE_CMD_RESUME))
        return mortise_fail(err, MORTISE_EINVAL,
                            "pause and resume in one call contradict each "
                            "other");
    if (r->cancelling && r->status < MORTISE_RUN_COMPLETED &&
        (c->flags & MORTISE_CMD_SHUTDOWN) == 0)
        return mortise_fail(err, MORTISE_ESTATE,
                            "run %s is being cancelled; its finalisers cannot "
                            "be paused; a second cancel stops them",
                            r->id);
    return mortise_command_check_cancel(r, h, c, err);
}

/* A cancelled run may have active finalizers.  An engine that stops leaves them
 * as a crash would, and the next engine continues them. */
static int leave_finalizers(struct mortise_run *r, bool shutdown,
                            struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (!shutdown)
        return MORTISE_OK;
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++)
        rv = mortise_exec_disarm_timer(r, r->execs[i], err);
    r->live = false;
    return rv;
}

/* Pause.  An engine that stops does not replace a person's pause. */
int mortise_command_obey_pause(struct mortise_run *r,
                               const struct mortise_command_list *h,
                               const struct mortise_run_command *c,
                               struct mortise_err *err)
{
    enum mortise_pause how = (c->flags & MORTISE_CMD_SHUTDOWN) != 0
                                 ? MORTISE_PAUSE_SHUTDOWN
                                 : MORTISE_PAUSE_OPERATOR;
    int rv = MORTISE_OK;

    if (r->cancelling && r->status < MORTISE_RUN_COMPLETED)
        return leave_finalizers(r, how == MORTISE_PAUSE_SHUTDOWN, err);
    if (r->status >= MORTISE_RUN_COMPLETED || r->paused == how ||
        r->paused == MORTISE_PAUSE_OPERATOR)
        return MORTISE_OK;
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++)
        rv = mortise_exec_disarm_timer(r, r->execs[i], err);
    assert(r->n_running == 0); /* the list was held until the calls ended */
    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++)
        rv = mortise_doubt_ask_before_pause(r, r->execs[i], err);
    if (rv == MORTISE_OK)
        rv = mortise_outbox_stop(r, err);
    r->live = false;
    return rv != MORTISE_OK
               ? rv
               : mortise_pause_record(r, how, c->reason, h->actor, err);
}
