/* dir_lock.h -- who holds a store.  [any] */
#ifndef MORTISE_LEVELDB_DIR_LOCK_H
#define MORTISE_LEVELDB_DIR_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/err.h"

/* A claim on one directory; in the caller's memory, in place until it is
 * dropped. */
struct mortise_dir_lock {
    struct mortise_dir_lock *next;
    dev_t dev;
    ino_t ino;
    pid_t pid; /* who took it */
    int dir;   /* has the lock; -1 in a child of fork() */
};

/* Claim the directory that is open as `dir`, which is ours from then on, and
 * closed also if that fails.  MORTISE_EBUSY, naming the pid, when this process
 * or another one has it already. */
int mortise_dir_lock_take(struct mortise_dir_lock *h, int dir,
                          struct mortise_err *err);
void mortise_dir_lock_drop(struct mortise_dir_lock *h);

/* Is this the process that took it?  A child of fork() is not: it must leave
 * alone what is in the directory. */
bool mortise_dir_lock_is_ours(const struct mortise_dir_lock *h);

/* With the claim taken: MORTISE_EBUSY, naming the pid, when another process
 * has LevelDB's lock file `name` (relative to `dir`) locked. */
int mortise_dir_lock_probe(int dir, const char *name, struct mortise_err *err);

#endif
