/* cache.c -- what was given before, and is not called for again (cache: true).
 *
 * Before such a node's operation is called, the world is asked what the same
 * call gave before: a LOOKUP, which is a call of nobody.
 *
 *   (1) It is asked where the call would be made: behind arguments, guardrails
 *       and approval, before the budget.  What is found is judged like any
 *       output, and costs nothing.
 *   (2) Nothing is recorded of having asked.  What was found stands in the
 *       `done` entry, with its how, so a replay needs no cache; after a crash
 *       before that, it is asked again.
 *   (3) What a call gave is kept, with the commit of its `done` entry, if it was
 *       an output and nothing else: no update, no goto, no event, no question
 *       to anybody.  Those would be missing where only the output comes back.
 *   (4) The output is kept as the plugin gave it, before guardrails and schemas
 *       saw it: they see it again each time.
 *   (5) An execution that asked for something has a journal, and goes on with
 *       that; it is not looked up.  Nor is one whose reservation is on disk and
 *       was not used (budget.c): that one is for a call.
 */
#include <string.h>

#include "core/run/outcome/outcome.h"

/* (5) */
static bool is_asked(const struct exec *x)
{
    return x->journal == NULL && (x->hold == NULL || !x->hold->uncalled);
}

int mortise_cache_begin(struct mortise_run *r, struct exec *x, bool *ask,
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
    *ask = is_asked(x);
    return MORTISE_OK;
}

void mortise_cache_missed(struct exec *x, const struct mortise_result_in *in)
{
    assert(x->fresh != NULL && !x->fresh->open); /* it was asked */
    x->fresh->open = in->cache_key != NULL;
    if (x->fresh->open)
        memcpy(x->fresh->key, in->cache_key, MORTISE_DIGEST);
}

void mortise_cache_note(struct exec *x, const struct mortise_result_in *in)
{
    if (x->fresh == NULL)
        return;
    mortise_json_drop(&x->fresh->output);
    if (x->fresh->open && in->plain && in->said == NULL && x->journal == NULL)
        x->fresh->output = json_incref(in->output);
    x->fresh->open = false; /* it is this call's key alone */
}

int mortise_stage_cache(struct outcome *o, struct mortise_err *err)
{
    struct mortise_run *r = o->r;
    struct fresh *fresh = o->x->fresh;
    struct mortise_run_cached *grown;

    if (!o->from->first_hand || fresh == NULL || fresh->output == NULL)
        return MORTISE_OK;
    assert(mortise_exec_node(r, o->x)->cache);
    grown = mortise_grow(r->mem, r->kept.cached, r->kept.n_cached,
                         &r->kept.cap_cached, sizeof *grown);
    if (grown == NULL)
        return mortise_nomem(err);
    r->kept.cached = grown;
    grown += r->kept.n_cached++;
    memcpy(grown->key, fresh->key, MORTISE_DIGEST);
    grown->value = fresh->output;
    fresh->output = NULL; /* taken */
    return MORTISE_OK;
}
