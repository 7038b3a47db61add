/* exit.c -- how nodes are left: next, routes, map, and what makes a router; and
 * depends_on, which is an edge of the node before. */
#include "graph/load/node.h"

#include <string.h>

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

static bool is_target(const struct mortise_graph *g,
                      const struct mortise_node *node, const json_t *id)
{
    for (uint32_t i = 0; i < node->n_out && json_is_string(id); i++) {
        const struct mortise_edge *e = &g->edges[node->out[i]];

        if (e->kind == MORTISE_EDGE_TARGET &&
            strcmp(json_string_value(id),
                   e->to == MORTISE_END ? "END" : g->nodes[e->to].id) == 0)
            return true;
    }
    return false;
}

/* A condition that mentions no name always gives the same: look now. */
static void late_condition(struct mortise_loader *ld,
                           const struct mortise_late *late)
{
    const json_t *nothing[MORTISE_IN_N] = {NULL};
    struct mortise_cel_env env = {nothing, ld->g->expr_cost};
    struct mortise_node *node = late->into;
    json_t *v = NULL;
    int rv;

    mortise_load_expr(ld, &node->condition, late->at, late->end);
    if (node->condition.cel == NULL ||
        !mortise_load_takes(ld, &node->condition, MORTISE_T_STRING,
                            "this condition never gives an id of 'targets'") ||
        mortise_cel_uses(node->condition.cel) != 0)
        return;
    rv = mortise_expr_eval(&node->condition, &env, &v, NULL);
    ld->nomem |= rv == MORTISE_ENOMEM;
    if (!ld->doubtful && !is_target(ld->g, node, v))
        mortise_diag_add(ld->diags, "E0403", late->at->span,
                         "this condition never gives an id of 'targets'");
    json_decref(v);
}

void mortise_node_read_condition(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    r->node->by_condition = true;
    mortise_load_late(ctx, (struct mortise_late){.fn = late_condition,
                                                 .into = r->node,
                                                 .at = slot->value,
                                                 .node = r->node->index,
                                                 .end = MORTISE_IN_OUTPUT});
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
    struct mortise_loader *ld = ctx;
    struct mortise_reading *r = into;

    if (r->node->type == MORTISE_NODE_ROUTER &&
        mortise_yaml_get(r->map, "condition") == NULL &&
        mortise_yaml_get(r->map, "operation") == NULL)
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'targets' needs 'condition' or 'operation'");
    mortise_load_each_id(ld, slot, add_target, into);
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

/* ---- routers --------------------------------------------------------- */

/* What only a router that calls an operation may say. */
static void check_call_keys(struct mortise_loader *ld,
                            const struct mortise_reading *r)
{
    static const char *const keys[] = {
        "effect_class", "on_in_doubt",   "timeout", "retry_policy",
        "input_schema", "output_schema", "args"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct mortise_yaml *key = mortise_yaml_key(r->map, keys[i]);

        if (key != NULL)
            mortise_diag_add(ld->diags, "E0212", key->span,
                             "'%s' needs 'operation': this router calls "
                             "nothing",
                             key->str);
    }
}

void mortise_node_finish_router(struct mortise_loader *ld,
                                struct mortise_reading *r)
{
    bool routes = mortise_yaml_get(r->map, "routes") != NULL;
    bool calls = mortise_yaml_get(r->map, "operation") != NULL;

    if (!calls)
        check_call_keys(ld, r);
    if (routes + calls + r->node->by_condition > 1)
        mortise_diag_add(ld->diags, "E0212", r->key->span,
                         "a router takes one of 'routes', 'condition' and "
                         "'operation'");
    else if (routes && mortise_yaml_get(r->map, "default") == NULL)
        mortise_diag_add(ld->diags, "E0308", r->key->span,
                         "router '%s' has no 'default'", r->node->id);
    else if (routes + calls + r->node->by_condition == 0)
        mortise_diag_add(ld->diags, "E0206", r->key->span,
                         "router '%s' needs 'routes' and 'default', or "
                         "'condition' or 'operation' and 'targets'",
                         r->node->id);
    else if (!routes && mortise_yaml_get(r->map, "targets") == NULL)
        mortise_diag_add(ld->diags, "E0206", r->key->span,
                         "router '%s' needs 'targets': the ids that its "
                         "%s may give",
                         r->node->id, calls ? "operation" : "condition");
}
