/* bring_up.h -- plugins that come up, for `mortise check --plugins`. */
#ifndef MORTISE_CLI_BRING_UP_H
#define MORTISE_CLI_BRING_UP_H

#include "cli/cli.h"
#include "lang/config/deploy.h"
#include "core/model/graph.h"
#include "core/plugin/registry.h"

enum { MORTISE_BRING_UP_MS = 10000 }; /* a plugin has that long */

/* Bring up what a graph uses, with the cli's deployment, which is `d`.  Those that
 * do not come up are findings, where the deployment configures them or else at the
 * first node that needs them, and MORTISE_ECHECK.  No engine may be open in this
 * process. */
int mortise_bring_up(struct mortise_cli *cli,
                     const struct mortise_deployment *d,
                     const struct mortise_graph *g, struct mortise_diags *diags,
                     struct mortise_err *err);
/* The same for all that the deployment configures: each guardrail, memory,
 * discovery plugin and model, and the executors and guardrails of plugins.config,
 * tools.mcp and `executors`. */
int mortise_bring_up_deployment(struct mortise_cli *cli,
                                const struct mortise_deployment *d,
                                struct mortise_plugins *plugins,
                                struct mortise_diags *diags,
                                struct mortise_err *err);
/* The same for the memory alone, with the traces that it has in (or for) this store.
 * `words`: why it does not come up, or "". */
int mortise_bring_up_memory(struct mortise_cli *cli, const char *store,
                            char *words, size_t size, struct mortise_err *err);

#endif
