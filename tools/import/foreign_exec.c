/* foreign_exec.c -- convert compiled execution graphs: lists of nodes and
 * edges, and the settings of the graph. */
#include "tools/import/foreign.h"

#include <string.h>

/* ---- nodes -------------------------------------------------------------- */

/* Make an empty set of targets for each router, by its new id. */
static json_t *find_routers(struct foreign *f, const struct mortise_yaml *list)
{
    json_t *routers = json_object();

    for (size_t i = 0; i < list->n && !f->nomem; i++)
        if (mortise_foreign_is_string(mortise_yaml_get(list->items[i], "type"),
                                      "router"))
            mortise_foreign_set(f, routers,
                                mortise_foreign_find_id(
                                    f, mortise_yaml_get(list->items[i], "id")),
                                json_object());
    return routers;
}

static json_t *convert_nodes(struct foreign *f, const struct mortise_yaml *list,
                             json_t *routers, bool every_node)
{
    json_t *into = json_object();

    for (size_t i = 0; i < list->n && !f->nomem; i++) {
        const char *id =
            mortise_foreign_find_id(f, mortise_yaml_get(list->items[i], "id"));

        mortise_foreign_set(
            f, into, id,
            mortise_foreign_convert_node(
                f, list->items[i], json_object_get(routers, id), every_node));
    }
    return into;
}

/* ---- the graph ---------------------------------------------------------- */

static const struct foreign_row state_rows[] = {
    {"input", "input", FOREIGN_VERBATIM, NULL},
    {"scratch", "scratch", FOREIGN_STATE_SCHEMA, NULL},
    {"artifacts", "artifacts", FOREIGN_STATE_SCHEMA, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static const struct foreign_row graph_rows[] = {
    {"id", "metadata", FOREIGN_CUSTOM, NULL},
    {"name", "metadata", FOREIGN_CUSTOM, NULL},
    {"nodes", "nodes", FOREIGN_CUSTOM, NULL},
    {"edges", "edges", FOREIGN_CUSTOM, NULL},
    {"reducers", "state", FOREIGN_CUSTOM, NULL},
    {"stateSchema", "state", FOREIGN_MAP, state_rows},
    {"checkpointPolicy", "checkpoint_policy", FOREIGN_COPY, NULL},
    {"memoryConsistency", "memory_consistency", FOREIGN_COPY, NULL},
    {NULL, NULL, FOREIGN_COPY, NULL},
};

static void add_graph_name(struct foreign *f, const struct mortise_yaml *id,
                           json_t *metadata)
{
    const char *name;

    mortise_foreign_set(f, metadata, "name",
                        mortise_foreign_make_name(id->str, id->len));
    name = json_string_value(json_object_get(metadata, "name"));
    if (name != NULL && strcmp(name, id->str) != 0)
        mortise_diag_add(f->diags, "W1002", id->span,
                         "the graph is named '%s', because its id is not a "
                         "valid name in Mortise",
                         name);
}

/* A graph without a name is named after its file (import.c). */
static void add_graph_metadata(struct foreign *f,
                               const struct mortise_yaml *root, json_t *into)
{
    const struct mortise_yaml *id = mortise_foreign_get(root, "id"),
                              *name = mortise_foreign_get(root, "name");
    json_t *metadata = json_object();

    if (id != NULL && id->kind == MORTISE_YAML_STRING && id->len > 0)
        add_graph_name(f, id, metadata);
    if (name != NULL && name->kind == MORTISE_YAML_STRING && name->len > 0)
        mortise_foreign_set(f, metadata, "description",
                            mortise_json_make_string(name->str, name->len));
    if (json_object_get(metadata, "name") != NULL)
        mortise_foreign_set(f, into, "metadata", json_incref(metadata));
    json_decref(metadata);
}

/* The reducers that the source and Mortise have in common. */
static bool is_known_reducer(const struct mortise_yaml *v)
{
    static const char *const names[] = {"last",  "first", "concat",
                                        "merge", "sum",   "min",
                                        "max",   "avg",   "longest"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (mortise_foreign_is_string(v, names[i]))
            return true;
    return false;
}

/* A reducer that is not a name is a function, which a file cannot contain. */
static void add_reducers(struct foreign *f, const struct mortise_yaml *root,
                         json_t *into)
{
    const struct mortise_yaml *map = mortise_foreign_get(root, "reducers");
    json_t *reducers = json_object(), *state = json_object_get(into, "state");

    for (size_t i = 0;
         map != NULL && map->kind == MORTISE_YAML_MAP && i < map->n; i++) {
        const char *path = map->keys[i]->str;
        const size_t n = strcspn(path, ".");

        if (!is_known_reducer(map->items[i]) ||
            !((n == 7 && memcmp(path, "scratch", n) == 0) ||
              (n == 9 && memcmp(path, "artifacts", n) == 0)))
            mortise_foreign_report_loss(
                f, map->keys[i]->span,
                "use the name of a reducer, or an expression over old and new, "
                "for a path of scratch or artifacts",
                "the reducer of '%.100s' is not imported", path);
        else
            mortise_foreign_set(f, reducers, path,
                                json_string(map->items[i]->str));
    }
    if (json_object_size(reducers) > 0) {
        if (state == NULL) {
            state = json_object();
            mortise_foreign_set(f, into, "state", state);
        }
        mortise_foreign_set(f, state, "reducers", json_incref(reducers));
    }
    json_decref(reducers);
}

/* Remove empty parts of the state: they are the default. */
static void remove_empty_state(json_t *into)
{
    static const char *const parts[] = {"input", "scratch", "artifacts"};
    json_t *state = json_object_get(into, "state");

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (json_is_object(json_object_get(state, parts[i])) &&
            json_object_size(json_object_get(state, parts[i])) == 0)
            json_object_del(state, parts[i]);
    if (json_is_object(state) && json_object_size(state) == 0)
        json_object_del(into, "state");
}

static bool has_field_value(const struct mortise_yaml *root, const char *field,
                            const char *word)
{
    return mortise_foreign_is_string(mortise_yaml_get(root, field), word);
}

json_t *mortise_foreign_convert_exec(struct foreign *f,
                                     const struct mortise_yaml *root)
{
    const struct mortise_yaml *nodes = mortise_yaml_get(root, "nodes"),
                              *edges = mortise_foreign_get(root, "edges");
    const bool every_node =
        has_field_value(root, "checkpointPolicy", "every_node");
    json_t *into = json_object(), *routers, *list;

    add_graph_metadata(f, root, into);
    mortise_foreign_convert_map(f, graph_rows, root, "an execution graph",
                                into);
    if (every_node)
        json_object_del(into, "checkpoint_policy");
    if (has_field_value(root, "memoryConsistency", "snapshot"))
        json_object_del(into, "memory_consistency");
    remove_empty_state(into);
    add_reducers(f, root, into);
    if (edges == NULL || edges->kind != MORTISE_YAML_SEQ) {
        mortise_foreign_report_error(
            f, edges != NULL ? edges->span : root->span, NULL,
            "an execution graph needs 'edges', a list");
        return into;
    }
    f->ids = json_object();
    f->first = json_object();
    f->fed = json_object();
    if (mortise_foreign_add_node_ids(f, nodes)) {
        routers = find_routers(f, nodes);
        mortise_foreign_find_voices(f, nodes);
        list = mortise_foreign_convert_edges(f, edges, routers);
        mortise_foreign_set(f, into, "nodes",
                            convert_nodes(f, nodes, routers, every_node));
        mortise_foreign_set_nonempty(f, into, "edges", list);
        json_decref(routers);
    }
    json_decref(f->ids);
    json_decref(f->voices);
    json_decref(f->speakers);
    json_decref(f->first);
    json_decref(f->fed);
    return into;
}
