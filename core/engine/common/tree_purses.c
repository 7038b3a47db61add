/* tree_purses.c -- what the runs of spawn trees spend together, while some of them
 * are in memory.
 *
 * What a tree has spent stands in the store, and each commit of its runs changes it
 * (core/spawn/spawn.h).  A run decides between two commits, of which the first may be on
 * its way: so what it is told is what is stored, and what was decided since.
 *
 *   (1) Of a tree that has a run in memory there is one purse here.  It is known
 *       once it was read with nothing of it on its way, and from the step on that
 *       opens it.
 *   (2) A run has for the others the greater of what it decided and what is
 *       stored.  More counts as it is decided, less once it is stored: whatever a
 *       crash takes, what somebody decided upon is not among it, since commits
 *       are stored in the order in which they were made.
 *   (3) Where a commit fails, or its run is lost while it is on its way, the purse
 *       is not known any more: nobody decides anything until it is read again.
 *   (4) Who waits for others is to be told when one of them has less, or less that
 *       may come back; when a bound was raised; and when the purse is known.
 *
 * Here is what is known.  Whatever follows of it happens in a task behind the step
 * under way (runs/trees.c).  This engine alone writes its store, so nobody else
 * changes what was read. */
#include "core/engine/common/tree_purses.h"

#include <assert.h>
#include <string.h>

enum { N = MORTISE_SPAWN_AMOUNTS };

static void tend(struct mortise *m)
{
    assert_on_loop(m);
    if (m->tree_queued || m->tree_task.run == NULL)
        return;
    m->tree_queued = true;
    mortise_ready(m, &m->tree_task);
}

/* ---- one purse -------------------------------------------------------------- */

static struct mortise_tree_purse *
find_or_make(struct mortise *m, const char *tenant, const char *origin)
{
    struct mortise_tree_purse *p = m->tree_purses;

    while (p != NULL &&
           (strcmp(p->tenant, tenant) != 0 || strcmp(p->origin, origin) != 0))
        p = p->next;
    if (p != NULL || strlen(origin) > MORTISE_NAME_MAX)
        return p;
    p = mortise_zalloc(m->mem, sizeof *p);
    if (p == NULL)
        return NULL;
    p->m = m;
    strcpy(p->tenant, tenant); /* names are checked by who brings them */
    strcpy(p->origin, origin);
    p->next = m->tree_purses;
    m->tree_purses = p;
    return p;
}

void mortise_tree_drop_unused(struct mortise_tree_purse *p)
{
    struct mortise_tree_purse **at = &p->m->tree_purses;

    if (p->members != NULL || p->flying > 0 || p->reads || p->was_raised)
        return;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    mortise_release(p->m->mem, p, sizeof *p);
}

static uint64_t excess(uint64_t of, uint64_t over)
{
    return of > over ? of - over : 0;
}

/* What the others have, for `self` (2).  What is less than stored comes back with
 * its commit. */
static void view_of(const struct mortise_tree_purse *p,
                    const struct mortise_live *self,
                    struct mortise_tree_view *v)
{
    *v = (struct mortise_tree_view){.origin = p->origin};
    memcpy(v->most, p->stored.most, sizeof v->most);
    for (int k = 0; k < N; k++) {
        v->others[k] = excess(p->stored.used[k], self->tree.landed[k]);
        for (const struct mortise_live *l = p->members; l != NULL;
             l = l->tree.next) {
            const struct mortise_tree_member *t = &l->tree;

            if (l == self)
                continue;
            v->others[k] += excess(t->now[k], t->landed[k]);
            v->out[k] += t->out[k] + excess(t->landed[k], t->now[k]);
        }
        if (v->out[k] > v->others[k])
            v->out[k] = v->others[k];
    }
}

void mortise_tree_tell(const struct mortise_live *live)
{
    const struct mortise_tree_purse *p = live->tree.of;
    struct mortise_tree_view v;

    if (p == NULL)
        return;
    if (p->is_open)
        view_of(p, live, &v);
    mortise_run_tell_tree(live->run, p->known, p->is_open ? &v : NULL);
}

/* ---- who is to be told (4) ---------------------------------------------------- */

static void fresh(struct mortise_live *live)
{
    live->pending -= live->tree.stale;
    live->tree.stale = false;
}

static void is_stale(struct mortise_live *live)
{
    live->pending += !live->tree.stale;
    live->tree.stale = true;
    tend(live->m);
}

struct mortise_live *mortise_tree_take_stale(struct mortise *m)
{
    for (const struct mortise_tree_purse *p = m->tree_purses; p != NULL;
         p = p->next) {
        struct mortise_live *l = p->known ? p->members : NULL;

        while (l != NULL && !l->tree.stale)
            l = l->tree.next;
        if (l == NULL)
            continue;
        fresh(l);
        return l;
    }
    return NULL;
}

/* All that wait, but for this one. */
static void moved(const struct mortise_tree_purse *p,
                  const struct mortise_live *by)
{
    for (struct mortise_live *l = p->members; l != NULL; l = l->tree.next)
        if (l != by && l->tree.waits)
            is_stale(l);
}

/* (3) */
static void forget(struct mortise_tree_purse *p)
{
    p->known = p->is_open = false;
    p->outdated = true;
    tend(p->m);
}

void mortise_tree_learn(struct mortise_tree_purse *p,
                        const struct mortise_spawn_purse *stored)
{
    assert(!p->known && p->flying == 0);
    p->known = true;
    p->is_open = stored != NULL;
    if (p->is_open)
        p->stored = *stored;
    for (struct mortise_live *l = p->members; l != NULL; l = l->tree.next)
        is_stale(l);
}

/* ---- coming and going --------------------------------------------------------- */

static int attach(struct mortise_live *live, const char *origin,
                  struct mortise_err *err)
{
    struct mortise_tree_purse *p = find_or_make(live->m, live->tenant, origin);

    assert(live->tree.of == NULL);
    if (p == NULL)
        return mortise_nomem(err);
    live->tree.of = p;
    live->tree.next = p->members;
    p->members = live;
    mortise_run_tree_counted(live->run, live->tree.landed);
    memcpy(live->tree.now, live->tree.landed, sizeof live->tree.now);
    return MORTISE_OK;
}

static int attach_new(struct mortise_live *live, const char *origin,
                      struct mortise_err *err)
{
    int rv = attach(live, origin, err);

    if (rv == MORTISE_OK)
        is_stale(live);
    return rv;
}

int mortise_tree_join(struct mortise_live *live, struct mortise_err *err)
{
    struct mortise_tree_use use;

    if (live->lost || !mortise_run_tree_use(live->run, &use))
        return MORTISE_OK;
    if (use.origin != NULL)
        return attach_new(live, use.origin, err);
    live->pending++;
    live->tree.next = live->m->tree_seekers;
    live->m->tree_seekers = live;
    tend(live->m);
    return MORTISE_OK;
}

struct mortise_live *mortise_tree_take_seeker(struct mortise *m)
{
    struct mortise_live *live = m->tree_seekers;

    if (live != NULL)
        m->tree_seekers = live->tree.next;
    return live;
}

int mortise_tree_found(struct mortise_live *live, const char *origin,
                       struct mortise_err *err)
{
    live->pending--;
    return live->lost || origin == NULL ? MORTISE_OK
                                        : attach_new(live, origin, err);
}

void mortise_tree_leave(struct mortise_live *live)
{
    struct mortise_tree_purse *p = live->tree.of;
    struct mortise_live **at;

    if (p == NULL)
        return;
    fresh(live);
    for (at = &p->members; *at != live;)
        at = &(*at)->tree.next;
    *at = live->tree.next;
    live->tree.of = NULL;
    if (live->flying > 0)
        forget(p);
    moved(p, NULL);
    mortise_tree_drop_unused(p);
}

/* ---- steps (2) ---------------------------------------------------------------- */

/* Its first handle makes it the origin of a tree: nobody has anything yet. */
static int open_purse(struct mortise_live *live,
                      const struct mortise_tree_use *use,
                      struct mortise_err *err)
{
    struct mortise_tree_purse *p;
    int rv;

    assert(strcmp(use->origin, live->id) == 0);
    rv = attach(live, use->origin, err);
    if (rv != MORTISE_OK)
        return rv;
    memset(live->tree.now, 0, sizeof live->tree.now);
    memset(live->tree.landed, 0, sizeof live->tree.landed);
    p = live->tree.of;
    p->known = p->is_open = true;
    p->stored = (struct mortise_spawn_purse){.used = {0}};
    memcpy(p->stored.most, use->most, sizeof p->stored.most);
    moved(p, live);
    return MORTISE_OK;
}

/* Is it more that all may spend? */
static bool raise_to(struct mortise_tree_purse *p, const uint64_t most[N])
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

int mortise_tree_note(struct mortise_live *live, struct mortise_err *err)
{
    struct mortise_tree_member *t = &live->tree;
    struct mortise_tree_use use;
    bool less = false;
    int rv = MORTISE_OK;

    if (!mortise_run_tree_use(live->run, &use))
        return MORTISE_OK;
    t->waits = use.waits;
    if (use.origin == NULL) /* it has nothing yet */
        return MORTISE_OK;
    if (t->of == NULL)
        rv = open_purse(live, &use, err);
    if (rv != MORTISE_OK)
        return rv;
    for (int k = 0; k < N; k++) {
        less |= use.used[k] < t->now[k] || use.out[k] < t->out[k];
        t->now[k] = use.used[k];
        t->out[k] = use.out[k];
    }
    less |= raise_to(t->of, use.most);
    if (less)
        moved(t->of, live);
    return MORTISE_OK;
}

/* ---- commits ------------------------------------------------------------------ */

bool mortise_tree_take(struct mortise_live *live,
                       const struct mortise_run_commit *c,
                       struct mortise_tree_flight *f, struct mortise_arena *a,
                       struct mortise_spawn_spend *out)
{
    struct mortise_tree_purse *p = live->tree.of;

    if (c->spend.origin == NULL)
        return true;
    assert(p != NULL); /* it joined, or opened it just now */
    *out = c->spend;
    out->origin = mortise_arena_strdup(a, c->spend.origin);
    if (out->origin == NULL)
        return false;
    f->of = p;
    mortise_run_tree_counted(live->run, f->counted);
    p->flying++;
    p->outdated = true; /* a read that is out may have it or not */
    return true;
}

void mortise_tree_landed(struct mortise_live *live,
                         const struct mortise_tree_flight *f,
                         const struct mortise_spawn_spend *s, int result)
{
    struct mortise_tree_purse *p = f->of;

    if (p == NULL)
        return;
    assert(p->flying > 0);
    p->flying--;
    if (result != MORTISE_OK) {
        forget(p);
    } else {
        if (p->is_open)
            mortise_spawn_spend(&p->stored, true, s);
        if (live->tree.of == p)
            memcpy(live->tree.landed, f->counted, sizeof f->counted);
        p->was_raised |= s->raises;
        moved(p, live);
    }
    tend(p->m); /* it may be read, or looked after, now */
    mortise_tree_drop_unused(p);
}
