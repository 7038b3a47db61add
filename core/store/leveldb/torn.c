/* torn.c -- remove the end of a log that a power failure tore.
 *
 * A file system may have a file's new size on disk before its bytes: ext4 with
 * its default options, if something else is synced while a log grows past the
 * end of a block.  After a power failure, the log has complete records, the
 * beginning of another one, and zeros from the start of a block on.  LevelDB
 * with paranoid checks takes that for damage.  But synced data never becomes
 * zeros, so that record was never acknowledged, and without it the log is as
 * before.
 *
 *   (1) Only such an end is cut: only in the newest log (an older one was
 *       synced completely before the next was begun), with nothing readable
 *       after its last complete record, and with zeros to the end from a
 *       multiple of 512, which every block size is.  A changed bit or a
 *       truncated file is damage.
 *   (2) As always, the mark shows if all synced data is there (highwater.c): a
 *       log without its torn end is verified like any other.
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

static int find_newest_log(void *ud, int db, const char *name,
                           struct mortise_err *err)
{
    char *newest = ud;

    (void)err;
    if (mortise_dbfile_kind(name) == MORTISE_DBFILE_LOG &&
        mortise_dbfile_is_regular(db, name) &&
        (newest[0] == '\0' ||
         strtoull(name, NULL, 10) > strtoull(newest, NULL, 10)))
        snprintf(newest, MORTISE_DBFILE_NAME, "%s", name);
    return MORTISE_OK;
}

/* The offset of the first sector from which on there are only zeros. */
static size_t find_trailing_zeros(const char *p, size_t n)
{
    while (n > 0 && p[n - 1] == '\0')
        n--;
    return (n + SECTOR - 1) / SECTOR * SECTOR;
}

/* The size of the complete records if the log has a torn end (1), else its
 * whole size. */
static size_t measure_whole_records(struct mortise_logfile *l)
{
    size_t whole = 0, behind = 0;

    while (mortise_logfile_next(l)) {
        if (l->damaged)
            behind++;
        else
            whole = (size_t)(l->p - l->begin);
    }
    return !l->damaged || l->record.failed || behind > 0 ||
                   find_trailing_zeros(l->bytes.p, l->bytes.n) >= l->bytes.n
               ? l->bytes.n
               : whole;
}

/* Find the newest log and the size of its complete records; MORTISE_ENOTFOUND:
 * its end is not torn. */
static int find_torn_log(int db, char name[MORTISE_DBFILE_NAME],
                         struct mortise_logfile *l, size_t *whole,
                         struct mortise_err *err)
{
    int rv;

    name[0] = '\0';
    rv = mortise_directory_for_each(db, "db", find_newest_log, name, err);
    if (rv == MORTISE_OK && name[0] == '\0')
        rv = MORTISE_ENOTFOUND;
    if (rv == MORTISE_OK)
        rv = mortise_logfile_load(l, db, name, err);
    if (rv != MORTISE_OK)
        return rv;
    *whole = measure_whole_records(l);
    assert(*whole <= l->bytes.n);
    return *whole < l->bytes.n ? MORTISE_OK : MORTISE_ENOTFOUND;
}

bool mortise_torn_is_present(int db, const struct mortise_mem *mem)
{
    char name[MORTISE_DBFILE_NAME];
    struct mortise_logfile l;
    size_t whole;
    bool torn;

    mortise_logfile_init(&l, mem);
    torn = find_torn_log(db, name, &l, &whole, NULL) == MORTISE_OK;
    mortise_logfile_finish(&l);
    return torn;
}

/* Replace the file by a synced new one. */
static int replace_log(int db, const char *name, const char *p, size_t n,
                       struct mortise_err *err)
{
    int fd =
        mortise_directory_create_file(db, MORTISE_ASIDE_TEMP_NAME, O_WRONLY);
    int rv = MORTISE_OK;

    if (fd < 0)
        return mortise_syserr(err, errno, "make db/%s",
                              MORTISE_ASIDE_TEMP_NAME);
    if (mortise_file_write_fd(fd, p, n) != 0 || fsync(fd) != 0)
        rv = mortise_syserr(err, errno, "write db/%s", MORTISE_ASIDE_TEMP_NAME);
    close(fd);
    if (rv == MORTISE_OK &&
        renameat(db, MORTISE_ASIDE_TEMP_NAME, db, name) != 0)
        rv =
            mortise_syserr(err, errno, "rename db/%s", MORTISE_ASIDE_TEMP_NAME);
    if (rv == MORTISE_OK && fsync(db) != 0)
        rv = mortise_syserr(err, errno, "sync db");
    return rv;
}

int mortise_torn_remove_end(int db, const struct mortise_mem *mem,
                            struct mortise_err *err)
{
    char name[MORTISE_DBFILE_NAME];
    struct mortise_logfile l;
    size_t whole;
    int rv;

    mortise_logfile_init(&l, mem);
    rv = find_torn_log(db, name, &l, &whole, err);
    if (rv == MORTISE_OK)
        rv = replace_log(db, name, l.bytes.p, whole, err);
    mortise_logfile_finish(&l);
    return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
}
