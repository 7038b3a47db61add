/* child.c -- other programs, as a shell would run them. */
#include "lib/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/allow.h"
#include "lib/test.h"

struct child_result child;

static const char *dir = ".";

static bool allows = true;

void child_dir(const char *where)
{
    dir = where;
}

void child_allows(bool yes)
{
    allows = yes;
}

static void allow(void)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/mortise.yaml", dir);
    if (allows && access(path, R_OK) == 0)
        test_allow(path);
}

const char *child_build(const char *file)
{
    static char path[PATH_MAX];
    const char *build = getenv("MORTISE_BUILD");
    char root[PATH_MAX];

    if (build == NULL || build[0] == '\0')
        build = "build";
    ck_assert_msg(realpath(build, root) != NULL, "no build directory %s",
                  build);
    snprintf(path, sizeof path, "%.*s/%s", PATH_MAX / 2, root, file);
    return path;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* In the child: run the line with these descriptors. */
static void become(const char *line, int out, int err)
{
    setenv("MORTISE",
           child_build(getenv("MORTISE_IGNORE") != NULL ? "tests/keys/mortise"
                                                        : "mortise"),
           1);
    if (chdir(dir) != 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        _exit(126);
    signal(SIGPIPE, SIG_DFL);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

static int code_of(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int child_wait(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        ck_assert_int_eq(errno, EINTR);
    return code_of(status);
}

void child_kill(pid_t pid)
{
    kill(pid, SIGKILL);
    child_wait(pid);
}

/* Append what is there; false at the end. */
static bool take(int fd, char *into, size_t cap, size_t *n)
{
    char lost[4096];
    bool full = *n + 1 >= cap;
    ssize_t got =
        full ? read(fd, lost, sizeof lost) : read(fd, into + *n, cap - 1 - *n);

    if (got <= 0)
        return false;
    if (!full)
        *n += (size_t)got;
    into[*n] = '\0';
    return true;
}

/* Seconds: what hangs is found; what is slow, under a sanitizer and beside others,
 * is not, be it a script of many lines or one line of a file. */
enum { PATIENCE = 600, PATIENCE_FOR_A_LINE = 60 };

/* Read both pipes to their ends, or until the time is up. */
static bool drain(int out, int err)
{
    struct pollfd p[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
    size_t n_out = 0, n_err = 0;
    double until = now() + PATIENCE;

    child.out[0] = child.err[0] = '\0';
    while (p[0].fd >= 0 || p[1].fd >= 0) {
        if (now() > until)
            return false;
        poll(p, 2, 1000);
        if (p[0].revents != 0 &&
            !take(out, child.out, sizeof child.out, &n_out))
            p[0].fd = -1;
        if (p[1].revents != 0 &&
            !take(err, child.err, sizeof child.err, &n_err))
            p[1].fd = -1;
    }
    return true;
}

int child_run(const char *fmt, ...)
{
    char line[8192];
    int out[2], err[2];
    bool ended;
    va_list ap;
    pid_t pid;

    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    allow();
    ck_assert(pipe2(out, O_CLOEXEC) == 0 && pipe2(err, O_CLOEXEC) == 0);
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        become(line, out[1], err[1]);
    close(out[1]);
    close(err[1]);
    ended = drain(out[0], err[0]);
    close(out[0]);
    close(err[0]);
    if (!ended)
        kill(pid, SIGKILL);
    child.code = child_wait(pid);
    ck_assert_msg(ended, "did not end: %.2000s\n%.2000s%.2000s", line,
                  child.out, child.err);
    return child.code;
}

static int create(const char *name, const char *suffix)
{
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof path, "%s/%s%s", dir, name, suffix);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    return fd;
}

pid_t child_start(const char *name, const char *fmt, ...)
{
    char line[8192] = "exec ";
    int out = create(name, ".out"), err = create(name, ".err");
    va_list ap;
    pid_t pid;

    va_start(ap, fmt);
    vsnprintf(line + 5, sizeof line - 5, fmt, ap);
    va_end(ap);
    allow();
    pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
        become(line, out, err);
    close(out);
    close(err);
    return pid;
}

/* Is it in that mask of the process? */
static bool is_masked(const char *status, const char *mask, int sig)
{
    const char *at = strstr(status, mask);

    return at != NULL &&
           (strtoull(at + strlen(mask), NULL, 16) >> (sig - 1) & 1) != 0;
}

/* Until `pid` has the signal in one of these masks, or in none. */
static void await_masks(pid_t pid, const char *one, const char *other, int sig,
                        bool there)
{
    struct timespec tick = {0, 5 * 1000 * 1000};
    double until = now() + PATIENCE_FOR_A_LINE;
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    for (;;) {
        char *status = test_read(path, NULL);
        bool is = is_masked(status, one, sig) || is_masked(status, other, sig);
        bool over = strstr(status, "State:\tZ") != NULL;

        free(status);
        if (is == there || over)
            return;
        ck_assert_msg(now() < until, "signal %d is not heard", sig);
        nanosleep(&tick, NULL);
    }
}

void child_signal(pid_t pid, int sig)
{
    await_masks(pid, "\nSigCgt:\t", "\nSigBlk:\t", sig, true);
    ck_assert_int_eq(kill(pid, sig), 0);
    await_masks(pid, "\nSigPnd:\t", "\nShdPnd:\t", sig, false);
}

void child_await(const char *file, const char *text)
{
    struct timespec tick = {0, 5 * 1000 * 1000};
    char path[PATH_MAX];
    double until = now() + PATIENCE_FOR_A_LINE;

    snprintf(path, sizeof path, "%s/%s", dir, file);
    for (;;) {
        size_t n;
        char *all = access(path, R_OK) == 0 ? test_read(path, &n) : NULL;
        bool there = all != NULL && strstr(all, text) != NULL;

        if (!there && now() > until)
            ck_abort_msg("no '%s' in %s:\n%.3000s", text, file,
                         all != NULL ? all : "(no file)");
        free(all);
        if (there)
            return;
        nanosleep(&tick, NULL);
    }
}

const char *child_fitness(unsigned mend, unsigned look)
{
    static char line[64];

    look += strstr(child.out, "\nwarn disk        tmpfs: ") != NULL;
    snprintf(line, sizeof line, "\n%sfit: %u to correct, %u to review\n",
             mend > 0 ? "not " : "", mend, look);
    return line;
}
