/* errand.h -- a place to use the command line in, with a server to send
 * requests to, which counts them: a fresh directory, a deployment that may go
 * there, and the store ./store.
 *
 *     tcase_add_checked_fixture(tc, errand_begin, errand_end);
 */
#ifndef TEST_ERRAND_H
#define TEST_ERRAND_H

#include <limits.h>

#include "lib/child.h"
#include "lib/httpd.h"
#include "lib/test.h"

extern struct httpd *errand_httpd;
extern char errand_dir[PATH_MAX - 64]; /* where lines of child_run() run */

void errand_begin(void);
void errand_end(void);

/* A file of the directory; a deployment with `more` in it. */
void errand_put(const char *name, const char *text);
void errand_deploy(const char *name, const char *more);

/* What is in a file of the directory; static until the next call. */
const char *errand_file(const char *name);
void errand_says(const char *name, const char *words);

/* `mortise WHAT`: its exit code. */
int errand_mortise(const char *what);
/* An engine, once it holds the store; its log is NAME.err. */
pid_t errand_engine(const char *name);
/* Stop it, well. */
void errand_stop(pid_t engine);

#endif
