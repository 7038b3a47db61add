/* links.c -- the edges that leave each node, and those that lead to it.
 *
 * The lists of all nodes are slices of one array. */
#include "core/model/structure.h"

static void set_out_edges(struct mortise_graph *g, uint32_t *room)
{
    for (uint32_t i = 0; i < g->n_edges; i++) {
        if (g->edges[i].from == MORTISE_START)
            g->n_start++;
        else
            g->nodes[g->edges[i].from].n_out++;
    }
    g->start = room;
    room += g->n_start;
    g->n_start = 0;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        g->nodes[i].out = room;
        room += g->nodes[i].n_out;
        g->nodes[i].n_out = 0;
    }
    for (uint32_t i = 0; i < g->n_edges; i++) {
        struct mortise_node *node = &g->nodes[g->edges[i].from];

        if (g->edges[i].from == MORTISE_START)
            g->start[g->n_start++] = i;
        else
            node->out[node->n_out++] = i;
    }
}

int mortise_graph_link_out(struct mortise_graph *g, struct mortise_arena *a)
{
    uint32_t *room = mortise_arena_alloc(a, g->n_edges * sizeof *room);

    if (room == NULL)
        return MORTISE_ENOMEM;
    set_out_edges(g, room);
    return MORTISE_OK;
}

static bool is_in_edge(const struct mortise_edge *e)
{
    return e->to != MORTISE_END && !e->yields;
}

static void add_in_edges_of_kind(struct mortise_graph *g, bool back)
{
    for (uint32_t i = 0; i < g->n_edges; i++) {
        const struct mortise_edge *e = &g->edges[i];
        struct mortise_node *to;

        if (!is_in_edge(e) || e->back != back)
            continue;
        to = &g->nodes[e->to];
        to->in[to->n_in + to->n_back_in] = i;
        if (back)
            to->n_back_in++;
        else
            to->n_in++;
    }
}

int mortise_graph_link_in(struct mortise_graph *g, struct mortise_arena *a)
{
    uint32_t *room = mortise_arena_alloc(a, g->n_edges * sizeof *room);

    if (room == NULL)
        return MORTISE_ENOMEM;
    for (uint32_t i = 0; i < g->n_edges; i++)
        if (is_in_edge(&g->edges[i]))
            g->nodes[g->edges[i].to].n_in++;
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        g->nodes[i].in = room;
        room += g->nodes[i].n_in;
        g->nodes[i].n_in = 0;
    }
    add_in_edges_of_kind(g, false);
    add_in_edges_of_kind(g, true);
    return MORTISE_OK;
}
