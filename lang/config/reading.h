/* reading.h -- what reads a Deployment file has in hand, for deploy.c and the
 * files that each read a part. */
#ifndef MORTISE_LANG_CONFIG_READING_H
#define MORTISE_LANG_CONFIG_READING_H

#include "lang/yaml/tree.h"

struct mortise_config_reading {
    struct mortise_arena *arena; /* the deployment's */
    struct mortise_diags *diags;
    bool nomem; /* memory ran out */
};

struct mortise_paths { /* resolved against the file's directory */
    const char *const *list;
    size_t n;
};

/* These are in the arena; NULL: memory ran out, which is noted. */
void *mortise_config_take(struct mortise_config_reading *r, size_t size);
/* A path as written, from where the file is. */
const char *mortise_config_path(struct mortise_config_reading *r,
                                const struct mortise_yaml *at);
/* A list of them; empty where memory ran out. */
struct mortise_paths mortise_config_paths(struct mortise_config_reading *r,
                                          const struct mortise_yaml *list);

#endif
