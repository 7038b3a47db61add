/* final.c -- settled joins, which run however their branches ended.
 *
 * A node with `join: settled` starts if a branch that leads to it ran, once
 * every edge to it is decided and nothing that leads to it is active (a join
 * that was skipped because of a failure decides its edges before its other
 * branches end).  To find the branches, we walk back over its edges, to edges
 * that were taken, to nodes that failed or were stopped, and into loops and
 * maps.  If there are none, no branch ran, and the node is skipped.
 *
 *   (1) The node comes after all commits that the walk finds.  If a node
 *       failed, it comes after that node's predecessors: the failed node may be
 *       retried, and is in no causal past until it commits.
 *   (2) Failures continue as if the node were not there, unless its join
 *       collects them: frame.c fails the frames around them before the node
 *       starts.
 *
 * A graph that is stopped (by fail_fast, a budget or a timeout, with all graphs
 * inside; or by `cancel`, with the whole run) decides no more edges.  Then
 *
 *   (3) active executions end first.  Then each waiting settled node to which a
 *       branch ran starts, after other due nodes that lead to it.  These nodes
 *       are finalizers (exec.final).  When they have ended, the next ones
 *       start.  Inner graphs come before outer ones.  An active settled node is
 *       not stopped, but becomes a finalizer.
 *   (4) Nothing follows a finalizer: its edges are decided, and lead nowhere.
 *   (5) Finalizers are bounded.  Each has one attempt, of at most
 *       MORTISE_FINAL_MS after it became a finalizer, or less by its own
 *       timeout.  A finalizer that would wait for a person or a time, however
 *       near, fails (outcome/stop.c).  Limits and budgets do not stop
 *       finalizers.  A second `cancel` gives them up; an engine that stops
 *       leaves them as a crash would.
 *   (6) A finalizer does not run if its branch lost a race, if the graph
 *       reached END and that was enough, or if a budget's goto leads on.  The
 *       entry of a loop is never one.
 *
 * All of this is derived from the frames when the last execution has ended.
 * Nothing is recorded for it, and a replay starts the same finalizers. */
#include "core/run/flow/flow.h"

#include "core/run/spend/spend.h"

/* ---- predecessors of a settled join (1) --------------------------------- */

struct walk {
    struct mortise_run *r;
    struct frame *f;
    struct indexes *preds; /* result of the walk */
    struct frame **inside; /* frames of loops and maps that lead there */
    size_t n_inside, cap_inside;
    struct indexes todo; /* nodes to walk back from */
    bool stopped;        /* treat active items as ended */
    bool busy;           /* found an active item */
};

static int add_inner_frame(struct walk *w, struct frame *f,
                           struct mortise_err *err)
{
    struct frame **grown = mortise_array_grow(w->r->mem, w->inside, w->n_inside,
                                              &w->cap_inside, sizeof grown[0]);

    if (grown == NULL)
        return mortise_nomem(err);
    w->inside = grown;
    w->inside[w->n_inside++] = f;
    return MORTISE_OK;
}

static int add_preds(struct walk *w, const uint32_t *list, size_t n,
                     struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < n; i++)
        rv = mortise_indexes_add(w->r->mem, w->preds, list[i], err);
    return rv;
}

/* A map or loop that is active, failed, or was stopped. */
static int visit_region(struct walk *w, const struct item *it,
                        const struct mortise_region *child,
                        struct mortise_err *err)
{
    const struct exec *entry;
    int rv = MORTISE_OK;

    if (child->kind == MORTISE_REGION_LOOP) {
        entry = w->r->execs[mortise_item_of(it->visit, child->entry)->exec];
        rv = add_inner_frame(w, it->visit, err);
        return rv == MORTISE_OK
                   ? add_preds(w, entry->preds, entry->n_preds, err)
                   : rv;
    }
    for (size_t i = 0; rv == MORTISE_OK && i < it->fan->n_started_elements; i++)
        rv = add_inner_frame(w, it->fan->elements[i], err);
    return rv == MORTISE_OK
               ? add_preds(w, it->fan->preds.list, it->fan->preds.n, err)
               : rv;
}

/* If x was not done, its predecessors stand for it. */
static int visit_exec(struct walk *w, const struct exec *x,
                      struct mortise_err *err)
{
    return x->state == X_DONE || x->state == X_HELD
               ? MORTISE_OK /* it took other edges */
               : add_preds(w, x->preds, x->n_preds, err);
}

static int visit_item(struct walk *w, const struct item *it, uint32_t node,
                      const struct mortise_region *child,
                      struct mortise_err *err)
{
    switch (it->phase) {
    case ITEM_WAITS:
    case ITEM_SKIPPED:
    case ITEM_SKIPPED_FAILED:
        return mortise_indexes_add(w->r->mem, &w->todo, node, err);
    case ITEM_OVER:
        if (child != NULL)
            return MORTISE_OK;
        break;
    case ITEM_ACTIVE:
        w->busy |= !w->stopped;
        if (w->busy)
            return MORTISE_OK;
        /* fall through */
    case ITEM_FAILED:
        if (child != NULL)
            return visit_region(w, it, child, err);
        break;
    }
    return visit_exec(w, w->r->execs[it->exec], err);
}

static int visit_edge(struct walk *w, uint32_t edge, struct mortise_err *err)
{
    const struct mortise_edge *e = mortise_frame_edge(w->f, edge);
    const struct mortise_region *child;
    struct item *it;

    if (w->f->edges[e->slot] == EDGE_TAKEN)
        return add_preds(w, &w->f->edge_src[e->slot], 1, err);
    if (e->from == MORTISE_START)
        return MORTISE_OK;
    it = mortise_item_find_source(w->f, edge, &child);
    if (it->mark == w->r->stamp)
        return MORTISE_OK;
    it->mark = w->r->stamp;
    return visit_item(w, it, child == NULL ? e->from : child->entry, child,
                      err);
}

/* Walk back from the join of `node` and mark the items on the way. */
static int walk_back(struct walk *w, uint32_t node, struct mortise_err *err)
{
    int rv;

    mortise_view_begin_walk(w->r);
    rv = mortise_indexes_add(w->r->mem, &w->todo, node, err);
    while (rv == MORTISE_OK && w->todo.n > 0) {
        const struct mortise_node *at =
            &w->f->graph->nodes[w->todo.list[--w->todo.n]];

        for (uint32_t i = 0; rv == MORTISE_OK && i < at->n_in; i++)
            rv = visit_edge(w, at->in[i], err);
    }
    return rv;
}

static void walk_finish(struct walk *w)
{
    mortise_indexes_finish(w->r->mem, &w->todo);
    mortise_release(w->r->mem, w->inside, w->cap_inside * sizeof w->inside[0]);
}

static void remove_duplicates(struct indexes *preds)
{
    size_t kept = 0;

    for (size_t i = 0; i < preds->n; i++) {
        size_t k = 0;

        while (k < kept && preds->list[k] != preds->list[i])
            k++;
        if (k == kept)
            preds->list[kept++] = preds->list[i];
    }
    preds->n = kept;
}

static int add_inner_commits(struct walk *w, struct mortise_err *err)
{
    int rv = w->n_inside > 0
                 ? mortise_view_add_frontier_in(w->r, w->f, w->inside,
                                                w->n_inside, w->preds, err)
                 : MORTISE_OK;

    remove_duplicates(w->preds);
    return rv;
}

int mortise_final_add_sources(struct mortise_run *r, struct frame *f,
                              const struct mortise_node *n, bool *busy,
                              struct indexes *preds, struct mortise_err *err)
{
    struct walk w = {.r = r, .f = f, .preds = preds, .stopped = busy == NULL};
    int rv = walk_back(&w, n->index, err);

    if (busy != NULL)
        *busy = w.busy;
    if (rv == MORTISE_OK && !w.busy)
        rv = add_inner_commits(&w, err);
    walk_finish(&w);
    return rv;
}

/* ---- due finalizers (3) ------------------------------------------------- */

bool mortise_final_is_current(const struct frame *f)
{
    const struct exec *owner = f->scope->owner;
    const struct item *it;

    if (f->parent == NULL)
        return owner == NULL ||
               (owner->child == f && owner->state != X_DONE &&
                mortise_exec_item(owner)->phase == ITEM_ACTIVE &&
                mortise_exec_item(owner)->exec == owner->index &&
                mortise_final_is_current(owner->frame));
    it = mortise_item_of_region(f->parent, f->region->index);
    return it->phase == ITEM_ACTIVE &&
           (f->region->kind == MORTISE_REGION_LOOP
                ? it->visit == f
                : it->fan == f->scope->fan && !f->over) &&
           mortise_final_is_current(f->parent);
}

static bool is_waiting_settled(const struct frame *f, uint32_t node)
{
    const struct item *it = mortise_item_of(f, node);

    return f->graph->nodes[node].join.kind == MORTISE_JOIN_SETTLED &&
           it->phase == ITEM_WAITS && !it->lost &&
           !mortise_race_has_reached_end(f) &&
           f->region->entry != node; /* (6) */
}

static int add_due_finalizer(struct mortise_run *r, struct frame *f,
                             uint32_t node, struct final_dues *to,
                             struct mortise_err *err)
{
    struct final_due *grown =
        mortise_array_grow(r->mem, to->list, to->n, &to->cap, sizeof *grown);
    struct indexes preds = {.n = 0};
    int rv;

    if (grown == NULL)
        return mortise_nomem(err);
    to->list = grown;
    rv = mortise_final_add_sources(r, f, &f->graph->nodes[node], NULL, &preds,
                                   err);
    if (rv == MORTISE_OK && preds.n > 0) /* a branch to it ran */
        to->list[to->n++] = (struct final_due){f, node, preds, false};
    else
        mortise_indexes_finish(r->mem, &preds);
    return rv;
}

/* Was `other` reached by the last walk, which began in f? */
static bool was_reached(const struct mortise_run *r, const struct frame *f,
                        const struct final_due *other)
{
    struct frame *at = other->f;

    if (at == f)
        return mortise_item_of(f, other->node)->mark == r->stamp;
    while (at != NULL && at->parent != f)
        at = at->parent;
    return at != NULL &&
           mortise_item_of_region(f, at->region->index)->mark == r->stamp;
}

/* Set d->behind if another due finalizer leads to this one. */
static int check_behind(struct mortise_run *r, struct final_dues *dues,
                        size_t i, struct mortise_err *err)
{
    struct final_due *d = &dues->list[i];
    struct indexes preds = {.n = 0};
    struct walk w = {.r = r, .f = d->f, .preds = &preds, .stopped = true};
    int rv = walk_back(&w, d->node, err);

    for (size_t k = 0; rv == MORTISE_OK && k < dues->n; k++)
        d->behind |= k != i && was_reached(r, d->f, &dues->list[k]);
    walk_finish(&w);
    mortise_indexes_finish(r->mem, &preds);
    return rv;
}

int mortise_final_find_due(struct mortise_run *r, const struct frame *top,
                           struct final_dues *out, struct mortise_err *err)
{
    size_t n_frames = r->n_frames;
    int rv = MORTISE_OK;

    *out = (struct final_dues){.n = 0};
    for (size_t i = top->index; rv == MORTISE_OK && i < n_frames; i++) {
        struct frame *f = r->frames[i];
        uint32_t n = f->top == top ? f->region->n_nodes : 0;

        for (uint32_t k = 0; rv == MORTISE_OK && k < n; k++)
            if (is_waiting_settled(f, f->region->nodes[k]) &&
                mortise_final_is_current(f))
                rv = add_due_finalizer(r, f, f->region->nodes[k], out, err);
    }
    for (size_t i = 0; rv == MORTISE_OK && i < out->n; i++)
        rv = check_behind(r, out, i, err);
    return rv;
}

void mortise_final_dues_finish(const struct mortise_run *r,
                               struct final_dues *dues)
{
    for (size_t i = 0; i < dues->n; i++)
        mortise_indexes_finish(r->mem, &dues->list[i].preds);
    mortise_release(r->mem, dues->list, dues->cap * sizeof dues->list[0]);
}

static bool is_finalizer_reason(enum loss why)
{
    return why == LOSS_FAIL || why == LOSS_TIME || why == LOSS_BUDGET;
}

bool mortise_final_is_allowed(const struct frame *top)
{
    while (top->scope->halt == LOSS_OUTER &&
           top->scope->owner->loss == LOSS_OUTER)
        top = top->scope->owner->frame->top;
    if (top->scope->halt == LOSS_OUTER)
        return is_finalizer_reason(top->scope->owner->loss);
    return is_finalizer_reason(top->scope->halt) &&
           !mortise_budget_has_goto(top->scope);
}

/* ---- active finalizers -------------------------------------------------- */

void mortise_final_mark(struct mortise_run *r, struct exec *x)
{
    x->final = r->finals = true;
    x->ran_before_stop = x->state == X_RUNNING || x->state == X_INNER_GRAPH;
}

bool mortise_final_can_mark(const struct exec *x)
{
    const struct frame *f = x->frame;

    return x->fan == NULL && x->node < f->graph->n_nodes &&
           x->loss == LOSS_NONE && !mortise_exec_has_ended(x) &&
           f->region->entry != x->node &&
           f->graph->nodes[x->node].join.kind == MORTISE_JOIN_SETTLED;
}

/* Give x the time of a finalizer from now on. */
static int set_finalizer_deadline(struct mortise_run *r, struct exec *x,
                                  struct mortise_err *err)
{
    int rv;

    x->ran_before_stop = false;
    if (x->state == X_INNER_GRAPH) {
        x->spent_ms = mortise_clock_get_active_ms(r, x->child->scope);
        return mortise_clock_rearm(r, x->child->scope, err);
    }
    if (x->state != X_RUNNING)
        return MORTISE_OK;
    x->spent_ms = r->steady_ms - x->called_ms;
    rv = mortise_exec_disarm_timer(r, x, err);
    return rv == MORTISE_OK
               ? mortise_exec_arm_timer_after(
                     r, x, mortise_call_get_timeout_end(x) - r->steady_ms, err)
               : rv;
}

int mortise_final_limit_time(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 1; rv == MORTISE_OK && i < r->n_execs; i++)
        if (r->execs[i]->ran_before_stop)
            rv = set_finalizer_deadline(r, r->execs[i], err);
    return rv;
}

void mortise_final_mark_settled(struct mortise_run *r)
{
    bool any = false;

    for (size_t i = 1; i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (!mortise_final_can_mark(x) || mortise_exec_is_final(x))
            continue;
        mortise_final_mark(r, x);
        any = true;
    }
    for (size_t i = 0; any && i < r->n_frames; i++) {
        /* the scope of a map's element has no owner */
        const struct exec *in = r->frames[i]->top->scope->owner;

        if (in == NULL || !mortise_exec_is_final(in))
            r->frames[i]->halted = true; /* nothing follows them */
    }
}

bool mortise_final_is_active(const struct mortise_run *r)
{
    for (size_t i = 1; i < r->n_execs; i++)
        if (r->execs[i]->final && !mortise_exec_has_ended(r->execs[i]))
            return true;
    return false;
}

bool mortise_run_is_ending(const struct mortise_run *r)
{
    return r->cancelling && r->after == 0 && !r->given_up &&
           r->status < MORTISE_RUN_COMPLETED;
}

void mortise_final_abandon(struct mortise_run *r)
{
    r->given_up = true;
}

void mortise_final_clear_abandoned(struct mortise_run *r)
{
    r->given_up = false;
}

void mortise_final_unmark(struct exec *x)
{
    x->final = x->ran_before_stop = false;
    x->spent_ms = 0;
}
