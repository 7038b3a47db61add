/* leaf.c -- leaves: workers of a task graph.  A leaf sees its goal and the
 * results of the nodes that it depends on, and nothing else.
 *
 * The operation is agent/leaf unless the deployment's `executors` has another
 * one.  Its arguments are
 *
 *     {node, predecessors?}
 *
 * `node` has the keys below as written, with the templates of the goal
 * evaluated, and the output_schema.  Its member `role` has the instructions of
 * the role.  `predecessors` has {id, output} for each entry of depends_on, in
 * order, or {id, status} if that node has no output (core/run/outcome/predecessors.c).
 *
 * A leaf has no keys that would pass it more of the graph: args, instructions,
 * conversation, persona, memory, discovery.
 */
#include <math.h>
#include <stdio.h>

#include "lang/graph/kinds/agent.h"

/* The data of a node. */
struct leaf {
    struct mortise_agent agent;      /* first: agent.h's rows read into it */
    const struct mortise_role *role; /* NULL: none */
};

_Static_assert(offsetof(struct leaf, agent) == 0, "a leaf is an agent");

static struct leaf *get_leaf_data(const struct mortise_node_reader *r)
{
    return r->node->own;
}

/* ---- keys ------------------------------------------------------------------ */

static void read_leaf_role(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    get_leaf_data(r)->role = mortise_role_find(ctx, slot->value);
}

static const struct mortise_key own_keys[] = {
    {.name = "goal",
     .about =
         "The task: it is part of the system message and is the user message.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = mortise_agent_read_own},
    {.name = "role",
     .about = "The role of the leaf: one of the graph's roles, or researcher, "
              "red-team, fact-checker, writer, editor, critic or synthesizer.",
     .value = MORTISE_V_STRING,
     .read = read_leaf_role},
    MORTISE_ROWS(mortise_agent_rows),
    MORTISE_ROW(mortise_tool_rows[0]),
    MORTISE_ROW(mortise_subagents_row),
    MORTISE_ROW(mortise_compaction_row),
};

static const struct mortise_key keys[] = {
    MORTISE_ROW(mortise_type_row),
    MORTISE_ROWS(mortise_call_rows),
    MORTISE_ROWS(own_keys),
    MORTISE_ROW(mortise_policy_row),
    MORTISE_ROWS(mortise_output_rows),
    MORTISE_ROWS(mortise_join_rows),
    MORTISE_ROW(mortise_next_row),
    MORTISE_ROWS(mortise_route_rows),
    MORTISE_ROW(mortise_map_row),
    MORTISE_ROWS(mortise_visit_rows),
    MORTISE_ROW(mortise_resource_row),
    MORTISE_ROWS(mortise_end_rows),
};

/* ---- the arguments of the operation -------------------------------------- */

static void begin_leaf_node(struct mortise_loader *ld,
                            struct mortise_node_reader *r)
{
    mortise_node_read_executor(ld, r, "leaf", "agent/leaf");
}

/* The text of a role is no template. */
static void add_role_fragment(struct mortise_loader *ld,
                              struct mortise_node_reader *r,
                              const char *fragment)
{
    const struct mortise_yaml *text =
        mortise_yaml_make_text(ld, fragment, r->key);

    if (text != NULL)
        text = mortise_tmpl_escape(ld->arena, text);
    ld->nomem |= text == NULL;
    if (text != NULL)
        mortise_agent_add_key(ld, r, "role", text);
}

/* The keys of the node have precedence over its role. */
static void apply_leaf_role(struct mortise_loader *ld,
                            struct mortise_node_reader *r)
{
    const struct mortise_role *role = get_leaf_data(r)->role;

    if (role == NULL)
        return;
    r->node->role = role->id;
    r->node->role_name = role->display_name;
    r->node->approve_whole = role->requires_approval;
    if (role->fragment != NULL)
        add_role_fragment(ld, r, role->fragment);
    if (role->tools != NULL &&
        mortise_yaml_get(r->map, "tool_allowlist") == NULL)
        mortise_role_read_tools(ld, r, role);
    if (!isnan(role->temperature) &&
        mortise_yaml_get(r->map, "temperature") == NULL)
        mortise_agent_add_key(
            ld, r, "temperature",
            mortise_yaml_make_number(ld, role->temperature, r->key));
}

static void finish_leaf_node(struct mortise_loader *ld,
                             struct mortise_node_reader *r)
{
    struct mortise_built_map all = {.n = 0};

    mortise_agent_add_llm(ld, r);
    apply_leaf_role(ld, r);
    mortise_node_complete_tools(ld, r);
    mortise_agent_add_tools(ld, r);
    mortise_agent_add_schema(ld, r);
    mortise_node_complete_predecessors(ld, r, get_leaf_data(r)->agent.told);
    r->node->is_told = true;
    mortise_agent_set_args(ld, r, &all);
}

const struct mortise_node_kind mortise_graph_kind_leaf = {
    .place = {MORTISE_KIND_PLACE("leaf", keys), .implied_by = "goal"},
    .size = sizeof(struct leaf),
    .is_agent = true,
    .begin = begin_leaf_node,
    .finish = finish_leaf_node};
