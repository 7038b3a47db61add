/* test_engine.c -- the parts of the engine that know nothing of runs: the
 * timers, the mailbox, the workers. */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/table.h"
#include "core/engine/parts/task_queue.h"
#include "core/engine/parts/pool.h"
#include "core/engine/parts/timers.h"
#include "lib/test.h"

static struct mortise_err err;

/* ---- timers -------------------------------------------------------------- */

struct alarm_ {
    struct mortise_timer timer;
    int fired;
};

static uint64_t last_fired;
static int out_of_order;

static void fired(struct mortise_timer *t)
{
    MORTISE_CONTAINER_OF(t, struct alarm_, timer)->fired++;
    out_of_order += t->at_ns < last_fired;
    last_fired = t->at_ns;
}

/* Whatever was armed and not disarmed fires once, in order, when it is due and
 * not before. */
START_TEST(timers_fire_in_order) /* loop: seeds */
{
    static struct alarm_ a[2000];
    struct mortise_timers ts = {NULL, 0};

    srand((unsigned)_i);
    memset(a, 0, sizeof a);
    for (int i = 0; i < 2000; i++) {
        a[i].timer.fire = fired;
        mortise_timer_arm(&ts, &a[i].timer, (uint64_t)(rand() % 1000));
    }
    for (int i = 0; i < 2000; i += 2)
        mortise_timer_disarm(&ts, &a[i].timer);
    for (int i = 0; i < 2000; i += 4)
        mortise_timer_arm(&ts, &a[i].timer, (uint64_t)(rand() % 1000));
    for (uint64_t now = 0; now <= 1000; now += 100) {
        last_fired = 0;
        mortise_timers_fire(&ts, now);
        for (int i = 0; i < 2000; i++)
            ck_assert_int_eq(a[i].fired,
                             (i % 4 != 2) && a[i].timer.at_ns <= now);
    }
    ck_assert_int_eq(out_of_order, 0);
    ck_assert_uint_eq(ts.n, 0);
    ck_assert_ptr_null(ts.root);
    ck_assert(!mortise_timers_fire(&ts, UINT64_MAX));
}
END_TEST

static struct mortise_timers again_in;
static int again_fired;

static void again(struct mortise_timer *t)
{
    again_fired++;
    mortise_timer_arm(&again_in, t, 0);
}

/* One that arms itself anew for the past does not keep us for ever. */
START_TEST(timers_let_go)
{
    struct mortise_timer t = {.fire = again};

    mortise_timer_arm(&again_in, &t, 0);
    ck_assert(mortise_timers_fire(&again_in, 10));
    ck_assert_int_eq(again_fired, 1);
    mortise_timer_disarm(&again_in, &t);
    mortise_timer_disarm(&again_in, &t); /* once more does not matter */
}
END_TEST

/* ---- mailbox ------------------------------------------------------------- */

static atomic_int wakes;

static void wake(void *ud)
{
    (void)ud;
    atomic_fetch_add(&wakes, 1);
}

/* First in, first out; urgent ones by themselves; one wake for a full box. */
START_TEST(mail_keeps_its_order)
{
    struct mortise_task_queue m;
    struct mortise_task t[6];
    struct mortise_tasks urgent = {NULL, NULL}, others = {NULL, NULL};

    ck_assert_int_eq(mortise_task_queue_init(&m, wake, NULL), MORTISE_OK);
    for (int i = 0; i < 6; i++)
        mortise_task_queue_put(&m, &t[i], i % 3 == 0);
    ck_assert_int_eq(atomic_load(&wakes), 1);
    mortise_task_queue_take(&m, &urgent, &others);
    mortise_task_queue_take(&m, &urgent, &others);
    ck_assert_ptr_eq(mortise_tasks_take(&urgent), &t[0]);
    ck_assert_ptr_eq(mortise_tasks_take(&urgent), &t[3]);
    ck_assert_ptr_null(mortise_tasks_take(&urgent));
    for (int i = 1; i < 6; i += i % 3)
        ck_assert_ptr_eq(mortise_tasks_take(&others), &t[i]);
    ck_assert_ptr_null(mortise_tasks_take(&others));
    mortise_task_queue_put(&m, &t[0], false);
    ck_assert_int_eq(atomic_load(&wakes), 2);
    mortise_task_queue_finish(&m);
}
END_TEST

/* ---- workers ------------------------------------------------------------- */

struct work {
    struct mortise_task job;
    atomic_int begun, ran;
    const atomic_bool *gate; /* it ends once this is open; NULL: at once */
};

static void run(struct mortise_task *j)
{
    struct work *w = MORTISE_CONTAINER_OF(j, struct work, job);

    atomic_store(&w->begun, 1);
    while (w->gate != NULL && !atomic_load(w->gate))
        usleep(1000);
    atomic_fetch_add(&w->ran, 1);
}

/* Until it is so; Check's timeout says how long that may take. */
#define await_that(condition)                                                  \
    do                                                                         \
        usleep(1000);                                                          \
    while (!(condition))

/* Every job runs once; closing waits for all of them. */
START_TEST(jobs_run_once)
{
    static struct work w[500];
    struct mortise_pool *p;

    ck_assert_int_eq(mortise_pool_open(&p, &test_mem, &err), MORTISE_OK);
    for (int i = 0; i < 500; i++) {
        w[i] = (struct work){.job = {.run = run}};
        ck_assert_int_eq(mortise_pool_put(p, &w[i].job, &err), MORTISE_OK);
    }
    mortise_pool_close(p);
    for (int i = 0; i < 500; i++)
        ck_assert_int_eq(atomic_load(&w[i].ran), 1);
}
END_TEST

/* One that was taken back does not run; one that has begun cannot be. */
START_TEST(jobs_can_be_taken_back)
{
    atomic_bool gate = false;
    struct work w[8];
    struct mortise_pool *p;

    ck_assert_int_eq(mortise_pool_open(&p, &test_mem, &err), MORTISE_OK);
    for (int i = 0; i < 8; i++) {
        w[i] = (struct work){.job = {.run = run}, .gate = &gate};
        ck_assert_int_eq(mortise_pool_put(p, &w[i].job, &err), MORTISE_OK);
    }
    await_that(atomic_load(&w[0].begun));
    ck_assert(!mortise_pool_withdraw(p, &w[0].job));
    ck_assert(mortise_pool_withdraw(p, &w[7].job));
    ck_assert(!mortise_pool_withdraw(p, &w[7].job));
    ck_assert(mortise_pool_withdraw(p, &w[5].job));
    atomic_store(&gate, true);
    mortise_pool_close(p);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(atomic_load(&w[i].ran), i != 7 && i != 5);
}
END_TEST

/* Threads that hang are replaced; they end by themselves when they come back,
 * even after the pool was closed. */
START_TEST(hanging_jobs_are_given_up)
{
    static struct work hung[4], after;
    static atomic_bool gate;
    struct mortise_pool *p;

    ck_assert_int_eq(mortise_pool_open(&p, &test_mem, &err), MORTISE_OK);
    for (int i = 0; i < 4; i++) {
        hung[i] = (struct work){.job = {.run = run}, .gate = &gate};
        ck_assert_int_eq(mortise_pool_put(p, &hung[i].job, &err), MORTISE_OK);
    }
    for (int i = 0; i < 4; i++)
        await_that(atomic_load(&hung[i].begun));
    after = (struct work){.job = {.run = run}};
    ck_assert_int_eq(mortise_pool_put(p, &after.job, &err), MORTISE_OK);
    for (int i = 0; i < 4; i++)
        mortise_pool_abandon(p, &hung[i].job);
    mortise_pool_abandon(p, &after.job); /* not under way: nothing happens */
    mortise_pool_close(p);
    ck_assert_int_eq(atomic_load(&after.ran), 1);
    ck_assert_int_eq(atomic_load(&hung[0].ran), 0);
    atomic_store(&gate, true);
    for (int i = 0; i < 4; i++)
        await_that(atomic_load(&hung[i].ran) == 1);
}
END_TEST

/* Jobs that wait have no place: however many do, others run; and when all go on,
 * those of them that are too many end. */
START_TEST(jobs_that_wait_have_no_place)
{
    static struct work waiting[20], after[8];
    atomic_bool gate = false;
    struct mortise_pool *p;

    ck_assert_int_eq(mortise_pool_open(&p, &test_mem, &err), MORTISE_OK);
    for (int i = 0; i < 20; i++) {
        waiting[i] = (struct work){.job = {.run = run}, .gate = &gate};
        ck_assert_int_eq(mortise_pool_put(p, &waiting[i].job, &err),
                         MORTISE_OK);
        await_that(atomic_load(&waiting[i].begun));
        mortise_pool_set_waiting(p, &waiting[i].job, true);
    }
    mortise_pool_set_waiting(p, &after[0].job,
                             true); /* not under way: nothing */
    for (int i = 0; i < 8; i++) {
        after[i] = (struct work){.job = {.run = run}};
        ck_assert_int_eq(mortise_pool_put(p, &after[i].job, &err), MORTISE_OK);
    }
    for (int i = 0; i < 8; i++)
        await_that(atomic_load(&after[i].ran));
    for (int i = 0; i < 20; i++)
        mortise_pool_set_waiting(p, &waiting[i].job, false);
    after[0] = (struct work){.job = {.run = run}};
    ck_assert_int_eq(mortise_pool_put(p, &after[0].job, &err), MORTISE_OK);
    atomic_store(&gate, true);
    mortise_pool_close(p);
    ck_assert_int_eq(atomic_load(&after[0].ran), 1);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(atomic_load(&waiting[i].ran), 1);
}
END_TEST

/* Without memory for a thread a job is refused, and not half taken. */
START_TEST(no_memory_for_workers)
{
    struct work w = {.job = {.run = run}};
    struct mortise_pool *p;

    test_mem_fail_at(0);
    ck_assert_int_eq(mortise_pool_open(&p, &test_mem, &err), MORTISE_ENOMEM);
    ck_assert_ptr_null(p);
    test_mem_fail_at(1);
    ck_assert_int_eq(mortise_pool_open(&p, &test_mem, &err), MORTISE_OK);
    ck_assert_int_eq(mortise_pool_put(p, &w.job, &err), MORTISE_ENOMEM);
    test_mem_fail_at(-1);
    ck_assert_int_eq(mortise_pool_put(p, &w.job, &err), MORTISE_OK);
    mortise_pool_close(p);
    ck_assert_int_eq(atomic_load(&w.ran), 1);
}
END_TEST

static void *nothing(void *ud)
{
    return ud;
}

static void begin(void)
{
    pthread_t thread;

    /* ThreadSanitizer starts a thread of its own with our first one: now. */
    pthread_create(&thread, NULL, nothing, NULL);
    pthread_join(thread, NULL);
    test_begin();
}

static Suite *suite(void)
{
    Suite *s = suite_create("engine");
    TCase *tc = tcase_create("parts");

    tcase_add_checked_fixture(tc, begin, test_nothing_left);
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, timers_fire_in_order, 0, 10);
    tcase_add_test(tc, timers_let_go);
    tcase_add_test(tc, mail_keeps_its_order);
    tcase_add_test(tc, jobs_run_once);
    tcase_add_test(tc, jobs_can_be_taken_back);
    tcase_add_test(tc, hanging_jobs_are_given_up);
    tcase_add_test(tc, jobs_that_wait_have_no_place);
    tcase_add_test(tc, no_memory_for_workers);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
