/* whole.c -- resolve paths to absolute ones without links (whole.h). */
#include "core/base/whole.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Append one path component; false: the path is too long. */
static bool append_component(char out[PATH_MAX], size_t *n, const char *part,
                             size_t len)
{
    if (len == 0 || (len == 1 && part[0] == '.'))
        return true;
    if (len == 2 && memcmp(part, "..", 2) == 0) {
        while (*n > 0 && out[--*n] != '/')
            continue;
        out[*n] = '\0';
        return true;
    }
    if (*n + len + 2 > PATH_MAX)
        return false;
    out[(*n)++] = '/';
    memcpy(out + *n, part, len);
    *n += len;
    out[*n] = '\0';
    return true;
}

bool mortise_path_resolve(char out[PATH_MAX], const char *path)
{
    char at[PATH_MAX], seen[PATH_MAX];
    size_t n = 0;
    bool fits = true;

    out[0] = '\0';
    if (path[0] != '/') {
        if (getcwd(out, PATH_MAX) == NULL)
            return false;
        n = strcmp(out, "/") != 0 ? strlen(out) : 0;
        out[n] = '\0';
    }
    while (fits && *path != '\0') {
        size_t len = strcspn(path, "/");

        fits = append_component(out, &n, path, len);
        path += len + (path[len] == '/');
        snprintf(at, sizeof at, "%s", n > 0 ? out : "/");
        if (fits && realpath(at, seen) != NULL) {
            n = strcmp(seen, "/") != 0 ? strlen(seen) : 0;
            memcpy(out, seen, n);
            out[n] = '\0';
        }
    }
    return fits;
}

bool mortise_path_is_below(const char *path, const char *top)
{
    size_t n = strlen(top);

    return strncmp(path, top, n) == 0 && (path[n] == '\0' || path[n] == '/');
}
