/* before.c -- who can have run before whom.
 *
 * A node sees what another one wrote if that came before it on some way, loops
 * included: so a maker that no way leads from to the reader is never seen there.
 * We walk backwards, from the reader, and no further than to the maker that is
 * asked for; the next question of the same reader goes on from there.
 *
 *   (1) Where a budget's goto leads, anything may have run before.
 *   (2) What people do (a goto of theirs) is no way of the graph.
 *   (3) The walks of all readers together have a budget.  Behind it everything
 *       may have run: what follows from these answers are findings, and none is
 *       better than a wrong one.
 */
#include "lang/graph/check/names.h"

enum { BUDGET = 2000000 }; /* edges */

static bool is_in(const struct mortise_edge *e)
{
    return e->to != MORTISE_END && e->kind != 0;
}

/* The edges, by where they lead. */
static void deal(struct mortise_before *b, uint32_t *in, uint32_t *at)
{
    const struct mortise_graph *g = b->ld->g;

    for (uint32_t i = 0; i < g->n_edges; i++)
        if (is_in(&g->edges[i]))
            at[g->edges[i].to + 1]++;
    for (uint32_t v = 0; v < g->n_nodes; v++)
        at[v + 1] += at[v];
    for (uint32_t i = 0; i < g->n_edges; i++)
        if (is_in(&g->edges[i]))
            in[at[g->edges[i].to]++] = i;
    for (uint32_t v = g->n_nodes; v > 0; v--) /* dealing has moved them on */
        at[v] = at[v - 1];
    at[0] = 0;
}

bool mortise_before_init(struct mortise_before *b, struct mortise_loader *ld,
                         struct mortise_arena *a)
{
    const struct mortise_graph *g = ld->g;
    uint32_t *in, *at;

    *b = (struct mortise_before){
        .ld = ld, .budget = BUDGET, .node = MORTISE_NOWHERE};
    in = mortise_load_scratch(ld, a, (g->n_edges + 1) * sizeof *in);
    at = mortise_load_scratch(ld, a, (g->n_nodes + 1) * sizeof *at);
    b->mark = mortise_load_scratch(ld, a, (g->n_nodes + 1) * sizeof *b->mark);
    b->queue = mortise_load_scratch(ld, a, (g->n_nodes + 1) * sizeof *b->queue);
    if (ld->nomem)
        return false;
    deal(b, in, at);
    b->in = in;
    b->in_at = at;
    return true;
}

/* Those that lead to the node come before it. */
static void look_before(struct mortise_before *b, uint32_t node)
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

static void begin(struct mortise_before *b, uint32_t node)
{
    b->search++;
    b->node = node;
    b->n = b->done = 0;
    b->any = b->started = false;
    if (node != MORTISE_START)
        look_before(b, node);
    else
        b->started = true;
}

bool mortise_before_may(struct mortise_before *b, uint32_t maker, uint32_t node)
{
    if (b->node != node)
        begin(b, node);
    while (b->mark[maker] != b->search && !b->any && b->budget > 0 &&
           b->done < b->n)
        look_before(b, b->queue[b->done++]);
    return b->mark[maker] == b->search || b->any || b->budget == 0 ||
           !b->started;
}
