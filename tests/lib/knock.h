/* knock.h -- a bare connection to a store's control socket: no hello, no look
 * at who is there, and reads and writes that block. */
#ifndef MORTISE_TESTS_KNOCK_H
#define MORTISE_TESTS_KNOCK_H

#include <stddef.h>

/* The descriptor; the test fails when nobody listens. */
int knock(const char *store);
/* Say all of it. */
void knock_say(int fd, const char *p, size_t n);
/* The next line without its end, "" at the end of all: static until the next
 * call.  The test fails when none comes within a minute. */
const char *knock_line(int fd);
/* Say a line, and hear one. */
const char *knock_ask(int fd, const char *request);

#endif
