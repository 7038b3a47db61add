/* site.c -- where things are. */
#include "engine/site.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MORTISE_LIBDIR
#define MORTISE_LIBDIR "/usr/local/lib/mortise"
#endif

/* The directory of the running program; false when it cannot be told. */
static bool own_dir(char out[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    char *slash;

    if (n <= 0)
        return false;
    out[n] = '\0';
    slash = strrchr(out, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

/* "plugins" or "trust.d", wherever the bundled one is; in the arena. */
static const char *bundled(struct mortise_site *s, const char *name)
{
    char own[PATH_MAX], path[PATH_MAX + 16];
    struct stat st;

    if (own_dir(own)) {
        snprintf(path, sizeof path, "%s/%s", own, name);
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
            return mortise_arena_strdup(&s->arena, path);
    }
    snprintf(path, sizeof path, "%s/%s", MORTISE_LIBDIR, name);
    return mortise_arena_strdup(&s->arena, path);
}

static int find_dirs(struct mortise_site *s, struct mortise_err *err)
{
    const struct mortise_deployment *d = s->deployment;
    const char *plugins = bundled(s, "plugins"), *trust = bundled(s, "trust.d");

    s->plugin_dirs = mortise_arena_alloc(&s->arena, (d->n_plugin_dirs + 1) *
                                                        sizeof *s->plugin_dirs);
    if (plugins == NULL || trust == NULL || s->plugin_dirs == NULL)
        return mortise_nomem(err);
    for (size_t i = 0; i < d->n_plugin_dirs; i++)
        s->plugin_dirs[s->n_plugin_dirs++] = d->plugin_dirs[i];
    s->plugin_dirs[s->n_plugin_dirs++] = plugins;
    if (d->trust_dir != NULL)
        s->trust_dirs[s->n_trust_dirs++] = d->trust_dir;
    s->trust_dirs[s->n_trust_dirs++] = trust;
    return MORTISE_OK;
}

int mortise_site_open(struct mortise_site *s, const struct mortise_mem *mem,
                      const char *path, const char *store,
                      struct mortise_diags *diags, struct mortise_err *err)
{
    int rv;

    *s = (struct mortise_site){.n_trust_dirs = 0};
    mortise_arena_init(&s->arena, mem);
    rv = path != NULL
             ? mortise_deployment_read(&s->deployment, mem, path, diags)
             : mortise_deployment_default(&s->deployment, mem);
    if (rv == MORTISE_ENOMEM)
        mortise_nomem(err);
    else if (rv != MORTISE_OK)
        rv = mortise_fail(err, MORTISE_ECHECK, "%s has errors",
                          path != NULL ? path : "the deployment");
    if (rv == MORTISE_OK)
        rv = find_dirs(s, err);
    if (rv == MORTISE_OK) {
        if (store == NULL)
            store = s->deployment->store_path;
        s->store = mortise_arena_strdup(&s->arena,
                                        store != NULL ? store : "./.mortise");
        if (s->store == NULL)
            rv = mortise_nomem(err);
    }
    if (rv != MORTISE_OK)
        mortise_site_close(s);
    return rv;
}

void mortise_site_close(struct mortise_site *s)
{
    mortise_deployment_free(s->deployment);
    if (s->arena.mem != NULL)
        mortise_arena_finish(&s->arena);
    *s = (struct mortise_site){.n_trust_dirs = 0};
}
