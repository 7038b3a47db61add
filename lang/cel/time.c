/* time.c -- timestamps and durations as text and as dates.
 *
 * Parsing is strict and uses only integers, so that each nanosecond in the text
 * is exact: "0.1s" is 100,000,000 nanoseconds.  Values out of range are
 * refused.  Nothing wraps, and only digits below a nanosecond are dropped.
 */
#include "lang/cel/time.h"

#include <stdio.h>
#include <string.h>

#include "core/base/zone.h"

enum { MINUTE = 60, HOUR = 3600, DAY = 86400 };

static const int64_t first = -62135596800; /* 0001-01-01T00:00:00Z */
static const int64_t last = 253402300799;  /* 9999-12-31T23:59:59Z */

bool mortise_cel_time_is_in_range(struct cel_time t)
{
    return t.s >= first && t.s <= last && t.ns >= 0 && t.ns < CEL_SECOND;
}

/* ---- reading ----------------------------------------------------------- */

struct text {
    const char *p, *end;
};

static bool take_char(struct text *t, char c)
{
    if (t->p == t->end || *t->p != c)
        return false;
    t->p++;
    return true;
}

static bool at_digit(const struct text *t)
{
    return t->p < t->end && *t->p >= '0' && *t->p <= '9';
}

/* Exactly n digits. */
static bool read_fixed_digits(struct text *t, unsigned n, unsigned *out)
{
    *out = 0;
    for (; n > 0 && at_digit(t); n--)
        *out = *out * 10 + (unsigned)(*t->p++ - '0');
    return n == 0;
}

/* After a dot: digits as nanoseconds. */
static bool read_fraction(struct text *t, int64_t *out)
{
    int64_t unit = CEL_SECOND / 10;
    const char *from = t->p;

    *out = 0;
    for (; at_digit(t); t->p++, unit /= 10)
        *out += (*t->p - '0') * unit;
    return t->p > from;
}

static unsigned get_month_days(unsigned year, unsigned month)
{
    int64_t next = month == 12 ? mortise_zone_date_to_days(year + 1, 1, 1)
                               : mortise_zone_date_to_days(year, month + 1, 1);

    return (unsigned)(next - mortise_zone_date_to_days(year, month, 1));
}

/* hh:mm, as seconds. */
static bool read_hours_minutes(struct text *t, int32_t *out)
{
    unsigned hour, minute;

    if (!read_fixed_digits(t, 2, &hour) || !take_char(t, ':') ||
        !read_fixed_digits(t, 2, &minute) || hour > 23 || minute > 59)
        return false;
    *out = (int32_t)(hour * HOUR + minute * MINUTE);
    return true;
}

static bool read_offset(struct text *t, int32_t *out)
{
    bool west = take_char(t, '-');

    if (!west)
        take_char(t, '+');
    if (!read_hours_minutes(t, out))
        return false;
    if (west)
        *out = -*out;
    return true;
}

bool mortise_cel_time_parse_offset(const char *p, size_t n, int32_t *out)
{
    struct text t = {p, p + n};

    return read_offset(&t, out) && t.p == t.end;
}

/* YYYY-MM-DD */
static bool read_date(struct text *t, int64_t *days)
{
    unsigned year, month, day;

    if (!read_fixed_digits(t, 4, &year) || !take_char(t, '-') ||
        !read_fixed_digits(t, 2, &month) || !take_char(t, '-') ||
        !read_fixed_digits(t, 2, &day) || month < 1 || month > 12 || day < 1 ||
        day > get_month_days(year, month))
        return false;
    *days = mortise_zone_date_to_days(year, month, day);
    return true;
}

/* hh:mm:ss[.digits] */
static bool read_clock_time(struct text *t, int32_t *seconds, int64_t *ns)
{
    unsigned second;

    *ns = 0;
    if (!read_hours_minutes(t, seconds) || !take_char(t, ':') ||
        !read_fixed_digits(t, 2, &second) || second > 59)
        return false;
    *seconds += (int32_t)second;
    return !take_char(t, '.') || read_fraction(t, ns);
}

bool mortise_cel_time_parse(struct cel_time *out, const char *p, size_t n)
{
    struct text t = {p, p + n};
    int64_t days, ns;
    int32_t clock, offset = 0;

    if (!read_date(&t, &days) || !take_char(&t, 'T') ||
        !read_clock_time(&t, &clock, &ns))
        return false;
    if (!take_char(&t, 'Z') && (t.p == t.end || (*t.p != '+' && *t.p != '-') ||
                                !read_offset(&t, &offset)))
        return false;
    *out = (struct cel_time){days * DAY + clock - offset, (int32_t)ns};
    return t.p == t.end && mortise_cel_time_is_in_range(*out);
}

/* The unit of a part of a duration, in nanoseconds; 0: invalid. */
static int64_t read_unit(struct text *t)
{
    static const struct {
        const char *name; /* longer names before their prefixes */
        int64_t ns;
    } units[] = {{"ns", 1},
                 {"us", 1000},
                 {"\xC2\xB5s", 1000}, /* MICRO SIGN */
                 {"\xCE\xBCs", 1000}, /* GREEK SMALL LETTER MU */
                 {"ms", 1000000},
                 {"s", CEL_SECOND},
                 {"m", (int64_t)MINUTE * CEL_SECOND},
                 {"h", (int64_t)HOUR * CEL_SECOND}};

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t n = strlen(units[i].name);

        if ((size_t)(t->end - t->p) >= n &&
            memcmp(t->p, units[i].name, n) == 0) {
            t->p += n;
            return units[i].ns;
        }
    }
    return 0;
}

/* digits[.digits]unit, as negative nanoseconds, because their range is larger
 * by one. */
static bool read_part(struct text *t, int64_t *ns)
{
    int64_t whole = 0, part = 0, unit;
    bool any = at_digit(t);

    for (; at_digit(t); t->p++)
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_sub_overflow(whole, *t->p - '0', &whole))
            return false;
    if (take_char(t, '.'))
        any = read_fraction(t, &part) || any;
    unit = read_unit(t);
    if (!any || unit == 0 || __builtin_mul_overflow(whole, unit, ns))
        return false;
    if (unit < CEL_SECOND)
        part = part * unit / CEL_SECOND;
    else
        part *= unit / CEL_SECOND;
    return !__builtin_sub_overflow(*ns, part, ns);
}

bool mortise_cel_duration_parse(int64_t *out, const char *p, size_t n)
{
    struct text t = {p, p + n};
    bool negative = take_char(&t, '-');
    int64_t sum = 0, part;

    if (!negative)
        take_char(&t, '+');
    if (t.end - t.p == 1 && *t.p == '0') {
        *out = 0;
        return true;
    }
    if (t.p == t.end)
        return false;
    while (t.p < t.end)
        if (!read_part(&t, &part) || __builtin_add_overflow(sum, part, &sum))
            return false;
    *out = sum;
    return negative || !__builtin_sub_overflow(0, sum, out);
}

/* ---- writing ----------------------------------------------------------- */

/* ".5", or nothing: nanoseconds without trailing zeros. */
static size_t put_fraction(char *out, uint32_t ns)
{
    size_t n;

    if (ns == 0)
        return 0;
    n = (size_t)sprintf(out, ".%09u", (unsigned)ns);
    while (out[n - 1] == '0')
        n--;
    return n;
}

size_t mortise_cel_time_format(char out[CEL_TIME_TEXT], struct cel_time t)
{
    struct cel_date d = mortise_cel_time_date(t, 0);
    size_t n = (size_t)snprintf(
        out, CEL_TIME_TEXT, "%04u-%02u-%02uT%02u:%02u:%02u",
        (unsigned)d.year & 0x3FFFu, d.month & 0xFu, d.day & 0x1Fu,
        d.hour & 0x1Fu, d.minute & 0x3Fu, d.second & 0x3Fu);

    n += put_fraction(out + n, (uint32_t)t.ns);
    out[n++] = 'Z';
    return n;
}

size_t mortise_cel_duration_format(char out[CEL_TIME_TEXT], int64_t ns)
{
    uint64_t all = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    size_t n = (size_t)snprintf(out, CEL_TIME_TEXT, "%s%llu", ns < 0 ? "-" : "",
                                (unsigned long long)(all / CEL_SECOND));

    n += put_fraction(out + n, (uint32_t)(all % CEL_SECOND));
    out[n++] = 's';
    return n;
}

/* ---- arithmetic -------------------------------------------------------- */

bool mortise_cel_time_add(struct cel_time t, int64_t ns, struct cel_time *out)
{
    int64_t rest = t.ns + ns % CEL_SECOND;

    out->s = t.s + ns / CEL_SECOND;
    if (rest < 0 || rest >= CEL_SECOND) {
        out->s += rest < 0 ? -1 : 1;
        rest += rest < 0 ? CEL_SECOND : -CEL_SECOND;
    }
    out->ns = (int32_t)rest;
    return mortise_cel_time_is_in_range(*out);
}

bool mortise_cel_time_difference(struct cel_time a, struct cel_time b,
                                 int64_t *out)
{
    return !__builtin_mul_overflow(a.s - b.s, CEL_SECOND, out) &&
           !__builtin_add_overflow(*out, a.ns - b.ns, out);
}

struct cel_date mortise_cel_time_date(struct cel_time t, int32_t offset)
{
    int64_t at = t.s + offset, days = at / DAY - (at % DAY < 0);
    unsigned of_day = (unsigned)(at - days * DAY);
    struct cel_date d = {.hour = of_day / HOUR,
                         .minute = of_day / MINUTE % 60,
                         .second = of_day % 60,
                         .millisecond = (unsigned)t.ns / 1000000};

    mortise_zone_days_to_date(days, &d.year, &d.month, &d.day);
    /* 1970 began on a Thursday */
    d.weekday = (unsigned)(((days + 4) % 7 + 7) % 7);
    d.day_of_year = (unsigned)(days - mortise_zone_date_to_days(d.year, 1, 1));
    return d;
}
