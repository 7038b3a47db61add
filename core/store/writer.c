/* writer.c -- the store thread: group commit.
 *
 * A sync takes as long for one commit as for fifty, so commits that arrive
 * during a sync wait and are written together.  Guarantees:
 *
 *   (1) Every commit that mortise_writer_submit() accepts is answered exactly
 *       once through `done`, in order, in any case.
 *   (2) One batch is in progress at any time, here or in
 *       mortise_writer_write_inline().  So the store has one writer.
 *   (3) After a failed write nothing is written until mortise_writer_reset().
 *       Queued commits are answered with that error, because they were built on
 *       commits that may not exist (R6b).
 *   (4) No wake-up is lost: every condition that a thread waits for changes
 *       under `lock` and is tested before the thread sleeps.
 *
 * `done` runs without the lock, so it may submit.  The queue is two arrays: one
 * fills while the other is written, in batches of bounded size.
 */
#include "core/store/writer.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "core/base/fault.h"
#include "core/base/thread.h"

enum {
    BATCH_COMMITS = 512,
    BATCH_BYTES = 4 * 1024 * 1024,
    COMMIT_OVERHEAD = 512 /* keys and fixed fields, roughly */
};

struct queue {
    struct mortise_commit **list;
    size_t n, cap;
};

struct mortise_writer {
    struct mortise_store *store;   /* borrowed, outlives the writer */
    const struct mortise_mem *mem; /* borrowed */
    mortise_writer_done_fn *done;
    void *ud;
    pthread_t thread;
    struct queue taken; /* owned by the store thread */

    /* Protects the members below. */
    pthread_mutex_t lock;
    pthread_cond_t work;  /* the store thread waits for it */
    pthread_cond_t quiet; /* mortise_writer_reset() waits for it */
    struct queue queue;
    bool busy; /* a batch is being written or answered */
    bool stopping;
    int failed; /* result of the failed write, or MORTISE_OK */
    struct mortise_err why;
};

/* ---- the store thread -------------------------------------------------- */

static size_t estimate_commit_size(const struct mortise_commit *c)
{
    size_t n = COMMIT_OVERHEAD + c->checkpoint.size;

    for (size_t i = 0; i < c->n_graph; i++)
        n += c->graph[i].size;
    for (size_t i = 0; i < c->n_opens; i++)
        n += c->opens[i].payload_size;
    for (size_t i = 0; i < c->n_kvs; i++)
        n += c->kvs[i].key_size + c->kvs[i].value_size;
    for (size_t i = 0; i < c->n_cached; i++)
        n += c->cached[i].value_size;
    for (size_t i = 0; i < c->n_spawns; i++)
        n += COMMIT_OVERHEAD + c->spawns[i]->now.result_size;
    n += c->end_result_size;
    return n;
}

/* The number of commits for the next batch, at least one. */
static size_t batch_size(struct mortise_commit *const *commits, size_t n)
{
    size_t bytes = 0, i;

    assert(n > 0);
    for (i = 0; i < n && i < BATCH_COMMITS; i++) {
        bytes += estimate_commit_size(commits[i]);
        if (i > 0 && bytes > BATCH_BYTES)
            break;
    }
    assert(i > 0 && i <= n); /* else the store thread would loop forever */
    return i;
}

/* Write, unless an earlier write failed (3); returns the result of either. */
static int write_unless_failed(struct mortise_writer *w,
                               struct mortise_commit *const *commits, size_t n,
                               struct mortise_err *err)
{
    int rv;

    assert(n > 0);
    pthread_mutex_lock(&w->lock);
    assert(w->busy); /* (2) */
    rv = w->failed;
    *err = w->why;
    pthread_mutex_unlock(&w->lock);
    if (rv != MORTISE_OK)
        return rv;
    *err = (struct mortise_err){0};
    rv = mortise_store_write(w->store, commits, n, err);
    if (rv != MORTISE_OK) {
        pthread_mutex_lock(&w->lock);
        /* there are no writes after a failure */
        assert(w->failed == MORTISE_OK);
        w->failed = rv;
        w->why = *err;
        pthread_mutex_unlock(&w->lock);
    }
    return rv;
}

/* Write and answer the taken commits, batch by batch. */
static void write_taken(struct mortise_writer *w)
{
    struct queue *q = &w->taken;
    struct mortise_err err;
    size_t at = 0, n;

    for (; at < q->n; at += n) {
        int rv;

        n = batch_size(q->list + at, q->n - at);
        rv = write_unless_failed(w, q->list + at, n, &err);
        FAULT_POINT("store: before done");
        w->done(w->ud, q->list + at, n, rv, rv != MORTISE_OK ? &err : NULL);
    }
    assert(at == q->n); /* (1) */
    q->n = 0;
}

/* With the lock held: wait for commits and take them all; false: stopping. */
static bool take_commits(struct mortise_writer *w)
{
    struct queue empty = w->taken;

    assert(empty.n == 0);
    while (w->busy || (w->queue.n == 0 && !w->stopping))
        pthread_cond_wait(&w->work, &w->lock);
    if (w->queue.n == 0)
        return false;
    w->taken = w->queue;
    w->queue = empty;
    w->busy = true;
    return true;
}

static void *store_thread(void *ud)
{
    struct mortise_writer *w = ud;

    mortise_thread_set_name("mortise-store");
    pthread_mutex_lock(&w->lock);
    while (take_commits(w)) {
        pthread_mutex_unlock(&w->lock);
        write_taken(w);
        pthread_mutex_lock(&w->lock);
        assert(w->busy && w->taken.n == 0);
        w->busy = false;
        pthread_cond_broadcast(&w->quiet);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* ---- the interface ------------------------------------------------------- */

static void free_writer(struct mortise_writer *w)
{
    assert(w->queue.n == 0 && w->taken.n == 0 && !w->busy); /* (1) */
    pthread_cond_destroy(&w->quiet);
    pthread_cond_destroy(&w->work);
    pthread_mutex_destroy(&w->lock);
    mortise_release(w->mem, w->queue.list,
                    w->queue.cap * sizeof *w->queue.list);
    mortise_release(w->mem, w->taken.list,
                    w->taken.cap * sizeof *w->taken.list);
    mortise_release(w->mem, w, sizeof *w);
}

int mortise_writer_start(struct mortise_writer **out, struct mortise_store *s,
                         const struct mortise_mem *mem,
                         mortise_writer_done_fn *done, void *ud,
                         struct mortise_err *err)
{
    struct mortise_writer *w = mortise_zalloc(mem, sizeof *w);
    int e;

    *out = NULL;
    if (w == NULL)
        return mortise_nomem(err);
    w->store = s;
    w->mem = mem;
    w->done = done;
    w->ud = ud;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    pthread_cond_init(&w->quiet, NULL);
    e = mortise_thread_start(&w->thread, store_thread, w);
    if (e != 0) {
        free_writer(w);
        return mortise_syserr(err, e, "start the store thread");
    }
    *out = w;
    return MORTISE_OK;
}

void mortise_writer_stop(struct mortise_writer *w)
{
    if (w == NULL)
        return;
    pthread_mutex_lock(&w->lock);
    assert(!w->stopping);
    w->stopping = true;
    pthread_cond_signal(&w->work);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    free_writer(w);
}

/* With the lock held: make room for n more commits. */
static bool reserve_queue(struct mortise_writer *w, size_t n)
{
    struct queue *q = &w->queue;
    size_t cap = q->cap != 0 ? q->cap : 64;
    void *grown;

    if (n <= q->cap - q->n)
        return true;
    while (cap - q->n < n)
        cap *= 2;
    grown = mortise_realloc(w->mem, q->list, q->cap * sizeof *q->list,
                            cap * sizeof *q->list);
    if (grown == NULL)
        return false;
    q->list = grown;
    q->cap = cap;
    return true;
}

int mortise_writer_submit(struct mortise_writer *w,
                          struct mortise_commit *const *commits, size_t n,
                          struct mortise_err *err)
{
    struct queue *q = &w->queue;
    bool taken;

    pthread_mutex_lock(&w->lock);
    assert(!w->stopping); /* no thread would answer */
    taken = reserve_queue(w, n);
    if (taken) {
        assert(q->n + n <= q->cap);
        memcpy(q->list + q->n, commits, n * sizeof *commits);
        q->n += n;
        pthread_cond_signal(&w->work);
    }
    pthread_mutex_unlock(&w->lock);
    return taken ? MORTISE_OK : mortise_nomem(err);
}

bool mortise_writer_write_inline(struct mortise_writer *w,
                                 struct mortise_commit *const *commits,
                                 size_t n, int *result, struct mortise_err *err)
{
    struct mortise_err why;
    bool ours;

    pthread_mutex_lock(&w->lock);
    ours = !w->busy && w->queue.n == 0;
    if (ours)
        w->busy = true;
    pthread_mutex_unlock(&w->lock);
    if (!ours)
        return false;

    *result = write_unless_failed(w, commits, n, &why);
    if (*result != MORTISE_OK && err != NULL)
        *err = why;
    pthread_mutex_lock(&w->lock);
    assert(w->busy);
    w->busy = false;
    pthread_cond_signal(&w->work); /* for commits submitted meanwhile */
    pthread_cond_broadcast(&w->quiet);
    pthread_mutex_unlock(&w->lock);
    return true;
}

void mortise_writer_reset(struct mortise_writer *w)
{
    pthread_mutex_lock(&w->lock);
    while (w->busy || w->queue.n != 0)
        pthread_cond_wait(&w->quiet, &w->lock);
    assert(w->taken.n ==
           0); /* all commits built on the failed one are answered */
    w->failed = MORTISE_OK;
    pthread_mutex_unlock(&w->lock);
}
