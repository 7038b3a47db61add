/* http_ask.h -- one request, made by the host. */
#ifndef MCP_HTTP_ASK_H
#define MCP_HTTP_ASK_H

#include "mcp.h"

/* Headers: names and values of their own, on the heap. */
struct http_headers {  /* zeroed: none */
    mortise_str *list; /* name, value, name, value ... */
    uint64_t n, cap;   /* pairs */
};

mortise_status http_headers_put(struct http_headers *h, mortise_str name,
                                mortise_str value);
/* Is there one of that name, whatever its case? */
int http_headers_has(const struct http_headers *h, mortise_str name);
void http_headers_free(struct http_headers *h);

/* How it ended.  Lent. */
struct http_end {
    mortise_status
        status;        /* MORTISE_S_OK: with an answer, whatever its status */
    mortise_str words; /* of one that did not */
    int http;          /* the answer's status; 0: not even a head came */
    mortise_jv answer; /* as http.request/1 gives it; none without */
};

/* Owned by whoever sends it, until done(): it lives at least as long, and may go
 * in there.  `head` and `piece`, both or none: of a stream. */
struct http_ask {
    void (*head)(struct http_ask *a, int status, mortise_jv headers);
    void (*piece)(struct http_ask *a, mortise_str bytes);
    void (*done)(struct http_ask *a, const struct http_end *end);
    int http;       /* the status in the head; 0: it has not come */
    int is_pending; /* the host has it */
};

struct http_wish {
    mortise_call call; /* who asks; 0: the background call */
    const char *method;
    mortise_str url;
    const struct http_headers *headers, *secret_headers;
    mortise_str json, body; /* at most one; p NULL: none */
    uint64_t timeout_ms, idle_ms, max_body;
    int no_redirects;
};

/* An error: it was not sent, and done() will not come. */
mortise_status http_ask_send(mortise_inst *i, struct http_ask *a,
                             const struct http_wish *w);
/* The value of a header of an answer, in memory of `room`; empty when there is
 * none. */
mortise_str http_header_of(mortise_jv headers, const char *name,
                           struct bytes *room);

#endif
