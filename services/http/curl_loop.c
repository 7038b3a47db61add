/* curl_loop.c -- libcurl's multi interface, driven by libuv.
 *
 * curl says which sockets it waits for and when it wants to be called, the loop
 * calls it.
 *
 *   (1) Callbacks of the owner's do not come from inside of curl, which must
 * not be called from there: what ended is told when curl is off the stack.
 *       (`no_socket` is the exception, and says so.)
 *   (2) curl's resolver has threads, and none of them takes a signal of the
 *       program that we are part of: they are made under the mask under which
 *       curl is called.  A SIGPIPE of TLS meanwhile is one of the engine's own,
 *       which thread_state.c takes.
 *   (3) Transfers wait in curl for a connection when there are as many as half of
 *       the process's descriptors may serve: connecting takes two for a moment
 *       (two addresses at once, a resolver), and the engine needs some, too.
 */
#include "services/http/curl_loop.h"

#include <limits.h>
#include <sys/resource.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/base/table.h"

enum {
    CONNECTIONS = 64, /* kept for use again, at most */
    RESERVE = 32,     /* descriptors of the engine's (3) */
    NS_PER_MS = 1000000
};

struct sock { /* a socket of curl's */
    uv_poll_t poll;
    struct mortise_curl_loop *l;
    const struct mortise_mem *mem; /* l may be gone when it is closed */
    curl_socket_t fd;
};

/* ---- calling curl ------------------------------------------------------- */

/* (1) */
static void take_messages(struct mortise_curl_loop *l)
{
    CURLMsg *msg;
    int left;

    while ((msg = l->curl->multi_info_read(l->multi, &left)) != NULL) {
        void *private = NULL;
        CURLcode code = msg->data.result;

        if (msg->msg != CURLMSG_DONE)
            continue;
        l->curl->easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &private);
        l->done(private, code);
    }
}

static void act(struct mortise_curl_loop *l, curl_socket_t fd, int what)
{
    sigset_t before;
    int running;

    mortise_signals_block(&before); /* (2) */
    l->curl->multi_socket_action(l->multi, fd, what, &running);
    mortise_signals_restore(&before);
    take_messages(l);
    l->turned(l);
}

bool mortise_curl_loop_add(struct mortise_curl_loop *l, CURL *easy)
{
    sigset_t before;
    CURLMcode code;

    mortise_signals_block(&before);
    code = l->curl->multi_add_handle(l->multi, easy);
    mortise_signals_restore(&before);
    return code == CURLM_OK;
}

void mortise_curl_loop_remove(struct mortise_curl_loop *l, CURL *easy)
{
    l->curl->multi_remove_handle(l->multi, easy);
    l->curl->easy_cleanup(easy);
}

/* ---- what it waits for -------------------------------------------------- */

static void on_alarm(struct mortise_timer *t)
{
    act(MORTISE_OF(t, struct mortise_curl_loop, alarm), CURL_SOCKET_TIMEOUT, 0);
}

static int set_alarm(CURLM *multi, long ms, void *ud)
{
    struct mortise_curl_loop *l = ud;

    (void)multi;
    mortise_timer_disarm(l->timers, &l->alarm);
    if (ms >= 0)
        mortise_timer_arm(l->timers, &l->alarm,
                          mortise_mono_ns() + (uint64_t)ms * NS_PER_MS);
    return 0;
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    const struct sock *s = MORTISE_OF(poll, struct sock, poll);
    int what = status < 0 ? CURL_CSELECT_ERR : 0;

    if (events & UV_READABLE)
        what |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        what |= CURL_CSELECT_OUT;
    act(s->l, s->fd, what);
}

static void sock_closed(uv_handle_t *handle)
{
    struct sock *s = MORTISE_OF((uv_poll_t *)handle, struct sock, poll);

    mortise_release(s->mem, s, sizeof *s);
}

static struct sock *sock_new(struct mortise_curl_loop *l, curl_socket_t fd)
{
    struct sock *s = mortise_zalloc(l->mem, sizeof *s);

    if (s == NULL)
        return NULL;
    s->l = l;
    s->mem = l->mem;
    s->fd = fd;
    if (uv_poll_init(l->loop, &s->poll, fd) != 0) {
        mortise_release(l->mem, s, sizeof *s);
        return NULL;
    }
    l->curl->multi_assign(l->multi, fd, s);
    return s;
}

static void drop_socket(struct mortise_curl_loop *l, struct sock *s)
{
    if (s == NULL)
        return;
    uv_poll_stop(&s->poll);
    uv_close((uv_handle_t *)&s->poll, sock_closed);
    l->curl->multi_assign(l->multi, s->fd, NULL);
}

/* curl waits for another thing at a socket.  If we cannot, the transfer is
 * over: to say so to curl would be the end of all of them. */
static int set_socket(CURL *easy, curl_socket_t fd, int what, void *ud,
                      void *socket_ud)
{
    struct mortise_curl_loop *l = ud;
    struct sock *s = socket_ud;
    void *private = NULL;
    int events = 0;

    if (what == CURL_POLL_REMOVE) {
        drop_socket(l, s);
        return 0;
    }
    if (s == NULL)
        s = sock_new(l, fd);
    if (what & CURL_POLL_IN)
        events |= UV_READABLE;
    if (what & CURL_POLL_OUT)
        events |= UV_WRITABLE;
    if (s != NULL && uv_poll_start(&s->poll, events, on_ready) == 0)
        return 0;
    l->curl->easy_getinfo(easy, CURLINFO_PRIVATE, &private);
    if (private != NULL)
        l->no_socket(private);
    return 0;
}

/* ---- start and close ---------------------------------------------------- */

/* (3) */
static long most_connections(void)
{
    struct rlimit r;
    rlim_t most;

    if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur == RLIM_INFINITY ||
        r.rlim_cur > INT_MAX)
        return INT_MAX;
    most = r.rlim_cur > RESERVE ? (r.rlim_cur - RESERVE) / 2 : 0;
    return most > 0 ? (long)most : 1;
}

int mortise_curl_loop_start(struct mortise_curl_loop *l,
                            struct mortise_err *err)
{
    long most;
    int rv;

    if (l->multi != NULL)
        return MORTISE_OK;
    rv = mortise_curl_get(&l->curl, err);
    if (rv != MORTISE_OK)
        return rv;
    l->multi = l->curl->multi_init();
    if (l->multi == NULL)
        return mortise_nomem(err);
    l->alarm.fire = on_alarm;
    most = most_connections();
    l->curl->multi_setopt(l->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
    l->curl->multi_setopt(l->multi, CURLMOPT_SOCKETDATA, (void *)l);
    l->curl->multi_setopt(l->multi, CURLMOPT_TIMERFUNCTION, set_alarm);
    l->curl->multi_setopt(l->multi, CURLMOPT_TIMERDATA, (void *)l);
    l->curl->multi_setopt(l->multi, CURLMOPT_MAXCONNECTS,
                          most < CONNECTIONS ? most : (long)CONNECTIONS);
    l->curl->multi_setopt(l->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, most);
    return MORTISE_OK;
}

void mortise_curl_loop_close(struct mortise_curl_loop *l)
{
    if (l->multi == NULL)
        return;
    l->curl->multi_cleanup(l->multi);
    mortise_timer_disarm(l->timers, &l->alarm);
    l->multi = NULL;
}
