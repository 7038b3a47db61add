/* infinite_loops.c -- loops that nothing leads out of.
 *
 * A loop without exits may still end, in a visit that takes no edge back: by a
 * way that ends at END or in a node that leads nowhere.  So we ask of each node
 * whether what it leads to may all come to such an end:
 *
 *   (1) each edge that is always taken leads there, and
 *   (2) where one of several is taken (routes with a default, a personality
 *       edge, a router), one of those does; or
 *   (3) an edge does that replaces the others when something goes wrong, or
 *       when an executor says so.
 *
 * What may not be taken at all (`when`, routes without default) keeps nothing
 * going.  An edge back in a loop without exits is no end; we begin with the
 * ends and go against the edges, so each node and each edge is met once.  That
 * a node may fail is no way out: the author should not have to count on it.
 */
#include "lang/graph/load/loader.h"

struct ending {
    struct mortise_graph *g;
    uint32_t *goes_on; /* by node: edges always taken that lead to no end */
    bool *chooses;     /* by node: one of several edges is taken */
    bool *choice_ends; /* by node: one of several is, and may lead to an end */
    bool *ends;
    uint32_t *stack, n; /* nodes that end, and whose edges are to be met */
};

static bool always_taken(const struct mortise_edge *e)
{
    return e->kind == MORTISE_EDGE_STATIC;
}

/* Is it one of several, of which one is taken? */
static bool is_choice(const struct mortise_graph *g,
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

/* Of a node's routes one is taken only where there is a default. */
static bool is_exhaustive(const struct mortise_graph *g,
                          const struct mortise_edge *e)
{
    return is_choice(g, e) && e->kind != MORTISE_EDGE_ROUTE &&
           e->kind != MORTISE_EDGE_ROUTE_ALL;
}

static void end_node(struct ending *w, uint32_t node)
{
    if (w->ends[node])
        return;
    w->ends[node] = true;
    w->stack[w->n++] = node;
}

static void end_if_all_do(struct ending *w, uint32_t node)
{
    if (w->goes_on[node] == 0 && (!w->chooses[node] || w->choice_ends[node]))
        end_node(w, node);
}

/* This edge leads to an end. */
static void end_edge(struct ending *w, const struct mortise_edge *e)
{
    if (e->from == MORTISE_START || e->kind == MORTISE_EDGE_WHEN)
        return;
    if (always_taken(e))
        w->goes_on[e->from]--;
    else if (is_choice(w->g, e))
        w->choice_ends[e->from] = true;
    else
        end_node(w, e->from); /* it replaces the others */
    end_if_all_do(w, e->from);
}

/* A map goes on at its join, and nowhere but there. */
static void end_edge_into(struct ending *w, const struct mortise_edge *e)
{
    const struct mortise_region *home = &w->g->regions[e->home];

    if (e->kind == MORTISE_EDGE_GATHER)
        end_edge(w, &w->g->edges[w->g->regions[e->map].map_edge]);
    else if (!mortise_edge_is_map(e) && !(e->back && home->n_exits == 0))
        end_edge(w, e);
}

static void count_edges(struct ending *w)
{
    for (uint32_t i = 0; i < w->g->n_edges; i++) {
        const struct mortise_edge *e = &w->g->edges[i];

        if (e->from == MORTISE_START || e->kind == MORTISE_EDGE_GATHER)
            continue;
        w->goes_on[e->from] += always_taken(e);
        w->chooses[e->from] |= is_exhaustive(w->g, e);
    }
}

/* A quorum may not be reached. */
static void begin(struct ending *w)
{
    for (uint32_t i = 0; i < w->g->n_nodes; i++) {
        if (w->g->nodes[i].join.kind == MORTISE_JOIN_QUORUM)
            end_node(w, i);
        end_if_all_do(w, i);
    }
    for (uint32_t i = 0; i < w->g->n_edges; i++)
        if (w->g->edges[i].to == MORTISE_END || w->g->edges[i].yields)
            end_edge(w, &w->g->edges[i]);
}

static void walk(struct ending *w)
{
    while (w->n > 0) {
        const struct mortise_node *n = &w->g->nodes[w->stack[--w->n]];

        for (uint32_t i = 0; i < n->n_in + n->n_back_in; i++)
            end_edge_into(w, &w->g->edges[n->in[i]]);
    }
}

/* Can anything reach END?  A way there may stand beside one that goes on. */
static bool any_ends(const struct ending *w)
{
    for (uint32_t i = 0; i < w->g->n_nodes; i++)
        if (w->ends[i])
            return true;
    for (uint32_t i = 0; i < w->g->n_edges; i++)
        if (w->g->edges[i].to == MORTISE_END)
            return true;
    return false;
}

static void report(struct mortise_loader *ld, const struct ending *w)
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

/* Under `end: first` what ends elsewhere ends a loop, too. */
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
        count_edges(&w);
        begin(&w);
        walk(&w);
        if (!ld->g->end_first || !any_ends(&w))
            report(ld, &w);
    }
    mortise_arena_finish(&a);
}
