/* pinned.h -- the files of a graph as they were when a run began. */
#ifndef MORTISE_LANG_GRAPH_PINNED_H
#define MORTISE_LANG_GRAPH_PINNED_H

#include "core/base/source.h"
#include "core/model/catalog.h"

/* The graph's own first; lent. */
struct mortise_pinned {
    const struct mortise_source *files;
    size_t n;
};

/* Where a graph finds what it names: there and nowhere else.  It is not said that a
 * run of it has begun (`pinned`).  Lends `p`. */
struct mortise_graph_files mortise_pinned_files(const struct mortise_pinned *p);

#endif
