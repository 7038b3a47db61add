/* tables.h -- read the tables of a database from LevelDB's MANIFEST; test if
 * LevelDB keeps them when it opens, and if it can open them. [any] */
#ifndef MORTISE_LEVELDB_TABLES_H
#define MORTISE_LEVELDB_TABLES_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/err.h"

enum {
    MORTISE_TABLE_LEVELS = 7, /* config::kNumLevels */
    MORTISE_TABLE_FOOTER = 48 /* size of the footer of a table */
};

struct mortise_dbtable {
    uint64_t number, bytes;
    unsigned level;
};

struct mortise_tables {
    struct mortise_dbtable *list; /* sorted by number */
    size_t n;
    struct mortise_buf room;
};

/* Read the MANIFEST with that name in the directory `db`.  MORTISE_ECORRUPT,
 * without a message: it is damaged.  Finish `t` in any case. */
int mortise_tables_read(struct mortise_tables *t, int db, const char *manifest,
                        const struct mortise_mem *mem, struct mortise_err *err);
/* Does the MANIFEST name the table in this file? */
bool mortise_tables_has(const struct mortise_tables *t, const char *file);
/* The size of that table according to the MANIFEST; 0: it is not named. */
uint64_t mortise_tables_size(const struct mortise_tables *t, const char *file);
void mortise_tables_free(struct mortise_tables *t);

/* Can LevelDB open the table in this file?  It reads the footer, at the end of
 * `bytes` (0: of the file), and the index that the footer names.  Also true if
 * memory ran out. */
bool mortise_tables_can_open(int db, const char *file, uint64_t bytes,
                             const struct mortise_mem *mem);

/* *stay: LevelDB removes no table when it opens the database, and all files
 * that it needs exist.  Nothing may have the database open. */
int mortise_tables_are_stable(int db, bool *stay, const struct mortise_mem *mem,
                              struct mortise_err *err);

#endif
