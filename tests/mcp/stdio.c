/* stdio.c -- mcpd_stdio: a scripted MCP server over its stdin and stdout.
 *
 * It writes as a simple program does, and waits while nobody reads. */
#include "mcpd.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct mcpd_session session;
static volatile sig_atomic_t changed;

static void raw(void *to, const char *bytes, size_t n)
{
    (void)to;
    while (n > 0) {
        ssize_t put = write(STDOUT_FILENO, bytes, n);

        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return; /* nobody reads */
        bytes += put;
        n -= (size_t)put;
    }
}

/* In one piece, so that a line is in the pipe or is not. */
static void say(void *to, const char *text, size_t n, enum mcpd_saying what,
                int code)
{
    char *line = malloc(n + 1);

    (void)what;
    (void)code;
    memcpy(line, text, n);
    line[n] = '\n';
    raw(to, line, n + 1);
    free(line);
}

static void cut(void *to)
{
    (void)to;
    _exit(1);
}

static void status(void *to, int code)
{
    (void)to;
    _exit(code);
}

static const struct mcpd_transport wire = {
    .say = say, .raw = raw, .cut = cut, .status = status};
const struct mcpd_transport *mcpd_wire = &wire;

static void babble(void)
{
    const char text[] =
        "Starting server...\n\n{\"half\": \n\x1b[31mred\x1b[0m\n";

    raw(NULL, text, sizeof text - 1);
}

static void flood(void)
{
    for (int i = 0; i < mcpd.flood_stderr; i++)
        putc(i % 80 == 79 ? '\n' : 'e', stderr);
}

/* The lines that are whole; what is left stays. */
static void take_lines(char *buf, size_t *n)
{
    char *from = buf, *end;

    while ((end = memchr(from, '\n', *n - (size_t)(from - buf))) != NULL) {
        mcpd_receive(&session, NULL, from, (size_t)(end - from));
        from = end + 1;
    }
    *n -= (size_t)(from - buf);
    memmove(buf, from, *n);
}

static void on_change(int sig)
{
    (void)sig;
    changed = 1;
}

static void serve(void)
{
    char *buf = NULL;
    size_t n = 0, cap = 0;
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};

    for (;;) {
        int ready = poll(&p, 1, mcpd_timeout());

        if (changed) {
            changed = 0;
            mcpd_announce();
        }
        if (ready > 0 && p.revents != 0) {
            ssize_t got;

            if (cap - n < 65536) {
                cap = 2 * cap + 65536;
                buf = realloc(buf, cap);
            }
            got = read(STDIN_FILENO, buf + n, cap - n);
            if (got == 0 && !mcpd.ignore_close)
                break;
            if (got == 0)
                p.fd = -1;
            if (got > 0) {
                n += (size_t)got;
                take_lines(buf, &n);
            }
        }
        mcpd_tick();
    }
    free(buf);
}

int main(int argc, char **argv)
{
    char pid[32];

    mcpd_options_read(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, on_change);
    if (mcpd.ignore_term)
        signal(SIGTERM, SIG_IGN);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    if (mcpd.starts != NULL)
        mcpd_append(mcpd.starts, pid);
    if (mcpd.exit_at_start)
        return mcpd.exit_code;
    if (mcpd.start_delay > 0)
        usleep((useconds_t)mcpd.start_delay * 1000);
    if (mcpd.babble_at_start)
        babble();
    flood();
    if (mcpd.ask_at_start)
        mcpd_ask_at_start(NULL);
    serve();
    mcpd_session_finish(&session);
    mcpd_finish();
    return 0;
}
