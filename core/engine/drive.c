/* drive.c -- run an engine with scripted plugins until it only waits, and
 * compute how long it would wait.  script.c has the promises. */
#include "core/engine/runs/script.h"
#include <string.h>
#include "core/base/clock.h"
#include "core/engine/runs/call.h"
#include "mortise/plugin.h"

/* Is work in flight that does not end by the script's clock? */
static bool has_unscripted_work(const struct mortise *m)
{
    return m->n_calls > m->n_scripted || m->n_commits_in_flight > 0 ||
           mortise_store_is_reading(m->store) ||
           m->state == MORTISE_ENGINE_FAILING;
}

/* Wait for real work.  If that takes as long as the next timer of the script's
 * clock, report the delay so that the clock advances. */
static void wait_for_real_work(struct mortise *m)
{
    uint64_t begun = mortise_clock_get_actual_ms();
    int ms = mortise_loop_get_timeout(m);

    mortise_loop_turn(m, -1);
    if (ms > 0 && has_unscripted_work(m) &&
        mortise_clock_get_actual_ms() - begun >= (uint64_t)ms)
        m->script->late(m->script->ud, (uint64_t)ms);
}

void mortise_script_turn_until_idle(struct mortise *m)
{
    mortise_loop_turn(m, 0);
    while (has_unscripted_work(m) || mortise_loop_get_timeout(m) == 0)
        wait_for_real_work(m);
}

struct ahead {
    bool (*waits)(void *ud, const char *id);
    void *ud;
    uint64_t now_ms, next_ms, never_ms;
};

static int collect_next_deadline(void *ud, const char *tenant, const char *run,
                                 const struct mortise_pending *p)
{
    struct ahead *a = ud;
    uint64_t ms = p->deadline_ms > a->now_ms ? p->deadline_ms - a->now_ms : 0;

    (void)tenant;
    (void)run;
    if (!p->timer && !a->waits(a->ud, p->id))
        a->never_ms = ms < a->never_ms ? ms : a->never_ms;
    else
        a->next_ms = ms < a->next_ms ? ms : a->next_ms;
    return 0;
}

int mortise_script_find_next_event(struct mortise *m,
                                   bool (*waits)(void *ud, const char *id),
                                   void *ud, uint64_t *ms,
                                   struct mortise_err *err)
{
    struct ahead a = {waits, ud, mortise_now_ms(), UINT64_MAX, UINT64_MAX};
    int timeout = m->lives.n > 0 ? mortise_loop_get_timeout(m) : -1;
    struct mortise_read due = {.kind = MORTISE_READ_DUE,
                               .number = UINT64_MAX,
                               .pending = collect_next_deadline,
                               .ud = &a};
    int rv = mortise_loop_turn_for_read(m, &due, err);

    if (timeout >= 0 && (uint64_t)timeout < a.next_ms)
        a.next_ms = (uint64_t)timeout;
    *ms = a.next_ms < a.never_ms ? a.next_ms : UINT64_MAX;
    return rv;
}
