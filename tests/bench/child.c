/* child.c -- other processes: the real command, and this program again. */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct bench_child bench_spawn(const char *const argv[])
{
    struct bench_child c;
    posix_spawn_file_actions_t actions;
    int ends[2], rv;

    if (pipe2(ends, O_CLOEXEC) != 0)
        bench_die("no pipe: %s", strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    c.begun = bench_now();
    rv = posix_spawn(&c.pid, argv[0], &actions, NULL,
                     (char *const *)(uintptr_t)argv, environ);
    if (rv != 0)
        bench_die("cannot run %s: %s", argv[0], strerror(rv));
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    c.out = ends[0];
    return c;
}

bool bench_await(struct bench_child *c, const char *text)
{
    char seen[1 << 16];
    size_t n = 0;
    ssize_t got;

    while (n + 1 < sizeof seen &&
           (got = read(c->out, seen + n, sizeof seen - 1 - n)) > 0) {
        n += (size_t)got;
        seen[n] = '\0';
        if (strstr(seen, text) != NULL)
            return true;
    }
    return false;
}

int bench_reap(struct bench_child *c)
{
    char rest[4096];
    int status;

    while (read(c->out, rest, sizeof rest) > 0)
        ;
    close(c->out);
    while (waitpid(c->pid, &status, 0) < 0)
        if (errno != EINTR)
            bench_die("lost a child: %s", strerror(errno));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* The number in a line of /proc/PID/status. */
static unsigned long status_of(int pid, const char *line)
{
    char path[64], text[256];
    unsigned long value = 0;
    size_t n = strlen(line);
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", pid);
    f = fopen(path, "re");
    if (f == NULL)
        return 0;
    while (fgets(text, sizeof text, f) != NULL)
        if (strncmp(text, line, n) == 0 && text[n] == ':')
            value = strtoul(text + n + 1, NULL, 10);
    fclose(f);
    return value;
}

double bench_memory(int pid, const char *line)
{
    return (double)status_of(pid, line) * 1024; /* it says KiB */
}

double bench_threads(void)
{
    return (double)status_of(getpid(), "Threads");
}

/* ---- this program again
 * -------------------------------------------------------- */

static const struct role {
    const char *name;
    int (*play)(const char *arg);
} roles[] = {
    {"bare", bench_child_bare},
    {"interrupted", bench_child_interrupted},
    {"parked", bench_child_parked},
    {"loading", bench_child_loading},
    {"agent", bench_child_agent},
    {"holding", bench_child_holding},
};

int bench_be_child(const char *name, const char *arg)
{
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (strcmp(roles[i].name, name) == 0)
            return roles[i].play(arg);
    bench_die("no child '%s'", name);
}

double bench_again(const char *name, const char *arg, double *out, size_t n)
{
    const char *argv[] = {"/proc/self/exe", "--child", name,
                          bench_path("."),  arg,       NULL};
    struct bench_child c = bench_spawn(argv);
    FILE *f = fdopen(dup(c.out), "r");
    int code;

    if (f == NULL)
        bench_die("no stream");
    for (size_t i = 0; i < n; i++)
        if (fscanf(f, "%lf", &out[i]) != 1)
            bench_die("child '%s' did not say its number %zu", name, i);
    fclose(f);
    code = bench_reap(&c);
    if (n > 0 && code != 0)
        bench_die("child '%s' ended with %d", name, code);
    return bench_now() - c.begun;
}
