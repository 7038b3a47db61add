/* dbfile.h -- the kinds of files in LevelDB's directory, by their names. [any]
 */
#ifndef MORTISE_LEVELDB_DBFILE_H
#define MORTISE_LEVELDB_DBFILE_H

#include <limits.h>
#include <stdbool.h>

enum mortise_dbfile {
    MORTISE_DBFILE_OTHER, /* LOCK, LOG, and files of other programs */
    MORTISE_DBFILE_LOG,
    MORTISE_DBFILE_MANIFEST,
    MORTISE_DBFILE_CURRENT,
    MORTISE_DBFILE_TABLE
};

enum { MORTISE_DBFILE_NAME = NAME_MAX + 1 };

/* The kind of file that has this name. */
enum mortise_dbfile mortise_dbfile_kind(const char *name);
/* Can it be opened without blocking?  False for a FIFO, device, socket or
 * directory. */
bool mortise_dbfile_is_regular(int db, const char *name);
/* Read the name of the MANIFEST from a CURRENT, which is called `from`.  False:
 * it does not name one. */
bool mortise_dbfile_read_current(int db, const char *from,
                                 char name[MORTISE_DBFILE_NAME]);

#endif
