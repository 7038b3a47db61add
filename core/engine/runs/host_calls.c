/* host_calls.c -- calls of plugins to the host, from `ask` to answer.
 *
 * An ask comes on any thread, as text; it is parsed there and becomes a task of
 * the loop.  There its method (host_calls.h) checks it, and the run decides
 * whether it is performed or answered without.  The result goes to the run,
 * which records it and answers.
 *
 *   (1) Each ask is answered exactly once, even if its call has ended, or ended
 *       before the ask arrived here.
 *   (2) An answer never comes from inside ask() or start(): it is a task after
 *       all earlier asks.
 *   (3) When a call must stop, its asks in progress are cancelled.  The run
 *       gets the results of asks that were already performed, before the end of
 *       the call.  An ask that was cancelled before it had any effect did not
 *       happen, and the run is told so: no person has to decide about it.
 *   (4) After a call was told to suspend (MORTISE_S_SUSPENDED), all its asks
 *       get the same answer, and none is recorded: it is unknown whether the
 *       re-entered call would repeat them.
 *   (5) Asks of one call reach the run in the order in which they were made,
 *       because the run recognises them by that order.  While the store is
 *       checked for the room of one ask, later asks wait.
 *   (6) The run stores and shows an ask with secrets masked; the ask is
 *       performed unmasked.  The name of a step identifies it and cannot be
 *       masked: a name with a secret in it is refused.
 *   (7) An ask of a call that serves another ask is part of that ask: it is
 *       performed at once and answered, and the run is not told.  The same
 *       holds for asks inside a step that a plugin performs itself (journal.c).
 *       The plugin gets two answers for such a step: that it may begin, and,
 *       after it reported the result, that the result is recorded.
 *   (8) An ask from an instance's background work belongs to no run: it is
 *       performed at once, not recorded, and ends with the instance.
 */
#include "core/engine/runs/host_calls.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <mortise/json.h>

#include "core/base/clock.h"
#include "core/engine/common/secret_store.h"
#include "core/engine/common/news.h"
#include "core/engine/runs/call.h"
#include "core/engine/runs/script.h"
#include "core/plugin/kind.h"
#include "core/plugin/services.h"

enum { STEP_NAME_MAX = 128 }; /* bytes of the name of a step */

/* ---- records ------------------------------------------------------------ */

static void asked_free(struct mortise_asked *a)
{
    json_decref(mortise_json_unconst(a->body));
    json_decref(a->value);
    json_decref(a->seen);
    json_decref(a->told);
    json_decref(a->decided);
    json_decref(a->alias);
    json_decref(a->name);
    if (a->raw != NULL)
        mortise_release(a->m->mem, a->raw, a->raw_room);
    mortise_release(a->m->mem, a, sizeof *a);
}

/* A call on a worker waits there while it has unanswered asks. */
static void update_pool_wait(const struct mortise_plugin_call *c)
{
    if (!c->scripted && c->lane->threading == MORTISE_THREAD_BLOCKING)
        mortise_pool_set_waiting(c->m->pool, &c->job, c->asked != NULL);
}

static void link_asked(struct mortise_asked *a, struct mortise_plugin_call *c)
{
    struct mortise *m = a->m;

    a->call = c;
    a->next = c->asked;
    a->at = &c->asked;
    if (a->next != NULL)
        a->next->at = &a->next;
    c->asked = a;
    update_pool_wait(c);
    a->handle = ++m->last_ask;
    mortise_table_add(&m->asks, &a->entry, mortise_hash_u64s(a->handle, 0));
}

static void unlink_asked(struct mortise_asked *a)
{
    mortise_table_remove(&a->m->asks, &a->entry);
    *a->at = a->next;
    if (a->next != NULL)
        a->next->at = a->at;
    update_pool_wait(a->call);
    a->call = NULL;
    mortise_timer_disarm(&a->m->timers, &a->hold);
}

/* NULL if the ask no longer exists. */
static struct mortise_asked *find_asked(const struct mortise *m,
                                        uint64_t handle)
{
    struct mortise_table_entry *e;

    for (e = mortise_table_find(&m->asks, mortise_hash_u64s(handle, 0));
         e != NULL; e = mortise_table_find_next(e)) {
        struct mortise_asked *a =
            MORTISE_CONTAINER_OF(e, struct mortise_asked, entry);

        if (a->handle == handle)
            return a;
    }
    return NULL;
}

/* ---- answers ------------------------------------------------------------ */

/* A crash of the plugin during the answer is attributed to this call. */
static void answer_in_plugin(struct mortise_plugin_call *c, uint64_t ask,
                             int32_t status, const char *text, size_t n)
{
    const struct mortise_visit_execution *before;

    if (c->scripted) {
        mortise_script_answer(c, ask, status, text, n);
        return;
    }
    before = mortise_visit_set_execution(&c->whose);
    mortise_instance_answer(c->lane->instance, c->id, ask, status, text, n);
    mortise_visit_set_execution(before);
}

static void answer_with_text(struct mortise_plugin_call *c, uint64_t ask,
                             int32_t status, const char *text)
{
    answer_in_plugin(c, ask, status, text, strlen(text));
}

/* Add the cost in an answer to the call's usage.  For a call of an executor,
 * the run counts it with the answer. */
static void add_answer_usage(struct mortise_plugin_call *c,
                             const json_t *answer)
{
    const json_t *said = json_object_get(answer, "usage");
    struct mortise_usage used;

    if (said == NULL ||
        (c->call.kind == &mortise_call_execute && !c->is_aside) ||
        mortise_usage_from_json(&used, said, NULL) != MORTISE_OK)
        return;
    mortise_usage_add(&c->served, &used);
    mortise_usage_finish(&used);
}

/* The run has recorded the result of the step: answer the ask that reported
 * it. */
static void answer_step_end(struct mortise_asked *a)
{
    struct mortise_asked *by = a->ended;

    if (by == NULL)
        return; /* that ask no longer exists */
    a->ended = NULL;
    if (a->status == MORTISE_S_OK || a->undone)
        mortise_host_call_answer(by, MORTISE_S_OK, json_null(), "");
    else
        mortise_host_call_answer(by, a->status, NULL, a->words);
}

static void answer_asker(struct mortise_asked *a)
{
    struct mortise_plugin_call *c = a->call;
    const char *words = a->words;
    char *text = NULL;

    if (a->is_told) {
        answer_step_end(a);
        return;
    }

    if (a->status == MORTISE_S_OK) {
        words = text = mortise_json_to_text(c->mem, a->value);
        if (text == NULL) {
            a->status = MORTISE_S_NOMEM;
            words = "out of memory";
        }
    } else if (json_is_string(a->value)) {
        words = json_string_value(a->value);
    }
    c->answered_suspended |= a->status == MORTISE_S_SUSPENDED;
    if (a->method->served != NULL)
        add_answer_usage(c, a->value);
    if (a->method->answered != NULL && a->status == MORTISE_S_OK)
        a->method->answered(a, a->value);
    answer_with_text(c, a->id, a->status, words);
    mortise_release_str(c->mem, text);
}

/* Feed the result to the run; `a` may be freed by that. */
static void feed_ask_answer(struct mortise_asked *a)
{
    bool (*completed)(const json_t *) = a->method->completed;
    struct mortise_input in = {
        .kind = MORTISE_IN_ANSWER,
        .u.answer = {.call = a->call->run_call,
                     .ask = a->handle,
                     .step = a->step,
                     .status = a->status,
                     .value = a->value,
                     .words = a->words,
                     .doubtful = a->doubtful,
                     .seen = a->seen,
                     .undone = a->undone,
                     .completed = a->status == MORTISE_S_OK &&
                                  (completed == NULL || completed(a->value))}};

    a->state = MORTISE_HOST_ASK_WAITING;
    mortise_live_feed(a->call->live, &in);
}

/* Continue after all earlier asks (2). */
static void continue_asked(struct mortise_task *t)
{
    struct mortise_asked *a =
        MORTISE_CONTAINER_OF(t, struct mortise_asked, task);

    a->queued = false;
    if (a->call == NULL) {
        asked_free(a);
    } else if (a->state == MORTISE_HOST_ASK_HANDED_OVER) {
        a->state = MORTISE_HOST_ASK_STARTED;
        answer_asker(a);
        a->is_told = true;
    } else if (a->state == MORTISE_HOST_ASK_DONE) {
        feed_ask_answer(a);
    } else if (a->state == MORTISE_HOST_ASK_REPLIED) {
        answer_asker(a);
        unlink_asked(a);
        asked_free(a);
    }
}

static void set_asked_state(struct mortise_asked *a,
                            enum mortise_host_ask_state state, int32_t status,
                            json_t *value)
{
    a->state = state;
    a->status = status;
    json_decref(a->value);
    a->value = value;
    if (a->queued)
        return;
    a->queued = true;
    a->task.run = continue_asked;
    mortise_task_make_ready(a->m, &a->task);
}

static bool is_ask_recorded(const struct mortise_asked *a)
{
    return a->method->effect != MORTISE_HOST_CALL_UNRECORDED && !a->is_part;
}

void mortise_host_call_answer(struct mortise_asked *a, int32_t status,
                              json_t *value, const char *words)
{
    assert(a->state == MORTISE_HOST_ASK_STARTED);
    assert((status == MORTISE_S_OK) == (value != NULL));
    if (words != a->words)
        snprintf(a->words, sizeof a->words, "%s", words);
    set_asked_state(a,
                    is_ask_recorded(a) ? MORTISE_HOST_ASK_DONE
                                       : MORTISE_HOST_ASK_REPLIED,
                    status, value);
}

void mortise_host_call_begin_step(struct mortise_asked *a, json_t *value)
{
    assert(a->state == MORTISE_HOST_ASK_STARTED && a->call->own == NULL);
    a->call->own = a;
    set_asked_state(a, MORTISE_HOST_ASK_HANDED_OVER, MORTISE_S_OK, value);
}

void mortise_host_call_end_step(struct mortise_asked *a,
                                struct mortise_asked *by, json_t *value)
{
    assert(a->state == MORTISE_HOST_ASK_STARTED && a->is_told);
    a->call->own = NULL;
    a->ended = by;
    by->data = a;
    a->undone = value == NULL;
    set_asked_state(a, MORTISE_HOST_ASK_DONE,
                    value != NULL ? MORTISE_S_OK : MORTISE_S_CANCELLED, value);
}

void mortise_host_call_reply(struct mortise *m, uint64_t ask, int32_t status,
                             json_t *value)
{
    struct mortise_asked *a = find_asked(m, ask);

    if (a != NULL)
        set_asked_state(a, MORTISE_HOST_ASK_REPLIED, status,
                        json_incref(value));
}

void mortise_host_call_send_piece(struct mortise_asked *a, const char *p,
                                  size_t n)
{
    struct mortise_plugin_call *c = a->call;

    if (c != NULL)
        answer_in_plugin(c, a->id, MORTISE_S_PENDING, p, n);
}

/* May it have had an effect?  An ask that waits for its secrets has not. */
static bool has_ask_left(const struct mortise_asked *a)
{
    return a->fetch == NULL &&
           (a->method->has_left == NULL || a->method->has_left(a));
}

/* Stop waiting for a secret; true if it was waiting. */
static bool cancel_secret_fetch(struct mortise_asked *a)
{
    bool was = a->fetch != NULL;

    if (was)
        *a->fetch = NULL;
    a->fetch = NULL;
    return was;
}

static void stop_asked(struct mortise_asked *a)
{
    if (a->state == MORTISE_HOST_ASK_STARTED && !cancel_secret_fetch(a) &&
        a->method->cancel != NULL)
        a->method->cancel(a);
}

/* Cancel an effect that did not happen (3). */
static void cancel_undone_effect(struct mortise_asked *a)
{
    stop_asked(a);
    a->undone = true;
    snprintf(a->words, sizeof a->words, "cancelled");
    set_asked_state(a, MORTISE_HOST_ASK_DONE, MORTISE_S_CANCELLED, NULL);
}

static bool is_effect_undone(const struct mortise_asked *a)
{
    if (a->state == MORTISE_HOST_ASK_HANDED_OVER)
        return true;
    return a->state == MORTISE_HOST_ASK_STARTED && is_ask_recorded(a) &&
           a->method->effect == MORTISE_HOST_CALL_CALLER && !has_ask_left(a);
}

/* Forget an ask that nobody waits for. */
static void forget_asked(struct mortise_asked *a)
{
    struct mortise_plugin_call *c = a->call;
    struct mortise_asked *own = a->method->ends ? a->data : NULL;

    stop_asked(a);
    unlink_asked(a);
    if (c->deciding_ask == a)
        c->deciding_ask = NULL;
    if (c->own == a)
        c->own = NULL;
    if (own != NULL)
        own->ended = NULL;
    if (a->ended != NULL)
        a->ended->data = NULL;
    if (!a->is_told)
        answer_with_text(c, a->id, MORTISE_S_CANCELLED, "cancelled");
    if (!a->queued)
        asked_free(a);
}

static void serve_queued_asks(struct mortise *m, uint64_t call);

void mortise_host_call_cancel(struct mortise_plugin_call *c)
{
    struct mortise_asked *a, *next;

    for (a = c->asked; a != NULL; a = next) {
        next = a->next;
        if (is_effect_undone(a))
            cancel_undone_effect(a);
        else if (c->own != a && !a->method->ends &&
                 (a->state == MORTISE_HOST_ASK_WAITING ||
                  a->state == MORTISE_HOST_ASK_STARTED))
            forget_asked(a);
    }
    serve_queued_asks(c->m, c->id);
}

static struct mortise_asked *find_done_ask(const struct mortise_plugin_call *c)
{
    struct mortise_asked *a = c->asked;

    while (a != NULL && a->state != MORTISE_HOST_ASK_DONE)
        a = a->next;
    return a;
}

/* (5): a call that ends does not wait for the store.  An ask that was not
 * checked for room is not refused, and a decision that was not made has no
 * result. */
static void end_weighing(struct mortise_plugin_call *c)
{
    struct mortise_asked *a;

    while ((a = c->deciding_ask) != NULL) {
        stop_asked(a);
        if (a->method->decides)
            mortise_host_call_fail_weigh(a, MORTISE_S_CANCELLED,
                                         "the call has ended");
        else
            mortise_host_call_answer_weigh(a, false);
    }
}

void mortise_host_call_end(struct mortise_plugin_call *c)
{
    struct mortise_asked *a;

    end_weighing(c);
    for (a = c->asked; a != NULL; a = a->next)
        if (is_effect_undone(a))
            cancel_undone_effect(a);
    while ((a = find_done_ask(c)) != NULL)
        feed_ask_answer(a);
    while (c->asked != NULL)
        forget_asked(c->asked);
}

/* The call ended before its ask arrived, and its instance is unknown now:
 * answer to every instance; only the one that asked accepts it. */
static void answer_ended_call(const struct mortise_asked *a)
{
    static const char words[] = "the call has ended";
    struct mortise *m = a->m;
    struct mortise_table_entry *e;

    if (m->plugins == NULL)
        return; /* closed: the instance answered it */
    for (e = mortise_table_first(&m->lanes); e != NULL;
         e = mortise_table_next(&m->lanes, e))
        mortise_instance_answer(
            MORTISE_CONTAINER_OF(e, struct mortise_lane, entry)->instance,
            a->run_call, a->id, MORTISE_S_CANCELLED, words, sizeof words - 1);
}

/* ---- ask ----------------------------------------------------------------- */

void mortise_host_call_perform(struct mortise_live *live, uint64_t ask,
                               uint32_t step, const char *key)
{
    struct mortise_asked *a = find_asked(live->m, ask);

    if (a == NULL)
        return;
    a->step = step;
    memcpy(a->key, key, sizeof a->key);
    a->state = MORTISE_HOST_ASK_STARTED;
    a->live = live;
    a->method->start(a);
    a->live = NULL; /* an answer is a task, so `a` still exists */
}

int32_t mortise_ask_format_error(char *words, int32_t status, const char *fmt,
                                 ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(words, MORTISE_HOST_CALL_WORDS, fmt, ap);
    va_end(ap);
    return status;
}

/* Take `step` out of the body: the name of this ask, for plugins that ask in no
 * fixed order.  The rest is the method's. */
static int32_t take_step_name(struct mortise_asked *a, char *words)
{
    json_t *body = mortise_json_unconst(a->body);

    a->name = json_incref(json_object_get(body, "step"));
    if (a->name == NULL)
        return MORTISE_S_OK;
    json_object_del(body, "step");
    if (!json_is_string(a->name) || json_string_length(a->name) == 0 ||
        json_string_length(a->name) > STEP_NAME_MAX ||
        strlen(json_string_value(a->name)) != json_string_length(a->name))
        return mortise_ask_format_error(words, MORTISE_S_INVALID,
                                        "step must be 1 to 128 bytes of text");
    if (mortise_secret_store_has_secret_in(a->m->secret_store, a->name))
        return mortise_ask_format_error(
            words, MORTISE_S_INVALID,
            "the step's name is stored and shown, but it contains a secret");
    return MORTISE_S_OK;
}

/* (7): an ask that needs the run or another plugin cannot be part of
 * another. */
static bool may_ask_inside_step(const struct mortise_host_call_method *m)
{
    return m->served == NULL && (m->effect == MORTISE_HOST_CALL_READ ||
                                 m->effect == MORTISE_HOST_CALL_CHEAP_READ ||
                                 m->effect == MORTISE_HOST_CALL_CALLER ||
                                 m->effect == MORTISE_HOST_CALL_UNRECORDED);
}

/* (7): may plugins of this kind ask for the method while they serve a call?  If
 * not, `may` lists the allowed methods. */
static bool may_serving_call_ask(const struct mortise_asked *a, char *may,
                                 size_t size)
{
    const char *const *asks = mortise_kinds[a->call->call.kind->kind]->asks;
    size_t n = 0;

    assert(asks != NULL); /* an executor serves no calls */
    for (size_t k = 0; asks[k] != NULL; k++) {
        if (strcmp(asks[k], a->method_name) == 0)
            return true;
        n += (size_t)snprintf(may + n, size - n, "%s%s",
                              k == 0                ? ""
                              : asks[k + 1] == NULL ? " and "
                                                    : ", ",
                              asks[k]);
    }
    return false;
}

/* Recorded even inside an open step: a question, because its call stays for it;
 * and a model call, because it costs money. */
static bool is_recorded_inside(const struct mortise_host_call_method *m)
{
    return m->effect == MORTISE_HOST_CALL_QUESTION || m->says != NULL;
}

/* An ask that is recorded inside an open step needs a name, by which it is
 * found again. */
static int32_t check_inside_step(const struct mortise_asked *a, char *words)
{
    if (!is_recorded_inside(a->method))
        return MORTISE_S_OK;
    if (a->method->effect == MORTISE_HOST_CALL_QUESTION && a->hold_ms == 0)
        return mortise_ask_format_error(
            words, MORTISE_S_UNSUPPORTED,
            "inside an open step (journal.begin/1), a plugin must wait for the "
            "answer to a question (hold_ms)");
    return a->name != NULL ? MORTISE_S_OK
                           : mortise_ask_format_error(
                                 words, MORTISE_S_UNSUPPORTED,
                                 "inside an open step (journal.begin/1), a "
                                 "request of %s needs a name (step)",
                                 a->method_name);
}

/* The ask is recorded: parse the whole of it. */
static int32_t parse_raw_member(struct mortise_asked *a)
{
    json_t *value = NULL;
    int rv = mortise_json_parse(&value, a->raw, a->raw_room - 1, NULL);

    if (rv == MORTISE_OK && json_object_set_new(mortise_json_unconst(a->body),
                                                a->method->raw, value) != 0)
        rv = MORTISE_ENOMEM;
    mortise_release(a->m->mem, a->raw, a->raw_room);
    a->raw = NULL;
    if (rv == MORTISE_OK)
        return MORTISE_S_OK;
    return rv == MORTISE_ENOMEM ? MORTISE_S_NOMEM : MORTISE_S_INVALID;
}

/* MORTISE_S_OK: put the ask to the run; else answer with this status. */
static int32_t check_asked(struct mortise_asked *a, char *words)
{
    const struct mortise_plugin_call *c = a->call;
    int32_t status;
    char may[256];

    if (a->raw != NULL && a->status == MORTISE_S_OK && !a->is_part)
        a->status = parse_raw_member(a);
    if (a->status == MORTISE_S_NOMEM) /* set when the ask arrived */
        return mortise_ask_format_error(words, a->status, "out of memory");
    if (a->status != MORTISE_S_OK)
        return mortise_ask_format_error(words, a->status,
                                        "the body is not a JSON object");
    if ((c->live != NULL && c->live->lost) ||
        (c->cancelled && !a->method->ends))
        return mortise_ask_format_error(words, MORTISE_S_CANCELLED,
                                        "the call has ended");
    if (c->answered_suspended && !a->method->ends)
        return mortise_ask_format_error(words, MORTISE_S_SUSPENDED,
                                        "the call must suspend now");
    if (c->is_serving && !may_serving_call_ask(a, may, sizeof may))
        return mortise_ask_format_error(
            words, MORTISE_S_UNSUPPORTED,
            "a call that serves another call cannot ask "
            "for %s; it can ask for %s",
            a->method_name, may);
    if (c->live == NULL && !c->is_serving && !a->method->needs_no_run)
        return mortise_ask_format_error(
            words, MORTISE_S_UNSUPPORTED,
            "background work of a plugin belongs to no "
            "run and cannot ask for %s",
            a->method_name);
    if (c->own != NULL && !may_ask_inside_step(a->method) &&
        !is_recorded_inside(a->method))
        return mortise_ask_format_error(
            words, MORTISE_S_UNSUPPORTED,
            "inside an open step (journal.begin/1), a plugin cannot ask for %s",
            a->method_name);
    status = take_step_name(a, words);
    if (status == MORTISE_S_OK)
        status = a->method->check(a, words);
    return status == MORTISE_S_OK && c->own != NULL
               ? check_inside_step(a, words)
               : status;
}

static enum mortise_step_kind
get_caller_step_kind(const struct mortise_asked *a)
{
    const struct mortise_host_call_method *m = a->method;

    if (m->changes != NULL && !m->changes(a->body))
        return MORTISE_STEP_READ;
    return m->repeats != NULL && m->repeats(a->body) ? MORTISE_STEP_REPEAT
                                                     : MORTISE_STEP_EFFECT;
}

/* The step of an effect that does not depend on the caller; 0: the run is not
 * asked. */
static const enum mortise_step_kind step_kinds[] = {
    [MORTISE_HOST_CALL_READ] = MORTISE_STEP_READ,
    [MORTISE_HOST_CALL_CHEAP_READ] = MORTISE_STEP_CHEAP_READ,
    [MORTISE_HOST_CALL_QUESTION] = MORTISE_STEP_QUESTION,
    [MORTISE_HOST_CALL_TIMER] = MORTISE_STEP_TIMER,
    [MORTISE_HOST_CALL_TOOL] = MORTISE_STEP_TOOL,
    [MORTISE_HOST_CALL_PUT] = MORTISE_STEP_PUT,
    [MORTISE_HOST_CALL_CHILD] = MORTISE_STEP_CHILD,
    [MORTISE_HOST_CALL_GET] = MORTISE_STEP_GET,
};
_Static_assert(sizeof step_kinds / sizeof step_kinds[0] ==
                   MORTISE_HOST_CALL_GET + 1,
               "every effect is settled, here or by the caller");

/* No answer within hold_ms: release the call, as if it had not stayed. */
static void on_hold_timer(struct mortise_timer *t)
{
    struct mortise_asked *a =
        MORTISE_CONTAINER_OF(t, struct mortise_asked, hold);
    struct mortise_input in = {
        .kind = MORTISE_IN_YIELD,
        .u.yield = {.call = a->run_call, .ask = a->handle}};

    if (a->state == MORTISE_HOST_ASK_WAITING)
        mortise_live_feed(a->call->live, &in);
}

void mortise_host_call_release(struct mortise_live *live, const char *handle)
{
    struct mortise_input in = {.kind = MORTISE_IN_YIELD,
                               .u.yield = {.handle = handle}};

    mortise_live_feed(live, &in);
}

/* Does the asking call stay until a child or a tool of the run has ended? */
static bool keeps_call_waiting(const struct mortise_asked *a)
{
    return a->method->effect == MORTISE_HOST_CALL_CHILD ||
           a->method->effect == MORTISE_HOST_CALL_TOOL;
}

bool mortise_host_call_is_waiting(const struct mortise_plugin_call *c,
                                  bool tools)
{
    const struct mortise_asked *a = c->asked;

    while (a != NULL &&
           (a->state != MORTISE_HOST_ASK_WAITING || !keeps_call_waiting(a) ||
            (!tools && a->method->effect == MORTISE_HOST_CALL_TOOL)))
        a = a->next;
    return a != NULL;
}

/* Put the ask to the run; `a` may be freed by that. */
static void put_ask_to_run(struct mortise_asked *a, bool full)
{
    json_t *masked = mortise_secret_store_mask_json(
        a->m->secret_store, json_incref(mortise_json_unconst(a->body)));
    struct mortise_pin by = a->by;
    struct mortise_model_ask model = {.by = &by};
    struct mortise_plugin_call *c = a->call;
    struct mortise_live *live = c->live;
    bool awaits = a->method->effect == MORTISE_HOST_CALL_CHILD;
    bool stays = keeps_call_waiting(a);
    struct mortise_input in = {
        .kind = MORTISE_IN_ASK,
        .u.ask = {.call = a->run_call,
                  .ask = a->handle,
                  .kind = a->method->effect == MORTISE_HOST_CALL_CALLER
                              ? get_caller_step_kind(a)
                              : step_kinds[a->method->effect],
                  .method = a->method_name,
                  .key = a->name != NULL ? json_string_value(a->name) : "",
                  .alias = a->alias != NULL ? json_string_value(a->alias) : "",
                  .body = masked,
                  .refused = full ? a->words : NULL,
                  .spawn = full ? NULL : a->spawn,
                  .decided = full ? NULL : a->decided,
                  .holds = a->hold_ms > 0 || awaits,
                  .inside = a->call->own != NULL,
                  .model = a->method->says != NULL ? &model : NULL}};

    if (a->method->says != NULL)
        model.said = mortise_secret_store_mask_json(
            a->m->secret_store, a->method->says(a, model.most));
    if (masked == NULL || (a->method->says != NULL && model.said == NULL)) {
        set_asked_state(a, MORTISE_HOST_ASK_REPLIED, MORTISE_S_NOMEM, NULL);
    } else {
        a->state = MORTISE_HOST_ASK_WAITING;
        if (stays)
            c->yields = false;
        if (a->hold_ms > 0)
            mortise_timer_arm(&a->m->timers, &a->hold,
                              mortise_mono_ns_after(a->hold_ms));
        mortise_live_feed(live, &in);
        if (awaits)
            /* the child may have ended already */
            mortise_news_add_for_run(live, MORTISE_NEWS_AWAITS);
        if (stays)
            mortise_call_release_waiting(c);
    }
    json_decref(masked);
    json_decref(model.said);
}

/* Check whether there is room (5). */
static void start_weighing(struct mortise_asked *a)
{
    a->call->deciding_ask = a;
    a->state = MORTISE_HOST_ASK_STARTED;
    a->method->weigh(a);
}

/* Serve an ask of a call, or NULL: the call has ended. */
static void serve_asked(struct mortise_asked *a, struct mortise_plugin_call *c)
{
    int32_t status;

    if (c == NULL) {
        answer_ended_call(a);
        asked_free(a);
        return;
    }
    link_asked(a, c);
    a->is_part = c->is_serving || c->live == NULL ||
                 (c->own != NULL && !is_recorded_inside(a->method));
    a->hold.fire = on_hold_timer;
    if (!c->scripted) {
        a->manifest = c->lane->manifest;
        a->as = c->lane->as;
    }
    a->deadline_ns = c->call.deadline_ns;
    a->node_path = c->path;
    a->live = c->live;
    a->run_call = c->run_call;
    status = check_asked(a, a->words);
    if (status == MORTISE_S_OK && a->method->weigh != NULL) {
        start_weighing(a);
        return;
    }
    if (status == MORTISE_S_OK && !is_ask_recorded(a)) {
        a->state = MORTISE_HOST_ASK_STARTED;
        a->method->start(a);
        a->live = NULL; /* an answer is a task, so `a` still exists */
        return;
    }
    a->live = NULL;
    if (status == MORTISE_S_OK) {
        put_ask_to_run(a, false);
    } else {
        mortise_secret_store_mask_text(a->m->secret_store, a->words,
                                       sizeof a->words);
        set_asked_state(a, MORTISE_HOST_ASK_REPLIED, status, NULL);
    }
}

static void ask_task(struct mortise_task *t)
{
    struct mortise_asked *a =
        MORTISE_CONTAINER_OF(t, struct mortise_asked, task);
    struct mortise_plugin_call *c = mortise_call_find(a->m, a->run_call);

    if (c != NULL && c->deciding_ask != NULL)
        mortise_tasks_put(&c->asks_behind_decision, t);
    else
        serve_asked(a, c);
}

/* Serve the asks queued behind the one that was decided, up to the next that
 * needs a decision. */
static void serve_queued_asks(struct mortise *m, uint64_t call)
{
    struct mortise_plugin_call *c;
    struct mortise_task *t;

    while ((c = mortise_call_find(m, call)) != NULL &&
           c->deciding_ask == NULL &&
           (t = mortise_tasks_take(&c->asks_behind_decision)) != NULL)
        serve_asked(MORTISE_CONTAINER_OF(t, struct mortise_asked, task), c);
}

void mortise_host_call_answer_weigh(struct mortise_asked *a, bool full)
{
    struct mortise *m = a->m;
    uint64_t call = a->call->id;

    assert(a->call->deciding_ask == a);
    a->call->deciding_ask = NULL;
    a->live = NULL;
    put_ask_to_run(a, full);
    serve_queued_asks(m, call);
}

void mortise_host_call_fail_weigh(struct mortise_asked *a, int32_t status,
                                  const char *words)
{
    struct mortise *m = a->m;
    uint64_t call = a->call->id;

    assert(a->call->deciding_ask == a && status != MORTISE_S_OK);
    a->call->deciding_ask = NULL;
    a->live = NULL;
    snprintf(a->words, sizeof a->words, "%s", words);
    set_asked_state(a, MORTISE_HOST_ASK_REPLIED, status, NULL);
    serve_queued_asks(m, call);
}

static int32_t parse_ask_object(struct mortise_asked *a, const char *text,
                                size_t n)
{
    json_t *body = NULL;
    int rv = mortise_json_parse(&body, text, n, NULL);

    a->body = body;
    if (rv == MORTISE_ENOMEM)
        return MORTISE_S_NOMEM;
    return rv == MORTISE_OK && json_is_object(body) ? MORTISE_S_OK
                                                    : MORTISE_S_INVALID;
}

enum { RAW_LEAST = 2048 }; /* bytes; a shorter value is parsed as fast */

/* Keep the text of `value`, and parse the rest. */
static int32_t parse_around_member(struct mortise_asked *a, const char *text,
                                   size_t n, mortise_jv value)
{
    const char *behind = value.p + value.n;
    struct mortise_buf rest;
    int32_t status;

    a->raw_room = value.n + 1;
    a->raw = mortise_alloc(a->m->mem, a->raw_room);
    if (a->raw == NULL)
        return MORTISE_S_NOMEM;
    memcpy(a->raw, value.p, value.n);
    a->raw[value.n] = '\0';
    mortise_buf_init(&rest, a->m->mem);
    mortise_buf_put(&rest, text, (size_t)(value.p - text));
    mortise_buf_puts(&rest, "null");
    mortise_buf_put(&rest, behind, (size_t)(text + n - behind));
    status =
        rest.failed ? MORTISE_S_NOMEM : parse_ask_object(a, rest.p, rest.n);
    mortise_buf_finish(&rest);
    return status;
}

/* [any]: parse the body, off the loop if the plugin has threads. */
static int32_t parse_asked_body(struct mortise_asked *a, const char *text,
                                size_t n)
{
    mortise_str all = {text, n};
    mortise_jv v;

    if (a->method->raw != NULL && n > RAW_LEAST &&
        mortise_jv_parse(all, &v) == MORTISE_S_OK) {
        v = mortise_jv_get(v, a->method->raw);
        if (v.n > RAW_LEAST)
            return parse_around_member(a, text, n, v);
    }
    return parse_ask_object(a, text, n);
}

void mortise_host_call_ask(void *ud, uint64_t call, uint64_t ask,
                           const char *method, const char *body, size_t n)
{
    struct mortise *m = ud;
    struct mortise_asked *a = mortise_zalloc(m->mem, sizeof *a);
    const struct mortise_method *row;
    size_t service = 0;

    if (a == NULL) {
        mortise_call_cancel_starved(m, call);
        return;
    }
    a->m = m;
    a->id = ask;
    a->run_call = call; /* our id of the call, until the call is found */
    row = mortise_method_find(method, &service);
    assert(row != NULL); /* the manifest has no other name */
    a->method = row->performs;
    a->method_name = row->name;
    a->kept = &m->kept[service];
    a->status = parse_asked_body(a, body, n);
    a->task.run = ask_task;
    mortise_call_post(m, &a->task);
}

/* ---- decisions of people ------------------------------------------------- */

static int check_resolved_answer(const struct mortise_run *r,
                                 const struct mortise_run_command *c,
                                 struct mortise_err *err)
{
    const char *name = mortise_run_get_resolved_method(r, c), *expects;
    const struct mortise_method *row =
        name != NULL ? mortise_method_find(name, NULL) : NULL;

    if (row == NULL || row->performs->expects == NULL)
        return MORTISE_OK; /* the run itself checks it */
    expects = row->performs->expects(c->value);
    return expects == NULL
               ? MORTISE_OK
               : mortise_fail(err, MORTISE_EINVAL,
                              "the answer to %s is invalid: it must be %s",
                              name, expects);
}

int mortise_host_call_check_resolved(const struct mortise_run *r,
                                     const struct mortise_run_command *list,
                                     size_t n, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < n; i++)
        rv = check_resolved_answer(r, &list[i], err);
    return rv;
}
