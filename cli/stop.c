/* stop.c -- SIGINT and SIGTERM: pause first, kill at the second.
 *
 * Whoever presses Ctrl-C, or a service manager that stops us, wants the process
 * gone and the run kept.  The first signal says so to the loop, through a pipe:
 * a handler may do little else.  The second one is for those who cannot wait:
 * it restores what the signal does by itself and sends it again.  Nothing is
 * lost by that, as nothing is by `kill -9`. */
#include "cli/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static int ends[2] = {-1, -1};
static volatile sig_atomic_t came; /* the signal */

static void on_signal(int sig)
{
    int before = errno;
    ssize_t n;

    if (came) {
        signal(sig, SIG_DFL);
        raise(sig); /* delivered as we return */
        return;
    }
    came = sig;
    n = write(ends[1], "", 1);
    (void)n; /* the pipe is empty: this is the only byte */
    errno = before;
}

int mortise_stop_begin(struct mortise_err *err)
{
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

    if (ends[0] < 0 && pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return mortise_syserr(err, errno, "a pipe for signals");
    sigemptyset(&a.sa_mask);
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    return MORTISE_OK;
}

int mortise_stop_fd(void)
{
    return ends[0];
}

bool mortise_stop_came(void)
{
    return came != 0;
}

int mortise_stop_signal(void)
{
    return came;
}

void mortise_stop_again(void)
{
    char lost;

    while (read(ends[0], &lost, 1) > 0)
        continue;
    came = 0;
}
