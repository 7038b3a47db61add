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
 */
#include "run/internal.h"

enum mortise_branch_error join_on_error(const struct mortise_run *r,
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
           join_on_error(r, n) == MORTISE_BRANCH_DROP;
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
    if (it->n_failed > 0 && join_on_error(r, n) == MORTISE_BRANCH_FAIL)
        return JOIN_SKIP_FAILED;
    if (it->n_decided < n->n_in)
        return JOIN_WAIT;
    return it->n_taken > 0 ? JOIN_FIRE : skipped(r, n, it);
}

static enum join_verdict judge_race(const struct mortise_run *r,
                                    const struct mortise_node *n,
                                    const struct item *it)
{
    uint32_t need = n->join.kind == MORTISE_JOIN_ANY ? 1 : n->join.quorum;

    if (it->n_taken >= need)
        return JOIN_FIRE;
    if (it->n_taken + (n->n_in - it->n_decided) >= need)
        return JOIN_WAIT;
    return skipped(r, n, it);
}

/* Is a failure that comes when a race is over one of what it is in?  Of a join
 * that was skipped, as nobody is there to mend it; not of one whose own failure
 * was handed on: that said it already. */
bool join_minds_late(const struct mortise_run *r, const struct mortise_node *n,
                     const struct item *it)
{
    if (n->join.kind == MORTISE_JOIN_ALL || is_forgotten(r, n) ||
        it->phase == ITEM_SKIPPED_FAILED)
        return false;
    return join_on_error(r, n) == MORTISE_BRANCH_FAIL ||
           it->phase == ITEM_SKIPPED;
}

/* The item of node `n` in f, or of the region that it is the entry of. */
enum join_verdict join_judge(const struct mortise_run *r, const struct frame *f,
                             const struct mortise_node *n,
                             const struct item *it)
{
    enum join_verdict v = n->join.kind == MORTISE_JOIN_ALL
                              ? judge_all(r, n, it)
                              : judge_race(r, n, it);

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
