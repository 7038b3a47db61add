/* test_run_races.c -- joins that do not wait for all, and early ends. */
#include "lib/drive.h"

/* Three mirrors, and a join of two of them.  `more` is what the join says
 * besides. */
static void mirrors(const char *join, const char *nodes)
{
    char yaml[2048];

    snprintf(yaml, sizeof yaml,
             HEAD "start: [a, b, c]\n"
                  "state: {reducers: {scratch.log: concat}}\n"
                  "nodes:\n"
                  "  a: {type: tool, tool: t/read, next: join, outputs:\n"
                  "      {scratch.log: \"['a']\"}}\n"
                  "  b: {type: tool, tool: t/read, next: join, outputs:\n"
                  "      {scratch.log: \"['b']\"}}\n"
                  "  c: {type: tool, tool: t/read, next: c2, outputs:\n"
                  "      {scratch.log: \"['c']\"}}\n"
                  "  c2: {type: tool, tool: t/read, next: join, outputs:\n"
                  "      {scratch.log: \"['c2']\"}, args:\n"
                  "      {saw: \"${scratch.log}\"}}\n"
                  "  join: {type: tool, tool: t/echo, next: END, %s,\n"
                  "      args: {saw: \"${scratch.log}\"}}\n%s",
             join, nodes);
    begin(yaml);
    admit("{}");
    sync_all();
}

/* quorum 2 of 3: the third is cancelled and awaited, and what it would have
 * done is skipped.
 * key: join.quorum */
START_TEST(a_quorum_cancels_the_third)
{
    mirrors("join: {quorum: 2}", "");
    finish("b");
    ck_assert(!is_out("join"));
    finish("a");
    ck_assert(is_out("join"));
    ck_assert(s.calls[call_of("c")].cancelled);
    finish("join");
    ck_assert_int_eq(mortise_run_status(s.run), MORTISE_RUN_RUNNING);
    finish("c");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("c", "skipped");
    assert_node_error("c", "cancelled");
    assert_node("c2", "skipped");
    assert_value("artifacts", "join", "{\"saw\":[\"a\",\"b\"]}");
    assert_value("scratch", "log", "[\"a\",\"b\"]");
    end();
}
END_TEST

/* losers: finish: the third runs on, sees what it wrote itself, and nobody
 * else does.
 * key: node.losers=finish */
START_TEST(a_quorum_lets_the_third_finish)
{
    mirrors("join: {quorum: 2}, losers: finish", "");
    finish("b");
    finish("a");
    ck_assert(!s.calls[call_of("c")].cancelled);
    finish("c");
    finish("c2");
    assert_record("c2", "output", "{\"saw\":[\"c\"]}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("c2", "done");
    assert_runs("join", 1);
    assert_value("scratch", "log", "[\"a\",\"b\"]");
    assert_value("artifacts", "c2", "nothing");
    end();
}
END_TEST

/* `any`: the first; what a loser has done before it lost counts.
 * key: node.join, node.join=any */
START_TEST(any_takes_the_first)
{
    mirrors("join: any", "");
    finish("c");
    finish("a");
    assert_record("join", "after", "[\"1.0/a#1\"]");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", "skipped");
    assert_node("c", "done");
    assert_node("c2", "skipped");
    assert_value("artifacts", "join", "{\"saw\":[\"a\"]}");
    assert_value("scratch", "log", "[\"a\",\"c\"]");
    end();
}
END_TEST

/* What leads elsewhere, too, has lost nothing: it goes on and counts. */
START_TEST(who_leads_elsewhere_goes_on)
{
    run_plain(HEAD "start: [a, b]\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/read, next: join}\n"
                   "  b: {type: tool, tool: t/read, next: [join, other]}\n"
                   "  other: {type: tool, tool: t/read, next: END}\n"
                   "  join: {type: tool, tool: t/read, join: any, next: END}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", "done");
    assert_node("other", "done");
    assert_runs("join", 1);
    end();
}
END_TEST

/* A race is decided once: whenever the process dies after that, it stays. */
START_TEST(races_survive_deaths)
{
    uint32_t seed = (uint32_t)_i;
    bool finishes = _i % 2 == 0;

    mirrors(finishes ? "join: {quorum: 2}, losers: finish" : "join: any", "");
    run_dying(&seed, 3);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("join", 1);
    end();
}
END_TEST

/* A loser's effect that came back all the same does not count. */
START_TEST(a_losing_effect_does_not_count)
{
    struct mortise_input in = {.kind = MORTISE_IN_RESULT};

    begin(HEAD "start: [a, w]\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: join}\n"
               "  w: {type: tool, tool: t/write, next: join}\n"
               "  join: {type: tool, tool: t/read, join: any, next: END}\n");
    admit("{}");
    sync_all();
    finish("a");
    in.u.result =
        (struct mortise_result_in){.call = s.calls[call_of("w")].call.id,
                                   .output = json_true(),
                                   .message = "",
                                   .error_code = "",
                                   .error_class = ""};
    sim_feed(&s, &in);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("w", "skipped");
    assert_value("artifacts", "w", "nothing");
    end();
}
END_TEST

/* A loser that asks somebody asks no more. */
START_TEST(a_losing_question_is_withdrawn)
{
    run_plain(HEAD "start: [a, h]\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/read, next: join}\n"
                   "  h: {type: human, prompt: well?, next: join}\n"
                   "  join: {type: tool, tool: t/read, join: any, next: END}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("h", "skipped");
    ck_assert_uint_eq(json_object_size(s.pending), 0);
    end();
}
END_TEST

/* A loop on the way to a race that is over does not go round again. */
START_TEST(a_losing_loop_stops)
{
    begin(HEAD "start: [a, x]\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: join}\n"
               "  x: {type: tool, tool: t/read, next: y}\n"
               "  y: {type: tool, tool: t/read, routes:\n"
               "      [{when: node.visit < 9, to: x}], default: join}\n"
               "  join: {type: tool, tool: t/read, join: any, next: END}\n");
    admit("{}");
    finish("x");
    finish("y");
    finish("a");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("x", 2);
    assert_runs("y", 1);
    end();
}
END_TEST

/* A loop that has lost and finishes: each round sees the ones before it, and
 * nobody else does. */
START_TEST(a_losing_loop_finishes)
{
    begin(HEAD
          "start: [a, x]\n"
          "state: {reducers: {scratch.log: concat}}\n"
          "nodes:\n"
          "  a: {type: tool, tool: t/read, next: join}\n"
          "  x: {type: tool, tool: t/read, output_as: null,\n"
          "      args: {saw: \"${has(scratch.log) ? scratch.log : []}\"},\n"
          "      outputs: {scratch.log: \"[node.visit]\"}, routes:\n"
          "      [{when: node.visit < 3, to: x}], default: join}\n"
          "  join: {type: tool, tool: t/read, join: any, losers: finish}\n");
    admit("{}");
    finish("a");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("1.0/x#3", "output", "{\"saw\":[1,2]}");
    assert_value("scratch", "log", "nothing");
    end();
}
END_TEST

/* ... and what lost inside of the loser stays out of what it sees. */
START_TEST(a_loser_within_a_loser)
{
    begin(HEAD
          "start: [a, x]\n"
          "state: {reducers: {scratch.log: concat}}\n"
          "nodes:\n"
          "  a: {type: tool, tool: t/read, next: z}\n"
          "  x: {type: tool, tool: t/read, next: [b, c],\n"
          "      args: {saw: \"${has(scratch.log) ? scratch.log : []}\"}}\n"
          "  b: {type: tool, tool: t/read, next: y,\n"
          "      outputs: {scratch.log: \"['b']\"}}\n"
          "  c: {type: tool, tool: t/read, next: y,\n"
          "      outputs: {scratch.log: \"['c']\"}}\n"
          "  y: {type: tool, tool: t/read, join: any, losers: finish,\n"
          "      routes: [{when: node.visit < 2, to: x}], default: z}\n"
          "  z: {type: tool, tool: t/read, join: any, losers: finish}\n");
    admit("{}");
    finish("a");
    finish("x");
    finish("b");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("c", 2);
    assert_record("1.0/x#2", "output", "{\"saw\":[\"b\"]}");
    assert_value("scratch", "log", "nothing");
    end();
}
END_TEST

/* ---- failed branches ----------------------------------------------------- */

#define TRIO(join)                                                             \
    HEAD "start: [a, b]\n"                                                     \
         "nodes:\n"                                                            \
         "  a: {type: tool, tool: t/read, next: j}\n"                          \
         "  b: {type: tool, tool: t/fail, args: {code: broken}, next: j}\n"    \
         "  j: {type: tool, tool: t/echo, " join ", next: END,\n"              \
         "      args: {failed: \"${node.failed}\"}}\n"

/* fail, the default: the join is skipped and the run fails. */
START_TEST(a_failed_branch_fails)
{
    run_plain(TRIO("join: all"), "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node("j", "skipped");
    assert_run_error("broken");
    end();
}
END_TEST

/* collect: the join sees what failed, and the run has not.
 * key: node.on_branch_error=collect */
START_TEST(a_failed_branch_is_collected)
{
    json_t *show, *last;

    run_plain(TRIO("on_branch_error: collect"), "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    show = sim_show(&s);
    records_of(show, "j", &last);
    last = json_array_get(json_object_get(last, "failed"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(last, "node")), "b");
    ck_assert_str_eq(json_string_value(json_object_get(
                         json_object_get(last, "error"), "code")),
                     "broken");
    json_decref(show);
    show = sim_show(&s);
    ck_assert_uint_eq(
        json_array_size(json_object_get(
            json_object_get(
                json_object_get(json_object_get(show, "state"), "artifacts"),
                "j"),
            "failed")),
        1);
    json_decref(show);
    end();
}
END_TEST

/* collect: the join starts where nothing but failures came, too, behind what they
 * came after. */
START_TEST(nothing_but_failures_is_collected)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/fail, next: j}\n"
                   "  j: {type: tool, tool: t/read, on_branch_error: collect,\n"
                   "      args: {code: \"${node.failed[0].error.code}\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "j", "{\"code\":\"failed\"}");
    end();
}
END_TEST

/* best_effort: as if it had not been.
 * key: node.join=best_effort */
START_TEST(a_failed_branch_is_dropped)
{
    run_plain(TRIO("join: best_effort"), "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", "failed");
    assert_node("j", "done");
    assert_value("artifacts", "j", "{\"failed\":[]}");
    ck_assert_int_eq(resume(), MORTISE_OK); /* nothing is left to do */
    assert_runs("j", 1);
    end();
}
END_TEST

/* A race that can no longer be won is skipped, and something failed. */
START_TEST(out_of_reach)
{
    run_plain(TRIO("join: {quorum: 2}"), "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node("j", "skipped");
    end();
    run_plain(TRIO("join: {quorum: 2}, on_branch_error: drop"), "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node("j", "skipped");
    end();
}
END_TEST

/* Five branches, of which `bad` fail, in any order, before the others or after
 * them, and a join of some of them. */
static void five(const char *join, unsigned bad, const int order[5])
{
    char yaml[1024];
    int n =
        snprintf(yaml, sizeof yaml, HEAD "start: [a, b, c, d, e]\nnodes:\n");

    for (int i = 0; i < 5; i++)
        n += snprintf(yaml + n, sizeof yaml - (size_t)n,
                      "  %c: {type: tool, tool: t/fail, args: {code: c%c, "
                      "times: %d}, next: j}\n",
                      'a' + i, 'a' + i, bad >> i & 1 ? 9 : 0);
    snprintf(yaml + n, sizeof yaml - (size_t)n,
             "  j: {type: tool, tool: t/echo, %s, next: END,\n"
             "      args: {failed: \"${node.failed.size()}\"}}\n",
             join);
    begin(yaml);
    admit("{}");
    sync_all();
    for (int i = 0; i < 5; i++) {
        const char id[] = {(char)('a' + order[i]), '\0'};

        if (is_out(id))
            finish(id);
    }
    sim_run_plain(&s);
}

/* Are exactly these named as what the run failed of? */
static void assert_failed_of(unsigned bad)
{
    json_t *show = sim_show(&s), *one;
    json_t *error = json_object_get(show, "error");
    json_t *failed = json_object_get(error, "failed");
    const char *words = json_string_value(json_object_get(error, "message"));
    unsigned named = 0;
    size_t i;

    json_array_foreach(failed, i, one)
    {
        const char *node = json_string_value(json_object_get(one, "node"));

        named |= 1u << (node[0] - 'a');
        if (i > 0)
            ck_assert_ptr_nonnull(
                strstr(words, json_string_value(json_object_get(one, "path"))));
    }
    ck_assert_msg(named == bad, "named: %x, failed: %x", named, bad);
    json_decref(show);
}

/* `any` and `quorum` fail nothing while enough others may come, whoever fails
 * first; and name every failure once too few are left.  best_effort is as if
 * the failed were not there, but for a graph of which nothing else came.
 * key: node.on_branch_error=drop, node.join=any, join.quorum */
START_TEST(who_fails_first_fails_nothing)
{
    static const int orders[][5] = {
        {0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}};
    static const struct {
        const char *join;
        int need;
    } joins[] = {{"join: any", 1},
                 {"join: any, losers: finish", 1},
                 {"join: {quorum: 2}", 2},
                 {"join: {quorum: 3}, on_branch_error: drop", 3},
                 {"join: {quorum: 5}", 5},
                 {"join: best_effort", 1}};
    static const unsigned bad[] = {1, 3, 7, 15, 31, 16, 24, 10};

    for (size_t k = 0; k < sizeof joins / sizeof joins[0]; k++) {
        for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++) {
            const int *order = orders[(size_t)_i];
            bool wins = 5 - __builtin_popcount(bad[b]) >= joins[k].need;

            five(joins[k].join, bad[b], order);
            assert_status(wins ? MORTISE_RUN_COMPLETED : MORTISE_RUN_FAILED);
            assert_node("j", wins ? "done" : "skipped");
            if (wins)
                assert_value("artifacts", "j", "{\"failed\":0}");
            else if (__builtin_popcount(bad[b]) > 1)
                assert_failed_of(bad[b]);
            end();
        }
    }
}
END_TEST

/* fail, in so many words: the race does not start, and its failure is the run's. */
START_TEST(a_race_may_fail_by_its_first_failure)
{
    static const int order[] = {0, 1, 2, 3, 4};

    five("join: any, on_branch_error: fail", 1, order);
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("ca");
    end();
}
END_TEST

/* One that fails while it is alone is nothing to `all`'s drop, either, until it
 * is all there was: a route not taken is no success. */
START_TEST(nothing_but_failures_fails)
{
    run_plain(HEAD "start: r\n"
                   "nodes:\n"
                   "  r: {type: router, routes: [{when: 'true', to: a}],\n"
                   "      default: b}\n"
                   "  a: {type: tool, tool: t/fail, args: {code: broken},\n"
                   "      next: j}\n"
                   "  b: {type: tool, tool: t/read, next: j}\n"
                   "  j: {type: tool, tool: t/read, join: best_effort}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("broken");
    end();
}
END_TEST

/* A race that nobody can win any more collects nothing: its failures are the
 * run's. */
START_TEST(nobody_collects_for_a_race)
{
    run_plain(HEAD "start: [a, b]\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/fail, next: j,\n"
                   "      args: {code: broken, times: 9}}\n"
                   "  b: {type: tool, tool: t/fail, next: j,\n"
                   "      args: {code: broken, times: 9}}\n"
                   "  j: {type: tool, tool: t/read, join: any,\n"
                   "      on_branch_error: collect}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("broken");
    assert_node("j", "skipped");
    end();
}
END_TEST

/* `a` and `b` may fail, and `c` says no: two of three cannot be had.  What is
 * behind collects what failed, if the join was told. */
static void begin_trio(const char *policy, const char *behind)
{
    char yaml[1024];

    snprintf(yaml, sizeof yaml,
             HEAD "start: [a, b, c, d]\n"
                  "nodes:\n"
                  "  a: {type: tool, tool: t/fail, args: {times: 9}, next: j}\n"
                  "  b: {type: tool, tool: t/fail, args: {times: 9}, next: j}\n"
                  "  c: {type: tool, tool: t/read, routes:\n"
                  "      [{when: scratch.size() > 0, to: j}]}\n"
                  "  d: {type: tool, tool: t/read, next: k}\n"
                  "  j: {type: tool, tool: t/read, next: k,\n"
                  "      join: {quorum: 2}, on_branch_error: %s}\n"
                  "  k: {type: tool, tool: t/read%s}\n",
             policy, behind);
    begin(yaml);
    admit("{}");
    sync_all();
}

/* Whether a failure or the last of the others is what puts a join out of
 * reach, it is nobody's but the run's: the order does not show. */
START_TEST(out_of_reach_in_any_order)
{
    static const char *const orders[][3] = {
        {"a", "b", "c"}, {"a", "c", "b"}, {"c", "a", "b"}, {"b", "c", "a"}};
    static const char *const policies[] = {"fail", "collect", "drop"};

    for (size_t i = 0; i < 4; i++) {
        for (size_t k = 0; k < 3; k++) {
            begin_trio(policies[k], "");
            for (size_t n = 0; n < 3; n++)
                finish(orders[i][n]);
            sim_run_plain(&s);
            assert_status(MORTISE_RUN_FAILED);
            assert_node("j", "skipped");
            end();
            begin_trio(policies[k], ", on_branch_error: collect");
            for (size_t n = 0; n < 3; n++)
                finish(orders[i][n]);
            sim_run_plain(&s);
            assert_status(MORTISE_RUN_COMPLETED);
            assert_node("k", "done");
            end();
        }
    }
}
END_TEST

/* ---- early ends --------------------------------------------------------- */

static const char *const two_ways =
    "nodes:\n"
    "  a: {type: tool, tool: t/fail, next: END,\n"
    "      args: {code: broken, times: \"${input.fails}\"}}\n"
    "  b: {type: tool, tool: t/read, next: b2}\n"
    "  b2: {type: tool, tool: t/read, next: END}\n";

static void begin_two_ways(const char *how, const char *input)
{
    char yaml[1024];

    snprintf(yaml, sizeof yaml, HEAD "start: [a, b]\n%s%s", how, two_ways);
    begin(yaml);
    admit(input);
    sync_all();
}

/* failure: continue, the default: what does not depend on it goes on. */
START_TEST(a_failure_lets_others_finish)
{
    begin_two_ways("", "{\"fails\": 9}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_node("b2", "done");
    end();
}
END_TEST

/* fail_fast: the rest is cancelled and awaited; resume brings it back.
 * key: graph.failure=fail_fast */
START_TEST(fail_fast)
{
    begin_two_ways("failure: fail_fast\n", "{\"fails\": 1}");
    finish("a");
    ck_assert(s.calls[call_of("b")].cancelled);
    ck_assert_int_eq(mortise_run_status(s.run), MORTISE_RUN_RUNNING);
    finish("b");
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("broken");
    assert_node("b", "skipped");
    assert_node_error("b", "cancelled");
    assert_runs("b2", 0);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED); /* attempts are counted anew */
    ck_assert_int_eq(jump("b"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b2", "done");
    end();
}
END_TEST

#define MENDED "(scratch == {} ? 9 : 0)"

/* A failure that no join can mend any more stops the others at once: nobody
 * waits for the end of the loop's visit that it is in. */
START_TEST(fail_fast_in_a_loop)
{
    begin(HEAD "start: x\n"
               "failure: fail_fast\n"
               "nodes:\n"
               "  x: {type: tool, tool: t/read, next: [a, b]}\n"
               "  a: {type: tool, tool: t/fail,\n"
               "      args: {times: \"${" MENDED "}\"},\n"
               "      routes: [{when: node.visit < 2, to: x}], default: z}\n"
               "  b: {type: tool, tool: t/read,\n"
               "      routes: [{when: node.visit < 2, to: x}], default: z}\n"
               "  z: {type: tool, tool: t/read}\n");
    admit("{}");
    finish("x");
    finish("a");
    ck_assert(s.calls[call_of("b")].cancelled);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_node("b", "skipped");
    ck_assert_int_eq(update("{\"scratch\": {\"mended\": true}}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("a", 2);
    assert_node("z", "done");
    end();
}
END_TEST

/* ... nor of the map; a resume goes on with the elements that were stopped. */
START_TEST(fail_fast_in_a_map)
{
    begin(HEAD "start: m\n"
               "failure: fail_fast\n"
               "nodes:\n"
               "  m: {type: tool, tool: t/read,\n"
               "      map: {over: \"[1, 2, 3]\", to: w, join: j,\n"
               "            max_parallel: 2}}\n"
               "  w: {type: tool, tool: t/fail, next: j,\n"
               "      args: {times: \"${index < 2 ? " MENDED " : 0}\"}}\n"
               "  j: {type: tool, tool: t/read}\n");
    admit("{}");
    finish("m");
    finish("w");
    ck_assert_uint_eq(s.n_calls, 1);
    ck_assert(s.calls[0].cancelled);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(update("{\"scratch\": {\"mended\": true}}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("w", 3);
    assert_node("j", "done");
    end();
}
END_TEST

/* Where a join after the loop may collect it, the visit comes to its end. */
START_TEST(fail_fast_waits_for_who_may_mend)
{
    begin(HEAD "start: x\n"
               "failure: fail_fast\n"
               "nodes:\n"
               "  x: {type: tool, tool: t/read, next: [a, b, z]}\n"
               "  a: {type: tool, tool: t/fail, args: {times: 9},\n"
               "      routes: [{when: node.visit < 2, to: x}], default: y}\n"
               "  b: {type: tool, tool: t/read,\n"
               "      routes: [{when: node.visit < 2, to: x}], default: y}\n"
               "  y: {type: tool, tool: t/read, next: z}\n"
               "  z: {type: tool, tool: t/read, join: best_effort}\n");
    admit("{}");
    finish("x");
    finish("a");
    ck_assert(!s.calls[call_of("b")].cancelled);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", "done");
    assert_node("y", "skipped");
    assert_node("z", "done");
    end();
}
END_TEST

/* A failure that its join takes in its stride is no reason to stop. */
START_TEST(fail_fast_lets_collected_failures_be)
{
    run_plain(HEAD "failure: fail_fast\n"
                   "start: [a, b]\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/fail, next: j}\n"
                   "  b: {type: tool, tool: t/read, next: j}\n"
                   "  j: {type: tool, tool: t/read, join: best_effort}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("j", "done");
    end();
}
END_TEST

/* end: first: who reaches END first ends it all, successfully.
 * key: graph.end=first */
START_TEST(the_first_end_is_the_end)
{
    begin_two_ways("end: first\n", "{\"fails\": 0}");
    finish("a");
    ck_assert(s.calls[call_of("b")].cancelled);
    finish("b");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", "skipped");
    assert_runs("b2", 0);
    end();
}
END_TEST

/* ... unless something failed for good before, be it in an element of a map
 * that is not over. */
START_TEST(a_failure_before_the_first_end)
{
    begin(HEAD "start: [a, m]\n"
               "end: first\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: END}\n"
               "  m: {type: tool, tool: t/read,\n"
               "      map: {over: \"[9, 0]\", to: w, join: j}}\n"
               "  w: {type: tool, tool: t/fail, next: j,\n"
               "      args: {times: \"${item}\"}}\n"
               "  j: {type: tool, tool: t/read}\n");
    admit("{}");
    finish("m");
    sync_all();
    sim_end_call(&s, 1); /* w#1[0] */
    finish("a");
    sim_run_plain(&s);
    assert_node("w", "skipped");
    assert_status(MORTISE_RUN_FAILED);
    end();
}
END_TEST

/* A resume tries again what failed before the graph came to END.  What that END
 * stopped stays so, and nothing new starts: the graph was at its end.
 * key: graph.end=first */
START_TEST(a_failure_before_the_first_end_is_tried_again)
{
    uint32_t seed = 1;

    begin(HEAD "start: [a, b, c]\n"
               "end: first\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/fail, next: [a2, j],\n"
               "      args: {times: \"${" MENDED "}\"}}\n"
               "  a2: {type: tool, tool: t/read, next: END}\n"
               "  b: {type: tool, tool: t/read, next: END}\n"
               "  c: {type: tool, tool: t/read, next: j}\n"
               "  j: {type: tool, tool: t/read, next: s}\n"
               "  s: {type: tool, tool: t/read, join: settled}\n");
    admit("{}");
    finish("a");
    finish("b");
    finish("c");
    assert_status(MORTISE_RUN_FAILED);
    for (int i = 0; i < 2; i++) { /* it fails again, and then does not */
        ck_assert_int_eq(resume(), MORTISE_OK);
        assert_status(i == 0 ? MORTISE_RUN_FAILED : MORTISE_RUN_COMPLETED);
        if (_i > 0)
            sim_crash(&s, &seed);
        if (i == 0)
            ck_assert_int_eq(update("{\"scratch\": {\"mended\": true}}"),
                             MORTISE_OK);
    }
    assert_node("a", "done");
    assert_node("c", "skipped");
    assert_runs("b", 1);
    assert_runs("c", 1);
    assert_runs("a2", 0);
    assert_runs("j", 0);
    assert_runs("s", 0);
    end();
}
END_TEST

/* ... in an element of a map: that one alone, while those that END stopped, or
 * that had not begun, stay so. */
START_TEST(an_element_that_failed_before_the_first_end)
{
    char yaml[1024];

    snprintf(yaml, sizeof yaml,
             HEAD "start: [a, m]\n"
                  "end: first\n"
                  "nodes:\n"
                  "  a: {type: tool, tool: t/read, next: END}\n"
                  "  m: {type: tool, tool: t/read,\n"
                  "      map: {over: \"[9, 0, 0]\", to: w, join: j,\n"
                  "            max_parallel: %d}}\n"
                  "  w: {type: tool, tool: t/fail, next: w2, args:\n"
                  "      {times: \"${" MENDED " > 0 ? item : 0}\"}}\n"
                  "  w2: {type: tool, tool: t/read, next: j}\n"
                  "  j: {type: tool, tool: t/read}\n",
             _i);
    begin(yaml);
    admit("{}");
    finish("m");
    sync_all();
    sim_end_call(&s, 1); /* w#1[0] */
    finish("a");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(update("{\"scratch\": {\"mended\": true}}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("1.0/w#1[0]", "done");
    assert_node("1.0/w#1[1]", "skipped");
    assert_runs("w", _i == 1 ? 2 : 3);
    assert_runs("w2", 0);
    assert_runs("j", 0);
    end();
}
END_TEST

/* ... in a loop, which makes no more visits. */
START_TEST(a_visit_that_failed_before_the_first_end)
{
    begin(HEAD "start: [a, x]\n"
               "end: first\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: END}\n"
               "  x: {type: tool, tool: t/read, next: [y, z]}\n"
               "  y: {type: tool, tool: t/fail,\n"
               "      args: {times: \"${" MENDED "}\"},\n"
               "      routes: [{when: node.visit < 3, to: x}], default: e}\n"
               "  z: {type: tool, tool: t/read,\n"
               "      routes: [{when: node.visit < 3, to: x}], default: e}\n"
               "  e: {type: tool, tool: t/read}\n");
    admit("{}");
    finish("x");
    finish("y");
    if (_i == 0)
        finish("z");
    finish("a");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(update("{\"scratch\": {\"mended\": true}}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("y", "done");
    assert_runs("x", 1);
    assert_runs("z", 1);
    assert_runs("e", 0);
    end();
}
END_TEST

/* ... in a graph inside another, which goes on with what that comes to. */
START_TEST(a_failure_before_the_first_end_inside)
{
    struct mortise_input in = {.kind = MORTISE_IN_RESULT};
    uint32_t seed = 1;

    begin(HEAD "start: in\n"
               "nodes:\n"
               "  in:\n"
               "    type: subgraph\n"
               "    next: after\n"
               "    graph:\n"
               "      start: [a, b, c]\n"
               "      end: first\n"
               "      nodes:\n"
               "        a: {type: tool, tool: t/read, next: a2}\n"
               "        a2: {type: tool, tool: t/read, next: END}\n"
               "        b: {type: tool, tool: t/read, next: END}\n"
               "        c: {type: tool, tool: t/read, next: c2}\n"
               "        c2: {type: tool, tool: t/read}\n"
               "  after: {type: tool, tool: t/read}\n");
    admit("{}");
    sync_all();
    in.u.result =
        (struct mortise_result_in){.call = s.calls[call_of("a")].call.id,
                                   .status = MORTISE_EINVAL,
                                   .message = "broken",
                                   .error_code = "broken",
                                   .error_class = "permanent"};
    sim_feed(&s, &in);
    finish("b");
    finish("c");
    assert_status(MORTISE_RUN_FAILED);
    if (_i > 0)
        sim_crash(&s, &seed);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("a", "done");
    assert_node("c", "skipped");
    assert_runs("b", 1);
    assert_runs("a2", 0);
    assert_runs("c2", 0);
    assert_node("after", "done");
    end();
}
END_TEST

/* ... also by who resumes it when the process died before it was over: what END
 * stops is stopped first. */
START_TEST(a_death_before_the_first_end_is_over)
{
    uint32_t seed = (uint32_t)_i;

    begin(HEAD "start: [a, b, c, x]\n"
               "end: first\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/fail, next: END, args:\n"
               "      {times: \"${" MENDED "}\"}}\n"
               "  b: {type: tool, tool: t/read, next: END}\n"
               "  c: {type: tool, tool: t/read, next: c2}\n"
               "  c2: {type: tool, tool: t/read}\n"
               "  x: {type: tool, tool: t/read, next: y}\n"
               "  y: {type: tool, tool: t/read, routes:\n"
               "      [{when: node.visit < 9, to: x}], default: c2}\n");
    admit("{}");
    finish("a");
    finish("b");
    ck_assert(s.calls[call_of("c")].cancelled);
    ck_assert_int_eq(mortise_run_status(s.run), MORTISE_RUN_RUNNING);
    sim_crash(&s, &seed);
    ck_assert_int_eq(update("{\"scratch\": {\"mended\": true}}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    if (mortise_run_status(s.run) == MORTISE_RUN_FAILED)
        ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("a", "done");
    assert_runs("x", 1);
    assert_runs("y", 0);
    assert_runs("c2", 0);
    end();
}
END_TEST

/* An inner graph came to its END.  Before its losers let go, the graph around it
 * was stopped.  When the outer graph goes on, the inner one is over. */
START_TEST(an_end_before_all_around_it_is_stopped)
{
    uint32_t seed = 1;

    begin(HEAD "start: [in, slow]\n"
               "failure: fail_fast\n"
               "nodes:\n"
               "  slow: {type: tool, tool: t/fail, next: END,\n"
               "         args: {times: \"${" MENDED "}\"}}\n"
               "  in:\n"
               "    type: subgraph\n"
               "    next: after\n"
               "    graph:\n"
               "      start: [a, b]\n"
               "      end: first\n"
               "      nodes:\n"
               "        a: {type: tool, tool: t/read, next: END}\n"
               "        b: {type: tool, tool: t/read, next: END}\n"
               "  after: {type: tool, tool: t/read}\n");
    admit("{}");
    sync_all();
    finish("a");
    ck_assert(s.calls[call_of("b")].cancelled);
    finish("slow");
    finish("b");
    assert_status(MORTISE_RUN_FAILED);
    if (_i > 0)
        sim_crash(&s, &seed);
    ck_assert_int_eq(update("{\"scratch\": {\"mended\": true}}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("a", 1);
    assert_runs("b", 1);
    assert_node("b", "skipped");
    assert_node("after", "done");
    end();
}
END_TEST

/* What stops a graph while the branch `b` is at work in it, or in a graph in
 * it; `slow` takes longer than anybody waits. */
#define SLOW "  slow: {type: tool, tool: t/read, next: END}\n"
#define BROKEN                                                                 \
    "  slow: {type: tool, tool: t/fail, next: END, args: {times: 9}}\n"

static const char *const stops[] = {
    "failure: fail_fast\nstart: [b, slow]\nnodes:\n" BROKEN,
    "limits: {timeout: 5s}\nstart: [b, slow]\nnodes:\n" SLOW,
    "budget: {wall: 5s, on_exceeded: fail}\nstart: [b, slow]\nnodes:\n" SLOW,
    "start: in\nnodes:\n  in:\n    type: subgraph\n    timeout: 5s\n"
    "    graph:\n      start: [b, slow]\n      nodes:\n      " SLOW,
    "start: in\nnodes:\n  in:\n    type: subgraph\n"
    "    retry_policy: {max_attempts: 2, delay: 1ms}\n"
    "    graph:\n      failure: fail_fast\n      start: [b, slow]\n"
    "      nodes:\n      " BROKEN,
    "failure: fail_fast\nstart: [in, slow]\nnodes:\n" BROKEN
    "  in:\n    type: subgraph\n    graph:\n      start: b\n      nodes:\n",
};
static const char *const stopped[] = {
    "{type: human, prompt: q, next: END}",
    "{type: tool, tool: t/read, next: END}",
    "{type: tool, tool: t/ask, next: END, args: {asks: [{method: q, kind: "
    "question, body: {prompt: q}}]}}",
    "{type: tool, tool: t/fail, next: END, args: {class: transient}, "
    "retry_policy: {max_attempts: 3, delay: 1h, max_delay: 1h, retry_on: "
    "[transient]}}",
    "{type: subgraph, next: END, graph: {start: h, nodes: {h: {type: human, "
    "prompt: q, next: END}}}}",
};

enum { N_STOPS = sizeof stops / sizeof stops[0], STOPPED_WAYS = 5 };

/* `b` is as far as it goes without anybody, and `slow` fails or is too slow. */
static void stop_it(void)
{
    sync_all();
    for (size_t i = 0; i < s.n_calls;) {
        bool ends = strcmp(s.calls[i].call.operation, "read") != 0 &&
                    strcmp(s.calls[i].call.node->id, "slow") != 0;

        if (!ends || !sim_end_call(&s, i))
            i++;
        sync_all();
    }
    for (size_t i = 0; i < s.n_timers; i++)
        if (s.timers[i].at_ms < s.now_ms + 10000)
            sim_fire_timer(&s, i);
    sim_run_plain(&s);
}

/* However a graph was stopped, and whatever was at work in it: what failed can
 * be tried again, also by a process that knows no more than the disk, and ends
 * as it did. */
START_TEST(what_was_stopped_is_tried_again)
{
    const char *stop = stops[_i % N_STOPS];
    uint32_t seed = 1;
    char yaml[2048];

    for (size_t k = 0; k < sizeof stopped / sizeof stopped[0]; k++) {
        snprintf(yaml, sizeof yaml, HEAD "%s%sb: %s\n", stop,
                 strstr(stop, "graph:") != NULL ? "        " : "  ",
                 stopped[k]);
        begin(yaml);
        admit("{}");
        stop_it();
        assert_status(MORTISE_RUN_FAILED);
        for (int again = 0; again < 2; again++) {
            if (_i / N_STOPS > 0)
                sim_crash(&s, &seed);
            if (_i / N_STOPS > 1)
                sim_recover(&s);
            if (_i / N_STOPS == 3)
                ck_assert_int_eq(update("{\"scratch\": {\"x\": 1}}"),
                                 MORTISE_OK);
            if (_i / N_STOPS == 4)
                ck_assert_int_eq(jump(strstr(stop, "in:") != NULL ? "in" : "b"),
                                 MORTISE_OK);
            else
                ck_assert_int_eq(
                    sim_command(&s,
                                &(struct mortise_command){
                                    .size = sizeof(struct mortise_command),
                                    .kind = MORTISE_CMD_RESUME},
                                1, 0, "ann", &err),
                    MORTISE_OK);
            stop_it();
            if (_i / N_STOPS == 4)
                break;
            assert_status(MORTISE_RUN_FAILED);
        }
        end();
    }
}
END_TEST

/* Early ends, too, are decided once. */
START_TEST(early_ends_survive_deaths)
{
    uint32_t seed = (uint32_t)_i;

    begin_two_ways(_i % 2 == 0 ? "end: first\n" : "failure: fail_fast\n",
                   _i % 2 == 0 ? "{\"fails\": 0}" : "{\"fails\": 9}");
    run_dying(&seed, 3);
    assert_status(_i % 2 == 0 ? MORTISE_RUN_COMPLETED : MORTISE_RUN_FAILED);
    end();
}
END_TEST

static Suite *races(void)
{
    Suite *suite = suite_create("races");
    TCase *tc = tcase_create("joins");

    tcase_add_test(tc, a_quorum_cancels_the_third);
    tcase_add_test(tc, a_quorum_lets_the_third_finish);
    tcase_add_test(tc, any_takes_the_first);
    tcase_add_test(tc, who_leads_elsewhere_goes_on);
    tcase_add_loop_test(tc, races_survive_deaths, 0, 60);
    tcase_add_test(tc, a_losing_effect_does_not_count);
    tcase_add_test(tc, a_losing_question_is_withdrawn);
    tcase_add_test(tc, a_losing_loop_stops);
    tcase_add_test(tc, a_losing_loop_finishes);
    tcase_add_test(tc, a_loser_within_a_loser);
    tcase_add_test(tc, a_failed_branch_fails);
    tcase_add_test(tc, a_failed_branch_is_collected);
    tcase_add_test(tc, nothing_but_failures_is_collected);
    tcase_add_test(tc, nobody_collects_for_a_race);
    tcase_add_test(tc, out_of_reach_in_any_order);
    tcase_add_test(tc, a_failed_branch_is_dropped);
    tcase_add_test(tc, out_of_reach);
    tcase_add_loop_test(tc, who_fails_first_fails_nothing, 0, 3);
    tcase_add_test(tc, a_race_may_fail_by_its_first_failure);
    tcase_add_test(tc, nothing_but_failures_fails);
    suite_add_tcase(suite, tc);
    tc = tcase_create("early ends");
    tcase_add_test(tc, a_failure_lets_others_finish);
    tcase_add_test(tc, fail_fast);
    tcase_add_test(tc, fail_fast_in_a_loop);
    tcase_add_test(tc, fail_fast_in_a_map);
    tcase_add_test(tc, fail_fast_waits_for_who_may_mend);
    tcase_add_test(tc, fail_fast_lets_collected_failures_be);
    tcase_add_test(tc, the_first_end_is_the_end);
    tcase_add_test(tc, a_failure_before_the_first_end);
    tcase_add_loop_test(tc, a_failure_before_the_first_end_is_tried_again, 0,
                        2);
    tcase_add_loop_test(tc, an_element_that_failed_before_the_first_end, 1, 4);
    tcase_add_loop_test(tc, a_visit_that_failed_before_the_first_end, 0, 2);
    tcase_add_loop_test(tc, a_failure_before_the_first_end_inside, 0, 2);
    tcase_add_loop_test(tc, a_death_before_the_first_end_is_over, 0, 8);
    tcase_add_loop_test(tc, an_end_before_all_around_it_is_stopped, 0, 2);
    tcase_add_loop_test(tc, what_was_stopped_is_tried_again, 0,
                        N_STOPS * STOPPED_WAYS);
    tcase_add_loop_test(tc, early_ends_survive_deaths, 0, 60);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(races());
}
