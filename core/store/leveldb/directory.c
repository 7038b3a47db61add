/* directory.c -- the store's directory: made, stamped, looked at.
 *
 *     STORE/           0700
 *     STORE/format     a line of text: the number of its format
 *     STORE/mark       how much of it was synced (highwater.c)
 *     STORE/db/        0700, LevelDB's
 *
 * The stamp is a file beside LevelDB's directory, and not only a key in it,
 * because leveldb_open() rewrites its MANIFEST, logs and CURRENT before the
 * first key can be read.  So:
 *
 *   (1) A store of another format is refused with nothing in it touched.
 *   (2) The file is there only once LevelDB's directory is, durably: a stamped
 *       store whose db/ is gone is a loss to be reported, never one to be
 *       replaced by a new, empty database.
 *   (3) It is replaced by rename, so a crash leaves it whole or absent.
 *   (4) While a store is being made of another one, it says that this is none
 *       yet (unfinished.c).
 *   (5) A file is created under a name of its own, never written through one
 *       that is there: a link in a store that somebody else made would lead to
 *       any file of the user.
 *   (6) Nobody but its owner reaches anything in it: who opens a directory of
 *       his that others may read, to write to it, closes it to them.  One that
 *       lets its group through and no further (0710) is left to the engine,
 *       which knows whether that is meant (engine.c).
 *   (7) A directory that holds something else, and nothing of a store, is
 *       somebody's: it is refused with nothing in it touched.  A store that lost
 *       files is still one.
 */
#include "core/store/leveldb/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/files.h"
#include "core/base/infile.h"
#include "core/store/leveldb/dbfile.h"
#include "core/store/leveldb/record.h"

enum { PERMISSIONS = 07777, OTHERS = 077, THROUGH = 010 };

static const char stamp_name[] = "format";
static const char stamp_new[] = "format.new";
static const char unfinished[] = "mortise-store unfinished\n";

static int sync_fd(int fd, const char *what, struct mortise_err *err)
{
    if (fsync(fd) != 0)
        return mortise_syserr(err, errno, "sync %s", what);
    return MORTISE_OK;
}

/* Sync a directory by name. */
static int sync_dir(int dir, const char *name, struct mortise_err *err)
{
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rv;

    if (fd < 0)
        return mortise_syserr(err, errno, "open %s", name);
    rv = sync_fd(fd, name, err);
    close(fd);
    return rv;
}

int mortise_directory_open(int *dir, const char *path, struct mortise_err *err)
{
    int errnum = mkdir(path, 0700) == 0 ? 0 : errno, rv;

    rv = mortise_directory_find(dir, path, err);
    if (rv != MORTISE_ENOTFOUND || errnum == 0 || errnum == EEXIST)
        return rv; /* where nothing can be made, one that is there will do */
    return mortise_syserr(err, errnum, "make the directory");
}

int mortise_directory_find(int *dir, const char *path, struct mortise_err *err)
{
    *dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*dir < 0)
        return mortise_syserr(err, errno, "open the directory");
    return MORTISE_OK;
}

static bool is_there(int dir, const char *name)
{
    return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
           errno != ENOENT;
}

/* MORTISE_ESTATE: it is a file in which commits are, or the name of one. */
static int look_for_data(void *ud, int db, const char *name,
                         struct mortise_err *err)
{
    enum mortise_dbfile kind = mortise_dbfile_kind(name);

    (void)ud;
    (void)db;
    return kind == MORTISE_DBFILE_TABLE || kind == MORTISE_DBFILE_LOG ||
                   kind == MORTISE_DBFILE_CURRENT
               ? mortise_fail(err, MORTISE_ESTATE, "%s", name)
               : MORTISE_OK;
}

/* A disk that was full, or a kill, may have ended its making so early that the
 * database never was one. */
static bool has_database(int dir)
{
    int db = openat(dir, "db", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rv;

    if (db < 0)
        return errno != ENOENT;
    rv = mortise_directory_each(db, "db", look_for_data, NULL, NULL);
    close(db);
    return rv != MORTISE_OK;
}

bool mortise_directory_is_made(int dir)
{
    return is_there(dir, "format") || is_there(dir, "mark") ||
           has_database(dir);
}

/* Is it in a store, or may it be where a store is made?  (A file system that is
 * mounted there begins with lost+found.) */
static bool may_be_in_store(const char *name)
{
    static const char *const names[] = {
        "db",         "format",       "format.new", "mark",
        "mark.new",   "reserve",      "quarantine", "memory",
        "doctor.tmp", "control.sock", "lost+found"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int refuse_other(void *ud, int dir, const char *name,
                        struct mortise_err *err)
{
    (void)ud;
    (void)dir;
    if (may_be_in_store(name))
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_EINVAL,
                        "it is not a store, and it contains other files "
                        "('%s'): name a new or an empty directory",
                        name);
}

int mortise_directory_check_ours(int dir, struct mortise_err *err)
{
    return mortise_directory_is_made(dir)
               ? MORTISE_OK
               : mortise_directory_each(dir, "the directory", refuse_other,
                                        NULL, err);
}

mode_t mortise_directory_close_off(int dir)
{
    struct stat st;

    if (fstat(dir, &st) != 0 || st.st_uid != geteuid() ||
        (st.st_mode & OTHERS) == 0 || (st.st_mode & OTHERS) == THROUGH ||
        fchmod(dir, st.st_mode & PERMISSIONS & ~(mode_t)OTHERS) != 0)
        return 0;
    return st.st_mode & PERMISSIONS;
}

static int no_file(struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_ECORRUPT,
                        "its file '%s' is not a regular file: it was replaced",
                        stamp_name);
}

/* The stamp's text; *n is 0 when there is no such file. */
static int read_text(int dir, char *text, size_t cap, size_t *n,
                     struct mortise_err *err)
{
    int fd = mortise_infile_open(dir, stamp_name, 0);
    ssize_t got;

    *n = 0;
    if (fd < 0)
        return errno == ENOENT ? MORTISE_OK
               : errno == MORTISE_NO_FILE
                   ? no_file(err)
                   : mortise_syserr(err, errno, "open %s", stamp_name);
    got = read(fd, text, cap - 1);
    if (got < 0) {
        int rv = errno == EISDIR
                     ? no_file(err)
                     : mortise_syserr(err, errno, "read %s", stamp_name);

        close(fd);
        return rv;
    }
    close(fd);
    *n = (size_t)got;
    text[*n] = '\0';
    return *n != 0 ? MORTISE_OK
                   : mortise_fail(err, MORTISE_ECORRUPT,
                                  "its file '%s' is empty", stamp_name);
}

/* Development versions before 0.2.0 wrote a second line. */
static int made_before_release(struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_EFORMAT,
                        "a development version before 0.2.0 created it, and no "
                        "release can read it: finish its runs with that "
                        "version, or move it away and create a new store");
}

int mortise_directory_read_stamp(int dir, bool *stamped,
                                 struct mortise_err *err)
{
    char text[128];
    unsigned format;
    int at = 0, rv;
    size_t n;

    *stamped = false;
    rv = read_text(dir, text, sizeof text, &n, err);
    if (rv != MORTISE_OK || n == 0)
        return rv;
    if (strcmp(text, unfinished) == 0)
        return mortise_fail(
            err, MORTISE_ESTATE,
            "it is not a store: an interrupted 'mortise store salvage' created "
            "it; run it again, into the same directory");
    if (sscanf(text, "mortise-store %9u%n", &format, &at) != 1 ||
        text[at++] != '\n' || format == 0)
        return mortise_fail(err, MORTISE_ECORRUPT,
                            "its file '%s' is not the format file of a store",
                            stamp_name);
    if (strncmp(text + at, "oldest-reader ", 14) == 0)
        return made_before_release(err);
    rv = mortise_stamp_check(format, err);
    if (rv == MORTISE_OK && (size_t)at != n)
        rv = mortise_fail(err, MORTISE_ECORRUPT,
                          "its file '%s' is not the format file of a store",
                          stamp_name);
    *stamped = rv == MORTISE_OK;
    return rv;
}

/* (3) */
static int replace_text(int dir, const char *text, struct mortise_err *err)
{
    int rv =
        mortise_directory_put(dir, stamp_new, text, strlen(text), true, err);

    if (rv != MORTISE_OK)
        return rv;
    if (renameat(dir, stamp_new, dir, stamp_name) != 0)
        return mortise_syserr(err, errno, "rename %s", stamp_new);
    return sync_fd(dir, "the directory", err);
}

int mortise_directory_write_stamp(int dir, struct mortise_err *err)
{
    char text[64];

    snprintf(text, sizeof text, "mortise-store %d\n", MORTISE_STORE_FORMAT);
    return replace_text(dir, text, err);
}

int mortise_directory_write_unfinished(int dir, struct mortise_err *err)
{
    return replace_text(dir, unfinished, err);
}

bool mortise_directory_is_unfinished(int dir)
{
    bool stamped;

    return mortise_directory_read_stamp(dir, &stamped, NULL) == MORTISE_ESTATE;
}

int mortise_directory_make_db(int dir, struct mortise_err *err)
{
    if (mkdirat(dir, "db", 0700) != 0 && errno != EEXIST)
        return mortise_syserr(err, errno, "make db");
    return MORTISE_OK;
}

/* It is open, so its inode is not given to another one.  CURRENT is there from
 * its making on, whatever LevelDB does; the rest of its files come and go. */
bool mortise_directory_has_db(int dir, int db)
{
    struct stat ours, there;

    return fstat(db, &ours) == 0 && fstatat(dir, "db", &there, 0) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino &&
           fstatat(db, "CURRENT", &there, AT_SYMLINK_NOFOLLOW) == 0;
}

int mortise_directory_sync(int dir, struct mortise_err *err)
{
    int rv = sync_dir(dir, ".", err);

    return rv != MORTISE_OK ? rv : sync_dir(dir, "..", err);
}

int mortise_directory_each(int dir, const char *what,
                           mortise_directory_each_fn *each, void *ud,
                           struct mortise_err *err)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rv = 0;
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *e;

    if (d == NULL) {
        rv = mortise_syserr(err, errno, "list %s", what);
        if (fd >= 0)
            close(fd);
        return rv;
    }
    while (rv == MORTISE_OK && (errno = 0, e = readdir(d)) != NULL)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            rv = each(ud, dir, e->d_name, err);
    if (rv == MORTISE_OK && errno != 0)
        rv = mortise_syserr(err, errno, "list %s", what);
    closedir(d);
    return rv;
}

/* (5) */
int mortise_directory_create(int dir, const char *name, int flags)
{
    if (unlinkat(dir, name, 0) != 0 && errno != ENOENT)
        return -1;
    return openat(dir, name, flags | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

int mortise_directory_put(int dir, const char *name, const void *p, size_t n,
                          bool sync, struct mortise_err *err)
{
    int fd = mortise_directory_create(dir, name, O_WRONLY);
    int rv = MORTISE_OK;

    if (fd < 0)
        return mortise_syserr(err, errno, "make %s", name);
    if (mortise_file_put(fd, p, n) != 0)
        rv = mortise_syserr(err, errno, "write %s", name);
    else if (sync)
        rv = sync_fd(fd, name, err);
    close(fd);
    return rv;
}

int mortise_directory_link(int from, const char *name, int to, const char *as,
                           struct mortise_err *err)
{
    if (linkat(from, name, to, as, 0) == 0)
        return MORTISE_OK;
    switch (errno) {
    case EPERM: /* what such a file system says, as link(2) has it */
    case EOPNOTSUPP:
    case ENOSYS:
    case EXDEV:
    case EMLINK:
        return MORTISE_ESTATE;
    default:
        return mortise_syserr(err, errno, "link %s", name);
    }
}

/* All of one descriptor into another. */
static int pour(int in, int out, const char *name, struct mortise_err *err)
{
    char room[32 * 1024];
    ssize_t n, put;

    while ((n = read(in, room, sizeof room)) > 0) {
        put = write(out, room, (size_t)n);
        if (put != n)
            return mortise_syserr(err, put < 0 ? errno : ENOSPC, "copy %s",
                                  name);
    }
    return n == 0 ? MORTISE_OK : mortise_syserr(err, errno, "read %s", name);
}

int mortise_directory_copy(int from, const char *name, int to, const char *as,
                           struct mortise_err *err)
{
    int in = mortise_infile_open(from, name, O_NOFOLLOW), out, rv;

    if (in < 0)
        return mortise_syserr(err, errno, "open %s", name);
    out = mortise_directory_create(to, as, O_WRONLY);
    rv = out >= 0 ? pour(in, out, name, err)
                  : mortise_syserr(err, errno, "make %s", as);
    close(in);
    if (out >= 0)
        close(out);
    return rv;
}
