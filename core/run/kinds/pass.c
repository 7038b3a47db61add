/* pass.c -- pass nodes: the value is evaluated when the node starts, and is its
 * output. */
#include "core/model/pass.h"
#include "core/run/outcome/outcome.h"

static int start_pass(struct mortise_run *r, struct exec *x,
                      struct mortise_err *err)
{
    const struct mortise_pass *pass = mortise_exec_node(r, x)->own;
    struct mortise_err why;
    json_t *value = pass->value == NULL ? json_null() : NULL;
    int rv = pass->value != NULL
                 ? mortise_judge_eval(r, x, pass->value, &value, &why, err)
                 : MORTISE_OK;

    if (rv != MORTISE_OK)
        return mortise_fail_if_invalid(r, x, rv, "expression", &why, err);
    mortise_exec_set_attempt(x, x->attempt, r->time_ms);
    rv = mortise_pipeline_enter(r, x, value, DONE_EXECUTED, err);
    json_decref(value);
    return rv;
}

const struct node_kind mortise_run_kind_pass = {.start = start_pass};
