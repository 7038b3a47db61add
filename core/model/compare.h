/* compare.h -- comparing the nodes of two graphs.
 *
 * The core declares this function, and lang/graph/ defines it. */
#ifndef MORTISE_MODEL_COMPARE_H
#define MORTISE_MODEL_COMPARE_H

#include "core/model/graph.h"

/* Are the two nodes, which have the same id, written equally?  `shell`: ignore
 * the graphs inside them.  MORTISE_OK or MORTISE_ENOMEM. */
int mortise_graph_compare_nodes(const struct mortise_graph *a,
                                const struct mortise_node *n,
                                const struct mortise_graph *b,
                                const struct mortise_node *m, bool shell,
                                bool *same, struct mortise_err *err);

#endif
