/* doubt_evidence.c -- evidence about an effect in doubt: the unclear answer of
 * a step, and the evidence in the request to people.  doubt.c decides by it. */
#include <assert.h>

#include "core/run/asks/asks.h"

bool mortise_doubt_may_be_repeated(const struct mortise_node *n)
{
    assert(n->op != NULL); /* only an operation has an effect */
    return n->on_in_doubt == MORTISE_DOUBT_RETRY ||
           mortise_operation_is_idempotent(n->op);
}

bool mortise_doubt_can_arise_in_step(const struct mortise_run *r,
                                     const struct exec *x, const struct step *s)
{
    return s->kind == MORTISE_STEP_EFFECT && s->has_effect &&
           !mortise_doubt_may_be_repeated(mortise_exec_node(r, x));
}

int mortise_doubt_add_unclear(struct mortise_run *r, struct exec *x,
                              struct step *s,
                              const struct mortise_answer_in *in, json_t *value,
                              struct mortise_err *err)
{
    struct heard *h = s->heard;

    assert(x->journal != NULL && x->journal->steps[s->index] == s);
    assert(s->state == STEP_OPEN); /* an answered step is not in doubt */
    if (h == NULL)
        h = s->heard = mortise_zalloc(r->mem, sizeof *h);
    if (h == NULL)
        return mortise_nomem(err);
    h->status = in->status;
    h->after = x->journal->issued;
    mortise_json_set_ref(&h->value, value);
    mortise_json_set_ref(&h->seen, in->seen);
    return MORTISE_OK;
}

void mortise_doubt_remove_unclear(struct mortise_run *r, struct step *s)
{
    if (s->heard == NULL)
        return;
    json_decref(s->heard->value);
    json_decref(s->heard->seen);
    mortise_release(r->mem, s->heard, sizeof *s->heard);
    s->heard = NULL;
}

int mortise_doubt_set_evidence(struct exec *x, const json_t *what, bool apart)
{
    json_t *told =
        json_pack("{s:O*, s:O*, s:O*}", "cause", json_object_get(what, "cause"),
                  "step", json_object_get(what, "step"), "answer",
                  json_object_get(what, "answer"));

    mortise_json_clear_ref(&x->told);
    x->told = told;
    x->evidence_has_entry = apart;
    return told != NULL ? 0 : -1;
}

void mortise_doubt_remove_evidence(struct exec *x)
{
    mortise_json_clear_ref(&x->told);
    x->evidence_has_entry = false;
}
