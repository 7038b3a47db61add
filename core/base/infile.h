/* infile.h -- open files by path for reading. [any] */
#ifndef MORTISE_BASE_INFILE_H
#define MORTISE_BASE_INFILE_H

#include "core/base/buf.h"

/* An errno of our own: the path is not a regular file (a FIFO, device or
 * socket). mortise_syserr() has a text for it. */
enum { MORTISE_ERRNO_NOT_REGULAR = 0x10000 };

/* Open a regular file, or a directory (read() then fails with EISDIR), with
 * O_CLOEXEC and without blocking.  Paths below /dev and /proc, which a shell
 * passes (/dev/stdin, /dev/fd/63), may be of any type and may block.  `flags`
 * are added to open()'s. -1 and errno. */
int mortise_infile_open(int dir, const char *path, int flags);

/* The largest file that a person writes, in bytes. */
enum { MORTISE_INFILE_MAX = 16 << 20 };
/* Append the bytes of a file, at most one more than MORTISE_INFILE_MAX, so that
 * the reader of the text reports a file that is too large.  Returns 0, or
 * errno. */
int mortise_infile_read(const char *path, struct mortise_buf *b);

#endif
