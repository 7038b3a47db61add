/* items.c -- finding things in a frame: its edges, and what it knows of each
 * node and region in it (struct item). */
#include <assert.h>

#include "run/state/state.h"

const struct mortise_edge *mortise_frame_edge(const struct frame *f, uint32_t e)
{
    return &f->graph->edges[e];
}

/* The frame around f, or f itself, of that region. */
struct frame *mortise_frame_around(struct frame *f, uint32_t region)
{
    while (f->region->index != region)
        f = f->parent; /* the graph's holds everything */
    return f;
}

size_t mortise_frame_n_items(const struct mortise_region *region)
{
    return (size_t)region->n_nodes + region->n_regions;
}

/* A child region's item: they stand by index. */
struct item *mortise_item_of_region(const struct frame *f, uint32_t region)
{
    const uint32_t *list = f->region->regions;
    uint32_t lo = 0, hi = f->region->n_regions - 1;

    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (list[mid] < region)
            lo = mid + 1;
        else
            hi = mid;
    }
    assert(list[lo] == region); /* it is a child of f's */
    return &f->items[f->region->n_nodes + lo];
}

struct item *mortise_item_of(const struct frame *f, uint32_t node)
{
    assert(f->graph->nodes[node].region == f->region->index);
    return &f->items[f->graph->nodes[node].slot];
}

struct item *mortise_item_to(const struct frame *f, uint32_t node,
                             const struct mortise_region **child)
{
    const struct mortise_region *all = f->graph->regions;
    uint32_t at = f->graph->nodes[node].region;

    *child = NULL;
    if (at == f->region->index)
        return mortise_item_of(f, node);
    while (all[at].parent != f->region->index)
        at = all[at].parent;
    *child = &all[at];
    return mortise_item_of_region(f, at);
}

struct item *mortise_item_from(const struct frame *f, uint32_t edge,
                               const struct mortise_region **child)
{
    return mortise_item_to(f, mortise_frame_edge(f, edge)->from, child);
}

struct frame *mortise_frame_home(struct frame *f, uint32_t edge)
{
    return mortise_frame_around(f, mortise_frame_edge(f, edge)->home);
}

/* A node's item, as far inside as frames go. */
const struct item *mortise_frame_innermost(const struct frame *f, uint32_t node,
                                           const struct mortise_region **child)
{
    const struct item *it = mortise_item_to(f, node, child);

    while (*child != NULL && it->visit != NULL) {
        f = it->visit;
        it = mortise_item_to(f, node, child);
    }
    return it;
}

uint32_t mortise_frame_visits(const struct frame *f, uint32_t node)
{
    const struct mortise_region *child;
    const struct item *it = mortise_frame_innermost(f, node, &child);

    return child == NULL ? it->visits : 0;
}
