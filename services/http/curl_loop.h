/* curl_loop.h -- libcurl's multi interface, driven by libuv.
 *
 * Everything is [loop].  `done` and `turned` come from the loop, when curl is
 * off the stack; `no_socket` may come from inside of curl. */
#ifndef MORTISE_SERVICES_HTTP_CURL_LOOP_H
#define MORTISE_SERVICES_HTTP_CURL_LOOP_H

#include <uv.h>

#include "services/http/curl.h"
#include "core/engine/parts/timers.h"

struct mortise_curl_loop {
    const struct mortise_mem *mem; /* lent, as are these */
    uv_loop_t *loop;
    struct mortise_timers *timers;

    const struct mortise_curl *curl; /* NULL: not loaded yet */
    CURLM *multi;
    struct mortise_timer alarm; /* curl's */

    /* The owner's.  A transfer ended; `private` is its CURLOPT_PRIVATE. */
    void (*done)(void *private, CURLcode code);
    /* curl was called, and all that ended was said. */
    void (*turned)(struct mortise_curl_loop *l);
    /* There are no means to wait for a socket of this transfer's. */
    void (*no_socket)(void *private);
};

/* Before the first transfer, and again as often as one likes. */
int mortise_curl_loop_start(struct mortise_curl_loop *l,
                            struct mortise_err *err);
/* Of what has no transfers; zeroed is fine. */
void mortise_curl_loop_close(struct mortise_curl_loop *l);

/* Begin and abandon a transfer; remove() frees the handle.  Not from inside of
 * curl. */
bool mortise_curl_loop_add(struct mortise_curl_loop *l, CURL *easy);
void mortise_curl_loop_remove(struct mortise_curl_loop *l, CURL *easy);

#endif
