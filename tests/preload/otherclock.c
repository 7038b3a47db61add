/* otherclock.c -- another wall clock, which can be set: preloaded, for tests of
 * what a program makes of that.  If $OTHERCLOCK_TOO is set, the monotonic clock moves
 * along: time passes for the program.
 *
 * $OTHERCLOCK names a file of eight bytes: by how many milliseconds the wall
 * clock is wrong.  It is mapped, so that whoever writes the file sets the clock
 * of programs that run.  A timerfd on that clock is readable when the file was
 * written, as a real one is (TFD_TIMER_CANCEL_ON_SET) when the clock was set; it
 * is an inotify descriptor and counts no time. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

int SHOWN clock_gettime(clockid_t id, struct timespec *t);
int SHOWN timerfd_create(int clock, int flags);
int SHOWN timerfd_settime(int fd, int flags, const struct itimerspec *to,
                          struct itimerspec *old);

static const volatile int64_t *shift; /* NULL: the clock is right */
static int moves_both;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("OTHERCLOCK");
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *p = fd >= 0 ? mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, fd, 0)
                      : MAP_FAILED;

    if (fd >= 0)
        close(fd);
    if (p != MAP_FAILED)
        shift = p;
    moves_both = getenv("OTHERCLOCK_TOO") != NULL;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
    long rv = syscall(SYS_clock_gettime, id, t);

    if (rv == 0 && shift != NULL &&
        (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE ||
         (moves_both && id == CLOCK_MONOTONIC)))
        t->tv_sec += *shift / 1000; /* in whole seconds */
    return (int)rv;
}

int timerfd_create(int clock, int flags)
{
    const char *path = getenv("OTHERCLOCK");
    int fd;

    if (shift == NULL || clock != CLOCK_REALTIME)
        return (int)syscall(SYS_timerfd_create, clock, flags);
    fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd >= 0 && inotify_add_watch(fd, path, IN_CLOSE_WRITE) < 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *to,
                    struct itimerspec *old)
{
    return shift != NULL && (flags & TFD_TIMER_CANCEL_ON_SET) != 0
               ? 0
               : (int)syscall(SYS_timerfd_settime, fd, flags, to, old);
}
