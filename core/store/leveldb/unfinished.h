/* unfinished.h -- a store that is being made of another one.  [loop] */
#ifndef MORTISE_LEVELDB_UNFINISHED_H
#define MORTISE_LEVELDB_UNFINISHED_H

#include "core/mortise.h"

/* The directory `dir`, which is locked, begins to be one: what an earlier try
 * left is cleared away.  MORTISE_EEXISTS, with nothing touched, when anything
 * else is there. */
int mortise_unfinished_begin(int dir, struct mortise_err *err);

#endif
