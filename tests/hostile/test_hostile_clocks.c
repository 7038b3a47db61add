/* test_hostile_clocks.c -- clocks that are set: days ahead, days back, for one
 * command or while an engine works.
 *
 * The programs run under tests/preload/otherclock.so, whose clock is what a file
 * says; the machine's is left alone. */
#include <check.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "lib/desk.h"
#include "lib/matrix.h"

#define MINUTE 60000ll
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

static char with[8192]; /* what stands before a command */

/* ---- the clock ------------------------------------------------------------ */

static void begin(void)
{
    desk_begin();
    desk_graph("g", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/echo, args: {value: 1}, "
                    "next: END}\n");
    desk_set_clock(0);
    snprintf(with, sizeof with, "env LD_PRELOAD=%s OTHERCLOCK=%s/clock",
             child_build("tests/preload/otherclock.so"), desk_dir);
}

#define at(ms, ...) (desk_set_clock(ms), child_run(__VA_ARGS__))

/* A run that ends at that time of the clock. */
static void ends(long long ms, const char *run)
{
    at(ms, "%s $MORTISE run g.yaml --id %s", with, run);
    desk_code(0);
}

static bool is_there(const char *run)
{
    child_run("%s $MORTISE show %s", with, run);
    if (child.code != 0)
        desk_err("was removed at");
    return child.code == 0;
}

static void retain(const char *finished)
{
    desk_ok("printf 'apiVersion: mortise/v1\\nkind: Deployment\\n"
            "metadata: {name: tests}\\nplugins: {path: [%s/plugins]}\\n"
            "trust: {dir: %s/trust.d}\\nstore: {path: ./state, "
            "retention: {finished: %s}}\\n' >mortise.yaml",
            desk_plugins, desk_plugins, finished);
}

/* ---- nothing is removed on one reading --------------------------------------- */

/* Where a clock may be for one command, or for the first ever. */
static const long long wrong[] = {31 * DAY, 366 * DAY, 36500 * DAY, -31 * DAY,
                                  -366 * DAY};

/* A command whose clock is wrong removes nothing, nor do those after it whose
 * clock is right. */
START_TEST(one_wrong_clock_removes_nothing)
{
    ends(0, "old");
    ends(wrong[_i], "under-a-wrong-clock");
    ends(1000, "right-again");
    ends(2 * HOUR, "later");
    ends(2 * DAY, "days-later");
    desk_set_clock(2 * DAY);
    ck_assert(is_there("old"));
    ck_assert(is_there("right-again"));
    if (wrong[_i] > 0)
        ck_assert(is_there("under-a-wrong-clock"));
}
END_TEST

/* One clock that is wrong in every command, but by less than a day more from one
 * to the next: it never agrees with itself. */
START_TEST(a_note_must_be_a_day_old)
{
    ends(0, "old");
    for (int h = 0; h < 24; h += 3) {
        char run[16];

        snprintf(run, sizeof run, "h%d", h);
        ends(31 * DAY + h * HOUR, run);
    }
    ck_assert(is_there("old"));
    ends(32 * DAY + HOUR, "a-day-later");
    ck_assert(!is_there("old"));
    ck_assert(is_there("h0"));
}
END_TEST

/* The time between the readings is a tenth of what runs are kept, where that is
 * less than a day. */
START_TEST(what_is_kept_shortly_goes_soon)
{
    retain("10m");
    ends(0, "old");
    ends(11 * MINUTE, "noted");
    ends(11 * MINUTE + 30000, "too-soon");
    ck_assert(is_there("old"));
    ends(12 * MINUTE + 1000, "agreed");
    ck_assert(!is_there("old"));
    ck_assert(is_there("noted"));
}
END_TEST

/* What is overdue since the note waits for another one; and a note from the
 * future is void. */
START_TEST(each_is_seen_twice)
{
    ends(0, "first");
    ends(10 * DAY, "second");
    ends(31 * DAY, "noted"); /* first is overdue */
    ends(41 * DAY, "third"); /* first goes; second is overdue since */
    ck_assert(!is_there("first"));
    ck_assert(is_there("second"));
    ends(90 * DAY, "wrong"); /* noted and third are overdue; second goes */
    desk_set_clock(41 * DAY);
    ck_assert(is_there("third"));
    ends(42 * DAY, "void");
    ends(44 * DAY, "nothing-is-overdue");
    desk_set_clock(44 * DAY);
    ck_assert(is_there("third"));
    ck_assert(is_there("noted"));
}
END_TEST

/* An engine that stays, and whose clock jumps ahead and stays there. */
START_TEST(an_engine_waits_for_the_second_reading)
{
    pid_t engine;

    ends(0, "old");
    engine =
        child_start("engine", "%s %s engine", with, child_build("mortise"));
    child_await("engine.err", "holding the store");
    desk_set_clock(31 * DAY);
    for (int i = 0; i < 30; i++) {
        usleep(100000);
        ck_assert(is_there("old"));
    }
    kill(engine, SIGTERM);
    child_wait(engine);
    ck_assert(is_there("old"));
}
END_TEST

/* ---- what takes so and so long ------------------------------------------------ */

static const struct wait {
    const char *graph;
    uint64_t least_ms; /* it takes no less */
    int code;
    const char *says;
} waits[] = {
    {"start: a\nnodes:\n"
     "  a: {type: tool, tool: time/sleep, args: {for: 2s}, next: END}\n",
     2000, 0, "completed"},
    {"start: a\nnodes:\n"
     "  a: {type: tool, tool: tried/nap, args: {ms: 60000}, timeout: 2s,\n"
     "      next: END}\n",
     2000, 1, "timeout.call"},
    {"limits: {timeout: 2s}\nstart: a\nnodes:\n"
     "  a: {type: tool, tool: tried/nap, args: {ms: 60000}, next: END}\n",
     2000, 1, "timeout"},
    {"limits: {timeout: 1h}\nstart: a\nnodes:\n"
     "  a: {type: tool, tool: tried/nap, args: {ms: 2000}, timeout: 1h,\n"
     "      next: END}\n",
     2000, 0, "completed"},
    {"start: a\nnodes:\n"
     "  a: {type: tool, tool: tried/nap, args: {ms: 60000}, timeout: 50ms,\n"
     "      next: END,\n"
     "      retry_policy: {max_attempts: 2, delay: 2s, jitter: 0}}\n",
     2000, 1, "timeout.call"},
};
enum { N_WAITS = sizeof waits / sizeof *waits };

static const long long jumps[] = {-DAY, DAY, -10000, 10000 * DAY};
enum { N_JUMPS = sizeof jumps / sizeof *jumps };

/* Whatever the clock is set to meanwhile, what takes two seconds takes two
 * seconds: a sleep, a timeout, a limit, a delay. */
START_TEST(elapsed_time_counts)
{
    const struct wait *w = &waits[_i / N_JUMPS];
    uint64_t before;
    pid_t run;

    if (!matrix_takes((size_t)(_i + _i / N_JUMPS), N_JUMPS))
        return; /* each of them with one jump at least */
    desk_graph("w", w->graph);
    before = mortise_mono_ns();
    run = child_start("run", "%s %s run w.yaml --id w --wait", with,
                      child_build("mortise"));
    child_await("run.out", "run_start");
    usleep(300000);
    desk_set_clock(jumps[_i % N_JUMPS]);
    ck_assert_int_eq(child_wait(run), w->code);
    ck_assert_uint_ge(mortise_mono_ns() - before, w->least_ms * 1000000);
    ck_assert_uint_lt(mortise_mono_ns() - before, 40000000000u);
    child_run("cat run.out");
    desk_out(w->says);
}
END_TEST

/* ---- what is due at a time of day ---------------------------------------------- */

/* Until nothing of a kind is pending any more; nobody waits for a minute. */
static void is_over_soon(const char *run)
{
    uint64_t before = mortise_mono_ns();

    do {
        usleep(100000);
        child_run("%s $MORTISE show %s", with, run);
        desk_code(0);
    } while (strstr(child.out, "completed") == NULL &&
             mortise_mono_ns() - before < 30000000000u);
    desk_out("completed");
}

/* An engine hears of it when the clock is set: a question, whose run is not in
 * memory, has expired, and a sleep until then is over. */
START_TEST(a_jump_ahead_is_noticed)
{
    pid_t engine;

    desk_graph("q", "start: q\nnodes:\n"
                    "  q: {type: human, prompt: Well?, wait: 1h, on_timeout: "
                    "accept, next: END}\n");
    engine =
        child_start("engine", "%s %s engine", with, child_build("mortise"));
    child_await("engine.err", "holding the store");
    at(0, "%s $MORTISE run q.yaml --id q", with);
    desk_code(4);
    usleep(300000);
    child_run("%s $MORTISE show q", with);
    desk_out("waiting");
    desk_set_clock(2 * HOUR);
    is_over_soon("q");
    kill(engine, SIGTERM);
    child_wait(engine);
}
END_TEST

START_TEST(a_sleep_until_then_is_over)
{
    char when[MORTISE_TIME_TEXT], graph[512];
    pid_t run;

    mortise_time_format(when, mortise_now_ms() + 50000);
    snprintf(graph, sizeof graph,
             "start: a\nnodes:\n"
             "  a: {type: tool, tool: time/sleep, args: {until: '%s'}, "
             "next: END}\n",
             when);
    desk_graph("u", graph);
    run = child_start("run", "%s %s run u.yaml --id u --wait", with,
                      child_build("mortise"));
    child_await("run.out", "run_start");
    usleep(300000);
    child_run("cat run.out");
    desk_not_out("completed");
    desk_set_clock(HOUR);
    ck_assert_int_eq(child_wait(run), 0);
}
END_TEST

/* A clock that is set back gives a question that much longer, and no less. */
START_TEST(a_question_follows_the_clock)
{
    pid_t engine;

    desk_graph("q", "start: q\nnodes:\n"
                    "  q: {type: human, prompt: Well?, wait: 2s, on_timeout: "
                    "accept, next: END}\n");
    engine =
        child_start("engine", "%s %s engine", with, child_build("mortise"));
    child_await("engine.err", "holding the store");
    at(0, "%s $MORTISE run q.yaml --id q", with);
    desk_code(4);
    desk_set_clock(-HOUR);
    sleep(3);
    child_run("%s $MORTISE show q", with);
    desk_out("waiting");
    desk_set_clock(0);
    is_over_soon("q");
    kill(engine, SIGTERM);
    child_wait(engine);
}
END_TEST

/* A sleep that a process left behind sleeps no longer than it is long, wherever
 * the clock was set while nobody was there. */
START_TEST(a_sleep_is_never_longer)
{
    pid_t run;

    desk_graph("s", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: time/sleep, args: {for: 3s}, "
                    "next: END}\n");
    run = child_start("run", "%s %s run s.yaml --id s --wait", with,
                      child_build("mortise"));
    child_await("run.out", "run_start");
    usleep(300000);
    child_kill(run);
    desk_set_clock(-DAY);
    child_run("%s $MORTISE resume s", with);
    desk_code(0);
}
END_TEST

/* Nor does a pause between two attempts. */
START_TEST(a_retry_waits_no_longer)
{
    pid_t run;

    desk_graph("r", "start: a\nnodes:\n"
                    "  a: {type: tool, tool: tried/nap, args: {ms: 60000},\n"
                    "      timeout: 50ms, next: END, retry_policy:\n"
                    "      {max_attempts: 2, delay: 3s, jitter: 0}}\n");
    run = child_start("run", "%s %s run r.yaml --id r --wait", with,
                      child_build("mortise"));
    child_await("run.out", "retry");
    child_kill(run);
    desk_set_clock(-DAY);
    child_run("timeout 60 %s $MORTISE resume r", with);
    desk_code(1);
    desk_out("timeout.call");
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("hostile clocks");
    TCase *tc = tcase_create("clocks");

    tcase_set_timeout(tc, 120);
    tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
    tcase_add_checked_fixture(tc, begin, desk_end);
    tcase_add_loop_test(tc, one_wrong_clock_removes_nothing, 0,
                        (int)(sizeof wrong / sizeof *wrong));
    tcase_add_test(tc, a_note_must_be_a_day_old);
    tcase_add_test(tc, what_is_kept_shortly_goes_soon);
    tcase_add_test(tc, each_is_seen_twice);
    tcase_add_test(tc, an_engine_waits_for_the_second_reading);
    tcase_add_loop_test(tc, elapsed_time_counts, 0, N_WAITS * N_JUMPS);
    tcase_add_test(tc, a_jump_ahead_is_noticed);
    tcase_add_test(tc, a_sleep_until_then_is_over);
    tcase_add_test(tc, a_question_follows_the_clock);
    tcase_add_test(tc, a_sleep_is_never_longer);
    tcase_add_test(tc, a_retry_waits_no_longer);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
