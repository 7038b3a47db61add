/* instances.c -- the plugins and instances behind the names of a deployment.
 *
 * A guardrail, an alias of a model, the memory and an entry of discovery.plugins
 * are instances: a plugin with a config of its own.  Other names are those of
 * plugins. */
#include "lang/config/deploy.h"

#include <string.h>

_Static_assert((int)MORTISE_MODEL_TARGETS_MAX == (int)MORTISE_N_TIERS,
               "an alias of a model has a target for each tier");

/* `name` is an instance, or a plugin, perhaps with the prefix that it has in a
 * graph. */
static const char *find_discoverer(const struct mortise_deployment *d,
                                   const char *name, const char **as)
{
    static const char prefix[] = MORTISE_DISCOVERY_PREFIX;
    const struct mortise_discoverer *f =
        mortise_discoverer_find(&d->discovery, name);

    if (f != NULL) {
        *as = f->instance;
        return f->plugin;
    }
    return strncmp(name, prefix, sizeof prefix - 1) == 0
               ? name + sizeof prefix - 1
               : name;
}

const char *mortise_deployment_find_instance(const struct mortise_deployment *d,
                                             const char *name,
                                             enum mortise_kind kind,
                                             const char **as)
{
    const struct mortise_guard *g;
    const struct mortise_model_alias *model;

    *as = "";
    switch (kind) {
    case MORTISE_KIND_GUARDRAIL:
        g = mortise_guard_find(&d->guards, name);
        *as = g != NULL ? g->id : "";
        return g != NULL ? g->plugin : name;
    case MORTISE_KIND_MODEL:
        model = mortise_model_find(&d->models, name);
        *as = model != NULL ? model->instance : "";
        return model != NULL ? model->provider : name;
    case MORTISE_KIND_DISCOVERY:
        return find_discoverer(d, name, as);
    case MORTISE_KIND_MEMORY:
        *as = MORTISE_MEMORY_INSTANCE;
        return d->memory.plugin != NULL ? d->memory.plugin : name;
    default: /* an executor has one instance */
        return name;
    }
}

int mortise_deployment_list_models(const struct mortise_deployment *d,
                                   const char *alias,
                                   const char *out[MORTISE_MODEL_TARGETS_MAX],
                                   size_t *n, struct mortise_err *err)
{
    const struct mortise_model_alias *model =
        mortise_model_find(&d->models, alias);
    const struct mortise_model_alias *behind[MORTISE_N_TIERS];

    *n = 0;
    if (model == NULL)
        return mortise_model_check(&d->models, alias, err);
    *n = mortise_models_list_targets(&d->models, model, behind);
    for (size_t i = 0; i < *n; i++)
        out[i] = behind[i]->alias;
    return MORTISE_OK;
}

const char *
mortise_deployment_get_discoverer(const struct mortise_deployment *d, size_t i,
                                  const char **plugin)
{
    const struct mortise_discoverer *f;

    if (i >= d->discovery.n)
        return NULL;
    f = &d->discovery.list[i];
    *plugin = f->plugin;
    return f->instance[0] != '\0' ? f->instance : f->plugin;
}
