/* configs.c -- check a deployment's plugin configs against the installed
 * plugins.
 *
 * The deployment file was parsed and checked by itself already.  Here each
 * config is checked against the schema of its plugin, and findings point at its
 * line.  A plugin that only `plugins.config` names may be missing: nothing
 * starts it, and `check` warns because the name may be misspelt.  A plugin
 * behind a guardrail id must exist, because graphs are checked against these
 * ids.
 *
 * A deployment with other findings is checked as far as it could be read;
 * findings that only follow from those are suppressed.
 *
 * A config with references to secrets is checked as a whole only by create(),
 * which has the values (instantiate.c).
 */
#include "lang/config/plugins/configs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/files.h"
#include "core/base/infile.h"
#include "core/base/mask.h"
#include "core/plugin/egress.h"
#include "lang/config/plugins/grants.h"
#include "lang/config/plugins/tool_bypass.h"
#include "lang/config/plugins/tool_patterns.h"
#include "core/plugin/registry.h"
#include "lang/yaml/schema.h"

struct checking {
    const struct mortise_deployment *d;
    struct mortise_diags *diags;
    const struct mortise_manifest *m;
    size_t errors; /* of findings, before this config */
    bool all;      /* report plugins that cannot be used */
};

/* The value of a secret is known only when the plugin starts. */
static bool is_secret_reference(const struct mortise_yaml *v)
{
    return v->kind == MORTISE_YAML_STRING &&
           mortise_secret_get_name(v->str) != NULL;
}

/* A ${...} stays in the text if it has no value, or if the deployment is not
 * approved. */
static bool is_unresolved(const struct mortise_yaml *v)
{
    return v->kind == MORTISE_YAML_STRING && strstr(v->str, "${") != NULL;
}

static bool is_secret_or_unresolved(const struct mortise_yaml *v)
{
    return is_secret_reference(v) || is_unresolved(v);
}

/* Check the config `json` against the schema.  If the deployment contains it,
 * as `config`, its secrets and unresolved values match anything. */
static int check_against_schema(const struct checking *c,
                                const struct mortise_yaml *config,
                                const json_t *json, struct mortise_err *err)
{
    json_t *unknown, *partial = NULL;
    int rv = MORTISE_ENOMEM;

    if (config == NULL)
        return mortise_schema_check(c->m->config_schema, json, err);
    unknown = json_string("secret://");
    if (unknown != NULL)
        partial = mortise_yaml_to_json_partly(config, unknown,
                                              c->d->broken || c->d->unresolved
                                                  ? is_secret_or_unresolved
                                                  : is_secret_reference);
    if (partial != NULL)
        rv = mortise_schema_check_partly(c->m->config_schema, partial, unknown,
                                         err);
    json_decref(partial);
    json_decref(unknown);
    return rv;
}

/* The schema's description of the member that an error message names ("at
 * /stt/base_url: ..."), or NULL.  *name: the member. */
static const char *find_member_description(const struct checking *c,
                                           const char *words, char name[128])
{
    const json_t *schema = mortise_schema_json(c->m->config_schema);

    if (strncmp(words, "at /", 4) != 0)
        return NULL;
    for (words += 3; *words == '/' && schema != NULL;
         words += strcspn(words, "/:")) {
        words++;
        snprintf(name, 128, "%.*s", (int)strcspn(words, "/:"), words);
        schema = json_object_get(json_object_get(schema, "properties"), name);
    }
    return json_string_value(json_object_get(schema, "description"));
}

static void add_config_finding(const struct checking *c,
                               const struct mortise_yaml *config,
                               struct mortise_span at, const char *words)
{
    char name[128];
    const char *is = find_member_description(c, words, name);
    struct mortise_diag *d = mortise_diag_add(
        c->diags, "E0607",
        config != NULL ? mortise_yaml_find_at_message(config, words)->span : at,
        "plugin '%s' rejects this config: %s", c->m->name, words);

    if (is != NULL)
        mortise_diag_help(c->diags, d, "%s: %s", name, is);
}

static int check_config_schema(const struct checking *c,
                               const struct mortise_yaml *config,
                               const json_t *json, struct mortise_span at)
{
    struct mortise_err err;
    int rv = MORTISE_OK;

    if (c->m->config_schema != NULL)
        rv = check_against_schema(c, config, json, &err);
    else if (json_object_size(json) > 0)
        mortise_diag_add(c->diags, "E0607", at, "plugin '%s' accepts no config",
                         c->m->name);
    if (rv == MORTISE_OK || rv == MORTISE_ENOMEM)
        return rv;
    add_config_finding(c, config, at, err.msg);
    return MORTISE_OK;
}

/* x-schema: the value must be a JSON Schema that is valid in a graph. */
static int check_schema_member(const struct checking *c,
                               struct mortise_arena *a,
                               const struct mortise_yaml *v)
{
    struct mortise_schema *schema = NULL;
    int rv = mortise_yaml_compile_schema(&schema, a, v, MORTISE_PATTERNS_ECMA,
                                         false, c->diags);

    mortise_schema_finish(schema);
    return rv;
}

/* x-model: the value must be a model alias of the deployment.  A broken
 * deployment may have lost some aliases. */
static void check_model_member(const struct checking *c,
                               const struct mortise_yaml *v)
{
    struct mortise_err why;

    if (v->kind == MORTISE_YAML_STRING && !is_secret_reference(v) &&
        !c->d->broken && !(c->d->unresolved && is_unresolved(v)) &&
        mortise_model_check(&c->d->models, v->str, &why) != MORTISE_OK)
        mortise_diag_add(c->diags, "E0513", v->span, "%s", why.msg);
}

static bool is_member_marked(const json_t *member, const char *mark)
{
    return json_is_true(json_object_get(member, mark));
}

/* A config without an alias uses the schema's default, if there is one; the
 * deployment may have no models. */
static void check_default_alias(const struct checking *c, const char *name,
                                const json_t *member, struct mortise_span at)
{
    const char *alias = json_string_value(json_object_get(member, "default"));
    struct mortise_err why;
    struct mortise_diag *d;

    if (alias == NULL || c->d->broken ||
        mortise_model_check(&c->d->models, alias, &why) == MORTISE_OK)
        return;
    d = mortise_diag_add(
        c->diags, "E0513", at,
        "plugin '%s' uses the model '%s', because its config has no '%s': %s",
        c->m->name, alias, name, why.msg);
    mortise_diag_help(c->diags, d, "name a model alias: %s: ALIAS", name);
}

/* Check members of the config that the plugin's schema marks. */
static int check_marked_members(const struct checking *c,
                                const struct mortise_yaml *config,
                                struct mortise_span at)
{
    const struct mortise_schema *own = c->m->config_schema;
    struct mortise_arena a;
    int rv = MORTISE_OK;

    if (own == NULL)
        return MORTISE_OK;
    mortise_arena_init(&a, c->diags->arena.mem);
    MORTISE_JSON_MEMBERS (
        name, one, json_object_get(mortise_schema_json(own), "properties")) {
        const struct mortise_yaml *v =
            config != NULL ? mortise_yaml_get(config, name) : NULL;

        if (v != NULL && rv != MORTISE_ENOMEM &&
            is_member_marked(one, "x-schema"))
            rv = check_schema_member(c, &a, v);
        if (is_member_marked(one, "x-model") && v != NULL)
            check_model_member(c, v);
        else if (is_member_marked(one, "x-model"))
            check_default_alias(c, name, one,
                                config != NULL ? config->span : at);
    }
    mortise_arena_finish(&a);
    return rv == MORTISE_ENOMEM ? rv : MORTISE_OK;
}

/* If the plugin's permissions take hosts from the config, check that the config
 * has valid hosts. */
static int check_config_egress(const struct checking *c,
                               const struct mortise_yaml *config,
                               const json_t *json)
{
    struct mortise_egress e;
    struct mortise_arena a;
    struct mortise_err err;
    int rv;

    if (config == NULL || c->d->unresolved || c->diags->n_errors > c->errors)
        return MORTISE_OK;
    mortise_arena_init(&a, c->diags->arena.mem);
    rv = mortise_egress_make(&e, &a, &c->m->net, json, &err);
    mortise_arena_finish(&a);
    if (rv == MORTISE_OK || rv == MORTISE_ENOMEM)
        return rv;
    mortise_diag_add(c->diags, "E0607", config->span,
                     "plugin '%s' cannot connect as this config requires: %s",
                     c->m->name, err.msg);
    return MORTISE_OK;
}

/* `config` NULL: check {}; `at` is the place for findings. */
static int check_one_config(struct checking *c,
                            const struct mortise_yaml *config,
                            struct mortise_span at)
{
    json_t *json;
    size_t mentions = 0;
    int rv;

    if (config != NULL && config->kind != MORTISE_YAML_MAP)
        return MORTISE_OK; /* reported by the deployment's own check */
    json = config != NULL ? mortise_yaml_to_json(config, false) : json_object();
    rv = json != NULL ? MORTISE_OK : MORTISE_ENOMEM;
    c->errors = c->diags->n_errors;
    if (rv == MORTISE_OK && config != NULL &&
        !mortise_deployment_has_bad_secrets(c->d))
        rv = mortise_secret_check_config(c->d, c->m, config, json, c->diags,
                                         &mentions);
    if (rv == MORTISE_OK)
        rv = check_config_schema(c, config, json, at);
    if (rv == MORTISE_OK)
        rv = check_marked_members(c, config, at);
    if (rv == MORTISE_OK && mentions == 0)
        rv = check_config_egress(c, config, json);
    json_decref(json);
    return rv;
}

int mortise_configs_require(const struct mortise_deployment *d,
                            const struct mortise_manifest *m,
                            struct mortise_err *why)
{
    struct mortise_err wants;
    json_t *without;
    int rv;

    if (m->config_schema == NULL ||
        mortise_yaml_get(d->config, m->name) != NULL)
        return MORTISE_OK;
    without = mortise_deployment_get_config(d, m->name, "");
    rv = without != NULL
             ? mortise_schema_check(m->config_schema, without, &wants)
             : MORTISE_ENOMEM;
    json_decref(without);
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(why);
    return rv == MORTISE_OK
               ? rv
               : mortise_fail(why, MORTISE_EINVAL,
                              "plugin '%s' needs a config, but plugins.config "
                              "of the deployment has none for it: %s",
                              m->name, wants.msg);
}

/* Check a plugin instance that the deployment names: the plugin must be of this
 * kind, otherwise the finding says that it is `none`. */
static int check_plugin_instance(struct checking *c,
                                 struct mortise_plugins *plugins,
                                 enum mortise_kind kind, const char *plugin,
                                 const struct mortise_yaml *config,
                                 const struct mortise_yaml *at,
                                 const char *none)
{
    static const char *const codes[MORTISE_KINDS] = {
        [MORTISE_KIND_GUARDRAIL] = "E0502",
        [MORTISE_KIND_MODEL] = "E0511",
        [MORTISE_KIND_MEMORY] = "E0517",
        [MORTISE_KIND_DISCOVERY] = "E0518"};
    const char *code = codes[kind];
    struct mortise_err why = {0};

    if (at == NULL || plugin[0] == '\0')
        return MORTISE_OK; /* reported by the deployment's own check */
    c->m = mortise_plugins_find(plugins, plugin, &why);
    if (c->m == NULL && why.code == MORTISE_ENOMEM)
        return MORTISE_ENOMEM;
    if (c->m != NULL && c->m->provides[kind].present)
        return config == NULL && c->d->broken
                   ? MORTISE_OK
                   : check_one_config(c, config, at->span);
    if (c->m == NULL && (!c->all || c->d->dirs_in_doubt))
        return MORTISE_OK;
    if (c->m == NULL) {
        mortise_diag_add(c->diags, code, at->span, "%s", why.msg);
        mortise_diags_set_reason(c->diags, &why);
    } else {
        mortise_diag_add(c->diags, code, at->span, "plugin '%s' is %s", plugin,
                         none);
    }
    return MORTISE_OK;
}

static int check_guard_instance(struct checking *c,
                                struct mortise_plugins *plugins,
                                const struct mortise_guard *g)
{
    return check_plugin_instance(c, plugins, MORTISE_KIND_GUARDRAIL, g->plugin,
                                 g->config, g->at, "not a guardrail");
}

/* An alias with tiers refers to other aliases, which are checked by
 * themselves. */
static int check_model_instance(struct checking *c,
                                struct mortise_plugins *plugins,
                                const struct mortise_model_alias *m)
{
    if (m->provider[0] == '\0')
        return MORTISE_OK;
    return check_plugin_instance(c, plugins, MORTISE_KIND_MODEL, m->provider,
                                 m->config, m->at, "not a model provider");
}

/* Does an earlier entry of the list name the same plugin? */
static bool is_discoverer_repeated(const struct checking *c,
                                   const struct mortise_discoverer *d)
{
    const struct mortise_discoverer *other = c->d->discovery.list;

    while (other < d && strcmp(other->plugin, d->plugin) != 0)
        other++;
    return other < d;
}

/* Pins of the lock file become part of the plugin's config: a plugin that does
 * not accept them would not start. */
static void check_discoverer_pins(const struct checking *c,
                                  const struct mortise_discoverer *d)
{
    const struct mortise_yaml *pins =
        mortise_lock_discovery(&c->d->lock, d->plugin);
    struct mortise_schema_member_info seen = {.never = true};
    struct mortise_diag *diag;

    if (pins == NULL || c->d->broken || is_discoverer_repeated(c, d))
        return;
    if (c->m->config_schema != NULL)
        mortise_schema_find_member(c->m->config_schema, "pins", &seen);
    if (!seen.never)
        return;
    diag = mortise_diag_add(
        c->diags, "E0607", pins->span,
        "plugin '%s' has nothing to pin: its config accepts no 'pins'",
        d->plugin);
    mortise_diag_help(c->diags, diag, "remove this from the lock file");
}

/* An entry without an own config uses plugins.config, which was checked
 * already. */
static int check_discoverer(struct checking *c, struct mortise_plugins *plugins,
                            const struct mortise_discoverer *d)
{
    static const char none[] = "not a discovery plugin";
    struct mortise_err why;

    c->m =
        d->at != NULL ? mortise_plugins_find(plugins, d->plugin, NULL) : NULL;
    if (c->m != NULL)
        check_discoverer_pins(c, d);
    if (d->instance != NULL && d->instance[0] != '\0')
        return check_plugin_instance(c, plugins, MORTISE_KIND_DISCOVERY,
                                     d->plugin, d->config, d->at, none);
    if (c->m == NULL || !c->m->provides[MORTISE_KIND_DISCOVERY].present)
        return check_plugin_instance(c, plugins, MORTISE_KIND_DISCOVERY,
                                     d->plugin, NULL, d->at, none);
    switch (mortise_configs_require(c->d, c->m, &why)) {
    case MORTISE_OK:
        return MORTISE_OK;
    case MORTISE_ENOMEM:
        return MORTISE_ENOMEM;
    default:
        if (!c->d->broken)
            mortise_diag_add(c->diags, "E0518", d->at->span, "%s", why.msg);
        return MORTISE_OK;
    }
}

static int check_memory_instance(struct checking *c,
                                 struct mortise_plugins *plugins)
{
    const struct mortise_memory_choice *m = &c->d->memory;

    return m->plugin == NULL
               ? MORTISE_OK
               : check_plugin_instance(c, plugins, MORTISE_KIND_MEMORY,
                                       m->plugin, m->config, m->at,
                                       "not a memory");
}

/* Check the config that the deployment composes from tools.mcp; findings point
 * at that key. */
static int check_composed_config(struct checking *c,
                                 struct mortise_plugins *plugins)
{
    const struct mortise_yaml *at =
        mortise_yaml_key(mortise_yaml_get(c->d->tree, "tools"), "mcp");
    json_t *json;
    int rv;

    c->m = at != NULL && !c->d->broken
               ? mortise_plugins_find(plugins, mortise_mcp_plugin, NULL)
               : NULL;
    if (c->m == NULL)
        return MORTISE_OK;
    c->errors = c->diags->n_errors;
    json = mortise_deployment_get_config(c->d, mortise_mcp_plugin, "");
    rv = json != NULL ? check_config_schema(c, NULL, json, at->span)
                      : MORTISE_ENOMEM;
    if (rv == MORTISE_OK)
        rv = check_config_egress(c, at, json);
    json_decref(json);
    return rv;
}

int mortise_configs_check(const struct mortise_deployment *d,
                          struct mortise_plugins *plugins, bool all,
                          struct mortise_diags *diags)
{
    struct checking c = {.d = d, .diags = diags, .all = all};
    size_t n = d->config != NULL ? d->config->n : 0, errors = diags->n_errors;
    int rv = MORTISE_OK;

    for (size_t i = 0; i < n && rv == MORTISE_OK; i++) {
        const struct mortise_yaml *key = d->config->keys[i];

        c.m = mortise_yaml_is_x_key(key->str)
                  ? NULL
                  : mortise_plugins_find(plugins, key->str, NULL);
        if (c.m != NULL)
            rv = check_one_config(&c, d->config->items[i], key->span);
    }
    if (rv == MORTISE_OK)
        rv = check_composed_config(&c, plugins);
    for (size_t i = 0; i < d->guards.n && rv == MORTISE_OK; i++)
        rv = check_guard_instance(&c, plugins, &d->guards.list[i]);
    for (size_t i = 0; i < d->models.n && rv == MORTISE_OK; i++)
        rv = check_model_instance(&c, plugins, &d->models.list[i]);
    for (size_t i = 0; i < d->discovery.n && rv == MORTISE_OK; i++)
        rv = check_discoverer(&c, plugins, &d->discovery.list[i]);
    if (rv == MORTISE_OK)
        rv = check_memory_instance(&c, plugins);
    return rv == MORTISE_OK && diags->n_errors > errors ? MORTISE_ECHECK : rv;
}

static int advise_unknown_plugins(const struct mortise_yaml *map,
                                  struct mortise_plugins *plugins,
                                  struct mortise_diags *diags)
{
    for (size_t i = 0;
         map != NULL && map->kind == MORTISE_YAML_MAP && i < map->n; i++) {
        const struct mortise_yaml *key = map->keys[i];
        struct mortise_err why = {0};

        if (mortise_yaml_is_x_key(key->str) ||
            mortise_plugins_find(plugins, key->str, &why) != NULL)
            continue;
        if (why.code == MORTISE_ENOMEM)
            return MORTISE_ENOMEM;
        mortise_diag_add(diags, "W0808", key->span, "%s", why.msg);
    }
    return diags->failed ? MORTISE_ENOMEM : MORTISE_OK;
}

/* The length of a secret as far as it is known without running a program, at
 * most MORTISE_MASK_MIN + 1; 0: unknown. */
static size_t get_secret_length(const struct mortise_provider *from)
{
    char text[MORTISE_MASK_MIN + 2] = "";
    int fd;

    if (from->kind == MORTISE_PROVIDER_ENV && getenv(from->text) != NULL) {
        snprintf(text, sizeof text, "%.*s", (int)sizeof text - 1,
                 getenv(from->text));
    } else if (from->kind == MORTISE_PROVIDER_FILE &&
               (fd = mortise_infile_open(AT_FDCWD, from->text, 0)) >= 0) {
        ssize_t n = read(fd, text, sizeof text - 1);

        text[n > 0 ? n : 0] = '\0';
        close(fd);
    }
    return strcspn(text, "\r\n");
}

/* Would posix_spawnp() find the program?  Nothing is started. */
static bool has_runnable_program(const char *program)
{
    const char *path = getenv("PATH");
    char file[PATH_MAX];

    return strchr(program, '/') != NULL
               ? access(program, X_OK) == 0
               : mortise_file_find_on_path(&path, program, file, sizeof file);
}

/* Warn if the provider yields no value here and now. */
static void advise_provider(const struct mortise_provider *from,
                            struct mortise_span at, struct mortise_diags *diags)
{
    if (from->kind == MORTISE_PROVIDER_ENV && getenv(from->text) == NULL)
        mortise_diag_add(diags, "W0823", at,
                         "the secret '%s' is in the environment variable %s, "
                         "which is not set here",
                         from->name, from->text);
    else if (from->kind == MORTISE_PROVIDER_FILE &&
             access(from->text, R_OK) != 0)
        mortise_diag_add(diags, "W0823", at,
                         "the secret '%s' is in the file %s, which cannot be "
                         "read: %s",
                         from->name, from->text, strerror(errno));
    else if (from->kind == MORTISE_PROVIDER_EXEC &&
             !has_runnable_program(from->text))
        mortise_diag_add(diags, "W0823", at,
                         "the secret '%s' is the output of the program %s, "
                         "which cannot be run here",
                         from->name, from->text);
}

static void advise_dir(const char *dir, struct mortise_span at,
                       struct mortise_diags *diags)
{
    struct stat st;

    if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode))
        mortise_diag_add(diags, "W0823", at, "there is no directory %s", dir);
}

static void advise_dirs(const struct mortise_deployment *d,
                        struct mortise_diags *diags)
{
    const struct mortise_yaml *plugins = mortise_yaml_get(d->tree, "plugins");
    const struct mortise_yaml *path = mortise_yaml_get(plugins, "path");
    const struct mortise_yaml *dev = mortise_yaml_get(plugins, "dev");
    const struct mortise_yaml *dir =
        mortise_yaml_get(mortise_yaml_get(d->tree, "trust"), "dir");

    for (size_t i = 0; path != NULL && i < d->n_plugin_dirs; i++)
        advise_dir(d->plugin_dirs[i], path->items[i]->span, diags);
    for (size_t i = 0; dev != NULL && i < d->n_dev_dirs; i++)
        advise_dir(d->dev_dirs[i], dev->items[i]->span, diags);
    if (dir != NULL && d->trust_dir != NULL)
        advise_dir(d->trust_dir, dir->span, diags);
}

/* Warn about pins of MCP servers that no longer exist. */
static void advise_lock(const struct mortise_deployment *d,
                        struct mortise_diags *diags)
{
    for (size_t i = 0; i < d->lock.n; i++)
        if (mortise_mcp_find(&d->tools.mcp, d->lock.list[i].name) == NULL)
            mortise_diag_add(diags, "W0824", d->lock.list[i].at->span,
                             "tools.mcp of the deployment has no server '%s', "
                             "so the pins of this server have no effect",
                             d->lock.list[i].name);
}

static bool is_discoverer_listed(const struct mortise_deployment *d,
                                 const char *plugin)
{
    for (size_t i = 0; i < d->discovery.n; i++)
        if (strcmp(d->discovery.list[i].plugin, plugin) == 0)
            return true;
    return false;
}

/* Warn about pins of discovery plugins that are no longer listed. */
static void advise_discovery_pins(const struct mortise_deployment *d,
                                  struct mortise_diags *diags)
{
    for (size_t i = 0; i < d->lock.n_discovery; i++)
        if (!is_discoverer_listed(d, d->lock.discovery[i].plugin))
            mortise_diag_add(
                diags, "W0824", d->lock.discovery[i].pins->span,
                "discovery.plugins of the deployment has no plugin '%s', so "
                "the pins of this plugin have no effect",
                d->lock.discovery[i].plugin);
}

static int advise_pin(const struct mortise_deployment *d,
                      const struct mortise_tool_pin *pin,
                      struct mortise_diags *diags)
{
    struct mortise_arena a;
    struct mortise_pinned_schemas schemas;
    struct mortise_err why;
    int rv;

    mortise_arena_init(&a, d->arena.mem);
    rv = mortise_tool_pin_compile_schemas(&schemas, &a, pin, &why);
    if (rv == MORTISE_EINVAL)
        mortise_diag_add(diags, "W0824", pin->tool->at->span, "%s", why.msg);
    mortise_schema_finish(schemas.input);
    mortise_schema_finish(schemas.output);
    mortise_arena_finish(&a);
    return rv == MORTISE_EINVAL ? MORTISE_OK : rv;
}

static void advise_secrets(const struct mortise_deployment *d,
                           struct mortise_diags *diags)
{
    const struct mortise_yaml *map =
        d->tree != NULL ? mortise_yaml_get(d->tree, "secrets") : NULL;

    for (size_t i = 0; i < d->secrets.n; i++) {
        const struct mortise_provider *from = &d->secrets.list[i];
        size_t n = get_secret_length(from);

        advise_provider(from, mortise_yaml_key(map, from->name)->span, diags);
        if (n > 0 && n < MORTISE_MASK_MIN)
            mortise_diag_add(diags, "W0821",
                             mortise_yaml_key(map, from->name)->span,
                             "the secret '%s' is shorter than %d bytes, so it "
                             "is not masked in outputs",
                             from->name, (int)MORTISE_MASK_MIN);
    }
}

int mortise_configs_warn(const struct mortise_deployment *d,
                         struct mortise_plugins *plugins,
                         struct mortise_diags *diags)
{
    const struct mortise_yaml *isolation =
        mortise_yaml_get(mortise_yaml_get(d->tree, "plugins"), "isolation");
    int rv = d->dirs_in_doubt
                 ? MORTISE_OK
                 : advise_unknown_plugins(d->config, plugins, diags);

    if (d->tree != NULL)
        advise_dirs(d, diags);
    mortise_tool_patterns_advise(d, plugins, diags);
    if (d->broken)
        return rv == MORTISE_OK && !d->dirs_in_doubt
                   ? advise_unknown_plugins(isolation, plugins, diags)
                   : rv;
    advise_secrets(d, diags);
    advise_lock(d, diags);
    mortise_tool_bypass_advise(d, plugins, diags);
    advise_discovery_pins(d, diags);
    for (size_t i = 0; i < d->tool_pins.n && rv == MORTISE_OK; i++)
        rv = advise_pin(d, &d->tool_pins.list[i], diags);
    return rv == MORTISE_OK ? advise_unknown_plugins(isolation, plugins, diags)
                            : rv;
}
