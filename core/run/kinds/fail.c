/* fail.c -- fail nodes: the message is evaluated when the node starts, and the
 * node fails with it.  The failure is permanent and handled like any other: by
 * `failure` of the graph, or on_error of an outer node. */
#include "core/run/outcome/outcome.h"

static int start_fail_node(struct mortise_run *r, struct exec *x,
                           struct mortise_err *err)
{
    const char *code = mortise_exec_node(r, x)->failing->code;
    struct mortise_buf message;
    struct mortise_err why;
    int rv;

    mortise_buf_init(&message, r->mem);
    rv = mortise_fail_eval_message(r, x, NULL, &message, &why, err);
    if (rv == MORTISE_OK) {
        mortise_exec_set_attempt(x, x->attempt, r->time_ms);
        rv = mortise_fail_attempt(r, x, code, "permanent", message.p, err);
    } else {
        rv = mortise_fail_if_invalid(r, x, rv, "expression", &why, err);
    }
    mortise_buf_finish(&message);
    return rv;
}

const struct node_kind mortise_run_kind_fail = {.start = start_fail_node};
