/* subgraph.c -- subgraphs and teams: nodes that run another graph.
 *
 * A start records a `child` entry with the child's input and its edges out of
 * START.  The child has its own frame, state, names and START
 * (1.0/review#2/inner#1); its executions belong to the run like any other.
 *
 *   (1) The child ends when it has nothing left to do.  If its whole-object
 *       schemas match, its artifacts are the node's output; else it failed.
 *       The least of the child's failures is the node's failure, with its
 *       class; if one of several is permanent, the node's failure is permanent.
 *   (2) A resume, and retry_policy, continue inside: the failures in the child
 *       are retried in a new generation.  Finished nodes of the child stay
 *       done, and its effects keep their names.  Only a new input starts a new
 *       child, whose visit numbers continue from the previous one.  If the
 *       child itself succeeded, an equal input starts no new child: its output
 *       is judged again.  That is so if the output was not judged yet
 *       (leaving.c), or was rejected: by a schema, a conflict of writes, or its
 *       writes outside.  So no effect is repeated.
 *       The children of a generation have one input, if guardrails checked it.
 *   (3) Stopping a subgraph's execution first stops everything inside it.
 */
#include <assert.h>
#include <string.h>

#include "core/run/outcome/outcome.h"

static int end_subgraph(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err);

/* ---- starting ------------------------------------------------------------ */

/* The input {goal} of a team. */
static int make_goal_input(struct mortise_run *r, struct exec *x, json_t **out,
                           struct mortise_err *why, struct mortise_err *err)
{
    json_t *text = NULL;
    int rv = mortise_judge_eval(r, x, mortise_exec_node(r, x)->input_goal,
                                &text, why, err);

    if (rv == MORTISE_OK && (*out = json_pack("{s:O}", "goal", text)) == NULL)
        rv = mortise_nomem(err);
    json_decref(text);
    return rv;
}

/* The input: {} with each line of input_mapping, evaluated in x's view. */
static int make_mapped_input(struct mortise_run *r, struct exec *x,
                             json_t **out, struct mortise_err *why,
                             struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    json_t *whole = json_pack("{s:{}}", "input");
    uint32_t uses = 0;
    struct env env;
    int rv;

    *out = NULL;
    for (size_t i = 0; i < n->n_input_mapping; i++)
        uses |= mortise_expr_get_uses(&n->input_mapping[i].expr);
    rv = whole != NULL
             ? mortise_env_init(&env, r, x, x->view, NULL, NULL, uses, err)
             : mortise_nomem(err);
    if (rv != MORTISE_OK) {
        json_decref(whole);
        return rv;
    }
    for (size_t i = 0; rv == MORTISE_OK && i < n->n_input_mapping; i++) {
        json_t *value = NULL;

        rv =
            mortise_expr_eval(&n->input_mapping[i].expr, &env.cel, &value, why);
        if (rv == MORTISE_OK)
            rv =
                mortise_path_set(&whole, &n->input_mapping[i].path, value, why);
    }
    mortise_env_finish(&env);
    if (rv == MORTISE_OK)
        rv = mortise_fold_check_depth(whole, why);
    if (rv == MORTISE_OK)
        *out = json_incref(json_object_get(whole, "input"));
    json_decref(whole);
    return mortise_judge_map_result(rv, err);
}

static int record_child(struct mortise_run *r, struct exec *x, json_t *input,
                        const char **code, struct mortise_err *why,
                        struct mortise_err *err)
{
    struct mortise_beginning begin;
    const struct mortise_graph *g = mortise_exec_node(r, x)->sub;
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_CHILD);
    size_t room = (g->n_start + 1) * sizeof e.edges[0];
    int rv;

    assert(input != NULL);
    e.started_ms = r->time_ms;
    e.value = input;
    e.edges = mortise_alloc(r->mem, room);
    if (e.edges == NULL)
        return mortise_nomem(err);
    rv = mortise_judge_map_result(
        mortise_total_choose_start(r, g, input, &e, &begin, why), err);
    *code = begin.code;
    if (rv == MORTISE_OK)
        rv = mortise_total_record_start(r, &e, &begin, err);
    mortise_release(r->mem, e.edges, room);
    return rv;
}

/* The child failed: retry inside it. */
static int record_child_again(struct mortise_run *r, struct exec *x,
                              struct mortise_err *err)
{
    struct mortise_entry e = mortise_exec_make_entry(r, x, MORTISE_E_AGAIN);

    assert(x->child != NULL && x->child_again); /* there is a child to retry */
    e.started_ms = r->time_ms;
    return mortise_run_record(r, &e, err);
}

static int start_subgraph(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err)
{
    struct mortise_err why;
    json_t *raw = NULL, *input = NULL;
    const char *code = "expression";
    int rv = MORTISE_OK;

    if (x->child_again && !x->child_asks)
        return record_child_again(r, x, err);
    if (x->body_is_given)
        raw = json_incref(x->body);
    else if (mortise_exec_node(r, x)->input_goal != NULL)
        rv = make_goal_input(r, x, &raw, &why, err);
    else
        rv = make_mapped_input(r, x, &raw, &why, err);
    if (rv == MORTISE_OK) {
        code = "schema";
        rv = mortise_judge_map_result(
            mortise_total_check_input(mortise_exec_node(r, x)->sub, raw, &input,
                                      &why),
            err);
    }
    json_decref(raw);
    if (rv == MORTISE_OK && mortise_guard_must_check_input(r, x)) {
        rv = mortise_guard_start_round(r, x, MORTISE_GUARD_INPUT, input, err);
    } else if (rv == MORTISE_OK && x->child_again &&
               json_equal(x->child->scope->input, input)) {
        rv = record_child_again(r, x, err);
    } else if (rv == MORTISE_OK && x->child_over &&
               json_equal(x->child->scope->input, input)) {
        rv = end_subgraph(r, x, err);
    } else if (rv == MORTISE_OK) {
        rv = record_child(r, x, input, &code, &why, err);
    }
    json_decref(input);
    return mortise_fail_if_invalid(r, x, rv, code, &why, err);
}

static const char *get_error_class(const json_t *error)
{
    const char *class = json_string_value(json_object_get(error, "class"));

    return class != NULL ? class : "permanent";
}

/* The failure can be transient only if all failures in the child are. */
static const char *get_failures_class(const json_t *error)
{
    json_t *one;
    size_t i;

    json_array_foreach(json_object_get(error, "failed"), i, one)
    {
        if (strcmp(get_error_class(json_object_get(one, "error")),
                   "permanent") == 0)
            return "permanent";
    }
    return get_error_class(error);
}

/* The child failed: its error is the node's. */
static int fail_with_child_error(struct mortise_run *r, struct exec *x,
                                 json_t *error, struct mortise_err *err)
{
    const char *code = json_string_value(json_object_get(error, "code"));
    const char *path = json_string_value(json_object_get(error, "path"));
    struct mortise_err words;
    const char *message = json_string_value(json_object_get(error, "message"));

    assert(json_is_object(error));
    if (code == NULL)
        code = "failed";
    mortise_fail(&words, MORTISE_EINVAL, "%s%s%s", path != NULL ? path : "",
                 path != NULL ? ": " : "",
                 mortise_exec_get_failure_message(
                     r, x, code, message != NULL ? message : ""));
    return mortise_fail_exec(
        r, x,
        &(struct failure){.code = code,
                          .class = get_failures_class(error),
                          .message = words.msg,
                          .ending = mortise_exit_info_get(error)},
        err);
}

/* The child's artifacts, or the single one that the node yields. */
static json_t *get_subgraph_output(const struct mortise_run *r,
                                   const struct exec *x, const json_t *state)
{
    json_t *all = json_object_get(state, "artifacts"), *one;
    const char *yields = mortise_exec_node(r, x)->yields;

    if (yields == NULL)
        return all;
    one = json_object_get(all, yields);
    return one != NULL ? one : json_null();
}

static int end_subgraph(struct mortise_run *r, struct exec *x,
                        struct mortise_err *err)
{
    char words[MORTISE_TIMEOUT_WORDS];
    json_t *error = NULL, *state;
    int rv;

    assert(x->child != NULL && x->child->scope->owner == x);
    if (mortise_budget_has_goto(x->child->scope))
        return mortise_budget_start_goto(r, x->child->scope, err);
    if (x->child->scope->halt == LOSS_TIME)
        return mortise_fail_attempt(r, x, "timeout", "timeout",
                                    mortise_exec_print_timeout(x, words), err);
    rv = mortise_total_get_result(r, x->child, &error, &state, err);
    mortise_sub_set_state(x, state);
    if (rv == MORTISE_OK && error != NULL)
        rv = fail_with_child_error(r, x, error, err);
    else if (rv == MORTISE_OK)
        rv = mortise_pipeline_enter(r, x, get_subgraph_output(r, x, state),
                                    DONE_EXECUTED, err);
    json_decref(error);
    mortise_sub_set_state(x, NULL);
    return rv;
}

const struct node_kind mortise_run_kind_subgraph = {
    .start = start_subgraph, .inner_graph_ended = end_subgraph};
const struct node_kind mortise_run_kind_team = {
    .start = start_subgraph, .inner_graph_ended = end_subgraph};
