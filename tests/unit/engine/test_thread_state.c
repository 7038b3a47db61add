/* test_thread_state.c -- a thread is left as it was found. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/engine/parts/thread_state.h"
#include "lib/test.h"

static struct mortise_thread_state state;
static locale_t ours, hosts;
static volatile sig_atomic_t pipes;

static void on_sigpipe(int sig)
{
    (void)sig;
    pipes++;
}

static void begin(void)
{
    struct sigaction sa = {.sa_handler = on_sigpipe};

    state = (struct mortise_thread_state){.visits = 0};
    ours = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    hosts = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
    ck_assert(ours != (locale_t)0 && hosts != (locale_t)0);
    uselocale(hosts);
    sigaction(SIGPIPE, &sa, NULL);
    pipes = 0;
}

static void end(void)
{
    uselocale(LC_GLOBAL_LOCALE);
    freelocale(ours);
    freelocale(hosts);
    signal(SIGPIPE, SIG_DFL);
}

static void write_to_nobody(void)
{
    int fds[2];

    ck_assert_int_eq(pipe(fds), 0);
    close(fds[0]);
    ck_assert_int_eq(write(fds[1], "x", 1), -1);
    ck_assert_int_eq(errno, EPIPE);
    close(fds[1]);
}

static bool lets_sigpipe_through(void)
{
    sigset_t mask;

    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    return !sigismember(&mask, SIGPIPE);
}

/* What breaks while we work raises nothing, neither then nor later. */
START_TEST(a_broken_pipe_is_ours_alone)
{
    mortise_thread_state_enter(&state, ours);
    write_to_nobody();
    mortise_thread_state_leave(&state);
    ck_assert_int_eq(pipes, 0);
    ck_assert(lets_sigpipe_through());
    write_to_nobody();
    ck_assert_int_eq(pipes, 1);
}
END_TEST

/* Inner visits change nothing; the outermost gives all back. */
START_TEST(visits_nest)
{
    mortise_thread_state_enter(&state, ours);
    mortise_thread_state_enter(&state, ours);
    ck_assert(uselocale((locale_t)0) == ours);
    mortise_thread_state_leave(&state);
    ck_assert(uselocale((locale_t)0) == ours);
    write_to_nobody();
    mortise_thread_state_leave(&state);
    ck_assert(uselocale((locale_t)0) == hosts);
    ck_assert_int_eq(pipes, 0);
}
END_TEST

/* A callback has its own signals and locale, without what we broke. */
START_TEST(callbacks_are_the_hosts)
{
    mortise_thread_state_enter(&state, ours);
    write_to_nobody();
    mortise_thread_state_pause(&state);
    ck_assert_int_eq(pipes, 0);
    ck_assert(uselocale((locale_t)0) == hosts);
    write_to_nobody();
    ck_assert_int_eq(pipes, 1);
    mortise_thread_state_resume(&state, ours);
    ck_assert(uselocale((locale_t)0) == ours);
    write_to_nobody();
    mortise_thread_state_leave(&state);
    ck_assert_int_eq(pipes, 1);
}
END_TEST

/* Outside of visits there is nothing to pause. */
START_TEST(nobody_visits)
{
    mortise_thread_state_pause(&state);
    mortise_thread_state_resume(&state, ours);
    ck_assert(uselocale((locale_t)0) == hosts);
    ck_assert(lets_sigpipe_through());
}
END_TEST

/* A host that blocks it finds it blocked, and what waits for it waiting. */
START_TEST(a_blocked_one_stays_the_hosts)
{
    sigset_t pipe, pending;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    write_to_nobody();
    mortise_thread_state_enter(&state, ours);
    mortise_thread_state_pause(&state);
    ck_assert(!lets_sigpipe_through());
    mortise_thread_state_resume(&state, ours);
    mortise_thread_state_leave(&state);
    ck_assert(!lets_sigpipe_through());
    sigpending(&pending);
    ck_assert(sigismember(&pending, SIGPIPE));
    pthread_sigmask(SIG_UNBLOCK, &pipe, NULL);
    ck_assert_int_eq(pipes, 1);
}
END_TEST

/* ... and none of ours with it: it would come when the host lets it through. */
START_TEST(a_host_that_blocks_it_gets_none_of_ours)
{
    sigset_t pipe;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    mortise_thread_state_enter(&state, ours);
    write_to_nobody();
    mortise_thread_state_pause(&state);
    mortise_thread_state_resume(&state, ours);
    write_to_nobody();
    mortise_thread_state_leave(&state);
    pthread_sigmask(SIG_UNBLOCK, &pipe, NULL);
    ck_assert_int_eq(pipes, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("thread_state");
    TCase *tc = tcase_create("manners");

    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, a_broken_pipe_is_ours_alone);
    tcase_add_test(tc, visits_nest);
    tcase_add_test(tc, callbacks_are_the_hosts);
    tcase_add_test(tc, nobody_visits);
    tcase_add_test(tc, a_blocked_one_stays_the_hosts);
    tcase_add_test(tc, a_host_that_blocks_it_gets_none_of_ours);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return test_run(suite());
}
