/* digit.h -- what a digit stands for.  [any] */
#ifndef MORTISE_BASE_DIGIT_H
#define MORTISE_BASE_DIGIT_H

enum { MORTISE_NO_DIGIT = 16 };

/* 0 to 15, of a decimal or hexadecimal digit; else MORTISE_NO_DIGIT, which no
 * base up to 16 has. */
static inline unsigned mortise_digit(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    return c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : MORTISE_NO_DIGIT;
}

#endif
