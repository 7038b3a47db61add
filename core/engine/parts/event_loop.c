/* event_loop.c -- see event_loop.h.
 *
 * libuv makes a pipe for signals with the first loop of a process, and calls
 * abort() if it gets none.  So as many descriptors as a loop takes are asked for
 * right before, where a shortage is an error.  Later ones of libuv's fail with an
 * error of their own.
 */
#include "core/engine/parts/event_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Pairs: the process's pipe for signals, the loop's, what it polls and is woken
 * by. */
enum { PAIRS = 4 };

int mortise_event_loop_init(uv_loop_t *loop, struct mortise_err *err)
{
    int fds[PAIRS][2], n = 0, rv = 0;

    while (n < PAIRS && rv == 0)
        if (pipe2(fds[n], O_CLOEXEC) == 0)
            n++;
        else
            rv = -errno;
    while (n-- > 0) {
        close(fds[n][0]);
        close(fds[n][1]);
    }
    if (rv == 0)
        rv = uv_loop_init(loop);
    return rv == 0 ? MORTISE_OK
                   : mortise_syserr(err, -rv, "start the event loop");
}
