/* real.h -- doubles as text, independent of the process's locale. [any] */
#ifndef MORTISE_BASE_REAL_H
#define MORTISE_BASE_REAL_H

#include <stddef.h>

enum {
    MORTISE_REAL_TEXT = 40,   /* enough for any double, with the NUL */
    MORTISE_REAL_SCRATCH = 16 /* extra bytes for mortise_real_parse_long() */
};

/* Print the shortest decimal that reads back as v: "1.5", "100", "1e+20", "-0",
 * "inf", "-inf", "nan".  Returns its length. */
size_t mortise_real_format(char out[MORTISE_REAL_TEXT], double v);

/* Print like printf(): `letter` is 'f' or 'e', with `digits` digits after the
 * point: "1.50", "1.5e+00".  Truncates to `size`; returns the length. */
size_t mortise_real_format_digits(char *out, size_t size, double v, char letter,
                                  int digits);

/* Parse all n bytes as [+-]digits[.digits][(e|E)[+-]digits], with a digit
 * before or after the point.  Too large a number gives an infinity. -1: not a
 * number; other spellings (inf, hex) and texts of more than 1000 bytes are not
 * numbers. */
int mortise_real_parse(double *out, const char *s, size_t n);
/* Parse like mortise_real_parse(), but a text of any length.  `room` is scratch
 * space of n + MORTISE_REAL_SCRATCH bytes. */
int mortise_real_parse_long(double *out, char *room, const char *s, size_t n);

#endif
