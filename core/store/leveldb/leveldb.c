/* leveldb.c -- the store on LevelDB: opening, verifying, writing.
 *
 * A run must survive kill -9 and power failures at any instruction.
 * Guarantees:
 *
 *   (1) One write is one WriteBatch with sync=1 (R5).  LevelDB applies a batch
 *       completely or not at all, and commits are answered only after that
 *       (R6).  Without the sync, every test would pass until a power failure.
 *       A batch of lazy commits only is not synced, and is answered as such;
 *       the next sync includes it (8).
 *   (2) A commit enters a batch only if its run's head is the one that it
 *       expects, by sequence number and by id.  If two commits move the same
 *       head, one gets MORTISE_ECONFLICT.  One batch may have several commits
 *       of a run, in order.
 *   (3) Every batch puts key c/n, where n counts from 1 without a gap, and
 *       deletes c/(n - 65536).  After a short write, LevelDB continues to
 *       accept writes, and loses them.  That leaves a gap (R6b), with which the
 *       store does not open.  Opening verifies the last 4,096 numbers and all
 *       that were written since the last opening verified them.  So the cost
 *       depends on recent work and is not always 15 ms.
 *   (4) After any failed write the handle is dead.  The outcome of the batch is
 *       known only after the store was reopened and its heads were read again.
 *   (5) The epoch is one more than that of the last batch ever written, which
 *       c/n records.  So it grows with each opening that commits, durably with
 *       its first batch, and an opening that only reads writes no record.
 *   (6) Data that an open store shows is durable.  When LevelDB opens, it
 *       writes its log to a table and renames CURRENT to a manifest with that
 *       table.  But it does not sync the rename, and the end of the log may
 *       never have been synced, so a power failure would bring back the old
 *       CURRENT and a shorter log.  So we sync the directory.
 *   (7) A store of another format is not opened and not changed (directory.c).
 *       Neither is one that another process holds; the error has its pid
 *       (dir_lock.c).
 *   (8) A power failure preserves all batches up to some number, without a gap.
 *       LevelDB syncs only its current log, and begins a new one when its
 *       buffer is full.  Unsynced data in an older log could be lost while a
 *       newer batch is kept.  So while there is unsynced data, LevelDB must not
 *       do that by itself: we estimate its buffer from above, and sync and
 *       empty it before it can be full.
 *   (9) A store has an identity, which is in its first batch.  So no data of a
 *       store exists without its identity.
 *   (10) A store is a directory, not a path: LevelDB accesses it through the
 *        descriptor that holds its lock.  So it stays the same store when it is
 *        renamed, and LevelDB never writes to another directory that took its
 *        place.  After each write, before the answer, we check that the
 *        database is still in it, because data written to unlinked files is
 *        lost.
 *   (11) A child of fork() never reads or writes the store, and its exit or
 *        close changes nothing: each of these first checks that this is our
 *        process.
 *   (12) A store that ends before its last synced batch is MORTISE_ECORRUPT,
 *        and so is one without the mark, which has that number (highwater.c).
 *        The mark is written after each sync, and if that fails, the write has
 *        failed.  An opening that fails leaves the store as it was, for salvage
 *        (aside.c).  The mark and the stamp exist before the first batch, so
 *        commits without either are a loss, too.
 *   (13) On a full disk, the store opens and closes, and existing runs can
 *        commit while the reserve lasts (reserve.c).  A new run, which would
 *        need more and more space, gets MORTISE_ENOSPC; that does not count as
 *        a failed write.
 *   (14) LevelDB is C++, allocates on its own, and ends the process if it runs
 *        out of memory.  So we check for free memory before calling it
 *        (memory.c).  If it runs out all the same, (1) preserves the commits.
 *
 * mortise_ldb_convert_error() converts LevelDB's error strings.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/fault.h"
#include "core/base/table.h"
#include "core/store/leveldb/aside.h"
#include "core/store/leveldb/dbfile.h"
#include "core/store/leveldb/directory.h"
#include "core/store/leveldb/ldb.h"
#include "core/store/leveldb/owners.h"
#include "core/store/leveldb/reserve.h"
#include "core/store/leveldb/torn.h"
#include "core/store/leveldb/unfinished.h"

enum {
    VERIFIED_COMMITS =
        4096, /* number of commit records that every opening verifies */
    /* small, because it is replayed at the opening after a kill */
    WRITE_BUFFER = 512 * 1024,
    BUFFER_AT_FIRST = 16 * 1024, /* upper bound for the size of an empty one */
    PUT_OVERHEAD = 160, /* upper bound for the overhead of an entry in it */
    /* bytes of a batch between two checks for memory */
    MEMORY_CHECK_INTERVAL = 256 * 1024,
    /* number of batches between two sweeps, which list a directory */
    SWEEP_INTERVAL = 256
};

/* ---- LevelDB's messages ------------------------------------------------ */

static bool has_text_suffix(const char *s, const char *tail)
{
    size_t n = strlen(s), t = strlen(tail);

    return n >= t && memcmp(s + n - t, tail, t) == 0;
}

/* Is this LevelDB's message for `errnum`?  It ends with the text of strerror(),
 * which may be in the language of the process's locale. */
static bool is_message_for(const char *said, int errnum, const char *english)
{
    char words[256];

    return has_text_suffix(said, english) ||
           (strerror_r(errnum, words, sizeof words) == 0 &&
            has_text_suffix(said, words));
}

static int ldb_message_to_code(const char *said)
{
    /* A missing file, or one that is too short to be mapped, is a loss, too. */
    if (strncmp(said, "Corruption: ", 12) == 0 ||
        strncmp(said, "NotFound: ", 10) == 0 ||
        is_message_for(said, EINVAL, "Invalid argument"))
        return MORTISE_ECORRUPT;
    if (is_message_for(said, ENOSPC, "No space left on device") ||
        is_message_for(said, EDQUOT, "Disk quota exceeded") ||
        is_message_for(said, EFBIG, "File too large"))
        return MORTISE_ENOSPC;
    if (is_message_for(said, EACCES, "Permission denied"))
        return MORTISE_EDENIED;
    if (is_message_for(said, ENOMEM, "Cannot allocate memory"))
        return MORTISE_ENOMEM;
    return MORTISE_EIO;
}

/* Remove the path of our descriptor (10) from a message, in place.  The path
 * inside the store remains. */
static void trim_descriptor(char *said)
{
    static const char prefix[] = "/proc/self/fd/";
    char *at = strstr(said, prefix), *slash;

    slash = at != NULL ? strchr(at + sizeof prefix - 1, '/') : NULL;
    if (slash != NULL)
        memmove(at, slash + 1, strlen(slash + 1) + 1);
}

/* The same for the path of a copy (view.c), which becomes "db". */
static void trim_copy(char *said)
{
    char *name = strstr(said, "/" MORTISE_TEMPDIR_NAME(MORTISE_VIEW)), *slash,
         *at = name;

    slash = name != NULL ? strchr(name + 1, '/') : NULL;
    if (slash == NULL)
        return;
    while (at - said >= 2 && memcmp(at - 2, ": ", 2) != 0)
        at--;
    memcpy(at, "db", 2);
    memmove(at + 2, slash, strlen(slash) + 1);
}

/* If LevelDB read beyond the end of a file, reduce its unclear message to the
 * file's name. */
static bool trim_short_file_message(char *said)
{
    static const char kind[] = "IO error: ";
    size_t n = sizeof kind - 1;
    char *colon = strrchr(said, ':');

    if (strncmp(said, kind, n) != 0 || colon < said + n ||
        !is_message_for(said, EINVAL, "Invalid argument"))
        return false;
    *colon = '\0';
    memmove(said, said + n, strlen(said + n) + 1);
    return true;
}

int mortise_ldb_convert_error(char *said, struct mortise_err *err,
                              const char *doing)
{
    int code;

    if (said == NULL)
        return MORTISE_OK;
    trim_descriptor(said);
    trim_copy(said);
    code = ldb_message_to_code(said);
    if (trim_short_file_message(said))
        mortise_fail(err, code, "%s: Corruption: %s ends too early", doing,
                     said);
    else
        mortise_fail(err, code, "%s: %s", doing, said);
    leveldb_free(said);
    return code;
}

int mortise_ldb_iter_destroy(leveldb_iterator_t *it, int rv, const char *doing,
                             struct mortise_err *err)
{
    char *said = NULL;
    int torn;

    leveldb_iter_get_error(it, &said);
    leveldb_iter_destroy(it);
    torn = mortise_ldb_convert_error(said, err, doing);
    return torn != MORTISE_OK ? torn : rv;
}

int mortise_ldb_fail_record(struct mortise_err *err, int code, const char *what)
{
    if (code == MORTISE_EFORMAT)
        return mortise_fail(err, code, "another version of mortise wrote %s",
                            what);
    return mortise_fail(err, code, "%s cannot be decoded", what);
}

int mortise_ldb_get(struct mortise_ldb *s, const leveldb_readoptions_t *options,
                    const struct mortise_buf *key, char **value, size_t *size,
                    struct mortise_err *err)
{
    char *said = NULL;

    assert(
        s->db !=
        /* the caller checked mortise_ldb_check_usable(), or has just opened it */
        NULL);
    *value = NULL;
    *size = 0;
    if (key->failed)
        return mortise_nomem(err);
    *value = leveldb_get(s->db, options, key->p, key->n, size, &said);
    if (said != NULL)
        return mortise_ldb_convert_error(said, err, "read the store");
    return *value != NULL ? MORTISE_OK : MORTISE_ENOTFOUND;
}

int mortise_ldb_get_record(struct mortise_ldb *s,
                           const leveldb_readoptions_t *options,
                           const struct mortise_buf *key,
                           const struct mortise_record *of, void *out,
                           char **value, struct mortise_err *err)
{
    char *bytes;
    size_t n;
    int rv = mortise_ldb_get(s, options, key, &bytes, &n, err);

    if (rv == MORTISE_OK) {
        rv = mortise_record_decode(of, out, bytes, n);
        if (rv != MORTISE_OK)
            mortise_ldb_fail_record(err, rv, of->what);
    }
    if (value != NULL)
        *value = bytes;
    else
        leveldb_free(bytes);
    return rv;
}

int mortise_ldb_check_usable(struct mortise_ldb *s, struct mortise_err *err)
{
    if (!mortise_dir_lock_is_ours(&s->dir_lock))
        return mortise_fail(
            err, MORTISE_ESTATE,
            "this process is a fork of process %ld and cannot use its store",
            (long)s->dir_lock.pid);
    if (!atomic_load(&s->dead))
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_ESTATE,
                        "a write to the store failed; reopen the store");
}

int mortise_ldb_check_name(const char *name, struct mortise_err *err)
{
    if (name == NULL || mortise_key_is_name(name))
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_EINVAL,
                        "the name is longer than 65535 bytes: %.32s...", name);
}

/* ---- verifying --------------------------------------------------------- */

/* Read the commit record at the iterator; false: it is at none. */
static bool read_commit_record(const leveldb_iterator_t *it, uint64_t *n,
                               struct mortise_batch *batch, int *rv)
{
    bool is_whole;
    size_t size;
    const char *p;

    if (!leveldb_iter_valid(it))
        return false;
    p = leveldb_iter_key(it, &size);
    if (size == 0 || p[0] != MORTISE_KEY_COMMIT)
        return false;
    is_whole = mortise_key_read_commit(n, p, size);
    p = leveldb_iter_value(it, &size);
    *rv = is_whole
              ? mortise_record_decode(&mortise_record_batch, batch, p, size)
              : MORTISE_ECORRUPT;
    return true;
}

/* Move the iterator to the last commit record, if any.  A real number never
 * reaches UINT64_MAX. */
static void seek_last_commit(struct mortise_ldb *s, leveldb_iterator_t *it)
{
    mortise_key_commit(&s->key, UINT64_MAX);
    leveldb_iter_seek(it, s->key.p, s->key.n);
    if (leveldb_iter_valid(it))
        leveldb_iter_prev(it);
    else
        leveldb_iter_seek_to_last(it);
}

/* Check that all batches from `want` to `last` exist (3). */
static int walk_commits(struct mortise_ldb *s, leveldb_iterator_t *it,
                        uint64_t want, uint64_t last, struct mortise_err *err)
{
    struct mortise_batch batch;
    uint64_t n;
    int rv = MORTISE_OK;

    assert(want > 0); /* commits count from 1 */
    mortise_key_commit(&s->key, want);
    leveldb_iter_seek(it, s->key.p, s->key.n);
    for (; want <= last; want++) {
        if (!read_commit_record(it, &n, &batch, &rv) || n != want)
            return mortise_fail(err, MORTISE_ECORRUPT,
                                "commit %llu is missing: the store lost data",
                                (unsigned long long)want);
        if (rv != MORTISE_OK)
            return mortise_ldb_fail_record(err, rv, "a commit record");
        leveldb_iter_next(it);
    }
    return MORTISE_OK;
}

/* Is there anything in it at all? */
static bool is_empty_database(leveldb_iterator_t *it)
{
    leveldb_iter_seek_to_first(it);
    return !leveldb_iter_valid(it);
}

static int verify_commits(struct mortise_ldb *s, leveldb_iterator_t *it,
                          struct mortise_err *err)
{
    struct mortise_batch newest = {0};
    uint64_t last = 0, kept, from;
    int rv = MORTISE_OK;

    mortise_key_commit(&s->key, 0);
    if (s->key.failed)
        return mortise_nomem(err);
    seek_last_commit(s, it);
    if (!read_commit_record(it, &last, &newest, &rv) && !is_empty_database(it))
        return mortise_fail(err, MORTISE_ECORRUPT,
                            "the record of its last commit is missing");
    if (rv != MORTISE_OK)
        return mortise_ldb_fail_record(err, rv, "a commit record");
    s->commits = last;
    s->opening = (struct mortise_batch){newest.epoch + 1, last};
    kept = mortise_ldb_first_of(MORTISE_COMMIT_RECORDS_MAX, last);
    from = mortise_ldb_first_of(VERIFIED_COMMITS, last);
    if (from > newest.verified)
        from = newest.verified > kept ? newest.verified : kept;
    assert(from >= kept); /* batches before `kept` were deleted regularly */
    return walk_commits(s, it, from, last, err);
}

/* Fail if there is no mark: without it, lost commits at the end
 * go unnoticed. */
static int check_mark_exists(const struct mortise_ldb *s,
                             struct mortise_err *err)
{
    if (s->water.fd >= 0)
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_ECORRUPT,
                        "its file 'mark', which records the last commit, is "
                        "missing: the newest commits may be missing, too");
}

/* Fail if there is no stamp, although `number` batches were written (12). */
static int check_stamp_exists(const struct mortise_ldb *s, uint64_t number,
                              struct mortise_err *err)
{
    if (s->stamped || number == 0)
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_ECORRUPT,
                        "its file 'format' is missing, but it has commits up "
                        "to number %llu: 'mortise store salvage NEW-DIR' "
                        "copies all readable data to a new store",
                        (unsigned long long)number);
}

/* Read the stamp in the database: the db/ directory may come from elsewhere. */
int mortise_ldb_verify_stamp(struct mortise_ldb *s, struct mortise_err *err)
{
    uint32_t format;
    int rv;

    mortise_key_prefix_of_tag(&s->key, MORTISE_KEY_STAMP);
    rv = mortise_ldb_get_record(s, s->checked, &s->key, &mortise_record_stamp,
                                &format, NULL, err);
    if (rv == MORTISE_ENOTFOUND)
        return mortise_fail(
            err, MORTISE_ECORRUPT,
            "its database (db/) is not the database of a store");
    if (rv == MORTISE_OK)
        rv = mortise_stamp_check(format, err);
    return rv == MORTISE_OK ? check_mark_exists(s, err) : rv;
}

/* Fail if the mark is ahead of the database (12). */
static int verify_end(const struct mortise_ldb *s, struct mortise_err *err)
{
    uint64_t has = s->commits, wants = s->water.number;

    if (s->water.fd < 0 || has >= wants)
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_ECORRUPT,
                        "%llu commit%s missing: number %llu was written and "
                        "synced, but the last readable one is %llu",
                        (unsigned long long)(wants - has),
                        wants - has == 1 ? " is" : "s are",
                        (unsigned long long)wants, (unsigned long long)has);
}

/* Read the identity (9). */
static int read_identity(struct mortise_ldb *s, struct mortise_err *err)
{
    uint8_t id[MORTISE_STORE_ID];
    int rv;

    mortise_key_prefix_of_tag(&s->key, MORTISE_KEY_IDENTITY);
    rv = mortise_ldb_get_record(s, s->checked, &s->key,
                                &mortise_record_identity, id, NULL, err);
    s->identified = rv == MORTISE_OK;
    if (rv == MORTISE_ENOTFOUND && s->commits == 0)
        return MORTISE_OK;
    if (rv == MORTISE_ENOTFOUND)
        return mortise_fail(err, MORTISE_ECORRUPT,
                            "the record of its identity is missing");
    if (rv != MORTISE_OK)
        return rv;
    if (s->water.fd >= 0 && memcmp(id, s->water.identity, sizeof id) != 0)
        return mortise_fail(err, MORTISE_ECORRUPT,
                            "its file 'mark' belongs to another store");
    memcpy(s->store.identity, id, sizeof id);
    return MORTISE_OK;
}

int mortise_ldb_verify(struct mortise_ldb *s, struct mortise_err *err)
{
    leveldb_iterator_t *it = leveldb_create_iterator(s->db, s->checked);
    int rv = MORTISE_OK;

    if (!is_empty_database(it))
        rv = mortise_ldb_verify_stamp(s, err);
    if (rv == MORTISE_OK)
        rv = verify_commits(s, it, err);
    if (rv == MORTISE_OK)
        rv = check_stamp_exists(s, s->commits, err);
    if (rv == MORTISE_OK)
        rv = verify_end(s, err);
    if (rv == MORTISE_OK)
        rv = read_identity(s, err);
    return mortise_ldb_iter_destroy(it, rv, "verify the store", err);
}

/* ---- opening ----------------------------------------------------------- */

char *mortise_ldb_join_path(const struct mortise_mem *mem, const char *dir,
                            const char *name)
{
    size_t d = strlen(dir), n = strlen(name);
    char *path = mortise_alloc(mem, d + 1 + n + 1);

    if (path == NULL)
        return NULL;
    memcpy(path, dir, d);
    path[d] = '/';
    memcpy(path + d + 1, name, n + 1);
    return path;
}

static const struct mortise_store_ops ops;

struct mortise_ldb *mortise_ldb_new(const char *path,
                                    const struct mortise_mem *mem)
{
    struct mortise_ldb *s =
        mortise_ldb_has_memory(0) ? mortise_zalloc(mem, sizeof *s) : NULL;

    if (s == NULL)
        return NULL;
    s->mem = mem;
    s->water.fd = s->copied = s->db_dir = -1;
    atomic_init(&s->dead, true); /* until it is open */
    pthread_mutex_init(&s->writing, NULL);
    mortise_buf_init(&s->key, mem);
    mortise_buf_init(&s->value, mem);
    s->options = leveldb_options_create();
    leveldb_options_set_paranoid_checks(s->options, 1);
    leveldb_options_set_write_buffer_size(s->options, WRITE_BUFFER);
    leveldb_options_set_compression(s->options, leveldb_no_compression);
    s->checked = leveldb_readoptions_create();
    leveldb_readoptions_set_verify_checksums(s->checked, 1);
    s->synced = leveldb_writeoptions_create();
    s->lazy = leveldb_writeoptions_create();
    leveldb_writeoptions_set_sync(s->synced, 1);
    s->path = mortise_strdup(mem, path);
    s->store.ops = &ops;
    s->store.dir = -1;
    /* A new store keeps this identity. */
    randombytes_buf(s->store.identity, sizeof s->store.identity);
    if (s->path == NULL) {
        mortise_ldb_close(s);
        return NULL;
    }
    return s;
}

/* Set the path of the database for LevelDB (10).  Without /proc, it is the real
 * path. */
static bool set_db_path(struct mortise_ldb *s)
{
    char dir[64];

    snprintf(dir, sizeof dir, "/proc/self/fd/%d", s->dir_lock.dir);
    s->db_path = mortise_ldb_join_path(
        s->mem, access(dir, F_OK) == 0 ? dir : s->path, "db");
    return s->db_path != NULL;
}

static int measure_log(void *ud, int db, const char *name,
                       struct mortise_err *err)
{
    size_t *most = ud;
    struct stat st;

    (void)err;
    if (mortise_dbfile_kind(name) == MORTISE_DBFILE_LOG &&
        fstatat(db, name, &st, 0) == 0 && st.st_size > (off_t)*most)
        *most = (size_t)st.st_size;
    return MORTISE_OK;
}

/* The size of the longest log: LevelDB replays them one after another. */
static size_t get_longest_log(const char *db_path)
{
    int db = open(db_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t most = 0;

    if (db < 0)
        return 0;
    mortise_directory_for_each(db, "db", measure_log, &most, NULL);
    close(db);
    return most;
}

int mortise_ldb_open(struct mortise_ldb *s, bool create,
                     struct mortise_err *err)
{
    char *said = NULL;
    bool lost;
    int rv = mortise_ldb_check_memory(get_longest_log(s->db_path), err);

    assert(s->db == NULL && s->db_path != NULL);
    if (rv != MORTISE_OK)
        return rv;
    leveldb_options_set_create_if_missing(s->options, create);
    s->db = leveldb_open(s->options, s->db_path, &said);
    if (said == NULL)
        return MORTISE_OK;
    s->db = NULL;
    /* LevelDB's errors for a missing CURRENT or MANIFEST. */
    lost = strncmp(said, "NotFound: ", 10) == 0 ||
           strncmp(said, "Invalid argument: ", 18) == 0;
    rv = mortise_ldb_convert_error(said, err, "open the database");
    return lost ? mortise_fail(err, MORTISE_ECORRUPT,
                               "files of its database are missing")
                : rv;
}

/* Open the database with LevelDB and verify it. */
static int open_and_verify(struct mortise_ldb *s, bool create,
                           struct mortise_err *err)
{
    int rv = mortise_ldb_open(s, create, err);

    FAULT_POINT("store: opened");
    if (rv == MORTISE_OK)
        rv = mortise_ldb_check_memory(0, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_verify(s, err);
    if (rv != MORTISE_OK && s->db != NULL) {
        leveldb_close(s->db);
        s->db = NULL;
    }
    return rv;
}

/* Is it a table, or a log with a batch? */
static int find_batch_file(void *ud, int db, const char *name,
                           struct mortise_err *err)
{
    enum mortise_dbfile kind =
        mortise_dbfile_kind(mortise_aside_strip_prefix(name));
    bool *any = ud;
    struct stat st;

    (void)err;
    if (kind == MORTISE_DBFILE_TABLE)
        *any = true;
    else if (kind == MORTISE_DBFILE_LOG && fstatat(db, name, &st, 0) == 0)
        *any |= st.st_size > 0;
    return MORTISE_OK;
}

int mortise_ldb_check_new(int db, struct mortise_err *err)
{
    bool any = false;
    int rv = MORTISE_OK;

    if (faccessat(db, "CURRENT", F_OK, AT_SYMLINK_NOFOLLOW) != 0)
        rv = mortise_directory_for_each(db, "db", find_batch_file, &any, err);
    return any ? mortise_fail(err, MORTISE_ECORRUPT,
                              "files of its database are missing")
               : rv;
}

/* Open with the files put aside (12), which are put back on failure. */
static int try_open_database(struct mortise_ldb *s, int db, bool create,
                             bool torn, struct mortise_err *err)
{
    struct mortise_err here;
    int rv = mortise_aside_save(db, s->mem, err);

    if (rv != MORTISE_OK)
        return rv;
    if (torn)
        rv = mortise_torn_remove_end(db, s->mem, err);
    if (rv == MORTISE_OK)
        rv = open_and_verify(s, create, err);
    if (rv != MORTISE_OK)
        /* or the next opening does it */
        mortise_aside_restore(db, s->mem, &here);
    return rv;
}

/* Open, and try again if the first try may have failed because of files from a
 * killed opening, which have been put back since, or because of a torn log. */
static int open_db_with_retries(struct mortise_ldb *s, int db, bool create,
                                struct mortise_err *err)
{
    bool killed = false;
    int rv = mortise_aside_check(db, err);

    if (rv == MORTISE_OK && create)
        rv = mortise_ldb_check_new(db, err);
    if (rv == MORTISE_OK)
        rv = mortise_aside_is_complete(db, &killed, s->mem, err);
    if (rv != MORTISE_OK)
        return rv;
    rv = try_open_database(s, db, create, false, err);
    if (rv == MORTISE_ECORRUPT && killed)
        rv = try_open_database(s, db, create, false, err);
    if (rv == MORTISE_ECORRUPT && mortise_torn_is_present(db, s->mem))
        rv = try_open_database(s, db, create, true, err);
    if (rv != MORTISE_OK)
        return rv;
    FAULT_POINT("store: verified");
    rv = mortise_aside_drop(db, err);
    s->linked = true;
    if (rv == MORTISE_OK && fsync(db) != 0)
        rv = mortise_syserr(err, errno, "sync db");
    if (rv != MORTISE_OK) {
        leveldb_close(s->db);
        s->db = NULL;
    }
    return rv;
}

static int open_db(struct mortise_ldb *s, bool create, struct mortise_err *err)
{
    int db = openat(s->dir_lock.dir, "db", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rv;

    if (db < 0 && errno == ENOENT)
        return mortise_fail(err, MORTISE_ECORRUPT, "its database is missing");
    if (db < 0)
        return mortise_syserr(err, errno, "open db");
    assert(s->db == NULL && s->db_dir < 0 &&
           !mortise_tempdir_is_made(&s->scratch));
    s->buffered = BUFFER_AT_FIRST; /* it begins with an empty log */
    s->unsynced = false;
    s->cache.known = false;
    rv = open_db_with_retries(s, db, create, err);
    if (rv != MORTISE_OK) {
        close(db);
        return rv;
    }
    s->db_dir = db;
    atomic_store(&s->dead, false);
    return MORTISE_OK;
}

/* Write the mark and the stamp of a new store. */
static int write_mark_and_stamp(struct mortise_ldb *s, struct mortise_err *err)
{
    int dir = s->dir_lock.dir, rv = mortise_directory_sync(dir, err);

    assert(s->held && s->db != NULL); /* the database exists before the stamp */
    if (rv == MORTISE_OK && s->water.fd < 0)
        rv = mortise_highwater_make(&s->water, dir, s->store.identity,
                                    s->commits, err);
    if (rv == MORTISE_OK && !s->unfinished)
        rv = mortise_directory_write_stamp(dir, err);
    s->stamped = s->stamped || rv == MORTISE_OK;
    return rv;
}

int mortise_ldb_mark_complete(struct mortise_ldb *s, struct mortise_err *err)
{
    int rv = mortise_directory_sync(s->dir_lock.dir, err);

    assert(s->unfinished && !s->unsynced); /* everything is on disk */
    s->unfinished = false;
    return rv == MORTISE_OK
               ? mortise_directory_write_stamp(s->dir_lock.dir, err)
               : rv;
}

int mortise_ldb_read_mark(struct mortise_ldb *s, bool writing,
                          struct mortise_err *err)
{
    int dir = s->dir_lock.dir;
    int rv = s->unfinished
                 ? MORTISE_OK
                 : mortise_directory_read_stamp(dir, &s->stamped, err);

    if (rv == MORTISE_OK)
        rv = mortise_highwater_open(&s->water, dir, writing, err);
    if (rv == MORTISE_OK && s->stamped)
        rv = check_mark_exists(s, err);
    if (rv == MORTISE_OK)
        rv = check_stamp_exists(s, s->water.number, err);
    if (rv == MORTISE_OK && s->water.fd >= 0)
        memcpy(s->store.identity, s->water.identity, sizeof s->store.identity);
    return rv;
}

/* Open the database.  If the disk is full, release the reserve and try again
 * (13). */
static int open_with_reserve(struct mortise_ldb *s, bool create,
                             struct mortise_err *err)
{
    int rv = open_db(s, create, err);

    if (rv != MORTISE_ENOSPC || !mortise_reserve_release(s->dir_lock.dir))
        return rv;
    return open_db(s, create, err);
}

/* Open the held store, in the order that directory.c and dir_lock.c require. */
static int open_held_store(struct mortise_ldb *s, struct mortise_err *err)
{
    int dir = s->dir_lock.dir, rv;
    bool is_new;

    if (!set_db_path(s))
        return mortise_nomem(err);
    rv = mortise_dir_lock_probe(dir, "db/LOCK", err);
    if (rv == MORTISE_OK && s->unfinished)
        rv = mortise_unfinished_start(dir, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_read_mark(s, true, err);
    if (rv != MORTISE_OK)
        return rv;
    is_new = !s->stamped; /* or its creation was interrupted */
    if (is_new)
        rv = mortise_directory_make_db(dir, err);
    if (rv == MORTISE_OK)
        rv = open_with_reserve(s, is_new, err);
    if (rv == MORTISE_EIO && s->db == NULL &&
        mortise_dir_lock_probe(dir, "db/LOCK", err) == MORTISE_EBUSY)
        rv = MORTISE_EBUSY; /* another process was faster */
    return rv == MORTISE_OK && is_new ? write_mark_and_stamp(s, err) : rv;
}

int mortise_ldb_lock(struct mortise_ldb *s, int dir, bool tables,
                     struct mortise_err *err)
{
    int rv = mortise_dir_lock_acquire(&s->dir_lock, dir, err);

    s->held = rv == MORTISE_OK;
    s->store.dir = s->held ? dir : -1;
    return s->held ? mortise_owners_check(dir, s->path, tables, err) : rv;
}

int mortise_ldb_open_or_create(struct mortise_ldb **out, const char *path,
                               const uint8_t identity[MORTISE_STORE_ID],
                               const struct mortise_mem *mem,
                               struct mortise_err *err)
{
    struct mortise_ldb *s = mortise_ldb_new(path, mem);
    int dir = -1, rv;

    *out = NULL;
    if (s == NULL)
        return mortise_nomem(err);
    s->unfinished = identity != NULL;
    if (identity != NULL)
        memcpy(s->store.identity, identity, sizeof s->store.identity);
    rv = mortise_directory_open(&dir, path, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_lock(s, dir, false, err);
    if (rv == MORTISE_OK && !s->unfinished)
        rv = mortise_directory_check_ours(dir, err);
    if (rv == MORTISE_OK)
        rv = mortise_owners_check_links(dir, path, err);
    if (rv == MORTISE_OK)
        rv = open_held_store(s, err);
    if (rv != MORTISE_OK) {
        mortise_ldb_close(s);
        return mortise_err_prefix(err, rv, "open store %s", path);
    }
    s->store.closed_off_mode = mortise_directory_restrict_mode(dir);
    s->store.epoch = s->opening.epoch;
    *out = s;
    return MORTISE_OK;
}

static int open_leveldb_store(struct mortise_store **out, const char *path,
                              const struct mortise_mem *mem,
                              struct mortise_err *err)
{
    struct mortise_ldb *s;
    int rv = mortise_ldb_open_or_create(&s, path, NULL, mem, err);

    *out = rv == MORTISE_OK ? &s->store : NULL;
    return rv;
}

static void close_db(struct mortise_ldb *s)
{
    if (s->db != NULL)
        leveldb_close(s->db);
    s->db = NULL;
    if (s->db_dir >= 0 && s->linked)
        s->linked = mortise_aside_drop_removed(s->db_dir);
    if (s->db_dir >= 0)
        close(s->db_dir);
    s->db_dir = -1;
}

void mortise_ldb_close(struct mortise_ldb *s)
{
    if (s == NULL || (s->held && !mortise_dir_lock_is_ours(&s->dir_lock)))
        return; /* in a forked child, LevelDB would change the files */
    close_db(s);
    if (mortise_tempdir_is_made(&s->scratch))
        mortise_ldb_drop_copy(s);
    leveldb_options_destroy(s->options);
    leveldb_readoptions_destroy(s->checked);
    leveldb_writeoptions_destroy(s->synced);
    leveldb_writeoptions_destroy(s->lazy);
    mortise_highwater_close(&s->water);
    if (s->held)
        mortise_dir_lock_release(&s->dir_lock);
    pthread_mutex_destroy(&s->writing);
    mortise_buf_finish(&s->key);
    mortise_buf_finish(&s->value);
    mortise_ldb_cancel_graph_sweep(s);
    mortise_ldb_spawns_close(s);
    mortise_release(s->mem, s->marks, s->n_marks * sizeof *s->marks);
    mortise_release_str(s->mem, s->db_path);
    mortise_release_str(s->mem, s->path);
    mortise_release(s->mem, s, sizeof *s);
}

static int reopen(struct mortise_store *store, struct mortise_err *err)
{
    struct mortise_ldb *s = mortise_ldb_of(store);
    int rv;

    if (!mortise_dir_lock_is_ours(&s->dir_lock))
        return mortise_ldb_check_usable(s, err);
    if (!atomic_load(&s->dead) && atomic_exchange(&s->refused, false))
        return MORTISE_OK; /* nothing was written (14) */
    assert(!mortise_tempdir_is_made(
        &s->scratch)); /* no write to a copy ever fails (view.c) */
    atomic_store(&s->dead, true);
    s->knows_graph = false;
    memset(s->spots, 0, sizeof s->spots);
    mortise_ldb_cancel_graph_sweep(s);
    close_db(s);
    if (s->full)
        mortise_reserve_release(s->dir_lock.dir);
    rv = open_with_reserve(s, false, err);
    s->store.epoch = s->opening.epoch;
    return rv != MORTISE_OK
               ? mortise_err_prefix(err, rv, "reopen store %s", s->path)
               : MORTISE_OK;
}

static bool wrote(struct mortise_store *store)
{
    struct mortise_ldb *s = mortise_ldb_of(store);
    bool wrote;

    pthread_mutex_lock(&s->writing);
    wrote = s->commits > s->opening.verified;
    pthread_mutex_unlock(&s->writing);
    return wrote;
}

/* ---- writing ----------------------------------------------------------- */

/* Add an entry of n bytes to the upper bound of LevelDB's buffer.  The buffer
 * allocates blocks, of which at most a third is unused (util/arena.cc). */
static void add_to_buffered(struct mortise_ldb *s, size_t n)
{
    s->buffered += (n + PUT_OVERHEAD) / 2 * 3;
}

void mortise_ldb_put_bytes(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                           const char *key, size_t key_size, const char *value,
                           size_t value_size)
{
    assert(key_size > 0 && value_size > 0); /* a tag, and a version */
    leveldb_writebatch_put(batch, key, key_size, value, value_size);
    add_to_buffered(s, key_size + value_size);
}

/* Small batches are covered by the check at the beginning of the batch. */
bool mortise_ldb_can_put(struct mortise_ldb *s, size_t n)
{
    s->batched += n + PUT_OVERHEAD;
    if (s->batched - s->checked_at < MEMORY_CHECK_INTERVAL)
        return true;
    s->checked_at = s->batched;
    return mortise_ldb_has_memory(s->batched);
}

int mortise_ldb_put(struct mortise_ldb *s, leveldb_writebatch_t *batch)
{
    if (s->key.failed || s->value.failed ||
        !mortise_ldb_can_put(s, s->key.n + s->value.n))
        return MORTISE_ENOMEM;
    mortise_ldb_put_bytes(s, batch, s->key.p, s->key.n, s->value.p, s->value.n);
    mortise_buf_clear(&s->value);
    return MORTISE_OK;
}

int mortise_ldb_put_record(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                           const struct mortise_record *of, const void *record)
{
    assert(s->value.n == 0); /* the last put has emptied it */
    mortise_record_encode(&s->value, of, record);
    return mortise_ldb_put(s, batch);
}

int mortise_ldb_delete(struct mortise_ldb *s, leveldb_writebatch_t *batch)
{
    if (s->key.failed)
        return MORTISE_ENOMEM;
    assert(s->key.n > 0);
    leveldb_writebatch_delete(batch, s->key.p, s->key.n);
    add_to_buffered(s, s->key.n);
    return MORTISE_OK;
}

/* An id of a removed run is in use, too: set seq to 1. */
static int get_removed_spot(struct mortise_ldb *s,
                            const struct mortise_commit *c,
                            struct mortise_head_version *at,
                            struct mortise_err *err)
{
    char *value;
    size_t n;
    int rv;

    mortise_key_tombstone(&s->key, c->tenant, c->run);
    rv = mortise_ldb_get(s, s->checked, &s->key, &value, &n, err);
    leveldb_free(value);
    at->seq = rv == MORTISE_OK;
    return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
}

static int get_stored_spot(struct mortise_ldb *s,
                           const struct mortise_commit *c,
                           struct mortise_head_version *at,
                           struct mortise_err *err)
{
    struct mortise_head head;
    char *value;
    int rv;

    *at = (struct mortise_head_version){0};
    mortise_key_head(&s->key, c->tenant, c->run);
    rv = mortise_ldb_get_record(s, s->checked, &s->key, &mortise_record_head,
                                &head, &value, err);
    leveldb_free(value);
    if (rv == MORTISE_ENOTFOUND)
        return c->expected_seq == 0 ? get_removed_spot(s, c, at, err)
                                    : MORTISE_OK;
    if (rv == MORTISE_OK)
        *at = (struct mortise_head_version){head.seq, head.checkpoint};
    return rv;
}

static bool is_same_run(const struct mortise_commit *a,
                        const struct mortise_commit *b)
{
    return a->run != NULL && strcmp(a->run, b->run) == 0 &&
           strcmp(a->tenant, b->tenant) == 0;
}

/* Get the head of the run after the first `i` commits of the batch. */
static int get_spot_before(struct mortise_ldb *s,
                           struct mortise_commit *const *commits, size_t i,
                           struct mortise_head_version *at,
                           struct mortise_err *err)
{
    const struct mortise_commit *c = commits[i];

    assert(i < s->n_marks);
    for (size_t k = i; k-- > 0;) {
        const struct mortise_commit *e = commits[k];

        if (s->marks[k] == s->marks[i] && e->result == MORTISE_OK &&
            is_same_run(e, c)) {
            *at =
                (struct mortise_head_version){e->head.seq, e->head.checkpoint};
            return MORTISE_OK;
        }
    }
    return get_stored_spot(s, c, at, err);
}

/* Was the expected head put recently?  Most commits follow one that was put a
 * moment ago and need not read the store.  Only the newest head of a run is
 * remembered, and its slot may have that of another run. */
static bool is_head_remembered(const struct mortise_ldb *s,
                               const struct mortise_commit *c, uint64_t mark)
{
    const struct mortise_head_version *at =
        &s->spots[mark % MORTISE_HEAD_CACHE_SLOTS].at;

    return c->expected_seq != 0 && at->seq == c->expected_seq &&
           s->spots[mark % MORTISE_HEAD_CACHE_SLOTS].mark == mark &&
           memcmp(&at->checkpoint, &c->checkpoint.parent,
                  sizeof at->checkpoint) == 0;
}

static void remember_head(struct mortise_ldb *s, const struct mortise_commit *c,
                          uint64_t mark)
{
    s->spots[mark % MORTISE_HEAD_CACHE_SLOTS].mark = mark;
    s->spots[mark % MORTISE_HEAD_CACHE_SLOTS].at =
        (struct mortise_head_version){c->head.seq, c->head.checkpoint};
}

void mortise_ldb_forget_head(struct mortise_ldb *s, const char *tenant,
                             const char *run)
{
    uint64_t mark = mortise_hash_strs(tenant, run);

    if (s->spots[mark % MORTISE_HEAD_CACHE_SLOTS].mark == mark)
        s->spots[mark % MORTISE_HEAD_CACHE_SLOTS].at =
            (struct mortise_head_version){0};
}

/* Is there space for a new run (13)?  Checked by the first write, and by each
 * new run while there is none. */
static bool has_run_space(struct mortise_ldb *s)
{
    if (!s->roomy)
        s->roomy = mortise_reserve_make(s->dir_lock.dir);
    return s->roomy;
}

/* Does the commit match the head (2)? */
static int check_expected_head(struct mortise_ldb *s,
                               const struct mortise_commit *c,
                               const struct mortise_head_version *at)
{
    if (c->expected_seq == 0 && at->seq == 0)
        return has_run_space(s) ? MORTISE_OK : MORTISE_ENOSPC;
    if (c->expected_seq == 0)
        return MORTISE_EEXISTS;
    if (at->seq != c->expected_seq ||
        memcmp(&at->checkpoint, &c->checkpoint.parent, sizeof at->checkpoint) !=
            0)
        return MORTISE_ECONFLICT;
    return MORTISE_OK;
}

/* Open or close a request: put or delete its record and its deadline. */
static int put_request(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                       const struct mortise_commit *c,
                       const struct mortise_pending *p, bool opens)
{
    int rv = MORTISE_OK;

    /* else the request would have no record */
    assert(!p->timer || p->deadline_ms != 0);
    if (!p->timer) {
        mortise_key_pending(&s->key, c->tenant, c->run, p->id);
        rv = opens
                 ? mortise_ldb_put_record(s, batch, &mortise_record_pending, p)
                 : mortise_ldb_delete(s, batch);
    }
    if (rv != MORTISE_OK || p->deadline_ms == 0)
        return rv;
    mortise_key_deadline(&s->key, p->deadline_ms, c->tenant, c->run, p->id);
    return opens ? mortise_ldb_put_record(s, batch, &mortise_record_deadline,
                                          &p->timer)
                 : mortise_ldb_delete(s, batch);
}

static int put_requests(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                        const struct mortise_commit *c)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; i < c->n_closes && rv == MORTISE_OK; i++)
        rv = put_request(s, batch, c, &c->closes[i], false);
    for (size_t i = 0; i < c->n_opens && rv == MORTISE_OK; i++)
        rv = put_request(s, batch, c, &c->opens[i], true);
    return rv;
}

static int put_kv(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                  const struct mortise_commit *c, const struct mortise_kv *kv)
{
    mortise_key_kv(&s->key, c->tenant, kv->plugin, kv->key, kv->key_size);
    if (kv->value == NULL)
        return mortise_ldb_delete(s, batch);
    return mortise_ldb_put_record(
        s, batch, &mortise_record_kv,
        &(struct mortise_value){kv->value, kv->value_size});
}

/* Put the graph once per digest.  Every new run brings the text of its graph,
 * and most new runs have the same graph as the last one. */
static int put_graph(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                     const struct mortise_commit *c, struct mortise_err *err)
{
    const uint8_t *digest = c->checkpoint.graph;
    char *value;
    size_t n;
    int rv;

    if (s->knows_graph && memcmp(s->graph, digest, MORTISE_DIGEST) == 0)
        return MORTISE_OK;
    mortise_key_graph(&s->key, digest);
    rv = mortise_ldb_get(s, s->checked, &s->key, &value, &n, err);
    leveldb_free(value);
    if (rv == MORTISE_ENOTFOUND) {
        mortise_record_encode_graph(&s->value, c->graph, c->n_graph);
        rv = mortise_ldb_put(s, batch);
    }
    if (rv == MORTISE_OK) {
        memcpy(s->graph, digest, MORTISE_DIGEST);
        s->knows_graph = true;
    }
    return rv;
}

static int put_commit(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                      const struct mortise_commit *c, struct mortise_err *err)
{
    int rv;

    assert(c->result == MORTISE_OK);
    mortise_key_head(&s->key, c->tenant, c->run);
    rv = mortise_ldb_put_record(s, batch, &mortise_record_head, &c->head);
    if (rv != MORTISE_OK)
        return rv;
    mortise_key_checkpoint(&s->key, c->tenant, c->run, c->checkpoint.seq);
    rv = mortise_ldb_put_record(s, batch, &mortise_record_checkpoint,
                                &c->checkpoint);
    if (rv == MORTISE_OK)
        rv = put_requests(s, batch, c);
    for (size_t i = 0; rv == MORTISE_OK && i < c->n_kvs; i++)
        rv = put_kv(s, batch, c, &c->kvs[i]);
    if (rv == MORTISE_OK && c->n_cached > 0)
        rv = mortise_ldb_cache_put(s, batch, c, err);
    if (rv == MORTISE_OK && c->n_graph > 0)
        rv = put_graph(s, batch, c, err);
    return rv;
}

/* Are all names of a commit short enough for keys? */
static bool has_valid_key_names(const struct mortise_commit *c)
{
    bool ok = mortise_key_is_name(c->tenant) &&
              (c->run == NULL || mortise_key_is_name(c->run));

    for (size_t i = 0; i < c->n_opens && ok; i++)
        ok = mortise_key_is_name(c->opens[i].id);
    for (size_t i = 0; i < c->n_closes && ok; i++)
        ok = mortise_key_is_name(c->closes[i].id);
    for (size_t i = 0; i < c->n_kvs && ok; i++)
        ok = mortise_key_is_name(c->kvs[i].plugin);
    for (size_t i = 0; i < c->n_spawns && ok; i++)
        ok = mortise_key_is_name(c->spawns[i]->parent) &&
             mortise_key_is_name(c->spawns[i]->id) &&
             mortise_key_is_name(c->spawns[i]->now.origin) &&
             mortise_key_is_name(c->spawns[i]->now.child);
    if (c->spend.origin != NULL && ok)
        ok = mortise_key_is_name(c->spend.origin);
    return ok;
}

/* Assert the conditions that callers guarantee for a commit. */
static void assert_commit_shape(const struct mortise_commit *c)
{
    static const struct mortise_uuid none;

    assert(c->tenant != NULL);
    assert((memcmp(&c->checkpoint.parent, &none, sizeof none) == 0) ==
           /* every checkpoint but the first has a parent */
           (c->expected_seq == 0));
    assert(memcmp(&c->checkpoint.id, &c->checkpoint.parent, sizeof none) != 0);
    assert(memcmp(c->head.graph, c->checkpoint.graph, MORTISE_DIGEST) == 0);
    assert(c->head.branch == c->checkpoint.branch);
    assert(c->checkpoint.seq == c->expected_seq + 1);
    assert(c->head.seq == c->checkpoint.seq);
    assert(memcmp(&c->head.checkpoint, &c->checkpoint.id,
                  sizeof c->head.checkpoint) == 0);
    (void)none; /* unused with NDEBUG */
    (void)c;
}

/* Stage the handle changes of the i-th commit, and set its result. */
static int stage_spawn_changes(struct mortise_ldb *s,
                               struct mortise_commit *const *commits, size_t i,
                               struct mortise_err *err)
{
    bool fits = true;
    int rv = mortise_ldb_spawns_stage(s, commits, i, &fits, err);

    commits[i]->result = fits ? MORTISE_OK : MORTISE_ECONFLICT;
    return rv;
}

/* Handle a commit without a run. */
static int stage_runless_commit(struct mortise_ldb *s,
                                struct mortise_commit *const *commits, size_t i,
                                struct mortise_err *err)
{
    struct mortise_commit *c = commits[i];

    s->marks[i] = 0;
    c->result = MORTISE_OK;
    if (c->n_spawns == 0)
        return MORTISE_OK;
    assert(c->tenant != NULL);
    if (has_valid_key_names(c))
        return stage_spawn_changes(s, commits, i, err);
    c->result = MORTISE_EINVAL;
    return MORTISE_OK;
}

/* Check the i-th commit, and put it if it is valid. */
static int put_commit_if_valid(struct mortise_ldb *s,
                               leveldb_writebatch_t *batch,
                               struct mortise_commit *const *commits, size_t i,
                               struct mortise_err *err)
{
    struct mortise_commit *c = commits[i];
    struct mortise_head_version at;
    int rv;

    if (c->run == NULL)
        return stage_runless_commit(s, commits, i, err);
    assert_commit_shape(c);
    c->result = MORTISE_EINVAL;
    s->marks[i] = mortise_hash_strs(c->tenant, c->run);
    if (!has_valid_key_names(c))
        return MORTISE_OK;
    if (is_head_remembered(s, c, s->marks[i])) {
        c->result = MORTISE_OK;
    } else {
        rv = get_spot_before(s, commits, i, &at, err);
        if (rv != MORTISE_OK)
            return rv;
        c->result = check_expected_head(s, c, &at);
    }
    if (c->result == MORTISE_OK) {
        rv = stage_spawn_changes(s, commits, i, err);
        if (rv != MORTISE_OK)
            return rv;
    }
    if (c->result != MORTISE_OK)
        return MORTISE_OK;
    remember_head(s, c, s->marks[i]);
    if (c->n_graph > 0)
        mortise_ldb_keep_graph(s, c->checkpoint.graph);
    return put_commit(s, batch, c, err);
}

/* Make LevelDB empty its buffer, which may be full (8).  No key of ours is as
 * large as this one, so nothing else is compacted.  The next write reports
 * errors. */
static void empty_buffer(struct mortise_ldb *s)
{
    assert(
        /* else a power failure could lose it and keep later batches */
        !s->unsynced);
    leveldb_compact_range(s->db, "\xff", 1, "\xff", 1);
    s->buffered = BUFFER_AT_FIRST;
}

/* Put the identity (9) and the stamp, in the first batch. */
static int put_identity(struct mortise_ldb *s, leveldb_writebatch_t *batch)
{
    static const uint32_t ours = MORTISE_STORE_FORMAT;
    int rv;

    mortise_key_prefix_of_tag(&s->key, MORTISE_KEY_STAMP);
    rv = mortise_ldb_put_record(s, batch, &mortise_record_stamp, &ours);
    if (rv != MORTISE_OK)
        return rv;
    mortise_key_prefix_of_tag(&s->key, MORTISE_KEY_IDENTITY);
    return mortise_ldb_put_record(s, batch, &mortise_record_identity,
                                  s->store.identity);
}

/* (1), (8) */
static int write_and_sync(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                          bool lazy, struct mortise_err *err)
{
    bool full = s->buffered > WRITE_BUFFER;
    bool sync = !lazy || full;
    char *said = NULL;

    FAULT_POINT("store: before write");
    leveldb_write(s->db, sync ? s->synced : s->lazy, batch, &said);
    FAULT_POINT("store: after write");
    if (said != NULL)
        return mortise_ldb_convert_error(said, err, "write to the store");
    s->unsynced = !sync;
    if (lazy && full)
        empty_buffer(s);
    return MORTISE_OK;
}

/* Put the records that every batch carries (3), and write it. */
int mortise_ldb_write(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                      bool lazy, struct mortise_err *err)
{
    uint64_t n = s->commits + 1;
    int rv = MORTISE_OK;

    assert(s->db != NULL && s->db_dir >= 0 &&
           !mortise_tempdir_is_made(&s->scratch));
    assert(s->commits >= s->opening.verified);
    assert(s->water.fd >= 0 && s->water.number <= s->commits); /* never ahead */
    if (s->commits == s->opening.verified)
        has_run_space(s);
    if (!s->identified)
        rv = put_identity(s, batch);
    mortise_key_commit(&s->key, n);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_put_record(s, batch, &mortise_record_batch,
                                    &s->opening);
    if (rv == MORTISE_OK && n > MORTISE_COMMIT_RECORDS_MAX) {
        mortise_key_commit(&s->key, n - MORTISE_COMMIT_RECORDS_MAX);
        rv = mortise_ldb_delete(s, batch);
    }
    if (rv != MORTISE_OK)
        return mortise_nomem(err);

    rv = write_and_sync(s, batch, lazy, err);
    if (rv == MORTISE_OK &&
        !mortise_directory_has_db(s->dir_lock.dir, s->db_dir))
        rv = mortise_fail(err, MORTISE_ECORRUPT,
                          "the store's db/ was removed or replaced");
    if (rv == MORTISE_OK && !s->unsynced)
        rv = mortise_highwater_write(&s->water, n, err);
    if (rv == MORTISE_OK) {
        s->commits = n;
        s->identified = true;
    }
    if (s->linked && n % SWEEP_INTERVAL == 0)
        s->linked = mortise_aside_drop_removed(s->db_dir);
    return rv;
}

/* Make room for the marks of n commits. */
static bool reserve_marks(struct mortise_ldb *s, size_t n)
{
    uint64_t *grown;

    if (n <= s->n_marks)
        return true;
    grown = mortise_realloc(s->mem, s->marks, s->n_marks * sizeof *grown,
                            n * sizeof *grown);
    if (grown == NULL)
        return false;
    s->marks = grown;
    s->n_marks = n;
    return true;
}

struct commits {
    struct mortise_commit *const *list;
    size_t n;
};

static int write_commits(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                         void *ud, struct mortise_err *err)
{
    const struct commits *all = ud;
    struct mortise_commit *const *commits = all->list;
    size_t n = all->n;
    bool any = false, lazy = true;
    int rv = reserve_marks(s, n) ? MORTISE_OK : mortise_nomem(err);

    mortise_ldb_cache_begin(s);
    mortise_ldb_spawns_begin(s);
    for (size_t i = 0; i < n && rv == MORTISE_OK; i++) {
        rv = put_commit_if_valid(s, batch, commits, i, err);
        if (rv == MORTISE_ENOMEM)
            mortise_nomem(err);
        if (commits[i]->result != MORTISE_OK)
            continue;
        any = any || commits[i]->run != NULL || commits[i]->n_spawns > 0 ||
              s->unsynced;
        lazy = lazy && commits[i]->run != NULL && commits[i]->lazy;
    }
    if (rv == MORTISE_OK)
        rv = mortise_ldb_spawns_put(s, batch, err);
    mortise_ldb_spawns_end(s);
    if (rv == MORTISE_OK && any)
        rv = mortise_ldb_cache_trim(s, batch, err);
    if (rv == MORTISE_OK && any)
        rv = mortise_ldb_write(s, batch, lazy, err);
    for (size_t i = 0; i < n && rv == MORTISE_OK; i++)
        commits[i]->synced = !s->unsynced;
    return rv;
}

/* A mark to write. */
struct new_mark {
    const char *name;
    uint64_t value;
    bool may_fall;
};

static int read_mark(struct mortise_ldb *s, const char *name, uint64_t *value,
                     struct mortise_err *err)
{
    struct mortise_buf key;
    int rv = mortise_ldb_check_usable(s, err);

    *value = 0;
    if (rv == MORTISE_OK)
        rv = mortise_ldb_check_name(name, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_check_memory(0, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_buf_init(&key, s->mem);
    mortise_key_mark(&key, name);
    rv = mortise_ldb_get_record(s, s->checked, &key, &mortise_record_mark,
                                value, NULL, err);
    mortise_buf_finish(&key);
    return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
}

/* Write a mark, unless the stored value is equal, or larger and may not
 * decrease. */
static int write_mark(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                      void *ud, struct mortise_err *err)
{
    const struct new_mark *m = ud;
    uint64_t old;
    int rv = read_mark(s, m->name, &old, err);

    if (rv != MORTISE_OK || old == m->value || (old > m->value && !m->may_fall))
        return rv;
    mortise_key_mark(&s->key, m->name);
    if (mortise_ldb_put_record(s, batch, &mortise_record_mark, &m->value) !=
        MORTISE_OK)
        return mortise_nomem(err);
    return mortise_ldb_write(s, batch, false, err);
}

/* (4) */
int mortise_ldb_write_batch(struct mortise_ldb *s,
                            mortise_ldb_fill_batch_fn *fill, void *ud,
                            struct mortise_err *err)
{
    leveldb_writebatch_t *batch;
    int rv;

    /* In a child of fork(), nobody would unlock the mutex. */
    if (!mortise_dir_lock_is_ours(&s->dir_lock))
        return mortise_ldb_check_usable(s, err);
    if (mortise_tempdir_is_made(&s->scratch))
        return mortise_fail(err, MORTISE_EDENIED,
                            "this is a read-only copy of the store");
    rv = mortise_ldb_check_memory(0, err);
    if (rv != MORTISE_OK) {
        atomic_store(&s->refused, true);
        return rv;
    }
    batch = leveldb_writebatch_create();
    pthread_mutex_lock(&s->writing);
    assert(s->value.n == 0);
    s->batched = s->checked_at = 0;
    rv = mortise_ldb_check_usable(s, err);
    if (rv == MORTISE_OK)
        rv = fill(s, batch, ud, err);
    if (rv != MORTISE_OK) {
        atomic_store(&s->dead, true);
        s->full = rv == MORTISE_ENOSPC;
        s->roomy &= !s->full;
    }
    mortise_buf_clear(&s->value);
    pthread_mutex_unlock(&s->writing);
    leveldb_writebatch_destroy(batch);
    return rv;
}

static int write_commit_batch(struct mortise_store *store,
                              struct mortise_commit *const *commits, size_t n,
                              struct mortise_err *err)
{
    struct commits all = {commits, n};

    return mortise_ldb_write_batch(mortise_ldb_of(store), write_commits, &all,
                                   err);
}

static int get_mark(struct mortise_store *store, const char *name,
                    uint64_t *value, struct mortise_err *err)
{
    return read_mark(mortise_ldb_of(store), name, value, err);
}

static int put_mark(struct mortise_store *store, const char *name,
                    uint64_t value, bool may_fall, struct mortise_err *err)
{
    struct new_mark m = {name, value, may_fall};
    int rv = mortise_ldb_check_name(name, err);

    return rv == MORTISE_OK ? mortise_ldb_write_batch(mortise_ldb_of(store),
                                                      write_mark, &m, err)
                            : rv;
}

/* ---- the maker --------------------------------------------------------- */

static void close_store(struct mortise_store *store)
{
    mortise_ldb_close(mortise_ldb_of(store));
}

static bool is_ours(const struct mortise_store *store)
{
    const struct mortise_ldb *s = (const struct mortise_ldb *)store;

    return mortise_dir_lock_is_ours(&s->dir_lock);
}

static const struct mortise_store_ops ops = {
    .close = close_store,
    .reopen = reopen,
    .is_ours = is_ours,
    .wrote = wrote,
    .lacks = mortise_ldb_is_incomplete,
    .read = mortise_ldb_read,
    .write = write_commit_batch,
    .set_cache_limit = mortise_ldb_set_cache_limit,
    .remove = mortise_ldb_remove,
    .remove_rest = mortise_ldb_remove_rest,
    .note = mortise_ldb_set_overdue_time,
    .start_graph_sweep = mortise_ldb_start_graph_sweep,
    .keep_graphs = mortise_ldb_keep_graphs,
    .sweep = mortise_ldb_sweep_graphs,
    .get_mark = get_mark,
    .put_mark = put_mark,
};

static bool takes(const char *path)
{
    (void)path;
    return true;
}

static bool is_there(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool there = dir >= 0 ? mortise_directory_has_store(dir) : errno != ENOENT;

    if (dir >= 0)
        close(dir);
    return there;
}

const struct mortise_store_maker mortise_store_leveldb = {
    .takes = takes,
    .is_there = is_there,
    .open = open_leveldb_store,
    .open_view = mortise_ldb_open_view,
};
