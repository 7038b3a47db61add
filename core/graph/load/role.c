/* role.c -- roles: the catalogue of a file, and the roles that nodes play.
 *
 * Leaves and teams are not in this build, and so neither are roles: `roles`
 * and those nodes are refused by name.  What can be said of a file all the
 * same is said beside the refusal, since people write graphs for the day after:
 *
 *   (1) The catalogue has the shape that the language gives it.
 *   (2) A node's `role` is in the catalogue or built in, also where the node
 *       stands in the graph of a team.
 */
#include "graph/load/node.h"

#include <string.h>

static const char *const built_in[] = {"researcher", "red-team", "fact-checker",
                                       "writer",     "editor",   "critic",
                                       "synthesizer"};

enum { N_BUILT_IN = sizeof built_in / sizeof built_in[0] };

/* ---- the catalogue (1) ------------------------------------------------ */

/* An empty list means something: no tools. */
static void read_tools(void *ctx, void *into, const struct mortise_slot *slot)
{
    const struct mortise_loader *ld = ctx;
    const struct mortise_yaml *v;

    (void)into;
    for (size_t i = 0; i < slot->value->n; i++) {
        v = slot->value->items[i];
        if (v->kind != MORTISE_YAML_STRING)
            mortise_diag_add(ld->diags, "E0203", v->span,
                             "'%s' takes names of tools, and this is %s",
                             slot->key->name, mortise_yaml_kind_name(v->kind));
    }
}

static const struct mortise_key role_keys[] = {
    {.name = "display_name", .value = MORTISE_V_STRING},
    {.name = "system_prompt_fragment", .value = MORTISE_V_STRING},
    {.name = "default_tool_allowlist",
     .value = MORTISE_V_LIST,
     .read = read_tools},
    {.name = "suggested_temperature",
     .value = MORTISE_V_NUMBER,
     .min = 0,
     .max = 2},
    {.name = "requires_approval", .value = MORTISE_V_BOOL},
};

MORTISE_PLACE(role, "a role");

const struct mortise_key mortise_role_row = {.value = MORTISE_V_MAP,
                                             .place = &role_place};

void mortise_load_roles(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    const struct mortise_yaml *map = slot->value;

    (void)into;
    for (size_t i = 0; i < map->n; i++)
        if (!mortise_yaml_is_x(map->keys[i]->str))
            mortise_keys_read(&role_place, map->items[i], map->keys[i]->span,
                              ld, NULL, ld->diags);
    ld->roles = map;
}

/* ---- who plays which (2) ---------------------------------------------- */

static bool is_built_in(const char *role)
{
    for (size_t i = 0; i < N_BUILT_IN; i++)
        if (strcmp(built_in[i], role) == 0)
            return true;
    return false;
}

/* The role that was probably meant, or NULL. */
static const char *nearest(struct mortise_loader *ld, const char *role)
{
    size_t mine = ld->roles != NULL ? ld->roles->n : 0;
    const char **known =
        mortise_load_alloc(ld, (N_BUILT_IN + mine) * sizeof *known);

    if (known == NULL || ld->suggestions == 0)
        return NULL;
    ld->suggestions--;
    for (size_t i = 0; i < mine; i++)
        known[i] = mortise_yaml_is_x(ld->roles->keys[i]->str)
                       ? NULL
                       : ld->roles->keys[i]->str;
    memcpy(known + mine, built_in, sizeof built_in);
    return mortise_nearest(role, known, N_BUILT_IN + mine);
}

static void unknown_role(struct mortise_loader *ld,
                         const struct mortise_yaml *role)
{
    struct mortise_diag *d = mortise_diag_add(
        ld->diags, "E0510", role->span, "there is no role '%s'", role->str);
    const char *near = nearest(ld, role->str);

    if (near != NULL)
        mortise_diag_help(ld->diags, d, "did you mean '%s'?", near);
    else
        mortise_diag_help(ld->diags, d,
                          "describe it under 'roles'; built in are researcher, "
                          "red-team, fact-checker, writer, editor, critic and "
                          "synthesizer");
}

static void check_role(struct mortise_loader *ld,
                       const struct mortise_yaml *role)
{
    if (role->kind != MORTISE_YAML_STRING)
        mortise_diag_add(ld->diags, "E0203", role->span,
                         "'role' takes the id of a role, and this is %s",
                         mortise_yaml_kind_name(role->kind));
    else if (!is_built_in(role->str) &&
             (ld->roles == NULL ||
              mortise_yaml_get(ld->roles, role->str) == NULL ||
              mortise_yaml_is_x(role->str)))
        unknown_role(ld, role);
}

/* Have nodes of that type this key? */
static bool type_has(const struct mortise_yaml *type, const char *key)
{
    for (size_t i = 0; mortise_node_types[i] != NULL; i++)
        if (type->kind == MORTISE_YAML_STRING &&
            strcmp(type->str, mortise_node_types[i]->type) == 0)
            return mortise_place_row(mortise_node_types[i], key) != NULL;
    return false;
}

/* A node that says no type is one that plays a role by its goal.  As deep as
 * YAML nests. */
void mortise_check_role(struct mortise_loader *ld,
                        const struct mortise_yaml *node)
{
    const struct mortise_yaml *type = mortise_yaml_get(node, "type");
    const struct mortise_yaml *role = mortise_yaml_get(node, "role"), *nodes;

    if (type != NULL ? !type_has(type, "role")
                     : mortise_yaml_get(node, "goal") == NULL)
        return;
    if (role != NULL)
        check_role(ld, role);
    if (type == NULL || !type_has(type, "graph"))
        return;
    nodes = mortise_yaml_get(mortise_yaml_get(node, "graph"), "nodes");
    for (size_t i = 0; nodes != NULL && nodes->kind == MORTISE_YAML_MAP &&
                       i < nodes->n && !ld->nomem;
         i++)
        mortise_check_role(ld, nodes->items[i]);
}
