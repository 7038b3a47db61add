/* test_promise_1_kill.c -- README, promise 1: kill it anywhere; it goes on
 * where it was, and what nobody can know is asked, not done twice.
 * crash/test_kill.c does it at every commit. */
#include "lib/desk.h"

/* Who goes on with a run that was killed in its second step begins there. */
START_TEST(a_killed_run_goes_on)
{
    pid_t pid;

    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, args: {value: 1}}\n"
                    "  b: {type: tool, tool: tried/nap, args: {ms: 500}}\n"
                    "edges: [{from: a, to: b}]\n");
    pid = child_start("run", "$MORTISE run g.yaml --id r --wait");
    child_await("run.out", "node_end a");
    child_kill(pid);
    desk_ok("$MORTISE resume r");
    desk_not_out("node_start a");
    desk_out("node_start b");
    desk_ok("$MORTISE show r --json");
    desk_out("\"status\": \"completed\"");
}
END_TEST

/* An effect that kills the process: nobody knows whether it happened, so the
 * run waits for a person, who says so. */
START_TEST(doubt_is_asked)
{
    desk_graph("g", "start: a\nnodes:\n  a: {type: tool, tool: tried/strike, "
                    "args: {marker: hit}, next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(128 + 9);
    child_run("$MORTISE resume r");
    desk_code(5);
    desk_ok("$MORTISE show r --json");
    desk_out("\"status\": \"in_doubt\"");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("promise 1");
    TCase *tc = tcase_create("promise");

    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, a_killed_run_goes_on);
    tcase_add_test(tc, doubt_is_asked);
    suite_add_tcase(s, tc);
    return test_run(s);
}
