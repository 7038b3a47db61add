/* guard.c -- guardrails: what they said, and what becomes of it.
 *
 * They are asked one after the other, each about what the one before left.
 * One that failed to answer is a violation (fail closed), and what it may have
 * offered as a replacement is not used.
 */
#include <assert.h>
#include <string.h>

#include "run/internal.h"

static int note_verdict(struct exec *x, const char *id, bool violation,
                        const char *reason, const char *action,
                        struct mortise_err *err)
{
    json_t *note = json_pack("{s:s, s:b, s:s}", "guardrail", id, "violation",
                             (int)violation, "action", action);

    if (x->notes == NULL)
        x->notes = json_array();
    if (note != NULL && violation)
        json_object_set_new(note, "reason",
                            mortise_json_strn(reason, strlen(reason)));
    return note != NULL && json_array_append_new(x->notes, note) == 0
               ? MORTISE_OK
               : mortise_nomem(err);
}

/* What becomes of a violation: "warn", "sanitize", "block" or "reroute". */
static const char *action_on(const struct mortise_node *n,
                             const json_t *replacement)
{
    switch (n->on_violation) {
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

/* A violation that leads elsewhere: nothing is written. */
static int settle_reroute(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_DONE);
    uint32_t edge[1];
    int rv;

    e.edges = edge;
    e.note = x->notes;
    route_of_kind(r, x, &e, MORTISE_EDGE_REROUTE);
    assert(e.n_edges == 1); /* graph/ lets no such node in without a target */
    rv = record(r, &e, err);
    if (rv == MORTISE_OK && x->state == X_HELD)
        rv = settle_ask_after(r, x, err);
    return rv;
}

static int next_guard(struct mortise_run *r, struct exec *x,
                      struct mortise_err *err)
{
    if (++x->guard < node_of(r, x)->n_guardrails)
        return start_call(r, x, MORTISE_RUN_CHECK, err);
    return settle_done(r, x, x->subject, DONE_EXECUTED, err);
}

/* A guardrail answered; one that failed to is a violation (fail closed), and
 * what it may have offered as a replacement is not used. */
int guard_settle(struct mortise_run *r, struct exec *x,
                 const struct mortise_result_in *in, const char *failure,
                 struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    const char *id = n->guardrails[x->guard], *action = "pass";
    const char *reason = failure != NULL ? failure : in->message;
    bool violation = failure != NULL || in->violation;
    json_t *replacement = failure == NULL ? in->output : NULL;
    struct mortise_err words;
    int rv;

    if (violation)
        action = action_on(n, replacement);
    rv = note_verdict(x, id, violation, reason, action, err);
    if (rv != MORTISE_OK)
        return rv;
    if (strcmp(action, "reroute") == 0)
        return settle_reroute(r, x, err);
    if (strcmp(action, "block") == 0) {
        mortise_fail(&words, MORTISE_EINVAL, "guardrail '%s': %s", id, reason);
        return fail_attempt_err(r, x, "guardrail", &words, err);
    }
    if (strcmp(action, "sanitize") == 0)
        hold(&x->subject, replacement);
    return next_guard(r, x, err);
}
