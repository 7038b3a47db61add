/* test_cli_why.c -- `mortise why` names what a run waits for, and its commands
 * are executed as they were printed: the run goes on. */
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/desk.h"

static char commands[16][1024];
static size_t n_commands;

/* Ask why, and keep the commands that it prints. */
static void why(const char *run)
{
    n_commands = 0;
    desk_ok("$MORTISE why %s", run);
    for (const char *p = child.out; *p != '\0'; p += strcspn(p, "\n") + 1)
        if (strncmp(p, "  ", 2) == 0)
            snprintf(commands[n_commands++], sizeof commands[0], "%.*s",
                     (int)strcspn(p, "\n") - 2, p + 2);
    /* Lines are broken anywhere; to look for words, they are one. */
    for (char *p = child.out; *p != '\0'; p++)
        if (*p == '\n')
            *p = ' ';
}

/* Execute the i-th command literally; the run is then in that status. */
static void obey(size_t i, const char *run, const char *status)
{
    char want[64];

    ck_assert_uint_lt(i, n_commands);
    child_run("%s", commands[i]);
    ck_assert_msg(child.code <= 5, "%s: %d\n%s%s", commands[i], child.code,
                  child.out, child.err);
    desk_ok("$MORTISE show %s --json", run);
    snprintf(want, sizeof want, "\"status\": \"%s\"", status);
    desk_out(want);
}

/* Waiting for a person: who, since when, and both decisions. */
START_TEST(human)
{
    const char *me = getpwuid(getuid())->pw_name;
    char graph[512], words[128];

    snprintf(graph, sizeof graph,
             "start: ask\nnodes:\n  ask: {type: human, prompt: Shall we?, "
             "assignees: [anna, %s], wait: 2h, next: END}\n",
             me);
    desk_graph("ask", graph);
    for (size_t i = 0; i < 3; i++) {
        char run[8];

        snprintf(run, sizeof run, "r%zu", i);
        child_run("$MORTISE run ask.yaml --id %s", run);
        desk_code(4);
        why(run);
        desk_out("waits for a person");
        desk_out("Node 'ask' asks a person (Shall we?), since 2");
        desk_out(", until 2");
        snprintf(words, sizeof words, "It is assigned to anna or %s.", me);
        desk_out(words);
        ck_assert_uint_eq(n_commands, 4); /* the last starts an engine */
        obey(i, run, "completed");
    }
}
END_TEST

/* An answer that must fit a schema comes with one that does. */
START_TEST(schema)
{
    desk_graph(
        "ask",
        "start: ask\nnodes:\n  ask:\n    type: human\n    prompt: How much?\n"
        "    schema:\n      type: object\n      required: [n, why, list, "
        "deep]\n"
        "      properties:\n        n: {type: integer, default: 3}\n"
        "        why: {enum: [\"it's late\", other]}\n"
        "        list: {type: array, items: {type: string}}\n"
        "        deep: {type: object, required: [x], properties: {x: {type: "
        "boolean}}}\n"
        "    next: END\n");
    child_run("$MORTISE run ask.yaml --id r");
    desk_code(4);
    why("r");
    obey(0, "r", "completed");
    desk_out("it's late");
}
END_TEST

/* Several requests: each has its commands. */
START_TEST(several)
{
    desk_graph("two", "start: [p, q]\nnodes:\n"
                      "  p: {type: human, prompt: First?, next: END}\n"
                      "  q: {type: human, prompt: Second?, next: END}\n");
    child_run("$MORTISE run two.yaml --id r");
    why("r");
    desk_out("Several requests are pending");
    desk_out("Node 'p'");
    desk_out("Node 'q'");
    ck_assert_uint_eq(n_commands, 6);
    obey(3, "r", "waiting");
    obey(0, "r", "completed");
}
END_TEST

/* A question that nobody may answer any more. */
START_TEST(expired)
{
    desk_graph("late", "start: ask\nnodes:\n  ask: {type: human, prompt: "
                       "Quick?, wait: 1ms, on_timeout: accept, next: END}\n"
                       "  b: {type: human, prompt: And?, depends_on: ask, "
                       "next: END}\n");
    child_run("$MORTISE run late.yaml --id r");
    usleep(20000);
    why("r");
    if (strstr(child.out, "'ask'") != NULL) { /* it waited when we left */
        desk_out("expired at 2");
        obey(0, "r", "waiting");
        why("r");
    }
    obey(0, "r", "completed");
}
END_TEST

/* A tool call that needs an approval. */
START_TEST(approval)
{
    desk_graph("tools", "hitl_mode: approve_tools\nstart: a\nnodes:\n"
                        "  a: {type: tool, tool: tried/echo, args: {value: x}, "
                        "next: END}\n");
    child_run("$MORTISE run tools.yaml --id r");
    desk_code(4);
    desk_approve_plan("r");
    why("r");
    desk_out("waits for an approval");
    desk_out(
        "Node 'a' wants to call a tool and needs an approval (tried/echo)");
    obey(0, "r", "completed");
}
END_TEST

/* Paused by the graph. */
START_TEST(interrupt)
{
    desk_graph("pause", "interrupt_before: [a]\nstart: a\nnodes:\n"
                        "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                        "next: END}\n");
    child_run("$MORTISE run pause.yaml --id r");
    desk_code(4);
    why("r");
    desk_out("is paused by an interrupt of its graph");
    obey(0, "r", "completed");
}
END_TEST

/* Paused by a limit: of steps, of visits. */
START_TEST(limits)
{
    desk_graph("steps",
               "limits: {steps: 2}\nstart: a\nnodes:\n"
               "  a: {type: tool, tool: tried/echo, args: {value: 1}, next: "
               "b}\n"
               "  b: {type: tool, tool: tried/echo, args: {value: 1}, next: "
               "c}\n"
               "  c: {type: tool, tool: tried/echo, args: {value: 1}, next: "
               "END}\n");
    desk_graph("visits",
               "start: a\nnodes:\n"
               "  a:\n    type: tool\n    tool: tried/echo\n"
               "    args: {value: \"${node.visit}\"}\n    max_visits: 2\n"
               "    routes: [{when: node.visit < 3, to: a}]\n"
               "    default: END\n");
    child_run("$MORTISE run %s.yaml --id r", _i == 0 ? "steps" : "visits");
    desk_code(4);
    desk_out(_i == 0 ? " --limit steps=4\n" : " --limit visits=4\n");
    why("r");
    desk_out("is paused by a limit of its graph since 2");
    desk_out(_i == 0 ? "is limited to 2 steps, and node 'c'"
                     : "is limited to 2 visits, and node 'a'");
    ck_assert_uint_eq(n_commands, 1);
    child_run("$MORTISE resume r --limit steps");
    desk_code(3);
    child_run("$MORTISE resume r --limit steps=9 --limit steps=9");
    desk_code(3);
    child_run("$MORTISE resume r --limit hops=9");
    desk_code(3);
    child_run("$MORTISE resume r --limit steps=1 --limit visits=1");
    desk_code(3);
    obey(0, "r", "completed");
}
END_TEST

/* Paused by a budget: each node that waits is named, and what raises it is said
 * once; a nested graph's own has a place. */
START_TEST(budgets)
{
    desk_graph("budget",
               "budget: {tool_calls: 2}\nstart: [a, b, c, d]\nnodes:\n"
               "  a: {type: tool, tool: tried/echo, args: {value: 1}}\n"
               "  b: {type: tool, tool: tried/echo, args: {value: 1}}\n"
               "  c: {type: tool, tool: tried/echo, args: {value: 1}}\n"
               "  d:\n    type: subgraph\n    graph:\n"
               "      budget: {tool_calls: 1}\n      start: x\n      nodes:\n"
               "        x: {type: tool, tool: tried/echo, args: {value: 1},"
               " next: y}\n"
               "        y: {type: tool, tool: tried/echo, args: {value: 1}}\n");
    child_run("$MORTISE run budget.yaml --id r");
    desk_code(4);
    desk_out(" raise-budget r tool_calls=+2\n");
    ck_assert_ptr_null(/* once, whoever waits for it */
                       strstr(strstr(child.out, "r tool_calls=+2\n") + 1,
                              "r tool_calls=+2\n"));
    desk_ok("$MORTISE inbox");
    desk_out("would exceed the budget of its graph");
    why("r");
    desk_out("is paused: the budget of its graph is used up");
    desk_out("Node 'c' would exceed the budget of its graph");
    desk_out("Node 'd/x' would");
    ck_assert_uint_eq(n_commands, 1);
    child_run("$MORTISE raise-budget r tool_calls=x");
    desk_code(3);
    child_run("$MORTISE raise-budget r tool_calls");
    desk_code(3);
    child_run("$MORTISE raise-budget r tool_calls=+1 tool_calls=+1");
    desk_code(3);
    child_run("$MORTISE raise-budget r wall=10");
    desk_code(3);
    desk_err("is not a duration");
    child_run("$MORTISE raise-budget r wall=+10m");
    desk_code(3);
    desk_err("has no 'wall'");
    child_run("$MORTISE raise-budget r usd=+free");
    desk_code(3);
    desk_err("is not a decimal number of dollars");
    child_run("$MORTISE raise-budget r usd=+0.25");
    desk_code(3);
    desk_err("has no 'usd'");
    child_run("$MORTISE raise-budget r tool_calls=2");
    desk_code(3);
    desk_err("is already 2");
    obey(0, "r", "paused");
    desk_ok("$MORTISE raise-budget r tool_calls=+9; test $? = 4");
    why("r");
    desk_out(" --at ");
    obey(0, "r", "completed");
    desk_ok("$MORTISE show r");
    desk_ok("$MORTISE events r");
    desk_out("budget_exceeded");
}
END_TEST

/* A raise that is not enough for all: who still asks, asks by the limit and the use
 * as they are now. */
START_TEST(a_raise_is_shown)
{
    static const char *const looks[] = {
        "inbox --json", "show r --json | sed -n '/\"pending\"/,/\\]/p'"};

    desk_graph("budget",
               "budget: {tool_calls: 1}\nstart: [a, b, c]\nnodes:\n"
               "  a: {type: tool, tool: tried/echo, args: {value: 1}}\n"
               "  b: {type: tool, tool: tried/echo, args: {value: 1}}\n"
               "  c: {type: tool, tool: tried/echo, args: {value: 1}}\n");
    child_run("$MORTISE run budget.yaml --id r");
    desk_code(4);
    child_run("$MORTISE raise-budget r tool_calls=+1");
    desk_code(4);
    for (size_t i = 0; i < 2; i++) {
        desk_ok("$MORTISE %s | tr -d ' \\n' >now", looks[i]);
        desk_ok("grep '\"limit\":2' now && grep '\"used\":2' now");
        desk_ok("! grep -e '\"limit\":1[,}]' -e '\"used\":1[,}]' now");
    }
    why("r");
    obey(0, "r", "completed");
    desk_ok("$MORTISE inbox --ids");
    ck_assert_str_eq(child.out, "");
}
END_TEST

/* Nobody knows how long the next call takes: as much again as there was. */
START_TEST(time_is_used_up)
{
    unsigned n = 0;

    desk_graph("time", "budget: {wall: 300ms}\nstart: a\nnodes:\n"
                       "  a: {type: tool, tool: tried/nap, args: {ms: 900}, "
                       "next: b}\n"
                       "  b: {type: tool, tool: tried/nap, args: {ms: 1}}\n");
    child_run("$MORTISE run time.yaml --id r");
    for (desk_code(4); child.code == 4 && n < 6; n++) {
        why("r");
        ck_assert_uint_eq(n_commands, 1);
        ck_assert_ptr_nonnull(strstr(commands[0], "wall=+"));
        child_run("%s", commands[0]);
    }
    desk_code(0);
}
END_TEST

/* A command that the deployment would refuse is not printed. */
START_TEST(a_limit_of_the_deployment)
{
    desk_deploy("limits: {visits: 3}\n");
    desk_graph("v", "limits: {visits: 2}\nstart: a\nnodes:\n"
                    "  a: {type: pass, value: 1, next: b}\n"
                    "  b: {type: pass, value: 1, routes: [{when: 'node.visit < "
                    "9', to: a}], default: END}\n");
    child_run("$MORTISE run v.yaml --id r");
    desk_code(4);
    desk_out(" resume r --limit visits=3\n");
    why("r");
    ck_assert_uint_eq(n_commands, 1);
    obey(0, "r", "paused");
    child_run("$MORTISE why r");
    desk_out("limits.visits of the deployment does not allow a higher limit.");
    desk_not_out("--limit");
    desk_ok("$MORTISE show r --json");
    desk_not_out("\"raise\"");
}
END_TEST

/* Paused by a person: who, and their words; a live run and a waiting one. */
START_TEST(operator)
{
    pid_t pid;

    desk_graph("nap", "start: a\nnodes:\n"
                      "  a: {type: tool, tool: tried/nap, args: {ms: 4000}, "
                      "next: END}\n");
    pid = child_start("live", "$MORTISE run nap.yaml --id r");
    child_await("live.out", "run r");
    why("r");
    desk_out("is running: process ");
    ck_assert_uint_eq(n_commands, 0);
    desk_ok("$MORTISE pause r --reason 'lunch time'");
    ck_assert_int_eq(child_wait(pid), 4);
    why("r");
    desk_out("is paused by ");
    desk_out("with the reason: lunch time since 2");
    ck_assert_uint_eq(n_commands, 1);
    obey(0, "r", "completed");
}
END_TEST

/* Paused with a question open: both the answer and the resume are needed. */
START_TEST(paused_question)
{
    desk_graph("ask", "start: ask\nnodes:\n"
                      "  ask: {type: human, prompt: Well?, next: END}\n");
    child_run("$MORTISE run ask.yaml --id r");
    desk_ok("$MORTISE pause r");
    why("r");
    desk_out("is paused by ");
    desk_out("Well?");
    ck_assert_uint_eq(n_commands, 4);
    child_run("%s", commands[0]);
    obey(3, "r", "completed");
}
END_TEST

/* In doubt: each of the three ways out. */
START_TEST(in_doubt)
{
    static const char *const leads_to[] = {"completed", "completed", "failed"};

    desk_graph("strike",
               "start: a\nnodes:\n  a: {type: tool, tool: tried/strike, "
               "args: {marker: hit}, next: END}\n");
    child_run("$MORTISE run strike.yaml --id r");
    why("r"); /* killed: interrupted, nobody knows of a doubt yet */
    desk_out("was interrupted after 2");
    desk_out("An effect of node 'a' may have happened.");
    ck_assert_uint_eq(n_commands, 1);
    desk_ok("$MORTISE show r");
    desk_out("an effect may have happened");
    obey(0, "r", "in_doubt");
    why("r");
    desk_out("is in doubt: an effect may or may not have happened");
    desk_out("Node 'a' has an effect that may or may not have happened");
    desk_out("the process died while the effect was in flight");
    ck_assert_uint_eq(n_commands, 3);
    obey((size_t)_i, "r", leads_to[_i]);
}
END_TEST

/* Who pauses what a dead process left is asked at once, as by any pause. */
START_TEST(in_doubt_at_a_pause)
{
    desk_graph("strike",
               "start: a\nnodes:\n  a: {type: tool, tool: tried/strike, "
               "args: {marker: hit}, next: END}\n");
    child_run("$MORTISE run strike.yaml --id r");
    child_run("$MORTISE pause r");
    desk_code(5);
    desk_out("the process died while the effect was in flight");
    desk_out(" resolve r ");
    desk_ok("$MORTISE why r | tr '\n' ' '");
    desk_out("the process died while the effect was in flight");
    desk_out(" resolve r ");
    desk_ok("$MORTISE inbox");
    desk_out("the process died while the effect was in flight");
    child_run("$MORTISE cancel r");
    desk_code(5);
    desk_out("node 'a': an effect may have happened");
    child_run("$MORTISE resume r");
    desk_code(5);
    desk_out("the process died while the effect was in flight");
}
END_TEST

/* Failed: of what, and that it can be tried again. */
START_TEST(failed)
{
    desk_graph("fail", "start: a\nnodes:\n  a: {type: tool, tool: tried/fail, "
                       "args: {code: no.good}, next: END}\n");
    child_run("$MORTISE run fail.yaml --id r");
    desk_code(1);
    why("r");
    desk_out("has failed at 2");
    desk_out("no.good: ");
    desk_out("--goto NODE");
    ck_assert_uint_eq(n_commands, 1);
    obey(0, "r", "failed"); /* it did try again */
    desk_ok("$MORTISE events r --json | grep -c '\"type\":\"node_failed\"'");
    ck_assert_str_eq(child.out, "2\n");
}
END_TEST

/* Between two attempts: why, and when the next is. */
START_TEST(retrying)
{
    pid_t pid;

    desk_graph("retry",
               "start: a\nnodes:\n  a: {type: tool, tool: tried/nap, args: "
               "{ms: 300}, timeout: 10ms, retry_policy: {max_attempts: 2, "
               "backoff: fixed, delay: 20s}, next: END}\n");
    pid = child_start("live", "$MORTISE run retry.yaml --id r");
    child_await("live.out", "retry_scheduled");
    why("r");
    desk_out("Node 'a' failed (timeout.call: ");
    desk_out("and is retried at 2");
    child_kill(pid);
}
END_TEST

/* Over: nothing to do, and no command. */
START_TEST(over)
{
    desk_graph("ok", "start: a\nnodes:\n  a: {type: tool, tool: tried/echo, "
                     "args: {value: 1}, next: END}\n");
    desk_graph("ask", "start: ask\nnodes:\n"
                      "  ask: {type: human, prompt: Well?, next: END}\n");
    desk_ok("$MORTISE run ok.yaml --id done");
    why("done");
    desk_out("Run done has completed at 2");
    ck_assert_uint_eq(n_commands, 0);
    child_run("$MORTISE run ask.yaml --id gone");
    desk_ok("$MORTISE cancel gone --reason 'wrong file'");
    why("gone");
    desk_out("was cancelled by ");
    desk_out("with the reason: wrong file at 2");
    ck_assert_uint_eq(n_commands, 0);
}
END_TEST

/* plugins/tried becomes another one, which no other test's user will see. */
static void change_plugin(void)
{
    desk_own_home();
    desk_ok("cd plugins && sed 's/^seq: 1/seq: 2/; /^artifacts/,/^[^ ]/"
            "{/^artifacts/d;/^ /d}' tried.plugin.yaml >../tried.plugin.yaml");
    desk_ok("$MORTISE plugin sign tried.plugin.yaml plugins/tried.so --key "
            "%s/k.key --out plugins",
            desk_plugins);
}

/* Run r stands ahead of a call of plugin tried, of plugins/ here. */
static void pause_with_own_plugins(void)
{
    desk_graph("pause", "interrupt_before: [a]\nstart: a\nnodes:\n"
                        "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                        "next: END}\n");
    desk_ok("cp -r %s/plugins %s/trust.d .", desk_plugins, desk_plugins);
    desk_ok("sed -i 's|%s|.|' mortise.yaml", desk_plugins);
    child_run("$MORTISE run pause.yaml --id r");
    desk_code(4);
}

/* A run that failed, and of which a plugin changed since: the line that its refusal
 * prints has it go on. */
START_TEST(failed_and_blocked)
{
    desk_ok("cp -r %s/plugins %s/trust.d .", desk_plugins, desk_plugins);
    desk_ok("sed -i 's|%s|.|' mortise.yaml", desk_plugins);
    desk_graph("f", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: b}\n"
                    "  b: {type: tool, tool: text/grep, args: {text: "
                    "\"${input.t}\", pattern: \"(\"}, next: END}\n");
    child_run("$MORTISE run f.yaml --id r --input '{\"t\": \"a\"}'");
    desk_code(1);
    change_plugin();
    child_run("$MORTISE resume r");
    desk_code(78);
    ck_assert_ptr_nonnull(strstr(child.err, "resume r --accept-plugins\n"));
    child_run("$MORTISE resume r --json 2>&1");
    desk_out("resume r --accept-plugins");
    desk_ok("$MORTISE show r --json");
    desk_out("\"status\": \"failed\"");
    desk_out("\"accept_plugins\": true");
    child_run("$MORTISE resume r --accept-plugins");
    desk_code(1);
}
END_TEST

/* Blocked: the plugin is another one now, or not there. */
START_TEST(blocked)
{
    pause_with_own_plugins();
    desk_ok("mv plugins away && mkdir plugins");
    why("r");
    desk_out("is blocked: it needs plugin 'tried', which is not available");
    desk_ok("$MORTISE why r --json | grep '\"status\": \"blocked\"'");
    desk_ok("$MORTISE show r");
    desk_out("status   blocked");
    desk_out("plugin 'tried'");
    ck_assert_uint_eq(n_commands, 0);
    desk_ok("rmdir plugins && mv away plugins");
    change_plugin();
    why("r");
    desk_out("is blocked: it needs plugin 'tried', which has changed");
    ck_assert_uint_eq(n_commands, 1);
    obey(0, "r", "completed");
    desk_ok("$MORTISE history r");
    desk_out(", pins (by ");
}
END_TEST

static const struct {
    const char *part, *policy, *words, *how;
} parts[] = {
    {"memory: {plugin: local}", "memory_policy: {consistency: live, read: {}}",
     "no longer has `memory`", "`memory: {plugin: NAME}`"},
    {"guardrails: {people: {plugin: pii}}",
     "guardrail_policy: {output: [people]}", "no longer has guardrail people",
     "`guardrails: {ID: {plugin: NAME}}`"},
    {"discovery: {plugins: [{plugin: catalog, config: {}}]}",
     "discovery_policy: {query: x}",
     "no longer has a discovery plugin with a config at index 1",
     "`discovery: {plugins: [{plugin: NAME, config: ...}]}`"},
};

static void deploy_with(const char *part)
{
    char text[512];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: d}\n"
             "store: {path: ./store}\n%s\n"
             "models: {default: {provider: scripted, model: m, replies: "
             "[{text: x}]}}\n",
             part);
    desk_put("mortise.yaml", text);
}

/* Blocked: the deployment does not have any more what the run goes on with; what
 * is to be said there again is said, and then it goes on. */
START_TEST(lost_from_the_deployment)
{
    char graph[512];

    snprintf(graph, sizeof graph,
             "start: a\nnodes:\n  a: {type: human, prompt: Go?, next: b}\n"
             "  b: {type: gmi, prompt: hi, %s, next: END}\n",
             parts[_i].policy);
    desk_graph("g", graph);
    deploy_with(parts[_i].part);
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    deploy_with("");
    desk_ok("$MORTISE show r");
    desk_out(parts[_i].words);
    why("r");
    desk_out(parts[_i].words);
    desk_out(parts[_i].how);
    desk_not_out("plugins must restore it");
    ck_assert_uint_eq(n_commands, 0);
    child_run("$MORTISE approve $($MORTISE inbox r --ids)");
    desk_out(parts[_i].words);
    deploy_with(parts[_i].part);
    desk_ok("$MORTISE resume r");
}
END_TEST

/* The same of a model, which is no plugin of the run's before it is asked: what
 * the graph lacks is said, whoever waits for what, and nothing is offered that
 * would not go on. */
START_TEST(lost_models)
{
    static const char lacks[] = "g.yaml:7:3: error[E0513]: the deployment has "
                                "no model 'default': write";
    pid_t engine;

    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: human, prompt: Go?, next: b}\n"
                    "  b: {type: gmi, prompt: hi, next: END}\n");
    deploy_with("");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    child_run("$MORTISE run g.yaml --id q");
    desk_ok("$MORTISE approve $($MORTISE inbox q --ids) --no-continue");
    desk_ok("sed -i s/default:/other:/ mortise.yaml");
    desk_ok("$MORTISE show r");
    desk_out("under 'models' of mortise.yaml\n");
    for (int i = 0; i < 2; i++) {
        why(i == 0 ? "r" : "q");
        desk_out("It is blocked: ");
        desk_out(lacks);
        ck_assert_uint_eq(n_commands, 0);
    }
    engine = child_start("engine", "$MORTISE engine");
    child_await("engine.err", "holding the store");
    why("q");
    desk_out(lacks);
    ck_assert_uint_eq(n_commands, 0);
    kill(engine, SIGTERM);
    ck_assert_int_eq(child_wait(engine), 0);
    desk_ok("sed -i s/other:/default:/ mortise.yaml");
    why("q");
    desk_not_out("blocked");
    ck_assert_uint_eq(n_commands, 1);
    obey(0, "q", "completed");
}
END_TEST

/* Where an engine holds the store, its plugins count, and not those that the
 * command would find. */
START_TEST(an_engine_has_its_plugins)
{
    pid_t engine;

    pause_with_own_plugins();
    engine = child_start("engine", "$MORTISE engine");
    child_await("engine.err", "holding the store");
    desk_ok("mv plugins away && mkdir plugins");
    desk_ok("$MORTISE show r");
    desk_not_out("blocked");
    why("r");
    desk_not_out("blocked");
    ck_assert_uint_eq(n_commands, 1);
    desk_ok("rmdir plugins && mv away plugins");
    kill(engine, SIGTERM);
    ck_assert_int_eq(child_wait(engine), 0);
    change_plugin();
    engine = child_start("engine", "$MORTISE engine");
    child_await("engine.err", "holding the store");
    why("r");
    desk_out("It is blocked: ");
    desk_out("'tried'");
    ck_assert_uint_eq(n_commands, 1);
    obey(0, "r", "completed");
    kill(engine, SIGTERM);
    ck_assert_int_eq(child_wait(engine), 0);
}
END_TEST

/* A call of a plugin that changed is asked about again: that is offered, and
 * not to approve what it was. */
START_TEST(approval_of_a_changed_plugin)
{
    desk_graph("ok", "hitl_mode: approve_tools\nstart: a\nnodes:\n"
                     "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                     "next: END}\n");
    desk_ok("cp -r %s/plugins %s/trust.d .", desk_plugins, desk_plugins);
    desk_ok("sed -i 's|%s|.|' mortise.yaml", desk_plugins);
    child_run("$MORTISE run ok.yaml --id r");
    desk_code(4);
    desk_approve_plan("r");
    change_plugin();
    why("r");
    ck_assert_uint_eq(n_commands, 1);
    obey(0, "r", "waiting");
    why("r"); /* and needs no more than to be approved, now */
    desk_not_out("--accept-plugins");
    obey(0, "r", "completed");
}
END_TEST

static const char asks[] = "start: in\nnodes:\n  in: {type: subgraph, graph: "
                           "inner.yaml, next: END}\n";
static const char asks_inside[] =
    "start: ask\nnodes:\n  ask: {type: human, prompt: Shall we?, next: END}\n";

/* `why` and `resume` name this file, or no file. */
static void follows_other_than(const char *file)
{
    static const char *const asking[] = {"why", "resume"};
    char words[128];

    snprintf(words, sizeof words, "which differs from the file %s as it is now",
             file != NULL ? file : "");
    for (size_t i = 0; i < 2; i++) {
        const char *said;

        child_run("$MORTISE %s r", asking[i]);
        desk_code(i == 0 ? 0 : 4);
        said = i == 0 ? child.out : child.err;
        for (char *p = child.out; *p != '\0'; p++)
            if (*p == '\n')
                *p = ' ';
        ck_assert_msg((strstr(said, "its own copy of the graph") != NULL) ==
                              (file != NULL) &&
                          (file == NULL || strstr(said, words) != NULL),
                      "%s\n%s%s", asking[i], child.out, child.err);
    }
}

/* A run keeps the graph that it began with (R4).  `why` and `resume` name a file that
 * has changed since then.  The file is compared and not parsed.  A path without a
 * regular file changes nothing. */
START_TEST(a_changed_file)
{
    desk_graph("inner", asks_inside);
    desk_graph("ask", asks);
    child_run("$MORTISE run ask.yaml --id r");
    desk_code(4);
    follows_other_than(NULL);
    desk_ok("touch ask.yaml inner.yaml");
    follows_other_than(NULL);
    desk_ok("cp inner.yaml was && sed -i s/Shall/Could/ inner.yaml");
    follows_other_than("inner.yaml");
    desk_ok("mv was inner.yaml && echo '  ]: no YAML' >>ask.yaml");
    follows_other_than("ask.yaml");
    desk_ok("rm ask.yaml && mkfifo ask.yaml");
    follows_other_than(NULL);
    desk_ok("rm ask.yaml");
    follows_other_than(NULL);
    desk_graph("ask", "start: x\nnodes: {x: {type: pass, value: 1}}\n");
    follows_other_than("ask.yaml");
    desk_ok("$MORTISE approve $($MORTISE inbox r --ids)");
    why("r");
    desk_out("has completed");
    desk_not_out("its own copy");
}
END_TEST

/* The process that holds the store reads the run's graph, and the command the
 * file. */
START_TEST(a_changed_file_beside_an_engine)
{
    pid_t engine;

    desk_graph("inner", asks_inside);
    desk_graph("ask", asks);
    child_run("$MORTISE run ask.yaml --id r");
    engine = child_start("engine", "$MORTISE engine");
    child_await("engine.err", "holding the store");
    follows_other_than(NULL);
    desk_ok("echo '# more' >>ask.yaml");
    follows_other_than("ask.yaml");
    ck_assert_int_eq(kill(engine, SIGTERM), 0);
    ck_assert_int_eq(child_wait(engine), 0);
}
END_TEST

/* The same as JSON, commands and all. */
START_TEST(json)
{
    desk_graph("ask", "start: ask\nnodes:\n"
                      "  ask: {type: human, prompt: \"a\\e[2Jb\", next: "
                      "END}\n");
    child_run("$MORTISE run ask.yaml --id r");
    desk_ok("$MORTISE why r --json");
    desk_out("\"status\": \"waiting\"");
    desk_out("\"commands\": [\n");
    desk_out("approve");
    desk_not_out("\x1b");
    why("r");
    desk_out("a\\x1b[2Jb");
    child_run("$MORTISE why nobody");
    desk_code(3);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_why");
    TCase *tc = tcase_create("why");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, human);
    tcase_add_test(tc, schema);
    tcase_add_test(tc, several);
    tcase_add_test(tc, expired);
    tcase_add_test(tc, approval);
    tcase_add_test(tc, interrupt);
    tcase_add_loop_test(tc, limits, 0, 2);
    tcase_add_test(tc, budgets);
    tcase_add_test(tc, a_raise_is_shown);
    tcase_add_test(tc, time_is_used_up);
    tcase_add_test(tc, a_limit_of_the_deployment);
    tcase_add_test(tc, operator);
    tcase_add_test(tc, paused_question);
    tcase_add_loop_test(tc, in_doubt, 0, 3);
    tcase_add_test(tc, in_doubt_at_a_pause);
    tcase_add_test(tc, failed);
    tcase_add_test(tc, retrying);
    tcase_add_test(tc, over);
    tcase_add_test(tc, failed_and_blocked);
    tcase_add_test(tc, blocked);
    tcase_add_test(tc, lost_models);
    tcase_add_loop_test(tc, lost_from_the_deployment, 0,
                        sizeof parts / sizeof parts[0]);
    tcase_add_test(tc, an_engine_has_its_plugins);
    tcase_add_test(tc, approval_of_a_changed_plugin);
    tcase_add_test(tc, a_changed_file);
    tcase_add_test(tc, a_changed_file_beside_an_engine);
    tcase_add_test(tc, json);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
