/* postdominators.c -- which items of a region always lead to which:
 * post-dominators.
 *
 * When a join fires before all its edges are decided, what still runs towards
 * it has lost, if the join is all that it could lead to.  That is a question
 * about the graph alone: does every way from here, to where the region or a
 * branch ends, come by the join?  The answer is a tree over the items of the
 * region, in which an item's ancestors are what it always leads to; numbers of
 * a walk through that tree make the question two comparisons.
 *
 * A way ends at END, in a node that leads nowhere, by an edge that leaves the
 * region, and by a back edge, which leads to another visit.  A loop may end so
 * in any node inside it, and in itself when it has no exit; of a map only its
 * own edge to its join counts, whatever becomes of its elements.
 *
 * The region is acyclic (region.c), so one pass against the edges finds each
 * item's nearest ancestor as the nearest common one of its successors.  Items
 * keep a pointer that jumps towards the root (Myers, 1983), so that this takes
 * a logarithm and not the length of a chain.
 */
#include "lang/graph/load/loader.h"

#include <assert.h>

/* An item is a node by its slot, or n_nodes + the slot of a child region; the
 * last one, `end`, stands for where ways end. */
struct tree {
    struct mortise_graph *g;
    const struct mortise_region *r;
    uint32_t end;
    uint32_t *from, *to, n_ways; /* between items */
    uint32_t *out, *out_at;  /* item -> items: out[out_at[i]..out_at[i+1]) */
    uint32_t *waits, *order; /* topological; `end` is not in it */
    uint32_t *up, *jump, *depth; /* the tree; its root is `end` */
    uint32_t *size, *next;       /* for what is counted just now */
};

/* ---- ways ------------------------------------------------------------ */

/* The item that holds what lies directly in region `at`, inside this one. */
static uint32_t item_of_region(const struct tree *t, uint32_t at,
                               const uint32_t *slots)
{
    while (t->g->regions[at].parent != t->r->index)
        at = t->g->regions[at].parent;
    return t->r->n_nodes + slots[at];
}

static uint32_t item_of(const struct tree *t, uint32_t node,
                        const uint32_t *slots)
{
    const struct mortise_node *n = &t->g->nodes[node];

    return n->region == t->r->index ? n->slot
                                    : item_of_region(t, n->region, slots);
}

static uint32_t source_of(const struct tree *t, const struct mortise_edge *e,
                          const uint32_t *slots)
{
    return e->kind == MORTISE_EDGE_GATHER ? item_of_region(t, e->map, slots)
                                          : item_of(t, e->from, slots);
}

static void add_way(struct tree *t, uint32_t from, uint32_t to)
{
    t->from[t->n_ways] = from;
    t->to[t->n_ways++] = to;
}

static void add_ways(struct tree *t, const uint32_t *slots, const bool *leaks)
{
    const struct mortise_region *r = t->r;

    for (uint32_t i = 0; i < r->n_edges; i++) {
        const struct mortise_edge *e = &t->g->edges[r->edges[i]];
        bool ends = e->to == MORTISE_END || e->back || e->yields;

        if (e->from != MORTISE_START)
            add_way(t, source_of(t, e, slots),
                    ends ? t->end : item_of(t, e->to, slots));
    }
    for (uint32_t i = 0; i < r->n_exits; i++)
        if (t->g->edges[r->exits[i]].kind != MORTISE_EDGE_GATHER ||
            t->g->edges[r->exits[i]].map != r->index)
            add_way(t, source_of(t, &t->g->edges[r->exits[i]], slots), t->end);
    for (uint32_t i = 0; i < r->n_nodes; i++)
        if (t->g->nodes[r->nodes[i]].n_out == 0)
            add_way(t, i, t->end);
    for (uint32_t i = 0; i < r->n_regions; i++)
        if (leaks[r->regions[i]] || t->g->regions[r->regions[i]].n_exits == 0)
            add_way(t, r->n_nodes + i, t->end);
}

static void deal_ways(struct tree *t)
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

/* Kahn: no item before all that lead to it. */
static void sort(struct tree *t)
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
    assert(n == t->end); /* a region is acyclic */
}

/* ---- the tree -------------------------------------------------------- */

/* Hang an item below another, which is in the tree. */
static void hang(struct tree *t, uint32_t item, uint32_t up)
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
static uint32_t climb(const struct tree *t, uint32_t item, uint32_t depth)
{
    while (t->depth[item] > depth)
        item = t->depth[t->jump[item]] >= depth ? t->jump[item] : t->up[item];
    return item;
}

/* The nearest common ancestor. */
static uint32_t meet(const struct tree *t, uint32_t a, uint32_t b)
{
    if (t->depth[a] > t->depth[b])
        a = climb(t, a, t->depth[b]);
    else
        b = climb(t, b, t->depth[a]);
    while (a != b) {
        bool far = t->jump[a] != t->jump[b]; /* equal depth: equal jumps */

        a = far ? t->jump[a] : t->up[a];
        b = far ? t->jump[b] : t->up[b];
    }
    return a;
}

static void grow(struct tree *t)
{
    t->up[t->end] = t->jump[t->end] = t->end;
    for (uint32_t n = t->end; n > 0; n--) {
        uint32_t item = t->order[n - 1], up;

        assert(t->out_at[item] < t->out_at[item + 1]); /* all ways end */
        up = t->out[t->out_at[item]];
        for (uint32_t k = t->out_at[item] + 1; k < t->out_at[item + 1]; k++)
            up = meet(t, up, t->out[k]);
        hang(t, item, up);
    }
}

static struct mortise_postdom *postdom_of(const struct tree *t, uint32_t item)
{
    const struct mortise_region *r = t->r;

    return item < r->n_nodes
               ? &t->g->nodes[r->nodes[item]].postdom
               : &t->g->regions[r->regions[item - r->n_nodes]].postdom;
}

/* Numbers of a walk that begins at the root: an item's are followed by those
 * of what is below it. */
static void number(struct tree *t)
{
    for (uint32_t i = 0; i <= t->end; i++)
        t->size[i] = 1;
    for (uint32_t n = 0; n < t->end; n++)
        t->size[t->up[t->order[n]]] += t->size[t->order[n]];
    t->next[t->end] = 1;
    for (uint32_t n = t->end; n > 0; n--) {
        uint32_t item = t->order[n - 1], first = t->next[t->up[item]];

        *postdom_of(t, item) =
            (struct mortise_postdom){first, first + t->size[item] - 1};
        t->next[t->up[item]] += t->size[item];
        t->next[item] = first + 1;
    }
}

/* ---- a region -------------------------------------------------------- */

static void make_room(struct tree *t, struct mortise_loader *ld,
                      struct mortise_arena *a)
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

    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        *lists[i].list =
            mortise_load_scratch(ld, a, lists[i].n * sizeof(uint32_t));
}

static void load_region(struct mortise_loader *ld,
                        const struct mortise_region *r, const uint32_t *slots,
                        const bool *leaks)
{
    struct mortise_arena arena;
    struct tree t = {.g = ld->g, .r = r, .end = r->n_nodes + r->n_regions};

    mortise_arena_init(&arena, ld->mem);
    make_room(&t, ld, &arena);
    if (!ld->nomem) {
        add_ways(&t, slots, leaks);
        deal_ways(&t);
        sort(&t);
        grow(&t);
        number(&t);
    }
    mortise_arena_finish(&arena);
}

/* ---- all of them ----------------------------------------------------- */

static bool is_race(const struct mortise_graph *g, uint32_t node)
{
    return mortise_join_is_race(&g->nodes[node].join);
}

/* Is there a join that fires before all its edges are decided?  That of a
 * loop's entry is one of the region around the loop. */
static bool has_race(const struct mortise_graph *g,
                     const struct mortise_region *r)
{
    for (uint32_t i = 0; i < r->n_nodes; i++)
        if (is_race(g, r->nodes[i]))
            return true;
    for (uint32_t i = 0; i < r->n_regions; i++)
        if (g->regions[r->regions[i]].kind == MORTISE_REGION_LOOP &&
            is_race(g, g->regions[r->regions[i]].entry))
            return true;
    return false;
}

/* Can a way end inside, in a loop?  Children stand behind their parents. */
static void find_leaks(const struct mortise_graph *g, bool *leaks)
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

void mortise_load_postdominators(struct mortise_loader *ld)
{
    struct mortise_graph *g = ld->g;
    uint32_t *slots = mortise_load_alloc(ld, g->n_regions * sizeof *slots);
    bool *leaks = mortise_load_alloc(ld, g->n_regions * sizeof *leaks);

    if (ld->nomem)
        return;
    for (uint32_t i = 0; i < g->n_regions; i++)
        for (uint32_t k = 0; k < g->regions[i].n_regions; k++)
            slots[g->regions[i].regions[k]] = k;
    find_leaks(g, leaks);
    for (uint32_t i = 0; i < g->n_regions && !ld->nomem; i++)
        if (has_race(g, &g->regions[i]))
            load_region(ld, &g->regions[i], slots, leaks);
}

bool mortise_postdom_leads(struct mortise_postdom from,
                           struct mortise_postdom to)
{
    return to.first <= from.first && from.last <= to.last;
}
