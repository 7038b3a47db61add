/* foreign.c -- an engine in somebody else's epoll loop, and two in one.
 *
 * The loop waits for the descriptors of two engines and for a clock of its own,
 * never longer than the engines say.  Both runs end without anything else
 * turning the engines, and without the loop spinning.  The first engine has
 * one run that waits for a timer, the second one that another process answers
 * through the control socket. */
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "embed.h"

enum { ENGINES = 2, MANY = 200 };

static int ended;

static int on_event(void *ud, const char *json, size_t len)
{
    (void)len;
    if (is_event(json, "interrupt") || is_event(json, "run_end"))
        printf("%s %s\n", (const char *)ud,
               is_event(json, "run_end") ? "ended" : "waits");
    fflush(stdout);
    ended += is_event(json, "run_end");
    return ended == ENGINES;
}

static void watch(int epoll, int fd)
{
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) != 0)
        exit(2);
}

/* The loop's own business: a tick every 20 ms. */
static int start_ticking(void)
{
    struct itimerspec every = {{0, 20000000}, {0, 20000000}};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

    timerfd_settime(fd, 0, &every, NULL);
    return fd;
}

/* The shortest wait that anybody wants; -1: none. */
static int timeout_of(struct mortise *m[ENGINES])
{
    int ms = -1;

    for (int i = 0; i < ENGINES; i++) {
        int t = mortise_timeout(m[i]);

        if (t >= 0 && (ms < 0 || t < ms))
            ms = t;
    }
    return ms;
}

static int is_among(int fd, const struct epoll_event *e, int n)
{
    for (int i = 0; i < n; i++)
        if (e[i].data.fd == fd)
            return 1;
    return 0;
}

/* Poll only engines with an event or an expired timeout. */
static int turn(struct mortise *m[ENGINES], const struct epoll_event *e, int n)
{
    struct mortise_err err;
    int turned = 0;

    for (int i = 0; i < ENGINES; i++) {
        if (!is_among(mortise_fd(m[i]), e, n) && mortise_timeout(m[i]) != 0)
            continue;
        must(mortise_poll(m[i], 0, &err), &err, "poll");
        turned++;
    }
    return turned;
}

int main(int argc, char **argv)
{
    struct mortise *m[ENGINES];
    struct mortise_graph *g[ENGINES];
    struct epoll_event e[8];
    int epoll = epoll_create1(0), clock = start_ticking();
    int turns = 0, ticks = 0;
    uint64_t n;

    if (argc != 5)
        return 2;
    watch(epoll, clock);
    for (int i = 0; i < ENGINES; i++) {
        m[i] = open_engine(argv[2 + 2 * i]);
        g[i] = load_graph(m[i], argv[1 + 2 * i]);
        watch(epoll, mortise_fd(m[i]));
    }
    start_run(m[0], g[0], "first", "{\"half\": 0.5}", on_event, "first");
    start_run(m[1], g[1], "second", "{\"text\": \"x\"}", on_event, "second");
    while (ended < ENGINES) {
        int happened = epoll_wait(epoll, e, 8, timeout_of(m));

        ticks += read(clock, &n, sizeof n) == sizeof n;
        turns += turn(m, e, happened);
    }
    printf("ticks: %s, turns: %s\n", ticks > 0 ? "some" : "none",
           turns < MANY ? "few" : "many");
    for (int i = 0; i < ENGINES; i++) {
        mortise_graph_close(g[i]);
        mortise_close(m[i]);
    }
    return 0;
}
