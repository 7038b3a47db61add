/* torn.h -- remove the end of a log that a power failure tore. [any] */
#ifndef MORTISE_LEVELDB_TORN_H
#define MORTISE_LEVELDB_TORN_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/mem.h"

/* Does the newest log in LevelDB's directory have a torn end?  Also false if it
 * cannot be read. */
bool mortise_torn_is_present(int db, const struct mortise_mem *mem);
/* Replace that log, durably, by one without the end.  The old file is not
 * changed, whatever other links it has. */
int mortise_torn_remove_end(int db, const struct mortise_mem *mem,
                            struct mortise_err *err);

#endif
