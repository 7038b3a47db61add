/* test_cli_elements.c -- what is an element's own, of a map, from the outside
 * (issue 15, point 7). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/desk.h"

static char root[4096];

static void begin(void)
{
    desk_begin();
    desk_put("mortise.yaml", "apiVersion: mortise/v1\nkind: Deployment\n"
                             "metadata: {name: d}\n"
                             "store: {path: ./store}\n");
    setenv("MORTISE_DEPLOYMENT", "mortise.yaml", 1);
    desk_graph(
        "maps",
        "state: {reducers: {scratch.seen: concat}}\n"
        "start: s\n"
        "nodes:\n"
        "  s:\n"
        "    type: human\n"
        "    prompt: rows?\n"
        "    auto_accept: true\n"
        "    map: {over: input.rows, as: row, to: r, join: done}\n"
        "  r:\n"
        "    type: human\n"
        "    prompt: cells?\n"
        "    auto_accept: true\n"
        "    map: {over: row, as: cell, to: c, join: k}\n"
        "  c: {type: human, prompt: a cell?, auto_accept: true, next: k}\n"
        "  k:\n"
        "    type: human\n"
        "    prompt: go on?\n"
        "    outputs:\n"
        "      scratch.seen: \"[string(index) + ':' + "
        "string(size(artifacts.c.results)) + ':' + string('r' in "
        "artifacts)]\"\n"
        "    next: done\n"
        "  done:\n"
        "    type: human\n"
        "    prompt: done?\n"
        "    auto_accept: true\n"
        "    outputs:\n"
        "      scratch.last: size(artifacts.c.results)\n"
        "      scratch.rows: size(artifacts.r.results)\n"
        "    next: END\n");
}

static void end(void)
{
    unsetenv("MORTISE_DEPLOYMENT");
    desk_end();
}

/* What an element keeps of its own is not read outside of it. */
START_TEST(what_is_an_elements_own_stays_there)
{
    child_run("$MORTISE check maps.yaml");
    ck_assert_int_ne(child.code, 0);
    desk_out("error[E0414]: 'artifacts.c' is written only by 'c', 'k', inside "
             "the map that runs 'r'");
    desk_ok("sed -i '/scratch.last/d' maps.yaml && $MORTISE check maps.yaml");
    desk_ok("$MORTISE run maps.yaml --id new --input "
            "'{\"rows\": [[1, 2], [3, 4, 5]]}' || test $? = 4");
    desk_ok("for id in $($MORTISE inbox new --ids | grep -oE '[0-9a-f]{32}'); "
            "do $MORTISE approve new $id; done");
    desk_ok("$MORTISE show new --json | tr -d ' \\n'");
    desk_out("\"scratch\":{\"seen\":[\"0:2:true\",\"1:3:true\"],\"rows\":2}");
}
END_TEST

/* The example of docs/graph.md comes to what stands there. */
START_TEST(the_example_of_the_page)
{
    desk_ok("awk '/^```yaml/ {in_it = 1; next} /^```/ {in_it = 0} in_it' "
            "%s/docs/graph.md | sed -n '/^# elements.yaml/,/next: END/p' "
            ">elements.yaml && $MORTISE check elements.yaml",
            root);
    desk_ok("$MORTISE run elements.yaml --id e --input '{\"text\": "
            "\"abc\\nxyz\"}'");
    desk_ok("$MORTISE show e --json | tr -d ' \\n'");
    desk_out("\"seen\":[0,1]");
    desk_out(
        "\"count\":{\"results\":[{\"text\":\"abc=1\"},{\"text\":\"xyz=0\"}]"
        ",\"failed\":[]}");
    desk_ok("$MORTISE show e --json | tr -d ' \\n' | "
            "sed 's/.*\"artifacts\":\\(.*\\),\"nodes\":.*/\\1/'");
    ck_assert_ptr_null(strstr(child.out, "label"));
    /* What was written in an element is no less in its record. */
    desk_ok("$MORTISE show e --json | tr -d ' \\n'");
    desk_out("\"path\":\"1.0/label#1[1]\"");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_elements");
    TCase *tc = tcase_create("elements");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, what_is_an_elements_own_stays_there);
    tcase_add_test(tc, the_example_of_the_page);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return getcwd(root, sizeof root) == NULL ? 1 : test_run(suite());
}
