/* aside.h -- the database's files as they were, until it is verified.  [loop]
 */
#ifndef MORTISE_LEVELDB_ASIDE_H
#define MORTISE_LEVELDB_ASIDE_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/store/leveldb/tables.h"

/* What is being made, until it has its name. */
#define MORTISE_ASIDE_NEW "aside.new"

/* `db` is the descriptor of LevelDB's directory. */

/* Keep what is there under other names, unless it is kept already. */
int mortise_aside_take(int db, const struct mortise_mem *mem,
                       struct mortise_err *err);
/* The database is verified: what was kept is not needed.  Tables, if they were
 * kept, keep their second names for the next opening. */
int mortise_aside_drop(int db, struct mortise_err *err);
/* Free the room of tables that LevelDB removed since; false: no table has a
 * second name any more, so there is nothing to sweep until the next opening.
 * [store] */
bool mortise_aside_sweep(int db);
/* It is not: have everything as it was.  LevelDB has it closed. */
int mortise_aside_put_back(int db, const struct mortise_mem *mem,
                           struct mortise_err *err);

/* The name of which this one is aside; else the same pointer. */
const char *mortise_aside_name(const char *name);
/* Is it the last name of a table that the database has?  Nothing is aside as a
 * whole. */
bool mortise_aside_is_needed(int db, const char *name,
                             const struct mortise_mem *mem);
/* The tables that the MANIFEST names, or the one aside.  MORTISE_ECORRUPT: it
 * does not read.  To be finished either way. */
int mortise_aside_read_tables(struct mortise_tables *named, int db, bool aside,
                              const struct mortise_mem *mem,
                              struct mortise_err *err);
/* MORTISE_ECORRUPT when one of the database's names is no file. */
int mortise_aside_check(int db, struct mortise_err *err);
/* *whole: there is something aside, and it counts. */
int mortise_aside_is_whole(int db, bool *whole, const struct mortise_mem *mem,
                           struct mortise_err *err);

#endif
