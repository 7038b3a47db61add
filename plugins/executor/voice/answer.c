/* answer.c -- a model is asked: for what is said next, and whether somebody has
 * said all that he wanted to.
 *
 * Each call of a model is a step with a name of its own, answer.1, answer.2 ...;
 * all but the first say which one they go on from, and what was said since.
 *
 *   (1) Where a provider fails, the aliases of llm.fallback are asked, in their
 *       order; the first that answers is asked from then on.
 *   (2) Whether a turn is over is asked within the step that hears it, by a name
 *       that is made of the words: the same words, heard again after a crash, are
 *       not asked about again, and other words are another question.
 *   (3) Who cannot say whether it is over (no model, no budget, no JSON) does
 *       not hold up the conversation: then the pause was the end. */
#include "voice.h"

#include <stdio.h>

#include "../../persona.h"

static mortise_status put(struct bytes *to, const char *text)
{
    return bytes_put(to, mortise_strz(text));
}

/* {role, parts: [{type: text, text}]}, in a list. */
static mortise_status put_message(struct bytes *list, const char *role,
                                  mortise_str text)
{
    mortise_status status = put(list, list->n == 0 ? "[" : ",");

    if (status == MORTISE_S_OK)
        status = put(list, "{\"role\":\"");
    if (status == MORTISE_S_OK)
        status = put(list, role);
    if (status == MORTISE_S_OK)
        status = put(list, "\",\"parts\":[{\"type\":\"text\",\"text\":");
    if (status == MORTISE_S_OK)
        status = bytes_quote(list, text);
    return status == MORTISE_S_OK ? put(list, "}]}") : status;
}

/* Ahead of everything, where there is anything to be said. */
static mortise_status put_system(struct session *s, struct bytes *list)
{
    mortise_jv said = mortise_jv_get(s->node, "instructions");
    mortise_jv persona = mortise_jv_get(s->node, "persona");
    struct bytes text = {0};
    mortise_status status = MORTISE_S_OK;

    if (mortise_jv_type(said) == MORTISE_JV_STRING)
        status = bytes_decode(&text, said);
    else if (mortise_jv_type(said) != MORTISE_JV_NONE)
        status = bytes_put(&text, mortise_strn(said.p, said.n));
    if (status == MORTISE_S_OK && mortise_jv_type(persona) != MORTISE_JV_NONE) {
        status = text.n > 0 ? put(&text, "\n\n") : status;
        if (status == MORTISE_S_OK)
            status = persona_put(&text, persona);
    }
    if (status == MORTISE_S_OK && text.n > 0)
        status = put_message(list, "system", bytes_str(&text));
    bytes_free(&text);
    return status;
}

/* ---- requests -------------------------------------------------------------- */

/* The alias whose turn it is; none: the default. */
static mortise_jv alias_of(const struct session *s)
{
    mortise_jv llm = mortise_jv_get(s->node, "llm"), name, one;
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(llm, "fallback"));

    if (s->alias == 0)
        return mortise_jv_get(llm, "provider_id");
    for (uint64_t i = 1; mortise_jv_next(&it, &name, &one); i++)
        if (i == s->alias)
            return one;
    return mortise_jv_none();
}

static uint64_t n_aliases(const struct session *s)
{
    return 1 + mortise_jv_count(
                   mortise_jv_get(mortise_jv_get(s->node, "llm"), "fallback"));
}

static void write_member(mortise_jw *w, const char *name, mortise_jv v)
{
    if (mortise_jv_type(v) == MORTISE_JV_NONE)
        return;
    mortise_jw_key(w, name);
    mortise_jw_value(w, v);
}

static void write_head(const struct session *s, mortise_jw *w, const char *name)
{
    mortise_jw_object(w);
    mortise_jw_key(w, "step");
    mortise_jw_cstr(w, name);
    write_member(w, "alias", alias_of(s));
    if (s->alias == 0)
        write_member(w, "model",
                     mortise_jv_get(mortise_jv_get(s->node, "llm"), "model"));
}

static mortise_status ask(struct session *s, mortise_jw *w, mortise_str *answer)
{
    mortise_str body;
    mortise_status status = mortise_jw_finish(w, &body);

    *answer = mortise_str_empty();
    if (status == MORTISE_S_OK)
        status = call_ask(s, MORTISE_MODEL_CALL_1, body, answer);
    free(w->p);
    return status;
}

/* ---- what is said next ----------------------------------------------------- */

static void step_name(char room[32], int64_t n)
{
    snprintf(room, 32, "answer.%lld", (long long)n);
}

static mortise_status ask_next(struct session *s, const struct bytes *system,
                               const struct bytes *said, mortise_str *answer)
{
    static const char *const members[] = {"temperature", "max_tokens"};
    char room[32];
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    step_name(room, ++s->asked);
    write_head(s, &w, room);
    for (size_t i = 0; i < 2; i++)
        write_member(&w, members[i], mortise_jv_get(s->node, members[i]));
    if (s->after > 0) {
        step_name(room, s->after);
        mortise_jw_key(&w, "after");
        mortise_jw_cstr(&w, room);
    } else if (system->n > 0) {
        write_member(&w, "messages", mortise_jv_of(bytes_str(system)));
    }
    write_member(&w, "append", mortise_jv_of(bytes_str(said)));
    mortise_jw_end(&w);
    return ask(s, &w, answer);
}

/* The texts of a reply, one behind the other. */
static mortise_status take_reply(struct session *s, mortise_jv answer,
                                 struct bytes *reply)
{
    mortise_jv message =
        mortise_jv_get(mortise_jv_get(answer, "reply"), "message");
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(message, "parts"));
    mortise_jv name, part;
    mortise_status status = MORTISE_S_OK;

    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &part))
        if (mortise_jv_is(mortise_jv_get(part, "type"), mortise_strz("text")))
            status = bytes_decode(reply, mortise_jv_get(part, "text"));
    s->after = s->asked;
    return status == MORTISE_S_OK ? status : no_mem(s);
}

static mortise_status take_error(struct session *s, mortise_jv error)
{
    struct bytes words = {0};
    mortise_status status = MORTISE_S_OK;

    if (!is_held(s))
        status = bytes_decode(&words, mortise_jv_get(error, "message"));
    status = status == MORTISE_S_OK
                 ? no(s, &voice_model, "the model does not answer: %.*s",
                      (int)(words.n < 600 ? words.n : 600),
                      words.n > 0 ? words.p : "its provider failed")
                 : no_mem(s);
    bytes_free(&words);
    return status;
}

/* (1) */
static mortise_status ask_all(struct session *s, const struct bytes *system,
                              const struct bytes *said, struct bytes *reply)
{
    const uint64_t n = n_aliases(s);

    for (uint64_t tried = 0;; tried++) {
        mortise_str answer;
        mortise_jv v, error;
        mortise_status status = ask_next(s, system, said, &answer);

        if (status == MORTISE_S_SUSPENDED)
            return status;
        if (status != MORTISE_S_OK)
            return no_answer(s, "ask a model", status, answer);
        if (mortise_jv_parse(answer, &v) != MORTISE_S_OK)
            return no(s, &voice_answer, "the host's answer is not JSON");
        error = mortise_jv_get(v, "error");
        if (mortise_jv_type(error) == MORTISE_JV_NONE)
            return take_reply(s, v, reply);
        if (tried + 1 == n)
            return take_error(s, error);
        s->alias = (s->alias + 1) % n;
    }
}

mortise_status answer_once(struct session *s, mortise_str said, int interrupted,
                           struct bytes *reply)
{
    struct bytes system = {0}, text = {0}, list = {0};
    mortise_status status = MORTISE_S_OK;

    if (s->after == 0)
        status = put_system(s, &system);
    if (status == MORTISE_S_OK && system.n > 0)
        status = put(&system, "]");
    if (status == MORTISE_S_OK && interrupted)
        status = put(&text, "[They spoke into what you said.] ");
    if (status == MORTISE_S_OK)
        status = bytes_put(&text, said);
    if (status == MORTISE_S_OK)
        status = put_message(&list, "user", bytes_str(&text));
    if (status == MORTISE_S_OK)
        status = put(&list, "]");
    status =
        status == MORTISE_S_OK ? ask_all(s, &system, &list, reply) : no_mem(s);
    bytes_free(&system);
    bytes_free(&text);
    bytes_free(&list);
    return status;
}

/* ---- whether a turn is over ------------------------------------------------ */

static const char judge[] =
    "Somebody is speaking to an assistant, and pauses.  You are given what was "
    "understood so far.  Say whether it is a whole thing to say, so that the "
    "assistant may answer now, or whether there is more to come.  Reply with "
    "JSON: {\"over\": true} or {\"over\": false}.";
static const char shape[] =
    "{\"schema\":{\"type\":\"object\",\"required\":[\"over\"],\"properties\":"
    "{\"over\":{\"type\":\"boolean\"}},\"additionalProperties\":false}}";

/* FNV-1a. */
static uint64_t hash(mortise_str s)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (uint64_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001b3);
    return h;
}

static mortise_status ask_over(struct session *s, int64_t n, mortise_str text,
                               mortise_str *answer)
{
    struct bytes list = {0};
    char room[64];
    mortise_jw w;
    mortise_status status = put_message(&list, "system", mortise_strz(judge));

    if (status == MORTISE_S_OK)
        status = put_message(&list, "user", text);
    if (status == MORTISE_S_OK)
        status = put(&list, "]");
    if (status == MORTISE_S_OK) { /* (2) */
        snprintf(room, sizeof room, "over.%lld.%016llx", (long long)n,
                 (unsigned long long)hash(text));
        mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
        write_head(s, &w, room);
        write_member(&w, "messages", mortise_jv_of(bytes_str(&list)));
        write_member(&w, "response", mortise_jv_of(mortise_strz(shape)));
        mortise_jw_end(&w);
        status = ask(s, &w, answer);
    }
    bytes_free(&list);
    return status;
}

mortise_status answer_is_over(struct session *s, int64_t n, mortise_str text,
                              int *over)
{
    mortise_str answer = {NULL, 0};
    mortise_status status = ask_over(s, n, text, &answer);
    int32_t yes = 1; /* (3) */
    mortise_jv v;

    if (status == MORTISE_S_CANCELLED)
        return go_on(s) != MORTISE_S_OK ? voice_cancelled.status
                                        : no(s, &voice_cancelled, "cancelled");
    if (status == MORTISE_S_OK && mortise_jv_parse(answer, &v) == MORTISE_S_OK)
        mortise_jv_bool(mortise_jv_get(mortise_jv_get(v, "json"), "over"),
                        &yes);
    *over = yes;
    return MORTISE_S_OK;
}
