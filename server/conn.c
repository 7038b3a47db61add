/* conn.c -- the connections to a control socket: what they may cost.
 *
 * Whoever may connect may also be broken: it asks and never reads, sends half
 * a request and falls asleep, or is a hundred shells that somebody forgot.
 * The promises:
 *
 *   (1) A connection serves one request at a time, in order; after each, the
 *       others have their turn.
 *   (2) What is read and not served, and what is answered and not read, is
 *       bounded: we stop reading and serving until there is room (READ_AHEAD,
 *       ANSWERS), and go on whenever it comes to be.  Large requests share
 *       HELD_MAX; beyond it one is read at a time, the one that is furthest,
 *       and it loses its place when nothing of it comes for STALL_MS while
 *       others wait.
 *   (3) Runs do not wait for a follower: one with QUEUE_MAX unread gets stored
 *       events later, as it reads, and is told how many live ones it missed.
 *   (4) When all places are taken, the connection that has been idle for
 *       longest makes room; those at work are never dropped for others.  One
 *       member of the store's group (store.access) has MEMBER_PLACES at most, and
 *       all of them MEMBERS_PLACES: there is room for the owner and for root.
 *   (5) A client that said hello and waits for an answer hears every BEAT_MS
 *       that we are alive.
 *   (6) When a connection closes, what it started goes on.
 *   (7) A client that sends no more hears all that it asked for before; then
 *       we close.
 */
#include "server/conn.h"
#include "core/base/owner.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "server/control.h"
#include "server/requests.h"

enum {
    CONNECTIONS = 256,
    MEMBER_PLACES = 64,    /* of one user who is neither the owner nor root */
    MEMBERS_PLACES = 192,  /* of all of them */
    READ_AHEAD = 64 << 10, /* behind the request that is served */
    HELD_MAX = 64 << 20,   /* of all connections: the sum of `in` */
    ANSWERS = 64 << 10,    /* unread: then nothing more is served */
    QUEUE_MAX = 1 << 20,   /* unread: then a follower gets no more events */
    BEAT_MS = 5000,
    STALL_MS = 10000,
    CHUNK = 64 << 10
};

static const char alive[] = "{\"alive\":true}\n";

struct mortise_conn {
    struct mortise_conn *next, *prev;
    struct mortise *m;
    struct mortise_conns *all; /* gone once `closed` */
    unsigned holds;            /* libuv's, and one while queued */
    int fd;
    uid_t uid;
    uv_poll_t poll;
    int polled; /* events that we wait for */
    struct mortise_asker asker;
    struct mortise_task attend;
    uint64_t active_ns; /* when the last byte came or went */
    bool queued;        /* attend is */
    bool eof;           /* it sends no more */
    bool closing;       /* once `out` is sent */
    bool closed;        /* libuv is letting go of it */
    bool starved;       /* not read: others have HELD_MAX */
    struct mortise_buf in, out;
    size_t scanned;  /* of in: without a line end */
    size_t line_end; /* one past the first line end of in; 0: none yet */
    size_t sent;     /* of out */
    char actor[64];
};

/* ---- the list, by who was active ----------------------------------------- */

static void unlink_conn(struct mortise_conns *s, struct mortise_conn *c)
{
    *(c->prev != NULL ? &c->prev->next : &s->first) = c->next;
    *(c->next != NULL ? &c->next->prev : &s->last) = c->prev;
}

static void link_last(struct mortise_conns *s, struct mortise_conn *c)
{
    c->next = NULL;
    c->prev = s->last;
    *(s->last != NULL ? &s->last->next : &s->first) = c;
    s->last = c;
}

static void was_active(struct mortise_conn *c)
{
    c->active_ns = mortise_mono_ns();
    unlink_conn(c->all, c);
    link_last(c->all, c);
}

static bool is_silent(const struct mortise_conn *c, uint64_t now)
{
    return now - c->active_ns >= (uint64_t)STALL_MS * 1000000;
}

/* ---- memory -------------------------------------------------------------- */

static void attend_soon(struct mortise_conn *c)
{
    if (c->queued)
        return;
    c->queued = true;
    c->holds++;
    mortise_ready(c->m, &c->attend);
}

/* There is room again: whoever waits for it looks for itself. */
static void feed_starved(struct mortise_conns *s)
{
    for (struct mortise_conn *c = s->first; c != NULL && s->starved > 0;
         c = c->next)
        if (c->starved)
            attend_soon(c);
}

static void set_starved(struct mortise_conn *c, bool starved)
{
    if (c->starved == starved)
        return;
    c->starved = starved;
    c->all->starved += starved ? 1 : -1u;
}

/* A buffer that was large once is not kept so. */
static void trim(struct mortise_buf *b, const struct mortise_mem *mem)
{
    if (b->n > 0 || b->cap <= READ_AHEAD)
        return;
    mortise_buf_finish(b);
    mortise_buf_init(b, mem);
}

/* Is more of no request under way here than of this one? */
static bool is_furthest(const struct mortise_conn *c)
{
    for (const struct mortise_conn *o = c->all->first; o != NULL; o = o->next)
        if (o != c && o->line_end == 0 && o->in.n > c->in.n)
            return false;
    return true;
}

/* May more of it be read?  (2) */
static bool may_read(struct mortise_conn *c)
{
    bool room;

    if (c->eof || c->closing) {
        set_starved(c, false);
        return false;
    }
    if (c->in.n < READ_AHEAD || c->line_end != 0)
        return c->in.n < READ_AHEAD;
    room = c->all->held < HELD_MAX || is_furthest(c);
    set_starved(c, !room);
    return room && c->in.n <= MORTISE_REQUEST_MAX;
}

/* ---- closing a connection ----------------------------------------------- */

static void let_go(struct mortise_conn *c)
{
    if (--c->holds == 0)
        mortise_release(c->m->mem, c, sizeof *c);
}

static void conn_gone(uv_handle_t *h)
{
    let_go(h->data);
}

static void conn_close(struct mortise_conn *c)
{
    struct mortise_conns *s = c->all;

    if (c->closed)
        return;
    c->closed = true;
    mortise_requests_detach(&c->asker);
    set_starved(c, false);
    unlink_conn(s, c);
    s->n--;
    s->held -= c->in.n;
    mortise_buf_finish(&c->in);
    mortise_buf_finish(&c->out);
    uv_close((uv_handle_t *)&c->poll, conn_gone);
    close(c->fd);
    feed_starved(s);
}

/* ---- answering ---------------------------------------------------------- */

/* {"NAME": value} and a line end. */
static void put_line(struct mortise_conn *c, const char *name, json_t *value)
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

static void put_error(struct mortise_conn *c, const struct mortise_err *err)
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

/* The last thing that it hears, and what it sent is forgotten: it may never
 * read this, and others need the room. */
static void put_last(struct mortise_conn *c, int code, const char *words)
{
    struct mortise_err err;

    mortise_fail(&err, code, "%s", words);
    mortise_requests_detach(&c->asker);
    put_error(c, &err);
    c->closing = true;
    c->all->held -= c->in.n;
    c->in.n = c->scanned = c->line_end = 0;
    trim(&c->in, c->m->mem);
    feed_starved(c->all);
}

static size_t unread(const struct mortise_conn *c)
{
    return c->out.n - c->sent;
}

/* What was sent need not be kept: at the end of all, and now and then. */
static void forget_sent(struct mortise_conn *c)
{
    if (unread(c) > 0 && c->sent < QUEUE_MAX)
        return;
    c->out.n -= c->sent;
    memmove(c->out.p, c->out.p + c->sent, c->out.n);
    c->sent = 0;
    trim(&c->out, c->m->mem);
}

/* False when the client is gone. */
static bool send_some(struct mortise_conn *c)
{
    while (unread(c) > 0) {
        ssize_t n = send(c->fd, c->out.p + c->sent, unread(c),
                         MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
            return false;
        if (n < 0)
            break;
        c->sent += (size_t)n;
        was_active(c);
    }
    if (c->sent > 0)
        forget_sent(c);
    return true;
}

static int on_item(struct mortise_asker *a, json_t *item)
{
    struct mortise_conn *c = MORTISE_OF(a, struct mortise_conn, asker);

    put_line(c, "item", item);
    return c->closing;
}

static bool on_full(struct mortise_asker *a)
{
    return unread(MORTISE_OF(a, struct mortise_conn, asker)) >= QUEUE_MAX;
}

static void on_reply(struct mortise_asker *a, json_t *reply)
{
    put_line(MORTISE_OF(a, struct mortise_conn, asker), "reply", reply);
}

static void on_error(struct mortise_asker *a, const struct mortise_err *err)
{
    put_error(MORTISE_OF(a, struct mortise_conn, asker), err);
}

/* ---- asking ------------------------------------------------------------- */

static void tick_soon(struct mortise_conns *s)
{
    if (!s->tick.armed)
        mortise_timer_arm(&s->m->timers, &s->tick, mortise_mono_in(BEAT_MS));
}

static void serve_line(struct mortise_conn *c, const char *line, size_t n)
{
    struct mortise_err err;
    json_t *request;
    int rv = mortise_json_parse(&request, line, n, &err);

    if (rv != MORTISE_OK) {
        mortise_doing(&err, rv,
                      "a request must be one JSON object on one line");
        put_error(c, &err);
        return;
    }
    mortise_requests_serve(c->m, request, c->actor, &c->asker);
    json_decref(request);
    if (c->asker.greeted && c->asker.request != NULL)
        tick_soon(c->all);
}

/* Where the first line ends, if it does. */
static void find_line(struct mortise_conn *c)
{
    const char *end;

    if (c->line_end != 0 || c->in.n == c->scanned)
        return;
    end = memchr(c->in.p + c->scanned, '\n', c->in.n - c->scanned);
    c->scanned = c->in.n;
    if (end == NULL)
        return;
    c->line_end = (size_t)(end - c->in.p) + 1;
    feed_starved(c->all); /* another is the furthest now */
}

/* Is there a whole line, or too much of one, while nothing is under way and
 * answers are read? */
static bool may_serve(const struct mortise_conn *c)
{
    return c->asker.request == NULL && !c->closing && unread(c) < ANSWERS &&
           (c->line_end != 0 || c->in.n > MORTISE_REQUEST_MAX);
}

/* The next line, or that it is too long. */
static void serve_next(struct mortise_conn *c)
{
    char words[128];
    size_t n = c->line_end;

    if (!may_serve(c))
        return;
    if (n == 0) {
        snprintf(words, sizeof words,
                 "a request exceeds the limit of %d MiB: %zu bytes were read "
                 "without a line end",
                 MORTISE_REQUEST_MAX >> 20, c->in.n);
        put_last(c, MORTISE_ELIMIT, words);
        return;
    }
    serve_line(c, c->in.p, n - 1);
    c->in.n -= n;
    c->all->held -= n;
    memmove(c->in.p, c->in.p + n, c->in.n);
    trim(&c->in, c->m->mem);
    c->scanned = c->line_end = 0;
    find_line(c);
    feed_starved(c->all);
    attend_soon(c); /* there may be more */
}

/* ---- bytes -------------------------------------------------------------- */

/* Does nobody hear us any more?  (Who sends no more may still listen.) */
static bool is_gone(const struct mortise_conn *c)
{
    struct pollfd p = {.fd = c->fd};

    return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)) != 0;
}

/* It sends no more, and follows: nothing that comes from it would tell that it
 * left. */
static bool may_leave(const struct mortise_conn *c)
{
    return c->eof && mortise_requests_is_follow(&c->asker);
}

/* Its last request was cut, and all before it are served. */
static bool was_cut(const struct mortise_conn *c)
{
    return c->eof && !c->closing && c->asker.request == NULL && c->in.n > 0 &&
           c->line_end == 0;
}

/* Take in what is there.  False when the connection is broken. */
static bool receive(struct mortise_conn *c)
{
    char chunk[CHUNK];
    ssize_t n = recv(c->fd, chunk, sizeof chunk, MSG_DONTWAIT);

    if (n < 0)
        return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
    c->eof = n == 0;
    mortise_buf_put(&c->in, chunk, (size_t)n);
    if (c->in.failed)
        return false;
    c->all->held += (size_t)n;
    was_active(c);
    find_line(c);
    return true;
}

static void on_events(uv_poll_t *h, int status, int events);

/* What we wait for next; false when there is nothing left to wait for. */
static bool poll_again(struct mortise_conn *c)
{
    int want = 0;

    if (may_read(c))
        want |= UV_READABLE;
    if (unread(c) > 0)
        want |= UV_WRITABLE;
    if (c->starved)
        tick_soon(c->all);
    if (want == 0 && !c->starved && c->asker.request == NULL)
        return false;
    if (want == c->polled)
        return true;
    c->polled = want;
    return want != 0 ? uv_poll_start(&c->poll, want, on_events) == 0
                     : uv_poll_stop(&c->poll) == 0;
}

/* Bytes out, the next request, and what that gave; false: it is to be closed.
 *
 * The client may read while this works: the second sending may make the room
 * for which the next request had to wait.  No event of the socket would tell of
 * that any more, so it is looked at here.
 */
static bool goes_on(struct mortise_conn *c)
{
    if (!send_some(c))
        return false;
    serve_next(c);
    if (was_cut(c))
        put_last(c, MORTISE_EINVAL, "the last request has no line end");
    if (!send_some(c) || (may_leave(c) && is_gone(c)))
        return false;
    if (may_leave(c))
        tick_soon(c->all);
    if (may_serve(c))
        attend_soon(c);
    return c->queued || poll_again(c);
}

static void attend(struct mortise_task *t)
{
    struct mortise_conn *c = MORTISE_OF(t, struct mortise_conn, attend);

    c->queued = false;
    if (!c->closed && !goes_on(c))
        conn_close(c);
    else if (!c->closed && unread(c) < QUEUE_MAX / 2)
        mortise_requests_go_on(&c->asker);
    let_go(c);
}

static void on_events(uv_poll_t *h, int status, int events)
{
    struct mortise_conn *c = h->data;

    if (status < 0 || ((events & UV_READABLE) != 0 && !receive(c))) {
        conn_close(c);
        return;
    }
    attend_soon(c);
}

/* ---- from time to time --------------------------------------------------- */

/* The largest request that is under way and of which nothing comes. */
static struct mortise_conn *stalled(const struct mortise_conns *s)
{
    uint64_t now = mortise_mono_ns();
    struct mortise_conn *found = NULL;

    for (struct mortise_conn *c = s->first; c != NULL; c = c->next)
        if (c->in.n >= READ_AHEAD && c->line_end == 0 && !c->starved &&
            is_silent(c, now) && (found == NULL || c->in.n > found->in.n))
            found = c;
    return found;
}

static void tick(struct mortise_timer *t)
{
    struct mortise_conns *s = MORTISE_OF(t, struct mortise_conns, tick);
    struct mortise_conn *slow = s->starved > 0 ? stalled(s) : NULL;
    bool again = s->starved > 0;

    if (slow != NULL)
        put_last(slow, MORTISE_ELIMIT,
                 "a large request made no progress, and other requests wait "
                 "for its slot");
    for (struct mortise_conn *c = s->first; c != NULL; c = c->next) {
        if (may_leave(c)) {
            again = true;
            if (is_gone(c))
                attend_soon(c);
        }
        if (!c->asker.greeted || c->asker.request == NULL)
            continue;
        again = true;
        if (unread(c) > 0)
            continue; /* it has not heard the last word yet */
        mortise_buf_put(&c->out, alive, sizeof alive - 1);
        attend_soon(c);
    }
    if (again)
        tick_soon(s);
}

/* ---- coming and going ---------------------------------------------------- */

void mortise_conn_turn_away(int fd, const struct mortise_err *why)
{
    char line[sizeof why->msg + 64];
    int n = snprintf(line, sizeof line,
                     "{\"error\":{\"code\":\"%s\",\"message\":\"%s\"}}\n",
                     mortise_result_name(why->code), why->msg);
    ssize_t sent = send(fd, line, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);

    (void)sent;
    close(fd);
}

void mortise_conns_init(struct mortise_conns *s, struct mortise *m)
{
    *s = (struct mortise_conns){.m = m, .tick = {.fire = tick}};
}

/* Nothing is owed to it; or it does not take what is. */
static bool is_idle(const struct mortise_conn *c, uint64_t now)
{
    if (c->asker.request != NULL || c->queued)
        return false;
    return (unread(c) == 0 && c->line_end == 0) || is_silent(c, now);
}

/* Whose places are taken: everybody's, one user's, or all members'. */
enum whose { ANYBODYS, A_USERS, MEMBERS };

static bool is_member(uid_t uid)
{
    return uid != geteuid() && uid != 0;
}

static bool is_of(const struct mortise_conn *c, enum whose whose, uid_t uid)
{
    return whose == ANYBODYS ||
           (whose == A_USERS ? c->uid == uid : is_member(c->uid));
}

static unsigned count(const struct mortise_conns *s, enum whose whose,
                      uid_t uid)
{
    unsigned n = 0;

    for (const struct mortise_conn *c = s->first; c != NULL; c = c->next)
        n += is_of(c, whose, uid);
    return n;
}

static bool drop_idle(struct mortise_conns *s, enum whose whose, uid_t uid)
{
    uint64_t now = mortise_mono_ns();
    struct mortise_conn *c = s->first;
    struct mortise_err why;

    while (c != NULL && !(is_of(c, whose, uid) && is_idle(c, now)))
        c = c->next;
    if (c == NULL)
        return false;
    mortise_fail(&why, MORTISE_EBUSY,
                 "this connection was idle the longest, and others need its "
                 "slot; connect again");
    put_error(c, &why);
    send_some(c);
    conn_close(c);
    return true;
}

bool mortise_conns_drop_idle(struct mortise_conns *s)
{
    return drop_idle(s, ANYBODYS, 0);
}

/* Is there a place for one more? (4) */
static int make_room(struct mortise_conns *s, enum whose whose, uid_t uid,
                     unsigned most, const char *words, struct mortise_err *err)
{
    if (count(s, whose, uid) < most || drop_idle(s, whose, uid))
        return MORTISE_OK;
    return mortise_fail(
        err, MORTISE_ELIMIT,
        "all %u connections%s to this engine are in use; try again later", most,
        words);
}

static int make_rooms(struct mortise_conns *s, uid_t uid,
                      struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (is_member(uid))
        rv = make_room(s, A_USERS, uid, MEMBER_PLACES, " of yours", err);
    if (rv == MORTISE_OK && is_member(uid))
        rv = make_room(s, MEMBERS, uid, MEMBERS_PLACES, " of members", err);
    return rv == MORTISE_OK ? make_room(s, ANYBODYS, uid, CONNECTIONS, "", err)
                            : rv;
}

int mortise_conns_add(struct mortise_conns *s, int fd, uid_t uid,
                      struct mortise_err *err)
{
    struct mortise_conn *c;
    int rv = make_rooms(s, uid, err);

    if (rv != MORTISE_OK)
        return rv;
    c = mortise_zalloc(s->m->mem, sizeof *c);
    if (c == NULL || uv_poll_init(&s->m->loop, &c->poll, fd) != 0) {
        mortise_release(s->m->mem, c, sizeof *c);
        return mortise_nomem(err);
    }
    c->m = s->m;
    c->all = s;
    c->holds = 1;
    c->fd = fd;
    c->poll.data = c;
    c->attend.run = attend;
    c->asker.item = on_item;
    c->asker.reply = on_reply;
    c->asker.error = on_error;
    c->asker.full = on_full;
    mortise_buf_init(&c->in, s->m->mem);
    mortise_buf_init(&c->out, s->m->mem);
    c->uid = uid;
    c->asker.member = is_member(uid);
    mortise_owner_name(uid, c->actor);
    link_last(s, c);
    s->n++;
    was_active(c);
    attend_soon(c);
    return MORTISE_OK;
}

void mortise_conns_close(struct mortise_conns *s, const struct mortise_err *why)
{
    struct mortise_conn *c;

    while ((c = s->first) != NULL) {
        if (c->asker.request != NULL)
            put_error(c, why);
        send_some(c);
        conn_close(c);
    }
    mortise_timer_disarm(&s->m->timers, &s->tick);
    assert(s->n == 0 && s->held == 0 && s->starved == 0);
}
