/* policy.c -- guardrails: the values that they check, and the reaction to a
 * violation.
 *
 * A guardrail node checks its target.  The policy of a node that calls an
 * operation checks the call's input and output.  The policy of an edge checks
 * the value that passes along it.  Each has one reaction to violations, and at
 * most one reroute target, which is an edge of its own.
 */
#include "lang/graph/load/node.h"

#include <string.h>

const struct mortise_word mortise_violation_words[] = {
    {"block", MORTISE_VIOLATION_BLOCK, false},
    {"reroute", MORTISE_VIOLATION_REROUTE, false},
    {"warn", MORTISE_VIOLATION_WARN, false},
    {"sanitize", MORTISE_VIOLATION_SANITIZE, false},
    {NULL, 0, false},
};

/* ---- ids ----------------------------------------------------------------- */

static void read_guardrail_id(struct mortise_loader *ld,
                              const struct mortise_yaml *id)
{
    struct mortise_err why = {0};
    int rv = ld->catalog->guardrail(ld->catalog->ud, id->str, &why);

    ld->nomem |= rv == MORTISE_ENOMEM;
    if (rv == MORTISE_OK)
        mortise_load_plugin(ld, MORTISE_GUARD_PREFIX, id->str);
    else if (rv != MORTISE_ENOMEM)
        mortise_load_report_refusal(ld,
                                    rv == MORTISE_EINVAL ? "E0607" : "E0502",
                                    id->span, id->str, &why);
}

static void warn_duplicate_guard(struct mortise_loader *ld,
                                 const struct mortise_yaml *list, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (strcmp(list->items[k]->str, list->items[i]->str) == 0) {
            mortise_diag_add(ld->diags, "W0826", list->items[i]->span,
                             "'%s' appears twice in this list: the second "
                             "check gives the same result",
                             list->items[i]->str);
            return;
        }
}

void mortise_node_read_guards(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_guard_list *out = slot->field;
    const struct mortise_yaml *list = slot->value;

    (void)into;
    out->ids = mortise_load_strings(ld, list);
    out->n = list->n;
    for (size_t i = 0; i < list->n && !ld->nomem; i++) {
        read_guardrail_id(ld, list->items[i]);
        warn_duplicate_guard(ld, list, i);
    }
}

/* ---- violations ---------------------------------------------------------- */

void mortise_node_read_on_violation(void *ctx, void *into,
                                    const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    enum mortise_on_violation *out = slot->field;

    (void)into;
    *out = (enum mortise_on_violation)slot->word;
    if (slot->word == MORTISE_VIOLATION_REROUTE &&
        !mortise_slot_has_sibling(slot, "reroute_target"))
        mortise_diag_add(ld->diags, "E0310", slot->value->span,
                         "'reroute' needs 'reroute_target'");
}

static void check_reroute_target(struct mortise_loader *ld,
                                 enum mortise_on_violation on,
                                 const struct mortise_slot *target)
{
    if (on != MORTISE_VIOLATION_REROUTE &&
        !mortise_keys_is_uncertain(target->place, target->map, "on_violation"))
        mortise_diag_add(ld->diags, "E0310", target->name->span,
                         "'reroute_target' needs 'on_violation: reroute'");
}

void mortise_node_read_reroute_target(void *ctx, void *into,
                                      const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    check_reroute_target(ctx, r->node->on_violation, slot);
    mortise_load_edge(ctx, r->node->index, slot->value, MORTISE_EDGE_REROUTE);
}

/* The guardrails of all tools of a node.  The tools are known later
 * (tools.c). */
static void read_tool_guard_ids(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    const struct mortise_node_reader *r = into;

    mortise_node_read_guards(ctx, into, slot);
    if (r->node->type != MORTISE_NODE_GMI)
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "E0318", slot->name->span,
                             "a %s node calls no tools",
                             mortise_node_type_name(r->node->type)),
            "use 'input' to check the arguments of its call");
}

/* ---- guardrail_policy ---------------------------------------------------- */

static const struct mortise_key policy_keys[] = {
    {.name = "input",
     .about = "Ids of guardrails that check the input.",
     .value = MORTISE_V_STRINGS,
     .read = mortise_node_read_guards,
     .in = mortise_node_reader_get_node,
     MORTISE_AT(struct mortise_guard_list, struct mortise_node,
                guards[MORTISE_GUARD_INPUT])},
    {.name = "output",
     .about = "Ids of guardrails that check the output.",
     .value = MORTISE_V_STRINGS,
     .read = mortise_node_read_guards,
     .in = mortise_node_reader_get_node,
     MORTISE_AT(struct mortise_guard_list, struct mortise_node,
                guards[MORTISE_GUARD_OUTPUT])},
    {.name = "tools",
     .about = "For a gmi: ids of guardrails that check the arguments of each "
              "tool call, before an approval and before the call.",
     .value = MORTISE_V_STRINGS,
     .read = read_tool_guard_ids,
     .in = mortise_node_reader_get_node,
     MORTISE_AT(struct mortise_guard_list, struct mortise_node,
                guards[MORTISE_GUARD_TOOLS])},
    {.name = "tool_results",
     .about = "For a gmi: ids of guardrails that check the result of each tool "
              "call, before the model sees it.",
     .value = MORTISE_V_STRINGS,
     .read = read_tool_guard_ids,
     .in = mortise_node_reader_get_node,
     MORTISE_AT(struct mortise_guard_list, struct mortise_node,
                guards[MORTISE_GUARD_TOOL_RESULTS])},
    {.name = "memory_read",
     .about = "Ids of guardrails that check what memory_policy reads, before "
              "the node gets it.",
     .value = MORTISE_V_STRINGS,
     .read = mortise_node_read_guards,
     .in = mortise_node_reader_get_node,
     MORTISE_AT(struct mortise_guard_list, struct mortise_node,
                guards[MORTISE_GUARD_RECALLED])},
    {.name = "memory_write",
     .about = "Ids of guardrails that check what memory_policy writes, before "
              "it is written.",
     .value = MORTISE_V_STRINGS,
     .read = mortise_node_read_guards,
     .in = mortise_node_reader_get_node,
     MORTISE_AT(struct mortise_guard_list, struct mortise_node,
                guards[MORTISE_GUARD_REMEMBERED])},
    {.name = "on_violation",
     .about = "The reaction to a violation: block (the default), reroute, warn "
              "or sanitize.",
     .value = MORTISE_V_WORD,
     .words = mortise_violation_words,
     .read = mortise_node_read_on_violation,
     .in = mortise_node_reader_get_node,
     MORTISE_AT(enum mortise_on_violation, struct mortise_node, on_violation)},
    {.name = "hold_back",
     .about = "How much of a streamed text is held until the guardrails have "
              "checked the text after it (default: 512B).",
     .min = 1,
     .max = MORTISE_HOLD_BACK_MAX,
     .in = mortise_node_reader_get_node,
     MORTISE_INTO_SIZE(struct mortise_node, hold_back)},
    {.name = "reroute_target",
     .about = "The target of a reroute after a violation.",
     .value = MORTISE_V_ID,
     .read = mortise_node_read_reroute_target},
};

const struct mortise_place mortise_guard_policy_place = {
    MORTISE_PLACE_OF("guardrail_policy", policy_keys)};

/* The policy of a gmi's tool has no such key, because tools do not stream. */
static void check_hold_back(struct mortise_loader *ld,
                            const struct mortise_slot *slot)
{
    const struct mortise_yaml *said =
        mortise_yaml_key(slot->value, "hold_back");

    if (said != NULL &&
        !mortise_keys_has_key(slot->key->place, slot->value, "output"))
        mortise_diag_add(ld->diags, "E0212", said->span,
                         "'hold_back' needs guardrails in 'output': only "
                         "output is held back");
}

/* A policy with guardrails of tools alone cannot reroute: a tool call has no
 * edge for it. */
static void check_tool_guard_reroute(struct mortise_loader *ld,
                                     const struct mortise_slot *slot,
                                     enum mortise_on_violation on)
{
    if (on != MORTISE_VIOLATION_REROUTE)
        return;
    mortise_diag_help(
        ld->diags,
        mortise_diag_add(ld->diags, "E0310",
                         mortise_yaml_get(slot->value, "on_violation")->span,
                         "guardrails in 'tools' and 'tool_results' cannot "
                         "reroute: a violation rejects only the tool call"),
        "use block, or add guardrails to 'input', 'output', 'memory_read' or "
        "'memory_write'");
}

void mortise_node_read_guard_policy(void *ctx, void *into,
                                    const struct mortise_slot *slot)
{
    static const char *const lists[] = {"input", "output", "memory_read",
                                        "memory_write"};
    static const char *const of_tools[] = {"tools", "tool_results"};
    const struct mortise_place *place = slot->key->place;
    const struct mortise_node_reader *r = into;
    struct mortise_loader *ld = ctx;
    bool any = false, tools = false;

    mortise_keys_read_slot(slot, ld, into, ld->diags);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        any |= mortise_keys_has_key(place, slot->value, lists[i]);
    for (size_t i = 0; i < sizeof of_tools / sizeof of_tools[0]; i++)
        tools |= mortise_keys_has_key(place, slot->value, of_tools[i]);
    check_hold_back(ld, slot);
    if (!any && tools)
        check_tool_guard_reroute(ld, slot, r->node->on_violation);
    else if (!any)
        mortise_diag_add(
            ld->diags, "E0206", slot->name->span,
            "guardrail_policy needs ids of guardrails in 'input', 'output', "
            "'tools', 'tool_results', 'memory_read' or 'memory_write'");
}

/* ---- ... of edges -------------------------------------------------------- */

struct edge_policy {
    struct mortise_edge_policy policy;
    const struct mortise_yaml *target;
};

static void read_edge_reroute_target(void *ctx, void *into,
                                     const struct mortise_slot *slot)
{
    struct edge_policy *r = into;

    check_reroute_target(ctx, r->policy.on_violation, slot);
    r->target = slot->value;
}

static const struct mortise_key edge_policy_keys[] = {
    {.name = "input",
     .about = "Ids of guardrails that check the value on the edge: the output "
              "of the node that it leaves.",
     .value = MORTISE_V_STRINGS,
     .required = true,
     .min = 1,
     .read = mortise_node_read_guards,
     MORTISE_AT(struct mortise_guard_list, struct edge_policy, policy.guards)},
    {.name = "on_violation",
     .about = "The reaction to a violation: block (the default), reroute, warn "
              "or sanitize.",
     .value = MORTISE_V_WORD,
     .words = mortise_violation_words,
     .read = mortise_node_read_on_violation,
     MORTISE_AT(enum mortise_on_violation, struct edge_policy,
                policy.on_violation)},
    {.name = "reroute_target",
     .about = "The node that follows after a violation, instead of the target "
              "of this edge.",
     .value = MORTISE_V_ID,
     .read = read_edge_reroute_target},
};

const struct mortise_place mortise_edge_policy_place = {
    MORTISE_PLACE_OF("guardrail_policy of an edge", edge_policy_keys)};

/* Is there a value that passes along edges from this source? */
static bool check_policy_source(struct mortise_loader *ld, uint32_t from,
                                const struct mortise_slot *slot)
{
    const struct mortise_node *node =
        from != MORTISE_START ? &ld->g->nodes[from] : NULL;
    const char *type;

    if (node == NULL) {
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "E0318", slot->name->span,
                             "an edge from START has no value to check"),
            "move the policy to the node that the edge leads to");
        return false;
    }
    if (mortise_node_gives(node) != MORTISE_GIVES_ROUTE)
        return true;
    type = mortise_node_type_name(node->type);
    mortise_diag_help(ld->diags,
                      mortise_diag_add(ld->diags, "E0318", slot->name->span,
                                       "an edge of a %s has no value to check",
                                       type),
                      "move the policy to the edge to the %s, or to the node "
                      "that this edge leads to",
                      type);
    return false;
}

void mortise_load_edge_policy(struct mortise_loader *ld, uint32_t from,
                              size_t first, const struct mortise_slot *slot)
{
    struct edge_policy r = {.policy.on_violation = MORTISE_VIOLATION_BLOCK};
    struct mortise_edge_policy *policy;

    mortise_keys_read_slot(slot, ld, &r, ld->diags);
    if (from == MORTISE_NOWHERE || !check_policy_source(ld, from, slot) ||
        (policy = mortise_load_alloc(ld, sizeof *policy)) == NULL)
        return;
    *policy = r.policy;
    if (r.target != NULL)
        mortise_load_edge(ld, from, r.target, MORTISE_EDGE_DETOUR);
    for (size_t i = first; i < ld->n_edges; i++)
        ld->edges[i].policy = policy;
}
