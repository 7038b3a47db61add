/* check.c -- the graph as a whole: starts, cycles, nodes that nothing reaches.
 *
 * Everything here is linear and walks with its own stack: a chain may be
 * 100,000 nodes long.  What is concluded from an edge that is missing (no
 * start, unreachable) is only reported when all edges were understood;
 * otherwise each slip of the pen would bring a second finding with it.
 */
#include "graph/loader.h"

#include <stdio.h>
#include <string.h>

enum { MAX_CYCLES = 20, MAX_NAMES = 8 }; /* shown */

/* Did this file have findings about keys or ids (or some that were lost)? */
static bool is_doubtful(const struct mortise_loader *ld)
{
    for (size_t i = ld->first_diag; i < ld->diags->n; i++) {
        const char *code = ld->diags->list[i].code;

        if (strncmp(code, "E02", 3) == 0 || strncmp(code, "E03", 3) == 0)
            return true;
    }
    return ld->diags->failed;
}

/* ---- edges ----------------------------------------------------------- */

static void check_router(struct mortise_loader *ld,
                         const struct mortise_edge *e)
{
    const struct mortise_node *node;

    if (e->from == MORTISE_START ||
        (e->kind != MORTISE_EDGE_STATIC && e->kind != MORTISE_EDGE_WHEN))
        return;
    node = &ld->g->nodes[e->from];
    if (node->type == MORTISE_NODE_ROUTER)
        mortise_diag_add(ld->diags, "E0309", e->span,
                         "'%s' is a router: it leaves by its own routes",
                         node->id);
}

/* Static edges from one source that lead to the same target.  seen[] holds
 * for each target the last edge to it. */
static void check_repeated(struct mortise_loader *ld, const uint32_t *out,
                           uint32_t n, uint32_t *seen)
{
    const struct mortise_graph *g = ld->g;

    for (uint32_t i = 0; i < n; i++) {
        const struct mortise_edge *e = &g->edges[out[i]], *first;
        uint32_t at = e->to == MORTISE_END ? g->n_nodes : e->to;

        if (e->kind != MORTISE_EDGE_STATIC)
            continue;
        first = seen[at] > 0 ? &g->edges[seen[at] - 1] : NULL;
        seen[at] = out[i] + 1;
        if (first != NULL && first->from == e->from)
            mortise_diag_add(ld->diags, "W0803", e->span,
                             "this edge stands here twice (first at %u:%u)",
                             first->span.line, first->span.col);
    }
}

static void check_edges(struct mortise_loader *ld, bool doubtful)
{
    const struct mortise_graph *g = ld->g;
    uint32_t *seen =
        mortise_load_alloc(ld, ((size_t)g->n_nodes + 1) * sizeof *seen);

    if (seen == NULL)
        return;
    for (uint32_t i = 0; i < g->n_edges; i++)
        check_router(ld, &g->edges[i]);
    if (doubtful)
        return;
    check_repeated(ld, g->start, g->n_start, seen);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        check_repeated(ld, g->nodes[i].out, g->nodes[i].n_out, seen);
}

/* ---- order ----------------------------------------------------------- */

/* Kahn: the nodes in a topological order.  Returns how many there are; those
 * of a cycle, or behind one, are missing. */
static uint32_t sort(const struct mortise_graph *g, uint32_t *order,
                     uint32_t *waits)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < g->n_edges; i++)
        if (g->edges[i].from != MORTISE_START && g->edges[i].to != MORTISE_END)
            waits[g->edges[i].to]++;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (waits[i] == 0)
            order[n++] = i;
    for (uint32_t done = 0; done < n; done++) {
        const struct mortise_node *node = &g->nodes[order[done]];

        for (uint32_t i = 0; i < node->n_out; i++) {
            uint32_t to = g->edges[node->out[i]].to;

            if (to != MORTISE_END && --waits[to] == 0)
                order[n++] = to;
        }
    }
    return n;
}

/* ---- cycles ---------------------------------------------------------- */

struct walk { /* depth first, over all nodes */
    struct mortise_loader *ld;
    uint32_t *path; /* from the root of the walk to here */
    uint32_t *next; /* per node: the out edge to follow next */
    uint8_t *state; /* per node */
    uint32_t n;     /* of path */
    unsigned reported;
};

enum { UNSEEN, ON_PATH, DONE };

/* The edge that leads on from the i-th node of the path. */
static uint32_t edge_at(const struct walk *w, uint32_t i)
{
    const struct mortise_node *node = &w->ld->g->nodes[w->path[i]];

    return node->out[w->next[node->index] - 1];
}

static void put_names(const struct walk *w, uint32_t first, char *out,
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

/* The last edge of the path leads back to `to`, which is on it. */
static void report_cycle(struct walk *w, uint32_t to)
{
    char names[(MAX_NAMES + 2) * 72];
    uint32_t first = w->n - 1;
    bool depends = true;

    while (w->path[first] != to)
        first--;
    for (uint32_t i = first; i < w->n; i++)
        depends &= w->ld->edges[edge_at(w, i)].depends_on;
    if (w->reported++ >= MAX_CYCLES)
        return;
    put_names(w, first, names, sizeof names);
    if (depends)
        mortise_diag_add(w->ld->diags, "E0304",
                         w->ld->g->edges[edge_at(w, w->n - 1)].span,
                         "depends_on goes in a circle: %s", names);
    else
        mortise_diag_add(
            w->ld->diags, "E0305", w->ld->g->edges[edge_at(w, w->n - 1)].span,
            "loop %s: loops are not available in this build", names);
}

static void walk_from(struct walk *w, uint32_t root)
{
    const struct mortise_graph *g = w->ld->g;

    w->path[w->n++] = root;
    w->state[root] = ON_PATH;
    while (w->n > 0) {
        const struct mortise_node *node = &g->nodes[w->path[w->n - 1]];
        uint32_t to;

        if (w->next[node->index] == node->n_out) {
            w->state[node->index] = DONE;
            w->n--;
            continue;
        }
        to = g->edges[node->out[w->next[node->index]++]].to;
        if (to == MORTISE_END || w->state[to] == DONE)
            continue;
        if (w->state[to] == ON_PATH) {
            report_cycle(w, to);
            continue;
        }
        w->state[to] = ON_PATH;
        w->path[w->n++] = to;
    }
}

static void report_cycles(struct mortise_loader *ld)
{
    uint32_t n = ld->g->n_nodes;
    struct walk w = {.ld = ld};

    w.path = mortise_load_alloc(ld, n * sizeof *w.path);
    w.next = mortise_load_alloc(ld, n * sizeof *w.next);
    w.state = mortise_load_alloc(ld, n);
    for (uint32_t i = 0; i < n && !ld->nomem; i++)
        if (w.state[i] == UNSEEN)
            walk_from(&w, i);
}

/* ---- reach ----------------------------------------------------------- */

static void reach(bool *reached, uint32_t *queue, uint32_t *n, uint32_t to)
{
    if (to == MORTISE_END || reached[to])
        return;
    reached[to] = true;
    queue[(*n)++] = to;
}

static void check_reach(struct mortise_loader *ld)
{
    const struct mortise_graph *g = ld->g;
    uint32_t *queue = mortise_load_alloc(ld, g->n_nodes * sizeof *queue);
    bool *reached = mortise_load_alloc(ld, g->n_nodes * sizeof *reached);
    uint32_t n = 0;

    if (ld->nomem)
        return;
    for (uint32_t i = 0; i < g->n_start; i++)
        reach(reached, queue, &n, g->edges[g->start[i]].to);
    for (uint32_t done = 0; done < n; done++) {
        const struct mortise_node *node = &g->nodes[queue[done]];

        for (uint32_t i = 0; i < node->n_out; i++)
            reach(reached, queue, &n, g->edges[node->out[i]].to);
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (!reached[i])
            mortise_diag_add(ld->diags, "E0306", g->nodes[i].span,
                             "nothing leads to node '%s'", g->nodes[i].id);
}

static void report_no_start(struct mortise_loader *ld)
{
    const struct mortise_graph *g = ld->g;
    struct mortise_diag *d = mortise_diag_add(
        ld->diags, "E0303", mortise_yaml_key(g->tree, "nodes")->span,
        "the graph does not say where it starts");

    for (uint32_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].n_in > 0)
            continue;
        mortise_diag_help(ld->diags, d, "write start: %s", g->nodes[i].id);
        return;
    }
}

void mortise_check_structure(struct mortise_loader *ld)
{
    const struct mortise_graph *g = ld->g;
    uint32_t *order = mortise_load_alloc(ld, g->n_nodes * sizeof *order);
    uint32_t *waits = mortise_load_alloc(ld, g->n_nodes * sizeof *waits);
    bool doubtful = is_doubtful(ld);

    if (!ld->nomem)
        check_edges(ld, doubtful);
    if (ld->nomem)
        return;
    if (sort(g, order, waits) < g->n_nodes)
        report_cycles(ld);
    else if (!doubtful && g->n_start == 0)
        report_no_start(ld);
    if (!doubtful && g->n_start > 0)
        check_reach(ld);
    if (!ld->nomem && ld->diags->n_errors == 0)
        mortise_check_writes(ld, order);
}
