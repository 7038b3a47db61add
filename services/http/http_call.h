/* http_call.h -- the state of a request in flight.
 *
 * Private to http.c, http_hop.c and http_retry.c. */
#ifndef MORTISE_SERVICES_HTTP_HTTP_CALL_H
#define MORTISE_SERVICES_HTTP_HTTP_CALL_H

#include "services/http/curl_loop.h"
#include "services/http/http_reply.h"

struct mortise_http {
    const struct mortise_mem *mem; /* borrowed */
    struct mortise_curl_loop curl;
    struct mortise_timer soon;  /* fires deliver_changes() */
    struct mortise_arena arena; /* of the values from the environment: */
    struct mortise_proxies proxies;
    const char *ca_file, *ca_dir;      /* trusted CAs; NULL: the system's */
    struct mortise_http_call *changed; /* calls with something to deliver */
    size_t n_calls;
};

struct mortise_http_call {
    struct mortise_http *h;
    struct mortise_arena arena; /* copies of the request's data */
    struct mortise_http_request r;
    struct mortise_egress egress;

    /* The current hop. */
    CURL *easy; /* NULL: no hop in flight */
    CURLU *at;
    struct curl_slist *lines;
    struct mortise_destination to;
    /* The destination for messages, in its original case: masking does not find
     * a secret that was lower-cased. */
    char where[MORTISE_HOST_MAX + sizeof ".:65535"];
    const struct mortise_destination *grant; /* the grant that allows `to` */
    bool https, proxied;
    bool strange;       /* not the origin of the request */
    bool with_body;     /* a redirect may drop the body */
    const char *method; /* and change the method */
    unsigned hops;      /* before this one */
    unsigned sent;      /* how often the hop was sent */
    bool refused;       /* the address of a socket was denied */
    int no_socket;      /* errno of a shortage of descriptors; 0: none */
    bool acted;         /* an earlier hop acted on the request */

    unsigned tries; /* failed tries before this one */
    bool between_tries;        /* between tries: `ended` is that of the last */
    bool earlier_try_had_left; /* a request of an earlier try had left */

    struct mortise_timer clock;
    uint64_t deadline_ns, idle_ns, moved_ns; /* deadline_ns 0: none */
    curl_off_t moved;                        /* bytes, in both directions */

    struct mortise_http_reply reply;

    /* How much was delivered to the owner. */
    bool head_delivered;
    size_t told; /* bytes of the body */

    bool ended;
    enum mortise_http_outcome outcome;
    char words[512], curl_words[CURL_ERROR_SIZE];
    bool is_changed, in_callback, cancelled;
    struct mortise_http_call *next_changed;
};

/* ---- http.c ---- */
/* Mark the call as having something to deliver, and deliver it later. */
void mortise_http_mark_changed(struct mortise_http_call *c);
/* End the call.  Only the first call of this has an effect. */
void mortise_http_end(struct mortise_http_call *c,
                      enum mortise_http_outcome outcome, const char *fmt, ...)
    MORTISE_PRINTF(3, 4);

/* ---- http_hop.c ---- */
/* Has the current hop sent any part of a request that is not safe? */
bool mortise_http_hop_has_left(const struct mortise_http_call *c);
/* Parse c->at and check it against the egress rules.  False: the call ended. */
bool mortise_http_hop_check(struct mortise_http_call *c);
/* Send the request to c->at, which was checked before. */
void mortise_http_hop_start(struct mortise_http_call *c);
/* curl finished the hop: follow the redirect, or end the call. */
void mortise_http_hop_handle_end(struct mortise_http_call *c, CURLcode code);
/* Remove the hop from curl; not from inside curl. */
void mortise_http_hop_remove(struct mortise_http_call *c);

/* ---- http_retry.c ---- */
/* Must the call, which ended, be tried again?  *wait_ms: the wait before the
 * next try. */
bool mortise_http_must_retry(const struct mortise_http_call *c,
                             uint64_t *wait_ms);

/* Is the name in a list of header names, whatever its case? */
bool mortise_http_is_in_list(const char *name, const char *const *names,
                             size_t n);

#endif
