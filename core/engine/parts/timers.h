/* timers.h -- one-shot timers; the soonest fires first.
 *
 * Times are CLOCK_MONOTONIC nanoseconds: setting the wall clock neither fires
 * nor delays a timer.  A timer is a member of its owner's struct, so arming
 * cannot fail.  [loop]
 */
#ifndef MORTISE_ENGINE_PARTS_TIMERS_H
#define MORTISE_ENGINE_PARTS_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mortise_timer {
    uint64_t at_ns;
    void (*fire)(struct mortise_timer *t); /* the timer is disarmed by then; may
                                              free it */
    bool armed;
    /* Links of the heap: first child, right sibling, and the left sibling or
     * (of a first child) the parent. */
    struct mortise_timer *child, *next, *prev;
};

struct mortise_timers {
    struct mortise_timer *root; /* the soonest */
    size_t n;
};

/* `t` has its `fire` set and is not armed. */
void mortise_timer_arm(struct mortise_timers *ts, struct mortise_timer *t,
                       uint64_t at_ns);
void mortise_timer_disarm(struct mortise_timers *ts, struct mortise_timer *t);
/* Fire all timers that are due at now_ns; true if there was one.  At most as
 * many fire as were armed at the beginning, so a timer that arms itself again
 * for the past cannot keep the loop here. */
bool mortise_timers_fire(struct mortise_timers *ts, uint64_t now_ns);

#endif
