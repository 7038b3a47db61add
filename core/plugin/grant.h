/* grant.h -- the values of a plugin's permissions in a deployment.  [any] */
#ifndef MORTISE_PLUGIN_GRANT_H
#define MORTISE_PLUGIN_GRANT_H

#include <jansson.h>

#include "core/plugin/manifest.h"

struct mortise_grant_value {
    const char *value; /* lent by the manifest or the config */
    const char *says;  /* as in the manifest: the value, or "config:PATH" */
};

struct mortise_grant {
    const struct mortise_grant_value *list;
    size_t n;
};

/* The PATH of a permission "config:PATH"; NULL for any other permission. */
const char *mortise_grant_get_config_path(const char *permission);

/* Resolve one permission list of the manifest.  `config` is the deployment's
 * config of the plugin.  A PATH without a value grants nothing.  A value that
 * is neither a string nor a list of strings is MORTISE_ECONFIG.  The list is in
 * the arena. */
int mortise_grant_resolve(struct mortise_grant *out, struct mortise_arena *a,
                          const struct mortise_names *permission,
                          const json_t *config, struct mortise_err *err);

#endif
