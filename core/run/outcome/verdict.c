/* verdict.c -- a guardrail answered: what becomes of what it judged.  guard.c
 * has the promises. */
#include <assert.h>
#include <string.h>

#include "run/outcome/outcome.h"

/* What becomes of a violation: "warn", "sanitize", "block" or "reroute". */
static const char *action_on(enum mortise_on_violation on,
                             const json_t *replacement)
{
    switch (on) {
    case MORTISE_VIOLATION_WARN:
        return "warn";
    case MORTISE_VIOLATION_REROUTE:
        return "reroute";
    case MORTISE_VIOLATION_SANITIZE:
        return replacement != NULL ? "sanitize" : "block";
    case MORTISE_VIOLATION_BLOCK:
        break;
    }
    return "block";
}

/* The arguments passed, as they are now (3). */
static int input_passed(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_CHECKED);
    bool sub = mortise_exec_node(r, x)->sub != NULL;
    int rv;

    /* A mapping may give something else in another attempt; args do not. */
    e.value = x->replaced || sub ? json_incref(x->subject) : NULL;
    e.note = json_incref(x->verdicts);
    rv = mortise_run_record(r, &e, err);
    mortise_entry_finish(&e);
    if (rv != MORTISE_OK)
        return rv;
    mortise_exec_become(r, x, X_READY); /* and has its slot */
    return mortise_exec_kind(r, x)->start(r, x, err);
}

/* (5): the output, and then what its executor wants written besides. */
static int output_passed(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err)
{
    json_t *update = mortise_judge_said(x, x->how, "update"), *output;
    int rv = MORTISE_OK;

    if (x->judged == NULL && update != NULL) {
        mortise_json_hold(&x->judged, x->subject);
        return mortise_guard_begin(r, x, MORTISE_GUARD_OUTPUT, update, err);
    }
    if (x->judged != NULL && x->replaced)
        rv = mortise_guard_keep_update(x, err);
    output = json_incref(x->judged != NULL ? x->judged : x->subject);
    if (rv == MORTISE_OK)
        rv = mortise_done_judged(r, x, output, x->how, err);
    json_decref(output);
    return rv;
}

static int passed(struct mortise_run *r, struct exec *x,
                  struct mortise_err *err)
{
    switch (x->stage) {
    case MORTISE_GUARD_INPUT:
        return input_passed(r, x, err);
    case MORTISE_GUARD_OUTPUT:
        return output_passed(r, x, err);
    case MORTISE_GUARD_DECISION:
        return mortise_exec_kind(r, x)->passed(r, x, err);
    default:
        return mortise_done_settle(r, x, x->subject, DONE_EXECUTED, err);
    }
}

/* A violation that leads elsewhere: nothing is written. */
static int settle_reroute(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_entry(r, x, MORTISE_E_DONE);
    uint32_t edge[1];
    int rv;

    e.edges = edge;
    e.note = json_incref(x->verdicts);
    mortise_route_of_kind(r, x, &e, MORTISE_EDGE_REROUTE);
    assert(e.n_edges == 1); /* graph/ lets no such node in without a target */
    rv = mortise_run_record(r, &e, err);
    mortise_entry_finish(&e);
    if (rv == MORTISE_OK && x->state == X_HELD)
        rv = mortise_done_ask_after(r, x, err);
    return rv;
}

static int block(struct mortise_run *r, struct exec *x, const char *id,
                 const char *reason, struct mortise_err *err)
{
    struct mortise_err words;

    mortise_fail(&words, MORTISE_EINVAL, "guardrail '%s'%s%s: %s", id,
                 x->stage != MORTISE_GUARD_TARGET ? " of the " : "",
                 x->stage != MORTISE_GUARD_TARGET
                     ? mortise_guard_stage_name(x->stage)
                     : "",
                 reason);
    return x->stage == MORTISE_GUARD_EDGE
               ? mortise_edge_guards_block(r, x, &words, err)
               : mortise_fail_attempt_err(r, x, "guardrail", &words, err);
}

/* It answered; `failure`: or why it did not. */
int mortise_verdict_settle(struct mortise_run *r, struct exec *x,
                           const struct mortise_result_in *in,
                           const char *failure, struct mortise_err *err)
{
    const char *id = mortise_guard_id(r, x), *action = "pass";
    const char *reason = failure != NULL ? failure : in->message;
    bool violation = failure != NULL || in->violation;
    json_t *replacement = failure == NULL ? in->output : NULL;
    int rv;

    if (mortise_fold_check_depth(replacement, NULL) != MORTISE_OK)
        replacement = NULL;
    if (violation)
        action = action_on(x->stage == MORTISE_GUARD_EDGE
                               ? mortise_guards_policy(x)->on_violation
                               : mortise_exec_node(r, x)->on_violation,
                           replacement);
    rv = mortise_guard_note(x, id, violation, reason, action, err);
    if (rv != MORTISE_OK)
        return rv;
    x->turn++;
    if (strcmp(action, "reroute") == 0)
        return x->stage == MORTISE_GUARD_EDGE
                   ? mortise_edge_guards_reroute(r, x, err)
                   : settle_reroute(r, x, err);
    if (strcmp(action, "block") == 0)
        return block(r, x, id, reason, err);
    if (strcmp(action, "sanitize") == 0) {
        mortise_json_hold(&x->subject, replacement);
        x->replaced = true;
    }
    if (x->stage == MORTISE_GUARD_EDGE)
        return mortise_edge_guards_passed(r, x, err);
    if (++x->guard < mortise_exec_node(r, x)->guards[x->stage].n)
        return mortise_call_start(r, x, MORTISE_RUN_CHECK, err);
    return passed(r, x, err);
}
