/* sample.c -- the smallest value that fits a schema, for the commands that we
 * suggest. */
#include "cli/sample.h"

#include <stdlib.h>
#include <string.h>

#include "json/pointer.h"
#include "json/value.h"

enum { DEEPEST = 16, MOST = 100 };

struct sampler {
    const json_t *root; /* where references begin */
    unsigned left;      /* so many values more, and then nulls */
};

static json_t *sample(struct sampler *s, const json_t *schema, unsigned depth);

static json_t *sample_object(struct sampler *s, const json_t *schema,
                             unsigned depth)
{
    const json_t *required = json_object_get(schema, "required");
    const json_t *properties = json_object_get(schema, "properties");
    json_t *out = json_object();

    MORTISE_JSON_EACH (name, i, required) {
        const char *key = json_string_value(name);

        if (key != NULL)
            json_object_set_new(
                out, key, sample(s, json_object_get(properties, key), depth));
    }
    return out;
}

static json_t *sample_type(struct sampler *s, const json_t *schema,
                           const char *type, unsigned depth)
{
    if (strcmp(type, "object") == 0)
        return sample_object(s, schema, depth);
    if (strcmp(type, "array") == 0)
        return json_array();
    if (strcmp(type, "string") == 0)
        return json_string("");
    if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0)
        return json_integer(0);
    if (strcmp(type, "boolean") == 0)
        return json_true();
    return json_null();
}

/* What the schema itself names, borrowed; or NULL. */
static json_t *named(const json_t *schema)
{
    static const char *const lists[] = {"examples", "enum"};
    json_t *v = json_object_get(schema, "default");

    if (v == NULL)
        v = json_object_get(schema, "const");
    for (size_t i = 0; v == NULL && i < sizeof lists / sizeof lists[0]; i++)
        v = json_array_get(json_object_get(schema, lists[i]), 0);
    return v;
}

/* What a reference to another part of the root leads to; NULL for the others,
 * and when memory ran out. */
static const json_t *referred(const json_t *root, const char *ref)
{
    char *path =
        ref != NULL && strncmp(ref, "#/", 2) == 0 ? strdup(ref + 2) : NULL;
    const json_t *at = path != NULL ? root : NULL;

    for (char *token = path, *next; token != NULL; token = next) {
        next = strchr(token, '/');
        if (next != NULL)
            *next++ = '\0';
        mortise_pointer_unescape(token);
        at = json_object_get(at, token);
    }
    free(path);
    return at;
}

/* Another schema for the same value, if this one says nothing by itself. */
static const json_t *other(const json_t *root, const json_t *schema)
{
    static const char *const lists[] = {"allOf", "anyOf", "oneOf"};
    const json_t *found =
        referred(root, json_string_value(json_object_get(schema, "$ref")));

    for (size_t i = 0; found == NULL && i < sizeof lists / sizeof lists[0]; i++)
        found = json_array_get(json_object_get(schema, lists[i]), 0);
    return found;
}

static json_t *sample(struct sampler *s, const json_t *schema, unsigned depth)
{
    json_t *v = named(schema);
    const json_t *type = json_object_get(schema, "type");

    if (v != NULL)
        return json_incref(v);
    if (depth == DEEPEST || s->left == 0)
        return json_null();
    s->left--;
    if (json_is_array(type))
        type = json_array_get(type, 0);
    if (json_is_string(type))
        return sample_type(s, schema, json_string_value(type), depth + 1);
    if (json_object_get(schema, "properties") != NULL)
        return sample_object(s, schema, depth + 1);
    return other(s->root, schema) != NULL
               ? sample(s, other(s->root, schema), depth + 1)
               : json_null();
}

json_t *mortise_json_sample(const json_t *schema)
{
    struct sampler s = {schema, MOST};

    return sample(&s, schema, 0);
}
