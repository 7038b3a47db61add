/* tree_purses.c -- the shared budgets of spawn trees that have runs in memory.
 *
 * The store holds the amount that each tree has spent, and each commit of its
 * runs changes it (core/spawn/spawn.h).  A run decides between two commits, of
 * which the first may still be in flight.  So a run is told the stored amount
 * plus the decisions made since.
 *
 *   (1) A tree with a run in memory has one budget here.  It is known once it
 *       was read while no commit of the tree was in flight, or from the step
 *       that creates it.
 *   (2) For the others, a run counts with the greater of its decided and its
 *       stored amount.  An increase counts when it is decided, a decrease when
 *       it is stored.  So a crash cannot lose an amount that a decision relied
 *       on, since commits are stored in order.
 *   (3) If a commit fails, or its run is lost while it is in flight, the budget
 *       is unknown: nobody decides until it is read again.
 *   (4) Runs that wait for others are told when another run's amount, or its
 *       releasable part, decreases; when a limit was raised; and when the
 *       budget becomes known.
 *
 * This file keeps the figures.  The consequences are handled by a task after
 * the current step (runs/trees.c).  Only this engine writes its store, so
 * nobody else changes the stored amounts.
 */
#include "core/engine/common/tree_purses.h"

#include <assert.h>
#include <string.h>

enum { N = MORTISE_SPAWN_AMOUNTS };

static void queue_tree_task(struct mortise *m)
{
    assert_on_loop(m);
    if (m->tree_queued || m->tree_task.run == NULL)
        return;
    m->tree_queued = true;
    mortise_task_make_ready(m, &m->tree_task);
}

/* ---- one budget ---------------------------------------------------------- */

static struct mortise_tree_budget *
find_or_add_purse(struct mortise *m, const char *tenant, const char *origin)
{
    struct mortise_tree_budget *p = m->tree_purses;

    while (p != NULL &&
           (strcmp(p->tenant, tenant) != 0 || strcmp(p->origin, origin) != 0))
        p = p->next;
    if (p != NULL || strlen(origin) > MORTISE_NAME_MAX)
        return p;
    p = mortise_zalloc(m->mem, sizeof *p);
    if (p == NULL)
        return NULL;
    p->m = m;
    strcpy(p->tenant, tenant); /* callers checked the lengths */
    strcpy(p->origin, origin);
    p->next = m->tree_purses;
    m->tree_purses = p;
    return p;
}

void mortise_tree_drop_unused(struct mortise_tree_budget *p)
{
    struct mortise_tree_budget **at = &p->m->tree_purses;

    if (p->members != NULL || p->flying > 0 || p->reads || p->was_raised)
        return;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    mortise_release(p->m->mem, p, sizeof *p);
}

static uint64_t get_tree_excess(uint64_t of, uint64_t over)
{
    return of > over ? of - over : 0;
}

/* The amounts of the others as seen by `self` (2).  A decided decrease is
 * released when its commit is stored. */
static void get_tree_view(const struct mortise_tree_budget *p,
                          const struct mortise_live *self,
                          struct mortise_tree_view *v)
{
    *v = (struct mortise_tree_view){.origin = p->origin};
    memcpy(v->most, p->stored.most, sizeof v->most);
    for (int k = 0; k < N; k++) {
        v->others[k] = get_tree_excess(p->stored.used[k], self->tree.landed[k]);
        for (const struct mortise_live *l = p->members; l != NULL;
             l = l->tree.next) {
            const struct mortise_tree_member *t = &l->tree;

            if (l == self)
                continue;
            v->others[k] += get_tree_excess(t->now[k], t->landed[k]);
            v->out[k] += t->out[k] + get_tree_excess(t->landed[k], t->now[k]);
        }
        if (v->out[k] > v->others[k])
            v->out[k] = v->others[k];
    }
}

void mortise_tree_update_run(const struct mortise_live *live)
{
    const struct mortise_tree_budget *p = live->tree.of;
    struct mortise_tree_view v;

    if (p == NULL)
        return;
    if (p->is_open)
        get_tree_view(p, live, &v);
    mortise_run_set_tree_view(live->run, p->known, p->is_open ? &v : NULL);
}

/* ---- runs to tell (4) ---------------------------------------------------- */

static void clear_tree_stale(struct mortise_live *live)
{
    live->pending -= live->tree.stale;
    live->tree.stale = false;
}

static void mark_tree_stale(struct mortise_live *live)
{
    live->pending += !live->tree.stale;
    live->tree.stale = true;
    queue_tree_task(live->m);
}

struct mortise_live *mortise_tree_take_stale(struct mortise *m)
{
    for (const struct mortise_tree_budget *p = m->tree_purses; p != NULL;
         p = p->next) {
        struct mortise_live *l = p->known ? p->members : NULL;

        while (l != NULL && !l->tree.stale)
            l = l->tree.next;
        if (l == NULL)
            continue;
        clear_tree_stale(l);
        return l;
    }
    return NULL;
}

/* Mark all waiting members stale, except `by`. */
static void mark_waiting_stale(const struct mortise_tree_budget *p,
                               const struct mortise_live *by)
{
    for (struct mortise_live *l = p->members; l != NULL; l = l->tree.next)
        if (l != by && l->tree.waits)
            mark_tree_stale(l);
}

/* The budget is unknown now (3). */
static void invalidate_purse(struct mortise_tree_budget *p)
{
    p->known = p->is_open = false;
    p->outdated = true;
    queue_tree_task(p->m);
}

void mortise_tree_set_stored(struct mortise_tree_budget *p,
                             const struct mortise_spawn_budget *stored)
{
    assert(!p->known && p->flying == 0);
    p->known = true;
    p->is_open = stored != NULL;
    if (p->is_open)
        p->stored = *stored;
    for (struct mortise_live *l = p->members; l != NULL; l = l->tree.next)
        mark_tree_stale(l);
}

/* ---- join and leave ------------------------------------------------------ */

static int attach_to_purse(struct mortise_live *live, const char *origin,
                           struct mortise_err *err)
{
    struct mortise_tree_budget *p =
        find_or_add_purse(live->m, live->tenant, origin);

    assert(live->tree.of == NULL);
    if (p == NULL)
        return mortise_nomem(err);
    live->tree.of = p;
    live->tree.next = p->members;
    p->members = live;
    mortise_run_get_tree_counted(live->run, live->tree.landed);
    memcpy(live->tree.now, live->tree.landed, sizeof live->tree.now);
    return MORTISE_OK;
}

static int attach_stale_member(struct mortise_live *live, const char *origin,
                               struct mortise_err *err)
{
    int rv = attach_to_purse(live, origin, err);

    if (rv == MORTISE_OK)
        mark_tree_stale(live);
    return rv;
}

int mortise_tree_attach_run(struct mortise_live *live, struct mortise_err *err)
{
    struct mortise_tree_use use;

    if (live->lost || !mortise_run_get_tree_use(live->run, &use))
        return MORTISE_OK;
    if (use.origin != NULL)
        return attach_stale_member(live, use.origin, err);
    live->pending++;
    live->tree.next = live->m->tree_seekers;
    live->m->tree_seekers = live;
    queue_tree_task(live->m);
    return MORTISE_OK;
}

struct mortise_live *mortise_tree_take_seeker(struct mortise *m)
{
    struct mortise_live *live = m->tree_seekers;

    if (live != NULL)
        m->tree_seekers = live->tree.next;
    return live;
}

int mortise_tree_set_origin(struct mortise_live *live, const char *origin,
                            struct mortise_err *err)
{
    live->pending--;
    return live->lost || origin == NULL
               ? MORTISE_OK
               : attach_stale_member(live, origin, err);
}

void mortise_tree_detach_run(struct mortise_live *live)
{
    struct mortise_tree_budget *p = live->tree.of;
    struct mortise_live **at;

    if (p == NULL)
        return;
    clear_tree_stale(live);
    for (at = &p->members; *at != live;)
        at = &(*at)->tree.next;
    *at = live->tree.next;
    live->tree.of = NULL;
    if (live->flying > 0)
        invalidate_purse(p);
    mark_waiting_stale(p, NULL);
    mortise_tree_drop_unused(p);
}

/* ---- steps (2) ----------------------------------------------------------- */

/* The first spawn handle of a run creates a tree with the run as its origin; no
 * other run has an amount yet. */
static int open_tree_purse(struct mortise_live *live,
                           const struct mortise_tree_use *use,
                           struct mortise_err *err)
{
    struct mortise_tree_budget *p;
    int rv;

    assert(strcmp(use->origin, live->id) == 0);
    rv = attach_to_purse(live, use->origin, err);
    if (rv != MORTISE_OK)
        return rv;
    memset(live->tree.now, 0, sizeof live->tree.now);
    memset(live->tree.landed, 0, sizeof live->tree.landed);
    p = live->tree.of;
    p->known = p->is_open = true;
    p->stored = (struct mortise_spawn_budget){.used = {0}};
    memcpy(p->stored.most, use->most, sizeof p->stored.most);
    mark_waiting_stale(p, live);
    return MORTISE_OK;
}

/* Raise the limits of the tree; true if one was raised. */
static bool raise_tree_limits(struct mortise_tree_budget *p,
                              const uint64_t most[N])
{
    bool raised = false;

    for (int k = 0; p->is_open && k < N; k++) {
        if (k == MORTISE_SPEND_WALL || most[k] <= p->stored.most[k])
            continue;
        p->stored.most[k] = most[k];
        raised = true;
    }
    return raised;
}

int mortise_tree_record_run(struct mortise_live *live, struct mortise_err *err)
{
    struct mortise_tree_member *t = &live->tree;
    struct mortise_tree_use use;
    bool less = false;
    int rv = MORTISE_OK;

    if (!mortise_run_get_tree_use(live->run, &use))
        return MORTISE_OK;
    t->waits = use.waits;
    if (use.origin == NULL) /* no amounts yet */
        return MORTISE_OK;
    if (t->of == NULL)
        rv = open_tree_purse(live, &use, err);
    if (rv != MORTISE_OK)
        return rv;
    for (int k = 0; k < N; k++) {
        less |= use.used[k] < t->now[k] || use.out[k] < t->out[k];
        t->now[k] = use.used[k];
        t->out[k] = use.out[k];
    }
    less |= raise_tree_limits(t->of, use.most);
    if (less)
        mark_waiting_stale(t->of, live);
    return MORTISE_OK;
}

/* ---- commits ------------------------------------------------------------- */

bool mortise_tree_begin_flight(struct mortise_live *live,
                               const struct mortise_run_commit *c,
                               struct mortise_tree_commit_flight *f,
                               struct mortise_arena *a,
                               struct mortise_spawn_budget_change *out)
{
    struct mortise_tree_budget *p = live->tree.of;

    if (c->spend.origin == NULL)
        return true;
    assert(p != NULL); /* it joined, or created the budget in this step */
    *out = c->spend;
    out->origin = mortise_arena_strdup(a, c->spend.origin);
    if (out->origin == NULL)
        return false;
    f->of = p;
    mortise_run_get_tree_counted(live->run, f->counted);
    p->flying++;
    p->outdated = true; /* a read in flight may or may not include it */
    return true;
}

void mortise_tree_end_flight(struct mortise_live *live,
                             const struct mortise_tree_commit_flight *f,
                             const struct mortise_spawn_budget_change *s,
                             int result)
{
    struct mortise_tree_budget *p = f->of;

    if (p == NULL)
        return;
    assert(p->flying > 0);
    p->flying--;
    if (result != MORTISE_OK) {
        invalidate_purse(p);
    } else {
        if (p->is_open)
            mortise_spawn_budget_change(&p->stored, true, s);
        if (live->tree.of == p)
            memcpy(live->tree.landed, f->counted, sizeof f->counted);
        p->was_raised |= s->raises;
        mark_waiting_stale(p, live);
    }
    queue_tree_task(p->m); /* it may be read, or released, now */
    mortise_tree_drop_unused(p);
}
