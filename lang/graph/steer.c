/* steer.c -- diffs of task graphs: changes to the graph of a run.
 *
 * A diff is a list of operations, each a mapping with one key:
 *
 *     - add: {id: check, node: {goal: check it, depends_on: write}}
 *     - remove: draft
 *     - split: {id: write, into: {intro: {goal: ...}, body: {goal: ...}}}
 *     - reroute: {id: print, depends_on: [intro, body]}
 *     - set_role: {id: check, role: critic}
 *     - set_tools: {id: check, tool_allowlist: [text/lines]}
 *     - wrap: {ids: [intro, body], team: {id: authors, goal: write it}}
 *
 * An id is that of a node, or TEAM/NODE for an inner one.  The promises:
 *
 *   (1) The operations are applied in order, each to the result of the previous
 *       ones.  The usual loader reads and checks the final graph: there is no
 *       second notion of a valid graph.  Every part keeps the position where it
 *       was written, so a finding points at the line of the diff that caused
 *       it.
 *   (2) All findings are reported, except consequences of other findings.
 *   (3) A node that has begun is neither changed nor removed.
 *   (4) Two operations cannot contradict each other about a node: only one can
 *       set a property, and no other can refer to a node that one removes,
 *       unless it adds another node in its place.
 *   (5) No node is left with a dependency on a removed node.  The parts of a
 *       split node and a team replace the nodes that they are made from.  If a
 *       node is removed, its dependents must be rerouted by the same diff,
 *       before or after.
 *   (6) `start` is updated: a node without dependencies is in it.
 *   (7) The content of an operation is checked only when all operations were
 *       applied.  Until then it may have any type: an id may be no string,
 *       `nodes` no mapping, and a node neither.
 *   (8) The thread that applies a diff blocks the engine and its other runs.
 *       So the time and memory of an operation are bounded by the size of the
 *       graph and of the operation, and a diff has at most OPERATIONS of them.
 */
#include "lang/graph/steer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/table.h"
#include "lang/yaml/keys.h"

enum {
    ID_ROOM = 80, /* ids have at most 64 bytes */
    OPERATIONS = 256
};

/* The property of a node that an operation sets (4). */
enum aspect { IS_MADE = 1, IS_GONE, IS_MOVED, ITS_NEEDS, ITS_ROLE, ITS_TOOLS };

struct said {
    struct mortise_table_entry link; /* by path */
    const char *path;
    enum aspect what;
    struct mortise_span at;
};

/* A node that was removed, and the operation that did it. */
struct removed {
    struct removed *next;
    const char *path;
    const struct mortise_yaml *by;
};

struct diff {
    const struct mortise_steer_target *of;
    struct mortise_arena *a;
    struct mortise_diags *diags;
    const struct mortise_yaml *root; /* the current graph */
    struct mortise_table said;       /* by path: the last statement about it */
    struct removed *removed;
    bool nomem;
};

/* ---- building trees ------------------------------------------------------ */

static void *alloc_diff(struct diff *d, size_t size)
{
    void *p = mortise_arena_alloc(d->a, size);

    d->nomem |= p == NULL;
    return p;
}

static struct mortise_yaml *make_diff_text(struct diff *d, const char *s,
                                           const struct mortise_yaml *like)
{
    struct mortise_yaml *made = alloc_diff(d, sizeof *made);

    if (made != NULL)
        *made = (struct mortise_yaml){.kind = MORTISE_YAML_STRING,
                                      .span = like->span,
                                      .str = s,
                                      .len = strlen(s)};
    return made;
}

/* A list or a mapping that grows. */
struct items {
    struct mortise_yaml **keys, **items;
    size_t n, cap;
};

static void append_item(struct diff *d, struct items *to,
                        const struct mortise_yaml *key,
                        const struct mortise_yaml *item)
{
    if (to->n == to->cap) {
        size_t cap = to->cap > 0 ? 2 * to->cap : 16;
        struct mortise_yaml **keys = alloc_diff(d, cap * sizeof *keys);
        struct mortise_yaml **items = alloc_diff(d, cap * sizeof *items);

        if (d->nomem)
            return;
        if (to->n > 0) {
            memcpy(keys, to->keys, to->n * sizeof *keys);
            memcpy(items, to->items, to->n * sizeof *items);
        }
        *to = (struct items){keys, items, to->n, cap};
    }
    to->keys[to->n] = mortise_yaml_unconst(key);
    to->items[to->n++] = mortise_yaml_unconst(item);
}

static const struct mortise_yaml *
make_items_map(struct diff *d, const struct items *from, struct mortise_span at)
{
    struct mortise_yaml *map =
        d->nomem ? NULL
                 : mortise_yaml_make_mapping(d->a, at, from->keys, from->items,
                                             from->n);

    d->nomem |= map == NULL;
    return map;
}

static const struct mortise_yaml *make_items_list(struct diff *d,
                                                  const struct items *from,
                                                  struct mortise_span at)
{
    struct mortise_yaml *list = alloc_diff(d, sizeof *list);

    if (list != NULL)
        *list = (struct mortise_yaml){.kind = MORTISE_YAML_SEQ,
                                      .span = at,
                                      .items = from->items,
                                      .n = from->n};
    return list;
}

static struct items reserve_items(struct diff *d, size_t n)
{
    return (struct items){
        .keys = alloc_diff(d, n * sizeof(struct mortise_yaml *)),
        .items = alloc_diff(d, n * sizeof(struct mortise_yaml *)),
        .cap = d->nomem ? 0 : n};
}

/* A copy of the map in which the key has this item: in place of the old one, or
 * at the end.  If `item` is NULL, without the key. */
static const struct mortise_yaml *set_map_item(struct diff *d,
                                               const struct mortise_yaml *map,
                                               const struct mortise_yaml *key,
                                               const struct mortise_yaml *item)
{
    size_t at = mortise_yaml_find(map, key->str);
    struct items all = reserve_items(d, map->n + 1);

    for (size_t i = 0; i < map->n; i++)
        if (i != at)
            append_item(d, &all, map->keys[i], map->items[i]);
        else if (item != NULL)
            append_item(d, &all, key, item);
    if (at == SIZE_MAX && item != NULL)
        append_item(d, &all, key, item);
    return make_items_map(d, &all, map->span);
}

/* The same for a key that is a string. */
static const struct mortise_yaml *
set_map_word(struct diff *d, const struct mortise_yaml *map, const char *key,
             const struct mortise_yaml *item, const struct mortise_yaml *like)
{
    const struct mortise_yaml *is = mortise_yaml_key(map, key);

    if (is == NULL)
        is = make_diff_text(d, key, like);
    return is != NULL ? set_map_item(d, map, is, item) : map;
}

/* ---- ids ------------------------------------------------------------------ */

/* The i-th id of an id or a list of ids; NULL: no more. */
static const struct mortise_yaml *get_listed_id(const struct mortise_yaml *ids,
                                                size_t i)
{
    if (ids == NULL || ids->kind != MORTISE_YAML_SEQ)
        return i == 0 ? ids : NULL;
    return i < ids->n ? ids->items[i] : NULL;
}

/* `ids` is an id, a list of ids, or a mapping with ids as keys
 * (make_id_set()). */
static bool has_listed_id(const struct mortise_yaml *ids, const char *id)
{
    const struct mortise_yaml *one;

    if (ids != NULL && ids->kind == MORTISE_YAML_MAP)
        return mortise_yaml_find(ids, id) != SIZE_MAX;
    for (size_t i = 0; (one = get_listed_id(ids, i)) != NULL; i++)
        if (one->kind == MORTISE_YAML_STRING && strcmp(one->str, id) == 0)
            return true;
    return false;
}

/* A set of the ids, for many look-ups; duplicates do not matter.  NULL: there
 * are none. */
static const struct mortise_yaml *make_id_set(struct diff *d,
                                              const struct mortise_yaml *ids)
{
    struct items all = {.n = 0};
    const struct mortise_yaml *one;

    for (size_t i = 0; (one = get_listed_id(ids, i)) != NULL; i++)
        if (one->kind == MORTISE_YAML_STRING)
            append_item(d, &all, one, one);
    return ids != NULL ? make_items_map(d, &all, ids->span) : NULL;
}

static const struct mortise_yaml *
get_dependencies(const struct mortise_yaml *node)
{
    return mortise_yaml_get(node, "depends_on");
}

static bool has_no_dependencies(const struct mortise_yaml *node)
{
    return get_listed_id(get_dependencies(node), 0) == NULL;
}

/* A copy of the list without duplicates, in which the ids of `instead` replace
 * those of `gone`. */
static const struct mortise_yaml *
replace_ids(struct diff *d, const struct mortise_yaml *ids,
            const struct mortise_yaml *gone, const struct mortise_yaml *instead)
{
    struct items all = {.n = 0};
    const struct mortise_yaml *one, *other;
    bool done = false;

    for (size_t i = 0; (one = get_listed_id(ids, i)) != NULL; i++) {
        if (one->kind != MORTISE_YAML_STRING ||
            !has_listed_id(gone, one->str)) {
            append_item(d, &all, one, one);
            continue;
        }
        for (size_t k = 0; !done && (other = get_listed_id(instead, k)) != NULL;
             k++)
            if (!has_listed_id(ids, other->str) ||
                has_listed_id(gone, other->str))
                append_item(d, &all, other, other);
        done = true;
    }
    return make_items_list(d, &all, ids->span);
}

/* A copy of the node with these dependencies, or without the key if there are
 * none. */
static const struct mortise_yaml *
set_dependencies(struct diff *d, const struct mortise_yaml *node,
                 const struct mortise_yaml *ids,
                 const struct mortise_yaml *like)
{
    return set_map_word(d, node, "depends_on",
                        get_listed_id(ids, 0) != NULL ? ids : NULL, like);
}

/* ---- graphs -------------------------------------------------------------- */

/* NULL: the graph has none (7). */
static const struct mortise_yaml *
get_graph_nodes(const struct mortise_yaml *graph)
{
    const struct mortise_yaml *nodes = mortise_yaml_get(graph, "nodes");

    return nodes != NULL && nodes->kind == MORTISE_YAML_MAP ? nodes : NULL;
}

static const struct mortise_yaml *
set_graph_nodes(struct diff *d, const struct mortise_yaml *graph,
                const struct mortise_yaml *nodes)
{
    return set_map_item(d, graph, mortise_yaml_key(graph, "nodes"), nodes);
}

/* (6): the operation changed `roots`, an id or a list of ids. */
static const struct mortise_yaml *update_start(struct diff *d,
                                               const struct mortise_yaml *graph,
                                               const struct mortise_yaml *roots)
{
    const struct mortise_yaml *was = mortise_yaml_get(graph, "start"), *one,
                              *nodes = get_graph_nodes(graph), *node;
    const struct mortise_yaml *before = make_id_set(d, was),
                              *now = make_id_set(d, roots);
    struct items all = {.n = 0};

    if (was == NULL || d->nomem) /* edges define the start */
        return graph;
    for (size_t i = 0; (one = get_listed_id(was, i)) != NULL; i++) {
        node = one->kind == MORTISE_YAML_STRING
                   ? mortise_yaml_get(nodes, one->str)
                   : NULL;
        if (node != NULL &&
            (has_no_dependencies(node) || !has_listed_id(now, one->str)))
            append_item(d, &all, one, one);
    }
    for (size_t i = 0; (one = get_listed_id(roots, i)) != NULL; i++) {
        node = mortise_yaml_get(nodes, one->str);
        if (node != NULL && has_no_dependencies(node) &&
            !has_listed_id(before, one->str))
            append_item(d, &all, one, one);
    }
    return set_map_item(d, graph, mortise_yaml_key(graph, "start"),
                        make_items_list(d, &all, was->span));
}

/* Replace dependencies on any of `gone` by `instead`. */
static const struct mortise_yaml *
redirect_dependents(struct diff *d, const struct mortise_yaml *nodes,
                    const struct mortise_yaml *gone,
                    const struct mortise_yaml *instead)
{
    struct items all = {.n = 0};

    for (size_t i = 0; i < nodes->n; i++) {
        const struct mortise_yaml *node = nodes->items[i], *one,
                                  *needs = get_dependencies(node);
        bool any = false;

        for (size_t k = 0; (one = get_listed_id(needs, k)) != NULL; k++)
            any |= one->kind == MORTISE_YAML_STRING &&
                   has_listed_id(gone, one->str);
        if (any)
            node = set_dependencies(
                d, node, replace_ids(d, needs, gone, instead), needs);
        append_item(d, &all, nodes->keys[i], node);
    }
    return make_items_map(d, &all, nodes->span);
}

/* ---- targets of operations ----------------------------------------------- */

/* A node that an operation refers to. */
struct target {
    const struct mortise_yaml *at; /* its id as written in the diff */
    const char *id;                /* the last part of the id */
    size_t n_dir;                  /* length of the path before it, with its
                                    * slash */
};

static struct target parse_target(const struct mortise_yaml *at)
{
    const char *slash = strrchr(at->str, '/');
    size_t n = slash != NULL ? (size_t)(slash - at->str) + 1 : 0;

    return (struct target){at, at->str + n, n};
}

/* The last part of the id, as a key. */
static const struct mortise_yaml *make_target_key(struct diff *d,
                                                  const struct target *t)
{
    return t->n_dir == 0 ? t->at : make_diff_text(d, t->id, t->at);
}

static void report_unknown_target(struct diff *d, const struct mortise_yaml *at,
                                  const char *id,
                                  const struct mortise_yaml *nodes)
{
    struct mortise_diag *f = mortise_diag_add(d->diags, "E0301", at->span,
                                              "unknown node '%s'", at->str);
    const char **ids = alloc_diff(d, (nodes->n + 1) * sizeof *ids), *near;

    if (ids == NULL)
        return;
    for (size_t i = 0; i < nodes->n; i++)
        ids[i] = nodes->keys[i]->str;
    near = mortise_nearest_find(id, ids, nodes->n);
    if (near != NULL)
        mortise_diag_help(d->diags, f, "did you mean '%.*s%s'?",
                          (int)(strlen(at->str) - strlen(id)), at->str, near);
}

/* The graph at the first `n` bytes of a path, "TEAM/TEAM/".  NULL: there is
 * none.  Then *missing: the node `id` does not exist; otherwise it has no
 * graph. */
static const struct mortise_yaml *find_graph_at_path(const struct diff *d,
                                                     const char *path, size_t n,
                                                     char id[ID_ROOM],
                                                     bool *missing)
{
    const struct mortise_yaml *graph = d->root, *node;
    const char *end = path + n;

    *missing = false;
    while (path < end && get_graph_nodes(graph) != NULL) {
        size_t k = strcspn(path, "/");

        snprintf(id, ID_ROOM, "%.*s", (int)k, path);
        node = mortise_yaml_get(get_graph_nodes(graph), id);
        *missing = node == NULL;
        graph = mortise_yaml_get(node, "graph");
        path += k + 1;
        if (*missing)
            return NULL;
    }
    return get_graph_nodes(graph) != NULL ? graph : NULL;
}

/* The same; NULL after a finding. */
static const struct mortise_yaml *
get_graph_at_path(struct diff *d, const struct mortise_yaml *at, size_t n)
{
    char id[ID_ROOM];
    bool missing;
    const struct mortise_yaml *graph =
        find_graph_at_path(d, at->str, n, id, &missing);

    if (graph == NULL && missing)
        mortise_diag_add(d->diags, "E0301", at->span,
                         "unknown node '%s' in '%s'", id, at->str);
    else if (graph == NULL)
        mortise_diag_add(d->diags, "E1104", at->span,
                         "node '%s' contains no task graph that can be steered",
                         id);
    return graph;
}

/* A copy of `outer` with this graph at the path.  Recursive; the depth is
 * bounded by limits.depth. */
static const struct mortise_yaml *
replace_graph_at_path(struct diff *d, const struct mortise_yaml *outer,
                      const char *path, size_t n,
                      const struct mortise_yaml *graph)
{
    size_t k = strcspn(path, "/");
    const struct mortise_yaml *nodes = get_graph_nodes(outer), *node, *key;
    char id[ID_ROOM];

    if (n == 0 || d->nomem)
        return graph;
    snprintf(id, sizeof id, "%.*s", (int)k, path);
    key = mortise_yaml_key(nodes, id);
    node = mortise_yaml_get(nodes, id);
    graph = replace_graph_at_path(d, mortise_yaml_get(node, "graph"),
                                  path + k + 1, n - k - 1, graph);
    if (d->nomem)
        return outer;
    node = set_map_item(d, node, mortise_yaml_key(node, "graph"), graph);
    return d->nomem
               ? outer
               : set_graph_nodes(d, outer, set_map_item(d, nodes, key, node));
}

/* Store these nodes in the graph that contains `t`; the nodes of `roots` may
 * need to be in `start`. */
static void store_changed_nodes(struct diff *d, const struct target *t,
                                const struct mortise_yaml *graph,
                                const struct mortise_yaml *nodes,
                                const struct mortise_yaml *roots)
{
    const struct mortise_yaml *root = NULL;

    if (!d->nomem)
        graph = set_graph_nodes(d, graph, nodes);
    if (!d->nomem)
        graph = update_start(d, graph, roots);
    if (!d->nomem)
        root = replace_graph_at_path(d, d->root, t->at->str, t->n_dir, graph);
    if (!d->nomem)
        d->root = root;
}

/* ---- statements about nodes (3), (4) ------------------------------------- */

static bool are_contradictory(enum aspect now, enum aspect before)
{
    if (before == IS_GONE)
        return now != IS_MADE;
    return now == IS_GONE || (now == before && now != IS_MADE);
}

/* The last statement about the path; NULL: none. */
static struct said *find_statement(const struct diff *d, const char *path)
{
    struct mortise_table_entry *e =
        mortise_table_find(&d->said, mortise_hash_strs(path, ""));

    while (e != NULL &&
           strcmp(MORTISE_CONTAINER_OF(e, struct said, link)->path, path) != 0)
        e = mortise_table_find_next(e);
    return e != NULL ? MORTISE_CONTAINER_OF(e, struct said, link) : NULL;
}

/* False after a finding. */
static bool check_contradiction(struct diff *d, const struct mortise_yaml *at,
                                enum aspect what)
{
    const struct said *s = find_statement(d, at->str);

    if (s == NULL || !are_contradictory(what, s->what))
        return true;
    mortise_diag_help(
        d->diags,
        mortise_diag_add(
            d->diags, "E1102", at->span,
            s->what == IS_GONE ? "another operation removes '%s'"
            : what == IS_GONE
                ? "another operation already changes '%s'"
                : "another operation makes the same change to '%s'",
            at->str),
        "the other operation is at %u:%u: keep one of them",
        (unsigned)s->at.line, (unsigned)s->at.col);
    return false;
}

static void record_statement(struct diff *d, const struct mortise_yaml *at,
                             enum aspect what)
{
    struct said *s = find_statement(d, at->str);
    const bool is_new = s == NULL;

    if (is_new && (s = alloc_diff(d, sizeof *s)) == NULL)
        return;
    s->path = at->str;
    s->what = what;
    s->at = at->span;
    if (is_new)
        mortise_table_add(&d->said, &s->link, mortise_hash_strs(at->str, ""));
}

static bool check_not_begun(struct diff *d, const struct mortise_yaml *at)
{
    const char *why = d->of->begun(d->of->ud, at->str);

    if (why == NULL)
        return true;
    mortise_diag_help(
        d->diags,
        mortise_diag_add(d->diags, "E1101", at->span, "node '%s' %s", at->str,
                         why),
        "a node that has started cannot change: change the nodes after it");
    return false;
}

/* Find the node that an operation changes, and its graph; false after a
 * finding. */
static bool find_target_node(struct diff *d, const struct target *t,
                             enum aspect what,
                             const struct mortise_yaml **graph,
                             const struct mortise_yaml **node)
{
    if (!check_contradiction(d, t->at, what))
        return false;
    *graph = get_graph_at_path(d, t->at, t->n_dir);
    if (*graph == NULL)
        return false;
    *node = mortise_yaml_get(get_graph_nodes(*graph), t->id);
    if (*node == NULL || (*node)->kind != MORTISE_YAML_MAP) {
        report_unknown_target(d, t->at, t->id, get_graph_nodes(*graph));
        return false;
    }
    if (!check_not_begun(d, t->at))
        return false;
    record_statement(d, t->at, what);
    return true;
}

/* False after a finding: the id is in use. */
static bool check_id_is_free(struct diff *d, const struct mortise_yaml *nodes,
                             const struct mortise_yaml *at, const char *id)
{
    const struct mortise_yaml *there = mortise_yaml_key(nodes, id);

    if (there == NULL)
        return true;
    mortise_diag_add(d->diags, "E1105", at->span,
                     "node '%s' already exists, at %s:%u:%u", at->str,
                     there->span.file->path, (unsigned)there->span.line,
                     (unsigned)there->span.col);
    return false;
}

/* ---- the operations --------------------------------------------------------- */

/* The keys of all operations. */
struct operation {
    const struct mortise_yaml *id, *ids, *node, *needs, *role, *tools, *into,
        *team;
};

/* False after a finding: then a value may be missing or of any type. */
static bool read_operation_keys(struct diff *d, const struct mortise_slot *slot,
                                struct operation *o)
{
    size_t errors = d->diags->n_errors;

    mortise_keys_read_slot(slot, d, o, d->diags);
    return d->diags->n_errors == errors && !d->diags->failed;
}

static const struct mortise_key node_row = {.value = MORTISE_V_MAP};

#define ID_ROW                                                                 \
    {                                                                          \
        .name = "id",                                                          \
        .about = "The node: its id, or TEAM/NODE of one in a team.",           \
        .value = MORTISE_V_STRING, .required = true,                           \
        MORTISE_INTO_YAML(struct operation, id)                                \
    }

static void apply_add(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct diff *d = ctx;
    struct operation o = {.id = NULL};
    const struct mortise_yaml *graph, *key;
    struct target t;

    (void)into;
    if (!read_operation_keys(d, slot, &o))
        return;
    t = parse_target(o.id);
    if (!check_contradiction(d, t.at, IS_MADE) ||
        (graph = get_graph_at_path(d, t.at, t.n_dir)) == NULL ||
        !check_id_is_free(d, get_graph_nodes(graph), t.at, t.id) ||
        !check_not_begun(d, t.at))
        return;
    record_statement(d, t.at, IS_MADE);
    if ((key = make_target_key(d, &t)) != NULL)
        store_changed_nodes(
            d, &t, graph, set_map_item(d, get_graph_nodes(graph), key, o.node),
            key);
}

static void apply_remove(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct diff *d = ctx;
    struct target t = parse_target(slot->value);
    const struct mortise_yaml *graph, *node, *key;
    struct removed *r;

    (void)into;
    if (!find_target_node(d, &t, IS_GONE, &graph, &node) ||
        (r = alloc_diff(d, sizeof *r)) == NULL ||
        (key = make_target_key(d, &t)) == NULL)
        return;
    *r = (struct removed){d->removed, t.at->str, t.at};
    d->removed = r;
    store_changed_nodes(
        d, &t, graph, set_map_item(d, get_graph_nodes(graph), key, NULL), NULL);
}

/* False after a finding. */
static bool check_part_is_node(struct diff *d, const struct mortise_yaml *part)
{
    if (part->kind == MORTISE_YAML_MAP)
        return true;
    mortise_diag_add(d->diags, "E0203", part->span,
                     "a node must be a mapping, not %s",
                     mortise_yaml_kind_name(part->kind));
    return false;
}

/* The ids of the parts on which no other part depends. */
static const struct mortise_yaml *
list_last_parts(struct diff *d, const struct mortise_yaml *parts)
{
    struct items needed = {.n = 0}, all = {.n = 0};
    const struct mortise_yaml *one, *before;

    for (size_t i = 0; i < parts->n; i++)
        for (size_t k = 0;
             (one = get_listed_id(get_dependencies(parts->items[i]), k)) !=
             NULL;
             k++)
            if (one->kind == MORTISE_YAML_STRING)
                append_item(d, &needed, one, one);
    before = make_items_map(d, &needed, parts->span);
    for (size_t i = 0; i < parts->n; i++)
        if (!has_listed_id(before, parts->keys[i]->str))
            append_item(d, &all, parts->keys[i], parts->keys[i]);
    return make_items_list(d, &all, parts->span);
}

/* The keys of the mapping, as a list of ids. */
static const struct mortise_yaml *list_map_keys(struct diff *d,
                                                const struct mortise_yaml *map)
{
    const struct items keys = {map->keys, map->keys, map->n, map->n};

    return make_items_list(d, &keys, map->span);
}

static void apply_split(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct diff *d = ctx;
    struct operation o = {.id = NULL};
    const struct mortise_yaml *graph, *node, *nodes, *key;
    struct items all = {.n = 0};
    struct target t;
    bool fits = true;

    (void)into;
    if (!read_operation_keys(d, slot, &o))
        return;
    t = parse_target(o.id);
    if (!find_target_node(d, &t, IS_GONE, &graph, &node) ||
        (key = make_target_key(d, &t)) == NULL)
        return;
    nodes = get_graph_nodes(graph);
    for (size_t i = 0; i < o.into->n; i++) {
        fits &= check_part_is_node(d, o.into->items[i]);
        fits &=
            strcmp(o.into->keys[i]->str, t.id) == 0 ||
            check_id_is_free(d, nodes, o.into->keys[i], o.into->keys[i]->str);
    }
    if (!fits)
        return;
    nodes = redirect_dependents(d, nodes, key, list_last_parts(d, o.into));
    for (size_t i = 0; !d->nomem && i < nodes->n; i++) {
        if (strcmp(nodes->keys[i]->str, t.id) != 0) {
            append_item(d, &all, nodes->keys[i], nodes->items[i]);
            continue;
        }
        for (size_t k = 0; k < o.into->n; k++) /* in place of the node */
            append_item(d, &all, o.into->keys[k],
                        has_no_dependencies(o.into->items[k]) &&
                                get_dependencies(node) != NULL
                            ? set_dependencies(d, o.into->items[k],
                                               get_dependencies(node),
                                               o.into->keys[k])
                            : o.into->items[k]);
    }
    if (!d->nomem)
        store_changed_nodes(d, &t, graph, make_items_map(d, &all, nodes->span),
                            list_map_keys(d, o.into));
}

/* Set one key of a node. */
static void apply_set_key(struct diff *d, const struct mortise_slot *slot,
                          struct operation *o,
                          const struct mortise_yaml *const *value,
                          const char *key, enum aspect what)
{
    const struct mortise_yaml *graph, *node, *name;
    struct target t;

    if (!read_operation_keys(d, slot, o))
        return;
    t = parse_target(o->id);
    if (!find_target_node(d, &t, what, &graph, &node))
        return;
    node =
        what == ITS_NEEDS
            ? set_dependencies(d, node, *value, o->id)
            : set_map_item(d, node, mortise_yaml_key(slot->value, key), *value);
    name = mortise_yaml_key(get_graph_nodes(graph), t.id);
    if (!d->nomem)
        store_changed_nodes(d, &t, graph,
                            set_map_item(d, get_graph_nodes(graph), name, node),
                            name);
}

static void apply_reroute(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    struct operation o = {.id = NULL};

    (void)into;
    apply_set_key(ctx, slot, &o, &o.needs, "depends_on", ITS_NEEDS);
}

static void apply_set_role(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct operation o = {.id = NULL};

    (void)into;
    apply_set_key(ctx, slot, &o, &o.role, "role", ITS_ROLE);
}

static void apply_set_tools(void *ctx, void *into,
                            const struct mortise_slot *slot)
{
    struct operation o = {.id = NULL};

    (void)into;
    apply_set_key(ctx, slot, &o, &o.tools, "tool_allowlist", ITS_TOOLS);
}

/* ---- wrap ------------------------------------------------------------------- */

/* The wrapped nodes as the team's own nodes.  Adds their dependencies on other
 * nodes to *needs. */
static const struct mortise_yaml *
make_team_nodes(struct diff *d, const struct mortise_yaml *nodes,
                const struct mortise_yaml *ids, struct items *needs)
{
    struct items all = {.n = 0};

    for (size_t i = 0; i < nodes->n; i++) {
        const struct mortise_yaml *node = nodes->items[i], *one;
        struct items own = {.n = 0};

        if (!has_listed_id(ids, nodes->keys[i]->str))
            continue;
        for (size_t k = 0;
             (one = get_listed_id(get_dependencies(node), k)) != NULL; k++) {
            const struct mortise_yaml so_far = {
                .kind = MORTISE_YAML_SEQ, .items = needs->items, .n = needs->n};
            const bool is_id = one->kind == MORTISE_YAML_STRING; /* (7) */

            if (is_id && has_listed_id(ids, one->str))
                append_item(d, &own, one, one);
            else if (!is_id || !has_listed_id(&so_far, one->str))
                append_item(d, needs, one, one);
        }
        if (get_dependencies(node) != NULL)
            node = set_dependencies(
                d, node, make_items_list(d, &own, get_dependencies(node)->span),
                nodes->keys[i]);
        append_item(d, &all, nodes->keys[i], node);
    }
    return make_items_map(d, &all, ids->span);
}

/* {start, nodes} */
static const struct mortise_yaml *
make_team_graph(struct diff *d, const struct mortise_yaml *nodes,
                const struct mortise_yaml *like)
{
    struct items all = {.n = 0}, start = {.n = 0};

    for (size_t i = 0; !d->nomem && i < nodes->n; i++)
        if (has_no_dependencies(nodes->items[i]))
            append_item(d, &start, nodes->keys[i], nodes->keys[i]);
    append_item(d, &all, make_diff_text(d, "start", like),
                make_items_list(d, &start, like->span));
    append_item(d, &all, make_diff_text(d, "nodes", like), nodes);
    return make_items_map(d, &all, like->span);
}

/* The node of the team: its keys without the id, with its type, dependencies
 * and graph. */
static const struct mortise_yaml *
make_team_node(struct diff *d, const struct mortise_yaml *said,
               const struct items *needs, const struct mortise_yaml *graph)
{
    const struct mortise_yaml *id = mortise_yaml_get(said, "id");
    struct items all = {.n = 0};

    append_item(d, &all, make_diff_text(d, "type", id),
                make_diff_text(d, "team", id));
    for (size_t i = 0; i < said->n; i++)
        if (strcmp(said->keys[i]->str, "id") != 0)
            append_item(d, &all, said->keys[i], said->items[i]);
    if (needs->n > 0)
        append_item(d, &all, make_diff_text(d, "depends_on", id),
                    make_items_list(d, needs, id->span));
    append_item(d, &all, make_diff_text(d, "graph", id), graph);
    return make_items_map(d, &all, said->span);
}

/* Check that all ids are in the graph of the first one and have not begun;
 * returns the last parts of the ids as a set. */
static const struct mortise_yaml *
find_wrapped_nodes(struct diff *d, const struct mortise_yaml *ids,
                   const struct target *first,
                   const struct mortise_yaml **graph)
{
    struct items all = {.n = 0};
    const struct mortise_yaml *node;
    bool fits = true;

    for (size_t i = 0; i < ids->n; i++) {
        struct target t = parse_target(ids->items[i]);

        if (t.n_dir != first->n_dir ||
            memcmp(t.at->str, first->at->str, t.n_dir) != 0) {
            mortise_diag_add(d->diags, "E1104", t.at->span,
                             "'%s' is not in the same graph as '%s'", t.at->str,
                             first->at->str);
            fits = false;
        } else if (find_target_node(d, &t, IS_MOVED, graph, &node)) {
            append_item(d, &all, make_target_key(d, &t),
                        make_target_key(d, &t));
        } else {
            fits = false;
        }
    }
    return fits && !d->nomem ? make_items_map(d, &all, ids->span) : NULL;
}

/* The id of the team, which is in the graph of the wrapped nodes. */
static const struct mortise_yaml *check_team_id(struct diff *d,
                                                const struct mortise_yaml *team)
{
    static const char *const ours[] = {"type", "depends_on", "graph"};
    const struct mortise_yaml *id = mortise_yaml_get(team, "id");
    bool fits = id != NULL && id->kind == MORTISE_YAML_STRING;

    if (!fits)
        mortise_diag_add(d->diags, "E0206", team->span,
                         "'team' needs the key 'id', a string");
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++) {
        const struct mortise_yaml *key = mortise_yaml_key(team, ours[i]);

        if (key == NULL)
            continue;
        mortise_diag_add(
            d->diags, "E0212", key->span,
            "'%s' cannot be set: it follows from the wrapped nodes", ours[i]);
        fits = false;
    }
    return fits ? id : NULL;
}

static void apply_wrap(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct diff *d = ctx;
    struct operation o = {.id = NULL};
    const struct mortise_yaml *graph, *ids, *id, *nodes, *inner, *team;
    struct items needs = {.n = 0}, all = {.n = 0};
    struct target first;
    bool placed = false;

    (void)into;
    if (!read_operation_keys(d, slot, &o) || o.ids->n == 0)
        return;
    id = check_team_id(d, o.team);
    first = parse_target(o.ids->items[0]);
    ids = find_wrapped_nodes(d, o.ids, &first, &graph);
    if (ids == NULL || id == NULL)
        return;
    nodes = get_graph_nodes(graph);
    if (!has_listed_id(ids, id->str) &&
        !check_id_is_free(d, nodes, id, id->str))
        return;
    inner = make_team_nodes(d, nodes, ids, &needs);
    if (d->nomem)
        return;
    team = make_team_node(d, o.team, &needs, make_team_graph(d, inner, id));
    nodes = redirect_dependents(d, nodes, ids, id);
    for (size_t i = 0; !d->nomem && i < nodes->n; i++) {
        if (!has_listed_id(ids, nodes->keys[i]->str))
            append_item(d, &all, nodes->keys[i], nodes->items[i]);
        else if (!placed)
            append_item(d, &all, id, team);
        placed |= has_listed_id(ids, nodes->keys[i]->str);
    }
    if (!d->nomem)
        store_changed_nodes(d, &first, graph,
                            make_items_map(d, &all, nodes->span), id);
}

/* ---- the keys ------------------------------------------------------------ */

static const struct mortise_key add_keys[] = {
    ID_ROW,
    {.name = "node",
     .about = "The node, as a graph has it.",
     .value = MORTISE_V_MAP,
     .required = true,
     MORTISE_INTO_YAML(struct operation, node)},
};
static const struct mortise_key split_keys[] = {
    ID_ROW,
    {.name = "into",
     .about = "The nodes that replace it: id -> node.",
     .value = MORTISE_V_MAP,
     .required = true,
     .min = 1,
     .each = &node_row,
     MORTISE_INTO_YAML(struct operation, into)},
};
static const struct mortise_key any_row = {.value = MORTISE_V_STRING};
static const struct mortise_key reroute_keys[] = {
    ID_ROW,
    {.name = "depends_on",
     .about =
         "The ids of the nodes that it depends on; none: it begins at once.",
     .value = MORTISE_V_LIST,
     .required = true,
     .each = &any_row,
     MORTISE_INTO_YAML(struct operation, needs)},
};
static const struct mortise_key role_keys[] = {
    ID_ROW,
    {.name = "role",
     .about = "The role of the node.",
     .value = MORTISE_V_STRING,
     .required = true,
     MORTISE_INTO_YAML(struct operation, role)},
};
static const struct mortise_key tools_keys[] = {
    ID_ROW,
    {.name = "tool_allowlist",
     .about = "The tools that the node can use; none: [].",
     .value = MORTISE_V_LIST,
     .required = true,
     .each = &any_row,
     MORTISE_INTO_YAML(struct operation, tools)},
};
static const struct mortise_key wrap_keys[] = {
    {.name = "ids",
     .about = "The nodes that become the team.",
     .value = MORTISE_V_STRINGS,
     .required = true,
     MORTISE_INTO_YAML(struct operation, ids)},
    {.name = "team",
     .about = "The team: its id, and the keys of a team without type, "
              "depends_on and graph.",
     .value = MORTISE_V_MAP,
     .required = true,
     MORTISE_INTO_YAML(struct operation, team)},
};

MORTISE_PLACE(add, "add");
MORTISE_PLACE(split, "split");
MORTISE_PLACE(reroute, "reroute");
MORTISE_PLACE(role, "set_role");
MORTISE_PLACE(tools, "set_tools");
MORTISE_PLACE(wrap, "wrap");

static const struct mortise_key operations[] = {
    {.name = "add",
     .about = "Add a node.",
     .value = MORTISE_V_MAP,
     .place = &add_place,
     .read = apply_add},
    {.name = "remove",
     .about = "Remove a node.",
     .value = MORTISE_V_STRING,
     .read = apply_remove},
    {.name = "split",
     .about = "Replace a node by several.",
     .value = MORTISE_V_MAP,
     .place = &split_place,
     .read = apply_split},
    {.name = "reroute",
     .about = "Change the dependencies of a node.",
     .value = MORTISE_V_MAP,
     .place = &reroute_place,
     .read = apply_reroute},
    {.name = "set_role",
     .about = "Change the role of a node.",
     .value = MORTISE_V_MAP,
     .place = &role_place,
     .read = apply_set_role},
    {.name = "set_tools",
     .about = "Change the tools of a node.",
     .value = MORTISE_V_MAP,
     .place = &tools_place,
     .read = apply_set_tools},
    {.name = "wrap",
     .about = "Replace several nodes by a team that contains them.",
     .value = MORTISE_V_MAP,
     .place = &wrap_place,
     .read = apply_wrap},
};

static const struct mortise_place operation_place = {
    MORTISE_PLACE_OF("an operation", operations)};

/* ---- applying a diff ----------------------------------------------------- */

static void apply_operation(struct diff *d, const struct mortise_yaml *one)
{
    if (one->kind != MORTISE_YAML_MAP || one->n != 1)
        mortise_diag_help(
            d->diags,
            mortise_diag_add(d->diags, "E1106", one->span,
                             "an operation must be a mapping with one key"),
            "use add, remove, split, reroute, set_role, set_tools or wrap");
    else
        mortise_keys_read(&operation_place, one, one->span, d, NULL, d->diags);
}

/* (5): report nodes that still depend on the removed node, unless their graph
 * was removed, too. */
static void check_removed_node(struct diff *d, const struct removed *r)
{
    struct target t = parse_target(r->by);
    char id[ID_ROOM];
    bool missing;
    const struct mortise_yaml *nodes =
        get_graph_nodes(find_graph_at_path(d, r->path, t.n_dir, id, &missing));

    if (nodes == NULL || mortise_yaml_get(nodes, t.id) != NULL)
        return;
    for (size_t i = 0; i < nodes->n; i++)
        if (has_listed_id(get_dependencies(nodes->items[i]), t.id))
            mortise_diag_help(
                d->diags,
                mortise_diag_add(d->diags, "E1103", r->by->span,
                                 "'%s' is removed, but '%.*s%s' depends on it",
                                 r->path, (int)t.n_dir, r->path,
                                 nodes->keys[i]->str),
                "reroute or remove the dependent node in the same diff");
}

static void apply_all_operations(struct diff *d,
                                 const struct mortise_yaml *list)
{
    size_t errors = d->diags->n_errors;

    if (list->kind != MORTISE_YAML_SEQ || list->n == 0) {
        mortise_diag_add(d->diags, "E1106", list->span,
                         "a diff must be a list of operations, and not empty");
        return;
    }
    if (list->n > OPERATIONS) { /* (8) */
        mortise_diag_help(
            d->diags,
            mortise_diag_add(
                d->diags, "E1106", list->items[OPERATIONS]->span,
                "a diff can have at most %d operations, but this one has %zu",
                OPERATIONS, list->n),
            "one 'split', or one added team, can add many nodes");
        return;
    }
    for (size_t i = 0; i < list->n && !d->nomem; i++)
        apply_operation(d, list->items[i]);
    if (d->diags->n_errors > errors)
        return;
    for (const struct removed *r = d->removed; r != NULL; r = r->next)
        check_removed_node(d, r);
}

int mortise_steer_apply(const struct mortise_yaml **out, json_t **ops,
                        struct mortise_arena *a,
                        const struct mortise_steer_target *of, const char *path,
                        const char *text_of, size_t n,
                        struct mortise_diags *diags, struct mortise_err *err)
{
    struct diff d = {.of = of, .a = a, .diags = diags, .root = of->graph->tree};
    struct mortise_yaml *list;
    size_t errors = diags->n_errors;
    int rv = mortise_yaml_parse(&list, a, path, text_of, n, diags);

    *out = NULL;
    *ops = NULL;
    mortise_table_init(&d.said, a->mem);
    if (rv == MORTISE_OK)
        apply_all_operations(&d, list);
    mortise_table_finish(&d.said);
    if (d.nomem || diags->failed || rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    if (diags->n_errors > errors)
        return mortise_fail(err, MORTISE_ECHECK, "%s has errors", path);
    *ops = mortise_yaml_to_json(list, false);
    if (*ops == NULL)
        return mortise_nomem(err);
    *out = d.root;
    return MORTISE_OK;
}
