/* control.c -- requests from the control socket (docs/control.md).
 *
 * STORE/control.sock is how other processes reach the engine that holds a
 * store: one JSON object a line, both ways.  The promises:
 *
 *   (1) Only our uid and root get an answer, and the kernel says who they are:
 *       the actor of what they do is never their own word.
 *   (2) Nothing that a client sends or fails to read can block or bloat the
 *       engine: lines and queues are bounded, and a follower that does not keep
 *       up is told so and disconnected.
 *   (3) A connection serves one request at a time, in order.  When it closes,
 *       what it started goes on.
 *
 * libuv's own pipes are not used: they would raise SIGPIPE (a library has no
 * business with signals), and cut paths at 107 bytes.  The socket is bound and
 * reached through /proc/self/fd/DIR, so that the store may lie arbitrarily
 * deep.  The store's lock is ours, so a socket that is there already is stale.
 */
#include "engine/control.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/serve.h"

enum {
    LINE_MAX_BYTES = 16 << 20, /* of a request */
    QUEUE_MAX = 4 << 20,       /* bytes of items that a client has not read */
    CONNECTIONS = 256,
    CHUNK = 64 << 10
};

static const char socket_name[] = "control.sock";

struct conn {
    struct conn *next, *prev;
    struct mortise *m;
    struct mortise_control *control; /* gone once `closed` */
    unsigned holds;                  /* libuv's, and one while queued */
    int fd;
    uv_poll_t poll;
    int polled; /* events that we wait for */
    struct mortise_asker asker;
    struct mortise_task attend;
    bool queued;  /* attend is */
    bool eof;     /* it sends no more */
    bool closing; /* once `out` is sent */
    bool closed;  /* libuv is letting go of it */
    struct mortise_buf in, out;
    size_t scanned, sent; /* of in: without a line end; of out */
    char actor[64];
};

struct mortise_control {
    struct mortise *m;
    int dir, fd;
    uv_poll_t poll;
    struct conn *conns;
    unsigned n;
    bool closing;
};

void mortise_control_name(uid_t uid, char out[64])
{
    char room[4096];
    struct passwd pw, *found = NULL;

    if (getpwuid_r(uid, &pw, room, sizeof room, &found) == 0 && found != NULL &&
        strlen(pw.pw_name) < 64)
        snprintf(out, 64, "%s", pw.pw_name);
    else
        snprintf(out, 64, "uid %lu", (unsigned long)uid);
}

/* ---- closing a connection ----------------------------------------------- */

static void let_go(struct conn *c)
{
    if (--c->holds == 0)
        mortise_release(c->m->mem, c, sizeof *c);
}

static void conn_gone(uv_handle_t *h)
{
    let_go(h->data);
}

static void conn_close(struct conn *c)
{
    struct mortise_control *k = c->control;

    if (c->closed)
        return;
    c->closed = true;
    mortise_serve_detach(&c->asker);
    if (c->prev != NULL)
        c->prev->next = c->next;
    else
        k->conns = c->next;
    if (c->next != NULL)
        c->next->prev = c->prev;
    k->n--;
    mortise_buf_finish(&c->in);
    mortise_buf_finish(&c->out);
    uv_close((uv_handle_t *)&c->poll, conn_gone);
    close(c->fd);
}

static void attend_soon(struct conn *c)
{
    if (c->queued)
        return;
    c->queued = true;
    c->holds++;
    mortise_ready(c->m, &c->attend);
}

/* ---- answering ---------------------------------------------------------- */

/* {"NAME": value} and a line end. */
static void put_line(struct conn *c, const char *name, json_t *value)
{
    size_t before = c->out.n;

    mortise_buf_printf(&c->out, "{\"%s\":", name);
    if (mortise_json_write(&c->out, value) != MORTISE_OK)
        c->out.failed = true;
    mortise_buf_puts(&c->out, "}\n");
    if (c->out.failed) { /* it cannot be told, so it must not seem told */
        c->out.failed = false;
        c->out.n = before;
        c->closing = true;
    }
    attend_soon(c);
}

static void put_error(struct conn *c, const struct mortise_err *err)
{
    json_t *e =
        json_pack("{s:s, s:o}", "code", mortise_result_name(err->code),
                  "message", mortise_json_strn(err->msg, strlen(err->msg)));

    if (e != NULL)
        put_line(c, "error", e);
    else
        c->closing = true;
    json_decref(e);
    attend_soon(c);
}

/* Forget the queued lines of which no byte was sent. */
static void drop_unsent(struct conn *c)
{
    size_t keep = c->sent;

    if (keep > 0 && c->out.p[keep - 1] != '\n')
        while (keep < c->out.n && c->out.p[keep++] != '\n')
            continue;
    c->out.n = keep;
}

static int on_item(struct mortise_asker *a, json_t *item)
{
    struct conn *c = MORTISE_OF(a, struct conn, asker);
    struct mortise_err err;

    if (c->out.n - c->sent <= QUEUE_MAX) {
        put_line(c, "item", item);
        return c->closing;
    }
    drop_unsent(c);
    mortise_fail(&err, MORTISE_ELIMIT,
                 "you did not read %d MiB of events: disconnected",
                 QUEUE_MAX >> 20);
    put_error(c, &err);
    c->closing = true;
    return 1;
}

static void on_reply(struct mortise_asker *a, json_t *reply)
{
    put_line(MORTISE_OF(a, struct conn, asker), "reply", reply);
}

static void on_error(struct mortise_asker *a, const struct mortise_err *err)
{
    put_error(MORTISE_OF(a, struct conn, asker), err);
}

/* ---- asking ------------------------------------------------------------- */

static void serve_line(struct conn *c, const char *line, size_t n)
{
    struct mortise_err err;
    json_t *request;
    int rv = mortise_json_parse(&request, line, n, &err);

    if (rv != MORTISE_OK) {
        mortise_doing(&err, rv, "a request is one JSON object a line");
        put_error(c, &err);
        return;
    }
    mortise_serve(c->m, request, c->actor, &c->asker);
    json_decref(request);
}

/* The next whole line, if nothing is under way. */
static void serve_next(struct conn *c)
{
    const char *end;
    struct mortise_err err;
    size_t n;

    if (c->asker.request != NULL || c->closing || c->in.n == 0)
        return;
    end = memchr(c->in.p + c->scanned, '\n', c->in.n - c->scanned);
    if (end == NULL) {
        c->scanned = c->in.n;
        if (c->in.n <= LINE_MAX_BYTES)
            return;
        mortise_fail(&err, MORTISE_ELIMIT, "a request is longer than %d MiB",
                     LINE_MAX_BYTES >> 20);
        put_error(c, &err);
        c->closing = true;
        return;
    }
    n = (size_t)(end - c->in.p);
    serve_line(c, c->in.p, n);
    c->in.n -= n + 1;
    memmove(c->in.p, c->in.p + n + 1, c->in.n);
    c->scanned = 0;
    attend_soon(c); /* there may be more */
}

/* ---- bytes -------------------------------------------------------------- */

/* False when the client is gone. */
static bool send_some(struct conn *c)
{
    while (c->sent < c->out.n) {
        ssize_t n = send(c->fd, c->out.p + c->sent, c->out.n - c->sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        c->sent += (size_t)n;
    }
    mortise_buf_clear(&c->out);
    c->sent = 0;
    return true;
}

/* Take in what is there.  False when the connection is broken. */
static bool receive(struct conn *c)
{
    char chunk[CHUNK];
    ssize_t n = recv(c->fd, chunk, sizeof chunk, MSG_DONTWAIT);

    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    c->eof = n == 0;
    mortise_buf_put(&c->in, chunk, (size_t)n);
    return !c->in.failed;
}

static void on_events(uv_poll_t *h, int status, int events);

/* What we wait for next; false when there is nothing left to wait for. */
static bool poll_again(struct conn *c)
{
    int want = 0;

    if (!c->eof && !c->closing && c->in.n <= LINE_MAX_BYTES)
        want |= UV_READABLE;
    if (c->sent < c->out.n)
        want |= UV_WRITABLE;
    if (want == 0 && c->asker.request == NULL)
        return false;
    if (want == c->polled)
        return true;
    c->polled = want;
    return want != 0 ? uv_poll_start(&c->poll, want, on_events) == 0
                     : uv_poll_stop(&c->poll) == 0;
}

/* Do what can be done for a connection: the next request, then bytes out. */
static void attend(struct mortise_task *t)
{
    struct conn *c = MORTISE_OF(t, struct conn, attend);

    c->queued = false;
    if (!c->closed) {
        serve_next(c);
        if (!send_some(c) || (c->eof && mortise_serve_is_follow(&c->asker)) ||
            (!c->queued && !poll_again(c)))
            conn_close(c);
    }
    let_go(c);
}

static void on_events(uv_poll_t *h, int status, int events)
{
    struct conn *c = h->data;

    if (status < 0 || ((events & UV_READABLE) != 0 && !receive(c))) {
        conn_close(c);
        return;
    }
    attend_soon(c);
}

/* ---- accepting ---------------------------------------------------------- */

/* One that is not served; the words may get lost. */
static void turn_away(int fd, int code, const char *why)
{
    char line[256];
    int n = snprintf(line, sizeof line,
                     "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}\n",
                     mortise_result_name(code), why);
    ssize_t sent = send(fd, line, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);

    (void)sent;
    close(fd);
}

static struct conn *conn_new(struct mortise_control *k, int fd, uid_t uid)
{
    struct conn *c = mortise_zalloc(k->m->mem, sizeof *c);

    if (c == NULL || uv_poll_init(&k->m->loop, &c->poll, fd) != 0) {
        mortise_release(k->m->mem, c, sizeof *c);
        return NULL;
    }
    c->m = k->m;
    c->control = k;
    c->holds = 1;
    c->fd = fd;
    c->poll.data = c;
    c->attend.run = attend;
    c->asker.item = on_item;
    c->asker.reply = on_reply;
    c->asker.error = on_error;
    mortise_buf_init(&c->in, k->m->mem);
    mortise_buf_init(&c->out, k->m->mem);
    mortise_control_name(uid, c->actor);
    c->next = k->conns;
    if (c->next != NULL)
        c->next->prev = c;
    k->conns = c;
    k->n++;
    return c;
}

static void welcome(struct mortise_control *k, int fd)
{
    struct ucred who;
    socklen_t n = sizeof who;
    struct conn *c;

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) != 0 ||
        (who.uid != geteuid() && who.uid != 0)) {
        turn_away(fd, MORTISE_EDENIED,
                  "only the user who runs this engine may ask it");
        return;
    }
    if (k->n >= CONNECTIONS) {
        turn_away(fd, MORTISE_ELIMIT, "too many connections; try again");
        return;
    }
    c = conn_new(k, fd, who.uid);
    if (c == NULL)
        turn_away(fd, MORTISE_ENOMEM, "out of memory");
    else
        attend_soon(c);
}

static void on_connection(uv_poll_t *h, int status, int events)
{
    struct mortise_control *k = h->data;
    int fd;

    (void)events;
    if (status < 0)
        return;
    while ((fd = accept4(k->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
        welcome(k, fd);
}

/* ---- the socket --------------------------------------------------------- */

static void fill_address(struct sockaddr_un *a, int dir)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(a->sun_path, sizeof a->sun_path, "/proc/self/fd/%d/%s", dir,
             socket_name);
}

static int open_dir(const char *store, struct mortise_err *err)
{
    int dir = open(store, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return dir >= 0 ? dir : mortise_syserr(err, errno, "open %s", store);
}

static int listen_at(int dir, const char *store, int *out,
                     struct mortise_err *err)
{
    struct sockaddr_un a;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *out = -1;
    if (fd < 0)
        return mortise_syserr(err, errno, "make a socket");
    fill_address(&a, dir);
    unlinkat(dir, socket_name, 0);
    /* The mode of the descriptor, less the umask, is that of the file. */
    if (fchmod(fd, 0600) != 0 ||
        bind(fd, (struct sockaddr *)&a, sizeof a) != 0 ||
        fchmodat(dir, socket_name, 0600, 0) != 0 || listen(fd, 64) != 0) {
        mortise_syserr(err, errno, "listen at %s/%s", store, socket_name);
        close(fd);
        return err != NULL ? err->code : MORTISE_EIO;
    }
    *out = fd;
    return MORTISE_OK;
}

int mortise_control_open(struct mortise *m, struct mortise_err *err)
{
    struct mortise_control *k = mortise_zalloc(m->mem, sizeof *k);
    int rv = k != NULL ? open_dir(m->site.store, err) : mortise_nomem(err);

    if (rv < 0) {
        mortise_release(m->mem, k, sizeof *k);
        return rv;
    }
    k->m = m;
    k->dir = rv;
    rv = listen_at(k->dir, m->site.store, &k->fd, err);
    if (rv == MORTISE_OK && uv_poll_init(&m->loop, &k->poll, k->fd) != 0)
        rv = mortise_fail(err, MORTISE_EIO, "cannot watch the control socket");
    if (rv != MORTISE_OK) {
        if (k->fd >= 0)
            close(k->fd);
        close(k->dir);
        mortise_release(m->mem, k, sizeof *k);
        return rv;
    }
    k->poll.data = k;
    uv_poll_start(&k->poll, UV_READABLE, on_connection);
    m->control = k;
    return MORTISE_OK;
}

static void control_gone(uv_handle_t *h)
{
    struct mortise_control *k = h->data;

    mortise_release(k->m->mem, k, sizeof *k);
}

void mortise_control_close(struct mortise *m)
{
    struct mortise_control *k = m->control;
    struct mortise_err why;
    struct conn *c;

    if (k == NULL)
        return;
    m->control = NULL;
    mortise_fail(&why, MORTISE_EBUSY,
                 "the engine that held the store is closing; try again");
    while ((c = k->conns) != NULL) {
        if (c->asker.request != NULL)
            put_error(c, &why);
        send_some(c);
        conn_close(c);
    }
    unlinkat(k->dir, socket_name, 0);
    uv_close((uv_handle_t *)&k->poll, control_gone);
    close(k->fd);
    close(k->dir);
}

/* ---- the other end ------------------------------------------------------ */

int mortise_control_connect(const char *store, int *fd, struct mortise_err *err)
{
    struct sockaddr_un a;
    int dir = open_dir(store, err), rv = MORTISE_OK;

    *fd = -1;
    if (dir < 0)
        return dir;
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    fill_address(&a, dir);
    if (*fd < 0)
        rv = mortise_syserr(err, errno, "make a socket");
    else if (connect(*fd, (struct sockaddr *)&a, sizeof a) != 0)
        rv = errno == ECONNREFUSED || errno == ENOENT
                 ? mortise_fail(err, MORTISE_ENOTFOUND,
                                "nobody listens at %s/%s", store, socket_name)
                 : mortise_syserr(err, errno, "connect to %s/%s", store,
                                  socket_name);
    close(dir);
    if (rv != MORTISE_OK && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return rv;
}
