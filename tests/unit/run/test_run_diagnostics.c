/* test_run_diagnostics.c -- what expressions see of what came before:
 * core/run/state/diagnostics.c. */
#include "core/model/graph.h"
#include "lib/drive.h"

/* Its fields in the order of a sorted object. */
#define SEEN(runs, attempts, calls, in, out, usd)                              \
    "{\"attempts\":" #attempts ",\"guardrails\":{},\"runs\":" #runs            \
    ",\"usage\":{\"by_model\":{},\"input_tokens\":" #in                        \
    ",\"model_calls\":" #calls ",\"output_tokens\":" #out ",\"usd\":" #usd     \
    "}}"

/* Attempts and what they cost, of those before; nothing of those that come. */
START_TEST(what_came_before_is_counted)
{
    run_plain(HEAD
              "start: a\n"
              "nodes:\n"
              "  a: {type: tool, tool: t/fail, next: b,\n"
              "      args: {times: 2, class: transient,\n"
              "             usage: {model_calls: 1, usd: 0.25}},\n"
              "      retry_policy: {max_attempts: 3, delay: 1s}}\n"
              "  b: {type: tool, tool: t/read, next: c,\n"
              "      args: {a: \"${diagnostics.a}\", b: \"${diagnostics.b}\",\n"
              "             c: \"${diagnostics.c.runs}\"}}\n"
              "  c: {type: tool, tool: t/read}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "b",
                 "{\"a\":" SEEN(1, 3, 3, 0, 0, 0.75) ",\"b\":" SEEN(
                     0, 0, 0, 0, 0, 0.0) ",\"c\":0}");
    end();
}
END_TEST

/* How often each guardrail said what, of nodes before; their time and their
 * reason are in the record. */
START_TEST(verdicts_are_counted)
{
    json_t *show, *note;

    run_plain(HEAD
              "start: a\n"
              "nodes:\n"
              "  a: {type: tool, tool: t/echo, args: {bad: 1, n: 2}, next: b,\n"
              "      guardrail_policy: {input: [ok, bad], output: [bad, ok],\n"
              "                         on_violation: sanitize}}\n"
              "  b: {type: tool, tool: t/read,\n"
              "      args: {a: \"${diagnostics.a.guardrails}\",\n"
              "             b: \"${diagnostics.b.guardrails}\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "b",
                 "{\"a\":{\"bad\":{\"pass\":1,\"sanitize\":1},\"ok\":{"
                 "\"pass\":2}},\"b\":{}}");
    show = sim_show(&s);
    note = json_array_get(
        json_object_get(json_array_get(json_object_get(show, "nodes"), 0),
                        "guardrails"),
        1);
    ck_assert_str_eq(json_string_value(json_object_get(note, "action")),
                     "sanitize");
    ck_assert(json_is_string(json_object_get(note, "reason")));
    ck_assert(json_is_integer(json_object_get(note, "ms")));
    json_decref(show);
    end();
}
END_TEST

/* On the edges of a node what was said of its own output is among them; and once
 * only behind it. */
START_TEST(edges_see_verdicts_of_their_source)
{
    run_plain(HEAD
              "start: a\n"
              "nodes:\n"
              "  a:\n    type: tool\n    tool: t/echo\n"
              "    args: {bad: 1, n: 2}\n"
              "    guardrail_policy: {input: [ok], output: [bad, ok],\n"
              "                       on_violation: sanitize}\n"
              "    default: c\n    routes:\n"
              "      - {to: b, when: \"diagnostics.a.guardrails == {'bad': "
              "{'sanitize': 1}, 'ok': {'pass': 2}}\"}\n"
              "  b: {type: tool, tool: t/read,\n"
              "      args: {a: \"${diagnostics.a.guardrails}\"}}\n"
              "  c: {type: tool, tool: t/read}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "b",
                 "{\"a\":{\"bad\":{\"sanitize\":1},\"ok\":{\"pass\":2}}}");
    end();
}
END_TEST

/* Where its edges are chosen, a node sees itself. */
START_TEST(edges_see_their_source)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/read, default: cheap,\n"
                   "      args: {usage: {output_tokens: 9}},\n"
                   "      outputs: {scratch.x: diagnostics.a.runs},\n"
                   "      routes: [{when: diagnostics.a.usage.output_tokens\n"
                   "                      > 5 && diagnostics.a.runs == 1,\n"
                   "                to: dear}]}\n"
                   "  cheap: {type: tool, tool: t/read}\n"
                   "  dear: {type: tool, tool: t/read}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("dear", "done");
    assert_node("cheap", "skipped");
    assert_value("scratch", "x", "0");
    end();
}
END_TEST

static const char beside[] =
    HEAD "start: [l, r]\n"
         "nodes:\n"
         "  l: {type: tool, tool: t/read, next: [m, j],\n"
         "      args: {usage: {model_calls: 1}}}\n"
         "  r: {type: tool, tool: t/read, next: j,\n"
         "      args: {usage: {model_calls: 2}}}\n"
         "  m: {type: tool, tool: t/read, next: j,\n"
         "      args: {r: \"${diagnostics.r.runs}\",\n"
         "             l: \"${diagnostics.l.usage.model_calls}\"}}\n"
         "  j: {type: tool, tool: t/read,\n"
         "      args: {n: \"${diagnostics.l.usage.model_calls +\n"
         "                    diagnostics.r.usage.model_calls}\",\n"
         "             runs: \"${diagnostics.l.runs}\"}}\n";

/* What runs beside is not seen, however fast it was; a join sees all, each
 * once, whatever dies on the way. */
START_TEST(timing_does_not_show)
{
    uint32_t seed = (uint32_t)_i + 1;

    begin(beside);
    admit("{}");
    run_dying(&seed, _i % 3);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "m", "{\"l\":1,\"r\":0}");
    assert_value("artifacts", "j", "{\"n\":3,\"runs\":1}");
    end();
}
END_TEST

/* All visits of a loop. */
START_TEST(visits_add_up)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/read, next: b,\n"
                   "      args: {usage: {input_tokens: 10}}}\n"
                   "  b: {type: tool, tool: t/read, default: END,\n"
                   "      routes: [{when: diagnostics.a.usage.input_tokens\n"
                   "                      < 30, to: a}]}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("a", "visit", "3");
    end();
}
END_TEST

/* All elements of a map, behind it; in an element, its own. */
START_TEST(elements_add_up)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/read,\n"
                   "      map: {over: '[1, 2, 3]', to: w, join: j}}\n"
                   "  w: {type: tool, tool: t/read, next: v,\n"
                   "      args: {usage: {model_calls: 2}}}\n"
                   "  v: {type: tool, tool: t/read, next: j,\n"
                   "      outputs: {scratch.s: \"[diagnostics.w.runs]\"}}\n"
                   "  j: {type: tool, tool: t/read,\n"
                   "      args: {w: \"${diagnostics.w.usage.model_calls}\",\n"
                   "             v: \"${diagnostics.v.runs}\"}}\n"
                   "state: {reducers: {scratch.s: concat}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("scratch", "s", "[1,1,1]");
    assert_value("artifacts", "j", "{\"v\":3,\"w\":6}");
    end();
}
END_TEST

/* A graph sees its own nodes; what runs inside one of them is its usage, and
 * output_mapping sees those inside. */
START_TEST(graphs_see_their_own)
{
    run_plain(HEAD "start: sub\n"
                   "nodes:\n"
                   "  sub:\n"
                   "    type: subgraph\n"
                   "    output_mapping: {scratch.in: diagnostics.p.usage.usd,\n"
                   "                     scratch.q: diagnostics.q.attempts}\n"
                   "    graph:\n"
                   "      start: p\n"
                   "      nodes:\n"
                   "        p: {type: tool, tool: t/read, next: q,\n"
                   "            args: {usage: {usd: 0.5}}}\n"
                   "        q: {type: tool, tool: t/read,\n"
                   "            args: {usage: {usd: 0.25}}}\n"
                   "    next: z\n"
                   "  z: {type: tool, tool: t/read,\n"
                   "      args: {usd: \"${diagnostics.sub.usage.usd}\",\n"
                   "             runs: \"${diagnostics.sub.runs}\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("scratch", "in", "0.5");
    assert_value("scratch", "q", "1");
    assert_value("artifacts", "z", "{\"runs\":1,\"usd\":0.75}");
    end();
}
END_TEST

static bool runs_without(int n)
{
    struct mortise_graph *g =
        sim_graph(HEAD "start: a\n"
                       "nodes: {a: {type: tool, tool: t/read,\n"
                       "            args: {n: '${diagnostics.a.runs}'}}}\n");
    struct mortise_admission adm = {
        .tenant = "t", .run = "r", .actor = "x", .seed = {1}};
    struct mortise_actions actions;
    struct mortise_run *r = NULL;
    bool failed;
    int rv;

    adm.input = json_object();
    mortise_actions_init(&actions, &test_mem);
    test_mem_fail_at(n);
    rv = mortise_run_admit(&r, &test_mem, g, &adm, 1, &actions, &err);
    failed = test_mem_failed();
    test_mem_fail_at(-1);
    ck_assert_int_eq(rv, failed ? MORTISE_ENOMEM : MORTISE_OK);
    mortise_run_free(r);
    mortise_actions_finish(&actions);
    mortise_graph_unref(g);
    json_decref(adm.input);
    return failed;
}

/* It copes with memory running out anywhere. */
START_TEST(memory_may_run_out)
{
    int n = 0;

    while (runs_without(n))
        n++;
    ck_assert_int_gt(n, 10);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_diagnostics");
    TCase *tc = tcase_create("diagnostics");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, what_came_before_is_counted);
    tcase_add_test(tc, verdicts_are_counted);
    tcase_add_test(tc, edges_see_verdicts_of_their_source);
    tcase_add_test(tc, edges_see_their_source);
    tcase_add_loop_test(tc, timing_does_not_show, 0, 40);
    tcase_add_test(tc, visits_add_up);
    tcase_add_test(tc, elements_add_up);
    tcase_add_test(tc, graphs_see_their_own);
    tcase_add_test(tc, memory_may_run_out);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
