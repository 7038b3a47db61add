/* settings.h -- where things are: a Deployment file read, and the directories
 * that plugins and trust come from.
 *
 * The deployment's directories come first, the bundled ones last; between them
 * those that are marked dev.  Bundled is
 * what lies around the program or library, or was installed (home.h). */
#ifndef MORTISE_LANG_CONFIG_SETTINGS_H
#define MORTISE_LANG_CONFIG_SETTINGS_H

#include "lang/config/deploy.h"

struct mortise_settings {
    struct mortise_arena arena;
    struct mortise_deployment *deployment; /* never NULL once it is open */
    const char **plugin_dirs;
    size_t n_plugin_dirs;
    size_t first_dev, n_dev; /* which of them are marked dev */
    const char *trust_dirs[2];
    size_t n_trust_dirs;
    const char *store;  /* where the store is */
    bool store_said;    /* not by the deployment */
    const char *worker; /* the bundled mortise-worker */
};

enum {
    /* Nobody named the Deployment file, it was found: what it needs somebody's
     * word for must have been said (allow.h). */
    MORTISE_SETTINGS_FOUND = 1 << 0,
    /* Nothing is run, nor written: what else would be refused is a finding. */
    MORTISE_SETTINGS_LOOK = 1 << 1,
    /* MORTISE_ECHECK may leave them open, with what could be read of the
     * deployment, for who looks for more findings and uses nothing. */
    MORTISE_SETTINGS_BROKEN = 1 << 2
};

/* `path` NULL: no Deployment file; `store` NULL: as deployed.  Findings go to
 * diags; MORTISE_ECHECK then.  MORTISE_EDENIED: it may not be obeyed, or what it
 * names not be used (guarded.h). */
int mortise_settings_open(struct mortise_settings *s,
                          const struct mortise_mem *mem, const char *path,
                          const char *store, unsigned how,
                          struct mortise_diags *diags, struct mortise_err *err);
/* Is the store one that the deployment shares with a group (store.access)?  Not
 * one that somebody else named. */
static inline bool mortise_settings_shares(const struct mortise_settings *s)
{
    return s->deployment->access != NULL && !s->store_said;
}
/* The `how` of mortise_options.flags. */
unsigned mortise_settings_how(uint32_t flags);
void mortise_settings_close(struct mortise_settings *s); /* zeroed is fine */

#endif
