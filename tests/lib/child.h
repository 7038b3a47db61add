/* child.h -- other programs, as a shell would run them.
 *
 * A line is given to `sh -c` in the directory of child_dir(), so redirections
 * and quoting work; $MORTISE in it is the binary under test (with MORTISE_IGNORE
 * in the environment the one that obeys it, lib/ignoring.h). */
#ifndef TEST_CHILD_H
#define TEST_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "core/mortise.h" /* MORTISE_PRINTF */

/* Where lines run from now on; the string is lent. */
void child_dir(const char *dir);
/* Before each line, a mortise.yaml there gets the word that it needs (lib/allow.h);
 * false: the test is about just that. */
void child_allows(bool yes);
/* The absolute path of a file under $MORTISE_BUILD (default: build); static
 * until the next call. */
const char *child_build(const char *file);

struct child_result {
    int code;                        /* exit code, or 128 + signal */
    char out[1 << 18], err[1 << 16]; /* NUL-terminated; the rest is lost */
};
extern struct child_result child; /* of the last child_run() */

/* Run a line to its end (ten minutes at most, then it is killed). */
int child_run(const char *fmt, ...) MORTISE_PRINTF(1, 2);

/* Start one that goes on; what it prints goes to the file NAME.out and
 * NAME.err in the directory.  The shell execs it: the pid is its own. */
pid_t child_start(const char *name, const char *fmt, ...) MORTISE_PRINTF(2, 3);
/* Wait until the file contains `text` (a minute at most, then the test fails). */
void child_await(const char *file, const char *text);
/* Send it a signal once it would hear of it, and return when it has: before that
 * the signal would end it, or be one with the next. */
void child_signal(pid_t pid, int sig);
/* Wait for its end: exit code, or 128 + signal. */
int child_wait(pid_t pid);
/* Kill it with SIGKILL and reap it. */
void child_kill(pid_t pid);

/* The last line of the `mortise doctor` that ran: so much to mend, so much to look
 * at, and one thing more if the store is on a tmpfs, where tests may run. */
const char *child_fitness(unsigned mend, unsigned look);

#endif
