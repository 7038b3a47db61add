/* pins.c -- digests of the plugins and tools that a graph uses. */
#include "core/engine/common/engine.h"

#include <assert.h>
#include <string.h>

const struct mortise_manifest *
mortise_pin_find(const struct mortise_deployment *d,
                 struct mortise_plugins *plugins, const char *name,
                 struct mortise_pin *here, struct mortise_err *err)
{
    const char *digest,
        *plugin = mortise_deployment_find_plugin(d, name, &here->plugin);
    const struct mortise_manifest *man =
        mortise_plugins_find(plugins, plugin, err);
    int rv;

    if (man == NULL)
        return NULL;
    here->dev = man->dev;
    memcpy(here->digest, man->digest, MORTISE_DIGEST);
    if (!mortise_deployment_is_tool(d, name, &digest))
        return man;
    if (digest == NULL) {
        mortise_deployment_is_part_missing(d, name, err);
        return NULL;
    }
    here->dev = false; /* the plugin has a pin of its own */
    rv = mortise_hex_decode(here->digest, MORTISE_DIGEST, digest,
                            strlen(digest));
    assert(rv == 0); /* valid since the lock file was parsed */
    (void)rv;
    return man;
}

/* MORTISE_EDENIED: trust refuses the plugin.  MORTISE_ELIMIT: no descriptor was
 * free to read it. */
int mortise_pin_map_error(const struct mortise_err *why)
{
    return why->code == MORTISE_EDENIED || why->code == MORTISE_ELIMIT
               ? why->code
               : MORTISE_EBLOCKED;
}

/* A guardrail id and a plugin name may mean the same plugin, which is pinned
 * once.  Tools have unique names, and there may be many of them. */
static bool is_plugin_pinned(const struct mortise_pin *pins, size_t n,
                             const char *plugin)
{
    static const char tool[] = MORTISE_TOOL_PIN_PREFIX;

    if (strncmp(plugin, tool, sizeof tool - 1) == 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strcmp(pins[i].plugin, plugin) == 0)
            return true;
    return false;
}

int mortise_pins_find(struct mortise *m, const struct mortise_graph *g,
                      struct mortise_pin *pins, size_t *n,
                      struct mortise_err *err)
{
    *n = 0;
    for (size_t i = 0; i < g->n_plugins; i++) {
        struct mortise_pin *pin = &pins[*n];

        if (mortise_pin_find(m->settings.deployment, m->plugins, g->plugins[i],
                             pin, err) == NULL)
            return mortise_err_prefix(err, mortise_pin_map_error(err),
                                      "graph '%s'", g->name);
        *n += !is_plugin_pinned(pins, *n, pin->plugin);
    }
    return MORTISE_OK;
}
