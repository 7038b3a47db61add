/* reopen.c -- what people do to frames: a goto, and a resume of what failed.
 *
 * Both make decided edges undecided, as if that part had not been: a goto puts
 * everything behind but what the node leads to, a resume opens what failed and
 * what was skipped for it.  Nothing else of a frame is touched, and what runs
 * from then on follows by the rules of frame.c.
 */
#include <assert.h>
#include <string.h>

#include "core/run/flow/flow.h"

/* The item of f that an edge starts; NULL: it goes to END, back, or to the join
 * of a map. */
static struct item *led_to(const struct frame *f, const struct mortise_edge *e)
{
    const struct mortise_region *child;

    return e->to != MORTISE_END && !e->back && !e->yields
               ? mortise_item_to(f, e->to, &child)
               : NULL;
}

void mortise_frame_lead_from(struct mortise_run *r, const struct exec *u)
{
    for (size_t i = 0; i < r->n_frames; i++) {
        struct frame *f = r->frames[i];
        uint32_t n = f->top == r->frames[0] ? f->region->n_edges : 0;

        for (uint32_t k = 0; k < n; k++) {
            const struct item *it =
                led_to(f, mortise_frame_edge(f, f->region->edges[k]));

            if (f->edges[k] == EDGE_TAKEN && it != NULL &&
                it->phase == ITEM_WAITS)
                f->edge_src[k] = u->index;
        }
    }
}

/* Open what the edges `out` lead to in f, going on from there. */
static int open_from(struct mortise_run *r, struct frame *f,
                     const uint32_t *out, uint32_t n_out,
                     struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (uint32_t i = 0; rv == MORTISE_OK && i < n_out; i++) {
        const struct mortise_edge *e = mortise_frame_edge(f, out[i]);

        if (e->home != f->region->index)
            continue;
        f->edges[e->slot] = EDGE_OPEN;
        if (led_to(f, e) != NULL)
            rv = mortise_frame_push(r, f, out[i], err);
    }
    return rv;
}

static int open_item(struct mortise_run *r, struct frame *f, uint32_t node,
                     const struct mortise_region *child,
                     struct mortise_err *err)
{
    const struct mortise_node *n = &f->graph->nodes[node];

    return child == NULL ? open_from(r, f, n->out, n->n_out, err)
                         : open_from(r, f, child->exits, child->n_exits, err);
}

static void count_dead(struct frame *f)
{
    f->n_open = 0;
    for (size_t i = 0; i < mortise_frame_n_items(f->region); i++) {
        struct item *it = &f->items[i];

        it->n_decided = it->n_taken = it->n_failed = it->cause = 0;
        f->n_open += it->phase == ITEM_WAITS;
    }
    for (uint32_t k = 0; k < f->region->n_edges; k++) {
        struct item *it = led_to(f, mortise_frame_edge(f, f->region->edges[k]));

        if (f->edges[k] == EDGE_DEAD && it != NULL)
            it->n_decided++;
    }
}

/* Open what `node`'s item leads to in f; everything else is behind us. */
static int reset(struct mortise_run *r, struct frame *f, uint32_t node,
                 struct mortise_err *err)
{
    const struct mortise_region *child;
    struct item *it = mortise_item_to(f, node, &child);
    int rv;

    memset(f->edges, EDGE_DEAD, f->region->n_edges);
    for (size_t i = 0; i < mortise_frame_n_items(f->region); i++) {
        f->items[i].phase = ITEM_SKIPPED;
        f->items[i].lost = f->items[i].discard = false;
    }
    f->again = f->left = f->failed = f->for_good = false;
    f->lost = f->halted = false;
    f->discard = 0;
    it->phase = ITEM_WAITS;
    rv = open_item(r, f, node, child, err);
    while (rv == MORTISE_OK && r->n_work > 0) {
        uint32_t to = mortise_frame_edge(f, r->work[--r->n_work].edge)->to;

        it = mortise_item_to(f, to, &child);
        if (it->phase == ITEM_WAITS)
            continue;
        it->phase = ITEM_WAITS;
        rv = open_item(r, f, to, child, err);
    }
    count_dead(f);
    assert(rv != MORTISE_OK || r->n_work == 0);
    return rv;
}

static int enter(struct mortise_run *r, struct frame *f, uint32_t node,
                 uint32_t visit_no, const struct indexes *preds,
                 struct exec **out, struct mortise_err *err)
{
    const struct mortise_region *child;
    struct item *it;
    int rv;

    for (;;) {
        rv = reset(r, f, node, err);
        it = mortise_item_to(f, node, &child);
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
    assert(it->visits + 1 == visit_no); /* apply.c compared */
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
    int rv = mortise_view_frontier(r, f, &preds, err);

    mortise_frame_leave_behind(f);
    mortise_spawned_left(r);
    f->behind = false;
    mortise_json_drop(&f->scope->loop_error);
    f->scope->halt = LOSS_NONE;
    f->scope->over = f->scope->at_end = false;
    if (rv == MORTISE_OK)
        rv = enter(r, f, node, visit, &preds, out, err);
    mortise_indexes_finish(r->mem, &preds);
    return rv;
}

/* Did a join go on without the edge that failed, so that nothing is to be
 * mended there?  A race that minds failures did not: whether it was over when
 * this one came or not, it failed what it is in. */
static bool is_settled(const struct mortise_run *r, const struct frame *f,
                       const struct mortise_edge *e, const struct item *it)
{
    const struct mortise_node *n = &f->graph->nodes[e->to];

    if (it->phase == ITEM_WAITS || it->phase == ITEM_SKIPPED_FAILED)
        return false;
    return !mortise_join_minds_late(n, it) ||
           !mortise_exec_counts_in(r->execs[f->edge_src[e->slot]], f);
}

/* Is an edge of f undecided again?  One that failed is; so is that of a map which
 * gathered, and of which elements failed. */
static bool reopens(const struct mortise_run *r, const struct frame *f,
                    uint32_t edge, const struct item *it)
{
    const struct mortise_edge *e = mortise_frame_edge(f, edge);
    const struct fan *fan = mortise_join_gathered(r, f, edge);

    if (it != NULL && is_settled(r, f, e, it))
        return false;
    return f->edges[e->slot] == EDGE_FAILED ||
           (fan != NULL && it != NULL && fan->home == f &&
            mortise_join_count(r, f, edge).failed > 0);
}

static void reopen_edges(const struct mortise_run *r, struct frame *f)
{
    for (uint32_t k = 0; k < f->region->n_edges; k++) {
        uint32_t edge = f->region->edges[k];
        struct item *it = led_to(f, mortise_frame_edge(f, edge));
        struct join_count c;

        if (f->edges[k] == EDGE_OPEN || !reopens(r, f, edge, it))
            continue;
        c = mortise_join_count(r, f, edge);
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

/* Is any of these edges undecided, or is there none? */
static bool is_open(struct frame *f, const uint32_t *out, uint32_t n_out)
{
    for (uint32_t i = 0; i < n_out; i++) {
        const struct mortise_edge *e = mortise_frame_edge(f, out[i]);

        if (mortise_frame_home(f, out[i])->edges[e->slot] == EDGE_OPEN)
            return true;
    }
    return n_out == 0;
}

/* Did a loop fail of something else than what its exits hand on: of a way that
 * ended in it, or when they were all taken? */
static bool is_lost_inside(const struct mortise_run *r, struct frame *f,
                           const struct mortise_region *loop,
                           const struct item *it)
{
    if (loop->kind != MORTISE_REGION_LOOP)
        return false;
    if (it->visit->for_good)
        return true;
    if (!mortise_exec_counts_in(r->execs[it->visit->cause], f))
        return false;
    for (uint32_t i = 0; i < loop->n_exits; i++) {
        const struct mortise_edge *e = mortise_frame_edge(f, loop->exits[i]);

        if (mortise_frame_home(f, loop->exits[i])->edges[e->slot] ==
            EDGE_FAILED)
            return false;
    }
    return true;
}

/* Did a join take in its stride that this item failed? */
static bool is_mended(const struct mortise_run *r, struct frame *f, size_t i)
{
    const struct mortise_region *in = f->region, *child;
    const struct mortise_node *n;

    if (i < in->n_nodes) {
        n = &f->graph->nodes[in->nodes[i]];
        return !is_open(f, n->out, n->n_out);
    }
    child = &f->graph->regions[in->regions[i - in->n_nodes]];
    return !is_open(f, child->exits, child->n_exits) &&
           !is_lost_inside(r, f, child, &f->items[i]);
}

/* Is it a settled join that failed or was stopped, and to which something leads
 * that is tried again?  It waits for that, and starts anew: what it was is led
 * elsewhere.  (One that was done stays done.) */
static bool waits_again(struct mortise_run *r, struct frame *f, size_t i)
{
    const struct item *it = &f->items[i];
    const struct mortise_node *n =
        i < f->region->n_nodes ? &f->graph->nodes[f->region->nodes[i]] : NULL;
    struct exec *x = n != NULL ? r->execs[it->exec] : NULL;

    if (n == NULL || n->join.kind != MORTISE_JOIN_SETTLED || it->exec == 0 ||
        it->n_decided == n->n_in ||
        !(x->state == X_CANCELLED || (x->state == X_FAILED && !x->handled)))
        return false;
    mortise_exec_lead_elsewhere(r, x, true);
    return true;
}

/* Did it gather, and is the edge to its join undecided again?  Then elements of it
 * are tried again, and it gathers once more. */
static bool gathers_again(const struct frame *f, size_t i)
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

    if (gathers_again(f, i)) {
        it->phase = ITEM_ACTIVE;
        f->n_open++;
    }
    if (it->phase == ITEM_FAILED && is_mended(r, f, i))
        return;
    if ((it->phase == ITEM_FAILED || it->phase == ITEM_ACTIVE) &&
        waits_again(r, f, i)) {
        f->n_open += it->phase == ITEM_FAILED;
        it->phase = ITEM_WAITS;
    }
    if (it->phase == ITEM_SKIPPED_FAILED || it->phase == ITEM_FAILED) {
        it->phase = it->phase == ITEM_FAILED ? ITEM_ACTIVE : ITEM_WAITS;
        f->n_open++;
    }
    it->cause = 0;
}

/* Its graph reached its end, and that was enough: nothing returns, unless it had
 * failed before (race.c (4)). */
static bool has_ended(const struct frame *f)
{
    return f->top->scope->halt == LOSS_END && !f->top->failed;
}

/* Is it what its node does now?  A goto leaves earlier visits behind. */
static bool is_newest(const struct exec *x)
{
    return x->fan != NULL || mortise_exec_item(x)->exec == x->index;
}

/* Is it what its item, which is active, is at? */
static bool is_at(const struct exec *x)
{
    return mortise_exec_item(x)->phase == ITEM_ACTIVE && is_newest(x);
}

static int weigh_all(struct mortise_run *r, struct frame *f,
                     struct mortise_err *err)
{
    const struct mortise_region *in = f->region;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < mortise_frame_n_items(in); i++) {
        uint32_t node =
            i < in->n_nodes
                ? in->nodes[i]
                : f->graph->regions[in->regions[i - in->n_nodes]].entry;

        if (f->items[i].phase == ITEM_WAITS)
            rv = mortise_frame_weigh(r, f, node, &f->items[i], err);
    }
    return rv == MORTISE_OK ? mortise_frame_spread(r, err) : rv;
}

/* The frame around f, be it of the graph around its graph; NULL: there is none.
 */
static const struct frame *outward(const struct frame *f)
{
    if (f->parent != NULL)
        return f->parent;
    return f->scope->owner != NULL ? f->scope->owner->frame : NULL;
}

/* Is f in that element, or around everything? */
static bool is_within(const struct frame *f, const struct frame *element)
{
    while (element != NULL && f != NULL && f != element)
        f = outward(f);
    return f == element || element == NULL;
}

/* Is it in an element that waits for its turn? */
static bool is_waiting(const struct frame *f)
{
    while (f != NULL && !f->waits)
        f = outward(f);
    return f != NULL;
}

static void reopen_frame(struct mortise_run *r, struct frame *f)
{
    if (f->parent == NULL) {
        if (f->scope->halt == LOSS_TIME)
            f->scope->active_ms = 0; /* it has as much time again */
        f->scope->at_end |= f->scope->halt == LOSS_END;
        f->scope->halt = LOSS_NONE;
    }
    f->failed = f->for_good = false;
    f->cause = 0;
    for (size_t k = 0; k < mortise_frame_n_items(f->region); k++)
        reopen_item(r, f, k);
    if (f->parent == NULL && f->n_open > 0) /* else nothing of it is again */
        f->scope->over = false;
}

/* What the END of f's graph stopped in it has lost, once that is over. */
static int drop_losers(struct mortise_run *r, const struct frame *f,
                       struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (struct exec *x = f->execs; rv == MORTISE_OK && x != NULL;
         x = x->sibling)
        if (x->loss == LOSS_END && mortise_exec_is_over(x) && is_at(x))
            rv = mortise_frame_follow(r, x, EDGE_DEAD, err);
    return rv;
}

/* What was decided of f while it was halted leads on. */
static int lead_on(struct mortise_run *r, struct frame *f,
                   struct mortise_err *err)
{
    int rv = mortise_race_at_end(f) ? drop_losers(r, f, err) : MORTISE_OK;

    if (rv == MORTISE_OK && mortise_frame_is_alive(f))
        rv = mortise_frame_look(r, f, err);
    return rv == MORTISE_OK ? weigh_all(r, f, err) : rv;
}

/* What is around a frame comes first. */
static int reopen_frames(struct mortise_run *r, const struct frame *element,
                         struct mortise_err *err)
{
    size_t n = r->n_frames, first = element != NULL ? element->index : 0;
    int rv = MORTISE_OK;

    for (size_t i = first; i < n; i++) {
        struct frame *f = r->frames[i];

        if (!f->behind && !has_ended(f) && is_within(f, element))
            reopen_edges(r, f);
    }
    for (size_t i = first; i < n; i++) {
        struct frame *f = r->frames[i];

        if (!is_within(f, element) || !mortise_frame_is_alive(f) ||
            has_ended(f))
            continue;
        if (f->over && f->failed)
            mortise_map_wait(f);
        if (!is_waiting(f))
            reopen_frame(r, f);
    }
    for (size_t i = first; rv == MORTISE_OK && i < n; i++) {
        struct frame *f = r->frames[i];
        bool halted = f->halted;

        if (has_ended(f) || !is_within(f, element) || is_waiting(f))
            continue;
        f->lost &= !halted;
        f->halted = false;
        if (halted && mortise_frame_is_alive(f))
            rv = lead_on(r, f, err);
    }
    return rv;
}

/* What a map came to comes to something else once its elements are over again:
 * then another gathers. */
static bool is_replaced(const struct exec *x)
{
    return x->fan != NULL && !x->fan->enough &&
           (x->fan->n_waiting > 0 || x->fan->n_over < x->fan->n_begun);
}

/* Its item is active again. */
static int exec_again(struct mortise_run *r, struct exec *x,
                      struct mortise_err *err)
{
    bool returns = x->state == X_CANCELLED && mortise_race_may_return(x);

    mortise_final_release(x);

    if ((x->state == X_FAILED && x->child_failed) ||
        (returns && x->child != NULL && !x->child_over)) {
        mortise_race_mark(x, LOSS_NONE);
        mortise_exec_failed_of(x, NULL);
        return mortise_sub_go_on(r, x, err); /* what failed is inside */
    } else if (x->state == X_FAILED && !x->handled && is_replaced(x)) {
        mortise_exec_lead_elsewhere(r, x, true);
    } else if (returns || (x->state == X_FAILED && !x->handled)) {
        mortise_race_mark(x, LOSS_NONE);
        return mortise_generation_next(r, x, err);
    }
    return MORTISE_OK;
}

int mortise_frame_reopen(struct mortise_run *r, const struct frame *element,
                         struct mortise_err *err)
{
    int rv = reopen_frames(r, element, err);

    for (size_t i = 0; rv == MORTISE_OK && i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->node < x->frame->graph->n_nodes &&
            is_within(x->frame, element) && !is_waiting(x->frame) && is_at(x) &&
            mortise_frame_is_alive(x->frame))
            rv = exec_again(r, x, err);
    }
    return rv == MORTISE_OK ? mortise_map_go_on(r, err) : rv;
}
