/* cause.h -- why a program ended, of what it wrote to stderr.
 *
 * Some say it first and then where that was (node), some the other way around
 * (Python): what is long is shown by its beginning and its end. */
#ifndef PLUGINS_CAUSE_H
#define PLUGINS_CAUSE_H

#include "bytes.h"

enum { CAUSE_PART = 250 }; /* bytes of either */

/* The first byte of a character, from `at` on. */
MORTISE_INLINE uint64_t cause_from(mortise_str s, uint64_t at)
{
    while (at < s.n && ((unsigned char)s.p[at] & 0xc0) == 0x80)
        at++;
    return at;
}

/* ": TEXT" behind what is in `to`, of a JSON string; nothing of an empty one. */
MORTISE_INLINE void cause_put(struct bytes *to, mortise_jv written)
{
    struct bytes text = {0};
    mortise_str s;

    if (bytes_decode(&text, written) == MORTISE_S_OK) {
        while (text.n > 0 && (unsigned char)text.p[text.n - 1] <= ' ')
            text.n--;
        s = bytes_str(&text);
        if (s.n > 0)
            bytes_put(to, mortise_strz(": "));
        if (s.n > 2 * CAUSE_PART) {
            uint64_t from = cause_from(s, s.n - CAUSE_PART);

            bytes_put(to, mortise_strn(s.p, cause_from(s, CAUSE_PART)));
            bytes_put(to, mortise_strz(" [...] "));
            s = mortise_strn(s.p + from, s.n - from);
        }
        bytes_put(to, s);
    }
    bytes_free(&text);
}

#endif
