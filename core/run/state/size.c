/* size.c -- limits.state: the maximum size of the state.
 *
 * A commit whose state would exceed the limit fails its node.  The measured
 * state is the one after the execution itself, the fold over its causal past.
 * It does not depend on executions that run beside it, so timing does not
 * decide which node fails.
 *
 * Measuring at each commit would cost time in proportion to the state.  So an
 * upper bound is kept, whose cost depends only on the writes: no state is
 * larger than everything that was ever written into it.  The bound of an
 * execution's view is the bound of its dominator's view (state_view.c) plus
 * everything that the run committed since the dominator was created.  The state
 * is measured only when the bound exceeds the limit; the measured size becomes
 * the new bound.
 *
 * An {expr} reducer may return more than was written.  Its result is measured
 * while it is in memory.  After a recovery it is not, and counts as UNKNOWN, so
 * the next commit after it measures the state.
 *
 * The state after a person's update is measured before the update is recorded.
 * Updates are rare, so the cost does not matter.
 *
 * Sizes approximate the length of the JSON: strings count their bytes, other
 * scalars count eight.
 */
#include <assert.h>
#include <string.h>

#include "core/run/state/state.h"

#define UNKNOWN ((uint64_t)1 << 40) /* more than any memory holds */

/* The recursion is bounded: mortise_stage_depths() limits the depth of
 * values. */
static uint64_t measure_value(const json_t *v)
{
    uint64_t n = 2;
    const char *key;
    json_t *member;
    size_t i;

    if (json_is_string(v))
        return json_string_length(v) + 2;
    if (!json_is_object(v) && !json_is_array(v))
        return 8;
    json_array_foreach(mortise_json_unconst(v), i, member)
    {
        n += measure_value(member) + 1;
    }
    json_object_foreach(mortise_json_unconst(v), key, member)
    {
        n += strlen(key) + 4 + measure_value(member);
    }
    return n;
}

void mortise_size_add_preds(struct mortise_run *r, struct exec *x)
{
    const struct exec *d = r->execs[x->idom];

    x->size_then = r->size_written;
    x->size_before =
        d->size_before - d->size_saved + (r->size_written - d->size_then);
}

void mortise_size_add_write(struct mortise_run *r, struct exec *x,
                            const struct mortise_write *w)
{
    uint64_t n = w->reduce == MORTISE_REDUCE_EXPR
                     ? UNKNOWN
                     : measure_value(w->value) + strlen(w->path->text) + 4;

    x->size_own += n;
    r->size_written += n;
}

void mortise_size_subtract_writes(struct mortise_run *r, struct exec *x)
{
    assert(x->size_own <= r->size_written); /* which includes the part of x */
    r->size_written -= x->size_own;
    x->size_own = x->size_saved = 0;
}

/* The state after x was measured: lower the bounds of x to that size. */
static void lower_size_bounds(struct mortise_run *r, struct exec *x,
                              uint64_t exact)
{
    if (x->size_own > exact) { /* for example UNKNOWN */
        r->size_written -= x->size_own - exact;
        x->size_own = exact;
    }
    if (x->size_before + x->size_own > exact)
        x->size_saved = x->size_before + x->size_own - exact;
}

int mortise_size_check_state(const struct mortise_graph *g, const json_t *state,
                             uint64_t *size, struct mortise_err *why)
{
    *size = measure_value(state);
    if (*size <= g->limits.state)
        return MORTISE_OK;
    return mortise_fail(
        why, MORTISE_ELIMIT,
        "the state would have %llu bytes, but limits.state allows %llu",
        (unsigned long long)*size, (unsigned long long)g->limits.state);
}

bool mortise_size_is_small(const struct exec *x)
{
    return x->size_before + x->size_own <= x->frame->graph->limits.state;
}

int mortise_size_check(struct mortise_run *r, struct exec *x,
                       struct mortise_err *why)
{
    const struct mortise_graph *g = x->frame->graph;
    uint64_t exact;
    int rv;

    if (mortise_size_is_small(x))
        return MORTISE_OK;
    assert(x->after != NULL); /* the caller has folded its writes */
    rv = mortise_size_check_state(g, x->after, &exact, why);
    if (rv == MORTISE_OK)
        lower_size_bounds(r, x, exact);
    return rv;
}
