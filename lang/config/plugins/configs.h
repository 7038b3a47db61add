/* configs.h -- check a deployment's plugin configs against the installed
 * plugins. */
#ifndef MORTISE_LANG_CONFIG_PLUGINS_CONFIGS_H
#define MORTISE_LANG_CONFIG_PLUGINS_CONFIGS_H

#include "lang/config/deploy.h"

struct mortise_manifest;
struct mortise_plugins;

/* Add findings for configs that their plugin rejects and, if `all`, for
 * guardrails and models whose plugin cannot be used: those block only graphs
 * that name them.  MORTISE_OK, MORTISE_ECHECK or MORTISE_ENOMEM.  [any] */
int mortise_configs_check(const struct mortise_deployment *d,
                          struct mortise_plugins *plugins, bool all,
                          struct mortise_diags *diags);

/* MORTISE_EINVAL if the deployment has no config for a plugin that does not
 * start without one.  A config that exists is checked by
 * mortise_configs_check().  [any] */
int mortise_configs_require(const struct mortise_deployment *d,
                            const struct mortise_manifest *m,
                            struct mortise_err *why);

/* Add warnings about names in `plugins` that no plugin has, so that their entry
 * has no effect, about tool patterns that match nothing, and about secrets in
 * variables and files that are too short to be masked.  MORTISE_OK or
 * MORTISE_ENOMEM.  [any] */
int mortise_configs_warn(const struct mortise_deployment *d,
                         struct mortise_plugins *plugins,
                         struct mortise_diags *diags);

#endif
