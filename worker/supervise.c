/* supervise.c -- the process between the engine and a program.
 *
 * An engine that is killed cannot stop its programs, and they must not
 * continue while another engine resumes the run.  The supervisor therefore
 * kills them when the engine's socket closes.  It runs outside the sandbox.
 * If the kernel supports it (Landlock 6), the program cannot signal it.
 */
#include "worker/launch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void send_exit_status(int status)
{
    char words[32];
    int n = snprintf(
        words, sizeof words, "%s %d", WIFSIGNALED(status) ? "signal" : "exit",
        WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));

    /* an error means that the engine is gone; nobody needs the status */
    (void)!send(LAUNCH_LIFE_FD, words, (size_t)n, MSG_NOSIGNAL);
}

enum { LIFE, PROGRAM, CALLS, N_FDS };

/* Has the engine closed its end?  Any message from it asks the program to
 * terminate. */
static bool is_engine_gone(const struct pollfd *life, pid_t program)
{
    char word[16];
    ssize_t n;

    if (life->revents == 0)
        return false;
    n = recv(LAUNCH_LIFE_FD, word, sizeof word, MSG_DONTWAIT);
    if (n > 0)
        kill(program, SIGTERM);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* The program's forwarded calls.  The descriptor is first the socket that
 * delivers the listener, then the listener. */
struct calls {
    const struct launch *launch;
    bool has_listener;
};

static void handle_call_event(struct pollfd *fd, struct calls *c)
{
    int from = fd->fd;

    if (!c->has_listener) {
        fd->fd = mortise_launch_get_listener(from);
        c->has_listener = true;
        close(from);
    } else if ((fd->revents & POLLIN) != 0) {
        mortise_launch_answer_call(from, c->launch);
    } else { /* no process that could make a call is left */
        fd->fd = -1;
        close(from);
    }
}

/* Handle one round of poll().  Returns true when the program has exited or the
 * engine is gone. */
static bool is_launch_over(struct pollfd fds[N_FDS], pid_t program,
                           struct calls *c)
{
    if (poll(fds, N_FDS, -1) < 0)
        return errno != EINTR;
    if (fds[PROGRAM].fd >= 0 && fds[PROGRAM].revents != 0)
        return true;
    if (fds[CALLS].fd >= 0 && fds[CALLS].revents != 0)
        handle_call_event(&fds[CALLS], c);
    return is_engine_gone(&fds[LIFE], program);
}

_Noreturn void mortise_launch_supervise(const struct launch *l, pid_t program,
                                        int channel)
{
    struct pollfd fds[N_FDS] = {
        [LIFE] = {.fd = LAUNCH_LIFE_FD, .events = POLLIN},
        [PROGRAM] = {.fd = (int)syscall(SYS_pidfd_open, program, 0),
                     .events = POLLIN},
        [CALLS] = {.fd = channel, .events = POLLIN}};
    struct calls calls = {.launch = l};
    int status = 0;

    for (int fd = 0; fd < 3; fd++)
        close(fd);
    close(LAUNCH_ERROR_FD);
    while (!is_launch_over(fds, program, &calls))
        ;
    if (fds[PROGRAM].fd >= 0 && fds[PROGRAM].revents != 0) {
        while (waitpid(program, &status, 0) < 0 && errno == EINTR)
            ;
        send_exit_status(status);
    }
    for (;;)
        kill(0, SIGKILL); /* kills this process, too */
}
