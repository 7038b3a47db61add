/* test_cli_casefile.c -- Test files: what is refused and how, and what arrives
 * of those that are not. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "testkit/cases/casefile.h"
#include "lib/desk.h"
#include "lib/json.h"
#include "lib/test.h"

static char root[4096];

/* ---- what is refused ------------------------------------------------------
 */

/* Each file of tests/cases/bad gives its golden text, to the letter, and no
 * run of it: `mortise check` ends with 2.  MORTISE_GOLDEN=1 writes the texts
 * anew. */
START_TEST(bad_files_say_what_is_wrong)
{
    glob_t found;

    ck_assert_int_eq(glob("tests/cases/bad/*.yaml", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char golden[4096], *want;
        const char *path = found.gl_pathv[i];

        child_run("cd %s/tests/cases && $MORTISE check %s", root,
                  path + strlen("tests/cases/"));
        desk_code(2);
        snprintf(golden, sizeof golden, "%.*s.txt", (int)strlen(path) - 5,
                 path);
        if (getenv("MORTISE_GOLDEN") != NULL)
            test_write(golden, child.out, strlen(child.out));
        want = test_read(golden, NULL);
        ck_assert_str_eq(child.out, want);
        free(want);
    }
    ck_assert_uint_gt(found.gl_pathc, 10);
    globfree(&found);
}
END_TEST

/* Findings of the graph are shown beside those of the test, and a Deployment
 * file that the test names is the one that counts. */
START_TEST(graph_and_deployment_are_looked_at)
{
    desk_graph("g.graph", "start: a\n"
                          "nodes:\n"
                          "  a: {type: human, prompt: x, next: b}\n");
    desk_put("t.test.yaml", "apiVersion: mortise/v1\nkind: Test\n"
                            "metadata: {name: t}\ngraph: g.graph.yaml\n"
                            "cases: {one: {expect: {}}}\n");
    child_run("$MORTISE check t.test.yaml");
    desk_code(2);
    desk_out("g.graph.yaml:6:37: error[E0301]");

    desk_graph(
        "g.graph",
        "start: a\n"
        "nodes:\n"
        "  a: {type: tool, tool: tried/echo, args: {value: 1}, next: END}\n");
    desk_ok("mkdir -p elsewhere && cp g.graph.yaml elsewhere && "
            "sed s,g.graph,elsewhere/g.graph, t.test.yaml >far.test.yaml");
    child_run("cd elsewhere && $MORTISE check ../far.test.yaml");
    desk_code(2);
    desk_out("error[E0501]: no plugin 'tried'");
    desk_ok("echo 'deployment: mortise.yaml' >>far.test.yaml; "
            "cd elsewhere && $MORTISE check ../far.test.yaml");
}
END_TEST

/* Expected events are of a type that there is, with members that it has. */
START_TEST(events_are_known)
{
    desk_graph(
        "g.graph",
        "start: a\n"
        "nodes:\n"
        "  a: {type: tool, tool: tried/echo, args: {value: 1}, next: END}\n");
    desk_put("t.test.yaml",
             "apiVersion: mortise/v1\nkind: Test\nmetadata: {name: t}\n"
             "graph: g.graph.yaml\ncases:\n"
             "  a: {expect: {events: [{type: guardrail_reslt}]}}\n"
             "  b: {expect: {events: [{type: node_end, nod: a, cached: true}]}}"
             "\n"
             "  c: {expect: {events: [{type: text_delta, text: x}]}}\n"
             "  d: {expect: {events: [{type: decision, decison: approved}]}}\n"
             "  e: {expect: {events: [{type: node_end, node: a, ms: 0}, {node: "
             "a}]}}\n");
    child_run("$MORTISE check t.test.yaml");
    desk_code(2);
    desk_out("t.test.yaml:6:32: error[E0207]: no durable event has the type "
             "'guardrail_reslt'\n");
    desk_out("help: did you mean 'guardrail_result'?");
    desk_out("t.test.yaml:7:42: warning[W0905]: an event node_end has no "
             "member 'nod'\n");
    desk_out("help: did you mean 'node'?");
    desk_out("t.test.yaml:8:32: error[E0207]: no durable event has the type "
             "'text_delta'\n");
    desk_out("t.test.yaml:9:42: warning[W0905]: an event decision has no "
             "member 'decison'\n");
    desk_out("help: did you mean 'decision'?");
    desk_not_out("t.test.yaml:10:");
}
END_TEST

/* ---- what arrives ---------------------------------------------------------
 */

static const char text[] =
    "apiVersion: mortise/v1\n"
    "kind: Test\n"
    "metadata: {name: t}\n"
    "graph: sub/g.graph.yaml\n"
    "deployment: /etc/d.yaml\n"
    "cases:\n"
    "  x-not: 1\n"
    "  one:\n"
    "    description: words\n"
    "    input: {n: 1}\n"
    "    operations:\n"
    "      file/read: {output: ~, args: {a: 1}, after: 2s, in_doubt: retry,\n"
    "        usage: {usd: 0.25, model: m, input_tokens: 3, cached_tokens: "
    "2,\n"
    "          cache_write_tokens: 1, reasoning_tokens: 5}}\n"
    "      x-y: 1\n"
    "    nodes:\n"
    "      fetch: [{output: 1, goto: x, update: {scratch: {}}}, {error: {code: "
    "c, class: timeout}}]\n"
    "    guardrails: {pattern: {violation: bad, output: good}}\n"
    "    people: {ask: [{reject: why, by: anna}, {approve: true, answer: 4}]}\n"
    "    real: [file]\n"
    "    expect:\n"
    "      status: failed\n"
    "      error: c\n"
    "      reason: r\n"
    "      path: [a, b]\n"
    "      state: {scratch: {s: 1}, artifacts: {}}\n"
    "      events: [{type: run_end}]\n"
    "  two: {expect: {path: {contains: [a], lacks: [b]}}}\n";

static struct mortise_diags diags;
static struct mortise_casefile *f;

static int read_it(const char *path)
{
    return mortise_casefile_read(&f, &test_mem, path, text, sizeof text - 1,
                                 &diags);
}

static void begin(void)
{
    test_begin();
    test_count_json();
    mortise_diags_init(&diags, &test_mem);
}

static void end(void)
{
    mortise_casefile_free(f);
    f = NULL;
    mortise_diags_finish(&diags);
    test_nothing_left();
}

/* Everything there is arrives; paths are seen from where the file is.
 * key: test/test file.graph, test/test file.deployment, test/test file.cases
 * key: test/case.input, test/case.operations, test/scripted answer.args
 * key: test/scripted answer.output, test/scripted answer.error
 * key: test/scripted answer.usage
 * key: test/scripted error.code, test/scripted error.class
 * key: test/scripted answer.after, test/scripted answer.in_doubt=retry
 * key: test/scripted answer.goto, test/scripted answer.update, test/case.nodes
 * key: test/case.guardrails, test/scripted verdict.violation
 * key: test/scripted verdict.output, test/case.people
 * key: test/what a person does.approve, test/what a person does.reject
 * key: test/what a person does.answer, test/what a person does.by
 * key: test/case.real, test/case.expect, test/what is expected.status
 * key: test/what is expected.reason, test/what is expected.error
 * key: test/what is expected.path, test/expected path.contains
 * key: test/expected path.lacks, test/what is expected.state
 * key: test/expected state.scratch, test/expected state.artifacts
 * key: test/what is expected.events */
START_TEST(every_key_arrives)
{
    const struct mortise_case *c;
    const struct mortise_case_answer *a;
    const union mortise_case_item *p;
    struct mortise_usage usage;

    ck_assert_int_eq(read_it("dir/t.test.yaml"), MORTISE_OK);
    ck_assert_str_eq(f->graph, "dir/sub/g.graph.yaml");
    ck_assert_str_eq(f->deployment, "/etc/d.yaml");
    ck_assert_uint_eq(f->n_cases, 2);
    c = &f->cases[0];
    ck_assert_str_eq(c->name->str, "one");
    ck_assert_uint_eq(c->input->n, 1);
    ck_assert_uint_eq(c->operations.n, 1);
    ck_assert(!c->operations.list[0].once);
    a = &c->operations.list[0].list[0].answer;
    ck_assert_int_eq(a->output->kind, MORTISE_YAML_NULL);
    ck_assert_uint_eq(a->args->n, 1);
    ck_assert_uint_eq(a->after_ms, 2000);
    ck_assert_int_eq(a->in_doubt, MORTISE_CASE_RETRY);
    ck_assert_int_eq(mortise_case_parse_usage(a->usage, &usage, NULL),
                     MORTISE_OK);
    ck_assert_uint_eq(usage.amount[MORTISE_USED_USD], 250000000);
    ck_assert_uint_eq(usage.amount[MORTISE_USED_INPUT], 3);
    ck_assert_uint_eq(usage.amount[MORTISE_USED_CACHED], 2);
    ck_assert_uint_eq(usage.amount[MORTISE_USED_CACHE_WRITE], 1);
    ck_assert_uint_eq(usage.amount[MORTISE_USED_REASONING], 5);
    mortise_usage_finish(&usage);
    ck_assert(c->nodes.list[0].once);
    ck_assert_uint_eq(c->nodes.list[0].n, 2);
    a = &c->nodes.list[0].list[0].answer;
    ck_assert_str_eq(a->go_to, "x");
    ck_assert_uint_eq(a->update->n, 1);
    a = &c->nodes.list[0].list[1].answer;
    ck_assert_ptr_null(a->output);
    ck_assert_str_eq(a->code, "c");
    ck_assert_str_eq(a->error_class, "timeout");
    a = &c->guardrails.list[0].list[0].answer;
    ck_assert_str_eq(a->violation, "bad");
    ck_assert_str_eq(a->output->str, "good");
    p = c->people.list[0].list;
    ck_assert_int_eq(p[0].person_action.action_kind, MORTISE_CASE_REJECT);
    ck_assert_str_eq(p[0].person_action.reason, "why");
    ck_assert_str_eq(p[0].person_action.by, "anna");
    ck_assert_int_eq(p[1].person_action.action_kind, MORTISE_CASE_APPROVE);
    ck_assert_int_eq(p[1].person_action.answer->u.i, 4);
    ck_assert_str_eq(c->real->items[0]->str, "file");
    ck_assert_str_eq(c->expect.status->str, "failed");
    ck_assert_str_eq(c->expect.error->str, "c");
    ck_assert_str_eq(c->expect.reason->str, "r");
    ck_assert_uint_eq(c->expect.path->n, 2);
    ck_assert_uint_eq(c->expect.scratch->n, 1);
    ck_assert_uint_eq(c->expect.artifacts->n, 0);
    ck_assert_uint_eq(c->expect.events->n, 1);
    c = &f->cases[1];
    ck_assert_ptr_null(c->expect.path);
    ck_assert_str_eq(c->expect.contains->items[0]->str, "a");
    ck_assert_str_eq(c->expect.lacks->items[0]->str, "b");
}
END_TEST

/* What that file leaves out arrives as well.
 * key: test/scripted error.message, test/scripted answer.in_doubt=done
 * key: test/scripted answer.in_doubt=fail, test/scripted verdict.pass
 * key: test/scripted verdict.after, test/what a person does.timeout
 * key: test/what a person does.args */
START_TEST(the_rest_arrives)
{
    static const char rest[] =
        "apiVersion: mortise/v1\n"
        "kind: Test\n"
        "metadata: {name: t}\n"
        "graph: g.graph.yaml\n"
        "cases:\n"
        "  one:\n"
        "    operations:\n"
        "      a/done: {output: 1, in_doubt: done}\n"
        "      a/fail: {error: {code: c, message: words}, in_doubt: fail}\n"
        "    guardrails: {g: [{pass: true}, {violation: v, after: 3s}]}\n"
        "    people: {ask: [{timeout: true}, {approve: true, args: {n: 1}}]}\n"
        "    expect: {status: completed}\n";
    const struct mortise_case *c;
    const struct mortise_case_answer *a;

    ck_assert_int_eq(mortise_casefile_read(&f, &test_mem, "t.test.yaml", rest,
                                           sizeof rest - 1, &diags),
                     MORTISE_OK);
    c = &f->cases[0];
    a = &c->operations.list[0].list[0].answer;
    ck_assert_int_eq(a->in_doubt, MORTISE_CASE_DONE);
    a = &c->operations.list[1].list[0].answer;
    ck_assert_int_eq(a->in_doubt, MORTISE_CASE_FAIL);
    ck_assert_str_eq(a->message, "words");
    ck_assert(c->guardrails.list[0].list[0].answer.passes);
    ck_assert_uint_eq(c->guardrails.list[0].list[1].answer.after_ms, 3000);
    ck_assert_int_eq(c->people.list[0].list[0].person_action.action_kind,
                     MORTISE_CASE_TIMEOUT);
    ck_assert_uint_eq(c->people.list[0].list[1].person_action.args->n, 1);
}
END_TEST

/* The file has a name, which is looked at as any is.
 * key: test/test file.metadata */
START_TEST(its_metadata_is_looked_at)
{
    static const char odd[] = "apiVersion: mortise/v1\n"
                              "kind: Test\n"
                              "metadata: {name: t, version: 1}\n"
                              "graph: g.graph.yaml\n"
                              "cases: {one: {expect: {status: completed}}}\n";

    ck_assert_int_eq(mortise_casefile_read(&f, &test_mem, "t.test.yaml", odd,
                                           sizeof odd - 1, &diags),
                     MORTISE_ECHECK);
}
END_TEST

/* Reading copes with its first, second, ... allocation failing. */
START_TEST(survives_oom)
{
    int n = 0, rv;

    do {
        mortise_casefile_free(f);
        mortise_diags_finish(&diags);
        mortise_diags_init(&diags, &test_mem);
        test_mem_fail_at(n++);
        rv = read_it("t.test.yaml");
        ck_assert_int_eq(rv, test_mem_failed() ? MORTISE_ENOMEM : MORTISE_OK);
        ck_assert_int_eq(f == NULL, test_mem_failed());
    } while (test_mem_failed());
    ck_assert_int_gt(n, 10);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_casefile");
    TCase *tc = tcase_create("files");

    tcase_set_timeout(tc, 60);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, bad_files_say_what_is_wrong);
    tcase_add_test(tc, graph_and_deployment_are_looked_at);
    tcase_add_test(tc, events_are_known);
    suite_add_tcase(s, tc);
    tc = tcase_create("reading");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, every_key_arrives);
    tcase_add_test(tc, the_rest_arrives);
    tcase_add_test(tc, its_metadata_is_looked_at);
    tcase_add_test(tc, survives_oom);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return getcwd(root, sizeof root) == NULL ? 1 : test_run(suite());
}
