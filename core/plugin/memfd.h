/* memfd.h -- immutable bytes in memory.  [any] */
#ifndef MORTISE_PLUGIN_MEMFD_H
#define MORTISE_PLUGIN_MEMFD_H

#include <fcntl.h>
#include <stdbool.h>

/* The seals that make the bytes immutable; a memfd of another process must have
 * them, too. */
enum { MORTISE_MEMFD_SEALS = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK };

/* Create an empty memfd, to be written and sealed. /proc shows `label` (at most
 * 249 bytes). -1 and errno on error. */
int mortise_memfd_new(const char *label);
/* Is it impossible to execute it as a program?  (Since Linux 6.3.  It can still
 * be mapped executable.) */
bool mortise_memfd_is_noexec(int fd);
/* Make the bytes immutable.  Takes 150 ms and more while the kernel uses its
 * pages, at most 5 seconds. -1 and errno on error; EBUSY: a process still maps
 * or writes it. */
int mortise_memfd_seal(int fd);

#endif
