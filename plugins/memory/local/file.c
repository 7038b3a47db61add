/* file.c -- the file of traces: opened, made, and never taken for another's.
 *
 *   (1) A file that is not ours is left as it is: one that is no database of
 *       SQLite, one of another program, and one of another version of this.
 *   (2) What was acknowledged is on disk: each commit syncs the log
 *       (synchronous=FULL).  With NORMAL the last commits would be lost with
 *       the power, and a trace that the host has struck from its outbox by then
 *       would be nowhere.  It costs a sync a call, not a trace: batches.
 *   (3) Readers see one moment, and wait for no writer: a log ahead of the file
 *       (WAL), and a transaction for each call.
 *   (4) Nobody but the owner can read it: made with mode 0600, in a directory
 *       of mode 0700 where we make that.
 *   (5) What is deleted is overwritten (secure_delete), and the log is put into
 *       the file and emptied after a forget().
 *   (6) Who has the file locked is busy, and no fault of the config, at the
 *       opening as later; and that does not wait for who writes, unless there is
 *       something to be made.
 *   (7) It is made whole: under another name, with all its tables, then synced
 *       and renamed, in a directory that is locked meanwhile.  So a file of ours
 *       always says that it is ours, in its first bytes, and nobody needs SQLite
 *       to tell.  What a process left that was killed in between goes with the
 *       next one.
 *   (8) It is opened to be written from the start: a connection that reads alone
 *       cannot take back what a dead process left half done, and would find the
 *       file unreadable until somebody writes to it.
 */
#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    APPLICATION = 0x4d747263,    /* "Mtrc": in the header of files of ours */
    BEFORE_RELEASE = 0x4d6d656d, /* "Mmem": of development versions */
    VERSION = 1,
    BUSY_MS = 5000,      /* for another process to end its write */
    BUSY_OPEN_MS = 2000, /* the same while the engine waits for create() */
    BUSY_STEP_MS = 10,   /* between two looks whether a directory is free */
    STEPS = 20000,       /* of SQLite's machine between two signs of life */
    CACHE_KIB = 65536,   /* of each connection */
    LOG_PAGES = 8000 /* of 4 KiB, that wait in the log for their place: ids lie
                          anywhere in their index, and one page has many */
};

const struct reason bad_request = {MORTISE_MEMORY_REQUEST, "permanent",
                                   MORTISE_S_INVALID};
const struct reason out_of_memory = {"no_memory", "transient", MORTISE_S_NOMEM};
static const struct reason busy = {MORTISE_MEMORY_BUSY, "transient",
                                   MORTISE_S_IO};
static const struct reason full = {MORTISE_MEMORY_FULL, "permanent",
                                   MORTISE_S_IO};
static const struct reason io = {MORTISE_MEMORY_IO, "transient", MORTISE_S_IO};
const struct reason corrupt_file = {MORTISE_MEMORY_CORRUPT, "permanent",
                                    MORTISE_S_FAILED};
static const struct reason cancelled = {"cancelled", "cancelled",
                                        MORTISE_S_CANCELLED};
static const struct reason other = {"memory.sql", "permanent",
                                    MORTISE_S_FAILED};

mortise_status no(const struct mortise_inst *i, mortise_call call,
                  const struct reason *why, const char *fmt, ...)
{
    char words[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    return mortise_refuse(i->host, i->api, call, why->status, why->klass,
                          why->code, words);
}

static const struct reason *reason_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return &busy;
    case SQLITE_FULL:
        return &full;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR: /* our SQL is right, so a table is not there */
        return &corrupt_file;
    case SQLITE_NOMEM:
        return &out_of_memory;
    case SQLITE_INTERRUPT:
        return &cancelled;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
        return &io;
    default:
        return &other;
    }
}

mortise_status no_database(const struct job *j, const char *doing)
{
    int code = sqlite3_extended_errcode(j->c->db);

    return no(j->inst, j->call, reason_of(code), "%s: %s: %s (%d)",
              j->inst->path, doing, sqlite3_errmsg(j->c->db), code);
}

/* ---- statements ---------------------------------------------------------- */

static const char *const texts[N_STATEMENTS] = {
    [S_BEGIN] = "BEGIN",
    [S_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [S_COMMIT] = "COMMIT",
    [S_ROLLBACK] = "ROLLBACK",
    [S_TENANT] = "SELECT n, seq, traces, bytes FROM tenant WHERE name = ?1",
    [S_TENANT_ADD] =
        "INSERT INTO tenant (name, seq, traces, bytes) VALUES (?1, 0, 0, 0)",
    [S_TENANT_SET] =
        "UPDATE tenant SET seq = ?2, traces = ?3, bytes = ?4 WHERE n = ?1",
    [S_PLACE] =
        "SELECT n FROM place WHERE tenant = ?1 AND scope = ?2 AND key = ?3",
    [S_PLACE_ADD] =
        "INSERT INTO place (tenant, scope, key) VALUES (?1, ?2, ?3)",
    [S_ANY_GONE] = "SELECT 1 FROM gone WHERE tenant = ?1 LIMIT 1",
    [S_GONE] = "SELECT 1 FROM gone WHERE tenant = ?1 AND id = ?2",
    [S_GONE_ADD] = "INSERT OR IGNORE INTO gone (tenant, id) VALUES (?1, ?2)",
    [S_GONE_DROP] = "DELETE FROM gone WHERE tenant = ?1 AND id = ?2",
    [S_TRACE_ADD] =
        "INSERT OR IGNORE INTO trace (tenant, id, seq, place, scope, type, "
        "created, strength, by_now, at, uses, metadata, content) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?7, 0, ?9, ?10)",
    [S_TRACE_OF] = "SELECT n FROM trace WHERE tenant = ?1 AND id = ?2",
    [S_TRACE] =
        "SELECT t.id, t.seq, t.place, t.scope, t.type, t.created, t.strength, "
        "t.by_now, t.at, t.uses, length(CAST(t.content AS BLOB)), t.metadata, "
        "t.content, p.key FROM trace t JOIN place p ON p.n = t.place "
        "WHERE t.n = ?1 AND t.tenant = ?2",
    [S_TRACE_DROP] = "DELETE FROM trace WHERE n = ?1",
    [S_STRENGTH_SET] =
        "UPDATE trace SET by_now = ?2, at = ?3, uses = uses + 1 WHERE n = ?1",
    [S_USE_ADD] = "INSERT OR IGNORE INTO use (trace, name, at, seq) "
                  "VALUES (?1, ?2, ?3, ?4)",
    [S_USES] = "SELECT at FROM use WHERE trace = ?1 AND seq <= ?2 "
               "ORDER BY at, name",
    [S_USES_DROP] = "DELETE FROM use WHERE trace = ?1",
    [S_HORIZON] = "SELECT n FROM trace WHERE tenant = ?1 AND seq <= ?2 "
                  "ORDER BY seq DESC, n DESC LIMIT 1",
    [S_DUE_ADD] = "INSERT OR IGNORE INTO due (tenant, trace) VALUES (?1, ?2)",
    [S_DUE_DROP] = "DELETE FROM due WHERE tenant = ?1 AND trace = ?2",
    [S_DUE] = "SELECT d.trace, t.content FROM due d JOIN trace t "
              "ON t.n = d.trace WHERE d.tenant = ?1 LIMIT ?2",
    [S_VECTOR_ADD] = "INSERT OR IGNORE INTO vector (tenant, trace, v) "
                     "VALUES (?1, ?2, ?3)",
    [S_VECTOR_DROP] = "DELETE FROM vector WHERE trace = ?1",
    [S_VECTORS] = "SELECT v.n, v.trace, t.place, t.scope, t.type, v.v "
                  "FROM vector v JOIN trace t ON t.n = v.trace "
                  "WHERE v.tenant = ?1 AND v.n > ?2 ORDER BY v.n",
    [S_WHERE] = "SELECT place, scope, type FROM trace WHERE n = ?1",
    [S_FIRST] = "SELECT n FROM trace WHERE tenant = ?1 ORDER BY seq, n LIMIT 1",
    [S_OF_PLACE] = "SELECT n FROM trace WHERE place = ?1 AND n < ?2 "
                   "ORDER BY n DESC LIMIT ?3",
    [S_OF_TENANT] = "SELECT n FROM trace WHERE tenant = ?1 AND (seq, n) < "
                    "(?4, ?2) ORDER BY seq DESC, n DESC LIMIT ?3",
    [S_PLACES_DROP] = "DELETE FROM place WHERE tenant = ?1 AND NOT EXISTS "
                      "(SELECT 1 FROM trace WHERE trace.place = place.n)",
};

sqlite3_stmt *statement(const struct job *j, enum statement which)
{
    sqlite3_stmt **s = &j->c->s[which];

    if (*s == NULL &&
        sqlite3_prepare_v3(j->c->db, texts[which], -1,
                           SQLITE_PREPARE_PERSISTENT, s, NULL) != SQLITE_OK)
        return NULL;
    sqlite3_reset(*s);
    sqlite3_clear_bindings(*s);
    return *s;
}

bool run(sqlite3_stmt *s)
{
    int code = s != NULL ? sqlite3_step(s) : SQLITE_ERROR;

    sqlite3_reset(s);
    return code == SQLITE_DONE || code == SQLITE_ROW;
}

bool run_number(sqlite3_stmt *s, int64_t *out)
{
    int code = s != NULL ? sqlite3_step(s) : SQLITE_ERROR;

    *out = code == SQLITE_ROW ? sqlite3_column_int64(s, 0) : 0;
    sqlite3_reset(s);
    return code == SQLITE_DONE || code == SQLITE_ROW;
}

/* The end of a transaction: what was read lets go of the moment that it saw. */
static void reset_all(const struct job *j)
{
    for (size_t k = 0; k < N_STATEMENTS; k++)
        sqlite3_reset(j->c->s[k]);
}

bool run_plain(const struct job *j, enum statement which)
{
    if (which == S_COMMIT || which == S_ROLLBACK)
        reset_all(j);
    return run(statement(j, which));
}

bool run_text(const struct job *j, const char *sql)
{
    return sqlite3_exec(j->c->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* ---- opening ------------------------------------------------------------- */

static const char schema[] =
    "CREATE TABLE tenant (n INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
    "seq INTEGER NOT NULL, traces INTEGER NOT NULL, bytes INTEGER NOT NULL);"
    "CREATE TABLE place (n INTEGER PRIMARY KEY, tenant INTEGER NOT NULL, "
    "scope INTEGER NOT NULL, key TEXT NOT NULL, UNIQUE (tenant, scope, key));"
    /* AUTOINCREMENT: a number is never given again, so older is less. */
    "CREATE TABLE trace (n INTEGER PRIMARY KEY AUTOINCREMENT, "
    "tenant INTEGER NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL, "
    "place INTEGER NOT NULL, scope INTEGER NOT NULL, type INTEGER NOT NULL, "
    "created INTEGER NOT NULL, strength REAL NOT NULL, by_now REAL NOT NULL, "
    "at INTEGER NOT NULL, uses INTEGER NOT NULL, metadata TEXT, "
    "content TEXT NOT NULL, UNIQUE (tenant, id));"
    "CREATE INDEX trace_seq ON trace (tenant, seq);"
    "CREATE INDEX trace_place ON trace (place);"
    "CREATE TABLE use (trace INTEGER NOT NULL, name TEXT NOT NULL, "
    "at INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (trace, name)) "
    "WITHOUT ROWID;"
    "CREATE TABLE gone (tenant INTEGER NOT NULL, id BLOB NOT NULL, "
    "PRIMARY KEY (tenant, id)) WITHOUT ROWID;"
    "CREATE TABLE due (tenant INTEGER NOT NULL, trace INTEGER NOT NULL, "
    "PRIMARY KEY (tenant, trace)) WITHOUT ROWID;"
    /* In the order in which they were made, which is not that of traces. */
    "CREATE TABLE vector (n INTEGER PRIMARY KEY AUTOINCREMENT, "
    "tenant INTEGER NOT NULL, trace INTEGER NOT NULL UNIQUE, "
    "v BLOB NOT NULL);"
    "CREATE INDEX vector_tenant ON vector (tenant);";

/* A sign of life, and whether to go on. */
static int on_progress(void *ud)
{
    const struct connection *c = ud;

    return c->call != 0 && c->inst->api->cancelled(c->inst->host, c->call) != 0;
}

/* How long it waits for others. */
static void set_patience(const struct job *j)
{
    sqlite3_busy_timeout(j->c->db, j->call != 0 ? BUSY_MS : BUSY_OPEN_MS);
}

static mortise_status unreadable(const struct job *j)
{
    const struct reason *why = reason_of(sqlite3_extended_errcode(j->c->db));

    return no(j->inst, j->call, why,
              why == &busy ? "%s is locked by another process: %s"
                           : "%s cannot be read and was not changed: %s",
              j->inst->path, sqlite3_errmsg(j->c->db));
}

static mortise_status connect(struct job *j)
{
    struct connection *c = j->c;
    char text[320];
    bool made;

    if (sqlite3_open_v2(j->inst->path, &c->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                            SQLITE_OPEN_EXRESCODE,
                        NULL) != SQLITE_OK)
        return unreadable(j);
    set_patience(j);
    sqlite3_progress_handler(c->db, STEPS, on_progress, c);
    snprintf(text, sizeof text,
             "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
             "PRAGMA secure_delete=ON; PRAGMA trusted_schema=OFF;"
             "PRAGMA cache_size=-%d; PRAGMA temp_store=MEMORY;"
             "PRAGMA mmap_size=0; PRAGMA wal_autocheckpoint=%d;"
             "PRAGMA journal_size_limit=67108864;",
             CACHE_KIB, LOG_PAGES);
    made = run_text(j, text) && text_prepare(c->db);
    return made ? MORTISE_S_OK : unreadable(j);
}

static void disconnect(struct connection *c)
{
    for (size_t k = 0; k < N_STATEMENTS; k++) {
        sqlite3_finalize(c->s[k]);
        c->s[k] = NULL;
    }
    sqlite3_finalize(c->text_add);
    sqlite3_finalize(c->text_drop);
    c->text_add = c->text_drop = NULL;
    c->text_tenant = 0;
    sqlite3_close(c->db);
    c->db = NULL;
}

/* ---- making it (7) -------------------------------------------------------- */

static mortise_status no_errno(const struct mortise_inst *i, const char *doing)
{
    return no(i, 0, errno == ENOSPC || errno == EDQUOT ? &full : &io,
              "%s: %s: %s", i->path, doing, strerror(errno));
}

/* A new directory is a name in the one above it (2). */
static int sync_above(const char *dir)
{
    char *above = sqlite3_mprintf("%s/..", dir);
    int fd = above != NULL ? open(above, O_RDONLY | O_CLOEXEC) : -1;
    int rv = fd >= 0 ? fsync(fd) : -1;

    if (fd >= 0)
        close(fd);
    sqlite3_free(above);
    return rv;
}

/* (4), what is missing of the way to the file, the last part 0700. */
static mortise_status make_directory(struct mortise_inst *i)
{
    char *at = i->path;
    mortise_status status = MORTISE_S_OK;

    while (status == MORTISE_S_OK && (at = strchr(at + 1, '/')) != NULL) {
        *at = '\0';
        if (mkdir(i->path, 0700) == 0
                ? sync_above(i->path) != 0
                : errno != EEXIST && errno != EROFS && errno != EACCES)
            status = no_errno(i, "make the directory");
        *at = '/';
    }
    return status;
}

/* The directory of the file, locked; -1 with the words. */
static int lock_directory(const struct mortise_inst *i, mortise_status *status)
{
    const char *slash = strrchr(i->path, '/');
    char *dir = strndup(i->path, (size_t)(slash - i->path) + 1);
    int fd = dir != NULL ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    int tries = BUSY_OPEN_MS / BUSY_STEP_MS, rv = -1;

    free(dir);
    while (fd >= 0 && (rv = flock(fd, LOCK_EX | LOCK_NB)) != 0 &&
           (errno == EINTR || (errno == EWOULDBLOCK && tries-- > 0)))
        usleep(BUSY_STEP_MS * 1000);
    if (rv == 0)
        return fd;
    *status =
        errno == EWOULDBLOCK
            ? no(i, 0, &busy, "%s is locked by another process that creates it",
                 i->path)
            : no_errno(i, "lock the directory");
    if (fd >= 0)
        close(fd);
    return -1;
}

/* What SQLite has beside a file, of one that is no more. */
static void remove_beside(const char *path)
{
    static const char *const ends[] = {"-journal", "-wal", "-shm"};

    for (size_t k = 0; k < sizeof ends / sizeof ends[0]; k++) {
        char *name = sqlite3_mprintf("%s%s", path, ends[k]);

        if (name != NULL)
            unlink(name);
        sqlite3_free(name);
    }
}

/* Create all tables in the new file.  Move the log into the file here: closing
 * does it too, but reports no error if the disk is full. */
static mortise_status make_tables(const struct mortise_inst *i,
                                  const char *path)
{
    mortise_status status = MORTISE_S_OK;
    sqlite3 *db = NULL;
    char *text = sqlite3_mprintf(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; BEGIN; %s "
        "PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT",
        schema, APPLICATION, VERSION);

    if (text == NULL ||
        sqlite3_open_v2(path, &db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                            SQLITE_OPEN_EXRESCODE,
                        NULL) != SQLITE_OK ||
        sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_wal_checkpoint_v2(db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
                                  NULL) != SQLITE_OK)
        status = no(i, 0, reason_of(sqlite3_extended_errcode(db)),
                    "%s: make: %s", path, sqlite3_errmsg(db));
    sqlite3_free(text);
    if (sqlite3_close(db) != SQLITE_OK && status == MORTISE_S_OK)
        status = no(i, 0, &io, "%s: close: %s", path, sqlite3_errmsg(db));
    return status;
}

static mortise_status make_as(const struct mortise_inst *i, const char *path,
                              int dir)
{
    mortise_status status;
    int fd;

    unlink(path);
    remove_beside(path);
    remove_beside(i->path);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0)
        return no_errno(i, "make");
    status = make_tables(i, path);
    if (status == MORTISE_S_OK &&
        (fsync(fd) != 0 || rename(path, i->path) != 0 || fsync(dir) != 0))
        status = no_errno(i, "make");
    close(fd);
    if (status != MORTISE_S_OK) {
        unlink(path);
        remove_beside(path);
    }
    return status;
}

/* There is none, or one without a byte: so nobody has it open. */
static bool is_missing(const struct mortise_inst *i)
{
    struct stat st;

    return stat(i->path, &st) != 0 ? errno == ENOENT
                                   : S_ISREG(st.st_mode) && st.st_size == 0;
}

static mortise_status make(struct mortise_inst *i)
{
    mortise_status status = make_directory(i);
    int dir = status == MORTISE_S_OK ? lock_directory(i, &status) : -1;
    char *path;

    if (dir < 0)
        return status;
    path = sqlite3_mprintf("%s.new", i->path);
    if (path == NULL)
        status = no(i, 0, &out_of_memory, "out of memory");
    else if (is_missing(i)) /* still */
        status = make_as(i, path, dir);
    sqlite3_free(path);
    close(dir);
    return status;
}

/* ---- whose it is (1) ------------------------------------------------------ */

static mortise_status of_another(const struct mortise_inst *i,
                                 int64_t application)
{
    if (application == BEFORE_RELEASE)
        return no(i, 0, &corrupt_file,
                  "%s was written by a development version before 0.2.0 and "
                  "was not changed; export it with that version, and import it "
                  "into another directory",
                  i->path);
    return no(i, 0, &corrupt_file,
              "%s is the database of another program and was not changed; use "
              "another directory",
              i->path);
}

static mortise_status judge_version(const struct mortise_inst *i, int64_t is)
{
    if (is == VERSION)
        return MORTISE_S_OK;
    if (is < VERSION)
        return no(
            i, 0, &corrupt_file,
            "%s is damaged and was not changed: its version %lld is invalid",
            i->path, (long long)is);
    return no(i, 0, &corrupt_file,
              "%s was written by a later version (%lld; this version supports "
              "%d) and was not changed",
              i->path, (long long)is, VERSION);
}

static int64_t number_at(const unsigned char *p)
{
    return (int32_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
                     (uint32_t)p[2] << 8 | (uint32_t)p[3]);
}

/* By its first bytes (sqlite.org/fileformat2.html, section 1.3). */
static mortise_status judge_head(const struct mortise_inst *i)
{
    enum { USER_VERSION = 60, APPLICATION_ID = 68, HEAD = 100 };
    static const char magic[16] = "SQLite format 3";
    unsigned char head[HEAD];
    int fd = open(i->path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    ssize_t n;

    if (fd < 0)
        return no(i, 0, &io, "%s: %s", i->path, strerror(errno));
    n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode)
            ? pread(fd, head, sizeof head, 0)
            : -1;
    close(fd);
    if (n < (ssize_t)sizeof magic || memcmp(head, magic, sizeof magic) != 0)
        return no(i, 0, &corrupt_file,
                  "%s is not a file of traces and was not changed; use another "
                  "directory, or move the file away",
                  i->path);
    if (n < HEAD || number_at(head + APPLICATION_ID) != APPLICATION)
        return of_another(i, n < HEAD ? 0 : number_at(head + APPLICATION_ID));
    return judge_version(i, number_at(head + USER_VERSION));
}

/* The same by SQLite, which reads what is still in its log. */
static mortise_status judge(const struct job *j)
{
    static const char text[] =
        "SELECT (SELECT application_id FROM pragma_application_id), "
        "(SELECT user_version FROM pragma_user_version)";
    int64_t application = 0, version = 0;
    sqlite3_stmt *s = NULL;
    bool right =
        sqlite3_prepare_v2(j->c->db, text, -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW;

    if (right) {
        application = sqlite3_column_int64(s, 0);
        version = sqlite3_column_int64(s, 1);
    }
    sqlite3_finalize(s);
    if (!right)
        return unreadable(j);
    return application == APPLICATION ? judge_version(j->inst, version)
                                      : of_another(j->inst, application);
}

/* ---- opening -------------------------------------------------------------- */

mortise_status file_open(struct mortise_inst *i)
{
    struct job j = {.inst = i};
    mortise_status status = is_missing(i) ? make(i) : MORTISE_S_OK;

    if (status == MORTISE_S_OK)
        status = judge_head(i);
    if (status == MORTISE_S_OK)
        status = file_take(&j);
    if (status != MORTISE_S_OK)
        return status;
    status = judge(&j);
    file_give_back(&j);
    return status;
}

void file_close(struct mortise_inst *i)
{
    for (size_t k = 0; k < CONNECTIONS; k++)
        disconnect(&i->connections[k]);
}

/* ---- one for a call ------------------------------------------------------ */

static struct connection *free_one(struct mortise_inst *i)
{
    struct connection *found = NULL;

    for (size_t k = 0; k < CONNECTIONS; k++) {
        struct connection *c = &i->connections[k];

        if (!c->taken && (found == NULL || (found->db == NULL && c->db)))
            found = c;
    }
    return found;
}

mortise_status file_take(struct job *j)
{
    struct mortise_inst *i = j->inst;
    mortise_status status = MORTISE_S_OK;

    pthread_mutex_lock(&i->lock);
    while ((j->c = free_one(i)) == NULL)
        pthread_cond_wait(&i->given_back, &i->lock);
    j->c->taken = true;
    pthread_mutex_unlock(&i->lock);
    j->c->inst = i;
    j->c->call = j->call;
    if (j->c->db == NULL)
        status = connect(j);
    if (status == MORTISE_S_OK) {
        set_patience(j);
        return status;
    }
    disconnect(j->c);
    file_give_back(j);
    return status;
}

void file_give_back(struct job *j)
{
    struct mortise_inst *i = j->inst;

    j->c->call = 0;
    pthread_mutex_lock(&i->lock);
    j->c->taken = false;
    pthread_cond_signal(&i->given_back);
    pthread_mutex_unlock(&i->lock);
    j->c = NULL;
}
