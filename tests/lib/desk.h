/* desk.h -- a place to use the command line in, for the tests of it: a fresh
 * directory with a deployment whose one plugin is `tried`
 * (tests/plugins/tried.c), signed and trusted.
 *
 *     tcase_add_unchecked_fixture(tc, desk_sign, desk_unsign);
 *     tcase_add_checked_fixture(tc, desk_begin, desk_end);
 */
#ifndef TEST_DESK_H
#define TEST_DESK_H

#include "lib/child.h"
#include "lib/store_reader.h"
#include "lib/test.h"

extern char desk_plugins[4096]; /* holds plugins/, trust.d/ and the key k */
extern char desk_dir[4096];     /* where lines of child_run() run */

void desk_sign(void);
/* One more plugin there, by its manifest, from here, and its module, of the build;
 * `ours`: of tests/plugins/.  Whom it is trusted to, the test says. */
void desk_sign_one(const char *manifest, const char *module);
void desk_sign_ours(const char *name);
void desk_unsign(void);
void desk_begin(void);
void desk_end(void);
/* From now on, for this test alone: a user who knows what ours did so far, and
 * whose memory (of releases that ran, say) goes with the directory. */
void desk_own_home(void);

/* A file of the directory; a graph of this name, with its header. */
void desk_put(const char *name, const char *text);
void desk_graph(const char *name, const char *body);

/* The deployment with more in it. */
void desk_deploy(const char *more);

/* Somebody says yes to the plan of that run, which then waits for more. */
void desk_approve_plan(const char *run);

/* What an independent reader finds in the deployment's store, which nobody holds; free
 * it ahead of the next. */
struct reader_store *desk_store(void);

/* From now on the clock of tests/preload/otherclock.c is wrong by so much, in the
 * programs that have $OTHERCLOCK name the file `clock` of the directory. */
void desk_set_clock(long long ms);

/* A run of the file GRAPH that stops before `node`, its first one, so that it is on
 * disk: a process that dies in a first node may die before its run is stored.  Its
 * `mortise resume` goes on.  `input`: JSON text. */
void desk_admit(const char *graph, const char *node, const char *id,
                const char *input);

/* How often did executors write a line into the file `entered`? */
unsigned desk_entrances(void);

/* In a text, the rest of the first line that has that, from there on; it must be
 * there. */
const char *desk_line(const char *in, const char *begins);

/* Run a line again and again until it prints that: a minute at most, then the test
 * fails. */
void desk_until(const char *text, const char *fmt, ...) MORTISE_PRINTF(2, 3);

/* A line that must end with 0. */
#define desk_ok(...)                                                           \
    do {                                                                       \
        child_run(__VA_ARGS__);                                                \
        desk_code(0);                                                          \
    } while (0)
#define desk_code(want)                                                        \
    ck_assert_msg(child.code == (want),                                        \
                  "exit code %d, not %d:\n%.2000s%.1200s", child.code, (want), \
                  child.out, child.err)
#define desk_out(text)                                                         \
    ck_assert_msg(strstr(child.out, (text)) != NULL,                           \
                  "no '%s' in:\n%.2000s%.1200s", (text), child.out, child.err)
#define desk_not_out(text)                                                     \
    ck_assert_msg(strstr(child.out, (text)) == NULL, "'%s' in:\n%.2000s",      \
                  (text), child.out)
#define desk_err(text)                                                         \
    ck_assert_msg(strstr(child.err, (text)) != NULL,                           \
                  "no '%s' in:\n%.2000s%.1200s", (text), child.out, child.err)

#endif
