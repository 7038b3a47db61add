/* commits.c -- write commits of runs to the store, and recover from failed
 * writes.
 *
 * Commits that runs make in one round of the loop go to the store in one batch;
 * the next batch forms while that one syncs.  If a single run is active, its
 * commit is written on the loop, because the way to the store thread and back
 * costs as much as the sync.
 *
 * If the deployment allows results to be shown before they are synced
 * (store.durability), a commit is lazy unless the run marks it as awaited.  A
 * lazy commit is synced by the next commit that is not lazy, by a barrier when
 * something begins to wait for it, and with `batch` by a barrier max_ms after
 * the first lazy commit.
 *
 * After a write error it is unknown which data is on disk (R6b).  Then:
 *   (1) nothing that was not acknowledged is published, now or later;
 *   (2) every run in memory is dropped, and everyone who waits for one gets an
 *       error;
 *   (3) calls in flight are cancelled and waited for, until they end or are
 *       given up, so that no effect of the old state overlaps one of the new
 *       state;
 *   (4) then the store is reopened.  If that works, the engine continues, and
 *       runs can be resumed; otherwise every request gets the error.
 */
#include "core/engine/common/news.h"
#include "core/engine/common/tree_purses.h"
#include "core/engine/runs/script.h"
#include "core/engine/runs/spawns.h"

#include <string.h>

#include "core/base/clock.h"

enum {
    AGAIN_MS = 10,
    CACHED_MAX = 1024 * 1024 /* limit in bytes of JSON for a cached output */
};

/* A commit in flight, from its action to its answer. */
struct mortise_commit_flight {
    struct mortise_commit commit;
    struct mortise *m;
    struct mortise_live *live; /* NULL: the barrier, or a commit without a
                                  run */
    struct mortise_task landed;
    struct mortise_arena arena; /* of the data that the commit refers to */
    void *entries;              /* owned, with its allocated size */
    size_t room;
    const struct mortise_spawn_change **spawns; /* owned, with its capacity */
    size_t cap_spawns;
    const struct mortise_spawn_change *alone; /* the change of a commit without
                                                 a run */
    int failed;  /* the result of the whole batch; m->write_why has the
                    message */
    bool leaves; /* its run may leave children behind (core/run/flow/left.c) */
    struct mortise_tree_commit_flight
        tree; /* its change of the tree's budget */
};

static struct mortise_commit_flight *get_flight(struct mortise_commit *c)
{
    return MORTISE_CONTAINER_OF(c, struct mortise_commit_flight, commit);
}

/* Report the result to the owners of the handle changes, and free the
 * commit. */
static void flight_free(struct mortise *m, struct mortise_commit_flight *f,
                        int result)
{
    for (size_t i = 0; i < f->commit.n_spawns; i++) {
        struct mortise_spawn_put *p =
            mortise_spawn_put_from_change(f->commit.spawns[i]);

        if (result == MORTISE_OK && mortise_spawn_has_ended(&p->change.now))
            mortise_news_add(m, MORTISE_NEWS_SETTLED, f->commit.tenant,
                             p->change.parent);
        p->flying = false;
        p->landed(p, result);
    }
    mortise_tree_end_flight(f->live, &f->tree, &f->commit.spend, result);
    mortise_release(m->mem, f->spawns, f->cap_spawns * sizeof *f->spawns);
    mortise_arena_finish(&f->arena);
    mortise_release(m->mem, f->entries, f->room);
    mortise_release(m->mem, f, sizeof *f);
}

/* ---- conversion of a run's commit ---------------------------------------- */

/* The text of a value; NULL: it is longer than `max`, or out of memory. */
static const char *make_value_text(struct mortise_commit_flight *f,
                                   const json_t *value, size_t max,
                                   size_t *size)
{
    char *text = mortise_json_to_text(f->m->mem, value), *copy = NULL;

    *size = text != NULL ? strlen(text) : 0;
    if (text != NULL && *size <= max)
        copy = mortise_arena_strndup(&f->arena, text, *size);
    mortise_release_str(f->m->mem, text);
    return copy;
}

static bool copy_pending(struct mortise_commit_flight *f,
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
            list[i].payload = make_value_text(f, from[i].payload, SIZE_MAX,
                                              &list[i].payload_size);
        if (list[i].id == NULL ||
            (from[i].payload != NULL && list[i].payload == NULL))
            return false;
    }
    return list != NULL;
}

static bool copy_kvs(struct mortise_commit_flight *f,
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
            list[i].value = make_value_text(f, from[i].value, SIZE_MAX,
                                            &list[i].value_size);
        if (list[i].key == NULL ||
            (from[i].value != NULL && list[i].value == NULL))
            return false;
    }
    return list != NULL;
}

/* Skips large values: they cost more to store than they are likely to save. */
static bool copy_cached(struct mortise_commit_flight *f,
                        const struct mortise_run_cached *from, size_t n)
{
    struct mortise_cached_result *list =
        mortise_arena_alloc(&f->arena, n * sizeof *list);

    f->commit.cached = list;
    for (size_t i = 0; list != NULL && i < n; i++) {
        struct mortise_cached_result *to = &list[f->commit.n_cached];

        to->value =
            make_value_text(f, from[i].value, CACHED_MAX, &to->value_size);
        if (to->value == NULL && to->value_size <= CACHED_MAX)
            return false;
        memcpy(to->key, from[i].key, sizeof to->key);
        f->commit.n_cached += to->value != NULL;
    }
    return list != NULL;
}

/* Take the changes of spawn handles; their owners wait for the commit. */
static void take_spawn_changes(struct mortise_commit_flight *f,
                               struct mortise_run_commit *c)
{
    f->spawns = c->spawns;
    f->cap_spawns = c->cap_spawns;
    f->commit.spawns = f->spawns;
    f->commit.n_spawns = c->n_spawns;
    c->spawns = NULL; /* taken */
    c->n_spawns = c->cap_spawns = 0;
    for (size_t i = 0; i < f->commit.n_spawns; i++)
        mortise_spawn_put_from_change(f->spawns[i])->flying = true;
}

/* The status of an ended run for the handle of which it is the child. */
static enum mortise_spawn_status get_spawn_end_status(int status)
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

/* The result of an ended child for its handle.  A result that is too long is
 * replaced by an error; the run itself has the whole result. */
static bool copy_end_result(struct mortise_commit_flight *f)
{
    struct mortise_live *live = f->live;
    struct mortise_err err;
    json_t *result = NULL;
    char *text = NULL;
    bool ok;

    if (!mortise_run_has_ended((int)f->commit.head.status) ||
        mortise_run_get_spawn_handle(live->run) == NULL)
        return true;
    ok = mortise_run_get_end_result(live->run, &result, &err) == MORTISE_OK;
    if (ok && result != NULL &&
        mortise_spawns_encode_result(f->m, result, &text, &err) ==
            MORTISE_EINVAL) {
        json_decref(result);
        result = json_pack("{s:{s:s, s:s}}", "error", "code", "too_large",
                           "message", err.msg);
        ok = result != NULL;
    }
    if (ok && result != NULL && text == NULL)
        ok = mortise_spawns_encode_result(f->m, result, &text, &err) ==
             MORTISE_OK;
    if (ok && text != NULL) {
        f->commit.end_result = mortise_arena_strdup(&f->arena, text);
        f->commit.end_result_size = strlen(text);
        ok = f->commit.end_result != NULL;
    }
    mortise_release_str(f->m->mem, text);
    json_decref(result);
    return ok;
}

static bool is_commit_lazy(const struct mortise *m,
                           const struct mortise_run_commit *c)
{
    return m->settings.durability != MORTISE_SYNC && !c->sync &&
           c->n_spawns == 0;
}

/* Convert a run's commit to the store's.  False: out of memory. */
static bool convert_run_commit(struct mortise_commit_flight *f,
                               struct mortise_run_commit *c)
{
    struct mortise_live *live = f->live;
    struct mortise *m = live->m;
    bool brings_graph = mortise_live_update_graph(live) || c->seq == 1;
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
                                  .end_status = get_spawn_end_status(c->status),
                                  .lazy = is_commit_lazy(m, c)};
    memcpy(to->checkpoint.graph, g->digest, MORTISE_DIGEST);
    memcpy(to->head.graph, g->digest, MORTISE_DIGEST);
    take_spawn_changes(f, c);
    if (!mortise_tree_begin_flight(live, c, &f->tree, &f->arena, &to->spend))
        return false;
    if (brings_graph) {
        to->graph = g->sources;
        to->n_graph = g->n_sources;
    }
    return copy_end_result(f) &&
           (c->n_opens == 0 ||
            copy_pending(f, &to->opens, c->opens, c->n_opens)) &&
           (c->n_closes == 0 ||
            copy_pending(f, &to->closes, c->closes, c->n_closes)) &&
           (c->n_kvs == 0 || copy_kvs(f, c->kvs, c->n_kvs)) &&
           (c->n_cached == 0 || copy_cached(f, c->cached, c->n_cached));
}

static void flight_landed(struct mortise_task *t);

/* For one commit, and the barrier. */
static bool has_batch_room(struct mortise *m)
{
    for (size_t n = m->n_batch; n < m->n_batch + 2; n++) {
        struct mortise_commit **grown = mortise_array_grow(
            m->mem, m->batch, n, &m->cap_batch, sizeof *grown);

        if (grown == NULL)
            return false;
        m->batch = grown;
    }
    return true;
}

/* Arm the timer that syncs lazy commits. */
static void arm_sync_timer(struct mortise *m)
{
    if (m->settings.durability == MORTISE_BATCH && !m->sync.armed)
        mortise_timer_arm(&m->timers, &m->sync,
                          mortise_mono_ns_after(m->settings.max_ms));
}

int mortise_commits_take(struct mortise_live *live,
                         struct mortise_run_commit *c, struct mortise_err *err)
{
    struct mortise *m = live->m;
    struct mortise_commit_flight *f =
        has_batch_room(m) ? mortise_zalloc(m->mem, sizeof *f) : NULL;

    if (f == NULL)
        return mortise_nomem(err);
    f->m = m;
    f->live = live;
    f->landed.run = flight_landed;
    mortise_arena_init(&f->arena, m->mem);
    if (!convert_run_commit(f, c)) {
        flight_free(m, f, MORTISE_ENOMEM);
        return mortise_nomem(err);
    }
    m->batch[m->n_batch++] = &f->commit;
    live->flying++;
    if (f->commit.lazy)
        arm_sync_timer(m);
    return MORTISE_OK;
}

int mortise_commits_take_spawn(struct mortise *m, const char *tenant,
                               struct mortise_spawn_put *p,
                               struct mortise_err *err)
{
    struct mortise_commit_flight *f =
        has_batch_room(m) ? mortise_zalloc(m->mem, sizeof *f) : NULL;

    if (f == NULL)
        return mortise_nomem(err);
    f->m = m;
    f->landed.run = flight_landed;
    mortise_arena_init(&f->arena, m->mem);
    f->alone = &p->change;
    f->commit = (struct mortise_commit){
        .tenant = tenant, .spawns = &f->alone, .n_spawns = 1};
    p->flying = true;
    m->batch[m->n_batch++] = &f->commit;
    return MORTISE_OK;
}

void mortise_commits_drop_unflushed(struct mortise_live *live)
{
    struct mortise *m = live->m;
    size_t kept = 0;

    for (size_t i = 0; i < m->n_batch; i++) {
        struct mortise_commit_flight *f = get_flight(m->batch[i]);

        /* `live` is NULL for the barrier and for commits without a run */
        if (f->live != live) {
            m->batch[kept++] = m->batch[i];
            continue;
        }
        live->flying--;
        flight_free(m, f, MORTISE_ESTATE);
    }
    m->n_batch = kept;
}

/* ---- errors ------------------------------------------------------------- */

void mortise_commits_handle_failure(struct mortise *m, int result,
                                    const struct mortise_err *why)
{
    if (m->state != MORTISE_ENGINE_RUNNING)
        return;
    m->state = MORTISE_ENGINE_FAILING;
    m->trouble_unreported = true;
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
    mortise_live_discard_all(m, &m->trouble);
    mortise_watch_fail_all(m, &m->trouble);
}

void mortise_commits_reopen(struct mortise *m)
{
    struct mortise_err err;

    mortise_writer_reset(m->writer);
    m->write_why.code = MORTISE_OK;
    if (mortise_store_reopen(m->store, &err) == MORTISE_OK) {
        m->state = MORTISE_ENGINE_RUNNING;
        mortise_log(m, MORTISE_LOG_WARN, "the store %s is open again",
                    m->settings.store);
        mortise_watch_handle_reopened(m);
        return;
    }
    m->state = MORTISE_ENGINE_BROKEN;
    m->trouble_unreported = true;
    mortise_err_prefix(&m->trouble, m->trouble.code,
                       "the store cannot be reopened (%s) after this error",
                       err.msg);
    mortise_log(m, MORTISE_LOG_ERROR, "%s", m->trouble.msg);
}

/* ---- the barrier -------------------------------------------------------- */

void mortise_commits_request_sync(struct mortise *m)
{
    if (m->barrier == NULL) /* every commit is synced */
        return;
    m->sync_again = m->barrier_in_flight;
    if (m->barrier_in_flight) /* the barrier in flight may be too early for the
                             commits that need it now */
        return;
    m->barrier_in_flight = true;
    /* has_batch_room() reserved its entry */
    m->batch[m->n_batch++] = &m->barrier->commit;
}

static void barrier_landed(struct mortise *m)
{
    m->barrier_in_flight = false;
    if (m->sync_again)
        mortise_commits_request_sync(m);
}

/* Memory ran out for handing it over. */
static void retry_barrier(struct mortise *m)
{
    m->barrier_in_flight = false;
    mortise_timer_disarm(&m->timers, &m->sync);
    mortise_timer_arm(&m->timers, &m->sync, mortise_mono_ns_after(AGAIN_MS));
}

static void on_sync_timer(struct mortise_timer *t)
{
    mortise_commits_request_sync(MORTISE_CONTAINER_OF(t, struct mortise, sync));
}

int mortise_commits_open(struct mortise *m, struct mortise_err *err)
{
    struct mortise_commit_flight *f;

    m->sync.fire = on_sync_timer;
    if (m->settings.durability == MORTISE_SYNC)
        return MORTISE_OK;
    f = has_batch_room(m) ? mortise_zalloc(m->mem, sizeof *f) : NULL;
    if (f == NULL)
        return mortise_nomem(err);
    f->m = m;
    f->landed.run = flight_landed;
    m->barrier = f;
    return MORTISE_OK;
}

void mortise_commits_sync_all(struct mortise *m)
{
    struct mortise_commit *barrier;
    struct mortise_err err;
    int result;

    mortise_timer_disarm(&m->timers, &m->sync);
    if (m->barrier == NULL)
        return;
    barrier = &m->barrier->commit;
    mortise_writer_reset(m->writer); /* the store thread has surely given its
                                        last answer */
    if (mortise_writer_write_inline(m->writer, &barrier, 1, &result, &err) &&
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

static void lose_refused_run(struct mortise_commit_flight *f, int result)
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
    mortise_live_discard(f->live, &why);
}

void mortise_commits_detach_run(struct mortise_live *live)
{
    if (live->link_to_unsynced == NULL)
        return;
    *live->link_to_unsynced = live->next_unsynced;
    if (live->next_unsynced != NULL)
        live->next_unsynced->link_to_unsynced = live->link_to_unsynced;
    live->link_to_unsynced = NULL;
}

static void add_unsynced_run(struct mortise_live *live)
{
    struct mortise *m = live->m;

    if (live->link_to_unsynced != NULL)
        return;
    live->next_unsynced = m->unsynced;
    if (m->unsynced != NULL)
        m->unsynced->link_to_unsynced = &live->next_unsynced;
    live->link_to_unsynced = &m->unsynced;
    m->unsynced = live;
}

/* All commits that landed are on disk. */
static void handle_all_synced(struct mortise *m)
{
    struct mortise_live *live;

    while ((live = m->unsynced) != NULL) {
        mortise_commits_detach_run(live);
        mortise_live_set_written(live, live->written, live->written);
    }
}

static void handle_run_landed(struct mortise_live *live,
                              const struct mortise_commit *c)
{
    uint64_t seq = c->checkpoint.seq;

    mortise_live_set_written(live, seq, c->synced ? seq : live->synced);
    if (!c->synced)
        add_unsynced_run(live);
}

static void answer_run_commit(struct mortise *m,
                              struct mortise_commit_flight *f, int result)
{
    struct mortise_live *live = f->live;

    live->flying--;
    if (result == MORTISE_OK) {
        mortise_script_commit(m, f->commit.checkpoint.seq, true);
        for (size_t i = 0; i < f->commit.n_opens; i++)
            if (f->commit.opens[i].deadline_ms != 0)
                mortise_deadlines_add(m, f->commit.opens[i].deadline_ms);
        handle_run_landed(live, &f->commit);
        if (mortise_run_has_ended((int)f->commit.head.status))
            mortise_news_add(m, MORTISE_NEWS_ENDED, live->tenant, live->id);
        else if (f->leaves)
            mortise_news_add_for_run(live, MORTISE_NEWS_LEFT);
    } else if (!live->lost) {
        lose_refused_run(f, result);
    }
    mortise_live_queue_check(live);
    flight_free(m, f, result);
}

/* The whole batch failed. */
static void fail_flight(struct mortise *m, struct mortise_commit_flight *f)
{
    int result = f->failed;

    if (f->live != NULL) {
        f->live->flying--;
        mortise_live_queue_check(f->live);
    }
    if (f != m->barrier)
        flight_free(m, f, result);
    mortise_commits_handle_failure(m, result, &m->write_why);
}

static void flight_landed(struct mortise_task *t)
{
    struct mortise_commit_flight *f =
        MORTISE_CONTAINER_OF(t, struct mortise_commit_flight, landed);
    struct mortise *m = f->m;

    m->n_commits_in_flight--;
    if (f == m->barrier)
        barrier_landed(m);
    if (f->failed == MORTISE_OK && f->commit.synced)
        handle_all_synced(m);
    if (f->failed != MORTISE_OK)
        fail_flight(m, f);
    else if (f->live != NULL)
        answer_run_commit(m, f, f->commit.result);
    else if (f != m->barrier)
        flight_free(m, f, f->commit.result);
}

void mortise_commits_handle_answers(struct mortise *m)
{
    struct mortise_task *t;

    while ((t = mortise_tasks_take(&m->landed)) != NULL)
        t->run(t);
}

void mortise_commits_post_answers(void *ud,
                                  struct mortise_commit *const *commits,
                                  size_t n, int result,
                                  const struct mortise_err *err)
{
    struct mortise *m = ud;
    struct mortise_tasks landed_now = {NULL, NULL};

    if (result != MORTISE_OK && m->write_why.code == MORTISE_OK)
        m->write_why = *err;
    for (size_t i = 0; i < n; i++) {
        struct mortise_commit_flight *f = get_flight(commits[i]);

        f->failed = result;
        mortise_tasks_put(&landed_now, &f->landed);
    }
    /* All at once, so that the commits that follow form one batch again. */
    mortise_task_queue_put_all(&m->task_queue, &landed_now, true);
}

/* ---- hand over ----------------------------------------------------------- */

/* Is writing here faster than a hand-over?  True if one run is active and
 * nothing else; also with a script, for reproducible tests. */
static bool is_single_run_active(const struct mortise *m)
{
    return m->script != NULL ||
           (m->lives.n == 1 && m->n_calls == 0 && m->n_commits_in_flight == 0);
}

/* Write the batch here; false: the store thread is busy. */
static bool write_batch_inline(struct mortise *m)
{
    struct mortise_err err = {.code = MORTISE_OK};
    size_t n = m->n_batch;
    int result;

    if (!mortise_writer_write_inline(m->writer, m->batch, n, &result, &err))
        return false;
    m->n_batch = 0; /* the answers may add new commits to the array */
    if (result != MORTISE_OK)
        m->write_why = err;
    for (size_t i = 0; i < n; i++) {
        struct mortise_commit_flight *f = get_flight(m->batch[i]);

        f->failed = result;
        m->n_commits_in_flight++;
        mortise_tasks_put(&m->landed, &f->landed);
    }
    mortise_commits_handle_answers(m);
    return true;
}

/* Memory ran out for the hand-over: the runs of the batch are lost. */
static void give_up_batch(struct mortise *m, size_t n,
                          const struct mortise_err *why)
{
    for (size_t i = 0; i < n; i++) {
        struct mortise_commit_flight *f = get_flight(m->batch[i]);

        if (f == m->barrier) {
            retry_barrier(m);
            continue;
        }
        if (f->live != NULL) {
            f->live->flying--;
            mortise_live_discard(f->live, why);
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
    if (n == 0 || (is_single_run_active(m) && write_batch_inline(m)))
        return;
    m->n_batch = 0; /* or losing a run would search the batch */
    if (mortise_writer_submit(m->writer, m->batch, n, &err) == MORTISE_OK)
        m->n_commits_in_flight += n;
    else
        give_up_batch(m, n, &err);
}
