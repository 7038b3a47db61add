/* spelling.h -- bytes that a text does not write as they are: %2f, \u002f, \/,
 * and the breaks of lines that are to be read over. */
#ifndef MORTISE_BASE_SPELLING_H
#define MORTISE_BASE_SPELLING_H

#include <stddef.h>

enum {
    MORTISE_SPELLED_PERCENT = 1, /* %XX, of URLs and forms */
    MORTISE_SPELLED_ESCAPE = 2,  /* a backslash, of JSON and its like */
    MORTISE_SPELLED_BREAK = 4    /* of a line */
};
enum { MORTISE_SPELLED_MAX = 12 }; /* bytes: \ud83d\ude00 */

/* Which of these c begins, as a bit; 0: none. */
static inline unsigned mortise_spelling_kind(unsigned char c)
{
    return c == '%'                 ? MORTISE_SPELLED_PERCENT
           : c == '\\'              ? MORTISE_SPELLED_ESCAPE
           : c == '\n' || c == '\r' ? MORTISE_SPELLED_BREAK
                                    : 0;
}

enum mortise_spelled {
    MORTISE_SPELLED_MORE, /* p[0, n) may be the beginning of a spelling */
    MORTISE_SPELLED_NONE, /* p[0, n) is none */
    MORTISE_SPELLED_WHOLE /* p[0, n) is one, to its last byte */
};

/* What p[0, n) spells, n > 0: bytes of UTF-8 for a character, one for a byte,
 * none for a break. */
enum mortise_spelled mortise_spelling_read(const unsigned char *p, size_t n,
                                           unsigned char out[4], size_t *n_out);

#endif
