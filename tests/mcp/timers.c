/* timers.c -- what a server does later. */
#include "mcpd.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct timer {
    long long due;
    void (*then)(void *);
    void *arg;
} * timers;
static size_t n_timers, cap;

long long mcpd_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void mcpd_after(int ms, void (*then)(void *), void *arg)
{
    if (n_timers == cap) {
        cap = cap > 0 ? 2 * cap : 16;
        timers = realloc(timers, cap * sizeof *timers);
    }
    timers[n_timers++] = (struct timer){mcpd_now() + ms, then, arg};
}

static void drop(size_t i)
{
    n_timers--;
    memmove(timers + i, timers + i + 1, (n_timers - i) * sizeof *timers);
}

void mcpd_forget(const void *arg)
{
    for (size_t i = n_timers; i-- > 0;)
        if (timers[i].arg == arg)
            drop(i);
}

/* The first that is due, of those that are as early the first that came. */
static size_t next(void)
{
    size_t best = 0;

    for (size_t i = 1; i < n_timers; i++)
        if (timers[i].due < timers[best].due)
            best = i;
    return best;
}

int mcpd_timeout(void)
{
    long long left;

    if (n_timers == 0)
        return -1;
    left = timers[next()].due - mcpd_now();
    return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

void mcpd_tick(void)
{
    while (n_timers > 0 && timers[next()].due <= mcpd_now()) {
        struct timer t = timers[next()];

        drop(next());
        t.then(t.arg);
    }
    if (n_timers == 0) {
        free(timers);
        timers = NULL;
        cap = 0;
    }
}
