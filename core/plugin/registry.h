/* registry.h -- the plugins of a deployment: found, verified, loaded, created.
 *
 * Finding reads manifests and executes nothing.  mortise_plugins_start() is the
 * only way to an instance, and so the only way to dlopen (plugins.md 4).
 * [loop] throughout. */
#ifndef MORTISE_PLUGIN_REGISTRY_H
#define MORTISE_PLUGIN_REGISTRY_H

#include "core/plugin/instance.h"

struct mortise_plugins;

enum { MORTISE_TRUST_MS = 20 };

struct mortise_plugins_config {
    const struct mortise_mem *mem;
    const char *const *dirs; /* searched in order */
    size_t n_dirs;
    /* So many of them, from this one on, are marked dev: a manifest there need
     * not be signed.  One that is signed is judged as anywhere. */
    size_t first_dev, n_dev;
    const char *const *trust_dirs; /* all count */
    size_t n_trust_dirs;
    /* A directory of ours where the deaths are noted that plugins caused: three
     * in a row, and the plugin is quarantined for a time, or until it changes
     * or unquarantine.  NULL: none.  A relative name is one in the directory
     * that is open as quarantine_at, which outlives us. */
    const char *quarantine_dir;
    int quarantine_at;
    /* What was seen before, against going back: numbers by name; NULL: not
     * kept. */
    int (*seq_get)(void *ud, const char *name, uint64_t *value,
                   struct mortise_err *err);
    int (*seq_put)(void *ud, const char *name, uint64_t value,
                   struct mortise_err *err);
    void *seq_ud;
    /* This user remembers, too (rollback_state.h), but of what is in the last
     * directory, when that is the program's own. */
    bool user_remembers, last_is_own;
    /* NULL, or: this user could not remember something, and why not; once. */
    void (*forgets)(void *ud, const char *why); /* with seq_ud */
    bool allow_downgrade; /* going back is meant, this time */
    /* Nothing is read before the first of them is asked for, or
     * mortise_plugins_look(). */
    bool later;
    struct mortise_instance_ops ops; /* for every instance */
    uint64_t quiesce_ms;             /* at close, each; 0: 10 s */
};

/* What to say then, in front of why. */
#define MORTISE_PLUGINS_FORGETS                                                \
    "releases that ran and keys that were revoked cannot be recorded for new " \
    "stores: "

/* One manifest found on the path, usable or not. */
struct mortise_found {
    const char *name, *version, *path;
    /* NULL when its signature does not verify (then nobody parsed it, and name
     * is the file's, version is "") or when it does not parse. */
    const struct mortise_manifest *manifest;
    const char *problem; /* why it cannot be used: a sentence; NULL if it can
                            (as far as reading tells) */
    bool quarantined;    /* that is why */
    bool started;
};

/* An execution that took the process down so often is blocked, and a plugin
 * that did quarantined. */
enum { MORTISE_DEATHS_BLOCK = 3 };

/* How often an execution took the process down. */
struct mortise_deaths {
    unsigned times;
    uint64_t last_ms;
    char how[64];   /* the last time: "died of SIGSEGV" */
    char path[641]; /* of the execution */
};

/* The config is copied, what its pointers lend (ops, mem) stays the caller's.
 * Fails as mortise_plugins_look() does, unless that is done later. */
int mortise_plugins_open(struct mortise_plugins **out,
                         const struct mortise_plugins_config *config,
                         struct mortise_err *err);
/* Read the trust directories, and find which manifests there are, if nobody did
 * so yet; each is read when it is asked for.  Directories that do not exist are
 * empty.  MORTISE_ECHECK when a trust file has errors (the first is in err),
 * MORTISE_EDENIED when a trust directory is older than one that was seen before.
 * After an error no plugin is there, and each later call here or for one of them
 * by name gives the same error; after MORTISE_ENOMEM it is tried again. */
int mortise_plugins_look(struct mortise_plugins *p, struct mortise_err *err);
/* ... and read all manifests: whatever changes on the path from now on, the
 * plugins are those that are there now. */
int mortise_plugins_look_at_all(struct mortise_plugins *p,
                                struct mortise_err *err);
/* Quiesces (10 s each at most), destroys; never unloads code.  One that does
 * not quiesce is leaked. */
void mortise_plugins_close(struct mortise_plugins *p);

size_t mortise_plugins_count(struct mortise_plugins *p);
/* `i` is below the count that mortise_plugins_count() gave. */
const struct mortise_found *mortise_plugins_at(const struct mortise_plugins *p,
                                               size_t i);
/* The manifest that a name stands for (first directory, highest version), or
 * NULL and why, with "did you mean". */
const struct mortise_manifest *mortise_plugins_find(struct mortise_plugins *p,
                                                    const char *name,
                                                    struct mortise_err *why);
/* Verify, load and create, once per name and `as`; later calls give the same
 * instance.  `as` is the id of a guardrail that the deployment configures by
 * itself, "" for the plugin as such.  `config` (borrowed; NULL: {}) is
 * validated against the manifest's schema first. */
int mortise_plugins_start(struct mortise_plugins *p, const char *name,
                          const char *as, json_t *config,
                          struct mortise_instance **out,
                          struct mortise_err *err);
/* How that instance, which could not be started now, did not come to be; NULL: it
 * was not tried. */
const struct mortise_create_failure *
mortise_plugins_create_failure(struct mortise_plugins *p, const char *name,
                               const char *as);
/* Everything that start does up to the dlopen, for `plugin verify`. */
int mortise_plugins_verify(struct mortise_plugins *p, const char *name,
                           struct mortise_err *err);
/* May it still be called, as the trust files are now?  They are looked at again
 * when MORTISE_TRUST_MS went by.  MORTISE_EDENIED and why not. */
int mortise_plugins_trusted(struct mortise_plugins *p, const char *name,
                            struct mortise_err *why);
/* Let nothing start this plugin any more in this process, and remember why. */
void mortise_plugins_quarantine(struct mortise_plugins *p, const char *name,
                                const char *why);
/* The worst that an execution of this run did to the process by a plugin as it
 * is now; *name is whose.  False: none did. */
bool mortise_plugins_any_deaths(struct mortise_plugins *p, const char *tenant,
                                const char *run, const char **name,
                                struct mortise_deaths *out);
/* Is that all that keeps it from being used? */
bool mortise_plugins_is_quarantined(struct mortise_plugins *p,
                                    const char *name);
/* When the first of those that are quarantined for a time may start again;
 * 0: none is. */
uint64_t mortise_plugins_until(struct mortise_plugins *p);
int mortise_plugins_unquarantine(struct mortise_plugins *p, const char *name,
                                 struct mortise_err *err);

#endif
