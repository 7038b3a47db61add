/* infile.c -- open files by path for reading.
 *
 * Anyone who can write to a directory that we read can put a FIFO there, and a
 * plain open() of a FIFO blocks until somebody writes to it.  So files are
 * opened with O_NONBLOCK, and anything but a regular file or a directory is an
 * error.  A path from a shell (`check <(make-graph)`) is a pipe as well, but
 * its path shows that it has a writer.
 */
#include "core/base/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_shell_path(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
}

int mortise_infile_open(int dir, const char *path, int flags)
{
    struct stat st;
    int fd, why;

    flags |= O_RDONLY | O_CLOEXEC | O_NOCTTY;
    if (is_shell_path(path))
        return openat(dir, path, flags);
    fd = openat(dir, path, flags | O_NONBLOCK);
    if (fd < 0) {
        if (errno == ENXIO) /* a socket */
            errno = MORTISE_ERRNO_NOT_REGULAR;
        return -1;
    }
    if (fstat(fd, &st) != 0)
        why = errno;
    else if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return fd;
    else
        why = MORTISE_ERRNO_NOT_REGULAR;
    close(fd);
    errno = why;
    return -1;
}

/* Read at most one byte more than the limit.  Returns errno's value, or 0. */
static int read_up_to_limit(int fd, struct mortise_buf *b)
{
    char block[65536];
    struct stat st;
    ssize_t n;

    if (fstat(fd, &st) != 0)
        return errno;
    if (S_ISDIR(st.st_mode))
        return EISDIR;
    while (b->n <= MORTISE_INFILE_MAX &&
           (n = read(fd, block, sizeof block)) != 0) {
        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0)
            mortise_buf_put(b, block, (size_t)n);
    }
    return b->failed ? ENOMEM : 0;
}

int mortise_infile_read(const char *path, struct mortise_buf *b)
{
    int fd = mortise_infile_open(AT_FDCWD, path, 0), errnum;

    if (fd < 0)
        return errno;
    errnum = read_up_to_limit(fd, b);
    close(fd);
    return errnum;
}
