/* test_run_retry.c -- retry_policy.when, and permanent errors that an operation
 * reports: which failures are tried again, and the same after a crash. */
#include "lib/drive.h"

/* The process dies once all is on disk, and another goes on. */
static void restart(void)
{
    uint32_t seed = 1;

    while (sim_sync_one(&s))
        ;
    sim_crash(&s, &seed);
    sim_recover(&s);
}

static void run_failing(const char *args, const char *policy,
                        const char *on_error)
{
    char yaml[1024];

    snprintf(yaml, sizeof yaml,
             HEAD "start: a\nnodes:\n"
                  "  a: {type: tool, tool: t/fail, args: {%s},\n"
                  "      retry_policy: {delay: 1ms, %s}%s}\n",
             args, policy, on_error);
    run_plain(yaml, "{}");
}

/* A failure is tried again if retry_on lists its class or its code, and `when`
 * holds.  A permanent one counts by its code alone.
 *
 * key: retry_policy.when */
START_TEST(both_have_to_allow_it)
{
    static const struct {
        const char *args, *policy;
        bool again;
    } cases[] = {
        /* permanent: by the code alone */
        {"code: exec.exit, exit_code: 75", "retry_on: [exec.exit]", true},
        {"code: exec.exit, exit_code: 75", "max_delay: 1s", false},
        {"code: exec.exit, exit_code: 75", "when: 'true'", false},
        {"code: http.404, status: 404", "retry_on: [timeout, http.404]", true},
        {"code: http.404, status: 404", "retry_on: [http.409]", false},
        /* and `when` */
        {"code: exec.exit, exit_code: 75",
         "retry_on: [exec.exit], when: error.exit_code == 75", true},
        {"code: exec.exit, exit_code: 1",
         "retry_on: [exec.exit], when: error.exit_code == 75", false},
        {"code: http.409, status: 409",
         "retry_on: [http.409], when: 'error.status in [409, 423]'", true},
        {"class: transient, code: busy", "when: error.code == 'busy'", true},
        {"class: transient, code: lost", "when: error.code == 'busy'", false},
        {"class: transient", "when: \"error.message.contains('told to')\"",
         true},
        {"class: transient",
         "when: error.node == 'a' && error.class == "
         "'transient' && !has(error.status) && "
         "!has(error.exit_code)",
         true},
        {"class: transient", "when: node.attempt > 1", false},
        {"class: transient", "when: node.attempt == 1", true},
    };
    char args[256], policy[256];

    snprintf(args, sizeof args, "%s, times: 1", cases[_i].args);
    snprintf(policy, sizeof policy, "max_attempts: 2, %s", cases[_i].policy);
    run_failing(args, policy, "");
    assert_status(cases[_i].again ? MORTISE_RUN_COMPLETED : MORTISE_RUN_FAILED);
    if (!cases[_i].again)
        assert_record("a", "attempts", "1");
    end();
}
END_TEST

/* `when` is asked behind each attempt. */
START_TEST(each_attempt_is_asked_about)
{
    run_failing("class: transient, code: busy, times: 9",
                "max_attempts: 9, when: node.attempt < 3", "");
    assert_status(MORTISE_RUN_FAILED);
    assert_record("a", "attempts", "3");
    assert_node_error("a", "busy");
    end();
}
END_TEST

/* One that cannot be evaluated fails the node, and says so; on_error applies. */
START_TEST(what_cannot_be_evaluated_fails)
{
    static const char want[] =
        "\"expression permanent test.yaml:7:63: no such key: 'exit_code'; "
        "so retry_policy.when could not judge the failure busy: told to "
        "fail\"";

    run_failing("class: transient, code: busy, times: 1",
                "max_attempts: 2, when: error.exit_code == 75",
                ",\n      on_error: {value: \"error.code + ' ' + error.class + "
                "' ' + error.message\"}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "a", want);
    ck_assert_uint_eq(s.n_timers, 0);
    end();
    run_failing("class: transient, code: busy, times: 1",
                "max_attempts: 2, when: error.exit_code == 75", "");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("a", "expression");
    end();
}
END_TEST

/* What the engine finds wrong is never tried again, whatever retry_on lists; nor
 * is what a fail node says. */
START_TEST(the_engine_s_own_are_not)
{
    static const char *const nodes[] = {
        "  a: {type: tool, tool: t/read, args: {x: \"${input.nothing}\"},\n"
        "      retry_policy: {max_attempts: 2, retry_on: [expression]}}\n",
        "  a: {type: tool, tool: t/read, output_schema: {type: string},\n"
        "      retry_policy: {max_attempts: 2, retry_on: [schema]}}\n",
        "  a: {type: subgraph, graph: {start: b, nodes: {b: {type: fail, "
        "code: own, message: m}}},\n"
        "      retry_policy: {max_attempts: 2, retry_on: [own]}}\n"};
    char yaml[1024];

    snprintf(yaml, sizeof yaml, HEAD "start: a\nnodes:\n%s", nodes[_i]);
    run_plain(yaml, "{}");
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_uint_eq(s.n_timers, 0);
    end();
}
END_TEST

/* The numbers of an error are seen where it is handled: by on_error, behind a
 * goto, by a join, around a graph, and in the record. */
START_TEST(numbers_are_seen)
{
    json_t *show, *record;

    run_plain(HEAD
              "start: [a, s, g, l]\nnodes:\n"
              "  a: {type: tool, tool: t/fail, args: {code: exec.exit, "
              "exit_code: 75}, on_error: {value: error.exit_code}}\n"
              "  s:\n    type: subgraph\n"
              "    graph: {start: b, nodes: {b: {type: tool, tool: t/fail, "
              "args: {code: http.404, status: 404}}}}\n"
              "    on_error: {value: error.status}\n"
              "  g: {type: tool, tool: t/fail, args: {code: exec.exit, "
              "exit_code: 3}, on_error: {goto: h}}\n"
              "  h: {type: pass, value: \"${error.exit_code}\"}\n"
              "  l: {type: tool, tool: t/fail, args: {code: exec.exit, "
              "exit_code: 4}, next: j}\n"
              "  j: {type: pass, join: all, on_branch_error: collect, value: "
              "\"${node.failed[0].error.exit_code}\"}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "a", "75");
    assert_value("artifacts", "s", "404");
    assert_value("artifacts", "h", "3");
    assert_value("artifacts", "j", "4");
    show = sim_show(&s);
    records_of(show, "g", &record);
    ck_assert_int_eq(json_integer_value(json_object_get(
                         json_object_get(record, "error"), "exit_code")),
                     3);
    json_decref(show);
    end();
}
END_TEST

/* Killed between a failure and its retry, or behind the last one, the run goes on
 * as it was decided; the attempt that is made is the same. */
START_TEST(a_crash_decides_nothing)
{
    begin(HEAD "start: a\nnodes:\n"
               "  a: {type: tool, tool: t/fail, args: {code: exec.exit, "
               "exit_code: 75},\n"
               "      retry_policy: {max_attempts: 9, delay: 1h, jitter: 0, "
               "max_delay: 1h,\n"
               "        retry_on: [exec.exit], when: error.exit_code == 75 && "
               "node.attempt < 3}}\n");
    admit("{}");
    restart();
    for (unsigned attempt = 1; attempt < 3; attempt++) {
        ck_assert_uint_eq(s.n_calls, 1);
        ck_assert_uint_eq(s.calls[0].call.attempt, attempt);
        finish("a");
        ck_assert_uint_eq(s.n_timers, 1);
        restart();
        ck_assert_uint_eq(s.n_calls, 0);
        ck_assert_uint_eq(s.n_timers, 1);
        ck_assert_uint_eq(s.timers[0].at_ms, s.now_ms + 3600000);
        sim_fire_timer(&s, 0);
    }
    finish("a");
    restart();
    assert_status(MORTISE_RUN_FAILED);
    assert_record("a", "attempts", "3");
    assert_node_error("a", "exec.exit");
    end();
}
END_TEST

/* One of `defaults` holds for nodes that say none. */
START_TEST(by_default)
{
    run_plain(HEAD
              "defaults: {retry_policy: {max_attempts: 3, delay: 1ms, "
              "retry_on: [x], when: node.id == 'a'}}\n"
              "start: [a, b]\nnodes:\n"
              "  a: {type: tool, tool: t/fail, args: {code: x, times: 1}}\n"
              "  b: {type: tool, tool: t/fail, args: {code: x, times: 1}, "
              "on_error: {value: \"'no'\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("a", "attempts", "2");
    assert_value("artifacts", "b", "\"no\"");
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_retry");
    TCase *tc = tcase_create("retry");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_loop_test(tc, both_have_to_allow_it, 0, 14);
    tcase_add_test(tc, each_attempt_is_asked_about);
    tcase_add_test(tc, what_cannot_be_evaluated_fails);
    tcase_add_loop_test(tc, the_engine_s_own_are_not, 0, 3);
    tcase_add_test(tc, numbers_are_seen);
    tcase_add_test(tc, a_crash_decides_nothing);
    tcase_add_test(tc, by_default);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
