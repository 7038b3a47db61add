/* state.c -- the key `state`: schemas, and paths in the state.
 *
 * A path that a node writes is checked against the schemas when the graph is
 * loaded.  Otherwise a member that a closed schema does not list would fail the
 * run at its first commit.
 */
#include "lang/graph/load/loader.h"

#include <string.h>

/* The first member of the path that the schema of its root forbids, or NULL;
 * *near is the member that was probably meant. */
static const char *find_unknown_member(const struct mortise_schema *s,
                                       const struct mortise_path *path,
                                       const char **near)
{
    for (size_t i = 1; i < path->n && s != NULL; i++) {
        const char *key = path->steps[i].key;
        const struct mortise_schema *member =
            key != NULL ? mortise_schema_get_member(s, key)
                        : mortise_schema_get_items(s);

        if (key != NULL &&
            ((member != NULL && mortise_schema_get_types(member) == 0) ||
             (mortise_schema_get_types(s) & MORTISE_T_OBJECT) == 0)) {
            *near = mortise_schema_find_nearest(s, key);
            return key;
        }
        s = member;
    }
    return NULL;
}

const struct mortise_schema *
mortise_load_schema_at(const struct mortise_loader *ld,
                       const struct mortise_path *path)
{
    return mortise_load_schema_below(
        path->steps[0].key[0] == 's' ? ld->g->scratch : ld->g->artifacts, path);
}

const struct mortise_schema *
mortise_load_schema_below(const struct mortise_schema *s,
                          const struct mortise_path *path)
{
    for (size_t i = 1; i < path->n && s != NULL; i++)
        s = path->steps[i].key != NULL
                ? mortise_schema_get_member(s, path->steps[i].key)
                : mortise_schema_get_items(s);
    return s;
}

static bool parse_state_path(struct mortise_loader *ld,
                             struct mortise_path *out,
                             const struct mortise_yaml *key)
{
    struct mortise_err err;
    int rv = mortise_path_parse(out, ld->arena, key->str, key->len, &err);

    ld->nomem |= rv == MORTISE_ENOMEM;
    if (rv == MORTISE_EINVAL)
        mortise_diag_add(ld->diags, "E0213", key->span,
                         "'%s' is not a valid path: %s", key->str, err.msg);
    return rv == MORTISE_OK;
}

static void report_wrong_root(struct mortise_loader *ld,
                              const struct mortise_yaml *key, const char *roots,
                              const char *help)
{
    struct mortise_diag *d =
        mortise_diag_add(ld->diags, "E0213", key->span,
                         "'%s' is not a field of %s", key->str, roots);

    mortise_diag_help(ld->diags, d, "%s", help);
}

/* Does the schema of the root, named `what`, allow the path? */
static bool schema_allows_path(struct mortise_loader *ld,
                               const struct mortise_path *path,
                               const struct mortise_yaml *key,
                               const struct mortise_schema *s, const char *what)
{
    const char *near = NULL, *member = find_unknown_member(s, path, &near);
    struct mortise_diag *d;

    if (member == NULL)
        return true;
    d = mortise_diag_add(ld->diags, "E0213", key->span,
                         "the schema of %s has no member '%s'", what, member);
    if (near != NULL)
        mortise_diag_help(ld->diags, d, "did you mean '%s'?", near);
    return false;
}

bool mortise_load_input_path(struct mortise_loader *ld,
                             struct mortise_path *out,
                             const struct mortise_yaml *key,
                             const struct mortise_schema *input)
{
    if (!parse_state_path(ld, out, key))
        return false;
    if (out->n >= 2 && strcmp(out->steps[0].key, "input") == 0 &&
        out->steps[1].key != NULL)
        return schema_allows_path(ld, out, key, input, "the inner input");
    report_wrong_root(
        ld, key, "input",
        "name a field of the inner graph's input, such as input.label");
    return false;
}

bool mortise_load_own_path(struct mortise_loader *ld, struct mortise_path *out,
                           const struct mortise_yaml *key)
{
    return parse_state_path(ld, out, key);
}

bool mortise_load_path(struct mortise_loader *ld, struct mortise_path *out,
                       const struct mortise_yaml *key)
{
    const char *root;

    if (!parse_state_path(ld, out, key))
        return false;
    root = out->steps[0].key;
    if (out->n >= 2 && strcmp(root, "scratch") == 0)
        return schema_allows_path(ld, out, key, ld->g->scratch, root);
    if (out->n >= 2 && strcmp(root, "artifacts") == 0)
        return schema_allows_path(ld, out, key, ld->g->artifacts, root);
    report_wrong_root(ld, key, "scratch or artifacts",
                      "name a field, such as scratch.label");
    return false;
}

/* ---- schemas --------------------------------------------------------- */

/* The schema of input, scratch or artifacts, which are always objects. */
static void read_state_schema(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    const struct mortise_schema *s;

    mortise_load_schema(ld, into, slot);
    s = *(struct mortise_schema **)slot->field;
    if (s != NULL && (mortise_schema_get_types(s) & MORTISE_T_OBJECT) == 0)
        mortise_diag_add(
            ld->diags, "E0208", slot->value->span,
            "'%s' is always an object, but this schema does not allow objects",
            slot->name->str);
}

static const struct mortise_key state_keys[] = {
    {.name = "input",
     .about = "A JSON Schema for the input of a run.",
     .value = MORTISE_V_SCHEMA,
     .read = read_state_schema,
     MORTISE_AT(struct mortise_schema *, struct mortise_graph, input)},
    {.name = "scratch",
     .about = "A JSON Schema for scratch, the working values of nodes.",
     .value = MORTISE_V_SCHEMA,
     .read = read_state_schema,
     MORTISE_AT(struct mortise_schema *, struct mortise_graph, scratch)},
    {.name = "artifacts",
     .about = "A JSON Schema for artifacts, the results of the run.",
     .value = MORTISE_V_SCHEMA,
     .read = read_state_schema,
     MORTISE_AT(struct mortise_schema *, struct mortise_graph, artifacts)},
    {.name = "reducers",
     .about = "Maps paths of scratch and artifacts to how a new value is "
              "combined with the old one.",
     .value = MORTISE_V_MAP,
     .each = &mortise_reducer_row,
     .read = mortise_load_reducers},
};

const struct mortise_place mortise_state_place = {
    MORTISE_PLACE_OF("state", state_keys)};
