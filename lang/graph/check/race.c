/* race.c -- writes that may conflict, and quorums that cannot be reached, as
 * far as the graph alone shows.
 *
 * Two writes to one path conflict in a run if neither is in the other's past
 * (graph.md 7).  In the graph this is a pair of nodes for which
 *
 *   (1) their paths overlap, and one of them has no reducer of its own,
 *   (2) neither can be reached from the other,
 *   (3) both can run: they are not behind two exits of one node of which only
 *       one is ever taken (two routes, a route and on_error ...), and
 *   (4) both count: they are not the last nodes before a join of any, where the
 *       second loses as soon as the first is done.
 *
 * A node in a map's body also conflicts with itself, and with every node of the
 * body: the executions for two elements are never in each other's past.  But a
 * value of one element (graph.h) is invisible outside that element: it
 * conflicts only with writes in the same body, by (1) to (4).
 *
 * Back edges are ignored.  A visit of a loop comes after the whole previous
 * visit.  So only two executions of one visit matter, or one of the last visit
 * and one after the loop.
 *
 * (3) asks for the edges without which a node cannot be reached: dominators,
 * with edges as vertices.  When a node runs, a path of taken edges leads to it,
 * and its dominators are on each such path.  In an acyclic graph one pass in
 * topological order finds them (the intersection of Cooper, Harvey and
 * Kennedy).  Two nodes part at their nearest common dominator.  If they leave
 * it by edges that exclude each other, they never both run.
 *
 * These findings are warnings, because the run decides.  So the search has a
 * limit, and a path is reported once.
 */
#include "lang/graph/load/loader.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BUDGET = 2000000, MAX_FRONT = 64 }; /* edges to visit; see `front` */

struct race {
    struct mortise_loader *ld;
    const struct mortise_graph *g;
    struct mortise_arena arena; /* for the arrays below */
    uint32_t *order, *rank;     /* topological order, and each node's position
                                 * in it */
    /* Vertices: 0 is START, 1 + i is node i, 1 + n_nodes + i is edge i. */
    uint32_t *idom, *depth;
    uint32_t *mark; /* node -> the last search that visited it */
    uint32_t *stack;
    uint32_t search;
    uint32_t budget;
};

/* ---- order ----------------------------------------------------------- */

/* Does the target of the edge run after its source, within a visit? */
static bool is_order_edge(const struct mortise_graph *g,
                          const struct mortise_edge *e)
{
    return e->from != MORTISE_START && e->to != MORTISE_END &&
           e->kind != MORTISE_EDGE_GATHER &&
           !mortise_graph_is_edge_to_later_visit(g, e);
}

/* Kahn's algorithm.  Without back edges the graph is acyclic (core/model/regions.c). */
static void sort_nodes_by_order(struct race *r)
{
    const struct mortise_graph *g = r->g;
    uint32_t *waits = r->mark, n = 0;

    for (uint32_t i = 0; i < g->n_edges; i++)
        if (is_order_edge(g, &g->edges[i]))
            waits[g->edges[i].to]++;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (waits[i] == 0)
            r->order[n++] = i;
    for (uint32_t done = 0; done < n; done++) {
        const struct mortise_node *node = &g->nodes[r->order[done]];

        r->rank[node->index] = done;
        for (uint32_t i = 0; i < node->n_out; i++) {
            const struct mortise_edge *e = &g->edges[node->out[i]];

            if (is_order_edge(g, e) && --waits[e->to] == 0)
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

static void spend_race_budget(struct race *r)
{
    if (r->budget > 0)
        r->budget--;
}

/* The nearest vertex that dominates both. */
static uint32_t find_race_dominator(struct race *r, uint32_t a, uint32_t b)
{
    for (; a != b && r->budget > 0; spend_race_budget(r)) {
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

/* The join of a map is dominated by the map edge only, since the list may be
 * empty. */
static void set_edge_dominators(struct race *r, uint32_t node, uint32_t edge)
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
        set_edge_dominators(r, MORTISE_START, g->start[k]);
    for (uint32_t k = 0; k < g->n_nodes; k++) {
        const struct mortise_node *node = &g->nodes[r->order[k]];
        /* every node has an incoming edge */
        uint32_t dom = edge_vertex(r, node->in[0]);

        for (uint32_t i = 1; i < node->n_in; i++)
            dom = find_race_dominator(r, dom, edge_vertex(r, node->in[i]));
        set_idom(r, node_vertex(node->index), dom);
        for (uint32_t i = 0; i < node->n_out; i++)
            set_edge_dominators(r, node->index, node->out[i]);
    }
}

/* ---- edges that exclude each other (3) ------------------------------- */

static bool replaces_other_edges(enum mortise_edge_kind kind)
{
    return kind == MORTISE_EDGE_TARGET || kind == MORTISE_EDGE_ERROR ||
           kind == MORTISE_EDGE_TIMEOUT || kind == MORTISE_EDGE_REROUTE ||
           kind == MORTISE_EDGE_BUDGET;
}

static bool is_routed_edge(enum mortise_edge_kind kind)
{
    return kind == MORTISE_EDGE_ROUTE || kind == MORTISE_EDGE_DEFAULT ||
           kind == MORTISE_EDGE_ROUTE_ALL;
}

/* Is one edge for the trait at a threshold, and the other for less? */
static bool are_opposite_traits(const struct mortise_edge *a,
                                const struct mortise_edge *b)
{
    if (a->kind == MORTISE_EDGE_BELOW)
        return b->kind == MORTISE_EDGE_ABOVE && are_opposite_traits(b, a);
    return a->kind == MORTISE_EDGE_ABOVE && b->kind == MORTISE_EDGE_BELOW &&
           a->trait == b->trait && a->threshold >= b->threshold;
}

/* Of two edges from one node, neither of which is a detour. */
static bool exclude_plain_edges(const struct mortise_edge *a,
                                const struct mortise_edge *b)
{
    if (replaces_other_edges(a->kind) || replaces_other_edges(b->kind))
        return true;
    if (a->kind == MORTISE_EDGE_DEFAULT || b->kind == MORTISE_EDGE_DEFAULT)
        return is_routed_edge(a->kind) && is_routed_edge(b->kind);
    return (a->kind == MORTISE_EDGE_ROUTE && b->kind == MORTISE_EDGE_ROUTE) ||
           (a->discovery != NULL && a->discovery == b->discovery) ||
           are_opposite_traits(a, b);
}

/* The edge itself; for a detour, one of the edges that it replaces.  The detour
 * is taken if one of those was chosen, and then none of them is. */
static const struct mortise_edge *get_plain_edge(const struct race *r,
                                                 const struct mortise_edge *e)
{
    return e->kind == MORTISE_EDGE_DETOUR ? &r->g->edges[e->policy->first] : e;
}

/* Is at most one of two edges from one node ever taken? */
static bool exclude_each_other(const struct race *r,
                               const struct mortise_edge *a,
                               const struct mortise_edge *b)
{
    return (a->policy != NULL && a->policy == b->policy) ||
           exclude_plain_edges(get_plain_edge(r, a), get_plain_edge(r, b));
}

/* The vertex below `top` on the way down to `v`. */
static uint32_t find_child_dominator(struct race *r, uint32_t top, uint32_t v)
{
    while (r->budget > 0 && r->idom[v] != top) {
        v = r->idom[v];
        spend_race_budget(r);
    }
    return v;
}

/* Of two vertices: is at most one ever taken? */
static bool never_both_taken(struct race *r, uint32_t va, uint32_t vb)
{
    uint32_t top = find_race_dominator(r, va, vb), first = edge_vertex(r, 0);

    if (va == top || vb == top)
        return false;
    va = find_child_dominator(r, top, va);
    vb = find_child_dominator(r, top, vb);
    if (r->budget == 0 || va < first || vb < first)
        return false;
    return exclude_each_other(r, &r->g->edges[va - first],
                              &r->g->edges[vb - first]);
}

/* ---- joins at which one loses (4) -------------------------------------- */

/* The only edge of the node, if it is always taken; else NULL. */
static const struct mortise_edge *get_only_edge(const struct race *r,
                                                uint32_t node)
{
    const struct mortise_node *n = &r->g->nodes[node];
    const struct mortise_edge *e =
        n->n_out == 1 ? &r->g->edges[n->out[0]] : NULL;

    return e != NULL && e->kind == MORTISE_EDGE_STATIC &&
                   is_order_edge(r->g, e) && e->home == n->region
               ? e
               : NULL;
}

static bool is_one_loser(const struct race *r, uint32_t a, uint32_t b)
{
    const struct mortise_edge *x = get_only_edge(r, a),
                              *y = get_only_edge(r, b);

    return x != NULL && y != NULL && x->to == y->to && x->home == y->home &&
           r->g->nodes[x->to].join.kind == MORTISE_JOIN_ANY;
}

/* ---- reachability (2) ------------------------------------------------ */

static void visit_later_node(struct race *r, uint32_t node, uint32_t last,
                             uint32_t *n)
{
    if (r->mark[node] == r->search || r->rank[node] > last)
        return;
    r->mark[node] = r->search;
    r->stack[(*n)++] = node;
}

/* Is there a path from a to b?  Only nodes between their ranks can be on it. */
static bool reaches_node(struct race *r, uint32_t a, uint32_t b)
{
    uint32_t n = 0;

    r->search++;
    visit_later_node(r, a, r->rank[b], &n);
    while (n > 0 && r->mark[b] != r->search && r->budget > 0) {
        const struct mortise_node *node = &r->g->nodes[r->stack[--n]];

        for (uint32_t i = 0; i < node->n_out; i++) {
            const struct mortise_edge *e = &r->g->edges[node->out[i]];

            if (is_order_edge(r->g, e))
                visit_later_node(r, e->to, r->rank[b], &n);
            spend_race_budget(r);
        }
    }
    return r->mark[b] == r->search;
}

/* ---- writes ---------------------------------------------------------- */

static int compare_writes(const void *pa, const void *pb, void *ranks)
{
    const struct mortise_declared_write *a = pa, *b = pb;
    const uint32_t *rank = ranks;
    int c = mortise_path_compare(a->path, b->path);

    return c != 0 ? c
                  : (rank[a->node] > rank[b->node]) -
                        (rank[a->node] < rank[b->node]);
}

static bool has_no_reducer(const struct race *r,
                           const struct mortise_declared_write *w)
{
    return !w->last &&
           mortise_graph_get_reduce(r->g, w->path) == MORTISE_REDUCE_DEFAULT;
}

/* The outermost map around the node; 0: none. */
static uint32_t get_outermost_map(const struct race *r, uint32_t node)
{
    uint32_t map = 0;

    for (uint32_t at = r->g->nodes[node].region; at != 0;
         at = r->g->regions[at].parent)
        if (r->g->regions[at].kind == MORTISE_REGION_MAP)
            map = at;
    return map;
}

/* Are both in the body of one map? */
static bool are_in_same_map(const struct race *r, uint32_t a, uint32_t b)
{
    uint32_t map = get_outermost_map(r, a);

    return map != 0 && map == get_outermost_map(r, b);
}

/* The map whose element owns the written value; 0: none.  The results of a map
 * are written outside it, at its join. */
static uint32_t get_element_map(const struct race *r,
                                const struct mortise_declared_write *w)
{
    return mortise_graph_is_element_path(r->g, w->path)
               ? mortise_graph_find_map_around(r->g, w->node)
               : 0;
}

static bool is_write_conflict(struct race *r,
                              const struct mortise_declared_write *a,
                              const struct mortise_declared_write *b)
{
    uint32_t own = get_element_map(r, a);

    if (!has_no_reducer(r, a) && !has_no_reducer(r, b))
        return false;
    if (!mortise_path_is_prefix(a->path, b->path) &&
        !mortise_path_is_prefix(b->path, a->path))
        return false;
    if (own != get_element_map(r, b))
        return false;
    if (own == 0 && are_in_same_map(r, a->node, b->node))
        return true;
    if (a->node == b->node)
        return false;
    if (r->rank[a->node] > r->rank[b->node])
        return is_write_conflict(r, b, a);
    return !is_one_loser(r, a->node, b->node) &&
           !reaches_node(r, a->node, b->node) &&
           !never_both_taken(r, node_vertex(a->node), node_vertex(b->node)) &&
           r->budget > 0;
}

static void report_write_conflict(struct race *r,
                                  const struct mortise_declared_write *a,
                                  const struct mortise_declared_write *b)
{
    const struct mortise_path *path = b->path->n > 1 ? b->path : a->path;
    const struct mortise_node *nodes = r->g->nodes;
    struct mortise_diag *d;

    if (get_element_map(r, a) == 0 && are_in_same_map(r, a->node, b->node))
        d = mortise_diag_add(
            r->ld->diags, "W0801", b->span,
            "all elements of the map that runs '%s' can write %s, and their "
            "order is not defined",
            nodes[r->g->regions[get_outermost_map(r, b->node)].entry].id,
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

/* Check writes of overlapping paths, which are sorted by path, then by rank.
 * `front` holds the writes that no later write was seen to follow. */
static void check_write_group(struct race *r,
                              const struct mortise_declared_write *w, size_t n)
{
    const struct mortise_declared_write *front[MAX_FRONT];
    size_t n_front = 0;

    for (size_t i = 0; i < n && r->budget > 0; i++) {
        size_t kept = 0;

        if (is_write_conflict(r, &w[i], &w[i])) { /* with itself, in a map */
            report_write_conflict(r, &w[i], &w[i]);
            return;
        }
        for (size_t k = 0; k < n_front; k++) {
            if (is_write_conflict(r, front[k], &w[i])) {
                report_write_conflict(r, front[k], &w[i]);
                return;
            }
            if (mortise_path_compare(front[k]->path, w[i].path) != 0 ||
                !reaches_node(r, front[k]->node, w[i].node))
                front[kept++] = front[k];
        }
        n_front = kept;
        if (n_front < MAX_FRONT)
            front[n_front++] = &w[i];
    }
}

static void check_write_groups(struct race *r)
{
    struct mortise_declared_write *w = r->ld->writes;
    size_t n = r->ld->n_writes, end;

    if (n > 0)
        qsort_r(w, n, sizeof *w, compare_writes, r->rank);
    for (size_t i = 0; i < n; i = end) {
        for (end = i + 1; end < n; end++)
            if (!mortise_path_is_prefix(w[i].path, w[end].path))
                break;
        check_write_group(r, w + i, end - i);
    }
}

/* ---- quorums --------------------------------------------------------- */

/* Does the i-th edge into a node exclude all earlier edges of this group? */
static bool excludes_whole_group(struct race *r,
                                 const struct mortise_node *node,
                                 const uint32_t *group, uint32_t i,
                                 uint32_t which)
{
    for (uint32_t k = 0; k < i; k++)
        if (group[k] == which &&
            !never_both_taken(r, edge_vertex(r, node->in[k]),
                              edge_vertex(r, node->in[i])))
            return false;
    return true;
}

/* The largest number of edges into a node that can be taken together.  A group
 * of edges that all exclude each other counts as one. */
static uint32_t count_most_taken(struct race *r,
                                 const struct mortise_node *node)
{
    uint32_t *group = r->stack, n = 0;

    for (uint32_t i = 0; i < node->n_in && r->budget > 0; i++) {
        group[i] = 0;
        while (group[i] < n &&
               !excludes_whole_group(r, node, group, i, group[i]))
            group[i]++;
        n += group[i] == n;
    }
    return n;
}

static void check_quorum_reachable(struct race *r,
                                   const struct mortise_node *node)
{
    uint32_t most;

    if (node->join.kind != MORTISE_JOIN_QUORUM || node->join.quorum < 2 ||
        node->n_in > r->g->n_nodes)
        return;
    /* The gathering edge of a map is the last one; any number of elements may
     * arrive. */
    if (r->g->edges[node->in[node->n_in - 1]].kind == MORTISE_EDGE_GATHER)
        return;
    most = count_most_taken(r, node);
    if (most < node->join.quorum && r->budget > 0)
        mortise_diag_add(r->ld->diags, "W0807", node->span,
                         "'%s' waits for %u edges, but at most %u of its edges "
                         "can be taken together",
                         node->id, node->join.quorum, most);
}

static void check_all_quorums(struct race *r)
{
    for (uint32_t i = 0; i < r->g->n_nodes; i++)
        check_quorum_reachable(r, &r->g->nodes[i]);
}

/* ---- reducers -------------------------------------------------------- */

static int compare_path_to_write(const void *path, const void *write)
{
    const struct mortise_declared_write *w = write;

    return mortise_path_compare(path, w->path);
}

/* Does a write have exactly this path?  The writes are sorted. */
static bool is_path_written(const struct race *r,
                            const struct mortise_path *path)
{
    size_t n = r->ld->n_writes;

    return n > 0 && bsearch(path, r->ld->writes, n, sizeof *r->ld->writes,
                            compare_path_to_write) != NULL;
}

static void check_unused_reducers(struct race *r)
{
    for (size_t i = 0; i < r->g->n_reducers; i++)
        if (!is_path_written(r, &r->g->reducers[i].path))
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
        sort_nodes_by_order(&r);
        find_dominators(&r);
        check_all_quorums(&r);
        check_write_groups(&r);
        check_unused_reducers(&r);
    }
    mortise_arena_finish(&r.arena);
}
