/* test_run_spending.c -- budgets of what calls of models cost:
 * core/run/spend/budget.c. */
#include "core/model/graph.h"
#include "lang/yaml/diag.h"
#include "lang/graph/load.h"
#include "lib/drive.h"

static int raise(const char *json)
{
    return do_command(
        (struct mortise_command){.kind = MORTISE_CMD_BUDGET, .json = json});
}

static size_t n_events(const char *type)
{
    json_t *event;
    size_t i, n = 0;

    json_array_foreach(s.published, i, event)
    {
        n += strcmp(json_string_value(json_object_get(event, "type")), type) ==
             0;
    }
    return n;
}

/* Of the run's budget; in dollars, or whatever it counts. */
static double used(const char *what)
{
    json_t *show = sim_show(&s);
    json_t *one = json_object_get(json_object_get(show, "budget"), what);
    double is = json_number_value(json_object_get(one, "used"));

    ck_assert_ptr_nonnull(one);
    json_decref(show);
    return is;
}

static void assert_used(const char *what, double want)
{
    ck_assert_double_eq(used(what), want);
}

/* What a node's record says of one amount. */
static void assert_cost(const char *node, const char *what, double want)
{
    json_t *show = sim_show(&s), *last;

    records_of(show, node, &last);
    ck_assert_double_eq(json_number_value(json_object_get(
                            json_object_get(last, "usage"), what)),
                        want);
    json_decref(show);
}

static void assert_paused(void)
{
    assert_status(MORTISE_RUN_PAUSED);
    ck_assert_str_eq(mortise_run_reason(s.run), "budget");
    ck_assert(mortise_run_is_idle(s.run));
}

static const char chain[] =
    HEAD "start: a\n"
         "budget: {%s}\n"
         "nodes:\n"
         "  a: {type: tool, tool: t/spend, next: b, args: {usage: %s}}\n"
         "  b: {type: tool, tool: t/spend, next: c, args: {usage: %s}}\n"
         "  c: {type: tool, tool: t/spend, args: {usage: %s}}\n";

static void begin_chain(const char *budget, const char *usage)
{
    char yaml[1024];

    snprintf(yaml, sizeof yaml, chain, budget, usage, usage, usage);
    begin(yaml);
    admit("{}");
}

static const struct {
    const char *name, *budget, *usage, *more;
    double once, limit;
} kinds[] = {
    {"model_calls", "model_calls: 6", "{model_calls: 2}",
     "{\"model_calls\": \"+2\"}", 2, 8},
    {"input_tokens", "input_tokens: 150", "{input_tokens: 40}",
     "{\"input_tokens\": 180}", 40, 180},
    {"output_tokens", "output_tokens: 150", "{output_tokens: 40}",
     "{\"output_tokens\": 180}", 40, 180},
    {"tokens", "tokens: 300", "{input_tokens: 20, output_tokens: 60}",
     "{\"tokens\": 360}", 80, 360},
    {"usd", "usd: 0.75", "{usd: 0.25}", "{\"usd\": \"+0.25\"}", 0.25, 1.0},
};

/* What a call may use at most is reserved, what it told is spent: the third of
 * these may need more than is left, whatever it would have used.
 * key: budget.model_calls, budget.input_tokens, budget.output_tokens
 * key: budget.tokens, budget.usd */
START_TEST(usage_is_bounded)
{
    uint32_t seed = 1;

    begin_chain(kinds[_i].budget, kinds[_i].usage);
    sim_run_plain(&s);
    assert_paused();
    assert_node("b", "done");
    assert_node("c", "awaiting_approval");
    assert_used(kinds[_i].name, 2 * kinds[_i].once);
    ck_assert_uint_eq(n_events("budget_exceeded"), 1);
    ck_assert_uint_eq(n_events("warning"), 0);
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_paused();
    assert_used(kinds[_i].name, 2 * kinds[_i].once);
    ck_assert_int_eq(raise(kinds[_i].more), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_used(kinds[_i].name, 3 * kinds[_i].once);
    end();
}
END_TEST

/* While calls are out their reservations count; who does not fit beside them
 * waits until they tell that they used less. */
START_TEST(others_are_waited_for)
{
    begin(HEAD "start: [a, b]\n"
               "budget: {tokens: 399}\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/spend, args: {usage:\n"
               "      {input_tokens: 50}}}\n"
               "  b: {type: tool, tool: t/spend, args: {usage:\n"
               "      {output_tokens: 60}}}\n");
    admit("{}");
    sync_all();
    ck_assert(is_out("a"));
    ck_assert(!is_out("b"));
    assert_used("tokens", 200);
    finish("a");
    ck_assert(is_out("b"));
    assert_used("tokens", 250);
    finish("b");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_used("tokens", 110);
    end();
}
END_TEST

/* One that was cut off has used all that it could, in its record, too; its end
 * was never told. */
START_TEST(what_was_cut_off_used_it_all)
{
    uint32_t seed = 1;

    begin_chain("usd: 10", "{usd: 0.25}");
    sync_all();
    ck_assert(is_out("a"));
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_used("usd", 0.5 + 3 * 0.25);
    assert_cost("a", "usd", 0.75);
    assert_cost("a", "input_tokens", 100);
    end();
}
END_TEST

/* ... also when it turns out afterwards that it happened. */
START_TEST(what_is_reconciled_used_it_all)
{
    for (uint32_t seed = 1; seed < 9; seed++) {
        uint32_t chance = seed;

        begin(HEAD "start: a\n"
                   "budget: {usd: 9}\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/spend_write,\n"
                   "      args: {usage: {usd: 0.25}}}\n");
        admit("{}");
        sync_all();
        ck_assert(is_out("a"));
        sim_crash(&s, &chance);
        sim_recover(&s);
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_COMPLETED);
        ck_assert(used("usd") == 0.5 || used("usd") == 0.75);
        assert_cost("a", "usd", used("usd"));
        end();
    }
}
END_TEST

/* A plugin that was given up has used all that it could, at least. */
START_TEST(what_hangs_used_it_all)
{
    struct mortise_input in = {.kind = MORTISE_IN_UNRESPONSIVE};
    const struct mortise_usage told = {.amount = {9, 30, 0, 0}};

    begin_chain("tokens: 1000", "{}");
    sync_all();
    in.u.result.call = s.calls[0].call.id;
    in.u.result.usage = &told;
    sim_feed(&s, &in);
    sync_all();
    assert_node("a", "failed");
    assert_used("tokens", 200);
    assert_cost("a", "model_calls", 9);
    end();
}
END_TEST

/* A call that goes on after a suspension reserves what it has not told yet. */
START_TEST(suspensions_reserve_the_rest)
{
    const char *id;
    json_t *p;

    begin(HEAD "start: a\n"
               "budget: {model_calls: 4}\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/spend, args: {usage: {model_calls: "
               "1},\n"
               "      asks: [{method: r, kind: read, body: {}},\n"
               "             {method: q, kind: question, body: {prompt: x}},\n"
               "             {method: r, kind: read, body: {n: 2}}]}}\n");
    admit("{}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_WAITING);
    assert_used("model_calls", 2);
    json_object_foreach(s.pending, id, p) break;
    ck_assert_int_eq(do_command((struct mortise_command){
                         .kind = MORTISE_CMD_ANSWER, .id = id, .json = "1"}),
                     MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_used("model_calls", 4);
    ck_assert_uint_eq(n_events("warning"), 0);
    end();
}
END_TEST

/* What an operation tells that says nothing in its manifest, or less, counts
 * all the same, with a warning; and once more is spent than there was, nothing
 * more is called, whatever it may use. */
START_TEST(what_was_not_reserved_counts)
{
    begin(HEAD "start: a\n"
               "budget: {usd: 1, tokens: 150}\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/echo, next: b,\n"
               "      args: {usage: {usd: 0.5, model_calls: 3}}}\n"
               "  b: {type: tool, tool: t/echo, next: c,\n"
               "      args: {usage: {usd: 0.5}}}\n"
               "  c: {type: tool, tool: t/echo, next: d,\n"
               "      args: {usage: {usd: 0.5}}}\n"
               "  d: {type: tool, tool: t/echo}\n");
    admit("{}");
    sim_run_plain(&s);
    assert_paused();
    assert_node("c", "done"); /* at the limit, not beyond it */
    assert_node("d", "awaiting_approval");
    assert_used("usd", 1.5);
    ck_assert_uint_eq(n_events("warning"), 3);
    ck_assert_uint_eq(n_events("budget_warning"), 1);
    ck_assert_int_eq(raise("{\"usd\": 1.25}"), MORTISE_EINVAL);
    ck_assert_int_eq(raise("{\"usd\": \"+0.5\"}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* An operation of unknown price is called where the graph allows that, and what
 * it tells counts.
 * key: budget.unpriced=allow */
START_TEST(unpriced_may_be_allowed)
{
    run_plain(HEAD "start: a\n"
                   "budget: {usd: 1, unpriced: allow}\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/unpriced,\n"
                   "      args: {usage: {usd: 0.75}}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_used("usd", 0.75);
    ck_assert_uint_eq(n_events("warning"), 1);
    end();
}
END_TEST

static void assert_refused(const char *yaml, const char *words)
{
    struct mortise_graph *g;
    struct mortise_diags diags;
    struct mortise_buf text;

    mortise_diags_init(&diags, &test_mem);
    ck_assert_int_ne(mortise_graph_load(&g, &test_mem, "t.yaml", yaml,
                                        strlen(yaml), &sim_catalog, &diags,
                                        &err),
                     MORTISE_OK);
    mortise_buf_init(&text, &test_mem);
    mortise_diags_format(&diags, &text);
    ck_assert_msg(strstr(mortise_buf_cstr(&text), words) != NULL, "%s",
                  mortise_buf_cstr(&text));
    mortise_buf_finish(&text);
    mortise_diags_finish(&diags);
}

/* ... and is refused where it does not, whatever is in between.
 * key: budget.unpriced=refuse */
START_TEST(unpriced_is_refused)
{
    assert_refused(HEAD "start: a\n"
                        "budget: {usd: 1, unpriced: refuse}\n"
                        "nodes:\n  a: {type: tool, tool: t/unpriced}\n",
                   "t.yaml:5:10: error[E0319]: node 'a' calls t/unpriced");
    assert_refused(HEAD "start: s\n"
                        "budget: {usd: 1}\n"
                        "nodes:\n"
                        "  s: {type: subgraph, graph: {start: a, nodes:\n"
                        "      {a: {type: tool, tool: t/unpriced}}}}\n",
                   "t.yaml:5:10: error[E0319]: node 's/a' calls t/unpriced");
}
END_TEST

/* It may fail of it, or lead elsewhere, as for any bound. */
START_TEST(it_may_fail_or_lead)
{
    begin_chain("usd: 0.75, on_exceeded: fail", "{usd: 0.25}");
    sim_run_plain(&s);
    assert_run_error("budget");
    end();
    run_plain(HEAD "start: a\n"
                   "budget: {tokens: 250, on_exceeded: {goto: up}}\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/spend, next: b,\n"
                   "      args: {usage: {input_tokens: 80}}}\n"
                   "  b: {type: tool, tool: t/spend}\n"
                   "  up: {type: guardrail, guardrails: [ok]}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("up", "done");
    assert_node("b", "skipped");
    end();
}
END_TEST

/* A graph in another draws on both. */
START_TEST(both_hold)
{
    begin(HEAD "start: s\n"
               "budget: {usd: 0.75}\n"
               "nodes:\n"
               "  s:\n"
               "    type: subgraph\n"
               "    graph:\n"
               "      budget: {tokens: 1000}\n"
               "      start: a\n"
               "      nodes:\n"
               "        a: {type: tool, tool: t/spend, next: b,\n"
               "            args: {usage: {usd: 0.5, input_tokens: 10}}}\n"
               "        b: {type: tool, tool: t/spend}\n");
    admit("{}");
    sim_run_plain(&s);
    assert_paused();
    assert_used("usd", 0.5);
    assert_record("s", "budget", "{\"tokens\":{\"limit\":1000,\"used\":10}}");
    ck_assert_int_eq(raise("{\"usd\": 1}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* Who is given what it asked for asks for the next that there is too little
 * of. */
START_TEST(one_bound_after_the_other)
{
    run_plain(HEAD "start: a\n"
                   "budget: {tool_calls: 1, tokens: 250}\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/spend, next: b,\n"
                   "      args: {usage: {input_tokens: 90}}}\n"
                   "  b: {type: tool, tool: t/spend}\n",
              "{}");
    assert_paused();
    ck_assert_int_eq(raise("{\"tool_calls\": \"+1\"}"), MORTISE_OK);
    assert_paused();
    ck_assert_int_eq(raise("{\"tokens\": \"+50\"}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* Orders that make no sense are refused. */
START_TEST(only_more_is_more)
{
    static const char *const bad[] = {
        "{\"usd\": 0.75}",      "{\"usd\": \"0.9\"}", "{\"usd\": -1}",
        "{\"usd\": \"+0\"}",    "{\"usd\": \"+x\"}",  "{\"usd\": 1e300}",
        "{\"usd\": \"+0.5 \"}", "{\"tokens\": 5}",    "{\"usd\": null}"};

    begin_chain("usd: 0.75", "{usd: 0.25}");
    sim_run_plain(&s);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(raise(bad[i]) == MORTISE_EINVAL, "%s", bad[i]);
    end();
}
END_TEST

/* Killed at any commit, and again: no run is told to have spent less than its
 * calls told, nor lets a call begin beyond what there is; the record and the
 * budget agree. */
START_TEST(dying_spends_no_more)
{
    uint32_t seed = (uint32_t)_i + 1;
    json_t *show;

    begin(HEAD "start: [a, b]\n"
               "budget: {usd: 2}\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/spend, next: m,\n"
               "      args: {usage: {usd: 0.25}}}\n"
               "  b: {type: tool, tool: t/spend_write, next: m,\n"
               "      args: {usage: {usd: 0.125}}}\n"
               "  m: {type: tool, tool: t/read, map: {over: '[1, 2, 3]',"
               " to: n, join: j}}\n"
               "  n: {type: tool, tool: t/spend, next: j,\n"
               "      args: {usage: {usd: 0.5}}}\n"
               "  j: {type: tool, tool: t/echo}\n");
    admit("{}");
    run_dying(&seed, 2 + _i % 3);
    for (int i = 0; i < 40 && !mortise_run_is_finished(s.run); i++) {
        assert_paused();
        ck_assert_double_le(used("usd"), 2 + 0.5 * i);
        ck_assert_int_eq(raise("{\"usd\": \"+0.5\"}"), MORTISE_OK);
        if (i < 2) {
            sim_crash(&s, &seed);
            sim_recover(&s);
            sim_run(&s, &seed);
        }
    }
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_double_ge(used("usd"), 0.375 + 3 * 0.5 - 0.125);
    show = sim_show(&s);
    ck_assert_double_eq(json_number_value(json_object_get(
                            json_object_get(show, "usage"), "usd")),
                        used("usd"));
    json_decref(show);
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_spending");
    TCase *tc = tcase_create("spending");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, usage_is_bounded, 0,
                        sizeof kinds / sizeof kinds[0]);
    tcase_add_test(tc, others_are_waited_for);
    tcase_add_test(tc, what_was_cut_off_used_it_all);
    tcase_add_test(tc, what_is_reconciled_used_it_all);
    tcase_add_test(tc, what_hangs_used_it_all);
    tcase_add_test(tc, suspensions_reserve_the_rest);
    tcase_add_test(tc, what_was_not_reserved_counts);
    tcase_add_test(tc, unpriced_may_be_allowed);
    tcase_add_test(tc, unpriced_is_refused);
    tcase_add_test(tc, it_may_fail_or_lead);
    tcase_add_test(tc, both_hold);
    tcase_add_test(tc, one_bound_after_the_other);
    tcase_add_test(tc, only_more_is_more);
    tcase_add_loop_test(tc, dying_spends_no_more, 0, 40);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
