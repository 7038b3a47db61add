/* test_cli_old_words.c -- the texts of a graph mean to a run what they meant
 * when it was admitted.
 *
 * tests/stores/5f991d9 is a store that a program of that revision made, under
 * the third rules.  Its run `waits` is of the graph below and waits for an
 * answer; what its patterns and expressions say, later programs refuse or read
 * otherwise (issue 15, point 9).  The run goes on as it would have; the same
 * graph is refused today. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "lib/desk.h"

static char root[4096];

static void begin(void)
{
    desk_begin();
    desk_put("mortise.yaml", "apiVersion: mortise/v1\nkind: Deployment\n"
                             "metadata: {name: old}\n"
                             "store: {path: ./store}\n");
    desk_ok("cp -r %s/tests/stores/5f991d9 store && chmod -R go-rwx store",
            root);
    setenv("MORTISE_DEPLOYMENT", "mortise.yaml", 1);
    desk_graph("patterns",
               "state:\n"
               "  input:\n"
               "    type: object\n"
               "    properties: {name: {type: string, pattern: "
               "'(?i)^[a-z]++$'}}\n"
               "  scratch:\n"
               "    type: object\n"
               "    properties: {word: {type: string, pattern: '^a.b$'}}\n"
               "start: ask\n"
               "nodes:\n"
               "  ask:\n"
               "    type: human\n"
               "    prompt: a word?\n"
               "    schema: {type: object, properties: {word: {type: string, "
               "pattern: '^(?>a.)b$'}}}\n"
               "    outputs:\n"
               "      scratch.word: output.answer.word\n"
               "      scratch.name: input.name.matches('(?<=B)o++(?=b)')\n"
               "      scratch.line: output.answer.word.matches(r'^a\\vb$')\n"
               "      scratch.bytes: size(rb'o\\n')\n"
               "      scratch.text: \"'%d'.format([1, 2])\"\n"
               "    next: END\n");
}

static void end(void)
{
    unsetenv("MORTISE_DEPLOYMENT");
    desk_end();
}

/* It is looked at, answered and ends: U+2028 is a `.` to it, and a \v. */
START_TEST(a_run_admitted_before_goes_on)
{
    desk_ok("$MORTISE show waits");
    desk_ok("$MORTISE history waits");
    child_run("$MORTISE approve $($MORTISE inbox waits --ids) --answer "
              "'{\"word\": \"axxb\"}'");
    ck_assert_int_ne(child.code, 0);
    desk_ok("$MORTISE approve $($MORTISE inbox waits --ids) --answer "
            "'{\"word\": \"a\\u2028b\"}'");
    desk_ok("$MORTISE show waits --json | tr -d ' \\n'");
    desk_out("\"status\":\"completed\"");
    desk_out("\"name\":true,\"line\":true,\"bytes\":3,\"text\":\"1\"");
}
END_TEST

/* A new one is not admitted, and hears of every word. */
START_TEST(the_same_graph_is_refused_today)
{
    child_run("$MORTISE check patterns.yaml");
    ck_assert_int_ne(child.code, 0);
    desk_out("there is no (?i: write both cases");
    desk_out("there is no (?>: ");
    child_run("$MORTISE run patterns.yaml --input '{\"name\": \"Bob\"}'");
    ck_assert_int_ne(child.code, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_old_words");
    TCase *tc = tcase_create("old words");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, a_run_admitted_before_goes_on);
    tcase_add_test(tc, the_same_graph_is_refused_today);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return getcwd(root, sizeof root) == NULL ? 1 : test_run(suite());
}
