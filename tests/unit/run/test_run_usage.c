/* test_run_usage.c -- what calls cost, in records: core/run/spend/usage.c. */
#include "core/model/graph.h"
#include "lib/drive.h"

#define USAGE(c, i, o, usd)                                                    \
    "{\"input_tokens\":" #i ",\"model_calls\":" #c ",\"output_tokens\":" #o    \
    ",\"usd\":" #usd "}"

/* What the run says that it cost in all; "": nothing. */
static void assert_all(const char *want)
{
    json_t *show = sim_show(&s), *all = json_object_get(show, "usage");
    char *have = all != NULL ? json_dumps(all, JSON_COMPACT | JSON_SORT_KEYS)
                             : strdup("");

    ck_assert_str_eq(have, want);
    free(have);
    json_decref(show);
}

static json_t *event_of(const char *type, const char *node)
{
    json_t *event, *last = NULL;
    size_t i;

    json_array_foreach(s.published, i, event)
    {
        const char *of = json_string_value(json_object_get(event, "node"));

        if (strcmp(json_string_value(json_object_get(event, "type")), type) ==
                0 &&
            (node == NULL || (of != NULL && strcmp(of, node) == 0)))
            last = event;
    }
    ck_assert_ptr_nonnull(last);
    return json_object_get(last, "usage");
}

/* A record has what its calls told, the run the sum; who told nothing has
 * none. */
START_TEST(records_have_it)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/echo, next: b,\n"
                   "      args: {usage: {model_calls: 1, input_tokens: 7,\n"
                   "                     usd: 0.25, model: small}}}\n"
                   "  b: {type: tool, tool: t/echo, next: c}\n"
                   "  c: {type: tool, tool: t/write,\n"
                   "      args: {usage: {output_tokens: 5, usd: 0.5}}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record(
        "a", "usage",
        "{\"by_model\":{\"small\":{\"input_tokens\":7,\"model_calls\":1,"
        "\"output_tokens\":0,\"usd\":0.25}},"
        "\"input_tokens\":7,\"model_calls\":1,\"models\":[\"small\"],"
        "\"output_tokens\":0,\"usd\":0.25}");
    assert_record("b", "usage", "");
    assert_record("c", "usage", USAGE(0, 0, 5, 0.5));
    assert_all("{\"by_model\":{\"small\":{\"input_tokens\":7,\"model_calls\":1,"
               "\"output_tokens\":0,\"usd\":0.25}},"
               "\"input_tokens\":7,\"model_calls\":1,\"models\":[\"small\"],"
               "\"output_tokens\":5,\"usd\":0.75}");
    ck_assert_int_eq(json_integer_value(json_object_get(
                         event_of("node_end", "c"), "output_tokens")),
                     5);
    ck_assert_ptr_null(event_of("node_end", "b"));
    ck_assert_int_eq(json_integer_value(json_object_get(
                         event_of("run_end", NULL), "input_tokens")),
                     7);
    end();
}
END_TEST

/* Attempts that failed count, and so does a node that fails for good. */
START_TEST(failures_cost)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/fail, next: b,\n"
                   "      args: {times: 2, class: transient,\n"
                   "             usage: {model_calls: 1}},\n"
                   "      retry_policy: {max_attempts: 3, delay: 1s}}\n"
                   "  b: {type: tool, tool: t/fail,\n"
                   "      args: {usage: {model_calls: 2}}}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_record("a", "usage", USAGE(3, 0, 0, 0.0));
    assert_record("b", "usage", USAGE(2, 0, 0, 0.0));
    ck_assert_ptr_nonnull(event_of("retry_scheduled", "a"));
    ck_assert_int_eq(json_integer_value(json_object_get(
                         event_of("node_failed", "b"), "model_calls")),
                     2);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_record("b", "usage", USAGE(4, 0, 0, 0.0));
    assert_all(USAGE(7, 0, 0, 0.0));
    end();
}
END_TEST

static const char stopped[] = HEAD "start: [a, b]\n"
                                   "nodes:\n"
                                   "  a: {type: tool, tool: t/read, next: j,\n"
                                   "      args: {usage: {model_calls: 1}}}\n"
                                   "  b: {type: tool, tool: t/read, next: j,\n"
                                   "      args: {usage: {model_calls: 2}}}\n"
                                   "  j: {type: tool, tool: t/read%s}\n";

/* Who lost a race spent it all the same; and who was stopped by a command
 * spends again when it is called anew. */
START_TEST(stopped_calls_cost)
{
    char yaml[1024];

    snprintf(yaml, sizeof yaml, stopped, ", join: any");
    begin(yaml);
    admit("{}");
    sync_all();
    finish("a");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", "skipped");
    assert_record("b", "usage", USAGE(2, 0, 0, 0.0));
    assert_all(USAGE(3, 0, 0, 0.0));
    end();

    snprintf(yaml, sizeof yaml, stopped, "");
    begin(yaml);
    admit("{}");
    sync_all();
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_PAUSE}, 0),
        MORTISE_OK);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_PAUSED);
    assert_all(USAGE(3, 0, 0, 0.0));
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_all(USAGE(6, 0, 0, 0.0));
    end();
}
END_TEST

/* One that does not let go spent what it told before. */
START_TEST(unresponsive_calls_cost)
{
    struct mortise_input in = {.kind = MORTISE_IN_UNRESPONSIVE};
    const struct mortise_usage told = {.amount[MORTISE_USED_INPUT] = 9};

    begin(HEAD "start: a\nnodes:\n  a: {type: tool, tool: t/read}\n");
    admit("{}");
    sync_all();
    in.u.result.call = s.calls[0].call.id;
    in.u.result.usage = &told;
    sim_feed(&s, &in);
    sync_all();
    assert_node("a", "failed");
    assert_record("a", "usage", USAGE(0, 9, 0, 0.0));
    end();
}
END_TEST

static const char asking[] =
    HEAD "start: a\n"
         "nodes:\n"
         "  a: {type: tool, tool: t/ask, args: {usage: {model_calls: 1},\n"
         "      asks: [{method: r, kind: read, body: {}},\n"
         "             {method: q, kind: question, body: {prompt: x}},\n"
         "             {method: r, kind: read, body: {n: 2}}]}}\n";

static void answer_it(void)
{
    const char *id;
    json_t *p;

    json_object_foreach(s.pending, id, p) break;
    ck_assert_int_eq(do_command((struct mortise_command){
                         .kind = MORTISE_CMD_ANSWER, .id = id, .json = "1"}),
                     MORTISE_OK);
}

/* To be entered again after a suspension costs what is new: what was said
 * before is said again, and counts once. */
START_TEST(suspensions_cost_once)
{
    begin(asking);
    admit("{}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_WAITING);
    assert_record("a", "usage", USAGE(2, 0, 0, 0.0)); /* one answer */
    answer_it();
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("a", "usage", USAGE(4, 0, 0, 0.0)); /* three */
    end();
}
END_TEST

/* Nor does dying in between make it more, or less, than was told. */
START_TEST(dying_costs_no_more)
{
    uint32_t seed = (uint32_t)_i + 1;

    begin(asking);
    admit("{}");
    run_dying(&seed, 2 + _i % 3);
    assert_status(MORTISE_RUN_WAITING);
    assert_record("a", "usage", USAGE(2, 0, 0, 0.0));
    answer_it();
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run(&s, &seed);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("a", "usage", USAGE(4, 0, 0, 0.0));
    end();
}
END_TEST

/* What was told is on disk before a read that only computed is: a crash does
 * not take it, whatever the checkpoint policy. */
START_TEST(coarse_graphs_remember_it)
{
    uint32_t seed = 1;

    begin(HEAD "start: [a, b]\n"
               "checkpoint_policy: none\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read,\n"
               "      args: {usage: {model_calls: 1}}}\n"
               "  b: {type: tool, tool: t/read}\n");
    admit("{}");
    sync_all();
    finish("a");
    sync_all();
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("a", "usage", USAGE(1, 0, 0, 0.0));
    assert_runs("a", 1);
    end();
}
END_TEST

/* The history has an entry for it. */
START_TEST(history_tells_it)
{
    json_t *list, *one;
    size_t i, k, n = 0;

    run_plain(HEAD "start: a\nnodes:\n"
                   "  a: {type: tool, tool: t/read,\n"
                   "      args: {usage: {model_calls: 1}}}\n",
              "{}");
    for (i = 0; i < s.n_commits; i++) {
        list = mortise_run_describe_entries(s.run, s.commits[i].entries,
                                            s.commits[i].size);
        json_array_foreach(list, k, one)
        {
            if (strcmp(json_string_value(json_object_get(one, "entry")),
                       "used") != 0)
                continue;
            n++;
            ck_assert_int_eq(json_integer_value(json_object_get(
                                 json_object_get(one, "usage"), "model_calls")),
                             1);
        }
        json_decref(list);
    }
    ck_assert_uint_eq(n, 1);
    end();
}
END_TEST

/* What the run's actions lead to, until there are none: each call tells. */
static int go_on(struct mortise_run *r, struct mortise_actions *actions,
                 const struct mortise_usage *told)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < actions->n; i++) {
        const struct mortise_action *a = &actions->list[i];
        struct mortise_input in = {.kind = MORTISE_IN_SYNCED, .now_ms = 1};

        if (a->kind != MORTISE_ACT_COMMIT && a->kind != MORTISE_ACT_CALL)
            continue;
        if (a->kind == MORTISE_ACT_COMMIT) {
            in.u.seq = a->u.commit.seq;
        } else {
            in.kind = MORTISE_IN_RESULT;
            in.u.result = (struct mortise_result_in){.call = a->u.call.id,
                                                     .output = a->u.call.body,
                                                     .message = "",
                                                     .error_code = "",
                                                     .error_class = "",
                                                     .usage = told};
        }
        rv = mortise_run_step(r, &in, actions, &err);
    }
    mortise_actions_clear(actions);
    return rv;
}

static bool run_spending(int n)
{
    struct mortise_usage told = {.amount[MORTISE_USED_CALLS] = 1};
    struct mortise_admission adm = {
        .tenant = "t", .run = "r", .actor = "x", .seed = {1}};
    struct mortise_graph *g =
        sim_graph(HEAD "start: a\nbudget: {usd: 9}\n"
                       "nodes:\n  a: {type: tool, tool: t/spend_write}\n");
    struct mortise_actions actions;
    struct mortise_run *r = NULL;
    bool failed;
    int rv;

    adm.input = json_object();
    told.models = json_pack("[s]", "m");
    mortise_actions_init(&actions, &test_mem);
    test_mem_fail_at(n);
    rv = mortise_run_admit(&r, &test_mem, g, &adm, 1, &actions, &err);
    if (rv == MORTISE_OK) {
        mortise_run_watch(r, true);
        rv = go_on(r, &actions, &told);
    }
    failed = test_mem_failed();
    test_mem_fail_at(-1);
    ck_assert_int_eq(rv, failed ? MORTISE_ENOMEM : MORTISE_OK);
    if (!failed)
        ck_assert_int_eq(mortise_run_status(r), MORTISE_RUN_COMPLETED);
    mortise_run_free(r);
    mortise_actions_finish(&actions);
    mortise_graph_unref(g);
    mortise_usage_finish(&told);
    json_decref(adm.input);
    return failed;
}

/* It copes with memory running out anywhere. */
START_TEST(memory_may_run_out)
{
    int n = 0;

    while (run_spending(n))
        n++;
    ck_assert_int_gt(n, 10);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_usage");
    TCase *tc = tcase_create("usage");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, records_have_it);
    tcase_add_test(tc, failures_cost);
    tcase_add_test(tc, stopped_calls_cost);
    tcase_add_test(tc, unresponsive_calls_cost);
    tcase_add_test(tc, suspensions_cost_once);
    tcase_add_loop_test(tc, dying_costs_no_more, 0, 40);
    tcase_add_test(tc, coarse_graphs_remember_it);
    tcase_add_test(tc, history_tells_it);
    tcase_add_test(tc, memory_may_run_out);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
