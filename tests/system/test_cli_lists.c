/* test_cli_lists.c -- what is shown of many: runs, the executions of one run, the
 * graphs of a directory; by the command line. */
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
    LISTS("--limit 2 2>&1 | grep -v ^more", "bob ann ");
    desk_ok("$MORTISE runs --limit 2 --after \"$($MORTISE runs --limit 2 | "
            "sed -n 's/^more: --after //p')\"");
    desk_out("mary ");
    desk_not_out("ann ");
    desk_not_out("more:");
    LISTS("--status failed", "mary ");
    LISTS("--status waiting,completed", "bob ann zoe ");
    LISTS("--graph fine --limit 1 | grep -v ^more", "bob ");
    LISTS("--graph fine --status failed | grep -v '^no such'", "");
    LISTS("--since 1h --status failed,waiting", "ann mary ");
    LISTS("--since 2020-01-01", "bob ann mary zoe ");
    desk_ok("$MORTISE runs --since 2090-01-01T00:00:00+02:00");
    ck_assert_str_eq(child.out, "no such runs\n");
    desk_ok("$MORTISE runs --tenant other");
    ck_assert_str_eq(child.out, "no runs\n");
}
END_TEST

/* What nobody can mean is said to be none. */
START_TEST(runs_are_asked_for_in_words)
{
    static const char *const wrong[][2] = {
        {"--status done", "no run has the status 'done': there are accepted"},
        {"--since yesterday", "--since: 'yesterday' is neither a time"},
        {"--since 2026-13-01", "neither a time"},
        {"--after zoe", "'zoe' is no cursor of a page of runs"},
        {"--by-id --status failed", "--by-id does without"},
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
    desk_err("the run m has no node, and no execution, 'bad[0]'");
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
    tcase_add_test(tc, runs_are_asked_for_in_words);
    tcase_add_test(tc, show_sums_up);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
