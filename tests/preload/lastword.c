/* lastword.c -- a program that dies, or stops, when it is about to say
 * something: preloaded, for tests of what others make of that.
 *
 * $LASTWORD is what is never said.  In front of a send() with these bytes in it
 * the program kills itself; with $LASTWORD_STOPS it stops, and says it once it
 * is continued. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define SHOWN __attribute__((visibility("default")))

ssize_t SHOWN send(int fd, const void *p, size_t n, int flags);

ssize_t send(int fd, const void *p, size_t n, int flags)
{
    const char *word = getenv("LASTWORD");

    if (word != NULL && memmem(p, n, word, strlen(word)) != NULL)
        kill(getpid(), getenv("LASTWORD_STOPS") != NULL ? SIGSTOP : SIGKILL);
    return (ssize_t)syscall(SYS_sendto, fd, p, n, flags, NULL, 0);
}
