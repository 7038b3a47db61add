/* alarm.c -- the timer of the next deadline of runs that are not in memory:
 * armed as a commit opens one.  due.c says what happens when it fires. */
#include "base/clock.h"
#include "engine/common/engine.h"

void mortise_due_arm(struct mortise *m, uint64_t now_ms, uint64_t at_ms)
{
    uint64_t in_ms = at_ms > now_ms ? at_ms - now_ms : 0;

    if (in_ms > MORTISE_DUE_LOOK_MS)
        in_ms = MORTISE_DUE_LOOK_MS;
    mortise_timer_disarm(&m->timers, &m->due);
    m->due_ms = at_ms;
    mortise_timer_arm(&m->timers, &m->due, mortise_mono_in(in_ms));
}

void mortise_due_note(struct mortise *m, uint64_t deadline_ms)
{
    if (m->due.fire == NULL)
        return; /* it was not opened: this engine fires none */
    if (m->due_ms == 0 || deadline_ms < m->due_ms)
        mortise_due_arm(m, mortise_now_ms(), deadline_ms);
}
