/* test_run_discovery.c -- discovery_policy in the step function: what is looked
 * for, what becomes of the answer, and that it only ever narrows. */
#include "lib/drive.h"

/* A node with two tools that discovers so, and has these keys besides. */
static void start(const char *policy, const char *more)
{
    char text[2048];

    snprintf(text, sizeof text,
             HEAD "start: a\nnodes:\n"
                  "  a: {type: gmi, prompt: hi, tool_allowlist: [t/echo, "
                  "t/read],\n"
                  "    discovery_policy: %s,\n    %s next: END}\n",
             policy, more);
    begin(text);
    admit("{\"what\": \"echo\"}");
    sync_all();
}

static const struct mortise_run_call *the_call(void)
{
    return &s.calls[call_of("a")].call;
}

static bool offers(const char *tool)
{
    ck_assert_int_eq(the_call()->kind, MORTISE_RUN_EXECUTE);
    return mortise_run_is_tool_offered(s.run, the_call()->id, tool);
}

static size_t asked_about(void)
{
    ck_assert_int_eq(the_call()->kind, MORTISE_RUN_DISCOVER);
    return json_array_size(json_object_get(the_call()->body, "candidates"));
}

/* What was found is offered; it stands in the record, and an event tells of it.
 * key: node.discovery_policy, discovery_policy.query */
START_TEST(what_is_found_narrows)
{
    start("{query: \"${input.what}\"}", "");
    ck_assert_uint_eq(asked_about(), 2);
    ck_assert_str_eq(
        json_string_value(json_object_get(the_call()->body, "query")), "echo");
    finish("a");
    ck_assert(offers("t/echo"));
    ck_assert(!offers("t/read"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert(sim_saw(&s, "discovery_result", "a"));
    end();
}
END_TEST

/* Each kind is what it says: of tools and skills, what is looked for, and whether
 * it narrows.
 * key: discovery_policy.kind */
START_TEST(kinds_of_what_is_found)
{
    static const struct {
        const char *policy;
        size_t candidates;
        bool read, skill;
    } all[] = {
        {"{query: echo, kind: tool}", 2, false, false},
        {"{query: echo, kind: extension}", 2, false, false},
        {"{query: knack, kind: skill}", 0, true, true},
        {"{query: knack, kind: any}", 2, true, true},
        {"{query: echo}", 2, false, false},
    };

    start(all[_i].policy, "");
    ck_assert_uint_eq(asked_about(), all[_i].candidates);
    finish("a");
    ck_assert(offers("t/echo"));
    ck_assert(offers("t/read") == all[_i].read);
    ck_assert_uint_eq(
        json_array_size(json_object_get(the_call()->body, "skills")),
        all[_i].skill);
    end();
}
END_TEST

/* No more are asked for than it says, and none at all where it is not enabled.
 * key: discovery_policy.max_results, discovery_policy.enabled */
START_TEST(how_many_and_whether)
{
    start("{query: t, max_results: 7}", "");
    ck_assert_int_eq(
        json_integer_value(json_object_get(the_call()->body, "max")), 7);
    end();
    start("{query: echo, enabled: false}", "");
    ck_assert(offers("t/read"));
    end();
}
END_TEST

/* Nothing found is all of the allowlist, or a failure; and so is nobody who
 * answers.
 * key: discovery_policy.fallback=all, discovery_policy.fallback=error */
START_TEST(nothing_is_found)
{
    start("{query: none, fallback: all}", "");
    finish("a");
    ck_assert(offers("t/echo") && offers("t/read"));
    end();
    start("{query: none, fallback: error}", "");
    sim_run_plain(&s);
    assert_node_error("a", "discovery.nothing");
    end();
    start("{query: echo, fallback: all}", "");
    s.mutes = 1;
    finish("a");
    ck_assert(offers("t/read"));
    assert_record("a", "status", "running");
    end();
    start("{query: echo, fallback: error}",
          "retry_policy: {max_attempts: 2, delay: 1ms},");
    s.mutes = 2;
    sim_run_plain(&s);
    assert_node_error("a", "discovery.failed");
    assert_record("a", "attempts", "2");
    end();
}
END_TEST

/* What is not among the candidates is refused, with all that came with it. */
START_TEST(nothing_is_widened)
{
    static const char *const lies[] = {
        "{\"results\": [{\"id\": \"t/echo\", \"kind\": \"tool\"}, {\"id\": "
        "\"t/write\", \"kind\": \"tool\"}]}",
        "{\"results\": [{\"id\": \"t/echo\", \"kind\": \"tool\"}, {\"id\": "
        "\"t/read\", \"kind\": \"tool\"}]}", /* more than one */
        "{\"results\": [{\"id\": \"x\", \"kind\": \"skill\"}]}",
        "{\"results\": 1}",
        "{}",
    };

    start("{query: echo, kind: tool, max_results: 1, fallback: error}", "");
    s.lie = json_loads(lies[_i], 0, NULL);
    sim_run_plain(&s);
    assert_node_error("a", "discovery.bad_answer");
    end();
    start("{query: echo, kind: tool, max_results: 1}", "");
    s.lie = json_loads(lies[_i], 0, NULL);
    finish("a");
    ck_assert(offers("t/echo") && offers("t/read"));
    end();
}
END_TEST

/* A tool that is not offered is not run, though the allowlist has it. */
START_TEST(who_is_not_offered_it_cannot_call_it)
{
    json_t *show, *out;

    start("{query: echo}",
          "args: {asks: [{method: tool.invoke/1, kind: tool, body: {tool: "
          "t/read, arguments: {}}}]},");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    show = sim_show(&s);
    out = json_object_get(json_array_get(json_object_get(show, "nodes"), 0),
                          "output");
    out = json_object_get(json_array_get(out, 0), "error");
    ck_assert_str_eq(json_string_value(json_object_get(out, "code")),
                     "unknown_tool");
    ck_assert_ptr_null(
        strstr(json_string_value(json_object_get(out, "message")), "t_read"));
    json_decref(show);
    end();
}
END_TEST

/* It comes ahead of memory, whose query may use what was found; once for each
 * start, whatever dies. */
START_TEST(discovery_comes_first)
{
    uint32_t seed = (uint32_t)_i + 7;

    start(
        "{query: knack}",
        "memory_policy: {read: {semantic_query: \"${discovery.skills[0]}\"}},");
    run_dying(&seed, _i % 4);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("a", "attempts", "1");
    end();
}
END_TEST

/* Expressions may use each member that mortise-graph(5) has. */
START_TEST(its_members_are_known)
{
    start("{query: knack}",
          "memory_policy: {read: {semantic_query: \"${discovery.kind + "
          "string(discovery.narrows) + discovery.results[0].id + "
          "discovery.results[0].kind + string(discovery.results[0].score) + "
          "(has(discovery.results[0].text) ? discovery.results[0].text : '') + "
          "(has(discovery.results[0].tier) ? discovery.results[0].tier : '') + "
          "(has(discovery.fallback) ? discovery.fallback : '') + "
          "(has(discovery.error) ? discovery.error.node + "
          "discovery.error.code + discovery.error.class + "
          "discovery.error.message : '') + string(discovery.skills.size())}"
          "\"}},");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *su = suite_create("run_discovery");
    TCase *tc = tcase_create("discovery");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, what_is_found_narrows);
    tcase_add_test(tc, its_members_are_known);
    tcase_add_loop_test(tc, kinds_of_what_is_found, 0, 5);
    tcase_add_test(tc, how_many_and_whether);
    tcase_add_test(tc, nothing_is_found);
    tcase_add_loop_test(tc, nothing_is_widened, 0, 5);
    tcase_add_test(tc, who_is_not_offered_it_cannot_call_it);
    tcase_add_loop_test(tc, discovery_comes_first, 0, 20);
    suite_add_tcase(su, tc);
    return su;
}

int main(void)
{
    return test_run(suite());
}
