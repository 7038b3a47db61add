/* aside.h -- the database's files as they were, until it is verified.  [loop]
 */
#ifndef MORTISE_STORE_ASIDE_H
#define MORTISE_STORE_ASIDE_H

#include <stdbool.h>

#include "base/err.h"

/* `db` is the descriptor of LevelDB's directory. */

/* Keep what is there under other names, unless it is kept already. */
int mortise_aside_take(int db, struct mortise_err *err);
/* The database is verified: what was kept is not needed. */
int mortise_aside_drop(int db, struct mortise_err *err);
/* It is not: have everything as it was.  LevelDB has it closed. */
int mortise_aside_put_back(int db, struct mortise_err *err);

/* ---- names in LevelDB's directory ---------------------------------------- */

enum mortise_aside_kind {
    MORTISE_ASIDE_NONE, /* LOCK, LOG, or no file of the database */
    MORTISE_ASIDE_LOG,
    MORTISE_ASIDE_MANIFEST,
    MORTISE_ASIDE_CURRENT,
    MORTISE_ASIDE_TABLE
};

/* What a name is, which is not that of a file aside. */
enum mortise_aside_kind mortise_aside_kind(const char *name);
/* The name of which this one is aside; else the same pointer. */
const char *mortise_aside_name(const char *name);
/* May it be opened without waiting for somebody?  No for a FIFO, a device, a
 * socket, a directory. */
bool mortise_aside_is_file(int db, const char *name);
/* MORTISE_ECORRUPT when one of the database's names is no file. */
int mortise_aside_check(int db, struct mortise_err *err);
/* Is there something aside, all of it? */
bool mortise_aside_is_whole(int db);

#endif
