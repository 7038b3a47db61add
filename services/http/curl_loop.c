/* curl_loop.c -- libcurl's multi interface, driven by libuv.
 *
 * curl reports the sockets that it polls and the time of its next timeout; the
 * loop calls curl when a socket is ready or the time has come.
 *
 *   (1) The owner's callbacks run only after curl has returned, since curl must
 *       not be called from inside curl.  Exception: `no_socket`.
 *   (2) curl's resolver threads must not receive the signals of the host
 *       program.  They inherit the signal mask under which curl is called, so
 *       curl is called with all signals blocked.  A SIGPIPE that TLS raises
 *       meanwhile is handled in thread_state.c.
 *   (3) Connections are limited to about half of the process's descriptors;
 *       further transfers wait inside curl.  Connecting briefly needs two
 *       descriptors (two addresses in parallel, or a resolver), and the engine
 *       needs some, too. */
#include "services/http/curl_loop.h"

#include <limits.h>
#include <sys/resource.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/base/table.h"

enum {
    CONNECTIONS = 64, /* idle connections kept for reuse, at most */
    RESERVE = 32,     /* descriptors left to the engine (3) */
    NS_PER_MS = 1000000
};

struct sock { /* a socket that curl polls */
    uv_poll_t poll;
    struct mortise_curl_loop *l;
    const struct mortise_mem *mem; /* l may be freed before the handle closes */
    curl_socket_t fd;
};

/* ---- calling curl ------------------------------------------------------- */

/* (1) */
static void report_done_transfers(struct mortise_curl_loop *l)
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

static void run_curl(struct mortise_curl_loop *l, curl_socket_t fd,
                     int curl_event)
{
    sigset_t before;
    int running;

    mortise_signals_block(&before); /* (2) */
    l->curl->multi_socket_action(l->multi, fd, curl_event, &running);
    mortise_signals_restore(&before);
    report_done_transfers(l);
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

/* ---- sockets and timers ------------------------------------------------- */

static void on_curl_alarm(struct mortise_timer *t)
{
    run_curl(MORTISE_CONTAINER_OF(t, struct mortise_curl_loop, alarm),
             CURL_SOCKET_TIMEOUT, 0);
}

static int set_curl_alarm(CURLM *multi, long ms, void *ud)
{
    struct mortise_curl_loop *l = ud;

    (void)multi;
    mortise_timer_disarm(l->timers, &l->alarm);
    if (ms >= 0)
        mortise_timer_arm(l->timers, &l->alarm,
                          mortise_mono_ns() + (uint64_t)ms * NS_PER_MS);
    return 0;
}

static void on_socket_ready(uv_poll_t *poll, int status, int events)
{
    const struct sock *s = MORTISE_CONTAINER_OF(poll, struct sock, poll);
    int curl_event = status < 0 ? CURL_CSELECT_ERR : 0;

    if (events & UV_READABLE)
        curl_event |= CURL_CSELECT_IN;
    if (events & UV_WRITABLE)
        curl_event |= CURL_CSELECT_OUT;
    run_curl(s->l, s->fd, curl_event);
}

static void free_curl_socket(uv_handle_t *handle)
{
    struct sock *s =
        MORTISE_CONTAINER_OF((uv_poll_t *)handle, struct sock, poll);

    mortise_release(s->mem, s, sizeof *s);
}

static struct sock *add_curl_socket(struct mortise_curl_loop *l,
                                    curl_socket_t fd)
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

static void remove_curl_socket(struct mortise_curl_loop *l, struct sock *s)
{
    if (s == NULL)
        return;
    uv_poll_stop(&s->poll);
    uv_close((uv_handle_t *)&s->poll, free_curl_socket);
    l->curl->multi_assign(l->multi, s->fd, NULL);
}

/* CURLMOPT_SOCKETFUNCTION: curl changes the events that it waits for.  If
 * polling fails, only this transfer fails; returning an error to curl would
 * abort all of them. */
static int set_curl_socket(CURL *easy, curl_socket_t fd, int curl_event,
                           void *ud, void *socket_ud)
{
    struct mortise_curl_loop *l = ud;
    struct sock *s = socket_ud;
    void *private = NULL;
    int events = 0;

    if (curl_event == CURL_POLL_REMOVE) {
        remove_curl_socket(l, s);
        return 0;
    }
    if (s == NULL)
        s = add_curl_socket(l, fd);
    if (curl_event & CURL_POLL_IN)
        events |= UV_READABLE;
    if (curl_event & CURL_POLL_OUT)
        events |= UV_WRITABLE;
    if (s != NULL && uv_poll_start(&s->poll, events, on_socket_ready) == 0)
        return 0;
    l->curl->easy_getinfo(easy, CURLINFO_PRIVATE, &private);
    if (private != NULL)
        l->no_socket(private);
    return 0;
}

/* ---- start and close ---------------------------------------------------- */

/* (3) */
static long get_connection_limit(void)
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
    l->alarm.fire = on_curl_alarm;
    most = get_connection_limit();
    l->curl->multi_setopt(l->multi, CURLMOPT_SOCKETFUNCTION, set_curl_socket);
    l->curl->multi_setopt(l->multi, CURLMOPT_SOCKETDATA, (void *)l);
    l->curl->multi_setopt(l->multi, CURLMOPT_TIMERFUNCTION, set_curl_alarm);
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
