/* spelling.c -- decode one spelled byte or character (RFC 3986, RFC 8259); see
 * spelling.h. */
#include "core/base/spelling.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/digit.h"
#include "core/base/utf8.h"

/* Decode the hexadecimal digits p[from, to), of which only p[0, n) has been
 * read. */
static enum mortise_spelling_result decode_hex_digits(const unsigned char *p,
                                                      size_t n, size_t from,
                                                      size_t to, uint32_t *code)
{
    *code = 0;
    for (size_t i = from; i < to && i < n; i++) {
        unsigned d = mortise_digit_get_value((char)p[i]);

        if (d == MORTISE_NO_DIGIT)
            return MORTISE_SPELLED_NONE;
        *code = *code << 4 | d;
    }
    return n < to ? MORTISE_SPELLED_PARTIAL : MORTISE_SPELLED_WHOLE;
}

/* \uXXXX, or a surrogate pair of two. */
static enum mortise_spelling_result decode_u_escape(const unsigned char *p,
                                                    size_t n, uint32_t *code)
{
    enum mortise_spelling_result s = decode_hex_digits(p, n, 2, 6, code);
    uint32_t low;

    if (s != MORTISE_SPELLED_WHOLE || *code < 0xd800 || *code > 0xdfff)
        return s;
    if (*code > 0xdbff || (n > 6 && p[6] != '\\') || (n > 7 && p[7] != 'u'))
        return MORTISE_SPELLED_NONE;
    s = decode_hex_digits(p, n, 8, 12, &low);
    if (s == MORTISE_SPELLED_WHOLE && (low < 0xdc00 || low > 0xdfff))
        return MORTISE_SPELLED_NONE;
    *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    return s;
}

static enum mortise_spelling_result decode_escape(const unsigned char *p,
                                                  size_t n, uint32_t *code)
{
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    const char *at;

    if (n < 2)
        return MORTISE_SPELLED_PARTIAL;
    if (p[1] == 'u')
        return decode_u_escape(p, n, code);
    if (p[1] == 'x')
        return decode_hex_digits(p, n, 2, 4, code);
    at = p[1] != '\0' ? strchr(from, p[1]) : NULL;
    *code = at != NULL ? (unsigned char)to[at - from] : p[1];
    return MORTISE_SPELLED_WHOLE;
}

enum mortise_spelling_result mortise_spelling_decode(const unsigned char *p,
                                                     size_t n,
                                                     unsigned char out[4],
                                                     size_t *n_out)
{
    /* a single byte, not a character */
    bool one = p[0] == '%' || (n > 1 && p[1] != 'u');
    uint32_t code = 0;
    enum mortise_spelling_result s;

    *n_out = 0;
    if (mortise_spelling_kind(p[0]) == MORTISE_SPELLED_BREAK)
        return MORTISE_SPELLED_WHOLE;
    s = p[0] == '%' ? decode_hex_digits(p, n, 1, 3, &code)
                    : decode_escape(p, n, &code);
    if (s != MORTISE_SPELLED_WHOLE)
        return s;
    if (one) {
        out[0] = (unsigned char)code;
        *n_out = 1;
    } else {
        *n_out = mortise_utf8_encode((char *)out, code);
    }
    return MORTISE_SPELLED_WHOLE;
}
