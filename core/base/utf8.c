/* utf8.c -- strict UTF-8 (RFC 3629).
 *
 * The input is untrusted, so nothing is repaired: a sequence of bytes is a code
 * point or an error.
 */
#include "core/base/utf8.h"

#include <stdio.h>
#include <string.h>

size_t mortise_utf8_decode(const char *p, const char *end, uint32_t *cp)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = (unsigned char)*p;
    size_t n = lead < 0x80   ? 1
               : lead < 0xC2 ? 0
               : lead < 0xE0 ? 2
               : lead < 0xF0 ? 3
               : lead < 0xF5 ? 4
                             : 0;
    uint32_t v = n == 1 ? lead : lead & (0x7Fu >> n);

    if (n == 0 || (size_t)(end - p) < n)
        return 0;
    for (size_t i = 1; i < n; i++) {
        unsigned char c = (unsigned char)p[i];

        if ((c & 0xC0) != 0x80)
            return 0;
        v = v << 6 | (c & 0x3Fu);
    }
    if (v < least[n] || v > 0x10FFFF || (v >= 0xD800 && v <= 0xDFFF))
        return 0;
    *cp = v;
    return n;
}

size_t mortise_utf8_encode(char out[4], uint32_t cp)
{
    size_t n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;

    if (cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF))
        return 0;
    if (n == 1) {
        out[0] = (char)cp;
        return 1;
    }
    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (cp & 0x3F));
        cp >>= 6;
    }
    out[0] = (char)((0xF00u >> n & 0xF0) | cp);
    return n;
}

bool mortise_utf8_is_valid(const char *s, size_t n)
{
    const char *end = s + n;
    uint32_t cp;
    size_t step;

    for (; s < end; s += step) {
        step = mortise_utf8_decode(s, end, &cp);
        if (step == 0)
            return false;
    }
    return true;
}

size_t mortise_utf8_count(const char *s, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++)
        count += ((unsigned char)s[i] & 0xC0) != 0x80;
    return count;
}

size_t mortise_utf8_get_prefix_size(const char *s, size_t n, size_t most)
{
    if (n <= most)
        return n;
    while (most > 0 && ((unsigned char)s[most] & 0xC0) == 0x80)
        most--;
    return most;
}

bool mortise_utf8_is_hidden(uint32_t cp)
{
    /* sorted */
    static const struct {
        uint32_t first, last;
    } hidden[] = {{0x00, 0x1F},     {0x7F, 0x9F},       {0xAD, 0xAD},
                  {0x34F, 0x34F},   {0x61C, 0x61C},     {0x115F, 0x1160},
                  {0x17B4, 0x17B5}, {0x180B, 0x180F},   {0x200B, 0x200F},
                  {0x2028, 0x202E}, {0x2060, 0x206F},   {0x3164, 0x3164},
                  {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
                  {0xFFF9, 0xFFFB}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};
    size_t i = 0;

    while (i < sizeof hidden / sizeof hidden[0] && hidden[i].last < cp)
        i++;
    return i < sizeof hidden / sizeof hidden[0] && hidden[i].first <= cp;
}

const char *mortise_utf8_escape(char out[MORTISE_UTF8_ESCAPE], uint32_t cp)
{
    const unsigned v = (unsigned)cp & 0x1FFFFF;

    if (v < 0x10000)
        snprintf(out, MORTISE_UTF8_ESCAPE, "\\u%04x", v & 0xFFFF);
    else
        snprintf(out, MORTISE_UTF8_ESCAPE, "\\u%04x\\u%04x",
                 (0xD800 + ((v - 0x10000) >> 10)) & 0xFFFF,
                 0xDC00 + (v & 0x3FF));
    return out;
}

int mortise_utf8_check(const char *what, const char *text,
                       struct mortise_err *err)
{
    return mortise_utf8_is_valid(text, strlen(text))
               ? MORTISE_OK
               : mortise_fail(err, MORTISE_EINVAL, "%s is not valid UTF-8",
                              what);
}

int mortise_utf8_check_line(const char *what, const char *text, size_t most,
                            struct mortise_err *err)
{
    size_t n = strlen(text);
    bool good = n > 0 && n <= most && mortise_utf8_is_valid(text, n);

    for (size_t i = 0; good && i < n; i++)
        good = (unsigned char)text[i] >= 0x20 && text[i] != 0x7f;
    return good ? MORTISE_OK
                : mortise_fail(err, MORTISE_EINVAL,
                               "%s must be 1 to %zu bytes of UTF-8 without "
                               "control characters",
                               what, most);
}
