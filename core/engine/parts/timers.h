/* timers.h -- what is to happen at a time, the soonest first.
 *
 * Times are CLOCK_MONOTONIC nanoseconds: setting the wall clock neither fires
 * nor delays anything.  A timer lives in its owner's struct; arming cannot
 * fail.  [loop] */
#ifndef MORTISE_ENGINE_PARTS_TIMERS_H
#define MORTISE_ENGINE_PARTS_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mortise_timer {
    uint64_t at_ns;
    void (*fire)(struct mortise_timer *t); /* disarmed by then; may free it */
    bool armed;
    /* The heap's: first child, right sibling, and the left sibling or (of a
     * first child) the parent. */
    struct mortise_timer *child, *next, *prev;
};

struct mortise_timers {
    struct mortise_timer *root; /* the soonest */
    size_t n;
};

/* `t` with its `fire` set and not armed. */
void mortise_timer_arm(struct mortise_timers *ts, struct mortise_timer *t,
                       uint64_t at_ns);
void mortise_timer_disarm(struct mortise_timers *ts, struct mortise_timer *t);
/* Fire what is due at now_ns; true if anything was.  One that arms itself anew
 * for the past cannot keep us here: at most as many fire as were armed. */
bool mortise_timers_fire(struct mortise_timers *ts, uint64_t now_ns);

#endif
