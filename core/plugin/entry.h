/* entry.h -- the table of plugins, internal: shared by registry.c (lookup by
 * name), verification.c (checks of manifests on the path), releases.c (rollback
 * protection) and instantiate.c (from bytes to an instance).
 *
 * Threads: [loop] */
#ifndef MORTISE_PLUGIN_ENTRY_H
#define MORTISE_PLUGIN_ENTRY_H

#include <limits.h>
#include <mortise/plugin.h>

#include "core/plugin/inside.h"
#include "core/plugin/load.h"
#include "core/plugin/registry.h"
#include "core/plugin/rollback_state.h"
#include "core/plugin/trust.h"

struct created { /* an instance; in the arena */
    struct created *next;
    const char *as;                    /* a guardrail's id; "": the plugin's */
    struct mortise_instance *instance; /* NULL: not started, or closed */
    struct mortise_create_failure failure; /* from the last attempt */
};

struct entry {
    struct mortise_plugin_info pub; /* its strings are in the arena */
    const char *stem;         /* the file's name without suffix; in the arena */
    bool judged;              /* its file was read; else only stem is known */
    bool misnamed;            /* stem is not the name in the manifest */
    struct mortise_manifest *manifest; /* owned; pub refers to it */
    struct mortise_signature_info signature;
    struct mortise_pubkey key; /* the key that made the signature */
    /* Reason, since the trust files changed; or NULL. */
    const char *distrusted;
    size_t dir;
    int code;                /* goes with `problem` */
    const char *problem;     /* found when it was judged */
    const char *quarantined; /* reason, or NULL */
    uint64_t until_ms;       /* end of the quarantine; 0: none */
    /* this process quarantined it, so its quarantine file does not matter */
    bool given_up;
    bool noted;                      /* deaths of it are recorded */
    struct mortise_culprit *culprit; /* set at its first start */
    struct mortise_loaded_module *loaded; /* while there is an instance */
    const mortise_plugin *plugin;    /* found in `loaded` */
    struct created *created;
};

struct mortise_plugins {
    struct mortise_plugins_config config; /* its strings are in the arena */
    const struct mortise_mem *mem;
    struct mortise_arena arena;
    bool looked;                /* mortise_plugins_load() was called */
    struct mortise_err no_look; /* its error; code MORTISE_OK: none */
    struct mortise_trust *trust;
    struct mortise_rollback_state rollback_state; /* this user's */
    bool said_lost; /* a lost record was reported */
    /* Why no signature is trusted now; MORTISE_OK: none. */
    struct mortise_err no_trust;
    uint8_t print[MORTISE_DIGEST]; /* fingerprint of the trust files as read */
    uint64_t looked_ns; /* time of the last check of the fingerprint */
    struct entry *entries;
    size_t n, cap;
    size_t n_distrusted; /* number of entries with `distrusted` */
    size_t n_judged;     /* number of entries that were read */
    int notes;           /* quarantine_dir, opened at the first start; or -1 */
    int any_noted;       /* are there any notes?  -1: not checked */
};

/* ---- releases.c ---------------------------------------------------------- */

/* MORTISE_EDENIED: a newer release ran here before, or a different one with the
 * same number. */
int mortise_releases_check(struct mortise_plugins *p, const struct entry *e,
                           struct mortise_err *why);
/* The plugin started: deny older releases from now on. */
int mortise_releases_record(struct mortise_plugins *p, const struct entry *e,
                            struct mortise_err *err);
/* MORTISE_EDENIED: the key that signed it was revoked here before. */
int mortise_releases_check_key(struct mortise_plugins *p, const struct entry *e,
                               struct mortise_err *why);
/* If the key is revoked, remember that. */
int mortise_releases_record_key(struct mortise_plugins *p,
                                const struct mortise_trusted_key *by,
                                struct mortise_err *err);
/* MORTISE_EDENIED: this trust directory is older than one seen before. */
int mortise_releases_check_trust(struct mortise_plugins *p, size_t dir,
                                 struct mortise_err *err);

/* ---- verification.c ------------------------------------------------------ */

/* Does the plugin have an instance? */
bool mortise_plugin_is_started(const struct entry *e);
/* Update `pub` from the entry's state. */
void mortise_plugin_update_info(struct entry *e);
/* The artifact for this machine; NULL and the reason if there is none. */
struct mortise_artifact *mortise_plugin_find_artifact(const struct entry *e,
                                                      struct mortise_err *err);
/* mortise_plugin_object_path() gets the path of the plugin's shared object;
 * mortise_plugin_open_object() makes a sealed copy of the object's bytes. */
int mortise_plugin_object_path(const struct entry *e,
                               const struct mortise_artifact *a,
                               char path[PATH_MAX], struct mortise_err *err);
int mortise_plugin_open_object(const struct entry *e,
                               const struct mortise_artifact *a,
                               struct mortise_object *o,
                               struct mortise_err *err);
/* Set the reason why it must not start; the text is copied. */
int mortise_plugin_set_quarantined(struct mortise_plugins *p, struct entry *e,
                                   const char *why);
/* Read its quarantine again: it may have expired or been lifted.
 * MORTISE_ELIMIT: out of file descriptors. */
int mortise_plugin_refresh_quarantine(struct mortise_plugins *p,
                                      struct entry *e, struct mortise_err *err);
/* Read the trust directories. */
int mortise_plugins_open_trust(struct mortise_plugins *p,
                               struct mortise_err *err);
/* Find the manifests on the path, and read none. */
int mortise_plugins_find_manifests(struct mortise_plugins *p,
                                   struct mortise_err *err);
/* Read the manifests that may have this name (NULL: all) and were not read
 * yet. */
int mortise_plugins_read_manifests(struct mortise_plugins *p, const char *name,
                                   struct mortise_err *err);
/* May this be a plugin of that name?  Certain once it was read. */
bool mortise_plugin_has_name(const struct entry *e, const char *name);
/* Read the trust files again if they changed.  While one has errors, no
 * signature is trusted. */
void mortise_plugins_refresh_trust(struct mortise_plugins *p);

/* ---- instantiate.c ------------------------------------------------------- */

/* Open and check the artifact's bytes, in a sealed copy: only these are
 * loaded. */
int mortise_plugin_prepare(const struct mortise_plugins *p,
                           const struct entry *e, struct mortise_object *o,
                           struct mortise_err *err);
/* Find or add the record of an instance; NULL: out of memory. */
struct created *mortise_plugin_get_created(struct mortise_plugins *p,
                                           struct entry *e, const char *as);
/* Load the module, create the instance, remember the release. */
int mortise_plugin_start(struct mortise_plugins *p, struct entry *e,
                         struct created *c, const json_t *config,
                         struct mortise_err *err);
/* Stop its instances and free its resources. */
void mortise_plugin_close(struct mortise_plugins *p, struct entry *e);

#endif
