/* extension.c -- extension nodes: an operation whose plugin is a key of its
 * own. */
#include "lang/graph/load/node.h"

static void read_extension_method(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    r->node->operation = slot->value->str;
    if (r->node->plugin != NULL)
        mortise_node_find_operation(ctx, r, slot->value->span);
}

static const struct mortise_key keys[] = {
    MORTISE_ROW(mortise_type_row),
    {.name = "extension",
     .about = "The plugin whose operation the node runs.",
     .value = MORTISE_V_STRING,
     .required = true,
     .in = mortise_node_reader_get_node,
     MORTISE_INTO_TEXT(struct mortise_node, plugin)},
    {.name = "method",
     .about = "The operation of the plugin.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_extension_method},
    MORTISE_ROWS(mortise_operation_rows),
};

const struct mortise_node_kind mortise_graph_kind_extension = {
    .place = {MORTISE_KIND_PLACE("extension", keys)}};
