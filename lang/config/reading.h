/* reading.h -- the state of reading a Deployment file, for deploy.c and the
 * files that read its parts. */
#ifndef MORTISE_LANG_CONFIG_READING_H
#define MORTISE_LANG_CONFIG_READING_H

#include "lang/yaml/tree.h"

struct mortise_config_reader {
    struct mortise_arena *arena; /* the deployment's */
    struct mortise_diags *diags;
    bool nomem; /* memory ran out */
};

struct mortise_paths { /* resolved against the file's directory */
    const char *const *list;
    size_t n;
};

/* Memory from the arena; NULL: memory ran out, and `nomem` is set. */
void *mortise_config_alloc(struct mortise_config_reader *r, size_t size);
/* A path relative to the file. */
const char *mortise_config_path(struct mortise_config_reader *r,
                                const struct mortise_yaml *at);
/* A list of paths; empty if memory ran out. */
struct mortise_paths mortise_config_paths(struct mortise_config_reader *r,
                                          const struct mortise_yaml *list);

#endif
