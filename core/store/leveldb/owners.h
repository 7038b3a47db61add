/* owners.h -- check that no other user can change the files of a store. [any]
 */
#ifndef MORTISE_LEVELDB_OWNERS_H
#define MORTISE_LEVELDB_OWNERS_H

#include <stdbool.h>

#include "core/base/err.h"

/* Check that root or this user owns the files in STORE, which is open as `dir`
 * with the path `path`, and that nobody else can write to them.
 * MORTISE_EDENIED; the message has the command that fixes it.  `tables`: check
 * each table, too. */
int mortise_owners_check(int dir, const char *path, bool tables,
                         struct mortise_err *err);
/* Check for links in the places where the engine or a memory plugin creates
 * files.  MORTISE_EDENIED; the message has the link's name. */
int mortise_owners_check_links(int dir, const char *path,
                               struct mortise_err *err);

#endif
