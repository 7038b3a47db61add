/* home.c -- where that lies which was made or installed with this code.
 *
 * It is looked for around the object that this code is in, the program's own file
 * or libmortise.so, wherever that was moved to.  The bundled plugins and the trust
 * in them belong together: one directory, the home, has both (`plugins` and
 * `trust.d`), or it is none:
 *
 *     OBJECT-DIR              a tree that was just built
 *     OBJECT-DIR/mortise      LIBDIR, for the shared library
 *     OBJECT-DIR/../lib/mortise   BINDIR/../lib, for a program
 *
 * and then where it was to be installed, MORTISE_LIBDIR.  Data that no code is
 * made of:
 *
 *     OBJECT-DIR                    a tree that was just built
 *     OBJECT-DIR/../share/mortise   an installation
 *
 * and then MORTISE_DATADIR.
 */
#include "lang/config/home.h"

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#ifndef MORTISE_LIBDIR
#define MORTISE_LIBDIR "/usr/local/lib/mortise"
#endif
#ifndef MORTISE_DATADIR
#define MORTISE_DATADIR "/usr/local/share/mortise"
#endif

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
    char path[MORTISE_HOME_MAX + 32];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", in, name);
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

void mortise_home(char home[MORTISE_HOME_MAX])
{
    static const char *const around[] = {"", "/mortise", "/../lib/mortise"};
    char own[PATH_MAX];
    size_t n = own_dir(own) ? sizeof around / sizeof *around : 0;

    for (size_t i = 0; i < n; i++) {
        snprintf(home, MORTISE_HOME_MAX, "%s%s", own, around[i]);
        if (has_dir(home, "plugins") && has_dir(home, "trust.d"))
            return;
    }
    snprintf(home, MORTISE_HOME_MAX, "%s", MORTISE_LIBDIR);
}

void mortise_home_data(char dir[MORTISE_HOME_MAX], const char *name)
{
    static const char *const around[] = {"", "/../share/mortise"};
    char own[PATH_MAX];
    size_t n = own_dir(own) ? sizeof around / sizeof *around : 0;

    for (size_t i = 0; i < n; i++) {
        snprintf(dir, MORTISE_HOME_MAX, "%s%s", own, around[i]);
        if (has_dir(dir, name)) {
            snprintf(dir, MORTISE_HOME_MAX, "%s%s/%s", own, around[i], name);
            return;
        }
    }
    snprintf(dir, MORTISE_HOME_MAX, "%s/%s", MORTISE_DATADIR, name);
}
