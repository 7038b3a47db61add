/* sample.c -- the smallest value that fits a schema, for the commands that we
 * suggest. */
#include "cli/sample.h"

#include <string.h>

#include "json/value.h"

enum { DEEPEST = 16 };

static json_t *sample(const json_t *schema, unsigned depth);

static json_t *sample_object(const json_t *schema, unsigned depth)
{
    const json_t *required = json_object_get(schema, "required");
    const json_t *properties = json_object_get(schema, "properties");
    json_t *out = json_object(), *name;
    size_t i;

    json_array_foreach(mortise_json_unconst(required), i, name)
    {
        const char *key = json_string_value(name);

        if (key != NULL)
            json_object_set_new(
                out, key, sample(json_object_get(properties, key), depth));
    }
    return out;
}

static json_t *sample_type(const json_t *schema, const char *type,
                           unsigned depth)
{
    if (strcmp(type, "object") == 0)
        return sample_object(schema, depth);
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

    for (size_t i = 0; v == NULL && i < sizeof lists / sizeof lists[0]; i++)
        v = json_array_get(json_object_get(schema, lists[i]), 0);
    return v;
}

static json_t *sample(const json_t *schema, unsigned depth)
{
    json_t *v = named(schema);
    const json_t *type = json_object_get(schema, "type");

    if (v != NULL)
        return json_incref(v);
    if (depth == DEEPEST)
        return json_null();
    if (json_is_array(type))
        type = json_array_get(type, 0);
    if (json_is_string(type))
        return sample_type(schema, json_string_value(type), depth + 1);
    return json_object_get(schema, "properties") != NULL
               ? sample_object(schema, depth + 1)
               : json_null();
}

json_t *mortise_json_sample(const json_t *schema)
{
    return sample(schema, 0);
}
