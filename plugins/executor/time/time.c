/* time.c -- sleeps that survive restarts, and what time it is.
 *
 * Operations
 *   sleep  {for} or {until}    -> {at, unix_ms}
 *          for: a number and its unit, ms, s, m, h or d; ten years at most.
 *          until: a time as RFC 3339 has them, 2026-03-01T08:00:00Z or
 *          2026-03-01T09:00:00.5+01:00; one that is over is no wait.
 *   now    {}                  -> {at, unix_ms}
 *
 *   at is the time, in UTC, when the node ended: 2026-03-01T08:00:00.123Z;
 *   unix_ms the same in milliseconds since 1970.
 *
 * Config: none.
 *
 * Error codes
 *   invalid  failed  no_memory*  cancelled               (* transient)
 *
 * Nodes that use it
 *   cool_down:
 *     type: tool
 *     tool: time/sleep
 *     args: {for: 10m}
 *   office_hours:
 *     type: tool
 *     tool: time/sleep
 *     args: {until: "${input.opens_at}"}
 *
 * What it promises: a run that sleeps is on disk and nowhere else, for as long
 * as it takes.  It goes on in whatever process holds the store when the time
 * comes, or is opened after it; never before, and late only by as much as
 * nobody held it.  `for` counts from the moment when the sleep was first
 * recorded, not from a restart.  A retry of the node sleeps anew. */
#include <mortise/ask.h>

#include <stdlib.h>
#include <time.h>

#include "../../ascii.h"
#include "../../nomem.h"

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
};

struct call {
    mortise_inst *inst;
    mortise_call id;
};

enum { TEXT_MAX = 128 }; /* of a duration or a time */

#define LONGEST_MS ((uint64_t)3650 * 86400 * 1000) /* the host's, too */

/* ---- durations ----------------------------------------------------------- */

/* What graphs take for durations: digits and a unit.  0: it is none, or longer
 * than any that the host takes. */
static int read_duration(const char *s, uint64_t *ms)
{
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {
        {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    uint64_t v = 0;

    if (!ascii_digit(*s))
        return 0;
    for (; ascii_digit(*s); s++) {
        v = 10 * v + (uint64_t)(*s - '0');
        if (v > LONGEST_MS)
            return 0;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(s, units[i].unit) != 0)
            continue;
        *ms = v * units[i].ms; /* at most 2^39 * 2^27 */
        return *ms <= LONGEST_MS;
    }
    return 0;
}

/* ---- times --------------------------------------------------------------- */

/* n digits; the text moves behind them.  -1: there are not. */
static int64_t take_digits(const char **s, int n)
{
    int64_t v = 0;

    for (; n > 0; n--, ++*s) {
        if (!ascii_digit(**s))
            return -1;
        v = 10 * v + (**s - '0');
    }
    return v;
}

static int take(const char **s, char c)
{
    if (**s != c)
        return 0;
    ++*s;
    return 1;
}

static int is_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static int64_t days_in(int64_t year, int64_t month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return days[month - 1] + (month == 2 && is_leap(year));
}

/* Days since 1970-01-01, which was the 719,162nd behind the year 1. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    int64_t before = year - 1, days = 365 * before + day - 1 - 719162;

    days += before >= 0 ? before / 4 - before / 100 + before / 400 : -1;
    for (int64_t m = 1; m < month; m++)
        days += days_in(year, m);
    return days;
}

static int take_date(const char **s, int64_t *days)
{
    int64_t year, month, day;

    year = take_digits(s, 4);
    if (year < 0 || !take(s, '-'))
        return 0;
    month = take_digits(s, 2);
    if (month < 1 || month > 12 || !take(s, '-'))
        return 0;
    day = take_digits(s, 2);
    if (day < 1 || day > days_in(year, month))
        return 0;
    *days = days_of(year, month, day);
    return 1;
}

/* A fraction of a second, in milliseconds, rounded up: not to wake early. */
static int take_fraction(const char **s, int64_t *ms)
{
    int64_t unit = 100, rest = 0;

    *ms = 0;
    if (!take(s, '.'))
        return 1;
    if (!ascii_digit(**s))
        return 0;
    for (; ascii_digit(**s); ++*s, unit /= 10) {
        *ms += unit * (**s - '0');
        rest |= unit == 0 && **s != '0';
    }
    *ms += rest;
    return 1;
}

static int take_clock(const char **s, int64_t *ms)
{
    int64_t hour, minute, second, fraction;

    hour = take_digits(s, 2);
    if (hour < 0 || hour > 23 || !take(s, ':'))
        return 0;
    minute = take_digits(s, 2);
    if (minute < 0 || minute > 59 || !take(s, ':'))
        return 0;
    second = take_digits(s, 2); /* 60: a leap second, the next minute's first */
    if (second < 0 || second > 60 || !take_fraction(s, &fraction))
        return 0;
    *ms = ((hour * 60 + minute) * 60 + second) * 1000 + fraction;
    return 1;
}

/* Z, or +01:00: how far the clock was ahead. */
static int take_zone(const char **s, int64_t *ms)
{
    int64_t sign = **s == '-' ? -1 : 1, hours, minutes;

    *ms = 0;
    if (take(s, 'Z') || take(s, 'z'))
        return 1;
    if (!take(s, '+') && !take(s, '-'))
        return 0;
    hours = take_digits(s, 2);
    if (hours < 0 || hours > 23 || !take(s, ':'))
        return 0;
    minutes = take_digits(s, 2);
    *ms = sign * (hours * 60 + minutes) * 60000;
    return minutes >= 0 && minutes <= 59;
}

/* RFC 3339, 5.6.  One before 1970 is over, as much as its first millisecond. */
static int read_time(const char *s, uint64_t *out)
{
    int64_t days, clock, ahead, ms;

    if (!take_date(&s, &days) ||
        (!take(&s, 'T') && !take(&s, 't') && !take(&s, ' ')) ||
        !take_clock(&s, &clock) || !take_zone(&s, &ahead) || *s != '\0')
        return 0;
    ms = days * 86400000 + clock - ahead;
    *out = ms < 1 ? 1 : (uint64_t)ms;
    return 1;
}

/* ---- the result ---------------------------------------------------------- */

static mortise_status emit_now(const mortise_inst *inst, mortise_call call)
{
    char room[128], at[32], whole[40];
    struct timespec now;
    struct tm tm;
    mortise_str text;
    mortise_jw w;

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(whole, sizeof whole, "%s.%03dZ", at, (int)(now.tv_nsec / 1000000));
    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "at");
    mortise_jw_cstr(&w, whole);
    mortise_jw_key(&w, "unix_ms");
    mortise_jw_int(&w, (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    mortise_jw_end(&w);
    mortise_jw_finish(&w, &text);
    return mortise_emit_output(inst->host, inst->api, call, text);
}

static mortise_str detail_of(mortise_status status)
{
    if (status == MORTISE_S_CANCELLED)
        return mortise_strz("{\"class\":\"cancelled\",\"code\":\"cancelled\"}");
    if (status == MORTISE_S_NOMEM)
        return mortise_strz("{\"class\":\"transient\",\"code\":\"no_memory\"}");
    return mortise_strz("{\"class\":\"permanent\",\"code\":\"failed\"}");
}

/* Suspended: it lets go, and is entered again when the time has come. */
static void on_answer(void *ud, mortise_status status, mortise_str answer)
{
    struct call *c = ud;
    const mortise_host_api *api = c->inst->api;

    if (status == MORTISE_S_OK)
        status = emit_now(c->inst, c->id);
    if (status < 0)
        api->finish(c->inst->host, c->id, status, answer, detail_of(status));
    else
        api->finish(c->inst->host, c->id, status, mortise_str_empty(),
                    mortise_str_empty());
    free(c);
}

/* ---- the operations ------------------------------------------------------ */

static mortise_status no(mortise_inst *inst, const mortise_request *r,
                         const char *words)
{
    return mortise_refuse(inst->host, inst->api, r->call, MORTISE_S_INVALID,
                          "permanent", "invalid", words);
}

static mortise_status wait_until(mortise_inst *inst, const mortise_request *r,
                                 int32_t until, uint64_t ms)
{
    struct call *c = malloc(sizeof *c);
    mortise_status status = MORTISE_S_NOMEM;

    if (c != NULL) {
        *c = (struct call){inst, r->call};
        status = mortise_timer_wait(inst->host, inst->api, r->call, until, ms,
                                    on_answer, c);
    }
    if (status == MORTISE_S_PENDING)
        return status;
    free(c);
    if (status == MORTISE_S_NOMEM)
        return nomem(inst->host, inst->api, r->call);
    return mortise_refuse(inst->host, inst->api, r->call, status, "permanent",
                          "failed", "the host does not support timers");
}

static mortise_status sleep_for(mortise_inst *inst, const mortise_request *r)
{
    char text[TEXT_MAX] = "";
    mortise_jv args, wait, until;
    uint64_t ms;

    if (mortise_jv_parse(r->body, &args) != MORTISE_S_OK)
        return no(inst, r, "the arguments are not JSON");
    wait = mortise_jv_get(args, "for");
    until = mortise_jv_get(args, "until");
    if ((wait.p != NULL) == (until.p != NULL))
        return no(inst, r, "sleep needs exactly one of `for` and `until`");
    if (until.p != NULL) {
        if (mortise_jv_cstr(until, text, sizeof text) != MORTISE_S_OK ||
            !read_time(text, &ms))
            return no(
                inst, r,
                "until must be an RFC 3339 time, such as 2026-03-01T08:00:00Z");
        return wait_until(inst, r, 1, ms);
    }
    if (mortise_jv_cstr(wait, text, sizeof text) != MORTISE_S_OK ||
        !read_duration(text, &ms))
        return no(inst, r,
                  "for must be a duration such as 250ms, 30s, 10m, 2h or 7d, "
                  "at most ten years (3650d)");
    return wait_until(inst, r, 0, ms);
}

static mortise_status execute(mortise_inst *inst, const mortise_request *r)
{
    if (mortise_str_is(r->operation, "sleep"))
        return sleep_for(inst, r);
    return emit_now(inst, r->call);
}

/* ---- plugin and module --------------------------------------------------- */

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_inst *inst = malloc(sizeof *inst);

    (void)config;
    if (inst == NULL)
        return nomem(host, api, 0);
    *inst = (mortise_inst){host, api};
    *out = inst;
    return MORTISE_S_OK;
}

static const void *get_interface(mortise_inst *inst, const char *id)
{
    static const mortise_executor executor = {.size = sizeof executor,
                                              .execute = execute};

    (void)inst;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static void destroy(mortise_inst *inst)
{
    free(inst);
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "time",
    .version = "0.1.0",
    .create = create,
    .get_interface = get_interface,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
