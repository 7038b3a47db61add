/* sample.c -- makes a small value that fits a schema, for the commands that are
 * printed.
 *
 * Limits of numbers, lengths and counts are respected; `pattern` and `not` are
 * left to the user. */
#include "cli/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json/pointer.h"
#include "core/json/value.h"

enum { MAX_SAMPLE_DEPTH = 16, MAX_SAMPLE_VALUES = 100 };

struct sampler {
    const json_t *root; /* base of references */
    unsigned left;      /* number of further values; then nulls */
};

static json_t *make_sample(struct sampler *s, const json_t *schema,
                           unsigned depth);

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
                out, key,
                make_sample(s, json_object_get(properties, key), depth));
    }
    return out;
}

static uint64_t get_small_count(const json_t *schema, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(schema, key));

    return n > 0 && n < MAX_SAMPLE_VALUES ? (uint64_t)n : 0;
}

static json_t *sample_array(struct sampler *s, const json_t *schema,
                            unsigned depth)
{
    const json_t *items = json_object_get(schema, "items");
    const json_t *first = json_object_get(schema, "prefixItems");
    uint64_t n = get_small_count(schema, "minItems");
    json_t *out = json_array();

    for (size_t i = 0; i < n; i++) {
        const json_t *own = json_array_get(first, i);

        json_array_append_new(out,
                              make_sample(s, own != NULL ? own : items, depth));
    }
    return out;
}

static json_t *sample_string(const json_t *schema)
{
    char text[MAX_SAMPLE_VALUES + 1];
    uint64_t n = get_small_count(schema, "minLength");

    memset(text, 'x', n);
    text[n] = '\0';
    return json_string(text);
}

/* The number closest to 0 within the limits. */
static json_t *sample_number(const json_t *schema, bool whole)
{
    static const struct {
        const char *key;
        int side; /* 1: lower limit, -1: upper limit */
        bool beyond;
    } bounds[] = {{"minimum", 1, false},
                  {"exclusiveMinimum", 1, true},
                  {"maximum", -1, false},
                  {"exclusiveMaximum", -1, true}};
    double v = 0;

    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        const json_t *bound = json_object_get(schema, bounds[i].key);
        double at = json_number_value(bound);

        if (!json_is_number(bound) ||
            (bounds[i].beyond ? bounds[i].side * (v - at) > 0
                              : bounds[i].side * (v - at) >= 0))
            continue;
        v = bounds[i].side > 0 ? ceil(at) : floor(at);
        if (!whole && !bounds[i].beyond)
            v = at;
        else if (bounds[i].beyond && v == at)
            v += bounds[i].side;
    }
    return v == floor(v) && fabs(v) < 1e15 ? json_integer((json_int_t)v)
                                           : json_real(v);
}

static json_t *sample_type(struct sampler *s, const json_t *schema,
                           const char *type, unsigned depth)
{
    if (strcmp(type, "object") == 0)
        return sample_object(s, schema, depth);
    if (strcmp(type, "array") == 0)
        return sample_array(s, schema, depth);
    if (strcmp(type, "string") == 0)
        return sample_string(schema);
    if (strcmp(type, "integer") == 0 || strcmp(type, "number") == 0)
        return sample_number(schema, strcmp(type, "integer") == 0);
    if (strcmp(type, "boolean") == 0)
        return json_true();
    return json_null();
}

/* Get a value that the schema contains, borrowed; or NULL. */
static json_t *get_named_value(const json_t *schema)
{
    static const char *const lists[] = {"examples", "enum"};
    json_t *v = json_object_get(schema, "default");

    if (v == NULL)
        v = json_object_get(schema, "const");
    for (size_t i = 0; v == NULL && i < sizeof lists / sizeof lists[0]; i++)
        v = json_array_get(json_object_get(schema, lists[i]), 0);
    return v;
}

/* Resolve a reference within the root; NULL for other references, and if memory
 * ran out. */
static const json_t *resolve_sample_reference(const json_t *root,
                                              const char *ref)
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

/* Get another schema for the same value, if this one has no type. */
static const json_t *get_alternative_schema(const json_t *root,
                                            const json_t *schema)
{
    static const char *const lists[] = {"allOf", "anyOf", "oneOf"};
    const json_t *found = resolve_sample_reference(
        root, json_string_value(json_object_get(schema, "$ref")));

    for (size_t i = 0; found == NULL && i < sizeof lists / sizeof lists[0]; i++)
        found = json_array_get(json_object_get(schema, lists[i]), 0);
    return found;
}

/* Add the required members of each schema of `allOf` to an object. */
static json_t *add_members_of_all(struct sampler *s, const json_t *schema,
                                  json_t *v, unsigned depth)
{
    MORTISE_JSON_EACH (one, i, json_object_get(schema, "allOf")) {
        json_t *more = json_is_object(v) ? make_sample(s, one, depth) : NULL;

        if (json_is_object(more))
            json_object_update_missing(v, more);
        json_decref(more);
    }
    return v;
}

static json_t *make_sample(struct sampler *s, const json_t *schema,
                           unsigned depth)
{
    json_t *v = get_named_value(schema);
    const json_t *type = json_object_get(schema, "type");

    if (v != NULL)
        return json_incref(v);
    if (depth == MAX_SAMPLE_DEPTH || s->left == 0)
        return json_null();
    s->left--;
    if (json_is_array(type))
        type = json_array_get(type, 0);
    if (json_is_string(type))
        v = sample_type(s, schema, json_string_value(type), depth + 1);
    else if (json_object_get(schema, "properties") != NULL)
        v = sample_object(s, schema, depth + 1);
    else
        v = get_alternative_schema(s->root, schema) != NULL
                ? make_sample(s, get_alternative_schema(s->root, schema),
                              depth + 1)
                : json_null();
    return add_members_of_all(s, schema, v, depth + 1);
}

json_t *mortise_json_make_sample(const json_t *schema)
{
    struct sampler s = {schema, MAX_SAMPLE_VALUES};

    return make_sample(&s, schema, 0);
}
