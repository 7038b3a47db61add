/* guard.c -- guardrails: what they said, and what becomes of it.
 *
 * They are asked one after the other, each about what the one before left; a
 * stage is over when all passed, or when one of them ended it.
 *
 *   (1) It fails closed: one that failed to answer is a violation, and what it
 *       may have offered as a replacement is not used; nor is a replacement
 *       that is too deep to be kept.
 *   (2) Nothing on the protected path runs before its guardrails passed: the
 *       arguments are judged before anybody is asked to approve them and before
 *       an intent, the output before anything of it is written.
 *   (3) What the arguments came to is recorded (`checked`) before it is used:
 *       an approval, an idempotency key and a call after a crash are about the
 *       very arguments that passed.  Arguments that a person edits are judged
 *       anew, and so are those of a new generation; what is in doubt keeps
 *       those that it was begun with.
 *   (4) A `write` or `external` call whose output is about to be judged did
 *       happen: its `result` is recorded first (R11), so that a crash in
 *       between, or a retry, judges the output again and calls nothing.
 *   (5) An executor that writes the state by itself (`update`) is no way
 *       around the guardrails of its output: they see that, too.
 */
#include <assert.h>
#include <string.h>

#include "run/internal.h"

/* ---- verdicts ------------------------------------------------------------ */

static int note_verdict(struct exec *x, const char *id, bool violation,
                        const char *reason, const char *action,
                        struct mortise_err *err)
{
    json_t *note =
        json_pack("{s:s, s:s, s:b, s:s, s:O*, s:s*}", "guardrail", id, "stage",
                  mortise_guard_stage_name(x->stage), "violation",
                  (int)violation, "action", action, "decided_by",
                  json_object_get(x->decision, "decided_by"), "to",
                  x->stage == MORTISE_GUARD_EDGE ? leave_to(x) : NULL);

    if (x->verdicts == NULL)
        x->verdicts = json_array();
    if (note != NULL && violation)
        json_object_set_new(note, "reason",
                            mortise_json_strn(reason, strlen(reason)));
    return note != NULL && json_array_append_new(x->verdicts, note) == 0
               ? MORTISE_OK
               : mortise_nomem(err);
}

int guard_keep(struct mortise_run *r, struct exec *x,
               const struct mortise_entry *e, struct mortise_err *err)
{
    if (e->note == NULL)
        return MORTISE_OK;
    if (!json_is_array(e->note))
        return corrupt(err, e);
    if (x->notes == NULL)
        x->notes = json_array();
    if (x->notes == NULL || json_array_extend(x->notes, e->note) != 0)
        return mortise_nomem(err);
    return announce_notes(r, x, e->note, err);
}

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

/* ---- stages -------------------------------------------------------------- */

int guard_begin(struct mortise_run *r, struct exec *x,
                enum mortise_guard_stage stage, json_t *subject,
                struct mortise_err *err)
{
    assert(node_of(r, x)->guards[stage].n > 0);
    x->stage = stage;
    x->guard = 0;
    if (x->judged == NULL) /* else it is the same stage, going on */
        x->turn = 0;
    x->replaced = false;
    hold(&x->subject, subject);
    return start_call(r, x, MORTISE_RUN_CHECK, err);
}

/* Those of the stage. */
static const struct mortise_guard_list *guards_of(const struct mortise_run *r,
                                                  const struct exec *x)
{
    return x->stage == MORTISE_GUARD_EDGE ? &leave_policy(x)->guards
                                          : &node_of(r, x)->guards[x->stage];
}

const char *guard_id(const struct mortise_run *r, const struct exec *x)
{
    return guards_of(r, x)->ids[x->guard];
}

bool guard_wants_input(const struct mortise_run *r, const struct exec *x)
{
    return node_of(r, x)->guards[MORTISE_GUARD_INPUT].n > 0 &&
           x->checked != x->generation && !x->effect_open && !step_is_open(x);
}

bool guard_wants_output(const struct mortise_run *r, const struct exec *x,
                        enum done_how how)
{
    return node_of(r, x)->guards[MORTISE_GUARD_OUTPUT].n > 0 &&
           how != DONE_ON_ERROR && how != DONE_ANSWERED;
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

int apply_checked(struct mortise_run *r, struct exec *x,
                  const struct mortise_entry *e, struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);

    if ((n->op == NULL && n->sub == NULL) || e->generation != x->generation)
        return corrupt(err, e);
    x->checked = e->generation;
    if (e->value != NULL) {
        hold(&x->body, e->value);
        x->body_is_given = true;
    }
    drop(&x->verdicts);
    drop(&x->subject);
    return guard_keep(r, x, e, err);
}

int guard_keep_update(struct exec *x, struct mortise_err *err)
{
    json_t *said = json_copy(x->said);
    int rv = said != NULL && json_object_set(said, "update", x->subject) == 0
                 ? MORTISE_OK
                 : mortise_nomem(err);

    if (rv == MORTISE_OK)
        hold(&x->said, said);
    json_decref(said);
    return rv;
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
        rv = settle_judged(r, x, output, x->how, err);
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
        return settle_done(r, x, x->subject, DONE_EXECUTED, err);
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
        rv = settle_ask_after(r, x, err);
    return rv;
}

/* ---- answers ------------------------------------------------------------- */

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
int guard_settle(struct mortise_run *r, struct exec *x,
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
                               ? leave_policy(x)->on_violation
                               : node_of(r, x)->on_violation,
                           replacement);
    rv = note_verdict(x, id, violation, reason, action, err);
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
        return start_call(r, x, MORTISE_RUN_CHECK, err);
    return passed(r, x, err);
}
