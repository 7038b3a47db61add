/* test_kill.c -- killed anywhere, a run goes on where it was.
 *
 * Each test is a family of plans: which process of a run's life dies, where,
 * and whether the power goes too.  trial.c carries a plan out with the real
 * command, judge.c says what must be true at the end.  Where a process dies:
 *
 *   points  every FAULT_POINT: around each commit and where effects begin;
 *   calls   every system call that touches the store or what the graph writes;
 *   behind  ... once an effect has happened that cannot be asked for;
 *   time    at random moments, from outside.
 *
 * One of several points, calls and moments is tried; `make whole` tries all of them
 * (lib/matrix.h).  A plan that landed nowhere is behind the last place, so families
 * need not know how many there are.  Seeds are fixed.  `make mutants` shows that three
 * broken builds do not get past this. */
#include <check.h>
#include <stdlib.h>

#include "kill/judge.h"
#include "lib/matrix.h"
#include "lib/test.h"

enum {
    RANDOM_REPORT = 120, /* moments; 200 with those of the triage */
    RANDOM_TRIAGE = 80,
    SHARE = 7, /* of so many calls and moments, one */
    SHARE_OF_POINTS = 3,
    SLOW_MS = 10,
    STEP_US = 3000
};

/* ---- plans ------------------------------------------------------------- */

/* What the loop index of a test selects. */
static const struct job *job;
static unsigned process, moments;

/* Did the (first) blow land?  In every third trial somebody looks at the
 * store after each death; not always, for to look is to recover it. */
static bool carry_out(struct trial *t, unsigned long n)
{
    bool landed;

    t->after_death = n % 3 == 0 ? judge_death : NULL;
    trial_drive(t);
    judge(t);
    landed = t->landed[0];
    trial_finish(t);
    return landed;
}

/* Of the four cuts, which one for the n-th place. */
static int keep_of(unsigned long n)
{
    static const int keeps[] = {0, NO_CUT, 0, 50, 0, 100};

    return keeps[n % (sizeof keeps / sizeof keeps[0])];
}

/* A number that belongs to n and salt alone (splitmix64). */
static unsigned long chance(unsigned long n, unsigned long salt)
{
    uint64_t z = (n + 1) * 0x9e3779b97f4a7c15u + salt * 0xd1342543de82ef95u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* How many of `n` sightings a part of the plans must have. */
static unsigned at_least(unsigned n)
{
    return matrix_is_whole() ? n : n / SHARE;
}

static bool at_point(unsigned long n)
{
    struct trial t = {.job = job,
                      .blows = {{AT_POINT, process, n + 1, keep_of(n)}},
                      .n_blows = 1};

    return !matrix_takes(n, SHARE_OF_POINTS) || carry_out(&t, n);
}

static bool at_call(unsigned long n)
{
    struct trial t = {
        .job = job, .blows = {{AT_CALL, process, n + 1, 0}}, .n_blows = 1};

    return !matrix_takes(n, SHARE) || carry_out(&t, n);
}

/* Behind an effect.  (How many calls are before it is of chance: commits that wait
 * for each other fall into one batch or into two.) */
static bool at_call_behind(unsigned long n)
{
    struct trial t = {.job = job,
                      .blows = {{AT_CALL_BEHIND, process, n + 1, 0}},
                      .n_blows = 1};

    return carry_out(&t, n);
}

/* Killed at one call, and while it recovers at another. */
static bool at_call_twice(unsigned long n)
{
    struct trial t = {.job = job,
                      .blows = {{AT_CALL, process, 1 + 3 * n, keep_of(n)},
                                {AT_CALL, process + 1, 1 + chance(n, 1) % 80,
                                 keep_of(n / 2)}},
                      .n_blows = 2};

    return !matrix_takes(n, SHARE) || carry_out(&t, n);
}

/* Every few milliseconds, while a sync of the store takes longer than that. */
static bool at_time_slowly(unsigned long n)
{
    struct trial t = {.job = job,
                      .blows = {{AT_TIME, process, n * STEP_US, 0}},
                      .n_blows = 1,
                      .slow_ms = SLOW_MS};

    return !matrix_takes(n, SHARE) || carry_out(&t, n);
}

/* At a random moment of a random process; the half of them with a cut, a
 * quarter followed by another. */
static bool at_time(unsigned long n)
{
    unsigned which = (unsigned)(chance(n, 2) % 2);
    unsigned long long_ = judge_us(which) + judge_us(which) / 5 + 1;
    struct trial t = {
        .job = job,
        .blows = {{AT_TIME, which, chance(n, 3) % long_, n % 2 ? 0 : NO_CUT},
                  {AT_TIME, which + 1, chance(n, 4) % long_,
                   chance(n, 5) % 2 ? 0 : NO_CUT}},
        .n_blows = n % 4 == 3 ? 2 : 1};

    if (n >= moments)
        return false;
    if (matrix_takes(n / 4, SHARE))
        carry_out(&t, n);
    return true;
}

/* ---- tests ------------------------------------------------------------- */

static void begin(const struct job *of)
{
    trials_begin();
    job = of;
    judge_begin(job);
}

static void begin_report(void)
{
    begin(&job_report);
}

static void begin_triage(void)
{
    begin(&job_triage);
}

static void begin_counted(void)
{
    begin(&job_counted);
}

static void begin_acting(void)
{
    begin(&job_acting);
}

static void begin_asking(void)
{
    begin(&job_asking);
}

static void begin_refund(void)
{
    begin(&job_refund);
}

static void end(void)
{
    judge_end();
    trials_end();
}

/* The report's run, at each fault point of its first and second process. */
START_TEST(report_at_every_point)
{
    process = (unsigned)_i;
    try_all(at_point);
    ck_assert_uint_ge(times_seen(SAW_DEATH), at_least(8));
}
END_TEST

/* ... at each system call, with the power cut. */
START_TEST(report_at_every_call)
{
    process = (unsigned)_i;
    try_all(at_call);
    ck_assert_uint_ge(times_seen(SAW_DEATH), at_least(60));
    if (process == 0)
        ck_assert_uint_ge(times_seen(SAW_NO_RUN), at_least(20));
    else
        ck_assert_uint_ge(times_seen(SAW_RECONCILED), at_least(2));
}
END_TEST

/* ... at calls, and again in the recovery. */
START_TEST(report_twice)
{
    process = (unsigned)_i;
    try_all(at_call_twice);
}
END_TEST

/* ... at random moments. */
START_TEST(report_at_random_moments)
{
    moments = RANDOM_REPORT;
    try_all(at_time);
    ck_assert_uint_ge(times_seen(SAW_DEATH), at_least(RANDOM_REPORT / 4));
}
END_TEST

/* ... where the store's disk is slow: whatever does not wait for it is far
 * ahead when the power goes. */
START_TEST(report_on_a_slow_disk)
{
    process = 1;
    try_all(at_time_slowly);
}
END_TEST

/* The graph that everybody sees first, configs/triage/, at each fault point of
 * its first and second process. */
START_TEST(triage_at_every_point)
{
    process = (unsigned)_i;
    try_all(at_point);
    ck_assert_uint_ge(times_seen(SAW_DEATH), at_least(4));
}
END_TEST

/* ... and at each system call while it writes its report, with the power cut.
 */
START_TEST(triage_at_every_call)
{
    process = 1;
    try_all(at_call);
    ck_assert_uint_ge(times_seen(SAW_RECONCILED), at_least(2));
}
END_TEST

/* ... and at random moments. */
START_TEST(triage_at_random_moments)
{
    moments = RANDOM_TRIAGE;
    try_all(at_time);
    ck_assert_uint_ge(times_seen(SAW_DEATH), at_least(RANDOM_TRIAGE / 4));
}
END_TEST

/* An effect that can be neither repeated nor looked for is never done twice:
 * the run is in doubt until somebody says what became of it. */
START_TEST(counted_at_every_point)
{
    try_all(at_point);
    ck_assert_uint_ge(times_seen(SAW_DEATH), at_least(4));
}
END_TEST

START_TEST(counted_at_every_call)
{
    try_all(at_call);
    ck_assert_uint_ge(times_seen(SAW_DEATH), at_least(60));
}
END_TEST

/* Its result is written, and that is synced: whoever dies before has seen the
 * effect happen and does not know it any more. */
START_TEST(counted_behind_the_effect)
{
    try_all(at_call_behind);
    ck_assert_uint_ge(times_seen(SAW_DOUBT), 2);
}
END_TEST

START_TEST(counted_on_a_slow_disk)
{
    try_all(at_time_slowly);
}
END_TEST

/* ... nor is what a call does by asking, with an effect of its own besides
 * (intent: call) or without (intent: steps). */
START_TEST(asked_at_every_point)
{
    try_all(at_point);
    ck_assert_uint_ge(times_seen(SAW_DEATH), at_least(4));
}
END_TEST

START_TEST(asked_at_every_call)
{
    try_all(at_call);
    ck_assert_uint_ge(times_seen(SAW_DEATH), at_least(60));
}
END_TEST

START_TEST(asked_behind_the_effect)
{
    try_all(at_call_behind);
    ck_assert_uint_ge(times_seen(SAW_DOUBT), 2);
}
END_TEST

/* configs/refund/: money moves once, through the approval, and no model is asked
 * again for what it had said. */
START_TEST(refund_at_every_point)
{
    process = (unsigned)_i;
    try_all(at_point);
    ck_assert_uint_ge(times_seen(SAW_DEATH), at_least(6));
}
END_TEST

START_TEST(refund_at_every_call)
{
    process = (unsigned)_i;
    try_all(at_call);
    ck_assert_uint_ge(times_seen(SAW_DEATH), at_least(40));
}
END_TEST

START_TEST(refund_behind_the_effect)
{
    process = 1;
    try_all(at_call_behind);
    ck_assert_uint_ge(times_seen(SAW_DEATH), at_least(4));
}
END_TEST

static Suite *suite(void)
{
    TCase *acting = tcase_create("acting"), *asking = tcase_create("asking"),
          *refund = tcase_create("refund");
    Suite *s = suite_create("kill");
    TCase *report = tcase_create("report"), *triage = tcase_create("triage"),
          *counted = tcase_create("counted");

    tcase_add_unchecked_fixture(report, begin_report, end);
    tcase_set_timeout(report, 600);
    tcase_add_loop_test(report, report_at_every_point, 0, 2);
    tcase_add_loop_test(report, report_at_every_call, 0, 2);
    tcase_add_loop_test(report, report_twice, 0, 2);
    tcase_add_test(report, report_at_random_moments);
    tcase_add_test(report, report_on_a_slow_disk);
    suite_add_tcase(s, report);

    tcase_add_unchecked_fixture(triage, begin_triage, end);
    tcase_set_timeout(triage, 600);
    tcase_add_loop_test(triage, triage_at_every_point, 0, 2);
    tcase_add_test(triage, triage_at_every_call);
    tcase_add_test(triage, triage_at_random_moments);
    suite_add_tcase(s, triage);

    tcase_add_unchecked_fixture(counted, begin_counted, end);
    tcase_set_timeout(counted, 600);
    tcase_add_test(counted, counted_at_every_point);
    tcase_add_test(counted, counted_at_every_call);
    tcase_add_test(counted, counted_behind_the_effect);
    tcase_add_test(counted, counted_on_a_slow_disk);
    suite_add_tcase(s, counted);

    tcase_add_unchecked_fixture(acting, begin_acting, end);
    tcase_set_timeout(acting, 600);
    tcase_add_test(acting, asked_at_every_point);
    tcase_add_test(acting, asked_at_every_call);
    tcase_add_test(acting, asked_behind_the_effect);
    suite_add_tcase(s, acting);

    tcase_add_unchecked_fixture(refund, begin_refund, end);
    tcase_set_timeout(refund, 600);
    tcase_add_loop_test(refund, refund_at_every_point, 0, 2);
    tcase_add_loop_test(refund, refund_at_every_call, 0, 2);
    tcase_add_test(refund, refund_behind_the_effect);
    suite_add_tcase(s, refund);

    tcase_add_unchecked_fixture(asking, begin_asking, end);
    tcase_set_timeout(asking, 600);
    tcase_add_test(asking, asked_at_every_point);
    tcase_add_test(asking, asked_at_every_call);
    tcase_add_test(asking, asked_behind_the_effect);
    suite_add_tcase(s, asking);
    return s;
}

int main(void)
{
    return test_run(suite());
}
