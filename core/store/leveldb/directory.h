/* directory.h -- the store's directory and its stamp. [loop] */
#ifndef MORTISE_LEVELDB_DIRECTORY_H
#define MORTISE_LEVELDB_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/base/err.h"

/* Open STORE, made (0700) if missing; *dir is its descriptor. */
int mortise_directory_open(int *dir, const char *path, struct mortise_err *err);

/* Open STORE, which must exist; *dir is its descriptor. */
int mortise_directory_open_existing(int *dir, const char *path,
                                    struct mortise_err *err);

/* Does it contain any part of a store?  True if that cannot be determined. */
bool mortise_directory_has_store(int dir);

/* MORTISE_EINVAL: it contains other files and no part of a store. */
int mortise_directory_check_ours(int dir, struct mortise_err *err);

/* Remove the permissions of other users from the directory, if this user owns
 * it.  Returns its previous mode if it was changed, else 0.  The mode 0710
 * stays. */
mode_t mortise_directory_restrict_mode(int dir);

/* Read STORE/format; *stamped: it exists and has our format.  MORTISE_EFORMAT:
 * another format.  MORTISE_ESTATE: an unfinished store.  MORTISE_ECORRUPT:
 * other text. */
int mortise_directory_read_stamp(int dir, bool *stamped,
                                 struct mortise_err *err);
/* Write the stamp atomically and durably. */
int mortise_directory_write_stamp(int dir, struct mortise_err *err);
/* Write a stamp that marks an unfinished store (unfinished.c). */
int mortise_directory_write_unfinished(int dir, struct mortise_err *err);
bool mortise_directory_is_unfinished(int dir);

/* Make STORE/db (0700) if missing.  The next mortise_directory_sync() makes it
 * durable. */
int mortise_directory_make_db(int dir, struct mortise_err *err);
/* Is STORE/db still the directory that is open as `db`, with a database
 * in it? */
bool mortise_directory_has_db(int dir, int db);
/* Sync STORE and its parent. */
int mortise_directory_sync(int dir, struct mortise_err *err);

/* Call `each` for each name in the directory but `.` and `..`, until it fails.
 * `what` is the directory's name in messages. */
typedef int mortise_directory_each_fn(void *ud, int dir, const char *name,
                                      struct mortise_err *err);
int mortise_directory_for_each(int dir, const char *what,
                               mortise_directory_each_fn *each, void *ud,
                               struct mortise_err *err);

/* Create a file, open with `flags`.  An existing file or link is removed first.
 * -1 with errno. */
int mortise_directory_create_file(int dir, const char *name, int flags);
/* Create a file with these n bytes, synced if `sync`; replaces an
 * existing one. */
int mortise_directory_write_file(int dir, const char *name, const void *p,
                                 size_t n, bool sync, struct mortise_err *err);
/* Add a hard link.  MORTISE_ESTATE, without a message: the file system does not
 * support it, or not between these directories. */
int mortise_directory_link_file(int from, const char *name, int to,
                                const char *as, struct mortise_err *err);
/* Copy a file; replaces an existing one. */
int mortise_directory_copy_file(int from, const char *name, int to,
                                const char *as, struct mortise_err *err);

#endif
