/* highwater.h -- the mark: the number of the last synced batch, in a file.
 *
 * Threads: open, make, close [loop]; put by the thread that writes to the
 * store. */
#ifndef MORTISE_LEVELDB_HIGHWATER_H
#define MORTISE_LEVELDB_HIGHWATER_H

#include "core/store/store.h"

struct mortise_highwater {
    int fd;          /* STORE/mark; -1: there is none */
    uint64_t number; /* of the last batch known to be synced */
    unsigned slot;   /* the slot that has it */
    uint8_t identity[MORTISE_STORE_ID];
};

/* Read the mark; w->fd is -1 if there is none.  MORTISE_ECORRUPT: the file is
 * not a valid mark.  `writing`: open it for mortise_highwater_write(), too. */
int mortise_highwater_open(struct mortise_highwater *w, int dir, bool writing,
                           struct mortise_err *err);
/* Create the mark atomically and durably, for a store without one. */
int mortise_highwater_make(struct mortise_highwater *w, int dir,
                           const uint8_t identity[MORTISE_STORE_ID],
                           uint64_t number, struct mortise_err *err);
/* Record that batch `number`, with all before it, has been synced. */
int mortise_highwater_write(struct mortise_highwater *w, uint64_t number,
                            struct mortise_err *err);
void mortise_highwater_close(struct mortise_highwater *w);

#endif
