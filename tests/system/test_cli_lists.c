/* test_cli_lists.c -- what is shown of many: runs, the executions of one run, the
 * files of a directory, the members of a schema; by the command line. */
#include <stdio.h>
#include <string.h>

#include "lib/desk.h"

static const char fine[] = "start: a\n"
                           "nodes:\n"
                           "  a: {type: tool, tool: tried/echo,"
                           " args: {value: 1}}\n";
static const char bad[] = "start: a\n"
                          "nodes:\n"
                          "  a: {type: tool, tool: tried/fail,"
                          " args: {code: bad_one}}\n";
static const char asks[] = "start: a\n"
                           "nodes:\n"
                           "  a: {type: human, prompt: Well?}\n";

/* ---- runs ---------------------------------------------------------------------- */

static void three_runs(void)
{
    desk_graph("fine", fine);
    desk_graph("bad", bad);
    desk_graph("asks", asks);
    desk_ok("$MORTISE run fine.yaml --id zoe");
    child_run("$MORTISE run bad.yaml --id mary");
    desk_code(1);
    child_run("$MORTISE run asks.yaml --id ann");
    desk_code(4);
}

/* The ids that a list has, in its order. */
#define LISTS(options, ids)                                                    \
    do {                                                                       \
        desk_ok("$MORTISE runs " options                                       \
                " | grep -o '^[a-z]* ' | tr -d '\n'");                         \
        ck_assert_str_eq(child.out, ids);                                      \
    } while (0)

/* issue 15, 5: runs, newest first, with --status, --graph, --since, --limit. */
START_TEST(runs_newest_first)
{
    three_runs();
    LISTS("", "ann mary zoe ");
    LISTS("--by-id", "ann mary zoe ");
    desk_ok("$MORTISE run fine.yaml --id bob");
    LISTS("", "bob ann mary zoe ");
    LISTS("--by-id", "ann bob mary zoe ");
    LISTS("--limit 2", "bob ann ");
    LISTS("--graph fine --limit 1 2>/dev/null", "bob ");
    LISTS("--status failed", "mary ");
    LISTS("--status waiting,completed", "bob ann zoe ");
    LISTS("--graph fine --status failed | grep -v '^no matching'", "");
    LISTS("--since 1h --status failed,waiting", "ann mary ");
    LISTS("--since 2020-01-01", "bob ann mary zoe ");
    desk_ok("$MORTISE runs --since 2090-01-01T00:00:00+02:00");
    desk_out("no matching runs in the store ");
    desk_ok("$MORTISE runs --tenant other");
    desk_out("no runs in the store ");
}
END_TEST

/* A list that goes on says the whole command that goes on with it, with all that was
 * said, for people and as JSON. */
START_TEST(what_follows_is_a_command)
{
    three_runs();
    desk_ok("$MORTISE runs --limit 2 --since 1h 2>more >first");
    desk_ok("head -1 more");
    desk_out("more:\n");
    desk_ok("sh -c \"$(tail -n +2 more)\"");
    ck_assert_str_eq(child.err, "");
    desk_out("zoe ");
    desk_not_out("mary ");
    desk_ok(
        "cp mortise.yaml \"an other.yaml\"; $MORTISE runs --limit 1 --by-id "
        "--json --tenant default --deployment \"an other.yaml\" 2>more "
        ">first; cat more");
    desk_out("{\"log\":{\"level\":\"info\",\"message\":\"more entries "
             "exist\",\"after\":\"ann\",\"commands\":[\"");
    desk_out("runs --deployment 'an other.yaml' --tenant default --by-id "
             "--limit 1 --json --after ann\"]}}\n");
    desk_ok(
        "sh -c \"$(sed 's/.*commands\":.\"//; s/\"]}}$//' more)\" | head -1");
    desk_out("{\"run\":\"mary\"");
    desk_ok("$MORTISE inbox --ids --limit 9");
    ck_assert_str_eq(child.err, "");
}
END_TEST

/* What nobody can mean is said to be none. */
START_TEST(runs_are_asked_for_in_words)
{
    static const char *const wrong[][2] = {
        {"--status done", "unknown status 'done'; use accepted"},
        {"--since yesterday", "--since: 'yesterday' is neither a time"},
        {"--since 2026-13-01", "neither a time"},
        {"--after zoe", "'zoe' is not a cursor of a page of runs"},
        {"--by-id --status failed", "cannot be used with --by-id"},
    };

    desk_graph("fine", fine);
    desk_ok("$MORTISE run fine.yaml --id zoe");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        child_run("$MORTISE runs %s", wrong[i][0]);
        desk_code(3);
        desk_err(wrong[i][1]);
    }
}
END_TEST

/* ---- one run --------------------------------------------------------------------- */

/* Ten elements of which one in three fails, behind a node that naps. */
static const char many[] =
    "start: first\n"
    "nodes:\n"
    "  first:\n"
    "    type: tool\n"
    "    tool: tried/nap\n"
    "    args: {ms: 30}\n"
    "    map: {over: '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]', as: n, to: pick,"
    " join: all, max_parallel: 3}\n"
    "  pick:\n"
    "    type: router\n"
    "    routes: [{when: n % 3 == 1, to: bad}]\n"
    "    default: good\n"
    "  good: {type: tool, tool: tried/echo, args: {value: 7}, next: all}\n"
    "  bad:\n"
    "    type: tool\n"
    "    tool: tried/nap\n"
    "    args: {ms: 200}\n"
    "    timeout: 20ms\n"
    "    retry_policy: {max_attempts: 2, delay: 1ms}\n"
    "    next: all\n"
    "  all: {type: tool, tool: tried/echo, on_branch_error: collect,"
    " args: {value: 1}}\n";

/* issue 15, 5: show --node, attempts and durations in text, a map's elements
 * summed up. */
START_TEST(show_sums_up)
{
    desk_graph("many", many);
    desk_ok("$MORTISE run many.yaml --id m 2>err");

    desk_ok("$MORTISE show m");
    desk_ok("$MORTISE show m | sed -n '/^nodes/,/^$/p' | tr -s ' ' | "
            "sed 's/[0-9.]* ms/T/; s/[0-9.]* s$/T/'");
    ck_assert_str_eq(child.out,
                     "nodes\n"
                     " done first tool T\n"
                     " done pick[*] router 10 elements at most T\n"
                     " done good[*] tool 7 elements at most T\n"
                     " failed bad[*] tool 3 elements 6 attempts at most T "
                     "bad[1]: timeout.call: the attempt took longer than 20 "
                     "ms, its `timeout`\n"
                     " done all tool T\n\n");
    desk_ok("$MORTISE show m --node bad | grep -c '^attempts   2$'");
    ck_assert_str_eq(child.out, "3\n");
    desk_ok("$MORTISE show m --node 'bad[4]'");
    ck_assert_ptr_eq(strstr(child.out, "bad[4]\npath       1.0/bad#1[4]\n"),
                     child.out);
    desk_out("\nafter      1.0/pick#1[4]\n");
    desk_out("\ntook       ");
    desk_out("\nerror      timeout.call: the attempt");
    desk_not_out("bad[1]");
    desk_ok("$MORTISE show m --node 1.0/good#1[0] --json | tr -d ' \\n'");
    desk_out("{\"run\":\"m\",\"nodes\":[{\"node\":\"good\",\"path\":"
             "\"1.0/good#1[0]\",");
    desk_out("\"output\":7}]}");
    desk_ok("$MORTISE show m --node first --json | grep -c slept");
    child_run("$MORTISE show m --node 'bad[0]'");
    desk_code(3);
    desk_err("the run m has no node or execution 'bad[0]'");
}
END_TEST

/* ---- one operation --------------------------------------------------------------- */

/* issue 15, 5: plugin inspect PLUGIN/OP shows arguments: who writes a graph reads
 * there what they are called, what they may be and which there must be. */
START_TEST(inspect_shows_arguments)
{
    desk_ok("$MORTISE plugin inspect tried/nap");
    ck_assert_str_eq(child.out, "operation   tried/nap\n"
                                "description Take a while\n"
                                "effect      read\n"
                                "arguments   object\n"
                                "  ms                 required, integer\n"
                                "output      anything\n");
    desk_ok("$MORTISE plugin inspect tried/fail");
    desk_out("  code               required, string\n");
    desk_ok("$MORTISE plugin inspect tried/strike");
    desk_out("effect      external, intent: call\n");
    desk_ok("$MORTISE plugin inspect tried/nap --json | tr -d ' \\n'");
    desk_out("\"operation\":\"nap\",");
    desk_out("\"input_schema\":{\"type\":\"object\",\"required\":[\"ms\"],"
             "\"properties\":{\"ms\":{\"type\":\"integer\"}}}");
    child_run("$MORTISE plugin inspect tried/npa");
    desk_code(3);
    desk_err("plugin 'tried' has no operation 'npa'; did you mean 'nap'?");
    child_run("$MORTISE plugin inspect trued/nap");
    desk_code(3);
    desk_err("no plugin 'trued'");
    child_run("$MORTISE plugin inspect ./tried/nap");
    desk_err("open ./tried/nap");
}
END_TEST

/* ---- a directory ----------------------------------------------------------------- */

/* issue 15, 5: check DIR checks each file of Mortise in it, and no other, hidden
 * or linked to; what is broken is among the findings. */
START_TEST(check_reads_directories)
{
    desk_graph("fine", fine);
    desk_ok("mkdir -p d/sub/deep d/.git d/empty && cp fine.yaml d/sub && "
            "cp fine.yaml d/sub/deep/fine.yml && cp mortise.yaml d && "
            "printf 'services: {a: b}\\n' >d/compose.yaml && "
            "printf 'a: [\\n' >d/other.yaml && printf 'text' >d/readme.md && "
            "sed 's/tried.echo/tried\\/ehco/' fine.yaml >d/.git/bad.yaml && "
            "ln -s .. d/sub/up && ln -s $PWD/d/.git/bad.yaml d/linked.yaml");
    desk_ok("rm d/linked.yaml && $MORTISE check d");
    ck_assert_str_eq(child.out, "");
    desk_ok("sed 's/tried.echo/tried\\/ehco/' fine.yaml >d/sub/bad.yaml && "
            "printf 'apiVersion: mortise/v1\\nkind: Graph\\na: [\\n' "
            ">d/sub/deep/torn.yaml");
    child_run("$MORTISE check d fine.yaml");
    desk_code(2);
    desk_out("d/sub/bad.yaml:");
    desk_out("did you mean 'echo'");
    desk_out("d/sub/deep/torn.yaml:");
    desk_not_out(".git");
    desk_not_out("/up/");
    child_run("$MORTISE check d/ --json | grep -c '\"file\": *\"d//'");
    ck_assert_str_eq(child.out, "0\n");
    child_run("$MORTISE check d/empty");
    desk_code(3);
    desk_err(
        "d/empty has no Mortise files (*.yaml with apiVersion: mortise/...)");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_lists");
    TCase *tc = tcase_create("cli_lists");

    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, runs_newest_first);
    tcase_add_test(tc, what_follows_is_a_command);
    tcase_add_test(tc, runs_are_asked_for_in_words);
    tcase_add_test(tc, show_sums_up);
    tcase_add_test(tc, inspect_shows_arguments);
    tcase_add_test(tc, check_reads_directories);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
