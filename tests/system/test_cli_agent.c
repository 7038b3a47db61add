/* test_cli_agent.c -- gmi nodes with tools: which models are offered, what
 * becomes of their calls, when a loop ends, and what is kept of what was said.
 * The models are scripted. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "lib/desk.h"
#include "lib/httpd.h"
#include "lib/shelf.h"

static struct shelf shelf;

static void sign_plugins(void)
{
    desk_sign();
    shelf_init(&shelf);
    shelf_put(&shelf, "speaks");
    shelf_put(&shelf, "plans");
    shelf_put(&shelf, "tried");
    shelf_put(&shelf, "posts");
    shelf_put(&shelf, "judges");
}

static void forget_plugins(void)
{
    shelf_finish(&shelf);
    desk_unsign();
}

/* A deployment of one scripted model with these replies, and more. */
static void deploy(const char *replies, const char *more)
{
    char text[3 * PATH_MAX + 8192];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins: {path: [\"%s\"]}\ntrust: {dir: \"%s\"}\n"
             "store: {path: ./store}\nmodels:\n"
             "  shows: {provider: speaks, model: m}\n"
             "  default:\n    provider: scripted\n    model: m\n    replies:\n"
             "%s%s",
             shelf.plugins, shelf.trust, replies, more);
    desk_put("mortise.yaml", text);
}

/* A graph whose node `a` has these keys, and what stands behind it. */
static void graph(const char *node, const char *rest)
{
    char text[8192];

    snprintf(text, sizeof text, "start: a\nnodes:\n  a:\n    type: gmi\n%s%s%s",
             strstr(node, "prompt: ") == NULL ? "    prompt: go\n" : "", node,
             rest);
    desk_graph("g", text);
}

static void run(const char *node)
{
    graph(node, "    next: END\n");
    child_run("$MORTISE run g.yaml --id r");
}

static json_t *shown(void)
{
    json_t *show;

    desk_ok("$MORTISE show r --json");
    show = json_loads(child.out, 0, NULL);
    ck_assert_ptr_nonnull(show);
    return show;
}

/* A copy of what the run's artifacts have under that name. */
static json_t *artifact(const char *name)
{
    json_t *show = shown(), *state, *out;

    state = json_object_get(show, "state");
    out =
        json_incref(json_object_get(json_object_get(state, "artifacts"), name));
    json_decref(show);
    return out;
}

static void gave(const char *name, const char *want)
{
    json_t *got = artifact(name);
    json_t *value = json_loads(want, JSON_DECODE_ANY, NULL);

    ck_assert_ptr_nonnull(value);
    ck_assert_msg(json_equal(got, value), "not %s:\n%s", want, child.out);
    json_decref(value);
    json_decref(got);
}

static void failed(const char *code, const char *words)
{
    json_t *show = shown();
    const json_t *error = json_object_get(show, "error");

    ck_assert_msg(json_is_object(error), "%s", child.out);
    ck_assert_msg(
        strcmp(json_string_value(json_object_get(error, "code")), code) == 0 &&
            strstr(json_string_value(json_object_get(error, "message")),
                   words) != NULL,
        "%s: %s in\n%s", code, words, child.out);
    json_decref(show);
}

/* What a model that shows its request was asked, of the node's output. */
static json_t *asked(void)
{
    json_t *text = artifact("a"), *out;

    ck_assert_msg(json_is_string(text), "%s", child.out);
    out = json_loads(json_string_value(text), 0, NULL);
    json_decref(text);
    return out;
}

/* ---- what is offered --------------------------------------------------------- */

/* Tools are told with their schemas, by names that every server takes; and how
 * they may be used.
 * key: gmi.tool_allowlist, node.tool_choice
 * key: node.parallel_tools, node.handoffs, tool.tool, tool.description */
START_TEST(tools_are_offered)
{
    json_t *request;
    const json_t *tools;
    const char *name[3], *about[3], *choice;
    int parallel;

    deploy("      []\n", "");
    graph("    llm: {provider_id: shows}\n"
          "    prompt: show\n"
          "    tool_allowlist: [{tool: tried/echo, description: Says it "
          "again.}, text/hash]\n"
          "    tool_choice: {tool: text/hash}\n"
          "    parallel_tools: true\n"
          "    handoffs: [b]\n",
          "    next: END\n"
          "  b: {type: tool, tool: tried/echo, args: {value: 1}, capability: "
          "It knows more., next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(0);
    request = asked();
    tools = json_object_get(request, "tools");
    ck_assert_uint_eq(json_array_size(tools), 3);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(json_unpack(json_array_get(tools, i), "{s:s, s?s}",
                                     "name", &name[i], "description",
                                     &about[i]),
                         0);
    }
    ck_assert_str_eq(name[0], "tried__echo");
    ck_assert_str_eq(about[0], "Says it again.");
    ck_assert_str_eq(name[1], "text__hash");
    ck_assert_ptr_nonnull(strstr(about[1], "digest"));
    ck_assert_str_eq(name[2], "transfer_to_b");
    ck_assert_ptr_nonnull(strstr(about[2], "It knows more."));
    ck_assert_str_eq(
        json_string_value(json_object_get(
            json_object_get(json_array_get(tools, 1), "parameters"), "type")),
        "object");
    ck_assert_int_eq(json_unpack(request, "{s:{s:s}, s:b}", "tool_choice",
                                 "name", &choice, "parallel_tools", &parallel),
                     0);
    ck_assert_str_eq(choice, "text__hash");
    ck_assert_int_ne(parallel, 0);
    json_decref(request);
}
END_TEST

START_TEST(choices_are_told)
{
    static const char *const words[] = {"auto", "none", "required"};
    char node[256];
    json_t *request;

    deploy("      []\n", "");
    snprintf(node, sizeof node,
             "    llm: {provider_id: shows}\n    prompt: show\n"
             "    tool_allowlist: [text/hash]\n    tool_choice: %s\n",
             words[_i]);
    run(node);
    desk_code(0);
    request = asked();
    ck_assert_str_eq(json_string_value(json_object_get(request, "tool_choice")),
                     words[_i]);
    ck_assert(json_is_false(json_object_get(request, "parallel_tools")));
    json_decref(request);
}
END_TEST

/* ---- what becomes of calls ---------------------------------------------------- */

#define CALL(turn, calls)                                                      \
    "      - {when: {turn: " turn "}, tool_calls: [" calls "]}\n"
#define ECHO(value) "{name: tried__echo, arguments: {value: " value "}}"
#define FAIL        "{name: tried__fail, arguments: {code: sour}}"

static const char allowed[] = "    tool_allowlist: [tried/echo, tried/fail]\n";

static const struct {
    const char *replies, *node, *output;
} outputs[] = {
    /* A text is told as it is, other values as JSON. */
    {CALL("0", ECHO("plain")) "      - {when: {tool: plain}, text: yes}\n", "",
     "\"yes\""},
    {CALL("0",
          ECHO("{n: 7}")) "      - {when: {tool: '{\"n\":7}'}, text: yes}\n",
     "", "\"yes\""},
    /* ... or parts, where it gives those. */
    {CALL("0",
          ECHO("{parts: [{type: text, text: in parts}]}")) "      - {when: "
                                                           "{tool: '{'}, text: "
                                                           "no}\n"
                                                           "      - {when: "
                                                           "{tool: in parts}, "
                                                           "text: yes}\n",
     "", "\"yes\""},
    {CALL("0", ECHO("{parts: [{type: song}]}")) "      - {when: {tool: "
                                                "'\"song\"'}, text: yes}\n",
     "", "\"yes\""},
    /* Errors are fed back, of tools that fail, are none, or get no object. */
    {CALL("0", FAIL) "      - {when: {tool: 'sour: '}, text: yes}\n",
     "    tool_errors: feed\n", "\"yes\""},
    {CALL("0", FAIL) "      - {when: {tool: 'sour: '}, text: yes}\n", "",
     "\"yes\""},
    {CALL("0", "{name: rm}") "      - {when: {tool: \"unknown_tool: no tool "
                             "'rm'; the tools are: tried__echo, "
                             "tried__fail\"}, text: yes}\n",
     "", "\"yes\""},
    {CALL("0",
          "{name: tried__echo, arguments_text: '{\"value\":'}") "      - "
                                                                "{when: {tool: "
                                                                "'arguments: "
                                                                "the arguments "
                                                                "are not'}, "
                                                                "text: yes}\n",
     "", "\"yes\""},
    {CALL("0", "{name: tried__echo, arguments_text: '{\"value\":1,"
               "\"value\":2}'}") "      - {when: {tool: 'an object has a name "
                                 "twice'}, text: yes}\n",
     "", "\"yes\""},
    /* Without a loop calls are what comes out. */
    {CALL("0", ECHO("1")), "    execution_mode: single_turn\n",
     "{\"text\": \"\", \"tool_calls\": [{\"id\": \"call_0_1\", \"name\": "
     "\"tried__echo\", \"arguments\": {\"value\": 1}}]}"},
    /* JSON at the end, and not before. */
    {CALL("0", ECHO("1")) "      - {when: {turn: 1}, text: none}\n"
                          "      - {when: {user: not what was asked}, json: "
                          "{n: 1}}\n",
     "    response: json\n", "{\"n\": 1}"},
    /* The engine's own error of a tool is the node's, and is retried by its code. */
    {"      - {when: {attempt: 1}, tool_calls: [{name: tried__fail, arguments: "
     "{code: 7}}]}\n      - {text: at last}\n",
     "    tool_errors: fail\n    retry_policy: {max_attempts: 2, delay: 1ms, "
     "retry_on: [schema]}\n",
     "\"at last\""},
};

START_TEST(calls_become_outputs)
{
    char node[512];

    deploy(outputs[_i].replies, "");
    snprintf(node, sizeof node, "%s%s", allowed, outputs[_i].node);
    run(node);
    desk_code(0);
    gave("a", outputs[_i].output);
}
END_TEST

static const struct {
    const char *replies, *node, *code, *words;
} failures[] = {
    {CALL("0", FAIL) "      - {text: no}\n", "    tool_errors: fail\n", "sour",
     ""},
    {"      - {tool_calls: [" ECHO("1") "]}\n", "", "loop", "three times"},
    {CALL("0", ECHO("1")) CALL("1", ECHO("2")) CALL("2", ECHO("1"))
         CALL("3", ECHO("2")) CALL("4", ECHO("1")) "      - {text: no}\n",
     "", "stagnation", "three turns"},
    {"      - {when: {turn: 0}, text: So far., tool_calls: [" ECHO(
         "1") "]}\n      - {when: {turn: 1}, text: And more., tool_calls: "
              "[" ECHO("2") "]}\n      - {text: no}\n",
     "    max_internal_iterations: 2\n", "max_iterations", "so far: And more."},
    {"      - {when: {turn: 0}, text: cut, tool_calls: [" ECHO(
         "1") "], stop: length}\n",
     "", "length", ""},
};

/* key: node.tool_errors */
START_TEST(others_are_failures)
{
    char node[512];

    deploy(failures[_i].replies, "");
    snprintf(node, sizeof node, "%s%s", allowed, failures[_i].node);
    run(node);
    desk_code(1);
    failed(failures[_i].code, failures[_i].words);
}
END_TEST

/* ---- how a tool may be used ---------------------------------------------------- */

/* What is too long is cut, and says so; a person approves what asks, may edit it,
 * or reject it; guardrails see what goes in and comes out.
 * key: tool.max_output */
START_TEST(long_results_are_cut)
{
    char replies[4096], text[2001];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    snprintf(
        replies, sizeof replies,
        CALL("0", ECHO("%s")) "      - {when: {tool: \"xx\\n[cut here: the "
                              "first 1024 of 2000 bytes]\"}, text: yes}\n",
        text);
    deploy(replies, "");
    run("    tool_allowlist: [{tool: tried/echo, max_output: 1KiB}]\n");
    desk_code(0);
    gave("a", "\"yes\"");
}
END_TEST

/* key: tool.ask */
START_TEST(calls_are_approved)
{
    static const struct {
        const char *verb, *options, *output;
    } cases[] = {
        {"approve", "", "\"as asked\""},
        {"approve", "--args '{\"value\": \"edited\"}'", "\"as edited\""},
        {"reject", "--reason 'not today'", "\"rejected\""},
    };
    char id[64];
    json_t *show;

    deploy(
        CALL("0",
             ECHO("asked")) "      - {when: {tool: 'not today'}, text: "
                            "rejected}\n"
                            "      - {when: {tool: edited}, text: as edited}\n"
                            "      - {when: {tool: asked}, text: as asked}\n",
        "");
    run("    tool_allowlist: [{tool: tried/echo, ask: true}]\n");
    desk_code(4);
    desk_out("tried/echo");
    show = shown();
    snprintf(id, sizeof id, "%s",
             json_string_value(json_object_get(
                 json_array_get(json_object_get(show, "pending"), 0), "id")));
    json_decref(show);
    child_run("$MORTISE %s r %s %s", cases[_i].verb, id, cases[_i].options);
    desk_code(0);
    gave("a", cases[_i].output);
    desk_out("\"model_calls\": 2"); /* none was made twice */
    /* who changed the arguments, and to what, is shown */
    desk_ok("echo $($MORTISE show r --json | grep -c '\"edited\": true') "
            "$($MORTISE show r | grep -c 'approved by .*, with edited "
            "arguments') $($MORTISE show r --transcript | grep -c 'approved .* "
            "by .*, with edited arguments: {\"value\":\"edited\"}')");
    ck_assert_str_eq(child.out, _i == 1 ? "1 1 1\n" : "0 0 0\n");
}
END_TEST

/* What stands in a call, and what comes of it, is judged like a node's.
 * key: tool.guardrail_policy, guardrail_policy of a tool.input
 * key: guardrail_policy of a tool.output
 * key: guardrail_policy of a tool.on_violation=block
 * key: guardrail_policy of a tool.on_violation=warn
 * key: guardrail_policy of a tool.on_violation=sanitize */
START_TEST(calls_are_guarded)
{
    static const struct {
        const char *policy, *output;
    } cases[] = {
        {"{input: [mails]}", "\"blocked\""},
        {"{output: [mails]}", "\"blocked\""},
        {"{input: [mails], on_violation: block}", "\"blocked\""},
        {"{input: [mails], on_violation: sanitize}", "\"masked\""},
        {"{output: [mails], on_violation: sanitize}", "\"masked\""},
        {"{output: [mails], on_violation: warn}", "\"seen\""},
    };
    char node[512];

    deploy(CALL("0", ECHO("a@b.example")) "      - {when: {tool: 'guardrail: "
                                          "'}, text: blocked}\n"
                                          "      - {when: {tool: "
                                          "'a@b.example'}, text: seen}\n"
                                          "      - {when: {tool: '[email]'}, "
                                          "text: masked}\n",
           "guardrails:\n  mails: {plugin: pattern, config: {builtin: "
           "[email]}}\n");
    snprintf(node, sizeof node,
             "    tool_allowlist: [{tool: tried/echo, guardrail_policy: %s}]\n",
             cases[_i].policy);
    run(node);
    desk_code(0);
    gave("a", cases[_i].output);
}
END_TEST

/* Who judges knows what came from a tool. */
START_TEST(results_of_tools_are_marked)
{
    deploy(CALL("0", ECHO("hi")) "      - {text: done}\n", "");
    run("    tool_allowlist:\n"
        "      - {tool: tried/echo, guardrail_policy: {input: [judges], "
        "output: "
        "[judges], on_violation: warn}}\n"
        "    guardrail_policy: {output: [judges], on_violation: warn}\n");
    desk_code(0);
    desk_ok("cat stages");
    ck_assert_str_eq(child.out, "6 5 2 ");
}
END_TEST

/* ---- tools that cannot start --------------------------------------------------- */

/* The model calls a tool once, and is told what came of it. */
static void deploy_one_call(const char *name)
{
    char replies[256];

    snprintf(replies, sizeof replies,
             "      - {when: {turn: 0}, tool_calls: [{name: %s, "
             "arguments: {value: 1}}]}\n"
             "      - {text: done}\n",
             name);
    deploy(replies, "");
}

/* The graph that the model knows as graph__inner. */
static void inner_graph(const char *body)
{
    char text[1024];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: inner, version: 1.0.0}\n%s",
             body);
    desk_put("inner.graph.yaml", text);
}

/* The run r completes, having asked its model twice in all. */
static void completes_with_two_turns(void)
{
    json_t *show = shown();

    ck_assert_str_eq(json_string_value(json_object_get(show, "status")),
                     "completed");
    ck_assert_int_eq(json_integer_value(json_object_get(
                         json_object_get(show, "usage"), "model_calls")),
                     2);
    json_decref(show);
}

/* The budget has no call left for a tool of a gmi node or a leaf: the run is
 * paused, `why` and `inbox` print how to raise the budget, and then it goes on
 * from there. */
START_TEST(a_budget_without_a_call_for_a_tool)
{
    static const char *const nodes[] = {
        "{type: gmi, prompt: go, tool_allowlist: [tried/echo], next: END}",
        "{goal: go, tool_allowlist: [tried/echo]}"};
    char text[512];

    deploy_one_call("tried__echo");
    snprintf(text, sizeof text,
             "budget: {tool_calls: 1}\nstart: [a]\nnodes: {a: %s}\n",
             nodes[_i]);
    desk_graph("g", text);
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_out("paused: budget");
    desk_ok("$MORTISE why r");
    desk_out("raise-budget r tool_calls=+1");
    desk_ok("$MORTISE inbox r");
    desk_out("raise-budget r tool_calls=+1");
    child_run("$MORTISE raise-budget r tool_call=+1 2>&1");
    desk_out("has no 'tool_call'; it has tool_calls");
    desk_ok("$MORTISE raise-budget r tool_calls=+1");
    completes_with_two_turns();
}
END_TEST

/* The node `a` of a graph with a budget of one call, which leads to `z` if
 * on_exceeded does. */
static const char *const poor[] = {
    "a: {type: gmi, prompt: go, tool_allowlist: [tried/echo], next: END}",
    "a: {goal: go, tool_allowlist: [tried/echo]}"};

static void put_poor_graph(const char *node, const char *on_exceeded)
{
    char text[512];

    snprintf(text, sizeof text,
             "budget: {tool_calls: 1%s}\nstart: [a]\nnodes:\n  %s\n%s",
             on_exceeded, node,
             strstr(on_exceeded, "goto") != NULL
                 ? "  z: {type: pass, value: {v: late}, next: END}\n"
                 : "");
    desk_graph("g", text);
}

/* The run r has this status, and this error if it failed. */
static void assert_run(const char *status, const char *code)
{
    json_t *show = shown();

    ck_assert_msg(
        strcmp(json_string_value(json_object_get(show, "status")), status) == 0,
        "%s", child.out);
    json_decref(show);
    if (code != NULL)
        failed(code, "");
}

/* With `fail` the run of a gmi node or of a leaf fails, and with `goto` it
 * continues there, whichever process it is in. */
START_TEST(a_budget_without_a_call_leads_on)
{
    bool goes = _i & 1, in_engine = _i & 4;
    pid_t engine = 0;

    deploy_one_call("tried__echo");
    put_poor_graph(poor[_i >> 1 & 1],
                   goes ? ", on_exceeded: {goto: z}" : ", on_exceeded: fail");
    if (in_engine) {
        engine = child_start("engine", "$MORTISE engine");
        child_await("engine.err", "holding the store");
    }
    child_run("$MORTISE run g.yaml --id r");
    desk_code(goes ? 0 : 1);
    if (goes)
        gave("z", "{\"v\": \"late\"}");
    assert_run(goes ? "completed" : "failed", goes ? NULL : "budget");
    if (in_engine)
        child_kill(engine);
}
END_TEST

/* An engine pauses it, and continues it when the budget is raised. */
START_TEST(an_engine_has_no_call_for_a_tool)
{
    pid_t engine;

    deploy_one_call("tried__echo");
    put_poor_graph(poor[_i], "");
    engine = child_start("engine", "$MORTISE engine");
    child_await("engine.err", "holding the store");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    assert_run("paused", NULL);
    desk_ok("$MORTISE raise-budget r tool_calls=+1");
    desk_until("\"status\": \"completed\"", "$MORTISE show r --json");
    completes_with_two_turns();
    child_kill(engine);
}
END_TEST

/* The same in a test of the graph. */
START_TEST(a_budget_without_a_call_in_a_test)
{
    static const struct {
        const char *on_exceeded, *expect;
    } cases[] = {{"", "status: paused, reason: budget"},
                 {", on_exceeded: fail", "status: failed, error: budget"},
                 {", on_exceeded: {goto: z}",
                  "status: completed, state: {artifacts: {z: {v: late}}}"}};
    char text[512];

    deploy_one_call("tried__echo");
    put_poor_graph(poor[_i % 2], cases[_i / 2].on_exceeded);
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.yaml\ncases:\n  one:\n    real: [agent, scripted]\n"
             "    expect: {%s}\n",
             cases[_i / 2].expect);
    desk_put("t.yaml", text);
    desk_ok("$MORTISE test t.yaml");
    desk_ok("$MORTISE test --crash-everywhere t.yaml");
}
END_TEST

/* A graph that is a tool has more nodes than the run may take steps: the run is
 * paused, and goes on when the limit is raised. */
START_TEST(a_limit_within_a_tool)
{
    deploy_one_call("graph__inner");
    inner_graph("start: p\nnodes:\n"
                "  p: {type: tool, tool: tried/echo, args: {value: 1}, next: "
                "q}\n"
                "  q: {type: tool, tool: tried/echo, args: {value: 2}, next: "
                "END}\n");
    desk_graph("g", "limits: {steps: 2}\nstart: a\nnodes: {a: {type: gmi, "
                    "prompt: go, tool_allowlist: [graph/inner], next: END}}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_out("paused: limit");
    desk_ok("$MORTISE resume r --limit steps=3");
    completes_with_two_turns();
}
END_TEST

/* A node of a graph that is a tool writes the resource of the node whose tool it
 * is: that one suspends, and has the resource again behind it. */
START_TEST(a_resource_within_a_tool)
{
    deploy_one_call("graph__inner");
    inner_graph("start: p\nnodes:\n"
                "  p: {type: tool, tool: tried/echo, args: {value: 1}, "
                "effect_class: write, resource: disk, next: END}\n");
    desk_graph("g",
               "start: a\nnodes: {a: {type: gmi, prompt: go, effect_class: "
               "write, resource: disk, tool_allowlist: [graph/inner], next: "
               "END}}\n");
    desk_ok("$MORTISE run g.yaml --id r");
    completes_with_two_turns();
}
END_TEST

/* ---- planners ------------------------------------------------------------------ */

static const struct {
    const char *replies, *node;
    int code;
    const char *output, *error;
} plans[] = {
    /* An operation: models are not offered it, but may be offered it, too. */
    {"      - {when: {turn: 0}, text: first}\n"
     "      - {when: {user: And then?}, text: second}\n",
     "    planner: plans/next\n", 0, "\"second\"", NULL},
    {"      - {when: {turn: 0}, tool_calls: [{name: plans__next}]}\n"
     "      - {when: {turn: 1}, text: first}\n"
     "      - {when: {user: And then?}, text: second}\n",
     "    planner: plans/next\n    tool_allowlist: [plans/next]\n", 0,
     "\"second\"", NULL},
    {"      - {when: {turn: 0}, tool_calls: [{name: plans__next}]}\n"
     "      - {when: {user: And then?}, text: second}\n"
     "      - {when: {tool: unknown_tool}, text: first}\n",
     "    planner: plans/next\n    tool_allowlist: [tried/echo]\n", 0,
     "\"second\"", NULL},
    /* JSON goes on, too. */
    {"      - {when: {turn: 0}, json: {n: 1}}\n"
     "      - {when: {user: And then?}, json: {n: 2}}\n",
     "    planner: plans/next\n    response: json\n", 0, "{\"n\": 2}", NULL},
    /* A model, of which the other one hears nothing. */
    {"      - {when: {user: Is what was asked for done, turn: 1}, json: {done: "
     "false, message: more}}\n"
     "      - {when: {user: Is what was asked for done}, json: {done: true}}\n"
     "      - {when: {turn: 0}, text: first}\n"
     "      - {when: {turn: 1, user: more}, text: second}\n",
     "    planner: default\n", 0, "\"second\"", NULL},
    {"      - {text: first}\n", "    planner: plans/nonsense\n", 1, NULL,
     "planner"},
    {"      - {when: {turn: 0}, text: first}\n      - {text: second}\n",
     "    planner: plans/next\n    max_internal_iterations: 1\n", 1, NULL,
     "max_iterations"},
};

/* key: node.planner */
START_TEST(planners_decide)
{
    char node[512];

    deploy(plans[_i].replies, "");
    snprintf(node, sizeof node, "    execution_mode: planner_controlled\n%s",
             plans[_i].node);
    run(node);
    desk_code(plans[_i].code);
    if (plans[_i].error != NULL)
        failed(plans[_i].error, "");
    else
        gave("a", plans[_i].output);
}
END_TEST

/* ---- conversations --------------------------------------------------------------- */

static const char *text_at(const json_t *messages, size_t i)
{
    return json_string_value(json_object_get(
        json_array_get(json_object_get(json_array_get(messages, i), "parts"),
                       0),
        "text"));
}

/* What was said goes on in another node: without the first one's instructions,
 * with its tools' results, and with nothing of a node that failed.
 * key: node.conversation */
START_TEST(conversations_go_on)
{
    json_t *request;
    const json_t *m;

    deploy(CALL("0", ECHO("1")) "      - {when: {tool: '1'}, text: one}\n", "");
    graph("    instructions: be a\n    prompt: to a\n"
          "    conversation: talk\n    tool_allowlist: [tried/echo]\n",
          "    next: b\n"
          "  b: {type: gmi, prompt: to b, conversation: talk, llm: "
          "{provider_id: default}, max_internal_iterations: 1, "
          "execution_mode: react_bounded, response: json, on_error: {value: "
          "'1'}, next: c}\n"
          "  c: {type: gmi, instructions: be c, prompt: show, conversation: "
          "talk, llm: {provider_id: shows}, output_as: a, next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(0);
    request = asked();
    m = json_object_get(request, "messages");
    ck_assert_uint_eq(json_array_size(m), 6);
    ck_assert_str_eq(text_at(m, 0), "be c");
    ck_assert_str_eq(text_at(m, 1), "to a");
    ck_assert_str_eq(
        json_string_value(json_object_get(json_array_get(m, 2), "role")),
        "assistant");
    ck_assert_str_eq(
        json_string_value(json_object_get(json_array_get(m, 3), "role")),
        "tool");
    ck_assert_str_eq(text_at(m, 4), "one");
    ck_assert_str_eq(text_at(m, 5), "show");
    json_decref(request);
}
END_TEST

/* A hand-over goes to the node; what was said goes along; and the node that was
 * left has no output that its schema could be held against. */
START_TEST(nodes_hand_over)
{
    json_t *request;
    const json_t *m;

    deploy("      - {tool_calls: [{name: transfer_to_c, arguments: {reason: "
           "because}}, {name: tried__echo, arguments: {value: 1}}]}\n",
           "");
    graph("    prompt: to a\n    conversation: talk\n    output_as: first\n"
          "    output_schema: {type: object}\n    parallel_tools: true\n"
          "    tool_allowlist: [tried/echo]\n    handoffs: [b, c]\n",
          "    next: b\n"
          "  b: {type: tool, tool: tried/fail, args: {code: no}, next: END}\n"
          "  c: {type: gmi, prompt: show, conversation: talk, llm: "
          "{provider_id: shows}, output_as: a, next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(0);
    gave("first", "null");
    request = asked();
    m = json_object_get(request, "messages");
    ck_assert_uint_eq(json_array_size(m), 4);
    ck_assert_uint_eq(
        json_array_size(json_object_get(json_array_get(m, 2), "parts")), 2);
    ck_assert_str_eq(text_at(m, 3), "show");
    json_decref(request);
}
END_TEST

/* ---- what it is told meanwhile -------------------------------------------------- */

static const char waits_once[] =
    "    tool_allowlist: [{tool: tried/echo, ask: true}]\n";

/* The request that waits. */
static void approve(void)
{
    char id[64];
    json_t *show = shown();

    snprintf(id, sizeof id, "%s",
             json_string_value(json_object_get(
                 json_array_get(json_object_get(show, "pending"), 0), "id")));
    json_decref(show);
    child_run("$MORTISE approve r %s", id);
}

/* It hears that with its next turn, once; what is for another node waits. */
START_TEST(told_is_heard)
{
    deploy("      - {when: {user: rather not}, text: stopped}\n"
           "      - {when: {user: not for a}, text: b}\n" CALL(
               "0", ECHO("1")) "      - {text: done}\n",
           "");
    graph(waits_once, "    next: b\n"
                      "  b: {type: gmi, prompt: to b, execution_mode: "
                      "react_bounded, next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE tell r 'not for a' --node b --no-continue");
    child_run("$MORTISE tell r 'rather not'");
    desk_code(4);
    desk_out("command command=tell actor=");
    desk_out(" text=rather not\n");
    desk_not_out("reason=");
    desk_ok("$MORTISE show r");
    desk_out("(b) not for a\n  rather not\n");
    approve();
    desk_code(0);
    gave("a", "\"stopped\"");
    gave("b", "\"b\"");
    desk_not_out("\"told\""); /* both are heard */
    child_run("$MORTISE tell r 'too late'");
    desk_code(1);
    desk_err("has already ended");
}
END_TEST

START_TEST(not_everybody_hears)
{
    deploy("      []\n", "");
    graph(waits_once, "    next: END\n");
    desk_graph("h", "start: a\nnodes:\n  a: {type: human, prompt: x, next: "
                    "END}\n");
    child_run("$MORTISE run h.yaml --id h");
    desk_code(4);
    child_run("$MORTISE tell h hello");
    desk_code(3);
    desk_err("no model would receive the message");
    child_run("$MORTISE tell h hello --node a");
    desk_code(3);
    desk_err("node 'a' uses no model");
    child_run("$MORTISE tell h hello --node b");
    desk_err("no node 'b'");
    child_run("$MORTISE tell h ''");
    desk_code(3);
    desk_err("not empty");
}
END_TEST

#define CHAT(text)                                                             \
    "{\"id\": \"x\", \"object\": \"chat.completion\", \"choices\": "           \
    "[{\"index\": 0, \"message\": {\"role\": \"assistant\", \"content\": "     \
    "\"" text "\"}, \"finish_reason\": \"stop\"}]}"

static void answers(struct httpd *d, const char *body)
{
    httpd_answer(d, "/v1/chat/completions", "200 OK",
                 "Content-Type: application/json\r\n", body);
}

/* What comes while a model is at its last turn gives it one more; a call that
 * dies had heard nothing. */
START_TEST(told_in_the_last_turn)
{
    struct httpd *d = httpd_start();
    char models[256];
    pid_t pid;

    snprintf(models, sizeof models,
             "  http: {provider: openai, model: m, base_url: \"%s\"}\n",
             httpd_url(d, "/v1"));
    deploy("      []\n", models);
    graph("    llm: {provider_id: http}\n    execution_mode: react_bounded\n",
          "    next: END\n");
    httpd_on(d, "/v1/chat/completions");
    httpd_hold(d);
    httpd_close(d);
    httpd_times(d, 1);
    answers(d, CHAT("first"));
    httpd_times(d, 1);
    answers(d, CHAT("second"));
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    child_await("run.out", "node_start a");
    httpd_await(d, 1);
    child_run("$MORTISE tell r 'and hurry'");
    desk_code(0);
    child_kill(pid);
    child_run("$MORTISE resume r");
    desk_code(0);
    gave("a", "\"first\"");
    ck_assert_uint_eq(httpd_requests(d), 2);
    ck_assert_ptr_null(strstr(httpd_request(d, 0), "and hurry"));
    ck_assert_ptr_nonnull(strstr(httpd_request(d, 1), "and hurry"));
    httpd_stop(d);
}
END_TEST

/* While a model is asked behind the result of a tool, `show` says that its node is
 * running. */
START_TEST(running_behind_a_tool)
{
    static const char call[] =
        "{\"choices\": [{\"message\": {\"role\": \"assistant\", "
        "\"tool_calls\": "
        "[{\"id\": \"c1\", \"type\": \"function\", \"function\": {\"name\": "
        "\"tried__echo\", \"arguments\": \"{\\\"value\\\": 1}\"}}]}, "
        "\"finish_reason\": \"tool_calls\"}]}";
    struct httpd *d = httpd_start();
    char models[256];
    pid_t pid;

    snprintf(models, sizeof models,
             "  http: {provider: openai, model: m, base_url: \"%s\"}\n",
             httpd_url(d, "/v1"));
    deploy("      []\n", models);
    graph("    llm: {provider_id: http}\n    tool_allowlist: [tried/echo]\n",
          "    next: END\n");
    answers(d, call);
    httpd_times(d, 1);
    httpd_on(d, "/v1/chat/completions");
    httpd_hold(d);
    httpd_close(d);
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    httpd_await(d, 2);
    desk_ok("$MORTISE show r");
    desk_out("running           a");
    child_kill(pid);
    httpd_release(d);
    httpd_stop(d);
}
END_TEST

START_TEST(one_more_turn)
{
    struct httpd *d = httpd_start();
    char models[256];
    pid_t pid;

    snprintf(models, sizeof models,
             "  http: {provider: openai, model: m, base_url: \"%s\"}\n",
             httpd_url(d, "/v1"));
    deploy("      []\n", models);
    graph("    llm: {provider_id: http}\n    execution_mode: react_bounded\n",
          "    next: END\n");
    httpd_on(d, "/v1/chat/completions");
    httpd_hold(d);
    httpd_say(d, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                 "Connection: close\r\n\r\n" CHAT("first"));
    httpd_close(d);
    httpd_times(d, 1);
    answers(d, CHAT("second"));
    pid = child_start("run", "$MORTISE run g.yaml --id r");
    httpd_await(d, 1);
    child_run("$MORTISE tell r 'and hurry'");
    desk_code(0);
    httpd_release(d);
    ck_assert_int_eq(child_wait(pid), 0);
    gave("a", "\"second\"");
    ck_assert_ptr_nonnull(strstr(httpd_request(d, 1), "and hurry"));
    httpd_stop(d);
}
END_TEST

/* ---- which model ------------------------------------------------------------------ */

static const struct {
    const char *defaults, *node, *asked; /* which model was */
} tiers[] = {
    {"", "    llm: {tiers: {low: low, standard: mid, high: top}}\n", "mid"},
    {"",
     "    complexity: 0.1\n    llm: {tiers: {low: low, standard: mid, high: "
     "top}}\n",
     "low"},
    {"",
     "    complexity: 0.7\n    llm: {tiers: {low: low, standard: mid, high: "
     "top}}\n",
     "top"},
    {"", "    complexity: 0.1\n    llm: {tiers: {high: top}}\n", "top"},
    {"", "    complexity: 0.9\n    llm: {tiers: {low: low}}\n", "low"},
    /* of the deployment, */
    {"", "    llm: {provider_id: tiered}\n", "mid"},
    {"", "    complexity: 1\n    llm: {provider_id: tiered}\n", "top"},
    {"", "    complexity: 0.1\n    llm: {provider_id: tiered}\n", "low"},
    /* and of the graph, unless the node says something. */
    {"defaults: {llm: {tiers: {low: low, high: top}}}\n",
     "    complexity: 0.2\n", "low"},
    {"defaults: {llm: {provider_id: low}}\n", "    llm: {provider_id: mid}\n",
     "mid"},
};

/* key: node.complexity, llm.tiers, tiers of llm.low, tiers of llm.standard
 * key: tiers of llm.high, defaults.llm, model.tiers, tiers.low
 * key: tiers.standard, tiers.high */
START_TEST(tiers_choose)
{
    char text[2048];
    json_t *request;

    deploy("      []\n", "  low: {provider: speaks, model: low}\n"
                         "  mid: {provider: speaks, model: mid}\n"
                         "  top: {provider: speaks, model: top}\n"
                         "  tiered: {tiers: {low: low, standard: mid, high: "
                         "top}}\n");
    snprintf(text, sizeof text,
             "%sstart: a\nnodes:\n  a:\n    type: gmi\n    prompt: show\n%s    "
             "next: END\n",
             tiers[_i].defaults, tiers[_i].node);
    desk_graph("g", text);
    child_run("$MORTISE run g.yaml --id r");
    desk_code(0);
    request = asked();
    ck_assert_str_eq(json_string_value(json_object_get(request, "model")),
                     tiers[_i].asked);
    json_decref(request);
}
END_TEST

/* key: defaults.tool_errors, llm.reason */
START_TEST(defaults_hold)
{
    deploy(CALL("0", FAIL) "      - {text: fed}\n", "");
    desk_graph("g", "defaults: {tool_errors: fail}\nstart: a\nnodes:\n"
                    "  a: {type: gmi, prompt: go, tool_errors: feed, "
                    "tool_allowlist: [tried/fail], llm: {reason: as it "
                    "is}, next: b}\n"
                    "  b: {type: gmi, prompt: go, tool_allowlist: "
                    "[tried/fail], next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(1);
    gave("a", "\"fed\"");
    desk_out("\"reason\": \"as it is\"");
    failed("sour", "");
}
END_TEST

/* Tiers are models, and no others; what does not go together is found. */
START_TEST(tiers_are_models)
{
    static const char *const models[] = {
        "  b: {tiers: {low: nobody}}\n", "  b: {tiers: {low: b}}\n",
        "  b: {tiers: {low: shows}, model: x}\n", "  b: {provider: speaks}\n",
        "  b: {}\n"};
    static const char *const words[] = {"E0513", "E0513", "E0212",
                                        "needs the key 'model'",
                                        "needs the key 'provider'"};

    for (int i = 0; i < 5; i++) {
        deploy("      []\n", models[i]);
        child_run("$MORTISE check mortise.yaml");
        desk_code(2);
        desk_out(words[i]);
    }
    deploy("      []\n", "");
    graph("    llm: {provider_id: shows, tiers: {low: shows}}\n",
          "    next: END\n");
    child_run("$MORTISE check g.yaml");
    desk_code(2);
    desk_out("E0212");
}
END_TEST

/* ---- graphs of others --------------------------------------------------------------- */

/* Graphs in the form of AgentOS, with models, tools, conditions and people, are
 * imported, checked and run. */
START_TEST(foreign_graphs_run)
{
    static const struct {
        const char *name, *input, *output;
        int code;
    } graphs[] = {
        {"support", "{\"message\": \"my invoice\"}", "\"solved\"", 2},
        {"desk", "{\"amount\": 12}", "\"told\"", 0},
    };
    char path[PATH_MAX], *text;

    snprintf(path, sizeof path, "tests/graphs/foreign/%s.json",
             graphs[_i].name);
    text = test_read(path, NULL);
    desk_put("foreign.json", text);
    free(text);
    deploy("      - {when: {system: Say whether}, json: {label: billing}}\n"
           "      - {when: {system: Say how risky}, json: {risk: high}}\n"
           "      - {when: {system: Tell the customer}, text: told}\n"
           "      - {text: solved}\n",
           "");
    child_run("$MORTISE graph import foreign.json >g.yaml");
    desk_code(graphs[_i].code); /* which tools a loop may use is not in it */
    desk_ok("$MORTISE check g.yaml");
    desk_ok("$MORTISE run g.yaml --id r --input '%s'", graphs[_i].input);
    gave(_i == 0 ? "solve" : "answer", graphs[_i].output);
}
END_TEST

/* ---- providers ----------------------------------------------------------------------- */

/* What a pattern stood for when the run began it stands for until its end: what
 * the deployment says later blocks the run, where it is about one of these, and
 * changes nothing else. */
START_TEST(patterns_are_pinned)
{
    static const char replies[] =
        "      - {when: {turn: 0}, tool_calls: [{name: text__hash, arguments: "
        "{text: z}}]}\n      - {text: bye}\n";
    static const struct {
        const char *tools;
        bool blocks;
    } later[] = {{"", false},
                 {"tools: {allow: [\"text/*\", agent/gmi]}\n", false},
                 {"tools: {deny: [text/diff]}\n", true},
                 {"tools: {deny: [text/hash]}\n", true},
                 {"tools: {allow: [text/hash, agent/gmi]}\n", true}};

    deploy(replies, "");
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: gmi, prompt: x, tool_allowlist: [\"text/*\"], "
                    "next: h}\n"
                    "  h: {type: human, prompt: ok, next: b}\n"
                    "  b: {type: gmi, prompt: x, tool_allowlist: [\"text/*\"], "
                    "next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++) {
        deploy(replies, later[i].tools);
        desk_ok("$MORTISE show r --json");
        desk_out("\"node\": \"text__hash\"");
        ck_assert_int_eq(strstr(child.out, "E_BLOCKED") != NULL,
                         later[i].blocks);
        desk_ok("$MORTISE history r");
    }
    deploy(replies, "");
    child_run("$MORTISE approve r h");
    desk_code(3); /* which, it says */
    child_run("$MORTISE approve r $(echo '%s' | sed 's/.* approve r "
              "\\([0-9a-f]*\\).*/\\1/')",
              desk_line(child.err, " approve r "));
    desk_code(0);
}
END_TEST

/* A way to models is a plugin of the run's like any other: nobody's signature is
 * said, and another build in its place is accepted or not. */
START_TEST(providers_are_pinned)
{
    char text[3 * PATH_MAX], manifest[PATH_MAX];

    ck_assert_ptr_nonnull(
        realpath("tests/plugins/speaks.plugin.yaml", manifest));
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
             "plugins: {path: [\"%s\"], dev: [dev]}\ntrust: {dir: \"%s\"}\n"
             "store: {path: ./store}\nmodels: {default: {provider: utters, "
             "model: m}}\n",
             shelf.plugins, shelf.trust);
    desk_put("mortise.yaml", text);
    desk_ok("mkdir dev && sed 's/name: speaks/name: utters/' %s "
            ">dev/utters.plugin.yaml && sed 's/speaks/utters/g' %s "
            ">dev/utters.so",
            manifest, child_build("tests/plugins/speaks.so"));
    graph("    prompt: show\n    tool_allowlist: [{tool: tried/echo, ask: "
          "true}]\n",
          "    next: b\n"
          "  b: {type: human, prompt: go on?, next: c}\n"
          "  c: {type: gmi, prompt: show, next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_out("unsigned_plugin");
    desk_ok("$MORTISE show r --json");
    desk_out("\"unsigned\"");
    desk_out("\"utters\"");
    desk_ok("printf x >>dev/utters.so");
    approve();
    desk_code(78);
    desk_out("utters");
    child_run("$MORTISE resume r --accept-plugins");
    desk_code(0);
}
END_TEST

/* A deployment that is found says who gets a secret only once somebody said that
 * it may, and `models` do. */
START_TEST(models_need_a_word)
{
    deploy("      []\n", "  key: {provider: openai, model: m, base_url: "
                         "'http://127.0.0.1:9/v1', api_key: secret://k}\n"
                         "secrets: {k: {env: HOME}}\n");
    graph("    prompt: hi\n    llm: {provider_id: key}\n", "    next: END\n");
    desk_ok("$MORTISE config allow mortise.yaml");
    desk_out("models (line");
    desk_ok("sed -i s/127.0.0.1:9/127.0.0.1:8/ mortise.yaml");
    child_allows(false);
    child_run("$MORTISE run g.yaml --id r");
    child_allows(true);
    desk_code(77);
    desk_err("models");
}
END_TEST

/* What a config with a secret in it lacks is found before it is needed. */
START_TEST(configs_with_secrets_are_checked)
{
    static const char *const configs[] = {
        "api_key: secret://k",
        ("base_url: 'http://h/v1', api_key: secret://k, "
         "api_kee: x"),
        "base_url: 7, api_key: secret://k"};
    char more[512];

    snprintf(more, sizeof more,
             "  key: {provider: openai, model: m, %s}\n"
             "secrets: {k: {env: HOME}}\n",
             configs[_i]);
    deploy("      []\n", more);
    child_run("$MORTISE check mortise.yaml");
    desk_code(2);
    desk_out("E0607");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_agent");
    TCase *tc = tcase_create("cli_agent");

    tcase_add_unchecked_fixture(tc, sign_plugins, forget_plugins);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, tools_are_offered);
    tcase_add_loop_test(tc, choices_are_told, 0, 3);
    tcase_add_loop_test(tc, calls_become_outputs, 0,
                        sizeof outputs / sizeof outputs[0]);
    tcase_add_loop_test(tc, others_are_failures, 0,
                        sizeof failures / sizeof failures[0]);
    tcase_add_test(tc, long_results_are_cut);
    tcase_add_loop_test(tc, calls_are_approved, 0, 3);
    tcase_add_loop_test(tc, calls_are_guarded, 0, 6);
    tcase_add_test(tc, results_of_tools_are_marked);
    tcase_add_loop_test(tc, a_budget_without_a_call_for_a_tool, 0, 2);
    tcase_add_loop_test(tc, a_budget_without_a_call_leads_on, 0, 8);
    tcase_add_loop_test(tc, an_engine_has_no_call_for_a_tool, 0, 2);
    tcase_add_loop_test(tc, a_budget_without_a_call_in_a_test, 0, 6);
    tcase_add_test(tc, a_limit_within_a_tool);
    tcase_add_test(tc, a_resource_within_a_tool);
    tcase_add_loop_test(tc, planners_decide, 0, sizeof plans / sizeof plans[0]);
    tcase_add_test(tc, conversations_go_on);
    tcase_add_test(tc, nodes_hand_over);
    tcase_add_loop_test(tc, tiers_choose, 0, sizeof tiers / sizeof tiers[0]);
    tcase_add_test(tc, defaults_hold);
    tcase_add_test(tc, tiers_are_models);
    tcase_add_loop_test(tc, foreign_graphs_run, 0, 2);
    tcase_add_test(tc, patterns_are_pinned);
    tcase_add_test(tc, providers_are_pinned);
    tcase_add_test(tc, models_need_a_word);
    tcase_add_loop_test(tc, configs_with_secrets_are_checked, 0, 3);
    tcase_add_test(tc, told_is_heard);
    tcase_add_test(tc, not_everybody_hears);
    tcase_add_test(tc, told_in_the_last_turn);
    tcase_add_test(tc, running_behind_a_tool);
    tcase_add_test(tc, one_more_turn);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
