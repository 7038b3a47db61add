/* successors.c -- how nodes are left: next, routes, targets, map; and
 * depends_on, which is an edge of the node before. */
#include "graph/load/node.h"

static void add_depends_on(struct mortise_loader *ld, void *ud,
                           const struct mortise_yaml *id)
{
    struct mortise_reading *r = ud;
    uint32_t from = mortise_load_node_id(ld, id);
    struct mortise_draft *draft;

    if (from == MORTISE_NOWHERE)
        return;
    draft = mortise_load_edge(ld, from, r->key, MORTISE_EDGE_STATIC);
    if (draft == NULL)
        return;
    draft->depends_on = true;
    draft->edge.span = id->span;
}

void mortise_node_read_depends_on(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    mortise_load_each_id(ctx, slot, add_depends_on, into);
}

static void add_next(struct mortise_loader *ld, void *ud,
                     const struct mortise_yaml *id)
{
    struct mortise_reading *r = ud;

    mortise_load_edge(ld, r->node->index, id, MORTISE_EDGE_STATIC);
}

void mortise_node_read_next(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    mortise_load_each_id(ctx, slot, add_next, into);
}

void mortise_node_read_routes(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    mortise_load_routes(ctx, r->node, slot);
}

void mortise_node_read_default(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_reading *r = into;

    if (mortise_yaml_get(r->map, "routes") == NULL)
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'default' needs 'routes'");
    mortise_load_edge(ld, r->node->index, slot->value, MORTISE_EDGE_DEFAULT);
}

static void add_target(struct mortise_loader *ld, void *ud,
                       const struct mortise_yaml *id)
{
    struct mortise_reading *r = ud;

    mortise_load_edge(ld, r->node->index, id, MORTISE_EDGE_TARGET);
}

void mortise_node_read_targets(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    mortise_load_each_id(ctx, slot, add_target, into);
}

void mortise_node_read_map(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    mortise_load_map(ctx, r->node->index, slot);
}

void mortise_node_read_max_visits(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    (void)ctx;
    mortise_load_check_limit(ctx, MORTISE_LIMIT_VISITS,
                             (uint64_t)slot->value->u.i, slot->value);
    r->node->max_visits = (uint32_t)slot->value->u.i;
}
