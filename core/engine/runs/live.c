/* live.c -- a run in memory: started, loaded, stepped, dropped, lost.
 *
 * A run comes into memory when it is started, gets a command or is overdue, and
 * leaves when it is idle.  While it is in memory, all its events are fed to the
 * step function, and the resulting actions are carried out before the next
 * event is fed (E1).
 *
 * Before that the store is read: the run is being loaded (struct load), and
 * commands to it are queued.  The state may change until the store answers: the
 * engine may close, or a run with that id may have begun.  So the answer checks
 * again.
 *
 * A run is lost when its state in memory can no longer be trusted or kept: a
 * commit could not be written or handed over, memory ran out in a step, or the
 * engine closes.  Then everything that is not on disk is dropped at once.  The
 * struct stays until its commits and calls in flight have returned, so that
 * nobody loads the run while they may still land.
 *
 * A run is blocked when one of its plugins, or the definition of one of its
 * tools, is missing or not as pinned (R4).  It can still be cancelled: its
 * finalisers run, and each call is checked separately
 * (mortise_live_check_call()).  A call of a missing plugin fails; the finalisers
 * of other plugins do their work.
 */
#include "core/engine/common/news.h"
#include "core/engine/common/tree_purses.h"
#include "core/engine/runs/host_calls.h"
#include "core/engine/runs/script.h"
#include "core/engine/runs/spawns.h"
#include "core/engine/runs/start.h"
#include "core/engine/runs/streams.h"

#include <sodium.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/run/command/run_commands.h"

struct mortise_run_timer {
    struct mortise_table_entry entry;
    struct mortise_timer timer;
    struct mortise_task task; /* used instead of `timer` if it is due at once */
    struct mortise_live *live;
    uint64_t id;
    uint64_t wall_ms; /* due at this wall-clock time; 0: after a duration */
    struct mortise_run_timer *next, **at; /* in the run's list */
    bool queued, disarmed;
};

/* ---- find ---------------------------------------------------------------- */

struct mortise_live *mortise_live_find(struct mortise *m, const char *tenant,
                                       const char *run)
{
    struct mortise_table_entry *e;

    for (e = mortise_table_find(&m->lives, mortise_hash_strs(tenant, run));
         e != NULL; e = mortise_table_find_next(e)) {
        struct mortise_live *live =
            MORTISE_CONTAINER_OF(e, struct mortise_live, entry);

        if (strcmp(live->tenant, tenant) == 0 && strcmp(live->id, run) == 0)
            return live;
    }
    return NULL;
}

/* ---- timers ------------------------------------------------------------- */

static void timer_free(struct mortise_run_timer *t)
{
    struct mortise_live *live = t->live;

    mortise_timer_disarm(&live->m->timers, &t->timer);
    mortise_table_remove(&live->m->run_timers, &t->entry);
    *t->at = t->next;
    if (t->next != NULL)
        t->next->at = t->at;
    mortise_release(live->m->mem, t, sizeof *t);
}

/* The timer is due: free it, and feed the run. */
static void fire_run_timer(struct mortise_run_timer *t)
{
    struct mortise_live *live = t->live;
    struct mortise_input in = {.kind = MORTISE_IN_TIMER, .u.timer = t->id};
    bool tell = !t->disarmed && !live->lost;

    timer_free(t);
    if (tell)
        mortise_live_feed(live, &in);
}

static void on_run_timer(struct mortise_timer *timer)
{
    fire_run_timer(
        MORTISE_CONTAINER_OF(timer, struct mortise_run_timer, timer));
}

static void fire_due_timer(struct mortise_task *task)
{
    struct mortise_run_timer *t =
        MORTISE_CONTAINER_OF(task, struct mortise_run_timer, task);

    t->live->pending--;
    mortise_live_queue_check(t->live);
    fire_run_timer(t);
}

static uint64_t timer_hash(const struct mortise_live *live, uint64_t id)
{
    return mortise_hash_u64s((uint64_t)(uintptr_t)live, id);
}

static int arm_run_timer(struct mortise_live *live,
                         const struct mortise_action *a,
                         struct mortise_err *err)
{
    struct mortise *m = live->m;
    struct mortise_run_timer *t = mortise_zalloc(m->mem, sizeof *t);

    if (t == NULL)
        return mortise_nomem(err);
    t->live = live;
    t->id = a->u.timer.id;
    t->wall_ms = a->u.timer.wall ? a->u.timer.at_ms : 0;
    t->timer.fire = on_run_timer;
    t->task.run = fire_due_timer;
    t->next = live->timers;
    t->at = &live->timers;
    if (t->next != NULL)
        t->next->at = &t->next;
    live->timers = t;
    mortise_table_add(&m->run_timers, &t->entry, timer_hash(live, t->id));
    if (a->u.timer.in_ms > 0) {
        mortise_timer_arm(&m->timers, &t->timer,
                          mortise_mono_ns_after(a->u.timer.in_ms));
        return MORTISE_OK;
    }
    t->queued = true;
    live->pending++;
    mortise_task_make_ready(m, &t->task);
    return MORTISE_OK;
}

void mortise_live_rearm_timers(struct mortise *m)
{
    uint64_t now_ms = mortise_now_ms();
    struct mortise_table_entry *e;

    for (e = mortise_table_first(&m->run_timers); e != NULL;
         e = mortise_table_next(&m->run_timers, e)) {
        struct mortise_run_timer *t =
            MORTISE_CONTAINER_OF(e, struct mortise_run_timer, entry);

        if (t->wall_ms == 0 || t->queued)
            continue;
        mortise_timer_disarm(&m->timers, &t->timer);
        mortise_timer_arm(&m->timers, &t->timer,
                          mortise_mono_ns_after(
                              t->wall_ms > now_ms ? t->wall_ms - now_ms : 0));
    }
}

static void disarm_run_timer(struct mortise_live *live, uint64_t id)
{
    struct mortise_table_entry *e;

    for (e = mortise_table_find(&live->m->run_timers, timer_hash(live, id));
         e != NULL; e = mortise_table_find_next(e)) {
        struct mortise_run_timer *t =
            MORTISE_CONTAINER_OF(e, struct mortise_run_timer, entry);

        if (t->live != live || t->id != id || t->disarmed)
            continue;
        t->disarmed = true;
        if (!t->queued)
            timer_free(t);
        return;
    }
}

/* Free all timers except those with a queued task, which frees them. */
static void disarm_run_timers(struct mortise_live *live)
{
    struct mortise_run_timer *t, *next;

    for (t = live->timers; t != NULL; t = next) {
        next = t->next;
        if (!t->queued)
            timer_free(t);
    }
}

/* ---- create and free ----------------------------------------------------- */

static void feed_landed_commits(struct mortise_task *t);
static void give_queued_order(struct mortise_task *t);

static void live_free(struct mortise_live *live)
{
    struct mortise *m = live->m;

    mortise_tree_detach_run(live);
    assert(live->flying == 0 && live->pending == 0 && live->calls == NULL);
    mortise_streams_free(live);
    disarm_run_timers(live);
    mortise_commits_detach_run(live);
    mortise_watch_detach(live);
    mortise_table_remove(&m->lives, &live->entry);
    mortise_run_free(live->run);
    mortise_graph_unref(live->graph);
    mortise_release_str(m->mem, live->starter);
    mortise_release(m->mem, live, sizeof *live);
}

static struct mortise_live *live_new(struct mortise *m, struct mortise_graph *g,
                                     const char *tenant, const char *run,
                                     struct mortise_err *err)
{
    struct mortise_live *live = mortise_zalloc(m->mem, sizeof *live);

    if (live == NULL) {
        mortise_nomem(err);
        return NULL;
    }
    live->m = m;
    live->graph = mortise_graph_ref(g);
    live->landed_task.run = feed_landed_commits;
    live->order_task.run = give_queued_order;
    mortise_live_start_watches(live);
    strcpy(live->tenant, tenant); /* callers checked the lengths */
    strcpy(live->id, run);
    mortise_table_add(&m->lives, &live->entry, mortise_hash_strs(tenant, run));
    return live;
}

void mortise_live_queue_check(struct mortise_live *live)
{
    if (live->touched)
        return;
    live->touched = true;
    live->next_touched = live->m->touched;
    live->m->touched = live;
}

struct awaiting {
    const struct mortise_live *live;
    bool at_work; /* a child that it waits for is in memory */
};

static void check_awaited_child(void *ud, const char *handle)
{
    struct awaiting *a = ud;
    char parent[MORTISE_NAME_MAX + 1], id[MORTISE_SPAWN_ID];
    char child[MORTISE_SPAWN_ID];

    if (!mortise_spawns_parse_handle(handle, parent, id))
        return;
    mortise_spawn_make_child_id(
        child, id); /* the id of a native child; a foreign child
                                       is not in memory */
    a->at_work |= mortise_live_is_in_memory(a->live->m, a->live->tenant, child);
}

/* Does the run wait for a child in memory?  Then it stays, too.  children.c
 * tells it when the child becomes idle. */
static bool waits_for_child_at_work(const struct mortise_live *live)
{
    struct awaiting a = {.live = live};

    if (mortise_run_status(live->run) == MORTISE_RUN_WAITING)
        mortise_run_for_each_awaited(live->run, check_awaited_child, &a);
    return a.at_work;
}

static bool is_live_idle(struct mortise_live *live)
{
    if (live->flying > 0 || live->pending > 0 || live->calls != NULL)
        return false;
    return live->lost ||
           (live->orders == NULL && mortise_run_is_idle(live->run) &&
            !waits_for_child_at_work(live) &&
            !mortise_watch_must_delay_run(live));
}

/* Tell the parent that this child leaves without an end. */
static void report_child_idle(const struct mortise_live *live)
{
    const char *by =
        live->run != NULL ? mortise_run_get_spawn_handle(live->run) : NULL;

    if (by != NULL && !mortise_run_has_ended(mortise_run_status(live->run)))
        mortise_news_add(live->m, MORTISE_NEWS_STOPPED, live->tenant, by);
}

static void log_idle_run(const struct mortise_live *live)
{
    const char *reason = mortise_run_reason(live->run);

    mortise_log(live->m, MORTISE_LOG_INFO, "run %s: %s%s%s", live->id,
                mortise_run_status_name(mortise_run_status(live->run)),
                reason[0] != '\0' ? ", " : "", reason);
}

void mortise_live_drop_idle(struct mortise *m)
{
    struct mortise_live *live;

    while ((live = m->touched) != NULL) {
        m->touched = live->next_touched;
        live->touched = false;
        if (!is_live_idle(live))
            continue;
        if (!live->lost) {
            report_child_idle(live);
            log_idle_run(live);
            mortise_watch_handle_idle(live);
        }
        live_free(live);
    }
}

static void fail_all_orders(struct mortise_live *live,
                            const struct mortise_err *why)
{
    struct mortise_order *o;

    while ((o = live->orders) != NULL) {
        live->orders = o->next;
        o->done(o, why);
    }
}

void mortise_live_discard(struct mortise_live *live,
                          const struct mortise_err *why)
{
    if (live->lost)
        return;
    live->lost = true;
    live->why = *why;
    mortise_log(live->m, MORTISE_LOG_WARN, "run %s is dropped from memory: %s",
                live->id, why->msg);
    mortise_commits_drop_unflushed(live);
    mortise_tree_detach_run(live);
    report_child_idle(live);
    mortise_calls_cancel_all(live);
    disarm_run_timers(live);
    mortise_run_free(live->run);
    live->run = NULL;
    fail_all_orders(live, &live->why);
    mortise_watch_handle_lost(live, &live->why);
    mortise_live_queue_check(live);
}

void mortise_live_discard_all(struct mortise *m, const struct mortise_err *why)
{
    struct mortise_table_entry *e;

    for (e = mortise_table_first(&m->lives); e != NULL;
         e = mortise_table_next(&m->lives, e))
        mortise_live_discard(
            MORTISE_CONTAINER_OF(e, struct mortise_live, entry), why);
}

/* ---- actions ------------------------------------------------------------ */

static void answer_first_order(struct mortise_live *live,
                               const struct mortise_err *said, int result)
{
    struct mortise_order *o = live->orders;
    struct mortise_err err = {.code = MORTISE_OK};

    assert(o != NULL); /* run/ answers each order once */
    if (result != MORTISE_OK)
        err = *said;
    live->orders = o->next;
    if (live->orders != NULL) {
        live->pending++;
        mortise_task_make_ready(live->m, &live->order_task);
    }
    o->done(o, &err);
}

bool mortise_live_update_graph(struct mortise_live *live)
{
    struct mortise_graph *g = mortise_run_graph(live->run);

    if (g == live->graph)
        return false;
    mortise_graph_ref(g);
    mortise_graph_unref(live->graph);
    live->graph = g;
    mortise_watch_handle_steered(live);
    return true;
}

static int carry_out_action(struct mortise_live *live, struct mortise_action *a,
                            struct mortise_err *err)
{
    switch (a->kind) {
    case MORTISE_ACT_COMMIT:
        return mortise_commits_take(live, &a->u.commit, err);
    case MORTISE_ACT_CALL:
        return mortise_calls_begin(live, &a->u.call, err);
    case MORTISE_ACT_CANCEL:
        mortise_calls_cancel(live, a->u.cancel);
        break;
    case MORTISE_ACT_ARM:
        return arm_run_timer(live, a, err);
    case MORTISE_ACT_DISARM:
        disarm_run_timer(live, a->u.timer.id);
        break;
    case MORTISE_ACT_PUBLISH:
        mortise_watch_publish(live, a->u.publish);
        break;
    case MORTISE_ACT_PERFORM:
        mortise_host_call_perform(live, a->u.perform.ask, a->u.perform.step,
                                  a->u.perform.key);
        break;
    case MORTISE_ACT_REPLY:
        mortise_host_call_reply(live->m, a->u.reply.ask, a->u.reply.status,
                                a->u.reply.value);
        break;
    case MORTISE_ACT_APPLIED:
        answer_first_order(live, &a->u.applied.err, a->u.applied.result);
        break;
    case MORTISE_ACT_SYNC:
        mortise_commits_request_sync(live->m);
        break;
    }
    return MORTISE_OK;
}

/* Carry out the actions of the current step; if that fails, the run is lost. */
static void carry_out_actions(struct mortise_live *live)
{
    struct mortise_actions *a = &live->m->actions;
    struct mortise_err err;
    int rv = mortise_tree_record_run(live, &err);

    for (size_t i = 0; i < a->n && rv == MORTISE_OK && !live->lost; i++)
        rv = carry_out_action(live, &a->list[i], &err);
    mortise_actions_clear(a);
    if (rv != MORTISE_OK)
        mortise_live_discard(live, &err);
    mortise_live_queue_check(live);
}

/* A step failed: a damaged run is lost, and its actions are dropped. */
static void handle_step_error(struct mortise_live *live, int rv,
                              const struct mortise_err *err)
{
    mortise_actions_clear(&live->m->actions);
    if (rv == MORTISE_ENOMEM || rv == MORTISE_ECORRUPT)
        mortise_live_discard(live, err);
    mortise_live_queue_check(live);
}

void mortise_live_feed(struct mortise_live *live, struct mortise_input *in)
{
    struct mortise *m = live->m;
    struct mortise_err err;
    int rv;

    assert_on_loop(m);
    if (live->lost)
        return;
    assert(m->actions.n == 0); /* (E1) */
    in->now_ms = mortise_now_ms();
    in->elapsed_ms = mortise_mono_ms();
    mortise_tree_update_run(live);
    rv = mortise_run_step(live->run, in, &m->actions, &err);
    if (rv == MORTISE_OK) {
        carry_out_actions(live);
        return;
    }
    handle_step_error(live, rv, &err);
    if (!live->lost)
        mortise_log(m, MORTISE_LOG_ERROR, "run %s: %s", live->id, err.msg);
}

/* Commits up to seq are stored, or synced: the run publishes their events, and
 * dependent work follows.  In between, send the held events that waited for one
 * of these commits.  False: watches must read stored events first. */
static bool feed_landed(struct mortise_live *live, enum mortise_input_kind kind,
                        uint64_t seq)
{
    struct mortise_input in = {.kind = kind};

    do {
        in.u.seq = mortise_held_events_get_seq(live);
        in.u.seq = in.u.seq < seq ? in.u.seq : seq;
        live->told = in.u.seq > live->told ? in.u.seq : live->told;
        mortise_watch_handle_written(live);
        if (mortise_watch_must_delay_run(live))
            return false;
        mortise_live_feed(live, &in);
        mortise_watch_handle_published(live, in.u.seq);
    } while (in.u.seq < seq && !live->lost);
    return true;
}

static void feed_landed_commits(struct mortise_task *t)
{
    struct mortise_live *live =
        MORTISE_CONTAINER_OF(t, struct mortise_live, landed_task);
    uint64_t written = live->written, synced = live->synced;

    live->pending--;
    live->landed_queued = false;
    mortise_live_queue_check(live);
    live->waits_for_watch = false;
    if (live->lost)
        return;
    if (synced > live->told_synced &&
        !feed_landed(live, MORTISE_IN_SYNCED, synced))
        return;
    live->told_synced = synced;
    if (written > synced && written > live->told_written && !live->lost &&
        !feed_landed(live, MORTISE_IN_WRITTEN, written))
        return;
    live->told_written = written;
    if (!live->lost && !mortise_watch_must_delay_run(live))
        mortise_watch_handle_published(live, live->told);
}

void mortise_live_continue(struct mortise_live *live)
{
    if (live->landed_queued)
        return;
    live->landed_queued = true;
    live->pending++;
    mortise_task_make_ready(live->m, &live->landed_task);
}

/* A run that is not on disk does not exist after a crash (R3), so it has not
 * started before. */
static void log_run_start(struct mortise_live *live)
{
    mortise_log(live->m, MORTISE_LOG_INFO, "run %s: started, graph '%s', by %s",
                live->id, live->graph->name, live->starter);
    mortise_release_str(live->m->mem, live->starter);
    live->starter = NULL;
}

void mortise_live_set_written(struct mortise_live *live, uint64_t written,
                              uint64_t synced)
{
    if (live->lost)
        return;
    live->written = written;
    live->synced = synced;
    if (synced > 0 && live->starter != NULL)
        log_run_start(live);
    mortise_live_continue(live);
}

/* A run whose tree's budget cannot be found is lost. */
static void join_tree_or_lose(struct mortise_live *live)
{
    struct mortise_err err;

    if (mortise_tree_attach_run(live, &err) != MORTISE_OK)
        mortise_live_discard(live, &err);
}

/* ---- start --------------------------------------------------------------- */

/* Set the identity for ids of effects, and the random seed. */
static void set_admission_ids(const struct mortise *m,
                              struct mortise_admission *adm)
{
    memcpy(adm->store.b, m->store->identity, MORTISE_STORE_ID);
    randombytes_buf(adm->seed, sizeof adm->seed);
    mortise_script_set_identity(m, adm);
}

static int admit_new_run(struct mortise_live *live,
                         const struct mortise_new_run *n,
                         struct mortise_err *err)
{
    struct mortise *m = live->m;
    const struct mortise_graph *g = live->graph;
    size_t size = (g->n_plugins + 1) * sizeof(struct mortise_pin);
    struct mortise_pin *pins = mortise_alloc(m->mem, size);
    struct mortise_admission adm = {.tenant = live->tenant,
                                    .run = live->id,
                                    .input = n->input,
                                    .actor = n->actor,
                                    .order = n->order,
                                    .spawned_by = n->spawned_by,
                                    .spawn = n->spawn,
                                    .pins = pins};
    int rv = pins != NULL ? mortise_pins_find(m, g, pins, &adm.n_pins, err)
                          : mortise_nomem(err);

    set_admission_ids(m, &adm);
    live->created_ms = mortise_now_ms();
    adm.elapsed_ms = mortise_mono_ms();
    if (rv == MORTISE_OK)
        rv = mortise_run_admit(&live->run, m->mem, live->graph, &adm,
                               live->created_ms, &m->actions, err);
    mortise_release(m->mem, pins, size);
    return rv;
}

static void end_run_start(struct mortise_new_run *n, struct mortise_live *live,
                          const struct mortise_err *err)
{
    mortise_graph_unref(n->graph);
    n->done(n, live, err);
}

/* The id is free. */
static void start_run_now(struct mortise_new_run *n)
{
    struct mortise *m = n->m;
    struct mortise_err err = {.code = MORTISE_OK};
    struct mortise_live *live = live_new(m, n->graph, n->tenant, n->run, &err);
    int rv = live != NULL ? admit_new_run(live, n, &err) : MORTISE_ENOMEM;

    if (rv == MORTISE_OK &&
        (live->starter = mortise_strdup(m->mem, n->actor)) == NULL)
        rv = mortise_nomem(&err);
    if (rv != MORTISE_OK) {
        mortise_actions_clear(&m->actions);
        if (live != NULL)
            live_free(live);
        end_run_start(n, NULL, &err);
        return;
    }
    live->checked = true;
    mortise_watch_attach(live);
    carry_out_actions(live);
    join_tree_or_lose(live);
    err.code = MORTISE_OK;
    end_run_start(n, live, &err);
}

static void fail_id_taken(struct mortise_new_run *n)
{
    struct mortise_err err;

    mortise_fail(&err, MORTISE_EEXISTS, "a run '%s' already exists", n->run);
    end_run_start(n, NULL, &err);
}

/* The store was read for a run with this id.  It may have been started
 * since. */
static void new_run_id_read(struct mortise_stored_read *s, int rv,
                            const struct mortise_err *err)
{
    struct mortise_new_run *n =
        MORTISE_CONTAINER_OF(s, struct mortise_new_run, stored);
    struct mortise_err why = *err;
    bool taken = rv == MORTISE_OK;

    mortise_stored_finish(s);
    if (rv == MORTISE_ENOTFOUND && s->removed)
        rv = mortise_fail(
            &why, MORTISE_EEXISTS,
            "a run '%s' existed and was removed; ids are never used twice",
            n->run);
    else if (rv == MORTISE_ENOTFOUND)
        rv = mortise_engine_check_ready(n->m, &why);
    if (rv != MORTISE_OK)
        end_run_start(n, NULL, &why);
    else if (taken || mortise_live_find(n->m, n->tenant, n->run) != NULL)
        fail_id_taken(n);
    else
        start_run_now(n);
}

static int check_new_run_id(struct mortise_new_run *n, const char *tenant,
                            const char *run, struct mortise_err *err)
{
    int rv = mortise_name_check("tenant", tenant, err);

    if (rv == MORTISE_OK)
        rv = mortise_name_check("run id", run, err);
    if (rv == MORTISE_OK && run[0] == '-')
        rv = mortise_fail(
            err, MORTISE_EINVAL,
            "a run id must not begin with '-', because options do: '%.200s'",
            run);
    if (rv != MORTISE_OK)
        return rv;
    strcpy(n->tenant, tenant);
    strcpy(n->run, run);
    return rv;
}

void mortise_live_start(struct mortise *m, struct mortise_new_run *n,
                        struct mortise_graph *g, const char *tenant,
                        const char *run)
{
    char made[MORTISE_UUID_TEXT];
    struct mortise_err err;
    int rv;

    assert_on_loop(m);
    n->m = m;
    n->graph = mortise_graph_ref(g);
    if (run == NULL)
        mortise_uuid_format(made, mortise_uuid7_make_now());
    rv = check_new_run_id(n, tenant, run != NULL ? run : made, &err);
    if (rv != MORTISE_OK) {
        end_run_start(n, NULL, &err);
    } else if (run == NULL) { /* unique; the commit checks it */
        start_run_now(n);
    } else if (mortise_live_find(m, tenant, n->run) != NULL) {
        fail_id_taken(n);
    } else {
        mortise_stored_read_head(m, &n->stored, n->tenant, n->run,
                                 new_run_id_read);
    }
}

/* ---- checks of plugins --------------------------------------------------- */

static int fail_pin_changed(const struct mortise *m,
                            const struct mortise_pin *pin, const char *run,
                            const struct mortise_pin *here,
                            const struct mortise_manifest *man,
                            struct mortise_err *err)
{
    char was[MORTISE_DIGEST_HEX], is[MORTISE_DIGEST_HEX];
    static const char prefix[] = MORTISE_TOOL_PIN_PREFIX;
    const char *digest;

    mortise_hex_encode(was, pin->digest, MORTISE_DIGEST);
    mortise_hex_encode(is, here->digest, MORTISE_DIGEST);
    if (mortise_deployment_is_tool(m->settings.deployment, pin->plugin,
                                   &digest))
        return mortise_fail(
            err, MORTISE_EBLOCKED,
            "run %s needs tool '%s' with definition %s, but mortise.lock "
            "now has definition %s. Pin the old definition again, or accept "
            "the new one: `mortise resume %s --accept-plugins`",
            run, pin->plugin + sizeof prefix - 1, was, is, run);
    return mortise_fail(
        err, MORTISE_EBLOCKED,
        "run %s needs plugin '%s' with digest %s, but the installed one (%s "
        "%s%s) has digest %s. Install the old one again, or accept the new one "
        "(--accept-plugins)",
        run, pin->plugin, was, man->name, man->version,
        man->dev ? ", an unsigned build" : "", is);
}

/* An execution that crashed the process repeatedly would do it again. */
static int check_run_deaths(struct mortise *m, const char *tenant,
                            const char *run, struct mortise_err *err)
{
    struct mortise_deaths d;
    char when[MORTISE_TIME_TEXT];
    const char *plugin;

    if (!mortise_plugins_find_deaths(m->plugins, tenant, run, &plugin, &d) ||
        d.times < MORTISE_DEATHS_BLOCK)
        return MORTISE_OK;
    mortise_time_format(when, d.last_ms);
    return mortise_fail(
        err, MORTISE_EBLOCKED,
        "run %s: plugin '%s' crashed the process %u times in node %s (the last "
        "time at %s: it %s).  Install a version that does not crash, or retry: "
        "`mortise plugin unquarantine %s`",
        run, plugin, d.times, d.path, when, d.how, plugin);
}

/* The pinned plugin or tool is missing. */
static int fail_pin_missing(struct mortise *m, const char *run, const char *pin,
                            struct mortise_err *err)
{
    struct mortise_err why;

    if (mortise_deployment_is_part_missing(m->settings.deployment, pin, &why))
        return mortise_fail(err, MORTISE_EBLOCKED, "run %s: %s", run, why.msg);
    return mortise_err_prefix(err, mortise_pin_map_error(err),
                              "run %s needs plugin '%s'", run, pin);
}

static int check_run_pin(struct mortise *m, const char *id,
                         const struct mortise_pin *pin,
                         struct mortise_pin *changed, size_t *n_changed,
                         struct mortise_err *err)
{
    struct mortise_pin here;
    const struct mortise_manifest *man = mortise_pin_find(
        m->settings.deployment, m->plugins, pin->plugin, &here, err);

    if (man == NULL)
        return fail_pin_missing(m, id, pin->plugin, err);
    if (memcmp(here.digest, pin->digest, MORTISE_DIGEST) == 0)
        return MORTISE_OK;
    if (changed == NULL)
        return fail_pin_changed(m, pin, id, &here, man, err);
    here.plugin = pin->plugin;
    changed[(*n_changed)++] = here;
    return MORTISE_OK;
}

/* Check the run's plugins against its pins (R4); or, with `changed` not NULL,
 * list the present pins of those that differ: it has room for all. */
static int check_run_pins(struct mortise *m, const char *id,
                          const struct mortise_run *run,
                          struct mortise_pin *changed, size_t *n_changed,
                          struct mortise_err *err)
{
    size_t n;
    const struct mortise_pin *pins = mortise_run_pins(run, &n);
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < n; i++)
        rv = check_run_pin(m, id, &pins[i], changed, n_changed, err);
    return rv;
}

/* Does the pin belong to a call of this plugin by this operation? */
static bool is_pin_of_call(const struct mortise_deployment *d, const char *pin,
                           const char *plugin, const char *op)
{
    static const char prefix[] = MORTISE_TOOL_PIN_PREFIX;
    size_t n = sizeof prefix - 1, len = strlen(plugin);

    if (strncmp(pin, prefix, n) != 0)
        return strcmp(mortise_deployment_find_plugin(d, pin, NULL), plugin) ==
               0;
    return op != NULL && strncmp(pin + n, plugin, len) == 0 &&
           pin[n + len] == '/' && strcmp(pin + n + len + 1, op) == 0;
}

int mortise_live_check_call(struct mortise_live *live, const char *plugin,
                            const char *op, struct mortise_err *err)
{
    struct mortise *m = live->m;
    const struct mortise_catalog *catalog = &m->catalogs->strict;
    size_t n;
    const struct mortise_pin *pins = mortise_run_pins(live->run, &n);
    struct mortise_deaths d;
    const char *deadly;
    int rv = MORTISE_OK;

    assert(!live->checked); /* checked as a whole */
    if (!mortise_run_is_ending(live->run))
        return MORTISE_OK;
    if (mortise_plugins_find_deaths(m->plugins, live->tenant, live->id, &deadly,
                                    &d) &&
        strcmp(deadly, plugin) == 0)
        rv = check_run_deaths(m, live->tenant, live->id, err);
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++)
        if (is_pin_of_call(m->settings.deployment, pins[i].plugin, plugin, op))
            rv = check_run_pin(m, live->id, &pins[i], NULL, NULL, err);
    if (rv == MORTISE_OK && op != NULL &&
        catalog->operation(catalog->ud, plugin, op, err) == NULL)
        rv = mortise_err_prefix(err, MORTISE_EBLOCKED, "run %s", live->id);
    return rv;
}

/* ---- commands ----------------------------------------------------------- */

/* Does the order make plugins run?  Reads, pauses and finished runs do not,
 * unless a resume must `ask` for the result of an effect in doubt.  A cancelled
 * run may have finalisers. */
static bool needs_order_plugins(const struct mortise_order *o, int status,
                                bool ask)
{
    bool over = !ask && (status == MORTISE_RUN_COMPLETED ||
                         status == MORTISE_RUN_CANCELLED);
    bool works = false;

    if (o->flags & MORTISE_NO_CONTINUE)
        return false;
    for (size_t i = 0; i < o->n; i++) {
        const struct mortise_command_row *row =
            mortise_command_row(o->list[i].kind);

        works |=
            row->restarts || (!over && row->way != MORTISE_COMMAND_PAUSES_RUN);
    }
    return works;
}

/* Does the order only record decisions of people?  They need no plugin: if a
 * plugin is missing, they are recorded, and the run continues when the plugin
 * is back.  Edited arguments need it, to be checked. */
static bool is_order_decision(const struct mortise_order *o)
{
    bool word = o->n > 0;

    for (size_t i = 0; i < o->n; i++) {
        const struct mortise_run_command *c = &o->list[i];
        const struct mortise_command_row *row = mortise_command_row(c->kind);

        word &=
            row->subject != NULL && !(row->plugin_judges && c->value != NULL);
    }
    return word;
}

/* Does the order only end the run? */
static bool is_order_end(const struct mortise_order *o)
{
    return o->n == 1 && mortise_command_row(o->list[0].kind)->way ==
                            MORTISE_COMMAND_ENDS_RUN;
}

static void set_record_only(struct mortise_order *o)
{
    o->flags |= MORTISE_NO_CONTINUE;
    o->blocked = true;
}

/* The new graph in the order's commands, unless it was applied before: a diff,
 * or (*whole) the graph of an edited plan; NULL: none. */
static const json_t *get_order_graph(const struct mortise_live *live,
                                     const struct mortise_order *o, bool *whole)
{
    const json_t *plan = NULL;

    *whole = false;
    if (mortise_run_has_order(live->run, o->id))
        return NULL;
    for (size_t i = 0; i < o->n; i++) {
        if (mortise_command_row(o->list[i].kind)->steers)
            return o->list[i].value;
        if (plan == NULL)
            plan = mortise_run_get_edited_plan(live->run, &o->list[i]);
    }
    *whole = plan != NULL;
    return plan;
}

static int step_with_order(struct mortise_live *live,
                           const struct mortise_order *o,
                           const struct mortise_pin *pins, size_t n_pins,
                           struct mortise_err *err)
{
    struct mortise_steering steering = {.graph = NULL};
    bool whole;
    const json_t *graph = get_order_graph(live, o, &whole);
    const struct mortise_input in = {
        .kind = MORTISE_IN_COMMAND,
        .now_ms = mortise_now_ms(),
        .elapsed_ms = mortise_mono_ms(),
        .u.command = {.list = o->list,
                      .n = o->n,
                      .flags = o->flags & MORTISE_NO_CONTINUE,
                      .blocked = o->blocked,
                      .actor = o->actor,
                      .patience_ms = live->m->quiesce_ms,
                      .pins = pins,
                      .n_pins = n_pins,
                      .order = o->id,
                      .steering = graph != NULL ? &steering : NULL}};

    int rv = mortise_host_call_check_resolved(live->run, o->list, o->n, err);

    if (rv == MORTISE_OK && graph != NULL)
        rv = (whole ? mortise_steering_replace : mortise_steering_make)(
            live->m, live->run, graph, &steering, o->report, o->findings, err);
    mortise_tree_update_run(live);
    if (rv == MORTISE_OK)
        rv = mortise_run_step(live->run, &in, &live->m->actions, err);
    mortise_steering_free(live->m, &steering);
    return rv;
}

/* A run that was loaded for reading may have a stand-in for its pinned graph,
 * which cannot run. */
static int check_run_graph(struct mortise *m, const char *run,
                           const struct mortise_graph *g,
                           struct mortise_err *err)
{
    struct mortise_graph *strict;
    int rv = mortise_graphs_load_executable(m, run, g, &strict, err);

    if (rv == MORTISE_OK)
        mortise_graph_unref(strict);
    return rv;
}

int mortise_live_check_run(struct mortise *m, const char *tenant,
                           const char *run, const struct mortise_graph *graph,
                           const struct mortise_run *r, struct mortise_err *err)
{
    int rv = check_run_deaths(m, tenant, run, err);

    if (rv == MORTISE_OK)
        rv = check_run_pins(m, run, r, NULL, NULL, err);
    return rv == MORTISE_OK ? check_run_graph(m, run, graph, err) : rv;
}

static void add_quarantined_plugin(struct mortise_obstacles *o,
                                   const char *plugin)
{
    json_t *one;
    size_t i;

    json_array_foreach(o->lifts, i, one)
    {
        if (strcmp(json_string_value(one), plugin) == 0)
            return;
    }
    json_array_append_new(o->lifts, json_string(plugin));
}

static void add_pin_obstacle(struct mortise *m, const struct mortise_pin *was,
                             struct mortise_obstacles *o)
{
    const struct mortise_deployment *d = m->settings.deployment;
    const char *name = mortise_deployment_find_plugin(d, was->plugin, NULL);
    struct mortise_pin here;
    struct mortise_err err;

    if (mortise_pin_find(d, m->plugins, was->plugin, &here, &err) != NULL)
        o->changed |= memcmp(here.digest, was->digest, MORTISE_DIGEST) != 0;
    else if (mortise_plugins_is_quarantined(m->plugins, name))
        add_quarantined_plugin(o, name);
    else
        o->stuck = true;
}

void mortise_live_find_obstacles(struct mortise *m, const char *tenant,
                                 const char *run,
                                 const struct mortise_graph *graph,
                                 const struct mortise_run *r,
                                 struct mortise_obstacles *out)
{
    size_t n;
    const struct mortise_pin *pins = mortise_run_pins(r, &n);
    struct mortise_deaths d;
    const char *plugin;

    *out = (struct mortise_obstacles){.lifts = json_array()};
    if (mortise_plugins_find_deaths(m->plugins, tenant, run, &plugin, &d) &&
        d.times >= MORTISE_DEATHS_BLOCK)
        add_quarantined_plugin(out, plugin);
    for (size_t i = 0; i < n; i++)
        add_pin_obstacle(m, &pins[i], out);
    if (json_array_size(out->lifts) == 0 &&
        check_run_graph(m, run, graph, NULL) != MORTISE_OK)
        out->stuck = true;
}

/* Give the order to a run whose plugins may have changed. */
static int step_with_checks(struct mortise_live *live,
                            const struct mortise_order *o,
                            struct mortise_err *err)
{
    const struct mortise_mem *mem = live->m->mem;
    bool accept = (o->flags & MORTISE_ACCEPT_PLUGINS) != 0;
    struct mortise_pin *changed;
    size_t n, n_changed = 0;
    int rv = check_run_deaths(live->m, live->tenant, live->id, err);

    if (rv == MORTISE_OK)
        rv = check_run_graph(live->m, live->id, live->graph, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_run_pins(live->run, &n);
    changed = mortise_alloc(mem, (n + 1) * sizeof *changed);
    if (changed == NULL)
        return mortise_nomem(err);
    rv = check_run_pins(live->m, live->id, live->run, accept ? changed : NULL,
                        &n_changed, err);
    if (rv == MORTISE_OK)
        rv = step_with_order(live, o, changed, n_changed, err);
    live->checked = rv == MORTISE_OK;
    mortise_release(mem, changed, (n + 1) * sizeof *changed);
    return rv;
}

/* Does the order only resume the run? */
static bool is_order_resume(const struct mortise_order *o)
{
    return o->n == 1 && o->list[0].kind == MORTISE_CMD_RESUME;
}

/* A blocked run still records decisions, can be cancelled (each call until its
 * end is checked separately), and answers orders that it recorded before. */
static bool may_order_run_blocked(const struct mortise_run *r,
                                  struct mortise_order *o, int rv)
{
    if (!mortise_is_blocked(rv))
        return false;
    if (is_order_decision(o))
        set_record_only(o);
    else if (is_order_end(o) ||
             (is_order_resume(o) && mortise_run_is_ending(r)))
        return true;
    else if (mortise_run_has_order(r, o->id))
        o->flags |= MORTISE_NO_CONTINUE;
    else
        return false;
    return true;
}

/* Give the first order to the run.  An error is its answer, and removes it from
 * the list. */
static int give_first_order(struct mortise_live *live, struct mortise_err *err)
{
    struct mortise_order *o = live->orders;
    bool check = !live->checked &&
                 needs_order_plugins(o, (int)mortise_run_status(live->run),
                                     mortise_run_has_kept_doubt(live->run));
    int rv = check ? step_with_checks(live, o, err)
                   : step_with_order(live, o, NULL, 0, err);

    if (check && may_order_run_blocked(live->run, o, rv))
        rv = step_with_order(live, o, NULL, 0, err);
    if (rv == MORTISE_OK) {
        carry_out_actions(live);
        return MORTISE_OK;
    }
    live->orders = o->next;
    handle_step_error(live, rv, err);
    return rv;
}

static void give_queued_order(struct mortise_task *t)
{
    struct mortise_live *live =
        MORTISE_CONTAINER_OF(t, struct mortise_live, order_task);
    struct mortise_order *o = live->orders;
    struct mortise_err err;

    live->pending--;
    mortise_live_queue_check(live);
    if (live->lost || o == NULL)
        return;
    if (give_first_order(live, &err) == MORTISE_OK)
        return;
    if (!live->lost && live->orders != NULL) {
        live->pending++;
        mortise_task_make_ready(live->m, &live->order_task);
    }
    o->done(o, &err);
}

/* ---- loading ------------------------------------------------------------ */

bool mortise_live_is_recoverable(int status, const char *reason)
{
    return status == MORTISE_RUN_ACCEPTED || status == MORTISE_RUN_RUNNING ||
           (status == MORTISE_RUN_PAUSED &&
            (strcmp(reason, "shutdown") == 0 || strcmp(reason, "plugin") == 0));
}

/* A run that is being loaded, and the orders that came meanwhile.  The first
 * order that is allowed to loads the run; those before it get an error. */
struct load {
    struct mortise_table_entry entry;
    struct mortise_stored_read stored;
    struct mortise_order *orders;
};

static struct load *find_load(const struct mortise *m, const char *tenant,
                              const char *run)
{
    struct mortise_table_entry *e;

    for (e = mortise_table_find(&m->loads, mortise_hash_strs(tenant, run));
         e != NULL; e = mortise_table_find_next(e)) {
        struct load *l = MORTISE_CONTAINER_OF(e, struct load, entry);

        if (strcmp(l->stored.tenant, tenant) == 0 &&
            strcmp(l->stored.id, run) == 0)
            return l;
    }
    return NULL;
}

static void append_order(struct mortise_order **last, struct mortise_order *o)
{
    while (*last != NULL)
        last = &(*last)->next;
    o->next = NULL;
    *last = o;
}

static struct mortise_order *take_load_order(struct load *l)
{
    struct mortise_order *o = l->orders;

    l->orders = o->next;
    return o;
}

/* It has left the table: later orders find the run, or load it again. */
static void load_free(struct load *l)
{
    struct mortise *m = l->stored.m;

    assert(l->orders == NULL);
    mortise_stored_finish(&l->stored);
    mortise_release(m->mem, l, sizeof *l);
}

static void fail_load_orders(struct load *l, const struct mortise_err *why)
{
    struct mortise_err err = *why; /* `why` may be in memory that an answer
                                      frees */

    mortise_table_remove(&l->stored.m->loads, &l->entry);
    while (l->orders != NULL) {
        struct mortise_order *o = take_load_order(l);

        o->done(o, &err);
    }
    load_free(l);
}

/* Check the run's graph and plugins; a plugin's error takes precedence. */
static int check_load_works(const struct mortise_stored_read *s, bool accept,
                            struct mortise_err *err)
{
    int rv;

    if (!accept)
        return mortise_live_check_run(s->m, s->tenant, s->id, s->graph, s->run,
                                      err);
    rv = check_run_deaths(s->m, s->tenant, s->id, err);
    return rv == MORTISE_OK ? check_run_graph(s->m, s->id, s->graph, err) : rv;
}

/* May the run be loaded for this order?  *checked: its plugins were checked and
 * match its pins. */
static int check_load_order(const struct mortise_stored_read *s,
                            struct mortise_order *o, bool *works, bool *checked,
                            struct mortise_err *err)
{
    bool accept = (o->flags & MORTISE_ACCEPT_PLUGINS) != 0;
    int rv = MORTISE_OK;

    *works = o->recovers || needs_order_plugins(o, s->head.status, false);
    if (*works)
        rv = check_load_works(s, accept, err);
    *checked = *works && !accept && rv == MORTISE_OK;
    if (rv == MORTISE_OK ||
        (o->recovers ? !mortise_is_blocked(rv) || !mortise_run_is_ending(s->run)
                     : !may_order_run_blocked(s->run, o, rv)))
        return rv;
    *works = false;
    return MORTISE_OK;
}

/* Move the stored run into memory. */
static struct mortise_live *move_into_memory(struct mortise_stored_read *s,
                                             bool works, bool checked,
                                             struct mortise_err *err)
{
    struct mortise_live *live = live_new(s->m, s->graph, s->tenant, s->id, err);

    if (live == NULL)
        return NULL;
    live->run = s->run;
    s->run = NULL;
    mortise_run_set_stored_status(live->run, s->head.status, s->head.reason);
    live->checked = checked;
    live->created_ms = s->head.created_ms;
    live->written = live->synced = s->head.seq;
    live->told = live->told_synced = live->told_written = s->head.seq;
    if (works)
        mortise_log(s->m, MORTISE_LOG_INFO,
                    "run %s: continues from checkpoint %llu", s->id,
                    (unsigned long long)s->head.seq);
    mortise_watch_attach(live);
    mortise_live_queue_check(live);
    join_tree_or_lose(live);
    return live;
}

/* Give an order to a run in memory. */
static void give_order(struct mortise_live *live, struct mortise_order *o)
{
    const struct mortise_err fine = {.code = MORTISE_OK};
    struct mortise_input in = {.kind = MORTISE_IN_RECOVER};
    void (*given)(struct mortise_order *) = o->given;
    struct mortise_err err;
    int rv = MORTISE_OK;

    if (live->lost) {
        err = live->why;
        o->done(o, &err);
        return;
    }
    if (o->recovers) {
        mortise_live_feed(live, &in);
        o->done(o, &fine);
        return;
    }
    append_order(&live->orders, o);
    if (live->orders == o)
        rv = give_first_order(live, &err);
    if (rv != MORTISE_OK)
        o->done(o, &err);
    else if (given != NULL)
        given(o);
}

/* Everything is read: load the run for the first order that is allowed to. */
static void run_load_replayed(struct mortise_stored_read *s, int rv,
                              const struct mortise_err *err)
{
    struct load *l = MORTISE_CONTAINER_OF(s, struct load, stored);
    struct mortise *m = s->m;
    struct mortise_err why = *err;
    struct mortise_live *live = NULL;
    bool works, checked;

    if (rv == MORTISE_OK)
        rv = mortise_engine_check_ready(m, &why);
    if (rv != MORTISE_OK) {
        fail_load_orders(l, &why);
        return;
    }
    mortise_table_remove(&m->loads, &l->entry);
    while (l->orders != NULL) {
        struct mortise_order *o = take_load_order(l);

        /* It may have been started, or loaded by an answer, meanwhile. */
        live = mortise_live_find(m, s->tenant, s->id);
        rv = MORTISE_OK;
        if (live == NULL)
            rv = check_load_order(s, o, &works, &checked, &why);
        if (live == NULL && rv == MORTISE_OK)
            live = move_into_memory(s, works, checked, &why);
        if (live != NULL)
            give_order(live, o);
        else
            o->done(o, &why);
    }
    load_free(l);
    if (live != NULL && !live->lost && mortise_run_has_family(live->run))
        mortise_news_add_for_run(live, MORTISE_NEWS_LOADED);
}

static void run_load_head_read(struct mortise_stored_read *s, int rv,
                               const struct mortise_err *err)
{
    struct load *l = MORTISE_CONTAINER_OF(s, struct load, stored);
    const struct mortise_err fine = {.code = MORTISE_OK};

    while (rv == MORTISE_OK && l->orders != NULL && l->orders->wants != NULL &&
           !l->orders->wants(&s->head)) {
        struct mortise_order *o = take_load_order(l);

        o->stayed = true;
        o->done(o, &fine);
    }
    if (rv != MORTISE_OK || l->orders == NULL) {
        fail_load_orders(l, err);
        return;
    }
    s->works = l->orders->recovers ||
               needs_order_plugins(l->orders, s->head.status, false);
    mortise_stored_read_run(s, run_load_replayed);
}

void mortise_live_send_order(struct mortise *m, const char *tenant,
                             const char *run, struct mortise_order *o)
{
    struct mortise_live *live = mortise_live_find(m, tenant, run);
    struct load *l = live == NULL ? find_load(m, tenant, run) : NULL;
    struct mortise_err err;

    assert_on_loop(m);
    if (live != NULL) {
        give_order(live, o);
        return;
    }
    if (l != NULL) {
        append_order(&l->orders, o);
        return;
    }
    l = mortise_zalloc(m->mem, sizeof *l);
    if (l == NULL) {
        mortise_nomem(&err);
        o->done(o, &err);
        return;
    }
    o->next = NULL;
    l->orders = o;
    mortise_table_add(&m->loads, &l->entry, mortise_hash_strs(tenant, run));
    mortise_stored_read_head(m, &l->stored, tenant, run, run_load_head_read);
}

bool mortise_live_is_in_memory(struct mortise *m, const char *tenant,
                               const char *run)
{
    const struct mortise_live *live = mortise_live_find(m, tenant, run);

    return live != NULL && !live->lost;
}

bool mortise_live_is_loaded_or_loading(struct mortise *m, const char *tenant,
                                       const char *run)
{
    return mortise_live_find(m, tenant, run) != NULL ||
           find_load(m, tenant, run) != NULL;
}

void mortise_live_recover(struct mortise *m, const char *tenant,
                          const char *run, struct mortise_order *o)
{
    o->recovers = true;
    o->stayed = false;
    mortise_live_send_order(m, tenant, run, o);
}
