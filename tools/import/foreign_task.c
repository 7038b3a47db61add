/* foreign_task.c -- convert task graphs: a goal, and nodes that depend on each
 * other.
 *
 * A stored task graph maps ids to nodes; a planned one has a list of nodes.  A
 * file can also be a single node.
 *
 * A node is a leaf unless its `kind` is a team, which contains a graph.  In the
 * source a node that fails ends the run, so `failure: fail_fast` is written.
 * Mortise has no debates.  A debate keeps `type: debate`, which `mortise check`
 * rejects, so that nothing else runs in its place.
 */
#include "tools/import/foreign.h"

#include <string.h>

#include "lang/graph/load/node.h"

static const struct foreign_row graph_rows[] = {
    {"goal", "goal", FOREIGN_CUSTOM, NULL},
    {"hitl_mode", "hitl_mode", FOREIGN_CUSTOM, NULL},
    {"nodes", "nodes", FOREIGN_CUSTOM, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row node_rows[] = {
    {"id", "id", FOREIGN_CUSTOM, NULL},
    {"kind", "type", FOREIGN_CUSTOM, NULL},
    {"status", "status", FOREIGN_CUSTOM, NULL},
    {"role", "role", FOREIGN_CUSTOM, NULL},
    {"goal", "goal", FOREIGN_COPY, NULL},
    {"depends_on", "depends_on", FOREIGN_CUSTOM, NULL},
    {"tool_allowlist", "tool_allowlist", FOREIGN_CUSTOM, NULL},
    {"output", NULL, FOREIGN_RUN_STATE, NULL},
    {"compacted_output", NULL, FOREIGN_RUN_STATE, NULL},
    {"error", NULL, FOREIGN_RUN_STATE, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row kind_rows[] = {
    {"team", "graph", FOREIGN_CUSTOM, NULL},
    {"debate", "type", FOREIGN_CUSTOM, NULL},
    {"leaf", "type", FOREIGN_CUSTOM, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row team_rows[] = {
    {"subgraph", "graph", FOREIGN_CUSTOM, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static json_t *carry_task_graph(struct foreign *f,
                                const struct mortise_yaml *map);

/* ---- kinds -------------------------------------------------------------- */

static void carry_team(struct foreign *f, const struct mortise_yaml *node,
                       const struct mortise_yaml *team, json_t *into)
{
    const struct mortise_yaml *sub = mortise_foreign_get(team, "subgraph");
    const struct mortise_yaml *goal = mortise_yaml_get(sub, "goal"),
                              *own = mortise_yaml_get(node, "goal");
    json_t *ids = f->ids;

    if (sub == NULL || sub->kind != MORTISE_YAML_MAP) {
        mortise_foreign_report_error(f, team->span, NULL,
                                     "a team needs a 'subgraph', a mapping");
        return;
    }
    mortise_foreign_convert_map(f, team_rows, team, "a team", into);
    f->ids = json_object();
    mortise_foreign_set(f, into, "graph", carry_task_graph(f, sub));
    json_decref(f->ids);
    f->ids = ids;
    if (goal != NULL && goal->kind == MORTISE_YAML_STRING &&
        (own == NULL || !mortise_foreign_is_string(own, goal->str)))
        mortise_foreign_report_loss(
            f, goal->span, "a team has only one goal, the goal of its node",
            "the 'goal' of the graph inside a team is not imported");
}

static void carry_task_kind(struct foreign *f, const struct mortise_yaml *node,
                            json_t *into)
{
    const struct mortise_yaml *kind = mortise_foreign_get(node, "kind"),
                              *team = mortise_foreign_get(kind, "team"),
                              *debate = mortise_yaml_key(kind, "debate");
    const char *type = team != NULL ? "team" : "leaf";

    if (mortise_foreign_is_string(kind, "debate"))
        debate = kind;
    if (kind != NULL && kind->kind == MORTISE_YAML_MAP)
        mortise_foreign_convert_map(f, kind_rows, kind, "a kind", NULL);
    else if (kind != NULL && debate == NULL &&
             !mortise_foreign_is_string(kind, "leaf"))
        mortise_foreign_report_error(f, kind->span, NULL,
                                     "a node must be a leaf, {\"team\": "
                                     "{\"subgraph\": ...}} or a debate");
    if (debate != NULL) {
        type = "debate";
        mortise_foreign_report_loss(
            f, debate->span,
            "write a team of leaves, one for each voice; until then, `mortise "
            "check` reports an error",
            "the debate is not imported: Mortise has no debates");
    }
    mortise_foreign_set(f, into, "type", json_string(type));
    if (team != NULL)
        carry_team(f, node, team, into);
}

/* ---- nodes -------------------------------------------------------------- */

static void check_task_id(struct foreign *f, const struct mortise_yaml *key,
                          const struct mortise_yaml *node)
{
    const struct mortise_yaml *id = mortise_foreign_get(node, "id");

    if (id != NULL && !mortise_foreign_is_string(id, key->str))
        mortise_foreign_report_error(
            f, id->span,
            "the id and the key must be equal: correct one of them",
            "the 'id' of the node differs from its key, '%.100s'", key->str);
}

/* Only the user knows which operation here replaces a tool of the source. */
static void report_unknown_tools(struct foreign *f,
                                 const struct mortise_yaml *list)
{
    for (size_t i = 0; list->kind == MORTISE_YAML_SEQ && i < list->n; i++) {
        const struct mortise_yaml *v = list->items[i];

        if (v->kind == MORTISE_YAML_STRING && strchr(v->str, '/') == NULL)
            mortise_foreign_report_loss(
                f, v->span,
                "write its PLUGIN/OPERATION or mcp/SERVER/TOOL in the new "
                "file; 'mortise plugin list' and 'mortise mcp list' show the "
                "available ones",
                "'%.100s' is not the name of a tool here", v->str);
    }
}

/* `[]` is a leaf without tools; for other nodes it has no meaning. */
static void carry_tools(struct foreign *f, const struct mortise_yaml *node,
                        json_t *into)
{
    const struct mortise_yaml *v = mortise_foreign_get(node, "tool_allowlist");
    const char *type = json_string_value(json_object_get(into, "type"));

    if (v == NULL || type == NULL)
        return;
    if (strcmp(type, "leaf") == 0) {
        report_unknown_tools(f, v);
        mortise_foreign_set(f, into, "tool_allowlist",
                            mortise_yaml_to_json(v, false));
    } else if (v->n > 0)
        mortise_foreign_report_loss(
            f, mortise_yaml_key(node, "tool_allowlist")->span,
            "the leaves inside have their own tools",
            "'tool_allowlist' is not imported: a %s uses no tools itself",
            type);
}

static void check_task_status(struct foreign *f,
                              const struct mortise_yaml *node)
{
    const struct mortise_yaml *v = mortise_foreign_get(node, "status");

    if (v != NULL && !mortise_foreign_is_string(v, "pending"))
        mortise_foreign_report_loss(
            f, v->span, "a graph file does not contain the state of a run",
            "'status' is not imported: it belongs to a run");
}

/* A node that is imported alone has no other node to depend on. */
static void check_single_node(struct foreign *f,
                              const struct mortise_yaml *node)
{
    const struct mortise_yaml *v = mortise_foreign_get(node, "depends_on");

    if (v != NULL && v->n > 0)
        mortise_foreign_report_loss(
            f, mortise_yaml_key(node, "depends_on")->span,
            "import the whole graph",
            "'depends_on' is not imported: this file has only one node");
}

/* The file does not contain the roles that the source defines. */
static void carry_role(struct foreign *f, const struct mortise_yaml *node,
                       json_t *into)
{
    const struct mortise_yaml *v = mortise_foreign_get(node, "role");

    if (v == NULL)
        return;
    if (v->kind == MORTISE_YAML_STRING)
        mortise_foreign_set(f, into, "role", mortise_yaml_to_json(v, false));
    else
        mortise_foreign_report_loss(
            f, v->span, "give the role an id, and define it under 'roles'",
            "'role' is not imported: a role must be an id, not %s",
            mortise_yaml_kind_name(v->kind));
}

static json_t *carry_task_node(struct foreign *f,
                               const struct mortise_yaml *key,
                               const struct mortise_yaml *map, bool alone)
{
    static const struct foreign_row depends = {"depends_on", "depends_on",
                                               FOREIGN_IDS, NULL};
    json_t *into = json_object();

    if (map->kind != MORTISE_YAML_MAP) {
        mortise_foreign_report_error(f, map->span, NULL,
                                     "a node must be a mapping, not %s",
                                     mortise_yaml_kind_name(map->kind));
        return into;
    }
    check_task_id(f, key, map);
    carry_task_kind(f, map, into);
    carry_role(f, map, into);
    mortise_foreign_convert_map(f, node_rows, map, "a node", into);
    if (alone)
        check_single_node(f, map);
    else
        mortise_foreign_convert_field(f, &depends, map, into);
    carry_tools(f, map, into);
    check_task_status(f, map);
    return into;
}

/* `list` maps ids to nodes, or, in a plan, lists nodes that contain their ids.
 * Ids of nodes without dependencies are added to `start`. */
static json_t *carry_task_nodes(struct foreign *f,
                                const struct mortise_yaml *list, json_t *start)
{
    json_t *into = json_object();

    if (list->kind == MORTISE_YAML_MAP)
        mortise_foreign_add_ids(
            f, (const struct mortise_yaml *const *)list->keys, list->n);
    else if (!mortise_foreign_add_node_ids(f, list))
        return into;
    for (size_t i = 0; i < list->n && !f->nomem; i++) {
        const struct mortise_yaml *key =
            list->kind == MORTISE_YAML_MAP
                ? list->keys[i]
                : mortise_foreign_get(list->items[i], "id");
        const char *id = mortise_foreign_find_id(f, key);
        json_t *v = carry_task_node(f, key, list->items[i], false);

        if (json_object_get(v, "depends_on") == NULL)
            json_array_append_new(start, json_string(id));
        if (id != NULL)
            mortise_foreign_set(f, into, id, v);
        else
            json_decref(v);
    }
    return into;
}

/* ---- cycles ------------------------------------------------------------- */

/* The state of a topological sort.  `waits`: id -> number of unfinished
 * dependencies.  `behind`: id -> nodes that depend on it.  `ready`: nodes
 * without unfinished dependencies. */
struct task_order {
    json_t *waits, *behind, *ready;
};

static void add_dependent(struct foreign *f, struct task_order *o,
                          const char *id, const char *follower)
{
    json_t *list = json_object_get(o->behind, id);

    if (list == NULL) {
        list = json_array();
        mortise_foreign_set(f, o->behind, id, list);
    }
    f->nomem |= json_array_append_new(list, json_string(follower)) != 0;
}

static void add_dependencies(struct foreign *f, struct task_order *o,
                             const char *id, const json_t *node)
{
    const json_t *others = json_object_get(node, "depends_on");

    mortise_foreign_set(f, o->waits, id,
                        json_integer((json_int_t)json_array_size(others)));
    if (json_array_size(others) == 0)
        f->nomem |= json_array_append_new(o->ready, json_string(id)) != 0;
    MORTISE_JSON_EACH (other, i, others)
        add_dependent(f, o, json_string_value(other), id);
}

/* Report a cycle of dependencies.  Finish the nodes that are ready until none
 * is left: the others are in a cycle, or depend on one. */
static void check_task_cycle(struct foreign *f, const struct mortise_yaml *list,
                             const json_t *made)
{
    struct task_order o = {json_object(), json_object(), json_array()};

    MORTISE_JSON_MEMBERS (id, one, made)
        add_dependencies(f, &o, id, one);
    for (size_t i = 0; i < json_array_size(o.ready) && !f->nomem; i++) {
        const char *id = json_string_value(json_array_get(o.ready, i));

        MORTISE_JSON_EACH (follower, k, json_object_get(o.behind, id)) {
            const char *next = json_string_value(follower);
            json_t *left = json_object_get(o.waits, next);

            json_integer_set(left, json_integer_value(left) - 1);
            if (json_integer_value(left) == 0)
                f->nomem |=
                    json_array_append_new(o.ready, json_string(next)) != 0;
        }
    }
    MORTISE_JSON_MEMBERS (id, left, o.waits)
        if (json_integer_value(left) > 0 && !f->nomem) {
            mortise_foreign_report_error(
                f, list->span, "remove one of the dependencies",
                "'depends_on' of '%.100s' forms a cycle", id);
            break;
        }
    json_decref(o.waits);
    json_decref(o.behind);
    json_decref(o.ready);
}

/* ---- graphs ------------------------------------------------------------- */

static json_t *carry_task_graph(struct foreign *f,
                                const struct mortise_yaml *map)
{
    const struct mortise_yaml *mode = mortise_foreign_get(map, "hitl_mode"),
                              *list = mortise_foreign_get(map, "nodes");
    json_t *into = json_object(), *start = json_array(), *made;

    mortise_foreign_convert_map(f, graph_rows, map, "a task graph", into);
    if (mode != NULL && !mortise_foreign_is_string(mode, "none"))
        mortise_foreign_set(f, into, "hitl_mode",
                            mortise_yaml_to_json(mode, false));
    mortise_foreign_set(f, into, "failure", json_string("fail_fast"));
    if (list == NULL ||
        (list->kind != MORTISE_YAML_MAP && list->kind != MORTISE_YAML_SEQ)) {
        mortise_foreign_report_error(
            f, list != NULL ? list->span : map->span, NULL,
            "the nodes of a task graph must be a mapping "
            "from their ids, or a list");
        json_decref(start);
        return into;
    }
    made = carry_task_nodes(f, list, start);
    if (f->diags->n_errors == 0)
        check_task_cycle(f, list, made);
    mortise_foreign_set_nonempty(f, into, "start", start);
    mortise_foreign_set(f, into, "nodes", made);
    return into;
}

json_t *mortise_foreign_convert_task(struct foreign *f,
                                     const struct mortise_yaml *root)
{
    const struct mortise_yaml *goal = mortise_foreign_get(root, "goal");
    json_t *into = json_object(), *made;

    f->ids = json_object();
    made = carry_task_graph(f, root);
    json_decref(f->ids);
    if (goal != NULL)
        mortise_foreign_set(f, into, "goal", mortise_yaml_to_json(goal, false));
    if (json_object_update(into, made) != 0)
        f->nomem = true;
    json_decref(made);
    return into;
}

/* A single task node becomes a graph of one node, without dependencies. */
json_t *mortise_foreign_convert_task_node(struct foreign *f,
                                          const struct mortise_yaml *map)
{
    const struct mortise_yaml *key = mortise_foreign_get(map, "id");
    const char *id;
    json_t *into = json_object(), *made, *all = json_object();

    if (key == NULL || key->kind != MORTISE_YAML_STRING || key->len == 0 ||
        strlen(key->str) != key->len) {
        mortise_foreign_report_error(f, map->span, NULL,
                                     "a task node needs an 'id'");
        json_decref(all);
        return into;
    }
    f->ids = json_object();
    mortise_foreign_add_ids(f, &key, 1);
    id = mortise_foreign_find_id(f, key);
    made = carry_task_node(f, key, map, true);
    mortise_foreign_set(f, into, "failure", json_string("fail_fast"));
    if (id != NULL)
        mortise_foreign_set(f, into, "start", json_string(id));
    mortise_foreign_set(f, all, id, made);
    mortise_foreign_set(f, into, "nodes", all);
    json_decref(f->ids);
    return into;
}
