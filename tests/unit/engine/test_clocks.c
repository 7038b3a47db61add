/* test_clocks.c -- the four clocks of a call: start, call, idle, quiesce; each
 * with a plugin that lets it run out, and the ones that do not. */
#include <check.h>
#include <limits.h>
#include <string.h>

#include "core/base/clock.h"
#include "lib/httpd.h"
#include "lib/lone.h"
#include "lib/shelf.h"

static struct shelf shelf;
static struct httpd *d;
static uint64_t before;

/* ---- around each test --------------------------------------------------- */

static void sign_plugins(void)
{
    static const char *const plugins[] = {"keeps_silent", "creates_slowly",
                                          "ignores_cancel", "fetches"};

    shelf_init(&shelf);
    for (size_t i = 0; i < sizeof plugins / sizeof plugins[0]; i++)
        shelf_put(&shelf, plugins[i]);
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
}

static void setup(void)
{
    char config[PATH_MAX];

    lone_begin();
    d = httpd_start();
    snprintf(config, sizeof config, "{fetches: {base_url: \"%s\"}}",
             httpd_url(d, ""));
    lone_open(shelf.trust, shelf.plugins, config);
    before = mortise_mono_ns();
}

static void teardown(void)
{
    lone_end();
    httpd_stop(d);
}

/* One node, YAML in flow style; its run's end. */
static int run(const char *node)
{
    lone_start("%s", node);
    return lone_finish();
}

static void fails(const char *node, const char *code)
{
    lone_start("%s", node);
    lone_failed(code, "");
    ck_assert_uint_lt(mortise_mono_ns() - before, 30000000000u);
}

/* ---- the clocks --------------------------------------------------------- */

/* create() that takes too long fails the call, which may be tried again. */
START_TEST(start_clock)
{
    lone->start_ms = 20;
    fails("tool: creates_slowly/run", "timeout.start");
    ck_assert_int_eq(run("tool: creates_slowly/run"), MORTISE_RUN_COMPLETED);
}
END_TEST

START_TEST(a_start_is_retried)
{
    lone->start_ms = 20;
    ck_assert_int_eq(run("tool: creates_slowly/run, retry_policy: "
                         "{max_attempts: 2, delay: 1ms}"),
                     MORTISE_RUN_COMPLETED);
}
END_TEST

/* The node's timeout, whatever the plugin shows of itself. */
START_TEST(call_clock)
{
    fails("tool: keeps_silent/looks, args: {ms: 20000}, timeout: 300ms",
          "timeout.call");
}
END_TEST

/* One of centuries is none that passes today, however it is counted. */
START_TEST(long_timeouts_are_long)
{
    ck_assert_int_eq(run("tool: keeps_silent/looks, args: {ms: 60}, timeout: "
                         "18446744073710ms"), /* 2^64 ns, and a little */
                     MORTISE_RUN_COMPLETED);
}
END_TEST

/* No sign of life: cancelled, and said to be idle; its class is timeout. */
START_TEST(idle_clock)
{
    fails("tool: keeps_silent/silent", "timeout.idle");
    fails("tool: keeps_silent/silent, retry_policy: {max_attempts: 2, delay: "
          "1ms, retry_on: [timeout]}",
          "timeout.idle");
}
END_TEST

/* Signs of life: looking, emitting, waiting for an answer of ours. */
START_TEST(the_living_are_not_idle)
{
    char node[256];

    ck_assert_int_eq(run("tool: keeps_silent/looks, args: {ms: 1500}"),
                     MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(run("tool: keeps_silent/emits, args: {ms: 1500}"),
                     MORTISE_RUN_COMPLETED);
    httpd_on(d, "/slow");
    httpd_wait(d, 1500);
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    snprintf(node, sizeof node, "tool: fetches/get, args: {url: \"%s\"}",
             httpd_url(d, "/slow"));
    ck_assert_int_eq(run(node), MORTISE_RUN_COMPLETED);
}
END_TEST

/* One that does not let go, neither of its own accord nor when it is told: both
 * clocks in front of it lead there. */
START_TEST(quiesce_clock)
{
    fails("tool: ignores_cancel/run, args: {ms: 9000}, timeout: 100ms",
          "timeout.unresponsive");
    fails("tool: keeps_silent/stubborn, args: {ms: 9000}",
          "timeout.unresponsive");
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("clocks");
    TCase *tc = tcase_create("clocks");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 30);
    tcase_add_test(tc, start_clock);
    tcase_add_test(tc, a_start_is_retried);
    tcase_add_test(tc, call_clock);
    tcase_add_test(tc, long_timeouts_are_long);
    tcase_add_test(tc, idle_clock);
    tcase_add_test(tc, the_living_are_not_idle);
    tcase_add_test(tc, quiesce_clock);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
