/* verdict.c -- the verdict of a guardrail, and how its round continues.
 * guard.c lists the promises. */
#include <string.h>

#include "core/run/outcome/outcome.h"

/* ---- verdicts ------------------------------------------------------------ */

/* The action on a violation. */
static const char *get_violation_action(const struct mortise_run *r,
                                        const struct exec *x,
                                        const json_t *replacement)
{
    static const char *const words[] = {[MORTISE_VIOLATION_BLOCK] = "block",
                                        [MORTISE_VIOLATION_REROUTE] = "reroute",
                                        [MORTISE_VIOLATION_WARN] = "warn",
                                        [MORTISE_VIOLATION_SANITIZE] =
                                            "sanitize"};
    enum mortise_on_violation on =
        x->stage == MORTISE_GUARD_EDGE
            ? mortise_guard_get_violation_edge(x)->policy->on_violation
            : mortise_exec_node(r, x)->on_violation;

    if (on == 0 || (on == MORTISE_VIOLATION_SANITIZE && replacement == NULL))
        on = MORTISE_VIOLATION_BLOCK;
    return words[on];
}

/* The target of the edge under check; NULL: no edge is. */
static const char *get_edge_target(const struct exec *x)
{
    uint32_t to;

    if (x->stage != MORTISE_GUARD_EDGE)
        return NULL;
    to = mortise_guard_get_violation_edge(x)->to;
    return to == MORTISE_END ? "END" : x->frame->graph->nodes[to].id;
}

/* The duration of the check, including its time in the queue. */
static json_int_t get_check_ms(const struct mortise_run *r,
                               const struct exec *x)
{
    return r->steady_ms > x->called_ms
               ? (json_int_t)(r->steady_ms - x->called_ms)
               : 0;
}

/* Add the verdict to x->verdicts. */
static int add_verdict(const struct mortise_run *r, struct exec *x,
                       const char *id, bool violation, const char *reason,
                       const char *action, struct mortise_err *err)
{
    json_t *one = json_pack(
        "{s:s, s:s, s:b, s:s, s:O*, s:s*, s:o*, s:I}", "guardrail", id, "stage",
        mortise_guard_stage_name(x->stage), "violation", (int)violation,
        "action", action, "decided_by",
        json_object_get(x->decision, "decided_by"), "to", get_edge_target(x),
        "reason",
        violation ? mortise_json_make_string(reason, strlen(reason)) : NULL,
        "ms", get_check_ms(r, x));

    if (x->verdicts == NULL)
        x->verdicts = json_array();
    return one != NULL && json_array_append_new(x->verdicts, one) == 0
               ? MORTISE_OK
               : mortise_nomem(err);
}

void mortise_verdict_drop(struct exec *x)
{
    mortise_json_clear_ref(&x->verdicts);
}

int mortise_verdict_store(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e,
                          struct mortise_err *err)
{
    if (e->note == NULL)
        return MORTISE_OK;
    if (!json_is_array(e->note))
        return mortise_entry_corrupt(err, e);
    return mortise_generation_add_verdicts(x, e->note, err) == MORTISE_OK
               ? mortise_event_announce_verdicts(r, x, e->note, err)
               : MORTISE_ENOMEM;
}

/* ---- the end of a round ------------------------------------------------- */

/* Record the arguments that passed (3). */
static int record_checked(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_CHECKED);
    bool sub = mortise_exec_node(r, x)->sub != NULL;
    int rv;

    assert(x->stage == MORTISE_GUARD_INPUT && x->checked != x->generation);
    /* A mapping can give another value in the next attempt; args cannot. */
    e.value = x->replaced || sub ? json_incref(x->subject) : NULL;
    e.note = json_incref(x->verdicts);
    rv = mortise_run_record(r, &e, err);
    mortise_entry_finish(&e);
    if (rv != MORTISE_OK)
        return rv;
    mortise_exec_set_state(r, x, X_READY); /* it keeps its slot */
    return mortise_exec_kind(r, x)->start(r, x, err);
}

int mortise_apply_checked(struct mortise_run *r, struct exec *x,
                          const struct mortise_entry *e,
                          struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);

    if ((n->op == NULL && n->sub == NULL) || e->generation != x->generation)
        return mortise_entry_corrupt(err, e);
    mortise_generation_set_checked(x, e->value);
    mortise_verdict_drop(x);
    mortise_guard_drop_subject(x);
    return mortise_verdict_store(r, x, e, err);
}

static bool is_output_stage(const struct exec *x)
{
    return x->stage == MORTISE_GUARD_OUTPUT || x->stage == MORTISE_GUARD_EDGE;
}

static bool is_memory_stage(const struct exec *x)
{
    return x->stage == MORTISE_GUARD_RECALLED ||
           x->stage == MORTISE_GUARD_REMEMBERED;
}

static int end_round(struct mortise_run *r, struct exec *x,
                     struct round_end *end, struct mortise_err *err)
{
    json_t *output;
    int rv;

    if (x->stage == MORTISE_GUARD_INPUT)
        return record_checked(r, x, err);
    if (is_memory_stage(x)) { /* settle.c continues it */
        end->over = true;
        return MORTISE_OK;
    }
    if (!is_output_stage(x))
        return mortise_exec_kind(r, x)->passed(r, x, err);
    rv = mortise_guard_get_output(x, &output, err);
    return rv == MORTISE_OK ? mortise_pipeline_resume(r, x, output, NULL, err)
                            : rv;
}

static int block_subject(struct mortise_run *r, struct exec *x, const char *id,
                         const char *reason, struct round_end *end,
                         struct mortise_err *err)
{
    bool of_target = x->stage == MORTISE_GUARD_TARGET;
    struct mortise_err words;

    mortise_fail(&words, MORTISE_EINVAL, "guardrail '%s'%s%s: %s", id,
                 of_target ? "" : " of the ",
                 of_target ? "" : mortise_guard_stage_name(x->stage), reason);
    if (x->stage == MORTISE_GUARD_REMEMBERED) {
        *end = (struct round_end){true, true, words};
        return MORTISE_OK;
    }
    return is_output_stage(x)
               ? mortise_pipeline_resume(r, x, x->subject, &words, err)
               : mortise_fail_attempt(r, x, "guardrail", "permanent", words.msg,
                                      err);
}

/* ---- an answer ----------------------------------------------------------- */

int mortise_verdict_settle(struct mortise_run *r, struct exec *x,
                           const struct mortise_result_in *in,
                           const char *failure, struct round_end *end,
                           struct mortise_err *err)
{
    const char *id = mortise_guard_get_id(r, x), *action = "pass";
    const char *reason = failure != NULL ? failure : in->message;
    bool violation = failure != NULL || in->violation, asked;
    json_t *replacement = failure == NULL ? in->output : NULL;
    int rv;

    assert(x->call == MORTISE_RUN_CHECK);
    if (mortise_fold_check_depth(replacement, NULL) != MORTISE_OK)
        replacement = NULL;
    if (violation)
        action = get_violation_action(r, x, replacement);
    rv = add_verdict(r, x, id, violation, reason, action, err);
    if (rv != MORTISE_OK)
        return rv;
    if (strcmp(action, "block") == 0)
        return block_subject(r, x, id, reason, end, err);
    if (strcmp(action, "reroute") == 0) {
        if (x->stage != MORTISE_GUARD_EDGE) /* nothing is written */
            return mortise_pipeline_end_by_edge(r, x, MORTISE_EDGE_REROUTE,
                                                err);
        mortise_guard_set_detour(x);
    } else {
        mortise_guard_set_answer(
            x, strcmp(action, "sanitize") == 0 ? replacement : NULL);
    }
    rv = mortise_guard_ask_next(r, x, &asked, err);
    return rv != MORTISE_OK || asked ? rv : end_round(r, x, end, err);
}
