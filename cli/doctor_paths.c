/* doctor_paths.c -- `mortise doctor`: do the paths in plugin configs exist?
 *
 * A manifest declares the paths of a config as `config:PATH` in
 * permissions.fs.  If a path is missing, the plugin does not start, or its
 * calls fail.  The directory of a memory is not checked here, because its
 * plugin creates it (doctor_memory.c).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "lang/config/expand.h"
#include "core/plugin/grant.h"
#include "core/plugin/registry.h"

/* Check a path or a list of paths. */
static void check_config_paths(struct mortise_doctor *d,
                               struct mortise_arena *a, const char *plugin,
                               const struct mortise_yaml *v)
{
    const char *path;

    for (size_t i = 0; v->kind == MORTISE_YAML_SEQ && i < v->n; i++)
        check_config_paths(d, a, plugin, v->items[i]);
    if (v->kind != MORTISE_YAML_STRING || v->len == 0)
        return;
    path = mortise_expand_path(a, v);
    if (path != NULL && access(path, F_OK) != 0)
        mortise_doctor_report(
            d, MORTISE_DOCTOR_WARN, "plugin",
            "create the file or directory, or correct the config of the plugin",
            "the config of plugin '%s' (line %u) names the path %s: %s", plugin,
            v->span.line, path, strerror(errno));
}

/* The member of a config at `path` ("stt.directory"), or NULL. */
static const struct mortise_yaml *
get_config_member(const struct mortise_yaml *config, const char *path)
{
    char name[128];

    for (; config != NULL && *path != '\0'; path += *path == '.') {
        size_t n = strcspn(path, ".");

        if (config->kind != MORTISE_YAML_MAP)
            return NULL;
        snprintf(name, sizeof name, "%.*s", (int)n, path);
        config = mortise_yaml_get(config, name);
        path += n;
    }
    return config;
}

static bool contains_name(const struct mortise_names *names, const char *one)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->items[i], one) == 0)
            return true;
    return false;
}

static void check_plugin_paths(struct mortise_doctor *d,
                               struct mortise_arena *a,
                               struct mortise_plugins *plugins,
                               const char *plugin,
                               const struct mortise_yaml *config)
{
    const struct mortise_manifest *m =
        mortise_plugins_find(plugins, plugin, NULL);
    const struct mortise_names *const lists[] = {
        m != NULL ? &m->fs_read : NULL, m != NULL ? &m->fs_write : NULL};

    for (size_t k = 0; m != NULL && config != NULL && k < 2; k++)
        for (size_t i = 0; i < lists[k]->n; i++) {
            const char *path =
                mortise_grant_get_config_path(lists[k]->items[i]);
            const struct mortise_yaml *v =
                path != NULL &&
                        (k == 0 || !contains_name(lists[0], lists[k]->items[i]))
                    ? get_config_member(config, path)
                    : NULL;

            if (v != NULL)
                check_config_paths(d, a, plugin, v);
        }
}

void mortise_doctor_check_paths(struct mortise_doctor *d,
                                const struct mortise_deployment *deployment,
                                struct mortise_plugins *plugins)
{
    const struct mortise_yaml *configs = deployment->config;
    const struct mortise_discoverers *all = &deployment->discovery;
    struct mortise_arena a;

    mortise_arena_init(&a, d->cli->mem);
    for (size_t i = 0; configs != NULL && i < configs->n; i++)
        check_plugin_paths(d, &a, plugins, configs->keys[i]->str,
                           configs->items[i]);
    for (size_t i = 0; i < all->n; i++)
        check_plugin_paths(d, &a, plugins, all->list[i].plugin,
                           all->list[i].config);
    mortise_arena_finish(&a);
}
