/* absolute.c -- absolute paths as JSON. */
#include "core/json/absolute.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

json_t *mortise_json_absolute_path(const char *path)
{
    char found[PATH_MAX], here[PATH_MAX / 2], made[2 * PATH_MAX];

    if (realpath(path, found) != NULL)
        return json_string(found);
    if (path[0] == '/' || getcwd(here, sizeof here) == NULL)
        return json_string(path);
    snprintf(made, sizeof made, "%s/%s", here, path);
    return json_string(made);
}
