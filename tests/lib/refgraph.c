/* refgraph.c -- regions of a model graph, from their definition.
 *
 * A loop is a strongly connected part: nodes that reach each other.  It has one
 * entry, the only node that edges from outside lead to; edges from within to
 * the entry are its back edges.  Without them, what is still strongly connected
 * inside is a loop within the loop.  A node belongs to the least region that
 * contains it, an edge to the least that contains both its ends.
 */
#include "lib/refgraph.h"

#include <stdlib.h>
#include <string.h>

static uint32_t bit(int node)
{
    return (uint32_t)1 << node;
}

/* Which nodes of `set` each node of it reaches, without back edges. */
static void reach(const struct ref_graph *g, uint32_t set,
                  uint32_t to[REF_NODES])
{
    memset(to, 0, REF_NODES * sizeof to[0]);
    for (int i = 0; i < g->n_edges; i++) {
        const struct ref_edge *e = &g->edges[i];

        if (e->from >= 0 && e->to >= 0 && !e->back && set & bit(e->from) &&
            set & bit(e->to))
            to[e->from] |= bit(e->to);
    }
    for (int k = 0; k < g->n; k++) {
        for (int i = 0; i < g->n; i++) {
            if (to[i] & bit(k))
                to[i] |= to[k];
        }
    }
}

/* The one node of `set` that edges from outside lead to; -1: none or several.
 */
static int only_entry(const struct ref_graph *g, uint32_t set)
{
    int entry = -1;

    for (int i = 0; i < g->n_edges; i++) {
        const struct ref_edge *e = &g->edges[i];

        if (e->to < 0 || !(set & bit(e->to)) ||
            (e->from >= 0 && set & bit(e->from)))
            continue;
        if (entry >= 0 && entry != e->to)
            return -1;
        entry = e->to;
    }
    return entry;
}

static void mark_back(struct ref_graph *g, uint32_t set, int entry)
{
    for (int i = 0; i < g->n_edges; i++) {
        struct ref_edge *e = &g->edges[i];

        if (e->to == entry && e->from >= 0 && set & bit(e->from))
            e->back = true;
    }
}

static bool find_loops(struct ref_graph *g, int parent)
{
    uint32_t set = g->regions[parent].set, seen = 0, to[REF_NODES];

    reach(g, set, to);
    for (int i = 0; i < g->n; i++) {
        uint32_t part = bit(i);
        int entry, self;

        if (!(set & bit(i)) || seen & bit(i) || !(to[i] & bit(i)))
            continue;
        for (int k = 0; k < g->n; k++) {
            if (to[i] & bit(k) && to[k] & bit(i))
                part |= bit(k);
        }
        seen |= part;
        entry = only_entry(g, part);
        if (entry < 0 || g->n_regions == REF_REGIONS)
            return false;
        self = g->n_regions++;
        g->regions[self] = (struct ref_region){REF_LOOP, part, entry, parent};
        mark_back(g, part, entry);
        if (!find_loops(g, self))
            return false;
    }
    return true;
}

/* The least region with all of `set`; parents stand before their children. */
static int least(const struct ref_graph *g, uint32_t set)
{
    for (int i = g->n_regions; i-- > 0;) {
        if ((g->regions[i].set & set) == set)
            return i;
    }
    abort(); /* region 0 has everything */
}

static uint32_t ends(const struct ref_edge *e)
{
    return (e->from >= 0 ? bit(e->from) : 0) | (e->to >= 0 ? bit(e->to) : 0);
}

bool ref_regions(struct ref_graph *g)
{
    for (int i = 0; i < g->n_edges; i++)
        g->edges[i].back = false;
    g->n_regions = 1;
    g->regions[0] = (struct ref_region){REF_GRAPH, bit(g->n) - 1, REF_START, 0};
    if (!find_loops(g, 0))
        return false;
    for (int i = 0; i < g->n; i++)
        g->nodes[i].region = least(g, bit(i));
    for (int i = 0; i < g->n_edges; i++)
        g->edges[i].home =
            g->edges[i].from == REF_START ? 0 : least(g, ends(&g->edges[i]));
    return true;
}
