/* conversation.c -- what models are asked and answer, and whether it is that.
 *
 * The format, <mortise/model.h>'s, is a JSON Schema: whoever breaks it hears
 * where.  What no schema can say is looked at besides: that each tool call has
 * its result, once, before anything else is said.  Servers refuse what breaks
 * that, each in its own words and only once it was sent.
 *
 * The schemas are compiled when they are first needed, and live as long as the
 * engine.
 */
#include "engine/host/conversation.h"

#include <string.h>

#include "json/schema.h"

/* ---- the schemas ----------------------------------------------------------
 */

#define JSON(...) #__VA_ARGS__

/* clang-format off */
static const struct def {
    const char *name, *schema;
} defs[] = {
    {"bytes", JSON({
        "properties": {"url": {"type": "string", "minLength": 1},
                       "media_type": {"type": "string", "minLength": 1},
                       "data": {"type": "string"}},
        "oneOf": [{"required": ["url"]}, {"required": ["media_type", "data"]}]
    })},
    {"text", JSON({
        "required": ["text"],
        "properties": {"type": true, "provider": true,
                       "text": {"type": "string"}},
        "additionalProperties": false
    })},
    {"image", JSON({
        "$ref": "#/$defs/bytes",
        "properties": {"type": true, "url": true, "media_type": true,
                       "data": true},
        "additionalProperties": false
    })},
    {"file", JSON({
        "$ref": "#/$defs/bytes",
        "properties": {"type": true, "url": true, "media_type": true,
                       "data": true, "name": {"type": "string"}},
        "additionalProperties": false
    })},
    {"tool_call", JSON({
        "required": ["id", "name"],
        "properties": {"type": true, "provider": true,
                       "id": {"type": "string", "minLength": 1},
                       "name": {"type": "string", "minLength": 1},
                       "arguments": {"type": "object"},
                       "arguments_text": {"type": "string"}},
        "oneOf": [{"required": ["arguments"]},
                  {"required": ["arguments_text"]}],
        "additionalProperties": false
    })},
    {"tool_result", JSON({
        "required": ["id", "parts"],
        "properties": {"type": true,
                       "id": {"type": "string", "minLength": 1},
                       "name": {"type": "string", "minLength": 1},
                       "parts": {"type": "array",
                                 "items": {"$ref": "#/$defs/said"}},
                       "is_error": {"type": "boolean"}},
        "additionalProperties": false
    })},
    {"reasoning", JSON({
        "properties": {"type": true, "provider": true,
                       "text": {"type": "string"}},
        "additionalProperties": false
    })},
    {"provider", JSON({
        "type": "object",
        "required": ["issuer", "data"],
        "properties": {"issuer": {"type": "string", "minLength": 1},
                       "data": true},
        "additionalProperties": false
    })},
    {"part", JSON({
        "type": "object",
        "required": ["type"],
        "properties": {
            "type": {"enum": ["text", "image", "file", "tool_call",
                              "tool_result", "reasoning", "refusal"]},
            "provider": {"$ref": "#/$defs/provider"}},
        "allOf": [
            {"if": {"properties": {"type": {"const": "text"}}},
             "then": {"$ref": "#/$defs/text"}},
            {"if": {"properties": {"type": {"const": "refusal"}}},
             "then": {"$ref": "#/$defs/text"}},
            {"if": {"properties": {"type": {"const": "image"}}},
             "then": {"$ref": "#/$defs/image"}},
            {"if": {"properties": {"type": {"const": "file"}}},
             "then": {"$ref": "#/$defs/file"}},
            {"if": {"properties": {"type": {"const": "tool_call"}}},
             "then": {"$ref": "#/$defs/tool_call"}},
            {"if": {"properties": {"type": {"const": "tool_result"}}},
             "then": {"$ref": "#/$defs/tool_result"}},
            {"if": {"properties": {"type": {"const": "reasoning"}}},
             "then": {"$ref": "#/$defs/reasoning"}}]
    })},
    {"said", JSON({
        "properties": {"type": {"enum": ["text", "image", "file"]}},
        "$ref": "#/$defs/part"
    })},
    {"message", JSON({
        "type": "object",
        "required": ["role", "parts"],
        "properties": {
            "role": {"enum": ["system", "user", "assistant", "tool"]},
            "parts": {"type": "array"}},
        "additionalProperties": false,
        "allOf": [
            {"if": {"properties": {"role": {"const": "system"}}},
             "then": {"properties": {"parts": {"minItems": 1, "items": {
                 "properties": {"type": {"const": "text"}},
                 "$ref": "#/$defs/part"}}}}},
            {"if": {"properties": {"role": {"const": "user"}}},
             "then": {"properties": {"parts": {"minItems": 1, "items": {
                 "$ref": "#/$defs/said"}}}}},
            {"if": {"properties": {"role": {"const": "tool"}}},
             "then": {"properties": {"parts": {"minItems": 1, "items": {
                 "properties": {"type": {"const": "tool_result"}},
                 "$ref": "#/$defs/part"}}}}},
            {"if": {"properties": {"role": {"const": "assistant"}}},
             "then": {"$ref": "#/$defs/assistant"}}]
    })},
    {"assistant", JSON({
        "type": "object",
        "required": ["role", "parts"],
        "properties": {
            "role": {"const": "assistant"},
            "parts": {"type": "array", "items": {
                "properties": {"type": {"enum": ["text", "image", "file",
                                                 "tool_call", "reasoning",
                                                 "refusal"]}},
                "$ref": "#/$defs/part"}}},
        "additionalProperties": false
    })},
    {"tool", JSON({
        "type": "object",
        "required": ["name", "parameters"],
        "properties": {"name": {"type": "string",
                                "pattern": "^[A-Za-z0-9_-]{1,64}$"},
                       "description": {"type": "string"},
                       "parameters": {"type": "object"}},
        "additionalProperties": false
    })},
};

static const char *const roots[] = {
    [MORTISE_CONVERSATION_CHAT] = JSON({
        "type": "object",
        "required": ["messages"],
        "properties": {
            "alias": {"type": "string", "minLength": 1},
            "model": {"type": "string", "minLength": 1},
            "messages": {"type": "array", "minItems": 1,
                         "items": {"$ref": "#/$defs/message"}},
            "tools": {"type": "array", "items": {"$ref": "#/$defs/tool"}},
            "tool_choice": {"if": {"type": "object"},
                "then": {"required": ["name"],
                         "properties": {"name": {"type": "string"}},
                         "additionalProperties": false},
                "else": {"enum": ["auto", "none", "required"]}},
            "parallel_tools": {"type": "boolean"},
            "temperature": {"type": "number", "minimum": 0},
            "max_tokens": {"type": "integer", "minimum": 1},
            "stop": {"type": "array", "items": {"type": "string"}},
            "reasoning_effort": {"type": "string", "minLength": 1},
            "response": {"type": "object",
                         "properties": {"schema": {"type": "object"},
                                        "name": {"type": "string"}},
                         "additionalProperties": false},
            "cache": {"type": "boolean"},
            "stream": {"type": "boolean"},
            "extra": {"type": "object"}},
        "additionalProperties": false
    }),
    [MORTISE_CONVERSATION_EMBED] = JSON({
        "type": "object",
        "required": ["texts"],
        "properties": {
            "alias": {"type": "string", "minLength": 1},
            "model": {"type": "string", "minLength": 1},
            "texts": {"type": "array", "minItems": 1,
                      "items": {"type": "string"}},
            "dimensions": {"type": "integer", "minimum": 1},
            "extra": {"type": "object"}},
        "additionalProperties": false
    }),
    [MORTISE_CONVERSATION_REPLY] = JSON({
        "type": "object",
        "required": ["message", "stop"],
        "properties": {
            "message": {"$ref": "#/$defs/assistant"},
            "stop": {"enum": ["end", "tools", "length", "context", "refusal",
                              "filter", "pause", "other"]},
            "stop_reason": {"type": "string"},
            "model": {"type": "string"},
            "id": {"type": "string"}},
        "additionalProperties": false
    }),
    [MORTISE_CONVERSATION_VECTORS] = JSON({
        "type": "object",
        "required": ["vectors"],
        "properties": {
            "vectors": {"type": "array", "items": {
                "type": "array", "minItems": 1, "items": {"type": "number"}}},
            "model": {"type": "string"}},
        "additionalProperties": false
    }),
};
/* clang-format on */

enum { N_ROOTS = sizeof roots / sizeof roots[0] };

struct mortise_conversations {
    struct mortise_arena arena;
    struct mortise_schema *schemas[N_ROOTS];
};

/* A schema of the table above; NULL: memory ran out. */
static json_t *parsed(const char *text)
{
    json_t *out = NULL;
    int rv = mortise_json_parse(&out, text, strlen(text), NULL);

    assert(rv == MORTISE_OK || rv == MORTISE_ENOMEM);
    return out;
}

static json_t *with_defs(const char *root)
{
    json_t *out = parsed(root), *all = json_object();

    for (size_t i = 0; i < sizeof defs / sizeof defs[0]; i++)
        if (json_object_set_new(all, defs[i].name, parsed(defs[i].schema)))
            goto nomem;
    if (json_object_set(out, "$defs", all) == 0) {
        json_decref(all);
        return out;
    }
nomem:
    json_decref(all);
    json_decref(out);
    return NULL;
}

static int compile(struct mortise_conversations *c, size_t i,
                   struct mortise_err *err)
{
    json_t *json = with_defs(roots[i]);
    char where[128];
    int rv = json != NULL
                 ? mortise_schema_compile(&c->schemas[i], &c->arena, json,
                                          where, sizeof where, err)
                 : mortise_nomem(err);

    assert(rv == MORTISE_OK || rv == MORTISE_ENOMEM);
    json_decref(json);
    return rv;
}

void mortise_conversations_close(struct mortise *m)
{
    struct mortise_conversations *c = m->conversations;

    if (c == NULL)
        return;
    for (size_t i = 0; i < N_ROOTS; i++)
        mortise_schema_finish(c->schemas[i]);
    mortise_arena_finish(&c->arena);
    mortise_release(m->mem, c, sizeof *c);
    m->conversations = NULL;
}

static int schema_of(struct mortise *m, size_t i,
                     const struct mortise_schema **out, struct mortise_err *err)
{
    struct mortise_conversations *c = m->conversations;
    int rv = MORTISE_OK;

    *out = NULL;
    if (c == NULL) {
        c = m->conversations = mortise_zalloc(m->mem, sizeof *c);
        if (c == NULL)
            return mortise_nomem(err);
        mortise_arena_init(&c->arena, m->mem);
    }
    if (c->schemas[i] == NULL)
        rv = compile(c, i, err);
    *out = c->schemas[i];
    return rv;
}

/* ---- calls and results ----------------------------------------------------
 */

static bool is_type(const json_t *part, const char *type)
{
    return strcmp(json_string_value(json_object_get(part, "type")), type) == 0;
}

static const char *id_of(const json_t *part)
{
    return json_string_value(json_object_get(part, "id"));
}

/* The calls of a message, by their ids; how many results each has had. */
static int take_calls(json_t *open, const json_t *message,
                      struct mortise_err *err)
{
    const json_t *parts = json_object_get(message, "parts");

    MORTISE_JSON_EACH (part, i, parts) {
        if (!is_type(part, "tool_call"))
            continue;
        if (json_object_get(open, id_of(part)) != NULL)
            return mortise_fail(err, MORTISE_EINVAL,
                                "two tool calls of one message have the id "
                                "'%.64s'",
                                id_of(part));
        if (json_object_set_new(open, id_of(part), json_true()) != 0)
            return mortise_nomem(err);
    }
    return MORTISE_OK;
}

static int take_results(json_t *open, const json_t *message,
                        struct mortise_err *err)
{
    const json_t *parts = json_object_get(message, "parts");

    MORTISE_JSON_EACH (part, i, parts)
        if (json_object_del(open, id_of(part)) != 0)
            return mortise_fail(err, MORTISE_EINVAL,
                                "there is no tool call for the result '%.64s', "
                                "or it had one",
                                id_of(part));
    return MORTISE_OK;
}

static int lacks_result(const json_t *open, struct mortise_err *err)
{
    MORTISE_JSON_MEMBERS (id, one, open)
        return mortise_fail(err, MORTISE_EINVAL,
                            "the tool call '%.64s' has no result behind it",
                            id);
    return MORTISE_OK;
}

/* Each call has its result before anything else is said. */
static int check_pairs(const json_t *messages, struct mortise_err *err)
{
    json_t *open = json_object();
    int rv = open != NULL ? MORTISE_OK : mortise_nomem(err);

    MORTISE_JSON_EACH (message, i, messages) {
        const char *role = json_string_value(json_object_get(message, "role"));

        if (rv != MORTISE_OK)
            break;
        if (strcmp(role, "tool") == 0)
            rv = take_results(open, message, err);
        else
            rv = lacks_result(open, err);
        if (rv == MORTISE_OK && strcmp(role, "assistant") == 0)
            rv = take_calls(open, message, err);
        if (rv == MORTISE_EINVAL)
            mortise_doing(err, rv, "at /messages/%zu", i);
    }
    if (rv == MORTISE_OK)
        rv = lacks_result(open, err);
    json_decref(open);
    return rv;
}

int mortise_conversation_check(struct mortise *m,
                               enum mortise_conversation_part what,
                               const json_t *value, struct mortise_err *err)
{
    const struct mortise_schema *schema;
    int rv = schema_of(m, what, &schema, err);

    if (rv == MORTISE_OK)
        rv = mortise_schema_check(schema, value, err);
    if (rv == MORTISE_OK && what == MORTISE_CONVERSATION_CHAT)
        rv = check_pairs(json_object_get(value, "messages"), err);
    return rv;
}
