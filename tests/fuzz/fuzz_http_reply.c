/* fuzz_http_reply.c -- any bytes are a server's answer.
 *
 * A server on the loopback device, turned by the same loop as the client, says
 * the bytes to each connection and closes it; redirects may lead to it again.
 * The first byte chooses what the client wishes for.  However they are taken:
 * the end is told once, and what was told in pieces is what the end has. */
#include <assert.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "services/http/http.h"
#include "lib/turn.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BODY_MAX = 4096, WAIT_MS = 2000 };

static uv_poll_t listening;
static int server = -1;
static struct mortise_http *h;
static struct mortise_destination here;
static char url[64];

/* ---- the server --------------------------------------------------------- */

static const uint8_t *answer;
static size_t n_answer;

/* A client writes its request before it reads; who closes with bytes unread
 * takes back what it said. */
static void answer_one(int fd)
{
    char request[65536];
    ssize_t n = recv(fd, request, sizeof request, 0);

    if (n > 0)
        n = send(fd, answer, n_answer, MSG_NOSIGNAL);
    close(fd);
}

/* One that has connected sends at once: waiting for it holds up nobody, as the
 * client is done with that as soon as the loop turns. */
struct waiting {
    uv_poll_t poll;
    int fd;
};

static void gone(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_request(uv_poll_t *poll, int status, int events)
{
    struct waiting *w = poll->data;

    (void)status;
    (void)events;
    uv_poll_stop(poll);
    answer_one(w->fd);
    uv_close((uv_handle_t *)poll, gone);
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct waiting *w;
    int fd = accept(server, NULL, NULL);

    (void)poll;
    (void)status;
    (void)events;
    if (fd < 0)
        return;
    w = calloc(1, sizeof *w);
    assert(w != NULL);
    w->fd = fd;
    w->poll.data = w;
    assert(uv_poll_init(&loop, &w->poll, fd) == 0);
    uv_poll_start(&w->poll, UV_READABLE, on_request);
}

static void listen_here(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;

    server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert(server >= 0 && bind(server, (struct sockaddr *)&a, n) == 0);
    assert(listen(server, 64) == 0);
    assert(getsockname(server, (struct sockaddr *)&a, &n) == 0);
    snprintf(here.host, sizeof here.host, "127.0.0.1");
    here.port = ntohs(a.sin_port);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", here.port);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    unsetenv("http_proxy");
    unsetenv("all_proxy");
    listen_here();
    assert(uv_loop_init(&loop) == 0);
    uv_timer_init(&loop, &alarm_);
    uv_poll_init(&loop, &listening, server);
    uv_poll_start(&listening, UV_READABLE, on_connection);
    assert(mortise_http_open(&h, &mortise_heap, &loop, &timers, NULL) ==
           MORTISE_OK);
    return 0;
}

/* ---- the client --------------------------------------------------------- */

static struct {
    int dones, heads;
    int status;
    struct mortise_buf pieces;
} got;

static void check_headers(const struct mortise_http_answer *a)
{
    size_t n = 0;

    for (size_t i = 0; i < a->n_headers; i++) {
        n += strlen(a->headers[i].name) + strlen(a->headers[i].value);
        for (const char *p = a->headers[i].name; *p != '\0'; p++)
            assert(*p < 'A' || *p > 'Z');
    }
    assert(n <= MORTISE_HTTP_HEADERS_MAX);
}

static void on_head(void *ud, const struct mortise_http_answer *a)
{
    (void)ud;
    got.heads++;
    got.status = a->status;
    check_headers(a);
}

static void on_piece(void *ud, const char *p, size_t n)
{
    (void)ud;
    assert(n > 0 && got.heads == 1 && got.dones == 0);
    mortise_buf_put(&got.pieces, p, n);
}

static void on_done(void *ud, const struct mortise_http_answer *a)
{
    (void)ud;
    got.dones++;
    assert(a->words != NULL);
    if (a->outcome != MORTISE_HTTP_ANSWERED) {
        assert(a->words[0] != '\0');
        return;
    }
    assert(a->status >= 200 && a->status <= 999);
    assert(a->n_body <= BODY_MAX && got.heads == 1 && got.status == a->status);
    assert(a->n_body == got.pieces.n);
    assert(a->n_body == 0 || memcmp(a->body, got.pieces.p, a->n_body) == 0);
    assert(!a->retry_after || a->retry_after_ms <= 86400000);
    check_headers(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const methods[] = {"GET", "POST", "HEAD", "PUT"};
    struct mortise_egress egress = {&here, 1};
    struct mortise_http_request r = {.url = url,
                                     .egress = &egress,
                                     .timeout_ms = WAIT_MS,
                                     .body_max = BODY_MAX,
                                     .head = on_head,
                                     .piece = on_piece,
                                     .done = on_done};

    if (size == 0)
        return 0;
    r.method = methods[data[0] % 4];
    r.safe = (data[0] & 4) != 0;
    r.redirects = (data[0] & 8) != 0 ? 3 : 0;
    if (data[0] % 4 == 1 || data[0] % 4 == 3) {
        r.body = "some";
        r.n_body = 4;
    }
    answer = data + 1;
    n_answer = size - 1;
    memset(&got, 0, sizeof got);
    mortise_buf_init(&got.pieces, &mortise_heap);
    assert(mortise_http_start(h, &r) != NULL);
    while (got.dones == 0)
        turn();
    for (int i = 0; i < 3; i++) /* nothing comes behind it */
        uv_run(&loop, UV_RUN_NOWAIT);
    assert(got.dones == 1);
    mortise_buf_finish(&got.pieces);
    return 0;
}
