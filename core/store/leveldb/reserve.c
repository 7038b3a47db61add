/* reserve.c -- room on the disk that is kept free for runs to rest.
 *
 * When the disk is full, a store cannot even be opened: LevelDB writes what it
 * found in its log to a table first.  So STORE/reserve, a file of 4 MiB that
 * says nothing, has its blocks from the first write of an opening on, and
 *
 *   (1) goes when a write finds no room, before the store is opened again: that
 *       takes 1 MiB at most, and the rest is for runs that are there to commit
 *       what they did, or to be paused or cancelled;
 *   (2) while it cannot be made, no new run is admitted (leveldb.c);
 *   (3) comes again when there is room for it twice: made of the last of it, it
 *       would take what it has just given.
 *
 * Where it cannot be made for another reason there is none, and that is all.
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

/* As much again must be left for what is about to be written. */
static bool has_room(int dir)
{
    struct statvfs fs;

    return fstatvfs(dir, &fs) != 0 ||
           (uint64_t)fs.f_bavail * fs.f_frsize >=
               (uint64_t)MORTISE_STORE_FREE_MIB * 1024 * 1024;
}

/* Asking for more than `ulimit -f` would raise SIGXFSZ. */
static bool may_be_so_large(void)
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
        errnum = !may_be_so_large() ? EFBIG
                 : has_room(dir)    ? posix_fallocate(fd, 0, size)
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
