/* lookups.c -- lookups before a node's arguments are evaluated: discovery and
 * memory.
 *
 * Each row of lookups.def makes one call, which belongs to x but not to its
 * operation.  The answer is recorded (LOOKED) before it is used.
 *
 *   (1) A lookup is made once a generation.  A later attempt, another process
 *       after a crash, and a continuation after an approval use the recorded
 *       answer.  An effect in doubt keeps the answers it began with.
 *   (2) The request depends only on the view of x, its node and the run, so a
 *       lookup that was lost with a process is repeated identically.
 *   (3) The record may wait for the next commit: until then, repeating the
 *       lookup is as good.
 *   (4) If a lookup fails, dies, times out or gives an invalid answer, the
 *       attempt fails, unless the row supplies a replacement (`instead`), which
 *       is recorded as the answer.  The code of the failure is of the row's
 *       family, its class is the reported one, and retry_policy and on_error
 *       apply.
 *   (5) The node's plugin sees the answers only through `memory` and
 *       `discovery` in the node's expressions, and through the host's own use
 *       of them.
 *   (6) Guardrails of a read (guardrail_policy.memory_read) check the traces
 *       before they are recorded, and so before they are used.  The record has
 *       the traces as the guardrails left them.
 */
#include <string.h>

#include "core/run/outcome/lookups.h"
#include "core/run/outcome/outcome.h"

static const struct {
    const struct lookup *row;
    const char *family;
} rows[MORTISE_LOOKUPS] = {
#define LOOKUP(ID, name, family) {&mortise_lookup_##name, family},
#include "core/run/record/lookups.def"
};

/* The row of the call that x has in flight. */
static enum mortise_lookup get_lookup_in_flight(const struct exec *x)
{
    enum mortise_lookup i = 0;

    while (rows[i].row->call != x->call)
        i++;
    assert(i < MORTISE_LOOKUPS); /* the caller has checked the call */
    return i;
}

bool mortise_lookup_is_call(enum mortise_run_call_kind kind)
{
    for (int i = 0; i < MORTISE_LOOKUPS; i++)
        if (rows[i].row->call == kind)
            return true;
    return false;
}

/* ---- requests ------------------------------------------------------------ */

int mortise_lookup_eval_text(struct mortise_run *r, struct exec *x,
                             const struct mortise_tmpl *tmpl, const char *what,
                             json_t **out, const char **code,
                             struct mortise_err *why, struct mortise_err *err)
{
    int rv;

    *out = NULL;
    if (tmpl == NULL)
        return MORTISE_OK;
    *code = "expression";
    rv = mortise_judge_eval(r, x, tmpl, out, why, err);
    if (rv == MORTISE_OK && !json_is_string(*out)) {
        *code = "type";
        rv = mortise_fail(why, MORTISE_EINVAL, "%s of '%s' must be a string",
                          what, mortise_exec_node(r, x)->id);
    }
    if (rv != MORTISE_OK)
        mortise_json_clear_ref(out);
    return rv;
}

static int start_lookup(struct mortise_run *r, struct exec *x,
                        const struct lookup *row, struct mortise_err *err)
{
    const char *code = "expression";
    struct mortise_err why;
    json_t *body = NULL;
    int rv = row->ask(r, x, &body, &code, &why, err);

    return rv == MORTISE_OK
               ? mortise_call_start_with(r, x, row->call, body, err)
               : mortise_fail_if_invalid(r, x, rv, code, &why, err);
}

int mortise_lookups_start_next(struct mortise_run *r, struct exec *x,
                               bool *asked, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);

    *asked = false;
    if (x->effect_open || mortise_step_has_open_effect(x)) /* (1) */
        return MORTISE_OK;
    for (int i = 0; i < MORTISE_LOOKUPS; i++) {
        if (!rows[i].row->is_due(n) || x->found[i] != NULL)
            continue;
        *asked = true;
        return start_lookup(r, x, rows[i].row, err);
    }
    return MORTISE_OK;
}

/* ---- answers ------------------------------------------------------------- */

static int record_lookup(struct mortise_run *r, struct exec *x,
                         enum mortise_lookup i, json_t *value, bool *found,
                         struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_LOOKED);

    *found = true;
    e.how = (uint8_t)i;
    e.note = json_incref(x->verdicts);
    return mortise_run_record_value(r, &e, value, err);
}

static int fail_lookup(struct mortise_run *r, struct exec *x,
                       enum mortise_lookup i, const char *code,
                       const char *class, const char *words, bool *found,
                       struct mortise_err *err)
{
    const struct lookup *row = rows[i].row;
    json_t *error =
        mortise_error_new(mortise_exec_node(r, x)->id, code, class, words);
    json_t *value = NULL;

    if (error == NULL)
        return mortise_nomem(err);
    if (row->instead != NULL)
        value = row->instead(x, error);
    json_decref(error);
    return value != NULL ? record_lookup(r, x, i, value, found, err)
                         : mortise_fail_attempt(r, x, code, class, words, err);
}

/* (4) */
const char *mortise_lookup_get_code(const char *said, const char *family,
                                    char room[MORTISE_LOOKUP_CODE])
{
    size_t n = strlen(family);

    if (strncmp(said, family, n) == 0 && said[n] == '.')
        return said;
    snprintf(room, MORTISE_LOOKUP_CODE, "%s.failed", family);
    return room;
}

/* It exceeded the node's timeout. */
static int fail_lookup_timeout(struct mortise_run *r, struct exec *x,
                               enum mortise_lookup i, bool *found,
                               struct mortise_err *err)
{
    char words[MORTISE_TIMEOUT_WORDS], code[MORTISE_LOOKUP_CODE];

    snprintf(code, sizeof code, "%s.timeout", rows[i].family);
    return fail_lookup(r, x, i, code, "timeout",
                       mortise_exec_print_timeout(x, words), found, err);
}

/* ---- guardrails of a read (6) ------------------------------------------- */

static bool has_read_guardrails(const struct mortise_run *r,
                                const struct exec *x, enum mortise_lookup i,
                                const json_t *value)
{
    return i == MORTISE_LOOKUP_RECALL &&
           mortise_exec_node(r, x)->guards[MORTISE_GUARD_RECALLED].n > 0 &&
           json_array_size(json_object_get(value, "traces")) > 0;
}

/* Takes `value`. */
static int start_read_guardrails(struct mortise_run *r, struct exec *x,
                                 json_t *value, struct mortise_err *err)
{
    json_decref(x->recalled);
    x->recalled = value;
    return mortise_guard_start_round(r, x, MORTISE_GUARD_RECALLED,
                                     json_object_get(value, "traces"), err);
}

/* Is the replacement of a guardrail a valid list of traces? */
static bool is_trace_list(const json_t *list, size_t most)
{
    bool are = json_is_array(list) && json_array_size(list) <= most;

    MORTISE_JSON_EACH (one, i, list)
        are &= json_is_string(json_object_get(one, "id")) &&
               json_is_string(json_object_get(one, "content"));
    return are;
}

int mortise_lookup_handle_passed(struct mortise_run *r, struct exec *x,
                                 bool *found, struct mortise_err *err)
{
    json_t *value = x->recalled;

    assert(x->stage == MORTISE_GUARD_RECALLED && value != NULL);
    *found = false;
    x->recalled = NULL;
    if (!is_trace_list(x->subject,
                       json_array_size(json_object_get(value, "traces")))) {
        json_decref(value);
        return mortise_fail_attempt(
            r, x, "guardrail", "permanent",
            "a guardrail replaced the traces by an invalid value", err);
    }
    if (json_object_set(value, "traces", x->subject) != 0) {
        json_decref(value);
        return mortise_nomem(err);
    }
    return record_lookup(r, x, MORTISE_LOOKUP_RECALL, value, found, err);
}

/* ---- the end of a lookup ------------------------------------------------ */

static int settle_lookup_answer(struct mortise_run *r, struct exec *x,
                                enum mortise_lookup i, const json_t *answer,
                                bool *found, struct mortise_err *err)
{
    const struct lookup *row = rows[i].row;
    struct mortise_err why;
    json_t *value = NULL;
    const char *lacks;
    char code[MORTISE_LOOKUP_CODE];
    int rv = row->take(r, x, answer, &value, &why, err);

    if (rv == MORTISE_OK && mortise_fold_check_depth(value, &why) != MORTISE_OK)
        rv = MORTISE_EINVAL;
    if (rv == MORTISE_EINVAL) {
        json_decref(value);
        snprintf(code, sizeof code, "%s.bad_answer", rows[i].family);
        return fail_lookup(r, x, i, code, "permanent", why.msg, found, err);
    }
    if (rv != MORTISE_OK) {
        json_decref(value);
        return rv;
    }
    lacks = row->lacks != NULL ? row->lacks(x, value, &why) : NULL;
    if (lacks == NULL && has_read_guardrails(r, x, i, value))
        return start_read_guardrails(r, x, value, err);
    if (lacks == NULL)
        return record_lookup(r, x, i, value, found, err);
    json_decref(value);
    return fail_lookup(r, x, i, lacks, "permanent", why.msg, found, err);
}

int mortise_lookup_settle(struct mortise_run *r, struct exec *x,
                          const struct mortise_result_in *in, bool late,
                          bool *found, struct mortise_err *err)
{
    enum mortise_lookup i = get_lookup_in_flight(x);
    char room[MORTISE_LOOKUP_CODE];

    *found = false;
    if (late)
        return fail_lookup_timeout(r, x, i, found, err);
    mortise_fail_delay_retry(x, in->retry_after_ms);
    if (in->status == 0)
        return settle_lookup_answer(r, x, i, in->output, found, err);
    return fail_lookup(
        r, x, i, mortise_lookup_get_code(in->error_code, rows[i].family, room),
        in->error_class, in->message, found, err);
}

/* ---- the entry ----------------------------------------------------------- */

int mortise_apply_looked(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, struct mortise_err *err)
{
    json_t *extra = NULL;

    if (e->how >= MORTISE_LOOKUPS || !json_is_object(e->value) ||
        e->generation != x->generation ||
        !rows[e->how].row->is_due(mortise_exec_node(r, x)))
        return mortise_entry_corrupt(err, e);
    if (x->started_ms == 0)
        mortise_exec_set_attempt(x, e->attempt, e->started_ms);
    mortise_generation_set_lookup(x, (enum mortise_lookup)e->how, e->value);
    mortise_verdict_drop(x);
    mortise_guard_drop_subject(x);
    if (mortise_verdict_store(r, x, e, err) != MORTISE_OK)
        return err->code;
    if (mortise_run_has_watcher(r) && (extra = json_copy(e->value)) == NULL)
        return mortise_nomem(err);
    return mortise_event_announce(r, x, rows[e->how].row->event, extra, err);
}

void mortise_describe_looked(json_t *out, const struct mortise_entry *e)
{
    if (e->how < MORTISE_LOOKUPS)
        json_object_set_new(out, "how", json_string(rows[e->how].family));
}

bool mortise_lookup_may_wait(const struct mortise_run *r, const struct exec *x,
                             const struct mortise_entry *e)
{
    (void)r;
    (void)x;
    (void)e;
    return true; /* (3) */
}
