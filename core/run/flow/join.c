/* join.c -- what a join says of the edges that were decided so far.
 *
 * Whether it fires, is skipped, or waits follows from its item's counts alone;
 * who comes before what it starts, and which failures it collects, from its
 * edges in their order.
 *
 * A join that does not start leaves nobody to mend what failed before it, so
 * that failure goes on from there: whether its branches were to be dropped or
 * collected.  So a race fails only once it cannot be won any more, and
 * best_effort where there is nothing but failures.
 *
 * A settled join starts once every edge is decided, if a branch to it ran, which
 * final.c finds out.  Failures that come to it are listed, and go on as failures
 * unless they are collected.
 *
 * A race counts edges, and of a map (whose one edge to its join is decided when
 * it has gathered) the elements that came.  It is map.c that ends a map early.
 */
#include <assert.h>

#include "run/flow/flow.h"

enum mortise_branch_error mortise_join_on_error(const struct mortise_run *r,
                                                const struct mortise_node *n)
{
    return n->join.on_branch_error[r->rules];
}

/* What a join drops was as if it had not been, by the first rules, even where
 * nothing else came. */
static bool is_forgotten(const struct mortise_run *r,
                         const struct mortise_node *n)
{
    return r->rules < MORTISE_RULES_SECOND &&
           mortise_join_on_error(r, n) == MORTISE_BRANCH_DROP;
}

static enum join_verdict skipped(const struct mortise_run *r,
                                 const struct mortise_node *n,
                                 const struct item *it)
{
    return it->n_failed > 0 && !is_forgotten(r, n) ? JOIN_SKIP_FAILED
                                                   : JOIN_SKIP;
}

/* A join of all: every edge is decided, but one that failed may be enough. */
static enum join_verdict judge_all(const struct mortise_run *r,
                                   const struct mortise_node *n,
                                   const struct item *it)
{
    if (it->n_failed > 0 && mortise_join_on_error(r, n) == MORTISE_BRANCH_FAIL)
        return JOIN_SKIP_FAILED;
    if (it->n_decided < n->n_in)
        return JOIN_WAIT;
    return it->n_taken > 0 ? JOIN_FIRE : skipped(r, n, it);
}

/* ---- races -------------------------------------------------------------- */

bool mortise_join_counts_elements(const struct mortise_run *r,
                                  const struct mortise_node *n)
{
    return mortise_join_is_race(&n->join) && r->rules >= MORTISE_RULES_THIRD;
}

uint32_t mortise_join_need(const struct mortise_node *n)
{
    assert(mortise_join_is_race(&n->join)); /* a number is enough for it */
    return n->join.kind == MORTISE_JOIN_ANY ? 1 : n->join.quorum;
}

uint32_t mortise_join_n_maps(const struct frame *f,
                             const struct mortise_node *n)
{
    uint32_t k = 0;

    /* Nobody wrote those edges: they stand behind the others. */
    while (k < n->n_in && mortise_frame_edge(f, n->in[n->n_in - 1 - k])->kind ==
                              MORTISE_EDGE_GATHER)
        k++;
    return k;
}

struct fan *mortise_join_map(const struct frame *f,
                             const struct mortise_node *n, uint32_t k)
{
    uint32_t edge = n->in[n->n_in - 1 - k];
    const struct mortise_region *child;
    assert(k < n->n_in);
    const struct item *it = mortise_item_from(f, edge, &child);

    return f->edges[mortise_frame_edge(f, edge)->slot] == EDGE_OPEN &&
                   child != NULL && child->kind == MORTISE_REGION_MAP &&
                   it->phase == ITEM_ACTIVE
               ? it->fan
               : NULL;
}

/* What edges that are not decided may come to, at most: nobody knows how many
 * elements a map will have had, but of `over`. */
static uint64_t may_come(const struct mortise_run *r, const struct frame *f,
                         const struct mortise_node *n, const struct item *it,
                         const struct fan *over)
{
    uint64_t n_more = n->n_in - it->n_decided;

    assert(it->n_decided <= n->n_in);
    uint32_t n_maps =
        mortise_join_counts_elements(r, n) ? mortise_join_n_maps(f, n) : 0;

    for (uint32_t k = 0; k < n_maps; k++) {
        uint32_t edge = n->in[n->n_in - 1 - k];

        if (f->edges[mortise_frame_edge(f, edge)->slot] != EDGE_OPEN)
            continue;
        n_more--;
        n_more += over != NULL && over == mortise_join_map(f, n, k)
                      ? over->n_came
                      : UINT32_MAX;
    }
    return n_more;
}

bool mortise_join_in_reach(const struct mortise_run *r, const struct frame *f,
                           const struct mortise_node *n, const struct item *it,
                           const struct fan *over)
{
    return it->n_taken + may_come(r, f, n, it, over) >= mortise_join_need(n);
}

static enum join_verdict judge_race(const struct mortise_run *r,
                                    const struct frame *f,
                                    const struct mortise_node *n,
                                    const struct item *it)
{
    if (it->n_taken >= mortise_join_need(n))
        return JOIN_FIRE;
    return mortise_join_in_reach(r, f, n, it, NULL) ? JOIN_WAIT
                                                    : skipped(r, n, it);
}

/* Is a failure that comes when a race is over one of what it is in?  Of a join
 * that was skipped, as nobody is there to mend it; not of one whose own failure
 * was handed on: that said it already. */
bool mortise_join_minds_late(const struct mortise_run *r,
                             const struct mortise_node *n,
                             const struct item *it)
{
    if (n->join.kind == MORTISE_JOIN_ALL || is_forgotten(r, n) ||
        it->phase == ITEM_SKIPPED_FAILED)
        return false;
    return mortise_join_on_error(r, n) == MORTISE_BRANCH_FAIL ||
           it->phase == ITEM_SKIPPED;
}

/* The item of node `n` in f, or of the region that it is the entry of. */
enum join_verdict mortise_join_judge(const struct mortise_run *r,
                                     const struct frame *f,
                                     const struct mortise_node *n,
                                     const struct item *it)
{
    enum join_verdict v;

    if (n->join.kind == MORTISE_JOIN_SETTLED)
        v = it->n_decided < n->n_in ? JOIN_WAIT : JOIN_FIRE;
    else if (n->join.kind == MORTISE_JOIN_ALL)
        v = judge_all(r, n, it);
    else
        v = judge_race(r, f, n, it);

    return v == JOIN_FIRE && (f->lost || it->lost) ? JOIN_SKIP : v;
}

/* Edges that failed, for who collects them: [{node, error}] in their order. */
int mortise_join_collect(struct mortise_run *r, const struct frame *f,
                         const struct mortise_node *n, struct exec *x,
                         struct mortise_err *err)
{
    x->caught = json_array();
    for (uint32_t i = 0; x->caught != NULL && i < n->n_in; i++) {
        uint32_t slot = mortise_frame_edge(f, n->in[i])->slot;
        const struct exec *by = r->execs[f->edge_src[slot]];

        if (f->edges[slot] == EDGE_FAILED &&
            json_array_append_new(x->caught,
                                  json_pack("{s:s, s:O}", "node",
                                            mortise_exec_node(r, by)->id,
                                            "error", by->error)) != 0)
            mortise_json_drop(&x->caught);
    }
    return x->caught != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* The executions behind the edges that were taken. */
int mortise_join_sources(const struct mortise_run *r, const struct frame *f,
                         const struct mortise_node *n, struct indexes *preds,
                         struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (uint32_t i = 0; rv == MORTISE_OK && i < n->n_in; i++) {
        uint32_t slot = mortise_frame_edge(f, n->in[i])->slot;
        uint32_t src = f->edge_src[slot];

        if (f->edges[slot] == EDGE_TAKEN &&
            (preds->n == 0 || preds->list[preds->n - 1] != src))
            rv = mortise_indexes_add(r->mem, preds, src, err);
    }
    return rv;
}
