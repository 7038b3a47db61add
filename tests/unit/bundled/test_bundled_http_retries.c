/* test_bundled_http_retries.c -- which requests are made again by themselves:
 * those of http.request/1 that say `retries`, by their method and by what the
 * operation that asks says of itself; and those of the bundled `http`. */
#include <check.h>
#include <limits.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/json/value.h"
#include "lib/child.h"
#include "lib/httpd.h"
#include "lib/lone.h"
#include "lib/shelf.h"
#include "lib/warm.h"

static struct shelf shelf;
static struct httpd *d;

/* ---- around each test --------------------------------------------------- */

static void sign_plugins(void)
{
    shelf_init(&shelf);
    shelf_put(&shelf, "relays");
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
}

static void open_shelf(void)
{
    char config[PATH_MAX];

    snprintf(config, sizeof config, "{relays: {base_url: \"%s\"}}",
             httpd_url(d, ""));
    lone_open(shelf.trust, shelf.plugins, config);
}

static void open_bundled(void)
{
    char trust[PATH_MAX], config[PATH_MAX];

    snprintf(trust, sizeof trust, "%s", child_build("trust.d"));
    snprintf(config, sizeof config, "{http: {allow: [\"%s\"]}}",
             httpd_url(d, ""));
    lone_open(trust, child_build("plugins"), config);
}

static void setup(void)
{
    warm_libuv();
    lone_begin();
    d = httpd_start();
}

static void teardown(void)
{
    lone_end();
    httpd_stop(d);
    ck_assert_uint_eq(test_mem_blocks(), 0);
}

/* Busy once, and then not. */
static void be_busy_once(const char *status, const char *headers)
{
    httpd_answer(d, "/x", status, headers, "");
    httpd_times(d, 1);
    httpd_answer(d, "/x", "200 OK", "", "done");
}

static void expect(bool again, const char *code)
{
    if (again)
        ck_assert_int_eq(lone_finish(), MORTISE_RUN_COMPLETED);
    else
        lone_failed(code, "");
    ck_assert_uint_eq(httpd_requests(d), again ? 2 : 1);
}

/* ---- http.request/1 ------------------------------------------------------ */

static const struct {
    const char *operation, *method;
    bool again;
} asks[] = {
    {"read", "GET", true},        {"read", "POST", true},
    {"call", "GET", true},        {"call", "OPTIONS", true},
    {"call", "PUT", true},        {"call", "DELETE", true},
    {"call", "POST", false},      {"call", "PATCH", false},
    {"call_rec", "POST", false},  {"call_idem", "POST", true},
    {"steps", "GET", true},       {"steps", "PUT", true},
    {"steps", "POST", false},     {"steps_rec", "POST", false},
    {"steps_idem", "POST", true}, {"steps_idem", "PATCH", true},
    {"steps", "PURGE", false},
};

/* What may not be made twice is made once, whatever it says. */
START_TEST(by_method_and_operation)
{
    open_shelf();
    be_busy_once("503 Busy", "");
    lone_start("tool: relays/%s, args: {url: \"%s\", method: %s, retries: 3}",
               asks[_i].operation, httpd_url(d, "/x"), asks[_i].method);
    expect(asks[_i].again, "http.503");
}
END_TEST

/* A connection that broke behind a POST leaves it in doubt, however often it is
 * said to be tried. */
START_TEST(a_doubt_is_not_tried_away)
{
    open_shelf();
    httpd_on(d, "/x");
    httpd_close(d);
    lone_start("tool: relays/steps, args: {url: \"%s\", method: POST, retries: "
               "3}",
               httpd_url(d, "/x"));
    ck_assert_int_eq(lone_finish(), MORTISE_RUN_IN_DOUBT);
    ck_assert_uint_eq(httpd_requests(d), 1);
}
END_TEST

/* ---- the bundled plugin -------------------------------------------------- */

static const struct {
    const char *node;
    bool again;
} nodes[] = {
    {"http/get, args: {", true},
    {"http/get, args: {retries: 1, ", true},
    {"http/get, args: {retries: 0, ", false},
    {"http/request, args: {", false},
    {"http/request, args: {retries: 3, ", false},
    {"http/request, args: {method: PATCH, retries: 3, ", false},
    {"http/request, args: {method: PUT, ", false},
    {"http/request, args: {method: PUT, retries: 1, ", true},
    {"http/request, args: {method: DELETE, retries: 1, ", true},
    {"http/request, args: {method: GET, retries: 1, ", true},
    {"http/submit, args: {", false},
    {"http/submit, args: {retries: 1, ", true},
    {"http/pages, args: {items: /none, retries: 0, ", false},
};

/* A read by itself, an effect by its method and as often as it says. */
START_TEST(by_node)
{
    open_bundled();
    be_busy_once("429 Slow", "");
    lone_start("tool: %surl: \"%s\"}", nodes[_i].node, httpd_url(d, "/x"));
    expect(nodes[_i].again, "http.429");
}
END_TEST

/* Where any status is a result it is one, unless the node wants more tries. */
START_TEST(any_status_is_a_result)
{
    open_bundled();
    httpd_answer(d, "/x", "503 Busy", "", "");
    httpd_times(d, 2);
    httpd_answer(d, "/x", "200 OK", "", "done");
    lone_start("tool: http/get, args: {url: \"%s\", any_status: true}",
               httpd_url(d, "/x"));
    ck_assert_int_eq(lone_finish(), MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(httpd_requests(d), 1);
    lone_start("tool: http/get, args: {url: \"%s\", any_status: true, retries: "
               "1}",
               httpd_url(d, "/x"));
    ck_assert_int_eq(lone_finish(), MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(httpd_requests(d), 3);
}
END_TEST

/* The key of a `submit` is the same each time, in the header that the node
 * says. */
START_TEST(keys_are_the_same_each_time)
{
    const char *first, *second;

    open_bundled();
    be_busy_once("503 Busy", "");
    lone_start("tool: http/submit, args: {url: \"%s\", retries: 1, "
               "idempotency_header: "
               "X-Request-Id, headers: {x-request-id: mine}}",
               httpd_url(d, "/x"));
    expect(true, "");
    ck_assert_ptr_null(strstr(httpd_request(d, 0), "Idempotency-Key"));
    ck_assert_ptr_null(strstr(httpd_request(d, 0), "mine"));
    first = strstr(httpd_request(d, 0), "X-Request-Id: ");
    second = strstr(httpd_request(d, 1), "X-Request-Id: ");
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_nonnull(second);
    ck_assert_int_eq(strncmp(first, second, 14 + 32), 0);
    ck_assert_uint_ge(strspn(first + 14, "0123456789abcdef"), 32);
}
END_TEST

/* A node's retry_policy goes on where its tries end: each of its attempts has
 * them all. */
START_TEST(a_policy_begins_anew)
{
    open_bundled();
    httpd_answer(d, "/x", "503 Busy", "", "");
    httpd_times(d, 3);
    httpd_answer(d, "/x", "200 OK", "", "done");
    lone_start("tool: http/get, args: {url: \"%s\", retries: 1}, retry_policy: "
               "{max_attempts: 2, delay: 1ms}",
               httpd_url(d, "/x"));
    ck_assert_int_eq(lone_finish(), MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(httpd_requests(d), 4);
}
END_TEST

/* A node's timeout ends the wait for the next try. */
START_TEST(a_timeout_ends_a_wait)
{
    uint64_t before = mortise_mono_ns();

    open_bundled();
    be_busy_once("503 Busy", "Retry-After: 50\r\n");
    lone_start("tool: http/get, args: {url: \"%s\"}, timeout: 2s",
               httpd_url(d, "/x"));
    lone_failed("timeout.call", "");
    ck_assert_uint_eq(httpd_requests(d), 1);
    ck_assert_uint_lt(mortise_mono_ns() - before, 40000000000u);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("bundled_http_retries");
    TCase *tc = tcase_create("retries");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, by_method_and_operation, 0,
                        sizeof asks / sizeof asks[0]);
    tcase_add_test(tc, a_doubt_is_not_tried_away);
    tcase_add_loop_test(tc, by_node, 0, sizeof nodes / sizeof nodes[0]);
    tcase_add_test(tc, any_status_is_a_result);
    tcase_add_test(tc, keys_are_the_same_each_time);
    tcase_add_test(tc, a_policy_begins_anew);
    tcase_add_test(tc, a_timeout_ends_a_wait);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
