/* test_cli_words.c -- what the command line says of a run is so, whatever it
 * waits for: each command that it prints works as it stands, a signal is heard,
 * and a refusal is no more than one. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/desk.h"

#define TIMER                                                                  \
    "start: a\nnodes:\n"                                                       \
    "  a: {type: tool, tool: time/sleep, args: {for: 25s}, next: END}\n"

/* ---- signals -------------------------------------------------------------- */

/* A signal pauses a run that waits for time, wherever it is at work. */
START_TEST(a_signal_at_a_timer)
{
    bool client = (_i & 2) != 0;
    pid_t host = 0, run;

    desk_graph("nap", TIMER);
    if (client) {
        host = child_start("host", "$MORTISE run nap.yaml --id h --json");
        child_await("host.out", "node_start");
    }
    run = child_start("run", "$MORTISE run nap.yaml --id r --json");
    child_await("run.out", "node_start");
    desk_until("\"kind\": \"timer\"", "$MORTISE show r --json");
    kill(run, _i & 1 ? SIGTERM : SIGINT);
    ck_assert_int_eq(child_wait(run), 4);
    child_await("run.out", "\"reason\":\"operator\"");
    desk_ok("$MORTISE show r --json");
    desk_out("\"status\": \"paused\"");
    if (!client)
        return;
    desk_ok("$MORTISE show h --json"); /* the host's own is as it was */
    desk_out("\"status\": \"waiting\"");
    child_kill(host);
}
END_TEST

/* ---- what is suggested ---------------------------------------------------- */

static char commands[32][1024];
static size_t n_commands;

/* Keep the commands that were printed. */
static void keep_commands(void)
{
    for (const char *p = child.out; *p != '\0';) {
        size_t n = strcspn(p, "\n");

        if (strncmp(p, "  /", 3) == 0)
            snprintf(commands[n_commands++], sizeof commands[0], "%.*s",
                     (int)n - 2, p + 2);
        p += n + (p[n] != '\0');
    }
}

/* What `why`, `show`, `inbox` and whoever left the run there print. */
static void collect(const char *run)
{
    n_commands = 0;
    keep_commands();
    desk_ok("$MORTISE why %s", run);
    keep_commands();
    desk_ok("$MORTISE show %s", run);
    keep_commands();
    desk_ok("$MORTISE inbox %s", run);
    keep_commands();
}

/* An engine that is suggested holds the store until it is stopped. */
static void check_engine(const char *command)
{
    pid_t engine = child_start("engine", "%s", command);

    child_await("engine.err", "holding the store");
    child_signal(engine, SIGTERM);
    ck_assert_int_eq(child_wait(engine), 0);
}

static void check_pasted(const char *command)
{
    if (strstr(command, "mortise engine") != NULL) {
        check_engine(command);
        return;
    }
    child_run("%s", command);
    ck_assert_msg(child.code == 0 || child.code == 1 || child.code == 4 ||
                      child.code == 5,
                  "%s: %d\n%s%s", command, child.code, child.out, child.err);
    ck_assert_msg(strstr(child.err, "mortise: ") == NULL, "%s:\n%s", command,
                  child.err);
}

#define TOOL(name, args)                                                       \
    "{type: tool, tool: " name ", args: {" args "}, next: END"

/* To the plan that waits, or the node. */
#define YES "$MORTISE approve r $($MORTISE inbox r --ids | cut -d' ' -f2)"

/* One of each thing that a run waits for. */
static const struct waits {
    const char *what, *graph, *then; /* `then`: what is done besides `run` */
    size_t at_least;
} waits[] = {
    {"a person",
     "start: a\nnodes:\n  a: {type: human, prompt: Well?, next: "
     "END}\n",
     NULL, 8},
    {"an answer",
     "start: a\nnodes:\n  a: {type: human, prompt: Well?, schema: "
     "{type: object, required: [n], properties: {n: {type: "
     "integer}}}, next: END}\n",
     NULL, 8},
    {"a late answer",
     "start: a\nnodes:\n  a: {type: human, prompt: Well?, "
     "wait: 2s, next: END}\n",
     "sleep 2.1", 3},
    {"an approval",
     "hitl_mode: approve_tools\nstart: a\nnodes:\n  a: " TOOL("tried/echo",
                                                              "value: 1") "}\n",
     YES, 8},
    {"a doubt",
     "start: a\nnodes:\n  a: " TOOL("tried/strike", "marker: hit") "}\n",
     "$MORTISE resume r", 12},
    {"a doubt of a type",
     "start: a\nnodes:\n  a: " TOOL(
         "tried/strike",
         "marker: hit") ", output_schema: {type: object, required: [to, n], "
                        "properties: {to: {type: string}, n: {type: "
                        "integer}}}}\n",
     "$MORTISE resume r", 12},
    {"a crash",
     "start: a\nnodes:\n  a: " TOOL("tried/strike", "marker: hit") "}\n", NULL,
     1},
    {"time", TIMER, "$MORTISE pause r", 2},
    {"a pause",
     "interrupt_before: [a]\nstart: a\nnodes:\n  a: " TOOL("tried/echo",
                                                           "value: 1") "}\n",
     NULL, 4},
    {"a budget",
     "budget: {tool_calls: 1}\nstart: a\nnodes:\n"
     "  a: {type: tool, tool: tried/echo, args: {value: 1}, next: b}\n"
     "  b: " TOOL("tried/echo", "value: 1") "}\n",
     NULL, 4},
    {"a limit",
     "limits: {steps: 1}\nstart: a\nnodes:\n"
     "  a: {type: tool, tool: tried/echo, args: {value: 1}, next: b}\n"
     "  b: " TOOL("tried/echo", "value: 1") "}\n",
     NULL, 2},
    {"another try",
     "start: a\nnodes:\n  a: " TOOL("tried/fail", "code: no") "}\n", NULL, 2},
    {"a question of a plugin",
     "start: a\nnodes:\n  a: " TOOL("awaits/ask", "prompt: Well?") "}\n", NULL,
     4},
    {"a late question of a plugin",
     "start: a\nnodes:\n  a: " TOOL("awaits/ask",
                                    "prompt: Well?, for_ms: 2000") "}\n",
     "sleep 2.1", 3},
    {"a question inside of a step",
     "start: a\nnodes:\n  a: " TOOL(
         "awaits/within", "prompt: Well?, hold_ms: 50, undo: true") "}\n",
     NULL, 4},
    {"a question inside of a step, and that",
     "start: a\nnodes:\n  a: " TOOL("awaits/within",
                                    "prompt: Well?, hold_ms: 50") "}\n",
     NULL, 16},
    {"a bounded answer",
     "start: a\nnodes:\n  a: {type: human, prompt: Well?, schema: {type: "
     "object,"
     " required: [n, x, s, l], properties: {n: {type: integer, minimum: 3}, "
     "x: {type: number, exclusiveMaximum: -1}, s: {type: string, minLength: "
     "2}, "
     "l: {type: array, minItems: 2, items: {type: boolean}}}, allOf: "
     "[{type: object, required: [more], properties: {more: {const: yes}}}]}, "
     "next: END}\n",
     NULL, 8},
    {"a pause behind it",
     "interrupt_after: [a]\nstart: a\nnodes:\n  a: " TOOL("tried/echo",
                                                          "value: 1") "}\n",
     NULL, 4},
    {"a limit of visits",
     "start: a\nnodes:\n  a:\n    type: tool\n    tool: tried/echo\n"
     "    args: {value: \"${node.visit}\"}\n    max_visits: 2\n"
     "    routes: [{when: node.visit < 3, to: a}]\n    default: END\n",
     NULL, 2},
    {"a person in a graph inside",
     "start: s\nnodes:\n  s:\n    type: subgraph\n    graph:\n      start: a\n"
     "      nodes: {a: {type: human, prompt: Well?, next: END}}\n    next: "
     "END\n",
     NULL, 8},
    {"a budget of a graph inside",
     "start: s\nnodes:\n  s:\n    type: subgraph\n    graph:\n"
     "      budget: {tool_calls: 1}\n      start: a\n      nodes:\n"
     "        a: {type: tool, tool: tried/echo, args: {value: 1}, next: b}\n"
     "        b: {type: tool, tool: tried/echo, args: {value: 1}, next: END}\n"
     "    next: END\n",
     NULL, 4},
    {"people of several elements",
     "start: m\nnodes:\n"
     "  m: {type: tool, tool: tried/echo, args: {value: 1}, map: {over: "
     "\"[1, 2]\", to: w, join: j}}\n"
     "  w: {type: human, prompt: \"${string(item)}\", next: j}\n"
     "  j: " TOOL("tried/echo", "value: 1") "}\n",
     NULL, 16},
    {"a person, and somebody paused it",
     "start: a\nnodes:\n  a: {type: human, prompt: Well?, next: END}\n",
     "$MORTISE pause r", 10},
    {"a person and time",
     "start: [a, b]\nnodes:\n  a: {type: human, prompt: Well?, next: END}\n"
     "  b: {type: human, prompt: So?, wait: 2s, next: END}\n",
     "sleep 2.1", 8},
    {"a doubt that the plugin has",
     "start: a\nnodes:\n  a: " TOOL("tried/unsure", "") "}\n", NULL, 12},
    {"a doubt that was taken as failed",
     "start: a\nnodes:\n  a: " TOOL("tried/unsure", "") "}\n",
     "$MORTISE resolve $($MORTISE inbox r --ids) --fail", 2},
    {"a tool that a model calls",
     "hitl_mode: approve_tools\nstart: a\nnodes:\n  a:\n    type: gmi\n"
     "    prompt: go\n    execution_mode: react_bounded\n"
     "    tool_allowlist: [tried/echo]\n    next: END\n",
     YES " >plan; " YES, 8},
    {"a node that is to be approved",
     "hitl_mode: approve_each_node\nstart: a\nnodes:\n  a: " TOOL(
         "tried/echo", "value: 1") "}\n",
     YES, 8},
    {"a plan that is to be approved",
     "hitl_mode: approve_plan\nstart: a\nnodes:\n  a: " TOOL("tried/echo",
                                                             "value: 1") "}\n",
     NULL, 8},
};

/* Of what asks a model. */
static const char calls_a_tool[] =
    "models: {default: {provider: scripted, model: s, replies: [{when: {user: "
    "go, turn: 0}, tool_calls: [{name: tried__echo, arguments: {value: 1}}]}, "
    "{text: done}]}}\n";

static void add_awaits(void)
{
    char source[4096];

    ck_assert_ptr_nonnull(realpath("tests/plugins/awaits.plugin.yaml", source));
    desk_ok("$MORTISE plugin sign %s %s --key %s/k.key --out %s/plugins",
            source, child_build("tests/plugins/awaits.so"), desk_plugins,
            desk_plugins);
    desk_ok("test -e %s/trust.d/awaits.yaml || $MORTISE key trust %s/k.pub "
            "--trust %s/trust.d --name awaits --plugins awaits --in-process",
            desk_plugins, desk_plugins, desk_plugins);
}

/* The run `r`, as it came to wait; its last command prints. */
static void come_to_wait(const struct waits *w)
{
    pid_t run;

    if (w->graph == waits[7].graph) { /* nobody sees the end of a timer */
        run = child_start("run", "$MORTISE run g.yaml --id r");
        desk_until("\"kind\": \"timer\"", "$MORTISE show r --json");
        child_run("%s", w->then);
        child_wait(run);
        child_run("cat run.out");
        return;
    }
    child_run("$MORTISE run g.yaml --id r");
    if (w->then != NULL)
        child_run("%s", w->then);
}

/* Issue 15, 1: every command that is suggested works, pasted as it stands, for
 * each kind of request, by run, inbox, show and why alike. */
START_TEST(what_is_suggested_works)
{
    const struct waits *w = &waits[_i];
    char all[32][1024];
    size_t n;

    if (strstr(w->graph, "awaits") != NULL)
        add_awaits();
    if (strstr(w->graph, "type: gmi") != NULL)
        desk_deploy(calls_a_tool);
    desk_graph("g", w->graph);
    come_to_wait(w);
    collect("r");
    desk_ok("mv state saved");
    n = n_commands;
    memcpy(all, commands, sizeof all);
    ck_assert_msg(n >= w->at_least, "%s: %zu commands", w->what, n);
    for (size_t i = 0; i < n; i++) {
        bool seen = false;

        for (size_t k = 0; k < i; k++)
            seen |= strcmp(all[k], all[i]) == 0;
        if (seen)
            continue;
        desk_ok("rm -rf state && cp -a saved state");
        if (strstr(all[i], " resume ") != NULL && _i == 7)
            continue; /* it would sleep on */
        check_pasted(all[i]);
    }
}
END_TEST

/* plugins/tried becomes another one, or goes. */
static void change_plugin(bool goes)
{
    if (goes) {
        desk_ok("mkdir -p none && rm plugins/tried.*");
        return;
    }
    desk_ok("cd plugins && sed 's/^seq: 1/seq: 2/; /^artifacts/,/^[^ ]/"
            "{/^artifacts/d;/^ /d}' tried.plugin.yaml >../tried.plugin.yaml");
    desk_ok("$MORTISE plugin sign tried.plugin.yaml plugins/tried.so --key "
            "%s/k.key --out plugins",
            desk_plugins);
}

#define AFTER_A_CALL(what)                                                     \
    "start: z\nnodes:\n"                                                       \
    "  z: {type: tool, tool: tried/echo, args: {value: 1}, next: a}\n"         \
    "  a: {" what ", next: END}\n"

static const char *const blocked[] = {
    AFTER_A_CALL("type: human, prompt: Well?"),
    AFTER_A_CALL("type: human, prompt: Well?, schema: {type: integer}"),
    "hitl_mode: approve_tools\n" AFTER_A_CALL(
        "type: tool, tool: tried/echo, args: {value: 1}"),
    "interrupt_before: [a]\n" AFTER_A_CALL("type: human, prompt: Well?"),
    "budget: {tool_calls: 1}\n" AFTER_A_CALL(
        "type: tool, tool: tried/echo, args: {value: 1}"),
};

/* A run of a plugin that another took the place of says with each command what
 * it needs besides; where the plugin is gone, there is none to say. */
START_TEST(what_is_suggested_works_when_blocked)
{
    bool goes = _i % 2 != 0;
    char all[32][1024];
    size_t n;

    desk_own_home();
    desk_ok("cp -r %s/plugins %s/trust.d .", desk_plugins, desk_plugins);
    desk_ok("sed -i 's|%s|.|' mortise.yaml", desk_plugins);
    desk_graph("g", blocked[_i / 2]);
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    if (strstr(blocked[_i / 2], "hitl_mode") != NULL) {
        desk_approve_plan("r");
        child_run(YES); /* to z */
    }
    change_plugin(goes);
    n_commands = 0;
    desk_ok("$MORTISE show r");
    desk_out("status   blocked");
    keep_commands();
    desk_ok("$MORTISE inbox r");
    keep_commands();
    desk_ok("$MORTISE inbox");
    keep_commands();
    child_run("$MORTISE approve r </dev/null 2>&1");
    keep_commands();
    desk_ok("$MORTISE why r");
    keep_commands();
    n = n_commands;
    memcpy(all, commands, sizeof all);
    if (goes) {
        ck_assert_uint_eq(n, 0);
        return;
    }
    ck_assert_uint_ge(n, 3);
    desk_ok("mv state saved");
    for (size_t i = 0; i < n; i++) {
        desk_ok("rm -rf state && cp -a saved state");
        check_pasted(all[i]);
        ck_assert_msg(strstr(child.err, "blocked") == NULL &&
                          strstr(child.out, "blocked") == NULL,
                      "%s:\n%s%s", all[i], child.out, child.err);
    }
}
END_TEST

/* A command that a doubt refuses says with which ones it is settled; where the
 * plugin is another one now, too, with what they need besides. */
START_TEST(a_refusal_helps)
{
    static const char *const lines[] = {"resume r", "resume r --goto z",
                                        "resume r --accept-plugins"};
    bool changed = _i >= 3;
    char all[32][1024];
    size_t n;

    desk_own_home();
    desk_ok("cp -r %s/plugins %s/trust.d .", desk_plugins, desk_plugins);
    desk_ok("sed -i 's|%s|.|' mortise.yaml", desk_plugins);
    desk_graph("g", AFTER_A_CALL("type: tool, tool: tried/unsure, args: {}"));
    child_run("$MORTISE run g.yaml --id r");
    desk_code(5);
    if (changed)
        change_plugin(false);
    n_commands = 0;
    child_run("$MORTISE %s 2>&1", lines[_i % 3]);
    ck_assert(child.code == 5 || (changed && child.code == 78));
    desk_not_out("`");
    keep_commands();
    n = n_commands;
    memcpy(all, commands, sizeof all);
    ck_assert_uint_eq(n, 3);
    desk_ok("mv state saved");
    for (size_t i = 0; i < n; i++) {
        desk_ok("rm -rf state && cp -a saved state");
        check_pasted(all[i]);
        ck_assert_msg(strstr(child.out, "blocked") == NULL, "%s:\n%s", all[i],
                      child.out);
    }
}
END_TEST

/* A cancelled run of which nothing is in doubt is over: nobody is led in a
 * circle. */
START_TEST(a_cancelled_run)
{
    desk_graph("g", waits[0].graph);
    child_run("$MORTISE run g.yaml --id r");
    for (int i = 0; i < 2; i++) {
        child_run("$MORTISE %s r", i == 0 ? "cancel" : "resume");
        desk_code(i);
        desk_out(" show r");
        desk_not_out(" resume r\n");
    }
    desk_ok("$MORTISE why r | tr -s '\n ' ' '");
    desk_out("--goto NODE");
    desk_not_out("nothing can");
    desk_ok("$MORTISE resume r --goto a; test $? = 4");
}
END_TEST

/* What is in the way of a run is its plugin, not its graph. */
START_TEST(the_plugin_is_named)
{
    desk_own_home();
    desk_ok("cp -r %s/plugins %s/trust.d .", desk_plugins, desk_plugins);
    desk_ok("sed -i 's|%s|.|' mortise.yaml", desk_plugins);
    desk_graph("g", blocked[3]);
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_ok("sed -i 's/tried/other/' trust.d/*.yaml");
    child_run("$MORTISE resume r");
    desk_code(77);
    desk_err("needs plugin 'tried'");
    ck_assert_ptr_null(strstr(child.err, "does not compile"));
}
END_TEST

/* A timer is no question: nobody is asked to decide it. */
START_TEST(a_timer_is_time)
{
    pid_t run;

    desk_graph("nap", TIMER);
    run = child_start("run", "$MORTISE run nap.yaml --id r");
    desk_until("\"kind\": \"timer\"", "$MORTISE show r --json");
    for (int dead = 0; dead <= 1; dead++) {
        desk_ok("$MORTISE why r | tr '\\n' ' '");
        desk_out("waits for a point in time");
        desk_out("Node 'a' waits for a timer, until 2");
        desk_not_out("person");
        desk_not_out("settle it");
        desk_not_out("approve");
        desk_not_out("reject");
        ck_assert_int_eq(strstr(child.out, " resume r") != NULL, dead);
        desk_ok("$MORTISE why r --json");
        desk_not_out("approve");
        desk_ok("$MORTISE show r");
        desk_not_out("approve");
        desk_ok("$MORTISE inbox r");
        desk_not_out("approve");
        child_run("$MORTISE approve r a");
        desk_code(3);
        if (!dead)
            child_kill(run);
    }
}
END_TEST

/* Keep those of stderr, too. */
static void keep_all(void)
{
    n_commands = 0;
    keep_commands();
    strcpy(child.out, child.err);
    keep_commands();
}

/* So do the commands that are printed elsewhere than with a request: by who
 * decides without saying about what, lists a page, talks, meets damage; in a
 * place whose names need quotes. */
START_TEST(what_is_suggested_elsewhere_works)
{
    desk_ok("mv mortise.yaml \"it's a file.yaml\"");
    desk_graph("g", "start: [a, b]\nnodes:\n"
                    "  a: {type: human, prompt: Well?, next: END}\n"
                    "  b: {type: human, prompt: Well?, next: END}\n");
    child_run("$MORTISE run g.yaml --id r --deployment \"it's a file.yaml\" "
              "--store 'a store'");
    desk_code(4);
    keep_all();
    ck_assert_uint_eq(n_commands, 6);
    check_pasted(commands[0]);
    child_run("$MORTISE approve --deployment \"it's a file.yaml\" --store "
              "'a store' r </dev/null");
    desk_code(3);
    keep_all();
    ck_assert_uint_eq(n_commands, 1);
    check_pasted(commands[0]);
    child_run("$MORTISE run g.yaml --id s --deployment \"it's a file.yaml\" "
              "--store 'a store'");
    keep_all();
    desk_ok("$MORTISE runs --limit 1 --deployment \"it's a file.yaml\" --store "
            "'a store'");
    keep_all();
    ck_assert_uint_eq(n_commands, 1);
    check_pasted(commands[0]);
    desk_out("r  ");
    desk_ok("rm 'a store/db/CURRENT'");
    child_run("$MORTISE runs --deployment \"it's a file.yaml\" --store "
              "'a store'");
    keep_all();
    ck_assert_uint_eq(n_commands, 1);
    child_run("%s", commands[0]); /* NEW-DIR is a name like any */
    ck_assert(child.code == 0 || child.code == 1);
    desk_ok("test -d NEW-DIR");
}
END_TEST

/* What is printed for a request of that kind, wherever it is. */
static void each_prints(const char *run, const char *has, const char *has_not)
{
    static const char *const ways[] = {"show", "inbox", "why"};

    for (size_t i = 0; i < 3; i++) {
        child_run("$MORTISE %s %s | tr '\n' ' '", ways[i], run);
        desk_out(has);
        desk_not_out(has_not);
    }
}

/* Issue 15, 1: a question of a plugin gets `answer`, and one that ran out, or
 * that a cancel took with it, says so wherever it is looked at, and to who
 * answers it. */
START_TEST(requests_say_what_they_take)
{
    add_awaits();
    desk_graph("g", "start: a\nnodes:\n  a: " TOOL("awaits/ask",
                                                   "prompt: Well?") "}\n");
    desk_graph("late", "start: a\nnodes:\n  a: " TOOL(
                           "awaits/ask", "prompt: Well?, for_ms: 2000") "}\n");
    child_run("$MORTISE run g.yaml --id q");
    desk_out(" answer q ");
    desk_not_out("approve");
    each_prints("q", " answer q ", "approve");
    child_run("$MORTISE run late.yaml --id l; sleep 2.1");
    each_prints("l", " expired", " answer l ");
    each_prints("l", " resume l", "approve");
    child_run("$MORTISE answer l $($MORTISE inbox l --ids | sed 's/^l //') "
              "--value 1");
    desk_code(3);
    desk_err("expired");
    desk_ok("$MORTISE inbox q --ids | sed 's/^q //' >id");
    desk_ok("$MORTISE cancel q");
    each_prints("q", "cancelled", " answer q ");
    child_run("$MORTISE answer q $(cat id) --value 1");
    desk_code(3);
    desk_err("withdrew its requests");
    desk_err("the run was cancelled");
    child_run("$MORTISE approve q");
    desk_code(3);
    desk_err("run q is cancelled: no request is pending");
}
END_TEST

/* ---- refusals ------------------------------------------------------------- */

/* A refused command leaves nothing at work, and says nothing of the kind. */
START_TEST(a_refusal_is_only_that)
{
    static const char *const lines[] = {
        "resolve r $($MORTISE inbox r --ids | cut -d' ' -f2) --done '{}'",
        "resume r --goto nonode",
        "resume r --goto nonode --no-continue",
        "raise-budget r tokens=5",
        "resume r --limit foo=1",
    };

    desk_graph("g", waits[5].graph);
    child_run("$MORTISE run g.yaml --id r");
    child_run("$MORTISE resume r");
    desk_code(5);
    child_run("$MORTISE %s", lines[_i]);
    ck_assert_int_ne(child.code, 0);
    ck_assert_msg(strstr(child.err, "at work") == NULL &&
                      strstr(child.err, "is dropped from memory") == NULL,
                  "%s", child.err);
}
END_TEST

/* ---- doubt ---------------------------------------------------------------- */

/* An effect that lets go as the run is paused is in doubt from then on: who
 * paused it is told so, and why, now and later. */
START_TEST(a_doubt_at_a_pause)
{
    static const char why[] =
        "cancelled and did not report whether its effect happened";
    pid_t run;

    desk_graph("g", "start: a\nnodes:\n  a: " TOOL("tried/linger", "") "}\n");
    run = child_start("run", "$MORTISE run g.yaml --id r");
    child_await("run.err", "at work");
    kill(run, SIGINT);
    ck_assert_int_eq(child_wait(run), 5);
    desk_ok("cat run.out");
    desk_out("run r paused: operator");
    desk_out(why);
    desk_out(" resolve r ");
    desk_ok("$MORTISE show r");
    desk_out("in_doubt          a");
    desk_out(why);
    desk_ok("$MORTISE why r | tr '\n' ' '");
    desk_out(why);
    child_run("$MORTISE resume r");
    desk_code(5);
    desk_out(why);
}
END_TEST

/* `pause` ends as whoever ran it does where it leaves a doubt, and says which,
 * wherever the run is at work; twice said, it is no different. */
START_TEST(a_doubt_of_pause)
{
    pid_t run;

    desk_graph("g", "start: a\nnodes:\n  a: " TOOL("tried/linger", "") "}\n");
    run = child_start("run", "$MORTISE run g.yaml --id r");
    child_await("run.err", "at work");
    child_run("$MORTISE pause r%s", _i ? " --json" : "");
    desk_code(5);
    desk_out(_i ? "\"kind\":\"in_doubt\"" : " resolve r ");
    ck_assert_int_eq(child_wait(run), 5);
    child_run("$MORTISE pause r%s", _i ? " --json" : "");
    desk_code(5);
}
END_TEST

/* So it does with a run that another process left in doubt, and a pause that
 * leaves none ends with 0. */
START_TEST(a_doubt_before_pause)
{
    desk_graph("g", "start: a\nnodes:\n  a: " TOOL("tried/unsure", "") "}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(5);
    child_run("$MORTISE pause r");
    desk_code(5);
    desk_graph("h", waits[0].graph);
    child_run("$MORTISE run h.yaml --id s");
    desk_ok("$MORTISE pause s");
}
END_TEST

/* The words about a doubt are of that doubt: its reason and its key; taken as
 * failed, it is still one. */
START_TEST(a_doubt_in_words)
{
    desk_graph("g", "start: a\nnodes:\n  a: " TOOL("tried/unsure", "") "}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(5);
    desk_out("because  the plugin reported that the effect may have happened");
    desk_out("    key      ");
    desk_ok("$MORTISE why r | tr '\n' ' '");
    desk_out("the plugin reported that the effect may have happened");
    desk_out("Its idempotency key is ");
    desk_not_out("died");
    desk_not_out("{}\"");
    desk_ok("$MORTISE explain E_IN_DOUBT");
    desk_out("a server failed");
    child_run("$MORTISE resolve r $($MORTISE inbox r --ids | cut -d' ' -f2) "
              "--fail");
    desk_code(1);
    desk_ok("$MORTISE why r | tr '\n' ' '");
    desk_out("resuming the run asks about it");
    child_run("$MORTISE resume r");
    desk_code(5);
}
END_TEST

/* A run that nobody works on is not running, whoever says how it stands. */
START_TEST(interrupted)
{
    desk_graph("g", waits[6].graph);
    child_run("$MORTISE run g.yaml --id r");
    desk_ok("$MORTISE show r");
    desk_out("status   interrupted");
    desk_ok("$MORTISE runs");
    desk_out("  interrupted");
    desk_ok("$MORTISE show r --json");
    desk_out("\"status\": \"running\"");
}
END_TEST

/* What is missing or misspelt is named as whoever types it would. */
START_TEST(what_was_meant)
{
    const char *command;

    desk_graph("g", waits[1].graph);
    child_run("$MORTISE run g.yaml --id r");
    child_run("$MORTISE approve $($MORTISE inbox r --ids)");
    desk_code(3);
    desk_err("--answer JSON");
    desk_graph("h", waits[0].graph);
    child_run("$MORTISE run h.yaml --id h");
    desk_out(" --answer '\"TEXT\"'\n");
    child_run("$MORTISE answer h $($MORTISE inbox h --ids | cut -d' ' -f2) 5");
    desk_code(3);
    desk_err("--value is missing");
    desk_err("approve RUN ID --answer JSON");
    child_run("$MORTISE answer $($MORTISE inbox h --ids) --value 5");
    desk_code(3);
    command = strstr(child.err, "mortise approve h ");
    ck_assert_msg(command != NULL, "%s", child.err);
    ck_assert_ptr_nonnull(strstr(command, " --answer 5 (E_INVALID)"));
    desk_ok("$MORTISE%.*s", (int)strcspn(command, "(") - 7, command + 7);
    desk_ok("$MORTISE show h --json | tr -d ' \\n'");
    desk_out("\"answer\":5");
    desk_put("d.yaml", "apiVersion: mortise/v1\nkind: Deploymnt\n"
                       "metadata: {name: d}\n");
    child_run("$MORTISE check d.yaml");
    desk_code(2);
    desk_out("unknown kind 'Deploymnt'");
    desk_out("write kind: Deployment");
}
END_TEST

/* A store that cannot be opened is what is wrong, and not the run's name. */
START_TEST(what_was_wrong)
{
    static const char *const three[] = {"show", "pause", "approve"};

    desk_graph("g", waits[1].graph);
    child_run("$MORTISE run g.yaml --id r");
    for (size_t i = 0; i < sizeof three / sizeof *three; i++) {
        child_run("$MORTISE %s foo --store $(printf '%%06000d' 1)", three[i]);
        desk_code(3);
        desk_err("path too long");
        child_run("$MORTISE %s foo", three[i]);
        desk_code(3);
        desk_err("no run 'foo'");
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_words");
    TCase *tc = tcase_create("words");

    tcase_set_timeout(tc, 120);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_loop_test(tc, a_signal_at_a_timer, 0, 4);
    tcase_add_loop_test(tc, what_is_suggested_works, 0,
                        (int)(sizeof waits / sizeof *waits));
    tcase_add_loop_test(tc, what_is_suggested_works_when_blocked, 0,
                        (int)(2 * sizeof blocked / sizeof *blocked));
    tcase_add_loop_test(tc, a_refusal_helps, 0, 6);
    tcase_add_test(tc, a_cancelled_run);
    tcase_add_test(tc, the_plugin_is_named);
    tcase_add_test(tc, a_timer_is_time);
    tcase_add_test(tc, requests_say_what_they_take);
    tcase_add_test(tc, what_is_suggested_elsewhere_works);
    tcase_add_loop_test(tc, a_refusal_is_only_that, 0, 5);
    tcase_add_test(tc, a_doubt_at_a_pause);
    tcase_add_loop_test(tc, a_doubt_of_pause, 0, 2);
    tcase_add_test(tc, a_doubt_before_pause);
    tcase_add_test(tc, a_doubt_in_words);
    tcase_add_test(tc, interrupted);
    tcase_add_test(tc, what_was_meant);
    tcase_add_test(tc, what_was_wrong);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
