/* tools.c -- the key `tools` of a deployment.  core/model/policy.c judges
 * operations by its patterns. */
#include "lang/config/tools.h"

#include <string.h>

#include "lang/config/reading.h"

/* Graphs as tools (`graph/NAME`) are no operations, so a pattern for one would
 * have no effect. */
static bool is_graph_pattern(const char *pattern)
{
    static const char prefix[] = "graph/";

    return strncmp(pattern, prefix, sizeof prefix - 1) == 0;
}

/* Reads into the list of the row. */
static void read_tool_patterns(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    const struct mortise_yaml *list = slot->value;

    struct mortise_pattern *patterns =
        mortise_config_alloc(r, list->n * sizeof *patterns);

    (void)into;
    if (patterns == NULL)
        return;
    for (size_t i = 0; i < list->n; i++) {
        const char *s = list->items[i]->str, *slash = strchr(s, '/');
        struct mortise_diag *d;
        bool of_graph = is_graph_pattern(s);

        patterns[i] = (struct mortise_pattern){s, list->items[i]->span};
        if (strcmp(s, "*") == 0 ||
            (slash != NULL && slash != s && slash[1] != '\0' && !of_graph))
            continue;
        d = mortise_diag_add(r->diags, "E0505", list->items[i]->span,
                             "'%s' is not a valid pattern of tools", s);
        mortise_diag_help(r->diags, d, "%s",
                          of_graph ? "graphs are not matched by patterns: name "
                                     "the operations that the graph calls"
                                   : "write PLUGIN/OPERATION with * for any "
                                     "characters (file/*), or * alone");
    }
    *(struct mortise_patterns *)slot->field =
        (struct mortise_patterns){true, slot->name->span, patterns, list->n};
}

/* Reads into the field of the row. */
static void read_mcp_servers(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    (void)into;
    mortise_mcp_read(slot->field, slot->value, ctx);
}

#define PATTERNS(list)                                                         \
    .value = MORTISE_V_STRINGS, .read = read_tool_patterns,                    \
    MORTISE_AT(struct mortise_patterns, struct mortise_tools, policy.list)

static const struct mortise_key keys[] = {
    {.name = "allow",
     .about = "Patterns of PLUGIN/OPERATION: graphs can call only these.",
     PATTERNS(allow)},
    {.name = "ask",
     .about = "Patterns of PLUGIN/OPERATION: each call waits for an approval.",
     PATTERNS(ask)},
    {.name = "deny",
     .about = "Patterns of PLUGIN/OPERATION that graphs cannot call.",
     PATTERNS(deny)},
    {.name = "mcp",
     .about = "Servers of the Model Context Protocol, by name.",
     .value = MORTISE_V_MAP,
     MORTISE_EACH(.value = MORTISE_V_MAP, .place = &mortise_mcp_server_place),
     .read = read_mcp_servers,
     MORTISE_AT(struct mortise_mcp_servers, struct mortise_tools, mcp)},
};

const struct mortise_place mortise_tools_place = {
    MORTISE_PLACE_OF("tools", keys)};
