/* deadline_timer.c -- the timer for the next deadline of runs that are not in
 * memory.
 *
 * A commit with a deadline arms it.  deadlines.c handles its expiry.
 */
#include "core/base/clock.h"
#include "core/engine/common/engine.h"

void mortise_deadlines_arm(struct mortise *m, uint64_t now_ms, uint64_t at_ms)
{
    uint64_t in_ms = at_ms > now_ms ? at_ms - now_ms : 0;

    if (in_ms > MORTISE_DEADLINES_LOOK_MS)
        in_ms = MORTISE_DEADLINES_LOOK_MS;
    mortise_timer_disarm(&m->timers, &m->deadline_timer);
    m->deadline_at_ms = at_ms;
    mortise_timer_arm(&m->timers, &m->deadline_timer,
                      mortise_mono_ns_after(in_ms));
}

void mortise_deadlines_add(struct mortise *m, uint64_t deadline_ms)
{
    if (m->deadline_timer.fire == NULL)
        return; /* not opened: this engine fires no deadlines */
    if (m->deadline_at_ms == 0 || deadline_ms < m->deadline_at_ms)
        mortise_deadlines_arm(m, mortise_now_ms(), deadline_ms);
}
