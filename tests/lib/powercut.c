/* powercut.c -- what a power cut would have left of the files.
 *
 * SIGKILL keeps the page cache, so killing a program cannot show that it
 * forgot a sync.  This stands between the program and the system calls that
 * change files, keeps books of what has been synced, in a shared mapping that
 * survives the program's death, and afterwards brings the files to the state
 * that the cut would have left.
 *
 * The model, for what lies under the watched roots:
 *
 *   data    Of a file, what it held at its last fsync() or fdatasync()
 *           survives; what was appended since is cut off.  Truncation counts
 *           as durable at once; overwriting in place is not modelled (LevelDB
 *           and those who replace files by rename do neither).
 *   names   A new name, a rename and an unlink are durable after an fsync() of
 *           the directory that holds the (new) name, and not a moment before.
 *           A rename that is not durable is undone, with the old target back in
 *           its place; a name that is not durable vanishes; one that was
 *           removed too early is there again.
 *   journaled   In the directories that are named so, names become durable in
 *           order with *any* later sync there, of a file or of the directory,
 *           as ext4's ordered journal does it.  LevelDB relies on that for its
 *           logs and on nothing more.
 *   before  What existed when the watching began is durable.
 *   alone   Nobody else makes files under the roots: the books know files by
 *           their inodes, which are given anew.
 *
 * A cut need not be so thorough: unsynced data and journaled names may have
 * reached the disk.  `keep` percent of each file's unsynced tail, and of the
 * journaled names in order, survive then.
 *
 * The books must hold however the program dies, also between our note and its
 * deed.  So a change of names is noted before it is made, with the inode that
 * tells afterwards whether it was, and a sync after it was asked for: who died
 * in between had not been told of it.  Nothing is synced in truth: the cut is
 * ours, and the tests are faster.
 *
 *     POWERCUT_STATE=path       the books; without it nothing is watched
 *     POWERCUT_ROOTS=dir:dir    what is watched
 *     POWERCUT_JOURNALED=dir:dir
 *     POWERCUT_FAIL=kind:n:error:once|always   see below
 *     POWERCUT_KILL=n           SIGKILL at the n-th watched call, before it
 *     POWERCUT_KILL_ONCE=path   ... of those that come once this file is there
 *     POWERCUT_SLOW=ms          a sync of a journaled directory's file takes
 *                               so long, while other threads go on
 *     POWERCUT_COUNT=path       append "n kind path" for each watched call
 *     POWERCUT_RENAME_LOG=path  append "rename OLD NEW" before each rename;
 *                               apply appends "undone NEW" for what it undid
 *                               and for a rename that never happened
 *
 * Kinds are open, read, write, sync (also spelt fsync and fdatasync), rename,
 * link, unlink, truncate, mkdir, close, any.  Errors are EIO, ENOSPC, EMFILE,
 * EACCES, EPERM, EROFS, and for write `short`: half is written, and the next write
 * finds the disk full.  Opening to read is watched too.
 *
 * Below us are raw system calls, not the next library's functions: there is
 * nothing to look up before the first call, and nothing that comes back to us.
 * With -DPOWERCUT_MAIN this is a command: powercut cut|settle|count STATE.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#undef _FORTIFY_SOURCE /* its inline open() would stand in our way */
#include "powercut.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

enum {
    MAX_ROOTS = 8,
    MAX_PATH = 1024,
    MAX_FILES = 16384,
    MAX_OPS = 32768,
    MAX_FDS = 65536
};

enum kind {
    K_OPEN,
    K_READ,
    K_WRITE,
    K_SYNC,
    K_RENAME,
    K_LINK,
    K_UNLINK,
    K_TRUNCATE,
    K_MKDIR,
    K_CLOSE,
    K_ANY
};

static const char *const kind_names[] = {
    "open",   "read",     "write", "sync",  "rename", "link",
    "unlink", "truncate", "mkdir", "close", "any"};

/* ---- the books --------------------------------------------------------- */

struct file {
    uint64_t dev, ino;
    uint64_t synced; /* bytes that survive */
    int32_t group;   /* the journaled directory it is in, or -1 */
};

enum op_kind { OP_CREATE = 1, OP_RENAME, OP_UNLINK, OP_MKDIR };

/* A change of names that a cut would undo; durable ones are done with. */
struct op {
    uint32_t kind;
    uint32_t durable;
    int32_t group;
    uint64_t dev, ino; /* of what was renamed */
    uint32_t saved;    /* number of the link that keeps what was lost, or 0 */
    uint32_t logged;   /* its line is in the rename log for sure */
    char path[MAX_PATH], old[MAX_PATH];
};

struct books {
    _Atomic uint32_t ready;
    pthread_mutex_t lock; /* of all processes that watch; robust */
    uint32_t n_roots, n_journaled;
    char roots[MAX_ROOTS][MAX_PATH], journaled[MAX_ROOTS][MAX_PATH];
    char rename_log[MAX_PATH];
    uint32_t n_saved, n_files, n_ops;
    uint64_t calls;
    struct file files[MAX_FILES];
    struct op ops[MAX_OPS]; /* sparse: pages never touched cost nothing */
};

static struct books *books;
static char state_path[MAX_PATH];
static atomic_bool watching;
static atomic_uchar watched_fd[MAX_FDS];

/* Of this process, under the lock of the books. */
static unsigned long calls, kill_at, kill_calls;
static const char *kill_once; /* NULL: from the first call on */
static useconds_t slow_us;
static char count_path[MAX_PATH];
static struct {
    bool armed, always, is_short;
    enum kind kind;
    unsigned long at, seen;
    int err;
    bool full; /* behind a short write */
} fault;

/* Our own trouble: a test that goes on would prove nothing. */
static void die(const char *what)
{
    perror(what);
    abort();
}

static void lock_books(void)
{
    if (pthread_mutex_lock(&books->lock) == EOWNERDEAD)
        pthread_mutex_consistent(&books->lock); /* it was killed: see above */
}

static void unlock_books(void)
{
    pthread_mutex_unlock(&books->lock);
}

/* ---- the system, below us ---------------------------------------------- */

static int sys_open(int dir, const char *path, int flags, mode_t mode)
{
    return (int)syscall(SYS_openat, dir, path, flags, mode);
}

static int sys_close(int fd)
{
    return (int)syscall(SYS_close, fd);
}

static int sys_rename(int from, const char *old, int to, const char *new,
                      unsigned flags)
{
    return (int)syscall(SYS_renameat2, from, old, to, new, flags);
}

static int sys_link(int from, const char *old, int to, const char *new,
                    int flags)
{
    return (int)syscall(SYS_linkat, from, old, to, new, flags);
}

static int sys_unlink(int dir, const char *path, int flags)
{
    return (int)syscall(SYS_unlinkat, dir, path, flags);
}

static void append(const char *path, const char *line)
{
    int fd = sys_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                      0600);

    if (fd < 0 || syscall(SYS_write, fd, line, strlen(line)) < 0)
        die(path);
    sys_close(fd);
}

/* ---- paths ------------------------------------------------------------- */

static void copy_path(char out[MAX_PATH], const char *path)
{
    if (strlen(path) >= MAX_PATH) {
        errno = ENAMETOOLONG;
        die(path);
    }
    strcpy(out, path);
}

/* The directory behind a descriptor (also AT_FDCWD), or "". */
static void path_of_fd(char out[MAX_PATH], int fd)
{
    char link[64];
    ssize_t n;

    if (fd == AT_FDCWD)
        snprintf(link, sizeof link, "/proc/self/cwd");
    else
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, out, MAX_PATH - 1);
    out[n > 0 ? n : 0] = '\0';
}

/* The last component, or NULL when it names no entry ("/", "a/..", ""). */
static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;

    if (*base == '\0' || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return NULL;
    return base;
}

/* Absolute, without links or dots in its directory; false when there is no
 * such directory or it is too long to be one of ours. */
static bool resolve(char out[MAX_PATH], int dir, const char *path)
{
    char at[PATH_MAX], real[PATH_MAX], base_dir[MAX_PATH];
    const char *base;
    int n;

    if (path[0] == '/') {
        n = snprintf(at, sizeof at, "%s", path);
    } else {
        path_of_fd(base_dir, dir);
        n = snprintf(at, sizeof at, "%s/%s", base_dir, path);
    }
    if (n < 0 || (size_t)n >= sizeof at)
        return false;
    base = last_component(at);
    if (base == NULL) {
        if (realpath(at, real) == NULL)
            return false;
        n = snprintf(out, MAX_PATH, "%s", real);
    } else {
        char name[NAME_MAX + 1];

        if (strlen(base) > NAME_MAX)
            return false;
        strcpy(name, base);
        at[base - at] = '\0';
        if (realpath(at, real) == NULL)
            return false;
        n = snprintf(out, MAX_PATH, "%s/%s", real[1] != '\0' ? real : "", name);
    }
    return n > 0 && n < MAX_PATH;
}

static bool is_under(const char *path, const char *root)
{
    size_t n = strlen(root);

    return strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* Resolve a path; is it one that we watch? */
static bool is_watched(char out[MAX_PATH], int dir, const char *path)
{
    if (!resolve(out, dir, path))
        return false;
    for (uint32_t i = 0; i < books->n_roots; i++)
        if (is_under(out, books->roots[i]))
            return true;
    return false;
}

static int group_of(const char *path)
{
    for (uint32_t i = 0; i < books->n_journaled; i++)
        if (is_under(path, books->journaled[i]))
            return (int)i;
    return -1;
}

/* Does `path` lie directly in `dir`? */
static bool is_in(const char *path, const char *dir)
{
    size_t n = strlen(dir);

    return strncmp(path, dir, n) == 0 && path[n] == '/' &&
           strchr(path + n + 1, '/') == NULL;
}

/* ---- noting ------------------------------------------------------------ */

static struct file *find_file(const struct stat *st)
{
    for (uint32_t i = 0; i < books->n_files; i++)
        if (books->files[i].dev == st->st_dev &&
            books->files[i].ino == st->st_ino)
            return &books->files[i];
    return NULL;
}

/* A file that was opened to be written. */
static void note_file(int fd, const char *path, bool made)
{
    struct stat st;
    struct file *f;

    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return;
    f = find_file(&st);
    if (f == NULL) {
        if (books->n_files == MAX_FILES)
            die("powercut: too many files");
        f = &books->files[books->n_files];
        *f = (struct file){.dev = st.st_dev,
                           .ino = st.st_ino,
                           .synced = (uint64_t)st.st_size,
                           .group = group_of(path)};
        books->n_files++;
    }
    if (made) { /* perhaps the inode of one that is no more */
        f->synced = 0;
        f->group = group_of(path);
    }
    if (f->synced > (uint64_t)st.st_size)
        f->synced = (uint64_t)st.st_size;
}

static void saved_path(char out[MAX_PATH + 32], const char *state, uint32_t n)
{
    snprintf(out, MAX_PATH + 32, "%s.d/%u", state, n);
}

/* Keep what a rename or an unlink is about to take away; 0: nothing. */
static uint32_t save(const char *path)
{
    char to[MAX_PATH + 32];
    struct stat st;
    uint32_t n;

    if (lstat(path, &st) != 0 || S_ISDIR(st.st_mode))
        return 0;
    n = ++books->n_saved; /* first: who dies now leaves its link behind */
    saved_path(to, state_path, n);
    if (sys_link(AT_FDCWD, path, AT_FDCWD, to, 0) != 0)
        die(to);
    return n;
}

/* Note what is about to be done; the op, to be taken back if it fails. */
static struct op *note_op(enum op_kind kind, const char *path, const char *old)
{
    struct op *op = &books->ops[books->n_ops];
    struct stat st;

    if (books->n_ops == MAX_OPS)
        die("powercut: too many changes of names");
    *op = (struct op){.kind = kind, .group = group_of(path)};
    copy_path(op->path, path);
    if (old != NULL) {
        copy_path(op->old, old);
        if (lstat(old, &st) == 0) {
            op->dev = st.st_dev;
            op->ino = st.st_ino;
        }
    }
    if (kind == OP_RENAME || kind == OP_UNLINK)
        op->saved = save(path);
    atomic_thread_fence(memory_order_release);
    books->n_ops++;
    return op;
}

static void op_is_done(struct op *op)
{
    char saved[MAX_PATH + 32];

    op->durable = 1;
    if (op->saved != 0) {
        saved_path(saved, state_path, op->saved);
        sys_unlink(AT_FDCWD, saved, 0);
    }
}

/* What a sync makes durable: names of the group, or those in `dir`. */
static void names_are_durable(int group, const char *dir)
{
    for (uint32_t i = 0; i < books->n_ops; i++) {
        struct op *op = &books->ops[i];

        if (op->durable == 0 &&
            (group >= 0 ? op->group == group
                        : dir != NULL && is_in(op->path, dir)))
            op_is_done(op);
    }
}

static void note_sync(int fd)
{
    char path[MAX_PATH];
    struct file *f;
    struct stat st;

    if (fstat(fd, &st) != 0)
        return;
    if (S_ISDIR(st.st_mode)) {
        path_of_fd(path, fd);
        names_are_durable(group_of(path), path);
        return;
    }
    f = find_file(&st);
    if (f == NULL)
        return; /* opened to read, and written by nobody we saw */
    names_are_durable(f->group, NULL);
    f->synced = (uint64_t)st.st_size;
}

/* ---- counting, failing, dying ------------------------------------------ */

static void trace(enum kind kind, int fd, const char *path)
{
    char line[MAX_PATH + 64], of_fd[MAX_PATH];

    if (count_path[0] == '\0')
        return;
    if (path == NULL) {
        path_of_fd(of_fd, fd);
        path = of_fd;
    }
    snprintf(line, sizeof line, "%lu %s %s\n", calls, kind_names[kind], path);
    append(count_path, line);
}

/* Does this call fail?  An errno, or 0; *half for a short write. */
static int fault_of(enum kind kind, bool *half)
{
    if (fault.full && kind == K_WRITE) {
        fault.full = fault.always;
        return ENOSPC;
    }
    if (!fault.armed || (fault.kind != K_ANY && fault.kind != kind))
        return 0;
    fault.seen++;
    if (fault.seen < fault.at || (fault.seen > fault.at && !fault.always))
        return 0;
    if (!fault.is_short)
        return fault.err;
    fault.full = true;
    *half = true;
    return 0;
}

/* A watched call is about to happen, on a path or (NULL) a descriptor.  With
 * the lock held: an errno that it shall fail with, or 0. */
static int enter(enum kind kind, int fd, const char *path, bool *half)
{
    bool ignored = false;

    calls++;
    books->calls++;
    trace(kind, fd, path);
    if (kill_at != 0 && (kill_once == NULL || access(kill_once, F_OK) == 0) &&
        ++kill_calls == kill_at)
        for (;;)
            kill(getpid(), SIGKILL);
    return fault_of(kind, half != NULL ? half : &ignored);
}

/* Somebody may have closed it behind our back, and its number may be a
 * socket's by now. */
static bool fd_is_watched(int fd)
{
    struct stat st;

    return atomic_load(&watching) && fd >= 0 && fd < MAX_FDS &&
           atomic_load(&watched_fd[fd]) != 0 && fstat(fd, &st) == 0 &&
           (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

static void watch_fd(int fd, bool on)
{
    if (fd >= 0 && fd < MAX_FDS)
        atomic_store(&watched_fd[fd], on);
}

/* The end of a watched call: unlock, and give what the system would. */
static int leave(int rv, int err)
{
    unlock_books();
    if (rv < 0)
        errno = err;
    return rv;
}

/* ---- the calls --------------------------------------------------------- */

static int watched_open(int dir, const char *path, int flags, mode_t mode,
                        const char *full)
{
    bool writes = (flags & O_ACCMODE) != O_RDONLY;
    struct op *op = NULL;
    struct stat st;
    bool made;
    int fd, e;

    lock_books();
    e = enter(K_OPEN, -1, full, NULL);
    if (e != 0)
        return leave(-1, e);
    made = (flags & O_CREAT) != 0 && lstat(full, &st) != 0;
    if (made)
        op = note_op(OP_CREATE, full, NULL);
    fd = sys_open(dir, path, flags, mode);
    e = errno;
    if (fd < 0 && op != NULL)
        op_is_done(op);
    if (fd >= 0) {
        if (writes)
            note_file(fd, full, made);
        watch_fd(fd, true);
    }
    return leave(fd, e);
}

static int any_open(int dir, const char *path, int flags, mode_t mode)
{
    char full[MAX_PATH];
    int fd;

    if (atomic_load(&watching) && is_watched(full, dir, path))
        return watched_open(dir, path, flags, mode, full);
    fd = sys_open(dir, path, flags, mode);
    watch_fd(fd, false);
    return fd;
}

/* `mode` is there only when a file may be made. */
#define MODE_OF(flags)                                                         \
    __extension__({                                                            \
        mode_t mode_ = 0;                                                      \
        if (((flags)&O_CREAT) != 0 || ((flags)&O_TMPFILE) == O_TMPFILE) {      \
            va_list ap_;                                                       \
            va_start(ap_, flags);                                              \
            mode_ = va_arg(ap_, mode_t);                                       \
            va_end(ap_);                                                       \
        }                                                                      \
        mode_;                                                                 \
    })

SHOWN int open(const char *path, int flags, ...)
{
    return any_open(AT_FDCWD, path, flags, MODE_OF(flags));
}

SHOWN int open64(const char *path, int flags, ...)
{
    return any_open(AT_FDCWD, path, flags, MODE_OF(flags));
}

SHOWN int openat(int dir, const char *path, int flags, ...)
{
    return any_open(dir, path, flags, MODE_OF(flags));
}

SHOWN int openat64(int dir, const char *path, int flags, ...)
{
    return any_open(dir, path, flags, MODE_OF(flags));
}

SHOWN int creat(const char *path, mode_t mode)
{
    return any_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

SHOWN int creat64(const char *path, mode_t mode)
{
    return any_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}

/* What a program built with _FORTIFY_SOURCE calls instead. */
SHOWN int __open_2(const char *path, int flags);
SHOWN int __open_2(const char *path, int flags)
{
    return any_open(AT_FDCWD, path, flags, 0);
}

SHOWN int __open64_2(const char *path, int flags);
SHOWN int __open64_2(const char *path, int flags)
{
    return any_open(AT_FDCWD, path, flags, 0);
}

SHOWN int __openat_2(int dir, const char *path, int flags);
SHOWN int __openat_2(int dir, const char *path, int flags)
{
    return any_open(dir, path, flags, 0);
}

SHOWN int __openat64_2(int dir, const char *path, int flags);
SHOWN int __openat64_2(int dir, const char *path, int flags)
{
    return any_open(dir, path, flags, 0);
}

/* May this read or write happen?  *n becomes less for a short one. */
static int before_io(enum kind kind, int fd, size_t *n)
{
    bool half = false;
    int e;

    lock_books();
    e = enter(kind, fd, NULL, &half);
    unlock_books();
    if (half && *n > 1)
        *n /= 2;
    return e;
}

SHOWN ssize_t read(int fd, void *p, size_t n)
{
    if (fd_is_watched(fd)) {
        int e = before_io(K_READ, fd, &n);

        if (e != 0) {
            errno = e;
            return -1;
        }
    }
    return (ssize_t)syscall(SYS_read, fd, p, n);
}

static ssize_t any_pread(int fd, void *p, size_t n, off_t at)
{
    if (fd_is_watched(fd)) {
        int e = before_io(K_READ, fd, &n);

        if (e != 0) {
            errno = e;
            return -1;
        }
    }
    return (ssize_t)syscall(SYS_pread64, fd, p, n, at);
}

SHOWN ssize_t pread(int fd, void *p, size_t n, off_t at)
{
    return any_pread(fd, p, n, at);
}

SHOWN ssize_t pread64(int fd, void *p, size_t n, off64_t at)
{
    return any_pread(fd, p, n, at);
}

SHOWN ssize_t write(int fd, const void *p, size_t n)
{
    if (fd_is_watched(fd)) {
        int e = before_io(K_WRITE, fd, &n);

        if (e != 0) {
            errno = e;
            return -1;
        }
    }
    return (ssize_t)syscall(SYS_write, fd, p, n);
}

static ssize_t any_pwrite(int fd, const void *p, size_t n, off_t at)
{
    if (fd_is_watched(fd)) {
        int e = before_io(K_WRITE, fd, &n);

        if (e != 0) {
            errno = e;
            return -1;
        }
    }
    return (ssize_t)syscall(SYS_pwrite64, fd, p, n, at);
}

SHOWN ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
    return any_pwrite(fd, p, n, at);
}

SHOWN ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    return any_pwrite(fd, p, n, at);
}

SHOWN ssize_t writev(int fd, const struct iovec *iov, int n)
{
    if (fd_is_watched(fd)) {
        size_t all = 2, wanted = all;
        int e = before_io(K_WRITE, fd, &all);

        if (e != 0) {
            errno = e;
            return -1;
        }
        if (all != wanted) /* short: half of the first piece */
            return (ssize_t)syscall(SYS_write, fd, iov[0].iov_base,
                                    (iov[0].iov_len + 1) / 2);
    }
    return (ssize_t)syscall(SYS_writev, fd, iov, n);
}

/* Let a slow disk be slow.  Who dies meanwhile had not synced. */
static void take_time(int fd)
{
    const struct file *f;
    struct stat st;

    if (slow_us == 0 || fstat(fd, &st) != 0)
        return;
    f = find_file(&st);
    if (f == NULL || f->group < 0)
        return;
    unlock_books();
    usleep(slow_us);
    lock_books();
}

static int any_sync(int fd, long number)
{
    int e;

    if (!fd_is_watched(fd))
        return (int)syscall(number, fd);
    lock_books();
    e = enter(K_SYNC, fd, NULL, NULL);
    if (e != 0)
        return leave(-1, e);
    take_time(fd);
    note_sync(fd);
    return leave(0, 0);
}

SHOWN int fsync(int fd)
{
    return any_sync(fd, SYS_fsync);
}

SHOWN int fdatasync(int fd)
{
    return any_sync(fd, SYS_fdatasync);
}

enum { MAX_LINE = 2 * MAX_PATH + 16 };

static void rename_line(char line[MAX_LINE], const char *old, const char *new)
{
    snprintf(line, MAX_LINE, "rename %s %s\n", old, new);
}

static void log_rename(struct op *op)
{
    char line[MAX_LINE];

    if (books->rename_log[0] == '\0')
        return;
    rename_line(line, op->old, op->path);
    append(books->rename_log, line);
    op->logged = 1;
}

static void log_undone(const struct books *b, const struct op *op)
{
    char line[MAX_LINE];

    if (b->rename_log[0] == '\0')
        return;
    snprintf(line, sizeof line, "undone %s\n", op->path);
    append(b->rename_log, line);
}

static int any_rename(int from, const char *old, int to, const char *new,
                      unsigned flags)
{
    char full_old[MAX_PATH], full_new[MAX_PATH];
    struct op *op;
    int rv, e;

    if (!atomic_load(&watching) || !is_watched(full_new, to, new) ||
        !resolve(full_old, from, old))
        return sys_rename(from, old, to, new, flags);
    lock_books();
    e = enter(K_RENAME, -1, full_new, NULL);
    if (e != 0)
        return leave(-1, e);
    op = note_op(OP_RENAME, full_new, full_old);
    log_rename(op);
    rv = sys_rename(from, old, to, new, flags);
    e = errno;
    if (rv != 0) {
        op_is_done(op);
        log_undone(books, op);
    }
    return leave(rv, e);
}

SHOWN int rename(const char *old, const char *new)
{
    return any_rename(AT_FDCWD, old, AT_FDCWD, new, 0);
}

SHOWN int renameat(int from, const char *old, int to, const char *new)
{
    return any_rename(from, old, to, new, 0);
}

SHOWN int renameat2(int from, const char *old, int to, const char *new,
                    unsigned flags)
{
    return any_rename(from, old, to, new, flags);
}

static int any_link(int from, const char *old, int to, const char *new,
                    int flags)
{
    char full[MAX_PATH];
    struct op *op;
    int rv, e;

    if (!atomic_load(&watching) || !is_watched(full, to, new))
        return sys_link(from, old, to, new, flags);
    lock_books();
    e = enter(K_LINK, -1, full, NULL);
    if (e != 0)
        return leave(-1, e);
    op = note_op(OP_CREATE, full, NULL);
    rv = sys_link(from, old, to, new, flags);
    e = errno;
    if (rv != 0)
        op_is_done(op);
    return leave(rv, e);
}

SHOWN int link(const char *old, const char *new)
{
    return any_link(AT_FDCWD, old, AT_FDCWD, new, 0);
}

SHOWN int linkat(int from, const char *old, int to, const char *new, int flags)
{
    return any_link(from, old, to, new, flags);
}

static int any_unlink(int dir, const char *path, int flags)
{
    char full[MAX_PATH];
    struct op *op;
    int rv, e;

    if (!atomic_load(&watching) || flags != 0 || !is_watched(full, dir, path))
        return sys_unlink(dir, path, flags);
    lock_books();
    e = enter(K_UNLINK, -1, full, NULL);
    if (e != 0)
        return leave(-1, e);
    op = note_op(OP_UNLINK, full, NULL);
    rv = sys_unlink(dir, path, flags);
    e = errno;
    if (rv != 0)
        op_is_done(op);
    return leave(rv, e);
}

SHOWN int unlink(const char *path)
{
    return any_unlink(AT_FDCWD, path, 0);
}

SHOWN int unlinkat(int dir, const char *path, int flags)
{
    return any_unlink(dir, path, flags);
}

static int any_mkdir(int dir, const char *path, mode_t mode)
{
    char full[MAX_PATH];
    struct stat st;
    struct op *op;
    int rv, e;

    if (!atomic_load(&watching) || !is_watched(full, dir, path))
        return (int)syscall(SYS_mkdirat, dir, path, mode);
    lock_books();
    e = enter(K_MKDIR, -1, full, NULL);
    if (e != 0)
        return leave(-1, e);
    if (lstat(full, &st) == 0)
        return leave(-1, EEXIST); /* so that nothing is noted to be undone */
    op = note_op(OP_MKDIR, full, NULL);
    rv = (int)syscall(SYS_mkdirat, dir, path, mode);
    e = errno;
    if (rv != 0)
        op_is_done(op);
    return leave(rv, e);
}

SHOWN int mkdir(const char *path, mode_t mode)
{
    return any_mkdir(AT_FDCWD, path, mode);
}

SHOWN int mkdirat(int dir, const char *path, mode_t mode)
{
    return any_mkdir(dir, path, mode);
}

static int any_ftruncate(int fd, off_t size)
{
    struct stat st;
    struct file *f;
    int rv, e;

    if (!fd_is_watched(fd))
        return (int)syscall(SYS_ftruncate, fd, size);
    lock_books();
    e = enter(K_TRUNCATE, fd, NULL, NULL);
    if (e != 0)
        return leave(-1, e);
    rv = (int)syscall(SYS_ftruncate, fd, size);
    e = errno;
    f = rv == 0 && fstat(fd, &st) == 0 ? find_file(&st) : NULL;
    if (f != NULL && f->synced > (uint64_t)size)
        f->synced = (uint64_t)size;
    return leave(rv, e);
}

SHOWN int ftruncate(int fd, off_t size)
{
    return any_ftruncate(fd, size);
}

SHOWN int ftruncate64(int fd, off64_t size)
{
    return any_ftruncate(fd, size);
}

SHOWN int close(int fd)
{
    if (fd_is_watched(fd)) {
        int e;

        lock_books();
        e = enter(K_CLOSE, fd, NULL, NULL);
        unlock_books();
        watch_fd(fd, false);
        sys_close(fd); /* the descriptor is gone even where close() fails */
        if (e != 0) {
            errno = e;
            return -1;
        }
        return 0;
    }
    return sys_close(fd);
}

/* ---- steering ---------------------------------------------------------- */

/* Resolve a directory that may not be there yet, nor those above it: what is
 * there, and then the rest as it is written. */
static void resolve_root(char out[MAX_PATH], char *path)
{
    char *slash;

    if (resolve(out, AT_FDCWD, path))
        return;
    slash = strrchr(path, '/');
    if (slash == NULL || slash == path)
        die(path);
    *slash = '\0';
    resolve_root(out, path);
    if (strlen(out) + strlen(slash + 1) + 2 > MAX_PATH)
        die(path);
    strcat(strcat(out, "/"), slash + 1);
}

static void list_of(char out[][MAX_PATH], uint32_t *n, const char *list)
{
    const char *p = list != NULL ? list : "", *end;

    for (*n = 0; *p != '\0'; p = *end != '\0' ? end + 1 : end) {
        char item[MAX_PATH];

        end = strchrnul(p, ':');
        if (end == p)
            continue;
        if (*n == MAX_ROOTS || end - p >= MAX_PATH) {
            errno = E2BIG;
            die(list);
        }
        memcpy(item, p, (size_t)(end - p));
        item[end - p] = '\0';
        resolve_root(out[(*n)++], item);
    }
}

static void init_books(const char *roots, const char *journaled,
                       const char *rename_log)
{
    char dir[MAX_PATH + 8];
    pthread_mutexattr_t attr;

    snprintf(dir, sizeof dir, "%s.d", state_path);
    if (syscall(SYS_mkdirat, AT_FDCWD, dir, 0700) != 0 && errno != EEXIST)
        die(dir);
    list_of(books->roots, &books->n_roots, roots);
    list_of(books->journaled, &books->n_journaled, journaled);
    copy_path(books->rename_log, rename_log != NULL ? rename_log : "");
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&books->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    atomic_store(&books->ready, 1);
}

static struct books *map_books(const char *state, int flags)
{
    int fd = sys_open(AT_FDCWD, state, flags | O_RDWR | O_CLOEXEC, 0600);
    void *p;

    if (fd < 0)
        return NULL;
    if ((flags & O_CREAT) != 0 &&
        syscall(SYS_ftruncate, fd, sizeof(struct books)) != 0)
        die(state);
    p = mmap(NULL, sizeof(struct books), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
             0);
    sys_close(fd);
    if (p == MAP_FAILED)
        die(state);
    return p;
}

/* The maker's size may not be there yet, nor what it writes. */
static void join_books(const char *state)
{
    struct stat st;

    while (stat(state, &st) == 0 && (size_t)st.st_size < sizeof *books)
        usleep(1000);
    books = map_books(state, 0);
    if (books == NULL)
        die(state);
    while (atomic_load(&books->ready) == 0)
        usleep(1000);
}

void powercut_begin(const char *state, const char *roots, const char *journaled,
                    const char *rename_log)
{
    const char *count = getenv("POWERCUT_COUNT");

    copy_path(count_path, count != NULL ? count : "");
    if (!resolve(state_path, AT_FDCWD, state))
        die(state);
    books = map_books(state_path, O_CREAT | O_EXCL);
    if (books != NULL)
        init_books(roots, journaled, rename_log);
    else if (errno == EEXIST)
        join_books(state_path);
    else
        die(state);
    calls = 0;
    atomic_store(&watching, true);
}

void powercut_end(void)
{
    if (!atomic_exchange(&watching, false))
        return;
    munmap(books, sizeof *books);
    books = NULL;
    kill_at = 0;
    powercut_fail(NULL);
    for (int fd = 0; fd < MAX_FDS; fd++)
        watch_fd(fd, false);
}

static const struct {
    const char *name;
    int value;
} errors[] = {{"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EMFILE", EMFILE},
              {"EACCES", EACCES}, {"EPERM", EPERM},   {"EROFS", EROFS},
              {"short", 0}};

static bool parse_kind(const char *name)
{
    if (strcmp(name, "fsync") == 0 || strcmp(name, "fdatasync") == 0)
        name = "sync";
    for (int i = K_OPEN; i <= K_ANY; i++)
        if (strcmp(name, kind_names[i]) == 0) {
            fault.kind = (enum kind)i;
            return true;
        }
    return false;
}

static bool parse_error(const char *name)
{
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (strcmp(name, errors[i].name) == 0) {
            fault.err = errors[i].value;
            fault.is_short = errors[i].value == 0;
            return true;
        }
    return false;
}

static void set_fault(const char *spec)
{
    char kind[16], error[16], mode[16];
    unsigned long at;

    memset(&fault, 0, sizeof fault);
    if (spec == NULL)
        return;
    if (sscanf(spec, "%15[^:]:%lu:%15[^:]:%15s", kind, &at, error, mode) != 4 ||
        !parse_kind(kind) || !parse_error(error) ||
        (fault.is_short && fault.kind != K_WRITE)) {
        errno = EINVAL;
        die(spec);
    }
    fault.at = at;
    fault.always = strcmp(mode, "always") == 0;
    fault.armed = true;
}

void powercut_fail(const char *spec)
{
    bool is_watched = books != NULL; /* from then on, by other threads, too */

    if (is_watched)
        lock_books();
    set_fault(spec);
    if (is_watched)
        unlock_books();
}

void powercut_kill_at(unsigned long n)
{
    calls = 0;
    kill_calls = 0;
    kill_at = n;
}

void powercut_slow(unsigned long ms)
{
    slow_us = (useconds_t)ms * 1000;
}

unsigned long powercut_calls(void)
{
    return calls;
}

__attribute__((constructor)) static void begin_from_environment(void)
{
    const char *state = getenv("POWERCUT_STATE");
    const char *kill_env = getenv("POWERCUT_KILL");
    const char *slow = getenv("POWERCUT_SLOW");

    if (state == NULL)
        return;
    powercut_begin(state, getenv("POWERCUT_ROOTS"),
                   getenv("POWERCUT_JOURNALED"), getenv("POWERCUT_RENAME_LOG"));
    powercut_fail(getenv("POWERCUT_FAIL"));
    kill_once = getenv("POWERCUT_KILL_ONCE");
    if (kill_env != NULL)
        powercut_kill_at(strtoul(kill_env, NULL, 10));
    if (slow != NULL)
        powercut_slow(strtoul(slow, NULL, 10));
}

/* ---- the cut ----------------------------------------------------------- */

/* Of the books being applied; nftw() hands nothing on. */
static struct {
    struct books *b;
    int keep;
} cut;

static bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

/* Is the rename's file still, or again, under its old name? */
static bool is_where_it_was(const struct op *op)
{
    struct stat st;

    return lstat(op->old, &st) == 0 && st.st_dev == op->dev &&
           st.st_ino == op->ino;
}

/* Did the rename happen? */
static bool is_renamed(const struct op *op)
{
    struct stat st;

    return lstat(op->path, &st) == 0 && st.st_dev == op->dev &&
           st.st_ino == op->ino && !exists(op->old);
}

static int remove_entry(const char *path, const struct stat *st, int flag,
                        struct FTW *at)
{
    (void)st;
    (void)at;
    return sys_unlink(AT_FDCWD, path, flag == FTW_DP ? AT_REMOVEDIR : 0);
}

static void remove_tree(const char *path)
{
    if (exists(path) && nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0)
        die(path);
}

/* Put back what a rename or an unlink took away. */
static void restore(const char *state, const struct op *op)
{
    char saved[MAX_PATH + 32];

    if (op->saved == 0)
        return;
    saved_path(saved, state, op->saved);
    if (!exists(op->path) &&
        sys_rename(AT_FDCWD, saved, AT_FDCWD, op->path, 0) != 0)
        die(saved);
}

/* Does the log end with this rename?  It does when its process died between
 * logging it and saying so; without, it died before. */
static bool ends_log(const struct books *b, const struct op *op)
{
    char line[MAX_LINE], last[MAX_LINE];
    int fd = sys_open(AT_FDCWD, b->rename_log, O_RDONLY | O_CLOEXEC, 0);
    ssize_t n, got;

    if (fd < 0)
        return false;
    rename_line(line, op->old, op->path);
    n = (ssize_t)strlen(line);
    got = lseek(fd, -n, SEEK_END) < 0 ? -1 : syscall(SYS_read, fd, last, n);
    sys_close(fd);
    return got == n && memcmp(line, last, (size_t)n) == 0;
}

/* A rename does not hold: take its line back, if there is one. */
static void take_back(const struct books *b, const struct op *op)
{
    if (op->logged != 0 || ends_log(b, op))
        log_undone(b, op);
}

static void undo(const char *state, const struct books *b, const struct op *op)
{
    switch ((enum op_kind)op->kind) {
    case OP_CREATE:
        sys_unlink(AT_FDCWD, op->path, 0);
        break;
    case OP_MKDIR:
        remove_tree(op->path);
        break;
    case OP_RENAME:
        if (is_renamed(op) &&
            sys_rename(AT_FDCWD, op->path, AT_FDCWD, op->old, 0) != 0)
            die(op->path);
        restore(state, op);
        take_back(b, op);
        break;
    case OP_UNLINK:
        restore(state, op);
        break;
    }
}

/* Of the journaled names, `keep` percent come through after all. */
static void keep_names(struct books *b, int keep)
{
    uint32_t live = 0, kept = 0;

    for (uint32_t i = 0; i < b->n_ops; i++)
        live += b->ops[i].durable == 0 && b->ops[i].group >= 0;
    for (uint32_t i = 0; i < b->n_ops; i++) {
        struct op *op = &b->ops[i];

        if (op->durable != 0 || op->group < 0)
            continue;
        if (kept >= live * (uint32_t)keep / 100)
            break;
        op->durable = 1;
        kept++;
    }
}

static int cut_file(const char *path, const struct stat *st, int flag,
                    struct FTW *at)
{
    (void)at;
    if (flag != FTW_F || !S_ISREG(st->st_mode))
        return 0;
    for (uint32_t i = 0; i < cut.b->n_files; i++) {
        const struct file *f = &cut.b->files[i];
        uint64_t size = (uint64_t)st->st_size;

        if (f->dev != st->st_dev || f->ino != st->st_ino || size <= f->synced)
            continue;
        size = f->synced + (size - f->synced) * (uint64_t)cut.keep / 100;
        if (syscall(SYS_truncate, path, size) != 0)
            die(path);
    }
    return 0;
}

/* The books are closed for good. */
static void remove_books(const char *state, struct books *b)
{
    char dir[MAX_PATH + 8];

    munmap(b, sizeof *b);
    snprintf(dir, sizeof dir, "%s.d", state);
    remove_tree(dir);
    sys_unlink(AT_FDCWD, state, 0);
}

int powercut_apply(const char *state, int keep)
{
    struct books *b = map_books(state, 0);

    if (b == NULL)
        return -1;
    keep_names(b, keep);
    for (uint32_t i = b->n_ops; i-- > 0;)
        if (b->ops[i].durable == 0)
            undo(state, b, &b->ops[i]);
    cut.b = b;
    cut.keep = keep;
    for (uint32_t i = 0; i < b->n_roots; i++)
        if (exists(b->roots[i]))
            nftw(b->roots[i], cut_file, 16, FTW_PHYS);
    remove_books(state, b);
    return 0;
}

/* Log the renames that were begun and never happened; once. */
static void note_begun(struct books *b)
{
    for (uint32_t i = 0; i < b->n_ops; i++) {
        struct op *op = &b->ops[i];

        if (op->durable != 0 || op->kind != OP_RENAME || !is_where_it_was(op))
            continue;
        op->durable = 1;
        take_back(b, op);
    }
}

int powercut_died(const char *state)
{
    struct books *b = map_books(state, 0);

    if (b == NULL)
        return -1;
    note_begun(b);
    munmap(b, sizeof *b);
    return 0;
}

int powercut_settle(const char *state)
{
    struct books *b = map_books(state, 0);

    if (b == NULL)
        return -1;
    note_begun(b);
    remove_books(state, b);
    return 0;
}

#ifdef POWERCUT_MAIN
static int print_count(const char *state)
{
    struct books *b = map_books(state, 0);

    if (b == NULL)
        return -1;
    printf("%llu\n", (unsigned long long)b->calls);
    return 0;
}

int main(int argc, char **argv)
{
    int rv = -1;

    if (argc < 3) {
        fprintf(stderr, "usage: powercut cut STATE [KEEP%%] | settle STATE | "
                        "count STATE\n");
        return 3;
    }
    if (strcmp(argv[1], "cut") == 0)
        rv = powercut_apply(argv[2], argc > 3 ? atoi(argv[3]) : 0);
    else if (strcmp(argv[1], "settle") == 0)
        rv = powercut_settle(argv[2]);
    else if (strcmp(argv[1], "count") == 0)
        rv = print_count(argv[2]);
    if (rv != 0)
        perror(argv[2]);
    return rv == 0 ? 0 : 1;
}
#endif
