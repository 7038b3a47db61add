/* children.c -- native children of runs, while they run.
 *
 * A child is a run like any other, with a life of its own; its handle says how it
 * ended (core/spawn/spawn.h), and its parent finds it there, whenever it looks.
 *
 *   (1) A step that waits for a child is answered by what the child's handle
 *       says.  That is looked at when the step begins to wait, when the run is
 *       loaded, and when a handle of the run is settled: so whatever came first,
 *       and whoever was killed in between, somebody looks behind the later of the
 *       two.  A parent that is not in memory is loaded for it.
 *   (2) Who waits stays as long as its child is at work here.  When the child
 *       comes to rest without an end, or cannot go on, the parent lets go, and its
 *       run waits, too.  A child that may go on by itself is loaded by who waits.
 *   (3) When a run ends, its linked children are cancelled, and theirs when they
 *       have ended.  A child that is loaded looks whether its parent is still
 *       there: so a crash between the two ends is made up for.
 *   (4) When a run gives up an execution for good (core/run/flow/left.c), the linked
 *       children that this execution started are cancelled, and theirs when they
 *       have ended.  The parent looks for such children when the commit is written
 *       that gives the execution up, and when the parent is loaded: then also for
 *       the children of those that had ended before the process died.  A child looks
 *       at its parent when it is loaded, and when it begins after its asker was
 *       stopped.  If the parent is not in memory it is replayed for that look, and
 *       does not continue.
 *   (5) Where memory runs out, those who are in memory look again until they
 *       could: who waits, and who may have lost its parent.  Others do when they
 *       are loaded: as an engine starts, or when they are resumed.
 *
 * All of it is heard of in a task behind what happened (common/news.h).  Each look
 * at the store is answered later where that is slow; whom it is about stays in memory
 * until then, or is looked for again. */
#include "core/engine/common/news.h"

#include <stdio.h>
#include <string.h>

#include "core/engine/runs/host_calls.h"
#include "core/engine/runs/spawns.h"

/* One look, from its first read until nobody needs it. */
struct look {
    struct mortise *m;
    struct look *next;         /* in a list of those that are to begin */
    struct mortise_live *live; /* who waits, and stays for it; or NULL */
    char tenant[MORTISE_NAME_MAX + 1], run[MORTISE_NAME_MAX + 1];
    char parent[MORTISE_NAME_MAX + 1]; /* of a handle */
    char id[MORTISE_SPAWN_ID];
    struct mortise_read read;
    struct mortise_stored stored;
    struct mortise_order order;
    struct mortise_run_command command;
    /* What the handle says. */
    bool over, native, detached;
    char child[MORTISE_SPAWN_TEXT + 1];
    char execution[MORTISE_EXEC_PATH];
    json_t *end;
    bool starved;
};

/* NULL: no memory, which is said (5). */
static struct look *look_new(struct mortise *m, const char *tenant,
                             const char *run)
{
    struct look *l = mortise_zalloc(m->mem, sizeof *l);

    if (l == NULL) {
        mortise_log(m, MORTISE_LOG_WARN,
                    "run %s: out of memory for checking its children", run);
        mortise_news_missed(m);
        return NULL;
    }
    l->m = m;
    strcpy(l->tenant, tenant); /* names are checked by who brings them */
    strcpy(l->run, run);
    return l;
}

static void look_free(struct look *l)
{
    if (l->live != NULL) {
        l->live->pending--;
        mortise_live_touch(l->live);
    }
    json_decref(l->end);
    mortise_release(l->m->mem, l, sizeof *l);
}

static void ask(struct look *l, enum mortise_read_kind kind, const char *run,
                mortise_spawn_fn *fn,
                void (*done)(struct mortise_read *r, int rv,
                             const struct mortise_err *err))
{
    l->read = (struct mortise_read){.kind = kind,
                                    .tenant = l->tenant,
                                    .run = run,
                                    .id = l->id,
                                    .spawn = fn,
                                    .ud = l,
                                    .done = done};
    mortise_store_read(l->m->store, &l->read);
}

/* {status, child, result?} of one that is over. */
static json_t *end_of(const struct mortise_spawn *s)
{
    json_t *result = NULL;

    if (s->result != NULL &&
        mortise_json_read(&result, s->result, s->result_size, NULL) !=
            MORTISE_OK)
        return NULL;
    return json_pack("{s:s, s:s*, s:o*}", "status",
                     mortise_spawn_status_name((int)s->status), "child",
                     s->child[0] != '\0' ? s->child : NULL, "result", result);
}

static int keep(void *ud, const char *tenant, const char *parent,
                const char *id, const struct mortise_spawn *s)
{
    struct look *l = ud;

    (void)tenant;
    if (strlen(parent) > MORTISE_NAME_MAX ||
        strlen(s->child) > MORTISE_SPAWN_TEXT)
        return 0; /* spawns.c lets no longer ones in */
    memmove(l->parent, parent, strlen(parent) + 1); /* they may be its own */
    memmove(l->id, id, strlen(id) + 1);
    l->over = mortise_spawn_is_over(s);
    l->native = s->native;
    l->detached = s->detached;
    strcpy(l->child, s->child);
    snprintf(l->execution, sizeof l->execution, "%s", s->execution);
    if (l->over)
        l->end = end_of(s);
    l->starved = l->over && l->end == NULL;
    return 0;
}

/* ---- who waits (1) (2) ----------------------------------------------------- */

static void release(struct look *l)
{
    char handle[MORTISE_SPAWN_HANDLE_MAX];

    mortise_spawns_handle(handle, l->parent, l->id);
    if (!l->live->lost)
        mortise_host_call_release(l->live, handle);
}

static void tell(struct look *l)
{
    char handle[MORTISE_SPAWN_HANDLE_MAX];
    struct mortise_input in = {.kind = MORTISE_IN_CHILD,
                               .u.child = {.handle = handle, .end = l->end}};

    mortise_spawns_handle(handle, l->parent, l->id);
    if (!l->live->lost)
        mortise_live_feed(l->live, &in);
}

static bool may_go_on(const struct mortise_head_copy *head)
{
    return mortise_live_goes_on(head->status, head->reason);
}

static void child_loaded(struct mortise_order *o, const struct mortise_err *err)
{
    struct look *l = MORTISE_OF(o, struct look, order);

    (void)err; /* one that cannot go on is waited for all the same */
    if (!mortise_live_is_at_work(l->m, l->tenant, l->child))
        release(l);
    look_free(l);
}

static void handle_read(struct mortise_read *r, int rv,
                        const struct mortise_err *err)
{
    struct look *l = MORTISE_OF(r, struct look, read);

    (void)err;
    if (rv == MORTISE_OK && l->over && !l->starved) {
        tell(l);
    } else if (rv == MORTISE_OK && l->native && !l->over &&
               !mortise_live_is_at_work(l->m, l->tenant, l->child)) {
        l->order =
            (struct mortise_order){.wants = may_go_on, .done = child_loaded};
        mortise_live_recover(l->m, l->tenant, l->child, &l->order);
        return;
    } else if (rv == MORTISE_ENOMEM || l->starved) {
        mortise_news_missed(l->m);
    } else if (rv != MORTISE_OK || !l->native) {
        release(l);
    }
    look_free(l);
}

/* A list first: to tell the run changes what is gone through. */
struct looking {
    struct mortise_live *live;
    struct look *first;
};

static void list_one(void *ud, const char *handle)
{
    struct looking *all = ud;
    struct mortise_live *live = all->live;
    struct look *l = look_new(live->m, live->tenant, live->id);

    if (l != NULL && mortise_spawns_parse(handle, l->parent, l->id)) {
        l->live = live;
        live->pending++;
        l->next = all->first;
        all->first = l;
    } else if (l != NULL) {
        look_free(l);
    }
}

static void look(struct mortise_live *live)
{
    struct looking all = {.live = live};
    struct look *l;

    if (live->lost)
        return;
    mortise_run_awaited(live->run, list_one, &all);
    while ((l = all.first) != NULL) {
        all.first = l->next;
        ask(l, MORTISE_READ_SPAWN, l->parent, keep, handle_read);
    }
}

/* A run in which somebody may wait for a child, and which nobody stopped.  Paused by
 * a budget or in front of a node it waits for people there alone. */
static bool waits(const struct mortise_head_copy *head)
{
    if (head->status == MORTISE_RUN_PAUSED)
        return strcmp(head->reason, "budget") == 0 ||
               strcmp(head->reason, "interrupt") == 0;
    return head->status == MORTISE_RUN_WAITING ||
           head->status == MORTISE_RUN_IN_DOUBT;
}

static void parent_loaded(struct mortise_order *o,
                          const struct mortise_err *err)
{
    struct look *l = MORTISE_OF(o, struct look, order);

    if (err->code != MORTISE_OK)
        mortise_log(l->m, MORTISE_LOG_WARN,
                    "run %s: one of its children ended, but its result was not "
                    "recorded: %s",
                    l->run, err->msg);
    look_free(l);
}

static void settled(struct mortise *m, const char *tenant, const char *parent)
{
    struct mortise_live *live = mortise_live_find(m, tenant, parent);
    struct look *l;

    if (live != NULL) {
        look(live);
        return;
    }
    if (mortise_live_is_here(m, tenant, parent) || /* it looks when it is */
        mortise_engine_ready(m, NULL) != MORTISE_OK)
        return;
    l = look_new(m, tenant, parent);
    if (l == NULL)
        return;
    l->order = (struct mortise_order){.wants = waits, .done = parent_loaded};
    mortise_live_recover(m, l->tenant, l->run, &l->order);
}

/* ---- ends (3) (4) ---------------------------------------------------------- */

static void cancelled(struct mortise_order *o, const struct mortise_err *err)
{
    struct look *l = MORTISE_OF(o, struct look, order);

    /* ESTATE: it has ended meanwhile. */
    if (err->code != MORTISE_OK && err->code != MORTISE_ESTATE)
        mortise_log(l->m, MORTISE_LOG_WARN,
                    "run %s was not cancelled with its parent: %s", l->run,
                    err->msg);
    look_free(l);
}

static const char parent_ended[] = "its parent has ended",
                  maker_left[] = "the node that started it was stopped";

/* Takes the look, which is at the run of a child. */
static void cancel(struct look *l, const char *reason)
{
    l->command = (struct mortise_run_command){.kind = MORTISE_CMD_CANCEL,
                                              .reason = reason};
    l->order = (struct mortise_order){
        .list = &l->command, .n = 1, .actor = l->m->actor, .done = cancelled};
    mortise_live_command(l->m, l->tenant, l->run, &l->order);
}

/* All children that are to be cancelled are found before the first is. */
enum which {
    OF_ENDED, /* the run has ended: all its children */
    OF_LEFT,  /* the run goes on: the children of executions that it left */
    /* The same after a crash: also the children of children that ended before it. */
    OF_LEFT_DEEP,
    OF_ENDED_DEEP
};

struct ending {
    struct look look; /* its `live`, if any, stays in memory until the end */
    struct look *first;
    enum which which;
};

static bool is_deep(enum which which)
{
    return which == OF_LEFT_DEEP || which == OF_ENDED_DEEP;
}

static bool has_ended(enum which which)
{
    return which == OF_ENDED || which == OF_ENDED_DEEP;
}

static bool is_left(const struct mortise_live *live, const char *execution)
{
    return !live->lost &&
           mortise_run_has_left(live->run, execution, live->written);
}

static void stay(struct look *l, struct mortise_live *live)
{
    l->live = live;
    live->pending++;
}

static int list_linked(void *ud, const char *tenant, const char *parent,
                       const char *id, const struct mortise_spawn *s)
{
    struct look *by = ud;
    struct ending *e = MORTISE_OF(by, struct ending, look);
    struct look *l;

    (void)tenant;
    (void)parent;
    (void)id;
    if ((mortise_spawn_is_over(s) && !is_deep(e->which)) || !s->native ||
        s->detached || s->state == MORTISE_SPAWN_PENDING ||
        strlen(s->child) > MORTISE_NAME_MAX ||
        (!has_ended(e->which) && !is_left(by->live, s->execution)))
        return 0;
    l = look_new(by->m, by->tenant, s->child);
    if (l == NULL)
        return 0;
    l->over = mortise_spawn_is_over(s);
    if (by->live != NULL)
        stay(l, by->live); /* until it is cancelled */
    l->next = e->first;
    e->first = l;
    return 0;
}

static void find_linked(struct mortise *m, const char *tenant, const char *run,
                        struct mortise_live *live, enum which which);

static void linked_read(struct mortise_read *r, int rv,
                        const struct mortise_err *err)
{
    struct look *by = MORTISE_OF(r, struct look, read);
    struct ending *e = MORTISE_OF(by, struct ending, look);
    struct mortise *m = by->m;
    struct look *l;

    if (rv != MORTISE_OK)
        mortise_log(m, MORTISE_LOG_WARN,
                    "run %s leaves its children running, because they could "
                    "not be listed: %s",
                    by->run, err->msg);
    while ((l = e->first) != NULL) {
        e->first = l->next;
        if (rv != MORTISE_OK || mortise_engine_ready(m, NULL) != MORTISE_OK) {
            look_free(l); /* when it is loaded it looks itself */
        } else if (l->over) {
            find_linked(m, l->tenant, l->run, l->live, OF_ENDED_DEEP);
            look_free(l);
        } else {
            cancel(l, has_ended(e->which) ? parent_ended : maker_left);
        }
    }
    if (by->live != NULL) {
        by->live->pending--;
        mortise_live_touch(by->live);
    }
    mortise_release(m->mem, e, sizeof *e);
}

static void find_linked(struct mortise *m, const char *tenant, const char *run,
                        struct mortise_live *live, enum which which)
{
    struct ending *e = mortise_zalloc(m->mem, sizeof *e);

    if (e == NULL) {
        mortise_news_missed(m);
        return;
    }
    e->which = which;
    e->look.m = m;
    strcpy(e->look.tenant, tenant);
    strcpy(e->look.run, run);
    if (live != NULL)
        stay(&e->look, live);
    ask(&e->look, MORTISE_READ_SPAWNS, e->look.run, list_linked, linked_read);
}

static void left(struct mortise_live *live, enum which which)
{
    if (!live->lost)
        find_linked(live->m, live->tenant, live->id, live, which);
}

static void own_read(struct mortise_read *r, int rv,
                     const struct mortise_err *err)
{
    struct look *l = MORTISE_OF(r, struct look, read);

    (void)err;
    if (rv == MORTISE_OK)
        settled(l->m, l->tenant, l->parent);
    look_free(l);
}

static void ended(struct mortise *m, const char *tenant, const char *run)
{
    struct look *l = look_new(m, tenant, run);

    find_linked(m, tenant, run, NULL, OF_ENDED);
    if (l != NULL)
        ask(l, MORTISE_READ_SPAWN_OF, l->run, keep, own_read);
}

/* ---- coming and going ----------------------------------------------------------- */

/* The look at a child is over; `reason`: why it is cancelled, or NULL. */
static void decide(struct look *l, const char *reason)
{
    mortise_stored_finish(&l->stored);
    if (reason != NULL && mortise_engine_ready(l->m, NULL) == MORTISE_OK)
        cancel(l, reason);
    else
        look_free(l);
}

static void parent_replayed(struct mortise_stored *s, int rv,
                            const struct mortise_err *err)
{
    struct look *l = MORTISE_OF(s, struct look, stored);

    (void)err;
    if (rv == MORTISE_ENOMEM)
        mortise_news_missed(l->m);
    decide(l, rv == MORTISE_OK &&
                      mortise_run_has_left(s->run, l->execution, UINT64_MAX)
                  ? maker_left
                  : NULL);
}

static void parent_read(struct mortise_stored *s, int rv,
                        const struct mortise_err *err)
{
    struct look *l = MORTISE_OF(s, struct look, stored);
    const struct mortise_live *parent;

    (void)err;
    if (rv == MORTISE_ENOTFOUND ||
        (rv == MORTISE_OK && mortise_run_has_ended(s->head.status))) {
        decide(l, parent_ended);
        return;
    }
    parent = mortise_live_find(l->m, l->tenant, l->parent);
    if (parent != NULL)
        decide(l, is_left(parent, l->execution) ? maker_left : NULL);
    else if (rv == MORTISE_OK)
        mortise_stored_rest(s, parent_replayed);
    else
        decide(l, NULL);
}

static void lineage_read(struct mortise_read *r, int rv,
                         const struct mortise_err *err)
{
    struct look *l = MORTISE_OF(r, struct look, read);

    (void)err;
    if (rv == MORTISE_OK && !l->over && l->native && !l->detached &&
        strlen(l->child) <= MORTISE_NAME_MAX) {
        strcpy(l->run, l->child);
        mortise_stored_head(l->m, &l->stored, l->tenant, l->parent,
                            parent_read);
    } else {
        look_free(l);
    }
}

/* The child of that handle looks whether its parent has ended, or has left it. */
static void look_back(struct mortise *m, const char *tenant, const char *handle)
{
    struct look *l = look_new(m, tenant, "");

    if (l != NULL && mortise_spawns_parse(handle, l->parent, l->id))
        ask(l, MORTISE_READ_SPAWN, l->parent, keep, lineage_read);
    else if (l != NULL)
        look_free(l);
}

static void loaded(struct mortise_live *live)
{
    const char *by = live->lost ? NULL : mortise_run_spawned_by(live->run);

    if (by != NULL)
        look_back(live->m, live->tenant, by);
    if (!live->lost && mortise_run_has_children(live->run))
        left(live, OF_LEFT_DEEP);
    look(live);
}

static void rests(struct mortise *m, const char *tenant, const char *handle)
{
    char parent[MORTISE_NAME_MAX + 1], id[MORTISE_SPAWN_ID];
    struct mortise_live *waits;

    if (!mortise_spawns_parse(handle, parent, id))
        return;
    waits = mortise_live_find(m, tenant, parent);
    if (waits == NULL)
        return;
    if (!waits->lost)
        mortise_host_call_release(waits, handle);
    mortise_live_touch(waits); /* it may have stayed for that child alone */
}

/* ---- news ------------------------------------------------------------------------- */

static void hear_one(struct mortise *m, const struct mortise_news *n)
{
    switch (n->kind) {
    case MORTISE_NEWS_LOADED:
        loaded(n->live);
        break;
    case MORTISE_NEWS_AWAITS:
        look(n->live);
        break;
    case MORTISE_NEWS_SETTLED:
        settled(m, n->tenant, n->name);
        break;
    case MORTISE_NEWS_ENDED:
        ended(m, n->tenant, n->name);
        break;
    case MORTISE_NEWS_LEFT:
        left(n->live, OF_LEFT);
        break;
    case MORTISE_NEWS_BEGAN:
        look_back(m, n->tenant, n->name);
        break;
    case MORTISE_NEWS_RESTS:
        rests(m, n->tenant, n->name);
        break;
    }
    if (n->live != NULL) {
        n->live->pending--;
        mortise_live_touch(n->live);
    }
}

static void hear(struct mortise_task *t)
{
    struct mortise *m = MORTISE_OF(t, struct mortise, news_task);
    struct mortise_news *n;

    m->news_queued = false;
    while ((n = mortise_news_take(m)) != NULL) {
        hear_one(m, n);
        mortise_news_free(m, n);
    }
}

/* (5) */
static void look_again(struct mortise_timer *t)
{
    struct mortise *m = MORTISE_OF(t, struct mortise, news_again);
    struct mortise_hashed *e;

    for (e = mortise_table_first(&m->lives); e != NULL;
         e = mortise_table_next(&m->lives, e))
        if (!MORTISE_OF(e, struct mortise_live, entry)->lost)
            mortise_news_of(MORTISE_OF(e, struct mortise_live, entry),
                            MORTISE_NEWS_LOADED);
}

void mortise_children_open(struct mortise *m)
{
    m->news_again.fire = look_again;
    m->news_task.run = hear;
}
