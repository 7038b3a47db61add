/* http_call.h -- a request under way, for http.c, http_hop.c and
 * http_retry.c alone. */
#ifndef MORTISE_SERVICES_HTTP_HTTP_CALL_H
#define MORTISE_SERVICES_HTTP_HTTP_CALL_H

#include "services/http/curl_loop.h"
#include "services/http/http_reply.h"

struct mortise_http {
    const struct mortise_mem *mem; /* lent */
    struct mortise_curl_loop curl;
    struct mortise_timer soon;  /* deliver */
    struct mortise_arena arena; /* of what the environment says: */
    struct mortise_proxies proxies;
    const char *ca_file, *ca_dir; /* whom TLS trusts; NULL: as the system */
    struct mortise_http_call *changed; /* there is something to deliver */
    size_t n_calls;
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
    /* The destination for people: as it was written, since no secret is found
     * in lower case. */
    char where[MORTISE_HOST_MAX + sizeof ".:65535"];
    const struct mortise_destination *grant; /* that lets it pass */
    bool https, proxied;
    bool strange;       /* another origin than the request's */
    bool with_body;     /* redirects may drop it, */
    const char *method; /* and change the method */
    unsigned hops;      /* before this one */
    unsigned sent;      /* times */
    bool refused;       /* an address was */
    int no_socket;      /* errno of a shortage of them; 0: there was none */
    bool acted;         /* an earlier hop had done what was asked */

    unsigned tries; /* that failed before this one */
    bool resting;   /* until the next one: `ended` is of the last */
    bool had_left;  /* an earlier one */

    struct mortise_timer clock;
    uint64_t deadline_ns, idle_ns, moved_ns; /* deadline_ns 0: none */
    curl_off_t moved;                        /* bytes, both ways */

    struct mortise_http_reply reply;

    /* What our owner knows of it. */
    bool head_told;
    size_t told; /* bytes of the body */

    bool ended;
    enum mortise_http_outcome outcome;
    char words[512], curl_words[CURL_ERROR_SIZE];
    bool is_changed, in_callback, cancelled;
    struct mortise_http_call *next_changed;
};

/* ---- http.c ---- */
/* There is something to tell its owner, who is told later. */
void mortise_http_change(struct mortise_http_call *c);
/* It is over; the first reason stands. */
void mortise_http_end(struct mortise_http_call *c,
                      enum mortise_http_outcome outcome, const char *fmt, ...)
    MORTISE_PRINTF(3, 4);

/* ---- http_hop.c ---- */
/* Has the hop under way sent any of a request that changes something? */
bool mortise_http_hop_left(const struct mortise_http_call *c);
/* Where c->at leads, judged.  False: it ended. */
bool mortise_http_hop_judge(struct mortise_http_call *c);
/* To c->at, which was let pass. */
void mortise_http_hop_begin(struct mortise_http_call *c);
/* curl is done with it: on to where it leads, or the end. */
void mortise_http_hop_done(struct mortise_http_call *c, CURLcode code);
/* Off curl; not from inside of it. */
void mortise_http_hop_finish(struct mortise_http_call *c);

/* ---- http_retry.c ---- */
/* It ended: is it worth another try, and after how long? */
bool mortise_http_retry_wait(const struct mortise_http_call *c,
                             uint64_t *wait_ms);

/* Is it one of the headers of a list? */
bool mortise_http_is_among(const char *name, const char *const *names,
                           size_t n);

#endif
