/* shop.h -- what the refund graph talks to: a model and a payment server, for
 * many trials at once, each below a path of its own.  What came is kept by
 * us, in files of a directory, before it is answered.
 *
 *   POST /TRIAL/v1/chat/completions   a scripted model; a line a request
 *   POST /TRIAL/refunds               a line for each refund that was made: as
 *                                     often as there were Idempotency-Keys
 */
#ifndef KILL_SHOP_H
#define KILL_SHOP_H

#include <stdint.h>

/* It lives in this process, and serves those that are forked from it. */
void shop_begin(const char *dir);
void shop_end(void);
/* Where a trial finds it: its directory's name says which; static until the next
 * call. */
const char *shop_url(const char *trial);

struct shop_call {
    uint64_t at_ms;  /* CLOCK_REALTIME */
    uint64_t digest; /* of the request's body */
};

/* What a trial's model was asked, in order: how often, of which the first `cap`
 * are in `out`. */
unsigned shop_calls(const char *trial, struct shop_call *out, unsigned cap);
/* How many refunds there were. */
unsigned shop_refunds(const char *trial);
/* The file that is there as soon as there was one; static until the next call. */
const char *shop_refunds_file(const char *trial);

#endif
