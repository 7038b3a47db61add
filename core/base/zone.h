/* zone.h -- time zones: UTC offsets at a given time. [any] */
#ifndef MORTISE_BASE_ZONE_H
#define MORTISE_BASE_ZONE_H

#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/mem.h"

struct mortise_zone; /* immutable; allocated in the caller's arena */

/* Read a zone by its name in the machine's time zone database
 * ("Asia/Kathmandu", "UTC").  MORTISE_ENOTFOUND: the database has no such zone,
 * or does not exist.  MORTISE_ECORRUPT: the file is not a zone file. */
int mortise_zone_read(struct mortise_zone **out, struct mortise_arena *a,
                      const char *name, size_t n, struct mortise_err *err);

/* Make a zone from the bytes of a TZif file (RFC 8536), which are not kept. */
int mortise_zone_parse(struct mortise_zone **out, struct mortise_arena *a,
                       const void *bytes, size_t n, struct mortise_err *err);

/* Seconds east of UTC at a time (seconds since 1970 in UTC). */
int32_t mortise_zone_get_offset(const struct mortise_zone *z, int64_t at);

/* Days from 1970-01-01 to a date of the Gregorian calendar; month 1..12. */
int64_t mortise_zone_date_to_days(int64_t year, unsigned month, unsigned day);
/* The date that is `days` days after 1970-01-01. */
void mortise_zone_days_to_date(int64_t days, int64_t *year, unsigned *month,
                               unsigned *day);

#endif
