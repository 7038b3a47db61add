/* dbfile.h -- the files in LevelDB's directory, by their names.  [any] */
#ifndef MORTISE_LEVELDB_DBFILE_H
#define MORTISE_LEVELDB_DBFILE_H

#include <limits.h>
#include <stdbool.h>

enum mortise_dbfile {
    MORTISE_DBFILE_OTHER, /* LOCK, LOG, or no file of the database */
    MORTISE_DBFILE_LOG,
    MORTISE_DBFILE_MANIFEST,
    MORTISE_DBFILE_CURRENT,
    MORTISE_DBFILE_TABLE
};

enum { MORTISE_DBFILE_NAME = NAME_MAX + 1 };

/* What a name is. */
enum mortise_dbfile mortise_dbfile_kind(const char *name);
/* May it be opened without waiting for somebody?  No for a FIFO, a device, a
 * socket, a directory. */
bool mortise_dbfile_is_file(int db, const char *name);
/* The MANIFEST that a CURRENT, called `from`, names; false: it names none. */
bool mortise_dbfile_current(int db, const char *from,
                            char name[MORTISE_DBFILE_NAME]);

#endif
