/* steer.c -- diffs of task graphs: what is to be another in one that runs.
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
 * An id is that of a node, or TEAM/NODE of one inside.  The promises:
 *
 *   (1) They are applied in their order, to the graph as it is by then, and what
 *       comes of it is read and checked by those who read graph files: there is no
 *       second notion of what a graph may be.  Every part of it stands where it was
 *       written, so that a finding points at the line of the diff which brought it.
 *   (2) All findings are reported, as far as one does not follow from another.
 *   (3) What has begun is neither changed nor taken out.
 *   (4) Two operations do not say different things of one node: what one sets, no
 *       other sets, and what one takes out no other speaks of, unless it puts
 *       another node in that place.
 *   (5) Nobody is left to depend on what is gone: parts of a node take its place, a
 *       team takes that of what is in it, and who depends on what is removed is
 *       rerouted by the same diff, before or behind.
 *   (6) `start` follows: who depends on nobody is in it.
 *   (7) What an operation brought is read when all were applied.  Until then it is
 *       whatever somebody wrote, and taken for what it should be nowhere: an id may
 *       be no string, `nodes` no mapping, a node none either.
 *   (8) Who gives a diff holds up those who wait for the engine, which has other
 *       runs: an operation takes time and memory as the graph and what it brings
 *       are large, and OPERATIONS of them are a diff.
 */
#include "lang/graph/steer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/table.h"

enum {
    ID_ROOM = 80, /* ids have 64 bytes at most */
    OPERATIONS = 256
};

/* What an operation says of a node (4). */
enum aspect { IS_MADE = 1, IS_GONE, IS_MOVED, ITS_NEEDS, ITS_ROLE, ITS_TOOLS };

struct said {
    struct mortise_hashed link; /* by the path */
    const char *path;
    enum aspect what;
    struct mortise_span at;
};

/* A node that was removed, and by which words. */
struct removed {
    struct removed *next;
    const char *path;
    const struct mortise_yaml *by;
};

struct diff {
    const struct mortise_steered *of;
    struct mortise_arena *a;
    struct mortise_diags *diags;
    const struct mortise_yaml *root; /* the graph so far */
    struct mortise_table said;       /* of a path, what was said last */
    struct removed *removed;
    bool nomem;
};

/* ---- trees that are made -------------------------------------------------- */

static void *get(struct diff *d, size_t size)
{
    void *p = mortise_arena_alloc(d->a, size);

    d->nomem |= p == NULL;
    return p;
}

static struct mortise_yaml *text(struct diff *d, const char *s,
                                 const struct mortise_yaml *like)
{
    struct mortise_yaml *made = get(d, sizeof *made);

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

static void put(struct diff *d, struct items *to,
                const struct mortise_yaml *key, const struct mortise_yaml *item)
{
    if (to->n == to->cap) {
        size_t cap = to->cap > 0 ? 2 * to->cap : 16;
        struct mortise_yaml **keys = get(d, cap * sizeof *keys);
        struct mortise_yaml **items = get(d, cap * sizeof *items);

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
map_of(struct diff *d, const struct items *from, struct mortise_span at)
{
    struct mortise_yaml *map =
        d->nomem
            ? NULL
            : mortise_yaml_mapping(d->a, at, from->keys, from->items, from->n);

    d->nomem |= map == NULL;
    return map;
}

static const struct mortise_yaml *
list_of(struct diff *d, const struct items *from, struct mortise_span at)
{
    struct mortise_yaml *list = get(d, sizeof *list);

    if (list != NULL)
        *list = (struct mortise_yaml){.kind = MORTISE_YAML_SEQ,
                                      .span = at,
                                      .items = from->items,
                                      .n = from->n};
    return list;
}

static struct items room_for(struct diff *d, size_t n)
{
    return (struct items){.keys = get(d, n * sizeof(struct mortise_yaml *)),
                          .items = get(d, n * sizeof(struct mortise_yaml *)),
                          .cap = d->nomem ? 0 : n};
}

/* The map with that item under the key: in its place, or behind the others.  NULL
 * for an item: without it. */
static const struct mortise_yaml *with(struct diff *d,
                                       const struct mortise_yaml *map,
                                       const struct mortise_yaml *key,
                                       const struct mortise_yaml *item)
{
    size_t at = mortise_yaml_find(map, key->str);
    struct items all = room_for(d, map->n + 1);

    for (size_t i = 0; i < map->n; i++)
        if (i != at)
            put(d, &all, map->keys[i], map->items[i]);
        else if (item != NULL)
            put(d, &all, key, item);
    if (at == SIZE_MAX && item != NULL)
        put(d, &all, key, item);
    return map_of(d, &all, map->span);
}

/* The same, by a word. */
static const struct mortise_yaml *
with_word(struct diff *d, const struct mortise_yaml *map, const char *key,
          const struct mortise_yaml *item, const struct mortise_yaml *like)
{
    const struct mortise_yaml *is = mortise_yaml_key(map, key);

    if (is == NULL)
        is = text(d, key, like);
    return is != NULL ? with(d, map, is, item) : map;
}

/* ---- ids ------------------------------------------------------------------ */

/* The i-th of an id or a list of ids; NULL: there are no more. */
static const struct mortise_yaml *id_at(const struct mortise_yaml *ids,
                                        size_t i)
{
    if (ids == NULL || ids->kind != MORTISE_YAML_SEQ)
        return i == 0 ? ids : NULL;
    return i < ids->n ? ids->items[i] : NULL;
}

/* `ids`: an id, a list of them, or a mapping whose keys they are (set_of()). */
static bool is_among(const struct mortise_yaml *ids, const char *id)
{
    const struct mortise_yaml *one;

    if (ids != NULL && ids->kind == MORTISE_YAML_MAP)
        return mortise_yaml_find(ids, id) != SIZE_MAX;
    for (size_t i = 0; (one = id_at(ids, i)) != NULL; i++)
        if (one->kind == MORTISE_YAML_STRING && strcmp(one->str, id) == 0)
            return true;
    return false;
}

/* The ids, to look many of them up, for which it is all one where two are alike; NULL:
 * there are none. */
static const struct mortise_yaml *set_of(struct diff *d,
                                         const struct mortise_yaml *ids)
{
    struct items all = {.n = 0};
    const struct mortise_yaml *one;

    for (size_t i = 0; (one = id_at(ids, i)) != NULL; i++)
        if (one->kind == MORTISE_YAML_STRING)
            put(d, &all, one, one);
    return ids != NULL ? map_of(d, &all, ids->span) : NULL;
}

static const struct mortise_yaml *needs_of(const struct mortise_yaml *node)
{
    return mortise_yaml_get(node, "depends_on");
}

static bool is_first(const struct mortise_yaml *node)
{
    return id_at(needs_of(node), 0) == NULL;
}

/* The ids, once each, with those of `instead` where any of `gone` stood. */
static const struct mortise_yaml *
ids_without(struct diff *d, const struct mortise_yaml *ids,
            const struct mortise_yaml *gone, const struct mortise_yaml *instead)
{
    struct items all = {.n = 0};
    const struct mortise_yaml *one, *other;
    bool done = false;

    for (size_t i = 0; (one = id_at(ids, i)) != NULL; i++) {
        if (one->kind != MORTISE_YAML_STRING || !is_among(gone, one->str)) {
            put(d, &all, one, one);
            continue;
        }
        for (size_t k = 0; !done && (other = id_at(instead, k)) != NULL; k++)
            if (!is_among(ids, other->str) || is_among(gone, other->str))
                put(d, &all, other, other);
        done = true;
    }
    return list_of(d, &all, ids->span);
}

/* The node with these, or (none left) without any. */
static const struct mortise_yaml *with_needs(struct diff *d,
                                             const struct mortise_yaml *node,
                                             const struct mortise_yaml *ids,
                                             const struct mortise_yaml *like)
{
    return with_word(d, node, "depends_on", id_at(ids, 0) != NULL ? ids : NULL,
                     like);
}

/* ---- a graph --------------------------------------------------------------- */

/* NULL: it has none (7). */
static const struct mortise_yaml *nodes_of(const struct mortise_yaml *graph)
{
    const struct mortise_yaml *nodes = mortise_yaml_get(graph, "nodes");

    return nodes != NULL && nodes->kind == MORTISE_YAML_MAP ? nodes : NULL;
}

static const struct mortise_yaml *with_nodes(struct diff *d,
                                             const struct mortise_yaml *graph,
                                             const struct mortise_yaml *nodes)
{
    return with(d, graph, mortise_yaml_key(graph, "nodes"), nodes);
}

/* (6): the operation was about `roots`, an id or a list of ids. */
static const struct mortise_yaml *with_start(struct diff *d,
                                             const struct mortise_yaml *graph,
                                             const struct mortise_yaml *roots)
{
    const struct mortise_yaml *was = mortise_yaml_get(graph, "start"), *one,
                              *nodes = nodes_of(graph), *node;
    const struct mortise_yaml *before = set_of(d, was), *now = set_of(d, roots);
    struct items all = {.n = 0};

    if (was == NULL || d->nomem) /* edges say it */
        return graph;
    for (size_t i = 0; (one = id_at(was, i)) != NULL; i++) {
        node = one->kind == MORTISE_YAML_STRING
                   ? mortise_yaml_get(nodes, one->str)
                   : NULL;
        if (node != NULL && (is_first(node) || !is_among(now, one->str)))
            put(d, &all, one, one);
    }
    for (size_t i = 0; (one = id_at(roots, i)) != NULL; i++) {
        node = mortise_yaml_get(nodes, one->str);
        if (node != NULL && is_first(node) && !is_among(before, one->str))
            put(d, &all, one, one);
    }
    return with(d, graph, mortise_yaml_key(graph, "start"),
                list_of(d, &all, was->span));
}

/* Who depends on any of `gone` depends on `instead`. */
static const struct mortise_yaml *redirected(struct diff *d,
                                             const struct mortise_yaml *nodes,
                                             const struct mortise_yaml *gone,
                                             const struct mortise_yaml *instead)
{
    struct items all = {.n = 0};

    for (size_t i = 0; i < nodes->n; i++) {
        const struct mortise_yaml *node = nodes->items[i], *one,
                                  *needs = needs_of(node);
        bool any = false;

        for (size_t k = 0; (one = id_at(needs, k)) != NULL; k++)
            any |= one->kind == MORTISE_YAML_STRING && is_among(gone, one->str);
        if (any)
            node = with_needs(d, node, ids_without(d, needs, gone, instead),
                              needs);
        put(d, &all, nodes->keys[i], node);
    }
    return map_of(d, &all, nodes->span);
}

/* ---- where an operation is at work ----------------------------------------- */

/* A node that an operation names. */
struct target {
    const struct mortise_yaml *at; /* its id, as the diff has it */
    const char *id;                /* the last part of it */
    size_t n_dir;                  /* bytes ahead of that, its slash included */
};

static struct target target_of(const struct mortise_yaml *at)
{
    const char *slash = strrchr(at->str, '/');
    size_t n = slash != NULL ? (size_t)(slash - at->str) + 1 : 0;

    return (struct target){at, at->str + n, n};
}

/* The id alone, as a key. */
static const struct mortise_yaml *key_of(struct diff *d, const struct target *t)
{
    return t->n_dir == 0 ? t->at : text(d, t->id, t->at);
}

static void unknown(struct diff *d, const struct mortise_yaml *at,
                    const char *id, const struct mortise_yaml *nodes)
{
    struct mortise_diag *f = mortise_diag_add(d->diags, "E0301", at->span,
                                              "unknown node '%s'", at->str);
    const char **ids = get(d, (nodes->n + 1) * sizeof *ids), *near;

    if (ids == NULL)
        return;
    for (size_t i = 0; i < nodes->n; i++)
        ids[i] = nodes->keys[i]->str;
    near = mortise_nearest(id, ids, nodes->n);
    if (near != NULL)
        mortise_diag_help(d->diags, f, "did you mean '%.*s%s'?",
                          (int)(strlen(at->str) - strlen(id)), at->str, near);
}

/* The graph that stands at the first `n` bytes of a path, "TEAM/TEAM/"; NULL: there
 * is none, and `id` is the node that is missing, or has none inside. */
static const struct mortise_yaml *look_up(const struct diff *d,
                                          const char *path, size_t n,
                                          char id[ID_ROOM], bool *missing)
{
    const struct mortise_yaml *graph = d->root, *node;
    const char *end = path + n;

    *missing = false;
    while (path < end && nodes_of(graph) != NULL) {
        size_t k = strcspn(path, "/");

        snprintf(id, ID_ROOM, "%.*s", (int)k, path);
        node = mortise_yaml_get(nodes_of(graph), id);
        *missing = node == NULL;
        graph = mortise_yaml_get(node, "graph");
        path += k + 1;
        if (*missing)
            return NULL;
    }
    return nodes_of(graph) != NULL ? graph : NULL;
}

/* The same; NULL after a finding. */
static const struct mortise_yaml *
graph_at(struct diff *d, const struct mortise_yaml *at, size_t n)
{
    char id[ID_ROOM];
    bool missing;
    const struct mortise_yaml *graph = look_up(d, at->str, n, id, &missing);

    if (graph == NULL && missing)
        mortise_diag_add(d->diags, "E0301", at->span,
                         "unknown node '%s' in '%s'", id, at->str);
    else if (graph == NULL)
        mortise_diag_add(d->diags, "E1104", at->span,
                         "node '%s' contains no task graph that can be steered",
                         id);
    return graph;
}

/* `outer` with that graph at the path instead of the one that is there.  Recursive
 * as teams nest, which limits.depth bounds. */
static const struct mortise_yaml *graph_put(struct diff *d,
                                            const struct mortise_yaml *outer,
                                            const char *path, size_t n,
                                            const struct mortise_yaml *graph)
{
    size_t k = strcspn(path, "/");
    const struct mortise_yaml *nodes = nodes_of(outer), *node, *key;
    char id[ID_ROOM];

    if (n == 0 || d->nomem)
        return graph;
    snprintf(id, sizeof id, "%.*s", (int)k, path);
    key = mortise_yaml_key(nodes, id);
    node = mortise_yaml_get(nodes, id);
    graph = graph_put(d, mortise_yaml_get(node, "graph"), path + k + 1,
                      n - k - 1, graph);
    if (d->nomem)
        return outer;
    node = with(d, node, mortise_yaml_key(node, "graph"), graph);
    return d->nomem ? outer : with_nodes(d, outer, with(d, nodes, key, node));
}

/* The nodes of the graph in which t is are these, and those of `roots` may be the
 * first ones. */
static void put_nodes(struct diff *d, const struct target *t,
                      const struct mortise_yaml *graph,
                      const struct mortise_yaml *nodes,
                      const struct mortise_yaml *roots)
{
    const struct mortise_yaml *root = NULL;

    if (!d->nomem)
        graph = with_nodes(d, graph, nodes);
    if (!d->nomem)
        graph = with_start(d, graph, roots);
    if (!d->nomem)
        root = graph_put(d, d->root, t->at->str, t->n_dir, graph);
    if (!d->nomem)
        d->root = root;
}

/* ---- what may be said of it (3), (4) ---------------------------------------- */

static bool contradict(enum aspect now, enum aspect before)
{
    if (before == IS_GONE)
        return now != IS_MADE;
    return now == IS_GONE || (now == before && now != IS_MADE);
}

/* What was said of it last; NULL: nothing. */
static struct said *said_of(const struct diff *d, const char *path)
{
    struct mortise_hashed *e =
        mortise_table_find(&d->said, mortise_hash_strs(path, ""));

    while (e != NULL &&
           strcmp(MORTISE_OF(e, struct said, link)->path, path) != 0)
        e = mortise_table_more(e);
    return e != NULL ? MORTISE_OF(e, struct said, link) : NULL;
}

/* False after a finding. */
static bool may_say(struct diff *d, const struct mortise_yaml *at,
                    enum aspect what)
{
    const struct said *s = said_of(d, at->str);

    if (s == NULL || !contradict(what, s->what))
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

static void say(struct diff *d, const struct mortise_yaml *at, enum aspect what)
{
    struct said *s = said_of(d, at->str);
    const bool is_new = s == NULL;

    if (is_new && (s = get(d, sizeof *s)) == NULL)
        return;
    s->path = at->str;
    s->what = what;
    s->at = at->span;
    if (is_new)
        mortise_table_add(&d->said, &s->link, mortise_hash_strs(at->str, ""));
}

static bool has_not_begun(struct diff *d, const struct mortise_yaml *at)
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

/* The node that an operation is about, and its graph; false after a finding. */
static bool find(struct diff *d, const struct target *t, enum aspect what,
                 const struct mortise_yaml **graph,
                 const struct mortise_yaml **node)
{
    if (!may_say(d, t->at, what))
        return false;
    *graph = graph_at(d, t->at, t->n_dir);
    if (*graph == NULL)
        return false;
    *node = mortise_yaml_get(nodes_of(*graph), t->id);
    if (*node == NULL || (*node)->kind != MORTISE_YAML_MAP) {
        unknown(d, t->at, t->id, nodes_of(*graph));
        return false;
    }
    if (!has_not_begun(d, t->at))
        return false;
    say(d, t->at, what);
    return true;
}

/* There is no such node yet. */
static bool is_free(struct diff *d, const struct mortise_yaml *nodes,
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

/* The keys of any of them. */
struct operation {
    const struct mortise_yaml *id, *ids, *node, *needs, *role, *tools, *into,
        *team;
};

/* False after a finding: then a value may be anything, or missing. */
static bool read_keys(struct diff *d, const struct mortise_slot *slot,
                      struct operation *o)
{
    size_t errors = d->diags->n_errors;

    mortise_keys_enter(slot, d, o, d->diags);
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

static void add(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct diff *d = ctx;
    struct operation o = {.id = NULL};
    const struct mortise_yaml *graph, *key;
    struct target t;

    (void)into;
    if (!read_keys(d, slot, &o))
        return;
    t = target_of(o.id);
    if (!may_say(d, t.at, IS_MADE) ||
        (graph = graph_at(d, t.at, t.n_dir)) == NULL ||
        !is_free(d, nodes_of(graph), t.at, t.id) || !has_not_begun(d, t.at))
        return;
    say(d, t.at, IS_MADE);
    if ((key = key_of(d, &t)) != NULL)
        put_nodes(d, &t, graph, with(d, nodes_of(graph), key, o.node), key);
}

static void take_out(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct diff *d = ctx;
    struct target t = target_of(slot->value);
    const struct mortise_yaml *graph, *node, *key;
    struct removed *r;

    (void)into;
    if (!find(d, &t, IS_GONE, &graph, &node) ||
        (r = get(d, sizeof *r)) == NULL || (key = key_of(d, &t)) == NULL)
        return;
    *r = (struct removed){d->removed, t.at->str, t.at};
    d->removed = r;
    put_nodes(d, &t, graph, with(d, nodes_of(graph), key, NULL), NULL);
}

/* False after a finding. */
static bool is_node(struct diff *d, const struct mortise_yaml *part)
{
    if (part->kind == MORTISE_YAML_MAP)
        return true;
    mortise_diag_add(d->diags, "E0203", part->span,
                     "a node must be a mapping, not %s",
                     mortise_yaml_kind_name(part->kind));
    return false;
}

/* The ids of those parts on which no other part depends. */
static const struct mortise_yaml *last_of(struct diff *d,
                                          const struct mortise_yaml *parts)
{
    struct items needed = {.n = 0}, all = {.n = 0};
    const struct mortise_yaml *one, *before;

    for (size_t i = 0; i < parts->n; i++)
        for (size_t k = 0; (one = id_at(needs_of(parts->items[i]), k)) != NULL;
             k++)
            if (one->kind == MORTISE_YAML_STRING)
                put(d, &needed, one, one);
    before = map_of(d, &needed, parts->span);
    for (size_t i = 0; i < parts->n; i++)
        if (!is_among(before, parts->keys[i]->str))
            put(d, &all, parts->keys[i], parts->keys[i]);
    return list_of(d, &all, parts->span);
}

/* Its keys, as ids. */
static const struct mortise_yaml *keys_of(struct diff *d,
                                          const struct mortise_yaml *map)
{
    const struct items keys = {map->keys, map->keys, map->n, map->n};

    return list_of(d, &keys, map->span);
}

static void split(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct diff *d = ctx;
    struct operation o = {.id = NULL};
    const struct mortise_yaml *graph, *node, *nodes, *key;
    struct items all = {.n = 0};
    struct target t;
    bool fits = true;

    (void)into;
    if (!read_keys(d, slot, &o))
        return;
    t = target_of(o.id);
    if (!find(d, &t, IS_GONE, &graph, &node) || (key = key_of(d, &t)) == NULL)
        return;
    nodes = nodes_of(graph);
    for (size_t i = 0; i < o.into->n; i++) {
        fits &= is_node(d, o.into->items[i]);
        fits &= strcmp(o.into->keys[i]->str, t.id) == 0 ||
                is_free(d, nodes, o.into->keys[i], o.into->keys[i]->str);
    }
    if (!fits)
        return;
    nodes = redirected(d, nodes, key, last_of(d, o.into));
    for (size_t i = 0; !d->nomem && i < nodes->n; i++) {
        if (strcmp(nodes->keys[i]->str, t.id) != 0) {
            put(d, &all, nodes->keys[i], nodes->items[i]);
            continue;
        }
        for (size_t k = 0; k < o.into->n; k++) /* in its place */
            put(d, &all, o.into->keys[k],
                is_first(o.into->items[k]) && needs_of(node) != NULL
                    ? with_needs(d, o.into->items[k], needs_of(node),
                                 o.into->keys[k])
                    : o.into->items[k]);
    }
    if (!d->nomem)
        put_nodes(d, &t, graph, map_of(d, &all, nodes->span),
                  keys_of(d, o.into));
}

/* One key of a node is another. */
static void set(struct diff *d, const struct mortise_slot *slot,
                struct operation *o, const struct mortise_yaml *const *value,
                const char *key, enum aspect what)
{
    const struct mortise_yaml *graph, *node, *name;
    struct target t;

    if (!read_keys(d, slot, o))
        return;
    t = target_of(o->id);
    if (!find(d, &t, what, &graph, &node))
        return;
    node = what == ITS_NEEDS
               ? with_needs(d, node, *value, o->id)
               : with(d, node, mortise_yaml_key(slot->value, key), *value);
    name = mortise_yaml_key(nodes_of(graph), t.id);
    if (!d->nomem)
        put_nodes(d, &t, graph, with(d, nodes_of(graph), name, node), name);
}

static void reroute(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct operation o = {.id = NULL};

    (void)into;
    set(ctx, slot, &o, &o.needs, "depends_on", ITS_NEEDS);
}

static void set_role(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct operation o = {.id = NULL};

    (void)into;
    set(ctx, slot, &o, &o.role, "role", ITS_ROLE);
}

static void set_tools(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct operation o = {.id = NULL};

    (void)into;
    set(ctx, slot, &o, &o.tools, "tool_allowlist", ITS_TOOLS);
}

/* ---- wrap ------------------------------------------------------------------- */

/* What is wrapped, as the team's own nodes; what those depend on outside of it is
 * added to *needs. */
static const struct mortise_yaml *inner_nodes(struct diff *d,
                                              const struct mortise_yaml *nodes,
                                              const struct mortise_yaml *ids,
                                              struct items *needs)
{
    struct items all = {.n = 0};

    for (size_t i = 0; i < nodes->n; i++) {
        const struct mortise_yaml *node = nodes->items[i], *one;
        struct items own = {.n = 0};

        if (!is_among(ids, nodes->keys[i]->str))
            continue;
        for (size_t k = 0; (one = id_at(needs_of(node), k)) != NULL; k++) {
            const struct mortise_yaml so_far = {
                .kind = MORTISE_YAML_SEQ, .items = needs->items, .n = needs->n};
            const bool is_id = one->kind == MORTISE_YAML_STRING; /* (7) */

            if (is_id && is_among(ids, one->str))
                put(d, &own, one, one);
            else if (!is_id || !is_among(&so_far, one->str))
                put(d, needs, one, one);
        }
        if (needs_of(node) != NULL)
            node = with_needs(d, node, list_of(d, &own, needs_of(node)->span),
                              nodes->keys[i]);
        put(d, &all, nodes->keys[i], node);
    }
    return map_of(d, &all, ids->span);
}

/* {start, nodes} */
static const struct mortise_yaml *inner_graph(struct diff *d,
                                              const struct mortise_yaml *nodes,
                                              const struct mortise_yaml *like)
{
    struct items all = {.n = 0}, start = {.n = 0};

    for (size_t i = 0; !d->nomem && i < nodes->n; i++)
        if (is_first(nodes->items[i]))
            put(d, &start, nodes->keys[i], nodes->keys[i]);
    put(d, &all, text(d, "start", like), list_of(d, &start, like->span));
    put(d, &all, text(d, "nodes", like), nodes);
    return map_of(d, &all, like->span);
}

/* The team without its id, with its type, what it depends on and its graph. */
static const struct mortise_yaml *team_node(struct diff *d,
                                            const struct mortise_yaml *said,
                                            const struct items *needs,
                                            const struct mortise_yaml *graph)
{
    const struct mortise_yaml *id = mortise_yaml_get(said, "id");
    struct items all = {.n = 0};

    put(d, &all, text(d, "type", id), text(d, "team", id));
    for (size_t i = 0; i < said->n; i++)
        if (strcmp(said->keys[i]->str, "id") != 0)
            put(d, &all, said->keys[i], said->items[i]);
    if (needs->n > 0)
        put(d, &all, text(d, "depends_on", id), list_of(d, needs, id->span));
    put(d, &all, text(d, "graph", id), graph);
    return map_of(d, &all, said->span);
}

/* All ids stand in the graph of the first, and none has begun; the ids alone, as a
 * set. */
static const struct mortise_yaml *find_all(struct diff *d,
                                           const struct mortise_yaml *ids,
                                           const struct target *first,
                                           const struct mortise_yaml **graph)
{
    struct items all = {.n = 0};
    const struct mortise_yaml *node;
    bool fits = true;

    for (size_t i = 0; i < ids->n; i++) {
        struct target t = target_of(ids->items[i]);

        if (t.n_dir != first->n_dir ||
            memcmp(t.at->str, first->at->str, t.n_dir) != 0) {
            mortise_diag_add(d->diags, "E1104", t.at->span,
                             "'%s' is not in the same graph as '%s'", t.at->str,
                             first->at->str);
            fits = false;
        } else if (find(d, &t, IS_MOVED, graph, &node)) {
            put(d, &all, key_of(d, &t), key_of(d, &t));
        } else {
            fits = false;
        }
    }
    return fits && !d->nomem ? map_of(d, &all, ids->span) : NULL;
}

/* The team's id, which names it beside what it takes the place of. */
static const struct mortise_yaml *team_id(struct diff *d,
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

static void wrap(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct diff *d = ctx;
    struct operation o = {.id = NULL};
    const struct mortise_yaml *graph, *ids, *id, *nodes, *inner, *team;
    struct items needs = {.n = 0}, all = {.n = 0};
    struct target first;
    bool placed = false;

    (void)into;
    if (!read_keys(d, slot, &o) || o.ids->n == 0)
        return;
    id = team_id(d, o.team);
    first = target_of(o.ids->items[0]);
    ids = find_all(d, o.ids, &first, &graph);
    if (ids == NULL || id == NULL)
        return;
    nodes = nodes_of(graph);
    if (!is_among(ids, id->str) && !is_free(d, nodes, id, id->str))
        return;
    inner = inner_nodes(d, nodes, ids, &needs);
    if (d->nomem)
        return;
    team = team_node(d, o.team, &needs, inner_graph(d, inner, id));
    nodes = redirected(d, nodes, ids, id);
    for (size_t i = 0; !d->nomem && i < nodes->n; i++) {
        if (!is_among(ids, nodes->keys[i]->str))
            put(d, &all, nodes->keys[i], nodes->items[i]);
        else if (!placed)
            put(d, &all, id, team);
        placed |= is_among(ids, nodes->keys[i]->str);
    }
    if (!d->nomem)
        put_nodes(d, &first, graph, map_of(d, &all, nodes->span), id);
}

/* ---- the language ----------------------------------------------------------- */

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
     .read = add},
    {.name = "remove",
     .about = "Remove a node.",
     .value = MORTISE_V_STRING,
     .read = take_out},
    {.name = "split",
     .about = "Replace a node by several.",
     .value = MORTISE_V_MAP,
     .place = &split_place,
     .read = split},
    {.name = "reroute",
     .about = "Change the dependencies of a node.",
     .value = MORTISE_V_MAP,
     .place = &reroute_place,
     .read = reroute},
    {.name = "set_role",
     .about = "Change the role of a node.",
     .value = MORTISE_V_MAP,
     .place = &role_place,
     .read = set_role},
    {.name = "set_tools",
     .about = "Change the tools of a node.",
     .value = MORTISE_V_MAP,
     .place = &tools_place,
     .read = set_tools},
    {.name = "wrap",
     .about = "Replace several nodes by a team that contains them.",
     .value = MORTISE_V_MAP,
     .place = &wrap_place,
     .read = wrap},
};

static const struct mortise_place operation_place = {
    MORTISE_PLACE_OF("an operation", operations)};

/* ---- all of it -------------------------------------------------------------- */

static void read_operation(struct diff *d, const struct mortise_yaml *one)
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

/* (5): who is left behind.  What stood in what is gone, too, has left nobody. */
static void look_behind(struct diff *d, const struct removed *r)
{
    struct target t = target_of(r->by);
    char id[ID_ROOM];
    bool missing;
    const struct mortise_yaml *nodes =
        nodes_of(look_up(d, r->path, t.n_dir, id, &missing));

    if (nodes == NULL || mortise_yaml_get(nodes, t.id) != NULL)
        return;
    for (size_t i = 0; i < nodes->n; i++)
        if (is_among(needs_of(nodes->items[i]), t.id))
            mortise_diag_help(
                d->diags,
                mortise_diag_add(d->diags, "E1103", r->by->span,
                                 "'%s' is removed, but '%.*s%s' depends on it",
                                 r->path, (int)t.n_dir, r->path,
                                 nodes->keys[i]->str),
                "reroute or remove the dependent node in the same diff");
}

static void read_all(struct diff *d, const struct mortise_yaml *list)
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
        read_operation(d, list->items[i]);
    if (d->diags->n_errors > errors)
        return;
    for (const struct removed *r = d->removed; r != NULL; r = r->next)
        look_behind(d, r);
}

int mortise_steer_apply(const struct mortise_yaml **out, json_t **ops,
                        struct mortise_arena *a,
                        const struct mortise_steered *of, const char *path,
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
        read_all(&d, list);
    mortise_table_finish(&d.said);
    if (d.nomem || diags->failed || rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    if (diags->n_errors > errors)
        return mortise_fail(err, MORTISE_ECHECK, "%s has errors", path);
    *ops = mortise_yaml_json(list, false);
    if (*ops == NULL)
        return mortise_nomem(err);
    *out = d.root;
    return MORTISE_OK;
}
