/* test_run_node_approvals.c -- hitl_mode: approve_each_node: nothing that does
 * something starts before somebody said that it may; and each mode in each. */
#include "lib/drive.h"

#include "core/run/record/journal.h"

/* A chain of a tool, a router, a person, a graph with a tool in it, and a map. */
static const char each[] = HEAD
    "hitl_mode: approve_each_node\n"
    "start: a\n"
    "nodes:\n"
    "  a: {type: tool, tool: t/write, args: {v: 1}, on_error: {goto: no}, "
    "next: r}\n"
    "  r: {type: router, routes: [{when: \"true\", to: h}], default: END}\n"
    "  h: {type: human, prompt: well?, next: sub}\n"
    "  sub:\n"
    "    type: subgraph\n"
    "    graph:\n"
    "      hitl_mode: none\n"
    "      start: in\n"
    "      nodes: {in: {type: tool, tool: t/write, args: {v: 2}, next: END}}\n"
    "    map: {over: \"[1, 2]\", as: i, to: each, join: last}\n"
    "  each: {type: tool, tool: t/write, args: {v: \"${i}\"}, next: last}\n"
    "  last: {type: guardrail, guardrails: [ok], next: END}\n"
    "  no: {type: guardrail, guardrails: [ok], next: END}\n";

static int answer_to(const char *path, const char *json)
{
    return do_command((struct mortise_command){
        .kind = MORTISE_CMD_ANSWER, .id = sim_request(&s, path), .json = json});
}

static void assert_asks(const char *path, const char *type, const char *tool)
{
    const json_t *asked = json_object_get(s.pending, sim_request(&s, path));

    ck_assert_str_eq(json_string_value(json_object_get(asked, "kind")), "node");
    ck_assert_str_eq(json_string_value(json_object_get(asked, "type")), type);
    if (tool != NULL)
        ck_assert_str_eq(json_string_value(json_object_get(asked, "tool")),
                         tool);
    else
        ck_assert_ptr_null(json_object_get(asked, "tool"));
}

static void let(const char *path, const char *type, const char *tool)
{
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_str_eq(mortise_run_reason(s.run), "approval");
    assert_asks(path, type, tool);
    ck_assert_int_eq(answer_to(path, "{\"approved\": true}"), MORTISE_OK);
}

/* At every depth, and for each element; who routes, judges or asks people does
 * nothing that is to be approved.
 * key: graph.hitl_mode=approve_each_node */
START_TEST(each_node_waits)
{
    run_plain(each, "{}");
    sim_let_go(&s, "START");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    let("a", "tool", "t/write");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    assert_record("a", "approval", "{\"actor\":\"ann\"}");
    ck_assert_int_eq(answer_to("h", "{\"approved\": true}"), MORTISE_OK);
    let("sub", "subgraph", NULL);
    ck_assert_int_eq(sim_effect_count(&s, "in"), 0);
    let("in", "tool", "t/write");
    ck_assert_int_eq(sim_effect_count(&s, "in"), 1);
    ck_assert_int_eq(sim_effect_count(&s, "each"), 0);
    let("each", "tool", "t/write");
    ck_assert_int_eq(sim_effect_count(&s, "each"), 1);
    let("each", "tool", "t/write");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("last", "done");
    end();
}
END_TEST

/* Who is rejected fails, and its on_error leads on; nothing happened. */
START_TEST(a_rejected_node_fails)
{
    run_plain(each, "{}");
    sim_let_go(&s, "START");
    ck_assert_int_eq(
        answer_to("a", "{\"approved\": false, \"reason\": \"not today\"}"),
        MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node_error("a", "rejected");
    assert_record("a", "error",
                  "{\"class\":\"permanent\",\"code\":\"rejected\",\"message\":"
                  "\"rejected by ann: not today\",\"node\":\"a\",\"span\":"
                  "\"test.yaml:7:3\"}");
    assert_node("no", "done");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    end();
}
END_TEST

/* What is no answer settles nothing, and a resume lets nothing pass. */
START_TEST(nothing_else_lets_it_run)
{
    static const char *const bad[] = {
        "null",
        "true",
        "{}",
        "{\"approved\": 1}",
        "{\"approved\": true, \"reason\": 1}",
        "{\"approved\": true, \"answer\": 1}",
        "{\"approved\": true, \"reason\": \"\", \"more\": 1}",
    };

    run_plain(each, "{}");
    sim_let_go(&s, "START");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_int_eq(answer_to("a", bad[i]), MORTISE_EINVAL);
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_APPROVE_TOOL,
                                            .id = sim_request(&s, "a"),
                                            .decision = "approve"}),
        MORTISE_EMISMATCH);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 0);
    end();
}
END_TEST

/* Its word outlives the process, and the attempts of the node. */
START_TEST(approvals_outlive_deaths)
{
    uint32_t seed = 1 + (uint32_t)_i;
    char id[65];

    run_plain(HEAD "hitl_mode: approve_each_node\n"
                   "start: a\nnodes:\n"
                   "  a: {type: tool, tool: t/fail, args: {code: x, times: 2, "
                   "class: transient}, retry_policy: {max_attempts: 3}, next: "
                   "END}\n",
              "{}");
    sim_let_go(&s, "START");
    strcpy(id, sim_request(&s, "a"));
    sim_crash(&s, &seed);
    ck_assert_str_eq(sim_request(&s, "a"), id);
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                         .id = id,
                                         .json = "{\"approved\": true}"},
                MORTISE_NO_CONTINUE),
        MORTISE_OK);
    while (sim_sync_one(&s))
        ;
    sim_crash(&s, &seed);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("a", "attempts", "3");
    end();
}
END_TEST

/* ---- modes in each other --------------------------------------------------- */

enum { MODES = 4 };

static const char *const modes[MODES] = {"none", "approve_plan",
                                         "approve_each_node", "approve_tools"};

/* A graph of that mode in one of this: a tool of each, and a model with one. */
static void run_modes(int outer, int inner)
{
    char yaml[2048];

    snprintf(yaml, sizeof yaml,
             HEAD "hitl_mode: %s\n"
                  "start: a\nnodes:\n"
                  "  a: {type: tool, tool: t/write, next: sub}\n"
                  "  sub:\n"
                  "    type: subgraph\n"
                  "    next: END\n"
                  "    graph:\n"
                  "      hitl_mode: %s\n"
                  "      start: in\n"
                  "      nodes:\n"
                  "        in: {type: tool, tool: t/write, next: m}\n"
                  "        m:\n"
                  "          type: gmi\n"
                  "          prompt: p\n"
                  "          tool_allowlist: [t/write]\n"
                  "          args: {asks: [{method: tool.invoke/1, kind: tool, "
                  "body: {tool: t/write, arguments: {v: 1}}}]}\n"
                  "          next: END\n",
             modes[outer], modes[inner]);
    run_plain(yaml, "{}");
}

/* A request of that kind, and no other, is open, and it is approved. */
static void let_kind(const char *path, const char *kind)
{
    const char *id = sim_request(&s, path);
    const json_t *asked = json_object_get(s.pending, id);

    assert_status(MORTISE_RUN_WAITING);
    ck_assert_uint_eq(json_object_size(s.pending), 1);
    ck_assert_str_eq(json_string_value(json_object_get(asked, "kind")), kind);
    if (strcmp(kind, "approval_pending") != 0) {
        sim_let_go(&s, path);
        return;
    }
    ck_assert_int_eq(
        do_command((struct mortise_command){
            .kind = MORTISE_CMD_APPROVE_TOOL, .id = id, .decision = "approve"}),
        MORTISE_OK);
}

/* What a graph of that mode asks of a tool in it: for its call, by which the node
 * is approved as well, or for the node. */
static void let_tool(const char *path, int mode)
{
    if (mode >= 2)
        let_kind(path, mode == 3 ? "approval_pending" : "node");
}

/* Each mode implies the weaker ones, and a graph in another has the stricter of
 * both; who is asked for a plan is asked for all that is in it. */
START_TEST(the_stricter_holds)
{
    int outer = _i / MODES, own = _i % MODES;
    int inner = own > outer ? own : outer;

    run_modes(outer, own);
    if (outer >= 1)
        let_kind("START", "plan");
    let_tool("a", outer);
    if (outer >= 2)
        let_kind("sub", "node");
    if (outer == 0 && inner >= 1)
        let_kind("sub", "plan");
    let_tool("in", inner);
    if (inner >= 2)
        let_kind("m", "node");
    if (inner == 3)
        let_kind("t__write", "approval_pending");
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(json_object_size(s.pending), 0);
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    ck_assert_int_eq(sim_effect_count(&s, "in"), 1);
    ck_assert_int_eq(sim_effect_count(&s, "t__write"), 1);
    end();
}
END_TEST

/* Where something is looked up for a call, the node is asked for ahead of that,
 * and the call once its arguments are known. */
START_TEST(a_lookup_is_approved_before_it)
{
    run_plain(HEAD "hitl_mode: approve_tools\n"
                   "start: a\nnodes:\n"
                   "  a: {type: tool, tool: t/write, memory_policy: {read: "
                   "{types: [semantic]}}, next: END}\n",
              "{}");
    let_kind("START", "plan");
    let_kind("a", "node");
    let_kind("a", "approval_pending");
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_node_approvals");
    TCase *tc = tcase_create("approvals");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, each_node_waits);
    tcase_add_test(tc, a_rejected_node_fails);
    tcase_add_test(tc, nothing_else_lets_it_run);
    tcase_add_loop_test(tc, approvals_outlive_deaths, 0, 10);
    tcase_add_loop_test(tc, the_stricter_holds, 0, MODES * MODES);
    tcase_add_test(tc, a_lookup_is_approved_before_it);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
