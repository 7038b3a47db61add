/* test_cli_retention.c -- store.retention: what goes, what stays, and what is
 * said of what went. */
#include <check.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/desk.h"
#include "lib/store_reader.h"

static void begin(void)
{
    desk_begin();
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: END}\n");
    desk_graph("h", "start: a\nnodes:\n"
                    "  a: {type: human, prompt: go on?, next: END}\n");
    desk_graph("f", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/fail, args: {code: x}, "
                    "next: END}\n");
}

/* The desk's deployment with this retention. */
static void retain(const char *retention)
{
    char more[256];

    snprintf(more, sizeof more, "retention: %s}", retention);
    desk_ok("sed -i '/^store:/d' mortise.yaml; "
            "printf 'store: {path: ./state, %%s\\n' '%s' >>mortise.yaml",
            more);
}

/* From now on programs run under a clock that is so many minutes ahead. */
static void minutes_later(int minutes)
{
    int64_t shift = (int64_t)minutes * 60000;
    char path[4200];

    snprintf(path, sizeof path, "%s/clock", desk_dir);
    test_write(path, &shift, sizeof shift);
    setenv("OTHERCLOCK", path, 1);
    setenv("LD_PRELOAD", child_build("tests/preload/otherclock.so"), 1);
}

static void the_clock_is_right(void)
{
    unsetenv("LD_PRELOAD");
    unsetenv("OTHERCLOCK");
    desk_end();
}

static void is_gone(const char *run)
{
    child_run("$MORTISE show %s", run);
    ck_assert_int_ne(child.code, 0);
    desk_err("was removed at 20");
}

static void is_there(const char *run)
{
    desk_ok("$MORTISE show %s", run);
}

/* The store, read by somebody else, has nothing stranded in it. */
static void reads_well(size_t runs, size_t graphs, size_t tombstones)
{
    struct reader_store r;
    char path[4200];
    int rv;

    snprintf(path, sizeof path, "%s/state", desk_dir);
    rv = store_reader_read(&r, path);
    ck_assert_msg(rv == 0, "%s", r.why);
    ck_assert_uint_eq(r.n_runs, runs);
    ck_assert_uint_eq(r.n_graphs, graphs);
    ck_assert_uint_eq(r.n_tombstones, tombstones);
    ck_assert_uint_eq(r.n_leaving, 0);
    store_reader_free(&r);
}

/* What ended longer ago than is said goes when somebody works with the store, and
 * somebody has before: completed, failed, cancelled; with its graph.  Its id stays taken, and who
 * asks is told what became of it.
 * key: store.retention, retention.finished */
START_TEST(what_ended_goes)
{
    retain("{finished: 60m}");
    desk_ok("$MORTISE run g.yaml --id done");
    child_run("$MORTISE run f.yaml --id failed");
    child_run("$MORTISE run h.yaml --id cancelled");
    desk_ok("$MORTISE cancel cancelled --reason x");
    minutes_later(90);
    desk_ok("$MORTISE run g.yaml --id young");
    is_there("done");
    minutes_later(100); /* a tenth of what they are kept, and more */
    desk_ok("$MORTISE run g.yaml --id younger");
    is_gone("done");
    desk_err("it had completed");
    is_gone("failed");
    desk_err("it had failed");
    is_gone("cancelled");
    desk_err("because it had been cancelled");
    is_there("young");
    desk_ok("$MORTISE runs");
    desk_not_out("done");
    child_run("$MORTISE run g.yaml --id done");
    ck_assert_int_ne(child.code, 0);
    desk_err("existed and was removed");
    child_run("$MORTISE events done");
    ck_assert_int_ne(child.code, 0);
    child_run("$MORTISE resume failed");
    ck_assert_int_ne(child.code, 0);
    desk_err("was removed");
    child_run("$MORTISE show never");
    desk_err("no run 'never'");
    is_there("younger");
    reads_well(2, 1, 3);
}
END_TEST

/* What waits stays, however long it does; and it goes on. */
START_TEST(what_waits_stays)
{
    retain("{finished: 1ms}");
    child_run("$MORTISE run h.yaml --id asks");
    desk_code(4);
    for (int i = 1; i <= 3; i++) {
        minutes_later(i);
        desk_ok("$MORTISE run g.yaml --id g%d", i);
    }
    is_gone("g1");
    is_there("asks");
    desk_ok("$MORTISE approve $($MORTISE inbox asks --ids)");
}
END_TEST

/* Without a word of it nothing of today goes, and with 0s nothing ever. */
START_TEST(nothing_goes_that_need_not)
{
    desk_ok("$MORTISE run g.yaml --id one");
    minutes_later(60);
    desk_ok("$MORTISE run g.yaml --id two");
    is_there("one");
    retain("{finished: 0s}");
    desk_ok("$MORTISE run g.yaml --id three");
    is_there("one");
    reads_well(3, 1, 0);
}
END_TEST

/* Who only looks changes nothing. */
START_TEST(looking_removes_nothing)
{
    desk_ok("$MORTISE run g.yaml --id one");
    retain("{finished: 1ms}");
    for (int i = 0; i < 2; i++) {
        minutes_later(i + 1);
        is_there("one");
    }
    desk_ok("$MORTISE runs");
    desk_out("one");
}
END_TEST

/* An engine that stays removes what becomes old, beside its other work. */
START_TEST(an_engine_goes_over_them)
{
    pid_t engine;

    for (int i = 0; i < 70; i++)
        desk_ok("$MORTISE run g.yaml --id old%d", i);
    retain("{finished: 1ms}");
    child_run("$MORTISE run h.yaml --id notes");
    desk_code(4);
    engine = child_start("engine", "%s engine", child_build("mortise"));
    child_await("engine.err", "holding the store");
    child_run("$MORTISE run h.yaml --id asks");
    for (int i = 0; i < 600; i++) {
        usleep(100000);
        child_run("$MORTISE runs");
        if (strstr(child.out, "old") == NULL)
            break;
    }
    desk_not_out("old");
    desk_out("asks");
    is_gone("old69");
    kill(engine, SIGTERM);
    child_wait(engine);
    reads_well(2, 1, 70);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("cli_retention");
    TCase *tc = tcase_create("retention");

    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, the_clock_is_right);
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, what_ended_goes);
    tcase_add_test(tc, what_waits_stays);
    tcase_add_test(tc, nothing_goes_that_need_not);
    tcase_add_test(tc, looking_removes_nothing);
    tcase_add_test(tc, an_engine_goes_over_them);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
