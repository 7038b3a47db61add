/* region.c -- what is nested in a graph, and what belongs to it.
 *
 * Without loops and maps that is the graph itself, region 0: all its nodes and
 * edges, in declared order.
 */
#include "graph/loader.h"

/* 0, 1, 2 ... */
static uint32_t *count_up(struct mortise_loader *ld, uint32_t n)
{
    uint32_t *list = mortise_load_alloc(ld, n * sizeof *list);

    for (uint32_t i = 0; i < n && list != NULL; i++)
        list[i] = i;
    return list;
}

void mortise_load_regions(struct mortise_loader *ld)
{
    struct mortise_graph *g = ld->g;
    struct mortise_region *all = mortise_load_alloc(ld, sizeof *all);

    if (all == NULL)
        return;
    all->kind = MORTISE_REGION_GRAPH;
    all->entry = MORTISE_START;
    all->nodes = count_up(ld, g->n_nodes);
    all->n_nodes = g->n_nodes;
    all->edges = count_up(ld, g->n_edges);
    all->n_edges = g->n_edges;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        g->nodes[i].slot = i;
    for (uint32_t i = 0; i < g->n_edges; i++)
        g->edges[i].slot = i;
    g->regions = all;
    g->n_regions = 1;
}
