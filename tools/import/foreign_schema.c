/* foreign_schema.c -- schemas that nothing was held to.
 *
 * Their state is filled step by step, and its schemas are never looked at.  Here
 * they are, at each commit and at the end: one that asks for what is not there
 * yet would refuse the first step of a graph that ran.
 */
#include "tools/import/foreign.h"

/* Where the schemas inside of one are, and what they hold to is all of it. */
static const struct {
    const char *key;
    enum { ONE, LIST, BY_NAME } how;
} inside[] = {
    {"properties", BY_NAME},       {"patternProperties", BY_NAME},
    {"additionalProperties", ONE}, {"items", ONE},
    {"prefixItems", LIST},         {"allOf", LIST},
};

static void fill(struct foreign *f, const char *what,
                 const struct mortise_yaml *schema, json_t *into);

static void fill_inside(struct foreign *f, const char *what, size_t row,
                        const struct mortise_yaml *schema, json_t *into)
{
    const struct mortise_yaml *v = mortise_yaml_get(schema, inside[row].key);
    json_t *ours = json_object_get(into, inside[row].key);

    if (v == NULL || inside[row].how == ONE) {
        fill(f, what, v, ours);
        return;
    }
    for (size_t i = 0; i < v->n; i++)
        if (v->kind == MORTISE_YAML_MAP && inside[row].how == BY_NAME)
            fill(f, what, v->items[i], json_object_get(ours, v->keys[i]->str));
        else if (v->kind == MORTISE_YAML_SEQ && inside[row].how == LIST)
            fill(f, what, v->items[i], json_array_get(ours, i));
}

static void fill(struct foreign *f, const char *what,
                 const struct mortise_yaml *schema, json_t *into)
{
    static const char *const asks[] = {"required", "minProperties",
                                       "dependentRequired"};

    if (schema == NULL || schema->kind != MORTISE_YAML_MAP)
        return;
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++)
        if (mortise_yaml_get(schema, asks[i]) != NULL) {
            mortise_foreign_lost(f, mortise_yaml_key(schema, asks[i])->span,
                                 "add it again if the graph always fills all "
                                 "of it before its end",
                                 "'%s' is not imported: it was never checked, "
                                 "because %s is filled step by step",
                                 asks[i], what);
            json_object_del(into, asks[i]);
        }
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++)
        fill_inside(f, what, i, schema, into);
}

json_t *mortise_foreign_filled(struct foreign *f, const char *what,
                               const struct mortise_yaml *schema)
{
    json_t *into = mortise_yaml_json(schema, false);

    fill(f, what, schema, into);
    return into;
}
