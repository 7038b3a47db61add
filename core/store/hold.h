/* hold.h -- who holds a store.  [any] */
#ifndef MORTISE_STORE_HOLD_H
#define MORTISE_STORE_HOLD_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

/* A claim on one directory; in the caller's memory, in place until it is
 * dropped. */
struct mortise_hold {
    struct mortise_hold *next;
    dev_t dev;
    ino_t ino;
    pid_t pid; /* who took it */
    int dir;   /* has the lock; -1 in a child of fork() */
};

/* Claim the directory that is open as `dir`, which is ours from then on, and
 * closed also if that fails.  MORTISE_EBUSY, naming the pid, when this process
 * or another one has it already. */
int mortise_hold_take(struct mortise_hold *h, int dir, struct mortise_err *err);
void mortise_hold_drop(struct mortise_hold *h);

/* Is this the process that took it?  A child of fork() is not: it must leave
 * alone what is in the directory. */
bool mortise_hold_is_ours(const struct mortise_hold *h);

/* With the claim taken: MORTISE_EBUSY, naming the pid, when another process
 * has LevelDB's lock file `name` (relative to `dir`) locked. */
int mortise_hold_probe(int dir, const char *name, struct mortise_err *err);

#endif
