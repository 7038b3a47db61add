/* own_files.h -- what no program of a deployment may write. */
#ifndef MORTISE_LANG_CONFIG_OWN_FILES_H
#define MORTISE_LANG_CONFIG_OWN_FILES_H

#include "lang/config/deploy.h"

/* Findings for each `write` of a program or a server that comes to the
 * deployment itself, its lock, its store, or its directories of plugins and of
 * trust. */
void mortise_own_files_check(const struct mortise_deployment *d,
                             struct mortise_diags *diags);

#endif
