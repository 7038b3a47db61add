/* deploy_memory.c -- `memory` of a deployment: the plugin that keeps traces.
 *
 * There is one, for all graphs and all tenants, with a config of its own.  A
 * deployment without it has no memory, and what would read or write one is
 * refused where it stands. */
#include "lang/config/deploy_memory.h"

static void read_plugin(void *ctx, void *into, const struct mortise_slot *slot)
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
     .read = read_plugin},
    {.name = "config",
     .about = "The plugin's configuration as the memory; it must match its "
              "config_schema.",
     .value = MORTISE_V_MAP,
     MORTISE_INTO_YAML(struct mortise_memory_choice, config)},
};

const struct mortise_place mortise_memory_place = {
    MORTISE_PLACE_OF("a memory", keys)};
