/* retention.c -- remove runs that ended long ago (store.retention).
 *
 * The engine that holds the store scans all heads page by page: soon after it
 * was opened, and then periodically.  A page takes a millisecond or two of a
 * timer, followed by a pause, so nobody is delayed, however many runs there
 * are.  An engine that closes before its first pass, such as the engine of a
 * short command, does the beginning of the pass while it closes, if it wrote to
 * the store; a command that only reads changes nothing.  It does as many steps
 * as a small store needs, however slow the store is, and more within a few
 * milliseconds.  Otherwise a store that only sees short commands would never be
 * cleaned.
 *
 *   (1) Runs that have not ended stay: waiting, paused and in doubt, or in
 *       memory.  A failed run has ended: it can be resumed until it is removed.
 *   (1b) One reading of the clock removes nothing, because it may be wrong: if
 *        the clock is a month ahead during one command, every ended run would
 *        be overdue.  A pass notes its reading in the store.  A run is removed
 *        if it was overdue at the noted time, and a reading at least a day
 *        later (a tenth of `finished`, if that is shorter) agrees.  A note from
 *        the future came from a wrong clock, or is judged by one: it is void,
 *        and replaced.
 *   (2) A pass first finishes the removals of an earlier one
 *       (mortise_store_remove_rest()).
 *   (3) A graph is removed if a pass saw all heads and none uses it.
 */
#include "core/engine/common/engine.h"

#include <string.h>

#include "core/base/clock.h"

enum {
    PAGE = 256,      /* heads read at once */
    AT_ONCE = 32,    /* runs removed in one batch */
    FIRST_MS = 1000, /* delay after opening */
    PAUSE_MS = 50,   /* between two steps */
    PASS_MIN_MS = 10 * 1000,
    PASS_MAX_MS = 60 * 60 * 1000,
    AGREE_MAX_MS = 24 * 60 * 60 * 1000, /* minimum time between agreeing
                                           readings */
    CLOSING_STEPS = 5, /* rest, page, graphs; then the rest that those left */
    CLOSING_MS = 5
};

enum stage { REST, HEADS, GRAPHS, DONE };

struct removable_run { /* a run that may be removed */
    char tenant[MORTISE_NAME_MAX + 1], run[MORTISE_NAME_MAX + 1];
    uint8_t graph[MORTISE_DIGEST];
};

struct mortise_retention {
    struct mortise *m;
    struct mortise_timer timer;
    struct mortise_read read;
    bool reading;   /* a read of the store is in flight */
    bool finishing; /* the engine closes: arm no timer */
    int rv;         /* result of the last step; an error is a write error */
    struct mortise_err err;
    enum stage stage;
    bool began, swept; /* heads of this pass were seen; graphs were swept since
                          the opening */
    bool any;          /* this pass removed a run */
    /* The clock at the beginning of the pass, and the noted reading. */
    uint64_t begun_ms, overdue_found_ms;
    bool agrees;
    bool waits; /* a run is overdue and waits for a second reading */
    /* seen last */
    char tenant[MORTISE_NAME_MAX + 1], run[MORTISE_NAME_MAX + 1];
    /* The position when the page began. */
    char after_tenant[MORTISE_NAME_MAX + 1], after_run[MORTISE_NAME_MAX + 1];
    /* State of one page. */
    uint64_t now_ms;
    bool more;
    size_t n_seen, n_old, n_graphs;
    struct removable_run old[AT_ONCE];
    struct mortise_removal list[AT_ONCE]; /* for old[] */
    uint8_t graphs[PAGE + AT_ONCE][MORTISE_DIGEST];
};

static void add_used_graph(struct mortise_retention *r,
                           const uint8_t digest[MORTISE_DIGEST])
{
    if (r->n_graphs == 0 ||
        memcmp(r->graphs[r->n_graphs - 1], digest, MORTISE_DIGEST) != 0)
        memcpy(r->graphs[r->n_graphs++], digest, MORTISE_DIGEST);
}

static uint64_t get_finished_ms(const struct mortise_retention *r)
{
    return r->m->settings.finished_ms;
}

static bool is_run_overdue(const struct mortise_retention *r,
                           const struct mortise_head *h, uint64_t at_ms)
{
    return h->updated_ms <= at_ms &&
           at_ms - h->updated_ms >= get_finished_ms(r);
}

/* (1): may it be removed according to this reading? */
static bool is_removable(const struct mortise_retention *r, const char *tenant,
                         const char *run, const struct mortise_head *h)
{
    return mortise_run_has_ended((int)h->status) && h->n_pending == 0 &&
           is_run_overdue(r, h, r->now_ms) &&
           mortise_live_find(r->m, tenant, run) == NULL;
}

static int collect_removable_run(void *ud, const char *tenant, const char *run,
                                 const struct mortise_head *head)
{
    struct mortise_retention *r = ud;
    bool fits =
        strlen(tenant) <= MORTISE_NAME_MAX && strlen(run) <= MORTISE_NAME_MAX;
    bool due = fits && is_removable(r, tenant, run, head);
    bool old = due && r->agrees && is_run_overdue(r, head, r->overdue_found_ms);

    r->more = r->n_seen == PAGE || (old && r->n_old == AT_ONCE);
    if (r->more)
        return 1;
    r->n_seen++;
    r->waits |= due && !old;
    if (old) {
        struct removable_run *o = &r->old[r->n_old];

        strcpy(o->tenant, tenant);
        strcpy(o->run, run);
        memcpy(o->graph, head->graph, sizeof o->graph);
        r->list[r->n_old++] = (struct mortise_removal){
            .tenant = o->tenant, .run = o->run, .seq = head->seq};
    } else {
        add_used_graph(r, head->graph);
    }
    if (fits) { /* live.c admits no longer names */
        strcpy(r->tenant, tenant);
        strcpy(r->run, run);
        r->began = true;
    }
    return 0;
}

/* Runs that did not fit into the batch are read again: continue after the last
 * one that was removed. */
static void count_removed_runs(struct mortise_retention *r)
{
    const struct removable_run *last = NULL;
    size_t n = 0;

    for (size_t i = 0; i < r->n_old; i++) {
        if (r->list[i].gone) {
            last = &r->old[i];
            n++;
        } else {
            add_used_graph(r, r->old[i].graph);
        }
    }
    if (last == NULL)
        return;
    if (!r->list[r->n_old - 1].gone) {
        strcpy(r->tenant, last->tenant);
        strcpy(r->run, last->run);
        r->more = true;
    }
    r->any = true;
    mortise_log(r->m, MORTISE_LOG_INFO, "store.retention: %zu run%s removed", n,
                n == 1 ? "" : "s");
}

static int remove_old_runs(struct mortise_retention *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (r->n_old > 0)
        rv = mortise_store_remove(r->m->store, r->list, r->n_old, r->now_ms,
                                  err);
    if (rv == MORTISE_OK)
        count_removed_runs(r);
    return rv;
}

/* ---- two readings of the clock ------------------------------------------- */

/* Do the note in the store and the clock agree that enough time has passed? */
static void compare_clocks(struct mortise_retention *r,
                           uint64_t overdue_found_ms)
{
    uint64_t apart = get_finished_ms(r) / 10;

    if (apart > AGREE_MAX_MS)
        apart = AGREE_MAX_MS;
    r->overdue_found_ms = overdue_found_ms;
    r->begun_ms = mortise_now_ms();
    r->agrees = r->overdue_found_ms != 0 &&
                r->overdue_found_ms <= r->begun_ms &&
                r->begun_ms - r->overdue_found_ms >= apart;
}

/* The pass is over.  Note its reading if runs are overdue, unless the store
 * already has a note that a later reading may agree with. */
static int note_clock_reading(struct mortise_retention *r,
                              struct mortise_err *err)
{
    bool stands = r->overdue_found_ms != 0 &&
                  r->overdue_found_ms <= r->begun_ms && !r->agrees;

    return r->waits && !stands
               ? mortise_store_set_overdue_time(r->m->store, r->begun_ms, err)
               : MORTISE_OK;
}

/* ---- a pass ------------------------------------------------------------- */

static void finish_step(struct mortise_retention *r, int rv,
                        const struct mortise_err *err);

/* Remove the runs of the page.  An error is a write error. */
static int end_heads_page(struct mortise_retention *r, struct mortise_err *err)
{
    int rv = remove_old_runs(r, err);

    mortise_store_keep_graphs(
        r->m->store, (const uint8_t(*)[MORTISE_DIGEST])r->graphs, r->n_graphs);
    if (rv != MORTISE_OK)
        return rv;
    if (r->more) {
        r->stage = r->n_old > 0 ? REST : HEADS;
        return MORTISE_OK;
    }
    r->stage = r->any || !r->swept ? GRAPHS : DONE;
    return note_clock_reading(r, err);
}

/* Is the store still the one that was read?  Otherwise the pass is over. */
static bool is_store_unchanged(const struct mortise_retention *r)
{
    return r->finishing || r->m->state == MORTISE_ENGINE_RUNNING;
}

/* A failed read is no failed write: log it, and let the next pass try again. */
static void abandon_pass(struct mortise_retention *r,
                         const struct mortise_err *err)
{
    mortise_log(r->m, MORTISE_LOG_WARN, "store.retention: %s", err->msg);
    r->stage = DONE;
    finish_step(r, MORTISE_OK, err);
}

static void retention_heads_read(struct mortise_read *read, int rv,
                                 const struct mortise_err *err)
{
    struct mortise_retention *r =
        MORTISE_CONTAINER_OF(read, struct mortise_retention, read);
    struct mortise_err why = *err;

    r->reading = false;
    if (rv != MORTISE_OK) {
        abandon_pass(r, err);
        return;
    }
    if (is_store_unchanged(r))
        rv = end_heads_page(r, &why);
    finish_step(r, rv, &why);
}

static void read_heads_page(struct mortise_retention *r)
{
    r->now_ms = mortise_now_ms();
    r->more = false;
    r->n_seen = r->n_old = r->n_graphs = 0;
    strcpy(r->after_tenant, r->tenant); /* reading the page changes r->tenant
                                           and r->run */
    strcpy(r->after_run, r->run);
    r->reading = true;
    r->read = (struct mortise_read){.kind = MORTISE_READ_HEADS,
                                    .tenant = r->began ? r->after_tenant : NULL,
                                    .run = r->after_run,
                                    .head = collect_removable_run,
                                    .ud = r,
                                    .done = retention_heads_read};
    mortise_store_read(r->m->store, &r->read);
}

static void retention_note_read(struct mortise_read *read, int rv,
                                const struct mortise_err *err)
{
    struct mortise_retention *r =
        MORTISE_CONTAINER_OF(read, struct mortise_retention, read);

    r->reading = false;
    if (rv != MORTISE_OK) {
        abandon_pass(r, err);
    } else if (is_store_unchanged(r)) {
        compare_clocks(r, read->found.overdue_found_ms);
        read_heads_page(r);
    } else {
        finish_step(r, rv, err);
    }
}

static void start_heads(struct mortise_retention *r)
{
    mortise_store_start_graph_sweep(r->m->store);
    r->reading = true;
    r->read = (struct mortise_read){.kind = MORTISE_READ_OVERDUE_TIME,
                                    .done = retention_note_read};
    mortise_store_read(r->m->store, &r->read);
}

static void sweep_graphs(struct mortise_retention *r)
{
    struct mortise_err err = {.code = MORTISE_OK};
    bool more = false;
    int rv = mortise_store_sweep_graphs(r->m->store, &more, &err);

    r->swept = !more;
    r->stage = more ? GRAPHS : r->any ? REST : DONE;
    r->any = false;
    finish_step(r, rv, &err);
}

static void remove_rest_of_runs(struct mortise_retention *r)
{
    struct mortise_err err = {.code = MORTISE_OK};
    bool more = false;
    int rv = mortise_store_remove_rest(r->m->store, &more, &err);

    r->stage = more ? REST : HEADS;
    finish_step(r, rv, &err);
}

/* Do one step; it ends in finish_step(), at once or when the store has
 * answered. */
static void do_retention_step(struct mortise_retention *r)
{
    switch (r->stage) {
    case REST:
        remove_rest_of_runs(r);
        break;
    case HEADS:
        if (r->began)
            read_heads_page(r);
        else
            start_heads(r);
        break;
    case GRAPHS:
        sweep_graphs(r);
        break;
    case DONE:
        break;
    }
}

static void start_retention_pass(struct mortise_retention *r)
{
    r->stage = REST;
    r->began = r->any = r->waits = false;
    r->run[0] = '\0';
}

/* ---- timer --------------------------------------------------------------- */

static void arm_retention(struct mortise_retention *r, uint64_t in_ms)
{
    mortise_timer_arm(&r->m->timers, &r->timer, mortise_mono_ns_after(in_ms));
}

static uint64_t get_pass_interval(const struct mortise_retention *r)
{
    uint64_t ms = get_finished_ms(r) / 8;

    return ms < PASS_MIN_MS ? PASS_MIN_MS : ms > PASS_MAX_MS ? PASS_MAX_MS : ms;
}

static void finish_step(struct mortise_retention *r, int rv,
                        const struct mortise_err *err)
{
    r->rv = rv;
    r->err = *err;
    if (r->finishing)
        return;
    if (rv != MORTISE_OK || !is_store_unchanged(r))
        start_retention_pass(r); /* the next pass reads the heads again */
    if (rv != MORTISE_OK)
        mortise_commits_handle_failure(r->m, rv, err);
    arm_retention(r, r->stage == DONE ? get_pass_interval(r) : PAUSE_MS);
}

static void on_retention_timer(struct mortise_timer *t)
{
    struct mortise_retention *r =
        MORTISE_CONTAINER_OF(t, struct mortise_retention, timer);

    /* The runs of a script belong to one test, which reads all of them. */
    if (r->m->state != MORTISE_ENGINE_RUNNING || r->m->script != NULL) {
        start_retention_pass(r); /* the heads may have changed since */
        arm_retention(r, PASS_MIN_MS);
        return;
    }
    if (r->stage == DONE)
        start_retention_pass(r);
    do_retention_step(r);
}

int mortise_retention_open(struct mortise *m, struct mortise_err *err)
{
    struct mortise_retention *r;

    if (m->settings.finished_ms == 0)
        return MORTISE_OK;
    r = m->retention = mortise_zalloc(m->mem, sizeof *r);
    if (r == NULL)
        return mortise_nomem(err);
    r->m = m;
    r->timer.fire = on_retention_timer;
    start_retention_pass(r);
    arm_retention(r, FIRST_MS);
    return MORTISE_OK;
}

void mortise_retention_finish(struct mortise *m)
{
    struct mortise_retention *r = m->retention;
    uint64_t until = mortise_mono_ns_after(CLOSING_MS);

    if (r == NULL)
        return;
    mortise_timer_disarm(&m->timers, &r->timer);
    if (r->swept || m->script != NULL || !mortise_store_has_written(m->store))
        return;
    r->finishing = true;
    r->rv = MORTISE_OK;
    for (int n = 0; r->rv == MORTISE_OK && r->stage != DONE &&
                    (n < CLOSING_STEPS || mortise_mono_ns() < until);
         n++) {
        do_retention_step(r);
        while (r->reading) /* the engine closes, so blocking is fine */
            mortise_store_wait(m->store, &r->read);
    }
    if (r->rv != MORTISE_OK)
        mortise_log(m, MORTISE_LOG_WARN, "store.retention: %s", r->err.msg);
}

void mortise_retention_close(struct mortise *m)
{
    mortise_release(m->mem, m->retention, sizeof *m->retention);
    m->retention = NULL;
}
