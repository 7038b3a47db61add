/* refitem.c -- items: what a node or a region is, seen from a frame.
 *
 * From a region around it a node is itself, or (100 and more) the region within
 * that has it.
 */
#include "lib/refrun.h"

static const struct ref_join plain_join;

/* What a node is, seen from a region around it: itself, or (100 and more) the
 * region within that has it. */
int ref_item_of(const struct ref_graph *g, int region, int node)
{
    int in = g->nodes[node].region;

    if (in == region)
        return node;
    while (g->regions[in].parent != region)
        in = g->regions[in].parent;
    return 100 + in;
}

bool ref_is_home(const struct ref_graph *g, int region, int edge)
{
    return g->edges[edge].home == region;
}

int ref_source_item(const struct ref_graph *g, int edge)
{
    const struct ref_edge *e = &g->edges[edge];

    if (e->kind == REF_GATHER)
        return 100 + e->map;
    return e->from == REF_START ? REF_START : ref_item_of(g, e->home, e->from);
}

/* -1: it leads to no item of its home. */
int ref_target_item(const struct ref_graph *g, int edge)
{
    const struct ref_edge *e = &g->edges[edge];

    return e->to < 0 || e->back || e->yields ? -1
                                             : ref_item_of(g, e->home, e->to);
}

bool ref_is_item(const struct ref_graph *g, int region, int item)
{
    if (item < 100)
        return item < g->n && g->nodes[item].region == region;
    return item > 100 && item - 100 < g->n_regions &&
           g->regions[item - 100].parent == region;
}

const struct ref_join *ref_join_of(const struct ref_graph *g, int item)
{
    if (item < 100)
        return &g->nodes[item].join;
    if (g->regions[item - 100].kind == REF_BODY)
        return &plain_join; /* its map edge alone leads to it */
    return &g->nodes[g->regions[item - 100].entry].join;
}

uint8_t *ref_item_state(struct ref_frame *f, int item)
{
    return item < 100 ? &f->nodes[item] : &f->regions[item - 100];
}

/* Is frame `in` the frame `of`, or inside it? */
bool ref_is_within(const struct ref_run *r, int in, int of)
{
    while (in > of)
        in = r->frames[in].parent;
    return in == of;
}

/* Is `at` a frame of this item of `frame`, or inside one? */
bool ref_is_frame_in_item(const struct ref_run *r, int at, int frame, int item)
{
    if (!ref_is_within(r, at, frame) || at == frame)
        return false;
    while (r->frames[at].parent != frame)
        at = r->frames[at].parent;
    return r->frames[at].region == item - 100;
}

/* Of its frame. */
int ref_exec_item(const struct ref_exec *x)
{
    return x->gather != 0 ? 100 + x->gather : x->node;
}

bool ref_is_in_item(const struct ref_run *r, const struct ref_exec *x,
                    int frame, int item)
{
    if (x->frame == frame)
        return item == ref_exec_item(x);
    return item >= 100 && ref_is_frame_in_item(r, x->frame, frame, item);
}

/* The frame around (or at) `at` in which a region's edges are. */
int ref_frame_of(const struct ref_run *r, int at, int region)
{
    while (r->frames[at].region != region)
        at = r->frames[at].parent;
    return at;
}
