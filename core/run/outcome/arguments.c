/* arguments.c -- the arguments of an operation: evaluated once a generation,
 * and checked before they are used.
 *
 * A reference to a secret in the arguments must be one that the graph has in
 * that place, also if a person edited the arguments.  Text from an expression is
 * never a reference (lang/graph/load/secret.c).
 */
#include <string.h>

#include "core/run/outcome/outcome.h"

/* Does the deployment's policy require approval for a call with these
 * arguments? */
static bool needs_operation_approval(const struct exec *x,
                                     const struct mortise_node *n)
{
    return n->op->ask ||
           (x->body != NULL &&
            mortise_operation_judge(n->op, x->body, NULL) == MORTISE_ASK);
}

bool mortise_arguments_need_approval(const struct exec *x,
                                     const struct mortise_node *n)
{
    return (x->frame->graph->approve_tools && !n->of_type) || n->approve ||
           needs_operation_approval(x, n);
}

/* Only approvals and effects are bound to the arguments. */
static bool needs_digest(const struct exec *x, const struct mortise_node *n)
{
    return n->effect >= MORTISE_WRITE || mortise_arguments_need_approval(x, n);
}

/* Add `predecessors` to the arguments of a node that receives its predecessors'
 * outputs. */
static int add_predecessors(struct mortise_run *r, const struct exec *x,
                            json_t *body, struct mortise_err *err)
{
    json_t *list;
    int rv;

    if (!mortise_exec_node(r, x)->is_told)
        return MORTISE_OK;
    rv = mortise_predecessors_list_outputs(r, x, &list, err);
    if (rv != MORTISE_OK || json_array_size(list) == 0) {
        json_decref(list);
        return rv;
    }
    return json_object_set_new(body, "predecessors", list) == 0
               ? MORTISE_OK
               : mortise_nomem(err);
}

/* Evaluate as in the first attempt of the generation, so that a crash between
 * two attempts does not change the arguments. */
static int eval_arguments_template(struct mortise_run *r, struct exec *x,
                                   struct mortise_err *why,
                                   struct mortise_err *err)
{
    const struct mortise_tmpl *args = mortise_exec_node(r, x)->args;
    uint32_t attempt = x->attempt;
    json_t *body = NULL;
    struct env env;
    int rv;

    mortise_exec_set_attempt(x, 1, x->started_ms);
    rv = mortise_env_init(&env, r, x, x->view, NULL, NULL,
                          mortise_tmpl_get_used_names(args), err);
    mortise_exec_set_attempt(x, attempt, x->started_ms);
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_tmpl_eval(args, &env.cel, &body, why);
    mortise_env_finish(&env);
    if (rv == MORTISE_OK && add_predecessors(r, x, body, err) != MORTISE_OK) {
        json_decref(body);
        return err->code;
    }
    if (rv == MORTISE_OK)
        rv = mortise_fold_check_depth(body, why);
    if (rv == MORTISE_OK)
        mortise_generation_set_body(x, body);
    else
        json_decref(body);
    return mortise_judge_map_result(rv, err);
}

int mortise_arguments_eval(struct mortise_run *r, struct exec *x,
                           struct mortise_err *why, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    int rv = MORTISE_OK;

    assert(n->op != NULL && (x->body != NULL || x->view != NULL));
    if (x->body == NULL && n->args == NULL) {
        mortise_generation_set_body(x, json_object());
        rv = x->body != NULL ? MORTISE_OK : mortise_nomem(err);
    } else if (x->body == NULL) {
        rv = eval_arguments_template(r, x, why, err);
    }
    if (rv == MORTISE_OK && needs_digest(x, n) &&
        mortise_json_digest(x->body_digest, x->body, r->mem) != MORTISE_OK)
        return mortise_nomem(err);
    return rv;
}

int mortise_arguments_eval_with_view(struct mortise_run *r, struct exec *x,
                                     struct mortise_err *why,
                                     struct mortise_err *err)
{
    int rv = mortise_judge_map_result(mortise_view_make_before(r, x, why), err);

    return rv == MORTISE_OK ? mortise_arguments_eval(r, x, why, err) : rv;
}

/* Is the model that its template gave in the graph's allowlist?
 * MORTISE_ENOTFOUND: no. */
static int check_model_is_listed(const struct mortise_model_choice *of,
                                 const json_t *body, struct mortise_err *err)
{
    const json_t *llm = json_object_get(json_object_get(body, "node"), "llm");
    const json_t *given = json_object_get(llm, "provider_id");
    const char *alias = json_string_value(given);
    int rv;

    for (size_t i = 0; alias != NULL && i < of->n; i++)
        if (strcmp(of->aliases[i], alias) == 0)
            return MORTISE_OK;
    rv = mortise_judge_fail_unlisted(of->at, "provider_id", "allowlist",
                                     given != NULL ? given : json_null(), err);
    if (rv != MORTISE_EINVAL)
        return rv;
    for (size_t i = 0; i < of->n; i++)
        mortise_judge_append_name(err, i == 0, of->aliases[i]);
    return err->code = MORTISE_ENOTFOUND;
}

struct given {
    const struct mortise_tmpl *args; /* as written in the graph, or NULL */
    const struct mortise_operation *op;
    struct mortise_err *err;
};

static int check_given_secret(void *ud, const char *pointer, json_t **string)
{
    const struct given *g = ud;

    if (!mortise_secret_is_allowed_at(&g->op->secrets, pointer) ||
        (g->args != NULL &&
         mortise_tmpl_has_string(g->args, pointer, json_string_value(*string))))
        return MORTISE_OK;
    return mortise_fail(g->err, MORTISE_EINVAL,
                        "at %s: a reference to a secret must be written in the "
                        "graph, not computed when the node runs",
                        pointer);
}

static int check_given_secrets(const struct mortise_node *n, const json_t *args,
                               const struct mortise_mem *mem,
                               struct mortise_err *err)
{
    struct given g = {n->args, n->op, err};
    int rv;

    if (n->op->secrets.n == 0)
        return MORTISE_OK;
    rv = mortise_secret_for_each(mortise_json_unconst(args), mem,
                                 check_given_secret, &g);
    return rv == MORTISE_ENOMEM ? mortise_nomem(err) : rv;
}

int mortise_arguments_check(const struct mortise_graph *g,
                            const struct mortise_node *n, const json_t *body,
                            const struct mortise_mem *mem,
                            struct mortise_err *err)
{
    uint64_t limit = g->expr_cost;
    int rv = mortise_schema_check_with_limit(n->op->input, body, limit, err);

    if (rv == MORTISE_OK)
        rv = mortise_schema_check_with_limit(n->input_schema, body, limit, err);
    if (rv == MORTISE_OK)
        rv = check_given_secrets(n, body, mem, err);
    if (rv == MORTISE_OK && n->models != NULL) {
        rv = check_model_is_listed(n->models, body, err);
        if (rv == MORTISE_ENOTFOUND)
            return rv;
    }
    if (rv == MORTISE_OK &&
        mortise_operation_judge(n->op, body, err) == MORTISE_DENY)
        return MORTISE_EDENIED;
    return rv != MORTISE_OK ? mortise_err_prefix(err, rv, "arguments of %s/%s",
                                                 n->plugin, n->operation)
                            : rv;
}
