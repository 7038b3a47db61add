/* warn.c -- what loads, and may not be what was meant: loops without end
 * (infinite_loops.c), lists without bound, effects that a crash leaves in
 * doubt.
 *
 * Each warning can be answered in the file, by saying what was meant in so
 * many words; then it is silent, but for what may be done twice.  Doubt is
 * nothing that can be mended in every graph, so `mortise check` alone speaks of
 * it.
 */
#include "lang/graph/load/loader.h"

/* ---- lists ------------------------------------------------------------ */

/* The entry of a loop that the node is in, or NULL. */
static const struct mortise_node *loop_around(const struct mortise_graph *g,
                                              uint32_t node)
{
    for (uint32_t at = g->nodes[node].region; at != 0;
         at = g->regions[at].parent)
        if (g->regions[at].kind == MORTISE_REGION_LOOP)
            return &g->nodes[g->regions[at].entry];
    return NULL;
}

static bool may_be_list(const struct mortise_loader *ld,
                        const struct mortise_reducer *r)
{
    const struct mortise_schema *s = mortise_load_schema_at(ld, &r->path);

    return s == NULL || mortise_schema_types(s) & MORTISE_T_ARRAY;
}

static void check_lists(struct mortise_loader *ld)
{
    const struct mortise_graph *g = ld->g;

    for (size_t i = 0; i < ld->n_writes; i++) {
        const struct mortise_declared *w = &ld->writes[i];
        const struct mortise_reducer *r = mortise_graph_reducer(g, w->path);
        const struct mortise_node *entry = loop_around(g, w->node);

        if (entry == NULL || r == NULL || r->max_items > 0 ||
            r->reduce != MORTISE_REDUCE_CONCAT)
            continue;
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "W0805", r->span,
                             "'%s' grows without limit in the loop of '%s'",
                             r->path.text, entry->id),
            may_be_list(ld, r)
                ? "limit it: {reduce: concat, max_items: N, overflow: "
                  "drop_oldest | error}"
                : "limit it with {expr: EXPRESSION} over old and new");
    }
}

/* ---- doubt ------------------------------------------------------------ */

static bool can_be_in_doubt(const struct mortise_node *node)
{
    const struct mortise_operation *op = node->op;

    return op != NULL && node->effect >= MORTISE_WRITE && !op->idempotent;
}

/* What its author did not say is asked of people. */
static void warn_of_doubt(struct mortise_loader *ld,
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

/* retry: it is done again, whatever became of it. */
static void warn_of_repetition(struct mortise_loader *ld,
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

static void check_doubt_of(struct mortise_loader *ld,
                           const struct mortise_node *node)
{
    const struct mortise_yaml *said = mortise_yaml_get(
        mortise_yaml_get(ld->g->nodes_map, node->id), "on_in_doubt");

    if (!can_be_in_doubt(node))
        return;
    if (said == NULL && !node->op->reconcile)
        warn_of_doubt(ld, node);
    else if (said != NULL && node->on_in_doubt == MORTISE_DOUBT_RETRY)
        warn_of_repetition(ld, node, said);
}

static void check_doubt(struct mortise_loader *ld)
{
    const struct mortise_graph *g = ld->g;

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        for (size_t k = 0; k < g->nodes[i].n_choices; k++)
            check_doubt_of(ld, &g->nodes[i].choices[k]);
        if (g->nodes[i].n_choices == 0)
            check_doubt_of(ld, &g->nodes[i]);
    }
}

/* `end: first` ends the graph with the first edge to END. */
static void check_end_first(struct mortise_loader *ld)
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
    check_end_first(ld);
    mortise_check_infinite_loops(ld);
    check_lists(ld);
    if (ld->catalog->advise)
        check_doubt(ld);
}
