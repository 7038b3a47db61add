/* test_cli_expect.c -- what fits, what differs, and what a test remembers. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "testkit/expect.h"
#include "testkit/ledger.h"
#include "lib/json.h"
#include "lib/test.h"

static struct mortise_diags diags;
static struct mortise_arena arena;
static const char *dir;

static void begin(void)
{
    test_begin();
    test_count_json();
    mortise_diags_init(&diags, &test_mem);
    mortise_arena_init(&arena, &test_mem);
    dir = test_mkdir();
}

static void end(void)
{
    mortise_arena_finish(&arena);
    mortise_diags_finish(&diags);
    test_rmdir(dir);
    test_nothing_left();
}

static const struct mortise_yaml *yaml(const char *text)
{
    struct mortise_yaml *v;
    char all[256];

    snprintf(all, sizeof all, "v: %s\n", text);
    ck_assert_msg(mortise_yaml_parse(&v, &arena, "t", all, strlen(all),
                                     &diags) == MORTISE_OK,
                  "%s", text);
    return mortise_yaml_get(v, "v");
}

static json_t *json(const char *text)
{
    json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);

    ck_assert_msg(v != NULL, "%s", text);
    return v;
}

/* Objects have at least what is said of them; lists and all else are the
 * same, numbers by their value. */
START_TEST(fitting)
{
    static const struct {
        const char *want, *got;
        bool fits;
    } t[] = {
        {"{}", "{\"a\": 1}", true},
        {"{a: 1}", "{\"a\": 1, \"b\": 2}", true},
        {"{a: 1}", "{\"b\": 1}", false},
        {"{a: ~}", "{\"a\": null}", true},
        {"{a: ~}", "{}", false},
        {"{a: {b: 1}}", "{\"a\": {\"b\": 1, \"c\": 2}}", true},
        {"{a: {}}", "{\"a\": []}", false},
        {"[1, {}]", "[1, {\"a\": 1}]", true},
        {"[1]", "[1, 2]", false},
        {"[]", "{}", false},
        {"[]", "[]", true},
        {"1", "1.0", true},
        {"1.0", "1", true},
        {"1.5", "1", false},
        {"1", "true", false},
        {"true", "true", true},
        {"true", "false", false},
        {"\"1\"", "1", false},
        {"abc", "\"abc\"", true},
        {"abc", "\"abcd\"", false},
    };

    for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
        json_t *got = json(t[i].got);

        ck_assert_msg(mortise_expect_is_match(yaml(t[i].want), got) ==
                          t[i].fits,
                      "%s and %s", t[i].want, t[i].got);
        json_decref(got);
    }
    ck_assert(!mortise_expect_is_match(yaml("~"), NULL));
}
END_TEST

/* ---- runs with and without a crash ----------------------------------------
 */

#define SHOW                                                                   \
    "'status': 'completed', 'reason': '', 'error': null, 'seq': 3,"            \
    "'state': {'scratch': {'n': 1}},"
#define NODE                                                                   \
    "{'path': '1.0/a#1', 'status': 'done', 'attempts': 1, 'output': 1,"        \
    " 'started': 'x'}"
#define ENDED                                                                  \
    "{'seq': 1, 'type': 'node_end', 'path': '1.0/a#1', 'at': 'x', 'ms': 1}"
#define RUN_END                                                                \
    "{'seq': 2, 'type': 'run_end', 'status': 'completed', 'at': 'x'}"
#define OUTCOME(show, nodes, events)                                           \
    "{'show': {" show "'nodes': [" nodes "]}, 'events': [" events "]}"

static json_t *outcome(const char *text)
{
    char buf[4096];

    snprintf(buf, sizeof buf, "%s", text);
    for (char *p = buf; (p = strchr(p, '\'')) != NULL; p++)
        *p = '"';
    return json(buf);
}

static const struct mortise_case *a_case(void)
{
    static struct mortise_case c;

    c.name = yaml("a case");
    return &c;
}

/* Compare with the plain outcome; the words that stand in the only finding, or
 * "". */
static const char *compared(const char *crashed)
{
    json_t *a = outcome(OUTCOME(SHOW, NODE, ENDED "," RUN_END));
    json_t *b = outcome(crashed);
    bool same = mortise_expect_check_same(a_case(), a, b, "here", &diags);

    json_decref(a);
    json_decref(b);
    ck_assert(same == (diags.n == 0));
    ck_assert(diags.n <= 1);
    return same ? "" : diags.list[0].message;
}

/* Times, numbers, and the order of what runs side by side do not matter; nor
 * does that somebody was asked about a doubt. */
START_TEST(same_enough)
{
    ck_assert_str_eq(
        compared(OUTCOME(
            SHOW,
            "{'path': '1.0/a#1', 'status': 'done', 'attempts': 1, 'output': 1,"
            " 'started': 'y'}",
            "{'seq': 1, 'type': 'interrupt', 'path': '1.0/a#1', 'id': 'i',"
            " 'request': {'kind': 'in_doubt'}},"
            "{'seq': 2, 'type': 'decision', 'path': '1.0/a#1', 'id': "
            "'i'}," RUN_END ","
            "{'seq': 9, 'type': 'node_end', 'path': '1.0/a#1', 'at': 'y',"
            " 'ms': 7}")),
        "");
}
END_TEST

static const struct {
    const char *crashed, *words;
} others[] = {
    {OUTCOME("'status': 'failed', 'reason': '', 'error': null, 'state': {},",
             NODE, ENDED "," RUN_END),
     "when the process is killed here, the continued run differs in status"},
    {OUTCOME("'status': 'completed', 'reason': '', 'error': null,"
             "'state': {'scratch': {'n': 2}},",
             NODE, ENDED "," RUN_END),
     "when the process is killed here, the continued run differs in state"},
    {OUTCOME(
         SHOW,
         "{'path': '1.0/a#1', 'status': 'done', 'attempts': 2, 'output': 1}",
         ENDED "," RUN_END),
     "when the process is killed here, the continued run differs in the "
     "attempts of a"},
    {OUTCOME(SHOW, "", ENDED "," RUN_END),
     "when the process is killed here, the continued run differs in 1.0/a#1"},
    {OUTCOME(SHOW, NODE ",{'path': '1.0/b#1', 'status': 'done'}",
             ENDED "," RUN_END),
     "when the process is killed here, the continued run differs in 1.0/b#1"},
    {OUTCOME(SHOW, NODE, ENDED "," ENDED "," RUN_END),
     "when the process is killed here, the continued run differs in the list "
     "of events of a"},
    {OUTCOME(SHOW, NODE, ENDED),
     "when the process is killed here, the continued run differs in the list "
     "of events of the run"},
    {OUTCOME(SHOW, NODE,
             ENDED "," RUN_END
                   ",{'seq': 7, 'type': 'node_end', 'path': '1.0/b#1'}"),
     "when the process is killed here, the continued run differs in 1.0/b#1"},
};
enum { N_OTHERS = sizeof others / sizeof others[0] };

/* Everything else does, and one difference is enough. */
START_TEST(not_the_same)
{
    ck_assert_str_eq(compared(others[_i].crashed), others[_i].words);
}
END_TEST

/* Without memory there is no verdict: the findings say that they failed. */
START_TEST(comparing_survives_oom)
{
    json_t *a = outcome(OUTCOME(SHOW, NODE, ENDED "," RUN_END));
    json_t *b = outcome(OUTCOME(SHOW, NODE, ENDED));
    const struct mortise_case *c = a_case();
    int n = 0;

    do {
        struct mortise_diags some;

        mortise_diags_init(&some, &test_mem);
        test_mem_fail_at(n++);
        ck_assert(!mortise_expect_check_same(c, a, b, "here", &some) ||
                  some.failed);
        ck_assert(test_mem_failed() || some.n == 1);
        mortise_diags_finish(&some);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 5);
    json_decref(a);
    json_decref(b);
}
END_TEST

/* ---- the ledger ----------------------------------------------------------- */

/* What was added is there after a crash, except for a line whose write never
 * came to an end. */
START_TEST(ledger_outlives_us)
{
    struct mortise_ledger l;
    struct mortise_err err;
    char path[4200];
    int fd;

    snprintf(path, sizeof path, "%s/ledger", dir);
    ck_assert_int_eq(mortise_ledger_open(&l, &test_mem, path, &err),
                     MORTISE_OK);
    ck_assert_int_eq(
        mortise_ledger_add(&l, json_pack("{s:s}", "call", "a\nb"), &err),
        MORTISE_OK);
    ck_assert_int_eq(
        mortise_ledger_add(
            &l, json_pack("{s:s, s:s}", "call", "b", "how", "done"), &err),
        MORTISE_OK);
    mortise_ledger_close(&l);
    fd = open(path, O_WRONLY | O_APPEND);
    ck_assert_int_eq(write(fd, "{\"call\"", 7), 7);
    close(fd);
    ck_assert_int_eq(mortise_ledger_open(&l, &test_mem, path, &err),
                     MORTISE_OK);
    ck_assert_uint_eq(json_array_size(l.list), 2);
    ck_assert_ptr_nonnull(mortise_ledger_find(&l, "call", "a\nb", NULL, NULL));
    ck_assert_ptr_nonnull(mortise_ledger_find(&l, "call", "b", "how", "done"));
    ck_assert_ptr_null(mortise_ledger_find(&l, "call", "b", "how", "retry"));
    mortise_ledger_close(&l);
}
END_TEST

/* Opening and adding cope with their first, second, ... allocation failing. */
START_TEST(ledger_survives_oom)
{
    struct mortise_ledger l;
    struct mortise_err err;
    char path[4200];
    int n = 0, rv;

    snprintf(path, sizeof path, "%s/ledger", dir);
    test_write(path, "{\"a\":1}\n", 8);
    do {
        test_mem_fail_at(n++);
        rv = mortise_ledger_open(&l, &test_mem, path, &err);
        if (rv == MORTISE_OK)
            rv = mortise_ledger_add(&l, json_pack("{s:i}", "b", n), &err);
        ck_assert_int_eq(rv != MORTISE_OK, test_mem_failed());
        mortise_ledger_close(&l);
    } while (test_mem_failed());
    ck_assert_int_gt(n, 5);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_expect");
    TCase *tc = tcase_create("parts");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, fitting);
    tcase_add_test(tc, same_enough);
    tcase_add_loop_test(tc, not_the_same, 0, N_OTHERS);
    tcase_add_test(tc, comparing_survives_oom);
    tcase_add_test(tc, ledger_outlives_us);
    tcase_add_test(tc, ledger_survives_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
