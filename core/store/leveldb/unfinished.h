/* unfinished.h -- mark a store that salvage has not completed. [loop] */
#ifndef MORTISE_LEVELDB_UNFINISHED_H
#define MORTISE_LEVELDB_UNFINISHED_H

#include "core/mortise.h"

/* Begin an unfinished store in the locked directory `dir`.  Removes the files
 * of an earlier try.  MORTISE_EEXISTS: there are other files; nothing is
 * changed. */
int mortise_unfinished_start(int dir, struct mortise_err *err);

#endif
