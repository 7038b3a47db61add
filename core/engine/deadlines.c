/* deadlines.c -- deadlines of runs that are not in memory.
 *
 * A question that waits for a person costs bytes on disk and nothing else.  The
 * store keeps an index of deadlines, and the engine one timer for the soonest.
 * When the timer fires, the engine loads the runs that are due, and they
 * continue from their heads; each run then finds that its time is over.  If a
 * deadline and a decision race, the first one to commit wins.
 *
 * An engine that stays looks in its first turn.  An engine that was opened for
 * a command looks after it received the command: the command often concerns a
 * due run, and must not fail because that run is already being resumed.
 *
 * The index uses wall-clock time, which may be set.  The engine looks again
 * when clocks.c detects that, and every minute in any case.
 */
#include "core/engine/common/engine.h"

#include <string.h>

#include "core/base/clock.h"

enum {
    AT_ONCE = 64, /* runs loaded by one look */
    AGAIN_MS = 10 /* retry delay while a look is running */
};

/* A run that is being notified of its deadline. */
struct due_run {
    struct mortise_order order;
    struct overdue *all;
    char tenant[MORTISE_NAME_MAX + 1], run[MORTISE_NAME_MAX + 1];
};

/* One look: from its read until every run that it found has answered. */
struct overdue {
    struct mortise *m;
    struct mortise_read read;
    uint64_t now_ms, next_ms; /* next_ms: the soonest deadline left; 0: none */
    size_t skip, n;
    size_t stuck; /* runs that did not continue */
    size_t out;   /* answers outstanding, plus one for due_runs_read() itself */
    struct due_run list[AT_ONCE];
};

static int collect_due_run(void *ud, const char *tenant, const char *run,
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
        return 0; /* live.c admits no longer names */
    strcpy(o->list[o->n].tenant, tenant);
    strcpy(o->list[o->n].run, run);
    o->n++;
    return 0;
}

/* A paused run has no deadlines until it is resumed. */
static bool has_active_deadlines(const struct mortise_head_copy *head)
{
    return head->status != MORTISE_RUN_PAUSED ||
           (strcmp(head->reason, "operator") != 0 &&
            strcmp(head->reason, "no_continue") != 0 &&
            strcmp(head->reason, "shutdown") != 0);
}

/* Arm the timer for the next look.  Runs that could not continue stay at the
 * front of the index: skip them until the rest has been seen. */
static void arm_next_look(struct mortise *m, const struct overdue *o)
{
    uint64_t later = o->now_ms + MORTISE_DEADLINES_LOOK_MS, at = o->next_ms;

    m->deadline_skip += o->stuck;
    if (o->n < AT_ONCE) {
        if (m->deadline_skip > 0 && (at == 0 || at > later))
            at = later;
        m->deadline_skip = 0;
    }
    if (at != 0 && (m->deadline_at_ms == 0 || at < m->deadline_at_ms))
        /* unless a sooner deadline was committed meanwhile */
        mortise_deadlines_arm(m, o->now_ms, at);
}

/* The last answer ends the look. */
static void count_deadline_answer(struct overdue *o)
{
    struct mortise *m = o->m;

    assert(o->out > 0);
    if (--o->out > 0)
        return;
    m->deadlines_looking = false;
    arm_next_look(m, o);
    mortise_release(m->mem, o, sizeof *o);
}

static void deadline_order_done(struct mortise_order *order,
                                const struct mortise_err *err)
{
    struct due_run *t = MORTISE_CONTAINER_OF(order, struct due_run, order);
    struct overdue *o = t->all;

    if (err->code != MORTISE_OK)
        mortise_log(o->m, MORTISE_LOG_WARN,
                    "a deadline of run %s has passed, but the run could not be "
                    "continued: %s",
                    t->run, err->msg);
    o->stuck += err->code != MORTISE_OK || order->stayed;
    count_deadline_answer(o);
}

static void load_due_run(struct overdue *o, struct due_run *t)
{
    struct mortise *m = o->m;

    if (mortise_live_is_loaded_or_loading(m, t->tenant, t->run)) {
        o->stuck++; /* it has its own timer, or is being loaded already */
        return;
    }
    o->out++;
    t->all = o;
    t->order = (struct mortise_order){.wants = has_active_deadlines,
                                      .done = deadline_order_done};
    mortise_live_recover(m, t->tenant, t->run, &t->order);
}

static void due_runs_read(struct mortise_read *r, int rv,
                          const struct mortise_err *err)
{
    struct overdue *o = MORTISE_CONTAINER_OF(r, struct overdue, read);
    struct mortise *m = o->m;

    if (rv != MORTISE_OK) {
        mortise_log(m, MORTISE_LOG_WARN, "find due deadlines: %s", err->msg);
        o->n = 0;
        o->next_ms = o->now_ms + MORTISE_DEADLINES_LOOK_MS;
    }
    o->out = 1;
    for (size_t i = 0; i < o->n; i++)
        load_due_run(o, &o->list[i]);
    count_deadline_answer(o);
}

static void start_deadline_look(struct mortise *m, struct overdue *o)
{
    m->deadlines_looking = true;
    o->m = m;
    o->now_ms = mortise_now_ms();
    o->skip = m->deadline_skip;
    o->read = (struct mortise_read){.kind = MORTISE_READ_DUE,
                                    .number = UINT64_MAX,
                                    .pending = collect_due_run,
                                    .ud = o,
                                    .done = due_runs_read};
    mortise_store_read(m->store, &o->read);
}

static void on_deadline_timer(struct mortise_timer *t)
{
    struct mortise *m = MORTISE_CONTAINER_OF(t, struct mortise, deadline_timer);
    uint64_t now_ms = mortise_now_ms();
    int rv = mortise_engine_check_ready(m, NULL);
    struct overdue *o = rv == MORTISE_OK && !m->deadlines_looking
                            ? mortise_zalloc(m->mem, sizeof *o)
                            : NULL;

    m->deadline_at_ms = 0;
    if (o != NULL)
        start_deadline_look(m, o);
    else if (m->deadlines_looking) /* the next look sees deadlines committed
                                      meanwhile */
        mortise_deadlines_arm(m, now_ms, now_ms + AGAIN_MS);
    else if (rv != MORTISE_EBUSY) /* the engine is not closing */
        mortise_deadlines_arm(m, now_ms, now_ms + MORTISE_DEADLINES_LOOK_MS);
}

void mortise_deadlines_open(struct mortise *m)
{
    if (m->holding != MORTISE_MODE_SERVER &&
        m->holding != MORTISE_MODE_TEMPORARY)
        return;
    m->deadline_timer.fire = on_deadline_timer;
    if (m->holding == MORTISE_MODE_SERVER)
        mortise_deadlines_check(m);
}

void mortise_deadlines_check(struct mortise *m)
{
    uint64_t now_ms = mortise_now_ms();

    if (m->deadline_timer.fire != NULL)
        mortise_deadlines_arm(m, now_ms, now_ms);
}
