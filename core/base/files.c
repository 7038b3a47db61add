/* files.c -- whole files, read with a bound and written all or nothing.
 *
 * Keys, manifests, signatures and trust files are small, and half of one is
 * worse than none.  So a reader takes a file whole or not at all, and a writer
 * never changes bytes under a name that others know:
 *
 *   (1) what is read was a regular file of at most `max` bytes; the open never
 *       blocks on a FIFO somebody put there;
 *   (2) what is written appears under its name complete, synced, or not at all;
 *   (3) a file that must be new is made so by the kernel (the rename refuses to
 *       replace), not by looking first.  A file with the very bytes that are to
 *       be written counts as written: a command that was killed behind the
 *       rename can be given again;
 *   (4) the mode is the final one from the first byte on, so a secret key is
 *       never readable by others for a moment;
 *   (5) a writer locks its temporary file.  A temporary file of the same name
 *       that nobody has locked is of a writer that was killed: the next writer
 *       removes it.  A file system without locks keeps it; it does no harm.
 */
#include "core/base/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/id.h"

static int too_large(const char *path, uint64_t max, struct mortise_err *err)
{
    return mortise_fail(
        err, MORTISE_EINVAL,
        "read %s: the file is larger than the limit of %llu bytes", path,
        (unsigned long long)max);
}

int mortise_file_open(int *fd, uint64_t *size, const char *path, uint64_t max,
                      struct mortise_err *err)
{
    struct stat st;
    int f = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rv;

    if (f < 0)
        return mortise_syserr(err, errno, "read %s", path);
    if (fstat(f, &st) != 0)
        rv = mortise_syserr(err, errno, "read %s", path);
    else if (!S_ISREG(st.st_mode))
        rv = mortise_fail(err, MORTISE_EINVAL, "read %s: not a regular file",
                          path);
    else if ((uint64_t)st.st_size > max)
        rv = too_large(path, max, err);
    else
        rv = MORTISE_OK;
    if (rv != MORTISE_OK) {
        close(f);
        return rv;
    }
    *fd = f;
    *size = (uint64_t)st.st_size;
    return MORTISE_OK;
}

int mortise_file_drain(struct mortise_buf *b, int fd, uint64_t max)
{
    char block[16384];
    uint64_t total = 0;
    ssize_t n;

    while ((n = read(fd, block, sizeof block)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        total += (uint64_t)n;
        if (total > max) {
            errno = EFBIG;
            return -1;
        }
        mortise_buf_put(b, block, (size_t)n);
    }
    return 0;
}

int mortise_file_read(struct mortise_buf *b, const char *path, uint64_t max,
                      struct mortise_err *err)
{
    uint64_t size;
    int fd, rv = mortise_file_open(&fd, &size, path, max, err);

    if (rv != MORTISE_OK)
        return rv;
    if (mortise_file_drain(b, fd, max) != 0) /* it may grow meanwhile */
        rv = errno == EFBIG ? too_large(path, max, err)
                            : mortise_syserr(err, errno, "read %s", path);
    else if (b->failed)
        rv = mortise_nomem(err);
    close(fd);
    return rv;
}

int mortise_file_put(int fd, const void *p, size_t n)
{
    const char *at = p;
    ssize_t done;

    for (; n > 0; at += done, n -= (size_t)done) {
        done = write(fd, at, n);
        if (done < 0 && errno == EINTR)
            done = 0;
        if (done < 0)
            return -1;
    }
    return 0;
}

bool mortise_file_on_path(const char **path, const char *name, char *out,
                          size_t size)
{
    while (*path != NULL && **path != '\0') {
        const char *dir = *path;
        size_t n = strcspn(dir, ":");
        int length = snprintf(out, size, "%.*s/%s", n > 0 ? (int)n : 1,
                              n > 0 ? dir : ".", name);

        *path = dir + n + (dir[n] == ':');
        if (length > 0 && (size_t)length < size && access(out, X_OK) == 0)
            return true;
    }
    return false;
}

int mortise_file_path(char *out, size_t size, struct mortise_err *err,
                      const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(out, size, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= size)
        return mortise_fail(err, MORTISE_EINVAL, "path too long: %s", out);
    return MORTISE_OK;
}

/* ---- writing --------------------------------------------------------------- */

static void directory_of(const char *path, char dir[PATH_MAX])
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        strcpy(dir, ".");
    else
        snprintf(dir, PATH_MAX, "%.*s", (int)(slash - path + 1), path);
}

/* Make a name durable: sync the directory that holds it. */
static int sync_dir(const char *path)
{
    char dir[PATH_MAX];
    int fd, rv;

    directory_of(path, dir);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    rv = fsync(fd);
    close(fd);
    return rv;
}

/* close(), with the errno of what went before. */
static void close_quietly(int fd)
{
    int saved = errno;

    close(fd);
    errno = saved;
}

static bool is_temporary(const char *name, const char *of)
{
    size_t n = strlen(of);

    return strncmp(name, of, n) == 0 && name[n] == '.' &&
           strspn(name + n + 1, "0123456789abcdef-") == MORTISE_UUID_TEXT - 1 &&
           strcmp(name + n + MORTISE_UUID_TEXT, ".tmp") == 0;
}

static void remove_unlocked(int dir, const char *name)
{
    int fd = openat(dir, name,
                    O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        unlinkat(dir, name, 0);
    close(fd);
}

/* (5) */
static void remove_left_behind(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    char dir[PATH_MAX];
    struct dirent *e;
    DIR *d;

    directory_of(path, dir);
    d = opendir(dir);
    while (d != NULL && (e = readdir(d)) != NULL)
        if (is_temporary(e->d_name, base))
            remove_unlocked(dirfd(d), e->d_name);
    if (d != NULL)
        closedir(d);
}

/* A new file beside `path`, and its name; -1 and errno.  Another writer may
 * remove it between open() and flock(): then make the next one. */
static int open_temporary(char tmp[PATH_MAX], const char *path, mode_t mode)
{
    char uuid[MORTISE_UUID_TEXT];
    struct stat st;
    int fd;

    for (;;) {
        mortise_uuid_text(uuid, mortise_uuid7_now());
        if (mortise_file_path(tmp, PATH_MAX, NULL, "%s.%s.tmp", path, uuid) !=
            MORTISE_OK) {
            errno = ENAMETOOLONG;
            return -1;
        }
        fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0 || flock(fd, LOCK_EX) != 0 || fstat(fd, &st) != 0 ||
            st.st_nlink > 0)
            return fd;
        close(fd);
    }
}

/* (3) */
static int give_name(const char *tmp, const char *path, unsigned flags)
{
    if ((flags & MORTISE_FILE_NEW) == 0)
        return rename(tmp, path);
    if (renameat2(AT_FDCWD, tmp, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS) /* the file system cannot do it */
        return -1;
    return link(tmp, path) == 0 ? unlink(tmp) : -1;
}

/* All but the directory's sync; the temporary name is gone at the end. */
static int write_new(const char *path, const void *p, size_t n, mode_t mode,
                     unsigned flags)
{
    char tmp[PATH_MAX];
    int fd = open_temporary(tmp, path, mode), rv;

    if (fd < 0)
        return -1;
    rv = mortise_file_put(fd, p, n) == 0 && fsync(fd) == 0 ? 0 : -1;
    if (rv == 0)
        rv = give_name(tmp, path, flags);
    if (rv != 0) {
        int saved = errno;

        unlink(tmp);
        errno = saved;
    }
    close_quietly(fd);
    return rv;
}

/* The next bytes of a descriptor are these, and nothing is behind them. */
static bool reads_as(int fd, const char *p, size_t n)
{
    char block[16384];
    ssize_t got;

    while ((got = read(fd, block, sizeof block)) > 0) {
        if ((size_t)got > n || memcmp(block, p, (size_t)got) != 0)
            return false;
        p += got;
        n -= (size_t)got;
    }
    return got == 0 && n == 0;
}

/* A regular file with just these bytes, which are on the disk. */
static bool is_written(const char *path, const void *p, size_t n)
{
    int fd =
        open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    bool is;

    if (fd < 0)
        return false;
    is = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && reads_as(fd, p, n) &&
         fsync(fd) == 0;
    close(fd);
    return is;
}

int mortise_file_write(const char *path, const void *p, size_t n, mode_t mode,
                       unsigned flags, struct mortise_err *err)
{
    int errnum;

    remove_left_behind(path);
    errnum = write_new(path, p, n, mode, flags) == 0 ? 0 : errno;
    if (errnum == EEXIST && !is_written(path, p, n))
        return mortise_fail(err, MORTISE_EEXISTS,
                            "write %s: the file already "
                            "exists",
                            path);
    if (errnum != 0 && errnum != EEXIST)
        return mortise_syserr(err, errnum, "write %s", path);
    return sync_dir(path) == 0 ? MORTISE_OK
                               : mortise_syserr(err, errno, "write %s", path);
}

/* Something that takes bytes and keeps no name: a device, a pipe. */
static bool is_stream(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

int mortise_file_output(const char *path, const void *p, size_t n, mode_t mode,
                        unsigned flags, struct mortise_err *err)
{
    int fd, rv = MORTISE_OK;

    if (!is_stream(path))
        return mortise_file_write(path, p, n, mode, flags, err);
    fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || mortise_file_put(fd, p, n) != 0)
        rv = mortise_syserr(err, errno, "write %s", path);
    if (fd >= 0)
        close(fd);
    return rv;
}

int mortise_file_may_output(const char *path, struct mortise_err *err)
{
    char dir[PATH_MAX];
    struct stat st;

    directory_of(path, dir);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return mortise_syserr(err, EISDIR, "write %s", path);
    if (is_stream(path) ? access(path, W_OK) != 0
                        : access(dir, W_OK | X_OK) != 0)
        return mortise_syserr(err, errno, "write %s", path);
    return MORTISE_OK;
}
