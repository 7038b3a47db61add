/* foreign_schema.c -- convert the schemas of a graph's state.
 *
 * The source never checks these schemas, and the state is filled step by step.
 * Mortise checks them at each commit.  A keyword such as `required` would
 * reject the first step of a graph that runs in the source, so it is removed.
 */
#include "tools/import/foreign.h"

/* Keywords whose subschemas must all hold.  Other keywords, such as `not` and
 * `oneOf`, stay as they are: a weaker subschema could make them stricter. */
static const struct {
    const char *key;
    enum { ONE, LIST, BY_NAME } how;
} subschema_keys[] = {
    {"properties", BY_NAME},       {"patternProperties", BY_NAME},
    {"additionalProperties", ONE}, {"items", ONE},
    {"prefixItems", LIST},         {"allOf", LIST},
};

static void relax_schema(struct foreign *f, const char *what,
                         const struct mortise_yaml *schema, json_t *into);

static void relax_subschemas(struct foreign *f, const char *what, size_t row,
                             const struct mortise_yaml *schema, json_t *into)
{
    const struct mortise_yaml *v =
        mortise_yaml_get(schema, subschema_keys[row].key);
    json_t *ours = json_object_get(into, subschema_keys[row].key);

    if (v == NULL || subschema_keys[row].how == ONE) {
        relax_schema(f, what, v, ours);
        return;
    }
    for (size_t i = 0; i < v->n; i++)
        if (v->kind == MORTISE_YAML_MAP && subschema_keys[row].how == BY_NAME)
            relax_schema(f, what, v->items[i],
                         json_object_get(ours, v->keys[i]->str));
        else if (v->kind == MORTISE_YAML_SEQ && subschema_keys[row].how == LIST)
            relax_schema(f, what, v->items[i], json_array_get(ours, i));
}

static void relax_schema(struct foreign *f, const char *what,
                         const struct mortise_yaml *schema, json_t *into)
{
    static const char *const asks[] = {"required", "minProperties",
                                       "dependentRequired"};

    if (schema == NULL || schema->kind != MORTISE_YAML_MAP)
        return;
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++)
        if (mortise_yaml_get(schema, asks[i]) != NULL) {
            mortise_foreign_report_loss(
                f, mortise_yaml_key(schema, asks[i])->span,
                "add it again if the graph always fills all "
                "of it before its end",
                "'%s' is not imported: it was never checked, "
                "because %s is filled step by step",
                asks[i], what);
            json_object_del(into, asks[i]);
        }
    for (size_t i = 0; i < sizeof subschema_keys / sizeof subschema_keys[0];
         i++)
        relax_subschemas(f, what, i, schema, into);
}

json_t *mortise_foreign_convert_schema(struct foreign *f, const char *what,
                                       const struct mortise_yaml *schema)
{
    json_t *into = mortise_yaml_to_json(schema, false);

    relax_schema(f, what, schema, into);
    return into;
}
