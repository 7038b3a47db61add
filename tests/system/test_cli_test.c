/* test_cli_test.c -- `mortise test`: cases that hold, cases that do not, and
 * what a crash at any commit must not change. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "lib/desk.h"
#include "lib/test.h"

static char root[4096];

/* A fresh directory for all that a rehearsal leaves while it runs, and the
 * places of our own plugins. */
static void begin(void)
{
    desk_begin();
    ck_assert_int_eq(setenv("TMPDIR", desk_dir, 1), 0);
}

/* Nothing of any case is left behind. */
static void end(void)
{
    child_run("ls -d mortise-case-* 2>/dev/null");
    ck_assert_str_eq(child.out, "");
    unsetenv("TMPDIR");
    desk_end();
}

#define IN_CASES "cd %s/tests/cases && $MORTISE test "

/* ---- holding -------------------------------------------------------------- */

/* The cases of a loop, a map, a nested graph, a guardrail, people, retries and
 * timeouts hold, in no time although they wait for days. */
START_TEST(good_cases_hold)
{
    desk_ok(IN_CASES "trip.test.yaml", root);
    desk_out("ok    trip.test.yaml: everything at once\n");
    desk_out("\n8 passed, 0 failed\n");
}
END_TEST

/* ... also when they are killed before and after each commit. */
START_TEST(good_cases_survive_crashes)
{
    desk_ok(IN_CASES "--crash-everywhere trip.test.yaml", root);
    desk_out("everything at once (22 crashes)\n");
    desk_out("\n8 passed, 0 failed\n");
}
END_TEST

/* What runs side by side does, too, and a race is decided by the times that
 * the script gives, whenever the crash was. */
START_TEST(rivals_survive_crashes)
{
    desk_ok(IN_CASES "--crash-everywhere rivals.test.yaml", root);
    desk_out("\n2 passed, 0 failed\n");
    desk_ok(IN_CASES "--crash-everywhere race.test.yaml", root);
    desk_out("\n1 passed, 0 failed\n");
}
END_TEST

/* What is said of an effect in doubt uses its answer up, also where the crash
 * came before the call: the next round gets the next one. */
START_TEST(doubts_use_answers_up)
{
    desk_ok(IN_CASES "--crash-everywhere doubts.test.yaml", root);
    desk_out("\n2 passed, 0 failed\n");
}
END_TEST

/* A question whose time is to run out, beside one of which the case says
 * nothing and which is due no later: that cannot be, and is said each time. */
START_TEST(two_are_due_together)
{
    desk_graph("g", "start: [a, b]\n"
                    "nodes:\n"
                    "  a: {type: human, prompt: a?, wait: 1h, on_timeout: "
                    "reject, next: END}\n"
                    "  b: {type: human, prompt: b?, wait: 1h, on_timeout: "
                    "reject, next: END}\n");
    desk_put("g.test.yaml", "apiVersion: mortise/v1\nkind: Test\n"
                            "metadata: {name: t}\ngraph: g.yaml\n"
                            "cases:\n"
                            "  one: {people: {a: {timeout: true}}, expect: "
                            "{status: waiting}}\n"
                            "  other: {people: {b: {timeout: true}}, expect: "
                            "{status: waiting}}\n"
                            "  neither: {expect: {status: waiting}}\n"
                            "  both: {people: {a: {timeout: true}, b: "
                            "{timeout: true}}, expect: {status: completed}}\n");
    for (int i = 0; i < 5; i++) {
        child_run("$MORTISE test g.test.yaml");
        desk_code(1);
        desk_out("error[E0903]: 'a' has timeout: true, but 'b', which the case "
                 "does not script, times out no later");
        desk_out("error[E0903]: 'b' has timeout: true, but 'a'");
        desk_out("\n2 passed, 2 failed\n");
    }
}
END_TEST

/* ---- not holding ---------------------------------------------------------- */

static void golden(const char *name)
{
    char path[4200], *want;

    snprintf(path, sizeof path, "%s/tests/cases/%s", root, name);
    if (getenv("MORTISE_GOLDEN") != NULL)
        test_write(path, child.out, strlen(child.out));
    want = test_read(path, NULL);
    ck_assert_str_eq(child.out, want);
    free(want);
}

/* What does not hold is said to the letter, at its place in the file. */
START_TEST(failures_are_shown)
{
    child_run(IN_CASES "failing.test.yaml", root);
    desk_code(1);
    golden("failing.txt");
}
END_TEST

/* An effect that a crash would leave in doubt must be settled by the case. */
START_TEST(doubt_must_be_settled)
{
    child_run(IN_CASES "--crash-everywhere --filter doubt failing.test.yaml",
              root);
    desk_code(1);
    golden("doubt.txt");
}
END_TEST

/* A file that `mortise check` refuses is not run, and neither are others. */
START_TEST(broken_files_are_not_run)
{
    child_run(IN_CASES "trip.test.yaml bad/E0301-names.yaml", root);
    desk_code(2);
    desk_err("bad/E0301-names.yaml:8:13: error[E0301]");
    desk_not_out("ok ");
    child_run(IN_CASES "trip.graph.yaml", root);
    desk_code(2);
    desk_err("'kind' must be Test here");
    child_run(IN_CASES "nowhere.yaml", root);
    desk_code(2);
    desk_err("nowhere.yaml:1:1: error[E0101]");
}
END_TEST

/* --filter runs the cases alone whose names contain it; --format json says the
 * same as text, with how the run ended. */
START_TEST(filter_and_json)
{
    const char *name, *status, *code;
    int ok, passed, failed, line;
    json_t *v;

    desk_ok(IN_CASES "--filter nobody trip.test.yaml", root);
    desk_out("\n2 passed, 0 failed\n");
    child_run(IN_CASES "--filter 'a list is sued up' failing.test.yaml", root);
    ck_assert_int_ne(child.code, 0);
    desk_not_out("passed");
    desk_err("no case has 'a list is sued up' in its name; the cases are 'a "
             "list is used up' and ");
    child_run(IN_CASES "--filter 'used up' --format json failing.test.yaml",
              root);
    desk_code(1);
    v = json_loads(child.out, 0, NULL);
    ck_assert_int_eq(
        json_unpack(v, "{s:i, s:i, s:[{s:s, s:b, s:{s:s}, s:[{s:s, s:i}]}]}",
                    "passed", &passed, "failed", &failed, "cases", "case",
                    &name, "ok", &ok, "show", "status", &status, "findings",
                    "code", &code, "line", &line),
        0);
    ck_assert_str_eq(name, "a list is used up");
    ck_assert(!ok && passed == 0 && failed == 1 && line == 15);
    ck_assert_str_eq(status, "failed");
    ck_assert_str_eq(code, "E0903");
    json_decref(v);
    child_run(IN_CASES "--format tap trip.test.yaml", root);
    desk_code(3);
}
END_TEST

/* ---- the world ------------------------------------------------------------ */

static const char graph[] =
    "hitl_mode: approve_tools\n"
    "start: [strike, echo]\n"
    "nodes:\n"
    "  strike: {type: tool, tool: tried/strike, args: {marker: m}, next: nap}\n"
    "  nap: {type: tool, tool: tried/nap, args: {ms: 1}, next: END}\n"
    "  echo: {type: tool, tool: tried/echo, args: {value: 1}, next: END}\n";

static void put_test(const char *body)
{
    char text[4096];

    desk_graph("g.graph", graph);
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\ncases:\n%s",
             body);
    desk_put("t.test.yaml", text);
}

/* A scripted operation is never called: tried/strike would kill the process
 * and leave a mark.  What is pure runs, and nothing touches the store of the
 * deployment. */
START_TEST(scripted_calls_reach_no_plugin)
{
    put_test("  one:\n"
             "    operations: {tried/strike: {output: ~}, tried/nap: {output: "
             "~}}\n"
             "    people: {START: {approve: true}, strike: {approve: true}, "
             "nap: {approve: true}, "
             "echo: {approve: true}}\n"
             "    expect: {status: completed, state: {artifacts: {echo: "
             "1}}}\n");
    desk_ok("$MORTISE test t.test.yaml");
    desk_ok("test ! -e m && test ! -e state");
}
END_TEST

/* With `real` an operation runs in earnest; a process that dies of it is an
 * error of the test, and not of the other cases' making. */
START_TEST(real_calls_do)
{
    put_test("  naps:\n"
             "    operations: {tried/strike: {output: ~}}\n"
             "    real: [tried]\n"
             "    people: {START: {approve: true}, strike: {approve: true}, "
             "nap: {approve: true}, "
             "echo: {approve: true}}\n"
             "    expect: {status: completed, path: {contains: [nap]}}\n");
    desk_ok("$MORTISE test t.test.yaml");
    put_test("  dies:\n"
             "    real: [tried]\n"
             "    people: {START: {approve: true}, strike: {approve: true}, "
             "echo: {approve: true}}\n"
             "    expect: {status: completed}\n");
    child_run("$MORTISE test t.test.yaml");
    desk_code(1);
    desk_err("dies: the process of the test was killed");
    desk_ok("test -e m");
}
END_TEST

/* Nodes that wait for somebody before they begin are let go, or not; and are
 * answered with nothing else. */
START_TEST(nodes_are_approved_and_rejected)
{
    put_test("  one:\n"
             "    operations: {tried/strike: {output: ~}, tried/nap: {output: "
             "~}}\n"
             "    people: {START: {approve: true}, strike: {approve: true}, "
             "nap: {reject: not now}, "
             "echo: {approve: true}}\n"
             "    expect: {status: failed, error: rejected, path: "
             "{contains: [strike, echo]}}\n");
    desk_ok("sed -i s/approve_tools/approve_each_node/ g.graph.yaml && "
            "$MORTISE test t.test.yaml");
    put_test("  one: {people: {START: {approve: true}, strike: {answer: 1}}, "
             "expect: {status: "
             "failed}}\n");
    desk_ok("sed -i s/approve_tools/approve_each_node/ g.graph.yaml");
    child_run("$MORTISE test t.test.yaml");
    desk_code(1);
    desk_out("error[E0903]: 'strike' asks (node); its answer must be: approve "
             "or reject");
}
END_TEST

/* So are plans, by who answers for START. */
START_TEST(plans_are_approved_and_rejected)
{
    put_test("  one:\n"
             "    operations: {tried/strike: {output: ~}, tried/nap: {output: "
             "~}}\n"
             "    real: [tried]\n"
             "    people: {START: {approve: true}}\n"
             "    expect: {status: completed, events: [{type: plan_proposed}, "
             "{type: plan_approved}]}\n"
             "  two:\n"
             "    people: {START: {reject: not now}}\n"
             "    expect: {status: failed, error: rejected, events: [{type: "
             "plan_rejected, reason: not now}]}\n");
    desk_ok("sed -i s/approve_tools/approve_plan/ g.graph.yaml && "
            "$MORTISE test t.test.yaml");
    put_test("  one: {people: {START: {answer: 1}}, expect: {status: "
             "failed}}\n");
    desk_ok("sed -i s/approve_tools/approve_plan/ g.graph.yaml");
    child_run("$MORTISE test t.test.yaml");
    desk_code(1);
    desk_out("error[E0903]: 'START' asks (plan); its answer must be: approve "
             "or reject");
}
END_TEST

/* A call may be approved with other arguments, or rejected. */
START_TEST(calls_are_approved_and_rejected)
{
    put_test("  one:\n"
             "    operations: {tried/nap: {output: ~}}\n"
             "    people:\n"
             "      START: {approve: true}\n"
             "      strike: {reject: too dangerous}\n"
             "      echo: {approve: true, args: {value: 2}}\n"
             "    expect:\n"
             "      status: failed\n"
             "      error: rejected\n"
             "      path: {lacks: [nap]}\n"
             "      state: {artifacts: {echo: 2}}\n");
    desk_ok("$MORTISE test --crash-everywhere t.test.yaml");
}
END_TEST

/* Whoever is asked for an approval has no answer to give, and is told what
 * there is to do. */
START_TEST(deeds_fit_what_is_asked)
{
    put_test("  one:\n"
             "    people: {START: {approve: true}, strike: {answer: 1}, echo: "
             "{answer: 1}}\n"
             "    expect: {status: waiting}\n");
    child_run("$MORTISE test t.test.yaml");
    desk_code(1);
    desk_out("error[E0903]: 'strike' asks (approval_pending); its answer must "
             "be: approve (optionally with args) or reject");
}
END_TEST

/* A tool of a node is scripted and approved by the name that models know it by;
 * `real` takes plugins that are tools alone, and providers of models. */
START_TEST(tools_are_scripted_and_approved)
{
    desk_deploy("models:\n  default:\n    provider: scripted\n    model: m\n"
                "    replies:\n"
                "      - {when: {turn: 0}, tool_calls: [{name: tried__nap, "
                "arguments: {ms: 1}}, {name: tried__echo, arguments: {value: "
                "1}}]}\n"
                "      - {when: {tool: not today}, text: rejected}\n"
                "      - {text: agreed}\n");
    desk_graph("g.graph", "start: work\nnodes:\n  work:\n    type: gmi\n"
                          "    prompt: go\n    parallel_tools: true\n"
                          "    execution_mode: react_bounded\n"
                          "    tool_allowlist: [{tool: tried/nap, ask: true}, "
                          "{tool: tried/echo, ask: true}]\n"
                          "    next: END\n");
    desk_put("t.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\ncases:\n"
             "  both:\n    real: [agent]\n"
             "    operations: {tried/nap: {output: ~}}\n"
             "    people: {work/tried__nap: {approve: true}, "
             "work/tried__echo: {approve: true}}\n"
             "    expect: {status: completed, path: [work, work/tried__nap, "
             "work/tried__echo], state: {artifacts: {work: agreed}}}\n"
             "  one:\n    real: [agent, tried, scripted]\n"
             "    nodes: {work/tried__echo: {output: 1}}\n"
             "    people: {work/tried__nap: {reject: not today}, "
             "work/tried__echo: {approve: true, args: {value: 2}}}\n"
             "    expect: {status: completed, state: {artifacts: {work: "
             "rejected}}}\n");
    desk_ok("$MORTISE test --crash-everywhere t.test.yaml");
    desk_put("bad.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\ncases:\n"
             "  nobody: {real: [agent], expect: {status: completed}}\n");
    child_run("$MORTISE test bad.test.yaml");
    desk_code(1);
    desk_out(
        "write the person's decision under people: {work/tried__nap: ...}");
    desk_ok("echo '  names: {real: [agnet], people: {work/tried/echo: "
            "{approve: true}}, expect: {}}' >>bad.test.yaml");
    child_run("$MORTISE test bad.test.yaml");
    desk_code(2);
    desk_err("error[E0501]: no node of the graph uses the plugin 'agnet'");
    desk_err("and providers of the deployment's models");
    desk_err(
        "use the name of the tool that models see: tried__nap, tried__echo");
    desk_deploy("models:\n  default: {provider: openai, model: m, base_url: "
                "\"http://127.0.0.1:1/v1\"}\n");
    desk_put("far.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\ncases:\n"
             "  far: {real: [agent], expect: {status: completed}}\n");
    child_run("$MORTISE check far.test.yaml");
    desk_code(2);
    desk_out("error[E0903]: 'agent' would call the model 'default' "
             "through the plugin openai, but the key 'real' does not list "
             "this plugin");
    desk_ok("sed -i 's/agent/agent, openai/' far.test.yaml");
    desk_ok("$MORTISE check far.test.yaml");
}
END_TEST

/* Another of our own plugins. */
static void add_plugin(const char *name)
{
    char path[256], source[4096];

    snprintf(path, sizeof path, "tests/plugins/%s.plugin.yaml", name);
    ck_assert_ptr_nonnull(realpath(path, source));
    snprintf(path, sizeof path, "tests/plugins/%s.so", name);
    desk_ok("$MORTISE plugin sign %s %s --key %s/k.key --out %s/plugins",
            source, child_build(path), desk_plugins, desk_plugins);
    desk_ok("test -e %s/trust.d/%s.yaml || $MORTISE key trust %s/k.pub "
            "--trust %s/trust.d --name %s --plugins %s --in-process",
            desk_plugins, name, desk_plugins, desk_plugins, name, name);
}

/* A plugin that may ask for requests has effects of its own all the same: that a
 * crash leaves open whether its call happened is found. */
START_TEST(a_call_that_asks_is_no_less_of_a_doubt)
{
    add_plugin("relays");
    desk_graph("g.graph", "start: a\n"
                          "nodes:\n"
                          "  a: {type: tool, tool: relays/call, args: {url: "
                          "'http://x/'}, next: END}\n");
    desk_put("t.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\n"
             "cases:\n"
             "  one:\n"
             "    operations: {relays/call: {output: 1}}\n"
             "    expect: {status: completed}\n");
    desk_ok("$MORTISE test t.test.yaml");
    child_run("$MORTISE test --crash-everywhere t.test.yaml");
    desk_code(1);
    desk_out("after a crash it is unknown whether relays/call happened");
    child_run("$MORTISE check g.graph.yaml");
    desk_out("W0806");
}
END_TEST

/* An effect that waits for a person is entered again, which is no repetition. */
START_TEST(waiting_is_no_repetition)
{
    add_plugin("awaits");
    desk_graph("g.graph", "start: a\n"
                          "nodes:\n"
                          "  a: {type: tool, tool: awaits/order, args: "
                          "{prompt: how many?}, next: END}\n");
    desk_put("t.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\n"
             "cases:\n"
             "  one:\n"
             "    real: [awaits]\n"
             "    people: {a: {answer: 7}}\n"
             "    expect: {status: completed}\n");
    desk_ok("$MORTISE test t.test.yaml");
}
END_TEST

/* A graph, and one case of it that ends so, with and without crashes. */
static void is_same(const char *nodes, const char *answers, const char *expect)
{
    char text[2048];

    desk_graph("g.graph", nodes);
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\ncases:\n  c:\n    nodes: {%s}\n"
             "    expect: {%s}\n",
             answers, expect);
    desk_put("t.test.yaml", text);
    desk_ok("$MORTISE test t.test.yaml");
    desk_ok("$MORTISE test --crash-everywhere t.test.yaml");
}

/* Where a crash has the graph take another way, which the graph names, the way is
 * not compared: on_in_doubt, and the timeout of a graph, for which the time since
 * the last commit does not count. */
START_TEST(a_crash_leads_elsewhere)
{
    is_same("start: a\nnodes:\n"
            "  a: {type: tool, tool: tried/strike, args: {marker: m}, "
            "on_in_doubt: fail, next: END}\n",
            "a: {output: 1}", "status: completed");
    is_same("limits: {timeout: 3s}\nstart: a\nnodes:\n"
            "  a: {type: tool, tool: tried/act, next: END}\n",
            "a: {output: 1, after: 5s}", "status: failed, error: timeout");
    is_same("start: s\nnodes:\n"
            "  s:\n    type: subgraph\n    timeout: 3s\n    graph:\n"
            "      start: a\n      nodes:\n"
            "        a: {type: tool, tool: tried/act, next: END}\n",
            "s/a: {output: 1, after: 5s}", "status: failed, error: timeout");
}
END_TEST

/* What a reconcile finds has not happened before the call would have been answered:
 * a race has the same winner. */
START_TEST(a_reconciled_call_wins_no_race)
{
    is_same("start: [slow, fast]\nnodes:\n"
            "  slow: {type: tool, tool: relays/call_rec, next: j}\n"
            "  fast: {type: tool, tool: tried/act, next: j}\n"
            "  j: {type: pass, join: any, value: 1, next: END}\n",
            "slow: {output: 1, after: 3s}, fast: {output: 2, after: 2s}",
            "status: completed, state: {artifacts: {fast: 2}}");
}
END_TEST

/* A doubt that no crash raises: what on_in_doubt says of it, and what people do
 * about it, or that nobody does.
 * key: test/scripted answer.doubt */
START_TEST(doubts_are_scripted)
{
    desk_graph("g.graph",
               "start: a\n"
               "nodes:\n"
               "  a: {type: tool, tool: tried/strike, args: {marker: m}, "
               "next: END}\n");
    desk_graph("f.graph",
               "start: a\n"
               "nodes:\n"
               "  a: {type: tool, tool: tried/strike, args: {marker: m}, "
               "on_in_doubt: fail, next: END}\n");
    desk_put("t.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\n"
             "cases:\n"
             "  stands:\n"
             "    operations: {tried/strike: {doubt: cut off, output: 1}}\n"
             "    people: {a: {approve: true}}\n"
             "    expect: {status: in_doubt}\n"
             "  done:\n"
             "    operations: {tried/strike: {doubt: cut off, output: 7, "
             "in_doubt: done}}\n"
             "    people: {a: {approve: true}}\n"
             "    expect: {status: completed, state: {artifacts: {a: 7}}}\n"
             "  retry:\n"
             "    operations: {tried/strike: {doubt: cut off, output: 8, "
             "in_doubt: retry}}\n"
             "    people: {a: {approve: true}}\n"
             "    expect: {status: completed, state: {artifacts: {a: 8}}}\n"
             "  fail:\n"
             "    operations: {tried/strike: {doubt: cut off, output: 8, "
             "in_doubt: fail}}\n"
             "    people: {a: {approve: true}}\n"
             "    expect: {status: failed, error: in_doubt}\n");
    desk_ok("$MORTISE test t.test.yaml");
    desk_ok("$MORTISE test --crash-everywhere --filter done t.test.yaml");
    desk_ok("$MORTISE test --crash-everywhere --filter retry t.test.yaml");
    desk_ok("sed -i 's/g.graph/f.graph/' t.test.yaml");
    child_run("$MORTISE test --filter stands t.test.yaml");
    desk_code(1);
    desk_out("status: expected in_doubt, got failed");
    desk_out("cut off; the effect may have happened");
    desk_ok("sed -i 's/g.graph/f.graph/; s/status: in_doubt/status: failed, "
            "error: in_doubt/' t.test.yaml && $MORTISE test --filter stands "
            "t.test.yaml");
    desk_graph(
        "f.graph",
        "start: a\n"
        "nodes:\n"
        "  a: {type: tool, tool: tried/echo, args: {value: 1}, next: END}\n");
    desk_ok("sed -i 's/strike/echo/' t.test.yaml");
    child_run("$MORTISE test --filter stands t.test.yaml");
    desk_code(1);
    desk_out("error[E0903]: a call of tried/echo by a is never in doubt: the "
             "operation has no effect");
}
END_TEST

/* An effect that takes longer than its node's timeout is in doubt, as it is in an
 * engine: nothing repeats it, and `in_doubt` says what a person does about it. */
START_TEST(a_late_effect_is_in_doubt)
{
    desk_graph(
        "g.graph",
        "start: a\n"
        "nodes:\n"
        "  a: {type: tool, tool: tried/strike, args: {marker: m}, timeout: "
        "200ms, retry_policy: {max_attempts: 3, delay: 1ms}, on_error: "
        "{goto: h}, next: END}\n"
        "  h: {type: tool, tool: tried/echo, args: {value: 1}, next: "
        "END}\n");
    desk_put("t.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\n"
             "cases:\n"
             "  stands:\n"
             "    operations: {tried/strike: {output: 1, after: 3s}}\n"
             "    people: {a: {approve: true}}\n"
             "    expect: {status: in_doubt, path: [a]}\n"
             "  done:\n"
             "    operations: {tried/strike: {output: 7, after: 3s, in_doubt: "
             "done}}\n"
             "    people: {a: {approve: true}}\n"
             "    expect: {status: completed, path: [a], state: {artifacts: "
             "{a: 7}}}\n"
             "  retry:\n"
             "    operations: {tried/strike: {output: 7, after: 3s, in_doubt: "
             "retry}}\n"
             "    people: {a: {approve: true}}\n"
             "    expect: {status: completed, path: [a], elapsed: 200ms}\n"
             "  fail:\n"
             "    operations: {tried/strike: {output: 7, after: 3s, in_doubt: "
             "fail}}\n"
             "    people: {a: {approve: true}}\n"
             "    expect: {status: completed, path: [a, h]}\n");
    desk_ok("$MORTISE test t.test.yaml");
    desk_ok("$MORTISE test --crash-everywhere --filter done t.test.yaml");
    desk_ok("$MORTISE test --crash-everywhere --filter fail t.test.yaml");
}
END_TEST

/* ---- every kind of operation ----------------------------------------------- */

enum kind { PLAIN, DOUBTFUL, TELLS };

/* Class, intent and the method of a request decide whether an effect can be in
 * doubt.  A script ends as a run with the same answers from the world would. */
static const struct {
    const char *tool, *args, *more;
    enum kind kind;
    const char *never; /* of a PLAIN one: why it is never in doubt */
} effects[] = {
    /* intent: call */
    {"tried/echo", "value: 1", "", PLAIN, "the operation has no effect"},
    {"tried/nap", "ms: 1", "", PLAIN, "the operation has no effect"},
    {"tried/echo", "value: 1", "effect_class: write, ", DOUBTFUL, NULL},
    {"tried/linger", "", "", DOUBTFUL, NULL},
    {"tried/linger", "", "on_in_doubt: retry, ", PLAIN,
     "its node has on_in_doubt: retry"},
    {"relays/call_idem", "", "", PLAIN,
     "the operation can be repeated (idempotent)"},
    {"relays/call_rec", "", "", TELLS, NULL},
    /* intent: steps */
    {"does/write", "", "", DOUBTFUL, NULL},
    {"does/external", "method: GET", "", DOUBTFUL, NULL},
    {"relays/steps", "", "", DOUBTFUL, NULL},
    {"relays/steps", "", "on_in_doubt: retry, ", PLAIN,
     "its node has on_in_doubt: retry"},
    {"relays/steps_idem", "", "", PLAIN,
     "the operation can be repeated (idempotent)"},
    {"relays/steps_rec", "", "", TELLS, NULL},
    {"http/request", "url: 'http://x/'", "", DOUBTFUL, NULL},
    {"http/request", "url: 'http://x/', method: PATCH", "", DOUBTFUL, NULL},
    {"http/request", "url: 'http://x/', method: GET", "", PLAIN,
     "its request only reads"},
    {"http/request", "url: 'http://x/', method: PUT", "", PLAIN,
     "its request can be repeated"},
    {"http/submit", "url: 'http://x/'", "", PLAIN,
     "the operation can be repeated (idempotent)"},
};

static const char ended[3][6][40] = {
    [PLAIN] = {"failed, error: timeout.call", "completed",
               "failed, error: timeout.call", "failed, error: timeout.call",
               "failed, error: timeout.call", "failed, error: in_doubt"},
    [DOUBTFUL] = {"in_doubt", "in_doubt", "completed", "completed",
                  "failed, error: in_doubt", "in_doubt"},
    [TELLS] = {"completed", "completed", "completed", "completed", "completed",
               "completed"},
};

static void put_effect(size_t i)
{
    static const char answer[] =
        "output: {status: 200, url: x, headers: {}, body: x}";
    const char(*as)[40] = ended[effects[i].kind];
    char nodes[512], cases[4096];

    snprintf(nodes, sizeof nodes,
             "start: a\n"
             "nodes:\n"
             "  a: {type: tool, tool: %s, args: {%s}, %stimeout: 200ms, "
             "retry_policy: {max_attempts: 2, delay: 1ms}, next: END}\n",
             effects[i].tool, effects[i].args, effects[i].more);
    desk_graph("g.graph", nodes);
    snprintf(cases, sizeof cases,
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\n"
             "cases:\n"
             "  late: {operations: {%s: {%s, after: 3s}}, "
             "people: {a: {approve: true}}, expect: {status: %s}}\n"
             "  second: {operations: {%s: [{%s, after: 3s}, {%s}]}, "
             "people: {a: {approve: true}}, expect: {status: %s}}\n"
             "  done: {operations: {%s: {%s, after: 3s, in_doubt: done}}, "
             "people: {a: {approve: true}}, expect: {status: %s}}\n"
             "  retry: {operations: {%s: {%s, after: 3s, in_doubt: retry}}, "
             "people: {a: {approve: true}}, expect: {status: %s}}\n"
             "  fail: {operations: {%s: {%s, after: 3s, in_doubt: fail}}, "
             "people: {a: {approve: true}}, expect: {status: %s}}\n"
             "  doubt: {operations: {%s: {%s, doubt: cut off}}, "
             "people: {a: {approve: true}}, expect: {status: %s}}\n"
             "  crash: {operations: {%s: [{error: {code: e, class: "
             "transient}}, {%s}]}, people: {a: {approve: true}}, expect: "
             "{status: completed}}\n",
             effects[i].tool, answer, as[0], effects[i].tool, answer, answer,
             as[1], effects[i].tool, answer, as[2], effects[i].tool, answer,
             as[3], effects[i].tool, answer, as[4], effects[i].tool, answer,
             as[5], effects[i].tool, answer);
    desk_put("t.test.yaml", cases);
}

/* A timeout, what people say then, a doubt and a crash, of each kind. */
START_TEST(each_kind_of_effect_is_what_it_is)
{
    char words[256];

    add_plugin("relays");
    add_plugin("does");
    for (size_t i = 0; i < sizeof effects / sizeof effects[0]; i++) {
        printf("%s {%s}\n", effects[i].tool, effects[i].args);
        put_effect(i);
        child_run("$MORTISE test t.test.yaml");
        if (effects[i].kind != PLAIN) {
            desk_code(0);
        } else {
            snprintf(words, sizeof words,
                     "error[E0903]: a call of %s by a is never in doubt: %s\n",
                     effects[i].tool, effects[i].never);
            desk_out(words);
            desk_out("\n6 passed, 1 failed\n");
        }
        ck_assert_ptr_null(strstr(child.out, "(null)"));
        child_run("$MORTISE test --crash-everywhere --filter crash "
                  "t.test.yaml");
        desk_code(effects[i].kind == DOUBTFUL);
        if (effects[i].kind == DOUBTFUL) {
            desk_out("after a crash it is unknown whether ");
            desk_ok("$MORTISE test --crash-everywhere --filter done "
                    "t.test.yaml");
            desk_ok("$MORTISE test --crash-everywhere --filter retry "
                    "t.test.yaml");
        }
    }
}
END_TEST

/* The judge of a human node is scripted by its operation or by the node's name,
 * decides, or leaves it to the person; it runs in earnest where it is named. */
START_TEST(judges_are_scripted)
{
    desk_graph("g.graph",
               "start: h\n"
               "nodes:\n"
               "  h: {type: human, prompt: ok?, judge: {criteria: is "
               "it good}, next: END}\n");
    desk_put(
        "mortise.yaml",
        "apiVersion: mortise/v1\nkind: Deployment\nmetadata: {name: d}\n"
        "models: {default: {provider: scripted, model: m, replies: [{text: "
        "hello}]}}\n");
    desk_put(
        "t.test.yaml",
        "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
        "graph: g.graph.yaml\n"
        "deployment: mortise.yaml\n"
        "cases:\n"
        "  by its operation:\n"
        "    operations: {agent/judge: {output: {approved: true, "
        "confidence: 0.9, reason: fine}}}\n"
        "    expect: {status: completed, state: {artifacts: {h: "
        "{decided_by: judge, reason: fine}}}}\n"
        "  by the node:\n"
        "    nodes: {h: {output: {approved: false, confidence: 1, reason: "
        "bad}}}\n"
        "    expect: {status: completed, state: {artifacts: {h: {approved: "
        "false, decided_by: judge}}}}\n"
        "  it is not sure:\n"
        "    operations: {agent/judge: {output: {approved: true, "
        "confidence: 0.1}}}\n"
        "    people: {h: {approve: true, by: ann}}\n"
        "    expect: {status: completed, state: {artifacts: {h: {approved: "
        "true, decided_by: person ann}}}}\n"
        "  it fails:\n"
        "    operations: {agent/judge: {error: {code: down}}}\n"
        "    people: {h: {reject: no}}\n"
        "    expect: {status: completed, state: {artifacts: {h: {approved: "
        "false}}}}\n"
        "  in earnest:\n"
        "    real: [agent]\n"
        "    people: {h: {approve: true, by: ann}}\n"
        "    expect: {status: completed, state: {artifacts: {h: "
        "{decided_by: person ann}}}}\n");
    desk_ok("$MORTISE test --crash-everywhere t.test.yaml");
    desk_ok(
        "sed -i 's/provider: scripted/provider: openai/; s/, replies.*/}}/' "
        "mortise.yaml");
    child_run("$MORTISE test --filter earnest t.test.yaml");
    desk_code(2);
    desk_err("'agent' would call the model 'default'");
}
END_TEST

/* What failed in a subgraph that is tried again gets the next answer of its list,
 * be the answers those of the node or of its operation. */
START_TEST(a_retried_subgraph_gets_the_next_answers)
{
    desk_graph(
        "g.graph",
        "start: s\n"
        "nodes:\n"
        "  s: {type: subgraph, retry_policy: {max_attempts: 2, delay: "
        "1ms}, next: END, graph: {start: [a, b], nodes: {a: {type: tool, "
        "tool: tried/echo, args: {value: 1}}, b: {type: tool, tool: "
        "tried/strike, args: {marker: m}}}}}\n");
    desk_put("t.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\n"
             "cases:\n"
             "  one:\n"
             "    nodes: {s/a: [{error: {code: x, class: transient}}, {output: "
             "2}]}\n"
             "    operations: {tried/strike: [{output: 3, in_doubt: done}]}\n"
             "    people: {s/b: {approve: true}}\n"
             "    expect: {status: completed, state: {artifacts: {s: {a: 2, b: "
             "3}}}}\n");
    desk_ok("$MORTISE test --crash-everywhere t.test.yaml");
}
END_TEST

/* What an executor asks from inside a node takes the bare value; it may also
 * wait until the time is over. */
START_TEST(executors_ask_people)
{
    add_plugin("awaits");
    desk_graph("g.graph", "start: ask\n"
                          "nodes:\n"
                          "  ask: {type: tool, tool: awaits/ask, args: "
                          "{prompt: how many?, for_ms: 900000}, next: END}\n");
    desk_put("t.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\n"
             "cases:\n"
             "  seven:\n"
             "    real: [awaits]\n"
             "    people: {ask: {answer: 7}}\n"
             "    expect: {status: completed, state: {artifacts: {ask: 7}}}\n"
             "  none:\n"
             "    real: [awaits]\n"
             "    people: {ask: {timeout: true}}\n"
             "    expect: {status: completed, events: [{type: decision, "
             "decision: expired}]}\n"
             "  no answer:\n"
             "    real: [awaits]\n"
             "    people: {ask: {approve: true}}\n"
             "    expect: {status: waiting}\n");
    desk_ok("$MORTISE test --crash-everywhere --filter seven t.test.yaml");
    desk_ok("$MORTISE test --crash-everywhere --filter none t.test.yaml");
    child_run("$MORTISE test --filter 'no answer' t.test.yaml");
    desk_code(1);
    desk_out("'ask' asks (custom); its answer must be: answer");
}
END_TEST

/* What an executor emits besides its output is scripted, too: where to go, and
 * what to write. */
START_TEST(answers_go_and_write)
{
    desk_graph("g.graph", "start: a\n"
                          "nodes:\n"
                          "  a: {type: tool, tool: tried/nap, args: {ms: 1}, "
                          "targets: [b, c], next: b}\n"
                          "  b: {type: tool, tool: tried/echo, args: {value: "
                          "1}, next: END}\n"
                          "  c: {type: tool, tool: tried/echo, args: {value: "
                          "2}, next: END}\n");
    desk_put("t.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\n"
             "cases:\n"
             "  there:\n"
             "    nodes: {a: {output: 1, goto: c, update: {scratch: {x: 1}}}}\n"
             "    expect: {status: completed, path: [a, c], state: {scratch: "
             "{x: 1}, artifacts: {a: 1, c: 2}}}\n"
             "  nowhere:\n"
             "    nodes: {a: {goto: a}}\n"
             "    expect: {status: failed, path: [a]}\n");
    desk_ok("$MORTISE test --crash-everywhere t.test.yaml");
}
END_TEST

/* What a call says that it cost is scripted, too: it stands in events, counts
 * against the budget, and failures count like successes. */
START_TEST(answers_cost)
{
    desk_graph("g.graph", "start: a\n"
                          "budget: {usd: 0.5, on_exceeded: fail}\n"
                          "nodes:\n"
                          "  a: {type: tool, tool: tried/echo, args: {value: "
                          "1}, next: b,\n"
                          "      retry_policy: {max_attempts: 2}}\n"
                          "  b: {type: tool, tool: tried/echo, args: {value: "
                          "2}, next: END}\n");
    desk_put("t.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\n"
             "cases:\n"
             "  enough:\n"
             "    nodes: {a: {output: 1, usage: {usd: 0.25, model: m}}, b: "
             "{output: 2}}\n"
             "    expect: {status: completed, events: [{type: node_end, node: "
             "a, usage: {usd: 0.25}}]}\n"
             "  much:\n"
             "    nodes:\n"
             "      a: [{error: {code: c, class: transient}, usage: {usd: "
             "0.5}},\n"
             "          {output: 1, usage: {usd: 0.25, output_tokens: 3}}]\n"
             "    expect: {status: failed, error: budget, path: [a], events: "
             "[{type: warning}, {type: budget_exceeded, used: 0.75}]}\n");
    desk_ok("$MORTISE test t.test.yaml");
}
END_TEST

/* Guardrails of edges and of graphs inside are scripted like any: each question
 * to one goes on in its list, for each node by itself. */
START_TEST(guardrails_are_scripted)
{
    desk_graph("g.graph", "start: a\n"
                          "nodes:\n"
                          "  a: {type: tool, tool: tried/nap, args: {ms: 1}}\n"
                          "  b: {type: tool, tool: tried/echo, args: {value: "
                          "1}}\n"
                          "  c:\n"
                          "    type: subgraph\n"
                          "    input_mapping: {input.v: artifacts.a}\n"
                          "    output_mapping: {scratch.c: artifacts.d}\n"
                          "    guardrail_policy: {input: [pattern], output: "
                          "[pattern], on_violation: sanitize}\n"
                          "    graph:\n"
                          "      start: d\n"
                          "      nodes:\n"
                          "        d: {type: tool, tool: tried/echo, args: "
                          "{value: \"${input.v}\"}}\n"
                          "  safe: {type: tool, tool: tried/echo, args: "
                          "{value: 1}, next: END}\n"
                          "edges:\n"
                          "  - {from: a, to: b, guardrail_policy: {input: "
                          "[pattern], on_violation: reroute, reroute_target: "
                          "safe}}\n"
                          "  - {from: a, to: c, guardrail_policy: {input: "
                          "[pattern], on_violation: sanitize}}\n");
    desk_put("t.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\n"
             "cases:\n"
             "  there:\n"
             "    nodes: {a: {output: 1}}\n"
             "    operations: {tried/echo: {output: {v: secret}}}\n"
             "    guardrails:\n"
             "      pattern:\n"
             "        - {violation: no, output: {v: 3}}\n"
             "        - {violation: no, output: {d: masked}}\n"
             "    expect:\n"
             "      status: completed\n"
             "      path: {contains: [a, safe], lacks: [b]}\n"
             "      state: {scratch: {c: masked}, artifacts: {a: {d: masked}, "
             "c: {d: "
             "masked}}}\n"
             "      events: [{type: guardrail_result, stage: edge, to: b, "
             "action: reroute}, {type: guardrail_result, stage: edge, to: c, "
             "action: sanitize}]\n"
             "  as it is:\n"
             "    nodes: {a: {output: 1}}\n"
             "    operations: {tried/echo: {output: 7}}\n"
             "    guardrails: {pattern: {pass: true}}\n"
             "    expect: {status: completed, path: {contains: [b, c/d], "
             "lacks: [safe]}, state: {scratch: {c: 7}}}\n");
    desk_ok("$MORTISE test --crash-everywhere t.test.yaml");
}
END_TEST

/* An operation that can tell whether it happened is asked, and the script tells
 * the truth: it is there once, and nobody else is asked. */
START_TEST(reconciling_is_scripted)
{
    add_plugin("counts_reconcile");
    desk_graph("g.graph", "start: count\n"
                          "nodes:\n"
                          "  count: {type: tool, tool: counts_reconcile/count, "
                          "next: END}\n");
    desk_put("t.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\n"
             "cases:\n"
             "  one:\n"
             "    operations: {counts_reconcile/count: [{output: 5}]}\n"
             "    expect: {status: completed, state: {artifacts: {count: "
             "5}}}\n"
             "  two:\n"
             "    operations: {counts_reconcile/count: {error: {code: c}}}\n"
             "    expect: {status: failed, error: c}\n");
    desk_ok("$MORTISE test --crash-everywhere t.test.yaml");
}
END_TEST

/* So is one that runs in earnest; what it says of itself is believed. */
START_TEST(reconciling_in_earnest)
{
    desk_ok("echo 'plugins: {path: [%s/plugins], config: {file: {roots: [.]}}}'"
            " >p && sed -i '/^plugins/d' mortise.yaml && cat p >>mortise.yaml",
            desk_plugins);
    desk_graph("g.graph", "start: write\n"
                          "nodes:\n"
                          "  write: {type: tool, tool: file/write, args: "
                          "{path: out, content: x}, next: END}\n");
    desk_put("t.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\n"
             "cases:\n"
             "  one:\n"
             "    real: [file]\n"
             "    expect: {status: completed, path: [write]}\n");
    desk_ok("$MORTISE test --crash-everywhere t.test.yaml && test -f out");
}
END_TEST

/* Time passes for what runs in earnest, too: a sleep of a week is over at
 * once.  It tells when it was over, which no crash may leave as it was. */
START_TEST(sleeps_are_no_time)
{
    desk_graph("g.graph", "start: sleep\n"
                          "interrupt_before: [done]\n"
                          "nodes:\n"
                          "  sleep: {type: tool, tool: time/sleep, args: {for: "
                          "7d}, next: done}\n"
                          "  done: {type: human, prompt: x, wait: 1h, next: "
                          "END}\n");
    desk_put("t.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\n"
             "cases:\n"
             "  one:\n"
             "    real: [time]\n"
             "    people: {done: [{approve: true}, {answer: 1}]}\n"
             "    expect: {status: completed, path: [sleep, done]}\n"
             "  two:\n"
             "    nodes: {sleep: {output: {at: x, unix_ms: 1}}}\n"
             "    expect: {status: paused, path: [sleep, done]}\n");
    desk_ok("$MORTISE test t.test.yaml");
    desk_ok("$MORTISE test --crash-everywhere --filter two t.test.yaml");
    child_run("$MORTISE test --crash-everywhere --filter one t.test.yaml");
    desk_code(1);
    desk_out(
        "error[E0904]: when the process is killed before commit 1 was written, "
        "the continued run differs in state");
}
END_TEST

/* A crash spends what the call that it cuts off had reserved.  A case that uses its
 * budget up to the last call holds, whatever follows where that is exceeded; so
 * does one whose budget is low after the crash alone. */
static const char *const bounds[] = {
    "{tool_calls: 2}", "{tool_calls: 2, on_exceeded: fail}",
    "{tool_calls: 2, on_exceeded: {goto: c}}", "{tool_calls: 3}"};

START_TEST(a_crash_spends)
{
    char body[512];

    snprintf(body, sizeof body,
             "budget: %s\nstart: a\nnodes:\n"
             "  a: {type: tool, tool: tried/echo, args: {value: 1}, next: b}\n"
             "  b: {type: tool, tool: tried/echo, args: {value: 2}, next: c}\n"
             "  c: {type: pass, value: 1, next: END}\n",
             bounds[_i]);
    desk_graph("g.graph", body);
    desk_put("t.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\ncases:\n  one:\n"
             "    nodes: {a: {output: 1}, b: {output: 2}}\n"
             "    expect: {status: completed, path: [a, b, c]}\n");
    desk_ok("$MORTISE test --crash-everywhere t.test.yaml");
}
END_TEST

/* The id that a deployment gives a guardrail is scripted, or runs in earnest
 * with its config. */
START_TEST(guardrails_by_their_ids)
{
    desk_ok("echo 'guardrails: {names: {plugin: pattern, config: {rules: "
            "[{name: anna, pattern: anna}]}}}' >>mortise.yaml");
    desk_graph("g.graph", "start: look\n"
                          "nodes:\n"
                          "  look: {type: guardrail, guardrails: [names], "
                          "target: input.text, on_violation: sanitize, next: "
                          "END}\n");
    desk_put("t.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\n"
             "cases:\n"
             "  real:\n"
             "    input: {text: anna}\n"
             "    expect: {events: [{type: guardrail_result, violation: "
             "true}]}\n"
             "  scripted:\n"
             "    input: {text: anna}\n"
             "    guardrails: {names: {pass: true}}\n"
             "    expect: {state: {artifacts: {look: anna}}}\n");
    desk_ok("$MORTISE test t.test.yaml");
}
END_TEST

/* Interrupted, it kills what it had started and clears its traces. */
START_TEST(interrupts_leave_nothing)
{
    pid_t pid;

    put_test("  one:\n"
             "    operations: {tried/strike: {output: ~}}\n"
             "    real: [tried]\n"
             "    people: {START: {approve: true}, strike: {approve: true}, "
             "nap: {approve: true, args: "
             "{ms: 60000}}, echo: {approve: true}}\n"
             "    expect: {status: completed}\n");
    pid = child_start("naps", "$MORTISE test t.test.yaml");
    for (int i = 0; i < 3000; i++) {
        child_run("grep -l strike mortise-case-*/ledger");
        if (child.code == 0)
            break;
        usleep(20000);
    }
    ck_assert_int_eq(child.code, 0);
    ck_assert_int_eq(kill(pid, SIGTERM), 0);
    ck_assert_int_eq(child_wait(pid), 1);
    child_await("naps.err", "interrupted");
}
END_TEST

/* ---- time (15.11) ----------------------------------------------------------- */

#define GET "{status: 200, url: a, headers: {}, body: 1}"

#define TIMES                                                                  \
    "state: {input: {type: object, properties: {n: {type: array}}}}\n"         \
    "start: fan\nnodes:\n"                                                     \
    "  fan: {type: tool, tool: text/lines, args: {text: a}, map: {over: "      \
    "input.n, as: i, to: work, join: last, max_parallel: 2}}\n"                \
    "  work: {type: tool, tool: http/get, args: {url: \"http://a.example\"}, " \
    "next: last, retry_policy: {max_attempts: 2, backoff: fixed, delay: "      \
    "10m, max_delay: 10m, jitter: 0}}\n"                                       \
    "  last: {type: tool, tool: http/get, args: {url: "                        \
    "\"http://b.example\"}, next: END}\n"

static void times(const char *answers, const char *expect)
{
    char text[1024];

    desk_graph("times", TIMES);
    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: times}\n"
             "graph: times.yaml\ncases:\n  c:\n    input: {n: [1, 2, 3, 4, "
             "5]}\n    nodes: {work: %s, last: {output: " GET "}}\n"
             "    expect: %s\n",
             answers, expect);
    desk_put("times.test.yaml", text);
    child_run("$MORTISE test times.test.yaml");
}

/* How long it takes, in the time that passes there, and how many are at work at
 * once.
 * key: test/what is expected.elapsed, test/what is expected.within
 * key: test/what is expected.parallel */
START_TEST(times_are_expected)
{
    static const char five[] = "{after: 1s, output: " GET "}";
    static const char *const no_count[] = {
        "two", "1.5", "-1", "0", "1000001", "true", "[1]", "null", "{}"};
    char expect[64];

    times(five, "{status: completed, elapsed: 3s, within: 3s, parallel: {work: "
                "2}}");
    desk_code(0);
    times(five, "{elapsed: 2s}");
    desk_code(1);
    desk_out("elapsed: expected 2s, got 3s");
    times(five, "{within: 2999ms}");
    desk_code(1);
    desk_out("within: expected at most 2s999ms, got 3s");
    times(five, "{parallel: {work: 3}}");
    desk_code(1);
    desk_out("parallel: expected 3 executions of 'work' at once, got 2");
    times("{output: " GET "}", "{elapsed: 0s, parallel: {last: 1}}");
    desk_code(1);
    desk_out("calls that take no time are never parallel");
    /* a retry waits */
    times("[{error: {code: x, class: transient}}, {output: " GET "}]",
          "{elapsed: 30m}");
    desk_code(0);
    times(five, "{parallel: {wrok: 1}}");
    desk_code(2);
    desk_err("did you mean 'work'?");
    for (size_t i = 0; i < sizeof no_count / sizeof *no_count; i++) {
        snprintf(expect, sizeof expect, "{parallel: {work: %s}}", no_count[i]);
        times(five, expect);
        desk_code(2);
        desk_err("'parallel'");
    }
}
END_TEST

/* ---- reports (15.11) --------------------------------------------------------- */

/* What no case ran is said, with its place; several files of a graph are one. */
START_TEST(coverage_is_counted)
{
    desk_ok(IN_CASES "--coverage trip.test.yaml", root);
    desk_out("trip.graph.yaml: 8 of 8 nodes, 12 of 12 edges\n");
    desk_ok(IN_CASES "--coverage rivals.test.yaml", root);
    desk_out("rivals.graph.yaml: 8 of 9 nodes, 12 of 15 edges\n  "
             "rivals.graph.yaml:15:3: node never ran: r3\n");
    desk_out("edge never taken: j>r3\n");
    desk_out("edge never taken: j>END\n");
    child_run(IN_CASES "--coverage --filter 'somebody says no' trip.test.yaml",
              root);
    desk_code(0);
    desk_out("trip.graph.yaml: 6 of 8 nodes, 8 of 12 edges\n");
    desk_out("  trip.graph.yaml:46:3: node never ran: book\n");
    desk_ok(IN_CASES "--coverage --json rivals.test.yaml", root);
    desk_out("\"taken\": 12,");
    desk_out("\"name\": \"r3>w\"");
    /* a budget that is used up leads where its edge does */
    desk_ok("cd %s && $MORTISE test --coverage --deployment "
            "configs/research/mortise.yaml configs/research/research.test.yaml",
            root);
    desk_out("4 of 4 nodes, 7 of 7 edges\n");
}
END_TEST

/* The last edge of a map's body is taken when nothing follows inside: the join
 * follows the map. */
START_TEST(ways_out_of_a_map_are_counted)
{
    desk_graph(
        "m", "start: b\nnodes:\n"
             "  b: {type: tool, tool: text/split, args: {text: a b, separator: "
             "\" \"}, map: {over: output.parts, as: w, to: x, join: j}}\n"
             "  x: {type: tool, tool: text/hash, args: {text: \"${w}\"}, next: "
             "y}\n"
             "  y: {type: tool, tool: text/hash, args: {text: \"${w}\"}, "
             "routes: [{when: w == \"a\", to: z}], default: j}\n"
             "  z: {type: tool, tool: text/hash, args: {text: z}, next: j}\n"
             "  j: {type: tool, tool: text/hash, args: {text: j}, next: "
             "END}\n");
    desk_put("m.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: m}\ngraph: "
             "m.yaml\ncases: {c: {expect: {status: completed}}}\n");
    desk_ok("$MORTISE test --coverage m.test.yaml");
    desk_out("5 of 5 nodes, 7 of 7 edges\n");
}
END_TEST

/* ... as JUnit's XML, whatever is in the words. */
START_TEST(junit_is_written)
{
    desk_graph("times", TIMES);
    desk_put("odd.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: times}\n"
             "graph: times.yaml\ncases:\n"
             "  good: {input: {n: []}, nodes: {last: {output: " GET
             "}}, expect: "
             "{status: completed}}\n"
             "  \"<a> & \\\"b\\\" \\u0001\": {input: {n: []}, nodes: {last: "
             "{output: " GET "}}, expect: {error: \"<\\uFFFF>\"}}\n");
    child_run("$MORTISE test --junit out.xml odd.test.yaml");
    desk_code(1);
    desk_out("1 passed, 1 failed");
    desk_ok("cat out.xml");
    desk_out("<testsuites tests=\"2\" failures=\"1\" errors=\"0\" time=\"");
    desk_out("<testcase classname=\"odd.test.yaml\" name=\"good\" time=\"");
    desk_out("name=\"&lt;a&gt; &amp; &quot;b&quot; ?\"");
    desk_out("<failure type=\"E0902\" message=\"error: expected '&lt;?&gt;'");
    child_run("$MORTISE test --junit /nowhere/out.xml odd.test.yaml");
    desk_code(3);
    desk_err("write /nowhere/out.xml: No such file or directory");
    desk_not_out("passed");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_test");
    TCase *tc = tcase_create("cases");

    tcase_set_timeout(tc, 120);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, good_cases_hold);
    tcase_add_test(tc, good_cases_survive_crashes);
    tcase_add_test(tc, rivals_survive_crashes);
    tcase_add_test(tc, doubts_use_answers_up);
    tcase_add_test(tc, two_are_due_together);
    tcase_add_test(tc, failures_are_shown);
    tcase_add_test(tc, doubt_must_be_settled);
    tcase_add_test(tc, broken_files_are_not_run);
    tcase_add_test(tc, filter_and_json);
    tcase_add_test(tc, scripted_calls_reach_no_plugin);
    tcase_add_test(tc, real_calls_do);
    tcase_add_test(tc, calls_are_approved_and_rejected);
    tcase_add_test(tc, nodes_are_approved_and_rejected);
    tcase_add_test(tc, plans_are_approved_and_rejected);
    tcase_add_test(tc, deeds_fit_what_is_asked);
    tcase_add_test(tc, tools_are_scripted_and_approved);
    tcase_add_test(tc, a_call_that_asks_is_no_less_of_a_doubt);
    tcase_add_test(tc, waiting_is_no_repetition);
    tcase_add_test(tc, a_crash_leads_elsewhere);
    tcase_add_test(tc, doubts_are_scripted);
    tcase_add_test(tc, a_late_effect_is_in_doubt);
    tcase_add_test(tc, judges_are_scripted);
    tcase_add_test(tc, a_retried_subgraph_gets_the_next_answers);
    tcase_add_test(tc, executors_ask_people);
    tcase_add_test(tc, answers_go_and_write);
    tcase_add_test(tc, answers_cost);
    tcase_add_test(tc, guardrails_are_scripted);
    tcase_add_test(tc, reconciling_is_scripted);
    tcase_add_test(tc, reconciling_in_earnest);
    tcase_add_test(tc, sleeps_are_no_time);
    tcase_add_loop_test(tc, a_crash_spends, 0,
                        sizeof bounds / sizeof bounds[0]);
    tcase_add_test(tc, guardrails_by_their_ids);
    tcase_add_test(tc, times_are_expected);
    tcase_add_test(tc, coverage_is_counted);
    tcase_add_test(tc, ways_out_of_a_map_are_counted);
    tcase_add_test(tc, junit_is_written);
    tcase_add_test(tc, interrupts_leave_nothing);
    suite_add_tcase(s, tc);
    tc = tcase_create("effects");
    tcase_set_timeout(tc, 240);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, each_kind_of_effect_is_what_it_is);
    tcase_add_test(tc, a_reconciled_call_wins_no_race);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return getcwd(root, sizeof root) == NULL ? 1 : test_run(suite());
}
