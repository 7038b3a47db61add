/* trees.c -- what follows when the runs of a spawn tree spend together
 * (common/tree_purses.h): purses are read, runs are told, and those that a bound
 * stopped go on when it was raised.
 *
 *   (1) A purse is read while nothing of it is on its way; what came on its way
 *       meanwhile makes the read be made again.
 *   (2) A run whose purse cannot be read is lost: it could spend what is not there.
 *   (3) When a bound was raised, the runs of the tree that a budget stopped are
 *       loaded, wherever in the tree they are.  One that is not found, since memory
 *       ran out or the process died, goes on when somebody resumes it.
 *
 * All of it happens in a task behind what happened. */
#include "core/engine/common/tree_purses.h"

#include <string.h>

/* ---- reading (1) (2) ------------------------------------------------------------ */

static void lose_all(struct mortise_tree_purse *p,
                     const struct mortise_err *err)
{
    struct mortise_err why = *err;

    mortise_doing(&why, why.code, "the budget of the tree of run %s",
                  p->origin);
    while (p->members != NULL)
        mortise_live_lose(p->members, &why); /* it leaves */
}

static void purse_read(struct mortise_read *r, int rv,
                       const struct mortise_err *err)
{
    struct mortise_tree_purse *p =
        MORTISE_OF(r, struct mortise_tree_purse, read);
    struct mortise *m = p->m;

    if (rv != MORTISE_OK && rv != MORTISE_ENOTFOUND)
        lose_all(p, err);
    else if (!p->known && !p->outdated) /* it was not opened meanwhile */
        mortise_tree_learn(p, rv == MORTISE_OK ? &r->found.purse : NULL);
    p->reads = false;
    if (!p->known && p->members != NULL && !m->tree_queued) {
        m->tree_queued = true; /* once more */
        mortise_ready(m, &m->tree_task);
    }
    mortise_tree_drop_unused(p);
}

static void read_purse(struct mortise_tree_purse *p)
{
    p->reads = true;
    p->outdated = false;
    p->read = (struct mortise_read){.kind = MORTISE_READ_SPAWN_PURSE,
                                    .tenant = p->tenant,
                                    .run = p->origin,
                                    .done = purse_read};
    mortise_store_read(p->m->store, &p->read);
}

/* Whose tree a child is of that has asked for nothing yet. */
struct seeking {
    struct mortise_live *live;
    struct mortise_read read;
    char origin[MORTISE_NAME_MAX + 1];
};

static int keep_origin(void *ud, const char *tenant, const char *parent,
                       const char *id, const struct mortise_spawn *s)
{
    struct seeking *seeking = ud;

    (void)tenant;
    (void)parent;
    (void)id;
    if (strlen(s->origin) <= MORTISE_NAME_MAX)
        strcpy(seeking->origin, s->origin);
    return 0;
}

static void found(struct mortise_live *live, const char *origin, int rv,
                  const struct mortise_err *err)
{
    struct mortise_err why = *err;

    if (rv == MORTISE_ENOTFOUND)
        mortise_fail(&why, MORTISE_ECORRUPT,
                     "run %s: its spawn handle is missing", live->id);
    if (rv != MORTISE_OK)
        mortise_tree_found(live, NULL, &why);
    else
        rv = mortise_tree_found(live, origin, &why);
    if (rv != MORTISE_OK)
        mortise_live_lose(live, &why);
    mortise_live_touch(live);
}

static void origin_read(struct mortise_read *r, int rv,
                        const struct mortise_err *err)
{
    struct seeking *s = MORTISE_OF(r, struct seeking, read);
    struct mortise *m = s->live->m;

    found(s->live, s->origin, rv, err);
    mortise_release(m->mem, s, sizeof *s);
}

static void seek(struct mortise_live *live)
{
    struct seeking *s = mortise_zalloc(live->m->mem, sizeof *s);
    struct mortise_err err;

    if (s == NULL) {
        found(live, NULL, mortise_nomem(&err), &err);
        return;
    }
    s->live = live;
    s->read = (struct mortise_read){.kind = MORTISE_READ_SPAWN_OF,
                                    .tenant = live->tenant,
                                    .run = live->id,
                                    .spawn = keep_origin,
                                    .ud = s,
                                    .done = origin_read};
    mortise_store_read(live->m->store, &s->read);
}

/* ---- who was stopped (3) --------------------------------------------------------- */

/* A run of the tree; each is asked what it spawned, in turn. */
struct stopped {
    struct mortise *m;
    struct stopped *next;
    char tenant[MORTISE_NAME_MAX + 1], run[MORTISE_NAME_MAX + 1];
    struct mortise_read read;
    struct mortise_order order;
};

static struct stopped *stopped_new(struct mortise *m, const char *tenant,
                                   const char *run)
{
    struct stopped *s = mortise_zalloc(m->mem, sizeof *s);

    if (s == NULL) {
        mortise_log(
            m, MORTISE_LOG_WARN,
            "run %s: out of memory for checking whether a budget stopped it",
            run);
        return NULL;
    }
    s->m = m;
    strcpy(s->tenant, tenant); /* names are checked by who brings them */
    strcpy(s->run, run);
    return s;
}

static void stopped_free(struct stopped *s)
{
    mortise_release(s->m->mem, s, sizeof *s);
}

static bool is_stopped(const struct mortise_head_copy *head)
{
    return head->status == MORTISE_RUN_PAUSED &&
           strcmp(head->reason, "budget") == 0;
}

static void went_on(struct mortise_order *o, const struct mortise_err *err)
{
    struct stopped *s = MORTISE_OF(o, struct stopped, order);

    if (err->code != MORTISE_OK)
        mortise_log(s->m, MORTISE_LOG_WARN,
                    "run %s: the budget of its tree was raised, but the run "
                    "was not continued: %s",
                    s->run, err->msg);
    stopped_free(s);
}

static int list_child(void *ud, const char *tenant, const char *parent,
                      const char *id, const struct mortise_spawn *s)
{
    struct stopped *by = ud;
    struct stopped *child = s->native && strlen(s->child) <= MORTISE_NAME_MAX
                                ? stopped_new(by->m, tenant, s->child)
                                : NULL;

    (void)parent;
    (void)id;
    if (child == NULL)
        return 0;
    child->next = by->next;
    by->next = child;
    return 0;
}

static void look(struct stopped *s);

static void children_read(struct mortise_read *r, int rv,
                          const struct mortise_err *err)
{
    struct stopped *s = MORTISE_OF(r, struct stopped, read), *child;
    bool ready = mortise_engine_ready(s->m, NULL) == MORTISE_OK;

    if (rv != MORTISE_OK)
        mortise_log(s->m, MORTISE_LOG_WARN,
                    "run %s: the budget of its tree was raised, but its "
                    "children could not be listed: %s",
                    s->run, err->msg);
    while ((child = s->next) != NULL) {
        s->next = child->next;
        child->next = NULL;
        if (ready)
            look(child);
        else
            stopped_free(child);
    }
    if (!ready || mortise_live_is_here(s->m, s->tenant, s->run)) {
        stopped_free(s); /* it hears of it here */
        return;
    }
    s->order = (struct mortise_order){.wants = is_stopped, .done = went_on};
    mortise_live_recover(s->m, s->tenant, s->run, &s->order);
}

static void look(struct stopped *s)
{
    s->read = (struct mortise_read){.kind = MORTISE_READ_SPAWNS,
                                    .tenant = s->tenant,
                                    .run = s->run,
                                    .spawn = list_child,
                                    .ud = s,
                                    .done = children_read};
    mortise_store_read(s->m->store, &s->read);
}

/* ---- the task ---------------------------------------------------------------------- */

/* What is to be done for one of the purses, if anything is. */
static bool tend_one(struct mortise *m)
{
    for (struct mortise_tree_purse *p = m->tree_purses; p != NULL;
         p = p->next) {
        if (p->was_raised) {
            struct stopped *s = stopped_new(m, p->tenant, p->origin);

            p->was_raised = false;
            mortise_tree_drop_unused(p);
            if (s != NULL)
                look(s);
            return true;
        }
        if (!p->known && !p->reads && p->flying == 0 && p->members != NULL) {
            read_purse(p);
            return true;
        }
    }
    return false;
}

static void tend(struct mortise_task *t)
{
    struct mortise *m = MORTISE_OF(t, struct mortise, tree_task);
    struct mortise_input in = {.kind = MORTISE_IN_TREE};
    struct mortise_live *live;

    m->tree_queued = false;
    while ((live = mortise_tree_take_seeker(m)) != NULL)
        seek(live);
    while (tend_one(m))
        ;
    while ((live = mortise_tree_take_stale(m)) != NULL) {
        mortise_live_feed(live, &in);
        mortise_live_touch(live);
    }
}

void mortise_trees_open(struct mortise *m)
{
    m->tree_task.run = tend;
}
