/* successors.c -- the outgoing edges of nodes: next, routes, targets, map.
 * Also depends_on, which defines an edge of the previous node. */
#include "lang/graph/load/node.h"

void mortise_node_read_depends_on(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;
    const struct mortise_yaml *id;

    for (size_t i = 0; (id = mortise_load_id(slot, i)) != NULL; i++) {
        uint32_t from = mortise_load_node_id(ctx, id);
        struct mortise_edge_draft *draft = NULL;

        if (from != MORTISE_NOWHERE)
            draft = mortise_load_edge(ctx, from, r->key, MORTISE_EDGE_STATIC);
        if (draft == NULL)
            continue;
        draft->depends_on = true;
        draft->edge.span = id->span;
    }
}

/* Add an edge of this kind to each listed node. */
static void add_listed_edges(struct mortise_loader *ld,
                             const struct mortise_node_reader *r,
                             const struct mortise_slot *slot,
                             enum mortise_edge_kind kind)
{
    const struct mortise_yaml *id;

    for (size_t i = 0; (id = mortise_load_id(slot, i)) != NULL; i++)
        mortise_load_edge(ld, r->node->index, id, kind);
}

void mortise_node_read_next(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    add_listed_edges(ctx, into, slot, MORTISE_EDGE_STATIC);
}

void mortise_node_read_targets(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    add_listed_edges(ctx, into, slot, MORTISE_EDGE_TARGET);
}

/* The target of an edge that may lead into a map. */
const struct mortise_key mortise_default_forms[2] = {
    {.value = MORTISE_V_ID},
    {.value = MORTISE_V_MAP, .place = &mortise_only_map_place},
};

void mortise_node_read_default(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;

    if (!mortise_slot_has_sibling(slot, "routes"))
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'default' needs 'routes'");
    if (slot->value->kind == MORTISE_YAML_MAP)
        mortise_load_only_map(ld, r->node->index, MORTISE_EDGE_DEFAULT, slot);
    else if (mortise_keys_is_fit(slot, &mortise_default_forms[0], ld->diags))
        mortise_load_edge(ld, r->node->index, slot->value,
                          MORTISE_EDGE_DEFAULT);
}

void mortise_node_read_map(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    mortise_load_map(ctx, r->node->index, MORTISE_EDGE_STATIC, NULL, slot);
}

void mortise_node_read_max_visits(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    (void)ctx;
    mortise_load_check_limit(ctx, MORTISE_LIMIT_VISITS,
                             (uint64_t)slot->value->u.i, slot->value);
    r->node->max_visits = (uint32_t)slot->value->u.i;
}
