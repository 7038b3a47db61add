/* human.c -- human nodes: decisions, and the people who give them.
 *
 * The output of a human node is {approved, reason, decided_by, answer};
 * `answer` is null if there is none, so that `output.answer` always exists.
 * Exactly one source decides, in this order: `auto_accept`, `auto_reject`, a
 * judge, a question to people, the expiry of that question.
 *
 * The entry that settles the question records people's decision, or that it
 * expired.  The decision is stored until it is the node's output, so that
 * nobody is asked twice, even if the output has to wait.  An acceptance may
 * have to pass guardrails, which check it with its prompt.  If it does not
 * pass, the node fails with code `guardrail`, since nobody rejected anything;
 * the event `guardrail_override` names the source of the acceptance.
 */
#include <assert.h>
#include <string.h>

#include "core/model/human.h"
#include "core/run/outcome/outcome.h"

static const struct mortise_human *get_human_config(const struct mortise_run *r,
                                                    const struct exec *x)
{
    return mortise_exec_node(r, x)->own;
}

/* ---- answers ------------------------------------------------------------- */

static bool may_answer(const struct mortise_human *human, const char *actor)
{
    assert(actor != NULL); /* given by the transport */
    for (size_t i = 0; i < human->n_assignees; i++) {
        if (strcmp(human->assignees[i], actor) == 0)
            return true;
    }
    return human->n_assignees == 0;
}

/* The answer must be {approved, reason?, answer?}. */
static int check_human_members(const struct mortise_run *r,
                               const struct mortise_human *human,
                               const json_t *value, struct mortise_err *err)
{
    const json_t *approved = json_object_get(value, "approved");
    const json_t *reason = json_object_get(value, "reason");
    const json_t *answer = json_object_get(value, "answer");
    const char *key;
    json_t *member;
    int rv;

    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        if (strcmp(key, "approved") != 0 && strcmp(key, "reason") != 0 &&
            strcmp(key, "answer") != 0)
            return mortise_fail(err, MORTISE_EINVAL,
                                "an answer has only the members approved, "
                                "reason and answer, not '%s'",
                                key);
    }
    if (!json_is_boolean(approved))
        return mortise_fail(err, MORTISE_EINVAL,
                            "an answer needs approved: true or false");
    if (reason != NULL && !json_is_string(reason))
        return mortise_fail(err, MORTISE_EINVAL, "reason must be a string");
    if (human->answer_schema == NULL ||
        (json_is_false(approved) && (answer == NULL || json_is_null(answer))))
        return MORTISE_OK; /* a rejection needs no answer */
    if (answer == NULL)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "the question needs an answer: member 'answer' is missing");
    rv = mortise_schema_check_with_limit(human->answer_schema, answer,
                                         r->graph->expr_cost, err);
    return rv != MORTISE_OK ? mortise_err_prefix(err, rv, "answer") : rv;
}

static int check_human_answer(struct mortise_run *r, const struct exec *x,
                              const json_t *value, const char *actor,
                              struct mortise_err *err)
{
    if (!may_answer(get_human_config(r, x), actor))
        return mortise_fail(err, MORTISE_EDENIED,
                            "'%s' cannot answer the question of node '%s', "
                            "which is assigned to other people",
                            actor, mortise_exec_node(r, x)->id);
    return check_human_members(r, get_human_config(r, x), value, err);
}

/* ---- decisions ----------------------------------------------------------- */

static json_t *make_human_decision(bool approved, const char *reason,
                                   const char *by)
{
    return json_pack("{s:b, s:s, s:s, s:n}", "approved", (int)approved,
                     "reason", reason, "decided_by", by, "answer");
}

/* The answer, normalized by its schema: a new reference. */
static json_t *normalize_answer(const struct mortise_run *r,
                                const struct mortise_human *human,
                                json_t *answer)
{
    return human->answer_schema != NULL && !json_is_null(answer)
               ? mortise_schema_normalize(human->answer_schema, answer,
                                          r->graph->expr_cost)
               : json_incref(answer);
}

/* The decision of a person, from {approved, reason?, answer?}. */
static json_t *make_person_decision(const struct mortise_run *r,
                                    const struct exec *x, const json_t *said,
                                    const char *actor)
{
    const struct mortise_human *human = get_human_config(r, x);
    const char *reason = json_string_value(json_object_get(said, "reason"));
    json_t *answer = json_object_get(said, "answer");
    char by[300];
    json_t *out;

    snprintf(by, sizeof by, "person %s", actor);
    out = make_human_decision(json_is_true(json_object_get(said, "approved")),
                              reason != NULL ? reason : "", by);
    if (out != NULL && answer != NULL &&
        json_object_set_new(out, "answer",
                            normalize_answer(r, human, answer)) != 0)
        mortise_json_clear_ref(&out);
    return out;
}

/* The decision if the question expired. */
static json_t *make_timeout_decision(const struct mortise_run *r,
                                     const struct exec *x)
{
    static const char reason[] = "no answer in time";
    const struct mortise_human *human = get_human_config(r, x);

    return human->on_timeout == MORTISE_TIMEOUT_ACCEPT
               ? make_human_decision(true, reason, "timeout-accept")
               : make_human_decision(false, reason, "timeout-reject");
}

/* The decision without a question. */
static json_t *make_auto_decision(const struct mortise_human *human)
{
    return human->auto_accept
               ? make_human_decision(true, "", "auto-accept")
               : make_human_decision(false, human->auto_reason, "auto-reject");
}

static int store_auto_decision(const struct mortise_run *r, struct exec *x,
                               struct mortise_err *err)
{
    json_t *made = make_auto_decision(get_human_config(r, x));

    mortise_generation_set_decision(x, made);
    json_decref(made);
    return made != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* Must guardrails check this decision? */
static bool needs_decision_guard(const struct mortise_run *r,
                                 const struct exec *x, const json_t *made)
{
    const char *by = json_string_value(json_object_get(made, "decided_by"));

    return mortise_exec_node(r, x)->guards[MORTISE_GUARD_DECISION].n > 0 &&
           json_is_true(json_object_get(made, "approved")) &&
           !(get_human_config(r, x)->trusts_auto_accept &&
             strcmp(by, "auto-accept") == 0);
}

static int enter_decision(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err)
{
    json_t *made = json_incref(x->decision);
    int rv = mortise_pipeline_enter(r, x, made, DONE_ANSWERED, err);

    json_decref(made);
    return rv;
}

static int store_settled_decision(struct mortise_run *r, struct exec *x,
                                  const struct mortise_entry *e,
                                  struct mortise_err *err)
{
    enum mortise_on_timeout on_timeout = get_human_config(r, x)->on_timeout;
    bool late = e->how == MORTISE_SETTLE_EXPIRED;
    json_t *made;

    if (e->how != MORTISE_SETTLE_ANSWERED && !late)
        return MORTISE_OK;
    if (late && (on_timeout == MORTISE_TIMEOUT_ERROR ||
                 on_timeout == MORTISE_TIMEOUT_GOTO))
        return mortise_generation_set_refusal(
            x,
            json_pack("{s:s, s:s, s:b}", "code", "timeout", "message",
                      "no answer in time", "goto",
                      (int)(on_timeout == MORTISE_TIMEOUT_GOTO)),
            err);
    made = late ? make_timeout_decision(r, x)
                : make_person_decision(r, x, e->value, e->actor);
    if (made == NULL)
        return mortise_nomem(err);
    mortise_generation_set_decision(x, made);
    json_decref(made);
    return MORTISE_OK;
}

static int apply_stored_decision(struct mortise_run *r, struct exec *x,
                                 struct mortise_err *err)
{
    if (x->refusal != NULL)
        return mortise_start_fail_refused(r, x, err);
    return needs_decision_guard(r, x, x->decision) ? MORTISE_OK
                                                   : enter_decision(r, x, err);
}

/* ---- starting ------------------------------------------------------------ */

static json_t *make_string_list(const char *const *list, size_t n)
{
    json_t *out = json_array();

    for (size_t i = 0; out != NULL && i < n; i++) {
        if (json_array_append_new(out, json_string(list[i])) != 0)
            mortise_json_clear_ref(&out);
    }
    return out;
}

static int ask_people(struct mortise_run *r, struct exec *x, json_t *prompt,
                      struct mortise_err *err)
{
    const struct mortise_human *human = get_human_config(r, x);
    uint64_t wait_ms = human->wait_ms;
    const char *code = NULL;
    struct mortise_err why;
    json_t *payload;
    int rv = human->wait != NULL
                 ? mortise_judge_eval_duration(r, x, human->wait, "wait",
                                               &wait_ms, &code, &why, err)
                 : MORTISE_OK;

    if (rv != MORTISE_OK)
        return mortise_fail_if_invalid(r, x, rv, code, &why, err);
    payload = json_pack(
        "{s:O, s:O*, s:o*, s:o*}", "prompt", prompt, "judge", x->advice,
        "schema",
        human->answer_schema != NULL
            ? json_deep_copy(mortise_schema_json(human->answer_schema))
            : NULL,
        "assignees",
        human->n_assignees > 0
            ? make_string_list(human->assignees, human->n_assignees)
            : NULL);

    return mortise_request_record(r, x, MORTISE_ASK_HUMAN, payload,
                                  wait_ms != 0 ? r->time_ms + wait_ms : 0, err);
}

/* x has a decision: start its guardrails, or end with it. */
static int continue_with_decision(struct mortise_run *r, struct exec *x,
                                  json_t *prompt, struct mortise_err *err)
{
    json_t *subject;
    int rv;

    assert(json_is_object(x->decision));
    if (!needs_decision_guard(r, x, x->decision))
        return enter_decision(r, x, err);
    subject = json_copy(x->decision);
    if (subject == NULL || json_object_set(subject, "prompt", prompt) != 0)
        rv = mortise_nomem(err);
    else
        rv = mortise_guard_start_round(r, x, MORTISE_GUARD_DECISION, subject,
                                       err);
    json_decref(subject);
    return rv;
}

/* ---- the judge ---------------------------------------------------------- */

/* {node: {id, llm}, prompt, criteria, schema?}. */
static int ask_judge(struct mortise_run *r, struct exec *x, json_t *prompt,
                     json_t *criteria, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    const struct mortise_schema *schema = get_human_config(r, x)->answer_schema;
    json_t *llm = mortise_json_parse_trusted(n->judge->llm);
    json_t *body =
        llm != NULL
            ? json_pack(
                  "{s:{s:s, s:o}, s:O, s:O, s:o*}", "node", "id", n->id, "llm",
                  llm, "prompt", prompt, "criteria", criteria, "schema",
                  schema != NULL ? json_deep_copy(mortise_schema_json(schema))
                                 : NULL)
            : NULL;

    return body != NULL
               ? mortise_call_start_with(r, x, MORTISE_RUN_JUDGE, body, err)
               : mortise_nomem(err);
}

/* Why the judge's reply decides nothing; NULL: it decides. */
static const char *get_judge_defect(const struct mortise_run *r,
                                    const struct mortise_human *human,
                                    const struct aside *said,
                                    struct mortise_err *why)
{
    const json_t *approved = json_object_get(said->output, "approved");
    const json_t *sure = json_object_get(said->output, "confidence");
    json_t *answer = json_object_get(said->output, "answer");

    if (said->output == NULL)
        return said->words;
    if (!json_is_boolean(approved) || !json_is_number(sure))
        return "the reply is not {approved, confidence, reason?, answer?}";
    if (!(json_number_value(sure) >= human->threshold))
        return "the confidence is below the threshold";
    if (human->answer_schema == NULL || json_is_false(approved))
        return NULL;
    if (answer == NULL)
        return "the question needs an answer, but the reply has none";
    return mortise_schema_check_with_limit(human->answer_schema, answer,
                                           r->graph->expr_cost,
                                           why) == MORTISE_OK
               ? NULL
               : why->msg;
}

/* The judge's reply, and why it does not decide, for the people who are
 * asked. */
static json_t *make_judge_advice(const struct aside *said, const char *words)
{
    json_t *out =
        json_pack("{s:O*, s:O*, s:O*, s:s*, s:s}", "approved",
                  json_object_get(said->output, "approved"), "confidence",
                  json_object_get(said->output, "confidence"), "reason",
                  json_object_get(said->output, "reason"), "code",
                  said->output == NULL ? said->code : NULL, "message", words);

    return out;
}

static json_t *make_judge_decision(const struct mortise_run *r,
                                   const struct exec *x, const json_t *said)
{
    const struct mortise_human *human = get_human_config(r, x);
    bool approved = json_is_true(json_object_get(said, "approved"));
    json_t *answer = json_object_get(said, "answer");
    json_t *out = make_human_decision(
        approved, mortise_json_get_text(said, "reason"), "judge");

    if (out != NULL && approved && answer != NULL &&
        json_object_set_new(out, "answer",
                            normalize_answer(r, human, answer)) != 0)
        mortise_json_clear_ref(&out);
    return out;
}

/* Start the node again: with the decision, or with the judge's advice for
 * people. */
static int settle_judge(struct mortise_run *r, struct exec *x,
                        const struct aside *said, struct mortise_err *err)
{
    struct mortise_err why;
    const char *words = get_judge_defect(r, get_human_config(r, x), said, &why);
    json_t *made = words == NULL ? make_judge_decision(r, x, said->output)
                                 : make_judge_advice(said, words);

    if (made == NULL)
        return mortise_nomem(err);
    if (words == NULL)
        mortise_generation_set_decision(x, made);
    else
        mortise_generation_set_advice(x, made);
    json_decref(made);
    mortise_exec_set_state(r, x, X_READY);
    return mortise_start_exec(r, x, err);
}

static int start_judge(struct mortise_run *r, struct exec *x, json_t *prompt,
                       struct mortise_err *err)
{
    json_t *criteria = NULL;
    struct mortise_err why;
    int rv = mortise_judge_eval(r, x, get_human_config(r, x)->criteria,
                                &criteria, &why, err);

    rv = rv == MORTISE_OK
             ? ask_judge(r, x, prompt, criteria, err)
             : mortise_fail_if_invalid(r, x, rv, "expression", &why, err);
    json_decref(criteria);
    return rv;
}

static int start_human(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err)
{
    const struct mortise_human *human = get_human_config(r, x);
    json_t *prompt = NULL;
    struct mortise_err why;
    int rv = mortise_judge_eval(r, x, human->prompt, &prompt, &why, err);

    if (rv != MORTISE_OK)
        return mortise_fail_if_invalid(r, x, rv, "expression", &why, err);
    if (x->started_ms == 0)
        mortise_exec_set_attempt(x, x->attempt, r->time_ms);
    if (x->decision == NULL && (human->auto_accept || human->auto_reject))
        rv = store_auto_decision(r, x, err);
    if (rv == MORTISE_OK && x->decision != NULL)
        rv = continue_with_decision(r, x, prompt, err);
    else if (rv == MORTISE_OK && mortise_exec_node(r, x)->judge != NULL &&
             x->advice == NULL)
        rv = start_judge(r, x, prompt, err);
    else if (rv == MORTISE_OK)
        rv = ask_people(r, x, prompt, err);
    json_decref(prompt);
    return rv;
}

const struct node_kind mortise_run_kind_human = {.start = start_human,
                                                 .check = check_human_answer,
                                                 .keep = store_settled_decision,
                                                 .decided =
                                                     apply_stored_decision,
                                                 .judged = settle_judge,
                                                 .passed = enter_decision};
