/* instance_config.h -- the config that create() of a plugin gets.  [loop] */
#ifndef MORTISE_ENGINE_COMMON_INSTANCE_CONFIG_H
#define MORTISE_ENGINE_COMMON_INSTANCE_CONFIG_H

#include <jansson.h>

struct mortise;
struct mortise_err;

/* The config of a plugin with references replaced by values, for create() only;
 * a new reference.  A config that the deployment composes keeps its references.
 * May wait for programs. */
int mortise_secret_make_config(struct mortise *m, const char *plugin,
                               const char *as, json_t **out,
                               struct mortise_err *err);

#endif
