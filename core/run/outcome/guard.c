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

#include "run/outcome/outcome.h"

/* ---- verdicts ------------------------------------------------------------ */

int mortise_guard_note(struct exec *x, const char *id, bool violation,
                       const char *reason, const char *action,
                       struct mortise_err *err)
{
    json_t *note =
        json_pack("{s:s, s:s, s:b, s:s, s:O*, s:s*}", "guardrail", id, "stage",
                  mortise_guard_stage_name(x->stage), "violation",
                  (int)violation, "action", action, "decided_by",
                  json_object_get(x->decision, "decided_by"), "to",
                  x->stage == MORTISE_GUARD_EDGE ? mortise_guards_to(x) : NULL);

    if (x->verdicts == NULL)
        x->verdicts = json_array();
    if (note != NULL && violation)
        json_object_set_new(note, "reason",
                            mortise_json_strn(reason, strlen(reason)));
    return note != NULL && json_array_append_new(x->verdicts, note) == 0
               ? MORTISE_OK
               : mortise_nomem(err);
}

int mortise_guard_keep(struct mortise_run *r, struct exec *x,
                       const struct mortise_entry *e, struct mortise_err *err)
{
    if (e->note == NULL)
        return MORTISE_OK;
    if (!json_is_array(e->note))
        return mortise_entry_corrupt(err, e);
    if (x->notes == NULL)
        x->notes = json_array();
    if (x->notes == NULL || json_array_extend(x->notes, e->note) != 0)
        return mortise_nomem(err);
    return mortise_event_notes(r, x, e->note, err);
}

/* ---- stages -------------------------------------------------------------- */

int mortise_guard_begin(struct mortise_run *r, struct exec *x,
                        enum mortise_guard_stage stage, json_t *subject,
                        struct mortise_err *err)
{
    assert(mortise_exec_node(r, x)->guards[stage].n > 0);
    x->stage = stage;
    x->guard = 0;
    if (x->judged == NULL) /* else it is the same stage, going on */
        x->turn = 0;
    x->replaced = false;
    mortise_json_hold(&x->subject, subject);
    return mortise_call_start(r, x, MORTISE_RUN_CHECK, err);
}

bool mortise_guard_wants_input(const struct mortise_run *r,
                               const struct exec *x)
{
    return mortise_exec_node(r, x)->guards[MORTISE_GUARD_INPUT].n > 0 &&
           x->checked != x->generation && !x->effect_open &&
           !mortise_step_is_open(x);
}

bool mortise_guard_wants_output(const struct mortise_run *r,
                                const struct exec *x, enum done_how how)
{
    return mortise_exec_node(r, x)->guards[MORTISE_GUARD_OUTPUT].n > 0 &&
           how != DONE_ON_ERROR && how != DONE_ANSWERED;
}

int mortise_apply_checked(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e,
                          struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);

    if ((n->op == NULL && n->sub == NULL) || e->generation != x->generation)
        return mortise_entry_corrupt(err, e);
    x->checked = e->generation;
    if (e->value != NULL) {
        mortise_json_hold(&x->body, e->value);
        x->body_is_given = true;
    }
    mortise_json_drop(&x->verdicts);
    mortise_json_drop(&x->subject);
    return mortise_guard_keep(r, x, e, err);
}

int mortise_guard_keep_update(struct exec *x, struct mortise_err *err)
{
    json_t *said = json_copy(x->said);
    int rv = said != NULL && json_object_set(said, "update", x->subject) == 0
                 ? MORTISE_OK
                 : mortise_nomem(err);

    if (rv == MORTISE_OK)
        mortise_json_hold(&x->said, said);
    json_decref(said);
    return rv;
}
