/* pinned.h -- the files of a graph as they were when a run began. */
#ifndef MORTISE_MODEL_PINNED_H
#define MORTISE_MODEL_PINNED_H

#include "core/base/source.h"
#include "core/model/catalog.h"

/* The graph's own file comes first; borrowed. */
struct mortise_pinned_graph {
    const struct mortise_source *files;
    size_t n;
};

/* Files that are read from these sources only.  This does not mark the graph as
 * the one of a run (`pinned`).  Borrows `p`. */
struct mortise_graph_files
mortise_pinned_graph_get_files(const struct mortise_pinned_graph *p);

#endif
