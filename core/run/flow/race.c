/* race.c -- losers: executions that are not needed any more.
 *
 * A join with `any` or `quorum` fires before all its edges are decided.  Then
 * the items of its frame that lead only to it have lost: the join can be
 * reached from them over undecided edges, and every path from them passes the
 * join (graph.h's postdom).  Items that also lead elsewhere continue, and their
 * edge to the join has no effect.
 *
 * A map whose join is such a race is decided within itself: map.c.
 *
 * `fail_fast` and `end: first` stop a whole graph.  When nothing is active any
 * more, its finalizers run, if any may (final.c), and then it ends.
 *
 *   (1) The losers are derived from the order of the entries: this order is the
 *       recorded decision of the race.
 *   (2) A loser ends by its own entry (`lost`), after its call has ended.  Its
 *       writes count for nothing, even if its effect happened.
 *       If it may be retried (a failure, a timeout or a budget stopped it), its
 *       result is kept, and a doubt is settled before it ends (doubt.c (9)).
 *   (3) losers: finish.  Losers continue up to the join.  Each sees the writes
 *       of its own branch, and no other execution sees them.  So whatever
 *       follows a whole frame (the next visit of a loop, the gathering of a
 *       map, the end of a graph) leaves out the executions that lost in that
 *       frame or in one inside it, and no others: inside, a loser's own frames
 *       are complete.
 *   (4) A graph that reached END by `end: first` has ended, whatever is retried
 *       around it.  If something failed before END, a resume retries only that:
 *       executions that END stopped have lost, no node, visit or element
 *       starts, and no edge to END stops the others.
 */
#include <assert.h>

#include "core/run/flow/flow.h"

const char *mortise_race_get_message(enum loss why)
{
    static const char *const words[] = {
        "the run was stopped",
        "another branch finished first",
        "the graph reached its end",
        "another node failed",
        "the graph exceeded its time limit",
        "the graph used up its budget",
        "the graph or map around it was stopped",
        "the run was cancelled"};

    return words[why];
}

bool mortise_race_has_undoable_loss(const struct exec *x)
{
    return x->loss == LOSS_FAIL || x->loss == LOSS_TIME ||
           x->loss == LOSS_BUDGET || x->loss == LOSS_OUTER ||
           x->loss == LOSS_CANCEL;
}

bool mortise_race_can_resume(const struct exec *x)
{
    if (x->loss == LOSS_CANCEL) /* it came back for its doubt */
        return true;
    for (; x != NULL; x = x->frame->top->scope->owner) {
        if (x->loss != LOSS_NONE && !mortise_race_has_undoable_loss(x))
            return false;
    }
    return true;
}

/* ---- marking losers ----------------------------------------------------- */

static int lose_all_in_frame(struct mortise_run *r, struct frame *f,
                             enum loss why, struct mortise_err *err);

void mortise_race_set_loss(struct exec *x, enum loss why)
{
    x->loss = why;
}

int mortise_race_stop_exec(struct mortise_run *r, struct exec *x, enum loss why,
                           struct mortise_err *err)
{
    assert(why != LOSS_NONE);
    if (mortise_exec_has_ended(x) || x->loss != LOSS_NONE)
        return MORTISE_OK;
    if (mortise_indexes_add(r->mem, &r->losers, x->index, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    mortise_race_set_loss(x, why);
    mortise_spawned_mark_left(r);
    if (x->state != X_INNER_GRAPH)
        return mortise_tools_stop(r, x, err);
    assert(x->child->scope->owner == x);
    /* If END halted it, its executions have lost already. */
    if (x->child->scope->halt != LOSS_END)
        x->child->scope->halt = LOSS_OUTER;
    return lose_all_in_frame(r, x->child, LOSS_OUTER, err);
}

/* All that is active in f and the frames inside it.  The depth of the recursion
 * is the nesting of regions. */
static int lose_all_in_frame(struct mortise_run *r, struct frame *f,
                             enum loss why, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (f->behind)
        return rv;
    f->lost = true;
    f->halted = why != LOSS_RACE;
    for (struct exec *x = f->execs; rv == MORTISE_OK && x != NULL;
         x = x->sibling)
        if (f->halted && mortise_final_can_mark(x) &&
            mortise_final_is_allowed(f->top))
            mortise_final_mark(r, x);
        else
            rv = mortise_race_stop_exec(r, x, why, err);
    for (struct frame *kid = f->kids; rv == MORTISE_OK && kid != NULL;
         kid = kid->sibling)
        rv = lose_all_in_frame(r, kid, why, err);
    return rv;
}

uint32_t mortise_race_get_discard(const struct frame *f, const struct item *it)
{
    return it->discard ? f->index + 1 : f->discard;
}

void mortise_race_set_discard(struct exec *x, const struct frame *f,
                              const struct item *it)
{
    x->discard = mortise_race_get_discard(f, it);
}

/* An inner frame has a greater index. */
static uint32_t get_inner_discard(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static void discard_active_exec(struct exec *x, const struct frame *in)
{
    if (!mortise_exec_has_ended(x))
        x->discard = get_inner_discard(x->discard, in->index + 1);
}

/* f, and all that is active in it, lost a race in the frame `in`.  Inner graphs
 * stay whole: only their owner's output counts outside. */
static void discard_frame(struct frame *f, const struct frame *in)
{
    f->discard = get_inner_discard(f->discard, in->index + 1);
    for (struct exec *x = f->execs; x != NULL; x = x->sibling)
        discard_active_exec(x, in);
    for (struct frame *kid = f->kids; kid != NULL; kid = kid->sibling)
        discard_frame(kid, in);
}

int mortise_race_stop_element(struct mortise_run *r, struct frame *f,
                              const struct frame *in, bool finish,
                              struct mortise_err *err)
{
    if (!finish)
        return lose_all_in_frame(r, f, LOSS_RACE, err);
    discard_frame(f, in);
    return MORTISE_OK;
}

/* ---- a race ------------------------------------------------------------- */

struct race {
    struct mortise_run *r;
    struct frame *f;
    struct mortise_postdom goal; /* of the join's item */
    bool finish;
    struct indexes todo; /* nodes to walk back from over undecided edges */
};

/* All elements of a map, and the execution that gathers them. */
static int mark_map_lost(struct race *c, struct fan *fan,
                         struct mortise_err *err)
{
    int rv = MORTISE_OK;

    fan->lost |= !c->finish;
    for (size_t i = 0; rv == MORTISE_OK && i < fan->n_started_elements; i++)
        rv = mortise_race_stop_element(c->r, fan->elements[i], c->f, c->finish,
                                       err);
    if (fan->gather != NULL && c->finish)
        discard_active_exec(fan->gather, c->f);
    else if (fan->gather != NULL && rv == MORTISE_OK)
        rv = mortise_race_stop_exec(c->r, fan->gather, LOSS_RACE, err);
    return rv;
}

static int mark_item_lost(struct race *c, struct item *it,
                          const struct mortise_region *child,
                          struct mortise_err *err)
{
    it->lost |= !c->finish;
    it->discard |= c->finish;
    if (it->phase != ITEM_ACTIVE)
        return MORTISE_OK;
    if (child == NULL && c->finish)
        discard_active_exec(c->r->execs[it->exec], c->f);
    else if (child == NULL)
        return mortise_race_stop_exec(c->r, c->r->execs[it->exec], LOSS_RACE,
                                      err);
    else if (child->kind == MORTISE_REGION_MAP)
        return mark_map_lost(c, it->fan, err);
    else if (c->finish)
        discard_frame(it->visit, c->f);
    else
        return lose_all_in_frame(c->r, it->visit, LOSS_RACE, err);
    return MORTISE_OK;
}

/* Visit the source of an edge that leads, over undecided edges, to the join. */
static int visit_losing_source(struct race *c, uint32_t edge,
                               struct mortise_err *err)
{
    const struct mortise_region *child;
    struct item *it = mortise_item_find_source(c->f, edge, &child);
    uint32_t from = c->f->graph->edges[edge].from;
    const struct mortise_node *n =
        &c->f->graph->nodes[child == NULL ? from : child->entry];
    int rv;

    if (it->mark == c->r->stamp ||
        (it->phase != ITEM_WAITS && it->phase != ITEM_ACTIVE) ||
        !mortise_postdom_must_pass(child == NULL ? n->postdom : child->postdom,
                                   c->goal))
        return MORTISE_OK;
    it->mark = c->r->stamp;
    rv = mark_item_lost(c, it, child, err);
    return rv == MORTISE_OK && it->phase == ITEM_WAITS
               ? mortise_indexes_add(c->r->mem, &c->todo, n->index, err)
               : rv;
}

int mortise_race_mark_losers(struct mortise_run *r, struct frame *f,
                             uint32_t node, struct mortise_err *err)
{
    const struct mortise_graph *g = f->graph;
    const struct mortise_region *child;
    struct race c = {.r = r, .f = f, .finish = g->nodes[node].join.finish};
    int rv = MORTISE_OK;

    mortise_item_find_target(f, node, &child);
    c.goal = child == NULL ? g->nodes[node].postdom : child->postdom;
    mortise_view_begin_walk(r);
    rv = mortise_indexes_add(r->mem, &c.todo, node, err);
    while (rv == MORTISE_OK && c.todo.n > 0) {
        const struct mortise_node *at = &g->nodes[c.todo.list[--c.todo.n]];

        for (uint32_t i = 0; rv == MORTISE_OK && i < at->n_in; i++) {
            const struct mortise_edge *e = &g->edges[at->in[i]];

            if (f->edges[e->slot] == EDGE_OPEN)
                rv = visit_losing_source(&c, at->in[i], err);
        }
    }
    mortise_indexes_finish(r->mem, &c.todo);
    return rv;
}

int mortise_race_halt_graph(struct mortise_run *r, struct frame *f,
                            enum loss why, struct mortise_err *err)
{
    int rv;

    assert(f->region->kind == MORTISE_REGION_GRAPH && why != LOSS_NONE);
    if (f->halted)
        return MORTISE_OK;
    f->scope->halt = why;
    rv = lose_all_in_frame(r, f, why, err);
    return rv == MORTISE_OK ? mortise_race_end_idle_graph(r, f, err) : rv;
}

/* ---- finalizers (final.c) ------------------------------------------------ */

/* Start the due finalizers of the graph of `top`. */
static int start_due_finals(struct mortise_run *r, const struct frame *top,
                            bool *started, struct mortise_err *err)
{
    struct final_dues dues;
    int rv = mortise_final_find_due(r, top, &dues, err);

    for (size_t i = 0; rv == MORTISE_OK && i < dues.n; i++) {
        const struct final_due *d = &dues.list[i];

        if (d->behind)
            continue;
        rv = mortise_frame_start_joined_node(r, d->f, d->node, &d->preds, err);
        if (rv == MORTISE_OK)
            mortise_final_mark(r, r->execs[r->n_execs - 1]);
        *started = true;
    }
    mortise_final_dues_finish(r, &dues);
    return rv;
}

int mortise_race_end_idle_graph(struct mortise_run *r, struct frame *f,
                                struct mortise_err *err)
{
    bool started = false;
    int rv = MORTISE_OK;

    if (!f->halted || f->scope->n_live > 0)
        return MORTISE_OK;
    if (mortise_final_is_allowed(f) && !f->behind && !r->cancelling)
        rv = start_due_finals(r, f, &started, err);
    return rv != MORTISE_OK || started
               ? rv
               : mortise_sub_handle_graph_end(r, f, err);
}

int mortise_race_start_cancel_finals(struct mortise_run *r,
                                     struct mortise_err *err)
{
    bool started = false;
    int rv = MORTISE_OK;

    if (!r->cancelling || r->after != 0 || r->given_up ||
        !mortise_run_has_nothing_to_do(r) ||
        r->frames[0]->scope->halt == LOSS_END)
        return MORTISE_OK;
    for (size_t i = r->n_frames; rv == MORTISE_OK && !started && i-- > 0;) {
        struct frame *f = r->frames[i]; /* inner frames are newer */

        if (f->parent == NULL && mortise_final_is_current(f))
            rv = start_due_finals(r, f, &started, err);
    }
    for (size_t i = 0; started && i < r->n_frames; i++)
        r->frames[i]->halted = true; /* nothing follows them */
    return rv;
}

int mortise_race_handle_final_end(struct mortise_run *r, const struct exec *x,
                                  struct mortise_err *err)
{
    return r->cancelling ? mortise_race_start_cancel_finals(r, err)
                         : mortise_race_end_idle_graph(r, x->frame->top, err);
}
