/* halves.h -- halves of characters in JSON, for the plugins that read streams.
 *
 * A server that cuts a text into pieces may cut a surrogate pair: one event ends
 * a string with `\ud83d`, and the next one begins a string with `\ude00`.  Each
 * half alone is no JSON (json.h refuses it).
 *
 *     struct halves h = {0};
 *
 *     status = halves_parse(&h, text, 1, &v);
 *     halves_finish(&h);                 whatever happened
 *
 * A first half at the end of a string is held back, and stands before the second
 * half with which a later string begins.  Any other half becomes U+FFFD.  Texts
 * that come side by side share what is held back: halves of two of them at once
 * are not told apart.
 *
 * Threads    No state but its own.
 */
#ifndef PLUGINS_HALVES_H
#define PLUGINS_HALVES_H

#include "bytes.h"

struct halves {
    char first[6]; /* as it came, if has_first */
    int has_first;
    struct bytes room;
};

MORTISE_INLINE void halves_finish(struct halves *h)
{
    bytes_free(&h->room);
    h->has_first = 0;
}

/* The code unit that is escaped at p, or a number beyond all of them. */
MORTISE_INLINE uint32_t halves_unit(const char *p, const char *end)
{
    return end - p >= 6 && p[0] == '\\' && p[1] == 'u'
               ? mortise_jp_hex4(p + 2, end)
               : UINT32_MAX;
}

MORTISE_INLINE int halves_is_first(uint32_t unit)
{
    return unit >= 0xD800 && unit <= 0xDBFF;
}

MORTISE_INLINE int halves_is_second(uint32_t unit)
{
    return unit >= 0xDC00 && unit <= 0xDFFF;
}

/* What stands at p in a string becomes that; returns the bytes of it at p. */
MORTISE_INLINE uint64_t halves_step(struct halves *h, const char *p,
                                    const char *end, int begins, int holds,
                                    mortise_status *status)
{
    static const char unknown[] = "\\ufffd";
    uint32_t unit = halves_unit(p, end);
    uint64_t n = *p == '\\' && end - p > 1 ? 2 : 1;

    if (halves_is_first(unit) && halves_is_second(halves_unit(p + 6, end))) {
        n = 12;
    } else if (halves_is_first(unit) && holds && end - p > 6 && p[6] == '"') {
        memcpy(h->first, p, 6);
        h->has_first = 1;
        return 6;
    } else if (halves_is_second(unit) && begins && h->has_first) {
        *status = bytes_put(&h->room, mortise_strn(h->first, 6));
        h->has_first = 0;
        n = 6;
    } else if (halves_is_first(unit) || halves_is_second(unit)) {
        *status = bytes_put(&h->room, mortise_strz(unknown));
        return 6;
    }
    if (*status == MORTISE_S_OK)
        *status = bytes_put(&h->room, mortise_strn(p, n));
    return n;
}

/* The text without halves, lent until the next call.  `holds`: more texts
 * follow, which may begin with the other half.  MORTISE_S_NOMEM. */
MORTISE_INLINE mortise_status halves_mend(struct halves *h, mortise_str text,
                                          int holds, mortise_str *out)
{
    const char *p = text.p, *end = text.n > 0 ? p + text.n : p;
    mortise_status status = MORTISE_S_OK;
    int in_string = 0, begins = 0;

    h->room.n = 0;
    while (p < end && status == MORTISE_S_OK) {
        if (*p == '"') {
            in_string = begins = !in_string;
            status = bytes_put(&h->room, mortise_strn(p++, 1));
        } else if (in_string) {
            p += halves_step(h, p, end, begins, holds, &status);
            begins = 0;
        } else {
            status = bytes_put(&h->room, mortise_strn(p++, 1));
        }
    }
    *out = bytes_str(&h->room);
    return status;
}

/* As mortise_jv_parse(), but for halves.  The value may point into h, until the
 * next call. */
MORTISE_INLINE mortise_status halves_parse(struct halves *h, mortise_str text,
                                           int holds, mortise_jv *v)
{
    mortise_status status = mortise_jv_parse(text, v);

    if (status == MORTISE_S_OK)
        return status;
    status = halves_mend(h, text, holds, &text);
    return status == MORTISE_S_OK ? mortise_jv_parse(text, v) : status;
}

#endif
