/* settings.h -- open a Deployment file, and find the directories of plugins and
 * trust (struct mortise_settings).
 *
 * Bundled files are beside the program or library, or were installed
 * (home.h). */
#ifndef MORTISE_LANG_CONFIG_SETTINGS_H
#define MORTISE_LANG_CONFIG_SETTINGS_H

#include "core/engine/deployment.h"
#include "lang/config/deploy.h"

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
/* The flags for mortise_options.flags. */
unsigned mortise_settings_get_flags(uint32_t flags);

#endif
