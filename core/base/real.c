/* real.c -- doubles as text, whatever the process's locale.
 *
 * The library lives in programs that may have called setlocale(), and then
 * printf and strtod speak of "1,5".  We ask printf itself which sign that is
 * (localeconv() is not safe from every thread) and translate.  To read, we try
 * the text as it is: strtod() stops in front of a point that is not its own.
 *
 * The shortest form: 15 significant digits always survive the way through a
 * double and 17 always bring it back, so one of 15, 16, 17 is the answer,
 * and %g drops the zeros behind.  Subnormal numbers carry fewer digits, so
 * there we start from one.
 */
#include "core/base/real.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1000 };

/* Put '.' for the locale's decimal point, of however many bytes. */
static size_t neutral(char *text)
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

static size_t special(char *out, double v)
{
    strcpy(out, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
    return strlen(out);
}

size_t mortise_real_text(char out[MORTISE_REAL_TEXT], double v)
{
    int digits = fabs(v) < DBL_MIN ? 1 : 15;

    if (!isfinite(v))
        return special(out, v);
    do
        snprintf(out, MORTISE_REAL_TEXT, "%.*g", digits, v);
    while (digits++ < 17 && strtod(out, NULL) != v);
    return neutral(out);
}

size_t mortise_real_digits(char *out, size_t size, double v, char letter,
                           int digits)
{
    if (letter == 'e')
        snprintf(out, size, "%.*e", digits, v);
    else
        snprintf(out, size, "%.*f", digits, v);
    return neutral(out);
}

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

/* Where the decimal point stands (or would), or NULL if it is no number. */
static const char *find_point(const char *s, const char *end)
{
    const char *p = s, *digits, *point;
    size_t n;

    if (p < end && (*p == '+' || *p == '-'))
        p++;
    digits = p;
    point = p = skip_digits(p, end);
    n = (size_t)(p - digits);
    if (p < end && *p == '.') {
        p = skip_digits(p + 1, end);
        n += (size_t)(p - point - 1);
    }
    if (n == 0)
        return NULL;
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-'))
            p++;
        if (skip_digits(p, end) == p)
            return NULL;
        p = skip_digits(p, end);
    }
    return p == end ? point : NULL;
}

int mortise_real_read(double *out, char *room, const char *s, size_t n)
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
    /* it ended before the '.', which is not the point of this locale */
    snprintf(point, sizeof point, "%.1f", 0.5); /* "0", point, "5" */
    point[strlen(point) - 1] = '\0';
    snprintf(room + (at - s), n - (size_t)(at - s) + MORTISE_REAL_ROOM,
             "%s%.*s", point + 1, (int)(s + n - at - 1), at + 1);
    *out = strtod(room, NULL);
    return 0;
}

int mortise_real_parse(double *out, const char *s, size_t n)
{
    char room[LONGEST + MORTISE_REAL_ROOM];

    return n <= LONGEST ? mortise_real_read(out, room, s, n) : -1;
}
