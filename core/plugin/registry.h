/* registry.h -- the plugins of a deployment: find, verify, load, create.
 *
 * Finding plugins reads manifests and executes nothing.  Only
 * mortise_plugins_start() creates an instance, so only it calls dlopen()
 * (docs/plugins.md, section 4).  [loop] throughout. */
#ifndef MORTISE_PLUGIN_REGISTRY_H
#define MORTISE_PLUGIN_REGISTRY_H

#include "core/plugin/instance.h"

struct mortise_plugins;

enum { MORTISE_TRUST_CHECK_MS = 20 };

/* Names of instances (`as`), also in a graph's `plugins`: of the memory, and a
 * prefix for those of discovery. */
#define MORTISE_MEMORY_INSTANCE  "memory:"
#define MORTISE_DISCOVERY_PREFIX "discovery:"

struct mortise_plugins_config {
    const struct mortise_mem *mem;
    const char *const *dirs; /* searched in order */
    size_t n_dirs;
    /* n_dev directories, from first_dev on, are marked dev: a manifest there
     * need not be signed.  A signed one is judged as in any other directory. */
    size_t first_dev, n_dev;
    const char *const *trust_dirs; /* all of them apply */
    size_t n_trust_dirs;
    /* A private directory for records of deaths that plugins caused.  After
     * three in a row a plugin is quarantined for a time, or until it changes or
     * unquarantine.  NULL: none.  A relative name is relative to the open
     * directory quarantine_at, which outlives the table. */
    const char *quarantine_dir;
    int quarantine_at;
    /* Rollback protection: numbers by name that were seen before.  NULL: not
     * recorded. */
    int (*seq_get)(void *ud, const char *name, uint64_t *value,
                   struct mortise_err *err);
    int (*seq_put)(void *ud, const char *name, uint64_t value,
                   struct mortise_err *err);
    void *seq_ud;
    /* This user's home also records them (rollback_state.h), except for plugins
     * of the last directory if that is the program's own. */
    bool user_remembers, last_is_own;
    /* Called once if this user could not record something, with the reason; or
     * NULL. */
    void (*forgets)(void *ud, const char *why); /* with seq_ud */
    bool allow_downgrade; /* allow an older release this time */
    /* Read nothing before the first lookup by name or
     * mortise_plugins_load(). */
    bool later;
    struct mortise_instance_ops ops; /* for every instance */
    uint64_t quiesce_ms;             /* for each at close; 0: 10 s */
};

/* The start of a message for `forgets`; the reason follows. */
#define MORTISE_PLUGINS_RECORD_FAILED                                          \
    "releases that ran and keys that were revoked cannot be recorded for new " \
    "stores: "

/* A manifest on the path, usable or not. */
struct mortise_plugin_info {
    const char *name, *version, *path;
    /* NULL if its signature is invalid (then it was not parsed, name is the
     * file's and version is ""), or if it does not parse. */
    const struct mortise_manifest *manifest;
    /* Why it cannot be used: a sentence; NULL: usable as far as known without
     * loading it. */
    const char *problem;
    bool quarantined; /* the problem is a quarantine */
    bool started;
};

/* After this many deaths an execution is blocked, and a plugin is
 * quarantined. */
enum { MORTISE_DEATHS_BLOCK = 3 };

/* The deaths that an execution caused. */
struct mortise_deaths {
    unsigned times;
    uint64_t last_ms;
    char how[64];   /* the last one: "died of SIGSEGV" */
    char path[641]; /* the execution's */
};

/* Copies the config; its pointers (ops, mem) are borrowed.  Calls
 * mortise_plugins_load() unless config->later, and fails as that does. */
int mortise_plugins_open(struct mortise_plugins **out,
                         const struct mortise_plugins_config *config,
                         struct mortise_err *err);
/* Read the trust directories and find the manifests, unless that was done.
 * Each manifest is read at its first lookup.  Missing directories count as
 * empty.  MORTISE_ECHECK: a trust file has errors (err has the first).
 * MORTISE_EDENIED: a trust directory is older than one seen before.  After an
 * error no plugin is available, and later calls here and lookups by name return
 * the same error; after MORTISE_ENOMEM they try again. */
int mortise_plugins_load(struct mortise_plugins *p, struct mortise_err *err);
/* Also read all manifests, so that later changes on the path have no effect. */
int mortise_plugins_load_all(struct mortise_plugins *p,
                             struct mortise_err *err);
/* Quiesces (10 s each at most) and destroys all instances; never unloads code.
 * A plugin that does not quiesce is leaked. */
void mortise_plugins_close(struct mortise_plugins *p);

size_t mortise_plugins_count(struct mortise_plugins *p);
/* `i` is below mortise_plugins_count(). */
const struct mortise_plugin_info *
mortise_plugins_at(const struct mortise_plugins *p, size_t i);
/* The manifest for a name (first directory, highest version); or NULL and the
 * reason, with "did you mean". */
const struct mortise_manifest *mortise_plugins_find(struct mortise_plugins *p,
                                                    const char *name,
                                                    struct mortise_err *why);
/* Verify, load and create, once per name and `as`; later calls return the same
 * instance.  `as` is the id of a guardrail with its own configuration, or ""
 * for the plugin itself.  `config` (borrowed; NULL: {}) is first validated
 * against the manifest's schema. */
int mortise_plugins_start(struct mortise_plugins *p, const char *name,
                          const char *as, json_t *config,
                          struct mortise_instance **out,
                          struct mortise_err *err);
/* Details of the last failed creation of this instance; NULL: it was not
 * tried. */
const struct mortise_create_failure *
mortise_plugins_create_failure(struct mortise_plugins *p, const char *name,
                               const char *as);
/* All steps of a start before dlopen(), for `plugin verify`. */
int mortise_plugins_verify(struct mortise_plugins *p, const char *name,
                           struct mortise_err *err);
/* May it still be called under the current trust files?  They are checked for
 * changes every MORTISE_TRUST_CHECK_MS.  MORTISE_EDENIED and the reason if not. */
int mortise_plugins_check_trusted(struct mortise_plugins *p, const char *name,
                                  struct mortise_err *why);
/* Prevent further starts of this plugin in this process, and record the
 * reason. */
void mortise_plugins_quarantine(struct mortise_plugins *p, const char *name,
                                const char *why);
/* The worst deaths that an execution of this run caused with a current plugin;
 * *name is the plugin's.  False: none. */
bool mortise_plugins_find_deaths(struct mortise_plugins *p, const char *tenant,
                                 const char *run, const char **name,
                                 struct mortise_deaths *out);
/* Is a quarantine the only reason why it cannot be used? */
bool mortise_plugins_is_quarantined(struct mortise_plugins *p,
                                    const char *name);
/* The earliest end of a temporary quarantine; 0: there is none. */
uint64_t mortise_plugins_quarantine_end(struct mortise_plugins *p);
int mortise_plugins_unquarantine(struct mortise_plugins *p, const char *name,
                                 struct mortise_err *err);

#endif
