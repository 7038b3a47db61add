/* warn.c -- warnings about graphs that may not do what their author expects:
 * infinite loops (infinite_loops.c), lists without a limit, effects that a
 * crash leaves in doubt.
 *
 * An explicit key silences each warning, except the one about effects that may
 * happen twice.  Not every graph can avoid effects in doubt, so only `mortise
 * check` warns about them.
 */
#include "lang/graph/load/loader.h"

/* ---- lists ------------------------------------------------------------ */

/* The entry of a loop that contains the node, or NULL. */
static const struct mortise_node *get_loop_entry(const struct mortise_graph *g,
                                                 uint32_t node)
{
    for (uint32_t at = g->nodes[node].region; at != 0;
         at = g->regions[at].parent)
        if (g->regions[at].kind == MORTISE_REGION_LOOP)
            return &g->nodes[g->regions[at].entry];
    return NULL;
}

static bool can_be_list(const struct mortise_loader *ld,
                        const struct mortise_reducer *r)
{
    const struct mortise_schema *s = mortise_load_schema_at(ld, &r->path);

    return s == NULL || mortise_schema_get_types(s) & MORTISE_T_ARRAY;
}

static void check_growing_lists(struct mortise_loader *ld)
{
    const struct mortise_graph *g = ld->g;

    for (size_t i = 0; i < ld->n_writes; i++) {
        const struct mortise_declared_write *w = &ld->writes[i];
        const struct mortise_reducer *r = mortise_graph_reducer(g, w->path);
        const struct mortise_node *entry = get_loop_entry(g, w->node);

        if (entry == NULL || r == NULL || r->max_items > 0 ||
            r->reduce != MORTISE_REDUCE_CONCAT)
            continue;
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "W0805", r->span,
                             "'%s' grows without limit in the loop of '%s'",
                             r->path.text, entry->id),
            can_be_list(ld, r)
                ? "limit it: {reduce: concat, max_items: N, overflow: "
                  "drop_oldest | error}"
                : "limit it with {expr: EXPRESSION} over old and new");
    }
}

/* ---- effects in doubt ------------------------------------------------- */

static bool can_be_in_doubt(const struct mortise_node *node)
{
    const struct mortise_operation *op = node->op;

    return op != NULL && node->effect >= MORTISE_WRITE && !op->idempotent;
}

/* Without on_in_doubt, the run asks a person. */
static void warn_effect_in_doubt(struct mortise_loader *ld,
                                 const struct mortise_node *node)
{
    struct mortise_diag *d =
        node->op->steps
            ? mortise_diag_add(ld->diags, "W0806", node->span,
                               "a crash or a lost connection during a request "
                               "of '%s' leaves its effect in doubt: %s/%s "
                               "cannot tell whether it happened",
                               node->id, node->op->plugin, node->op->name)
            : mortise_diag_add(ld->diags, "W0806", node->span,
                               "a crash during '%s' leaves its effect in "
                               "doubt: %s/%s cannot tell whether it happened",
                               node->id, node->op->plugin, node->op->name);

    mortise_diag_help(ld->diags, d,
                      "set on_in_doubt: ask (the default), retry or fail");
}

/* With on_in_doubt: retry, the effect may happen twice. */
static void warn_repeated_effect(struct mortise_loader *ld,
                                 const struct mortise_node *node,
                                 const struct mortise_yaml *at)
{
    struct mortise_diag *d = mortise_diag_add(
        ld->diags, "W0809", at->span,
        "the effect of '%s' can happen twice: %s/%s is not idempotent",
        node->id, node->op->plugin, node->op->name);

    mortise_diag_help(ld->diags, d,
                      node->op->reconcile
                          ? "set on_in_doubt: reconcile (the engine asks the "
                            "plugin), ask or fail"
                          : "set on_in_doubt: ask or fail, unless a second "
                            "effect does no harm");
}

static void check_node_doubt(struct mortise_loader *ld,
                             const struct mortise_node *node)
{
    const struct mortise_yaml *said = mortise_yaml_get(
        mortise_yaml_get(ld->g->nodes_map, node->id), "on_in_doubt");

    if (!can_be_in_doubt(node))
        return;
    if (said == NULL && !node->op->reconcile)
        warn_effect_in_doubt(ld, node);
    else if (said != NULL && node->on_in_doubt == MORTISE_DOUBT_RETRY)
        warn_repeated_effect(ld, node, said);
}

static void check_all_doubts(struct mortise_loader *ld)
{
    const struct mortise_graph *g = ld->g;

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        for (size_t k = 0; k < g->nodes[i].n_choices; k++)
            check_node_doubt(ld, &g->nodes[i].choices[k]);
        if (g->nodes[i].n_choices == 0)
            check_node_doubt(ld, &g->nodes[i]);
    }
}

/* `end: first` ends the graph with the first edge to END. */
static void check_end_first_key(struct mortise_loader *ld)
{
    const struct mortise_graph *g = ld->g;
    const struct mortise_yaml *key = mortise_yaml_key(g->tree, "end");

    for (uint32_t i = 0; i < g->n_edges; i++)
        if (g->edges[i].to == MORTISE_END)
            return;
    if (g->end_first && key != NULL)
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "W0826", key->span,
                             "'end: first' has no effect: no edge leads to "
                             "END"),
            "add 'next: END' to the nodes that can end the graph");
}

void mortise_check_warnings(struct mortise_loader *ld)
{
    check_end_first_key(ld);
    mortise_check_infinite_loops(ld);
    check_growing_lists(ld);
    if (ld->catalog->advise)
        check_all_doubts(ld);
}
