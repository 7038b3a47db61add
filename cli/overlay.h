/* overlay.h -- the state of a run's executions, for each node of its graph. */
#ifndef MORTISE_CLI_OVERLAY_H
#define MORTISE_CLI_OVERLAY_H

#include <jansson.h>

#include "core/base/mem.h"
#include "lang/draw/picture.h"

/* Make an entry for each node, including those of nested graphs; NULL: memory
 * ran out.  `show` is the reply to a `show` request and must outlive the
 * result. */
struct mortise_overlay *mortise_overlay_new(struct mortise_arena *a,
                                            const struct mortise_graph *g,
                                            const json_t *show);

#endif
