/* http_retry.c -- whether and when a request is retried.
 *
 * The caller sets `retries` and thereby states that repeating the request is
 * harmless.  The rules are:
 *
 *   (1) Retry if there was no connection, if it broke, or if the status says
 *       that the server failed or is busy: 408, 425, 429, 500, 502, 503, 504.
 *       Do not retry after a timeout, which has used up all the time.
 *   (2) The k-th wait is random between 0 and 500 ms * 2^(k-1), at most 10 s
 *       ("full jitter"), so that clients that failed together do not return
 *       together.  The wait that the server asked for in Retry-After is added.
 *   (3) Do not wait if the server asks for more than a minute, or if the wait
 *       would exceed the request's deadline: deliver the answer as it is.  The
 *       caller can wait on disk, which costs nothing. */
#include <sodium.h>

#include "core/base/clock.h"
#include "services/http/http_call.h"

enum { FIRST_MS = 500, LAST_MS = 10000, PATIENCE_MS = 60000 };

/* (1) */
static bool is_retryable(const struct mortise_http_call *c)
{
    if (c->outcome != MORTISE_HTTP_ANSWERED)
        return c->outcome == MORTISE_HTTP_UNREACHABLE ||
               c->outcome == MORTISE_HTTP_LOST;
    switch (c->reply.status) {
    case 408:
    case 425:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
        return true;
    default:
        return false;
    }
}

/* (2) */
static uint64_t choose_jitter_ms(unsigned tries)
{
    uint64_t most = FIRST_MS;

    while (tries-- > 0 && most < LAST_MS)
        most *= 2;
    return randombytes_uniform((uint32_t)(most < LAST_MS ? most : LAST_MS) + 1);
}

bool mortise_http_must_retry(const struct mortise_http_call *c,
                             uint64_t *wait_ms)
{
    uint64_t asked = 0;

    if (c->tries >= c->r.retries || !is_retryable(c))
        return false;
    if (c->outcome == MORTISE_HTTP_ANSWERED)
        mortise_http_reply_get_retry_after(&c->reply, c->h->curl.curl, &asked);
    if (asked > PATIENCE_MS)
        return false;
    *wait_ms = asked + choose_jitter_ms(c->tries);
    return c->deadline_ns == 0 ||
           mortise_mono_ns() + *wait_ms * 1000000 < c->deadline_ns;
}
