/* tempdir.h -- directories that are gone when the command is. */
#ifndef MORTISE_CLI_TEMPDIR_H
#define MORTISE_CLI_TEMPDIR_H

#include <limits.h>

#include "base/err.h"

/* A fresh directory, mode 0700, whose name has `what` in it, and room behind
 * it for the name of a file: under $TMPDIR, else in memory, else in /tmp. */
int mortise_tempdir_make(char dir[PATH_MAX], const char *what,
                         struct mortise_err *err);

/* It and all in it.  Links are removed, not followed; what cannot be removed
 * stays. */
void mortise_tempdir_remove(const char *dir);

#endif
