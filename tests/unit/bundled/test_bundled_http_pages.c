/* test_bundled_http_pages.c -- lists that come in pages, by `http/pages`, against
 * a server that says exactly the bytes it was told to. */
#include <check.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/json/value.h"
#include "lib/child.h"
#include "lib/httpd.h"
#include "lib/lone.h"
#include "lib/warm.h"

static struct httpd *d, *there;

/* ---- around each test --------------------------------------------------- */

static void setup(void)
{
    char trust[PATH_MAX], config[PATH_MAX];

    warm_libuv();
    lone_begin();
    d = httpd_start();
    there = httpd_start();
    snprintf(trust, sizeof trust, "%s", child_build("trust.d"));
    snprintf(config, sizeof config,
             "{http: {allow: [\"127.0.0.1:%d\", \"127.0.0.1:%d\"]}}",
             httpd_port(d), httpd_port(there));
    lone_open(trust, child_build("plugins"), config);
}

static void teardown(void)
{
    lone_end();
    httpd_stop(d);
    httpd_stop(there);
    ck_assert_uint_eq(test_mem_blocks(), 0);
}

/* ---- runs --------------------------------------------------------------- */

static void start(const char *path, const char *more)
{
    lone_start("tool: http/pages, args: {url: \"%s\"%s%s}", httpd_url(d, path),
               more[0] != '\0' ? ", " : "", more);
}

/* The output of the node is that. */
static void gives(const char *want)
{
    json_t *state = lone_shown("state"), *error = lone_shown("error");
    json_t *out = json_object_get(json_object_get(state, "artifacts"), "a");
    const char *words = json_string_value(json_object_get(error, "message"));
    char *have = json_dumps(out, JSON_COMPACT | JSON_SORT_KEYS);

    ck_assert_msg(lone_status == MORTISE_RUN_COMPLETED, "%s",
                  words != NULL ? words : "");
    ck_assert_str_eq(have, want);
    free(have);
    json_decref(state);
    json_decref(error);
}

static bool asked(size_t i, const char *text)
{
    return strstr(httpd_request(d, i), text) != NULL;
}

static void page(const char *path, const char *body)
{
    httpd_answer(d, path, "200 OK", "Content-Type: application/json\r\n", body);
}

static void linked(const char *path, const char *link, const char *body)
{
    char headers[1024];

    snprintf(headers, sizeof headers, "Link: %s\r\n", link);
    httpd_answer(d, path, "200 OK", headers, body);
}

#define ALL "{\"items\":[1,2,3,4,5],\"more\":false,\"pages\":3}"

/* ---- where the next page is ---------------------------------------------- */

/* By the Link header, absolute and relative, with all that the node says sent
 * along; a redirect's page is where it came from. */
START_TEST(by_link)
{
    char link[512];

    snprintf(link, sizeof link, "<%s>; rel=\"prev\", <%s>; rel=\"next\"",
             httpd_url(d, "/0"), httpd_url(d, "/v2/list?at=2"));
    linked("/list", link, "[1, 2]");
    httpd_answer(d, "/v2/list?at=2", "302 On", "Location: /v3/two\r\n", "");
    linked("/v3/two", "<three?x=%20y>; rel=next", "[3]");
    page("/v3/three?x=%20y", "[4,5]");
    start("/list", "headers: {X-A: b}");
    gives("{\"items\":[1,2,3,4,5],\"more\":false,\"pages\":3}");
    ck_assert_uint_eq(httpd_requests(d), 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert(asked(i, "X-A: b\r\n"));
    start("/v3/three?x=%20y", "next: {link: true}");
    gives("{\"items\":[4,5],\"more\":false,\"pages\":1}");
}
END_TEST

/* By a URL in the answer. */
START_TEST(by_url)
{
    page("/list",
         "{\"data\": [1, 2], \"links\": {\"a/b~\": [0, \"\\/p?n=2\"]}}");
    page("/p?n=2", "{\"data\": [3], \"links\": {\"a/b~\": [0, \"?n=3\"]}}");
    page("/p?n=3", "{\"data\": [4, 5], \"links\": {\"a/b~\": [0, null]}}");
    start("/list", "items: /data, next: {url: /links/a~1b~0/1}");
    gives(ALL);
}
END_TEST

/* By a cursor, text or a number, which is escaped as it must be. */
START_TEST(by_cursor)
{
    page("/list?limit=2&c=0", "{\"data\": [1, 2], \"next\": \"a+/=\"}");
    page("/list?limit=2&c=a%2B%2F%3D", "{\"data\": [3], \"next\": 17}");
    page("/list?limit=2&c=17", "{\"data\": [4, 5], \"next\": \"\"}");
    start("/list?limit=2&c=0", "items: /data, next: {cursor: /next, query: c}");
    gives(ALL);
}
END_TEST

/* By the last item. */
START_TEST(by_last_item)
{
    page("/list", "{\"data\": [{\"id\": \"a\"}, {\"id\": \"b\"}]}");
    page("/list?after=b", "{\"data\": [{\"id\": \"c\"}]}");
    page("/list?after=c", "{\"data\": []}");
    start("/list", "items: /data, next: {last: /id, query: after}");
    gives("{\"items\":[{\"id\":\"a\"},{\"id\":\"b\"},{\"id\":\"c\"}],\"more\":"
          "false,\"pages\":3}");
    page("/ids", "[7, 8]");
    page("/ids?after=8", "null");
    start("/ids", "next: {last: \"\", query: after}");
    gives("{\"items\":[7,8],\"more\":false,\"pages\":2}");
}
END_TEST

/* By counting pages or items. */
START_TEST(by_counting)
{
    page("/list?page=1", "[1, 2, 3]");
    page("/list?page=2", "[4, 5]");
    page("/list?page=3", "[]");
    page("/list?page=0", "[]");
    page("/list?x=y&offset=0", "[1, 2, 3]");
    page("/list?x=y&offset=3", "[4, 5]");
    httpd_answer(d, "/list?x=y&offset=5", "204 None", "", "");
    start("/list", "next: {page: page}");
    gives(ALL);
    start("/list", "next: {page: page, from: 2}");
    gives("{\"items\":[4,5],\"more\":false,\"pages\":2}");
    start("/list", "next: {page: page, from: 0}");
    gives("{\"items\":[],\"more\":false,\"pages\":1}");
    start("/list?x=y", "next: {offset: offset}");
    gives(ALL);
    start("/list?x=y", "next: {offset: offset, from: 3}");
    gives("{\"items\":[4,5],\"more\":false,\"pages\":2}");
}
END_TEST

/* ---- bounds ---------------------------------------------------------------- */

/* What was asked for and no more, and whether that is all. */
START_TEST(bounds_are_results)
{
    linked("/1", "</2>; rel=next", "[1, 2]");
    linked("/2", "</3>; rel=next", "[3]");
    page("/3", "[4, 5]");
    start("/1", "max_pages: 2");
    gives("{\"items\":[1,2,3],\"more\":true,\"pages\":2}");
    start("/1", "max_items: 1");
    gives("{\"items\":[1],\"more\":true,\"pages\":1}");
    start("/1", "max_items: 2");
    gives("{\"items\":[1,2],\"more\":true,\"pages\":1}");
    start("/1", "max_items: 4");
    gives("{\"items\":[1,2,3,4],\"more\":true,\"pages\":3}");
    ck_assert_uint_eq(httpd_requests(d), 2 + 1 + 1 + 3);
    start("/1", "max_items: 5, max_pages: 3");
    gives(ALL);
}
END_TEST

/* Where nobody says, a hundred pages are too many to be meant. */
START_TEST(a_hundred_pages)
{
    char path[64], link[64];

    for (int i = 1; i <= 101; i++) {
        snprintf(path, sizeof path, "/%d", i);
        snprintf(link, sizeof link, "</%d>; rel=next", i + 1);
        if (i < 101)
            linked(path, link, "[0]");
        else
            page(path, "[0]");
    }
    start("/2", "");
    ck_assert_int_eq(lone_finish(), MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(httpd_requests(d), 100);
    start("/1", "");
    lone_failed("http.too_many", "more than 100 pages; set max_pages");
    start("/1", "max_pages: 101");
    ck_assert_int_eq(lone_finish(), MORTISE_RUN_COMPLETED);
}
END_TEST

/* What no output has room for ends it. */
START_TEST(too_much_to_hold)
{
    for (int i = 1; i <= 2; i++) {
        httpd_on(d, i == 1 ? "/1" : "/2");
        httpd_say(d, "HTTP/1.1 200 OK\r\nLink: </2>; rel=next\r\n"
                     "Content-Length: 9437188\r\n\r\n[\"");
        httpd_repeat(d, 'x', 9 << 20);
        httpd_say(d, "\"]");
    }
    start("/1", "");
    lone_failed("http.too_many", "the items exceed 15 MiB");
}
END_TEST

/* ---- where it does not go --------------------------------------------------- */

/* Pages that lead to one another end. */
START_TEST(circles_end)
{
    linked("/1", "</2>; rel=next", "[1]");
    linked("/2", "</3>; rel=next", "[2]");
    linked("/3", "</2#x>; rel=next", "[3]");
    start("/1", "");
    lone_failed("http.loop", "already requested");
    ck_assert_uint_eq(httpd_requests(d), 3);
    page("/c", "{\"data\": [1], \"next\": \"same\"}");
    page("/c?c=same", "{\"data\": [1], \"next\": \"same\"}");
    start("/c", "items: /data, next: {cursor: /next, query: c}");
    lone_failed("http.loop", "already requested");
}
END_TEST

/* No header goes to another origin, though the plugin may go there. */
START_TEST(another_origin_is_not_asked)
{
    char link[512];

    snprintf(link, sizeof link, "<http://127.0.0.1:%d/2>; rel=next",
             httpd_port(there));
    linked("/1", link, "[1]");
    start("/1", "headers: {Authorization: token}");
    lone_failed("http.other_origin", "another scheme, host or port");
    snprintf(link, sizeof link, "<//127.0.0.1:%d/2>; rel=next",
             httpd_port(there));
    linked("/2", link, "[1]");
    start("/2", "");
    lone_failed("http.other_origin", "");
    linked("/3", "<https:///x>; rel=next", "[1]");
    start("/3", "");
    lone_failed("http.other_origin", "");
    ck_assert_uint_eq(httpd_connections(there), 0);
}
END_TEST

/* ---- what is no page --------------------------------------------------------- */

static const struct {
    const char *body, *more, *code, *words;
} wrong[] = {
    {"{\"data\": [1]}", "", "http.no_items", "`items` does not lead to a list"},
    {"{\"data\": [1]}", "items: /dat", "http.no_items",
     "does not lead to a list"},
    {"{\"data\": {\"a\": 1}}", "items: /data", "http.no_items",
     "does not lead to a list"},
    {"[[1]]", "items: /1", "http.no_items", "does not lead to a list"},
    {"[[1]]", "items: /00", "http.no_items", "does not lead to a list"},
    {"<html>", "", "bad_json", "not JSON"},
    {"", "", "bad_json", "not JSON"},
    {"\xff", "", "bad_json", "not JSON"},
    {"[1e999]", "", "bad_json", "does not fit into a double"},
    {"{\"d\": [], \"n\": {}}", "items: /d, next: {url: /n}", "http.no_items",
     "neither text nor a number"},
    {"{\"d\": [], \"n\": true}", "items: /d, next: {cursor: /n, query: c}",
     "http.no_items", "neither text nor a number"},
};

/* What the arguments do not fit says so. */
START_TEST(no_pages)
{
    page("/1", wrong[_i].body);
    start("/1", wrong[_i].more);
    lone_failed(wrong[_i].code, wrong[_i].words);
}
END_TEST

static const char *const ends[] = {"{\"d\": [], \"n\": null}", "{\"d\": null}",
                                   "{\"d\": [], \"n\": \"\"}",
                                   "{\"d\": [], \"n\": false}", "{\"d\": []}"};

/* Nothing, in whatever way, is the last page. */
START_TEST(last_pages)
{
    page("/1", ends[_i]);
    start("/1", "items: /d, next: {url: /n}");
    gives("{\"items\":[],\"more\":false,\"pages\":1}");
}
END_TEST

/* A status that is an error ends it, whatever page has it. */
START_TEST(errors_end_it)
{
    linked("/1", "</2>; rel=next", "[1]");
    httpd_answer(d, "/2", "403 No", "", "[2]");
    start("/1", "");
    lone_failed("http.403", "status 403");
}
END_TEST

/* Each page has its bounds, and what the node says goes with each. */
START_TEST(pages_are_asked_as_said)
{
    linked("/1", "</2>; rel=next", "[1]");
    page("/2", "[1, 2, 3, 4]");
    linked("/3", "</mute>; rel=next", "[1]");
    httpd_on(d, "/mute");
    httpd_wait(d, 5000);
    start("/1", "max_body: 8, auth: {bearer: text}");
    lone_failed("http.failed", "larger than 8 bytes");
    ck_assert(asked(0, "Authorization: Bearer text\r\n"));
    ck_assert(asked(1, "Authorization: Bearer text\r\n"));
    start("/3", "timeout_ms: 300");
    lone_failed("http.timeout", "within 300 ms");
}
END_TEST

/* ---- trying again -------------------------------------------------------------- */

/* A page that fails is asked for again, and none before it. */
START_TEST(each_page_is_tried_again)
{
    linked("/1", "</2>; rel=next", "[1]");
    httpd_answer(d, "/2", "503 Busy", "", "");
    httpd_times(d, 1);
    linked("/2", "</3>; rel=next", "[2]");
    httpd_on(d, "/3");
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n[");
    httpd_close(d);
    httpd_times(d, 1);
    page("/3", "[3]");
    start("/1", "");
    gives("{\"items\":[1,2,3],\"more\":false,\"pages\":3}");
    ck_assert_uint_eq(httpd_requests(d), 5);
    httpd_answer(d, "/4", "503 Busy", "", "");
    start("/4", "retries: 0");
    lone_failed("http.503", "");
    ck_assert_uint_eq(httpd_requests(d), 6);
}
END_TEST

/* A long Retry-After is waited for on disk. */
START_TEST(a_long_wait_is_durable)
{
    int status = 0;

    linked("/1", "</2>; rel=next", "[1]");
    httpd_answer(d, "/2", "429 Slow", "Retry-After: 3600\r\n", "");
    start("/1", "");
    while (status != MORTISE_RUN_WAITING) {
        char *text;
        json_t *show;

        mortise_poll(lone, 10, &lone_err);
        ck_assert_int_eq(mortise_show(lone, NULL, lone_run, &text, &lone_err),
                         MORTISE_OK);
        show = json_loads(text, 0, NULL);
        if (strcmp(json_string_value(json_object_get(show, "status")),
                   "waiting") == 0)
            status = MORTISE_RUN_WAITING;
        json_decref(show);
        mortise_free(lone, text);
    }
    ck_assert_uint_eq(httpd_requests(d), 2);
    start("/2", "retries: 0"); /* that is for a retry_policy */
    lone_failed("http.429", "");
}
END_TEST

#define N(list) (int)(sizeof(list) / sizeof((list)[0]))

static Suite *suite(void)
{
    Suite *suite = suite_create("bundled_http_pages");
    TCase *tc = tcase_create("pages");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, by_link);
    tcase_add_test(tc, by_url);
    tcase_add_test(tc, by_cursor);
    tcase_add_test(tc, by_last_item);
    tcase_add_test(tc, by_counting);
    tcase_add_test(tc, bounds_are_results);
    tcase_add_test(tc, a_hundred_pages);
    tcase_add_test(tc, too_much_to_hold);
    tcase_add_test(tc, circles_end);
    tcase_add_test(tc, another_origin_is_not_asked);
    tcase_add_loop_test(tc, no_pages, 0, N(wrong));
    tcase_add_loop_test(tc, last_pages, 0, N(ends));
    tcase_add_test(tc, errors_end_it);
    tcase_add_test(tc, pages_are_asked_as_said);
    tcase_add_test(tc, each_page_is_tried_again);
    tcase_add_test(tc, a_long_wait_is_durable);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
