/* torn.h -- the end of a log that a power cut tore.  [any] */
#ifndef MORTISE_LEVELDB_TORN_H
#define MORTISE_LEVELDB_TORN_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/mem.h"

/* Does the newest log in LevelDB's directory end in what never reached the disk?
 * False, too, where it does not read. */
bool mortise_torn_is(int db, const struct mortise_mem *mem);
/* Then put one without that end in its place, durably; the file that was there
 * is not changed, whatever other name it has. */
int mortise_torn_cut(int db, const struct mortise_mem *mem,
                     struct mortise_err *err);

#endif
