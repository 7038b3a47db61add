/* children.c -- notify native children and their parents of each other.
 *
 * A child is a run like any other.  Its spawn handle records how it ended
 * (core/spawn/spawn.h), and the parent reads the handle.
 *
 *   (1) A step that waits for a child is answered from the child's handle.  The
 *       handle is read when the step begins to wait, when the run is loaded,
 *       and when a handle of the run is settled.  So in any order of events,
 *       and after any crash, a read follows the later event.  A parent that is
 *       not in memory is loaded for it.
 *   (2) A call that waits for a child stays in its plugin while the child is in
 *       memory here.  When the child becomes idle without an end, or cannot
 *       continue, the call is released, and the parent's run waits, too.  A
 *       child that can continue by itself is loaded by the parent that waits
 *       for it.
 *   (3) When a run ends, its linked children are cancelled, and their children
 *       when they have ended.  A loaded child checks that its parent still
 *       exists, in case of a crash between the two ends.
 *   (4) When a run gives up an execution permanently (core/run/flow/left.c),
 *       the linked children that this execution started are cancelled, and
 *       theirs when they have ended.  The parent looks for these children when
 *       the commit is written that gives the execution up, and when the parent
 *       is loaded: then also for the children of those that had ended before
 *       the process died.  A child looks at its parent when it is loaded, and
 *       when it begins after its asker was stopped.  If the parent is not in
 *       memory it is replayed for that look, and does not continue.
 *   (5) If memory runs out, runs in memory look again until it works: those
 *       that wait, and those that may have lost their parent.  Other runs look
 *       when they are loaded: when an engine starts, or when they are resumed.
 *
 * Everything is handled in a task after the event (common/news.h).  Each read
 * of the store may be answered later; the runs concerned stay in memory until
 * then, or are looked up again.
 */
#include "core/engine/common/news.h"

#include <stdio.h>
#include <string.h>

#include "core/engine/runs/host_calls.h"
#include "core/engine/runs/spawns.h"

/* One look, from its first read until it is freed. */
struct look {
    struct mortise *m;
    struct look *next;         /* in a list of looks that are to begin */
    struct mortise_live *live; /* the run that waits, kept in memory for the
                                  look; or NULL */
    char tenant[MORTISE_NAME_MAX + 1], run[MORTISE_NAME_MAX + 1];
    char parent[MORTISE_NAME_MAX + 1]; /* of the handle, as `id` */
    char id[MORTISE_SPAWN_ID];
    struct mortise_read read;
    struct mortise_stored_read stored;
    struct mortise_order order;
    struct mortise_run_command command;
    /* Copied from the handle. */
    bool over, native, detached;
    char child[MORTISE_SPAWN_TEXT + 1];
    char execution[MORTISE_EXEC_PATH];
    json_t *end;
    bool starved;
};

/* NULL: out of memory, which is logged (5). */
static struct look *new_child_look(struct mortise *m, const char *tenant,
                                   const char *run)
{
    struct look *l = mortise_zalloc(m->mem, sizeof *l);

    if (l == NULL) {
        mortise_log(m, MORTISE_LOG_WARN,
                    "run %s: out of memory for checking its children", run);
        mortise_news_schedule_retry(m);
        return NULL;
    }
    l->m = m;
    strcpy(l->tenant, tenant); /* callers checked the lengths */
    strcpy(l->run, run);
    return l;
}

static void free_child_look(struct look *l)
{
    if (l->live != NULL) {
        l->live->pending--;
        mortise_live_queue_check(l->live);
    }
    json_decref(l->end);
    mortise_release(l->m->mem, l, sizeof *l);
}

static void read_for_look(struct look *l, enum mortise_read_kind kind,
                          const char *run, mortise_spawn_fn *fn,
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

/* {status, child, result?} of a settled handle. */
static json_t *make_handle_end(const struct mortise_spawn *s)
{
    json_t *result = NULL;

    if (s->result != NULL &&
        mortise_json_parse_written(&result, s->result, s->result_size, NULL) !=
            MORTISE_OK)
        return NULL;
    return json_pack("{s:s, s:s*, s:o*}", "status",
                     mortise_spawn_status_name((int)s->status), "child",
                     s->child[0] != '\0' ? s->child : NULL, "result", result);
}

static int copy_handle_record(void *ud, const char *tenant, const char *parent,
                              const char *id, const struct mortise_spawn *s)
{
    struct look *l = ud;

    (void)tenant;
    if (strlen(parent) > MORTISE_NAME_MAX ||
        strlen(s->child) > MORTISE_SPAWN_TEXT)
        return 0; /* spawns.c admits no longer names */
    /* `parent` and `id` may point into the look itself */
    memmove(l->parent, parent, strlen(parent) + 1);
    memmove(l->id, id, strlen(id) + 1);
    l->over = mortise_spawn_has_ended(s);
    l->native = s->native;
    l->detached = s->detached;
    strcpy(l->child, s->child);
    snprintf(l->execution, sizeof l->execution, "%s", s->execution);
    if (l->over)
        l->end = make_handle_end(s);
    l->starved = l->over && l->end == NULL;
    return 0;
}

/* ---- waiting parents (1) (2) --------------------------------------------- */

static void release_waiting_call(struct look *l)
{
    char handle[MORTISE_SPAWN_HANDLE_MAX];

    mortise_spawns_print_handle(handle, l->parent, l->id);
    if (!l->live->lost)
        mortise_host_call_release(l->live, handle);
}

static void feed_child_end(struct look *l)
{
    char handle[MORTISE_SPAWN_HANDLE_MAX];
    struct mortise_input in = {.kind = MORTISE_IN_CHILD,
                               .u.child = {.handle = handle, .end = l->end}};

    mortise_spawns_print_handle(handle, l->parent, l->id);
    if (!l->live->lost)
        mortise_live_feed(l->live, &in);
}

static bool is_child_recoverable(const struct mortise_head_copy *head)
{
    return mortise_live_is_recoverable(head->status, head->reason);
}

static void child_load_done(struct mortise_order *o,
                            const struct mortise_err *err)
{
    struct look *l = MORTISE_CONTAINER_OF(o, struct look, order);

    (void)err; /* the parent waits even if the child cannot continue */
    if (!mortise_live_is_in_memory(l->m, l->tenant, l->child))
        release_waiting_call(l);
    free_child_look(l);
}

static void awaited_handle_read(struct mortise_read *r, int rv,
                                const struct mortise_err *err)
{
    struct look *l = MORTISE_CONTAINER_OF(r, struct look, read);

    (void)err;
    if (rv == MORTISE_OK && l->over && !l->starved) {
        feed_child_end(l);
    } else if (rv == MORTISE_OK && l->native && !l->over &&
               !mortise_live_is_in_memory(l->m, l->tenant, l->child)) {
        l->order = (struct mortise_order){.wants = is_child_recoverable,
                                          .done = child_load_done};
        mortise_live_recover(l->m, l->tenant, l->child, &l->order);
        return;
    } else if (rv == MORTISE_ENOMEM || l->starved) {
        mortise_news_schedule_retry(l->m);
    } else if (rv != MORTISE_OK || !l->native) {
        release_waiting_call(l);
    }
    free_child_look(l);
}

/* Collect the looks first: feeding the run changes the list of awaited
 * children. */
struct looking {
    struct mortise_live *live;
    struct look *first;
};

static void add_awaited_look(void *ud, const char *handle)
{
    struct looking *all = ud;
    struct mortise_live *live = all->live;
    struct look *l = new_child_look(live->m, live->tenant, live->id);

    if (l != NULL && mortise_spawns_parse_handle(handle, l->parent, l->id)) {
        l->live = live;
        live->pending++;
        l->next = all->first;
        all->first = l;
    } else if (l != NULL) {
        free_child_look(l);
    }
}

static void look_at_awaited(struct mortise_live *live)
{
    struct looking all = {.live = live};
    struct look *l;

    if (live->lost)
        return;
    mortise_run_for_each_awaited(live->run, add_awaited_look, &all);
    while ((l = all.first) != NULL) {
        all.first = l->next;
        read_for_look(l, MORTISE_READ_SPAWN, l->parent, copy_handle_record,
                      awaited_handle_read);
    }
}

/* A run in which a call may wait for a child, and that is not stopped.  If it
 * is paused by a budget or an interrupt, it waits for people only at that
 * place. */
static bool may_wait_for_child(const struct mortise_head_copy *head)
{
    if (head->status == MORTISE_RUN_PAUSED)
        return strcmp(head->reason, "budget") == 0 ||
               strcmp(head->reason, "interrupt") == 0;
    return head->status == MORTISE_RUN_WAITING ||
           head->status == MORTISE_RUN_IN_DOUBT;
}

static void parent_load_done(struct mortise_order *o,
                             const struct mortise_err *err)
{
    struct look *l = MORTISE_CONTAINER_OF(o, struct look, order);

    if (err->code != MORTISE_OK)
        mortise_log(l->m, MORTISE_LOG_WARN,
                    "run %s: one of its children ended, but its result was not "
                    "recorded: %s",
                    l->run, err->msg);
    free_child_look(l);
}

static void look_at_parent(struct mortise *m, const char *tenant,
                           const char *parent)
{
    struct mortise_live *live = mortise_live_find(m, tenant, parent);
    struct look *l;

    if (live != NULL) {
        look_at_awaited(live);
        return;
    }
    /* a run that is being loaded looks later */
    if (mortise_live_is_loaded_or_loading(m, tenant, parent) ||
        mortise_engine_check_ready(m, NULL) != MORTISE_OK)
        return;
    l = new_child_look(m, tenant, parent);
    if (l == NULL)
        return;
    l->order = (struct mortise_order){.wants = may_wait_for_child,
                                      .done = parent_load_done};
    mortise_live_recover(m, l->tenant, l->run, &l->order);
}

/* ---- ended parents (3) (4) ----------------------------------------------- */

static void child_cancel_done(struct mortise_order *o,
                              const struct mortise_err *err)
{
    struct look *l = MORTISE_CONTAINER_OF(o, struct look, order);

    /* ESTATE: the child has ended meanwhile. */
    if (err->code != MORTISE_OK && err->code != MORTISE_ESTATE)
        mortise_log(l->m, MORTISE_LOG_WARN,
                    "run %s was not cancelled with its parent: %s", l->run,
                    err->msg);
    free_child_look(l);
}

static const char parent_ended[] = "its parent has ended",
                  maker_left[] = "the node that started it was stopped";

/* Takes the look, whose `run` is the child. */
static void cancel_child(struct look *l, const char *reason)
{
    l->command = (struct mortise_run_command){.kind = MORTISE_CMD_CANCEL,
                                              .reason = reason};
    l->order = (struct mortise_order){.list = &l->command,
                                      .n = 1,
                                      .actor = l->m->actor,
                                      .done = child_cancel_done};
    mortise_live_send_order(l->m, l->tenant, l->run, &l->order);
}

/* Collect all children first, then cancel them. */
enum which {
    OF_ENDED, /* the run has ended: all its children */
    OF_LEFT,  /* the run continues: the children of executions that it gave
                 up */
    /* The same after a crash: also the children of children that ended before
     * it. */
    OF_LEFT_DEEP,
    OF_ENDED_DEEP
};

struct ending {
    struct look look; /* its `live`, if any, stays in memory until the end */
    struct look *first;
    enum which which;
};

static bool covers_ended_children(enum which which)
{
    return which == OF_LEFT_DEEP || which == OF_ENDED_DEEP;
}

static bool covers_ended_run(enum which which)
{
    return which == OF_ENDED || which == OF_ENDED_DEEP;
}

static bool is_execution_left(const struct mortise_live *live,
                              const char *execution)
{
    return !live->lost &&
           mortise_run_has_abandoned(live->run, execution, live->written);
}

static void keep_live_for_look(struct look *l, struct mortise_live *live)
{
    l->live = live;
    live->pending++;
}

static int add_linked_child(void *ud, const char *tenant, const char *parent,
                            const char *id, const struct mortise_spawn *s)
{
    struct look *by = ud;
    struct ending *e = MORTISE_CONTAINER_OF(by, struct ending, look);
    struct look *l;

    (void)tenant;
    (void)parent;
    (void)id;
    if ((mortise_spawn_has_ended(s) && !covers_ended_children(e->which)) ||
        !s->native || s->detached || s->state == MORTISE_SPAWN_PENDING ||
        strlen(s->child) > MORTISE_NAME_MAX ||
        (!covers_ended_run(e->which) &&
         !is_execution_left(by->live, s->execution)))
        return 0;
    l = new_child_look(by->m, by->tenant, s->child);
    if (l == NULL)
        return 0;
    l->over = mortise_spawn_has_ended(s);
    if (by->live != NULL)
        keep_live_for_look(l, by->live); /* until the child is cancelled */
    l->next = e->first;
    e->first = l;
    return 0;
}

static void cancel_linked(struct mortise *m, const char *tenant,
                          const char *run, struct mortise_live *live,
                          enum which which);

static void linked_children_read(struct mortise_read *r, int rv,
                                 const struct mortise_err *err)
{
    struct look *by = MORTISE_CONTAINER_OF(r, struct look, read);
    struct ending *e = MORTISE_CONTAINER_OF(by, struct ending, look);
    struct mortise *m = by->m;
    struct look *l;

    if (rv != MORTISE_OK)
        mortise_log(m, MORTISE_LOG_WARN,
                    "run %s leaves its children running, because they could "
                    "not be listed: %s",
                    by->run, err->msg);
    while ((l = e->first) != NULL) {
        e->first = l->next;
        if (rv != MORTISE_OK ||
            mortise_engine_check_ready(m, NULL) != MORTISE_OK) {
            free_child_look(l); /* when the child is loaded, it looks itself */
        } else if (l->over) {
            cancel_linked(m, l->tenant, l->run, l->live, OF_ENDED_DEEP);
            free_child_look(l);
        } else {
            cancel_child(l, covers_ended_run(e->which) ? parent_ended
                                                       : maker_left);
        }
    }
    if (by->live != NULL) {
        by->live->pending--;
        mortise_live_queue_check(by->live);
    }
    mortise_release(m->mem, e, sizeof *e);
}

static void cancel_linked(struct mortise *m, const char *tenant,
                          const char *run, struct mortise_live *live,
                          enum which which)
{
    struct ending *e = mortise_zalloc(m->mem, sizeof *e);

    if (e == NULL) {
        mortise_news_schedule_retry(m);
        return;
    }
    e->which = which;
    e->look.m = m;
    strcpy(e->look.tenant, tenant);
    strcpy(e->look.run, run);
    if (live != NULL)
        keep_live_for_look(&e->look, live);
    read_for_look(&e->look, MORTISE_READ_SPAWNS, e->look.run, add_linked_child,
                  linked_children_read);
}

static void cancel_left_children(struct mortise_live *live, enum which which)
{
    if (!live->lost)
        cancel_linked(live->m, live->tenant, live->id, live, which);
}

static void own_handle_read(struct mortise_read *r, int rv,
                            const struct mortise_err *err)
{
    struct look *l = MORTISE_CONTAINER_OF(r, struct look, read);

    (void)err;
    if (rv == MORTISE_OK)
        look_at_parent(l->m, l->tenant, l->parent);
    free_child_look(l);
}

static void handle_run_end(struct mortise *m, const char *tenant,
                           const char *run)
{
    struct look *l = new_child_look(m, tenant, run);

    cancel_linked(m, tenant, run, NULL, OF_ENDED);
    if (l != NULL)
        read_for_look(l, MORTISE_READ_SPAWN_OF, l->run, copy_handle_record,
                      own_handle_read);
}

/* ---- load and leave ------------------------------------------------------ */

/* The look at a child is over; `reason` to cancel it, or NULL. */
static void end_parent_look(struct look *l, const char *reason)
{
    mortise_stored_finish(&l->stored);
    if (reason != NULL && mortise_engine_check_ready(l->m, NULL) == MORTISE_OK)
        cancel_child(l, reason);
    else
        free_child_look(l);
}

static void parent_replayed(struct mortise_stored_read *s, int rv,
                            const struct mortise_err *err)
{
    struct look *l = MORTISE_CONTAINER_OF(s, struct look, stored);

    (void)err;
    if (rv == MORTISE_ENOMEM)
        mortise_news_schedule_retry(l->m);
    end_parent_look(l, rv == MORTISE_OK && mortise_run_has_abandoned(
                                               s->run, l->execution, UINT64_MAX)
                           ? maker_left
                           : NULL);
}

static void parent_head_read(struct mortise_stored_read *s, int rv,
                             const struct mortise_err *err)
{
    struct look *l = MORTISE_CONTAINER_OF(s, struct look, stored);
    const struct mortise_live *parent;

    (void)err;
    if (rv == MORTISE_ENOTFOUND ||
        (rv == MORTISE_OK && mortise_run_has_ended(s->head.status))) {
        end_parent_look(l, parent_ended);
        return;
    }
    parent = mortise_live_find(l->m, l->tenant, l->parent);
    if (parent != NULL)
        end_parent_look(l, is_execution_left(parent, l->execution) ? maker_left
                                                                   : NULL);
    else if (rv == MORTISE_OK)
        mortise_stored_read_run(s, parent_replayed);
    else
        end_parent_look(l, NULL);
}

static void child_handle_read(struct mortise_read *r, int rv,
                              const struct mortise_err *err)
{
    struct look *l = MORTISE_CONTAINER_OF(r, struct look, read);

    (void)err;
    if (rv == MORTISE_OK && !l->over && l->native && !l->detached &&
        strlen(l->child) <= MORTISE_NAME_MAX) {
        strcpy(l->run, l->child);
        mortise_stored_read_head(l->m, &l->stored, l->tenant, l->parent,
                                 parent_head_read);
    } else {
        free_child_look(l);
    }
}

/* The child of that handle checks whether its parent has ended or has given it
 * up. */
static void check_parent_of(struct mortise *m, const char *tenant,
                            const char *handle)
{
    struct look *l = new_child_look(m, tenant, "");

    if (l != NULL && mortise_spawns_parse_handle(handle, l->parent, l->id))
        read_for_look(l, MORTISE_READ_SPAWN, l->parent, copy_handle_record,
                      child_handle_read);
    else if (l != NULL)
        free_child_look(l);
}

static void handle_run_loaded(struct mortise_live *live)
{
    const char *by =
        live->lost ? NULL : mortise_run_get_spawn_handle(live->run);

    if (by != NULL)
        check_parent_of(live->m, live->tenant, by);
    if (!live->lost && mortise_run_has_children(live->run))
        cancel_left_children(live, OF_LEFT_DEEP);
    look_at_awaited(live);
}

static void handle_child_idle(struct mortise *m, const char *tenant,
                              const char *handle)
{
    char parent[MORTISE_NAME_MAX + 1], id[MORTISE_SPAWN_ID];
    struct mortise_live *waits;

    if (!mortise_spawns_parse_handle(handle, parent, id))
        return;
    waits = mortise_live_find(m, tenant, parent);
    if (waits == NULL)
        return;
    if (!waits->lost)
        mortise_host_call_release(waits, handle);
    mortise_live_queue_check(
        waits); /* it may have stayed in memory only for that
                                  child */
}

/* ---- news ---------------------------------------------------------------- */

static void handle_news(struct mortise *m, const struct mortise_news *n)
{
    switch (n->kind) {
    case MORTISE_NEWS_LOADED:
        handle_run_loaded(n->live);
        break;
    case MORTISE_NEWS_AWAITS:
        look_at_awaited(n->live);
        break;
    case MORTISE_NEWS_SETTLED:
        look_at_parent(m, n->tenant, n->name);
        break;
    case MORTISE_NEWS_ENDED:
        handle_run_end(m, n->tenant, n->name);
        break;
    case MORTISE_NEWS_LEFT:
        cancel_left_children(n->live, OF_LEFT);
        break;
    case MORTISE_NEWS_BEGAN:
        check_parent_of(m, n->tenant, n->name);
        break;
    case MORTISE_NEWS_STOPPED:
        handle_child_idle(m, n->tenant, n->name);
        break;
    }
    if (n->live != NULL) {
        n->live->pending--;
        mortise_live_queue_check(n->live);
    }
}

static void handle_all_news(struct mortise_task *t)
{
    struct mortise *m = MORTISE_CONTAINER_OF(t, struct mortise, news_task);
    struct mortise_news *n;

    m->news_queued = false;
    while ((n = mortise_news_take(m)) != NULL) {
        handle_news(m, n);
        mortise_news_free(m, n);
    }
}

/* (5) */
static void queue_loaded_news(struct mortise_timer *t)
{
    struct mortise *m = MORTISE_CONTAINER_OF(t, struct mortise, news_again);
    struct mortise_table_entry *e;

    for (e = mortise_table_first(&m->lives); e != NULL;
         e = mortise_table_next(&m->lives, e))
        if (!MORTISE_CONTAINER_OF(e, struct mortise_live, entry)->lost)
            mortise_news_add_for_run(
                MORTISE_CONTAINER_OF(e, struct mortise_live, entry),
                MORTISE_NEWS_LOADED);
}

void mortise_children_open(struct mortise *m)
{
    m->news_again.fire = queue_loaded_news;
    m->news_task.run = handle_all_news;
}
