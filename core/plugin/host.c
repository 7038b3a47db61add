/* host.c -- the functions that a plugin calls; instance.c has the opposite
 * direction.
 *
 * Threads: [any].  A plugin's threads call these functions at any time, with
 * any handle.  Each call becomes a message of wire.h and is handled from that
 * message, so that it could also come from another process; `make wire` encodes
 * and decodes each message (carry.h).
 *
 * The promises of instance.c have their own numbers.  Those of this file:
 *
 *   (1) A handle without an open call has no effect: MORTISE_S_STALE, logged
 *       once per instance.
 *   (2) Text from a plugin is never trusted: messages are cut to 1 KiB and
 *       sanitized before they are shown, and bodies have limits.
 *   (3) No lock is held during an op of the engine or a callback of the plugin.
 *   (4) The asks of one call without an answer are limited in number and bytes.
 *       A plugin that exceeds the limit gets an error; this also becomes the
 *       error of its call if the plugin gives no other.
 *   (5) If memory runs out for data from a plugin, the call fails: an
 *       incomplete result is not a result.
 *   (6) A child of fork() ends here: otherwise two processes would write one
 *       store. */
#include "core/plugin/host.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/utf8.h"
#include "core/json/code.h"
#include "core/json/value.h"
#include "core/plugin/carry.h"
#include "core/plugin/services.h"
#include "core/plugin/status.h"

enum {
    DETAIL_MAX = 16 * 1024,
    METHOD_MAX = 128,
    RETRY_AFTER_MAX = 86400000 /* ms */
};

/* Warnings that are logged once per instance. */
enum {
    WARNED_STALE_EMIT = 1,
    WARNED_STALE_FINISH = 2,
    WARNED_EARLY_FINISH = 4,
    WARNED_DETAIL = 8,
    WARNED_USAGE = 16,
    WARNED_ASKS = 32
};

/* ---- calls into the plugin ----------------------------------------------- */

void mortise_host_enter_visit(struct mortise_instance *i,
                              struct mortise_visit *v,
                              enum mortise_visit_stage stage,
                              const struct mortise_visit_execution *whose,
                              bool on_loop)
{
    /* A plugin's own threads make no visits. */
    assert(stage < MORTISE_VISIT_THREAD);
    mortise_visit_enter(v, i->culprit, stage, whose,
                        on_loop ? mortise_manifest_time_limit(i->manifest) : 0,
                        on_loop ? MORTISE_VISIT_MASK_LATER
                                : MORTISE_VISIT_MASK_NOW);
}

void mortise_host_leave_visit(struct mortise_instance *i,
                              struct mortise_visit *v)
{
    mortise_host_check_process(i);
    mortise_visit_leave(v);
}

void mortise_host_call_back(struct mortise_instance *i,
                            const struct mortise_ask *a, mortise_status status,
                            mortise_str body)
{
    struct mortise_visit v;

    assert(a->fn != NULL); /* host_ask() requires it */
    mortise_host_enter_visit(i, &v, MORTISE_VISIT_ANSWER, NULL, true);
    a->fn(a->ud, status, body);
    mortise_host_leave_visit(i, &v);
}

/* ---- text and errors ----------------------------------------------------- */

/* Copy text of a plugin for people and logs: replace invalid UTF-8 and control
 * characters, cut to `size`. */
static void sanitize_text(char *out, size_t size, mortise_str s)
{
    const char *p = s.p, *end = p + (p != NULL ? s.n : 0);
    size_t n = 0;

    assert(size > 0);
    while (p < end && n + 5 < size) {
        uint32_t cp;
        size_t step = mortise_utf8_decode(p, end, &cp);

        if (step == 0 || cp == 0x7F || (cp < 0x20 && cp != '\n' && cp != '\t'))
            out[n++] = '?';
        else
            for (size_t i = 0; i < step; i++)
                out[n++] = p[i];
        p += step != 0 ? step : 1;
    }
    out[n] = '\0';
}

/* Cut s to at most max bytes.  A NULL pointer gives length 0. */
static mortise_str clamp_str(mortise_str s, uint64_t max)
{
    uint64_t n = s.p != NULL ? s.n : 0;

    return (mortise_str){s.p, n < max ? n : max};
}

/* Call before each op; skip the op if it returns false.  Both sides use
 * sequentially consistent atomics: close() sets `deaf` and then reads
 * `outside`; this function increments `outside` and then reads `deaf`. */
static bool enter_engine(struct mortise_instance *i)
{
    atomic_fetch_add(&i->outside, 1);
    if (!atomic_load(&i->deaf))
        return true;
    atomic_fetch_sub(&i->outside, 1);
    return false;
}

static void leave_engine(struct mortise_instance *i)
{
    assert(atomic_load(&i->outside) > 0); /* paired with enter_engine() */
    atomic_fetch_sub(&i->outside, 1);
}

void mortise_host_log(struct mortise_instance *i, int level, const char *fmt,
                      ...)
{
    char text[MORTISE_PLUGIN_MESSAGE_MAX];
    va_list ap;

    assert(level >= MORTISE_LOG_ERROR && level <= MORTISE_LOG_DEBUG);
    if (i->ops.log == NULL || !enter_engine(i))
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    i->ops.log(i->ops.ud, level, i->manifest->name, text);
    leave_engine(i);
}

/* Log that the plugin broke a rule, once per instance and rule. */
static void warn_once(struct mortise_instance *i, unsigned what,
                      const char *words)
{
    assert(what != 0 && (what & (what - 1)) == 0); /* one of WARNED_... */
    if ((atomic_fetch_or(&i->scolded, what) & what) == 0)
        mortise_host_log(i, MORTISE_LOG_WARN, "%s", words);
}

static const char *find_error_class(const char *word)
{
    static const char *const classes[] = {"transient", "permanent", "timeout",
                                          "cancelled"};

    for (size_t k = 0; word != NULL && k < 4; k++)
        if (strcmp(word, classes[k]) == 0)
            return classes[k];
    return NULL;
}

static bool is_error_code(const char *word)
{
    size_t n = word != NULL ? strlen(word) : 0;

    return n > 0 && n < MORTISE_CODE_MAX &&
           strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_.") == n;
}

/* The value can come from a server, so limit it to one day. */
static uint64_t clamp_retry_after(const json_t *ms)
{
    json_int_t n = json_integer_value(ms);

    return n <= 0 ? 0 : n < RETRY_AFTER_MAX ? (uint64_t)n : RETRY_AFTER_MAX;
}

/* Parse the detail of an error.  False if the class or the code is invalid. */
static bool parse_error_detail(struct mortise_plugin_error *w,
                               mortise_str detail)
{
    const char *class, *code;
    json_t *v;
    bool ok;
    int rv;

    if (detail.n == 0)
        return true;
    if (detail.n > DETAIL_MAX)
        return false;
    rv = mortise_json_parse(&v, detail.p, (size_t)detail.n, NULL);
    /* An error of the host must not make this one permanent. */
    if (rv == MORTISE_ENOMEM)
        w->class = find_error_class("transient");
    if (rv != MORTISE_OK)
        return rv == MORTISE_ENOMEM;
    class = json_string_value(json_object_get(v, "class"));
    code = json_string_value(json_object_get(v, "code"));
    w->class = find_error_class(class);
    if (is_error_code(code))
        memcpy(w->code, code, strlen(code) + 1);
    w->retry_after_ms = clamp_retry_after(json_object_get(v, "retry_after_ms"));
    w->ending = mortise_exit_info_get(v);
    ok = json_is_object(v) && (class == NULL || w->class != NULL) &&
         (code == NULL || w->code[0] != '\0');
    json_decref(v);
    return ok;
}

/* Error codes of the engine are reserved.  If a plugin sends one, put it before
 * the message and clear the code. */
static void parse_plugin_error(struct mortise_instance *i,
                               struct mortise_plugin_error *w,
                               const struct mortise_wire *msg)
{
    int at = 0;

    *w = (struct mortise_plugin_error){0};
    if (!parse_error_detail(w, msg->detail))
        warn_once(i, WARNED_DETAIL,
                  "the detail of an error must be a JSON object with a class "
                  "(transient, permanent, timeout, cancelled) and a code "
                  "([a-z0-9_.]+); the error counts as permanent");
    if (mortise_code_is_reserved(w->code)) {
        at = snprintf(w->message, sizeof w->message, "%s: ", w->code);
        w->code[0] = '\0';
    }
    sanitize_text(w->message + at, sizeof w->message - (size_t)at,
                  msg->message);
}

/* ---- the end of a call --------------------------------------------------- */

static bool is_final_status(mortise_status status)
{
    return status <= 0 && status >= MORTISE_S_DOUBT;
}

bool mortise_host_can_pend(const struct mortise_call_slot *s)
{
    return s->kind->may_pend && s->threading != MORTISE_THREAD_INLINE;
}

bool mortise_host_can_suspend(const struct mortise_call_slot *s)
{
    return s->kind->may_suspend && s->threading != MORTISE_THREAD_INLINE;
}

void mortise_host_set_outcome(struct mortise_call_slot *s,
                              mortise_status status,
                              const struct mortise_plugin_error *words)
{
    assert(!s->finished);              /* (1) of instance.c */
    assert(s->open && s->handle != 0);
    s->finished = true;
    s->status = is_final_status(status) || (status == MORTISE_S_SUSPENDED &&
                                            mortise_host_can_suspend(s))
                    ? status
                    : MORTISE_S_FAILED;
    if (words != NULL && words->message[0] != '\0')
        memcpy(s->words.message, words->message, sizeof s->words.message);
    if (words != NULL && words->class != NULL)
        s->words.class = words->class;
    if (words != NULL && words->code[0] != '\0')
        memcpy(s->words.code, words->code, sizeof s->words.code);
    if (words != NULL && words->retry_after_ms != 0)
        s->words.retry_after_ms = words->retry_after_ms;
    if (words != NULL &&
        (words->ending.exit_code != 0 || words->ending.status != 0))
        s->words.ending = words->ending;
    if (s->status == MORTISE_S_DOUBT && s->words.message[0] == '\0')
        snprintf(s->words.message, sizeof s->words.message,
                 "the plugin reported that the effect may have happened, "
                 "without a reason");
    else if (s->status < 0 && s->words.message[0] == '\0')
        snprintf(s->words.message, sizeof s->words.message,
                 "failed with status %d (%s) and without a message",
                 (int)status, mortise_status_name(status));
}

/* Replace the plugin's outcome by a failure.  If the plugin reported success,
 * the effect may have happened: set `mute`, so that the engine does not retry
 * it as a known failure. */
static void override_outcome(struct mortise_call_slot *s, mortise_status status,
                             const char *class, const char *message)
{
    assert(s->finished);
    assert(status < 0 && class != NULL);
    s->mute |= s->status == MORTISE_S_OK;
    s->status = status;
    s->words = (struct mortise_plugin_error){.class = class};
    snprintf(s->words.message, sizeof s->words.message, "%s", message);
}

/* An incomplete result is not a result (5). */
static void check_emitted_output(struct mortise_call_slot *s)
{
    if (s->overflow)
        override_outcome(
            s, MORTISE_S_FAILED, "permanent",
            "emitted more than 16 MiB of output or update, or more than "
            "64 KiB of a verdict");
    else if (s->lost ||
             (s->has_output && mortise_buf_cstr(&s->output) == NULL) ||
             (s->has_update && mortise_buf_cstr(&s->update) == NULL))
        override_outcome(s, MORTISE_S_NOMEM, "transient",
                         "out of memory for the output of the plugin");
}

/* A success must include a valid value of the kind's `answer`. */
static void check_emitted_answer(struct mortise_call_slot *s)
{
    char said[MORTISE_PLUGIN_MESSAGE_MAX], words[400];
    int rv;

    if (s->kind->answer == NULL || s->status != MORTISE_S_OK)
        return;
    if (!s->has_own) {
        snprintf(words, sizeof words, "%s() ended without a %s", s->kind->name,
                 s->kind->answer);
        override_outcome(s, MORTISE_S_FAILED, "permanent", words);
        return;
    }
    assert(s->kind->read != NULL); /* a kind with an answer has a reader */
    said[0] = '\0';
    rv = s->kind->read(s->own.p, s->own.n, &s->violation, said, sizeof said);
    if (rv == MORTISE_ENOMEM) {
        override_outcome(s, MORTISE_S_NOMEM, "transient",
                         "out of memory for the output of the plugin");
    } else if (rv != MORTISE_OK) {
        snprintf(words, sizeof words,
                 "emitted an invalid %s; it must be: %.200s", s->kind->answer,
                 said);
        override_outcome(s, MORTISE_S_FAILED, "permanent", words);
    } else {
        sanitize_text(s->words.message, sizeof s->words.message,
                      mortise_str_of(said, strlen(said)));
    }
}

/* No lock is needed: only this thread uses the outcome of a finished call that
 * is not open. */
static void report_done(struct mortise_instance *i, struct mortise_call_slot *s)
{
    bool failed = s->status < 0, done_well = s->status == MORTISE_S_OK;
    char target[MORTISE_TARGET_MAX + 8];
    const char *class = s->words.class;
    struct mortise_call_result done = {
        .id = s->id,
        .status = s->status,
        .mute = s->mute,
        .violation = s->violation && !failed,
        .has_output = s->has_output && done_well,
        .has_update = s->has_update && done_well,
        .message = failed || s->violation ? s->words.message : "",
        .error_class = "",
        .error_code = failed ? s->words.code : "",
        .retry_after_ms = failed ? s->words.retry_after_ms : 0,
        .ending = failed ? s->words.ending : (struct mortise_exit_info){0, 0},
    };

    done.output = done.has_output ? s->output.p : "";
    done.output_size = done.has_output ? s->output.n : 0;
    done.update = done.has_update ? s->update.p : "";
    done.update_size = done.has_update ? s->update.n : 0;
    done.plain = done_well && !s->said_more;
    sanitize_text(target, sizeof target,
                  mortise_str_of(s->target, s->n_target));
    done.target = s->has_target && done_well ? target : NULL;
    done.usage = &s->usage;
    if (failed && class == NULL)
        class = s->status == MORTISE_S_CANCELLED ? "cancelled"
                : s->status == MORTISE_S_TIMEOUT ? "timeout"
                                                 : "permanent";
    if (failed)
        done.error_class = class;
    if (enter_engine(i)) {
        i->ops.done(i->ops.ud, &done);
        leave_engine(i);
    }
}

void mortise_host_deliver_result(struct mortise_instance *i,
                                 struct mortise_call_slot *s)
{
    assert(s->open && s->finished && !s->inside); /* (1), (2) of instance.c */
    assert(atomic_load(&i->calls.open) > 0);
    check_emitted_output(s);
    check_emitted_answer(s);
    assert(s->status <= 0 || s->status == MORTISE_S_SUSPENDED);
    s->open = false;
    atomic_store(&s->live, 0);
    atomic_fetch_sub(&i->calls.open, 1);
    pthread_mutex_unlock(&s->lock);
    report_done(i, s);
    pthread_mutex_lock(&s->lock);
    mortise_host_unpin(i, s, 1);
}

void mortise_host_unpin(struct mortise_instance *i, struct mortise_call_slot *s,
                        unsigned n)
{
    bool last;

    assert(n > 0 && s->pins >= n); /* or the slot could be reused too early */
    last = (s->pins -= n) == 0;
    assert(!last || (!s->open && !s->inside));
    /* Each ask has a pin. */
    assert(!last || (s->asks == NULL && s->n_asks == 0));
    assert(!last || s->waiting == 0); /* a waiting thread is inside */
    if (last)
        s->handle = 0;
    pthread_mutex_unlock(&s->lock);
    if (!last)
        return;
    mortise_wire_release(&s->held); /* no thread can reach the slot any more */
    mortise_call_table_remove(&i->calls, s);
}

/* ---- log, emit, finish, fail --------------------------------------------- */

static mortise_status handle_log(struct mortise_instance *i,
                                 const struct mortise_wire *msg)
{
    char text[MORTISE_PLUGIN_MESSAGE_MAX];
    int level = msg->level < MORTISE_LEVEL_ERROR   ? MORTISE_LEVEL_ERROR
                : msg->level > MORTISE_LEVEL_DEBUG ? MORTISE_LEVEL_DEBUG
                                                   : msg->level;

    sanitize_text(text, sizeof text, msg->message);
    mortise_host_log(i, level, "%s", text);
    return MORTISE_S_OK;
}

static bool equals_word(mortise_str s, const char *word)
{
    return s.n == strlen(word) && memcmp(s.p, word, (size_t)s.n) == 0;
}

/* Append a chunk; `most` is the limit of the whole.  Slot locked, and left
 * so. */
static mortise_status append_chunk(struct mortise_call_slot *s,
                                   struct mortise_buf *to, mortise_str chunk,
                                   size_t most)
{
    assert(to->n <= most); /* or the difference would wrap */
    if (chunk.n > most - to->n) {
        s->overflow = true;
        return MORTISE_S_INVALID;
    }
    mortise_buf_put(to, chunk.p, (size_t)chunk.n);
    if (to->failed)
        s->lost = true;
    return s->lost ? MORTISE_S_NOMEM : MORTISE_S_OK;
}

/* A name that does not fit is longer than any node id, so it matches no
 * node. */
static mortise_status append_target(struct mortise_call_slot *s,
                                    mortise_str chunk)
{
    size_t room = sizeof s->target - s->n_target;
    size_t n = chunk.n < room ? (size_t)chunk.n : room;

    assert(s->n_target <= sizeof s->target);
    if (n > 0)
        memcpy(s->target + s->n_target, chunk.p, n);
    s->n_target += n;
    return n == chunk.n ? MORTISE_S_OK : MORTISE_S_INVALID;
}

/* Is `kind` the word of the call kind's `answer`? */
static bool is_answer_of_kind(const struct mortise_call_slot *s,
                              mortise_str kind)
{
    return s->kind->answer != NULL && equals_word(kind, s->kind->answer);
}

/* Append a chunk of the result.  Slot locked, and left so. */
static mortise_status append_result(struct mortise_call_slot *s,
                                    mortise_str kind, mortise_str chunk)
{
    if (equals_word(kind, "output")) {
        s->has_output = true;
        return append_chunk(s, &s->output, chunk, MORTISE_OUTPUT_MAX);
    }
    if (is_answer_of_kind(s, kind)) {
        s->has_own = true;
        return append_chunk(s, &s->own, chunk, MORTISE_ANSWER_MAX);
    }
    if (!s->kind->may_write)
        return MORTISE_S_UNSUPPORTED;
    if (equals_word(kind, "update")) {
        s->has_update = true;
        return append_chunk(s, &s->update, chunk, MORTISE_OUTPUT_MAX);
    }
    if (!equals_word(kind, "goto"))
        return MORTISE_S_UNSUPPORTED;
    s->has_target = true;
    return append_target(s, chunk);
}

static int parse_usage(mortise_str chunk, struct mortise_usage *out,
                       struct mortise_err *err)
{
    json_t *said = NULL;
    int rv = chunk.n > MORTISE_USAGE_TEXT_MAX
                 ? mortise_fail(err, MORTISE_EINVAL, "larger than %d bytes",
                                MORTISE_USAGE_TEXT_MAX)
                 : mortise_json_parse(&said, chunk.p, (size_t)chunk.n, err);

    *out = (struct mortise_usage){.unclear = true};
    if (rv == MORTISE_OK)
        rv = mortise_usage_parse(out, said, err);
    json_decref(said);
    return rv;
}

/* Add usage to the call.  `rv` is the result of parse_usage(); with
 * MORTISE_EINVAL the call's usage becomes unclear.  Slot locked, and left
 * so. */
static mortise_status add_emitted_usage(struct mortise_call_slot *s,
                                        const struct mortise_usage *more,
                                        int rv)
{
    if (!s->kind->may_use)
        return MORTISE_S_UNSUPPORTED;
    if ((rv == MORTISE_OK || rv == MORTISE_EINVAL) &&
        mortise_usage_add(&s->usage, more) == MORTISE_OK)
        return rv == MORTISE_OK ? MORTISE_S_OK : MORTISE_S_INVALID;
    s->lost = true;
    return MORTISE_S_NOMEM;
}

/* The open call that emits, locked; NULL: none. */
static struct mortise_call_slot *find_emitting_call(struct mortise_instance *i,
                                                    mortise_call call)
{
    struct mortise_call_slot *s =
        mortise_call_table_find_handle(&i->calls, call);

    if (s != NULL && s->open && !s->finished) {
        atomic_store(&s->was_active, true);
        return s;
    }
    if (s != NULL)
        pthread_mutex_unlock(&s->lock);
    warn_once(i, WARNED_STALE_EMIT,
              "emitted data for a call that has ended; the data is ignored");
    return NULL;
}

/* Invalid usage is returned to the plugin as an error and logged. */
static mortise_status handle_usage(struct mortise_instance *i,
                                   const struct mortise_wire *msg)
{
    struct mortise_usage more = {0};
    char words[MORTISE_PLUGIN_MESSAGE_MAX];
    struct mortise_err err;
    int rv = parse_usage(msg->body, &more, &err);
    struct mortise_call_slot *s = find_emitting_call(i, msg->call);
    mortise_status status = MORTISE_S_STALE;

    if (s != NULL) {
        s->said_more = true;
        status = add_emitted_usage(s, &more, rv);
        pthread_mutex_unlock(&s->lock);
    }
    mortise_usage_finish(&more);
    if (status == MORTISE_S_INVALID) {
        snprintf(words, sizeof words, "emitted invalid usage: %.900s", err.msg);
        warn_once(i, WARNED_USAGE, words);
    }
    return status;
}

/* The event type for a kind of emit(); NULL: not an event. */
static const char *get_emitted_event_type(mortise_str kind)
{
    static const char *const types[] = {"voice_session", "voice_transcript",
                                        "voice_turn_complete",
                                        "voice_barge_in"};

    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++)
        if (equals_word(kind, types[k]))
            return types[k];
    return equals_word(kind, "event") ? "progress" : NULL;
}

static mortise_status handle_emitted_event(struct mortise_instance *i,
                                           uint64_t id, const char *type,
                                           mortise_str chunk)
{
    if (chunk.n > MORTISE_EVENT_MAX)
        return MORTISE_S_INVALID;
    if (i->ops.event != NULL && enter_engine(i)) {
        i->ops.event(i->ops.ud, id, type, chunk.p != NULL ? chunk.p : "",
                     (size_t)chunk.n);
        leave_engine(i);
    }
    return MORTISE_S_OK;
}

/* Pass a piece of a streamed reply to the engine. */
static mortise_status handle_delta(struct mortise_instance *i, uint64_t id,
                                   mortise_str kind, mortise_str chunk)
{
    if (chunk.n > MORTISE_EVENT_MAX ||
        (chunk.n > 0 && !mortise_utf8_is_valid(chunk.p, (size_t)chunk.n)))
        return MORTISE_S_INVALID;
    if (i->ops.delta != NULL && chunk.n > 0 && enter_engine(i)) {
        i->ops.delta(i->ops.ud, id, equals_word(kind, "reasoning"), chunk.p,
                     (size_t)chunk.n);
        leave_engine(i);
    }
    return MORTISE_S_OK;
}

static mortise_status handle_emit(struct mortise_instance *i,
                                  const struct mortise_wire *msg)
{
    struct mortise_call_slot *s;
    const char *event = get_emitted_event_type(msg->name);
    mortise_status status;
    bool streams;
    uint64_t id;

    if (equals_word(msg->name, "usage"))
        return handle_usage(i, msg);
    s = find_emitting_call(i, msg->call);
    if (s == NULL)
        return MORTISE_S_STALE;
    id = s->id;
    s->said_more |= !equals_word(msg->name, "output");
    streams = s->kind->may_stream && (equals_word(msg->name, "delta") ||
                                      equals_word(msg->name, "reasoning"));
    if (!streams && event == NULL) {
        status = append_result(s, msg->name, msg->body);
        pthread_mutex_unlock(&s->lock);
        return status;
    }
    pthread_mutex_unlock(&s->lock);
    return streams ? handle_delta(i, id, msg->name, msg->body)
                   : handle_emitted_event(i, id, event, msg->body);
}

/* Handle a finish() without effect.  Takes the slot locked, or NULL. */
static mortise_status reject_stale_finish(struct mortise_instance *i,
                                          struct mortise_call_slot *s)
{
    /* A call that was abandoned while pending releases its request now. */
    bool back = s != NULL && !s->open && !s->finished && !s->inside;

    if (s != NULL)
        s->finished = true;
    if (back)
        mortise_host_unpin(i, s, 1);
    else if (s != NULL)
        pthread_mutex_unlock(&s->lock);
    warn_once(i, WARNED_STALE_FINISH,
              "finished a call that had already ended; this is ignored");
    return MORTISE_S_STALE;
}

static mortise_status handle_finish(struct mortise_instance *i,
                                    const struct mortise_wire *msg)
{
    struct mortise_call_slot *s;
    struct mortise_plugin_error words;

    parse_plugin_error(i, &words, msg);
    s = mortise_call_table_find_handle(&i->calls, msg->call);
    if (s == NULL || !s->open || s->finished)
        return reject_stale_finish(i, s);
    if (!mortise_host_can_pend(s) ||
        (msg->status > 0 && (msg->status != MORTISE_S_SUSPENDED ||
                             !mortise_host_can_suspend(s)))) {
        pthread_mutex_unlock(&s->lock);
        warn_once(
            i, WARNED_EARLY_FINISH,
            "called finish() for an inline call or with a status that does "
            "not end a call; this is ignored");
        return MORTISE_S_INVALID;
    }
    mortise_host_set_outcome(s, msg->status, &words);
    if (s->inside)
        pthread_mutex_unlock(&s->lock); /* delivered when it returns */
    else
        mortise_host_deliver_result(i, s);
    return MORTISE_S_OK;
}

static mortise_status handle_fail(struct mortise_instance *i,
                                  const struct mortise_wire *msg)
{
    struct mortise_call_slot *s;
    struct mortise_plugin_error words;

    parse_plugin_error(i, &words, msg);
    if (msg->call == 0) {
        pthread_mutex_lock(&i->lock);
        i->words = words;
        pthread_mutex_unlock(&i->lock);
        return MORTISE_S_OK;
    }
    s = mortise_call_table_find_handle(&i->calls, msg->call);
    if (s == NULL)
        return MORTISE_S_STALE;
    if (s->open && !s->finished)
        s->words = words;
    pthread_mutex_unlock(&s->lock);
    return MORTISE_S_OK;
}

/* ---- asking -------------------------------------------------------------- */

/* The manifest's string for a method; NULL if its manifest does not list it. */
static const char *find_granted_method(struct mortise_instance *i,
                                       mortise_str method)
{
    char name[METHOD_MAX];

    for (size_t k = 0; k < i->manifest->n_methods; k++)
        if (equals_word(method, i->manifest->methods[k]))
            return i->manifest->methods[k];
    sanitize_text(name, sizeof name, method);
    mortise_host_log(i, MORTISE_LOG_WARN,
                     "asked for %s, which requires.methods of its manifest "
                     "does not list; this is denied",
                     name);
    return NULL;
}

/* May a cancelled call ask this method? */
static bool is_late_method(const char *method)
{
    const struct mortise_method *row = mortise_method_find(method, NULL);

    return row != NULL && row->late;
}

/* The open call of an ask, locked.  It must not be cancelled, unless `late`.
 * NULL: *why has the reason. */
static struct mortise_call_slot *find_asking_call(struct mortise_instance *i,
                                                  mortise_call call, bool late,
                                                  mortise_status *why)
{
    struct mortise_call_slot *s =
        mortise_call_table_find_handle(&i->calls, call);

    if (s == NULL) {
        *why = MORTISE_S_STALE;
        return NULL;
    }
    *why = !s->open || s->finished ? MORTISE_S_STALE
           : s->cancelled && !late ? MORTISE_S_CANCELLED
                                   : MORTISE_S_OK;
    s->said_more |= *why == MORTISE_S_OK;
    if (*why == MORTISE_S_OK)
        return s;
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

struct mortise_ask *mortise_host_unlink_ask(struct mortise_call_slot *s,
                                            uint64_t ask)
{
    struct mortise_ask **at = &s->asks, *a;

    while (*at != NULL && (*at)->id != ask)
        at = &(*at)->next;
    a = *at;
    if (a != NULL) {
        assert(s->n_asks > 0 && s->ask_bytes >= a->bytes); /* record_ask() */
        *at = a->next;
        s->n_asks--;
        s->ask_bytes -= a->bytes;
    }
    return a;
}

/* Is there room for another ask (4)?  If not, store the error in the call; the
 * caller logs it once per instance.  Slot locked. */
static bool has_ask_room(struct mortise_call_slot *s, size_t bytes)
{
    assert(s->n_asks <= MORTISE_ASKS_MAX);
    /* Or the difference would wrap. */
    assert(s->ask_bytes <= MORTISE_ASKS_BYTES_MAX);
    if (s->n_asks < MORTISE_ASKS_MAX &&
        bytes <= MORTISE_ASKS_BYTES_MAX - s->ask_bytes)
        return true;
    snprintf(s->words.message, sizeof s->words.message,
             "made too many asks in one call: %zu asks with %zu bytes have no "
             "answer yet, but the limits are %d asks and %d bytes; wait for "
             "answers first",
             s->n_asks, s->ask_bytes, MORTISE_ASKS_MAX, MORTISE_ASKS_BYTES_MAX);
    return false;
}

/* Record an ask; *why gets the result.  Returns the engine's id of the call. */
static uint64_t record_ask(struct mortise_instance *i, mortise_call call,
                           bool late, uint64_t ask,
                           const struct mortise_ask *how, mortise_status *why)
{
    char words[MORTISE_PLUGIN_MESSAGE_MAX] = "";
    struct mortise_ask *a = mortise_alloc(i->mem, sizeof *a);
    struct mortise_call_slot *s = find_asking_call(i, call, late, why);
    uint64_t id = 0;

    if (s != NULL && a == NULL)
        *why = MORTISE_S_NOMEM;
    else if (s != NULL && (!mortise_host_can_pend(s) ||
                           s->threading != MORTISE_THREAD_ASYNC))
        *why = MORTISE_S_UNSUPPORTED;
    else if (s != NULL && !has_ask_room(s, how->bytes)) {
        *why = MORTISE_S_DENIED;
        memcpy(words, s->words.message, sizeof words);
    }
    if (*why == MORTISE_S_OK) {
        assert(s != NULL && a != NULL && s->pins > 0); /* the call's own pin */
        *a = *how;
        a->id = ask;
        a->next = s->asks;
        s->asks = a;
        s->n_asks++;
        s->ask_bytes += a->bytes;
        s->pins++;
        id = s->id;
        a = NULL;
    }
    if (s != NULL)
        pthread_mutex_unlock(&s->lock);
    if (words[0] != '\0')
        warn_once(i, WARNED_ASKS, words);
    mortise_release(i->mem, a, sizeof *a);
    return id;
}

/* Like record_ask(), for a calling thread that will wait. */
static uint64_t record_wait(struct mortise_instance *i, mortise_call call,
                            bool late, uint64_t ask, mortise_status *why)
{
    struct mortise_call_slot *s = find_asking_call(i, call, late, why);
    uint64_t id = 0;

    if (s == NULL)
        return 0;
    if (s->threading != MORTISE_THREAD_BLOCKING || !s->inside ||
        !pthread_equal(s->thread, pthread_self()))
        *why = MORTISE_S_UNSUPPORTED;
    else {
        assert(s->waiting == 0); /* the thread that would wait is this one */
        s->waiting = ask;
        id = s->id;
    }
    pthread_mutex_unlock(&s->lock);
    return id;
}

/* Pass the ask to the engine, as a message. */
static mortise_status forward_ask(struct mortise_instance *i, uint64_t id,
                                  uint64_t ask, const char *method,
                                  mortise_str body)
{
    struct mortise_wire msg = {.type = MORTISE_WIRE_ASK,
                               .call = id,
                               .ask = ask,
                               .name = {method, strlen(method)},
                               .body = clamp_str(body, UINT64_MAX)};
    struct mortise_wire_storage held;

    assert(i->ops.ask != NULL && id != 0); /* both callers checked */
    if (!enter_engine(i))
        return MORTISE_S_CANCELLED;
    if (mortise_carry_lend(&msg, &held, i->mem, NULL) != MORTISE_OK) {
        leave_engine(i);
        return MORTISE_S_NOMEM;
    }
    i->ops.ask(i->ops.ud, id, msg.ask, method,
               msg.body.p != NULL ? msg.body.p : "", (size_t)msg.body.n);
    mortise_wire_release(&held);
    leave_engine(i);
    return MORTISE_S_OK;
}

/* Undo record_ask() or record_wait() of an ask that could not be forwarded. */
static void remove_failed_ask(struct mortise_instance *i, mortise_call call,
                              uint64_t ask)
{
    struct mortise_call_slot *s =
        mortise_call_table_find_handle(&i->calls, call);
    struct mortise_ask *a;

    if (s == NULL)
        return;
    if (s->waiting == ask)
        s->waiting = 0;
    a = mortise_host_unlink_ask(s, ask);
    if (a != NULL)
        mortise_host_unpin(i, s, 1);
    else
        pthread_mutex_unlock(&s->lock);
    mortise_release(i->mem, a, sizeof *a);
}

/* Deny a body over the limit, and keep the reason as the call's error. */
static mortise_status deny_large_body(struct mortise_instance *i,
                                      mortise_call call, const char *method,
                                      uint64_t n)
{
    struct mortise_call_slot *s =
        mortise_call_table_find_handle(&i->calls, call);

    if (s == NULL)
        return MORTISE_S_INVALID;
    if (s->open && !s->finished)
        snprintf(s->words.message, sizeof s->words.message,
                 "asked for %s with %llu MiB, but the limit is %d", method,
                 (unsigned long long)(n >> 20), MORTISE_OUTPUT_MAX >> 20);
    pthread_mutex_unlock(&s->lock);
    return MORTISE_S_INVALID;
}

/* Start an ask.  The answer goes to the callback in `how`, or, if it is NULL,
 * to the calling thread, which will wait.  A failed ask leaves no trace. */
static mortise_status start_ask(struct mortise_instance *i, mortise_call call,
                                mortise_str method, mortise_str body,
                                const struct mortise_ask *how, uint64_t *ask)
{
    const char *name = find_granted_method(i, method);
    mortise_status status = MORTISE_S_OK;
    uint64_t id;
    bool late;

    mortise_host_check_process(i);
    *ask = atomic_fetch_add(&i->last_ask, 1) + 1;
    if (name == NULL)
        return MORTISE_S_DENIED;
    if (body.n > MORTISE_OUTPUT_MAX)
        return deny_large_body(i, call, name, body.n);
    if (how != NULL && how->fn == NULL)
        return MORTISE_S_INVALID;
    if (i->ops.ask == NULL)
        return MORTISE_S_UNSUPPORTED;
    late = is_late_method(name);
    id = how != NULL ? record_ask(i, call, late, *ask, how, &status)
                     : record_wait(i, call, late, *ask, &status);
    if (status != MORTISE_S_OK)
        return status;
    status = forward_ask(i, id, *ask, name, body);
    if (status != MORTISE_S_OK)
        remove_failed_ask(i, call, *ask);
    return status;
}

static mortise_status host_ask(mortise_host *h, mortise_call call,
                               mortise_str method, mortise_str body,
                               mortise_answer_fn *on_answer, void *ud)
{
    const struct mortise_ask how = {.fn = on_answer,
                                    .ud = ud,
                                    .bytes =
                                        (size_t)clamp_str(body, UINT64_MAX).n};
    uint64_t ask;
    mortise_status status =
        start_ask(h->instance, call, method, body, &how, &ask);

    return status == MORTISE_S_OK ? MORTISE_S_PENDING : status;
}

/* Wait until the ask is answered, or the call is cancelled or abandoned. */
static mortise_status wait_for_ask(struct mortise_instance *i,
                                   mortise_call call, uint64_t ask,
                                   mortise_str *answer)
{
    struct mortise_call_slot *s =
        mortise_call_table_find_handle(&i->calls, call);
    mortise_status status;

    if (s == NULL)
        return MORTISE_S_STALE; /* impossible while the call is inside */
    while (s->waiting == ask)
        pthread_cond_wait(&s->answered, &s->lock);
    status = s->answer_status;
    *answer = mortise_str_of(s->answer.p, s->answer.n);
    pthread_mutex_unlock(&s->lock);
    return status;
}

static mortise_status host_ask_wait(mortise_host *h, mortise_call call,
                                    mortise_str method, mortise_str body,
                                    mortise_str *answer)
{
    uint64_t ask;
    mortise_status status;

    *answer = (mortise_str){"", 0};
    status = start_ask(h->instance, call, method, body, NULL, &ask);
    return status == MORTISE_S_OK ? wait_for_ask(h->instance, call, ask, answer)
                                  : status;
}

void mortise_host_answer_all(struct mortise_instance *i,
                             struct mortise_call_slot *s)
{
    static const mortise_str why = {"cancelled", 9};
    struct mortise_ask *list = s->asks, *a;
    unsigned n = 0;

    assert(s->handle != 0); /* a free slot has no asks */
    s->asks = NULL;
    s->n_asks = s->ask_bytes = 0;
    if (s->waiting != 0) {
        s->waiting = 0;
        s->answer_status = MORTISE_S_CANCELLED;
        mortise_buf_clear(&s->answer);
        pthread_cond_signal(&s->answered);
    }
    pthread_mutex_unlock(&s->lock);
    while (list != NULL) {
        a = list;
        list = a->next;
        mortise_host_call_back(i, a, MORTISE_S_CANCELLED, why);
        mortise_release(i->mem, a, sizeof *a);
        n++;
    }
    if (n == 0)
        return;
    pthread_mutex_lock(&s->lock);
    mortise_host_unpin(i, s, n);
}

/* ---- the function table -------------------------------------------------- */

static mortise_status handle_message(struct mortise_instance *i,
                                     const struct mortise_wire *msg)
{
    switch (msg->type) {
    case MORTISE_WIRE_LOG:
        return handle_log(i, msg);
    case MORTISE_WIRE_EMIT:
        return handle_emit(i, msg);
    case MORTISE_WIRE_FINISH:
        return handle_finish(i, msg);
    case MORTISE_WIRE_FAIL:
        return handle_fail(i, msg);
    default:
        return MORTISE_S_UNSUPPORTED;
    }
}

/* Handle a message that could not be carried (5). */
static mortise_status handle_lost_message(struct mortise_instance *i,
                                          const struct mortise_wire *msg)
{
    struct mortise_wire bare = {
        .type = msg->type, .call = msg->call, .status = MORTISE_S_NOMEM};
    struct mortise_call_slot *s =
        mortise_call_table_find_handle(&i->calls, msg->call);

    if (s != NULL) {
        s->lost = s->lost || msg->type != MORTISE_WIRE_FAIL;
        pthread_mutex_unlock(&s->lock);
    }
    if (msg->type == MORTISE_WIRE_FINISH)
        return handle_message(i, &bare);
    return MORTISE_S_NOMEM;
}

static mortise_status receive_message(mortise_host *h, struct mortise_wire *msg)
{
    struct mortise_wire_storage held = {0};
    mortise_status status;

    assert(msg->type >= MORTISE_WIRE_LOG && msg->type <= MORTISE_WIRE_FAIL);
    mortise_host_check_process(h->instance);
    /* A body too large for the wire exceeds every limit.  Handle it without
     * carrying it: it is rejected by its length, unread. */
    if (msg->body.n <= MORTISE_WIRE_BODY_MAX &&
        mortise_carry_lend(msg, &held, h->instance->mem, NULL) != MORTISE_OK)
        return handle_lost_message(h->instance, msg);
    status = handle_message(h->instance, msg);
    if (held.mem != NULL)
        mortise_wire_release(&held);
    return status;
}

static void host_log(mortise_host *h, int32_t level, mortise_str text)
{
    struct mortise_wire msg = {.type = MORTISE_WIRE_LOG,
                               .level = level,
                               .message =
                                   clamp_str(text, MORTISE_PLUGIN_MESSAGE_MAX)};

    receive_message(h, &msg);
}

static mortise_status host_emit(mortise_host *h, mortise_call call,
                                mortise_str kind, mortise_str chunk)
{
    struct mortise_wire msg = {.type = MORTISE_WIRE_EMIT,
                               .call = call,
                               .name = clamp_str(kind, METHOD_MAX),
                               .body = clamp_str(chunk, UINT64_MAX)};

    return receive_message(h, &msg);
}

static mortise_status host_finish(mortise_host *h, mortise_call call,
                                  mortise_status status, mortise_str text,
                                  mortise_str detail)
{
    struct mortise_wire msg = {.type = MORTISE_WIRE_FINISH,
                               .call = call,
                               .status = status,
                               .message =
                                   clamp_str(text, MORTISE_PLUGIN_MESSAGE_MAX),
                               .detail = clamp_str(detail, DETAIL_MAX + 1)};

    return receive_message(h, &msg);
}

static void host_fail(mortise_host *h, mortise_call call, mortise_str text,
                      mortise_str detail)
{
    struct mortise_wire msg = {.type = MORTISE_WIRE_FAIL,
                               .call = call,
                               .message =
                                   clamp_str(text, MORTISE_PLUGIN_MESSAGE_MAX),
                               .detail = clamp_str(detail, DETAIL_MAX + 1)};

    receive_message(h, &msg);
}

static int32_t host_cancelled(mortise_host *h, mortise_call call)
{
    mortise_host_check_process(h->instance);
    return mortise_call_table_is_stopped(&h->instance->calls, call);
}

static uint64_t host_now_ns(mortise_host *h)
{
    mortise_host_check_process(h->instance);
    return mortise_mono_ns();
}

const mortise_host_api mortise_host_functions = {
    .size = sizeof(mortise_host_api),
    .abi_major = MORTISE_ABI_MAJOR,
    .abi_minor = MORTISE_ABI_MINOR,
    .log = host_log,
    .emit = host_emit,
    .finish = host_finish,
    .fail = host_fail,
    .cancelled = host_cancelled,
    .now_ns = host_now_ns,
    .ask = host_ask,
    .ask_wait = host_ask_wait,
};
