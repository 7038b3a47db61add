/* utf8.h -- UTF-8, strictly (RFC 3629).  [any] */
#ifndef MORTISE_BASE_UTF8_H
#define MORTISE_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/* The code point at p (p < end) into *cp; returns its bytes, or 0 when there
 * is none: overlong, surrogate, beyond U+10FFFF, cut short. */
size_t mortise_utf8_decode(const char *p, const char *end, uint32_t *cp);
/* Writes 1 to 4 bytes; 0 when cp is no scalar value. */
size_t mortise_utf8_encode(char out[4], uint32_t cp);
bool mortise_utf8_valid(const char *s, size_t n);
/* MORTISE_EINVAL names `what` if the text is not UTF-8; _line: nor if it is empty,
 * longer than `most` bytes, or has control characters. */
int mortise_utf8_check(const char *what, const char *text,
                       struct mortise_err *err);
int mortise_utf8_check_line(const char *what, const char *text, size_t most,
                            struct mortise_err *err);
/* Code points in valid UTF-8. */
size_t mortise_utf8_count(const char *s, size_t n);
/* How much of s to show where only `most` bytes fit: whole characters. */
size_t mortise_utf8_cut(const char *s, size_t n, size_t most);

/* Is it seen as something else, or moves what is seen?  Controls (C0, DEL, C1),
 * marks of direction, line separators, the byte order mark, and all that has no
 * shape of its own: joiners, fillers, selectors of variants, tags. */
bool mortise_utf8_hides(uint32_t cp);

/* A character as JSON escapes it, beyond U+FFFF as a pair; returns out. */
enum { MORTISE_UTF8_ESCAPE = 13 };
const char *mortise_utf8_escape(char out[MORTISE_UTF8_ESCAPE], uint32_t cp);

#endif
