/* test_language.c -- what graph.md says of a graph, one sentence a test, seen
 * from outside: graphs of tests/graphs/promises, real plugins, a store, and
 * what mortise_show() tells.
 *
 * test_run*.c drive the same promises through the step function, in every order
 * of events; here it is shown that they reach whoever runs a file. */
#include <check.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/json/value.h"
#include "lib/shelf.h"
#include "core/mortise.h"

static struct shelf shelf;
static struct mortise_err err;
static struct mortise *m;
static char dir[PATH_MAX - 64], run_id[MORTISE_RUN_MAX];
static json_t *shown; /* the run, once it has ended */

/* ---- around each test --------------------------------------------------- */

static void sign_plugins(void)
{
    static const char *const plugins[] = {"ok_inline",   "ok_async",
                                          "ok_blocking", "ok_guardrail",
                                          "counts",      "alone"};

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
    struct mortise_options o = {.size = sizeof o};
    char text[4 * PATH_MAX], path[PATH_MAX], store[PATH_MAX];

    snprintf(dir, sizeof dir, "%s", test_mkdir());
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins:\n  path: [\"%s\"]\n"
             "  config: {counts: {file: \"%s/counted\"}}\n"
             "trust: {dir: \"%s\"}\n",
             shelf.plugins, dir, shelf.trust);
    snprintf(path, sizeof path, "%s/mortise.yaml", dir);
    snprintf(store, sizeof store, "%s/store", dir);
    test_write(path, text, strlen(text));
    o.deployment = path;
    o.store = store;
    ck_assert_msg(mortise_open(&m, &o, &err) == MORTISE_OK, "%s", err.msg);
}

static void teardown(void)
{
    json_decref(shown);
    shown = NULL;
    mortise_close(m);
    test_rmdir(dir);
}

/* ---- helpers ------------------------------------------------------------ */

static void look(void)
{
    char *text;

    ck_assert_int_eq(mortise_show(m, NULL, run_id, &text, &err), MORTISE_OK);
    ck_assert_int_eq(
        mortise_json_parse_written(&shown, text, strlen(text), &err),
        MORTISE_OK);
    mortise_free(m, text);
}

/* Run a graph to its end. */
static void run(const char *graph, const char *input, int want)
{
    struct mortise_start_options s = {.size = sizeof s, .input = input};
    struct mortise_graph *g;
    char path[PATH_MAX], *report = NULL;
    int status = 0;

    snprintf(path, sizeof path, "tests/graphs/promises/%s.yaml", graph);
    if (mortise_load(m, path, &g, &report, &err) != MORTISE_OK)
        ck_abort_msg("%s\n%s", err.msg, report != NULL ? report : "");
    mortise_free(m, report);
    ck_assert_int_eq(mortise_start(m, g, &s, run_id, &err), MORTISE_OK);
    mortise_graph_close(g);
    ck_assert_int_eq(mortise_wait(m, NULL, run_id, &status, &err), MORTISE_OK);
    look();
    ck_assert_int_eq(status, want);
}

static void completes(const char *graph, const char *input)
{
    run(graph, input, MORTISE_RUN_COMPLETED);
}

/* What stands at `root`.`key` of the state. */
static void value(const char *root, const char *key, const char *want)
{
    json_t *v = json_object_get(
        json_object_get(json_object_get(shown, "state"), root), key);
    char *have = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);

    ck_assert_msg(have != NULL, "no %s.%s", root, key);
    ck_assert_str_eq(have, want);
    free(have);
}

/* The executions of a node; the newest, or else the record that it had none. */
static size_t executions(const char *node, json_t **last)
{
    json_t *one;
    size_t i, n = 0;

    *last = NULL;
    json_array_foreach(json_object_get(shown, "nodes"), i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "node")), node) != 0)
            continue;
        *last = one;
        n += json_object_get(one, "path") != NULL;
    }
    ck_assert_msg(*last != NULL, "no node %s", node);
    return n;
}

static void ran(const char *node, size_t times, const char *status)
{
    json_t *last;

    ck_assert_uint_eq(executions(node, &last), times);
    ck_assert_str_eq(json_string_value(json_object_get(last, "status")),
                     status);
}

static const char *error_of(json_t *v, const char *what)
{
    return json_string_value(
        json_object_get(json_object_get(v, "error"), what));
}

/* The node ended with this error. */
static void failed_with(const char *node, const char *code)
{
    json_t *last;

    executions(node, &last);
    ck_assert_pstr_eq(error_of(last, "code"), code);
}

/* How often `counts` was at work. */
static size_t counted(void)
{
    char path[PATH_MAX], *text;
    size_t n = 0;

    snprintf(path, sizeof path, "%s/counted", dir);
    if (access(path, F_OK) != 0)
        return 0;
    text = test_read(path, NULL);
    for (const char *p = text; *p != '\0'; p++)
        n += *p == '\n';
    free(text);
    return n;
}

/* A run says which graph it is of.
 * key: graph.metadata, metadata.name, metadata.version */
START_TEST(a_run_says_what_it_is)
{
    const json_t *g;

    completes("mean", NULL);
    g = json_object_get(shown, "graph");
    ck_assert_pstr_eq(json_string_value(json_object_get(g, "name")), "mean");
    ck_assert_pstr_eq(json_string_value(json_object_get(g, "version")),
                      "1.0.0");
}
END_TEST

/* ---- where it goes ------------------------------------------------------ */

/* A search -> evaluate loop runs three rounds and stops. */
START_TEST(three_rounds_and_stop)
{
    completes("three-rounds", NULL);
    ran("search", 3, "done");
    ran("evaluate", 3, "done");
    ran("report", 1, "done");
    value("artifacts", "report", "{\"found\":[1,2,3]}");
}
END_TEST

/* A two-node tail of a skipped arm never starts, and what both arms lead to
 * does not wait for it. */
START_TEST(a_skipped_arm_never_starts)
{
    completes("arms", "{\"left\":false}");
    ran("l1", 0, "skipped");
    ran("l2", 0, "skipped");
    ran("r2", 1, "done");
    ran("join", 1, "done");
    ck_assert_uint_eq(counted(), 2);
}
END_TEST

/* A node skipped by q and later chosen by p runs once. */
START_TEST(skipped_and_later_chosen_runs_once)
{
    completes("chosen-later", NULL);
    ran("x", 1, "done");
    ck_assert_uint_eq(counted(), 1);
}
END_TEST

/* Conditional START edges choose. */
START_TEST(start_edges_choose)
{
    completes("start-edges", "{\"n\":10}");
    ran("small", 0, "skipped");
    ran("great", 1, "done");
}
END_TEST

/* An unknown route target fails by name, and nothing runs. */
START_TEST(an_unknown_target_fails_by_name)
{
    run("unknown-route", "{\"to\":\"nowhere\"}", MORTISE_RUN_FAILED);
    failed_with("way", "route");
    ck_assert_ptr_nonnull(strstr(error_of(shown, "message"), "'nowhere'"));
    ck_assert_uint_eq(counted(), 0);
}
END_TEST

/* ---- what comes of it --------------------------------------------------- */

/* Parallel artifacts both survive. */
START_TEST(parallel_artifacts_survive)
{
    completes("side-by-side", NULL);
    value("artifacts", "a", "{\"from\":\"a\"}");
    value("artifacts", "b", "{\"from\":\"b\"}");
}
END_TEST

/* sum seed 10 with two +1 branches is 12; concat [s], l, r is [s, l, r],
 * although r was there first; deep merge is deep: at the join and at the end.
 */
START_TEST(branches_fold_in_declared_order)
{
    completes("fold", NULL);
    value("artifacts", "join",
          "{\"seen\":{\"deep\":{\"a\":{\"b\":{\"left\":2,\"right\":3,"
          "\"seed\":1},\"kept\":true}},\"list\":[\"s\",\"l\",\"r\"],"
          "\"sum\":12}}");
    value("scratch", "sum", "12");
    value("scratch", "list", "[\"s\",\"l\",\"r\"]");
    value("scratch", "deep",
          "{\"a\":{\"b\":{\"left\":2,\"right\":3,\"seed\":1},"
          "\"kept\":true}}");
}
END_TEST

/* avg 1, 2, 6 is 3. */
START_TEST(a_mean_is_the_mean)
{
    completes("mean", NULL);
    value("scratch", "mean", "3.0");
}
END_TEST

/* ---- what is in its way -------------------------------------------------- */

/* warn and sanitize go on, the one with what it saw, the other with what was
 * offered instead; reroute protects a two-node path. */
START_TEST(violations_are_answered)
{
    completes("violations", "{\"text\":\"bad\"}");
    value("artifacts", "warned", "{\"text\":\"bad\"}");
    value("artifacts", "cleaned", "{\"text\":\"harmless\"}");
    ran("refuse", 1, "done");
    ran("first", 0, "skipped");
    ran("second", 0, "skipped");
    ck_assert_uint_eq(counted(), 0);
}
END_TEST

/* ... and without a violation everybody takes the way that is protected. */
START_TEST(the_good_pass)
{
    completes("violations", "{\"text\":\"good\"}");
    value("artifacts", "cleaned", "{\"text\":\"good\"}");
    ran("refuse", 0, "skipped");
    ck_assert_uint_eq(counted(), 2);
}
END_TEST

/* Timeout with retry never overlaps attempts, even of who does not stop. */
START_TEST(attempts_never_overlap)
{
    completes("alone", NULL);
    ran("work", 1, "done");
    value("artifacts", "work", "{\"entered\":3,\"most\":1}");
}
END_TEST

/* ---- who is first ------------------------------------------------------- */

/* quorum 2 of 3 cancels the third: nobody waits for it.
 * key: node.losers=cancel */
START_TEST(a_quorum_cancels_the_third)
{
    completes("quorum-cancel", NULL);
    ran("c", 1, "skipped");
    failed_with("c", "cancelled");
    ran("two", 1, "done");
    ck_assert_uint_eq(counted(), 1);
}
END_TEST

/* ... or lets it finish, and discards what it says. */
START_TEST(a_quorum_lets_the_third_finish)
{
    completes("quorum-finish", NULL);
    ran("c", 1, "done");
    ran("two", 1, "done");
    ck_assert_uint_eq(counted(), 1);
    ck_assert_ptr_null(json_object_get(
        json_object_get(json_object_get(shown, "state"), "artifacts"), "c"));
}
END_TEST

/* Reaching END with end: first cancels the rest.
 * key: graph.end=first */
START_TEST(the_first_end_cancels_the_rest)
{
    completes("first-end", NULL);
    ran("quick", 1, "done");
    ran("slow", 1, "skipped");
    failed_with("slow", "cancelled");
    ran("after", 0, "skipped");
    ck_assert_uint_eq(counted(), 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("language");
    TCase *tc = tcase_create("language");

    tcase_set_timeout(tc, 30);
    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_run_says_what_it_is);
    tcase_add_test(tc, three_rounds_and_stop);
    tcase_add_test(tc, a_skipped_arm_never_starts);
    tcase_add_test(tc, skipped_and_later_chosen_runs_once);
    tcase_add_test(tc, start_edges_choose);
    tcase_add_test(tc, an_unknown_target_fails_by_name);
    tcase_add_test(tc, parallel_artifacts_survive);
    tcase_add_test(tc, branches_fold_in_declared_order);
    tcase_add_test(tc, a_mean_is_the_mean);
    tcase_add_test(tc, violations_are_answered);
    tcase_add_test(tc, the_good_pass);
    tcase_add_test(tc, attempts_never_overlap);
    tcase_add_test(tc, a_quorum_cancels_the_third);
    tcase_add_test(tc, a_quorum_lets_the_third_finish);
    tcase_add_test(tc, the_first_end_cancels_the_rest);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
