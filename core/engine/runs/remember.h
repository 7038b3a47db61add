/* remember.h -- call the deployment's memory plugin without a run. */
#ifndef MORTISE_ENGINE_RUNS_REMEMBER_H
#define MORTISE_ENGINE_RUNS_REMEMBER_H

#include "core/engine/common/engine.h"
#include "core/plugin/kind.h"

/* The checked answer, lent; NULL: an error. */
typedef void mortise_memory_fn(void *ud, const json_t *answer,
                               const struct mortise_err *err);

/* Call read(), write() or forget() (`kind`) of the memory plugin for a tenant.
 * `body` is the request without `tenant` and `now`; it is checked, and a
 * reference is kept.  `done` is called exactly once, possibly before this
 * returns, and also by an engine that closes.  The plugin's asks meanwhile use
 * no budget and are not recorded.  [loop] */
void mortise_memory_call_plugin(struct mortise *m, const char *tenant,
                                const struct mortise_call_kind *kind,
                                const json_t *body, mortise_memory_fn *done,
                                void *ud);

#endif
