/* frame.c -- activation: which node starts when another one has ended.
 *
 * A run has a frame for each active instance of a region (graph.h): one for the
 * graph, one for each visit of a loop.  Inside, a region is acyclic, and its
 * frame decides each of its edges once: taken, dead, or failed (its source
 * failed, or was skipped because of a failure).  Everything here is derived by
 * rule, in the same way for a new entry and for a replayed one.
 *
 *   (1) An item (a node, or a loop as a whole) starts or is skipped once in a
 *       frame, when its join decides so.  Edges decided later change nothing.
 *   (2) Skipping an item decides its edges, without recursion (r->work).
 *   (3) An edge that leaves loops is decided in the frame of its home: at once
 *       if it is taken, else when the outermost loop that it leaves has ended.
 *   (4) A visit of a loop ends when each of its items has ended.  Then the next
 *       visit starts, if a back edge was taken; its entry comes after
 *       everything in the previous visit.
 *   (5) A failure that reaches the end of its path (an edge to END, a node
 *       without edges) fails the frame and the frames around it, unless the
 *       path ends at joins that collect or drop it.
 *       A failure that no join can handle any more
 *       (lang/graph/check/recoverable.c) fails them at once: with fail_fast it
 *       stops the graph before anything follows from it, and with `end: first`
 *       the graph has failed before it reaches END.
 *   (6) The cost of a step is bounded by the frames in which it decides edges,
 *       not by the graph.
 */
#include <assert.h>
#include <string.h>

#include "core/run/flow/flow.h"

/* ---- frames and items --------------------------------------------------- */

/* Continue the visit numbers of `before`, the previous frame of the region in
 * this scope. */
static void copy_visit_counts(struct frame *f, const struct frame *before)
{
    for (size_t i = 0;
         before != NULL && i < mortise_frame_count_items(f->region); i++) {
        f->items[i].visits = before->items[i].visits;
        f->items[i].visit = before->items[i].visit;
        f->items[i].fan = before->items[i].fan;
    }
}

struct frame *mortise_frame_new(struct mortise_run *r, struct frame *parent,
                                struct scope *scope,
                                const struct mortise_region *region,
                                const struct frame *before,
                                struct mortise_err *err)
{
    struct frame **grown = mortise_array_grow(r->mem, r->frames, r->n_frames,
                                              &r->cap_frames, sizeof grown[0]);
    struct frame *f = mortise_arena_alloc(&r->arena, sizeof *f);
    size_t n = mortise_frame_count_items(region);

    assert((parent == NULL) == (region->kind == MORTISE_REGION_GRAPH));
    assert(before == NULL || before->region == region);
    if (grown != NULL)
        r->frames = grown;
    if (grown == NULL || f == NULL) {
        mortise_nomem(err);
        return NULL;
    }
    f->items = mortise_arena_alloc(&r->arena, n * sizeof f->items[0]);
    f->edges = mortise_arena_alloc(&r->arena, region->n_edges);
    f->edge_src =
        mortise_arena_alloc(&r->arena, region->n_edges * sizeof f->edge_src[0]);
    if (f->items == NULL || f->edges == NULL || f->edge_src == NULL) {
        mortise_nomem(err);
        return NULL;
    }
    f->index = (uint32_t)r->n_frames;
    /* mortise_frame_new_for_graph() sets the graph of a graph's own frame. */
    f->graph = parent != NULL ? parent->graph : NULL;
    f->region = region;
    f->parent = parent;
    f->top = parent != NULL ? parent->top : f;
    f->scope = scope;
    f->n_open = (uint32_t)n;
    copy_visit_counts(f, before);
    if (parent != NULL) {
        f->sibling = parent->kids;
        parent->kids = f;
    }
    r->frames[r->n_frames++] = f;
    return f;
}

struct frame *mortise_frame_new_for_graph(struct mortise_run *r,
                                          const struct mortise_graph *g,
                                          const char *prefix,
                                          const struct frame *before,
                                          struct mortise_err *err)
{
    struct scope *scope = mortise_arena_alloc(&r->arena, sizeof *scope);

    if (scope != NULL)
        scope->artifacts = mortise_arena_alloc(
            &r->arena, g->n_nodes * sizeof scope->artifacts[0]);
    if (scope == NULL || scope->artifacts == NULL) {
        mortise_nomem(err);
        return NULL;
    }
    scope->prefix = prefix;
    scope->suffix = "";
    scope->next = r->graphs;
    r->graphs = scope;
    if (mortise_budget_create_purse(r, scope, g, err) != MORTISE_OK)
        return NULL;
    scope->root =
        mortise_frame_new(r, NULL, scope, &g->regions[0], before, err);
    if (scope->root != NULL)
        scope->root->graph = g;
    return scope->root;
}

void mortise_frame_abandon(struct frame *f)
{
    f->behind = true;
    for (struct exec *x = f->execs; x != NULL; x = x->sibling) {
        if (x->final && !mortise_exec_has_ended(x))
            continue; /* an active finalizer continues, with all inside it */
        if (x->child != NULL)
            mortise_frame_abandon(x->child);
        if (x->tools != NULL)
            mortise_frame_abandon(x->tools);
    }
    for (struct frame *kid = f->kids; kid != NULL; kid = kid->sibling)
        mortise_frame_abandon(kid);
}

/* ---- failures ----------------------------------------------------------- */

/* Fail the loop visits from `from` outwards, up to but not including `to`. */
static void fail_visits(const struct mortise_run *r, struct frame *from,
                        const struct frame *to, uint32_t cause)
{
    for (struct frame *f = from; f != to; f = f->parent) {
        f->failed = true;
        f->cause = mortise_exec_get_least(r, f->cause, cause);
    }
}

/* A failure reached the end of a frame, and no frame around it handles it. */
static void fail_finally(const struct mortise_run *r, struct frame *from,
                         uint32_t cause)
{
    fail_visits(r, from, NULL, cause);
    for (struct frame *f = from; f != NULL; f = f->parent)
        f->failed_unhandled = true;
}

/* Fail x's graph; the failure is known from f outwards. */
static int fail_graph(struct mortise_run *r, struct frame *f, struct exec *x,
                      struct mortise_err *err)
{
    fail_finally(r, f, x->index);
    x->failed_to_graph_end = true;
    return f->graph->fail_fast
               ? mortise_race_halt_graph(r, f->top, LOSS_FAIL, err)
               : MORTISE_OK;
}

/* A failure reached the end of its path in f. */
static int fail_surrounding(struct mortise_run *r, struct frame *f,
                            uint32_t cause, struct mortise_err *err)
{
    struct exec *x = r->execs[cause];
    const struct frame *root = f->scope->root;
    bool apart = !mortise_exec_is_counted_in(x, root);

    /* A loser that may finish fails only its own branch. */
    fail_visits(r, f, apart ? r->frames[x->discard - 1] : root->parent, cause);
    if (root != f->top || apart)
        return MORTISE_OK; /* the map's join decides */
    return fail_graph(r, f, x, err);
}

/* Does x's failure fail the graph, wherever its edges lead? */
static bool must_fail_graph(const struct mortise_run *r, const struct exec *x)
{
    const struct mortise_node *n = mortise_exec_node(r, x);

    if (x->fan != NULL)
        n = &x->frame->graph->nodes[x->fan->map->join];
    return mortise_exec_is_counted_in(x, x->frame->top) && !n->recoverable &&
           (x->fan == NULL || n->join.on_branch_error == MORTISE_BRANCH_FAIL);
}

/* ---- deciding edges ----------------------------------------------------- */

int mortise_frame_queue_edge(struct mortise_run *r, struct frame *home,
                             uint32_t edge, struct mortise_err *err)
{
    struct due *grown = mortise_array_grow(r->mem, r->work, r->n_work,
                                           &r->cap_work, sizeof *grown);

    if (grown == NULL)
        return mortise_nomem(err);
    r->work = grown;
    r->work[r->n_work++] = (struct due){home, edge};
    return MORTISE_OK;
}

/* Decide an edge to the join of the map that f is an element of. */
static int set_yield_edge(struct mortise_run *r, struct frame *f,
                          enum edge_state state, uint32_t src,
                          struct mortise_err *err)
{
    struct exec *x = r->execs[src];

    if (state == EDGE_FAILED)
        return fail_surrounding(r, f, src, err);
    if (state == EDGE_TAKEN && x->next_yield == NULL && f->yields != x) {
        x->next_yield = f->yields;
        f->yields = x;
    }
    return MORTISE_OK;
}

/* A taken edge leaves the loops from f outwards to `home`. */
static void mark_left(struct frame *f, const struct frame *home)
{
    for (; f != home; f = f->parent)
        f->left = true;
}

/* Decide an edge out of f, or out of a loop in it. */
static int set_frame_edge(struct mortise_run *r, struct frame *f, uint32_t edge,
                          enum edge_state state, uint32_t src,
                          struct mortise_err *err)
{
    const struct mortise_edge *e = mortise_frame_edge(f, edge);
    struct frame *home = mortise_frame_find_region(f, e->home);

    if (home->edges[e->slot] != EDGE_OPEN)
        return MORTISE_OK; /* a goto decided it before */
    if (home != f && state == EDGE_FAILED)
        fail_visits(r, f, home, src);
    if (home != f && state != EDGE_TAKEN)
        return MORTISE_OK; /* (3) */
    mark_left(f, home);
    home->edges[e->slot] = (uint8_t)state;
    home->edge_src[e->slot] = src;
    if (e->back) {
        home->again |= state == EDGE_TAKEN;
        if (state == EDGE_FAILED)
            fail_visits(r, home, home->parent, src);
        return MORTISE_OK;
    }
    if (e->yields)
        return set_yield_edge(r, home, state, src, err);
    if (e->to == MORTISE_END && state == EDGE_FAILED)
        return fail_surrounding(r, home, src, err);
    if (e->to == MORTISE_END)
        return state == EDGE_TAKEN && f->graph->end_first &&
                       !mortise_race_has_reached_end(f)
                   ? mortise_race_halt_graph(r, f->top, LOSS_END, err)
                   : MORTISE_OK;
    return mortise_frame_queue_edge(r, home, edge, err);
}

/* ---- loops -------------------------------------------------------------- */

/* End an item.  If it was the last, queue the frame: the queued edges come
 * first, since they can still bring a failure to it. */
static int close_item(struct mortise_run *r, struct frame *f, struct item *it,
                      enum item_phase phase, struct mortise_err *err)
{
    assert(f->n_open > 0 && phase > ITEM_ACTIVE);
    it->phase = phase;
    return --f->n_open > 0 || f->halted
               ? MORTISE_OK
               : mortise_indexes_add(r->mem, &r->ended, f->index, err);
}

int mortise_frame_queue_if_finished(struct mortise_run *r,
                                    const struct frame *f,
                                    struct mortise_err *err)
{
    return f->n_open == 0
               ? mortise_indexes_add(r->mem, &r->ended, f->index, err)
               : MORTISE_OK;
}

static int activate_node(struct mortise_run *r, struct frame *f, uint32_t node,
                         const struct indexes *preds, struct mortise_err *err)
{
    struct item *it = mortise_item_of(f, node);
    struct exec *x = mortise_exec_new(r, f, node, ++it->visits, preds, err);

    if (x == NULL)
        return MORTISE_ENOMEM;
    mortise_race_set_discard(x, f, it);
    it->exec = x->index;
    it->phase = ITEM_ACTIVE;
    return mortise_exec_make_ready(r, x, err);
}

/* Start the next visit of the loop whose item in f is `it`. */
static int start_loop_visit(struct mortise_run *r, struct frame *f,
                            struct item *it, const struct mortise_region *loop,
                            const struct indexes *preds,
                            struct mortise_err *err)
{
    struct frame *next =
        mortise_frame_new(r, f, f->scope, loop, it->visit, err);

    assert(loop->kind == MORTISE_REGION_LOOP &&
           loop->parent == f->region->index);
    if (next == NULL)
        return MORTISE_ENOMEM;
    next->discard = mortise_race_get_discard(f, it);
    it->visit = next;
    it->phase = ITEM_ACTIVE;
    return activate_node(r, next, loop->entry, preds, err);
}

/* Start `node`, or the region that it is the entry of, in f. */
static int start_frame_item(struct mortise_run *r, struct frame *f,
                            uint32_t node, const struct indexes *preds,
                            struct mortise_err *err)
{
    const struct mortise_region *child;
    struct item *it = mortise_item_find_target(f, node, &child);

    if (child == NULL)
        return activate_node(r, f, node, preds, err);
    if (child->kind == MORTISE_REGION_LOOP)
        return start_loop_visit(r, f, it, child, preds, err);
    it->phase = ITEM_ACTIVE;
    return mortise_map_start(r, it, preds, err);
}

int mortise_frame_start_item(struct mortise_run *r, struct frame *f,
                             uint32_t node, const struct indexes *preds,
                             size_t since, struct mortise_err *err)
{
    struct indexes both = {.n = 0};
    int rv = MORTISE_OK;

    if (r->update < since || f->top != r->frames[0])
        return start_frame_item(r, f, node, preds, err);
    for (size_t i = 0; rv == MORTISE_OK && i < preds->n; i++)
        rv = mortise_indexes_add(r->mem, &both, preds->list[i], err);
    if (rv == MORTISE_OK)
        rv = mortise_indexes_add(r->mem, &both, r->update, err);
    if (rv == MORTISE_OK)
        rv = start_frame_item(r, f, node, &both, err);
    mortise_indexes_finish(r->mem, &both);
    return rv;
}

/* The source of a taken edge of f.  After an update the edge names the update;
 * then it is the newest execution of its source node. */
static const struct exec *get_edge_source(const struct mortise_run *r,
                                          const struct frame *f, uint32_t edge)
{
    const struct mortise_edge *e = mortise_frame_edge(f, edge);
    const struct exec *x = r->execs[f->edge_src[e->slot]];
    const struct mortise_region *child;

    if (x->node == NODE_UPDATE)
        x = r->execs[mortise_frame_find_newest_item(f, e->from, &child)->exec];
    return x;
}

/* Set x->handles: the failure whose on_error edge, the first one taken among
 * `in`, leads to x. */
static void set_handled_failure(const struct mortise_run *r,
                                const struct frame *f, const uint32_t *in,
                                uint32_t n_in, struct exec *x)
{
    for (uint32_t i = 0; i < n_in && x->handles == 0; i++) {
        const struct mortise_edge *e = mortise_frame_edge(f, in[i]);

        if (e->kind == MORTISE_EDGE_ERROR && f->edges[e->slot] == EDGE_TAKEN)
            x->handles = get_edge_source(r, f, in[i])->index;
    }
}

static int start_next_visit(struct mortise_run *r, struct frame *f,
                            struct item *it, struct frame *before,
                            struct mortise_err *err)
{
    const struct mortise_node *entry = &f->graph->nodes[before->region->entry];
    struct indexes preds = {.n = 0};
    size_t since = mortise_item_of(before, before->region->entry)->exec;
    const struct exec *from = r->execs[since];
    int rv = mortise_view_add_frontier_of(r, &before, 1, since, &preds, err);
    size_t n = preds.n;

    /* If nothing in the visit committed, use the predecessors of its entry. */
    for (uint32_t i = 0; rv == MORTISE_OK && n == 0 && i < from->n_preds; i++)
        rv = mortise_indexes_add(r->mem, &preds, from->preds[i], err);
    if (rv == MORTISE_OK)
        rv = start_loop_visit(r, f, it, before->region, &preds, err);
    if (rv == MORTISE_OK)
        set_handled_failure(r, before, entry->in + entry->n_in,
                            entry->n_back_in, r->execs[r->n_execs - 1]);
    mortise_indexes_finish(r->mem, &preds);
    return rv;
}

/* A loop took an exit and a back edge in the same visit: the graph fails. */
static int record_loop_conflict(struct mortise_run *r, const struct frame *f,
                                struct mortise_err *err)
{
    const struct exec *x = r->execs[mortise_item_of(f, f->region->entry)->exec];
    struct scope *in = f->top->scope;
    char path[MORTISE_EXEC_PATH];
    struct mortise_err words;
    json_t *error;

    /* Record only the least of several. */
    if (in->loop_error != NULL &&
        mortise_exec_get_least(r, in->loop_left, x->index) != x->index)
        return MORTISE_OK;
    mortise_exec_print_path(r, x, path);
    mortise_fail(&words, MORTISE_EINVAL,
                 "in visit %u, the loop of '%s' took both an edge back and an "
                 "edge out of the loop",
                 x->visit, mortise_exec_node(r, x)->id);
    error = mortise_error_new(mortise_exec_node(r, x)->id, "loop", "permanent",
                              words.msg);
    if (error == NULL ||
        json_object_set_new(error, "path", json_string(path)) != 0) {
        json_decref(error);
        return mortise_nomem(err);
    }
    mortise_json_clear_ref(&in->loop_error);
    in->loop_error = error;
    in->loop_left = x->index;
    return MORTISE_OK;
}

/* Decide the exits of a loop that were not taken and whose home is f: dead, or
 * failed.  A failure that leaves outer loops too, or leads nowhere, fails
 * these. */
static int close_exits(struct mortise_run *r, struct frame *f,
                       const struct frame *last, struct mortise_err *err)
{
    const struct mortise_region *loop = last->region;
    enum edge_state state = last->failed ? EDGE_FAILED : EDGE_DEAD;
    bool went = false;
    int rv = MORTISE_OK;

    for (uint32_t i = loop->n_exits; rv == MORTISE_OK && i-- > 0;) {
        const struct mortise_edge *e = mortise_frame_edge(f, loop->exits[i]);
        const struct frame *home = mortise_frame_find_region(f, e->home);

        if (home->edges[e->slot] != EDGE_OPEN)
            continue;
        went = true;
        rv = set_frame_edge(r, f, loop->exits[i], state, last->cause, err);
    }
    return rv == MORTISE_OK && last->failed && !went
               ? fail_surrounding(r, f, last->cause, err)
               : rv;
}

static int end_loop_visit(struct mortise_run *r, struct frame *f,
                          struct mortise_err *err)
{
    struct frame *home = f->parent;
    struct item *it = mortise_item_of_region(home, f->region->index);
    bool again =
        f->again && !f->failed && !f->lost && !mortise_race_has_reached_end(f);
    int rv = MORTISE_OK;

    if (again && !f->left)
        return start_next_visit(r, home, it, f, err); /* (4) */
    if (again)
        rv = record_loop_conflict(r, f, err);
    if (rv == MORTISE_OK)
        rv = close_exits(r, home, f, err);
    return rv == MORTISE_OK
               ? close_item(r, home, it, f->failed ? ITEM_FAILED : ITEM_OVER,
                            err)
               : rv;
}

static int end_frame(struct mortise_run *r, struct frame *f,
                     struct mortise_err *err)
{
    switch (f->region->kind) {
    case MORTISE_REGION_LOOP:
        return end_loop_visit(r, f, err);
    case MORTISE_REGION_MAP:
        return mortise_map_finish_element(r, f, err);
    case MORTISE_REGION_GRAPH:
        break;
    }
    return mortise_sub_handle_graph_end(r, f, err);
}

/* ---- joins -------------------------------------------------------------- */

/* A race was won: stop the branches that did not come. */
static int notify_race_won(struct mortise_run *r, struct frame *f,
                           const struct mortise_node *n, const struct item *it,
                           struct mortise_err *err)
{
    return it->n_decided < n->n_in
               ? mortise_race_mark_losers(r, f, n->index, err)
               : MORTISE_OK;
}

/* Fail the frames of the failures that came by these edges to n. */
static int fail_branches(struct mortise_run *r, struct frame *f,
                         const uint32_t *in, uint32_t n_in,
                         struct mortise_err *err)
{
    struct indexes failed = {.n = 0};
    int rv = MORTISE_OK;

    for (uint32_t i = 0; rv == MORTISE_OK && i < n_in; i++)
        rv = mortise_join_add_failures(r, f, in[i], &failed, err);
    for (size_t i = 0; rv == MORTISE_OK && i < failed.n; i++)
        if (mortise_exec_is_counted_in(r->execs[failed.list[i]], f))
            rv = fail_surrounding(r, f, failed.list[i], err);
    mortise_indexes_finish(r->mem, &failed);
    return rv;
}

/* A settled join starts anyway, but handles failures only if it collects
 * them. */
static int fail_settled_branches(struct mortise_run *r, struct frame *f,
                                 const struct mortise_node *n,
                                 const struct item *it, struct mortise_err *err)
{
    return n->join.kind == MORTISE_JOIN_SETTLED && it->n_failed > 0 &&
                   n->join.on_branch_error == MORTISE_BRANCH_FAIL
               ? fail_branches(r, f, n->in, n->n_in, err)
               : MORTISE_OK;
}

int mortise_frame_start_joined_node(struct mortise_run *r, struct frame *f,
                                    uint32_t node, const struct indexes *preds,
                                    struct mortise_err *err)
{
    const struct mortise_node *n = &f->graph->nodes[node];
    const struct mortise_region *child;
    const struct item *it = mortise_item_find_target(f, node, &child);
    int rv = start_frame_item(r, f, node, preds, err);

    if (rv == MORTISE_OK)
        set_handled_failure(r, f, n->in, n->n_in, r->execs[r->n_execs - 1]);
    return rv == MORTISE_OK && it->n_failed > 0 &&
                   mortise_join_lists_failures(n)
               ? mortise_join_collect_failures(r, f, n,
                                               r->execs[r->n_execs - 1], err)
               : rv;
}

static int skip_item(struct mortise_run *r, struct frame *f, uint32_t node,
                     bool failed, struct mortise_err *err);

static int fire_join(struct mortise_run *r, struct frame *f, uint32_t node,
                     struct mortise_err *err)
{
    const struct mortise_node *n = &f->graph->nodes[node];
    const struct mortise_region *child;
    struct item *it = mortise_item_find_target(f, node, &child);
    bool busy = false;
    int rv;

    r->preds.n = 0; /* a node that starts copies them */
    rv = n->join.kind == MORTISE_JOIN_SETTLED
             ? mortise_final_add_sources(r, f, n, &busy, &r->preds, err)
             : mortise_join_add_sources(r, f, n, &r->preds, err);
    if (rv != MORTISE_OK || busy)
        return rv;
    if (r->preds.n == 0 && it->n_failed > 0) /* only failures came */
        rv = mortise_final_add_sources(r, f, n, NULL, &r->preds, err);
    if (rv == MORTISE_OK)
        rv = fail_settled_branches(r, f, n, it, err);
    if (rv != MORTISE_OK || f->halted) /* then final.c starts it */
        return rv;
    if (rv == MORTISE_OK && r->preds.n == 0) /* no branch to it ran */
        return skip_item(r, f, node, false, err);
    if (rv == MORTISE_OK)
        rv = mortise_frame_start_joined_node(r, f, node, &r->preds, err);
    return rv == MORTISE_OK && mortise_join_is_race(&n->join)
               ? notify_race_won(r, f, n, it, err)
               : rv;
}

static const char *get_skip_reason(bool failed)
{
    return failed ? "a node before it failed" : "not on the path taken";
}

static int skip_node(struct mortise_run *r, struct frame *f,
                     const struct mortise_node *n, const struct item *it,
                     bool failed, struct mortise_err *err)
{
    int rv = mortise_event_announce_skipped(r, n, get_skip_reason(failed), err);

    if (rv == MORTISE_OK && failed && n->n_out == 0)
        rv = fail_surrounding(r, f, it->cause, err);
    for (uint32_t i = n->n_out; rv == MORTISE_OK && i-- > 0;)
        rv = set_frame_edge(r, f, n->out[i], failed ? EDGE_FAILED : EDGE_DEAD,
                            it->cause, err);
    return rv;
}

/* The depth of the recursion is the nesting of regions
 * (MORTISE_MAX_REGIONS). */
static int announce_region_skipped(struct mortise_run *r,
                                   const struct mortise_graph *g,
                                   const struct mortise_region *region,
                                   bool failed, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (uint32_t i = 0; rv == MORTISE_OK && i < region->n_nodes; i++)
        rv = mortise_event_announce_skipped(r, &g->nodes[region->nodes[i]],
                                            get_skip_reason(failed), err);
    for (uint32_t i = 0; rv == MORTISE_OK && i < region->n_regions; i++)
        rv = announce_region_skipped(r, g, &g->regions[region->regions[i]],
                                     failed, err);
    return rv;
}

/* Skip a loop that never starts, with each node in it, at any depth. */
static int skip_region(struct mortise_run *r, struct frame *f,
                       const struct mortise_region *region,
                       const struct item *it, bool failed,
                       struct mortise_err *err)
{
    const struct frame never = {
        .region = region, .failed = failed, .cause = it->cause};
    int rv = announce_region_skipped(r, f->graph, region, failed, err);

    return rv == MORTISE_OK ? close_exits(r, f, &never, err) : rv;
}

static int skip_item(struct mortise_run *r, struct frame *f, uint32_t node,
                     bool failed, struct mortise_err *err)
{
    const struct mortise_region *child;
    struct item *it = mortise_item_find_target(f, node, &child);
    int rv;

    if (child == NULL)
        rv = skip_node(r, f, &f->graph->nodes[node], it, failed, err);
    else
        rv = skip_region(r, f, child, it, failed, err);
    return rv == MORTISE_OK
               ? close_item(r, f, it,
                            failed ? ITEM_SKIPPED_FAILED : ITEM_SKIPPED, err)
               : rv;
}

int mortise_frame_decide_join(struct mortise_run *r, struct frame *f,
                              uint32_t node, const struct item *it,
                              struct mortise_err *err)
{
    switch (mortise_join_decide(f, &f->graph->nodes[node], it)) {
    case JOIN_FIRE:
        return fire_join(r, f, node, err);
    case JOIN_SKIP:
        return skip_item(r, f, node, false, err);
    case JOIN_SKIP_FAILED:
        return skip_item(r, f, node, true, err);
    case JOIN_WAIT:
        break;
    }
    return mortise_map_check_race(r, f, node, it, NULL, err);
}

/* An item ended: settled joins that waited for it may start. */
static int check_settled_joins(struct mortise_run *r, struct frame *f,
                               struct mortise_err *err)
{
    const struct mortise_region *in = f->region;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && f->graph->settles &&
                       i < mortise_frame_count_items(in);
         i++) {
        uint32_t node =
            i < in->n_nodes
                ? in->nodes[i]
                : f->graph->regions[in->regions[i - in->n_nodes]].entry;

        if (f->graph->nodes[node].join.kind == MORTISE_JOIN_SETTLED &&
            f->items[i].phase == ITEM_WAITS)
            rv = mortise_frame_decide_join(r, f, node, &f->items[i], err);
    }
    return rv;
}

static int notify_target(struct mortise_run *r, struct frame *f, uint32_t edge,
                         struct mortise_err *err)
{
    uint32_t to = mortise_frame_edge(f, edge)->to;
    struct join_count c = mortise_join_count_branches(r, f, edge);
    const struct mortise_region *child;
    struct item *it = mortise_item_find_target(f, to, &child);
    int rv;

    it->n_decided++;
    it->n_taken += c.taken;
    it->n_failed += c.failed;
    it->cause = mortise_exec_get_least(r, it->cause, c.cause);
    if (f->halted)
        return MORTISE_OK;
    if (it->phase == ITEM_WAITS) /* (1) */
        return mortise_frame_decide_join(r, f, to, it, err);
    /* The failure came to a join that has started, or was skipped. */
    rv = c.failed > 0 &&
                 mortise_join_counts_late_failure(&f->graph->nodes[to], it)
             ? fail_branches(r, f, &edge, 1, err)
             : MORTISE_OK;
    return rv == MORTISE_OK ? check_settled_joins(r, f, err) : rv;
}

/* Inform the targets of the queued edges, then end the frames that have nothing
 * left. */
int mortise_frame_process_queue(struct mortise_run *r, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    while (rv == MORTISE_OK && r->n_work + r->ended.n > 0) {
        if (r->n_work > 0) {
            struct due d = r->work[--r->n_work];

            rv = notify_target(r, d.home, d.edge, err);
        } else {
            struct frame *f = r->frames[r->ended.list[--r->ended.n]];

            rv = f->halted ? MORTISE_OK : end_frame(r, f, err);
        }
    }
    return rv;
}

/* Decide all edges `out`: those in x->taken (in the order of `out`) are taken,
 * the others get `rest`.  Queues the first edge last, since the queue is a
 * stack. */
static int decide_out_edges(struct mortise_run *r, const struct exec *x,
                            const uint32_t *out, uint32_t n_out,
                            enum edge_state rest, struct mortise_err *err)
{
    uint32_t src = x->heir != 0 ? x->heir : x->index, t = x->n_taken;
    int rv = MORTISE_OK;

    for (uint32_t i = n_out; rv == MORTISE_OK && i-- > 0;) {
        bool taken = t > 0 && x->taken[t - 1] == out[i];

        t -= taken;
        rv = set_frame_edge(r, x->frame, out[i], taken ? EDGE_TAKEN : rest, src,
                            err);
    }
    return rv;
}

/* Store the lists of the maps that START leads to. */
static int store_start_lists(struct mortise_run *r, const struct exec *start,
                             struct mortise_err *err)
{
    const struct mortise_edge *edges = start->frame->graph->edges;
    json_t *lists = r->lists;
    size_t k = 0;
    int rv = MORTISE_OK;

    r->lists = NULL;
    for (uint32_t i = 0; rv == MORTISE_OK && i < start->n_taken; i++)
        if (mortise_edge_is_map(&edges[start->taken[i]]))
            rv = mortise_map_store_list(r, start, start->taken[i],
                                        json_array_get(lists, k++), err);
    if (rv == MORTISE_OK && k != json_array_size(lists))
        rv = mortise_fail(err, MORTISE_ECORRUPT,
                          "the journal has more lists than START has maps");
    json_decref(lists);
    return rv;
}

int mortise_frame_decide_start_edges(struct mortise_run *r,
                                     const struct exec *start,
                                     struct mortise_err *err)
{
    const struct mortise_graph *g = start->frame->graph;
    int rv = store_start_lists(r, start, err);

    if (rv == MORTISE_OK)
        rv = decide_out_edges(r, start, g->start, g->n_start, EDGE_DEAD, err);

    return rv == MORTISE_OK ? mortise_frame_process_queue(r, err) : rv;
}

int mortise_frame_decide_map_edge(struct mortise_run *r, struct fan *fan,
                                  enum edge_state state, uint32_t src,
                                  struct mortise_err *err)
{
    return set_frame_edge(r, fan->home, fan->map->gather, state, src, err);
}

int mortise_frame_finish_map(struct mortise_run *r, struct fan *fan,
                             bool failed, struct mortise_err *err)
{
    return close_item(r, fan->home, fan->item, failed ? ITEM_FAILED : ITEM_OVER,
                      err);
}

/* A map gathered, or failed to. */
static int follow_gather(struct mortise_run *r, struct exec *x,
                         enum edge_state rest, struct mortise_err *err)
{
    uint32_t cause = x->index;
    enum edge_state state = x->state == X_DONE
                                ? mortise_map_get_edge_state(r, x->fan, &cause)
                                : rest;
    int rv = mortise_frame_decide_map_edge(r, x->fan, state, cause, err);

    if (rv == MORTISE_OK && mortise_map_has_ended(x->fan))
        rv = mortise_frame_finish_map(r, x->fan, state == EDGE_FAILED, err);
    return rv == MORTISE_OK ? mortise_frame_process_queue(r, err) : rv;
}

static int follow_exec(struct mortise_run *r, struct exec *x,
                       enum edge_state rest, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    bool failed = rest == EDGE_FAILED;
    int rv = MORTISE_OK;

    if (x->frame->behind)
        return MORTISE_OK;
    /* Fail the graph before an END or a halt ends it early. */
    if (failed && must_fail_graph(r, x))
        rv = fail_graph(r, x->frame, x, err);
    if (rv == MORTISE_OK && x->fan != NULL)
        return follow_gather(r, x, rest, err);
    if (rv == MORTISE_OK && failed && n->n_out == 0)
        rv = fail_surrounding(r, x->frame, x->index, err);
    if (rv == MORTISE_OK)
        rv = decide_out_edges(r, x, n->out, n->n_out, rest, err);
    if (rv == MORTISE_OK)
        rv = close_item(r, x->frame, mortise_item_of(x->frame, x->node),
                        failed ? ITEM_FAILED : ITEM_OVER, err);
    return rv == MORTISE_OK ? mortise_frame_process_queue(r, err) : rv;
}

int mortise_frame_decide_edges(struct mortise_run *r, struct exec *x,
                               enum edge_state rest, struct mortise_err *err)
{
    int rv = follow_exec(r, x, rest, err);

    return rv == MORTISE_OK && x->final
               ? mortise_race_handle_final_end(r, x, err)
               : rv;
}

/* ---- queries ------------------------------------------------------------- */

bool mortise_frame_has_skipped(const struct frame *f, uint32_t node)
{
    const struct mortise_region *child;
    enum item_phase phase =
        mortise_frame_find_newest_item(f, node, &child)->phase;

    return phase == ITEM_SKIPPED || phase == ITEM_SKIPPED_FAILED;
}

bool mortise_frame_is_alive(const struct frame *f)
{
    const struct exec *owner = f->scope->owner;
    const struct item *it;

    if (f->behind)
        return false;
    if (f->parent == NULL)
        return owner == NULL ||
               ((owner->child == f || owner->tools == f) &&
                owner->loss != LOSS_RACE &&
                (mortise_exec_item(owner)->phase == ITEM_ACTIVE ||
                 (owner->asked_again && owner->state == X_INNER_GRAPH)) &&
                mortise_frame_is_alive(owner->frame));
    it = mortise_item_of_region(f->parent, f->region->index);
    return it->phase == ITEM_ACTIVE &&
           (f->region->kind == MORTISE_REGION_LOOP
                ? it->visit == f
                : it->fan == f->scope->fan &&
                      !(f->over && (it->fan->enough || !f->failed))) &&
           mortise_frame_is_alive(f->parent);
}
