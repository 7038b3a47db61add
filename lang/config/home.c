/* home.c -- the directories of files that were built or installed with this
 * code.
 *
 * The search starts at the object file of this code, which is the program or
 * libmortise.so, wherever it was moved.  The bundled plugins and their trust
 * belong together: the home is one directory with both (`plugins` and
 * `trust.d`).  The first of these that has both:
 *
 *     OBJECT-DIR                  a build tree
 *     OBJECT-DIR/mortise          LIBDIR, for the shared library
 *     OBJECT-DIR/../lib/mortise   BINDIR/../lib, for a program
 *
 * otherwise MORTISE_LIBDIR, the configured directory.  For data files, the
 * first of these:
 *
 *     OBJECT-DIR                    a build tree
 *     OBJECT-DIR/../share/mortise   an installation
 *
 * otherwise MORTISE_DATADIR.
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

/* The directory of this code's object file; false: unknown.  The program itself
 * has no name in the link map, and dladdr would return argv[0], which the
 * caller controls. */
static bool get_object_directory(char out[PATH_MAX])
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

static bool has_subdirectory(const char *in, const char *name)
{
    char path[MORTISE_HOME_MAX + 32];
    struct stat st;

    snprintf(path, sizeof path, "%s/%s", in, name);
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

void mortise_home_get_dir(char home[MORTISE_HOME_MAX])
{
    static const char *const around[] = {"", "/mortise", "/../lib/mortise"};
    char own[PATH_MAX];
    size_t n = get_object_directory(own) ? sizeof around / sizeof *around : 0;

    for (size_t i = 0; i < n; i++) {
        snprintf(home, MORTISE_HOME_MAX, "%s%s", own, around[i]);
        if (has_subdirectory(home, "plugins") &&
            has_subdirectory(home, "trust.d"))
            return;
    }
    snprintf(home, MORTISE_HOME_MAX, "%s", MORTISE_LIBDIR);
}

void mortise_home_get_data_dir(char dir[MORTISE_HOME_MAX], const char *name)
{
    static const char *const around[] = {"", "/../share/mortise"};
    char own[PATH_MAX];
    size_t n = get_object_directory(own) ? sizeof around / sizeof *around : 0;

    for (size_t i = 0; i < n; i++) {
        snprintf(dir, MORTISE_HOME_MAX, "%s%s", own, around[i]);
        if (has_subdirectory(dir, name)) {
            snprintf(dir, MORTISE_HOME_MAX, "%s%s/%s", own, around[i], name);
            return;
        }
    }
    snprintf(dir, MORTISE_HOME_MAX, "%s/%s", MORTISE_DATADIR, name);
}
