/* deploy.h -- a Deployment file: plugins, trust, store, models and more.
 *
 * core/engine/deployment.h has more functions of a deployment. */
#ifndef MORTISE_LANG_CONFIG_DEPLOY_H
#define MORTISE_LANG_CONFIG_DEPLOY_H

#include <sys/types.h>

#include "core/engine/deployment.h"
#include "lang/config/deploy_discovery.h"
#include "lang/config/deploy_guards.h"
#include "lang/config/deploy_memory.h"
#include "lang/config/limits.h"
#include "lang/config/models.h"
#include "lang/config/tool_pins.h"
#include "lang/config/programs.h"
#include "lang/config/tools.h"
#include "lang/config/provider.h"

/* PLUGIN/OPERATION for nodes of a type; NULL: the default. */
struct mortise_executors {
    const char *gmi, *leaf, *voice;
};

struct mortise_deployment {
    struct mortise_arena arena;
    const char *path; /* NULL without a file; then there are no trees */
    /* The file as written, and with its ${...} replaced, in the same shape. */
    const struct mortise_yaml *written, *tree;
    const char *name;
    const char *const *plugin_dirs; /* resolved against the file's directory */
    size_t n_plugin_dirs;           /* 0: only the bundled ones */
    /* Directories in which plugins need no signature. */
    const char *const *dev_dirs;
    size_t n_dev_dirs;
    const char *trust_dir;  /* NULL: only the bundled one */
    const char *store_path; /* NULL: not set */
    enum mortise_durability durability;
    uint64_t cache_bytes; /* size of the cache for results */
    uint64_t max_ms;      /* of BATCH */
    /* store.access.group, whose members may use the store's socket; NULL: only
     * the owner may. */
    const gid_t *access;
    const char *access_group; /* its name */
    gid_t access_gid;         /* of `access` */
    uint64_t finished_ms;     /* store.retention.finished; 0: keep for ever */
    bool finished_said;       /* otherwise it is the default */
    const struct mortise_yaml *config; /* plugins.config, a map, or NULL */
    struct mortise_providers secrets;
    struct mortise_guards guards;
    struct mortise_memory_choice memory;
    struct mortise_discoverers discovery;
    struct mortise_models models;
    struct mortise_programs programs;
    struct mortise_executors executors;
    struct mortise_tools tools;
    struct mortise_bounds limits;       /* defaults and maximums for graphs */
    struct mortise_lock lock;           /* the file beside it */
    struct mortise_tool_pins tool_pins; /* the operations in the lock file */
    /* The file has errors, so values that combine several of its parts may be
     * wrong. */
    bool broken;
    bool unresolved; /* its ${...} were not replaced */
    /* the directories of plugins or trust could not be read from the broken
     * file, so plugins may be missing */
    bool dirs_in_doubt;
};

/* Read a Deployment file and its lock file. ${env:NAME}, ${env:NAME:-default}
 * and ${file:PATH} are replaced once.  Findings go to `diags`; *out is NULL on
 * an error. */
int mortise_deployment_read(struct mortise_deployment **out,
                            const struct mortise_mem *mem, const char *path,
                            struct mortise_diags *diags);
/* The same for callers that report findings and continue: with MORTISE_ECHECK,
 * *out has the parts that could be read, or is NULL if the file is no
 * Deployment. */
int mortise_deployment_read_partly(struct mortise_deployment **out,
                                   const struct mortise_mem *mem,
                                   const char *path,
                                   struct mortise_diags *diags);
/* The same without replacing ${...}: reads only this file and its lock. */
int mortise_deployment_read_unresolved(struct mortise_deployment **out,
                                       const struct mortise_mem *mem,
                                       const char *path,
                                       struct mortise_diags *diags);
/* Has the file a key `secrets` that could not be read? */
bool mortise_deployment_has_bad_secrets(const struct mortise_deployment *d);
/* The deployment without a file. */
int mortise_deployment_default(struct mortise_deployment **out,
                               const struct mortise_mem *mem);
void mortise_deployment_free(struct mortise_deployment *d);
/* The path of the store: the key's value, or ./.mortise. */
const char *mortise_deployment_get_store(const struct mortise_deployment *d);
/* PLUGIN/OPERATION that `executors` sets for nodes of this type; NULL: the
 * default, or the type has none. */
const char *mortise_deployment_get_executor(const struct mortise_deployment *d,
                                            const char *type);
/* The plugin's operation in the lock file, or NULL. */
const struct mortise_tool_pin *
mortise_deployment_find_tool_pin(const struct mortise_deployment *d,
                                 const char *plugin, const char *operation);
/* All of its operations, sorted; returns their number. */
size_t mortise_deployment_list_tool_pins(const struct mortise_deployment *d,
                                         const char *plugin,
                                         const struct mortise_tool_pin **list);

/* The keys of the file. */
extern const struct mortise_place mortise_deployment_place;

#endif
