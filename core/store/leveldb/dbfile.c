/* dbfile.c -- the kinds of files in LevelDB's directory, by their names
 * (db/filename.cc of LevelDB). */
#include "core/store/leveldb/dbfile.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/infile.h"
#include "core/base/wild.h"

enum mortise_dbfile mortise_dbfile_kind(const char *name)
{
    if (strcmp(name, "CURRENT") == 0)
        return MORTISE_DBFILE_CURRENT;
    if (strncmp(name, "MANIFEST-", 9) == 0)
        return MORTISE_DBFILE_MANIFEST;
    if (name[0] < '0' || name[0] > '9')
        return MORTISE_DBFILE_OTHER;
    if (mortise_wild_match("*.log", name))
        return MORTISE_DBFILE_LOG;
    return mortise_wild_match("*.ldb", name) ||
                   mortise_wild_match("*.sst", name)
               ? MORTISE_DBFILE_TABLE
               : MORTISE_DBFILE_OTHER;
}

bool mortise_dbfile_is_regular(int db, const char *name)
{
    struct stat st;

    if (fstatat(db, name, &st, 0) == 0)
        return S_ISREG(st.st_mode);
    /* A broken or circular link exists, but is no file.  A missing file may be
     * one. */
    return fstatat(db, name, &st, AT_SYMLINK_NOFOLLOW) != 0;
}

bool mortise_dbfile_read_current(int db, const char *from,
                                 char name[MORTISE_DBFILE_NAME])
{
    int fd = mortise_infile_open(db, from, O_NOFOLLOW);
    ssize_t n = fd >= 0 ? read(fd, name, MORTISE_DBFILE_NAME) : -1;

    if (fd >= 0)
        close(fd);
    if (n <= 0 || n == MORTISE_DBFILE_NAME || name[n - 1] != '\n')
        return false;
    name[n - 1] = '\0';
    return mortise_dbfile_kind(name) == MORTISE_DBFILE_MANIFEST;
}
