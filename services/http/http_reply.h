/* http_reply.h -- an answer, as far as it came. */
#ifndef MORTISE_SERVICES_HTTP_HTTP_REPLY_H
#define MORTISE_SERVICES_HTTP_HTTP_REPLY_H

#include "core/base/buf.h"
#include "core/base/mask.h"
#include "services/http/curl.h"
#include "services/http/http.h"

struct mortise_http_line; /* a header: where its text begins */

struct mortise_http_reply {
    const struct mortise_mem *mem;
    size_t body_max; /* the owner's wishes, both */
    bool follow;     /* redirects lead on */

    struct mortise_buf text, body; /* text: of headers, each with its NUL */
    struct mortise_mask *mask;     /* over the body; NULL: none */
    struct mortise_masking masking;
    struct mortise_http_line *headers;
    size_t n_headers, cap_headers, header_bytes;
    size_t page; /* bytes of a redirect's body, which are thrown away */
    int status;
    bool head_there; /* status and headers */
    bool redirects;  /* the head says that the answer is elsewhere */
    bool old;        /* of HTTP/1.0, which knows no transfer codings */
};

/* The mask is shared. */
void mortise_http_reply_init(struct mortise_http_reply *a,
                             struct mortise_mask *mask,
                             const struct mortise_mem *mem);
void mortise_http_reply_finish(struct mortise_http_reply *a);
/* Another one comes: of the next hop, or behind a 1xx.  What all of them may
 * have for headers goes on being counted. */
void mortise_http_reply_clear(struct mortise_http_reply *a);

/* What comes: a line of the head with its line end, and pieces of the body.
 * MORTISE_HTTP_ANSWERED, or what is wrong with it, with words in err. */
enum mortise_http_outcome mortise_http_reply_line(struct mortise_http_reply *a,
                                                  const char *p, size_t n,
                                                  struct mortise_err *err);
enum mortise_http_outcome mortise_http_reply_body(struct mortise_http_reply *a,
                                                  const char *p, size_t n,
                                                  struct mortise_err *err);

/* The body is all there. */
enum mortise_http_outcome mortise_http_reply_end(struct mortise_http_reply *a,
                                                 struct mortise_err *err);

/* A header by its name in lower case; borrowed, or NULL. */
const char *mortise_http_reply_header(const struct mortise_http_reply *a,
                                      const char *name);
/* How long the server says to wait, if it does: in seconds, or until a date in
 * one of its three forms, which curl reads. */
bool mortise_http_reply_retry_after(const struct mortise_http_reply *a,
                                    const struct mortise_curl *curl,
                                    uint64_t *ms);
/* Into the members for it; `room` for all headers. */
void mortise_http_reply_fill(const struct mortise_http_reply *a,
                             struct mortise_http_answer *out,
                             struct mortise_http_header *room);

#endif
