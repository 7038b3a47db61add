/* start.c -- starting an activated execution, up to its call, request or end.
 *
 * A start depends on the execution's view alone, so that a run that was killed
 * and replayed starts the same executions with the same arguments, request ids
 * and idempotency keys.
 *
 * Before something starts (runtime.md R12):
 *
 *   (1) `pure` and `read` calls start at once.  If their commit is lost, they
 *       are made again.
 *   (2) `write` and `external` calls first record their intent, and start when
 *       that commit is on disk.  Commits are ordered, so everything they depend
 *       on is on disk too.  Each entry into a call has its own intent: a
 *       suspension closes it, so that days of waiting are not in doubt.
 *       Operations with `intent: steps` have no intent, since each of their
 *       steps has one (step.c).
 *   (2b) An execution with `checkpoint: before` records that it starts, and
 *        waits
 *       for that commit in the same way.
 *   (2c) Lookups are recorded before the arguments are evaluated (lookups.c).
 *   (3) A request to a person is published by its commit.
 *
 * An execution with a recorded intent and no recorded answer is in doubt;
 * doubt.c settles the doubt before anything else happens to it (runtime.md 6).
 */
#include <assert.h>
#include <string.h>

#include "core/run/outcome/outcome.h"

/* ---- requests ------------------------------------------------------------ */

static int ask_approval(struct mortise_run *r, struct exec *x,
                        const uint8_t digest[MORTISE_DIGEST],
                        struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    char hex[MORTISE_DIGEST_HEX], tool[MORTISE_TOOL_MAX];

    mortise_hex_encode(hex, digest, MORTISE_DIGEST);
    snprintf(tool, sizeof tool, "%s/%s", n->plugin, n->operation);
    return mortise_request_record(
        r, x, MORTISE_ASK_APPROVAL,
        json_pack("{s:s, s:O, s:s, s:s}", "tool", tool, "args", x->body,
                  "digest", hex, "effect", mortise_effect_name(n->effect)),
        0, err);
}

/* Are its arguments known before anything is done for it? */
static bool has_known_arguments(const struct mortise_node *n)
{
    return n->op != NULL && n->memory == NULL && n->discovers == NULL;
}

/* Does the approval of its call also approve the node?  Two requests would show
 * the same arguments. */
static bool needs_call_approval(const struct exec *x,
                                const struct mortise_node *n)
{
    return has_known_arguments(n) && mortise_arguments_need_approval(x, n);
}

/* Must a person approve that the node runs?  Not for tools that a model calls,
 * which are no nodes of the graph, and not for nodes without an operation or
 * graph. */
static bool needs_node_approval(const struct exec *x,
                                const struct mortise_node *n)
{
    return (x->frame->graph->approve_nodes || n->approve_whole) &&
           x->serves == 0 && !x->approved_whole &&
           (n->op != NULL || n->sub != NULL) && !needs_call_approval(x, n);
}

/* Must the graph inside x be approved separately from the plan of the outer
 * graph? */
static bool needs_plan_approval(const struct exec *x,
                                const struct mortise_node *n)
{
    return n->sub != NULL && n->sub->approve_plan &&
           !x->frame->graph->approve_plan && !x->approved_plan;
}

/* The request shows the arguments, if they are known without a lookup, or the
 * team's goal. */
static int ask_node_approval(struct mortise_run *r, struct exec *x,
                             struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    char tool[MORTISE_TOOL_MAX] = "";
    json_t *goal = NULL;
    struct mortise_err why;
    int rv = MORTISE_OK;

    if (has_known_arguments(n))
        rv = mortise_arguments_eval(r, x, &why, err);
    else if (n->input_goal != NULL)
        rv = mortise_judge_eval(r, x, n->input_goal, &goal, &why, err);
    if (rv != MORTISE_OK)
        return mortise_fail_if_invalid(r, x, rv, "expression", &why, err);
    if (n->op != NULL)
        snprintf(tool, sizeof tool, "%s/%s", n->plugin, n->operation);
    return mortise_request_record(
        r, x, MORTISE_ASK_NODE,
        json_pack("{s:s, s:s*, s:s*, s:o*, s:O*}", "type",
                  mortise_node_type_name(n->type), "tool",
                  n->op != NULL ? tool : NULL, "role",
                  n->role_name != NULL ? n->role_name : n->role, "goal", goal,
                  "args", has_known_arguments(n) ? x->body : NULL),
        0, err);
}

/* ---- calls -------------------------------------------------------------- */

/* Record an `intent` or a `before`. */
static int record_start(struct mortise_run *r, struct exec *x,
                        enum mortise_entry_type type, struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, type);

    e.started_ms = r->time_ms;
    if (type == MORTISE_E_INTENT)
        mortise_exec_compute_effect_key(r, x, e.digest);
    return mortise_run_record(r, &e, err);
}

/* This effect was recorded in an attempt that did not finish (R11).  Do not
 * repeat it; use its result. */
static int enter_recorded_result(struct mortise_run *r, struct exec *x,
                                 struct mortise_err *err)
{
    assert(x->result != NULL);
    struct mortise_err why;
    int rv = mortise_judge_map_result(
        mortise_judge_check_output(x->frame->graph, mortise_exec_node(r, x),
                                   x->result, &why),
        err);

    if (rv == MORTISE_OK)
        return mortise_pipeline_enter(r, x, x->result, DONE_RECORDED, err);
    return rv == MORTISE_EINVAL
               ? mortise_doubt_begin_for_result(r, x, &why, err)
               : rv;
}

/* Reserve the budget, record the intent, and call when that is on disk. */
int mortise_start_execute(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    enum claimed claim;
    int rv = mortise_budget_claim(r, x, &claim, err);

    if (rv != MORTISE_OK || claim == CLAIM_LATER)
        return rv;
    if (n->effect >= MORTISE_WRITE && !n->op->steps && !x->effect_open)
        return record_start(r, x, MORTISE_E_INTENT, err);
    return claim == CLAIM_FREE
               ? mortise_call_start(r, x, MORTISE_RUN_EXECUTE, err)
               : MORTISE_OK;
}

/* Look up the cache first, if the node allows it. */
static int start_with_cache_lookup(struct mortise_run *r, struct exec *x,
                                   struct mortise_err *err)
{
    bool ask;
    int rv = mortise_cache_check_lookup(r, x, &ask, err);

    if (rv != MORTISE_OK)
        return rv;
    return ask ? mortise_call_start(r, x, MORTISE_RUN_LOOKUP, err)
               : mortise_start_execute(r, x, err);
}

/* The call is in doubt, and maybe its tools too.  Settle the tools first,
 * because the call's journal, which ends with the call, has the steps that
 * describe them.  After a crash they may be stopping already. */
static int settle_call_doubt(struct mortise_run *r, struct exec *x,
                             struct mortise_err *err)
{
    struct mortise_entry abandon =
        mortise_exec_make_entry(r, x, MORTISE_E_ABANDON);
    int rv = MORTISE_OK;

    if (!x->effect_open || !mortise_tools_are_active(x))
        return mortise_doubt_begin_settling(r, x, err);
    if (!mortise_tools_are_stopping(x))
        rv = mortise_run_record(r, &abandon, err);
    if (rv == MORTISE_OK)
        mortise_exec_await_tools(r, x);
    return rv;
}

int mortise_start_call(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    struct mortise_err why;
    int rv = mortise_arguments_eval(r, x, &why, err);

    if (rv != MORTISE_OK)
        return mortise_fail_if_invalid(r, x, rv, "expression", &why, err);
    rv = mortise_judge_map_result(
        mortise_arguments_check(x->frame->graph, n, x->body, r->mem, &why),
        err);
    if (rv != MORTISE_OK)
        return mortise_fail_if_invalid(r, x, rv,
                                       why.code == MORTISE_EDENIED ? "denied"
                                       : why.code == MORTISE_ENOTFOUND
                                           ? "not_listed"
                                           : "schema",
                                       &why, err);
    if (mortise_guard_must_check_input(r, x))
        return mortise_guard_start_round(r, x, MORTISE_GUARD_INPUT, x->body,
                                         err);
    if (mortise_arguments_need_approval(x, n)) {
        uint8_t digest[MORTISE_DIGEST];

        mortise_exec_approval_of_digest(r, x, x->body_digest, digest);
        if (!x->approved ||
            memcmp(digest, x->approved_digest, sizeof digest) != 0)
            return ask_approval(r, x, digest, err);
    }
    if (mortise_result_is_reusable(r, x))
        return enter_recorded_result(r, x, err);
    if (x->effect_open || mortise_step_find_in_doubt(r, x) != NULL)
        return settle_call_doubt(r, x, err);
    return start_with_cache_lookup(r, x, err);
}

/* Does it need a `before` entry?  An intent is recorded before its effect
 * anyway. */
static bool needs_before_entry(const struct exec *x,
                               const struct mortise_node *n)
{
    return n->checkpoint_before && x->noted != x->generation &&
           (n->op == NULL || n->op->steps || n->effect < MORTISE_WRITE);
}

int mortise_start_fail_refused(struct mortise_run *r, struct exec *x,
                               struct mortise_err *err)
{
    json_t *refusal = json_incref(x->refusal);
    const char *code = mortise_json_get_text(refusal, "code");
    const char *words = mortise_json_get_text(refusal, "message");
    int rv = strcmp(code, "in_doubt") == 0
                 ? mortise_doubt_fail(r, x, words, err)
                 : mortise_fail_attempt(r, x, code, "permanent", words, err);

    json_decref(refusal);
    return rv;
}

/* Evaluate the timeout from the state before x, so that a replay gives the
 * same. */
static int eval_timeout(struct mortise_run *r, struct exec *x,
                        const char **code, struct mortise_err *why,
                        struct mortise_err *err)
{
    int rv = mortise_judge_map_result(mortise_view_make_before(r, x, why), err);

    return rv == MORTISE_OK ? mortise_judge_eval_duration(
                                  r, x, mortise_exec_node(r, x)->timeout,
                                  "timeout", &x->timeout_ms, code, why, err)
                            : rv;
}

/* Must x wait for doubts of an earlier attempt's tools?  The next attempt could
 * make the same call under another name (flow/tools.c (10)). */
static bool must_await_tool_doubts(const struct mortise_run *r,
                                   const struct exec *x)
{
    return x->tools != NULL && x->journal == NULL &&
           mortise_tools_have_open_doubt(r, x);
}

int mortise_start_exec(struct mortise_run *r, struct exec *x,
                       struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    const char *code = "expression";
    struct mortise_err why;
    bool asked;
    int rv;

    assert(x->state == X_READY);
    if (must_await_tool_doubts(r, x)) {
        mortise_exec_await_tools(r, x);
        return MORTISE_OK;
    }
    mortise_verdict_drop(x);
    if (n->tool != NULL && x->choice == 0 && x->leaving == NULL &&
        x->refusal == NULL) {
        rv = mortise_choose_operation(r, x, &code, &why, err);
        if (rv != MORTISE_OK)
            return mortise_fail_if_invalid(r, x, rv, code, &why, err);
        n = mortise_exec_node(r, x);
        code = "expression";
    }
    rv = n->timeout != NULL ? eval_timeout(r, x, &code, &why, err) : MORTISE_OK;
    if (rv != MORTISE_OK)
        return mortise_fail_if_invalid(r, x, rv, code, &why, err);
    if (x->leaving != NULL)
        return mortise_pipeline_continue_leaving(r, x, err);
    rv = mortise_view_make_before(r, x, &why);
    if (rv != MORTISE_OK)
        return mortise_fail_if_invalid(
            r, x, mortise_judge_map_result(rv, err),
            rv == MORTISE_ECONFLICT ? "conflict" : "reducer", &why, err);
    if (x->refusal != NULL)
        return mortise_start_fail_refused(r, x, err);
    if (n->interrupt_before && !x->before_passed)
        return mortise_request_record(r, x, MORTISE_ASK_BEFORE,
                                      json_pack("{s:s}", "when", "before"), 0,
                                      err);
    if (needs_node_approval(x, n))
        return ask_node_approval(r, x, err);
    if (needs_plan_approval(x, n))
        return mortise_plan_ask_node(r, x, err);
    if (needs_before_entry(x, n))
        return record_start(r, x, MORTISE_E_BEFORE, err);
    rv = mortise_lookups_start_next(r, x, &asked, err);
    if (rv != MORTISE_OK || asked)
        return rv;
    return mortise_exec_kind(r, x)->start(r, x, err);
}
