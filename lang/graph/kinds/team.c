/* team.c -- teams: a task graph inside a task graph, with one result.
 *
 * The inner graph is written in the node.  The loader adds a node `synthesis`
 * to it, which depends on all sinks, the nodes on which no other depends.  The
 * output of `synthesis` is the team's.  The node is a leaf with the team's
 * goal, role (default: synthesizer), llm and max_tokens; or it calls the
 * operation that `synthesis` names, with the arguments
 *
 *     {goal, results: {ID: output ...}}
 *
 * The input of the inner graph is {goal}, the goal of the team with its
 * templates evaluated.  The first leaves in it receive this goal and the
 * results that the team depends on, as if those nodes preceded them
 * (core/run/outcome/predecessors.c).
 *
 * In all other respects (paths, events, commands, limits.depth) the inner graph
 * is like any other.
 */
#include <stdio.h>
#include <string.h>

#include "lang/graph/load/node.h"

/* the node that the loader adds */
static const char synthesis_id[] = "synthesis";

struct team {                      /* `own` of its node */
    struct mortise_built_map leaf; /* the team's keys for the synthesis leaf */
    const struct mortise_yaml *by; /* an operation instead of the leaf; NULL:
                                    * none */
};

static struct team *get_team_data(const struct mortise_node_reader *r)
{
    return r->node->own;
}

/* ---- keys ------------------------------------------------------------------ */

static void read_team_goal(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    mortise_load_defer(ctx, mortise_load_deferred_tmpl, &r->node->input_goal,
                       slot->value, r->node->index, MORTISE_IN_OUTPUT);
}

/* The reader of the leaf checks the value. */
static void read_synthesis_key(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    mortise_built_map_add(ctx, &get_team_data(r)->leaf, slot->name,
                          slot->value);
}

static void read_team_role(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;
    const struct mortise_role *role = mortise_role_find(ctx, slot->value);

    read_synthesis_key(ctx, into, slot);
    if (role == NULL)
        return;
    r->node->role = role->id;
    r->node->role_name = role->display_name;
    r->node->approve_whole = role->requires_approval;
}

/* An operation for the synthesis chooses its own model. */
static void read_synthesis_model_key(void *ctx, void *into,
                                     const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    if (!mortise_slot_has_sibling(slot, "synthesis"))
        read_synthesis_key(ctx, into, slot);
    else
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'%s' has no effect with 'synthesis': an operation "
                         "combines the results, not a leaf",
                         slot->name->str);
}

static void read_team_synthesis(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct mortise_node_reader *r = into;

    (void)ctx;
    get_team_data(r)->by = slot->value;
}

static void read_team_graph(void *ctx, void *into,
                            const struct mortise_slot *slot);

static const struct mortise_key keys[] = {
    MORTISE_ROW(mortise_type_row),
    MORTISE_ROW(mortise_timeout_row),
    MORTISE_ROW(mortise_retry_row),
    {.name = "goal",
     .about = "The task of the team. Its first nodes and the node that "
              "combines the results get it.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_team_goal},
    {.name = "role",
     .about = "The role of the node that combines the team's results (default: "
              "synthesizer).",
     .value = MORTISE_V_STRING,
     .read = read_team_role},
    {.name = "llm",
     .about = "The model that combines the results.",
     .value = MORTISE_V_MAP,
     .place = &mortise_llm_place,
     .read = read_synthesis_model_key},
    {.name = "max_tokens",
     .about = "The longest result in tokens, including reasoning.",
     .value = MORTISE_V_INT,
     .min = 1,
     .max = 1e9,
     .read = read_synthesis_model_key},
    {.name = "synthesis",
     .about = "PLUGIN/OPERATION that combines the team's results, instead of a "
              "leaf.",
     .value = MORTISE_V_STRING,
     .read = read_team_synthesis},
    {.name = "graph",
     .about = "The inner task graph.",
     .value = MORTISE_V_MAP,
     .place = &mortise_inner_place,
     .required = true,
     .read = read_team_graph},
    MORTISE_ROW(mortise_compaction_row),
    MORTISE_ROW(mortise_policy_row),
    MORTISE_ROWS(mortise_output_rows),
    MORTISE_ROWS(mortise_join_rows),
    MORTISE_ROW(mortise_next_row),
    MORTISE_ROWS(mortise_route_rows),
    MORTISE_ROW(mortise_map_row),
    MORTISE_ROWS(mortise_visit_rows),
    MORTISE_ROWS(mortise_end_rows),
};

/* ---- the synthesis node -------------------------------------------------- */

static bool is_end_id(const struct mortise_yaml *to)
{
    return to->kind == MORTISE_YAML_STRING && strcmp(to->str, "END") == 0;
}

/* Has the node a key with an edge to a node other than END? */
static bool has_outgoing_key(const struct mortise_yaml *node)
{
    static const char *const ways[] = {"next", "routes",  "default",
                                       "map",  "targets", "handoffs"};

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        const struct mortise_yaml *way = mortise_yaml_get(node, ways[i]);

        if (way != NULL && !is_end_id(way))
            return true;
    }
    return false;
}

/* Is the id in the list, or is the single id equal? */
static bool list_contains_id(const struct mortise_yaml *ids, const char *id)
{
    if (ids == NULL)
        return false;
    if (ids->kind == MORTISE_YAML_STRING)
        return strcmp(ids->str, id) == 0;
    for (size_t i = 0; ids->kind == MORTISE_YAML_SEQ && i < ids->n; i++)
        if (list_contains_id(ids->items[i], id))
            return true;
    return false;
}

/* Does no node follow this one? */
static bool is_sink_node(const struct mortise_yaml *graph,
                         const struct mortise_yaml *nodes, size_t which)
{
    const struct mortise_yaml *edges = mortise_yaml_get(graph, "edges");
    const char *id = nodes->keys[which]->str;

    if (mortise_yaml_is_x_key(id) || has_outgoing_key(nodes->items[which]))
        return false;
    for (size_t i = 0; i < nodes->n; i++)
        if (nodes->items[i]->kind == MORTISE_YAML_MAP &&
            list_contains_id(mortise_yaml_get(nodes->items[i], "depends_on"),
                             id))
            return false;
    for (size_t i = 0;
         edges != NULL && edges->kind == MORTISE_YAML_SEQ && i < edges->n;
         i++) {
        const struct mortise_yaml *from =
            edges->items[i]->kind == MORTISE_YAML_MAP
                ? mortise_yaml_get(edges->items[i], "from")
                : NULL;
        const struct mortise_yaml *to =
            from != NULL ? mortise_yaml_get(edges->items[i], "to") : NULL;

        if (from != NULL && list_contains_id(from, id) &&
            (to == NULL || !is_end_id(to)))
            return false;
    }
    return true;
}

static void put_team_key(struct mortise_loader *ld,
                         struct mortise_built_map *to, const char *key,
                         const struct mortise_yaml *value,
                         const struct mortise_yaml *at)
{
    mortise_built_map_add(ld, to, mortise_yaml_make_text(ld, key, at), value);
}

/* {goal, results: {ID: ${artifacts["ID"]} ...}} */
static const struct mortise_yaml *
make_synthesis_args(struct mortise_loader *ld, const struct mortise_yaml *sinks,
                    const struct mortise_yaml *at)
{
    struct mortise_built_map args = {.n = 0}, results = {.n = 0};
    char room[128];

    for (size_t i = 0; i < sinks->n; i++) {
        const char *id = sinks->items[i]->str, *text;

        snprintf(room, sizeof room, "${artifacts[\"%.64s\"]}", id);
        text = mortise_arena_strdup(ld->arena, room);
        ld->nomem |= text == NULL;
        if (text != NULL)
            put_team_key(ld, &results, id, mortise_yaml_make_text(ld, text, at),
                         at);
    }
    put_team_key(ld, &args, "goal",
                 mortise_yaml_make_text(ld, "${input.goal}", at), at);
    put_team_key(ld, &args, "results",
                 mortise_built_map_to_yaml(ld, &results, at->span), at);
    return mortise_built_map_to_yaml(ld, &args, at->span);
}

/* The keys of the team for its leaf, with a default for the role. */
static void put_leaf_keys(struct mortise_loader *ld,
                          struct mortise_built_map *node,
                          const struct mortise_built_map *said,
                          const struct mortise_yaml *at)
{
    bool plays = false;

    for (size_t i = 0; i < said->n; i++) {
        mortise_built_map_add(ld, node, said->keys[i], said->items[i]);
        plays |= strcmp(said->keys[i]->str, "role") == 0;
    }
    if (!plays)
        put_team_key(ld, node, "role",
                     mortise_yaml_make_text(ld, "synthesizer", at), at);
}

static const struct mortise_yaml *
make_synthesis_node(struct mortise_loader *ld, const struct team *team,
                    const struct mortise_yaml *sinks,
                    const struct mortise_yaml *at)
{
    struct mortise_built_map node = {.n = 0};

    if (team->by != NULL) {
        put_team_key(ld, &node, "type", mortise_yaml_make_text(ld, "tool", at),
                     at);
        put_team_key(ld, &node, "tool", team->by, at);
        put_team_key(ld, &node, "args",
                     make_synthesis_args(ld, sinks, team->by), team->by);
    } else {
        put_team_key(ld, &node, "type", mortise_yaml_make_text(ld, "leaf", at),
                     at);
        put_team_key(ld, &node, "goal",
                     mortise_yaml_make_text(ld, "${input.goal}", at), at);
        put_leaf_keys(ld, &node, &team->leaf, at);
    }
    put_team_key(ld, &node, "depends_on", sinks, at);
    return mortise_built_map_to_yaml(ld, &node, at->span);
}

/* The ids of the sinks; NULL: there is none, or memory ran out. */
static const struct mortise_yaml *
list_sink_nodes(struct mortise_loader *ld, const struct mortise_yaml *graph,
                const struct mortise_yaml *nodes)
{
    struct mortise_built_map sinks = {.n = 0};
    struct mortise_yaml *list;

    for (size_t i = 0; i < nodes->n && !ld->nomem; i++)
        if (is_sink_node(graph, nodes, i))
            mortise_built_map_add(ld, &sinks, nodes->keys[i], nodes->keys[i]);
    if (sinks.n == 0)
        return NULL;
    list = mortise_built_map_to_yaml(ld, &sinks, nodes->span);
    if (list == NULL)
        return NULL;
    list->kind = MORTISE_YAML_SEQ; /* a list of the items */
    return list;
}

/* The graph with the synthesis node.  If it cannot be added, returns the graph
 * itself: there is a finding. */
static const struct mortise_yaml *
add_synthesis_node(struct mortise_loader *ld, struct mortise_node_reader *r,
                   const struct mortise_yaml *graph)
{
    const struct mortise_yaml *nodes = mortise_yaml_get(graph, "nodes"), *sinks;
    struct mortise_built_map all = {.n = 0}, inner = {.n = 0};

    if (nodes == NULL || nodes->kind != MORTISE_YAML_MAP)
        return graph;
    if (mortise_yaml_get(nodes, synthesis_id) != NULL) {
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "E0302",
                             mortise_yaml_key(nodes, synthesis_id)->span,
                             "'%s' is reserved in a team", synthesis_id),
            "it is the id of the node that combines the results of the team");
        return graph;
    }
    sinks = list_sink_nodes(ld, graph, nodes);
    if (sinks == NULL) {
        mortise_diag_add(ld->diags, "E0303",
                         mortise_yaml_key(graph, "nodes")->span,
                         "the graph of team '%s' has no last node, so the team "
                         "has no result",
                         r->node->id);
        return graph;
    }
    for (size_t i = 0; i < nodes->n; i++)
        mortise_built_map_add(ld, &inner, nodes->keys[i], nodes->items[i]);
    put_team_key(ld, &inner, synthesis_id,
                 make_synthesis_node(ld, get_team_data(r), sinks, r->key),
                 r->key);
    for (size_t i = 0; i < graph->n; i++)
        mortise_built_map_add(
            ld, &all, graph->keys[i],
            graph->items[i] != nodes
                ? graph->items[i]
                : mortise_built_map_to_yaml(ld, &inner, nodes->span));
    return mortise_built_map_to_yaml(ld, &all, graph->span);
}

/* An approval of the team's role covers its result, so do not ask twice. */
static void skip_synthesis_approval(const struct mortise_node_reader *r)
{
    struct mortise_graph *g = r->node->sub;

    for (size_t i = 0; r->node->approve_whole && i < g->n_nodes; i++)
        if (strcmp(g->nodes[i].id, synthesis_id) == 0)
            g->nodes[i].approve_whole = false;
}

/* The schema of {goal}, the input of the inner graph. */
static struct mortise_schema *make_goal_schema(struct mortise_loader *ld)
{
    return mortise_load_internal_schema(
        ld, json_pack("{s:s, s:{s:{s:s}}, s:[s], s:b}", "type", "object",
                      "properties", "goal", "type", "string", "required",
                      "goal", "additionalProperties", 0));
}

static void read_team_graph(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_node_reader *r = into;
    const struct mortise_yaml *graph;
    struct mortise_slot whole = *slot;

    if (mortise_inner_is_too_deep(ld, slot->name->span))
        return;
    graph = add_synthesis_node(ld, r, slot->value);
    whole.value = graph;
    r->node->sub = graph != NULL ? mortise_inner_new(ld, graph) : NULL;
    if (r->node->sub == NULL)
        return;
    r->node->yields = synthesis_id;
    r->node->sub->input = make_goal_schema(ld);
    mortise_inner_load(ld, r, &whole);
    skip_synthesis_approval(r);
}

static void finish_team_node(struct mortise_loader *ld,
                             struct mortise_node_reader *r)
{
    mortise_node_complete_predecessors(ld, r, NULL);
}

const struct mortise_node_kind mortise_graph_kind_team = {
    .place = {MORTISE_KIND_PLACE("team", keys)},
    .size = sizeof(struct team),
    .finish = finish_team_node};
