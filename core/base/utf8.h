/* utf8.h -- strict UTF-8 (RFC 3629). [any] */
#ifndef MORTISE_BASE_UTF8_H
#define MORTISE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/* Decode the code point at p (p < end).  Returns its length, or 0 if it is
 * invalid: overlong, a surrogate, beyond U+10FFFF, or truncated. */
size_t mortise_utf8_decode(const char *p, const char *end, uint32_t *cp);
/* Returns 1 to 4 bytes; 0 if cp is not a scalar value. */
size_t mortise_utf8_encode(char out[4], uint32_t cp);
bool mortise_utf8_is_valid(const char *s, size_t n);
/* MORTISE_EINVAL, with a message that names `what`, if the text is not UTF-8.
 * mortise_utf8_check_line() also requires 1 to `most` bytes without control
 * characters. */
int mortise_utf8_check(const char *what, const char *text,
                       struct mortise_err *err);
int mortise_utf8_check_line(const char *what, const char *text, size_t most,
                            struct mortise_err *err);
/* The number of code points in valid UTF-8. */
size_t mortise_utf8_count(const char *s, size_t n);
/* The length of the longest prefix of s that has at most `most` bytes and ends
 * at a character boundary. */
size_t mortise_utf8_get_prefix_size(const char *s, size_t n, size_t most);

/* Is the code point invisible, or does it change how others are displayed?
 * Controls (C0, DEL, C1), direction marks, line separators, the byte order
 * mark, joiners, fillers, variation selectors and tags. */
bool mortise_utf8_is_hidden(uint32_t cp);

/* Write the code point as a JSON escape, beyond U+FFFF as a pair.
 * Returns out. */
enum { MORTISE_UTF8_ESCAPE = 13 };
const char *mortise_utf8_escape(char out[MORTISE_UTF8_ESCAPE], uint32_t cp);

#endif
