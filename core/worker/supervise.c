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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* As the program ended. */
static _Noreturn void end_like(int status)
{
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
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
    while (poll(fds, 2, -1) < 0 && errno == EINTR)
        ;
    if (fds[1].fd < 0 || fds[1].revents == 0)
        kill(0, SIGKILL); /* this process, too */
    while (waitpid(program, &status, 0) < 0 && errno == EINTR)
        ;
    end_like(status);
}
