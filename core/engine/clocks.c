/* clocks.c -- detect that somebody set the wall clock.
 *
 * There are two kinds of waiting (core/run/outcome/start.c).  Durations, such
 * as a timeout, a retry delay or a sleep, use the monotonic clock, which nobody
 * can set.  Times of day, such as the deadline of a question or a timer with
 * `until`, are armed for the time left, which is wrong as soon as the wall
 * clock is set.  A timerfd on the wall clock, armed for a day that never comes,
 * is cancelled at that moment (TFD_TIMER_CANCEL_ON_SET) and wakes the loop.
 * Then all timers for times of day are rearmed.
 *
 * Without the descriptor nothing is lost: deadlines.c looks every minute in any
 * case.
 */
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/engine/common/engine.h"

/* The year 9999, in seconds since 1970: no clock shows it. */
static const time_t never = 253402300799;

static void arm_clock_watch(int fd)
{
    const struct itimerspec at = {.it_value = {.tv_sec = never}};

    timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &at, NULL);
}

static void on_clock_set(uv_poll_t *p, int status, int events)
{
    struct mortise *m = MORTISE_CONTAINER_OF(p, struct mortise, clock_poll);
    uint64_t said[32]; /* a count, or an error; both are ignored */
    ssize_t n = read(m->clock_fd, said, sizeof said);

    (void)status;
    (void)events;
    (void)n;
    arm_clock_watch(m->clock_fd);
    mortise_log(m, MORTISE_LOG_INFO, "the clock was changed");
    mortise_live_rearm_timers(m);
    if (m->state != MORTISE_ENGINE_CLOSING)
        mortise_deadlines_check(m);
}

void mortise_clocks_open(struct mortise *m)
{
    m->clock_fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (m->clock_fd < 0)
        return;
    arm_clock_watch(m->clock_fd);
    if (uv_poll_init(&m->loop, &m->clock_poll, m->clock_fd) != 0) {
        close(m->clock_fd);
        m->clock_fd = -1;
        return;
    }
    uv_poll_start(&m->clock_poll, UV_READABLE, on_clock_set);
    uv_unref((uv_handle_t *)&m->clock_poll);
}

void mortise_clocks_close(struct mortise *m)
{
    if (m->clock_fd < 0)
        return;
    uv_close((uv_handle_t *)&m->clock_poll, NULL);
    close(m->clock_fd);
    m->clock_fd = -1;
}
