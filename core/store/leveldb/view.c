/* view.c -- the store on LevelDB: read from a copy.
 *
 * LevelDB cannot open a database without writing to it.  If the store cannot be
 * written (a full disk, a read-only mount, files of another user), or must not
 * be because it is damaged, a copy is opened in a directory of its own.
 * Guarantees:
 *
 *   (1) Nothing in the store is written, made or removed.  Tables, which never
 *       change, are linked, or reached by a symbolic link from another file
 *       system.  Log, MANIFEST and CURRENT, which are small, are copied.
 *   (2) The view holds the lock of the store, so nobody else has the store open
 *       meanwhile.
 *   (3) Damage does not prevent opening.  If LevelDB cannot open the copy, its
 *       repair function is applied to it.  If the copy is known to be
 *       incomplete, that is recorded: at once if it was repaired or ends before
 *       the mark, and later when a block cannot be read.
 *   (4) The copy is removed when it is closed or, if its process was killed,
 *       when the next one is made (core/base/tempdir.h).
 *   (5) Only data with a valid checksum is shown.  LevelDB repairs and merges
 *       tables without verifying them, and writes new checksums, unless
 *       paranoid_checks is on; with it, LevelDB rejects a log with one bad
 *       record.  So it is on, and only the readable records of logs are copied
 *       (logfile.c).
 *
 * If an opening was killed, its files are aside (aside.c).  Then these are
 * copied, and not the files that it may have made from them.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/store/leveldb/aside.h"
#include "core/store/leveldb/dbfile.h"
#include "core/store/leveldb/directory.h"
#include "core/store/leveldb/ldb.h"
#include "core/store/leveldb/logfile.h"
#include "core/store/leveldb/tables.h"

/* ---- the copy ----------------------------------------------------------- */

struct db_copy {
    const struct mortise_mem *mem;
    int from, to; /* the two db/ directories */
    enum mortise_ldb_logs logs;
    bool aside;                  /* the files aside are the valid ones */
    struct mortise_tables named; /* by the MANIFEST, if it can be read */
};

/* LevelDB fails every read that may need a table without a footer or an index.
 * Omit such a table, so that it counts as missing.  A check
 * (MORTISE_LOGS_AS_IS) copies it, if it is as large as a footer, to report the
 * cause. */
static bool is_unusable_table(const struct db_copy *c, const char *name,
                              const char *as)
{
    struct stat st;

    if (c->logs != MORTISE_LOGS_AS_IS)
        return !mortise_tables_can_open(
            c->from, name, mortise_tables_size(&c->named, as), c->mem);
    return fstatat(c->from, name, &st, 0) == 0 &&
           st.st_size < MORTISE_TABLE_FOOTER;
}

/* (1) */
static int copy_table(const struct db_copy *c, const char *name, const char *as,
                      struct mortise_err *err)
{
    char target[NAME_MAX + 64];

    if (linkat(c->from, name, c->to, as, 0) == 0 || errno == EEXIST)
        return MORTISE_OK;
    snprintf(target, sizeof target, "/proc/self/fd/%d/%s", c->from, name);
    if (access(target, F_OK) == 0 && symlinkat(target, c->to, as) == 0)
        return MORTISE_OK;
    return mortise_directory_copy_file(c->from, name, c->to, as, err);
}

/* Write the readable records as a log without damage (5). */
static int write_clean_log(struct mortise_logfile *l, struct mortise_buf *out)
{
    while (mortise_logfile_next(l))
        mortise_logfile_write(out, &l->record);
    return l->record.failed || out->failed ? MORTISE_ENOMEM : MORTISE_OK;
}

static int copy_log(const struct db_copy *c, const char *name, const char *as,
                    struct mortise_err *err)
{
    struct mortise_logfile l;
    struct mortise_buf clean;
    int rv;

    mortise_buf_init(&clean, c->mem);
    mortise_logfile_init(&l, c->mem);
    rv = mortise_logfile_load(&l, c->from, name, err);
    if (rv == MORTISE_OK && write_clean_log(&l, &clean) != MORTISE_OK)
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = mortise_directory_write_file(c->to, as, clean.p, clean.n, false,
                                          err);
    mortise_logfile_finish(&l);
    mortise_buf_finish(&clean);
    return rv;
}

/* Copy one file of the database, if it is a valid one. */
static int copy_db_file(void *ud, int from, const char *name,
                        struct mortise_err *err)
{
    const struct db_copy *c = ud;
    const char *as = mortise_aside_strip_prefix(name);
    bool is_aside = as != name;

    if (!mortise_dbfile_is_regular(from, name))
        return MORTISE_OK; /* it counts as missing (3) */
    switch (mortise_dbfile_kind(as)) {
    case MORTISE_DBFILE_TABLE:
        return is_unusable_table(c, name, as) ||
                       (is_aside && !c->aside &&
                        !mortise_aside_is_last_link(from, name, c->mem))
                   ? MORTISE_OK
                   : copy_table(c, name, as, err);
    case MORTISE_DBFILE_LOG:
        if (c->logs == MORTISE_LOGS_NONE || is_aside != c->aside)
            return MORTISE_OK;
        return c->logs == MORTISE_LOGS_READABLE
                   ? copy_log(c, name, as, err)
                   : mortise_directory_copy_file(from, name, c->to, as, err);
    case MORTISE_DBFILE_MANIFEST:
    case MORTISE_DBFILE_CURRENT:
        return is_aside == c->aside
                   ? mortise_directory_copy_file(from, name, c->to, as, err)
                   : MORTISE_OK;
    case MORTISE_DBFILE_OTHER:
        break;
    }
    return MORTISE_OK;
}

static int copy_db_files(struct db_copy *c, struct mortise_err *err)
{
    int rv = mortise_aside_is_complete(c->from, &c->aside, c->mem, err);

    if (rv == MORTISE_OK)
        rv = mortise_aside_read_tables(&c->named, c->from, c->aside, c->mem,
                                       err);
    if (rv == MORTISE_OK || rv == MORTISE_ECORRUPT)
        rv = mortise_directory_for_each(c->from, "db", copy_db_file, c, err);
    mortise_tables_free(&c->named);
    return rv;
}

/* The copy goes to another place than the store (4), in case its disk
 * is full. */
static int make_scratch(struct mortise_ldb *s, struct mortise_err *err)
{
    int rv;

    assert(!mortise_tempdir_is_made(&s->scratch)); /* only one copy per view */
    rv = mortise_tempdir_make(&s->scratch, MORTISE_VIEW, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_release_str(s->mem, s->db_path);
    s->db_path = mortise_strdup(s->mem, s->scratch.path);
    return s->db_path != NULL ? MORTISE_OK : mortise_nomem(err);
}

int mortise_ldb_copy(struct mortise_ldb *s, int dir, enum mortise_ldb_logs logs,
                     struct mortise_err *err)
{
    int rv = make_scratch(s, err);

    if (rv != MORTISE_OK)
        return rv;
    s->copied = openat(dir, "db", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->copied < 0 && errno == ENOENT)
        return mortise_fail(err, MORTISE_ECORRUPT, "its database is missing");
    if (s->copied < 0)
        return mortise_syserr(err, errno, "open db");
    if (logs == MORTISE_LOGS_AS_IS)
        rv = mortise_aside_check(s->copied, err);
    if (rv != MORTISE_OK)
        return rv;
    struct db_copy c = {
        .mem = s->mem,
        .from = s->copied,
        .to = open(s->scratch.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
        .logs = logs};
    if (c.to < 0)
        return mortise_syserr(err, errno, "open %s", s->scratch.path);
    rv = copy_db_files(&c, err);
    close(c.to);
    return rv;
}

/* (4) */
void mortise_ldb_drop_copy(struct mortise_ldb *s)
{
    assert(mortise_tempdir_is_made(&s->scratch));
    mortise_tempdir_remove(&s->scratch);
    if (s->copied >= 0)
        close(s->copied);
    s->copied = -1;
}

/* ---- opening it --------------------------------------------------------- */

/* Did the repair set aside a table that it could not read completely? */
static bool has_lost_tables(const struct mortise_ldb *s)
{
    char *lost = mortise_ldb_join_path(s->mem, s->scratch.path, "lost");
    DIR *d = lost != NULL ? opendir(lost) : NULL;
    struct dirent *e;
    bool any = lost == NULL;

    while (d != NULL && !any && (e = readdir(d)) != NULL)
        any = mortise_dbfile_kind(e->d_name) == MORTISE_DBFILE_TABLE;
    if (d != NULL)
        closedir(d);
    mortise_release_str(s->mem, lost);
    return any;
}

/* (3), (5) */
int mortise_ldb_open_copy(struct mortise_ldb *s, bool *torn,
                          struct mortise_err *err)
{
    struct mortise_err why = {0};
    char *said = NULL;
    int rv = mortise_ldb_open(s, false, &why);

    assert(mortise_tempdir_is_made(
        &s->scratch)); /* never repair the store itself */
    *torn = false;
    if (rv != MORTISE_ECORRUPT) {
        if (rv != MORTISE_OK && err != NULL)
            *err = why;
        return rv;
    }
    mortise_ldb_set_incomplete(s, why.msg);
    *torn = strstr(why.msg, "missing files") != NULL;
    rv = mortise_ldb_check_memory(0, err);
    if (rv != MORTISE_OK)
        return rv;
    leveldb_repair_db(s->options, s->db_path, &said);
    rv = mortise_ldb_convert_error(said, err, "repair the copy");
    *torn = *torn || has_lost_tables(s);
    return rv == MORTISE_OK ? mortise_ldb_open(s, false, err) : rv;
}

/* (3) */
void mortise_ldb_set_incomplete(struct mortise_ldb *s, const char *words)
{
    pthread_mutex_lock(&s->writing);
    if (s->lacks.code == MORTISE_OK)
        mortise_fail(&s->lacks, MORTISE_ECORRUPT, "%s", words);
    pthread_mutex_unlock(&s->writing);
}

bool mortise_ldb_is_incomplete(struct mortise_store *store,
                               struct mortise_err *why)
{
    struct mortise_ldb *s = mortise_ldb_of(store);

    pthread_mutex_lock(&s->writing);
    *why = s->lacks;
    pthread_mutex_unlock(&s->writing);
    return why->code != MORTISE_OK;
}

/* Record it if the copy ends before the mark (3).  The stamp does not matter,
 * as it has no commits. */
static int check_copy_end(struct mortise_ldb *s, int dir,
                          struct mortise_err *err)
{
    struct mortise_err why;
    int rv = mortise_highwater_open(&s->water, dir, false, &why);

    s->stamped = true;
    if (rv == MORTISE_OK)
        rv = mortise_ldb_check_memory(0, &why);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_verify(s, &why);
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    if (rv != MORTISE_OK)
        mortise_ldb_set_incomplete(s, why.msg);
    return MORTISE_OK;
}

/* Open the view.  The lock is held. */
static int open_view(struct mortise_ldb *s, struct mortise_err *err)
{
    int dir = s->dir_lock.dir, rv;
    bool torn;

    rv = mortise_dir_lock_probe(dir, "db/LOCK", err);
    if (rv == MORTISE_OK)
        rv = mortise_directory_read_stamp(dir, &s->stamped, err);
    if (rv == MORTISE_ECORRUPT)
        rv = MORTISE_OK; /* it can be opened all the same (3) */
    if (rv == MORTISE_OK)
        rv = mortise_ldb_copy(s, dir, MORTISE_LOGS_READABLE, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_open_copy(s, &torn, err);
    if (rv == MORTISE_OK)
        rv = check_copy_end(s, dir, err);
    if (rv == MORTISE_OK)
        atomic_store(&s->dead, false);
    return rv;
}

int mortise_ldb_open_view(struct mortise_store **out, const char *path,
                          const struct mortise_mem *mem,
                          struct mortise_err *err)
{
    struct mortise_ldb *s = mortise_ldb_new(path, mem);
    int dir = -1, rv;

    *out = NULL;
    if (s == NULL)
        return mortise_nomem(err);
    s->looks = true;
    rv = mortise_directory_open_existing(&dir, path, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_lock(s, dir, false, err);
    if (rv == MORTISE_OK)
        rv = open_view(s, err);
    if (rv != MORTISE_OK) {
        mortise_ldb_close(s);
        return mortise_err_prefix(err, rv, "read a copy of store %s", path);
    }
    s->store.epoch = s->opening.epoch;
    *out = &s->store;
    return MORTISE_OK;
}
