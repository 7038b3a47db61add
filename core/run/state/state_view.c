/* state_view.c -- causal pasts, and views of the state by folding.
 *
 * graph.md 7: an execution sees the fold of every commit in its causal past,
 * each once, over the start state, in the least topological order by declared
 * position.  Folding the whole past at each step would make a chain quadratic.
 * Three facts make it cheap:
 *
 *   (1) Each execution knows its immediate dominator D: the last execution on
 *       every path from START to it (computed as in Cooper, Harvey and Kennedy,
 *       "A Simple, Fast Dominance Algorithm"; one pass is enough because
 *       executions are created in topological order).
 *   (2) Every commit in x's past is in D's past, is D, or comes after D.  So
 *       any topological order that takes the least available first takes D's
 *       past and D before the rest: view(x) = fold(rest, after(D)).
 *   (3) If D is the only predecessor, the rest is empty: view(x) = after(D).
 *       In a chain no other execution needs after(D).  So x takes it over and
 *       changes it in place, and a step costs only its own writes.
 *
 * The rest between D and x is found by walking preds back from x to D; a join
 * costs only the executions between the fork and itself.
 *
 * Branches out of one fork share its `after`, and the join behind them starts
 * from there.  The `after` of a branch's last execution may never be needed.
 * So if its writes are certain to succeed, it is computed on demand; otherwise
 * each of a thousand branches would copy the parts of the state that it writes.
 *
 * An `after` that was taken over is computed again, from START if necessary, in
 * the rare case that it is needed again (a goto, an update).  Writes are kept
 * for that.  So every state is a function of the writes and does not depend on
 * the order in which they arrived.
 *
 * Two writes to overlapping paths conflict when neither execution is in the
 * other's past and one of them has no declared reducer.
 *
 * The own writes of a map element (writes.c) are visible only in that element.
 * So x's state may be built from D's only if both see the same of everything
 * before D:
 *
 *   (4) D is in no element that x is not in; and for each element that x is in
 *       and D is not, D was created before the map began.  A dominator that
 *       does not meet this is skipped in favour of its own dominator; START
 *       always meets it.  (An update does not: it follows all writes of the
 *       elements, and sees none of their own.)
 *   (5) An element's own writes are folded after the others.  The result is the
 *       same: no other execution writes these paths, except an update, which
 *       changes the run's values and leaves the element's.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/run/state/state.h"

/* Up to this number, all pairs of writes are compared. */
enum { FEW_WRITES = 8 };

/* The last common dominator. */
static uint32_t find_common_dominator(const struct mortise_run *r, uint32_t a,
                                      uint32_t b)
{
    assert(a < r->n_execs && b < r->n_execs);
    while (a != b) {
        const struct exec *x = r->execs[a], *y = r->execs[b];

        if (x->depth >= y->depth)
            a = x->idom;
        if (y->depth >= x->depth)
            b = y->idom;
    }
    return a;
}

static uint32_t find_dominator_of_all(const struct mortise_run *r,
                                      const uint32_t *list, size_t n)
{
    uint32_t dom = list[0];

    assert(dom < r->n_execs);
    for (size_t i = 1; i < n; i++) {
        assert(list[i] < r->n_execs);
        dom = find_common_dominator(r, dom, list[i]);
    }
    return dom;
}

/* (4): can the state seen from scope `from` be built from that of d? */
static bool has_same_view_before(const struct exec *d, const struct scope *from)
{
    const struct fan *inside = NULL; /* the outermost map that d is not in */

    for (; from != NULL && from != d->frame->scope; from = from->outer)
        inside = from->fan;
    return from != NULL && (inside == NULL || d->index < inside->made);
}

static uint32_t find_usable_dominator(const struct mortise_run *r,
                                      const struct scope *from,
                                      const uint32_t *list, size_t n)
{
    uint32_t dom = find_dominator_of_all(r, list, n);

    while (r->execs[dom]->n_preds > 0 &&
           !has_same_view_before(r->execs[dom], from))
        dom = r->execs[dom]->idom;
    return dom;
}

int mortise_view_set_preds(struct mortise_run *r, struct exec *x,
                           const uint32_t *preds, size_t n,
                           struct mortise_err *err)
{
    /* Everything but START has a predecessor. */
    assert(n > 0 || x->node == MORTISE_START);
    x->idom = x->index;
    if (n == 0)
        return MORTISE_OK;
    mortise_json_clear_ref(&x->view);
    x->preds = mortise_arena_alloc(&r->arena, n * sizeof preds[0]);
    if (x->preds == NULL)
        return mortise_nomem(err);
    memcpy(x->preds, preds, n * sizeof preds[0]);
    x->n_preds = (uint32_t)n;
    x->idom = find_usable_dominator(r, x->frame->scope, preds, n);
    assert(x->idom != x->index);
    x->depth = r->execs[x->idom]->depth + 1;
    mortise_size_add_preds(r, x);
    return MORTISE_OK;
}

void mortise_view_set_shared(struct exec *x)
{
    x->shared = true;
}

void mortise_view_drop_after(struct exec *x)
{
    mortise_json_clear_ref(&x->after);
}

void mortise_view_begin_walk(struct mortise_run *r)
{
    ++r->stamp;
}

void mortise_view_set_reached(const struct mortise_run *r, struct exec *x)
{
    x->mark = r->stamp;
}

static bool has_committed(const struct exec *x)
{
    return x->state == X_DONE || x->state == X_HELD || x->was.state == X_DONE;
}

/* ---- the rest between D and x ------------------------------------------- */

/* Collect and mark everything from `preds` back to the dominator, without
 * it. */
static int collect_region(struct mortise_run *r, struct indexes *g,
                          const uint32_t *preds, uint32_t n, uint32_t dom,
                          struct mortise_err *err)
{
    int rv = MORTISE_OK;

    assert(dom < r->n_execs && g->n == 0);
    mortise_view_begin_walk(r);
    mortise_view_set_reached(r, r->execs[dom]);
    for (size_t at = 0; rv == MORTISE_OK;) {
        for (uint32_t i = 0; rv == MORTISE_OK && i < n; i++) {
            struct exec *p = r->execs[preds[i]];

            if (mortise_view_is_reached(r, p))
                continue;
            mortise_view_set_reached(r, p);
            rv = mortise_indexes_add(r->mem, g, p->index, err);
        }
        if (at == g->n)
            break;
        preds = r->execs[g->list[at]]->preds;
        n = r->execs[g->list[at++]]->n_preds;
    }
    return rv;
}

int mortise_view_mark_past(struct mortise_run *r, const struct exec *x,
                           uint32_t *mark, struct mortise_err *err)
{
    struct indexes g = {.n = 0};
    int rv = collect_region(r, &g, x->preds, x->n_preds, 0, err);

    *mark = r->stamp;
    mortise_indexes_finish(r->mem, &g);
    return rv;
}

/* An execution without a commit has no place in the order and must not delay
 * its successors: it goes first. */
static int compare_fold_order(const struct exec *a, const struct exec *b)
{
    if (has_committed(a) != has_committed(b))
        return has_committed(a) ? 1 : -1;
    return mortise_exec_compare(a, b);
}

static void swap_execs(struct exec **a, struct exec **b)
{
    struct exec *was = *a;

    *a = *b;
    *b = was;
}

static void heap_sift_up(struct exec **heap, size_t i)
{
    while (i > 0 && compare_fold_order(heap[i], heap[(i - 1) / 2]) < 0) {
        swap_execs(&heap[i], &heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
}

static struct exec *heap_pop_least(struct exec **heap, size_t *n)
{
    struct exec *least = heap[0];
    size_t i = 0;

    assert(*n > 0);
    heap[0] = heap[--*n];
    for (;;) {
        size_t c = 2 * i + 1;

        if (c < *n && c + 1 < *n &&
            compare_fold_order(heap[c + 1], heap[c]) < 0)
            c++;
        if (c >= *n || compare_fold_order(heap[i], heap[c]) <= 0)
            return least;
        swap_execs(&heap[i], &heap[c]);
        i = c;
    }
}

static int compare_newest_first(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x < *y) - (*x > *y);
}

/* Newest first.  Often the list is sorted already, so check that before
 * sorting. */
static void sort_by_index(struct indexes *g)
{
    for (size_t i = 1; i < g->n; i++) {
        if (g->list[i - 1] < g->list[i]) {
            qsort(g->list, g->n, sizeof g->list[0], compare_newest_first);
            return;
        }
    }
}

/* The position of an execution in the region, which is sorted by index; the
 * region's size if it is not in it. */
static size_t find_region_place(const struct indexes *g, uint32_t index)
{
    const uint32_t *at =
        bsearch(&index, g->list, g->n, sizeof g->list[0], compare_newest_first);

    return at != NULL ? (size_t)(at - g->list) : g->n;
}

/* Nodes and edges of a region that is being sorted. */
struct place {        /* an execution */
    uint32_t missing; /* number of predecessors that are not done */
    uint32_t first;   /* its first successor in the list of edges */
};
struct after {            /* a successor of an execution */
    uint32_t place, next; /* the next successor of the same one; 0: none */
};

/* Kahn's algorithm with a heap instead of a queue. */
static int sort_region(struct mortise_run *r, struct indexes *g,
                       struct mortise_err *err)
{
    struct mortise_arena a;
    size_t n_after = 0, n_heap = 0, n_done = 0;
    struct place *places;
    struct after *after;
    struct exec **heap;
    uint32_t *done;

    if (g->n < 2)
        return MORTISE_OK;
    sort_by_index(g);
    for (size_t i = 0; i < g->n; i++)
        n_after += r->execs[g->list[i]]->n_preds;
    mortise_arena_init(&a, r->mem);
    places = mortise_arena_alloc(&a, g->n * sizeof *places);
    after = mortise_arena_alloc(&a, (n_after + 1) * sizeof *after);
    heap = mortise_arena_alloc(&a, g->n * sizeof *heap);
    done = mortise_arena_alloc(&a, g->n * sizeof *done);
    if (places == NULL || after == NULL || heap == NULL || done == NULL) {
        mortise_arena_finish(&a);
        return mortise_nomem(err);
    }
    n_after = 0; /* entry 0 stands for "none" */
    for (size_t i = 0; i < g->n; i++) {
        struct exec *x = r->execs[g->list[i]];

        for (uint32_t k = 0; k < x->n_preds; k++) {
            size_t p = find_region_place(g, x->preds[k]);

            if (p == g->n)
                continue;
            places[i].missing++;
            after[++n_after] = (struct after){(uint32_t)i, places[p].first};
            places[p].first = (uint32_t)n_after;
        }
        if (places[i].missing == 0) {
            heap[n_heap] = x;
            heap_sift_up(heap, n_heap++);
        }
    }
    while (n_heap > 0) {
        uint32_t x = heap_pop_least(heap, &n_heap)->index;

        done[n_done++] = x;
        for (uint32_t e = places[find_region_place(g, x)].first; e != 0;
             e = after[e].next) {
            assert(places[after[e].place].missing > 0);
            if (--places[after[e].place].missing == 0) {
                heap[n_heap] = r->execs[g->list[after[e].place]];
                heap_sift_up(heap, n_heap++);
            }
        }
    }
    assert(n_done == g->n); /* causal pasts have no cycles */
    memcpy(g->list, done, g->n * sizeof done[0]);
    mortise_arena_finish(&a);
    return MORTISE_OK;
}

/* ---- conflicts ---------------------------------------------------------- */

struct claim { /* one write of a region */
    const struct mortise_write *write;
    struct exec *by;
    size_t order; /* position in the fold */
};

static int compare_path_steps(const struct mortise_path_step *a,
                              const struct mortise_path_step *b)
{
    if ((a->key == NULL) != (b->key == NULL))
        return a->key == NULL ? -1 : 1;
    if (a->key != NULL)
        return strcmp(a->key, b->key);
    return (a->index > b->index) - (a->index < b->index);
}

/* A path sorts directly before all paths that it covers. */
static int compare_claim_paths(const void *a, const void *b)
{
    const struct claim *x = a, *y = b;
    const struct mortise_path *p = x->write->path, *q = y->write->path;

    for (size_t i = 0; i < p->n && i < q->n; i++) {
        int c = compare_path_steps(&p->steps[i], &q->steps[i]);

        if (c != 0)
            return c;
    }
    if (p->n != q->n)
        return p->n < q->n ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Is `a` in the past of `b`?  Only the region between them is searched. */
static int is_exec_in_past(struct mortise_run *r, struct exec *a,
                           struct exec *b, bool *out, struct mortise_err *err)
{
    struct indexes g = {.n = 0};
    int rv;

    rv = collect_region(r, &g, b->preds, b->n_preds, b->idom, err);
    *out = rv == MORTISE_OK && mortise_view_is_reached(r, a);
    /* It may be before b's dominator, or before that one's, and so on. */
    for (struct exec *d = r->execs[b->idom];
         rv == MORTISE_OK && !*out && d->index > a->index;
         d = r->execs[d->idom]) {
        g.n = 0;
        rv = collect_region(r, &g, d->preds, d->n_preds, d->idom, err);
        *out = rv == MORTISE_OK && mortise_view_is_reached(r, a);
    }
    mortise_indexes_finish(r->mem, &g);
    return rv;
}

static int check_claim_pair(struct mortise_run *r, const struct claim *a,
                            const struct claim *b, struct mortise_err *err)
{
    bool ordered = true;
    char one[MORTISE_EXEC_PATH], two[MORTISE_EXEC_PATH];
    int rv;

    if (a->by == b->by || (a->write->reduce != MORTISE_REDUCE_DEFAULT &&
                           b->write->reduce != MORTISE_REDUCE_DEFAULT))
        return MORTISE_OK;
    rv = a->order < b->order ? is_exec_in_past(r, a->by, b->by, &ordered, err)
                             : is_exec_in_past(r, b->by, a->by, &ordered, err);
    if (rv != MORTISE_OK || ordered)
        return rv;
    mortise_exec_print_path(r, a->order < b->order ? a->by : b->by, one);
    mortise_exec_print_path(r, a->order < b->order ? b->by : a->by, two);
    return mortise_fail(err, MORTISE_ECONFLICT,
                        "%s and %s both write %s, and neither runs after the "
                        "other; declare a reducer for it (or reduce: last)",
                        one, two, b->write->path->text);
}

/* Check every claim against the claims that cover it: those with an equal path,
 * in fold order (if neighbours are ordered, the whole chain is), and those with
 * a path above it. */
static int check_claims(struct mortise_run *r, struct claim *claims, size_t n,
                        struct mortise_err *err)
{
    size_t stack[MORTISE_JSON_DEPTH + 1], depth = 0;
    int rv = MORTISE_OK;

    qsort(claims, n, sizeof claims[0], compare_claim_paths);
    for (size_t i = 0; rv == MORTISE_OK && i < n; i++) {
        const struct mortise_path *p = claims[i].write->path;

        while (depth > 0 &&
               !mortise_path_is_prefix(claims[stack[depth - 1]].write->path, p))
            depth--;
        for (size_t k = 0; rv == MORTISE_OK && k < depth; k++)
            rv = check_claim_pair(r, &claims[stack[k]], &claims[i], err);
        if (depth > 0 &&
            mortise_path_is_equal(claims[stack[depth - 1]].write->path, p))
            depth--;
        if (depth < MORTISE_JSON_DEPTH)
            stack[depth++] = i;
    }
    return rv;
}

/* Does scope `from` see this write of `by`? */
static bool is_write_visible(const struct mortise_write *w,
                             const struct exec *by, const struct scope *from)
{
    while (w->own && from != NULL && from != by->frame->scope)
        from = from->outer;
    return from != NULL;
}

static size_t put_claims(struct exec *x, const struct scope *from,
                         struct claim *claims, size_t k)
{
    for (size_t w = 0; has_committed(x) && w < x->n_writes; w++)
        if (is_write_visible(&x->writes[w], x, from)) {
            claims[k] = (struct claim){&x->writes[w], x, k};
            k++;
        }
    return k;
}

static int check_region_conflicts(struct mortise_run *r,
                                  const struct indexes *g,
                                  const struct scope *from,
                                  struct mortise_err *err)
{
    struct claim *claims;
    size_t n = 0, k = 0;
    int rv;

    for (size_t i = 0; i < g->n; i++) {
        const struct exec *x = r->execs[g->list[i]];

        n += has_committed(x) ? x->n_writes : 0;
    }
    if (g->n < 2 || n < 2)
        return MORTISE_OK;
    claims = mortise_alloc(r->mem, n * sizeof *claims);
    if (claims == NULL)
        return mortise_nomem(err);
    for (size_t i = 0; i < g->n; i++)
        k = put_claims(r->execs[g->list[i]], from, claims, k);
    assert(k <= n);
    rv = check_claims(r, claims, k, err);
    mortise_release(r->mem, claims, n * sizeof *claims);
    return rv;
}

/* ---- views -------------------------------------------------------------- */

/* Fold the writes of x: those of the run, or its element's own.  Not `strict`:
 * skip writes that their reducer cannot take. */
static int fold_writes(json_t **state, const struct exec *x, bool own,
                       bool strict, struct mortise_err *err)
{
    for (size_t i = 0; i < x->n_writes; i++) {
        int rv = x->writes[i].own == own
                     ? mortise_fold_write(state, &x->writes[i],
                                          x->frame->graph->expr_cost, err)
                     : MORTISE_OK;

        if (rv == MORTISE_ENOMEM || (rv != MORTISE_OK && strict))
            return rv;
    }
    return MORTISE_OK;
}

/* Is x in a map element that contains scope `from`? */
static bool is_in_element_around(const struct exec *x, const struct scope *from)
{
    while (from != NULL && from != x->frame->scope)
        from = from->outer;
    return from != NULL && from->fan != NULL;
}

/* In the order of g, with the elements' own writes last (5). */
static int fold_region_writes(struct mortise_run *r, const struct indexes *g,
                              const struct scope *from, bool strict,
                              json_t **state, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < g->n; i++)
        if (has_committed(r->execs[g->list[i]]))
            rv = fold_writes(state, r->execs[g->list[i]], false, strict, err);
    for (size_t i = 0; rv == MORTISE_OK && i < g->n && from->fan != NULL; i++) {
        const struct exec *x = r->execs[g->list[i]];

        if (has_committed(x) && is_in_element_around(x, from))
            rv = fold_writes(state, x, true, strict, err);
    }
    return rv;
}

/* Fold the commits between `dom` and a join of `preds` into `*state`, as scope
 * `from` sees them. */
static int fold_region(struct mortise_run *r, const struct scope *from,
                       const uint32_t *preds, uint32_t n, uint32_t dom,
                       bool strict, json_t **state, struct mortise_err *err)
{
    struct indexes g = {.n = 0};
    int rv;

    rv = collect_region(r, &g, preds, n, dom, err);
    if (rv == MORTISE_OK)
        rv = sort_region(r, &g, err);
    if (rv == MORTISE_OK && strict)
        rv = check_region_conflicts(r, &g, from, err);
    if (rv == MORTISE_OK)
        rv = fold_region_writes(r, &g, from, strict, state, err);
    mortise_indexes_finish(r->mem, &g);
    return rv;
}

/* The start state. */
static json_t *make_empty_state(void)
{
    json_t *state = json_object();

    if (state != NULL &&
        json_object_set_new(state, "scratch", json_object()) == 0 &&
        json_object_set_new(state, "artifacts", json_object()) == 0)
        return state;
    json_decref(state);
    return NULL;
}

/* Make view(x) from after(dominator), which exists. */
static int make_view_from_dominator(struct mortise_run *r, struct exec *x,
                                    bool strict, struct mortise_err *err)
{
    struct exec *d = r->execs[x->idom];
    bool alone = x->n_preds == 1 && x->preds[0] == d->index;
    json_t *state;
    int rv = MORTISE_OK;

    assert(d->after != NULL && x->view == NULL);
    if (alone && d->n_taken <= 1 && !d->shared) {
        state = d->after; /* (3): taken over */
        d->after = NULL;
    } else {
        state = json_incref(d->after);
    }
    if (!alone)
        rv = fold_region(r, x->frame->scope, x->preds, x->n_preds, x->idom,
                         strict, &state, err);
    if (rv != MORTISE_OK) {
        json_decref(state);
        return rv;
    }
    x->view = state;
    return MORTISE_OK;
}

/* Make after(x) from view(x), which exists.  An execution that committed does
 * not need its view any more; one that did not commit has no `after`. */
static int make_after_from_view(struct exec *x, struct mortise_err *err)
{
    json_t *state = x->view;
    int rv;

    assert(state != NULL && x->after == NULL);
    x->view = NULL;
    rv = fold_writes(&state, x, false, true, err);
    if (rv == MORTISE_OK)
        rv = fold_writes(&state, x, true, true, err);
    if (rv != MORTISE_OK) {
        json_decref(state);
        return rv;
    }
    x->after = state;
    return MORTISE_OK;
}

/* Make after(x): walk up the dominators to one that has its `after`, and down
 * again.  Not recursive, because a chain may be long. */
int mortise_view_make_after(struct mortise_run *r, struct exec *x,
                            struct mortise_err *err)
{
    struct indexes way = {.n = 0};
    int rv = MORTISE_OK;

    if (x->after == NULL && x->view != NULL)
        return make_after_from_view(x,
                                    err); /* the common case: nothing to walk */
    for (struct exec *d = x; rv == MORTISE_OK && d->after == NULL;
         d = r->execs[d->idom]) {
        rv = mortise_indexes_add(r->mem, &way, d->index, err);
        if (d->n_preds == 0 || d->view != NULL)
            break;
    }
    while (rv == MORTISE_OK && way.n > 0) {
        struct exec *d = r->execs[way.list[--way.n]];

        if (d->n_preds == 0 && d->view == NULL) {
            d->view = make_empty_state();
            rv = d->view != NULL ? MORTISE_OK : mortise_nomem(err);
        } else if (d->view == NULL) {
            /* A person's update resolves conflicts, and operands that a reducer
             * could not take. */
            rv = make_view_from_dominator(r, d, d->node != NODE_UPDATE, err);
        }
        if (rv == MORTISE_OK)
            rv = make_after_from_view(d, err);
    }
    mortise_indexes_finish(r->mem, &way);
    assert(rv != MORTISE_OK || x->after != NULL);
    return rv;
}

int mortise_view_make_before(struct mortise_run *r, struct exec *x,
                             struct mortise_err *err)
{
    int rv;

    if (x->view != NULL)
        return MORTISE_OK;
    rv = mortise_view_make_after(r, r->execs[x->idom], err);
    return rv != MORTISE_OK ? rv : make_view_from_dominator(r, x, true, err);
}

/* Do no two of these writes overlap? */
static bool are_writes_disjoint(const struct mortise_write *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (mortise_path_is_prefix(w[i].path, w[k].path) ||
                mortise_path_is_prefix(w[k].path, w[i].path))
                return false;
        }
    }
    return true;
}

bool mortise_view_can_defer(const struct exec *x)
{
    const struct mortise_path root = {NULL, 0, ""};

    if (x->view == NULL || x->n_writes > FEW_WRITES ||
        mortise_path_get_unshared(x->view, &root) != NULL)
        return false;
    for (size_t i = 0; i < x->n_writes; i++) {
        if (!mortise_fold_is_certain(x->view, &x->writes[i]))
            return false;
    }
    return are_writes_disjoint(x->writes, x->n_writes);
}

static int gather_execs(const struct mortise_run *r, const struct frame *f,
                        struct indexes *g, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (struct exec *x = f->execs; rv == MORTISE_OK && x != NULL;
         x = x->sibling)
        rv = mortise_indexes_add(r->mem, g, x->index, err);
    for (const struct frame *kid = f->kids; rv == MORTISE_OK && kid != NULL;
         kid = kid->sibling)
        rv = gather_execs(r, kid, g, err);
    return rv;
}

int mortise_view_add_frontier_in(struct mortise_run *r, const struct frame *f,
                                 struct frame *const *frames, size_t n_frames,
                                 struct indexes *preds, struct mortise_err *err)
{
    struct indexes all = {.n = 0};
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < n_frames; i++)
        rv = gather_execs(r, frames[i], &all, err);
    mortise_view_begin_walk(r);
    sort_by_index(&all);
    /* Predecessors have lower indexes: by its turn, an execution with a
     * successor is marked. */
    for (size_t i = 0; rv == MORTISE_OK && i < all.n; i++) {
        const struct exec *x = r->execs[all.list[i]];
        bool followed = mortise_view_is_reached(r, x);
        bool counts_here = has_committed(x) && mortise_exec_is_counted_in(x, f);

        if (counts_here && !followed)
            rv = mortise_indexes_add(r->mem, preds, x->index, err);
        if (!counts_here && !followed)
            continue; /* its preds are checked on their own */
        for (uint32_t m = 0; m < x->n_preds; m++)
            mortise_view_set_reached(r, r->execs[x->preds[m]]);
    }
    mortise_indexes_finish(r->mem, &all);
    return rv;
}

int mortise_view_add_frontier_of(struct mortise_run *r,
                                 struct frame *const *frames, size_t n_frames,
                                 size_t since, struct indexes *preds,
                                 struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < n_frames; i++)
        rv = mortise_view_add_frontier_in(r, frames[i], &frames[i], 1, preds,
                                          err);
    if (rv == MORTISE_OK && r->update >= since && n_frames > 0 &&
        frames[0]->top == r->frames[0])
        rv = mortise_indexes_add(r->mem, preds, r->update, err);
    return rv;
}

int mortise_view_add_frontier(struct mortise_run *r, const struct frame *f,
                              struct indexes *preds, struct mortise_err *err)
{
    struct frame *all = r->frames[f->index];

    return mortise_view_add_frontier_in(r, f, &all, 1, preds, err);
}

int mortise_view_fold_all(struct mortise_run *r, const struct frame *f,
                          bool strict, json_t **out, struct mortise_err *err)
{
    struct indexes preds = {.n = 0};
    uint32_t dom = 0;
    json_t *state = NULL;
    int rv = mortise_view_add_frontier(r, f, &preds, err);

    assert(rv != MORTISE_OK || preds.n > 0); /* START committed */
    if (rv == MORTISE_OK) {
        dom = find_usable_dominator(r, f->scope, preds.list, preds.n);
        rv = mortise_view_make_after(r, r->execs[dom], err);
    }
    if (rv == MORTISE_OK)
        state = json_incref(r->execs[dom]->after);
    if (rv == MORTISE_OK && (preds.n > 1 || preds.list[0] != dom))
        rv = fold_region(r, f->scope, preds.list, (uint32_t)preds.n, dom,
                         strict, &state, err);
    mortise_indexes_finish(r->mem, &preds);
    if (rv != MORTISE_OK)
        mortise_json_clear_ref(&state);
    *out = state;
    return rv;
}
