/* deploy_discovery.h -- `discovery` of a deployment: who is asked what a text is
 * about. */
#ifndef MORTISE_LANG_CONFIG_DEPLOY_DISCOVERY_H
#define MORTISE_LANG_CONFIG_DEPLOY_DISCOVERY_H

#include "lang/config/reading.h"
#include "lang/yaml/keys.h"

/* What the names of instances begin with, and what one that is a plugin's name
 * alone has ahead of that among a graph's `plugins`. */
#define MORTISE_DISCOVERY_PREFIX "discovery:"

struct mortise_discoverer {
    const char *plugin;
    /* Which instance of it: "discovery:1" with a config of its own, or "": it is
     * the plugin's name alone, with what plugins.config gives it. */
    const char *instance;
    const struct mortise_yaml *at;     /* the plugin's name, as written */
    const struct mortise_yaml *config; /* a map, or NULL: {} */
};

struct mortise_discoverers { /* in an arena, in the order in which they count */
    const struct mortise_discoverer *list;
    size_t n;
};

enum { MORTISE_DISCOVERERS_MAX = 16 };

/* What may stand in it; into a struct mortise_discoverers. */
extern const struct mortise_place mortise_discoverers_place;

/* The one that is that instance; NULL: none is. */
const struct mortise_discoverer *
mortise_discoverer_of_instance(const struct mortise_discoverers *all,
                               const char *instance);

#endif
