/* conn.c -- connections to the control socket and their resource limits.
 *
 * A client may be broken: it sends requests and never reads, it sends half a
 * request and stops, or it is one of a hundred forgotten shells.
 *
 *   (1) A connection serves one request at a time, in order.  After each
 *       request the other connections have their turn.
 *   (2) Memory is bounded, both for requests not yet served and for answers
 *       not yet read.  The server stops reading and serving a connection that
 *       reaches READ_AHEAD or ANSWERS, and continues when there is room.
 *       Large requests share HELD_MAX.  Beyond it only the largest incomplete
 *       request is read.  That request is rejected if nothing of it arrives
 *       for STALL_MS while others wait.
 *   (3) Runs never wait for a follower.  A follower with QUEUE_MAX unread
 *       bytes gets stored events later, when it reads, and a count of the live
 *       events that it missed.
 *   (4) When all slots are taken, the connection that was idle for longest is
 *       closed.  A busy connection is never closed for others.  One member of
 *       the store's group (store.access) has at most MEMBER_PLACES slots, and
 *       all members have MEMBERS_PLACES, so the owner and root always find a
 *       slot.
 *   (5) A client that sent hello and waits for an answer receives
 *       {"alive": true} every BEAT_MS.
 *   (6) Work that a connection started continues after the connection closes.
 *   (7) A client that closes its sending side still receives all answers that
 *       it asked for; then the server closes the connection.
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
    MEMBER_PLACES = 64,    /* for one user who is neither the owner nor root */
    MEMBERS_PLACES = 192,  /* for all such users */
    READ_AHEAD = 64 << 10, /* bytes read beyond the request in progress */
    HELD_MAX = 64 << 20,   /* of all connections: the sum of `in` */
    ANSWERS = 64 << 10,    /* unread bytes after which no request is served */
    QUEUE_MAX = 1 << 20,   /* unread: then a follower gets no events */
    BEAT_MS = 5000,
    STALL_MS = 10000,
    CHUNK = 64 << 10
};

static const char alive[] = "{\"alive\":true}\n";

struct mortise_conn {
    struct mortise_conn *next, *prev;
    struct mortise *m;
    struct mortise_conns *all; /* invalid once `closed` */
    unsigned holds;            /* by libuv's handle, and while queued */
    int fd;
    uid_t uid;
    uv_poll_t poll;
    int polled; /* events that the poll waits for */
    struct mortise_asker asker;
    struct mortise_task attend;
    uint64_t active_ns; /* when the last byte was received or sent */
    bool queued;        /* `attend` is queued */
    bool eof;           /* the client sends no more */
    bool closing;       /* close once `out` is sent */
    bool closed;        /* waits for libuv to release the handle */
    bool starved;       /* not read, because HELD_MAX is reached */
    struct mortise_buf in, out;
    size_t scanned;  /* bytes of `in` already searched for a line end */
    size_t line_end; /* one past the first line end of `in`; 0: none yet */
    size_t sent;     /* bytes of `out` already sent */
    char actor[64];
};

/* ---- the list, ordered by activity --------------------------------------- */

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

static void mark_conn_active(struct mortise_conn *c)
{
    c->active_ns = mortise_mono_ns();
    unlink_conn(c->all, c);
    link_last(c->all, c);
}

static bool is_conn_stalled(const struct mortise_conn *c, uint64_t now)
{
    return now - c->active_ns >= (uint64_t)STALL_MS * 1000000;
}

/* ---- memory -------------------------------------------------------------- */

static void queue_attend(struct mortise_conn *c)
{
    if (c->queued)
        return;
    c->queued = true;
    c->holds++;
    mortise_task_make_ready(c->m, &c->attend);
}

/* There is room again: let every starved connection check its limits. */
static void wake_starved(struct mortise_conns *s)
{
    for (struct mortise_conn *c = s->first; c != NULL && s->starved > 0;
         c = c->next)
        if (c->starved)
            queue_attend(c);
}

static void set_conn_starved(struct mortise_conn *c, bool starved)
{
    if (c->starved == starved)
        return;
    c->starved = starved;
    c->all->starved += starved ? 1 : -1u;
}

/* Do not keep a large buffer that is empty. */
static void shrink_empty_buffer(struct mortise_buf *b,
                                const struct mortise_mem *mem)
{
    if (b->n > 0 || b->cap <= READ_AHEAD)
        return;
    mortise_buf_finish(b);
    mortise_buf_init(b, mem);
}

/* Is this the largest of all incomplete requests? */
static bool is_largest_incomplete(const struct mortise_conn *c)
{
    for (const struct mortise_conn *o = c->all->first; o != NULL; o = o->next)
        if (o != c && o->line_end == 0 && o->in.n > c->in.n)
            return false;
    return true;
}

/* May more of this connection's input be read?  (2) */
static bool can_read_more(struct mortise_conn *c)
{
    bool room;

    if (c->eof || c->closing) {
        set_conn_starved(c, false);
        return false;
    }
    if (c->in.n < READ_AHEAD || c->line_end != 0)
        return c->in.n < READ_AHEAD;
    room = c->all->held < HELD_MAX || is_largest_incomplete(c);
    set_conn_starved(c, !room);
    return room && c->in.n <= MORTISE_REQUEST_MAX;
}

/* ---- closing a connection ----------------------------------------------- */

static void release_conn(struct mortise_conn *c)
{
    if (--c->holds == 0)
        mortise_release(c->m->mem, c, sizeof *c);
}

static void on_poll_closed(uv_handle_t *h)
{
    release_conn(h->data);
}

static void conn_close(struct mortise_conn *c)
{
    struct mortise_conns *s = c->all;

    if (c->closed)
        return;
    c->closed = true;
    mortise_requests_detach(&c->asker);
    set_conn_starved(c, false);
    unlink_conn(s, c);
    s->n--;
    s->held -= c->in.n;
    mortise_buf_finish(&c->in);
    mortise_buf_finish(&c->out);
    uv_close((uv_handle_t *)&c->poll, on_poll_closed);
    close(c->fd);
    wake_starved(s);
}

/* ---- answering ---------------------------------------------------------- */

/* Append {"NAME": value} and a line end. */
static void append_answer_line(struct mortise_conn *c, const char *name,
                               json_t *value)
{
    size_t before = c->out.n;

    mortise_buf_printf(&c->out, "{\"%s\":", name);
    if (mortise_json_write(&c->out, value) != MORTISE_OK)
        c->out.failed = true;
    mortise_buf_puts(&c->out, "}\n");
    if (c->out.failed) { /* or the client would miss this line unnoticed */
        c->out.failed = false;
        c->out.n = before;
        c->closing = true;
    }
    queue_attend(c);
}

static void append_error_line(struct mortise_conn *c,
                              const struct mortise_err *err)
{
    json_t *e = json_pack("{s:s, s:o}", "code", mortise_result_name(err->code),
                          "message",
                          mortise_json_make_string(err->msg, strlen(err->msg)));

    if (e != NULL)
        append_answer_line(c, "error", e);
    else
        c->closing = true;
    json_decref(e);
    queue_attend(c);
}

/* Append a final error and discard the input: the client may never read this,
 * and other connections need the memory. */
static void append_final_error(struct mortise_conn *c, int code,
                               const char *words)
{
    struct mortise_err err;

    mortise_fail(&err, code, "%s", words);
    mortise_requests_detach(&c->asker);
    append_error_line(c, &err);
    c->closing = true;
    c->all->held -= c->in.n;
    c->in.n = c->scanned = c->line_end = 0;
    shrink_empty_buffer(&c->in, c->m->mem);
    wake_starved(c->all);
}

static size_t count_unsent_bytes(const struct mortise_conn *c)
{
    return c->out.n - c->sent;
}

/* Discard sent bytes: when all is sent, and at intervals of QUEUE_MAX. */
static void discard_sent_bytes(struct mortise_conn *c)
{
    if (count_unsent_bytes(c) > 0 && c->sent < QUEUE_MAX)
        return;
    c->out.n -= c->sent;
    memmove(c->out.p, c->out.p + c->sent, c->out.n);
    c->sent = 0;
    shrink_empty_buffer(&c->out, c->m->mem);
}

/* Returns false if the client is gone. */
static bool send_pending_bytes(struct mortise_conn *c)
{
    while (count_unsent_bytes(c) > 0) {
        ssize_t n = send(c->fd, c->out.p + c->sent, count_unsent_bytes(c),
                         MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
            return false;
        if (n < 0)
            break;
        c->sent += (size_t)n;
        mark_conn_active(c);
    }
    if (c->sent > 0)
        discard_sent_bytes(c);
    return true;
}

static int on_answer_item(struct mortise_asker *a, json_t *item)
{
    struct mortise_conn *c =
        MORTISE_CONTAINER_OF(a, struct mortise_conn, asker);

    append_answer_line(c, "item", item);
    return c->closing;
}

static bool is_follower_full(struct mortise_asker *a)
{
    return count_unsent_bytes(MORTISE_CONTAINER_OF(a, struct mortise_conn,
                                                   asker)) >= QUEUE_MAX;
}

static void on_reply(struct mortise_asker *a, json_t *reply)
{
    append_answer_line(MORTISE_CONTAINER_OF(a, struct mortise_conn, asker),
                       "reply", reply);
}

static void on_error(struct mortise_asker *a, const struct mortise_err *err)
{
    append_error_line(MORTISE_CONTAINER_OF(a, struct mortise_conn, asker), err);
}

/* ---- asking ------------------------------------------------------------- */

static void schedule_tick(struct mortise_conns *s)
{
    if (!s->tick.armed)
        mortise_timer_arm(&s->m->timers, &s->tick,
                          mortise_mono_ns_after(BEAT_MS));
}

static void serve_request_line(struct mortise_conn *c, const char *line,
                               size_t n)
{
    struct mortise_err err;
    json_t *request;
    int rv = mortise_json_parse(&request, line, n, &err);

    if (rv != MORTISE_OK) {
        mortise_err_prefix(&err, rv,
                           "a request must be one JSON object on one line");
        append_error_line(c, &err);
        return;
    }
    mortise_requests_serve(c->m, request, c->actor, &c->asker);
    json_decref(request);
    if (c->asker.greeted && c->asker.request != NULL)
        schedule_tick(c->all);
}

/* Search the input for the end of its first line. */
static void find_line_end(struct mortise_conn *c)
{
    const char *end;

    if (c->line_end != 0 || c->in.n == c->scanned)
        return;
    end = memchr(c->in.p + c->scanned, '\n', c->in.n - c->scanned);
    c->scanned = c->in.n;
    if (end == NULL)
        return;
    c->line_end = (size_t)(end - c->in.p) + 1;
    wake_starved(c->all); /* another incomplete request is the largest now */
}

/* Is there a complete or oversized line, no request in progress, and room for
 * the answer? */
static bool can_serve_request(const struct mortise_conn *c)
{
    return c->asker.request == NULL && !c->closing &&
           count_unsent_bytes(c) < ANSWERS &&
           (c->line_end != 0 || c->in.n > MORTISE_REQUEST_MAX);
}

/* Serve the next request, or reject it as too long. */
static void serve_next_request(struct mortise_conn *c)
{
    char words[128];
    size_t n = c->line_end;

    if (!can_serve_request(c))
        return;
    if (n == 0) {
        snprintf(words, sizeof words,
                 "a request exceeds the limit of %d MiB: %zu bytes were read "
                 "without a line end",
                 MORTISE_REQUEST_MAX >> 20, c->in.n);
        append_final_error(c, MORTISE_ELIMIT, words);
        return;
    }
    serve_request_line(c, c->in.p, n - 1);
    c->in.n -= n;
    c->all->held -= n;
    memmove(c->in.p, c->in.p + n, c->in.n);
    shrink_empty_buffer(&c->in, c->m->mem);
    c->scanned = c->line_end = 0;
    find_line_end(c);
    wake_starved(c->all);
    queue_attend(c); /* there may be another request */
}

/* ---- bytes -------------------------------------------------------------- */

/* Has the client closed both directions?  After closing only its sending side,
 * it may still listen. */
static bool is_peer_gone(const struct mortise_conn *c)
{
    struct pollfd p = {.fd = c->fd};

    return poll(&p, 1, 0) > 0 && (p.revents & (POLLHUP | POLLERR)) != 0;
}

/* A follower that sends no more: no input will tell that it left, so
 * is_peer_gone() must check. */
static bool is_half_closed_follow(const struct mortise_conn *c)
{
    return c->eof && mortise_requests_is_watching(&c->asker);
}

/* Is the last request incomplete, and are all earlier ones served? */
static bool is_last_request_cut(const struct mortise_conn *c)
{
    return c->eof && !c->closing && c->asker.request == NULL && c->in.n > 0 &&
           c->line_end == 0;
}

/* Read the available bytes; false if the connection is broken. */
static bool receive_request_bytes(struct mortise_conn *c)
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
    mark_conn_active(c);
    find_line_end(c);
    return true;
}

static void on_events(uv_poll_t *h, int status, int events);

/* Update the polled events; false if there is nothing left to wait for. */
static bool update_poll_events(struct mortise_conn *c)
{
    int want = 0;

    if (can_read_more(c))
        want |= UV_READABLE;
    if (count_unsent_bytes(c) > 0)
        want |= UV_WRITABLE;
    if (c->starved)
        schedule_tick(c->all);
    if (want == 0 && !c->starved && c->asker.request == NULL)
        return false;
    if (want == c->polled)
        return true;
    c->polled = want;
    return want != 0 ? uv_poll_start(&c->poll, want, on_events) == 0
                     : uv_poll_stop(&c->poll) == 0;
}

/* Send output, serve the next request and send its answer; false: close.
 *
 * The client may read in the meantime, so the second send may make the room
 * that the next request waits for.  No socket event would report that room
 * later; therefore can_serve_request() is checked again here. */
static bool advance_conn(struct mortise_conn *c)
{
    if (!send_pending_bytes(c))
        return false;
    serve_next_request(c);
    if (is_last_request_cut(c))
        append_final_error(c, MORTISE_EINVAL,
                           "the last request has no line end");
    if (!send_pending_bytes(c) || (is_half_closed_follow(c) && is_peer_gone(c)))
        return false;
    if (is_half_closed_follow(c))
        schedule_tick(c->all);
    if (can_serve_request(c))
        queue_attend(c);
    return c->queued || update_poll_events(c);
}

static void attend(struct mortise_task *t)
{
    struct mortise_conn *c =
        MORTISE_CONTAINER_OF(t, struct mortise_conn, attend);

    c->queued = false;
    if (!c->closed && !advance_conn(c))
        conn_close(c);
    else if (!c->closed && count_unsent_bytes(c) < QUEUE_MAX / 2)
        mortise_requests_resume(&c->asker);
    release_conn(c);
}

static void on_events(uv_poll_t *h, int status, int events)
{
    struct mortise_conn *c = h->data;

    if (status < 0 ||
        ((events & UV_READABLE) != 0 && !receive_request_bytes(c))) {
        conn_close(c);
        return;
    }
    queue_attend(c);
}

/* ---- from time to time --------------------------------------------------- */

/* The largest incomplete request that makes no progress. */
static struct mortise_conn *find_stalled_conn(const struct mortise_conns *s)
{
    uint64_t now = mortise_mono_ns();
    struct mortise_conn *found = NULL;

    for (struct mortise_conn *c = s->first; c != NULL; c = c->next)
        if (c->in.n >= READ_AHEAD && c->line_end == 0 && !c->starved &&
            is_conn_stalled(c, now) && (found == NULL || c->in.n > found->in.n))
            found = c;
    return found;
}

static void tick(struct mortise_timer *t)
{
    struct mortise_conns *s =
        MORTISE_CONTAINER_OF(t, struct mortise_conns, tick);
    struct mortise_conn *slow = s->starved > 0 ? find_stalled_conn(s) : NULL;
    bool again = s->starved > 0;

    if (slow != NULL)
        append_final_error(
            slow, MORTISE_ELIMIT,
            "a large request made no progress, and other requests wait "
            "for its slot");
    for (struct mortise_conn *c = s->first; c != NULL; c = c->next) {
        if (is_half_closed_follow(c)) {
            again = true;
            if (is_peer_gone(c))
                queue_attend(c);
        }
        if (!c->asker.greeted || c->asker.request == NULL)
            continue;
        again = true;
        if (count_unsent_bytes(c) > 0)
            continue; /* pending output is a sign of life, too */
        mortise_buf_put(&c->out, alive, sizeof alive - 1);
        queue_attend(c);
    }
    if (again)
        schedule_tick(s);
}

/* ---- adding and closing connections -------------------------------------- */

void mortise_conn_reject(int fd, const struct mortise_err *why)
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

/* Does the client wait for nothing, or not read its answers? */
static bool is_conn_idle(const struct mortise_conn *c, uint64_t now)
{
    if (c->asker.request != NULL || c->queued)
        return false;
    return (count_unsent_bytes(c) == 0 && c->line_end == 0) ||
           is_conn_stalled(c, now);
}

/* The quotas of slots: of everybody, of one user, of all group members. */
enum quota { QUOTA_ALL, QUOTA_USER, QUOTA_MEMBERS };

static bool is_group_member(uid_t uid)
{
    return uid != geteuid() && uid != 0;
}

static bool is_under_quota(const struct mortise_conn *c, enum quota quota,
                           uid_t uid)
{
    return quota == QUOTA_ALL ||
           (quota == QUOTA_USER ? c->uid == uid : is_group_member(c->uid));
}

static unsigned count_conns(const struct mortise_conns *s, enum quota quota,
                            uid_t uid)
{
    unsigned n = 0;

    for (const struct mortise_conn *c = s->first; c != NULL; c = c->next)
        n += is_under_quota(c, quota, uid);
    return n;
}

static bool drop_idle_conn(struct mortise_conns *s, enum quota quota, uid_t uid)
{
    uint64_t now = mortise_mono_ns();
    struct mortise_conn *c = s->first;
    struct mortise_err why;

    while (c != NULL &&
           !(is_under_quota(c, quota, uid) && is_conn_idle(c, now)))
        c = c->next;
    if (c == NULL)
        return false;
    mortise_fail(&why, MORTISE_EBUSY,
                 "this connection was idle the longest, and others need its "
                 "slot; connect again");
    append_error_line(c, &why);
    send_pending_bytes(c);
    conn_close(c);
    return true;
}

bool mortise_conns_close_idle(struct mortise_conns *s)
{
    return drop_idle_conn(s, QUOTA_ALL, 0);
}

/* Is there a free slot, or one that can be freed?  (4) */
static int make_room_in_quota(struct mortise_conns *s, enum quota quota,
                              uid_t uid, unsigned most, const char *words,
                              struct mortise_err *err)
{
    if (count_conns(s, quota, uid) < most || drop_idle_conn(s, quota, uid))
        return MORTISE_OK;
    return mortise_fail(
        err, MORTISE_ELIMIT,
        "all %u connections%s to this engine are in use; try again later", most,
        words);
}

static int make_room_for_user(struct mortise_conns *s, uid_t uid,
                              struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (is_group_member(uid))
        rv = make_room_in_quota(s, QUOTA_USER, uid, MEMBER_PLACES, " of yours",
                                err);
    if (rv == MORTISE_OK && is_group_member(uid))
        rv = make_room_in_quota(s, QUOTA_MEMBERS, uid, MEMBERS_PLACES,
                                " of members", err);
    return rv == MORTISE_OK
               ? make_room_in_quota(s, QUOTA_ALL, uid, CONNECTIONS, "", err)
               : rv;
}

int mortise_conns_add(struct mortise_conns *s, int fd, uid_t uid,
                      struct mortise_err *err)
{
    struct mortise_conn *c;
    int rv = make_room_for_user(s, uid, err);

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
    c->asker.item = on_answer_item;
    c->asker.reply = on_reply;
    c->asker.error = on_error;
    c->asker.full = is_follower_full;
    mortise_buf_init(&c->in, s->m->mem);
    mortise_buf_init(&c->out, s->m->mem);
    c->uid = uid;
    c->asker.member = is_group_member(uid);
    mortise_owner_get_name(uid, c->actor);
    link_last(s, c);
    s->n++;
    mark_conn_active(c);
    queue_attend(c);
    return MORTISE_OK;
}

void mortise_conns_close(struct mortise_conns *s, const struct mortise_err *why)
{
    struct mortise_conn *c;

    while ((c = s->first) != NULL) {
        if (c->asker.request != NULL)
            append_error_line(c, why);
        send_pending_bytes(c);
        conn_close(c);
    }
    mortise_timer_disarm(&s->m->timers, &s->tick);
    assert(s->n == 0 && s->held == 0 && s->starved == 0);
}
