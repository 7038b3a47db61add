/* files.c -- bounded reads and atomic writes of whole files.
 *
 * Keys, manifests, signatures and trust files are small, and a partial one is
 * worse than none.  So a file is read completely or not at all, and a write
 * never changes the bytes behind a name that other programs know:
 *
 *   (1) A read accepts only a regular file of at most `max` bytes.  The open
 *       never blocks, even if somebody put a FIFO there.
 *   (2) A written file appears under its name complete and synced, or not at
 *       all.
 *   (3) For a file that must be new, the kernel refuses to replace an existing
 *       one; there is no check beforehand that could race.  A file with exactly
 *       the bytes to be written counts as written: a command that was killed
 *       after the rename can be repeated.
 *   (4) The file has its final mode from its first byte on, so that other users
 *       can never read a secret key.
 *   (5) A writer locks its temporary file.  An unlocked temporary file for the
 *       same name belongs to a writer that was killed, and the next writer
 *       removes it.  On a file system without locks it stays, which does no
 *       harm.
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

static int fail_file_too_large(const char *path, uint64_t max,
                               struct mortise_err *err)
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
        rv = fail_file_too_large(path, max, err);
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

int mortise_file_read_rest(struct mortise_buf *b, int fd, uint64_t max)
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
    /* the file may have grown since the check */
    if (mortise_file_read_rest(b, fd, max) != 0)
        rv = errno == EFBIG ? fail_file_too_large(path, max, err)
                            : mortise_syserr(err, errno, "read %s", path);
    else if (b->failed)
        rv = mortise_nomem(err);
    close(fd);
    return rv;
}

int mortise_file_write_fd(int fd, const void *p, size_t n)
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

bool mortise_file_find_on_path(const char **path, const char *name, char *out,
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

int mortise_file_format_path(char *out, size_t size, struct mortise_err *err,
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

/* ---- writing ------------------------------------------------------------- */

static void copy_parent_dir(const char *path, char dir[PATH_MAX])
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        strcpy(dir, ".");
    else
        snprintf(dir, PATH_MAX, "%.*s", (int)(slash - path + 1), path);
}

/* Sync the directory that holds `path`, so that the name is durable. */
static int sync_dir_of_file(const char *path)
{
    char dir[PATH_MAX];
    int fd, rv;

    copy_parent_dir(path, dir);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    rv = fsync(fd);
    close(fd);
    return rv;
}

/* Close `fd` and keep errno. */
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
static void remove_stale_temporaries(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    char dir[PATH_MAX];
    struct dirent *e;
    DIR *d;

    copy_parent_dir(path, dir);
    d = opendir(dir);
    while (d != NULL && (e = readdir(d)) != NULL)
        if (is_temporary(e->d_name, base))
            remove_unlocked(dirfd(d), e->d_name);
    if (d != NULL)
        closedir(d);
}

/* Create a temporary file beside `path` and lock it; -1 and errno.  Another
 * writer may remove it between open() and flock().  In that case, create the
 * next one. */
static int open_temporary(char tmp[PATH_MAX], const char *path, mode_t mode)
{
    char uuid[MORTISE_UUID_TEXT];
    struct stat st;
    int fd;

    for (;;) {
        mortise_uuid_format(uuid, mortise_uuid7_make_now());
        if (mortise_file_format_path(tmp, PATH_MAX, NULL, "%s.%s.tmp", path,
                                     uuid) != MORTISE_OK) {
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
static int rename_temporary(const char *tmp, const char *path, unsigned flags)
{
    if ((flags & MORTISE_FILE_NEW) == 0)
        return rename(tmp, path);
    if (renameat2(AT_FDCWD, tmp, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return 0;
    /* not supported by the file system */
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    return link(tmp, path) == 0 ? unlink(tmp) : -1;
}

/* Write and name the file, all but the sync of the directory.  The temporary
 * name is removed in any case. */
static int write_new(const char *path, const void *p, size_t n, mode_t mode,
                     unsigned flags)
{
    char tmp[PATH_MAX];
    int fd = open_temporary(tmp, path, mode), rv;

    if (fd < 0)
        return -1;
    rv = mortise_file_write_fd(fd, p, n) == 0 && fsync(fd) == 0 ? 0 : -1;
    if (rv == 0)
        rv = rename_temporary(tmp, path, flags);
    if (rv != 0) {
        int saved = errno;

        unlink(tmp);
        errno = saved;
    }
    close_quietly(fd);
    return rv;
}

/* Are the remaining bytes of `fd` exactly these? */
static bool is_rest_equal(int fd, const char *p, size_t n)
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

/* Is `path` a regular file with exactly these bytes?  Also syncs it. */
static bool has_content_on_disk(const char *path, const void *p, size_t n)
{
    int fd =
        open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    bool is;

    if (fd < 0)
        return false;
    is = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
         is_rest_equal(fd, p, n) && fsync(fd) == 0;
    close(fd);
    return is;
}

int mortise_file_write(const char *path, const void *p, size_t n, mode_t mode,
                       unsigned flags, struct mortise_err *err)
{
    int errnum;

    remove_stale_temporaries(path);
    errnum = write_new(path, p, n, mode, flags) == 0 ? 0 : errno;
    if (errnum == EEXIST && !has_content_on_disk(path, p, n))
        return mortise_fail(err, MORTISE_EEXISTS,
                            "write %s: the file already "
                            "exists",
                            path);
    if (errnum != 0 && errnum != EEXIST)
        return mortise_syserr(err, errnum, "write %s", path);
    return sync_dir_of_file(path) == 0
               ? MORTISE_OK
               : mortise_syserr(err, errno, "write %s", path);
}

/* Is `path` a device or a pipe, which is written to and not replaced? */
static bool is_stream(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

int mortise_file_write_output(const char *path, const void *p, size_t n,
                              mode_t mode, unsigned flags,
                              struct mortise_err *err)
{
    int fd, rv = MORTISE_OK;

    if (!is_stream(path))
        return mortise_file_write(path, p, n, mode, flags, err);
    fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || mortise_file_write_fd(fd, p, n) != 0)
        rv = mortise_syserr(err, errno, "write %s", path);
    if (fd >= 0)
        close(fd);
    return rv;
}

int mortise_file_check_output(const char *path, struct mortise_err *err)
{
    char dir[PATH_MAX];
    struct stat st;

    copy_parent_dir(path, dir);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return mortise_syserr(err, EISDIR, "write %s", path);
    if (is_stream(path) ? access(path, W_OK) != 0
                        : access(dir, W_OK | X_OK) != 0)
        return mortise_syserr(err, errno, "write %s", path);
    return MORTISE_OK;
}
