/* join.c -- what a join says of the branches to it that were decided so far.
 *
 * An edge to a join is a branch.  So is each element of a map that ends there:
 * the map's one edge stands for its elements, and counts what became of them
 * (mortise_join_count).  A branch came, is dead, or failed; on_branch_error
 * says what a failed one is to the join.  Edges and elements go by these rules
 * alike:
 *
 *   (1) fail: the join does not start.
 *   (2) drop: the branch is as a dead one.  collect: it is, too, and the join
 *       lists it; a join of all starts even where nothing but failures came.
 *   (3) A join of all (best_effort: that drops) starts when every branch is
 *       decided and one came; a race starts as soon as enough came.
 *   (4) A join that does not start is skipped once every edge to it is decided,
 *       never before: which failures it hands on must not depend on what was
 *       first.  Under fail_fast a failure that no join behind it mends does not
 *       wait for that.  The failures are those of the branches, be they to be
 *       dropped or collected: nobody is left to mend them.
 *   (5) A settled join starts once every edge is decided, if a branch to it ran,
 *       which final.c finds out.  Failures that come to it are listed, and go on
 *       as failures unless they are collected.
 *
 * Whether a join starts follows from its item's counts alone, and from the maps
 * at work; who comes before what it starts, and which failures it lists, from
 * its edges in their order.
 */
#include <assert.h>

#include "core/run/flow/flow.h"

/* ---- what came ---------------------------------------------------------- */

/* Did an element of a map, which counts where it ends, fail? */
static bool is_failure(const struct frame *element)
{
    return element->over && element->failed && !element->late;
}

const struct fan *mortise_join_gathered(const struct mortise_run *r,
                                        const struct frame *f, uint32_t edge)
{
    const struct mortise_edge *e = mortise_frame_edge(f, edge);
    const struct mortise_region *child;
    const struct fan *fan = NULL;
    const struct item *it;

    if (e->kind != MORTISE_EDGE_GATHER || f->edges[e->slot] == EDGE_OPEN)
        return NULL;
    it = mortise_item_from(f, edge, &child);
    if (child != NULL && child->kind == MORTISE_REGION_MAP)
        fan = it->fan != NULL && it->fan->home == f ? it->fan : NULL;
    else if (f->edges[e->slot] == EDGE_TAKEN) /* a map inside a loop */
        fan = r->execs[f->edge_src[e->slot]]->fan;
    return fan != NULL && fan->gather != NULL && fan->gather->state == X_DONE
               ? fan
               : NULL;
}

/* What counts of a map that has gathered. */
static struct join_count count_map(const struct mortise_run *r,
                                   const struct mortise_node *n,
                                   const struct fan *fan)
{
    struct join_count c = {.taken = (uint32_t)fan->n_came};

    for (size_t i = 0; i < fan->n_begun; i++) {
        if (!is_failure(fan->elements[i]))
            continue;
        c.failed++;
        c.cause = mortise_exec_least(r, c.cause, fan->elements[i]->cause);
    }
    if (!mortise_join_is_race(&n->join))            /* it is one branch, */
        c.taken = fan->n_came > 0 || c.failed == 0; /* be the list empty */
    return c;
}

struct join_count mortise_join_count(const struct mortise_run *r,
                                     const struct frame *f, uint32_t edge)
{
    const struct mortise_edge *e = mortise_frame_edge(f, edge);
    const struct fan *fan = mortise_join_gathered(r, f, edge);
    enum edge_state state = (enum edge_state)f->edges[e->slot];
    struct join_count c = {.taken = state == EDGE_TAKEN,
                           .failed = state == EDGE_FAILED};

    if (fan != NULL)
        return count_map(r, &f->graph->nodes[e->to], fan);
    if (state == EDGE_FAILED)
        c.cause = f->edge_src[e->slot];
    return c;
}

bool mortise_join_fails_by(const struct mortise_node *n, size_t n_failed)
{
    return n_failed > 0 && n->join.kind != MORTISE_JOIN_SETTLED &&
           n->join.on_branch_error == MORTISE_BRANCH_FAIL;
}

bool mortise_join_lists(const struct mortise_node *n)
{
    return n->join.kind == MORTISE_JOIN_SETTLED ||
           n->join.on_branch_error == MORTISE_BRANCH_COLLECT;
}

/* It does not start (4). */
static enum join_verdict skipped(const struct frame *f,
                                 const struct mortise_node *n,
                                 const struct item *it)
{
    bool failed = it->n_failed > 0;

    if (it->n_decided < n->n_in &&
        !(failed && f->graph->fail_fast && !n->recoverable))
        return JOIN_WAIT;
    return failed ? JOIN_SKIP_FAILED : JOIN_SKIP;
}

static enum join_verdict judge_all(const struct frame *f,
                                   const struct mortise_node *n,
                                   const struct item *it)
{
    uint32_t came = it->n_taken + (mortise_join_lists(n) ? it->n_failed : 0);

    if (mortise_join_fails_by(n, it->n_failed))
        return skipped(f, n, it);
    if (it->n_decided < n->n_in)
        return JOIN_WAIT;
    return came > 0 ? JOIN_FIRE : skipped(f, n, it);
}

/* ---- races -------------------------------------------------------------- */

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

/* May enough come, still?  A map at work may have as many elements as it
 * likes. */
static bool is_in_reach(const struct frame *f, const struct mortise_node *n,
                        const struct item *it)
{
    uint32_t n_maps =
        mortise_join_is_race(&n->join) ? mortise_join_n_maps(f, n) : 0;

    assert(it->n_decided <= n->n_in);
    for (uint32_t k = 0; k < n_maps; k++)
        if (f->edges[mortise_frame_edge(f, n->in[n->n_in - 1 - k])->slot] ==
            EDGE_OPEN)
            return true;
    return it->n_taken + (n->n_in - it->n_decided) >= mortise_join_need(n);
}

bool mortise_join_may_start(const struct frame *f, const struct mortise_node *n,
                            const struct item *it)
{
    size_t n_failed = it->n_failed;

    for (uint32_t k = 0; k < mortise_join_n_maps(f, n); k++) {
        const struct fan *fan = mortise_join_map(f, n, k);

        n_failed += fan != NULL ? fan->n_failed : 0;
    }
    return !mortise_join_fails_by(n, n_failed);
}

static enum join_verdict judge_race(const struct frame *f,
                                    const struct mortise_node *n,
                                    const struct item *it)
{
    bool may = mortise_join_may_start(f, n, it);

    if (may && it->n_taken >= mortise_join_need(n))
        return JOIN_FIRE;
    return may && is_in_reach(f, n, it) ? JOIN_WAIT : skipped(f, n, it);
}

/* Is a failure that comes when a race is over one of what it is in?  Of a join
 * that was skipped, as nobody is there to mend it; not of one whose own failure
 * was handed on: that said it already. */
bool mortise_join_minds_late(const struct mortise_node *n,
                             const struct item *it)
{
    if (n->join.kind == MORTISE_JOIN_ALL || it->phase == ITEM_SKIPPED_FAILED)
        return false;
    return n->join.on_branch_error == MORTISE_BRANCH_FAIL ||
           it->phase == ITEM_SKIPPED;
}

/* The item of node `n` in f, or of the region that it is the entry of. */
enum join_verdict mortise_join_judge(const struct frame *f,
                                     const struct mortise_node *n,
                                     const struct item *it)
{
    enum join_verdict v;

    if (n->join.kind == MORTISE_JOIN_SETTLED)
        v = it->n_decided < n->n_in ? JOIN_WAIT : JOIN_FIRE;
    else if (n->join.kind == MORTISE_JOIN_ALL)
        v = judge_all(f, n, it);
    else
        v = judge_race(f, n, it);

    return v == JOIN_FIRE && (f->lost || it->lost || mortise_race_at_end(f))
               ? JOIN_SKIP
               : v;
}

/* ---- who comes before, and what failed ------------------------------------ */

/* One more failure for a list; `index`: of an element, < 0: of an edge. */
static int list_failure(const struct mortise_run *r, json_t *list,
                        uint32_t cause, json_int_t index,
                        struct mortise_err *err)
{
    const struct exec *by = r->execs[cause];
    json_t *one = json_pack("{s:s, s:o}", "node", mortise_exec_node(r, by)->id,
                            "error", mortise_env_error(r, by, by->error));

    if (one != NULL && index >= 0 &&
        json_object_set_new(one, "index", json_integer(index)) != 0)
        mortise_json_drop(&one);
    return json_array_append_new(list, one) == 0 ? MORTISE_OK
                                                 : mortise_nomem(err);
}

static int list_elements(const struct mortise_run *r, json_t *list,
                         const struct fan *fan, struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < fan->n_begun; i++)
        if (is_failure(fan->elements[i]))
            rv = list_failure(r, list, fan->elements[i]->cause, (json_int_t)i,
                              err);
    return rv;
}

int mortise_join_collect(struct mortise_run *r, const struct frame *f,
                         const struct mortise_node *n, struct exec *x,
                         struct mortise_err *err)
{
    int rv = MORTISE_OK;

    x->caught = json_array();
    if (x->caught == NULL)
        return mortise_nomem(err);
    for (uint32_t i = 0; rv == MORTISE_OK && i < n->n_in; i++) {
        const struct fan *fan = mortise_join_gathered(r, f, n->in[i]);
        uint32_t slot = mortise_frame_edge(f, n->in[i])->slot;

        if (fan != NULL)
            rv = list_elements(r, x->caught, fan, err);
        else if (f->edges[slot] == EDGE_FAILED)
            rv = list_failure(r, x->caught, f->edge_src[slot], -1, err);
    }
    return rv;
}

int mortise_join_failures(const struct mortise_run *r, const struct frame *f,
                          uint32_t edge, struct indexes *out,
                          struct mortise_err *err)
{
    const struct fan *fan = mortise_join_gathered(r, f, edge);
    uint32_t slot = mortise_frame_edge(f, edge)->slot;
    int rv = MORTISE_OK;

    if (fan == NULL)
        return f->edges[slot] == EDGE_FAILED
                   ? mortise_indexes_add(r->mem, out, f->edge_src[slot], err)
                   : MORTISE_OK;
    for (size_t i = 0; rv == MORTISE_OK && i < fan->n_begun; i++)
        if (is_failure(fan->elements[i]))
            rv = mortise_indexes_add(r->mem, out, fan->elements[i]->cause, err);
    return rv;
}

int mortise_join_sources(const struct mortise_run *r, const struct frame *f,
                         const struct mortise_node *n, struct indexes *preds,
                         struct mortise_err *err)
{
    int rv = MORTISE_OK;

    for (uint32_t i = 0; rv == MORTISE_OK && i < n->n_in; i++) {
        const struct fan *fan = mortise_join_gathered(r, f, n->in[i]);
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
