/* children.h -- the graphs of native children (child_graph.c).  children.c
 * notifies parents and children of each other.  [loop] */
#ifndef MORTISE_ENGINE_RUNS_CHILDREN_H
#define MORTISE_ENGINE_RUNS_CHILDREN_H

#include "core/engine/common/engine.h"

/* The graph for a child of the call at node `at`, which is a gmi node or a
 * leaf: one gmi node that takes its instructions from the run's input.  `task`
 * is {result_schema?, message_schema?, seed?}.  MORTISE_ECHECK: the generated
 * graph is not valid; the message has the findings. */
int mortise_child_make_graph(struct mortise_live *live,
                             const struct mortise_node *at, const char *name,
                             const json_t *task, struct mortise_graph **out,
                             struct mortise_err *err);

#endif
