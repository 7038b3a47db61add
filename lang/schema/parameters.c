/* parameters.c -- the schema of a tool's arguments in the form that model
 * servers accept.
 *
 * OpenAI, Anthropic and compatible servers require an object schema with `type:
 * object` and `properties`.  They refuse `anyOf`, `oneOf`, `allOf`, `enum` and
 * `not` at its top level.  One tool with another schema makes every request of
 * the node fail.  Tools of MCP servers have such schemas.
 *
 * So the model gets an object with all properties of all parts of the schema:
 *
 *   allOf          each part applies: a property gets all of its schemas, and a
 *                  property that one part requires is required
 *   anyOf, oneOf   one of the parts applies: a property gets one of its
 *                  schemas, and is required if each part requires it
 *   $ref           to `#`, `#/...`: the target is a part that applies
 *
 * Other top-level keywords that servers refuse are dropped.  The result allows
 * more than the schema.  That is safe: the arguments are checked with the
 * schema itself, and the model gets the errors.
 */
#include "lang/schema/parameters.h"

#include <stdbool.h>
#include <string.h>

#include "core/json/value.h"

enum { DEPTH_MAX = 8 };

/* The members of an object: their schemas, and a set of required names. */
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

/* Combine two schemas with allOf or anyOf (`word`).  Takes the reference of
 * `b`. */
static json_t *combine_schemas(const char *word, const json_t *a, json_t *b)
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

static void add_shape_property(struct shape *s, const char *word,
                               const char *name, const json_t *schema)
{
    const json_t *known = json_object_get(s->properties, name);
    json_t *one = json_incref(mortise_json_unconst(schema));

    if (known != NULL)
        one = combine_schemas(word, known, one);
    s->nomem |= json_object_set_new(s->properties, name, one) != 0;
}

static void add_shape_required(struct shape *s, const char *name)
{
    s->nomem |= json_object_set_new(s->required, name, json_true()) != 0;
}

/* The target of `#` or `#/a/b`; NULL: it is not in this schema. */
static const json_t *find_local_target(const json_t *root, const json_t *ref)
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

static void add_schema_to_shape(struct shape *to, const json_t *root,
                                const json_t *schema, unsigned depth);

/* One of the parts applies. any.required counts, for each name, the parts that
 * require it. */
static void add_any_to_shape(struct shape *to, const json_t *root,
                             const json_t *parts, unsigned depth)
{
    struct shape any, one;
    json_int_t n = 0;

    shape_init(&any);
    MORTISE_JSON_EACH (part, i, parts) {
        shape_init(&one);
        add_schema_to_shape(&one, root, part, depth + 1);
        MORTISE_JSON_MEMBERS (name, schema, one.properties)
            add_shape_property(&any, "anyOf", name, schema);
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
        add_shape_property(to, "allOf", name, schema);
    MORTISE_JSON_MEMBERS (name, count, any.required)
        if (json_integer_value(count) == n)
            add_shape_required(to, name);
    to->nomem |= any.nomem;
    shape_finish(&any);
}

/* This schema applies. */
static void add_schema_to_shape(struct shape *to, const json_t *root,
                                const json_t *schema, unsigned depth)
{
    if (depth == DEPTH_MAX || to->nomem)
        return;
    MORTISE_JSON_MEMBERS (name, one, json_object_get(schema, "properties"))
        add_shape_property(to, "allOf", name, one);
    MORTISE_JSON_EACH (name, i, json_object_get(schema, "required"))
        if (json_is_string(name))
            add_shape_required(to, json_string_value(name));
    add_schema_to_shape(
        to, root, find_local_target(root, json_object_get(schema, "$ref")),
        depth + 1);
    MORTISE_JSON_EACH (part, i, json_object_get(schema, "allOf"))
        add_schema_to_shape(to, root, part, depth + 1);
    add_any_to_shape(to, root, json_object_get(schema, "anyOf"), depth);
    add_any_to_shape(to, root, json_object_get(schema, "oneOf"), depth);
}

/* ---- the schema ----------------------------------------------------------- */

/* Top-level keywords that are replaced or dropped. */
static const char *const dropped[] = {
    "type", "properties", "required", "$ref", "allOf", "anyOf", "oneOf",
    "not",  "if",         "then",     "else", "enum",  "const",
};

enum { MADE = 3 /* the first three are replaced */ };

/* Is it already in this form? */
static bool is_plain_object_schema(const json_t *schema)
{
    const char *type = json_string_value(json_object_get(schema, "type"));

    for (size_t i = MADE; i < sizeof dropped / sizeof dropped[0]; i++)
        if (json_object_get(schema, dropped[i]) != NULL)
            return false;
    return type != NULL && strcmp(type, "object") == 0 &&
           json_is_object(json_object_get(schema, "properties"));
}

static json_t *list_set_names(const json_t *set)
{
    json_t *list = json_array();

    MORTISE_JSON_MEMBERS (name, yes, set)
        if (json_array_append_new(list, json_string(name)) != 0)
            mortise_json_clear_ref(&list);
    return list;
}

static json_t *make_parameters_schema(const json_t *schema,
                                      const struct shape *s)
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
         json_object_set_new(out, "required", list_set_names(s->required)) !=
             0))
        mortise_json_clear_ref(&out);
    json_decref(rest);
    return out;
}

json_t *mortise_json_make_parameters(const json_t *schema)
{
    struct shape s;
    json_t *out;

    if (is_plain_object_schema(schema))
        return json_copy(mortise_json_unconst(schema));
    shape_init(&s);
    add_schema_to_shape(&s, schema, schema, 0);
    out = s.nomem ? NULL : make_parameters_schema(schema, &s);
    shape_finish(&s);
    return out;
}
