/* postdominators.c -- post-dominators of the items of a region.
 *
 * When a join fires before all its edges are decided, the branches that still
 * run towards it have lost, if they can lead nowhere but to the join.  This
 * depends on the graph alone: does every path from here to the end of the
 * region or branch pass the join?  The answer is a tree over the items of the
 * region.  The ancestors of an item are the items that every path from it
 * passes.  Numbers from a walk of that tree reduce the question to two
 * comparisons.
 *
 * A path ends at END, in a node without outgoing edges, with an edge that
 * leaves the region, and with a back edge, which leads to another visit.  A
 * loop may also end in any node inside it, and in itself if it has no exit.
 * For a map only its own edge to its join counts, whatever its elements do.
 *
 * The region is acyclic (regions.c).  So one pass against the edges finds the
 * nearest ancestor of each item: the nearest common ancestor of its successors.
 * Each item has a pointer that jumps towards the root (Myers, 1983), so this
 * takes logarithmic time instead of the length of a chain.
 */
#include "core/model/structure.h"

#include <assert.h>

/* An item is a node (its slot) or a child region (n_nodes + its slot).  The
 * last item, `end`, stands for the end of all paths. */
struct tree {
    struct mortise_graph *g;
    const struct mortise_region *r;
    uint32_t end;
    uint32_t *from, *to, n_ways; /* edges between items */
    uint32_t *out, *out_at;  /* item -> items: out[out_at[i]..out_at[i+1]) */
    uint32_t *waits, *order; /* topological order, without `end` */
    uint32_t *up, *jump, *depth; /* the tree; its root is `end` */
    uint32_t *size, *next;       /* temporary counters */
};

/* ---- edges between items --------------------------------------------- */

/* The item of this region that contains region `at`. */
static uint32_t get_region_item(const struct tree *t, uint32_t at,
                                const uint32_t *slots)
{
    while (t->g->regions[at].parent != t->r->index)
        at = t->g->regions[at].parent;
    return t->r->n_nodes + slots[at];
}

static uint32_t get_node_item(const struct tree *t, uint32_t node,
                              const uint32_t *slots)
{
    const struct mortise_node *n = &t->g->nodes[node];

    return n->region == t->r->index ? n->slot
                                    : get_region_item(t, n->region, slots);
}

static uint32_t get_source_item(const struct tree *t,
                                const struct mortise_edge *e,
                                const uint32_t *slots)
{
    return e->kind == MORTISE_EDGE_GATHER ? get_region_item(t, e->map, slots)
                                          : get_node_item(t, e->from, slots);
}

static void add_way(struct tree *t, uint32_t from, uint32_t to)
{
    t->from[t->n_ways] = from;
    t->to[t->n_ways++] = to;
}

static void add_region_ways(struct tree *t, const uint32_t *slots,
                            const bool *leaks)
{
    const struct mortise_region *r = t->r;

    for (uint32_t i = 0; i < r->n_edges; i++) {
        const struct mortise_edge *e = &t->g->edges[r->edges[i]];
        bool ends = e->to == MORTISE_END || e->back || e->yields;

        if (e->from != MORTISE_START)
            add_way(t, get_source_item(t, e, slots),
                    ends ? t->end : get_node_item(t, e->to, slots));
    }
    for (uint32_t i = 0; i < r->n_exits; i++)
        if (t->g->edges[r->exits[i]].kind != MORTISE_EDGE_GATHER ||
            t->g->edges[r->exits[i]].map != r->index)
            add_way(t, get_source_item(t, &t->g->edges[r->exits[i]], slots),
                    t->end);
    for (uint32_t i = 0; i < r->n_nodes; i++)
        if (t->g->nodes[r->nodes[i]].n_out == 0)
            add_way(t, i, t->end);
    for (uint32_t i = 0; i < r->n_regions; i++)
        if (leaks[r->regions[i]] || t->g->regions[r->regions[i]].n_exits == 0)
            add_way(t, r->n_nodes + i, t->end);
}

static void group_ways_by_source(struct tree *t)
{
    for (uint32_t i = 0; i < t->n_ways; i++)
        t->out_at[t->from[i] + 1]++;
    for (uint32_t i = 0; i <= t->end; i++)
        t->out_at[i + 1] += t->out_at[i];
    for (uint32_t i = 0; i <= t->end; i++)
        t->next[i] = t->out_at[i];
    for (uint32_t i = 0; i < t->n_ways; i++)
        t->out[t->next[t->from[i]]++] = t->to[i];
}

/* Kahn's algorithm: each item comes after all its predecessors. */
static void sort_region_items(struct tree *t)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < t->n_ways; i++)
        t->waits[t->to[i]]++;
    for (uint32_t i = 0; i < t->end; i++)
        if (t->waits[i] == 0)
            t->order[n++] = i;
    for (uint32_t done = 0; done < n; done++)
        for (uint32_t k = t->out_at[t->order[done]];
             k < t->out_at[t->order[done] + 1]; k++)
            if (--t->waits[t->out[k]] == 0 && t->out[k] != t->end)
                t->order[n++] = t->out[k];
    assert(n == t->end); /* regions are acyclic */
}

/* ---- the tree -------------------------------------------------------- */

/* Add an item to the tree, below another. */
static void add_tree_item(struct tree *t, uint32_t item, uint32_t up)
{
    uint32_t j = t->jump[up];

    t->up[item] = up;
    t->depth[item] = t->depth[up] + 1;
    t->jump[item] =
        t->depth[up] - t->depth[j] == t->depth[j] - t->depth[t->jump[j]]
            ? t->jump[j]
            : up;
}

/* The ancestor at this depth. */
static uint32_t find_ancestor_at(const struct tree *t, uint32_t item,
                                 uint32_t depth)
{
    while (t->depth[item] > depth)
        item = t->depth[t->jump[item]] >= depth ? t->jump[item] : t->up[item];
    return item;
}

/* The nearest common ancestor. */
static uint32_t find_common_ancestor(const struct tree *t, uint32_t a,
                                     uint32_t b)
{
    if (t->depth[a] > t->depth[b])
        a = find_ancestor_at(t, a, t->depth[b]);
    else
        b = find_ancestor_at(t, b, t->depth[a]);
    while (a != b) {
        bool far = t->jump[a] != t->jump[b]; /* equal depth: equal jumps */

        a = far ? t->jump[a] : t->up[a];
        b = far ? t->jump[b] : t->up[b];
    }
    return a;
}

static void build_postdom_tree(struct tree *t)
{
    t->up[t->end] = t->jump[t->end] = t->end;
    for (uint32_t n = t->end; n > 0; n--) {
        uint32_t item = t->order[n - 1], up;

        assert(t->out_at[item] < t->out_at[item + 1]); /* every path ends */
        up = t->out[t->out_at[item]];
        for (uint32_t k = t->out_at[item] + 1; k < t->out_at[item + 1]; k++)
            up = find_common_ancestor(t, up, t->out[k]);
        add_tree_item(t, item, up);
    }
}

static struct mortise_postdom *get_item_postdom(const struct tree *t,
                                                uint32_t item)
{
    const struct mortise_region *r = t->r;

    return item < r->n_nodes
               ? &t->g->nodes[r->nodes[item]].postdom
               : &t->g->regions[r->regions[item - r->n_nodes]].postdom;
}

/* Number the items in preorder from the root: the descendants of an item follow
 * it. */
static void number_postdom_tree(struct tree *t)
{
    for (uint32_t i = 0; i <= t->end; i++)
        t->size[i] = 1;
    for (uint32_t n = 0; n < t->end; n++)
        t->size[t->up[t->order[n]]] += t->size[t->order[n]];
    t->next[t->end] = 1;
    for (uint32_t n = t->end; n > 0; n--) {
        uint32_t item = t->order[n - 1], first = t->next[t->up[item]];

        *get_item_postdom(t, item) =
            (struct mortise_postdom){first, first + t->size[item] - 1};
        t->next[t->up[item]] += t->size[item];
        t->next[item] = first + 1;
    }
}

/* ---- one region ------------------------------------------------------ */

static bool alloc_tree_arrays(struct tree *t, struct mortise_arena *a)
{
    uint32_t items = t->end + 2;
    uint32_t ways = t->r->n_edges + t->r->n_exits + items;
    struct {
        uint32_t **list, n;
    } lists[] = {
        {&t->from, ways},    {&t->to, ways},     {&t->out, ways},
        {&t->out_at, items}, {&t->waits, items}, {&t->order, items},
        {&t->up, items},     {&t->jump, items},  {&t->depth, items},
        {&t->size, items},   {&t->next, items},
    };

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        *lists[i].list = mortise_arena_alloc(a, lists[i].n * sizeof(uint32_t));
        if (*lists[i].list == NULL)
            return false;
    }
    return true;
}

static int find_postdominators_in(struct mortise_graph *g,
                                  const struct mortise_mem *mem,
                                  const struct mortise_region *r,
                                  const uint32_t *slots, const bool *leaks)
{
    struct mortise_arena arena;
    struct tree t = {.g = g, .r = r, .end = r->n_nodes + r->n_regions};
    bool room;

    mortise_arena_init(&arena, mem);
    room = alloc_tree_arrays(&t, &arena);
    if (room) {
        add_region_ways(&t, slots, leaks);
        group_ways_by_source(&t);
        sort_region_items(&t);
        build_postdom_tree(&t);
        number_postdom_tree(&t);
    }
    mortise_arena_finish(&arena);
    return room ? MORTISE_OK : MORTISE_ENOMEM;
}

/* ---- all regions ----------------------------------------------------- */

static bool is_race_join(const struct mortise_graph *g, uint32_t node)
{
    return mortise_join_is_race(&g->nodes[node].join);
}

/* Is there a join that fires before all its edges are decided?  The join of a
 * loop's entry belongs to the region around the loop. */
static bool has_race_join(const struct mortise_graph *g,
                          const struct mortise_region *r)
{
    for (uint32_t i = 0; i < r->n_nodes; i++)
        if (is_race_join(g, r->nodes[i]))
            return true;
    for (uint32_t i = 0; i < r->n_regions; i++)
        if (g->regions[r->regions[i]].kind == MORTISE_REGION_LOOP &&
            is_race_join(g, g->regions[r->regions[i]].entry))
            return true;
    return false;
}

/* Find the regions in which a path can end.  Children come after their
 * parents. */
static void find_leaking_regions(const struct mortise_graph *g, bool *leaks)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].n_out == 0)
            leaks[g->nodes[i].region] = true;
    for (uint32_t i = 0; i < g->n_edges; i++)
        if (g->edges[i].to == MORTISE_END)
            leaks[g->edges[i].home] = true;
    for (uint32_t i = g->n_regions - 1; i > 0; i--) {
        if (g->regions[i].kind == MORTISE_REGION_MAP)
            leaks[i] = false;
        leaks[g->regions[i].parent] |= leaks[i];
    }
}

int mortise_graph_find_postdominators(struct mortise_graph *g,
                                      struct mortise_arena *a)
{
    uint32_t *slots = mortise_arena_alloc(a, g->n_regions * sizeof *slots);
    bool *leaks = mortise_arena_alloc(a, g->n_regions * sizeof *leaks);
    int rv = MORTISE_OK;

    if (slots == NULL || leaks == NULL)
        return MORTISE_ENOMEM;
    for (uint32_t i = 0; i < g->n_regions; i++)
        for (uint32_t k = 0; k < g->regions[i].n_regions; k++)
            slots[g->regions[i].regions[k]] = k;
    find_leaking_regions(g, leaks);
    for (uint32_t i = 0; i < g->n_regions && rv == MORTISE_OK; i++)
        if (has_race_join(g, &g->regions[i]))
            rv =
                find_postdominators_in(g, a->mem, &g->regions[i], slots, leaks);
    return rv;
}
