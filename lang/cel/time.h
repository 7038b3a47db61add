/* time.h -- timestamps and durations as text and as dates.  Internal to cel/.
 *
 * A duration is a 64-bit number of nanoseconds: up to 292 years, positive or
 * negative.  A timestamp is a moment of the years 1 to 9999 in UTC. */
#ifndef MORTISE_LANG_CEL_TIME_H
#define MORTISE_LANG_CEL_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CEL_SECOND = 1000000000, /* in nanoseconds */
    CEL_TIME_TEXT = 40       /* buffer size for either as text */
};

struct cel_time {
    int64_t s;  /* since 1970 */
    int32_t ns; /* 0 .. 999,999,999 */
};

bool mortise_cel_time_is_in_range(struct cel_time t);

/* Complete RFC 3339; false: invalid or out of range. */
bool mortise_cel_time_parse(struct cel_time *out, const char *p, size_t n);
/* "2009-02-13T23:31:30.5Z".  Returns its length. */
size_t mortise_cel_time_format(char out[CEL_TIME_TEXT], struct cel_time t);

/* "1h45m47s", "-1.5h", "100us", "0". */
bool mortise_cel_duration_parse(int64_t *out, const char *p, size_t n);
/* In seconds: "6347s", "0.000001s". */
size_t mortise_cel_duration_format(char out[CEL_TIME_TEXT], int64_t ns);

/* False: the result is out of range. */
bool mortise_cel_time_add(struct cel_time t, int64_t ns, struct cel_time *out);
bool mortise_cel_time_difference(struct cel_time a, struct cel_time b,
                                 int64_t *out);

/* "+02:00", "-09:30", "02:00": seconds east of UTC. */
bool mortise_cel_time_parse_offset(const char *p, size_t n, int32_t *out);

/* A date and a time of day in local time. */
struct cel_date {
    int64_t year;
    unsigned month, day;           /* 1..12, 1..31 */
    unsigned weekday, day_of_year; /* from 0 (Sunday) */
    unsigned hour, minute, second, millisecond;
};
struct cel_date mortise_cel_time_date(struct cel_time t, int32_t offset);

#endif
