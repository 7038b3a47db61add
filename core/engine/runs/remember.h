/* remember.h -- the deployment's memory is asked for somebody who is no run. */
#ifndef MORTISE_ENGINE_RUNS_REMEMBER_H
#define MORTISE_ENGINE_RUNS_REMEMBER_H

#include "core/engine/common/engine.h"
#include "core/plugin/kind.h"

/* Its answer, judged, lent; NULL: there is none, and why. */
typedef void mortise_memory_fn(void *ud, const json_t *answer,
                               const struct mortise_err *err);

/* Call read(), write() or forget() (`kind`) of the deployment's memory, for a
 * tenant.  `body` is the request without `tenant` and `now`; it is checked, and a
 * reference is kept.  `done` comes exactly once, maybe before this returns; the
 * engine that closes calls it, too.  What the plugin asks meanwhile costs nobody's
 * budget, and none of it is recorded.  [loop] */
void mortise_memory_ask(struct mortise *m, const char *tenant,
                        const struct mortise_call_kind *kind,
                        const json_t *body, mortise_memory_fn *done, void *ud);

#endif
