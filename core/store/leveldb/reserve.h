/* reserve.h -- disk space that is reserved for runs to come to a stop. [any] */
#ifndef MORTISE_LEVELDB_RESERVE_H
#define MORTISE_LEVELDB_RESERVE_H

#include <stdbool.h>

enum {
    MORTISE_RESERVE_MIB = 4
}; /* made only if MORTISE_STORE_FREE_MIB are free */

/* Make the reserve in the store's directory, or keep it.  False: not enough
 * space. */
bool mortise_reserve_make(int dir);
/* Remove the reserve to free its space.  False: there was none. */
bool mortise_reserve_release(int dir);

#endif
