/* trees.c -- maintain the budgets of spawn trees (common/tree_purses.h): read
 * them, notify their runs, and continue runs when a limit was raised.
 *
 *   (1) A budget is read while no commit of its tree is in flight; if a commit
 *       starts during the read, the read is repeated.
 *   (2) A run whose budget cannot be read is lost, because it could overspend.
 *   (3) When a limit was raised, the runs of the tree that a budget paused are
 *       loaded, wherever in the tree they are.  A run that is not found,
 *       because memory ran out or the process crashed, continues when somebody
 *       resumes it.
 *
 * Everything happens in a task after the event.
 */
#include "core/engine/common/tree_purses.h"

#include <string.h>

/* ---- read (1) (2) -------------------------------------------------------- */

static void lose_tree_members(struct mortise_tree_budget *p,
                              const struct mortise_err *err)
{
    struct mortise_err why = *err;

    mortise_err_prefix(&why, why.code, "the budget of the tree of run %s",
                       p->origin);
    while (p->members != NULL)
        mortise_live_discard(p->members,
                             &why); /* this removes it from the list */
}

static void tree_purse_read(struct mortise_read *r, int rv,
                            const struct mortise_err *err)
{
    struct mortise_tree_budget *p =
        MORTISE_CONTAINER_OF(r, struct mortise_tree_budget, read);
    struct mortise *m = p->m;

    if (rv != MORTISE_OK && rv != MORTISE_ENOTFOUND)
        lose_tree_members(p, err);
    else if (!p->known && !p->outdated) /* a budget created meanwhile is known
                                           already */
        mortise_tree_set_stored(p, rv == MORTISE_OK ? &r->found.purse : NULL);
    p->reads = false;
    if (!p->known && p->members != NULL && !m->tree_queued) {
        m->tree_queued = true; /* read it again */
        mortise_task_make_ready(m, &m->tree_task);
    }
    mortise_tree_drop_unused(p);
}

static void read_tree_purse(struct mortise_tree_budget *p)
{
    p->reads = true;
    p->outdated = false;
    p->read = (struct mortise_read){.kind = MORTISE_READ_SPAWN_PURSE,
                                    .tenant = p->tenant,
                                    .run = p->origin,
                                    .done = tree_purse_read};
    mortise_store_read(p->m->store, &p->read);
}

/* A child that has spawned nothing yet: the origin of its tree is being
 * read. */
struct seeking {
    struct mortise_live *live;
    struct mortise_read read;
    char origin[MORTISE_NAME_MAX + 1];
};

static int copy_tree_origin(void *ud, const char *tenant, const char *parent,
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

static void set_member_origin(struct mortise_live *live, const char *origin,
                              int rv, const struct mortise_err *err)
{
    struct mortise_err why = *err;

    if (rv == MORTISE_ENOTFOUND)
        mortise_fail(&why, MORTISE_ECORRUPT,
                     "run %s: its spawn handle is missing", live->id);
    if (rv != MORTISE_OK)
        mortise_tree_set_origin(live, NULL, &why);
    else
        rv = mortise_tree_set_origin(live, origin, &why);
    if (rv != MORTISE_OK)
        mortise_live_discard(live, &why);
    mortise_live_queue_check(live);
}

static void origin_read(struct mortise_read *r, int rv,
                        const struct mortise_err *err)
{
    struct seeking *s = MORTISE_CONTAINER_OF(r, struct seeking, read);
    struct mortise *m = s->live->m;

    set_member_origin(s->live, s->origin, rv, err);
    mortise_release(m->mem, s, sizeof *s);
}

static void read_member_origin(struct mortise_live *live)
{
    struct seeking *s = mortise_zalloc(live->m->mem, sizeof *s);
    struct mortise_err err;

    if (s == NULL) {
        set_member_origin(live, NULL, mortise_nomem(&err), &err);
        return;
    }
    s->live = live;
    s->read = (struct mortise_read){.kind = MORTISE_READ_SPAWN_OF,
                                    .tenant = live->tenant,
                                    .run = live->id,
                                    .spawn = copy_tree_origin,
                                    .ud = s,
                                    .done = origin_read};
    mortise_store_read(live->m->store, &s->read);
}

/* ---- paused runs (3) ----------------------------------------------------- */

/* A run of the tree; the children of each are listed in turn. */
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
    strcpy(s->tenant, tenant); /* callers checked the lengths */
    strcpy(s->run, run);
    return s;
}

static void stopped_free(struct stopped *s)
{
    mortise_release(s->m->mem, s, sizeof *s);
}

static bool is_budget_stopped(const struct mortise_head_copy *head)
{
    return head->status == MORTISE_RUN_PAUSED &&
           strcmp(head->reason, "budget") == 0;
}

static void stopped_run_continued(struct mortise_order *o,
                                  const struct mortise_err *err)
{
    struct stopped *s = MORTISE_CONTAINER_OF(o, struct stopped, order);

    if (err->code != MORTISE_OK)
        mortise_log(s->m, MORTISE_LOG_WARN,
                    "run %s: the budget of its tree was raised, but the run "
                    "was not continued: %s",
                    s->run, err->msg);
    stopped_free(s);
}

static int add_stopped_child(void *ud, const char *tenant, const char *parent,
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

static void list_stopped_children(struct stopped *s);

static void stopped_children_read(struct mortise_read *r, int rv,
                                  const struct mortise_err *err)
{
    struct stopped *s = MORTISE_CONTAINER_OF(r, struct stopped, read), *child;
    bool ready = mortise_engine_check_ready(s->m, NULL) == MORTISE_OK;

    if (rv != MORTISE_OK)
        mortise_log(s->m, MORTISE_LOG_WARN,
                    "run %s: the budget of its tree was raised, but its "
                    "children could not be listed: %s",
                    s->run, err->msg);
    while ((child = s->next) != NULL) {
        s->next = child->next;
        child->next = NULL;
        if (ready)
            list_stopped_children(child);
        else
            stopped_free(child);
    }
    if (!ready || mortise_live_is_loaded_or_loading(s->m, s->tenant, s->run)) {
        stopped_free(s); /* a run in memory gets the new limit without this */
        return;
    }
    s->order = (struct mortise_order){.wants = is_budget_stopped,
                                      .done = stopped_run_continued};
    mortise_live_recover(s->m, s->tenant, s->run, &s->order);
}

static void list_stopped_children(struct stopped *s)
{
    s->read = (struct mortise_read){.kind = MORTISE_READ_SPAWNS,
                                    .tenant = s->tenant,
                                    .run = s->run,
                                    .spawn = add_stopped_child,
                                    .ud = s,
                                    .done = stopped_children_read};
    mortise_store_read(s->m->store, &s->read);
}

/* ---- the task ------------------------------------------------------------ */

/* Do the next task for one budget; false: there is none. */
static bool do_one_tree_task(struct mortise *m)
{
    for (struct mortise_tree_budget *p = m->tree_purses; p != NULL;
         p = p->next) {
        if (p->was_raised) {
            struct stopped *s = stopped_new(m, p->tenant, p->origin);

            p->was_raised = false;
            mortise_tree_drop_unused(p);
            if (s != NULL)
                list_stopped_children(s);
            return true;
        }
        if (!p->known && !p->reads && p->flying == 0 && p->members != NULL) {
            read_tree_purse(p);
            return true;
        }
    }
    return false;
}

static void do_tree_tasks(struct mortise_task *t)
{
    struct mortise *m = MORTISE_CONTAINER_OF(t, struct mortise, tree_task);
    struct mortise_input in = {.kind = MORTISE_IN_TREE};
    struct mortise_live *live;

    m->tree_queued = false;
    while ((live = mortise_tree_take_seeker(m)) != NULL)
        read_member_origin(live);
    while (do_one_tree_task(m))
        ;
    while ((live = mortise_tree_take_stale(m)) != NULL) {
        mortise_live_feed(live, &in);
        mortise_live_queue_check(live);
    }
}

void mortise_trees_open(struct mortise *m)
{
    m->tree_task.run = do_tree_tasks;
}
