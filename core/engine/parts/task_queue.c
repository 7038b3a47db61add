/* task_queue.c -- task lists and the loop's mailbox.
 *
 * One mutex and two lists: an uncontended lock costs less than the wakeup after
 * it.  A wakeup is sent only when the mailbox was empty.
 */
#include "core/engine/parts/task_queue.h"

#include "core/base/err.h"

void mortise_tasks_put(struct mortise_tasks *q, struct mortise_task *t)
{
    t->next = NULL;
    if (q->first == NULL)
        q->first = t;
    else
        q->last->next = t;
    q->last = t;
}

struct mortise_task *mortise_tasks_take(struct mortise_tasks *q)
{
    struct mortise_task *t = q->first;

    if (t != NULL)
        q->first = t->next;
    return t;
}

bool mortise_tasks_remove(struct mortise_tasks *q, struct mortise_task *t)
{
    struct mortise_task **at, *before = NULL;

    for (at = &q->first; *at != NULL && *at != t; at = &(*at)->next)
        before = *at;
    if (*at == NULL)
        return false;
    *at = t->next;
    if (q->last == t)
        q->last = before;
    return true;
}

/* Append all of `from` to `to` and empty `from`. */
static void move_all_tasks(struct mortise_tasks *to, struct mortise_tasks *from)
{
    if (from->first == NULL)
        return;
    if (to->first == NULL)
        to->first = from->first;
    else
        to->last->next = from->first;
    to->last = from->last;
    *from = (struct mortise_tasks){NULL, NULL};
}

int mortise_task_queue_init(struct mortise_task_queue *m,
                            void (*wake)(void *ud), void *ud)
{
    *m = (struct mortise_task_queue){.wake = wake, .ud = ud};
    return pthread_mutex_init(&m->lock, NULL) == 0 ? MORTISE_OK
                                                   : MORTISE_ENOMEM;
}

void mortise_task_queue_finish(struct mortise_task_queue *m)
{
    pthread_mutex_destroy(&m->lock);
}

void mortise_task_queue_put_all(struct mortise_task_queue *m,
                                struct mortise_tasks *tasks, bool urgent)
{
    bool was_empty;

    pthread_mutex_lock(&m->lock);
    was_empty = m->urgent.first == NULL && m->others.first == NULL;
    move_all_tasks(urgent ? &m->urgent : &m->others, tasks);
    pthread_mutex_unlock(&m->lock);
    if (was_empty)
        m->wake(m->ud);
}

void mortise_task_queue_put(struct mortise_task_queue *m,
                            struct mortise_task *t, bool urgent)
{
    struct mortise_tasks one = {t, t};

    t->next = NULL;
    mortise_task_queue_put_all(m, &one, urgent);
}

void mortise_task_queue_take(struct mortise_task_queue *m,
                             struct mortise_tasks *urgent,
                             struct mortise_tasks *others)
{
    pthread_mutex_lock(&m->lock);
    move_all_tasks(urgent, &m->urgent);
    move_all_tasks(others, &m->others);
    pthread_mutex_unlock(&m->lock);
}
