/* salvage.h -- what can be read of a damaged store, into a new one.  [loop] */
#ifndef MORTISE_STORE_SALVAGE_H
#define MORTISE_STORE_SALVAGE_H

#include "store/store.h"

struct mortise_salvaged {
    uint64_t runs; /* that are in the new store */
    uint64_t cut;  /* of these, not up to their newest commit */
    uint64_t
        dropped; /* runs that are not: of a piece in the middle is no use */
    uint64_t missing; /* commits that were synced, and cannot be read */
};

/* A sentence about something that is not there; no line end. */
typedef void mortise_salvage_fn(void *ud, const char *words);

/* Make a store of the directory `to`, which is empty or not there, from what
 * can be read of the one at `from`, which is not changed.  It has its identity.
 * MORTISE_EEXISTS: there is something at `to`. */
int mortise_store_salvage(const char *from, const char *to,
                          const struct mortise_mem *mem,
                          mortise_salvage_fn *say, void *ud,
                          struct mortise_salvaged *out,
                          struct mortise_err *err);

/* Would it open, and is all there that was synced?  Looked at in a copy; the
 * store is not changed.  MORTISE_ECORRUPT: not all of it. */
int mortise_store_check(const char *path, const struct mortise_mem *mem,
                        struct mortise_err *err);

#endif
