/* host.c -- what a plugin may call: the other half of instance.c.
 *
 * Everything here is [any]: the plugin's threads call it, at any time, with any
 * handle.  Each call becomes a message of wire.h and is served from that, so
 * what works here works across a process too; `make wire` sends each message
 * through its bytes (carry.h).
 *
 * Numbered like the promises of instance.c, which say what may be relied on:
 *
 *   (1) A handle that names no open call has no effect: MORTISE_S_STALE, said
 *       in the log once per instance.
 *   (2) Nothing that a plugin says is believed to be text: words are cut to a
 *       kilobyte and cleaned before anybody sees them; bodies are bounded.
 *   (3) No lock is held while an op of the engine or a callback of the plugin
 *       runs.
 *   (4) What one call may ask at a time is bounded, by number and by bytes: a
 *       plugin that does not wait for answers is told so, and why is what its
 *       call failed of if it says nothing better.
 *   (5) If memory runs out for something a plugin said, the call does not end
 *       well: a result that lacks a piece is no result.
 *   (6) The child of a fork gets no further than here: two processes would
 *       write one store.
 */
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
#include "core/plugin/status.h"

enum {
    DETAIL_MAX = 16 * 1024,
    METHOD_MAX = 128,
    RETRY_AFTER_MAX = 86400000 /* ms */
};

/* What is said once per instance. */
enum {
    SAID_STALE_EMIT = 1,
    SAID_STALE_FINISH = 2,
    SAID_EARLY_FINISH = 4,
    SAID_DETAIL = 8,
    SAID_USAGE = 16,
    SAID_ASKS = 32
};

/* ---- into the plugin ------------------------------------------------------
 */

void mortise_host_visit(struct mortise_instance *i, struct mortise_visit *v,
                        enum mortise_inside_stage stage,
                        const struct mortise_whose *whose, bool on_loop)
{
    assert(stage < MORTISE_INSIDE_THREAD); /* its threads make no visits */
    mortise_inside_enter(v, i->culprit, stage, whose,
                         on_loop ? mortise_manifest_patience(i->manifest) : 0,
                         on_loop ? MORTISE_MASK_LATER : MORTISE_MASK_NOW);
}

void mortise_host_leave(struct mortise_instance *i, struct mortise_visit *v)
{
    mortise_host_not_a_child(i);
    mortise_inside_leave(v);
}

void mortise_host_call_back(struct mortise_instance *i,
                            const struct mortise_ask *a, mortise_status status,
                            mortise_str body)
{
    struct mortise_visit v;

    assert(a->fn != NULL); /* host_ask() takes none without */
    mortise_host_visit(i, &v, MORTISE_INSIDE_ANSWER, NULL, true);
    a->fn(a->ud, status, body);
    mortise_host_leave(i, &v);
}

/* ---- words ----------------------------------------------------------------
 */

/* What a plugin said, made fit for people and logs. */
static void make_fit(char *out, size_t size, mortise_str s)
{
    const char *p = s.p, *end = p + (p != NULL ? s.n : 0);
    size_t n = 0;

    assert(size > 0); /* room for the end */
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

/* At most max bytes of it; none at nowhere. */
static mortise_str cut(mortise_str s, uint64_t max)
{
    uint64_t n = s.p != NULL ? s.n : 0;

    return (mortise_str){s.p, n < max ? n : max};
}

/* Before each call of an op, which is skipped when this says false.
 * Sequentially consistent on both sides: close() sets `deaf` and then waits for
 * `outside`, we count ourselves and then look. */
static bool go_out(struct mortise_instance *i)
{
    atomic_fetch_add(&i->outside, 1);
    if (!atomic_load(&i->deaf))
        return true;
    atomic_fetch_sub(&i->outside, 1);
    return false;
}

static void come_back(struct mortise_instance *i)
{
    assert(atomic_load(&i->outside) > 0); /* pairs with go_out() */
    atomic_fetch_sub(&i->outside, 1);
}

void mortise_host_log(struct mortise_instance *i, int level, const char *fmt,
                      ...)
{
    char text[MORTISE_WORDS_MAX];
    va_list ap;

    assert(level >= MORTISE_LOG_ERROR && level <= MORTISE_LOG_DEBUG);
    if (i->ops.log == NULL || !go_out(i))
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    i->ops.log(i->ops.ud, level, i->manifest->name, text);
    come_back(i);
}

/* Log that the plugin broke a rule, the first time it does. */
static void scold(struct mortise_instance *i, unsigned what, const char *words)
{
    assert(what != 0 && (what & (what - 1)) == 0); /* one of SAID_... */
    if ((atomic_fetch_or(&i->scolded, what) & what) == 0)
        mortise_host_log(i, MORTISE_LOG_WARN, "%s", words);
}

static const char *class_of(const char *word)
{
    static const char *const classes[] = {"transient", "permanent", "timeout",
                                          "cancelled"};

    for (size_t k = 0; word != NULL && k < 4; k++)
        if (strcmp(word, classes[k]) == 0)
            return classes[k];
    return NULL;
}

static bool is_code(const char *word)
{
    size_t n = word != NULL ? strlen(word) : 0;

    return n > 0 && n < MORTISE_CODE_MAX &&
           strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_.") == n;
}

/* A server may say anything; nobody waits for longer than a day. */
static uint64_t wait_of(const json_t *ms)
{
    json_int_t n = json_integer_value(ms);

    return n <= 0 ? 0 : n < RETRY_AFTER_MAX ? (uint64_t)n : RETRY_AFTER_MAX;
}

/* Class and code from the detail of an error.  False when it has them wrong. */
static bool read_detail(struct mortise_words *w, mortise_str detail)
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
    if (rv == MORTISE_ENOMEM) /* or a plugin's transient error ends a run */
        w->class = class_of("transient");
    if (rv != MORTISE_OK)
        return rv == MORTISE_ENOMEM;
    class = json_string_value(json_object_get(v, "class"));
    code = json_string_value(json_object_get(v, "code"));
    w->class = class_of(class);
    if (is_code(code))
        memcpy(w->code, code, strlen(code) + 1);
    w->retry_after_ms = wait_of(json_object_get(v, "retry_after_ms"));
    w->ending = mortise_ending_of(v);
    ok = json_is_object(v) && (class == NULL || w->class != NULL) &&
         (code == NULL || w->code[0] != '\0');
    json_decref(v);
    return ok;
}

/* Only the engine gives its own codes: from a plugin, such a word stands in front
 * of the message, and the error has no code. */
static void make_words(struct mortise_instance *i, struct mortise_words *w,
                       const struct mortise_wire *msg)
{
    int at = 0;

    *w = (struct mortise_words){0};
    if (!read_detail(w, msg->detail))
        scold(i, SAID_DETAIL,
              "the detail of an error must be a JSON object with a class "
              "(transient, permanent, timeout, cancelled) and a code "
              "([a-z0-9_.]+); the error counts as permanent");
    if (mortise_code_is_of_engine(w->code)) {
        at = snprintf(w->message, sizeof w->message, "%s: ", w->code);
        w->code[0] = '\0';
    }
    make_fit(w->message + at, sizeof w->message - (size_t)at, msg->message);
}

/* ---- the end of a call ----------------------------------------------------
 */

static bool is_status(mortise_status status)
{
    return status <= 0 && status >= MORTISE_S_DOUBT;
}

bool mortise_host_may_pend(const struct mortise_call_slot *s)
{
    return s->kind->may_pend && s->threading != MORTISE_THREAD_INLINE;
}

bool mortise_host_may_suspend(const struct mortise_call_slot *s)
{
    return s->kind->may_suspend && s->threading != MORTISE_THREAD_INLINE;
}

void mortise_host_settle(struct mortise_call_slot *s, mortise_status status,
                         const struct mortise_words *words)
{
    assert(!s->finished);              /* (1) of instance.c */
    assert(s->open && s->handle != 0); /* who settles it owes `done` */
    s->finished = true;
    s->status = is_status(status) || (status == MORTISE_S_SUSPENDED &&
                                      mortise_host_may_suspend(s))
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

/* An outcome of our own making, in place of the plugin's: what succeeded did
 * happen, and is no failure that might be tried again. */
static void overrule(struct mortise_call_slot *s, mortise_status status,
                     const char *class, const char *message)
{
    assert(s->finished);                 /* there is an outcome */
    assert(status < 0 && class != NULL); /* of a failure, of some class */
    s->mute |= s->status == MORTISE_S_OK;
    s->status = status;
    s->words = (struct mortise_words){.class = class};
    snprintf(s->words.message, sizeof s->words.message, "%s", message);
}

/* A result that lacks a piece is no result. */
static void judge_output(struct mortise_call_slot *s)
{
    if (s->overflow)
        overrule(s, MORTISE_S_FAILED, "permanent",
                 "emitted more than 16 MiB of output or update, or more than "
                 "64 KiB of a verdict");
    else if (s->lost ||
             (s->has_output && mortise_buf_cstr(&s->output) == NULL) ||
             (s->has_update && mortise_buf_cstr(&s->update) == NULL))
        overrule(s, MORTISE_S_NOMEM, "transient",
                 "out of memory for the output of the plugin");
}

/* What its kind answers with must be there, and be right. */
static void judge_answer(struct mortise_call_slot *s)
{
    char said[MORTISE_WORDS_MAX], words[400];
    int rv;

    if (s->kind->answer == NULL || s->status != MORTISE_S_OK)
        return;
    if (!s->has_own) {
        snprintf(words, sizeof words, "%s() ended without a %s", s->kind->name,
                 s->kind->answer);
        overrule(s, MORTISE_S_FAILED, "permanent", words);
        return;
    }
    assert(s->kind->read != NULL); /* what has an answer reads it */
    said[0] = '\0';
    rv = s->kind->read(s->own.p, s->own.n, &s->violation, said, sizeof said);
    if (rv == MORTISE_ENOMEM) {
        overrule(s, MORTISE_S_NOMEM, "transient",
                 "out of memory for the output of the plugin");
    } else if (rv != MORTISE_OK) {
        snprintf(words, sizeof words,
                 "emitted an invalid %s; it must be: %.200s", s->kind->answer,
                 said);
        overrule(s, MORTISE_S_FAILED, "permanent", words);
    } else {
        make_fit(s->words.message, sizeof s->words.message,
                 mortise_str_of(said, strlen(said)));
    }
}

/* Nobody else writes the outcome of a call that is finished and not open. */
static void tell(struct mortise_instance *i, struct mortise_call_slot *s)
{
    bool failed = s->status < 0, done_well = s->status == MORTISE_S_OK;
    char target[MORTISE_TARGET_MAX + 8];
    const char *class = s->words.class;
    struct mortise_call_done done = {
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
        .ending = failed ? s->words.ending : (struct mortise_ending){0, 0},
    };

    done.output = done.has_output ? s->output.p : "";
    done.output_size = done.has_output ? s->output.n : 0;
    done.update = done.has_update ? s->update.p : "";
    done.update_size = done.has_update ? s->update.n : 0;
    done.plain = done_well && !s->said_more;
    make_fit(target, sizeof target, mortise_str_of(s->target, s->n_target));
    done.target = s->has_target && done_well ? target : NULL;
    done.usage = &s->usage;
    if (failed && class == NULL)
        class = s->status == MORTISE_S_CANCELLED ? "cancelled"
                : s->status == MORTISE_S_TIMEOUT ? "timeout"
                                                 : "permanent";
    if (failed)
        done.error_class = class;
    if (go_out(i)) {
        i->ops.done(i->ops.ud, &done);
        come_back(i);
    }
}

void mortise_host_deliver(struct mortise_instance *i,
                          struct mortise_call_slot *s)
{
    assert(s->open && s->finished && !s->inside); /* (1), (2) of instance.c */
    assert(atomic_load(&i->calls.open) > 0);
    judge_output(s);
    judge_answer(s);
    assert(s->status <= 0 || s->status == MORTISE_S_SUSPENDED);
    s->open = false;
    atomic_store(&s->live, 0);
    atomic_fetch_sub(&i->calls.open, 1);
    pthread_mutex_unlock(&s->lock);
    tell(i, s);
    pthread_mutex_lock(&s->lock);
    mortise_host_unpin(i, s, 1);
}

void mortise_host_unpin(struct mortise_instance *i, struct mortise_call_slot *s,
                        unsigned n)
{
    bool last;

    assert(n > 0 && s->pins >= n); /* or the slot would be somebody else's */
    last = (s->pins -= n) == 0;
    assert(!last || (!s->open && !s->inside));
    assert(!last || (s->asks == NULL && s->n_asks == 0)); /* one pin each */
    assert(!last || s->waiting == 0); /* who waits is inside */
    if (last)
        s->handle = 0;
    pthread_mutex_unlock(&s->lock);
    if (!last)
        return;
    mortise_wire_release(&s->held); /* nobody reaches the slot any more */
    mortise_call_table_give(&i->calls, s);
}

/* ---- log, emit, finish, fail ----------------------------------------------
 */

static mortise_status take_log(struct mortise_instance *i,
                               const struct mortise_wire *msg)
{
    char text[MORTISE_WORDS_MAX];
    int level = msg->level < MORTISE_LEVEL_ERROR   ? MORTISE_LEVEL_ERROR
                : msg->level > MORTISE_LEVEL_DEBUG ? MORTISE_LEVEL_DEBUG
                                                   : msg->level;

    make_fit(text, sizeof text, msg->message);
    mortise_host_log(i, level, "%s", text);
    return MORTISE_S_OK;
}

static bool is_word(mortise_str s, const char *word)
{
    return s.n == strlen(word) && memcmp(s.p, word, (size_t)s.n) == 0;
}

/* To what it emitted before, `most` bytes in all.  Cell locked, and left so. */
static mortise_status add_piece(struct mortise_call_slot *s,
                                struct mortise_buf *to, mortise_str chunk,
                                size_t most)
{
    assert(to->n <= most); /* or the rest would wrap */
    if (chunk.n > most - to->n) {
        s->overflow = true;
        return MORTISE_S_INVALID;
    }
    mortise_buf_put(to, chunk.p, (size_t)chunk.n);
    if (to->failed)
        s->lost = true;
    return s->lost ? MORTISE_S_NOMEM : MORTISE_S_OK;
}

/* What does not fit makes it longer than any id, so that it names nothing. */
static mortise_status add_target(struct mortise_call_slot *s, mortise_str chunk)
{
    size_t room = sizeof s->target - s->n_target;
    size_t n = chunk.n < room ? (size_t)chunk.n : room;

    assert(s->n_target <= sizeof s->target);
    if (n > 0)
        memcpy(s->target + s->n_target, chunk.p, n);
    s->n_target += n;
    return n == chunk.n ? MORTISE_S_OK : MORTISE_S_INVALID;
}

/* Is that what its kind answers with? */
static bool is_own(const struct mortise_call_slot *s, mortise_str kind)
{
    return s->kind->answer != NULL && is_word(kind, s->kind->answer);
}

/* A piece of the result.  Cell locked, and left so. */
static mortise_status add_result(struct mortise_call_slot *s, mortise_str kind,
                                 mortise_str chunk)
{
    if (is_word(kind, "output")) {
        s->has_output = true;
        return add_piece(s, &s->output, chunk, MORTISE_OUTPUT_MAX);
    }
    if (is_own(s, kind)) {
        s->has_own = true;
        return add_piece(s, &s->own, chunk, MORTISE_ANSWER_MAX);
    }
    if (!s->kind->may_write)
        return MORTISE_S_UNSUPPORTED;
    if (is_word(kind, "update")) {
        s->has_update = true;
        return add_piece(s, &s->update, chunk, MORTISE_OUTPUT_MAX);
    }
    if (!is_word(kind, "goto"))
        return MORTISE_S_UNSUPPORTED;
    s->has_target = true;
    return add_target(s, chunk);
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

/* Cell locked, and left so.  `rv`: what parsing came to.  MORTISE_EINVAL: the call's
 * usage is unclear. */
static mortise_status add_usage(struct mortise_call_slot *s,
                                const struct mortise_usage *more, int rv)
{
    if (!s->kind->may_use)
        return MORTISE_S_UNSUPPORTED;
    if ((rv == MORTISE_OK || rv == MORTISE_EINVAL) &&
        mortise_usage_add(&s->usage, more) == MORTISE_OK)
        return rv == MORTISE_OK ? MORTISE_S_OK : MORTISE_S_INVALID;
    s->lost = true;
    return MORTISE_S_NOMEM;
}

/* The open call that something is emitted into, locked; NULL: there is none. */
static struct mortise_call_slot *emitting(struct mortise_instance *i,
                                          mortise_call call)
{
    struct mortise_call_slot *s = mortise_call_table_by_handle(&i->calls, call);

    if (s != NULL && s->open && !s->finished) {
        atomic_store(&s->stirred, true);
        return s;
    }
    if (s != NULL)
        pthread_mutex_unlock(&s->lock);
    scold(i, SAID_STALE_EMIT,
          "emitted data for a call that has ended; the data is ignored");
    return NULL;
}

/* The plugin, and the log, learn of a usage that is invalid. */
static mortise_status take_usage(struct mortise_instance *i,
                                 const struct mortise_wire *msg)
{
    struct mortise_usage more = {0};
    char words[MORTISE_WORDS_MAX];
    struct mortise_err err;
    int rv = parse_usage(msg->body, &more, &err);
    struct mortise_call_slot *s = emitting(i, msg->call);
    mortise_status status = MORTISE_S_STALE;

    if (s != NULL) {
        s->said_more = true;
        status = add_usage(s, &more, rv);
        pthread_mutex_unlock(&s->lock);
    }
    mortise_usage_finish(&more);
    if (status == MORTISE_S_INVALID) {
        snprintf(words, sizeof words, "emitted invalid usage: %.900s", err.msg);
        scold(i, SAID_USAGE, words);
    }
    return status;
}

/* The type of the event that a kind of emit() becomes; NULL: it is none. */
static const char *event_type(mortise_str kind)
{
    static const char *const types[] = {"voice_session", "voice_transcript",
                                        "voice_turn_complete",
                                        "voice_barge_in"};

    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++)
        if (is_word(kind, types[k]))
            return types[k];
    return is_word(kind, "event") ? "progress" : NULL;
}

static mortise_status take_event(struct mortise_instance *i, uint64_t id,
                                 const char *type, mortise_str chunk)
{
    if (chunk.n > MORTISE_EVENT_MAX)
        return MORTISE_S_INVALID;
    if (i->ops.event != NULL && go_out(i)) {
        i->ops.event(i->ops.ud, id, type, chunk.p != NULL ? chunk.p : "",
                     (size_t)chunk.n);
        come_back(i);
    }
    return MORTISE_S_OK;
}

/* A piece of a reply, for whoever watches. */
static mortise_status take_delta(struct mortise_instance *i, uint64_t id,
                                 mortise_str kind, mortise_str chunk)
{
    if (chunk.n > MORTISE_EVENT_MAX ||
        (chunk.n > 0 && !mortise_utf8_valid(chunk.p, (size_t)chunk.n)))
        return MORTISE_S_INVALID;
    if (i->ops.delta != NULL && chunk.n > 0 && go_out(i)) {
        i->ops.delta(i->ops.ud, id, is_word(kind, "reasoning"), chunk.p,
                     (size_t)chunk.n);
        come_back(i);
    }
    return MORTISE_S_OK;
}

static mortise_status take_emit(struct mortise_instance *i,
                                const struct mortise_wire *msg)
{
    struct mortise_call_slot *s;
    const char *event = event_type(msg->name);
    mortise_status status;
    bool streams;
    uint64_t id;

    if (is_word(msg->name, "usage"))
        return take_usage(i, msg);
    s = emitting(i, msg->call);
    if (s == NULL)
        return MORTISE_S_STALE;
    id = s->id;
    s->said_more |= !is_word(msg->name, "output");
    streams = s->kind->may_stream &&
              (is_word(msg->name, "delta") || is_word(msg->name, "reasoning"));
    if (!streams && event == NULL) {
        status = add_result(s, msg->name, msg->body);
        pthread_mutex_unlock(&s->lock);
        return status;
    }
    pthread_mutex_unlock(&s->lock);
    return streams ? take_delta(i, id, msg->name, msg->body)
                   : take_event(i, id, event, msg->body);
}

/* A finish() that has no effect.  Takes the slot locked, or NULL. */
static mortise_status stale_finish(struct mortise_instance *i,
                                   struct mortise_call_slot *s)
{
    /* One that was abandoned while pending gives its request back now. */
    bool back = s != NULL && !s->open && !s->finished && !s->inside;

    if (s != NULL)
        s->finished = true;
    if (back)
        mortise_host_unpin(i, s, 1);
    else if (s != NULL)
        pthread_mutex_unlock(&s->lock);
    scold(i, SAID_STALE_FINISH,
          "finished a call that had already ended; this is ignored");
    return MORTISE_S_STALE;
}

static mortise_status take_finish(struct mortise_instance *i,
                                  const struct mortise_wire *msg)
{
    struct mortise_call_slot *s;
    struct mortise_words words;

    make_words(i, &words, msg);
    s = mortise_call_table_by_handle(&i->calls, msg->call);
    if (s == NULL || !s->open || s->finished)
        return stale_finish(i, s);
    if (!mortise_host_may_pend(s) ||
        (msg->status > 0 && (msg->status != MORTISE_S_SUSPENDED ||
                             !mortise_host_may_suspend(s)))) {
        pthread_mutex_unlock(&s->lock);
        scold(i, SAID_EARLY_FINISH,
              "called finish() for an inline call or with a status that does "
              "not end a call; this is ignored");
        return MORTISE_S_INVALID;
    }
    mortise_host_settle(s, msg->status, &words);
    if (s->inside)
        pthread_mutex_unlock(&s->lock); /* delivered when it returns */
    else
        mortise_host_deliver(i, s);
    return MORTISE_S_OK;
}

static mortise_status take_fail(struct mortise_instance *i,
                                const struct mortise_wire *msg)
{
    struct mortise_call_slot *s;
    struct mortise_words words;

    make_words(i, &words, msg);
    if (msg->call == 0) {
        pthread_mutex_lock(&i->lock);
        i->words = words;
        pthread_mutex_unlock(&i->lock);
        return MORTISE_S_OK;
    }
    s = mortise_call_table_by_handle(&i->calls, msg->call);
    if (s == NULL)
        return MORTISE_S_STALE;
    if (s->open && !s->finished)
        s->words = words;
    pthread_mutex_unlock(&s->lock);
    return MORTISE_S_OK;
}

/* ---- asking ---------------------------------------------------------------
 */

/* The manifest's own string for a method, or NULL when it does not ask for
 * it. */
static const char *granted(struct mortise_instance *i, mortise_str method)
{
    char name[METHOD_MAX];

    for (size_t k = 0; k < i->manifest->n_methods; k++)
        if (is_word(method, i->manifest->methods[k]))
            return i->manifest->methods[k];
    make_fit(name, sizeof name, method);
    mortise_host_log(i, MORTISE_LOG_WARN,
                     "asked for %s, which requires.methods of its manifest "
                     "does not list; this is denied",
                     name);
    return NULL;
}

/* May a call that is to stop ask it, too? */
static bool is_late(const char *method)
{
    static const char *const names[] = {
#define METHOD(id, name, changes, late) (late) ? (name) : "",
#include "core/plugin/methods.def"
#undef METHOD
    };

    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        if (strcmp(method, names[k]) == 0)
            return true;
    return false;
}

/* The open call of an ask, locked, that is not cancelled, or (`late`) may be;
 * NULL and why not. */
static struct mortise_call_slot *asking(struct mortise_instance *i,
                                        mortise_call call, bool late,
                                        mortise_status *why)
{
    struct mortise_call_slot *s = mortise_call_table_by_handle(&i->calls, call);

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
        assert(s->n_asks > 0 && s->ask_bytes >= a->bytes); /* note_ask() */
        *at = a->next;
        s->n_asks--;
        s->ask_bytes -= a->bytes;
    }
    return a;
}

/* Is there room for one more ask (4)?  Else it is said, once an instance, and
 * left in the call.  Cell locked. */
static bool has_room(struct mortise_call_slot *s, size_t bytes)
{
    assert(s->n_asks <= MORTISE_ASKS_MAX);
    assert(s->ask_bytes <= MORTISE_ASKS_BYTES_MAX); /* or the rest would wrap */
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

/* Note an ask; *why says how it went.  Gives the owner's id of the call. */
static uint64_t note_ask(struct mortise_instance *i, mortise_call call,
                         bool late, uint64_t ask, const struct mortise_ask *how,
                         mortise_status *why)
{
    char words[MORTISE_WORDS_MAX] = "";
    struct mortise_ask *a = mortise_alloc(i->mem, sizeof *a);
    struct mortise_call_slot *s = asking(i, call, late, why);
    uint64_t id = 0;

    if (s != NULL && a == NULL)
        *why = MORTISE_S_NOMEM;
    else if (s != NULL && (!mortise_host_may_pend(s) ||
                           s->threading != MORTISE_THREAD_ASYNC))
        *why = MORTISE_S_UNSUPPORTED;
    else if (s != NULL && !has_room(s, how->bytes)) {
        *why = MORTISE_S_DENIED;
        memcpy(words, s->words.message, sizeof words);
    }
    if (*why == MORTISE_S_OK) {
        assert(s != NULL && a != NULL && s->pins > 0); /* the call's own */
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
        scold(i, SAID_ASKS, words);
    mortise_release(i->mem, a, sizeof *a);
    return id;
}

/* Note that the calling thread will wait; the same otherwise. */
static uint64_t note_wait(struct mortise_instance *i, mortise_call call,
                          bool late, uint64_t ask, mortise_status *why)
{
    struct mortise_call_slot *s = asking(i, call, late, why);
    uint64_t id = 0;

    if (s == NULL)
        return 0;
    if (s->threading != MORTISE_THREAD_BLOCKING || !s->inside ||
        !pthread_equal(s->thread, pthread_self()))
        *why = MORTISE_S_UNSUPPORTED;
    else {
        assert(s->waiting == 0); /* the thread that would wait is here */
        s->waiting = ask;
        id = s->id;
    }
    pthread_mutex_unlock(&s->lock);
    return id;
}

/* Hand the ask to the engine, through the wire. */
static mortise_status pass_on(struct mortise_instance *i, uint64_t id,
                              uint64_t ask, const char *method,
                              mortise_str body)
{
    struct mortise_wire msg = {.type = MORTISE_WIRE_ASK,
                               .call = id,
                               .ask = ask,
                               .name = {method, strlen(method)},
                               .body = cut(body, UINT64_MAX)};
    struct mortise_wire_held held;

    assert(i->ops.ask != NULL && id != 0); /* both callers looked */
    if (!go_out(i))
        return MORTISE_S_CANCELLED;
    if (mortise_carry_lend(&msg, &held, i->mem, NULL) != MORTISE_OK) {
        come_back(i);
        return MORTISE_S_NOMEM;
    }
    i->ops.ask(i->ops.ud, id, msg.ask, method,
               msg.body.p != NULL ? msg.body.p : "", (size_t)msg.body.n);
    mortise_wire_release(&held);
    come_back(i);
    return MORTISE_S_OK;
}

/* An ask that could not be handed on: as if it had never been. */
static void forget_ask(struct mortise_instance *i, mortise_call call,
                       uint64_t ask)
{
    struct mortise_call_slot *s = mortise_call_table_by_handle(&i->calls, call);
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

/* A body that nobody passes on: words for a plugin that has none. */
static mortise_status too_large(struct mortise_instance *i, mortise_call call,
                                const char *method, uint64_t n)
{
    struct mortise_call_slot *s = mortise_call_table_by_handle(&i->calls, call);

    if (s == NULL)
        return MORTISE_S_INVALID;
    if (s->open && !s->finished)
        snprintf(s->words.message, sizeof s->words.message,
                 "asked for %s with %llu MiB, but the limit is %d", method,
                 (unsigned long long)(n >> 20), MORTISE_OUTPUT_MAX >> 20);
    pthread_mutex_unlock(&s->lock);
    return MORTISE_S_INVALID;
}

/* Ask for a method of the manifest: the answer goes where `how` says, or (NULL)
 * to the calling thread, which will wait.  Nothing is left of one that fails. */
static mortise_status ask_for(struct mortise_instance *i, mortise_call call,
                              mortise_str method, mortise_str body,
                              const struct mortise_ask *how, uint64_t *ask)
{
    const char *name = granted(i, method);
    mortise_status status = MORTISE_S_OK;
    uint64_t id;
    bool late;

    mortise_host_not_a_child(i);
    *ask = atomic_fetch_add(&i->last_ask, 1) + 1;
    if (name == NULL)
        return MORTISE_S_DENIED;
    if (body.n > MORTISE_OUTPUT_MAX)
        return too_large(i, call, name, body.n);
    if (how != NULL && how->fn == NULL)
        return MORTISE_S_INVALID;
    if (i->ops.ask == NULL)
        return MORTISE_S_UNSUPPORTED;
    late = is_late(name);
    id = how != NULL ? note_ask(i, call, late, *ask, how, &status)
                     : note_wait(i, call, late, *ask, &status);
    if (status != MORTISE_S_OK)
        return status;
    status = pass_on(i, id, *ask, name, body);
    if (status != MORTISE_S_OK)
        forget_ask(i, call, *ask);
    return status;
}

static mortise_status host_ask(mortise_host *h, mortise_call call,
                               mortise_str method, mortise_str body,
                               mortise_answer_fn *on_answer, void *ud)
{
    const struct mortise_ask how = {
        .fn = on_answer, .ud = ud, .bytes = (size_t)cut(body, UINT64_MAX).n};
    uint64_t ask;
    mortise_status status =
        ask_for(h->instance, call, method, body, &how, &ask);

    return status == MORTISE_S_OK ? MORTISE_S_PENDING : status;
}

/* Until the answer is there, or the call was cancelled or abandoned. */
static mortise_status await(struct mortise_instance *i, mortise_call call,
                            uint64_t ask, mortise_str *answer)
{
    struct mortise_call_slot *s = mortise_call_table_by_handle(&i->calls, call);
    mortise_status status;

    if (s == NULL)
        return MORTISE_S_STALE; /* not while it is inside; for the reader */
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
    status = ask_for(h->instance, call, method, body, NULL, &ask);
    return status == MORTISE_S_OK ? await(h->instance, call, ask, answer)
                                  : status;
}

void mortise_host_answer_all(struct mortise_instance *i,
                             struct mortise_call_slot *s)
{
    static const mortise_str why = {"cancelled", 9};
    struct mortise_ask *list = s->asks, *a;
    unsigned n = 0;

    assert(s->handle != 0); /* a free slot has asked nothing */
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

/* ---- the table ------------------------------------------------------------
 */

static mortise_status serve(struct mortise_instance *i,
                            const struct mortise_wire *msg)
{
    switch (msg->type) {
    case MORTISE_WIRE_LOG:
        return take_log(i, msg);
    case MORTISE_WIRE_EMIT:
        return take_emit(i, msg);
    case MORTISE_WIRE_FINISH:
        return take_finish(i, msg);
    case MORTISE_WIRE_FAIL:
        return take_fail(i, msg);
    default:
        return MORTISE_S_UNSUPPORTED;
    }
}

/* A message that could not be carried (5). */
static mortise_status lose(struct mortise_instance *i,
                           const struct mortise_wire *msg)
{
    struct mortise_wire bare = {
        .type = msg->type, .call = msg->call, .status = MORTISE_S_NOMEM};
    struct mortise_call_slot *s =
        mortise_call_table_by_handle(&i->calls, msg->call);

    if (s != NULL) {
        s->lost = s->lost || msg->type != MORTISE_WIRE_FAIL;
        pthread_mutex_unlock(&s->lock);
    }
    if (msg->type == MORTISE_WIRE_FINISH)
        return serve(i, &bare);
    return MORTISE_S_NOMEM;
}

static mortise_status from_plugin(mortise_host *h, struct mortise_wire *msg)
{
    struct mortise_wire_held held = {0};
    mortise_status status;

    assert(msg->type >= MORTISE_WIRE_LOG && msg->type <= MORTISE_WIRE_FAIL);
    mortise_host_not_a_child(h->instance);
    /* A body too large for the wire is too large for everything; it is refused
     * by its length, unread. */
    if (msg->body.n <= MORTISE_WIRE_BODY_MAX &&
        mortise_carry_lend(msg, &held, h->instance->mem, NULL) != MORTISE_OK)
        return lose(h->instance, msg);
    status = serve(h->instance, msg);
    if (held.mem != NULL)
        mortise_wire_release(&held);
    return status;
}

static void host_log(mortise_host *h, int32_t level, mortise_str text)
{
    struct mortise_wire msg = {.type = MORTISE_WIRE_LOG,
                               .level = level,
                               .message = cut(text, MORTISE_WORDS_MAX)};

    from_plugin(h, &msg);
}

static mortise_status host_emit(mortise_host *h, mortise_call call,
                                mortise_str kind, mortise_str chunk)
{
    struct mortise_wire msg = {.type = MORTISE_WIRE_EMIT,
                               .call = call,
                               .name = cut(kind, METHOD_MAX),
                               .body = cut(chunk, UINT64_MAX)};

    return from_plugin(h, &msg);
}

static mortise_status host_finish(mortise_host *h, mortise_call call,
                                  mortise_status status, mortise_str text,
                                  mortise_str detail)
{
    struct mortise_wire msg = {.type = MORTISE_WIRE_FINISH,
                               .call = call,
                               .status = status,
                               .message = cut(text, MORTISE_WORDS_MAX),
                               .detail = cut(detail, DETAIL_MAX + 1)};

    return from_plugin(h, &msg);
}

static void host_fail(mortise_host *h, mortise_call call, mortise_str text,
                      mortise_str detail)
{
    struct mortise_wire msg = {.type = MORTISE_WIRE_FAIL,
                               .call = call,
                               .message = cut(text, MORTISE_WORDS_MAX),
                               .detail = cut(detail, DETAIL_MAX + 1)};

    from_plugin(h, &msg);
}

static int32_t host_cancelled(mortise_host *h, mortise_call call)
{
    mortise_host_not_a_child(h->instance);
    return mortise_call_table_stopped(&h->instance->calls, call);
}

static uint64_t host_now_ns(mortise_host *h)
{
    mortise_host_not_a_child(h->instance);
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
