/* grant.h -- what a plugin's permissions come to in a deployment.  [any] */
#ifndef MORTISE_PLUGIN_GRANT_H
#define MORTISE_PLUGIN_GRANT_H

#include <jansson.h>

#include "core/plugin/manifest.h"

struct mortise_granted {
    const char *value; /* lent by the manifest or the config */
    const char *says;  /* the manifest: the same, or "config:PATH" */
};

struct mortise_grant {
    const struct mortise_granted *list;
    size_t n;
};

/* The PATH of a permission "config:PATH"; NULL: it is another one. */
const char *mortise_grant_config(const char *permission);

/* `permission` is one list of the manifest's; config, the deployment's value
 * for the plugin.  A PATH that leads nowhere grants nothing; what is no string
 * there, nor a list of strings, is MORTISE_ECONFIG.  The list is in the
 * arena. */
int mortise_grant_make(struct mortise_grant *out, struct mortise_arena *a,
                       const struct mortise_names *permission,
                       const json_t *config, struct mortise_err *err);

#endif
