/* aside.h -- keep the files of a database aside until it is verified. [loop] */
#ifndef MORTISE_LEVELDB_ASIDE_H
#define MORTISE_LEVELDB_ASIDE_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/store/leveldb/tables.h"

/* The name of a file that is being made. */
#define MORTISE_ASIDE_TEMP_NAME "aside.new"

/* In all functions, `db` is the open directory of LevelDB. */

/* Give the files second names, unless they have been put aside already. */
int mortise_aside_save(int db, const struct mortise_mem *mem,
                       struct mortise_err *err);
/* The database is verified: drop the second names.  Those of tables stay for
 * the next opening. */
int mortise_aside_drop(int db, struct mortise_err *err);
/* Drop second names of tables that LevelDB has removed, to free their space.
 * False: no table has a second name, so there is nothing to sweep until the
 * next opening. [store] */
bool mortise_aside_drop_removed(int db);
/* The database is not verified: restore its files.  LevelDB must have it
 * closed. */
int mortise_aside_restore(int db, const struct mortise_mem *mem,
                          struct mortise_err *err);

/* The name without the prefix for files aside, as a pointer into `name`. */
const char *mortise_aside_strip_prefix(const char *name);
/* Is `name` the last link of a table that the database uses?  Ask only if there
 * is no aside.CURRENT. */
bool mortise_aside_is_last_link(int db, const char *name,
                                const struct mortise_mem *mem);
/* Read the tables that the MANIFEST names, or the MANIFEST aside.
 * MORTISE_ECORRUPT: it cannot be read.  Finish `named` in any case. */
int mortise_aside_read_tables(struct mortise_tables *named, int db, bool aside,
                              const struct mortise_mem *mem,
                              struct mortise_err *err);
/* MORTISE_ECORRUPT: a name of the database is not a regular file. */
int mortise_aside_check(int db, struct mortise_err *err);
/* *whole: there are files aside that can be put back. */
int mortise_aside_is_complete(int db, bool *whole,
                              const struct mortise_mem *mem,
                              struct mortise_err *err);

#endif
