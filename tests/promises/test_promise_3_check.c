/* test_promise_3_check.c -- README, promise 3: what `mortise check` accepts
 * loads; what it refuses says where.  sim/test_mutated.c damages thousands of
 * graphs, unit/graph/test_graph.c has every message. */
#include "lib/desk.h"

START_TEST(what_is_accepted_runs)
{
    desk_graph("g", "start: a\nnodes:\n  a: {type: tool, tool: tried/echo, "
                    "args: {value: 1}, next: END}\n");
    desk_ok("$MORTISE check g.yaml");
    desk_ok("$MORTISE run g.yaml");
}
END_TEST

/* The file, the line and the column; and it does not run either. */
START_TEST(what_is_refused_says_where)
{
    desk_graph("g", "start: a\nnodes:\n  a: {type: tool, tool: tried/echo, "
                    "args: {value: 1}, next: nowhere}\n");
    child_run("$MORTISE check g.yaml");
    desk_code(2);
    desk_out("g.yaml:6:");
    desk_out("nowhere");
    child_run("$MORTISE run g.yaml");
    desk_code(2);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("promise 3");
    TCase *tc = tcase_create("promise");

    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, what_is_accepted_runs);
    tcase_add_test(tc, what_is_refused_says_where);
    suite_add_tcase(s, tc);
    return test_run(s);
}
