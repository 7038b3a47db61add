/* lone.h -- an engine with a directory of its own, and runs of graphs that have
 * one node, `a`.  One at a time.
 *
 *     lone_begin(); lone_open(trust, plugins, "{http: {...}}");
 *     lone_start("tool: http/get, args: {url: \"%s\"}", url);
 *     error = lone_shown("error");
 *     lone_end();
 */
#ifndef TEST_LONE_H
#define TEST_LONE_H

#include <jansson.h>
#include <limits.h>

#include "core/engine/common/engine.h"
#include "lib/test.h"

extern struct mortise *lone; /* NULL: closed */
extern struct mortise_err lone_err;
extern char lone_dir[PATH_MAX - 64], lone_run[MORTISE_RUN_MAX];
extern int lone_status; /* after lone_shown() and lone_finish() */

void lone_begin(void);
/* Takes its memory from test_mem, and waits 300 ms for who does not let go.
 * `config` is plugins.config, YAML in flow style. */
void lone_open(const char *trust, const char *plugins, const char *config);
/* The same with `models`, and a secret `key`, which is 0123456789abcdef. */
void lone_open_models(const char *trust, const char *plugins,
                      const char *models);
void lone_close(void);
void lone_end(void);

/* The node but for `type: tool`, YAML in flow style. */
void lone_start(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The run to its end: its status. */
int lone_finish(void);
/* ... and a member of what `show` says then: a new reference, or NULL. */
json_t *lone_shown(const char *member);
/* ... which failed with that code, and these words in its message. */
void lone_failed(const char *code, const char *words);

#endif
