/* overlay.h -- what of a graph ran: a run's executions, laid over the graph's
 * nodes. */
#ifndef MORTISE_CLI_OVERLAY_H
#define MORTISE_CLI_OVERLAY_H

#include <jansson.h>

#include "core/base/mem.h"
#include "lang/draw/picture.h"

/* An entry for each node, those of nested graphs included; NULL: no memory.
 * `show` is the answer to the request of that name, and outlives the result. */
struct mortise_overlay *mortise_overlay_new(struct mortise_arena *a,
                                            const struct mortise_graph *g,
                                            const json_t *show);

#endif
