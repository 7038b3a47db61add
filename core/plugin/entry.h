/* entry.h -- the table of plugins from the inside: shared by registry.c (found
 * by name), verification.c (what a manifest on the path is worth), releases.c
 * (nothing goes back) and instantiate.c (from bytes to an instance).
 *
 * Threads   [loop] */
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
    struct mortise_instance *instance; /* NULL: it is not there (any more) */
    struct mortise_create_failure failure; /* of the last time it was tried */
};

struct entry {
    struct mortise_found pub; /* its strings are in the arena */
    const char *stem;         /* of its file's name; in the arena */
    bool judged;              /* it was read; else only stem is known */
    bool misnamed;            /* stem is not what the manifest wants */
    struct mortise_manifest *manifest; /* owned; pub's when it is usable */
    struct mortise_signed signature;
    struct mortise_pubkey key; /* that made it */
    const char *distrusted;    /* why, since the trust files changed; or NULL */
    size_t dir;
    int code;                /* with `problem` */
    const char *problem;     /* of its own */
    const char *quarantined; /* why, or NULL */
    uint64_t until_ms;       /* until when it is quarantined; 0: for good */
    bool given_up;           /* in this process, whatever the file says */
    bool noted;              /* it took processes down */
    struct mortise_culprit *culprit; /* from its first start on */
    struct mortise_loaded *loaded;   /* while there is an instance */
    const mortise_plugin *plugin;    /* what was found in `loaded` */
    struct created *created;
};

struct mortise_plugins {
    struct mortise_plugins_config config; /* its strings are in the arena */
    const struct mortise_mem *mem;
    struct mortise_arena arena;
    bool looked;                /* mortise_plugins_look() was called */
    struct mortise_err no_look; /* how that failed; its code is MORTISE_OK: it
                                   did not */
    struct mortise_trust *trust;
    struct mortise_rollback_state rollback_state; /* by this user */
    bool said_lost;                /* that something could not be remembered */
    struct mortise_err no_trust;   /* why nothing is trusted now; MORTISE_OK */
    uint8_t print[MORTISE_DIGEST]; /* of the trust files, as they were read */
    uint64_t looked_ns;            /* when those were looked at last */
    struct entry *entries;
    size_t n, cap;
    size_t n_distrusted; /* of those */
    size_t n_judged;     /* so many were read */
    int notes;           /* quarantine_dir, from the first start on; or -1 */
    int any_noted;       /* is anything there?  -1: nobody looked */
};

/* ---- releases.c ---------------------------------------------------------- */

/* MORTISE_EDENIED: a newer release of it ran here before, or another one of the
 * same number. */
int mortise_releases_check(struct mortise_plugins *p, const struct entry *e,
                           struct mortise_err *why);
/* It came up: an older one is refused from now on. */
int mortise_releases_remember(struct mortise_plugins *p, const struct entry *e,
                              struct mortise_err *err);
/* MORTISE_EDENIED: the key that signed it was revoked here before. */
int mortise_releases_check_key(struct mortise_plugins *p, const struct entry *e,
                               struct mortise_err *why);
/* Remember it if a key is revoked. */
int mortise_releases_note_key(struct mortise_plugins *p,
                              const struct mortise_trusted *by,
                              struct mortise_err *err);
/* MORTISE_EDENIED: that trust directory is older than it was. */
int mortise_releases_check_trust(struct mortise_plugins *p, size_t dir,
                                 struct mortise_err *err);

/* ---- verification.c ------------------------------------------------------ */

/* Has it an instance? */
bool mortise_plugin_is_started(const struct entry *e);
/* What people see of it is as it is now. */
void mortise_plugin_publish(struct entry *e);
/* The artifact for this machine; NULL and why there is none. */
struct mortise_artifact *mortise_plugin_artifact(const struct entry *e,
                                                 struct mortise_err *err);
/* The path of its object, and a sealed copy of its bytes. */
int mortise_plugin_object_path(const struct entry *e,
                               const struct mortise_artifact *a,
                               char path[PATH_MAX], struct mortise_err *err);
int mortise_plugin_open_object(const struct entry *e,
                               const struct mortise_artifact *a,
                               struct mortise_object *o,
                               struct mortise_err *err);
/* Why it may not start, in words that last. */
int mortise_plugin_set_quarantined(struct mortise_plugins *p, struct entry *e,
                                   const char *why);
/* A quarantine may be over by now, or lifted.  MORTISE_ELIMIT: no descriptor was
 * left to look. */
int mortise_plugin_look_again(struct mortise_plugins *p, struct entry *e,
                              struct mortise_err *err);
/* Read the trust directories. */
int mortise_plugins_open_trust(struct mortise_plugins *p,
                               struct mortise_err *err);
/* Find which manifests are on the path, and read none. */
int mortise_plugins_list(struct mortise_plugins *p, struct mortise_err *err);
/* Read those that may be of this name (NULL: all) and were not read yet. */
int mortise_plugins_judge(struct mortise_plugins *p, const char *name,
                          struct mortise_err *err);
/* May this be a plugin of that name?  What was read is or is not. */
bool mortise_plugin_is_called(const struct entry *e, const char *name);
/* The trust files are read when they are not as they were; while one has
 * errors, nothing is trusted. */
void mortise_plugins_look_at_trust(struct mortise_plugins *p);

/* ---- instantiate.c ------------------------------------------------------- */

/* The artifact's bytes, sealed and judged: the only ones that are loaded. */
int mortise_plugin_prepare(const struct mortise_plugins *p,
                           const struct entry *e, struct mortise_object *o,
                           struct mortise_err *err);
/* The place of an instance, made when it is new; NULL: memory ran out. */
struct created *mortise_plugin_created_as(struct mortise_plugins *p,
                                          struct entry *e, const char *as);
/* Load, create, remember. */
int mortise_plugin_start(struct mortise_plugins *p, struct entry *e,
                         struct created *c, const json_t *config,
                         struct mortise_err *err);
/* Stop its instances, and let go of what it has. */
void mortise_plugin_close(struct mortise_plugins *p, struct entry *e);

#endif
