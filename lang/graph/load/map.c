/* map.c -- the key `map` of a node, a route, an edge or `start`.
 *
 * An edge of any kind may lead into a map; the kind decides when the edge is
 * taken.
 *
 * map_body.c finds the nodes of a map's body.
 */
#include "lang/graph/load/node.h"

#include <string.h>

/* Names that expressions already have, or may get in a later version. */
static bool is_reserved_item_name(const char *name)
{
    static const char *const taken[] = {
        "input", "scratch", "artifacts", "state",   "memory", "diagnostics",
        "run",   "node",    "output",    "error",   "index",  "old",
        "new",   "args",    "payload",   "metadata"};

    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (strcmp(taken[i], name) == 0)
            return true;
    return false;
}

/* Can an expression use this name? */
static bool is_item_name(struct mortise_loader *ld, const char *name)
{
    struct mortise_cel_name names = {name, NULL};
    struct mortise_cel_scope scope = {.names = &names, .n = 1};
    struct mortise_cel_range where;
    struct mortise_cel *cel;
    int rv;

    if (strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                     "0123456789") != strlen(name))
        return false;
    rv = mortise_cel_compile(&cel, ld->arena, name, strlen(name), &scope,
                             &where, NULL);
    ld->nomem |= rv == MORTISE_ENOMEM;
    return rv == MORTISE_OK && mortise_cel_get_uses(cel) == 1;
}

static void read_map_as(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_map *map = into;
    const char *name = slot->value->str;

    map->as = name;
    map->as_at = slot->value;
    if (is_reserved_item_name(name))
        mortise_diag_add(
            ld->diags, "E0314", slot->value->span,
            "'%s' is already a name in expressions: choose another", name);
    else if (!is_item_name(ld, name))
        mortise_diag_add(ld->diags, "E0211", slot->value->span,
                         "'%s' cannot be a name in expressions", name);
}

static void read_map_to(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_map *map = into;

    map->to_at = slot->value;
    map->to = mortise_load_node_id(ctx, slot->value);
}

static void read_map_join(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_map *map = into;

    map->join = mortise_load_node_id(ld, slot->value);
    map->join_at = slot->value->span;
    if (map->join != MORTISE_NOWHERE && map->join == map->to)
        mortise_diag_add(ld->diags, "E0312", slot->value->span,
                         "'to' and 'join' must be two nodes: 'to' runs for "
                         "each element, and 'join' once after all of them");
}

static const struct mortise_key parallel_forms[] = {
    {.value = MORTISE_V_INT, .min = 1, .max = MORTISE_MAX_PARALLEL},
    {.value = MORTISE_V_FILLED},
};

static void read_max_parallel(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_map *map = into;

    if (mortise_tmpl_has_expr(slot->value))
        map->parallel = slot->value;
    else if (mortise_keys_is_fit(slot, &parallel_forms[0], ld->diags))
        map->max_parallel = (uint32_t)slot->value->u.i;
}

static const struct mortise_key keys[] = {
    {.name = "over",
     .about = "An expression that gives the list.",
     .value = MORTISE_V_EXPR,
     .required = true,
     MORTISE_INTO_YAML(struct mortise_map, over)},
    {.name = "as",
     .about = "The name of an element in expressions (default: item).",
     .value = MORTISE_V_STRING,
     .read = read_map_as},
    {.name = "to",
     .about = "The node that runs for each element.",
     .value = MORTISE_V_ID,
     .required = true,
     .read = read_map_to},
    {.name = "join",
     .about = "The node that starts when all elements have ended.",
     .value = MORTISE_V_ID,
     .required = true,
     .read = read_map_join},
    {.name = "max_parallel",
     .about = "The number of elements that run at once (default: 16).",
     MORTISE_FORMS(parallel_forms),
     .read = read_max_parallel},
};

const struct mortise_place mortise_map_place = {
    MORTISE_PLACE_OF("a map", keys)};

/* The map is not created, but its body should not get findings for the map's
 * names: the name in `as`, and each value of an unknown key that may be a
 * misspelled `as`. */
static void add_lost_item(struct mortise_loader *ld, const char *name)
{
    struct mortise_shared_name *one = mortise_load_alloc(ld, sizeof *one);

    if (one == NULL)
        return;
    *one = (struct mortise_shared_name){.next = ld->lost_items, .name = name};
    ld->lost_items = one;
}

static void add_lost_items(struct mortise_loader *ld,
                           const struct mortise_map *map,
                           const struct mortise_yaml *written)
{
    add_lost_item(ld, map->as);
    for (size_t i = 0; written->kind == MORTISE_YAML_MAP && i < written->n; i++)
        if (written->items[i]->kind == MORTISE_YAML_STRING &&
            mortise_place_find_key(&mortise_map_place, written->keys[i]->str) ==
                NULL)
            add_lost_item(ld, written->items[i]->str);
}

void mortise_load_map(struct mortise_loader *ld, uint32_t from,
                      enum mortise_edge_kind kind,
                      const struct mortise_yaml *when,
                      const struct mortise_slot *slot)
{
    struct mortise_map *map = mortise_load_alloc(ld, sizeof *map);
    size_t errors = ld->diags->n_errors;
    struct mortise_edge_draft *draft;

    if (map == NULL)
        return;
    *map = (struct mortise_map){.to = MORTISE_NOWHERE,
                                .join = MORTISE_NOWHERE,
                                .as = "item",
                                .as_at = slot->name,
                                .max_parallel = 16};
    mortise_keys_read_slot(slot, ld, map, ld->diags);
    if (ld->diags->n_errors > errors)
        add_lost_items(ld, map, slot->value);
    if (from == MORTISE_NOWHERE || map->over == NULL ||
        map->to == MORTISE_NOWHERE || map->join == MORTISE_NOWHERE)
        return;
    draft = mortise_load_edge(ld, from, map->to_at, kind);
    if (draft == NULL)
        return;
    draft->when = when;
    draft->map = map;
    ld->n_maps++;
    mortise_node_add_results(ld, map->join, map->to_at);
}

/* ---- {map: ...} ------------------------------------------------------- */

struct only {
    struct mortise_slot map; /* its key is NULL: a finding */
};

static const struct mortise_key only_keys[] = {
    {.name = "map",
     .about = "One execution of a node for each element of a list.",
     .value = MORTISE_V_MAP,
     .required = true,
     .place = &mortise_map_place,
     MORTISE_INTO_SLOT(struct only, map)},
};

const struct mortise_place mortise_only_map_place = {
    MORTISE_PLACE_OF("a fan-out", only_keys)};

void mortise_load_only_map(struct mortise_loader *ld, uint32_t from,
                           enum mortise_edge_kind kind,
                           const struct mortise_slot *slot)
{
    struct only only = {.map.key = NULL};

    mortise_keys_read(&mortise_only_map_place, slot->value, slot->value->span,
                      ld, &only, ld->diags);
    if (only.map.key != NULL)
        mortise_load_map(ld, from, kind, NULL, &only.map);
}
