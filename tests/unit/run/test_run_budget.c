/* test_run_budget.c -- what a graph may spend: core/run/spend/budget.c. */
#include "core/model/graph.h"
#include "lib/drive.h"

static int raise_at(const char *path, const char *json)
{
    return do_command((struct mortise_command){
        .kind = MORTISE_CMD_BUDGET, .json = json, .node = path});
}

static int raise(const char *json)
{
    return raise_at(NULL, json);
}

/* How many durable events of that type were told. */
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

/* The `used` of the newest event of that type. */
static json_int_t used_in_event(const char *type)
{
    json_int_t used = -1;
    json_t *event;
    size_t i;

    json_array_foreach(s.published, i, event)
    {
        if (strcmp(json_string_value(json_object_get(event, "type")), type) ==
            0)
            used = json_integer_value(json_object_get(event, "used"));
    }
    return used;
}

static void assert_used(const char *what, json_int_t used, json_int_t limit)
{
    json_t *show = sim_show(&s);
    json_t *one = json_object_get(json_object_get(show, "budget"), what);

    ck_assert_int_eq(json_integer_value(json_object_get(one, "used")), used);
    ck_assert_int_eq(json_integer_value(json_object_get(one, "limit")), limit);
    json_decref(show);
}

static void assert_paused(void)
{
    assert_status(MORTISE_RUN_PAUSED);
    ck_assert_str_eq(mortise_run_reason(s.run), "budget");
    ck_assert(mortise_run_is_idle(s.run));
}

static const char chain[] = HEAD "start: a\n"
                                 "budget: {tool_calls: 2%s}\n"
                                 "nodes:\n"
                                 "  a: {type: tool, tool: t/read, next: b}\n"
                                 "  b: {type: tool, tool: t/write, next: c}\n"
                                 "  c: {type: tool, tool: t/echo, next: d}\n"
                                 "  d: {type: tool, tool: t/write}\n";

static void begin_chain(const char *more)
{
    char yaml[512];

    snprintf(yaml, sizeof yaml, chain, more);
    begin(yaml);
    admit("{}");
}

/* A call that the budget has nothing left for waits until somebody raises it;
 * dying changes nothing of it.
 * key: graph.budget, budget.tool_calls */
START_TEST(calls_pause)
{
    uint32_t seed = 1;

    begin_chain("");
    sim_run_plain(&s);
    assert_paused();
    assert_node("b", "done");
    assert_used("tool_calls", 2, 2);
    ck_assert_uint_eq(n_events("budget_exceeded"), 1);
    ck_assert_ptr_nonnull(sim_request(&s, "c"));
    sim_crash(&s, &seed);
    assert_paused();
    sim_recover(&s);
    sim_run_plain(&s);
    assert_paused();
    assert_used("tool_calls", 2, 2);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_paused();
    ck_assert_int_eq(raise("{\"tool_calls\": \"+1\"}"), MORTISE_OK);
    assert_paused();
    assert_node("c", "done");
    ck_assert_int_eq(raise("{\"tool_calls\": 9}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_used("tool_calls", 4, 9);
    ck_assert_int_eq(raise("{\"tool_calls\": 10}"), MORTISE_ESTATE);
    end();
}
END_TEST

/* Pausing is what happens where nothing is said.
 * key: budget.on_exceeded, budget.on_exceeded=pause */
START_TEST(it_may_be_said_to_pause)
{
    begin_chain(", on_exceeded: pause");
    sim_run_plain(&s);
    assert_paused();
    end();
}
END_TEST

/* The graph may fail of it instead; with more, it goes on where it was.
 * key: budget.on_exceeded=fail */
START_TEST(it_may_fail)
{
    begin_chain(", on_exceeded: fail");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("budget");
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_run_error("budget");
    ck_assert_int_eq(raise("{\"tool_calls\": 4}"), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_used("tool_calls", 4, 4);
    assert_runs("a", 1);
    end();
}
END_TEST

static const char wrap[] =
    HEAD "start: [a, w, h, p]\n"
         "budget: {tool_calls: %d, on_exceeded: {goto: up}}\n"
         "state: {reducers: {scratch.log: concat}}\n"
         "nodes:\n"
         "  a: {type: tool, tool: t/read, next: b, outputs: {scratch.log: "
         "'[1]'}}\n"
         "  b: {type: tool, tool: t/read, next: j, outputs: {scratch.log: "
         "'[2]'}}\n"
         "  w: {type: human, prompt: go?, next: j}\n"
         "  h: {type: tool, tool: t/write, next: j}\n"
         "  p: {type: tool, tool: t/read, next: j}\n"
         "  j: {type: tool, tool: t/read, next: END}\n"
         "  up: {type: router, routes: [{when: 'size(scratch.log) == 1', to: "
         "k}], default: END}\n"
         "  k: {type: human, prompt: enough?, next: l}\n"
         "  l: {type: tool, tool: t/read}\n";

/* Or it goes on elsewhere: what is out is stopped, questions are withdrawn, and
 * the node that it leads to comes after what was done.  Having gone there, it
 * fails of it when it is exceeded again.
 * key: on_exceeded.goto */
START_TEST(it_may_lead_elsewhere)
{
    char yaml[2048];

    snprintf(yaml, sizeof yaml, wrap, 3);
    begin(yaml);
    admit("{}");
    sync_all();
    finish("h");
    ck_assert_ptr_nonnull(sim_request(&s, "w"));
    finish("p");
    finish("a"); /* and there is nothing left for b */
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_WAITING);
    assert_node("b", "skipped");
    assert_node("w", "skipped");
    assert_node("up", "done");
    assert_record("k", "after", "[\"1.0/up#1\"]");
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                            .id = sim_request(&s, "k"),
                                            .json = "{\"approved\": true}"}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("budget");
    assert_node("l", "skipped");
    ck_assert_int_eq(raise("{\"tool_calls\": \"+1\"}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("l", "done");
    assert_used("tool_calls", 4, 4);
    end();
}
END_TEST

/* Nobody takes that edge otherwise. */
START_TEST(it_leads_nowhere_unless_exceeded)
{
    char yaml[2048];

    snprintf(yaml, sizeof yaml, wrap, 9);
    begin(yaml);
    admit("{}");
    sim_run_plain(&s);
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                            .id = sim_request(&s, "w"),
                                            .json = "{\"approved\": true}"}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("up", "skipped");
    assert_node("j", "done");
    end();
}
END_TEST

/* In a graph inside another it leads to a node of that one. */
START_TEST(inner_graphs_lead_within)
{
    run_plain(HEAD "start: sub\n"
                   "nodes:\n"
                   "  sub:\n"
                   "    type: subgraph\n"
                   "    graph:\n"
                   "      start: [x, y]\n"
                   "      budget: {tool_calls: 1, on_exceeded: {goto: z}}\n"
                   "      nodes:\n"
                   "        x: {type: tool, tool: t/read}\n"
                   "        y: {type: tool, tool: t/read}\n"
                   "        z: {type: guardrail, guardrails: [ok]}\n"
                   "    next: end\n"
                   "  end: {type: tool, tool: t/read}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("z", "done");
    assert_node("y", "skipped");
    assert_node("sub", "done");
    end();
}
END_TEST

/* Killed anywhere on its way there, it gets there. */
START_TEST(dying_leads_there)
{
    uint32_t seed = (uint32_t)_i + 1;

    begin(HEAD "start: [a, b]\n"
               "budget: {tool_calls: 3, on_exceeded: {goto: up}}\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: m}\n"
               "  b: {type: tool, tool: t/idem, next: m}\n"
               "  m: {type: tool, tool: t/read, map: {over: '[1, 2, 3]',"
               " to: n, join: j}}\n"
               "  n: {type: tool, tool: t/read, next: j}\n"
               "  j: {type: tool, tool: t/echo}\n"
               "  up: {type: router, routes: [{when: 'true', to: END}],\n"
               "       default: END}\n");
    admit("{}");
    run_dying(&seed, 2 + _i % 3);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("up", "done");
    end();
}
END_TEST

/* Orders that make no sense are refused, and say why. */
START_TEST(only_more_is_more)
{
    static const char *const bad[] = {
        "{}",
        "[]",
        "{\"tool_calls\": 2}",
        "{\"tool_calls\": 1}",
        "{\"tool_calls\": 0}",
        "{\"tool_calls\": -3}",
        "{\"tool_calls\": 2.5}",
        "{\"tool_calls\": \"3\"}",
        "{\"tool_calls\": \"+0\"}",
        "{\"tool_calls\": \"+x\"}",
        "{\"tool_calls\": \"+1 \"}",
        "{\"tool_calls\": \"+9223372036854775807\"}",
        "{\"steps\": 5}"};

    begin_chain("");
    sim_run_plain(&s);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(raise(bad[i]) == MORTISE_EINVAL, "%s", bad[i]);
    ck_assert_int_eq(raise_at("1.0/a#1", "{\"tool_calls\": 5}"),
                     MORTISE_ENOTFOUND);
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                            .id = sim_request(&s, "c"),
                                            .json = "{\"approved\": true}"}),
        MORTISE_EDECISION);
    assert_paused();
    end();
    run_plain(HEAD "start: a\nnodes:\n  a: {type: tool, tool: t/fail}\n", "{}");
    ck_assert_int_eq(raise("{\"tool_calls\": 5}"), MORTISE_EINVAL);
    end();
}
END_TEST

/* Each attempt is a call; what calls nobody is none. */
START_TEST(attempts_are_calls)
{
    run_plain(HEAD "start: a\n"
                   "budget: {tool_calls: 3}\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/fail, next: r,\n"
                   "      args: {times: 2, class: transient},\n"
                   "      retry_policy: {max_attempts: 3, delay: 1s}}\n"
                   "  r: {type: router, routes: [{when: 'true', to: g}],\n"
                   "      default: g}\n"
                   "  g: {type: guardrail, guardrails: [ok]}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_used("tool_calls", 3, 3);
    end();
}
END_TEST

/* Elements of a map and rounds of a loop draw on it, and so do branches side by
 * side: as many calls are out as there is room for. */
START_TEST(everything_counts)
{
    run_plain(HEAD "start: a\n"
                   "budget: {tool_calls: 4}\n"
                   "nodes:\n"
                   "  a: {type: router, routes: [{when: 'true', to: b}],\n"
                   "      default: b}\n"
                   "  b: {type: tool, tool: t/read, map: {over: '[1, 2, 3, 4]',"
                   " to: m, join: j}}\n"
                   "  m: {type: tool, tool: t/read, next: j}\n"
                   "  j: {type: tool, tool: t/read, routes:\n"
                   "      [{when: node.visit < 2, to: a}], default: END}\n",
              "{}");
    assert_paused();
    assert_used("tool_calls", 4, 4);
    assert_runs("m", 4);
    ck_assert_int_eq(raise("{\"tool_calls\": 8}"), MORTISE_OK);
    assert_paused();
    ck_assert_int_eq(raise("{\"tool_calls\": 12}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_used("tool_calls", 12, 12);
    ck_assert_uint_eq(n_events("budget_exceeded"), 2);
    end();
}
END_TEST

static const char nested[] =
    HEAD "start: sub\n"
         "budget: {tool_calls: %d}\n"
         "nodes:\n"
         "  sub:\n"
         "    type: subgraph\n"
         "    graph:\n"
         "      start: x\n"
         "      budget: {tool_calls: %d%s}\n"
         "      nodes:\n"
         "        x: {type: tool, tool: t/read, next: y}\n"
         "        y: {type: tool, tool: t/read, next: z}\n"
         "        z: {type: tool, tool: t/read}\n"
         "    on_error: {goto: end}\n"
         "    next: end\n"
         "  end: {type: tool, tool: t/read}\n";

static void begin_nested(int outer, int inner, const char *more)
{
    char yaml[1024];

    snprintf(yaml, sizeof yaml, nested, outer, inner, more);
    begin(yaml);
    admit("{}");
    sim_run_plain(&s);
}

/* A graph in another draws on both budgets, and both hold. */
START_TEST(both_hold)
{
    begin_nested(2, 9, "");
    assert_paused();
    assert_node("y", "done");
    assert_used("tool_calls", 2, 2);
    ck_assert_int_eq(raise("{\"tool_calls\": 4}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_used("tool_calls", 4, 4);
    end();

    begin_nested(9, 1, "");
    assert_paused();
    assert_node("x", "done");
    assert_used("tool_calls", 1, 9);
    ck_assert_int_eq(raise("{\"tool_calls\": 20}"), MORTISE_OK);
    assert_paused();
    ck_assert_int_eq(raise_at("1.0/sub#1", "{\"tool_calls\": \"+2\"}"),
                     MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("sub", "budget", "{\"tool_calls\":{\"limit\":3,\"used\":3}}");
    end();
}
END_TEST

/* A graph in another that fails of its budget is a node that failed. */
START_TEST(inner_failures_are_a_nodes)
{
    begin_nested(9, 1, ", on_exceeded: fail");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("sub", "failed");
    assert_node_error("sub", "budget");
    assert_node("end", "done");
    assert_used("tool_calls", 2, 9);
    end();
}
END_TEST

/* What is left for one of two goes to one; the other asks at once, since a call
 * counts before it is made.  Others that call nothing go on. */
START_TEST(the_last_one_is_a_race)
{
    begin(HEAD "start: [a, b, h]\n"
               "budget: {tool_calls: 1}\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: j}\n"
               "  b: {type: tool, tool: t/read, next: j}\n"
               "  h: {type: human, prompt: go?}\n"
               "  j: {type: tool, tool: t/read}\n");
    admit("{}");
    sync_all();
    ck_assert(is_out("a"));
    ck_assert(!is_out("b"));
    assert_node("b", "awaiting_approval");
    ck_assert_ptr_nonnull(sim_request(&s, "h"));
    finish("a");
    assert_node("b", "awaiting_approval");
    ck_assert_int_eq(raise("{\"tool_calls\": 3}"), MORTISE_OK);
    assert_node("j", "done");
    end();
}
END_TEST

/* So what is at work when the calls are used up is stopped, and what it would have
 * written counts for nothing. */
START_TEST(no_call_left_stops_what_is_at_work)
{
    begin(HEAD "start: [a, b]\n"
               "budget: {tool_calls: 2, on_exceeded: {goto: f}}\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: c}\n"
               "  b: {type: tool, tool: t/read, outputs: {scratch.b: '1'}}\n"
               "  c: {type: tool, tool: t/read}\n"
               "  f: {type: human, prompt: over, auto_accept: true}\n");
    admit("{}");
    sync_all();
    finish("a");
    ck_assert(s.calls[call_of("b")].cancelled);
    finish("b");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", "skipped");
    assert_node("f", "done");
    assert_value("scratch", "b", "nothing");
    end();
}
END_TEST

static const char clocked[] = HEAD "start: [a, b, h]\n"
                                   "budget: {wall: 10s%s}\n"
                                   "nodes:\n"
                                   "  a: {type: tool, tool: t/read, next: c}\n"
                                   "  b: {type: tool, tool: t/write, next: c}\n"
                                   "  h: {type: human, prompt: go?, next: c}\n"
                                   "  c: {type: tool, tool: t/read}\n";

static void begin_clocked(const char *more)
{
    char yaml[1024];

    snprintf(yaml, sizeof yaml, clocked, more);
    begin(yaml);
    admit("{}");
    sync_all();
}

static void answer(const char *node)
{
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                            .id = sim_request(&s, node),
                                            .json = "{\"approved\": true}"}),
        MORTISE_OK);
}

/* Time goes by, and what is due by then. */
static void pass_time(uint64_t ms)
{
    s.now_ms += ms;
    for (size_t i = s.n_timers; i-- > 0;) {
        if (s.timers[i].at_ms <= s.now_ms)
            sim_fire_timer(&s, i);
    }
    sync_all();
}

/* The steps of the world take some of it, too. */
static void assert_wall(json_int_t least, json_int_t limit)
{
    json_t *show = sim_show(&s);
    json_t *one = json_object_get(json_object_get(show, "budget"), "wall");
    json_int_t used = json_integer_value(json_object_get(one, "used"));

    ck_assert_int_ge(used, least);
    ck_assert_int_le(used, least + 50);
    ck_assert_int_eq(json_integer_value(json_object_get(one, "limit")), limit);
    json_decref(show);
}

/* Time in which calls are out is bounded: what only reads is stopped, what has
 * an effect is awaited, and nothing else is called until there is more.
 * key: budget.wall */
START_TEST(time_is_bounded)
{
    uint32_t seed = 1;

    begin_clocked("");
    ck_assert(is_out("a") && is_out("b"));
    pass_time(10000);
    ck_assert(s.calls[call_of("a")].cancelled);
    ck_assert(!s.calls[call_of("b")].cancelled);
    finish("a");
    assert_node("a", "awaiting_approval");
    s.now_ms += 500;
    finish("b");
    assert_node("b", "done");
    assert_wall(10500, 10000);
    ck_assert_uint_eq(n_events("budget_exceeded"), 1);
    ck_assert_uint_eq(n_events("budget_warning"), 1);
    s.now_ms += 3600000; /* nothing is out */
    answer("h");
    assert_paused();
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_paused();
    assert_wall(10500, 10000);
    ck_assert_int_eq(raise("{\"wall\": 10400}"), MORTISE_EINVAL);
    ck_assert_int_eq(raise("{\"wall\": \"+5000\"}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("a", 1);
    end();
}
END_TEST

/* More time while a call is out is time for that call. */
START_TEST(time_may_be_raised_meanwhile)
{
    begin_clocked("");
    s.now_ms += 9000;
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_BUDGET,
                                         .json = "{\"wall\": 20000}"},
                0),
        MORTISE_OK);
    s.now_ms += 2000;
    for (size_t i = 0; i < s.n_timers; i++)
        ck_assert_uint_gt(s.timers[i].at_ms, s.now_ms);
    finish("a");
    finish("b");
    answer("h");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_wall(11000, 20000);
    end();
}
END_TEST

/* The graph may fail of it, whatever is out, and be resumed with more. */
START_TEST(time_may_fail_it)
{
    begin_clocked(", on_exceeded: fail");
    finish("b");
    pass_time(10000);
    ck_assert(s.calls[call_of("a")].cancelled);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("budget");
    ck_assert_int_eq(raise("{\"wall\": 30000}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    answer("h");
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* A graph in another draws on its own time and on that of the one around it;
 * neither is given anew by a crash. */
START_TEST(inner_graphs_take_time)
{
    uint32_t seed = 1;

    begin(HEAD "start: sub\n"
               "budget: {wall: 60s}\n"
               "nodes:\n"
               "  sub:\n"
               "    type: subgraph\n"
               "    graph:\n"
               "      start: x\n"
               "      budget: {wall: 10s}\n"
               "      nodes:\n"
               "        x: {type: tool, tool: t/read, next: y}\n"
               "        y: {type: tool, tool: t/read, next: z}\n"
               "        z: {type: tool, tool: t/read}\n");
    admit("{}");
    sync_all();
    s.now_ms += 6000;
    finish("x");
    ck_assert(is_out("y"));
    s.now_ms += 1000;
    sim_crash(&s, &seed);
    sim_recover(&s);
    sync_all();
    ck_assert(is_out("y"));
    pass_time(4000);
    sim_run_plain(&s);
    assert_paused();
    assert_wall(10000, 60000);
    ck_assert_int_eq(raise_at("1.0/sub#1", "{\"wall\": \"+1000\"}"),
                     MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* One warning when four fifths are used, and another one after the budget was
 * raised. */
START_TEST(it_warns_once)
{
    run_plain(HEAD "start: x\n"
                   "budget: {tool_calls: 10}\n"
                   "nodes:\n"
                   "  x: {type: tool, tool: t/read, routes:\n"
                   "      [{when: node.visit < 16, to: x}], default: END}\n",
              "{}");
    assert_paused();
    ck_assert_uint_eq(n_events("budget_warning"), 1);
    ck_assert_int_eq(used_in_event("budget_warning"), 8);
    ck_assert_int_eq(raise("{\"tool_calls\": 20}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(n_events("budget_warning"), 2);
    ck_assert_int_eq(used_in_event("budget_warning"), 16);
    end();
}
END_TEST

/* A call that died with the process was made, for all we know; one of which
 * nothing is on disk was not made at all. */
START_TEST(what_was_cut_off_counts)
{
    uint32_t seed = 1;

    begin_chain("");
    sim_sync_one(&s);
    ck_assert(is_out("a"));
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_paused();
    assert_node("a", "done");
    assert_node("b", "awaiting_approval");
    assert_used("tool_calls", 2, 2);
    end();
}
END_TEST

/* Nothing is called before its reservation is on disk. */
START_TEST(reservations_come_first)
{
    begin_chain("");
    ck_assert(!is_out("a"));
    sim_sync_one(&s);
    ck_assert(is_out("a"));
    sim_end_call(&s, call_of("a"));
    ck_assert(!is_out("b"));
    sync_all();
    ck_assert(is_out("b"));
    sim_run_plain(&s);
    end();
}
END_TEST

/* What wants to be on disk before it starts reserves after that. */
START_TEST(it_starts_before_it_reserves)
{
    run_plain(HEAD "start: a\n"
                   "budget: {tool_calls: 1}\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/read, checkpoint: before}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_used("tool_calls", 1, 1);
    end();
}
END_TEST

/* To be entered again after a suspension is the same call. */
START_TEST(suspensions_are_one_call)
{
    const char *id;
    json_t *p;

    begin(HEAD "start: a\n"
               "budget: {tool_calls: 1}\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/ask, args: {asks:\n"
               "      [{method: q, kind: question, body: {prompt: x}}]}}\n");
    admit("{}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_WAITING);
    json_object_foreach(s.pending, id, p) break;
    ck_assert_int_eq(do_command((struct mortise_command){
                         .kind = MORTISE_CMD_ANSWER, .id = id, .json = "1"}),
                     MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_used("tool_calls", 1, 1);
    end();
}
END_TEST

/* A command that finds a call reserved, and not made, does not lose it. */
START_TEST(what_was_not_called_is_not_lost)
{
    begin_chain("");
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_PAUSE}, 0),
        MORTISE_OK);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_PAUSED);
    assert_node("a", "pending");
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_node("b", "done");
    assert_used("tool_calls", 2, 2);
    end();
}
END_TEST

/* People who move a run do not find it hanging on an old request. */
START_TEST(other_commands_go_by)
{
    begin_chain("");
    sim_run_plain(&s);
    ck_assert_int_eq(update("{\"scratch\": {}}"), MORTISE_OK);
    assert_paused();
    ck_assert_int_eq(jump("a"), MORTISE_OK);
    assert_paused();
    assert_node("a", "awaiting_approval");
    ck_assert_int_eq(raise("{\"tool_calls\": 6}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
    begin_chain("");
    sim_run_plain(&s);
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_CANCEL}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_CANCELLED);
    end();
}
END_TEST

/* Killed at any commit, and again, no run spends more than it may, and each
 * gets to its end by being given more. */
START_TEST(dying_spends_no_more)
{
    uint32_t seed = (uint32_t)_i + 1;
    json_t *show;

    begin(HEAD "start: [a, b]\n"
               "budget: {tool_calls: 3}\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read, next: m}\n"
               "  b: {type: tool, tool: t/idem, next: m}\n"
               "  m: {type: tool, tool: t/read, map: {over: '[1, 2, 3]',"
               " to: n, join: j}}\n"
               "  n: {type: tool, tool: t/rec, next: j}\n"
               "  j: {type: tool, tool: t/echo}\n");
    admit("{}");
    run_dying(&seed, 2 + _i % 3);
    for (int i = 0; i < 60; i++) {
        if (mortise_run_is_finished(s.run))
            break;
        assert_paused();
        show = sim_show(&s);
        ck_assert_int_le(
            json_integer_value(json_object_get(
                json_object_get(json_object_get(show, "budget"), "tool_calls"),
                "used")),
            json_integer_value(json_object_get(
                json_object_get(json_object_get(show, "budget"), "tool_calls"),
                "limit")));
        json_decref(show);
        ck_assert_int_eq(raise("{\"tool_calls\": \"+1\"}"), MORTISE_OK);
        if (i < 3) {
            sim_crash(&s, &seed);
            sim_recover(&s);
            sim_run(&s, &seed);
        }
    }
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

static const char two[] = HEAD "start: [a, b]\n"
                               "budget: {tool_calls: 1}\n"
                               "nodes:\n"
                               "  a: {type: tool, tool: t/echo}\n"
                               "  b: {type: tool, tool: t/echo}\n";

/* What the run's actions lead to, until there are none. */
static int go_on(struct mortise_run *r, struct mortise_actions *actions)
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
                                                     .error_class = ""};
        }
        rv = mortise_run_step(r, &in, actions, &err);
    }
    mortise_actions_clear(actions);
    return rv;
}

static bool run_stingy(int n)
{
    const struct mortise_run_command more = {
        .kind = MORTISE_CMD_BUDGET,
        .value = json_pack("{s:s}", "tool_calls", "+1")};
    struct mortise_input in = {.kind = MORTISE_IN_COMMAND, .now_ms = 1};
    struct mortise_admission adm = {
        .tenant = "t", .run = "r", .actor = "x", .seed = {1}};
    struct mortise_graph *g = sim_graph(two);
    struct mortise_actions actions;
    struct mortise_run *r = NULL;
    bool failed;
    int rv;

    in.u.command.list = &more;
    in.u.command.n = 1;
    in.u.command.actor = "x";
    adm.input = json_object();
    mortise_actions_init(&actions, &test_mem);
    test_mem_fail_at(n);
    rv = mortise_run_admit(&r, &test_mem, g, &adm, 1, &actions, &err);
    if (rv == MORTISE_OK)
        rv = go_on(r, &actions);
    if (rv == MORTISE_OK)
        rv = mortise_run_step(r, &in, &actions, &err);
    if (rv == MORTISE_OK)
        rv = go_on(r, &actions);
    failed = test_mem_failed();
    test_mem_fail_at(-1);
    ck_assert_int_eq(rv, failed ? MORTISE_ENOMEM : MORTISE_OK);
    if (!failed)
        ck_assert_int_eq(mortise_run_status(r), MORTISE_RUN_COMPLETED);
    mortise_run_free(r);
    mortise_actions_finish(&actions);
    mortise_graph_unref(g);
    json_decref(adm.input);
    json_decref(more.value);
    return failed;
}

/* It copes with memory running out anywhere. */
START_TEST(memory_may_run_out)
{
    int n = 0;

    while (run_stingy(n))
        n++;
    ck_assert_int_gt(n, 30);
}
END_TEST

/* A finaliser that is the one to find the budget used up runs as the last act. */
START_TEST(a_finaliser_finds_it_used_up)
{
    run_plain(HEAD "budget: {tool_calls: 2, on_exceeded: fail}\n"
                   "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/read, next: b}\n"
                   "  b: {type: tool, tool: t/read, next: fin}\n"
                   "  fin: {type: tool, tool: t/read, join: settled}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_run_error("budget");
    assert_node("fin", "done");
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_budget");
    TCase *tc = tcase_create("budget");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, calls_pause);
    tcase_add_test(tc, it_may_be_said_to_pause);
    tcase_add_test(tc, it_may_fail);
    tcase_add_test(tc, it_may_lead_elsewhere);
    tcase_add_test(tc, it_leads_nowhere_unless_exceeded);
    tcase_add_test(tc, inner_graphs_lead_within);
    tcase_add_loop_test(tc, dying_leads_there, 0, 60);
    tcase_add_test(tc, only_more_is_more);
    tcase_add_test(tc, attempts_are_calls);
    tcase_add_test(tc, everything_counts);
    tcase_add_test(tc, both_hold);
    tcase_add_test(tc, inner_failures_are_a_nodes);
    tcase_add_test(tc, the_last_one_is_a_race);
    tcase_add_test(tc, no_call_left_stops_what_is_at_work);
    tcase_add_test(tc, time_is_bounded);
    tcase_add_test(tc, time_may_be_raised_meanwhile);
    tcase_add_test(tc, time_may_fail_it);
    tcase_add_test(tc, inner_graphs_take_time);
    tcase_add_test(tc, it_warns_once);
    tcase_add_test(tc, what_was_cut_off_counts);
    tcase_add_test(tc, reservations_come_first);
    tcase_add_test(tc, it_starts_before_it_reserves);
    tcase_add_test(tc, suspensions_are_one_call);
    tcase_add_test(tc, what_was_not_called_is_not_lost);
    tcase_add_test(tc, other_commands_go_by);
    tcase_add_loop_test(tc, dying_spends_no_more, 0, 60);
    tcase_add_test(tc, memory_may_run_out);
    tcase_add_test(tc, a_finaliser_finds_it_used_up);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
