/* curl_loop.h -- libcurl's multi interface, driven by libuv.
 *
 * Everything is [loop].  `done` and `turned` are called after curl has
 * returned; `no_socket` may be called from inside curl. */
#ifndef MORTISE_SERVICES_HTTP_CURL_LOOP_H
#define MORTISE_SERVICES_HTTP_CURL_LOOP_H

#include <uv.h>

#include "services/http/curl.h"
#include "core/engine/parts/timers.h"

struct mortise_curl_loop {
    const struct mortise_mem *mem; /* borrowed, like loop and timers */
    uv_loop_t *loop;
    struct mortise_timers *timers;

    const struct mortise_curl *curl; /* NULL: not loaded yet */
    CURLM *multi;
    struct mortise_timer alarm; /* the next timeout of curl */

    /* Callbacks of the owner.  A transfer ended; `private` is its
     * CURLOPT_PRIVATE. */
    void (*done)(void *private, CURLcode code);
    /* curl has run, and `done` was called for each transfer that ended. */
    void (*turned)(struct mortise_curl_loop *l);
    /* The socket of this transfer cannot be polled. */
    void (*no_socket)(void *private);
};

/* Call before the first transfer; further calls do nothing. */
int mortise_curl_loop_start(struct mortise_curl_loop *l,
                            struct mortise_err *err);
/* Close a loop that has no transfers.  A zeroed loop is fine. */
void mortise_curl_loop_close(struct mortise_curl_loop *l);

/* Start and abort a transfer; remove() frees the handle.  Do not call them from
 * inside curl. */
bool mortise_curl_loop_add(struct mortise_curl_loop *l, CURL *easy);
void mortise_curl_loop_remove(struct mortise_curl_loop *l, CURL *easy);

#endif
