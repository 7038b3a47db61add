/* recoverable.c -- which failures may still be mended by a join.
 *
 * A failure that nobody handles fails its graph, and under `failure: fail_fast`
 * stops it at once.  A failed node's edges lead on, and a join that collects or
 * drops may make the failure good; until then it may have to wait for others,
 * in a race, at the end of a loop's visit or of a map.  Where no such join can
 * be reached there is nothing to wait for: that is a question about the graph
 * alone, answered here for every node.
 *
 * What a failure can reach: the targets of its node's edges, back edges apart;
 * since it may fail the loops and maps around the node, too, their exits; and
 * all that comes after a node that is skipped for it.  So we walk the other
 * way, from those joins: each node and each region is met once.
 */
#include "lang/graph/load/loader.h"

struct walk {
    struct mortise_graph *g;
    bool *regions;   /* those that were met */
    uint32_t *stack; /* nodes at whose join, or after which, one mends */
    bool *known;     /* by node: it is or was on the stack */
    uint32_t n;
};

static void reach(struct walk *w, uint32_t node)
{
    if (w->known[node])
        return;
    w->known[node] = true;
    w->stack[w->n++] = node;
}

static void meet_node(struct walk *w, uint32_t node)
{
    w->g->nodes[node].recoverable = true;
    reach(w, node);
}

/* Its failure goes on to its exits, as that of anything in it does.  Recursive
 * as regions nest: as deep as MORTISE_MAX_REGIONS. */
static void meet_region(struct walk *w, uint32_t at)
{
    const struct mortise_region *r = &w->g->regions[at];

    if (w->regions[at])
        return;
    w->regions[at] = true;
    for (uint32_t i = 0; i < r->n_nodes; i++)
        meet_node(w, r->nodes[i]);
    for (uint32_t i = 0; i < r->n_regions; i++)
        meet_region(w, r->regions[i]);
}

/* Whatever is at the other end of an edge, and the regions that it leaves. */
static void meet_source(struct walk *w, const struct mortise_edge *e)
{
    uint32_t at;

    if (e->from == MORTISE_START)
        return;
    if (e->kind == MORTISE_EDGE_GATHER) {
        meet_region(w, e->map);
        return;
    }
    meet_node(w, e->from);
    for (at = w->g->nodes[e->from].region; at != e->home;
         at = w->g->regions[at].parent)
        meet_region(w, at);
}

static void walk(struct walk *w)
{
    for (uint32_t i = 0; i < w->g->n_nodes; i++)
        if (w->g->nodes[i].join.on_branch_error != MORTISE_BRANCH_FAIL)
            reach(w, i);
    while (w->n > 0) {
        const struct mortise_node *n = &w->g->nodes[w->stack[--w->n]];

        for (uint32_t i = 0; i < n->n_in; i++)
            meet_source(w, &w->g->edges[n->in[i]]);
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
        walk(&w);
    mortise_arena_finish(&a);
}
