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
 * happens, each checkpoint is replayed about once.  It is the run a second
 * time, as of then, so it is kept while the run is in memory, for watches that
 * can be full.
 *
 * What is stored may take its time to be read.  Meanwhile its own run, and no
 * other, is held up: it hears of no commit, nothing of it is told, and it stays
 * in memory (mortise_watch_holds()).  So nothing happens behind the back of a
 * watch that reads.  A head that was asked for while the run came and went is
 * asked for again.
 *
 * What a watch waits for is committed soon, also where checkpoint_policy lets
 * it wait for the end of a call that is out (hurry()).
 *
 * Live events are not stored, but what led to them is: one that comes while
 * commits are on their way is held back (held_events.c) until those are told,
 * and so is every one behind it.  Since the ones that happen after a watch has
 * begun wait for its goal at least, it is up with the run before any of them is
 * told; those in the middle of a commit it is told as it reads that.  Of calls
 * that were out when it began it is told that they had begun, in front of all
 * that happened since.
 */
#include "core/engine/runs/stored.h"

#include <string.h>

#include "core/base/clock.h"

enum { HURRY_MS = 50 };

struct mortise_topic {
    struct mortise_hashed entry;
    char *tenant, *run;
    struct mortise_live *live; /* NULL: not in memory */
    struct mortise_watch *watches;
    size_t n_reading; /* of these, the store is asked for so many */
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
    w->next = t->watches;
    w->at = &t->watches;
    if (w->next != NULL)
        w->next->at = &w->next;
    t->watches = w;
}

/* What a watch wants to know of a run that is not in memory.  It outlives the
 * watch where that ends while the store is asked. */
struct mortise_looking {
    struct mortise_stored stored;
    struct mortise_watch *watch; /* NULL: it is over */
    bool graph;                  /* it is wanted, too */
    bool stale;                  /* the run was in memory since it was asked */
    void (*then)(struct mortise *m, struct mortise_watch *w,
                 struct mortise_stored *s, int rv,
                 const struct mortise_err *err);
};

/* mortise_watch_add(), while it has not returned. */
struct mortise_adding {
    bool over; /* the watch is */
    struct mortise_err err;
};

static void store_is_asked(const struct mortise_watch *w)
{
    w->topic->n_reading++;
}

static void store_has_answered(const struct mortise_watch *w)
{
    struct mortise_topic *t = w->topic;

    assert(t->n_reading > 0);
    if (--t->n_reading == 0 && t->live != NULL && t->live->held_up)
        mortise_live_go_on(t->live);
}

bool mortise_watch_holds(struct mortise_live *live)
{
    bool holds = live->topic != NULL && live->topic->n_reading > 0;

    live->held_up |= holds;
    return holds;
}

static void stop_reading(struct mortise_watch *w)
{
    mortise_event_replay_close(w->replay);
    json_decref(w->running);
    w->replay = NULL;
    w->running = NULL;
    if (w->reading)
        store_has_answered(w);
    w->reading = false;
}

static void stop_looking(struct mortise_watch *w)
{
    if (w->looking == NULL)
        return;
    w->looking->watch = NULL;
    w->looking = NULL;
    store_has_answered(w);
}

/* The watch is over; its topic may be, too. */
static void unlink_watch(struct mortise *m, struct mortise_watch *w)
{
    struct mortise_topic *t = w->topic;

    stop_reading(w);
    stop_looking(w);
    if (w->adding != NULL)
        w->adding->over = true;
    w->adding = NULL;
    *w->at = w->next;
    if (w->next != NULL)
        w->next->at = w->at;
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

/* It cannot have what it waits for. */
static void fail(struct mortise *m, struct mortise_watch *w,
                 const struct mortise_err *err)
{
    if (w->adding == NULL) {
        finish(m, w, 0, "", err);
        return;
    }
    w->adding->err = *err;
    unlink_watch(m, w);
}

/* ---- looking into the store --------------------------------------------- */

static void look_over(struct mortise_stored *s, int rv,
                      const struct mortise_err *err);

/* The head came. */
static void look_on(struct mortise_stored *s, int rv,
                    const struct mortise_err *err)
{
    if (rv == MORTISE_OK &&
        MORTISE_OF(s, struct mortise_looking, stored)->graph)
        mortise_stored_graph(s, look_over);
    else
        look_over(s, rv, err);
}

static void look_now(struct mortise *m, struct mortise_looking *l)
{
    const struct mortise_topic *t = l->watch->topic;

    l->stale = false;
    mortise_stored_head(m, &l->stored, t->tenant, t->run, look_on);
}

static void look_over(struct mortise_stored *s, int rv,
                      const struct mortise_err *err)
{
    struct mortise_looking *l = MORTISE_OF(s, struct mortise_looking, stored);
    struct mortise *m = s->m;
    struct mortise_watch *w = l->watch;

    if (w != NULL && l->stale) {
        mortise_stored_finish(s);
        look_now(m, l);
        return;
    }
    if (w != NULL) {
        stop_looking(w);
        l->then(m, w, s, rv, err);
    }
    mortise_stored_finish(s);
    mortise_release(m->mem, l, sizeof *l);
}

/* Its head, and the graph if `graph`. */
static void look(struct mortise *m, struct mortise_watch *w, bool graph,
                 void (*then)(struct mortise *m, struct mortise_watch *w,
                              struct mortise_stored *s, int rv,
                              const struct mortise_err *err))
{
    struct mortise_looking *l = mortise_zalloc(m->mem, sizeof *l);
    struct mortise_err err;

    assert(w->looking == NULL);
    if (l == NULL) {
        mortise_nomem(&err);
        fail(m, w, &err);
        return;
    }
    l->watch = w;
    l->graph = graph;
    l->then = then;
    w->looking = l;
    store_is_asked(w);
    look_now(m, l);
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
static bool is_early(struct mortise_live *live)
{
    return live->held != NULL || live->told < mortise_run_newest(live->run) ||
           mortise_watch_holds(live);
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
           (w->until == MORTISE_UNTIL_END && mortise_run_has_ended(status));
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

/* A store that failed is not read: what is asked of it is asked again once it
 * is open again. */
static bool has_failed(const struct mortise *m)
{
    return m->state == MORTISE_ENGINE_FAILING ||
           m->state == MORTISE_ENGINE_BROKEN;
}

static void piece_over(void *ud, enum mortise_event_replay_end end, int rv,
                       const struct mortise_err *err);

/* Stored events, as far as those who are up with the run were told. */
static void read_piece(struct mortise_watch *w)
{
    const struct mortise_live *live = w->topic->live;

    w->last = live == NULL ? UINT64_MAX : stays(w) ? live->told : w->goal;
    w->held = NULL; /* what it pointed to may have been told to the others */
    w->reading = true;
    store_is_asked(w);
    mortise_event_replay_go(w->replay, w->last);
}

static void read_of(struct mortise *m, struct mortise_watch *w,
                    struct mortise_graph *g)
{
    static const struct mortise_event_replay_ops ops = {on_stored, is_full,
                                                        piece_over};
    const struct mortise_topic *t = w->topic;
    struct mortise_err err;

    if (mortise_event_replay_open(&w->replay, m, t->tenant, t->run, g, &ops, w,
                                  &err) == MORTISE_OK)
        read_piece(w);
    else
        fail(m, w, &err);
}

static void graph_came(struct mortise *m, struct mortise_watch *w,
                       struct mortise_stored *s, int rv,
                       const struct mortise_err *err)
{
    if (rv == MORTISE_OK) /* it may have been loaded, and steered, meanwhile */
        read_of(m, w,
                w->topic->live != NULL ? w->topic->live->graph : s->graph);
    else if (!has_failed(m))
        fail(m, w, err);
}

static void read_on(struct mortise *m, struct mortise_watch *w)
{
    if (w->replay != NULL || take_kept(w))
        read_piece(w);
    else if (w->topic->live != NULL)
        read_of(m, w, w->topic->live->graph);
    else
        look(m, w, true, graph_came);
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

static void advance(struct mortise *m, struct mortise_watch *w);

/* It is up with the run: is that what it waited for? */
static void settle_live(struct mortise *m, struct mortise_watch *w)
{
    const struct mortise_live *live = w->topic->live;

    if (!stays(w) && !live->lost)
        succeed(m, w, mortise_run_status(live->run),
                mortise_run_reason(live->run));
}

static void head_came(struct mortise *m, struct mortise_watch *w,
                      struct mortise_stored *s, int rv,
                      const struct mortise_err *err)
{
    if (w->behind) /* again, since then */
        advance(m, w);
    else if (w->topic->live != NULL)
        settle_live(m, w);
    else if (rv != MORTISE_OK && !has_failed(m))
        fail(m, w, err);
    else if (rv == MORTISE_OK && is_settled(w, s->head.status))
        succeed(m, w, s->head.status, s->head.reason);
}

static void come_up_and_settle(struct mortise *m, struct mortise_watch *w)
{
    if (come_up(w) != 0)
        finish(m, w, 0, "", NULL);
    else if (w->topic->live != NULL)
        settle_live(m, w);
    else if (w->until != MORTISE_UNTIL_CLOSED) /* that is never settled */
        look(m, w, false, head_came);
}

/* The run has moved, or left memory, since the piece was asked for. */
static bool is_more(const struct mortise_watch *w)
{
    const struct mortise_live *live = w->topic->live;

    return live == NULL ? w->last != UINT64_MAX
                        : stays(w) && live->told > w->last;
}

static void piece_over(void *ud, enum mortise_event_replay_end end, int rv,
                       const struct mortise_err *err)
{
    struct mortise_watch *w = ud;
    struct mortise *m = w->m;
    const struct mortise_live *live = w->topic->live;

    w->reading = false;
    store_has_answered(w);
    if (rv != MORTISE_OK) {
        if (!has_failed(m))
            fail(m, w, err);
        return;
    }
    if (end == MORTISE_EVENT_REPLAY_FULL)
        return;
    if (end == MORTISE_EVENT_REPLAY_ENDED)
        finish(m, w, 0, "", NULL);
    else if (live != NULL && (live->lost || live->told < w->goal))
        return;
    else if (is_more(w))
        advance(m, w);
    else
        come_up_and_settle(m, w);
}

static void begin(struct mortise *m, struct mortise_watch *w);

/* Bring one that is behind as far as it gets. */
static void advance(struct mortise *m, struct mortise_watch *w)
{
    const struct mortise_live *live = w->topic->live;

    if (w->reading || w->looking != NULL)
        return; /* goes on from there */
    if (w->beginning)
        begin(m, w);
    else if (w->event != NULL)
        read_on(m, w);
    else if (live == NULL || live->told >= w->goal)
        come_up_and_settle(m, w);
}

void mortise_watch_go_on(struct mortise *m, struct mortise_watch *w)
{
    const struct mortise_topic *t = w->topic;

    if (t == NULL || !w->behind || is_full(w) || has_failed(m))
        return;
    if (t->live == NULL || (!t->live->lost && t->live->told >= w->goal))
        advance(m, w);
}

/* ---- beginning ---------------------------------------------------------- */

static void begin_live(struct mortise *m, struct mortise_watch *w,
                       struct mortise_live *live)
{
    bool follows = stays(w) && w->event != NULL;
    struct mortise_err err;

    w->behind = false;
    w->known = mortise_run_watch(live->run, wants_events(w->topic));
    mortise_live_touch(live);
    if (stays(w) && !follows)
        return;
    w->behind = true;
    w->goal =
        follows ? mortise_run_newest(live->run) : mortise_run_seq(live->run);
    w->held_after = live->n_held;
    if (follows) {
        w->running = mortise_run_running(live->run);
        if (w->running == NULL) {
            mortise_nomem(&err);
            fail(m, w, &err);
            return;
        }
    }
    if (live->told >= w->goal)
        advance(m, w);
    else
        hurry(live);
}

/* What it is of is known by now. */
static void begun(struct mortise *m, struct mortise_watch *w,
                  struct mortise_stored *s, int rv,
                  const struct mortise_err *err)
{
    struct mortise_live *live = w->topic->live;

    if (has_failed(m) && rv != MORTISE_OK)
        return;
    w->beginning = false;
    w->missed = 0;
    if (live != NULL && live->lost) {
        fail(m, w, &live->why);
    } else if (live != NULL) { /* it came into memory meanwhile */
        begin_live(m, w, live);
    } else if (rv != MORTISE_OK) {
        fail(m, w, err);
    } else if (w->event != NULL) {
        advance(m, w);
    } else {
        w->behind = false;
        if (is_settled(w, s->head.status))
            succeed(m, w, s->head.status, s->head.reason);
    }
}

static void begin(struct mortise *m, struct mortise_watch *w)
{
    look(m, w, false, begun);
}

int mortise_watch_add(struct mortise *m, struct mortise_watch *w,
                      const char *tenant, const char *run,
                      struct mortise_err *err)
{
    struct mortise_live *live = mortise_live_find(m, tenant, run);
    struct mortise_adding adding = {.err.code = MORTISE_OK};
    struct mortise_topic *t;

    assert(w->topic == NULL && w->looking == NULL && w->replay == NULL);
    w->m = m;
    w->id = ++m->last_watch;
    if (live != NULL && live->lost) {
        *err = live->why;
        return live->why.code;
    }
    t = topic_get(m, tenant, run);
    if (t == NULL)
        return mortise_nomem(err);
    link_watch(t, w);
    w->adding = &adding;
    w->beginning = w->behind = live == NULL;
    if (live != NULL)
        begin_live(m, w, live);
    else
        begin(m, w);
    if (!adding.over)
        w->adding = NULL;
    if (adding.err.code != MORTISE_OK)
        *err = adding.err;
    return adding.err.code;
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
        /* Who does not stay wants what is stored now, and not what comes. */
        w->goal = stays(w) ? 0 : live->told;
        mortise_watch_go_on(live->m, w);
    }
}

void mortise_watch_steered(struct mortise_live *live)
{
    struct mortise_topic *t = live->topic;

    if (t == NULL)
        return;
    if (t->replay != NULL)
        mortise_event_replay_know(t->replay, live->graph);
    for (struct mortise_watch *w = t->watches; w != NULL; w = w->next)
        if (w->replay != NULL)
            mortise_event_replay_know(w->replay, live->graph);
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
        if (w->looking != NULL)
            w->looking->stale = true;
        if (live->lost && w->event != NULL && !w->behind)
            fall_behind(w);
        mortise_watch_go_on(live->m, w);
    }
    live->topic = NULL;
}

static void all_go_on(struct mortise *m, const struct mortise_topic *t)
{
    struct mortise_watch *w, *next;

    for (w = t->watches; w != NULL; w = next) {
        next = w->next;
        mortise_watch_go_on(m, w);
    }
}

void mortise_watch_reopened(struct mortise *m)
{
    struct mortise_hashed *e, *next;

    for (e = mortise_table_first(&m->topics); e != NULL; e = next) {
        next = mortise_table_next(&m->topics, e);
        all_go_on(m, MORTISE_OF(e, struct mortise_topic, entry));
    }
}

void mortise_watch_written(struct mortise_live *live)
{
    if (live->topic != NULL)
        all_go_on(live->m, live->topic);
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
