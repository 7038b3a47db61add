/* leaf.c -- leaves: workers of a task graph, who know their goal and what those
 * came to that they depend on, and nothing else.
 *
 * What works is an operation, agent/leaf unless the deployment's `executors` has
 * another.  That gets
 *
 *     {node, predecessors?}
 *
 * where `node` has the keys below as they are written, with the templates of the
 * goal resolved, the output_schema, and as `role` what the role says ahead of the
 * goal; and `predecessors` has, for each of depends_on in its order, {id, output},
 * of one that gave nothing {id, status} (run/outcome/heard.c).
 *
 * Nothing of the graph but that reaches it: keys that would bring more (args,
 * instructions, a conversation, a persona, memory, discovery) are none of a leaf's.
 */
#include <math.h>
#include <stdio.h>

#include "lang/graph/kinds/agent.h"

/* What is read of a node. */
struct leaf {
    struct mortise_agent agent;      /* first: agent.h's rows read into it */
    const struct mortise_role *role; /* NULL: none */
};

_Static_assert(offsetof(struct leaf, agent) == 0, "a leaf is an agent");

static struct leaf *leaf_of(const struct mortise_reading *r)
{
    return r->node->own;
}

/* ---- keys ------------------------------------------------------------------ */

static void read_role(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    leaf_of(r)->role = mortise_role_of(ctx, slot->value);
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
     .read = read_role},
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

/* ---- what the operation gets ------------------------------------------------ */

static void begin(struct mortise_loader *ld, struct mortise_reading *r)
{
    mortise_node_read_executor(ld, r, "leaf", "agent/leaf");
}

/* What the role says is no template. */
static void put_fragment(struct mortise_loader *ld, struct mortise_reading *r,
                         const char *fragment)
{
    const struct mortise_yaml *text = mortise_made_text(ld, fragment, r->key);

    if (text != NULL)
        text = mortise_tmpl_literal(ld->arena, text);
    ld->nomem |= text == NULL;
    if (text != NULL)
        mortise_agent_put(ld, r, "role", text);
}

/* As far as the node says nothing itself. */
static void take_role(struct mortise_loader *ld, struct mortise_reading *r)
{
    const struct mortise_role *role = leaf_of(r)->role;

    if (role == NULL)
        return;
    r->node->role = role->id;
    r->node->role_name = role->display_name;
    r->node->approve_whole = role->requires_approval;
    if (role->fragment != NULL)
        put_fragment(ld, r, role->fragment);
    if (role->tools != NULL &&
        mortise_yaml_get(r->map, "tool_allowlist") == NULL)
        mortise_role_read_tools(ld, r, role);
    if (!isnan(role->temperature) &&
        mortise_yaml_get(r->map, "temperature") == NULL)
        mortise_agent_put(ld, r, "temperature",
                          mortise_made_number(ld, role->temperature, r->key));
}

static void finish(struct mortise_loader *ld, struct mortise_reading *r)
{
    struct mortise_made all = {.n = 0};

    mortise_agent_put_llm(ld, r);
    take_role(ld, r);
    mortise_node_finish_tools(ld, r);
    mortise_agent_put_tools(ld, r);
    mortise_agent_put_schema(ld, r);
    mortise_node_finish_hearing(ld, r, leaf_of(r)->agent.told);
    r->node->is_told = true;
    mortise_agent_take_args(ld, r, &all);
}

const struct mortise_node_kind mortise_graph_kind_leaf = {
    .place = {MORTISE_KIND_PLACE("leaf", keys), .implied_by = "goal"},
    .size = sizeof(struct leaf),
    .is_agent = true,
    .begin = begin,
    .finish = finish};
