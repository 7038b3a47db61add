/* doubt_resolve.c -- settling a doubt: call again, ask the plugin, ask a
 * person, or fail.  doubt.c lists the promises and detects doubts. */
#include <string.h>

#include "core/run/outcome/outcome.h"

int mortise_doubt_fail(struct mortise_run *r, struct exec *x, const char *words,
                       struct mortise_err *err)
{
    int rv;

    assert(!x->failing);
    x->failing = true; /* also for a rejected on_error value */
    rv = mortise_fail_attempt(r, x, "in_doubt", "permanent", words, err);
    x->failing = false;
    return rv;
}

/* on_in_doubt: fail (7). */
static int fail_in_doubt(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err)
{
    char words[512];
    int rv;

    if (x->failed_in_doubt)
        return mortise_doubt_open_request(r, x, err);
    snprintf(words, sizeof words, "%.400s; the effect may have happened",
             mortise_doubt_get_cause(x, mortise_doubt_get_step(r, x)));
    rv = mortise_doubt_record_cause(r, x, err);
    return rv == MORTISE_OK ? mortise_doubt_fail(r, x, words, err) : rv;
}

int mortise_doubt_begin_settling(struct mortise_run *r, struct exec *x,
                                 struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);

    assert(x->state == X_READY && x->body != NULL);
    switch (n->on_in_doubt) {
    case MORTISE_DOUBT_RETRY:
        return mortise_start_execute(r, x, err);
    case MORTISE_DOUBT_ASK:
        return mortise_doubt_open_request(r, x, err);
    case MORTISE_DOUBT_FAIL:
        return fail_in_doubt(r, x, err);
    case MORTISE_DOUBT_DEFAULT:
    case MORTISE_DOUBT_RECONCILE:
        break;
    }
    if (n->op->idempotent) /* same key: the plugin recognizes the call */
        return mortise_start_execute(r, x, err);
    if (n->op->reconcile)
        return mortise_call_start(r, x, MORTISE_RUN_RECONCILE, err);
    return mortise_doubt_open_request(r, x, err);
}

int mortise_doubt_begin_for_result(struct mortise_run *r, struct exec *x,
                                   const struct mortise_err *why,
                                   struct mortise_err *err)
{
    int rv = mortise_doubt_set_rejected_result(x, why, err);

    assert(x->result != NULL);
    if (rv != MORTISE_OK)
        return rv;
    /* An earlier process may have recorded the intent. */
    mortise_exec_compute_key(r, x);
    return mortise_exec_node(r, x)->on_in_doubt == MORTISE_DOUBT_FAIL
               ? mortise_doubt_open_request(
                     r, x, err) /* the node has failed already */
               : mortise_doubt_begin_settling(r, x, err);
}

int mortise_doubt_begin_for_loser(struct mortise_run *r, struct exec *x,
                                  struct mortise_err *err)
{
    int rv;

    assert(x->loss != LOSS_NONE && mortise_doubt_has_open_effect(r, x));
    if (!mortise_run_has_free_slot(r) || mortise_exec_must_await_resource(r, x))
        return MORTISE_OK; /* settling may call the plugin: wait for a slot */
    rv = mortise_exec_disarm_timer(r, x, err);
    if (rv == MORTISE_OK && x->state != X_READY)
        rv = mortise_exec_make_ready(r, x, err);
    return rv == MORTISE_OK ? mortise_start_exec(r, x, err) : rv;
}

/* (6): answer each open step with the answer that was heard, or as not done.
 * heard_only: skip steps without an answer. */
static int answer_open_steps(struct mortise_run *r, struct exec *x,
                             bool heard_only, bool *any,
                             struct mortise_err *err)
{
    const struct journal *j = x->journal;
    int rv = MORTISE_OK;

    *any = false;
    for (size_t i = 0; j != NULL && rv == MORTISE_OK && i < j->n; i++) {
        struct step *s = j->steps[i];

        if (s->state != STEP_OPEN || (heard_only && s->heard == NULL))
            continue;
        *any = true;
        rv = mortise_step_set_not_happened(r, x, s, err);
    }
    return rv;
}

/* Fail as noted in x->failure, since nothing happened. */
static int fail_as_noted(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err)
{
    json_t *failure = json_incref(x->failure);
    bool any;
    int rv = answer_open_steps(r, x, false, &any, err);

    if (rv == MORTISE_OK)
        rv = mortise_fail_attempt(
            r, x, json_string_value(json_object_get(failure, "code")),
            json_string_value(json_object_get(failure, "class")),
            json_string_value(json_object_get(failure, "message")), err);
    json_decref(failure);
    return rv;
}

int mortise_doubt_handle_refuted(struct mortise_run *r, struct exec *x,
                                 struct mortise_err *err)
{
    const char *code = json_string_value(json_object_get(x->failure, "code"));
    bool any;
    int rv = answer_open_steps(r, x, true, &any, err);

    if (rv != MORTISE_OK)
        return rv;
    if (!any && code != NULL && code[0] != '\0')
        return fail_as_noted(r, x, err);
    /* That call is over; the next one may have to wait for a slot. */
    mortise_exec_set_state(r, x, X_READY);
    rv = mortise_doubt_forget_cause(r, x, err);
    return rv == MORTISE_OK ? mortise_start_execute(r, x, err) : rv;
}

int mortise_doubt_handle_denied(struct mortise_run *r, struct exec *x,
                                struct mortise_err *err)
{
    const char *code = json_string_value(json_object_get(x->failure, "code"));

    return code != NULL && strcmp(code, mortise_doubt_diverged_code) == 0
               ? fail_as_noted(r, x, err)
               : MORTISE_OK;
}

int mortise_doubt_handle_loser_refuted(struct mortise_run *r, struct exec *x,
                                       struct mortise_err *err)
{
    bool any;
    int rv = answer_open_steps(r, x, false, &any, err);

    if (rv == MORTISE_OK && x->effect_open)
        rv = mortise_fail_undo_intent(r, x, err);
    return rv == MORTISE_OK ? mortise_stop_end_loser(r, x, err) : rv;
}
