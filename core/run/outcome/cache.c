/* cache.c -- reuse of the outputs of earlier calls (cache: true).
 *
 * Before the engine calls the operation of such a node, it looks up the output
 * of an equal call in the cache.  This LOOKUP is a call too, but of no plugin.
 *
 *   (1) The lookup takes the place of the call: after arguments, guardrails and
 *       approval, before the budget.  A cached output is judged like any other
 *       output, and costs nothing.
 *   (2) The lookup itself is not recorded.  The `done` entry has the cached
 *       output and its how, so a replay needs no cache.  After a crash before
 *       `done` the lookup is repeated.
 *   (3) An output is stored with the commit of its `done` entry, and only if
 *       the call gave nothing else: no update, goto, event or question.  Those
 *       would be missing when the cache returns the output alone.
 *   (4) The cache has the output as the plugin gave it, before guardrails and
 *       schemas.  They check it again each time.
 *   (5) There is no lookup for an execution with a journal, which must continue
 *       with the journal; nor for one whose budget reservation is on disk and
 *       unused (budget.c), since the reservation is for a call.
 */
#include <string.h>

#include "core/run/outcome/outcome.h"

/* (5) */
static bool may_look_up_cache(const struct exec *x)
{
    return x->journal == NULL &&
           (x->hold == NULL || !x->hold->call_not_started);
}

int mortise_cache_check_lookup(struct mortise_run *r, struct exec *x, bool *ask,
                               struct mortise_err *err)
{
    *ask = false;
    if (!mortise_exec_node(r, x)->cache)
        return MORTISE_OK;
    if (x->fresh == NULL)
        x->fresh = mortise_arena_alloc(&r->arena, sizeof *x->fresh);
    if (x->fresh == NULL)
        return mortise_nomem(err);
    x->fresh->open = false;
    *ask = may_look_up_cache(x);
    return MORTISE_OK;
}

void mortise_cache_allow_store(struct exec *x,
                               const struct mortise_result_in *in)
{
    assert(x->fresh != NULL && !x->fresh->open); /* it was looked up */
    x->fresh->open = in->cache_key != NULL;
    if (x->fresh->open)
        memcpy(x->fresh->key, in->cache_key, MORTISE_DIGEST);
}

void mortise_cache_store_output(struct exec *x,
                                const struct mortise_result_in *in)
{
    if (x->fresh == NULL)
        return;
    mortise_json_clear_ref(&x->fresh->output);
    if (x->fresh->open && in->plain && in->said == NULL && x->journal == NULL)
        x->fresh->output = json_incref(in->output);
    x->fresh->open = false; /* the key is for this call only */
}

int mortise_stage_cache(struct outcome *o, struct mortise_err *err)
{
    struct mortise_run *r = o->r;
    struct fresh *fresh = o->x->fresh;
    struct mortise_run_cached *grown;

    if (!o->from->from_own_call || fresh == NULL || fresh->output == NULL)
        return MORTISE_OK;
    assert(mortise_exec_node(r, o->x)->cache);
    grown = mortise_array_grow(r->mem, r->kept.cached, r->kept.n_cached,
                               &r->kept.cap_cached, sizeof *grown);
    if (grown == NULL)
        return mortise_nomem(err);
    r->kept.cached = grown;
    grown += r->kept.n_cached++;
    memcpy(grown->key, fresh->key, MORTISE_DIGEST);
    grown->value = fresh->output;
    fresh->output = NULL; /* owned by the commit now */
    return MORTISE_OK;
}
