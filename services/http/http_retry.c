/* http_retry.c -- whether a request is made again, and when.
 *
 * Who starts a request says how often it may be made again (`retries`), and by
 * that, that making it twice does no harm.  Here is what is worth it:
 *
 *   (1) What another try may mend: there was no connection, or it broke; or the
 *       answer says that the server is at fault or busy: 408, 425, 429, 500, 502,
 *       503, 504.  Not time that ran out, which was all the time that there was.
 *   (2) The k-th wait is anything up to half a second times two to the k-1,
 *       but no more than ten seconds ("full jitter"), so that those who failed
 *       together do not come back together; on top of what the server asked for
 *       in Retry-After.
 *   (3) Nobody is waited for here for longer than a minute, nor beyond the time
 *       that the request has: the answer is given as it is, and who asked may
 *       wait on disk, where that costs nothing.
 */
#include <sodium.h>

#include "core/base/clock.h"
#include "services/http/http_call.h"

enum { FIRST_MS = 500, LAST_MS = 10000, PATIENCE_MS = 60000 };

/* (1) */
static bool may_help(const struct mortise_http_call *c)
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
static uint64_t jitter_ms(unsigned tries)
{
    uint64_t most = FIRST_MS;

    while (tries-- > 0 && most < LAST_MS)
        most *= 2;
    return randombytes_uniform((uint32_t)(most < LAST_MS ? most : LAST_MS) + 1);
}

bool mortise_http_retry_wait(const struct mortise_http_call *c,
                             uint64_t *wait_ms)
{
    uint64_t asked = 0;

    if (c->tries >= c->r.retries || !may_help(c))
        return false;
    if (c->outcome == MORTISE_HTTP_ANSWERED)
        mortise_http_reply_retry_after(&c->reply, c->h->curl.curl, &asked);
    if (asked > PATIENCE_MS)
        return false;
    *wait_ms = asked + jitter_ms(c->tries);
    return c->deadline_ns == 0 ||
           mortise_mono_ns() + *wait_ms * 1000000 < c->deadline_ns;
}
