/* loop.c -- one turn of the engine.
 *
 * A turn waits in libuv for sockets, the alarm or a wakeup, and then works:
 * answers from the store, due timers, ready tasks.  Work creates more work (the
 * result of an inline plugin is ready at once), so the turn repeats until
 * nothing is left or its time slice is over.  In between, it hands the
 * collected commits to the store in one batch.  At the end it drops idle runs.
 *
 * There is no recursion: an event that occurs while an action is carried out
 * becomes a task.
 */
#include "core/engine/common/engine.h"

#include <limits.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "core/engine/parts/event_loop.h"

enum {
    TASKS = 64,          /* between two checks of the clock and the mailbox */
    BATCH = 256,         /* commits collected before they are handed over */
    FLYING = 4096,       /* limit of commits in flight: further tasks wait */
    SLICE_NS = 10000000, /* maximum time of work before sockets are polled */
    NS_PER_MS = 1000000
};

/* ---- open and close ----------------------------------------------------- */

/* [any] */
static void wake_loop(void *ud)
{
    struct mortise *m = ud;

    uv_async_send(&m->wake);
}

static void on_wake(uv_async_t *a)
{
    (void)a; /* the turn reads the mailbox anyway */
}

/* libuv runs its timers also before it polls.  If the alarm is due by then (the
 * thread was delayed after setting it), it is gone when libuv computes its
 * timeout, and nothing would limit the poll.  So stop the loop: then it does
 * not wait. */
static void on_loop_alarm(uv_timer_t *t)
{
    uv_stop(t->loop);
}

int mortise_loop_open(struct mortise *m, struct mortise_err *err)
{
    int rv = mortise_event_loop_init(&m->loop, err);

    if (rv != MORTISE_OK)
        return rv;
    rv = uv_async_init(&m->loop, &m->wake, on_wake);
    if (rv != 0) {
        uv_loop_close(&m->loop);
        return mortise_syserr(err, -rv, "start the event loop");
    }
    uv_timer_init(&m->loop, &m->alarm);
    mortise_store_set_wake(m->store, wake_loop, m);
    m->loop.data = m;
    mortise_clocks_open(m);
    return mortise_task_queue_init(&m->task_queue, wake_loop, m) == MORTISE_OK
               ? MORTISE_OK
               : mortise_nomem(err);
}

void mortise_loop_close(struct mortise *m)
{
    int rv;

    if (m->loop.data == NULL)
        return;
    uv_close((uv_handle_t *)&m->wake, NULL);
    uv_close((uv_handle_t *)&m->alarm, NULL);
    mortise_clocks_close(m);
    uv_run(&m->loop, UV_RUN_DEFAULT);
    rv = uv_loop_close(&m->loop);
    assert(rv == 0); /* each owner has closed its handles */
    (void)rv;
    mortise_task_queue_finish(&m->task_queue);
    m->loop.data = NULL;
}

void mortise_loop_enter(struct mortise *m)
{
    assert_on_loop(m);
    mortise_thread_state_enter(&m->thread_state, m->c_locale);
}

void mortise_loop_leave(struct mortise *m)
{
    mortise_thread_state_leave(&m->thread_state);
}

/* ---- a turn ------------------------------------------------------------- */

static void deliver_mail(struct mortise *m)
{
    mortise_store_deliver(m->store);
    mortise_task_queue_take(&m->task_queue, &m->landed, &m->ready);
    mortise_commits_handle_answers(m);
}

/* Milliseconds to the next timer, rounded up; -1: there is none. */
static int64_t get_ms_to_timer(const struct mortise *m)
{
    uint64_t now = mortise_mono_ns();

    if (m->timers.root == NULL)
        return -1;
    if (m->timers.root->at_ns <= now)
        return 0;
    return (int64_t)((m->timers.root->at_ns - now + NS_PER_MS - 1) / NS_PER_MS);
}

/* Is there work that no event will announce?  Ready tasks run without waiting,
 * unless too many commits are in flight. */
static bool has_work(const struct mortise *m)
{
    return (m->ready.first != NULL && m->n_commits_in_flight < FLYING) ||
           m->n_batch > 0 || m->touched != NULL;
}

/* The shorter of two waits; -1 means forever. */
static int64_t get_shorter_wait(int64_t a, int64_t b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

int mortise_loop_get_timeout(struct mortise *m)
{
    int64_t ms = has_work(m) ? 0 : get_ms_to_timer(m);

    uv_update_time(&m->loop); /* otherwise libuv counts from its last turn */
    ms = get_shorter_wait(ms, uv_backend_timeout(&m->loop));
    return ms < INT_MAX ? (int)ms : INT_MAX;
}

/* Let libuv wait, at most timeout_ms and not beyond our next timer. */
static void poll_events(struct mortise *m, int timeout_ms)
{
    int64_t ms =
        has_work(m) ? 0 : get_shorter_wait(get_ms_to_timer(m), timeout_ms);

    if (ms == 0) {
        uv_run(&m->loop, UV_RUN_NOWAIT);
        return;
    }
    if (ms > 0) {
        uv_update_time(&m->loop);
        uv_timer_start(&m->alarm, on_loop_alarm, (uint64_t)ms, 0);
    }
    uv_run(&m->loop, UV_RUN_ONCE);
    uv_timer_stop(&m->alarm);
}

static void run_ready_tasks(struct mortise *m)
{
    struct mortise_task *t;
    int n = 0;

    while (n++ < TASKS && m->n_batch < BATCH &&
           (t = mortise_tasks_take(&m->ready)) != NULL)
        t->run(t);
    if (m->ready.first == NULL || m->n_batch >= BATCH)
        mortise_commits_flush(m);
}

static void do_ready_work(struct mortise *m)
{
    uint64_t now = mortise_mono_ns(), end = now + SLICE_NS;
    bool fired;

    do {
        deliver_mail(m);
        fired = mortise_timers_fire(&m->timers, now);
        run_ready_tasks(m);
        now = mortise_mono_ns();
    } while ((fired || m->ready.first != NULL) && now < end &&
             m->n_commits_in_flight < FLYING);
    mortise_commits_flush(m);
    mortise_live_drop_idle(m);
    if (m->state == MORTISE_ENGINE_FAILING && m->lives.n == 0 &&
        m->n_calls == 0 && m->n_batch == 0 && m->n_commits_in_flight == 0 &&
        !mortise_store_is_reading(m->store))
        mortise_commits_reopen(m);
}

void mortise_loop_turn(struct mortise *m, int timeout_ms)
{
    mortise_loop_enter(m);
    assert(!m->turning); /* the API refuses calls from a callback */
    m->turning = true;
    poll_events(m, timeout_ms);
    do_ready_work(m);
    mortise_thread_state_settle(&m->thread_state);
    m->turning = false;
    mortise_loop_leave(m);
}

/* A read that mortise_loop_turn_for_read() waits for. */
struct awaited {
    struct mortise_read read;
    bool over;
    int result;
    struct mortise_err err;
};

static void awaited_read_done(struct mortise_read *r, int result,
                              const struct mortise_err *err)
{
    struct awaited *a = MORTISE_CONTAINER_OF(r, struct awaited, read);

    a->over = true;
    a->result = result;
    a->err = *err;
}

int mortise_loop_turn_for_read(struct mortise *m, struct mortise_read *r,
                               struct mortise_err *err)
{
    struct awaited a = {.read = *r};

    a.read.done = awaited_read_done;
    mortise_store_read(m->store, &a.read);
    while (!a.over)
        mortise_loop_turn(m, -1);
    r->found = a.read.found;
    if (err != NULL && a.result != MORTISE_OK)
        *err = a.err;
    return a.result;
}
