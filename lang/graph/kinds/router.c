/* router.c -- router nodes: routes, a condition or an operation choose the next
 * node.  A router has no output. */
#include "lang/graph/load/node.h"

#include <string.h>

static void read_router_operation(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    mortise_node_read_operation(ctx, into, slot, "an operation");
}

static bool is_router_target(const struct mortise_graph *g,
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

/* Also evaluate a condition that uses no names, since its result is always the
 * same. */
static void compile_router_condition(struct mortise_loader *ld,
                                     const struct mortise_deferred_expr *late)
{
    const json_t *nothing[MORTISE_IN_N] = {NULL};
    struct mortise_expr_env env = {nothing, ld->g->expr_cost};
    struct mortise_node *node = late->into;
    json_t *v = NULL;
    int rv;

    mortise_load_expr(ld, &node->condition, late->at, late->end);
    if (node->condition.cel == NULL ||
        !mortise_load_check_types(
            ld, &node->condition, MORTISE_T_STRING,
            "this condition must return an id of 'targets'") ||
        mortise_cel_get_uses(node->condition.cel) != 0)
        return;
    rv = mortise_expr_eval(&node->condition, &env, &v, NULL);
    ld->nomem |= rv == MORTISE_ENOMEM;
    if (!ld->doubtful && !is_router_target(ld->g, node, v))
        mortise_diag_add(ld->diags, "E0403", late->at->span,
                         "this condition never returns an id of 'targets'");
    json_decref(v);
}

static void read_router_condition(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    r->node->by_condition = true;
    mortise_load_defer(ctx, compile_router_condition, r->node, slot->value,
                       r->node->index, MORTISE_IN_OUTPUT);
}

static const struct mortise_key keys[] = {
    MORTISE_ROW(mortise_type_row),
    {.name = "operation",
     .about = "PLUGIN/OPERATION that gives the id of the next node.",
     .value = MORTISE_V_STRING,
     .read = read_router_operation},
    MORTISE_ROWS(mortise_call_rows),
    MORTISE_ROW(mortise_args_row),
    MORTISE_ROWS(mortise_join_rows),
    MORTISE_ROWS(mortise_route_rows),
    {.name = "condition",
     .about = "An expression that gives the id of the next node, one of the "
              "targets.",
     .value = MORTISE_V_EXPR,
     .read = read_router_condition},
    MORTISE_ROW(mortise_targets_row),
    MORTISE_ROWS(mortise_visit_rows),
    MORTISE_ROW(mortise_cache_row),
    MORTISE_ROWS(mortise_last_rows),
};

/* ---- the kind ------------------------------------------------------------ */

/* Report keys that only a router with an operation can have. */
static void check_router_call_keys(struct mortise_loader *ld,
                                   const struct mortise_node_reader *r)
{
    static const char *const of_calls[] = {
        "effect_class", "on_in_doubt",   "timeout", "retry_policy",
        "input_schema", "output_schema", "args"};

    for (size_t i = 0; i < sizeof of_calls / sizeof of_calls[0]; i++) {
        const struct mortise_yaml *key = mortise_yaml_key(r->map, of_calls[i]);

        if (key != NULL)
            mortise_diag_add(
                ld->diags, "E0212", key->span,
                "'%s' needs 'operation': this router calls no operation",
                key->str);
    }
}

/* Report keys that need an output or a choice of targets. */
static void check_router_results(struct mortise_loader *ld,
                                 const struct mortise_node_reader *r)
{
    const struct mortise_yaml *on_error = mortise_yaml_get(r->map, "on_error");
    const struct mortise_yaml *targets = mortise_yaml_key(r->map, "targets");

    if (r->node->on_error_value)
        mortise_diag_add(
            ld->diags, "E0212", mortise_yaml_key(on_error, "value")->span,
            "a router has no output: use goto or fail in its on_error");
    if (r->node->cache && r->node->plugin == NULL)
        mortise_diag_add(ld->diags, "E0512",
                         mortise_yaml_get(r->map, "cache")->span,
                         "router '%s' has 'cache', but calls no operation, so "
                         "there is no result to store",
                         r->node->id);
    if (targets != NULL && !mortise_node_has_key(r, "condition") &&
        !mortise_node_has_key(r, "operation"))
        mortise_diag_add(ld->diags, "E0212", targets->span,
                         "'targets' needs 'condition' or 'operation'");
}

static void finish_router_node(struct mortise_loader *ld,
                               struct mortise_node_reader *r)
{
    bool routes = mortise_node_has_key(r, "routes");
    bool calls = mortise_node_has_key(r, "operation");
    bool decides = mortise_node_has_key(r, "condition");

    if (!calls)
        check_router_call_keys(ld, r);
    check_router_results(ld, r);
    if (routes + calls + decides > 1)
        mortise_diag_add(ld->diags, "E0212", r->key->span,
                         "a router can have only one of 'routes', 'condition' "
                         "and 'operation'");
    else if (routes && !mortise_node_has_key(r, "default"))
        mortise_diag_add(ld->diags, "E0308", r->key->span,
                         "router '%s' has no 'default'", r->node->id);
    else if (routes + calls + decides == 0)
        mortise_diag_add(ld->diags, "E0206", r->key->span,
                         "router '%s' needs 'routes' and 'default', or "
                         "'condition' or 'operation' and 'targets'",
                         r->node->id);
    else if (!routes && !mortise_node_has_key(r, "targets"))
        mortise_diag_add(
            ld->diags, "E0206", r->key->span,
            "router '%s' needs 'targets': the ids that its %s can return",
            r->node->id, calls ? "operation" : "condition");
}

const struct mortise_node_kind mortise_graph_kind_router = {
    .place = {MORTISE_KIND_PLACE("router", keys)},
    .finish = finish_router_node};
