/* test_run_handlers.c -- what a handler is told (issue 15, point 8).
 *
 * In a node that on_error.goto leads to, `error` is {node, code, class, message}
 * of what failed, in everything of the node; null where it was led to
 * otherwise. */
#include "lib/drive.h"

#define FAILS "type: tool, tool: t/fail, args: {times: 9, code: broken}"

/* In arguments, outputs and conditions, and in what follows them. */
static const char handled[] =
    HEAD "start: a\n"
         "nodes:\n"
         "  a: {" FAILS ", on_error: {goto: h}, next: END}\n"
         "  h: {type: tool, tool: t/read, args: {e: \"${error}\"},\n"
         "      outputs: {scratch.was: \"error.node + ':' + error.code\"},\n"
         "      routes: [{when: error.class == 'permanent' &&\n"
         "      error.message == output.e.message, to: p}], default: END}\n"
         "  p: {type: tool, tool: t/read, next: END}\n";

static void assert_handled(void)
{
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "h",
                 "{\"e\":{\"class\":\"permanent\",\"code\":\"broken\","
                 "\"message\":\"told to fail\",\"node\":\"a\"}}");
    assert_value("scratch", "was", "\"a:broken\"");
    assert_runs("p", 1);
}

START_TEST(a_handler_sees_the_error)
{
    run_plain(handled, "{}");
    assert_handled();
    end();
}
END_TEST

/* Wherever the process dies. */
START_TEST(it_survives_deaths)
{
    uint32_t seed = (uint32_t)_i;

    begin(handled);
    admit("{}");
    run_dying(&seed, 4);
    assert_handled();
    end();
}
END_TEST

/* Killed behind each commit and each call in turn, it is told the same. */
START_TEST(it_survives_a_death_behind_every_commit)
{
    bool more = true;

    for (uint32_t at = 1; more; at++) {
        uint32_t seed = at;

        begin(handled);
        admit("{}");
        sim_sync_one(&s);
        for (uint32_t i = 1; i < at && more; i++)
            more = sim_sync_one(&s) || (s.n_calls > 0 && sim_end_call(&s, 0));
        sim_crash(&s, &seed);
        sim_recover(&s);
        sim_run_plain(&s);
        assert_handled();
        end();
    }
}
END_TEST

/* A prompt, a guardrail's target, what a map goes over, a graph's input. */
START_TEST(in_everything_of_the_node)
{
    run_plain(HEAD
              "start: a\n"
              "nodes:\n"
              "  a: {" FAILS ", on_error: {goto: h}, next: END}\n"
              "  h: {type: human, prompt: \"${error.code} of ${error.node}\",\n"
              "      auto_accept: true, output_as: null, map: {over:\n"
              "      '[error.code, error.class]', to: w, join: j}}\n"
              "  w: {type: tool, tool: t/read, args: {v: \"${item}\"},\n"
              "      next: j}\n"
              "  j: {type: tool, tool: t/fail, args: {times: 9, code: again},\n"
              "      on_error: {goto: g}, next: END}\n"
              "  g: {type: guardrail, guardrails: [ok], target: error.code,\n"
              "      on_violation: block, next: b}\n"
              "  b: {" FAILS ", on_error: {goto: u}, next: END}\n"
              "  u:\n"
              "    type: subgraph\n"
              "    input_mapping: {input.why: error.node}\n"
              "    output_mapping: {scratch.got: artifacts.i}\n"
              "    next: END\n"
              "    graph:\n"
              "      start: i\n"
              "      nodes: {i: {type: tool, tool: t/read, next: END,\n"
              "                  args: {why: \"${input.why}\"}}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "w",
                 "{\"failed\":[],\"results\":[{\"v\":\"broken\"},"
                 "{\"v\":\"permanent\"}]}");
    assert_value("artifacts", "g", "\"again\"");
    assert_value("scratch", "got", "{\"why\":\"b\"}");
    end();
}
END_TEST

/* Its class, where it has one: what retry_policy was for. */
START_TEST(it_says_the_class)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/fail, args: {times: 9, code:\n"
                   "      busy, class: transient}, on_error: {goto: h},\n"
                   "      retry_policy: {max_attempts: 2}, next: END}\n"
                   "  h: {type: tool, tool: t/read, next: END,\n"
                   "      args: {class: \"${error.class}\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "h", "{\"class\":\"transient\"}");
    end();
}
END_TEST

/* Where nothing that failed led there, it is null. */
START_TEST(it_is_null_otherwise)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/fail, args: {times: 0},\n"
                   "      on_error: {goto: h}, next: h}\n"
                   "  h: {type: tool, tool: t/read, next: END, args: {code:\n"
                   "      \"${error == null ? 'none' : error.code}\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "h", "{\"code\":\"none\"}");
    ck_assert_int_eq(jump("h"), MORTISE_OK);
    assert_value("artifacts", "h", "{\"code\":\"none\"}");
    end();
}
END_TEST

/* Of several the first in the order of the nodes, whatever failed first. */
START_TEST(the_first_of_several)
{
    uint32_t seed = (uint32_t)_i;

    begin(HEAD "start: [a, b]\n"
               "nodes:\n"
               "  a: {" FAILS ", on_error: {goto: h}, next: END}\n"
               "  b: {" FAILS ", on_error: {goto: h}, next: END}\n"
               "  h: {type: tool, tool: t/read, next: END,\n"
               "      args: {of: \"${error.node}\"}}\n");
    admit("{}");
    sim_run(&s, &seed);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "h", "{\"of\":\"a\"}");
    end();
}
END_TEST

/* A goto back begins the next visit, which knows why; the one after does not. */
START_TEST(a_goto_back_to_the_entry)
{
    run_plain(HEAD
              "start: e\n"
              "state: {reducers: {scratch.seen: concat}}\n"
              "nodes:\n"
              "  e: {type: tool, tool: t/read, next: w, outputs:\n"
              "      {scratch.seen: \"[error == null ? 'none' : error.node]\"}}"
              "\n"
              "  w: {type: tool, tool: t/fail, on_error: {goto: e}, args:\n"
              "      {times: \"${node.visit == 1 ? 9 : 0}\", code: broken},\n"
              "      routes: [{when: node.visit < 3, to: e}], default: END}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("scratch", "seen", "[\"none\",\"w\",\"none\"]");
    end();
}
END_TEST

/* An update on the way, or another attempt of the handler, does not change it.
 */
START_TEST(it_stays_what_it_was)
{
    begin(HEAD "start: [a, b]\n"
               "nodes:\n"
               "  a: {" FAILS ", on_error: {goto: h}, next: END}\n"
               "  b: {type: tool, tool: t/read, next: h}\n"
               "  h: {type: tool, tool: t/fail, next: END, args: {of:\n"
               "      \"${error.node}\", times: \"${has(scratch.ok) ? 0 : 9}\","
               " code: more}}\n");
    admit("{}");
    finish("a");
    ck_assert_int_eq(update("{\"scratch\": {\"x\": 1}}"), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(update("{\"scratch\": {\"ok\": 1}}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "h",
                 "{\"code\":\"more\",\"of\":\"a\",\"times\":0}");
    end();
}
END_TEST

/* on_error.value sees the same four; in a handler, its own failure's. */
START_TEST(a_value_sees_its_own)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {" FAILS ", on_error: {goto: h}, next: END}\n"
                   "  h: {type: tool, tool: t/fail, next: END,\n"
                   "      args: {times: 9, code: more},\n"
                   "      on_error: {value: error}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "h",
                 "{\"class\":\"permanent\",\"code\":\"more\","
                 "\"message\":\"told to fail\",\"node\":\"h\"}");
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *s_ = suite_create("handlers");
    TCase *tc = tcase_create("error");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_handler_sees_the_error);
    tcase_add_loop_test(tc, it_survives_deaths, 0, 20);
    tcase_add_test(tc, it_survives_a_death_behind_every_commit);
    tcase_add_test(tc, in_everything_of_the_node);
    tcase_add_test(tc, it_says_the_class);
    tcase_add_test(tc, it_is_null_otherwise);
    tcase_add_loop_test(tc, the_first_of_several, 0, 10);
    tcase_add_test(tc, a_goto_back_to_the_entry);
    tcase_add_test(tc, it_stays_what_it_was);
    tcase_add_test(tc, a_value_sees_its_own);
    suite_add_tcase(s_, tc);
    return s_;
}

int main(void)
{
    return test_run(suite());
}
