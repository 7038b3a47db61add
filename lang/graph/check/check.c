/* check.c -- checks of the whole graph: starts, cycles, unreachable nodes.
 *
 * All algorithms are linear and have their own stack, because a chain may have
 * 100,000 nodes.  Conclusions from a missing edge (no start, unreachable) are
 * reported only if all edges were understood.  Otherwise one typing error would
 * cause further findings.
 */
#include "core/model/structure.h"
#include "lang/graph/load/loader.h"

#include <stdio.h>
#include <string.h>

enum { MAX_CIRCLES = 20, MAX_NAMES = 8 }; /* in messages */

/* ---- edges ----------------------------------------------------------- */

/* Is it from `edges`, next or map? */
static bool is_separate_edge(enum mortise_edge_kind kind)
{
    return kind == MORTISE_EDGE_STATIC || kind == MORTISE_EDGE_WHEN ||
           kind == MORTISE_EDGE_ABOVE || kind == MORTISE_EDGE_FALLBACK;
}

static void check_router_exit(struct mortise_loader *ld,
                              const struct mortise_edge *e)
{
    const struct mortise_node *node;

    if (e->from == MORTISE_START || !is_separate_edge(e->kind))
        return;
    node = &ld->g->nodes[e->from];
    if (mortise_node_gives(node) == MORTISE_GIVES_ROUTE)
        mortise_diag_add(ld->diags, "E0309", e->span,
                         "edges cannot leave '%s', because a %s chooses the "
                         "next node itself",
                         node->id, mortise_node_type_name(node->type));
}

static void check_router_exits(struct mortise_loader *ld)
{
    for (uint32_t i = 0; i < ld->g->n_edges; i++)
        check_router_exit(ld, &ld->g->edges[i]);
}

/* ---- cycles of depends_on -------------------------------------------- */

struct walk { /* depth-first search along edges of depends_on */
    struct mortise_loader *ld;
    uint32_t *path; /* from the root to the current node */
    uint32_t *next; /* per node: the out edge to follow next */
    uint8_t *state; /* per node */
    bool *circular; /* per node: it is on a cycle */
    uint32_t n;     /* of path */
    unsigned reported;
};

enum { UNSEEN, ON_PATH, DONE };

static void print_cycle_names(const struct walk *w, uint32_t first, char *out,
                              size_t size)
{
    const struct mortise_node *nodes = w->ld->g->nodes;
    size_t n = 0;

    for (uint32_t i = first; i < w->n; i++) {
        if (i - first < MAX_NAMES - 1 || i == w->n - 1)
            n += (size_t)snprintf(out + n, size - n, "%s -> ",
                                  nodes[w->path[i]].id);
        else if (i - first == MAX_NAMES - 1)
            n += (size_t)snprintf(out + n, size - n, "... -> ");
    }
    snprintf(out + n, size - n, "%s", nodes[w->path[first]].id);
}

/* The position of a finding about a cycle: the edge that closes it.  In a graph
 * with a diff applied, an edge of the diff. */
static struct mortise_span get_cycle_span(const struct walk *w, uint32_t first,
                                          const struct mortise_edge *closing)
{
    const struct mortise_graph *g = w->ld->g;

    for (uint32_t i = first; i < w->n; i++) {
        const struct mortise_node *node = &g->nodes[w->path[i]];
        const struct mortise_edge *e =
            &g->edges[node->out[w->next[w->path[i]] - 1]];

        if (e->span.file != g->tree->span.file)
            return e->span;
    }
    return closing->span;
}

/* The edge leads from the end of the path to a node on it. */
static void report_cycle(struct walk *w, const struct mortise_edge *e)
{
    char names[(MAX_NAMES + 2) * 72];
    uint32_t first = w->n - 1;

    while (w->path[first] != e->to)
        first--;
    for (uint32_t i = first; i < w->n; i++)
        w->circular[w->path[i]] = true;
    if (w->reported++ >= MAX_CIRCLES)
        return;
    print_cycle_names(w, first, names, sizeof names);
    mortise_diag_add(w->ld->diags, "E0304", get_cycle_span(w, first, e),
                     "depends_on forms a cycle: %s", names);
}

static void follow_depends_on(struct walk *w, uint32_t edge)
{
    const struct mortise_edge *e = &w->ld->g->edges[edge];

    /* a node named END is invalid: already reported */
    if (!w->ld->edges[edge].depends_on || e->to == MORTISE_END ||
        w->state[e->to] == DONE)
        return;
    if (w->state[e->to] == ON_PATH) {
        report_cycle(w, e);
        return;
    }
    w->state[e->to] = ON_PATH;
    w->path[w->n++] = e->to;
}

static void find_cycles_from(struct walk *w, uint32_t root)
{
    w->path[w->n++] = root;
    w->state[root] = ON_PATH;
    while (w->n > 0) {
        uint32_t at = w->path[w->n - 1];
        const struct mortise_node *node = &w->ld->g->nodes[at];

        if (w->next[at] < node->n_out) {
            follow_depends_on(w, node->out[w->next[at]++]);
            continue;
        }
        w->state[at] = DONE;
        w->n--;
    }
}

/* Per node: is it on a cycle?  NULL: memory ran out. */
static const bool *check_cycles(struct mortise_loader *ld)
{
    uint32_t n = ld->g->n_nodes;
    struct walk w = {.ld = ld};

    w.path = mortise_load_alloc(ld, n * sizeof *w.path);
    w.next = mortise_load_alloc(ld, n * sizeof *w.next);
    w.state = mortise_load_alloc(ld, n);
    w.circular = mortise_load_alloc(ld, n * sizeof *w.circular);
    for (uint32_t i = 0; i < n && !ld->nomem; i++)
        if (w.state[i] == UNSEEN)
            find_cycles_from(&w, i);
    return w.circular;
}

/* ---- reachability ---------------------------------------------------- */

static void mark_reached(bool *reached, uint32_t *queue, uint32_t *n,
                         uint32_t to)
{
    if (to == MORTISE_END || reached[to])
        return;
    reached[to] = true;
    queue[(*n)++] = to;
}

/* A map's edge leads to its `to` and to its join. */
static void mark_edge_target(const struct mortise_graph *g, uint32_t edge,
                             bool *reached, uint32_t *queue, uint32_t *n)
{
    const struct mortise_edge *e = &g->edges[edge];

    mark_reached(reached, queue, n, e->to);
    if (mortise_edge_is_map(e))
        mark_reached(reached, queue, n, g->regions[e->map].join);
}

/* Nodes of a cycle count as reached: the cycle has a finding. */
static void check_reachability(struct mortise_loader *ld, const bool *circular)
{
    const struct mortise_graph *g = ld->g;
    uint32_t *queue = mortise_load_alloc(ld, g->n_nodes * sizeof *queue);
    bool *reached = mortise_load_alloc(ld, g->n_nodes * sizeof *reached);
    uint32_t n = 0;

    if (ld->nomem)
        return;
    for (uint32_t i = 0; i < g->n_start; i++)
        mark_edge_target(g, g->start[i], reached, queue, &n);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (circular[i])
            mark_reached(reached, queue, &n, i);
    for (uint32_t done = 0; done < n; done++) {
        const struct mortise_node *node = &g->nodes[queue[done]];

        for (uint32_t i = 0; i < node->n_out; i++)
            mark_edge_target(g, node->out[i], reached, queue, &n);
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (!reached[i])
            mortise_diag_add(ld->diags, "E0306", g->nodes[i].span,
                             "no path leads from START to node '%s'",
                             g->nodes[i].id);
}

static void report_no_start(struct mortise_loader *ld)
{
    const struct mortise_graph *g = ld->g;
    bool *follows = mortise_load_alloc(ld, g->n_nodes * sizeof *follows);
    struct mortise_diag *d = mortise_diag_add(
        ld->diags, "E0303", mortise_yaml_key(g->tree, "nodes")->span,
        "the graph has no start");

    if (follows == NULL)
        return;
    for (uint32_t i = 0; i < g->n_edges; i++)
        if (g->edges[i].to != MORTISE_END)
            follows[g->edges[i].to] = true;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (follows[i])
            continue;
        mortise_diag_help(ld->diags, d, "write start: %s", g->nodes[i].id);
        return;
    }
}

/* Is there an edge that is taken at the start of a run? */
static bool has_start_edge(const struct mortise_graph *g)
{
    for (uint32_t i = 0; i < g->n_start; i++) {
        if (g->edges[g->start[i]].kind != MORTISE_EDGE_BUDGET)
            return true;
    }
    return false;
}

void mortise_check_structure(struct mortise_loader *ld)
{
    const bool *circular = NULL;
    int rv;

    mortise_check_budget(ld);
    check_router_exits(ld);
    if (!ld->nomem)
        circular = check_cycles(ld);
    if (ld->nomem || ld->doubtful)
        return;
    if (!has_start_edge(ld->g))
        report_no_start(ld);
    else
        check_reachability(ld, circular);
    /* Regions need a graph in which every node is reached, and valid map
     * bodies. */
    if (ld->nomem || mortise_check_count_doubts(ld) > 0)
        return;
    rv = mortise_load_regions(ld);
    if (rv == MORTISE_OK)
        rv = mortise_graph_link_in(ld->g, ld->arena);
    if (rv == MORTISE_OK)
        rv = mortise_graph_find_postdominators(ld->g, ld->arena);
    ld->nomem |= rv == MORTISE_ENOMEM;
    if (rv != MORTISE_OK)
        return;
    mortise_load_recoverable(ld);
    if (!ld->nomem)
        mortise_check_joins(ld);
    if (!ld->nomem && mortise_load_count_errors(ld) == 0)
        mortise_check_writes(ld);
    if (!ld->nomem && mortise_load_count_errors(ld) == 0)
        mortise_check_warnings(ld);
}
