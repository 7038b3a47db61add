/* fail.c -- fail nodes: the graph ends here with an error that its author
 * defines.  The caller can react to the error's code. */
#include "lang/graph/load/node.h"

static const struct mortise_key keys[] = {
    MORTISE_ROW(mortise_type_row),   MORTISE_ROWS(mortise_failing_rows),
    MORTISE_ROWS(mortise_join_rows), MORTISE_ROWS(mortise_visit_rows),
    MORTISE_ROWS(mortise_last_rows),
};

static void begin_fail_node(struct mortise_loader *ld,
                            struct mortise_node_reader *r)
{
    r->node->output_as = NULL; /* a fail node has no output */
    mortise_node_begin_failing(ld, r);
}

static void finish_fail_node(struct mortise_loader *ld,
                             struct mortise_node_reader *r)
{
    const struct mortise_yaml *key = mortise_yaml_key(r->map, "on_error");

    if (key != NULL)
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "E0212", key->span,
                             "a fail node cannot have 'on_error'"),
            "to continue the graph, lead the edge to another node instead of "
            "this one");
}

const struct mortise_node_kind mortise_graph_kind_fail = {
    .place = {MORTISE_KIND_PLACE("fail", keys)},
    .begin = begin_fail_node,
    .finish = finish_fail_node};
