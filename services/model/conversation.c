/* conversation.c -- checks requests to models and their replies against
 * schemas.
 *
 * The format of <mortise/model.h> is written as JSON Schemas, so an error names
 * the place in the value.  turns.c checks the one rule that a schema cannot
 * express: each tool call has its result.
 *
 * Schemas are compiled on first use and live as long as the engine. */
#include "services/model/conversation.h"

#include <string.h>

#include "lang/schema/schema.h"

/* ---- schemas ------------------------------------------------------------ */

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
        "properties": {
            "alias": {"type": "string", "minLength": 1},
            "model": {"type": "string", "minLength": 1},
            "messages": {"type": "array", "minItems": 1,
                         "items": {"$ref": "#/$defs/message"}},
            "after": {"type": "string", "minLength": 1},
            "continue": {"const": true},
            "append": {"type": "array",
                       "items": {"$ref": "#/$defs/message"}},
            "prune": {"type": "number", "exclusiveMinimum": 0,
                      "exclusiveMaximum": 1},
            "beyond": {"type": "integer", "minimum": 0},
            "tools": {"if": {"type": "array"},
                "then": {"items": {"$ref": "#/$defs/tool"}},
                "else": {"const": true}},
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
    [MORTISE_CONVERSATION_KEEP] = JSON({
        "type": "object",
        "required": ["after"],
        "properties": {
            "after": {"type": "string", "minLength": 1},
            "append": {"type": "array",
                       "items": {"$ref": "#/$defs/message"}}},
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

/* Parse a schema of the tables above; NULL: memory ran out. */
static json_t *parse_schema_text(const char *text)
{
    json_t *out = NULL;
    int rv = mortise_json_parse(&out, text, strlen(text), NULL);

    assert(rv == MORTISE_OK || rv == MORTISE_ENOMEM);
    return out;
}

static json_t *build_schema_with_defs(const char *root)
{
    json_t *out = parse_schema_text(root), *all = json_object();

    for (size_t i = 0; i < sizeof defs / sizeof defs[0]; i++)
        if (json_object_set_new(all, defs[i].name,
                                parse_schema_text(defs[i].schema)))
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

static int compile_conversation_part(struct mortise_conversations *c, size_t i,
                                     struct mortise_err *err)
{
    json_t *json = build_schema_with_defs(roots[i]);
    char where[128];
    int rv = json != NULL
                 ? mortise_schema_compile(&c->schemas[i], &c->arena, json,
                                          where, sizeof where, err)
                 : mortise_nomem(err);

    assert(rv == MORTISE_OK || rv == MORTISE_ENOMEM);
    json_decref(json);
    return rv;
}

void mortise_conversations_close(struct mortise *m, void *kept)
{
    struct mortise_conversations *c = kept;

    for (size_t i = 0; i < N_ROOTS; i++)
        mortise_schema_finish(c->schemas[i]);
    mortise_arena_finish(&c->arena);
    mortise_release(m->mem, c, sizeof *c);
}

static int get_conversation_schema(const struct mortise_asked *a, size_t i,
                                   const struct mortise_schema **out,
                                   struct mortise_err *err)
{
    struct mortise_conversations *c = *a->kept;
    int rv = MORTISE_OK;

    *out = NULL;
    if (c == NULL) {
        c = *a->kept = mortise_zalloc(a->m->mem, sizeof *c);
        if (c == NULL)
            return mortise_nomem(err);
        mortise_arena_init(&c->arena, a->m->mem);
    }
    if (c->schemas[i] == NULL)
        rv = compile_conversation_part(c, i, err);
    *out = c->schemas[i];
    return rv;
}

int mortise_conversation_check(const struct mortise_asked *a,
                               enum mortise_conversation_part what,
                               const json_t *value, struct mortise_err *err)
{
    const struct mortise_schema *schema;
    int rv = get_conversation_schema(a, what, &schema, err);

    return rv == MORTISE_OK ? mortise_schema_check(schema, value, err) : rv;
}
