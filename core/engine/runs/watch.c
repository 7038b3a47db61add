/* watch.c -- who watches which run; events to them.
 *
 * Watches hang at a topic, which exists as long as somebody watches that run,
 * in memory or not.  The promises, for 100,000 events as for 10:
 *
 *   (1) A watch sees every durable event after `after` once, in order, and none
 *       whose commit is not stored.
 *   (2) A live (ephemeral) event that happens after the watch began reaches it
 *       in its place among the durable ones: behind those that happened before
 *       it, in front of those that happened after it.
 *   (3) Nothing is left out in silence.  Who does not keep up (`full`) is told
 *       how many live events it missed, and since which durable one; durable
 *       ones it gets later, from the store.
 *
 * A watch is either up with the run, and gets what the run publishes, or behind
 * it, and reads what is stored (event_replay.c) until it has everything up to
 * where those who are up with the run were told (live->told).  It is behind
 *
 *   - when it begins: a run makes events only from the moment that it is told
 *     that somebody watches, so those of commits that are on their way then are
 *     never published.  It is up with the run when they are stored (`goal`);
 *   - when it is full, until it has room again;
 *   - when the run was lost: commits may be stored that nobody was told of.
 *
 * Who falls behind goes on where the last that came up with the run had read to
 * (topic->replay), as a replay cannot begin in the middle: however often that
 * happens, each checkpoint is replayed about once.  It is the run a second time,
 * as of then, so it is kept while the run is in memory, for watches that can be
 * full.
 *
 * What a watch waits for is committed soon, also where checkpoint_policy lets it
 * wait for the end of a call that is out (hurry()).
 *
 * Live events are not stored, but what led to them is: one that comes while
 * commits are on their way is held back (held_events.c) until those are told,
 * and so is every one behind it.  Since the ones that happen after a watch has
 * begun wait for its goal at least, it is up with the run before any of them is
 * told; those in the middle of a commit it is told as it reads that.  Of calls
 * that were out when it began it is told that they had begun, in front of all
 * that happened since.
 */
#include "engine/common/engine.h"

#include <string.h>

#include "base/clock.h"

enum { HURRY_MS = 50 };

struct mortise_topic {
    struct mortise_hashed entry;
    char *tenant, *run;
    struct mortise_live *live; /* NULL: not in memory */
    struct mortise_watch *watches;
    /* For who falls behind next; or NULL. */
    struct mortise_event_replay *replay;
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

/* Instead of the one that is kept, if any. */
static void keep_replay(struct mortise_topic *t, struct mortise_event_replay *r)
{
    mortise_event_replay_close(t->replay);
    t->replay = r;
}

static void topic_free(struct mortise *m, struct mortise_topic *t)
{
    keep_replay(t, NULL);
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

static void stop_reading(struct mortise_watch *w)
{
    mortise_event_replay_close(w->replay);
    json_decref(w->running);
    w->replay = NULL;
    w->running = NULL;
}

/* The watch is over; its topic may be, too. */
static void unlink_watch(struct mortise *m, struct mortise_watch *w)
{
    struct mortise_topic *t = w->topic;

    stop_reading(w);
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

/* So many live events since the durable one that it had last were not told. */
static int deliver_missed(struct mortise_watch *w, uint64_t n, uint64_t since)
{
    char at[MORTISE_TIME_TEXT];
    json_t *event;
    int said;

    mortise_time_text(at, mortise_now_ms());
    event =
        json_pack("{s:b, s:s, s:s, s:s, s:s, s:I, s:I}", "ephemeral", 1, "run",
                  w->topic->run, "tenant", w->topic->tenant, "at", at, "type",
                  "missed", "count", (json_int_t)n, "since", (json_int_t)since);
    if (event == NULL) {
        w->missed += n; /* said with the next */
        return 0;
    }
    said = deliver(w, event);
    json_decref(event);
    return said;
}

static bool is_full(void *ud)
{
    struct mortise_watch *w = ud;

    return w->full != NULL && w->full(w);
}

/* From now on it reads what is stored. */
static void fall_behind(struct mortise_watch *w)
{
    w->behind = true;
    w->goal = 0;
    w->since = w->after;
}

/* To one that is up with the run; an event, or how many were missed.  False:
 * the watch is over. */
static bool tell_one(struct mortise *m, struct mortise_watch *w, json_t *event,
                     uint64_t missed)
{
    int said;

    if (!w->behind && is_full(w))
        fall_behind(w);
    if (w->behind) {
        w->missed +=
            missed + (event != NULL && json_object_get(event, "seq") == NULL);
        return true;
    }
    said =
        missed != 0 ? deliver_missed(w, missed, w->after) : deliver(w, event);
    if (said != 0)
        finish(m, w, 0, "", NULL);
    return said == 0;
}

/* `held`: its number when it was held back, else 0. */
static void tell(struct mortise_live *live, json_t *event, uint64_t missed,
                 uint64_t held)
{
    struct mortise_watch *w, *next;

    if (live->topic == NULL)
        return;
    for (w = live->topic->watches; w != NULL; w = next) {
        next = w->next;
        if (w->event != NULL && (held == 0 || held > w->held_after))
            tell_one(live->m, w, event, missed);
    }
}

/* What watchers wait for may not have been committed, as far as the graph's
 * checkpoint_policy lets it wait: not for longer than a person would notice. */
static void hurry(struct mortise_live *live)
{
    if (mortise_run_newest(live->run) > mortise_run_seq(live->run) &&
        !live->hurry.armed)
        mortise_timer_arm(&live->m->timers, &live->hurry,
                          mortise_mono_in(HURRY_MS));
}

static void on_hurry(struct mortise_timer *t)
{
    struct mortise_live *live = MORTISE_OF(t, struct mortise_live, hurry);
    struct mortise_input in = {.kind = MORTISE_IN_COMMIT};

    mortise_live_feed(live, &in);
}

/* Must a live event wait for durable ones that happened before it? */
static bool is_early(const struct mortise_live *live)
{
    return live->held != NULL || live->told < mortise_run_newest(live->run);
}

/* Tell the first that was held back. */
static void release_one(struct mortise_live *live)
{
    uint64_t id, missed;
    json_t *event = mortise_held_events_take(live, &id, &missed);

    tell(live, event, missed, id);
    json_decref(event);
}

/* Tell of all that stand in front of a durable event. */
static void release_before(struct mortise_live *live, const json_t *event)
{
    const json_t *seq = json_object_get(event, "seq");

    while (mortise_held_events_behind(live) < (uint64_t)json_integer_value(seq))
        release_one(live);
}

void mortise_watch_publish(struct mortise_live *live, json_t *event)
{
    bool durable = json_object_get(event, "seq") != NULL;

    if (live->topic == NULL || live->lost)
        return;
    if (durable)
        release_before(live, event);
    if (durable || !is_early(live)) {
        tell(live, event, 0, 0);
        return;
    }
    mortise_held_events_put(live, event);
    hurry(live);
}

void mortise_watch_miss(struct mortise_live *live, uint64_t n)
{
    if (live->topic == NULL || live->lost)
        return;
    if (is_early(live))
        mortise_held_events_miss(live, n);
    else
        tell(live, NULL, n, 0);
}

void mortise_watch_published(struct mortise_live *live, uint64_t seq)
{
    while (mortise_held_events_seq(live) <= seq)
        release_one(live);
}

/* ---- one that is behind ------------------------------------------------- */

static bool stays(const struct mortise_watch *w)
{
    return w->until != MORTISE_UNTIL_NOW && w->until != MORTISE_UNTIL_SYNCED;
}

/* What a watch of a run that is not in memory has to wait for: nothing, but
 * the end that somebody else may bring about. */
static bool is_settled(const struct mortise_watch *w, int status)
{
    return !stays(w) || w->until == MORTISE_UNTIL_IDLE ||
           (w->until == MORTISE_UNTIL_END && status >= MORTISE_RUN_COMPLETED);
}

/* What was running when it began.  Nonzero: it wants no more. */
static int tell_running(struct mortise_watch *w)
{
    json_t *running = w->running, *event;
    int said = 0;
    size_t i;

    w->running = NULL;
    json_array_foreach(running, i, event)
    {
        if (said == 0)
            said = w->event(w, event);
    }
    json_decref(running);
    return said;
}

/* Live events that are held back, and stand in front of this durable one. */
static int tell_held(struct mortise_watch *w, uint64_t seq)
{
    const struct mortise_live *live = w->topic->live;
    struct mortise_held_event_copy h;
    const struct mortise_held_event *at;
    int said = 0;

    while (said == 0 && live != NULL &&
           (at = mortise_held_events_find(live, w->held, w->held_after, seq,
                                          &h)) != NULL) {
        said = h.event != NULL ? w->event(w, h.event)
                               : deliver_missed(w, h.missed, w->after);
        json_decref(h.event);
        w->held = at;
        w->held_after = h.id;
    }
    return said;
}

static int on_stored(void *ud, json_t *event)
{
    struct mortise_watch *w = ud;
    uint64_t seq = (uint64_t)json_integer_value(json_object_get(event, "seq"));

    if (seq > w->known && seq > w->after &&
        (tell_running(w) != 0 || tell_held(w, seq) != 0))
        return 1;
    return deliver(w, event);
}

/* What was kept, unless it has read past what the watch has. */
static bool take_kept(struct mortise_watch *w)
{
    struct mortise_topic *t = w->topic;

    if (t->replay == NULL || mortise_event_replay_events(t->replay) > w->after)
        return false;
    w->replay = t->replay;
    t->replay = NULL;
    mortise_event_replay_lend(w->replay, w);
    return true;
}

static int begin_reading(struct mortise *m, struct mortise_watch *w,
                         struct mortise_err *err)
{
    static const struct mortise_event_replay_ops ops = {on_stored, is_full};
    struct mortise_topic *t = w->topic;
    struct mortise_head_copy head;
    struct mortise_graph *g = NULL;
    int rv = MORTISE_OK;

    if (take_kept(w))
        return MORTISE_OK;
    if (t->live != NULL) {
        g = mortise_graph_ref(t->live->graph);
    } else {
        rv = mortise_head_read(m, t->tenant, t->run, &head, err);
        if (rv == MORTISE_OK)
            rv = mortise_graphs_get(m, t->run, head.graph, true, &g, err);
    }
    if (rv == MORTISE_OK)
        rv = mortise_event_replay_open(&w->replay, m, t->tenant, t->run, g,
                                       &ops, w, err);
    mortise_graph_unref(g);
    return rv;
}

/* Stored events, as far as those who are up with the run were told. */
static int read_on(struct mortise *m, struct mortise_watch *w,
                   enum mortise_event_replay_end *end, struct mortise_err *err)
{
    const struct mortise_live *live = w->topic->live;
    uint64_t last = live == NULL ? UINT64_MAX : stays(w) ? live->told : w->goal;
    int rv = w->replay == NULL ? begin_reading(m, w, err) : MORTISE_OK;

    *end = MORTISE_EVENT_REPLAY_ALL;
    w->held = NULL; /* what it pointed to may have been told to the others */
    return rv == MORTISE_OK
               ? mortise_event_replay_go(w->replay, w->topic->tenant,
                                         w->topic->run, last, end, err)
               : rv;
}

/* It has all that is stored: what it missed, and what is still running.
 * Nonzero: it wants no more. */
static int come_up(struct mortise_watch *w)
{
    uint64_t missed = w->missed;
    int said = tell_running(w);

    w->behind = false;
    w->missed = 0;
    if (w->replay != NULL && w->full != NULL && w->topic->live != NULL) {
        keep_replay(w->topic, w->replay);
        w->replay = NULL;
    }
    stop_reading(w);
    if (missed > 0 && said == 0)
        said = deliver_missed(w, missed, w->since);
    return said;
}

/* It is up with the run: is that what it waited for? */
static int settle_up(struct mortise *m, struct mortise_watch *w,
                     struct mortise_err *err)
{
    const struct mortise_live *live = w->topic->live;
    struct mortise_head_copy head;
    int rv;

    if (live != NULL) {
        if (!stays(w))
            succeed(m, w, mortise_run_status(live->run),
                    mortise_run_reason(live->run));
        return MORTISE_OK;
    }
    rv = mortise_head_read(m, w->topic->tenant, w->topic->run, &head, err);
    if (rv == MORTISE_OK && is_settled(w, head.status))
        succeed(m, w, head.status, head.reason);
    return rv;
}

/* Bring one that is behind as far as it gets.  On an error it is as it was. */
static int catch_up(struct mortise *m, struct mortise_watch *w,
                    struct mortise_err *err)
{
    enum mortise_event_replay_end end = MORTISE_EVENT_REPLAY_ALL;
    const struct mortise_live *live = w->topic->live;
    int rv = w->event != NULL ? read_on(m, w, &end, err) : MORTISE_OK;

    if (rv != MORTISE_OK || end == MORTISE_EVENT_REPLAY_FULL)
        return rv;
    if (end == MORTISE_EVENT_REPLAY_ALL && live != NULL && live->told < w->goal)
        return MORTISE_OK;
    if (end == MORTISE_EVENT_REPLAY_ENDED || come_up(w) != 0) {
        finish(m, w, 0, "", NULL);
        return MORTISE_OK;
    }
    return settle_up(m, w, err);
}

static void advance(struct mortise *m, struct mortise_watch *w)
{
    struct mortise_err err;

    if (catch_up(m, w, &err) != MORTISE_OK)
        finish(m, w, 0, "", &err);
}

void mortise_watch_go_on(struct mortise *m, struct mortise_watch *w)
{
    const struct mortise_topic *t = w->topic;

    if (t == NULL || !w->behind || is_full(w) ||
        m->state == MORTISE_ENGINE_FAILING || m->state == MORTISE_ENGINE_BROKEN)
        return; /* the last: a store that failed is not read either */
    if (t->live == NULL || (!t->live->lost && t->live->told >= w->goal))
        advance(m, w);
}

/* ---- beginning ---------------------------------------------------------- */

static int begin_stored(struct mortise *m, struct mortise_watch *w,
                        const struct mortise_head_copy *head,
                        struct mortise_err *err)
{
    w->behind = w->event != NULL;
    if (w->behind)
        return catch_up(m, w, err);
    if (is_settled(w, head->status))
        succeed(m, w, head->status, head->reason);
    return MORTISE_OK;
}

static int begin_live(struct mortise *m, struct mortise_watch *w,
                      struct mortise_live *live, struct mortise_err *err)
{
    bool follows = stays(w) && w->event != NULL;

    w->known = mortise_run_watch(live->run, wants_events(w->topic));
    mortise_live_touch(live);
    if (stays(w) && !follows)
        return MORTISE_OK;
    w->behind = true;
    w->goal =
        follows ? mortise_run_newest(live->run) : mortise_run_seq(live->run);
    w->held_after = live->n_held;
    if (follows) {
        w->running = mortise_run_running(live->run);
        if (w->running == NULL)
            return mortise_nomem(err);
    }
    if (live->told >= w->goal)
        return catch_up(m, w, err);
    hurry(live);
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
    w->behind = false;
    w->goal = w->known = w->held_after = w->missed = w->since = 0;
    w->replay = NULL;
    w->running = NULL;
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

void mortise_watch_open(struct mortise_live *live)
{
    live->hurry.fire = on_hurry;
}

void mortise_watch_attach(struct mortise_live *live)
{
    struct mortise_watch *w, *next;
    uint64_t n_events;

    live->topic = topic_find(live->m, live->tenant, live->id);
    if (live->topic == NULL)
        return;
    live->topic->live = live;
    n_events = mortise_run_watch(live->run, wants_events(live->topic));
    for (w = live->topic->watches; w != NULL; w = next) {
        next = w->next;
        if (w->event == NULL)
            continue;
        if (!w->behind && w->after < n_events)
            fall_behind(w); /* of a commit that nobody could be sure of */
        w->goal = 0;
        mortise_watch_go_on(live->m, w);
    }
}

void mortise_watch_detach(struct mortise_live *live)
{
    struct mortise_watch *w, *next;

    assert(live->lost || live->held == NULL); /* it rests: all is told */
    mortise_held_events_drop(live);
    mortise_timer_disarm(&live->m->timers, &live->hurry);
    if (live->topic == NULL)
        return;
    live->topic->live = NULL;
    keep_replay(live->topic, NULL);
    for (w = live->topic->watches; w != NULL; w = next) {
        next = w->next;
        w->held_after = 0; /* it counted in this stay in memory */
        if (live->lost && w->event != NULL && !w->behind)
            fall_behind(w);
        mortise_watch_go_on(live->m, w);
    }
    live->topic = NULL;
}

void mortise_watch_reopened(struct mortise *m)
{
    struct mortise_hashed *e, *following;
    struct mortise_watch *w, *next;

    for (e = mortise_table_first(&m->topics); e != NULL; e = following) {
        following = mortise_table_next(&m->topics, e);
        w = MORTISE_OF(e, struct mortise_topic, entry)->watches;
        for (; w != NULL; w = next) {
            next = w->next;
            mortise_watch_go_on(m, w);
        }
    }
}

void mortise_watch_written(struct mortise_live *live)
{
    struct mortise_watch *w, *next;

    if (live->topic == NULL)
        return;
    for (w = live->topic->watches; w != NULL; w = next) {
        next = w->next;
        mortise_watch_go_on(live->m, w);
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
        if (!w->behind && (w->until == MORTISE_UNTIL_IDLE ||
                           (w->until == MORTISE_UNTIL_END && finished)))
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
