/* lock_file.h -- mortise.lock is changed by commands that pin. */
#ifndef MORTISE_CLI_LOCK_FILE_H
#define MORTISE_CLI_LOCK_FILE_H

#include "cli/cli.h"

/* Change the lock, as JSON; MORTISE_OK, or an error that leaves the file as it is. */
typedef int mortise_lock_change_fn(void *ud, json_t *lock,
                                   struct mortise_err *err);

/* Have `change` change the lock of that path, as it is by then, and say so: nobody
 * else does meanwhile, and whoever looks sees the old file or the new one, whole. */
int mortise_lock_file_change(struct mortise_cli *cli, const char *path,
                             mortise_lock_change_fn *change, void *ud,
                             struct mortise_err *err);

#endif
