/* edge_guards.c -- what leaves a node along its edges is judged on the way.
 *
 * When a node has succeeded and an edge that it takes has guardrails, these see
 * its output before anything of it is written.
 *
 *   (1) Which edges are taken is decided first, on what the node gave, and
 *       stays so whatever guardrails replace.  That and the output are recorded
 *       (`leaving`) before anybody is asked: after a crash in between, the very
 *       same is judged again, and the node itself does not run again.
 *   (2) The edges are looked at in their order, and each one's guardrails in
 *       theirs, each seeing what the one before left.
 *   (3) A violation is the node's failure (`block`), or only noted (`warn`), or
 *       the replacement becomes the node's output, for all of its edges and for
 *       what it writes (`sanitize`); or that edge is not taken, and its detour
 *       is (`reroute`), while the node's other edges stay.
 *   (4) What its executor wants written besides (`update`) passes along the
 *       edges, too (guard.c, 5): it is judged behind the output.
 *   (5) What a graph inside gave is recorded likewise, without edges, before
 *       the guardrails of its node see it: a graph that is over does not run
 *       again for their sake.
 */
#include <string.h>

#include "run/outcome/outcome.h"

/* ---- asking -------------------------------------------------------------- */

/* The update as it passed is what was said; and nothing is left to judge. */
static int settle_passed(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err)
{
    json_t *output = json_incref(x->judged != NULL ? x->judged : x->subject);
    int rv = x->judged != NULL && x->replaced
                 ? mortise_guard_keep_update(x, err)
                 : MORTISE_OK;

    if (rv == MORTISE_OK)
        rv = mortise_done_judged(r, x, output, x->how, err);
    json_decref(output);
    return rv;
}

/* The first guardrail from here on, of the output and then of the update. */
static int ask_next(struct mortise_run *r, struct exec *x,
                    struct mortise_err *err)
{
    json_t *update = mortise_judge_said(x, x->how, "update");

    for (; x->at < x->n_chosen; x->at++, x->guard = 0) {
        const struct mortise_edge *e = mortise_guards_edge(x);

        if (mortise_edge_is_guarded(e) && x->guard < e->policy->guards.n)
            return mortise_call_start(r, x, MORTISE_RUN_CHECK, err);
    }
    if (x->judged != NULL || update == NULL)
        return settle_passed(r, x, err);
    mortise_json_hold(&x->judged, x->subject);
    mortise_json_hold(&x->subject, update);
    x->replaced = false;
    x->at = x->guard = 0;
    return ask_next(r, x, err); /* once */
}

int mortise_edge_guards_start(struct mortise_run *r, struct exec *x,
                              struct mortise_err *err)
{
    if (x->n_chosen == 0)
        return mortise_guard_begin(r, x, MORTISE_GUARD_OUTPUT, x->leaving, err);
    memcpy(x->going, x->chosen, x->n_chosen * sizeof x->going[0]);
    x->stage = MORTISE_GUARD_EDGE;
    x->at = x->guard = x->turn = 0;
    x->replaced = false;
    mortise_json_hold(&x->subject, x->leaving);
    mortise_json_drop(&x->judged);
    return ask_next(r, x, err);
}

int mortise_edge_guards_passed(struct mortise_run *r, struct exec *x,
                               struct mortise_err *err)
{
    x->guard++;
    return ask_next(r, x, err);
}

int mortise_edge_guards_reroute(struct mortise_run *r, struct exec *x,
                                struct mortise_err *err)
{
    x->going[x->at] = mortise_guards_policy(x)->end;
    return ask_next(r, x, err);
}

int mortise_edge_guards_block(struct mortise_run *r, struct exec *x,
                              const struct mortise_err *why,
                              struct mortise_err *err)
{
    enum done_how how = x->how;

    mortise_exec_forget_leaving(x);
    return how == DONE_ON_ERROR /* that was its last word */
               ? mortise_fail_for_good(r, x, "guardrail", why->msg, false, err)
               : mortise_fail_attempt_err(r, x, "guardrail", why, err);
}
