/* spelling.h -- bytes that a text writes in another way: %2f, \u002f, \/, and
 * line breaks that a reader skips. */
#ifndef MORTISE_BASE_SPELLING_H
#define MORTISE_BASE_SPELLING_H

#include <stddef.h>

enum {
    MORTISE_SPELLED_PERCENT = 1, /* %XX, in URLs and forms */
    MORTISE_SPELLED_ESCAPE = 2,  /* a backslash, in JSON and similar formats */
    MORTISE_SPELLED_BREAK = 4    /* a line break */
};
enum { MORTISE_SPELLED_MAX = 12 }; /* bytes: the longest is \ud83d\ude00 */

/* The kind of spelling that c begins, as a bit; 0: none. */
static inline unsigned mortise_spelling_kind(unsigned char c)
{
    return c == '%'                 ? MORTISE_SPELLED_PERCENT
           : c == '\\'              ? MORTISE_SPELLED_ESCAPE
           : c == '\n' || c == '\r' ? MORTISE_SPELLED_BREAK
                                    : 0;
}

enum mortise_spelling_result {
    MORTISE_SPELLED_PARTIAL, /* p[0, n) may be the beginning of a spelling */
    MORTISE_SPELLED_NONE,    /* p[0, n) is not a spelling */
    MORTISE_SPELLED_WHOLE    /* p[0, n) is exactly one spelling */
};

/* Decode p[0, n), n > 0: a character to UTF-8, a byte to one byte, a line break
 * to nothing. */
enum mortise_spelling_result mortise_spelling_decode(const unsigned char *p,
                                                     size_t n,
                                                     unsigned char out[4],
                                                     size_t *n_out);

#endif
