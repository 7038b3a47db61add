/* commits.c -- run/'s commits to the store, and what a failed write means.
 *
 * What the runs recorded in one round of the loop goes to the store in one
 * batch; while that syncs, the next one forms.  A lone run's commit is written
 * on the spot, since a hand-over to the store thread and back costs as much as
 * the sync itself.
 *
 * Where the deployment lets steps be told before they are synced
 * (store.durability), commits are lazy unless run/ says that something waits
 * for one.  Lazy ones are synced by the next that is not, by a barrier when
 * something comes to wait for them, and with `batch` by one that is due
 * max_ms after the first was made.
 *
 * After any write error nobody knows what is on disk (R6b).  Then:
 *   (1) nothing that was not acknowledged is published, now or later;
 *   (2) every run in memory is dropped, and whoever waits for one is told;
 *   (3) calls under way are cancelled and waited for, at most until they are
 *       given up, so that no effect of the old life overlaps one of the new;
 *   (4) then the store is opened again.  If that works the engine goes on, and
 *       runs can be resumed; else everything that is asked of it says why not.
 */
#include "core/engine/common/news.h"
#include "core/engine/common/tree_purses.h"
#include "core/engine/runs/script.h"
#include "core/engine/runs/spawns.h"

#include <string.h>

#include "core/base/clock.h"

enum {
    AGAIN_MS = 10,
    CACHED_MAX = 1024 * 1024 /* bytes of JSON of a result that is kept */
};

/* A commit from the action that brought it to its answer. */
struct mortise_flight {
    struct mortise_commit commit;
    struct mortise *m;
    struct mortise_live *live; /* NULL: the barrier, or of no run */
    struct mortise_task landed;
    struct mortise_arena arena; /* of what the commit opens, closes and keeps */
    void *entries;              /* ours, of so much room */
    size_t room;
    const struct mortise_spawn_change **spawns; /* ours, of so much room */
    size_t cap_spawns;
    const struct mortise_spawn_change *alone; /* the one of a commit without a
                                                 run */
    int failed;  /* the whole batch's result; m->write_why has the words */
    bool leaves; /* its run may leave children behind (core/run/flow/left.c) */
    struct mortise_tree_flight tree; /* what it changes of its tree's purse */
};

static struct mortise_flight *flight_of(struct mortise_commit *c)
{
    return MORTISE_OF(c, struct mortise_flight, commit);
}

/* Who decided what it changes of spawn handles hears what became of that. */
static void flight_free(struct mortise *m, struct mortise_flight *f, int result)
{
    for (size_t i = 0; i < f->commit.n_spawns; i++) {
        struct mortise_spawn_put *p = mortise_spawn_put_of(f->commit.spawns[i]);

        if (result == MORTISE_OK && mortise_spawn_is_over(&p->change.now))
            mortise_news_put(m, MORTISE_NEWS_SETTLED, f->commit.tenant,
                             p->change.parent);
        p->flying = false;
        p->landed(p, result);
    }
    mortise_tree_landed(f->live, &f->tree, &f->commit.spend, result);
    mortise_release(m->mem, f->spawns, f->cap_spawns * sizeof *f->spawns);
    mortise_arena_finish(&f->arena);
    mortise_release(m->mem, f->entries, f->room);
    mortise_release(m->mem, f, sizeof *f);
}

/* ---- from run/'s words to the store's ----------------------------------- */

/* The text of a value; NULL: it is longer than `max`, or memory ran out. */
static const char *text_of(struct mortise_flight *f, const json_t *value,
                           size_t max, size_t *size)
{
    char *text = mortise_json_text(f->m->mem, value), *copy = NULL;

    *size = text != NULL ? strlen(text) : 0;
    if (text != NULL && *size <= max)
        copy = mortise_arena_strndup(&f->arena, text, *size);
    mortise_release_str(f->m->mem, text);
    return copy;
}

static bool copy_pending(struct mortise_flight *f,
                         const struct mortise_pending **out,
                         const struct mortise_run_open *from, size_t n)
{
    struct mortise_pending *list =
        mortise_arena_alloc(&f->arena, n * sizeof *list);

    *out = list;
    for (size_t i = 0; list != NULL && i < n; i++) {
        list[i].deadline_ms = from[i].deadline_ms;
        list[i].timer = from[i].timer;
        list[i].id = mortise_arena_strdup(&f->arena, from[i].id);
        if (from[i].payload != NULL)
            list[i].payload =
                text_of(f, from[i].payload, SIZE_MAX, &list[i].payload_size);
        if (list[i].id == NULL ||
            (from[i].payload != NULL && list[i].payload == NULL))
            return false;
    }
    return list != NULL;
}

static bool copy_kvs(struct mortise_flight *f,
                     const struct mortise_run_kv *from, size_t n)
{
    struct mortise_kv *list = mortise_arena_alloc(&f->arena, n * sizeof *list);

    f->commit.kvs = list;
    for (size_t i = 0; list != NULL && i < n; i++) {
        list[i].plugin = from[i].plugin;
        list[i].key_size = json_string_length(from[i].key);
        list[i].key = mortise_arena_strndup(
            &f->arena, json_string_value(from[i].key), list[i].key_size);
        if (from[i].value != NULL)
            list[i].value =
                text_of(f, from[i].value, SIZE_MAX, &list[i].value_size);
        if (list[i].key == NULL ||
            (from[i].value != NULL && list[i].value == NULL))
            return false;
    }
    return list != NULL;
}

/* A large one costs more to keep than it is likely to save. */
static bool copy_cached(struct mortise_flight *f,
                        const struct mortise_run_cached *from, size_t n)
{
    struct mortise_cached *list =
        mortise_arena_alloc(&f->arena, n * sizeof *list);

    f->commit.cached = list;
    for (size_t i = 0; list != NULL && i < n; i++) {
        struct mortise_cached *to = &list[f->commit.n_cached];

        to->value = text_of(f, from[i].value, CACHED_MAX, &to->value_size);
        if (to->value == NULL && to->value_size <= CACHED_MAX)
            return false;
        memcpy(to->key, from[i].key, sizeof to->key);
        f->commit.n_cached += to->value != NULL;
    }
    return list != NULL;
}

/* Handles change with this commit: who decided that waits for it. */
static void take_spawns(struct mortise_flight *f, struct mortise_run_commit *c)
{
    f->spawns = c->spawns;
    f->cap_spawns = c->cap_spawns;
    f->commit.spawns = f->spawns;
    f->commit.n_spawns = c->n_spawns;
    c->spawns = NULL; /* taken */
    c->n_spawns = c->cap_spawns = 0;
    for (size_t i = 0; i < f->commit.n_spawns; i++)
        mortise_spawn_put_of(f->spawns[i])->flying = true;
}

/* What is said of a run that ends, for the handle whose child it is. */
static enum mortise_spawn_status ends_as(int status)
{
    switch (status) {
    case MORTISE_RUN_COMPLETED:
        return MORTISE_SPAWN_COMPLETED;
    case MORTISE_RUN_FAILED:
        return MORTISE_SPAWN_FAILED;
    case MORTISE_RUN_CANCELLED:
        return MORTISE_SPAWN_CANCELLED;
    default:
        return MORTISE_SPAWN_UNENDED;
    }
}

/* What came of a run that ends, for the handle whose child it is.  What is too
 * long for that is said to be so: the run itself has it. */
static bool put_end(struct mortise_flight *f)
{
    struct mortise_live *live = f->live;
    struct mortise_err err;
    json_t *result = NULL;
    char *text = NULL;
    bool ok;

    if (!mortise_run_has_ended((int)f->commit.head.status) ||
        mortise_run_spawned_by(live->run) == NULL)
        return true;
    ok = mortise_run_end_result(live->run, &result, &err) == MORTISE_OK;
    if (ok && result != NULL &&
        mortise_spawns_result(f->m, result, &text, &err) == MORTISE_EINVAL) {
        json_decref(result);
        result = json_pack("{s:{s:s, s:s}}", "error", "code", "too_large",
                           "message", err.msg);
        ok = result != NULL;
    }
    if (ok && result != NULL && text == NULL)
        ok = mortise_spawns_result(f->m, result, &text, &err) == MORTISE_OK;
    if (ok && text != NULL) {
        f->commit.end_result = mortise_arena_strdup(&f->arena, text);
        f->commit.end_result_size = strlen(text);
        ok = f->commit.end_result != NULL;
    }
    mortise_release_str(f->m->mem, text);
    json_decref(result);
    return ok;
}

static bool is_lazy(const struct mortise *m, const struct mortise_run_commit *c)
{
    return m->settings.deployment->durability != MORTISE_SYNC && !c->sync &&
           c->n_spawns == 0;
}

/* The one place where a run's commit becomes the store's.  False: memory ran
 * out. */
static bool convert(struct mortise_flight *f, struct mortise_run_commit *c)
{
    struct mortise_live *live = f->live;
    struct mortise *m = live->m;
    bool brings_graph = mortise_live_regraph(live) || c->seq == 1;
    const struct mortise_graph *g = live->graph;
    struct mortise_commit *to = &f->commit;

    f->entries = c->entries;
    f->room = c->room;
    f->leaves = c->leaves;
    c->entries = NULL; /* taken */
    *to = (struct mortise_commit){.tenant = live->tenant,
                                  .run = live->id,
                                  .expected_seq = c->seq - 1,
                                  .checkpoint = {.id = c->id,
                                                 .parent = c->parent,
                                                 .seq = c->seq,
                                                 .time_ms = c->now_ms,
                                                 .first_event = c->first_event,
                                                 .n_events = c->n_events,
                                                 .step = c->step,
                                                 .phase = c->phase,
                                                 .entries = f->entries,
                                                 .size = c->size},
                                  .head = {.seq = c->seq,
                                           .checkpoint = c->id,
                                           .epoch = m->store->epoch,
                                           .created_ms = live->created_ms,
                                           .updated_ms = c->now_ms,
                                           .status = (uint32_t)c->status,
                                           .dev = c->dev,
                                           .n_pending = c->n_pending,
                                           .reason = c->reason,
                                           .graph_name = g->name},
                                  .n_opens = c->n_opens,
                                  .n_closes = c->n_closes,
                                  .n_kvs = c->n_kvs,
                                  .end_status = ends_as(c->status),
                                  .lazy = is_lazy(m, c)};
    memcpy(to->checkpoint.graph, g->digest, MORTISE_DIGEST);
    memcpy(to->head.graph, g->digest, MORTISE_DIGEST);
    take_spawns(f, c);
    if (!mortise_tree_take(live, c, &f->tree, &f->arena, &to->spend))
        return false;
    if (brings_graph) {
        to->graph = g->sources;
        to->n_graph = g->n_sources;
    }
    return put_end(f) &&
           (c->n_opens == 0 ||
            copy_pending(f, &to->opens, c->opens, c->n_opens)) &&
           (c->n_closes == 0 ||
            copy_pending(f, &to->closes, c->closes, c->n_closes)) &&
           (c->n_kvs == 0 || copy_kvs(f, c->kvs, c->n_kvs)) &&
           (c->n_cached == 0 || copy_cached(f, c->cached, c->n_cached));
}

static void landed(struct mortise_task *t);

/* For one commit, and the barrier. */
static bool has_room(struct mortise *m)
{
    for (size_t n = m->n_batch; n < m->n_batch + 2; n++) {
        struct mortise_commit **grown =
            mortise_grow(m->mem, m->batch, n, &m->cap_batch, sizeof *grown);

        if (grown == NULL)
            return false;
        m->batch = grown;
    }
    return true;
}

/* A lazy commit was made: it is to be synced in time. */
static void wind_sync(struct mortise *m)
{
    const struct mortise_deployment *d = m->settings.deployment;

    if (d->durability == MORTISE_BATCH && !m->sync.armed)
        mortise_timer_arm(&m->timers, &m->sync, mortise_mono_in(d->max_ms));
}

int mortise_commits_take(struct mortise_live *live,
                         struct mortise_run_commit *c, struct mortise_err *err)
{
    struct mortise *m = live->m;
    struct mortise_flight *f =
        has_room(m) ? mortise_zalloc(m->mem, sizeof *f) : NULL;

    if (f == NULL)
        return mortise_nomem(err);
    f->m = m;
    f->live = live;
    f->landed.run = landed;
    mortise_arena_init(&f->arena, m->mem);
    if (!convert(f, c)) {
        flight_free(m, f, MORTISE_ENOMEM);
        return mortise_nomem(err);
    }
    m->batch[m->n_batch++] = &f->commit;
    live->flying++;
    if (f->commit.lazy)
        wind_sync(m);
    return MORTISE_OK;
}

int mortise_commits_take_spawn(struct mortise *m, const char *tenant,
                               struct mortise_spawn_put *p,
                               struct mortise_err *err)
{
    struct mortise_flight *f =
        has_room(m) ? mortise_zalloc(m->mem, sizeof *f) : NULL;

    if (f == NULL)
        return mortise_nomem(err);
    f->m = m;
    f->landed.run = landed;
    mortise_arena_init(&f->arena, m->mem);
    f->alone = &p->change;
    f->commit = (struct mortise_commit){
        .tenant = tenant, .spawns = &f->alone, .n_spawns = 1};
    p->flying = true;
    m->batch[m->n_batch++] = &f->commit;
    return MORTISE_OK;
}

void mortise_commits_forget(struct mortise_live *live)
{
    struct mortise *m = live->m;
    size_t kept = 0;

    for (size_t i = 0; i < m->n_batch; i++) {
        struct mortise_flight *f = flight_of(m->batch[i]);

        if (f->live != live) { /* the barrier's is NULL, and of no run */
            m->batch[kept++] = m->batch[i];
            continue;
        }
        live->flying--;
        flight_free(m, f, MORTISE_ESTATE);
    }
    m->n_batch = kept;
}

/* ---- errors ------------------------------------------------------------- */

void mortise_commits_failed(struct mortise *m, int result,
                            const struct mortise_err *why)
{
    if (m->state != MORTISE_ENGINE_UP)
        return;
    m->state = MORTISE_ENGINE_FAILING;
    m->trouble_untold = true;
    if (result == MORTISE_ENOSPC)
        mortise_fail(&m->trouble, result,
                     "the disk of the store %s is full: free some space, then "
                     "resume the runs (%s); no acknowledged data is lost",
                     m->settings.store, why->msg);
    else
        mortise_fail(&m->trouble, result,
                     "a write to the store %s failed: %s; runs in memory were "
                     "dropped and can be resumed from the data on disk",
                     m->settings.store, why->msg);
    mortise_log(m, MORTISE_LOG_ERROR, "%s", m->trouble.msg);
    mortise_live_lose_all(m, &m->trouble);
    mortise_watch_fail_all(m, &m->trouble);
}

void mortise_commits_reopen(struct mortise *m)
{
    struct mortise_err err;

    mortise_writer_reset(m->writer);
    m->write_why.code = MORTISE_OK;
    if (mortise_store_reopen(m->store, &err) == MORTISE_OK) {
        m->state = MORTISE_ENGINE_UP;
        mortise_log(m, MORTISE_LOG_WARN, "the store %s is open again",
                    m->settings.store);
        mortise_watch_reopened(m);
        return;
    }
    m->state = MORTISE_ENGINE_BROKEN;
    m->trouble_untold = true;
    mortise_doing(&m->trouble, m->trouble.code,
                  "the store cannot be reopened (%s) after this error",
                  err.msg);
    mortise_log(m, MORTISE_LOG_ERROR, "%s", m->trouble.msg);
}

/* ---- the barrier -------------------------------------------------------- */

void mortise_commits_sync(struct mortise *m)
{
    if (m->barrier == NULL) /* every commit is synced */
        return;
    m->sync_again = m->barrier_flies;
    if (m->barrier_flies) /* it may be too early for what wants it now */
        return;
    m->barrier_flies = true;
    m->batch[m->n_batch++] = &m->barrier->commit; /* it has room */
}

static void barrier_landed(struct mortise *m)
{
    m->barrier_flies = false;
    if (m->sync_again)
        mortise_commits_sync(m);
}

/* Memory ran out for handing it over. */
static void try_sync_again(struct mortise *m)
{
    m->barrier_flies = false;
    mortise_timer_disarm(&m->timers, &m->sync);
    mortise_timer_arm(&m->timers, &m->sync, mortise_mono_in(AGAIN_MS));
}

static void sync_due(struct mortise_timer *t)
{
    mortise_commits_sync(MORTISE_OF(t, struct mortise, sync));
}

int mortise_commits_open(struct mortise *m, struct mortise_err *err)
{
    struct mortise_flight *f;

    m->sync.fire = sync_due;
    if (m->settings.deployment->durability == MORTISE_SYNC)
        return MORTISE_OK;
    f = has_room(m) ? mortise_zalloc(m->mem, sizeof *f) : NULL;
    if (f == NULL)
        return mortise_nomem(err);
    f->m = m;
    f->landed.run = landed;
    m->barrier = f;
    return MORTISE_OK;
}

void mortise_commits_finish(struct mortise *m)
{
    struct mortise_commit *barrier;
    struct mortise_err err;
    int result;

    mortise_timer_disarm(&m->timers, &m->sync);
    if (m->barrier == NULL)
        return;
    barrier = &m->barrier->commit;
    mortise_writer_reset(m->writer); /* the last answer was given, surely */
    if (mortise_writer_inline(m->writer, &barrier, 1, &result, &err) &&
        result != MORTISE_OK)
        mortise_log(m, MORTISE_LOG_ERROR,
                    "a power failure may still undo the latest commits: %s",
                    err.msg);
}

void mortise_commits_close(struct mortise *m)
{
    if (m->barrier != NULL)
        mortise_release(m->mem, m->barrier, sizeof *m->barrier);
    mortise_release(m->mem, m->batch, m->cap_batch * sizeof *m->batch);
}

/* ---- answers ------------------------------------------------------------ */

static void refused(struct mortise_flight *f, int result)
{
    struct mortise_err why;

    if (result == MORTISE_EEXISTS)
        mortise_fail(&why, result, "a run '%s' already exists", f->commit.run);
    else if (result == MORTISE_ENOSPC)
        mortise_fail(&why, result,
                     "the disk of the store %s is nearly full: no new run "
                     "starts until %d MiB are free; existing runs can be "
                     "continued, paused and cancelled",
                     f->m->settings.store, MORTISE_STORE_FREE_MIB);
    else
        mortise_fail(&why, result,
                     "another command changed run %s first, so this command "
                     "changed nothing; look at the run, then decide again",
                     f->commit.run);
    mortise_live_lose(f->live, &why);
}

void mortise_commits_leave(struct mortise_live *live)
{
    if (live->at_unsynced == NULL)
        return;
    *live->at_unsynced = live->next_unsynced;
    if (live->next_unsynced != NULL)
        live->next_unsynced->at_unsynced = live->at_unsynced;
    live->at_unsynced = NULL;
}

static void is_unsynced(struct mortise_live *live)
{
    struct mortise *m = live->m;

    if (live->at_unsynced != NULL)
        return;
    live->next_unsynced = m->unsynced;
    if (m->unsynced != NULL)
        m->unsynced->at_unsynced = &live->next_unsynced;
    live->at_unsynced = &m->unsynced;
    m->unsynced = live;
}

/* Everything that has landed is on disk. */
static void all_synced(struct mortise *m)
{
    struct mortise_live *live;

    while ((live = m->unsynced) != NULL) {
        mortise_commits_leave(live);
        mortise_live_landed(live, live->written, live->written);
    }
}

static void note_landed(struct mortise_live *live,
                        const struct mortise_commit *c)
{
    uint64_t seq = c->checkpoint.seq;

    mortise_live_landed(live, seq, c->synced ? seq : live->synced);
    if (!c->synced)
        is_unsynced(live);
}

static void answer(struct mortise *m, struct mortise_flight *f, int result)
{
    struct mortise_live *live = f->live;

    live->flying--;
    if (result == MORTISE_OK) {
        mortise_script_commit(m, f->commit.checkpoint.seq, true);
        for (size_t i = 0; i < f->commit.n_opens; i++)
            if (f->commit.opens[i].deadline_ms != 0)
                mortise_deadlines_note(m, f->commit.opens[i].deadline_ms);
        note_landed(live, &f->commit);
        if (mortise_run_has_ended((int)f->commit.head.status))
            mortise_news_put(m, MORTISE_NEWS_ENDED, live->tenant, live->id);
        else if (f->leaves)
            mortise_news_of(live, MORTISE_NEWS_LEFT);
    } else if (!live->lost) {
        refused(f, result);
    }
    mortise_live_touch(live);
    flight_free(m, f, result);
}

/* A whole batch failed. */
static void fail_flight(struct mortise *m, struct mortise_flight *f)
{
    int result = f->failed;

    if (f->live != NULL) {
        f->live->flying--;
        mortise_live_touch(f->live);
    }
    if (f != m->barrier)
        flight_free(m, f, result);
    mortise_commits_failed(m, result, &m->write_why);
}

static void landed(struct mortise_task *t)
{
    struct mortise_flight *f = MORTISE_OF(t, struct mortise_flight, landed);
    struct mortise *m = f->m;

    m->n_flying--;
    if (f == m->barrier)
        barrier_landed(m);
    if (f->failed == MORTISE_OK && f->commit.synced)
        all_synced(m);
    if (f->failed != MORTISE_OK)
        fail_flight(m, f);
    else if (f->live != NULL)
        answer(m, f, f->commit.result);
    else if (f != m->barrier)
        flight_free(m, f, f->commit.result);
}

void mortise_commits_landed(struct mortise *m)
{
    struct mortise_task *t;

    while ((t = mortise_tasks_take(&m->landed)) != NULL)
        t->run(t);
}

void mortise_commits_written(void *ud, struct mortise_commit *const *commits,
                             size_t n, int result,
                             const struct mortise_err *err)
{
    struct mortise *m = ud;
    struct mortise_tasks landed_now = {NULL, NULL};

    if (result != MORTISE_OK && m->write_why.code == MORTISE_OK)
        m->write_why = *err;
    for (size_t i = 0; i < n; i++) {
        struct mortise_flight *f = flight_of(commits[i]);

        f->failed = result;
        mortise_tasks_put(&landed_now, &f->landed);
    }
    /* At once, so that what they lead to makes one batch again. */
    mortise_task_queue_bring(&m->task_queue, &landed_now, true);
}

/* ---- handing over ------------------------------------------------------- */

/* Would a hand-over only cost time?  One run, and nothing else going on; or
 * a script, which is to give the same each time. */
static bool is_alone(const struct mortise *m)
{
    return m->script != NULL ||
           (m->lives.n == 1 && m->n_calls == 0 && m->n_flying == 0);
}

/* The batch, written here; false: the store thread is at work. */
static bool write_here(struct mortise *m)
{
    struct mortise_err err = {.code = MORTISE_OK};
    size_t n = m->n_batch;
    int result;

    if (!mortise_writer_inline(m->writer, m->batch, n, &result, &err))
        return false;
    m->n_batch = 0; /* answering may take new commits into the array */
    if (result != MORTISE_OK)
        m->write_why = err;
    for (size_t i = 0; i < n; i++) {
        struct mortise_flight *f = flight_of(m->batch[i]);

        f->failed = result;
        m->n_flying++;
        mortise_tasks_put(&m->landed, &f->landed);
    }
    mortise_commits_landed(m);
    return true;
}

/* Memory ran out where the batch was to be handed over: its runs are lost. */
static void give_up(struct mortise *m, size_t n, const struct mortise_err *why)
{
    for (size_t i = 0; i < n; i++) {
        struct mortise_flight *f = flight_of(m->batch[i]);

        if (f == m->barrier) {
            try_sync_again(m);
            continue;
        }
        if (f->live != NULL) {
            f->live->flying--;
            mortise_live_lose(f->live, why);
        }
        flight_free(m, f, why->code);
    }
}

void mortise_commits_flush(struct mortise *m)
{
    size_t n = m->n_batch;
    struct mortise_err err;

    for (size_t i = 0; i < n; i++)
        mortise_script_commit(m, m->batch[i]->checkpoint.seq, false);
    if (n == 0 || (is_alone(m) && write_here(m)))
        return;
    m->n_batch = 0; /* losing a run must not look for it here */
    if (mortise_writer_submit(m->writer, m->batch, n, &err) == MORTISE_OK)
        m->n_flying += n;
    else
        give_up(m, n, &err);
}
