/* pass.c -- pass nodes: their output is a value that the graph computes.  They
 * call no operation.  They convert data between two nodes, or join branches. */
#include "core/model/pass.h"
#include "lang/graph/load/node.h"

static void read_pass_value(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;
    struct mortise_pass *pass = r->node->own;

    mortise_load_defer(ctx, mortise_load_deferred_tmpl, &pass->value,
                       slot->value, r->node->index, MORTISE_IN_OUTPUT);
}

static const struct mortise_key keys[] = {
    MORTISE_ROW(mortise_type_row),
    {.name = "value",
     .about = "The output: JSON with ${...} templates (default: null).",
     .value = MORTISE_V_TEMPLATE,
     .read = read_pass_value},
    MORTISE_ROWS(mortise_work_rows),
};

const struct mortise_node_kind mortise_graph_kind_pass = {
    .place = {MORTISE_KIND_PLACE("pass", keys)},
    .size = sizeof(struct mortise_pass)};
