/* deadlines.c -- deadlines of runs that are not in memory.
 *
 * A question that waits for a person costs bytes on disk and nothing else; the
 * store keeps an index of deadlines, and the engine one timer for the soonest.
 * When it fires, the runs concerned are loaded and go on from their heads; the
 * run itself then finds that its time is over.  Whatever commits first, the
 * deadline or a decision, wins.
 *
 * An engine that stays looks with its first turn.  One that was opened for a
 * command looks once it has got that (session.c), which is about one of these
 * runs as likely as not: who resumes it is not to hear that it runs already.
 *
 * The index speaks wall-clock time, which may be set.  The engine looks again
 * when it hears of that (clocks.c), and every minute where it does not.
 */
#include "core/engine/common/engine.h"

#include <string.h>

#include "core/base/clock.h"

enum {
    AT_ONCE = 64, /* runs looked at in one go */
    AGAIN_MS = 10 /* while a look is under way */
};

/* A run that is told of its deadline. */
struct telling {
    struct mortise_order order;
    struct overdue *all;
    char tenant[MORTISE_NAME_MAX + 1], run[MORTISE_NAME_MAX + 1];
};

/* One look, from its read until every run that it found took notice or did
 * not. */
struct overdue {
    struct mortise *m;
    struct mortise_read read;
    uint64_t now_ms, next_ms; /* next_ms: the soonest that is left; 0: none */
    size_t skip, n;
    size_t stuck; /* runs that took no notice */
    size_t out;   /* that have not answered yet, and the one who tells them */
    struct telling list[AT_ONCE];
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
static bool moves(const struct mortise_head_copy *head)
{
    return head->status != MORTISE_RUN_PAUSED ||
           (strcmp(head->reason, "operator") != 0 &&
            strcmp(head->reason, "no_continue") != 0 &&
            strcmp(head->reason, "shutdown") != 0);
}

/* When to look again.  Runs that would not go on stay at the front of the
 * index: they are passed over until the rest has been seen. */
static void arm_next(struct mortise *m, const struct overdue *o)
{
    uint64_t later = o->now_ms + MORTISE_DEADLINES_LOOK_MS, at = o->next_ms;

    m->deadline_skip += o->stuck;
    if (o->n < AT_ONCE) {
        if (m->deadline_skip > 0 && (at == 0 || at > later))
            at = later;
        m->deadline_skip = 0;
    }
    if (at != 0 && (m->deadline_at_ms == 0 || at < m->deadline_at_ms))
        mortise_deadlines_arm(m, o->now_ms, at); /* or one came up meanwhile */
}

/* The last one that has answered ends the look. */
static void answered(struct overdue *o)
{
    struct mortise *m = o->m;

    assert(o->out > 0);
    if (--o->out > 0)
        return;
    m->deadlines_looking = false;
    arm_next(m, o);
    mortise_release(m->mem, o, sizeof *o);
}

static void told(struct mortise_order *order, const struct mortise_err *err)
{
    struct telling *t = MORTISE_OF(order, struct telling, order);
    struct overdue *o = t->all;

    if (err->code != MORTISE_OK)
        mortise_log(o->m, MORTISE_LOG_WARN,
                    "a deadline of run %s has passed, but the run could not be "
                    "continued: %s",
                    t->run, err->msg);
    o->stuck += err->code != MORTISE_OK || order->stayed;
    answered(o);
}

static void tell(struct overdue *o, struct telling *t)
{
    struct mortise *m = o->m;

    if (mortise_live_is_here(m, t->tenant, t->run)) {
        o->stuck++; /* its own timer tells it, or it was just told */
        return;
    }
    o->out++;
    t->all = o;
    t->order = (struct mortise_order){.wants = moves, .done = told};
    mortise_live_recover(m, t->tenant, t->run, &t->order);
}

static void looked(struct mortise_read *r, int rv,
                   const struct mortise_err *err)
{
    struct overdue *o = MORTISE_OF(r, struct overdue, read);
    struct mortise *m = o->m;

    if (rv != MORTISE_OK) {
        mortise_log(m, MORTISE_LOG_WARN, "find due deadlines: %s", err->msg);
        o->n = 0;
        o->next_ms = o->now_ms + MORTISE_DEADLINES_LOOK_MS;
    }
    o->out = 1;
    for (size_t i = 0; i < o->n; i++)
        tell(o, &o->list[i]);
    answered(o);
}

static void look(struct mortise *m, struct overdue *o)
{
    m->deadlines_looking = true;
    o->m = m;
    o->now_ms = mortise_now_ms();
    o->skip = m->deadline_skip;
    o->read = (struct mortise_read){.kind = MORTISE_READ_DUE,
                                    .number = UINT64_MAX,
                                    .pending = collect,
                                    .ud = o,
                                    .done = looked};
    mortise_store_read(m->store, &o->read);
}

static void fire(struct mortise_timer *t)
{
    struct mortise *m = MORTISE_OF(t, struct mortise, deadline_timer);
    uint64_t now_ms = mortise_now_ms();
    int rv = mortise_engine_ready(m, NULL);
    struct overdue *o = rv == MORTISE_OK && !m->deadlines_looking
                            ? mortise_zalloc(m->mem, sizeof *o)
                            : NULL;

    m->deadline_at_ms = 0;
    if (o != NULL)
        look(m, o);
    else if (m->deadlines_looking) /* what came up meanwhile is seen by then */
        mortise_deadlines_arm(m, now_ms, now_ms + AGAIN_MS);
    else if (rv != MORTISE_EBUSY) /* it does not close */
        mortise_deadlines_arm(m, now_ms, now_ms + MORTISE_DEADLINES_LOOK_MS);
}

void mortise_deadlines_open(struct mortise *m)
{
    if (m->holding != MORTISE_HOLDING_STAYS &&
        m->holding != MORTISE_HOLDING_PASSES)
        return;
    m->deadline_timer.fire = fire;
    if (m->holding == MORTISE_HOLDING_STAYS)
        mortise_deadlines_look(m);
}

void mortise_deadlines_look(struct mortise *m)
{
    uint64_t now_ms = mortise_now_ms();

    if (m->deadline_timer.fire != NULL)
        mortise_deadlines_arm(m, now_ms, now_ms);
}
