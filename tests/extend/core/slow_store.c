/* slow_store.c -- a maker of stores, of docs/extending.md: one that has LevelDB
 * do everything, and answers each read late, as a store behind a network does.
 *
 * It takes every address while the environment has MORTISE_SLOW_STORE, which
 * says how many milliseconds late: a thread sleeps so long over what was asked
 * for until then, so an answer takes that long at least and twice that at most.
 * What is read is what stands in the store when the answer is given.
 *
 * With MORTISE_SLOW_STORE_LOSES=noted the readings of the clock (R6d) do not
 * come back, as where a network fails: MORTISE_EIO.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/thread.h"
#include "core/store/store.h"

extern const struct mortise_store_maker mortise_store_leveldb;

struct reads {
    struct mortise_read *first, **end;
};

struct slow {
    struct mortise_store store; /* first */
    struct mortise_store *inner;
    const struct mortise_mem *mem;
    struct timespec delay;
    pthread_t thread;
    size_t n_out; /* [loop] */

    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t moved; /* something was asked for, or is ready */
    struct reads asked, ready;
    bool stopping;
};

static struct slow *slow_of(struct mortise_store *s)
{
    return (struct slow *)s;
}

static void put(struct reads *q, struct mortise_read *r)
{
    r->next = NULL;
    *q->end = r;
    q->end = &r->next;
}

/* All of them. */
static struct mortise_read *take(struct reads *q)
{
    struct mortise_read *all = q->first;

    *q = (struct reads){NULL, &q->first};
    return all;
}

/* True when it was there. */
static bool take_one(struct reads *q, struct mortise_read *r)
{
    struct mortise_read **at = &q->first;

    while (*at != NULL && *at != r)
        at = &(*at)->next;
    if (*at == NULL)
        return false;
    *at = r->next;
    if (r->next == NULL)
        q->end = at;
    return true;
}

static void *sleeps(void *ud)
{
    struct slow *s = ud;
    struct mortise_read *r, *next;

    pthread_mutex_lock(&s->lock);
    while (!s->stopping) {
        if (s->asked.first == NULL) {
            pthread_cond_wait(&s->moved, &s->lock);
            continue;
        }
        r = take(&s->asked);
        pthread_mutex_unlock(&s->lock);
        nanosleep(&s->delay, NULL);
        pthread_mutex_lock(&s->lock);
        for (; r != NULL; r = next) {
            next = r->next;
            put(&s->ready, r);
        }
        pthread_cond_broadcast(&s->moved);
        if (s->store.wake != NULL)
            s->store.wake(s->store.wake_ud);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- reading -------------------------------------------------------------- */

static void ask(struct mortise_store *store, struct mortise_read *r)
{
    struct slow *s = slow_of(store);

    s->n_out++;
    pthread_mutex_lock(&s->lock);
    put(&s->asked, r);
    pthread_cond_broadcast(&s->moved);
    pthread_mutex_unlock(&s->lock);
}

static void answer(struct slow *s, struct mortise_read *r)
{
    const char *loses = getenv("MORTISE_SLOW_STORE_LOSES");
    struct mortise_err err;

    s->n_out--;
    if (loses != NULL && strcmp(loses, "noted") == 0 &&
        r->kind == MORTISE_READ_OVERDUE_TIME)
        r->done(r, mortise_fail(&err, MORTISE_EIO, "the answer was lost"),
                &err);
    else
        s->inner->ops->read(s->inner, r);
}

static bool is_reading(const struct mortise_store *store)
{
    return ((const struct slow *)store)->n_out > 0;
}

static void deliver(struct mortise_store *store)
{
    struct slow *s = slow_of(store);
    struct mortise_read *r, *next;

    pthread_mutex_lock(&s->lock);
    r = take(&s->ready);
    pthread_mutex_unlock(&s->lock);
    for (; r != NULL; r = next) {
        next = r->next;
        answer(s, r);
    }
}

static void wait_for(struct mortise_store *store, struct mortise_read *r)
{
    struct slow *s = slow_of(store);

    pthread_mutex_lock(&s->lock);
    while (!take_one(&s->ready, r))
        pthread_cond_wait(&s->moved, &s->lock);
    pthread_mutex_unlock(&s->lock);
    answer(s, r);
}

/* ---- everything else ------------------------------------------------------ */

static void take_after(struct slow *s)
{
    const struct mortise_store *inner = s->inner;

    s->store.dir = inner->dir;
    s->store.closed_off_mode = inner->closed_off_mode;
    s->store.epoch = inner->epoch;
    memcpy(s->store.identity, inner->identity, sizeof inner->identity);
}

static bool is_ours(const struct mortise_store *store)
{
    const struct slow *s = (const struct slow *)store;

    return s->inner->ops->is_ours(s->inner);
}

static void close_slow(struct mortise_store *store)
{
    struct slow *s = slow_of(store);

    if (!is_ours(store)) /* the thread is the parent's */
        return;
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_broadcast(&s->moved);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->thread, NULL);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->moved);
    s->inner->ops->close(s->inner);
    mortise_release(s->mem, s, sizeof *s);
}

static int reopen(struct mortise_store *store, struct mortise_err *err)
{
    struct slow *s = slow_of(store);
    int rv = s->inner->ops->reopen(s->inner, err);

    take_after(s);
    return rv;
}

static bool wrote(struct mortise_store *store)
{
    struct mortise_store *in = slow_of(store)->inner;

    return in->ops->wrote(in);
}

static bool lacks(struct mortise_store *store, struct mortise_err *why)
{
    struct mortise_store *in = slow_of(store)->inner;

    return in->ops->lacks(in, why);
}

static int write_all(struct mortise_store *store,
                     struct mortise_commit *const *commits, size_t n,
                     struct mortise_err *err)
{
    struct mortise_store *in = slow_of(store)->inner;

    return in->ops->write(in, commits, n, err);
}

static void set_cache_limit(struct mortise_store *store, uint64_t bytes)
{
    struct mortise_store *in = slow_of(store)->inner;

    in->ops->set_cache_limit(in, bytes);
}

static int remove_all(struct mortise_store *store, struct mortise_removal *list,
                      size_t n, uint64_t now_ms, struct mortise_err *err)
{
    struct mortise_store *in = slow_of(store)->inner;

    return in->ops->remove(in, list, n, now_ms, err);
}

static int remove_rest(struct mortise_store *store, bool *more,
                       struct mortise_err *err)
{
    struct mortise_store *in = slow_of(store)->inner;

    return in->ops->remove_rest(in, more, err);
}

static int note(struct mortise_store *store, uint64_t ms,
                struct mortise_err *err)
{
    struct mortise_store *in = slow_of(store)->inner;

    return in->ops->note(in, ms, err);
}

static void start_graph_sweep(struct mortise_store *store)
{
    struct mortise_store *in = slow_of(store)->inner;

    in->ops->start_graph_sweep(in);
}

static void keep_graphs(struct mortise_store *store,
                        const uint8_t (*digests)[MORTISE_DIGEST], size_t n)
{
    struct mortise_store *in = slow_of(store)->inner;

    in->ops->keep_graphs(in, digests, n);
}

static int sweep(struct mortise_store *store, bool *more,
                 struct mortise_err *err)
{
    struct mortise_store *in = slow_of(store)->inner;

    return in->ops->sweep(in, more, err);
}

static int get_mark(struct mortise_store *store, const char *name,
                    uint64_t *value, struct mortise_err *err)
{
    struct mortise_store *in = slow_of(store)->inner;

    return in->ops->get_mark(in, name, value, err);
}

static int put_mark(struct mortise_store *store, const char *name,
                    uint64_t value, bool may_fall, struct mortise_err *err)
{
    struct mortise_store *in = slow_of(store)->inner;

    return in->ops->put_mark(in, name, value, may_fall, err);
}

static const struct mortise_store_ops ops = {
    .close = close_slow,
    .reopen = reopen,
    .is_ours = is_ours,
    .wrote = wrote,
    .lacks = lacks,
    .read = ask,
    .is_reading = is_reading,
    .deliver = deliver,
    .wait = wait_for,
    .write = write_all,
    .set_cache_limit = set_cache_limit,
    .remove = remove_all,
    .remove_rest = remove_rest,
    .note = note,
    .start_graph_sweep = start_graph_sweep,
    .keep_graphs = keep_graphs,
    .sweep = sweep,
    .get_mark = get_mark,
    .put_mark = put_mark,
};

/* ---- the maker ------------------------------------------------------------ */

/* In front of a store that was just opened, which is closed on an error. */
static int put_before(struct mortise_store **store,
                      const struct mortise_mem *mem, struct mortise_err *err)
{
    long ms = strtol(getenv("MORTISE_SLOW_STORE"), NULL, 10);
    struct slow *s = mortise_zalloc(mem, sizeof *s);
    int rv = s != NULL ? MORTISE_OK : mortise_nomem(err);

    if (rv == MORTISE_OK) {
        s->store.ops = &ops;
        s->mem = mem;
        s->inner = *store;
        s->delay.tv_sec = ms / 1000;
        s->delay.tv_nsec = ms % 1000 * 1000000;
        take(&s->asked);
        take(&s->ready);
        take_after(s);
        pthread_mutex_init(&s->lock, NULL);
        pthread_cond_init(&s->moved, NULL);
        if (mortise_thread_start(&s->thread, sleeps, s) != 0)
            rv = mortise_fail(err, MORTISE_EIO, "no thread");
    }
    if (rv == MORTISE_OK) {
        *store = &s->store;
        return rv;
    }
    (*store)->ops->close(*store);
    *store = NULL;
    mortise_release(mem, s, sizeof *s);
    return rv;
}

static bool takes(const char *path)
{
    (void)path;
    return getenv("MORTISE_SLOW_STORE") != NULL;
}

static bool is_there(const char *path)
{
    return mortise_store_leveldb.is_there(path);
}

static int open_slow(struct mortise_store **out, const char *path,
                     const struct mortise_mem *mem, struct mortise_err *err)
{
    int rv = mortise_store_leveldb.open(out, path, mem, err);

    return rv == MORTISE_OK ? put_before(out, mem, err) : rv;
}

static int open_view(struct mortise_store **out, const char *path,
                     const struct mortise_mem *mem, struct mortise_err *err)
{
    int rv = mortise_store_leveldb.open_view(out, path, mem, err);

    return rv == MORTISE_OK ? put_before(out, mem, err) : rv;
}

const struct mortise_store_maker mortise_store_slow = {
    .takes = takes,
    .is_there = is_there,
    .open = open_slow,
    .open_view = open_view,
};
