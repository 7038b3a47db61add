/* structure.h -- everything that follows from the nodes and edges of a graph:
 * the edges of each node, the regions, and the postdominators of their items.
 *
 * A loader fills in `nodes` and `edges` of a graph, then calls these functions
 * in this order.  They allocate in the arena `a`, which must live as long as the
 * graph.  Each returns MORTISE_OK or MORTISE_ENOMEM; mortise_graph_find_regions()
 * can also return MORTISE_EINVAL.
 */
#ifndef MORTISE_MODEL_STRUCTURE_H
#define MORTISE_MODEL_STRUCTURE_H

#include "core/model/graph.h"

/* Prepare mortise_graph_find_node().  Only the nodes' ids are needed. */
int mortise_graph_sort_nodes(struct mortise_graph *g, struct mortise_arena *a);

/* Give the graph and each node the edges that leave it: `start`, `out`. */
int mortise_graph_link_out(struct mortise_graph *g, struct mortise_arena *a);

/* The bodies of the maps, with regions[0] for the graph and regions[1..n_maps]
 * for the maps. */
struct mortise_bodies {
    uint32_t n_maps;
    const uint32_t *body; /* node -> the innermost map with it; 0: none */
};

/* Callbacks for graphs that cannot be divided into regions. */
struct mortise_region_faults {
    void *ud;
    /* The loop of these nodes is entered at `first` and at `second`, which the
     * edge leads to.  The list is lent. */
    void (*two_entries)(void *ud, const uint32_t *nodes, uint32_t n,
                        uint32_t first, uint32_t second, uint32_t edge);
    /* The region with this entry is nested deeper than MORTISE_MAX_REGIONS. */
    void (*too_deep)(void *ud, uint32_t entry);
};

/* Find the regions, and the home of each edge.  Every node must be reachable
 * from START.  MORTISE_EINVAL: at least one fault was reported. */
int mortise_graph_find_regions(struct mortise_graph *g, struct mortise_arena *a,
                               const struct mortise_bodies *bodies,
                               const struct mortise_region_faults *faults);

/* Give each node the edges that lead to it: `in`, back edges last. */
int mortise_graph_link_in(struct mortise_graph *g, struct mortise_arena *a);

/* Find the nodes that every path must pass, in regions with a join that can
 * start before all its edges are decided. */
int mortise_graph_find_postdominators(struct mortise_graph *g,
                                      struct mortise_arena *a);

#endif
