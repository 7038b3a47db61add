/* digit.h -- the value of a digit. [any] */
#ifndef MORTISE_BASE_DIGIT_H
#define MORTISE_BASE_DIGIT_H

enum { MORTISE_NO_DIGIT = 16 };

/* The value (0 to 15) of a decimal or hexadecimal digit, else MORTISE_NO_DIGIT.
 * That is not less than any base up to 16, so `mortise_digit_get_value(c) < base`
 * suffices as a check. */
static inline unsigned mortise_digit_get_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if (c >= 'a' && c <= 'f')
        return (unsigned)(c - 'a') + 10;
    return c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10 : MORTISE_NO_DIGIT;
}

#endif
