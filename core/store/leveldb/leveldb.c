/* leveldb.c -- the store on LevelDB: opening, verifying, writing.
 *
 * A run must survive kill -9 and power cuts at any instruction.  The promises:
 *
 *   (1) One write is one WriteBatch with sync=1 (R5): LevelDB applies a batch
 *       whole or not at all, and only then is anything answered (R6).  Without
 *       the sync every test passes until somebody pulls the plug.  A batch of
 *       nothing but lazy commits goes without, and is answered as unsynced;
 *       the next sync is for it, too (8).
 *   (2) A commit stands in a batch only if its run's head is the one that it
 *       expects, in sequence number and in identity: of two that moved the same
 *       head, one gets MORTISE_ECONFLICT.  Commits of one run may follow each
 *       other in one batch.
 *   (3) Every batch puts key c/n, n counting from 1 without a gap, and takes
 *       c/(n - 65536) away.  LevelDB goes on accepting, and loses, writes after
 *       a short write; a hole shows it (R6b), and is refused at open.  Looked
 *       at are the last 4,096 and all that were written since an opening last
 *       looked: so opening costs by what happened since, not 15 ms always.
 *   (4) After any failed write the handle is dead.  What became of the batch
 *       is not known until the store was reopened and its heads were reread.
 *   (5) The epoch is one more than that of the last batch ever written, which
 *       c/n records.  So it grows with each opening that commits, durably with
 *       its very first batch, and an opening that only reads writes no record.
 *   (6) What an open store shows is durable.  LevelDB, when it opens, writes
 *       what it found in its log to a table, and renames CURRENT to a manifest
 *       that names it; but it leaves that rename to the next sync, while the
 *       log's tail may never have been synced, and a power cut would bring the
 *       old CURRENT and the shorter log back.  So we sync the directory.
 *   (7) A store of another format is refused untouched (directory.c); one that
 *       somebody else holds, too, by the name of its process (dir_lock.c).
 *   (8) What survives a power cut is what was written up to some batch, without
 *       a gap.  LevelDB syncs only the log that it writes to, and begins a new
 *       one when its buffer is full: what an older log holds and never synced
 *       could be lost while a newer batch is kept.  So LevelDB never comes to
 *       that by itself while something is unsynced: before its buffer can be
 *       full, by a sum that is never too small, we sync and have it emptied.
 *   (9) A store has an identity of its own, which stands in its first batch:
 *       what was written under it is never there without it.
 *  (10) A store is a directory, not a path: LevelDB reaches it through the
 *       descriptor that holds its lock, so it stays one store when somebody
 *       renames it, and never writes to another that took its place.  That the
 *       database is still in it is asked after each write, before anything is
 *       answered: what is written to files without names is not kept.
 *  (11) A child of fork() never writes to it, nor reads, and its end or its
 *       close changes nothing: our process is asked for before each of them.
 *  (12) A store that ends before what was synced is MORTISE_ECORRUPT, and so is
 *       one without a mark, which says how far that is (highwater.c): the mark
 *       is put after each sync, and failing to is a failed write.  Whatever an
 *       opening refuses it leaves as it was, to be salvaged (aside.c).  The mark
 *       and the stamp are there before the first batch is, so commits without
 *       either are a loss, too.
 *  (13) On a full disk the store opens and closes, and what is under way can
 *       be written, as far as the reserve goes (reserve.c); a new run, which
 *       would need more and more, gets MORTISE_ENOSPC, and that is no failed
 *       write.
 *  (14) LevelDB is C++, allocates by itself, and ends the process if it finds no
 *       memory.  So memory is looked for before LevelDB is entered (memory.c).
 *       If LevelDB finds none all the same, (1) keeps what was committed.
 *
 * LevelDB's error strings end in mortise_ldb_taken().
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
    LOOKED_AT = 4096,          /* of them, whatever earlier openings saw */
    WRITE_BUFFER = 512 * 1024, /* small: it is replayed at open after a kill */
    BUFFER_AT_FIRST = 16 * 1024, /* what an empty one may say that it holds */
    PUT_OVERHEAD = 160,          /* of an entry in it, at most */
    CHECKED_EACH = 256 * 1024,   /* bytes of a batch, between two looks */
    SWEPT_EACH = 256             /* batches: what lists a directory costs little
                                    beside them */
};

/* ---- LevelDB's words --------------------------------------------------- */

static bool ends_with(const char *s, const char *tail)
{
    size_t n = strlen(s), t = strlen(tail);

    return n >= t && memcmp(s + n - t, tail, t) == 0;
}

/* Is this LevelDB's message for `errnum`?  It ends with strerror()'s words,
 * which the process's locale may have translated. */
static bool says(const char *said, int errnum, const char *english)
{
    char words[256];

    return ends_with(said, english) ||
           (strerror_r(errnum, words, sizeof words) == 0 &&
            ends_with(said, words));
}

static int code_of(const char *said)
{
    /* A file that is not there, or too short to be mapped, is a loss, too. */
    if (strncmp(said, "Corruption: ", 12) == 0 ||
        strncmp(said, "NotFound: ", 10) == 0 ||
        says(said, EINVAL, "Invalid argument"))
        return MORTISE_ECORRUPT;
    if (says(said, ENOSPC, "No space left on device") ||
        says(said, EDQUOT, "Disk quota exceeded") ||
        says(said, EFBIG, "File too large"))
        return MORTISE_ENOSPC;
    if (says(said, EACCES, "Permission denied"))
        return MORTISE_EDENIED;
    if (says(said, ENOMEM, "Cannot allocate memory"))
        return MORTISE_ENOMEM;
    return MORTISE_EIO;
}

/* Its words without the descriptor that we named to it (10), in place: what is
 * left is the path in the store. */
static void trim_descriptor(char *said)
{
    static const char prefix[] = "/proc/self/fd/";
    char *at = strstr(said, prefix), *slash;

    slash = at != NULL ? strchr(at + sizeof prefix - 1, '/') : NULL;
    if (slash != NULL)
        memmove(at, slash + 1, strlen(slash + 1) + 1);
}

/* The same of a copy (view.c), whose name says nothing: "db" is shorter. */
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

/* Its word for what lies behind the end of a file says nothing to people. */
static bool is_too_short(char *said)
{
    static const char kind[] = "IO error: ";
    size_t n = sizeof kind - 1;
    char *colon = strrchr(said, ':');

    if (strncmp(said, kind, n) != 0 || colon < said + n ||
        !says(said, EINVAL, "Invalid argument"))
        return false;
    *colon = '\0';
    memmove(said, said + n, strlen(said + n) + 1);
    return true;
}

int mortise_ldb_taken(char *said, struct mortise_err *err, const char *doing)
{
    int code;

    if (said == NULL)
        return MORTISE_OK;
    trim_descriptor(said);
    trim_copy(said);
    code = code_of(said);
    if (is_too_short(said))
        mortise_fail(err, code, "%s: Corruption: %s ends too early", doing,
                     said);
    else
        mortise_fail(err, code, "%s: %s", doing, said);
    leveldb_free(said);
    return code;
}

int mortise_ldb_iter_end(leveldb_iterator_t *it, int rv, const char *doing,
                         struct mortise_err *err)
{
    char *said = NULL;
    int torn;

    leveldb_iter_get_error(it, &said);
    leveldb_iter_destroy(it);
    torn = mortise_ldb_taken(said, err, doing);
    return torn != MORTISE_OK ? torn : rv;
}

int mortise_ldb_bad(struct mortise_err *err, int code, const char *what)
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

    assert(s->db !=
           NULL); /* mortise_ldb_alive() was asked, or it just opened */
    *value = NULL;
    *size = 0;
    if (key->failed)
        return mortise_nomem(err);
    *value = leveldb_get(s->db, options, key->p, key->n, size, &said);
    if (said != NULL)
        return mortise_ldb_taken(said, err, "read the store");
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
        rv = mortise_record_read(of, out, bytes, n);
        if (rv != MORTISE_OK)
            mortise_ldb_bad(err, rv, of->what);
    }
    if (value != NULL)
        *value = bytes;
    else
        leveldb_free(bytes);
    return rv;
}

int mortise_ldb_alive(struct mortise_ldb *s, struct mortise_err *err)
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

int mortise_ldb_name(const char *name, struct mortise_err *err)
{
    if (name == NULL || mortise_key_is_name(name))
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_EINVAL,
                        "the name is longer than 65535 bytes: %.32s...", name);
}

/* ---- verifying --------------------------------------------------------- */

/* The commit record under the iterator; false when it stands on none. */
static bool commit_at(const leveldb_iterator_t *it, uint64_t *n,
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
    *rv = is_whole ? mortise_record_read(&mortise_record_batch, batch, p, size)
                   : MORTISE_ECORRUPT;
    return true;
}

/* Put the iterator on the last commit record, if there is one.  No number
 * reaches the key sought here: it would take a million years. */
static void seek_last_commit(struct mortise_ldb *s, leveldb_iterator_t *it)
{
    mortise_key_commit(&s->key, UINT64_MAX);
    leveldb_iter_seek(it, s->key.p, s->key.n);
    if (leveldb_iter_valid(it))
        leveldb_iter_prev(it);
    else
        leveldb_iter_seek_to_last(it);
}

/* (3): all from `want` to `last` are there, one after another. */
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
        if (!commit_at(it, &n, &batch, &rv) || n != want)
            return mortise_fail(err, MORTISE_ECORRUPT,
                                "commit %llu is missing: the store lost data",
                                (unsigned long long)want);
        if (rv != MORTISE_OK)
            return mortise_ldb_bad(err, rv, "a commit record");
        leveldb_iter_next(it);
    }
    return MORTISE_OK;
}

/* Is there anything in it at all? */
static bool is_empty(leveldb_iterator_t *it)
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
    if (!commit_at(it, &last, &newest, &rv) && !is_empty(it))
        return mortise_fail(err, MORTISE_ECORRUPT,
                            "the record of its last commit is missing");
    if (rv != MORTISE_OK)
        return mortise_ldb_bad(err, rv, "a commit record");
    s->commits = last;
    s->opening = (struct mortise_batch){newest.epoch + 1, last};
    kept = mortise_ldb_first_of(MORTISE_KEPT_COMMITS, last);
    from = mortise_ldb_first_of(LOOKED_AT, last);
    if (from > newest.verified)
        from = newest.verified > kept ? newest.verified : kept;
    assert(from >= kept); /* those before were taken away by their turn */
    return walk_commits(s, it, from, last, err);
}

/* A store has a mark; if somebody removed it, nobody can tell any more whether
 * the newest commits are there. */
static int check_marked(const struct mortise_ldb *s, struct mortise_err *err)
{
    if (s->water.fd >= 0)
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_ECORRUPT,
                        "its file 'mark', which records the last commit, is "
                        "missing: the newest commits may be missing, too");
}

/* (12): it has a stamp, or was never written to up to `number`. */
static int check_stamped(const struct mortise_ldb *s, uint64_t number,
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

/* The stamp in the database: the word for one whose db/ was put there from
 * elsewhere. */
int mortise_ldb_verify_stamp(struct mortise_ldb *s, struct mortise_err *err)
{
    uint32_t format;
    int rv;

    mortise_key_of_tag(&s->key, MORTISE_KEY_STAMP);
    rv = mortise_ldb_get_record(s, s->checked, &s->key, &mortise_record_stamp,
                                &format, NULL, err);
    if (rv == MORTISE_ENOTFOUND)
        return mortise_fail(
            err, MORTISE_ECORRUPT,
            "its database (db/) is not the database of a store");
    if (rv == MORTISE_OK)
        rv = mortise_stamp_check(format, err);
    return rv == MORTISE_OK ? check_marked(s, err) : rv;
}

/* (12) */
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

/* (9) */
static int read_identity(struct mortise_ldb *s, struct mortise_err *err)
{
    uint8_t id[MORTISE_STORE_ID];
    int rv;

    mortise_key_of_tag(&s->key, MORTISE_KEY_IDENTITY);
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

    if (!is_empty(it))
        rv = mortise_ldb_verify_stamp(s, err);
    if (rv == MORTISE_OK)
        rv = verify_commits(s, it, err);
    if (rv == MORTISE_OK)
        rv = check_stamped(s, s->commits, err);
    if (rv == MORTISE_OK)
        rv = verify_end(s, err);
    if (rv == MORTISE_OK)
        rv = read_identity(s, err);
    return mortise_ldb_iter_end(it, rv, "verify the store", err);
}

/* ---- opening ----------------------------------------------------------- */

char *mortise_ldb_join(const struct mortise_mem *mem, const char *dir,
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
    /* unless it has one */
    randombytes_buf(s->store.identity, sizeof s->store.identity);
    if (s->path == NULL) {
        mortise_ldb_close(s);
        return NULL;
    }
    return s;
}

/* (10): what we call the database to LevelDB.  Where there is no /proc, it is
 * its path. */
static bool name_db(struct mortise_ldb *s)
{
    char dir[64];

    snprintf(dir, sizeof dir, "/proc/self/fd/%d", s->dir_lock.dir);
    s->db_path =
        mortise_ldb_join(s->mem, access(dir, F_OK) == 0 ? dir : s->path, "db");
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

/* The size of the longest of its logs: LevelDB replays one after another. */
static size_t longest_log(const char *db_path)
{
    int db = open(db_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t most = 0;

    if (db < 0)
        return 0;
    mortise_directory_each(db, "db", measure_log, &most, NULL);
    close(db);
    return most;
}

int mortise_ldb_open(struct mortise_ldb *s, bool create,
                     struct mortise_err *err)
{
    char *said = NULL;
    bool lost;
    int rv = mortise_ldb_want_memory(longest_log(s->db_path), err);

    assert(s->db == NULL && s->db_path != NULL);
    if (rv != MORTISE_OK)
        return rv;
    leveldb_options_set_create_if_missing(s->options, create);
    s->db = leveldb_open(s->options, s->db_path, &said);
    if (said == NULL)
        return MORTISE_OK;
    s->db = NULL;
    /* Its word for a CURRENT or MANIFEST that is not there. */
    lost = strncmp(said, "NotFound: ", 10) == 0 ||
           strncmp(said, "Invalid argument: ", 18) == 0;
    rv = mortise_ldb_taken(said, err, "open the database");
    return lost ? mortise_fail(err, MORTISE_ECORRUPT,
                               "files of its database are missing")
                : rv;
}

/* LevelDB's open and our verification of what it found. */
static int open_and_verify(struct mortise_ldb *s, bool create,
                           struct mortise_err *err)
{
    int rv = mortise_ldb_open(s, create, err);

    FAULT_POINT("store: opened");
    if (rv == MORTISE_OK)
        rv = mortise_ldb_want_memory(0, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_verify(s, err);
    if (rv != MORTISE_OK && s->db != NULL) {
        leveldb_close(s->db);
        s->db = NULL;
    }
    return rv;
}

/* A table, or a batch in a log? */
static int look_for_batches(void *ud, int db, const char *name,
                            struct mortise_err *err)
{
    enum mortise_dbfile kind = mortise_dbfile_kind(mortise_aside_name(name));
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
        rv = mortise_directory_each(db, "db", look_for_batches, &any, err);
    return any ? mortise_fail(err, MORTISE_ECORRUPT,
                              "files of its database are missing")
               : rv;
}

/* (12), and (6) */
static int attempt(struct mortise_ldb *s, int db, bool create, bool torn,
                   struct mortise_err *err)
{
    struct mortise_err here;
    int rv = mortise_aside_take(db, s->mem, err);

    if (rv != MORTISE_OK)
        return rv;
    if (torn)
        rv = mortise_torn_cut(db, s->mem, err);
    if (rv == MORTISE_OK)
        rv = open_and_verify(s, create, err);
    if (rv != MORTISE_OK)
        mortise_aside_put_back(db, s->mem, &here); /* or who opens it next */
    return rv;
}

/* A refused opening is followed by another where it may have been about less
 * than the store: what a killed one made of it, which was put back since, or a
 * log with an end that never reached the disk. */
static int open_in_db(struct mortise_ldb *s, int db, bool create,
                      struct mortise_err *err)
{
    bool killed = false;
    int rv = mortise_aside_check(db, err);

    if (rv == MORTISE_OK && create)
        rv = mortise_ldb_check_new(db, err);
    if (rv == MORTISE_OK)
        rv = mortise_aside_is_whole(db, &killed, s->mem, err);
    if (rv != MORTISE_OK)
        return rv;
    rv = attempt(s, db, create, false, err);
    if (rv == MORTISE_ECORRUPT && killed)
        rv = attempt(s, db, create, false, err);
    if (rv == MORTISE_ECORRUPT && mortise_torn_is(db, s->mem))
        rv = attempt(s, db, create, true, err);
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
           !mortise_tempdir_is_there(&s->scratch));
    s->buffered = BUFFER_AT_FIRST; /* it begins with an empty log */
    s->unsynced = false;
    s->cache.known = false;
    rv = open_in_db(s, db, create, err);
    if (rv != MORTISE_OK) {
        close(db);
        return rv;
    }
    s->db_dir = db;
    atomic_store(&s->dead, false);
    return MORTISE_OK;
}

/* A store that is new. */
static int stamp_it(struct mortise_ldb *s, struct mortise_err *err)
{
    int dir = s->dir_lock.dir, rv = mortise_directory_sync(dir, err);

    assert(s->held && s->db != NULL); /* what is stamped is there */
    if (rv == MORTISE_OK && s->water.fd < 0)
        rv = mortise_highwater_make(&s->water, dir, s->store.identity,
                                    s->commits, err);
    if (rv == MORTISE_OK && !s->unfinished)
        rv = mortise_directory_write_stamp(dir, err);
    s->stamped = s->stamped || rv == MORTISE_OK;
    return rv;
}

int mortise_ldb_finish(struct mortise_ldb *s, struct mortise_err *err)
{
    int rv = mortise_directory_sync(s->dir_lock.dir, err);

    assert(s->unfinished && !s->unsynced); /* all of it is on the disk */
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
        rv = check_marked(s, err);
    if (rv == MORTISE_OK)
        rv = check_stamped(s, s->water.number, err);
    if (rv == MORTISE_OK && s->water.fd >= 0)
        memcpy(s->store.identity, s->water.identity, sizeof s->store.identity);
    return rv;
}

/* Open what is there; a full disk gets its reserve (13). */
static int open_with_reserve(struct mortise_ldb *s, bool create,
                             struct mortise_err *err)
{
    int rv = open_db(s, create, err);

    if (rv != MORTISE_ENOSPC || !mortise_reserve_release(s->dir_lock.dir))
        return rv;
    return open_db(s, create, err);
}

/* In the order that directory.c and dir_lock.c want. */
static int open_in(struct mortise_ldb *s, struct mortise_err *err)
{
    int dir = s->dir_lock.dir, rv;
    bool is_new;

    if (!name_db(s))
        return mortise_nomem(err);
    rv = mortise_dir_lock_probe(dir, "db/LOCK", err);
    if (rv == MORTISE_OK && s->unfinished)
        rv = mortise_unfinished_begin(dir, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_read_mark(s, true, err);
    if (rv != MORTISE_OK)
        return rv;
    is_new = !s->stamped; /* or cut off while it was made */
    if (is_new)
        rv = mortise_directory_make_db(dir, err);
    if (rv == MORTISE_OK)
        rv = open_with_reserve(s, is_new, err);
    if (rv == MORTISE_EIO && s->db == NULL &&
        mortise_dir_lock_probe(dir, "db/LOCK", err) == MORTISE_EBUSY)
        rv = MORTISE_EBUSY; /* somebody came between */
    return rv == MORTISE_OK && is_new ? stamp_it(s, err) : rv;
}

int mortise_ldb_hold(struct mortise_ldb *s, int dir, bool tables,
                     struct mortise_err *err)
{
    int rv = mortise_dir_lock_take(&s->dir_lock, dir, err);

    s->held = rv == MORTISE_OK;
    s->store.dir = s->held ? dir : -1;
    return s->held ? mortise_owners_check(dir, s->path, tables, err) : rv;
}

int mortise_ldb_begin(struct mortise_ldb **out, const char *path,
                      const uint8_t identity[MORTISE_STORE_ID],
                      const struct mortise_mem *mem, struct mortise_err *err)
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
        rv = mortise_ldb_hold(s, dir, false, err);
    if (rv == MORTISE_OK && !s->unfinished)
        rv = mortise_directory_check_ours(dir, err);
    if (rv == MORTISE_OK)
        rv = mortise_owners_refuse_links(dir, path, err);
    if (rv == MORTISE_OK)
        rv = open_in(s, err);
    if (rv != MORTISE_OK) {
        mortise_ldb_close(s);
        return mortise_doing(err, rv, "open store %s", path);
    }
    s->store.was_open = mortise_directory_close_off(dir);
    s->store.epoch = s->opening.epoch;
    *out = s;
    return MORTISE_OK;
}

static int open_store(struct mortise_store **out, const char *path,
                      const struct mortise_mem *mem, struct mortise_err *err)
{
    struct mortise_ldb *s;
    int rv = mortise_ldb_begin(&s, path, NULL, mem, err);

    *out = rv == MORTISE_OK ? &s->store : NULL;
    return rv;
}

static void close_db(struct mortise_ldb *s)
{
    if (s->db != NULL)
        leveldb_close(s->db);
    s->db = NULL;
    if (s->db_dir >= 0 && s->linked)
        s->linked = mortise_aside_sweep(s->db_dir);
    if (s->db_dir >= 0)
        close(s->db_dir);
    s->db_dir = -1;
}

void mortise_ldb_close(struct mortise_ldb *s)
{
    if (s == NULL || (s->held && !mortise_dir_lock_is_ours(&s->dir_lock)))
        return; /* a forked child's copy: LevelDB would touch the files */
    close_db(s);
    if (mortise_tempdir_is_there(&s->scratch))
        mortise_ldb_drop_copy(s);
    leveldb_options_destroy(s->options);
    leveldb_readoptions_destroy(s->checked);
    leveldb_writeoptions_destroy(s->synced);
    leveldb_writeoptions_destroy(s->lazy);
    mortise_highwater_close(&s->water);
    if (s->held)
        mortise_dir_lock_drop(&s->dir_lock);
    pthread_mutex_destroy(&s->writing);
    mortise_buf_finish(&s->key);
    mortise_buf_finish(&s->value);
    mortise_ldb_keep_none(s);
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
        return mortise_ldb_alive(s, err);
    if (!atomic_load(&s->dead) && atomic_exchange(&s->refused, false))
        return MORTISE_OK; /* (14): nothing was begun */
    assert(!mortise_tempdir_is_there(
        &s->scratch)); /* no write to a copy ever fails (view.c) */
    atomic_store(&s->dead, true);
    s->knows_graph = false;
    memset(s->spots, 0, sizeof s->spots);
    mortise_ldb_keep_none(s);
    close_db(s);
    if (s->full)
        mortise_reserve_release(s->dir_lock.dir);
    rv = open_with_reserve(s, false, err);
    s->store.epoch = s->opening.epoch;
    return rv != MORTISE_OK ? mortise_doing(err, rv, "reopen store %s", s->path)
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

/* An entry of n bytes will be in LevelDB's buffer.  That takes its memory in
 * blocks, of which a third at most goes unused (util/arena.cc). */
static void buffer(struct mortise_ldb *s, size_t n)
{
    s->buffered += (n + PUT_OVERHEAD) / 2 * 3;
}

void mortise_ldb_put_bytes(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                           const char *key, size_t key_size, const char *value,
                           size_t value_size)
{
    assert(key_size > 0 && value_size > 0); /* a tag, and a version */
    leveldb_writebatch_put(batch, key, key_size, value, value_size);
    buffer(s, key_size + value_size);
}

/* A small batch has what was there when it began. */
bool mortise_ldb_may_put(struct mortise_ldb *s, size_t n)
{
    s->batched += n + PUT_OVERHEAD;
    if (s->batched - s->checked_at < CHECKED_EACH)
        return true;
    s->checked_at = s->batched;
    return mortise_ldb_has_memory(s->batched);
}

int mortise_ldb_put(struct mortise_ldb *s, leveldb_writebatch_t *batch)
{
    if (s->key.failed || s->value.failed ||
        !mortise_ldb_may_put(s, s->key.n + s->value.n))
        return MORTISE_ENOMEM;
    mortise_ldb_put_bytes(s, batch, s->key.p, s->key.n, s->value.p, s->value.n);
    mortise_buf_clear(&s->value);
    return MORTISE_OK;
}

int mortise_ldb_put_record(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                           const struct mortise_record *of, const void *record)
{
    assert(s->value.n == 0); /* what was put took it along */
    mortise_record_put(&s->value, of, record);
    return mortise_ldb_put(s, batch);
}

int mortise_ldb_drop(struct mortise_ldb *s, leveldb_writebatch_t *batch)
{
    if (s->key.failed)
        return MORTISE_ENOMEM;
    assert(s->key.n > 0);
    leveldb_writebatch_delete(batch, s->key.p, s->key.n);
    buffer(s, s->key.n);
    return MORTISE_OK;
}

/* An id whose run was removed is taken, too. */
static int removed_spot(struct mortise_ldb *s, const struct mortise_commit *c,
                        struct mortise_spot *at, struct mortise_err *err)
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

static int stored_spot(struct mortise_ldb *s, const struct mortise_commit *c,
                       struct mortise_spot *at, struct mortise_err *err)
{
    struct mortise_head head;
    char *value;
    int rv;

    *at = (struct mortise_spot){0};
    mortise_key_head(&s->key, c->tenant, c->run);
    rv = mortise_ldb_get_record(s, s->checked, &s->key, &mortise_record_head,
                                &head, &value, err);
    leveldb_free(value);
    if (rv == MORTISE_ENOTFOUND)
        return c->expected_seq == 0 ? removed_spot(s, c, at, err) : MORTISE_OK;
    if (rv == MORTISE_OK)
        *at = (struct mortise_spot){head.seq, head.checkpoint};
    return rv;
}

static bool same_run(const struct mortise_commit *a,
                     const struct mortise_commit *b)
{
    return a->run != NULL && strcmp(a->run, b->run) == 0 &&
           strcmp(a->tenant, b->tenant) == 0;
}

/* The head as it will be behind the first `i` commits of the batch. */
static int spot_before(struct mortise_ldb *s,
                       struct mortise_commit *const *commits, size_t i,
                       struct mortise_spot *at, struct mortise_err *err)
{
    const struct mortise_commit *c = commits[i];

    assert(i < s->n_marks);
    for (size_t k = i; k-- > 0;) {
        const struct mortise_commit *e = commits[k];

        if (s->marks[k] == s->marks[i] && e->result == MORTISE_OK &&
            same_run(e, c)) {
            *at = (struct mortise_spot){e->head.seq, e->head.checkpoint};
            return MORTISE_OK;
        }
    }
    return stored_spot(s, c, at, err);
}

/* Did we put the very head that this commit expects?  Most commits follow one
 * that was put a moment ago, and need not read what stands in the store.  What
 * is remembered of a run is its newest; it can only be that of another. */
static bool is_remembered(const struct mortise_ldb *s,
                          const struct mortise_commit *c, uint64_t mark)
{
    const struct mortise_spot *at = &s->spots[mark % MORTISE_SPOTS].at;

    return c->expected_seq != 0 && at->seq == c->expected_seq &&
           s->spots[mark % MORTISE_SPOTS].mark == mark &&
           memcmp(&at->checkpoint, &c->checkpoint.parent,
                  sizeof at->checkpoint) == 0;
}

static void remember(struct mortise_ldb *s, const struct mortise_commit *c,
                     uint64_t mark)
{
    s->spots[mark % MORTISE_SPOTS].mark = mark;
    s->spots[mark % MORTISE_SPOTS].at =
        (struct mortise_spot){c->head.seq, c->head.checkpoint};
}

void mortise_ldb_forget(struct mortise_ldb *s, const char *tenant,
                        const char *run)
{
    uint64_t mark = mortise_hash_strs(tenant, run);

    if (s->spots[mark % MORTISE_SPOTS].mark == mark)
        s->spots[mark % MORTISE_SPOTS].at = (struct mortise_spot){0};
}

/* (13): is there room for one more run?  Looked at by the first write, and by
 * each new run while there is none. */
static bool has_room(struct mortise_ldb *s)
{
    if (!s->roomy)
        s->roomy = mortise_reserve_make(s->dir_lock.dir);
    return s->roomy;
}

/* (2) */
static int judge(struct mortise_ldb *s, const struct mortise_commit *c,
                 const struct mortise_spot *at)
{
    if (c->expected_seq == 0 && at->seq == 0)
        return has_room(s) ? MORTISE_OK : MORTISE_ENOSPC;
    if (c->expected_seq == 0)
        return MORTISE_EEXISTS;
    if (at->seq != c->expected_seq ||
        memcmp(&at->checkpoint, &c->checkpoint.parent, sizeof at->checkpoint) !=
            0)
        return MORTISE_ECONFLICT;
    return MORTISE_OK;
}

/* A request is opened, or closed: it is there, with its deadline, or not. */
static int put_request(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                       const struct mortise_commit *c,
                       const struct mortise_pending *p, bool opens)
{
    int rv = MORTISE_OK;

    assert(!p->timer || p->deadline_ms != 0); /* or nothing would be there */
    if (!p->timer) {
        mortise_key_pending(&s->key, c->tenant, c->run, p->id);
        rv = opens
                 ? mortise_ldb_put_record(s, batch, &mortise_record_pending, p)
                 : mortise_ldb_drop(s, batch);
    }
    if (rv != MORTISE_OK || p->deadline_ms == 0)
        return rv;
    mortise_key_deadline(&s->key, p->deadline_ms, c->tenant, c->run, p->id);
    return opens ? mortise_ldb_put_record(s, batch, &mortise_record_deadline,
                                          &p->timer)
                 : mortise_ldb_drop(s, batch);
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
        return mortise_ldb_drop(s, batch);
    return mortise_ldb_put_record(
        s, batch, &mortise_record_kv,
        &(struct mortise_value){kv->value, kv->value_size});
}

/* Once per digest: most new runs are of the graph that the last one was of.
 * Every run of it brings its text, and one that is steered to it. */
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
        mortise_record_put_graph(&s->value, c->graph, c->n_graph);
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

/* Do all names of a commit fit into keys? */
static bool has_names(const struct mortise_commit *c)
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

/* What the callers promise about a commit. */
static void check_shape(const struct mortise_commit *c)
{
    static const struct mortise_uuid none;

    assert(c->tenant != NULL);
    assert((memcmp(&c->checkpoint.parent, &none, sizeof none) == 0) ==
           (c->expected_seq == 0)); /* every checkpoint but the first has one */
    assert(memcmp(&c->checkpoint.id, &c->checkpoint.parent, sizeof none) != 0);
    assert(memcmp(c->head.graph, c->checkpoint.graph, MORTISE_DIGEST) == 0);
    assert(c->head.branch == c->checkpoint.branch);
    assert(c->checkpoint.seq == c->expected_seq + 1);
    assert(c->head.seq == c->checkpoint.seq);
    assert(memcmp(&c->head.checkpoint, &c->checkpoint.id,
                  sizeof c->head.checkpoint) == 0);
    (void)none; /* NDEBUG */
    (void)c;
}

/* May the handles change so that the i-th commit has? */
static int judge_spawns(struct mortise_ldb *s,
                        struct mortise_commit *const *commits, size_t i,
                        struct mortise_err *err)
{
    bool fits = true;
    int rv = mortise_ldb_spawns_stage(s, commits, i, &fits, err);

    commits[i]->result = fits ? MORTISE_OK : MORTISE_ECONFLICT;
    return rv;
}

/* One that has no run. */
static int put_runless(struct mortise_ldb *s,
                       struct mortise_commit *const *commits, size_t i,
                       struct mortise_err *err)
{
    struct mortise_commit *c = commits[i];

    s->marks[i] = 0;
    c->result = MORTISE_OK;
    if (c->n_spawns == 0)
        return MORTISE_OK;
    assert(c->tenant != NULL);
    if (has_names(c))
        return judge_spawns(s, commits, i, err);
    c->result = MORTISE_EINVAL;
    return MORTISE_OK;
}

/* Judge the i-th commit and put it if it may stand. */
static int put_next(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                    struct mortise_commit *const *commits, size_t i,
                    struct mortise_err *err)
{
    struct mortise_commit *c = commits[i];
    struct mortise_spot at;
    int rv;

    if (c->run == NULL)
        return put_runless(s, commits, i, err);
    check_shape(c);
    c->result = MORTISE_EINVAL;
    s->marks[i] = mortise_hash_strs(c->tenant, c->run);
    if (!has_names(c))
        return MORTISE_OK;
    if (is_remembered(s, c, s->marks[i])) {
        c->result = MORTISE_OK;
    } else {
        rv = spot_before(s, commits, i, &at, err);
        if (rv != MORTISE_OK)
            return rv;
        c->result = judge(s, c, &at);
    }
    if (c->result == MORTISE_OK) {
        rv = judge_spawns(s, commits, i, err);
        if (rv != MORTISE_OK)
            return rv;
    }
    if (c->result != MORTISE_OK)
        return MORTISE_OK;
    remember(s, c, s->marks[i]);
    if (c->n_graph > 0)
        mortise_ldb_keep(s, c->checkpoint.graph);
    return put_commit(s, batch, c, err);
}

/* LevelDB's buffer is full, or may be: have it emptied (8).  Every key that we
 * have is less than this one, so nothing else is compacted; what goes wrong is
 * said by the next write. */
static void empty_buffer(struct mortise_ldb *s)
{
    assert(
        !s->unsynced); /* or a power cut could take it and keep what follows */
    leveldb_compact_range(s->db, "\xff", 1, "\xff", 1);
    s->buffered = BUFFER_AT_FIRST;
}

/* (9): with the stamp, in the first batch. */
static int put_identity(struct mortise_ldb *s, leveldb_writebatch_t *batch)
{
    static const uint32_t ours = MORTISE_STORE_FORMAT;
    int rv;

    mortise_key_of_tag(&s->key, MORTISE_KEY_STAMP);
    rv = mortise_ldb_put_record(s, batch, &mortise_record_stamp, &ours);
    if (rv != MORTISE_OK)
        return rv;
    mortise_key_of_tag(&s->key, MORTISE_KEY_IDENTITY);
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
        return mortise_ldb_taken(said, err, "write to the store");
    s->unsynced = !sync;
    if (lazy && full)
        empty_buffer(s);
    return MORTISE_OK;
}

/* Put the bookkeeping that every batch carries (3), and write it. */
int mortise_ldb_write(struct mortise_ldb *s, leveldb_writebatch_t *batch,
                      bool lazy, struct mortise_err *err)
{
    uint64_t n = s->commits + 1;
    int rv = MORTISE_OK;

    assert(s->db != NULL && s->db_dir >= 0 &&
           !mortise_tempdir_is_there(&s->scratch));
    assert(s->commits >= s->opening.verified);
    assert(s->water.fd >= 0 && s->water.number <= s->commits); /* never ahead */
    if (s->commits == s->opening.verified)
        has_room(s);
    if (!s->identified)
        rv = put_identity(s, batch);
    mortise_key_commit(&s->key, n);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_put_record(s, batch, &mortise_record_batch,
                                    &s->opening);
    if (rv == MORTISE_OK && n > MORTISE_KEPT_COMMITS) {
        mortise_key_commit(&s->key, n - MORTISE_KEPT_COMMITS);
        rv = mortise_ldb_drop(s, batch);
    }
    if (rv != MORTISE_OK)
        return mortise_nomem(err);

    rv = write_and_sync(s, batch, lazy, err);
    if (rv == MORTISE_OK &&
        !mortise_directory_has_db(s->dir_lock.dir, s->db_dir))
        rv = mortise_fail(err, MORTISE_ECORRUPT,
                          "the store's db/ was removed or replaced");
    if (rv == MORTISE_OK && !s->unsynced)
        rv = mortise_highwater_put(&s->water, n, err);
    if (rv == MORTISE_OK) {
        s->commits = n;
        s->identified = true;
    }
    if (s->linked && n % SWEPT_EACH == 0)
        s->linked = mortise_aside_sweep(s->db_dir);
    return rv;
}

/* Room for a mark of each commit. */
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
        rv = put_next(s, batch, commits, i, err);
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

/* One mark to be put. */
struct new_mark {
    const char *name;
    uint64_t value;
    bool may_fall;
};

static int read_mark(struct mortise_ldb *s, const char *name, uint64_t *value,
                     struct mortise_err *err)
{
    struct mortise_buf key;
    int rv = mortise_ldb_alive(s, err);

    *value = 0;
    if (rv == MORTISE_OK)
        rv = mortise_ldb_name(name, err);
    if (rv == MORTISE_OK)
        rv = mortise_ldb_want_memory(0, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_buf_init(&key, s->mem);
    mortise_key_mark(&key, name);
    rv = mortise_ldb_get_record(s, s->checked, &key, &mortise_record_mark,
                                value, NULL, err);
    mortise_buf_finish(&key);
    return rv == MORTISE_ENOTFOUND ? MORTISE_OK : rv;
}

/* "Only grow": one that is there already stays. */
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
int mortise_ldb_batch(struct mortise_ldb *s, mortise_fill_fn *fill, void *ud,
                      struct mortise_err *err)
{
    leveldb_writebatch_t *batch;
    int rv;

    /* Nobody would unlock it in a child. */
    if (!mortise_dir_lock_is_ours(&s->dir_lock))
        return mortise_ldb_alive(s, err);
    if (mortise_tempdir_is_there(&s->scratch))
        return mortise_fail(err, MORTISE_EDENIED,
                            "this is a read-only copy of the store");
    rv = mortise_ldb_want_memory(0, err);
    if (rv != MORTISE_OK) {
        atomic_store(&s->refused, true);
        return rv;
    }
    batch = leveldb_writebatch_create();
    pthread_mutex_lock(&s->writing);
    assert(s->value.n == 0);
    s->batched = s->checked_at = 0;
    rv = mortise_ldb_alive(s, err);
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

static int write_all(struct mortise_store *store,
                     struct mortise_commit *const *commits, size_t n,
                     struct mortise_err *err)
{
    struct commits all = {commits, n};

    return mortise_ldb_batch(mortise_ldb_of(store), write_commits, &all, err);
}

static int mark_get(struct mortise_store *store, const char *name,
                    uint64_t *value, struct mortise_err *err)
{
    return read_mark(mortise_ldb_of(store), name, value, err);
}

static int mark_put(struct mortise_store *store, const char *name,
                    uint64_t value, bool may_fall, struct mortise_err *err)
{
    struct new_mark m = {name, value, may_fall};
    int rv = mortise_ldb_name(name, err);

    return rv == MORTISE_OK
               ? mortise_ldb_batch(mortise_ldb_of(store), write_mark, &m, err)
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
    .lacks = mortise_ldb_lacks,
    .read = mortise_ldb_read,
    .write = write_all,
    .cache_bound = mortise_ldb_cache_bound,
    .remove = mortise_ldb_remove,
    .remove_rest = mortise_ldb_remove_rest,
    .note = mortise_ldb_note,
    .sweep_begin = mortise_ldb_sweep_begin,
    .sweep_keep = mortise_ldb_sweep_keep,
    .sweep = mortise_ldb_sweep,
    .mark_get = mark_get,
    .mark_put = mark_put,
};

static bool takes(const char *path)
{
    (void)path;
    return true;
}

static bool is_there(const char *path)
{
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool there = dir >= 0 ? mortise_directory_is_made(dir) : errno != ENOENT;

    if (dir >= 0)
        close(dir);
    return there;
}

const struct mortise_store_maker mortise_store_leveldb = {
    .takes = takes,
    .is_there = is_there,
    .open = open_store,
    .open_view = mortise_ldb_open_view,
};
