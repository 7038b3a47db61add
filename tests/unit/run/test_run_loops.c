/* test_run_loops.c -- loops, and the limits that pause them. */
#include "lib/drive.h"

/* ---- loops ------------------------------------------------------------- */

static const char search[] =
    HEAD "start: search\n"
         "state: {reducers: {scratch.seen: concat}}\n"
         "nodes:\n"
         "  search: {type: tool, tool: t/read,\n"
         "           args: {n: \"${node.visit}\"},\n"
         "           outputs: {scratch.seen: \"[output.n]\"}, next: judge}\n"
         "  judge:\n"
         "    type: router\n"
         "    routes: [{when: size(scratch.seen) < 3, to: search}]\n"
         "    default: report\n"
         "  report: {type: tool, tool: t/echo,\n"
         "           args: {all: \"${scratch.seen}\"}, next: END}\n";

/* search -> evaluate runs three rounds and stops; each round sees what the
 * ones before it wrote. */
START_TEST(three_rounds_and_stop)
{
    run_plain(search, "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("search", 3);
    assert_runs("judge", 3);
    assert_runs("report", 1);
    assert_value("artifacts", "report", "{\"all\":[1,2,3]}");
    assert_record("1.0/search#2", "after", "[\"1.0/judge#1\"]");
    end();
}
END_TEST

/* It survives dying anywhere, with the same state. */
START_TEST(loops_survive_deaths)
{
    uint32_t seed = (uint32_t)_i;

    begin(search);
    admit("{}");
    run_dying(&seed, 4);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("search", 3);
    assert_value("artifacts", "report", "{\"all\":[1,2,3]}");
    end();
}
END_TEST

static const char parallel[] =
    HEAD "start: top\n"
         "state: {reducers: {scratch.log: concat}}\n"
         "nodes:\n"
         "  top: {type: tool, tool: t/read, output_as: null,\n"
         "        outputs: {scratch.log: \"['top']\"}, next: [l, r]}\n"
         "  l: {type: tool, tool: t/read, output_as: null,\n"
         "      outputs: {scratch.log: \"['l']\"},\n"
         "      routes: [{when: node.visit < 2, to: top}], default: out}\n"
         "  r: {type: tool, tool: t/read, output_as: null,\n"
         "      outputs: {scratch.log: \"['r']\"},\n"
         "      routes: [{when: \"false\", to: top}], default: END}\n"
         "  out: {type: tool, tool: t/echo, output_as: log,\n"
         "        args: {log: \"${scratch.log}\"}, next: END}\n";

/* A back edge fires when nothing of the body is live: an implicit join. */
START_TEST(a_round_waits_for_all_of_the_last)
{
    begin(parallel);
    admit("{}");
    finish("top");
    finish("l");
    ck_assert(!is_out("top"));
    ck_assert(is_out("r"));
    finish("r");
    ck_assert(is_out("top"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("1.0/top#2", "after", "[\"1.0/r#1\",\"1.0/l#1\"]");
    end();
}
END_TEST

/* A round after one of whose failure its join listed, and an update behind both: the
 * failure is no part of what the next round came after. */
START_TEST(an_update_behind_a_failed_round)
{
    run_plain(HEAD
              "start: a\nnodes:\n"
              "  a: {type: pass, next: [w, v]}\n"
              "  w: {type: pass, value: \"${1 / 0}\", next: j}\n"
              "  v: {type: pass, next: j}\n"
              "  j: {type: pass, on_branch_error: collect, routes: [{when: "
              "node.visit < 3, to: a}], default: q}\n"
              "  q: {type: human, prompt: p}\n",
              "{}");
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_int_eq(update("{\"scratch\": {\"x\": 1}}"), MORTISE_OK);
    sim_let_go(&s, "q");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("scratch", "x", "1");
    end();
}
END_TEST

/* A round of which nothing committed comes after what the round came after. */
START_TEST(a_round_of_failures)
{
    run_plain(HEAD
              "start: s\nstate: {reducers: {scratch.log: concat}}\nnodes:\n"
              "  s: {type: pass, outputs: {scratch.log: \"['s']\"}, next: a}\n"
              "  a: {type: pass, value: \"${node.visit < 3 ? 1 / 0 : "
              "size(scratch.log)}\", on_error: {goto: a}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("a", 3);
    assert_value("artifacts", "a", "1");
    end();
}
END_TEST

/* An exit leads on while its visit is still at work. */
START_TEST(a_taken_exit_does_not_wait)
{
    begin(parallel);
    admit("{}");
    finish("top");
    finish("r");
    finish("l");
    finish("top");
    finish("l");
    ck_assert(is_out("out"));
    ck_assert(is_out("r"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("scratch", "log", "[\"top\",\"l\",\"r\",\"top\",\"l\",\"r\"]");
    end();
}
END_TEST

static const char nested[] =
    HEAD "start: outer\n"
         "state: {reducers: {scratch.log: concat}}\n"
         "nodes:\n"
         "  outer: {type: tool, tool: t/read, output_as: null, next: inner}\n"
         "  inner: {type: tool, tool: t/read, output_as: null,\n"
         "          args: {v: \"${node.visit}\"},\n"
         "          outputs: {scratch.log: \"[output.v]\"},\n"
         "          routes: [{when: node.visit % 2 == 1, to: inner}],\n"
         "          default: again}\n"
         "  again: {type: router,\n"
         "          routes: [{when: node.visit < 3, to: outer}],\n"
         "          default: END}\n";

/* A loop in a loop: visits are counted over all rounds of both. */
START_TEST(visits_go_on_from_round_to_round)
{
    run_plain(nested, "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("outer", 3);
    assert_runs("inner", 6);
    assert_runs("again", 3);
    assert_value("scratch", "log", "[1,2,3,4,5,6]");
    end();
}
END_TEST

/* A loop that is skipped is skipped with all that it leads to. */
START_TEST(a_skipped_loop)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: router, default: z,\n"
                   "      routes: [{when: \"false\", to: x}]}\n"
                   "  x: {type: tool, tool: t/read, next: y}\n"
                   "  y: {type: router, default: tail,\n"
                   "      routes: [{when: \"true\", to: x}]}\n"
                   "  tail: {type: tool, tool: t/read, next: z}\n"
                   "  z: {type: tool, tool: t/read, next: END}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("x", "skipped");
    assert_node("y", "skipped");
    assert_node("tail", "skipped");
    assert_node("z", "done");
    end();
}
END_TEST

static const char both[] = HEAD
    "start: x\n"
    "nodes:\n"
    "  x: {type: tool, tool: t/read, next: [y, z]}\n"
    "  y: {type: tool, tool: t/read,\n"
    "      routes: [{when: node.visit < 2, to: x}], default: out}\n"
    "  z: {type: tool, tool: t/read, routes: [{when: \"true\", to: out}],\n"
    "      default: END}\n"
    "  out: {type: tool, tool: t/read, next: END}\n";

/* Going on and being left in one visit is an error of the run, whatever the
 * timing; what the exit leads to comes to its end. */
START_TEST(back_and_out_at_once)
{
    uint32_t seed = (uint32_t)_i;

    begin(both);
    admit("{}");
    sim_run(&s, &seed);
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("loop");
    assert_runs("x", 1);
    assert_runs("out", 1);
    end();
}
END_TEST

static const char shaky[] =
    HEAD "start: x\n"
         "state: {reducers: {scratch.n: sum}}\n"
         "nodes:\n"
         "  x: {type: tool, tool: t/read, outputs: {scratch.n: \"1\"},\n"
         "      next: y}\n"
         "  y: {type: tool, tool: t/fail, args: {code: no, times: \"${\n"
         "      scratch.n == 2 && !has(scratch.mended) ? 9 : 0}\"},\n"
         "      routes: [{when: scratch.n < 3, to: x}], default: z}\n"
         "  z: {type: tool, tool: t/read, next: END}\n";

/* A failure inside ends the loop and what it leads to; `resume` goes on in the
 * visit that failed. */
START_TEST(a_failed_visit_is_tried_again)
{
    run_plain(shaky, "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_runs("y", 2);
    assert_node("z", "skipped");
    ck_assert_int_eq(update("{\"scratch\": {\"n\": 2, \"mended\": true}}"),
                     MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("x", 3);
    assert_node("z", "done");
    end();
}
END_TEST

/* ... also where none of its exits says so: each was taken before, or leads to
 * a join that collects, while another way out of the failure ended inside. */
START_TEST(a_failed_visit_that_was_left_is_tried_again)
{
    static const char *const exits[] = {
        "  - {from: x, to: z}\n",
        "  - {from: y, to: z}\n  - {from: START, to: z}\n"
        "  - {from: y, to: END, when: 'true'}\n",
    };
    char yaml[1024];

    snprintf(yaml, sizeof yaml,
             HEAD "nodes:\n"
                  "  x: {type: tool, tool: t/read}\n"
                  "  y: {type: tool, tool: t/fail, args: {code: no, times:\n"
                  "      \"${has(scratch.mended) ? 0 : 9}\"}}\n"
                  "  z: {type: tool, tool: t/read, on_branch_error: collect}\n"
                  "edges:\n"
                  "  - {from: START, to: x}\n"
                  "  - {from: x, to: y}\n"
                  "  - {from: y, to: x, when: node.visit > 1}\n%s",
             exits[_i]);
    run_plain(yaml, "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node("z", "done");
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("no");
    assert_record("y", "generation", "2");
    ck_assert_int_eq(update("{\"scratch\": {\"mended\": true}}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("x", 1);
    assert_runs("z", 1);
    end();
}
END_TEST

/* goto into a loop starts its next visit. */
START_TEST(jumping_into_a_loop)
{
    run_plain(search, "{}");
    ck_assert_int_eq(jump("judge"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("search", 3);
    assert_runs("judge", 4);
    assert_runs("report", 2);
    ck_assert_int_eq(jump("search"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("search", 4);
    assert_value("artifacts", "report", "{\"all\":[1,2,3,4]}");
    end();
}
END_TEST

/* ---- limits ------------------------------------------------------------ */

static int raise(const char *json)
{
    return do_command(
        (struct mortise_command){.kind = MORTISE_CMD_LIMIT, .json = json});
}

static void assert_limit(const char *name, json_int_t value, const char *node)
{
    json_t *show = sim_show(&s), *limit = json_object_get(show, "limit");

    ck_assert_str_eq(json_string_value(json_object_get(show, "reason")),
                     "limit");
    ck_assert_str_eq(json_string_value(json_object_get(limit, "limit")), name);
    ck_assert_int_eq(json_integer_value(json_object_get(limit, "value")),
                     value);
    ck_assert_str_eq(json_string_value(json_object_get(limit, "node")), node);
    ck_assert_ptr_nonnull(json_object_get(limit, "command"));
    json_decref(show);
}

/* A loop without end is paused by its visits, and goes on with more.
 * key: limits.visits */
START_TEST(visits_pause)
{
    run_plain(HEAD "start: x\n"
                   "limits: {visits: 3}\n"
                   "nodes:\n"
                   "  x: {type: tool, tool: t/read, routes:\n"
                   "      [{when: node.visit < 5, to: x}], default: END}\n",
              "{}");
    assert_status(MORTISE_RUN_PAUSED);
    assert_limit("visits", 3, "x");
    ck_assert(mortise_run_is_idle(s.run));
    ck_assert_int_eq(raise("{\"visits\": 3}"), MORTISE_EINVAL);
    ck_assert_int_eq(raise("{\"visits\": 4}"), MORTISE_OK);
    assert_status(MORTISE_RUN_PAUSED);
    assert_limit("visits", 4, "x");
    ck_assert_int_eq(raise("{\"visits\": 40}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("x", 5);
    end();
}
END_TEST

/* A node's own bound is one of visits, too.
 * key: node.max_visits */
START_TEST(max_visits_pauses)
{
    run_plain(HEAD "start: x\n"
                   "nodes:\n"
                   "  x: {type: tool, tool: t/read, max_visits: 2, routes:\n"
                   "      [{when: node.visit < 5, to: x}], default: END}\n",
              "{}");
    assert_status(MORTISE_RUN_PAUSED);
    assert_limit("visits", 2, "x");
    ck_assert_int_eq(raise("{\"visits\": 5}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* Steps: what runs comes to its end, nothing else starts; dying changes
 * nothing of it.
 * key: graph.limits, limits.steps */
START_TEST(steps_pause)
{
    uint32_t seed = 1;

    run_plain(HEAD "start: [a, b, c]\n"
                   "limits: {steps: 4}\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/read, next: d}\n"
                   "  b: {type: tool, tool: t/read, next: d}\n"
                   "  c: {type: tool, tool: t/read, next: e}\n"
                   "  d: {type: tool, tool: t/read, next: END}\n"
                   "  e: {type: tool, tool: t/read, next: END}\n",
              "{}");
    assert_status(MORTISE_RUN_PAUSED);
    assert_node("d", "done");
    assert_node("e", "pending");
    assert_limit("steps", 4, "e");
    sim_crash(&s, &seed);
    assert_status(MORTISE_RUN_PAUSED);
    assert_limit("steps", 4, "e");
    sim_recover(&s);
    sim_run_plain(&s);
    assert_limit("steps", 4, "e");
    ck_assert_int_eq(raise("{\"steps\": 5}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* A step that lost a race and recorded nothing does not count, as after a crash. */
START_TEST(a_loser_is_no_step)
{
    uint32_t seed = 1;

    begin(HEAD "start: [a, b]\n"
               "limits: {steps: 3}\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: j}\n"
               "  b: {type: tool, tool: t/read, next: j}\n"
               "  j: {type: tool, tool: t/read, join: any, next: k}\n"
               "  k: {type: tool, tool: t/read, next: END}\n");
    admit("{}");
    ck_assert(sim_end_call(&s, 1));
    sync_all();
    if (_i == 1) {
        sim_crash(&s, &seed);
        sim_recover(&s);
    }
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* An execution that a limit let start may be tried again. */
START_TEST(retries_are_no_steps)
{
    run_plain(HEAD "start: a\n"
                   "limits: {steps: 1}\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/fail, next: END,\n"
                   "      args: {times: 2, class: transient},\n"
                   "      retry_policy: {max_attempts: 3, delay: 1s}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

static const char *const wrong_limits[] = {
    "{}",
    "[]",
    "3",
    "{\"steps\": 0}",
    "{\"steps\": 256}",
    "{\"steps\": \"many\"}",
    "{\"depth\": 9}",
    "{\"steps\": 300, \"visits\": 1}",
    "{\"steps\": 99999999999}",
};

/* What no limit is, or is none that is greater, is refused; nothing is
 * recorded. */
START_TEST(limits_are_checked)
{
    size_t commits;

    run_plain(HEAD "start: a\n"
                   "interrupt_before: [a]\n"
                   "nodes: {a: {type: tool, tool: t/read, next: END}}\n",
              "{}");
    commits = s.n_commits;
    ck_assert_int_eq(raise(wrong_limits[_i]), MORTISE_EINVAL);
    ck_assert_int_eq(raise(NULL), MORTISE_EINVAL);
    ck_assert_uint_eq(s.n_commits, commits);
    ck_assert_int_eq(raise("{\"steps\": 257, \"visits\": 33}"), MORTISE_OK);
    ck_assert_int_eq(raise("{\"steps\": 257}"), MORTISE_EINVAL);
    end();
}
END_TEST

/* A run that is over has no limit. */
START_TEST(limits_of_what_is_over)
{
    run_plain(HEAD "start: a\n"
                   "nodes: {a: {type: tool, tool: t/read, next: END}}\n",
              "{}");
    ck_assert_int_eq(raise("{\"steps\": 300}"), MORTISE_ESTATE);
    end();
}
END_TEST

static const char timed[] = HEAD "start: a\n"
                                 "limits: {timeout: 10s}\n"
                                 "nodes:\n"
                                 "  a: {type: tool, tool: t/read, next: h}\n"
                                 "  h: {type: human, prompt: well?, next: b}\n"
                                 "  b: {type: tool, tool: t/read, next: c}\n"
                                 "  c: {type: tool, tool: t/read, next: END}\n";

static void say_yes(void)
{
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                         .id = sim_request(&s, "h"),
                                         .json = "{\"approved\": true}"},
                0),
        MORTISE_OK);
    sync_all();
}

/* Active time counts, waiting for a person does not; a run that is out of it
 * stops what is in flight, and fails.  A resume gives it as much again.
 * key: limits.timeout */
START_TEST(active_time_is_bounded)
{
    begin(timed);
    admit("{}");
    sync_all();
    s.now_ms += 4000;
    finish("a");
    ck_assert_uint_eq(s.n_timers, 0);
    s.now_ms += 86400000;
    say_yes();
    ck_assert_uint_eq(s.n_timers, 1);
    ck_assert_uint_eq(s.timers[0].at_ms, s.now_ms + 6000);
    sim_fire_timer(&s, 0);
    ck_assert(s.calls[call_of("b")].cancelled);
    finish("b");
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("timeout");
    assert_node("b", "skipped");
    assert_node("c", "skipped");
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("b", "generation", "2");
    end();
}
END_TEST

/* What was used of it is on disk. */
START_TEST(active_time_survives_a_death)
{
    uint32_t seed = 1;

    begin(timed);
    admit("{}");
    sync_all();
    s.now_ms += 4000;
    finish("a");
    sim_crash(&s, &seed);
    sim_recover(&s);
    say_yes();
    ck_assert_uint_eq(s.timers[0].at_ms, s.now_ms + 6000);
    sim_fire_timer(&s, 0);
    finish("b");
    assert_status(MORTISE_RUN_FAILED);
    sim_crash(&s, &seed);
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("timeout");
    end();
}
END_TEST

static Suite *loops(void)
{
    Suite *suite = suite_create("loops");
    TCase *tc = tcase_create("loops");

    tcase_add_test(tc, three_rounds_and_stop);
    tcase_add_loop_test(tc, loops_survive_deaths, 0, 60);
    tcase_add_test(tc, a_round_waits_for_all_of_the_last);
    tcase_add_test(tc, an_update_behind_a_failed_round);
    tcase_add_test(tc, a_round_of_failures);
    tcase_add_test(tc, a_taken_exit_does_not_wait);
    tcase_add_test(tc, visits_go_on_from_round_to_round);
    tcase_add_test(tc, a_skipped_loop);
    tcase_add_loop_test(tc, back_and_out_at_once, 0, 20);
    tcase_add_test(tc, a_failed_visit_is_tried_again);
    tcase_add_loop_test(tc, a_failed_visit_that_was_left_is_tried_again, 0, 2);
    tcase_add_test(tc, jumping_into_a_loop);
    suite_add_tcase(suite, tc);
    tc = tcase_create("limits");
    tcase_add_test(tc, visits_pause);
    tcase_add_test(tc, max_visits_pauses);
    tcase_add_test(tc, steps_pause);
    tcase_add_loop_test(tc, a_loser_is_no_step, 0, 2);
    tcase_add_test(tc, retries_are_no_steps);
    tcase_add_loop_test(tc, limits_are_checked, 0,
                        sizeof wrong_limits / sizeof wrong_limits[0]);
    tcase_add_test(tc, limits_of_what_is_over);
    tcase_add_test(tc, active_time_is_bounded);
    tcase_add_test(tc, active_time_survives_a_death);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(loops());
}
