/* client.c -- the client side of the control socket.
 *
 *   (1) Nothing is sent to a process that does not belong to the store's owner
 *       (peer.c).
 *   (2) The first request is `hello`.  An engine with another protocol or
 *       another deployment rejects it with a message that explains the
 *       difference.
 *   (3) Every wait is bounded.  An engine that owes an answer sends {"alive":
 *       true} every few seconds.  An engine that sends nothing is stopped
 *       (SIGSTOP, a debugger) or stuck, and the error names its pid.
 *   (4) When a call fails because the engine is gone, `loss` tells how much of
 *       the request the engine can have read.  If the engine rejected the
 *       request before it read all of it, its error is the answer, not a loss.
 */
#include "server/client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "server/control.h"
#include "server/requests.h"

enum { CHUNK = 64 << 10, NS_PER_MS = 1000000 };

/* ---- how it ends badly --------------------------------------------------- */

static int fail_engine_gone(struct mortise_client *c,
                            enum mortise_client_loss loss,
                            struct mortise_err *err)
{
    c->loss = loss;
    return mortise_fail(
        err, MORTISE_EBUSY,
        "process %ld, which used the store %s, closed the connection",
        (long)c->pid, c->store);
}

static int fail_engine_stuck(struct mortise_client *c, int ms,
                             struct mortise_err *err)
{
    if (!mortise_control_is_alive(
            c->pid)) /* a child of it inherited our connection */
        return fail_engine_gone(c, MORTISE_CLIENT_GONE, err);
    c->loss = MORTISE_CLIENT_STUCK;
    return mortise_fail(err, MORTISE_EBUSY,
                        "process %ld uses the store %s and has not answered "
                        "for %d s: it is stopped (kill -CONT %ld continues it) "
                        "or stuck (kill %ld ends it; its runs can be resumed)",
                        (long)c->pid, c->store, ms / 1000, (long)c->pid,
                        (long)c->pid);
}

/* ---- bytes --------------------------------------------------------------- */

/* Wait for `events` on the socket; false after `ms`.  *over: `until` is
 * readable. */
static bool wait_for_socket(const struct mortise_client *c, short events,
                            int ms, bool *over)
{
    uint64_t end = mortise_mono_ns_after((uint64_t)ms);
    struct pollfd p[] = {
        {.fd = c->fd, .events = events},
        {.fd = over != NULL ? c->until : -1, .events = POLLIN}};
    int n;

    do {
        uint64_t now = mortise_mono_ns();

        n = poll(p, 2, now < end ? (int)((end - now) / NS_PER_MS) + 1 : 0);
    } while (n < 0 && errno == EINTR);
    if (over != NULL)
        *over = p[1].revents != 0;
    return n > 0;
}

static int send_request_bytes(struct mortise_client *c, const char *p, size_t n,
                              int ms, struct mortise_err *err)
{
    while (n > 0) {
        ssize_t sent = send(c->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            if (!wait_for_socket(c, POLLOUT, ms, NULL))
                return fail_engine_stuck(c, ms, err);
            continue;
        }
        if (sent < 0) /* the final line end was not sent */
            return fail_engine_gone(c, MORTISE_CLIENT_UNREAD, err);
        p += sent;
        n -= (size_t)sent;
    }
    return MORTISE_OK;
}

static int send_request_line(struct mortise_client *c, const json_t *request,
                             int ms, struct mortise_err *err)
{
    struct mortise_buf line;
    int rv;

    mortise_buf_init(&line, c->mem);
    rv = mortise_json_write(&line, request);
    mortise_buf_puts(&line, "\n");
    if (rv == MORTISE_OK && !line.failed && line.n > MORTISE_REQUEST_MAX + 1)
        rv = mortise_fail(err, MORTISE_ELIMIT,
                          "a request of %zu bytes exceeds the limit of %d MiB",
                          line.n, MORTISE_REQUEST_MAX >> 20);
    else
        rv = rv == MORTISE_OK && !line.failed
                 ? send_request_bytes(c, line.p, line.n, ms, err)
                 : mortise_nomem(err);
    mortise_buf_finish(&line);
    return rv;
}

/* Read one chunk from the engine, unless `until` becomes readable. */
static int receive_answer_bytes(struct mortise_client *c, int ms, bool *over,
                                struct mortise_err *err)
{
    char chunk[CHUNK];
    ssize_t n;

    if (!wait_for_socket(c, POLLIN, ms, over))
        return fail_engine_stuck(c, ms, err);
    if (*over)
        return MORTISE_OK;
    do
        n = recv(c->fd, chunk, sizeof chunk, 0);
    while (n < 0 && errno == EINTR);
    /* Closing a socket with unread data resets it.  The unread data then
     * includes the end of our request, which we sent last. */
    if (n <= 0)
        return fail_engine_gone(c,
                                n < 0 && errno == ECONNRESET
                                    ? MORTISE_CLIENT_UNREAD
                                    : MORTISE_CLIENT_GONE,
                                err);
    mortise_buf_put(&c->in, chunk, (size_t)n);
    if (c->in.failed)
        return mortise_nomem(err);
    return c->in.n <= MORTISE_LINE_MAX
               ? MORTISE_OK
               : mortise_fail(err, MORTISE_ELIMIT,
                              "the engine's answer is larger than %d MiB",
                              MORTISE_LINE_MAX >> 20);
}

/* Remove the next line from the buffer and parse it; NULL if *over. */
static int read_answer_line(struct mortise_client *c, int ms, json_t **out,
                            bool *over, struct mortise_err *err)
{
    const char *end = NULL;
    size_t n;
    int rv = MORTISE_OK;

    *out = NULL;
    for (;;) {
        if (c->in.n > c->scanned)
            end = memchr(c->in.p + c->scanned, '\n', c->in.n - c->scanned);
        if (end != NULL)
            break;
        c->scanned = c->in.n;
        rv = receive_answer_bytes(c, ms, over, err);
        if (rv != MORTISE_OK || *over)
            return rv;
    }
    n = (size_t)(end - c->in.p);
    rv = mortise_json_parse_written(out, c->in.p, n, err);
    c->in.n -= n + 1;
    memmove(c->in.p, c->in.p + n + 1, c->in.n);
    c->scanned = 0;
    return rv;
}

/* ---- a call -------------------------------------------------------------- */

static int read_error_answer(struct mortise_client *c, const json_t *error,
                             struct mortise_err *err)
{
    const char *code = json_string_value(json_object_get(error, "code"));
    const char *words = json_string_value(json_object_get(error, "message"));
    int rv = mortise_requests_parse_code(code != NULL ? code : "");

    if (rv == MORTISE_EBUSY) /* it is closing, or accepts no requests */
        c->loss = MORTISE_CLIENT_GONE;
    return mortise_fail(err, rv, "%s", words != NULL ? words : "(no message)");
}

/* Handle one line of the answer; *over after the last one. */
static int handle_answer_line(struct mortise_client *c, const json_t *line,
                              mortise_item_fn *fn, void *ud, json_t **reply,
                              bool *over, struct mortise_err *err)
{
    json_t *v;

    if ((v = json_object_get(line, "item")) != NULL) {
        /* A detached connection cannot be reused: the remaining items would be
         * taken for the answer to the next request. */
        *over = fn != NULL && fn(ud, v) != 0;
        if (*over)
            shutdown(c->fd, SHUT_RDWR);
    } else if ((v = json_object_get(line, "reply")) != NULL) {
        *over = true;
        if (reply != NULL)
            *reply = json_incref(v);
    } else if (json_object_get(line, "alive") == NULL) {
        return read_error_answer(c, json_object_get(line, "error"), err);
    }
    return MORTISE_OK;
}

/* The engine closed the connection before it read the whole request.  If it
 * sent an error first, that is the answer: a retry would get the same error. */
static int read_final_error(struct mortise_client *c, int ms,
                            struct mortise_err *err)
{
    struct mortise_err why = {.code = MORTISE_OK};
    json_t *line = NULL, *error = NULL;
    bool over = false;

    while (error == NULL && !over &&
           read_answer_line(c, ms, &line, &over, &why) == MORTISE_OK) {
        error = json_incref(json_object_get(line, "error"));
        json_decref(line);
    }
    if (error != NULL && read_error_answer(c, error, &why) != MORTISE_EBUSY) {
        c->loss = MORTISE_CLIENT_CONNECTED;
        *err = why;
    } else {
        c->loss = MORTISE_CLIENT_UNREAD;
    }
    json_decref(error);
    return err->code;
}

static int call_connected_engine(struct mortise_client *c,
                                 const json_t *request, int ms,
                                 mortise_item_fn *fn, void *ud, json_t **reply,
                                 struct mortise_err *err)
{
    json_t *line;
    bool over = false;
    int rv = send_request_line(c, request, ms, err);

    if (rv != MORTISE_OK && c->loss == MORTISE_CLIENT_UNREAD)
        return read_final_error(c, ms, err);
    while (rv == MORTISE_OK && !over) {
        rv = read_answer_line(c, ms, &line, &over, err);
        if (rv == MORTISE_OK && line != NULL)
            rv = handle_answer_line(c, line, fn, ud, reply, &over, err);
        json_decref(line);
    }
    return rv;
}

int mortise_client_call(struct mortise_client *c, const json_t *request,
                        mortise_item_fn *fn, void *ud, json_t **reply,
                        struct mortise_err *err)
{
    c->loss = MORTISE_CLIENT_CONNECTED;
    return call_connected_engine(c, request, MORTISE_SILENCE_MS, fn, ud, reply,
                                 err);
}

/* ---- hello --------------------------------------------------------------- */

static int greet_engine(struct mortise_client *c,
                        const struct mortise_client_requirements *must,
                        struct mortise_err *err)
{
    json_t *ask =
        json_pack("{s:s, s:i, s:s}", "do", "hello", "protocol",
                  MORTISE_PROTOCOL_VERSION, "version", MORTISE_VERSION);
    json_t *reply = NULL;
    int rv = MORTISE_OK;

    if (ask == NULL ||
        (must->path != NULL &&
         json_object_set_new(ask, "deployment",
                             json_pack("{s:s, s:s}", "path", must->path,
                                       "digest", must->digest)) != 0))
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = call_connected_engine(c, ask, MORTISE_HELLO_MS, NULL, NULL, &reply,
                                   err);
    c->stays = json_is_true(json_object_get(reply, "stays"));
    json_decref(ask);
    json_decref(reply);
    return rv;
}

int mortise_client_open(struct mortise_client *c, const struct mortise_mem *mem,
                        const char *store,
                        const struct mortise_client_requirements *must,
                        struct mortise_err *err)
{
    int rv;

    *c = (struct mortise_client){.mem = mem, .fd = -1, .until = -1};
    mortise_buf_init(&c->in, mem);
    c->store = mortise_strdup(mem, store);
    if (c->store == NULL)
        return mortise_nomem(err);
    rv = mortise_control_connect(store, must->group, &c->fd, &c->pid, err);
    return rv != MORTISE_OK ? rv : greet_engine(c, must, err);
}

void mortise_client_close(struct mortise_client *c)
{
    if (c->mem == NULL)
        return;
    if (c->fd >= 0)
        close(c->fd);
    mortise_buf_finish(&c->in);
    mortise_release_str(c->mem, c->store);
    *c = (struct mortise_client){.fd = -1, .until = -1};
}

void mortise_client_await_end(struct mortise_client *c)
{
    char lost[256];
    bool over = false;
    ssize_t n = 1;

    while (!over && n > 0) {
        if (wait_for_socket(c, POLLIN, MORTISE_SILENCE_MS, &over) && !over)
            n = recv(c->fd, lost, sizeof lost, 0);
        if (n < 0 && errno == EINTR)
            n = 1;
    }
}
