/* modeld.c -- a model server for the benchmarks: chat completions, in one thread
 * of a process of its own, so that it is never in the way.
 *
 *   POST /text/MS/v1/chat/completions   a text, after so many milliseconds
 *   POST /loop/N/v1/chat/completions    calls of tools, until there are N replies
 *                                       of the assistant; then a text
 *   POST /stuck/N/...                   the same, but where there are N it says
 *                                       nothing the first time */
#include "bench.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PEERS = 2048 };

struct peer {
    int fd;
    char *p;
    size_t n, cap;
    double due; /* its answer's; 0: none */
    char answer[1024];
};

static struct peer peers[PEERS];
static size_t n_peers;
static bool was_stuck;

static void say(struct peer *p, const char *message, const char *finish)
{
    char body[768];
    int n = snprintf(body, sizeof body,
                     "{\"id\":\"c\",\"object\":\"chat.completion\",\"model\":"
                     "\"m\",\"choices\":[{\"index\":0,\"message\":{\"role\":"
                     "\"assistant\",%s},\"finish_reason\":\"%s\"}],\"usage\":{"
                     "\"prompt_tokens\":10,\"completion_tokens\":5}}",
                     message, finish);

    snprintf(p->answer, sizeof p->answer,
             "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
             "Content-Length: %d\r\n\r\n%s",
             n, body);
}

static size_t replies_in(const char *body)
{
    static const char mark[] = "\"role\":\"assistant\"";
    size_t n = 0;

    for (const char *at = body; (at = strstr(at, mark)) != NULL; at++)
        n++;
    return n;
}

static void think(struct peer *p, const char *path, const char *body)
{
    char message[512];
    unsigned long n = strtoul(path + strcspn(path + 1, "/") + 2, NULL, 10);
    size_t turn;

    p->due = bench_now();
    if (strncmp(path, "/text/", 6) == 0) {
        p->due += (double)n * 1e-3;
        say(p, "\"content\":\"a reply\"", "stop");
        return;
    }
    turn = replies_in(body);
    if (strncmp(path, "/stuck/", 7) == 0 && turn == n && !was_stuck) {
        was_stuck = true;
        p->due = 1e300;
    }
    snprintf(message, sizeof message,
             "\"content\":null,\"tool_calls\":[{\"id\":\"call_%zu\",\"type\":"
             "\"function\",\"function\":{\"name\":\"bench_now__step\","
             "\"arguments\":\"{\\\"n\\\":%zu,\\\"why\\\":\\\"to see what is "
             "there\\\"}\"}}]",
             turn, turn);
    if (turn < n)
        say(p, message, "tool_calls");
    else
        say(p, "\"content\":\"done\"", "stop");
}

/* A request that is whole is answered, and gone. */
static void take(struct peer *p)
{
    char path[256] = "";
    const char *end = p->n > 0 ? strstr(p->p, "\r\n\r\n") : NULL, *length;
    size_t size;

    if (end == NULL || p->due != 0)
        return;
    length = strcasestr(p->p, "\r\ncontent-length:");
    size = (size_t)(end + 4 - p->p) +
           (length != NULL && length < end ? strtoul(length + 17, NULL, 10)
                                           : 0);
    if (p->n < size)
        return;
    sscanf(p->p, "%*s %255s", path);
    think(p, path, end + 4);
    p->n -= size;
    memmove(p->p, p->p + size, p->n + 1);
}

static bool hear(struct peer *p)
{
    ssize_t got;

    if (p->cap - p->n < 65536) {
        p->cap = 2 * p->cap + 65536;
        p->p = realloc(p->p, p->cap + 1);
    }
    got = recv(p->fd, p->p + p->n, p->cap - p->n, 0);
    if (got <= 0)
        return false;
    p->n += (size_t)got;
    p->p[p->n] = '\0';
    take(p);
    return true;
}

static void answer(struct peer *p)
{
    p->due = 0;
    (void)!send(p->fd, p->answer, strlen(p->answer), MSG_NOSIGNAL);
    take(p);
}

static void drop(struct peer *p)
{
    close(p->fd);
    free(p->p);
    *p = peers[--n_peers];
}

static int next_due(double now)
{
    double soon = now + 10;

    for (size_t i = 0; i < n_peers; i++)
        if (peers[i].due != 0 && peers[i].due < soon)
            soon = peers[i].due;
    return soon <= now ? 0 : (int)((soon - now) * 1e3) + 1;
}

static _Noreturn void serve(int listener)
{
    static struct pollfd fds[PEERS + 1];
    int one = 1;

    for (;;) {
        size_t n = n_peers;
        double now;

        fds[0] = (struct pollfd){.fd = listener, .events = POLLIN};
        for (size_t i = 0; i < n; i++)
            fds[i + 1] = (struct pollfd){.fd = peers[i].fd, .events = POLLIN};
        poll(fds, n + 1, next_due(bench_now()));
        for (size_t i = n; i-- > 0;)
            if (fds[i + 1].revents != 0 && !hear(&peers[i]))
                drop(&peers[i]); /* the last one takes its place: seen already */
        now = bench_now();
        for (size_t i = 0; i < n_peers; i++)
            if (peers[i].due != 0 && peers[i].due <= now)
                answer(&peers[i]);
        if (fds[0].revents != 0 && n_peers < PEERS) {
            int fd = accept(listener, NULL, NULL);

            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
            peers[n_peers++] = (struct peer){.fd = fd};
        }
    }
}

static int pid;

static void stop(void)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

int bench_modeld(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (bind(listener, (struct sockaddr *)&a, sizeof a) != 0 ||
        listen(listener, 1024) != 0)
        bench_die("no model server");
    getsockname(listener, (struct sockaddr *)&a, &n);
    pid = fork();
    if (pid == 0)
        serve(listener);
    close(listener);
    atexit(stop);
    return ntohs(a.sin_port);
}
