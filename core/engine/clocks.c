/* clocks.c -- hearing of it when somebody sets the wall clock.
 *
 * There are two kinds of waiting (core/run/outcome/start.c).  What takes so and so
 * long, a timeout, a retry's delay, a sleep, is counted by a clock that nobody
 * sets, and needs nothing from here.  What is due at a time of day, a
 * question's deadline or a timer `until` some time, is armed for as long as it
 * is till then, and that is wrong as soon as the clock is set.  A timerfd of
 * the wall clock, armed for a day that never comes, is cancelled at that moment
 * (TFD_TIMER_CANCEL_ON_SET) and wakes the loop; all that is due at a time of
 * day is then armed anew.
 *
 * Where there is no such descriptor nothing is lost: deadlines are looked at
 * every minute in any case (deadlines.c).
 */
#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "core/engine/common/engine.h"

/* Seconds since 1970 that no clock shows: the year 9999. */
static const time_t never = 253402300799;

static void watch(int fd)
{
    const struct itimerspec at = {.it_value = {.tv_sec = never}};

    timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &at, NULL);
}

static void clock_was_set(uv_poll_t *p, int status, int events)
{
    struct mortise *m = MORTISE_OF(p, struct mortise, clock_poll);
    uint64_t said[32]; /* a count, or why there is none: it is not looked at */
    ssize_t n = read(m->clock_fd, said, sizeof said);

    (void)status;
    (void)events;
    (void)n;
    watch(m->clock_fd);
    mortise_log(m, MORTISE_LOG_INFO, "the clock was changed");
    mortise_live_clock_set(m);
    if (m->state != MORTISE_ENGINE_CLOSING)
        mortise_deadlines_look(m);
}

void mortise_clocks_open(struct mortise *m)
{
    m->clock_fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (m->clock_fd < 0)
        return;
    watch(m->clock_fd);
    if (uv_poll_init(&m->loop, &m->clock_poll, m->clock_fd) != 0) {
        close(m->clock_fd);
        m->clock_fd = -1;
        return;
    }
    uv_poll_start(&m->clock_poll, UV_READABLE, clock_was_set);
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
