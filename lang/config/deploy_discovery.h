/* deploy_discovery.h -- `discovery` of a deployment: the plugins that search
 * for nodes, tools and skills. */
#ifndef MORTISE_LANG_CONFIG_DEPLOY_DISCOVERY_H
#define MORTISE_LANG_CONFIG_DEPLOY_DISCOVERY_H

#include "core/engine/deployment.h"
#include "lang/config/reading.h"
#include "lang/yaml/keys.h"

struct mortise_discoverer {
    const char *plugin;
    /* "discovery:1" for an instance with its own configuration; "" for the
     * plugin itself, with the configuration from plugins.config. */
    const char *instance;
    const struct mortise_yaml *at;     /* the plugin's name, as written */
    const struct mortise_yaml *config; /* a map, or NULL: {} */
};

struct mortise_discoverers { /* in an arena, in order of precedence */
    const struct mortise_discoverer *list;
    size_t n;
};

/* The keys; reads into a struct mortise_discoverers. */
extern const struct mortise_place mortise_discoverers_place;

/* The entry with this instance; NULL: none. */
const struct mortise_discoverer *
mortise_discoverer_find(const struct mortise_discoverers *all,
                        const char *instance);

#endif
