/* join.c -- joins: the decision from the branches that were decided so far.
 *
 * An edge to a join is a branch.  So is each element of a map that ends there:
 * the map's edge stands for its elements and counts them (mortise_join_count_branches).
 * A branch came, is dead, or failed; on_branch_error tells the effect of a
 * failed one.  The rules are the same for edges and elements:
 *
 *   (1) fail: the join does not start.
 *   (2) drop: the branch counts as dead.  collect: it does too, and the join
 *       lists the failure; a join of all starts even if only failures came.
 *   (3) A join of all (best_effort: one that drops) starts when every branch is
 *       decided and one came; a race starts as soon as enough came.
 *   (4) A join that does not start is skipped once every edge to it is decided,
 *       and not before, so that the failures that it passes on do not depend on
 *       timing.  With fail_fast, a failure that no later join can handle does
 *       not wait for that.  The join passes on the failures of all its
 *       branches, even those to be dropped or collected, because it does not
 *       handle them.
 *   (5) A settled join starts once every edge is decided, if a branch to it ran
 *       (final.c).  It lists the failures of its branches, and passes them on
 *       unless it collects them.
 *
 * A join's decision depends only on the counts of its item and on the active
 * maps; the predecessors and the list of failures depend on its edges in order.
 */
#include <assert.h>

#include "core/run/flow/flow.h"

/* ---- counting branches -------------------------------------------------- */

/* Did the element fail in time to count? */
static bool is_failed_element(const struct frame *element)
{
    return element->over && element->failed && !element->late;
}

const struct fan *mortise_join_find_gathered_map(const struct mortise_run *r,
                                                 const struct frame *f,
                                                 uint32_t edge)
{
    const struct mortise_edge *e = mortise_frame_edge(f, edge);
    const struct mortise_region *child;
    const struct fan *fan = NULL;
    const struct item *it;

    if (e->kind != MORTISE_EDGE_GATHER || f->edges[e->slot] == EDGE_OPEN)
        return NULL;
    it = mortise_item_find_source(f, edge, &child);
    if (child != NULL && child->kind == MORTISE_REGION_MAP)
        fan = it->fan != NULL && it->fan->home == f ? it->fan : NULL;
    else if (f->edges[e->slot] == EDGE_TAKEN) /* a map inside a loop */
        fan = r->execs[f->edge_src[e->slot]]->fan;
    return fan != NULL && fan->gather != NULL && fan->gather->state == X_DONE
               ? fan
               : NULL;
}

/* The counts of a map that has gathered. */
static struct join_count count_map(const struct mortise_run *r,
                                   const struct mortise_node *n,
                                   const struct fan *fan)
{
    struct join_count c = {.taken = (uint32_t)fan->n_reached_join};

    for (size_t i = 0; i < fan->n_started_elements; i++) {
        if (!is_failed_element(fan->elements[i]))
            continue;
        c.failed++;
        c.cause = mortise_exec_get_least(r, c.cause, fan->elements[i]->cause);
    }
    /* Elsewhere the map is one branch, which comes even with an empty list. */
    if (!mortise_join_is_race(&n->join))
        c.taken = fan->n_reached_join > 0 || c.failed == 0;
    return c;
}

struct join_count mortise_join_count_branches(const struct mortise_run *r,
                                              const struct frame *f,
                                              uint32_t edge)
{
    const struct mortise_edge *e = mortise_frame_edge(f, edge);
    const struct fan *fan = mortise_join_find_gathered_map(r, f, edge);
    enum edge_state state = (enum edge_state)f->edges[e->slot];
    struct join_count c = {.taken = state == EDGE_TAKEN,
                           .failed = state == EDGE_FAILED};

    if (fan != NULL)
        return count_map(r, &f->graph->nodes[e->to], fan);
    if (state == EDGE_FAILED)
        c.cause = f->edge_src[e->slot];
    return c;
}

bool mortise_join_is_failed_by(const struct mortise_node *n, size_t n_failed)
{
    return n_failed > 0 && n->join.kind != MORTISE_JOIN_SETTLED &&
           n->join.on_branch_error == MORTISE_BRANCH_FAIL;
}

bool mortise_join_lists_failures(const struct mortise_node *n)
{
    return n->join.kind == MORTISE_JOIN_SETTLED ||
           n->join.on_branch_error == MORTISE_BRANCH_COLLECT;
}

/* The join does not start (4). */
static enum join_verdict get_skip_verdict(const struct frame *f,
                                          const struct mortise_node *n,
                                          const struct item *it)
{
    bool failed = it->n_failed > 0;

    if (it->n_decided < n->n_in &&
        !(failed && f->graph->fail_fast && !n->recoverable))
        return JOIN_WAIT;
    return failed ? JOIN_SKIP_FAILED : JOIN_SKIP;
}

static enum join_verdict judge_join_of_all(const struct frame *f,
                                           const struct mortise_node *n,
                                           const struct item *it)
{
    uint32_t came =
        it->n_taken + (mortise_join_lists_failures(n) ? it->n_failed : 0);

    if (mortise_join_is_failed_by(n, it->n_failed))
        return get_skip_verdict(f, n, it);
    if (it->n_decided < n->n_in)
        return JOIN_WAIT;
    return came > 0 ? JOIN_FIRE : get_skip_verdict(f, n, it);
}

/* ---- races -------------------------------------------------------------- */

uint32_t mortise_join_get_quorum(const struct mortise_node *n)
{
    assert(mortise_join_is_race(&n->join)); /* only a race needs a number */
    return n->join.kind == MORTISE_JOIN_ANY ? 1 : n->join.quorum;
}

uint32_t mortise_join_count_maps(const struct frame *f,
                                 const struct mortise_node *n)
{
    uint32_t k = 0;

    /* These edges are implicit, and come after the others. */
    while (k < n->n_in && mortise_frame_edge(f, n->in[n->n_in - 1 - k])->kind ==
                              MORTISE_EDGE_GATHER)
        k++;
    return k;
}

struct fan *mortise_join_get_map(const struct frame *f,
                                 const struct mortise_node *n, uint32_t k)
{
    uint32_t edge = n->in[n->n_in - 1 - k];
    const struct mortise_region *child;
    assert(k < n->n_in);
    const struct item *it = mortise_item_find_source(f, edge, &child);

    return f->edges[mortise_frame_edge(f, edge)->slot] == EDGE_OPEN &&
                   child != NULL && child->kind == MORTISE_REGION_MAP &&
                   it->phase == ITEM_ACTIVE
               ? it->fan
               : NULL;
}

/* Can enough branches still come?  An active map can have any number of
 * elements. */
static bool can_reach_quorum(const struct frame *f,
                             const struct mortise_node *n,
                             const struct item *it)
{
    uint32_t n_maps =
        mortise_join_is_race(&n->join) ? mortise_join_count_maps(f, n) : 0;

    assert(it->n_decided <= n->n_in);
    for (uint32_t k = 0; k < n_maps; k++)
        if (f->edges[mortise_frame_edge(f, n->in[n->n_in - 1 - k])->slot] ==
            EDGE_OPEN)
            return true;
    return it->n_taken + (n->n_in - it->n_decided) >=
           mortise_join_get_quorum(n);
}

bool mortise_join_can_start(const struct frame *f, const struct mortise_node *n,
                            const struct item *it)
{
    size_t n_failed = it->n_failed;

    for (uint32_t k = 0; k < mortise_join_count_maps(f, n); k++) {
        const struct fan *fan = mortise_join_get_map(f, n, k);

        n_failed += fan != NULL ? fan->n_failed : 0;
    }
    return !mortise_join_is_failed_by(n, n_failed);
}

static enum join_verdict judge_race_join(const struct frame *f,
                                         const struct mortise_node *n,
                                         const struct item *it)
{
    bool may = mortise_join_can_start(f, n, it);

    if (may && it->n_taken >= mortise_join_get_quorum(n))
        return JOIN_FIRE;
    return may && can_reach_quorum(f, n, it) ? JOIN_WAIT
                                             : get_skip_verdict(f, n, it);
}

/* Does a failure that comes after the race was decided fail the frame?  Yes, if
 * the join was skipped, since it handles nothing then; no, if the join has
 * passed on a failure before. */
bool mortise_join_counts_late_failure(const struct mortise_node *n,
                                      const struct item *it)
{
    if (n->join.kind == MORTISE_JOIN_ALL || it->phase == ITEM_SKIPPED_FAILED)
        return false;
    return n->join.on_branch_error == MORTISE_BRANCH_FAIL ||
           it->phase == ITEM_SKIPPED;
}

/* `it` is the item of node n in f, or of the region that n is the entry of. */
enum join_verdict mortise_join_decide(const struct frame *f,
                                      const struct mortise_node *n,
                                      const struct item *it)
{
    enum join_verdict v;

    if (n->join.kind == MORTISE_JOIN_SETTLED)
        v = it->n_decided < n->n_in ? JOIN_WAIT : JOIN_FIRE;
    else if (n->join.kind == MORTISE_JOIN_ALL)
        v = judge_join_of_all(f, n, it);
    else
        v = judge_race_join(f, n, it);

    return v == JOIN_FIRE &&
                   (f->lost || it->lost || mortise_race_has_reached_end(f))
               ? JOIN_SKIP
               : v;
}

/* ---- predecessors and failures ------------------------------------------ */

/* Append a failure.  `index`: that of an element; < 0: an edge. */
static int add_collected_failure(const struct mortise_run *r, json_t *list,
                                 uint32_t cause, json_int_t index,
                                 struct mortise_err *err)
{
    const struct exec *by = r->execs[cause];
    json_t *one = json_pack("{s:s, s:o}", "node", mortise_exec_node(r, by)->id,
                            "error", mortise_env_make_error(r, by, by->error));

    if (one != NULL && index >= 0 &&
        json_object_set_new(one, "index", json_integer(index)) != 0)
        mortise_json_clear_ref(&one);
    return json_array_append_new(list, one) == 0 ? MORTISE_OK
                                                 : mortise_nomem(err);
}

static int add_failed_elements(const struct mortise_run *r, json_t *list,
                               const struct fan *fan, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < fan->n_started_elements; i++)
        if (is_failed_element(fan->elements[i]))
            rv = add_collected_failure(r, list, fan->elements[i]->cause,
                                       (json_int_t)i, err);
    return rv;
}

int mortise_join_collect_failures(struct mortise_run *r, const struct frame *f,
                                  const struct mortise_node *n, struct exec *x,
                                  struct mortise_err *err)
{
    int rv = MORTISE_OK;

    x->caught = json_array();
    if (x->caught == NULL)
        return mortise_nomem(err);
    for (uint32_t i = 0; rv == MORTISE_OK && i < n->n_in; i++) {
        const struct fan *fan = mortise_join_find_gathered_map(r, f, n->in[i]);
        uint32_t slot = mortise_frame_edge(f, n->in[i])->slot;

        if (fan != NULL)
            rv = add_failed_elements(r, x->caught, fan, err);
        else if (f->edges[slot] == EDGE_FAILED)
            rv =
                add_collected_failure(r, x->caught, f->edge_src[slot], -1, err);
    }
    return rv;
}

int mortise_join_add_failures(const struct mortise_run *r,
                              const struct frame *f, uint32_t edge,
                              struct indexes *out, struct mortise_err *err)
{
    const struct fan *fan = mortise_join_find_gathered_map(r, f, edge);
    uint32_t slot = mortise_frame_edge(f, edge)->slot;
    int rv = MORTISE_OK;

    if (fan == NULL)
        return f->edges[slot] == EDGE_FAILED
                   ? mortise_indexes_add(r->mem, out, f->edge_src[slot], err)
                   : MORTISE_OK;
    for (size_t i = 0; rv == MORTISE_OK && i < fan->n_started_elements; i++)
        if (is_failed_element(fan->elements[i]))
            rv = mortise_indexes_add(r->mem, out, fan->elements[i]->cause, err);
    return rv;
}

int mortise_join_add_sources(const struct mortise_run *r, const struct frame *f,
                             const struct mortise_node *n,
                             struct indexes *preds, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (uint32_t i = 0; rv == MORTISE_OK && i < n->n_in; i++) {
        const struct fan *fan = mortise_join_find_gathered_map(r, f, n->in[i]);
        uint32_t slot = mortise_frame_edge(f, n->in[i])->slot;
        bool taken = f->edges[slot] == EDGE_TAKEN;
        uint32_t src =
            taken || fan == NULL ? f->edge_src[slot] : fan->gather->index;

        if ((taken || fan != NULL) &&
            (preds->n == 0 || preds->list[preds->n - 1] != src))
            rv = mortise_indexes_add(r->mem, preds, src, err);
    }
    return rv;
}
