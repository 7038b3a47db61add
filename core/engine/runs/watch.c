/* watch.c -- watches of runs, and the delivery of events to them.
 *
 * The watches of a run belong to a topic, which exists as long as the run is
 * watched, in memory or not.  The promises hold for 100,000 events as for 10:
 *
 *   (1) A watch gets every durable event after `after` once, in order, and none
 *       whose commit is not stored.
 *   (2) A live (ephemeral) event that happens after the watch began reaches it
 *       at its place among the durable ones: after those that happened before
 *       it, before those that happened after it.
 *   (3) Nothing is dropped silently.  A watch that does not keep up (`full`)
 *       gets the number of live events that it missed, and the durable event
 *       since when; it gets durable events later, from the store.
 *
 * A watch is either up to date, and gets the events that the run publishes, or
 * behind: then it reads stored events (event_replay.c) until it has everything
 * up to the events that up-to-date watches were sent (live->told).  A watch is
 * behind
 *
 *   - when it begins: a run makes events only after it was told that it is
 *     watched, so the events of commits in flight at that time are never
 *     published.  The watch is up to date when they are stored (`goal`);
 *   - when it is full, until it has room again;
 *   - when the run was lost: commits may be stored whose events were not sent.
 *
 * A replay cannot begin in the middle.  So the replay of the last watch that
 * caught up is kept (topic->replay), and the next watch that falls behind
 * continues it: however often that happens, each checkpoint is replayed about
 * once.  The replay holds a copy of the run as of then, so it is kept only
 * while the run is in memory, and only for watches that can be full.
 *
 * Reading the store may take time.  Meanwhile the run of that watch, and no
 * other, is delayed: it is told of no commit, nothing of it is published, and
 * it stays in memory (mortise_watch_must_delay_run()).  So the watch misses nothing
 * while it reads.  If the run came into memory and left during the read of its
 * head, the head is read again.
 *
 * Events that a watch waits for are committed soon, even if checkpoint_policy
 * lets the commit wait for the end of a call (hurry_commit()).
 *
 * Live events are not stored, but their causes are.  A live event that comes
 * while commits are in flight is held back (held_events.c) until the events of
 * these commits were sent, and so are all later ones.  Live events after the
 * beginning of a watch wait at least for its goal, so the watch is up to date
 * before any of them is sent; those in the middle of a commit are sent as the
 * watch reads that commit.  For calls that were running when it began, the
 * watch gets their beginnings, before everything that happened since.
 */
#include "core/engine/runs/stored.h"

#include <string.h>

#include "core/base/clock.h"

enum { HURRY_MS = 50 };

struct mortise_topic {
    struct mortise_table_entry entry;
    char *tenant, *run;
    struct mortise_live *live; /* NULL: not in memory */
    struct mortise_watch *watches;
    size_t n_reading; /* watches with a read of the store in flight */
    /* For the next watch that falls behind; or NULL. */
    struct mortise_event_replay *replay;
};

/* ---- topics ------------------------------------------------------------- */

static struct mortise_topic *topic_find(struct mortise *m, const char *tenant,
                                        const char *run)
{
    struct mortise_table_entry *e;

    for (e = mortise_table_find(&m->topics, mortise_hash_strs(tenant, run));
         e != NULL; e = mortise_table_find_next(e)) {
        struct mortise_topic *t =
            MORTISE_CONTAINER_OF(e, struct mortise_topic, entry);

        if (strcmp(t->tenant, tenant) == 0 && strcmp(t->run, run) == 0)
            return t;
    }
    return NULL;
}

/* Replaces the kept replay. */
static void set_kept_replay(struct mortise_topic *t,
                            struct mortise_event_replay *r)
{
    mortise_event_replay_close(t->replay);
    t->replay = r;
}

static void topic_free(struct mortise *m, struct mortise_topic *t)
{
    set_kept_replay(t, NULL);
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

/* Tell the run whether it must make events. */
static void update_run_watched(const struct mortise_topic *t)
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

/* A read of a run that is not in memory, for a watch.  It may outlive the
 * watch. */
struct mortise_watch_read {
    struct mortise_stored_read stored;
    struct mortise_watch *watch; /* NULL: the watch is over */
    bool graph;                  /* read the graph, too */
    bool stale;                  /* the run was in memory since the read
                                    began */
    void (*then)(struct mortise *m, struct mortise_watch *w,
                 struct mortise_stored_read *s, int rv,
                 const struct mortise_err *err);
};

/* The state of mortise_watch_add() until it returns. */
struct mortise_watch_registration {
    bool over; /* the watch is over */
    struct mortise_err err;
};

static void begin_store_read(const struct mortise_watch *w)
{
    w->topic->n_reading++;
}

static void end_store_read(const struct mortise_watch *w)
{
    struct mortise_topic *t = w->topic;

    assert(t->n_reading > 0);
    if (--t->n_reading == 0 && t->live != NULL && t->live->waits_for_watch)
        mortise_live_continue(t->live);
}

bool mortise_watch_must_delay_run(struct mortise_live *live)
{
    bool holds = live->topic != NULL && live->topic->n_reading > 0;

    live->waits_for_watch |= holds;
    return holds;
}

static void stop_reading(struct mortise_watch *w)
{
    mortise_event_replay_close(w->replay);
    json_decref(w->running);
    w->replay = NULL;
    w->running = NULL;
    if (w->reading)
        end_store_read(w);
    w->reading = false;
}

static void stop_looking(struct mortise_watch *w)
{
    if (w->looking == NULL)
        return;
    w->looking->watch = NULL;
    w->looking = NULL;
    end_store_read(w);
}

/* End the watch; this may free its topic. */
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
    update_run_watched(t);
    if (t->watches == NULL)
        topic_free(m, t);
}

void mortise_watch_end(struct mortise *m, struct mortise_watch *w)
{
    if (w->topic != NULL)
        unlink_watch(m, w);
}

static void finish_watch(struct mortise *m, struct mortise_watch *w, int status,
                         const char *reason, const struct mortise_err *err)
{
    unlink_watch(m, w);
    w->done(w, status, reason, err);
}

static void succeed_watch(struct mortise *m, struct mortise_watch *w,
                          int status, const char *reason)
{
    const struct mortise_err ok = {.code = MORTISE_OK};

    finish_watch(m, w, status, reason, &ok);
}

/* End the watch with an error; if it is being added, mortise_watch_add()
 * returns the error. */
static void fail_watch(struct mortise *m, struct mortise_watch *w,
                       const struct mortise_err *err)
{
    if (w->adding == NULL) {
        finish_watch(m, w, 0, "", err);
        return;
    }
    w->adding->err = *err;
    unlink_watch(m, w);
}

/* ---- read the store ------------------------------------------------------ */

static void watch_look_done(struct mortise_stored_read *s, int rv,
                            const struct mortise_err *err);

/* The head was read. */
static void watch_head_read(struct mortise_stored_read *s, int rv,
                            const struct mortise_err *err)
{
    if (rv == MORTISE_OK &&
        MORTISE_CONTAINER_OF(s, struct mortise_watch_read, stored)->graph)
        mortise_stored_read_graph(s, watch_look_done);
    else
        watch_look_done(s, rv, err);
}

static void start_watch_look(struct mortise *m, struct mortise_watch_read *l)
{
    const struct mortise_topic *t = l->watch->topic;

    l->stale = false;
    mortise_stored_read_head(m, &l->stored, t->tenant, t->run, watch_head_read);
}

static void watch_look_done(struct mortise_stored_read *s, int rv,
                            const struct mortise_err *err)
{
    struct mortise_watch_read *l =
        MORTISE_CONTAINER_OF(s, struct mortise_watch_read, stored);
    struct mortise *m = s->m;
    struct mortise_watch *w = l->watch;

    if (w != NULL && l->stale) {
        mortise_stored_finish(s);
        start_watch_look(m, l);
        return;
    }
    if (w != NULL) {
        stop_looking(w);
        l->then(m, w, s, rv, err);
    }
    mortise_stored_finish(s);
    mortise_release(m->mem, l, sizeof *l);
}

/* Read the head, and the graph if `graph`. */
static void
look_for_watch(struct mortise *m, struct mortise_watch *w, bool graph,
               void (*then)(struct mortise *m, struct mortise_watch *w,
                            struct mortise_stored_read *s, int rv,
                            const struct mortise_err *err))
{
    struct mortise_watch_read *l = mortise_zalloc(m->mem, sizeof *l);
    struct mortise_err err;

    assert(w->looking == NULL);
    if (l == NULL) {
        mortise_nomem(&err);
        fail_watch(m, w, &err);
        return;
    }
    l->watch = w;
    l->graph = graph;
    l->then = then;
    w->looking = l;
    begin_store_read(w);
    start_watch_look(m, l);
}

/* ---- deliver events ------------------------------------------------------ */

/* Nonzero: the watch is over. */
static int deliver_watch_event(struct mortise_watch *w, json_t *event)
{
    const json_t *seq = json_object_get(event, "seq");

    if (seq != NULL) {
        if ((uint64_t)json_integer_value(seq) <= w->after)
            return 0;
        w->after = (uint64_t)json_integer_value(seq);
    }
    return w->event(w, event);
}

/* Report the number of live events missed since a durable event. */
static int deliver_missed(struct mortise_watch *w, uint64_t n, uint64_t since)
{
    char at[MORTISE_TIME_TEXT];
    json_t *event;
    int said;

    mortise_time_format(at, mortise_now_ms());
    event =
        json_pack("{s:b, s:s, s:s, s:s, s:s, s:I, s:I}", "ephemeral", 1, "run",
                  w->topic->run, "tenant", w->topic->tenant, "at", at, "type",
                  "missed", "count", (json_int_t)n, "since", (json_int_t)since);
    if (event == NULL) {
        w->missed += n; /* reported with the next one */
        return 0;
    }
    said = deliver_watch_event(w, event);
    json_decref(event);
    return said;
}

static bool is_watch_full(void *ud)
{
    struct mortise_watch *w = ud;

    return w->full != NULL && w->full(w);
}

/* Read stored events from now on. */
static void set_watch_behind(struct mortise_watch *w)
{
    w->behind = true;
    w->goal = 0;
    w->since = w->after;
}

/* Deliver to an up-to-date watch: an event, or the number of missed ones.
 * False: the watch is over. */
static bool deliver_to_watch(struct mortise *m, struct mortise_watch *w,
                             json_t *event, uint64_t missed)
{
    int said;

    if (!w->behind && is_watch_full(w))
        set_watch_behind(w);
    if (w->behind) {
        w->missed +=
            missed + (event != NULL && json_object_get(event, "seq") == NULL);
        return true;
    }
    said = missed != 0 ? deliver_missed(w, missed, w->after)
                       : deliver_watch_event(w, event);
    if (said != 0)
        finish_watch(m, w, 0, "", NULL);
    return said == 0;
}

/* Deliver to all watches; `held`: the number that the event got when it was
 * held back, else 0. */
static void deliver_to_all(struct mortise_live *live, json_t *event,
                           uint64_t missed, uint64_t held)
{
    struct mortise_watch *w, *next;

    if (live->topic == NULL)
        return;
    for (w = live->topic->watches; w != NULL; w = next) {
        next = w->next;
        if (w->event != NULL && (held == 0 || held > w->held_after))
            deliver_to_watch(live->m, w, event, missed);
    }
}

/* Events that watches wait for may be in commits that the graph's
 * checkpoint_policy delays: commit before a person notices the delay. */
static void hurry_commit(struct mortise_live *live)
{
    if (mortise_run_get_newest_seq(live->run) > mortise_run_seq(live->run) &&
        !live->hurry.armed)
        mortise_timer_arm(&live->m->timers, &live->hurry,
                          mortise_mono_ns_after(HURRY_MS));
}

static void on_hurry_timer(struct mortise_timer *t)
{
    struct mortise_live *live =
        MORTISE_CONTAINER_OF(t, struct mortise_live, hurry);
    struct mortise_input in = {.kind = MORTISE_IN_COMMIT};

    mortise_live_feed(live, &in);
}

/* Must a live event wait for earlier durable ones? */
static bool must_hold_event(struct mortise_live *live)
{
    return live->held != NULL ||
           live->told < mortise_run_get_newest_seq(live->run) ||
           mortise_watch_must_delay_run(live);
}

/* Send the first held event. */
static void deliver_first_held(struct mortise_live *live)
{
    uint64_t id, missed;
    json_t *event = mortise_held_events_take(live, &id, &missed);

    deliver_to_all(live, event, missed, id);
    json_decref(event);
}

/* Send the held events that come before a durable event. */
static void deliver_held_before(struct mortise_live *live, const json_t *event)
{
    const json_t *seq = json_object_get(event, "seq");

    while (mortise_held_events_get_preceding(live) <
           (uint64_t)json_integer_value(seq))
        deliver_first_held(live);
}

void mortise_watch_publish(struct mortise_live *live, json_t *event)
{
    bool durable = json_object_get(event, "seq") != NULL;

    if (live->topic == NULL || live->lost)
        return;
    if (durable)
        deliver_held_before(live, event);
    if (durable || !must_hold_event(live)) {
        deliver_to_all(live, event, 0, 0);
        return;
    }
    mortise_held_events_add(live, event);
    hurry_commit(live);
}

void mortise_watch_add_missed(struct mortise_live *live, uint64_t n)
{
    if (live->topic == NULL || live->lost)
        return;
    if (must_hold_event(live))
        mortise_held_events_add_missed(live, n);
    else
        deliver_to_all(live, NULL, n, 0);
}

void mortise_watch_handle_published(struct mortise_live *live, uint64_t seq)
{
    while (mortise_held_events_get_seq(live) <= seq)
        deliver_first_held(live);
}

/* ---- a watch that is behind ---------------------------------------------- */

static bool stays_after_stored(const struct mortise_watch *w)
{
    return w->until != MORTISE_UNTIL_NOW && w->until != MORTISE_UNTIL_SYNCED;
}

/* Does a run that is not in memory satisfy the watch?  Only a watch for the end
 * of an unfinished run must wait longer. */
static bool is_watch_settled(const struct mortise_watch *w, int status)
{
    return !stays_after_stored(w) || w->until == MORTISE_UNTIL_IDLE ||
           (w->until == MORTISE_UNTIL_END && mortise_run_has_ended(status));
}

/* Send the events of nodes that were running when the watch began.  Nonzero:
 * the watch is over. */
static int deliver_running(struct mortise_watch *w)
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

/* Send held events that come before this durable event. */
static int deliver_held(struct mortise_watch *w, uint64_t seq)
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

static int on_stored_event(void *ud, json_t *event)
{
    struct mortise_watch *w = ud;
    uint64_t seq = (uint64_t)json_integer_value(json_object_get(event, "seq"));

    if (seq > w->known && seq > w->after &&
        (deliver_running(w) != 0 || deliver_held(w, seq) != 0))
        return 1;
    return deliver_watch_event(w, event);
}

/* Use the kept replay, unless it has read beyond the watch. */
static bool take_kept_replay(struct mortise_watch *w)
{
    struct mortise_topic *t = w->topic;

    if (t->replay == NULL ||
        mortise_event_replay_count_events(t->replay) > w->after)
        return false;
    w->replay = t->replay;
    t->replay = NULL;
    mortise_event_replay_set_ud(w->replay, w);
    return true;
}

/* A failed store is not read: watches read again after it was reopened. */
static bool has_store_failed(const struct mortise *m)
{
    return m->state == MORTISE_ENGINE_FAILING ||
           m->state == MORTISE_ENGINE_BROKEN;
}

static void replay_piece_over(void *ud, enum mortise_event_replay_end end,
                              int rv, const struct mortise_err *err);

/* Read stored events, up to those that up-to-date watches were sent. */
static void read_next_piece(struct mortise_watch *w)
{
    const struct mortise_live *live = w->topic->live;

    w->last = live == NULL            ? UINT64_MAX
              : stays_after_stored(w) ? live->told
                                      : w->goal;
    w->held = NULL; /* that event may have been sent to the others */
    w->reading = true;
    begin_store_read(w);
    mortise_event_replay_continue(w->replay, w->last);
}

static void open_and_read_replay(struct mortise *m, struct mortise_watch *w,
                                 struct mortise_graph *g)
{
    static const struct mortise_event_replay_ops ops = {
        on_stored_event, is_watch_full, replay_piece_over};
    const struct mortise_topic *t = w->topic;
    struct mortise_err err;

    if (mortise_event_replay_open(&w->replay, m, t->tenant, t->run, g, &ops, w,
                                  &err) == MORTISE_OK)
        read_next_piece(w);
    else
        fail_watch(m, w, &err);
}

static void watch_graph_read(struct mortise *m, struct mortise_watch *w,
                             struct mortise_stored_read *s, int rv,
                             const struct mortise_err *err)
{
    if (rv == MORTISE_OK) /* the run may have been loaded, and steered,
                             meanwhile */
        open_and_read_replay(
            m, w, w->topic->live != NULL ? w->topic->live->graph : s->graph);
    else if (!has_store_failed(m))
        fail_watch(m, w, err);
}

static void read_stored_events(struct mortise *m, struct mortise_watch *w)
{
    if (w->replay != NULL || take_kept_replay(w))
        read_next_piece(w);
    else if (w->topic->live != NULL)
        open_and_read_replay(m, w, w->topic->live->graph);
    else
        look_for_watch(m, w, true, watch_graph_read);
}

/* The watch has all stored events: report missed ones and running nodes.
 * Nonzero: the watch is over. */
static int set_watch_current(struct mortise_watch *w)
{
    uint64_t missed = w->missed;
    int said = deliver_running(w);

    w->behind = false;
    w->missed = 0;
    if (w->replay != NULL && w->full != NULL && w->topic->live != NULL) {
        set_kept_replay(w->topic, w->replay);
        w->replay = NULL;
    }
    stop_reading(w);
    if (missed > 0 && said == 0)
        said = deliver_missed(w, missed, w->since);
    return said;
}

static void advance_watch(struct mortise *m, struct mortise_watch *w);

/* The watch is up to date; end it if it waited for nothing else. */
static void settle_on_live(struct mortise *m, struct mortise_watch *w)
{
    const struct mortise_live *live = w->topic->live;

    if (!stays_after_stored(w) && !live->lost)
        succeed_watch(m, w, mortise_run_status(live->run),
                      mortise_run_reason(live->run));
}

static void settled_head_read(struct mortise *m, struct mortise_watch *w,
                              struct mortise_stored_read *s, int rv,
                              const struct mortise_err *err)
{
    if (w->behind) /* it fell behind meanwhile */
        advance_watch(m, w);
    else if (w->topic->live != NULL)
        settle_on_live(m, w);
    else if (rv != MORTISE_OK && !has_store_failed(m))
        fail_watch(m, w, err);
    else if (rv == MORTISE_OK && is_watch_settled(w, s->head.status))
        succeed_watch(m, w, s->head.status, s->head.reason);
}

static void settle_current_watch(struct mortise *m, struct mortise_watch *w)
{
    if (set_watch_current(w) != 0)
        finish_watch(m, w, 0, "", NULL);
    else if (w->topic->live != NULL)
        settle_on_live(m, w);
    else if (w->until != MORTISE_UNTIL_CLOSED) /* a subscription never ends by
                                                  itself */
        look_for_watch(m, w, false, settled_head_read);
}

/* The run has advanced, or left memory, since the read began. */
static bool has_more_stored(const struct mortise_watch *w)
{
    const struct mortise_live *live = w->topic->live;

    return live == NULL ? w->last != UINT64_MAX
                        : stays_after_stored(w) && live->told > w->last;
}

static void replay_piece_over(void *ud, enum mortise_event_replay_end end,
                              int rv, const struct mortise_err *err)
{
    struct mortise_watch *w = ud;
    struct mortise *m = w->m;
    const struct mortise_live *live = w->topic->live;

    w->reading = false;
    end_store_read(w);
    if (rv != MORTISE_OK) {
        if (!has_store_failed(m))
            fail_watch(m, w, err);
        return;
    }
    if (end == MORTISE_EVENT_REPLAY_FULL)
        return;
    if (end == MORTISE_EVENT_REPLAY_ENDED)
        finish_watch(m, w, 0, "", NULL);
    else if (live != NULL && (live->lost || live->told < w->goal))
        return;
    else if (has_more_stored(w))
        advance_watch(m, w);
    else
        settle_current_watch(m, w);
}

static void begin_watch(struct mortise *m, struct mortise_watch *w);

/* Bring a watch that is behind as far as possible. */
static void advance_watch(struct mortise *m, struct mortise_watch *w)
{
    const struct mortise_live *live = w->topic->live;

    if (w->reading || w->looking != NULL)
        return; /* the answer calls this again */
    if (w->beginning)
        begin_watch(m, w);
    else if (w->event != NULL)
        read_stored_events(m, w);
    else if (live == NULL || live->told >= w->goal)
        settle_current_watch(m, w);
}

void mortise_watch_continue(struct mortise *m, struct mortise_watch *w)
{
    const struct mortise_topic *t = w->topic;

    if (t == NULL || !w->behind || is_watch_full(w) || has_store_failed(m))
        return;
    if (t->live == NULL || (!t->live->lost && t->live->told >= w->goal))
        advance_watch(m, w);
}

/* ---- begin a watch ------------------------------------------------------- */

static void begin_live_watch(struct mortise *m, struct mortise_watch *w,
                             struct mortise_live *live)
{
    bool follows = stays_after_stored(w) && w->event != NULL;
    struct mortise_err err;

    w->behind = false;
    w->known = mortise_run_watch(live->run, wants_events(w->topic));
    mortise_live_queue_check(live);
    if (stays_after_stored(w) && !follows)
        return;
    w->behind = true;
    w->goal = follows ? mortise_run_get_newest_seq(live->run)
                      : mortise_run_seq(live->run);
    w->held_after = live->n_held;
    if (follows) {
        w->running = mortise_run_list_running(live->run);
        if (w->running == NULL) {
            mortise_nomem(&err);
            fail_watch(m, w, &err);
            return;
        }
    }
    if (live->told >= w->goal)
        advance_watch(m, w);
    else
        hurry_commit(live);
}

/* The head of the run was read. */
static void watch_begun(struct mortise *m, struct mortise_watch *w,
                        struct mortise_stored_read *s, int rv,
                        const struct mortise_err *err)
{
    struct mortise_live *live = w->topic->live;

    if (has_store_failed(m) && rv != MORTISE_OK)
        return;
    w->beginning = false;
    w->missed = 0;
    if (live != NULL && live->lost) {
        fail_watch(m, w, &live->why);
    } else if (live != NULL) { /* the run was loaded meanwhile */
        begin_live_watch(m, w, live);
    } else if (rv != MORTISE_OK) {
        fail_watch(m, w, err);
    } else if (w->event != NULL) {
        advance_watch(m, w);
    } else {
        w->behind = false;
        if (is_watch_settled(w, s->head.status))
            succeed_watch(m, w, s->head.status, s->head.reason);
    }
}

static void begin_watch(struct mortise *m, struct mortise_watch *w)
{
    look_for_watch(m, w, false, watch_begun);
}

int mortise_watch_add(struct mortise *m, struct mortise_watch *w,
                      const char *tenant, const char *run,
                      struct mortise_err *err)
{
    struct mortise_live *live = mortise_live_find(m, tenant, run);
    struct mortise_watch_registration adding = {.err.code = MORTISE_OK};
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
        begin_live_watch(m, w, live);
    else
        begin_watch(m, w);
    if (!adding.over)
        w->adding = NULL;
    if (adding.err.code != MORTISE_OK)
        *err = adding.err;
    return adding.err.code;
}

struct mortise_watch *mortise_watch_find(struct mortise *m, uint64_t id)
{
    struct mortise_table_entry *e;

    for (e = mortise_table_first(&m->topics); e != NULL;
         e = mortise_table_next(&m->topics, e)) {
        struct mortise_watch *w =
            MORTISE_CONTAINER_OF(e, struct mortise_topic, entry)->watches;

        for (; w != NULL; w = w->next) {
            if (w->id == id)
                return w;
        }
    }
    return NULL;
}

/* ---- notifications from live.c ------------------------------------------- */

void mortise_live_start_watches(struct mortise_live *live)
{
    live->hurry.fire = on_hurry_timer;
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
            set_watch_behind(w); /* of a commit whose success was unknown */
        /* A watch that does not stay wants the events stored now, and no later
         * ones. */
        w->goal = stays_after_stored(w) ? 0 : live->told;
        mortise_watch_continue(live->m, w);
    }
}

void mortise_watch_handle_steered(struct mortise_live *live)
{
    struct mortise_topic *t = live->topic;

    if (t == NULL)
        return;
    if (t->replay != NULL)
        mortise_event_replay_set_graph(t->replay, live->graph);
    for (struct mortise_watch *w = t->watches; w != NULL; w = w->next)
        if (w->replay != NULL)
            mortise_event_replay_set_graph(w->replay, live->graph);
}

void mortise_watch_detach(struct mortise_live *live)
{
    struct mortise_watch *w, *next;

    assert(live->lost || live->held == NULL); /* an idle run has sent all its
                                                 events */
    mortise_held_events_drop(live);
    mortise_timer_disarm(&live->m->timers, &live->hurry);
    if (live->topic == NULL)
        return;
    live->topic->live = NULL;
    set_kept_replay(live->topic, NULL);
    for (w = live->topic->watches; w != NULL; w = next) {
        next = w->next;
        w->held_after = 0; /* these numbers count from when the run was
                              loaded */
        if (w->looking != NULL)
            w->looking->stale = true;
        if (live->lost && w->event != NULL && !w->behind)
            set_watch_behind(w);
        mortise_watch_continue(live->m, w);
    }
    live->topic = NULL;
}

static void continue_watches(struct mortise *m, const struct mortise_topic *t)
{
    struct mortise_watch *w, *next;

    for (w = t->watches; w != NULL; w = next) {
        next = w->next;
        mortise_watch_continue(m, w);
    }
}

void mortise_watch_handle_reopened(struct mortise *m)
{
    struct mortise_table_entry *e, *next;

    for (e = mortise_table_first(&m->topics); e != NULL; e = next) {
        next = mortise_table_next(&m->topics, e);
        continue_watches(m,
                         MORTISE_CONTAINER_OF(e, struct mortise_topic, entry));
    }
}

void mortise_watch_handle_written(struct mortise_live *live)
{
    if (live->topic != NULL)
        continue_watches(live->m, live->topic);
}

void mortise_watch_handle_idle(struct mortise_live *live)
{
    struct mortise_watch *w, *next;
    bool finished = mortise_run_is_finished(live->run);

    if (live->topic == NULL)
        return;
    for (w = live->topic->watches; w != NULL; w = next) {
        next = w->next;
        if (!w->behind && (w->until == MORTISE_UNTIL_IDLE ||
                           (w->until == MORTISE_UNTIL_END && finished)))
            succeed_watch(live->m, w, mortise_run_status(live->run),
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
            finish_watch(m, w, 0, "", err);
    }
}

void mortise_watch_handle_lost(struct mortise_live *live,
                               const struct mortise_err *e)
{
    if (live->topic != NULL)
        fail_topic(live->m, live->topic, e);
}

void mortise_watch_fail_all(struct mortise *m, const struct mortise_err *err)
{
    struct mortise_table_entry *e, *next;

    for (e = mortise_table_first(&m->topics); e != NULL; e = next) {
        next = mortise_table_next(&m->topics, e);
        fail_topic(m, MORTISE_CONTAINER_OF(e, struct mortise_topic, entry),
                   err);
    }
}

void mortise_watch_close(struct mortise *m)
{
    struct mortise_table_entry *e;

    while ((e = mortise_table_first(&m->topics)) != NULL)
        finish_watch(
            m, MORTISE_CONTAINER_OF(e, struct mortise_topic, entry)->watches, 0,
            "", NULL);
}
