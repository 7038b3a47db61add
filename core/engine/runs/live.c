/* live.c -- a run in memory: started, loaded, stepped, dropped, lost.
 *
 * A run comes into memory when it is started, commanded or overdue, and leaves
 * when nothing is left to do without somebody.  While it is here, everything
 * that happens to it is fed to the step function, and what the step function
 * wants done is carried out before the next thing is fed (E1).
 *
 * A run is lost when what it is in memory can no longer be trusted or kept: a
 * commit could not be written or handed over, memory ran out in a step, the
 * engine closes.  Then all of it but what is on disk is forgotten at once; the
 * husk stays until its commits and calls that are under way have come back, so
 * that nobody loads the run while they may still land.
 */
#include "engine/runs/host_calls.h"
#include "engine/runs/script.h"

#include <sodium.h>
#include <string.h>

#include "base/clock.h"
#include "run/command/run_commands.h"

struct mortise_run_timer {
    struct mortise_hashed entry;
    struct mortise_timer timer;
    struct mortise_task task; /* instead, when it was due at once */
    struct mortise_live *live;
    uint64_t id;
    uint64_t wall_ms; /* due when the wall clock says so; 0: after a while */
    struct mortise_run_timer *next, *prev; /* of the run's */
    bool queued, disarmed;
};

enum { ID_MAX = 128 };

/* ---- finding ------------------------------------------------------------ */

int mortise_live_check_name(const char *what, const char *name,
                            struct mortise_err *err)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
                            "XYZ0123456789._-");

    if (n == 0 || n > ID_MAX || name[n] != '\0')
        return mortise_fail(err, MORTISE_EINVAL,
                            "a %s has 1 to 128 letters, digits, '.', '_' or "
                            "'-'; '%.200s' has not",
                            what, name);
    return MORTISE_OK;
}

struct mortise_live *mortise_live_find(struct mortise *m, const char *tenant,
                                       const char *run)
{
    struct mortise_hashed *e;

    for (e = mortise_table_find(&m->lives, mortise_hash_strs(tenant, run));
         e != NULL; e = mortise_table_more(e)) {
        struct mortise_live *live = MORTISE_OF(e, struct mortise_live, entry);

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
    if (t->prev != NULL)
        t->prev->next = t->next;
    else
        live->timers = t->next;
    if (t->next != NULL)
        t->next->prev = t->prev;
    mortise_release(live->m->mem, t, sizeof *t);
}

/* It is due: it goes, and the run hears of it. */
static void timer_due(struct mortise_run_timer *t)
{
    struct mortise_live *live = t->live;
    struct mortise_input in = {.kind = MORTISE_IN_TIMER, .u.timer = t->id};
    bool tell = !t->disarmed && !live->lost;

    timer_free(t);
    if (tell)
        mortise_live_feed(live, &in);
}

static void timer_fired(struct mortise_timer *timer)
{
    timer_due(MORTISE_OF(timer, struct mortise_run_timer, timer));
}

static void timer_task(struct mortise_task *task)
{
    struct mortise_run_timer *t =
        MORTISE_OF(task, struct mortise_run_timer, task);

    t->live->pending--;
    mortise_live_touch(t->live);
    timer_due(t);
}

static uint64_t timer_hash(const struct mortise_live *live, uint64_t id)
{
    return mortise_hash_u64s((uint64_t)(uintptr_t)live, id);
}

static int arm(struct mortise_live *live, const struct mortise_action *a,
               struct mortise_err *err)
{
    struct mortise *m = live->m;
    struct mortise_run_timer *t = mortise_zalloc(m->mem, sizeof *t);

    if (t == NULL)
        return mortise_nomem(err);
    t->live = live;
    t->id = a->u.timer.id;
    t->wall_ms = a->u.timer.wall ? a->u.timer.at_ms : 0;
    t->timer.fire = timer_fired;
    t->task.run = timer_task;
    t->next = live->timers;
    if (t->next != NULL)
        t->next->prev = t;
    live->timers = t;
    mortise_table_add(&m->run_timers, &t->entry, timer_hash(live, t->id));
    if (a->u.timer.in_ms > 0) {
        mortise_timer_arm(&m->timers, &t->timer,
                          mortise_mono_in(a->u.timer.in_ms));
        return MORTISE_OK;
    }
    t->queued = true;
    live->pending++;
    mortise_ready(m, &t->task);
    return MORTISE_OK;
}

void mortise_live_clock_set(struct mortise *m)
{
    uint64_t now_ms = mortise_now_ms();
    struct mortise_hashed *e;

    for (e = mortise_table_first(&m->run_timers); e != NULL;
         e = mortise_table_next(&m->run_timers, e)) {
        struct mortise_run_timer *t =
            MORTISE_OF(e, struct mortise_run_timer, entry);

        if (t->wall_ms == 0 || t->queued)
            continue;
        mortise_timer_disarm(&m->timers, &t->timer);
        mortise_timer_arm(
            &m->timers, &t->timer,
            mortise_mono_in(t->wall_ms > now_ms ? t->wall_ms - now_ms : 0));
    }
}

static void disarm(struct mortise_live *live, uint64_t id)
{
    struct mortise_hashed *e;

    for (e = mortise_table_find(&live->m->run_timers, timer_hash(live, id));
         e != NULL; e = mortise_table_more(e)) {
        struct mortise_run_timer *t =
            MORTISE_OF(e, struct mortise_run_timer, entry);

        if (t->live != live || t->id != id || t->disarmed)
            continue;
        t->disarmed = true;
        if (!t->queued)
            timer_free(t);
        return;
    }
}

/* All but those whose task is queued, which will see for themselves. */
static void disarm_all(struct mortise_live *live)
{
    struct mortise_run_timer *t, *next;

    for (t = live->timers; t != NULL; t = next) {
        next = t->next;
        if (!t->queued)
            timer_free(t);
    }
}

/* ---- coming and going --------------------------------------------------- */

static void landed_task(struct mortise_task *t);
static void order_task(struct mortise_task *t);

static void live_free(struct mortise_live *live)
{
    struct mortise *m = live->m;

    assert(live->flying == 0 && live->pending == 0 && live->calls == NULL);
    disarm_all(live);
    mortise_commits_leave(live);
    mortise_watch_detach(live);
    mortise_table_remove(&m->lives, &live->entry);
    mortise_run_free(live->run);
    mortise_graph_unref(live->graph);
    mortise_release_str(m->mem, live->tenant);
    mortise_release_str(m->mem, live->id);
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
    live->landed_task.run = landed_task;
    live->order_task.run = order_task;
    mortise_watch_open(live);
    mortise_table_add(&m->lives, &live->entry, mortise_hash_strs(tenant, run));
    live->tenant = mortise_strdup(m->mem, tenant);
    live->id = mortise_strdup(m->mem, run);
    if (live->tenant == NULL || live->id == NULL) {
        live_free(live);
        mortise_nomem(err);
        return NULL;
    }
    return live;
}

void mortise_live_touch(struct mortise_live *live)
{
    if (live->touched)
        return;
    live->touched = true;
    live->next_touched = live->m->touched;
    live->m->touched = live;
}

static bool is_at_rest(const struct mortise_live *live)
{
    if (live->flying > 0 || live->pending > 0 || live->calls != NULL)
        return false;
    return live->lost ||
           (live->orders == NULL && mortise_run_is_idle(live->run));
}

static void say_rest(const struct mortise_live *live)
{
    const char *reason = mortise_run_reason(live->run);

    mortise_log(live->m, MORTISE_LOG_INFO, "run %s: %s%s%s", live->id,
                mortise_run_status_name(mortise_run_status(live->run)),
                reason[0] != '\0' ? ", " : "", reason);
}

void mortise_live_settle(struct mortise *m)
{
    struct mortise_live *live;

    while ((live = m->touched) != NULL) {
        m->touched = live->next_touched;
        live->touched = false;
        if (!is_at_rest(live))
            continue;
        if (!live->lost) {
            say_rest(live);
            mortise_watch_idle(live);
        }
        live_free(live);
    }
}

static void fail_orders(struct mortise_live *live,
                        const struct mortise_err *why)
{
    struct mortise_order *o;

    while ((o = live->orders) != NULL) {
        live->orders = o->next;
        o->done(o, why);
    }
}

void mortise_live_lose(struct mortise_live *live, const struct mortise_err *why)
{
    if (live->lost)
        return;
    live->lost = true;
    live->why = *why;
    mortise_log(live->m, MORTISE_LOG_WARN, "run %s leaves memory: %s", live->id,
                why->msg);
    mortise_commits_forget(live);
    mortise_calls_cancel_all(live);
    disarm_all(live);
    mortise_run_free(live->run);
    live->run = NULL;
    fail_orders(live, &live->why);
    mortise_watch_lost(live, &live->why);
    mortise_live_touch(live);
}

void mortise_live_lose_all(struct mortise *m, const struct mortise_err *why)
{
    struct mortise_hashed *e;

    for (e = mortise_table_first(&m->lives); e != NULL;
         e = mortise_table_next(&m->lives, e))
        mortise_live_lose(MORTISE_OF(e, struct mortise_live, entry), why);
}

/* ---- actions ------------------------------------------------------------ */

static void applied(struct mortise_live *live, const struct mortise_err *said,
                    int result)
{
    struct mortise_order *o = live->orders;
    struct mortise_err err = {.code = MORTISE_OK};

    assert(o != NULL); /* run/ answers once, and only what it was given */
    if (result != MORTISE_OK)
        err = *said;
    live->orders = o->next;
    if (live->orders != NULL) {
        live->pending++;
        mortise_ready(live->m, &live->order_task);
    }
    o->done(o, &err);
}

static int carry_out(struct mortise_live *live, struct mortise_action *a,
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
        return arm(live, a, err);
    case MORTISE_ACT_DISARM:
        disarm(live, a->u.timer.id);
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
        applied(live, &a->u.applied.err, a->u.applied.result);
        break;
    case MORTISE_ACT_SYNC:
        mortise_commits_sync(live->m);
        break;
    }
    return MORTISE_OK;
}

/* Carry out what the step under way wants; a run whose wishes cannot be
 * fulfilled is lost. */
static void perform(struct mortise_live *live)
{
    struct mortise_actions *a = &live->m->actions;
    struct mortise_err err;
    int rv = MORTISE_OK;

    for (size_t i = 0; i < a->n && rv == MORTISE_OK && !live->lost; i++)
        rv = carry_out(live, &a->list[i], &err);
    mortise_actions_clear(a);
    if (rv != MORTISE_OK)
        mortise_live_lose(live, &err);
    mortise_live_touch(live);
}

/* One step.  A run that it broke is lost; actions are there only with
 * MORTISE_OK. */
static int step(struct mortise_live *live, struct mortise_input *in,
                struct mortise_err *err)
{
    struct mortise *m = live->m;
    int rv;

    assert(m->actions.n == 0); /* (E1) */
    in->now_ms = mortise_now_ms();
    in->elapsed_ms = mortise_mono_ms();
    rv = mortise_run_step(live->run, in, &m->actions, err);
    if (rv == MORTISE_OK)
        return rv;
    mortise_actions_clear(&m->actions);
    if (rv == MORTISE_ENOMEM || rv == MORTISE_ECORRUPT)
        mortise_live_lose(live, err);
    mortise_live_touch(live);
    return rv;
}

void mortise_live_feed(struct mortise_live *live, struct mortise_input *in)
{
    struct mortise_err err;

    assert_on_loop(live->m);
    if (live->lost)
        return;
    if (step(live, in, &err) == MORTISE_OK)
        perform(live);
    else if (!live->lost)
        mortise_log(live->m, MORTISE_LOG_ERROR, "run %s: %s", live->id,
                    err.msg);
}

/* Commits up to seq are stored, or on disk: the run publishes, and what had to
 * wait for that follows; in between, what was held back until the first of
 * them. */
static void feed_landed(struct mortise_live *live, enum mortise_input_kind kind,
                        uint64_t seq)
{
    struct mortise_input in = {.kind = kind};

    do {
        in.u.seq = mortise_held_events_seq(live);
        in.u.seq = in.u.seq < seq ? in.u.seq : seq;
        live->told = in.u.seq > live->told ? in.u.seq : live->told;
        mortise_watch_written(live);
        mortise_live_feed(live, &in);
        mortise_watch_published(live, in.u.seq);
    } while (in.u.seq < seq && !live->lost);
}

static void landed_task(struct mortise_task *t)
{
    struct mortise_live *live = MORTISE_OF(t, struct mortise_live, landed_task);
    uint64_t written = live->written, synced = live->synced;

    live->pending--;
    live->landed_queued = false;
    mortise_live_touch(live);
    if (live->lost)
        return;
    if (synced > live->told_synced)
        feed_landed(live, MORTISE_IN_SYNCED, synced);
    live->told_synced = synced;
    if (written > synced && !live->lost)
        feed_landed(live, MORTISE_IN_WRITTEN, written);
}

void mortise_live_landed(struct mortise_live *live, uint64_t written,
                         uint64_t synced)
{
    if (live->lost)
        return;
    live->written = written;
    live->synced = synced;
    if (live->landed_queued)
        return;
    live->landed_queued = true;
    live->pending++;
    mortise_ready(live->m, &live->landed_task);
}

/* ---- starting ----------------------------------------------------------- */

static const char *plugin_of(const struct mortise *m, const char *name,
                             const char **pin)
{
    return mortise_guard_plugin(&m->settings.deployment->guards, name, pin);
}

/* A plugin that a run needs cannot be used: trust says so, or something else.
 */
static int unusable(const struct mortise_err *why)
{
    return why->code == MORTISE_EDENIED ? MORTISE_EDENIED : MORTISE_EBLOCKED;
}

/* The digests of the plugins that a graph uses, each plugin once. */
static int find_pins(struct mortise *m, const struct mortise_graph *g,
                     struct mortise_pin *pins, size_t *n,
                     struct mortise_err *err)
{
    *n = 0;
    for (size_t i = 0; i < g->n_plugins; i++) {
        const char *pin, *name = plugin_of(m, g->plugins[i], &pin);
        const struct mortise_manifest *man;
        size_t k = 0;

        while (k < *n && strcmp(pins[k].plugin, pin) != 0)
            k++;
        if (k < *n)
            continue;
        man = mortise_plugins_find(m->plugins, name, err);
        if (man == NULL)
            return mortise_doing(err, unusable(err), "graph '%s'", g->name);
        pins[k].plugin = pin;
        pins[k].dev = man->dev;
        memcpy(pins[k].digest, man->digest, MORTISE_DIGEST);
        ++*n;
    }
    return MORTISE_OK;
}

/* What names the run's effects, and by what its chance goes. */
static void identify(const struct mortise *m, struct mortise_admission *adm)
{
    memcpy(adm->store.b, m->store->identity, MORTISE_STORE_ID);
    randombytes_buf(adm->seed, sizeof adm->seed);
    mortise_script_identify(m, adm);
}

static int admit(struct mortise_live *live, json_t *input, const char *actor,
                 const char *order, struct mortise_err *err)
{
    struct mortise *m = live->m;
    const struct mortise_graph *g = live->graph;
    size_t size = (g->n_plugins + 1) * sizeof(struct mortise_pin);
    struct mortise_pin *pins = mortise_alloc(m->mem, size);
    struct mortise_admission adm = {.tenant = live->tenant,
                                    .run = live->id,
                                    .input = input,
                                    .actor = actor,
                                    .order = order,
                                    .pins = pins};
    int rv = pins != NULL ? find_pins(m, g, pins, &adm.n_pins, err)
                          : mortise_nomem(err);

    identify(m, &adm);
    live->created_ms = mortise_now_ms();
    adm.elapsed_ms = mortise_mono_ms();
    if (rv == MORTISE_OK)
        rv = mortise_run_admit(&live->run, m->mem, live->graph, &adm,
                               live->created_ms, &m->actions, err);
    mortise_release(m->mem, pins, size);
    return rv;
}

/* MORTISE_OK when the id is free. */
static int check_free(struct mortise *m, const char *tenant, const char *run,
                      struct mortise_err *err)
{
    struct mortise_tombstone t;
    struct mortise_head_copy head;
    int rv = MORTISE_OK;

    if (mortise_live_find(m, tenant, run) == NULL)
        rv = mortise_head_read(m, tenant, run, &head, err);
    if (rv == MORTISE_ENOTFOUND)
        rv = mortise_store_removed(m->store, tenant, run, &t, err);
    else if (rv == MORTISE_OK)
        t.removed_ms = 0;
    if (rv == MORTISE_ENOTFOUND)
        return MORTISE_OK;
    if (rv != MORTISE_OK)
        return rv;
    if (t.removed_ms != 0)
        return mortise_fail(err, MORTISE_EEXISTS,
                            "a run '%s' was here and was removed; an id is "
                            "never used twice",
                            run);
    return mortise_fail(err, MORTISE_EEXISTS, "a run '%s' exists already", run);
}

int mortise_live_start(struct mortise *m, struct mortise_graph *g,
                       const char *tenant, const char *run, json_t *input,
                       const char *actor, const char *order,
                       struct mortise_live **out, struct mortise_err *err)
{
    char made[MORTISE_UUID_TEXT];
    int rv = mortise_live_check_name("tenant", tenant, err);

    *out = NULL;
    if (run == NULL) {
        mortise_uuid_text(made, mortise_uuid7_now());
        run = made;
    }
    if (rv == MORTISE_OK)
        rv = mortise_live_check_name("run id", run, err);
    /* Older stores have some, which stay what they are. */
    if (rv == MORTISE_OK && run[0] == '-')
        rv = mortise_fail(err, MORTISE_EINVAL,
                          "a run id does not begin with '-', as options do; "
                          "'%.200s' does",
                          run);
    if (rv == MORTISE_OK)
        rv = check_free(m, tenant, run, err);
    if (rv != MORTISE_OK)
        return rv;
    *out = live_new(m, g, tenant, run, err);
    if (*out == NULL)
        return MORTISE_ENOMEM;
    rv = admit(*out, input, actor, order, err);
    if (rv != MORTISE_OK) {
        mortise_actions_clear(&m->actions);
        live_free(*out);
        *out = NULL;
        return rv;
    }
    (*out)->checked = true;
    mortise_watch_attach(*out);
    mortise_log(m, MORTISE_LOG_INFO, "run %s: started, graph '%s', by %s", run,
                g->name, actor);
    perform(*out);
    return MORTISE_OK;
}

/* ---- loading ------------------------------------------------------------ */

static int copy_head(void *ud, const char *tenant, const char *run,
                     const struct mortise_head *head)
{
    struct mortise_head_copy *out = ud;
    size_t n = strlen(head->reason);

    (void)tenant;
    (void)run;
    *out = (struct mortise_head_copy){.seq = head->seq,
                                      .created_ms = head->created_ms,
                                      .updated_ms = head->updated_ms,
                                      .status = (int)head->status};
    memcpy(out->graph, head->graph, sizeof out->graph);
    if (n < sizeof out->reason)
        memcpy(out->reason, head->reason, n);
    return 0;
}

/* Words for a run that is not there: it was removed, or never was. */
static int no_run(struct mortise *m, const char *tenant, const char *run,
                  struct mortise_err *err)
{
    struct mortise_tombstone t;
    char when[MORTISE_TIME_TEXT];
    int rv = mortise_store_removed(m->store, tenant, run, &t, err);

    if (rv == MORTISE_ENOTFOUND)
        return mortise_fail(
            err, rv, "no run '%s' in the store %s%s%s", run, m->settings.store,
            strcmp(tenant, "default") != 0 ? " for tenant " : "",
            strcmp(tenant, "default") != 0 ? tenant : "");
    if (rv != MORTISE_OK)
        return rv;
    mortise_time_text(when, t.removed_ms);
    if (t.status == 0)
        return mortise_fail(err, MORTISE_ENOTFOUND,
                            "run '%s' was left out at %s, when the store was "
                            "salvaged: it could not be read",
                            run, when);
    return mortise_fail(err, MORTISE_ENOTFOUND,
                        "run '%s' was removed at %s, some time after it had "
                        "%s: the deployment's store.retention says how long "
                        "runs are kept",
                        run, when,
                        t.status == MORTISE_RUN_COMPLETED   ? "completed"
                        : t.status == MORTISE_RUN_CANCELLED ? "been cancelled"
                                                            : "failed");
}

int mortise_head_read(struct mortise *m, const char *tenant, const char *run,
                      struct mortise_head_copy *out, struct mortise_err *err)
{
    int rv = mortise_live_check_name("tenant", tenant, err);

    if (rv == MORTISE_OK)
        rv = mortise_live_check_name("run id", run, err);
    if (rv == MORTISE_OK)
        rv = mortise_store_head(m->store, tenant, run, copy_head, out, err);
    return rv == MORTISE_ENOTFOUND ? no_run(m, tenant, run, err) : rv;
}

struct replaying {
    struct mortise_run *run;
    int rv;
    struct mortise_err *err;
};

static int apply(void *ud, const struct mortise_checkpoint *cp)
{
    struct replaying *r = ud;

    r->rv = mortise_run_apply(r->run, cp->seq, cp->time_ms, cp->id, cp->entries,
                              cp->size, r->err);
    return r->rv;
}

int mortise_replay(struct mortise *m, const char *tenant, const char *run,
                   struct mortise_graph *g, mortise_run_sink *sink, void *ud,
                   struct mortise_run **out, struct mortise_err *err)
{
    struct replaying r = {NULL, MORTISE_OK, err};
    int rv = mortise_run_replay(&r.run, m->mem, g, tenant, run, sink, ud, err);

    *out = NULL;
    if (rv == MORTISE_OK)
        rv =
            mortise_store_checkpoints(m->store, tenant, run, 1, apply, &r, err);
    if (rv == MORTISE_OK)
        rv = r.rv;
    if (rv != MORTISE_OK) {
        mortise_run_free(r.run);
        return mortise_doing(err, rv, "load run %s", run);
    }
    *out = r.run;
    return MORTISE_OK;
}

static int has_changed(const struct mortise_pin *pin, const char *run,
                       const struct mortise_manifest *man,
                       struct mortise_err *err)
{
    char was[MORTISE_DIGEST_HEX], is[MORTISE_DIGEST_HEX];

    mortise_hex(was, pin->digest, MORTISE_DIGEST);
    mortise_hex(is, man->digest, MORTISE_DIGEST);
    return mortise_fail(
        err, MORTISE_EBLOCKED,
        "run %s goes on with plugin '%s' of digest %s; the one here (%s "
        "%s%s) has digest %s. Put the old one back, or accept the new one "
        "(--accept-plugins)",
        run, pin->plugin, was, man->name, man->version,
        man->dev ? ", which nobody signed: a build" : "", is);
}

/* An execution that took the process down again and again would do so once
 * more. */
static int check_deaths(struct mortise *m, const char *tenant, const char *run,
                        struct mortise_err *err)
{
    struct mortise_deaths d;
    char when[MORTISE_TIME_TEXT];
    const char *plugin;

    if (!mortise_plugins_any_deaths(m->plugins, tenant, run, &plugin, &d) ||
        d.times < MORTISE_DEATHS_BLOCK)
        return MORTISE_OK;
    mortise_time_text(when, d.last_ms);
    return mortise_fail(
        err, MORTISE_EBLOCKED,
        "run %s: plugin '%s' took the process down %u times in node %s (at %s "
        "it %s).  Install a version that does not, or let it try again: "
        "`mortise plugin unquarantine %s`",
        run, plugin, d.times, d.path, when, d.how, plugin);
}

/* The plugins that a run goes on with are the ones that are here (R4), or
 * (changed not NULL) those that are not are listed there, as they are here: it
 * has room for all. */
static int check_pins(struct mortise *m, const char *id,
                      const struct mortise_run *run,
                      struct mortise_pin *changed, size_t *n_changed,
                      struct mortise_err *err)
{
    size_t n;
    const struct mortise_pin *pins = mortise_run_pins(run, &n);

    for (size_t i = 0; i < n; i++) {
        const char *pin, *name = plugin_of(m, pins[i].plugin, &pin);
        const struct mortise_manifest *man =
            mortise_plugins_find(m->plugins, name, err);

        if (man == NULL)
            return mortise_doing(err, unusable(err), "run %s needs plugin '%s'",
                                 id, pins[i].plugin);
        if (memcmp(man->digest, pins[i].digest, MORTISE_DIGEST) == 0)
            continue;
        if (changed == NULL)
            return has_changed(&pins[i], id, man, err);
        changed[*n_changed].plugin = pins[i].plugin;
        changed[*n_changed].dev = man->dev;
        memcpy(changed[(*n_changed)++].digest, man->digest, MORTISE_DIGEST);
    }
    return MORTISE_OK;
}

/* Its graph does not compile, as `err` says at length.  Where a plugin that it
 * is pinned to is why, that is what is said. */
static int blame_plugin(struct mortise *m, const char *tenant, const char *run,
                        const uint8_t digest[MORTISE_DIGEST], int code,
                        struct mortise_err *err)
{
    struct mortise_graph *g = NULL;
    struct mortise_run *r = NULL;
    struct mortise_err why;
    int rv = mortise_graphs_get(m, run, digest, true, &g, &why);

    if (rv == MORTISE_OK)
        rv = mortise_replay(m, tenant, run, g, NULL, NULL, &r, &why);
    if (rv == MORTISE_OK) {
        rv = check_pins(m, run, r, NULL, NULL, &why);
        if (mortise_is_blocked(rv)) {
            *err = why;
            code = rv;
        }
    }
    mortise_run_free(r);
    mortise_graph_unref(g);
    return code;
}

/* From the store into memory; `works`: it is to go on, so its plugins must be
 * here, and be what they were unless `accept`. */
static int load(struct mortise *m, const char *tenant, const char *run,
                const struct mortise_head_copy *head, bool works, bool accept,
                struct mortise_live **out, struct mortise_err *err)
{
    struct mortise_graph *g;
    struct mortise_run *r = NULL;
    int rv = works ? check_deaths(m, tenant, run, err) : MORTISE_OK;

    *out = NULL;
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_graphs_get(m, run, head->graph, !works, &g, err);
    if (mortise_is_blocked(rv) && !accept)
        rv = blame_plugin(m, tenant, run, head->graph, rv, err);
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_replay(m, tenant, run, g, NULL, NULL, &r, err);
    if (rv == MORTISE_OK)
        mortise_run_left(r, head->status, head->reason);
    if (rv == MORTISE_OK && works && !accept)
        rv = check_pins(m, run, r, NULL, NULL, err);
    if (rv == MORTISE_OK) {
        *out = live_new(m, g, tenant, run, err);
        rv = *out != NULL ? MORTISE_OK : MORTISE_ENOMEM;
    }
    mortise_graph_unref(g);
    if (rv != MORTISE_OK) {
        mortise_run_free(r);
        return rv;
    }
    (*out)->run = r;
    (*out)->checked = works && !accept;
    (*out)->created_ms = head->created_ms;
    (*out)->written = (*out)->synced = head->seq;
    (*out)->told = (*out)->told_synced = head->seq;
    if (works)
        mortise_log(m, MORTISE_LOG_INFO,
                    "run %s: goes on, from checkpoint %llu", run,
                    (unsigned long long)head->seq);
    mortise_watch_attach(*out);
    mortise_live_touch(*out);
    return MORTISE_OK;
}

int mortise_live_recover(struct mortise *m, const char *tenant, const char *run,
                         struct mortise_err *err)
{
    struct mortise_input in = {.kind = MORTISE_IN_RECOVER};
    struct mortise_live *live = mortise_live_find(m, tenant, run);
    struct mortise_head_copy head;
    int rv = MORTISE_OK;

    if (live == NULL)
        rv = mortise_head_read(m, tenant, run, &head, err);
    if (rv == MORTISE_OK && live == NULL)
        rv = load(m, tenant, run, &head, true, false, &live, err);
    if (rv == MORTISE_OK)
        mortise_live_feed(live, &in);
    return rv;
}

/* ---- commands ----------------------------------------------------------- */

/* Will obeying it run plugins?  Looking, cancelling, pausing and finished runs
 * do not, unless there is something to `ask` what it came to. */
static bool needs_plugins(const struct mortise_order *o, int status, bool ask)
{
    bool over = !ask && (status == MORTISE_RUN_COMPLETED ||
                         status == MORTISE_RUN_CANCELLED);
    bool works = false;

    if (o->flags & MORTISE_NO_CONTINUE)
        return false;
    for (size_t i = 0; i < o->n; i++) {
        const struct mortise_command_row *row =
            mortise_command_row(o->list[i].kind);

        works |= row->restarts || (!over && row->way != MORTISE_COMMAND_ENDS &&
                                   row->way != MORTISE_COMMAND_PAUSES);
    }
    return works;
}

/* Does it say no more than what people decided?  A person's word needs no
 * plugin: where one is in the way it is recorded, and nothing goes on until the
 * plugin is back.  Arguments of the person's own need it, to be checked. */
static bool is_word(const struct mortise_order *o)
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

static void record_only(struct mortise_order *o)
{
    o->flags |= MORTISE_NO_CONTINUE;
    o->blocked = true;
}

static int step_with(struct mortise_live *live, const struct mortise_order *o,
                     const struct mortise_pin *pins, size_t n_pins,
                     struct mortise_err *err)
{
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
                      .order = o->id}};

    int rv = mortise_host_call_check_resolved(live->run, o->list, o->n, err);

    return rv == MORTISE_OK
               ? mortise_run_step(live->run, &in, &live->m->actions, err)
               : rv;
}

/* A run that was loaded to be looked at may be loaded with a graph that cannot
 * run here, and stands in for the one that was pinned. */
static int check_graph(struct mortise *m, const char *run,
                       const uint8_t digest[MORTISE_DIGEST],
                       struct mortise_err *err)
{
    struct mortise_graph *g;
    int rv = mortise_graphs_get(m, run, digest, false, &g, err);

    mortise_graph_unref(g);
    return rv;
}

int mortise_live_may_run(struct mortise *m, const char *tenant, const char *run,
                         const uint8_t graph[MORTISE_DIGEST],
                         const struct mortise_run *r, struct mortise_err *err)
{
    int rv = check_deaths(m, tenant, run, err);

    if (rv == MORTISE_OK)
        rv = check_pins(m, run, r, NULL, NULL, err);
    return rv == MORTISE_OK ? check_graph(m, run, graph, err) : rv;
}

static void lift(struct mortise_obstacles *o, const char *plugin)
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

static void pin_obstacle(struct mortise *m, const struct mortise_pin *was,
                         struct mortise_obstacles *o)
{
    const char *pin, *name = plugin_of(m, was->plugin, &pin);
    const struct mortise_manifest *man =
        mortise_plugins_find(m->plugins, name, NULL);

    if (man != NULL)
        o->changed |= memcmp(man->digest, was->digest, MORTISE_DIGEST) != 0;
    else if (mortise_plugins_is_quarantined(m->plugins, name))
        lift(o, name);
    else
        o->stuck = true;
}

void mortise_live_obstacles(struct mortise *m, const char *tenant,
                            const char *run,
                            const uint8_t graph[MORTISE_DIGEST],
                            const struct mortise_run *r,
                            struct mortise_obstacles *out)
{
    size_t n;
    const struct mortise_pin *pins = mortise_run_pins(r, &n);
    struct mortise_deaths d;
    const char *plugin;

    *out = (struct mortise_obstacles){.lifts = json_array()};
    if (mortise_plugins_any_deaths(m->plugins, tenant, run, &plugin, &d) &&
        d.times >= MORTISE_DEATHS_BLOCK)
        lift(out, plugin);
    for (size_t i = 0; i < n; i++)
        pin_obstacle(m, &pins[i], out);
    if (json_array_size(out->lifts) == 0 &&
        check_graph(m, run, graph, NULL) != MORTISE_OK)
        out->stuck = true;
}

/* The order goes to a run whose plugins may have changed. */
static int step_checked(struct mortise_live *live,
                        const struct mortise_order *o, struct mortise_err *err)
{
    const struct mortise_mem *mem = live->m->mem;
    bool accept = (o->flags & MORTISE_ACCEPT_PLUGINS) != 0;
    struct mortise_pin *changed;
    size_t n, n_changed = 0;
    int rv = check_deaths(live->m, live->tenant, live->id, err);

    if (rv == MORTISE_OK)
        rv = check_graph(live->m, live->id, live->graph->digest, err);
    if (rv != MORTISE_OK)
        return rv;
    mortise_run_pins(live->run, &n);
    changed = mortise_alloc(mem, (n + 1) * sizeof *changed);
    if (changed == NULL)
        return mortise_nomem(err);
    rv = check_pins(live->m, live->id, live->run, accept ? changed : NULL,
                    &n_changed, err);
    if (rv == MORTISE_OK)
        rv = step_with(live, o, changed, n_changed, err);
    live->checked = rv == MORTISE_OK;
    mortise_release(mem, changed, (n + 1) * sizeof *changed);
    return rv;
}

/* Where it cannot go on, a word is recorded all the same, and what was recorded
 * before is answered. */
static bool goes_without(const struct mortise_live *live,
                         struct mortise_order *o, int rv)
{
    if (!mortise_is_blocked(rv))
        return false;
    if (is_word(o))
        record_only(o);
    else if (mortise_run_knows_order(live->run, o->id))
        o->flags |= MORTISE_NO_CONTINUE;
    else
        return false;
    return true;
}

/* The first order to the run.  An error is its answer, and takes it off. */
static int give(struct mortise_live *live, struct mortise_err *err)
{
    struct mortise_order *o = live->orders;
    bool check =
        !live->checked && needs_plugins(o, (int)mortise_run_status(live->run),
                                        mortise_run_keeps_doubt(live->run));
    int rv =
        check ? step_checked(live, o, err) : step_with(live, o, NULL, 0, err);

    if (check && goes_without(live, o, rv))
        rv = step_with(live, o, NULL, 0, err);
    if (rv == MORTISE_OK) {
        perform(live);
        return MORTISE_OK;
    }
    live->orders = o->next;
    mortise_actions_clear(&live->m->actions);
    if (rv == MORTISE_ENOMEM || rv == MORTISE_ECORRUPT)
        mortise_live_lose(live, err);
    mortise_live_touch(live);
    return rv;
}

static void order_task(struct mortise_task *t)
{
    struct mortise_live *live = MORTISE_OF(t, struct mortise_live, order_task);
    struct mortise_order *o = live->orders;
    struct mortise_err err;

    live->pending--;
    mortise_live_touch(live);
    if (live->lost || o == NULL)
        return;
    if (give(live, &err) == MORTISE_OK)
        return;
    if (!live->lost && live->orders != NULL) {
        live->pending++;
        mortise_ready(live->m, &live->order_task);
    }
    o->done(o, &err);
}

/* Load the run that an order is for. */
static int load_for(struct mortise *m, const char *tenant, const char *run,
                    struct mortise_order *o, struct mortise_live **out,
                    struct mortise_err *err)
{
    struct mortise_head_copy head;
    struct mortise_err here;
    int rv = mortise_head_read(m, tenant, run, &head, err);

    if (rv != MORTISE_OK)
        return rv;
    rv = load(m, tenant, run, &head, needs_plugins(o, head.status, false),
              (o->flags & MORTISE_ACCEPT_PLUGINS) != 0, out, err);
    if (!mortise_is_blocked(rv) || (!is_word(o) && o->id == NULL))
        return rv;
    if (load(m, tenant, run, &head, false, false, out, &here) != MORTISE_OK)
        return rv;
    return goes_without(*out, o, rv) ? MORTISE_OK : rv;
}

int mortise_live_knows_order(struct mortise *m, struct mortise_graph *g,
                             const char *tenant, const char *run,
                             const char *order, bool *knows,
                             struct mortise_err *err)
{
    const struct mortise_live *live = mortise_live_find(m, tenant, run);
    struct mortise_run *r;
    int rv;

    if (live != NULL && live->lost) {
        *err = live->why;
        return err->code;
    }
    if (live != NULL) {
        *knows = mortise_run_knows_order(live->run, order);
        return MORTISE_OK;
    }
    rv = mortise_replay(m, tenant, run, g, NULL, NULL, &r, err);
    if (rv == MORTISE_OK)
        *knows = mortise_run_knows_order(r, order);
    mortise_run_free(r);
    return rv;
}

int mortise_live_command(struct mortise *m, const char *tenant, const char *run,
                         struct mortise_order *o, struct mortise_err *err)
{
    struct mortise_live *live = mortise_live_find(m, tenant, run);
    struct mortise_order **last;
    int rv = MORTISE_OK;

    if (live != NULL && live->lost) {
        *err = live->why;
        return err->code;
    }
    if (live == NULL)
        rv = load_for(m, tenant, run, o, &live, err);
    if (rv != MORTISE_OK)
        return rv;
    o->next = NULL;
    for (last = &live->orders; *last != NULL; last = &(*last)->next)
        continue;
    *last = o;
    return live->orders == o ? give(live, err) : MORTISE_OK;
}
