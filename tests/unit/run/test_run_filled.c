/* test_run_filled.c -- `timeout`, `wait` and `max_parallel` that are templates:
 * found as the node starts, the same after a crash, and judged then. */
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

/* A timeout is of what the node sees, and so are those of later attempts. */
START_TEST(a_timeout_is_found)
{
    begin(HEAD "start: a\nnodes:\n"
               "  a: {type: tool, tool: t/read, timeout: \"${input.seconds * "
               "node.attempt}s\",\n"
               "      retry_policy: {max_attempts: 2, delay: 1ms, retry_on: "
               "[timeout]}}\n");
    admit("{\"seconds\": 5}");
    ck_assert_uint_eq(s.calls[0].call.timeout_ms, 5000);
    ck_assert_uint_eq(s.timers[0].at_ms, s.now_ms + 5000);
    restart();
    ck_assert_uint_eq(s.calls[0].call.timeout_ms, 5000);
    sim_fire_timer(&s, 0);
    finish("a");
    sim_fire_timer(&s, 0);
    ck_assert_uint_eq(s.calls[0].call.timeout_ms, 10000);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* A human node's deadline is what its template gave as it asked. */
START_TEST(a_deadline_is_found)
{
    begin(HEAD "start: h\nnodes:\n"
               "  h: {type: human, prompt: hm?, wait: \"${input.wait}\",\n"
               "      on_timeout: {goto: late}}\n"
               "  late: {type: pass}\n");
    admit("{\"wait\": \"2h\"}");
    ck_assert_uint_eq(s.timers[0].at_ms, s.now_ms + 7200000);
    restart();
    sim_fire_timer(&s, 0);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("late", "done");
    end();
}
END_TEST

/* max_parallel is recorded with the list, of a node's map and of START's. */
START_TEST(a_count_is_found)
{
    static const char *const starts[] = {
        "start: {map: {over: input.list, to: w, join: j, max_parallel: "
        "\"${input.most}\"}}\nnodes:\n",
        "start: s\nnodes:\n"
        "  s: {type: pass, value: \"${input.list}\", map: {over: output, to: "
        "w, "
        "join: j, max_parallel: \"${size(output) - 1}\"}}\n"};
    char yaml[1024];

    snprintf(yaml, sizeof yaml,
             HEAD "%s"
                  "  w: {type: tool, tool: t/read, next: j}\n"
                  "  j: {type: pass}\n",
             starts[_i]);
    begin(yaml);
    admit("{\"list\": [1, 2, 3], \"most\": 2}");
    ck_assert_uint_eq(s.n_calls, 2);
    restart();
    ck_assert_uint_eq(s.n_calls, 2);
    finish("w");
    ck_assert_uint_eq(s.n_calls, 2);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("w", 3);
    end();
}
END_TEST

/* A value that is not a duration, or not a count, fails the node permanently.  The
 * error names its place. */
START_TEST(what_does_not_fit_fails)
{
    static const struct {
        const char *node, *input, *words;
    } bad[] = {
        {"type: tool, tool: t/read, timeout: \"${input.v}\"", "-5",
         "test.yaml:6:42: 'timeout' must be a duration longer than 0, such as "
         "30s, got -5"},
        {"type: tool, tool: t/read, timeout: \"${input.v}\"", "\"0s\"",
         "test.yaml:6:42: 'timeout' must be a duration longer than 0, such as "
         "30s, got \"0s\""},
        {"type: guardrail, guardrails: [ok], timeout: \"${input.v}\"", "[1]",
         "test.yaml:6:51: 'timeout' must be a duration longer than 0, such as "
         "30s, got [1]"},
        {"type: human, prompt: well?, wait: \"${input.v}\"", "\"soon\"",
         "test.yaml:6:41: 'wait' must be a duration longer than 0, such as "
         "30s, got \"soon\""},
        {"type: pass, map: {over: '[1]', to: b, join: c, max_parallel: "
         "\"${input.v}\"}",
         "0",
         "test.yaml:6:68: 'max_parallel' must be a whole number from 1 to "
         "100000, got 0"},
        {"type: pass, map: {over: '[1]', to: b, join: c, max_parallel: "
         "\"${input.v}\"}",
         "1.5",
         "test.yaml:6:68: 'max_parallel' must be a whole number from 1 to "
         "100000, got 1.5"},
    };
    static const char map[] = "  b: {type: pass, next: c}\n"
                              "  c: {type: pass}\n";
    char yaml[1024], input[64];
    json_t *show, *record, *error;

    snprintf(yaml, sizeof yaml, HEAD "start: a\nnodes:\n  a: {%s}\n%s",
             bad[_i].node, strstr(bad[_i].node, "map:") != NULL ? map : "");
    snprintf(input, sizeof input, "{\"v\": %s}", bad[_i].input);
    run_plain(yaml, input);
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("a", "type");
    show = sim_show(&s);
    records_of(show, "a", &record);
    error = json_object_get(record, "error");
    ck_assert_str_eq(json_string_value(json_object_get(error, "message")),
                     bad[_i].words);
    ck_assert_str_eq(json_string_value(json_object_get(error, "class")),
                     "permanent");
    json_decref(show);
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_filled");
    TCase *tc = tcase_create("filled");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, a_timeout_is_found);
    tcase_add_test(tc, a_deadline_is_found);
    tcase_add_loop_test(tc, a_count_is_found, 0, 2);
    tcase_add_loop_test(tc, what_does_not_fit_fails, 0, 6);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
