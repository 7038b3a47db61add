/* check_dir.h -- find the files of Mortise below a directory. */
#ifndef MORTISE_CLI_CHECK_DIR_H
#define MORTISE_CLI_CHECK_DIR_H

#include "cli/cli.h"

/* Is it a directory, or a link to one? */
bool mortise_cli_is_dir(const char *path);
/* Call fn with the path of each file, sorted by name.  Unreadable entries
 * go to fn, too, which reports the error.  MORTISE_ENOTFOUND: there are no
 * files. */
int mortise_cli_for_each_file(const char *dir,
                              void (*fn)(void *ud, const char *path), void *ud,
                              struct mortise_err *err);

#endif
