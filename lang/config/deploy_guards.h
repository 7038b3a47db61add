/* deploy_guards.h -- the key `guardrails` of a deployment: plugins with ids. */
#ifndef MORTISE_LANG_CONFIG_DEPLOY_GUARDS_H
#define MORTISE_LANG_CONFIG_DEPLOY_GUARDS_H

#include "lang/config/reading.h"
#include "lang/yaml/keys.h"

struct mortise_guard {
    const char *id, *plugin;
    const struct mortise_yaml *at;     /* the plugin's name, as written */
    const struct mortise_yaml *config; /* a map, or NULL: {} */
};

struct mortise_guards { /* in an arena */
    const struct mortise_guard *list;
    size_t n;
};

/* The keys of an entry. */
extern const struct mortise_place mortise_guard_place;

void mortise_guards_read(struct mortise_guards *out,
                         const struct mortise_yaml *map,
                         struct mortise_config_reader *r);
/* NULL: there is no such id, so it is the name of a plugin. */
const struct mortise_guard *
mortise_guard_find(const struct mortise_guards *guards, const char *id);
/* The plugin for a name in a graph, or for a pin of a run.  A guardrail that
 * the deployment configures is pinned as "guardrail:ID", so that another plugin
 * for the id is detected as a change.  A guardrail that is a plugin's name is
 * pinned like the plugin. *pin (may be NULL) gets the pinned name.  Results are
 * borrowed from the arguments. */
const char *mortise_guard_find_plugin(const struct mortise_guards *guards,
                                      const char *name, const char **pin);

#endif
