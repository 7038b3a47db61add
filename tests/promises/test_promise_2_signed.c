/* test_promise_2_signed.c -- README, promise 2: the code that runs is the code
 * that was signed, byte for byte.  hostile/test_hostile_trust.c has more. */
#include "lib/desk.h"

/* Spoiled behind its end, or in the midst of it, nothing of it runs. */
START_TEST(one_byte_is_too_many)
{
    static const char *const how[] = {
        "printf x >>own/plugins/tried.so",
        "printf x | dd of=own/plugins/tried.so bs=1 seek=5000 conv=notrunc"};

    desk_graph("g", "start: a\nnodes:\n  a: {type: tool, tool: tried/say, "
                    "args: {text: hi}, next: END}\n");
    desk_ok("cp -r %s own && sed 's|%s|own|g' mortise.yaml >other.yaml",
            desk_plugins, desk_plugins);
    desk_ok("$MORTISE run g.yaml --deployment other.yaml");
    desk_ok("%s", how[_i]);
    child_run("$MORTISE run g.yaml --deployment other.yaml --id r");
    desk_code(1);
    desk_out("differs from the signed object");
    desk_not_out("node_end a");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("promise 2");
    TCase *tc = tcase_create("promise");

    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, desk_begin, desk_end);
    tcase_add_loop_test(tc, one_byte_is_too_many, 0, 2);
    suite_add_tcase(s, tc);
    return test_run(s);
}
