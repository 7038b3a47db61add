/* bench_wait.c -- calls that wait, any number of them on one thread.
 *
 *   wait {ms}   pure: 20 bytes of output, that much later; without `ms`, as
 *               much later as the config's `ms` says
 *   gate {n}    pure: 20 bytes of output, when n of them wait
 *
 * As a plugin that waits for a server would be: nothing blocks the engine, and
 * no call has a thread of its own. */
#include <mortise/ask.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct waiting {
    struct waiting *next;
    mortise_call call;
    uint64_t until_ns;
};

struct queue {
    struct waiting *first, *last; /* the soonest, the latest */
};

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
    int64_t ms;
    pthread_t thread;
    /* Guards what follows. */
    pthread_mutex_t lock;
    pthread_cond_t news;
    struct queue clock, gate; /* who waits for which */
    int64_t at_gate;
    int stopping;
};

/* ---- queues; with the lock held --------------------------------------------
 */

/* Behind `before`, or first where that is NULL. */
static void insert(struct queue *q, struct waiting *before, struct waiting *w)
{
    struct waiting **at = before != NULL ? &before->next : &q->first;

    w->next = *at;
    *at = w;
    if (w->next == NULL)
        q->last = w;
}

/* Most wait equally long, so that their place is the end. */
static void enqueue(struct queue *q, struct waiting *w)
{
    struct waiting *before = NULL, *at = q->first;

    if (q->last != NULL && q->last->until_ns <= w->until_ns) {
        insert(q, q->last, w);
        return;
    }
    for (; at != NULL && at->until_ns <= w->until_ns; at = at->next)
        before = at;
    insert(q, before, w);
}

/* The one of that call, or NULL. */
static struct waiting *dequeue(struct queue *q, mortise_call call)
{
    struct waiting *before = NULL, *w = q->first;

    for (; w != NULL && w->call != call; w = w->next)
        before = w;
    if (w == NULL)
        return NULL;
    *(before != NULL ? &before->next : &q->first) = w->next;
    if (q->last == w)
        q->last = before;
    return w;
}

/* ---- the thread -----------------------------------------------------------
 */

static void finish(struct mortise_inst *i, struct waiting *w,
                   mortise_status status)
{
    if (status == MORTISE_S_OK)
        status = mortise_emit_output(i->host, i->api, w->call,
                                     mortise_strz("\"abcdefghijklmnopqr\""));
    i->api->finish(i->host, w->call, status, mortise_str_empty(),
                   mortise_str_empty());
    free(w);
}

/* With the lock held: until the soonest is due, or something else happens. */
static void doze(struct mortise_inst *i)
{
    struct timespec t;

    if (i->clock.first == NULL) {
        pthread_cond_wait(&i->news, &i->lock);
        return;
    }
    t.tv_sec = (time_t)(i->clock.first->until_ns / 1000000000);
    t.tv_nsec = (long)(i->clock.first->until_ns % 1000000000);
    pthread_cond_timedwait(&i->news, &i->lock, &t);
}

static void *serve(void *ud)
{
    struct mortise_inst *i = ud;

    pthread_mutex_lock(&i->lock);
    while (!i->stopping || i->clock.first != NULL) {
        struct waiting *w = i->clock.first;

        if (w == NULL || w->until_ns > i->api->now_ns(i->host)) {
            doze(i);
            continue;
        }
        dequeue(&i->clock, w->call);
        pthread_mutex_unlock(&i->lock);
        finish(i, w, MORTISE_S_OK);
        pthread_mutex_lock(&i->lock);
    }
    pthread_mutex_unlock(&i->lock);
    return NULL;
}

/* ---- calls ------------------------------------------------------------------
 */

static int64_t number_of(mortise_str json, const char *name, int64_t otherwise)
{
    mortise_jv body;
    int64_t v;

    if (mortise_jv_parse(json, &body) != MORTISE_S_OK ||
        mortise_jv_int(mortise_jv_get(body, name), &v) != MORTISE_S_OK)
        return otherwise;
    return v;
}

/* With the lock held: who waited at the gate is due. */
static void open_gate(struct mortise_inst *i, uint64_t now)
{
    struct waiting *w;

    for (; (w = i->gate.first) != NULL; enqueue(&i->clock, w)) {
        dequeue(&i->gate, w->call);
        w->until_ns = now;
    }
    i->at_gate = 0;
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    uint64_t now = i->api->now_ns(i->host);
    struct waiting *w = malloc(sizeof *w);

    if (w == NULL)
        return MORTISE_S_NOMEM;
    w->call = r->call;
    w->until_ns = now + (uint64_t)number_of(r->body, "ms", i->ms) * 1000000;
    pthread_mutex_lock(&i->lock);
    if (mortise_str_is(r->operation, "gate")) {
        enqueue(&i->gate, w);
        if (++i->at_gate == number_of(r->body, "n", 1))
            open_gate(i, now);
    } else {
        enqueue(&i->clock, w);
    }
    pthread_cond_signal(&i->news);
    pthread_mutex_unlock(&i->lock);
    return MORTISE_S_PENDING;
}

static void cancel(mortise_inst *i, mortise_call call)
{
    struct waiting *w;

    pthread_mutex_lock(&i->lock);
    w = dequeue(&i->clock, call);
    if (w == NULL && (w = dequeue(&i->gate, call)) != NULL)
        i->at_gate--;
    pthread_mutex_unlock(&i->lock);
    if (w != NULL)
        finish(i, w, MORTISE_S_CANCELLED);
}

/* ---- the instance
 * ------------------------------------------------------------ */

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    struct mortise_inst *i = calloc(1, sizeof *i);
    pthread_condattr_t attr;

    if (i == NULL)
        return MORTISE_S_NOMEM;
    i->host = host;
    i->api = api;
    i->ms = number_of(config, "ms", 0);
    pthread_mutex_init(&i->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&i->news, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&i->thread, NULL, serve, i) != 0) {
        free(i);
        return MORTISE_S_NOMEM;
    }
    *out = i;
    return MORTISE_S_OK;
}

static const void *get_interface(mortise_inst *i, const char *id)
{
    static const mortise_executor executor = {.size = sizeof executor,
                                              .execute = execute};

    (void)i;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static mortise_status quiesce(mortise_inst *i, uint64_t deadline_ns)
{
    (void)deadline_ns; /* every call has been cancelled by now */
    pthread_mutex_lock(&i->lock);
    i->stopping = 1;
    pthread_cond_signal(&i->news);
    pthread_mutex_unlock(&i->lock);
    pthread_join(i->thread, NULL);
    return MORTISE_S_OK;
}

static void destroy(mortise_inst *i)
{
    pthread_cond_destroy(&i->news);
    pthread_mutex_destroy(&i->lock);
    free(i);
}

static const mortise_plugin plugin = {
    sizeof(mortise_plugin), 0,      "bench_wait", "1.0.0", create,
    get_interface,          cancel, quiesce,      destroy};

MORTISE_MODULE_OF(plugin);
