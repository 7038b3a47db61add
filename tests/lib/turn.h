/* turn.h -- a loop with the engine's timers on it, turned by hand.
 *
 * In a header of its own since the fuzzers link the library alone. */
#ifndef TEST_TURN_H
#define TEST_TURN_H

#include <uv.h>

#include "core/base/clock.h"
#include "core/engine/parts/timers.h"

static uv_loop_t loop;
static uv_timer_t alarm_;
static struct mortise_timers timers;

static void on_alarm(uv_timer_t *t)
{
    (void)t;
}

/* Wait for something to happen, a second at most, and let it happen. */
static void turn(void)
{
    uint64_t now = mortise_mono_ns(), ms = 1000;

    if (timers.root != NULL)
        ms = timers.root->at_ns <= now
                 ? 0
                 : (timers.root->at_ns - now + 999999) / 1000000;
    uv_update_time(&loop);
    uv_timer_start(&alarm_, on_alarm, ms, 0);
    uv_run(&loop, ms > 0 ? UV_RUN_ONCE : UV_RUN_NOWAIT);
    mortise_timers_fire(&timers, mortise_mono_ns());
}

#endif
