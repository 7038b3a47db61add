/* bring_up.h -- start plugins on trial, for `mortise check --plugins`. */
#ifndef MORTISE_CLI_BRING_UP_H
#define MORTISE_CLI_BRING_UP_H

#include "cli/cli.h"
#include "lang/config/deploy.h"
#include "core/model/graph.h"
#include "core/plugin/registry.h"

enum { MORTISE_BRING_UP_MS = 10000 }; /* time limit for one plugin */

/* Start the plugins that a graph uses, with the cli's deployment, which is
 * `d`. A plugin that does not start is a finding and MORTISE_ECHECK.  The
 * finding is where the deployment configures the plugin, or else at the first
 * node that needs it.  No engine may be open in this process. */
int mortise_try_graph_plugins(struct mortise_cli *cli,
                              const struct mortise_deployment *d,
                              const struct mortise_graph *g,
                              struct mortise_diags *diags,
                              struct mortise_err *err);
/* The same for all plugins that the deployment configures: each guardrail,
 * memory, discovery plugin and model, and the executors and guardrails of
 * plugins.config, tools.mcp and `executors`. */
int mortise_bring_up_deployment(struct mortise_cli *cli,
                                const struct mortise_deployment *d,
                                struct mortise_plugins *plugins,
                                struct mortise_diags *diags,
                                struct mortise_err *err);
/* The same for the memory alone, with the traces of this store.  `words`: why
 * it does not start, or "". */
int mortise_bring_up_memory(struct mortise_cli *cli, const char *store,
                            char *words, size_t size, struct mortise_err *err);

#endif
