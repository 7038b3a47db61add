/* test_run.c -- the step function: what a run decides, whatever the timing,
 * and whatever dies. */
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
    sim_init(&s, sim_graph(yaml));
}

static void admit(const char *input)
{
    int rv = sim_admit(&s, input, &err);

    ck_assert_msg(rv == MORTISE_OK, "%s", err.msg);
}

static void run_plain(const char *yaml, const char *input)
{
    begin(yaml);
    admit(input);
    sim_run_plain(&s);
}

static void assert_status(int status)
{
    ck_assert_str_eq(mortise_run_status_name(mortise_run_status(s.run)),
                     mortise_run_status_name(status));
}

static void assert_state(const char *want)
{
    char *have = sim_state(&s);

    ck_assert_str_eq(have, want);
    free(have);
}

/* The record of a node's newest execution. */
static json_t *node_record(json_t *show, const char *node)
{
    json_t *nodes = json_object_get(show, "nodes"), *one, *found = NULL;
    size_t i;

    json_array_foreach(nodes, i, one)
    {
        if (strcmp(json_string_value(json_object_get(one, "node")), node) == 0)
            found = one;
    }
    ck_assert_msg(found != NULL, "no record of %s", node);
    return found;
}

static void assert_node(const char *node, const char *status)
{
    json_t *show = sim_show(&s);

    ck_assert_str_eq(
        json_string_value(json_object_get(node_record(show, node), "status")),
        status);
    json_decref(show);
}

static void assert_node_error(const char *node, const char *code)
{
    json_t *show = sim_show(&s);
    json_t *error = json_object_get(node_record(show, node), "error");

    ck_assert_str_eq(json_string_value(json_object_get(error, "code")), code);
    json_decref(show);
}

static int command(struct mortise_command c, uint32_t flags)
{
    c.size = sizeof c;
    return sim_command(&s, &c, 1, flags, "ann", &err);
}

static int do_command(struct mortise_command c)
{
    int rv = command(c, 0);

    if (rv == MORTISE_OK)
        sim_run_plain(&s);
    return rv;
}

static int resume(void)
{
    return do_command((struct mortise_command){.kind = MORTISE_CMD_RESUME});
}

static int jump(const char *node)
{
    return do_command(
        (struct mortise_command){.kind = MORTISE_CMD_GOTO, .node = node});
}

static int update(const char *json)
{
    return do_command(
        (struct mortise_command){.kind = MORTISE_CMD_UPDATE, .json = json});
}

static int decide(const char *id, const char *decision)
{
    return do_command((struct mortise_command){
        .kind = MORTISE_CMD_APPROVE_TOOL, .id = id, .decision = decision});
}

static int answer(const char *id, const char *json)
{
    return do_command((struct mortise_command){
        .kind = MORTISE_CMD_ANSWER, .id = id, .json = json});
}

static int resolve(const char *id, const char *how, const char *json)
{
    return do_command((struct mortise_command){
        .kind = MORTISE_CMD_RESOLVE, .id = id, .decision = how, .json = json});
}

static void end(void)
{
    sim_finish(&s);
}

/* ---- scheduling -------------------------------------------------------- */

static const char chain[] =
    HEAD "start: a\n"
         "nodes:\n"
         "  a: {type: tool, tool: t/echo, args: {v: \"${input.v}\"},\n"
         "      outputs: {scratch.v: output.v + 1}, next: b}\n"
         "  b: {type: tool, tool: t/read, args: {v: \"${scratch.v}\"},\n"
         "      outputs: {scratch.v: output.v * 2}, next: c}\n"
         "  c: {type: tool, tool: t/echo, args: {v: \"${scratch.v}\"},\n"
         "      output_as: result, next: END}\n";

/* What one node writes the next one sees.
 * key: graph.nodes, node.type=tool, node.tool, node.args, node.outputs
 * key: node.output_as, node.next, graph.start */
START_TEST(a_chain_carries_its_state)
{
    run_plain(chain, "{\"v\": 20}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_state("{\"artifacts\":{\"a\":{\"v\":20},\"b\":{\"v\":21},"
                 "\"result\":{\"v\":42}},\"input\":{\"v\":20},"
                 "\"scratch\":{\"v\":42}}");
    ck_assert(sim_saw(&s, "run_start", NULL));
    ck_assert(sim_saw(&s, "node_end", "c"));
    ck_assert(sim_saw(&s, "run_end", NULL));
    end();
}
END_TEST

static const char arms[] =
    HEAD "start: choose\n"
         "nodes:\n"
         "  choose:\n"
         "    type: router\n"
         "    routes: [{when: input.left, to: l1}]\n"
         "    default: r1\n"
         "  l1: {type: tool, tool: t/echo, args: {n: 1}, next: l2}\n"
         "  l2: {type: tool, tool: t/echo, args: {n: 2}, next: join}\n"
         "  r1: {type: tool, tool: t/echo, args: {n: 3}, next: r2}\n"
         "  r2: {type: tool, tool: t/echo, args: {n: 4}, next: join}\n"
         "  join: {type: tool, tool: t/echo, args: {n: 5}, next: END}\n";

/* The two-node tail of a skipped arm never starts, and the join does not wait
 * for it.
 * key: node.routes, route.when, route.to, node.default */
START_TEST(a_skipped_arm_is_skipped_to_its_end)
{
    run_plain(arms, "{\"left\": true}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("l2", "done");
    assert_node("r1", "skipped");
    assert_node("r2", "skipped");
    assert_node("join", "done");
    ck_assert(sim_saw(&s, "node_skipped", "r2"));
    ck_assert(!sim_saw(&s, "node_start", "r2"));
    end();
}
END_TEST

/* Skipped by one source and chosen by another, a node runs once. */
START_TEST(skipped_here_chosen_there_runs_once)
{
    run_plain(HEAD "start: [p, q]\n"
                   "nodes:\n"
                   "  p: {type: router, routes: [{when: \"true\", to: x}], "
                   "default: END}\n"
                   "  q: {type: router, routes: [{when: \"false\", to: x}], "
                   "default: END}\n"
                   "  x: {type: tool, tool: t/echo, args: {a: 1}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_state("{\"artifacts\":{\"x\":{\"a\":1}},\"input\":{},"
                 "\"scratch\":{}}");
    end();
}
END_TEST

/* A condition on an edge from START chooses.
 * key: graph.edges, edge.from, edge.to, edge.when */
START_TEST(start_edges_choose)
{
    run_plain(HEAD "edges:\n"
                   "  - {from: START, to: a, when: input.n > 1}\n"
                   "  - {from: START, to: b, when: input.n <= 1}\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/echo}\n"
                   "  b: {type: tool, tool: t/echo}\n",
              "{\"n\": 2}");
    assert_node("a", "done");
    assert_node("b", "skipped");
    end();
}
END_TEST

/* `routes: {all: ...}` takes every one that holds, the default none of them.
 * key: routes.all */
START_TEST(all_routes_that_hold_are_taken)
{
    static const char yaml[] =
        HEAD "start: r\n"
             "nodes:\n"
             "  r: {type: router, default: d, routes: {all: [\n"
             "      {when: input.a, to: a}, {when: input.b, to: b}]}}\n"
             "  a: {type: tool, tool: t/echo}\n"
             "  b: {type: tool, tool: t/echo}\n"
             "  d: {type: tool, tool: t/echo}\n";

    run_plain(yaml, "{\"a\": true, \"b\": true}");
    assert_node("a", "done");
    assert_node("b", "done");
    assert_node("d", "skipped");
    end();
    run_plain(yaml, "{\"a\": false, \"b\": false}");
    assert_node("a", "skipped");
    assert_node("d", "done");
    end();
}
END_TEST

/* A router by condition takes what it names, and fails by name when that is
 * not among its targets.
 * key: node.type=router, node.condition, node.targets */
START_TEST(a_router_names_its_target)
{
    static const char yaml[] =
        HEAD "start: r\n"
             "nodes:\n"
             "  r: {type: router, condition: input.to, targets: [a, b]}\n"
             "  a: {type: tool, tool: t/echo}\n"
             "  b: {type: tool, tool: t/echo}\n";
    json_t *show;

    run_plain(yaml, "{\"to\": \"b\"}");
    assert_node("a", "skipped");
    assert_node("b", "done");
    end();
    run_plain(yaml, "{\"to\": \"nowhere\"}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("r", "route");
    show = sim_show(&s);
    ck_assert_ptr_nonnull(
        strstr(json_string_value(
                   json_object_get(json_object_get(show, "error"), "message")),
               "'nowhere'"));
    json_decref(show);
    end();
}
END_TEST

/* No more calls are out at once than the graph allows.
 * key: limits.concurrency */
START_TEST(concurrency_is_bounded)
{
    begin(HEAD "limits: {concurrency: 2}\n"
               "start: [a, b, c, d]\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/echo}\n"
               "  b: {type: tool, tool: t/echo}\n"
               "  c: {type: tool, tool: t/echo}\n"
               "  d: {type: tool, tool: t/echo}\n");
    admit("{}");
    while (s.n_calls > 0) {
        ck_assert_uint_le(s.n_calls, 2);
        sim_end_call(&s, s.n_calls - 1);
    }
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* ---- state --------------------------------------------------------------- */

static const char folding[] = HEAD
    "state:\n"
    "  reducers: {scratch.list: concat, scratch.sum: sum, scratch.text: "
    "concat,\n"
    "             scratch.low: min, scratch.high: max, scratch.long: longest,\n"
    "             scratch.first: first, scratch.obj: merge, scratch.end: "
    "last}\n"
    "start: seed\n"
    "nodes:\n"
    "  seed: {type: tool, tool: t/echo, output_as: null, args: {l: [s]},\n"
    "    outputs: {scratch.list: output.l, scratch.sum: \"10\",\n"
    "      scratch.text: \"'s'\", scratch.low: \"5\", scratch.high: \"5\",\n"
    "      scratch.long: \"'ab'\", scratch.obj: \"{'a': {'x': 1}}\"},\n"
    "    next: [l, r]}\n"
    "  l: {type: tool, tool: t/echo, output_as: null, args: {l: [l]}, next: "
    "j,\n"
    "    outputs: {scratch.list: output.l, scratch.sum: \"1\",\n"
    "      scratch.text: \"'l'\", scratch.low: \"2\", scratch.high: \"7\",\n"
    "      scratch.long: \"'efg'\", scratch.first: \"'l'\",\n"
    "      scratch.obj: \"{'a': {'y': 2}}\", scratch.end: \"'l'\"}}\n"
    "  r: {type: tool, tool: t/echo, output_as: null, args: {l: [r]}, next: "
    "j,\n"
    "    outputs: {scratch.list: output.l, scratch.sum: \"1\",\n"
    "      scratch.text: \"'r'\", scratch.low: \"7\", scratch.high: \"2\",\n"
    "      scratch.long: \"'cd'\", scratch.first: \"'r'\",\n"
    "      scratch.obj: \"{'a': {'x': 3}}\", scratch.end: \"'r'\"}}\n"
    "  j: {type: tool, tool: t/echo, args: \"${scratch}\"}\n";

/* A join sees all its branches' writes in declared order, whichever finished
 * first.
 * key: state.reducers, state.reducers=last, state.reducers=first
 * key: state.reducers=concat, state.reducers=merge, state.reducers=sum
 * key: state.reducers=min, state.reducers=max, state.reducers=longest */
START_TEST(branches_fold_in_declared_order)
{
    for (uint32_t i = 0; i < 40; i++) {
        uint32_t seed = i;

        begin(folding);
        admit("{}");
        sim_run(&s, &seed);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_state(
            "{\"artifacts\":{\"j\":{\"end\":\"r\",\"first\":\"l\",\"high\":7,"
            "\"list\":[\"s\",\"l\",\"r\"],\"long\":\"efg\",\"low\":2,"
            "\"obj\":{\"a\":{\"x\":3,\"y\":2}},\"sum\":12,\"text\":\"slr\"}},"
            "\"input\":{},\"scratch\":{\"end\":\"r\",\"first\":\"l\","
            "\"high\":7,\"list\":[\"s\",\"l\",\"r\"],\"long\":\"efg\","
            "\"low\":2,\"obj\":{\"a\":{\"x\":3,\"y\":2}},\"sum\":12,"
            "\"text\":\"slr\"}}");
        end();
    }
}
END_TEST

/* Branches see the state at their fork and their own writes, nothing of each
 * other. */
START_TEST(branches_do_not_see_each_other)
{
    run_plain(HEAD "start: [a, b]\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/echo, outputs: {scratch.a: "
                   "\"1\"}, next: a2}\n"
                   "  b: {type: tool, tool: t/echo, next: b2}\n"
                   "  a2: {type: tool, tool: t/echo, args: {a: "
                   "\"${has(scratch.a)}\"}}\n"
                   "  b2: {type: tool, tool: t/echo, args: {a: "
                   "\"${has(scratch.a)}\"}}\n",
              "{}");
    assert_state("{\"artifacts\":{\"a\":{},\"a2\":{\"a\":true},\"b\":{},"
                 "\"b2\":{\"a\":false}},\"input\":{},\"scratch\":{\"a\":1}}");
    end();
}
END_TEST

/* Two writes to one path, neither after the other, are a conflict: where they
 * meet, or at the end. */
START_TEST(concurrent_writes_conflict)
{
    run_plain(HEAD "start: [a, b]\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/echo, outputs: {scratch.x: "
                   "\"1\"}, next: j}\n"
                   "  b: {type: tool, tool: t/echo, outputs: {scratch.x.y: "
                   "\"2\"}, next: j}\n"
                   "  j: {type: tool, tool: t/echo}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("j", "conflict");
    end();
    run_plain(HEAD "start: [a, b]\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/echo, outputs: {scratch.x: "
                   "\"1\"}}\n"
                   "  b: {type: tool, tool: t/echo, outputs: {scratch.x: "
                   "\"2\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    end();
}
END_TEST

/* ... but not where one came after the other. */
START_TEST(ordered_writes_do_not_conflict)
{
    run_plain(HEAD
              "start: a\n"
              "nodes:\n"
              "  a: {type: tool, tool: t/echo, outputs: {scratch.x: \"1\"}, "
              "next: [b, c]}\n"
              "  b: {type: tool, tool: t/echo, outputs: {scratch.x: \"2\"}, "
              "next: d}\n"
              "  d: {type: tool, tool: t/echo, outputs: {scratch.x: \"3\"}, "
              "next: j}\n"
              "  c: {type: tool, tool: t/echo, next: j}\n"
              "  j: {type: tool, tool: t/echo, output_as: j, args: {x: "
              "\"${scratch.x}\"}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_state("{\"artifacts\":{\"a\":{},\"b\":{},\"c\":{},\"d\":{},"
                 "\"j\":{\"x\":3}},\"input\":{},\"scratch\":{\"x\":3}}");
    end();
}
END_TEST

/* Input is checked before the run starts.
 * key: state.input */
START_TEST(input_is_checked_at_admission)
{
    static const char yaml[] =
        HEAD "state: {input: {type: object, required: [n],\n"
             "  properties: {n: {type: number}}}}\n"
             "start: a\n"
             "nodes: {a: {type: tool, tool: t/echo, args: "
             "{n: \"${input.n}\"}}}\n";

    begin(yaml);
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_EINVAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "n"));
    end();
    run_plain(yaml, "{\"n\": 1}"); /* `number` is always a double */
    assert_state("{\"artifacts\":{\"a\":{\"n\":1.0}},\"input\":{\"n\":1.0},"
                 "\"scratch\":{}}");
    end();
}
END_TEST

/* A changed field that breaks its schema fails the node that wrote it.
 * key: graph.state, state.scratch */
START_TEST(state_is_checked_at_commit)
{
    run_plain(HEAD "state: {scratch: {type: object, additionalProperties: "
                   "false,\n"
                   "  properties: {n: {type: integer}}}}\n"
                   "start: a\n"
                   "nodes: {a: {type: tool, tool: t/echo, args: {n: x},\n"
                   "  outputs: {scratch.n: output.n}}}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("a", "schema");
    end();
}
END_TEST

/* ---- failing ---------------------------------------------------------------
 */

static const char failing[] = HEAD
    "start: a\n"
    "nodes:\n"
    "  a: {type: tool, tool: t/fail, args: \"${input}\", next: b,\n"
    "      retry_policy: {max_attempts: 3, backoff: exponential, delay: 1s,\n"
    "                     jitter: 0}}\n"
    "  b: {type: tool, tool: t/echo}\n";

/* Transient failures are tried again, after their back-off. */
START_TEST(transient_failures_retry)
{
    uint64_t before;

    begin(failing);
    admit("{\"class\": \"transient\", \"times\": 2}");
    before = s.now_ms;
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_ge(s.now_ms - before, 3000); /* 1 s, then 2 s */
    ck_assert_uint_lt(s.now_ms - before, 3100);
    ck_assert(sim_saw(&s, "retry_scheduled", "a"));
    end();
}
END_TEST

/* ... as often as the policy says, and permanent ones never.
 * key: retry_policy.max_attempts */
START_TEST(retries_end)
{
    json_t *show;

    run_plain(failing, "{\"class\": \"transient\"}");
    assert_status(MORTISE_RUN_FAILED);
    show = sim_show(&s);
    ck_assert_int_eq(
        json_integer_value(json_object_get(node_record(show, "a"), "attempts")),
        3);
    json_decref(show);
    assert_node("b", "skipped");
    end();
    run_plain(failing, "{\"code\": \"boom\"}");
    assert_node_error("a", "boom");
    ck_assert(!sim_saw(&s, "retry_scheduled", "a"));
    end();
}
END_TEST

/* Independent branches finish, dependents are skipped, then the run fails. */
START_TEST(a_failure_skips_its_dependents_only)
{
    run_plain(HEAD "start: [bad, good]\n"
                   "nodes:\n"
                   "  bad: {type: tool, tool: t/fail, next: after}\n"
                   "  after: {type: tool, tool: t/echo, next: join}\n"
                   "  good: {type: tool, tool: t/echo, next: [fine, join]}\n"
                   "  fine: {type: tool, tool: t/echo}\n"
                   "  join: {type: tool, tool: t/echo}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node("after", "skipped");
    assert_node("join", "skipped");
    assert_node("fine", "done");
    end();
}
END_TEST

/* on_error: another way, or another value.
 * key: node.on_error, on_error.goto, on_error.value */
START_TEST(errors_can_be_handled)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/fail, next: b, on_error: {goto: "
                   "h}}\n"
                   "  b: {type: tool, tool: t/echo}\n"
                   "  h: {type: tool, tool: t/echo, args: {h: 1}}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("a", "failed");
    assert_node("b", "skipped");
    assert_node("h", "done");
    end();
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/fail, args: {code: boom}, next: "
                   "b,\n"
                   "      on_error: {value: \"{'was': error.code}\"}}\n"
                   "  b: {type: tool, tool: t/echo, args: "
                   "\"${artifacts.a}\"}\n",
              "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_state("{\"artifacts\":{\"a\":{\"was\":\"boom\"},\"b\":{\"was\":"
                 "\"boom\"}},\"input\":{},\"scratch\":{}}");
    end();
}
END_TEST

/* An argument that cannot be evaluated fails the node, with a place. */
START_TEST(expressions_that_fail_fail_the_node)
{
    json_t *show;

    run_plain(HEAD "start: a\n"
                   "nodes: {a: {type: tool, tool: t/echo, args: {x: "
                   "\"${scratch.missing}\"}}}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("a", "expression");
    show = sim_show(&s);
    ck_assert_ptr_nonnull(
        strstr(json_string_value(
                   json_object_get(json_object_get(show, "error"), "message")),
               "test.yaml:5:"));
    json_decref(show);
    end();
}
END_TEST

/* R9: resuming a failed run tries what failed again, and what was skipped for
 * it runs after all. */
START_TEST(resume_retries_what_failed)
{
    run_plain(failing, "{\"class\": \"permanent\", \"times\": 0}");
    assert_status(MORTISE_RUN_COMPLETED);
    end();
    begin(HEAD "start: a\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/echo, args: {x: "
               "\"${scratch.x}\"}, next: b}\n"
               "  b: {type: tool, tool: t/echo}\n");
    admit("{}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED); /* still no scratch.x */
    ck_assert_int_eq(update("{\"scratch\": {\"x\": 7}}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_state("{\"artifacts\":{\"a\":{\"x\":7},\"b\":{}},\"input\":{},"
                 "\"scratch\":{\"x\":7}}");
    end();
}
END_TEST

/* ---- time
 * -------------------------------------------------------------------- */

static const char timed[] =
    HEAD "start: a\n"
         "nodes:\n"
         "  a: {type: tool, tool: t/echo, args: {v: 1}, timeout: 2s,\n"
         "      retry_policy: {max_attempts: 2, delay: 1ms, jitter: 0}}\n";

/* A timed-out attempt is cancelled and awaited before the next starts, and its
 * late result changes nothing.
 * key: node.timeout */
START_TEST(attempts_never_overlap)
{
    begin(timed);
    admit("{}");
    sim_sync_one(&s);
    ck_assert_uint_eq(s.n_calls, 1);
    sim_fire_timer(&s, 0);
    ck_assert(s.calls[0].cancelled);
    s.now_ms += 60000;
    while (sim_sync_one(&s))
        ;
    ck_assert_uint_eq(s.n_calls, 1); /* no second one beside it */
    s.calls[0].cancelled = false;    /* it ends well, too late */
    sim_end_call(&s, 0);
    assert_status(MORTISE_RUN_RUNNING);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert(sim_saw(&s, "retry_scheduled", "a"));
    end();
}
END_TEST

/* A call that does not let go fails its node without a retry. */
START_TEST(unresponsive_calls_fail)
{
    struct mortise_input in = {.kind = MORTISE_IN_UNRESPONSIVE};

    begin(timed);
    admit("{}");
    sim_fire_timer(&s, 0);
    in.now_ms = s.now_ms;
    in.u.result.call = s.calls[0].call.id;
    ck_assert_int_eq(mortise_run_step(s.run, &in, &s.actions, &err),
                     MORTISE_OK);
    ck_assert_uint_eq(s.actions.list[0].kind, MORTISE_ACT_COMMIT);
    mortise_actions_clear(&s.actions);
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("a", "timeout.unresponsive");
    end();
}
END_TEST

/* ---- people
 * -------------------------------------------------------------------- */

static const char approving[] = HEAD
    "hitl_mode: approve_tools\n"
    "start: a\n"
    "nodes:\n"
    "  a: {type: tool, tool: t/write, args: {v: \"${input.v}\"}, next: b}\n"
    "  b: {type: router, routes: [{when: \"true\", to: END}], default: END}\n";

/* A tool waits for its approval and then runs inside the same execution.
 * key: graph.hitl_mode=approve_tools */
START_TEST(a_tool_waits_for_approval)
{
    char id[65];

    run_plain(approving, "{\"v\": 1}");
    sim_let_go(&s, "START");
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_str_eq(mortise_run_reason(s.run), "approval");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    ck_assert(sim_saw(&s, "interrupt", "a"));
    strcpy(id, sim_request(&s, "a"));

    ck_assert_int_eq(decide("nonsense", "approve"), MORTISE_EMISMATCH);
    ck_assert_int_eq(decide(id, "await_external"), MORTISE_EDECISION);
    ck_assert_int_eq(decide(id, "maybe"), MORTISE_EDECISION);
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_APPROVE_TOOL,
                                            .id = id,
                                            .decision = "approve",
                                            .digest = "00"}),
        MORTISE_EMISMATCH);
    assert_status(MORTISE_RUN_WAITING);

    ck_assert_int_eq(decide(id, "approve"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    ck_assert(sim_saw(&s, "decision", "a"));
    /* what is settled stays so, and nothing runs */
    ck_assert_int_eq(decide(id, "approve"), MORTISE_EMISMATCH);
    ck_assert_int_eq(decide(id, "reject"), MORTISE_EMISMATCH);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* Rejected, the node fails with that code; nothing happened. */
START_TEST(a_rejected_tool_fails)
{
    run_plain(approving, "{\"v\": 1}");
    sim_let_go(&s, "START");
    ck_assert_int_eq(decide(sim_request(&s, "a"), "reject"), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("a", "rejected");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    end();
}
END_TEST

/* An approval may edit the arguments; what runs is what was approved. */
START_TEST(an_approval_may_edit_arguments)
{
    run_plain(approving, "{\"v\": 1}");
    sim_let_go(&s, "START");
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_APPROVE_TOOL,
                                            .id = sim_request(&s, "a"),
                                            .decision = "approve",
                                            .json = "{\"v\": 99}"}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_state("{\"artifacts\":{\"a\":{\"v\":99}},\"input\":{\"v\":1},"
                 "\"scratch\":{}}");
    end();
}
END_TEST

/* The approval survives a crash between it and the effect; the request id is
 * the same after one before it. */
START_TEST(approvals_survive_crashes)
{
    uint32_t seed = 1;
    char id[65];

    run_plain(approving, "{\"v\": 1}");
    sim_let_go(&s, "START");
    strcpy(id, sim_request(&s, "a"));
    sim_crash(&s, &seed);
    ck_assert_str_eq(sim_request(&s, "a"), id);
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_APPROVE_TOOL,
                                         .id = id,
                                         .decision = "approve"},
                MORTISE_NO_CONTINUE),
        MORTISE_OK);
    while (sim_sync_one(&s))
        ;
    ck_assert_uint_eq(s.n_calls, 0);
    assert_status(MORTISE_RUN_PAUSED);
    sim_crash(&s, &seed);
    ck_assert_int_eq(decide(id, "approve"), MORTISE_EMISMATCH); /* settled */
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

static const char asking[] =
    HEAD "start: h\n"
         "nodes:\n"
         "  h:\n"
         "    type: human\n"
         "    prompt: May I, ${input.who}?\n"
         "    schema: {type: object, required: [n], properties: {n: {type: "
         "integer}}}\n"
         "    assignees: [ann, bob]\n"
         "    routes: [{when: output.approved, to: yes}]\n"
         "    default: no\n"
         "  yes: {type: tool, tool: t/echo, args: {n: "
         "\"${artifacts.h.answer.n}\"}}\n"
         "  no: {type: tool, tool: t/echo, args: {why: "
         "\"${artifacts.h.reason}\"}}\n";

/* A person's answer is checked, recorded with the person, and exactly one arm
 * runs.
 * key: node.type=human, human.prompt, node.schema */
START_TEST(a_person_answers)
{
    json_t *show;
    const char *by;

    run_plain(asking, "{\"who\": \"Ann\"}");
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_str_eq(mortise_run_reason(s.run), "human");
    ck_assert_str_eq(
        json_string_value(json_object_get(
            json_object_get(s.pending, sim_request(&s, "h")), "prompt")),
        "May I, Ann?");
    ck_assert_int_eq(answer(sim_request(&s, "h"), "{}"), MORTISE_EINVAL);
    ck_assert_int_eq(answer(sim_request(&s, "h"), "{\"approved\": true}"),
                     MORTISE_EINVAL); /* an answer is wanted */
    ck_assert_int_eq(answer(sim_request(&s, "h"),
                            "{\"approved\": true, \"answer\": {\"n\": 1.5}}"),
                     MORTISE_EINVAL);
    ck_assert_int_eq(answer(sim_request(&s, "h"),
                            "{\"approved\": true, \"answer\": {\"n\": 3}}"),
                     MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("no", "skipped");
    show = sim_show(&s);
    by = json_string_value(json_object_get(
        json_object_get(node_record(show, "h"), "output"), "decided_by"));
    ck_assert_str_eq(by, "person ann");
    json_decref(show);
    end();
}
END_TEST

/* Only who is named may answer.
 * key: node.assignees */
START_TEST(assignees_are_enforced)
{
    struct mortise_command c = {.kind = MORTISE_CMD_ANSWER,
                                .json = "{\"approved\": false}"};

    run_plain(asking, "{\"who\": \"Ann\"}");
    c.id = sim_request(&s, "h");
    ck_assert_int_eq(sim_command(&s, &c, 1, 0, "eve", &err), MORTISE_EDENIED);
    ck_assert_int_eq(answer(c.id, "{\"approved\": false, \"reason\": \"x\"}"),
                     MORTISE_OK);
    assert_node("no", "done");
    end();
}
END_TEST

/* What happens when nobody answers is what the graph says, and the deadline
 * survives a crash; a decision that comes too late is none.
 * key: node.wait, node.on_timeout=accept, node.on_timeout=reject */
START_TEST(deadlines_decide)
{
    static const struct {
        const char *on_timeout, *done, *skipped;
    } cases[] = {{"accept", "yes", "no"}, {"reject", "no", "yes"}};

    for (size_t i = 0; i < 2; i++) {
        char yaml[1024], id[65];
        uint32_t seed = 3;

        snprintf(yaml, sizeof yaml,
                 HEAD "start: h\n"
                      "nodes:\n"
                      "  h: {type: human, prompt: hm?, wait: 2d, on_timeout: "
                      "%s,\n"
                      "      routes: [{when: output.approved, to: yes}], "
                      "default: no}\n"
                      "  yes: {type: tool, tool: t/echo}\n"
                      "  no: {type: tool, tool: t/echo}\n",
                 cases[i].on_timeout);
        run_plain(yaml, "{}");
        assert_status(MORTISE_RUN_WAITING);
        ck_assert_uint_eq(s.n_timers, 1);
        sim_crash(&s, &seed);
        sim_recover(&s);
        ck_assert_uint_eq(s.n_timers, 1);
        strcpy(id, sim_request(&s, "h"));
        s.now_ms = s.timers[0].at_ms;
        ck_assert_int_eq(answer(id, "{\"approved\": true}"), MORTISE_EMISMATCH);
        ck_assert_ptr_nonnull(strstr(err.msg, "expired"));
        sim_fire_timer(&s, 0);
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_node(cases[i].done, "done");
        assert_node(cases[i].skipped, "skipped");
        end();
    }
}
END_TEST

/* A deadline may also lead elsewhere, or fail the node.
 * key: node.on_timeout, on_timeout.goto */
START_TEST(deadlines_lead_on_or_fail)
{
    run_plain(HEAD "start: h\n"
                   "nodes:\n"
                   "  h: {type: human, prompt: hm?, wait: 2d, on_timeout: "
                   "{goto: late}, next: ok}\n"
                   "  ok: {type: tool, tool: t/echo}\n"
                   "  late: {type: tool, tool: t/echo}\n",
              "{}");
    sim_fire_timer(&s, 0);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("late", "done");
    assert_node("ok", "skipped");
    end();
    run_plain(HEAD "start: h\n"
                   "nodes: {h: {type: human, prompt: hm?, wait: 2d}}\n",
              "{}");
    sim_fire_timer(&s, 0);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("h", "timeout");
    end();
}
END_TEST

/* Branches that wait for nothing go on beside one that waits. */
START_TEST(others_go_on_while_one_waits)
{
    run_plain(HEAD "start: [h, a]\n"
                   "nodes:\n"
                   "  h: {type: human, prompt: hm?, next: j}\n"
                   "  a: {type: tool, tool: t/echo, next: [b, j]}\n"
                   "  b: {type: tool, tool: t/echo}\n"
                   "  j: {type: tool, tool: t/echo}\n",
              "{}");
    assert_status(MORTISE_RUN_WAITING);
    assert_node("b", "done");
    assert_node("j", "pending");
    ck_assert_int_eq(resume(), MORTISE_OK); /* nothing more can go on */
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_int_eq(answer(sim_request(&s, "h"), "{\"approved\": true}"),
                     MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* Scheduled pauses hold a node back before it, or what follows it after.
 * key: graph.interrupt_before, graph.interrupt_after */
START_TEST(scheduled_pauses_hold)
{
    run_plain(HEAD "interrupt_before: [b]\n"
                   "interrupt_after: [b]\n"
                   "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/echo, next: b}\n"
                   "  b: {type: tool, tool: t/echo, next: c}\n"
                   "  c: {type: tool, tool: t/echo}\n",
              "{}");
    assert_status(MORTISE_RUN_PAUSED);
    assert_node("a", "done");
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_PAUSED);
    assert_node("b", "done");
    assert_node("c", "pending");
    ck_assert_int_eq(answer(sim_request(&s, "b"), "{\"approved\": true}"),
                     MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* ---- guardrails
 * -------------------------------------------------------------- */

static void run_guard(const char *ids, const char *on_violation)
{
    char yaml[2048];

    snprintf(yaml, sizeof yaml,
             HEAD "start: fill\n"
                  "nodes:\n"
                  "  fill: {type: tool, tool: t/echo, output_as: null, args: "
                  "\"${input}\",\n"
                  "         outputs: {scratch.x: output}, next: g}\n"
                  "  g: {type: guardrail, guardrails: %s, target: scratch.x,\n"
                  "      on_violation: %s, %s next: one}\n"
                  "  one: {type: tool, tool: t/echo, args: \"${scratch.x}\", "
                  "next: two}\n"
                  "  two: {type: tool, tool: t/echo}\n"
                  "  safe: {type: tool, tool: t/echo}\n"
                  "%s",
             ids, on_violation,
             strcmp(on_violation, "reroute") == 0 ? "reroute_target: safe,"
                                                  : "",
             strcmp(on_violation, "reroute") == 0
                 ? ""
                 : "edges: [{from: fill, to: safe, when: \"false\"}]\n");
    run_plain(yaml, "{\"bad\": 1, \"good\": 2}");
}

/* warn and sanitize go on, block fails, reroute goes elsewhere and nothing on
 * the protected path runs.
 * key: node.type=guardrail, node.guardrails, node.target
 * key: node.on_violation=block, node.on_violation=reroute
 * key: node.on_violation=warn, node.on_violation=sanitize
 * key: node.reroute_target */
START_TEST(violations_do_as_the_graph_says)
{
    run_guard("[ok, bad]", "warn");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("two", "done");
    ck_assert(sim_saw(&s, "guardrail_result", "g"));
    end();

    run_guard("[ok, bad]", "sanitize");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_state("{\"artifacts\":{\"g\":{\"good\":2},\"one\":{\"good\":2},"
                 "\"two\":{}},\"input\":{\"bad\":1,\"good\":2},"
                 "\"scratch\":{\"x\":{\"good\":2}}}");
    end();

    run_guard("[ok, stern]", "sanitize"); /* no replacement: block */
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("g", "guardrail");
    end();

    run_guard("[ok, bad]", "block");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("g", "guardrail");
    assert_node("one", "skipped");
    end();

    run_guard("[ok, bad]", "reroute");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("one", "skipped");
    assert_node("two", "skipped");
    assert_node("safe", "done");
    end();
}
END_TEST

/* ---- commands
 * ------------------------------------------------------------------ */

/* goto keeps the state and replaces the whole frontier, also of a finished
 * run. */
START_TEST(goto_moves_the_frontier)
{
    run_plain(chain, "{\"v\": 1}");
    ck_assert_int_eq(jump("nowhere"), MORTISE_EUNKNOWN_NODE);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(jump("b"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_state("{\"artifacts\":{\"a\":{\"v\":1},\"b\":{\"v\":4},"
                 "\"result\":{\"v\":8}},\"input\":{\"v\":1},"
                 "\"scratch\":{\"v\":8}}");
    end();
}
END_TEST

/* goto honours interrupt_before of its node, unless forced. */
START_TEST(goto_honours_interrupt_before)
{
    struct mortise_command c = {
        .kind = MORTISE_CMD_GOTO, .node = "b", .flags = MORTISE_CMD_FORCE};

    run_plain(HEAD "interrupt_before: [b]\n"
                   "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/echo, next: b}\n"
                   "  b: {type: tool, tool: t/echo}\n",
              "{}");
    assert_status(MORTISE_RUN_PAUSED);
    ck_assert_int_eq(jump("b"), MORTISE_OK);
    assert_status(MORTISE_RUN_PAUSED);
    ck_assert_int_eq(do_command(c), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* update replaces, or goes through the reducers; what breaks the schema or
 * touches the input is refused and nothing is recorded. */
START_TEST(update_writes_the_state)
{
    size_t commits;

    run_plain(folding, "{}");
    commits = s.n_commits;
    ck_assert_int_eq(update("{\"input\": {}}"), MORTISE_EINVAL);
    ck_assert_int_eq(update("{\"scratch\": 1}"), MORTISE_EINVAL);
    ck_assert_int_eq(update("[1]"), MORTISE_EINVAL);
    ck_assert_int_eq(update("{"), MORTISE_EINVAL);
    ck_assert_uint_eq(s.n_commits, commits);
    ck_assert_int_eq(
        do_command((struct mortise_command){
            .kind = MORTISE_CMD_UPDATE,
            .flags = MORTISE_CMD_MERGE,
            .json = "{\"scratch\": {\"sum\": 5, \"list\": [\"u\"]}}"}),
        MORTISE_OK);
    ck_assert_uint_eq(s.n_commits, commits + 1); /* stored, nothing ran */
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(update("{\"artifacts\": {}}"), MORTISE_OK);
    assert_state("{\"artifacts\":{},\"input\":{},\"scratch\":{\"end\":\"r\","
                 "\"first\":\"l\",\"high\":7,\"list\":[\"s\",\"l\",\"r\","
                 "\"u\"],\"long\":\"efg\",\"low\":2,\"obj\":{\"a\":{\"x\":3,"
                 "\"y\":2}},\"sum\":17,\"text\":\"slr\"}}");
    end();
}
END_TEST

/* update and goto stop what is in flight first, and answer when that is done.
 */
START_TEST(update_waits_for_what_is_in_flight)
{
    begin(chain);
    admit("{\"v\": 1}");
    while (sim_sync_one(&s))
        ;
    ck_assert_uint_eq(s.n_calls, 1);
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_UPDATE,
                                         .json = "{\"scratch\": "
                                                 "{\"u\": 1}}"},
                0),
        MORTISE_OK);
    ck_assert_int_eq(s.applied, 1); /* not yet */
    ck_assert(s.calls[0].cancelled);
    ck_assert_int_eq(resume(), MORTISE_ECONFLICT);
    s.applied = 1;
    sim_run_plain(&s);
    ck_assert_int_eq(s.applied, MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_state("{\"artifacts\":{\"a\":{\"v\":1},\"b\":{\"v\":2},"
                 "\"result\":{\"v\":4}},\"input\":{\"v\":1},"
                 "\"scratch\":{\"u\":1,\"v\":4}}");
    end();
}
END_TEST

/* Two resumes at once: one runs, the other is told. */
START_TEST(a_second_resume_conflicts)
{
    begin(chain);
    admit("{\"v\": 1}");
    while (sim_sync_one(&s))
        ;
    ck_assert_int_eq(resume(), MORTISE_ECONFLICT);
    sim_run_plain(&s);
    ck_assert_int_eq(resume(), MORTISE_OK); /* finished: nothing runs */
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* cancel ends everything, durably, once what is in flight has let go. */
START_TEST(cancel_ends_the_run)
{
    begin(HEAD "start: [h, a]\n"
               "nodes:\n"
               "  h: {type: human, prompt: hm?}\n"
               "  a: {type: tool, tool: t/echo, next: b}\n"
               "  b: {type: tool, tool: t/echo}\n");
    admit("{}");
    while (sim_sync_one(&s))
        ;
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_CANCEL,
                                         .reason = "enough"},
                0),
        MORTISE_OK);
    ck_assert(s.calls[0].cancelled);
    assert_status(MORTISE_RUN_RUNNING);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_CANCELLED);
    ck_assert_uint_eq(json_object_size(s.pending), 0);
    assert_node("h", "skipped");
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_CANCELLED);
    end();
}
END_TEST

/* Several decisions in one call count together or not at all. */
START_TEST(decisions_come_together)
{
    struct mortise_command c[2] = {
        {.kind = MORTISE_CMD_ANSWER, .json = "{\"approved\": true}"},
        {.kind = MORTISE_CMD_ANSWER, .json = "{\"approved\": 1}"}};

    run_plain(HEAD "start: [h, k]\n"
                   "nodes:\n"
                   "  h: {type: human, prompt: one?}\n"
                   "  k: {type: human, prompt: two?}\n",
              "{}");
    c[0].id = sim_request(&s, "h");
    c[1].id = sim_request(&s, "k");
    ck_assert_int_eq(sim_command(&s, c, 2, 0, "ann", &err), MORTISE_EINVAL);
    assert_node("h", "awaiting_approval");
    c[1].json = c[0].json;
    ck_assert_int_eq(sim_command(&s, c, 2, 0, "ann", &err), MORTISE_OK);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* ---- doubt
 * ------------------------------------------------------------------------ */

static const char writing[] =
    HEAD "start: w\n"
         "nodes:\n"
         "  w: {type: tool, tool: t/write, args: {v: 1}, next: x}\n"
         "  x: {type: tool, tool: t/echo}\n";

/* Crash while the effect is under way; `happens` says how the coin falls. */
static void crash_in_effect(const char *yaml, bool happens)
{
    uint32_t seed = 0;

    begin(yaml);
    admit("{}");
    while (s.n_calls == 0)
        ck_assert(sim_sync_one(&s));
    for (;; seed++) { /* a seed whose coin falls so */
        uint32_t probe = seed;

        if ((sim_random(&probe) % 2 == 0) == happens)
            break;
    }
    sim_crash(&s, &seed);
    ck_assert_int_eq(sim_effect_count(&s, "w"), happens);
}

/* A write that nobody can tell about puts the run in doubt, and a person says
 * what was, of that doubt: the name of its node names the next one as well. */
START_TEST(a_lost_write_is_in_doubt)
{
    const char *id;

    for (int happened = 0; happened < 2; happened++) {
        crash_in_effect(writing, happened);
        ck_assert_int_eq(resume(), MORTISE_OK);
        assert_status(MORTISE_RUN_IN_DOUBT);
        ck_assert_int_eq(resume(), MORTISE_EINDOUBT);
        id = sim_request(&s, "w");
        ck_assert_ptr_nonnull(strstr(err.msg, "resolve it"));
        ck_assert_ptr_nonnull(strstr(err.msg, id));
        ck_assert_int_eq(resolve("nobody", "retry", NULL), MORTISE_EMISMATCH);
        ck_assert_int_eq(resolve("w", "retry", NULL), MORTISE_EMISMATCH);
        ck_assert_int_eq(resolve("1.0/w#1", "fail", NULL), MORTISE_EMISMATCH);
        ck_assert_int_eq(resolve("", "fail", NULL), MORTISE_EINVAL);
        ck_assert_int_eq(resolve(NULL, "fail", NULL), MORTISE_EINVAL);
        ck_assert_int_eq(resolve(id, "maybe", NULL), MORTISE_EDECISION);
        ck_assert_int_eq(resolve(id, "done", NULL), MORTISE_EINVAL);
        if (happened)
            ck_assert_int_eq(resolve(id, "done", "{\"v\": 1}"), MORTISE_OK);
        else
            ck_assert_int_eq(resolve(id, "retry", NULL), MORTISE_OK);
        assert_status(MORTISE_RUN_COMPLETED);
        ck_assert_int_eq(sim_effect_count(&s, "w"), 1);
        assert_state("{\"artifacts\":{\"w\":{\"v\":1},\"x\":{}},\"input\":{},"
                     "\"scratch\":{}}");
        end();
    }
    crash_in_effect(writing, true);
    ck_assert_int_eq(resume(), MORTISE_OK);
    ck_assert_int_eq(resolve(sim_request(&s, "w"), "fail", NULL), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("w", "in_doubt");
    end();
}
END_TEST

/* Idempotent: again, with the same key.  Reconcile: the plugin knows. */
START_TEST(settled_without_a_person)
{
    static const char idem[] =
        HEAD "start: w\n"
             "nodes:\n"
             "  w: {type: tool, tool: t/idem, args: {v: 1}, next: x}\n"
             "  x: {type: tool, tool: t/echo}\n";
    static const char rec[] =
        HEAD "start: w\n"
             "nodes:\n"
             "  w: {type: tool, tool: t/rec, args: {v: 1}, next: x}\n"
             "  x: {type: tool, tool: t/echo}\n";

    for (int happened = 0; happened < 2; happened++) {
        crash_in_effect(idem, happened);
        ck_assert_int_eq(resume(), MORTISE_OK);
        assert_status(MORTISE_RUN_COMPLETED);
        ck_assert_int_eq(sim_effect_count(&s, "w"), 1);
        end();
        crash_in_effect(rec, happened);
        ck_assert_int_eq(resume(), MORTISE_OK);
        assert_status(MORTISE_RUN_COMPLETED);
        ck_assert_int_eq(sim_effect_count(&s, "w"), 1);
        end();
    }
}
END_TEST

/* on_in_doubt overrules: fail and ask.
 * key: node.on_in_doubt=reconcile, node.on_in_doubt=retry
 * key: node.on_in_doubt=ask, node.on_in_doubt=fail */
START_TEST(on_in_doubt_is_obeyed)
{
    static const char yaml[] =
        HEAD "start: w\n"
             "nodes:\n"
             "  w: {type: tool, tool: t/rec, args: {v: 1}, on_in_doubt: %s}\n";
    char text[512];

    snprintf(text, sizeof text, yaml, "fail");
    crash_in_effect(text, true);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("w", "in_doubt");
    ck_assert_int_eq(resume(), MORTISE_OK); /* nothing is done again unasked */
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_int_eq(sim_effect_count(&s, "w"), 1);
    ck_assert_int_eq(resolve(sim_request(&s, "w"), "done", "1"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "w"), 1);
    end();
    snprintf(text, sizeof text, yaml, "ask");
    crash_in_effect(text, true);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_IN_DOUBT);
    end();
    snprintf(text, sizeof text, yaml, "retry");
    crash_in_effect(text, true);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "w"), 2); /* as it was told to */
    end();
    snprintf(text, sizeof text, yaml, "reconcile");
    crash_in_effect(text, true);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "w"), 1);
    end();
}
END_TEST

/* Two guardrails that sanitise one place side by side collide, like any two
 * writes. */
START_TEST(sanitising_side_by_side_conflicts)
{
    run_plain(HEAD
              "start: s\n"
              "nodes:\n"
              "  s: {type: tool, tool: t/echo, args: {bad: 1},\n"
              "      outputs: {scratch.x: output}, next: [a, b]}\n"
              "  a: {type: guardrail, guardrails: [bad], target: scratch.x,\n"
              "      on_violation: sanitize, next: j, output_as: null}\n"
              "  b: {type: guardrail, guardrails: [bad], target: scratch.x,\n"
              "      on_violation: sanitize, next: j, output_as: null}\n"
              "  j: {type: tool, tool: t/echo}\n",
              "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_node_error("j", "conflict");
    end();
}
END_TEST

/* The frontier does not move while an effect hangs. */
START_TEST(goto_waits_for_doubt)
{
    crash_in_effect(writing, true);
    ck_assert_int_eq(jump("x"), MORTISE_EINDOUBT);
    ck_assert_int_eq(update("{\"scratch\": {}}"), MORTISE_EINDOUBT);
    end();
}
END_TEST

/* ---- dying everywhere, in every order
 * ---------------------------------------------- */

static const char mixed[] = HEAD
    "state: {reducers: {scratch.log: concat}}\n"
    "start: [a, b, c]\n"
    "nodes:\n"
    "  a: {type: tool, tool: t/echo, args: {l: [a]}, outputs: {scratch.log: "
    "output.l}, next: [d, e]}\n"
    "  b: {type: tool, tool: t/rec, args: {l: [b]}, outputs: {scratch.log: "
    "output.l}, next: e}\n"
    "  c: {type: router, routes: [{when: input.deep, to: f}], default: g}\n"
    "  d: {type: tool, tool: t/idem, args: {l: [d]}, outputs: {scratch.log: "
    "output.l}, next: j}\n"
    "  e: {type: tool, tool: t/fail, args: {l: [e], class: transient, times: "
    "2},\n"
    "      retry_policy: {max_attempts: 5, delay: 5ms},\n"
    "      outputs: {scratch.log: output.l}, next: j}\n"
    "  f: {type: tool, tool: t/write, args: {l: [f]},\n"
    "      outputs: {scratch.log: output.l}, next: j}\n"
    "  g: {type: tool, tool: t/read, args: {l: [g]}, outputs: {scratch.log: "
    "output.l}, next: j}\n"
    "  j: {type: guardrail, guardrails: [ok], next: k}\n"
    "  k: {type: tool, tool: t/rec, args: {log: \"${scratch.log}\"}, next: "
    "END}\n";

/* R6, R10, R11: killed after any number of steps, twice in a row, in any
 * interleaving, the run ends in the same state and each effect happened once;
 * or the run says that it does not know. */
START_TEST(killed_anywhere_it_ends_the_same)
{
    static const char want[] =
        "{\"artifacts\":{\"a\":{\"l\":[\"a\"]},\"b\":{\"l\":[\"b\"]},"
        "\"d\":{\"l\":[\"d\"]},\"e\":{\"class\":\"transient\",\"l\":[\"e\"],"
        "\"times\":2},\"g\":{\"l\":[\"g\"]},\"j\":{\"log\":[\"a\",\"b\",\"d\","
        "\"e\",\"g\"]},\"k\":{\"log\":[\"a\",\"b\",\"d\",\"e\",\"g\"]}},"
        "\"input\":{\"deep\":false},\"scratch\":{\"log\":[\"a\",\"b\",\"d\","
        "\"e\",\"g\"]}}";

    for (uint32_t i = 0; i < 300; i++) {
        uint32_t seed = i * 7919;
        uint32_t crashes = 1 + i % 3;

        begin(mixed);
        admit("{\"deep\": false}");
        sim_sync_one(&s); /* R3: nobody knows of it before */
        while (crashes-- > 0) {
            uint32_t steps = sim_random(&seed) % 40;

            for (uint32_t k = 0; k < steps; k++) {
                uint32_t pick = sim_random(&seed) % 3;

                s.now_ms++;
                if (pick == 0)
                    sim_sync_one(&s);
                else if (pick == 1 && s.n_calls > 0)
                    sim_end_call(&s, sim_random(&seed) % s.n_calls);
                else if (pick == 2 && s.n_timers > 0)
                    sim_fire_timer(&s, sim_random(&seed) % s.n_timers);
            }
            sim_crash(&s, &seed);
            sim_recover(&s);
        }
        sim_run(&s, &seed);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_state(want);
        ck_assert_int_eq(sim_effect_count(&s, "b"), 1);
        ck_assert_int_eq(sim_effect_count(&s, "d"), 1);
        ck_assert_int_eq(sim_effect_count(&s, "k"), 1);
        end();
    }
}
END_TEST

/* An unsettleable write happens at most once without a person, or the run is
 * in doubt. */
START_TEST(never_silently_twice)
{
    int doubts = 0;

    for (uint32_t i = 0; i < 200; i++) {
        uint32_t seed = i * 104729;
        uint32_t steps = i % 20;

        begin(mixed);
        admit("{\"deep\": true}");
        sim_sync_one(&s);
        for (uint32_t k = 0; k < steps; k++) {
            if (sim_random(&seed) % 2 == 0)
                sim_sync_one(&s);
            else if (s.n_calls > 0)
                sim_end_call(&s, sim_random(&seed) % s.n_calls);
        }
        sim_crash(&s, &seed);
        sim_recover(&s);
        sim_run(&s, &seed);
        ck_assert_int_le(sim_effect_count(&s, "f"), 1);
        if (mortise_run_status(s.run) == MORTISE_RUN_IN_DOUBT)
            doubts++;
        else
            assert_status(MORTISE_RUN_COMPLETED);
        end();
    }
    ck_assert_int_gt(doubts, 0);
}
END_TEST

/* A replay of what is on disk shows the run that wrote it. */
START_TEST(a_replay_is_the_run)
{
    uint32_t seed = 99;

    begin(mixed);
    admit("{\"deep\": false}");
    for (;;) {
        json_t *before, *after;

        while (sim_sync_one(&s))
            ;
        before = sim_show(&s);
        json_object_del(before, "updated");
        if (s.n_calls == 0 && s.n_timers == 0) {
            sim_crash(&s, &seed);
            after = sim_show(&s);
            json_object_del(after, "updated");
            ck_assert(json_equal(before, after));
            json_decref(before);
            json_decref(after);
            break;
        }
        json_decref(before);
        if (!sim_end_call(&s, sim_random(&seed) % (s.n_calls + 1)))
            sim_fire_timer(&s, 0);
        s.now_ms += 10;
    }
    end();
}
END_TEST

/* ---- memory
 * -------------------------------------------------------------------------- */

/* One whole run with the nth allocation refused: it ends, or memory ran out and
 * nothing leaks.  True when an allocation was refused. */
static const char winding[] =
    HEAD "start: s\n"
         "state: {reducers: {scratch.n: sum}}\n"
         "nodes:\n"
         "  s: {type: tool, tool: t/echo, map: {over: \"[1, 2, 3]\",\n"
         "      to: w, join: j, max_parallel: 2}}\n"
         "  w: {type: tool, tool: t/echo, next: [j, v],\n"
         "      args: {n: \"${item + index}\"}, outputs: {scratch.n: \"1\"}}\n"
         "  v: {type: tool, tool: t/echo, next: j}\n"
         "  j: {type: tool, tool: t/echo, next: [a, b]}\n"
         "  a: {type: tool, tool: t/echo, next: k}\n"
         "  b: {type: tool, tool: t/fail, next: k}\n"
         "  k: {type: router, join: any, on_branch_error: collect,\n"
         "      routes: [{when: scratch.n < 6, to: s}], default: END}\n";

static const char inside[] =
    HEAD "start: [s, a]\n"
         "nodes:\n"
         "  a: {type: tool, tool: t/echo, next: j}\n"
         "  s:\n"
         "    type: subgraph\n"
         "    input_mapping: {input.n: \"1\"}\n"
         "    output_mapping: {scratch.n: output.p.n}\n"
         "    next: [j, b]\n"
         "    graph:\n"
         "      start: p\n"
         "      nodes:\n"
         "        p: {type: tool, tool: t/echo, args: {n: \"${input.n}\"}}\n"
         "  b: {type: tool, tool: t/echo, next: END}\n"
         "  j: {type: tool, tool: t/echo, join: any}\n";

/* ... arguments and an output that are judged. */
static const char guarded[] =
    HEAD "start: a\n"
         "nodes:\n"
         "  a: {type: tool, tool: t/idem, args: {n: 1}, next: b,\n"
         "      guardrail_policy: {input: [ok, bad], output: [ok]}}\n"
         "  b: {type: tool, tool: t/read, args: {n: 2}, next: END,\n"
         "      guardrail_policy: {input: [ok], output: [ok, bad]}}\n";

/* ... what is looked for, named, and written besides an output. */
static const char choosing[] = HEAD
    "persona: {traits: {openness: 1}}\n"
    "state: {reducers: {scratch.l: concat}}\n"
    "nodes:\n"
    "  a: {type: tool, tool: t/echo, targets: [b], args: {said: {goto: b,\n"
    "      update: {scratch: {l: [1], m: {n: 1}}, artifacts: {a: 2}}}}}\n"
    "  b: {type: tool, tool: t/write, targets: [c], on_error: {goto: c},\n"
    "      args: {said: {goto: nowhere}}}\n"
    "  c: {type: tool, tool: t/read, args: {q: q}}\n"
    "  d: {type: router, operation: t/read, args: {to: END}, targets: END,\n"
    "      capability: y}\n"
    "edges:\n"
    "  - {from: START, personality: {trait: openness, threshold: 1,\n"
    "     above: a, below: c}}\n"
    "  - {from: c, discovery: {query: \"${output.q} and more\", fallback: d}}"
    "\n";

/* ... and judged on its way, with what was written besides it. */
static const char leaving[] =
    HEAD "start: s\n"
         "nodes:\n"
         "  s:\n"
         "    type: subgraph\n"
         "    output_mapping: {scratch.n: artifacts.p}\n"
         "    guardrail_policy: {input: [ok], output: [wary],\n"
         "      on_violation: sanitize}\n"
         "    graph: {start: p, nodes: {p: {type: tool, tool: t/echo}}}\n"
         "  a: {type: tool, tool: t/read, args: {bad: 1, said: {update:\n"
         "      {scratch: {bad: 1, l: [1]}}}}}\n"
         "  b: {type: tool, tool: t/idem}\n"
         "  c: {type: tool, tool: t/echo}\n"
         "edges:\n"
         "  - {from: s, to: a, guardrail_policy: {input: [ok, stern],\n"
         "     on_violation: warn}}\n"
         "  - {from: a, to: b, guardrail_policy: {input: [wary, ok],\n"
         "     on_violation: sanitize}}\n"
         "  - {from: a, to: b, when: \"true\", guardrail_policy:\n"
         "     {input: [stern], on_violation: reroute, reroute_target: c}}\n";

static const char *const stingy[] = {folding, winding,  inside,
                                     guarded, choosing, leaving};

static bool run_stingy(const char *yaml, int n)
{
    struct mortise_input in = {.kind = MORTISE_IN_SYNCED, .now_ms = 1};
    struct mortise_admission adm = {
        .tenant = "t", .run = "r", .actor = "x", .seed = {1}};
    struct mortise_graph *g = sim_graph(yaml);
    struct mortise_actions actions;
    struct mortise_run *r = NULL;
    bool failed;
    int rv;

    adm.input = json_object();
    mortise_actions_init(&actions, &test_mem);
    test_mem_fail_at(n);
    rv = mortise_run_admit(&r, &test_mem, g, &adm, 1, &actions, &err);
    for (size_t done = 0; rv == MORTISE_OK && done < actions.n; done++) {
        struct mortise_action *a = &actions.list[done];

        if (a->kind == MORTISE_ACT_COMMIT) {
            in.kind = MORTISE_IN_SYNCED;
            in.u.seq = a->u.commit.seq;
            rv = mortise_run_step(r, &in, &actions, &err);
        } else if (a->kind == MORTISE_ACT_CALL) {
            in.kind = MORTISE_IN_RESULT;
            in.u.result = (struct mortise_result_in){
                .call = a->u.call.id,
                .output = a->u.call.body,
                .said = json_object_get(a->u.call.body, "said"),
                .violation = strcmp(a->u.call.plugin, "stern") == 0 ||
                             strcmp(a->u.call.plugin, "wary") == 0,
                .message = "",
                .error_code = "",
                .error_class = ""};
            rv = mortise_run_step(r, &in, &actions, &err);
        }
    }
    failed = test_mem_failed();
    test_mem_fail_at(-1);
    ck_assert_int_eq(rv, failed ? MORTISE_ENOMEM : MORTISE_OK);
    if (!failed)
        ck_assert_int_eq(mortise_run_status(r), MORTISE_RUN_COMPLETED);
    mortise_run_free(r);
    mortise_actions_finish(&actions);
    mortise_graph_unref(g);
    json_decref(adm.input);
    return failed;
}

/* The first, the second, ... allocation fails, till none does. */
START_TEST(running_out_of_memory_is_an_error)
{
    int n = 0;

    while (run_stingy(stingy[_i], n))
        n++;
    ck_assert_int_gt(n, 30);
}
END_TEST

/* A record that was damaged is refused, wherever. */
START_TEST(damaged_entries_are_refused)
{
    run_plain(mixed, "{\"deep\": false}");
    for (size_t i = 0; i < s.n_commits; i++) {
        for (size_t cut = 0; cut < s.commits[i].size; cut++) {
            struct mortise_run *r;
            int rv = MORTISE_OK;

            ck_assert_int_eq(mortise_run_replay(&r, &test_mem, s.graph,
                                                "default", "run-1", NULL, NULL,
                                                &err),
                             MORTISE_OK);
            for (size_t k = 0; rv == MORTISE_OK && k <= i; k++)
                rv =
                    mortise_run_apply(r, s.commits[k].seq, s.commits[k].time_ms,
                                      s.commits[k].id, s.commits[k].entries,
                                      k < i ? s.commits[k].size : cut, &err);
            ck_assert(rv == MORTISE_OK || rv == MORTISE_ECORRUPT);
            mortise_run_free(r);
        }
    }
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run");
    TCase *tc = tcase_create("run");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_chain_carries_its_state);
    tcase_add_test(tc, a_skipped_arm_is_skipped_to_its_end);
    tcase_add_test(tc, skipped_here_chosen_there_runs_once);
    tcase_add_test(tc, start_edges_choose);
    tcase_add_test(tc, all_routes_that_hold_are_taken);
    tcase_add_test(tc, a_router_names_its_target);
    tcase_add_test(tc, concurrency_is_bounded);
    tcase_add_test(tc, branches_fold_in_declared_order);
    tcase_add_test(tc, branches_do_not_see_each_other);
    tcase_add_test(tc, concurrent_writes_conflict);
    tcase_add_test(tc, ordered_writes_do_not_conflict);
    tcase_add_test(tc, input_is_checked_at_admission);
    tcase_add_test(tc, state_is_checked_at_commit);
    tcase_add_test(tc, transient_failures_retry);
    tcase_add_test(tc, retries_end);
    tcase_add_test(tc, a_failure_skips_its_dependents_only);
    tcase_add_test(tc, errors_can_be_handled);
    tcase_add_test(tc, expressions_that_fail_fail_the_node);
    tcase_add_test(tc, resume_retries_what_failed);
    tcase_add_test(tc, attempts_never_overlap);
    tcase_add_test(tc, unresponsive_calls_fail);
    tcase_add_test(tc, a_tool_waits_for_approval);
    tcase_add_test(tc, a_rejected_tool_fails);
    tcase_add_test(tc, an_approval_may_edit_arguments);
    tcase_add_test(tc, approvals_survive_crashes);
    tcase_add_test(tc, a_person_answers);
    tcase_add_test(tc, assignees_are_enforced);
    tcase_add_test(tc, deadlines_decide);
    tcase_add_test(tc, deadlines_lead_on_or_fail);
    tcase_add_test(tc, others_go_on_while_one_waits);
    tcase_add_test(tc, scheduled_pauses_hold);
    tcase_add_test(tc, violations_do_as_the_graph_says);
    tcase_add_test(tc, goto_moves_the_frontier);
    tcase_add_test(tc, goto_honours_interrupt_before);
    tcase_add_test(tc, update_writes_the_state);
    tcase_add_test(tc, update_waits_for_what_is_in_flight);
    tcase_add_test(tc, a_second_resume_conflicts);
    tcase_add_test(tc, cancel_ends_the_run);
    tcase_add_test(tc, decisions_come_together);
    tcase_add_test(tc, a_lost_write_is_in_doubt);
    tcase_add_test(tc, settled_without_a_person);
    tcase_add_test(tc, on_in_doubt_is_obeyed);
    tcase_add_test(tc, sanitising_side_by_side_conflicts);
    tcase_add_test(tc, goto_waits_for_doubt);
    tcase_add_test(tc, killed_anywhere_it_ends_the_same);
    tcase_add_test(tc, never_silently_twice);
    tcase_add_test(tc, a_replay_is_the_run);
    tcase_add_loop_test(tc, running_out_of_memory_is_an_error, 0,
                        sizeof stingy / sizeof stingy[0]);
    tcase_add_test(tc, damaged_entries_are_refused);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
