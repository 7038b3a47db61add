/* instance.c -- a created plugin, and calls into it.
 *
 * A plugin is third-party code that calls back from any thread.  These promises
 * protect a run from its mistakes:
 *
 *   (1) Each accepted call ends exactly once: either `done` is called once, or
 *       the call was abandoned and `done` is never called.  Finishing twice,
 *       late, or after an error return changes nothing.
 *   (2) `done` is called after the outcome is settled *and* the plugin's
 *       function has returned.  Its receiver can therefore call the plugin
 *       again without meeting a lock that the plugin holds.
 *   (3) The data lent to a pending call stays until the call finishes, even if
 *       it was abandoned.  Only calls that may pend get copies.
 *   (4) Only functions that may pend, of async and blocking interfaces, may
 *       return pending.  From others it is an error.
 *   (5) An instance is leaked if the plugin does not quiesce, hangs in
 *       quiesce(), or reports the end of quiesce() while one of its functions
 *       runs: freeing memory in use would be worse.  A leaked instance cannot
 *       reach the engine.
 *
 * A slot (call_table.h) holds a call's state.  Its lock is never held while the
 * plugin or the engine runs.  States of a call: open and inside -> [finished]
 * -> returned -> delivered; or open and inside -> returned pending -> finished
 * and delivered. abandon() can come at any time before the delivery. */
#include "core/plugin/host.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/plugin/carry.h"
#include "core/plugin/status.h"

_Static_assert(MORTISE_LOG_ERROR == MORTISE_LEVEL_ERROR &&
                   MORTISE_LOG_DEBUG == MORTISE_LEVEL_DEBUG,
               "levels cross as they are");

const struct mortise_manifest *
mortise_instance_manifest(const struct mortise_instance *i)
{
    return i->manifest;
}

size_t mortise_instance_count_calls(const struct mortise_instance *i)
{
    return atomic_load(&i->calls.open);
}

/* ---- calls into the plugin ----------------------------------------------- */

static const struct mortise_interface *
get_provided_kind(const struct mortise_instance *i,
                  const struct mortise_call *call)
{
    return &i->manifest->provides[call->kind->kind];
}

/* Check that a call can be made at all. */
static int check_call_allowed(const struct mortise_instance *i,
                              const struct mortise_call *call,
                              struct mortise_err *err)
{
    const char *name = i->manifest->name;

    assert(call->id != 0);
    assert(call->kind->kind < MORTISE_KINDS);
    assert(call->operation != NULL && call->idempotency_key != NULL);
    assert(call->run_id != NULL && call->node_path != NULL); /* "" for none */
    if (i->closing)
        return mortise_fail(err, MORTISE_ESTATE, "plugin %s is closing", name);
    if (!get_provided_kind(i, call)->present)
        return mortise_fail(err, MORTISE_EINVAL, "plugin %s is not a %s", name,
                            mortise_kinds[call->kind->kind]->name);
    return call->kind->admit != NULL
               ? call->kind->admit(i->manifest, call->operation, err)
               : MORTISE_OK;
}

static mortise_str str_of_cstr(const char *s)
{
    return mortise_str_of(s, strlen(s));
}

static struct mortise_wire make_call_message(const struct mortise_call *call,
                                             uint64_t handle)
{
    return (struct mortise_wire){
        .type = MORTISE_WIRE_CALL,
        .call = handle,
        .kind = call->kind->kind,
        .function = call->kind->number,
        .deadline_ns = call->deadline_ns,
        .attempt = call->attempt,
        .visit = call->visit,
        .stage = call->stage,
        .flags = call->flags,
        .name = str_of_cstr(call->operation),
        .run_id = str_of_cstr(call->run_id),
        .node_path = str_of_cstr(call->node_path),
        .idempotency_key = str_of_cstr(call->idempotency_key),
        .trace_parent = {"", 0},
        .body = {call->body, call->body_size},
    };
}

/* Reserve a slot: open, with the plugin inside; unlocked. */
static struct mortise_call_slot *open_call_slot(struct mortise_instance *i,
                                                const struct mortise_call *call,
                                                uint64_t *handle)
{
    struct mortise_call_slot *s =
        mortise_call_table_add(&i->calls, call->id, handle);

    if (s == NULL)
        return NULL;
    pthread_mutex_lock(&s->lock);
    assert(!s->open && !s->inside && s->pins == 0 && s->asks == NULL);
    assert(s->n_asks == 0 && s->ask_bytes == 0);
    /* Mortise_call_table_give(). */
    assert(s->output.n == 0 && s->update.n == 0 && s->own.n == 0);
    s->handle = *handle;
    s->id = call->id;
    s->kind = call->kind;
    s->threading = get_provided_kind(i, call)->threading;
    s->thread = pthread_self();
    s->pins = 1;
    s->open = s->inside = true;
    atomic_store(&s->was_active, false);
    s->finished = s->cancelled = s->overflow = s->lost = s->violation = false;
    s->mute = false;
    s->has_output = s->has_update = s->has_own = s->has_target = s->said_more =
        false;
    s->n_target = 0;
    s->words.message[0] = s->words.code[0] = '\0';
    s->words.class = NULL;
    s->words.retry_after_ms = 0;
    s->words.ending = (struct mortise_exit_info){0, 0};
    s->waiting = 0;
    atomic_store(&s->live, *handle);
    atomic_fetch_add(&i->calls.open, 1);
    pthread_mutex_unlock(&s->lock);
    return s;
}

static void fill_request(mortise_request *r, const struct mortise_wire *m)
{
    *r = (mortise_request){
        .size = sizeof *r,
        .flags = m->flags,
        .call = m->call,
        .deadline_ns = m->deadline_ns,
        .attempt = m->attempt,
        .visit = m->visit,
        .operation = m->name,
        .body = m->body,
        .run_id = m->run_id,
        .node_path = m->node_path,
        .idempotency_key = m->idempotency_key,
        .trace_parent = m->trace_parent,
    };
}

/* Send a message to the endpoint; returns the result. */
static struct mortise_wire send_to_plugin(const struct mortise_instance *i,
                                          const struct mortise_wire *msg,
                                          const mortise_request *request)
{
    struct mortise_wire ret = {.type = MORTISE_WIRE_RETURN, .call = msg->call};

    i->to->ops->send(i->to, msg, request, &ret);
    return ret;
}

static struct mortise_wire enter_plugin(struct mortise_instance *i,
                                        const struct mortise_call *call,
                                        const struct mortise_wire *msg,
                                        const mortise_request *request)
{
    const struct mortise_visit_execution whose = {
        call->tenant, call->run_id, call->node_path, call->is_unstored};
    bool on_loop =
        get_provided_kind(i, call)->threading != MORTISE_THREAD_BLOCKING;
    struct mortise_visit v;
    struct mortise_wire ret;

    mortise_host_enter_visit(i, &v, MORTISE_VISIT_CALL, &whose, on_loop);
    ret = send_to_plugin(i, msg, request);
    mortise_host_leave_visit(i, &v);
    return ret;
}

static void settle_violation(struct mortise_call_slot *s, const char *what)
{
    struct mortise_plugin_error words = {.class = "permanent"};

    snprintf(words.message, sizeof words.message, "%s", what);
    s->words = (struct mortise_plugin_error){0};
    s->mute = true;
    mortise_host_set_outcome(s, MORTISE_S_FAILED, &words);
}

static void settle_illegal_pending(struct mortise_call_slot *s)
{
    char words[160];

    assert(!mortise_host_can_pend(s)); /* or it would be pending */
    snprintf(
        words, sizeof words,
        s->kind->may_pend
            ? "%s() returned pending, but its manifest has threading: inline"
            : "%s() returned pending, but must end before it returns",
        s->kind->name);
    settle_violation(s, words);
}

/* Set the outcome from the return value.  Slot locked. */
static void settle_return(struct mortise_call_slot *s,
                          const struct mortise_wire *ret)
{
    if (ret->status == MORTISE_S_PENDING)
        settle_illegal_pending(s);
    else if (ret->status == MORTISE_S_SUSPENDED && !mortise_host_can_suspend(s))
        settle_violation(s, "returned suspended, but only an executor that can "
                            "ask can wait for an answer");
    else if (ret->status > MORTISE_S_SUSPENDED)
        settle_violation(s, "returned an unknown status");
    else
        mortise_host_set_outcome(s, ret->status, NULL);
}

/* The plugin's function has returned. */
static void handle_return(struct mortise_instance *i,
                          struct mortise_call_slot *s,
                          const struct mortise_wire *ret)
{
    bool pending = ret->status == MORTISE_S_PENDING && mortise_host_can_pend(s);
    bool twice;

    pthread_mutex_lock(&s->lock);
    assert(s->inside);
    s->inside = false;
    assert(s->pins > 0 && s->handle != 0); /* the call's own pin */
    twice = s->finished && s->open && !pending;
    if (pending && !s->finished) {
        /* The call keeps the instance pinned until it finishes. */
        pthread_mutex_unlock(&s->lock);
        return;
    }
    if (!s->open) { /* abandoned meanwhile */
        mortise_host_unpin(i, s, 1);
        return;
    }
    if (!s->finished)
        settle_return(s, ret);
    mortise_host_deliver_result(i, s);
    if (twice)
        mortise_host_log(i, MORTISE_LOG_WARN,
                         "returned %d for a call that it had already finished; "
                         "this is ignored",
                         (int)ret->status);
}

int mortise_instance_call(struct mortise_instance *i,
                          const struct mortise_call *call,
                          struct mortise_err *err)
{
    struct mortise_wire msg, ret;
    struct mortise_wire_storage held;
    struct mortise_call_slot *s;
    bool may_pend;
    uint64_t handle;
    int rv = check_call_allowed(i, call, err);

    if (rv != MORTISE_OK)
        return rv;
    may_pend = call->kind->may_pend &&
               get_provided_kind(i, call)->threading != MORTISE_THREAD_INLINE;
    msg = make_call_message(call, 0);
    /* A call that may pend outlives the caller's strings, so it gets copies.
     * Any other call ends before this function returns and uses the caller's
     * strings. */
    rv = may_pend ? mortise_carry_copy(&msg, &held, i->mem, err)
                  : mortise_carry_lend(&msg, &held, i->mem, err);
    if (rv != MORTISE_OK)
        return rv;
    s = open_call_slot(i, call, &handle);
    if (s == NULL) {
        mortise_wire_release(&held);
        return mortise_nomem(err);
    }
    msg.call = handle;
    assert(handle != 0 && s->held.p == NULL); /* (3) */
    s->held = held; /* not read before the call has ended */
    fill_request(&s->request, &msg);
    ret = enter_plugin(i, call, &msg, &s->request);
    /* Without memory the message is lost, but the status is not: a pending call
     * must not end here. */
    if (mortise_carry_lend(&ret, &held, i->mem, NULL) != MORTISE_OK)
        ret.message = str_of_cstr("out of memory for the error message");
    handle_return(i, s, &ret);
    mortise_wire_release(&held);
    return MORTISE_OK;
}

/* ---- cancel, abandon, answer --------------------------------------------- */

/* Carry a message without strings, also without memory: a plugin that does not
 * get CANCEL may never stop. */
static void carry_plain_message(const struct mortise_instance *i,
                                struct mortise_wire *msg,
                                struct mortise_wire_storage *held)
{
    const struct mortise_wire as_it_was = *msg;

    if (mortise_carry_lend(msg, held, i->mem, NULL) == MORTISE_OK)
        return;
    *msg = as_it_was;
    *held = (struct mortise_wire_storage){.mem = i->mem};
}

bool mortise_instance_cancel(struct mortise_instance *i, uint64_t call)
{
    struct mortise_call_slot *s = mortise_call_table_find_id(&i->calls, call);
    struct mortise_wire msg = {.type = MORTISE_WIRE_CANCEL};
    struct mortise_wire_storage held;
    struct mortise_visit v;
    bool tell;

    if (s == NULL)
        return false;
    if (!s->open) {
        pthread_mutex_unlock(&s->lock);
        return false;
    }
    assert(s->pins > 0 && s->handle != 0);
    tell = !s->cancelled && !s->finished;
    s->cancelled = true;
    atomic_store(&s->live, 0);
    msg.call = s->handle;
    mortise_host_answer_all(i, s);
    if (!tell)
        return true;
    carry_plain_message(i, &msg, &held);
    mortise_host_enter_visit(i, &v, MORTISE_VISIT_CANCEL, NULL, true);
    send_to_plugin(i, &msg, NULL);
    mortise_host_leave_visit(i, &v);
    mortise_wire_release(&held);
    return true;
}

bool mortise_instance_is_idle(struct mortise_instance *i, uint64_t call)
{
    struct mortise_call_slot *s = mortise_call_table_find_id(&i->calls, call);
    bool idle;

    if (s == NULL)
        return false;
    idle = !atomic_exchange(&s->was_active, false) && s->open && !s->finished &&
           s->asks == NULL && s->waiting == 0;
    pthread_mutex_unlock(&s->lock);
    return idle;
}

bool mortise_instance_abandon(struct mortise_instance *i, uint64_t call,
                              struct mortise_usage *usage)
{
    struct mortise_call_slot *s = mortise_call_table_find_id(&i->calls, call);
    bool was_open = s != NULL && s->open;

    if (was_open && usage != NULL) {
        *usage = s->usage;
        s->usage = (struct mortise_usage){0}; /* now the caller's */
    }
    if (was_open) {
        /* Its pin stays until the plugin returns or finishes. */
        assert(s->pins > 0);
        assert(atomic_load(&i->calls.open) > 0);
        s->open = false;
        atomic_store(&s->live, 0);
        atomic_fetch_sub(&i->calls.open, 1);
        mortise_host_answer_all(i, s);
    } else if (s != NULL) {
        pthread_mutex_unlock(&s->lock);
    }
    return was_open;
}

/* Wake the worker that waits for this answer.  Takes the slot locked. */
static void wake_waiting_worker(struct mortise_call_slot *s,
                                const struct mortise_wire *msg)
{
    assert(s->waiting == msg->ask && msg->ask != 0);
    /* Mortise_host_answer_all() wakes it otherwise. */
    assert(s->open && s->inside);
    mortise_buf_clear(&s->answer);
    mortise_buf_put(&s->answer, msg->body.p, (size_t)msg->body.n);
    s->answer_status =
        s->answer.failed ? MORTISE_S_NOMEM : (mortise_status)msg->status;
    s->waiting = 0;
    pthread_cond_signal(&s->answered);
    pthread_mutex_unlock(&s->lock);
}

/* Deliver a chunk of an answer.  A waiting thread gets only the whole answer.
 * Takes the slot locked. */
static void deliver_piece(struct mortise_instance *i,
                          struct mortise_call_slot *s,
                          const struct mortise_wire *msg)
{
    struct mortise_ask *a = s->asks, copy = {.fn = NULL};

    while (a != NULL && a->id != msg->ask)
        a = a->next;
    if (a != NULL && s->open && !s->finished && !s->cancelled)
        copy = *a; /* the ask may be answered meanwhile */
    pthread_mutex_unlock(&s->lock);
    if (copy.fn != NULL)
        mortise_host_call_back(i, &copy, MORTISE_S_PENDING, msg->body);
}

static void deliver_answer(struct mortise_instance *i, uint64_t call,
                           const struct mortise_wire *msg)
{
    struct mortise_call_slot *s = mortise_call_table_find_id(&i->calls, call);
    struct mortise_ask *a;
    bool ended;

    if (s == NULL)
        return;
    atomic_store(&s->was_active,
                 true); /* the plugin now processes the answer */
    if (msg->status == MORTISE_S_PENDING) {
        deliver_piece(i, s, msg);
        return;
    }
    if (s->waiting == msg->ask) {
        wake_waiting_worker(s, msg);
        return;
    }
    a = mortise_host_unlink_ask(s, msg->ask);
    ended = !s->open || s->finished;
    pthread_mutex_unlock(&s->lock);
    if (a == NULL)
        return; /* answered when its call was cancelled */
    mortise_host_call_back(i, a, ended ? MORTISE_S_CANCELLED : msg->status,
                           ended ? str_of_cstr("the call has ended")
                                 : msg->body);
    mortise_release(i->mem, a, sizeof *a);
    pthread_mutex_lock(&s->lock);
    mortise_host_unpin(i, s, 1);
}

void mortise_instance_answer(struct mortise_instance *i, uint64_t call,
                             uint64_t ask, int32_t status, const char *answer,
                             size_t n)
{
    struct mortise_wire msg = {.type = MORTISE_WIRE_ANSWER,
                               .ask = ask,
                               .status = status,
                               .body = {answer, n}};
    struct mortise_wire_storage held;

    assert(call != 0 && ask != 0);
    if (mortise_carry_lend(&msg, &held, i->mem, NULL) != MORTISE_OK) {
        if (status == MORTISE_S_PENDING)
            return;
        /* The asker must not wait forever. */
        msg.status = MORTISE_S_NOMEM;
        msg.body = str_of_cstr("out of memory for the answer");
        deliver_answer(i, call, &msg);
        return;
    }
    deliver_answer(i, call, &msg);
    mortise_wire_release(&held);
}

/* ---- create -------------------------------------------------------------- */

/* Copy the details of a transient failure of create(). */
static void copy_create_failure(const struct mortise_plugin_error *words,
                                struct mortise_create_failure *out)
{
    if (words->class == NULL || strcmp(words->class, "transient") != 0)
        return;
    out->transient = true;
    memcpy(out->code, words->code, sizeof out->code);
    out->retry_after_ms = words->retry_after_ms;
}

static int run_plugin_create(struct mortise_instance *i, const char *config,
                             size_t n, struct mortise_create_failure *failure,
                             struct mortise_err *err)
{
    struct mortise_wire msg = {.type = MORTISE_WIRE_CREATE,
                               .body = {config, n}};
    struct mortise_wire_storage held;
    struct mortise_wire ret;
    int rv = mortise_carry_lend(&msg, &held, i->mem, err);

    if (rv != MORTISE_OK)
        return rv;
    ret = send_to_plugin(i, &msg, NULL);
    mortise_wire_release(&held);
    if (ret.status == MORTISE_S_OK)
        return MORTISE_OK;
    copy_create_failure(&i->words, failure);
    return mortise_fail(
        err, ret.status == MORTISE_S_NOMEM ? MORTISE_ENOMEM : MORTISE_ECONFIG,
        "plugin %s could not start: %s", i->manifest->name,
        i->words.message[0] != '\0' ? i->words.message
                                    : "create() failed and gave no reason");
}

static void free_instance(struct mortise_instance *i)
{
    mortise_call_table_finish(&i->calls);
    pthread_cond_destroy(&i->over);
    pthread_mutex_destroy(&i->lock);
    i->to->ops->free(i->to);
    mortise_release(i->mem, i, sizeof *i);
}

int mortise_instance_open(
    struct mortise_instance **out, const struct mortise_mem *mem,
    struct mortise_endpoint *to, const struct mortise_manifest *manifest,
    const struct mortise_culprit *culprit,
    const struct mortise_instance_ops *ops, const char *config, size_t n,
    struct mortise_create_failure *failure, struct mortise_err *err)
{
    struct mortise_instance *i = mortise_zalloc(mem, sizeof *i);
    int rv;

    *out = NULL;
    *failure = (struct mortise_create_failure){.leaked = false};
    if (i == NULL) {
        to->ops->free(to);
        return mortise_nomem(err);
    }
    assert(ops->done != NULL); /* the other ops are optional */
    i->host.instance = i;
    i->mem = mem;
    i->to = to;
    to->host = &i->host;
    i->manifest = manifest;
    i->culprit = culprit;
    i->process = mortise_process_get_id();
    i->ops = *ops;
    if (mortise_call_table_init(&i->calls, mem) != MORTISE_OK) {
        to->ops->free(to);
        mortise_release(mem, i, sizeof *i);
        return mortise_nomem(err);
    }
    pthread_mutex_init(&i->lock, NULL);
    mortise_cond_init(&i->over);
    rv = run_plugin_create(i, config, n, failure, err);
    if (rv != MORTISE_OK) {
        free_instance(i);
        return rv;
    }
    rv = to->ops->check(to, err);
    if (rv != MORTISE_OK) {
        failure->leaked = !mortise_instance_close(i, 1000);
        return rv;
    }
    *out = i;
    return MORTISE_OK;
}

/* ---- quiesce and destroy ------------------------------------------------- */

/* Send the message `last`. */
static mortise_status send_last_message(struct mortise_instance *i)
{
    struct mortise_wire msg = {
        .type = i->last,
        .deadline_ns = i->last == MORTISE_WIRE_QUIESCE ? i->last_by_ns : 0};
    struct mortise_wire_storage held;
    struct mortise_visit v;
    mortise_status status;

    carry_plain_message(i, &msg, &held);
    mortise_host_enter_visit(i, &v, MORTISE_VISIT_END, NULL, false);
    status = send_to_plugin(i, &msg, NULL).status;
    mortise_host_leave_visit(i, &v);
    mortise_wire_release(&held);
    return status;
}

static void *run_last_message(void *ud)
{
    struct mortise_instance *i = ud;
    mortise_status status;

    mortise_thread_set_name("mortise-bye");
    status = send_last_message(i);
    pthread_mutex_lock(&i->lock);
    assert(!i->returned);
    i->returned = true;
    i->last_status = status;
    pthread_cond_signal(&i->over);
    pthread_mutex_unlock(&i->lock);
    return NULL;
}

/* Wait for the thread until the deadline; false: it still runs. */
static bool wait_for_last_message(struct mortise_instance *i)
{
    struct timespec until = {
        .tv_sec = (time_t)(i->last_by_ns / 1000000000),
        .tv_nsec = (long)(i->last_by_ns % 1000000000),
    };
    bool returned;
    int rv = 0;

    pthread_mutex_lock(&i->lock);
    while (!i->returned && rv != ETIMEDOUT)
        rv = pthread_cond_timedwait(&i->over, &i->lock, &until);
    returned = i->returned;
    pthread_mutex_unlock(&i->lock);
    return returned;
}

/* Send QUIESCE or DESTROY and wait for success.  This runs on its own thread,
 * because a plugin that never returns must not block the engine.  On a timeout
 * the instance is leaked, because the thread still uses it. */
static bool send_last_in_time(struct mortise_instance *i,
                              enum mortise_wire_type last, uint64_t timeout_ms)
{
    pthread_t thread;

    i->last = last;
    i->returned = false;
    i->last_by_ns = mortise_mono_ns() + timeout_ms * 1000000;
    if (mortise_thread_start(&thread, run_last_message, i) != 0)
        return false;
    if (!wait_for_last_message(i)) {
        pthread_detach(thread);
        return false;
    }
    pthread_join(thread, NULL);
    return i->last_status == MORTISE_S_OK;
}

static void cancel_slot_call(struct mortise_call_slot *s, void *ud)
{
    struct mortise_instance *i = ud;
    bool open;
    uint64_t id;

    pthread_mutex_lock(&s->lock);
    open = s->handle != 0 && s->open;
    id = s->id;
    if (s->handle != 0 && !open)
        mortise_host_answer_all(i, s); /* asks of a call that has ended */
    else
        pthread_mutex_unlock(&s->lock);
    if (open)
        mortise_instance_cancel(i, id);
}

static void check_slot_inside(struct mortise_call_slot *s, void *ud)
{
    bool *any = ud;

    pthread_mutex_lock(&s->lock);
    *any = *any || (s->handle != 0 && s->inside);
    pthread_mutex_unlock(&s->lock);
}

/* Cut the plugin off from the engine and keep the instance, because the plugin
 * may still use it.  Leak checkers find it in the list. */
static bool leak_instance(struct mortise_instance *i)
{
    static struct mortise_instance *_Atomic leaked; /* list of all */
    const struct timespec a_moment = {.tv_nsec = 100000};

    assert(i->closing && i->next_leaked == NULL); /* once */
    i->next_leaked = atomic_exchange(&leaked, i);
    atomic_store(&i->deaf, true);
    while (atomic_load(&i->outside) != 0)
        nanosleep(&a_moment, NULL);
    return false;
}

static void log_quiesce_failure(struct mortise_instance *i, uint64_t timeout_ms)
{
    static const char left[] = "its memory and threads are not released";
    mortise_status status;
    bool returned;

    pthread_mutex_lock(&i->lock);
    returned = i->returned;
    status = i->last_status;
    pthread_mutex_unlock(&i->lock);
    if (returned && status != MORTISE_S_OK)
        mortise_host_log(
            i, MORTISE_LOG_ERROR,
            "did not quiesce: quiesce() returned the status %d (%s); %s",
            (int)status, mortise_status_name(status), left);
    else
        mortise_host_log(i, MORTISE_LOG_ERROR,
                         "did not quiesce within %llu ms; %s",
                         (unsigned long long)timeout_ms, left);
}

bool mortise_instance_close(struct mortise_instance *i, uint64_t timeout_ms)
{
    bool inside = false;

    assert(!i->closing);
    i->closing = true;
    mortise_call_table_for_each(&i->calls, cancel_slot_call, i);
    if (!send_last_in_time(i, MORTISE_WIRE_QUIESCE, timeout_ms)) {
        log_quiesce_failure(i, timeout_ms);
        return leak_instance(i);
    }
    mortise_call_table_for_each(&i->calls, check_slot_inside, &inside);
    if (inside) {
        mortise_host_log(i, MORTISE_LOG_ERROR,
                         "reported the end of quiesce() during a call; its "
                         "memory is not released");
        return leak_instance(i);
    }
    if (!send_last_in_time(i, MORTISE_WIRE_DESTROY, timeout_ms)) {
        mortise_host_log(
            i, MORTISE_LOG_ERROR,
            "was not destroyed within %llu ms; its memory is not released",
            (unsigned long long)timeout_ms);
        return leak_instance(i);
    }
    free_instance(i);
    return true;
}
