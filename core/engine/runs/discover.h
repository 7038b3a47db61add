/* discover.h -- the deployment's discovery plugins are asked, all of them, and
 * what they found is made one list.  [loop] */
#ifndef MORTISE_ENGINE_RUNS_DISCOVER_H
#define MORTISE_ENGINE_RUNS_DISCOVER_H

#include "core/engine/runs/call.h"

struct mortise_looking;

/* What was found, {results, failed?} (taken): `failed` lists the plugins that
 * gave no answer, {plugin, code, message} each; `nobody` (or NULL) says that none
 * gave one, of those that there are.  `found` NULL: memory ran out. */
typedef void mortise_looked_fn(void *ud, json_t *found, const char *nobody);

/* Ask them for a call of a run, which stays until `done` (exactly once, maybe
 * before this returns) or _stop().  `request` is {query, kind, max, tokens,
 * candidates}, whole and right; a reference is kept.  NULL: it is over already. */
struct mortise_looking *mortise_look(struct mortise_ongoing *by,
                                     json_t *request, mortise_looked_fn *done,
                                     void *ud);
/* Nobody waits for it any more. */
void mortise_look_stop(struct mortise_looking *l);

/* A call of the run's own that is nothing but that, its body the request (a row of
 * begins.c): it ends with {results, failed?} as its output, or, where nobody
 * answered, as failed.  A deployment without discovery finds nothing.  Cancelling
 * it stops all of them. */
void mortise_look_for_run(struct mortise_ongoing *c,
                          const struct mortise_run_call *rc);

#endif
