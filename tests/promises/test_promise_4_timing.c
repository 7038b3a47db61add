/* test_promise_4_timing.c -- README, promise 4: the same input and the same
 * answers give the same final state, whatever the timing.
 * sim/test_run_worlds.c tries random graphs in random worlds. */
#include <stdio.h>

#include "lib/desk.h"

/* Two branches append to one list, and now this one is the slower, now that. */
START_TEST(who_is_slower_does_not_matter)
{
    static const int ms[][2] = {{1, 200}, {200, 1}};
    char first[sizeof child.out] = "", body[1024];

    for (size_t i = 0; i < 2; i++) {
        snprintf(body, sizeof body,
                 "start: [a, b]\nnodes:\n"
                 "  a: {type: tool, tool: tried/nap, args: {ms: %d}, "
                 "outputs: {scratch.a: \"1\"}, next: c}\n"
                 "  b: {type: tool, tool: tried/nap, args: {ms: %d}, "
                 "outputs: {scratch.b: \"2\"}, next: c}\n"
                 "  c: {type: tool, tool: tried/echo, args: {value: "
                 "\"${scratch.a + scratch.b}\"}, next: END}\n",
                 ms[i][0], ms[i][1]);
        desk_graph("g", body);
        desk_ok("$MORTISE run g.yaml --id r%zu", i);
        desk_ok("$MORTISE show r%zu --json | sed -n '/\"scratch\"/,/}/p'", i);
        desk_out("\"a\": 1");
        if (i == 0)
            snprintf(first, sizeof first, "%s", child.out);
        else
            ck_assert_str_eq(child.out, first);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("promise 4");
    TCase *tc = tcase_create("promise");

    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_test(tc, who_is_slower_does_not_matter);
    suite_add_tcase(s, tc);
    return test_run(s);
}
