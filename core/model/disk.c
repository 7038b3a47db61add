/* disk.c -- loading the graph files that a graph refers to from disk.
 *
 * A graph may come from an untrusted author, so this accepts only a regular
 * file of limited size.
 */
#include "core/model/disk.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/infile.h"

/* The path relative to `cwd`; false: too long. */
static bool make_disk_path(const char *cwd, const char *path,
                           char out[PATH_MAX])
{
    if (path[0] == '/' || cwd == NULL)
        return snprintf(out, PATH_MAX, "%s", path) < PATH_MAX;
    return snprintf(out, PATH_MAX, "%s/%s", cwd, path) < PATH_MAX;
}

static int disk_read(void *ud, const char *path, struct mortise_buf *text,
                     struct mortise_err *why)
{
    char at[PATH_MAX];
    struct stat st;
    int errnum;

    if (!make_disk_path(ud, path, at))
        return mortise_syserr(why, ENAMETOOLONG, "open");
    if (stat(at, &st) != 0)
        return mortise_syserr(why, errno, "open");
    if (!S_ISREG(st.st_mode))
        return mortise_fail(why, MORTISE_EINVAL, "not a regular file");
    errnum = mortise_infile_read(at, text);
    if (errnum != 0)
        return mortise_syserr(why, errnum, "read");
    return text->failed ? mortise_nomem(why) : MORTISE_OK;
}

static int is_graph(const struct dirent *e)
{
    static const char end[] = ".graph.yaml";
    size_t n = strlen(e->d_name);

    return n >= sizeof end && strcmp(e->d_name + n - sizeof end + 1, end) == 0;
}

/* Sorted by name, so that findings are always the same. */
static int disk_list(void *ud, const char *dir,
                     int (*fn)(void *into, const char *path), void *into,
                     struct mortise_err *why)
{
    char at[PATH_MAX], path[PATH_MAX];
    struct dirent **names;
    int n, rv = MORTISE_OK;

    if (!make_disk_path(ud, dir[0] != '\0' ? dir : ".", at))
        return mortise_syserr(why, ENAMETOOLONG, "open");
    n = scandir(at, &names, is_graph, alphasort);
    if (n < 0)
        return mortise_syserr(why, errno, "open");
    for (int i = 0; i < n; i++) {
        if (rv == MORTISE_OK && snprintf(path, sizeof path, "%s%s", dir,
                                         names[i]->d_name) < (int)sizeof path)
            rv = fn(into, path);
        free(names[i]);
    }
    free(names);
    return rv;
}

struct mortise_catalog
mortise_disk_catalog_make(const struct mortise_catalog *catalog,
                          struct mortise_graph_files *files, const char *cwd)
{
    struct mortise_catalog with = *catalog;

    *files = (struct mortise_graph_files){
        .ud = (void *)(uintptr_t)cwd, .read = disk_read, .list = disk_list};
    with.files = files;
    return with;
}
