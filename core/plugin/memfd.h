/* memfd.h -- bytes in memory that nobody can change any more.  [any] */
#ifndef MORTISE_PLUGIN_MEMFD_H
#define MORTISE_PLUGIN_MEMFD_H

#include <fcntl.h>
#include <stdbool.h>

/* All that make it so; another process's is looked at for these. */
enum { MORTISE_MEMFD_SEALS = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK };

/* An empty one, to be written and sealed; `label` (at most 249 bytes) is what
 * /proc shows.  -1 and errno. */
int mortise_memfd_new(const char *label);
/* Can it not be executed as a program?  (Since Linux 6.3; mapping it executable
 * is another matter.) */
bool mortise_memfd_is_noexec(int fd);
/* From here on its bytes are what they are.  Takes 150 ms and more where the
 * kernel is busy with its pages, five seconds at most; -1 and errno: EBUSY,
 * somebody holds on to them, or can write. */
int mortise_memfd_seal(int fd);

#endif
