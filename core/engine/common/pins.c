/* pins.c -- the plugins that a graph uses, as they are here. */
#include "engine/common/engine.h"

#include <string.h>

const char *mortise_pin_plugin(const struct mortise *m, const char *name,
                               const char **pin)
{
    return mortise_deployment_plugin(m->settings.deployment, name, pin);
}

/* A plugin that a run needs cannot be used: trust says so, or something else.
 */
int mortise_pin_unusable(const struct mortise_err *why)
{
    return why->code == MORTISE_EDENIED ? MORTISE_EDENIED : MORTISE_EBLOCKED;
}

int mortise_pins_find(struct mortise *m, const struct mortise_graph *g,
                      struct mortise_pin *pins, size_t *n,
                      struct mortise_err *err)
{
    *n = 0;
    for (size_t i = 0; i < g->n_plugins; i++) {
        const char *pin, *name = mortise_pin_plugin(m, g->plugins[i], &pin);
        const struct mortise_manifest *man;
        size_t k = 0;

        while (k < *n && strcmp(pins[k].plugin, pin) != 0)
            k++;
        if (k < *n)
            continue;
        man = mortise_plugins_find(m->plugins, name, err);
        if (man == NULL)
            return mortise_doing(err, mortise_pin_unusable(err), "graph '%s'",
                                 g->name);
        pins[k].plugin = pin;
        pins[k].dev = man->dev;
        memcpy(pins[k].digest, man->digest, MORTISE_DIGEST);
        ++*n;
    }
    return MORTISE_OK;
}
