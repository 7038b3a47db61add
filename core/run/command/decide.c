/* decide.c -- people's decisions: approvals, answers, resolved doubts.
 *
 * Each decision is about one pending request, found by its id, and is bound to
 * what the request showed: an approval to the digest of the call, an answer to
 * the schema of the question.  A check records nothing.  The obey functions
 * rely on the check, and on nothing having happened since.
 */
#include <assert.h>
#include <string.h>

#include "core/run/command/command.h"

/* The execution with this request; *s: its step that asks, NULL: the execution
 * itself. */
static struct exec *find_requester(const struct mortise_run *r, const char *id,
                                   struct step **s)
{
    *s = NULL;
    for (size_t i = 0; i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if ((x->state == X_ASKED || x->state == X_HELD) &&
            x->loss == LOSS_NONE && strcmp(x->request, id) == 0)
            return x;
        *s = mortise_step_find_by_request(x, id);
        if (*s != NULL)
            return x;
    }
    return NULL;
}

/* Is the decision about the run's plan? */
static bool is_about_plan(const struct mortise_run *r,
                          const struct mortise_run_command *c)
{
    return c->id != NULL && mortise_plan_is_asked(r, c->id);
}

/* Reject a decision without an id, in any state of the run. */
static int check_request_id(const struct mortise_run_command *c,
                            struct mortise_err *err)
{
    return c->id == NULL || c->id[0] == '\0'
               ? mortise_fail(err, MORTISE_EINVAL,
                              "a decision needs the id of its request")
               : MORTISE_OK;
}

static int find_request(const struct mortise_run *r,
                        const struct mortise_run_command *c, struct exec **out,
                        struct step **s, struct mortise_err *err)
{
    uint64_t deadline_ms;
    int rv = check_request_id(c, err);

    if (rv != MORTISE_OK)
        return rv;
    *out = find_requester(r, c->id, s);
    if (*out == NULL)
        return mortise_settled_reject_late(r, c->id, err);
    deadline_ms = *s != NULL ? (*s)->deadline_ms : (*out)->deadline_ms;
    assert(*s == NULL || mortise_step_is_request(*s));
    if (deadline_ms != 0 && r->time_ms >= deadline_ms)
        return mortise_fail(err, MORTISE_EMISMATCH,
                            "request '%s' has expired; resume the run, which "
                            "then follows the node's `on_timeout`",
                            c->id);
    return MORTISE_OK;
}

/* The execution with this doubt.  The request's id is required: the node's name
 * would also match the node's next doubt, which nobody has examined. */
static struct exec *find_doubt(const struct mortise_run *r, const char *id)
{
    for (size_t i = 1; i < r->n_execs; i++) {
        struct exec *x = r->execs[i];

        if (x->state == X_ASKED && x->ask == MORTISE_ASK_DOUBT &&
            strcmp(x->request, id) == 0)
            return x;
    }
    return NULL;
}

/* The execution with a step that the request of this id settled, if the result
 * can still be corrected; NULL: none.  *method: the step's method. */
static struct exec *find_correctable(const struct mortise_run *r,
                                     const char *id, const char **method)
{
    for (size_t i = 1; i < r->n_execs; i++) {
        *method = mortise_step_get_correctable(r, r->execs[i], id);
        if (*method != NULL)
            return r->execs[i];
    }
    return NULL;
}

const char *mortise_run_get_resolved_method(const struct mortise_run *r,
                                            const struct mortise_run_command *c)
{
    bool done = c->kind == MORTISE_CMD_RESOLVE && c->value != NULL &&
                c->decision != NULL && strcmp(c->decision, "done") == 0;
    const struct exec *x = done ? mortise_decide_find_doubt(r, c) : NULL;
    const char *method = NULL;

    if (done && x == NULL && c->id != NULL) {
        (void)find_correctable(r, c->id, &method);
        return method;
    }
    return x != NULL && json_object_get(x->payload, "step") != NULL
               ? json_string_value(json_object_get(x->payload, "method"))
               : NULL;
}

/* approve | reject; `await_external` is no decision. */
static int check_decision_word(const struct mortise_run_command *c,
                               struct mortise_err *err)
{
    const char *d = c->decision != NULL ? c->decision : "";

    if (strcmp(d, "approve") == 0 || strcmp(d, "reject") == 0)
        return MORTISE_OK;
    if (strcmp(d, "await_external") == 0)
        return mortise_fail(err, MORTISE_EDECISION,
                            "await_external is not a decision; approve, "
                            "reject, or leave the request pending");
    return mortise_fail(err, MORTISE_EDECISION,
                        "decision must be approve or reject, not '%s'", d);
}

static int check_edited_args(struct mortise_run *r, struct exec *x,
                             const struct mortise_run_command *c,
                             struct mortise_err *err)
{
    return c->value != NULL ? mortise_arguments_check(x->frame->graph,
                                                      mortise_exec_node(r, x),
                                                      c->value, r->mem, err)
                            : MORTISE_OK;
}

int mortise_command_check_approve_tool(struct mortise_run *r,
                                       const struct mortise_command_list *h,
                                       const struct mortise_run_command *c,
                                       struct mortise_err *err)
{
    const struct mortise_node *n;
    struct exec *x;
    struct step *s;
    const char *digest;
    int rv;

    rv = check_request_id(c, err);
    if (rv == MORTISE_OK)
        rv = check_decision_word(c, err);
    if (rv == MORTISE_OK && is_about_plan(r, c))
        rv = mortise_fail(err, MORTISE_EMISMATCH,
                          "request '%s' asks to approve a plan, not a tool "
                          "call; use the command 'answer'",
                          c->id);
    if (rv == MORTISE_OK)
        rv = find_request(r, c, &x, &s, err);
    if (rv != MORTISE_OK)
        return rv;
    if (s != NULL || x->ask != MORTISE_ASK_APPROVAL)
        return mortise_fail(err, MORTISE_EMISMATCH,
                            "request '%s' does not ask to approve a tool call "
                            "(it is '%s'); use the command 'answer'",
                            c->id,
                            s != NULL ? mortise_step_kind_name(s)
                                      : mortise_ask_name(x->ask));
    n = mortise_exec_node(r, x);
    if (strcmp(c->decision, "approve") == 0 &&
        mortise_command_replaces_plugin(h, n))
        return mortise_fail(
            err, MORTISE_EMISMATCH,
            "request '%s' approves a call of %s/%s with its old definition, "
            "but this command accepts a new one. Accept the plugins first, "
            "then approve the new request",
            c->id, n->plugin, n->operation);
    digest = json_string_value(json_object_get(x->payload, "digest"));
    if (c->digest != NULL && (digest == NULL || strcmp(digest, c->digest) != 0))
        return mortise_fail(
            err, MORTISE_EMISMATCH,
            "the digest %s does not match the pending call (its digest: %s)",
            c->digest, digest != NULL ? digest : "none");
    return check_edited_args(r, x, c, err);
}

/* Is the actor assigned to the question of this step? */
static bool may_answer_step(const struct step *s, const char *actor)
{
    const json_t *list = json_object_get(s->payload, "assignees"), *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        if (json_is_string(one) && strcmp(json_string_value(one), actor) == 0)
            return true;
    }
    return json_array_size(list) == 0;
}

/* The bare value, which must match the question's schema. */
static int check_step_answer(struct mortise_run *r, const struct step *s,
                             const struct mortise_run_command *c,
                             const char *actor, struct mortise_err *err)
{
    if (s->kind == MORTISE_STEP_TIMER)
        return mortise_fail(err, MORTISE_EDECISION,
                            "request '%s' is a timer; it ends by itself",
                            c->id);
    if (s->kind == MORTISE_STEP_CHILD)
        return mortise_fail(
            err, MORTISE_EDECISION,
            "request '%s' waits for a child; it ends when the child ends",
            c->id);
    if (!may_answer_step(s, actor))
        return mortise_fail(err, MORTISE_EDENIED,
                            "'%s' cannot answer request '%s', which is "
                            "assigned to other people",
                            actor, c->id);
    return c->value != NULL
               ? mortise_step_check_answer(r, s, c->value, err)
               : mortise_fail(err, MORTISE_EINVAL,
                              "the answer to a request needs a 'value'");
}

/* The approval of a node: {approved, reason?}. */
static int check_node_approval(const json_t *value, struct mortise_err *err)
{
    const json_t *approved = json_object_get(value, "approved");
    const json_t *reason = json_object_get(value, "reason");

    if (!json_is_boolean(approved) ||
        (reason != NULL && !json_is_string(reason)) ||
        json_object_size(value) != 1 + (size_t)(reason != NULL))
        return mortise_fail(err, MORTISE_EINVAL,
                            "the answer to an approval of a node must be "
                            "{\"approved\": true or false}, optionally with "
                            "\"reason\" (a string), and without other members");
    return MORTISE_OK;
}

int mortise_command_check_answer(struct mortise_run *r,
                                 const struct mortise_command_list *h,
                                 const struct mortise_run_command *c,
                                 struct mortise_err *err)
{
    struct exec *x;
    struct step *s;
    int rv;

    if (is_about_plan(r, c))
        return mortise_plan_check(r, c->value, h->steering, err);
    rv = find_request(r, c, &x, &s, err);
    if (rv == MORTISE_OK && c->decision != NULL)
        rv = check_decision_word(c, err);
    if (rv != MORTISE_OK)
        return rv;
    if (s != NULL)
        return check_step_answer(r, s, c, h->actor, err);
    if (x->ask == MORTISE_ASK_BUDGET)
        return mortise_fail(err, MORTISE_EDECISION,
                            "request '%s' asks for a higher budget; raise the "
                            "budget instead of answering",
                            c->id);
    if (x->ask == MORTISE_ASK_APPROVAL || x->ask == MORTISE_ASK_DOUBT)
        return mortise_fail(
            err, MORTISE_EDECISION, "request '%s' is '%s'; %s it", c->id,
            mortise_ask_name(x->ask),
            x->ask == MORTISE_ASK_DOUBT ? "resolve" : "approve or reject");
    if (x->ask == MORTISE_ASK_HUMAN)
        rv = mortise_exec_kind(r, x)->check(r, x, c->value, h->actor, err);
    else if (x->ask == MORTISE_ASK_NODE)
        rv = check_node_approval(c->value, err);
    else if (x->ask == MORTISE_ASK_PLAN)
        rv = mortise_plan_check_node_answer(c->value, err);
    else if (!json_is_true(json_object_get(c->value, "approved")))
        rv = mortise_fail(
            err, MORTISE_EDECISION,
            "a scheduled pause can only be approved; to end the run instead, cancel it");
    return rv;
}

/* Check a step's result by the plugin's schema, since the plugin would ignore a
 * result that it does not understand. */
static int check_step_result(const struct exec *x, const char *method,
                             const struct mortise_run_command *c,
                             struct mortise_err *err)
{
    const struct mortise_node *n = &x->frame->graph->nodes[x->node];
    const struct mortise_schema *s = mortise_doubt_get_result_schema(n, method);
    int rv = s != NULL ? mortise_schema_check_with_limit(
                             s, json_object_get(c->value, "result"),
                             x->frame->graph->expr_cost, err)
                       : MORTISE_OK;
    const json_t *words =
        rv == MORTISE_EINVAL
            ? json_object_get(mortise_schema_json(s), "description")
            : NULL;

    if (json_is_string(words))
        return mortise_fail(
            err, rv, "the result is not valid for node '%s', which needs %s",
            n->id, json_string_value(words));
    return rv != MORTISE_OK
               ? mortise_err_prefix(err, rv, "the result of a step of '%s'",
                                    n->id)
               : mortise_fold_check_depth(c->value, err);
}

/* Correct the result of a step.  A call that failed after the old result must
 * be retried with the new one, so the list must contain a resume. */
static int check_correction(const struct mortise_run *r, const struct exec *x,
                            const char *method,
                            const struct mortise_command_list *h,
                            const struct mortise_run_command *c,
                            struct mortise_err *err)
{
    if (c->value == NULL)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "the decision 'done' needs a 'value': the result of the effect");
    if (x->state == X_FAILED &&
        !mortise_command_has_kind(h, MORTISE_CMD_RESUME))
        return mortise_fail(
            err, MORTISE_EINVAL,
            "node '%s' has failed, so its result can be corrected only in the "
            "same call as a resume of the run",
            mortise_exec_node(r, x)->id);
    return check_step_result(x, method, c, err);
}

int mortise_command_check_resolve(struct mortise_run *r,
                                  const struct mortise_command_list *h,
                                  const struct mortise_run_command *c,
                                  struct mortise_err *err)
{
    const char *d = c->decision != NULL ? c->decision : "";
    const char *method;
    struct exec *x;
    struct step *s;
    int rv = check_request_id(c, err);

    if (rv != MORTISE_OK)
        return rv;
    x = find_doubt(r, c->id);
    if (x == NULL &&
        (is_about_plan(r, c) || find_requester(r, c->id, &s) != NULL))
        return mortise_fail(err, MORTISE_EMISMATCH,
                            "request '%s' of run %s is not in doubt", c->id,
                            r->id);
    if (x == NULL && strcmp(d, "done") == 0) {
        x = find_correctable(r, c->id, &method);
        if (x != NULL)
            return check_correction(r, x, method, h, c, err);
    }
    if (x == NULL)
        return mortise_settled_reject_late(r, c->id, err);
    if (strcmp(d, "retry") == 0 || strcmp(d, "fail") == 0)
        return MORTISE_OK;
    if (strcmp(d, "done") != 0)
        return mortise_fail(
            err, MORTISE_EDECISION,
            "an effect in doubt is resolved with done, retry or fail, not '%s'",
            d);
    if (c->value == NULL)
        return mortise_fail(
            err, MORTISE_EINVAL,
            "the decision 'done' needs a 'value': the result of the effect");
    method = json_string_value(json_object_get(x->payload, "method"));
    return json_object_get(x->payload, "step") != NULL
               ? check_step_result(x, method != NULL ? method : "", c, err)
               : mortise_judge_check_output(
                     x->frame->graph, mortise_exec_node(r, x), c->value, err);
}

const void *mortise_decide_find_request(const struct mortise_run *r,
                                        const struct mortise_run_command *c)
{
    struct step *s;
    struct exec *x = c->id != NULL ? find_requester(r, c->id, &s) : NULL;

    if (is_about_plan(r, c))
        return &r->plan;
    /* Several steps of x may ask at once. */
    return x != NULL && s != NULL ? (const void *)s : x;
}

const void *mortise_decide_find_doubt(const struct mortise_run *r,
                                      const struct mortise_run_command *c)
{
    return c->id != NULL ? find_doubt(r, c->id) : NULL;
}

/* ---- decisions beside other commands ------------------------------------ */

static bool is_rejection(const struct mortise_run_command *c)
{
    const json_t *approved = json_object_get(c->value, "approved");

    return json_is_false(approved) ||
           (c->decision != NULL && strcmp(c->decision, "reject") == 0);
}

/* Does the node end with its answer, without a further call? */
static bool ends_with_answer(const struct mortise_run *r, const struct exec *x)
{
    const struct mortise_node *n = mortise_exec_node(r, x);

    if (n->guards[MORTISE_GUARD_DECISION].n > 0 || n->compaction != NULL)
        return false;
    for (uint32_t i = 0; i < n->n_out; i++) {
        const struct mortise_edge *e = &x->frame->graph->edges[n->out[i]];

        if (e->discovery != NULL || mortise_edge_is_guarded(e))
            return false;
    }
    return true;
}

/* Does something follow from the decision that a goto or a cancel would
 * prevent? */
static bool continues_after_decision(const struct mortise_run *r,
                                     const struct mortise_run_command *c)
{
    struct step *s;
    const struct exec *x = c->id != NULL ? find_requester(r, c->id, &s) : NULL;

    if (x == NULL || c->kind == MORTISE_CMD_RESOLVE)
        return false; /* the plan; or a doubt that is then settled */
    if (s != NULL)
        return true;
    switch (x->ask) {
    case MORTISE_ASK_APPROVAL:
    case MORTISE_ASK_NODE:
    case MORTISE_ASK_PLAN:
        return !is_rejection(c);
    case MORTISE_ASK_HUMAN:
        return !ends_with_answer(r, x);
    default:
        return x->state != X_HELD;
    }
}

int mortise_decide_check_used(const struct mortise_run *r,
                              const struct mortise_command_list *h,
                              const char *what, struct mortise_err *err)
{
    for (size_t i = 0; i < h->n; i++) {
        const struct mortise_run_command *c = &h->list[i];

        if (mortise_command_row(c->kind)->subject != NULL &&
            continues_after_decision(r, c))
            return mortise_fail(err, MORTISE_EINVAL,
                                "the decision about request '%s' would have no "
                                "effect, because the %s in the same call stops "
                                "its node. Give only one of the two",
                                c->id, what);
    }
    return MORTISE_OK;
}

/* ---- applying ----------------------------------------------------------- */

void mortise_decide_reset(struct mortise_run *r)
{
    r->decided.n = 0;
}

/* Record all decisions of a list before anything follows from one of them.
 * Otherwise the first could withdraw the request of the second, by a race or by
 * a failure that ends the graph. */
static int add_followed(struct mortise_run *r, const struct exec *x,
                        struct mortise_err *err)
{
    return mortise_indexes_add(r->mem, &r->decided, x->index, err);
}

/* Nothing follows from this decision. */
static int add_unfollowed(struct mortise_run *r, struct mortise_err *err)
{
    return add_followed(r, r->execs[0], err);
}

static int reject_call(struct mortise_run *r, struct exec *x,
                       const struct mortise_run_command *c, const char *actor,
                       struct mortise_err *err)
{
    const char *reason = c->reason != NULL ? c->reason : "";
    json_t *value = json_pack("{s:s}", "reason", reason);
    int rv;

    assert(x->ask == MORTISE_ASK_APPROVAL && x->state == X_ASKED);
    if (value == NULL)
        return mortise_nomem(err);
    rv = mortise_request_settle(r, x, MORTISE_SETTLE_REJECTED, value, NULL,
                                actor, err);
    json_decref(value);
    return rv == MORTISE_OK ? add_followed(r, x, err) : rv;
}

int mortise_command_obey_approve_tool(struct mortise_run *r,
                                      const struct mortise_command_list *h,
                                      const struct mortise_run_command *c,
                                      struct mortise_err *err)
{
    struct step *s;
    struct exec *x = find_requester(r, c->id, &s);
    uint8_t digest[MORTISE_DIGEST];
    json_t *value;
    int rv;

    assert(x != NULL && s == NULL); /* checked: it waits for an approval */
    assert(c->decision != NULL);
    if (strcmp(c->decision, "reject") == 0)
        return reject_call(r, x, c, h->actor, err);
    rv = mortise_exec_approval_digest(
        r, x, c->value != NULL ? c->value : json_object_get(x->payload, "args"),
        digest, err);
    value =
        json_pack("{s:O*, s:s*}", "args", c->value, "reason",
                  c->reason != NULL && c->reason[0] != '\0' ? c->reason : NULL);
    if (rv == MORTISE_OK && value == NULL)
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = mortise_request_settle(r, x, MORTISE_SETTLE_APPROVED, value,
                                    digest, h->actor, err);
    json_decref(value);
    return rv == MORTISE_OK ? add_unfollowed(r, err) : rv;
}

int mortise_command_obey_answer(struct mortise_run *r,
                                const struct mortise_command_list *h,
                                const struct mortise_run_command *c,
                                struct mortise_err *err)
{
    struct step *s;
    struct exec *x = find_requester(r, c->id, &s);
    bool passes;
    int rv;

    if (is_about_plan(r, c)) {
        rv = mortise_plan_answer(r, c->value, h->steering, h->actor, err);
        return rv == MORTISE_OK ? add_unfollowed(r, err) : rv;
    }
    assert(x != NULL); /* checked: it has a request */
    if (s != NULL) {
        rv = mortise_step_record_answer(r, x, s, c->value, h->actor, err);
        return rv == MORTISE_OK ? add_unfollowed(r, err) : rv;
    }
    passes = x->ask == MORTISE_ASK_BEFORE || x->ask == MORTISE_ASK_AFTER;
    rv = mortise_request_settle(
        r, x, passes ? MORTISE_SETTLE_PASSED : MORTISE_SETTLE_ANSWERED,
        passes ? NULL : c->value, NULL, h->actor, err);
    if (rv != MORTISE_OK)
        return rv;
    return passes ? add_unfollowed(r, err) : add_followed(r, x, err);
}

/* x was stopped (doubt.c (9)): end it, unless it has another doubt. */
static int end_resolved_loser(struct mortise_run *r, struct exec *x,
                              bool failed, struct mortise_err *err)
{
    assert(x->loss != LOSS_NONE);
    return !failed && mortise_doubt_must_settle(r, x)
               ? MORTISE_OK
               : mortise_stop_end_loser(r, x, err);
}

static int settle_as_failed(struct mortise_run *r, struct exec *x,
                            const struct mortise_run_command *c,
                            const char *actor, struct mortise_err *err)
{
    json_t *value =
        c->reason != NULL ? json_pack("{s:s}", "reason", c->reason) : NULL;
    int rv = mortise_doubt_record_cause(r, x, err);

    assert(x->state == X_ASKED && x->ask == MORTISE_ASK_DOUBT);
    if (rv == MORTISE_OK && c->reason != NULL && value == NULL)
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = mortise_request_settle(r, x, MORTISE_SETTLE_FAIL, value, NULL,
                                    actor, err);
    json_decref(value);
    return rv;
}

static int correct_step_result(struct mortise_run *r,
                               const struct mortise_run_command *c,
                               const char *actor, struct mortise_err *err)
{
    const char *method;
    struct exec *x = find_correctable(r, c->id, &method);
    struct mortise_entry e;

    assert(x != NULL); /* checked */
    e = mortise_exec_make_entry(r, x, MORTISE_E_CORRECT);
    e.id = c->id;
    e.value = c->value;
    e.actor = actor;
    return mortise_run_record(r, &e, err);
}

int mortise_command_obey_resolve(struct mortise_run *r,
                                 const struct mortise_command_list *h,
                                 const struct mortise_run_command *c,
                                 struct mortise_err *err)
{
    struct exec *x = find_doubt(r, c->id);
    bool retry, fail, of_step;
    int rv;

    assert(c->decision != NULL);
    retry = strcmp(c->decision, "retry") == 0;
    fail = strcmp(c->decision, "fail") == 0;
    if (x == NULL) {
        rv = correct_step_result(r, c, h->actor, err);
        return rv == MORTISE_OK ? add_unfollowed(r, err) : rv;
    }
    of_step = !retry && !fail && json_object_get(x->payload, "step") != NULL;
    rv = fail
             ? settle_as_failed(r, x, c, h->actor, err)
             : mortise_request_settle(
                   r, x, retry ? MORTISE_SETTLE_RETRY : MORTISE_SETTLE_HAPPENED,
                   retry ? NULL : c->value, NULL, h->actor, err);
    if (rv != MORTISE_OK)
        return rv;
    if (x->loss == LOSS_NONE) /* after a step's answer the call continues */
        return of_step ? add_unfollowed(r, err) : add_followed(r, x, err);
    rv = retry || fail || of_step
             ? end_resolved_loser(r, x, fail, err)
             : mortise_pipeline_enter(r, x, c->value, DONE_RESOLVED, err);
    return rv == MORTISE_OK ? add_unfollowed(r, err) : rv;
}

/* ---- consequences of decisions ------------------------------------------ */

static int follow_resolved(struct mortise_run *r, struct exec *x,
                           const struct mortise_run_command *c,
                           struct mortise_err *err)
{
    if (strcmp(c->decision, "retry") == 0)
        return mortise_doubt_handle_denied(r, x, err);
    if (strcmp(c->decision, "fail") == 0)
        return mortise_start_fail_refused(r, x, err);
    return mortise_pipeline_enter(r, x, c->value, DONE_RESOLVED, err);
}

static int follow_decision(struct mortise_run *r, struct exec *x,
                           const struct mortise_run_command *c,
                           struct mortise_err *err)
{
    if (c->kind == MORTISE_CMD_RESOLVE)
        return follow_resolved(r, x, c, err);
    if (x->refusal != NULL)
        return mortise_start_fail_refused(r, x, err);
    return x->ask == MORTISE_ASK_HUMAN
               ? mortise_exec_kind(r, x)->decided(r, x, err)
               : MORTISE_OK;
}

int mortise_decide_apply_decisions(struct mortise_run *r,
                                   const struct mortise_command_list *h,
                                   struct mortise_err *err)
{
    size_t k = 0;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < h->n; i++) {
        const struct mortise_run_command *c = &h->list[i];
        struct exec *x;

        if (mortise_command_row(c->kind)->subject == NULL)
            continue;
        assert(k < r->decided.n);
        x = r->execs[r->decided.list[k++]];
        /* The consequences of another decision may have stopped it. */
        if (x->state == X_READY && x->loss == LOSS_NONE)
            rv = follow_decision(r, x, c, err);
    }
    return rv;
}
