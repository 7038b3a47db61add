/* infile.h -- files that are opened by their path to be read.  [any] */
#ifndef MORTISE_BASE_INFILE_H
#define MORTISE_BASE_INFILE_H

/* No errno of the kernel's: what is there is no regular file (a FIFO, a device,
 * a socket).  mortise_syserr() has words for it. */
enum { MORTISE_NO_FILE = 0x10000 };

/* Open a regular file, or a directory (reading it is EISDIR), close-on-exec,
 * without ever waiting for somebody at the other end.  Below /dev and /proc,
 * where a shell names what it hands over (/dev/stdin, /dev/fd/63), anything may
 * be read, and waited for.  `flags`: more of open()'s.  -1 and errno. */
int mortise_infile_open(int dir, const char *path, int flags);

#endif
