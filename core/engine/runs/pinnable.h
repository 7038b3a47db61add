/* pinnable.h -- what a discovery plugin has that a lock pins, for people. */
#ifndef MORTISE_ENGINE_RUNS_PINNABLE_H
#define MORTISE_ENGINE_RUNS_PINNABLE_H

#include "core/engine/common/engine.h"

/* {KEY: {digest, entry}}, lent; NULL: there is none, and why. */
typedef void mortise_pinnable_fn(void *ud, const json_t *entries,
                                 const struct mortise_err *err);

/* Ask the deployment's discovery plugin of that name, each of its instances: a
 * lock pins for all of them.  `done` comes exactly once, maybe before this
 * returns; the engine that closes calls it, too.  [loop] */
void mortise_pinnable_ask(struct mortise *m, const char *plugin,
                          mortise_pinnable_fn *done, void *ud);

#endif
