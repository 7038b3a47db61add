/* owners.h -- whose what is in a store is.  [any] */
#ifndef MORTISE_LEVELDB_OWNERS_H
#define MORTISE_LEVELDB_OWNERS_H

#include <stdbool.h>

#include "core/base/err.h"

/* Does what is in STORE, open as `dir` and called `path`, belong to root or to
 * this user, and may nobody else write it?  MORTISE_EDENIED, with the command
 * that mends it.  `tables`: each of them, too. */
int mortise_owners_check(int dir, const char *path, bool tables,
                         struct mortise_err *err);
/* Is there a link to a file, a directory or nothing where the engine or a memory
 * plugin creates files?  MORTISE_EDENIED, with its name. */
int mortise_owners_refuse_links(int dir, const char *path,
                                struct mortise_err *err);

#endif
