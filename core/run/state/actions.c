/* actions.c -- the list of a step's actions; timers and calls of executions.
 *
 * A call or timer is identified by a handle: the index of its execution and a
 * serial number.  So its execution is found without a search, and a stale
 * handle is recognised.  An execution has at most one armed timer.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/run/state/state.h"

/* ---- the list ------------------------------------------------------------ */

void mortise_actions_init(struct mortise_actions *a,
                          const struct mortise_mem *mem)
{
    *a = (struct mortise_actions){.mem = mem};
}

void mortise_run_commit_finish(const struct mortise_run_commit *c,
                               const struct mortise_mem *mem)
{
    for (size_t i = 0; i < c->n_opens; i++)
        json_decref(c->opens[i].payload);
    for (size_t i = 0; i < c->n_kvs; i++) {
        json_decref(c->kvs[i].key);
        json_decref(c->kvs[i].value);
    }
    for (size_t i = 0; i < c->n_cached; i++)
        json_decref(c->cached[i].value);
    mortise_release(mem, c->opens, c->cap_opens * sizeof c->opens[0]);
    mortise_release(mem, c->closes, c->cap_closes * sizeof c->closes[0]);
    mortise_release(mem, c->kvs, c->cap_kvs * sizeof c->kvs[0]);
    mortise_release(mem, c->spawns, c->cap_spawns * sizeof c->spawns[0]);
    mortise_release(mem, c->cached, c->cap_cached * sizeof c->cached[0]);
    mortise_release(mem, c->entries, c->room);
}

void mortise_actions_clear(struct mortise_actions *a)
{
    for (size_t i = 0; i < a->n; i++) {
        switch (a->list[i].kind) {
        case MORTISE_ACT_COMMIT:
            mortise_run_commit_finish(&a->list[i].u.commit, a->mem);
            break;
        case MORTISE_ACT_CALL:
            json_decref(a->list[i].u.call.body);
            break;
        case MORTISE_ACT_PUBLISH:
            json_decref(a->list[i].u.publish);
            break;
        case MORTISE_ACT_REPLY:
            json_decref(a->list[i].u.reply.value);
            break;
        case MORTISE_ACT_CANCEL:
        case MORTISE_ACT_ARM:
        case MORTISE_ACT_DISARM:
        case MORTISE_ACT_APPLIED:
        case MORTISE_ACT_PERFORM:
        case MORTISE_ACT_SYNC:
            break;
        }
    }
    a->n = 0;
}

void mortise_actions_finish(struct mortise_actions *a)
{
    mortise_actions_clear(a);
    mortise_release(a->mem, a->list, a->cap * sizeof a->list[0]);
    mortise_actions_init(a, a->mem);
}

/* The part of an action that is zeroed.  The long buffers at the end of some
 * actions are excluded: readers stop at their terminating NUL. */
enum {
    ZEROED =
        offsetof(struct mortise_action, u) + sizeof(struct mortise_run_commit)
};
_Static_assert(offsetof(struct mortise_action, u.call.path) <= ZEROED,
               "of a call, all but its path");
_Static_assert(offsetof(struct mortise_action, u.applied.err.msg) < ZEROED,
               "of a refusal, all but its words");
_Static_assert(offsetof(struct mortise_action, u.perform) +
                       sizeof((struct mortise_action *)NULL)->u.perform <=
                   ZEROED,
               "all of an ask");

struct mortise_action *mortise_action_new(struct mortise_run *r,
                                          enum mortise_action_kind kind,
                                          struct mortise_err *err)
{
    struct mortise_actions *a = r->actions;
    struct mortise_action *grown =
        mortise_array_grow(a->mem, a->list, a->n, &a->cap, sizeof *grown);

    if (grown == NULL) {
        mortise_nomem(err);
        return NULL;
    }
    a->list = grown;
    grown += a->n++;
    memset(grown, 0, ZEROED);
    grown->kind = kind;
    return grown;
}

/* ---- timers and calls ---------------------------------------------------- */

uint64_t mortise_exec_get_handle(const struct exec *x)
{
    return (uint64_t)x->index << 32 | x->serial;
}

void mortise_exec_renew_handle(struct exec *x)
{
    x->serial++;
}

bool mortise_exec_take_due_timer(struct exec *x)
{
    bool armed = x->timer;

    x->timer = false;
    return armed;
}

void mortise_exec_set_stop(struct exec *x, enum stop_why why)
{
    x->stop = why;
}

/* `now_ms` is the current time of the clock that at_ms refers to. */
static int arm_timer(struct mortise_run *r, struct exec *x, uint64_t at_ms,
                     uint64_t now_ms, bool wall, struct mortise_err *err)
{
    struct mortise_action *a = mortise_action_new(r, MORTISE_ACT_ARM, err);

    if (a == NULL)
        return MORTISE_ENOMEM;
    assert(!x->timer); /* one timer at a time */
    x->timer = true;
    x->elapses = !wall;
    a->u.timer.id = mortise_exec_get_handle(x);
    a->u.timer.at_ms = at_ms;
    a->u.timer.in_ms = at_ms > now_ms ? at_ms - now_ms : 0;
    a->u.timer.wall = wall;
    return MORTISE_OK;
}

int mortise_exec_arm_timer_at(struct mortise_run *r, struct exec *x,
                              uint64_t at_ms, struct mortise_err *err)
{
    return arm_timer(r, x, at_ms, r->time_ms, true, err);
}

int mortise_exec_arm_timer_after(struct mortise_run *r, struct exec *x,
                                 uint64_t in_ms, struct mortise_err *err)
{
    uint64_t at_ms =
        in_ms < UINT64_MAX - r->steady_ms ? r->steady_ms + in_ms : UINT64_MAX;

    return arm_timer(r, x, at_ms, r->steady_ms, false, err);
}

int mortise_exec_disarm_timer(struct mortise_run *r, struct exec *x,
                              struct mortise_err *err)
{
    struct mortise_action *a;

    if (!x->timer)
        return MORTISE_OK;
    a = mortise_action_new(r, MORTISE_ACT_DISARM, err);
    if (a == NULL)
        return MORTISE_ENOMEM;
    x->timer = false;
    a->u.timer.id = mortise_exec_get_handle(x);
    return MORTISE_OK;
}

int mortise_exec_cancel_call(struct mortise_run *r, struct exec *x,
                             enum stop_why why, struct mortise_err *err)
{
    struct mortise_action *a;
    int rv;

    if (x->state == X_STOPPING) { /* already stopping; the more severe reason
                                     stays */
        x->stop = why > x->stop ? why : x->stop;
        return MORTISE_OK;
    }
    assert(x->state == X_RUNNING);
    rv = mortise_exec_disarm_timer(r, x, err);
    a = rv == MORTISE_OK ? mortise_action_new(r, MORTISE_ACT_CANCEL, err)
                         : NULL;
    if (a == NULL)
        return MORTISE_ENOMEM;
    a->u.cancel = mortise_exec_get_handle(x);
    x->stop = why;
    mortise_exec_set_state(r, x, X_STOPPING);
    return MORTISE_OK;
}

uint64_t mortise_call_get_timeout_end(const struct exec *x)
{
    uint64_t timeout = mortise_exec_get_timeout_ms(x);

    return timeout != 0 ? x->called_ms + timeout : 0;
}

bool mortise_call_has_lost_patience(const struct mortise_run *r,
                                    const struct exec *x)
{
    uint64_t end = mortise_call_get_timeout_end(x);

    return r->held != NULL && (end == 0 || r->steady_ms < end);
}
