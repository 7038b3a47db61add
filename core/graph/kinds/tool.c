/* tool.c -- tool nodes: one operation of a plugin, by both their names. */
#include "graph/load/node.h"

#include <assert.h>
#include <string.h>

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

/* PLUGIN/OPERATION. */
static void read_name(struct mortise_loader *ld, struct mortise_reading *r,
                      const char *name, const struct mortise_yaml *at)
{
    const char *slash = strchr(name, '/');
    struct mortise_node *node = r->node;

    assert(slash != NULL); /* whoever calls looked */
    node->plugin =
        mortise_arena_strndup(ld->arena, name, (size_t)(slash - name));
    node->operation = mortise_arena_strdup(ld->arena, slash + 1);
    if (node->plugin == NULL || node->operation == NULL)
        ld->nomem = true;
    else
        mortise_node_find_operation(ld, r, at->span);
}

static const struct mortise_node_as_tool as_tool = {
    .prefix = "", .has_approvals = true, .read = read_name};

const struct mortise_node_kind mortise_graph_kind_tool = {
    .place = {MORTISE_KIND_PLACE("tool", keys)}, .as_tool = &as_tool};
