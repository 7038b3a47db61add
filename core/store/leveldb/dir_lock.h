/* dir_lock.h -- the lock that gives a process a store. [any] */
#ifndef MORTISE_LEVELDB_DIR_LOCK_H
#define MORTISE_LEVELDB_DIR_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/err.h"

/* A claim on one directory, in the caller's memory.  It must not move until it
 * is dropped. */
struct mortise_dir_lock {
    struct mortise_dir_lock *next;
    dev_t dev;
    ino_t ino;
    pid_t pid; /* the process that took it */
    int dir;   /* holds the lock; -1 in a child of fork() */
};

/* Claim the open directory `dir`.  Takes `dir` in any case, and closes it on
 * failure.  MORTISE_EBUSY, with the pid in the message: this process or another
 * one has a claim already. */
int mortise_dir_lock_acquire(struct mortise_dir_lock *h, int dir,
                             struct mortise_err *err);
void mortise_dir_lock_release(struct mortise_dir_lock *h);

/* Did this process take the claim?  A child of fork() did not, and must leave
 * the content of the directory alone. */
bool mortise_dir_lock_is_ours(const struct mortise_dir_lock *h);

/* Test LevelDB's lock file `name` in `dir`, after mortise_dir_lock_acquire().
 * MORTISE_EBUSY, with the pid in the message: another process has it locked. */
int mortise_dir_lock_probe(int dir, const char *name, struct mortise_err *err);

#endif
