/* settings.c -- the paths of a deployment, and those of bundled files (home.h).
 *
 * Settings that are open were checked: the owners of their files, and the
 * user's permission (guarded.h).
 */
#include "lang/config/settings.h"

#include <stdio.h>

#include "lang/config/guarded.h"
#include "lang/config/home.h"

/* HOME/name, in the arena. */
static const char *make_home_path(struct mortise_settings *s, const char *home,
                                  const char *name)
{
    char path[MORTISE_HOME_MAX + 16];

    snprintf(path, sizeof path, "%s/%s", home, name);
    return mortise_arena_strdup(&s->arena, path);
}

static int find_directories(struct mortise_settings *s, struct mortise_err *err)
{
    const struct mortise_deployment *d = s->deployment;
    const char *plugins, *trust;
    char home[MORTISE_HOME_MAX];

    mortise_home_get_dir(home);
    plugins = make_home_path(s, home, "plugins");
    trust = make_home_path(s, home, "trust.d");
    s->worker = make_home_path(s, home, "mortise-worker");
    s->plugin_dirs =
        mortise_arena_alloc(&s->arena, (d->n_plugin_dirs + d->n_dev_dirs + 1) *
                                           sizeof *s->plugin_dirs);
    if (plugins == NULL || trust == NULL || s->worker == NULL ||
        s->plugin_dirs == NULL)
        return mortise_nomem(err);
    for (size_t i = 0; i < d->n_plugin_dirs; i++)
        s->plugin_dirs[s->n_plugin_dirs++] = d->plugin_dirs[i];
    s->first_dev = s->n_plugin_dirs;
    s->n_dev = d->n_dev_dirs;
    for (size_t i = 0; i < d->n_dev_dirs; i++)
        s->plugin_dirs[s->n_plugin_dirs++] = d->dev_dirs[i];
    s->plugin_dirs[s->n_plugin_dirs++] = plugins;
    if (d->trust_dir != NULL)
        s->trust_dirs[s->n_trust_dirs++] = d->trust_dir;
    s->trust_dirs[s->n_trust_dirs++] = trust;
    return MORTISE_OK;
}

/* For a found deployment without permission: read only the file itself, nothing
 * that it names. */
static int read_unresolved_deployment(struct mortise_settings *s,
                                      const struct mortise_mem *mem,
                                      const char *path, unsigned how,
                                      struct mortise_diags *diags)
{
    struct mortise_diags quiet;
    int rv;

    if ((how & MORTISE_SETTINGS_READ_ONLY) != 0) {
        rv = mortise_deployment_read_unresolved(&s->deployment, mem, path,
                                                diags);
        if (rv != MORTISE_ECHECK || (how & MORTISE_SETTINGS_ALLOW_BROKEN) != 0)
            return rv;
        mortise_deployment_free(s->deployment);
        s->deployment = NULL;
        return rv;
    }
    /* it will be refused, so drop its other findings */
    mortise_diags_init(&quiet, mem);
    rv = mortise_deployment_read_unresolved(&s->deployment, mem, path, &quiet);
    mortise_diags_finish(&quiet);
    return rv == MORTISE_ECHECK && s->deployment != NULL ? MORTISE_OK : rv;
}

static int read_deployment_or_default(struct mortise_settings *s,
                                      const struct mortise_mem *mem,
                                      const char *path, unsigned how,
                                      struct mortise_diags *diags,
                                      struct mortise_err *err)
{
    bool resolve = true;
    int rv = MORTISE_OK;

    if (path == NULL)
        return mortise_deployment_default(&s->deployment, mem);
    if ((how & MORTISE_SETTINGS_FOUND) != 0)
        rv = mortise_guarded_may_resolve(mem, path, &resolve, err);
    if (rv != MORTISE_OK)
        return rv;
    if (!resolve)
        return read_unresolved_deployment(s, mem, path, how, diags);
    return (how & MORTISE_SETTINGS_ALLOW_BROKEN) != 0
               ? mortise_deployment_read_partly(&s->deployment, mem, path,
                                                diags)
               : mortise_deployment_read(&s->deployment, mem, path, diags);
}

static void copy_values(struct mortise_settings *s)
{
    const struct mortise_deployment *d = s->deployment;

    s->file = d->path;
    s->access = s->store_given ? NULL : d->access;
    s->access_group = d->access_group;
    s->durability = d->durability;
    s->max_ms = d->max_ms;
    s->cache_bytes = d->cache_bytes;
    s->finished_ms = d->finished_ms;
    s->secrets = &d->secrets;
    s->memory = d->memory.plugin;
}

/* Get the paths and values of the deployment. */
static int set_from_deployment(struct mortise_settings *s, const char *store,
                               struct mortise_err *err)
{
    int rv = find_directories(s, err);

    if (rv != MORTISE_OK)
        return rv;
    s->store_given = store != NULL;
    copy_values(s);
    if (store == NULL)
        store = mortise_deployment_get_store(s->deployment);
    s->store = mortise_arena_strdup(&s->arena, store);
    return s->store != NULL ? MORTISE_OK : mortise_nomem(err);
}

int mortise_settings_open(struct mortise_settings *s,
                          const struct mortise_mem *mem, const char *path,
                          const char *store, unsigned how,
                          struct mortise_diags *diags, struct mortise_err *err)
{
    int rv, found = MORTISE_ECHECK;

    *s = (struct mortise_settings){.n_trust_dirs = 0};
    mortise_arena_init(&s->arena, mem);
    rv = read_deployment_or_default(s, mem, path, how, diags, err);
    if (rv == MORTISE_ENOMEM)
        mortise_nomem(err);
    else if (rv != MORTISE_OK)
        rv = mortise_fail(err, MORTISE_ECHECK, "%s has errors",
                          path != NULL ? path : "the deployment");
    if (s->deployment != NULL)
        found = set_from_deployment(s, store, err);
    if (rv == MORTISE_ECHECK && found == MORTISE_OK)
        return rv; /* the settings are open */
    if (found == MORTISE_ENOMEM)
        rv = found;
    if (rv == MORTISE_OK)
        rv = mortise_guarded_check(s, how, diags, err);
    if (rv != MORTISE_OK)
        mortise_settings_close(s);
    return rv;
}

unsigned mortise_settings_get_flags(uint32_t flags)
{
    return (flags & MORTISE_OPEN_FOUND) != 0 ? MORTISE_SETTINGS_FOUND : 0;
}

void mortise_settings_close(struct mortise_settings *s)
{
    mortise_deployment_free(s->deployment);
    if (s->arena.mem != NULL)
        mortise_arena_finish(&s->arena);
    *s = (struct mortise_settings){.n_trust_dirs = 0};
}
