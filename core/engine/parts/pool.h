/* pool.h -- the workers: threads that run what may block.
 *
 * Jobs are tasks that run there, in the order they were handed in.  A job that
 * never returns takes its thread with it: mortise_pool_give_up() lets go of
 * both and starts a new thread in its place. */
#ifndef MORTISE_ENGINE_PARTS_POOL_H
#define MORTISE_ENGINE_PARTS_POOL_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/engine/parts/task_queue.h"

struct mortise_pool;

/* Of jobs at work; those that wait are not counted. */
enum { MORTISE_POOL_THREADS = 4 };

/* Threads start with the first job. */
int mortise_pool_open(struct mortise_pool **out, const struct mortise_mem *mem,
                      struct mortise_err *err);
/* From now on jobs run one at a time, so that they end in the order in which
 * they were handed in.  Before the first one.  [loop] */
void mortise_pool_take_turns(struct mortise_pool *p);
/* Waits for jobs under way, not for given up ones.  NULL is fine. */
void mortise_pool_close(struct mortise_pool *p);

/* MORTISE_ENOMEM or MORTISE_EIO when not one thread can be had.  [loop] */
int mortise_pool_put(struct mortise_pool *p, struct mortise_task *j,
                     struct mortise_err *err);
/* True when the job had not begun, and now never will.  [loop] */
bool mortise_pool_take_back(struct mortise_pool *p, struct mortise_task *j);
/* The job, if it is under way, waits for an answer of the loop's from now on, or
 * has it: meanwhile another one may run in its place.  [loop] */
void mortise_pool_waits(struct mortise_pool *p, const struct mortise_task *j,
                        bool waits);
/* The job, if it is under way, will not return as far as one can tell.  When it
 * does after all, its thread ends.  [loop] */
void mortise_pool_give_up(struct mortise_pool *p, struct mortise_task *j);

#endif
