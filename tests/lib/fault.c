/* fault.c -- FAULT_POINT of programs that are linked with fault points.
 *
 *     MORTISE_FAULT_CRASH=n      SIGKILL ourselves at the n-th point (from 1)
 *     MORTISE_FAULT_LOG=path     append the name of each point that is passed
 *     MORTISE_FAULT_ONLY=prefix  points of other names neither count nor log
 *
 * Points are counted over all threads of the process.  The log gets one line
 * by one O_APPEND write, and before the process dies there, so that a harness
 * that ran once without a crash knows how many there are and what they are.
 * The environment is read at each point: a test may change it as it goes.
 */
#include "core/base/fault.h"

#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void mortise_fault_point(const char *name); /* core/base/fault.h hides it from us */

static void append_line(const char *path, const char *name)
{
    char line[256];
    int n = snprintf(line, sizeof line, "%.254s\n", name);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, line, (size_t)n) != n) {
        perror(path); /* a harness that counts wrongly proves nothing */
        abort();
    }
    close(fd);
}

void mortise_fault_point(const char *name)
{
    static atomic_ulong passed;
    const char *only = getenv("MORTISE_FAULT_ONLY");
    const char *log = getenv("MORTISE_FAULT_LOG");
    const char *crash = getenv("MORTISE_FAULT_CRASH");
    unsigned long n;

    if (only != NULL && strncmp(name, only, strlen(only)) != 0)
        return;
    n = atomic_fetch_add(&passed, 1) + 1;
    if (log != NULL)
        append_line(log, name);
    if (crash != NULL && n == strtoul(crash, NULL, 10))
        raise(SIGKILL);
}
