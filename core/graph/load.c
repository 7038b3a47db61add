/* load.c -- from a file to a graph: the whole way.
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
#include "graph/files.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "yaml/schema.h"

/* ---- helpers of all loader files ------------------------------------- */

size_t mortise_load_errors(const struct mortise_loader *ld)
{
    return ld->diags->n_errors - ld->root->errors_before;
}

void *mortise_load_alloc(struct mortise_loader *ld, size_t size)
{
    void *p = mortise_arena_alloc(ld->arena, size);

    ld->nomem |= p == NULL;
    return p;
}

const char **mortise_load_strings(struct mortise_loader *ld,
                                  const struct mortise_yaml *list)
{
    const char **out = mortise_load_alloc(ld, list->n * sizeof *out);

    for (size_t i = 0; i < list->n && out != NULL; i++)
        out[i] = list->items[i]->str;
    return out;
}

/* The graph gives up its schemas when it dies. */
static struct mortise_schema *keep_schema(struct mortise_loader *ld,
                                          struct mortise_schema *s)
{
    struct mortise_graph *g = ld->root->g;
    struct mortise_schema **list =
        mortise_grow(ld->mem, g->schemas, g->n_schemas, &ld->root->cap_schemas,
                     sizeof *list);

    if (list == NULL) {
        mortise_schema_finish(s);
        ld->nomem = true;
        return NULL;
    }
    g->schemas = list;
    list[g->n_schemas++] = s;
    return s;
}

struct mortise_schema *mortise_load_schema(struct mortise_loader *ld,
                                           const struct mortise_yaml *v)
{
    struct mortise_schema *s;
    int rv = mortise_yaml_schema(&s, ld->arena, v, true, ld->diags);

    ld->nomem |= rv == MORTISE_ENOMEM;
    return rv == MORTISE_OK ? keep_schema(ld, s) : NULL;
}

struct mortise_schema *mortise_load_our_schema(struct mortise_loader *ld,
                                               json_t *json)
{
    struct mortise_schema *s = NULL;
    char where[64];
    int rv = json != NULL ? mortise_schema_compile(&s, ld->arena, json, where,
                                                   sizeof where, NULL)
                          : MORTISE_ENOMEM;

    json_decref(json);
    assert(rv == MORTISE_OK || rv == MORTISE_ENOMEM); /* it is ours */
    ld->nomem |= rv == MORTISE_ENOMEM;
    return rv == MORTISE_OK ? keep_schema(ld, s) : NULL;
}

void mortise_load_plugin(struct mortise_loader *ld, const char *prefix,
                         const char *name)
{
    struct mortise_graph *g = ld->root->g;
    size_t size = strlen(prefix) + strlen(name) + 1;
    const char **list = mortise_grow(ld->mem, g->plugins, g->n_plugins,
                                     &ld->root->cap_plugins, sizeof *list);
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
/* ---- the whole way --------------------------------------------------- */

static bool restore(struct mortise_loader *ld, json_t *to,
                    const struct mortise_yaml *nodes);

/* Another file's graph is named by its content, wherever it stands. */
static bool restore_file(struct mortise_loader *ld, json_t *to,
                         const struct mortise_yaml *ref)
{
    const struct mortise_graph_file *f = mortise_load_known_file(ld, ref);
    char hex[2 * MORTISE_DIGEST + 1];

    if (f == NULL)
        return false;
    mortise_hex(hex, f->digest, sizeof f->digest);
    return json_object_set_new(to, "graph",
                               json_pack("{s:s}", "digest", hex)) == 0;
}

/* One node's, and those of a graph inside it. */
static bool restore_node(struct mortise_loader *ld, json_t *to,
                         const struct mortise_yaml *node)
{
    const struct mortise_yaml *args = mortise_yaml_get(node, "args"),
                              *inner = mortise_yaml_get(node, "graph");

    if (args != NULL &&
        json_object_set_new(to, "args", mortise_yaml_json(args, false)) != 0)
        return false;
    if (inner == NULL)
        return true;
    return mortise_load_is_ref(inner)
               ? restore_file(ld, to, inner)
               : restore(ld, json_object_get(to, "graph"), inner);
}

/* x- keys are gone, but what stands in args is data (5).  Inner graphs are as
 * deep in each other as YAML allows. */
static bool restore(struct mortise_loader *ld, json_t *to,
                    const struct mortise_yaml *graph)
{
    const struct mortise_yaml *nodes = mortise_yaml_get(graph, "nodes");
    json_t *map = json_object_get(to, "nodes"), *node;

    for (size_t i = 0; i < nodes->n; i++) {
        node = json_object_get(map, nodes->keys[i]->str);
        if (node != NULL && !restore_node(ld, node, nodes->items[i]))
            return false;
    }
    return true;
}

void mortise_load_digest(struct mortise_loader *ld, uint8_t *out,
                         const struct mortise_yaml *tree)
{
    json_t *v = mortise_yaml_json(tree, true);

    if (v == NULL || !restore(ld, v, tree) ||
        mortise_json_digest(out, v, ld->mem) != MORTISE_OK)
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

void mortise_load_whole(struct mortise_loader *ld)
{
    ld->doubtful = mortise_check_doubts(ld) > 0;
    if (!ld->doubtful)
        mortise_load_merge_edges(ld);
    if (!ld->nomem)
        mortise_load_link(ld);
    if (!ld->nomem && !ld->doubtful) {
        mortise_check_personas(ld);
        mortise_check_capabilities(ld);
    }
    if (!ld->nomem)
        mortise_load_bodies(ld);
    if (!ld->nomem)
        mortise_load_expressions(ld);
    if (!ld->nomem)
        mortise_check_structure(ld);
}

static void read_all(struct mortise_loader *ld)
{
    struct mortise_graph *g = ld->g;

    g->version = "";
    mortise_load_limit_defaults(ld);
    mortise_load_persona_defaults(ld);
    ld->suggestions = 50;
    ld->defaults.retry = mortise_retry_default;
    mortise_load_file_keys(ld);
    if (!ld->nomem)
        mortise_load_whole(ld);
    sort_plugins(g);
    if (!ld->nomem && mortise_load_errors(ld) == 0)
        mortise_load_digest(ld, g->digest, g->tree);
    if (!ld->nomem)
        mortise_load_sources(ld);
}

void mortise_load_finish(struct mortise_loader *ld)
{
    mortise_release(ld->mem, ld->edges, ld->cap_edges * sizeof *ld->edges);
    mortise_release(ld->mem, ld->writes, ld->cap_writes * sizeof *ld->writes);
    mortise_release(ld->mem, ld->late, ld->cap_late * sizeof *ld->late);
}

/* What the graph keeps outside its arena while it grows. */
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
    g->plugins = plugins;
    g->schemas = schemas;
    mortise_load_finish(ld);
    return ld->nomem || ld->diags->failed ? MORTISE_ENOMEM : MORTISE_OK;
}

static int load(struct mortise_loader *ld, const char *path, const char *text,
                size_t n)
{
    struct mortise_yaml *root;
    int rv = mortise_yaml_parse(&root, ld->arena, path, text, n, ld->diags);

    if (root == NULL)
        return rv;
    ld->g->tree = root;
    ld->g->path = root->span.file->path;
    mortise_load_call_root(root);
    read_all(ld);
    rv = finish(ld);
    return rv == MORTISE_OK && mortise_load_errors(ld) > 0 ? MORTISE_ECHECK
                                                           : rv;
}

static int fail(struct mortise_err *err, int rv, const char *path,
                size_t n_errors)
{
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    return mortise_fail(err, rv, "%s has %zu error%s", path, n_errors,
                        n_errors == 1 ? "" : "s");
}

int mortise_graph_load(struct mortise_graph **out,
                       const struct mortise_mem *mem, const char *path,
                       const char *text, size_t n,
                       const struct mortise_catalog *catalog,
                       struct mortise_diags *diags, struct mortise_err *err)
{
    struct mortise_loader ld = {.mem = mem,
                                .catalog = catalog,
                                .diags = diags,
                                .first_diag = diags->n,
                                .errors_before = diags->n_errors};
    int rv;

    *out = NULL;
    ld.root = &ld;
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
    return fail(err, rv, path, mortise_load_errors(&ld));
}
