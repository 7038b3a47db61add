/* task_queue.h -- task lists, and the mailbox through which threads hand tasks
 * to the loop.
 *
 * A task is a member of the struct that it works on, so queueing it cannot
 * fail.  Other threads put tasks into the mailbox; the loop takes all of them
 * at once.
 */
#ifndef MORTISE_ENGINE_PARTS_TASK_QUEUE_H
#define MORTISE_ENGINE_PARTS_TASK_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct mortise_task {
    struct mortise_task *next;
    /* [loop], or [worker] if pool.h runs it; may free the task */
    void (*run)(struct mortise_task *t);
};

struct mortise_tasks { /* first in, first out */
    struct mortise_task *first, *last;
};

void mortise_tasks_put(struct mortise_tasks *q, struct mortise_task *t);
struct mortise_task *mortise_tasks_take(struct mortise_tasks *q);
/* Remove it from any position; false: it is not in the list. */
bool mortise_tasks_remove(struct mortise_tasks *q, struct mortise_task *t);

struct mortise_task_queue {
    pthread_mutex_t lock; /* guards the members below */
    struct mortise_tasks urgent, others;
    void (*wake)(void *ud); /* called without the lock when a task is put into
                               an empty queue */
    void *ud;
};

int mortise_task_queue_init(struct mortise_task_queue *m,
                            void (*wake)(void *ud), void *ud);
void mortise_task_queue_finish(struct mortise_task_queue *m);
/* [any].  `urgent`: landed commits, which make room for more. */
void mortise_task_queue_put_all(struct mortise_task_queue *m,
                                struct mortise_tasks *tasks, bool urgent);
void mortise_task_queue_put(struct mortise_task_queue *m,
                            struct mortise_task *t, bool urgent);
/* [loop] */
void mortise_task_queue_take(struct mortise_task_queue *m,
                             struct mortise_tasks *urgent,
                             struct mortise_tasks *others);

#endif
