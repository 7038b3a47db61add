/* sickhost.c -- a host with something wrong, for `mortise doctor`: preloaded,
 * and told what by the environment's SICK (words: clock landlock seccomp memfd
 * proc nfs full slow eio curl pipes blind). */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

int SHOWN clock_gettime(clockid_t id, struct timespec *t);
long SHOWN syscall(long number, ...);
int SHOWN prctl(int option, ...);
int SHOWN memfd_create(const char *name, unsigned flags);
int SHOWN access(const char *path, int mode);
int SHOWN fstatfs(int fd, struct statfs *out);
int SHOWN fdatasync(int fd);
int SHOWN pipe2(int fds[2], int flags);
SHOWN void *dlopen(const char *path, int flags);
SHOWN void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
int SHOWN munmap(void *at, size_t n);

static int is(const char *word)
{
    const char *sick = getenv("SICK");

    return sick != NULL && strstr(sick, word) != NULL;
}

/* The C library's own; POSIX lets the pointer be a function. */
#define REAL(result, name, ...)                                                \
    result (*real)(__VA_ARGS__);                                               \
    void *found = dlsym(RTLD_NEXT, #name);                                     \
    memcpy(&real, &found, sizeof real)

int clock_gettime(clockid_t id, struct timespec *t)
{
    REAL(int, clock_gettime, clockid_t, struct timespec *);
    int rv = real(id, t);

    if (id == CLOCK_REALTIME && is("clock"))
        t->tv_sec = 1000;
    return rv;
}

/* Another name, so that dlerror() has something to say. */
void *dlopen(const char *path, int flags)
{
    REAL(void *, dlopen, const char *, int);
    bool other = path != NULL && strstr(path, "libcurl") != NULL && is("curl");

    return real(other ? "libcurl-is-not-here" : path, flags);
}

long syscall(long number, ...)
{
    REAL(long, syscall, long, long, long, long, long, long, long);
    long a[6];
    va_list ap;

    va_start(ap, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (number == 444 && is("landlock")) {
        errno = ENOSYS;
        return -1;
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int prctl(int option, ...)
{
    REAL(int, prctl, int, long, long, long, long);
    long a[4];
    va_list ap;

    va_start(ap, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (option == PR_GET_SECCOMP && is("seccomp")) {
        errno = EINVAL;
        return -1;
    }
    return real(option, a[0], a[1], a[2], a[3]);
}

int memfd_create(const char *name, unsigned flags)
{
    REAL(int, memfd_create, const char *, unsigned);

    if (is("memfd")) {
        errno = ENOSYS;
        return -1;
    }
    return real(name, flags);
}

int pipe2(int fds[2], int flags)
{
    REAL(int, pipe2, int *, int);

    if (is("pipes")) {
        errno = EMFILE;
        return -1;
    }
    return real(fds, flags);
}

int access(const char *path, int mode)
{
    REAL(int, access, const char *, int);

    if (is("proc") && strcmp(path, "/proc/self/fd") == 0) {
        errno = ENOENT;
        return -1;
    }
    return real(path, mode);
}

int fstatfs(int fd, struct statfs *out)
{
    REAL(int, fstatfs, int, struct statfs *);
    int rv = real(fd, out);

    if (is("nfs"))
        out->f_type = 0x6969;
    if (is("full"))
        out->f_bavail = 1;
    return rv;
}

int fdatasync(int fd)
{
    REAL(int, fdatasync, int);

    if (is("slow"))
        usleep(60000);
    if (is("eio")) {
        errno = EIO;
        return -1;
    }
    return real(fd);
}

static char not_there[1];

/* Blind: there seems to be memory, and others take it before it is used. */
void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
    REAL(void *, mmap, void *, size_t, int, int, int, off_t);
    void *p = real(at, n, prot, flags, fd, from);

    return p == MAP_FAILED && fd == -1 && at == NULL && n >= 8 << 20 &&
                   is("blind")
               ? not_there
               : p;
}

int munmap(void *at, size_t n)
{
    REAL(int, munmap, void *, size_t);

    return at == not_there ? 0 : real(at, n);
}
