/* language.c -- a language of graphs for the tests of the core alone.
 *
 * It defines the functions of the core's ports (ROOMS), as lang/ and services/
 * do for the program, with as little as a test needs.
 *
 * A graph is JSON:
 *
 *     {"start": ["a"], "nodes": {"a": {"type": "pass", "value": 1,
 *                                      "next": ["b", "END"], "join": "any"}}}
 *
 * The types are `pass` and `human`.  A value is JSON; the string "$artifacts.a"
 * is replaced by the output of node a.  There are no expressions.  Every value
 * matches every schema.  A deployment has no plugins and no secrets, and there
 * are no services.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/engine/deployment.h"
#include "core/engine/language.h"
#include "core/json/schema.h"
#include "core/model/compare.h"
#include "core/model/human.h"
#include "core/model/pass.h"
#include "core/model/structure.h"
#include "core/plugin/reader.h"
#include "core/plugin/services.h"

/* ---- templates ----------------------------------------------------------- */

struct mortise_tmpl {
    json_t *value; /* lent: of the graph's JSON */
};

static const char artifact_prefix[] = "$artifacts.";

static const char *get_artifact_name(const struct mortise_tmpl *t)
{
    const char *s = json_string_value(t->value);
    size_t n = sizeof artifact_prefix - 1;

    return s != NULL && strncmp(s, artifact_prefix, n) == 0 ? s + n : NULL;
}

uint32_t mortise_tmpl_get_used_names(const struct mortise_tmpl *t)
{
    return get_artifact_name(t) != NULL ? 1u << MORTISE_IN_ARTIFACTS : 0;
}

int mortise_tmpl_eval(const struct mortise_tmpl *t,
                      const struct mortise_expr_env *env, json_t **out,
                      struct mortise_err *err)
{
    const char *name = get_artifact_name(t);

    *out = name == NULL
               ? t->value
               : json_object_get(env->values[MORTISE_IN_ARTIFACTS], name);
    if (*out == NULL)
        return mortise_fail(err, MORTISE_EINVAL, "no artifact '%s'", name);
    json_incref(*out);
    return MORTISE_OK;
}

struct mortise_span mortise_tmpl_get_span(const struct mortise_tmpl *t)
{
    (void)t;
    return (struct mortise_span){.file = NULL};
}

bool mortise_tmpl_has_string(const struct mortise_tmpl *t, const char *pointer,
                             const char *string)
{
    (void)t;
    (void)pointer;
    (void)string;
    return false;
}

/* ---- expressions: there are none ----------------------------------------- */

static int fail_expression(struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_EINVAL, "this language has no expressions");
}

uint32_t mortise_expr_get_uses(const struct mortise_expr *e)
{
    (void)e;
    return 0;
}

int mortise_expr_eval(const struct mortise_expr *e,
                      const struct mortise_expr_env *env, json_t **out,
                      struct mortise_err *err)
{
    (void)e;
    (void)env;
    *out = NULL;
    return fail_expression(err);
}

int mortise_expr_test(const struct mortise_expr *e,
                      const struct mortise_expr_env *env, bool *out,
                      struct mortise_err *err)
{
    (void)e;
    (void)env;
    *out = false;
    return fail_expression(err);
}

int mortise_expr_prefix_error(const struct mortise_expr *e, int rv,
                              struct mortise_err *err)
{
    (void)e;
    (void)err;
    return rv;
}

/* ---- schemas accept everything -------------------------------------------- */

int mortise_schema_compile_foreign(struct mortise_schema **out,
                                   struct mortise_arena *a, json_t *json,
                                   char *where, size_t where_size,
                                   struct mortise_err *err)
{
    (void)a;
    (void)json;
    (void)where;
    (void)where_size;
    (void)err;
    *out = NULL;
    return MORTISE_OK;
}

void mortise_schema_finish(struct mortise_schema *s)
{
    (void)s;
}

int mortise_schema_check_with_limit(const struct mortise_schema *s,
                                    const json_t *value, uint64_t limit,
                                    struct mortise_err *err)
{
    (void)s;
    (void)value;
    (void)limit;
    (void)err;
    return MORTISE_OK;
}

json_t *mortise_schema_normalize(const struct mortise_schema *s, json_t *value,
                                 uint64_t limit)
{
    (void)s;
    (void)limit;
    return json_incref(value);
}

const struct mortise_schema *
mortise_schema_get_member(const struct mortise_schema *s, const char *name)
{
    (void)s;
    (void)name;
    return NULL;
}

const struct mortise_schema *
mortise_schema_get_items(const struct mortise_schema *s)
{
    (void)s;
    return NULL;
}

unsigned mortise_schema_get_types(const struct mortise_schema *s)
{
    (void)s;
    return MORTISE_T_ANY;
}

const json_t *mortise_schema_json(const struct mortise_schema *s)
{
    (void)s;
    return json_true();
}

/* ---- graphs --------------------------------------------------------------- */

struct builder {
    struct mortise_graph *g;
    json_t *json;
    struct mortise_err *err;
};

static void *alloc(struct builder *b, size_t size)
{
    return mortise_arena_alloc(&b->g->arena, size);
}

static struct mortise_tmpl *make_tmpl(struct builder *b, json_t *value)
{
    struct mortise_tmpl *t = value != NULL ? alloc(b, sizeof *t) : NULL;

    if (t != NULL)
        t->value = value;
    return t;
}

static const struct mortise_retry one_attempt = {
    .max_attempts = 1, .backoff = MORTISE_BACKOFF_FIXED};

static int fill_node(struct builder *b, struct mortise_node *n, const char *id,
                     const json_t *json)
{
    const char *type = json_string_value(json_object_get(json, "type"));
    const char *join = json_string_value(json_object_get(json, "join"));
    struct mortise_tmpl *value = make_tmpl(b, json_object_get(json, "value"));
    struct mortise_human *human;
    struct mortise_pass *pass;

    n->id = n->output_as = id;
    n->join.kind = join != NULL ? MORTISE_JOIN_ANY : MORTISE_JOIN_ALL;
    n->join.on_branch_error = MORTISE_BRANCH_FAIL;
    n->max_visits = b->g->limits.visits;
    n->retry = one_attempt;
    n->on_violation = MORTISE_VIOLATION_BLOCK;
    n->effect = MORTISE_PURE;
    n->complexity = (double)NAN;
    if (type != NULL && strcmp(type, "human") == 0) {
        n->type = MORTISE_NODE_HUMAN;
        n->own = human = alloc(b, sizeof *human);
        human->prompt = value;
        return MORTISE_OK;
    }
    if (type == NULL || strcmp(type, "pass") != 0)
        return mortise_fail(b->err, MORTISE_ECHECK, "node '%s' has no type", id);
    n->type = MORTISE_NODE_PASS;
    n->own = pass = alloc(b, sizeof *pass);
    pass->value = value;
    return MORTISE_OK;
}

static int add_edges(struct builder *b, uint32_t from, const json_t *list)
{
    const struct mortise_node *to;
    const json_t *id;
    size_t i;

    json_array_foreach(list, i, id)
    {
        to = mortise_graph_find_node(b->g, json_string_value(id));
        if (to == NULL && strcmp(json_string_value(id), "END") != 0)
            return mortise_fail(b->err, MORTISE_ECHECK, "no node '%s'",
                                json_string_value(id));
        b->g->edges[b->g->n_edges++] =
            (struct mortise_edge){.from = from,
                                  .to = to != NULL ? to->index : MORTISE_END,
                                  .kind = MORTISE_EDGE_STATIC};
    }
    return MORTISE_OK;
}

static void set_limits(struct mortise_graph *g)
{
    g->limits = (struct mortise_limits){
        .steps = 1000, .visits = 100, .state = 1 << 20};
    g->concurrency = 8;
    g->expr_cost = 1000;
    for (int i = 0; i < MORTISE_USED_N; i++)
        g->unbounded[i] = MORTISE_NOWHERE;
}

static int add_nodes(struct builder *b, json_t *nodes)
{
    struct mortise_graph *g = b->g;
    const char *id;
    json_t *node;
    int rv = MORTISE_OK;

    g->nodes = alloc(b, json_object_size(nodes) * sizeof *g->nodes);
    json_object_foreach(nodes, id, node)
    {
        struct mortise_node *n = &g->nodes[g->n_nodes];

        n->index = g->n_nodes++;
        if (rv == MORTISE_OK)
            rv = fill_node(b, n, id, node);
    }
    return rv == MORTISE_OK ? mortise_graph_sort_nodes(g, &g->arena) : rv;
}

static void say_two_entries(void *ud, const uint32_t *nodes, uint32_t n,
                            uint32_t first, uint32_t second, uint32_t edge)
{
    (void)ud;
    (void)nodes;
    (void)n;
    (void)first;
    (void)second;
    (void)edge;
}

static void say_too_deep(void *ud, uint32_t entry)
{
    (void)ud;
    (void)entry;
}

static int find_structure(struct mortise_graph *g)
{
    static const struct mortise_region_faults faults = {NULL, say_two_entries,
                                                        say_too_deep};
    const struct mortise_bodies bodies = {
        0, mortise_arena_alloc(&g->arena, g->n_nodes * sizeof(uint32_t))};
    int rv = mortise_graph_link_out(g, &g->arena);

    g->regions = mortise_arena_alloc(&g->arena, sizeof *g->regions);
    g->regions[0] = (struct mortise_region){.kind = MORTISE_REGION_GRAPH,
                                            .entry = MORTISE_START};
    g->n_regions = 1;
    if (rv == MORTISE_OK)
        rv = mortise_graph_find_regions(g, &g->arena, &bodies, &faults);
    if (rv == MORTISE_OK)
        rv = mortise_graph_link_in(g, &g->arena);
    if (rv == MORTISE_OK)
        rv = mortise_graph_find_postdominators(g, &g->arena);
    return rv;
}

static int build_graph(struct builder *b)
{
    struct mortise_graph *g = b->g;
    json_t *nodes = json_object_get(b->json, "nodes"), *node;
    const char *id;
    size_t n = json_array_size(json_object_get(b->json, "start"));
    int rv = add_nodes(b, nodes);

    json_object_foreach(nodes, id, node)
        n += json_array_size(json_object_get(node, "next"));
    g->edges = alloc(b, n * sizeof *g->edges);
    if (rv == MORTISE_OK)
        rv = add_edges(b, MORTISE_START, json_object_get(b->json, "start"));
    for (uint32_t i = 0; i < g->n_nodes && rv == MORTISE_OK; i++)
        rv = add_edges(b, i,
                       json_object_get(json_object_get(nodes, g->nodes[i].id),
                                       "next"));
    return rv == MORTISE_OK ? find_structure(g) : rv;
}

static void release_json(void *json)
{
    json_decref(json);
}

static void set_source(struct mortise_graph *g,
                       const struct mortise_source *file)
{
    struct mortise_source *copy = mortise_arena_alloc(&g->arena, sizeof *copy);

    copy->path = mortise_arena_strdup(&g->arena, file->path);
    copy->text = mortise_arena_strndup(&g->arena, file->text, file->size);
    copy->size = file->size;
    g->sources = copy;
    g->n_sources = 1;
    g->path = copy->path;
    g->name = "test";
    g->version = "1";
    mortise_digest(g->content, file->text, file->size);
    memcpy(g->digest, g->content, sizeof g->digest);
}

int mortise_graph_compile(struct mortise_graph **out,
                          const struct mortise_mem *mem,
                          const struct mortise_source *file,
                          const struct mortise_catalog *catalog,
                          struct mortise_buf *report,
                          struct mortise_buf *findings,
                          struct mortise_err *err)
{
    struct builder b = {.err = err};
    int rv;

    (void)catalog;
    (void)report;
    (void)findings;
    *out = NULL;
    b.json = json_loadb(file->text, file->size, 0, NULL);
    if (b.json == NULL)
        return mortise_fail(err, MORTISE_ECHECK, "%s is not JSON", file->path);
    b.g = mortise_zalloc(mem, sizeof *b.g);
    b.g->refs = 1;
    mortise_arena_init(&b.g->arena, mem);
    mortise_arena_cleanup(&b.g->arena, release_json, b.json);
    set_limits(b.g);
    set_source(b.g, file);
    rv = build_graph(&b);
    if (rv == MORTISE_OK)
        *out = b.g;
    else
        mortise_graph_unref(b.g);
    return rv;
}

static int fail_steering(struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_EUNAVAILABLE,
                        "this language does not change graphs");
}

int mortise_graph_steer(struct mortise_steering *out,
                        const struct mortise_mem *mem,
                        const struct mortise_run *r, const json_t *diff,
                        const struct mortise_catalog *catalog,
                        struct mortise_buf *report,
                        struct mortise_buf *findings, struct mortise_err *err)
{
    (void)out;
    (void)mem;
    (void)r;
    (void)diff;
    (void)catalog;
    (void)report;
    (void)findings;
    return fail_steering(err);
}

int mortise_graph_replace(struct mortise_steering *out,
                          const struct mortise_mem *mem,
                          const struct mortise_run *r, const json_t *graph,
                          const struct mortise_catalog *catalog,
                          struct mortise_buf *report,
                          struct mortise_buf *findings,
                          struct mortise_err *err)
{
    (void)out;
    (void)mem;
    (void)r;
    (void)graph;
    (void)catalog;
    (void)report;
    (void)findings;
    return fail_steering(err);
}

int mortise_graph_write_child(struct mortise_buf *text,
                              const struct mortise_graph *g,
                              const struct mortise_node *at, const char *name,
                              const json_t *task, struct mortise_err *err)
{
    (void)text;
    (void)g;
    (void)at;
    (void)name;
    (void)task;
    return fail_steering(err);
}

int mortise_graph_compare_nodes(const struct mortise_graph *a,
                                const struct mortise_node *n,
                                const struct mortise_graph *b,
                                const struct mortise_node *m, bool shell,
                                bool *same, struct mortise_err *err)
{
    (void)a;
    (void)n;
    (void)b;
    (void)m;
    (void)shell;
    (void)err;
    *same = false;
    return MORTISE_OK;
}

/* ---- plugins and services: there are none ---------------------------------- */

static int fail_manifest(struct mortise_manifest **out,
                         const struct mortise_mem *mem, const char *path,
                         const char *text, size_t n, bool is_signed,
                         struct mortise_err *err)
{
    (void)mem;
    (void)text;
    (void)n;
    (void)is_signed;
    *out = NULL;
    return mortise_fail(err, MORTISE_ECHECK, "%s: no manifests here", path);
}

static int fail_trust(struct mortise_trust *t, const char *dir,
                      const char *path, uint64_t *seq,
                      struct mortise_diags *diags, struct mortise_err *err)
{
    (void)t;
    (void)dir;
    (void)seq;
    (void)diags;
    return mortise_fail(err, MORTISE_ECHECK, "%s: no trust files here", path);
}

const struct mortise_plugin_reader mortise_plugin_reader = {fail_manifest,
                                                            fail_trust};

const struct mortise_service *const mortise_services[] = {NULL};

/* ---- the deployment --------------------------------------------------------- */

struct mortise_deployment {
    struct mortise_providers secrets;
};

int mortise_deployment_open(struct mortise_settings *s,
                            const struct mortise_mem *mem,
                            const struct mortise_options *options,
                            struct mortise_err *err)
{
    static struct mortise_deployment none;

    (void)err;
    *s = (struct mortise_settings){.deployment = &none,
                                   .worker = "",
                                   .store = options->store,
                                   .store_given = true,
                                   .secrets = &none.secrets};
    mortise_arena_init(&s->arena, mem);
    return MORTISE_OK;
}

void mortise_settings_close(struct mortise_settings *s)
{
    if (s->deployment != NULL)
        mortise_arena_finish(&s->arena);
    *s = (struct mortise_settings){.n_trust_dirs = 0};
}

int mortise_deployment_check(const struct mortise_deployment *d,
                             struct mortise_plugins *plugins,
                             struct mortise_err *err)
{
    (void)d;
    (void)plugins;
    (void)err;
    return MORTISE_OK;
}

const char *mortise_deployment_find_plugin(const struct mortise_deployment *d,
                                           const char *name, const char **pin)
{
    (void)d;
    if (pin != NULL)
        *pin = name;
    return name;
}

bool mortise_deployment_is_tool(const struct mortise_deployment *d,
                                const char *name, const char **digest)
{
    (void)d;
    (void)name;
    *digest = NULL;
    return false;
}

bool mortise_deployment_is_part_missing(const struct mortise_deployment *d,
                                        const char *name,
                                        struct mortise_err *why)
{
    (void)d;
    (void)name;
    (void)why;
    return false;
}

const char *mortise_deployment_find_instance(const struct mortise_deployment *d,
                                             const char *name,
                                             enum mortise_kind kind,
                                             const char **as)
{
    (void)d;
    (void)kind;
    *as = "";
    return name;
}

int mortise_deployment_list_models(const struct mortise_deployment *d,
                                   const char *alias,
                                   const char *out[MORTISE_MODEL_TARGETS_MAX],
                                   size_t *n, struct mortise_err *err)
{
    (void)d;
    (void)out;
    *n = 0;
    return mortise_fail(err, MORTISE_ENOTFOUND, "no model '%s'", alias);
}

const char *
mortise_deployment_get_discoverer(const struct mortise_deployment *d, size_t i,
                                  const char **plugin)
{
    (void)d;
    (void)i;
    *plugin = NULL;
    return NULL;
}

json_t *mortise_deployment_get_config(const struct mortise_deployment *d,
                                      const char *plugin, const char *as)
{
    (void)d;
    (void)plugin;
    (void)as;
    return json_object();
}

bool mortise_deployment_is_config_made(const struct mortise_deployment *d,
                                       const char *plugin, const char *as)
{
    (void)d;
    (void)plugin;
    (void)as;
    return false;
}

static const struct mortise_operation *find_no_operation(void *ud,
                                                         const char *plugin,
                                                         const char *op,
                                                         struct mortise_err *why)
{
    (void)ud;
    mortise_fail(why, MORTISE_ENOTFOUND, "no operation '%s/%s'", plugin, op);
    return NULL;
}

int mortise_catalogs_open(struct mortise_catalogs **out,
                          const struct mortise_mem *mem,
                          struct mortise_plugins *plugins,
                          const struct mortise_deployment *d,
                          struct mortise_err *err)
{
    static const struct mortise_catalog none = {.operation = find_no_operation};
    static struct mortise_catalogs all;

    (void)mem;
    (void)plugins;
    (void)d;
    (void)err;
    all = (struct mortise_catalogs){.strict = none, .lenient = none,
                                    .names = none};
    *out = &all;
    return MORTISE_OK;
}

void mortise_catalogs_close(struct mortise_catalogs *c)
{
    (void)c;
}
