/* watchdog.c -- ends the process when a plugin holds up a thread that may not
 * wait.
 *
 * Code of a plugin on the engine's thread (inline and async calls, answers,
 * create(), cancel()) cannot be taken off it.  While it runs nothing else does:
 * no run goes on, no command is answered, no signal to stop is obeyed.  So
 * there is a time for it, the manifest's `idle`, and behind that the process
 * ends, with a note (death.h): the next one leaves out who did it.
 *
 *   (1) A visit that takes its patience and TICK_MS more has ended the process.
 *   (2) Time during which the process was stopped (SIGSTOP, a debugger, a
 *       machine asleep) does not count: looks are counted, not clocks read.
 *   (3) While nobody is inside a plugin, the watchdog sleeps without a timeout,
 *       and an idle engine wakes for nothing.  Who enters wakes it, at most once
 *       a tick.
 */
#include "core/plugin/watchdog.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "core/base/thread.h"
#include "core/plugin/death.h"

enum { TICK_MS = 50 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards: */
static pthread_cond_t moved;
static bool started;

/* With the lock, which is given up meanwhile. */
static void wait_a_tick(void)
{
    struct timespec at; /* the true clock: tests skip with ours */

    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += TICK_MS * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    while (pthread_cond_timedwait(&moved, &lock, &at) != ETIMEDOUT)
        continue;
}

/* With the lock: nobody was inside.  Saying so comes before the last look, as
 * entering comes before looking whether it was said. */
static void doze(void)
{
    const struct mortise_inside_entry *late;

    atomic_store(&mortise_inside_dozes, true);
    if (mortise_inside_look(0, &late))
        atomic_store(&mortise_inside_dozes, false);
    while (atomic_load(&mortise_inside_dozes))
        pthread_cond_wait(&moved, &lock);
}

static void *watch(void *ud)
{
    const struct mortise_inside_entry *late;

    mortise_thread_name("mortise-watch");
    pthread_mutex_lock(&lock);
    for (;;) {
        if (!mortise_inside_look(TICK_MS, &late))
            doze();
        if (late != NULL)
            mortise_death_by_hanging(late);
        wait_a_tick();
    }
    return ud;
}

/* With the lock.  Without a thread nobody is watched, until the next one comes
 * in. */
static void start(void)
{
    pthread_t thread;

    assert(!started); /* one is enough */
    mortise_cond_init(&moved);
    if (mortise_thread_start(&thread, watch, NULL) != 0)
        return;
    pthread_detach(thread);
    started = true;
}

/* Somebody came in while the watchdog dozed, or before it ever woke.  [any] */
static void wake(void)
{
    pthread_mutex_lock(&lock);
    if (!started)
        start();
    if (started) {
        atomic_store(&mortise_inside_dozes, false);
        pthread_cond_signal(&moved);
    }
    pthread_mutex_unlock(&lock);
}

void mortise_watchdog_enable(void)
{
    pthread_mutex_lock(&lock);
    started = false;
    mortise_inside_wake = wake;
    atomic_store(&mortise_inside_dozes, true);
    pthread_mutex_unlock(&lock);
}
