/* test_bundled_time.c -- the time executor: from any host's point of view, and
 * through the whole of mortise, over processes that are killed. */
#include <check.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "lib/barehost.h"
#include "lib/desk.h"
#include "lib/oom.h"
#include "lib/test.h"

static struct mortise_host host;
static const mortise_plugin *plugin;
static mortise_inst *inst;

static void setup(void)
{
    plugin = bare_plugin("time");
    test_begin();
    bare_init(&host);
    host.answer = "null";
    host.answer_status = MORTISE_S_SUSPENDED;
    inst = bare_create(&host, plugin, "{}");
    ck_assert_ptr_nonnull(inst);
}

static void teardown(void)
{
    bare_destroy(plugin, inst);
    bare_finish(&host);
    test_nothing_left();
}

static mortise_status call(const char *operation, const char *body)
{
    return bare_execute(
        &host, plugin, inst,
        &(struct bare_call){.operation = operation, .body = body});
}

static mortise_status sleep_by(const char *member, const char *text)
{
    char body[256];

    snprintf(body, sizeof body, "{\"%s\":\"%s\"}", member, text);
    return call("sleep", body);
}

/* ---- what it asks for ---------------------------------------------------- */

static void asks(const char *member, const char *text, uint64_t ms)
{
    char want[128];

    ck_assert_msg(sleep_by(member, text) == MORTISE_S_SUSPENDED, "%s: %s", text,
                  host.msg);
    snprintf(want, sizeof want, "timer.wait/1 {\"%s_ms\":%" PRIu64 "}", member,
             ms);
    ck_assert_str_eq(host.asked, want);
    ck_assert_uint_eq(host.n_out, 0); /* not over, so nothing is given */
}

static void refuses(mortise_status status, const char *words)
{
    ck_assert_int_eq(status, MORTISE_S_INVALID);
    ck_assert_str_eq(host.code, "invalid");
    ck_assert_msg(strstr(host.msg, words) != NULL, "%s", host.msg);
    ck_assert_ptr_null(host.asked); /* nothing */
}

/* A duration is a number and a unit, as everywhere in graphs. */
START_TEST(durations_are_read)
{
    asks("for", "0ms", 0);
    asks("for", "250ms", 250);
    asks("for", "10s", 10000);
    asks("for", "90m", 5400000);
    asks("for", "2h", 7200000);
    asks("for", "007d", 604800000);
    asks("for", "3650d", 315360000000);
    asks("for", "315360000000ms", 315360000000);
}
END_TEST

/* Anything else is refused, with words that say what is one. */
START_TEST(other_durations_are_refused)
{
    static const char *const bad[] = {"",
                                      "10",
                                      "s",
                                      "10 s",
                                      " 10s",
                                      "10s ",
                                      "-10s",
                                      "+10s",
                                      "1.5h",
                                      "10S",
                                      "1h30m",
                                      "ten seconds",
                                      "3651d",
                                      "315360000001ms",
                                      "99999999999999999999999999s",
                                      "10s\\u0000",
                                      "10µs"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuses(sleep_by("for", bad[i]), "such as 250ms");
}
END_TEST

/* A time is one of RFC 3339, whatever its zone and its fraction. */
START_TEST(times_are_read)
{
    asks("until", "1970-01-01T00:00:01Z", 1000);
    asks("until", "2026-03-01T08:00:00Z", 1772352000000);
    asks("until", "2026-03-01t08:00:00z", 1772352000000);
    asks("until", "2026-03-01 08:00:00Z", 1772352000000);
    asks("until", "2026-03-01T09:30:00+01:30", 1772352000000);
    asks("until", "2026-02-28T22:00:00-10:00", 1772352000000);
    asks("until", "2026-03-01T08:00:00.5Z", 1772352000500);
    asks("until", "2026-03-01T08:00:00.000Z", 1772352000000);
    asks("until", "2026-03-01T08:00:00.1230001Z", 1772352000124);
    asks("until", "2028-02-29T00:00:00Z", 1835395200000);
    asks("until", "2016-12-31T23:59:60Z", 1483228800000);
    asks("until", "9999-12-31T23:59:59.999Z", 253402300799999);
    asks("until", "1969-12-31T23:59:59Z", 1); /* over, as much as any */
    asks("until", "0000-01-01T00:00:00Z", 1);
    asks("until", "0001-03-01T00:00:00Z", 1);
}
END_TEST

/* ... and the C library thinks so, too, of any second there is. */
START_TEST(times_are_what_the_library_says)
{
    uint64_t seed = 1;

    for (int i = 0; i < 20000; i++) {
        char text[64];
        struct tm tm;
        time_t t;

        seed = seed * 6364136223846793005u + 1442695040888963407u;
        t = (time_t)(1 + (seed >> 16) % 253402300798u);
        gmtime_r(&t, &tm);
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm);
        asks("until", text, (uint64_t)t * 1000);
    }
}
END_TEST

START_TEST(other_times_are_refused)
{
    static const char *const bad[] = {"",
                                      "tomorrow",
                                      "2026-03-01",
                                      "2026-03-01T08:00:00",
                                      "2026-03-01T08:00Z",
                                      "2026-3-1T08:00:00Z",
                                      "2026-00-01T08:00:00Z",
                                      "2026-13-01T08:00:00Z",
                                      "2026-02-29T08:00:00Z",
                                      "2100-02-29T08:00:00Z",
                                      "2026-04-31T08:00:00Z",
                                      "2026-03-00T08:00:00Z",
                                      "2026-03-01T24:00:00Z",
                                      "2026-03-01T08:60:00Z",
                                      "2026-03-01T08:00:61Z",
                                      "2026-03-01T08:00:00.Z",
                                      "2026-03-01T08:00:00+01",
                                      "2026-03-01T08:00:00+0100",
                                      "2026-03-01T08:00:00+24:00",
                                      "2026-03-01T08:00:00+01:60",
                                      "2026-03-01T08:00:00Z ",
                                      " 2026-03-01T08:00:00Z",
                                      "2026-03-01T08:00:00ZZ",
                                      "2026-03-01T08:00:00Z\\u0000",
                                      "+2026-03-01T08:00:00Z",
                                      "1772352000"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuses(sleep_by("until", bad[i]), "RFC 3339");
}
END_TEST

/* One of the two: none is no time, and both may contradict each other. */
START_TEST(one_of_for_and_until)
{
    refuses(call("sleep", "{}"), "one of `for` and `until`");
    refuses(
        call("sleep", "{\"for\":\"1s\",\"until\":\"2026-03-01T08:00:00Z\"}"),
        "one of `for` and `until`");
    refuses(call("sleep", "{\"for\":10}"), "such as 250ms");
    refuses(call("sleep", "{\"until\":10}"), "RFC 3339");
}
END_TEST

/* ---- what it gives ------------------------------------------------------- */

/* {at, unix_ms}, both now. */
static void gives_now(void)
{
    json_t *out = json_loads(host.out, 0, NULL);
    const char *at = json_string_value(json_object_get(out, "at"));
    uint64_t ms = (uint64_t)json_integer_value(json_object_get(out, "unix_ms"));
    char want[MORTISE_TIME_TEXT];

    ck_assert_uint_le(ms, mortise_now_ms());
    ck_assert_uint_gt(ms + 60000, mortise_now_ms());
    mortise_time_format(want, ms);
    ck_assert_str_eq(at, want);
    json_decref(out);
}

/* When its time has come, it says what time that is; and so does now. */
START_TEST(the_time_is_told)
{
    host.answer_status = MORTISE_S_OK;
    ck_assert_int_eq(sleep_by("for", "10s"), MORTISE_S_OK);
    gives_now();
    ck_assert_int_eq(call("now", "{}"), MORTISE_S_OK);
    gives_now();
}
END_TEST

/* What the host says instead is passed on: its words, and whether it was
 * cancelled. */
START_TEST(the_hosts_words_are_passed_on)
{
    host.answer_status = MORTISE_S_CANCELLED;
    host.answer = "cancelled";
    ck_assert_int_eq(sleep_by("for", "10s"), MORTISE_S_CANCELLED);
    ck_assert_str_eq(host.klass, "cancelled");
    host.answer_status = MORTISE_S_FAILED;
    host.answer = "no more timers";
    ck_assert_int_eq(sleep_by("for", "10s"), MORTISE_S_FAILED);
    ck_assert_str_eq(host.code, "failed");
    ck_assert_str_eq(host.msg, "no more timers");
    host.answer = NULL; /* a host without timers */
    ck_assert_int_eq(sleep_by("for", "10s"), MORTISE_S_UNSUPPORTED);
    ck_assert_str_eq(host.msg, "the host does not support timers");
}
END_TEST

/* Whatever allocation fails, that is said, and another try may help. */
START_TEST(survives_oom)
{
    bool failed = true;

    if (!oom_works())
        return;
    host.around = oom_around;
    for (int n = 0; failed; n++) {
        mortise_inst *i;

        oom_fail_at(n);
        i = bare_create(&host, plugin, "{}");
        failed = oom_failed();
        ck_assert_int_eq(i == NULL, failed);
        if (i != NULL)
            bare_destroy(plugin, i);
    }
    failed = true;
    for (int n = 0; failed; n++) {
        mortise_status status;

        oom_fail_at(n);
        status = sleep_by("for", "10s");
        failed = oom_failed();
        ck_assert_int_eq(status,
                         failed ? MORTISE_S_NOMEM : MORTISE_S_SUSPENDED);
        if (failed)
            ck_assert_str_eq(host.klass, "transient");
    }
    host.around = NULL;
}
END_TEST

/* ---- through mortise ----------------------------------------------------- */

static void begin(void)
{
    desk_begin();
    desk_ok("rm mortise.yaml"); /* the bundled plugins, and ./.mortise */
}

static void graph(const char *args)
{
    char body[512];

    snprintf(body, sizeof body,
             "start: a\nnodes:\n"
             "  a: {type: tool, tool: time/sleep, args: %s, next: END}\n",
             args);
    desk_graph("g", body);
}

/* When the run's one node ended, as it says itself. */
static uint64_t woke_at(void)
{
    json_t *show;
    uint64_t ms;

    desk_ok("$MORTISE show r --json");
    desk_out("\"status\": \"completed\"");
    show = json_loads(child.out, 0, NULL);
    ck_assert_ptr_nonnull(show);
    ms = (uint64_t)json_integer_value(json_object_get(
        json_object_get(
            json_object_get(json_object_get(show, "state"), "artifacts"), "a"),
        "unix_ms"));
    json_decref(show);
    return ms;
}

/* Run g.yaml, and kill that once it is asleep. */
static void killed_in_its_sleep(void)
{
    pid_t pid = child_start("run", "$MORTISE run g.yaml --id r");

    desk_until("\"kind\": \"timer\"", "$MORTISE show r --json");
    child_kill(pid);
}

/* Killed in its sleep a run is on disk alone, and asks nobody; resumed before
 * its time it waits for the rest, and wakes then, not sooner. */
START_TEST(a_sleep_survives_a_kill)
{
    uint64_t began = mortise_now_ms(), woke;

    graph("{for: 4s}");
    killed_in_its_sleep();
    desk_ok("$MORTISE inbox");
    desk_not_out("sleep");
    desk_ok("$MORTISE show r --json");
    desk_out("\"kind\": \"timer\"");
    desk_ok("$MORTISE resume r");
    woke = woke_at();
    ck_assert_uint_ge(woke, began + 4000);
    ck_assert_uint_le(woke, began + 40000); /* for a machine with other work */
}
END_TEST

/* One whose time came while nobody held the store wakes as soon as somebody
 * does. */
START_TEST(a_sleep_that_is_over_ends_at_once)
{
    graph("{for: 3s}");
    killed_in_its_sleep();
    desk_ok("sleep 3; $MORTISE resume r");
    woke_at();
}
END_TEST

/* A long one lets its process end; an engine that holds the store wakes it. */
START_TEST(an_engine_wakes_who_sleeps)
{
    char at[MORTISE_TIME_TEXT], args[64];
    uint64_t due;
    pid_t engine;

    graph("{for: 2h}");
    child_run("$MORTISE run g.yaml --id long");
    desk_code(4);
    desk_ok("$MORTISE show long --json");
    desk_out("\"reason\": \"timer\"");
    due = mortise_now_ms() + 4000;
    mortise_time_format(at, due);
    snprintf(args, sizeof args, "{until: \"%s\"}", at);
    graph(args);
    killed_in_its_sleep();
    engine = child_start("engine", "$MORTISE engine");
    desk_until("\"status\": \"completed\"", "$MORTISE show r --json");
    kill(engine, SIGTERM);
    ck_assert_int_eq(child_wait(engine), 0);
    ck_assert_uint_ge(woke_at(), due);
    desk_ok("$MORTISE show long --json");
    desk_out("\"reason\": \"timer\"");
}
END_TEST

/* now needs no timer, and what it said stays what it said. */
START_TEST(now_is_told_once)
{
    uint64_t began = mortise_now_ms(), at;

    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: time/now, args: {}, next: END}\n");
    desk_ok("$MORTISE run g.yaml --id r");
    at = woke_at();
    ck_assert_uint_ge(at, began);
    ck_assert_uint_eq(woke_at(), at);
}
END_TEST

/* `check` does not know what an expression will give, but a run says what is
 * wrong with it, at its node. */
START_TEST(a_wrong_duration_fails_its_node)
{
    graph("{for: \"${input.wait}\"}");
    desk_ok("$MORTISE check g.yaml");
    child_run("$MORTISE run g.yaml --id r --input '{\"wait\": \"soon\"}'");
    desk_code(1);
    desk_out("for must be a duration such as 250ms");
    graph("{for: 10}");
    child_run("$MORTISE check g.yaml");
    ck_assert_int_ne(child.code, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("bundled_time");
    TCase *tc = tcase_create("host"), *whole = tcase_create("whole");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, durations_are_read);
    tcase_add_test(tc, other_durations_are_refused);
    tcase_add_test(tc, times_are_read);
    tcase_add_test(tc, times_are_what_the_library_says);
    tcase_add_test(tc, other_times_are_refused);
    tcase_add_test(tc, one_of_for_and_until);
    tcase_add_test(tc, the_time_is_told);
    tcase_add_test(tc, the_hosts_words_are_passed_on);
    tcase_add_test(tc, survives_oom);
    suite_add_tcase(s, tc);

    tcase_add_unchecked_fixture(whole, desk_sign, desk_unsign);
    tcase_add_checked_fixture(whole, begin, desk_end);
    tcase_set_timeout(whole, 60);
    tcase_add_test(whole, a_sleep_survives_a_kill);
    tcase_add_test(whole, a_sleep_that_is_over_ends_at_once);
    tcase_add_test(whole, an_engine_wakes_who_sleeps);
    tcase_add_test(whole, now_is_told_once);
    tcase_add_test(whole, a_wrong_duration_fails_its_node);
    suite_add_tcase(s, whole);
    return s;
}

int main(void)
{
    return test_run(suite());
}
