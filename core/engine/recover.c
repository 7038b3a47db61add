/* recover.c -- an engine that stays: what it goes on with when it comes, and
 * how it leaves what is under way.
 *
 * A run goes on by itself only where nobody said that it should not: one that
 * a crash interrupted (its head says `running`), one that was paused as an
 * engine stopped (`shutdown`), and one of which something was decided while a
 * plugin was in the way (`plugin`).  Besides, who belongs to another run looks
 * after that as it is loaded (runs/children.c): a run that waits for a child, and
 * children that are linked to a parent.  Finding them looks at every head once;
 * they are then loaded a few at a time, so that memory does not grow with their
 * number.
 *
 * A run of which a plugin took the process down goes last, by itself, and not
 * before the others rest or had some time: should it do so again, nothing of
 * theirs is lost that the first time did not cost.  From the third time on it
 * is blocked (live.c) and does not go on at all.
 */
#include "core/engine/recover.h"

#include <string.h>

#include "core/base/clock.h"

enum {
    AT_ONCE = 256,    /* runs in memory; more wait for those to rest */
    OTHERS_MS = 10000 /* that one which died waits for the others to rest */
};

struct name {
    struct name *next;
    const char *tenant, *run;
};

struct finding {
    struct mortise *m;
    struct mortise_arena arena;
    struct name *first, **last;
    struct name *deadly, **last_deadly; /* took the process down before */
    bool failed;
};

static int add(struct finding *f, const char *tenant, const char *run)
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
    if (mortise_plugins_any_deaths(f->m->plugins, tenant, run, &plugin,
                                   &deaths)) {
        *f->last_deadly = one;
        f->last_deadly = &one->next;
    } else {
        *f->last = one;
        f->last = &one->next;
    }
    return 0;
}

/* What waits for a child alone may have missed its end. */
static int note(void *ud, const char *tenant, const char *run,
                const struct mortise_head *head)
{
    bool awaits = head->status == MORTISE_RUN_WAITING &&
                  strcmp(head->reason, "child") == 0;

    return awaits || mortise_live_goes_on((int)head->status, head->reason)
               ? add(ud, tenant, run)
               : 0;
}

/* A child whose parent may have ended without it. */
static int note_child(void *ud, const char *tenant, const char *parent,
                      const char *id, const struct mortise_spawn *s)
{
    (void)parent;
    (void)id;
    return s->native && !s->detached && s->state != MORTISE_SPAWN_PENDING &&
                   !mortise_spawn_is_over(s)
               ? add(ud, tenant, s->child)
               : 0;
}

/* One that is loaded to go on. */
struct going {
    struct mortise_order order;
    struct mortise *m;
    const struct name *one;
};

/* One that will not go on is said, and left as it is. */
static void went_on(struct mortise_order *o, const struct mortise_err *err)
{
    struct going *g = MORTISE_OF(o, struct going, order);

    if (err->code != MORTISE_OK)
        mortise_log(g->m, MORTISE_LOG_WARN, "run %s was not continued: %s",
                    g->one->run, err->msg);
    mortise_release(g->m->mem, g, sizeof *g);
}

static void go_on(struct mortise *m, const struct name *one)
{
    struct going *g;

    if (mortise_live_is_here(m, one->tenant, one->run))
        return; /* somebody resumed it meanwhile */
    g = mortise_zalloc(m->mem, sizeof *g);
    if (g == NULL) {
        mortise_log(m, MORTISE_LOG_WARN,
                    "run %s was not continued: out of memory", one->run);
        return;
    }
    g->m = m;
    g->one = one;
    g->order.done = went_on;
    mortise_live_recover(m, one->tenant, one->run, &g->order);
}

/* Who asks whether to stop. */
struct stopping {
    bool (*stop)(void *ud);
    void *ud;
};

static int go_on_with(struct mortise *m, const struct name *first,
                      size_t at_once, uint64_t patience_ms,
                      const struct stopping *s, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (const struct name *one = first;
         rv == MORTISE_OK && one != NULL && !s->stop(s->ud); one = one->next) {
        uint64_t until = mortise_mono_in(patience_ms);

        while (m->lives.n + m->loads.n >= at_once && !s->stop(s->ud) &&
               (patience_ms == 0 || mortise_mono_ns() < until))
            mortise_turn(m, patience_ms == 0 ? -1 : 100);
        if (s->stop(s->ud))
            break;
        rv = mortise_engine_ready(m, err);
        if (rv == MORTISE_OK)
            go_on(m, one);
    }
    while (m->loads.n > 0) /* the names are lent to what is out */
        mortise_turn(m, -1);
    return rv;
}

int mortise_recover_all(struct mortise *m, bool (*stop)(void *ud), void *ud,
                        struct mortise_err *err)
{
    const struct stopping s = {stop, ud};
    struct finding f = {.m = m};
    struct mortise_read heads = {
        .kind = MORTISE_READ_HEADS, .head = note, .ud = &f};
    struct mortise_read children = {
        .kind = MORTISE_READ_SPAWNS, .spawn = note_child, .ud = &f};
    int rv;

    mortise_arena_init(&f.arena, m->mem);
    f.last = &f.first;
    f.last_deadly = &f.deadly;
    rv = mortise_turn_for(m, &heads, err);
    if (rv == MORTISE_OK && !f.failed)
        rv = mortise_turn_for(m, &children, err);
    if (rv == MORTISE_OK && f.failed)
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = go_on_with(m, f.first, AT_ONCE, 0, &s, err);
    if (rv == MORTISE_OK)
        rv = go_on_with(m, f.deadly, 1, OTHERS_MS, &s, err);
    mortise_arena_finish(&f.arena);
    return rv;
}

static bool wants(const struct mortise_head_copy *head)
{
    return mortise_live_goes_on(head->status, head->reason);
}

void mortise_recover_one(struct mortise *m, const char *tenant, const char *run,
                         struct mortise_order *o)
{
    const struct mortise_err fine = {.code = MORTISE_OK};

    o->wants = wants;
    if (mortise_live_is_here(m, tenant, run))
        o->done(o, &fine);
    else
        mortise_live_recover(m, tenant, run, o);
}

/* ---- leaving ------------------------------------------------------------ */

void mortise_pause_all(struct mortise *m)
{
    /* an effect has its patience, and then a plugin its quiesce */
    uint64_t until = mortise_mono_in(2 * m->quiesce_ms + 1000);
    struct mortise_hashed *e;

    m->leaving = true;
    for (e = mortise_table_first(&m->lives); e != NULL;
         e = mortise_table_next(&m->lives, e)) {
        const struct mortise_live *live =
            MORTISE_OF(e, struct mortise_live, entry);

        if (!live->lost &&
            (live->orders != NULL || !mortise_run_is_idle(live->run)))
            mortise_pause_one(m, live);
    }
    while (m->lives.n > 0 && mortise_mono_ns() < until)
        mortise_turn(m, 100);
}

bool mortise_rests(const struct mortise *m)
{
    return m->lives.n == 0 && m->n_calls == 0 && m->n_batch == 0 &&
           m->n_flying == 0 && !mortise_store_is_reading(m->store);
}
