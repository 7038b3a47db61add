/* regions.c -- the regions of a graph and their contents.
 *
 * A region is the graph itself, a loop, or the body of a map (map_body.c).  A
 * loop is a strongly connected component with one entry node.  Without the
 * edges back to the entry, the strongly connected components that remain are
 * the inner loops.  So
 *
 *   (1) every node has one innermost region, and regions form a tree,
 *   (2) a child region is entered only through its entry,
 *   (3) a region without its back edges is acyclic, if each child counts as one
 *       item.
 *
 * The search for loops uses a graph of vertices: the nodes, and one vertex for
 * each map, which represents the body in the region around the map.  Then no
 * edge connects a body with its surroundings, so one search handles all bodies.
 * Tarjan's algorithm, with its own stack, finds the outermost loops.  Each loop
 * is then searched again without its back edges.  A vertex is visited once for
 * each loop around it, and these are few (MORTISE_MAX_REGIONS), so the search
 * is linear.
 */
#include "core/model/structure.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define NONE 0xFFFFFFFFu
#define LEFT 0xFFFFFFFFu

struct slice {
    uint32_t begin, end;
};

struct finder {
    struct mortise_graph *g;
    const struct mortise_bodies *bodies;
    const struct mortise_region_faults *faults;
    struct mortise_arena *kept;   /* for the regions of the graph */
    struct mortise_arena arena;   /* for the arrays below */
    struct mortise_region *found; /* the graph, the maps, then the loops */
    size_t n_found, cap_found;
    uint32_t n;           /* number of vertices: nodes, then maps */
    uint32_t *inner;      /* vertex -> innermost region so far */
    uint32_t *in, *in_at; /* edges to each vertex: in[in_at[v]..in_at[v+1]) */
    uint32_t *part, *parted; /* the vertices, grouped by loop */
    struct slice *loops;     /* ranges of part[], in the order of their
                              * regions */
    uint32_t n_loops;

    /* Tarjan's algorithm. */
    uint32_t *index; /* 0: not seen; LEFT: its component is complete */
    uint32_t *low, *at;
    uint32_t *path, *stack;
    uint32_t n_path, n_stack, n_indexes;
    bool failed; /* has a fault */
    bool nomem;
};

/* ---- vertices -------------------------------------------------------- */

static uint32_t map_vertex(const struct finder *f, uint32_t map)
{
    return f->g->n_nodes + map - 1;
}

static uint32_t get_source_vertex(const struct finder *f,
                                  const struct mortise_edge *e)
{
    return e->kind == MORTISE_EDGE_GATHER ? map_vertex(f, e->map) : e->from;
}

/* NONE: the edge ends a branch. */
static uint32_t get_target_vertex(const struct finder *f,
                                  const struct mortise_edge *e)
{
    if (e->to == MORTISE_END || e->yields)
        return NONE;
    return mortise_edge_is_map(e) ? map_vertex(f, e->map) : e->to;
}

static uint32_t get_out_degree(const struct finder *f, uint32_t v)
{
    return v < f->g->n_nodes ? f->g->nodes[v].n_out : 1;
}

static struct mortise_edge *get_out_edge(const struct finder *f, uint32_t v,
                                         uint32_t i)
{
    const struct mortise_graph *g = f->g;

    return &g->edges[v < g->n_nodes ? g->nodes[v].out[i]
                                    : g->regions[v - g->n_nodes + 1].gather];
}

static void add_in_edge(struct finder *f, uint32_t v, uint32_t edge, bool deal)
{
    if (deal)
        f->in[f->in_at[v]++] = edge;
    else
        f->in_at[v + 1]++;
}

/* A map edge leads to the vertex of the map; outside the map it also counts for
 * the first node of the body. */
static void add_in_edges(struct finder *f, bool deal)
{
    for (uint32_t i = 0; i < f->g->n_edges; i++) {
        const struct mortise_edge *e = &f->g->edges[i];

        if (get_target_vertex(f, e) == NONE)
            continue;
        add_in_edge(f, get_target_vertex(f, e), i, deal);
        if (mortise_edge_is_map(e))
            add_in_edge(f, e->to, i, deal);
    }
}

static void index_in_edges(struct finder *f)
{
    add_in_edges(f, false);
    for (uint32_t v = 0; v < f->n; v++)
        f->in_at[v + 1] += f->in_at[v];
    add_in_edges(f, true);
    for (uint32_t v = f->n; v > 0; v--) /* filling moved the offsets by one */
        f->in_at[v] = f->in_at[v - 1];
    f->in_at[0] = 0;
}

static void *alloc_finder_scratch(struct finder *f, size_t size)
{
    void *p = mortise_arena_alloc(&f->arena, size);

    f->nomem |= p == NULL;
    return p;
}

static void set_minimum(uint32_t *low, uint32_t to)
{
    if (to < *low)
        *low = to;
}

/* ---- loops ----------------------------------------------------------- */

static bool is_from_inside_loop(const struct finder *f, uint32_t edge,
                                uint32_t loop)
{
    const struct mortise_edge *e = &f->g->edges[edge];

    return e->from != MORTISE_START &&
           f->inner[get_source_vertex(f, e)] == loop;
}

/* An edge that leads to the vertex from outside its loop, or NONE. */
static uint32_t find_entering_edge(const struct finder *f, uint32_t v)
{
    for (uint32_t i = f->in_at[v]; i < f->in_at[v + 1]; i++)
        if (!is_from_inside_loop(f, f->in[i], f->inner[v]))
            return f->in[i];
    return NONE;
}

static int compare_vertices(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void report_two_entries(struct finder *f, uint32_t *part, uint32_t n,
                               uint32_t first, uint32_t second)
{
    uint32_t nodes = 0;

    qsort(part, n, sizeof *part, compare_vertices);
    while (nodes < n && part[nodes] < f->g->n_nodes)
        nodes++;
    f->faults->two_entries(f->faults->ud, part, nodes, first, second,
                           find_entering_edge(f, second));
    f->failed = true;
}

static void mark_back_edges(struct finder *f, const struct mortise_region *loop)
{
    for (uint32_t i = f->in_at[loop->entry]; i < f->in_at[loop->entry + 1]; i++)
        if (is_from_inside_loop(f, f->in[i], loop->index))
            f->g->edges[f->in[i]].back = true;
}

/* Find the entry of the loop that was added last; false after a fault. */
static bool find_loop_entry(struct finder *f, uint32_t *part, uint32_t n)
{
    uint32_t first = NONE, second = NONE; /* in the order of the file */

    for (uint32_t i = 0; i < n; i++) {
        if (find_entering_edge(f, part[i]) == NONE)
            continue;
        if (part[i] < first) {
            second = first;
            first = part[i];
        } else {
            set_minimum(&second, part[i]);
        }
    }
    /* Every node is reachable from START. Only the map edge leads to a map's
     * vertex, and it is inside the loop like the map. */
    assert(first < f->g->n_nodes);
    if (second != NONE)
        report_two_entries(f, part, n, first, second);
    f->found[f->n_found - 1].entry = first;
    return second == NONE;
}

static struct mortise_region *add_region(struct finder *f)
{
    struct mortise_region *list = mortise_array_grow(
        f->kept->mem, f->found, f->n_found, &f->cap_found, sizeof *list);

    if (list == NULL) {
        f->nomem = true;
        return NULL;
    }
    f->found = list;
    list[f->n_found] = (struct mortise_region){.index = (uint32_t)f->n_found};
    return &list[f->n_found++];
}

static void report_depth(struct finder *f, uint32_t entry)
{
    f->faults->too_deep(f->faults->ud, entry);
    f->failed = true;
}

/* Make a loop of these vertices, inside their region so far.  False: it must
 * not be searched further. */
static bool add_loop_region(struct finder *f, uint32_t *part, uint32_t n)
{
    uint32_t parent = f->inner[part[0]];
    struct mortise_region *loop = add_region(f);

    if (loop == NULL)
        return false;
    loop->kind = MORTISE_REGION_LOOP;
    loop->parent = parent;
    loop->depth = f->found[parent].depth + 1;
    for (uint32_t i = 0; i < n; i++) {
        f->inner[part[i]] = loop->index;
        f->index[part[i]] = f->at[part[i]] = 0; /* for the search inside it */
    }
    if (!find_loop_entry(f, part, n))
        return false;
    mark_back_edges(f, loop);
    if (loop->depth <= MORTISE_MAX_REGIONS)
        return true;
    report_depth(f, loop->entry);
    return false;
}

/* ---- strongly connected components ----------------------------------- */

static void start_vertex(struct finder *f, uint32_t v)
{
    f->index[v] = f->low[v] = ++f->n_indexes;
    f->at[v] = 0;
    f->path[f->n_path++] = v;
    f->stack[f->n_stack++] = v;
}

/* Visit the next edge of v, the end of the path. */
static void visit_next_edge(struct finder *f, uint32_t v)
{
    const struct mortise_edge *e = get_out_edge(f, v, f->at[v]++);
    uint32_t to = get_target_vertex(f, e);

    if (to == NONE || e->back || f->inner[to] != f->inner[v])
        return;
    if (f->index[to] == 0)
        start_vertex(f, to);
    else
        set_minimum(&f->low[v], f->index[to]); /* LEFT is never lower */
}

static bool has_self_edge(const struct finder *f, uint32_t v)
{
    for (uint32_t i = 0; i < get_out_degree(f, v); i++) {
        const struct mortise_edge *e = get_out_edge(f, v, i);

        if (get_target_vertex(f, e) == v && !e->back)
            return true;
    }
    return false;
}

/* The component of v is complete: move it from the stack to parted[end...]. */
static uint32_t finish_component(struct finder *f, uint32_t v, uint32_t end)
{
    uint32_t begin = end, w;

    do {
        w = f->stack[--f->n_stack];
        f->index[w] = LEFT;
        f->parted[end++] = w;
    } while (w != v);
    if (end - begin > 1 || has_self_edge(f, v))
        f->loops[f->n_loops++] = (struct slice){begin, end};
    return end;
}

static uint32_t search_from(struct finder *f, uint32_t root, uint32_t end)
{
    start_vertex(f, root);
    while (f->n_path > 0) {
        uint32_t v = f->path[f->n_path - 1];

        if (f->at[v] < get_out_degree(f, v)) {
            visit_next_edge(f, v);
            continue;
        }
        f->n_path--;
        if (f->n_path > 0)
            set_minimum(&f->low[f->path[f->n_path - 1]], f->low[v]);
        if (f->low[v] == f->index[v])
            end = finish_component(f, v, end);
    }
    return end;
}

/* Find the outermost loops among these vertices. */
static void search_components(struct finder *f, struct slice all)
{
    uint32_t end = all.begin, first = f->n_loops;

    for (uint32_t i = all.begin; i < all.end; i++)
        if (f->index[f->part[i]] == 0)
            end = search_from(f, f->part[i], end);
    memcpy(f->part + all.begin, f->parted + all.begin,
           (all.end - all.begin) * sizeof *f->part);
    for (uint32_t i = first; i < f->n_loops; i++) {
        struct slice *loop = &f->loops[i];

        if (!add_loop_region(f, f->part + loop->begin, loop->end - loop->begin))
            loop->end = loop->begin;
    }
}

static void find_all_loops(struct finder *f)
{
    search_components(f, (struct slice){0, f->n});
    for (uint32_t i = 0; i < f->n_loops && !f->nomem; i++)
        search_components(f, f->loops[i]);
}

/* ---- the tree of regions --------------------------------------------- */

/* Start with the graph and the maps as regions; vertices are in their
 * bodies. */
static void init_region_finder(struct finder *f)
{
    struct mortise_graph *g = f->g;
    uint32_t **per_vertex[] = {&f->inner, &f->part, &f->parted, &f->index,
                               &f->low,   &f->at,   &f->path,   &f->stack};

    f->n = g->n_nodes + f->bodies->n_maps;
    for (size_t i = 0; i < sizeof per_vertex / sizeof per_vertex[0]; i++)
        *per_vertex[i] = alloc_finder_scratch(f, f->n * sizeof(uint32_t));
    f->in_at = alloc_finder_scratch(f, (f->n + 1) * sizeof *f->in_at);
    f->in = alloc_finder_scratch(f, (g->n_edges + f->bodies->n_maps) *
                                        sizeof *f->in);
    f->loops = alloc_finder_scratch(f, f->n * sizeof *f->loops);
    for (uint32_t i = 0; i < g->n_regions && !f->nomem; i++)
        if (add_region(f) != NULL)
            f->found[i] = g->regions[i];
}

static void set_vertex_bodies(struct finder *f)
{
    for (uint32_t v = 0; v < f->n; v++) {
        f->part[v] = v;
        f->inner[v] = v < f->g->n_nodes
                          ? f->bodies->body[v]
                          : f->g->regions[v - f->g->n_nodes + 1].parent;
    }
}

static int compare_regions(const void *a, const void *b)
{
    const struct mortise_region *x = a, *y = b;

    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

static uint32_t get_region_depth(struct finder *f, uint32_t region)
{
    uint32_t up = region, depth = 0;

    for (; up != 0; up = f->found[up].parent)
        depth++;
    return depth;
}

/* Sort the regions: parents first, then in the order of their entries in the
 * file. new_of[] maps their earlier indexes. */
static void build_region_tree(struct finder *f)
{
    struct mortise_graph *g = f->g;
    uint32_t *new_of = alloc_finder_scratch(f, f->n_found * sizeof *new_of);

    g->regions = mortise_arena_alloc(f->kept, f->n_found * sizeof *g->regions);
    f->nomem |= g->regions == NULL;
    if (f->nomem)
        return;
    for (uint32_t i = 1; i <= f->bodies->n_maps; i++)
        f->found[i].parent = f->inner[map_vertex(f, i)];
    for (uint32_t i = 0; i < f->n_found; i++) {
        f->found[i].depth = get_region_depth(f, i);
        g->regions[i] = f->found[i];
    }
    g->n_regions = (uint32_t)f->n_found;
    qsort(g->regions, g->n_regions, sizeof *g->regions, compare_regions);
    for (uint32_t i = 0; i < g->n_regions; i++)
        new_of[g->regions[i].index] = i;
    for (uint32_t i = 0; i < g->n_regions; i++) {
        g->regions[i].index = i;
        g->regions[i].parent = new_of[g->regions[i].parent];
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        g->nodes[i].region = new_of[f->inner[i]];
    for (uint32_t i = 0; i < g->n_edges; i++)
        g->edges[i].map = new_of[g->edges[i].map];
}

/* ---- contents of regions --------------------------------------------- */

/* The smallest region that contains both. */
static uint32_t find_common_region(const struct mortise_graph *g, uint32_t a,
                                   uint32_t b)
{
    while (a != b) {
        if (g->regions[a].depth >= g->regions[b].depth)
            a = g->regions[a].parent;
        else
            b = g->regions[b].parent;
    }
    return a;
}

/* The region that an edge comes from, as seen from the regions around it. */
static uint32_t get_origin_region(const struct mortise_graph *g,
                                  const struct mortise_edge *e)
{
    if (e->kind == MORTISE_EDGE_GATHER)
        return e->map;
    return e->from != MORTISE_START ? g->nodes[e->from].region : 0;
}

static uint32_t find_home_region(const struct mortise_graph *g,
                                 const struct mortise_edge *e)
{
    uint32_t from = get_origin_region(g, e), to;

    if (e->to == MORTISE_END)
        return from;
    to = g->nodes[e->to].region;
    if (e->kind == MORTISE_EDGE_GATHER)
        return find_common_region(g, g->regions[from].parent, to);
    while (e->yields && g->regions[from].kind != MORTISE_REGION_MAP)
        from = g->regions[from].parent;
    return e->yields ? from : find_common_region(g, from, to);
}

/* Add an element to a list of a region.  Before the lists are allocated, only
 * count it. */
static uint32_t add_to_region_list(uint32_t *list, uint32_t *n, uint32_t value)
{
    if (list != NULL)
        list[*n] = value;
    return (*n)++;
}

static void add_edge_to_regions(struct mortise_graph *g, uint32_t i)
{
    struct mortise_edge *e = &g->edges[i];
    struct mortise_region *home = &g->regions[e->home];

    e->slot = add_to_region_list(home->edges, &home->n_edges, i);
    if (e->back)
        add_to_region_list(home->back, &home->n_back, i);
    for (uint32_t at = get_origin_region(g, e); at != e->home;
         at = g->regions[at].parent)
        add_to_region_list(g->regions[at].exits, &g->regions[at].n_exits, i);
}

static void fill_region_lists(struct mortise_graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        struct mortise_region *r = &g->regions[g->nodes[i].region];

        g->nodes[i].slot = add_to_region_list(r->nodes, &r->n_nodes, i);
    }
    for (uint32_t i = 1; i < g->n_regions; i++) {
        struct mortise_region *r = &g->regions[g->regions[i].parent];

        add_to_region_list(r->regions, &r->n_regions, i);
    }
    for (uint32_t i = 0; i < g->n_edges; i++)
        add_edge_to_regions(g, i);
}

static void alloc_region_list(struct finder *f, uint32_t **list, uint32_t *n)
{
    *list = mortise_arena_alloc(f->kept, *n * sizeof **list);
    f->nomem |= *list == NULL;
    *n = 0;
}

static void make_region_lists(struct finder *f)
{
    struct mortise_graph *g = f->g;

    for (uint32_t i = 0; i < g->n_edges; i++)
        g->edges[i].home = find_home_region(g, &g->edges[i]);
    fill_region_lists(g);
    for (uint32_t i = 0; i < g->n_regions; i++) {
        struct mortise_region *r = &g->regions[i];

        alloc_region_list(f, &r->nodes, &r->n_nodes);
        alloc_region_list(f, &r->regions, &r->n_regions);
        alloc_region_list(f, &r->edges, &r->n_edges);
        alloc_region_list(f, &r->back, &r->n_back);
        alloc_region_list(f, &r->exits, &r->n_exits);
    }
    if (!f->nomem)
        fill_region_lists(g);
}

/* Maps count for the depth too, which is known only now. */
static void check_region_depth(struct finder *f)
{
    const struct mortise_graph *g = f->g;
    const struct mortise_region *last = &g->regions[g->n_regions - 1];

    if (last->depth > MORTISE_MAX_REGIONS)
        report_depth(f, last->entry);
}

/* ---- entry ----------------------------------------------------------- */

int mortise_graph_find_regions(struct mortise_graph *g, struct mortise_arena *a,
                               const struct mortise_bodies *bodies,
                               const struct mortise_region_faults *faults)
{
    struct finder f = {.g = g, .kept = a, .bodies = bodies, .faults = faults};

    mortise_arena_init(&f.arena, a->mem);
    init_region_finder(&f);
    if (!f.nomem) {
        index_in_edges(&f);
        set_vertex_bodies(&f);
        find_all_loops(&f);
    }
    if (!f.nomem && !f.failed)
        build_region_tree(&f);
    mortise_release(a->mem, f.found, f.cap_found * sizeof *f.found);
    mortise_arena_finish(&f.arena);
    if (!f.nomem && !f.failed)
        make_region_lists(&f);
    if (!f.nomem && !f.failed)
        check_region_depth(&f);
    if (f.nomem)
        return MORTISE_ENOMEM;
    return f.failed ? MORTISE_EINVAL : MORTISE_OK;
}
