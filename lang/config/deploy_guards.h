/* deploy_guards.h -- `guardrails` of a deployment: plugins under ids of their own. */
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

/* What may stand in one. */
extern const struct mortise_place mortise_guard_place;

void mortise_guards_read(struct mortise_guards *out,
                         const struct mortise_yaml *map,
                         struct mortise_config_reading *r);
/* NULL when there is none of that id: then it is the name of a plugin. */
const struct mortise_guard *
mortise_guard_find(const struct mortise_guards *guards, const char *id);
/* The plugin that a name of a graph's, or a run's pin, stands for.  A guardrail
 * that the deployment configures is pinned as "guardrail:ID", so that another
 * plugin behind that id is a change; one that is a plugin's name is pinned like
 * the plugin: *pin (may be NULL).  All of it is lent by its arguments. */
const char *mortise_guard_plugin(const struct mortise_guards *guards,
                                 const char *name, const char **pin);

#endif
