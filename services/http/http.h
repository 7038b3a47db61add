/* http.h -- HTTP requests on the loop.
 *
 * One client per engine.  Connections are kept and reused; any number of
 * requests can be in flight, without a thread for each.  The client knows
 * nothing about runs, plugins or journals.
 *
 * Everything is [loop].  Callbacks are called from the loop, never from inside
 * start() or cancel(), and may call both. */
#ifndef MORTISE_SERVICES_HTTP_HTTP_H
#define MORTISE_SERVICES_HTTP_HTTP_H

#include <uv.h>

#include "core/base/mask.h"
#include "services/http/addresses.h"
#include "core/engine/parts/timers.h"

enum {
    MORTISE_HTTP_BODY_MAX = 16 << 20,     /* of an answer, decompressed */
    MORTISE_HTTP_HEADERS_MAX = 256 << 10, /* of an answer, in total */
    MORTISE_HTTP_REDIRECTS = 10,
    MORTISE_HTTP_CONNECT_MS = 10000,
    MORTISE_HTTP_IDLE_MS = 60000,
    MORTISE_HTTP_RETRIES_MAX = 10
};

struct mortise_http;
struct mortise_http_call;

struct mortise_http_header {
    const char *name, *value; /* in an answer, the name is in lower case */
};

enum mortise_http_outcome {
    MORTISE_HTTP_ANSWERED = 0, /* with any status */
    MORTISE_HTTP_INVALID,      /* not a valid request */
    MORTISE_HTTP_DENIED,       /* no grant for the destination */
    MORTISE_HTTP_UNREACHABLE,  /* no address, or no connection */
    MORTISE_HTTP_LOST,         /* the connection broke during the exchange */
    MORTISE_HTTP_TIMEOUT,
    MORTISE_HTTP_INSECURE, /* the certificate is not valid */
    MORTISE_HTTP_TOO_LARGE,
    MORTISE_HTTP_BROKEN, /* not valid HTTP, or a broken redirect */
    MORTISE_HTTP_NOMEM,
    MORTISE_HTTP_UNAVAILABLE /* libcurl is missing */
};

struct mortise_http_answer {
    enum mortise_http_outcome outcome;
    const char *words; /* error message; "" if ANSWERED */
    int status;
    const char *url; /* the URL after all redirects */
    const struct mortise_http_header *headers;
    size_t n_headers;
    const char *body;
    size_t n_body;
    /* For a request that is not `safe`: at least part of it was sent, and the
     * server may have acted on it.  False after a redirect that asks to repeat
     * the request elsewhere (307, 308): that server did not act. */
    bool left;
    /* An earlier hop acted on the request and redirected to the result. */
    bool acted;
    bool retry_after; /* the server sent Retry-After */
    uint64_t retry_after_ms;
};

struct mortise_http_request {
    const char *method, *url;
    const struct mortise_http_header *headers;
    size_t n_headers;
    const void *body; /* NULL: none */
    size_t n_body;
    bool safe; /* changes nothing on the server: may be resent silently */
    const struct mortise_egress *egress;
    uint64_t timeout_ms;          /* for all hops and tries; 0: unlimited */
    uint64_t connect_ms, idle_ms; /* 0: the defaults above */
    size_t body_max;              /* 0: the default; never more than that */
    unsigned redirects;           /* 0: return a redirect as the answer */
    /* How often the request is repeated after a failure that a retry may
     * resolve (http_retry.c).  Only for requests that are harmless to repeat
     * and have neither head() nor piece(). */
    unsigned retries;
    struct mortise_mask *mask; /* applied to the answer's body; NULL: none */

    /* Streaming: head() gets status and headers as soon as they arrive, piece()
     * gets the body in parts.  Both NULL: only done() is called.  All arguments
     * are borrowed. */
    void (*head)(void *ud, const struct mortise_http_answer *a);
    void (*piece)(void *ud, const char *p, size_t n);
    /* Called exactly once unless the call is cancelled; frees the call
     * afterwards. */
    void (*done)(void *ud, const struct mortise_http_answer *a);
    void *ud;
};

/* Cheap: libcurl is loaded by the first request.  loop and timers are borrowed.
 * Reads the proxy variables, SSL_CERT_FILE and SSL_CERT_DIR from the
 * environment.  Call close() even if this fails. */
int mortise_http_open(struct mortise_http **out, const struct mortise_mem *mem,
                      uv_loop_t *loop, struct mortise_timers *timers,
                      struct mortise_err *err);
/* There must be no calls left, and the loop must run once more afterwards.
 * NULL is fine. */
void mortise_http_close(struct mortise_http *h);

/* Copies the whole request.  Returns NULL if memory ran out; done() reports any
 * other error. */
struct mortise_http_call *
mortise_http_start(struct mortise_http *h,
                   const struct mortise_http_request *request);
void mortise_http_cancel(struct mortise_http_call *c);
/* True if an answer at this moment would have `left` or `acted` set. */
bool mortise_http_has_left(const struct mortise_http_call *c);

#endif
