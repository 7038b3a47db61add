/* manifest.h -- what a plugin declares about itself in NAME.plugin.yaml
 * (docs/plugins.md, section 2).
 *
 * It is read only after its bytes were verified, except by `mortise check` and
 * `plugin inspect`, which run no plugin code.  It lives in one arena. */
#ifndef MORTISE_PLUGIN_MANIFEST_H
#define MORTISE_PLUGIN_MANIFEST_H

#include "core/base/hash.h"
#include "core/base/mem.h"
#include "core/json/secret.h"
#include "core/json/usage.h"
#include "core/plugin/kind.h"
#include "core/json/schema.h"

enum mortise_threading {
    MORTISE_THREAD_INLINE = 1,
    MORTISE_THREAD_ASYNC = 2,
    MORTISE_THREAD_BLOCKING = 3
};

struct mortise_manifest_op {
    const char *name, *description;
    const char *effect; /* "pure" "read" "write" "external" */
    /* A second name for the deployment's policy to judge, with {ARGUMENT} in
     * it; NULL: none. */
    const char *judged_as;
    bool idempotent, reconcile;
    bool steps;          /* `intent: steps`; false: call */
    uint64_t timeout_ms; /* 0: none */
    struct mortise_usage_bound usage;
    struct mortise_schema *input, *output; /* NULL: anything */
    struct mortise_secret_places secrets;  /* in `input` */
};

struct mortise_artifact {
    /* File: a plain name in the manifest's directory. */
    const char *arch, *file;
    uint64_t size;    /* 0: not given */
    bool is_digested; /* `digest` is given */
    uint8_t digest[MORTISE_DIGEST];
};

struct mortise_interface { /* one kind's interface */
    bool present;
    enum mortise_threading threading;
    uint32_t concurrency; /* 0: unlimited */
    uint64_t idle_ms;     /* limit of a call without activity; 0: none */
    bool embeds;          /* model: has embed() */
    bool as_of;           /* memory: can recall as of an earlier number */
    /* Memory: the config key of its data directory; NULL: it needs none. */
    const char *directory;
    bool background; /* executor: it works outside of calls, too */
    bool more; /* executor: the deployment's lock adds operations */
    /* executor: the schema of a result that a person may supply for one of its
     * steps; NULL: anything */
    struct mortise_schema *step_result;
};

struct mortise_names { /* a list of strings */
    const char *const *items;
    size_t n;
};

struct mortise_manifest {
    struct mortise_arena arena;
    const char *path; /* the file's */
    const char *name, *version, *description, *license;
    uint64_t seq;
    uint32_t abi_major, abi_minor;
    const char *runtime;
    struct mortise_artifact *artifacts;
    size_t n_artifacts;
    struct mortise_interface provides[MORTISE_KINDS];
    const char *kinds; /* names of those present: "executor, guardrail" */
    struct mortise_manifest_op *ops; /* executor's operations */
    size_t n_ops;
    const char *const *methods; /* requires.methods */
    size_t n_methods;
    const char *const *state_paths; /* permissions.state: for state.get/1 */
    size_t n_state_paths;
    const char *requires_host; /* a range of abi versions; NULL: any */
    struct mortise_names net;  /* targets of http.request/1 */
    /* Only process isolation could enforce these, and this build has none.
     * `plugin inspect` shows them. */
    struct mortise_names fs_read, fs_write, exec, env;
    bool in_process, process;             /* supported isolation */
    struct mortise_schema *config_schema; /* NULL: no config */
    struct mortise_secret_places config_secrets;
    /* Further secrets it may use: permissions.secrets. */
    struct mortise_names secrets;
    /* The digest that runs pin: of the manifest's bytes, or (`dev`) of the
     * manifest's and the object's. */
    uint8_t digest[MORTISE_DIGEST];
    bool dev; /* unsigned, from a directory marked dev */
    const void *tree; /* of the file: for its reader only */
};

/* The largest manifest that is read, in bytes. */
enum { MORTISE_MANIFEST_MAX = 1 << 20 };

/* NULL: out of memory. */
struct mortise_manifest *mortise_manifest_new(const struct mortise_mem *mem,
                                              const char *path);
void mortise_manifest_free(struct mortise_manifest *m); /* NULL is fine */
/* An operation of the manifest; operations of a lock are not included. */
const struct mortise_manifest_op *
mortise_manifest_op(const struct mortise_manifest *m, const char *name);

/* The set of kinds that it provides. */
uint32_t mortise_manifest_kinds(const struct mortise_manifest *m);
/* The longest time that its code may block the engine's thread: `idle` of its
 * first kind; 0: no limit. */
uint64_t mortise_manifest_time_limit(const struct mortise_manifest *m);

/* The key of a requirement that this host does not support ("abi", "requires"
 * or "isolation"), and the reason in why; NULL: it supports all. */
const char *mortise_manifest_find_unsupported(const struct mortise_manifest *m,
                                              char *why, size_t size);

#endif
