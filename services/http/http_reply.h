/* http_reply.h -- an answer while it arrives. */
#ifndef MORTISE_SERVICES_HTTP_HTTP_REPLY_H
#define MORTISE_SERVICES_HTTP_HTTP_REPLY_H

#include "core/base/buf.h"
#include "core/base/mask.h"
#include "services/http/curl.h"
#include "services/http/http.h"

struct mortise_http_line; /* offsets of a header in the text */

struct mortise_http_reply {
    const struct mortise_mem *mem;
    size_t body_max; /* both set by the owner */
    bool follow;     /* follow redirects */

    struct mortise_buf text, body; /* text: names and values, NUL-terminated */
    struct mortise_mask *mask;     /* applied to the body; NULL: none */
    struct mortise_mask_stream masking;
    struct mortise_http_line *headers;
    size_t n_headers, cap_headers, header_bytes;
    size_t page; /* bytes of a redirect's body, which is discarded */
    int status;
    bool head_there; /* status and headers are complete */
    bool redirects;  /* the head is a redirect to be followed */
    bool old;        /* HTTP/1.0, which has no transfer codings */
};

/* Adds a reference to the mask. */
void mortise_http_reply_init(struct mortise_http_reply *a,
                             struct mortise_mask *mask,
                             const struct mortise_mem *mem);
void mortise_http_reply_finish(struct mortise_http_reply *a);
/* Prepare for another head: of the next hop, or after a 1xx.  header_bytes
 * keeps counting, so its limit applies to all heads together. */
void mortise_http_reply_clear(struct mortise_http_reply *a);

/* Add a line of the head (with its line end) or a piece of the body.  Return
 * MORTISE_HTTP_ANSWERED, or the failure with a message in err. */
enum mortise_http_outcome
mortise_http_reply_add_line(struct mortise_http_reply *a, const char *p,
                            size_t n, struct mortise_err *err);
enum mortise_http_outcome
mortise_http_reply_add_body(struct mortise_http_reply *a, const char *p,
                            size_t n, struct mortise_err *err);

/* The body is complete. */
enum mortise_http_outcome
mortise_http_reply_check_end(struct mortise_http_reply *a,
                             struct mortise_err *err);

/* Get the value of a header by its name in lower case; borrowed, or NULL. */
const char *mortise_http_reply_find_header(const struct mortise_http_reply *a,
                                           const char *name);
/* Parse Retry-After, if there is one: seconds, or a date in one of HTTP's three
 * formats, which curl parses.  The wait is at most a day. */
bool mortise_http_reply_get_retry_after(const struct mortise_http_reply *a,
                                        const struct mortise_curl *curl,
                                        uint64_t *ms);
/* Fill in status, headers and body of the answer; `room` has space for all
 * headers. */
void mortise_http_reply_copy_to(const struct mortise_http_reply *a,
                                struct mortise_http_answer *out,
                                struct mortise_http_header *room);

#endif
