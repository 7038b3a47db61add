/* integrity.h -- checks a whole store.  [loop] */
#ifndef MORTISE_STORE_LEVELDB_INTEGRITY_H
#define MORTISE_STORE_LEVELDB_INTEGRITY_H

#include "core/store/store.h"

/* Read all tables and logs of the store at `path` and verify their checksums.  The
 * function works on a copy, so the store does not change.
 *
 *   MORTISE_OK        the store opens, and contains every synced commit
 *   MORTISE_ECORRUPT  *err describes the missing part
 *   MORTISE_EBUSY     *err has the pid of the process that has the store open
 */
int mortise_store_check(const char *path, const struct mortise_mem *mem,
                        struct mortise_err *err);

#endif
