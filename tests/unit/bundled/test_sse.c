/* test_sse.c -- server-sent events, whole and cut at every byte. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../plugins/sse.h"
#include "lib/oom.h"
#include "lib/test.h"

/* What came out: "[NAME|DATA]" for each event. */
static char seen[8192];
static size_t n_seen;
static mortise_status answer; /* of on_event() */

static mortise_status on_event(void *ud, mortise_str name, mortise_str data)
{
    bool inside = oom_inside;

    oom_inside = false;
    ck_assert_ptr_eq(ud, seen);
    n_seen +=
        (size_t)snprintf(seen + n_seen, sizeof seen - n_seen, "[%.*s|%.*s]",
                         (int)name.n, name.p, (int)data.n, data.p);
    ck_assert_uint_lt(n_seen, sizeof seen);
    oom_inside = inside;
    return answer;
}

/* A piece from a copy of exactly its size, so that the address sanitizer sees a
 * step outside. */
static mortise_status feed(struct sse *s, const char *p, size_t n)
{
    char *copy = malloc(n + 1);
    mortise_status status;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy + 1, p, n);
    status = sse_feed(s, mortise_strn(copy + 1, n), on_event, seen);
    free(copy);
    return status;
}

static void start(struct sse *s, uint64_t max)
{
    sse_init(s, max);
    n_seen = 0;
    seen[0] = '\0';
    answer = MORTISE_S_OK;
}

/* The events of a stream that ends; read in two pieces. */
static const char *events_of(const char *text, size_t n, size_t cut)
{
    struct sse s;

    start(&s, 4096);
    ck_assert_int_eq(feed(&s, text, cut), MORTISE_S_OK);
    ck_assert_int_eq(feed(&s, text + cut, n - cut), MORTISE_S_OK);
    ck_assert_int_eq(sse_close(&s, on_event, seen), MORTISE_S_OK);
    sse_finish(&s);
    return seen;
}

static const struct {
    const char *text, *want;
} streams[] = {
    {"", ""},
    {"data: a\n\n", "[|a]"},
    {"data:a\n\n", "[|a]"},
    {"data:  a \n\n", "[| a ]"},
    {"data: a\r\n\r\ndata: b\r\n\r\n", "[|a][|b]"},
    {"data: a\r\rdata: b\r\r", "[|a][|b]"},
    {"data: a\n\r\ndata: b\r\n\n", "[|a][|b]"},
    {"data: a\ndata: b\ndata:\ndata: c\n\n", "[|a\nb\n\nc]"},
    {"data\n\n", "[|]"},
    {"data:\n\n", "[|]"},
    {"data\ndata\n\n", "[|\n]"},
    {"\n\n\n\ndata: a\n\n\n", "[|a]"},
    {": ping\n\n:\n\n: a\ndata: b\n: c\n\n", "[|b]"},
    {"event: x\ndata: a\n\ndata: b\n\n", "[x|a][|b]"},
    {"data: a\nevent: x\n\n", "[x|a]"},
    {"event: x\n\ndata: b\n\n", "[|b]"},
    {"event: x\nevent: y\ndata: b\n\n", "[y|b]"},
    {"event: x\nevent\ndata: b\n\n", "[|b]"},
    {"id: 7\nretry: 10\nfoo: bar\nfoo\ndata: a\n\n", "[|a]"},
    {"Data: a\n data: b\ndata : c\n\n", ""},
    {"\xef\xbb\xbf"
     "data: a\n\n\xef\xbb\xbf"
     "data: b\n\n",
     "[|a]"},
    {"\xef\xbb\xbf\ndata: a\n\n", "[|a]"},
    {"data: {\"a\": \"b: c\"}\n\n", "[|{\"a\": \"b: c\"}]"},
    {"data: \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\n\n",
     "[|\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80]"},
    {"error: {\"code\": 500}\n\ndata: b\n\n", "[error|{\"code\": 500}][|b]"},
    /* the last blank line, or more of the end, is missing */
    {"data: a\n\ndata: b\n", "[|a][|b]"},
    {"data: a\n\ndata: [DONE]", "[|a][|[DONE]]"},
    {"data: a\n\nevent: x\ndata: {\"b", "[|a][x|{\"b]"},
    {"data: a\n\nda", "[|a]"},
    {"data: a\r", "[|a]"},
};

/* Every form of a line, of its end and of an event; cut anywhere, the same. */
START_TEST(events)
{
    size_t n = strlen(streams[_i].text);

    for (size_t cut = 0; cut <= n; cut++)
        ck_assert_str_eq(events_of(streams[_i].text, n, cut), streams[_i].want);
}
END_TEST

/* One byte at a time is as good. */
START_TEST(bytes)
{
    struct sse s;

    start(&s, 4096);
    for (const char *p = streams[_i].text; *p != '\0'; p++)
        ck_assert_int_eq(feed(&s, p, 1), MORTISE_S_OK);
    ck_assert_int_eq(sse_close(&s, on_event, seen), MORTISE_S_OK);
    sse_finish(&s);
    ck_assert_str_eq(seen, streams[_i].want);
}
END_TEST

/* A NUL is a byte like any other. */
START_TEST(nuls)
{
    static const char text[] = "data: a\0b\n\n";
    struct sse s;

    start(&s, 4096);
    ck_assert_int_eq(feed(&s, text, sizeof text - 1), MORTISE_S_OK);
    sse_finish(&s);
    ck_assert_str_eq(seen, "[|a]");
}
END_TEST

/* An event may have as many bytes as was said, its line included; one more is
 * too many, in one line or in several. */
START_TEST(bounds)
{
    struct sse s;

    start(&s, 16);
    ck_assert_int_eq(feed(&s, "data: 3456789012\n\n", 18), MORTISE_S_OK);
    ck_assert_int_eq(feed(&s, "data: 34567890123", 17), MORTISE_S_INVALID);
    sse_finish(&s);
    start(&s, 16);
    ck_assert_int_eq(feed(&s, "data: 0123\ndata: 6789\n", 22), MORTISE_S_OK);
    ck_assert_int_eq(feed(&s, "data: 2\n", 8), MORTISE_S_INVALID);
    sse_finish(&s);
    start(&s, 16);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(feed(&s, "data: 3456789012\n\n", 18), MORTISE_S_OK);
    ck_assert_uint_le(s.cap, 256);
    sse_finish(&s);
}
END_TEST

static const struct {
    const char *text, *id;
    int64_t retry; /* -1: none */
} resumed[] = {
    {"data: a\n\n", "", -1},
    {"id: 7\ndata: a\n\n", "7", -1},
    {"id: 7\n\n", "7", -1}, /* of an event without data, too */
    {"id: 7\ndata:\n\nid: 8\ndata: b", "7", -1}, /* not of one that is cut */
    {"id: 7\ndata: a\n\ndata: b\n\n", "7", -1},
    {"id: 7\n\nid\n\n", "", -1},
    {"id: 7\n\nid:\ndata: a\n\n", "", -1},
    {"id:  x y \ndata: a\n\n", " x y ", -1},
    {"retry: 500\n\n", "", 500},
    {"retry: 500\nretry: 20\n\n", "", 20},
    {"retry:0\n", "", 0},
    {"retry: 5x\nretry: -5\nretry: \nretry\nretry: 1.5\n\n", "", -1},
    {"retry: 999999999999999999999999999999\n\n", "", 2678400000},
};

/* What is needed to connect again; cut anywhere, the same. */
START_TEST(again)
{
    const char *text = resumed[_i].text;
    size_t n = strlen(text);

    for (size_t cut = 0; cut <= n; cut++) {
        struct sse s;

        start(&s, 4096);
        ck_assert_int_eq(feed(&s, text, cut), MORTISE_S_OK);
        ck_assert_int_eq(feed(&s, text + cut, n - cut), MORTISE_S_OK);
        ck_assert_int_eq(sse_close(&s, on_event, seen), MORTISE_S_OK);
        ck_assert_int_eq(s.has_id, resumed[_i].id[0] != '\0');
        if (s.has_id) {
            ck_assert_uint_eq(s.n_id, strlen(resumed[_i].id));
            ck_assert_mem_eq(s.id, resumed[_i].id, s.n_id);
        }
        ck_assert_int_eq(s.has_retry, resumed[_i].retry >= 0);
        if (s.has_retry)
            ck_assert_int_eq((int64_t)s.retry_ms, resumed[_i].retry);
        sse_finish(&s);
    }
}
END_TEST

/* An id that could not be sent back is none: the one before it is over, too. */
START_TEST(ids)
{
    char text[512] = "id: 7\n\nid: ";
    size_t n = strlen(text);
    struct sse s;

    memset(text + n, 'x', SSE_ID);
    strcat(text, "\n\n");
    start(&s, 4096);
    ck_assert_int_eq(feed(&s, text, strlen(text)), MORTISE_S_OK);
    ck_assert_uint_eq(s.n_id, SSE_ID);
    text[n + SSE_ID] = 'x';
    strcpy(text + n + SSE_ID + 1, "\n\n");
    ck_assert_int_eq(feed(&s, text, strlen(text)), MORTISE_S_OK);
    ck_assert_int_eq(s.has_id, 0);
    ck_assert_int_eq(feed(&s, "id: a\0b\n\n", 10), MORTISE_S_OK);
    ck_assert_int_eq(s.has_id, 0);
    sse_finish(&s);
}
END_TEST

/* A longer name is cut. */
START_TEST(names)
{
    struct sse s;
    char line[128] = "event: ", want[SSE_NAME + 8] = "[";

    memset(line + 7, 'x', 100);
    memset(want + 1, 'x', SSE_NAME);
    strcat(want, "|a]");
    start(&s, 4096);
    ck_assert_int_eq(feed(&s, line, strlen(line)), MORTISE_S_OK);
    ck_assert_int_eq(feed(&s, "\ndata: a\n\n", 10), MORTISE_S_OK);
    sse_finish(&s);
    ck_assert_str_eq(seen, want);
}
END_TEST

/* What the function says ends the reading, while reading and at the end. */
START_TEST(refusals)
{
    struct sse s;

    start(&s, 4096);
    answer = MORTISE_S_DENIED;
    ck_assert_int_eq(feed(&s, "data: a\n\ndata: b\n\n", 18), MORTISE_S_DENIED);
    sse_finish(&s);
    ck_assert_str_eq(seen, "[|a]");
    start(&s, 4096);
    answer = MORTISE_S_DENIED;
    ck_assert_int_eq(feed(&s, "data: a", 7), MORTISE_S_OK);
    ck_assert_int_eq(sse_close(&s, on_event, seen), MORTISE_S_DENIED);
    sse_finish(&s);
}
END_TEST

/* No memory is told, and nothing leaks. */
START_TEST(no_memory)
{
    static const char text[] = "data: a\n\n";
    struct sse s;
    mortise_status status;
    long n = 0;

    do {
        start(&s, 4096);
        oom_fail_at(n++);
        oom_around(true);
        status = sse_feed(&s, mortise_strz(text), on_event, seen);
        oom_around(false);
        sse_finish(&s);
        if (!oom_failed())
            break;
        ck_assert_int_eq(status, MORTISE_S_NOMEM);
    } while (n < 100);
    ck_assert_int_eq(status, MORTISE_S_OK);
    ck_assert(n > 1 || !oom_works());
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("sse");
    TCase *tc = tcase_create("sse");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_loop_test(tc, events, 0, sizeof streams / sizeof streams[0]);
    tcase_add_loop_test(tc, bytes, 0, sizeof streams / sizeof streams[0]);
    tcase_add_test(tc, nuls);
    tcase_add_test(tc, bounds);
    tcase_add_test(tc, names);
    tcase_add_loop_test(tc, again, 0, sizeof resumed / sizeof resumed[0]);
    tcase_add_test(tc, ids);
    tcase_add_test(tc, refusals);
    tcase_add_test(tc, no_memory);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
