/* join.c -- what a join says of the edges that were decided so far.
 *
 * Whether it fires, is skipped, or waits follows from its item's counts alone;
 * who comes before what it starts, and which failures it collects, from its
 * edges in their order.
 */
#include "run/internal.h"

/* A join that does not start has nobody to collect: only what it drops is as
 * if it had not been. */
static enum join_verdict skipped(const struct mortise_join *j,
                                 const struct item *it)
{
    return it->n_failed > 0 && j->on_branch_error != MORTISE_BRANCH_DROP
               ? JOIN_SKIP_FAILED
               : JOIN_SKIP;
}

/* A join of all: every edge is decided, but one that failed may be enough. */
static enum join_verdict judge_all(const struct mortise_join *j,
                                   const struct item *it, uint32_t n_in)
{
    if (it->n_failed > 0 && j->on_branch_error == MORTISE_BRANCH_FAIL)
        return JOIN_SKIP_FAILED;
    if (it->n_decided < n_in)
        return JOIN_WAIT;
    return it->n_taken > 0 ? JOIN_FIRE : skipped(j, it);
}

/* A race, for as many edges as `need`. */
static enum join_verdict judge_race(const struct mortise_join *j,
                                    const struct item *it, uint32_t n_in,
                                    uint32_t need)
{
    if (it->n_taken >= need)
        return JOIN_FIRE;
    if (it->n_taken + (n_in - it->n_decided) >= need)
        return JOIN_WAIT;
    return skipped(j, it);
}

/* Is a failure that comes when a race is over one of what it is in?  Of a join
 * that was skipped, as nobody is there to collect; not of one whose own failure
 * was handed on: that said it already. */
bool join_minds_late(const struct mortise_join *j, const struct item *it)
{
    if (j->kind == MORTISE_JOIN_ALL ||
        j->on_branch_error == MORTISE_BRANCH_DROP ||
        it->phase == ITEM_SKIPPED_FAILED)
        return false;
    return j->on_branch_error == MORTISE_BRANCH_FAIL ||
           it->phase == ITEM_SKIPPED;
}

/* The item of node `n` in f, or of the region that it is the entry of. */
enum join_verdict join_judge(const struct frame *f,
                             const struct mortise_node *n,
                             const struct item *it)
{
    enum join_verdict v;

    if (n->join.kind == MORTISE_JOIN_ALL)
        v = judge_all(&n->join, it, n->n_in);
    else
        v = judge_race(&n->join, it, n->n_in,
                       n->join.kind == MORTISE_JOIN_ANY ? 1 : n->join.quorum);
    return v == JOIN_FIRE && (f->lost || it->lost) ? JOIN_SKIP : v;
}

/* Edges that failed, for who collects them: [{node, error}] in their order. */
int join_collect(struct mortise_run *r, const struct frame *f,
                 const struct mortise_node *n, struct exec *x,
                 struct mortise_err *err)
{
    x->caught = json_array();
    for (uint32_t i = 0; x->caught != NULL && i < n->n_in; i++) {
        uint32_t slot = frame_edge(f, n->in[i])->slot;
        const struct exec *by = r->execs[f->edge_src[slot]];

        if (f->edges[slot] == EDGE_FAILED &&
            json_array_append_new(
                x->caught, json_pack("{s:s, s:O}", "node", node_of(r, by)->id,
                                     "error", by->error)) != 0)
            drop(&x->caught);
    }
    return x->caught != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* The executions behind the edges that were taken. */
uint32_t join_sources(const struct frame *f, const struct mortise_node *n,
                      uint32_t *preds)
{
    uint32_t n_preds = 0;

    for (uint32_t i = 0; i < n->n_in; i++) {
        uint32_t slot = frame_edge(f, n->in[i])->slot;

        if (f->edges[slot] == EDGE_TAKEN &&
            (n_preds == 0 || preds[n_preds - 1] != f->edge_src[slot]))
            preds[n_preds++] = f->edge_src[slot];
    }
    return n_preds;
}
