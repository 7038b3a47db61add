/* test_run_edge_guards.c -- guardrail_policy of edges: what is judged on its
 * way from a node to the next, and what becomes of the edge, of the others, and
 * of what the node writes. */
#include "lib/drive.h"

/* `a` of this operation, which leads to b, guarded so, and to c. */
static void leaving(const char *op, const char *policy, const char *more)
{
    char yaml[2048];

    snprintf(yaml, sizeof yaml,
             HEAD "start: a\n"
                  "nodes:\n"
                  "  a:\n"
                  "    type: tool\n"
                  "    tool: t/%s\n"
                  "    args: \"${input}\"\n"
                  "    %s\n"
                  "  b: {type: tool, tool: t/echo, args: {was: "
                  "\"${artifacts.a}\"}}\n"
                  "  c: {type: tool, tool: t/echo, args: {was: "
                  "\"${artifacts.a}\"}}\n"
                  "  safe: {type: tool, tool: t/echo}\n"
                  "edges:\n"
                  "  - {from: START, to: safe, when: \"false\"}\n"
                  "  - {from: a, to: b, guardrail_policy: {%s}}\n"
                  "  - {from: a, to: c}\n",
             op, more, policy);
    begin(yaml);
}

static void run_leaving(const char *op, const char *policy, const char *more,
                        const char *input)
{
    leaving(op, policy, more);
    admit(input);
    sim_run_plain(&s);
}

#define BAD     "{\"bad\": 1, \"good\": 2}"
#define REROUTE "on_violation: reroute, reroute_target: safe"

/* ---- what becomes of violations ------------------------------------------ */

/* What passes goes on as it is; each verdict says which edge it was about.
 * key: edge.guardrail_policy, guardrail_policy of an edge.input */
START_TEST(what_passes_goes_on)
{
    run_leaving("write", "input: [ok, bad]", "", "{\"v\": 1}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "b", "{\"was\":{\"v\":1}}");
    assert_record("a", "guardrails",
                  "[{\"action\":\"pass\",\"guardrail\":\"ok\",\"stage\":"
                  "\"edge\",\"to\":\"b\",\"violation\":false},"
                  "{\"action\":\"pass\",\"guardrail\":\"bad\",\"stage\":"
                  "\"edge\",\"to\":\"b\",\"violation\":false}]");
    ck_assert(sim_saw(&s, "guardrail_result", "a"));
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* block is what holds when nothing is said: the node fails, nothing of its
 * output is anywhere, and nothing behind it runs; where on_error leads, it does.
 * key: guardrail_policy of an edge.on_violation=block */
START_TEST(block_fails_the_node)
{
    static const char *const how[] = {"input: [ok, bad]",
                                      "input: [bad], on_violation: block",
                                      "input: [stern]"};

    for (size_t i = 0; i < 6; i++) {
        run_leaving("write", how[i % 3], i < 3 ? "" : "on_error: {goto: safe}",
                    BAD);
        assert_node_error("a", "guardrail");
        assert_node("b", "skipped");
        assert_node("c", "skipped");
        assert_node("safe", i < 3 ? "skipped" : "done");
        assert_status(i < 3 ? MORTISE_RUN_FAILED : MORTISE_RUN_COMPLETED);
        assert_value("artifacts", "a", "nothing");
        end();
    }
}
END_TEST

/* reroute is about that edge alone: where it leads, nothing runs; the node's
 * other edges are taken, and its output stays.
 * key: guardrail_policy of an edge.on_violation=reroute
 * key: guardrail_policy of an edge.reroute_target */
START_TEST(reroute_replaces_the_edge)
{
    run_leaving("write", "input: [ok, bad, stern], " REROUTE, "", BAD);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", "skipped");
    assert_node("c", "done");
    assert_node("safe", "done");
    assert_record("a", "guardrails",
                  "[{\"action\":\"pass\",\"guardrail\":\"ok\",\"stage\":"
                  "\"edge\",\"to\":\"b\",\"violation\":false},"
                  "{\"action\":\"reroute\",\"guardrail\":\"bad\",\"reason\":"
                  "\"found something\",\"stage\":\"edge\",\"to\":\"b\","
                  "\"violation\":true}]");
    assert_value("artifacts", "a", "{\"bad\":1,\"good\":2}");
    end();
    run_leaving("write", "input: [bad], " REROUTE, "", "{}");
    assert_node("b", "done");
    assert_node("safe", "skipped");
    end();
}
END_TEST

/* warn notes it and goes on.
 * key: guardrail_policy of an edge.on_violation=warn */
START_TEST(warn_goes_on)
{
    run_leaving("write", "input: [bad, down, ok], on_violation: warn", "", BAD);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "b", "{\"was\":{\"bad\":1,\"good\":2}}");
    end();
}
END_TEST

/* sanitize makes the replacement the node's output, for all its edges, its
 * outputs and its artifact; without one, or from a guardrail that failed, it is
 * block.
 * key: guardrail_policy of an edge.on_violation=sanitize */
START_TEST(sanitize_replaces)
{
    run_leaving("write", "input: [bad, bad, ok], on_violation: sanitize",
                "outputs: {scratch.all: output, scratch.n: size(output)}", BAD);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "a", "{\"good\":2}");
    assert_value("artifacts", "b", "{\"was\":{\"good\":2}}");
    assert_value("artifacts", "c", "{\"was\":{\"good\":2}}");
    assert_value("scratch", "all", "{\"good\":2}");
    assert_value("scratch", "n", "1");
    assert_record("a", "output", "{\"good\":2}");
    end();
    run_leaving("write", "input: [bad, stern], on_violation: sanitize", "",
                BAD);
    assert_node_error("a", "guardrail");
    end();
    run_leaving("write", "input: [down], on_violation: sanitize", "", BAD);
    assert_node_error("a", "guardrail");
    end();
}
END_TEST

/* A replacement is held to the node's schema. */
START_TEST(replacements_are_checked)
{
    run_leaving("write", "input: [bad], on_violation: sanitize",
                "output_schema: {required: [bad]}", BAD);
    assert_node_error("a", "schema");
    assert_value("artifacts", "a", "nothing");
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_node_error("a", "schema");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* ---- edges ----------------------------------------------------------------- */

/* The edges are chosen on what came, and what guardrails make of it changes
 * nothing there; only those that are taken are looked at.
 * key: route.guardrail_policy */
START_TEST(routes_are_chosen_first)
{
    static const char yaml[] = HEAD
        "start: a\n"
        "nodes:\n"
        "  a: {type: tool, tool: t/read, args: \"${input}\", routes: %s\n"
        "      {when: \"has(output.bad)\", to: b,\n"
        "       guardrail_policy: {input: [bad], on_violation: sanitize}},\n"
        "      {when: \"true\", to: c,\n"
        "       guardrail_policy: {input: [stern]}}%s, default: c}\n"
        "  b: {type: tool, tool: t/echo, args: {was: "
        "\"${artifacts.a}\"}}\n"
        "  c: {type: tool, tool: t/echo}\n";
    char text[1024];

    snprintf(text, sizeof text, yaml, "[", "]");
    run_plain(text, BAD);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "b", "{\"was\":{\"good\":2}}");
    assert_node("c", "skipped");
    end();
    run_plain(text, "{}");
    assert_node_error("a", "guardrail");
    end();
    snprintf(text, sizeof text, yaml, "{all: [", "]}");
    run_plain(text, BAD);
    assert_node_error("a", "guardrail");
    end();
}
END_TEST

/* Several are looked at in their order, and what one made of the output is what
 * the next one sees; a detour is not looked at. */
START_TEST(edges_in_their_order)
{
    run_plain(HEAD
              "start: a\n"
              "nodes:\n"
              "  a: {type: tool, tool: t/read, args: \"${input}\"}\n"
              "  b: {type: tool, tool: t/echo}\n"
              "  c: {type: tool, tool: t/echo}\n"
              "  d: {type: tool, tool: t/echo, join: all}\n"
              "edges:\n"
              "  - {from: a, to: b, guardrail_policy: {input: [bad, stern],\n"
              "     on_violation: reroute, reroute_target: d}}\n"
              "  - {from: a, to: c, guardrail_policy: {input: [bad],\n"
              "     on_violation: sanitize}}\n"
              "  - {from: a, to: d, guardrail_policy: {input: [bad]}}\n",
              BAD);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", "skipped");
    assert_node("c", "done");
    assert_node("d", "done");
    assert_runs("d", 1);
    assert_value("artifacts", "a", "{\"good\":2}");
    end();
}
END_TEST

/* An edge may be of any type: of a personality, a discovery or a map, it is
 * looked at whichever way it leads, and its detour stands in for all. */
START_TEST(edges_of_all_types)
{
    static const char *const forms[] = {
        "personality: {trait: openness, threshold: 0.2, above: b, below: c}",
        "personality: {trait: openness, threshold: 0.8, above: c, below: b}",
        "discovery: {query: x, kind: tool, fallback: b}",
        "map: {over: \"[output.good, 2]\", to: b, join: c}",
        "to: b, when: \"has(output.bad)\"",
        "to: b, type: static",
    };

    for (size_t i = 0; i < 2 * sizeof forms / sizeof forms[0]; i++) {
        const char *form = forms[i / 2];
        bool reroutes = i % 2 == 1;
        char yaml[1024];

        snprintf(yaml, sizeof yaml,
                 HEAD "start: a\n"
                      "nodes:\n"
                      "  a: {type: tool, tool: t/read, args: \"${input}\"}\n"
                      "  b: {type: tool, tool: t/echo%s}\n"
                      "  c: {type: tool, tool: t/echo}\n"
                      "  safe: {type: tool, tool: t/echo}\n"
                      "edges:\n"
                      "  - {from: a, %s,\n"
                      "     guardrail_policy: {input: [bad], %s}}\n"
                      "  - {from: START, to: safe, when: \"false\"}\n%s",
                 strstr(form, "disc") != NULL  ? ", capability: x"
                 : strstr(form, "map") != NULL ? ", next: c"
                                               : "",
                 form, reroutes ? REROUTE : "on_violation: sanitize",
                 strstr(form, "c,") == NULL && strstr(form, "c}") == NULL
                     ? "  - {from: START, to: c, when: \"false\"}\n"
                     : "");
        run_plain(yaml, BAD);
        assert_status(MORTISE_RUN_COMPLETED);
        if (reroutes)
            assert_runs("b", 0);
        else
            assert_runs("b", strstr(form, "map") != NULL ? 2 : 1);
        assert_node("safe", reroutes ? "done" : "skipped");
        assert_value("artifacts", "a",
                     reroutes ? "{\"bad\":1,\"good\":2}" : "{\"good\":2}");
        end();
    }
}
END_TEST

/* An edge that stands twice is one, and guarded where either is. */
START_TEST(repeated_edges_are_guarded)
{
    run_plain(HEAD "start: a\n"
                   "nodes:\n"
                   "  a: {type: tool, tool: t/read, args: \"${input}\",\n"
                   "      next: [b, c]}\n"
                   "  b: {type: tool, tool: t/echo}\n"
                   "  c: {type: tool, tool: t/echo, depends_on: a}\n"
                   "  safe: {type: tool, tool: t/echo}\n"
                   "edges:\n"
                   "  - {from: a, to: b, guardrail_policy: {input: [bad],\n"
                   "     on_violation: reroute, reroute_target: safe}}\n"
                   "  - {from: a, to: b}\n",
              BAD);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", "skipped");
    assert_node("c", "done");
    assert_node("safe", "done");
    end();
}
END_TEST

/* ---- sources --------------------------------------------------------------- */

/* What a value of on_error leads on is judged like any output; a violation then
 * is the node's last word. */
START_TEST(values_of_on_error_are_judged)
{
    static const char on_error[] = "on_error: {value: \"{'bad': error.code}\"}";

    run_leaving("fail", "input: [bad], on_violation: sanitize", on_error,
                "{\"code\": \"x\"}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "a", "{}");
    end();
    run_leaving("fail", "input: [bad]", on_error, "{\"code\": \"x\"}");
    assert_node_error("a", "guardrail");
    end();
    run_leaving("write", "input: [bad]", "on_error: {value: \"{'v': 1}\"}",
                BAD);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_value("artifacts", "a", "{\"v\":1}");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* What an executor writes by itself passes along the edges, too: it is judged
 * like the output, behind it. */
START_TEST(updates_are_judged)
{
    static const char input[] =
        "{\"v\": 1, \"update\": {\"scratch\": {\"bad\": 1, \"x\": 1}}}";
    static const char *const ops[] = {"write", "read"};

    for (size_t i = 0; i < 2; i++) {
        uint32_t seed = 1;

        run_leaving(ops[i], "input: [ok, bad], on_violation: sanitize", "",
                    input);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_value("scratch", "x", "1");
        assert_value("scratch", "bad", "nothing");
        end();
        run_leaving(ops[i], "input: [bad]", "", input);
        assert_node_error("a", "guardrail");
        assert_value("scratch", "x", "nothing");
        end();
        leaving(ops[i], "input: [bad], " REROUTE, "");
        admit(input);
        finish("a");
        sim_crash(&s, &seed);
        sim_recover(&s);
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_node("b", "skipped");
        assert_node("safe", "done");
        assert_value("scratch", "x", "1");
        assert_value("scratch", "bad", "1");
        end();
    }
}
END_TEST

/* The decision of a person, the target of a guardrail, the artifacts of a graph
 * inside: all that a node gives is judged on its way.  What a graph's
 * output_mapping sees is what passed. */
START_TEST(nodes_of_all_types)
{
    static const char *const nodes[] = {
        "{type: human, prompt: x, auto_accept: true}",
        "{type: guardrail, guardrails: [ok], target: input}",
        "{type: subgraph, input_mapping: {input.all: input},\n"
        "      output_mapping: {scratch.all: artifacts},\n"
        "      graph: {start: p, nodes: {p: {type: tool, tool: t/read,\n"
        "        args: {v: 1}, output_as: bad}}}}"};

    for (size_t i = 0; i < 6; i++) {
        char yaml[1024];

        snprintf(yaml, sizeof yaml,
                 HEAD "start: a\n"
                      "nodes:\n"
                      "  a: %s\n"
                      "  b: {type: tool, tool: t/echo}\n"
                      "edges:\n"
                      "  - {from: a, to: b, guardrail_policy: {input: [%s],\n"
                      "     on_violation: sanitize}}\n",
                 nodes[i / 2],
                 i % 2 == 1   ? "stern"
                 : i / 2 == 0 ? "ok"
                              : "bad");
        run_plain(yaml, BAD);
        if (i % 2 == 1)
            assert_node_error("a", "guardrail");
        else
            assert_status(MORTISE_RUN_COMPLETED);
        if (i == 2)
            assert_value("artifacts", "a", "{\"good\":2}");
        if (i == 4) {
            assert_value("artifacts", "a", "{}");
            assert_value("scratch", "all", "{}");
            assert_runs("1.0/a#1/p#1", 1);
        }
        end();
    }
}
END_TEST

/* ---- trouble ------------------------------------------------------------- */

/* From the moment that the output is there, the node does not run again: after
 * a crash the guardrails are asked about the very same. */
START_TEST(a_crash_asks_again)
{
    static const char *const ops[] = {"read", "write", "echo", "fail"};

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        uint32_t seed = 1;

        leaving(ops[i], "input: [ok, bad], on_violation: sanitize",
                "on_error: {value: \"{'bad': 1, 'good': 2}\"}");
        admit(BAD);
        finish("a");
        finish("a");
        sim_crash(&s, &seed);
        sim_recover(&s);
        sync_all();
        ck_assert_uint_eq(s.n_calls, 1);
        ck_assert_int_eq(s.calls[0].call.kind, MORTISE_RUN_CHECK);
        ck_assert_int_eq(s.calls[0].call.stage, MORTISE_GUARD_EDGE);
        ck_assert_str_eq(s.calls[0].call.plugin, "ok");
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_COMPLETED);
        assert_value("artifacts", "b", "{\"was\":{\"good\":2}}");
        end();
    }
}
END_TEST

/* One that does not answer in time is a violation. */
START_TEST(silence_is_a_violation)
{
    leaving("write", "input: [ok]", "timeout: 1s");
    admit(BAD);
    finish("a");
    sync_all();
    sim_fire_timer(&s, 0);
    sim_run_plain(&s);
    assert_node_error("a", "guardrail");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
}
END_TEST

/* A blocked write did happen: who tries the node again has the output judged
 * again, and nothing done twice; what only reads, reads again. */
START_TEST(a_blocked_output_happened)
{
    run_leaving("write", "input: [bad]", "", BAD);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_node_error("a", "guardrail");
    assert_record("a", "generation", "2");
    ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
    end();
    leaving("read", "input: [bad]", "");
    admit(BAD);
    sim_run_plain(&s);
    command((struct mortise_command){.kind = MORTISE_CMD_RESUME}, 0);
    sync_all();
    ck_assert_int_eq(s.calls[0].call.kind, MORTISE_RUN_EXECUTE);
    sim_run_plain(&s);
    end();
}
END_TEST

/* Killed anywhere: what was to be sanitised never shows, and an effect happens
 * once. */
START_TEST(survives_deaths)
{
    static const char *const ops[] = {"write", "idem",      "rec",     "read",
                                      "does",  "does_idem", "does_rec"};
    static const char *const how[] = {"on_violation: sanitize", REROUTE};
    uint32_t seed = (uint32_t)_i + 1;
    const char *op = ops[_i % 7];
    bool does = strncmp(op, "does", 4) == 0, reroutes = _i / 7 % 2 == 1;
    char policy[128];

    snprintf(policy, sizeof policy, "input: [ok, bad], %s", how[reroutes]);
    leaving(op, policy, "on_in_doubt: retry");
    admit(does ? "{\"bad\": 1, \"do\": []}" : BAD);
    run_dying(&seed, 1 + _i % 4);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("b", reroutes ? "skipped" : "done");
    assert_node("c", "done");
    if (!does)
        assert_value("artifacts", "a",
                     reroutes ? "{\"bad\":1,\"good\":2}" : "{\"good\":2}");
    end();
}
END_TEST

/* A pause lets go of a check, and the run goes on with it; a cancelled run asks
 * nobody any more, and a goto leaves the check behind. */
START_TEST(commands_between)
{
    static const enum mortise_command_kind kinds[] = {
        MORTISE_CMD_PAUSE, MORTISE_CMD_CANCEL, MORTISE_CMD_GOTO,
        MORTISE_CMD_UPDATE};

    for (size_t i = 0; i < 3 * 4; i++) {
        struct mortise_command c = {.kind = kinds[i % 4],
                                    .node = i % 4 == 2 ? "safe" : NULL,
                                    .json = i % 4 == 3 ? "{\"scratch\": {}}"
                                                       : NULL};

        leaving("write", "input: [ok, bad], on_violation: sanitize", "");
        admit(BAD);
        for (size_t k = 0; k < i / 4; k++)
            finish("a");
        ck_assert_int_eq(command(c, 0), MORTISE_OK);
        sim_run_plain(&s);
        ck_assert_uint_eq(s.n_calls, 0);
        if (i % 4 == 0) {
            assert_status(MORTISE_RUN_PAUSED);
            ck_assert_int_eq(resume(), MORTISE_OK);
        }
        if (i % 4 == 1) {
            assert_status(MORTISE_RUN_CANCELLED);
        } else {
            assert_status(MORTISE_RUN_COMPLETED);
            assert_node(i % 4 == 2 ? "safe" : "b", "done");
            if (i % 4 != 2)
                assert_value("artifacts", "a", "{\"good\":2}");
        }
        ck_assert_int_le(sim_effect_count(&s, "a"), 1);
        end();
    }
}
END_TEST

/* Who loses a race while what leaves it is judged has lost; under fail_fast, a
 * resume has it judged again, and no graph inside run again. */
START_TEST(losers_in_between)
{
    begin(HEAD "start: [a, d]\n"
               "nodes:\n"
               "  a: {type: tool, tool: t/read}\n"
               "  d: {type: tool, tool: t/read, next: j}\n"
               "  j: {type: tool, tool: t/echo, join: any}\n"
               "edges:\n"
               "  - {from: a, to: j, guardrail_policy: {input: [ok]}}\n");
    admit("{}");
    finish("a");
    finish("d");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_node("a", "skipped");
    end();

    begin(HEAD "start: [a, d]\n"
               "failure: fail_fast\n"
               "nodes:\n"
               "  a: {type: subgraph, input_mapping: {input.n: \"1\"},\n"
               "      graph: {start: p, nodes: {p: {type: tool,\n"
               "        tool: t/read, args: {v: 1}}}}}\n"
               "  b: {type: tool, tool: t/echo}\n"
               "  d: {type: tool, tool: t/fail, args: {code: x}}\n"
               "edges:\n"
               "  - {from: a, to: b, guardrail_policy: {input: [ok]}}\n");
    admit("{}");
    finish("p");
    finish("d");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    assert_node("a", "skipped");
    command((struct mortise_command){.kind = MORTISE_CMD_RESUME}, 0);
    finish("a");
    finish("b");
    assert_runs("p", 1);
    sim_run_plain(&s);
    assert_node("a", "done");
    assert_node("b", "done");
    assert_node_error("d", "x");
    assert_status(MORTISE_RUN_FAILED);
    end();
}
END_TEST

/* ---- graphs inside --------------------------------------------------------- */

/* `a` is a graph of one write, guarded so; `got` is what its mapping saw. */
static void inside(const char *policy)
{
    char yaml[2048];

    snprintf(yaml, sizeof yaml,
             HEAD "start: a\n"
                  "nodes:\n"
                  "  a:\n"
                  "    type: subgraph\n"
                  "    input_mapping: {input.good: input.good, input.bad:\n"
                  "      \"has(scratch.bad) ? scratch.bad : input.bad\"}\n"
                  "    output_mapping: {scratch.got: artifacts}\n"
                  "    guardrail_policy: {%s}\n"
                  "    next: b\n"
                  "    graph:\n"
                  "      start: p\n"
                  "      nodes:\n"
                  "        p: {type: tool, tool: t/write, output_as: bad,\n"
                  "            on_in_doubt: retry, args: \"${input}\"}\n"
                  "  b: {type: tool, tool: t/echo}\n"
                  "  safe: {type: tool, tool: t/echo}\n"
                  "edges:\n"
                  "  - {from: START, to: safe, when: \"false\"}\n",
             policy);
    begin(yaml);
    admit(BAD);
}

/* What goes into the graph is judged before anything of it starts. */
START_TEST(inputs_of_graphs)
{
    static const char *const how[] = {"sanitize", "warn", "block",
                                      "reroute, reroute_target: safe"};

    for (size_t i = 0; i < 4; i++) {
        char policy[128];

        snprintf(policy, sizeof policy, "input: [ok, bad], on_violation: %s",
                 how[i]);
        inside(policy);
        sim_run_plain(&s);
        assert_status(i == 2 ? MORTISE_RUN_FAILED : MORTISE_RUN_COMPLETED);
        ck_assert_int_eq(sim_effect_count(&s, "p"), i < 2 ? 1 : 0);
        assert_node("b", i < 2 ? "done" : "skipped");
        assert_node("safe", i == 3 ? "done" : "skipped");
        if (i < 2)
            assert_value("artifacts", "a",
                         i == 0 ? "{\"bad\":{\"good\":2}}"
                                : "{\"bad\":{\"bad\":1,\"good\":2}}");
        end();
    }
}
END_TEST

/* What comes out of it is judged before output_mapping sees it. */
START_TEST(outputs_of_graphs)
{
    static const char *const how[] = {"sanitize", "warn", "block",
                                      "reroute, reroute_target: safe"};

    for (size_t i = 0; i < 4; i++) {
        char policy[128];

        snprintf(policy, sizeof policy, "output: [ok, bad], on_violation: %s",
                 how[i]);
        inside(policy);
        sim_run_plain(&s);
        assert_status(i == 2 ? MORTISE_RUN_FAILED : MORTISE_RUN_COMPLETED);
        ck_assert_int_eq(sim_effect_count(&s, "p"), 1);
        assert_node("b", i < 2 ? "done" : "skipped");
        assert_node("safe", i == 3 ? "done" : "skipped");
        assert_value("scratch", "got",
                     i == 0   ? "{}"
                     : i == 1 ? "{\"bad\":{\"bad\":1,\"good\":2}}"
                              : "nothing");
        end();
    }
}
END_TEST

/* A graph whose output was blocked is not run again for the same input: who
 * tries it again has it judged again.  For another input it is. */
START_TEST(blocked_graphs_happened)
{
    inside("output: [bad]");
    sim_run_plain(&s);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_node_error("a", "guardrail");
    assert_runs("p", 1);
    ck_assert_int_eq(sim_effect_count(&s, "p"), 1);
    ck_assert_int_eq(update("{\"scratch\": {\"bad\": 3}}"), MORTISE_OK);
    ck_assert_int_eq(resume(), MORTISE_OK);
    assert_node_error("a", "guardrail");
    assert_runs("p", 2);
    end();
}
END_TEST

/* Killed anywhere: the graph runs once, with what passed, and what it gave is
 * judged. */
START_TEST(graphs_survive_deaths)
{
    uint32_t seed = (uint32_t)_i + 1;

    inside("input: [ok, bad], output: [bad, ok], on_violation: sanitize");
    run_dying(&seed, 1 + _i % 5);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("p", 1);
    assert_value("scratch", "got", "{}");
    end();
}
END_TEST

/* A pause and a crash between the graph's end and its node's: it goes on from
 * there.  A cancelled run asks nobody. */
START_TEST(between_a_graph_and_its_node)
{
    for (int i = 0; i < 9; i++) {
        uint32_t seed = 1;

        inside("input: [ok], output: [ok, bad], on_violation: sanitize");
        for (int k = 0; k < i / 3; k++)
            finish(k == 1 ? "p" : "a");
        if (i % 3 == 0) {
            command((struct mortise_command){.kind = MORTISE_CMD_PAUSE}, 0);
            sim_run_plain(&s);
            assert_status(MORTISE_RUN_PAUSED);
            ck_assert_int_eq(resume(), MORTISE_OK);
        } else if (i % 3 == 1) {
            sync_all();
            sim_crash(&s, &seed);
            sim_recover(&s);
            sim_run_plain(&s);
        } else {
            command((struct mortise_command){.kind = MORTISE_CMD_CANCEL}, 0);
            sim_run_plain(&s);
            assert_status(MORTISE_RUN_CANCELLED);
            ck_assert_uint_eq(s.n_calls, 0);
        }
        if (i % 3 != 2) {
            assert_status(MORTISE_RUN_COMPLETED);
            assert_value("scratch", "got", "{}");
            assert_runs("p", 1);
        }
        ck_assert_int_le(sim_effect_count(&s, "p"), 1);
        end();
    }
}
END_TEST

/* Its input is judged once, for all attempts; each attempt has that. */
START_TEST(attempts_share_what_passed)
{
    begin(HEAD "start: a\n"
               "nodes:\n"
               "  a:\n"
               "    type: subgraph\n"
               "    input_mapping: {input.n: node.attempt}\n"
               "    guardrail_policy: {input: [ok]}\n"
               "    timeout: 1s\n"
               "    retry_policy: {max_attempts: 2, delay: 1s}\n"
               "    graph:\n"
               "      start: p\n"
               "      nodes:\n"
               "        p: {type: tool, tool: t/read, args: \"${input}\"}\n");
    admit("{}");
    finish("a");
    sync_all();
    ck_assert(is_out("p"));
    sim_fire_timer(&s, 0);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_record("a", "attempts", "2");
    assert_value("artifacts", "a", "{\"p\":{\"n\":1}}");
    assert_record("a", "guardrails",
                  "[{\"action\":\"pass\",\"guardrail\":\"ok\",\"stage\":"
                  "\"input\",\"violation\":false}]");
    end();
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_edge_guards");
    TCase *tc = tcase_create("leave");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, what_passes_goes_on);
    tcase_add_test(tc, block_fails_the_node);
    tcase_add_test(tc, reroute_replaces_the_edge);
    tcase_add_test(tc, warn_goes_on);
    tcase_add_test(tc, sanitize_replaces);
    tcase_add_test(tc, replacements_are_checked);
    tcase_add_test(tc, routes_are_chosen_first);
    tcase_add_test(tc, edges_in_their_order);
    tcase_add_test(tc, edges_of_all_types);
    tcase_add_test(tc, repeated_edges_are_guarded);
    tcase_add_test(tc, values_of_on_error_are_judged);
    tcase_add_test(tc, updates_are_judged);
    tcase_add_test(tc, nodes_of_all_types);
    tcase_add_test(tc, a_crash_asks_again);
    tcase_add_test(tc, silence_is_a_violation);
    tcase_add_test(tc, a_blocked_output_happened);
    tcase_add_loop_test(tc, survives_deaths, 0, 140);
    tcase_add_test(tc, commands_between);
    tcase_add_test(tc, losers_in_between);
    tcase_add_test(tc, inputs_of_graphs);
    tcase_add_test(tc, outputs_of_graphs);
    tcase_add_test(tc, blocked_graphs_happened);
    tcase_add_loop_test(tc, graphs_survive_deaths, 0, 100);
    tcase_add_test(tc, between_a_graph_and_its_node);
    tcase_add_test(tc, attempts_share_what_passed);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
