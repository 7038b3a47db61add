/* http.h -- HTTP requests on the loop.
 *
 * One client an engine: connections are kept and used again, any number of
 * requests are under way at once, and none of them has a thread.  It knows
 * nothing of runs, plugins or journals.
 *
 * Everything is [loop]; callbacks come from the loop, never from inside
 * start() or cancel(), and may call both. */
#ifndef MORTISE_SERVICES_HTTP_HTTP_H
#define MORTISE_SERVICES_HTTP_HTTP_H

#include <uv.h>

#include "core/base/mask.h"
#include "services/http/egress.h"
#include "core/engine/parts/timers.h"

enum {
    MORTISE_HTTP_BODY_MAX = 16 << 20,     /* of an answer, decompressed */
    MORTISE_HTTP_HEADERS_MAX = 256 << 10, /* of an answer, all together */
    MORTISE_HTTP_REDIRECTS = 10,
    MORTISE_HTTP_CONNECT_MS = 10000,
    MORTISE_HTTP_IDLE_MS = 60000,
    MORTISE_HTTP_RETRIES_MAX = 10
};

struct mortise_http;
struct mortise_http_call;

struct mortise_http_header {
    const char *name, *value; /* of an answer: name in lower case */
};

enum mortise_http_outcome {
    MORTISE_HTTP_ANSWERED = 0, /* whatever its status says */
    MORTISE_HTTP_INVALID,      /* that is no request */
    MORTISE_HTTP_DENIED,       /* it may not go there */
    MORTISE_HTTP_UNREACHABLE,  /* no address, no connection */
    MORTISE_HTTP_LOST,         /* the connection broke in between */
    MORTISE_HTTP_TIMEOUT,
    MORTISE_HTTP_INSECURE, /* the certificate does not hold */
    MORTISE_HTTP_TOO_LARGE,
    MORTISE_HTTP_BROKEN, /* the answer is no HTTP, or leads nowhere */
    MORTISE_HTTP_NOMEM,
    MORTISE_HTTP_UNAVAILABLE /* there is no libcurl */
};

struct mortise_http_answer {
    enum mortise_http_outcome outcome;
    const char *words; /* of what went wrong; "" when it was answered */
    int status;
    const char *url; /* where it came from, behind all redirects */
    const struct mortise_http_header *headers;
    size_t n_headers;
    const char *body;
    size_t n_body;
    /* Of a request that is not `safe`: it, or some of it, had left, and who it
     * went to may have done it.  One that was answered by a redirect which asks
     * for it anew has not. */
    bool left;
    /* Whoever it went to had done it, and led on to where its result is. */
    bool acted;
    bool retry_after; /* the server said how long to wait */
    uint64_t retry_after_ms;
};

struct mortise_http_request {
    const char *method, *url;
    const struct mortise_http_header *headers;
    size_t n_headers;
    const void *body; /* NULL: none */
    size_t n_body;
    bool safe; /* changes nothing there: may be sent again by itself */
    const struct mortise_egress *egress;
    uint64_t timeout_ms;          /* of it all; 0: none */
    uint64_t connect_ms, idle_ms; /* 0: the defaults above */
    size_t body_max;              /* 0: the default; never more than that */
    unsigned redirects;           /* 0: give the redirect back */
    /* How often it is made again where another try may help (http_retry.c): of
     * one that may be made twice, and has neither head() nor piece(). */
    unsigned retries;
    struct mortise_mask *mask; /* over the answer's body; NULL: none */

    /* The status and headers of an answer are there, and pieces of its body as
     * they come; both NULL: only the whole.  Everything lent. */
    void (*head)(void *ud, const struct mortise_http_answer *a);
    void (*piece)(void *ud, const char *p, size_t n);
    /* Exactly once, unless cancelled; the call is over then. */
    void (*done)(void *ud, const struct mortise_http_answer *a);
    void *ud;
};

/* Cheap: libcurl comes with the first request.  Loop and timers are lent. Reads
 * the environment: the proxy variables, SSL_CERT_FILE and SSL_CERT_DIR.  Close
 * it also when this fails. */
int mortise_http_open(struct mortise_http **out, const struct mortise_mem *mem,
                      uv_loop_t *loop, struct mortise_timers *timers,
                      struct mortise_err *err);
/* Without calls; the loop must turn once more.  NULL is fine. */
void mortise_http_close(struct mortise_http *h);

/* Everything is copied.  NULL when memory ran out; what else is wrong with a
 * request, done() says. */
struct mortise_http_call *
mortise_http_start(struct mortise_http *h,
                   const struct mortise_http_request *request);
void mortise_http_cancel(struct mortise_http_call *c);
/* As an answer would say now: left, or acted. */
bool mortise_http_has_left(const struct mortise_http_call *c);

#endif
