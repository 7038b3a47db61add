/* plugin_catalog.c -- the catalog that graphs are checked against.
 *
 * Only manifests are read: a graph is checked without running any plugin code.
 * An operation is looked up once and then kept, so that graphs can point at it.
 *
 * A plugin with `more` also has the operations of the deployment's lock file
 * (lang/config/tool_pins.h).  Operations from the lock file do everything
 * through asks to the host, so the steps of a call are recorded instead of the
 * call.
 */

#include <stdio.h>
#include <string.h>

#include "core/base/nearest.h"
#include "core/base/table.h"
#include "core/engine/deployment.h"
#include "lang/config/plugins/configs.h"
#include "lang/config/plugins/grants.h"

struct plugin_catalog {
    struct mortise_catalogs catalogs;
    struct mortise_arena arena;
    struct mortise_plugins *plugins;             /* lent */
    const struct mortise_deployment *deployment; /* lent */
    /* the operations looked up so far */
    struct mortise_table ops;
    struct offer *pinned;       /* those that come from the lock file */
    struct mortise_table named; /* the operations looked up in `names` */
};

struct offer {
    struct mortise_table_entry entry;
    struct mortise_operation op;
    struct offer *next_pinned;
    struct mortise_pinned_schemas schemas; /* of a pinned operation */
    /* Its plugin has the config that it requires.  A success is cached; a
     * missing config is reported for each node. */
    bool comes_up;
};

static enum mortise_effect parse_effect_name(const char *name)
{
    static const char *const names[] = {"pure", "read", "write"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0)
            return (enum mortise_effect)(MORTISE_PURE + (int)i);
    }
    return MORTISE_EXTERNAL; /* the manifest has no other word */
}

static struct offer *find_offer(const struct mortise_table *ops,
                                const char *plugin, const char *op)
{
    struct mortise_table_entry *e;

    for (e = mortise_table_find(ops, mortise_hash_strs(plugin, op)); e != NULL;
         e = mortise_table_find_next(e)) {
        struct offer *o = MORTISE_CONTAINER_OF(e, struct offer, entry);

        if (strcmp(o->op.plugin, plugin) == 0 && strcmp(o->op.name, op) == 0)
            return o;
    }
    return NULL;
}

/* A new operation with these names, `external` until set otherwise. */
static struct offer *offer_new(struct plugin_catalog *s, const char *plugin,
                               const char *op, struct mortise_err *why)
{
    struct offer *o = mortise_arena_alloc(&s->arena, sizeof *o);

    if (o != NULL) {
        o->op.plugin = mortise_arena_strdup(&s->arena, plugin);
        o->op.name = mortise_arena_strdup(&s->arena, op);
        o->op.description = "";
        o->op.effect = MORTISE_EXTERNAL;
    }
    if (o == NULL || o->op.plugin == NULL || o->op.name == NULL) {
        mortise_nomem(why);
        return NULL;
    }
    return o;
}

static bool has_model_methods(const struct mortise_manifest *m)
{
    for (size_t i = 0; i < m->n_methods; i++)
        if (strcmp(m->methods[i], "model.call/1") == 0 ||
            strcmp(m->methods[i], "model.embed/1") == 0)
            return true;
    return false;
}

static struct offer *add_manifest_offer(struct plugin_catalog *s,
                                        const struct mortise_manifest *m,
                                        const struct mortise_manifest_op *from,
                                        bool ask, struct mortise_err *why)
{
    struct offer *o = offer_new(s, m->name, from->name, why);

    if (o == NULL)
        return NULL;
    o->op.description = from->description;
    o->op.effect = parse_effect_name(from->effect);
    o->op.idempotent = from->idempotent;
    o->op.reconcile = from->reconcile;
    o->op.steps = from->steps;
    o->op.asks_models = has_model_methods(m);
    o->op.step_result = m->provides[MORTISE_KIND_EXECUTOR].step_result;
    o->op.timeout_ms = from->timeout_ms;
    o->op.usage = from->usage;
    o->op.input = from->input;
    o->op.output = from->output;
    o->op.secrets = from->secrets;
    o->op.ask = ask;
    o->op.judged_as = from->judged_as;
    o->op.policy = &s->deployment->tools.policy;
    mortise_table_add(&s->ops, &o->entry,
                      mortise_hash_strs(m->name, from->name));
    return o;
}

static struct offer *add_pinned_offer(struct plugin_catalog *s,
                                      const struct mortise_manifest *m,
                                      const struct mortise_tool_pin *from,
                                      bool ask, struct mortise_err *why)
{
    struct offer *o = offer_new(s, m->name, from->operation, why);
    int rv;

    if (o == NULL)
        return NULL;
    o->next_pinned = s->pinned;
    s->pinned = o;
    rv = mortise_tool_pin_compile_schemas(&o->schemas, &s->arena, from, why);
    if (rv != MORTISE_OK)
        return NULL;
    o->op.description = from->description;
    o->op.effect = parse_effect_name(from->effect);
    o->op.idempotent = from->idempotent;
    o->op.steps = true;
    o->op.asks_models = has_model_methods(m);
    o->op.step_result = m->provides[MORTISE_KIND_EXECUTOR].step_result;
    o->op.input = o->schemas.input;
    o->op.output = o->schemas.output;
    o->op.ask = ask;
    o->op.pinned = true;
    mortise_table_add(&s->ops, &o->entry,
                      mortise_hash_strs(m->name, from->operation));
    return o;
}

static bool has_lock_operations(const struct mortise_manifest *m)
{
    return m->provides[MORTISE_KIND_EXECUTOR].present &&
           m->provides[MORTISE_KIND_EXECUTOR].more;
}

/* The lock file's operation of a plugin that accepts them, or NULL. */
static const struct mortise_tool_pin *
find_tool_pin(const struct plugin_catalog *s, const struct mortise_manifest *m,
              const char *op)
{
    return has_lock_operations(m)
               ? mortise_deployment_find_tool_pin(s->deployment, m->name, op)
               : NULL;
}

static void fail_unknown_operation(const struct plugin_catalog *s,
                                   const struct mortise_manifest *m,
                                   const char *op, struct mortise_err *why)
{
    const struct mortise_deployment *d = s->deployment;
    const char *near = NULL, *names[64];
    size_t n = 0;

    if (has_lock_operations(m) && strchr(op, '/') != NULL &&
        strcmp(m->name, d->tool_pins.plugin) == 0) {
        mortise_tool_pin_report_missing(&d->tool_pins, &d->tools.mcp, op, why);
        return;
    }
    for (; n < m->n_ops && n < sizeof names / sizeof names[0]; n++)
        names[n] = m->ops[n].name;
    near = mortise_nearest_find(op, names, n);
    if (!m->provides[MORTISE_KIND_EXECUTOR].present)
        mortise_fail(why, MORTISE_ENOTFOUND,
                     "plugin '%s' is not an executor, so it has no operations",
                     m->name);
    else if (near != NULL)
        mortise_fail(why, MORTISE_ENOTFOUND,
                     "plugin '%s' has no operation '%s'; did you mean '%s'?",
                     m->name, op, near);
    else
        mortise_fail(why, MORTISE_ENOTFOUND,
                     "plugin '%s' has no operation '%s' (`mortise plugin "
                     "inspect %s` lists its operations)",
                     m->name, op, m->name);
}

static void fail_denied_operation(const struct mortise_span *by,
                                  const char *plugin, const char *op,
                                  struct mortise_err *why)
{
    char tool[MORTISE_TOOL_MAX];

    snprintf(tool, sizeof tool, "%s/%s", plugin, op);
    mortise_policy_report_denial(tool, by, why);
    why->code = MORTISE_ECONFIG;
}

/* Look up an operation in the manifest *m of its plugin, or in the lock file,
 * subject to the deployment's policy.  The plugin's config does not matter. */
static struct offer *find_or_add_offer(struct plugin_catalog *s,
                                       const char *plugin, const char *op,
                                       const struct mortise_manifest **m,
                                       struct mortise_err *why)
{
    const struct mortise_manifest_op *from;
    const struct mortise_tool_pin *pin;
    const struct mortise_span *by;
    enum mortise_judgement judged;
    struct offer *found;

    /* Each time: the plugin may have been quarantined meanwhile. */
    *m = mortise_plugins_find(s->plugins, plugin, why);
    if (*m == NULL)
        return NULL;
    found = find_offer(&s->ops, plugin, op);
    if (found != NULL)
        return found;
    from = mortise_manifest_op(*m, op);
    pin = from == NULL ? find_tool_pin(s, *m, op) : NULL;
    if (from == NULL && pin == NULL) {
        fail_unknown_operation(s, *m, op, why);
        return NULL;
    }
    judged =
        mortise_policy_judge(&s->deployment->tools.policy, plugin, op, &by);
    if (judged == MORTISE_DENY) {
        fail_denied_operation(by, plugin, op, why);
        return NULL;
    }
    return pin != NULL
               ? add_pinned_offer(s, *m, pin, judged == MORTISE_ASK, why)
               : add_manifest_offer(s, *m, from, judged == MORTISE_ASK, why);
}

/* Does the deployment have the config that the plugin requires? */
static int check_required_config(const struct plugin_catalog *s,
                                 const struct mortise_manifest *m,
                                 struct mortise_err *why)
{
    return s->catalogs.is_idle ? MORTISE_OK
                               : mortise_configs_require(s->deployment, m, why);
}

static const struct mortise_operation *
get_strict_operation(void *ud, const char *plugin, const char *op,
                     struct mortise_err *why)
{
    struct plugin_catalog *s = ud;
    const struct mortise_manifest *m;
    struct offer *found = find_or_add_offer(s, plugin, op, &m, why);
    int rv;

    if (found == NULL)
        return NULL;
    rv = found->comes_up ? MORTISE_OK : check_required_config(s, m, why);
    /* the config was checked */
    found->comes_up = rv == MORTISE_OK && !s->catalogs.is_idle;
    return rv != MORTISE_ENOMEM ? &found->op : NULL;
}

/* The first of two names after `last`, in order; NULL: none. */
static const char *get_earlier_name(const char *next, const char *name,
                                    const char *last)
{
    return strcmp(name, last) > 0 && (next == NULL || strcmp(name, next) < 0)
               ? name
               : next;
}

/* Visit the operations of one plugin in the order of their names. */
static int visit_plugin_operations(
    const struct plugin_catalog *s, const struct mortise_manifest *m,
    int (*fn)(void *into, const char *plugin, const char *op), void *into)
{
    const struct mortise_tool_pin *pins;
    size_t n =
        has_lock_operations(m)
            ? mortise_deployment_list_tool_pins(s->deployment, m->name, &pins)
            : 0;
    const char *last = "", *next;
    int rv = MORTISE_OK;

    do {
        next = NULL;
        for (size_t i = 0; i < m->n_ops; i++)
            next = get_earlier_name(next, m->ops[i].name, last);
        for (size_t i = 0; i < n; i++)
            next = get_earlier_name(next, pins[i].operation, last);
        if (next != NULL)
            rv = fn(into, m->name, next);
        last = next;
    } while (rv == MORTISE_OK && next != NULL);
    return rv;
}

/* Skips plugins that cannot be used. */
static int visit_operations(void *ud,
                            int (*fn)(void *into, const char *plugin,
                                      const char *op),
                            void *into, struct mortise_err *why)
{
    struct plugin_catalog *s = ud;
    const char *last = "", *next;
    int rv = MORTISE_OK;

    do {
        const struct mortise_manifest *m;
        struct mortise_err refused;

        next = NULL;
        for (size_t i = 0; i < mortise_plugins_count(s->plugins); i++) {
            const char *name = mortise_plugins_at(s->plugins, i)->name;

            if (strcmp(name, last) > 0 &&
                (next == NULL || strcmp(name, next) < 0))
                next = name;
        }
        m = next != NULL ? mortise_plugins_find(s->plugins, next, &refused)
                         : NULL;
        if (m != NULL)
            rv = visit_plugin_operations(s, m, fn, into);
        last = next;
    } while (rv == MORTISE_OK && next != NULL);
    return rv == MORTISE_ENOMEM ? mortise_nomem(why) : rv;
}

/* `id` is neither a plugin nor a guardrail id: suggest a similar id. */
static void suggest_id(const struct plugin_catalog *s, const char *id,
                       struct mortise_err *why)
{
    const struct mortise_guards *g = &s->deployment->guards;
    const char *ids[64], *near;
    size_t n = 0;

    for (; n < g->n && n < sizeof ids / sizeof ids[0]; n++)
        ids[n] = g->list[n].id;
    near = mortise_nearest_find(id, ids, n);
    if (why != NULL && why->code == MORTISE_ENOTFOUND && near != NULL)
        mortise_fail(why, MORTISE_ENOTFOUND,
                     "no guardrail '%s': the deployment has no guardrail and "
                     "no plugin of that name; did you mean '%s'?",
                     id, near);
}

static int check_guardrail_id(void *ud, const char *id, struct mortise_err *why)
{
    struct plugin_catalog *s = ud;
    const struct mortise_guard *g =
        mortise_guard_find(&s->deployment->guards, id);
    const char *plugin = g != NULL ? g->plugin : id;
    const struct mortise_manifest *m =
        mortise_plugins_find(s->plugins, plugin, why);

    if (m == NULL && g == NULL)
        suggest_id(s, id, why);
    if (m == NULL)
        return why != NULL && why->code != MORTISE_OK ? why->code
                                                      : MORTISE_ENOTFOUND;
    if (!m->provides[MORTISE_KIND_GUARDRAIL].present)
        return mortise_fail(why, MORTISE_ENOTFOUND,
                            "plugin '%s' is not a guardrail", plugin);
    return g == NULL ? check_required_config(s, m, why)
                     : MORTISE_OK; /* the config of the id was checked */
}

static int check_model_provider(const struct plugin_catalog *s,
                                const struct mortise_model_alias *model,
                                struct mortise_err *why)
{
    const struct mortise_manifest *m =
        mortise_plugins_find(s->plugins, model->provider, why);

    if (m == NULL)
        return why->code;
    return m->provides[MORTISE_KIND_MODEL].present
               ? MORTISE_OK
               : mortise_fail(why, MORTISE_ENOTFOUND,
                              "plugin '%s' is not a model provider",
                              model->provider);
}

static bool is_model_priced(const struct mortise_model_alias *m)
{
    const struct mortise_usage none = {0};
    uint64_t nano;

    return mortise_model_compute_cost(m, &none, &nano);
}

static int check_catalog_model(void *ud, const char *alias, bool *priced,
                               struct mortise_err *why)
{
    const struct plugin_catalog *s = ud;
    const struct mortise_models *models = &s->deployment->models;
    const struct mortise_model_alias *behind[MORTISE_N_TIERS];
    int rv = mortise_model_check(models, alias, why);
    size_t n;

    if (rv != MORTISE_OK)
        return rv;
    n = mortise_models_list_targets(models, mortise_model_find(models, alias),
                                    behind);
    *priced = true;
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++) {
        *priced &= is_model_priced(behind[i]);
        rv = check_model_provider(s, behind[i], why);
    }
    return rv;
}

/* The plugin that the deployment names must be of this kind. */
static int check_plugin_kind(const struct plugin_catalog *s, const char *plugin,
                             enum mortise_kind kind,
                             const struct mortise_manifest **out,
                             struct mortise_err *why)
{
    const struct mortise_manifest *m =
        mortise_plugins_find(s->plugins, plugin, why);

    *out = m;
    if (m == NULL)
        return why->code;
    return m->provides[kind].present
               ? MORTISE_OK
               : mortise_fail(why, MORTISE_ENOTFOUND,
                              "plugin '%s' does not provide %s", plugin,
                              mortise_kinds[kind]->name);
}

static int check_catalog_memory(void *ud, bool *as_of, struct mortise_err *why)
{
    const struct plugin_catalog *s = ud;
    const char *plugin = s->deployment->memory.plugin;
    const struct mortise_manifest *m = NULL;
    int rv =
        plugin != NULL
            ? check_plugin_kind(s, plugin, MORTISE_KIND_MEMORY, &m, why)
            : mortise_fail(why, MORTISE_ENOTFOUND,
                           "the deployment has no memory: set memory.plugin");

    if (rv == MORTISE_OK)
        *as_of = m->provides[MORTISE_KIND_MEMORY].as_of;
    return rv;
}

static int list_discovery_names(void *ud,
                                void (*fn)(void *into, const char *name),
                                void *into, struct mortise_err *why)
{
    const struct plugin_catalog *s = ud;
    const struct mortise_discoverers *all = &s->deployment->discovery;
    const struct mortise_manifest *m;
    char name[512]; /* manifest names are shorter */
    int rv = all->n > 0 ? MORTISE_OK
                        : mortise_fail(why, MORTISE_ENOTFOUND,
                                       "the deployment has no discovery "
                                       "plugin: list one in discovery.plugins");

    for (size_t i = 0; rv == MORTISE_OK && i < all->n; i++) {
        const struct mortise_discoverer *d = &all->list[i];

        rv = check_plugin_kind(s, d->plugin, MORTISE_KIND_DISCOVERY, &m, why);
        snprintf(name, sizeof name, "%s%s",
                 d->instance[0] != '\0' ? "" : MORTISE_DISCOVERY_PREFIX,
                 d->instance[0] != '\0' ? d->instance : d->plugin);
        if (rv == MORTISE_OK)
            fn(into, name);
    }
    return rv;
}

static const char *get_type_executor(void *ud, const char *type)
{
    const struct plugin_catalog *s = ud;

    return mortise_deployment_get_executor(s->deployment, type);
}

static int check_catalog_secret(void *ud, const char *plugin, const char *name,
                                struct mortise_err *why)
{
    struct plugin_catalog *s = ud;
    const struct mortise_manifest *m =
        mortise_plugins_find(s->plugins, plugin, why);

    if (m == NULL)
        return MORTISE_OK; /* reported where its operation was looked up */
    return mortise_secret_check_grant(s->deployment, m, "", name, why);
}

static int check_catalog_program(void *ud, const struct mortise_operation *op,
                                 const char *name, struct mortise_err *why)
{
    struct plugin_catalog *s = ud;
    const struct mortise_manifest *m =
        s->catalogs.is_idle ? NULL
                            : mortise_plugins_find(s->plugins, op->plugin, why);
    const struct mortise_program *p;
    int rv;

    if (m == NULL) /* nothing is called, or the missing plugin was reported */
        return MORTISE_OK;
    rv = mortise_program_find(&s->deployment->programs, name, &p, why);
    if (rv == MORTISE_OK)
        rv = mortise_program_check_grant(s->deployment, m, "", name, "*", why);
    return rv == MORTISE_OK && op->effect <= MORTISE_READ
               ? mortise_program_check_read_only(p, why)
               : rv;
}

/* A stand-in is not kept, because the strict catalog must continue to reject
 * the name.  It still lives as long as the catalog. */
static const struct mortise_operation *
get_lenient_operation(void *ud, const char *plugin, const char *op,
                      struct mortise_err *why)
{
    const struct mortise_manifest *m;
    struct offer *o = find_or_add_offer(ud, plugin, op, &m, why);

    if (o == NULL)
        o = offer_new(ud, plugin, op, why);
    return o != NULL ? &o->op : NULL;
}

/* An operation made from its name only.  It is kept, as it never changes. */
static const struct mortise_operation *
get_named_operation(void *ud, const char *plugin, const char *op,
                    struct mortise_err *why)
{
    struct plugin_catalog *s = ud;
    struct offer *o = find_offer(&s->named, plugin, op);

    if (o != NULL)
        return &o->op;
    o = offer_new(s, plugin, op, why);
    if (o == NULL)
        return NULL;
    o->op.guesses = &s->catalogs.guesses;
    mortise_table_add(&s->named, &o->entry, mortise_hash_strs(plugin, op));
    return &o->op;
}

static int accept_any_guardrail(void *ud, const char *id,
                                struct mortise_err *why)
{
    (void)ud;
    (void)id;
    (void)why;
    return MORTISE_OK;
}

int mortise_catalogs_open(struct mortise_catalogs **out,
                          const struct mortise_mem *mem,
                          struct mortise_plugins *plugins,
                          const struct mortise_deployment *d,
                          struct mortise_err *err)
{
    struct plugin_catalog *s = mortise_zalloc(mem, sizeof *s);

    *out = NULL;
    if (s == NULL)
        return mortise_nomem(err);
    mortise_arena_init(&s->arena, mem);
    mortise_table_init(&s->ops, mem);
    mortise_table_init(&s->named, mem);
    s->plugins = plugins;
    s->deployment = d;
    s->catalogs.strict =
        (struct mortise_catalog){.ud = s,
                                 .operation = get_strict_operation,
                                 .operations = visit_operations,
                                 .guardrail = check_guardrail_id,
                                 .secret = check_catalog_secret,
                                 .program = check_catalog_program,
                                 .model = check_catalog_model,
                                 .memory = check_catalog_memory,
                                 .discovery = list_discovery_names,
                                 .executor = get_type_executor,
                                 .limits = &d->limits};
    s->catalogs.lenient =
        (struct mortise_catalog){.ud = s,
                                 .operation = get_lenient_operation,
                                 .guardrail = accept_any_guardrail};
    s->catalogs.names =
        (struct mortise_catalog){.ud = s,
                                 .operation = get_named_operation,
                                 .guardrail = accept_any_guardrail,
                                 .executor = get_type_executor,
                                 .limits = &d->limits};
    *out = &s->catalogs;
    return MORTISE_OK;
}

void mortise_catalogs_close(struct mortise_catalogs *c)
{
    struct plugin_catalog *s;
    struct mortise_arena arena;

    if (c == NULL)
        return;
    s = MORTISE_CONTAINER_OF(c, struct plugin_catalog, catalogs);
    for (const struct offer *o = s->pinned; o != NULL; o = o->next_pinned) {
        mortise_schema_finish(o->schemas.input);
        mortise_schema_finish(o->schemas.output);
    }
    mortise_table_finish(&s->ops);
    mortise_table_finish(&s->named);
    arena = s->arena;
    mortise_release(arena.mem, s, sizeof *s);
    mortise_arena_finish(&arena);
}
