/* test_cli_http.c -- requests of the bundled `http`, and kill -9 in between: the
 * server counts what is asked for again. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/errand.h"

/* How often a path was asked for. */
static unsigned times(const char *path)
{
    unsigned n = 0;

    for (size_t i = 0; i < httpd_requests(errand_httpd); i++)
        n += strstr(httpd_request(errand_httpd, i), path) != NULL;
    return n;
}

static void graph(const char *tool, const char *path, const char *more)
{
    char text[1024];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\nstart: a\nnodes:\n"
             "  a: {type: tool, tool: http/%s, args: {url: \"%s\"%s}, "
             "next: END}\n",
             tool, httpd_url(errand_httpd, path), more);
    errand_put("g.yaml", text);
}

/* The first time it is asked for, it is silent. */
static void mute_once(const char *path)
{
    httpd_on(errand_httpd, path);
    httpd_hold(errand_httpd);
    httpd_times(errand_httpd, 1);
}

static void page(const char *path, const char *headers, const char *body)
{
    httpd_answer(errand_httpd, path, "200 OK", headers, body);
}

/* Run, and killed when the server had so many requests, and what came before the
 * last is on disk: a read does not wait for that. */
static void run_and_kill(unsigned n)
{
    pid_t pid =
        child_start("run", "%s run g.yaml --id r", child_build("mortise"));

    httpd_await(errand_httpd, n);
    usleep(1000000);
    child_kill(pid);
}

static void resume(void)
{
    ck_assert_msg(errand_mortise("resume r") == 0, "%s%s", child.out,
                  child.err);
    ck_assert_int_eq(errand_mortise("show r --json"), 0);
}

static void assert_shown(const char *text)
{
    ck_assert_msg(strstr(child.out, text) != NULL, "no '%s' in:\n%s", text,
                  child.out);
}

/* Killed at any page of a list, it goes on at that page: those before it are not
 * asked for again, and the list is whole. */
START_TEST(pages_go_on_where_they_were)
{
    static const char *const paths[] = {"/1", "/2", "/3"};

    mute_once(paths[_i]);
    page("/1", "Link: </2>; rel=next\r\n", "[\"one\"]");
    page("/2", "Link: </3>; rel=next\r\n", "[\"two\"]");
    page("/3", "", "[\"three\"]");
    graph("pages", "/1", "");
    run_and_kill((unsigned)_i + 1);
    resume();
    for (int i = 0; i < 3; i++) {
        char line[32];

        snprintf(line, sizeof line, "GET %s ", paths[i]);
        ck_assert_uint_eq(times(line), i == _i ? 2 : 1);
    }
    assert_shown("\"pages\": 3");
    assert_shown("one");
    assert_shown("two");
    assert_shown("three");
    ck_assert_int_eq(errand_mortise("history r"), 0);
}
END_TEST

/* The same by a cursor, which comes out of what is on record. */
START_TEST(cursors_go_on_where_they_were)
{
    page("/list", "", "{\"d\": [1], \"n\": \"x y\"}");
    mute_once("/list?c=x%20y");
    page("/list?c=x%20y", "", "{\"d\": [2], \"n\": 9}");
    page("/list?c=9", "", "{\"d\": [3]}");
    graph("pages", "/list", ", items: /d, next: {cursor: /n, query: c}");
    run_and_kill(2);
    resume();
    ck_assert_uint_eq(times("GET /list "), 1);
    ck_assert_uint_eq(times("GET /list?c=x%20y "), 2);
    ck_assert_uint_eq(times("GET /list?c=9 "), 1);
    assert_shown("\"pages\": 3");
}
END_TEST

/* A server that is busy for an hour is waited for on disk, also while nobody runs:
 * when the time is over, the list goes on at the page that was refused. */
START_TEST(a_long_wait_outlives_its_engine)
{
    static const int64_t two_hours = 7200000;
    char clock[PATH_MAX];
    pid_t pid;

    page("/1", "Link: </2>; rel=next\r\n", "[\"one\"]");
    httpd_answer(errand_httpd, "/2", "429 Slow", "Retry-After: 3600\r\n", "");
    httpd_times(errand_httpd, 1);
    page("/2", "", "[\"two\"]");
    graph("pages", "/1", "");
    pid = child_start("run", "%s run g.yaml --id r", child_build("mortise"));
    child_await("run.out", "waiting");
    child_kill(pid);
    ck_assert_int_eq(errand_mortise("why r"), 0);
    assert_shown("timer");
    snprintf(clock, sizeof clock, "%s/clock", errand_dir);
    test_write(clock, (const char *)&two_hours, sizeof two_hours);
    child_run("env LD_PRELOAD=%s OTHERCLOCK=%s $MORTISE resume r",
              child_build("tests/preload/otherclock.so"), clock);
    ck_assert_msg(child.code == 0, "%s%s", child.out, child.err);
    ck_assert_int_eq(errand_mortise("show r --json"), 0);
    assert_shown("\"pages\": 2");
    ck_assert_uint_eq(times("GET /1 "), 1);
    ck_assert_uint_eq(times("GET /2 "), 2);
}
END_TEST

/* Killed while a `submit` waits for its next try, it is sent again with the same
 * key, and nobody is asked. */
START_TEST(a_waiting_try_is_made_again)
{
    const char *first, *second;

    httpd_answer(errand_httpd, "/pay", "503 Busy", "Retry-After: 30\r\n", "");
    httpd_times(errand_httpd, 1);
    page("/pay", "", "paid");
    graph("submit", "/pay", ", json: {n: 1}, retries: 1");
    run_and_kill(1);
    resume();
    ck_assert_uint_eq(times("POST /pay "), 2);
    first = strstr(httpd_request(errand_httpd, 0), "Idempotency-Key: ");
    second = strstr(httpd_request(errand_httpd, 1), "Idempotency-Key: ");
    ck_assert_ptr_nonnull(first);
    ck_assert_ptr_nonnull(second);
    ck_assert_int_eq(strncmp(first, second, 17 + 32), 0);
    assert_shown("paid");
}
END_TEST

static const struct {
    const char *tool, *more;
} bad[] = {
    {"pages", ", items: data"},
    {"pages", ", items: /a~2"},
    {"pages", ", next: {}"},
    {"pages", ", next: {link: false}"},
    {"pages", ", next: {url: \"\"}"},
    {"pages", ", next: {url: /n, query: c}"},
    {"pages", ", next: {cursor: /n}"},
    {"pages", ", next: {cursor: /n, last: /i, query: c}"},
    {"pages", ", next: {page: p, from: -1}"},
    {"pages", ", next: {offset: \"\"}"},
    {"pages", ", max_pages: 0"},
    {"pages", ", max_pages: 10001"},
    {"pages", ", max_items: 0"},
    {"pages", ", as: text"},
    {"pages", ", retries: 11"},
    {"get", ", retries: -1"},
    {"get", ", auth: {}"},
    {"get", ", auth: {bearer: a, basic: {user: a, password: b}}"},
    {"get", ", auth: {basic: {user: a}}"},
    {"get", ", idempotency_header: X"},
    {"request", ", idempotency_header: X"},
    {"submit", ", idempotency_header: \"\""},
};

/* What no server could be asked is found before anybody runs it. */
START_TEST(check_finds_it)
{
    graph(bad[_i].tool, "/x", bad[_i].more);
    ck_assert_int_eq(errand_mortise("check g.yaml"), 2);
    ck_assert_msg(strstr(child.err, "E0503") != NULL ||
                      strstr(child.out, "E0503") != NULL,
                  "%s%s", child.out, child.err);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_http");
    TCase *tc = tcase_create("http");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, errand_begin, errand_end);
    tcase_add_loop_test(tc, pages_go_on_where_they_were, 0, 3);
    tcase_add_test(tc, cursors_go_on_where_they_were);
    tcase_add_test(tc, a_long_wait_outlives_its_engine);
    tcase_add_test(tc, a_waiting_try_is_made_again);
    tcase_add_loop_test(tc, check_finds_it, 0, sizeof bad / sizeof bad[0]);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
