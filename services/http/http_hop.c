/* http_hop.c -- one request to one server, and the redirect that follows.
 *
 *   (1) Redirects are followed here and not by curl.  Each hop is parsed,
 *       checked against the egress rules and sent as a request of its own.
 *       curl connects by the same URL handle that was checked, so the text is
 *       not parsed twice.  The address of each socket is checked, too.
 *   (2) All headers except a few may contain credentials.  They are sent to the
 *       origin of the request only; after a redirect to another origin they are
 *       never sent again, not even to the first.
 *   (3) A request that is not safe is sent once.  curl resends a request if a
 *       reused connection turns out to be dead, although the server may have
 *       acted on it.  Therefore on_about_to_send() marks the moment from which
 *       a request may have been acted on, and aborts a second attempt.  A
 *       redirect that keeps the method means that this server did not act; one
 *       that turns a POST into a GET means that it did.
 *   (4) The loop never waits for a resolver.  If a call ends during a lookup,
 *       the resolver thread is left to end by itself.  Otherwise a name server
 *       that does not answer would block the loop, and all runs with it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "core/base/clock.h"
#include "services/http/http_call.h"

/* ---- callbacks of curl -------------------------------------------------- */

/* Returns 0 to make curl abort the transfer. */
static size_t finish_curl_write(struct mortise_http_call *c,
                                enum mortise_http_outcome outcome,
                                const struct mortise_err *err, size_t n)
{
    if (outcome != MORTISE_HTTP_ANSWERED)
        mortise_http_end(c, outcome, "%s", err->msg);
    return c->ended ? 0 : n;
}

static size_t on_header_line(char *p, size_t size, size_t count, void *ud)
{
    struct mortise_http_call *c = ud;
    bool before = c->reply.head_there;
    struct mortise_err err;
    enum mortise_http_outcome outcome =
        mortise_http_reply_add_line(&c->reply, p, size * count, &err);

    if (c->reply.head_there && !before && !c->reply.redirects &&
        c->r.head != NULL)
        mortise_http_mark_changed(c);
    return finish_curl_write(c, outcome, &err, size * count);
}

static size_t on_body_piece(char *p, size_t size, size_t count, void *ud)
{
    struct mortise_http_call *c = ud;
    struct mortise_err err;
    enum mortise_http_outcome outcome;

    if (c->ended)
        return 0;
    outcome = mortise_http_reply_add_body(&c->reply, p, size * count, &err);
    if (c->r.piece != NULL && !c->reply.redirects)
        mortise_http_mark_changed(c);
    return finish_curl_write(c, outcome, &err, size * count);
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

/* (1) */
static curl_socket_t on_socket_open(void *ud, curlsocktype purpose,
                                    struct curl_sockaddr *a)
{
    struct mortise_http_call *c = ud;
    int fd;

    (void)purpose;
    if (!c->proxied && !mortise_egress_covers_address(c->grant, &a->addr)) {
        c->refused = true;
        return CURL_SOCKET_BAD;
    }
    fd = socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
    c->no_socket = fd < 0 && mortise_errno_is_shortage(errno) ? errno : 0;
    return fd;
}

/* (3): the connection is ready, and the request is sent next. */
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
    mortise_http_end(c, MORTISE_HTTP_LOST,
                     "the connection broke after the request was sent; it is "
                     "unknown whether the request arrived");
    return CURL_PREREQFUNC_ABORT;
}

/* ---- a hop -------------------------------------------------------------- */

bool mortise_http_is_in_list(const char *name, const char *const *names,
                             size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcasecmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

/* Headers that may be sent to another origin after a redirect (2). */
static bool is_safe_across_origins(const char *name)
{
    static const char *const names[] = {"accept",           "accept-language",
                                        "content-language", "content-type",
                                        "user-agent",       "idempotency-key"};

    return mortise_http_is_in_list(name, names, sizeof names / sizeof names[0]);
}

static bool add_header_line(struct mortise_http_call *c, const char *text)
{
    struct curl_slist *list = c->h->curl.curl->slist_append(c->lines, text);

    if (list != NULL)
        c->lines = list;
    return list != NULL;
}

/* Add "Name: value".  curl wants "Name;" for an empty value, since it takes
 * "Name:" as a request to omit the header. */
static bool add_header(struct mortise_http_call *c, const char *name,
                       const char *value, struct mortise_buf *text)
{
    mortise_buf_clear(text);
    mortise_buf_puts(text, name);
    if (value[strspn(value, " \t")] == '\0')
        mortise_buf_puts(text, ";");
    else
        mortise_buf_printf(text, ": %s", value);
    return mortise_buf_cstr(text) != NULL && add_header_line(c, text->p);
}

static bool make_header_lines(struct mortise_http_call *c)
{
    bool ok = add_header_line(c, "Expect:"), typed = false;
    struct mortise_buf text;

    mortise_buf_init(&text, c->h->mem);
    for (size_t i = 0; ok && i < c->r.n_headers; i++) {
        const struct mortise_http_header *x = &c->r.headers[i];
        bool type = strcasecmp(x->name, "content-type") == 0;

        if ((c->strange && !is_safe_across_origins(x->name)) ||
            (type && !c->with_body))
            continue;
        typed |= type;
        ok = add_header(c, x->name, x->value, &text);
    }
    if (ok && !typed)
        ok = add_header_line(c, "Content-Type:"); /* not curl's default */
    mortise_buf_finish(&text);
    return ok;
}

bool mortise_http_hop_check(struct mortise_http_call *c)
{
    const struct mortise_curl *curl = c->h->curl.curl;
    char *scheme = NULL, *host = NULL, *port = NULL, *user = NULL;
    struct mortise_err err;
    bool ok = false;

    curl->url_get(c->at, CURLUPART_SCHEME, &scheme, 0);
    curl->url_get(c->at, CURLUPART_HOST, &host, 0);
    curl->url_get(c->at, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    curl->url_get(c->at, CURLUPART_USER, &user, 0);
    snprintf(c->where, sizeof c->where, "%s:%s", host != NULL ? host : "",
             port != NULL ? port : "");
    if (scheme == NULL || host == NULL || port == NULL)
        mortise_http_end(c, MORTISE_HTTP_INVALID, "not an http or https URL");
    else if (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)
        mortise_http_end(c, MORTISE_HTTP_INVALID,
                         "the scheme must be http or https, not '%s'", scheme);
    else if (user != NULL)
        mortise_http_end(c, MORTISE_HTTP_INVALID,
                         "the URL contains a user or password; put credentials "
                         "into a header");
    else if (mortise_destination_make(&c->to, host,
                                      (uint16_t)strtoul(port, NULL, 10),
                                      &err) != MORTISE_OK)
        mortise_http_end(c, MORTISE_HTTP_INVALID,
                         "neither a host name nor an address: '%s'", host);
    else if ((c->grant = mortise_egress_find_grant(&c->egress, &c->to)) == NULL)
        mortise_http_end(c, MORTISE_HTTP_DENIED,
                         "permissions.net does not allow %s%s", c->where,
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

static void set_curl_method(struct mortise_http_call *c, CURL *e)
{
    const struct mortise_curl *curl = c->h->curl.curl;
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

static void set_curl_callbacks(struct mortise_http_call *c, CURL *e)
{
    const struct mortise_curl *curl = c->h->curl.curl;

    curl->easy_setopt(e, CURLOPT_PRIVATE, (void *)c);
    curl->easy_setopt(e, CURLOPT_ERRORBUFFER, c->curl_words);
    curl->easy_setopt(e, CURLOPT_HEADERFUNCTION, on_header_line);
    curl->easy_setopt(e, CURLOPT_HEADERDATA, (void *)c);
    curl->easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body_piece);
    curl->easy_setopt(e, CURLOPT_WRITEDATA, (void *)c);
    curl->easy_setopt(e, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl->easy_setopt(e, CURLOPT_XFERINFODATA, (void *)c);
    curl->easy_setopt(e, CURLOPT_NOPROGRESS, 0L);
    curl->easy_setopt(e, CURLOPT_OPENSOCKETFUNCTION, on_socket_open);
    curl->easy_setopt(e, CURLOPT_OPENSOCKETDATA, (void *)c);
    curl->easy_setopt(e, CURLOPT_PREREQFUNCTION, on_about_to_send);
    curl->easy_setopt(e, CURLOPT_PREREQDATA, (void *)c);
}

/* SSL_CERT_FILE and SSL_CERT_DIR, as for OpenSSL's tools. */
static bool set_ca_paths(const struct mortise_http *h, CURL *e)
{
    const struct mortise_curl *curl = h->curl.curl;

    return (h->ca_file == NULL ||
            curl->easy_setopt(e, CURLOPT_CAINFO, h->ca_file) == CURLE_OK) &&
           (h->ca_dir == NULL ||
            curl->easy_setopt(e, CURLOPT_CAPATH, h->ca_dir) == CURLE_OK);
}

/* The options whose result is checked can fail only if memory is short.  They
 * are checked because a security option must never be missing. */
static bool set_curl_options(struct mortise_http_call *c, CURL *e)
{
    const struct mortise_curl *curl = c->h->curl.curl;
    const char *proxy = mortise_proxies_find(&c->h->proxies, c->https, &c->to);

    c->proxied = proxy[0] != '\0';
    set_curl_callbacks(c, e);
    set_curl_method(c, e);
    if (!set_ca_paths(c->h, e))
        return false;
    curl->easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(e, CURLOPT_QUICK_EXIT, 1L); /* (4) */
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

void mortise_http_hop_start(struct mortise_http_call *c)
{
    const struct mortise_curl *curl = c->h->curl.curl;

    c->sent = 0;
    c->refused = false;
    c->no_socket = 0;
    c->moved = 0;
    c->curl_words[0] = '\0';
    c->easy = curl->easy_init();
    if (c->easy == NULL || !make_header_lines(c) ||
        !set_curl_options(c, c->easy) ||
        !mortise_curl_loop_add(&c->h->curl, c->easy))
        mortise_http_end(c, MORTISE_HTTP_NOMEM, "out of memory");
}

void mortise_http_hop_remove(struct mortise_http_call *c)
{
    struct mortise_http *h = c->h;

    if (c->easy != NULL)
        mortise_curl_loop_remove(&h->curl, c->easy);
    if (c->lines != NULL)
        h->curl.curl->slist_free_all(c->lines);
    c->easy = NULL;
    c->lines = NULL;
}

/* ---- redirects ---------------------------------------------------------- */

bool mortise_http_hop_has_left(const struct mortise_http_call *c)
{
    return !c->r.safe && !c->acted && c->sent > 0;
}

/* The hop was answered by a redirect: the server acted on the request, or asks
 * to repeat it elsewhere. */
static void choose_redirect_method(struct mortise_http_call *c)
{
    bool head = strcmp(c->method, "HEAD") == 0;
    bool post = strcmp(c->method, "POST") == 0;

    c->sent = 0;
    if ((c->reply.status == 303 && !head) ||
        ((c->reply.status == 301 || c->reply.status == 302) && post)) {
        c->acted = !c->r.safe;
        c->method = "GET";
        c->with_body = false;
    }
}

/* Send a request of its own to the redirect's target. */
static void follow_redirect(struct mortise_http_call *c)
{
    const struct mortise_destination from = c->to;
    bool https = c->https;
    CURLUcode rv = c->h->curl.curl->url_set(
        c->at, CURLUPART_URL,
        mortise_http_reply_find_header(&c->reply, "location"), 0);

    mortise_http_hop_remove(c);
    choose_redirect_method(c);
    if (rv != CURLUE_OK) {
        mortise_http_end(c, MORTISE_HTTP_BROKEN,
                         "a redirect has an invalid URL");
        return;
    }
    if (++c->hops > c->r.redirects) {
        mortise_http_end(c, MORTISE_HTTP_BROKEN, "more than %u redirects",
                         c->r.redirects);
        return;
    }
    mortise_http_reply_clear(&c->reply);
    if (!mortise_http_hop_check(c))
        return;
    c->strange |= https != c->https || from.port != c->to.port ||
                  strcmp(from.host, c->to.host) != 0;
    mortise_http_hop_start(c);
}

/* ---- the end of a hop --------------------------------------------------- */

static enum mortise_http_outcome outcome_from_curl(CURLcode code)
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

static void end_complete_answer(struct mortise_http_call *c)
{
    struct mortise_err err = {.msg = ""};
    enum mortise_http_outcome outcome =
        mortise_http_reply_check_end(&c->reply, &err);

    mortise_http_end(c, outcome, "%s", err.msg);
}

void mortise_http_hop_handle_end(struct mortise_http_call *c, CURLcode code)
{
    struct mortise_err err;

    if (c->ended)
        mortise_http_hop_remove(c);
    else if (code == CURLE_OK && !c->reply.head_there)
        /* curl accepts an incomplete head */
        mortise_http_end(
            c, MORTISE_HTTP_LOST,
            "%s: the connection closed inside the headers of the answer",
            c->where);
    else if (code == CURLE_OK && c->reply.redirects)
        follow_redirect(c);
    else if (code == CURLE_OK)
        end_complete_answer(c);
    else if (code == CURLE_OUT_OF_MEMORY && c->reply.header_bytes > 0)
        /* curl's code for a header line that exceeds its limit */
        mortise_http_end(c, MORTISE_HTTP_TOO_LARGE,
                         "a header of the answer is larger than %d KiB",
                         CURL_MAX_HTTP_HEADER >> 10);
    else if (c->refused)
        mortise_http_end(c, MORTISE_HTTP_DENIED,
                         "%s resolves to an address of this machine or of a "
                         "private network, which the grant does not cover (to "
                         "allow it: \"%s private\", or localhost)",
                         c->where, c->where);
    else if (c->no_socket != 0 && code == CURLE_COULDNT_CONNECT) {
        mortise_syserr(&err, c->no_socket, "%s", c->where);
        mortise_http_end(c, MORTISE_HTTP_UNREACHABLE, "%s", err.msg);
    } else
        mortise_http_end(c, outcome_from_curl(code), "%s: %s", c->where,
                         c->curl_words[0] != '\0'
                             ? c->curl_words
                             : c->h->curl.curl->easy_strerror(code));
}
