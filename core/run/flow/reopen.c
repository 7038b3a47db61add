/* reopen.c -- goto, and resume after failures.
 *
 * Both make decided edges undecided.  A goto abandons everything but the part
 * that the node leads to; a resume reopens the failures, and the nodes that
 * were skipped because of them.  The rest of a frame is not touched, and the
 * rules of frame.c apply from then on.
 */
#include <assert.h>
#include <string.h>

#include "core/run/flow/flow.h"

/* The item of f that an edge starts; NULL: the edge goes to END, back, or to
 * the join of a map. */
static struct item *get_started_item(const struct frame *f,
                                     const struct mortise_edge *e)
{
    const struct mortise_region *child;

    return e->to != MORTISE_END && !e->back && !e->yields
               ? mortise_item_find_target(f, e->to, &child)
               : NULL;
}

void mortise_frame_replace_sources(struct mortise_run *r, const struct exec *u)
{
    for (size_t i = 0; i < r->n_frames; i++) {
        struct frame *f = r->frames[i];
        uint32_t n = f->top == r->frames[0] ? f->region->n_edges : 0;

        for (uint32_t k = 0; k < n; k++) {
            const struct item *it =
                get_started_item(f, mortise_frame_edge(f, f->region->edges[k]));

            if (f->edges[k] == EDGE_TAKEN && it != NULL &&
                it->phase == ITEM_WAITS)
                f->edge_src[k] = u->index;
        }
    }
}

/* Open the edges `out` of f, and queue them. */
static int open_edges(struct mortise_run *r, struct frame *f,
                      const uint32_t *out, uint32_t n_out,
                      struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (uint32_t i = 0; rv == MORTISE_OK && i < n_out; i++) {
        const struct mortise_edge *e = mortise_frame_edge(f, out[i]);

        if (e->home != f->region->index)
            continue;
        f->edges[e->slot] = EDGE_OPEN;
        if (get_started_item(f, e) != NULL)
            rv = mortise_frame_queue_edge(r, f, out[i], err);
    }
    return rv;
}

static int open_item_edges(struct mortise_run *r, struct frame *f,
                           uint32_t node, const struct mortise_region *child,
                           struct mortise_err *err)
{
    const struct mortise_node *n = &f->graph->nodes[node];

    return child == NULL ? open_edges(r, f, n->out, n->n_out, err)
                         : open_edges(r, f, child->exits, child->n_exits, err);
}

static void recount_edges(struct frame *f)
{
    f->n_open = 0;
    for (size_t i = 0; i < mortise_frame_count_items(f->region); i++) {
        struct item *it = &f->items[i];

        it->n_decided = it->n_taken = it->n_failed = it->cause = 0;
        f->n_open += it->phase == ITEM_WAITS;
    }
    for (uint32_t k = 0; k < f->region->n_edges; k++) {
        struct item *it =
            get_started_item(f, mortise_frame_edge(f, f->region->edges[k]));

        if (f->edges[k] == EDGE_DEAD && it != NULL)
            it->n_decided++;
    }
}

/* Open everything that `node`'s item leads to in f, and abandon everything
 * else. */
static int reset_frame(struct mortise_run *r, struct frame *f, uint32_t node,
                       struct mortise_err *err)
{
    const struct mortise_region *child;
    struct item *it = mortise_item_find_target(f, node, &child);
    int rv;

    memset(f->edges, EDGE_DEAD, f->region->n_edges);
    for (size_t i = 0; i < mortise_frame_count_items(f->region); i++) {
        f->items[i].phase = ITEM_SKIPPED;
        f->items[i].lost = f->items[i].discard = false;
    }
    f->again = f->left = f->failed = f->failed_unhandled = false;
    f->lost = f->halted = false;
    f->discard = 0;
    it->phase = ITEM_WAITS;
    rv = open_item_edges(r, f, node, child, err);
    while (rv == MORTISE_OK && r->n_work > 0) {
        uint32_t to = mortise_frame_edge(f, r->work[--r->n_work].edge)->to;

        it = mortise_item_find_target(f, to, &child);
        if (it->phase == ITEM_WAITS)
            continue;
        it->phase = ITEM_WAITS;
        rv = open_item_edges(r, f, to, child, err);
    }
    recount_edges(f);
    assert(rv != MORTISE_OK || r->n_work == 0);
    return rv;
}

static int enter_target(struct mortise_run *r, struct frame *f, uint32_t node,
                        uint32_t visit_no, const struct indexes *preds,
                        struct exec **out, struct mortise_err *err)
{
    const struct mortise_region *child;
    struct item *it;
    int rv;

    for (;;) {
        rv = reset_frame(r, f, node, err);
        it = mortise_item_find_target(f, node, &child);
        if (rv != MORTISE_OK || child == NULL)
            break;
        f = mortise_frame_new(r, f, f->scope, child, it->visit, err);
        if (f == NULL)
            return MORTISE_ENOMEM;
        it->visit = f;
        it->phase = ITEM_ACTIVE;
    }
    if (rv != MORTISE_OK)
        return rv;
    assert(it->visits + 1 == visit_no); /* apply.c has checked this */
    *out = mortise_exec_new(r, f, node, visit_no, preds, err);
    if (*out == NULL)
        return MORTISE_ENOMEM;
    it->visits = visit_no;
    it->exec = (*out)->index;
    it->phase = ITEM_ACTIVE;
    return MORTISE_OK;
}

int mortise_frame_goto(struct mortise_run *r, struct frame *f, uint32_t node,
                       uint32_t visit, struct exec **out,
                       struct mortise_err *err)
{
    struct indexes preds = {.n = 0};
    int rv = mortise_view_add_frontier(r, f, &preds, err);

    mortise_frame_abandon(f);
    mortise_spawned_mark_left(r);
    f->behind = false;
    mortise_json_clear_ref(&f->scope->loop_error);
    f->scope->halt = LOSS_NONE;
    f->scope->over = f->scope->at_end = false;
    if (rv == MORTISE_OK)
        rv = enter_target(r, f, node, visit, &preds, out, err);
    mortise_indexes_finish(r->mem, &preds);
    return rv;
}

/* Was the join decided without this failed edge, so that nothing must be
 * retried there?  Not if the failure counts after the decision: then it failed
 * the frame. */
static bool is_join_settled(const struct mortise_run *r, const struct frame *f,
                            const struct mortise_edge *e, const struct item *it)
{
    const struct mortise_node *n = &f->graph->nodes[e->to];

    if (it->phase == ITEM_WAITS || it->phase == ITEM_SKIPPED_FAILED)
        return false;
    return !mortise_join_counts_late_failure(n, it) ||
           !mortise_exec_is_counted_in(r->execs[f->edge_src[e->slot]], f);
}

/* Must the edge become undecided again?  Yes if it failed, or if it is that of
 * a map that gathered and has failed elements. */
static bool must_reopen_edge(const struct mortise_run *r, const struct frame *f,
                             uint32_t edge, const struct item *it)
{
    const struct mortise_edge *e = mortise_frame_edge(f, edge);
    const struct fan *fan = mortise_join_find_gathered_map(r, f, edge);

    if (it != NULL && is_join_settled(r, f, e, it))
        return false;
    return f->edges[e->slot] == EDGE_FAILED ||
           (fan != NULL && it != NULL && fan->home == f &&
            mortise_join_count_branches(r, f, edge).failed > 0);
}

static void reopen_edges(const struct mortise_run *r, struct frame *f)
{
    for (uint32_t k = 0; k < f->region->n_edges; k++) {
        uint32_t edge = f->region->edges[k];
        struct item *it = get_started_item(f, mortise_frame_edge(f, edge));
        struct join_count c;

        if (f->edges[k] == EDGE_OPEN || !must_reopen_edge(r, f, edge, it))
            continue;
        c = mortise_join_count_branches(r, f, edge);
        f->edges[k] = EDGE_OPEN;
        if (it == NULL)
            continue;
        assert(it->n_decided > 0 && it->n_failed >= c.failed);
        assert(it->n_taken >= c.taken);
        it->n_decided--;
        it->n_taken -= c.taken;
        it->n_failed -= c.failed;
    }
}

/* Is one of these edges undecided, or is there none? */
static bool has_open_edge(struct frame *f, const uint32_t *out, uint32_t n_out)
{
    for (uint32_t i = 0; i < n_out; i++) {
        const struct mortise_edge *e = mortise_frame_edge(f, out[i]);

        if (mortise_frame_find_home(f, out[i])->edges[e->slot] == EDGE_OPEN)
            return true;
    }
    return n_out == 0;
}

/* Did the loop fail by a failure that its exits do not pass on: one that ended
 * inside, or one that came when all exits were taken? */
static bool is_lost_inside(const struct mortise_run *r, struct frame *f,
                           const struct mortise_region *loop,
                           const struct item *it)
{
    if (loop->kind != MORTISE_REGION_LOOP)
        return false;
    if (it->visit->failed_unhandled)
        return true;
    if (!mortise_exec_is_counted_in(r->execs[it->visit->cause], f))
        return false;
    for (uint32_t i = 0; i < loop->n_exits; i++) {
        const struct mortise_edge *e = mortise_frame_edge(f, loop->exits[i]);

        if (mortise_frame_find_home(f, loop->exits[i])->edges[e->slot] ==
            EDGE_FAILED)
            return false;
    }
    return true;
}

/* Did a join handle the failure of this item? */
static bool is_failure_mended(const struct mortise_run *r, struct frame *f,
                              size_t i)
{
    const struct mortise_region *in = f->region, *child;
    const struct mortise_node *n;

    if (i < in->n_nodes) {
        n = &f->graph->nodes[in->nodes[i]];
        return !has_open_edge(f, n->out, n->n_out);
    }
    child = &f->graph->regions[in->regions[i - in->n_nodes]];
    return !has_open_edge(f, child->exits, child->n_exits) &&
           !is_lost_inside(r, f, child, &f->items[i]);
}

/* Is it a settled join that failed or was stopped, and that follows something
 * to be retried?  Then it waits for that and starts again; its old failure is
 * marked as handled.  (A settled join that succeeded stays done.) */
static bool must_wait_for_retry(struct mortise_run *r, struct frame *f,
                                size_t i)
{
    const struct item *it = &f->items[i];
    const struct mortise_node *n =
        i < f->region->n_nodes ? &f->graph->nodes[f->region->nodes[i]] : NULL;
    struct exec *x = n != NULL ? r->execs[it->exec] : NULL;

    if (n == NULL || n->join.kind != MORTISE_JOIN_SETTLED || it->exec == 0 ||
        it->n_decided == n->n_in ||
        !(x->state == X_CANCELLED || (x->state == X_FAILED && !x->handled)))
        return false;
    mortise_exec_set_handled(r, x, true);
    return true;
}

/* Did the map gather, and is its edge to the join undecided again?  Then some
 * elements are retried, and it gathers again. */
static bool must_gather_again(const struct frame *f, size_t i)
{
    const struct mortise_region *in = f->region, *child;
    const struct mortise_edge *e;

    if (i < in->n_nodes || f->items[i].phase != ITEM_OVER)
        return false;
    child = &f->graph->regions[in->regions[i - in->n_nodes]];
    if (child->kind != MORTISE_REGION_MAP)
        return false;
    e = mortise_frame_edge(f, child->gather);
    return e->home == in->index && f->edges[e->slot] == EDGE_OPEN;
}

static void reopen_item(struct mortise_run *r, struct frame *f, size_t i)
{
    struct item *it = &f->items[i];

    if (must_gather_again(f, i)) {
        it->phase = ITEM_ACTIVE;
        f->n_open++;
    }
    if (it->phase == ITEM_FAILED && is_failure_mended(r, f, i))
        return;
    if ((it->phase == ITEM_FAILED || it->phase == ITEM_ACTIVE) &&
        must_wait_for_retry(r, f, i)) {
        f->n_open += it->phase == ITEM_FAILED;
        it->phase = ITEM_WAITS;
    }
    if (it->phase == ITEM_SKIPPED_FAILED || it->phase == ITEM_FAILED) {
        it->phase = it->phase == ITEM_FAILED ? ITEM_ACTIVE : ITEM_WAITS;
        f->n_open++;
    }
    it->cause = 0;
}

/* Did f's graph end by reaching END?  Then nothing in it is retried, unless it
 * had failed before (race.c (4)). */
static bool has_ended_by_end(const struct frame *f)
{
    return f->top->scope->halt == LOSS_END && !f->top->failed;
}

/* Is x the newest visit of its node?  A goto leaves earlier visits behind. */
static bool is_newest_visit(const struct exec *x)
{
    return x->fan != NULL || mortise_exec_item(x)->exec == x->index;
}

/* Is x the current execution of an active item? */
static bool is_active_execution(const struct exec *x)
{
    return mortise_exec_item(x)->phase == ITEM_ACTIVE && is_newest_visit(x);
}

static int check_all_joins(struct mortise_run *r, struct frame *f,
                           struct mortise_err *err)
{
    const struct mortise_region *in = f->region;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < mortise_frame_count_items(in);
         i++) {
        uint32_t node =
            i < in->n_nodes
                ? in->nodes[i]
                : f->graph->regions[in->regions[i - in->n_nodes]].entry;

        if (f->items[i].phase == ITEM_WAITS)
            rv = mortise_frame_decide_join(r, f, node, &f->items[i], err);
    }
    return rv == MORTISE_OK ? mortise_frame_process_queue(r, err) : rv;
}

/* The frame around f, also across graphs; NULL: none. */
static const struct frame *get_outer_frame(const struct frame *f)
{
    if (f->parent != NULL)
        return f->parent;
    return f->scope->owner != NULL ? f->scope->owner->frame : NULL;
}

/* Is f inside that element (NULL: everything)? */
static bool is_inside_element(const struct frame *f,
                              const struct frame *element)
{
    while (element != NULL && f != NULL && f != element)
        f = get_outer_frame(f);
    return f == element || element == NULL;
}

/* Is f inside an element that waits for its turn? */
static bool is_in_waiting_element(const struct frame *f)
{
    while (f != NULL && !f->waits)
        f = get_outer_frame(f);
    return f != NULL;
}

static void reopen_frame(struct mortise_run *r, struct frame *f)
{
    if (f->parent == NULL) {
        if (f->scope->halt == LOSS_TIME)
            f->scope->active_ms = 0; /* it gets its full time again */
        f->scope->at_end |= f->scope->halt == LOSS_END;
        f->scope->halt = LOSS_NONE;
    }
    f->failed = f->failed_unhandled = false;
    f->cause = 0;
    for (size_t k = 0; k < mortise_frame_count_items(f->region); k++)
        reopen_item(r, f, k);
    if (f->parent == NULL && f->n_open > 0) /* else nothing in it is retried */
        f->scope->over = false;
}

/* Executions that END stopped in f's graph have lost, once they have ended. */
static int drop_end_losers(struct mortise_run *r, const struct frame *f,
                           struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (struct exec *x = f->execs; rv == MORTISE_OK && x != NULL;
         x = x->sibling)
        if (x->loss == LOSS_END && mortise_exec_has_ended(x) &&
            is_active_execution(x))
            rv = mortise_frame_decide_edges(r, x, EDGE_DEAD, err);
    return rv;
}

/* Follow the edges that were decided while f was halted. */
static int continue_halted(struct mortise_run *r, struct frame *f,
                           struct mortise_err *err)
{
    int rv = mortise_race_has_reached_end(f) ? drop_end_losers(r, f, err)
                                             : MORTISE_OK;

    if (rv == MORTISE_OK && mortise_frame_is_alive(f))
        rv = mortise_frame_queue_if_finished(r, f, err);
    return rv == MORTISE_OK ? check_all_joins(r, f, err) : rv;
}

/* Reopens outer frames before inner ones. */
static int reopen_frames(struct mortise_run *r, const struct frame *element,
                         struct mortise_err *err)
{
    size_t n = r->n_frames, first = element != NULL ? element->index : 0;
    int rv = MORTISE_OK;

    for (size_t i = first; i < n; i++) {
        struct frame *f = r->frames[i];

        if (!f->behind && !has_ended_by_end(f) && is_inside_element(f, element))
            reopen_edges(r, f);
    }
    for (size_t i = first; i < n; i++) {
        struct frame *f = r->frames[i];

        if (!is_inside_element(f, element) || !mortise_frame_is_alive(f) ||
            has_ended_by_end(f))
            continue;
        if (f->over && f->failed)
            mortise_map_add_waiting(f);
        if (!is_in_waiting_element(f))
            reopen_frame(r, f);
    }
    for (size_t i = first; rv == MORTISE_OK && i < n; i++) {
        struct frame *f = r->frames[i];
        bool halted = f->halted;

        if (has_ended_by_end(f) || !is_inside_element(f, element) ||
            is_in_waiting_element(f))
            continue;
        f->lost &= !halted;
        f->halted = false;
        if (halted && mortise_frame_is_alive(f))
            rv = continue_halted(r, f, err);
    }
    return rv;
}

/* Does the map gather again once its elements have ended?  Then a new execution
 * gathers. */
static bool is_gather_replaced(const struct exec *x)
{
    return x->fan != NULL && !x->fan->enough &&
           (x->fan->n_waiting > 0 ||
            x->fan->n_over < x->fan->n_started_elements);
}

/* Its item is active again: retry it. */
static int retry_exec(struct mortise_run *r, struct exec *x,
                      struct mortise_err *err)
{
    bool returns = x->state == X_CANCELLED && mortise_race_has_undoable_loss(x);

    mortise_final_unmark(x);

    if ((x->state == X_FAILED && x->child_failed) ||
        (returns && x->child != NULL && !x->child_over)) {
        mortise_race_set_loss(x, LOSS_NONE);
        mortise_exec_set_error(x, NULL);
        return mortise_sub_continue(r, x, err); /* the failure is inside */
    } else if (x->state == X_FAILED && !x->handled && is_gather_replaced(x)) {
        mortise_exec_set_handled(r, x, true);
    } else if (returns || (x->state == X_FAILED && !x->handled)) {
        mortise_race_set_loss(x, LOSS_NONE);
        return mortise_generation_start_next(r, x, err);
    }
    return MORTISE_OK;
}

int mortise_frame_retry_failures(struct mortise_run *r,
                                 const struct frame *element,
                                 struct mortise_err *err)
{
    int rv = reopen_frames(r, element, err);

    for (size_t i = 0; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->node < x->frame->graph->n_nodes &&
            is_inside_element(x->frame, element) &&
            !is_in_waiting_element(x->frame) && is_active_execution(x) &&
            mortise_frame_is_alive(x->frame))
            rv = retry_exec(r, x, err);
    }
    return rv == MORTISE_OK ? mortise_map_continue_waiting(r, err) : rv;
}
