/* test_run_trees.c -- a run that spends with others of its tree:
 * core/run/spend/tree.c. */
#include "core/model/graph.h"
#include "lib/drive.h"

enum { TOKENS = MORTISE_SPEND_TOKENS };

/* A child whose two calls may use 200 tokens each, of 399. */
static void begin_child(const char *on_exceeded)
{
    char yaml[1024];

    snprintf(yaml, sizeof yaml,
             HEAD "start: [a, b]\nbudget: {tokens: 399, wall: 1h%s}\nnodes:\n"
                  "  a: {type: tool, tool: t/spend, args: {usage:\n"
                  "      {input_tokens: 50}}}\n"
                  "  b: {type: tool, tool: t/spend, args: {usage:\n"
                  "      {output_tokens: 60}}}\n",
             on_exceeded);
    begin(yaml);
    s.spawned_by = "origin/0";
    admit("{}");
    sync_all();
}

/* What the others have, and of that what may come back. */
static void tell(uint64_t most, uint64_t others, uint64_t out)
{
    struct mortise_tree_view v = {.origin = "origin"};
    struct mortise_input in = {.kind = MORTISE_IN_TREE};

    for (int k = 0; k < MORTISE_N_SPENDS; k++)
        v.most[k] = UINT64_MAX;
    v.most[TOKENS] = most;
    v.others[TOKENS] = others;
    v.out[TOKENS] = out;
    mortise_run_set_tree_view(s.run, true, &v);
    sim_feed(&s, &in);
    sync_all();
}

static struct mortise_tree_use use(void)
{
    struct mortise_tree_use u;

    ck_assert(mortise_run_get_tree_use(s.run, &u));
    return u;
}

/* By all commits that are stored. */
static uint64_t counted(void)
{
    struct mortise_spawn_budget purse = {.used = {0}};

    for (size_t i = 0; i < s.n_commits; i++)
        if (s.commits[i].spend.origin)
            mortise_spawn_budget_change(&purse, true, &s.commits[i].spend);
    return purse.used[TOKENS];
}

/* What of the budget's tokens `show` has under that name. */
static double shown(const char *name)
{
    json_t *show = sim_show(&s);
    json_t *of = json_object_get(
        json_object_get(json_object_get(show, "budget"), "tokens"), name);
    double n = of != NULL ? json_number_value(of) : -1;

    json_decref(show);
    return n;
}

/* It knows nothing, and so does nothing; then both calls find room. */
START_TEST(what_is_not_known_is_waited_for)
{
    begin_child("");
    ck_assert(!is_out("a") && !is_out("b"));
    assert_status(MORTISE_RUN_RUNNING);
    ck_assert(use().waits && use().origin == NULL);
    ck_assert(shown("own") < 0);
    tell(1000, 500, 0);
    ck_assert(is_out("a") && is_out("b"));
    ck_assert_uint_eq(counted(), 400);
    ck_assert_uint_eq(use().used[TOKENS], 400);
    ck_assert_uint_eq(use().out[TOKENS], 400);
    ck_assert_double_eq(shown("limit"), 1000);
    ck_assert_double_eq(shown("used"), 900);
    ck_assert_double_eq(shown("own"), 400);
    finish("a");
    finish("b");
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(counted(), 110);
    end();
}
END_TEST

/* Where nobody counts the tree, it has the budget for itself alone. */
START_TEST(where_nobody_counts)
{
    struct mortise_input in = {.kind = MORTISE_IN_TREE};

    begin_child("");
    mortise_run_set_tree_view(s.run, true, NULL);
    sim_feed(&s, &in);
    sync_all();
    ck_assert(is_out("a") != is_out("b")); /* two do not fit */
    finish("a");
    finish("b");
    assert_status(MORTISE_RUN_COMPLETED);
    ck_assert_uint_eq(counted(), 0);
    ck_assert(shown("own") < 0);
    end();
}
END_TEST

/* What others have spent is gone; what they have reserved may come back. */
START_TEST(others_count)
{
    begin_child("");
    tell(399, 300, 150);
    ck_assert(!is_out("a") && !is_out("b")); /* 150 are spent: it waits */
    assert_status(MORTISE_RUN_RUNNING);
    ck_assert_uint_eq(s.n_commits, 1); /* and says nothing */
    tell(399, 199, 0);
    ck_assert(is_out("a") != is_out("b"));
    ck_assert_uint_eq(counted(), 200);
    tell(399, 150, 0);
    finish("a"); /* which gives 150 back, and 199 are left */
    ck_assert(!is_out("b"));
    assert_status(MORTISE_RUN_PAUSED);
    end();
}
END_TEST

/* What does not fit is exceeded here, and goes on by what others do: more for all,
 * or less that they have. */
START_TEST(the_run_that_notices_asks)
{
    uint32_t seed = 1;

    begin_child("");
    tell(399, 300, 0);
    assert_status(MORTISE_RUN_PAUSED);
    ck_assert_str_eq(mortise_run_reason(s.run), "budget");
    ck_assert_double_eq(shown("used"), 300);
    ck_assert_uint_eq(counted(), 0);
    tell(399, 250, 0); /* no room yet */
    assert_status(MORTISE_RUN_PAUSED);
    sim_crash(&s, &seed);
    sim_recover(&s);
    assert_status(MORTISE_RUN_PAUSED);
    tell(800, 300, 0);
    ck_assert(is_out("a") && is_out("b"));
    ck_assert_double_eq(shown("limit"), 800);
    end();
}
END_TEST

/* Where its graph says so it fails instead. */
START_TEST(it_fails_of_what_others_spent)
{
    begin_child(", on_exceeded: fail");
    tell(399, 300, 0);
    assert_status(MORTISE_RUN_FAILED);
    ck_assert_uint_eq(counted(), 0);
    end();
}
END_TEST

/* Raised here it is raised for all: its commit says so, once. */
START_TEST(a_raise_goes_along)
{
    struct mortise_command more = {.kind = MORTISE_CMD_BUDGET,
                                   .json = "{\"tokens\": \"+401\"}"};
    size_t raises = 0;

    begin_child("");
    ck_assert_int_eq(do_command(more), MORTISE_ESTATE); /* nothing of it yet */
    tell(399, 300, 0);
    ck_assert_int_eq(do_command(more), MORTISE_OK);
    assert_status(MORTISE_RUN_COMPLETED);
    for (size_t i = 0; i < s.n_commits; i++) {
        const struct mortise_spawn_budget_change *spend = &s.commits[i].spend;

        raises += spend->raises;
        ck_assert(!spend->opens);
        if (spend->raises) {
            ck_assert_uint_eq(spend->most[TOKENS], 800);
            ck_assert_uint_eq(spend->most[MORTISE_SPEND_WALL], UINT64_MAX);
        }
    }
    ck_assert_uint_eq(raises, 1);
    ck_assert_uint_eq(use().most[TOKENS], 800);
    end();
}
END_TEST

/* Whatever dies when, what is counted is what it has, as it is recorded. */
START_TEST(a_crash_counts_nothing_twice)
{
    uint64_t recorded[MORTISE_N_SPENDS];

    for (uint32_t seed = 1; seed < 60; seed++) {
        uint32_t chance = seed;

        begin_child("");
        for (int k = 0; k < 12; k++) {
            tell(10000, 100 * chance % 1000, 0);
            if (sim_random(&chance) % 3 == 0 && is_out("a"))
                finish("a");
            if (sim_random(&chance) % 3 == 0) {
                sim_crash(&s, &chance);
                sim_recover(&s);
            }
            mortise_run_get_tree_counted(s.run, recorded);
            ck_assert_uint_eq(counted(), recorded[TOKENS]);
        }
        end();
    }
}
END_TEST

/* A purse by the rules alone: opened once, raised and never lowered, and never
 * less than empty. */
START_TEST(a_purse_is_what_was_spent)
{
    struct mortise_spawn_budget purse;
    struct mortise_spawn_budget_change spend = {.origin = "o", .opens = true};

    spend.most[TOKENS] = 100;
    spend.plus[TOKENS] = 30;
    mortise_spawn_budget_change(&purse, false, &spend);
    ck_assert_uint_eq(purse.most[TOKENS], 100);
    ck_assert_uint_eq(purse.used[TOKENS], 30);
    ck_assert_uint_eq(purse.used[0], 0);
    spend.opens = false;
    spend.most[TOKENS] = 200;
    mortise_spawn_budget_change(&purse, true, &spend);
    ck_assert_uint_eq(purse.most[TOKENS], 100); /* it does not raise */
    ck_assert_uint_eq(purse.used[TOKENS], 60);
    spend.raises = true;
    spend.plus[TOKENS] = 0;
    spend.minus[TOKENS] = 45;
    mortise_spawn_budget_change(&purse, true, &spend);
    ck_assert_uint_eq(purse.most[TOKENS], 200);
    ck_assert_uint_eq(purse.used[TOKENS], 15);
    spend.most[TOKENS] = 150;
    mortise_spawn_budget_change(&purse, true, &spend);
    ck_assert_uint_eq(purse.most[TOKENS], 200);
    ck_assert_uint_eq(purse.used[TOKENS], 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("run_trees");
    TCase *tc = tcase_create("trees");

    tcase_add_checked_fixture(tc, test_begin, test_nothing_left);
    tcase_add_test(tc, what_is_not_known_is_waited_for);
    tcase_add_test(tc, where_nobody_counts);
    tcase_add_test(tc, others_count);
    tcase_add_test(tc, the_run_that_notices_asks);
    tcase_add_test(tc, it_fails_of_what_others_spent);
    tcase_add_test(tc, a_raise_goes_along);
    tcase_add_test(tc, a_purse_is_what_was_spent);
    tcase_add_test(tc, a_crash_counts_nothing_twice);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
