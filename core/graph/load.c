/* load.c -- from a file to a graph: the whole way, and the top level.
 *
 * One pass reads everything by the tables of keys, one links edges to nodes,
 * then the graph is looked at as a whole (check.c, race.c).  The promises:
 *
 *   (1) What loads runs as written.  There is no second, more forgiving
 *       reader: `mortise check` and the engine call this function.
 *   (2) Every finding of a file is reported in one go, with its place; what
 *       follows from another finding is not reported on top of it.
 *   (3) Memory running out is an error of its own, never a finding and never
 *       a graph with parts missing.
 *   (4) Cost is linear in the file (n log n where names are looked up): 5,000
 *       nodes are nothing.
 *   (5) The digest names what the graph does: it covers all but the keys that
 *       are ignored (x-...).  Inside `args` there are none such: there an x-
 *       key is data, which the plugin sees.
 */
#include "graph/loader.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "yaml/header.h"

/* ---- helpers of all loader files ------------------------------------- */

void *mortise_load_alloc(struct mortise_loader *ld, size_t size)
{
    void *p = mortise_arena_alloc(ld->arena, size);

    ld->nomem |= p == NULL;
    return p;
}

/* The graph gives up its schemas when it dies. */
static struct mortise_schema *keep_schema(struct mortise_loader *ld,
                                          struct mortise_schema *s)
{
    struct mortise_graph *g = ld->g;
    struct mortise_schema **list = mortise_grow(
        ld->mem, g->schemas, g->n_schemas, &ld->cap_schemas, sizeof *list);

    if (list == NULL) {
        mortise_schema_finish(s);
        ld->nomem = true;
        return NULL;
    }
    g->schemas = list;
    list[g->n_schemas++] = s;
    return s;
}

/* Takes the reference to json, NULL included. */
static int compile_schema(struct mortise_loader *ld, json_t *json,
                          struct mortise_schema **out, char *where,
                          size_t where_size, struct mortise_err *err)
{
    int rv = json != NULL ? mortise_schema_compile(out, ld->arena, json, where,
                                                   where_size, err)
                          : MORTISE_ENOMEM;

    json_decref(json);
    ld->nomem |= rv == MORTISE_ENOMEM;
    if (rv == MORTISE_OK)
        *out = keep_schema(ld, *out);
    return rv;
}

struct mortise_schema *mortise_load_schema(struct mortise_loader *ld,
                                           const struct mortise_yaml *v)
{
    struct mortise_schema *s = NULL;
    struct mortise_err err;
    char where[512] = "";
    int rv = compile_schema(ld, mortise_yaml_json(v, false), &s, where,
                            sizeof where, &err);

    if (rv == MORTISE_EINVAL)
        mortise_diag_add(ld->diags, "E0209", mortise_yaml_at(v, where)->span,
                         "%s", err.msg);
    else if (rv == MORTISE_EUNAVAILABLE)
        mortise_diag_add(ld->diags, "E0205", mortise_yaml_at(v, where)->span,
                         "%s", err.msg);
    return rv == MORTISE_OK ? s : NULL;
}

struct mortise_schema *mortise_load_our_schema(struct mortise_loader *ld,
                                               json_t *json)
{
    struct mortise_schema *s = NULL;
    char where[64];
    int rv = compile_schema(ld, json, &s, where, sizeof where, NULL);

    assert(rv == MORTISE_OK || rv == MORTISE_ENOMEM); /* it is ours */
    return rv == MORTISE_OK ? s : NULL;
}

void mortise_load_plugin(struct mortise_loader *ld, const char *prefix,
                         const char *name)
{
    struct mortise_graph *g = ld->g;
    size_t size = strlen(prefix) + strlen(name) + 1;
    const char **list = mortise_grow(ld->mem, g->plugins, g->n_plugins,
                                     &ld->cap_plugins, sizeof *list);
    char *copy = mortise_load_alloc(ld, size);

    ld->nomem |= list == NULL;
    if (list != NULL)
        g->plugins = list;
    if (ld->nomem)
        return;
    memcpy(copy, prefix, strlen(prefix));
    memcpy(copy + strlen(prefix), name, strlen(name));
    list[g->n_plugins++] = copy;
}

/* The first member of the path that the schema of its root rules out. */
static const char *ruled_out(const struct mortise_schema *s,
                             const struct mortise_path *path)
{
    for (size_t i = 1; i < path->n && s != NULL; i++) {
        const char *key = path->steps[i].key;
        const struct mortise_schema *member =
            key != NULL ? mortise_schema_member(s, key)
                        : mortise_schema_items(s);

        if (key != NULL && member != NULL && mortise_schema_types(member) == 0)
            return key;
        s = member;
    }
    return NULL;
}

bool mortise_load_path(struct mortise_loader *ld, struct mortise_path *out,
                       const struct mortise_yaml *key)
{
    struct mortise_err err;
    const char *root, *member;
    struct mortise_diag *d;
    int rv = mortise_path_parse(out, ld->arena, key->str, key->len, &err);

    if (rv == MORTISE_ENOMEM) {
        ld->nomem = true;
        return false;
    }
    if (rv != MORTISE_OK) {
        mortise_diag_add(ld->diags, "E0213", key->span, "'%s' is no path: %s",
                         key->str, err.msg);
        return false;
    }
    root = out->steps[0].key;
    if (out->n < 2 ||
        (strcmp(root, "scratch") != 0 && strcmp(root, "artifacts") != 0)) {
        d = mortise_diag_add(ld->diags, "E0213", key->span,
                             "'%s' is not below scratch or artifacts",
                             key->str);
        mortise_diag_help(ld->diags, d,
                          "name a field of them, such as scratch.label");
        return false;
    }
    member = ruled_out(root[0] == 's' ? ld->g->scratch : ld->g->artifacts, out);
    if (member != NULL)
        mortise_diag_add(ld->diags, "E0213", key->span,
                         "the schema of %s has no member '%s'", root, member);
    return member == NULL;
}

/* ---- state ----------------------------------------------------------- */

static const struct mortise_word reducers[] = {
    {"last", MORTISE_REDUCE_LAST, false},
    {"first", MORTISE_REDUCE_FIRST, false},
    {"concat", MORTISE_REDUCE_CONCAT, false},
    {"merge", MORTISE_REDUCE_MERGE, false},
    {"sum", MORTISE_REDUCE_SUM, false},
    {"min", MORTISE_REDUCE_MIN, false},
    {"max", MORTISE_REDUCE_MAX, false},
    {"longest", MORTISE_REDUCE_LONGEST, false},
    {"avg", 0, true},
    {NULL, 0, false},
};

static void read_reducer(struct mortise_loader *ld,
                         const struct mortise_yaml *key,
                         const struct mortise_yaml *v)
{
    struct mortise_reducer *r = &ld->g->reducers[ld->g->n_reducers];
    const struct mortise_word *w;

    if (v->kind == MORTISE_YAML_MAP) {
        mortise_diag_add(ld->diags, "E0205", v->span,
                         "reducers with expr or caps are not available in "
                         "this build");
        return;
    }
    w = mortise_word_find(reducers, "reducer", v, ld->diags);
    if (w == NULL || !mortise_load_path(ld, &r->path, key))
        return;
    r->reduce = (enum mortise_reduce)w->value;
    r->span = key->span;
    ld->g->n_reducers++;
}

static int by_path(const void *a, const void *b)
{
    const struct mortise_reducer *ra = a, *rb = b;

    return strcmp(ra->path.text, rb->path.text);
}

/* Sorted, for mortise_graph_reduce(); two of one path stand side by side. */
static void sort_reducers(struct mortise_loader *ld)
{
    struct mortise_reducer *list = ld->g->reducers;

    qsort(list, ld->g->n_reducers, sizeof *list, by_path);
    for (size_t i = 1; i < ld->g->n_reducers; i++)
        if (by_path(&list[i - 1], &list[i]) == 0)
            mortise_diag_add(ld->diags, "E0214", list[i].span,
                             "'%s' has two reducers", list[i].path.text);
}

static void read_reducers(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    const struct mortise_yaml *map = slot->value;

    (void)into;
    ld->g->reducers = mortise_load_alloc(ld, map->n * sizeof *ld->g->reducers);
    for (size_t i = 0; i < map->n && !ld->nomem; i++)
        if (!mortise_yaml_is_x(map->keys[i]->str))
            read_reducer(ld, map->keys[i], map->items[i]);
    sort_reducers(ld);
}

/* A schema of input, scratch or artifacts, which are always objects. */
static struct mortise_schema *object_schema(struct mortise_loader *ld,
                                            const struct mortise_slot *slot)
{
    struct mortise_schema *s = mortise_load_schema(ld, slot->value);

    if (s != NULL && (mortise_schema_types(s) & MORTISE_T_OBJECT) == 0)
        mortise_diag_add(ld->diags, "E0208", slot->value->span,
                         "'%s' is an object, and this schema allows none",
                         slot->name->str);
    return s;
}

static void read_input(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_graph *g = into;

    g->input = object_schema(ctx, slot);
}

static void read_scratch(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_graph *g = into;

    g->scratch = object_schema(ctx, slot);
}

static void read_artifacts(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_graph *g = into;

    g->artifacts = object_schema(ctx, slot);
}

static const struct mortise_key state_keys[] = {
    {.name = "input",
     .value = MORTISE_V_SCHEMA,
     .here = MORTISE_HERE,
     .read = read_input},
    {.name = "scratch",
     .value = MORTISE_V_SCHEMA,
     .here = MORTISE_HERE,
     .read = read_scratch},
    {.name = "artifacts",
     .value = MORTISE_V_SCHEMA,
     .here = MORTISE_HERE,
     .read = read_artifacts},
    {.name = "reducers",
     .value = MORTISE_V_MAP,
     .here = MORTISE_HERE,
     .read = read_reducers},
};

static const struct mortise_place state_place = {.what = "state",
                                                 .keys = state_keys,
                                                 .n = sizeof state_keys /
                                                      sizeof state_keys[0]};

/* ---- limits ---------------------------------------------------------- */

static void read_concurrency(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_loader *ld = into;

    (void)ctx;
    ld->g->concurrency = (uint32_t)slot->value->u.i;
}

static void read_expr_cost(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_loader *ld = into;

    (void)ctx;
    ld->g->expr_cost = (uint64_t)slot->value->u.i;
}

static void read_max_nodes(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_loader *ld = into;

    (void)ctx;
    ld->max_nodes = (uint64_t)slot->value->u.i;
}

static const struct mortise_key limit_keys[] = {
    {.name = "concurrency",
     .value = MORTISE_V_INT,
     .here = MORTISE_HERE,
     .min = 1,
     .max = 100000,
     .read = read_concurrency},
    {.name = "expr_cost",
     .value = MORTISE_V_INT,
     .here = MORTISE_HERE,
     .min = 1,
     .max = 1e15,
     .read = read_expr_cost},
    {.name = "nodes",
     .value = MORTISE_V_INT,
     .here = MORTISE_HERE,
     .min = 1,
     .max = 1000000,
     .read = read_max_nodes},
    {.name = "steps", .later = MORTISE_HERE},
    {.name = "visits", .later = MORTISE_HERE},
    {.name = "depth", .later = MORTISE_HERE},
    {.name = "spawn", .later = MORTISE_HERE},
    {.name = "state", .later = MORTISE_HERE},
    {.name = "timeout", .later = MORTISE_HERE},
};

static const struct mortise_place limits_place = {.what = "limits",
                                                  .keys = limit_keys,
                                                  .n = sizeof limit_keys /
                                                       sizeof limit_keys[0]};

/* ---- defaults -------------------------------------------------------- */

static void read_default_timeout(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    struct mortise_defaults *defaults = into;

    (void)ctx;
    defaults->timeout_ms = slot->ms;
}

static void read_default_retry(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_defaults *defaults = into;

    mortise_load_retry(ctx, &defaults->retry, slot);
}

static void read_default_effect(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct mortise_defaults *defaults = into;

    (void)ctx;
    defaults->effect = (enum mortise_effect)slot->word;
}

static const struct mortise_key default_keys[] = {
    {.name = "timeout",
     .value = MORTISE_V_DURATION,
     .here = MORTISE_HERE,
     .min = 1,
     .read = read_default_timeout},
    {.name = "retry_policy",
     .value = MORTISE_V_MAP,
     .here = MORTISE_HERE,
     .read = read_default_retry},
    {.name = "effect_class",
     .value = MORTISE_V_WORD,
     .here = MORTISE_HERE,
     .words = mortise_effect_words,
     .read = read_default_effect},
    {.name = "llm", .later = MORTISE_HERE},
    {.name = "tool_errors", .later = MORTISE_HERE},
};

static const struct mortise_place defaults_place = {
    .what = "defaults",
    .keys = default_keys,
    .n = sizeof default_keys / sizeof default_keys[0]};

/* ---- the top level --------------------------------------------------- */

static void read_metadata(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;
    struct mortise_metadata m;

    (void)into;
    mortise_metadata_read(&m, slot->name, slot->value, ld->diags);
    ld->g->name = m.name;
    ld->g->version = m.version;
    ld->g->description = m.description;
}

static void read_goal(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    ld->g->goal = slot->value->str;
}

static void read_hitl_mode(void *ctx, void *into,
                           const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    ld->g->approve_tools = slot->word == 1;
}

static void read_state(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    mortise_keys_read(&state_place, MORTISE_HERE, slot->value, slot->name->span,
                      ld, ld->g, ld->diags);
}

static void read_limits(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    mortise_keys_read(&limits_place, MORTISE_HERE, slot->value,
                      slot->name->span, ld, ld, ld->diags);
}

static void read_defaults(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    mortise_keys_read(&defaults_place, MORTISE_HERE, slot->value,
                      slot->name->span, ld, &ld->defaults, ld->diags);
}

static void read_nodes(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    mortise_load_scope(ld);
    if (!ld->nomem)
        mortise_load_nodes(ld, slot->name, slot->value);
}

static void read_edges(void *ctx, void *into, const struct mortise_slot *slot)
{
    struct mortise_loader *ld = ctx;

    (void)into;
    if (!ld->nomem)
        mortise_load_edges(ld, slot->value);
}

static void read_start(void *ctx, void *into, const struct mortise_slot *slot)
{
    (void)into;
    mortise_load_start(ctx, slot);
}

static void pause_before(struct mortise_loader *ld, void *ud,
                         const struct mortise_yaml *id)
{
    uint32_t i = mortise_load_node_id(ld, id);

    (void)ud;
    if (i != MORTISE_NOWHERE)
        ld->g->nodes[i].interrupt_before = true;
}

static void pause_after(struct mortise_loader *ld, void *ud,
                        const struct mortise_yaml *id)
{
    uint32_t i = mortise_load_node_id(ld, id);

    (void)ud;
    if (i != MORTISE_NOWHERE)
        ld->g->nodes[i].interrupt_after = true;
}

static void read_interrupt_before(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    (void)into;
    mortise_load_each_id(ctx, slot, pause_before, NULL);
}

static void read_interrupt_after(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    (void)into;
    mortise_load_each_id(ctx, slot, pause_after, NULL);
}

static const struct mortise_word hitl_modes[] = {
    {"none", 0, false},        {"approve_tools", 1, false},
    {"approve_plan", 0, true}, {"approve_each_node", 0, true},
    {NULL, 0, false},
};

static const struct mortise_word failures[] = {
    {"continue", 0, false},
    {"fail_fast", 0, true},
    {NULL, 0, false},
};

static const struct mortise_word ends[] = {
    {"all", 0, false},
    {"first", 0, true},
    {NULL, 0, false},
};

static const struct mortise_key graph_keys[] = {
    MORTISE_HEADER_KEYS,
    {.name = "metadata",
     .value = MORTISE_V_MAP,
     .here = MORTISE_HERE,
     .required = MORTISE_HERE,
     .read = read_metadata},
    {.name = "goal",
     .value = MORTISE_V_STRING,
     .here = MORTISE_HERE,
     .read = read_goal},
    {.name = "hitl_mode",
     .value = MORTISE_V_WORD,
     .here = MORTISE_HERE,
     .words = hitl_modes,
     .read = read_hitl_mode},
    {.name = "failure",
     .value = MORTISE_V_WORD,
     .here = MORTISE_HERE,
     .words = failures},
    {.name = "end",
     .value = MORTISE_V_WORD,
     .here = MORTISE_HERE,
     .words = ends},
    {.name = "state",
     .value = MORTISE_V_MAP,
     .here = MORTISE_HERE,
     .read = read_state},
    {.name = "limits",
     .value = MORTISE_V_MAP,
     .here = MORTISE_HERE,
     .read = read_limits},
    {.name = "defaults",
     .value = MORTISE_V_MAP,
     .here = MORTISE_HERE,
     .read = read_defaults},
    {.name = "nodes",
     .value = MORTISE_V_MAP,
     .here = MORTISE_HERE,
     .required = MORTISE_HERE,
     .read = read_nodes},
    {.name = "edges",
     .value = MORTISE_V_ANY,
     .here = MORTISE_HERE,
     .read = read_edges},
    {.name = "start",
     .value = MORTISE_V_IDS,
     .here = MORTISE_HERE,
     .read = read_start},
    {.name = "interrupt_before",
     .value = MORTISE_V_IDS,
     .here = MORTISE_HERE,
     .read = read_interrupt_before},
    {.name = "interrupt_after",
     .value = MORTISE_V_IDS,
     .here = MORTISE_HERE,
     .read = read_interrupt_after},
    {.name = "checkpoint_policy", .later = MORTISE_HERE},
    {.name = "memory_consistency", .later = MORTISE_HERE},
    {.name = "budget", .later = MORTISE_HERE},
    {.name = "roles", .later = MORTISE_HERE},
    {.name = "persona", .later = MORTISE_HERE},
};

static const struct mortise_place graph_place = {.what = "a graph",
                                                 .keys = graph_keys,
                                                 .n = sizeof graph_keys /
                                                      sizeof graph_keys[0]};

/* ---- the whole way --------------------------------------------------- */

/* x- keys go, but what stands in args is data (5). */
static json_t *canonical(const struct mortise_yaml *root)
{
    const struct mortise_yaml *nodes = mortise_yaml_get(root, "nodes");
    json_t *all = mortise_yaml_json(root, true), *map, *node;

    map = json_object_get(all, "nodes");
    for (size_t i = 0; i < nodes->n && all != NULL; i++) {
        const struct mortise_yaml *args =
            mortise_yaml_get(nodes->items[i], "args");

        node = json_object_get(map, nodes->keys[i]->str);
        if (args == NULL || node == NULL)
            continue;
        if (json_object_set_new(node, "args", mortise_yaml_json(args, false)) !=
            0) {
            json_decref(all);
            all = NULL;
        }
    }
    return all;
}

static void digest(struct mortise_loader *ld)
{
    json_t *v = canonical(ld->g->tree);

    if (v == NULL ||
        mortise_json_digest(ld->g->digest, v, ld->mem) != MORTISE_OK)
        ld->nomem = true;
    json_decref(v);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_plugins(struct mortise_graph *g)
{
    size_t n = 0;

    if (g->n_plugins == 0)
        return;
    qsort(g->plugins, g->n_plugins, sizeof *g->plugins, by_name);
    for (size_t i = 1; i < g->n_plugins; i++)
        if (strcmp(g->plugins[n], g->plugins[i]) != 0)
            g->plugins[++n] = g->plugins[i];
    g->n_plugins = n + 1;
}

static void read_all(struct mortise_loader *ld)
{
    struct mortise_graph *g = ld->g;

    g->concurrency = 8;
    g->expr_cost = 1000000;
    g->version = g->description = "";
    ld->max_nodes = 100000;
    ld->suggestions = 50;
    ld->defaults.retry = mortise_retry_default;
    g->source = g->tree->span.file->text;
    g->source_size = g->tree->span.file->size;
    if (!mortise_header_check(g->tree, "Graph", ld->diags))
        return;
    mortise_keys_read(&graph_place, MORTISE_HERE, g->tree, g->tree->span, ld,
                      NULL, ld->diags);
    if (!ld->nomem)
        mortise_load_link(ld);
    if (!ld->nomem)
        mortise_check_structure(ld);
    sort_plugins(g);
    if (!ld->nomem && ld->diags->n_errors == 0)
        digest(ld);
}

/* What only the loading needed, and what the graph keeps outside its arena. */
static int finish(struct mortise_loader *ld)
{
    struct mortise_graph *g = ld->g;
    const char **plugins =
        mortise_load_alloc(ld, g->n_plugins * sizeof *plugins);
    struct mortise_schema **schemas =
        mortise_load_alloc(ld, g->n_schemas * sizeof *schemas);

    for (size_t i = 0; i < g->n_plugins && plugins != NULL; i++)
        plugins[i] = g->plugins[i];
    for (size_t i = 0; i < g->n_schemas; i++) {
        if (schemas != NULL)
            schemas[i] = g->schemas[i];
        else
            mortise_schema_finish(g->schemas[i]);
    }
    if (schemas == NULL)
        g->n_schemas = 0;
    mortise_release(ld->mem, g->plugins, ld->cap_plugins * sizeof *plugins);
    mortise_release(ld->mem, g->schemas, ld->cap_schemas * sizeof *schemas);
    mortise_release(ld->mem, ld->edges, ld->cap_edges * sizeof *ld->edges);
    mortise_release(ld->mem, ld->writes, ld->cap_writes * sizeof *ld->writes);
    g->plugins = plugins;
    g->schemas = schemas;
    return ld->nomem || ld->diags->failed ? MORTISE_ENOMEM : MORTISE_OK;
}

static int load(struct mortise_loader *ld, const char *path, const char *text,
                size_t n)
{
    struct mortise_yaml *root;
    int rv = mortise_yaml_parse(&root, ld->arena, path, text, n, ld->diags);

    if (rv != MORTISE_OK)
        return rv;
    ld->g->tree = root;
    ld->g->path = root->span.file->path;
    read_all(ld);
    rv = finish(ld);
    return rv == MORTISE_OK && ld->diags->n_errors > 0 ? MORTISE_ECHECK : rv;
}

static int fail(struct mortise_err *err, int rv, const char *path,
                const struct mortise_diags *diags)
{
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    return mortise_fail(err, rv, "%s has %zu error%s", path, diags->n_errors,
                        diags->n_errors == 1 ? "" : "s");
}

int mortise_graph_load(struct mortise_graph **out,
                       const struct mortise_mem *mem, const char *path,
                       const char *text, size_t n,
                       const struct mortise_catalog *catalog,
                       struct mortise_diags *diags, struct mortise_err *err)
{
    struct mortise_loader ld = {
        .mem = mem, .catalog = catalog, .diags = diags, .first_diag = diags->n};
    int rv;

    *out = NULL;
    ld.g = mortise_zalloc(mem, sizeof *ld.g);
    if (ld.g == NULL)
        return mortise_nomem(err);
    ld.g->refs = 1;
    mortise_arena_init(&ld.g->arena, mem);
    ld.arena = &ld.g->arena;
    rv = load(&ld, path, text, n);
    if (rv == MORTISE_OK) {
        *out = ld.g;
        return MORTISE_OK;
    }
    mortise_graph_unref(ld.g);
    return fail(err, rv, path, diags);
}
