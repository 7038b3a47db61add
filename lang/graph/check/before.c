/* before.c -- which nodes may have run before which.
 *
 * A node sees the write of another one only if a path leads from the writer to
 * it, loops included.  The search walks backwards from the reader and stops at
 * the writer in question.  The next question about the same reader continues
 * it.
 *
 *   (1) Any node may have run before the target of a budget's goto.
 *   (2) A goto by an operator is no path of the graph.
 *   (3) The searches of all readers share a limit.  After that, every node may
 *       have run before every other: the answers lead to findings, and a
 *       missing finding is better than a wrong one.
 */
#include "lang/graph/check/names.h"

enum { BUDGET = 2000000 }; /* edges */

static bool is_before_edge(const struct mortise_edge *e)
{
    return e->to != MORTISE_END && e->kind != 0;
}

/* Sort the edges by target. */
static void index_edges_by_target(struct mortise_order_search *b, uint32_t *in,
                                  uint32_t *at)
{
    const struct mortise_graph *g = b->ld->g;

    for (uint32_t i = 0; i < g->n_edges; i++)
        if (is_before_edge(&g->edges[i]))
            at[g->edges[i].to + 1]++;
    for (uint32_t v = 0; v < g->n_nodes; v++)
        at[v + 1] += at[v];
    for (uint32_t i = 0; i < g->n_edges; i++)
        if (is_before_edge(&g->edges[i]))
            in[at[g->edges[i].to]++] = i;
    /* filling moved the offsets by one */
    for (uint32_t v = g->n_nodes; v > 0; v--)
        at[v] = at[v - 1];
    at[0] = 0;
}

bool mortise_order_search_init(struct mortise_order_search *b,
                               struct mortise_loader *ld,
                               struct mortise_arena *a)
{
    const struct mortise_graph *g = ld->g;
    uint32_t *in, *at;

    *b = (struct mortise_order_search){
        .ld = ld, .budget = BUDGET, .node = MORTISE_NOWHERE};
    in = mortise_load_scratch(ld, a, (g->n_edges + 1) * sizeof *in);
    at = mortise_load_scratch(ld, a, (g->n_nodes + 1) * sizeof *at);
    b->mark = mortise_load_scratch(ld, a, (g->n_nodes + 1) * sizeof *b->mark);
    b->queue = mortise_load_scratch(ld, a, (g->n_nodes + 1) * sizeof *b->queue);
    if (ld->nomem)
        return false;
    index_edges_by_target(b, in, at);
    b->in = in;
    b->in_at = at;
    return true;
}

/* Add the sources of the edges that lead to the node. */
static void visit_predecessors(struct mortise_order_search *b, uint32_t node)
{
    const struct mortise_graph *g = b->ld->g;

    for (uint32_t i = b->in_at[node]; i < b->in_at[node + 1]; i++) {
        const struct mortise_edge *e = &g->edges[b->in[i]];

        b->budget -= b->budget > 0;
        if (e->from == MORTISE_START) {
            b->any |= e->kind == MORTISE_EDGE_BUDGET;
            b->started = true;
        } else if (b->mark[e->from] != b->search) {
            b->mark[e->from] = b->search;
            b->queue[b->n++] = e->from;
        }
    }
}

static void begin_before_search(struct mortise_order_search *b, uint32_t node)
{
    b->search++;
    b->node = node;
    b->n = b->done = 0;
    b->any = b->started = false;
    if (node != MORTISE_START)
        visit_predecessors(b, node);
    else
        b->started = true;
}

bool mortise_order_search_has_path(struct mortise_order_search *b,
                                   uint32_t maker, uint32_t node)
{
    if (b->node != node)
        begin_before_search(b, node);
    while (b->mark[maker] != b->search && !b->any && b->budget > 0 &&
           b->done < b->n)
        visit_predecessors(b, b->queue[b->done++]);
    return b->mark[maker] == b->search || b->any || b->budget == 0 ||
           !b->started;
}
