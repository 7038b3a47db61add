/* items.c -- looks up the items of a frame (struct item) by node, by region and
 * by edge. */
#include <assert.h>

#include "core/run/state/state.h"

/* Child regions are sorted by index: search them by halves. */
struct item *mortise_item_of_region(const struct frame *f, uint32_t region)
{
    const uint32_t *list = f->region->regions;
    uint32_t lo = 0, hi = f->region->n_regions - 1;

    assert(f->region->n_regions > 0);
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;

        if (list[mid] < region)
            lo = mid + 1;
        else
            hi = mid;
    }
    assert(list[lo] == region); /* the region is a child of f's region */
    return &f->items[f->region->n_nodes + lo];
}

struct item *mortise_item_find_target(const struct frame *f, uint32_t node,
                                      const struct mortise_region **child)
{
    const struct mortise_region *all = f->graph->regions;
    uint32_t at = f->graph->nodes[node].region;

    assert(node < f->graph->n_nodes);
    *child = NULL;
    if (at == f->region->index)
        return mortise_item_of(f, node);
    while (all[at].parent != f->region->index)
        at = all[at].parent;
    *child = &all[at];
    return mortise_item_of_region(f, at);
}

struct item *mortise_item_find_source(const struct frame *f, uint32_t edge,
                                      const struct mortise_region **child)
{
    return mortise_item_find_target(f, mortise_frame_edge(f, edge)->from,
                                    child);
}

/* Go to the newest visit of each loop around the node, as far as it has
 * frames. */
const struct item *
mortise_frame_find_newest_item(const struct frame *f, uint32_t node,
                               const struct mortise_region **child)
{
    const struct item *it = mortise_item_find_target(f, node, child);

    while (*child != NULL && it->visit != NULL) {
        f = it->visit;
        it = mortise_item_find_target(f, node, child);
    }
    return it;
}

uint32_t mortise_frame_count_visits(const struct frame *f, uint32_t node)
{
    const struct mortise_region *child;
    const struct item *it = mortise_frame_find_newest_item(f, node, &child);

    return child == NULL ? it->visits : 0;
}
