/* recoverable.c -- the failures that a join may still recover.
 *
 * A failure that nothing handles fails its graph, and with `failure: fail_fast`
 * stops it at once.  But the edges of a failed node lead on, and a join that
 * collects or drops errors may recover the failure.  Until then the run may
 * have to wait for other branches: in a race, at the end of a visit of a loop,
 * or of a map.  If no such join can be reached, there is no reason to wait.
 * This depends on the graph alone, and is computed here for every node.
 *
 * A failure can reach: the targets of its node's edges except back edges; the
 * exits of the loops and maps around the node, since it may fail those too; and
 * everything after a node that is skipped because of it.  The search walks
 * backwards from those joins, so it visits each node and each region once.
 */
#include "lang/graph/load/loader.h"

struct walk {
    struct mortise_graph *g;
    bool *regions;   /* already visited */
    uint32_t *stack; /* nodes at or after which a join recovers */
    bool *known;     /* by node: it is or was on the stack */
    uint32_t n;
};

static void add_recovery_node(struct walk *w, uint32_t node)
{
    if (w->known[node])
        return;
    w->known[node] = true;
    w->stack[w->n++] = node;
}

static void mark_recoverable_node(struct walk *w, uint32_t node)
{
    w->g->nodes[node].recoverable = true;
    add_recovery_node(w, node);
}

/* A failure in a region leads to its exits.  The recursion is as deep as
 * regions nest: MORTISE_MAX_REGIONS. */
static void mark_recoverable_region(struct walk *w, uint32_t at)
{
    const struct mortise_region *r = &w->g->regions[at];

    if (w->regions[at])
        return;
    w->regions[at] = true;
    for (uint32_t i = 0; i < r->n_nodes; i++)
        mark_recoverable_node(w, r->nodes[i]);
    for (uint32_t i = 0; i < r->n_regions; i++)
        mark_recoverable_region(w, r->regions[i]);
}

/* Visit the source of an edge, and the regions that the edge leaves. */
static void mark_edge_source(struct walk *w, const struct mortise_edge *e)
{
    uint32_t at;

    if (e->from == MORTISE_START)
        return;
    if (e->kind == MORTISE_EDGE_GATHER) {
        mark_recoverable_region(w, e->map);
        return;
    }
    mark_recoverable_node(w, e->from);
    for (at = w->g->nodes[e->from].region; at != e->home;
         at = w->g->regions[at].parent)
        mark_recoverable_region(w, at);
}

static void mark_all_recoverable(struct walk *w)
{
    for (uint32_t i = 0; i < w->g->n_nodes; i++)
        if (w->g->nodes[i].join.on_branch_error != MORTISE_BRANCH_FAIL)
            add_recovery_node(w, i);
    while (w->n > 0) {
        const struct mortise_node *n = &w->g->nodes[w->stack[--w->n]];

        for (uint32_t i = 0; i < n->n_in; i++)
            mark_edge_source(w, &w->g->edges[n->in[i]]);
    }
}

void mortise_load_recoverable(struct mortise_loader *ld)
{
    struct walk w = {.g = ld->g};
    struct mortise_arena a;

    mortise_arena_init(&a, ld->mem);
    w.regions = mortise_load_scratch(ld, &a, ld->g->n_regions);
    w.known = mortise_load_scratch(ld, &a, ld->g->n_nodes);
    w.stack = mortise_load_scratch(ld, &a, ld->g->n_nodes * sizeof *w.stack);
    if (!ld->nomem)
        mark_all_recoverable(&w);
    mortise_arena_finish(&a);
}
