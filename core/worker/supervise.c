/* supervise.c -- the process between the engine and a program.
 *
 * It is there for one thing: an engine that is killed says nothing to anybody,
 * and what it had run must not go on while another engine takes up the run.  It
 * is in no sandbox, and where the kernel can (Landlock 6) the program cannot
 * signal it. */
#include "worker/launch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void tell(int status)
{
    char words[32];
    int n = snprintf(
        words, sizeof words, "%s %d", WIFSIGNALED(status) ? "signal" : "exit",
        WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));

    /* who is not there any more need not know */
    (void)!send(LAUNCH_LIFE_FD, words, (size_t)n, MSG_NOSIGNAL);
}

/* Has the program ended, or is whoever started it gone?  What is said by then is
 * for the program, to end by itself. */
static bool is_over(struct pollfd fds[2], pid_t program)
{
    char word[16];
    ssize_t n;

    if (poll(fds, 2, -1) < 0)
        return errno != EINTR;
    if (fds[1].fd >= 0 && fds[1].revents != 0)
        return true;
    if (fds[0].revents == 0)
        return false;
    n = recv(LAUNCH_LIFE_FD, word, sizeof word, MSG_DONTWAIT);
    if (n > 0)
        kill(program, SIGTERM);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

_Noreturn void mortise_launch_supervise(pid_t program)
{
    struct pollfd fds[2] = {
        {.fd = LAUNCH_LIFE_FD, .events = POLLIN},
        {.fd = (int)syscall(SYS_pidfd_open, program, 0), .events = POLLIN}};
    int status = 0;

    for (int fd = 0; fd < 3; fd++)
        close(fd);
    close(LAUNCH_WORDS_FD);
    while (!is_over(fds, program))
        ;
    if (fds[1].fd >= 0 && fds[1].revents != 0) {
        while (waitpid(program, &status, 0) < 0 && errno == EINTR)
            ;
        tell(status);
    }
    for (;;)
        kill(0, SIGKILL); /* this process, too */
}
