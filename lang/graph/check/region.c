/* region.c -- what is nested in a graph, and what belongs to it.
 *
 * A region is the graph itself, a loop, or the body of a map (map_body.c).  A
 * loop is a strongly connected part; it has one node where it is entered, and
 * when the edges back to that node are taken away, the strongly connected parts
 * of what remains are the loops inside it.  So, in the end,
 *
 *   (1) every node has one innermost region, and regions form a tree,
 *   (2) a child region is entered through its entry alone,
 *   (3) what remains of a region without its back edges, each child taken for
 *       one item, is acyclic.
 *
 * Loops are found in a graph of vertices: the nodes, and one vertex for each
 * map, which stands in the map's surroundings for its body.  No edge joins a
 * body to its surroundings then, so one search serves all bodies at once.
 * Tarjan's algorithm, with its own stack, finds the outermost loops; each loop
 * is then searched by itself, without its back edges.  A vertex is looked at
 * once for each loop around it, of which there are few (MORTISE_MAX_REGIONS),
 * so the search is linear.
 */
#include "lang/graph/load/loader.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE 0xFFFFFFFFu
#define LEFT 0xFFFFFFFFu

enum { MAX_NAMES = 8 };

struct slice {
    uint32_t begin, end;
};

struct finder {
    struct mortise_loader *ld;
    struct mortise_graph *g;
    struct mortise_arena arena;   /* of what follows */
    struct mortise_region *found; /* the graph, maps, loops as they are found */
    size_t n_found, cap_found;
    uint32_t n;           /* vertices: nodes, then maps */
    uint32_t *inner;      /* vertex -> innermost region so far */
    uint32_t *in, *in_at; /* edges to each vertex: in[in_at[v]..in_at[v+1]) */
    uint32_t *part, *parted; /* vertices, those of a loop side by side */
    struct slice *loops;     /* of part[], in the order of their regions */
    uint32_t n_loops;

    /* Tarjan */
    uint32_t *index; /* 0: not seen, LEFT: its part is complete */
    uint32_t *low, *at;
    uint32_t *path, *stack;
    uint32_t n_path, n_stack, n_indexes;
    bool failed; /* reported */
};

/* ---- vertices -------------------------------------------------------- */

static uint32_t map_vertex(const struct finder *f, uint32_t map)
{
    return f->g->n_nodes + map - 1;
}

static uint32_t source(const struct finder *f, const struct mortise_edge *e)
{
    return e->kind == MORTISE_EDGE_GATHER ? map_vertex(f, e->map) : e->from;
}

/* NONE: it ends a branch. */
static uint32_t target(const struct finder *f, const struct mortise_edge *e)
{
    if (e->to == MORTISE_END || e->yields)
        return NONE;
    return mortise_edge_is_map(e) ? map_vertex(f, e->map) : e->to;
}

static uint32_t degree(const struct finder *f, uint32_t v)
{
    return v < f->g->n_nodes ? f->g->nodes[v].n_out : 1;
}

static struct mortise_edge *edge_out(const struct finder *f, uint32_t v,
                                     uint32_t i)
{
    const struct mortise_graph *g = f->g;

    return &g->edges[v < g->n_nodes ? g->nodes[v].out[i]
                                    : g->regions[v - g->n_nodes + 1].gather];
}

static void count_in(struct finder *f, uint32_t v, uint32_t edge, bool deal)
{
    if (deal)
        f->in[f->in_at[v]++] = edge;
    else
        f->in_at[v + 1]++;
}

/* A map edge leads to the map, and from outside to the first of its body. */
static void each_in(struct finder *f, bool deal)
{
    for (uint32_t i = 0; i < f->g->n_edges; i++) {
        const struct mortise_edge *e = &f->g->edges[i];

        if (target(f, e) == NONE)
            continue;
        count_in(f, target(f, e), i, deal);
        if (mortise_edge_is_map(e))
            count_in(f, e->to, i, deal);
    }
}

static void deal_in(struct finder *f)
{
    each_in(f, false);
    for (uint32_t v = 0; v < f->n; v++)
        f->in_at[v + 1] += f->in_at[v];
    each_in(f, true);
    for (uint32_t v = f->n; v > 0; v--) /* dealing has moved them on */
        f->in_at[v] = f->in_at[v - 1];
    f->in_at[0] = 0;
}

static void *scratch(struct finder *f, size_t size)
{
    return mortise_load_scratch(f->ld, &f->arena, size);
}

static void lower(uint32_t *low, uint32_t to)
{
    if (to < *low)
        *low = to;
}

/* ---- a loop ---------------------------------------------------------- */

static bool comes_from_inside(const struct finder *f, uint32_t edge,
                              uint32_t loop)
{
    const struct mortise_edge *e = &f->g->edges[edge];

    return e->from != MORTISE_START && f->inner[source(f, e)] == loop;
}

/* An edge that leads to the vertex from outside its loop, or NONE. */
static uint32_t entered_by(const struct finder *f, uint32_t v)
{
    for (uint32_t i = f->in_at[v]; i < f->in_at[v + 1]; i++)
        if (!comes_from_inside(f, f->in[i], f->inner[v]))
            return f->in[i];
    return NONE;
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* "'a', 'b', ... 'z'" of the nodes among the vertices. */
static void put_names(const struct finder *f, const uint32_t *part, uint32_t n,
                      char *out, size_t size)
{
    size_t len = 0;
    uint32_t shown = 0;

    out[0] = '\0';
    for (uint32_t i = 0; i < n && part[i] < f->g->n_nodes; i++) {
        if (shown++ == MAX_NAMES) {
            snprintf(out + len, size - len, ", ...");
            return;
        }
        len += (size_t)snprintf(out + len, size - len, "%s'%s'",
                                i > 0 ? ", " : "", f->g->nodes[part[i]].id);
    }
}

static void report_entries(struct finder *f, uint32_t *part, uint32_t n,
                           uint32_t first, uint32_t second)
{
    const struct mortise_edge *e = &f->g->edges[entered_by(f, second)];
    char names[(MAX_NAMES + 1) * 72];
    struct mortise_diag *d;

    qsort(part, n, sizeof *part, by_number);
    put_names(f, part, n, names, sizeof names);
    d = mortise_diag_add(f->ld->diags, "E0305", e->span,
                         "the loop of %s is entered at '%s' and at '%s'", names,
                         f->g->nodes[first].id, f->g->nodes[second].id);
    mortise_diag_help(f->ld->diags, d,
                      "a loop can have only one entry: lead all edges from "
                      "outside to the same node");
    f->failed = true;
}

static void mark_back(struct finder *f, const struct mortise_region *loop)
{
    for (uint32_t i = f->in_at[loop->entry]; i < f->in_at[loop->entry + 1]; i++)
        if (comes_from_inside(f, f->in[i], loop->index))
            f->g->edges[f->in[i]].back = true;
}

/* The entry of what is now the last loop; false after a finding. */
static bool find_entry(struct finder *f, uint32_t *part, uint32_t n)
{
    uint32_t first = NONE, second = NONE; /* in declared order */

    for (uint32_t i = 0; i < n; i++) {
        if (entered_by(f, part[i]) == NONE)
            continue;
        if (part[i] < first) {
            second = first;
            first = part[i];
        } else {
            lower(&second, part[i]);
        }
    }
    /* Everything is reached from START, and to the vertex of a map leads its
     * map edge alone, from inside the loop like the map. */
    assert(first < f->g->n_nodes);
    if (second != NONE)
        report_entries(f, part, n, first, second);
    f->found[f->n_found - 1].entry = first;
    return second == NONE;
}

static struct mortise_region *add_region(struct finder *f)
{
    struct mortise_region *list = mortise_grow(f->ld->mem, f->found, f->n_found,
                                               &f->cap_found, sizeof *list);

    if (list == NULL) {
        f->ld->nomem = true;
        return NULL;
    }
    f->found = list;
    list[f->n_found] = (struct mortise_region){.index = (uint32_t)f->n_found};
    return &list[f->n_found++];
}

static void report_depth(struct mortise_loader *ld, uint32_t entry)
{
    mortise_diag_add(ld->diags, "E0313", ld->g->nodes[entry].span,
                     "loops and maps can be nested at most %d deep",
                     MORTISE_MAX_REGIONS);
}

/* These vertices are a loop in the region where they were.  False: there is
 * nothing to be searched in it. */
static bool add_loop(struct finder *f, uint32_t *part, uint32_t n)
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
        f->index[part[i]] = f->at[part[i]] = 0; /* to be searched by itself */
    }
    if (!find_entry(f, part, n))
        return false;
    mark_back(f, loop);
    if (loop->depth <= MORTISE_MAX_REGIONS)
        return true;
    report_depth(f->ld, loop->entry);
    f->failed = true;
    return false;
}

/* ---- strongly connected parts ---------------------------------------- */

static void arrive(struct finder *f, uint32_t v)
{
    f->index[v] = f->low[v] = ++f->n_indexes;
    f->at[v] = 0;
    f->path[f->n_path++] = v;
    f->stack[f->n_stack++] = v;
}

/* Go on from v, the last of the path. */
static void look_on(struct finder *f, uint32_t v)
{
    const struct mortise_edge *e = edge_out(f, v, f->at[v]++);
    uint32_t to = target(f, e);

    if (to == NONE || e->back || f->inner[to] != f->inner[v])
        return;
    if (f->index[to] == 0)
        arrive(f, to);
    else
        lower(&f->low[v], f->index[to]); /* LEFT lowers nothing */
}

static bool leads_to_itself(const struct finder *f, uint32_t v)
{
    for (uint32_t i = 0; i < degree(f, v); i++) {
        const struct mortise_edge *e = edge_out(f, v, i);

        if (target(f, e) == v && !e->back)
            return true;
    }
    return false;
}

/* The part of v is complete: move it from the stack to parted[end...]. */
static uint32_t leave(struct finder *f, uint32_t v, uint32_t end)
{
    uint32_t begin = end, w;

    do {
        w = f->stack[--f->n_stack];
        f->index[w] = LEFT;
        f->parted[end++] = w;
    } while (w != v);
    if (end - begin > 1 || leads_to_itself(f, v))
        f->loops[f->n_loops++] = (struct slice){begin, end};
    return end;
}

static uint32_t search_from(struct finder *f, uint32_t root, uint32_t end)
{
    arrive(f, root);
    while (f->n_path > 0) {
        uint32_t v = f->path[f->n_path - 1];

        if (f->at[v] < degree(f, v)) {
            look_on(f, v);
            continue;
        }
        f->n_path--;
        if (f->n_path > 0)
            lower(&f->low[f->path[f->n_path - 1]], f->low[v]);
        if (f->low[v] == f->index[v])
            end = leave(f, v, end);
    }
    return end;
}

/* The outermost loops among these vertices. */
static void search(struct finder *f, struct slice all)
{
    uint32_t end = all.begin, first = f->n_loops;

    for (uint32_t i = all.begin; i < all.end; i++)
        if (f->index[f->part[i]] == 0)
            end = search_from(f, f->part[i], end);
    memcpy(f->part + all.begin, f->parted + all.begin,
           (all.end - all.begin) * sizeof *f->part);
    for (uint32_t i = first; i < f->n_loops; i++) {
        struct slice *loop = &f->loops[i];

        if (!add_loop(f, f->part + loop->begin, loop->end - loop->begin))
            loop->end = loop->begin;
    }
}

static void find_loops(struct finder *f)
{
    search(f, (struct slice){0, f->n});
    for (uint32_t i = 0; i < f->n_loops && !f->ld->nomem; i++)
        search(f, f->loops[i]);
}

/* ---- the tree of regions --------------------------------------------- */

/* The graph and the regions of maps; vertices stand in the bodies. */
static void prepare(struct finder *f)
{
    struct mortise_graph *g = f->g;
    uint32_t **per_vertex[] = {&f->inner, &f->part, &f->parted, &f->index,
                               &f->low,   &f->at,   &f->path,   &f->stack};

    f->n = g->n_nodes + f->ld->n_maps;
    for (size_t i = 0; i < sizeof per_vertex / sizeof per_vertex[0]; i++)
        *per_vertex[i] = scratch(f, f->n * sizeof(uint32_t));
    f->in_at = scratch(f, (f->n + 1) * sizeof *f->in_at);
    f->in = scratch(f, (g->n_edges + f->ld->n_maps) * sizeof *f->in);
    f->loops = scratch(f, f->n * sizeof *f->loops);
    for (uint32_t i = 0; i < g->n_regions && !f->ld->nomem; i++)
        if (add_region(f) != NULL)
            f->found[i] = g->regions[i];
}

static void place_vertices(struct finder *f)
{
    for (uint32_t v = 0; v < f->n; v++) {
        f->part[v] = v;
        f->inner[v] = v < f->g->n_nodes
                          ? f->ld->body[v]
                          : f->g->regions[v - f->g->n_nodes + 1].parent;
    }
}

static int by_place(const void *a, const void *b)
{
    const struct mortise_region *x = a, *y = b;

    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

static uint32_t depth_of(struct finder *f, uint32_t region)
{
    uint32_t up = region, depth = 0;

    for (; up != 0; up = f->found[up].parent)
        depth++;
    return depth;
}

/* Parents first, in declared order of the entries; new_of[] maps the indexes
 * under which they were found. */
static void settle_tree(struct finder *f)
{
    struct mortise_graph *g = f->g;
    uint32_t *new_of = scratch(f, f->n_found * sizeof *new_of);

    g->regions = mortise_load_alloc(f->ld, f->n_found * sizeof *g->regions);
    if (f->ld->nomem)
        return;
    for (uint32_t i = 1; i <= f->ld->n_maps; i++)
        f->found[i].parent = f->inner[map_vertex(f, i)];
    for (uint32_t i = 0; i < f->n_found; i++) {
        f->found[i].depth = depth_of(f, i);
        g->regions[i] = f->found[i];
    }
    g->n_regions = (uint32_t)f->n_found;
    qsort(g->regions, g->n_regions, sizeof *g->regions, by_place);
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

/* ---- what belongs to a region ---------------------------------------- */

/* The least region that holds both. */
static uint32_t common(const struct mortise_graph *g, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (g->regions[a].depth >= g->regions[b].depth)
            a = g->regions[a].parent;
        else
            b = g->regions[b].parent;
    }
    return a;
}

/* The region from which an edge comes, as those around it see it. */
static uint32_t origin(const struct mortise_graph *g,
                       const struct mortise_edge *e)
{
    if (e->kind == MORTISE_EDGE_GATHER)
        return e->map;
    return e->from != MORTISE_START ? g->nodes[e->from].region : 0;
}

static uint32_t home_of(const struct mortise_graph *g,
                        const struct mortise_edge *e)
{
    uint32_t from = origin(g, e), to;

    if (e->to == MORTISE_END)
        return from;
    to = g->nodes[e->to].region;
    if (e->kind == MORTISE_EDGE_GATHER)
        return common(g, g->regions[from].parent, to);
    while (e->yields && g->regions[from].kind != MORTISE_REGION_MAP)
        from = g->regions[from].parent;
    return e->yields ? from : common(g, from, to);
}

/* An element of one of a region's lists: only counted while they have no
 * room. */
static uint32_t put(uint32_t *list, uint32_t *n, uint32_t value)
{
    if (list != NULL)
        list[*n] = value;
    return (*n)++;
}

static void put_edge(struct mortise_graph *g, uint32_t i)
{
    struct mortise_edge *e = &g->edges[i];
    struct mortise_region *home = &g->regions[e->home];

    e->slot = put(home->edges, &home->n_edges, i);
    if (e->back)
        put(home->back, &home->n_back, i);
    for (uint32_t at = origin(g, e); at != e->home; at = g->regions[at].parent)
        put(g->regions[at].exits, &g->regions[at].n_exits, i);
}

static void put_all(struct mortise_graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        struct mortise_region *r = &g->regions[g->nodes[i].region];

        g->nodes[i].slot = put(r->nodes, &r->n_nodes, i);
    }
    for (uint32_t i = 1; i < g->n_regions; i++) {
        struct mortise_region *r = &g->regions[g->regions[i].parent];

        put(r->regions, &r->n_regions, i);
    }
    for (uint32_t i = 0; i < g->n_edges; i++)
        put_edge(g, i);
}

static void make_room(struct mortise_loader *ld, uint32_t **list, uint32_t *n)
{
    *list = mortise_load_alloc(ld, *n * sizeof **list);
    *n = 0;
}

static void deal_lists(struct mortise_loader *ld)
{
    struct mortise_graph *g = ld->g;

    for (uint32_t i = 0; i < g->n_edges; i++)
        g->edges[i].home = home_of(g, &g->edges[i]);
    put_all(g);
    for (uint32_t i = 0; i < g->n_regions; i++) {
        struct mortise_region *r = &g->regions[i];

        make_room(ld, &r->nodes, &r->n_nodes);
        make_room(ld, &r->regions, &r->n_regions);
        make_room(ld, &r->edges, &r->n_edges);
        make_room(ld, &r->back, &r->n_back);
        make_room(ld, &r->exits, &r->n_exits);
    }
    if (!ld->nomem)
        put_all(g);
}

/* Maps count for the depth, too, and that is known last. */
static void check_depth(struct mortise_loader *ld)
{
    const struct mortise_graph *g = ld->g;
    const struct mortise_region *last = &g->regions[g->n_regions - 1];

    if (last->depth > MORTISE_MAX_REGIONS)
        report_depth(ld, last->entry);
}

/* ---- entry ----------------------------------------------------------- */

void mortise_load_regions(struct mortise_loader *ld)
{
    struct finder f = {.ld = ld, .g = ld->g};

    mortise_arena_init(&f.arena, ld->mem);
    prepare(&f);
    if (!ld->nomem) {
        deal_in(&f);
        place_vertices(&f);
        find_loops(&f);
    }
    if (!ld->nomem && !f.failed)
        settle_tree(&f);
    mortise_release(ld->mem, f.found, f.cap_found * sizeof *f.found);
    mortise_arena_finish(&f.arena);
    if (!ld->nomem && !f.failed)
        deal_lists(ld);
    if (!ld->nomem && !f.failed)
        check_depth(ld);
}
