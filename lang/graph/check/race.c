/* race.c -- writes that may collide, and quorums that cannot be reached, as far
 * as the graph alone can tell.
 *
 * Two writes to one path conflict in a run when neither is in the other's past
 * (graph.md 7).  Seen from here that is a pair of nodes such that
 *
 *   (1) their paths overlap, and one of them has no reducer of its own,
 *   (2) neither can be reached from the other, and
 *   (3) both can run: they do not stand behind two exits of one node of which
 *       only one is ever taken (two routes, a route and on_error ...), and
 *   (4) both count: they are not the last steps to a join of any, at which the
 *       second has lost once the first is done.
 *
 * or a node of a map's body: its executions for two elements are never in each
 * other's past, nor are those of any two nodes of the body.  But what is an
 * element's own (graph.h) is seen by nobody outside of it: it collides with what
 * others in the same body write, as (1) to (4) have it, and with nothing else.
 *
 * Back edges do not count for any of it: a visit of a loop comes after the
 * whole visit before it, so what matters is whether two executions of one
 * visit, or one of the last visit and one behind the loop, follow each other.
 *
 * (3) asks which edges a node cannot be reached without: dominators, with
 * edges as vertices of their own.  When a node runs, some way of taken edges
 * leads to it, and its dominators are on each of them.  In an acyclic graph
 * one pass in topological order finds them (Cooper, Harvey and Kennedy's
 * intersection).  Two nodes part at their nearest common dominator; if they
 * leave it by edges that exclude each other, they never both run.
 *
 * These are warnings, the run itself is the judge: so the search has a budget,
 * and a path is reported once.
 */
#include "lang/graph/load/loader.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BUDGET = 2000000, MAX_FRONT = 64 }; /* edges looked at; see front */

struct race {
    struct mortise_loader *ld;
    const struct mortise_graph *g;
    struct mortise_arena arena; /* of what follows */
    uint32_t *order, *rank;     /* topological, and where each node stands */
    /* Vertices: 0 is START, 1 + i is node i, 1 + n_nodes + i is edge i. */
    uint32_t *idom, *depth;
    uint32_t *mark; /* node -> the last search that came here */
    uint32_t *stack;
    uint32_t search;
    uint32_t budget;
};

/* ---- order ----------------------------------------------------------- */

/* Does the target of the edge come after its source, in a visit? */
static bool orders(const struct mortise_graph *g, const struct mortise_edge *e)
{
    return e->from != MORTISE_START && e->to != MORTISE_END &&
           e->kind != MORTISE_EDGE_GATHER && !mortise_graph_returns(g, e);
}

/* Kahn.  Without back edges the graph is acyclic (region.c). */
static void sort(struct race *r)
{
    const struct mortise_graph *g = r->g;
    uint32_t *waits = r->mark, n = 0;

    for (uint32_t i = 0; i < g->n_edges; i++)
        if (orders(g, &g->edges[i]))
            waits[g->edges[i].to]++;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (waits[i] == 0)
            r->order[n++] = i;
    for (uint32_t done = 0; done < n; done++) {
        const struct mortise_node *node = &g->nodes[r->order[done]];

        r->rank[node->index] = done;
        for (uint32_t i = 0; i < node->n_out; i++) {
            const struct mortise_edge *e = &g->edges[node->out[i]];

            if (orders(g, e) && --waits[e->to] == 0)
                r->order[n++] = e->to;
        }
    }
    assert(n == g->n_nodes);
}

/* ---- dominators ------------------------------------------------------ */

static uint32_t node_vertex(uint32_t node)
{
    return node == MORTISE_START ? 0 : 1 + node;
}

static uint32_t edge_vertex(const struct race *r, uint32_t edge)
{
    return 1 + r->g->n_nodes + edge;
}

static void spend(struct race *r)
{
    if (r->budget > 0)
        r->budget--;
}

/* The nearest vertex that dominates both. */
static uint32_t meet(struct race *r, uint32_t a, uint32_t b)
{
    for (; a != b && r->budget > 0; spend(r)) {
        if (r->depth[a] >= r->depth[b])
            a = r->idom[a];
        else
            b = r->idom[b];
    }
    return a;
}

static void set_idom(struct race *r, uint32_t vertex, uint32_t idom)
{
    r->idom[vertex] = idom;
    r->depth[vertex] = r->depth[idom] + 1;
}

/* Behind a map its map edge is all that is certain: the list may be empty. */
static void leave(struct race *r, uint32_t node, uint32_t edge)
{
    const struct mortise_edge *e = &r->g->edges[edge];

    set_idom(r, edge_vertex(r, edge), node_vertex(node));
    if (mortise_edge_is_map(e))
        set_idom(r, edge_vertex(r, r->g->regions[e->map].gather),
                 edge_vertex(r, edge));
}

static void find_dominators(struct race *r)
{
    const struct mortise_graph *g = r->g;

    for (uint32_t k = 0; k < g->n_start; k++)
        leave(r, MORTISE_START, g->start[k]);
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        const struct mortise_node *node = &g->nodes[r->order[k]];
        uint32_t dom = edge_vertex(r, node->in[0]); /* nothing is orphaned */

        for (uint32_t i = 1; i < node->n_in; i++)
            dom = meet(r, dom, edge_vertex(r, node->in[i]));
        set_idom(r, node_vertex(node->index), dom);
        for (uint32_t i = 0; i < node->n_out; i++)
            leave(r, node->index, node->out[i]);
    }
}

/* ---- who excludes whom (3) ------------------------------------------- */

static bool replaces_others(enum mortise_edge_kind kind)
{
    return kind == MORTISE_EDGE_TARGET || kind == MORTISE_EDGE_ERROR ||
           kind == MORTISE_EDGE_TIMEOUT || kind == MORTISE_EDGE_REROUTE ||
           kind == MORTISE_EDGE_BUDGET;
}

static bool is_routed(enum mortise_edge_kind kind)
{
    return kind == MORTISE_EDGE_ROUTE || kind == MORTISE_EDGE_DEFAULT ||
           kind == MORTISE_EDGE_ROUTE_ALL;
}

/* Is one of them for what has a trait, the other for what has less of it? */
static bool are_arms(const struct mortise_edge *a, const struct mortise_edge *b)
{
    if (a->kind == MORTISE_EDGE_BELOW)
        return b->kind == MORTISE_EDGE_ABOVE && are_arms(b, a);
    return a->kind == MORTISE_EDGE_ABOVE && b->kind == MORTISE_EDGE_BELOW &&
           a->trait == b->trait && a->threshold >= b->threshold;
}

/* Of two edges out of one node, neither of which stands in for another. */
static bool exclude_plain(const struct mortise_edge *a,
                          const struct mortise_edge *b)
{
    if (replaces_others(a->kind) || replaces_others(b->kind))
        return true;
    if (a->kind == MORTISE_EDGE_DEFAULT || b->kind == MORTISE_EDGE_DEFAULT)
        return is_routed(a->kind) && is_routed(b->kind);
    return (a->kind == MORTISE_EDGE_ROUTE && b->kind == MORTISE_EDGE_ROUTE) ||
           (a->discovery != NULL && a->discovery == b->discovery) ||
           are_arms(a, b);
}

/* The edge itself, or one of those that it stands in for: it is taken where one
 * of them was chosen, and none of them is then. */
static const struct mortise_edge *plain(const struct race *r,
                                        const struct mortise_edge *e)
{
    return e->kind == MORTISE_EDGE_DETOUR ? &r->g->edges[e->policy->first] : e;
}

/* Of two edges out of one node: is at most one ever taken? */
static bool exclude(const struct race *r, const struct mortise_edge *a,
                    const struct mortise_edge *b)
{
    return (a->policy != NULL && a->policy == b->policy) ||
           exclude_plain(plain(r, a), plain(r, b));
}

/* The vertex below `top` on the way down to `v`. */
static uint32_t below(struct race *r, uint32_t top, uint32_t v)
{
    while (r->budget > 0 && r->idom[v] != top) {
        v = r->idom[v];
        spend(r);
    }
    return v;
}

/* Of two vertices. */
static bool never_both(struct race *r, uint32_t va, uint32_t vb)
{
    uint32_t top = meet(r, va, vb), first = edge_vertex(r, 0);

    if (va == top || vb == top)
        return false;
    va = below(r, top, va);
    vb = below(r, top, vb);
    if (r->budget == 0 || va < first || vb < first)
        return false;
    return exclude(r, &r->g->edges[va - first], &r->g->edges[vb - first]);
}

/* ---- who makes whom lose (4) ------------------------------------------- */

/* Where the node leads whatever happens, or NULL. */
static const struct mortise_edge *only_way(const struct race *r, uint32_t node)
{
    const struct mortise_node *n = &r->g->nodes[node];
    const struct mortise_edge *e =
        n->n_out == 1 ? &r->g->edges[n->out[0]] : NULL;

    return e != NULL && e->kind == MORTISE_EDGE_STATIC && orders(r->g, e) &&
                   e->home == n->region
               ? e
               : NULL;
}

static bool one_loses(const struct race *r, uint32_t a, uint32_t b)
{
    const struct mortise_edge *x = only_way(r, a), *y = only_way(r, b);

    return x != NULL && y != NULL && x->to == y->to && x->home == y->home &&
           r->g->nodes[x->to].join.kind == MORTISE_JOIN_ANY;
}

/* ---- who reaches whom (2) -------------------------------------------- */

static void visit(struct race *r, uint32_t node, uint32_t last, uint32_t *n)
{
    if (r->mark[node] == r->search || r->rank[node] > last)
        return;
    r->mark[node] = r->search;
    r->stack[(*n)++] = node;
}

/* Is there a way from a to b?  Ranks tell which nodes may lie on it. */
static bool reaches(struct race *r, uint32_t a, uint32_t b)
{
    uint32_t n = 0;

    r->search++;
    visit(r, a, r->rank[b], &n);
    while (n > 0 && r->mark[b] != r->search && r->budget > 0) {
        const struct mortise_node *node = &r->g->nodes[r->stack[--n]];

        for (uint32_t i = 0; i < node->n_out; i++) {
            const struct mortise_edge *e = &r->g->edges[node->out[i]];

            if (orders(r->g, e))
                visit(r, e->to, r->rank[b], &n);
            spend(r);
        }
    }
    return r->mark[b] == r->search;
}

/* ---- writes ---------------------------------------------------------- */

static int compare_writes(const void *pa, const void *pb, void *ranks)
{
    const struct mortise_declared *a = pa, *b = pb;
    const uint32_t *rank = ranks;
    int c = mortise_path_compare(a->path, b->path);

    return c != 0 ? c
                  : (rank[a->node] > rank[b->node]) -
                        (rank[a->node] < rank[b->node]);
}

static bool has_no_reducer(const struct race *r,
                           const struct mortise_declared *w)
{
    return !w->last &&
           mortise_graph_reduce(r->g, w->path) == MORTISE_REDUCE_DEFAULT;
}

/* The outermost map that the node is in, 0: none. */
static uint32_t map_around(const struct race *r, uint32_t node)
{
    uint32_t map = 0;

    for (uint32_t at = r->g->nodes[node].region; at != 0;
         at = r->g->regions[at].parent)
        if (r->g->regions[at].kind == MORTISE_REGION_MAP)
            map = at;
    return map;
}

/* Are both in the body of one map? */
static bool share_a_map(const struct race *r, uint32_t a, uint32_t b)
{
    uint32_t map = map_around(r, a);

    return map != 0 && map == map_around(r, b);
}

/* The map in whose body the write is an element's own, 0: it is in none.  What a
 * map comes to is written around it, where its join is. */
static uint32_t own_of(const struct race *r, const struct mortise_declared *w)
{
    return mortise_graph_is_own(r->g, w->path)
               ? mortise_graph_map_of(r->g, w->node)
               : 0;
}

static bool race(struct race *r, const struct mortise_declared *a,
                 const struct mortise_declared *b)
{
    uint32_t own = own_of(r, a);

    if (!has_no_reducer(r, a) && !has_no_reducer(r, b))
        return false;
    if (!mortise_path_covers(a->path, b->path) &&
        !mortise_path_covers(b->path, a->path))
        return false;
    if (own != own_of(r, b))
        return false;
    if (own == 0 && share_a_map(r, a->node, b->node))
        return true;
    if (a->node == b->node)
        return false;
    if (r->rank[a->node] > r->rank[b->node])
        return race(r, b, a);
    return !one_loses(r, a->node, b->node) && !reaches(r, a->node, b->node) &&
           !never_both(r, node_vertex(a->node), node_vertex(b->node)) &&
           r->budget > 0;
}

static void report(struct race *r, const struct mortise_declared *a,
                   const struct mortise_declared *b)
{
    const struct mortise_path *path = b->path->n > 1 ? b->path : a->path;
    const struct mortise_node *nodes = r->g->nodes;
    struct mortise_diag *d;

    if (own_of(r, a) == 0 && share_a_map(r, a->node, b->node))
        d = mortise_diag_add(
            r->ld->diags, "W0801", b->span,
            "all elements of the map that runs '%s' can write %s, and their "
            "order is not defined",
            nodes[r->g->regions[map_around(r, b->node)].entry].id,
            b->path->text);
    else
        d = mortise_diag_add(
            r->ld->diags, "W0801", b->span,
            "'%s' and '%s' can both write %s, and their order is not defined",
            nodes[a->node].id, nodes[b->node].id, b->path->text);

    mortise_diag_help(
        r->ld->diags, d,
        "set in state.reducers how to combine the values, for example %s: last",
        path->text);
}

/* Writes of overlapping paths, by rank where the path is the same.  `front`
 * holds those that no later one was seen to come after. */
static void check_group(struct race *r, const struct mortise_declared *w,
                        size_t n)
{
    const struct mortise_declared *front[MAX_FRONT];
    size_t n_front = 0;

    for (size_t i = 0; i < n && r->budget > 0; i++) {
        size_t kept = 0;

        if (race(r, &w[i], &w[i])) { /* with itself, in a map */
            report(r, &w[i], &w[i]);
            return;
        }
        for (size_t k = 0; k < n_front; k++) {
            if (race(r, front[k], &w[i])) {
                report(r, front[k], &w[i]);
                return;
            }
            if (mortise_path_compare(front[k]->path, w[i].path) != 0 ||
                !reaches(r, front[k]->node, w[i].node))
                front[kept++] = front[k];
        }
        n_front = kept;
        if (n_front < MAX_FRONT)
            front[n_front++] = &w[i];
    }
}

static void check_groups(struct race *r)
{
    struct mortise_declared *w = r->ld->writes;
    size_t n = r->ld->n_writes, end;

    if (n > 0)
        qsort_r(w, n, sizeof *w, compare_writes, r->rank);
    for (size_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n; end++)
            if (!mortise_path_covers(w[i].path, w[end].path))
                break;
        check_group(r, w + i, end - i);
    }
}

/* ---- quorums --------------------------------------------------------- */

/* Does the i-th edge into a node exclude all before it that are in a group? */
static bool joins_group(struct race *r, const struct mortise_node *node,
                        const uint32_t *group, uint32_t i, uint32_t which)
{
    for (uint32_t k = 0; k < i; k++)
        if (group[k] == which && !never_both(r, edge_vertex(r, node->in[k]),
                                             edge_vertex(r, node->in[i])))
            return false;
    return true;
}

/* How many of the edges into a node may be taken at once, at most: a group of
 * edges that all exclude each other counts as one. */
static uint32_t most_taken(struct race *r, const struct mortise_node *node)
{
    uint32_t *group = r->stack, n = 0;

    for (uint32_t i = 0; i < node->n_in && r->budget > 0; i++) {
        group[i] = 0;
        while (group[i] < n && !joins_group(r, node, group, i, group[i]))
            group[i]++;
        n += group[i] == n;
    }
    return n;
}

static void check_quorum(struct race *r, const struct mortise_node *node)
{
    uint32_t most;

    if (node->join.kind != MORTISE_JOIN_QUORUM || node->join.quorum < 2 ||
        node->n_in > r->g->n_nodes)
        return;
    /* What gathers a map stands last; of its elements any number may come. */
    if (r->g->edges[node->in[node->n_in - 1]].kind == MORTISE_EDGE_GATHER)
        return;
    most = most_taken(r, node);
    if (most < node->join.quorum && r->budget > 0)
        mortise_diag_add(r->ld->diags, "W0807", node->span,
                         "'%s' waits for %u edges, but at most %u of its edges "
                         "can be taken together",
                         node->id, node->join.quorum, most);
}

static void check_quorums(struct race *r)
{
    for (uint32_t i = 0; i < r->g->n_nodes; i++)
        check_quorum(r, &r->g->nodes[i]);
}

/* ---- reducers -------------------------------------------------------- */

static int find_path(const void *path, const void *write)
{
    const struct mortise_declared *w = write;

    return mortise_path_compare(path, w->path);
}

/* Does any write have exactly this path?  They are sorted. */
static bool is_written(const struct race *r, const struct mortise_path *path)
{
    size_t n = r->ld->n_writes;

    return n > 0 && bsearch(path, r->ld->writes, n, sizeof *r->ld->writes,
                            find_path) != NULL;
}

static void check_reducers(struct race *r)
{
    for (size_t i = 0; i < r->g->n_reducers; i++)
        if (!is_written(r, &r->g->reducers[i].path))
            mortise_diag_add(r->ld->diags, "W0802", r->g->reducers[i].span,
                             "no node writes '%s'",
                             r->g->reducers[i].path.text);
}

/* ---- entry ----------------------------------------------------------- */

void mortise_check_writes(struct mortise_loader *ld)
{
    struct race r = {.ld = ld, .g = ld->g, .budget = BUDGET};
    size_t n = ld->g->n_nodes, vertices = 1 + n + ld->g->n_edges;

    mortise_arena_init(&r.arena, ld->mem);
    r.rank = mortise_load_scratch(ld, &r.arena, n * sizeof *r.rank);
    r.mark = mortise_load_scratch(ld, &r.arena, n * sizeof *r.mark);
    r.stack = mortise_load_scratch(ld, &r.arena, n * sizeof *r.stack);
    r.order = mortise_load_scratch(ld, &r.arena, n * sizeof *r.order);
    r.idom = mortise_load_scratch(ld, &r.arena, vertices * sizeof *r.idom);
    r.depth = mortise_load_scratch(ld, &r.arena, vertices * sizeof *r.depth);
    if (!ld->nomem) {
        sort(&r);
        find_dominators(&r);
        check_quorums(&r);
        check_groups(&r);
        check_reducers(&r);
    }
    mortise_arena_finish(&r.arena);
}
