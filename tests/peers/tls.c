/* tls.c -- an engine gives up a request whose connection broke: TLS says
 * goodbye on it, and the SIGPIPE of that must not reach the program.
 *
 *     tls GRAPH PID      PID: a server that makes the file `asked` when the
 *                        request is there, and breaks it when it gets SIGUSR2
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/mortise.h"

static volatile sig_atomic_t pipes;

static void on_sigpipe(int sig)
{
    (void)sig;
    pipes++;
}

static int fail(const char *doing, const struct mortise_err *err)
{
    fprintf(stderr, "%s: %s\n", doing, err->msg);
    return 1;
}

/* Run the graph until its request is there, and in nobody's hands. */
static int begin(struct mortise *m, const char *path, struct mortise_err *err)
{
    const struct mortise_start_options how = {.size = sizeof how};
    struct mortise_graph *g;
    char id[MORTISE_RUN_MAX], *report = NULL;
    int rv = 0;

    if (mortise_load(m, path, &g, &report, err) != MORTISE_OK)
        return fail("load", err);
    if (mortise_start(m, g, &how, id, err) != MORTISE_OK)
        rv = fail("start", err);
    for (int i = 0; rv == 0 && access("asked", F_OK) != 0; i++) {
        if (i == 300)
            rv = 2;
        else if (mortise_poll(m, 100, err) < 0)
            rv = fail("poll", err);
    }
    mortise_graph_close(g);
    return rv;
}

int main(int argc, char **argv)
{
    const struct mortise_options o = {.size = sizeof o,
                                      .deployment = "mortise.yaml",
                                      .store = "closing.store"};
    const struct timespec a_while = {.tv_nsec = 300000000};
    struct mortise_err err;
    struct mortise *m;
    int rv;

    if (argc != 3)
        return 64;
    signal(SIGPIPE, on_sigpipe);
    if (mortise_open(&m, &o, &err) != MORTISE_OK)
        return fail("open", &err);
    rv = begin(m, argv[1], &err);
    kill((pid_t)atol(argv[2]), SIGUSR2);
    nanosleep(&a_while, NULL);
    mortise_close(m);
    raise(SIGPIPE); /* the handler is still the program's */
    if (rv == 0 && pipes != 1)
        fprintf(stderr, "%d signals\n", (int)pipes);
    return rv != 0 ? rv : pipes != 1;
}
