/* infile.c -- files that are opened by their path to be read.
 *
 * Whoever may write a directory that we look into may put a FIFO there, and a
 * plain open() of it waits until somebody writes: for ever.  So nothing is
 * opened by its path with a wait, and what is no file is refused in words.
 * What a shell hands over by a path (`check <(make-graph)`) is a pipe as well;
 * its path says that somebody is there.
 */
#include "core/base/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_handed_over(const char *path)
{
    return strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
}

int mortise_infile_open(int dir, const char *path, int flags)
{
    struct stat st;
    int fd, why;

    flags |= O_RDONLY | O_CLOEXEC | O_NOCTTY;
    if (is_handed_over(path))
        return openat(dir, path, flags);
    fd = openat(dir, path, flags | O_NONBLOCK);
    if (fd < 0) {
        if (errno == ENXIO) /* a socket */
            errno = MORTISE_NO_FILE;
        return -1;
    }
    if (fstat(fd, &st) != 0)
        why = errno;
    else if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return fd;
    else
        why = MORTISE_NO_FILE;
    close(fd);
    errno = why;
    return -1;
}
