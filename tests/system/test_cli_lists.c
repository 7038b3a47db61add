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

static Suite *suite(void)
{
    Suite *s = suite_create("cli_lists");
    TCase *tc = tcase_create("cli_lists");

    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, runs_newest_first);
    tcase_add_test(tc, runs_are_asked_for_in_words);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
