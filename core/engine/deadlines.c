/* deadlines.c -- deadlines of runs that are not in memory.
 *
 * A question that waits for a person costs bytes on disk and nothing else; the
 * store keeps an index of deadlines, and the engine one timer for the soonest.
 * When it fires, the runs concerned are loaded and go on from their heads; the
 * run itself then finds that its time is over.  Whatever commits first, the
 * deadline or a decision, wins.
 *
 * The index speaks wall-clock time, which may be set.  The engine looks again
 * when it hears of that (clocks.c), and every minute where it does not.
 */
#include "engine/common/engine.h"

#include <string.h>

#include "base/clock.h"

enum { AT_ONCE = 64 }; /* runs looked at in one go */

struct overdue {
    uint64_t now_ms, next_ms; /* next_ms: the soonest that is left; 0: none */
    size_t skip, n;
    struct {
        char tenant[MORTISE_NAME_MAX + 1], run[MORTISE_NAME_MAX + 1];
    } list[AT_ONCE];
};

static int collect(void *ud, const char *tenant, const char *run,
                   const struct mortise_pending *p)
{
    struct overdue *o = ud;

    if (p->deadline_ms > o->now_ms || o->n == AT_ONCE) {
        o->next_ms = p->deadline_ms;
        return 1;
    }
    if (o->skip > 0) {
        o->skip--;
        return 0;
    }
    if (strlen(tenant) > MORTISE_NAME_MAX || strlen(run) > MORTISE_NAME_MAX)
        return 0; /* live.c lets no longer name in */
    strcpy(o->list[o->n].tenant, tenant);
    strcpy(o->list[o->n].run, run);
    o->n++;
    return 0;
}

/* A paused run has no deadlines until it goes on. */
static bool stands_still(struct mortise *m, const char *tenant, const char *run)
{
    struct mortise_head_copy head;

    return mortise_head_read(m, tenant, run, &head, NULL) == MORTISE_OK &&
           head.status == MORTISE_RUN_PAUSED &&
           (strcmp(head.reason, "operator") == 0 ||
            strcmp(head.reason, "no_continue") == 0 ||
            strcmp(head.reason, "shutdown") == 0);
}

/* True when the run took notice. */
static bool fire_one(struct mortise *m, const char *tenant, const char *run)
{
    struct mortise_live *live = mortise_live_find(m, tenant, run);
    struct mortise_err err;

    if (live != NULL) /* its own timer tells it, or it was just told */
        return false;
    if (stands_still(m, tenant, run))
        return false;
    if (mortise_live_recover(m, tenant, run, &err) == MORTISE_OK)
        return true;
    mortise_log(m, MORTISE_LOG_WARN,
                "run %s has a deadline that is over, but: %s", run, err.msg);
    return false;
}

/* When to look again.  Runs that would not go on stay at the front of the
 * index: they are passed over until the rest has been seen. */
static void arm_next(struct mortise *m, const struct overdue *o, size_t stuck)
{
    uint64_t later = o->now_ms + MORTISE_DEADLINES_LOOK_MS, at = o->next_ms;

    m->deadline_skip += stuck;
    if (o->n < AT_ONCE) {
        if (m->deadline_skip > 0 && (at == 0 || at > later))
            at = later;
        m->deadline_skip = 0;
    }
    if (at != 0)
        mortise_deadlines_arm(m, o->now_ms, at);
}

static void look(struct mortise *m, struct overdue *o)
{
    struct mortise_err err;
    size_t stuck = 0;

    o->now_ms = mortise_now_ms();
    o->skip = m->deadline_skip;
    if (mortise_store_due(m->store, UINT64_MAX, collect, o, &err) !=
        MORTISE_OK) {
        mortise_log(m, MORTISE_LOG_WARN, "look for deadlines: %s", err.msg);
        mortise_deadlines_arm(m, o->now_ms,
                              o->now_ms + MORTISE_DEADLINES_LOOK_MS);
        return;
    }
    for (size_t i = 0; i < o->n; i++)
        stuck += !fire_one(m, o->list[i].tenant, o->list[i].run);
    arm_next(m, o, stuck);
}

static void fire(struct mortise_timer *t)
{
    struct mortise *m = MORTISE_OF(t, struct mortise, deadline_timer);
    struct overdue *o = mortise_zalloc(m->mem, sizeof *o);
    uint64_t now_ms = mortise_now_ms();
    int rv = mortise_engine_ready(m, NULL);

    m->deadline_at_ms = 0;
    if (rv == MORTISE_OK && o != NULL)
        look(m, o);
    else if (rv != MORTISE_EBUSY) /* it does not close */
        mortise_deadlines_arm(m, now_ms, now_ms + MORTISE_DEADLINES_LOOK_MS);
    mortise_release(m->mem, o, sizeof *o);
}

void mortise_deadlines_open(struct mortise *m)
{
    uint64_t now_ms = mortise_now_ms();

    m->deadline_timer.fire = fire;
    mortise_deadlines_arm(m, now_ms, now_ms); /* looks with the first turn */
}

void mortise_deadlines_clock_set(struct mortise *m)
{
    uint64_t now_ms = mortise_now_ms();

    mortise_deadlines_arm(m, now_ms, now_ms);
}
