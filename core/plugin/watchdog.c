/* watchdog.c -- end the process if a plugin blocks a thread that must not
 * block.
 *
 * Plugin code on the engine's thread (inline and async calls, answers,
 * create(), cancel()) cannot be interrupted.  While it runs, no run continues,
 * no command is answered and no stop signal is handled.  Therefore it has a
 * time limit, the manifest's `idle`.  After that the process ends with a note
 * (death.h), and the next process skips the plugin or execution.
 *
 *   (1) A visit that lasts for its time limit plus TICK_MS has ended the
 *       process.
 *   (2) Time during which the process was stopped (SIGSTOP, a debugger, a
 *       suspended machine) does not count: the watchdog counts its own polls
 *       and reads no clock.
 *   (3) While no plugin runs, the watchdog sleeps without a timeout, so an idle
 *       engine causes no wakeups.  A visit wakes it, at most once per tick. */
#include "core/plugin/watchdog.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "core/base/thread.h"
#include "core/plugin/death.h"

enum { TICK_MS = 50 };

/* Guards the two below. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved;
static bool started;

/* Releases the lock while it waits. */
static void wait_a_tick(void)
{
    struct timespec at; /* not mortise_mono_ns(): tests advance that clock */

    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += TICK_MS * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    while (pthread_cond_timedwait(&moved, &lock, &at) != ETIMEDOUT)
        continue;
}

/* Called with the lock, when no visit is in progress.  Set mortise_watchdog_is_asleep
 * before the last poll; enter() counts its visit before it reads that flag.
 * One of the two therefore sees the other. */
static void sleep_until_visit(void)
{
    const struct mortise_visit_record *late;

    atomic_store(&mortise_watchdog_is_asleep, true);
    if (mortise_visit_find_overdue(0, &late))
        atomic_store(&mortise_watchdog_is_asleep, false);
    while (atomic_load(&mortise_watchdog_is_asleep))
        pthread_cond_wait(&moved, &lock);
}

static void *run_watchdog(void *ud)
{
    const struct mortise_visit_record *late;

    mortise_thread_set_name("mortise-watch");
    pthread_mutex_lock(&lock);
    for (;;) {
        if (!mortise_visit_find_overdue(TICK_MS, &late))
            sleep_until_visit();
        if (late != NULL)
            mortise_death_record_hang(late);
        wait_a_tick();
    }
    return ud;
}

/* Called with the lock.  If no thread can be created, the next visit tries
 * again. */
static void start_watchdog(void)
{
    pthread_t thread;

    assert(!started); /* one thread is enough */
    mortise_cond_init(&moved);
    if (mortise_thread_start(&thread, run_watchdog, NULL) != 0)
        return;
    pthread_detach(thread);
    started = true;
}

/* A visit began while the watchdog slept or before it was started.  [any] */
static void wake_watchdog(void)
{
    pthread_mutex_lock(&lock);
    if (!started)
        start_watchdog();
    if (started) {
        atomic_store(&mortise_watchdog_is_asleep, false);
        pthread_cond_signal(&moved);
    }
    pthread_mutex_unlock(&lock);
}

void mortise_watchdog_enable(void)
{
    pthread_mutex_lock(&lock);
    started = false;
    mortise_watchdog_wake = wake_watchdog;
    atomic_store(&mortise_watchdog_is_asleep, true);
    pthread_mutex_unlock(&lock);
}
