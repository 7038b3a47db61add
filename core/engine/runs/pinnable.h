/* pinnable.h -- ask a discovery plugin for the entries that a lock file can
 * pin; for people. */
#ifndef MORTISE_ENGINE_RUNS_PINNABLE_H
#define MORTISE_ENGINE_RUNS_PINNABLE_H

#include "core/engine/common/engine.h"

/* {KEY: {digest, entry}}, lent; NULL: an error. */
typedef void mortise_pinnable_fn(void *ud, const json_t *entries,
                                 const struct mortise_err *err);

/* Ask every instance of the deployment's discovery plugin of that name, since a
 * lock file pins for all of them.  `done` is called exactly once, possibly
 * before this returns, and also by an engine that closes.  [loop] */
void mortise_pinnable_ask(struct mortise *m, const char *plugin,
                          mortise_pinnable_fn *done, void *ud);

#endif
