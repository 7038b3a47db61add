/* lastword.c -- a program that dies, or stops, when it is about to say
 * something: preloaded, for tests of what others make of that.
 *
 * $LASTWORD is what is never said.  In front of a send() with these bytes in it
 * the program kills itself; with $LASTWORD_STOPS it stops, and says it once it
 * is continued.
 *
 * $LASTWORD_HIDES is what it says in other letters, and lives on. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

ssize_t SHOWN send(int fd, const void *p, size_t n, int flags);

/* Where the bytes of that variable are; NULL: nowhere. */
static const char *find(const char *name, const char *p, size_t n)
{
    const char *word = getenv(name);

    return word != NULL ? memmem(p, n, word, strlen(word)) : NULL;
}

static ssize_t say_otherwise(int fd, const char *p, size_t n, int flags,
                             size_t at)
{
    char *bytes = malloc(n);
    ssize_t sent = -1;

    if (bytes != NULL) {
        memcpy(bytes, p, n);
        memset(bytes + at, 'x', strlen(getenv("LASTWORD_HIDES")));
        sent = (ssize_t)syscall(SYS_sendto, fd, bytes, n, flags, NULL, 0);
    }
    free(bytes);
    return sent;
}

ssize_t send(int fd, const void *p, size_t n, int flags)
{
    const char *hides = find("LASTWORD_HIDES", p, n);

    if (find("LASTWORD", p, n) != NULL)
        kill(getpid(), getenv("LASTWORD_STOPS") != NULL ? SIGSTOP : SIGKILL);
    return hides != NULL
               ? say_otherwise(fd, p, n, flags,
                               (size_t)(hides - (const char *)p))
               : (ssize_t)syscall(SYS_sendto, fd, p, n, flags, NULL, 0);
}
