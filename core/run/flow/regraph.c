/* regraph.c -- switching a run to another graph: steering.
 *
 * Frames are instances of the regions of a graph, with its numbers of nodes and
 * edges.  When the graph is replaced, each active frame is converted in place:
 *
 *   (1) A node that has begun is fixed.  It is equal in both graphs, has the
 *       same predecessors, and keeps its executions, their journals, requests
 *       and calls.  This is checked for every new graph, and again in a replay.
 *       An active team may differ inside only, where the same rule holds.
 *   (2) A waiting node follows the new graph: its edges are decided from the
 *       state of their sources.  So a node sees a source that ended long ago,
 *       and is skipped if its source failed.
 *   (3) A node that is ready, and for which nothing was done yet, waits: if it
 *       has new predecessors, or is removed, its execution is withdrawn.
 *   (4) Frames that have ended or were abandoned stay unchanged, and keep their
 *       graph.
 *
 * Nodes are equal if they have the same id in the same graph.  A graph that
 * changes must be plain: without loops and maps, which are frames of their own,
 * and without guarded or discovered edges.  Another graph inside a plain one is
 * carried along unchanged.
 *
 * The conversion depends only on both graphs and on the entries of the run.
 */
#include <assert.h>
#include <string.h>

#include "core/model/compare.h"
#include "core/run/flow/flow.h"

#define NO_OLD_INDEX 0xFFFFFFFCu /* no node, no edge */

/* ---- comparing graphs ---------------------------------------------------- */

/* The id of an edge's source: a node or START. */
static const char *get_source_id(const struct mortise_graph *g, uint32_t from)
{
    return from == MORTISE_START ? "START" : g->nodes[from].id;
}

/* Do n and m have the same sources, in the same order? */
static bool has_same_sources(const struct mortise_graph *a,
                             const struct mortise_node *n,
                             const struct mortise_graph *b,
                             const struct mortise_node *m)
{
    if (n->n_in != m->n_in)
        return false;
    for (uint32_t i = 0; i < n->n_in; i++)
        if (strcmp(get_source_id(a, a->edges[n->in[i]].from),
                   get_source_id(b, b->edges[m->in[i]].from)) != 0)
            return false;
    return true;
}

/* Have both graphs the same numbers of nodes and edges, at every depth?  For
 * tools that depends on their definitions at load time. */
static bool has_same_shape(const struct mortise_graph *a,
                           const struct mortise_graph *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (a->n_nodes != b->n_nodes || a->n_edges != b->n_edges ||
        a->n_regions != b->n_regions)
        return false;
    for (uint32_t i = 0; i < a->n_nodes; i++)
        if (strcmp(a->nodes[i].id, b->nodes[i].id) != 0 ||
            !has_same_shape(a->nodes[i].sub, b->nodes[i].sub) ||
            !has_same_shape(a->nodes[i].tools, b->nodes[i].tools))
            return false;
    return true;
}

/* Is it free of loops, maps, and guarded or discovered edges? */
static bool is_plain_graph(const struct mortise_graph *g)
{
    if (g->n_regions != 1 || g->offers != NULL)
        return false;
    for (uint32_t i = 0; i < g->n_edges; i++)
        if (g->edges[i].policy != NULL || g->edges[i].discovery != NULL)
            return false;
    return true;
}

/* ---- nodes that have begun (1) ------------------------------------------ */

/* Is it ready, with nothing done for it (3)? */
static bool is_exec_untouched(const struct exec *x)
{
    return x->state == X_READY && !x->counted && x->generation == 1 &&
           x->attempt == 1 && !x->before_passed && !x->approved_whole;
}

/* Did the node run in f before a goto abandoned that execution? */
static bool ran_before_goto(const struct frame *f, uint32_t node)
{
    const struct item *it = mortise_item_of(f, node);
    const struct exec *x = it->visits > 0 ? f->execs : NULL;

    while (x != NULL && (x->node != node ||
                         (it->phase == ITEM_ACTIVE && x->index == it->exec)))
        x = x->sibling;
    return x != NULL;
}

/* The progress of a node in f's region, in words; NULL: it has not begun. */
static const char *get_begun_words(const struct mortise_run *r,
                                   const struct frame *f, uint32_t node)
{
    const struct item *it = mortise_item_of(f, node);
    const struct exec *x = r->execs[it->exec]; /* START's slot: no execution */

    switch (it->phase) {
    case ITEM_WAITS:
        return ran_before_goto(f, node) ? "has run before" : NULL;
    case ITEM_ACTIVE:
        return is_exec_untouched(x) && !ran_before_goto(f, node) ? NULL
               : x->state == X_ASKED ? "waits for a person"
                                     : "has started";
    case ITEM_OVER:
        return "has ended";
    case ITEM_FAILED:
        return "has failed";
    case ITEM_SKIPPED:
    case ITEM_SKIPPED_FAILED:
        return "was skipped";
    }
    return NULL;
}

/* The frame of the active graph inside a node of f; NULL: none. */
static struct frame *get_inner_frame(const struct mortise_run *r,
                                     const struct frame *f, uint32_t node)
{
    const struct item *it = mortise_item_of(f, node);
    const struct exec *x = r->execs[it->exec];

    return it->phase == ITEM_ACTIVE && x->state == X_INNER_GRAPH &&
                   mortise_frame_is_alive(x->child)
               ? x->child
               : NULL;
}

const char *mortise_run_get_node_progress(const struct mortise_run *r,
                                          const char *path)
{
    const struct frame *f = r->frames[0];
    const struct mortise_node *n;
    char id[80]; /* ids have at most 64 bytes */

    for (;;) {
        size_t k = strcspn(path, "/");

        if (k >= sizeof id || !is_plain_graph(f->graph))
            return NULL;
        memcpy(id, path, k);
        id[k] = '\0';
        n = mortise_graph_find_node(f->graph, id);
        if (n == NULL || path[k] == '\0')
            return n != NULL ? get_begun_words(r, f, n->index) : NULL;
        path += k + 1;
        if (mortise_item_of(f, n->index)->phase > ITEM_ACTIVE)
            return "is in a part that has ended";
        /* The graph inside a node begins as a whole. */
        if (get_inner_frame(r, f, n->index) == NULL)
            return get_begun_words(r, f, n->index) != NULL
                       ? "is in a part that has started"
                       : NULL;
        f = get_inner_frame(r, f, n->index);
    }
}

/* ---- checking the new graph ---------------------------------------------- */

static int fail_node_begun(const struct frame *f, const struct mortise_node *n,
                           const char *why, const char *what,
                           struct mortise_err *err)
{
    return mortise_fail(err, MORTISE_ESTATE, "node '%s%s' %s: %s",
                        f->scope->prefix, n->id, why, what);
}

static int check_frame_fits(const struct mortise_run *r, const struct frame *f,
                            const struct mortise_graph *to,
                            struct mortise_err *err);

/* n has begun, as `why` tells; m is its counterpart in the new graph, or
 * NULL. */
static int check_begun_node(const struct mortise_run *r, const struct frame *f,
                            const struct mortise_node *n,
                            const struct mortise_graph *to,
                            const struct mortise_node *m, const char *why,
                            struct mortise_err *err)
{
    const struct frame *child = get_inner_frame(r, f, n->index);
    bool over = mortise_item_of(f, n->index)->phase > ITEM_ACTIVE, same;
    int rv;

    if (m == NULL)
        return fail_node_begun(f, n, why, "it cannot be removed", err);
    rv = mortise_graph_compare_nodes(f->graph, n, to, m, child != NULL, &same,
                                     err);
    if (rv != MORTISE_OK)
        return rv;
    if (!same)
        return fail_node_begun(f, n, why, "it cannot be changed", err);
    if (!has_same_sources(f->graph, n, to, m))
        return fail_node_begun(f, n, why, "its dependencies cannot be changed",
                               err);
    rv = mortise_graph_compare_nodes(f->graph, n, to, m, false, &same, err);
    if (rv != MORTISE_OK)
        return rv;
    if (!over && (!has_same_shape(n->tools, m->tools) ||
                  (same && !has_same_shape(n->sub, m->sub))))
        return fail_node_begun(
            f, n, why, "its tools differ from those that it started with", err);
    return child == NULL || same ? rv : check_frame_fits(r, child, m->sub, err);
}

/* The depth of the recursion is the nesting of teams, which limits.depth
 * bounds. */
static int check_frame_fits(const struct mortise_run *r, const struct frame *f,
                            const struct mortise_graph *to,
                            struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (!is_plain_graph(f->graph) || !is_plain_graph(to))
        return mortise_fail(err, MORTISE_EINVAL,
                            "only task graphs can be steered, but this one has "
                            "loops, maps, or guarded or discovered edges");
    if (f->halted || f->lost || mortise_race_has_reached_end(f))
        return mortise_fail(
            err, MORTISE_ESTATE,
            "the graph of run %s is being stopped and starts no more nodes",
            r->id);
    for (uint32_t i = 0; rv == MORTISE_OK && i < f->graph->n_nodes; i++) {
        const struct mortise_node *n = &f->graph->nodes[i];
        const char *why = get_begun_words(r, f, i);

        if (why != NULL)
            rv = check_begun_node(r, f, n, to,
                                  mortise_graph_find_node(to, n->id), why, err);
    }
    return rv;
}

int mortise_regraph_check(const struct mortise_run *r,
                          const struct mortise_graph *to,
                          struct mortise_err *err)
{
    return check_frame_fits(r, r->frames[0], to, err);
}

/* ---- the new graph of each frame ---------------------------------------- */

struct frame_move {
    const struct mortise_graph *to; /* NULL: it stays unchanged (4) */
    bool is_other;                  /* ... and differs from the old one */
};

struct moving {
    struct mortise_run *r;
    struct mortise_arena a;    /* temporary data */
    struct frame_move *frames; /* by index */
};

/* Find the new graph inside a node, or of its tools; f is its frame. */
static int find_inner_graph(struct moving *m, const struct frame *f,
                            const struct exec *owner, struct frame_move *out,
                            struct mortise_err *err)
{
    const struct frame_move *outer = &m->frames[owner->frame->index];
    const struct mortise_node *n = mortise_exec_node(m->r, owner), *other;
    bool same = true;
    int rv = MORTISE_OK;

    if (outer->to == NULL)
        return MORTISE_OK;
    other = outer->is_other ? mortise_graph_find_node(outer->to, n->id)
                            : &outer->to->nodes[owner->node];
    assert(other != NULL); /* active, so it exists (1) */
    if (outer->is_other)
        rv = mortise_graph_compare_nodes(owner->frame->graph, n, outer->to,
                                         other, false, &same, err);
    out->to = owner->tools == f ? other->tools : other->sub;
    out->is_other = !same && owner->tools != f;
    return rv;
}

static int find_new_graphs(struct moving *m, const struct mortise_graph *to,
                           struct mortise_err *err)
{
    int rv = MORTISE_OK;

    m->frames = mortise_arena_alloc(&m->a, m->r->n_frames * sizeof *m->frames);
    if (m->frames == NULL)
        return mortise_nomem(err);
    /* Outer frames were made before inner ones. */
    for (size_t i = 0; rv == MORTISE_OK && i < m->r->n_frames; i++) {
        const struct frame *f = m->r->frames[i];
        struct frame_move *out = &m->frames[i];

        if (!mortise_frame_is_alive(f))
            continue;
        if (f->parent != NULL)
            *out = m->frames[f->parent->index];
        else if (f->scope->owner != NULL)
            rv = find_inner_graph(m, f, f->scope->owner, out, err);
        else
            *out = (struct frame_move){to, true};
    }
    return rv;
}

/* ---- a frame with an equal graph ---------------------------------------- */

static void move_to_equal_graph(struct frame *f, const struct mortise_graph *to)
{
    assert(to->n_nodes == f->graph->n_nodes &&
           to->n_edges == f->graph->n_edges &&
           to->n_regions == f->graph->n_regions);
    f->region = &to->regions[f->region->index];
    f->graph = to;
}

/* ---- a frame with a different graph ------------------------------------- */

struct rebuilt {
    struct frame *f;
    const struct mortise_graph *to;
    uint32_t *node_of; /* node of `to` -> of the old graph, or NO_OLD_INDEX */
    struct item *items;
    uint8_t *edges;
    uint32_t *edge_src;
};

static int rebuilt_init(struct moving *m, struct rebuilt *b, struct frame *f,
                        const struct mortise_graph *to, struct mortise_err *err)
{
    struct mortise_arena *a = &m->r->arena;
    uint32_t n = to->regions[0].n_edges;

    *b = (struct rebuilt){.f = f, .to = to};
    b->node_of = mortise_arena_alloc(&m->a, to->n_nodes * sizeof *b->node_of);
    b->items = mortise_arena_alloc(a, to->n_nodes * sizeof *b->items);
    b->edges = mortise_arena_alloc(a, n);
    b->edge_src = mortise_arena_alloc(a, n * sizeof *b->edge_src);
    if (b->node_of == NULL || b->items == NULL || b->edges == NULL ||
        b->edge_src == NULL)
        return mortise_nomem(err);
    for (uint32_t i = 0; i < to->n_nodes; i++) {
        const struct mortise_node *n_old =
            mortise_graph_find_node(f->graph, to->nodes[i].id);

        b->node_of[i] = n_old != NULL ? n_old->index : NO_OLD_INDEX;
    }
    return MORTISE_OK;
}

/* Withdraw a ready execution: its node waits again (3). */
static void withdraw_ready(struct mortise_run *r, struct item *it)
{
    assert(it->phase == ITEM_ACTIVE && it->visits > 0);
    mortise_exec_withdraw(r, r->execs[it->exec]);
    it->phase = ITEM_WAITS;
    it->exec = 0;
    it->visits--;
}

/* Is the node ready, and removed (m is NULL) or with other sources in the new
 * graph? */
static bool must_wait_again(const struct mortise_run *r, const struct frame *f,
                            uint32_t node, const struct mortise_graph *to,
                            const struct mortise_node *m)
{
    return mortise_item_of(f, node)->phase == ITEM_ACTIVE &&
           get_begun_words(r, f, node) == NULL &&
           (m == NULL ||
            !has_same_sources(f->graph, &f->graph->nodes[node], to, m));
}

static void move_items(struct mortise_run *r, struct rebuilt *b)
{
    const struct mortise_graph *from = b->f->graph;

    for (uint32_t i = 0; i < from->n_nodes; i++)
        if (must_wait_again(r, b->f, i, b->to,
                            mortise_graph_find_node(b->to, from->nodes[i].id)))
            withdraw_ready(r, mortise_item_of(b->f, i));
    for (uint32_t i = 0; i < b->to->n_nodes; i++)
        if (b->node_of[i] != NO_OLD_INDEX)
            b->items[b->to->nodes[i].slot] =
                *mortise_item_of(b->f, b->node_of[i]);
    for (struct exec *x = b->f->execs; x != NULL; x = x->sibling) {
        const struct mortise_node *n =
            x->node < from->n_nodes
                ? mortise_graph_find_node(b->to, from->nodes[x->node].id)
                : NULL;

        if (n != NULL)
            mortise_exec_renumber(x, n->index);
        else
            assert(x->node >= from->n_nodes); /* START, an update */
    }
}

/* The old edge with the same ends; NO_OLD_INDEX: none. */
static uint32_t find_old_edge(const struct rebuilt *b,
                              const struct mortise_edge *e)
{
    const struct mortise_graph *from = b->f->graph;
    uint32_t source = e->from == MORTISE_START ? e->from : b->node_of[e->from];
    uint32_t target = e->to == MORTISE_END ? e->to : b->node_of[e->to];
    const uint32_t *out = from->start;
    uint32_t n = from->n_start;

    if (source == NO_OLD_INDEX)
        return NO_OLD_INDEX;
    if (source != MORTISE_START) {
        out = from->nodes[source].out;
        n = from->nodes[source].n_out;
    }
    for (uint32_t i = 0; i < n; i++)
        if (from->edges[out[i]].to == target &&
            from->edges[out[i]].kind == e->kind)
            return out[i];
    return NO_OLD_INDEX;
}

/* Decide a new edge from the state of its source (2). */
static void decide_new_edge(struct mortise_run *r, struct rebuilt *b,
                            const struct mortise_edge *e)
{
    const struct item *it = &b->items[b->to->nodes[e->from].slot];
    const struct exec *x = r->execs[it->exec];
    bool done = it->exec != 0 && x->state == X_DONE;
    enum edge_state state = EDGE_OPEN;
    uint32_t src = it->exec;

    if (it->phase == ITEM_WAITS || it->phase == ITEM_ACTIVE)
        return;
    if (done && e->kind == MORTISE_EDGE_STATIC)
        state = EDGE_TAKEN;
    else if (it->phase == ITEM_FAILED || it->phase == ITEM_SKIPPED_FAILED)
        state = EDGE_FAILED;
    else
        state = EDGE_DEAD;
    if (it->phase == ITEM_SKIPPED_FAILED)
        src = it->cause;
    else if (state == EDGE_TAKEN && b->f->top == r->frames[0] &&
             r->update > x->index)
        src = r->update; /* it comes after the update, too */
    b->edges[e->slot] = (uint8_t)state;
    b->edge_src[e->slot] = src;
}

/* The execution of START in f. */
static const struct exec *get_graph_start(const struct frame *f)
{
    const struct exec *x = f->execs;

    while (x->node != MORTISE_START)
        x = x->sibling; /* each graph's frame has one */
    return x;
}

static void copy_or_decide_edges(struct mortise_run *r, struct rebuilt *b)
{
    for (uint32_t i = 0; i < b->to->n_edges; i++) {
        const struct mortise_edge *e = &b->to->edges[i];
        uint32_t old = find_old_edge(b, e);

        if (old != NO_OLD_INDEX) {
            uint32_t slot = b->f->graph->edges[old].slot;

            b->edges[e->slot] = b->f->edges[slot];
            b->edge_src[e->slot] = b->f->edge_src[slot];
        } else if (e->from != MORTISE_START) {
            decide_new_edge(r, b, e);
        } else if (e->kind == MORTISE_EDGE_STATIC) {
            b->edges[e->slot] = EDGE_TAKEN;
            b->edge_src[e->slot] = get_graph_start(b->f)->index;
        }
    }
}

/* Recount the decided edges of waiting joins, as notify_target() of frame.c
 * would have. */
static void count_decided_edges(struct mortise_run *r, struct rebuilt *b)
{
    for (uint32_t i = 0; i < b->to->n_nodes; i++) {
        struct item *it = &b->items[i];

        if (it->phase == ITEM_WAITS)
            it->n_decided = it->n_taken = it->n_failed = it->cause = 0;
    }
    for (uint32_t i = 0; i < b->to->n_edges; i++) {
        const struct mortise_edge *e = &b->to->edges[i];
        enum edge_state state = (enum edge_state)b->edges[e->slot];
        uint32_t src = b->edge_src[e->slot];
        struct item *it;

        if (state == EDGE_OPEN || e->to == MORTISE_END)
            continue;
        if (state == EDGE_TAKEN)
            mortise_view_set_shared(r->execs[src]);
        it = &b->items[b->to->nodes[e->to].slot];
        if (it->phase != ITEM_WAITS)
            continue;
        it->n_decided++;
        it->n_taken += state == EDGE_TAKEN;
        it->n_failed += state == EDGE_FAILED;
        if (state == EDGE_FAILED)
            it->cause = mortise_exec_get_least(r, it->cause, src);
    }
}

/* x is done, and its edges are held back: renumber its taken edges, and add the
 * new ones. */
static int renumber_taken_edges(struct mortise_run *r, const struct rebuilt *b,
                                struct exec *x, struct mortise_err *err)
{
    const struct mortise_node *n = &b->to->nodes[x->node];
    struct mortise_entry e = {.n_edges = 0};

    e.edges = mortise_arena_alloc(&r->arena, n->n_out * sizeof e.edges[0]);
    if (e.edges == NULL)
        return mortise_nomem(err);
    for (uint32_t i = 0; i < n->n_out; i++) {
        uint32_t old = find_old_edge(b, &b->to->edges[n->out[i]]);
        bool takes = old == NO_OLD_INDEX &&
                     b->to->edges[n->out[i]].kind == MORTISE_EDGE_STATIC;

        for (uint32_t k = 0; k < x->n_taken && old != NO_OLD_INDEX; k++)
            takes |= x->taken[k] == old;
        if (takes)
            e.edges[e.n_edges++] = n->out[i];
    }
    return mortise_exec_store_taken(r, x, &e, err);
}

static int install_rebuilt(struct mortise_run *r, struct rebuilt *b,
                           struct mortise_err *err)
{
    struct frame *f = b->f;
    int rv = MORTISE_OK;

    for (struct exec *x = f->execs; rv == MORTISE_OK && x != NULL;
         x = x->sibling)
        if (x->state == X_HELD)
            rv = renumber_taken_edges(r, b, x, err);
    f->scope->artifacts = mortise_arena_alloc(
        &r->arena, b->to->n_nodes * sizeof f->scope->artifacts[0]);
    if (rv == MORTISE_OK && f->scope->artifacts == NULL)
        rv = mortise_nomem(err);
    f->was = f->graph;
    f->graph = b->to;
    f->region = &b->to->regions[0];
    f->items = b->items;
    f->edges = b->edges;
    f->edge_src = b->edge_src;
    f->n_open = 0;
    for (uint32_t i = 0; i < b->to->n_nodes; i++)
        f->n_open +=
            f->items[i].phase == ITEM_WAITS || f->items[i].phase == ITEM_ACTIVE;
    return rv;
}

static int rebuild_frame(struct moving *m, struct frame *f,
                         const struct mortise_graph *to,
                         struct mortise_err *err)
{
    struct rebuilt b;
    int rv = rebuilt_init(m, &b, f, to, err);

    if (rv != MORTISE_OK)
        return rv;
    move_items(m->r, &b);
    copy_or_decide_edges(m->r, &b);
    count_decided_edges(m->r, &b);
    return install_rebuilt(m->r, &b, err);
}

/* Start or skip the nodes whose edges are all decided now. */
static int check_waiting_joins(struct mortise_run *r, struct frame *f,
                               struct mortise_err *err)
{
    int rv = mortise_frame_queue_if_finished(r, f, err);

    for (uint32_t i = 0; rv == MORTISE_OK && i < f->graph->n_nodes; i++) {
        const struct item *it = mortise_item_of(f, i);

        if (it->phase == ITEM_WAITS)
            rv = mortise_frame_decide_join(r, f, i, it, err);
    }
    return rv;
}

/* ---- all frames ---------------------------------------------------------- */

void mortise_run_add_next_graph(struct mortise_run *r, struct mortise_graph *g)
{
    mortise_graph_ref(g);
    mortise_graph_unref(r->newest);
    r->newest = g;
}

static int move_all_frames(struct moving *m, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < m->r->n_frames; i++) {
        const struct frame_move *to = &m->frames[i];

        if (to->to != NULL && to->is_other)
            rv = rebuild_frame(m, m->r->frames[i], to->to, err);
        else if (to->to != NULL)
            move_to_equal_graph(m->r->frames[i], to->to);
    }
    for (struct fan *fan = m->r->fans; fan != NULL; fan = fan->next)
        fan->map = &fan->home->graph->regions[fan->map->index];
    return rv;
}

static int continue_moved_frames(struct moving *m, struct mortise_err *err)
{
    size_t n = m->r->n_frames;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < n; i++)
        if (m->frames[i].to != NULL && m->frames[i].is_other)
            rv = check_waiting_joins(m->r, m->r->frames[i], err);
    return rv == MORTISE_OK ? mortise_frame_process_queue(m->r, err) : rv;
}

/* Make `to` the run's graph; ended frames keep the former one (4). */
static int set_run_graph(struct mortise_run *r, struct mortise_graph *to,
                         struct mortise_err *err)
{
    struct former *was = mortise_arena_alloc(&r->arena, sizeof *was);

    if (was == NULL)
        return mortise_nomem(err);
    *was = (struct former){r->formers, r->graph};
    r->formers = was;
    r->graph = mortise_graph_ref(to);
    return mortise_exec_rebuild_users(r, err);
}

struct mortise_graph *mortise_regraph_get_next(const struct mortise_run *r)
{
    struct mortise_graph *g = r->newest;

    while (g != NULL &&
           (g->former == NULL ||
            memcmp(g->former->digest, r->graph->digest, MORTISE_DIGEST) != 0))
        g = g->former;
    return g;
}

bool mortise_regraph_can_replace(const struct mortise_run *r)
{
    return r->n_frames == 1 && r->n_execs == 1; /* START */
}

int mortise_regraph_replace(struct mortise_run *r, struct mortise_graph *to,
                            struct mortise_err *err)
{
    struct frame *f = r->frames[0];
    const struct mortise_region *all = &to->regions[0];
    size_t n = mortise_frame_count_items(all);

    assert(mortise_regraph_can_replace(r) && r->n_work == 0);
    f->items = mortise_arena_alloc(&r->arena, n * sizeof f->items[0]);
    f->edges = mortise_arena_alloc(&r->arena, all->n_edges);
    f->edge_src =
        mortise_arena_alloc(&r->arena, all->n_edges * sizeof f->edge_src[0]);
    f->scope->artifacts = mortise_arena_alloc(
        &r->arena, to->n_nodes * sizeof f->scope->artifacts[0]);
    if (f->items == NULL || f->edges == NULL || f->edge_src == NULL ||
        f->scope->artifacts == NULL)
        return mortise_nomem(err);
    f->graph = to;
    f->region = all;
    f->n_open = (uint32_t)n;
    return set_run_graph(r, to, err);
}

int mortise_regraph_switch(struct mortise_run *r, struct mortise_graph *to,
                           struct mortise_err *err)
{
    struct moving m = {.r = r};
    int rv;

    assert(r->n_work == 0 && r->ended.n == 0);
    mortise_arena_init(&m.a, r->mem);
    rv = find_new_graphs(&m, to, err);
    if (rv == MORTISE_OK)
        rv = move_all_frames(&m, err);
    if (rv == MORTISE_OK)
        rv = set_run_graph(r, to, err);
    if (rv == MORTISE_OK)
        rv = continue_moved_frames(&m, err);
    mortise_arena_finish(&m.a);
    return rv;
}
