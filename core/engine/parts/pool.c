/* pool.c -- worker threads for jobs that may block.
 *
 * A thread starts when a job finds no idle thread, so a process that never runs
 * a blocking plugin has none.  The promises:
 *
 *   (1) A job that was put runs exactly once, unless it was taken back.
 *   (2) A thread that hangs in a plugin delays no other job: the pool abandons
 *       it and reuses its slot.  The thread holds a reference to the pool, so
 *       the memory that it touches when it returns is still valid; then it
 *       exits.
 *   (3) close() returns when no job runs except abandoned ones.
 *   (4) If jobs take turns, there is one thread, so they end in the order in
 *       which they were put.
 *   (5) Otherwise a job that waits for the loop holds no slot, because another
 *       job may have to run before the loop can answer.  MORTISE_POOL_THREADS
 *       threads work, however many wait.  Threads in excess exit with their
 *       job.
 *   (6) If a job changes the working directory or the umask, no other thread
 *       sees it: each thread has its own (CLONE_FS) and restores both after
 *       each job.  Some containers forbid that; then the process's are shared.
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
    struct worker *next;            /* among those that were not abandoned */
    const struct mortise_task *job; /* running; only compared */
    bool waits;                     /* the job waits for the loop (5) */
    bool given_up;
};

struct mortise_pool {
    const struct mortise_mem *mem;
    int cwd; /* working directory of the process when the pool was opened */

    pthread_mutex_t lock;      /* guards the members below */
    pthread_cond_t work;       /* a job came, or `closing` */
    pthread_cond_t ended;      /* a thread ended */
    struct mortise_tasks jobs; /* waiting */
    size_t n_jobs;
    struct worker *workers;
    unsigned threads, idle; /* without abandoned threads */
    unsigned waiting;       /* threads in a job that waits for the loop */
    unsigned most;          /* limit of working threads */
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

/* Release a reference; called with the lock, returns without it. */
static void unref_pool(struct mortise_pool *p)
{
    bool last = --p->refs == 0;

    pthread_mutex_unlock(&p->lock);
    if (last)
        pool_free(p);
}

/* The next job, or NULL when the pool closes.  Called with the lock. */
static struct mortise_task *wait_for_job(struct worker *w)
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

/* Remove the thread from the pool's list and counts.  Called with the lock. */
static void remove_worker(struct worker *w)
{
    struct worker **at = &w->pool->workers;

    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    w->pool->threads--;
    set_waits(w, false);
}

/* Do more threads work than there are slots (5)?  Called with the lock. */
static bool has_excess_threads(const struct mortise_pool *p)
{
    return p->threads - p->waiting > p->most;
}

/* Give this thread its own working directory and umask (6).  False: it shares
 * those of the process. */
static bool unshare_thread_dirs(mode_t *mask)
{
    if (unshare(CLONE_FS) != 0)
        return false;
    *mask = umask(077);
    umask(*mask);
    return true;
}

static void restore_thread_dirs(const struct mortise_pool *p, mode_t mask)
{
    umask(mask);
    if (p->cwd >= 0 && fchdir(p->cwd) != 0)
        return; /* the directory is no longer accessible, so no relative path
                   leads there */
}

static void *run_worker(void *arg)
{
    struct worker *w = arg;
    struct mortise_pool *p = w->pool;
    struct mortise_task *j;
    mode_t mask = 0;
    bool apart = unshare_thread_dirs(&mask);

    mortise_thread_set_name("mortise-worker");
    pthread_mutex_lock(&p->lock);
    while (!w->given_up && !has_excess_threads(p) &&
           (j = wait_for_job(w)) != NULL) {
        pthread_mutex_unlock(&p->lock);
        j->run(j);
        if (apart)
            restore_thread_dirs(p, mask);
        pthread_mutex_lock(&p->lock);
        w->job = NULL;
        if (!w->given_up)
            set_waits(w, false);
    }
    if (!w->given_up)
        remove_worker(w);
    pthread_cond_signal(&p->ended);
    mortise_release(p->mem, w, sizeof *w);
    unref_pool(p);
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
    rv = mortise_thread_start(&thread, run_worker, w);
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

/* May another thread start?  Called with the lock. */
static bool may_start_thread(const struct mortise_pool *p)
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

void mortise_pool_set_sequential(struct mortise_pool *p)
{
    pthread_mutex_lock(&p->lock);
    assert(p->threads == 0); /* running threads would run jobs in parallel */
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
    unref_pool(p);
}

int mortise_pool_put(struct mortise_pool *p, struct mortise_task *j,
                     struct mortise_err *err)
{
    int rv = MORTISE_OK;

    pthread_mutex_lock(&p->lock);
    if (may_start_thread(p) && p->n_jobs >= p->idle)
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

bool mortise_pool_withdraw(struct mortise_pool *p, struct mortise_task *j)
{
    bool waited;

    pthread_mutex_lock(&p->lock);
    waited = mortise_tasks_remove(&p->jobs, j);
    p->n_jobs -= waited;
    pthread_mutex_unlock(&p->lock);
    return waited;
}

/* The worker that runs the job, or NULL.  Called with the lock. */
static struct worker *find_worker(const struct mortise_pool *p,
                                  const struct mortise_task *j)
{
    struct worker *w = p->workers;

    while (w != NULL && w->job != j)
        w = w->next;
    return w;
}

void mortise_pool_set_waiting(struct mortise_pool *p,
                              const struct mortise_task *j, bool waits)
{
    struct worker *w;

    pthread_mutex_lock(&p->lock);
    w = find_worker(p, j);
    if (w != NULL)
        set_waits(w, waits);
    if (p->n_jobs > p->idle && may_start_thread(p))
        (void)start_thread(p, NULL);
    pthread_mutex_unlock(&p->lock);
}

void mortise_pool_abandon(struct mortise_pool *p, struct mortise_task *j)
{
    struct worker *w;

    pthread_mutex_lock(&p->lock);
    w = find_worker(p, j);
    if (w != NULL) {
        w->given_up = true;
        remove_worker(w);
    }
    /* Jobs that wait get a new thread now, if one can be started. */
    if (w != NULL && p->n_jobs > p->idle)
        (void)start_thread(p, NULL);
    pthread_mutex_unlock(&p->lock);
}
