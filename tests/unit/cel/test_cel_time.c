/* test_cel_time.c -- timestamps and durations in expressions. */
#include <check.h>
#include <string.h>

#include "lang/cel/time.h"
#include "lib/cel.h"
#include "lib/json.h"
#include "lib/test.h"

static void begin(void)
{
    test_begin();
    test_count_json();
}

static void finish(void)
{
    test_nothing_left();
}

static bool is_timestamp(const char *text)
{
    struct cel_time t;

    return mortise_cel_time_parse(&t, text, strlen(text));
}

/* RFC 3339 is read strictly: nothing is missing, nothing follows, and each
 * field is one that a calendar has. */
START_TEST(timestamps_are_read_strictly)
{
    static const char *const bad[] = {
        "",
        "2009-02-13",
        "2009-02-13T23:31:30",
        "2009-02-13t23:31:30Z",
        "2009-02-13 23:31:30Z",
        "2009-02-13T23:31:30z",
        "2009-02-13T23:31:30ZZ",
        "2009-02-13T23:31:30.Z",
        "2009-02-13T23:31Z",
        "2009-2-13T23:31:30Z",
        "02009-02-13T23:31:30Z",
        "2009-00-13T23:31:30Z",
        "2009-13-13T23:31:30Z",
        "2009-02-29T23:31:30Z",
        "2009-02-00T23:31:30Z",
        "1900-02-29T00:00:00Z",
        "2009-02-13T24:00:00Z",
        "2009-02-13T23:60:30Z",
        "2009-02-13T23:31:60Z",
        "2009-02-13T23:31:30+24:00",
        "2009-02-13T23:31:30+2:00",
        "2009-02-13T23:31:30+0200",
        "2009-02-13T23:31:3002:00",
        "0000-12-31T23:59:59Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
    };

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!is_timestamp(bad[i]), "%s", bad[i]);
    ck_assert(is_timestamp("2000-02-29T00:00:00Z"));
    ck_assert(is_timestamp("0001-01-01T00:00:00Z"));
    ck_assert(is_timestamp("9999-12-31T23:59:59.9999999999Z"));
}
END_TEST

START_TEST(durations_are_read_strictly)
{
    static const char *const bad[] = {"",
                                      "-",
                                      "1",
                                      "s",
                                      ".s",
                                      "1 s",
                                      "1s ",
                                      "1d",
                                      "--1s",
                                      "1s-1s",
                                      "1e3s",
                                      "00",
                                      "+",
                                      "1.5",
                                      "1hs",
                                      "0x1s",
                                      "2562047h47m16.854775808s",
                                      "9223372036854775808ns",
                                      "-9223372036854775809ns",
                                      "99999999999999999999h"};
    int64_t ns;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!mortise_cel_duration_parse(&ns, bad[i], strlen(bad[i])), "%s",
                      bad[i]);
    test_cel_gives("[duration('0'), duration('-0'), duration('+1s'),"
                   " duration('1.5h'), duration('-.5s'), duration('1.s'),"
                   " duration('1h2m3s4ms5us6ns'), duration('7\xC2\xB5s')]",
                   NULL,
                   "[\"0s\",\"0s\",\"1s\",\"5400s\",\"-0.5s\",\"1s\","
                   "\"3723.004005006s\",\"0.000007s\"]");
    test_cel_gives("[duration('2562047h47m16.854775807s'),"
                   " duration('-9223372036854775808ns')]",
                   NULL,
                   "[\"9223372036.854775807s\",\"-9223372036.854775808s\"]");
}
END_TEST

/* Each moment and each duration reads back from its text as itself. */
START_TEST(text_reads_back)
{
    uint64_t random = 88172645463325252u;
    char text[CEL_TIME_TEXT];

    for (int i = 0; i < 20000; i++) {
        struct cel_time t, u;
        int64_t ns, back;
        size_t n;

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        t.s = (int64_t)(random % 315537897600u) - 62135596800;
        t.ns = (int32_t)(random % 7 == 0 ? 0 : random % 1000000000u);
        n = mortise_cel_time_format(text, t);
        if (!mortise_cel_time_parse(&u, text, n) || t.s != u.s || t.ns != u.ns)
            ck_abort_msg("%.*s", (int)n, text);
        ns = (int64_t)random >> random % 64;
        n = mortise_cel_duration_format(text, ns);
        if (!mortise_cel_duration_parse(&back, text, n) || back != ns)
            ck_abort_msg("%.*s", (int)n, text);
    }
}
END_TEST

START_TEST(time_is_reckoned_with)
{
    test_cel_gives("timestamp(x.at) + duration('36h') > timestamp(x.at)",
                   "{\"at\":\"2024-02-28T18:00:00Z\"}", "true");
    test_cel_gives("timestamp(x) + duration('36h')", "\"2024-02-28T18:00:00Z\"",
                   "\"2024-03-01T06:00:00Z\"");
    test_cel_gives("duration('-1ns') + timestamp(0)", NULL,
                   "\"1969-12-31T23:59:59.999999999Z\"");
    test_cel_gives("timestamp('2024-01-01T00:00:00.25+05:45') - timestamp(0)",
                   NULL, "\"1704046500.25s\"");
    test_cel_gives("int(timestamp('1969-12-31T23:59:59.5Z'))", NULL, "-1");
    test_cel_gives("{'a': [duration('90s'), timestamp(0)]}", NULL,
                   "{\"a\":[\"90s\",\"1970-01-01T00:00:00Z\"]}");
    test_cel_gives("timestamp(0) == timestamp('1970-01-01T02:00:00+02:00') && "
                   "duration('60s') in [duration('1m')] && timestamp(0) != x",
                   "0", "true");
    test_cel_gives("type(timestamp(x)) == google.protobuf.Timestamp &&"
                   " type(duration('1s')) == google.protobuf.Duration &&"
                   " type(x) == int",
                   "5", "true");
}
END_TEST

START_TEST(fields_are_of_the_zone)
{
    test_cel_gives("[timestamp(x).getHours('Asia/Kathmandu'), timestamp(x)"
                   ".getMinutes('Asia/Kathmandu'),"
                   " timestamp(x).getDayOfWeek('-23:59')]",
                   "0", "[5,30,3]");
    /* A name that is computed is found, too. */
    test_cel_gives("x.map(z, timestamp('2024-07-01T12:00:00Z').getHours(z))",
                   "[\"UTC\",\"Europe/Berlin\",\"US/Central\",\"+03:30\"]",
                   "[12,14,7,15]");
    test_cel_gives("x.map(t, timestamp(t).getHours('Europe/Berlin'))",
                   "[\"2024-03-31T00:59:59Z\",\"2024-03-31T01:00:00Z\","
                   "\"2050-10-30T00:59:59Z\",\"2050-10-30T01:00:00Z\"]",
                   "[1,3,2,2]");
    test_cel_gives("[duration('-3730.5s')].map(d, [d.getHours(),"
                   " d.getMinutes(), d.getSeconds(), d.getMilliseconds()])",
                   NULL, "[[-1,-62,-3730,-500]]");
}
END_TEST

START_TEST(faults_say_where)
{
    test_cel_fails("duration('5 minutes') > duration('1s')", NULL,
                   "'5 minutes'", "cannot convert this string to duration");
    test_cel_fails("timestamp('yesterday')", NULL, "'yesterday'",
                   "cannot convert this string to timestamp");
    test_cel_fails("timestamp(x)", "\"now\"", "timestamp",
                   "cannot convert this string to timestamp");
    test_cel_fails("timestamp(x)", "253402300800", "timestamp",
                   "cannot convert this int to timestamp");
    test_cel_fails("timestamp(x) + duration('1s')", "\"9999-12-31T23:59:59Z\"",
                   "+", "timestamp out of range");
    test_cel_fails("timestamp('9999-12-31T00:00:00Z') - timestamp(x)", "0", "-",
                   "duration out of range");
    test_cel_fails("timestamp(x) - duration('-9223372036854775808ns')", "0",
                   "-", "timestamp out of range");
    test_cel_fails("timestamp(0).getHours('Mars/Olympus')", NULL,
                   "'Mars/Olympus'", "no time zone 'Mars/Olympus'");
    test_cel_fails("timestamp(0).getHours(x)", "\"../passwd\"", "getHours",
                   "no time zone '../passwd'");
    test_cel_fails("timestamp(0).getHours('+24:00')", NULL, "'+24:00'",
                   "no time zone '+24:00'");
    test_cel_fails("x.getHours()", "5", "getHours",
                   "no such overload: getHours(int)");
    test_cel_fails("duration('1s').getDate()", NULL, "duration",
                   "getDate() needs timestamp, not duration");
    test_cel_fails("timestamp(0) + timestamp(0)", NULL, "+",
                   "'+' cannot be applied to timestamp and timestamp");
    test_cel_fails("[timestamp(0), x].map(t, duration('1s') - t)", "1", "-",
                   "no such overload: duration - timestamp");
    test_cel_fails("duration('1s') * x", "2", "*",
                   "'*' cannot be applied to duration and anything");
    test_cel_fails("duration('1s') < x", "2", "<",
                   "no such overload: duration < int");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cel time");
    TCase *tc = tcase_create("time");

    tcase_add_checked_fixture(tc, begin, finish);
    tcase_add_test(tc, timestamps_are_read_strictly);
    tcase_add_test(tc, durations_are_read_strictly);
    tcase_add_test(tc, text_reads_back);
    tcase_add_test(tc, time_is_reckoned_with);
    tcase_add_test(tc, fields_are_of_the_zone);
    tcase_add_test(tc, faults_say_where);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
