/* reserve.c -- disk space that is reserved for runs to come to a stop.
 *
 * A store on a full disk cannot even be opened, because LevelDB first writes
 * its log to a table.  So STORE/reserve, a file of 4 MiB without meaningful
 * content, is allocated with the first write of an opening.
 *
 *   (1) It is removed when a write fails for lack of space, before the store is
 *       reopened.  That takes at most 1 MiB; the rest lets existing runs commit
 *       their results, or be paused or cancelled.
 *   (2) While it cannot be made, no new run is admitted (leveldb.c).
 *   (3) It is made again when twice its size is free.  If it took the last free
 *       space, it would take back the space that it has just released.
 *
 * If it cannot be made for another reason, the store works without it.
 */
#include "core/store/leveldb/reserve.h"
#include "core/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char name[] = "reserve";
static const off_t size = MORTISE_RESERVE_MIB * 1024 * 1024;

/* Is as much space left for the next writes? */
static bool has_free_space(int dir)
{
    struct statvfs fs;

    return fstatvfs(dir, &fs) != 0 ||
           (uint64_t)fs.f_bavail * fs.f_frsize >=
               (uint64_t)MORTISE_STORE_FREE_MIB * 1024 * 1024;
}

/* Exceeding `ulimit -f` would raise SIGXFSZ. */
static bool is_within_file_limit(void)
{
    struct rlimit most;

    return getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur >= (rlim_t)size;
}

bool mortise_reserve_make(int dir)
{
    int fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct stat st;
    int errnum = 0;

    if (fd < 0)
        return errno != ENOSPC && errno != EDQUOT;
    if (fstat(fd, &st) != 0 || st.st_size != size || st.st_blocks < size / 512)
        errnum = !is_within_file_limit() ? EFBIG
                 : has_free_space(dir)   ? posix_fallocate(fd, 0, size)
                                         : ENOSPC;
    close(fd);
    if (errnum != 0)
        unlinkat(dir, name, 0);
    return errnum != ENOSPC && errnum != EDQUOT;
}

bool mortise_reserve_release(int dir)
{
    return unlinkat(dir, name, 0) == 0;
}
