/* deploy_memory.h -- `memory` of a deployment: the plugin that keeps traces. */
#ifndef MORTISE_LANG_CONFIG_DEPLOY_MEMORY_H
#define MORTISE_LANG_CONFIG_DEPLOY_MEMORY_H

#include "lang/config/reading.h"
#include "lang/yaml/keys.h"

/* Which of its plugin's instances it is, and what it is called among a graph's
 * `plugins`. */
#define MORTISE_MEMORY_INSTANCE "memory:"

struct mortise_memory_choice {
    const char *plugin;                /* its name; NULL: there is no memory */
    const struct mortise_yaml *at;     /* the plugin's name, as written */
    const struct mortise_yaml *config; /* a map, or NULL: {} */
};

/* What may stand in it; into a struct mortise_memory_choice. */
extern const struct mortise_place mortise_memory_place;

#endif
