/* test_cli_graph.c -- `mortise graph show`: its formats, its options, and what
 * of a graph ran.  test_picture.c looks at the pictures themselves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lib/desk.h"
#include "lib/trace.h"

#define SHOW "LC_ALL=C.UTF-8 $MORTISE graph show "

static struct trace trace;

static void put_graph(void)
{
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: ask}\n"
                    "  ask:\n    type: human\n    prompt: Well?\n"
                    "    routes: [{when: output.approved, to: yes_}]\n"
                    "    default: no_\n"
                    "  yes_: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: END}\n"
                    "  no_: {type: tool, tool: tried/fail, args: {code: x.y}, "
                    "next: END}\n");
}

/* What lies in configs/ is drawn whole, in every format. */
START_TEST(configs)
{
    char graph[4096];
    json_t *all, *edges, *e;
    size_t i;

    ck_assert_ptr_nonnull(realpath("configs/triage/triage.graph.yaml", graph));
    desk_ok(SHOW "--json %s", graph);
    all = json_loads(child.out, 0, NULL);
    edges = json_object_get(all, "edges");
    ck_assert_uint_gt(json_array_size(edges), 10);
    desk_ok(SHOW "--width 500 %s", graph);
    ck_assert(trace_picture(&trace, child.out));
    json_array_foreach(edges, i, e)
    {
        const char *from = json_string_value(json_object_get(e, "from"));
        const char *to = json_string_value(json_object_get(e, "to"));

        ck_assert_msg(trace_has(&trace, from, to),
                      "no line from %s to %s in\n%s", from, to, child.out);
    }
    desk_ok(SHOW "--dot %s", graph);
    json_array_foreach(edges, i, e)
    {
        char line[256];

        snprintf(line, sizeof line, "\"%s\" -> \"%s\"",
                 json_string_value(json_object_get(e, "from")),
                 json_string_value(json_object_get(e, "to")));
        desk_out(line);
    }
    desk_ok(SHOW "--mermaid %s | grep -c -e ' -->'", graph);
    ck_assert_uint_eq((size_t)atoi(child.out), json_array_size(edges));
    json_decref(all);
}
END_TEST

/* What ran: waiting, then done and skipped, then failed. */
START_TEST(what_ran)
{
    put_graph();
    child_run("$MORTISE run g.yaml --id r");
    desk_ok(SHOW "g.yaml --run r");
    desk_out("\u2713 a (tool)");
    desk_out("? ask (human)");
    desk_ok(SHOW "g.yaml --run r --mermaid");
    desk_out("[\"ask (human) waiting\"]:::waiting");
    child_run("$MORTISE reject $($MORTISE inbox r --ids)");
    desk_ok(SHOW "g.yaml --run r --width 1");
    desk_out("ask (human) done\n");
    desk_out("yes_ (tool) skipped\n");
    desk_out("no_ (tool) failed\n");
    desk_ok(SHOW "g.yaml --run r --json");
    desk_out("\"ran\": \"skipped\"");
    ck_assert_str_eq(child.err, "");
    desk_ok("sed -i 's/Well/What/' g.yaml");
    desk_ok(SHOW "g.yaml --run r");
    desk_err("the run started with another version of this graph");
    child_run(SHOW "g.yaml --run none");
    desk_code(3);
}
END_TEST

/* What ran inside a nested graph is not taken for the nodes around it, and is
 * marked where it was. */
START_TEST(nested)
{
    desk_graph("n", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: s}\n"
                    "  s:\n    type: subgraph\n    next: END\n    graph:\n"
                    "      start: a\n      nodes:\n"
                    "        a: {type: human, prompt: Inner?, next: END}\n");
    child_run("$MORTISE run n.yaml --id r");
    desk_code(4);
    desk_ok(SHOW "n.yaml --run r");
    desk_out("\u2713 a (tool)");
    desk_out("? s (subgraph)");
    desk_out("\ns: graph n\n");
    desk_out("\u2502 ? a (human)   \u2502");
    desk_ok(SHOW "n.yaml");
    desk_out("\u2502 a (human) \u2502");
}
END_TEST

/* Of the elements of a map the one that failed is seen, of the rounds of a loop
 * the last; both are counted, at every depth, and what an ended graph never
 * began was skipped. */
START_TEST(rounds_and_elements)
{
    desk_graph("m",
               "start: s\nnodes:\n"
               "  s: {type: tool, tool: tried/echo, args: {value: 1},\n"
               "      map: {over: \"[1, 2, 3]\", to: w, join: j}}\n"
               "  w:\n    type: subgraph\n    input_mapping: {input.n: item}\n"
               "    next: j\n    graph:\n"
               "      start: pick\n      nodes:\n"
               "        pick:\n          type: router\n          routes:\n"
               "            - {when: input.n == 2, to: bad}\n"
               "            - {when: input.n == 9, to: never}\n"
               "          default: good\n"
               "        bad: {type: tool, tool: tried/fail, "
               "args: {code: x.y}, next: END}\n"
               "        good: {type: tool, tool: tried/echo, "
               "args: {value: 1}, next: END}\n"
               "        never: {type: tool, tool: tried/echo, "
               "args: {value: 1}, next: END}\n"
               "  j: {type: tool, tool: tried/echo, args: {value: 1},\n"
               "      join: best_effort, next: l}\n"
               "  l:\n    type: subgraph\n    next: r\n    graph:\n"
               "      start: once\n      nodes:\n"
               "        once: {type: tool, tool: tried/echo, "
               "args: {value: 1}, next: END}\n"
               "  r:\n    type: router\n    max_visits: 2\n"
               "    routes: [{when: \"true\", to: l}]\n    default: END\n");
    child_run("$MORTISE run m.yaml --id r");
    desk_code(4); /* r would run a third time */
    desk_ok(SHOW "m.yaml --run r");
    desk_out("\u2717 w (subgraph) x3");
    desk_out("\u2713 pick (router) x3");
    desk_out("\u2717 bad (tool)  \u2502");
    desk_out("\u2713 good (tool) x2");
    desk_out("- never (tool)");
    desk_out("\u2713 once (tool) x3");
    desk_out("\u2502 r (router) x2 \u2502"); /* it would be the third */
    desk_ok(SHOW "m.yaml --run r --json | tr -d ' \\n'");
    desk_out(
        "{\"id\":\"once\",\"type\":\"tool\",\"ran\":\"done\",\"visits\":3}");
    desk_ok(SHOW "m.yaml --run r --mermaid");
    desk_out("[\"good (tool) done x2\"]:::done");
    desk_ok(SHOW "m.yaml --run r --dot");
    desk_out("\"w/bad\" [label=\"bad\\ntool failed\"");
    /* history names the element and the round of each entry, as all do */
    desk_ok("$MORTISE history r");
    desk_out("failed w[1]/bad x.y");
    desk_out("gather w[*]");
    desk_out("done l#3/once");
    desk_ok("$MORTISE history r --json");
    desk_out("\"node\":\"bad\",\"path\":\"1.0/w#1[1]/bad#1\"");
    desk_out("\"node\":\"w\",\"path\":\"1.0/w#1[2]\"");
}
END_TEST

/* The locale and the width decide what a picture is made of. */
START_TEST(terminals)
{
    put_graph();
    desk_ok("LC_ALL=C $MORTISE graph show g.yaml");
    desk_out("+---");
    desk_not_out("\u2500");
    desk_ok(SHOW "g.yaml --ascii");
    desk_not_out("\u2500");
    desk_ok(SHOW "g.yaml");
    desk_out("\u2500");
    desk_out("  ask \u2192 yes_  when output.approved\n");
    desk_ok(SHOW "g.yaml --width 30");
    desk_out("\u2500");
    desk_not_out("(tool)"); /* there is no room for it */
    desk_ok(SHOW "g.yaml --width 12");
    desk_not_out("\u2500");
    desk_out("a (tool)\n  \u2192 ask\n");
}
END_TEST

/* What cannot be asked, and what cannot be drawn. */
START_TEST(errors)
{
    put_graph();
    child_run(SHOW "g.yaml --dot --mermaid");
    desk_code(3);
    child_run(SHOW "g.yaml --width ten");
    desk_code(3);
    child_run(SHOW "none.yaml");
    desk_code(3);
    desk_ok("sed -i 's/next: ask/next: aks/' g.yaml");
    child_run(SHOW "g.yaml");
    desk_code(2);
    desk_err("error[E0301]");
    ck_assert_str_eq(child.out, "");
    desk_ok("test ! -e state");
}
END_TEST

static const char a_model[] =
    "models: {default: {provider: scripted, model: s, "
    "replies: [{text: x}]}}";

/* `mortise graph import`: to stdout or a file, what is left behind on stderr
 * and in the exit code, and nothing where nothing can be made of it. */
START_TEST(imports)
{
    desk_deploy(a_model);
    desk_put("whole.json",
             "{\"goal\": \"g\", \"nodes\": {\"a\": {\"goal\": \"x\"}}}");
    desk_put("part.json", "{\"goal\": \"g\", \"nodes\": {\"a b\": {\"goal\": "
                          "\"x\"}}}");
    desk_put("broken.json", "{\"goal\": \"g\", \"nodes\": 3}");
    desk_ok("$MORTISE graph import whole.json");
    desk_out("\nmetadata:\n  name: whole\n");
    ck_assert_str_eq(child.err, "");
    child_run("$MORTISE graph import part.json -o part.yaml");
    desk_code(2);
    desk_err("part.json:1:25: warning[W1002]: 'a b' is named 'a_b'");
    ck_assert_str_eq(child.out, "");
    desk_ok("cat part.yaml");
    desk_out("#   1:25: 'a b' is named 'a_b'");
    child_run("$MORTISE graph import broken.json -o broken.yaml");
    desk_code(2);
    desk_err("broken.json:1:24: error[E1001]");
    desk_ok("test ! -e broken.yaml");
    child_run("$MORTISE graph import whole.json -o none/such/file.yaml");
    desk_code(3);
    desk_ok("$MORTISE graph import - <whole.json");
    desk_out("  name: imported\n");
}
END_TEST

/* It ends well only with what `mortise check` takes: what that refuses is
 * listed, of the file that was written, and what only this build refuses is
 * not. */
START_TEST(imports_what_check_accepts)
{
#define TOOL(name)                                                             \
    "{\"id\": \"g\", \"nodes\": [{\"id\": \"a\", \"type\": \"tool\", "         \
    "\"executorConfig\": {\"type\": \"tool\", \"toolName\": \"" name           \
    "\", \"args\": {\"text\": \"x\"}}, \"effectClass\": \"pure\"}], "          \
    "\"edges\": "                                                              \
    "[{\"source\": \"__START__\", \"target\": \"a\", \"type\": \"static\"}, "  \
    "{\"source\": \"a\", \"target\": \"__END__\", \"type\": \"static\"}]}"
    desk_put("good.json", TOOL("text/lines"));
    desk_put("bad.json", TOOL("text/nothing"));
    desk_put("plan.json",
             "{\"goal\": \"g\", \"hitl_mode\": \"approve_plan\", \"nodes\": "
             "[{\"id\": \"a\", \"goal\": \"x\", "
             "\"depends_on\": [], \"tool_allowlist\": []}]}");
    desk_deploy(a_model);
    desk_ok("$MORTISE graph import good.json -o good.graph.yaml");
    ck_assert_str_eq(child.err, "");
    desk_ok("$MORTISE check good.graph.yaml");
    desk_ok("$MORTISE graph import plan.json -o plan.graph.yaml");
    ck_assert_str_eq(child.err, "");
    desk_ok("$MORTISE check plan.graph.yaml");
    child_run("$MORTISE graph import bad.json -o bad.graph.yaml");
    desk_code(2);
    desk_err("bad.graph.yaml:9:11:");
    desk_err("'nothing'");
    desk_ok("test -s bad.graph.yaml");
    child_run("$MORTISE graph import bad.json");
    desk_code(2);
    desk_err("<stdout>:9:11:");
#undef TOOL
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_graph");
    TCase *tc = tcase_create("graph");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, configs);
    tcase_add_test(tc, what_ran);
    tcase_add_test(tc, nested);
    tcase_add_test(tc, rounds_and_elements);
    tcase_add_test(tc, terminals);
    tcase_add_test(tc, errors);
    tcase_add_test(tc, imports);
    tcase_add_test(tc, imports_what_check_accepts);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
