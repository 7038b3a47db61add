/* guardrail.c -- guardrail nodes: guardrails check the target (guard.c), and
 * the target as they left it is the output. */
#include "core/run/outcome/outcome.h"

/* Evaluate the target; the default is the whole scratch. */
static int eval_guard_target(struct mortise_run *r, struct exec *x,
                             json_t **out, struct mortise_err *why,
                             struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    struct env env;
    int rv;

    if (!n->has_target) {
        *out = json_incref(json_object_get(x->view, "scratch"));
        return MORTISE_OK;
    }
    rv = mortise_env_init(&env, r, x, x->view, NULL, NULL,
                          mortise_expr_get_uses(&n->target), err);
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_expr_eval(&n->target, &env.cel, out, why);
    mortise_env_finish(&env);
    return mortise_judge_map_result(rv, err);
}

static int start_guardrail(struct mortise_run *r, struct exec *x,
                           struct mortise_err *err)
{
    struct mortise_err why;
    json_t *subject = NULL;
    int rv = eval_guard_target(r, x, &subject, &why, err);

    if (rv != MORTISE_OK)
        return mortise_fail_if_invalid(r, x, rv, "expression", &why, err);
    rv = mortise_guard_start_round(r, x, MORTISE_GUARD_TARGET, subject, err);
    json_decref(subject);
    return rv;
}

/* The target passed. */
static int end_guardrail(struct mortise_run *r, struct exec *x,
                         struct mortise_err *err)
{
    return mortise_pipeline_enter(r, x, x->subject, DONE_EXECUTED, err);
}

const struct node_kind mortise_run_kind_guardrail = {.start = start_guardrail,
                                                     .passed = end_guardrail};
