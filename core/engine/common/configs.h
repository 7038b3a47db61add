/* configs.h -- what a deployment says of plugins, once it is known which there
 * are. */
#ifndef MORTISE_ENGINE_COMMON_CONFIGS_H
#define MORTISE_ENGINE_COMMON_CONFIGS_H

#include "lang/config/deploy.h"

struct mortise_manifest;
struct mortise_plugins;

/* Findings for configs that their plugin does not take, and (`all`) for
 * guardrails and models whose plugin cannot be used: nobody but who names them is
 * held up by that.  MORTISE_OK, MORTISE_ECHECK or MORTISE_ENOMEM.  [any] */
int mortise_configs_check(const struct mortise_deployment *d,
                          struct mortise_plugins *plugins, bool all,
                          struct mortise_diags *diags);

/* MORTISE_EINVAL when the deployment has no config for a plugin that does not
 * come up without one.  (One that it has is checked as it is read.)  [any] */
int mortise_configs_need(const struct mortise_deployment *d,
                         const struct mortise_manifest *m,
                         struct mortise_err *why);

/* Warnings about names of plugins in `plugins` that no plugin has, as what is
 * said there holds for nobody, about patterns of tools that fit none, and about
 * secrets of variables and files that are too short to be masked.  MORTISE_OK or MORTISE_ENOMEM.  [any] */
int mortise_configs_advise(const struct mortise_deployment *d,
                           struct mortise_plugins *plugins,
                           struct mortise_diags *diags);

#endif
