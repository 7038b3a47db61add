/* torn.c -- the end of a log that a power cut tore.
 *
 * A file system may have a file's new size on the disk before its bytes: ext4,
 * with its default options, when something else is synced in the moment in which
 * a log grows over the end of a block.  After a power cut the log has then whole
 * records, the beginning of one more, and from the beginning of a block on
 * zeros.  LevelDB, told to be paranoid, takes that for damage.  It is none: what
 * was synced is never zeros afterwards, so nobody was told of that record, and
 * without it the log is what it was before.
 *
 *   (1) Only such an end is one: the newest log alone (in an older one all was
 *       synced before the next was begun), nothing that reads behind its last
 *       whole record, and zeros from a multiple of 512, which every block is,
 *       to the end.  A bit that changed, or a file that was cut, is damage.
 *   (2) Whether all is there that was synced the mark says, as ever
 *       (highwater.c): a log without its torn end is verified like any.
 */
#include "core/store/leveldb/torn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/files.h"
#include "core/store/leveldb/aside.h"
#include "core/store/leveldb/dbfile.h"
#include "core/store/leveldb/directory.h"
#include "core/store/leveldb/logfile.h"

enum { SECTOR = 512 };

static int note_newest(void *ud, int db, const char *name,
                       struct mortise_err *err)
{
    char *newest = ud;

    (void)err;
    if (mortise_dbfile_kind(name) == MORTISE_DBFILE_LOG &&
        mortise_dbfile_is_file(db, name) &&
        (newest[0] == '\0' ||
         strtoull(name, NULL, 10) > strtoull(newest, NULL, 10)))
        snprintf(newest, MORTISE_DBFILE_NAME, "%s", name);
    return MORTISE_OK;
}

/* Where the zeros begin with which it ends. */
static size_t zeros_from(const char *p, size_t n)
{
    while (n > 0 && p[n - 1] == '\0')
        n--;
    return (n + SECTOR - 1) / SECTOR * SECTOR;
}

/* (1): how much of a log is whole records; all of it where it does not end
 * so. */
static size_t whole_of(struct mortise_logfile *l)
{
    size_t whole = 0, behind = 0;

    while (mortise_logfile_next(l)) {
        if (l->damaged)
            behind++;
        else
            whole = (size_t)(l->p - l->begin);
    }
    return !l->damaged || l->record.failed || behind > 0 ||
                   zeros_from(l->bytes.p, l->bytes.n) >= l->bytes.n
               ? l->bytes.n
               : whole;
}

/* The newest log, and what of it is whole; MORTISE_ENOTFOUND: it has no such
 * end. */
static int find(int db, char name[MORTISE_DBFILE_NAME],
                struct mortise_logfile *l, size_t *whole,
                struct mortise_err *err)
{
    int rv;

    name[0] = '\0';
    rv = mortise_directory_each(db, "db", note_newest, name, err);
    if (rv == MORTISE_OK && name[0] == '\0')
        rv = MORTISE_ENOTFOUND;
    if (rv == MORTISE_OK)
        rv = mortise_logfile_load(l, db, name, err);
    if (rv != MORTISE_OK)
        return rv;
    *whole = whole_of(l);
    assert(*whole <= l->bytes.n);
    return *whole < l->bytes.n ? MORTISE_OK : MORTISE_ENOTFOUND;
}

bool mortise_torn_is(int db, const struct mortise_mem *mem)
{
    char name[MORTISE_DBFILE_NAME];
    struct mortise_logfile l;
    size_t whole;
    bool torn;

    mortise_logfile_init(&l, mem);
    torn = find(db, name, &l, &whole, NULL) == MORTISE_OK;
    mortise_logfile_finish(&l);
    return torn;
}

/* Whole on the disk before it has the name. */
static int replace(int db, const char *name, const char *p, size_t n,
                   struct mortise_err *err)
{
    int fd = mortise_directory_create(db, MORTISE_ASIDE_NEW, O_WRONLY);
    int rv = MORTISE_OK;

    if (fd < 0)
        return mortise_syserr(err, errno, "make db/%s", MORTISE_ASIDE_NEW);
    if (mortise_file_put(fd, p, n) != 0 || fsync(fd) != 0)
        rv = mortise_syserr(err, errno, "write db/%s", MORTISE_ASIDE_NEW);
    close(fd);
    if (rv == MORTISE_OK && renameat(db, MORTISE_ASIDE_NEW, db, name) != 0)
        rv = mortise_syserr(err, errno, "rename db/%s", MORTISE_ASIDE_NEW);
    if (rv == MORTISE_OK && fsync(db) != 0)
        rv = mortise_syserr(err, errno, "sync db");
    return rv;
}

int mortise_torn_cut(int db, const struct mortise_mem *mem,
                     struct mortise_err *err)
{
    char name[MORTISE_DBFILE_NAME];
    struct mortise_logfile l;
    size_t whole;
    int rv;

    mortise_logfile_init(&l, mem);
    rv = find(db, name, &l, &whole, err);
    if (rv == MORTISE_OK)
        rv = replace(db, name, l.bytes.p, whole, err);
    mortise_logfile_finish(&l);
    return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
}
