/* node.c -- nodes: one table of keys for all types, and what each key means.
 *
 * Bit i of a key's `here` says that the i-th type of `types` has it, so one
 * row serves six kinds of nodes, and "this key belongs to human nodes" needs
 * no further knowledge.  Types of a later build stand in the same list: what
 * belongs to them is told apart from what is misspelled.
 *
 * Keys are read in the order of the table: first what the node runs, then what
 * depends on it (arguments on the operation, conditions on what `output` is),
 * then its edges.
 */
#include "graph/load/node.h"

#include <string.h>

enum {
    TOOL = 1 << 0,
    EXTENSION = 1 << 1,
    HUMAN = 1 << 2,
    GUARDRAIL = 1 << 3,
    ROUTER = 1 << 4,
    SUBGRAPH = 1 << 5,
    GMI = 1 << 6,
    VOICE = 1 << 7,
    LEAF = 1 << 8,
    TEAM = 1 << 9,

    CALLS = TOOL | EXTENSION, /* run an operation */
    WORKS = CALLS | HUMAN | GUARDRAIL | SUBGRAPH,
    ALL = WORKS | ROUTER,
    AGENTS = GMI | LEAF,
    LATER = AGENTS | VOICE | TEAM
};

static const char *const types[32] = {
    "tool",     "extension", "human", "guardrail", "router",
    "subgraph", "gmi",       "voice", "leaf",      "team"};

static const struct mortise_word type_words[] = {
    {"tool", MORTISE_NODE_TOOL, false},
    {"extension", MORTISE_NODE_EXTENSION, false},
    {"human", MORTISE_NODE_HUMAN, false},
    {"guardrail", MORTISE_NODE_GUARDRAIL, false},
    {"router", MORTISE_NODE_ROUTER, false},
    {"subgraph", MORTISE_NODE_SUBGRAPH, false},
    {"gmi", 0, true},
    {"voice", 0, true},
    {"leaf", 0, true},
    {"team", 0, true},
    {NULL, 0, false},
};

const struct mortise_word mortise_effect_words[] = {
    {"pure", MORTISE_PURE, false},
    {"read", MORTISE_READ, false},
    {"write", MORTISE_WRITE, false},
    {"external", MORTISE_EXTERNAL, false},
    {NULL, 0, false},
};

static const struct mortise_word node_effect_words[] = {
    {"pure", MORTISE_PURE, false},
    {"read", MORTISE_READ, false},
    {"write", MORTISE_WRITE, false},
    {"external", MORTISE_EXTERNAL, false},
    {"human", MORTISE_EFFECT_HUMAN, false},
    {NULL, 0, false},
};

/* ---- the table ------------------------------------------------------- */

enum { BEFORE = 1, AFTER = 2 };

static const struct mortise_word checkpoints[] = {
    {"before", BEFORE, false},
    {"after", AFTER, false},
    {"both", BEFORE | AFTER, false},
    {"none", 0, false},
    {NULL, 0, false},
};

static void read_checkpoint(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    (void)ctx;
    r->node->checkpoint_said = true;
    r->node->checkpoint_before = slot->word & BEFORE;
    r->node->checkpoint_after = slot->word & AFTER;
}

static const struct mortise_word in_doubts[] = {
    {"reconcile", MORTISE_DOUBT_RECONCILE, false},
    {"retry", MORTISE_DOUBT_RETRY, false},
    {"ask", MORTISE_DOUBT_ASK, false},
    {"fail", MORTISE_DOUBT_FAIL, false},
    {NULL, 0, false},
};

static const struct mortise_word losers[] = {
    {"cancel", 0, false},
    {"finish", 1, false},
    {NULL, 0, false},
};

static const struct mortise_word branch_errors[] = {
    {"fail", MORTISE_BRANCH_FAIL, false},
    {"collect", MORTISE_BRANCH_COLLECT, false},
    {"drop", MORTISE_BRANCH_DROP, false},
    {NULL, 0, false},
};

static const struct mortise_key expr_row = {.value = MORTISE_V_EXPR};

static const struct mortise_key keys[] = {
    {.name = "type",
     .about = "What kind of node this is.",
     .value = MORTISE_V_WORD,
     .here = ALL,
     .words = type_words},
    {.name = "tool",
     .about = "PLUGIN/OPERATION: what the node runs.",
     .value = MORTISE_V_STRING,
     .here = TOOL,
     .required = TOOL,
     .read = mortise_node_read_tool},
    {.name = "extension",
     .about = "The plugin whose operation the node runs.",
     .value = MORTISE_V_STRING,
     .here = EXTENSION,
     .required = EXTENSION,
     .read = mortise_node_read_extension},
    {.name = "method",
     .about = "The operation of the plugin.",
     .value = MORTISE_V_STRING,
     .here = EXTENSION,
     .required = EXTENSION,
     .read = mortise_node_read_method},
    {.name = "operation",
     .about = "PLUGIN/OPERATION: what gives the id of the node to go to.",
     .value = MORTISE_V_STRING,
     .here = ROUTER,
     .read = mortise_node_read_operation},
    {.name = "effect_class",
     .about = "What the operation does to the world: pure, read, write or "
              "external; stricter than it says itself.",
     .value = MORTISE_V_WORD,
     .here = CALLS | HUMAN | ROUTER,
     .later = LATER,
     .words = node_effect_words,
     .read = mortise_node_read_effect_class},
    {.name = "on_in_doubt",
     .about = "What is done when nobody knows whether an effect happened: "
              "reconcile, retry, ask or fail.",
     .value = MORTISE_V_WORD,
     .here = CALLS | ROUTER,
     .later = LATER,
     .words = in_doubts,
     .read = mortise_node_read_on_in_doubt},
    {.name = "timeout",
     .about =
         "How long one attempt may take; waiting for a person does not count.",
     .value = MORTISE_V_DURATION,
     .here = CALLS | ROUTER | GUARDRAIL | SUBGRAPH,
     .later = LATER,
     .min = 1,
     .read = mortise_node_read_timeout},
    {.name = "retry_policy",
     .about = "How often, when and after which errors it is tried again.",
     .value = MORTISE_V_MAP,
     .here = CALLS | ROUTER | SUBGRAPH,
     .later = LATER,
     .place = &mortise_retry_place,
     .read = mortise_node_read_retry_policy},
    {.name = "input_schema",
     .about = "A JSON Schema for the arguments; a violation is an error of the "
              "node.",
     .value = MORTISE_V_SCHEMA,
     .here = CALLS | ROUTER,
     .later = LATER | SUBGRAPH,
     .read = mortise_node_read_input_schema},
    {.name = "output_schema",
     .about =
         "A JSON Schema for the output; a violation is an error of the node.",
     .value = MORTISE_V_SCHEMA,
     .here = CALLS | ROUTER,
     .later = LATER | SUBGRAPH,
     .read = mortise_node_read_output_schema},
    {.name = "args",
     .about = "What the plugin gets: JSON with ${...} templates.",
     .value = MORTISE_V_TEMPLATE,
     .here = CALLS | ROUTER,
     .later = GMI | VOICE | LEAF,
     .read = mortise_node_read_args},
    {.name = "graph",
     .about = "The graph inside: written here, or the name or path of a file.",
     MORTISE_FORMS(mortise_inner_forms),
     .here = SUBGRAPH,
     .required = SUBGRAPH,
     .later = TEAM,
     .read = mortise_node_read_graph},
    {.name = "input_mapping",
     .about = "Paths of the inner graph's input to expressions over this "
              "graph's state.",
     .value = MORTISE_V_MAP,
     .here = SUBGRAPH,
     .each = &expr_row,
     .read = mortise_node_read_input_mapping},
    {.name = "output_mapping",
     .about = "Paths of this graph's state to expressions over the inner "
              "graph's end state.",
     .value = MORTISE_V_MAP,
     .here = SUBGRAPH,
     .each = &expr_row,
     .read = mortise_node_read_output_mapping},
    {.name = "prompt",
     .about = "What the person is asked: a template.",
     .value = MORTISE_V_STRING,
     .here = HUMAN,
     .required = HUMAN,
     .later = GMI,
     .read = mortise_node_read_prompt},
    {.name = "schema",
     .about = "A JSON Schema for the answer.",
     .value = MORTISE_V_SCHEMA,
     .here = HUMAN,
     .read = mortise_node_read_schema},
    {.name = "assignees",
     .about = "Who is asked.",
     .value = MORTISE_V_STRINGS,
     .here = HUMAN,
     .read = mortise_node_read_assignees},
    {.name = "wait",
     .about = "How long the question stands (default: for ever).",
     .value = MORTISE_V_DURATION,
     .here = HUMAN,
     .min = 1,
     .read = mortise_node_read_wait},
    {.name = "on_timeout",
     .about = "What follows when nobody answers in time: error (the default), "
              "accept, reject, or {goto: NODE}.",
     MORTISE_FORMS(mortise_on_timeout_forms),
     .here = HUMAN,
     .read = mortise_node_read_on_timeout},
    {.name = "auto_accept",
     .about = "true: the question is accepted without asking.",
     .value = MORTISE_V_BOOL,
     .here = HUMAN,
     .read = mortise_node_read_auto_accept},
    {.name = "auto_reject",
     .about = "true, or a reason: the question is rejected without asking.",
     MORTISE_FORMS(mortise_auto_reject_forms),
     .here = HUMAN,
     .read = mortise_node_read_auto_reject},
    {.name = "post_approval_guardrails",
     .about = "Ids of guardrails that judge what was approved.",
     .value = MORTISE_V_STRINGS,
     .here = HUMAN,
     .read = mortise_node_read_post_approval},
    {.name = "guardrail_override",
     .about = "Whether an automatic acceptance is judged by the "
              "post_approval_guardrails, too.",
     .value = MORTISE_V_BOOL,
     .here = HUMAN,
     .read = mortise_node_read_guardrail_override},
    {.name = "guardrails",
     .about = "Ids of guardrails that judge the target, one after the other.",
     .value = MORTISE_V_STRINGS,
     .here = GUARDRAIL,
     .required = GUARDRAIL,
     .read = mortise_node_read_guardrails},
    {.name = "target",
     .about = "An expression: what is judged (default: the whole scratch).",
     .value = MORTISE_V_EXPR,
     .here = GUARDRAIL,
     .read = mortise_node_read_target},
    {.name = "on_violation",
     .about = "What follows a violation: block (the default), reroute, warn or "
              "sanitize.",
     .value = MORTISE_V_WORD,
     .here = GUARDRAIL,
     .words = mortise_violation_words,
     .read = mortise_node_read_on_violation},
    {.name = "reroute_target",
     .about = "The node to go to instead when something is violated.",
     .value = MORTISE_V_ID,
     .here = GUARDRAIL,
     .read = mortise_node_read_reroute_target},
    {.name = "guardrail_policy",
     .about =
         "Guardrails that judge what goes into the operation or the graph, "
         "and what comes out.",
     .value = MORTISE_V_MAP,
     .here = CALLS | SUBGRAPH,
     .later = LATER,
     .place = &mortise_guard_policy_place,
     .read = mortise_node_read_guard_policy},
    {.name = "outputs",
     .about = "Paths of the state to expressions over output.",
     .value = MORTISE_V_MAP,
     .here = WORKS,
     .later = LATER,
     .each = &expr_row,
     .read = mortise_node_read_outputs},
    {.name = "output_as",
     .about = "The artifact that the output becomes (default: the node's id); "
              "null: none.",
     MORTISE_FORMS(mortise_output_as_forms),
     .here = WORKS,
     .later = LATER,
     .read = mortise_node_read_output_as},
    {.name = "on_error",
     .about = "What follows a failure: fail (the default), {goto: NODE}, or "
              "{value: EXPRESSION}.",
     MORTISE_FORMS(mortise_on_error_forms),
     .here = ALL,
     .read = mortise_node_read_on_error},
    {.name = "depends_on",
     .about = "Nodes that must have ended before: a static edge from each.",
     .value = MORTISE_V_IDS,
     .here = ALL,
     .read = mortise_node_read_depends_on},
    {.name = "join",
     .about = "How a node with several edges into it starts: all (the "
              "default), any, {quorum: N} or best_effort (all, and a branch "
              "that failed is dropped).",
     MORTISE_FORMS(mortise_join_forms),
     .here = ALL,
     .read = mortise_node_read_join},
    {.name = "losers",
     .about = "What becomes of the branches that a join did not wait for: "
              "cancel (the default) or finish.",
     .value = MORTISE_V_WORD,
     .here = ALL,
     .later = LATER,
     .words = losers,
     .read = mortise_node_read_losers},
    {.name = "on_branch_error",
     .about = "What a failed branch is to the join: fail (the default of "
              "all), collect or drop (the default of any and quorum).",
     .value = MORTISE_V_WORD,
     .here = ALL,
     .later = LATER,
     .words = branch_errors,
     .read = mortise_node_read_on_branch_error},
    {.name = "next",
     .about = "The node or nodes that follow, always.",
     .value = MORTISE_V_IDS,
     .here = WORKS,
     .later = LATER,
     .read = mortise_node_read_next},
    {.name = "routes",
     .about = "Conditions and where they lead: the first that holds is taken.",
     MORTISE_FORMS(mortise_routes_forms),
     .here = ALL,
     .read = mortise_node_read_routes},
    {.name = "default",
     .about = "The node that follows when no route holds.",
     .value = MORTISE_V_ID,
     .here = ALL,
     .read = mortise_node_read_default},
    {.name = "condition",
     .about = "An expression that gives the id of the node to go to, one of "
              "the targets.",
     .value = MORTISE_V_EXPR,
     .here = ROUTER,
     .read = mortise_node_read_condition},
    {.name = "targets",
     .about = "The nodes that the node may choose to go to.",
     .value = MORTISE_V_IDS,
     .here = CALLS | ROUTER,
     .later = GMI | VOICE | LEAF,
     .read = mortise_node_read_targets},
    {.name = "map",
     .about = "One activation of a node for each element of a list.",
     .value = MORTISE_V_MAP,
     .here = WORKS,
     .later = LATER,
     .place = &mortise_map_place,
     .read = mortise_node_read_map},
    {.name = "max_visits",
     .about = "How often a loop may come through this node.",
     .value = MORTISE_V_INT,
     .here = ALL,
     .later = LATER,
     .min = 1,
     .max = 1e9,
     .read = mortise_node_read_max_visits},
    {.name = "capability",
     .about =
         "What the node can do, in words: discovery edges find it by them.",
     .value = MORTISE_V_STRING,
     .here = ALL,
     .later = LATER,
     .read = mortise_node_read_capability},
    {.name = "persona_policy",
     .about = "Traits that differ from the graph's, for this node.",
     .value = MORTISE_V_MAP,
     .here = WORKS,
     .later = GMI | VOICE,
     .place = &mortise_persona_place,
     .read = mortise_node_read_persona_policy},
    {.name = "resource",
     .about = "A name: nodes that write the same resource do not run beside "
              "each other.",
     .value = MORTISE_V_STRING,
     .here = CALLS,
     .later = AGENTS,
     .read = mortise_node_read_resource},
    {.name = "cache",
     .about = "true: what a pure operation gave for the same arguments before "
              "is its output, and it is not called.",
     .value = MORTISE_V_BOOL,
     .here = CALLS | ROUTER,
     .later = LATER,
     .read = mortise_node_read_cache},
    {.name = "checkpoint",
     .about = "What is on disk by then: before, after, both or none.",
     .value = MORTISE_V_WORD,
     .here = ALL,
     .later = LATER,
     .words = checkpoints,
     .read = read_checkpoint},
    {.name = "metadata",
     .about = "Yours; opaque to Mortise.",
     .value = MORTISE_V_ANY,
     .here = ALL},

    {.name = "execution_mode", .later = ALL},
    {.name = "complexity", .later = ALL},
    {.name = "llm", .later = ALL},
    {.name = "memory_policy", .later = ALL},
    {.name = "discovery_policy", .later = ALL},
    {.name = "judge", .later = HUMAN},
    {.name = "instructions", .later = GMI},
    {.name = "tool_allowlist", .later = AGENTS},
    {.name = "max_internal_iterations", .later = AGENTS},
    {.name = "temperature", .later = AGENTS},
    {.name = "max_tokens", .later = AGENTS},
    {.name = "parallel_tools", .later = GMI},
    {.name = "stream", .later = GMI},
    {.name = "response", .later = GMI},
    {.name = "tool_errors", .later = GMI},
    {.name = "planner", .later = AGENTS},
    {.name = "goal", .later = LEAF | TEAM},
    {.name = "role", .later = LEAF | TEAM},
    {.name = "compaction", .later = LEAF | TEAM},
    {.name = "synthesis", .later = TEAM},
    {.name = "voice", .later = VOICE},
};

static const struct mortise_place place = {.what = "a node",
                                           .keys = keys,
                                           .n = sizeof keys / sizeof keys[0],
                                           .types = types,
                                           .select = "type"};

const struct mortise_key mortise_node_row = {.value = MORTISE_V_MAP,
                                             .place = &place};

/* ---- one node -------------------------------------------------------- */

/* `type`, or 0 after a finding. */
static int read_type(struct mortise_loader *ld, const struct mortise_yaml *key,
                     const struct mortise_yaml *map)
{
    const struct mortise_yaml *v = mortise_yaml_get(map, "type");
    const struct mortise_word *w;

    if (map->kind != MORTISE_YAML_MAP) {
        mortise_diag_add(ld->diags, "E0203", map->span,
                         "a node is a mapping, and this is %s",
                         mortise_yaml_kind_name(map->kind));
        return 0;
    }
    if (v == NULL && mortise_yaml_get(map, "goal") != NULL) {
        mortise_diag_add(ld->diags, "E0205", key->span,
                         "node type 'leaf' (a node with a goal) is not "
                         "available in this build");
        return 0;
    }
    if (v == NULL) {
        mortise_diag_add(ld->diags, "E0206", key->span,
                         "node '%s' needs the key 'type'", key->str);
        return 0;
    }
    w = mortise_word_find(type_words, "node type", v, ld->diags);
    return w != NULL ? w->value : 0;
}

static void start_node(struct mortise_loader *ld, struct mortise_reading *r)
{
    struct mortise_node *node = r->node;

    ld->names[MORTISE_IN_OUTPUT].schema = node->type == MORTISE_NODE_HUMAN
                                              ? mortise_load_decision(ld, NULL)
                                              : NULL;
    node->join.kind = MORTISE_JOIN_ALL;
    for (int i = 0; i < MORTISE_N_RULES; i++)
        node->join.on_branch_error[i] = MORTISE_BRANCH_FAIL;
    node->max_visits = ld->g->limits.visits;
    node->retry = mortise_retry_default;
    node->on_timeout = MORTISE_TIMEOUT_ERROR;
    node->on_violation = MORTISE_VIOLATION_BLOCK;
    node->effect =
        node->type == MORTISE_NODE_GUARDRAIL ? MORTISE_READ : MORTISE_PURE;
    if (node->type != MORTISE_NODE_ROUTER)
        node->output_as = node->id;
}

/* What `defaults` say for those that say nothing. */
static void apply_defaults(struct mortise_loader *ld, struct mortise_reading *r)
{
    struct mortise_node *node = r->node;
    bool calls = node->type == MORTISE_NODE_TOOL ||
                 node->type == MORTISE_NODE_EXTENSION || node->op != NULL;

    if (calls && !r->has_effect && ld->defaults.effect > node->effect)
        node->effect = ld->defaults.effect;
    if (calls && !r->has_retry)
        node->retry = ld->defaults.retry;
    if ((calls || node->type == MORTISE_NODE_GUARDRAIL ||
         node->guards[MORTISE_GUARD_DECISION].n > 0) &&
        node->timeout_ms == 0)
        node->timeout_ms = ld->defaults.timeout_ms;
}

static void finish_node(struct mortise_loader *ld, struct mortise_reading *r)
{
    const struct mortise_schema *input =
        r->node->op != NULL ? r->node->op->input : NULL;

    ld->output_of[r->node->index] = ld->names[MORTISE_IN_OUTPUT].schema;
    apply_defaults(ld, r);
    mortise_node_check_resource(ld, r);
    mortise_node_check_cache(ld, r);
    if (input != NULL)
        mortise_node_check_args(ld, r, input);
    if (r->node->op != NULL)
        mortise_node_check_secrets(ld, r);
    if (r->node->type == MORTISE_NODE_GUARDRAIL)
        mortise_node_finish_guardrail(ld, r);
    if (r->node->type == MORTISE_NODE_HUMAN)
        mortise_node_finish_human(ld, r);
    if (r->node->type == MORTISE_NODE_ROUTER)
        mortise_node_finish_router(ld, r);
    if (r->node->type == MORTISE_NODE_SUBGRAPH)
        mortise_node_finish_subgraph(ld, r);
    mortise_node_finish_output(ld, r);
}

static void read_node(struct mortise_loader *ld, struct mortise_node *node,
                      const struct mortise_yaml *key,
                      const struct mortise_yaml *map)
{
    struct mortise_reading r = {.node = node, .key = key, .map = map};
    int type = read_type(ld, key, map);

    if (type == 0) {
        mortise_keys_unknown(&place, map, ld->diags);
        mortise_check_role(ld, map);
        return;
    }
    node->type = (enum mortise_node_type)type;
    start_node(ld, &r);
    mortise_keys_read(&place, (uint32_t)1 << (type - 1), map, key->span, ld, &r,
                      ld->diags);
    if (!ld->nomem)
        finish_node(ld, &r);
}

/* ---- all nodes ------------------------------------------------------- */

static void check_id(struct mortise_loader *ld, const struct mortise_yaml *key)
{
    if (strcmp(key->str, "START") == 0 || strcmp(key->str, "END") == 0)
        mortise_diag_add(ld->diags, "E0302", key->span,
                         "'%s' is reserved and cannot be the id of a node",
                         key->str);
    else if (!mortise_node_is_id(key->str))
        mortise_node_bad_id(ld, key);
}

/* Ids first: edges lead forward, too. */
static void number_nodes(struct mortise_loader *ld,
                         const struct mortise_yaml *map)
{
    struct mortise_graph *g = ld->g;
    const char **ids = mortise_load_alloc(ld, (map->n + 1) * sizeof *ids);

    g->nodes = mortise_load_alloc(ld, map->n * sizeof *g->nodes);
    g->node_at = mortise_load_alloc(ld, map->n * sizeof *g->node_at);
    ld->output_of = mortise_load_alloc(ld, map->n * sizeof *ld->output_of);
    if (ld->nomem)
        return;
    for (size_t i = 0; i < map->n; i++) {
        struct mortise_node *node = &g->nodes[g->n_nodes];

        g->node_at[i] = UINT32_MAX;
        if (mortise_yaml_is_x(map->keys[i]->str))
            continue;
        check_id(ld, map->keys[i]);
        node->id = map->keys[i]->str;
        node->span = map->keys[i]->span;
        node->index = g->n_nodes;
        ids[g->n_nodes] = node->id;
        g->node_at[i] = g->n_nodes++;
    }
    g->nodes_map = map;
    ids[g->n_nodes] = "END";
    ld->ids = ids;
    ld->n_ids = g->n_nodes + 1;
}

void mortise_load_nodes(struct mortise_loader *ld,
                        const struct mortise_yaml *key,
                        const struct mortise_yaml *map)
{
    number_nodes(ld, map);
    if (ld->nomem)
        return;
    ld->root->n_nodes += ld->g->n_nodes;
    if (ld->g->n_nodes == 0 || ld->root->n_nodes > ld->root->max_nodes) {
        mortise_diag_add(
            ld->diags, "E0311", key->span,
            "the graph has %llu nodes; from 1 to %llu are allowed",
            ld->g->n_nodes == 0 ? 0 : (unsigned long long)ld->root->n_nodes,
            (unsigned long long)ld->root->max_nodes);
        return;
    }
    for (size_t i = 0; i < map->n && !ld->nomem; i++)
        if (ld->g->node_at[i] != UINT32_MAX)
            read_node(ld, &ld->g->nodes[ld->g->node_at[i]], map->keys[i],
                      map->items[i]);
}
