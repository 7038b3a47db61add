/* pool.c -- the workers.
 *
 * Threads start one by one, as long as jobs find nobody idle: a process that
 * never runs a blocking plugin has none.  The promises:
 *
 *   (1) A job that was put runs exactly once, unless it was taken back.
 *   (2) A thread that hangs in a plugin delays nobody else: it is given up, and
 *       its place is free.  It holds a reference of the pool, so whenever it
 *       comes back, what it touches is still there; then it ends.
 *   (3) close() returns when no job runs but given up ones.
 *   (4) Where jobs take turns there is one thread, so they end in the order in
 *       which they were put.
 *   (5) Else a job that waits for an answer of ours, for which another job may
 *       have to run, has no place: so many threads as there are places work,
 *       however many wait.  Those that are too many when they have their answer
 *       end with their job.
 *   (6) A job that changes the working directory or the umask changes it for
 *       itself: a thread has both of its own (CLONE_FS), and puts back behind
 *       each job what they were.  Where the system forbids that, as some
 *       containers do, they stay those of the process.
 */
#include "core/engine/parts/pool.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/thread.h"

struct worker {
    struct mortise_pool *pool;
    /* Under the pool's lock: */
    struct worker *next;            /* of those that were not given up */
    const struct mortise_task *job; /* under way; only compared */
    bool waits;                     /* the job does (5) */
    bool given_up;
};

struct mortise_pool {
    const struct mortise_mem *mem;
    int cwd; /* where the process was when the pool was made */

    pthread_mutex_t lock;      /* guards what follows */
    pthread_cond_t work;       /* a job came, or `closing` */
    pthread_cond_t ended;      /* a thread ended */
    struct mortise_tasks jobs; /* waiting */
    size_t n_jobs;
    struct worker *workers;
    unsigned threads, idle; /* without the given up ones */
    unsigned waiting;       /* of these, in a job that waits */
    unsigned most;          /* threads that work */
    unsigned refs;          /* all threads, and the owner */
    bool closing;
};

static void pool_free(struct mortise_pool *p)
{
    pthread_cond_destroy(&p->ended);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    if (p->cwd >= 0)
        close(p->cwd);
    mortise_release(p->mem, p, sizeof *p);
}

/* Give up a reference; called with the lock, returns without. */
static void unref(struct mortise_pool *p)
{
    bool last = --p->refs == 0;

    pthread_mutex_unlock(&p->lock);
    if (last)
        pool_free(p);
}

/* The next job, or NULL when there will be none.  Called with the lock. */
static struct mortise_task *next_job(struct worker *w)
{
    struct mortise_pool *p = w->pool;
    struct mortise_task *j;

    p->idle++;
    while (p->jobs.first == NULL && !p->closing)
        pthread_cond_wait(&p->work, &p->lock);
    p->idle--;
    j = mortise_tasks_take(&p->jobs);
    if (j == NULL)
        return NULL;
    p->n_jobs--;
    w->job = j;
    return j;
}

/* Called with the lock. */
static void set_waits(struct worker *w, bool waits)
{
    if (w->waits == waits)
        return;
    w->waits = waits;
    if (waits)
        w->pool->waiting++;
    else
        w->pool->waiting--;
}

/* The pool counts on this thread no more.  Called with the lock. */
static void leave(struct worker *w)
{
    struct worker **at = &w->pool->workers;

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    w->pool->threads--;
    set_waits(w, false);
}

/* More threads work than there are places (5).  Called with the lock. */
static bool is_crowded(const struct mortise_pool *p)
{
    return p->threads - p->waiting > p->most;
}

/* (6): *mask is this thread's from now on.  False: it is the process's. */
static bool go_apart(mode_t *mask)
{
    if (unshare(CLONE_FS) != 0)
        return false;
    *mask = umask(077);
    umask(*mask);
    return true;
}

static void put_back(const struct mortise_pool *p, mode_t mask)
{
    umask(mask);
    if (p->cwd >= 0 && fchdir(p->cwd) != 0)
        return; /* it may be entered no more: so no relative path leads there */
}

static void *work(void *arg)
{
    struct worker *w = arg;
    struct mortise_pool *p = w->pool;
    struct mortise_task *j;
    mode_t mask = 0;
    bool apart = go_apart(&mask);

    mortise_thread_name("mortise-worker");
    pthread_mutex_lock(&p->lock);
    while (!w->given_up && !is_crowded(p) && (j = next_job(w)) != NULL) {
        pthread_mutex_unlock(&p->lock);
        j->run(j);
        if (apart)
            put_back(p, mask);
        pthread_mutex_lock(&p->lock);
        w->job = NULL;
        if (!w->given_up)
            set_waits(w, false);
    }
    if (!w->given_up)
        leave(w);
    pthread_cond_signal(&p->ended);
    mortise_release(p->mem, w, sizeof *w);
    unref(p);
    return NULL;
}

/* Called with the lock. */
static int start_thread(struct mortise_pool *p, struct mortise_err *err)
{
    struct worker *w = mortise_alloc(p->mem, sizeof *w);
    pthread_t thread;
    int rv;

    if (w == NULL)
        return mortise_nomem(err);
    *w = (struct worker){.pool = p, .next = p->workers};
    rv = mortise_thread_start(&thread, work, w);
    if (rv != 0) {
        mortise_release(p->mem, w, sizeof *w);
        return mortise_syserr(err, rv, "start a worker");
    }
    pthread_detach(thread);
    p->workers = w;
    p->threads++;
    p->refs++;
    return MORTISE_OK;
}

/* For one more.  Called with the lock. */
static bool has_place(const struct mortise_pool *p)
{
    return p->threads < p->most ||
           (p->most > 1 && p->threads - p->waiting < p->most); /* (4) */
}

int mortise_pool_open(struct mortise_pool **out, const struct mortise_mem *mem,
                      struct mortise_err *err)
{
    struct mortise_pool *p = mortise_alloc(mem, sizeof *p);

    *out = NULL;
    if (p == NULL)
        return mortise_nomem(err);
    *p = (struct mortise_pool){.mem = mem,
                               .cwd =
                                   open(".", O_PATH | O_DIRECTORY | O_CLOEXEC),
                               .refs = 1,
                               .most = MORTISE_POOL_THREADS};
    pthread_mutex_init(&p->lock, NULL); /* on Linux these cannot fail */
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->ended, NULL);
    *out = p;
    return MORTISE_OK;
}

void mortise_pool_take_turns(struct mortise_pool *p)
{
    pthread_mutex_lock(&p->lock);
    assert(p->threads == 0); /* those that there are would go on */
    p->most = 1;
    pthread_mutex_unlock(&p->lock);
}

void mortise_pool_close(struct mortise_pool *p)
{
    if (p == NULL)
        return;
    pthread_mutex_lock(&p->lock);
    p->closing = true;
    pthread_cond_broadcast(&p->work);
    while (p->threads > 0)
        pthread_cond_wait(&p->ended, &p->lock);
    unref(p);
}

int mortise_pool_put(struct mortise_pool *p, struct mortise_task *j,
                     struct mortise_err *err)
{
    int rv = MORTISE_OK;

    pthread_mutex_lock(&p->lock);
    if (has_place(p) && p->n_jobs >= p->idle)
        rv = start_thread(p, err);
    if (p->threads == 0) {
        pthread_mutex_unlock(&p->lock);
        return rv;
    }
    mortise_tasks_put(&p->jobs, j);
    p->n_jobs++;
    pthread_cond_signal(&p->work);
    pthread_mutex_unlock(&p->lock);
    return MORTISE_OK; /* with fewer threads than wished, if need be */
}

bool mortise_pool_take_back(struct mortise_pool *p, struct mortise_task *j)
{
    bool waited;

    pthread_mutex_lock(&p->lock);
    waited = mortise_tasks_remove(&p->jobs, j);
    p->n_jobs -= waited;
    pthread_mutex_unlock(&p->lock);
    return waited;
}

/* Who is at it, or NULL.  Called with the lock. */
static struct worker *find(const struct mortise_pool *p,
                           const struct mortise_task *j)
{
    struct worker *w = p->workers;

    while (w != NULL && w->job != j)
        w = w->next;
    return w;
}

void mortise_pool_waits(struct mortise_pool *p, const struct mortise_task *j,
                        bool waits)
{
    struct worker *w;

    pthread_mutex_lock(&p->lock);
    w = find(p, j);
    if (w != NULL)
        set_waits(w, waits);
    if (p->n_jobs > p->idle && has_place(p))
        (void)start_thread(p, NULL);
    pthread_mutex_unlock(&p->lock);
}

void mortise_pool_give_up(struct mortise_pool *p, struct mortise_task *j)
{
    struct worker *w;

    pthread_mutex_lock(&p->lock);
    w = find(p, j);
    if (w != NULL) {
        w->given_up = true;
        leave(w);
    }
    /* Whoever waits gets a new thread now, if one can be had. */
    if (w != NULL && p->n_jobs > p->idle)
        (void)start_thread(p, NULL);
    pthread_mutex_unlock(&p->lock);
}
