/* reserve.h -- room on the disk that is kept free for runs to rest.  [any] */
#ifndef MORTISE_LEVELDB_RESERVE_H
#define MORTISE_LEVELDB_RESERVE_H

#include <stdbool.h>

enum {
    MORTISE_RESERVE_MIB = 4
}; /* made where MORTISE_STORE_FREE_MIB are free */

/* Have it, in the store's directory.  False: the disk has no room for it. */
bool mortise_reserve_make(int dir);
/* Give the room to whoever needs it now.  Was there any? */
bool mortise_reserve_release(int dir);

#endif
