/* real.h -- doubles as text, whatever the process's locale.  [any] */
#ifndef MORTISE_BASE_REAL_H
#define MORTISE_BASE_REAL_H

#include <stddef.h>

enum {
    MORTISE_REAL_TEXT = 40, /* room enough, with the NUL */
    MORTISE_REAL_ROOM = 16  /* beyond the bytes, to read them */
};

/* The shortest decimal that reads back as v: "1.5", "100", "1e+20", "-0",
 * "inf", "-inf", "nan".  Returns its length. */
size_t mortise_real_text(char out[MORTISE_REAL_TEXT], double v);

/* `letter` 'f' or 'e' and so many digits behind the point, as printf rounds:
 * "1.50", "1.5e+00".  Cut to the room there is; the length. */
size_t mortise_real_digits(char *out, size_t size, double v, char letter,
                           int digits);

/* All n bytes as [+-]digits[.digits][(e|E)[+-]digits], digits on one side of
 * the point at least.  Too large gives an infinity.  -1 when it is no number;
 * other spellings (inf, hex) and more than 1000 bytes are none. */
int mortise_real_parse(double *out, const char *s, size_t n);
/* The same for any n; `room` has n + MORTISE_REAL_ROOM bytes. */
int mortise_real_read(double *out, char *room, const char *s, size_t n);

#endif
