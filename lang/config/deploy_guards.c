/* deploy_guards.c -- `guardrails` of a deployment: plugins under ids of their
 * own.
 *
 * A graph names guardrails by id.  An id in this key is an instance of a plugin
 * with its own configuration, so that one plugin can check several sets of
 * rules.  Any other id is the name of a plugin, with the configuration from
 * `plugins.config`.  An id hides a plugin of the same name. */
#include "lang/config/deploy_guards.h"

#include <string.h>

#include "lang/yaml/header.h"

static void read_guard_plugin(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_guard *g = into;

    (void)ctx;
    g->plugin = slot->value->str;
    g->at = slot->value;
}

static const struct mortise_key keys[] = {
    {.name = "plugin",
     .about = "The plugin of this guardrail.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_guard_plugin},
    {.name = "config",
     .about = "The plugin's configuration for this guardrail; it must match "
              "its config_schema.",
     .value = MORTISE_V_MAP,
     MORTISE_INTO_YAML(struct mortise_guard, config)},
};

const struct mortise_place mortise_guard_place = {
    MORTISE_PLACE_OF("a guardrail", keys)};

/* Ids share a namespace with plugins, so they have the syntax of plugin
 * names. */
static void read_guard_entry(struct mortise_guard *g,
                             const struct mortise_yaml *key,
                             const struct mortise_yaml *value,
                             struct mortise_diags *diags)
{
    g->id = key->str;
    g->plugin = "";
    mortise_header_check_name(key, "the id of a guardrail", diags);
    mortise_keys_read(&mortise_guard_place, value, key->span, NULL, g, diags);
}

void mortise_guards_read(struct mortise_guards *out,
                         const struct mortise_yaml *map,
                         struct mortise_config_reader *r)
{
    struct mortise_guard *list = mortise_config_alloc(r, map->n * sizeof *list);

    for (size_t i = 0; list != NULL && i < map->n; i++)
        if (!mortise_yaml_is_x_key(map->keys[i]->str))
            read_guard_entry(&list[out->n++], map->keys[i], map->items[i],
                             r->diags);
    out->list = list;
}

const struct mortise_guard *
mortise_guard_find(const struct mortise_guards *guards, const char *id)
{
    for (size_t i = 0; i < guards->n; i++)
        if (strcmp(guards->list[i].id, id) == 0)
            return &guards->list[i];
    return NULL;
}

const char *mortise_guard_find_plugin(const struct mortise_guards *guards,
                                      const char *name, const char **pin)
{
    static const char guardrail[] = "guardrail:";
    const char *id = name + sizeof guardrail - 1, *none;
    const struct mortise_guard *g;

    pin = pin != NULL ? pin : &none;
    *pin = name;
    if (strncmp(name, guardrail, sizeof guardrail - 1) != 0)
        return name;
    g = mortise_guard_find(guards, id);
    return g != NULL ? g->plugin : (*pin = id);
}
