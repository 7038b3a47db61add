/* pool.h -- worker threads for jobs that may block.
 *
 * Jobs are tasks.  Workers start them in the order in which they were put.  A
 * job that never returns blocks its thread: mortise_pool_abandon() abandons
 * both and starts a new thread in its place.
 */
#ifndef MORTISE_ENGINE_PARTS_POOL_H
#define MORTISE_ENGINE_PARTS_POOL_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/engine/parts/task_queue.h"

struct mortise_pool;

/* Jobs that run at once; jobs that wait for the loop are not counted. */
enum { MORTISE_POOL_THREADS = 4 };

/* The threads start with the first job. */
int mortise_pool_open(struct mortise_pool **out, const struct mortise_mem *mem,
                      struct mortise_err *err);
/* Run one job at a time from now on, so that jobs end in the order in which
 * they were put.  Call it before the first job.  [loop] */
void mortise_pool_set_sequential(struct mortise_pool *p);
/* Wait for running jobs, except abandoned ones.  NULL is fine. */
void mortise_pool_close(struct mortise_pool *p);

/* MORTISE_ENOMEM or MORTISE_EIO if no thread can be started.  [loop] */
int mortise_pool_put(struct mortise_pool *p, struct mortise_task *j,
                     struct mortise_err *err);
/* True if the job had not started; it will never run then.  [loop] */
bool mortise_pool_withdraw(struct mortise_pool *p, struct mortise_task *j);
/* Tell the pool that a running job begins (`waits`) or stops waiting for an
 * answer of the loop.  Another job may run in its place meanwhile.  [loop] */
void mortise_pool_set_waiting(struct mortise_pool *p,
                              const struct mortise_task *j, bool waits);
/* Abandon a running job that does not seem to return.  If it does return later,
 * its thread exits.  [loop] */
void mortise_pool_abandon(struct mortise_pool *p, struct mortise_task *j);

#endif
