/* site.h -- where things are: a Deployment file read, and the directories that
 * plugins and trust come from.
 *
 * The deployment's directories come first, the bundled ones last; between them
 * those that are marked dev.  Bundled is
 * what lies around the program or library (site.c says where), else what was
 * installed (MORTISE_LIBDIR). */
#ifndef MORTISE_ENGINE_SITE_H
#define MORTISE_ENGINE_SITE_H

#include "graph/deploy.h"

struct mortise_site {
    struct mortise_arena arena;
    struct mortise_deployment *deployment; /* never NULL once it is open */
    const char **plugin_dirs;
    size_t n_plugin_dirs;
    size_t first_dev, n_dev; /* which of them are marked dev */
    const char *trust_dirs[2];
    size_t n_trust_dirs;
    const char *store; /* where the store is */
};

/* `path` NULL: no Deployment file; `store` NULL: as deployed.  Findings go to
 * diags; MORTISE_ECHECK then. */
int mortise_site_open(struct mortise_site *s, const struct mortise_mem *mem,
                      const char *path, const char *store,
                      struct mortise_diags *diags, struct mortise_err *err);
void mortise_site_close(struct mortise_site *s); /* zeroed is fine */

#endif
