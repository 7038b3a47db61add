/* drafts.c -- schemas of earlier drafts, as draft 2020-12 has them.
 *
 * Tools of MCP servers have schemas that libraries made, most of them in draft 7.
 *
 *   (1) `items` that is a list is `prefixItems`, and `additionalItems` beside it is
 *       `items`.  Beside one schema `additionalItems` says nothing.
 *   (2) `dependencies` are `dependentRequired` (lists) and `dependentSchemas`.
 *   (3) `exclusiveMinimum: true` takes the value of `minimum` (draft 4); the same
 *       of `exclusiveMaximum`.
 *   (4) An `$id` that is a fragment is an `$anchor`.
 *
 * Only places that have schemas are looked at: an `enum` may have any value. */
#include "lang/schema/drafts.h"

#include <stdbool.h>
#include <string.h>

#include "core/json/value.h"

/* Give `to` the member under a name of its own, unless it has one of that name. */
static int move(json_t *schema, const char *from, json_t *to, const char *name)
{
    json_t *v = json_object_get(schema, from);
    int failed =
        json_object_get(to, name) == NULL ? json_object_set(to, name, v) : 0;

    json_object_del(schema, from);
    return failed;
}

/* (1) */
static int rewrite_items(json_t *schema)
{
    bool is_list = json_is_array(json_object_get(schema, "items"));
    int failed = 0;

    if (is_list)
        failed = move(schema, "items", schema, "prefixItems");
    if (is_list && json_object_get(schema, "additionalItems") != NULL)
        failed |= move(schema, "additionalItems", schema, "items");
    json_object_del(schema, "additionalItems");
    return failed;
}

/* One dependency into the mapping of that name, which is made if there is none. */
static int depend(json_t *schema, const char *to, const char *name, json_t *v)
{
    json_t *map = json_object_get(schema, to);

    if (map == NULL && json_object_set_new(schema, to, json_object()) != 0)
        return -1;
    map = json_object_get(schema, to);
    if (!json_is_object(map) || json_object_get(map, name) != NULL)
        return 0; /* whoever compiles it judges that */
    return json_object_set(map, name, v);
}

/* (2) */
static int rewrite_dependencies(json_t *schema)
{
    json_t *all = json_incref(json_object_get(schema, "dependencies"));
    int failed = 0;

    if (json_is_object(all))
        json_object_del(schema, "dependencies");
    MORTISE_JSON_MEMBERS (name, one, all)
        failed |= depend(schema,
                         json_is_array(one) ? "dependentRequired"
                                            : "dependentSchemas",
                         name, one);
    json_decref(all);
    return failed;
}

/* (3) */
static int rewrite_bound(json_t *schema, const char *exclusive,
                         const char *bound)
{
    const json_t *v = json_object_get(schema, exclusive);
    bool is_set = json_is_true(v);

    if (!json_is_boolean(v))
        return 0;
    json_object_del(schema, exclusive);
    return is_set && json_object_get(schema, bound) != NULL
               ? move(schema, bound, schema, exclusive)
               : 0;
}

/* (4) */
static int rewrite_id(json_t *schema)
{
    const char *id = json_string_value(json_object_get(schema, "$id"));
    int failed = 0;

    if (id == NULL || id[0] != '#' || id[1] == '\0')
        return 0;
    if (json_object_get(schema, "$anchor") == NULL)
        failed = json_object_set_new(schema, "$anchor", json_string(id + 1));
    json_object_del(schema, "$id");
    return failed;
}

static int rewrite(json_t *schema);

static int rewrite_each(json_t *schemas)
{
    int failed = 0;
    size_t i;
    json_t *one;

    json_array_foreach(schemas, i, one) failed |= rewrite(one);
    MORTISE_JSON_MEMBERS (name, member, schemas)
        failed |= rewrite(member);
    return failed;
}

/* The schemas in it. */
static int rewrite_below(json_t *schema)
{
    static const char *const one[] = {"items",
                                      "additionalProperties",
                                      "unevaluatedItems",
                                      "unevaluatedProperties",
                                      "contains",
                                      "propertyNames",
                                      "not",
                                      "if",
                                      "then",
                                      "else"};
    static const char *const many[] = {"properties",
                                       "patternProperties",
                                       "definitions",
                                       "$defs",
                                       "dependentSchemas",
                                       "prefixItems",
                                       "allOf",
                                       "anyOf",
                                       "oneOf"};
    int failed = 0;

    for (size_t i = 0; i < sizeof one / sizeof one[0]; i++)
        failed |= rewrite(json_object_get(schema, one[i]));
    for (size_t i = 0; i < sizeof many / sizeof many[0]; i++)
        failed |= rewrite_each(json_object_get(schema, many[i]));
    return failed;
}

/* As deep as JSON may be. */
static int rewrite(json_t *schema)
{
    if (!json_is_object(schema))
        return 0;
    return rewrite_items(schema) | rewrite_dependencies(schema) |
           rewrite_bound(schema, "exclusiveMinimum", "minimum") |
           rewrite_bound(schema, "exclusiveMaximum", "maximum") |
           rewrite_id(schema) | rewrite_below(schema);
}

int mortise_schema_modernize(json_t *schema)
{
    return rewrite(schema) == 0 ? MORTISE_OK : MORTISE_ENOMEM;
}
