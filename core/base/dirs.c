/* dirs.c -- list the files of a directory, and make directories.
 *
 * Names are sorted, because results must not depend on the order in which a
 * file system lists them.
 */
#include "core/base/dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool has_name_suffix(const char *name, const char *suffix)
{
    size_t n = strlen(name), len = strlen(suffix);

    return n > len && strcmp(name + n - len, suffix) == 0;
}

static int add_file_name(struct mortise_listing *l, const char *name)
{
    char **grown =
        mortise_array_grow(l->mem, l->names, l->n, &l->cap, sizeof *grown);

    if (grown == NULL)
        return MORTISE_ENOMEM;
    l->names = grown;
    l->names[l->n] = mortise_strdup(l->mem, name);
    if (l->names[l->n] == NULL)
        return MORTISE_ENOMEM;
    l->n++;
    return MORTISE_OK;
}

static int compare_file_names(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;

    return strcmp(*x, *y);
}

static int read_matching_names(struct mortise_listing *l, DIR *d,
                               const char *suffix)
{
    struct dirent *e;

    while ((e = readdir(d)) != NULL)
        if (e->d_name[0] != '.' && has_name_suffix(e->d_name, suffix) &&
            add_file_name(l, e->d_name) != MORTISE_OK)
            return MORTISE_ENOMEM;
    return MORTISE_OK;
}

int mortise_listing_read(struct mortise_listing *l,
                         const struct mortise_mem *mem, const char *dir,
                         const char *suffix, struct mortise_err *err)
{
    DIR *d = opendir(dir);
    int rv;

    *l = (struct mortise_listing){.mem = mem};
    if (d == NULL)
        return mortise_syserr(err, errno, "read directory %s", dir);
    rv = read_matching_names(l, d, suffix);
    closedir(d);
    if (rv != MORTISE_OK) {
        mortise_listing_finish(l);
        return mortise_nomem(err);
    }
    if (l->n > 1)
        qsort(l->names, l->n, sizeof *l->names, compare_file_names);
    return MORTISE_OK;
}

void mortise_listing_finish(struct mortise_listing *l)
{
    for (size_t i = 0; i < l->n; i++)
        mortise_release_str(l->mem, l->names[i]);
    mortise_release(l->mem, l->names, l->cap * sizeof *l->names);
    l->names = NULL;
    l->n = l->cap = 0;
}

/* The length of the part of `dir` before its last component; 0: its parent is
 * `at`. */
static size_t parent_length(const char *dir)
{
    size_t n = strlen(dir);

    while (n > 0 && dir[n - 1] == '/')
        n--;
    while (n > 0 && dir[n - 1] != '/')
        n--;
    return n;
}

/* Make the name of a new directory durable: a file synced inside it would
 * otherwise be lost with it.  EACCES and EINVAL are ignored: this user may not
 * read the parent, or the file system does not sync directories. */
static int sync_parent(int at, const char *dir)
{
    char parent[PATH_MAX] = ".";
    size_t n = parent_length(dir);
    int fd, errnum;

    if (n > 0)
        snprintf(parent, sizeof parent, "%.*s", (int)n, dir);
    fd = openat(at, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == EACCES ? 0 : errno;
    errnum = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
    close(fd);
    return errnum;
}

int mortise_dir_make(int at, const char *dir, mode_t mode,
                     struct mortise_err *err)
{
    int errnum = mkdirat(at, dir, mode) == 0 ? sync_parent(at, dir) : errno;

    return errnum == 0 || errnum == EEXIST
               ? MORTISE_OK
               : mortise_syserr(err, errnum, "make %s", dir);
}
