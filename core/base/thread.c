/* thread.c -- threads that receive no signals.
 *
 * A new thread inherits its creator's mask, so the mask is set before the
 * thread is created.  SIGPIPE is blocked as well: a write to a closed peer
 * returns an error code.  Faults (SIGSEGV and similar) are not blocked: the
 * kernel would end the process without calling the handler of a crash reporter
 * or of core/plugin/death.c.
 */
#include "core/base/thread.h"

#include <time.h>

void mortise_signals_block(sigset_t *before)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE,
                                 SIGABRT, SIGSYS, SIGTRAP};
    sigset_t all;

    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++)
        sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

void mortise_signals_restore(const sigset_t *before)
{
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

int mortise_thread_start(pthread_t *out, void *(*run)(void *ud), void *ud)
{
    sigset_t before;
    int e;

    mortise_signals_block(&before);
    e = pthread_create(out, NULL, run, ud);
    mortise_signals_restore(&before);
    return e;
}

void mortise_thread_set_name(const char *name)
{
    pthread_setname_np(pthread_self(), name);
}

void mortise_cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}
