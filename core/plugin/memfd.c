/* memfd.c -- immutable bytes in memory.
 *
 * Before sealing, the kernel waits until no one else refers to the pages,
 * because a zero-copy transfer could still write them.  After 150 ms it gives
 * up with EBUSY.  On a busy machine, pages in another CPU's batch are enough to
 * cause that, so the seal is retried for a while. */
#include "core/plugin/memfd.h"

#include <errno.h>
#include <sys/mman.h>
#include <time.h>

#include "core/base/clock.h"

#ifndef MFD_NOEXEC_SEAL /* Linux 6.3 */
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef F_SEAL_EXEC
#define F_SEAL_EXEC 0x0020
#endif

enum { PATIENCE_MS = 5000 };

int mortise_memfd_new(const char *label)
{
    int fd =
        memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

    return fd < 0 && errno == EINVAL /* before 6.3 */
               ? memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING)
               : fd;
}

bool mortise_memfd_is_noexec(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);

    return seals >= 0 && (seals & F_SEAL_EXEC) != 0;
}

int mortise_memfd_seal(int fd)
{
    const struct timespec a_little = {.tv_nsec = 1000000};
    uint64_t end = mortise_mono_ns_after(PATIENCE_MS);
    int rv;

    while ((rv = fcntl(fd, F_ADD_SEALS, MORTISE_MEMFD_SEALS | F_SEAL_SEAL)) !=
               0 &&
           errno == EBUSY && mortise_mono_ns() < end)
        nanosleep(&a_little, NULL);
    return rv;
}
