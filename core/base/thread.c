/* thread.c -- threads that leave the program's signals alone.
 *
 * The mask is that of the new thread from its first instruction on, because it
 * inherits its maker's; SIGPIPE is in it, too, so a write to a peer that went
 * away is an error code.  Faults (SIGSEGV and its kin) are let through: nobody
 * can wait them out, and the kernel would end the process without asking the
 * handler of a crash reporter, or core/plugin/death.c's.
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

void mortise_thread_name(const char *name)
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
