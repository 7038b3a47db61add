/* id.c -- UUIDv7 (RFC 9562 section 5.7): 48 bits of milliseconds, version 7, 12
 * random bits, variant 10, 62 random bits.  They sort by creation time. */
#include "core/base/id.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"

struct mortise_uuid mortise_uuid7_make(uint64_t ms, const uint8_t random[10])
{
    struct mortise_uuid id;

    for (int i = 0; i < 6; i++)
        id.b[i] = (uint8_t)(ms >> (40 - 8 * i));
    memcpy(id.b + 6, random, 10);
    id.b[6] = (uint8_t)(0x70 | (id.b[6] & 0x0F));
    id.b[8] = (uint8_t)(0x80 | (id.b[8] & 0x3F));
    return id;
}

struct mortise_uuid mortise_uuid7_make_now(void)
{
    uint8_t random[10];

    randombytes_buf(random, sizeof random);
    return mortise_uuid7_make(mortise_now_ms(), random);
}

void mortise_uuid_format(char out[MORTISE_UUID_TEXT], struct mortise_uuid id)
{
    static const char dash_after[16] = {[3] = 1, [5] = 1, [7] = 1, [9] = 1};
    char *p = out;

    for (int i = 0; i < 16; i++) {
        p += snprintf(p, 3, "%02x", id.b[i]);
        if (dash_after[i])
            *p++ = '-';
    }
    *p = '\0';
}
