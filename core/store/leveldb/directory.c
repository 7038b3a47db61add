/* directory.c -- the store's directory and its stamp.
 *
 *     STORE/           0700
 *     STORE/format     one line of text: the number of its format
 *     STORE/mark       the number of the last synced batch (highwater.c)
 *     STORE/db/        0700, LevelDB's
 *
 * The stamp, STORE/format, is a file beside LevelDB's directory and not only a
 * key in it, because leveldb_open() rewrites MANIFEST, logs and CURRENT before
 * a key can be read.
 *
 *   (1) A store of another format is not opened, and nothing in it is changed.
 *   (2) The stamp exists only after LevelDB's directory does, durably.  So a
 *       stamped store without db/ has lost data: that is reported, and not
 *       repaired by a new, empty database.
 *   (3) The stamp is replaced by rename, so a crash leaves it complete or
 *       absent.
 *   (4) While salvage makes a store, the stamp marks it as unfinished
 *       (unfinished.c).
 *   (5) Files are created under new names and never written through existing
 *       ones: in a store that another user made, a link could lead to any file
 *       of this user.
 *   (6) Only the owner can access the store.  Opening it for writing removes
 *       the permissions of other users from the directory.  The mode 0710,
 *       which lets a group pass through, is left to the engine, which knows
 *       whether it is intended (engine.c).
 *   (7) A directory with other files and without a store is not used, and
 *       nothing in it is changed.  A store that lost files is still a store.
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
static int sync_named_dir(int dir, const char *name, struct mortise_err *err)
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

    rv = mortise_directory_open_existing(dir, path, err);
    if (rv != MORTISE_ENOTFOUND || errnum == 0 || errnum == EEXIST)
        /* If it cannot be made, an existing one will do. */
        return rv;
    return mortise_syserr(err, errnum, "make the directory");
}

int mortise_directory_open_existing(int *dir, const char *path,
                                    struct mortise_err *err)
{
    *dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*dir < 0)
        return mortise_syserr(err, errno, "open the directory");
    return MORTISE_OK;
}

static bool may_have_name(int dir, const char *name)
{
    return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
           errno != ENOENT;
}

/* MORTISE_ESTATE for a file that has commits, or the name of such a file. */
static int find_commit_file(void *ud, int db, const char *name,
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

/* A full disk or a kill may have stopped the creation of a store so early that
 * the database never existed. */
static bool has_database(int dir)
{
    int db = openat(dir, "db", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rv;

    if (db < 0)
        return errno != ENOENT;
    rv = mortise_directory_for_each(db, "db", find_commit_file, NULL, NULL);
    close(db);
    return rv != MORTISE_OK;
}

bool mortise_directory_has_store(int dir)
{
    return may_have_name(dir, "format") || may_have_name(dir, "mark") ||
           has_database(dir);
}

/* Can a store have a file of this name, or a directory in which a store is
 * made?  (A newly mounted file system contains lost+found.) */
static bool is_store_name(const char *name)
{
    static const char *const names[] = {
        "db",         "format",       "format.new", "mark",
        "mark.new",   "reserve",      "quarantine", "memory",
        "doctor.tmp", "control.sock", "control.sock.new", "lost+found"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static int fail_foreign_file(void *ud, int dir, const char *name,
                             struct mortise_err *err)
{
    (void)ud;
    (void)dir;
    if (is_store_name(name))
        return MORTISE_OK;
    return mortise_fail(err, MORTISE_EINVAL,
                        "it is not a store, and it contains other files "
                        "('%s'): name a new or an empty directory",
                        name);
}

int mortise_directory_check_ours(int dir, struct mortise_err *err)
{
    return mortise_directory_has_store(dir)
               ? MORTISE_OK
               : mortise_directory_for_each(dir, "the directory",
                                            fail_foreign_file, NULL, err);
}

mode_t mortise_directory_restrict_mode(int dir)
{
    struct stat st;

    if (fstat(dir, &st) != 0 || st.st_uid != geteuid() ||
        (st.st_mode & OTHERS) == 0 || (st.st_mode & OTHERS) == THROUGH ||
        fchmod(dir, st.st_mode & PERMISSIONS & ~(mode_t)OTHERS) != 0)
        return 0;
    return st.st_mode & PERMISSIONS;
}

static int fail_replaced_stamp(struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_ECORRUPT,
                        "its file '%s' is not a regular file: it was replaced",
                        stamp_name);
}

/* Read the text of the stamp; *n is 0 if there is no such file. */
static int read_stamp_text(int dir, char *text, size_t cap, size_t *n,
                           struct mortise_err *err)
{
    int fd = mortise_infile_open(dir, stamp_name, 0);
    ssize_t got;

    *n = 0;
    if (fd < 0)
        return errno == ENOENT ? MORTISE_OK
               : errno == MORTISE_ERRNO_NOT_REGULAR
                   ? fail_replaced_stamp(err)
                   : mortise_syserr(err, errno, "open %s", stamp_name);
    got = read(fd, text, cap - 1);
    if (got < 0) {
        int rv = errno == EISDIR
                     ? fail_replaced_stamp(err)
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
static int fail_old_development(struct mortise_err *err)
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
    rv = read_stamp_text(dir, text, sizeof text, &n, err);
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
        return fail_old_development(err);
    rv = mortise_stamp_check(format, err);
    if (rv == MORTISE_OK && (size_t)at != n)
        rv = mortise_fail(err, MORTISE_ECORRUPT,
                          "its file '%s' is not the format file of a store",
                          stamp_name);
    *stamped = rv == MORTISE_OK;
    return rv;
}

/* (3) */
static int replace_stamp_text(int dir, const char *text,
                              struct mortise_err *err)
{
    int rv = mortise_directory_write_file(dir, stamp_new, text, strlen(text),
                                          true, err);

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
    return replace_stamp_text(dir, text, err);
}

int mortise_directory_write_unfinished(int dir, struct mortise_err *err)
{
    return replace_stamp_text(dir, unfinished, err);
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

/* The directory is open, so its inode cannot be reused.  CURRENT exists from
 * the creation of a database on; LevelDB's other files come and go. */
bool mortise_directory_has_db(int dir, int db)
{
    struct stat ours, there;

    return fstat(db, &ours) == 0 && fstatat(dir, "db", &there, 0) == 0 &&
           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino &&
           fstatat(db, "CURRENT", &there, AT_SYMLINK_NOFOLLOW) == 0;
}

int mortise_directory_sync(int dir, struct mortise_err *err)
{
    int rv = sync_named_dir(dir, ".", err);

    return rv != MORTISE_OK ? rv : sync_named_dir(dir, "..", err);
}

int mortise_directory_for_each(int dir, const char *what,
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
int mortise_directory_create_file(int dir, const char *name, int flags)
{
    if (unlinkat(dir, name, 0) != 0 && errno != ENOENT)
        return -1;
    return openat(dir, name, flags | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

int mortise_directory_write_file(int dir, const char *name, const void *p,
                                 size_t n, bool sync, struct mortise_err *err)
{
    int fd = mortise_directory_create_file(dir, name, O_WRONLY);
    int rv = MORTISE_OK;

    if (fd < 0)
        return mortise_syserr(err, errno, "make %s", name);
    if (mortise_file_write_fd(fd, p, n) != 0)
        rv = mortise_syserr(err, errno, "write %s", name);
    else if (sync)
        rv = sync_fd(fd, name, err);
    close(fd);
    return rv;
}

int mortise_directory_link_file(int from, const char *name, int to,
                                const char *as, struct mortise_err *err)
{
    if (linkat(from, name, to, as, 0) == 0)
        return MORTISE_OK;
    switch (errno) {
    case EPERM: /* documented in link(2), for such a file system */
    case EOPNOTSUPP:
    case ENOSYS:
    case EXDEV:
    case EMLINK:
        return MORTISE_ESTATE;
    default:
        return mortise_syserr(err, errno, "link %s", name);
    }
}

/* Copy all of one descriptor to another. */
static int copy_descriptor(int in, int out, const char *name,
                           struct mortise_err *err)
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

int mortise_directory_copy_file(int from, const char *name, int to,
                                const char *as, struct mortise_err *err)
{
    int in = mortise_infile_open(from, name, O_NOFOLLOW), out, rv;

    if (in < 0)
        return mortise_syserr(err, errno, "open %s", name);
    out = mortise_directory_create_file(to, as, O_WRONLY);
    rv = out >= 0 ? copy_descriptor(in, out, name, err)
                  : mortise_syserr(err, errno, "make %s", as);
    close(in);
    if (out >= 0)
        close(out);
    return rv;
}
