/* test_store_remove.c -- runs that go from the store, and graphs that nobody
 * needs (leveldb_remove.c).  test_store_crash.c kills it meanwhile. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/commits.h"
#include "lib/store_reader.h"
#include "lib/test.h"
#include "lib/warm.h"
#include "core/store/store.h"
#include "lib/store_now.h"

static char dir[4096], path[4096 + 64];
static struct mortise_store *s;
static struct mortise_err err;

static void reopen(void)
{
    mortise_store_close(s);
    ck_assert_msg(mortise_store_open(&s, path, &test_mem, &err) == MORTISE_OK,
                  "%s", err.msg);
}

static void setup(void)
{
    snprintf(dir, sizeof dir, "%s", test_mkdir());
    snprintf(path, sizeof path, "%s/store", dir);
    warm_leveldb(dir);
    test_begin();
    s = NULL;
    reopen();
}

static void teardown(void)
{
    mortise_store_close(s);
    test_rmdir(dir);
    test_nothing_left();
}

/* The independent reader finds nothing wrong; closes the store. */
static struct reader_store read_all(void)
{
    struct reader_store r;

    mortise_store_close(s);
    s = NULL;
    ck_assert_msg(store_reader_read(&r, path) == 0, "%s", r.why);
    return r;
}

/* ---- runs --------------------------------------------------------------- */

static int try_commit(const char *run, uint64_t seq, uint8_t graph)
{
    struct made_commit m;
    struct mortise_commit *c = &m.c;

    make_commit(&m, "default", run, seq, 40);
    m.c.checkpoint.graph[0] = m.c.head.graph[0] = graph;
    m.c.lazy = true;
    ck_assert_msg(mortise_store_write(s, &c, 1, &err) == MORTISE_OK, "%s",
                  err.msg);
    return m.c.result;
}

static void commit_up_to(const char *run, uint64_t last, uint8_t graph)
{
    for (uint64_t seq = 1; seq <= last; seq++)
        ck_assert_int_eq(try_commit(run, seq, graph), MORTISE_OK);
}

static bool remove_one(const char *run, uint64_t seq)
{
    struct mortise_removal r = {.tenant = "default", .run = run, .seq = seq};

    ck_assert_msg(mortise_store_remove(s, &r, 1, 77, &err) == MORTISE_OK, "%s",
                  err.msg);
    return r.gone;
}

static int nothing(void *ud, const char *tenant, const char *run,
                   const struct mortise_head *head)
{
    (void)ud;
    (void)tenant;
    (void)run;
    (void)head;
    return 0;
}

static int look(const char *run)
{
    return mortise_store_head(s, "default", run, nothing, NULL, NULL);
}

/* Nothing of a removed run is found, in this opening and in the next; another
 * stays; what a plugin kept stays, too.  Its id is taken for good. */
START_TEST(a_run_goes_whole)
{
    struct mortise_tombstone t;
    struct reader_store r;

    commit_up_to("goes", 4, 1);
    commit_up_to("goes on", 4, 1);
    ck_assert(remove_one("goes", 4));
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(look("goes"), MORTISE_ENOTFOUND);
        ck_assert_int_eq(mortise_store_removed(s, "default", "goes", &t, &err),
                         MORTISE_OK);
        ck_assert_uint_eq(t.removed_ms, 77);
        ck_assert_int_eq(
            mortise_store_removed(s, "default", "goes on", &t, &err),
            MORTISE_ENOTFOUND);
        ck_assert_int_eq(mortise_store_removed(s, "other", "goes", &t, &err),
                         MORTISE_ENOTFOUND);
        ck_assert_int_eq(try_commit("goes", 1, 1), MORTISE_EEXISTS);
        ck_assert_int_eq(try_commit("goes", 5, 1), MORTISE_ECONFLICT);
        reopen();
    }
    ck_assert_int_eq(try_commit("goes on", 5, 1), MORTISE_OK);
    r = read_all();
    ck_assert_uint_eq(r.n_runs, 1);
    ck_assert_uint_eq(r.n_tombstones, 1);
    ck_assert_uint_eq(r.n_leaving, 0);
    ck_assert_uint_eq(r.n_kvs, 3);
    store_reader_free(&r);
}
END_TEST

/* One that moved on since it was looked at, that asks somebody, or that is not
 * there, stays as it is. */
START_TEST(others_stay)
{
    commit_up_to("moved", 4, 1);
    commit_up_to("asks", 5, 1);
    ck_assert(!remove_one("moved", 3));
    ck_assert(!remove_one("asks", 5));
    ck_assert(!remove_one("never", 1));
    ck_assert_int_eq(look("moved"), MORTISE_OK);
    ck_assert_int_eq(look("asks"), MORTISE_OK);
    ck_assert_int_eq(try_commit("never", 1, 1), MORTISE_OK);
    ck_assert(remove_one("moved", 4));
    ck_assert(!remove_one("moved", 4));
}
END_TEST

/* A long one goes in batches.  Nothing of it is shown meanwhile, and the next
 * opening goes on where this one stopped. */
START_TEST(a_long_run_goes_in_batches)
{
    struct reader_store r;
    bool more = true;
    int n = 0;

    commit_up_to("long", 1300, 1);
    commit_up_to("short", 1, 1);
    ck_assert(remove_one("long", 1300));
    ck_assert_int_eq(look("long"), MORTISE_ENOTFOUND);
    r = read_all();
    ck_assert_uint_eq(r.n_leaving, 1);
    ck_assert_uint_gt(r.leaving[0].n, 500);
    store_reader_free(&r);
    reopen();
    ck_assert_int_eq(try_commit("long", 1, 1), MORTISE_EEXISTS);
    for (; more; n++)
        ck_assert_int_eq(mortise_store_remove_rest(s, &more, &err), MORTISE_OK);
    ck_assert_int_gt(n, 2);
    r = read_all();
    ck_assert_uint_eq(r.n_leaving, 0);
    ck_assert_uint_eq(r.n_runs, 1);
    store_reader_free(&r);
}
END_TEST

/* A batch is bounded: what does not fit is said to be there still. */
START_TEST(a_batch_is_bounded)
{
    static const char *const runs[] = {"a", "b", "c"};
    struct mortise_removal list[3];

    for (int i = 0; i < 3; i++) {
        commit_up_to(runs[i], 400, 1);
        list[i] = (struct mortise_removal){
            .tenant = "default", .run = runs[i], .seq = 400};
    }
    ck_assert_int_eq(mortise_store_remove(s, list, 3, 77, &err), MORTISE_OK);
    ck_assert(list[0].gone && list[1].gone && !list[2].gone);
    ck_assert_int_eq(look("c"), MORTISE_OK);
}
END_TEST

/* ---- graphs ------------------------------------------------------------- */

static int keep(void *ud, const char *tenant, const char *run,
                const struct mortise_head *head)
{
    (void)ud;
    (void)tenant;
    (void)run;
    mortise_store_keep_graphs(s, &head->graph, 1);
    return 0;
}

static void sweep(void)
{
    bool more = true;

    while (more)
        ck_assert_int_eq(mortise_store_sweep_graphs(s, &more, &err),
                         MORTISE_OK);
}

static bool has_graph(uint8_t first)
{
    struct mortise_arena a;
    struct mortise_source *files;
    uint8_t digest[MORTISE_DIGEST];
    struct made_commit m;
    size_t n;
    int rv;

    make_commit(&m, "default", "any", 1, 0);
    memcpy(digest, m.c.head.graph, sizeof digest);
    digest[0] = first;
    mortise_arena_init(&a, &test_mem);
    rv = mortise_store_graph(s, digest, &a, &files, &n, NULL);
    mortise_arena_finish(&a);
    return rv == MORTISE_OK;
}

/* A graph goes with the last run that has it, and not before; a new run of it
 * brings it again. */
START_TEST(graphs_go_last)
{
    commit_up_to("a", 1, 1);
    commit_up_to("b", 1, 1);
    commit_up_to("c", 1, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert(remove_one(i == 0 ? "a" : "b", 1));
        mortise_store_start_graph_sweep(s);
        ck_assert_int_eq(mortise_store_heads(s, NULL, NULL, keep, NULL, &err),
                         MORTISE_OK);
        sweep();
        ck_assert_int_eq(has_graph(1), i == 0);
        ck_assert(has_graph(2));
    }
    commit_up_to("d", 1, 1);
    ck_assert(has_graph(1));
}
END_TEST

/* What is admitted between the beginning and the sweep counts, whatever was
 * seen; and without a beginning, or after a reopening, nothing goes. */
START_TEST(new_runs_keep_their_graph)
{
    commit_up_to("a", 1, 1);
    ck_assert(remove_one("a", 1));
    mortise_store_start_graph_sweep(s);
    commit_up_to("b", 1, 1); /* its graph is there already */
    commit_up_to("c", 1, 3);
    sweep();
    ck_assert(has_graph(1) && has_graph(3));
    sweep();
    ck_assert(has_graph(1) && has_graph(3));
    mortise_store_start_graph_sweep(s);
    ck_assert_int_eq(mortise_store_reopen(s, &err), MORTISE_OK);
    sweep();
    ck_assert(has_graph(1) && has_graph(3));
}
END_TEST

/* Hundreds of graphs, of which every second one is needed. */
START_TEST(many_graphs_are_swept)
{
    struct reader_store r;
    char run[32];

    for (int i = 0; i < 250; i++) {
        snprintf(run, sizeof run, "r%d", i);
        commit_up_to(run, 1, (uint8_t)i);
        if (i % 2 == 0)
            ck_assert(remove_one(run, 1));
    }
    mortise_store_start_graph_sweep(s);
    ck_assert_int_eq(mortise_store_heads(s, NULL, NULL, keep, NULL, &err),
                     MORTISE_OK);
    sweep();
    r = read_all();
    ck_assert_uint_eq(r.n_graphs, 125);
    store_reader_free(&r);
}
END_TEST

/* ---- heads, and memory --------------------------------------------------- */

static int count(void *ud, const char *tenant, const char *run,
                 const struct mortise_head *head)
{
    char *out = ud;

    (void)tenant;
    (void)head;
    strcat(out, run);
    return 0;
}

/* A walk goes on behind a run, whether that is there or not. */
START_TEST(heads_go_on_behind_a_cursor)
{
    char all[64] = "", rest[64] = "";

    commit_up_to("a", 1, 1);
    commit_up_to("b", 1, 1);
    commit_up_to("c", 1, 1);
    mortise_store_heads(s, NULL, NULL, count, all, NULL);
    ck_assert_str_eq(all, "abc");
    ck_assert(remove_one("b", 1));
    mortise_store_heads(s, "default", "a", count, rest, NULL);
    mortise_store_heads(s, "default", "b", count, rest, NULL);
    ck_assert_str_eq(rest, "cc");
}
END_TEST

/* The first, second, ... allocation fails: an error, the store is reopened, and
 * then it works.  A sweep without memory for what it keeps does nothing. */
START_TEST(removing_survives_oom)
{
    bool failed = true;

    commit_up_to("b", 1, 2);
    for (int n = 0; failed; n++) {
        struct mortise_removal r = {.tenant = "default", .seq = 700};
        char run[32];
        bool more;
        int seen;

        snprintf(run, sizeof run, "r%d", n);
        r.run = run;
        commit_up_to(run, 700, 1);
        test_mem_fail_at(n);
        mortise_store_start_graph_sweep(s);
        /* Who did not see all heads does not sweep. */
        seen = mortise_store_heads(s, NULL, NULL, keep, NULL, NULL);
        if (mortise_store_remove(s, &r, 1, 77, &err) == MORTISE_OK &&
            mortise_store_remove_rest(s, &more, &err) == MORTISE_OK &&
            seen == MORTISE_OK)
            (void)mortise_store_sweep_graphs(s, &more, &err);
        failed = test_mem_failed();
        test_mem_fail_at(-1);
        if (failed)
            ck_assert_int_eq(mortise_store_reopen(s, &err), MORTISE_OK);
        ck_assert(has_graph(2));
    }
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("store remove");
    TCase *tc = tcase_create("remove");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_run_goes_whole);
    tcase_add_test(tc, others_stay);
    tcase_add_test(tc, a_long_run_goes_in_batches);
    tcase_add_test(tc, a_batch_is_bounded);
    tcase_add_test(tc, graphs_go_last);
    tcase_add_test(tc, new_runs_keep_their_graph);
    tcase_add_test(tc, many_graphs_are_swept);
    tcase_add_test(tc, heads_go_on_behind_a_cursor);
    tcase_add_test(tc, removing_survives_oom);
    suite_add_tcase(suite, tc);
    return suite;
}

int main(void)
{
    return test_run(suite());
}
