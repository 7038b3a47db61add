/* test_run_cache.c -- `cache: true`: what the step function asks, what it keeps,
 * and what is recorded of it.  test_cache.c has the rest of the way. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/sim.h"
#include "lib/test.h"

static struct sim s;

static void begin(void)
{
    test_begin();
}

static void end(void)
{
    test_nothing_left();
}

static void admit(const char *rest)
{
    struct mortise_err err;
    char text[4096];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\n%s",
             rest);
    sim_init(&s, sim_graph(text));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
}

static const struct mortise_run_call *the_call(void)
{
    ck_assert_uint_eq(s.n_calls, 1);
    return &s.calls[0].call;
}

static void expect(const char *node, enum mortise_run_call_kind kind)
{
    ck_assert_str_eq(the_call()->node->id, node);
    ck_assert_int_eq(the_call()->kind, kind);
}

static void end_one(void)
{
    ck_assert(sim_end_call(&s, 0));
    while (sim_sync_one(&s))
        continue;
}

/* How many results did all commits keep? */
static size_t kept(void)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n_commits; i++)
        n += json_object_size(s.commits[i].cached);
    return n;
}

static json_t *record_of(json_t *show, const char *node)
{
    json_t *one;
    size_t i;

    json_array_foreach(json_object_get(show, "nodes"), i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "node")), node) == 0)
            return one;
    }
    return NULL;
}

static bool is_cached(const char *node)
{
    json_t *show = sim_show(&s);
    bool is = json_is_true(json_object_get(record_of(show, node), "cached"));

    json_decref(show);
    return is;
}

static void done(int status)
{
    sim_run_plain(&s);
    ck_assert_int_eq(mortise_run_status(s.run), status);
    sim_finish(&s);
}

static const char twice[] =
    "start: a\n"
    "nodes:\n"
    "  a: {type: tool, tool: t/echo, args: {v: 1}, cache: true, next: b}\n"
    "  b: {type: tool, tool: t/echo, args: {v: 1}, cache: true, next: END}\n";

/* It is looked up, called when there is nothing, kept with the commit of its
 * end, and not called the next time; the record and the event say so.
 * key: tool.cache */
START_TEST(the_second_is_not_called)
{
    size_t commits;
    bool told = false;
    json_t *event;
    size_t i;

    admit(twice);
    while (sim_sync_one(&s))
        continue;
    expect("a", MORTISE_RUN_LOOKUP);
    end_one();
    expect("a", MORTISE_RUN_EXECUTE);
    commits = s.n_commits;
    end_one();
    ck_assert_uint_eq(s.n_commits, commits + 1);
    ck_assert_uint_eq(json_object_size(s.commits[commits].cached), 1);
    expect("b", MORTISE_RUN_LOOKUP);
    end_one();
    ck_assert_uint_eq(s.n_calls, 0);
    ck_assert_uint_eq(kept(), 1);
    ck_assert(!is_cached("a"));
    ck_assert(is_cached("b"));
    json_array_foreach(s.published, i, event)
    {
        if (strcmp(json_string_value(json_object_get(event, "type")),
                   "node_end") == 0)
            ck_assert_int_eq(
                json_is_true(json_object_get(event, "cached")),
                strcmp(json_string_value(json_object_get(event, "node")),
                       "b") == 0);
        told |= json_object_get(event, "cached") != NULL;
    }
    ck_assert(told);
    ck_assert(sim_saw(&s, "node_start", "a"));
    ck_assert(!sim_saw(&s, "node_start", "b"));
    done(MORTISE_RUN_COMPLETED);
}
END_TEST

/* A node that does not say so is never looked up. */
START_TEST(who_does_not_say_so_is_called)
{
    admit("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: t/echo, args: {v: 1}, cache: false,"
          " next: END}\n");
    while (sim_sync_one(&s))
        continue;
    expect("a", MORTISE_RUN_EXECUTE);
    end_one();
    ck_assert_uint_eq(kept(), 0);
    done(MORTISE_RUN_COMPLETED);
}
END_TEST

/* A crash at any point comes to the same, and what was recorded as found is
 * found no more and needs no cache. */
START_TEST(a_crash_changes_nothing)
{
    char *state = NULL, *plain;

    for (unsigned at = 1; at < 12; at++) {
        uint32_t seed = at;

        admit(twice);
        for (unsigned i = 0; i < at; i++) {
            if (!sim_sync_one(&s))
                sim_end_call(&s, 0);
        }
        sim_crash(&s, &seed);
        sim_recover(&s);
        sim_run_plain(&s);
        plain = sim_state(&s);
        ck_assert(state == NULL || strcmp(state, plain) == 0);
        free(state);
        state = plain;
        ck_assert_uint_ge(kept(), 1);
        ck_assert(is_cached("b"));
        done(MORTISE_RUN_COMPLETED);
    }
    free(state);
}
END_TEST

/* What says more than its output, or asks, is not kept: nobody would hear the
 * rest of it. */
START_TEST(only_plain_successes_are_kept)
{
    static const char *const args[] = {
        "{update: {scratch: {x: 1}}}",
        "{goto: END}",
        "{asks: [{method: m, kind: read, body: {}}]}",
        "{times: 5, v: 1}",
    };

    for (size_t i = 0; i < sizeof args / sizeof args[0]; i++) {
        char text[512];

        snprintf(text, sizeof text,
                 "start: a\n"
                 "nodes:\n"
                 "  a: {type: tool, tool: t/%s, args: %s, cache: true,"
                 " targets: [END], next: END, on_error: {value: '1'}}\n",
                 i == 3 ? "fail" : "echo", args[i]);
        admit(text);
        sim_run_plain(&s);
        ck_assert_uint_eq(kept(), 0);
        done(MORTISE_RUN_COMPLETED);
    }
}
END_TEST

/* What schemas and guardrails refuse is not kept; what they changed is kept as
 * it was, and seen by them each time. */
START_TEST(guardrails_see_it_each_time)
{
    admit(
        "start: a\n"
        "nodes:\n"
        "  a: {type: tool, tool: t/echo, args: {bad: 1, v: 1}, cache: true,"
        " next: b, guardrail_policy: {output: [bad], on_violation: sanitize}}\n"
        "  b: {type: tool, tool: t/echo, args: {bad: 1, v: 1}, cache: true,"
        " next: c}\n"
        "  c: {type: tool, tool: t/echo, args: {bad: 1, v: 1}, cache: true,"
        " next: d, guardrail_policy: {output: [bad], on_violation: block},"
        " on_error: {value: '7'}}\n"
        "  d: {type: tool, tool: t/echo, args: {w: 1}, cache: true,"
        " output_schema: {required: [x]}, next: END,"
        " on_error: {value: '8'}}\n");
    sim_run_plain(&s);
    ck_assert_uint_eq(kept(), 1);
    ck_assert_uint_eq(s.hits, 2);
    char *state = sim_state(&s);

    ck_assert_ptr_nonnull(strstr(state,
                                 "\"a\":{\"v\":1},\"b\":{\"bad\":1,\"v\":1},"
                                 "\"c\":7,\"d\":8"));
    free(state);
    done(MORTISE_RUN_COMPLETED);
}
END_TEST

/* A result that the node's schema refuses by now fails it. */
START_TEST(a_result_is_judged_when_it_is_found)
{
    admit(
        "start: a\n"
        "nodes:\n"
        "  a: {type: tool, tool: t/echo, args: {v: 1}, cache: true, next: b}\n"
        "  b: {type: tool, tool: t/echo, args: {v: 1}, cache: true,"
        " output_schema: {required: [x]}, next: END}\n");
    sim_run_plain(&s);
    ck_assert_uint_eq(s.hits, 1);
    done(MORTISE_RUN_FAILED);
}
END_TEST

/* Found is not called: the budget's one call is enough. */
START_TEST(what_is_found_costs_nothing)
{
    char text[1024];

    snprintf(text, sizeof text,
             "budget: {tool_calls: 1, on_exceeded: fail}\n%s", twice);
    admit(text);
    sim_run_plain(&s);
    ck_assert_uint_eq(s.hits, 1);
    done(MORTISE_RUN_COMPLETED);
}
END_TEST

/* What was reserved and not called for is for a call: a pause in between does
 * not have it found, and what that gives is not kept under an older key. */
START_TEST(a_reservation_is_for_a_call)
{
    struct mortise_command pause = {.kind = MORTISE_CMD_PAUSE};
    struct mortise_command resume = {.kind = MORTISE_CMD_RESUME};
    struct mortise_err err;
    char text[1024];

    snprintf(text, sizeof text, "budget: {tool_calls: 2}\n%s", twice);
    admit(text);
    while (sim_sync_one(&s))
        continue;
    ck_assert(sim_end_call(&s, 0)); /* nothing found; reserved */
    ck_assert_int_eq(sim_command(&s, &pause, 1, 0, "p", &err), MORTISE_OK);
    while (sim_sync_one(&s))
        continue;
    ck_assert_uint_eq(s.n_calls, 0);
    ck_assert_int_eq(sim_command(&s, &resume, 1, 0, "p", &err), MORTISE_OK);
    while (sim_sync_one(&s))
        continue;
    expect("a", MORTISE_RUN_EXECUTE);
    end_one();
    ck_assert_uint_eq(kept(), 0);
    done(MORTISE_RUN_COMPLETED);
}
END_TEST

/* A pause while it is looked up leaves nothing behind: it is looked up again. */
START_TEST(a_lookup_may_be_stopped)
{
    struct mortise_command pause = {.kind = MORTISE_CMD_PAUSE};
    struct mortise_command resume = {.kind = MORTISE_CMD_RESUME};
    struct mortise_err err;

    admit(twice);
    while (sim_sync_one(&s))
        continue;
    expect("a", MORTISE_RUN_LOOKUP);
    ck_assert_int_eq(sim_command(&s, &pause, 1, 0, "p", &err), MORTISE_OK);
    end_one();
    ck_assert_int_eq(mortise_run_status(s.run), MORTISE_RUN_PAUSED);
    ck_assert_int_eq(sim_command(&s, &resume, 1, 0, "p", &err), MORTISE_OK);
    while (sim_sync_one(&s))
        continue;
    expect("a", MORTISE_RUN_LOOKUP);
    done(MORTISE_RUN_COMPLETED);
}
END_TEST

/* Each attempt looks again; an approval is asked for before, found or not. */
START_TEST(approval_comes_first)
{
    admit("hitl_mode: approve_tools\n"
          "start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: t/echo, args: {v: 1}, cache: true,"
          " next: END}\n");
    sim_let_go(&s, "START");
    ck_assert_uint_eq(s.n_calls, 0);
    ck_assert_ptr_nonnull(sim_request(&s, "a"));
    sim_finish(&s);
}
END_TEST

/* A router whose operation says where to go is kept like any. */
START_TEST(a_routers_choice_is_kept)
{
    admit("start: a\n"
          "nodes:\n"
          "  a: {type: tool, tool: t/echo, args: {}, next: r}\n"
          "  r: {type: router, operation: t/echo, args: 'b',"
          " cache: true, targets: [b]}\n"
          "  b: {type: tool, tool: t/echo, args: 'b', cache: true,"
          " next: END}\n");
    sim_run_plain(&s);
    ck_assert_uint_eq(s.hits, 1);
    ck_assert_uint_eq(kept(), 1);
    done(MORTISE_RUN_COMPLETED);
}
END_TEST

static Suite *suite(void)
{
    Suite *su = suite_create("run_cache");
    TCase *tc = tcase_create("all");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, the_second_is_not_called);
    tcase_add_test(tc, who_does_not_say_so_is_called);
    tcase_add_test(tc, a_crash_changes_nothing);
    tcase_add_test(tc, only_plain_successes_are_kept);
    tcase_add_test(tc, guardrails_see_it_each_time);
    tcase_add_test(tc, a_result_is_judged_when_it_is_found);
    tcase_add_test(tc, what_is_found_costs_nothing);
    tcase_add_test(tc, a_reservation_is_for_a_call);
    tcase_add_test(tc, a_lookup_may_be_stopped);
    tcase_add_test(tc, approval_comes_first);
    tcase_add_test(tc, a_routers_choice_is_kept);
    suite_add_tcase(su, tc);
    return su;
}

int main(void)
{
    return test_run(suite());
}
