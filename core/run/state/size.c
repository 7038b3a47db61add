/* size.c -- limits.state: how large the state may become.
 *
 * A commit whose state would pass the limit fails its node.  What counts is
 * the state that the execution itself leaves, the fold over its causal past:
 * that does not depend on what others, beside it, have done by then, so timing
 * does not show in who fails.
 *
 * To measure a state at each commit would cost what the state is large, and a
 * step may not.  So there is a bound that costs what was written: no state is
 * larger than all that was ever written into it.  Of an execution's view that
 * is the bound of its dominator's view (state_view.c) and everything that the
 * run has committed since that one was made.  Only when the bound passes the
 * limit the state is measured, and what was measured is the new bound.
 *
 * An {expr} reducer may give more than was written.  What it gave is measured
 * while it is there; after a recovery it is not, and counts as too much, so
 * that the next commit behind it measures.
 *
 * What a person's update would make is measured before it is recorded: that is
 * as large as what it was given, and rare.
 *
 * Sizes are about those of the JSON: of strings their bytes, of other scalars
 * eight.
 */
#include <assert.h>
#include <string.h>

#include "core/run/state/state.h"

#define UNKNOWN ((uint64_t)1 << 40) /* more than any memory holds */

/* Values are at most as deep as mortise_stage_depths() lets them be. */
static uint64_t size_of(const json_t *v)
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
        n += size_of(member) + 1;
    }
    json_object_foreach(mortise_json_unconst(v), key, member)
    {
        n += strlen(key) + 4 + size_of(member);
    }
    return n;
}

void mortise_size_link(struct mortise_run *r, struct exec *x)
{
    const struct exec *d = r->execs[x->idom];

    x->size_then = r->size_written;
    x->size_before =
        d->size_before - d->size_saved + (r->size_written - d->size_then);
}

void mortise_size_add(struct mortise_run *r, struct exec *x,
                      const struct mortise_write *w)
{
    uint64_t n = w->reduce == MORTISE_REDUCE_EXPR
                     ? UNKNOWN
                     : size_of(w->value) + strlen(w->path->text) + 4;

    x->size_own += n;
    r->size_written += n;
}

void mortise_size_forget(struct mortise_run *r, struct exec *x)
{
    assert(x->size_own <= r->size_written); /* of which it is a part */
    r->size_written -= x->size_own;
    x->size_own = x->size_saved = 0;
}

/* The state was measured: what comes after x starts from there. */
static void learn(struct mortise_run *r, struct exec *x, uint64_t exact)
{
    if (x->size_own > exact) { /* UNKNOWN, say */
        r->size_written -= x->size_own - exact;
        x->size_own = exact;
    }
    if (x->size_before + x->size_own > exact)
        x->size_saved = x->size_before + x->size_own - exact;
}

int mortise_size_within(const struct mortise_graph *g, const json_t *state,
                        uint64_t *size, struct mortise_err *why)
{
    *size = size_of(state);
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
    assert(x->after != NULL); /* whoever asks has folded its writes */
    rv = mortise_size_within(g, x->after, &exact, why);
    if (rv == MORTISE_OK)
        learn(r, x, exact);
    return rv;
}
