/* tables.h -- which tables LevelDB's MANIFEST says that the database consists
 * of, and whether they stay when it opens.  [any] */
#ifndef MORTISE_LEVELDB_TABLES_H
#define MORTISE_LEVELDB_TABLES_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/err.h"

enum {
    MORTISE_TABLE_LEVELS = 7, /* config::kNumLevels */
    MORTISE_TABLE_FOOTER = 48 /* bytes at the end of a table */
};

struct mortise_dbtable {
    uint64_t number, bytes;
    unsigned level;
};

struct mortise_tables {
    struct mortise_dbtable *list; /* by their numbers */
    size_t n;
    struct mortise_buf room;
};

/* What the file says, by name in the directory.  MORTISE_ECORRUPT, without
 * words: it is not whole.  To be finished either way. */
int mortise_tables_read(struct mortise_tables *t, int db, const char *manifest,
                        const struct mortise_mem *mem, struct mortise_err *err);
/* Is the table of this file among them? */
bool mortise_tables_have(const struct mortise_tables *t, const char *file);
/* The size that the MANIFEST has for the table of this file; 0: not named. */
uint64_t mortise_tables_size(const struct mortise_tables *t, const char *file);
void mortise_tables_finish(struct mortise_tables *t);

/* Can LevelDB open the table in this file of `db`?  It reads the footer, at the
 * end of `bytes` (0: of the file), and the index that the footer names.  True
 * also if memory ran out. */
bool mortise_tables_open(int db, const char *file, uint64_t bytes,
                         const struct mortise_mem *mem);

/* *stay: LevelDB removes none of them when it opens the database, and what it
 * needs for that is there.  Nobody has it open. */
int mortise_tables_stay(int db, bool *stay, const struct mortise_mem *mem,
                        struct mortise_err *err);

#endif
