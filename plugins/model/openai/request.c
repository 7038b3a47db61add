#include "openai.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fits.h"

/* ---- members ------------------------------------------------------------- */

void request_refuse(struct body *b, const char *fmt, ...)
{
    char words[256];
    va_list ap;

    if (b->why.status != MORTISE_S_OK)
        return;
    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    problem_set(&b->why, MORTISE_MODEL_REQUEST, "%s", words);
    b->why.status = MORTISE_S_INVALID;
}

void request_take(struct body *b, mortise_str text)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_of(text));

    while (
        b->n_members < MEMBERS &&
        mortise_jv_next(&it, &b->names[b->n_members], &b->values[b->n_members]))
        b->n_members++;
}

mortise_jv request_get(const struct body *b, const char *name)
{
    for (size_t i = 0; i < b->n_members; i++)
        if (mortise_jv_is(b->names[i], mortise_strz(name)))
            return b->values[i];
    return mortise_jv_none();
}

void request_messages(struct body *b,
                      void (*write)(struct body *b, mortise_jv_iter it))
{
    struct prefixes *said = &b->inst->said;
    mortise_jv messages = request_get(b, "messages");
    mortise_jv_iter it = mortise_jv_each(messages);
    mortise_str made;
    uint64_t n = prefix_find(said, messages, &made), from;

    mortise_jw_array(&b->w);
    from = b->w.n;
    if (n > 0) {
        mortise_jw_value(&b->w, mortise_jv_of(made));
        it.p = messages.p + n;
    }
    write(b, it);
    if (b->why.status == MORTISE_S_OK && b->w.status == MORTISE_S_OK)
        prefix_keep(said, messages, mortise_strn(b->w.p + from, b->w.n - from));
    mortise_jw_end(&b->w);
}

bool request_member(struct body *b, const char *name)
{
    if (mortise_jv_get(b->extra, name).n > 0)
        return false;
    mortise_jw_key(&b->w, name);
    return true;
}

void request_copy(struct body *b, const char *name, const char *from)
{
    mortise_jv v = request_get(b, from);

    if (v.n > 0 && request_member(b, name))
        mortise_jw_value(&b->w, v);
}

/* A null takes a member away. */
void request_extra(struct body *b)
{
    mortise_jv_iter it = mortise_jv_each(b->extra);
    mortise_jv name, value;

    while (mortise_jv_next(&it, &name, &value)) {
        if (mortise_jv_type(value) == MORTISE_JV_NULL)
            continue;
        mortise_jw_keyn(&b->w, request_text(b, name));
        mortise_jw_value(&b->w, value);
    }
}

bool request_is(mortise_jv object, const char *member, const char *word)
{
    return mortise_jv_is(mortise_jv_get(object, member), mortise_strz(word));
}

/* ---- texts --------------------------------------------------------------- */

mortise_str request_text(struct body *b, mortise_jv string)
{
    mortise_str text = mortise_str_empty();

    b->room.n = 0;
    if (bytes_room(&b->room, string.n) != MORTISE_S_OK)
        b->why.status = MORTISE_S_NOMEM;
    else
        mortise_jv_text(string, b->room.p, b->room.cap, &text);
    return text;
}

void request_put(struct body *b, mortise_jv string)
{
    mortise_jw_string_put(&b->w, request_text(b, string));
}

static void put(struct body *b, const char *text)
{
    mortise_jw_string_put(&b->w, mortise_strz(text));
}

void request_results(struct body *b, mortise_jv parts,
                     void (*write)(struct body *b, mortise_jv part,
                                   bool is_error))
{
    mortise_jv_iter it = mortise_jv_each(parts);
    mortise_jv part;

    while (mortise_jv_next(&it, NULL, &part)) {
        int32_t is_error = 0;

        if (!request_is(part, "type", "tool_result")) {
            request_refuse(b, "a tool message can have only results");
            continue;
        }
        mortise_jv_bool(mortise_jv_get(part, "is_error"), &is_error);
        write(b, part, is_error != 0);
    }
}

void request_joined(struct body *b, mortise_jv parts, bool is_error)
{
    mortise_jv_iter it = mortise_jv_each(parts);
    const char *between = "";
    mortise_jv part;

    mortise_jw_string_begin(&b->w);
    put(b, is_error ? "error: " : "");
    while (mortise_jv_next(&it, NULL, &part)) {
        if (!request_is(part, "type", "text") &&
            !request_is(part, "type", "refusal"))
            continue;
        put(b, between);
        request_put(b, mortise_jv_get(part, "text"));
        between = "\n\n";
    }
    mortise_jw_string_end(&b->w);
}

bool request_has_media(mortise_jv parts)
{
    mortise_jv_iter it = mortise_jv_each(parts);
    mortise_jv part;

    while (mortise_jv_next(&it, NULL, &part))
        if (!request_is(part, "type", "text"))
            return true;
    return false;
}

void request_url(struct body *b, mortise_jv part)
{
    mortise_jv url = mortise_jv_get(part, "url");

    mortise_jw_string_begin(&b->w);
    if (url.n > 0) {
        request_put(b, url);
    } else {
        put(b, "data:");
        request_put(b, mortise_jv_get(part, "media_type"));
        put(b, ";base64,");
        request_put(b, mortise_jv_get(part, "data"));
    }
    mortise_jw_string_end(&b->w);
}

/* What is no JSON object goes back in one: servers that render it with a
 * template refuse the whole conversation otherwise. */
void request_arguments(struct body *b, mortise_jv call)
{
    mortise_jv arguments = mortise_jv_get(call, "arguments");
    mortise_jv wrote = mortise_jv_get(call, "arguments_text");

    if (arguments.n > 0) {
        mortise_jw_string(&b->w, mortise_strn(arguments.p, arguments.n));
        return;
    }
    mortise_jw_string_begin(&b->w);
    put(b, "{\"arguments_text\":");
    mortise_jw_string_put(&b->w, wrote.n > 0 ? mortise_strn(wrote.p, wrote.n)
                                             : mortise_strz("\"\""));
    put(b, "}");
    mortise_jw_string_end(&b->w);
}

mortise_jv request_own(const struct body *b, mortise_jv part)
{
    mortise_jv provider = mortise_jv_get(part, "provider");

    return mortise_jv_is(mortise_jv_get(provider, "issuer"),
                         bytes_str(&b->issuer))
               ? mortise_jv_get(provider, "data")
               : mortise_jv_none();
}

void request_tool(struct body *b, mortise_jv tool)
{
    static const char *const members[] = {"name", "description", "parameters"};

    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        mortise_jv v = mortise_jv_get(tool, members[i]);

        if (v.n == 0)
            continue;
        mortise_jw_key(&b->w, members[i]);
        mortise_jw_value(&b->w, v);
    }
}

void request_schema(struct body *b, mortise_jv response)
{
    mortise_jv schema = mortise_jv_get(response, "schema");
    mortise_jv name = mortise_jv_get(response, "name");

    mortise_jw_key(&b->w, "name");
    if (name.n > 0)
        mortise_jw_value(&b->w, name);
    else
        mortise_jw_cstr(&b->w, "reply");
    mortise_jw_key(&b->w, "schema");
    mortise_jw_value(&b->w, schema);
    mortise_jw_key(&b->w, "strict");
    mortise_jw_bool(&b->w, fits_strict(schema));
}

/* ---- the request of http.request/1 --------------------------------------- */

static void write_url(struct body *b)
{
    mortise_jw_key(&b->w, "url");
    mortise_jw_string_begin(&b->w);
    mortise_jw_string_put(&b->w, bytes_str(&b->inst->base));
    put(b, b->dialect->path);
    mortise_jw_string_put(&b->w, bytes_str(&b->inst->query));
    mortise_jw_string_end(&b->w);
}

/* Does the deployment say this header itself? */
static bool is_said(struct body *b, mortise_jv headers, const char *name)
{
    mortise_jv_iter it = mortise_jv_each(headers);
    mortise_jv key, value;

    while (mortise_jv_next(&it, &key, &value)) {
        mortise_str text = request_text(b, key);

        if (text.n == strlen(name) && strncasecmp(text.p, name, text.n) == 0)
            return true;
    }
    return false;
}

static void write_headers(struct body *b)
{
    mortise_inst *inst = b->inst;
    const struct {
        const char *name;
        mortise_str value;
    } ours[] = {
        {"Accept",
         mortise_strz(b->stream ? "text/event-stream" : "application/json")},
        {"Authorization", bytes_str(&inst->bearer)},
        {"OpenAI-Organization", bytes_str(&inst->organization)},
        {"OpenAI-Project", bytes_str(&inst->project)},
    };
    mortise_jv said = {inst->headers.p, inst->headers.n}, name, value;
    mortise_jv_iter it = mortise_jv_each(said);

    mortise_jw_key(&b->w, "headers");
    mortise_jw_object(&b->w);
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        if (ours[i].value.n == 0 || is_said(b, said, ours[i].name))
            continue;
        mortise_jw_key(&b->w, ours[i].name);
        mortise_jw_string(&b->w, ours[i].value);
    }
    while (mortise_jv_next(&it, &name, &value)) {
        mortise_jw_keyn(&b->w, request_text(b, name));
        mortise_jw_value(&b->w, value);
    }
    mortise_jw_end(&b->w);
}

/* A reply that is not streamed comes after all that it was reasoned, so that no
 * byte for minutes is nothing unusual; the host's own patience ends before. */
enum { IDLE_MS = 600000 };

static void write_times(struct body *b)
{
    mortise_jv timeout = request_get(b, "timeout_ms");
    mortise_jv idle = request_get(b, "idle_timeout_ms");

    if (timeout.n > 0) {
        mortise_jw_key(&b->w, "timeout_ms");
        mortise_jw_value(&b->w, timeout);
    }
    mortise_jw_key(&b->w, "idle_timeout_ms");
    if (idle.n > 0)
        mortise_jw_value(&b->w, idle);
    else
        mortise_jw_int(&b->w, IDLE_MS);
}

static void write_request(struct body *b)
{
    mortise_jw_object(&b->w);
    write_url(b);
    mortise_jw_key(&b->w, "method");
    mortise_jw_cstr(&b->w, "POST");
    write_headers(b);
    write_times(b);
    mortise_jw_key(&b->w, "redirects");
    mortise_jw_int(&b->w, 0);
    if (b->stream) {
        mortise_jw_key(&b->w, "stream");
        mortise_jw_bool(&b->w, 1);
    }
    mortise_jw_key(&b->w, "json");
    mortise_jw_object(&b->w);
    b->dialect->ask(b);
    request_extra(b);
    mortise_jw_end(&b->w);
    mortise_jw_end(&b->w);
}

bool request_make(struct body *b, mortise_str *out)
{
    mortise_status status;

    mortise_jw_growing(&b->w, NULL, 0, bytes_more, NULL);
    write_request(b);
    status = mortise_jw_finish(&b->w, out);
    if (b->why.status == MORTISE_S_OK && status == MORTISE_S_INVALID)
        request_refuse(b, "the request is incomplete or nested too deeply");
    if (status == MORTISE_S_NOMEM || b->why.status == MORTISE_S_NOMEM)
        problem_no_memory(&b->why);
    return b->why.status == MORTISE_S_OK;
}

void request_finish(struct body *b)
{
    free(b->w.p);
    bytes_free(&b->room);
    bytes_free(&b->issuer);
    problem_finish(&b->why);
}
