/* former.h -- the earlier graphs of a run whose graph was changed (steered). */
#ifndef MORTISE_MODEL_FORMER_H
#define MORTISE_MODEL_FORMER_H

#include "core/model/graph.h"

/* A run can be steered this many times: each graph pins all earlier ones. */
enum { MORTISE_PREDECESSORS_MAX = 64 };

/* Make `g`, which was just loaded and is not yet shared, the successor of
 * `former`.  Its digest and its sources then cover both, and it holds a
 * reference.  MORTISE_ELIMIT: there are too many earlier graphs. */
int mortise_graph_set_predecessor(struct mortise_graph *g,
                                  struct mortise_graph *former,
                                  struct mortise_err *err);
/* The number of the graph's own sources.  The next source, if any, is a mark
 * before the sources of the earlier graph. */
size_t mortise_graph_count_own_sources(const struct mortise_source *files,
                                       size_t n);
/* The first graph, with which the run began. */
struct mortise_graph *mortise_graph_get_first(struct mortise_graph *g);

#endif
