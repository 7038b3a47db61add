/* test_cli_stored.c -- stores that this program did not make.
 *
 * tests/stores/N is a store of format N as the first release with that format wrote
 * it; tests/stores/1 was made by the commands of make_store() below.  Each test
 * takes a store that is made now (0) and each of those (1 and on), and finds the
 * same: what is recorded reads, and the runs continue.
 *
 *   orders  waits for a person about each of its two rows
 *   judged  failed: both effects happened, and the second output broke a schema
 *
 * `MORTISE_GOLDEN=1 build/tests/test_cli_stored` writes the store of the format of
 * today anew.  Do that only before the format is released. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/desk.h"

enum { FORMAT = 1 }; /* of today */

static char root[4096];

static void put_graphs(void)
{
    desk_graph("orders",
               "state: {reducers: {scratch.seen: concat}}\n"
               "start: s\n"
               "nodes:\n"
               "  s: {type: human, prompt: rows?, auto_accept: true,\n"
               "      map: {over: input.rows, as: row, to: r, join: j}}\n"
               "  r: {type: human, prompt: go on?,\n"
               "      outputs: {scratch.seen: '[row]'}, next: j}\n"
               "  j: {type: human, prompt: all?, auto_accept: true, next: sub}\n"
               "  sub: {type: subgraph, next: END, graph: {start: b, nodes: {\n"
               "      b: {type: human, prompt: inside?, auto_accept: true,\n"
               "          next: END}}}}\n");
    desk_graph("judged",
               "start: a\nnodes:\n"
               "  a: {type: tool, tool: counts/count, args: {n: 1}, next: r}\n"
               "  r: {type: tool, tool: counts/count, args: {n: 2}, "
               "output_schema: {type: object, required: [more]}}\n");
}

static void make_store(void)
{
    child_run("$MORTISE run orders.yaml --id orders --input '{\"rows\": [1, "
              "2]}'");
    desk_code(4);
    child_run("$MORTISE run judged.yaml --id judged");
    desk_code(1);
    desk_ok("wc -l <sink");
    desk_out("2");
    if (getenv("MORTISE_GOLDEN") != NULL)
        desk_ok("to=%s/tests/stores/%d && rm -rf $to && mkdir -p $to/db && "
                "cp store/format store/mark $to && cp store/db/[0-9]* "
                "store/db/CURRENT store/db/MANIFEST-* $to/db",
                root, FORMAT);
}

static void take_store(int i)
{
    if (i == 0)
        make_store();
    else
        desk_ok("cp -r %s/tests/stores/%d store && chmod -R go-rwx store", root,
                i);
}

static void begin(void)
{
    desk_begin();
    desk_put("mortise.yaml",
             "apiVersion: mortise/v1\nkind: Deployment\n"
             "metadata: {name: stored}\n"
             "plugins: {dev: [./dev], config: {counts: {file: ./sink}}}\n"
             "store: {path: ./store}\n");
    desk_ok("mkdir dev && touch sink && "
            "cp %s/tests/plugins/counts.plugin.yaml dev",
            root);
    desk_ok("cp %s dev", child_build("tests/plugins/counts.so"));
    setenv("MORTISE_DEPLOYMENT", "mortise.yaml", 1);
    put_graphs();
}

static void end(void)
{
    unsetenv("MORTISE_DEPLOYMENT");
    desk_end();
}

/* All of it reads, and nothing of it is damaged. */
START_TEST(it_is_read)
{
    take_store(_i);
    desk_ok("$MORTISE runs");
    desk_out("orders");
    desk_out("judged");
    desk_ok("$MORTISE show judged --json | tr -d ' \\n'");
    desk_out("\"status\":\"failed\"");
    desk_ok("$MORTISE events orders --json");
    desk_out("\"type\":\"run_start\"");
    desk_ok("$MORTISE history orders");
    child_run("$MORTISE doctor");
    ck_assert_ptr_null(strstr(child.out, "fail commits"));
    ck_assert_ptr_null(strstr(child.out, "fail store"));
}
END_TEST

/* What waits is decided, and the run completes as its graph says. */
START_TEST(a_waiting_run_continues)
{
    take_store(_i);
    desk_ok(
        "for id in $($MORTISE inbox orders --ids | grep -oE '[0-9a-f]{32}'); "
        "do $MORTISE approve orders $id; done");
    desk_ok("$MORTISE show orders --json | tr -d ' \\n'");
    desk_out("\"status\":\"completed\"");
    desk_out("\"seen\":[1,2]");
    desk_out("\"path\":\"1.0/sub#1\"");
}
END_TEST

/* An effect that is recorded is not done again: its key is the recorded one. */
START_TEST(what_was_done_is_not_done_again)
{
    take_store(_i);
    desk_ok("wc -l <sink >before");
    child_run("$MORTISE resume judged --accept-plugins");
    desk_code(5);
    desk_out("its result was rejected");
    desk_ok("wc -l <sink | cmp - before");
}
END_TEST

/* A store of another format is refused, in words that help, and not touched. */
START_TEST(another_format_is_refused)
{
    static const struct {
        const char *stamp, *words;
    } others[] = {
        {"mortise-store 2\\n", "it has format 2, but mortise "},
        {"mortise-store 2\\noldest-reader 1\\n",
         "a development version before 0.2.0 created it, and no release can "
         "read it"},
    };
    static const char *const commands[] = {
        "runs", "show orders", "run orders.yaml --input '{\"rows\": []}'",
        "resume judged", "store salvage saved"};

    take_store(FORMAT);
    desk_ok("printf '%s' >store/format && cp -a store was", others[_i].stamp);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        child_run("$MORTISE %s", commands[i]);
        desk_code(78);
        desk_err(others[_i].words);
        desk_err("E_FORMAT");
    }
    desk_ok("[ ! -e saved ] && diff -r store was");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_stored");
    TCase *tc = tcase_create("stored");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_loop_test(tc, it_is_read, 0, FORMAT + 1);
    tcase_add_loop_test(tc, a_waiting_run_continues, 0, FORMAT + 1);
    tcase_add_loop_test(tc, what_was_done_is_not_done_again, 0, FORMAT + 1);
    tcase_add_loop_test(tc, another_format_is_refused, 0, 2);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return getcwd(root, sizeof root) == NULL ? 1 : test_run(suite());
}
