/* files.c -- whole files, read with a bound and written all or nothing.
 *
 * Keys, manifests, signatures and trust files are small, and half of one is
 * worse than none.  So a reader takes a file whole or not at all, and a writer
 * never changes bytes under a name that others know:
 *
 *   (1) what is read was a regular file of at most `max` bytes; the open never
 *       blocks on a FIFO somebody put there;
 *   (2) what is written appears under its name complete, synced, or not at all;
 *   (3) a file that must be new is made so by the kernel (link refuses to
 *       replace), not by looking first;
 *   (4) the mode is the final one from the first byte on, so a secret key is
 *       never readable by others for a moment.
 */
#include "base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id.h"

static int too_large(const char *path, uint64_t max, struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_EINVAL, "read %s: more than %llu bytes",
                        path, (unsigned long long)max);
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

/* Make a name durable: sync the directory that holds it. */
static int sync_dir(const char *path)
{
    char dir[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    int fd, rv;

    if (slash != NULL)
        snprintf(dir, sizeof dir, "%.*s", (int)(slash - path + 1), path);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    rv = fsync(fd);
    close(fd);
    return rv;
}

static int fill(const char *tmp, const void *p, size_t n, mode_t mode)
{
    int fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode), rv;

    if (fd < 0)
        return -1;
    rv = mortise_file_put(fd, p, n) != 0 || fsync(fd) != 0 ? -1 : 0;
    if (rv != 0) {
        int saved = errno;

        close(fd);
        errno = saved;
        return -1;
    }
    return close(fd);
}

static int give_name(const char *tmp, const char *path, unsigned flags)
{
    if ((flags & MORTISE_FILE_NEW) == 0)
        return rename(tmp, path);
    if (link(tmp, path) != 0)
        return -1;
    return unlink(tmp);
}

int mortise_file_write(const char *path, const void *p, size_t n, mode_t mode,
                       unsigned flags, struct mortise_err *err)
{
    char tmp[PATH_MAX], uuid[MORTISE_UUID_TEXT];
    int rv, saved;

    mortise_uuid_text(uuid, mortise_uuid7_now());
    rv = mortise_file_path(tmp, sizeof tmp, err, "%s.%s.tmp", path, uuid);
    if (rv != MORTISE_OK)
        return rv;
    if (fill(tmp, p, n, mode) == 0 && give_name(tmp, path, flags) == 0 &&
        sync_dir(path) == 0)
        return MORTISE_OK;
    saved = errno;
    unlink(tmp);
    if (saved == EEXIST)
        return mortise_fail(err, MORTISE_EEXISTS, "write %s: it exists", path);
    return mortise_syserr(err, saved, "write %s", path);
}
