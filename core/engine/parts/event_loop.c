/* event_loop.c -- create a libuv loop, or fail with an error.
 *
 * libuv makes a pipe for signals with the first loop of a process, and calls
 * abort() if it cannot.  So first open and close as many descriptors as a loop
 * needs: a shortage becomes an error here.  Later failures of libuv are
 * reported as errors by libuv itself.
 */
#include "core/engine/parts/event_loop.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Pairs of descriptors: the signal pipe of the process, the signal pipe of the
 * loop, its epoll descriptor and its wakeup descriptor. */
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
