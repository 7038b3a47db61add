/* id.h -- UUIDv7 (RFC 9562 section 5.7).  [any] */
#ifndef MORTISE_BASE_ID_H
#define MORTISE_BASE_ID_H

#include <stdint.h>

enum { MORTISE_UUID_TEXT = 37 }; /* and the NUL */

struct mortise_uuid {
    uint8_t b[16];
};

/* From a time (ms since 1970) and 10 random bytes.  A pure function, so that
 * the step function can derive ids from its seed. */
struct mortise_uuid mortise_uuid7_make(uint64_t ms, const uint8_t random[10]);
/* From the clock and the system's randomness. */
struct mortise_uuid mortise_uuid7_make_now(void);
void mortise_uuid_format(char out[MORTISE_UUID_TEXT], struct mortise_uuid id);

#endif
