/* scripted.c -- a model that says what the deployment wrote down: for tests,
 * examples and rehearsals.  There is no model behind it, and no server.
 *
 * Config
 *   replies  a list; the first whose `when` fits answers
 *
 *     when       all of it must fit; absent: always
 *       system, user, tool   a text that the last message of that role contains
 *       turn       how many messages of the assistant there are already
 *       attempt    which attempt the call is, from 1
 *     text       what the reply says; or
 *     json       a value, whose JSON is what it says
 *     reasoning  a part before it
 *     refusal    a part behind it
 *     tool_calls [{name, arguments?, arguments_text?, id?}]: arguments are {}
 *                when nothing else is said, and the nth call of turn t has the
 *                id "call_t_n"
 *     stop       "tools" if there are calls, else "refusal" if there is one,
 *                else "end"
 *     usage      {input_tokens?, output_tokens?, cached_tokens?,
 *                cache_write_tokens?, reasoning_tokens?}: where it does not
 *                say, all words of the messages are the input, and those of the
 *                reply the output
 *     error      {code, class?, message?, retry_after_ms?} in place of a reply;
 *                permanent unless `class` is `transient` or `timeout`
 *
 * When none fits, that is the error model.request, with words that say what
 * was asked.  A reply of one kind twice in a script is never reached: what
 * tells turns apart is `turn`, or what the tools said.
 *
 * Embeddings are made of words alone, no script is needed: each word (ASCII
 * letters in lower case, digits, and whatever is not ASCII), by the 64 bits of
 * its FNV-1a, adds 1 or -1 (the top bit) to one place (the rest modulo
 * `dimensions`, which is 256 unless the request says), and the whole is made
 * one long.  A text without words is all zeros.
 *
 * A deployment that uses it
 *   models:
 *     default:
 *       provider: scripted
 *       model: any
 *       replies:
 *         - when: {turn: 0}
 *           tool_calls: [{name: weather, arguments: {city: Oslo}}]
 *         - when: {tool: rain}
 *           text: Take an umbrella.
 *
 * What it promises: a reply is a function of the request (and of its attempt,
 * where the script asks for that), so a run that goes on elsewhere hears the
 * same.  With `stream` the text comes in words, all of them at once: a plugin
 * has no timer but the run's, which models may not ask for, so nothing is ever
 * late.  It asks for nothing and goes nowhere. */
#include <math.h>
#include <stdlib.h>

#include <mortise/model.h>

#include "../../bytes.h"
#include "../../nomem.h"

enum {
    SHOWN = 160,      /* bytes of a message, in an error's words */
    DIMENSIONS = 256, /* unless the request says */
    DIMENSIONS_MAX = 16384
};

struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
    char *config; /* a copy */
    mortise_jv replies;
};

/* ---- words --------------------------------------------------------------- */

static int is_of_word(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* The first word of *text, which is then what stands behind it; 0: none. */
static int next_word(mortise_str *text, mortise_str *word)
{
    while (text->n > 0 && !is_of_word(*text->p)) {
        text->p++;
        text->n--;
    }
    *word = mortise_strn(text->p, 0);
    while (text->n > 0 && is_of_word(*text->p)) {
        text->p++;
        text->n--;
        word->n++;
    }
    return word->n > 0;
}

static int64_t count_words(mortise_str text)
{
    mortise_str word;
    int64_t n = 0;

    while (next_word(&text, &word))
        n++;
    return n;
}

/* ---- what is asked ------------------------------------------------------- */

enum role { SYSTEM, USER, TOOL, ASSISTANT, ROLES };

static const char *const role_names[ROLES] = {
    [SYSTEM] = "system",
    [USER] = "user",
    [TOOL] = "tool",
    [ASSISTANT] = "assistant",
};

struct asked {
    const mortise_request *request;
    mortise_jv body;
    struct bytes last[ROLES]; /* texts of the last message, a line each */
    int64_t turn, words;
};

static void asked_finish(struct asked *a)
{
    for (int i = 0; i < ROLES; i++)
        bytes_free(&a->last[i]);
}

/* The text of one part, if it has one, behind the texts of others. */
static mortise_status add_text(struct asked *a, struct bytes *to,
                               mortise_jv part)
{
    mortise_jv text = mortise_jv_get(part, "text");
    uint64_t from = to->n;
    mortise_status status = MORTISE_S_OK;

    if (mortise_jv_type(text) != MORTISE_JV_STRING)
        return MORTISE_S_OK;
    status = bytes_decode(to, text);
    if (status != MORTISE_S_OK)
        return status;
    a->words += count_words(mortise_strn(to->p + from, to->n - from));
    return bytes_put(to, mortise_strz("\n"));
}

/* The texts of parts, and of the parts of results among them. */
static mortise_status add_parts(struct asked *a, struct bytes *to,
                                mortise_jv parts)
{
    mortise_jv_iter it = mortise_jv_each(parts), inner;
    mortise_jv part, of_result;
    mortise_status status = MORTISE_S_OK;

    while (status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &part)) {
        status = add_text(a, to, part);
        inner = mortise_jv_each(mortise_jv_get(part, "parts"));
        while (status == MORTISE_S_OK &&
               mortise_jv_next(&inner, NULL, &of_result))
            status = add_text(a, to, of_result);
    }
    return status;
}

static mortise_status add_message(struct asked *a, mortise_jv message)
{
    mortise_jv name = mortise_jv_get(message, "role");
    int role = 0;

    while (role < ROLES && !mortise_jv_is(name, mortise_strz(role_names[role])))
        role++;
    if (role == ROLES)
        return MORTISE_S_INVALID;
    a->turn += role == ASSISTANT;
    a->last[role].n = 0;
    return add_parts(a, &a->last[role], mortise_jv_get(message, "parts"));
}

/* MORTISE_S_INVALID: it is no request.  To be finished in any case. */
static mortise_status asked_init(struct asked *a, const mortise_request *r)
{
    mortise_jv_iter it;
    mortise_jv message;
    mortise_status status;

    memset(a, 0, sizeof *a);
    a->request = r;
    status = mortise_jv_parse(r->body, &a->body);
    it = mortise_jv_each(mortise_jv_get(a->body, "messages"));
    while (status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &message))
        status = add_message(a, message);
    return status;
}

/* ---- the reply that fits ------------------------------------------------- */

static mortise_status is_in(const struct bytes *text, mortise_jv piece,
                            int *fits)
{
    struct bytes want = {NULL, 0, 0};
    mortise_status status = bytes_decode(&want, piece);

    if (status == MORTISE_S_OK)
        *fits = want.n == 0 || (text->n > 0 && memmem(text->p, text->n, want.p,
                                                      want.n) != NULL);
    bytes_free(&want);
    return status;
}

/* Does one member of a `when` fit? */
static mortise_status fits_member(const struct asked *a, mortise_jv name,
                                  mortise_jv value, int *fits)
{
    int64_t n = -1;

    for (int role = 0; role < ASSISTANT; role++)
        if (mortise_jv_is(name, mortise_strz(role_names[role])))
            return is_in(&a->last[role], value, fits);
    mortise_jv_int(value, &n);
    *fits = n == (mortise_jv_is(name, mortise_strz("turn"))
                      ? a->turn
                      : (int64_t)a->request->attempt);
    return MORTISE_S_OK;
}

/* The first reply that fits; none when none does. */
static mortise_status find_reply(const mortise_inst *inst,
                                 const struct asked *a, mortise_jv *out)
{
    mortise_jv_iter it = mortise_jv_each(inst->replies);
    mortise_jv reply, name, value;
    mortise_status status = MORTISE_S_OK;

    *out = mortise_jv_none();
    while (status == MORTISE_S_OK && out->n == 0 &&
           mortise_jv_next(&it, NULL, &reply)) {
        mortise_jv_iter each = mortise_jv_each(mortise_jv_get(reply, "when"));
        int fits = 1;

        while (status == MORTISE_S_OK && fits &&
               mortise_jv_next(&each, &name, &value))
            status = fits_member(a, name, value, &fits);
        if (status == MORTISE_S_OK && fits)
            *out = reply;
    }
    return status;
}

/* ---- saying no ----------------------------------------------------------- */

static mortise_status no(const mortise_inst *inst, const mortise_request *r,
                         const char *msg)
{
    return mortise_refuse(inst->host, inst->api, r->call, MORTISE_S_INVALID,
                          "permanent", MORTISE_MODEL_REQUEST, msg);
}

static mortise_status no_memory(const mortise_inst *inst,
                                const mortise_request *r)
{
    return nomem(inst->host, inst->api, r->call);
}

/* What could not be written or was not taken. */
static mortise_status no_output(const mortise_inst *inst,
                                const mortise_request *r, mortise_status status)
{
    if (status == MORTISE_S_NOMEM)
        return no_memory(inst, r);
    return mortise_refuse(inst->host, inst->api, r->call, status, "permanent",
                          MORTISE_MODEL_PROTOCOL,
                          "the host rejected the output");
}

/* The beginning of a message, for words. */
static int shown(const struct bytes *text)
{
    mortise_str s = mortise_strn(text->p, text->n > 0 ? text->n - 1 : 0);

    s.n = s.n < SHOWN ? s.n : SHOWN;
    return (int)mortise_str_utf8(s);
}

static mortise_status none_fits(const mortise_inst *inst, const struct asked *a)
{
    static const enum role roles[] = {USER, TOOL};
    char msg[128 + 2 * SHOWN];
    size_t n;

    n = (size_t)snprintf(msg, sizeof msg,
                         "no scripted reply matches: turn %lld",
                         (long long)a->turn);
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++) {
        const struct bytes *text = &a->last[roles[i]];

        if (text->n > 0)
            n += (size_t)snprintf(msg + n, sizeof msg - n, ", %s \"%.*s\"",
                                  role_names[roles[i]], shown(text), text->p);
    }
    return no(inst, a->request, msg);
}

/* Members that pass as they are. */
static void copy(mortise_jw *w, mortise_jv from, const char *name)
{
    mortise_jv v = mortise_jv_get(from, name);

    if (v.n == 0)
        return;
    mortise_jw_key(w, name);
    mortise_jw_value(w, v);
}

static mortise_status say_error(const mortise_inst *inst,
                                const mortise_request *r, mortise_jv error,
                                mortise_str words, mortise_str detail)
{
    int timeout =
        mortise_jv_is(mortise_jv_get(error, "class"), mortise_strz("timeout"));

    (inst->api->fail)(inst->host, r->call,
                      words.n > 0 ? words : mortise_strz("a scripted error"),
                      detail);
    return timeout ? MORTISE_S_TIMEOUT : MORTISE_S_FAILED;
}

static mortise_status give_error(const mortise_inst *inst,
                                 const mortise_request *r, mortise_jv error)
{
    mortise_jv message = mortise_jv_get(error, "message");
    struct bytes words = {NULL, 0, 0};
    mortise_str detail;
    mortise_status status = MORTISE_S_OK;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    copy(&w, error, "class");
    copy(&w, error, "code");
    copy(&w, error, "retry_after_ms");
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &detail);
    if (status == MORTISE_S_OK && message.n > 0)
        status = bytes_decode(&words, message);
    if (status == MORTISE_S_OK)
        status = say_error(inst, r, error, bytes_str(&words), detail);
    else
        status = no_memory(inst, r);
    bytes_free(&words);
    free(w.p);
    return status;
}

/* ---- the reply ----------------------------------------------------------- */

/* What the reply says, decoded. */
struct said {
    struct bytes text, reasoning, refusal;
};

static void said_finish(struct said *s)
{
    bytes_free(&s->text);
    bytes_free(&s->reasoning);
    bytes_free(&s->refusal);
}

static mortise_status said_init(struct said *s, mortise_jv reply)
{
    mortise_jv text = mortise_jv_get(reply, "text");
    mortise_jv json = mortise_jv_get(reply, "json");
    mortise_jv reasoning = mortise_jv_get(reply, "reasoning");
    mortise_jv refusal = mortise_jv_get(reply, "refusal");
    mortise_status status = MORTISE_S_OK;

    memset(s, 0, sizeof *s);
    if (text.n > 0)
        status = bytes_decode(&s->text, text);
    else if (json.n > 0)
        status = bytes_put(&s->text, mortise_strn(json.p, json.n));
    if (status == MORTISE_S_OK && reasoning.n > 0)
        status = bytes_decode(&s->reasoning, reasoning);
    if (status == MORTISE_S_OK && refusal.n > 0)
        status = bytes_decode(&s->refusal, refusal);
    return status;
}

typedef mortise_status piece_fn(mortise_host *, const mortise_host_api *,
                                mortise_call, mortise_str);

/* A word and the blanks behind it are a piece. */
static mortise_status give_words(const mortise_inst *inst,
                                 const mortise_request *r, mortise_str text,
                                 piece_fn *give)
{
    mortise_status status = MORTISE_S_OK;
    uint64_t n;

    for (; status == MORTISE_S_OK && text.n > 0; text.p += n, text.n -= n) {
        n = 0;
        while (n < text.n && text.p[n] != ' ')
            n++;
        while (n < text.n && text.p[n] == ' ')
            n++;
        status = give(inst->host, inst->api, r->call, mortise_strn(text.p, n));
    }
    return status;
}

static mortise_status give_pieces(const mortise_inst *inst,
                                  const struct asked *a, const struct said *s)
{
    int32_t stream = 0;
    mortise_status status;

    mortise_jv_bool(mortise_jv_get(a->body, "stream"), &stream);
    if (!stream)
        return MORTISE_S_OK;
    status = give_words(inst, a->request, bytes_str(&s->reasoning),
                        mortise_emit_reasoning);
    return status != MORTISE_S_OK
               ? status
               : give_words(inst, a->request, bytes_str(&s->text),
                            mortise_emit_delta);
}

static void write_part(mortise_jw *w, const char *type,
                       const struct bytes *text)
{
    if (text->n == 0)
        return;
    mortise_jw_object(w);
    mortise_jw_key(w, "type");
    mortise_jw_cstr(w, type);
    mortise_jw_key(w, "text");
    mortise_jw_string(w, bytes_str(text));
    mortise_jw_end(w);
}

/* The nth call of the reply, from 1. */
static void write_call(mortise_jw *w, mortise_jv call, int64_t turn, int n)
{
    mortise_jv id = mortise_jv_get(call, "id");
    char made[64];

    mortise_jw_object(w);
    mortise_jw_key(w, "type");
    mortise_jw_cstr(w, "tool_call");
    mortise_jw_key(w, "id");
    snprintf(made, sizeof made, "call_%lld_%d", (long long)turn, n);
    if (id.n > 0)
        mortise_jw_value(w, id);
    else
        mortise_jw_cstr(w, made);
    copy(w, call, "name");
    copy(w, call, "arguments_text");
    if (mortise_jv_get(call, "arguments").n > 0) {
        copy(w, call, "arguments");
    } else if (mortise_jv_get(call, "arguments_text").n == 0) {
        mortise_jw_key(w, "arguments");
        mortise_jw_object(w);
        mortise_jw_end(w);
    }
    mortise_jw_end(w);
}

static void write_message(mortise_jw *w, const struct asked *a,
                          mortise_jv reply, const struct said *s)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(reply, "tool_calls"));
    mortise_jv call;
    int n = 0;

    mortise_jw_object(w);
    mortise_jw_key(w, "role");
    mortise_jw_cstr(w, "assistant");
    mortise_jw_key(w, "parts");
    mortise_jw_array(w);
    write_part(w, "reasoning", &s->reasoning);
    write_part(w, "text", &s->text);
    write_part(w, "refusal", &s->refusal);
    while (mortise_jv_next(&it, NULL, &call))
        write_call(w, call, a->turn, ++n);
    mortise_jw_end(w);
    mortise_jw_end(w);
}

static const char *stop_of(mortise_jv reply)
{
    if (mortise_jv_count(mortise_jv_get(reply, "tool_calls")) > 0)
        return "tools";
    return mortise_jv_get(reply, "refusal").n > 0 ? "refusal" : "end";
}

static mortise_status give_output(const mortise_inst *inst,
                                  const struct asked *a, mortise_jv reply,
                                  const struct said *s)
{
    mortise_emitter out;
    char room[1024];

    mortise_emitter_init(&out, inst->host, inst->api, a->request->call, room,
                         sizeof room);
    mortise_jw_object(&out.w);
    mortise_jw_key(&out.w, "message");
    write_message(&out.w, a, reply, s);
    if (mortise_jv_get(reply, "stop").n > 0) {
        copy(&out.w, reply, "stop");
    } else {
        mortise_jw_key(&out.w, "stop");
        mortise_jw_cstr(&out.w, stop_of(reply));
    }
    copy(&out.w, a->body, "model");
    mortise_jw_end(&out.w);
    return mortise_emitter_finish(&out);
}

/* A count that the script gives, or else the one that is ours. */
static void write_count(mortise_jw *w, mortise_jv usage, const char *name,
                        int64_t words)
{
    mortise_jw_key(w, name);
    if (mortise_jv_get(usage, name).n > 0)
        mortise_jw_value(w, mortise_jv_get(usage, name));
    else
        mortise_jw_int(w, words);
}

static mortise_status give_usage(const mortise_inst *inst,
                                 const mortise_request *r, mortise_jv usage,
                                 int64_t in, int64_t out)
{
    char room[512];
    mortise_str text;
    mortise_status status;
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "model_calls");
    mortise_jw_int(&w, 1);
    write_count(&w, usage, "input_tokens", in);
    write_count(&w, usage, "output_tokens", out);
    copy(&w, usage, "cached_tokens");
    copy(&w, usage, "cache_write_tokens");
    copy(&w, usage, "reasoning_tokens");
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &text);
    return status != MORTISE_S_OK
               ? status
               : mortise_emit_usage(inst->host, inst->api, r->call, text);
}

static int64_t words_said(const struct said *s)
{
    return count_words(bytes_str(&s->text)) +
           count_words(bytes_str(&s->reasoning)) +
           count_words(bytes_str(&s->refusal));
}

/* What the script has for this request: usage, pieces, and the reply or the
 * error. */
static mortise_status give_reply(const mortise_inst *inst,
                                 const struct asked *a, mortise_jv reply)
{
    mortise_jv usage = mortise_jv_get(reply, "usage");
    mortise_jv error = mortise_jv_get(reply, "error");
    struct said s;
    mortise_status status = said_init(&s, reply);

    if (status == MORTISE_S_OK && (error.n == 0 || usage.n > 0))
        status = give_usage(inst, a->request, usage, a->words, words_said(&s));
    if (status == MORTISE_S_OK)
        status = give_pieces(inst, a, &s);
    if (status == MORTISE_S_OK && error.n == 0)
        status = give_output(inst, a, reply, &s);
    said_finish(&s);
    if (status != MORTISE_S_OK)
        return no_output(inst, a->request, status);
    return error.n > 0 ? give_error(inst, a->request, error) : MORTISE_S_OK;
}

static mortise_status chat(mortise_inst *inst, const mortise_request *r)
{
    struct asked a;
    mortise_jv reply;
    mortise_status status = asked_init(&a, r);

    if (status == MORTISE_S_OK)
        status = find_reply(inst, &a, &reply);
    if (status == MORTISE_S_NOMEM)
        status = no_memory(inst, r);
    else if (status != MORTISE_S_OK)
        status = no(inst, r, "not a valid request of mortise.model/1");
    else if (reply.n == 0)
        status = none_fits(inst, &a);
    else
        status = give_reply(inst, &a, reply);
    asked_finish(&a);
    return status;
}

/* ---- vectors ------------------------------------------------------------- */

static uint64_t hash(mortise_str word)
{
    uint64_t h = 14695981039346656037u;

    for (uint64_t i = 0; i < word.n; i++) {
        char c = word.p[i];

        h ^= (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        h *= 1099511628211u;
    }
    return h;
}

/* Returns how many words there are. */
static int64_t fill(double *v, int64_t n, mortise_str text)
{
    mortise_str word;
    int64_t words = 0;
    double square = 0;

    for (int64_t i = 0; i < n; i++)
        v[i] = 0;
    for (; next_word(&text, &word); words++) {
        uint64_t h = hash(word);

        v[(h & INT64_MAX) % (uint64_t)n] += h >> 63 ? -1 : 1;
    }
    for (int64_t i = 0; i < n; i++)
        square += v[i] * v[i];
    for (int64_t i = 0; i < n && square > 0; i++)
        v[i] /= sqrt(square);
    return words;
}

static void write_vector(mortise_jw *w, const double *v, int64_t n)
{
    mortise_jw_array(w);
    for (int64_t i = 0; i < n; i++)
        if (v[i] < 0 || v[i] > 0)
            mortise_jw_double(w, v[i]);
        else
            mortise_jw_int(w, 0);
    mortise_jw_end(w);
}

/* One vector after the other, in the room of the first. */
static mortise_status write_vectors(mortise_jw *w, mortise_jv texts,
                                    int64_t dimensions, int64_t *words)
{
    double *v = malloc((size_t)dimensions * sizeof *v);
    mortise_jv_iter it = mortise_jv_each(texts);
    struct bytes text = {NULL, 0, 0};
    mortise_status status = v != NULL ? MORTISE_S_OK : MORTISE_S_NOMEM;
    mortise_jv one;

    mortise_jw_array(w);
    while (status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &one)) {
        text.n = 0;
        status = bytes_decode(&text, one);
        if (status != MORTISE_S_OK)
            break;
        *words += fill(v, dimensions, bytes_str(&text));
        write_vector(w, v, dimensions);
    }
    mortise_jw_end(w);
    bytes_free(&text);
    free(v);
    return status;
}

static mortise_status give_vectors(const mortise_inst *inst,
                                   const mortise_request *r, mortise_jv body,
                                   int64_t dimensions)
{
    mortise_emitter out;
    mortise_status status;
    char room[1024];
    int64_t words = 0;

    mortise_emitter_init(&out, inst->host, inst->api, r->call, room,
                         sizeof room);
    mortise_jw_object(&out.w);
    mortise_jw_key(&out.w, "vectors");
    status = write_vectors(&out.w, mortise_jv_get(body, "texts"), dimensions,
                           &words);
    copy(&out.w, body, "model");
    mortise_jw_end(&out.w);
    if (status == MORTISE_S_OK)
        status = mortise_emitter_finish(&out);
    if (status == MORTISE_S_OK)
        status = give_usage(inst, r, mortise_jv_none(), words, 0);
    return status;
}

static mortise_status embed(mortise_inst *inst, const mortise_request *r)
{
    int64_t dimensions = DIMENSIONS;
    mortise_jv body, said;
    mortise_status status;

    if (mortise_jv_parse(r->body, &body) != MORTISE_S_OK)
        return no(inst, r, "not a valid request of mortise.model/1");
    said = mortise_jv_get(body, "dimensions");
    if (said.n > 0 && (mortise_jv_int(said, &dimensions) != MORTISE_S_OK ||
                       dimensions < 1 || dimensions > DIMENSIONS_MAX))
        return no(inst, r, "dimensions must be from 1 to 16384");
    status = give_vectors(inst, r, body, dimensions);
    return status == MORTISE_S_OK ? status : no_output(inst, r, status);
}

/* ---- plugin and module --------------------------------------------------- */

static mortise_status
refuse_config(mortise_host *host, const mortise_host_api *api, const char *msg)
{
    return mortise_refuse(host, api, 0, MORTISE_S_INVALID, "permanent",
                          "invalid", msg);
}

/* What the schema cannot say: why a script is none, or NULL. */
static const char *wrong_with(mortise_jv replies)
{
    mortise_jv_iter it = mortise_jv_each(replies), calls;
    mortise_jv reply, call;

    while (mortise_jv_next(&it, NULL, &reply)) {
        if (mortise_jv_get(reply, "text").n > 0 &&
            mortise_jv_get(reply, "json").n > 0)
            return "a reply can have `text` or `json`, not both";
        calls = mortise_jv_each(mortise_jv_get(reply, "tool_calls"));
        while (mortise_jv_next(&calls, NULL, &call))
            if (mortise_jv_get(call, "arguments").n > 0 &&
                mortise_jv_get(call, "arguments_text").n > 0)
                return "a tool call can have `arguments` or `arguments_text`, "
                       "not both";
    }
    return NULL;
}

static void destroy(mortise_inst *inst)
{
    free(inst->config);
    free(inst);
}

static mortise_status fill_inst(mortise_inst *inst, mortise_str config)
{
    mortise_jv v;
    const char *wrong;

    if (config.n > 0)
        memcpy(inst->config, config.p, config.n);
    if (mortise_jv_parse(mortise_strn(inst->config, config.n), &v) !=
        MORTISE_S_OK)
        return refuse_config(inst->host, inst->api, "the config is not JSON");
    inst->replies = mortise_jv_get(v, "replies");
    wrong = wrong_with(inst->replies);
    return wrong == NULL ? MORTISE_S_OK
                         : refuse_config(inst->host, inst->api, wrong);
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_inst *inst = calloc(1, sizeof *inst);
    mortise_status status;

    if (inst != NULL)
        inst->config = malloc(config.n + 1);
    if (inst == NULL || inst->config == NULL) {
        free(inst);
        return nomem(host, api, 0);
    }
    inst->host = host;
    inst->api = api;
    status = fill_inst(inst, config);
    if (status == MORTISE_S_OK)
        *out = inst;
    else
        destroy(inst);
    return status;
}

static const void *get_interface(mortise_inst *inst, const char *id)
{
    static const mortise_model model = {
        .size = sizeof model, .chat = chat, .embed = embed};

    (void)inst;
    return strcmp(id, MORTISE_MODEL_1) == 0 ? &model : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "scripted",
    .version = "0.1.0",
    .create = create,
    .get_interface = get_interface,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
