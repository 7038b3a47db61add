/* test_promise_5_waiting.c -- README, promise 5: a waiting run costs disk,
 * nothing else. */
#include "lib/desk.h"

/* The process that asked is over; the question is on the disk, for any other
 * process to answer. */
START_TEST(who_asked_is_gone)
{
    desk_graph("g", "start: a\nnodes:\n  a: {type: human, prompt: Shall we?, "
                    "next: END}\n");
    child_run("$MORTISE run g.yaml --id r");
    desk_code(4);
    desk_ok("$MORTISE inbox");
    desk_out("Shall we?");
    desk_ok("$MORTISE approve $($MORTISE inbox r --ids)");
    desk_ok("$MORTISE show r --json");
    desk_out("\"status\": \"completed\"");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("promise 5");
    TCase *tc = tcase_create("promise");

    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, who_asked_is_gone);
    suite_add_tcase(s, tc);
    return test_run(s);
}
