/* highwater.h -- the mark outside of the database: how much of it was synced.
 *
 * Threads    open, make, close [loop]; put by whoever writes to the store. */
#ifndef MORTISE_LEVELDB_HIGHWATER_H
#define MORTISE_LEVELDB_HIGHWATER_H

#include "core/store/store.h"

struct mortise_highwater {
    int fd;          /* of STORE/mark; -1: there is none */
    uint64_t number; /* of the highest batch known to be synced */
    unsigned slot;   /* that has it */
    uint8_t identity[MORTISE_STORE_ID];
};

/* Read it; w->fd is -1 when there is none.  MORTISE_ECORRUPT for a file that
 * was no mark or is none any more.  `writing`: it will be put, too. */
int mortise_highwater_open(struct mortise_highwater *w, int dir, bool writing,
                           struct mortise_err *err);
/* Make one, durably, whole or not at all; for a store that has none. */
int mortise_highwater_make(struct mortise_highwater *w, int dir,
                           const uint8_t identity[MORTISE_STORE_ID],
                           uint64_t number, struct mortise_err *err);
/* Batch `number`, with all before it, was synced. */
int mortise_highwater_put(struct mortise_highwater *w, uint64_t number,
                          struct mortise_err *err);
void mortise_highwater_close(struct mortise_highwater *w);

#endif
