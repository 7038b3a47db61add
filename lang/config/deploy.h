/* deploy.h -- a Deployment file: which plugins, whom to trust, which store. */
#ifndef MORTISE_LANG_CONFIG_DEPLOY_H
#define MORTISE_LANG_CONFIG_DEPLOY_H

#include <sys/types.h>

#include "lang/config/deploy_discovery.h"
#include "lang/config/deploy_guards.h"
#include "lang/config/deploy_memory.h"
#include "lang/config/limits.h"
#include "lang/config/models.h"
#include "lang/config/tool_pins.h"
#include "lang/config/programs.h"
#include "lang/config/policy.h"
#include "lang/config/provider.h"

/* When a step may be told of (runtime.md 3). */
enum mortise_durability {
    MORTISE_SYNC = 0, /* once it is on disk */
    MORTISE_BATCH,    /* once it is stored; it is synced max_ms after */
    MORTISE_EXIT      /* once it is stored; it is synced when something waits */
};

/* PLUGIN/OPERATION that nodes of a type run; NULL: the language's own. */
struct mortise_executors {
    const char *gmi, *leaf, *voice;
};

struct mortise_deployment {
    struct mortise_arena arena;
    const char *path; /* NULL when there is no file; then there are no trees */
    /* The file as it was written, and with its ${...} put in: the same shape.
     */
    const struct mortise_yaml *written, *tree;
    const char *name;
    const char *const *plugin_dirs; /* resolved against the file's directory */
    size_t n_plugin_dirs;           /* 0: the bundled ones alone */
    /* Directories in which nobody need have signed. */
    const char *const *dev_dirs;
    size_t n_dev_dirs;
    const char *trust_dir;  /* NULL: the bundled one alone */
    const char *store_path; /* NULL: not said */
    enum mortise_durability durability;
    uint64_t cache_bytes; /* of results that are kept */
    uint64_t max_ms;      /* of BATCH */
    /* store.access.group, whose members may use the store's socket; NULL: nobody
     * but its owner. */
    const gid_t *access;
    const char *access_group; /* its name */
    gid_t access_gid;         /* of `access` */
    uint64_t finished_ms;     /* store.retention.finished; 0: for ever */
    bool finished_said;       /* else it is the default */
    const struct mortise_yaml *config; /* plugins.config, a map, or NULL */
    struct mortise_providers secrets;
    struct mortise_guards guards;
    struct mortise_memory_choice memory;
    struct mortise_discoverers discovery;
    struct mortise_models models;
    struct mortise_programs programs;
    struct mortise_executors executors;
    struct mortise_policy tools;
    struct mortise_bounds limits;       /* defaults and ceilings of graphs */
    struct mortise_lock lock;           /* the file beside it */
    struct mortise_tool_pins tool_pins; /* operations that it names */
    /* It has findings, and was read as far as that goes: what is made of several
     * of its parts may be wrong. */
    bool broken;
    bool unresolved;    /* its ${...} stand as they were written */
    bool dirs_in_doubt; /* ... so plugins may be missing that are there */
};

/* ${env:NAME}, ${env:NAME:-default} and ${file:PATH} are expanded here, once.
 * Its lock is read with it.  Findings to diags; *out NULL on an error. */
int mortise_deployment_read(struct mortise_deployment **out,
                            const struct mortise_mem *mem, const char *path,
                            struct mortise_diags *diags);
/* The same for who tells of findings and goes on: *out is as far as it can be
 * read on MORTISE_ECHECK, too, or NULL where it is no Deployment. */
int mortise_deployment_look(struct mortise_deployment **out,
                            const struct mortise_mem *mem, const char *path,
                            struct mortise_diags *diags);
/* The same, and nothing is read but this file and its lock: mortise_expand() does
 * not resolve. */
int mortise_deployment_look_unresolved(struct mortise_deployment **out,
                                       const struct mortise_mem *mem,
                                       const char *path,
                                       struct mortise_diags *diags);
/* Was `secrets` meant, and could not be read? */
bool mortise_deployment_lost_secrets(const struct mortise_deployment *d);
/* What holds without a file. */
int mortise_deployment_default(struct mortise_deployment **out,
                               const struct mortise_mem *mem);
void mortise_deployment_free(struct mortise_deployment *d);
/* Where its runs are: what it says, or else ./.mortise. */
const char *mortise_deployment_store(const struct mortise_deployment *d);
/* The config of one plugin as JSON, a new reference; {} when there is none.
 * `as` is the guardrail's id, or the model's or the discovery's instance, that
 * it has it for; "" for the plugin as such.  Where mortise_deployment_composes()
 * it, no part of the file is that config, and its references to secrets are for
 * the plugin to ask with: they are not to be filled in. */
json_t *mortise_deployment_config(const struct mortise_deployment *d,
                                  const char *plugin, const char *as);
bool mortise_deployment_composes(const struct mortise_deployment *d,
                                 const char *plugin, const char *as);
/* The plugin behind a name among a graph's `plugins`: its own, or of what the
 * deployment calls so: a guardrail, the memory, a discovery plugin, a tool.  *pin
 * (or NULL): what a run pins it under. */
const char *mortise_deployment_plugin(const struct mortise_deployment *d,
                                      const char *name, const char **pin);
/* Of such a name, or a pin, whose plugin is not there: is that because the
 * deployment does not have any more what it stands for?  *why says so, and what to
 * do. */
bool mortise_deployment_lacks(const struct mortise_deployment *d,
                              const char *name, struct mortise_err *why);
/* PLUGIN/OPERATION that nodes of the type run by its `executors`; NULL: the
 * language's own, or they run none. */
const char *mortise_deployment_executor(const struct mortise_deployment *d,
                                        const char *type);
/* Is it the name by which runs pin a tool's definition?  *tool: the definition
 * that the lock has; NULL: it has none. */
bool mortise_deployment_is_tool(const struct mortise_deployment *d,
                                const char *name,
                                const struct mortise_tool_pin **tool);
/* The operation that the lock has for the plugin, or NULL. */
const struct mortise_tool_pin *
mortise_deployment_tool_pin(const struct mortise_deployment *d,
                            const char *plugin, const char *operation);
/* All of them, sorted; how many. */
size_t mortise_deployment_tool_pins(const struct mortise_deployment *d,
                                    const char *plugin,
                                    const struct mortise_tool_pin **list);

/* What stands in one. */
extern const struct mortise_place mortise_deployment_place;

#endif
