/* instance_config.c -- the config that create() of a plugin gets.
 *
 * It is the config of the deployment with these changes: a reference to a secret
 * is replaced by the secret's value, the paths that the plugin may access become
 * absolute, and a memory plugin gets its directory.
 */
#include "core/engine/common/instance_config.h"

#include <string.h>

#include "core/engine/common/engine.h"
#include "core/engine/common/secret_store.h"
#include "core/json/absolute.h"
#include "core/json/path.h"
#include "core/plugin/grant.h"
#include "core/plugin/registry.h"

/* ---- secrets ------------------------------------------------------------- */

struct filling {
    struct mortise_secret_store *secret_store;
    const struct mortise_mem *mem;
    struct mortise_err *err;
};

static int fill_secret_reference(void *ud, const char *pointer, json_t **string)
{
    const struct filling *f = ud;
    const char *name = mortise_secret_get_name(json_string_value(*string));
    char *value;
    int rv;

    (void)pointer;
    if (name == NULL)
        return MORTISE_OK; /* the check of the deployment reported it, or the
                              deployment is older than the plugin */
    rv = mortise_secret_store_get(f->secret_store, name, &value, f->err);
    if (rv != MORTISE_OK)
        return rv;
    *string =
        mortise_secret_substitute(f->mem, json_string_value(*string), value);
    mortise_secret_store_release(f->secret_store, value);
    return *string != NULL ? MORTISE_OK : MORTISE_ENOMEM;
}

/* ---- paths --------------------------------------------------------------- */

/* Make a relative path, or each path of a list, absolute: relative to dir. */
static int make_path_absolute(const char *dir, json_t *value)
{
    const char *text = json_string_value(value);
    json_t *whole;
    int rv = MORTISE_OK;

    MORTISE_JSON_EACH (one, i, value)
        if (rv == MORTISE_OK)
            rv = make_path_absolute(dir, mortise_json_unconst(one));
    if (text == NULL || text[0] == '\0' || text[0] == '/')
        return rv;
    whole = json_sprintf("%s/%s", dir, text);
    if (whole == NULL || json_string_set(value, json_string_value(whole)) != 0)
        rv = MORTISE_ENOMEM;
    json_decref(whole);
    return rv;
}

/* Resolve the paths that a permission takes from the config. */
static int resolve_granted_paths(const char *dir,
                                 const struct mortise_names *permission,
                                 const json_t *config, struct mortise_arena *a)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < permission->n; i++) {
        const char *text = mortise_grant_get_config_path(permission->items[i]);
        struct mortise_path path;
        json_t *value;

        if (text == NULL)
            continue;
        rv = mortise_path_parse(&path, a, text, strlen(text), NULL);
        if (rv != MORTISE_OK) /* granting it reports the error */
            return rv == MORTISE_ENOMEM ? rv : MORTISE_OK;
        value = mortise_path_get(config, &path);
        if (value != NULL)
            rv = make_path_absolute(dir, value);
    }
    return rv;
}

/* Paths that permissions.fs takes from the config are relative to the
 * deployment file, like its other paths.  They are not relative to the working
 * directory, which a plugin may change. */
static int resolve_config_paths(struct mortise *m, const char *plugin,
                                json_t *config, struct mortise_err *err)
{
    const char *file = m->settings.file;
    const struct mortise_manifest *man =
        mortise_plugins_find(m->plugins, plugin, err);
    struct mortise_arena a;
    json_t *whole;
    char *dir;
    int rv;

    if (man == NULL) /* starting the plugin reports the reason */
        return err->code == MORTISE_ELIMIT ? MORTISE_ELIMIT : MORTISE_OK;
    if (file == NULL)
        return MORTISE_OK;
    whole = mortise_json_absolute_path(file);
    mortise_arena_init(&a, m->mem);
    dir = whole != NULL ? mortise_arena_strdup(&a, json_string_value(whole))
                        : NULL;
    json_decref(whole);
    rv = dir != NULL ? MORTISE_OK : MORTISE_ENOMEM;
    if (dir != NULL && strrchr(dir, '/') != NULL)
        *strrchr(dir, '/') = '\0';
    if (rv == MORTISE_OK)
        rv = resolve_granted_paths(dir, &man->fs_write, config, &a);
    if (rv == MORTISE_OK)
        rv = resolve_granted_paths(dir, &man->fs_read, config, &a);
    mortise_arena_finish(&a);
    return rv;
}

/* Set the directory of a memory plugin unless the config has one: a
 * subdirectory of the store, which the plugin creates. */
static int set_memory_directory(const struct mortise *m, const char *plugin,
                                json_t *config)
{
    const struct mortise_manifest *man =
        mortise_plugins_find(m->plugins, plugin, NULL);
    const char *key =
        man != NULL ? man->provides[MORTISE_KIND_MEMORY].directory : NULL;
    json_t *store, *path;
    int rv;

    if (key == NULL || json_object_get(config, key) != NULL)
        return MORTISE_OK;
    store = mortise_json_absolute_path(m->settings.store);
    path = store != NULL
               ? json_sprintf("%s/memory/%s", json_string_value(store), plugin)
               : NULL;
    json_decref(store);
    rv = json_object_set_new(config, key, path);
    return rv == 0 ? MORTISE_OK : MORTISE_ENOMEM;
}

int mortise_secret_make_config(struct mortise *m, const char *plugin,
                               const char *as, json_t **out,
                               struct mortise_err *err)
{
    struct filling f = {m->secret_store, m->mem, err};
    json_t *config =
        mortise_deployment_get_config(m->settings.deployment, plugin, as);
    bool composed =
        mortise_deployment_is_config_made(m->settings.deployment, plugin, as);
    int rv = config == NULL ? MORTISE_ENOMEM
             : composed     ? MORTISE_OK
                            : mortise_secret_for_each(config, m->mem,
                                                      fill_secret_reference, &f);

    *out = NULL;
    if (rv == MORTISE_OK)
        rv = resolve_config_paths(m, plugin, config, err);
    if (rv == MORTISE_OK && strcmp(as, MORTISE_MEMORY_INSTANCE) == 0)
        rv = set_memory_directory(m, plugin, config);
    if (rv == MORTISE_OK)
        *out = config;
    else
        json_decref(config);
    return rv == MORTISE_ENOMEM ? mortise_nomem(err) : rv;
}
