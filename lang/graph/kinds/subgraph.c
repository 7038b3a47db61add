/* subgraph.c -- subgraph nodes: a graph inside a graph, and the data between
 * them.
 *
 * The inner graph is written in the node, or in a file (load/inner.c).  It has
 * its own state, names and edges: it cannot see the outer graph, and no edge
 * connects the two.  Data passes in two places:
 *
 *   input_mapping    paths of the inner input <- expressions of the outer
 *                    graph, with the scope of args
 *   output_mapping   paths of the outer state <- expressions over the final
 *                    state of the inner graph; `output` is its artifacts
 *
 * As a tool (load/tools.c), the node has neither: its input is the arguments of
 * the call.
 */
#include "lang/graph/load/files.h"
#include "lang/graph/load/node.h"

#include <string.h>

/* ---- the inner graph ------------------------------------------------- */

static void read_subgraph(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;

    if (mortise_inner_is_too_deep(ld, slot->name->span))
        return;
    if (mortise_load_is_ref(slot->value))
        mortise_inner_load_file(ld, r, slot->value);
    else if ((r->node->sub = mortise_inner_new(ld, slot->value)) != NULL)
        mortise_inner_load(ld, r, slot);
    if (r->node->sub != NULL)
        ld->names[MORTISE_IN_OUTPUT].schema = r->node->sub->artifacts;
}

/* ---- mappings -------------------------------------------------------- */

/* Does the mapping set this member of the input? */
static bool is_input_mapped(const struct mortise_node *node, const char *member)
{
    for (size_t i = 0; i < node->n_input_mapping; i++)
        if (node->input_mapping[i].path.steps[1].key != NULL &&
            strcmp(node->input_mapping[i].path.steps[1].key, member) == 0)
            return true;
    return false;
}

/* Report required members of the inner input that the mapping does not set. */
static void check_required_input(struct mortise_loader *ld,
                                 struct mortise_node_reader *r)
{
    const struct mortise_yaml *at = mortise_yaml_key(r->map, "input_mapping");
    const json_t *required, *member;
    size_t i;

    if (r->node->sub->input == NULL ||
        (at == NULL && mortise_node_has_key(r, "input_mapping")))
        return;
    required =
        json_object_get(mortise_schema_json(r->node->sub->input), "required");
    json_array_foreach(required, i, member)
    {
        if (is_input_mapped(r->node, json_string_value(member)))
            continue;
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "E0206",
                             at != NULL ? at->span : r->key->span,
                             "the inner graph requires input.%s, but "
                             "'input_mapping' does not set it",
                             json_string_value(member)),
            "set it to a value of this graph, such as the output of an earlier "
            "node: input_mapping: {input.%s: artifacts.NODE}",
            json_string_value(member));
    }
}

static void compile_input_line(struct mortise_loader *ld,
                               const struct mortise_deferred_expr *late)
{
    const struct mortise_graph *sub = ld->g->nodes[late->node].sub;
    struct mortise_output *line = late->into;

    mortise_load_expr(ld, &line->expr, late->at, late->end);
    if (!ld->doubtful && sub != NULL)
        mortise_load_check_fit(
            ld, &line->expr, line->path.text,
            mortise_load_schema_below(sub->input, &line->path));
}

static bool read_input_line(struct mortise_loader *ld,
                            struct mortise_node_reader *r,
                            struct mortise_output *out,
                            const struct mortise_yaml *key,
                            const struct mortise_yaml *v)
{
    mortise_load_defer(ld, compile_input_line, out, v, r->node->index,
                       MORTISE_IN_OUTPUT);
    return r->node->sub != NULL &&
           mortise_load_input_path(ld, &out->path, key, r->node->sub->input);
}

static void read_input_mapping(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    r->node->n_input_mapping = mortise_node_read_entries(
        ctx, r, &r->node->input_mapping, slot->value, read_input_line);
}

static void compile_inner_expr(struct mortise_loader *ld,
                               struct mortise_node_reader *r,
                               struct mortise_expr *into,
                               const struct mortise_yaml *v)
{
    struct mortise_cel_name outer[MORTISE_IN_N];

    memcpy(outer, ld->names, sizeof outer);
    memcpy(ld->names, r->inner, sizeof ld->names);
    ld->inner_names = r->inner;
    ld->scope_node = r->node->index;
    mortise_load_expr(ld, into, v, MORTISE_IN_ERROR);
    ld->inner_names = NULL;
    memcpy(ld->names, outer, sizeof ld->names);
}

static bool read_mapped_output(struct mortise_loader *ld,
                               struct mortise_node_reader *r,
                               struct mortise_output *out,
                               const struct mortise_yaml *key,
                               const struct mortise_yaml *v)
{
    if (r->inner != NULL)
        compile_inner_expr(ld, r, &out->expr, v);
    if (!mortise_load_path(ld, &out->path, key))
        return false;
    if (out->expr.cel != NULL &&
        mortise_graph_get_reduce(ld->g, &out->path) != MORTISE_REDUCE_EXPR)
        mortise_load_check_fit(ld, &out->expr, out->path.text,
                               mortise_load_schema_at(ld, &out->path));
    mortise_node_add_write(ld, r->node, &out->path, &out->expr, key->span);
    return true;
}

static void read_output_mapping(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    r->node->n_output_mapping = mortise_node_read_entries(
        ctx, r, &r->node->output_mapping, slot->value, read_mapped_output);
}

/* ---- the kind -------------------------------------------------------- */

static const struct mortise_key expr_row = {.value = MORTISE_V_EXPR};

static const struct mortise_key keys[] = {
    MORTISE_ROW(mortise_type_row),
    MORTISE_ROW(mortise_timeout_row),
    MORTISE_ROW(mortise_retry_row),
    {.name = "input_schema",
     .value = MORTISE_V_SCHEMA,
     .later = true,
     .read = mortise_load_schema,
     .in = mortise_node_reader_get_node,
     MORTISE_AT(struct mortise_schema *, struct mortise_node, input_schema)},
    {.name = "output_schema",
     .value = MORTISE_V_SCHEMA,
     .later = true,
     .read = mortise_node_read_output_schema,
     .in = mortise_node_reader_get_node,
     MORTISE_AT(struct mortise_schema *, struct mortise_node, output_schema)},
    {.name = "graph",
     .about = "The inner graph: written here, or the name or path of a file.",
     MORTISE_FORMS(mortise_inner_forms),
     .required = true,
     .read = read_subgraph},
    {.name = "input_mapping",
     .about = "Maps paths of the inner graph's input to expressions over this "
              "graph's state.",
     .value = MORTISE_V_MAP,
     .each = &expr_row,
     .read = read_input_mapping},
    {.name = "output_mapping",
     .about = "Maps paths of this graph's state to expressions over the inner "
              "graph's final state.",
     .value = MORTISE_V_MAP,
     .each = &expr_row,
     .read = read_output_mapping},
    MORTISE_ROW(mortise_policy_row),
    MORTISE_ROWS(mortise_work_rows),
};

static void finish_subgraph_node(struct mortise_loader *ld,
                                 struct mortise_node_reader *r)
{
    if (r->node->sub != NULL)
        check_required_input(ld, r);
}

/* ---- as a tool -------------------------------------------------------- */

static void read_graph_tool_name(struct mortise_loader *ld,
                                 struct mortise_node_reader *r,
                                 const char *name,
                                 const struct mortise_yaml *at)
{
    struct mortise_yaml *ref = mortise_yaml_make_text(ld, name, at);

    if (ref != NULL && !mortise_inner_is_too_deep(ld, at->span))
        mortise_inner_load_file(ld, r, ref);
}

static const struct mortise_node_as_tool as_tool = {
    .prefix = "graph/", .read = read_graph_tool_name};

const struct mortise_node_kind mortise_graph_kind_subgraph = {
    .place = {MORTISE_KIND_PLACE("subgraph", keys)},
    .finish = finish_subgraph_node,
    .as_tool = &as_tool};
