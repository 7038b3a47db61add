/* test_bundled_http.c -- http.request/1 and the bundled `http`, in an engine,
 * against a server that says exactly the bytes it was told to. */
#include <check.h>
#include <limits.h>
#include <stdlib.h>
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
    shelf_put(&shelf, "streams");
    shelf_put(&shelf, "fetches");
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
}

/* `allow`: may the plugins go to our server? */
static void open_engine(const char *trust, const char *plugins, bool allow)
{
    char config[PATH_MAX];
    size_t n =
        (size_t)snprintf(config, sizeof config,
                         "{fetches: {base_url: \"%s\"}, ", httpd_url(d, "/v1"));

    n += (size_t)snprintf(config + n, sizeof config - n,
                          "streams: {base_url: \"%s\"}", httpd_url(d, ""));
    if (allow)
        n += (size_t)snprintf(config + n, sizeof config - n,
                              ", http: {allow: [\"%s\"]}", httpd_url(d, ""));
    snprintf(config + n, sizeof config - n, "}");
    lone_open(trust, plugins, config);
}

static void open_bundled(bool allow)
{
    char trust[PATH_MAX];

    snprintf(trust, sizeof trust, "%s", child_build("trust.d"));
    open_engine(trust, child_build("plugins"), allow);
}

static void open_shelf(void)
{
    open_engine(shelf.trust, shelf.plugins, true);
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

/* ---- runs --------------------------------------------------------------- */

/* The output of the node, a new reference. */
static json_t *output(void)
{
    json_t *state = lone_shown("state"), *error = lone_shown("error");
    json_t *out =
        json_incref(json_object_get(json_object_get(state, "artifacts"), "a"));
    const char *words = json_string_value(json_object_get(error, "message"));

    ck_assert_msg(lone_status == MORTISE_RUN_COMPLETED, "%s",
                  words != NULL ? words : "");
    json_decref(state);
    json_decref(error);
    return out;
}

static void assert_output(const char *member, const char *want)
{
    json_t *out = output();
    char *have = json_dumps(json_object_get(out, member),
                            JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS);

    ck_assert_ptr_nonnull(have);
    ck_assert_str_eq(have, want);
    free(have);
    json_decref(out);
}

static void assert_no_output(const char *member)
{
    json_t *out = output();

    ck_assert_ptr_null(json_object_get(out, member));
    json_decref(out);
}

static bool asked(size_t i, const char *text)
{
    return strstr(httpd_request(d, i), text) != NULL;
}

#define JSON_TYPE "Content-Type: application/json; charset=utf-8\r\n"

/* ---- the bundled plugin ------------------------------------------------- */

/* JSON where the server says so or the node does, else text, else base64, of which
 * the output says so. */
START_TEST(bodies_have_their_form)
{
    open_bundled(true);
    httpd_answer(d, "/j", "200 OK", JSON_TYPE, "{\"a\": [1, \"\xc3\xa4\"]}");
    httpd_answer(d, "/t", "200 OK", "Content-Type: text/plain\r\n", "[1]");
    httpd_answer(d, "/b", "200 OK", "", "\xff\xfe");
    httpd_answer(d, "/bad", "200 OK", JSON_TYPE, "{not json");
    lone_start("tool: http/get, args: {url: \"%s\"}", httpd_url(d, "/j"));
    assert_output("body", "{\"a\":[1,\"\xc3\xa4\"]}");
    assert_output("status", "200");
    lone_start("tool: http/get, args: {url: \"%s\", as: text}",
               httpd_url(d, "/j"));
    assert_output("body", "\"{\\\"a\\\": [1, \\\"\xc3\xa4\\\"]}\"");
    lone_start("tool: http/get, args: {url: \"%s\"}", httpd_url(d, "/t"));
    assert_output("body", "\"[1]\"");
    lone_start("tool: http/get, args: {url: \"%s\", as: json}",
               httpd_url(d, "/t"));
    assert_output("body", "[1]");
    lone_start("tool: http/get, args: {url: \"%s\"}", httpd_url(d, "/b"));
    assert_output("body", "\"//4=\"");
    assert_output("note",
                  "\"the body is not UTF-8, so it is given in base64\"");
    lone_start("tool: http/get, args: {url: \"%s\"}", httpd_url(d, "/bad"));
    assert_output("body", "\"{not json\"");
    lone_start("tool: http/get, args: {url: \"%s\", as: json}",
               httpd_url(d, "/bad"));
    lone_failed("bad_json", "not JSON");
}
END_TEST

/* JSON that no value can hold stays a text, and the output says why: a request
 * that changed something is over, and its answer is not lost. */
START_TEST(json_that_no_value_holds_stays_a_text)
{
    static const struct {
        const char *body, *why;
    } rows[] = {
        {"{\"id\": 18446744073709551615}",
         "the number 18446744073709551615 does not fit into 64 bits"},
        {"[-9223372036854775809]",
         "the number -9223372036854775809 does not fit into 64 bits"},
        {"{\"a\": [1e400]}", "the number 1e400 does not fit into a double"},
        {"{\"a\": 1, \"a\": 2}", "the key a occurs twice in one object"},
        {"[{\"b\": {\"a\": 1, \"c\": 1, \"\\u0061\": 2}}]",
         "the key a occurs twice in one object"},
        {"{\"a\\u0000\": 1}", "the key a"},
    };
    static char deep[160];

    open_bundled(true);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[8];
        json_t *out;

        snprintf(path, sizeof path, "/j%zu", i);
        httpd_answer(d, path, "200 OK", JSON_TYPE, rows[i].body);
        lone_start(i % 2 == 0
                       ? "tool: http/request, args: {url: \"%s\", json: 1}"
                       : "tool: http/request, args: {url: \"%s\", as: json}",
                   httpd_url(d, path));
        out = output();
        ck_assert_str_eq(json_string_value(json_object_get(out, "body")),
                         rows[i].body);
        ck_assert_msg(strstr(json_string_value(json_object_get(out, "note")),
                             rows[i].why) != NULL,
                      "%s", json_string_value(json_object_get(out, "note")));
        json_decref(out);
    }
    memset(deep, '[', 80);
    memset(deep + 80, ']', 80);
    deep[159] = '\0';
    deep[79] = '1';
    httpd_answer(d, "/d", "200 OK", JSON_TYPE, deep);
    lone_start("tool: http/request, args: {url: \"%s\"}", httpd_url(d, "/d"));
    assert_output("note",
                  "\"the body is JSON that cannot be stored, so it is given as "
                  "text: it has more than 60 nested arrays and objects\"");
    httpd_answer(d, "/e", "200 OK", JSON_TYPE,
                 "{\"a\": [9223372036854775807, -1.5e300], \"b\": {\"a\": 1}}");
    lone_start("tool: http/request, args: {url: \"%s\"}", httpd_url(d, "/e"));
    assert_no_output("note");
}
END_TEST

/* What is sent: method, headers, JSON or text; a key that stays the same, and
 * is the node's alone. */
START_TEST(requests_are_sent_as_said)
{
    const char *key;
    char line[128];

    open_bundled(true);
    httpd_answer(d, "/r", "201 Made", "X-Y: z\r\n", "ok");
    lone_start(
        "tool: http/request, args: {url: \"%s\", headers: {X-A: b}, json: "
        "{q: [1, 2]}}",
        httpd_url(d, "/r"));
    assert_output("headers", "{\"content-length\":\"2\",\"x-y\":\"z\"}");
    ck_assert(asked(0, "POST /r HTTP/1.1"));
    ck_assert(asked(0, "X-A: b\r\n"));
    ck_assert(asked(0, "Content-Type: application/json\r\n"));
    ck_assert(asked(0, "\r\n\r\n{\"q\":[1,2]}"));
    ck_assert(!asked(0, "Idempotency-Key"));
    lone_start(
        "tool: http/submit, args: {url: \"%s\", method: PUT, body: plain, "
        "headers: {idempotency-key: mine, Content-Type: text/x}}",
        httpd_url(d, "/r"));
    assert_output("body", "\"ok\"");
    ck_assert(asked(1, "PUT /r HTTP/1.1"));
    ck_assert(asked(1, "Content-Type: text/x\r\n"));
    ck_assert(asked(1, "\r\n\r\nplain"));
    ck_assert(!asked(1, "mine"));
    key = strstr(httpd_request(d, 1), "Idempotency-Key: ");
    ck_assert_ptr_nonnull(key);
    snprintf(line, sizeof line, "%.40s", key + 17);
    ck_assert_uint_ge(strspn(line, "0123456789abcdef"), 32);
}
END_TEST

/* A status from 400 on fails the node, unless it is wanted. */
START_TEST(statuses_are_errors)
{
    json_t *error;

    open_bundled(true);
    httpd_answer(d, "/404", "404 No", "", "nothing");
    lone_start("tool: http/get, args: {url: \"%s\"}", httpd_url(d, "/404"));
    lone_failed("http.404", "status 404");
    error = lone_shown("error");
    ck_assert_int_eq(json_integer_value(json_object_get(error, "status")), 404);
    json_decref(error);
    lone_start("tool: http/get, args: {url: \"%s\", any_status: true}",
               httpd_url(d, "/404"));
    assert_output("body", "\"nothing\"");
}
END_TEST

/* Retry-After is the least that a retry waits, and transient statuses are
 * retried. */
START_TEST(retry_after_is_honoured)
{
    uint64_t before = mortise_mono_ns();

    open_bundled(true);
    httpd_answer(d, "/busy", "503 Busy", "Retry-After: 1\r\n", "");
    httpd_times(d, 1);
    httpd_answer(d, "/busy", "200 OK", "", "now");
    lone_start(
        "tool: http/get, args: {url: \"%s\"}, retry_policy: {max_attempts: "
        "2, delay: 1ms}",
        httpd_url(d, "/busy"));
    assert_output("body", "\"now\"");
    ck_assert_uint_ge(mortise_mono_ns() - before, 1000000000u);
    ck_assert_uint_eq(httpd_requests(d), 2);
}
END_TEST

static int try_decide(const char *id, const char *json)
{
    struct mortise_command c = {.size = sizeof c,
                                .kind = MORTISE_CMD_RESOLVE,
                                .id = id,
                                .decision = "done",
                                .json = json};

    return mortise_apply(lone, NULL, lone_run, &c, 1, 0, "ann", &lone_err);
}

static void decide(const char *id, const char *json)
{
    ck_assert_msg(try_decide(id, json) == MORTISE_OK, "%s", lone_err.msg);
}

/* A server that fails in the middle: a person sees what it said, and the least
 * that they may answer is an output. */
START_TEST(a_doubt_shows_what_was_said)
{
    json_t *pending, *p, *heard;

    open_bundled(true);
    httpd_answer(d, "/pay", "500 Oops", "", "half of it is done");
    lone_start("tool: http/request, args: {url: \"%s\", json: {n: 1}}, "
               "retry_policy: {max_attempts: 3, delay: 1ms}",
               httpd_url(d, "/pay"));
    pending = lone_shown("pending");
    ck_assert_int_eq(lone_status, MORTISE_RUN_IN_DOUBT);
    p = json_array_get(pending, 0);
    ck_assert_str_eq(json_string_value(json_object_get(p, "cause")),
                     "the server answered with status 500");
    heard = json_object_get(p, "answer");
    ck_assert_int_eq(json_integer_value(json_object_get(heard, "status")), 500);
    ck_assert_str_eq(json_string_value(json_object_get(heard, "body")),
                     "half of it is done");
    decide(json_string_value(json_object_get(p, "id")),
           "{\"status\": 200, \"body\": \"\"}");
    json_decref(pending);
    assert_output("status", "200");
    assert_output("body", "\"\"");
    ck_assert_uint_eq(httpd_requests(d), 1);
}
END_TEST

/* What no server could have answered is not recorded for good; the doubt stays,
 * and all that one can answer is taken. */
START_TEST(a_doubt_takes_answers_only)
{
    static const char *const bad[] = {
        "\"foo\"",
        "{}",
        "3",
        "null",
        "[]",
        "{\"status\": \"200\"}",
        "{\"status\": 99}",
        "{\"status\": 600}",
        "{\"status\": 200.5}",
        "{\"status\": 500, \"body\": 7, \"nonsense\": true}",
        "{\"status\": 200, \"body\": {}}",
        "{\"status\": 200, \"bodi\": \"\"}",
        "{\"status\": 200, \"headers\": [\"a\"]}",
        "{\"status\": 200, \"headers\": {\"a\": 1}}",
        "{\"status\": 200, \"class\": \"odd\"}",
        "{\"status\": 200, \"body\": \"\", \"body_base64\": \"\"}"};
    json_t *pending;
    const char *id;

    open_bundled(true);
    httpd_answer(d, "/pay", "500 Oops", "", "half of it is done");
    lone_start("tool: http/request, args: {url: \"%s\", json: {n: 1}}",
               httpd_url(d, "/pay"));
    pending = lone_shown("pending");
    id = json_string_value(json_object_get(json_array_get(pending, 0), "id"));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ck_assert_msg(try_decide(id, bad[i]) == MORTISE_EINVAL, "%s", bad[i]);
        ck_assert_msg(
            strstr(lone_err.msg,
                   "the answer to http.request/1 is invalid: it must be "
                   "an object: `status` (100 to 599)") != NULL,
            "%s", lone_err.msg);
    }
    decide(id, "{\"status\": 201, \"url\": \"http://x/\", \"headers\": "
               "{\"a\": \"b\"}, \"body_base64\": \"/w==\"}");
    json_decref(pending);
    assert_output("status", "201");
    assert_output("body", "\"/w==\"");
    ck_assert_uint_eq(httpd_requests(d), 1);
}
END_TEST

/* Without the deployment's word nothing is reached, and who asks hears what is
 * missing. */
START_TEST(nothing_is_allowed_by_itself)
{
    open_bundled(false);
    lone_start("tool: http/get, args: {url: \"%s\"}", httpd_url(d, "/"));
    lone_failed("http.denied", "permissions.net");
    ck_assert_uint_eq(httpd_connections(d), 0);
}
END_TEST

/* A node's timeout ends the request, and the connection with it. */
START_TEST(timeouts_cancel)
{
    uint64_t before = mortise_mono_ns();

    open_bundled(true);
    httpd_on(d, "/mute");
    httpd_hold(d);
    lone_start("tool: http/get, args: {url: \"%s\"}, timeout: 200ms",
               httpd_url(d, "/mute"));
    lone_failed("timeout.call", "");
    ck_assert_uint_lt(mortise_mono_ns() - before, 50000000000u);
}
END_TEST

/* Many at once, without a thread each: none is answered before all are asked. */
START_TEST(many_at_once)
{
    char ids[50][MORTISE_RUN_MAX];

    open_bundled(true);
    httpd_on(d, "/slow");
    httpd_hold(d);
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
    for (size_t i = 0; i < 50; i++) {
        lone_start("tool: http/get, args: {url: \"%s\"}",
                   httpd_url(d, "/slow"));
        strcpy(ids[i], lone_run);
    }
    while (httpd_requests(d) < 50)
        mortise_poll(lone, 10, &lone_err);
    for (size_t i = 0; i < 50; i++)
        httpd_release(d);
    for (size_t i = 0; i < 50; i++) {
        strcpy(lone_run, ids[i]);
        assert_output("body", "\"x\"");
    }
}
END_TEST

/* ---- the door ----------------------------------------------------------- */

/* A blocking plugin waits for its answer; the grant comes from a URL. */
START_TEST(waiting_for_an_answer)
{
    open_shelf();
    httpd_answer(d, "/v1/x", "200 OK",
                 "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nX: 1\r\nX: \xe4\r\n",
                 "hi");
    lone_start("tool: fetches/get, args: {url: \"%s\"}", httpd_url(d, "/v1/x"));
    assert_output("headers",
                  "{\"content-length\":\"2\",\"set-cookie\":\"a=1\\nb=2\","
                  "\"x\":\"1, \xc3\xa4\"}");
    lone_start("tool: fetches/get, args: {url: \"%s\", body_base64: \"AAH/\", "
               "method: PUT}",
               httpd_url(d, "/v1/x"));
    assert_output("status", "200");
    ck_assert(asked(1, "Content-Length: 3\r\n"));
}
END_TEST

static const struct {
    const char *body, *code, *words;
} wrong[] = {
    {"{}", "http.invalid", "a url"},
    {"{url: 1}", "http.invalid", "'url' must be a string"},
    {"{url: x, body: a, json: b}", "http.invalid", "at most one"},
    {"{url: x, headers: {A: 1}}", "http.invalid", "'headers'"},
    {"{url: x, timeout_ms: -1}", "http.invalid", "'timeout_ms'"},
    {"{url: x, verify: false}", "http.invalid", "unknown member 'verify'"},
    {"{url: x, retries: 11}", "http.invalid", "'retries' must be a number"},
    {"{url: x, retries: 1, stream: true}", "http.invalid",
     "cannot have `retries`"},
    {"{url: x, basic: {user: a, password: b}}", "http.invalid", "'basic'"},
    {"{url: \"http://127.0.0.1:1/\", body_base64: \"?\"}", "http.invalid",
     "base64"},
    {"{url: \"http://127.0.0.1:1/\"}", "http.denied", "127.0.0.1:1"},
    {"{url: \"http://169.254.169.254/\"}", "http.denied", "169.254.169.254"},
};

/* What is no request says why. */
START_TEST(nonsense_says_why)
{
    open_shelf();
    lone_start("tool: fetches/get, args: %s", wrong[_i].body);
    lone_failed(wrong[_i].code, wrong[_i].words);
}
END_TEST

/* Hears of a piece: that is what `streams` tells. */
static int hear_piece(void *ud, const char *json, size_t n)
{
    (void)n;
    *(int *)ud += strstr(json, "\"progress\"") != NULL;
    return 0;
}

/* Pieces come as they are said, before the answer. */
START_TEST(streaming)
{
    int heard = 0;

    open_shelf();
    httpd_on(d, "/s");
    httpd_say(d, "HTTP/1.1 202 OK\r\nContent-Length: 6\r\n\r\n");
    for (int i = 0; i < 3; i++) {
        httpd_hold(d);
        httpd_say(d, "ab");
    }
    lone_start("tool: streams/get, args: {url: \"%s\"}", httpd_url(d, "/s"));
    ck_assert_int_eq(mortise_events(lone, NULL, lone_run, 0,
                                    MORTISE_EVENTS_FOLLOW, hear_piece, &heard,
                                    NULL, &lone_err),
                     MORTISE_OK);
    for (int i = 1; i <= 3; i++) {
        httpd_release(d);
        while (heard < i)
            mortise_poll(lone, 10, &lone_err);
    }
    assert_output("pieces", "3");
    assert_output("bytes", "6");
    assert_output("status", "202");
}
END_TEST

/* An engine that closes lets go of what is under way. */
START_TEST(closing_lets_go)
{
    uint64_t before = mortise_mono_ns();

    open_shelf();
    httpd_on(d, "/s");
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nab");
    httpd_hold(d);
    lone_start("tool: streams/get, args: {url: \"%s\"}", httpd_url(d, "/s"));
    lone_start("tool: fetches/get, args: {url: \"%s\"}", httpd_url(d, "/s"));
    while (httpd_requests(d) < 2)
        mortise_poll(lone, 10, &lone_err);
    lone_close();
    ck_assert_uint_lt(mortise_mono_ns() - before, 50000000000u);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("bundled_http");
    TCase *tc = tcase_create("http");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, bodies_have_their_form);
    tcase_add_test(tc, json_that_no_value_holds_stays_a_text);
    tcase_add_test(tc, requests_are_sent_as_said);
    tcase_add_test(tc, statuses_are_errors);
    tcase_add_test(tc, retry_after_is_honoured);
    tcase_add_test(tc, a_doubt_shows_what_was_said);
    tcase_add_test(tc, a_doubt_takes_answers_only);
    tcase_add_test(tc, nothing_is_allowed_by_itself);
    tcase_add_test(tc, timeouts_cancel);
    tcase_add_test(tc, many_at_once);
    tcase_add_test(tc, waiting_for_an_answer);
    tcase_add_loop_test(tc, nonsense_says_why, 0,
                        sizeof wrong / sizeof wrong[0]);
    tcase_add_test(tc, streaming);
    tcase_add_test(tc, closing_lets_go);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
