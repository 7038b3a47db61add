/* lock_file.h -- changes mortise.lock, for commands that pin. */
#ifndef MORTISE_CLI_LOCK_FILE_H
#define MORTISE_CLI_LOCK_FILE_H

#include "cli/cli.h"

/* Change the lock, as JSON.  MORTISE_OK, or an error: the file is then not
 * written. */
typedef int mortise_lock_change_fn(void *ud, json_t *lock,
                                   struct mortise_err *err);

/* Call `change` with the current content of the lock file, write the result and
 * report it.  Concurrent changes wait; readers see either the old file or the
 * new one. */
int mortise_lock_file_change(struct mortise_cli *cli, const char *path,
                             mortise_lock_change_fn *change, void *ud,
                             struct mortise_err *err);

#endif
