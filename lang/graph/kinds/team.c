/* team.c -- teams: a task graph inside a task graph, and one result of it.
 *
 * The graph stands in the node.  Beside its own nodes it has one that nobody wrote,
 * `synthesis`, which depends on all that nothing in it depends on, and whose output is
 * the team's: a leaf with the team's goal, role (synthesizer unless it says one), llm
 * and max_tokens, or the operation that `synthesis` names, which gets
 *
 *     {goal, results: {ID: output ...}}
 *
 * The input of the graph inside is {goal}, the team's, its templates resolved; and
 * leaves that come first in it are told that, and what the team depends on, as if
 * those stood in front of them (core/run/outcome/predecessors.c).
 *
 * It is a graph like others in every respect: paths, events, commands, limits.depth.
 */
#include <stdio.h>
#include <string.h>

#include "lang/graph/load/node.h"

static const char last[] = "synthesis"; /* the node that nobody wrote */

struct team {                      /* `own` of its node */
    struct mortise_made leaf;      /* what it says of the leaf that is last */
    const struct mortise_yaml *by; /* an operation in its place; NULL: none */
};

static struct team *team_of(const struct mortise_reading *r)
{
    return r->node->own;
}

/* ---- keys ------------------------------------------------------------------ */

static void read_goal(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    mortise_load_late(ctx, mortise_load_late_tmpl, &r->node->input_goal,
                      slot->value, r->node->index, MORTISE_IN_OUTPUT);
}

/* It is judged where it stands in the leaf. */
static void read_of_leaf(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    mortise_made_put(ctx, &team_of(r)->leaf, slot->name, slot->value);
}

static void read_role(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;
    const struct mortise_role *role = mortise_role_of(ctx, slot->value);

    read_of_leaf(ctx, into, slot);
    if (role == NULL)
        return;
    r->node->role = role->id;
    r->node->role_name = role->display_name;
    r->node->approve_whole = role->requires_approval;
}

/* An operation asks whom it likes. */
static void read_of_asking(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    if (!mortise_slot_beside(slot, "synthesis"))
        read_of_leaf(ctx, into, slot);
    else
        mortise_diag_add(ld->diags, "E0212", slot->name->span,
                         "'%s' has no effect with 'synthesis': an operation "
                         "combines the results, not a leaf",
                         slot->name->str);
}

static void read_synthesis(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_reading *r = into;

    (void)ctx;
    team_of(r)->by = slot->value;
}

static void read_graph(void *ctx, void *into, const struct mortise_slot *slot);

static const struct mortise_key keys[] = {
    MORTISE_ROW(mortise_type_row),
    MORTISE_ROW(mortise_timeout_row),
    MORTISE_ROW(mortise_retry_row),
    {.name = "goal",
     .about = "The task of the team. Its first nodes and the node that "
              "combines the results get it.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_goal},
    {.name = "role",
     .about = "The role of the node that combines the team's results (default: "
              "synthesizer).",
     .value = MORTISE_V_STRING,
     .read = read_role},
    {.name = "llm",
     .about = "The model that combines the results.",
     .value = MORTISE_V_MAP,
     .place = &mortise_llm_place,
     .read = read_of_asking},
    {.name = "max_tokens",
     .about = "The longest result in tokens, including reasoning.",
     .value = MORTISE_V_INT,
     .min = 1,
     .max = 1e9,
     .read = read_of_asking},
    {.name = "synthesis",
     .about = "PLUGIN/OPERATION that combines the team's results, instead of a "
              "leaf.",
     .value = MORTISE_V_STRING,
     .read = read_synthesis},
    {.name = "graph",
     .about = "The inner task graph.",
     .value = MORTISE_V_MAP,
     .place = &mortise_inner_place,
     .required = true,
     .read = read_graph},
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

/* ---- the node that nobody wrote ---------------------------------------------- */

static bool is_end(const struct mortise_yaml *to)
{
    return to->kind == MORTISE_YAML_STRING && strcmp(to->str, "END") == 0;
}

/* Does a node leave by itself, to others than END? */
static bool leaves(const struct mortise_yaml *node)
{
    static const char *const ways[] = {"next", "routes",  "default",
                                       "map",  "targets", "handoffs"};

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        const struct mortise_yaml *way = mortise_yaml_get(node, ways[i]);

        if (way != NULL && !is_end(way))
            return true;
    }
    return false;
}

/* Does the list, or the one, name it? */
static bool names(const struct mortise_yaml *ids, const char *id)
{
    if (ids == NULL)
        return false;
    if (ids->kind == MORTISE_YAML_STRING)
        return strcmp(ids->str, id) == 0;
    for (size_t i = 0; ids->kind == MORTISE_YAML_SEQ && i < ids->n; i++)
        if (names(ids->items[i], id))
            return true;
    return false;
}

/* Does nothing in the graph come behind that node? */
static bool is_sink(const struct mortise_yaml *graph,
                    const struct mortise_yaml *nodes, size_t which)
{
    const struct mortise_yaml *edges = mortise_yaml_get(graph, "edges");
    const char *id = nodes->keys[which]->str;

    if (mortise_yaml_is_x(id) || leaves(nodes->items[which]))
        return false;
    for (size_t i = 0; i < nodes->n; i++)
        if (nodes->items[i]->kind == MORTISE_YAML_MAP &&
            names(mortise_yaml_get(nodes->items[i], "depends_on"), id))
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

        if (from != NULL && names(from, id) && (to == NULL || !is_end(to)))
            return false;
    }
    return true;
}

static void put(struct mortise_loader *ld, struct mortise_made *to,
                const char *key, const struct mortise_yaml *value,
                const struct mortise_yaml *at)
{
    mortise_made_put(ld, to, mortise_made_text(ld, key, at), value);
}

/* {goal, results: {ID: ${artifacts["ID"]} ...}} */
static const struct mortise_yaml *args_of(struct mortise_loader *ld,
                                          const struct mortise_yaml *sinks,
                                          const struct mortise_yaml *at)
{
    struct mortise_made args = {.n = 0}, results = {.n = 0};
    char room[128];

    for (size_t i = 0; i < sinks->n; i++) {
        const char *id = sinks->items[i]->str, *text;

        snprintf(room, sizeof room, "${artifacts[\"%.64s\"]}", id);
        text = mortise_arena_strdup(ld->arena, room);
        ld->nomem |= text == NULL;
        if (text != NULL)
            put(ld, &results, id, mortise_made_text(ld, text, at), at);
    }
    put(ld, &args, "goal", mortise_made_text(ld, "${input.goal}", at), at);
    put(ld, &args, "results", mortise_made_map(ld, &results, at->span), at);
    return mortise_made_map(ld, &args, at->span);
}

/* What the team says of its leaf, and a role in any case. */
static void put_said(struct mortise_loader *ld, struct mortise_made *node,
                     const struct mortise_made *said,
                     const struct mortise_yaml *at)
{
    bool plays = false;

    for (size_t i = 0; i < said->n; i++) {
        mortise_made_put(ld, node, said->keys[i], said->items[i]);
        plays |= strcmp(said->keys[i]->str, "role") == 0;
    }
    if (!plays)
        put(ld, node, "role", mortise_made_text(ld, "synthesizer", at), at);
}

static const struct mortise_yaml *synthesis(struct mortise_loader *ld,
                                            const struct team *team,
                                            const struct mortise_yaml *sinks,
                                            const struct mortise_yaml *at)
{
    struct mortise_made node = {.n = 0};

    if (team->by != NULL) {
        put(ld, &node, "type", mortise_made_text(ld, "tool", at), at);
        put(ld, &node, "tool", team->by, at);
        put(ld, &node, "args", args_of(ld, sinks, team->by), team->by);
    } else {
        put(ld, &node, "type", mortise_made_text(ld, "leaf", at), at);
        put(ld, &node, "goal", mortise_made_text(ld, "${input.goal}", at), at);
        put_said(ld, &node, &team->leaf, at);
    }
    put(ld, &node, "depends_on", sinks, at);
    return mortise_made_map(ld, &node, at->span);
}

/* The ids of those behind which nothing comes; NULL: there is none, or memory ran
 * out. */
static const struct mortise_yaml *sinks_of(struct mortise_loader *ld,
                                           const struct mortise_yaml *graph,
                                           const struct mortise_yaml *nodes)
{
    struct mortise_made sinks = {.n = 0};
    struct mortise_yaml *list;

    for (size_t i = 0; i < nodes->n && !ld->nomem; i++)
        if (is_sink(graph, nodes, i))
            mortise_made_put(ld, &sinks, nodes->keys[i], nodes->keys[i]);
    if (sinks.n == 0)
        return NULL;
    list = mortise_made_map(ld, &sinks, nodes->span);
    if (list == NULL)
        return NULL;
    list->kind = MORTISE_YAML_SEQ; /* of the items alone */
    return list;
}

/* The graph with that node behind all others; the graph itself, where what it lacks
 * for that is a finding anyway. */
static const struct mortise_yaml *
with_synthesis(struct mortise_loader *ld, struct mortise_reading *r,
               const struct mortise_yaml *graph)
{
    const struct mortise_yaml *nodes = mortise_yaml_get(graph, "nodes"), *sinks;
    struct mortise_made all = {.n = 0}, inner = {.n = 0};

    if (nodes == NULL || nodes->kind != MORTISE_YAML_MAP)
        return graph;
    if (mortise_yaml_get(nodes, last) != NULL) {
        mortise_diag_help(
            ld->diags,
            mortise_diag_add(ld->diags, "E0302",
                             mortise_yaml_key(nodes, last)->span,
                             "'%s' is reserved in a team", last),
            "it is the id of the node that combines the results of the team");
        return graph;
    }
    sinks = sinks_of(ld, graph, nodes);
    if (sinks == NULL) {
        mortise_diag_add(ld->diags, "E0303",
                         mortise_yaml_key(graph, "nodes")->span,
                         "the graph of team '%s' has no last node, so the team "
                         "has no result",
                         r->node->id);
        return graph;
    }
    for (size_t i = 0; i < nodes->n; i++)
        mortise_made_put(ld, &inner, nodes->keys[i], nodes->items[i]);
    put(ld, &inner, last, synthesis(ld, team_of(r), sinks, r->key), r->key);
    for (size_t i = 0; i < graph->n; i++)
        mortise_made_put(ld, &all, graph->keys[i],
                         graph->items[i] != nodes
                             ? graph->items[i]
                             : mortise_made_map(ld, &inner, nodes->span));
    return mortise_made_map(ld, &all, graph->span);
}

/* Who approves that the team plays its role approves its result with it: that is
 * asked once. */
static void approve_once(const struct mortise_reading *r)
{
    struct mortise_graph *g = r->node->sub;

    for (size_t i = 0; r->node->approve_whole && i < g->n_nodes; i++)
        if (strcmp(g->nodes[i].id, last) == 0)
            g->nodes[i].approve_whole = false;
}

/* Of {goal}, which is all that the graph inside gets. */
static struct mortise_schema *goal_schema(struct mortise_loader *ld)
{
    return mortise_load_our_schema(
        ld, json_pack("{s:s, s:{s:{s:s}}, s:[s], s:b}", "type", "object",
                      "properties", "goal", "type", "string", "required",
                      "goal", "additionalProperties", 0));
}

static void read_graph(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_reading *r = into;
    const struct mortise_yaml *graph;
    struct mortise_slot whole = *slot;

    if (mortise_inner_is_too_deep(ld, slot->name->span))
        return;
    graph = with_synthesis(ld, r, slot->value);
    whole.value = graph;
    r->node->sub = graph != NULL ? mortise_inner_new(ld, graph) : NULL;
    if (r->node->sub == NULL)
        return;
    r->node->yields = last;
    r->node->sub->input = goal_schema(ld);
    mortise_inner_load(ld, r, &whole);
    approve_once(r);
}

static void finish(struct mortise_loader *ld, struct mortise_reading *r)
{
    mortise_node_finish_hearing(ld, r, NULL);
}

const struct mortise_node_kind mortise_graph_kind_team = {
    .place = {MORTISE_KIND_PLACE("team", keys)},
    .size = sizeof(struct team),
    .finish = finish};
