/* test_pause.c -- a run that was told to stand still: what it lets go of, what
 * it waits for, and that nothing but a person's word sets it going again. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/sim.h"
#include "lib/test.h"

#define HEAD                                                                   \
    "apiVersion: mortise/v1\nkind: Graph\nmetadata: {name: g, version: "       \
    "1.0.0}\n"

static struct sim s;
static struct mortise_err err;

static void begin(const char *yaml)
{
    int rv;

    sim_init(&s, sim_graph(yaml));
    rv = sim_admit(&s, "{}", &err);
    ck_assert_msg(rv == MORTISE_OK, "%s", err.msg);
}

static void sync_all(void)
{
    while (sim_sync_one(&s))
        ;
}

static int give(struct mortise_command c, uint32_t flags)
{
    return sim_command(&s, &c, 1, flags, "ann", &err);
}

static int order(uint32_t kind)
{
    return give((struct mortise_command){.kind = kind}, 0);
}

static void assert_stands(int status, const char *reason)
{
    ck_assert_str_eq(mortise_run_status_name(mortise_run_status(s.run)),
                     mortise_run_status_name(status));
    ck_assert_str_eq(mortise_run_reason(s.run), reason);
}

/* It is paused, on disk, and will do nothing by itself. */
static void assert_paused(const char *reason)
{
    assert_stands(MORTISE_RUN_PAUSED, reason);
    ck_assert(mortise_run_is_idle(s.run));
    ck_assert_uint_eq(s.n_calls, 0);
    ck_assert_uint_eq(s.n_timers, 0);
    ck_assert_int_eq(s.commits[s.n_synced - 1].status, MORTISE_RUN_PAUSED);
}

static void go_on(void)
{
    ck_assert_msg(order(MORTISE_CMD_RESUME) == MORTISE_OK, "%s", err.msg);
    sim_run_plain(&s);
    assert_stands(MORTISE_RUN_COMPLETED, "");
}

static void end(void)
{
    sim_finish(&s);
}

#define CHAIN                                                                  \
    HEAD "start: a\n"                                                          \
         "nodes:\n"                                                            \
         "  a: {type: tool, tool: t/%s, next: b}\n"                            \
         "  b: {type: tool, tool: t/echo}\n"

static void begin_chain(const char *op)
{
    char yaml[sizeof CHAIN + 16];

    snprintf(yaml, sizeof yaml, CHAIN, op);
    begin(yaml);
    sync_all();
    ck_assert_uint_eq(s.n_calls, 1);
}

/* A call that only reads is cancelled, its node runs anew after the resume,
 * and the record says who paused it and why. */
START_TEST(reads_are_let_go)
{
    json_t *event;

    begin_chain("read");
    ck_assert_int_eq(give((struct mortise_command){.kind = MORTISE_CMD_PAUSE,
                                                   .reason = "lunch"},
                          0),
                     MORTISE_OK);
    ck_assert(s.calls[0].cancelled);
    assert_stands(MORTISE_RUN_RUNNING, "");
    sim_run_plain(&s);
    ck_assert_int_eq(s.applied, MORTISE_OK);
    assert_paused("operator");
    ck_assert(!sim_saw(&s, "node_end", "a"));
    event = json_array_get(s.published, json_array_size(s.published) - 1);
    ck_assert_str_eq(json_string_value(json_object_get(event, "command")),
                     "pause");
    ck_assert_str_eq(json_string_value(json_object_get(event, "actor")), "ann");
    ck_assert_str_eq(json_string_value(json_object_get(event, "reason")),
                     "lunch");
    go_on();
    ck_assert(sim_saw(&s, "node_end", "b"));
    end();
}
END_TEST

/* An effect in flight is awaited, counts, and is not done again; what would
 * follow it waits. */
START_TEST(writes_are_awaited)
{
    begin_chain("write");
    ck_assert_int_eq(order(MORTISE_CMD_PAUSE), MORTISE_OK);
    ck_assert(!s.calls[0].cancelled);
    ck_assert(sim_end_call(&s, 0));
    sync_all();
    assert_paused("operator");
    ck_assert(sim_saw(&s, "node_end", "a"));
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    go_on();
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* ... for as long as patience lasts, and no longer. */
START_TEST(patience_ends)
{
    begin_chain("idem");
    ck_assert_int_eq(order(MORTISE_CMD_PAUSE), MORTISE_OK);
    ck_assert_uint_eq(s.n_timers, 1);
    ck_assert_uint_eq(s.timers[0].at_ms, s.now_ms + SIM_PATIENCE_MS);
    ck_assert(sim_fire_timer(&s, 0));
    ck_assert(s.calls[0].cancelled);
    sim_run_plain(&s);
    assert_paused("operator");
    go_on();
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* One that lets go then and says no more than that is in doubt: a person is
 * asked at once, and is told why, also after the process ended. */
START_TEST(what_let_go_is_in_doubt)
{
    uint32_t seed = 1;
    json_t *pending, *one = NULL;
    const char *id;

    begin(HEAD "start: a\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/acts, args: {asks: [{method: e, kind: "
               "read, body: {n: 1}}]}}\n");
    sync_all();
    ck_assert_int_eq(order(MORTISE_CMD_PAUSE), MORTISE_OK);
    ck_assert(sim_fire_timer(&s, 0));
    ck_assert(s.calls[0].cancelled);
    sim_run_plain(&s);
    assert_paused("operator");
    for (int again = 0; again < 2; again++) {
        ck_assert_uint_eq(json_object_size(s.pending), 1);
        json_object_foreach(s.pending, id, pending)
        {
            one = pending;
        }
        ck_assert_str_eq(json_string_value(json_object_get(one, "kind")),
                         "in_doubt");
        ck_assert_str_eq(json_string_value(json_object_get(one, "cause")),
                         "the run was paused: the call was cancelled and did "
                         "not report whether its effect happened");
        sim_crash(&s, &seed);
    }
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    end();
}
END_TEST

/* A node's own timeout that comes first is its timeout, and no pause's. */
START_TEST(a_timeout_before_that_is_a_timeout)
{
    begin(HEAD "start: a\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/idem, timeout: 2s, on_error: {goto: "
               "b}}\n"
               "  b: {type: tool, tool: t/echo}\n");
    sync_all();
    ck_assert_int_eq(order(MORTISE_CMD_PAUSE), MORTISE_OK);
    ck_assert_uint_eq(s.n_timers, 1);
    ck_assert_uint_eq(s.timers[0].at_ms, s.now_ms + 2000);
    ck_assert(sim_fire_timer(&s, 0));
    sim_run_plain(&s);
    assert_paused("operator");
    ck_assert(sim_saw(&s, "node_failed", "a"));
    go_on();
    ck_assert(sim_saw(&s, "node_end", "b"));
    end();
}
END_TEST

/* An effect that was intended and not begun does not begin. */
START_TEST(an_intent_is_not_carried_out)
{
    begin(HEAD "start: a\nnodes: {a: {type: tool, tool: t/write}}\n");
    ck_assert_int_eq(order(MORTISE_CMD_PAUSE), MORTISE_OK);
    sim_run_plain(&s);
    assert_paused("operator");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    go_on();
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* A paused run that is loaded again, and told to recover, stays as it is. */
START_TEST(a_crash_does_not_set_it_going)
{
    uint32_t seed = 1;

    begin_chain("read");
    ck_assert_int_eq(order(MORTISE_CMD_PAUSE), MORTISE_OK);
    sim_run_plain(&s);
    sim_crash(&s, &seed);
    assert_stands(MORTISE_RUN_PAUSED, "operator");
    sim_recover(&s);
    assert_paused("operator");
    go_on();
    end();
}
END_TEST

/* The wait before a retry does not end a pause, and goes on after it. */
START_TEST(retries_wait)
{
    begin(HEAD "start: a\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/fail, args: {times: 1, class: "
               "transient}, retry_policy: {max_attempts: 2, delay: 5s}}\n");
    sync_all();
    ck_assert(sim_end_call(&s, 0));
    sync_all();
    ck_assert_uint_eq(s.n_timers, 1);
    ck_assert_int_eq(order(MORTISE_CMD_PAUSE), MORTISE_OK);
    sync_all();
    assert_paused("operator");
    go_on();
    end();
}
END_TEST

/* Questions stay, can be answered, and the run still stands. */
START_TEST(an_answer_is_recorded_and_waits)
{
    begin(HEAD "start: h\n"
               "nodes:\n"
               "  h: {type: human, prompt: hm?, wait: 1h, next: a}\n"
               "  a: {type: tool, tool: t/echo}\n");
    sim_run_plain(&s);
    end();
    begin(HEAD "start: h\n"
               "nodes:\n"
               "  h: {type: human, prompt: hm?, wait: 1h, next: a}\n"
               "  a: {type: tool, tool: t/echo}\n");
    sync_all();
    ck_assert_int_eq(order(MORTISE_CMD_PAUSE), MORTISE_OK);
    sync_all();
    assert_paused("operator");
    ck_assert_uint_eq(json_object_size(s.pending), 1);
    ck_assert_int_eq(
        give((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                      .id = sim_request(&s, "h"),
                                      .json = "{\"approved\": true}"},
             0),
        MORTISE_OK);
    sim_run_plain(&s);
    assert_paused("operator");
    ck_assert(sim_saw(&s, "node_end", "h"));
    ck_assert(!sim_saw(&s, "node_start", "a"));
    go_on();
    end();
}
END_TEST

/* `update` and `goto` that go on do end the pause; with NO_CONTINUE they do
 * not. */
START_TEST(moving_it_ends_the_pause)
{
    const struct mortise_command jump = {.kind = MORTISE_CMD_GOTO, .node = "b"};
    uint32_t seed = 1;

    begin_chain("read");
    ck_assert_int_eq(order(MORTISE_CMD_PAUSE), MORTISE_OK);
    sim_run_plain(&s);
    ck_assert_int_eq(give(jump, MORTISE_NO_CONTINUE), MORTISE_OK);
    sim_run_plain(&s);
    assert_paused("operator");
    ck_assert_int_eq(give(jump, 0), MORTISE_OK);
    sync_all();
    assert_stands(MORTISE_RUN_RUNNING, "");
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_stands(MORTISE_RUN_COMPLETED, "");
    end();
}
END_TEST

/* What an engine paused as it stopped says so; that an engine stops does not
 * undo what a person said, but a person may make it theirs. */
START_TEST(a_shutdown_is_no_operator)
{
    const struct mortise_command shutdown = {.kind = MORTISE_CMD_PAUSE,
                                             .flags = MORTISE_CMD_SHUTDOWN};

    begin_chain("read");
    ck_assert_int_eq(give(shutdown, 0), MORTISE_OK);
    sim_run_plain(&s);
    assert_paused("shutdown");
    ck_assert_int_eq(order(MORTISE_CMD_PAUSE), MORTISE_OK);
    sim_run_plain(&s);
    assert_paused("operator");
    ck_assert_int_eq(give(shutdown, 0), MORTISE_OK);
    sim_run_plain(&s);
    assert_paused("operator");
    go_on();
    end();
}
END_TEST

/* The next engine goes on with it, also after a crash, and that is recorded. */
START_TEST(an_engine_ends_a_shutdown)
{
    uint32_t seed = 1;

    begin_chain("read");
    ck_assert_int_eq(
        give((struct mortise_command){.kind = MORTISE_CMD_PAUSE,
                                      .flags = MORTISE_CMD_SHUTDOWN},
             0),
        MORTISE_OK);
    sim_run_plain(&s);
    sim_crash(&s, &seed);
    sim_recover(&s);
    assert_stands(MORTISE_RUN_RUNNING, "");
    sync_all();
    sim_crash(&s, &seed);
    assert_stands(MORTISE_RUN_RUNNING, ""); /* so it was left */
    sim_recover(&s);
    sim_run_plain(&s);
    assert_stands(MORTISE_RUN_COMPLETED, "");
    end();
}
END_TEST

/* Twice is once; with a resume it is nonsense; a finished run is not paused;
 * a paused one can be cancelled. */
START_TEST(beside_other_commands)
{
    const struct mortise_command both[] = {{.kind = MORTISE_CMD_PAUSE},
                                           {.kind = MORTISE_CMD_RESUME}};
    size_t n;

    begin_chain("read");
    ck_assert_int_eq(sim_command(&s, both, 2, 0, "ann", &err), MORTISE_EINVAL);
    ck_assert_int_eq(order(MORTISE_CMD_PAUSE), MORTISE_OK);
    ck_assert_int_eq(order(MORTISE_CMD_PAUSE), MORTISE_ECONFLICT);
    sim_run_plain(&s);
    n = s.n_commits;
    ck_assert_int_eq(order(MORTISE_CMD_PAUSE), MORTISE_OK);
    ck_assert_int_eq(s.applied, MORTISE_OK);
    ck_assert_uint_eq(s.n_commits, n);
    ck_assert_int_eq(order(MORTISE_CMD_CANCEL), MORTISE_OK);
    sim_run_plain(&s);
    assert_stands(MORTISE_RUN_CANCELLED, "");
    ck_assert_int_eq(order(MORTISE_CMD_PAUSE), MORTISE_ESTATE);
    assert_stands(MORTISE_RUN_CANCELLED, "");
    end();
}
END_TEST

/* Pauses and crashes anywhere change nothing of what comes out, and no effect
 * happens twice. */
START_TEST(whenever_it_comes)
{
    static const char yaml[] =
        HEAD "start: [a, c]\n"
             "nodes:\n"
             "  a: {type: tool, tool: t/idem, args: {n: 1}, outputs: "
             "{scratch.a: output.n}, next: b}\n"
             "  b: {type: tool, tool: t/rec, args: {n: \"${scratch.a}\"}}\n"
             "  c: {type: tool, tool: t/read, args: {n: 3}}\n";
    static const char want[] =
        "{\"artifacts\":{\"a\":{\"n\":1},\"b\":{\"n\":1},\"c\":{\"n\":3}},"
        "\"input\":{},\"scratch\":{\"a\":1}}";
    uint32_t seed = (uint32_t)_i + 1;
    char *state;

    begin(yaml);
    for (int i = 0; i < 40; i++) {
        uint32_t what = sim_random(&seed) % 8;

        if (what < 3)
            sim_sync_one(&s);
        else if (what < 5 && s.n_calls > 0)
            sim_end_call(&s, sim_random(&seed) % s.n_calls);
        else if (what == 5 && s.n_timers > 0)
            sim_fire_timer(&s, sim_random(&seed) % s.n_timers);
        else if (what == 6)
            order(sim_random(&seed) % 2 ? MORTISE_CMD_PAUSE
                                        : MORTISE_CMD_RESUME);
        else if (what == 7 && s.n_synced > 0 && sim_random(&seed) % 2) {
            sim_crash(&s, &seed);
            sim_recover(&s);
        }
    }
    sim_run_plain(&s);
    if (mortise_run_status(s.run) == MORTISE_RUN_PAUSED)
        order(MORTISE_CMD_RESUME);
    sim_run_plain(&s);
    assert_stands(MORTISE_RUN_COMPLETED, "");
    state = sim_state(&s);
    ck_assert_str_eq(state, want);
    free(state);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    ck_assert_int_eq(sim_effect_count(&s, "b"), 1);
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("pause");
    TCase *tc = tcase_create("pause");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, reads_are_let_go);
    tcase_add_test(tc, writes_are_awaited);
    tcase_add_test(tc, patience_ends);
    tcase_add_test(tc, what_let_go_is_in_doubt);
    tcase_add_test(tc, a_timeout_before_that_is_a_timeout);
    tcase_add_test(tc, an_intent_is_not_carried_out);
    tcase_add_test(tc, a_crash_does_not_set_it_going);
    tcase_add_test(tc, retries_wait);
    tcase_add_test(tc, an_answer_is_recorded_and_waits);
    tcase_add_test(tc, moving_it_ends_the_pause);
    tcase_add_test(tc, a_shutdown_is_no_operator);
    tcase_add_test(tc, an_engine_ends_a_shutdown);
    tcase_add_test(tc, beside_other_commands);
    tcase_add_loop_test(tc, whenever_it_comes, 0, 500);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
