/* deploy.c -- reading a Deployment file: plugins, trust, store, models and
 * more.
 *
 * The file describes one machine, so its paths are relative to itself, and its
 * strings may take values from the environment.  A graph, which is copied
 * between machines, has neither.  Keys that the file does not set remain NULL
 * here: the engine knows what is bundled. */
#include "lang/config/deploy.h"

#include <string.h>

#include "core/base/group.h"
#include "lang/config/expand.h"
#include "lang/config/mcp_config.h"
#include "lang/config/own_files.h"
#include "lang/config/reading.h"
#include "lang/yaml/header.h"

enum {
    BATCH_MS = 50, /* store.durability: batch, without max_ms */
    CACHE_BYTES = 64 * 1024 * 1024
};

/* The default of store.retention.finished: 30 days. */
static const uint64_t finished_ms = 30ull * 24 * 60 * 60 * 1000;

/* ---- plugins --------------------------------------------------------- */

static const char **resolve_path_list(struct mortise_config_reader *r,
                                      const struct mortise_yaml *list)
{
    const char **dirs = mortise_config_alloc(r, list->n * sizeof *dirs);

    for (size_t i = 0; dirs != NULL && i < list->n; i++)
        dirs[i] = mortise_config_path(r, list->items[i]);
    return dirs;
}

static void read_plugin_dirs(void *ctx, void *into,
                             const struct mortise_slot *slot)
{
    struct mortise_deployment *d = into;

    d->plugin_dirs = resolve_path_list(ctx, slot->value);
    d->n_plugin_dirs = slot->value->n;
}

/* A directory cannot be in both lists: `path` refuses its unsigned plugins, and
 * a plugin found there would hide the one in `dev`. */
static void check_dev_dir(const struct mortise_deployment *d, const char *dir,
                          const struct mortise_yaml *at,
                          struct mortise_diags *diags)
{
    struct mortise_diag *twice = NULL;

    for (size_t i = 0; twice == NULL && i < d->n_plugin_dirs; i++)
        if (strcmp(dir, d->plugin_dirs[i]) == 0)
            twice = mortise_diag_add(diags, "E0214", at->span,
                                     "'%s' is also in plugins.path", at->str);
    mortise_diag_help(
        diags, twice,
        "remove the directory from plugins.path or from plugins.dev");
}

static void read_dev_dirs(void *ctx, void *into,
                          const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct mortise_deployment *d = into;

    d->dev_dirs = resolve_path_list(r, slot->value);
    d->n_dev_dirs = slot->value->n;
    for (size_t i = 0; i < slot->value->n && !r->nomem; i++)
        check_dev_dir(d, d->dev_dirs[i], slot->value->items[i], r->diags);
}

static void read_plugin_configs(void *ctx, void *into,
                                const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct mortise_deployment *d = into;
    const struct mortise_yaml *map = slot->value;

    for (size_t i = 0; i < map->n; i++)
        if (map->items[i]->kind != MORTISE_YAML_MAP &&
            !mortise_yaml_is_x_key(map->keys[i]->str))
            mortise_diag_add(r->diags, "E0203", map->items[i]->span,
                             "the config of '%s' must be a mapping, not %s",
                             map->keys[i]->str,
                             mortise_yaml_kind_name(map->items[i]->kind));
    d->config = map;
}

static const struct mortise_word isolations[] = {
    {"in-process", 0, false},
    {"process", 0, true},
    {NULL, 0, false},
};

static void read_plugin_isolation(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    const struct mortise_yaml *map = slot->value;

    (void)into;
    for (size_t i = 0; i < map->n; i++)
        if (!mortise_yaml_is_x_key(map->keys[i]->str))
            mortise_word_find(isolations, "isolation", map->items[i], r->diags);
}

static const struct mortise_key plugins_keys[] = {
    {.name = "path",
     .about =
         "Directories with signed plugins, searched before the bundled ones.",
     .value = MORTISE_V_STRINGS,
     .read = read_plugin_dirs},
    {.name = "dev",
     .about = "Directories where plugins need no signature, searched after "
              "path.",
     .value = MORTISE_V_STRINGS,
     .read = read_dev_dirs},
    {.name = "config",
     .about = "The configuration of each plugin, valid for its config_schema.",
     .value = MORTISE_V_MAP,
     MORTISE_EACH(.value = MORTISE_V_MAP),
     .read = read_plugin_configs},
    {.name = "isolation",
     .about = "Maps plugins to how they run: in-process.",
     .value = MORTISE_V_MAP,
     MORTISE_EACH(.value = MORTISE_V_WORD, .words = isolations),
     .read = read_plugin_isolation},
    {.name = "require", .later = true},
};
MORTISE_PLACE(plugins, "plugins");

/* ---- trust and store ------------------------------------------------- */

/* Reads into the field of the row. */
static void read_deployment_path(void *ctx, void *into,
                                 const struct mortise_slot *slot)
{
    (void)into;
    *(const char **)slot->field = mortise_config_path(ctx, slot->value);
}

static const struct mortise_key trust_keys[] = {
    {.name = "dir",
     .about = "A directory of trust files, in addition to the one with the "
              "bundled key.",
     .value = MORTISE_V_STRING,
     .read = read_deployment_path,
     MORTISE_AT(const char *, struct mortise_deployment, trust_dir)},
};
MORTISE_PLACE(trust, "trust");

/* A plain number, because the key's name contains the unit. */
static const struct mortise_key batch_keys[] = {
    {.name = "max_ms",
     .about = "The longest time in milliseconds until a step is on disk.",
     .min = 1,
     .max = 60000,
     MORTISE_INTO_U64(struct mortise_deployment, max_ms)},
};
MORTISE_PLACE(batch, "batch");

static void read_batch_durability(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct mortise_deployment *d = into;

    d->durability = MORTISE_BATCH;
    mortise_keys_read_slot(slot, r, d, r->diags);
}

static const struct mortise_key durability_map_keys[] = {
    {.name = "batch",
     .about = "Sync several steps together, within a time.",
     .value = MORTISE_V_MAP,
     .required = true,
     .place = &batch_place,
     .read = read_batch_durability},
};

static const struct mortise_place durability_place = {
    MORTISE_PLACE_OF("durability", durability_map_keys)};

static const struct mortise_word durabilities[] = {
    {.word = "sync", .value = MORTISE_SYNC},
    {.word = "batch", .value = MORTISE_BATCH},
    {.word = "exit", .value = MORTISE_EXIT},
    {.word = NULL}};

static const struct mortise_key durability_forms[] = {
    {.value = MORTISE_V_WORD, .words = durabilities},
    {.value = MORTISE_V_MAP, .place = &durability_place},
};

static void read_store_durability(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct mortise_deployment *d = into;
    const struct mortise_word *word;

    if (slot->value->kind == MORTISE_YAML_MAP) {
        mortise_keys_read(&durability_place, slot->value, slot->name->span, r,
                          d, r->diags);
        return;
    }
    word = mortise_word_find(durabilities, "durability", slot->value, r->diags);
    if (word != NULL)
        d->durability = (enum mortise_durability)word->value;
}

static void read_retention_finished(void *ctx, void *into,
                                    const struct mortise_slot *slot)
{
    struct mortise_deployment *d = into;

    (void)ctx;
    d->finished_ms = slot->amount;
    d->finished_said = true;
}

/* A run is defined by all its checkpoints, so none of them can be removed while
 * the run remains: keep_last needs snapshots. */
static const struct mortise_key retention_keys[] = {
    {.name = "finished",
     .about = "Remove a run this long after its end (default: 30d; 0s: never).",
     .value = MORTISE_V_DURATION,
     .read = read_retention_finished},
    {.name = "keep_last", .later = true},
    {.name = "max_db", .later = true},
};
MORTISE_PLACE(retention, "retention");

static void read_access_group(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct mortise_deployment *d = into;
    struct mortise_err why;
    int rv;

    d->access_group = slot->value->str;
    rv = mortise_group_find_shareable(r->arena->mem, d->access_group,
                                      &d->access_gid, &why);
    r->nomem |= rv == MORTISE_ENOMEM;
    if (rv == MORTISE_OK)
        d->access = &d->access_gid;
    else if (rv != MORTISE_ENOMEM)
        mortise_diag_add(r->diags, "E0515", slot->value->span, "%s", why.msg);
}

static const struct mortise_key access_keys[] = {
    {.name = "group",
     .about = "A group whose members can use the store's socket, each as their "
              "own user.",
     .value = MORTISE_V_STRING,
     .required = true,
     .read = read_access_group},
};
MORTISE_PLACE(access, "access");

static const struct mortise_key store_keys[] = {
    {.name = "path",
     .about = "The directory that holds the runs.",
     .value = MORTISE_V_STRING,
     .read = read_deployment_path,
     MORTISE_AT(const char *, struct mortise_deployment, store_path)},
    {.name = "durability",
     .about = "When a step is emitted: sync (once it is on disk, the default), "
              "batch or exit.",
     MORTISE_FORMS(durability_forms),
     .read = read_store_durability},
    {.name = "cache",
     .about = "The size of the cache for nodes with cache: true (default: "
              "64MiB); 0B: no cache.",
     MORTISE_INTO_SIZE(struct mortise_deployment, cache_bytes)},
    {.name = "retention",
     .about = "Rules for the removal of ended runs.",
     MORTISE_INTO_SAME(retention_place)},
    {.name = "access",
     .about = "Users besides the owner who can use the store; they use only "
              "its socket.",
     MORTISE_INTO_SAME(access_place)},
};
MORTISE_PLACE(store, "store");

/* ---- the top level --------------------------------------------------- */

static void read_deployment_metadata(void *ctx, void *into,
                                     const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    struct mortise_deployment *d = into;
    struct mortise_metadata m;

    mortise_metadata_read(&m, slot, r->diags);
    d->name = m.name;
}

static const struct mortise_word kinds[] = {{.word = "Deployment"},
                                            {.word = NULL}};

static void read_secret_providers(void *ctx, void *into,
                                  const struct mortise_slot *slot)
{
    struct mortise_deployment *d = into;

    mortise_providers_read(&d->secrets, slot->value, ctx);
}

static void read_guardrail_ids(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_deployment *d = into;

    mortise_guards_read(&d->guards, slot->value, ctx);
}

/* Reads PLUGIN/OPERATION into the field of the row. */
static void read_executor_operation(void *ctx, void *into,
                                    const struct mortise_slot *slot)
{
    struct mortise_config_reader *r = ctx;
    const char *s = slot->value->str, *slash = strchr(s, '/');

    (void)into;
    if (slash == NULL || slash == s || slash[1] == '\0' ||
        strchr(slash + 1, '/') != NULL)
        mortise_diag_add(
            r->diags, "E0505", slot->value->span,
            "'%s' is not a valid operation: write PLUGIN/OPERATION", s);
    else
        *(const char **)slot->field = s;
}

static const struct mortise_key executors_keys[] = {
    {.name = "gmi",
     .about = "The operation that gmi nodes run (default: agent/gmi).",
     .value = MORTISE_V_STRING,
     .read = read_executor_operation,
     MORTISE_AT(const char *, struct mortise_executors, gmi)},
    {.name = "leaf",
     .about = "The operation that leaf nodes run (default: agent/leaf).",
     .value = MORTISE_V_STRING,
     .read = read_executor_operation,
     MORTISE_AT(const char *, struct mortise_executors, leaf)},
    {.name = "voice",
     .about = "The operation that voice nodes run (default: voice/run).",
     .value = MORTISE_V_STRING,
     .read = read_executor_operation,
     MORTISE_AT(const char *, struct mortise_executors, voice)},
};
MORTISE_PLACE(executors, "executors");

const char *mortise_deployment_get_executor(const struct mortise_deployment *d,
                                            const char *type)
{
    const struct mortise_key *k = executors_keys;
    const struct mortise_key *end =
        k + sizeof executors_keys / sizeof *executors_keys;

    while (k < end && strcmp(k->name, type) != 0)
        k++;
    return k < end ? *(const char *const *)((const char *)&d->executors + k->at)
                   : NULL;
}

static void read_model_aliases(void *ctx, void *into,
                               const struct mortise_slot *slot)
{
    struct mortise_deployment *d = into;

    mortise_models_read(&d->models, slot->value, ctx);
}

static void read_program_list(void *ctx, void *into,
                              const struct mortise_slot *slot)
{
    struct mortise_deployment *d = into;

    mortise_programs_read(&d->programs, slot->value, ctx);
}

static const struct mortise_key keys[] = {
    MORTISE_HEADER_KEYS(kinds),
    {.name = "metadata",
     .about = "The name of the deployment.",
     .value = MORTISE_V_MAP,
     .required = true,
     .place = &mortise_metadata_place,
     .read = read_deployment_metadata},
    {.name = "plugins",
     .about = "The directories of plugins, and the configuration of plugins.",
     MORTISE_INTO_SAME(plugins_place)},
    {.name = "trust",
     .about = "The keys whose plugins can run.",
     MORTISE_INTO_SAME(trust_place)},
    {.name = "store",
     .about = "The directory of the runs, and how they are stored.",
     MORTISE_INTO_SAME(store_place)},
    {.name = "models",
     .about = "Maps aliases of models to a provider and its settings.",
     .value = MORTISE_V_MAP,
     MORTISE_EACH(.value = MORTISE_V_MAP, .place = &mortise_model_place),
     .read = read_model_aliases},
    {.name = "programs",
     .about =
         "Maps names of programs that plugins can run to their permissions.",
     .value = MORTISE_V_MAP,
     MORTISE_EACH(.value = MORTISE_V_MAP, .place = &mortise_program_place),
     .read = read_program_list},
    {.name = "secrets",
     .about = "Maps names of secrets to their sources.",
     .value = MORTISE_V_MAP,
     MORTISE_EACH(.value = MORTISE_V_MAP, .place = &mortise_provider_place),
     .read = read_secret_providers},
    {.name = "tools",
     .about = "Rules for the operations that graphs can call.",
     MORTISE_INTO_PLACE(mortise_tools_place, struct mortise_deployment, tools)},
    {.name = "guardrails",
     .about = "Maps ids of guardrails to a plugin and its configuration.",
     .value = MORTISE_V_MAP,
     MORTISE_EACH(.value = MORTISE_V_MAP, .place = &mortise_guard_place),
     .read = read_guardrail_ids},
    {.name = "memory",
     .about = "The plugin that stores memory traces, for all runs.",
     MORTISE_INTO_PLACE(mortise_memory_place, struct mortise_deployment,
                        memory)},
    {.name = "discovery",
     .about = "The plugins that find nodes and tools for a query.",
     MORTISE_INTO_PLACE(mortise_discoverers_place, struct mortise_deployment,
                        discovery)},
    {.name = "executors",
     .about = "Maps types of nodes to the operations that they run.",
     MORTISE_INTO_PLACE(executors_place, struct mortise_deployment, executors)},
    {.name = "limits",
     .about = "Default limits of graphs; they are also the highest limits that "
              "a graph can set.",
     MORTISE_INTO_PLACE(mortise_limits_place, struct mortise_deployment,
                        limits)},
};

const struct mortise_place mortise_deployment_place = {
    MORTISE_PLACE_OF("a deployment", keys)};

/* ---- the whole file -------------------------------------------------- */

/* The configuration of the MCP plugin is made from tools.mcp only. */
static void check_mcp_plugin_config(const struct mortise_deployment *d,
                                    struct mortise_diags *diags)
{
    const struct mortise_yaml *key =
        mortise_yaml_key(d->config, mortise_mcp_plugin);

    if (key != NULL)
        mortise_diag_help(
            diags,
            mortise_diag_add(diags, "E0611", key->span,
                             "plugins.config cannot have a config of plugin "
                             "'%s': Mortise takes it from tools.mcp",
                             mortise_mcp_plugin),
            "remove this config, and list the servers under tools.mcp");
}

static int read_deployment_lock(struct mortise_deployment *d,
                                struct mortise_diags *diags)
{
    char path[PATH_MAX];
    struct mortise_err err;
    int rv = mortise_lock_path(path, d->path, &err);

    if (rv != MORTISE_OK)
        return MORTISE_OK; /* no lock file can exist */
    rv = mortise_lock_read(&d->lock, &d->arena, path, diags);
    return rv == MORTISE_OK ? mortise_tool_pins_make(&d->tool_pins, &d->arena,
                                                     &d->tools.mcp, &d->lock)
                            : rv;
}

bool mortise_deployment_has_bad_secrets(const struct mortise_deployment *d)
{
    return d->broken && d->secrets.n == 0 &&
           mortise_keys_has_key(&mortise_deployment_place, d->tree, "secrets");
}

/* Has the file a key (or a misspelling of one) for directories of plugins or
 * keys that could not be read? */
static bool has_unread_dirs(const struct mortise_deployment *d)
{
    const struct mortise_yaml *plugins = mortise_yaml_get(d->tree, "plugins");

    if (d->trust_dir == NULL &&
        mortise_keys_has_key(&mortise_deployment_place, d->tree, "trust"))
        return true;
    if (plugins == NULL || plugins->kind != MORTISE_YAML_MAP)
        return mortise_keys_has_key(&mortise_deployment_place, d->tree,
                                    "plugins");
    return (d->n_plugin_dirs == 0 &&
            mortise_keys_has_key(&plugins_place, plugins, "path")) ||
           (d->n_dev_dirs == 0 &&
            mortise_keys_has_key(&plugins_place, plugins, "dev"));
}

static int read_deployment_file(struct mortise_deployment *d, const char *path,
                                bool resolve, struct mortise_diags *diags)
{
    struct mortise_config_reader r = {.arena = &d->arena, .diags = diags};
    size_t errors = diags->n_errors;
    struct mortise_yaml *root;
    int rv = mortise_yaml_read(&root, r.arena, path, diags);

    if (root == NULL)
        return rv;
    rv = MORTISE_OK;
    d->path = root->span.file->path;
    d->models.path = d->path;
    if (mortise_header_check(root, "Deployment", diags)) {
        d->written = root;
        d->unresolved = !resolve;
        d->tree = root = mortise_expand_tree(r.arena, root, resolve, diags);
        if (root == NULL)
            return MORTISE_ENOMEM;
        mortise_keys_read(&mortise_deployment_place, root, root->span, &r, d,
                          diags);
        mortise_mcp_check(&d->tools.mcp, &d->secrets, &d->models, diags);
        check_mcp_plugin_config(d, diags);
        if (!r.nomem)
            mortise_own_files_check(d, diags);
        rv = read_deployment_lock(d, diags);
        d->broken = diags->n_errors > errors;
        d->dirs_in_doubt = d->broken && has_unread_dirs(d);
    }
    if (r.nomem || diags->failed || rv == MORTISE_ENOMEM)
        return MORTISE_ENOMEM;
    return diags->n_errors > errors ? MORTISE_ECHECK : MORTISE_OK;
}

const char *mortise_deployment_get_store(const struct mortise_deployment *d)
{
    return d->store_path != NULL ? d->store_path : "./.mortise";
}

static int look_at_deployment(struct mortise_deployment **out,
                              const struct mortise_mem *mem, const char *path,
                              bool resolve, struct mortise_diags *diags)
{
    int rv = mortise_deployment_default(out, mem);

    if (rv == MORTISE_OK)
        rv = read_deployment_file(*out, path, resolve, diags);
    if (rv == MORTISE_OK || (rv == MORTISE_ECHECK && (*out)->tree != NULL))
        return rv;
    mortise_deployment_free(*out);
    *out = NULL;
    return rv;
}

int mortise_deployment_read_partly(struct mortise_deployment **out,
                                   const struct mortise_mem *mem,
                                   const char *path,
                                   struct mortise_diags *diags)
{
    return look_at_deployment(out, mem, path, true, diags);
}

int mortise_deployment_read_unresolved(struct mortise_deployment **out,
                                       const struct mortise_mem *mem,
                                       const char *path,
                                       struct mortise_diags *diags)
{
    return look_at_deployment(out, mem, path, false, diags);
}

int mortise_deployment_read(struct mortise_deployment **out,
                            const struct mortise_mem *mem, const char *path,
                            struct mortise_diags *diags)
{
    int rv = mortise_deployment_read_partly(out, mem, path, diags);

    if (rv == MORTISE_OK)
        return rv;
    mortise_deployment_free(*out);
    *out = NULL;
    return rv;
}

int mortise_deployment_default(struct mortise_deployment **out,
                               const struct mortise_mem *mem)
{
    struct mortise_deployment *d = mortise_zalloc(mem, sizeof *d);

    *out = d;
    if (d == NULL)
        return MORTISE_ENOMEM;
    mortise_arena_init(&d->arena, mem);
    d->max_ms = BATCH_MS;
    d->cache_bytes = CACHE_BYTES;
    d->finished_ms = finished_ms;
    d->tool_pins.plugin = mortise_mcp_plugin;
    return MORTISE_OK;
}

void mortise_deployment_free(struct mortise_deployment *d)
{
    struct mortise_arena arena;

    if (d == NULL)
        return;
    arena = d->arena;
    mortise_release(arena.mem, d, sizeof *d);
    mortise_arena_finish(&arena);
}

/* Find the configuration of an instance: *config, a map or NULL. False: the
 * name is no instance, but the plugin itself. */
static bool find_instance_config(const struct mortise_deployment *d,
                                 const char *as,
                                 const struct mortise_yaml **config)
{
    const struct mortise_guard *g = mortise_guard_find(&d->guards, as);
    const struct mortise_model_alias *m =
        mortise_model_find_instance(&d->models, as);
    const struct mortise_discoverer *f =
        mortise_discoverer_find(&d->discovery, as);
    bool memory = strcmp(as, MORTISE_MEMORY_INSTANCE) == 0;

    *config = memory      ? d->memory.config
              : g != NULL ? g->config
              : m != NULL ? m->config
              : f != NULL ? f->config
                          : NULL;
    return memory || g != NULL || m != NULL || f != NULL;
}

bool mortise_deployment_is_config_made(const struct mortise_deployment *d,
                                       const char *plugin, const char *as)
{
    const struct mortise_yaml *config;

    return strcmp(plugin, mortise_mcp_plugin) == 0 &&
           !find_instance_config(d, as, &config);
}

/* Adds the plugin's pins from the lock file; takes the reference of
 * `config`. */
static json_t *add_config_pins(const struct mortise_deployment *d,
                               const char *plugin, json_t *config)
{
    const struct mortise_yaml *pins = mortise_lock_discovery(&d->lock, plugin);

    if (pins == NULL || config == NULL ||
        json_object_set_new(config, "pins",
                            mortise_yaml_to_json(pins, false)) == 0)
        return config;
    json_decref(config);
    return NULL;
}

json_t *mortise_deployment_get_config(const struct mortise_deployment *d,
                                      const char *plugin, const char *as)
{
    const struct mortise_yaml *config;

    if (mortise_deployment_is_config_made(d, plugin, as))
        return mortise_mcp_make_config(&d->tools.mcp, &d->lock);
    if (!find_instance_config(d, as, &config))
        config = mortise_yaml_get(d->config, plugin);
    return add_config_pins(d, plugin,
                           config != NULL ? mortise_yaml_to_json(config, false)
                                          : json_object());
}

/* The rest of the name after the prefix; NULL: it has another prefix. */
static const char *get_text_after_prefix(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);

    return strncmp(name, prefix, n) == 0 ? name + n : NULL;
}

const char *mortise_deployment_find_plugin(const struct mortise_deployment *d,
                                           const char *name, const char **pin)
{
    static const char discovery[] = MORTISE_DISCOVERY_PREFIX;
    const struct mortise_discoverer *f =
        mortise_discoverer_find(&d->discovery, name);

    if (pin != NULL)
        *pin = name;
    if (strcmp(name, MORTISE_MEMORY_INSTANCE) == 0)
        return d->memory.plugin != NULL ? d->memory.plugin : name;
    if (get_text_after_prefix(name, MORTISE_TOOL_PIN_PREFIX) != NULL)
        return d->tool_pins.plugin;
    if (f != NULL)
        return f->plugin;
    return strncmp(name, discovery, sizeof discovery - 1) == 0
               ? name + sizeof discovery - 1
               : mortise_guard_find_plugin(&d->guards, name, pin);
}

static int fail_with_missing_part(const struct mortise_deployment *d,
                                  struct mortise_err *why, const char *what,
                                  const char *which, const char *how)
{
    return mortise_fail(
        why, MORTISE_ENOTFOUND,
        "the deployment%s%s no longer has %s%s%s; add it again: `%s`",
        d->path != NULL ? " " : "", d->path != NULL ? d->path : "", what,
        which[0] != '\0' ? " " : "", which, how);
}

/* SERVER/TOOL from the name of a pinned definition; NULL: it is no such
 * name. */
static const char *get_pinned_operation(const char *name)
{
    const char *tool = get_text_after_prefix(name, MORTISE_TOOL_PIN_PREFIX),
               *slash = tool != NULL ? strchr(tool, '/') : NULL;

    return slash != NULL ? slash + 1 : NULL;
}

bool mortise_deployment_is_tool(const struct mortise_deployment *d,
                                const char *name, const char **digest)
{
    const char *operation = get_pinned_operation(name);
    const struct mortise_tool_pin *pin =
        operation != NULL ? mortise_tool_pin_find(&d->tool_pins, operation)
                          : NULL;

    *digest = pin != NULL ? pin->tool->digest : NULL;
    return operation != NULL;
}

bool mortise_deployment_is_part_missing(const struct mortise_deployment *d,
                                        const char *name,
                                        struct mortise_err *why)
{
    const char *place = get_text_after_prefix(name, MORTISE_DISCOVERY_PREFIX),
               *id = get_text_after_prefix(name, "guardrail:");
    const char *digest;
    const struct mortise_yaml *config;

    if (mortise_deployment_is_tool(d, name, &digest)) {
        if (digest == NULL)
            mortise_tool_pin_report_missing(&d->tool_pins, &d->tools.mcp,
                                            get_pinned_operation(name), why);
        return digest == NULL;
    }
    if (find_instance_config(d, id != NULL ? id : name, &config) &&
        (strcmp(name, MORTISE_MEMORY_INSTANCE) != 0 ||
         d->memory.plugin != NULL))
        return false;
    if (strcmp(name, MORTISE_MEMORY_INSTANCE) == 0)
        fail_with_missing_part(d, why, "`memory`", "",
                               "memory: {plugin: NAME}");
    else if (id != NULL)
        fail_with_missing_part(d, why, "guardrail", id,
                               "guardrails: {ID: {plugin: NAME}}");
    else if (place != NULL && place[strspn(place, "0123456789")] == '\0')
        fail_with_missing_part(
            d, why, "a discovery plugin with a config at index", place,
            "discovery: {plugins: [{plugin: NAME, config: ...}]}");
    else
        return false;
    return true;
}

size_t mortise_deployment_list_tool_pins(const struct mortise_deployment *d,
                                         const char *plugin,
                                         const struct mortise_tool_pin **list)
{
    bool its = strcmp(plugin, d->tool_pins.plugin) == 0;

    *list = its ? d->tool_pins.list : NULL;
    return its ? d->tool_pins.n : 0;
}

const struct mortise_tool_pin *
mortise_deployment_find_tool_pin(const struct mortise_deployment *d,
                                 const char *plugin, const char *operation)
{
    return strcmp(plugin, d->tool_pins.plugin) == 0
               ? mortise_tool_pin_find(&d->tool_pins, operation)
               : NULL;
}
