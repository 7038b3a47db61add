/* parameters.c -- the schema of a tool's arguments, as model servers take it.
 *
 * OpenAI, Anthropic and those that follow them demand an object schema that says
 * `type: object` and has `properties`, and refuse `anyOf`, `oneOf`, `allOf`,
 * `enum` and `not` at its top.  One tool whose schema is not so fails every
 * request of the node.  Tools of others (MCP) have all of it.
 *
 * So a model is told an object of all properties that any part of the schema
 * names:
 *
 *   allOf          each part holds: a property has all of its schemas, and what
 *                  one part requires is required
 *   anyOf, oneOf   one of the parts holds: a property has one of its schemas, and
 *                  is required if each part requires it
 *   $ref           to `#`, `#/...`: what it leads to is a part that holds
 *
 * Whatever else stands at the top and is refused there is left out.  This allows
 * more than the schema does.  That is safe: arguments are checked by the schema
 * itself, and a model is told what was wrong with them.
 */
#include "lang/schema/parameters.h"

#include <stdbool.h>
#include <string.h>

#include "core/json/value.h"

enum { DEPTH_MAX = 8 };

/* What a schema says of an object: schemas, and a set of names. */
struct shape {
    json_t *properties, *required;
    bool nomem;
};

static void shape_init(struct shape *s)
{
    s->properties = json_object();
    s->required = json_object();
    s->nomem = s->properties == NULL || s->required == NULL;
}

static void shape_finish(struct shape *s)
{
    json_decref(s->properties);
    json_decref(s->required);
}

/* Both hold, or (`any`) one of them does.  Takes `b`. */
static json_t *both(const char *word, const json_t *a, json_t *b)
{
    json_t *list = json_object_get(a, word);
    json_t *out;

    if (json_equal(a, b)) {
        json_decref(b);
        return json_incref(mortise_json_unconst(a));
    }
    if (json_object_size(a) != 1 || !json_is_array(list))
        return json_pack("{s:[O, o]}", word, a, b);
    list = json_copy(list);
    out = json_pack("{s:o}", word, list);
    if (json_array_append_new(list, b) == 0)
        return out;
    json_decref(out);
    return NULL;
}

static void put_property(struct shape *s, const char *word, const char *name,
                         const json_t *schema)
{
    const json_t *known = json_object_get(s->properties, name);
    json_t *one = json_incref(mortise_json_unconst(schema));

    if (known != NULL)
        one = both(word, known, one);
    s->nomem |= json_object_set_new(s->properties, name, one) != 0;
}

static void require(struct shape *s, const char *name)
{
    s->nomem |= json_object_set_new(s->required, name, json_true()) != 0;
}

/* What `#` or `#/a/b` leads to; NULL: nothing here. */
static const json_t *target(const json_t *root, const json_t *ref)
{
    const char *p = json_string_value(ref);
    char name[128];

    if (p == NULL || *p++ != '#')
        return NULL;
    while (root != NULL && *p == '/') {
        size_t n = strcspn(++p, "/");

        if (n >= sizeof name)
            return NULL;
        memcpy(name, p, n);
        name[n] = '\0';
        root = json_object_get(root, name);
        p += n;
    }
    return *p == '\0' ? root : NULL;
}

static void add(struct shape *to, const json_t *root, const json_t *schema,
                unsigned depth);

/* One of the parts holds.  A name is counted in any.required for each part that
 * requires it. */
static void add_any(struct shape *to, const json_t *root, const json_t *parts,
                    unsigned depth)
{
    struct shape any, one;
    json_int_t n = 0;

    shape_init(&any);
    MORTISE_JSON_EACH (part, i, parts) {
        shape_init(&one);
        add(&one, root, part, depth + 1);
        MORTISE_JSON_MEMBERS (name, schema, one.properties)
            put_property(&any, "anyOf", name, schema);
        MORTISE_JSON_MEMBERS (name, yes, one.required)
            any.nomem |=
                json_object_set_new(
                    any.required, name,
                    json_integer(1 + json_integer_value(json_object_get(
                                         any.required, name)))) != 0;
        any.nomem |= one.nomem;
        shape_finish(&one);
        n++;
    }
    MORTISE_JSON_MEMBERS (name, schema, any.properties)
        put_property(to, "allOf", name, schema);
    MORTISE_JSON_MEMBERS (name, count, any.required)
        if (json_integer_value(count) == n)
            require(to, name);
    to->nomem |= any.nomem;
    shape_finish(&any);
}

/* That holds, too. */
static void add(struct shape *to, const json_t *root, const json_t *schema,
                unsigned depth)
{
    if (depth == DEPTH_MAX || to->nomem)
        return;
    MORTISE_JSON_MEMBERS (name, one, json_object_get(schema, "properties"))
        put_property(to, "allOf", name, one);
    MORTISE_JSON_EACH (name, i, json_object_get(schema, "required"))
        if (json_is_string(name))
            require(to, json_string_value(name));
    add(to, root, target(root, json_object_get(schema, "$ref")), depth + 1);
    MORTISE_JSON_EACH (part, i, json_object_get(schema, "allOf"))
        add(to, root, part, depth + 1);
    add_any(to, root, json_object_get(schema, "anyOf"), depth);
    add_any(to, root, json_object_get(schema, "oneOf"), depth);
}

/* ---- the schema ----------------------------------------------------------- */

/* What stands at the top and is made anew, or left out. */
static const char *const dropped[] = {
    "type", "properties", "required", "$ref", "allOf", "anyOf", "oneOf",
    "not",  "if",         "then",     "else", "enum",  "const",
};

enum { MADE = 3 /* of those, `type` and the next two are made anew */ };

/* It is as servers take it. */
static bool is_plain(const json_t *schema)
{
    const char *type = json_string_value(json_object_get(schema, "type"));

    for (size_t i = MADE; i < sizeof dropped / sizeof dropped[0]; i++)
        if (json_object_get(schema, dropped[i]) != NULL)
            return false;
    return type != NULL && strcmp(type, "object") == 0 &&
           json_is_object(json_object_get(schema, "properties"));
}

static json_t *names_of(const json_t *set)
{
    json_t *list = json_array();

    MORTISE_JSON_MEMBERS (name, yes, set)
        if (json_array_append_new(list, json_string(name)) != 0)
            mortise_json_drop(&list);
    return list;
}

static json_t *written(const json_t *schema, const struct shape *s)
{
    json_t *out =
        json_pack("{s:s, s:O}", "type", "object", "properties", s->properties);
    json_t *rest = json_is_object(schema)
                       ? json_copy(mortise_json_unconst(schema))
                       : json_object();

    for (size_t i = 0; i < sizeof dropped / sizeof dropped[0]; i++)
        json_object_del(rest, dropped[i]);
    if (rest == NULL || json_object_update(out, rest) != 0 ||
        (json_object_size(s->required) > 0 &&
         json_object_set_new(out, "required", names_of(s->required)) != 0))
        mortise_json_drop(&out);
    json_decref(rest);
    return out;
}

json_t *mortise_json_parameters(const json_t *schema)
{
    struct shape s;
    json_t *out;

    if (is_plain(schema))
        return json_copy(mortise_json_unconst(schema));
    shape_init(&s);
    add(&s, schema, schema, 0);
    out = s.nomem ? NULL : written(schema, &s);
    shape_finish(&s);
    return out;
}
