/* own_files.h -- files of the deployment that its programs may not write. */
#ifndef MORTISE_LANG_CONFIG_OWN_FILES_H
#define MORTISE_LANG_CONFIG_OWN_FILES_H

#include "lang/config/deploy.h"

/* Report each `write` of a program or server that includes the deployment, its
 * lock file, its store, or its directories of plugins and trust. */
void mortise_own_files_check(const struct mortise_deployment *d,
                             struct mortise_diags *diags);

#endif
