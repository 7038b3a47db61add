/* check_dir.h -- the files of Mortise below a directory. */
#ifndef MORTISE_CLI_CHECK_DIR_H
#define MORTISE_CLI_CHECK_DIR_H

#include "cli/cli.h"

/* Is it one, or leads there? */
bool mortise_cli_is_dir(const char *path);
/* Call fn with the path of each, in the order of their names; what of the
 * directory cannot be read goes to `fn`, too, which says so.  MORTISE_ENOTFOUND:
 * there is none. */
int mortise_cli_each_below(const char *dir,
                           void (*fn)(void *ud, const char *path), void *ud,
                           struct mortise_err *err);

#endif
