#include "reply.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fits.h"

/* ---- parts --------------------------------------------------------------- */

void reply_init(struct reply *r)
{
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < USED_N; i++)
        r->used[i] = NOT_SAID;
}

static void part_finish(struct part *p)
{
    bytes_free(&p->text);
    bytes_free(&p->id);
    bytes_free(&p->name);
    bytes_free(&p->saved);
    opaque_finish(&p->beside);
    opaque_finish(&p->within);
}

void reply_finish(struct reply *r)
{
    for (size_t i = 0; i < r->n_parts; i++)
        part_finish(&r->parts[i]);
    free(r->parts);
    bytes_free(&r->stop_reason);
    bytes_free(&r->model);
    bytes_free(&r->id);
    reply_init(r);
}

struct part *reply_add(struct reply *r, enum part_kind kind)
{
    size_t cap = r->cap_parts > 0 ? 2 * r->cap_parts : 4;
    struct part *parts = r->parts;

    if (r->n_parts == r->cap_parts) {
        parts = realloc(r->parts, cap * sizeof *parts);
        if (parts == NULL) {
            r->nomem = true;
            return NULL;
        }
        r->parts = parts;
        r->cap_parts = cap;
    }
    parts += r->n_parts++;
    memset(parts, 0, sizeof *parts);
    parts->kind = kind;
    return parts;
}

struct part *reply_part(struct reply *r, enum part_kind kind)
{
    for (size_t i = 0; i < r->n_parts; i++)
        if (r->parts[i].kind == kind)
            return &r->parts[i];
    return reply_add(r, kind);
}

void reply_remove(struct reply *r, struct part *p)
{
    size_t behind = (size_t)(r->parts + r->n_parts - (p + 1));

    part_finish(p);
    memmove(p, p + 1, behind * sizeof *p);
    r->n_parts--;
}

void reply_put(struct reply *r, struct bytes *t, mortise_str s)
{
    r->nomem |= bytes_put(t, s) != MORTISE_S_OK;
}

void reply_append(struct reply *r, struct bytes *t, mortise_jv string)
{
    r->nomem |= bytes_decode(t, string) == MORTISE_S_NOMEM;
}

void reply_set(struct reply *r, struct bytes *t, mortise_jv string)
{
    t->n = 0;
    reply_append(r, t, string);
}

void reply_save(struct reply *r, struct part *p, mortise_jv v)
{
    mortise_status status = fits_host(v);

    if (status == MORTISE_S_OK)
        reply_put(r, &p->saved, mortise_strn(v.p, v.n));
    r->nomem |= status == MORTISE_S_NOMEM;
}

/* ---- usage --------------------------------------------------------------- */

/* Where servers say it; a later row counts only where an earlier one says
 * nothing.  NULL: in the object itself. */
static const struct {
    const char *within, *name;
    enum used what;
} said[] = {
    {NULL, "prompt_tokens", USED_INPUT},
    {NULL, "input_tokens", USED_INPUT},
    {NULL, "completion_tokens", USED_OUTPUT},
    {NULL, "output_tokens", USED_OUTPUT},
    {"prompt_tokens_details", "cached_tokens", USED_CACHED},
    {"input_tokens_details", "cached_tokens", USED_CACHED},
    {NULL, "prompt_cache_hit_tokens", USED_CACHED}, /* DeepSeek */
    {"prompt_tokens_details", "cache_write_tokens", USED_CACHE_WRITE},
    {"input_tokens_details", "cache_write_tokens", USED_CACHE_WRITE},
    {"completion_tokens_details", "reasoning_tokens", USED_REASONING},
    {"output_tokens_details", "reasoning_tokens", USED_REASONING},
};

void reply_usage(struct reply *r, mortise_jv usage)
{
    int64_t used[USED_N], n;
    bool any = false;

    for (size_t i = 0; i < USED_N; i++)
        used[i] = NOT_SAID;
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        mortise_jv at = said[i].within != NULL
                            ? mortise_jv_get(usage, said[i].within)
                            : usage;

        n = count_read(mortise_jv_get(at, said[i].name));
        if (used[said[i].what] != NOT_SAID || n == NOT_SAID)
            continue;
        used[said[i].what] = n;
        any = true;
    }
    if (any)
        memcpy(r->used, used, sizeof used);
}

enum { MODEL_MAX = 128 }; /* bytes of a model's name in usage (plugin.h) */

void reply_emit_usage(const struct reply *r, mortise_host *host,
                      const mortise_host_api *api, mortise_call call)
{
    static const char *const names[] = {
        [USED_INPUT] = "input_tokens",
        [USED_OUTPUT] = "output_tokens",
        [USED_CACHED] = "cached_tokens",
        [USED_CACHE_WRITE] = "cache_write_tokens",
        [USED_REASONING] = "reasoning_tokens",
    };
    char room[1024];
    mortise_str text;
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "model_calls");
    mortise_jw_int(&w, 1);
    for (size_t i = 0; i < USED_N; i++)
        count_write(&w, names[i], r->used[i]);
    if (r->model.n > 0 && r->model.n <= MODEL_MAX) {
        mortise_jw_key(&w, "model");
        mortise_jw_string(&w, bytes_str(&r->model));
    }
    mortise_jw_end(&w);
    if (mortise_jw_finish(&w, &text) == MORTISE_S_OK)
        mortise_emit_usage(host, api, call, text);
}

/* ---- calls --------------------------------------------------------------- */

/* Models write "" or null where a tool takes nothing. */
static void take_arguments(struct reply *r, struct part *p)
{
    mortise_str text = bytes_str(&p->text);
    mortise_status status = MORTISE_S_INVALID;

    p->arguments = mortise_jv_none();
    while (text.n > 0 && memchr(" \t\r\n", *text.p, 4) != NULL) {
        text.p++;
        text.n--;
    }
    p->broken = text.n > 0 && !mortise_str_is(text, "null");
    if (!p->broken || mortise_jv_parse(text, &p->arguments) != MORTISE_S_OK)
        return;
    if (mortise_jv_type(p->arguments) == MORTISE_JV_OBJECT)
        status = fits_host(p->arguments);
    p->broken = status != MORTISE_S_OK;
    r->nomem |= status == MORTISE_S_NOMEM;
}

static bool is_same(const struct bytes *a, const struct bytes *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->p, b->p, a->n) == 0);
}

static bool is_taken(const struct reply *r, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (r->parts[k].kind == PART_CALL &&
            is_same(&r->parts[k].id, &r->parts[i].id))
            return true;
    return false;
}

static void name(struct reply *r, size_t i)
{
    struct part *p = &r->parts[i];
    char id[32];

    if (p->name.n == 0)
        reply_put(r, &p->name, mortise_strz("unknown"));
    if (p->id.n > 0 && !is_taken(r, i))
        return;
    snprintf(id, sizeof id, "mortise_%zu", i);
    p->id.n = 0;
    p->saved.n = 0;
    reply_put(r, &p->id, mortise_strz(id));
}

void reply_settle(struct reply *r)
{
    for (size_t i = 0; i < r->n_parts; i++)
        if (r->parts[i].kind == PART_CALL) {
            name(r, i);
            take_arguments(r, &r->parts[i]);
        }
}

/* ---- why it ended -------------------------------------------------------- */

/* The tool calls, with those among them that no tool can be run with. */
static size_t count_calls(const struct reply *r, size_t *broken)
{
    size_t n = 0;

    *broken = 0;
    for (size_t i = 0; i < r->n_parts; i++) {
        n += r->parts[i].kind == PART_CALL;
        *broken += r->parts[i].broken;
    }
    return n;
}

static bool refuses(const struct reply *r)
{
    for (size_t i = 0; i < r->n_parts; i++)
        if (r->parts[i].kind == PART_REFUSAL && r->parts[i].text.n > 0)
            return true;
    return false;
}

/* A server may call a reply with calls by any name, and one that was cut in a
 * call, too (vLLM says `tool_calls` of such); a reason that nobody knows may be
 * a cut. */
const char *reply_stop(const struct reply *r, int64_t max_tokens)
{
    const char *stop = r->stop != NULL ? r->stop : "end";
    size_t broken, calls = count_calls(r, &broken);

    if (r->cut)
        return stop;
    if (calls > 0 && broken > 0 && max_tokens > 0 &&
        r->used[USED_OUTPUT] >= max_tokens)
        return "length";
    if (calls > 0 && (broken == 0 || strcmp(stop, "other") != 0))
        return "tools";
    if (refuses(r))
        return "refusal";
    return strcmp(stop, "tools") == 0 ? "end" : stop;
}

/* ---- the output ---------------------------------------------------------- */

static void write_member(mortise_jw *w, const char *name, const struct bytes *t)
{
    if (t->n == 0)
        return;
    mortise_jw_key(w, name);
    mortise_jw_string(w, bytes_str(t));
}

static void write_call(mortise_jw *w, const struct part *p)
{
    mortise_jw_key(w, "id");
    mortise_jw_string(w, bytes_str(&p->id));
    mortise_jw_key(w, "name");
    mortise_jw_string(w, bytes_str(&p->name));
    if (p->broken) {
        write_member(w, "arguments_text", &p->text);
        return;
    }
    mortise_jw_key(w, "arguments");
    if (p->arguments.n > 0) {
        mortise_jw_value(w, p->arguments);
    } else {
        mortise_jw_object(w);
        mortise_jw_end(w);
    }
}

static void write_part(mortise_jw *w, const struct part *p, const char *issuer)
{
    static const char *const types[] = {
        [PART_TEXT] = "text",
        [PART_REASONING] = "reasoning",
        [PART_REFUSAL] = "refusal",
        [PART_CALL] = "tool_call",
    };

    mortise_jw_object(w);
    mortise_jw_key(w, "type");
    mortise_jw_cstr(w, types[p->kind]);
    if (p->kind == PART_CALL) {
        write_call(w, p);
    } else if (p->text.n > 0 || p->kind != PART_REASONING) {
        mortise_jw_key(w, "text");
        mortise_jw_string(w, bytes_str(&p->text));
    }
    if (p->saved.n > 0) {
        mortise_jw_key(w, "provider");
        mortise_jw_object(w);
        mortise_jw_key(w, "issuer");
        mortise_jw_cstr(w, issuer);
        mortise_jw_key(w, "data");
        mortise_jw_value(w, (mortise_jv){p->saved.p, p->saved.n});
        mortise_jw_end(w);
    }
    mortise_jw_end(w);
}

mortise_status reply_emit(const struct reply *r, const char *issuer,
                          int64_t max_tokens, mortise_host *host,
                          const mortise_host_api *api, mortise_call call)
{
    mortise_emitter out;
    char room[4096];

    mortise_emitter_init(&out, host, api, call, room, sizeof room);
    mortise_jw_object(&out.w);
    mortise_jw_key(&out.w, "message");
    mortise_jw_object(&out.w);
    mortise_jw_key(&out.w, "role");
    mortise_jw_cstr(&out.w, "assistant");
    mortise_jw_key(&out.w, "parts");
    mortise_jw_array(&out.w);
    for (size_t i = 0; i < r->n_parts; i++)
        write_part(&out.w, &r->parts[i], issuer);
    mortise_jw_end(&out.w);
    mortise_jw_end(&out.w);
    mortise_jw_key(&out.w, "stop");
    mortise_jw_cstr(&out.w, reply_stop(r, max_tokens));
    write_member(&out.w, "stop_reason", &r->stop_reason);
    write_member(&out.w, "model", &r->model);
    write_member(&out.w, "id", &r->id);
    mortise_jw_end(&out.w);
    return mortise_emitter_finish(&out);
}
