/* test_zone.c -- time zones, judged by libc where it knows the same. */
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/zone.h"
#include "lib/test.h"

static struct mortise_err err;
static struct mortise_arena arena;

static void begin(void)
{
    test_begin();
    mortise_arena_init(&arena, &test_mem);
}

static void finish(void)
{
    mortise_arena_finish(&arena);
    test_nothing_left();
}

static const struct mortise_zone *zone(const char *name)
{
    struct mortise_zone *z;

    ck_assert_msg(mortise_zone_read(&z, &arena, name, strlen(name), &err) ==
                      MORTISE_OK,
                  "%s: %s", name, err.msg);
    return z;
}

/* Days and dates are each other's inverse, and dates go on by one. */
START_TEST(the_calendar_is_gregorian)
{
    int64_t days = mortise_zone_date_to_days(1, 1, 1), year, before_year = 0;
    unsigned month, day, before_month = 12, before_day = 31;
    bool good = mortise_zone_date_to_days(1970, 1, 1) == 0 &&
                mortise_zone_date_to_days(2000, 3, 1) == 11017;

    for (year = 1; year < 2500 && good; days++) {
        mortise_zone_days_to_date(days, &year, &month, &day);
        good = mortise_zone_date_to_days(year, month, day) == days &&
               (day == before_day + 1 || (day == 1 && before_day >= 28 &&
                                          month == before_month % 12 + 1 &&
                                          year == before_year + (month == 1)));
        before_year = year;
        before_month = month;
        before_day = day;
    }
    ck_assert_int_eq(year, 2500);
}
END_TEST

/* Zones of every kind: none, half hours, rules of north and south, a rule that
 * begins before midnight, abolished summers, odd ones before 1900. */
static const char *const names[] = {"UTC",
                                    "Asia/Kathmandu",
                                    "America/St_Johns",
                                    "Australia/Sydney",
                                    "US/Central",
                                    "Europe/Berlin",
                                    "Europe/Dublin",
                                    "America/Santiago",
                                    "Asia/Gaza",
                                    "America/Sao_Paulo",
                                    "Africa/Casablanca",
                                    "Antarctica/Troll",
                                    "Etc/GMT-14",
                                    "EST5EDT",
                                    "America/Nuuk",
                                    "Australia/Lord_Howe"};
enum { N_NAMES = sizeof names / sizeof names[0] };

/* libc and we say the same, from year 1 to 9999. */
START_TEST(offsets_are_those_of_libc)
{
    int64_t from = mortise_zone_date_to_days(1, 1, 2) * 86400,
            to = mortise_zone_date_to_days(9999, 12, 30) * 86400;
    const struct mortise_zone *z = zone(names[_i]);
    uint64_t random = 88172645463325252u + (uint64_t)_i;

    setenv("TZ", names[_i], 1);
    tzset();
    for (int i = 0; i < 20000; i++) {
        time_t at;
        struct tm tm;

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        at = i % 2 == 0 ? from + (int64_t)(random % (uint64_t)(to - from))
                        : (time_t)(random % 5000000000u);
        if (localtime_r(&at, &tm) == NULL ||
            mortise_zone_get_offset(z, at) != tm.tm_gmtoff)
            ck_abort_msg("%s at %lld: %d, not %ld", names[_i], (long long)at,
                         mortise_zone_get_offset(z, at), tm.tm_gmtoff);
    }
    unsetenv("TZ");
    tzset();
}
END_TEST

/* A name is looked up in the database and nowhere else. */
START_TEST(names_stay_inside)
{
    static const char *const bad[] = {"",
                                      "/etc/localtime",
                                      "../../../etc/passwd",
                                      "Nowhere/City",
                                      "Europe",
                                      "tzdata.zi",
                                      "zone.tab",
                                      "Europe/Berlin ",
                                      "Eur\nope",
                                      "Local"};
    struct mortise_zone *z;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int rv = mortise_zone_read(&z, &arena, bad[i], strlen(bad[i]), &err);

        ck_assert_msg(rv == MORTISE_ENOTFOUND || rv == MORTISE_ECORRUPT,
                      "%s: %d", bad[i], rv);
        ck_assert_ptr_null(z);
    }
    ck_assert_int_eq(mortise_zone_read(&z, &arena, "UTC\0x", 5, &err),
                     MORTISE_ENOTFOUND);
}
END_TEST

/* ---- files by hand ---------------------------------------------------- */

/* A file with one type at UTC-3 and this footer. */
static size_t file_with(unsigned char *bytes, const char *footer)
{
    unsigned char *p = bytes;

    for (int block = 0; block < 2; block++) {
        memset(p, 0, 44 + 10);
        memcpy(p, "TZif2", 5);
        p[39] = 1; /* types */
        p[43] = 4; /* bytes of names */
        memcpy(p + 44, "\xFF\xFF\xD5\xD0\0\0-03", 10);
        p += 44 + 10;
    }
    p += sprintf((char *)p, "\n%s\n", footer);
    return (size_t)(p - bytes);
}

static const struct mortise_zone *zone_with(const char *footer)
{
    unsigned char bytes[256];
    size_t n = file_with(bytes, footer);
    struct mortise_zone *z;

    ck_assert_msg(mortise_zone_parse(&z, &arena, bytes, n, &err) == MORTISE_OK,
                  "%s: %s", footer, err.msg);
    return z;
}

static int64_t moment(int64_t year, unsigned month, unsigned day, int hour)
{
    return mortise_zone_date_to_days(year, month, day) * 86400 + hour * 3600;
}

/* Each way to write a rule. */
START_TEST(rules_hold)
{
    const struct mortise_zone *z = zone_with("");

    ck_assert_int_eq(mortise_zone_get_offset(z, 0), -3 * 3600);
    z = zone_with("<-03>3");
    ck_assert_int_eq(mortise_zone_get_offset(z, 0), -3 * 3600);
    z = zone_with("A0B,J60/0,J305/0"); /* 1 March, 1 November, always */
    for (int64_t year = 1999; year < 2005; year++) {
        ck_assert_int_eq(mortise_zone_get_offset(z, moment(year, 3, 1, 0) - 1),
                         0);
        ck_assert_int_eq(mortise_zone_get_offset(z, moment(year, 3, 1, 0)),
                         3600);
        ck_assert_int_eq(mortise_zone_get_offset(z, moment(year, 11, 1, -1)),
                         0);
        ck_assert_int_eq(
            mortise_zone_get_offset(z, moment(year, 11, 1, -1) - 1), 3600);
    }
    z = zone_with("A-1:30B-3,59/-1,300/25:00:01"); /* days count from 0 */
    ck_assert_int_eq(mortise_zone_get_offset(z, 0), 5400);
    ck_assert_int_eq(
        mortise_zone_get_offset(z, moment(2001, 3, 1, 0) - 3600 - 5400), 10800);
    ck_assert_int_eq(
        mortise_zone_get_offset(z, moment(2001, 3, 1, 0) - 3600 - 5401), 5400);
}
END_TEST

/* Bytes that are no zone are refused, cut anywhere and changed anywhere. */
START_TEST(what_is_no_file_is_refused)
{
    static const char *const bad[] = {"A",
                                      "A25:99",
                                      "A0B",
                                      "A0B,",
                                      "A0B,M3.1.0",
                                      "A0B,M13.1.0,M4.1.0",
                                      "A0B,M3.6.0,M4.1.0",
                                      "A0B,M3.1.7,M4.1.0",
                                      "A0B,J0,J5",
                                      "A0B,400,1",
                                      "<A0",
                                      "A0B,M3.1.0,M4.1.0x",
                                      "0"};
    unsigned char bytes[256], changed[256];
    size_t n = file_with(bytes, "A0B,M3.1.0/2,M10.5.0/3");
    struct mortise_zone *z;

    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(mortise_zone_parse(&z, &arena, bytes, i, &err),
                         MORTISE_ECORRUPT);
    for (size_t i = 0; i < n; i++) {
        memcpy(changed, bytes, n);
        changed[i] ^= 0xFF;
        if (mortise_zone_parse(&z, &arena, changed, n, &err) == MORTISE_OK)
            mortise_zone_get_offset(z, 1000000000);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        n = file_with(bytes, bad[i]);
        ck_assert_msg(mortise_zone_parse(&z, &arena, bytes, n, &err) ==
                          MORTISE_ECORRUPT,
                      "%s", bad[i]);
    }
}
END_TEST

START_TEST(reading_survives_oom)
{
    int n = 0, rv;

    do {
        struct mortise_zone *z;
        struct mortise_arena a;

        mortise_arena_init(&a, &test_mem);
        test_mem_fail_at(n++);
        rv = mortise_zone_read(&z, &a, "Europe/Berlin", 13, &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        ck_assert_int_eq(z == NULL, test_mem_failed());
        mortise_arena_finish(&a);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 1);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("zone");
    TCase *tc = tcase_create("zone");

    tcase_add_checked_fixture(tc, begin, finish);
    tcase_add_test(tc, the_calendar_is_gregorian);
    tcase_add_loop_test(tc, offsets_are_those_of_libc, 0, N_NAMES);
    tcase_add_test(tc, names_stay_inside);
    tcase_add_test(tc, rules_hold);
    tcase_add_test(tc, what_is_no_file_is_refused);
    tcase_add_test(tc, reading_survives_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
