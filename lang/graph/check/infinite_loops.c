/* infinite_loops.c -- loops that never end.
 *
 * A loop without exits may still end, in a visit that takes no back edge: on a
 * path to END, or to a node without outgoing edges.  A node may lead to such an
 * end if:
 *
 *   (1) each edge that is always taken leads to one, and
 *   (2) if one of several edges is taken (routes with a default, a personality
 *       edge, a router), one of those leads to one; or
 *   (3) an edge leads to one that replaces the others after an error or by a
 *       decision of the executor.
 *
 * An edge that may not be taken (`when`, routes without a default) does not
 * continue a loop.  A back edge in a loop without exits is no end.  The search
 * starts at the ends and walks against the edges, so it visits each node and
 * edge once.  The possible failure of a node does not count as an end: the
 * author should not rely on it.
 */
#include "lang/graph/load/loader.h"

struct ending {
    struct mortise_graph *g;
    uint32_t *goes_on; /* by node: always-taken edges that lead to no end */
    bool *chooses;     /* by node: one of several edges is taken */
    bool *choice_ends; /* by node: one of these edges may lead to an end */
    bool *ends;
    uint32_t *stack, n; /* ending nodes whose incoming edges are still to be
                         * visited */
};

static bool is_always_taken(const struct mortise_edge *e)
{
    return e->kind == MORTISE_EDGE_STATIC;
}

/* Is it one of several edges of which one is taken? */
static bool is_choice_edge(const struct mortise_graph *g,
                           const struct mortise_edge *e)
{
    switch (e->kind) {
    case MORTISE_EDGE_ROUTE:
    case MORTISE_EDGE_ROUTE_ALL:
    case MORTISE_EDGE_DEFAULT:
    case MORTISE_EDGE_ABOVE:
    case MORTISE_EDGE_BELOW:
    case MORTISE_EDGE_FOUND:
    case MORTISE_EDGE_FALLBACK:
        return true;
    case MORTISE_EDGE_TARGET:
        return mortise_node_gives(&g->nodes[e->from]) == MORTISE_GIVES_ROUTE;
    default:
        return false;
    }
}

/* A node's routes alone are no such choice: only with a default is one always
 * taken. */
static bool is_exhaustive_choice(const struct mortise_graph *g,
                                 const struct mortise_edge *e)
{
    return is_choice_edge(g, e) && e->kind != MORTISE_EDGE_ROUTE &&
           e->kind != MORTISE_EDGE_ROUTE_ALL;
}

static void mark_ending_node(struct ending *w, uint32_t node)
{
    if (w->ends[node])
        return;
    w->ends[node] = true;
    w->stack[w->n++] = node;
}

static void mark_node_if_ending(struct ending *w, uint32_t node)
{
    if (w->goes_on[node] == 0 && (!w->chooses[node] || w->choice_ends[node]))
        mark_ending_node(w, node);
}

/* Record that this edge leads to an end. */
static void mark_ending_edge(struct ending *w, const struct mortise_edge *e)
{
    if (e->from == MORTISE_START || e->kind == MORTISE_EDGE_WHEN)
        return;
    if (is_always_taken(e))
        w->goes_on[e->from]--;
    else if (is_choice_edge(w->g, e))
        w->choice_ends[e->from] = true;
    else
        mark_ending_node(w, e->from); /* it replaces the others */
    mark_node_if_ending(w, e->from);
}

/* After a map, the run continues only at the map's join. */
static void mark_edge_into_ending(struct ending *w,
                                  const struct mortise_edge *e)
{
    const struct mortise_region *home = &w->g->regions[e->home];

    if (e->kind == MORTISE_EDGE_GATHER)
        mark_ending_edge(w, &w->g->edges[w->g->regions[e->map].map_edge]);
    else if (!mortise_edge_is_map(e) && !(e->back && home->n_exits == 0))
        mark_ending_edge(w, e);
}

static void count_edges_by_source(struct ending *w)
{
    for (uint32_t i = 0; i < w->g->n_edges; i++) {
        const struct mortise_edge *e = &w->g->edges[i];

        if (e->from == MORTISE_START || e->kind == MORTISE_EDGE_GATHER)
            continue;
        w->goes_on[e->from] += is_always_taken(e);
        w->chooses[e->from] |= is_exhaustive_choice(w->g, e);
    }
}

/* Start with the ends.  A quorum may never be reached, so its node may be an
 * end. */
static void mark_first_endings(struct ending *w)
{
    for (uint32_t i = 0; i < w->g->n_nodes; i++) {
        if (w->g->nodes[i].join.kind == MORTISE_JOIN_QUORUM)
            mark_ending_node(w, i);
        mark_node_if_ending(w, i);
    }
    for (uint32_t i = 0; i < w->g->n_edges; i++)
        if (w->g->edges[i].to == MORTISE_END || w->g->edges[i].yields)
            mark_ending_edge(w, &w->g->edges[i]);
}

static void propagate_endings(struct ending *w)
{
    while (w->n > 0) {
        const struct mortise_node *n = &w->g->nodes[w->stack[--w->n]];

        for (uint32_t i = 0; i < n->n_in + n->n_back_in; i++)
            mark_edge_into_ending(w, &w->g->edges[n->in[i]]);
    }
}

/* Can any path reach END? Such a path may run in parallel to a loop. */
static bool can_graph_end(const struct ending *w)
{
    for (uint32_t i = 0; i < w->g->n_nodes; i++)
        if (w->ends[i])
            return true;
    for (uint32_t i = 0; i < w->g->n_edges; i++)
        if (w->g->edges[i].to == MORTISE_END)
            return true;
    return false;
}

static void report_infinite_loops(struct mortise_loader *ld,
                                  const struct ending *w)
{
    const struct mortise_graph *g = ld->g;

    for (uint32_t i = 0; i < g->n_regions; i++) {
        const struct mortise_region *r = &g->regions[i];

        if (r->kind != MORTISE_REGION_LOOP || r->n_exits > 0 ||
            w->ends[r->entry])
            continue;
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "W0804", g->edges[r->back[0]].span,
                             "no edge leaves this loop: it repeats until "
                             "limits.visits pauses the run"),
            "add an edge with a condition from '%s', or from a node after it, "
            "to a node outside of the loop",
            g->nodes[r->entry].id);
    }
}

/* With `end: first`, a path that reaches END elsewhere ends the loop, too. */
void mortise_check_infinite_loops(struct mortise_loader *ld)
{
    struct ending w = {.g = ld->g};
    struct mortise_arena a;
    uint32_t n = ld->g->n_nodes;

    mortise_arena_init(&a, ld->mem);
    w.goes_on = mortise_load_scratch(ld, &a, n * sizeof *w.goes_on);
    w.chooses = mortise_load_scratch(ld, &a, n);
    w.choice_ends = mortise_load_scratch(ld, &a, n);
    w.ends = mortise_load_scratch(ld, &a, n);
    w.stack = mortise_load_scratch(ld, &a, n * sizeof *w.stack);
    if (!ld->nomem) {
        count_edges_by_source(&w);
        mark_first_endings(&w);
        propagate_endings(&w);
        if (!ld->g->end_first || !can_graph_end(&w))
            report_infinite_loops(ld, &w);
    }
    mortise_arena_finish(&a);
}
