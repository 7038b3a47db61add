/* test_cli_tasks.c -- agents that have agents: the tools with which a model starts
 * children, hears of them and speaks with them, and those by which one reports, as
 * graphs use them.  The model plays scripts (tests/plugins/plays.c), which have those
 * of its children in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lib/desk.h"
#include "lib/httpd.h"
#include "lib/matrix.h"
#include "lib/store_reader.h"

/* What the build that can be killed finds, too. */
static void sign(void)
{
    desk_sign();
    desk_sign_ours("plays");
    desk_sign_one("plugins/executor/agent/agent.plugin.yaml",
                  "plugins/agent.so");
    desk_sign_one("plugins/executor/http/http.plugin.yaml", "plugins/http.so");
    desk_ok("$MORTISE key trust k.pub --trust trust.d --name plays "
            "--plugins '*' --in-process");
}

#define MODELS "models: {default: {provider: plays, model: m}}"

static void begin(void)
{
    desk_begin();
    desk_deploy(MODELS);
}

/* A graph whose agent `a` plays that, and has these keys besides. */
static void agent(const char *keys, const char *script)
{
    char body[8192];

    snprintf(
        body, sizeof body,
        "start: a\nnodes:\n"
        "  a: {type: gmi, subagents: true, %s prompt: {do: %s}, next: END}\n",
        keys, script);
    desk_graph("g", body);
}

static void run(const char *keys, const char *script)
{
    agent(keys, script);
    desk_ok("$MORTISE run g.yaml --id p");
}

/* What a run's record has of its one node, under that name; a new reference. */
static json_t *record(const char *run_id, const char *name)
{
    json_t *show, *value;

    desk_ok("$MORTISE show %s --json", run_id);
    show = json_loads(child.out, 0, NULL);
    ck_assert_ptr_nonnull(show);
    value = json_incref(json_object_get(
        json_array_get(json_object_get(show, "nodes"), 0), name));
    json_decref(show);
    return value;
}

/* What the agent of `p` said at its end. */
static const char *said(void)
{
    static char text[1 << 16];
    json_t *output = record("p", "output");

    ck_assert_msg(json_is_string(output), "%s", child.out);
    snprintf(text, sizeof text, "%s", json_string_value(output));
    json_decref(output);
    return text;
}

#define says(words)                                                            \
    ck_assert_msg(strstr(said(), (words)) != NULL, "no '%s' in: %.2000s",      \
                  (words), said())
#define says_not(words)                                                        \
    ck_assert_msg(strstr(said(), (words)) == NULL, "'%s' in: %.2000s",         \
                  (words), said())

/* The run of the k-th child of `p`, in the order of `show`. */
static const char *child_of(const char *parent, size_t k)
{
    static char ids[4][64], *id;
    json_t *show, *one;

    id = ids[k % 4];
    desk_ok("$MORTISE show %s --json", parent);
    show = json_loads(child.out, 0, NULL);
    one = json_array_get(json_object_get(show, "children"), k);
    ck_assert_msg(one != NULL, "%s", child.out);
    snprintf(id, sizeof ids[0], "%s",
             json_string_value(json_object_get(one, "child")));
    json_decref(show);
    return id;
}

/* ---- starting and waiting --------------------------------------------------------- */

/* In the foreground what came of it is the result. */
START_TEST(a_child_in_the_foreground)
{
    run("", "[[[spawn_agent, {name: n, instructions: [done]}]], $last]");
    says("{\"task\":\"p/");
    says("\",\"name\":\"n\",\"state\":\"succeeded\",\"result\":\"done\"}");
    desk_ok("$MORTISE show p");
    desk_out("children");
    desk_out("completed");
}
END_TEST

/* In the background the task is, and wait_task has what came of it. */
START_TEST(a_child_in_the_background)
{
    run("", "[[[spawn_agent, {name: n, instructions: [done], mode: "
            "background}]], $last]");
    says("\",\"name\":\"n\",\"state\":\"running\"}");
    says_not("result");
    desk_ok("rm -rf state");
    run("", "[[[spawn_agent, {name: n, instructions: [done], mode: "
            "background}]], [[wait_task, {task: $1}]], $last]");
    says("\",\"name\":\"n\",\"state\":\"succeeded\",\"result\":\"done\"}");
}
END_TEST

/* What is over can be looked at, alone with what it came to, or in the list. */
START_TEST(tasks_are_looked_at)
{
    run("", "[[[spawn_agent, {name: n, instructions: [done]}]], "
            "[[get_task, {task: $1}]], $last]");
    says("\"attempt\":1");
    says("\"state\":\"succeeded\"");
    says("\"result\":\"done\"");
    says("\"child\":\"");
    desk_ok("rm -rf state");
    run("", "[[[list_tasks, {}]], [[spawn_agent, {name: n, instructions: "
            "[done]}], [spawn_agent, {name: o, instructions: [done]}]], "
            "[[list_tasks, {}]], $last]");
    says("{\"tasks\":[{");
    says("\"name\":\"n\"");
    says("\"name\":\"o\"");
    says_not("\"result\"");
    desk_ok("rm -rf state");
    run("", "[[[list_tasks, {}]], $last]");
    ck_assert_str_eq(said(), "{\"tasks\":[]}");
}
END_TEST

/* Three at once: each has its own. */
START_TEST(children_side_by_side)
{
    const char *text;

    run("parallel_tools: true,",
        "[[[spawn_agent, {name: x, instructions: [one]}], [spawn_agent, {name: "
        "x, instructions: [two]}], [spawn_agent, {name: x, instructions: "
        "[three]}]], $last]");
    text = strstr(said(), "\"result\":\"one\"");
    ck_assert_ptr_nonnull(text);
    text = strstr(text, "\"result\":\"two\"");
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_nonnull(strstr(text, "\"result\":\"three\""));
}
END_TEST

/* With parallel_tools a child runs to its end while another call of the same reply
 * waits for a person, whichever of the two stands first. */
static const char *const beside[] = {
    "[[[spawn_agent, {name: n, instructions: [hi]}], [plays__note, {}]], "
    "$last]",
    "[[[plays__note, {}], [spawn_agent, {name: n, instructions: [hi]}]], "
    "$last]",
    "[[[plays__note, {}], [spawn_agent, {name: n, mode: background, "
    "instructions: [hi]}]], [[wait_task, {task: $1}]], $last]",
};

START_TEST(a_child_beside_an_approval)
{
    agent("parallel_tools: true, tool_allowlist: [{tool: plays/note, ask: "
          "true}],",
          beside[_i]);
    child_run("$MORTISE run g.yaml --id p");
    desk_code(4);
    for (int k = 0; k < 600; k++) { /* one in the background is let go of */
        desk_ok("$MORTISE show %s --json | grep '\"status\": \"' | head -1",
                child_of("p", 0));
        if (strstr(child.out, "completed") != NULL)
            break;
        child_run("$MORTISE resume p");
    }
    desk_out("completed");
    desk_ok("$MORTISE approve p $($MORTISE inbox p --ids | cut -d' ' -f2)");
    says("\"name\":\"n\",\"state\":\"succeeded\",\"result\":\"hi\"}");
    desk_ok("wc -l <noted");
    ck_assert_int_eq(atoi(child.out), 1);
}
END_TEST

/* Children have children, down to a cap, which the refusal names. */
START_TEST(children_of_children)
{
    run("", "[[[spawn_agent, {name: a, instructions: [[[spawn_agent, {name: "
            "b, instructions: [[[spawn_agent, {name: c, instructions: "
            "[never]}]], $last]}]], $last]}]], $last]");
    says("E_LIMIT: limits.spawn.depth allows 2, but the child 'c' would make "
         "it 3");
}
END_TEST

/* ---- a server, of which both can ask ------------------------------------------------ */

static struct httpd *server;

static const char answer_hi[] =
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";

static void begin_with_server(void)
{
    char text[16384];

    desk_begin();
    server = httpd_start();
    snprintf(
        text, sizeof text,
        "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: t}\n"
        "plugins: {path: [%s/plugins], config: {http: {allow: [\"%s\"]}}}\n"
        "trust: {dir: %s/trust.d}\nstore: {path: ./state}\n" MODELS "\n",
        desk_plugins, httpd_url(server, ""), desk_plugins);
    desk_put("mortise.yaml", text);
    httpd_on(server, "/held"); /* until it is let go */
    httpd_hold(server);
    httpd_say(server, answer_hi);
    httpd_on(server, "/passed"); /* a mark on the way */
    httpd_say(server, answer_hi);
}

static void end_with_server(void)
{
    httpd_stop(server);
    desk_end();
}

#define GET(path) "[[http__get, {url: \"@" path "\"}]]"

/* A script in which @ is the server's address. */
static pid_t start(const char *script)
{
    char text[4096], url[64];
    size_t n = 0;

    snprintf(url, sizeof url, "%s", httpd_url(server, ""));
    for (; *script != '\0'; script++) {
        bool here = *script == '@';

        ck_assert_uint_lt(n + sizeof url, sizeof text);
        n += (size_t)snprintf(text + n, sizeof text - n, "%.*s",
                              here ? (int)strlen(url) : 1, here ? url : script);
    }
    agent("tool_allowlist: [http/get],", text);
    return child_start("run", "$MORTISE run g.yaml --id p");
}

/* A detached child outlives who made it; a linked one does not. */
START_TEST(a_detached_child_outlives_its_parent)
{
    static const char *const scripts[] = {
        "[[[spawn_agent, {name: n, mode: background, instructions: [" GET(
            "/held") ", free]}]], " GET("/passed") ", over]",
        "[[[spawn_agent, {name: n, mode: background, lifetime: detached, "
        "instructions: [" GET("/held") ", free]}]], " GET("/passed") ", over]"};
    pid_t pid = start(scripts[_i]);
    const char *id;

    httpd_await(server, 2);
    if (_i == 0) {
        ck_assert_int_eq(child_wait(pid), 0);
    } else {
        child_kill(pid); /* it would wait for the child, which is its own */
        httpd_release(server);
        child_run("$MORTISE resume p");
    }
    ck_assert_str_eq(said(), "over");
    id = child_of("p", 0);
    if (_i == 1)
        desk_ok("$MORTISE resume %s || $MORTISE show %s", id, id);
    desk_ok("$MORTISE show %s --json | tr -d ' \\n'", id);
    if (_i == 0)
        desk_out("\"status\":\"cancelled\"");
    else
        desk_out("\"output\":\"free\"");
}
END_TEST

/* ---- speaking with them ------------------------------------------------------------- */

/* What a parent's agent says its child hears with its next turn; and what the child
 * says of how far it is its parent sees. */
START_TEST(they_speak_with_each_other)
{
    pid_t pid = start("[[[spawn_agent, {name: n, mode: background, "
                      "instructions: [[[report_task_progress, {progress: half "
                      "of it}]], [[http__get, {url: \"@/held\"}]], $last]}]], "
                      "[[http__get, {url: \"@/passed\"}]], [[message_task, "
                      "{task: $1, message: make haste}]], [[http__get, {url: "
                      "\"@/passed\"}]], [[wait_task, {task: $1}]], [[get_task, "
                      "{task: $1}]], $last]");

    httpd_await(server, 3); /* two of the parent's, and the child's */
    httpd_release(server);
    ck_assert_int_eq(child_wait(pid), 0);
    says("\"result\":\"make haste\"");
    says("\"progress\":\"half of it\"");
    desk_ok("$MORTISE show p");
    desk_out("half of it");
}
END_TEST

/* What it may be told is said with the task: nothing else is heard; and nothing of
 * what is about another attempt. */
START_TEST(what_it_may_be_told)
{
    static const struct {
        const char *call, *words;
    } refusals[] = {
        {"[message_task, {task: $1, message: {m: 1}}]", "E_INVALID: "},
        {"[message_task, {task: $1, message: {n: 1}, attempt: 2}]",
         "E_STALE_ATTEMPT: "},
        {"[cancel_task, {task: $1, attempt: 7}]", "E_STALE_ATTEMPT: "},
        {"[message_task, {task: p/0123, message: hi}]", "E_NOT_FOUND: "},
    };
    char script[2048];
    pid_t pid;

    snprintf(script, sizeof script,
             "[[[spawn_agent, {name: n, mode: background, message_schema: "
             "{type: object, required: [n]}, instructions: [" GET(
                 "/held") ", $show]}]], [%s, [http__get, {url: \"@/passed\"}]"
                          "], $last]",
             refusals[_i].call);
    pid = start(script);
    httpd_await(server, 2);
    ck_assert_int_eq(child_wait(pid), 0);
    says("error: ");
    says(refusals[_i].words);
}
END_TEST

/* Who is called off ends; and what is over stays as it is. */
START_TEST(a_task_is_called_off)
{
    pid_t pid =
        start("[[[spawn_agent, {name: n, mode: background, instructions: [" GET(
            "/held") ", free]}], [http__get, {url: \"@/passed\"}]], "
                     "[[cancel_task, {task: $1}]], [[wait_task, {task: $1}]], "
                     "$last]");

    ck_assert_int_eq(child_wait(pid), 0);
    says("\"state\":\"cancelled\"");
    desk_ok("rm -rf state");
    run("", "[[[spawn_agent, {name: n, instructions: [done]}]], "
            "[[cancel_task, {task: $1}]], $last]");
    says("\"state\":\"succeeded\"}");
    desk_ok("rm -rf state");
    run("", "[[[spawn_agent, {name: n, instructions: [done]}]], "
            "[[message_task, {task: $1, message: late}]], $last]");
    says("E_ALREADY_SETTLED: ");
}
END_TEST

/* ---- reports -------------------------------------------------------------------------- */

#define SCHEMA "result_schema: {type: object, required: [n]}"

/* With a result_schema the result is what is reported, once it is what was asked
 * for. */
START_TEST(a_result_is_reported)
{
    run("", "[[[spawn_agent, {name: n, " SCHEMA ", instructions: "
            "[[[report_result, {result: {m: 1}}]], [[report_result, {result: "
            "{n: 1}}]]]}]], $last]");
    says("\"state\":\"succeeded\",\"result\":{\"n\":1}}");
    desk_ok("$MORTISE events %s --json", child_of("p", 0));
    desk_out("\"step\":\"m2\""); /* it was asked again */
}
END_TEST

/* Who ends without a report is told so once; who does it again has failed. */
START_TEST(nothing_is_reported)
{
    run("", "[[[spawn_agent, {name: n, " SCHEMA ", instructions: [well, "
            "[[report_result, {result: {n: 2}}]]]}]], $last]");
    says("\"result\":{\"n\":2}}");
    desk_ok("$MORTISE events %s --json", child_of("p", 0));
    desk_out("You have not called report_result. Call it with the result; "
             "without it nothing of your work is passed on.");
    desk_ok("rm -rf state");
    run("", "[[[spawn_agent, {name: n, " SCHEMA ", instructions: [well, "
            "then]}]], $last]");
    says("\"state\":\"failed\",\"error\":{\"code\":\"no_result\",\"message\":"
         "\"the model ended without calling report_result");
    says("error: ");
}
END_TEST

/* A node of a graph reports as a child does. */
START_TEST(a_node_reports)
{
    json_t *output;

    run("reports: true, output_schema: {type: object, required: [n]},",
        "[[[report_task_progress, {progress: soon}]], [[report_result, "
        "{result: {n: 3}}]]]");
    output = record("p", "output");
    ck_assert_int_eq(json_integer_value(json_object_get(output, "n")), 3);
    json_decref(output);
    desk_ok("rm -rf state");
    run("reports: true,", "[as it is]");
    ck_assert_str_eq(said(), "as it is");
}
END_TEST

/* A later attempt says which one it is, so that the one before is told from it. */
START_TEST(a_later_attempt_says_so)
{
    run("retry_policy: {max_attempts: 2, delay: 1ms},",
        "[[[spawn_agent, {name: n, instructions: [{attempts: 2, then: "
        "done}]}]], [[get_task, {task: $1}]], $last]");
    says("\"attempt\":2");
    says("\"result\":\"done\"");
}
END_TEST

/* ---- seeds ---------------------------------------------------------------------------- */

/* What the model of p's first child was asked first; a new reference. */
static json_t *first_request(void)
{
    json_t *request, *task, *result;

    task = json_loads(said(), 0, NULL);
    ck_assert_msg(task != NULL, "%s", said());
    result = json_object_get(task, "result");
    request = json_loads(json_string_value(result), 0, NULL);
    ck_assert_ptr_nonnull(request);
    json_decref(task);
    return request;
}

static const char *role(const json_t *request, size_t i)
{
    const char *name = json_string_value(json_object_get(
        json_array_get(json_object_get(request, "messages"), i), "role"));

    return name != NULL ? name : "";
}

/* A fork begins with all that its parent's model was told, and not its reply; one
 * that is fresh knows nothing of it. */
START_TEST(a_fork_knows_what_its_parent_was_told)
{
    json_t *request;

    run("instructions: Be kind.,",
        "[[[spawn_agent, {name: n, seed: fork, instructions: [$show]}]], "
        "$last]");
    request = first_request();
    ck_assert_uint_eq(json_array_size(json_object_get(request, "messages")), 3);
    ck_assert_str_eq(role(request, 0), "system");
    ck_assert_str_eq(role(request, 1), "user");
    ck_assert_str_eq(role(request, 2), "user");
    json_decref(request);
    says("Be kind.");
    desk_ok("rm -rf state");
    run("instructions: Be kind.,",
        "[[[spawn_agent, {name: n, instructions: [$show]}]], $last]");
    request = first_request();
    ck_assert_uint_eq(json_array_size(json_object_get(request, "messages")), 1);
    ck_assert_str_eq(role(request, 0), "user");
    json_decref(request);
    says_not("Be kind.");
}
END_TEST

/* ---- who else hears of it --------------------------------------------------------------- */

/* Whoever watches the parent is told how its child stands, and whoever watches the
 * child how far it is; a replay tells the same. */
START_TEST(changes_are_told)
{
    static const char *const states[] = {
        "\"state\":\"pending\"", "\"state\":\"running\"",
        "\"state\":\"settled\",\"status\":\"completed\""};
    const char *at = child.out;

    run("", "[[[spawn_agent, {name: n, instructions: [[[report_task_progress, "
            "{progress: half of it}]], done]}]], $last]");
    desk_ok("$MORTISE events p --json | grep task_changed | tr -d ' '");
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        at = strstr(at, states[i]);
        ck_assert_msg(at != NULL, "no %s in its turn in:\n%s", states[i],
                      child.out);
    }
    ck_assert_ptr_null(strstr(at + 1, "task_changed"));
    desk_out("\"name\":\"n\"");
    desk_out("\"handle\":\"p/");
    desk_ok("$MORTISE events %s --json | grep task_changed", child_of("p", 0));
    desk_out("\"attempt\":1,");
    desk_out("\"progress\":\"half of it\"");
}
END_TEST

/* What guardrails are still to see gets out neither as progress nor as what a child
 * begins with. */
START_TEST(what_is_held_stays)
{
    desk_deploy(MODELS "\nguardrails: {g: {plugin: pattern, config: {rules: "
                       "[{name: x, pattern: zzz}]}}}");
    run("guardrail_policy: {output: [g]},",
        "[[[spawn_agent, {name: n, instructions: [[[report_task_progress, "
        "{progress: soon}]], $last]}]], $last]");
    says("guardrails withhold the replies of this node's model, so it cannot "
         "report progress as text");
    desk_ok("$MORTISE show p --json");
    desk_not_out("\"progress\":");
    desk_ok("rm -rf state");
    run("guardrail_policy: {output: [g]},",
        "[[[spawn_agent, {name: n, seed: fork, instructions: [done]}]], "
        "$last]");
    says("guardrails withhold the replies of this node's model, so a child "
         "cannot start with its conversation (seed)");
    desk_ok("$MORTISE show p --json");
    desk_not_out("\"children\"");
}
END_TEST

/* ---- what is offered ------------------------------------------------------------------ */

#define PARENTS                                                                \
    "spawn_agent list_tasks get_task wait_task message_task cancel_task "

static const struct {
    const char *node, *names;
} offers[] = {
    {"type: gmi, prompt: {do: [$show]}", ""},
    {"type: gmi, prompt: {do: [$show]}, subagents: true", PARENTS},
    {"type: gmi, prompt: {do: [$show]}, reports: true",
     "report_result report_task_progress "},
    {"type: gmi, prompt: {do: [$show]}, reports: true, subagents: true, "
     "tool_allowlist: [text/join]",
     "text__join " PARENTS "report_result report_task_progress "},
    {"type: gmi, prompt: {do: [$show]}, subagents: false, tool_allowlist: "
     "[text/join]",
     "text__join "},
    {"goal: '{\"do\":[\"$show\"]}'", "report_result "},
    {"goal: '{\"do\":[\"$show\"]}', subagents: true, tool_allowlist: "
     "[text/join]",
     "text__join " PARENTS "report_result "},
};

/* What a model is offered is that, in this order, and nothing else. */
START_TEST(what_is_offered)
{
    char graph[512], names[512] = "";
    json_t *request, *one;
    size_t i;

    snprintf(graph, sizeof graph, "start: a\nnodes:\n  a: {%s, next: END}\n",
             offers[_i].node);
    desk_graph("g", graph);
    desk_ok("$MORTISE run g.yaml --id p");
    request = json_loads(said(), 0, NULL);
    ck_assert_ptr_nonnull(request);
    json_array_foreach(json_object_get(request, "tools"), i, one)
    {
        strcat(names, json_string_value(json_object_get(one, "name")));
        strcat(names, " ");
        ck_assert(json_is_object(json_object_get(one, "parameters")));
        ck_assert(strncmp(names, "text", 4) == 0 ||
                  json_is_string(json_object_get(one, "description")));
    }
    ck_assert_str_eq(names, offers[_i].names);
    json_decref(request);
}
END_TEST

/* A leaf has children as a gmi node has. */
START_TEST(a_leaf_has_children)
{
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {goal: '{\"do\":[[[\"spawn_agent\",{\"name\":"
                    "\"n\",\"instructions\":[\"done\"]}]],\"$last\"]}', "
                    "subagents: true, next: END}\n");
    desk_ok("$MORTISE run g.yaml --id p");
    says("\"state\":\"succeeded\",\"result\":\"done\"}");
}
END_TEST

/* ---- what goes wrong -------------------------------------------------------------------- */

/* Arguments that do not fit are a result that says so, and nothing is spawned. */
static const struct {
    const char *call, *words;
} mistakes[] = {
    {"[spawn_agent, {name: n}]", "spawn_agent rejects these arguments: "},
    {"[spawn_agent, {name: n, instructions: x, mode: sideways}]", "/mode"},
    {"[spawn_agent, {name: n, instructions: x, seed: old}]", "/seed"},
    {"[spawn_agent, {name: n, instructions: x, lifetime: long}]", "/lifetime"},
    {"[spawn_agent, {name: n, instructions: x, result_schema: no}]",
     "/result_schema"},
    {"[spawn_agent, {name: n, instructions: x, more: 1}]", "more"},
    {"[spawn_agent, {name: \"\", instructions: x}]", "/name"},
    {"[list_tasks, {task: x}]", "list_tasks rejects these arguments: "},
    {"[get_task, {}]", "get_task rejects these arguments: "},
    {"[wait_task, {task: 3}]", "/task"},
    {"[message_task, {task: x}]", "message_task rejects these arguments: "},
    {"[cancel_task, {task: x, attempt: 0}]", "/attempt"},
    {"[get_task, {task: x}]", "E_NOT_FOUND: "},
    {"[wait_task, {task: x}]", "E_NOT_FOUND: "},
    {"[message_task, {task: x, message: y}]", "E_NOT_FOUND: "},
    {"[cancel_task, {task: x}]", "E_NOT_FOUND: "},
    {"[report_task_progress, {}]",
     "report_task_progress rejects these arguments: "},
};

START_TEST(a_mistake_is_told)
{
    char script[512];

    snprintf(script, sizeof script, "[[%s], $last]", mistakes[_i].call);
    run("reports: true,", script);
    says(mistakes[_i].words);
    desk_ok("$MORTISE show p");
    desk_not_out("children");
    says("error: ");
    desk_ok("$MORTISE show p --transcript | grep '  failed   a  .*: .*%s'",
            mistakes[_i].words);
}
END_TEST

/* A transcript has the result of each call once, whether the run or the agent made
 * it.  The model uses the same two ids in each of its replies. */
START_TEST(a_transcript_has_each_result_once)
{
    run("tool_allowlist: [plays/note], parallel_tools: true,",
        "[[[plays__note, {}], [list_tasks, {}]], "
        "[[list_tasks, {}], [plays__note, {}]], "
        "[[spawn_agent, {name: n, instructions: [hi]}]], done]");
    desk_ok("$MORTISE show p --transcript | sed -n 's/^  gave  *a  "
            "*\\([a-z_/]*\\).*/\\1/p' | sort | uniq -c | tr -s ' '");
    ck_assert_str_eq(child.out, " 2 list_tasks\n 2 plays/note\n"
                                " 1 spawn_agent\n");
    desk_ok("$MORTISE show p --transcript");
    desk_out("list_tasks: {\"tasks\":[]}");
    desk_out(",\"name\":\"n\",\"state\":\"succeeded\",\"result\":\"hi\"}");
}
END_TEST

/* With tool_errors: fail it is the node's. */
static const struct {
    const char *call, *code, *words;
} failures[] = {
    {"[get_task, {task: x}]", "task", "E_NOT_FOUND"},
    {"[get_task, {}]", "arguments", "get_task rejects these arguments"},
    {"[spawn_agent, {name: n, " SCHEMA ", instructions: [well, then]}]",
     "task_failed", "n: failed: no_result: the model ended without"},
};

START_TEST(an_error_of_a_tool_fails_the_node)
{
    char script[512], code[64];

    snprintf(script, sizeof script, "[[%s], $last]", failures[_i].call);
    agent("tool_errors: fail,", script);
    child_run("$MORTISE run g.yaml --id p");
    ck_assert_int_ne(child.code, 0);
    desk_ok("$MORTISE show p --json");
    snprintf(code, sizeof code, "\"code\": \"%s\"", failures[_i].code);
    desk_out(code);
    desk_out(failures[_i].words);
}
END_TEST

/* Who has no children of its own calls a tool that there is not. */
START_TEST(without_the_key_there_are_none)
{
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: gmi, reports: true, prompt: {do: "
                    "[[[spawn_agent, {name: n, instructions: x}]], $last]}, "
                    "next: END}\n");
    desk_ok("$MORTISE run g.yaml --id p");
    says("error: ");
    desk_ok("$MORTISE show p");
    desk_not_out("children");
}
END_TEST

/* What was said before stands ahead of the prompt; what is no list of messages is
 * refused. */
START_TEST(messages_are_said_before)
{
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: gmi, messages: \"${input.before}\", prompt: "
                    "{do: [$show]}, next: END}\n");
    desk_ok("$MORTISE run g.yaml --id p --input '{\"before\": [{\"role\": "
            "\"user\", \"parts\": [{\"type\": \"text\", \"text\": \"so far\"}]"
            "}]}'");
    says("so far");
    desk_ok("rm -rf state");
    child_run("$MORTISE run g.yaml --id p --input '{\"before\": \"words\"}'");
    ck_assert_int_ne(child.code, 0);
    desk_out("model.request: 'messages' is not a list of messages");
}
END_TEST

/* ---- deaths ------------------------------------------------------------------------------- */

/* How many effects there were, each under a key of its own. */
static size_t effects(void)
{
    desk_ok("sort -u noted | wc -l");
    return (size_t)atoi(child.out);
}

/* Once more, until it has ended: at most so often, as nobody dies any more. */
static void go_on(unsigned long n)
{
    for (int k = 0; k < 5; k++) {
        child_run("$MORTISE show p --json");
        if (child.code != 0) /* it died before it was admitted */
            child_run("$MORTISE run g.yaml --id p");
        else
            child_run("$MORTISE resume p");
        if (child.code == 0)
            return;
    }
    ck_abort_msg("death %lu: %s%s", n, child.out, child.err);
}

/* Killed at places of the store, one after the other, until it comes through: each
 * of two children was made once, its one effect happened once, and what came of both
 * is the same. */
START_TEST(killed_at_every_commit)
{
    struct reader_store r;
    char faulty[4096], path[8192];
    unsigned long n = 0;
    int code;

    snprintf(faulty, sizeof faulty, "%s", child_build("faults/mortise"));
    snprintf(path, sizeof path, "%s/state", desk_dir);
    agent("tool_allowlist: [plays/note],",
          "[[[spawn_agent, {name: back, mode: background, instructions: "
          "[[[plays__note, {}]], one]}], [spawn_agent, {name: front, "
          "instructions: [[[plays__note, {}]], two]}]], [[wait_task, {task: "
          "$1}]], $last]");
    do {
        desk_ok("rm -rf state noted");
        child_run("MORTISE_FAULT_CRASH=%lu %s run g.yaml --id p",
                  n += matrix_step(4), faulty);
        code = child.code;
        ck_assert_msg(code == 0 || code >= 128, "it did not die: %s%s",
                      child.out, child.err);
        if (code != 0)
            go_on(n);
        ck_assert_msg(effects() == 2, "death %lu: %zu effects", n, effects());
        says("\"name\":\"back\",\"state\":\"succeeded\",\"result\":\"one\"}");
        ck_assert_msg(store_reader_read(&r, path) == 0, "%s", r.why);
        ck_assert_msg(r.n_spawns == 2 && r.n_runs == 3,
                      "death %lu: %zu handles, %zu runs", n, r.n_spawns,
                      r.n_runs);
        store_reader_free(&r);
    } while (code != 0 && n < 200);
    ck_assert_uint_gt(n, 20); /* it did die */
    ck_assert_uint_lt(n, 200);
}
END_TEST

#define N(list) (int)(sizeof(list) / sizeof(list)[0])

static Suite *suite(void)
{
    Suite *s = suite_create("cli_tasks");
    TCase *tc = tcase_create("children");

    tcase_add_unchecked_fixture(tc, sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_child_in_the_foreground);
    tcase_add_test(tc, a_child_in_the_background);
    tcase_add_test(tc, tasks_are_looked_at);
    tcase_add_test(tc, children_side_by_side);
    tcase_add_loop_test(tc, a_child_beside_an_approval, 0, N(beside));
    tcase_add_test(tc, children_of_children);
    tcase_add_test(tc, a_result_is_reported);
    tcase_add_test(tc, nothing_is_reported);
    tcase_add_test(tc, a_node_reports);
    tcase_add_test(tc, a_later_attempt_says_so);
    tcase_add_test(tc, a_fork_knows_what_its_parent_was_told);
    tcase_add_test(tc, changes_are_told);
    tcase_add_test(tc, what_is_held_stays);
    tcase_add_loop_test(tc, what_is_offered, 0, N(offers));
    tcase_add_test(tc, a_leaf_has_children);
    tcase_add_loop_test(tc, a_mistake_is_told, 0, N(mistakes));
    tcase_add_loop_test(tc, an_error_of_a_tool_fails_the_node, 0, N(failures));
    tcase_add_test(tc, a_transcript_has_each_result_once);
    tcase_add_test(tc, without_the_key_there_are_none);
    tcase_add_test(tc, messages_are_said_before);
    suite_add_tcase(s, tc);
    tc = tcase_create("words");
    tcase_add_unchecked_fixture(tc, sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin_with_server, end_with_server);
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, a_detached_child_outlives_its_parent, 0, 2);
    tcase_add_test(tc, they_speak_with_each_other);
    tcase_add_loop_test(tc, what_it_may_be_told, 0, 4);
    tcase_add_test(tc, a_task_is_called_off);
    suite_add_tcase(s, tc);
    tc = tcase_create("deaths");
    tcase_add_unchecked_fixture(tc, sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_set_timeout(tc, 600);
    tcase_add_test(tc, killed_at_every_commit);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
