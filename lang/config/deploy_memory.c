/* deploy_memory.c -- `memory` of a deployment: the plugin that stores traces.
 *
 * There is one plugin for all graphs and tenants, with its own configuration.
 * Without this key there is no memory, and a graph that reads or writes memory
 * is refused. */
#include "lang/config/deploy_memory.h"

static void read_memory_plugin(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_memory_choice *m = into;

    (void)ctx;
    m->plugin = slot->value->str;
    m->at = slot->value;
}

static const struct mortise_key keys[] = {
    {.name = "plugin",
     .about = "The plugin that stores memory traces.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_memory_plugin},
    {.name = "config",
     .about = "The plugin's configuration as the memory; it must match its "
              "config_schema.",
     .value = MORTISE_V_MAP,
     MORTISE_INTO_YAML(struct mortise_memory_choice, config)},
};

const struct mortise_place mortise_memory_place = {
    MORTISE_PLACE_OF("a memory", keys)};
