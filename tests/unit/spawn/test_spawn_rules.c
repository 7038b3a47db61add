/* test_spawn_rules.c -- what a child says of its attempts, and what is said to it
 * about one: the rules alone (core/spawn/spawn.c, 8). */
#include <check.h>
#include <string.h>

#include "lib/test.h"
#include "core/mortise.h"
#include "core/spawn/spawn.h"

static struct mortise_err err;

/* A native child that works. */
static struct mortise_spawn working(void)
{
    return (struct mortise_spawn){.epoch = 1,
                                  .updated_ms = 1,
                                  .state = MORTISE_SPAWN_RUNNING,
                                  .depth = 1,
                                  .attempt = 2,
                                  .native = true,
                                  .origin = "p",
                                  .execution = "1.0/a#1",
                                  .call = "c",
                                  .name = "n",
                                  .child = "k",
                                  .token = "t",
                                  .progress = "half"};
}

START_TEST(a_report_is_the_newest)
{
    struct mortise_spawn was = working(), now;

    ck_assert_int_eq(mortise_spawn_after_report(&was, 2, "most", 5, &now, &err),
                     MORTISE_OK);
    ck_assert_str_eq(now.progress, "most");
    ck_assert_uint_eq(now.reports, 1);
    ck_assert_uint_eq(now.updated_ms, 5);
    ck_assert_uint_eq(now.state, MORTISE_SPAWN_RUNNING);
    ck_assert_uint_eq(now.epoch, 1);
}
END_TEST

START_TEST(a_new_attempt_has_no_progress)
{
    struct mortise_spawn was = working(), now;

    ck_assert_int_eq(mortise_spawn_after_report(&was, 3, NULL, 5, &now, &err),
                     MORTISE_OK);
    ck_assert_uint_eq(now.attempt, 3);
    ck_assert_str_eq(now.progress, "");
    ck_assert_uint_eq(now.reports, 1);
    /* to say again which one it is changes nothing */
    was = now;
    ck_assert_int_eq(mortise_spawn_after_report(&was, 3, NULL, 6, &now, &err),
                     MORTISE_OK);
    ck_assert_uint_eq(now.reports, 1);
    ck_assert_uint_eq(now.updated_ms, 5);
}
END_TEST

START_TEST(a_stale_report_is_refused)
{
    struct mortise_spawn was = working(), now;

    ck_assert_int_eq(mortise_spawn_after_report(&was, 1, "all", 5, &now, &err),
                     MORTISE_ESTALE_ATTEMPT);
    ck_assert_ptr_nonnull(strstr(err.msg, "attempt 2"));
    ck_assert_int_eq(mortise_spawn_after_report(NULL, 1, "all", 5, &now, &err),
                     MORTISE_ENOTFOUND);
    was.state = MORTISE_SPAWN_SETTLED;
    was.status = MORTISE_SPAWN_CANCELLED;
    ck_assert_int_eq(mortise_spawn_after_report(&was, 2, "all", 5, &now, &err),
                     MORTISE_EALREADY_SETTLED);
}
END_TEST

START_TEST(who_hears)
{
    struct mortise_spawn s = working();

    ck_assert_int_eq(mortise_spawn_can_receive(&s, 0, &err), MORTISE_OK);
    ck_assert_int_eq(mortise_spawn_can_receive(&s, 2, &err), MORTISE_OK);
    ck_assert_int_eq(mortise_spawn_can_receive(&s, 1, &err),
                     MORTISE_ESTALE_ATTEMPT);
    ck_assert_int_eq(mortise_spawn_can_receive(&s, 3, &err),
                     MORTISE_ESTALE_ATTEMPT);
    s.state = MORTISE_SPAWN_PENDING;
    ck_assert_int_eq(mortise_spawn_can_receive(&s, 2, &err),
                     MORTISE_ENOT_RUNNING);
    s.state = MORTISE_SPAWN_SETTLED;
    s.status = MORTISE_SPAWN_FAILED;
    ck_assert_int_eq(mortise_spawn_can_receive(&s, 2, &err),
                     MORTISE_EALREADY_SETTLED);
    s = working();
    s.native = false;
    ck_assert_int_eq(mortise_spawn_can_receive(&s, 0, &err), MORTISE_EDENIED);
}
END_TEST

/* What was decided upon another report is not written. */
START_TEST(a_change_is_of_one_record)
{
    struct mortise_spawn was = working();
    struct mortise_spawn_change c = {.parent = "p",
                                     .id = "i",
                                     .from_epoch = 1,
                                     .from_reports = 0,
                                     .from_state = MORTISE_SPAWN_RUNNING};

    ck_assert(mortise_spawn_is_change_current(&was, &c));
    was.reports = 1;
    ck_assert(!mortise_spawn_is_change_current(&was, &c));
    ck_assert(!mortise_spawn_is_change_current(NULL, &c));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("spawn_rules");
    TCase *tc = tcase_create("attempts");

    tcase_add_test(tc, a_report_is_the_newest);
    tcase_add_test(tc, a_new_attempt_has_no_progress);
    tcase_add_test(tc, a_stale_report_is_refused);
    tcase_add_test(tc, who_hears);
    tcase_add_test(tc, a_change_is_of_one_record);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
