/* watch.c -- who watches which run; events to them.
 *
 * Watches hang at a topic, which exists as long as somebody watches that run,
 * in memory or not.  The promise: a watch sees every durable event after
 * `after` once, in order, and none whose commit is not stored.
 *
 * Stored events are had by replaying the run's checkpoints; live ones are
 * published by the run from the moment that it is told that somebody watches.
 * In between there is a gap: events of commits that were on their way when the
 * watch began.  So a watch that begins then waits until they are stored
 * (catch_up), replays, and only then takes live ones; what it has already is
 * known by its number.
 *
 * Ephemeral events are not stored, but what led to them is: one that comes
 * while commits are on their way is held back until those are told, so that no
 * node starts, for a watcher, before the one in front of it has ended.
 */
#include "engine/engine.h"

#include <string.h>

struct mortise_held {
    struct mortise_held *next;
    json_t *event;
    uint64_t seq; /* of the commit that goes before it */
    uint64_t id;  /* counted in its run */
};

struct mortise_topic {
    struct mortise_hashed entry;
    char *tenant, *run;
    struct mortise_live *live; /* NULL: not in memory */
    struct mortise_watch *watches;
};

/* ---- topics ------------------------------------------------------------- */

static struct mortise_topic *topic_find(struct mortise *m, const char *tenant,
                                        const char *run)
{
    struct mortise_hashed *e;

    for (e = mortise_table_find(&m->topics, mortise_hash_strs(tenant, run));
         e != NULL; e = mortise_table_more(e)) {
        struct mortise_topic *t = MORTISE_OF(e, struct mortise_topic, entry);

        if (strcmp(t->tenant, tenant) == 0 && strcmp(t->run, run) == 0)
            return t;
    }
    return NULL;
}

static void topic_free(struct mortise *m, struct mortise_topic *t)
{
    mortise_table_remove(&m->topics, &t->entry);
    if (t->live != NULL)
        t->live->topic = NULL;
    mortise_release_str(m->mem, t->tenant);
    mortise_release_str(m->mem, t->run);
    mortise_release(m->mem, t, sizeof *t);
}

static struct mortise_topic *topic_get(struct mortise *m, const char *tenant,
                                       const char *run)
{
    struct mortise_topic *t = topic_find(m, tenant, run);

    if (t != NULL)
        return t;
    t = mortise_zalloc(m->mem, sizeof *t);
    if (t == NULL)
        return NULL;
    mortise_table_add(&m->topics, &t->entry, mortise_hash_strs(tenant, run));
    t->tenant = mortise_strdup(m->mem, tenant);
    t->run = mortise_strdup(m->mem, run);
    if (t->tenant == NULL || t->run == NULL) {
        topic_free(m, t);
        return NULL;
    }
    t->live = mortise_live_find(m, tenant, run);
    if (t->live != NULL)
        t->live->topic = t;
    return t;
}

static bool wants_events(const struct mortise_topic *t)
{
    const struct mortise_watch *w = t->watches;

    while (w != NULL && w->event == NULL)
        w = w->next;
    return w != NULL;
}

/* The run makes events only while somebody wants them. */
static void tell_run(const struct mortise_topic *t)
{
    if (t->live != NULL && t->live->run != NULL)
        mortise_run_watch(t->live->run, wants_events(t));
}

/* ---- watches ------------------------------------------------------------ */

static void link_watch(struct mortise_topic *t, struct mortise_watch *w)
{
    w->topic = t;
    w->prev = NULL;
    w->next = t->watches;
    if (w->next != NULL)
        w->next->prev = w;
    t->watches = w;
}

/* The watch is over; its topic may be, too. */
static void unlink_watch(struct mortise *m, struct mortise_watch *w)
{
    struct mortise_topic *t = w->topic;

    if (w->prev != NULL)
        w->prev->next = w->next;
    else
        t->watches = w->next;
    if (w->next != NULL)
        w->next->prev = w->prev;
    w->topic = NULL;
    tell_run(t);
    if (t->watches == NULL)
        topic_free(m, t);
}

void mortise_watch_end(struct mortise *m, struct mortise_watch *w)
{
    if (w->topic != NULL)
        unlink_watch(m, w);
}

static void finish(struct mortise *m, struct mortise_watch *w, int status,
                   const char *reason, const struct mortise_err *err)
{
    unlink_watch(m, w);
    w->done(w, status, reason, err);
}

static void succeed(struct mortise *m, struct mortise_watch *w, int status,
                    const char *reason)
{
    const struct mortise_err ok = {.code = MORTISE_OK};

    finish(m, w, status, reason, &ok);
}

/* ---- events ------------------------------------------------------------- */

/* Nonzero: it wants no more. */
static int deliver(struct mortise_watch *w, json_t *event)
{
    const json_t *seq = json_object_get(event, "seq");

    if (seq != NULL) {
        if ((uint64_t)json_integer_value(seq) <= w->after)
            return 0;
        w->after = (uint64_t)json_integer_value(seq);
    }
    return w->event(w, event);
}

struct catching_up {
    struct mortise_watch *w;
    int said;
};

static int on_stored(void *ud, json_t *event)
{
    struct catching_up *c = ud;

    c->said = deliver(c->w, event);
    return c->said;
}

/* What started before it came and has not ended; *said as for replay(). */
static int tell_running(struct mortise_watch *w,
                        const struct mortise_live *live, int *said,
                        struct mortise_err *err)
{
    json_t *running = mortise_run_running(live->run), *event;
    size_t i;

    if (running == NULL)
        return mortise_nomem(err);
    json_array_foreach(running, i, event)
    {
        if (*said == 0)
            *said = deliver(w, event);
    }
    json_decref(running);
    return MORTISE_OK;
}

static bool stays(const struct mortise_watch *w)
{
    return w->until != MORTISE_UNTIL_NOW && w->until != MORTISE_UNTIL_SYNCED;
}

/* Stored events to one watch; *said is nonzero when it wants no more. */
static int replay(struct mortise *m, struct mortise_watch *w,
                  struct mortise_graph *g, int *said, struct mortise_err *err)
{
    struct catching_up c = {w, 0};
    struct mortise_run *run = NULL;
    int rv = mortise_replay(m, w->topic->tenant, w->topic->run, g, on_stored,
                            &c, &run, err);

    mortise_run_free(run);
    *said = c.said;
    return c.said != 0 ? MORTISE_OK : rv;
}

/* The commits that were on their way have landed.  False: the watch is over. */
static bool catch_up(struct mortise *m, struct mortise_watch *w,
                     struct mortise_live *live)
{
    struct mortise_err err;
    int said = 0, rv = MORTISE_OK;

    w->catch_up = 0;
    if (w->event != NULL)
        rv = replay(m, w, live->graph, &said, &err);
    /* What is held back was already told like this, if it still matters. */
    w->held_after = live->n_held;
    if (rv == MORTISE_OK && said == 0 && w->event != NULL && stays(w) &&
        !live->lost)
        rv = tell_running(w, live, &said, &err);
    if (rv == MORTISE_OK && said == 0)
        return true;
    finish(m, w, 0, "", rv != MORTISE_OK ? &err : NULL);
    return false;
}

/* `held`: its number when it was held back, else 0. */
static void tell(struct mortise_live *live, json_t *event, uint64_t held)
{
    struct mortise_watch *w, *next;

    if (live->topic == NULL)
        return;
    for (w = live->topic->watches; w != NULL; w = next) {
        next = w->next;
        if (w->event == NULL || w->catch_up != 0)
            continue; /* catching up gives it what is stored, and running */
        if (held != 0 && held <= w->held_after)
            continue; /* that was before it caught up */
        if (deliver(w, event) != 0)
            finish(live->m, w, 0, "", NULL);
    }
}

/* Keep an ephemeral event for later; without memory it is missed. */
static void hold_back(struct mortise_live *live, json_t *event)
{
    struct mortise_held *h = mortise_alloc(live->m->mem, sizeof *h);

    if (h == NULL)
        return;
    *h = (struct mortise_held){NULL, json_incref(event),
                               mortise_run_newest(live->run), ++live->n_held};
    if (live->held == NULL)
        live->held = h;
    else
        live->last_held->next = h;
    live->last_held = h;
}

void mortise_watch_publish(struct mortise_live *live, json_t *event)
{
    bool durable = json_object_get(event, "seq") != NULL;

    if (live->topic == NULL || live->lost)
        return;
    if (!durable && live->written < mortise_run_newest(live->run))
        hold_back(live, event);
    else
        tell(live, event, 0);
}

/* Let go of the first that was held back. */
static void release_held(struct mortise_live *live, bool wanted)
{
    struct mortise_held *h = live->held;

    live->held = h->next;
    if (wanted)
        tell(live, h->event, h->id);
    json_decref(h->event);
    mortise_release(live->m->mem, h, sizeof *h);
}

uint64_t mortise_watch_held(const struct mortise_live *live)
{
    return live->held != NULL ? live->held->seq : UINT64_MAX;
}

void mortise_watch_published(struct mortise_live *live, uint64_t seq)
{
    while (mortise_watch_held(live) <= seq)
        release_held(live, true);
}

/* ---- beginning ---------------------------------------------------------- */

/* What a watch of a run that is not in memory has to wait for: nothing, but
 * the end that somebody else may bring about. */
static bool is_settled(const struct mortise_watch *w,
                       const struct mortise_head_copy *head)
{
    return w->until == MORTISE_UNTIL_NOW || w->until == MORTISE_UNTIL_IDLE ||
           w->until == MORTISE_UNTIL_SYNCED ||
           (w->until == MORTISE_UNTIL_END &&
            head->status >= MORTISE_RUN_COMPLETED);
}

static int begin_stored(struct mortise *m, struct mortise_watch *w,
                        const struct mortise_head_copy *head,
                        struct mortise_err *err)
{
    struct mortise_graph *g;
    int rv = MORTISE_OK, said = 0;

    if (w->event != NULL) {
        rv = mortise_graphs_get(m, head->graph, true, &g, err);
        if (rv != MORTISE_OK)
            return rv;
        rv = replay(m, w, g, &said, err);
        mortise_graph_unref(g);
    }
    if (rv != MORTISE_OK)
        return rv;
    if (said != 0)
        finish(m, w, 0, "", NULL);
    else if (is_settled(w, head))
        succeed(m, w, head->status, head->reason);
    return MORTISE_OK;
}

static int begin_live(struct mortise *m, struct mortise_watch *w,
                      struct mortise_live *live, struct mortise_err *err)
{
    int rv = MORTISE_OK, said = 0;

    tell_run(w->topic);
    mortise_live_touch(live);
    if (live->written < mortise_run_newest(live->run)) {
        w->catch_up = mortise_run_newest(live->run);
        return MORTISE_OK;
    }
    if (w->event != NULL)
        rv = replay(m, w, live->graph, &said, err);
    if (rv == MORTISE_OK && said == 0 && w->event != NULL && stays(w))
        rv = tell_running(w, live, &said, err);
    if (rv != MORTISE_OK)
        return rv;
    if (said != 0)
        finish(m, w, 0, "", NULL);
    else if (!stays(w))
        succeed(m, w, mortise_run_status(live->run),
                mortise_run_reason(live->run));
    return MORTISE_OK;
}

int mortise_watch_add(struct mortise *m, struct mortise_watch *w,
                      const char *tenant, const char *run,
                      struct mortise_err *err)
{
    struct mortise_live *live = mortise_live_find(m, tenant, run);
    struct mortise_head_copy head;
    struct mortise_topic *t;
    int rv = MORTISE_OK;

    w->topic = NULL;
    w->catch_up = w->held_after = 0;
    w->id = ++m->last_watch;
    if (live != NULL && live->lost) {
        *err = live->why;
        return live->why.code;
    }
    if (live == NULL)
        rv = mortise_head_read(m, tenant, run, &head, err);
    if (rv != MORTISE_OK)
        return rv;
    t = topic_get(m, tenant, run);
    if (t == NULL)
        return mortise_nomem(err);
    link_watch(t, w);
    rv = live != NULL ? begin_live(m, w, live, err)
                      : begin_stored(m, w, &head, err);
    if (rv != MORTISE_OK)
        mortise_watch_end(m, w);
    return rv;
}

struct mortise_watch *mortise_watch_find(struct mortise *m, uint64_t id)
{
    struct mortise_hashed *e;

    for (e = mortise_table_first(&m->topics); e != NULL;
         e = mortise_table_next(&m->topics, e)) {
        struct mortise_watch *w =
            MORTISE_OF(e, struct mortise_topic, entry)->watches;

        for (; w != NULL; w = w->next) {
            if (w->id == id)
                return w;
        }
    }
    return NULL;
}

/* ---- what live.c tells -------------------------------------------------- */

void mortise_watch_attach(struct mortise_live *live)
{
    live->topic = topic_find(live->m, live->tenant, live->id);
    if (live->topic == NULL)
        return;
    live->topic->live = live;
    tell_run(live->topic);
}

void mortise_watch_detach(struct mortise_live *live)
{
    struct mortise_watch *w, *next;

    while (live->held != NULL)
        release_held(live, false);
    if (live->topic == NULL)
        return;
    live->topic->live = NULL;
    for (w = live->topic->watches; w != NULL; w = next) {
        next = w->next;
        if (w->catch_up == 0 || catch_up(live->m, w, live))
            w->held_after = 0; /* it counted in this stay in memory */
    }
    live->topic = NULL;
}

void mortise_watch_written(struct mortise_live *live)
{
    struct mortise_watch *w, *next;
    struct mortise *m = live->m;

    if (live->topic == NULL)
        return;
    for (w = live->topic->watches; w != NULL; w = next) {
        next = w->next;
        if (w->catch_up == 0 || w->catch_up > live->written ||
            !catch_up(m, w, live))
            continue;
        if (w->until == MORTISE_UNTIL_NOW || w->until == MORTISE_UNTIL_SYNCED)
            succeed(m, w, mortise_run_status(live->run),
                    mortise_run_reason(live->run));
    }
}

void mortise_watch_idle(struct mortise_live *live)
{
    struct mortise_watch *w, *next;
    bool finished = mortise_run_is_finished(live->run);

    if (live->topic == NULL)
        return;
    for (w = live->topic->watches; w != NULL; w = next) {
        next = w->next;
        if (w->until == MORTISE_UNTIL_IDLE ||
            (w->until == MORTISE_UNTIL_END && finished))
            succeed(live->m, w, mortise_run_status(live->run),
                    mortise_run_reason(live->run));
    }
}

static void fail_topic(struct mortise *m, struct mortise_topic *t,
                       const struct mortise_err *err)
{
    struct mortise_watch *w, *next;

    for (w = t->watches; w != NULL; w = next) {
        next = w->next;
        if (w->until != MORTISE_UNTIL_CLOSED)
            finish(m, w, 0, "", err);
    }
}

void mortise_watch_lost(struct mortise_live *live, const struct mortise_err *e)
{
    if (live->topic != NULL)
        fail_topic(live->m, live->topic, e);
}

void mortise_watch_fail_all(struct mortise *m, const struct mortise_err *err)
{
    struct mortise_hashed *e, *next;

    for (e = mortise_table_first(&m->topics); e != NULL; e = next) {
        next = mortise_table_next(&m->topics, e);
        fail_topic(m, MORTISE_OF(e, struct mortise_topic, entry), err);
    }
}

void mortise_watch_close(struct mortise *m)
{
    struct mortise_hashed *e;

    while ((e = mortise_table_first(&m->topics)) != NULL)
        finish(m, MORTISE_OF(e, struct mortise_topic, entry)->watches, 0, "",
               NULL);
}
