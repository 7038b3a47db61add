/* real.c -- doubles as text, independent of the process's locale.
 *
 * The library runs in programs that may have called setlocale(), and then
 * printf() and strtod() use "1,5".  To write, we replace the decimal point in
 * the output of printf() (localeconv() is not thread-safe).  To read, we first
 * try the text as it is. strtod() stops before a '.' that is not the locale's
 * decimal point; then we substitute the locale's.
 *
 * For the shortest form: 15 significant digits always survive a conversion to
 * double and back, and 17 always identify a double.  So the answer has 15, 16
 * or 17 digits, and %g drops trailing zeros.  Subnormal numbers have fewer
 * digits, so for those we start from one.
 */
#include "core/base/real.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1000 };

/* Replace the locale's decimal point, which may have several bytes, by '.'. */
static size_t normalize_point(char *text)
{
    char *to = text;

    for (const char *p = text; *p != '\0'; p++) {
        if (strchr("0123456789+-einfa", *p) != NULL)
            *to++ = *p;
        else if (to == text || to[-1] != '.')
            *to++ = '.';
    }
    *to = '\0';
    return (size_t)(to - text);
}

static size_t put_non_finite(char *out, double v)
{
    strcpy(out, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
    return strlen(out);
}

size_t mortise_real_format(char out[MORTISE_REAL_TEXT], double v)
{
    int digits = fabs(v) < DBL_MIN ? 1 : 15;

    if (!isfinite(v))
        return put_non_finite(out, v);
    do
        snprintf(out, MORTISE_REAL_TEXT, "%.*g", digits, v);
    while (digits++ < 17 && strtod(out, NULL) != v);
    return normalize_point(out);
}

size_t mortise_real_format_digits(char *out, size_t size, double v, char letter,
                                  int digits)
{
    if (letter == 'e')
        snprintf(out, size, "%.*e", digits, v);
    else
        snprintf(out, size, "%.*f", digits, v);
    return normalize_point(out);
}

static const char *skip_decimal_digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

/* The position of the decimal point (or where it would be); NULL: not
 * a number. */
static const char *find_point(const char *s, const char *end)
{
    const char *p = s, *digits, *point;
    size_t n;

    if (p < end && (*p == '+' || *p == '-'))
        p++;
    digits = p;
    point = p = skip_decimal_digits(p, end);
    n = (size_t)(p - digits);
    if (p < end && *p == '.') {
        p = skip_decimal_digits(p + 1, end);
        n += (size_t)(p - point - 1);
    }
    if (n == 0)
        return NULL;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        if (skip_decimal_digits(p, end) == p)
            return NULL;
        p = skip_decimal_digits(p, end);
    }
    return p == end ? point : NULL;
}

int mortise_real_parse_long(double *out, char *room, const char *s, size_t n)
{
    const char *at = find_point(s, s + n);
    char point[16], *end;

    if (at == NULL)
        return -1;
    memcpy(room, s, n);
    room[n] = '\0';
    *out = strtod(room, &end);
    if (end == room + n)
        return 0;
    /* strtod() stopped at the '.': use the decimal point of this locale */
    snprintf(point, sizeof point, "%.1f", 0.5); /* "0", point, "5" */
    point[strlen(point) - 1] = '\0';
    snprintf(room + (at - s), n - (size_t)(at - s) + MORTISE_REAL_SCRATCH,
             "%s%.*s", point + 1, (int)(s + n - at - 1), at + 1);
    *out = strtod(room, NULL);
    return 0;
}

int mortise_real_parse(double *out, const char *s, size_t n)
{
    char room[LONGEST + MORTISE_REAL_SCRATCH];

    return n <= LONGEST ? mortise_real_parse_long(out, room, s, n) : -1;
}
