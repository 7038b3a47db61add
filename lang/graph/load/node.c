/* node.c -- nodes: the keys that several kinds share, and the reading of a
 * node.
 *
 * Each kind has its own table of keys (graph/kinds/), which combines the shared
 * rows of this file with its own.  Keys of a later version get another message
 * than misspelled keys.
 *
 * Keys are read in the order of the table: first the operation of the node,
 * then the keys that depend on it (arguments on the operation, conditions on
 * the schema of `output`), then its edges.
 */
#include "core/model/structure.h"
#include "lang/graph/load/node.h"

#include <math.h>
#include <string.h>

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

/* ---- rows ------------------------------------------------------------ */

enum { HOLD_BACK = 512 }; /* the default of hold_back, in bytes */
enum { BEFORE = 1, AFTER = 2 };

static const struct mortise_word checkpoints[] = {
    {"before", BEFORE, false},
    {"after", AFTER, false},
    {"both", BEFORE | AFTER, false},
    {"none", 0, false},
    {NULL, 0, false},
};

static void read_node_checkpoint(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

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

const struct mortise_key mortise_type_row = {.name = "type",
                                             .about = "The type of the node.",
                                             .value = MORTISE_V_WORD,
                                             .words = mortise_node_words};

const struct mortise_key mortise_effect_row = {
    .name = "effect_class",
    .about = "The effect class of the operation: pure, read, write or "
             "external. It can only be stricter than the operation's own.",
    .value = MORTISE_V_WORD,
    .words = node_effect_words,
    .read = mortise_node_read_effect_class};

/* An inner graph's timeout must be a literal: its timer is restored after a
 * crash from the graph alone.  Tools of a node have no names in scope for a
 * template. */
static bool can_template_timeout(const struct mortise_node *node,
                                 const struct mortise_slot *slot)
{
    return slot->place->of == &mortise_node_place &&
           node->type != MORTISE_NODE_SUBGRAPH &&
           node->type != MORTISE_NODE_TEAM;
}

static void read_node_timeout(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node *node = ((struct mortise_node_reader *)into)->node;

    if (mortise_tmpl_has_expr(slot->value) && !can_template_timeout(node, slot))
        mortise_diag_add(ld->diags, "E0203", slot->value->span,
                         "'timeout' cannot be a template in a subgraph, a team "
                         "or a tool of a node");
    else
        mortise_load_duration(ld, slot, node->index, &node->timeout_ms,
                              &node->timeout);
}

const struct mortise_key mortise_timeout_row = {
    .name = "timeout",
    .about =
        "The longest time of one attempt; waiting for a person does not count.",
    MORTISE_FORMS(mortise_duration_forms),
    .read = read_node_timeout};

const struct mortise_key mortise_retry_row = {
    .name = "retry_policy",
    .about = "How often, when and after which errors the node is retried.",
    .value = MORTISE_V_MAP,
    .place = &mortise_retry_place,
    .read = mortise_load_retry,
    .in = mortise_node_reader_get_node,
    MORTISE_AT(struct mortise_retry, struct mortise_node, retry)};

const struct mortise_key mortise_call_rows[6] = {
    MORTISE_ROW(mortise_effect_row),
    {.name = "on_in_doubt",
     .about =
         "How an effect in doubt is settled: reconcile, retry, ask or fail.",
     .value = MORTISE_V_WORD,
     .words = in_doubts,
     .read = mortise_node_read_on_in_doubt},
    MORTISE_ROW(mortise_timeout_row),
    MORTISE_ROW(mortise_retry_row),
    {.name = "input_schema",
     .about = "A JSON Schema for the arguments; a violation is an error of the "
              "node.",
     .value = MORTISE_V_SCHEMA,
     .read = mortise_load_schema,
     .in = mortise_node_reader_get_node,
     MORTISE_AT(struct mortise_schema *, struct mortise_node, input_schema)},
    {.name = "output_schema",
     .about =
         "A JSON Schema for the output; a violation is an error of the node.",
     .value = MORTISE_V_SCHEMA,
     .read = mortise_node_read_output_schema,
     .in = mortise_node_reader_get_node,
     MORTISE_AT(struct mortise_schema *, struct mortise_node, output_schema)},
};

const struct mortise_key mortise_args_row = {
    .name = "args",
    .about = "The arguments of the operation: JSON with ${...} templates.",
    .value = MORTISE_V_TEMPLATE,
    .read = mortise_node_read_args};

const struct mortise_key mortise_policy_row = {
    .name = "guardrail_policy",
    .about = "Guardrails that check the input and the output of the operation "
             "or the inner graph.",
    .value = MORTISE_V_MAP,
    .place = &mortise_guard_policy_place,
    .read = mortise_node_read_guard_policy};

const struct mortise_key mortise_output_rows[2] = {
    {.name = "outputs",
     .about = "Maps paths of the state to expressions over output.",
     .value = MORTISE_V_MAP,
     .each = &expr_row,
     .read = mortise_node_read_outputs},
    {.name = "output_as",
     .about = "The artifact that stores the output (default: the node's id); "
              "null: none.",
     MORTISE_FORMS(mortise_output_as_forms),
     .read = mortise_node_read_output_as},
};

const struct mortise_key mortise_join_rows[5] = {
    {.name = "on_error",
     .about = "The reaction to a failure: fail (the default), {goto: NODE}, or "
              "{value: EXPRESSION}.",
     MORTISE_FORMS(mortise_on_error_forms),
     .read = mortise_node_read_on_error},
    {.name = "depends_on",
     .about = "Nodes that must end before this node: a static edge from each.",
     .value = MORTISE_V_IDS,
     .read = mortise_node_read_depends_on},
    {.name = "join",
     .about = "When a node with several incoming edges starts: all (the "
              "default), any, {quorum: N}, best_effort (all, without branches "
              "that failed) or settled (all have ended, also if they failed).",
     MORTISE_FORMS(mortise_join_forms),
     .read = mortise_node_read_join},
    {.name = "losers",
     .about = "Branches that the join did not wait for, and that lead nowhere "
              "else: cancel them (the default) or let them finish.",
     .value = MORTISE_V_WORD,
     .words = losers,
     .read = mortise_node_read_losers},
    {.name = "on_branch_error",
     .about = "The effect of a failed branch (an edge or a map element) on the "
              "join: fail (the node does not start; the default of all), "
              "collect (node.failed lists it) or drop (the default of any, "
              "quorum and best_effort).",
     .value = MORTISE_V_WORD,
     .words = branch_errors,
     .read = mortise_node_read_on_branch_error},
};

const struct mortise_key mortise_next_row = {
    .name = "next",
    .about = "The node or nodes that always follow.",
    .value = MORTISE_V_IDS,
    .read = mortise_node_read_next};

const struct mortise_key mortise_route_rows[2] = {
    {.name = "routes",
     .about = "Conditions and their targets: the first route whose condition "
              "is true is taken.",
     MORTISE_FORMS(mortise_routes_forms),
     .read = mortise_node_read_routes},
    {.name = "default",
     .about = "The next node if no condition is true, or {map: ...}.",
     MORTISE_FORMS(mortise_default_forms),
     .read = mortise_node_read_default},
};

const struct mortise_key mortise_targets_row = {
    .name = "targets",
    .about = "The nodes that this node can choose as the next one.",
    .value = MORTISE_V_IDS,
    .read = mortise_node_read_targets};

const struct mortise_key mortise_map_row = {
    .name = "map",
    .about = "One execution of a node for each element of a list.",
    .value = MORTISE_V_MAP,
    .place = &mortise_map_place,
    .read = mortise_node_read_map};

const struct mortise_key mortise_visit_rows[2] = {
    {.name = "max_visits",
     .about = "The highest number of executions of this node in a loop.",
     .value = MORTISE_V_INT,
     .min = 1,
     .max = 1e9,
     .read = mortise_node_read_max_visits},
    {.name = "capability",
     .about = "A description of what the node can do. Discovery edges search "
              "it, and models that can hand over to the node get it.",
     .value = MORTISE_V_STRING,
     .in = mortise_node_reader_get_node,
     MORTISE_INTO_TEXT(struct mortise_node, capability)},
};

const struct mortise_key mortise_persona_row = {
    .name = "persona_policy",
    .about = "Differences of this node's persona from the graph's.",
    .value = MORTISE_V_MAP,
    .place = &mortise_persona_place,
    .read = mortise_node_read_persona_policy};

const struct mortise_key mortise_resource_row = {
    .name = "resource",
    .about = "A name: nodes that write the same resource never run at once.",
    .value = MORTISE_V_STRING,
    .read = mortise_node_read_resource};

const struct mortise_key mortise_cache_row = {
    .name = "cache",
    .about = "true: reuse the earlier output of a pure operation for the same "
             "arguments instead of calling it.",
    .in = mortise_node_reader_get_node,
    MORTISE_INTO_BOOL(struct mortise_node, cache)};

const struct mortise_key mortise_end_rows[2] = {
    {.name = "checkpoint",
     .about = "When the node is written to disk: before, after, both or none.",
     .value = MORTISE_V_WORD,
     .words = checkpoints,
     .read = read_node_checkpoint},
    {.name = "metadata",
     .about = "Your own data; Mortise ignores it.",
     .value = MORTISE_V_ANY},
};

const struct mortise_key mortise_memory_row = {
    .name = "memory_policy",
    .about = "What the node reads from memory before it runs, and what it "
             "writes after.",
    .value = MORTISE_V_MAP,
    .place = &mortise_memory_policy_place,
    .read = mortise_node_read_memory_policy};

const struct mortise_key mortise_discovery_row = {
    .name = "discovery_policy",
    .about = "A search before the node runs, which selects its tools and the "
             "skills in its prompt.",
    .value = MORTISE_V_MAP,
    .place = &mortise_discovery_policy_place,
    .read = mortise_node_read_discovery_policy};

const struct mortise_key mortise_later_rows[3] = {
    {.name = "complexity", .later = true},
    {.name = "execution_mode", .later = true},
    {.name = "llm", .later = true},
};

const struct mortise_key mortise_last_rows[2] = {
    MORTISE_ROWS(mortise_end_rows),
    MORTISE_ROWS(mortise_later_rows),
};

const struct mortise_key mortise_work_rows[8] = {
    MORTISE_ROWS(mortise_output_rows), MORTISE_ROWS(mortise_join_rows),
    MORTISE_ROW(mortise_next_row),     MORTISE_ROWS(mortise_route_rows),
    MORTISE_ROW(mortise_map_row),      MORTISE_ROWS(mortise_visit_rows),
    MORTISE_ROW(mortise_persona_row),  MORTISE_ROWS(mortise_last_rows),
};

const struct mortise_key mortise_operation_rows[16] = {
    MORTISE_ROWS(mortise_call_rows),  MORTISE_ROW(mortise_args_row),
    MORTISE_ROW(mortise_policy_row),  MORTISE_ROWS(mortise_output_rows),
    MORTISE_ROWS(mortise_join_rows),  MORTISE_ROW(mortise_next_row),
    MORTISE_ROWS(mortise_route_rows), MORTISE_ROW(mortise_targets_row),
    MORTISE_ROW(mortise_map_row),     MORTISE_ROWS(mortise_visit_rows),
    MORTISE_ROW(mortise_persona_row), MORTISE_ROW(mortise_resource_row),
    MORTISE_ROW(mortise_cache_row),   MORTISE_ROWS(mortise_end_rows),
    MORTISE_ROW(mortise_memory_row),  MORTISE_ROWS(mortise_later_rows),
};

const struct mortise_place mortise_node_place = {.what = "a node",
                                                 .keys = &mortise_type_row,
                                                 .n = 1,
                                                 .types = mortise_node_types,
                                                 .select = "type"};

const struct mortise_key mortise_node_row = {.value = MORTISE_V_MAP,
                                             .place = &mortise_node_place};

bool mortise_node_has_key(const struct mortise_node_reader *r, const char *key)
{
    const struct mortise_node_kind *kind = mortise_node_kind_of(r->node->type);

    return mortise_keys_has_key(&kind->place, r->map, key);
}

/* ---- one node -------------------------------------------------------- */

/* The kind that a key implies if `type` is missing; UNREAD: none. */
static enum mortise_node_type get_implied_type(const struct mortise_yaml *map)
{
    for (int type = MORTISE_NODE_UNKNOWN + 1; type < MORTISE_NODE_TYPES;
         type++) {
        const struct mortise_node_kind *kind =
            mortise_node_kind_of((enum mortise_node_type)type);

        if (kind->place.implied_by != NULL &&
            mortise_yaml_get(map, kind->place.implied_by) != NULL)
            return (enum mortise_node_type)type;
    }
    return MORTISE_NODE_UNKNOWN;
}

/* The type of the node; UNREAD after a finding. */
static enum mortise_node_type read_node_type(struct mortise_loader *ld,
                                             const struct mortise_yaml *key,
                                             const struct mortise_yaml *map)
{
    const struct mortise_yaml *v = mortise_yaml_get(map, "type");
    enum mortise_node_type implied;
    const struct mortise_word *w;

    if (map->kind != MORTISE_YAML_MAP) {
        mortise_diag_add(ld->diags, "E0203", map->span,
                         "a node must be a mapping, not %s",
                         mortise_yaml_kind_name(map->kind));
        return MORTISE_NODE_UNKNOWN;
    }
    if (v == NULL) {
        implied = get_implied_type(map);
        if (implied != MORTISE_NODE_UNKNOWN)
            return implied;
        if (!mortise_keys_has_key(&mortise_node_place, map, "type"))
            mortise_diag_add(ld->diags, "E0206", key->span,
                             "node '%s' needs the key 'type'", key->str);
        return MORTISE_NODE_UNKNOWN;
    }
    w = mortise_word_find(mortise_node_words, "node type", v, ld->diags);
    return w != NULL ? (enum mortise_node_type)w->value : MORTISE_NODE_UNKNOWN;
}

void mortise_node_begin(struct mortise_loader *ld,
                        struct mortise_node_reader *r,
                        const struct mortise_node_kind *kind)
{
    struct mortise_node *node = r->node;

    if (kind->size > 0)
        node->own = mortise_load_alloc(ld, kind->size);
    ld->names[MORTISE_IN_OUTPUT].schema = NULL;
    node->join.kind = MORTISE_JOIN_ALL;
    node->join.on_branch_error = MORTISE_BRANCH_FAIL;
    node->max_visits = ld->g->limits.visits;
    node->retry = mortise_retry_default;
    node->on_violation = MORTISE_VIOLATION_BLOCK;
    node->hold_back = HOLD_BACK;
    node->effect = MORTISE_PURE;
    node->complexity = NAN;
    if (mortise_node_gives(node) != MORTISE_GIVES_ROUTE)
        node->output_as = node->id;
}

void mortise_node_apply_defaults(struct mortise_loader *ld,
                                 struct mortise_node_reader *r)
{
    struct mortise_node *node = r->node;

    if (node->op != NULL && !r->has_effect &&
        ld->defaults.effect > node->effect)
        node->effect = ld->defaults.effect;
    if (node->op != NULL && mortise_yaml_get(r->map, "retry_policy") == NULL)
        node->retry = ld->defaults.retry;
    if (mortise_yaml_get(r->map, "timeout") != NULL) {
        node->timeout_of = NULL;
    } else if ((node->op != NULL || node->guards[MORTISE_GUARD_TARGET].n > 0) &&
               node->timeout_ms == 0) {
        node->timeout_ms = ld->defaults.timeout_ms;
        node->timeout_of = "the graph's defaults.timeout";
    }
}

static void finish_node_keys(struct mortise_loader *ld,
                             struct mortise_node_reader *r,
                             const struct mortise_node_kind *kind)
{
    const struct mortise_schema *input =
        r->node->op != NULL ? r->node->op->input : NULL;

    ld->output_of[r->node->index] = ld->names[MORTISE_IN_OUTPUT].schema;
    mortise_node_apply_defaults(ld, r);
    mortise_node_complete_memory(ld, r);
    mortise_node_check_resource(ld, r);
    mortise_node_check_cache(ld, r);
    if (kind->finish != NULL)
        kind->finish(ld, r);
    if (input != NULL)
        mortise_node_check_args(ld, r, input);
    if (r->node->op != NULL)
        mortise_node_check_secrets(ld, r);
    mortise_node_complete_output(ld, r);
}

static void read_graph_node(struct mortise_loader *ld,
                            struct mortise_node *node,
                            const struct mortise_yaml *key,
                            const struct mortise_yaml *map)
{
    struct mortise_node_reader r = {.node = node, .key = key, .map = map};
    const struct mortise_node_kind *kind;

    node->type = read_node_type(ld, key, map);
    kind = mortise_node_kind_of(node->type);
    if (kind == NULL) {
        mortise_keys_report_unknown(&mortise_node_place, map, ld->diags);
        return;
    }
    mortise_node_begin(ld, &r, kind);
    if (kind->begin != NULL && !ld->nomem)
        kind->begin(ld, &r);
    if (!ld->nomem)
        mortise_keys_read(&kind->place, map, key->span, ld, &r, ld->diags);
    if (!ld->nomem)
        finish_node_keys(ld, &r, kind);
}

/* ---- all nodes ------------------------------------------------------- */

static void check_node_id(struct mortise_loader *ld,
                          const struct mortise_yaml *key)
{
    if (strcmp(key->str, "START") == 0 || strcmp(key->str, "END") == 0)
        mortise_diag_add(ld->diags, "E0302", key->span,
                         "'%s' is reserved and cannot be the id of a node",
                         key->str);
    else if (!mortise_node_is_id(key->str))
        mortise_node_report_bad_id(ld, key);
}

/* Number all nodes first, because edges may lead to later nodes. */
static void number_nodes(struct mortise_loader *ld,
                         const struct mortise_yaml *map)
{
    struct mortise_graph *g = ld->g;
    const char **ids = mortise_load_alloc(ld, (map->n + 1) * sizeof *ids);

    g->nodes = mortise_load_alloc(ld, map->n * sizeof *g->nodes);
    ld->output_of = mortise_load_alloc(ld, map->n * sizeof *ld->output_of);
    ld->known_of = mortise_load_alloc(ld, map->n * sizeof *ld->known_of);
    if (ld->nomem)
        return;
    for (size_t i = 0; i < map->n; i++) {
        struct mortise_node *node = &g->nodes[g->n_nodes];

        if (mortise_yaml_is_x_key(map->keys[i]->str))
            continue;
        check_node_id(ld, map->keys[i]);
        node->id = map->keys[i]->str;
        node->span = map->keys[i]->span;
        node->index = g->n_nodes;
        ids[g->n_nodes++] = node->id;
    }
    ld->nomem |= mortise_graph_sort_nodes(g, ld->arena) != MORTISE_OK;
    g->nodes_map = map;
    ids[g->n_nodes] = "END";
    ld->ids = ids;
    ld->n_ids = g->n_nodes + 1;
}

void mortise_load_nodes(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    const struct mortise_yaml *map = slot->value;

    (void)into;
    mortise_load_scope(ld, map);
    if (!ld->nomem)
        number_nodes(ld, map);
    if (ld->nomem)
        return;
    ld->root->n_nodes += ld->g->n_nodes;
    if (ld->g->n_nodes == 0 || ld->root->n_nodes > ld->root->max_nodes) {
        mortise_diag_add(
            ld->diags, "E0311", slot->name->span,
            "the graph has %llu nodes, but must have 1 to %llu",
            ld->g->n_nodes == 0 ? 0 : (unsigned long long)ld->root->n_nodes,
            (unsigned long long)ld->root->max_nodes);
        return;
    }
    for (size_t i = 0, n = 0; i < map->n && !ld->nomem; i++)
        if (!mortise_yaml_is_x_key(map->keys[i]->str))
            read_graph_node(ld, &ld->g->nodes[n++], map->keys[i],
                            map->items[i]);
}
