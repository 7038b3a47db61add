/* question.c -- what a server wants to know of a person (elicitation).
 *
 * Every question becomes a request of the run's (interrupt.request/1), which a
 * person answers whenever that is, from wherever: `mortise approve RUN --answer
 * '{...}'` accepts, `mortise reject RUN` declines.  So the answer is
 *
 *     {"approved": true, "answer": {...}}     accept, with that content
 *     {"approved": false}                     decline
 *
 * and its schema has the server's requestedSchema as that of `answer`.  What a
 * person leaves out and the server has a `default` for is filled in.  The payload
 * says who asks: {server, tool, mode, url?}; a URL is shown whole, in the prompt,
 * too, and nothing of it is fetched: that a person accepts says that they will visit it, no more.
 *
 * A server says itself what it asks: the words are a stranger's, and what is
 * shown says so.
 *
 *   (1) A form has a schema of at most 64 KiB, with at most 256 properties, of
 *       which at most 256 are required: what is done about it is bounded.
 *   (2) A person is sent to an address with https, or to one with http on this
 *       machine, and to no other: not to a program (javascript:, file:), nor to
 *       where anybody on the way can read along. */
#include "call.h"
#include "oauth_url.h"
#include "rpc.h"

enum { PROMPT_MAX = 4096, URL_MAX = 8192 };
enum { SCHEMA_MAX = 64 << 10, MEMBERS_MAX = 256 };

static int is_form(mortise_jv params)
{
    mortise_jv mode = mortise_jv_get(params, "mode");

    return mortise_jv_type(mode) == MORTISE_JV_NONE ||
           mortise_jv_is(mode, mortise_strz("form"));
}

static int has_too_many(mortise_jv of)
{
    mortise_jv_iter it = mortise_jv_each(of);
    mortise_jv one;
    uint64_t n = 0;

    while (n <= MEMBERS_MAX && mortise_jv_next(&it, NULL, &one))
        n++;
    return n > MEMBERS_MAX;
}

/* (1) */
static const char *judge_form(mortise_jv schema)
{
    mortise_jv properties;

    if (schema.n > SCHEMA_MAX)
        return "the requestedSchema of a question exceeds 64 KiB";
    properties = mortise_jv_get(schema, "properties");
    if (mortise_jv_type(properties) != MORTISE_JV_OBJECT)
        return "a question has no requestedSchema with properties";
    return has_too_many(properties) ||
                   has_too_many(mortise_jv_get(schema, "required"))
               ? "a question has more than 256 properties"
               : NULL;
}

/* (2) */
static const char *judge_url(mortise_jv url)
{
    struct bytes text = {0};
    struct oauth_url u;
    const char *mark, *why = NULL;

    if (mortise_jv_type(url) != MORTISE_JV_STRING || url.n <= 2 ||
        url.n > URL_MAX)
        return "a question has no URL, or its URL exceeds 8 KiB";
    if (bytes_decode(&text, url) != MORTISE_S_OK)
        return "the URL of a question is not text";
    mark = text.n > 0 ? (const char *)memchr(text.p, '#', text.n) : NULL;
    if (mark != NULL) /* a place in what is there: whatever it is */
        text.n = (uint64_t)(mark - text.p);
    if (oauth_url_read(bytes_str(&text), &u) != MORTISE_S_OK ||
        (u.scheme.n != strlen("https") && !oauth_url_is_loopback(&u)))
        why =
            "the URL of a question is neither https, nor http to this machine";
    bytes_free(&text);
    return why;
}

const char *mcp_question_judge(mortise_jv params)
{
    if (is_form(params))
        return judge_form(mortise_jv_get(params, "requestedSchema"));
    if (!mortise_jv_is(mortise_jv_get(params, "mode"), mortise_strz("url")))
        return "the mode of a question is neither form nor url";
    return judge_url(mortise_jv_get(params, "url"));
}

/* ---- as a request of the run's ----------------------------------------------- */

static void write_prompt(mortise_jw *w, const char *server, mortise_str tool,
                         mortise_jv params)
{
    struct bytes text = {0};

    bytes_put(&text, mortise_strz("The MCP server '"));
    bytes_put(&text, mortise_strz(server));
    bytes_put(&text, mortise_strz("' asks"));
    if (tool.n > 0) {
        bytes_put(&text, mortise_strz(", for '"));
        bytes_put(&text, tool);
        bytes_put(&text, mortise_strz("'"));
    }
    bytes_put(&text, mortise_strz(": "));
    mcp_rpc_words(&text, mortise_jv_get(params, "message"), PROMPT_MAX);
    if (!is_form(params)) {
        bytes_put(&text, mortise_strz(" -- to be done at "));
        mcp_rpc_words(&text, mortise_jv_get(params, "url"), URL_MAX);
    }
    mortise_jw_key(w, "prompt");
    mortise_jw_string(w, bytes_str(&text));
    bytes_free(&text);
}

static void write_payload(mortise_jw *w, const char *server, mortise_str tool,
                          mortise_jv params)
{
    mortise_jw_key(w, "payload");
    mortise_jw_object(w);
    mortise_jw_key(w, "server");
    mortise_jw_cstr(w, server);
    mortise_jw_key(w, "tool");
    mortise_jw_string(w, tool);
    mortise_jw_key(w, "mode");
    mortise_jw_cstr(w, is_form(params) ? "form" : "url");
    if (!is_form(params)) {
        mortise_jw_key(w, "url");
        mortise_jw_value(w, mortise_jv_get(params, "url"));
    }
    mortise_jw_end(w);
}

static mortise_jv default_of(mortise_jv properties, mortise_jv name)
{
    mortise_jv_iter it = mortise_jv_each(properties);
    mortise_jv one, property;

    while (mortise_jv_next(&it, &one, &property))
        if (one.n == name.n && memcmp(one.p, name.p, name.n) == 0)
            return mortise_jv_get(property, "default");
    return mortise_jv_none();
}

/* What is required and has no default; writes the list where `w` is there. */
static uint64_t required(mortise_jw *w, mortise_jv schema)
{
    mortise_jv properties = mortise_jv_get(schema, "properties");
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(schema, "required"));
    uint64_t n = 0;
    mortise_jv one;

    while (mortise_jv_next(&it, NULL, &one)) {
        if (mortise_jv_type(default_of(properties, one)) != MORTISE_JV_NONE)
            continue;
        n++;
        if (w != NULL)
            mortise_jw_value(w, one);
    }
    return n;
}

static void write_type(mortise_jw *w, const char *type)
{
    mortise_jw_key(w, "type");
    mortise_jw_cstr(w, type);
}

static void write_list(mortise_jw *w, const char *name, const char *one)
{
    mortise_jw_key(w, name);
    mortise_jw_array(w);
    mortise_jw_cstr(w, one);
    mortise_jw_end(w);
}

/* The server's, without what is filled in. */
static void write_content_schema(mortise_jw *w, mortise_jv schema)
{
    mortise_jw_object(w);
    write_type(w, "object");
    mortise_jw_key(w, "properties");
    mortise_jw_value(w, mortise_jv_get(schema, "properties"));
    if (required(NULL, schema) > 0) {
        mortise_jw_key(w, "required");
        mortise_jw_array(w);
        required(w, schema);
        mortise_jw_end(w);
    }
    mortise_jw_end(w);
}

/* Who says yes says what is wanted. */
static void write_condition(mortise_jw *w)
{
    mortise_jw_key(w, "if");
    mortise_jw_object(w);
    mortise_jw_key(w, "properties");
    mortise_jw_object(w);
    mortise_jw_key(w, "approved");
    mortise_jw_object(w);
    mortise_jw_key(w, "const");
    mortise_jw_bool(w, 1);
    mortise_jw_end(w);
    mortise_jw_end(w);
    mortise_jw_end(w);
    mortise_jw_key(w, "then");
    mortise_jw_object(w);
    write_list(w, "required", "answer");
    mortise_jw_end(w);
}

static void write_property(mortise_jw *w, const char *name, const char *type)
{
    mortise_jw_key(w, name);
    mortise_jw_object(w);
    write_type(w, type);
    mortise_jw_end(w);
}

static void write_schema(mortise_jw *w, mortise_jv params)
{
    mortise_jv schema = mortise_jv_get(params, "requestedSchema");

    mortise_jw_key(w, "schema");
    mortise_jw_object(w);
    write_type(w, "object");
    write_list(w, "required", "approved");
    mortise_jw_key(w, "properties");
    mortise_jw_object(w);
    write_property(w, "approved", "boolean");
    write_property(w, "reason", "string");
    if (is_form(params)) {
        mortise_jw_key(w, "answer");
        write_content_schema(w, schema);
    }
    mortise_jw_end(w);
    if (is_form(params) && required(NULL, schema) > 0)
        write_condition(w);
    mortise_jw_end(w);
}

mortise_status mcp_question_write(mortise_jw *w, const char *server,
                                  mortise_str tool, mortise_jv params,
                                  const char *step, uint64_t hold_ms,
                                  const char **why)
{
    *why = mcp_question_judge(params);
    if (*why != NULL)
        return MORTISE_S_INVALID;
    mortise_jw_object(w);
    write_prompt(w, server, tool, params);
    write_payload(w, server, tool, params);
    write_schema(w, params);
    mortise_jw_key(w, "step");
    mortise_jw_cstr(w, step);
    if (hold_ms != 0) {
        mortise_jw_key(w, "hold_ms");
        mortise_jw_int(w, (int64_t)hold_ms);
    }
    mortise_jw_end(w);
    return w->status;
}

/* ---- the answer ---------------------------------------------------------------- */

/* What a person said, and the defaults of what they did not. */
static void write_content(mortise_jw *w, mortise_jv params, mortise_jv said)
{
    mortise_jv_iter it = mortise_jv_each(said);
    mortise_jv name, value;

    mortise_jw_key(w, "content");
    mortise_jw_object(w);
    while (mortise_jv_next(&it, &name, &value)) {
        struct bytes text = {0};

        if (bytes_decode(&text, name) == MORTISE_S_OK) {
            mortise_jw_keyn(w, bytes_str(&text));
            mortise_jw_value(w, value);
        }
        bytes_free(&text);
    }
    it = mortise_jv_each(mortise_jv_get(
        mortise_jv_get(params, "requestedSchema"), "properties"));
    while (mortise_jv_next(&it, &name, &value)) {
        mortise_jv otherwise = mortise_jv_get(value, "default");
        struct bytes text = {0};

        if (mortise_jv_type(otherwise) != MORTISE_JV_NONE &&
            bytes_decode(&text, name) == MORTISE_S_OK &&
            mortise_jv_type(mortise_jv_getn(said, bytes_str(&text))) ==
                MORTISE_JV_NONE) {
            mortise_jw_keyn(w, bytes_str(&text));
            mortise_jw_value(w, otherwise);
        }
        bytes_free(&text);
    }
    mortise_jw_end(w);
}

void mcp_question_write_answer(mortise_jw *w, mortise_jv params,
                               mortise_jv answer)
{
    int32_t yes = 0;

    mortise_jv_bool(mortise_jv_get(answer, "approved"), &yes);
    mortise_jw_key(w, "action");
    mortise_jw_cstr(w, yes ? "accept" : "decline");
    if (yes && is_form(params))
        write_content(w, params, mortise_jv_get(answer, "answer"));
}
