/* settings.c -- where things are.
 *
 * The bundled plugins and the trust in them belong together: one directory,
 * the home, has both (`plugins` and `trust.d`), or it is none.  It is looked
 * for around the object that this code is in, the program's own file or
 * libmortise.so, wherever that was moved to:
 *
 *     OBJECT-DIR              a tree that was just built
 *     OBJECT-DIR/mortise      LIBDIR, for the shared library
 *     OBJECT-DIR/../lib/mortise   BINDIR/../lib, for a program
 *
 * and then where it was to be installed, MORTISE_LIBDIR.
 *
 * Settings that are open may be used: whose their files are, and whether
 * somebody said what has to be said, was asked (guarded.h).
 */
#include "config/settings.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "config/guarded.h"

#ifndef MORTISE_LIBDIR
#define MORTISE_LIBDIR "/usr/local/lib/mortise"
#endif

enum { HOME_MAX = PATH_MAX + 32 }; /* room for the longest addition */

/* The directory of the object that this code is in; false when it cannot be
 * told.  The program itself has no name in the link map, and argv[0], which
 * dladdr would give, is whatever its caller liked. */
static bool own_dir(char out[PATH_MAX])
{
    static const char here;
    const char *file = "/proc/self/exe";
    struct link_map *map = NULL;
    Dl_info info;
    char *slash;

    if (dladdr1(&here, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 &&
        map->l_name[0] != '\0')
        file = map->l_name;
    if (realpath(file, out) == NULL)
        return false;
    slash = strrchr(out, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

static bool has_dir(const char *in, const char *name)
{
    char path[HOME_MAX + 16];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", in, name);
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void find_home(char home[HOME_MAX])
{
    static const char *const around[] = {"", "/mortise", "/../lib/mortise"};
    char own[PATH_MAX];
    size_t n = own_dir(own) ? sizeof around / sizeof *around : 0;

    for (size_t i = 0; i < n; i++) {
        snprintf(home, HOME_MAX, "%s%s", own, around[i]);
        if (has_dir(home, "plugins") && has_dir(home, "trust.d"))
            return;
    }
    snprintf(home, HOME_MAX, "%s", MORTISE_LIBDIR);
}

/* HOME/name, in the arena. */
static const char *below(struct mortise_settings *s, const char *home,
                         const char *name)
{
    char path[HOME_MAX + 16];

    snprintf(path, sizeof path, "%s/%s", home, name);
    return mortise_arena_strdup(&s->arena, path);
}

static int find_dirs(struct mortise_settings *s, struct mortise_err *err)
{
    const struct mortise_deployment *d = s->deployment;
    const char *plugins, *trust;
    char home[HOME_MAX];

    find_home(home);
    plugins = below(s, home, "plugins");
    trust = below(s, home, "trust.d");
    s->worker = below(s, home, "mortise-worker");
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

int mortise_settings_open(struct mortise_settings *s,
                          const struct mortise_mem *mem, const char *path,
                          const char *store, unsigned how,
                          struct mortise_diags *diags, struct mortise_err *err)
{
    int rv;

    *s = (struct mortise_settings){.n_trust_dirs = 0};
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
            store = mortise_deployment_store(s->deployment);
        s->store = mortise_arena_strdup(&s->arena, store);
        if (s->store == NULL)
            rv = mortise_nomem(err);
    }
    if (rv == MORTISE_OK)
        rv = mortise_guarded_check(s, how, diags, err);
    if (rv != MORTISE_OK)
        mortise_settings_close(s);
    return rv;
}

unsigned mortise_settings_how(uint32_t flags)
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
