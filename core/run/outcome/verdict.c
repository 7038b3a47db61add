/* verdict.c -- a guardrail answered: what becomes of what it judged.  guard.c has
 * the promises.
 */
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
    struct mortise_entry e = entry_of(r, x, MORTISE_E_CHECKED);
    bool sub = node_of(r, x)->sub != NULL;
    int rv;

    /* A mapping may give something else in another attempt; args do not. */
    e.value = x->replaced || sub ? json_incref(x->subject) : NULL;
    e.note = json_incref(x->verdicts);
    rv = record(r, &e, err);
    mortise_entry_finish(&e);
    if (rv != MORTISE_OK)
        return rv;
    exec_become(r, x, X_READY); /* and has its slot */
    return sub ? subgraph_start(r, x, err) : start_tool(r, x, err);
}

/* (5): the output, and then what its executor wants written besides. */
static int output_passed(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err)
{
    json_t *update = judge_said(x, x->how, "update"), *output;
    int rv = MORTISE_OK;

    if (x->judged == NULL && update != NULL) {
        hold(&x->judged, x->subject);
        return guard_begin(r, x, MORTISE_GUARD_OUTPUT, update, err);
    }
    if (x->judged != NULL && x->replaced)
        rv = guard_keep_update(x, err);
    output = json_incref(x->judged != NULL ? x->judged : x->subject);
    if (rv == MORTISE_OK)
        rv = done_judged(r, x, output, x->how, err);
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
        return human_passed(r, x, err);
    default:
        return done_settle(r, x, x->subject, DONE_EXECUTED, err);
    }
}

/* A violation that leads elsewhere: nothing is written. */
static int settle_reroute(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_DONE);
    uint32_t edge[1];
    int rv;

    e.edges = edge;
    e.note = json_incref(x->verdicts);
    route_of_kind(r, x, &e, MORTISE_EDGE_REROUTE);
    assert(e.n_edges == 1); /* graph/ lets no such node in without a target */
    rv = record(r, &e, err);
    mortise_entry_finish(&e);
    if (rv == MORTISE_OK && x->state == X_HELD)
        rv = done_ask_after(r, x, err);
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
               ? leave_block(r, x, &words, err)
               : fail_attempt_err(r, x, "guardrail", &words, err);
}

/* It answered; `failure`: or why it did not. */
int verdict_settle(struct mortise_run *r, struct exec *x,
                   const struct mortise_result_in *in, const char *failure,
                   struct mortise_err *err)
{
    const char *id = guard_id(r, x), *action = "pass";
    const char *reason = failure != NULL ? failure : in->message;
    bool violation = failure != NULL || in->violation;
    json_t *replacement = failure == NULL ? in->output : NULL;
    int rv;

    if (mortise_fold_check_depth(replacement, NULL) != MORTISE_OK)
        replacement = NULL;
    if (violation)
        action = action_on(x->stage == MORTISE_GUARD_EDGE
                               ? guards_policy(x)->on_violation
                               : node_of(r, x)->on_violation,
                           replacement);
    rv = guard_note(x, id, violation, reason, action, err);
    if (rv != MORTISE_OK)
        return rv;
    x->turn++;
    if (strcmp(action, "reroute") == 0)
        return x->stage == MORTISE_GUARD_EDGE ? leave_reroute(r, x, err)
                                              : settle_reroute(r, x, err);
    if (strcmp(action, "block") == 0)
        return block(r, x, id, reason, err);
    if (strcmp(action, "sanitize") == 0) {
        hold(&x->subject, replacement);
        x->replaced = true;
    }
    if (x->stage == MORTISE_GUARD_EDGE)
        return leave_passed(r, x, err);
    if (++x->guard < node_of(r, x)->guards[x->stage].n)
        return call_start(r, x, MORTISE_RUN_CHECK, err);
    return passed(r, x, err);
}
