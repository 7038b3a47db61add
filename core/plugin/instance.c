/* instance.c -- a created plugin, and calls into it.
 *
 * A plugin is code of strangers that we call and that calls us back from any
 * thread.  What stands between its mistakes and a run:
 *
 *   (1) Each accepted call ends exactly once: `done` is told once, or the call
 *       was abandoned and is never told.  Finishing twice, late, or after an
 *       error return changes nothing.
 *   (2) `done` comes when the call is settled *and* the plugin's function for
 *       it is off the stack, so its owner may call the plugin again from there
 *       without meeting a lock that the plugin holds.
 *   (3) What a pending call was lent stays until it finishes, even when it was
 *       abandoned meanwhile; copies are made only for calls that may pend.
 *   (4) Pending is for functions that may, of async and blocking interfaces.
 *       From others it is an error.
 *   (5) A plugin that does not quiesce, hangs in quiesce(), or claims to be
 *       quiet while a function of its is on a stack, is leaked: freeing what it
 *       still uses would be worse.  It cannot reach the engine any more.
 *
 * Slots (call_table.h) carry a call's state; the slot's lock is never held
 * while the plugin or the engine runs.  A call's life: open and inside ->
 * [finished] -> returned -> delivered, or open and inside -> returned pending
 * -> finished and delivered; abandon() cuts in anywhere before the delivery.
 */
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

size_t mortise_instance_open_calls(const struct mortise_instance *i)
{
    return atomic_load(&i->calls.open);
}

/* ---- into the plugin ------------------------------------------------------
 */

static const struct mortise_provides *provides(const struct mortise_instance *i,
                                               const struct mortise_call *call)
{
    return &i->manifest->provides[call->kind->kind];
}

/* Why a call cannot be made at all. */
static int admit(const struct mortise_instance *i,
                 const struct mortise_call *call, struct mortise_err *err)
{
    const char *name = i->manifest->name;

    assert(call->id != 0);
    assert(call->kind->kind < MORTISE_KINDS);
    assert(call->operation != NULL && call->idempotency_key != NULL);
    assert(call->run_id != NULL && call->node_path != NULL); /* "" for none */
    if (i->closing)
        return mortise_fail(err, MORTISE_ESTATE, "plugin %s is closing", name);
    if (!provides(i, call)->present)
        return mortise_fail(err, MORTISE_EINVAL, "plugin %s is not a %s", name,
                            mortise_kinds[call->kind->kind]->name);
    return call->kind->admit != NULL
               ? call->kind->admit(i->manifest, call->operation, err)
               : MORTISE_OK;
}

static mortise_str zstr(const char *s)
{
    return mortise_str_of(s, strlen(s));
}

static struct mortise_wire message(const struct mortise_call *call,
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
        .name = zstr(call->operation),
        .run_id = zstr(call->run_id),
        .node_path = zstr(call->node_path),
        .idempotency_key = zstr(call->idempotency_key),
        .trace_parent = {"", 0},
        .body = {call->body, call->body_size},
    };
}

/* A slot for the call, open and with the plugin inside; unlocked. */
static struct mortise_call_slot *begin(struct mortise_instance *i,
                                       const struct mortise_call *call,
                                       uint64_t *handle)
{
    struct mortise_call_slot *s =
        mortise_call_table_take(&i->calls, call->id, handle);

    if (s == NULL)
        return NULL;
    pthread_mutex_lock(&s->lock);
    assert(!s->open && !s->inside && s->pins == 0 && s->asks == NULL);
    assert(s->n_asks == 0 && s->ask_bytes == 0);
    assert(s->output.n == 0 && s->update.n == 0 && s->own.n == 0); /* give() */
    s->handle = *handle;
    s->id = call->id;
    s->kind = call->kind;
    s->threading = provides(i, call)->threading;
    s->thread = pthread_self();
    s->pins = 1;
    s->open = s->inside = true;
    atomic_store(&s->stirred, false);
    s->finished = s->cancelled = s->overflow = s->lost = s->violation = false;
    s->mute = false;
    s->has_output = s->has_update = s->has_own = s->has_target = s->said_more =
        false;
    s->n_target = 0;
    s->words.message[0] = s->words.code[0] = '\0';
    s->words.class = NULL;
    s->words.retry_after_ms = 0;
    s->words.ending = (struct mortise_ending){0, 0};
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

/* What a message came to. */
static struct mortise_wire sent(const struct mortise_instance *i,
                                const struct mortise_wire *msg,
                                const mortise_request *request)
{
    struct mortise_wire ret = {.type = MORTISE_WIRE_RETURN, .call = msg->call};

    i->to->ops->send(i->to, msg, request, &ret);
    return ret;
}

static struct mortise_wire enter(struct mortise_instance *i,
                                 const struct mortise_call *call,
                                 const struct mortise_wire *msg,
                                 const mortise_request *request)
{
    const struct mortise_whose whose = {call->tenant, call->run_id,
                                        call->node_path, call->is_unstored};
    bool on_loop = provides(i, call)->threading != MORTISE_THREAD_BLOCKING;
    struct mortise_visit v;
    struct mortise_wire ret;

    mortise_host_visit(i, &v, MORTISE_INSIDE_CALL, &whose, on_loop);
    ret = sent(i, msg, request);
    mortise_host_leave(i, &v);
    return ret;
}

static void settle_oddity(struct mortise_call_slot *s, const char *what)
{
    struct mortise_words words = {.class = "permanent"};

    snprintf(words.message, sizeof words.message, "%s", what);
    s->words = (struct mortise_words){0};
    s->mute = true;
    mortise_host_settle(s, MORTISE_S_FAILED, &words);
}

static void settle_pending(struct mortise_call_slot *s)
{
    char words[160];

    assert(!mortise_host_may_pend(s)); /* or it would be pending */
    snprintf(
        words, sizeof words,
        s->kind->may_pend
            ? "%s() returned pending, but its manifest has threading: inline"
            : "%s() returned pending, but must end before it returns",
        s->kind->name);
    settle_oddity(s, words);
}

/* The outcome that a return value alone decides.  Cell locked. */
static void settle_return(struct mortise_call_slot *s,
                          const struct mortise_wire *ret)
{
    if (ret->status == MORTISE_S_PENDING)
        settle_pending(s);
    else if (ret->status == MORTISE_S_SUSPENDED && !mortise_host_may_suspend(s))
        settle_oddity(s, "returned suspended, but only an executor that can "
                         "ask can wait for an answer");
    else if (ret->status > MORTISE_S_SUSPENDED)
        settle_oddity(s, "returned an unknown status");
    else
        mortise_host_settle(s, ret->status, NULL);
}

/* The plugin's function is off the stack. */
static void returned(struct mortise_instance *i, struct mortise_call_slot *s,
                     const struct mortise_wire *ret)
{
    bool pending = ret->status == MORTISE_S_PENDING && mortise_host_may_pend(s);
    bool twice;

    pthread_mutex_lock(&s->lock);
    assert(s->inside);
    s->inside = false;
    assert(s->pins > 0 && s->handle != 0); /* the call's own pin */
    twice = s->finished && s->open && !pending;
    if (pending && !s->finished) {
        pthread_mutex_unlock(&s->lock); /* its pin stays until it finishes */
        return;
    }
    if (!s->open) { /* abandoned meanwhile */
        mortise_host_unpin(i, s, 1);
        return;
    }
    if (!s->finished)
        settle_return(s, ret);
    mortise_host_deliver(i, s);
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
    struct mortise_wire_held held;
    struct mortise_call_slot *s;
    bool may_pend;
    uint64_t handle;
    int rv = admit(i, call, err);

    if (rv != MORTISE_OK)
        return rv;
    may_pend = call->kind->may_pend &&
               provides(i, call)->threading != MORTISE_THREAD_INLINE;
    msg = message(call, 0);
    /* A call that may pend outlives the caller's strings, so it gets copies.  Any
     * other call ends before we return: it reads the caller's own strings. */
    rv = may_pend ? mortise_carry_copy(&msg, &held, i->mem, err)
                  : mortise_carry_lend(&msg, &held, i->mem, err);
    if (rv != MORTISE_OK)
        return rv;
    s = begin(i, call, &handle);
    if (s == NULL) {
        mortise_wire_release(&held);
        return mortise_nomem(err);
    }
    msg.call = handle;
    assert(handle != 0 && s->held.p == NULL); /* (3) */
    s->held = held; /* nobody else looks before the call has ended */
    fill_request(&s->request, &msg);
    ret = enter(i, call, &msg, &s->request);
    /* Without memory the words are lost, but what it returned is not: a call
     * that is pending must not end here. */
    if (mortise_carry_lend(&ret, &held, i->mem, NULL) != MORTISE_OK)
        ret.message = zstr("out of memory for the error message");
    returned(i, s, &ret);
    mortise_wire_release(&held);
    return MORTISE_OK;
}

/* ---- cancel, abandon, answer ----------------------------------------------
 */

/* A message that is a number and nothing else arrives without memory, too: who
 * is not told to stop never does. */
static void carry_number(const struct mortise_instance *i,
                         struct mortise_wire *msg,
                         struct mortise_wire_held *held)
{
    const struct mortise_wire as_it_was = *msg;

    if (mortise_carry_lend(msg, held, i->mem, NULL) == MORTISE_OK)
        return;
    *msg = as_it_was;
    *held = (struct mortise_wire_held){.mem = i->mem};
}

bool mortise_instance_cancel(struct mortise_instance *i, uint64_t call)
{
    struct mortise_call_slot *s = mortise_call_table_by_id(&i->calls, call);
    struct mortise_wire msg = {.type = MORTISE_WIRE_CANCEL};
    struct mortise_wire_held held;
    struct mortise_visit v;
    bool tell;

    if (s == NULL)
        return false;
    if (!s->open) {
        pthread_mutex_unlock(&s->lock);
        return false;
    }
    assert(s->pins > 0 && s->handle != 0); /* it is open */
    tell = !s->cancelled && !s->finished;
    s->cancelled = true;
    atomic_store(&s->live, 0);
    msg.call = s->handle;
    mortise_host_answer_all(i, s);
    if (!tell)
        return true;
    carry_number(i, &msg, &held);
    mortise_host_visit(i, &v, MORTISE_INSIDE_CANCEL, NULL, true);
    sent(i, &msg, NULL);
    mortise_host_leave(i, &v);
    mortise_wire_release(&held);
    return true;
}

bool mortise_instance_is_idle(struct mortise_instance *i, uint64_t call)
{
    struct mortise_call_slot *s = mortise_call_table_by_id(&i->calls, call);
    bool idle;

    if (s == NULL)
        return false;
    idle = !atomic_exchange(&s->stirred, false) && s->open && !s->finished &&
           s->asks == NULL && s->waiting == 0;
    pthread_mutex_unlock(&s->lock);
    return idle;
}

bool mortise_instance_abandon(struct mortise_instance *i, uint64_t call,
                              struct mortise_usage *usage)
{
    struct mortise_call_slot *s = mortise_call_table_by_id(&i->calls, call);
    bool was_open = s != NULL && s->open;

    if (was_open && usage != NULL) {
        *usage = s->usage;
        s->usage = (struct mortise_usage){0}; /* it is the caller's now */
    }
    if (was_open) {
        assert(s->pins > 0); /* its pin stays until the plugin lets go */
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
static void wake(struct mortise_call_slot *s, const struct mortise_wire *msg)
{
    assert(s->waiting == msg->ask && msg->ask != 0);
    assert(s->open && s->inside); /* answer_all() wakes it at the end */
    mortise_buf_clear(&s->answer);
    mortise_buf_put(&s->answer, msg->body.p, (size_t)msg->body.n);
    s->answer_status =
        s->answer.failed ? MORTISE_S_NOMEM : (mortise_status)msg->status;
    s->waiting = 0;
    pthread_cond_signal(&s->answered);
    pthread_mutex_unlock(&s->lock);
}

/* A piece of an answer that is still to come; who waits gets the whole alone.
 * Takes the slot locked. */
static void deliver_piece(struct mortise_instance *i,
                          struct mortise_call_slot *s,
                          const struct mortise_wire *msg)
{
    struct mortise_ask *a = s->asks, copy = {.fn = NULL};

    while (a != NULL && a->id != msg->ask)
        a = a->next;
    if (a != NULL && s->open && !s->finished && !s->cancelled)
        copy = *a; /* it may be answered from inside the call */
    pthread_mutex_unlock(&s->lock);
    if (copy.fn != NULL)
        mortise_host_call_back(i, &copy, MORTISE_S_PENDING, msg->body);
}

static void deliver_answer(struct mortise_instance *i, uint64_t call,
                           const struct mortise_wire *msg)
{
    struct mortise_call_slot *s = mortise_call_table_by_id(&i->calls, call);
    struct mortise_ask *a;
    bool ended;

    if (s == NULL)
        return;
    atomic_store(&s->stirred, true); /* it has something to think about */
    if (msg->status == MORTISE_S_PENDING) {
        deliver_piece(i, s, msg);
        return;
    }
    if (s->waiting == msg->ask) {
        wake(s, msg);
        return;
    }
    a = mortise_host_unlink_ask(s, msg->ask);
    ended = !s->open || s->finished;
    pthread_mutex_unlock(&s->lock);
    if (a == NULL)
        return; /* answered when its call was cancelled */
    mortise_host_call_back(i, a, ended ? MORTISE_S_CANCELLED : msg->status,
                           ended ? zstr("the call has ended") : msg->body);
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
    struct mortise_wire_held held;

    assert(call != 0 && ask != 0); /* both are numbers of ours */
    if (mortise_carry_lend(&msg, &held, i->mem, NULL) != MORTISE_OK) {
        if (status == MORTISE_S_PENDING)
            return;
        /* It must not wait for good. */
        msg.status = MORTISE_S_NOMEM;
        msg.body = zstr("out of memory for the answer");
        deliver_answer(i, call, &msg);
        return;
    }
    deliver_answer(i, call, &msg);
    mortise_wire_release(&held);
}

/* ---- create ---------------------------------------------------------------
 */

/* What create() said besides its message, where that matters to who calls. */
static void take_failure(const struct mortise_words *words,
                         struct mortise_create_failure *out)
{
    if (words->class == NULL || strcmp(words->class, "transient") != 0)
        return;
    out->transient = true;
    memcpy(out->code, words->code, sizeof out->code);
    out->retry_after_ms = words->retry_after_ms;
}

static int create(struct mortise_instance *i, const char *config, size_t n,
                  struct mortise_create_failure *failure,
                  struct mortise_err *err)
{
    struct mortise_wire msg = {.type = MORTISE_WIRE_CREATE,
                               .body = {config, n}};
    struct mortise_wire_held held;
    struct mortise_wire ret;
    int rv = mortise_carry_lend(&msg, &held, i->mem, err);

    if (rv != MORTISE_OK)
        return rv;
    ret = sent(i, &msg, NULL);
    mortise_wire_release(&held);
    if (ret.status == MORTISE_S_OK)
        return MORTISE_OK;
    take_failure(&i->words, failure);
    return mortise_fail(
        err, ret.status == MORTISE_S_NOMEM ? MORTISE_ENOMEM : MORTISE_ECONFIG,
        "plugin %s could not start: %s", i->manifest->name,
        i->words.message[0] != '\0' ? i->words.message
                                    : "create() failed and gave no reason");
}

static void release(struct mortise_instance *i)
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
    assert(ops->done != NULL); /* the others may be missing */
    i->host.instance = i;
    i->mem = mem;
    i->to = to;
    to->host = &i->host;
    i->manifest = manifest;
    i->culprit = culprit;
    i->process = mortise_inside_process();
    i->ops = *ops;
    if (mortise_call_table_init(&i->calls, mem) != MORTISE_OK) {
        to->ops->free(to);
        mortise_release(mem, i, sizeof *i);
        return mortise_nomem(err);
    }
    pthread_mutex_init(&i->lock, NULL);
    mortise_cond_init(&i->over);
    rv = create(i, config, n, failure, err);
    if (rv != MORTISE_OK) {
        release(i);
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

/* ---- quiesce and destroy --------------------------------------------------
 */

/* The plugin is told that. */
static mortise_status tell_last(struct mortise_instance *i)
{
    struct mortise_wire msg = {
        .type = i->last,
        .deadline_ns = i->last == MORTISE_WIRE_QUIESCE ? i->last_by_ns : 0};
    struct mortise_wire_held held;
    struct mortise_visit v;
    mortise_status status;

    carry_number(i, &msg, &held);
    mortise_host_visit(i, &v, MORTISE_INSIDE_END, NULL, false);
    status = sent(i, &msg, NULL).status;
    mortise_host_leave(i, &v);
    mortise_wire_release(&held);
    return status;
}

static void *say_farewell(void *ud)
{
    struct mortise_instance *i = ud;
    mortise_status status;

    mortise_thread_name("mortise-bye");
    status = tell_last(i);
    pthread_mutex_lock(&i->lock);
    assert(!i->returned);
    i->returned = true;
    i->last_status = status;
    pthread_cond_signal(&i->over);
    pthread_mutex_unlock(&i->lock);
    return NULL;
}

/* Wait for the thread until the deadline; false: it still runs. */
static bool await_farewell(struct mortise_instance *i)
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

/* Does it return from that in time, and well?  It is on a thread of its own: one
 * that never returns must not take the engine along.  Then the instance is
 * leaked, and what the thread still looks at with it. */
static bool takes(struct mortise_instance *i, enum mortise_wire_type last,
                  uint64_t timeout_ms)
{
    pthread_t thread;

    i->last = last;
    i->returned = false;
    i->last_by_ns = mortise_mono_ns() + timeout_ms * 1000000;
    if (mortise_thread_start(&thread, say_farewell, i) != 0)
        return false;
    if (!await_farewell(i)) {
        pthread_detach(thread);
        return false;
    }
    pthread_join(thread, NULL);
    return i->last_status == MORTISE_S_OK;
}

static void stop_call(struct mortise_call_slot *s, void *ud)
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

static void note_inside(struct mortise_call_slot *s, void *ud)
{
    bool *any = ud;

    pthread_mutex_lock(&s->lock);
    *any = *any || (s->handle != 0 && s->inside);
    pthread_mutex_unlock(&s->lock);
}

/* Nothing of the plugin reaches the engine any more; it may still come back to
 * its instance, which is found here by whoever looks for what is lost. */
static bool leak(struct mortise_instance *i)
{
    static struct mortise_instance *_Atomic leaked; /* all of them */
    const struct timespec a_moment = {.tv_nsec = 100000};

    assert(i->closing && i->next_leaked == NULL); /* once */
    i->next_leaked = atomic_exchange(&leaked, i);
    atomic_store(&i->deaf, true);
    while (atomic_load(&i->outside) != 0)
        nanosleep(&a_moment, NULL);
    return false;
}

static void say_restless(struct mortise_instance *i, uint64_t timeout_ms)
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
    mortise_call_table_each(&i->calls, stop_call, i);
    if (!takes(i, MORTISE_WIRE_QUIESCE, timeout_ms)) {
        say_restless(i, timeout_ms);
        return leak(i);
    }
    mortise_call_table_each(&i->calls, note_inside, &inside);
    if (inside) {
        mortise_host_log(i, MORTISE_LOG_ERROR,
                         "reported the end of quiesce() during a call; its "
                         "memory is not released");
        return leak(i);
    }
    if (!takes(i, MORTISE_WIRE_DESTROY, timeout_ms)) {
        mortise_host_log(
            i, MORTISE_LOG_ERROR,
            "was not destroyed within %llu ms; its memory is not released",
            (unsigned long long)timeout_ms);
        return leak(i);
    }
    release(i);
    return true;
}
