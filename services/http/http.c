/* http.c -- HTTP requests on the loop.
 *
 * A request is validated, copied and sent over libcurl (curl_loop.c), one hop
 * after another (http_hop.c).  The answer (http_reply.c) is delivered to the
 * owner.
 *
 *   (1) The owner's callbacks are never called from inside curl, start() or
 *       cancel().  Changes are queued, and deliver_changes() reports them
 *       afterwards.
 *   (2) Time is bounded: connecting (by curl), idle time, and the total over
 *       all tries (http_retry.c). */
#include "services/http/http.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/clock.h"
#include "services/http/http_call.h"
#include "core/base/table.h"

enum { NS_PER_MS = 1000000 };

/* ---- calls -------------------------------------------------------------- */

static void remove_changed_call(struct mortise_http_call *c)
{
    struct mortise_http_call **at = &c->h->changed;

    if (!c->is_changed)
        return;
    while (*at != c)
        at = &(*at)->next_changed;
    *at = c->next_changed;
}

static void free_http_call(struct mortise_http_call *c)
{
    struct mortise_http *h = c->h;

    mortise_http_hop_remove(c);
    remove_changed_call(c);
    if (c->at != NULL)
        h->curl.curl->url_cleanup(c->at);
    mortise_timer_disarm(h->curl.timers, &c->clock);
    mortise_http_reply_finish(&c->reply);
    mortise_arena_finish(&c->arena);
    h->n_calls--;
    mortise_release(h->mem, c, sizeof *c);
}

/* ---- callbacks of the owner --------------------------------------------- */

void mortise_http_mark_changed(struct mortise_http_call *c)
{
    struct mortise_http *h = c->h;

    if (!c->is_changed) {
        c->is_changed = true;
        c->next_changed = h->changed;
        h->changed = c;
    }
    if (!h->soon.armed)
        mortise_timer_arm(h->curl.timers, &h->soon, 0);
}

/* Mask the whole message before it is truncated: masking does not find half of
 * a secret. */
static void set_error_message(struct mortise_http_call *c, const char *fmt,
                              va_list ap) MORTISE_PRINTF(2, 0);

static void set_error_message(struct mortise_http_call *c, const char *fmt,
                              va_list ap)
{
    struct mortise_buf all, shown;

    mortise_buf_init(&all, c->h->mem);
    mortise_buf_init(&shown, c->h->mem);
    mortise_buf_vprintf(&all, fmt, ap);
    if (mortise_buf_cstr(&all) != NULL)
        mortise_mask_text(c->reply.mask, all.p, all.n, &shown);
    snprintf(c->words, sizeof c->words, "%s",
             !all.failed && mortise_buf_cstr(&shown) != NULL ? shown.p
                                                             : "out of memory");
    mortise_buf_finish(&all);
    mortise_buf_finish(&shown);
}

void mortise_http_end(struct mortise_http_call *c,
                      enum mortise_http_outcome outcome, const char *fmt, ...)
{
    va_list ap;

    if (c->ended)
        return;
    c->ended = true;
    c->outcome = outcome;
    va_start(ap, fmt);
    set_error_message(c, fmt, ap);
    va_end(ap);
    mortise_http_mark_changed(c);
}

/* `room` has space for all headers. */
static void fill_answer(const struct mortise_http_call *c,
                        struct mortise_http_answer *a, char *url,
                        struct mortise_http_header *room)
{
    *a = (struct mortise_http_answer){
        .outcome = c->ended ? c->outcome : MORTISE_HTTP_ANSWERED,
        .words = c->ended ? c->words : "",
        .url = url != NULL ? url : c->r.url};
    a->left = c->earlier_try_had_left || mortise_http_hop_has_left(c);
    a->acted = c->acted;
    mortise_http_reply_copy_to(&c->reply, a, room);
    a->retry_after = mortise_http_reply_get_retry_after(
        &c->reply, c->h->curl.curl, &a->retry_after_ms);
}

/* Call head() or done(). */
static void call_owner(struct mortise_http_call *c,
                       void (*fn)(void *ud,
                                  const struct mortise_http_answer *a))
{
    const struct mortise_http *h = c->h;
    size_t size = (c->reply.n_headers + 1) * sizeof(struct mortise_http_header);
    struct mortise_http_header *room = mortise_alloc(h->mem, size);
    struct mortise_http_answer a = {.outcome = MORTISE_HTTP_NOMEM,
                                    .words = "out of memory",
                                    .url = c->r.url,
                                    .left = c->earlier_try_had_left ||
                                            mortise_http_hop_has_left(c),
                                    .acted = c->acted,
                                    .body = ""};
    char *url = NULL;

    if (c->at != NULL)
        h->curl.curl->url_get(c->at, CURLUPART_URL, &url, 0);
    if (room != NULL)
        fill_answer(c, &a, url, room);
    fn(c->r.ud, &a);
    if (url != NULL)
        h->curl.curl->free(url);
    mortise_release(h->mem, room, size);
}

/* Schedule the next try; false: there will not be one. */
static bool schedule_retry(struct mortise_http_call *c)
{
    uint64_t wait_ms;

    if (!mortise_http_must_retry(c, &wait_ms))
        return false;
    mortise_http_hop_remove(c);
    c->between_tries = true;
    mortise_timer_disarm(c->h->curl.timers, &c->clock);
    mortise_timer_arm(c->h->curl.timers, &c->clock,
                      mortise_mono_ns() + wait_ms * NS_PER_MS);
    return true;
}

static void deliver_change(struct mortise_http_call *c)
{
    size_t told = c->told;

    if (c->ended && schedule_retry(c))
        return;
    c->in_callback = true;
    if (c->reply.head_there && !c->reply.redirects && !c->head_delivered &&
        c->r.head != NULL) {
        c->head_delivered = true;
        call_owner(c, c->r.head);
    }
    if (!c->cancelled && c->r.piece != NULL && c->reply.body.n > told) {
        c->told = c->reply.body.n;
        c->r.piece(c->r.ud, c->reply.body.p + told, c->reply.body.n - told);
    }
    if (!c->cancelled && c->ended)
        call_owner(c, c->r.done);
    c->in_callback = false;
    if (c->cancelled || c->ended)
        free_http_call(c);
}

/* (1) */
static void deliver_changes(struct mortise_http *h)
{
    struct mortise_http_call *c;

    while ((c = h->changed) != NULL) {
        h->changed = c->next_changed;
        c->is_changed = false;
        deliver_change(c);
    }
}

static void on_deliver_timer(struct mortise_timer *t)
{
    deliver_changes(MORTISE_CONTAINER_OF(t, struct mortise_http, soon));
}

/* ---- time --------------------------------------------------------------- */

static void arm_call_clock(struct mortise_http_call *c)
{
    uint64_t at = c->moved_ns + c->idle_ns;

    if (c->deadline_ns != 0 && c->deadline_ns < at)
        at = c->deadline_ns;
    mortise_timer_arm(c->h->curl.timers, &c->clock, at);
}

static void start_next_try(struct mortise_http_call *c);

/* While nothing is sent, idle time does not count: curl limits the time to
 * connect. */
static void on_call_clock(struct mortise_timer *t)
{
    struct mortise_http_call *c =
        MORTISE_CONTAINER_OF(t, struct mortise_http_call, clock);
    uint64_t now = mortise_mono_ns();

    if (c->between_tries) {
        start_next_try(c);
        return;
    }
    if (c->ended)
        return;
    if (c->sent == 0)
        c->moved_ns = now;
    if (c->deadline_ns != 0 && now >= c->deadline_ns)
        mortise_http_end(c, MORTISE_HTTP_TIMEOUT,
                         "%s: the answer was not complete within %llu ms",
                         c->where, (unsigned long long)c->r.timeout_ms);
    else if (now >= c->moved_ns + c->idle_ns)
        mortise_http_end(c, MORTISE_HTTP_TIMEOUT,
                         "%s: no data was sent or received for %llu ms",
                         c->where, (unsigned long long)c->r.idle_ms);
    else
        arm_call_clock(c);
}

/* ---- open and close ----------------------------------------------------- */

static void on_transfer_done(void *private, CURLcode code)
{
    mortise_http_hop_handle_end(private, code);
}

static void on_curl_turned(struct mortise_curl_loop *l)
{
    deliver_changes(MORTISE_CONTAINER_OF(l, struct mortise_http, curl));
}

static void on_no_socket(void *private)
{
    mortise_http_end(private, MORTISE_HTTP_NOMEM, "cannot wait for a socket");
}

static int read_http_environment(struct mortise_http *h,
                                 struct mortise_err *err)
{
    static const char *const file[] = {"SSL_CERT_FILE", NULL};
    static const char *const dir[] = {"SSL_CERT_DIR", NULL};
    bool failed = false;

    h->ca_file = mortise_environment_copy(&h->arena, file, &failed);
    h->ca_dir = mortise_environment_copy(&h->arena, dir, &failed);
    return failed ? mortise_nomem(err)
                  : mortise_proxies_read(&h->proxies, &h->arena, err);
}

int mortise_http_open(struct mortise_http **out, const struct mortise_mem *mem,
                      uv_loop_t *loop, struct mortise_timers *timers,
                      struct mortise_err *err)
{
    struct mortise_http *h = mortise_zalloc(mem, sizeof *h);

    *out = h;
    if (h == NULL)
        return mortise_nomem(err);
    h->mem = mem;
    h->curl = (struct mortise_curl_loop){.mem = mem,
                                         .loop = loop,
                                         .timers = timers,
                                         .done = on_transfer_done,
                                         .turned = on_curl_turned,
                                         .no_socket = on_no_socket};
    h->soon.fire = on_deliver_timer;
    mortise_arena_init(&h->arena, mem);
    return read_http_environment(h, err);
}

void mortise_http_close(struct mortise_http *h)
{
    if (h == NULL)
        return;
    assert(h->n_calls == 0); /* the owners have cancelled them */
    mortise_curl_loop_close(&h->curl);
    mortise_timer_disarm(h->curl.timers, &h->soon);
    mortise_arena_finish(&h->arena);
    mortise_release(h->mem, h, sizeof *h);
}

/* ---- start and cancel --------------------------------------------------- */

static bool is_http_token(const char *s)
{
    return s[0] != '\0' &&
           s[strspn(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

/* Headers about the transport, which the client sets itself. */
static bool is_reserved_header(const char *name)
{
    static const char *const names[] = {
        "host",   "content-length", "transfer-encoding", "connection",
        "expect", "keep-alive",     "accept-encoding",   "proxy-authorization",
        "te",     "upgrade",        "trailer",           "proxy-connection"};

    return mortise_http_is_in_list(name, names, sizeof names / sizeof names[0]);
}

/* False: the call ended. */
static bool validate_request(struct mortise_http_call *c)
{
    const struct mortise_http_request *r = &c->r;

    if (!is_http_token(r->method) || strlen(r->method) > 16 ||
        strcasecmp(r->method, "CONNECT") == 0 ||
        strcasecmp(r->method, "TRACE") == 0)
        mortise_http_end(c, MORTISE_HTTP_INVALID, "invalid method '%s'",
                         r->method);
    else if (r->body != NULL && strcmp(r->method, "HEAD") == 0)
        mortise_http_end(c, MORTISE_HTTP_INVALID,
                         "a HEAD request cannot have a body");
    for (size_t i = 0; i < r->n_headers && !c->ended; i++) {
        const struct mortise_http_header *x = &r->headers[i];

        if (!is_http_token(x->name))
            mortise_http_end(c, MORTISE_HTTP_INVALID,
                             "invalid header name '%s'", x->name);
        else if (is_reserved_header(x->name))
            mortise_http_end(c, MORTISE_HTTP_INVALID,
                             "requests cannot set the header '%s'", x->name);
        else if (strpbrk(x->value, "\r\n") != NULL)
            mortise_http_end(c, MORTISE_HTTP_INVALID,
                             "the value of the header '%s' contains a line end",
                             x->name);
    }
    return !c->ended;
}

static bool copy_headers(struct mortise_http_call *c)
{
    size_t n = c->r.n_headers;
    struct mortise_http_header *list =
        mortise_arena_alloc(&c->arena, (n + 1) * sizeof *list);

    for (size_t i = 0; list != NULL && i < n; i++) {
        list[i].name = mortise_arena_strdup(&c->arena, c->r.headers[i].name);
        list[i].value = mortise_arena_strdup(&c->arena, c->r.headers[i].value);
        if (list[i].name == NULL || list[i].value == NULL)
            return false;
    }
    c->r.headers = list;
    return list != NULL;
}

static bool copy_egress(struct mortise_http_call *c)
{
    size_t size = c->r.egress->n * sizeof c->egress.list[0];
    void *list = mortise_arena_alloc(&c->arena, size + 1);

    if (list == NULL)
        return false;
    if (size > 0)
        memcpy(list, c->r.egress->list, size);
    c->egress = (struct mortise_egress){list, c->r.egress->n};
    c->r.egress = &c->egress;
    return true;
}

/* Copy all that the request borrows. */
static bool copy_request(struct mortise_http_call *c)
{
    struct mortise_http_request *r = &c->r;

    r->method = mortise_arena_strdup(&c->arena, r->method);
    r->url = mortise_arena_strdup(&c->arena, r->url);
    if (r->body != NULL)
        r->body = mortise_arena_strndup(&c->arena, r->body, r->n_body);
    c->method = r->method;
    return r->method != NULL && r->url != NULL &&
           (c->with_body ? r->body != NULL : true) && copy_headers(c) &&
           copy_egress(c);
}

static void set_reply_limits(struct mortise_http_call *c)
{
    c->reply.body_max = c->r.body_max;
    c->reply.follow = c->r.redirects > 0;
}

static void set_request_limits(struct mortise_http_call *c)
{
    struct mortise_http_request *r = &c->r;

    if (r->connect_ms == 0)
        r->connect_ms = MORTISE_HTTP_CONNECT_MS;
    if (r->idle_ms == 0)
        r->idle_ms = MORTISE_HTTP_IDLE_MS;
    if (r->body_max == 0 || r->body_max > MORTISE_HTTP_BODY_MAX)
        r->body_max = MORTISE_HTTP_BODY_MAX;
    set_reply_limits(c);
    c->moved_ns = mortise_mono_ns();
    c->idle_ns = r->idle_ms * NS_PER_MS;
    if (r->timeout_ms != 0)
        c->deadline_ns = c->moved_ns + r->timeout_ms * NS_PER_MS;
}

static void start_tries(struct mortise_http_call *c)
{
    struct mortise_err err;
    int rv = mortise_curl_loop_start(&c->h->curl, &err);

    if (rv != MORTISE_OK) {
        mortise_http_end(c,
                         rv == MORTISE_ENOMEM || rv == MORTISE_ELIMIT
                             ? MORTISE_HTTP_NOMEM
                             : MORTISE_HTTP_UNAVAILABLE,
                         "%s", err.msg);
        return;
    }
    if (!validate_request(c))
        return;
    c->at = c->h->curl.curl->url();
    if (c->at == NULL)
        mortise_http_end(c, MORTISE_HTTP_NOMEM, "out of memory");
    else if (c->h->curl.curl->url_set(c->at, CURLUPART_URL, c->r.url, 0) !=
             CURLUE_OK)
        mortise_http_end(c, MORTISE_HTTP_INVALID, "invalid URL '%s'", c->r.url);
    else if (mortise_http_hop_check(c))
        mortise_http_hop_start(c);
}

/* Start over: reset all state of the previous try. */
static void start_next_try(struct mortise_http_call *c)
{
    struct mortise_mask *mask = mortise_mask_ref(c->reply.mask);

    assert(c->ended && c->easy == NULL && !c->is_changed);
    c->earlier_try_had_left = mortise_http_has_left(c);
    c->tries++;
    c->between_tries = c->ended = c->strange = c->acted = false;
    c->hops = c->sent = 0;
    c->method = c->r.method;
    c->with_body = c->r.body != NULL;
    if (c->at != NULL)
        c->h->curl.curl->url_cleanup(c->at);
    c->at = NULL;
    mortise_http_reply_finish(&c->reply);
    mortise_http_reply_init(&c->reply, mask, c->h->mem);
    mortise_mask_unref(mask);
    set_reply_limits(c);
    c->moved_ns = mortise_mono_ns();
    start_tries(c);
    if (!c->ended)
        arm_call_clock(c);
}

struct mortise_http_call *
mortise_http_start(struct mortise_http *h,
                   const struct mortise_http_request *request)
{
    struct mortise_http_call *c = mortise_zalloc(h->mem, sizeof *c);

    if (c == NULL)
        return NULL;
    assert(request->retries == 0 ||
           (request->head == NULL && request->piece == NULL));
    h->n_calls++;
    c->h = h;
    c->r = *request;
    c->with_body = request->body != NULL;
    c->clock.fire = on_call_clock;
    mortise_arena_init(&c->arena, h->mem);
    mortise_http_reply_init(&c->reply, request->mask, h->mem);
    if (!copy_request(c)) {
        free_http_call(c);
        return NULL;
    }
    set_request_limits(c);
    start_tries(c);
    if (!c->ended)
        arm_call_clock(c);
    return c;
}

bool mortise_http_has_left(const struct mortise_http_call *c)
{
    return c->earlier_try_had_left || mortise_http_hop_has_left(c) || c->acted;
}

void mortise_http_cancel(struct mortise_http_call *c)
{
    if (c->in_callback)
        c->cancelled = true; /* deliver_change() frees it */
    else
        free_http_call(c);
}
