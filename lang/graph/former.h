/* former.h -- graphs that a run was steered to: what each one stands behind. */
#ifndef MORTISE_LANG_GRAPH_FORMER_H
#define MORTISE_LANG_GRAPH_FORMER_H

#include "core/model/graph.h"

/* So often may one run be steered: each graph pins all those before it. */
enum { MORTISE_MAX_FORMERS = 64 };

/* g, which was just loaded and is nobody else's yet, is what a run of `former` is
 * steered to: its digest and its sources are those of both, and it holds a
 * reference.  MORTISE_ELIMIT: there are too many behind it. */
int mortise_graph_follow(struct mortise_graph *g, struct mortise_graph *former,
                         struct mortise_err *err);
/* Of the sources of a graph, how many are its own: those of its former stand
 * behind the one that comes then, if any. */
size_t mortise_graph_own_sources(const struct mortise_source *files, size_t n);
/* The first of them, with which a run begins. */
struct mortise_graph *mortise_graph_origin(struct mortise_graph *g);

#endif
