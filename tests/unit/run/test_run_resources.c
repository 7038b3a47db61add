/* test_run_resources.c -- `resource`: who writes to the same thing does not run
 * beside each other, in whatever corner of a run, and nobody waits for ever. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void admit(const char *rest)
{
    struct mortise_err err;
    char text[4096];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Graph\n"
             "metadata: {name: g, version: 1.0.0}\n%s",
             rest);
    sim_init(&s, sim_graph(text));
    ck_assert_int_eq(sim_admit(&s, "{}", &err), MORTISE_OK);
}

static void sync_all(void)
{
    while (sim_sync_one(&s))
        continue;
}

/* The nodes that calls are out of, "a b ", in the order of their start. */
static const char *out(void)
{
    static char names[256];
    size_t n = 0;

    sync_all();
    names[0] = '\0';
    for (size_t i = 0; i < s.n_calls; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s ",
                              s.calls[i].call.node->id);
    return names;
}

static void done(void)
{
    sim_run_plain(&s);
    ck_assert_int_eq(mortise_run_status(s.run), MORTISE_RUN_COMPLETED);
    sim_finish(&s);
}

static const char four[] =
    "start: [a, b, c, d]\n"
    "nodes:\n"
    "  a: {type: tool, tool: t/write, args: {n: a}, resource: disk,"
    " next: END}\n"
    "  b: {type: tool, tool: t/idem, args: {n: b}, resource: disk,"
    " next: END}\n"
    "  c: {type: tool, tool: t/write, args: {n: c}, resource: tape,"
    " next: END}\n"
    "  d: {type: tool, tool: t/write, args: {n: d}, resource: disk,"
    " next: END}\n";

/* One at a time of those that name the same, in their order; others pass.
 * key: node.resource */
START_TEST(one_at_a_time)
{
    admit(four);
    ck_assert_str_eq(out(), "a c ");
    ck_assert(sim_end_call(&s, 0));
    ck_assert_str_eq(out(), "c b ");
    ck_assert(sim_end_call(&s, 1));
    ck_assert_str_eq(out(), "c d ");
    done();
}
END_TEST

/* Elements of a map, and nodes of a graph inside, share with all the rest. */
START_TEST(everywhere_in_a_run)
{
    size_t most = 0;

    admit("start: [a, s]\n"
          "nodes:\n"
          "  a: {type: tool, tool: t/echo, args: {},"
          " map: {over: '[1, 2, 3, 4]', to: w, join: j}}\n"
          "  w: {type: tool, tool: t/rec, args: {n: '${item}'},"
          " resource: disk, next: j}\n"
          "  j: {type: tool, tool: t/echo, args: {}, next: END}\n"
          "  s:\n"
          "    type: subgraph\n"
          "    graph:\n"
          "      start: [x, y]\n"
          "      nodes:\n"
          "        x: {type: tool, tool: t/rec, args: {n: x},"
          " resource: disk, next: END}\n"
          "        y: {type: tool, tool: t/rec, args: {n: y},"
          " resource: disk, next: END}\n"
          "    next: END\n");
    do {
        size_t n = 0;

        for (size_t i = 0; i < s.n_calls; i++)
            n += s.calls[i].call.node->resource != 0;
        most = n > most ? n : most;
    } while (sim_sync_one(&s) || sim_end_call(&s, 0));
    ck_assert_uint_eq(most, 1);
    ck_assert_int_eq(sim_effect_count(&s, "w"), 4);
    done();
}
END_TEST

/* Who waits takes no slot: there is one, and the others still go on. */
START_TEST(who_waits_takes_no_slot)
{
    char text[2048];

    snprintf(text, sizeof text, "limits: {concurrency: 2}\n%s", four);
    admit(text);
    ck_assert_str_eq(out(), "a c ");
    ck_assert(sim_end_call(&s, 1));
    ck_assert_str_eq(out(), "a ");
    done();
}
END_TEST

/* A failure, a wait for the next attempt and a loss set it free. */
START_TEST(whatever_ends_sets_it_free)
{
    admit("start: [a, q]\n"
          "nodes:\n"
          "  a: {type: tool, tool: t/fail, effect_class: write,"
          " args: {class: transient, times: 1}, resource: disk,"
          " retry_policy: {max_attempts: 2, delay: 20s, jitter: 0},"
          " next: END}\n"
          "  q: {type: tool, tool: t/echo, args: {}, next: [b, c]}\n"
          "  b: {type: tool, tool: t/write, args: {n: b}, resource: disk,"
          " next: j}\n"
          "  c: {type: tool, tool: t/echo, args: {}, next: j}\n"
          "  j: {type: tool, tool: t/write, args: {n: j}, resource: disk,"
          " join: any, next: END}\n");
    ck_assert_str_eq(out(), "q a ");
    ck_assert(sim_end_call(&s, 0));
    ck_assert_str_eq(out(), "a c "); /* b waits */
    ck_assert(sim_end_call(&s, 0));  /* a fails, for now */
    ck_assert_str_eq(out(), "c b ");
    ck_assert(sim_end_call(&s, 0)); /* j starts, and b has lost */
    ck_assert(s.calls[0].cancelled);
    ck_assert_str_eq(out(), "b "); /* until it lets go */
    ck_assert(sim_end_call(&s, 0));
    ck_assert_str_eq(out(), "j ");
    done();
}
END_TEST

/* Killed at any moment: everything happens, once, and one at a time. */
START_TEST(a_crash_frees_all)
{
    for (uint32_t seed = 1; seed < 60; seed++) {
        uint32_t chance = seed;
        int steps = (int)(seed % 12);

        admit("start: [a, b, c]\n"
              "nodes:\n"
              "  a: {type: tool, tool: t/idem, args: {n: a}, resource: disk,"
              " next: END}\n"
              "  b: {type: tool, tool: t/rec, args: {n: b}, resource: disk,"
              " next: END}\n"
              "  c: {type: tool, tool: t/idem, args: {n: c}, resource: disk,"
              " next: END}\n");
        sim_sync_one(&s);
        while (steps-- > 0 && (sim_sync_one(&s) || sim_end_call(&s, 0)))
            ck_assert_uint_le(s.n_calls, 1);
        sim_crash(&s, &chance);
        sim_recover(&s);
        while (sim_sync_one(&s) || sim_end_call(&s, 0))
            ck_assert_uint_le(s.n_calls, 1);
        ck_assert_int_eq(sim_effect_count(&s, "a"), 1);
        ck_assert_int_eq(sim_effect_count(&s, "b"), 1);
        ck_assert_int_eq(sim_effect_count(&s, "c"), 1);
        done();
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *suite_ = suite_create("run resources");
    TCase *tc = tcase_create("resources");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, one_at_a_time);
    tcase_add_test(tc, everywhere_in_a_run);
    tcase_add_test(tc, who_waits_takes_no_slot);
    tcase_add_test(tc, whatever_ends_sets_it_free);
    tcase_add_test(tc, a_crash_frees_all);
    suite_add_tcase(suite_, tc);
    return suite_;
}

int main(void)
{
    return test_run(suite());
}
