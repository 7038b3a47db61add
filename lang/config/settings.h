/* settings.h -- an open Deployment file, and the directories of plugins and
 * trust.
 *
 * The deployment's directories come first, then those marked dev, then the
 * bundled ones.  Bundled files are beside the program or library, or were
 * installed (home.h). */
#ifndef MORTISE_LANG_CONFIG_SETTINGS_H
#define MORTISE_LANG_CONFIG_SETTINGS_H

#include "lang/config/deploy.h"

struct mortise_settings {
    struct mortise_arena arena;
    struct mortise_deployment *deployment; /* never NULL in open settings */
    const char **plugin_dirs;
    size_t n_plugin_dirs;
    size_t first_dev, n_dev; /* the range of directories that are marked dev */
    const char *trust_dirs[2];
    size_t n_trust_dirs;
    const char *store;  /* path of the store */
    bool store_given;   /* the caller set it, not the deployment */
    const char *worker; /* the bundled mortise-worker */
};

enum {
    /* The Deployment file was found, not named: keys that need permission must
     * have it (allow.h). */
    MORTISE_SETTINGS_FOUND = 1 << 0,
    /* Nothing is executed or written: refusals become findings. */
    MORTISE_SETTINGS_READ_ONLY = 1 << 1,
    /* With MORTISE_ECHECK, the settings may be open with the readable parts
     * of the deployment: for callers that look for more findings and use
     * nothing. */
    MORTISE_SETTINGS_ALLOW_BROKEN = 1 << 2
};

/* `path` NULL: without a Deployment file; `store` NULL: the deployment's.
 * Findings go to `diags`, with MORTISE_ECHECK. MORTISE_EDENIED: the deployment
 * or a file that it names cannot be trusted (guarded.h). */
int mortise_settings_open(struct mortise_settings *s,
                          const struct mortise_mem *mem, const char *path,
                          const char *store, unsigned how,
                          struct mortise_diags *diags, struct mortise_err *err);
/* Is the store shared with a group by the deployment (store.access)?  A store
 * that the caller set is not. */
static inline bool mortise_settings_is_shared(const struct mortise_settings *s)
{
    return s->deployment->access != NULL && !s->store_given;
}
/* The flags for mortise_options.flags. */
unsigned mortise_settings_get_flags(uint32_t flags);
void mortise_settings_close(struct mortise_settings *s); /* zeroed is fine */

#endif
