/* hold.h -- who holds a store.  [any] */
#ifndef MORTISE_STORE_HOLD_H
#define MORTISE_STORE_HOLD_H

#include <sys/types.h>

#include "base/err.h"

/* A claim on one directory within this process; in the caller's memory, in
 * place until it is dropped. */
struct mortise_hold {
    struct mortise_hold *next;
    dev_t dev;
    ino_t ino;
    pid_t pid; /* who took it: a forked child inherits the list */
};

/* Claim the directory that is open as `dir`.  MORTISE_EBUSY when this process
 * has it already. */
int mortise_hold_take(struct mortise_hold *h, int dir, struct mortise_err *err);
void mortise_hold_drop(struct mortise_hold *h);

/* With the claim taken: MORTISE_EBUSY, naming the pid, when another process
 * has LevelDB's lock file `name` (relative to `dir`) locked. */
int mortise_hold_probe(int dir, const char *name, struct mortise_err *err);

#endif
