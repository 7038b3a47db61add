/* refgraph.c -- regions of a model graph, from their definition.
 *
 * A loop is a strongly connected part: nodes that reach each other.  It has one
 * entry, the only node that edges from outside lead to; edges from within to
 * the entry are its back edges.  Without them, what is still strongly connected
 * inside is a loop within the loop.
 *
 * A map's body is what its edge leads to without passing the join.  Nothing
 * else leads into it, and out of it only to the join, at least once, or to END.
 * The body's edges to the join give an element's result; what the join itself
 * waits for is one edge from the map as a whole.
 *
 * Regions nest.  A node belongs to the least that contains it, an edge to the
 * least that contains both its ends.
 */
#include "lib/refgraph.h"

#include <stdlib.h>
#include <string.h>

static uint32_t bit(int node)
{
    return node >= 0 ? (uint32_t)1 << node : 0;
}

static bool is_inside(uint32_t set, int node)
{
    return (set & bit(node)) != 0;
}

/* ---- loops -------------------------------------------------------------- */

/* Which nodes of `set` each node of it reaches, without back edges. */
static void reach(const struct ref_graph *g, uint32_t set,
                  uint32_t to[REF_NODES])
{
    memset(to, 0, REF_NODES * sizeof to[0]);
    for (int i = 0; i < g->n_edges; i++) {
        const struct ref_edge *e = &g->edges[i];

        if (!e->back && is_inside(set, e->from) && is_inside(set, e->to))
            to[e->from] |= bit(e->to);
    }
    for (int k = 0; k < g->n; k++) {
        for (int i = 0; i < g->n; i++) {
            if (is_inside(to[i], k))
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

        if (!is_inside(set, e->to) || is_inside(set, e->from))
            continue;
        if (entry >= 0 && entry != e->to)
            return -1;
        entry = e->to;
    }
    return entry;
}

static bool add_region(struct ref_graph *g, struct ref_region region)
{
    if (g->n_regions == REF_REGIONS)
        return false;
    g->regions[g->n_regions++] = region;
    return true;
}

static bool find_loops(struct ref_graph *g, uint32_t set)
{
    uint32_t seen = 0, to[REF_NODES];

    reach(g, set, to);
    for (int i = 0; i < g->n; i++) {
        struct ref_region loop = {.kind = REF_LOOP, .set = bit(i)};

        if (!is_inside(set & ~seen, i) || !is_inside(to[i], i))
            continue;
        for (int k = 0; k < g->n; k++) {
            if (is_inside(to[i], k) && is_inside(to[k], i))
                loop.set |= bit(k);
        }
        seen |= loop.set;
        loop.entry = only_entry(g, loop.set);
        if (loop.entry < 0 || !add_region(g, loop))
            return false;
        for (int e = 0; e < g->n_edges; e++)
            g->edges[e].back |= g->edges[e].to == loop.entry &&
                                is_inside(loop.set, g->edges[e].from);
        if (!find_loops(g, loop.set))
            return false;
    }
    return true;
}

/* ---- maps --------------------------------------------------------------- */

static uint32_t body_of(const struct ref_graph *g, const struct ref_edge *map)
{
    uint32_t set = bit(map->to), old;

    do {
        old = set;
        for (int i = 0; i < g->n_edges; i++) {
            const struct ref_edge *e = &g->edges[i];

            if (is_inside(set, e->from) && e->to != map->join)
                set |= bit(e->to);
        }
    } while (set != old);
    return set;
}

static bool is_body(const struct ref_graph *g, int map, uint32_t set)
{
    const struct ref_edge *m = &g->edges[map];

    if (is_inside(set, m->from) || is_inside(set, m->join))
        return false;
    for (int i = 0; i < g->n_edges; i++) {
        const struct ref_edge *e = &g->edges[i];

        if (i != map && is_inside(set, e->to) && !is_inside(set, e->from))
            return false;
    }
    return true;
}

static bool find_maps(struct ref_graph *g)
{
    int n = g->n_edges;

    for (int i = 0; i < n; i++) {
        const struct ref_edge *m = &g->edges[i];

        if (m->kind != REF_MAP)
            continue;
        if (g->n_edges == REF_EDGES)
            return false;
        g->edges[g->n_edges++] =
            (struct ref_edge){.kind = REF_GATHER, .from = m->to, .to = m->join};
    }
    for (int i = 0; i < n; i++) {
        uint32_t set;

        if (g->edges[i].kind != REF_MAP)
            continue;
        set = body_of(g, &g->edges[i]);
        if (!is_body(g, i, set) ||
            !add_region(g, (struct ref_region){.kind = REF_BODY,
                                               .set = set,
                                               .entry = g->edges[i].to,
                                               .edge = i}))
            return false;
    }
    return true;
}

/* ---- nesting ------------------------------------------------------------ */

/* Larger ones first; a body that is all one loop is around it. */
static int by_size(const void *a, const void *b)
{
    const struct ref_region *x = a, *y = b;
    int m = __builtin_popcount(x->set), n = __builtin_popcount(y->set);

    if (m != n)
        return n - m;
    return (x->kind == REF_LOOP) - (y->kind == REF_LOOP);
}

static bool nest(struct ref_graph *g)
{
    qsort(g->regions + 1, (size_t)g->n_regions - 1, sizeof g->regions[0],
          by_size);
    for (int i = 1; i < g->n_regions; i++) {
        struct ref_region *r = &g->regions[i];

        for (int k = 0; k < i; k++) {
            uint32_t both = g->regions[k].set & r->set;

            if (both == r->set)
                r->parent = k;
            else if (both != 0)
                return false;
        }
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

/* The map's own two edges are at home around it; those of its body to the join
 * are at home in it. */
static bool place_map(struct ref_graph *g, int region)
{
    const struct ref_region *body = &g->regions[region];
    struct ref_edge *map = &g->edges[body->edge];
    bool gives = false;

    map->map = region;
    if (map->home != body->parent || map->back)
        return false;
    for (int i = 0; i < g->n_edges; i++) {
        struct ref_edge *e = &g->edges[i];

        if (e->to != map->join || !is_inside(body->set, e->from))
            continue;
        if (e->home != body->parent || e->back)
            return false;
        if (e->kind == REF_GATHER) {
            e->map = region;
        } else {
            e->home = region;
            e->yields = gives = true;
        }
    }
    return gives;
}

bool ref_regions(struct ref_graph *g)
{
    for (int i = 0; i < g->n_edges; i++)
        g->edges[i].back = g->edges[i].yields = false;
    g->n_regions = 0;
    add_region(g, (struct ref_region){.kind = REF_GRAPH, .set = bit(g->n) - 1});
    if (!find_maps(g) || !find_loops(g, g->regions[0].set) || !nest(g))
        return false;
    for (int i = 0; i < g->n; i++)
        g->nodes[i].region = least(g, bit(i));
    for (int i = 0; i < g->n_edges; i++) {
        struct ref_edge *e = &g->edges[i];

        e->home =
            e->from == REF_START ? 0 : least(g, bit(e->from) | bit(e->to));
    }
    for (int i = 1; i < g->n_regions; i++) {
        if (g->regions[i].kind == REF_BODY && !place_map(g, i))
            return false;
    }
    return true;
}

int ref_body(const struct ref_graph *g, int region)
{
    while (region != 0 && g->regions[region].kind != REF_BODY)
        region = g->regions[region].parent;
    return region;
}

int ref_depth(const struct ref_graph *g, int region)
{
    int depth = 0;

    for (region = ref_body(g, region); region != 0;
         region = ref_body(g, g->regions[region].parent))
        depth++;
    return depth;
}
