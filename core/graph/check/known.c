/* known.c -- what the nodes of a graph write, by path. */
#include "graph/check/names.h"

#include <stdlib.h>
#include <string.h>

static int by_path(const void *pa, const void *pb)
{
    const struct mortise_declared *a = pa, *b = pb;
    int c = mortise_path_compare(a->path, b->path);

    return c != 0 ? c : (a->node > b->node) - (a->node < b->node);
}

const struct mortise_known *mortise_known_new(struct mortise_loader *ld)
{
    struct mortise_known *k = mortise_load_alloc(ld, sizeof *k);
    struct mortise_declared *writes =
        mortise_load_alloc(ld, (ld->n_writes + 1) * sizeof *writes);

    if (ld->nomem)
        return NULL;
    for (size_t i = 0; i < ld->n_writes; i++)
        if (!ld->writes[i].in_place)
            writes[k->n++] = ld->writes[i];
    qsort(writes, k->n, sizeof *writes, by_path);
    k->writes = writes;
    k->g = ld->g;
    k->output_of = ld->output_of;
    k->known_of = ld->known_of;
    return k;
}

/* How the step of a write behind `depth` others stands to a name: those that end
 * before it come first, then those with an index. */
static int stands(const struct mortise_declared *w, size_t depth,
                  const char *key)
{
    if (w->path->n <= depth || w->path->steps[depth].key == NULL)
        return -1;
    return strcmp(w->path->steps[depth].key, key);
}

/* The first write of [lo, hi) that stands at `least` or behind it. */
static size_t first(const struct mortise_known *k, struct mortise_writes of,
                    size_t depth, const char *key, int least)
{
    while (of.lo < of.hi) {
        size_t mid = of.lo + (of.hi - of.lo) / 2;
        int c = stands(&k->writes[mid], depth, key);

        if ((c > 0) - (c < 0) < least)
            of.lo = mid + 1;
        else
            of.hi = mid;
    }
    return of.lo;
}

struct mortise_writes mortise_known_below(const struct mortise_known *k,
                                          struct mortise_writes of,
                                          size_t depth, const char *key)
{
    return (struct mortise_writes){first(k, of, depth, key, 0),
                                   first(k, of, depth, key, 1)};
}

const char *mortise_known_nearest(const struct mortise_known *k,
                                  struct mortise_writes of, size_t depth,
                                  const char *name, const char *best)
{
    for (size_t i = of.lo; i < of.hi; i++) {
        const struct mortise_path *path = k->writes[i].path;
        const char *two[2] = {best, NULL};

        if (path->n <= depth)
            continue;
        two[1] = path->steps[depth].key;
        best = mortise_nearest(name, two, 2);
    }
    return best;
}
