/* recover.c -- continue interrupted runs when an engine starts, and pause runs
 * when it leaves.
 *
 * A run continues by itself only if nobody decided otherwise: a run that a
 * crash interrupted (its head is `running`), a run that was paused when an
 * engine stopped (`shutdown`), and a run that got a decision while a plugin was
 * blocked (`plugin`).  Runs that wait for a child, and children that are linked
 * to a parent, are also loaded, because they check on each other when loaded
 * (runs/children.c).  Finding these runs reads every head once.  They are then
 * loaded a few at a time, so that memory use does not grow with their number.
 *
 * A run during which a plugin crashed the process is continued last, alone, and
 * only after the others are idle or have had some time.  If it crashes the
 * process again, the others lose nothing.  After the third crash it is blocked
 * (live.c) and does not continue at all.
 */
#include "core/engine/recover.h"

#include <string.h>

#include "core/base/clock.h"

enum {
    AT_ONCE = 256,    /* runs in memory; further ones wait until these are
                         idle */
    OTHERS_MS = 10000 /* a run that crashed waits up to this long for the
                         others */
};

struct name {
    struct name *next;
    const char *tenant, *run;
};

struct found_runs {
    struct mortise *m;
    struct mortise_arena arena;
    struct name *first, **last;
    struct name *deadly, **last_deadly; /* a plugin crashed the process during
                                           these */
    bool failed;
};

static int add_found_run(struct found_runs *f, const char *tenant,
                         const char *run)
{
    struct mortise_deaths deaths;
    const char *plugin;
    struct name *one;

    one = mortise_arena_alloc(&f->arena, sizeof *one);
    if (one != NULL) {
        one->next = NULL;
        one->tenant = mortise_arena_strdup(&f->arena, tenant);
        one->run = mortise_arena_strdup(&f->arena, run);
    }
    f->failed = one == NULL || one->tenant == NULL || one->run == NULL;
    if (f->failed)
        return 1;
    if (mortise_plugins_find_deaths(f->m->plugins, tenant, run, &plugin,
                                    &deaths)) {
        *f->last_deadly = one;
        f->last_deadly = &one->next;
    } else {
        *f->last = one;
        f->last = &one->next;
    }
    return 0;
}

/* A run that waits only for a child may have missed the child's end. */
static int find_interrupted_run(void *ud, const char *tenant, const char *run,
                                const struct mortise_head *head)
{
    bool awaits = head->status == MORTISE_RUN_WAITING &&
                  strcmp(head->reason, "child") == 0;

    return awaits ||
                   mortise_live_is_recoverable((int)head->status, head->reason)
               ? add_found_run(ud, tenant, run)
               : 0;
}

/* A child whose parent may have ended without it. */
static int find_linked_child(void *ud, const char *tenant, const char *parent,
                             const char *id, const struct mortise_spawn *s)
{
    (void)parent;
    (void)id;
    return s->native && !s->detached && s->state != MORTISE_SPAWN_PENDING &&
                   !mortise_spawn_has_ended(s)
               ? add_found_run(ud, tenant, s->child)
               : 0;
}

/* A run that is being loaded to continue. */
struct going {
    struct mortise_order order;
    struct mortise *m;
    const struct name *one;
};

/* Log a run that could not continue, and leave it as it is. */
static void continue_order_done(struct mortise_order *o,
                                const struct mortise_err *err)
{
    struct going *g = MORTISE_CONTAINER_OF(o, struct going, order);

    if (err->code != MORTISE_OK)
        mortise_log(g->m, MORTISE_LOG_WARN, "run %s was not continued: %s",
                    g->one->run, err->msg);
    mortise_release(g->m->mem, g, sizeof *g);
}

static void continue_run(struct mortise *m, const struct name *one)
{
    struct going *g;

    if (mortise_live_is_loaded_or_loading(m, one->tenant, one->run))
        return; /* somebody resumed it meanwhile */
    g = mortise_zalloc(m->mem, sizeof *g);
    if (g == NULL) {
        mortise_log(m, MORTISE_LOG_WARN,
                    "run %s was not continued: out of memory", one->run);
        return;
    }
    g->m = m;
    g->one = one;
    g->order.done = continue_order_done;
    mortise_live_recover(m, one->tenant, one->run, &g->order);
}

/* The callback that decides when to stop. */
struct stopping {
    bool (*stop)(void *ud);
    void *ud;
};

static int continue_runs(struct mortise *m, const struct name *first,
                         size_t at_once, uint64_t patience_ms,
                         const struct stopping *s, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (const struct name *one = first;
         rv == MORTISE_OK && one != NULL && !s->stop(s->ud); one = one->next) {
        uint64_t until = mortise_mono_ns_after(patience_ms);

        while (m->lives.n + m->loads.n >= at_once && !s->stop(s->ud) &&
               (patience_ms == 0 || mortise_mono_ns() < until))
            mortise_loop_turn(m, patience_ms == 0 ? -1 : 100);
        if (s->stop(s->ud))
            break;
        rv = mortise_engine_check_ready(m, err);
        if (rv == MORTISE_OK)
            continue_run(m, one);
    }
    while (m->loads.n > 0) /* the loads in progress borrow the names */
        mortise_loop_turn(m, -1);
    return rv;
}

int mortise_recover_all(struct mortise *m, bool (*stop)(void *ud), void *ud,
                        struct mortise_err *err)
{
    const struct stopping s = {stop, ud};
    struct found_runs f = {.m = m};
    struct mortise_read heads = {
        .kind = MORTISE_READ_HEADS, .head = find_interrupted_run, .ud = &f};
    struct mortise_read children = {
        .kind = MORTISE_READ_SPAWNS, .spawn = find_linked_child, .ud = &f};
    int rv;

    mortise_arena_init(&f.arena, m->mem);
    f.last = &f.first;
    f.last_deadly = &f.deadly;
    rv = mortise_loop_turn_for_read(m, &heads, err);
    if (rv == MORTISE_OK && !f.failed)
        rv = mortise_loop_turn_for_read(m, &children, err);
    if (rv == MORTISE_OK && f.failed)
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = continue_runs(m, f.first, AT_ONCE, 0, &s, err);
    if (rv == MORTISE_OK)
        rv = continue_runs(m, f.deadly, 1, OTHERS_MS, &s, err);
    mortise_arena_finish(&f.arena);
    return rv;
}

static bool is_recoverable(const struct mortise_head_copy *head)
{
    return mortise_live_is_recoverable(head->status, head->reason);
}

void mortise_recover_one(struct mortise *m, const char *tenant, const char *run,
                         struct mortise_order *o)
{
    const struct mortise_err fine = {.code = MORTISE_OK};

    o->wants = is_recoverable;
    if (mortise_live_is_loaded_or_loading(m, tenant, run))
        o->done(o, &fine);
    else
        mortise_live_recover(m, tenant, run, o);
}

/* ---- leave --------------------------------------------------------------- */

void mortise_pause_all(struct mortise *m)
{
    /* first a write call gets time to finish, then a plugin to return */
    uint64_t until = mortise_mono_ns_after(2 * m->quiesce_ms + 1000);
    struct mortise_table_entry *e;

    m->leaving = true;
    for (e = mortise_table_first(&m->lives); e != NULL;
         e = mortise_table_next(&m->lives, e)) {
        const struct mortise_live *live =
            MORTISE_CONTAINER_OF(e, struct mortise_live, entry);

        if (!live->lost &&
            (live->orders != NULL || !mortise_run_is_idle(live->run)))
            mortise_pause_one(m, live);
    }
    while (m->lives.n > 0 && mortise_mono_ns() < until)
        mortise_loop_turn(m, 100);
}

bool mortise_engine_is_idle(const struct mortise *m)
{
    return m->lives.n == 0 && m->n_calls == 0 && m->n_batch == 0 &&
           m->n_commits_in_flight == 0 && !mortise_store_is_reading(m->store);
}
