/* test_run_tools.c -- what a node may have run for it: each tool is an execution
 * of its own, and answers whoever asked for it once. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/script.h"
#include "lib/sim.h"
#include "lib/test.h"
#include "mortise/plugin.h"
#include "core/run/record/journal.h"

static struct sim s;
static struct mortise_err err;

/* A graph whose node `a` may use these tools, and asks these (ASKs of script.h,
 * ' for "); `more` are keys of the node, `top` of the graph. */
static void begin_in(const char *top, const char *tools, const char *more,
                     const char *asks)
{
    char yaml[8192];

    snprintf(yaml, sizeof yaml,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\n%s"
             "start: a\n"
             "nodes:\n"
             "  a:\n"
             "    type: gmi\n"
             "    prompt: p\n"
             "    tool_allowlist: [%s]\n"
             "    args: {asks: [%s]%s}\n"
             "    next: END\n",
             top, tools, asks, more);
    sim_init(&s, sim_graph(yaml));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    ck_assert(sim_sync_one(&s));
}

static void begin(const char *tools, const char *more, const char *asks)
{
    begin_in("", tools, more, asks);
}

static void end(void)
{
    sim_finish(&s);
}

static void assert_status(int status)
{
    ck_assert_str_eq(mortise_run_status_name(mortise_run_status(s.run)),
                     mortise_run_status_name(status));
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

static void assert_output(const char *want)
{
    json_t *show = sim_show(&s);
    char *have = json_dumps(json_object_get(record_of(show, "a"), "output"),
                            JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);

    ck_assert_ptr_nonnull(have);
    ck_assert_str_eq(have, want);
    free(have);
    json_decref(show);
}

static int command(struct mortise_command c)
{
    int rv;

    c.size = sizeof c;
    rv = sim_command(&s, &c, 1, 0, "ann", &err);
    if (rv == MORTISE_OK)
        sim_run_plain(&s);
    return rv;
}

static int approve(const char *node, const char *decision, const char *args)
{
    return command(
        (struct mortise_command){.kind = MORTISE_CMD_APPROVE_TOOL,
                                 .id = sim_request(&s, node),
                                 .decision = decision,
                                 .reason = decision[0] == 'r' ? "no" : NULL,
                                 .json = args});
}

/* Under approve_tools, where somebody said yes to the plan and to the node. */
static void begin_asking(const char *tools, const char *more, const char *asks)
{
    begin_in("hitl_mode: approve_tools\n", tools, more, asks);
    sim_let_go(&s, "START");
    sim_let_go(&s, "a");
}

#define TOOL(name, args)                                                       \
    "{method: tool.invoke/1, kind: tool, body: {tool: " name                   \
    ", arguments: " args "}}"
#define READ(n) "{method: r, kind: read, body: {n: " #n "}}"

/* ---- being run ------------------------------------------------------------ */

/* What a tool gives is the answer, under either of its names. */
START_TEST(a_tool_answers)
{
    begin("t/echo", "",
          TOOL("t/echo", "{x: 1}") ", " TOOL("t__echo", "{y: 2}"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"output\":{\"x\":1}},{\"output\":{\"y\":2}}]");
    ck_assert(sim_saw(&s, "tool_call", "a"));
    ck_assert(sim_saw(&s, "tool_result", "a"));
    ck_assert(!sim_saw(&s, "node_end", "t__echo"));
    end();
}
END_TEST

/* A name that the list does not have is answered with those that it has, and
 * nothing is run. */
START_TEST(what_is_not_allowed_is_not_there)
{
    json_t *show, *first;

    begin("t/echo", "", TOOL("t/write", "{}"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    show = sim_show(&s);
    first = json_object_get(
        json_array_get(json_object_get(record_of(show, "a"), "output"), 0),
        "error");
    ck_assert_str_eq(json_string_value(json_object_get(first, "code")),
                     "unknown_tool");
    ck_assert_ptr_nonnull(strstr(
        json_string_value(json_object_get(first, "message")), "t__echo"));
    ck_assert_int_eq(sim_effect_count(&s, "t__write"), 0);
    json_decref(show);
    end();
}
END_TEST

/* A tool that fails is an answer; the node and the run are fine. */
START_TEST(a_failure_is_an_answer)
{
    begin("t/fail", "",
          TOOL("t/fail", "{code: broke, class: permanent}") ", " READ(1));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"error\":{\"class\":\"permanent\",\"code\":\"broke\","
                  "\"message\":\"told to fail\"}},{\"did\":{\"n\":1}}]");
    end();
}
END_TEST

/* Its own retry_policy tries it again, before anybody hears of it. */
START_TEST(a_tool_is_tried_again)
{
    begin("{tool: t/fail, retry_policy: {max_attempts: 3, delay: 1s}}", "",
          TOOL("t/fail", "{code: c, class: transient, times: 2}"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"output\":{\"class\":\"transient\",\"code\":\"c\","
                  "\"times\":2}}]");
    end();
}
END_TEST

/* Several that are asked for at once are at work at once. */
START_TEST(tools_run_beside_each_other)
{
    begin("t/read, t/echo", ", at_once: true",
          TOOL("t/read", "{n: 1}") ", " TOOL("t/read", "{n: 2}") ", " TOOL(
              "t/echo", "{n: 3}"));
    ck_assert_uint_eq(s.n_calls, 4); /* who asks, and those */
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"output\":{\"n\":1}},{\"output\":{\"n\":2}},"
                  "{\"output\":{\"n\":3}}]");
    end();
}
END_TEST

/* Where but one call may be out, whoever asks makes room for its tools. */
START_TEST(a_tool_takes_the_place_of_who_asked)
{
    begin_in("limits: {concurrency: 1}\n", "t/echo", ", at_once: true",
             TOOL("t/echo", "{n: 1}") ", " TOOL("t/echo", "{n: 2}"));
    ck_assert_uint_eq(s.n_calls, 2); /* and no more than one of them */
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"output\":{\"n\":1}},{\"output\":{\"n\":2}}]");
    end();
}
END_TEST

/* Tools are no steps of the run's, and no visits. */
START_TEST(tools_use_up_no_limit)
{
    begin_in("limits: {steps: 1, visits: 1}\n", "t/echo", "",
             TOOL("t/echo", "{n: 1}") ", " TOOL("t/echo", "{n: 2}") ", " TOOL(
                 "t/echo", "{n: 3}"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    end();
}
END_TEST

/* What a tool gives beyond max_output is cut for who asked, and marked; its
 * record has it whole. */
START_TEST(a_long_output_is_cut)
{
    json_t *show;

    begin("{tool: t/echo, max_output: 64B}", "",
          TOOL("t/echo", "{x: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}"));
    sim_run_plain(&s);
    assert_output(
        "[{\"cut\":{\"bytes\":64,\"of\":102},\"text\":\"{\\\"x\\\":\\\"aaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}]");
    show = sim_show(&s);
    ck_assert_uint_eq(
        json_string_length(json_object_get(
            json_object_get(record_of(show, "t__echo"), "output"), "x")),
        94);
    json_decref(show);
    end();
}
END_TEST

/* Images are no text, so they are not cut; of what an MCP tool gave, the texts
 * are, and not the JSON that has them twice. */
START_TEST(images_are_not_cut)
{
    static const char letters[] =
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "a";
    char asks[1024], output[1024];

    snprintf(asks, sizeof asks,
             TOOL("t/echo", "{content: [{type: image, mimeType: image/png, "
                            "data: %s}], text: x}"),
             letters);
    begin("{tool: t/echo, max_output: 128B}", "", asks);
    sim_run_plain(&s);
    snprintf(output, sizeof output,
             "[{\"output\":{\"content\":[{\"data\":\"%s\",\"mimeType\":"
             "\"image/png\",\"type\":\"image\"}],\"text\":\"x\"}}]",
             letters);
    assert_output(output);
    end();
    snprintf(asks, sizeof asks,
             TOOL("t/echo", "{content: [{type: text, text: %s}], text: %s}"),
             letters, letters);
    begin("{tool: t/echo, max_output: 128B}", "", asks);
    sim_run_plain(&s);
    snprintf(output, sizeof output,
             "[{\"cut\":{\"bytes\":128,\"of\":%zu},\"text\":\"%.128s\"}]",
             sizeof letters - 1 + 49, letters);
    assert_output(output);
    end();
}
END_TEST

/* ---- what a tool waits for, and its asker holds ---------------------------- */

/* A budget whose last call its asker has reserved: with on_exceeded as said. */
static void begin_poor(int calls, const char *on_exceeded, const char *asks)
{
    char top[128];

    snprintf(top, sizeof top, "budget: {tool_calls: %d%s}\n", calls,
             on_exceeded);
    begin_in(top, "t/read, t/idem", "", asks);
}

static int raise(const char *json)
{
    return command(
        (struct mortise_command){.kind = MORTISE_CMD_BUDGET, .json = json});
}

/* The budget has no call left for the second tool: its asker suspends, the run
 * is paused, and people see the request of the tool.  When the bound is raised
 * the tool runs, and its asker goes on: nothing is asked twice. */
START_TEST(a_budget_pauses_between_tools)
{
    uint32_t seed = 1;

    begin_poor(2, "",
               READ(1) ", " TOOL("t/idem", "{n: 1}") ", " TOOL(
                   "t/idem", "{n: 2}") ", " READ(2));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_PAUSED);
    ck_assert_str_eq(mortise_run_reason(s.run), "budget");
    ck_assert_uint_eq(s.n_calls, 0);
    ck_assert_str_ne(sim_request(&s, "t__idem"), "");
    if (_i > 0) {
        sim_crash(&s, &seed);
        sim_recover(&s);
        assert_status(MORTISE_RUN_PAUSED);
    }
    ck_assert_int_eq(raise("{\"tool_calls\": 3}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"did\":{\"n\":1}},{\"output\":{\"n\":1}},"
                  "{\"output\":{\"n\":2}},{\"did\":{\"n\":2}}]");
    ck_assert_int_eq(sim_effect_count(&s, "t__idem"), 2);
    end();
}
END_TEST

/* With `fail` the run fails with the code of a budget, and nothing is left. */
START_TEST(a_budget_fails_between_tools)
{
    json_t *show;

    begin_poor(1, ", on_exceeded: fail", TOOL("t/idem", "{n: 1}"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    show = sim_show(&s);
    ck_assert_str_eq(json_string_value(json_object_get(
                         json_object_get(show, "error"), "code")),
                     "budget");
    json_decref(show);
    ck_assert_uint_eq(s.n_calls, 0);
    ck_assert_int_eq(sim_effect_count(&s, "t__idem"), 0);
    end();
}
END_TEST

/* With `goto` the run goes on there, without what the asker would have given. */
START_TEST(a_budget_leads_out_of_tools)
{
    static const char yaml[] =
        "apiVersion: mortise/v1\nkind: Graph\n"
        "metadata: {name: g, version: 1.0.0}\n"
        "budget: {tool_calls: 1, on_exceeded: {goto: z}}\n"
        "start: a\n"
        "nodes:\n"
        "  a: {type: gmi, prompt: p, tool_allowlist: [t/read],\n"
        "      args: {asks: [" TOOL("t/read",
                                    "{}") "]}, next: END}\n"
                                          "  z: {type: human, auto_accept: "
                                          "true, prompt: z, next: END}\n";

    sim_init(&s, sim_graph(yaml));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert(sim_saw(&s, "node_end", "z"));
    ck_assert(!sim_saw(&s, "node_end", "a"));
    end();
}
END_TEST

/* A budget that holds one of the two calls of a graph that is a tool, and what
 * raises it. */
static const struct {
    const char *budget, *more;
} units[] = {
    {"tool_calls: 2", "{\"tool_calls\": 3}"},
    {"model_calls: 6", "{\"model_calls\": 8}"},
    {"input_tokens: 150", "{\"input_tokens\": 250}"},
    {"output_tokens: 150", "{\"output_tokens\": 250}"},
    {"tokens: 300", "{\"tokens\": 450}"},
    {"usd: 0.75", "{\"usd\": 1.25}"},
};

enum { N_UNITS = sizeof units / sizeof units[0] };

/* An agent whose tool is a graph of two calls that use all that they may.  The
 * budget is the run's, or (`inner`) that of the graph which is the tool. */
static void begin_poor_graph(const char *budget, bool inner)
{
    static const char head[] = "apiVersion: mortise/v1\nkind: Graph\n"
                               "metadata: {name: %s, version: 1.0.0}\n%s";
    static const char usage[] =
        "args: {v: 1, usage: {model_calls: 4, input_tokens: 100, "
        "output_tokens: 100, usd: 0.5}}";
    char other[1024], yaml[1024], line[128];
    int n;

    snprintf(line, sizeof line, "budget: {%s}\n", budget);
    n = snprintf(other, sizeof other, head, "inner", inner ? line : "");
    snprintf(other + n, sizeof other - (size_t)n,
             "start: p\nnodes:\n"
             "  p: {type: tool, tool: t/spend, next: q, %s}\n"
             "  q: {type: tool, tool: t/spend, %s}\n%s",
             usage, usage,
             strstr(budget, "goto: y") != NULL
                 ? "  y: {type: pass, value: {v: late}}\n"
                 : "");
    n = snprintf(yaml, sizeof yaml, head, "g", inner ? "" : line);
    snprintf(
        yaml + n, sizeof yaml - (size_t)n,
        "start: a\nnodes:\n"
        "  a: {type: gmi, prompt: p, max_tokens: 10, tool_allowlist: "
        "[graph/inner],\n"
        "      args: {asks: [" TOOL("graph/inner", "{}") "]}, next: END}\n%s",
        strstr(budget, "goto: z") != NULL
            ? "  z: {type: pass, value: {v: late}, next: END}\n"
            : "");
    sim_init(&s, sim_graph_beside(other, yaml));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    sim_run_plain(&s);
}

static void assert_run_error(const char *code)
{
    json_t *show = sim_show(&s);

    ck_assert_str_eq(json_string_value(json_object_get(
                         json_object_get(show, "error"), "code")),
                     code);
    json_decref(show);
}

/* A budget of any unit that is used up in a graph which is a tool: the asker
 * suspends, the run is paused, and continues when the budget is raised. */
START_TEST(a_budget_pauses_within_a_tool)
{
    uint32_t seed = 1;
    json_t *show, *first;

    begin_poor_graph(units[_i % N_UNITS].budget, false);
    assert_status(MORTISE_RUN_PAUSED);
    ck_assert_str_eq(mortise_run_reason(s.run), "budget");
    ck_assert_uint_eq(s.n_calls, 0);
    ck_assert_ptr_nonnull(sim_request(&s, "q"));
    if (_i >= N_UNITS) {
        sim_crash(&s, &seed);
        sim_recover(&s);
        assert_status(MORTISE_RUN_PAUSED);
    }
    ck_assert_int_eq(raise(units[_i % N_UNITS].more), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    show = sim_show(&s);
    first = json_array_get(json_object_get(record_of(show, "a"), "output"), 0);
    ck_assert_ptr_nonnull(json_object_get(first, "output"));
    json_decref(show);
    end();
}
END_TEST

/* With `fail` the run fails, or, if the budget is that of the tool's graph, the
 * tool: its asker is given the error, and the run continues. */
START_TEST(a_budget_fails_within_a_tool)
{
    bool inner = _i >= N_UNITS;
    json_t *show, *error;
    char budget[128];

    snprintf(budget, sizeof budget, "%s, on_exceeded: fail",
             units[_i % N_UNITS].budget);
    if (inner && _i % N_UNITS == 0)
        snprintf(budget, sizeof budget, "tool_calls: 1, on_exceeded: fail");
    begin_poor_graph(budget, inner);
    ck_assert_uint_eq(s.n_calls, 0);
    if (inner) {
        assert_status(MORTISE_RUN_COMPLETED);
        show = sim_show(&s);
        error = json_object_get(
            json_array_get(json_object_get(record_of(show, "a"), "output"), 0),
            "error");
        ck_assert_str_eq(json_string_value(json_object_get(error, "code")),
                         "budget");
        json_decref(show);
    } else {
        assert_status(MORTISE_RUN_FAILED);
        assert_run_error("budget");
    }
    end();
}
END_TEST

/* With `goto` the run continues at a node of its own, or, if the budget is that of
 * the tool's graph, that graph does. */
START_TEST(a_budget_leads_out_within_a_tool)
{
    bool inner = _i >= N_UNITS;
    char budget[128];

    snprintf(budget, sizeof budget, "%s, on_exceeded: {goto: %s}",
             inner && _i % N_UNITS == 0 ? "tool_calls: 1"
                                        : units[_i % N_UNITS].budget,
             inner ? "y" : "z");
    begin_poor_graph(budget, inner);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(s.n_calls, 0);
    ck_assert(sim_saw(&s, "node_end", inner ? "y" : "z"));
    ck_assert(sim_saw(&s, "node_end", "a") == inner);
    ck_assert(!sim_saw(&s, "node_end", "q"));
    end();
}
END_TEST

/* Two agents that each hold what the other's tool needs: neither waits for the
 * other for ever. */
START_TEST(askers_do_not_wait_for_each_other)
{
    static const char yaml[] =
        "apiVersion: mortise/v1\nkind: Graph\n"
        "metadata: {name: g, version: 1.0.0}\n"
        "budget: {tool_calls: 2}\n"
        "start: [a, b]\n"
        "nodes:\n"
        "  a: {type: gmi, prompt: p, tool_allowlist: [t/idem],\n"
        "      args: {asks: [" TOOL(
            "t/idem",
            "{n: 1}") "]}, next: END}\n"
                      "  b: {type: gmi, prompt: p, tool_allowlist: [t/idem],\n"
                      "      args: {asks: [" TOOL("t/idem",
                                                  "{n: 2}") "]}, next: END}\n";
    uint32_t seed = (uint32_t)_i;

    sim_init(&s, sim_graph(yaml));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    sim_run(&s, &seed);
    assert_status(MORTISE_RUN_PAUSED);
    ck_assert_int_eq(raise("{\"tool_calls\": 3}"), MORTISE_OK);
    assert_status(MORTISE_RUN_PAUSED); /* one of the tools has run */
    ck_assert_int_eq(sim_effect_count(&s, "t__idem"), 1);
    ck_assert_int_eq(raise("{\"tool_calls\": 4}"), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "t__idem"), 2);
    end();
}
END_TEST

/* The process dies after any number of things that happened: the budget's rest
 * holds, each effect happens once, and raising leads to the end. */
START_TEST(killed_anywhere_a_budget_holds)
{
    static const char *const exceeded[] = {"", ", on_exceeded: fail"};
    uint32_t seed = (uint32_t)_i;
    bool more = true;

    for (int until = 0; more; until++) {
        begin_poor(2, exceeded[_i % 2],
                   READ(1) ", " TOOL("t/idem", "{n: 1}") ", " TOOL("t/idem",
                                                                   "{n: 2}"));
        for (int i = 0; i < until && more; i++)
            more = (i % 3 == 0 && sim_sync_one(&s)) || sim_end_ask(&s, 0) ||
                   sim_end_call(&s, 0) || sim_sync_one(&s);
        sim_crash(&s, &seed);
        if (s.run == NULL || s.n_commits == 0) {
            end();
            continue;
        }
        sim_recover(&s);
        sim_run(&s, &seed);
        if (_i % 2 == 1) {
            assert_status(MORTISE_RUN_FAILED);
        } else {
            assert_status(MORTISE_RUN_PAUSED);
            ck_assert_str_eq(mortise_run_reason(s.run), "budget");
            ck_assert_int_eq(raise("{\"tool_calls\": 9}"), MORTISE_OK);
            assert_status(MORTISE_RUN_COMPLETED);
            ck_assert_int_eq(sim_effect_count(&s, "t__idem"), 2);
        }
        end();
    }
}
END_TEST

/* ---- approval ------------------------------------------------------------- */

/* Where a call of a tool waits for a person, so does who asked, on disk; it goes
 * on behind the approval, and the tool runs once, with what was approved. */
START_TEST(a_tool_is_approved)
{
    uint32_t seed = (uint32_t)_i;

    begin_asking("t/write", "",
                 READ(1) ", " TOOL("t/write", "{n: 1}") ", " READ(2));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_str_eq(mortise_run_reason(s.run), "approval");
    ck_assert_uint_eq(s.n_calls, 0); /* it let go */
    if (_i > 0) {
        sim_crash(&s, &seed);
        sim_recover(&s);
        sim_run_plain(&s);
        assert_status(MORTISE_RUN_WAITING);
    }
    ck_assert_int_eq(
        approve("t__write", "approve", _i > 1 ? "{\"n\": 9}" : NULL),
        MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output(_i > 1 ? "[{\"did\":{\"n\":1}},{\"output\":{\"n\":9}},"
                           "{\"did\":{\"n\":2}}]"
                         : "[{\"did\":{\"n\":1}},{\"output\":{\"n\":1}},"
                           "{\"did\":{\"n\":2}}]");
    ck_assert_int_eq(sim_effect_count(&s, "t__write"), 1);
    end();
}
END_TEST

/* `ask` of an entry wants it for that tool alone. */
START_TEST(one_tool_is_approved)
{
    begin("t/echo, {tool: t/write, ask: true}", ", at_once: true",
          TOOL("t/write", "{n: 1}") ", " TOOL("t/echo", "{n: 2}"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_int_eq(approve("t__write", "reject", NULL), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"error\":{\"class\":\"permanent\",\"code\":\"rejected\","
                  "\"message\":\"rejected by ann: no\"}},"
                  "{\"output\":{\"n\":2}}]");
    ck_assert_int_eq(sim_effect_count(&s, "t__write"), 0);
    end();
}
END_TEST

/* Of several that wait each may be approved by itself. */
START_TEST(several_are_approved_one_by_one)
{
    begin_asking("t/write, t/echo", ", at_once: true",
                 TOOL("t/write", "{n: 1}") ", " TOOL("t/echo", "{n: 2}"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_int_eq(approve("t__echo", "approve", NULL), MORTISE_OK);
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_uint_eq(s.n_calls, 0);
    ck_assert_int_eq(approve("t__write", "approve", NULL), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"output\":{\"n\":1}},{\"output\":{\"n\":2}}]");
    end();
}
END_TEST

/* Guardrails of an entry judge what the tool is called with and what it gives;
 * a violation is told to who asked. */
START_TEST(a_tool_is_guarded)
{
    begin(
        "{tool: t/echo, guardrail_policy: {input: [bad], on_violation: "
        "sanitize}}, {tool: t/read, guardrail_policy: {output: [bad]}}",
        "",
        TOOL("t/echo", "{n: 1, bad: 2}") ", " TOOL("t/read", "{n: 1, bad: 2}"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output(
        "[{\"output\":{\"n\":1}},{\"error\":{\"class\":\"permanent\","
        "\"code\":\"guardrail\",\"message\":\"guardrail 'bad' of the output: "
        "found something\"}}]");
    end();
}
END_TEST

/* Guardrails of a node's policy judge each tool call of its model, ahead of the
 * tool's own, and each result, behind them; of two words the stricter holds.
 * key: guardrail_policy.tools, guardrail_policy.tool_results */
START_TEST(a_node_guards_its_tools)
{
    static const struct {
        const char *tool, *policy, *output;
    } cases[] = {
        {"t/echo", "tools: [bad]",
         "[{\"error\":{\"class\":\"permanent\",\"code\":\"guardrail\","
         "\"message\":\"guardrail 'bad' of the input: found something\"}}]"},
        {"t/echo", "tools: [bad], on_violation: sanitize",
         "[{\"output\":{\"n\":1}}]"},
        {"t/echo", "tools: [bad], on_violation: warn",
         "[{\"output\":{\"bad\":2,\"n\":1}}]"},
        {"t/echo", "tool_results: [bad]",
         "[{\"error\":{\"class\":\"permanent\",\"code\":\"guardrail\","
         "\"message\":\"guardrail 'bad' of the output: found something\"}}]"},
        {"t/echo", "tool_results: [bad], on_violation: sanitize",
         "[{\"output\":{\"n\":1}}]"},
        {"{tool: t/echo, guardrail_policy: {input: [ok], on_violation: warn}}",
         "tools: [bad], on_violation: sanitize", "[{\"output\":{\"n\":1}}]"},
        {"{tool: t/echo, guardrail_policy: {input: [ok]}}",
         "tools: [bad], on_violation: warn",
         "[{\"error\":{\"class\":\"permanent\",\"code\":\"guardrail\","
         "\"message\":\"guardrail 'bad' of the input: found something\"}}]"},
    };
    char more[256];

    snprintf(more, sizeof more, "}\n    guardrail_policy: {%s",
             cases[_i].policy);
    begin(cases[_i].tool, more, TOOL("t/echo", "{n: 1, bad: 2}"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output(cases[_i].output);
    end();
}
END_TEST

/* Whoever is behind a tool is no way around them by failing: of that its code and
 * class are told. */
START_TEST(a_failure_is_no_way_around)
{
    static const struct {
        const char *policy, *words;
    } cases[] = {
        {"tool_results: [ok]", "it failed; its error message is not shown, "
                               "because no guardrail has checked it"},
        {"tool_results: [ok], on_violation: sanitize",
         "it failed; its error message is not shown, because no guardrail has "
         "checked it"},
        {"tool_results: [ok], on_violation: warn", "told to fail"},
        {"tools: [ok]", "told to fail"},
    };
    char more[256], want[256];

    snprintf(more, sizeof more, "}\n    guardrail_policy: {%s",
             cases[_i].policy);
    begin("t/fail", more, TOOL("t/fail", "{code: broke, class: permanent}"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    snprintf(want, sizeof want,
             "[{\"error\":{\"class\":\"permanent\",\"code\":\"broke\","
             "\"message\":\"%s\"}}]",
             cases[_i].words);
    assert_output(want);
    end();
}
END_TEST

/* ---- dying ---------------------------------------------------------------- */

/* The process dies after any number of things that happened: the run ends as if
 * nobody had died, and no effect happened twice. */
START_TEST(killed_anywhere_it_goes_on)
{
    uint32_t seed = (uint32_t)_i;
    bool more = true;

    for (int until = 0; more; until++) {
        begin("t/idem, t/echo, {tool: t/fail, retry_policy: {max_attempts: 2, "
              "delay: 1s}}",
              _i % 2 == 0 ? "" : ", at_once: true",
              TOOL("t/idem", "{n: 1}") ", " READ(2) ", " TOOL(
                  "t/echo",
                  "{n: 3}") ", " TOOL("t/idem",
                                      "{n: 1}") ", " TOOL("t/fail",
                                                          "{code: c, class: "
                                                          "transient, times: "
                                                          "1}"));
        for (int i = 0; i < until && more; i++)
            more = (i % 3 == 0 && sim_sync_one(&s)) || sim_end_ask(&s, 0) ||
                   sim_end_call(&s, 0) || sim_sync_one(&s);
        sim_crash(&s, &seed);
        if (s.run != NULL && s.n_commits > 0) {
            sim_recover(&s);
            sim_run(&s, &seed);
            assert_status(MORTISE_RUN_COMPLETED);
            assert_output("[{\"output\":{\"n\":1}},{\"did\":{\"n\":2}},"
                          "{\"output\":{\"n\":3}},{\"output\":{\"n\":1}},"
                          "{\"output\":{\"class\":\"transient\",\"code\":\"c\","
                          "\"times\":1}}]");
            ck_assert_int_eq(sim_effect_count(&s, "t__idem"), 2);
        }
        end();
    }
}
END_TEST

/* An effect that nobody can ask about is in doubt, and who asked waits until a
 * person has said what became of it. */
START_TEST(an_effect_under_way_is_in_doubt)
{
    uint32_t seed = 1;

    begin("t/write", "", TOOL("t/write", "{n: 1}") ", " READ(2));
    while (s.n_calls < 2)
        ck_assert(sim_sync_one(&s));
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_uint_eq(s.n_calls, 0);
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_RESOLVE,
                                         .id = sim_request(&s, "t__write"),
                                         .decision = "done",
                                         .json = "{\"seen\": true}"}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"output\":{\"seen\":true}},{\"did\":{\"n\":2}}]");
    end();
}
END_TEST

/* A new attempt of who asked has what its tools had done told, instead of having
 * it done again: also where it asks for them in another order. */
START_TEST(a_new_attempt_repeats_no_effect)
{
    begin("t/write", "",
          TOOL("t/write", "{n: 1}") ", " TOOL(
              "t/write",
              "{n: 1}") ", "
                        "{method: r, kind: read, body: {n: 1}, fail: broken}");
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(sim_effect_count(&s, "t__write"), 2);
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_RESUME}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(sim_effect_count(&s, "t__write"), 2);
    end();
}
END_TEST

/* ---- earlier attempts ------------------------------------------------------ */

static void die(void)
{
    uint32_t seed = 1;

    while (sim_sync_one(&s))
        continue;
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
}

static int resolve(const char *decision)
{
    return command((struct mortise_command){
        .kind = MORTISE_CMD_RESOLVE,
        .id = sim_request(&s, "t__write"),
        .decision = decision,
        .json = decision[0] == 'd' ? "{\"seen\": true}" : NULL});
}

static const struct {
    const char *decision, *output;
    int effects;
} settled[] = {
    {"done", "[{\"output\":{\"seen\":true}}]", 0},
    {"retry", "[{\"output\":{\"n\":1}}]", 1},
    {"fail",
     "[{\"error\":{\"class\":\"permanent\",\"code\":\"in_doubt\","
     "\"message\":\"resolved as failed\"}}]",
     0},
};

/* An attempt is out of time while its tool is at work, and nobody knows what the
 * tool did.  A person says it, and the same call of the next attempt gets that
 * result.  The process dies before the person speaks, or after. */
START_TEST(a_new_attempt_uses_what_was_said)
{
    int what = _i % 3;

    begin("t/write",
          "}\n    timeout: 10s\n    retry_policy: {max_attempts: 2, delay: "
          "1s, retry_on: [timeout]}\n    metadata: {x: y",
          TOOL("t/write", "{n: 1}"));
    while (s.n_calls < 2)
        ck_assert(sim_sync_one(&s));
    s.now_ms += 11000;
    ck_assert(sim_fire_timer(&s, 0));
    ck_assert(sim_end_call(&s, 0));
    ck_assert(sim_end_call(&s, 0)); /* it does not say what it did */
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    if (_i >= 3)
        die();
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_int_eq(sim_effect_count(&s, "t__write"), 0);
    if (_i >= 6 && what != 1) { /* it dies before anything follows */
        struct mortise_command c = {.size = sizeof c,
                                    .kind = MORTISE_CMD_RESOLVE,
                                    .id = sim_request(&s, "t__write"),
                                    .decision = settled[what].decision,
                                    .json =
                                        what == 0 ? "{\"seen\": true}" : NULL};

        ck_assert_int_eq(sim_command(&s, &c, 1, 0, "ann", &err), MORTISE_OK);
        die();
    } else {
        ck_assert_int_eq(resolve(settled[what].decision), MORTISE_OK);
    }
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output(settled[what].output);
    ck_assert_int_eq(sim_effect_count(&s, "t__write"), settled[what].effects);
    end();
}
END_TEST

/* An agent failed, and its tool before that with a doubt that was taken as
 * failed.  Whoever resumes the run is asked again, and no model before that: the
 * same call is not made until somebody knows. */
START_TEST(a_resume_waits_for_doubts)
{
    uint32_t seed = 1;
    int what = _i % 3;

    begin("t/write", "",
          TOOL("t/write", "{n: 1}") ", {method: r, kind: read, body: {n: 1}, "
                                    "fail: broken}");
    while (s.n_calls < 2)
        ck_assert(sim_sync_one(&s));
    sim_drop_calls(&s); /* nobody hears of them */
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_int_eq(resolve("fail"), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_RESUME}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_uint_eq(s.n_calls, 0);
    if (_i >= 3) {
        die();
        assert_status(MORTISE_RUN_IN_DOUBT);
    }
    ck_assert_int_eq(sim_effect_count(&s, "t__write"), 0);
    ck_assert_int_eq(resolve(settled[what].decision), MORTISE_OK);
    assert_status(MORTISE_RUN_FAILED); /* of what fails behind the tool */
    ck_assert_int_eq(sim_effect_count(&s, "t__write"), settled[what].effects);
    end();
}
END_TEST

/* A call that a person rejected is not asked about again in the next attempt; who
 * resumes the run is asked. */
START_TEST(a_rejection_holds_for_the_next_attempt)
{
    begin("{tool: t/write, ask: true}, t/idem",
          "}\n    timeout: 10s\n    retry_policy: {max_attempts: 2, delay: "
          "1s, retry_on: [timeout]}\n    metadata: {x: y",
          TOOL("t/write", "{n: 1}") ", " TOOL("t/idem", "{n: 2}"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_WAITING);
    {
        struct mortise_command c = {.size = sizeof c,
                                    .kind = MORTISE_CMD_APPROVE_TOOL,
                                    .id = sim_request(&s, "t__write"),
                                    .decision = "reject",
                                    .reason = "no"};

        ck_assert_int_eq(sim_command(&s, &c, 1, 0, "ann", &err), MORTISE_OK);
    }
    while (s.n_calls < 2)
        ck_assert(sim_sync_one(&s));
    s.now_ms += 11000;
    ck_assert(sim_fire_timer(&s, 0));
    ck_assert(sim_end_call(&s, 0));
    if (_i > 0)
        die();
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"error\":{\"class\":\"permanent\",\"code\":"
                  "\"rejected\",\"message\":\"rejected by ann: no\"}},"
                  "{\"output\":{\"n\":2}}]");
    ck_assert_int_eq(sim_effect_count(&s, "t__write"), 0);
    ck_assert_int_eq(sim_effect_count(&s, "t__idem"), 1);
    end();
}
END_TEST

/* ---- being stopped -------------------------------------------------------- */

/* A cancelled run ends with its tools, wherever they are. */
START_TEST(a_cancel_stops_tools)
{
    (_i == 0 ? begin_asking : begin)("t/read", "", TOOL("t/read", "{n: 1}"));
    while (_i != 0 && s.n_calls < 2)
        ck_assert(sim_sync_one(&s));
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_CANCEL}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_CANCELLED);
    end();
}
END_TEST

/* An attempt that runs out of time ends behind its tools, whose effects are
 * settled; the next one is told of them.  So it is where the process dies in
 * between: what was being stopped is, and whoever asks again is answered. */
START_TEST(an_attempt_ends_behind_its_tools)
{
    uint32_t seed = (uint32_t)_i;
    static const char yaml[] =
        "apiVersion: mortise/v1\nkind: Graph\n"
        "metadata: {name: g, version: 1.0.0}\n"
        "start: a\n"
        "nodes:\n"
        "  a:\n"
        "    type: gmi\n"
        "    prompt: p\n"
        "    timeout: 10s\n"
        "    retry_policy: {max_attempts: 2, delay: 1s, retry_on: [timeout]}\n"
        "    tool_allowlist: [t/idem]\n"
        "    args: {asks: [" TOOL("t/idem", "{n: 1}") "]}\n"
                                                      "    next: END\n";

    sim_init(&s, sim_graph(yaml));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    while (s.n_calls < 2)
        ck_assert(sim_sync_one(&s));
    s.now_ms += 11000;
    ck_assert(sim_fire_timer(&s, 0)); /* of the attempt */
    ck_assert(s.calls[0].cancelled);
    ck_assert(sim_end_call(&s, 0)); /* it lets go, and its tool is told to */
    ck_assert_uint_eq(s.n_calls, 1);
    ck_assert(s.calls[0].cancelled);
    if (_i > 0) {
        while (sim_sync_one(&s))
            continue;
        sim_crash(&s, &seed);
        sim_recover(&s);
    }
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"output\":{\"n\":1}}]");
    ck_assert_int_eq(sim_effect_count(&s, "t__idem"), 1);
    end();
}
END_TEST

/* Whoever gives its result while a tool of its is at work ends behind that. */
START_TEST(a_result_waits_for_tools)
{
    struct mortise_input in = {.kind = MORTISE_IN_RESULT};

    begin("t/read", "", TOOL("t/read", "{n: 1}"));
    ck_assert_uint_eq(s.n_calls, 2);
    in.u.result = (struct mortise_result_in){.call = s.calls[0].call.id,
                                             .message = "",
                                             .error_code = "",
                                             .error_class = "",
                                             .output = json_integer(7)};
    script_drop(&s, s.calls[0].call.id);
    sim_feed(&s, &in);
    json_decref(in.u.result.output);
    ck_assert(s.calls[1].cancelled);
    json_decref(s.calls[0].call.body);
    script_finish(&s.calls[0].script);
    s.calls[0] = s.calls[1];
    s.n_calls = 1;
    assert_status(MORTISE_RUN_RUNNING);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("7");
    end();
}
END_TEST

/* A pause and an update find tools that wait, and the run goes on from there. */
START_TEST(commands_find_tools)
{
    begin_asking("t/echo", "", TOOL("t/echo", "{n: 1}"));
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_int_eq(
        command((struct mortise_command){
            .kind = _i == 0 ? MORTISE_CMD_PAUSE : MORTISE_CMD_UPDATE,
            .json = _i == 0 ? NULL : "{\"scratch\": {\"x\": 1}}"}),
        MORTISE_OK);
    if (_i == 0)
        ck_assert_int_eq(
            command((struct mortise_command){.kind = MORTISE_CMD_RESUME}),
            MORTISE_OK);
    assert_status(MORTISE_RUN_WAITING);
    ck_assert_int_eq(approve("t__echo", "approve", NULL), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"output\":{\"n\":1}}]");
    end();
}
END_TEST

/* An agent whose own effect is in doubt waits for the doubt of its tool.  After
 * another crash nothing is left to do but to ask: the run is at rest. */
START_TEST(a_doubt_is_at_rest_after_a_crash)
{
    uint32_t seed = 1;
    size_t commits;

    begin("t/write", "}\n    effect_class: write\n    metadata: {x: y",
          TOOL("t/write", "{n: 1}"));
    while (s.n_calls < 2)
        ck_assert(sim_sync_one(&s));
    sim_drop_calls(&s);
    sim_crash(&s, &seed);
    sim_recover(&s);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    sim_crash(&s, &seed);
    commits = s.n_commits;
    sim_recover(&s);
    assert_status(MORTISE_RUN_IN_DOUBT);
    ck_assert_uint_eq(s.n_commits, commits);
    ck_assert_uint_eq(s.n_calls, 0);
    ck_assert_int_eq(resolve("fail"), MORTISE_OK);
    assert_status(MORTISE_RUN_IN_DOUBT); /* of the agent itself */
    end();
}
END_TEST

/* An update stops the tools of an agent, which begins anew.  A graph that is a
 * tool, in which a person was asked, continues inside: the person is asked again,
 * and what was done there is not done again. */
START_TEST(an_update_continues_a_graph)
{
    static const char *const inside[] = {
        "  h: {type: human, prompt: well?}\n",
        "  h: {type: subgraph, graph: {start: i, nodes: {i: {type: human, "
        "prompt: well?}}}}\n"};
    char other[1024];
    char *before, *after;

    snprintf(other, sizeof other,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: inner, version: 1.0.0}\n"
             "start: [w, h]\nnodes:\n"
             "  w: {type: tool, tool: t/rec, args: {v: 1}}\n%s",
             inside[_i % 2]);
    sim_init(&s,
             sim_graph_beside(
                 other,
                 "apiVersion: mortise/v1\nkind: Graph\n"
                 "metadata: {name: g, version: 1.0.0}\n"
                 "start: a\nnodes:\n"
                 "  a: {type: gmi, prompt: p, tool_allowlist: [graph/inner],\n"
                 "      args: {asks: [" TOOL("graph/inner", "{}") "]}, next: "
                                                                  "END}\n"));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_WAITING);
    before = strdup(sim_request(&s, _i % 2 == 0 ? "h" : "i"));
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_UPDATE,
                                         .json = "{\"scratch\": {\"u\": 1}}"}),
        MORTISE_OK);
    if (_i >= 2)
        die();
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_RESUME}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_WAITING);
    after = strdup(sim_request(&s, _i % 2 == 0 ? "h" : "i"));
    ck_assert_str_ne(before, after);
    ck_assert_int_eq(
        command((struct mortise_command){.kind = MORTISE_CMD_ANSWER,
                                         .id = after,
                                         .json = "{\"approved\": true}"}),
        MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_int_eq(sim_effect_count(&s, "w"), 1);
    free(before);
    free(after);
    end();
}
END_TEST

/* ---- handing over --------------------------------------------------------- */

/* A node that may be handed over to is a tool whose answer says where. */
START_TEST(a_hand_over_is_a_tool)
{
    static const char yaml[] =
        "apiVersion: mortise/v1\nkind: Graph\n"
        "metadata: {name: g, version: 1.0.0}\n"
        "start: a\n"
        "nodes:\n"
        "  a:\n"
        "    type: gmi\n"
        "    prompt: p\n"
        "    handoffs: [b]\n"
        "    args: {asks: [" TOOL(
            "transfer_to_b",
            "{}") "], goto: b}\n"
                  "    next: END\n"
                  "  b: {type: tool, tool: t/echo, args: {}, next: END}\n";

    sim_init(&s, sim_graph(yaml));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    sim_run_plain(&s);
    assert_status(MORTISE_RUN_COMPLETED);
    assert_output("[{\"goto\":\"b\"}]");
    end();
}
END_TEST

/* ---- memory, and what was tampered with ----------------------------------- */

/* Whatever allocation fails as a tool is asked for, or ends, that is what is
 * said. */
START_TEST(tools_survive_oom)
{
    int rv = MORTISE_ENOMEM;

    for (int n = 0; rv != MORTISE_OK; n++) {
        struct mortise_input in = {.kind = MORTISE_IN_ASK};

        begin("t/write, {tool: t/echo, max_output: 64B}", "",
              _i == 0 ? ""
                      : TOOL("t/echo", "{x: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                       "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}"));
        in.now_ms = s.now_ms;
        in.u.ask = (struct mortise_ask_in){
            .call = s.calls[0].call.id,
            .ask = 1,
            .kind = MORTISE_STEP_TOOL,
            .method = "tool.invoke/1",
            .key = "",
            .alias = "call_1",
            .body = json_pack("{s:s, s:{}}", "tool", "t/write", "arguments")};
        if (_i == 1) {
            json_decref(in.u.ask.body);
            in.kind = MORTISE_IN_RESULT;
            in.u.result =
                (struct mortise_result_in){.call = s.calls[1].call.id,
                                           .message = "",
                                           .error_code = "",
                                           .error_class = "",
                                           .output = s.calls[1].call.body};
        }
        test_mem_fail_at(n);
        rv = mortise_run_step(s.run, &in, &s.actions, &err);
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        test_mem_fail_at(-1);
        if (_i == 0)
            json_decref(in.u.ask.body);
        ck_assert(rv != MORTISE_OK || n > 5);
        end();
    }
}
END_TEST

/* In a store that was tampered with: a tool that the node does not have, one
 * that is called with nothing, and one that runs already are refused. */
START_TEST(odd_tools_are_corrupt)
{
    static const struct {
        const char *id, *value;
        uint32_t ordinal;
        enum mortise_entry_type type;
        int rv;
    } said[] = {
        {"t__echo", "{\"arguments\":{}}", 1, MORTISE_E_INVOKE, MORTISE_OK},
        {"t__write", "{\"arguments\":{}}", 1, MORTISE_E_INVOKE,
         MORTISE_ECORRUPT},
        {"t__echo", "{}", 1, MORTISE_E_INVOKE, MORTISE_ECORRUPT},
        {"t__echo", "{\"arguments\":{}}", 1, MORTISE_E_INVOKE_AGAIN,
         MORTISE_ECORRUPT},
        {"t__echo", "{\"arguments\":{}}", 0, MORTISE_E_INVOKE,
         MORTISE_ECORRUPT},
        {"", "{}", 0, MORTISE_E_ABANDON, MORTISE_OK},
    };
    struct mortise_entry e = {.type = said[_i].type,
                              .visit = 1,
                              .generation = 1,
                              .attempt = 1,
                              .ordinal = said[_i].ordinal,
                              .id = said[_i].id,
                              .key = "",
                              .method = "tool.invoke/1"};
    struct mortise_uuid id = {{7}};
    struct mortise_buf b;
    struct mortise_run *r;

    begin("t/echo", "", TOOL("t/echo", "{n: 1}"));
    while (sim_sync_one(&s))
        continue;
    ck_assert_int_eq(mortise_run_replay(&r, &test_mem, s.graph, "default",
                                        "run-1", NULL, NULL, &err),
                     MORTISE_OK);
    for (size_t i = 0; i < s.n_commits; i++)
        ck_assert_int_eq(
            mortise_run_apply(r, s.commits[i].seq, s.commits[i].time_ms,
                              s.commits[i].id, s.commits[i].entries,
                              s.commits[i].size, &err),
            MORTISE_OK);
    mortise_buf_init(&b, &test_mem);
    e.value = json_loads(said[_i].value, 0, NULL);
    mortise_entry_write(&b, &e);
    json_decref(e.value);
    ck_assert_int_eq(
        mortise_run_apply(r, s.n_commits + 1, s.now_ms, id, b.p, b.n, &err),
        said[_i].rv);
    mortise_buf_finish(&b);
    mortise_run_free(r);
    end();
}
END_TEST

static Suite *suite(void)
{
    TCase *tc = tcase_create("tools");
    Suite *s_ = suite_create("run_tools");

    tcase_add_test(tc, a_tool_answers);
    tcase_add_test(tc, what_is_not_allowed_is_not_there);
    tcase_add_test(tc, a_failure_is_an_answer);
    tcase_add_test(tc, a_tool_is_tried_again);
    tcase_add_test(tc, tools_run_beside_each_other);
    tcase_add_test(tc, a_tool_takes_the_place_of_who_asked);
    tcase_add_test(tc, tools_use_up_no_limit);
    tcase_add_test(tc, a_long_output_is_cut);
    tcase_add_test(tc, images_are_not_cut);
    tcase_add_loop_test(tc, a_budget_pauses_between_tools, 0, 2);
    tcase_add_test(tc, a_budget_fails_between_tools);
    tcase_add_test(tc, a_budget_leads_out_of_tools);
    tcase_add_loop_test(tc, a_budget_pauses_within_a_tool, 0, 2 * N_UNITS);
    tcase_add_loop_test(tc, a_budget_fails_within_a_tool, 0, 2 * N_UNITS);
    tcase_add_loop_test(tc, a_budget_leads_out_within_a_tool, 0, 2 * N_UNITS);
    tcase_add_loop_test(tc, askers_do_not_wait_for_each_other, 0, 10);
    tcase_add_loop_test(tc, killed_anywhere_a_budget_holds, 0, 20);
    tcase_add_loop_test(tc, a_tool_is_approved, 0, 3);
    tcase_add_test(tc, one_tool_is_approved);
    tcase_add_test(tc, several_are_approved_one_by_one);
    tcase_add_test(tc, a_tool_is_guarded);
    tcase_add_loop_test(tc, a_node_guards_its_tools, 0, 7);
    tcase_add_loop_test(tc, a_failure_is_no_way_around, 0, 4);
    tcase_add_loop_test(tc, killed_anywhere_it_goes_on, 0, 20);
    tcase_add_test(tc, an_effect_under_way_is_in_doubt);
    tcase_add_test(tc, a_new_attempt_repeats_no_effect);
    tcase_add_loop_test(tc, a_new_attempt_uses_what_was_said, 0, 9);
    tcase_add_loop_test(tc, a_resume_waits_for_doubts, 0, 6);
    tcase_add_loop_test(tc, a_rejection_holds_for_the_next_attempt, 0, 2);
    tcase_add_loop_test(tc, a_cancel_stops_tools, 0, 2);
    tcase_add_loop_test(tc, an_attempt_ends_behind_its_tools, 0, 4);
    tcase_add_test(tc, a_result_waits_for_tools);
    tcase_add_loop_test(tc, commands_find_tools, 0, 2);
    tcase_add_test(tc, a_doubt_is_at_rest_after_a_crash);
    tcase_add_loop_test(tc, an_update_continues_a_graph, 0, 4);
    tcase_add_test(tc, a_hand_over_is_a_tool);
    tcase_add_loop_test(tc, tools_survive_oom, 0, 2);
    tcase_add_loop_test(tc, odd_tools_are_corrupt, 0, 6);
    suite_add_tcase(s_, tc);
    return s_;
}

int main(void)
{
    return test_run(suite());
}
