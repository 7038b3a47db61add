/* integrity.c -- checks a whole store, for `mortise doctor`.
 *
 * The check opens a copy of the database, as an engine would, and then reads every
 * record: LevelDB verifies the checksum of a table block only when it reads it. */
#include "core/store/leveldb/integrity.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/store/leveldb/directory.h"
#include "core/store/leveldb/ldb.h"
#include "core/store/leveldb/torn.h"

/* Read every record.  LevelDB opens a table when it first reads from it. */
static int read_all(struct mortise_ldb *s, struct mortise_err *err)
{
    leveldb_iterator_t *it = leveldb_create_iterator(s->db, s->checked);

    for (leveldb_iter_seek_to_first(it); leveldb_iter_valid(it);)
        leveldb_iter_next(it);
    return mortise_ldb_iter_destroy(it, MORTISE_OK, "read all of the store",
                                    err);
}

static bool has_db(int dir)
{
    return faccessat(dir, "db", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Open the copy.  If LevelDB refuses it, try again without the end of the log that
 * never reached the disk, as an engine does. */
static int open_to_check(struct mortise_ldb *s, struct mortise_err *err)
{
    int rv = mortise_ldb_open(s, !s->stamped, err), db;

    if (rv != MORTISE_ECORRUPT)
        return rv;
    db = open(s->scratch.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (db >= 0 && mortise_torn_is_present(db, s->mem)) {
        rv = mortise_torn_remove_end(db, s->mem, err);
        if (rv == MORTISE_OK)
            rv = mortise_ldb_open(s, false, err);
    }
    if (db >= 0)
        close(db);
    return rv;
}

static int check(struct mortise_ldb *s, struct mortise_err *err)
{
    int dir, rv = mortise_directory_open_existing(&dir, s->path, err);

    if (rv == MORTISE_OK)
        rv = mortise_ldb_lock(s, dir, true, err);
    if (rv == MORTISE_OK)
        rv = mortise_dir_lock_probe(dir, "db/LOCK", err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_read_mark(s, false, err);
    if (rv == MORTISE_OK && !s->stamped && !has_db(dir))
        return MORTISE_OK; /* its creation was interrupted */
    if (rv == MORTISE_OK)
        rv = mortise_ldb_copy(s, dir, MORTISE_LOGS_AS_IS, err);
    if (rv == MORTISE_OK && !s->stamped)
        rv = mortise_ldb_check_new(s->copied, err);
    if (rv == MORTISE_OK)
        rv = open_to_check(s, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_verify(s, err);
    return rv == MORTISE_OK ? read_all(s, err) : rv;
}

int mortise_store_check(const char *path, const struct mortise_mem *mem,
                        struct mortise_err *err)
{
    struct mortise_ldb *s = mortise_ldb_new(path, mem);
    int rv = s != NULL ? check(s, err) : mortise_nomem(err);

    mortise_ldb_close(s);
    return rv;
}
