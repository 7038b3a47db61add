/* deploy_memory.h -- `memory` of a deployment: the plugin that stores
 * traces. */
#ifndef MORTISE_LANG_CONFIG_DEPLOY_MEMORY_H
#define MORTISE_LANG_CONFIG_DEPLOY_MEMORY_H

#include "core/plugin/registry.h"
#include "lang/config/reading.h"
#include "lang/yaml/keys.h"

struct mortise_memory_choice {
    const char *plugin;                /* the name; NULL: there is no memory */
    const struct mortise_yaml *at;     /* the plugin's name, as written */
    const struct mortise_yaml *config; /* a map, or NULL: {} */
};

/* The keys; reads into a struct mortise_memory_choice. */
extern const struct mortise_place mortise_memory_place;

#endif
