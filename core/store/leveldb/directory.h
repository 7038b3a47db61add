/* directory.h -- the store's directory: made, stamped, looked at.  [loop] */
#ifndef MORTISE_LEVELDB_DIRECTORY_H
#define MORTISE_LEVELDB_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"

/* Open STORE, made (0700) if missing; `*dir` is its descriptor. */
int mortise_directory_open(int *dir, const char *path, struct mortise_err *err);

/* The same where it must be there. */
int mortise_directory_find(int *dir, const char *path, struct mortise_err *err);

/* Is anything of a store in it?  What cannot be looked at may be. */
bool mortise_directory_is_made(int dir);

/* MORTISE_EINVAL: it is not empty, and nothing of a store is in it. */
int mortise_directory_check_ours(int dir, struct mortise_err *err);

/* Only its owner may reach what is in it: if he asks, and others could, the
 * mode that it had; 0: that was so, or cannot be had.  That a group is let
 * through (0710) stays. */
mode_t mortise_directory_close_off(int dir);

/* Read STORE/format; *stamped: there is one, and it is ours.  MORTISE_EFORMAT when
 * it is of another format, MORTISE_ESTATE when it is unfinished, MORTISE_ECORRUPT
 * for other text. */
int mortise_directory_read_stamp(int dir, bool *stamped,
                                 struct mortise_err *err);
/* Write it, durably, whole or not at all. */
int mortise_directory_write_stamp(int dir, struct mortise_err *err);
/* The same with a stamp that says that it is no store yet (unfinished.c). */
int mortise_directory_write_unfinished(int dir, struct mortise_err *err);
bool mortise_directory_is_unfinished(int dir);

/* Make STORE/db (0700) if missing; durable with the next sync of it. */
int mortise_directory_make_db(int dir, struct mortise_err *err);
/* Is it still the directory that is open as `db`, with a database in it? */
bool mortise_directory_has_db(int dir, int db);
/* Make the names in STORE and beside STORE durable. */
int mortise_directory_sync(int dir, struct mortise_err *err);

/* Call `each` for each name in the directory `dir`, called `what`, but `.` and
 * `..`, until one fails. */
typedef int mortise_directory_each_fn(void *ud, int dir, const char *name,
                                      struct mortise_err *err);
int mortise_directory_each(int dir, const char *what,
                           mortise_directory_each_fn *each, void *ud,
                           struct mortise_err *err);

/* Create a file of that name, open with `flags`; a file or a link that has the
 * name is removed first.  -1 with errno. */
int mortise_directory_create(int dir, const char *name, int flags);
/* A file of these n bytes, on the disk if `sync`; what was there under that
 * name is replaced. */
int mortise_directory_put(int dir, const char *name, const void *p, size_t n,
                          bool sync, struct mortise_err *err);
/* A second name for a file.  MORTISE_ESTATE, without words, where the file
 * system has no such thing, or not between these two directories. */
int mortise_directory_link(int from, const char *name, int to, const char *as,
                           struct mortise_err *err);
/* A copy of it; what was there under that name is replaced. */
int mortise_directory_copy(int from, const char *name, int to, const char *as,
                           struct mortise_err *err);

#endif
