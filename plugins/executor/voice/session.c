/* session.c -- turns, until something ends them; and what came of it.
 *
 *     conversation   a greeting, if there is one; then it hears, is answered by a
 *                    model, and says that, again and again
 *     listen-only    it hears
 *     speak-only     it says one text
 *
 *   (1) Whatever ends it is its exit reason, which is part of the output, so that
 *       routes may lead by it.  `exit_on` says which of five may: a line that
 *       ends, where that does not say hangup, ends it as completed.
 *   (2) What fails before anything stands in the record fails the node, whose
 *       retry_policy holds: nothing is lost.  Later it would be: then the exit
 *       reason is error, and the output has what was said until then.
 *   (3) An utterance in which an exit keyword was said is not answered, nor one
 *       that is the last before the line ended.
 *   (4) All is a function of the request, the node and the results of steps.
 */
#include "voice.h"

#include <stdarg.h>
#include <stdio.h>

#include "words.h"

static const char *const exit_names[] = {
    "",       "hangup",    "silence-timeout", "keyword", "turns-exhausted",
    "manual", "completed", "interrupted",     "error"};

/* ---- failures -------------------------------------------------------------- */

const struct reason voice_invalid = {"invalid", "permanent", MORTISE_S_INVALID};
const struct reason voice_config = {"voice.config", "permanent",
                                    MORTISE_S_INVALID};
const struct reason voice_no_memory = {"no_memory", "transient",
                                       MORTISE_S_NOMEM};
const struct reason voice_cancelled = {"cancelled", "cancelled",
                                       MORTISE_S_CANCELLED};
const struct reason voice_not_found = {"not_found", "permanent",
                                       MORTISE_S_NOTFOUND};
const struct reason voice_denied = {"denied", "permanent", MORTISE_S_DENIED};
const struct reason voice_io = {"io", "permanent", MORTISE_S_IO};
const struct reason voice_bad_audio = {"voice.audio", "permanent",
                                       MORTISE_S_INVALID};
const struct reason voice_line = {"voice.line", "transient", MORTISE_S_IO};
const struct reason voice_server = {"voice.server", "permanent",
                                    MORTISE_S_FAILED};
const struct reason voice_busy = {"voice.busy", "transient", MORTISE_S_IO};
const struct reason voice_answer = {"voice.answer", "permanent",
                                    MORTISE_S_FAILED};
const struct reason voice_model = {"voice.model", "permanent",
                                   MORTISE_S_FAILED};

mortise_status no(struct session *s, const struct reason *why, const char *fmt,
                  ...)
{
    char words[sizeof s->words];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    s->failed = why;
    memcpy(s->words, words, sizeof words); /* fmt's may be the old ones */
    return why->status;
}

mortise_status no_mem(struct session *s)
{
    return no(s, &voice_no_memory, "out of memory");
}

mortise_status go_on(struct session *s)
{
    return s->inst->api->cancelled(s->inst->host, s->id)
               ? no(s, &voice_cancelled, "cancelled")
               : MORTISE_S_OK;
}

mortise_status no_answer(struct session *s, const char *doing,
                         mortise_status status, mortise_str words)
{
    if (status == MORTISE_S_CANCELLED)
        return no(s, &voice_cancelled, "cancelled");
    if (status == MORTISE_S_NOMEM)
        return no_mem(s);
    return no(s, status == MORTISE_S_DENIED ? &voice_denied : &voice_answer,
              "%s: %.*s", doing, (int)(words.n < 600 ? words.n : 600),
              words.n > 0 ? words.p : "the host rejected the request");
}

int is_held(const struct session *s)
{
    return (s->request->flags & MORTISE_REQUEST_HELD) != 0;
}

/* ---- what is told ---------------------------------------------------------- */

static void tell_begin(mortise_jw *w)
{
    mortise_jw_growing(w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(w);
}

static void write_cstr(mortise_jw *w, const char *name, const char *text)
{
    mortise_jw_key(w, name);
    mortise_jw_cstr(w, text);
}

static void write_int(mortise_jw *w, const char *name, int64_t v)
{
    mortise_jw_key(w, name);
    mortise_jw_int(w, v);
}

static void tell_session(struct session *s, const char *state,
                         const char *reason)
{
    static const char *const modes[] = {"conversation", "listen-only",
                                        "speak-only"};
    mortise_jw w;

    tell_begin(&w);
    write_cstr(&w, "state", state);
    write_cstr(&w, "mode", modes[s->wish.mode]);
    if (*reason != '\0')
        write_cstr(&w, "exit_reason", reason);
    mortise_jw_end(&w);
    tell(s, "voice_session", &w);
}

/* Its text may be kept back by guardrails, which have not seen it. */
static void tell_transcript(struct session *s, const char *role,
                            mortise_str text)
{
    mortise_jw w;

    tell_begin(&w);
    write_cstr(&w, "role", role);
    mortise_jw_key(&w, is_held(s) ? "held" : "text");
    if (is_held(s))
        mortise_jw_bool(&w, 1);
    else
        mortise_jw_string(&w, text);
    mortise_jw_end(&w);
    tell(s, "voice_transcript", &w);
}

static void tell_number(struct session *s, const char *kind, const char *name,
                        int64_t v)
{
    mortise_jw w;

    tell_begin(&w);
    write_int(&w, name, v);
    mortise_jw_end(&w);
    tell(s, kind, &w);
}

/* ---- the transcript -------------------------------------------------------- */

/* One more item; who speaks is told by how it is written. */
static mortise_status add(struct session *s, const char *role, mortise_str text,
                          int cut, const struct bytes *speakers)
{
    mortise_status status;
    mortise_str json;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    write_cstr(&w, "role", role);
    mortise_jw_key(&w, "text");
    mortise_jw_string(&w, text);
    if (cut) {
        mortise_jw_key(&w, "interrupted");
        mortise_jw_bool(&w, 1);
    }
    if (speakers != NULL && speakers->n > 0) {
        mortise_jw_key(&w, "speakers");
        mortise_jw_value(&w, mortise_jv_of(bytes_str(speakers)));
    }
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK && s->script.n > 0)
        status = bytes_put(&s->script, mortise_strz(","));
    if (status == MORTISE_S_OK)
        status = bytes_put(&s->script, json);
    free(w.p);
    return status == MORTISE_S_OK ? status : no_mem(s);
}

static mortise_status add_heard(struct session *s, const struct utterance *u)
{
    const mortise_str text = bytes_str(&u->text);
    mortise_status status = add(s, "user", text, 0, &u->speakers);

    s->n_turns++;
    if (status == MORTISE_S_OK && s->text.n > 0 &&
        bytes_put(&s->text, mortise_strz(" ")) != MORTISE_S_OK)
        status = no_mem(s);
    if (status == MORTISE_S_OK && bytes_put(&s->text, text) != MORTISE_S_OK)
        status = no_mem(s);
    tell_transcript(s, "user", text);
    return status;
}

/* ---- turns ----------------------------------------------------------------- */

/* (1) */
static enum exit line_end(const struct session *s, enum exit end)
{
    if (end == EXIT_MANUAL && (s->wish.exits & 1u << EXIT_MANUAL) == 0)
        end = EXIT_HANGUP;
    if (end != EXIT_HANGUP)
        return end;
    if ((s->wish.exits & 1u << EXIT_HANGUP) == 0 ||
        (s->wish.mode == MODE_LISTEN && s->ear.terminal == NULL))
        return EXIT_COMPLETED;
    return EXIT_HANGUP;
}

static mortise_status say(struct session *s, const char *name, mortise_str text,
                          int *interrupted, enum exit *end)
{
    struct speech speech;
    mortise_status status;

    tell_transcript(s, "assistant", text);
    status = speak_once(s, name, text, &speech);
    if (status != MORTISE_S_OK)
        return status;
    s->began = 1;
    *interrupted = speech.cut;
    *end = line_end(s, speech.end);
    if (speech.cut)
        tell_number(s, "voice_barge_in", "turn", s->n_turns);
    return add(s, "assistant", text, speech.cut, NULL);
}

/* The keyword that was said, of the list; none. */
static mortise_status find_keyword(struct session *s, mortise_str text,
                                   enum exit *end)
{
    mortise_jv_iter it = mortise_jv_each(s->wish.keywords);
    mortise_jv name, one;

    if ((s->wish.exits & 1u << EXIT_KEYWORD) == 0)
        return MORTISE_S_OK;
    while (*end == EXIT_NONE && mortise_jv_next(&it, &name, &one)) {
        bytes_free(&s->keyword);
        if (bytes_decode(&s->keyword, one) != MORTISE_S_OK)
            return no_mem(s);
        if (words_have(text, bytes_str(&s->keyword)))
            *end = EXIT_KEYWORD;
    }
    if (*end != EXIT_KEYWORD)
        bytes_free(&s->keyword);
    return MORTISE_S_OK;
}

static mortise_status reply(struct session *s, mortise_str said,
                            int *interrupted, enum exit *end)
{
    struct bytes text = {0};
    char name[32];
    mortise_status status = answer_once(s, said, *interrupted, &text);

    *interrupted = 0;
    snprintf(name, sizeof name, "speak.%lld", (long long)s->n_turns);
    if (status == MORTISE_S_OK && text.n > 0)
        status = say(s, name, bytes_str(&text), interrupted, end);
    bytes_free(&text);
    return status;
}

static mortise_status turn(struct session *s, const struct utterance *u,
                           int *interrupted, enum exit *end)
{
    const mortise_str text = bytes_str(&u->text);
    mortise_status status = add_heard(s, u);

    if (status == MORTISE_S_OK)
        status = find_keyword(s, text, end);
    if (*end == EXIT_NONE)
        *end = line_end(s, u->end);
    if (status == MORTISE_S_OK && *end == EXIT_NONE && /* (3) */
        s->wish.mode == MODE_CONVERSATION)
        status = reply(s, text, interrupted, end);
    if (status == MORTISE_S_OK)
        tell_number(s, "voice_turn_complete", "turn", s->n_turns);
    if (*end == EXIT_NONE && s->wish.max_turns > 0 &&
        s->n_turns >= s->wish.max_turns)
        *end = EXIT_TURNS;
    return status;
}

static mortise_status listen(struct session *s, int *interrupted,
                             enum exit *end)
{
    mortise_status status = MORTISE_S_OK;

    for (int64_t n = 1; status == MORTISE_S_OK && *end == EXIT_NONE; n++) {
        struct utterance u = {0};

        status = listen_once(s, n, &u);
        s->began |= status == MORTISE_S_OK;
        if (status == MORTISE_S_OK && u.text.n > 0)
            status = turn(s, &u, interrupted, end);
        else if (status == MORTISE_S_OK)
            *end = line_end(s, u.end);
        utterance_free(&u);
    }
    return status;
}

static mortise_status converse(struct session *s, enum exit *end)
{
    const struct wish *w = &s->wish;
    int interrupted = 0;
    mortise_status status = MORTISE_S_OK;

    if (w->greets && w->mode != MODE_LISTEN)
        status = say(s, "speak.0", bytes_str(&w->greeting), &interrupted, end);
    if (status != MORTISE_S_OK || w->mode != MODE_SPEAK)
        return status == MORTISE_S_OK ? listen(s, &interrupted, end) : status;
    if (*end == EXIT_NONE)
        *end = interrupted ? EXIT_INTERRUPTED : EXIT_COMPLETED;
    return status;
}

/* ---- the output ------------------------------------------------------------ */

static void write_error(const struct session *s, mortise_jw *w)
{
    mortise_jw_key(w, "error");
    mortise_jw_object(w);
    write_cstr(w, "code", s->failed->code);
    write_cstr(w, "message", s->words);
    mortise_jw_end(w);
}

static mortise_status emit(struct session *s, enum exit end)
{
    mortise_emitter out;
    char room[4096];
    struct bytes list = {0};
    mortise_status status = bytes_put(&list, mortise_strz("["));

    if (status == MORTISE_S_OK)
        status = bytes_put(&list, bytes_str(&s->script));
    if (status == MORTISE_S_OK)
        status = bytes_put(&list, mortise_strz("]"));
    if (status != MORTISE_S_OK) {
        bytes_free(&list);
        return no_mem(s);
    }
    mortise_emitter_init(&out, s->inst->host, s->inst->api, s->id, room,
                         sizeof room);
    mortise_jw_object(&out.w);
    write_cstr(&out.w, "exit_reason", exit_names[end]);
    if (s->keyword.n > 0) {
        mortise_jw_key(&out.w, "keyword");
        mortise_jw_string(&out.w, bytes_str(&s->keyword));
    }
    mortise_jw_key(&out.w, "text");
    mortise_jw_string(&out.w, bytes_str(&s->text));
    write_int(&out.w, "turns", s->n_turns);
    mortise_jw_key(&out.w, "transcript");
    mortise_jw_value(&out.w, mortise_jv_of(bytes_str(&list)));
    write_int(&out.w, "heard_ms", s->heard_ms);
    write_int(&out.w, "spoken_ms", s->spoken_ms);
    if (end == EXIT_ERROR)
        write_error(s, &out.w);
    mortise_jw_end(&out.w);
    status = mortise_emitter_finish(&out);
    bytes_free(&list);
    return status;
}

/* (2) */
static int is_part_of_it(const struct session *s)
{
    return s->began && s->failed != NULL && s->failed != &voice_cancelled &&
           s->failed != &voice_no_memory;
}

/* Before anybody is heard: what is built in can do what is wanted. */
static mortise_status prepare(struct session *s)
{
    mortise_status status = wish_read(s);

    if (status == MORTISE_S_OK)
        status = sound_open(s);
    if (status == MORTISE_S_OK && s->wish.mode != MODE_SPEAK &&
        !s->wish.stt_serves)
        status = sphinx_check(s);
    return status;
}

mortise_status session_run(struct session *s)
{
    enum exit end = EXIT_NONE;
    mortise_status status = prepare(s);

    if (status == MORTISE_S_OK) {
        tell_session(s, "start", "");
        status = converse(s, &end);
    }
    if (status == MORTISE_S_SUSPENDED)
        return status;
    if (status != MORTISE_S_OK && is_part_of_it(s)) {
        end = EXIT_ERROR;
        status = MORTISE_S_OK;
    }
    if (status != MORTISE_S_OK)
        return status;
    tell_session(s, "end", exit_names[end]);
    return emit(s, end);
}

void session_free(struct session *s)
{
    struct bytes *const held[] = {&s->script, &s->text, &s->keyword,
                                  &s->answer};

    sound_close(s);
    wish_free(&s->wish);
    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
        bytes_free(held[i]);
    free(s);
}
