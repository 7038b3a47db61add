/* deployment.h -- what the engine uses of its deployment.
 *
 * A deployment describes one machine: the plugins, the store, secrets, models
 * and rules.  The engine gets plain values of it (struct mortise_settings), and
 * asks for the rest with the functions below.  This is a port: core/ declares
 * the functions, and lang/config/ defines them, because the deployment is
 * written in a language that core/ does not know.
 *
 * The settings own the deployment, and the engine closes both with
 * mortise_settings_close() after its plugins.  A deployment is constant while it
 * is open.  Results are lent: they live as long as the deployment.  Functions
 * without a tag are [any]. */
#ifndef MORTISE_ENGINE_DEPLOYMENT_H
#define MORTISE_ENGINE_DEPLOYMENT_H

#include <jansson.h>
#include <sys/types.h>

#include "core/base/mem.h"
#include "core/model/catalog.h"
#include "core/plugin/registry.h"

struct mortise_deployment; /* lang/config/deploy.h */

/* ---- values -------------------------------------------------------------- */

/* When a step may be emitted (docs/runtime.md, section 3). */
enum mortise_durability {
    MORTISE_SYNC = 0, /* after it was synced to disk */
    MORTISE_BATCH,    /* after it was stored; it is synced within max_ms */
    MORTISE_EXIT      /* continue once the step is stored; sync it when
                       * something waits for it */
};

enum mortise_provider_kind {
    MORTISE_PROVIDER_ENV = 1,
    MORTISE_PROVIDER_FILE,
    MORTISE_PROVIDER_EXEC,
    MORTISE_PROVIDER_CREDS
};

struct mortise_provider { /* the source of a secret */
    const char *name;     /* of the secret */
    enum mortise_provider_kind kind;
    const char *text;        /* the variable, path, program, credential */
    const char *const *argv; /* EXEC: ends with NULL */
};

struct mortise_providers {
    const struct mortise_provider *list;
    size_t n;
};

/* The paths are resolved.  The deployment's directories come first, then those
 * marked dev, then the bundled ones. */
struct mortise_settings {
    struct mortise_arena arena;
    struct mortise_deployment *deployment; /* never NULL in open settings */
    const char *file;                      /* NULL: there is none */
    const char **plugin_dirs;
    size_t n_plugin_dirs;
    size_t first_dev, n_dev; /* the range of directories that are marked dev */
    const char *trust_dirs[2];
    size_t n_trust_dirs;
    const char *worker; /* the bundled mortise-worker */
    const char *store;  /* path of the store */
    bool store_given;   /* the caller set it, not the deployment */
    /* The group whose members may use the store's socket; NULL: only the owner
     * may.  A store that the caller set is never shared. */
    const gid_t *access;
    const char *access_group; /* its name */
    enum mortise_durability durability;
    uint64_t max_ms;      /* of BATCH */
    uint64_t cache_bytes; /* size of the cache for results */
    uint64_t finished_ms; /* when to remove ended runs; 0: keep for ever */
    const struct mortise_providers *secrets;
    const char *memory; /* the plugin that stores traces; NULL: none */
};

/* Read the deployment that the options name; after an error, the settings are
 * closed.  MORTISE_ECONFIG: it has errors; the message has the findings.
 * MORTISE_EDENIED: the deployment, or a file that it names, cannot be trusted.
 * Other errors are those of the system.  [loop] */
int mortise_deployment_open(struct mortise_settings *s,
                            const struct mortise_mem *mem,
                            const struct mortise_options *options,
                            struct mortise_err *err);
void mortise_settings_close(struct mortise_settings *s); /* zeroed is fine */
/* Check the configs of the installed plugins.  MORTISE_ECONFIG: a plugin
 * rejects its config; the message has the findings.  [loop] */
int mortise_deployment_check(const struct mortise_deployment *d,
                             struct mortise_plugins *plugins,
                             struct mortise_err *err);

/* ---- names --------------------------------------------------------------- */

/* The plugin for a name in a graph's `plugins`: the name itself, or the plugin
 * that the deployment has for a guardrail, the memory, a discovery plugin or a
 * tool. *pin (or NULL) is the name under which a run pins it. */
const char *mortise_deployment_find_plugin(const struct mortise_deployment *d,
                                           const char *name, const char **pin);
/* Is it the name under which runs pin a tool's definition?  *digest is that of
 * the definition in the lock file, as MORTISE_DIGEST bytes in hexadecimal
 * digits; NULL: the lock file has none. */
bool mortise_deployment_is_tool(const struct mortise_deployment *d,
                                const char *name, const char **digest);
/* Is the plugin of such a name missing because the deployment no longer has the
 * part that the name refers to? *why then contains the remedy. */
bool mortise_deployment_is_part_missing(const struct mortise_deployment *d,
                                        const char *name,
                                        struct mortise_err *why);
/* The plugin that a call of this kind goes to.  `name` is the plugin's own name,
 * or the name that the deployment has for an instance: the id of a guardrail,
 * the alias of a model, and so on.  *as is the instance; "": the plugin
 * itself. */
const char *mortise_deployment_find_instance(const struct mortise_deployment *d,
                                             const char *name,
                                             enum mortise_kind kind,
                                             const char **as);
enum { MORTISE_MODEL_TARGETS_MAX = 3 };
/* The aliases that can answer for an alias of a model.  MORTISE_ENOTFOUND: there
 * is no such alias; *err has a suggestion. */
int mortise_deployment_list_models(const struct mortise_deployment *d,
                                   const char *alias,
                                   const char *out[MORTISE_MODEL_TARGETS_MAX],
                                   size_t *n, struct mortise_err *err);
enum { MORTISE_DISCOVERERS_MAX = 16 };
/* The name for calls of the i-th discovery plugin, in the order of precedence:
 * the plugin's name or that of its instance.  *plugin is the plugin.  NULL:
 * there are no more. */
const char *
mortise_deployment_get_discoverer(const struct mortise_deployment *d, size_t i,
                                  const char **plugin);

/* ---- configs ------------------------------------------------------------- */

/* The configuration of a plugin as JSON, a new reference; {} if there is none.
 * NULL: memory ran out.  `as` is the id of the guardrail, or the instance of
 * the model or the discovery; "" for the plugin itself.  If
 * mortise_deployment_is_config_made(), the configuration is made by Mortise and
 * is no part of the file.  Its references to secrets are then for the plugin to
 * ask with: do not replace them. */
json_t *mortise_deployment_get_config(const struct mortise_deployment *d,
                                      const char *plugin, const char *as);
bool mortise_deployment_is_config_made(const struct mortise_deployment *d,
                                       const char *plugin, const char *as);

/* ---- catalogs ------------------------------------------------------------ */

/* What graphs are checked against, from the manifests of the plugins.
 * [loop] */
struct mortise_catalogs {
    /* Strict: knows only existing operations.  Lenient: accepts every name, for
     * graphs of old runs that are only read; a missing operation is
     * `external`. */
    struct mortise_catalog strict, lenient;
    /* Accepts every name and reads no manifest: each operation is `external`
     * and declares nothing. */
    struct mortise_catalog names;
    uint64_t guesses; /* how often runs relied on the declarations of `names` */
    /* Nothing is called, or a script answers: configs do not matter. */
    bool is_idle;
};

/* The plugins and the deployment are lent.  MORTISE_ENOMEM.  [loop] */
int mortise_catalogs_open(struct mortise_catalogs **out,
                          const struct mortise_mem *mem,
                          struct mortise_plugins *plugins,
                          const struct mortise_deployment *d,
                          struct mortise_err *err);
/* NULL is fine.  The plugins may be closed.  [loop] */
void mortise_catalogs_close(struct mortise_catalogs *c);

#endif
