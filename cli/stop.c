/* stop.c -- SIGINT and SIGTERM: the first pauses, the second kills.
 *
 * A user who presses Ctrl-C, or a service manager, wants the process to end and
 * the run to be kept.  The first signal is passed to the loop through a pipe,
 * since a handler may do little else.  The second one restores the default
 * action and raises the signal again.  No recorded data is lost by that, as
 * with `kill -9`. */
#include "cli/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static int signal_pipe[2] = {-1, -1};
static volatile sig_atomic_t
    first_signal; /* number of the first signal, or 0 */

static void on_signal(int sig)
{
    int before = errno;
    ssize_t n;

    if (first_signal) {
        signal(sig, SIG_DFL);
        raise(sig); /* delivered when the handler returns */
        return;
    }
    first_signal = sig;
    n = write(signal_pipe[1], "", 1);
    (void)n; /* cannot fail: the pipe is empty */
    errno = before;
}

int mortise_stop_install(struct mortise_err *err)
{
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    if (signal_pipe[0] < 0 && pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0)
        return mortise_syserr(err, errno, "a pipe for signals");
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    return MORTISE_OK;
}

int mortise_stop_fd(void)
{
    return signal_pipe[0];
}

bool mortise_stop_has_signal(void)
{
    return first_signal != 0;
}

int mortise_stop_get_signal(void)
{
    return first_signal;
}

void mortise_stop_reset(void)
{
    char lost;

    while (read(signal_pipe[0], &lost, 1) > 0)
        continue;
    first_signal = 0;
}
