/* zone.c -- time zones, from the machine's database (TZif files, RFC 8536).
 *
 * libc supports only the zone that TZ names, for the whole process.  An
 * expression may use any zone, on any thread, so we read the files ourselves.
 *
 *   (1) A zone's name cannot leave the database: only letters, digits and _+-/
 *       are allowed, hence no "..", and no leading slash.
 *   (2) A file's data is checked before use: each count against the bytes that
 *       are present, each index against its count.
 *   (3) After the last transition, the footer's rule (a POSIX TZ string)
 *       applies.  Without one, the last offset stays.
 *
 * Only the block with 64-bit times is read; every file has one since 2005.
 */
#include "core/base/zone.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/base/files.h"

enum {
    NAME_MAX_BYTES = 64,
    FILE_MAX_BYTES = 64 * 1024 - 1, /* the largest known file has 4 KiB */
    HEADER = 44,
    DAY = 86400
};

static const char root[] = "/usr/share/zoneinfo/";

/* The date at which summer time begins or ends, from a TZ string. */
struct rule {
    enum { NTH_WEEKDAY, JULIAN, DAY_OF_YEAR } kind;
    int month, week, day;
    int32_t time; /* seconds after midnight, local time */
};

/* A TZ string: UTC offsets, and the rules if there is summer time. */
struct tail {
    bool is_there, has_summer;
    int32_t standard, summer; /* seconds east of UTC */
    struct rule begin, end;   /* of summer time */
};

struct mortise_zone {
    size_t n;              /* number of transitions */
    const int64_t *at;     /* their times, increasing */
    const int32_t *offset; /* n + 1: before the first, then from each one on */
    struct tail tail;
};

static int fail_corrupt_zone(struct mortise_err *err, const char *what)
{
    return mortise_fail(err, MORTISE_ECORRUPT, "not a time zone file: %s",
                        what);
}

/* ---- the calendar ----------------------------------------------------- */

/* Counting years from March makes the leap day the last day of a year. 400
 * years always have 146097 days. */
int64_t mortise_zone_date_to_days(int64_t year, unsigned month, unsigned day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = (y >= 0 ? y : y - 399) / 400, of_era = y - era * 400;
    int64_t of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
           719468;
}

static bool is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

void mortise_zone_days_to_date(int64_t days, int64_t *year, unsigned *month,
                               unsigned *day)
{
    int64_t from_march = days + 719468;
    int64_t era = (from_march >= 0 ? from_march : from_march - 146096) / 146097;
    int64_t of_era = from_march - era * 146097;
    int64_t y =
        (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * of_year + 2) / 153;

    *day = (unsigned)(of_year - (153 * m + 2) / 5 + 1);
    *month = (unsigned)(m < 10 ? m + 3 : m - 9);
    *year = y + era * 400 + (*month <= 2);
}

static int64_t year_of(int64_t at)
{
    int64_t year;
    unsigned month, day;

    mortise_zone_days_to_date(at / DAY - (at % DAY < 0), &year, &month, &day);
    return year;
}

/* ---- the footer: a TZ string ------------------------------------------ */

struct text {
    const char *p, *end;
    bool bad;
};

static char peek_tz_char(const struct text *t)
{
    return t->p < t->end ? *t->p : '\0';
}

static bool skip_tz_char(struct text *t, char c)
{
    if (peek_tz_char(t) != c)
        return false;
    t->p++;
    return true;
}

static int parse_tz_number(struct text *t, int least, int most)
{
    int v = 0, digits = 0;

    for (; peek_tz_char(t) >= '0' && peek_tz_char(t) <= '9' && digits < 4;
         digits++, t->p++)
        v = v * 10 + (peek_tz_char(t) - '0');
    if (digits == 0 || v < least || v > most)
        t->bad = true;
    return t->bad ? least : v;
}

/* Skip a name such as EST or <-03>. */
static void skip_tz_name(struct text *t)
{
    const char *from = t->p;

    if (skip_tz_char(t, '<')) {
        while (t->p < t->end && *t->p != '>')
            t->p++;
        t->bad = t->bad || !skip_tz_char(t, '>');
        return;
    }
    while ((peek_tz_char(t) | 0x20) >= 'a' && (peek_tz_char(t) | 0x20) <= 'z')
        t->p++;
    t->bad = t->bad || t->p == from;
}

/* Parse [+-]h[h][:mm[:ss]]; RFC 8536 allows up to 167 hours. */
static int32_t parse_tz_time(struct text *t)
{
    bool negative = skip_tz_char(t, '-');
    int32_t v;

    if (!negative)
        skip_tz_char(t, '+');
    v = parse_tz_number(t, 0, 167) * 3600;
    if (skip_tz_char(t, ':'))
        v += parse_tz_number(t, 0, 59) * 60;
    if (skip_tz_char(t, ':'))
        v += parse_tz_number(t, 0, 59);
    return negative ? -v : v;
}

/* Parse ",M3.2.0", ",J60" or ",59", each with an optional "/2"; the default is
 * 02:00. */
static struct rule parse_tz_rule(struct text *t)
{
    struct rule r = {.kind = DAY_OF_YEAR, .time = 2 * 3600};

    t->bad = t->bad || !skip_tz_char(t, ',');
    if (skip_tz_char(t, 'M')) {
        r.kind = NTH_WEEKDAY;
        r.month = parse_tz_number(t, 1, 12);
        t->bad = t->bad || !skip_tz_char(t, '.');
        r.week = parse_tz_number(t, 1, 5);
        t->bad = t->bad || !skip_tz_char(t, '.');
        r.day = parse_tz_number(t, 0, 6);
    } else if (skip_tz_char(t, 'J')) {
        r.kind = JULIAN;
        r.day = parse_tz_number(t, 1, 365);
    } else {
        r.day = parse_tz_number(t, 0, 365);
    }
    if (skip_tz_char(t, '/'))
        r.time = parse_tz_time(t);
    return r;
}

static bool parse_tz_string(struct tail *out, const char *p, size_t n)
{
    struct text t = {p, p + n, false};

    *out = (struct tail){.is_there = true};
    skip_tz_name(&t);
    out->standard = -parse_tz_time(&t);
    if (t.p == t.end || t.bad)
        return !t.bad;
    out->has_summer = true;
    skip_tz_name(&t);
    out->summer = out->standard + 3600;
    if (peek_tz_char(&t) != ',')
        out->summer = -parse_tz_time(&t);
    out->begin = parse_tz_rule(&t);
    out->end = parse_tz_rule(&t);
    return !t.bad && t.p == t.end;
}

/* The day that a rule selects in a year, counted from 1970. */
static int64_t get_rule_day(const struct rule *r, int64_t year)
{
    int64_t first, day;

    if (r->kind == DAY_OF_YEAR)
        return mortise_zone_date_to_days(year, 1, 1) + r->day;
    if (r->kind == JULIAN) /* day 60 is always 1 March */
        return mortise_zone_date_to_days(year, 1, 1) + r->day - 1 +
               (is_leap(year) && r->day >= 60);
    first = mortise_zone_date_to_days(year, (unsigned)r->month, 1);
    day = first + (r->day - (first + 4) % 7 + 14) % 7 + 7 * (r->week - 1);
    if (r->week == 5 &&
        day >= (r->month == 12 ? mortise_zone_date_to_days(year + 1, 1, 1)
                               : mortise_zone_date_to_days(
                                     year, (unsigned)r->month + 1, 1)))
        day -= 7; /* week 5 means the last one */
    return day;
}

static int32_t tail_offset(const struct tail *t, int64_t at)
{
    int64_t year, begin, end;
    bool summer;

    if (!t->has_summer)
        return t->standard;
    year = year_of(at + t->standard);
    begin = get_rule_day(&t->begin, year) * DAY + t->begin.time - t->standard;
    end = get_rule_day(&t->end, year) * DAY + t->end.time - t->summer;
    summer = begin < end ? at >= begin && at < end : at >= begin || at < end;
    return summer ? t->summer : t->standard;
}

/* ---- a file ------------------------------------------------------------ */

static uint32_t be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
           p[3];
}

static int64_t be64(const unsigned char *p)
{
    return (int64_t)((uint64_t)be32(p) << 32 | be32(p + 4));
}

/* The counts of a header, in the order of the file. */
struct block {
    const unsigned char *p; /* after the header */
    size_t n_utc, n_standard, n_leap, n_times, n_types, n_chars;
    size_t size; /* of the data block, with times of `width` bytes */
};

static bool parse_tzif_header(struct block *b, const unsigned char *p, size_t n,
                              size_t width)
{
    if (n < HEADER || memcmp(p, "TZif", 4) != 0)
        return false;
    b->p = p + HEADER;
    b->n_utc = be32(p + 20);
    b->n_standard = be32(p + 24);
    b->n_leap = be32(p + 28);
    b->n_times = be32(p + 32);
    b->n_types = be32(p + 36);
    b->n_chars = be32(p + 40);
    if (b->n_utc > n || b->n_standard > n || b->n_leap > n || b->n_times > n ||
        b->n_types > n || b->n_chars > n)
        return false;
    b->size = b->n_times * (width + 1) + b->n_types * 6 + b->n_chars +
              b->n_leap * (width + 4) + b->n_standard + b->n_utc;
    return b->size <= n - HEADER;
}

/* The UTC offset of the i-th local time type. */
static int32_t type_offset(const struct block *b, size_t i)
{
    return (int32_t)be32(b->p + b->n_times * 9 + i * 6);
}

static int read_transitions(struct mortise_zone *z, struct mortise_arena *a,
                            const struct block *b, struct mortise_err *err)
{
    int64_t *at = mortise_arena_alloc(a, b->n_times * sizeof *at);
    int32_t *offset = mortise_arena_alloc(a, (b->n_times + 1) * sizeof *offset);

    if (at == NULL || offset == NULL)
        return mortise_nomem(err);
    offset[0] = type_offset(b, 0);
    for (size_t i = 0; i < b->n_times; i++) {
        size_t type = b->p[b->n_times * 8 + i];

        at[i] = be64(b->p + i * 8);
        if (type >= b->n_types || (i > 0 && at[i] <= at[i - 1]))
            return fail_corrupt_zone(err, "its transitions");
        offset[i + 1] = type_offset(b, type);
    }
    z->at = at;
    z->offset = offset;
    z->n = b->n_times;
    return MORTISE_OK;
}

/* Parse "\nTZ STRING\n" after the second block. */
static bool parse_tzif_footer(struct mortise_zone *z, const char *p, size_t n)
{
    const char *end = n > 1 && *p == '\n' ? memchr(p + 1, '\n', n - 1) : NULL;

    if (end == NULL)
        return false;
    return end == p + 1 ||
           parse_tz_string(&z->tail, p + 1, (size_t)(end - p - 1));
}

int mortise_zone_parse(struct mortise_zone **out, struct mortise_arena *a,
                       const void *bytes, size_t n, struct mortise_err *err)
{
    const unsigned char *p = bytes;
    struct mortise_zone *z = mortise_arena_alloc(a, sizeof *z);
    struct block old, b;
    size_t used;
    int rv;

    *out = NULL;
    if (z == NULL)
        return mortise_nomem(err);
    if (!parse_tzif_header(&old, p, n, 4) || p[4] < '2')
        return fail_corrupt_zone(err, "its header");
    used = HEADER + old.size;
    if (!parse_tzif_header(&b, p + used, n - used, 8) || b.n_types == 0)
        return fail_corrupt_zone(err, "its second header");
    rv = read_transitions(z, a, &b, err);
    if (rv != MORTISE_OK)
        return rv;
    used += HEADER + b.size;
    if (!parse_tzif_footer(z, (const char *)p + used, n - used))
        return fail_corrupt_zone(err, "its footer");
    *out = z;
    return MORTISE_OK;
}

int32_t mortise_zone_get_offset(const struct mortise_zone *z, int64_t at)
{
    size_t low = 0, high = z->n;

    while (low < high) { /* count the transitions at or before `at` */
        size_t mid = low + (high - low) / 2;

        if (z->at[mid] <= at)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == z->n && z->tail.is_there)
        return tail_offset(&z->tail, at);
    return z->offset[low];
}

/* ---- the database ------------------------------------------------------ */

static bool is_zone_name(const char *name, size_t n)
{
    static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                               "abcdefghijklmnopqrstuvwxyz0123456789_+-/";

    for (size_t i = 0; i < n; i++)
        if (memchr(good, name[i], sizeof good - 1) == NULL)
            return false;
    return n > 0 && n < NAME_MAX_BYTES && name[0] != '/';
}

static int no_such_zone(struct mortise_err *err, const char *name, size_t n)
{
    return mortise_fail(err, MORTISE_ENOTFOUND, "no time zone '%.*s'",
                        (int)(n < NAME_MAX_BYTES ? n : NAME_MAX_BYTES), name);
}

int mortise_zone_read(struct mortise_zone **out, struct mortise_arena *a,
                      const char *name, size_t n, struct mortise_err *err)
{
    char path[sizeof root + NAME_MAX_BYTES];
    struct mortise_buf bytes;
    int rv;

    *out = NULL;
    if (!is_zone_name(name, n))
        return no_such_zone(err, name, n);
    snprintf(path, sizeof path, "%s%.*s", root, (int)n, name);
    mortise_buf_init(&bytes, a->mem);
    rv = mortise_file_read(&bytes, path, FILE_MAX_BYTES, NULL);
    if (rv == MORTISE_OK)
        rv = mortise_zone_parse(out, a, bytes.p, bytes.n, err);
    else if (rv == MORTISE_ENOMEM)
        mortise_nomem(err);
    else
        rv = no_such_zone(err, name, n);
    mortise_buf_finish(&bytes);
    return rv;
}
