/* known.c -- the writes of the nodes of a graph, sorted by path. */
#include "lang/graph/check/names.h"

#include <stdlib.h>
#include <string.h>

static int compare_write_paths(const void *pa, const void *pb)
{
    const struct mortise_declared_write *a = pa, *b = pb;
    int c = mortise_path_compare(a->path, b->path);

    return c != 0 ? c : (a->node > b->node) - (a->node < b->node);
}

/* The results of a map are written at its join, outside the body. */
static uint32_t get_owner_body(const struct mortise_loader *ld,
                               const struct mortise_declared_write *w)
{
    uint32_t map = ld->body[w->node];

    return map != 0 && mortise_graph_is_element_path(ld->g, w->path)
               ? 1 + ld->g->regions[map].entry
               : 0;
}

const struct mortise_write_index *
mortise_write_index_new(struct mortise_loader *ld)
{
    struct mortise_write_index *k = mortise_load_alloc(ld, sizeof *k);
    struct mortise_declared_write *writes =
        mortise_load_alloc(ld, (ld->n_writes + 1) * sizeof *writes);

    if (ld->nomem)
        return NULL;
    for (size_t i = 0; i < ld->n_writes; i++)
        if (!ld->writes[i].in_place) {
            writes[k->n] = ld->writes[i];
            writes[k->n++].own_of = get_owner_body(ld, &ld->writes[i]);
        }
    qsort(writes, k->n, sizeof *writes, compare_write_paths);
    k->writes = writes;
    k->g = ld->g;
    k->output_of = ld->output_of;
    k->known_of = ld->known_of;
    k->body = ld->body;
    return k;
}

/* Compare the step at `depth` of a write with a key.  Shorter paths come first,
 * then steps with an index. */
static int compare_write_step(const struct mortise_declared_write *w,
                              size_t depth, const char *key)
{
    if (w->path->n <= depth || w->path->steps[depth].key == NULL)
        return -1;
    return strcmp(w->path->steps[depth].key, key);
}

/* The first write in [lo, hi) that compares as `least` or greater. */
static size_t find_first_write(const struct mortise_write_index *k,
                               struct mortise_write_range of, size_t depth,
                               const char *key, int least)
{
    while (of.lo < of.hi) {
        size_t mid = of.lo + (of.hi - of.lo) / 2;
        int c = compare_write_step(&k->writes[mid], depth, key);

        if ((c > 0) - (c < 0) < least)
            of.lo = mid + 1;
        else
            of.hi = mid;
    }
    return of.lo;
}

struct mortise_write_range
mortise_write_index_find_below(const struct mortise_write_index *k,
                               struct mortise_write_range of, size_t depth,
                               const char *key)
{
    return (struct mortise_write_range){find_first_write(k, of, depth, key, 0),
                                        find_first_write(k, of, depth, key, 1)};
}

bool mortise_write_index_is_visible(const struct mortise_loader *ld,
                                    const struct mortise_write_index *k,
                                    const struct mortise_declared_write *w,
                                    uint32_t node)
{
    uint32_t at = node < ld->g->n_nodes ? ld->body[node] : 0;

    if (w->own_of == 0 || node == MORTISE_NOWHERE)
        return true;
    if (k != ld->known) /* the end of an inner graph is outside all its maps */
        return false;
    while (at != 0 && 1 + ld->g->regions[at].entry != w->own_of)
        at = ld->g->regions[at].parent;
    return at != 0;
}

const char *
mortise_write_index_find_nearest(const struct mortise_write_index *k,
                                 struct mortise_write_range of, size_t depth,
                                 const char *name, const char *best)
{
    for (size_t i = of.lo; i < of.hi; i++) {
        const struct mortise_path *path = k->writes[i].path;
        const char *two[2] = {best, NULL};

        if (path->n <= depth)
            continue;
        two[1] = path->steps[depth].key;
        best = mortise_nearest_find(name, two, 2);
    }
    return best;
}
