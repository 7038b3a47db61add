/* router.c -- router nodes: an operation, a condition or routes choose the next
 * node. */
#include "core/run/outcome/outcome.h"

static int start_router(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err)
{
    if (mortise_exec_node(r, x)->op != NULL)
        return mortise_start_call(r, x, err);
    mortise_exec_set_attempt(x, x->attempt, r->time_ms);
    return mortise_pipeline_enter(r, x, NULL, DONE_EXECUTED, err);
}

/* The output of an operation is ID or {to: ID}. */
static int choose_route(struct mortise_run *r, const struct exec *x,
                        const struct mortise_entry *e, const struct env *env,
                        json_t **id, struct mortise_err *why,
                        struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    json_t *to =
        json_is_object(e->value) ? json_object_get(e->value, "to") : e->value;

    if (n->op != NULL)
        *id = to != NULL ? json_incref(to) : json_null();
    else if (n->by_condition)
        return mortise_judge_map_result(
            mortise_expr_eval(&n->condition, &env->cel, id, why), err);
    return MORTISE_OK;
}

const struct node_kind mortise_run_kind_router = {.start = start_router,
                                                  .choose = choose_route};
