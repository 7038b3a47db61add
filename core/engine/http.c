/* http.c -- HTTP requests on the loop.
 *
 * libcurl's multi interface, driven by libuv: curl says which sockets it waits
 * for and when it wants to be called, the loop calls it.
 *
 *   (1) Callbacks of ours never come from inside curl, which must not be called
 *       from there: what curl brings is kept, and delivered when it is off the
 *       stack (deliver()).
 *   (2) Redirects are ours, not curl's: each hop is parsed, judged by the
 *       egress rules and sent as a request of its own.  The handle that was
 *       judged is the very one that curl connects by, so there is no second
 *       reading of the same text.  Every socket's address is judged, too.
 *   (3) Headers that may be credentials, which is all but a few, stay with the
 *       origin that they were given for: a redirect elsewhere loses them for
 *       good.
 *   (4) A request that is not safe is sent once.  curl sends one again when a
 *       kept connection turns out to be dead; whether the server had acted on
 *       it, nobody knows then.
 *   (5) Everything has a bound: headers, body (as it comes out of
 *       decompression), redirects and their pages, connecting, silence.
 *   (6) A SIGPIPE of TLS never reaches the program that we are part of, and
 *       none of its signals a thread of curl's resolver, which has the mask
 *       under which curl made it.
 *   (7) Nobody waits for a resolver: a request that is over leaves its thread
 *       to itself, which ends when the name was found or not.  Otherwise a name
 *       server that is silent would hold up the loop, and all runs with it.
 */
#include "engine/http.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "engine/curl.h"
#include "engine/table.h"

enum {
    WORDS = 512,
    CONNECTIONS = 64, /* kept for use again */
    HEADERS_N = 512,  /* of an answer: nobody has as many, and names are looked
                         for among them */
    PAGE_MAX = 1 << 20, /* of a redirect, which nobody reads */
    DAY_MS = 86400000,
    NS_PER_MS = 1000000
};

struct mortise_http {
    const struct mortise_mem *mem; /* lent, as are these */
    uv_loop_t *loop;
    struct mortise_timers *timers;
    const struct mortise_curl *curl; /* NULL: not loaded yet */
    CURLM *multi;
    struct mortise_timer alarm; /* curl's */
    struct mortise_timer soon;  /* deliver */
    struct mortise_arena arena; /* of proxies */
    struct mortise_proxies proxies;
    struct mortise_http_call *changed; /* there is something to deliver */
    size_t n_calls;
};

struct line { /* a header of the answer: where its text begins */
    size_t name, value;
};

struct mortise_http_call {
    struct mortise_http *h;
    struct mortise_arena arena; /* copies of all that the request lent us */
    struct mortise_http_request r;
    struct mortise_egress egress;

    /* The hop under way. */
    CURL *easy; /* NULL: none */
    CURLU *at;
    struct curl_slist *lines;
    struct mortise_destination to;
    bool https, proxied;
    bool strange;       /* another origin than the request's */
    bool with_body;     /* redirects may drop it, */
    const char *method; /* ... and change this */
    unsigned hops;      /* before this one */
    unsigned sent;      /* times */
    bool refused;       /* an address was */

    struct mortise_timer clock;
    uint64_t deadline_ns, idle_ns, moved_ns; /* deadline_ns 0: none */
    curl_off_t moved;                        /* bytes, both ways */

    /* The answer, as far as it came. */
    struct mortise_buf text, body; /* text: of headers, each with its NUL */
    struct line *headers;
    size_t n_headers, cap_headers, header_bytes;
    size_t page; /* bytes of a redirect's body, which are thrown away */
    int status;
    bool head_there, redirects;

    /* What our owner knows of it. */
    bool head_told;
    size_t told; /* bytes of the body */

    bool ended;
    enum mortise_http_outcome outcome;
    char words[WORDS], curl_words[CURL_ERROR_SIZE];
    bool is_changed, in_callback, cancelled;
    struct mortise_http_call *next_changed;
};

struct sock { /* a socket of curl's */
    uv_poll_t poll;
    struct mortise_http *h;
    const struct mortise_mem *mem; /* h may be gone when it is closed */
    curl_socket_t fd;
};

/* ---- signals ------------------------------------------------------------ */

struct quiet {
    sigset_t before;
    bool pending;
};

static void quiet_begin(struct quiet *q)
{
    sigset_t all, pending;

    sigemptyset(&pending);
    sigpending(&pending);
    q->pending = sigismember(&pending, SIGPIPE) == 1;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &q->before);
}

static void quiet_end(struct quiet *q)
{
    const struct timespec now = {0, 0};
    sigset_t pipe;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    while (!q->pending && sigtimedwait(&pipe, NULL, &now) == SIGPIPE)
        continue;
    pthread_sigmask(SIG_SETMASK, &q->before, NULL);
}

/* ---- records ------------------------------------------------------------ */

/* Off curl; not from inside it. */
static void end_hop(struct mortise_http_call *c)
{
    struct mortise_http *h = c->h;
    struct quiet q;

    if (c->easy != NULL) {
        quiet_begin(&q);
        h->curl->multi_remove_handle(h->multi, c->easy);
        h->curl->easy_cleanup(c->easy);
        quiet_end(&q);
    }
    if (c->lines != NULL)
        h->curl->slist_free_all(c->lines);
    c->easy = NULL;
    c->lines = NULL;
}

static void forget_changed(struct mortise_http_call *c)
{
    struct mortise_http_call **at = &c->h->changed;

    if (!c->is_changed)
        return;
    while (*at != c)
        at = &(*at)->next_changed;
    *at = c->next_changed;
}

static void call_free(struct mortise_http_call *c)
{
    struct mortise_http *h = c->h;

    end_hop(c);
    forget_changed(c);
    if (c->at != NULL)
        h->curl->url_cleanup(c->at);
    mortise_timer_disarm(h->timers, &c->clock);
    mortise_buf_finish(&c->text);
    mortise_buf_finish(&c->body);
    mortise_release(h->mem, c->headers, c->cap_headers * sizeof *c->headers);
    mortise_arena_finish(&c->arena);
    h->n_calls--;
    mortise_release(h->mem, c, sizeof *c);
}

/* ---- telling its owner -------------------------------------------------- */

static void change(struct mortise_http_call *c)
{
    struct mortise_http *h = c->h;

    if (!c->is_changed) {
        c->is_changed = true;
        c->next_changed = h->changed;
        h->changed = c;
    }
    if (!h->soon.armed)
        mortise_timer_arm(h->timers, &h->soon, 0);
}

/* The first reason stands. */
static void end(struct mortise_http_call *c, enum mortise_http_outcome outcome,
                const char *fmt, ...) MORTISE_PRINTF(3, 4);

static void end(struct mortise_http_call *c, enum mortise_http_outcome outcome,
                const char *fmt, ...)
{
    va_list ap;

    if (c->ended)
        return;
    c->ended = true;
    c->outcome = outcome;
    va_start(ap, fmt);
    vsnprintf(c->words, sizeof c->words, fmt, ap);
    va_end(ap);
    change(c);
}

static const char *header_of(const struct mortise_http_call *c,
                             const char *name)
{
    for (size_t i = 0; i < c->n_headers; i++) {
        if (strcmp(c->text.p + c->headers[i].name, name) == 0)
            return c->text.p + c->headers[i].value;
    }
    return NULL;
}

/* Seconds, or a date in one of its three forms, which curl reads. */
static bool retry_after(const struct mortise_http_call *c, uint64_t *out)
{
    const char *value = header_of(c, "retry-after");
    size_t n = value != NULL ? strspn(value, "0123456789") : 0;
    uint64_t ms = 0, now = mortise_now_ms();
    time_t at;

    if (value == NULL)
        return false;
    if (n > 0 && value[n] == '\0') {
        for (size_t i = 0; i < n && ms < DAY_MS; i++)
            ms = ms * 10 + (uint64_t)(value[i] - '0') * 1000;
    } else {
        at = c->h->curl->getdate(value, NULL);
        if (at < 0)
            return false;
        ms = (uint64_t)at * 1000 > now ? (uint64_t)at * 1000 - now : 0;
    }
    *out = ms < DAY_MS ? ms : DAY_MS;
    return true;
}

/* `room` for all headers. */
static void fill_answer(const struct mortise_http_call *c,
                        struct mortise_http_answer *a, char *url,
                        struct mortise_http_header *room)
{
    *a = (struct mortise_http_answer){
        .outcome = c->ended ? c->outcome : MORTISE_HTTP_ANSWERED,
        .words = c->ended ? c->words : "",
        .status = c->status,
        .url = url != NULL ? url : c->r.url,
        .headers = room,
        .n_headers = c->n_headers,
        .body = c->body.n > 0 ? c->body.p : "",
        .n_body = c->body.n};
    for (size_t i = 0; i < c->n_headers; i++)
        room[i] = (struct mortise_http_header){c->text.p + c->headers[i].name,
                                               c->text.p + c->headers[i].value};
    a->retry_after = retry_after(c, &a->retry_after_ms);
}

/* Tell head() or done(). */
static void tell(struct mortise_http_call *c,
                 void (*fn)(void *ud, const struct mortise_http_answer *a))
{
    const struct mortise_http *h = c->h;
    size_t size = (c->n_headers + 1) * sizeof(struct mortise_http_header);
    struct mortise_http_header *room = mortise_alloc(h->mem, size);
    struct mortise_http_answer a = {.outcome = MORTISE_HTTP_NOMEM,
                                    .words = "out of memory",
                                    .url = c->r.url,
                                    .body = ""};
    char *url = NULL;

    if (c->at != NULL)
        h->curl->url_get(c->at, CURLUPART_URL, &url, 0);
    if (room != NULL)
        fill_answer(c, &a, url, room);
    fn(c->r.ud, &a);
    if (url != NULL)
        h->curl->free(url);
    mortise_release(h->mem, room, size);
}

static void deliver_one(struct mortise_http_call *c)
{
    size_t told = c->told;

    c->in_callback = true;
    if (c->head_there && !c->redirects && !c->head_told && c->r.head != NULL) {
        c->head_told = true;
        tell(c, c->r.head);
    }
    if (!c->cancelled && c->r.piece != NULL && c->body.n > told) {
        c->told = c->body.n;
        c->r.piece(c->r.ud, c->body.p + told, c->body.n - told);
    }
    if (!c->cancelled && c->ended)
        tell(c, c->r.done);
    c->in_callback = false;
    if (c->cancelled || c->ended)
        call_free(c);
}

/* (1) */
static void deliver(struct mortise_http *h)
{
    struct mortise_http_call *c;

    while ((c = h->changed) != NULL) {
        h->changed = c->next_changed;
        c->is_changed = false;
        deliver_one(c);
    }
}

static void deliver_now(struct mortise_timer *t)
{
    deliver(MORTISE_OF(t, struct mortise_http, soon));
}

/* ---- what curl brings --------------------------------------------------- */

static void forget_answer(struct mortise_http_call *c)
{
    mortise_buf_clear(&c->text);
    mortise_buf_clear(&c->body);
    c->n_headers = 0;
    c->page = 0;
    c->status = 0;
    c->head_there = c->redirects = false;
}

static void trim(const char **p, size_t *n)
{
    while (*n > 0 && strchr(" \t\r\n", (*p)[*n - 1]) != NULL)
        --*n;
    while (*n > 0 && strchr(" \t", **p) != NULL) {
        ++*p;
        --*n;
    }
}

static size_t put_text(struct mortise_http_call *c, const char *p, size_t n,
                       bool lower)
{
    size_t at = c->text.n;

    mortise_buf_put(&c->text, p, n);
    mortise_buf_put(&c->text, "", 1);
    for (size_t i = at; lower && !c->text.failed && i < at + n; i++) {
        char *x = &c->text.p[i];

        *x = *x >= 'A' && *x <= 'Z' ? (char)(*x - 'A' + 'a') : *x;
    }
    return at;
}

/* "Name: value"; one that begins with a blank continues the last. */
static void take_header(struct mortise_http_call *c, const char *p, size_t n)
{
    const char *colon = memchr(p, ':', n), *value;
    size_t name, size;
    struct line *grown;

    if (colon == NULL || colon == p || *p == ' ' || *p == '\t')
        return;
    if (c->n_headers == HEADERS_N) {
        end(c, MORTISE_HTTP_TOO_LARGE, "the answer has more than %d headers",
            HEADERS_N);
        return;
    }
    grown = mortise_grow(c->h->mem, c->headers, c->n_headers, &c->cap_headers,
                         sizeof *grown);
    if (grown == NULL) {
        end(c, MORTISE_HTTP_NOMEM, "out of memory");
        return;
    }
    c->headers = grown;
    name = put_text(c, p, (size_t)(colon - p), true);
    value = colon + 1;
    size = n - (size_t)(value - p);
    trim(&value, &size);
    c->headers[c->n_headers++] =
        (struct line){name, put_text(c, value, size, false)};
    if (c->text.failed)
        end(c, MORTISE_HTTP_NOMEM, "out of memory");
}

static bool leads_on(const struct mortise_http_call *c)
{
    switch (c->status) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
        return c->r.redirects > 0 && header_of(c, "location") != NULL;
    default:
        return false;
    }
}

/* The empty line behind the headers; those of 1xx are forgotten again. */
static void head_ends(struct mortise_http_call *c)
{
    if (c->status < 200 || c->ended)
        return;
    c->head_there = true;
    c->redirects = leads_on(c);
    if (!c->redirects && c->r.head != NULL)
        change(c);
}

/* 0 makes curl stop. */
static size_t on_header(char *p, size_t size, size_t count, void *ud)
{
    struct mortise_http_call *c = ud;
    size_t n = size * count;

    c->header_bytes += n;
    if (c->header_bytes > MORTISE_HTTP_HEADERS_MAX)
        end(c, MORTISE_HTTP_TOO_LARGE,
            "the answer's headers are larger than %d KiB",
            MORTISE_HTTP_HEADERS_MAX >> 10);
    else if (memchr(p, '\0', n) != NULL)
        end(c, MORTISE_HTTP_BROKEN, "the answer has a NUL in its headers");
    else if (c->head_there)
        return n; /* a trailer: nobody asked for one */
    else if (n > 9 && strncmp(p, "HTTP/", 5) == 0) {
        const char *code = memchr(p, ' ', n);

        forget_answer(c);
        for (int i = 1; code != NULL && i <= 3 && code + i < p + n &&
                        code[i] >= '0' && code[i] <= '9';
             i++)
            c->status = c->status * 10 + (code[i] - '0');
    } else if (n <= 2 && (p[0] == '\r' || p[0] == '\n'))
        head_ends(c);
    else
        take_header(c, p, n);
    return c->ended ? 0 : n;
}

static size_t on_body(char *p, size_t size, size_t count, void *ud)
{
    struct mortise_http_call *c = ud;
    size_t n = size * count;

    if (c->ended)
        return 0;
    if (c->redirects && n > PAGE_MAX - c->page)
        end(c, MORTISE_HTTP_TOO_LARGE,
            "the page of a redirect is larger than %d KiB", PAGE_MAX >> 10);
    else if (c->redirects)
        c->page += n;
    else if (n > c->r.body_max - c->body.n)
        end(c, MORTISE_HTTP_TOO_LARGE,
            "the answer is larger than %zu bytes (decompressed)",
            c->r.body_max);
    else
        mortise_buf_put(&c->body, p, n);
    if (c->body.failed)
        end(c, MORTISE_HTTP_NOMEM, "out of memory");
    else if (c->r.piece != NULL && !c->redirects)
        change(c);
    return c->ended ? 0 : n;
}

static int on_progress(void *ud, curl_off_t down_all, curl_off_t down,
                       curl_off_t up_all, curl_off_t up)
{
    struct mortise_http_call *c = ud;

    (void)down_all;
    (void)up_all;
    if (down + up != c->moved) {
        c->moved = down + up;
        c->moved_ns = mortise_mono_ns();
    }
    return c->ended;
}

/* (2) */
static curl_socket_t on_socket_open(void *ud, curlsocktype purpose,
                                    struct curl_sockaddr *a)
{
    struct mortise_http_call *c = ud;

    (void)purpose;
    if (!c->proxied && !mortise_egress_address(c->to.host, &a->addr)) {
        c->refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

/* (4): connected, and about to send. */
static int on_about_to_send(void *ud, char *ip, char *local_ip, int port,
                            int local_port)
{
    struct mortise_http_call *c = ud;

    (void)ip;
    (void)local_ip;
    (void)port;
    (void)local_port;
    c->moved_ns = mortise_mono_ns();
    if (c->sent++ == 0 || c->r.safe)
        return CURL_PREREQFUNC_OK;
    end(c, MORTISE_HTTP_LOST,
        "the connection broke when the request had been sent; whether it "
        "arrived is not known");
    return CURL_PREREQFUNC_ABORT;
}

/* ---- a hop -------------------------------------------------------------- */

/* What a request may say to whomever it is redirected (3). */
static bool is_harmless(const char *name)
{
    static const char *const names[] = {"accept",           "accept-language",
                                        "content-language", "content-type",
                                        "user-agent",       "idempotency-key"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcasecmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static bool add_line(struct mortise_http_call *c, const char *text)
{
    struct curl_slist *list = c->h->curl->slist_append(c->lines, text);

    if (list != NULL)
        c->lines = list;
    return list != NULL;
}

/* "Name: value"; an empty value is written "Name;" for curl, which takes blanks
 * alone for a wish that the header be left out. */
static bool add_header(struct mortise_http_call *c, const char *name,
                       const char *value, struct mortise_buf *text)
{
    mortise_buf_clear(text);
    mortise_buf_puts(text, name);
    if (value[strspn(value, " \t")] == '\0')
        mortise_buf_puts(text, ";");
    else
        mortise_buf_printf(text, ": %s", value);
    return mortise_buf_cstr(text) != NULL && add_line(c, text->p);
}

static bool make_lines(struct mortise_http_call *c)
{
    bool ok = add_line(c, "Expect:"), typed = false;
    struct mortise_buf text;

    mortise_buf_init(&text, c->h->mem);
    for (size_t i = 0; ok && i < c->r.n_headers; i++) {
        const struct mortise_http_header *x = &c->r.headers[i];
        bool type = strcasecmp(x->name, "content-type") == 0;

        if ((c->strange && !is_harmless(x->name)) || (type && !c->with_body))
            continue;
        typed |= type;
        ok = add_header(c, x->name, x->value, &text);
    }
    if (ok && !typed)
        ok = add_line(c, "Content-Type:"); /* else curl makes one up */
    mortise_buf_finish(&text);
    return ok;
}

/* Where c->at leads, judged.  False: it ended. */
static bool may_go(struct mortise_http_call *c)
{
    const struct mortise_curl *curl = c->h->curl;
    char *scheme = NULL, *host = NULL, *port = NULL, *user = NULL;
    struct mortise_err err;
    bool ok = false;

    curl->url_get(c->at, CURLUPART_SCHEME, &scheme, 0);
    curl->url_get(c->at, CURLUPART_HOST, &host, 0);
    curl->url_get(c->at, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    curl->url_get(c->at, CURLUPART_USER, &user, 0);
    if (scheme == NULL || host == NULL || port == NULL)
        end(c, MORTISE_HTTP_INVALID, "that is no URL of http or https");
    else if (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)
        end(c, MORTISE_HTTP_INVALID, "only http and https, not '%.20s'",
            scheme);
    else if (user != NULL)
        end(c, MORTISE_HTTP_INVALID,
            "a URL with a name or password: put them into a header");
    else if (mortise_destination_make(&c->to, host,
                                      (uint16_t)strtoul(port, NULL, 10),
                                      &err) != MORTISE_OK)
        end(c, MORTISE_HTTP_INVALID, "%s", err.msg);
    else if (!mortise_egress_allows(&c->egress, &c->to))
        end(c, MORTISE_HTTP_DENIED,
            "%s:%u is not among the hosts that permissions.net allows%s",
            c->to.host, (unsigned)c->to.port,
            c->hops > 0 ? " (a redirect led there)" : "");
    else
        ok = true;
    c->https = ok && strcmp(scheme, "https") == 0;
    curl->free(scheme);
    curl->free(host);
    curl->free(port);
    curl->free(user);
    return ok;
}

static void set_method(struct mortise_http_call *c, CURL *e)
{
    const struct mortise_curl *curl = c->h->curl;
    bool bare = strcmp(c->method, "GET") == 0 || strcmp(c->method, "HEAD") == 0;

    if (c->with_body || (!bare && strcmp(c->method, "DELETE") != 0 &&
                         strcmp(c->method, "OPTIONS") != 0)) {
        curl->easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE,
                          (curl_off_t)(c->with_body ? c->r.n_body : 0));
        curl->easy_setopt(e, CURLOPT_POSTFIELDS, c->with_body ? c->r.body : "");
        curl->easy_setopt(e, CURLOPT_CUSTOMREQUEST, c->method);
    } else if (strcmp(c->method, "HEAD") == 0) {
        curl->easy_setopt(e, CURLOPT_NOBODY, 1L);
    } else if (!bare) {
        curl->easy_setopt(e, CURLOPT_CUSTOMREQUEST, c->method);
    }
}

static void set_callbacks(struct mortise_http_call *c, CURL *e)
{
    const struct mortise_curl *curl = c->h->curl;

    curl->easy_setopt(e, CURLOPT_PRIVATE, (void *)c);
    curl->easy_setopt(e, CURLOPT_ERRORBUFFER, c->curl_words);
    curl->easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header);
    curl->easy_setopt(e, CURLOPT_HEADERDATA, (void *)c);
    curl->easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
    curl->easy_setopt(e, CURLOPT_WRITEDATA, (void *)c);
    curl->easy_setopt(e, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl->easy_setopt(e, CURLOPT_XFERINFODATA, (void *)c);
    curl->easy_setopt(e, CURLOPT_NOPROGRESS, 0L);
    curl->easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_socket_open);
    curl->easy_setopt(e, CURLOPT_OPENSOCKETDATA, (void *)c);
    curl->easy_setopt(e, CURLOPT_PREREQFUNCTION, on_about_to_send);
    curl->easy_setopt(e, CURLOPT_PREREQDATA, (void *)c);
}

/* Whatever could fail here would for want of memory; a limit that was not set
 * must not go unnoticed. */
static bool set_options(struct mortise_http_call *c, CURL *e)
{
    const struct mortise_curl *curl = c->h->curl;
    const char *proxy = mortise_proxies_for(&c->h->proxies, c->https, &c->to);

    c->proxied = proxy[0] != '\0';
    set_callbacks(c, e);
    set_method(c, e);
    curl->easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(e, CURLOPT_QUICK_EXIT, 1L); /* (7) */
    curl->easy_setopt(e, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl->easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS, (long)c->r.connect_ms);
    curl->easy_setopt(e, CURLOPT_HTTPHEADER, c->lines);
    return curl->easy_setopt(e, CURLOPT_CURLU, c->at) == CURLE_OK &&
           curl->easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https") ==
               CURLE_OK &&
           curl->easy_setopt(e, CURLOPT_PROXY, proxy) == CURLE_OK &&
           curl->easy_setopt(e, CURLOPT_NOPROXY, "") == CURLE_OK &&
           curl->easy_setopt(e, CURLOPT_ACCEPT_ENCODING, "") == CURLE_OK &&
           curl->easy_setopt(e, CURLOPT_USERAGENT,
                             "mortise/" MORTISE_VERSION) == CURLE_OK &&
           curl->easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 1L) == CURLE_OK &&
           curl->easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 2L) == CURLE_OK;
}

/* To c->at, which may_go() let pass. */
static void begin_hop(struct mortise_http_call *c)
{
    struct mortise_http *h = c->h;
    struct quiet q;
    bool ok;

    c->sent = 0;
    c->refused = false;
    c->moved = 0;
    c->curl_words[0] = '\0';
    quiet_begin(&q);
    c->easy = h->curl->easy_init();
    ok = c->easy != NULL && make_lines(c) && set_options(c, c->easy) &&
         h->curl->multi_add_handle(h->multi, c->easy) == CURLM_OK;
    quiet_end(&q);
    if (!ok)
        end(c, MORTISE_HTTP_NOMEM, "out of memory");
}

/* ---- redirects ---------------------------------------------------------- */

static void choose_method(struct mortise_http_call *c)
{
    bool head = strcmp(c->method, "HEAD") == 0;
    bool post = strcmp(c->method, "POST") == 0;

    if ((c->status == 303 && !head) ||
        ((c->status == 301 || c->status == 302) && post)) {
        c->method = "GET";
        c->with_body = false;
    }
}

/* On to where it leads, as a request of its own. */
static void follow(struct mortise_http_call *c)
{
    const struct mortise_destination from = c->to;
    bool https = c->https;
    CURLUcode rv =
        c->h->curl->url_set(c->at, CURLUPART_URL, header_of(c, "location"), 0);

    end_hop(c);
    if (rv != CURLUE_OK) {
        end(c, MORTISE_HTTP_BROKEN, "a redirect leads to what is no URL");
        return;
    }
    if (++c->hops > c->r.redirects) {
        end(c, MORTISE_HTTP_BROKEN, "more than %u redirects", c->r.redirects);
        return;
    }
    choose_method(c);
    forget_answer(c);
    if (!may_go(c))
        return;
    c->strange |= https != c->https || from.port != c->to.port ||
                  strcmp(from.host, c->to.host) != 0;
    begin_hop(c);
}

/* ---- the end of a hop --------------------------------------------------- */

static enum mortise_http_outcome outcome_of(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PROXY:
        return MORTISE_HTTP_UNREACHABLE;
    case CURLE_OPERATION_TIMEDOUT:
        return MORTISE_HTTP_TIMEOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CACERT_BADFILE:
        return MORTISE_HTTP_INSECURE;
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return MORTISE_HTTP_LOST;
    case CURLE_OUT_OF_MEMORY:
        return MORTISE_HTTP_NOMEM;
    default:
        return MORTISE_HTTP_BROKEN;
    }
}

static void hop_ended(struct mortise_http_call *c, CURLcode code)
{
    if (c->ended)
        end_hop(c);
    else if (code == CURLE_OK && c->redirects)
        follow(c);
    else if (code == CURLE_OK)
        end(c, MORTISE_HTTP_ANSWERED, "%s", "");
    else if (c->refused)
        end(c, MORTISE_HTTP_DENIED,
            "%s has an address of this machine or its link; what is granted is "
            "the name (for such an address, grant it, or localhost)",
            c->to.host);
    else
        end(c, outcome_of(code), "%s:%u: %s", c->to.host, (unsigned)c->to.port,
            c->curl_words[0] != '\0' ? c->curl_words
                                     : c->h->curl->easy_strerror(code));
}

static void take_messages(struct mortise_http *h)
{
    CURLMsg *msg;
    int left;

    while ((msg = h->curl->multi_info_read(h->multi, &left)) != NULL) {
        struct mortise_http_call *c = NULL;
        CURLcode code = msg->data.result;

        if (msg->msg != CURLMSG_DONE)
            continue;
        h->curl->easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, &c);
        hop_ended(c, code);
    }
}

/* ---- the loop ----------------------------------------------------------- */

static void act(struct mortise_http *h, curl_socket_t fd, int what)
{
    struct quiet q;
    int running;

    quiet_begin(&q);
    h->curl->multi_socket_action(h->multi, fd, what, &running);
    quiet_end(&q);
    take_messages(h);
    deliver(h);
}

static void on_alarm(struct mortise_timer *t)
{
    act(MORTISE_OF(t, struct mortise_http, alarm), CURL_SOCKET_TIMEOUT, 0);
}

static int set_alarm(CURLM *multi, long ms, void *ud)
{
    struct mortise_http *h = ud;

    (void)multi;
    mortise_timer_disarm(h->timers, &h->alarm);
    if (ms >= 0)
        mortise_timer_arm(h->timers, &h->alarm,
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
    act(s->h, s->fd, what);
}

static void sock_closed(uv_handle_t *handle)
{
    struct sock *s = MORTISE_OF((uv_poll_t *)handle, struct sock, poll);

    mortise_release(s->mem, s, sizeof *s);
}

static struct sock *sock_new(struct mortise_http *h, curl_socket_t fd)
{
    struct sock *s = mortise_zalloc(h->mem, sizeof *s);

    if (s == NULL)
        return NULL;
    s->h = h;
    s->mem = h->mem;
    s->fd = fd;
    if (uv_poll_init(h->loop, &s->poll, fd) != 0) {
        mortise_release(h->mem, s, sizeof *s);
        return NULL;
    }
    h->curl->multi_assign(h->multi, fd, s);
    return s;
}

static void drop_socket(struct mortise_http *h, struct sock *s)
{
    if (s == NULL)
        return;
    uv_poll_stop(&s->poll);
    uv_close((uv_handle_t *)&s->poll, sock_closed);
    h->curl->multi_assign(h->multi, s->fd, NULL);
}

/* curl waits for another thing at a socket.  If we cannot, the request is over:
 * to say so to curl would be the end of all of them. */
static int set_socket(CURL *easy, curl_socket_t fd, int what, void *ud,
                      void *socket_ud)
{
    struct mortise_http *h = ud;
    struct sock *s = socket_ud;
    struct mortise_http_call *c = NULL;
    int events = 0;

    if (what == CURL_POLL_REMOVE) {
        drop_socket(h, s);
        return 0;
    }
    if (s == NULL)
        s = sock_new(h, fd);
    if (what & CURL_POLL_IN)
        events |= UV_READABLE;
    if (what & CURL_POLL_OUT)
        events |= UV_WRITABLE;
    if (s != NULL && uv_poll_start(&s->poll, events, on_ready) == 0)
        return 0;
    h->curl->easy_getinfo(easy, CURLINFO_PRIVATE, &c);
    if (c != NULL)
        end(c, MORTISE_HTTP_NOMEM, "no means to wait for a socket");
    return 0;
}

/* ---- time --------------------------------------------------------------- */

static void wind_clock(struct mortise_http_call *c)
{
    uint64_t at = c->moved_ns + c->idle_ns;

    if (c->deadline_ns != 0 && c->deadline_ns < at)
        at = c->deadline_ns;
    mortise_timer_arm(c->h->timers, &c->clock, at);
}

/* Until it is sent, connecting has its own bound, which is curl's. */
static void on_clock(struct mortise_timer *t)
{
    struct mortise_http_call *c =
        MORTISE_OF(t, struct mortise_http_call, clock);
    uint64_t now = mortise_mono_ns();

    if (c->ended)
        return;
    if (c->sent == 0)
        c->moved_ns = now;
    if (c->deadline_ns != 0 && now >= c->deadline_ns)
        end(c, MORTISE_HTTP_TIMEOUT, "%s:%u: no whole answer within %llu ms",
            c->to.host, (unsigned)c->to.port,
            (unsigned long long)c->r.timeout_ms);
    else if (now >= c->moved_ns + c->idle_ns)
        end(c, MORTISE_HTTP_TIMEOUT,
            "%s:%u: not a byte came or went for %llu ms", c->to.host,
            (unsigned)c->to.port, (unsigned long long)c->r.idle_ms);
    else
        wind_clock(c);
}

/* ---- open and close ----------------------------------------------------- */

static int start_curl(struct mortise_http *h, struct mortise_err *err)
{
    const struct mortise_curl *curl;
    int rv;

    if (h->multi != NULL)
        return MORTISE_OK;
    rv = mortise_curl_get(&curl, err);
    if (rv == MORTISE_OK)
        rv = mortise_proxies_read(&h->proxies, &h->arena, err);
    if (rv != MORTISE_OK)
        return rv;
    h->curl = curl;
    h->multi = curl->multi_init();
    if (h->multi == NULL)
        return mortise_nomem(err);
    curl->multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, set_socket);
    curl->multi_setopt(h->multi, CURLMOPT_SOCKETDATA, (void *)h);
    curl->multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, set_alarm);
    curl->multi_setopt(h->multi, CURLMOPT_TIMERDATA, (void *)h);
    curl->multi_setopt(h->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS);
    return MORTISE_OK;
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
    h->loop = loop;
    h->timers = timers;
    h->alarm.fire = on_alarm;
    h->soon.fire = deliver_now;
    mortise_arena_init(&h->arena, mem);
    return MORTISE_OK;
}

void mortise_http_close(struct mortise_http *h)
{
    struct quiet q;

    if (h == NULL)
        return;
    assert(h->n_calls == 0); /* whoever made them cancels them */
    if (h->multi != NULL) {
        quiet_begin(&q);
        h->curl->multi_cleanup(h->multi);
        quiet_end(&q);
    }
    mortise_timer_disarm(h->timers, &h->alarm);
    mortise_timer_disarm(h->timers, &h->soon);
    mortise_arena_finish(&h->arena);
    mortise_release(h->mem, h, sizeof *h);
}

/* ---- start and cancel --------------------------------------------------- */

static bool is_token(const char *s)
{
    return s[0] != '\0' &&
           s[strspn(s, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0';
}

/* These say how the message travels, which is ours to say. */
static bool is_ours(const char *name)
{
    static const char *const names[] = {
        "host",   "content-length", "transfer-encoding", "connection",
        "expect", "keep-alive",     "accept-encoding",   "proxy-authorization",
        "te",     "upgrade",        "trailer",           "proxy-connection"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcasecmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

/* False: it ended. */
static bool check(struct mortise_http_call *c)
{
    const struct mortise_http_request *r = &c->r;

    if (!is_token(r->method) || strlen(r->method) > 16 ||
        strcasecmp(r->method, "CONNECT") == 0 ||
        strcasecmp(r->method, "TRACE") == 0)
        end(c, MORTISE_HTTP_INVALID, "'%.32s' is no method to use", r->method);
    else if (r->body != NULL && strcmp(r->method, "HEAD") == 0)
        end(c, MORTISE_HTTP_INVALID, "a HEAD request has no body");
    for (size_t i = 0; i < r->n_headers && !c->ended; i++) {
        const struct mortise_http_header *x = &r->headers[i];

        if (!is_token(x->name))
            end(c, MORTISE_HTTP_INVALID, "'%.64s' is no name of a header",
                x->name);
        else if (is_ours(x->name))
            end(c, MORTISE_HTTP_INVALID,
                "the header '%.64s' is not for requests to set", x->name);
        else if (strpbrk(x->value, "\r\n") != NULL)
            end(c, MORTISE_HTTP_INVALID,
                "the header '%.64s' has a line end in its value", x->name);
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

/* All that was lent. */
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

static void set_bounds(struct mortise_http_call *c)
{
    struct mortise_http_request *r = &c->r;

    if (r->connect_ms == 0)
        r->connect_ms = MORTISE_HTTP_CONNECT_MS;
    if (r->idle_ms == 0)
        r->idle_ms = MORTISE_HTTP_IDLE_MS;
    if (r->body_max == 0 || r->body_max > MORTISE_HTTP_BODY_MAX)
        r->body_max = MORTISE_HTTP_BODY_MAX;
    c->moved_ns = mortise_mono_ns();
    c->idle_ns = r->idle_ms * NS_PER_MS;
    if (r->timeout_ms != 0)
        c->deadline_ns = c->moved_ns + r->timeout_ms * NS_PER_MS;
}

static void begin(struct mortise_http_call *c)
{
    struct mortise_err err;
    int rv = start_curl(c->h, &err);

    if (rv != MORTISE_OK) {
        end(c,
            rv == MORTISE_ENOMEM ? MORTISE_HTTP_NOMEM
                                 : MORTISE_HTTP_UNAVAILABLE,
            "%s", err.msg);
        return;
    }
    if (!check(c))
        return;
    c->at = c->h->curl->url();
    if (c->at == NULL)
        end(c, MORTISE_HTTP_NOMEM, "out of memory");
    else if (c->h->curl->url_set(c->at, CURLUPART_URL, c->r.url, 0) !=
             CURLUE_OK)
        end(c, MORTISE_HTTP_INVALID, "'%.200s' is no URL", c->r.url);
    else if (may_go(c))
        begin_hop(c);
}

struct mortise_http_call *
mortise_http_start(struct mortise_http *h,
                   const struct mortise_http_request *request)
{
    struct mortise_http_call *c = mortise_zalloc(h->mem, sizeof *c);

    if (c == NULL)
        return NULL;
    h->n_calls++;
    c->h = h;
    c->r = *request;
    c->with_body = request->body != NULL;
    c->clock.fire = on_clock;
    mortise_arena_init(&c->arena, h->mem);
    mortise_buf_init(&c->text, h->mem);
    mortise_buf_init(&c->body, h->mem);
    if (!copy_request(c)) {
        call_free(c);
        return NULL;
    }
    set_bounds(c);
    begin(c);
    if (!c->ended)
        wind_clock(c);
    return c;
}

void mortise_http_cancel(struct mortise_http_call *c)
{
    if (c->in_callback)
        c->cancelled = true; /* deliver_one() frees it */
    else
        call_free(c);
}
