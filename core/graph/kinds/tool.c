/* tool.c -- tool nodes: one operation of a plugin, by both their names. */
#include "graph/load/node.h"

static void read_tool(void *ctx, void *into, const struct mortise_slot *slot)
{
    mortise_node_read_operation(ctx, into, slot, "a tool");
}

static const struct mortise_key keys[] = {
    MORTISE_ROW(mortise_type_row),
    {.name = "tool",
     .about = "PLUGIN/OPERATION: what the node runs.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_tool},
    MORTISE_ROWS(mortise_operation_rows),
};

const struct mortise_node_kind mortise_graph_kind_tool = {
    .place = {MORTISE_KIND_PLACE("tool", keys)}};
