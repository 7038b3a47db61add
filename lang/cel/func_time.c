/* func_time.c -- timestamps and durations.
 *
 * The getters of a timestamp return a field of the calendar, in UTC or in a
 * given zone: an offset ("+05:45") or a place in the machine's time zone
 * database ("Asia/Kathmandu").  A constant place is read once, when the
 * expression is compiled.  A computed place costs the reading of a file.
 *
 * The getters of a duration return the whole duration in that unit.  Only
 * getMilliseconds() returns the part below a second, as CEL specifies.
 */
#include "lang/cel/func.h"

#include <string.h>

enum { ZONE_COST = 2000 }; /* approximate number of bytes of a zone's file */

static bool call_timestamp(CEL_PARAMS)
{
    struct cel_time t = {0, 0};

    switch (args->kind) {
    case CEL_TIMESTAMP:
        t = args->u.time;
        break;
    case CEL_INT:
        t.s = args->u.i;
        if (!mortise_cel_time_is_in_range(t))
            return mortise_cel_fail_conversion(c, args, CEL_TIMESTAMP);
        break;
    default: /* a string */
        if (!cel_charge(c, args->u.s.n))
            return false;
        if (!mortise_cel_time_parse(&t, args->u.s.p, args->u.s.n))
            return mortise_cel_fail_conversion(c, args, CEL_TIMESTAMP);
    }
    *out = cel_timestamp(t);
    return true;
}

static bool call_duration(CEL_PARAMS)
{
    int64_t ns;

    if (args->kind == CEL_DURATION) {
        *out = *args;
        return true;
    }
    if (!cel_charge(c, args->u.s.n))
        return false;
    if (!mortise_cel_duration_parse(&ns, args->u.s.p, args->u.s.n))
        return mortise_cel_fail_conversion(c, args, CEL_DURATION);
    *out = cel_duration(ns);
    return true;
}

/* ---- zones ------------------------------------------------------------- */

/* A place with a computed name, read only for this call. */
static bool get_place_offset(struct cel_ctx *c, const struct cel_value *name,
                             int64_t at, int32_t *offset)
{
    struct mortise_zone *zone;
    struct mortise_arena own;
    int rv;

    if (!cel_charge(c, ZONE_COST))
        return false;
    mortise_arena_init(&own, c->arena->mem);
    rv = mortise_zone_read(&zone, &own, name->u.s.p, name->u.s.n, NULL);
    if (rv == MORTISE_OK)
        *offset = mortise_zone_get_offset(zone, at);
    mortise_arena_finish(&own);
    if (rv == MORTISE_ENOMEM)
        return mortise_cel_fault(c, CEL_MEMORY);
    return rv == MORTISE_OK ||
           mortise_cel_fault_named(c, CEL_NO_ZONE, name->u.s.p, name->u.s.n);
}

/* The offset from UTC that the second argument gives; 0: there is none. */
static bool get_offset(struct cel_ctx *c, const struct cel_node *n,
                       const struct cel_value *args, int32_t *offset)
{
    *offset = 0;
    if (n->n < 2)
        return true;
    if (n->u.call.zone != NULL) {
        *offset = mortise_zone_get_offset(n->u.call.zone, args->u.time.s);
        return true;
    }
    if (mortise_cel_time_parse_offset(args[1].u.s.p, args[1].u.s.n, offset))
        return true;
    return get_place_offset(c, &args[1], args->u.time.s, offset);
}

/* Read a constant place at the compilation. */
static void prepare_zone(const struct cel_source *src, struct cel_node *n)
{
    const struct cel_node *name = n->n == 2 ? n->kids[1] : NULL;
    struct mortise_zone *zone;
    int32_t offset;
    int rv;

    if (name == NULL || name->op != CEL_CONST ||
        mortise_cel_time_parse_offset(name->u.constant.u.s.p,
                                      name->u.constant.u.s.n, &offset))
        return;
    rv = mortise_zone_read(&zone, src->arena, name->u.constant.u.s.p,
                           name->u.constant.u.s.n, src->out->err);
    if (rv != MORTISE_OK && rv != MORTISE_ENOMEM) {
        rv = MORTISE_EINVAL;
        if (src->where != NULL)
            *src->where =
                (struct mortise_cel_range){name->offset, name->length};
    }
    mortise_escape_on_error(src->out, rv);
    n->u.call.zone = zone;
}

/* ---- fields ------------------------------------------------------------ */

enum field {
    FULL_YEAR,
    MONTH,
    DATE,
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    DAY_OF_YEAR,
    HOURS,
    MINUTES,
    SECONDS,
    MILLISECONDS
};

static int64_t get_date_field(enum field field, const struct cel_date *d)
{
    const int64_t fields[] = {
        [FULL_YEAR] = d->year,
        [MONTH] = d->month - 1,
        [DATE] = d->day,
        [DAY_OF_MONTH] = d->day - 1,
        [DAY_OF_WEEK] = d->weekday,
        [DAY_OF_YEAR] = d->day_of_year,
        [HOURS] = d->hour,
        [MINUTES] = d->minute,
        [SECONDS] = d->second,
        [MILLISECONDS] = d->millisecond,
    };

    return fields[field];
}

static int64_t get_duration_field(enum field field, int64_t ns)
{
    const int64_t seconds = ns / CEL_SECOND;
    const int64_t fields[] = {
        [HOURS] = seconds / 3600,
        [MINUTES] = seconds / 60,
        [SECONDS] = seconds,
        [MILLISECONDS] = ns % CEL_SECOND / 1000000,
    };

    return fields[field];
}

static bool call_get(CEL_PARAMS)
{
    enum field field = n->u.call.function->which;
    struct cel_date date;
    int32_t offset;

    if (args->kind == CEL_DURATION) {
        *out = cel_int(get_duration_field(field, args->u.i));
        return true;
    }
    if (!get_offset(c, n, args, &offset))
        return false;
    date = mortise_cel_time_date(args->u.time, offset);
    *out = cel_int(get_date_field(field, &date));
    return true;
}

#define MAKER(name, kinds, result, call)                                       \
    CEL_FUNCTION(name, 1, CEL_GLOBAL, 0, result, call, mortise_cel_fold, kinds)
#define FIELD(name, which, kinds)                                              \
    CEL_METHOD(name, 1, which, INT, call_get, kinds),                          \
        CEL_FUNCTION(name, 2, CEL_RECEIVER, which, INT, call_get,              \
                     prepare_zone, TIMESTAMP, STRING)

static const struct cel_function rows[] = {
    MAKER("timestamp", INT | STRING | TIMESTAMP, TIMESTAMP, call_timestamp),
    MAKER("duration", STRING | DURATION, DURATION, call_duration),
    FIELD("getFullYear", FULL_YEAR, TIMESTAMP),
    FIELD("getMonth", MONTH, TIMESTAMP),
    FIELD("getDate", DATE, TIMESTAMP),
    FIELD("getDayOfMonth", DAY_OF_MONTH, TIMESTAMP),
    FIELD("getDayOfWeek", DAY_OF_WEEK, TIMESTAMP),
    FIELD("getDayOfYear", DAY_OF_YEAR, TIMESTAMP),
    FIELD("getHours", HOURS, TIMESTAMP | DURATION),
    FIELD("getMinutes", MINUTES, TIMESTAMP | DURATION),
    FIELD("getSeconds", SECONDS, TIMESTAMP | DURATION),
    FIELD("getMilliseconds", MILLISECONDS, TIMESTAMP | DURATION),
};

const struct cel_functions mortise_cel_time_functions = {
    rows, sizeof rows / sizeof rows[0]};
