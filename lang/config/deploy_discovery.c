/* deploy_discovery.c -- `discovery` of a deployment: the plugins that search
 * for nodes, tools and skills.
 *
 * The key is a list of plugins.  An entry is a name, for the plugin with the
 * configuration from `plugins.config`; or {plugin, config}, for an instance of
 * its own, so that one plugin can search in several places.  The order decides
 * between results of equal rank (discovery.h of the SDK).  A plugin that is
 * listed twice without a configuration of its own would count twice, so it is
 * an error. */
#include "lang/config/deploy_discovery.h"

#include <stdio.h>
#include <string.h>

static void read_discovery_plugin(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_discoverer *d = into;

    (void)ctx;
    d->plugin = slot->value->str;
    d->at = slot->value;
}

static const struct mortise_key one_keys[] = {
    {.name = "plugin",
     .about = "The name of the plugin.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_discovery_plugin},
    {.name = "config",
     .about = "The plugin's configuration for discovery; it must match its "
              "config_schema.",
     .value = MORTISE_V_MAP,
     MORTISE_INTO_YAML(struct mortise_discoverer, config)},
};

static const struct mortise_place one_place = {
    MORTISE_PLACE_OF("a discovery plugin", one_keys)};

static const struct mortise_key one_forms[] = {
    {.value = MORTISE_V_STRING},
    {.value = MORTISE_V_MAP, .place = &one_place},
};

/* The name of the instance, from its index in the list. */
static const char *make_discovery_instance(struct mortise_config_reader *r,
                                           size_t place)
{
    size_t size = sizeof MORTISE_DISCOVERY_PREFIX + 20;
    char *name = mortise_config_alloc(r, size);

    if (name != NULL)
        snprintf(name, size, MORTISE_DISCOVERY_PREFIX "%zu", place + 1);
    return name;
}

static void read_discovery_entry(struct mortise_config_reader *r,
                                 struct mortise_discoverer *d, size_t place,
                                 const struct mortise_yaml *value)
{
    d->plugin = d->instance = "";
    if (value->kind == MORTISE_YAML_STRING) {
        d->plugin = value->str;
        d->at = value;
    } else if (value->kind == MORTISE_YAML_MAP) {
        mortise_keys_read(&one_place, value, value->span, r, d, r->diags);
        if (d->config != NULL)
            d->instance = make_discovery_instance(r, place);
    }
}

static void check_duplicate_entry(struct mortise_config_reader *r,
                                  const struct mortise_discoverers *all,
                                  const struct mortise_discoverer *d)
{
    for (const struct mortise_discoverer *other = all->list; other < d; other++)
        if (d->at != NULL && d->instance != NULL && d->instance[0] == '\0' &&
            other->instance != NULL && other->instance[0] == '\0' &&
            strcmp(d->plugin, other->plugin) == 0) {
            mortise_diag_help(
                r->diags,
                mortise_diag_add(r->diags, "E0214", d->at->span,
                                 "'%s' is already in discovery.plugins",
                                 d->plugin),
                "give each of the two entries its own config, or remove one");
            return;
        }
}

static void read_discovery_plugins(void *ctx, void *into,
                                   const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct mortise_discoverers *all = into;
    const struct mortise_yaml *value = slot->value;
    struct mortise_discoverer *list =
        mortise_config_alloc(r, value->n * sizeof *list);

    all->list = list;
    if (value->n > MORTISE_DISCOVERERS_MAX) {
        mortise_diag_add(r->diags, "E0208", value->span,
                         "'plugins' can have at most %d items, but has %zu",
                         MORTISE_DISCOVERERS_MAX, value->n);
        return;
    }
    for (; list != NULL && all->n < value->n; all->n++) {
        read_discovery_entry(r, &list[all->n], all->n, value->items[all->n]);
        check_duplicate_entry(r, all, &list[all->n]);
    }
}

static const struct mortise_key keys[] = {
    {.name = "plugins",
     .about = "The discovery plugins, in order of preference: names, or "
              "{plugin, config}.",
     .value = MORTISE_V_LIST,
     .required = true,
     .min = 1,
     MORTISE_EACH(MORTISE_FORMS(one_forms)),
     .read = read_discovery_plugins},
};

const struct mortise_place mortise_discoverers_place = {
    MORTISE_PLACE_OF("discovery", keys)};

const struct mortise_discoverer *
mortise_discoverer_find(const struct mortise_discoverers *all,
                        const char *instance)
{
    for (size_t i = 0; instance[0] != '\0' && i < all->n; i++)
        if (strcmp(all->list[i].instance, instance) == 0)
            return &all->list[i];
    return NULL;
}
