/* map.c -- maps: a frame for each element, and gathering their results.
 *
 * When the source of a map edge succeeds, a `fan` entry stores the list that
 * `over` gave, before the `done` that takes the edge.  A `lists` entry stores
 * the lists of map edges out of START, before the entry that takes those.  Each
 * element has a frame of the map's region, with its own naming scope
 * (`work#1[3]`).  Elements start in index order, at most max_parallel at a
 * time.
 *
 *   (1) Elements share the state of the source: each sees that and its own
 *       writes.
 *   (2) When all elements have ended, an execution of the map itself gathers:
 *       it comes after all of them, writes artifacts.TO = {results, failed},
 *       and takes the edge to the join.  It is no step and makes no call: it
 *       needs no slot, and runs in the commit in which the last element ended.
 *   (3) The result of an element is the output of the execution that took an
 *       edge to the join; of several, an object by node id; of none, null.
 *   (4) If a failed branch keeps the join from starting (join.c (1)), a map
 *       with a failed element does not gather: its edge to the join fails.  The
 *       other elements still run to their end.  A resume retries only what
 *       failed, at most max_parallel at a time.
 *       Every other map gathers, however its elements ended.  Its edge is
 *       taken, unless all elements failed and the join does not list failures:
 *       then the edge fails.
 *   (5) If the join is a race, each element that took an edge to it counts
 *       there.  Once enough did, the map gathers the results of those.  The
 *       other elements have lost, and the map ends when they have ended.
 */
#include <assert.h>
#include <string.h>

#include "core/run/flow/flow.h"

/* ---- lists -------------------------------------------------------------- */

int mortise_map_store_list(struct mortise_run *r, const struct exec *x,
                           uint32_t edge, json_t *value,
                           struct mortise_err *err)
{
    const json_t *most;
    json_t *list;
    const struct mortise_region *child;
    struct frame *home = mortise_frame_find_home(x->frame, edge);
    struct item *it =
        mortise_item_find_target(home, home->graph->edges[edge].to, &child);
    struct fan *fan = mortise_arena_alloc(&r->arena, sizeof *fan);

    most = json_object_get(value, "max_parallel");
    list = most != NULL ? json_object_get(value, "list") : value;
    if (!json_is_array(list) ||
        (most != NULL && (json_integer_value(most) < 1 ||
                          json_integer_value(most) > MORTISE_MAX_PARALLEL)))
        return mortise_fail(
            err, MORTISE_ECORRUPT,
            "the journal has no valid list for the map of node '%s'",
            home->graph->nodes[home->graph->edges[edge].to].id);
    if (fan == NULL)
        return mortise_nomem(err);
    assert(child != NULL && child->map_edge == edge); /* apply.c has checked */
    fan->map = child;
    fan->home = home;
    fan->item = it;
    fan->older = it->fan;
    fan->number = it->fan != NULL ? it->fan->number + 1 : 1;
    fan->n = json_array_size(list);
    fan->elements =
        mortise_arena_alloc(&r->arena, fan->n * sizeof fan->elements[0]);
    if (fan->elements == NULL)
        return mortise_nomem(err);
    fan->list = json_incref(list);
    fan->max_parallel =
        most != NULL ? (uint32_t)json_integer_value(most) : child->max_parallel;
    fan->next = r->fans;
    r->fans = fan;
    it->fan = fan;
    return MORTISE_OK;
}

void mortise_map_free_all(struct mortise_run *r)
{
    for (struct fan *fan = r->fans; fan != NULL; fan = fan->next)
        json_decref(fan->list);
}

/* ---- elements ----------------------------------------------------------- */

/* The previous frame of the element with this index. */
static const struct frame *get_older_element(const struct fan *fan, size_t i)
{
    for (fan = fan->older; fan != NULL; fan = fan->older) {
        if (i < fan->n_started_elements)
            return fan->elements[i];
    }
    return NULL;
}

static struct scope *make_element_scope(struct mortise_run *r, struct fan *fan,
                                        size_t i)
{
    const struct scope *outer = fan->home->scope;
    struct scope *s = mortise_arena_alloc(&r->arena, sizeof *s);
    struct mortise_buf suffix;

    if (s == NULL)
        return NULL;
    mortise_buf_init(&suffix, r->mem);
    mortise_buf_printf(&suffix, "%s[%zu]", outer->suffix, i);
    s->prefix = outer->prefix;
    s->suffix = suffix.failed
                    ? NULL
                    : mortise_arena_strndup(&r->arena, suffix.p, suffix.n);
    mortise_buf_finish(&suffix);
    s->outer = outer;
    s->fan = fan;
    memcpy(s->at, outer->at, sizeof s->at);
    s->n_at = outer->n_at;
    assert(s->n_at < MORTISE_MAX_MAPS); /* graph/ bounds the nesting */
    s->at[s->n_at++] = (uint32_t)i;
    return s->suffix != NULL ? s : NULL;
}

static int start_element(struct mortise_run *r, struct fan *fan,
                         struct mortise_err *err)
{
    size_t i = fan->n_started_elements;
    struct scope *scope = make_element_scope(r, fan, i);
    struct frame *f;

    assert(i < fan->n && fan->item->fan == fan);
    if (scope == NULL)
        return mortise_nomem(err);
    f = mortise_frame_new(r, fan->home, scope, fan->map,
                          get_older_element(fan, i), err);
    if (f == NULL)
        return MORTISE_ENOMEM;
    scope->root = f;
    f->late = fan->enough; /* losers: finish */
    f->discard = f->late ? fan->home->index + 1
                         : mortise_race_get_discard(fan->home, fan->item);
    fan->elements[fan->n_started_elements++] = f;
    return mortise_frame_start_item(r, f, fan->map->entry, &fan->preds,
                                    fan->made, err);
}

/* Did the map, or the frame around it, lose a race? */
static bool has_map_lost(const struct fan *fan)
{
    return fan->lost || fan->home->lost;
}

static const struct mortise_node *get_map_join(const struct fan *fan)
{
    return &fan->home->graph->nodes[fan->map->join];
}

/* The number of elements that are to be retried or started. */
static size_t count_due_elements(const struct fan *fan)
{
    if (has_map_lost(fan) || (fan->enough && !get_map_join(fan)->join.finish))
        return 0;
    return fan->n_waiting + (mortise_race_has_reached_end(fan->home)
                                 ? 0
                                 : fan->n - fan->n_started_elements);
}

bool mortise_map_has_ended(const struct fan *fan)
{
    return fan->n_over == fan->n_started_elements &&
           count_due_elements(fan) == 0;
}

/* Retry the first waiting element. */
static int reopen_element(struct mortise_run *r, struct fan *fan,
                          struct mortise_err *err)
{
    size_t i = 0;

    assert(fan->n_waiting > 0 && fan->n_failed > 0 && fan->n_over > 0);
    while (!fan->elements[i]->waits)
        i++;
    assert(i < fan->n_started_elements && fan->elements[i]->over);
    fan->elements[i]->waits = fan->elements[i]->over = false;
    fan->n_waiting--;
    fan->n_failed--; /* it waited because it had failed */
    fan->n_over--;
    return mortise_frame_retry_failures(r, fan->elements[i], err);
}

/* Waiting elements come before new ones. */
static int start_due_elements(struct mortise_run *r, struct fan *fan,
                              struct mortise_err *err)
{
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && count_due_elements(fan) > 0 &&
           fan->n_started_elements - fan->n_over < fan->max_parallel)
        rv = fan->n_waiting > 0 ? reopen_element(r, fan, err)
                                : start_element(r, fan, err);
    return rv;
}

void mortise_map_add_waiting(struct frame *f)
{
    assert(f->over && f->failed); /* only a failed element is retried */
    f->scope->fan->n_waiting += !f->waits;
    f->waits = true;
}

int mortise_map_continue_waiting(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (struct fan *fan = r->fans; rv == MORTISE_OK && fan != NULL;
         fan = fan->next) {
        if (fan->n_waiting > 0 && fan->item->fan == fan &&
            fan->item->phase == ITEM_ACTIVE &&
            mortise_frame_is_alive(fan->home))
            rv = start_due_elements(r, fan, err);
    }
    return rv;
}

/* ---- gathering ---------------------------------------------------------- */

/* The least execution that failed an element; 0: none. */
static uint32_t get_map_cause(const struct mortise_run *r,
                              const struct fan *fan)
{
    uint32_t cause = 0;

    for (size_t i = 0; i < fan->n_started_elements; i++)
        if (fan->elements[i]->failed)
            cause = mortise_exec_get_least(r, cause, fan->elements[i]->cause);
    return cause;
}

static int start_gather(struct mortise_run *r, struct fan *fan,
                        struct mortise_err *err)
{
    struct indexes preds = {.n = 0};
    struct frame **who =
        mortise_alloc(r->mem, fan->n_started_elements * sizeof who[0] + 1);
    struct exec *x = NULL;
    size_t n_who = 0;
    int rv;

    if (who == NULL)
        return mortise_nomem(err);
    for (size_t i = 0; i < fan->n_started_elements; i++)
        if (!fan->elements[i]->late)
            who[n_who++] = fan->elements[i];
    rv = mortise_view_add_frontier_of(r, who, n_who, fan->made, &preds, err);
    mortise_release(r->mem, who, fan->n_started_elements * sizeof who[0] + 1);
    if (rv == MORTISE_OK)
        x = mortise_exec_new(r, fan->home, fan->map->entry, fan->number,
                             preds.n > 0 ? &preds : &fan->preds, err);
    mortise_indexes_finish(r->mem, &preds);
    if (x == NULL)
        return MORTISE_ENOMEM;
    assert(fan->gather == NULL || mortise_exec_has_ended(fan->gather));
    x->fan = fan;
    mortise_exec_set_no_step(x);
    mortise_race_set_discard(x, fan->home, fan->item);
    fan->gather = x;
    return mortise_exec_make_ready(r, x, err);
}

/* ---- a race among elements (5) ------------------------------------------ */

/* Does the join count the elements?  Not if the edge to it leads back. */
static bool is_counted_by_join(const struct fan *fan)
{
    return !mortise_frame_edge(fan->home, fan->map->gather)->back &&
           mortise_join_is_race(&get_map_join(fan)->join);
}

/* Did an element fail, so that the map does not gather? */
static bool must_fail_map(const struct fan *fan)
{
    return mortise_join_is_failed_by(get_map_join(fan), fan->n_failed);
}

/* The item of the join, in *f. */
static const struct item *get_join_item(const struct fan *fan, struct frame **f)
{
    const struct mortise_region *child;

    *f = mortise_frame_find_home(fan->home, fan->map->gather);
    return mortise_item_find_target(*f, fan->map->join, &child);
}

static int win_map_race(struct mortise_run *r, struct fan *fan,
                        struct mortise_err *err)
{
    bool finish = get_map_join(fan)->join.finish;
    int rv = MORTISE_OK;

    assert(!fan->enough && fan->n_reached_join > 0);
    fan->enough = true;
    for (size_t i = 0; rv == MORTISE_OK && i < fan->n_started_elements; i++) {
        if (fan->elements[i]->over)
            continue;
        fan->elements[i]->late = true;
        rv = mortise_race_stop_element(r, fan->elements[i], fan->home, finish,
                                       err);
    }
    return rv == MORTISE_OK ? start_gather(r, fan, err) : rv;
}

/* The number of elements of a map (NULL: none) that came to the join. */
static size_t count_arrived(const struct fan *fan)
{
    return fan == NULL || must_fail_map(fan) || has_map_lost(fan)
               ? 0
               : fan->n_reached_join;
}

/* Enough came: end the race of this map if some of its elements did. */
static int win_map_if_arrived(struct mortise_run *r, struct fan *fan,
                              struct mortise_err *err)
{
    return count_arrived(fan) > 0 && !fan->enough && !mortise_map_has_ended(fan)
               ? win_map_race(r, fan, err)
               : MORTISE_OK;
}

int mortise_map_check_race(struct mortise_run *r, struct frame *f,
                           uint32_t node, const struct item *it,
                           struct fan *own, struct mortise_err *err)
{
    const struct mortise_node *n = &f->graph->nodes[node];
    uint32_t n_maps =
        mortise_join_is_race(&n->join) ? mortise_join_count_maps(f, n) : 0;
    /* A map in a loop, with its join outside, is not found from the join. */
    bool apart = own != NULL && own->home != f;
    size_t came = it->n_taken + (apart ? count_arrived(own) : 0);
    int rv = MORTISE_OK;

    for (uint32_t k = 0; k < n_maps; k++)
        came += count_arrived(mortise_join_get_map(f, n, k));
    if (n_maps == 0 || came < mortise_join_get_quorum(n) ||
        !mortise_join_can_start(f, n, it))
        return MORTISE_OK;
    for (uint32_t k = 0; rv == MORTISE_OK && k < n_maps; k++)
        rv = win_map_if_arrived(r, mortise_join_get_map(f, n, k), err);
    return rv == MORTISE_OK && apart ? win_map_if_arrived(r, own, err) : rv;
}

/* Another element took an edge to the join. */
static int count_arrival(struct mortise_run *r, struct fan *fan,
                         struct mortise_err *err)
{
    struct frame *f;
    const struct item *it = get_join_item(fan, &f);

    fan->n_reached_join++;
    return is_counted_by_join(fan) && it->phase == ITEM_WAITS
               ? mortise_map_check_race(r, f, fan->map->join, it, fan, err)
               : MORTISE_OK;
}

enum edge_state mortise_map_get_edge_state(const struct mortise_run *r,
                                           const struct fan *fan,
                                           uint32_t *cause)
{
    bool lists = mortise_join_lists_failures(get_map_join(fan));

    if (fan->n_reached_join > 0 ||
        (!is_counted_by_join(fan) && (lists || fan->n_failed == 0)))
        return EDGE_TAKEN;
    if (fan->n_failed == 0)
        return EDGE_DEAD;
    *cause = get_map_cause(r, fan);
    return EDGE_FAILED;
}

/* ---- the end of a map ---------------------------------------------------- */

static int end_map(struct mortise_run *r, struct fan *fan,
                   enum edge_state state, uint32_t src, struct mortise_err *err)
{
    int rv = mortise_frame_decide_map_edge(r, fan, state, src, err);

    return rv == MORTISE_OK
               ? mortise_frame_finish_map(r, fan, state == EDGE_FAILED, err)
               : rv;
}

/* The last element has ended after the race was won. */
static int end_won_map(struct mortise_run *r, struct fan *fan,
                       struct mortise_err *err)
{
    return mortise_exec_has_ended(fan->gather)
               ? mortise_frame_finish_map(r, fan,
                                          fan->gather->state == X_FAILED, err)
               : MORTISE_OK;
}

static int end_finished_map(struct mortise_run *r, struct fan *fan,
                            struct mortise_err *err)
{
    assert(mortise_map_has_ended(fan));
    if (fan->enough)
        return end_won_map(r, fan, err);
    if (has_map_lost(fan))
        return end_map(r, fan, EDGE_DEAD, 0, err);
    if (must_fail_map(fan))
        return end_map(r, fan, EDGE_FAILED, get_map_cause(r, fan), err);
    if (mortise_race_has_reached_end(
            fan->home)) /* some elements never started */
        return end_map(r, fan, EDGE_DEAD, 0, err);
    return start_gather(r, fan, err);
}

int mortise_map_start(struct mortise_run *r, struct item *it,
                      const struct indexes *preds, struct mortise_err *err)
{
    struct fan *fan = it->fan;
    int rv;

    if (fan == NULL || fan->preds.n > 0)
        return mortise_fail(err, MORTISE_ECORRUPT,
                            "the journal starts a map without a list");
    fan->preds.n = preds->n;
    fan->preds.list =
        mortise_arena_alloc(&r->arena, preds->n * sizeof preds->list[0]);
    if (fan->preds.list == NULL)
        return mortise_nomem(err);
    fan->made = r->n_execs;
    for (size_t i = 0; i < preds->n; i++) {
        fan->preds.list[i] = preds->list[i];
        mortise_view_set_shared(r->execs[preds->list[i]]); /* (1) */
    }
    rv = start_due_elements(r, fan, err);
    return rv == MORTISE_OK && fan->n == 0 ? end_finished_map(r, fan, err) : rv;
}

int mortise_map_finish_element(struct mortise_run *r, struct frame *f,
                               struct mortise_err *err)
{
    struct fan *fan = f->scope->fan;
    int rv = MORTISE_OK;

    assert(!f->over && !f->waits);
    f->over = true;
    fan->n_over++;
    fan->n_failed += f->failed;
    assert(fan->n_failed <= fan->n_over &&
           fan->n_over <= fan->n_started_elements);
    if (!f->failed && f->yields != NULL && !f->late)
        rv = count_arrival(r, fan, err);
    if (rv == MORTISE_OK)
        rv = start_due_elements(r, fan, err);
    return rv == MORTISE_OK && mortise_map_has_ended(fan)
               ? end_finished_map(r, fan, err)
               : rv;
}
