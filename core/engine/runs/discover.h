/* discover.h -- ask all discovery plugins of the deployment, and merge their
 * answers.  [loop] */
#ifndef MORTISE_ENGINE_RUNS_DISCOVER_H
#define MORTISE_ENGINE_RUNS_DISCOVER_H

#include "core/engine/runs/call.h"

struct mortise_discovery_search;

/* `found` is {results, failed?} (taken); `failed` lists the plugins without an
 * answer as {plugin, code, message}.  NULL: out of memory.  `nobody`: a message
 * if there are plugins and none answered, else NULL. */
typedef void mortise_discovery_done_fn(void *ud, json_t *found,
                                       const char *nobody);

/* Ask for a call of a run.  The call stays in flight until `done` (called
 * exactly once, possibly before this returns) or mortise_discovery_cancel().
 * `request` is a valid {query, kind, max, tokens, candidates}; a reference is
 * kept.  Returns NULL if `done` was already called. */
struct mortise_discovery_search *
mortise_discovery_start(struct mortise_plugin_call *by, json_t *request,
                        mortise_discovery_done_fn *done, void *ud);
/* Cancel it; `done` is not called. */
void mortise_discovery_cancel(struct mortise_discovery_search *l);

/* Serve a DISCOVER call of a run (a row of begins.c); its body is the request.
 * It ends with {results, failed?} as output, or fails if no plugin answered.  A
 * deployment without discovery plugins finds nothing.  Cancelling the call
 * stops all plugin calls. */
void mortise_discovery_attach_run(struct mortise_plugin_call *c,
                                  const struct mortise_run_call *rc);

#endif
