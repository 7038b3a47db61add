/* test_run_checkpoints.c -- checkpoint_policy and `checkpoint`: which steps are
 * committed by themselves, and that nothing else depends on it. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/phase.h"
#include "lib/sim.h"
#include "lib/test.h"

static struct sim s;

static void begin(void)
{
    test_begin();
}

static void end(void)
{
    test_nothing_left();
}

/* A chain a -> b -> c -> d of `pure` steps; `keys` of each, and of the graph. */
static void admit_chain(const char *policy, const char *const keys[4])
{
    struct mortise_err err;
    char text[2048];
    int n = snprintf(text, sizeof text,
                     "apiVersion: mortise/v1\nkind: Graph\n"
                     "metadata: {name: g, version: 1.0.0}\n"
                     "%s\nstart: a\nnodes:\n",
                     policy);

    for (int i = 0; i < 4; i++)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "  %c: {type: tool, tool: t/echo, args: {i: %d},"
                      " next: %.*s%s}\n",
                      'a' + i, i, i < 3 ? 1 : 3, i < 3 ? &"bcd"[i] : "END",
                      keys[i]);
    sim_init(&s, sim_graph(text));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
}

static const char *const plain[4] = {"", "", "", ""};

static void done(int status)
{
    ck_assert_int_eq(mortise_run_status(s.run), status);
    sim_finish(&s);
}

/* How many commits the chain takes. */
static size_t commits_of(const char *policy, const char *const keys[4])
{
    size_t n;

    admit_chain(policy, keys);
    sim_run_plain(&s);
    n = s.n_commits;
    done(MORTISE_RUN_COMPLETED);
    return n;
}

/* By default each step is a commit, under the others none is by itself: the
 * last goes with the end.  What a node says wins.
 * key: graph.checkpoint_policy=explicit, graph.checkpoint_policy=none
 * key: node.checkpoint=before, node.checkpoint=both
 * key: node.checkpoint=none */
START_TEST(steps_are_commits_as_asked_for)
{
    static const char *const none[4] = {"", ", checkpoint: none",
                                        ", checkpoint: none", ""};
    static const char *const after[4] = {"", ", checkpoint: after", "", ""};
    static const char *const before[4] = {"", "", ", checkpoint: before", ""};
    static const char *const both[4] = {"", ", checkpoint: both", "", ""};

    ck_assert_uint_eq(commits_of("", plain), 5);
    ck_assert_uint_eq(commits_of("checkpoint_policy: every_node", plain), 5);
    ck_assert_uint_eq(commits_of("checkpoint_policy: explicit", plain), 2);
    ck_assert_uint_eq(commits_of("checkpoint_policy: none", plain), 2);
    ck_assert_uint_eq(commits_of("", none), 3);
    ck_assert_uint_eq(commits_of("checkpoint_policy: explicit", after), 3);
    ck_assert_uint_eq(commits_of("checkpoint_policy: none", after), 3);
    ck_assert_uint_eq(commits_of("checkpoint_policy: explicit", before), 3);
    ck_assert_uint_eq(commits_of("checkpoint_policy: explicit", both), 4);
    ck_assert_uint_eq(commits_of("", before), 4); /* it says no `after` */
}
END_TEST

/* A graph in another has that one's policy, unless it says its own.
 * key: graph.checkpoint_policy=every_node */
START_TEST(a_policy_reaches_inwards)
{
    static const char *const own[] = {"", "checkpoint_policy: every_node, "};
    size_t commits[2];

    for (int i = 0; i < 2; i++) {
        struct mortise_err err;
        char text[2048];

        snprintf(text, sizeof text,
                 "apiVersion: mortise/v1\nkind: Graph\n"
                 "metadata: {name: g, version: 1.0.0}\n"
                 "checkpoint_policy: none\n"
                 "start: s\n"
                 "nodes:\n"
                 "  s:\n"
                 "    type: subgraph\n"
                 "    graph: {%sstart: a, nodes: {\n"
                 "      a: {type: tool, tool: t/echo, next: b},\n"
                 "      b: {type: tool, tool: t/echo, next: END}}}\n"
                 "    next: END\n",
                 own[i]);
        sim_init(&s, sim_graph(text));
        ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
        sim_run_plain(&s);
        commits[i] = s.n_commits;
        done(MORTISE_RUN_COMPLETED);
    }
    ck_assert_uint_eq(commits[0], 2);
    ck_assert_uint_eq(commits[1], 3); /* b's goes with the end */
}
END_TEST

/* What waited is done again after a crash, from the last commit on, and comes
 * to the same.
 * key: node.checkpoint=after */
START_TEST(recovery_is_coarser)
{
    static const char *const after[4] = {"", ", checkpoint: after", "", ""};
    uint32_t seed = 1;
    char *state;

    admit_chain("checkpoint_policy: explicit", after);
    while (sim_sync_one(&s))
        continue;
    for (int i = 0; i < 3; i++) {
        ck_assert(sim_end_call(&s, 0));
        while (sim_sync_one(&s))
            continue;
    }
    ck_assert_str_eq(s.calls[0].call.node->id, "d");
    sim_crash(&s, &seed);
    ck_assert_uint_eq(s.n_commits, 2);
    sim_recover(&s);
    ck_assert_str_eq(s.calls[0].call.node->id, "c"); /* a and b were kept */
    sim_run_plain(&s);
    state = sim_state(&s);
    ck_assert_ptr_nonnull(strstr(state, "\"a\":{\"i\":0}"));
    ck_assert_ptr_nonnull(strstr(state, "\"d\":{\"i\":3}"));
    free(state);
    done(MORTISE_RUN_COMPLETED);
}
END_TEST

/* `before`: all that came before is on disk when the call begins, in a commit
 * that says so, and is not written again after a crash. */
START_TEST(before_is_on_disk_first)
{
    static const char *const before[4] = {"", "", ", checkpoint: before", ""};
    uint32_t seed = 1;

    admit_chain("checkpoint_policy: none", before);
    ck_assert(sim_sync_one(&s));
    ck_assert(sim_end_call(&s, 0));
    ck_assert(sim_end_call(&s, 0));
    ck_assert_uint_eq(s.n_calls, 0);
    ck_assert_uint_eq(s.n_commits, 2);
    ck_assert_int_eq(s.commits[1].phase, MORTISE_PHASE_BEFORE);
    ck_assert(s.commits[1].sync);
    ck_assert(sim_sync_one(&s));
    ck_assert_str_eq(s.calls[0].call.node->id, "c");
    ck_assert(sim_saw(&s, "node_end", "b"));
    sim_crash(&s, &seed);
    sim_recover(&s);
    ck_assert_str_eq(s.calls[0].call.node->id, "c");
    sim_run_plain(&s);
    ck_assert_uint_eq(s.n_commits, 3);
    done(MORTISE_RUN_COMPLETED);
}
END_TEST

/* What was noted may have to be reserved next, and waits for that, too. */
START_TEST(before_a_reservation)
{
    struct mortise_err err;

    sim_init(&s, sim_graph("apiVersion: mortise/v1\nkind: Graph\n"
                           "metadata: {name: g, version: 1.0.0}\n"
                           "budget: {tool_calls: 3}\n"
                           "start: a\n"
                           "nodes:\n"
                           "  a: {type: tool, tool: t/read, args: {},"
                           " checkpoint: before, next: END}\n"));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    sim_run_plain(&s);
    ck_assert_uint_eq(s.n_commits, 3); /* noted, reserved, done */
    done(MORTISE_RUN_COMPLETED);
}
END_TEST

/* Nobody is told of a step that waits, and then of when it was. */
START_TEST(what_waits_is_not_told)
{
    json_t *a, *b;

    admit_chain("checkpoint_policy: none", plain);
    ck_assert(sim_sync_one(&s));
    ck_assert(sim_end_call(&s, 0));
    s.now_ms += 5000;
    ck_assert(sim_end_call(&s, 0));
    ck_assert(!sim_saw(&s, "node_end", "a"));
    s.now_ms += 5000;
    sim_run_plain(&s);
    ck_assert(sim_saw(&s, "node_end", "a"));
    a = json_array_get(s.published, json_array_size(s.published) - 5);
    b = json_array_get(s.published, json_array_size(s.published) - 4);
    ck_assert_str_eq(json_string_value(json_object_get(a, "node")), "a");
    ck_assert_str_ne(json_string_value(json_object_get(a, "at")),
                     json_string_value(json_object_get(b, "at")));
    done(MORTISE_RUN_COMPLETED); /* which compares what is stored */
}
END_TEST

/* What changes the world, fails, or asks is committed under every policy, with
 * what waited before it. */
START_TEST(a_policy_is_never_unsafe)
{
    struct mortise_err err;
    uint32_t seed = 1;

    sim_init(&s,
             sim_graph(
                 "apiVersion: mortise/v1\nkind: Graph\n"
                 "metadata: {name: g, version: 1.0.0}\n"
                 "checkpoint_policy: none\n"
                 "start: a\n"
                 "nodes:\n"
                 "  a: {type: tool, tool: t/echo, next: w}\n"
                 "  w: {type: tool, tool: t/write, checkpoint: none, next: f}\n"
                 "  f: {type: tool, tool: t/fail, checkpoint: none,"
                 " on_error: {value: '1'}, next: q}\n"
                 "  q: {type: human, prompt: Well?, next: END}\n"));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
    ck_assert(sim_sync_one(&s));
    ck_assert(sim_end_call(&s, 0));
    ck_assert_uint_eq(s.n_commits, 2); /* a, and the intent */
    ck_assert_int_eq(s.commits[1].phase, MORTISE_PHASE_BEFORE);
    ck_assert_uint_eq(s.n_calls, 0);
    ck_assert(sim_sync_one(&s));
    ck_assert(sim_end_call(&s, 0));
    ck_assert_uint_eq(s.n_commits, 3); /* it happened */
    ck_assert(sim_sync_one(&s));
    sim_crash(&s, &seed);
    sim_recover(&s);
    ck_assert_str_eq(s.calls[0].call.node->id, "f");
    ck_assert(sim_end_call(&s, 0));
    ck_assert_uint_eq(s.n_commits, 4); /* it failed, and somebody is asked */
    ck_assert_int_eq(s.commits[3].phase, MORTISE_PHASE_INTERRUPT);
    sim_run_plain(&s);
    ck_assert_int_eq(sim_effect_count(&s, "w"), 1);
    done(MORTISE_RUN_WAITING);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite_ = suite_create("run checkpoints");
    TCase *tc = tcase_create("checkpoints");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, steps_are_commits_as_asked_for);
    tcase_add_test(tc, a_policy_reaches_inwards);
    tcase_add_test(tc, recovery_is_coarser);
    tcase_add_test(tc, before_is_on_disk_first);
    tcase_add_test(tc, before_a_reservation);
    tcase_add_test(tc, what_waits_is_not_told);
    tcase_add_test(tc, a_policy_is_never_unsafe);
    suite_add_tcase(suite_, tc);
    return suite_;
}

int main(void)
{
    return test_run(suite());
}
