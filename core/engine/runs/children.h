/* children.h -- native children of runs: what they are (child_graph.c); how they
 * and their parents hear of each other is children.c's.  [loop] */
#ifndef MORTISE_ENGINE_RUNS_CHILDREN_H
#define MORTISE_ENGINE_RUNS_CHILDREN_H

#include "core/engine/common/engine.h"

/* The graph of a child of who asks at that node, which is a gmi node or a leaf: a
 * node that is told what to do by the run's input; `task` says the rest of it,
 * {result_schema?, message_schema?, seed?}.  MORTISE_ECHECK: what it is made
 * of does not stand by itself; the words have the findings. */
int mortise_child_graph(struct mortise_live *live,
                        const struct mortise_node *at, const char *name,
                        const json_t *task, struct mortise_graph **out,
                        struct mortise_err *err);

#endif
