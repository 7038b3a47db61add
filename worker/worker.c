/* worker.c -- mortise-worker: the process that runs programs for the engine.
 *
 *     mortise-worker --launch    run a program in a sandbox (launch.h).  The
 *                                launch arguments are on descriptor 3, errors
 *                                go to 4, and the program runs while 5 is
 *                                open.
 *
 * Only the engine starts it.  Descriptors 0, 1 and 2 become the program's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "worker/launch.h"

/* Read a descriptor to its end, at most LAUNCH_SPEC_MAX bytes; NULL with a
 * message. */
static char *read_launch_spec(int fd, size_t *n, char words[LAUNCH_MESSAGE_MAX])
{
    char *all = malloc(LAUNCH_SPEC_MAX + 1);
    ssize_t got = all != NULL ? 1 : -1;

    *n = 0;
    while (got > 0 && *n <= LAUNCH_SPEC_MAX) {
        got = read(fd, all + *n, LAUNCH_SPEC_MAX + 1 - *n);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got > 0)
            *n += (size_t)got;
    }
    if (got == 0 && *n <= LAUNCH_SPEC_MAX)
        return all;
    snprintf(words, LAUNCH_MESSAGE_MAX, "the launch arguments: %s",
             got < 0 ? strerror(errno) : "there are too many");
    free(all);
    return NULL;
}

/* In the child: execute the program, or write the error and exit. */
static _Noreturn void execute_program(const struct launch *l, int channel)
{
    char words[LAUNCH_MESSAGE_MAX] = "";

    close(LAUNCH_LIFE_FD);
    mortise_launch_exec(l, channel, words);
    _exit(write(LAUNCH_ERROR_FD, words, strlen(words)) < 0 ? 125 : 126);
}

/* Fork the program and supervise it.  Returns only if fork() or socketpair()
 * fails. */
static void start_supervised(const struct launch *l, char *spec, size_t n,
                             char words[LAUNCH_MESSAGE_MAX])
{
    int channel[2];
    pid_t program;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0) {
        snprintf(words, LAUNCH_MESSAGE_MAX, "a socket: %s", strerror(errno));
        return;
    }
    program = fork();
    if (program == 0)
        execute_program(l, channel[1]);
    explicit_bzero(spec, n); /* it contains secrets */
    close(channel[1]);
    if (program > 0)
        mortise_launch_supervise(l, program, channel[0]);
    snprintf(words, LAUNCH_MESSAGE_MAX, "a process: %s", strerror(errno));
}

static _Noreturn void launch(void)
{
    const struct rlimit no_core = {0, 0};
    char words[LAUNCH_MESSAGE_MAX] = "", *spec;
    struct launch l;
    size_t n;

    if (fcntl(LAUNCH_ERROR_FD, F_SETFD, FD_CLOEXEC) != 0)
        _exit(125); /* there is no descriptor to report an error on */
    /* The spec contains secrets, which must not reach a core file.
     * RLIMIT_CORE 0 is not enough if core files are piped to a handler. */
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    spec = read_launch_spec(LAUNCH_SPEC_FD, &n, words);
    /* close the spec and any descriptor that was left open by mistake */
    close(LAUNCH_SPEC_FD);
    if (close_range(LAUNCH_LIFE_FD + 1, ~0u, 0) != 0)
        snprintf(words, sizeof words, "descriptors: %s", strerror(errno));
    else if (getpgrp() != getpid() && setpgid(0, 0) != 0)
        snprintf(words, sizeof words, "a process group: %s", strerror(errno));
    else if (spec != NULL && mortise_launch_parse(&l, spec, n, words))
        start_supervised(&l, spec, n, words);
    _exit(write(LAUNCH_ERROR_FD, words, strlen(words)) < 0 ? 125 : 126);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--launch") == 0)
        launch();
    fputs("mortise-worker: only the engine can start this program, with "
          "--launch\n",
          stderr);
    return 64;
}
