/* fail.c -- fail nodes: the message is evaluated as the node starts, and the node
 * fails with it.  The failure is permanent, and what follows is what follows
 * any failure: `failure` of the graph, on_error of a node around it. */
#include <string.h>

#include "base/utf8.h"
#include "graph/kinds/pass.h"
#include "run/outcome/outcome.h"

enum { MESSAGE_MAX = 4096 }; /* bytes of the error that is recorded */

static int fail_with(struct mortise_run *r, struct exec *x,
                     const json_t *message, struct mortise_err *err)
{
    const struct mortise_failing *failing = mortise_exec_node(r, x)->own;
    const char *text = json_string_value(message);
    char *made = text == NULL ? mortise_json_text(r->mem, message) : NULL;
    struct mortise_buf cut;
    int rv;

    mortise_buf_init(&cut, r->mem);
    text = text != NULL ? text : made;
    if (text != NULL)
        mortise_buf_put(&cut, text,
                        mortise_utf8_cut(text, strlen(text), MESSAGE_MAX));
    mortise_release_str(r->mem, made);
    text = text != NULL ? mortise_buf_cstr(&cut) : NULL;
    if (text != NULL) {
        mortise_exec_begun(x, x->attempt, r->time_ms);
        rv = mortise_fail_attempt(r, x, failing->code, "permanent", text, err);
    } else {
        rv = mortise_nomem(err);
    }
    mortise_buf_finish(&cut);
    return rv;
}

static int start(struct mortise_run *r, struct exec *x, struct mortise_err *err)
{
    const struct mortise_failing *failing = mortise_exec_node(r, x)->own;
    struct mortise_err why;
    json_t *message = NULL;
    int rv = mortise_judge_text(r, x, failing->message, &message, &why, err);

    if (rv != MORTISE_OK)
        return mortise_fail_refused(r, x, rv, "expression", &why, err);
    rv = fail_with(r, x, message, err);
    json_decref(message);
    return rv;
}

const struct node_kind mortise_run_kind_fail = {.start = start};
