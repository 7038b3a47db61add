/* reading.c -- helpers for reading the parts of a Deployment file. */
#include "lang/config/reading.h"

#include "lang/config/expand.h"

void *mortise_config_alloc(struct mortise_config_reader *r, size_t size)
{
    void *p = mortise_arena_alloc(r->arena, size);

    r->nomem |= p == NULL;
    return p;
}

const char *mortise_config_path(struct mortise_config_reader *r,
                                const struct mortise_yaml *at)
{
    const char *path = mortise_expand_path(r->arena, at);

    r->nomem |= path == NULL;
    return path;
}

struct mortise_paths mortise_config_paths(struct mortise_config_reader *r,
                                          const struct mortise_yaml *list)
{
    const char **paths = mortise_config_alloc(r, list->n * sizeof *paths);

    for (size_t i = 0; paths != NULL && i < list->n; i++)
        paths[i] = mortise_config_path(r, list->items[i]);
    return (struct mortise_paths){paths, paths != NULL ? list->n : 0};
}
