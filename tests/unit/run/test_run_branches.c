/* test_run_branches.c -- branches at joins: edges and elements of maps by one
 * rule, and failures by their place in the graph, whatever the timing. */
#include "lib/drive.h"

/* ---- which failure is the first ------------------------------------------- */

/* Two nodes read, in the order that `swapped` says; behind each of them stands one
 * that fails. */
static void finish_readers(bool swapped)
{
    admit("{}");
    sync_all();
    finish(swapped ? "b" : "a");
    sim_end_call(&s, call_of(swapped ? "b2" : "a2"));
    finish(swapped ? "a" : "b");
    sim_run_plain(&s);
}

#define READERS(indent)                                                        \
    indent "a: {type: tool, tool: t/read, next: a2}\n" indent                  \
           "b: {type: tool, tool: t/read, next: b2}\n"
#define FAILS(indent, id, more)                                                \
    indent id "2: {type: tool, tool: t/fail, args: {code: " id "}" more "}\n"

/* Of two branches of a subgraph that fail, the error is that of the node that is
 * declared first, and its message names both in that order. */
START_TEST(a_subgraph_fails_of_the_least)
{
    begin(HEAD "start: s\n"
               "nodes:\n"
               "  s:\n"
               "    type: subgraph\n"
               "    on_error: {value: \"{'code': error.code, 'node': "
               "error.node, 'words': error.message}\"}\n"
               "    graph:\n"
               "      start: [a, b]\n"
               "      nodes:\n" READERS("        ") FAILS("        ", "a", "")
                   FAILS("        ", "b", ""));
    finish_readers(_i == 1);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value(
        "artifacts", "s",
        "{\"code\":\"a\",\"node\":\"s\",\"words\":\"1.0/s#1/a2#1: told "
        "to fail; 1.0/s#1/b2#1: told to fail\"}");
    end();
}
END_TEST

/* So does a team: its error is that of the node that is declared first. */
START_TEST(a_team_fails_of_the_least)
{
    begin(HEAD "start: s\n"
               "nodes:\n"
               "  s:\n"
               "    type: team\n"
               "    goal: g\n"
               "    on_error: {value: \"{'code': error.code, 'node': "
               "error.node, 'words': error.message}\"}\n"
               "    graph:\n"
               "      start: [a, b]\n"
               "      nodes:\n" READERS("        ") FAILS("        ", "a", "")
                   FAILS("        ", "b", ""));
    finish_readers(_i == 1);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value(
        "artifacts", "s",
        "{\"code\":\"a\",\"node\":\"s\",\"words\":\"1.0/s#1/a2#1: told "
        "to fail; 1.0/s#1/b2#1: told to fail\"}");
    end();
}
END_TEST

/* A model whose tool is a graph is given the least failure of that graph, and its
 * message names both in that order. */
START_TEST(a_graph_that_is_a_tool_fails_of_the_least)
{
    sim_init(&s,
             sim_graph_beside(
                 "apiVersion: mortise/v1\nkind: Graph\n"
                 "metadata: {name: inner, version: 1.0.0}\n"
                 "start: [a, b]\n"
                 "nodes:\n" READERS("  ") FAILS("  ", "a", "")
                     FAILS("  ", "b", ""),
                 HEAD "start: g\n"
                      "nodes:\n"
                      "  g:\n"
                      "    type: gmi\n"
                      "    prompt: p\n"
                      "    tool_allowlist: [graph/inner]\n"
                      "    args: {asks: [{method: tool.invoke/1, kind: tool,\n"
                      "      body: {tool: graph/inner, arguments: {}}}]}\n"));
    finish_readers(_i == 1);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "g",
                 "[{\"error\":{\"class\":\"permanent\",\"code\":\"a\","
                 "\"message\":\"1.0/g#1/graph__inner#1/a2#1: told to fail; "
                 "1.0/g#1/graph__inner#1/b2#1: told to fail\"}}]");
    end();
}
END_TEST

/* retry_on looks at the same one. */
START_TEST(retry_on_sees_the_least)
{
    begin(HEAD
          "start: s\n"
          "nodes:\n"
          "  s:\n"
          "    type: subgraph\n"
          "    retry_policy: {max_attempts: 2, delay: 1ms, retry_on: [a]}\n"
          "    on_error: {value: string(node.attempt)}\n"
          "    graph:\n"
          "      start: [a, b]\n"
          "      nodes:\n"
          "        a: {type: tool, tool: t/read, next: a2}\n"
          "        b: {type: tool, tool: t/read, next: b2}\n"
          "        a2: {type: tool, tool: t/fail,\n"
          "             args: {code: a, class: transient}}\n"
          "        b2: {type: tool, tool: t/fail,\n"
          "             args: {code: b, class: transient}}\n");
    finish_readers(_i == 1);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "s", "\"2\"");
    end();
}
END_TEST

/* A join that failed branches keep from starting hands on the least of their
 * failures, once all its branches are decided: what collects it sees the same. */
START_TEST(a_skipped_join_hands_on_the_least)
{
    static const char *const joins[] = {"join: all", "join: {quorum: 2}",
                                        "join: any, on_branch_error: fail"};
    char yaml[1024];

    snprintf(yaml, sizeof yaml,
             HEAD "start: [a, b]\n"
                  "nodes:\n" READERS("  ") FAILS("  ", "a", ", next: j")
                      FAILS("  ", "b", ", next: j") "  j: {type: tool, tool: "
                                                    "t/read, %s, next: k}\n"
                                                    "  k: {type: tool, tool: "
                                                    "t/read,\n"
                                                    "      on_branch_error: "
                                                    "collect,\n"
                                                    "      args: {of: "
                                                    "\"${node.failed[0].node}"
                                                    "\"}}\n",
             joins[_i / 2]);
    begin(yaml);
    finish_readers(_i % 2 == 1);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("j", "skipped");
    assert_value("artifacts", "k", "{\"of\":\"a2\"}");
    end();
}
END_TEST

/* An element in which two branches failed failed of the least of them. */
START_TEST(an_element_fails_of_the_least)
{
    begin(HEAD "start: m\n"
               "nodes:\n"
               "  m: {type: tool, tool: t/read,\n"
               "      map: {over: '[1]', to: w, join: j}}\n"
               "  w: {type: tool, tool: t/read, next: [a, b]}\n" READERS("  ")
                   FAILS("  ", "a", ", next: j") FAILS(
                       "  ", "b",
                       ", next: j") "  j: {type: tool, tool: t/read, "
                                    "on_branch_error: collect,\n"
                                    "      args: {of: "
                                    "\"${artifacts.w.failed[0].error.node}\",\n"
                                    "             too: "
                                    "\"${node.failed[0].error.node}\"}}\n");
    admit("{}");
    sync_all();
    finish("m");
    finish("w");
    finish(_i == 1 ? "b" : "a");
    sim_end_call(&s, call_of(_i == 1 ? "b2" : "a2"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "j", "{\"of\":\"a2\",\"too\":\"a2\"}");
    end();
}
END_TEST

/* The result of an element of which several nodes came to the join has them in the
 * order in which they are declared. */
START_TEST(a_result_has_nodes_in_order)
{
    begin(HEAD "start: m\n"
               "nodes:\n"
               "  m: {type: tool, tool: t/read,\n"
               "      map: {over: '[1]', to: w, join: j}}\n"
               "  w: {type: tool, tool: t/read, next: [a, b]}\n"
               "  a: {type: tool, tool: t/read, next: j}\n"
               "  b: {type: tool, tool: t/read, next: j}\n"
               "  j: {type: tool, tool: t/read,\n"
               "      args: {of: \"${artifacts.w.results[0].map(k, k)}\"}}\n");
    admit("{}");
    sync_all();
    finish("m");
    finish("w");
    finish(_i == 1 ? "b" : "a");
    sim_run_plain(&s);
    assert_value("artifacts", "j", "{\"of\":[\"a\",\"b\"]}");
    end();
}
END_TEST

/* The run's error is the least, and its message and its list have all of them in
 * the same order. */
START_TEST(a_run_fails_of_the_least)
{
    json_t *show, *error, *failed;

    begin(HEAD "start: [a, b]\n"
               "nodes:\n" READERS("  ") FAILS("  ", "a", "")
                   FAILS("  ", "b", ""));
    finish_readers(_i == 1);
    assert_status(MORTISE_RUN_FAILED);
    show = sim_show(&s);
    error = json_object_get(show, "error");
    failed = json_object_get(error, "failed");
    ck_assert_str_eq(json_string_value(json_object_get(error, "path")),
                     "1.0/a2#1");
    ck_assert_str_eq(json_string_value(json_object_get(error, "message")),
                     "told to fail; 1.0/b2#1: told to fail");
    ck_assert_str_eq(
        json_string_value(json_object_get(json_array_get(failed, 1), "path")),
        "1.0/b2#1");
    json_decref(show);
    end();
}
END_TEST

/* ---- one shape of errors --------------------------------------------------- */

#define ERROR(node, code, class)                                               \
    "{\"class\":\"" class "\",\"code\":\"" code                                \
                          "\",\"message\":\"told to fail\",\"node\":\"" node   \
                          "\"}"

/* What a join collects of an edge and of an element is the error that on_error
 * sees; `index` says which element. */
START_TEST(errors_have_one_shape)
{
    run_plain(HEAD
              "start: [a, m]\n"
              "nodes:\n"
              "  a: {type: tool, tool: t/fail, next: j,\n"
              "      args: {code: x, class: transient}}\n"
              "  m: {type: tool, tool: t/read,\n"
              "      map: {over: '[1, 2]', to: w, join: j}}\n"
              "  w: {type: tool, tool: t/fail, next: j,\n"
              "      args: {code: y, times: \"${index == 1 ? 9 : 0}\"}}\n"
              "  j: {type: tool, tool: t/read, on_branch_error: collect,\n"
              "      args: {failed: \"${node.failed}\",\n"
              "             class: \"${node.failed[0].error.class}\",\n"
              "             code: \"${artifacts.w.failed[0].error.code}\",\n"
              "             elements: \"${artifacts.w.failed}\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value(
        "artifacts", "j",
        "{\"class\":\"transient\",\"code\":\"y\",\"elements\":[{"
        "\"error\":" ERROR(
            "w", "y",
            "permanent") ",\"index\":1}],\"failed\":[{"
                         "\"error\":" ERROR(
                             "a", "x",
                             "transient") ",\"node\":"
                                          "\"a\"},{"
                                          "\"error\""
                                          ":" ERROR("w", "y",
                                                    "pe"
                                                    "rm"
                                                    "an"
                                                    "en"
                                                    "t") ",\"index\":1,"
                                                         "\"node\":\"w\"}]}");
    end();
}
END_TEST

/* A join that collects sees what the branches that came wrote; if none came, what
 * the failed ones wrote. */
START_TEST(a_collecting_join_sees)
{
    char yaml[1024];

    snprintf(yaml, sizeof yaml,
             HEAD
             "start: [a, b]\n"
             "nodes:\n" READERS("  ") FAILS(
                 "  ", "a",
                 ", next: j") "  b2: {type: tool, tool: %s, next: j}\n"
                              "  j: {type: tool, tool: t/read,\n"
                              "      on_branch_error: collect,\n"
                              "      args: {a: \"${has(artifacts.a)}\",\n"
                              "             b: \"${has(artifacts.b)}\"}}\n",
             _i == 0 ? "t/read" : "t/fail, args: {code: b}");
    run_plain(yaml, "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "j",
                 _i == 0 ? "{\"a\":false,\"b\":true}"
                         : "{\"a\":true,\"b\":true}");
    end();
}
END_TEST

/* ---- what a failed branch is ----------------------------------------------- */

/* The second of two fails: an edge, or an element of a map. */
static void one_fails(bool elements, const char *join)
{
    char yaml[1024];

    if (elements)
        snprintf(yaml, sizeof yaml,
                 HEAD "start: m\n"
                      "nodes:\n"
                      "  m: {type: tool, tool: t/read, map: {over: '[1, 2]',\n"
                      "      to: w, join: j, max_parallel: 1}}\n"
                      "  w: {type: tool, tool: t/fail, next: j, args:\n"
                      "      {times: \"${index == 0 ? 9 : 0}\"}}\n"
                      "  j: {type: tool, tool: t/read, %s,\n"
                      "      args: {n: \"${size(node.failed)}\"}}\n",
                 join);
    else
        snprintf(yaml, sizeof yaml,
                 HEAD "start: [w, b]\n"
                      "nodes:\n"
                      "  w: {type: tool, tool: t/fail, next: j}\n"
                      "  b: {type: tool, tool: t/read, next: j}\n"
                      "  j: {type: tool, tool: t/read, %s,\n"
                      "      args: {n: \"${size(node.failed)}\"}}\n",
                 join);
    begin(yaml);
    admit("{}");
    sync_all();
    if (!elements) {
        finish("w");
        finish("b");
    }
    sim_run_plain(&s);
}

/* `fail` keeps a race from starting, too, as soon as a branch failed before enough
 * came: be it an edge or an element. */
START_TEST(fail_keeps_a_race_from_starting)
{
    one_fails(_i % 2 == 1, _i / 2 == 0
                               ? "join: any, on_branch_error: fail"
                               : "join: {quorum: 1}, on_branch_error: fail");
    assert_status(MORTISE_RUN_FAILED);
    assert_node("j", "skipped");
    assert_runs("j", 0);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED); /* it fails again */
    assert_record(_i % 2 == 1 ? "1.0/w#1[0]" : "w", "generation", "2");
    end();
}
END_TEST

/* settled: it runs, sees what came and what failed, and the failure fails the run
 * unless it is collected. */
START_TEST(settled_sees_edges_and_elements)
{
    bool collects = _i / 2 == 1;

    one_fails(_i % 2 == 1, collects ? "join: settled, on_branch_error: collect"
                                    : "join: settled");
    assert_status(collects ? MORTISE_RUN_COMPLETED : MORTISE_RUN_FAILED);
    assert_value("artifacts", "j", "{\"n\":1}");
    if (_i % 2 == 1)
        assert_value(
            "artifacts", "w",
            "{\"failed\":[{\"error\":" ERROR(
                "w", "failed", "permanent") ",\"index\":0}],\"results\":[null,{"
                                            "\"times\":0}]}");
    if (!collects) {
        ck_assert_int_eq(resume(), MORTISE_OK);
        assert_record(_i % 2 == 1 ? "1.0/w#1[0]" : "w", "generation", "2");
        assert_runs("j", 1); /* one that is done stays done */
    }
    end();
}
END_TEST

/* Nothing but failures: best_effort fails, and collect starts. */
START_TEST(nothing_but_failures)
{
    bool elements = _i % 2 == 1, collects = _i / 2 == 1;
    char yaml[1024];

    snprintf(yaml, sizeof yaml,
             HEAD "start: %s\n"
                  "nodes:\n"
                  "  m: {type: tool, tool: t/read%s}\n"
                  "  w: {type: tool, tool: t/fail, next: j}\n"
                  "  j: {type: tool, tool: t/read, %s,\n"
                  "      args: {n: \"${size(node.failed)}\"}}\n",
             elements ? "m" : "[w, m]",
             elements ? ", map: {over: '[1, 2]', to: w, join: j}" : "",
             collects ? "on_branch_error: collect" : "join: best_effort");
    run_plain(yaml, "{}");
    assert_status(collects ? MORTISE_RUN_COMPLETED : MORTISE_RUN_FAILED);
    assert_runs("j", collects);
    if (collects)
        assert_value("artifacts", "j", elements ? "{\"n\":2}" : "{\"n\":1}");
    ck_assert_int_eq(resume(), MORTISE_OK);
    if (!collects)
        assert_record(elements ? "1.0/w#1[1]" : "w", "generation", "2");
    end();
}
END_TEST

/* An empty list is no failure: best_effort starts. */
START_TEST(an_empty_map_fails_nothing)
{
    run_plain(HEAD "start: m\n"
                   "nodes:\n"
                   "  m: {type: tool, tool: t/read,\n"
                   "      map: {over: '[]', to: w, join: j}}\n"
                   "  w: {type: tool, tool: t/fail, next: j}\n"
                   "  j: {type: tool, tool: t/read, join: best_effort}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("j", 1);
    end();
}
END_TEST

/* A quorum that came close fails by what it dropped, elements that came or not, and
 * a resume tries those again. */
START_TEST(a_quorum_fails_by_dropped_elements)
{
    run_plain(HEAD "start: m\n"
                   "nodes:\n"
                   "  m: {type: tool, tool: t/read,\n"
                   "      map: {over: '[1, 2]', to: w, join: j}}\n"
                   "  w: {type: tool, tool: t/fail, next: j,\n"
                   "      args: {times: \"${index == 0 ? 1 : 0}\", code: x},\n"
                   "      retry_policy: {max_attempts: 1}}\n"
                   "  j: {type: tool, tool: t/read, join: {quorum: 2},\n"
                   "      args: {n: \"${size(artifacts.w.results)}\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("x");
    assert_runs("j", 0);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_record("1.0/w#1[0]", "generation", "2");
    assert_record("1.0/w#1[1]", "generation", "1");
    end();
}
END_TEST

/* A settled join behind a loop runs where the loop failed at its first node. */
START_TEST(settled_behind_a_loop_that_failed_at_once)
{
    run_plain(HEAD
              "start: a\n"
              "nodes:\n"
              "  a: {type: tool, tool: t/fail, next: b}\n"
              "  b: {type: router, routes: [{when: node.visit < 2, to: a}],"
              " default: c}\n"
              "  c: {type: tool, tool: t/read, join: settled,\n"
              "      args: {of: \"${node.failed[0].node}\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_value("artifacts", "c", "{\"of\":\"a\"}");
    end();
}
END_TEST

/* What failed in an element that came to its join all the same is mended, and is
 * not tried again when the run fails of something else. */
START_TEST(a_mended_element_is_not_tried_again)
{
    run_plain(HEAD "start: m\n"
                   "nodes:\n"
                   "  m: {type: tool, tool: t/read,\n"
                   "      map: {over: '[1, 2]', to: w, join: j}}\n"
                   "  w: {type: tool, tool: t/read, next: [a, c]}\n"
                   "  a: {type: tool, tool: t/fail, next: b}\n"
                   "  b: {type: tool, tool: t/read, next: k}\n"
                   "  c: {type: tool, tool: t/read, next: k}\n"
                   "  k: {type: tool, tool: t/read, join: best_effort,\n"
                   "      next: j}\n"
                   "  j: {type: tool, tool: t/fail}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_record("1.0/a#1[0]", "generation", "1");
    assert_record("j", "generation", "2");
    end();
}
END_TEST

static Suite *branches(void)
{
    Suite *suite = suite_create("branches");
    TCase *tc = tcase_create("branches");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_loop_test(tc, a_subgraph_fails_of_the_least, 0, 2);
    tcase_add_loop_test(tc, a_team_fails_of_the_least, 0, 2);
    tcase_add_loop_test(tc, a_graph_that_is_a_tool_fails_of_the_least, 0, 2);
    tcase_add_loop_test(tc, retry_on_sees_the_least, 0, 2);
    tcase_add_loop_test(tc, a_skipped_join_hands_on_the_least, 0, 6);
    tcase_add_loop_test(tc, a_collecting_join_sees, 0, 2);
    tcase_add_loop_test(tc, an_element_fails_of_the_least, 0, 2);
    tcase_add_loop_test(tc, a_result_has_nodes_in_order, 0, 2);
    tcase_add_loop_test(tc, a_run_fails_of_the_least, 0, 2);
    tcase_add_test(tc, errors_have_one_shape);
    tcase_add_loop_test(tc, fail_keeps_a_race_from_starting, 0, 4);
    tcase_add_loop_test(tc, settled_sees_edges_and_elements, 0, 4);
    tcase_add_loop_test(tc, nothing_but_failures, 0, 4);
    tcase_add_test(tc, an_empty_map_fails_nothing);
    tcase_add_test(tc, a_quorum_fails_by_dropped_elements);
    tcase_add_test(tc, settled_behind_a_loop_that_failed_at_once);
    tcase_add_test(tc, a_mended_element_is_not_tried_again);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(branches());
}
