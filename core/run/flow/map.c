/* map.c -- maps: a frame for each element, and what they come to.
 *
 * When the source of a map edge has succeeded, a `fan` entry keeps the list
 * that `over` gave, ahead of the `done` which takes the edge.  A `lists` entry
 * keeps those of the map edges out of START, ahead of what takes them.  Each element has
 * a frame of the map's region, with a naming scope of its own (`work#1[3]`), in
 * index order, at most max_parallel at a time.
 *
 *   (1) Elements share the source's state: each sees that, and what it wrote
 *       itself.
 *   (2) When all are over, an execution of the map's own gathers: it comes
 *       after all of them, writes artifacts.TO = {results, failed}, and takes
 *       the edge to the join.  It is no step and nobody's call: it needs no
 *       slot, and happens in the commit in which the last element ended.
 *   (3) An element's result is the output of what took an edge to the join: of
 *       several, an object by node id; of none, null.
 *   (4) Where a failed branch keeps the join from starting (join.c (1)), a map
 *       of which an element failed does not gather: its edge to the join fails.
 *       The other elements come to their end all the same, and a resume tries
 *       again what failed and nothing else, at most max_parallel at a time.
 *       Every other map gathers, whatever became of its elements.  Its edge is
 *       taken, unless they did nothing but fail and nobody lists that: then it
 *       fails.
 *   (5) Where the join is a race, each element that took an edge to it counts
 *       there.  Once enough did, the map gathers what those came to; elements
 *       that are not over have lost, and the map is over when they are.
 */
#include <assert.h>
#include <string.h>

#include "core/run/flow/flow.h"

/* ---- lists -------------------------------------------------------------- */

int mortise_map_keep(struct mortise_run *r, const struct exec *x, uint32_t edge,
                     json_t *value, struct mortise_err *err)
{
    const json_t *most;
    json_t *list;
    const struct mortise_region *child;
    struct frame *home = mortise_frame_home(x->frame, edge);
    struct item *it =
        mortise_item_to(home, home->graph->edges[edge].to, &child);
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
    assert(child != NULL && child->map_edge == edge); /* apply.c looked */
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

void mortise_map_finish(struct mortise_run *r)
{
    for (struct fan *fan = r->fans; fan != NULL; fan = fan->next)
        json_decref(fan->list);
}

/* ---- elements ----------------------------------------------------------- */

/* The newest frame that an element of this index had before. */
static const struct frame *older_element(const struct fan *fan, size_t i)
{
    for (fan = fan->older; fan != NULL; fan = fan->older) {
        if (i < fan->n_begun)
            return fan->elements[i];
    }
    return NULL;
}

static struct scope *element_scope(struct mortise_run *r, struct fan *fan,
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
    assert(s->n_at < MORTISE_MAX_MAPS); /* graph/ nests no deeper */
    s->at[s->n_at++] = (uint32_t)i;
    return s->suffix != NULL ? s : NULL;
}

static int begin_element(struct mortise_run *r, struct fan *fan,
                         struct mortise_err *err)
{
    size_t i = fan->n_begun;
    struct scope *scope = element_scope(r, fan, i);
    struct frame *f;

    assert(i < fan->n && fan->item->fan == fan);
    if (scope == NULL)
        return mortise_nomem(err);
    f = mortise_frame_new(r, fan->home, scope, fan->map, older_element(fan, i),
                          err);
    if (f == NULL)
        return MORTISE_ENOMEM;
    scope->root = f;
    f->late = fan->enough; /* losers: finish */
    f->discard = f->late ? fan->home->index + 1
                         : mortise_race_discard(fan->home, fan->item);
    fan->elements[fan->n_begun++] = f;
    return mortise_frame_enter(r, f, fan->map->entry, &fan->preds, fan->made,
                               err);
}

/* Did it, or what it is in, lose a race? */
static bool is_lost(const struct fan *fan)
{
    return fan->lost || fan->home->lost;
}

static const struct mortise_node *join_of(const struct fan *fan)
{
    return &fan->home->graph->nodes[fan->map->join];
}

/* So many elements are still to be tried again, or to begin. */
static size_t n_due(const struct fan *fan)
{
    if (is_lost(fan) || (fan->enough && !join_of(fan)->join.finish))
        return 0;
    return fan->n_waiting +
           (mortise_race_at_end(fan->home) ? 0 : fan->n - fan->n_begun);
}

bool mortise_map_is_over(const struct fan *fan)
{
    return fan->n_over == fan->n_begun && n_due(fan) == 0;
}

/* The first that waits goes on. */
static int return_element(struct mortise_run *r, struct fan *fan,
                          struct mortise_err *err)
{
    size_t i = 0;

    assert(fan->n_waiting > 0 && fan->n_failed > 0 && fan->n_over > 0);
    while (!fan->elements[i]->waits)
        i++;
    assert(i < fan->n_begun && fan->elements[i]->over);
    fan->elements[i]->waits = fan->elements[i]->over = false;
    fan->n_waiting--;
    fan->n_failed--; /* which is why it waited */
    fan->n_over--;
    return mortise_frame_reopen(r, fan->elements[i], err);
}

/* Those that were begun come before those that were not. */
static int begin_some(struct mortise_run *r, struct fan *fan,
                      struct mortise_err *err)
{
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && n_due(fan) > 0 &&
           fan->n_begun - fan->n_over < fan->max_parallel)
        rv = fan->n_waiting > 0 ? return_element(r, fan, err)
                                : begin_element(r, fan, err);
    return rv;
}

void mortise_map_wait(struct frame *f)
{
    assert(f->over && f->failed); /* what did not fail is not tried again */
    f->scope->fan->n_waiting += !f->waits;
    f->waits = true;
}

int mortise_map_go_on(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (struct fan *fan = r->fans; rv == MORTISE_OK && fan != NULL;
         fan = fan->next) {
        if (fan->n_waiting > 0 && fan->item->fan == fan &&
            fan->item->phase == ITEM_ACTIVE &&
            mortise_frame_is_alive(fan->home))
            rv = begin_some(r, fan, err);
    }
    return rv;
}

/* ---- when all are over -------------------------------------------------- */

/* The least execution behind a failed element; 0: none failed. */
static uint32_t cause_of(const struct mortise_run *r, const struct fan *fan)
{
    uint32_t cause = 0;

    for (size_t i = 0; i < fan->n_begun; i++)
        if (fan->elements[i]->failed)
            cause = mortise_exec_least(r, cause, fan->elements[i]->cause);
    return cause;
}

static int gather_later(struct mortise_run *r, struct fan *fan,
                        struct mortise_err *err)
{
    struct indexes preds = {.n = 0};
    struct frame **who =
        mortise_alloc(r->mem, fan->n_begun * sizeof who[0] + 1);
    struct exec *x = NULL;
    size_t n_who = 0;
    int rv;

    if (who == NULL)
        return mortise_nomem(err);
    for (size_t i = 0; i < fan->n_begun; i++)
        if (!fan->elements[i]->late)
            who[n_who++] = fan->elements[i];
    rv = mortise_view_frontier_of(r, who, n_who, fan->made, &preds, err);
    mortise_release(r->mem, who, fan->n_begun * sizeof who[0] + 1);
    if (rv == MORTISE_OK)
        x = mortise_exec_new(r, fan->home, fan->map->entry, fan->number,
                             preds.n > 0 ? &preds : &fan->preds, err);
    mortise_indexes_finish(r->mem, &preds);
    if (x == NULL)
        return MORTISE_ENOMEM;
    assert(fan->gather == NULL || mortise_exec_is_over(fan->gather));
    x->fan = fan;
    mortise_exec_is_no_step(x);
    mortise_race_enter(x, fan->home, fan->item);
    fan->gather = x;
    return mortise_exec_ready(r, x, err);
}

/* ---- a race among elements (5) ------------------------------------------ */

/* Does the join count its elements?  Not where the way to it leads back. */
static bool is_counted(const struct fan *fan)
{
    return !mortise_frame_edge(fan->home, fan->map->gather)->back &&
           mortise_join_is_race(&join_of(fan)->join);
}

/* Did an element fail, and is nothing gathered then? */
static bool has_failed(const struct fan *fan)
{
    return mortise_join_fails_by(join_of(fan), fan->n_failed);
}

/* What stands for the join in *f, the frame that it is in. */
static const struct item *join_item(const struct fan *fan, struct frame **f)
{
    const struct mortise_region *child;

    *f = mortise_frame_home(fan->home, fan->map->gather);
    return mortise_item_to(*f, fan->map->join, &child);
}

static int win(struct mortise_run *r, struct fan *fan, struct mortise_err *err)
{
    bool finish = join_of(fan)->join.finish;
    int rv = MORTISE_OK;

    assert(!fan->enough && fan->n_came > 0);
    fan->enough = true;
    for (size_t i = 0; rv == MORTISE_OK && i < fan->n_begun; i++) {
        if (fan->elements[i]->over)
            continue;
        fan->elements[i]->late = true;
        rv = mortise_race_beaten(r, fan->elements[i], fan->home, finish, err);
    }
    return rv == MORTISE_OK ? gather_later(r, fan, err) : rv;
}

/* So many elements of a map (NULL: of none) came to its join. */
static size_t came_of(const struct fan *fan)
{
    return fan == NULL || has_failed(fan) || is_lost(fan) ? 0 : fan->n_came;
}

/* Enough came, and some of them may be of this map. */
static int win_some(struct mortise_run *r, struct fan *fan,
                    struct mortise_err *err)
{
    return came_of(fan) > 0 && !fan->enough && !mortise_map_is_over(fan)
               ? win(r, fan, err)
               : MORTISE_OK;
}

int mortise_map_look(struct mortise_run *r, struct frame *f, uint32_t node,
                     const struct item *it, struct fan *own,
                     struct mortise_err *err)
{
    const struct mortise_node *n = &f->graph->nodes[node];
    uint32_t n_maps =
        mortise_join_is_race(&n->join) ? mortise_join_n_maps(f, n) : 0;
    /* A map in a loop whose join is outside is not found from there. */
    bool apart = own != NULL && own->home != f;
    size_t came = it->n_taken + (apart ? came_of(own) : 0);
    int rv = MORTISE_OK;

    for (uint32_t k = 0; k < n_maps; k++)
        came += came_of(mortise_join_map(f, n, k));
    if (n_maps == 0 || came < mortise_join_need(n) ||
        !mortise_join_may_start(f, n, it))
        return MORTISE_OK;
    for (uint32_t k = 0; rv == MORTISE_OK && k < n_maps; k++)
        rv = win_some(r, mortise_join_map(f, n, k), err);
    return rv == MORTISE_OK && apart ? win_some(r, own, err) : rv;
}

/* One more took an edge to the join. */
static int count_one(struct mortise_run *r, struct fan *fan,
                     struct mortise_err *err)
{
    struct frame *f;
    const struct item *it = join_item(fan, &f);

    fan->n_came++;
    return is_counted(fan) && it->phase == ITEM_WAITS
               ? mortise_map_look(r, f, fan->map->join, it, fan, err)
               : MORTISE_OK;
}

enum edge_state mortise_map_outcome(const struct mortise_run *r,
                                    const struct fan *fan, uint32_t *cause)
{
    bool lists = mortise_join_lists(join_of(fan));

    if (fan->n_came > 0 || (!is_counted(fan) && (lists || fan->n_failed == 0)))
        return EDGE_TAKEN;
    if (fan->n_failed == 0)
        return EDGE_DEAD;
    *cause = cause_of(r, fan);
    return EDGE_FAILED;
}

/* ---- the end of a map ---------------------------------------------------- */

static int end_map(struct mortise_run *r, struct fan *fan,
                   enum edge_state state, uint32_t src, struct mortise_err *err)
{
    int rv = mortise_frame_map_decided(r, fan, state, src, err);

    return rv == MORTISE_OK
               ? mortise_frame_map_over(r, fan, state == EDGE_FAILED, err)
               : rv;
}

/* The last element is over of one that has gathered, or is about to. */
static int end_won(struct mortise_run *r, struct fan *fan,
                   struct mortise_err *err)
{
    return mortise_exec_is_over(fan->gather)
               ? mortise_frame_map_over(r, fan, fan->gather->state == X_FAILED,
                                        err)
               : MORTISE_OK;
}

static int map_over(struct mortise_run *r, struct fan *fan,
                    struct mortise_err *err)
{
    assert(mortise_map_is_over(fan));
    if (fan->enough)
        return end_won(r, fan, err);
    if (is_lost(fan))
        return end_map(r, fan, EDGE_DEAD, 0, err);
    if (has_failed(fan))
        return end_map(r, fan, EDGE_FAILED, cause_of(r, fan), err);
    if (mortise_race_at_end(fan->home)) /* not all of it began */
        return end_map(r, fan, EDGE_DEAD, 0, err);
    return gather_later(r, fan, err);
}

int mortise_map_begin(struct mortise_run *r, struct item *it,
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
        mortise_view_share(r->execs[preds->list[i]]); /* (1) */
    }
    rv = begin_some(r, fan, err);
    return rv == MORTISE_OK && fan->n == 0 ? map_over(r, fan, err) : rv;
}

int mortise_map_element_over(struct mortise_run *r, struct frame *f,
                             struct mortise_err *err)
{
    struct fan *fan = f->scope->fan;
    int rv = MORTISE_OK;

    assert(!f->over && !f->waits);
    f->over = true;
    fan->n_over++;
    fan->n_failed += f->failed;
    assert(fan->n_failed <= fan->n_over && fan->n_over <= fan->n_begun);
    if (!f->failed && f->yields != NULL && !f->late)
        rv = count_one(r, fan, err);
    if (rv == MORTISE_OK)
        rv = begin_some(r, fan, err);
    return rv == MORTISE_OK && mortise_map_is_over(fan) ? map_over(r, fan, err)
                                                        : rv;
}
