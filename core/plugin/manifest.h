/* manifest.h -- NAME.plugin.yaml: what a plugin says of itself (plugins.md 2).
 *
 * Parsed only after its bytes were verified, except by `mortise check` and
 * `plugin inspect`, which run no plugin code.  Lives in one arena. */
#ifndef MORTISE_PLUGIN_MANIFEST_H
#define MORTISE_PLUGIN_MANIFEST_H

#include "lang/schema/schema.h"
#include "core/json/secret.h"
#include "core/json/usage.h"
#include "core/plugin/kind.h"
#include "lang/yaml/keys.h"
#include "lang/yaml/tree.h"

enum mortise_threading {
    MORTISE_THREAD_INLINE = 1,
    MORTISE_THREAD_ASYNC = 2,
    MORTISE_THREAD_BLOCKING = 3
};

struct mortise_manifest_op {
    const char *name, *description;
    const char *effect; /* "pure" "read" "write" "external" */
    /* The name that the deployment's policy judges beside its own, with
     * {ARGUMENT} in it; NULL: none. */
    const char *judged_as;
    const struct mortise_yaml *judged_as_at;
    bool idempotent, reconcile;
    bool steps;                           /* intent: steps; false: call */
    const struct mortise_yaml *intent_at; /* where it is said; NULL: nowhere */
    uint64_t timeout_ms;                  /* 0: none */
    struct mortise_usage_bound usage;
    struct mortise_schema *input, *output; /* NULL: anything */
    struct mortise_secret_places secrets;  /* of input */
};

struct mortise_artifact {
    const char *arch, *file; /* file: a plain name beside the manifest */
    uint64_t size;           /* 0: not said */
    bool is_digested;        /* `digest` is said */
    uint8_t digest[MORTISE_DIGEST];
};

struct mortise_provides { /* one kind's interface */
    bool present;
    enum mortise_threading threading;
    uint32_t concurrency;  /* 0: unbounded */
    uint64_t idle_ms;      /* a call may be silent for so long; 0: for ever */
    bool embeds;           /* model: it makes vectors, too */
    bool as_of;            /* memory: it reads as of a number, too */
    const char *directory; /* memory: the key of its config that says where it
                              keeps what it keeps; NULL: it needs no place */
    /* executor: it does something of its own, too; NULL: it does not say */
    bool background;
    const struct mortise_yaml *background_at;
    bool more; /* executor: the deployment's lock names further operations */
    /* executor: what a person may say that a step of its own gave; NULL:
     * anything */
    struct mortise_schema *step_result;
};

struct mortise_names { /* a list of strings */
    const char *const *items;
    size_t n;
};

struct mortise_manifest {
    struct mortise_arena arena;
    const char *path; /* of the file */
    const char *name, *version, *description, *license;
    uint64_t seq;
    uint32_t abi_major, abi_minor;
    const char *runtime;
    struct mortise_artifact *artifacts;
    size_t n_artifacts;
    struct mortise_provides provides[MORTISE_KINDS];
    const char *kinds; /* of those that are present: "executor, guardrail" */
    struct mortise_manifest_op *ops; /* of executor */
    size_t n_ops;
    const char *const *methods; /* requires.methods */
    size_t n_methods;
    const char *const *state_paths; /* permissions.state: for state.get/1 */
    size_t n_state_paths;
    const char *requires_host; /* a range of abi versions; NULL: any */
    struct mortise_names net;  /* where http.request/1 may go */
    /* Enforced by process isolation only, so by nothing in this build; shown
     * by `plugin inspect`. */
    struct mortise_names fs_read, fs_write, exec, env;
    bool in_process, process;             /* isolation it supports */
    struct mortise_schema *config_schema; /* NULL: no config */
    struct mortise_secret_places config_secrets;
    struct mortise_names secrets; /* that it may use besides: permissions */
    /* What runs pin: the digest of the manifest's bytes, or (`dev`) of those
     * and of the object's. */
    uint8_t digest[MORTISE_DIGEST];
    bool dev; /* nobody signed it: it lies in a directory marked dev */
    const struct mortise_yaml *tree;
};

/* Bytes that a manifest may have, wherever it is read. */
enum { MORTISE_MANIFEST_MAX = 1 << 20 };

/* Findings to diags; *out NULL on an error.  `need_artifacts` false for a
 * manifest that was not signed yet: it may leave them out, or their sizes and
 * digests. */
int mortise_manifest_parse(struct mortise_manifest **out,
                           const struct mortise_mem *mem, const char *path,
                           const char *text, size_t n, bool need_artifacts,
                           struct mortise_diags *diags);
void mortise_manifest_free(struct mortise_manifest *m);
/* That of its own; not one that a lock names. */
const struct mortise_manifest_op *
mortise_manifest_op(const struct mortise_manifest *m, const char *name);

/* The kinds that it provides, as a set. */
uint32_t mortise_manifest_kinds(const struct mortise_manifest *m);
/* How long its code may keep the engine's thread: the first kind's `idle`;
 * 0: any time. */
uint64_t mortise_manifest_patience(const struct mortise_manifest *m);

/* Can this host take no plugin of that abi, host range or isolation?  Then why,
 * in words. */
bool mortise_manifest_is_foreign(const struct mortise_manifest *m, char *why,
                                 size_t size);
/* The same as a finding, and MORTISE_ECHECK. */
int mortise_manifest_check_host(const struct mortise_manifest *m,
                                struct mortise_diags *diags);

/* Warnings for its author. */
int mortise_manifest_advise(const struct mortise_manifest *m,
                            struct mortise_diags *diags);

/* What stands in one. */
extern const struct mortise_place mortise_manifest_place;

#endif
