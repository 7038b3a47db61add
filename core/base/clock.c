/* clock.c -- the wall clock, the monotonic clock, and RFC 3339 text in UTC. */
#include "core/base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { NS_PER_MS = 1000000 };

static atomic_uint_fast64_t skipped_ms;
/* The times at which a test stopped the clocks; 0: they run. */
static atomic_uint_fast64_t stopped_ms, stopped_ns;

void mortise_clock_skip(uint64_t ms)
{
    atomic_fetch_add(&skipped_ms, ms);
}

static uint64_t get_clock_time(clockid_t id, uint64_t per_s, uint64_t ns_per)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * per_s + (uint64_t)t.tv_nsec / ns_per;
}

static uint64_t get_skipped_ms(void)
{
    return atomic_load_explicit(&skipped_ms, memory_order_relaxed);
}

static uint64_t get_real_mono_ns(void)
{
    return get_clock_time(CLOCK_MONOTONIC, 1000000000, 1);
}

void mortise_clock_stop(uint64_t now_ms)
{
    atomic_store(&stopped_ns, get_real_mono_ns());
    atomic_store(&stopped_ms, now_ms);
}

void mortise_clock_start(void)
{
    atomic_store(&stopped_ms, 0);
    atomic_store(&stopped_ns, 0);
}

uint64_t mortise_now_ms(void)
{
    uint64_t at = atomic_load_explicit(&stopped_ms, memory_order_relaxed);

    return (at != 0 ? at : get_clock_time(CLOCK_REALTIME, 1000, NS_PER_MS)) +
           get_skipped_ms();
}

uint64_t mortise_mono_ns(void)
{
    uint64_t at = atomic_load_explicit(&stopped_ns, memory_order_relaxed);

    return (at != 0 ? at : get_real_mono_ns()) + get_skipped_ms() * NS_PER_MS;
}

uint64_t mortise_clock_get_actual_ms(void)
{
    return get_real_mono_ns() / NS_PER_MS;
}

uint64_t mortise_mono_ms(void)
{
    return mortise_mono_ns() / NS_PER_MS;
}

uint64_t mortise_mono_ns_after(uint64_t ms)
{
    const uint64_t longest = (uint64_t)1 << 43;

    return mortise_mono_ns() + (ms < longest ? ms : longest) * NS_PER_MS;
}

void mortise_time_format(char out[MORTISE_TIME_TEXT], uint64_t ms)
{
    const uint64_t last = 253402300799999; /* the end of the year 9999 */
    time_t s;
    struct tm tm;

    ms = ms < last ? ms : last;
    s = (time_t)(ms / 1000);
    gmtime_r(&s, &tm);
    snprintf(out, MORTISE_TIME_TEXT, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
             (unsigned)(tm.tm_year + 1900) % 10000u,
             (unsigned)(tm.tm_mon + 1) % 100u, (unsigned)tm.tm_mday % 100u,
             (unsigned)tm.tm_hour % 100u, (unsigned)tm.tm_min % 100u,
             (unsigned)tm.tm_sec % 100u, (unsigned)(ms % 1000));
}
