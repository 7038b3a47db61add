/* thread.c -- threads that leave the program's signals alone.
 *
 * The mask is that of the new thread from its first instruction on, because it
 * inherits its maker's; SIGPIPE is in it, too, so a write to a peer that went
 * away is an error code.  Faults (SIGSEGV and its kin) cannot be waited out:
 * the kernel ends the process if they come while blocked, as it would anyway.
 */
#include "base/thread.h"

#include <signal.h>

int mortise_thread_start(pthread_t *out, const char *name,
                         void *(*run)(void *ud), void *ud)
{
    sigset_t all, before;
    int e;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    e = pthread_create(out, NULL, run, ud);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (e == 0)
        pthread_setname_np(*out, name);
    return e;
}
