/* test_loop.c -- an engine says when it needs to be turned, and only then. */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/engine/common/engine.h"
#include "lib/test.h"

enum { NS_PER_MS = 1000000 };

static struct mortise *m;
static struct mortise_err err;
static char dir[4096];
static int ran;

static void open_engine(const char *deployment)
{
    struct mortise_options o = {.size = sizeof o, .deployment = deployment};

    ck_assert_msg(mortise_open(&m, &o, &err) == MORTISE_OK, "%s", err.msg);
    ran = 0;
    while (mortise_timeout(m) == 0) /* what opening left to do */
        ck_assert_int_eq(mortise_poll(m, 0, &err), 0);
}

static void deploy(char path[4096 + 16], const char *store)
{
    char text[512];

    snprintf(text, sizeof text,
             "apiVersion: mortise/v1\nkind: Deployment\n"
             "metadata: {name: loop}\nstore: {path: ./state%s}\n",
             store);
    snprintf(path, 4096 + 16, "%s/mortise.yaml", dir);
    test_write(path, text, strlen(text));
}

/* One that removes no runs, and so has nothing to do by itself. */
static void begin(void)
{
    char path[4096 + 16];

    strcpy(dir, test_mkdir());
    deploy(path, ", retention: {finished: 0s}");
    open_engine(path);
}

static void end(void)
{
    mortise_close(m);
    test_rmdir(dir);
}

/* In libuv's place: the thread may be held up on the way in. */
static unsigned held_up_ms;

int uv_run(uv_loop_t *loop, uv_run_mode mode)
{
    int (*real)(uv_loop_t *, uv_run_mode);

    *(void **)&real = dlsym(RTLD_NEXT, "uv_run");
    usleep(held_up_ms * 1000);
    return real(loop, mode);
}

static bool readable(int timeout_ms)
{
    struct pollfd p = {.fd = mortise_fd(m), .events = POLLIN};

    return poll(&p, 1, timeout_ms) == 1;
}

static void run(struct mortise_task *t)
{
    (void)t;
    ran++;
}

/* An engine with nothing to do lets its host sleep for good. */
START_TEST(idle)
{
    ck_assert_int_eq(mortise_timeout(m), -1);
    ck_assert(!readable(20));
}
END_TEST

/* One that removes old runs wants to be turned for that. */
START_TEST(idle_but_for_old_runs)
{
    char path[4096 + 16];

    mortise_close(m);
    deploy(path, "");
    open_engine(path);
    ck_assert_int_gt(mortise_timeout(m), 0);
    ck_assert(!readable(20));
}
END_TEST

/* Work that no event will announce is not waited for. */
START_TEST(work_is_ready)
{
    struct mortise_task t = {.run = run};

    mortise_task_make_ready(m, &t);
    ck_assert_int_eq(mortise_timeout(m), 0);
    mortise_poll(m, 0, &err);
    ck_assert_int_eq(ran, 1);
    ck_assert_int_eq(mortise_timeout(m), -1);
}
END_TEST

static void fire(struct mortise_timer *t)
{
    (void)t;
    ran++;
}

/* A wait that is over before it begins is over: the thread was held up between
 * setting the alarm and waiting for it. */
START_TEST(held_up_for_longer_than_it_waits)
{
    uint64_t before;

    held_up_ms = 5;
    for (int i = 0; i < 3; i++) {
        before = mortise_mono_ns();
        mortise_poll(m, 1, &err);
        ck_assert_uint_lt(mortise_mono_ns() - before, 30000ull * NS_PER_MS);
    }
    held_up_ms = 0;
}
END_TEST

/* A timer is waited for exactly: not spun for, and not slept through. */
START_TEST(timer_is_due)
{
    struct mortise_timer t = {.fire = fire};

    mortise_timer_arm(&m->timers, &t, mortise_mono_ns() + 1000 * NS_PER_MS);
    ck_assert_int_gt(mortise_timeout(m), 0);
    ck_assert_int_le(mortise_timeout(m), 1000);
    mortise_poll(m, 0, &err);
    ck_assert_int_eq(ran, 0);
    ck_assert(!readable(mortise_timeout(m)));
    ck_assert_int_eq(mortise_timeout(m), 0);
    mortise_poll(m, 0, &err);
    ck_assert_int_eq(ran, 1);
    ck_assert_int_eq(mortise_timeout(m), -1);
}
END_TEST

static void *post(void *ud)
{
    mortise_task_queue_put(&m->task_queue, ud, false);
    return NULL;
}

/* What another thread brings makes the descriptor readable, every time. */
START_TEST(mail_arrives)
{
    struct mortise_task t = {.run = run};
    pthread_t thread;

    for (int i = 1; i <= 3; i++) {
        ck_assert_int_eq(pthread_create(&thread, NULL, post, &t), 0);
        ck_assert(readable(60000));
        pthread_join(thread, NULL);
        mortise_poll(m, 0, &err);
        ck_assert_int_eq(ran, i);
        ck_assert(!readable(0));
    }
}
END_TEST

/* Trouble is told at once; a broken engine asks for nothing after that. */
START_TEST(trouble)
{
    mortise_fail(&m->trouble, MORTISE_EIO, "the disk is gone");
    m->state = MORTISE_ENGINE_BROKEN;
    m->trouble_unreported = true;
    ck_assert_int_eq(mortise_timeout(m), 0);
    ck_assert_int_eq(mortise_poll(m, 0, &err), MORTISE_EIO);
    ck_assert_int_eq(mortise_timeout(m), -1);
    m->state = MORTISE_ENGINE_RUNNING;
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("loop");
    TCase *tc = tcase_create("foreign");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, idle);
    tcase_add_test(tc, idle_but_for_old_runs);
    tcase_add_test(tc, work_is_ready);
    tcase_add_test(tc, held_up_for_longer_than_it_waits);
    tcase_add_test(tc, timer_is_due);
    tcase_add_test(tc, mail_arrives);
    tcase_add_test(tc, trouble);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
