/* retention.c -- runs that ended long ago are removed (store.retention).
 *
 * The engine that holds the store goes over all heads, a page at a time: soon
 * after it was opened, and then every so often.  A page is a timer's work, a
 * millisecond or two once the store has it, with a pause behind it; so nobody
 * waits, however many runs there are.  One that is closed earlier, as by a
 * command that is done in no time, does the beginning of it as it goes, if it
 * wrote anything: whoever only looks changes nothing.  That is as many steps as
 * a small store takes, however slow it is (else where there are commands alone
 * nothing would ever go), and more while a few milliseconds are not over.
 *
 *   (1) What is not over stays: runs that wait, are paused or in doubt, or are
 *       in memory.  A failed run is over: it may be resumed until it goes.
 *   (1b) Nothing goes on one reading of the clock, which may be anything: a
 *       month ahead for one command, and every run that is over would be
 *       overdue.  A pass notes its reading in the store; a run goes when it was
 *       overdue then and a reading at least a day later (a tenth of `finished`,
 *       where that is shorter) agrees.  A note from the future was made by a
 *       clock that was wrong, or is judged by one that is: it is void, and made
 *       anew.
 *   (2) A pass first ends what an earlier one began
 *       (mortise_store_remove_rest()).
 *   (3) A graph goes when a pass saw all heads and none has it.
 */
#include "core/engine/common/engine.h"

#include <string.h>

#include "core/base/clock.h"

enum {
    PAGE = 256,      /* heads looked at in one go */
    AT_ONCE = 32,    /* runs removed in one go */
    FIRST_MS = 1000, /* after the opening */
    PAUSE_MS = 50,   /* between pages */
    PASS_MIN_MS = 10 * 1000,
    PASS_MAX_MS = 60 * 60 * 1000,
    AGREE_MAX_MS = 24 * 60 * 60 * 1000, /* between the readings that agree */
    CLOSING_STEPS = 5, /* the rest, a page, graphs; then what those left */
    CLOSING_MS = 5
};

enum stage { REST, HEADS, GRAPHS, DONE };

struct gone_by { /* a run that may go */
    char tenant[MORTISE_NAME_MAX + 1], run[MORTISE_NAME_MAX + 1];
    uint8_t graph[MORTISE_DIGEST];
};

struct mortise_retention {
    struct mortise *m;
    struct mortise_timer timer;
    struct mortise_read read;
    bool reading;   /* the store is asked */
    bool finishing; /* the engine closes: nothing is armed any more */
    int rv;         /* of the last step: an error is one of writing */
    struct mortise_err err;
    enum stage stage;
    bool began, swept; /* this pass; any, since the opening */
    bool any;          /* a run went in this pass */
    /* The clock at its beginning, and the reading that it must agree with. */
    uint64_t begun_ms, noted_ms;
    bool agrees;
    bool waits; /* a run waits for another reading */
    char tenant[MORTISE_NAME_MAX + 1], run[MORTISE_NAME_MAX + 1]; /* seen */
    /* The same when the page began. */
    char after_tenant[MORTISE_NAME_MAX + 1], after_run[MORTISE_NAME_MAX + 1];
    /* One page. */
    uint64_t now_ms;
    bool more;
    size_t n_seen, n_old, n_graphs;
    struct gone_by old[AT_ONCE];
    struct mortise_removal list[AT_ONCE]; /* of these */
    uint8_t graphs[PAGE + AT_ONCE][MORTISE_DIGEST];
};

static void keep(struct mortise_retention *r,
                 const uint8_t digest[MORTISE_DIGEST])
{
    if (r->n_graphs == 0 ||
        memcmp(r->graphs[r->n_graphs - 1], digest, MORTISE_DIGEST) != 0)
        memcpy(r->graphs[r->n_graphs++], digest, MORTISE_DIGEST);
}

static uint64_t finished_ms(const struct mortise_retention *r)
{
    return r->m->settings.deployment->finished_ms;
}

static bool is_overdue(const struct mortise_retention *r,
                       const struct mortise_head *h, uint64_t at_ms)
{
    return h->updated_ms <= at_ms && at_ms - h->updated_ms >= finished_ms(r);
}

/* (1): by this reading it may go. */
static bool may_go(const struct mortise_retention *r, const char *tenant,
                   const char *run, const struct mortise_head *h)
{
    return mortise_run_has_ended((int)h->status) && h->n_pending == 0 &&
           is_overdue(r, h, r->now_ms) &&
           mortise_live_find(r->m, tenant, run) == NULL;
}

static int note(void *ud, const char *tenant, const char *run,
                const struct mortise_head *head)
{
    struct mortise_retention *r = ud;
    bool fits =
        strlen(tenant) <= MORTISE_NAME_MAX && strlen(run) <= MORTISE_NAME_MAX;
    bool due = fits && may_go(r, tenant, run, head);
    bool old = due && r->agrees && is_overdue(r, head, r->noted_ms);

    r->more = r->n_seen == PAGE || (old && r->n_old == AT_ONCE);
    if (r->more)
        return 1;
    r->n_seen++;
    r->waits |= due && !old;
    if (old) {
        struct gone_by *o = &r->old[r->n_old];

        strcpy(o->tenant, tenant);
        strcpy(o->run, run);
        memcpy(o->graph, head->graph, sizeof o->graph);
        r->list[r->n_old++] = (struct mortise_removal){
            .tenant = o->tenant, .run = o->run, .seq = head->seq};
    } else {
        keep(r, head->graph);
    }
    if (fits) { /* live.c lets no longer name in */
        strcpy(r->tenant, tenant);
        strcpy(r->run, run);
        r->began = true;
    }
    return 0;
}

/* Those that did not fit into the batch are looked at again, from behind the
 * last that went. */
static void count_gone(struct mortise_retention *r)
{
    const struct gone_by *last = NULL;
    size_t n = 0;

    for (size_t i = 0; i < r->n_old; i++) {
        if (r->list[i].gone) {
            last = &r->old[i];
            n++;
        } else {
            keep(r, r->old[i].graph);
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

static int remove_old(struct mortise_retention *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (r->n_old > 0)
        rv = mortise_store_remove(r->m->store, r->list, r->n_old, r->now_ms,
                                  err);
    if (rv == MORTISE_OK)
        count_gone(r);
    return rv;
}

/* ---- two readings -------------------------------------------------------- */

/* Do the note in the store and the clock agree that time has passed? */
static void compare_clocks(struct mortise_retention *r, uint64_t noted_ms)
{
    uint64_t apart = finished_ms(r) / 10;

    if (apart > AGREE_MAX_MS)
        apart = AGREE_MAX_MS;
    r->noted_ms = noted_ms;
    r->begun_ms = mortise_now_ms();
    r->agrees = r->noted_ms != 0 && r->noted_ms <= r->begun_ms &&
                r->begun_ms - r->noted_ms >= apart;
}

/* The pass is over.  Its reading is noted for those that it found overdue,
 * unless there is a note yet that a later reading may agree with. */
static int note_clock(struct mortise_retention *r, struct mortise_err *err)
{
    bool stands = r->noted_ms != 0 && r->noted_ms <= r->begun_ms && !r->agrees;

    return r->waits && !stands
               ? mortise_store_note(r->m->store, r->begun_ms, err)
               : MORTISE_OK;
}

/* ---- a pass ------------------------------------------------------------- */

static void step_over(struct mortise_retention *r, int rv,
                      const struct mortise_err *err);

/* What the page came to; an error is one of writing. */
static int end_page(struct mortise_retention *r, struct mortise_err *err)
{
    int rv = remove_old(r, err);

    mortise_store_sweep_keep(
        r->m->store, (const uint8_t(*)[MORTISE_DIGEST])r->graphs, r->n_graphs);
    if (rv != MORTISE_OK)
        return rv;
    if (r->more) {
        r->stage = r->n_old > 0 ? REST : HEADS;
        return MORTISE_OK;
    }
    r->stage = r->any || !r->swept ? GRAPHS : DONE;
    return note_clock(r, err);
}

/* Is the store as it was when it was asked?  Else the pass is over. */
static bool goes_on(const struct mortise_retention *r)
{
    return r->finishing || r->m->state == MORTISE_ENGINE_UP;
}

/* A read failed, which is no failed write: the next pass looks again. */
static void give_up(struct mortise_retention *r, const struct mortise_err *err)
{
    mortise_log(r->m, MORTISE_LOG_WARN, "store.retention: %s", err->msg);
    r->stage = DONE;
    step_over(r, MORTISE_OK, err);
}

static void heads_read(struct mortise_read *read, int rv,
                       const struct mortise_err *err)
{
    struct mortise_retention *r =
        MORTISE_OF(read, struct mortise_retention, read);
    struct mortise_err why = *err;

    r->reading = false;
    if (rv != MORTISE_OK) {
        give_up(r, err);
        return;
    }
    if (goes_on(r))
        rv = end_page(r, &why);
    step_over(r, rv, &why);
}

static void look_at_heads(struct mortise_retention *r)
{
    r->now_ms = mortise_now_ms();
    r->more = false;
    r->n_seen = r->n_old = r->n_graphs = 0;
    strcpy(r->after_tenant, r->tenant); /* the page moves the others on */
    strcpy(r->after_run, r->run);
    r->reading = true;
    r->read = (struct mortise_read){.kind = MORTISE_READ_HEADS,
                                    .tenant = r->began ? r->after_tenant : NULL,
                                    .run = r->after_run,
                                    .head = note,
                                    .ud = r,
                                    .done = heads_read};
    mortise_store_read(r->m->store, &r->read);
}

static void noted_read(struct mortise_read *read, int rv,
                       const struct mortise_err *err)
{
    struct mortise_retention *r =
        MORTISE_OF(read, struct mortise_retention, read);

    r->reading = false;
    if (rv != MORTISE_OK) {
        give_up(r, err);
    } else if (goes_on(r)) {
        compare_clocks(r, read->found.noted_ms);
        look_at_heads(r);
    } else {
        step_over(r, rv, err);
    }
}

static void begin_heads(struct mortise_retention *r)
{
    mortise_store_sweep_begin(r->m->store);
    r->reading = true;
    r->read =
        (struct mortise_read){.kind = MORTISE_READ_NOTED, .done = noted_read};
    mortise_store_read(r->m->store, &r->read);
}

static void sweep(struct mortise_retention *r)
{
    struct mortise_err err = {.code = MORTISE_OK};
    bool more = false;
    int rv = mortise_store_sweep(r->m->store, &more, &err);

    r->swept = !more;
    r->stage = more ? GRAPHS : r->any ? REST : DONE;
    r->any = false;
    step_over(r, rv, &err);
}

static void remove_rest(struct mortise_retention *r)
{
    struct mortise_err err = {.code = MORTISE_OK};
    bool more = false;
    int rv = mortise_store_remove_rest(r->m->store, &more, &err);

    r->stage = more ? REST : HEADS;
    step_over(r, rv, &err);
}

/* One step, which ends in step_over(), at once or when the store has answered.
 */
static void step(struct mortise_retention *r)
{
    switch (r->stage) {
    case REST:
        remove_rest(r);
        break;
    case HEADS:
        if (r->began)
            look_at_heads(r);
        else
            begin_heads(r);
        break;
    case GRAPHS:
        sweep(r);
        break;
    case DONE:
        break;
    }
}

static void begin_pass(struct mortise_retention *r)
{
    r->stage = REST;
    r->began = r->any = r->waits = false;
    r->run[0] = '\0';
}

/* ---- when --------------------------------------------------------------- */

static void arm(struct mortise_retention *r, uint64_t in_ms)
{
    mortise_timer_arm(&r->m->timers, &r->timer, mortise_mono_in(in_ms));
}

static uint64_t pass_ms(const struct mortise_retention *r)
{
    uint64_t ms = finished_ms(r) / 8;

    return ms < PASS_MIN_MS ? PASS_MIN_MS : ms > PASS_MAX_MS ? PASS_MAX_MS : ms;
}

static void step_over(struct mortise_retention *r, int rv,
                      const struct mortise_err *err)
{
    r->rv = rv;
    r->err = *err;
    if (r->finishing)
        return;
    if (rv != MORTISE_OK || !goes_on(r))
        begin_pass(r); /* heads may be reread */
    if (rv != MORTISE_OK)
        mortise_commits_failed(r->m, rv, err);
    arm(r, r->stage == DONE ? pass_ms(r) : PAUSE_MS);
}

static void fire(struct mortise_timer *t)
{
    struct mortise_retention *r =
        MORTISE_OF(t, struct mortise_retention, timer);

    /* A script's runs are those of one test, which sees all of them. */
    if (r->m->state != MORTISE_ENGINE_UP || r->m->script != NULL) {
        begin_pass(r); /* heads may have been reread since */
        arm(r, PASS_MIN_MS);
        return;
    }
    if (r->stage == DONE)
        begin_pass(r);
    step(r);
}

int mortise_retention_open(struct mortise *m, struct mortise_err *err)
{
    struct mortise_retention *r;

    if (m->settings.deployment->finished_ms == 0)
        return MORTISE_OK;
    r = m->retention = mortise_zalloc(m->mem, sizeof *r);
    if (r == NULL)
        return mortise_nomem(err);
    r->m = m;
    r->timer.fire = fire;
    begin_pass(r);
    arm(r, FIRST_MS);
    return MORTISE_OK;
}

void mortise_retention_finish(struct mortise *m)
{
    struct mortise_retention *r = m->retention;
    uint64_t until = mortise_mono_in(CLOSING_MS);

    if (r == NULL)
        return;
    mortise_timer_disarm(&m->timers, &r->timer);
    if (r->swept || m->script != NULL || !mortise_store_wrote(m->store))
        return;
    r->finishing = true;
    r->rv = MORTISE_OK;
    for (int n = 0; r->rv == MORTISE_OK && r->stage != DONE &&
                    (n < CLOSING_STEPS || mortise_mono_ns() < until);
         n++) {
        step(r);
        while (r->reading) /* nobody is left who would wait */
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
