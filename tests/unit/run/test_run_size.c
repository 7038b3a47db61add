/* test_run_size.c -- limits.state: who passes it fails, and nobody else. */
#include "lib/drive.h"

/* 200 bytes with each visit of `grow`, which goes on for ten. */
#define GROWS(reducer, value)                                                  \
    HEAD "start: grow\n"                                                       \
         "limits: {state: 1KiB, steps: 1000, visits: 1000}\n"                  \
         "state: {reducers: {scratch.text: " reducer "}}\n"                    \
         "nodes:\n"                                                            \
         "  grow: {type: tool, tool: t/read, output_as: null,\n"               \
         "         args: {x: \"0123456789012345678901234567890123456789"       \
         "0123456789012345678901234567890123456789"                            \
         "0123456789012345678901234567890123456789"                            \
         "0123456789012345678901234567890123456789"                            \
         "0123456789012345678901234567890123456789\"},\n"                      \
         "         outputs: {scratch.text: " value "},\n"                      \
         "         routes: [{when: node.visit < 10, to: grow}],\n"             \
         "         default: END}\n"

/* A state that grows ends at the limit: the fifth visit would pass it, and
 * what the others wrote is there. */
START_TEST(growing_ends)
{
    run_plain(GROWS("concat", "output.x"), "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_runs("grow", 5);
    assert_node_error("grow", "limit");
    assert_run_error("limit");
    end();
}
END_TEST

/* What is replaced does not count, however much it was in all. */
START_TEST(replacing_goes_on)
{
    run_plain(GROWS("last", "output.x"), "{}");
    assert_status(MORTISE_RUN_COMPLETED);
    assert_runs("grow", 10);
    end();
}
END_TEST

/* A reducer that makes more than it is given is measured by what it makes. */
START_TEST(doubling_ends)
{
    run_plain(GROWS("{expr: old + old}", "output.x"), "{}");
    assert_status(MORTISE_RUN_FAILED);
    assert_runs("grow", 4); /* 200, 400, 800 */
    assert_node_error("grow", "limit");
    end();
}
END_TEST

static const char *const growing[] = {GROWS("concat", "output.x"),
                                      GROWS("last", "output.x"),
                                      GROWS("{expr: old + old}", "output.x")};
static const size_t visits[] = {5, 10, 4};

/* Whoever died on the way comes to the same end. */
START_TEST(deaths_change_nothing)
{
    uint32_t seed = (uint32_t)_i;

    begin(growing[_i % 3]);
    admit("{}");
    run_dying(&seed, 3);
    assert_runs("grow", visits[_i % 3]);
    end();
}
END_TEST

#define HUNDREDS                                                               \
    "0123456789012345678901234567890123456789"                                 \
    "0123456789012345678901234567890123456789"                                 \
    "0123456789012345678901234567890123456789"                                 \
    "0123456789012345678901234567890123456789"                                 \
    "0123456789012345678901234567890123456789"                                 \
    "0123456789012345678901234567890123456789"                                 \
    "0123456789012345678901234567890123456789"                                 \
    "0123456789012345678901234567890123456789"                                 \
    "0123456789012345678901234567890123456789"                                 \
    "0123456789012345678901234567890123456789"                                 \
    "0123456789012345678901234567890123456789"                                 \
    "0123456789012345678901234567890123456789"                                 \
    "0123456789012345678901234567890123456789"                                 \
    "0123456789012345678901234567890123456789"                                 \
    "0123456789012345678901234567890123456789"

static const char branches[] =
    HEAD "start: [l, r]\n"
         "limits: {state: 1KiB}\n"
         "nodes:\n"
         "  l: {type: tool, tool: t/read, args: {x: \"" HUNDREDS "\"},"
         " next: [j, k]}\n"
         "  r: {type: tool, tool: t/read, args: {x: \"" HUNDREDS "\"},"
         " next: j}\n"
         "  j: {type: tool, tool: t/read, on_error: {goto: told}, next: END}\n"
         "  k: {type: tool, tool: t/read, output_as: null, next: END}\n"
         "  told: {type: human, prompt: Too large}\n";

/* Each branch is judged by its own past, so it does not matter who was first:
 * the join, which sees both, fails. */
START_TEST(branches_are_judged_alone)
{
    begin(branches);
    admit("{}");
    finish(_i == 0 ? "l" : "r");
    finish(_i == 0 ? "r" : "l");
    sim_run_plain(&s);
    assert_node("l", "done");
    assert_node("r", "done");
    assert_node("k", "done");
    assert_node_error("j", "limit");
    assert_node("told", "awaiting_approval");
    end();
}
END_TEST

#define LONG "{\"scratch\": {\"list\": [\"" HUNDREDS "\"]}}"

/* A person is held to it, too: an update that would pass it is refused with
 * its name, whole or through the reducers, and nothing is recorded.
 * key: limits.state */
START_TEST(updates_are_measured)
{
    uint64_t commits;

    begin(HEAD "start: ask\nlimits: {state: 1KiB}\n"
               "state: {reducers: {scratch.list: concat}}\n"
               "nodes:\n  ask: {type: human, prompt: Well, next: END}\n");
    admit("{}");
    sim_run_plain(&s);
    ck_assert_int_eq(update(LONG), MORTISE_OK);
    commits = s.n_commits;
    ck_assert_int_eq(
        do_command((struct mortise_command){.kind = MORTISE_CMD_UPDATE,
                                            .flags = MORTISE_CMD_MERGE,
                                            .json = LONG}),
        MORTISE_ELIMIT);
    ck_assert_ptr_nonnull(strstr(err.msg, "limits.state allows 1024"));
    ck_assert_uint_eq(s.n_commits, commits);
    ck_assert_int_eq(update("{\"scratch\": {\"a\": \"" HUNDREDS "\","
                            " \"b\": \"" HUNDREDS "\"}}"),
                     MORTISE_ELIMIT);
    ck_assert_uint_eq(s.n_commits, commits);
    ck_assert_int_eq(update(LONG), MORTISE_OK); /* in its place */
    assert_status(MORTISE_RUN_WAITING);
    end();
}
END_TEST

static Suite *sizes(void)
{
    Suite *suite = suite_create("sizes");
    TCase *tc = tcase_create("sizes");

    tcase_add_test(tc, growing_ends);
    tcase_add_test(tc, replacing_goes_on);
    tcase_add_test(tc, doubling_ends);
    tcase_add_loop_test(tc, deaths_change_nothing, 0, 60);
    tcase_add_loop_test(tc, branches_are_judged_alone, 0, 2);
    tcase_add_test(tc, updates_are_measured);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(sizes());
}
