/* judge.c -- is a result what the graph said it would be?
 *
 * A result is judged in full before anything is recorded: the output against
 * its schemas, its writes against the reducers and the schemas of the fields
 * they change, the limits, and then the edges that it takes (route.c).  What
 * was found stands in the entry; what was tried is on the execution, and goes
 * without a trace when the judgement says no (mortise_writes_undo()).
 *
 * MORTISE_EINVAL is a judgement, with a code of the node's failure and words;
 * MORTISE_ENOMEM is none.
 */
#include <string.h>

#include "run/outcome/outcome.h"

int mortise_judge_verdict(int rv, struct mortise_err *err)
{
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    return rv == MORTISE_OK ? rv : MORTISE_EINVAL;
}

static const struct mortise_schema *
schema_of_root(const struct mortise_graph *g, const struct mortise_path *path)
{
    return strcmp(path->steps[0].key, "scratch") == 0 ? g->scratch
                                                      : g->artifacts;
}

/* What the declared schemas say of the value at a path; NULL: nothing. */
static const struct mortise_schema *schema_at(const struct mortise_graph *g,
                                              const struct mortise_path *path)
{
    const struct mortise_schema *s = schema_of_root(g, path);

    for (size_t i = 1; s != NULL && i < path->n; i++)
        s = path->steps[i].key != NULL
                ? mortise_schema_member(s, path->steps[i].key)
                : mortise_schema_items(s);
    return s;
}

/* Append one write to an entry, its value typed as declared. */
int mortise_judge_add_write(const struct mortise_graph *g,
                            struct mortise_entry *e, uint16_t ref,
                            const struct mortise_path *path, json_t *value,
                            struct mortise_err *err)
{
    struct mortise_entry_write *w = &e->writes[e->n_writes];
    const struct mortise_schema *s = schema_at(g, path);

    w->ref = ref;
    w->value = s != NULL ? mortise_schema_normal(s, value) : json_incref(value);
    if (w->value == NULL)
        return mortise_nomem(err);
    e->n_writes++;
    return MORTISE_OK;
}

/* `outputs`: each expression, over the state before and the output. */
static int add_outputs(struct mortise_run *r, struct exec *x,
                       struct mortise_entry *e, json_t *output,
                       struct mortise_err *why, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    uint32_t uses = 0;
    struct env env;
    int rv;

    if (n->n_outputs == 0)
        return MORTISE_OK;
    for (size_t i = 0; i < n->n_outputs; i++)
        uses |= mortise_cel_uses(n->outputs[i].expr.cel);
    rv = mortise_env_init(&env, r, x, x->view, output, NULL, uses, err);
    if (rv != MORTISE_OK)
        return rv;
    for (size_t i = 0; rv == MORTISE_OK && i < n->n_outputs; i++) {
        json_t *value = NULL;

        rv = mortise_judge_verdict(
            mortise_expr_eval(&n->outputs[i].expr, &env.cel, &value, why), err);
        if (rv == MORTISE_OK)
            rv = mortise_judge_add_write(x->frame->graph, e,
                                         (uint16_t)(MORTISE_WRITE_OUTPUT + i),
                                         &n->outputs[i].path, value, err);
        json_decref(value);
    }
    mortise_env_finish(&env);
    return rv;
}

/* `output_mapping`: each expression, over what the child ended with. */
static int add_mapping(struct mortise_run *r, struct exec *x,
                       struct mortise_entry *e, struct mortise_err *why,
                       struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    uint32_t uses = 0;
    struct env env;
    int rv;

    if (n->n_output_mapping == 0 || x->child_state == NULL)
        return MORTISE_OK;
    for (size_t i = 0; i < n->n_output_mapping; i++)
        uses |= mortise_cel_uses(n->output_mapping[i].expr.cel);
    rv = mortise_env_init_child(&env, r, x, uses, err);
    if (rv != MORTISE_OK)
        return rv;
    for (size_t i = 0; rv == MORTISE_OK && i < n->n_output_mapping; i++) {
        const struct mortise_output *o = &n->output_mapping[i];
        json_t *value = NULL;

        rv = mortise_judge_verdict(
            mortise_expr_eval(&o->expr, &env.cel, &value, why), err);
        if (rv == MORTISE_OK)
            rv = mortise_judge_add_write(
                x->frame->graph, e,
                (uint16_t)(MORTISE_WRITE_OUTPUT + n->n_outputs + i), &o->path,
                value, err);
        json_decref(value);
    }
    mortise_env_finish(&env);
    return rv;
}

json_t *mortise_judge_said(const struct exec *x, enum done_how how,
                           const char *what)
{
    return how == DONE_EXECUTED || how == DONE_RECONCILED ||
                   how == DONE_RECORDED
               ? json_object_get(x->said, what)
               : NULL;
}

/* Has the executor set that artifact itself? */
static bool sets_artifact(const struct exec *x, const struct mortise_entry *e,
                          const char *name)
{
    const json_t *update =
        mortise_judge_said(x, (enum done_how)e->how, "update");

    return json_object_get(json_object_get(update, "artifacts"), name) != NULL;
}

/* All writes of a success, into the entry, behind what was said. */
static int make_writes(struct mortise_run *r, struct exec *x,
                       struct mortise_entry *e, struct mortise_err *why,
                       struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    int rv = MORTISE_OK;

    if (e->value == NULL)
        return MORTISE_OK;
    if (n->output_as != NULL && !sets_artifact(x, e, n->output_as)) {
        const struct artifact *as = mortise_exec_artifact(r, x);

        rv = as != NULL
                 ? mortise_judge_add_write(x->frame->graph, e, MORTISE_WRITE_AS,
                                           as->path, e->value, err)
                 : mortise_nomem(err);
    }
    if (rv == MORTISE_OK && n->target_is_path &&
        n->on_violation == MORTISE_VIOLATION_SANITIZE &&
        mortise_path_get(x->view, &n->target_path) != e->value)
        rv = mortise_judge_add_write(x->frame->graph, e, MORTISE_WRITE_TARGET,
                                     &n->target_path, e->value, err);
    if (rv == MORTISE_OK)
        rv = add_outputs(r, x, e, e->value, why, err);
    return rv == MORTISE_OK ? add_mapping(r, x, e, why, err) : rv;
}

static int check_field(const struct mortise_schema *s, const char *root,
                       const char *field, const json_t *value,
                       struct mortise_err *why)
{
    const struct mortise_schema *member = mortise_schema_member(s, field);
    int rv;

    if (member == NULL)
        return MORTISE_OK;
    if (mortise_schema_types(member) == 0)
        return mortise_fail(why, MORTISE_EINVAL,
                            "%s.%s is not declared in state.%s", root, field,
                            root);
    rv = mortise_schema_check(member, value, why);
    return rv != MORTISE_OK ? mortise_doing(why, rv, "%s.%s", root, field) : rv;
}

static int check_fields(const struct mortise_schema *s, const char *root,
                        const json_t *whole, struct mortise_err *why)
{
    const char *field;
    json_t *value;
    int rv = MORTISE_OK;

    if (!json_is_object(whole))
        return mortise_fail(why, MORTISE_EINVAL, "%s must be an object", root);
    json_object_foreach(mortise_json_unconst(whole), field, value)
    {
        if (rv == MORTISE_OK && s != NULL)
            rv = check_field(s, root, field, value, why);
    }
    return rv;
}

int mortise_judge_field_of(const struct mortise_graph *g, const json_t *after,
                           const struct mortise_path *path,
                           struct mortise_err *why)
{
    const char *root = path->steps[0].key, *field;
    const struct mortise_schema *s = schema_of_root(g, path);
    const json_t *whole = json_object_get(after, root);

    if (path->n == 1)
        return check_fields(s, root, whole, why);
    field = path->steps[1].key; /* a root is an object: no index */
    return s != NULL
               ? check_field(s, root, field, json_object_get(whole, field), why)
               : MORTISE_OK;
}

/* Does anything look at the state after x now: a schema of what it wrote, the
 * limit, a condition, a list? */
static bool is_looked_at(const struct exec *x, const struct mortise_node *n)
{
    const struct mortise_graph *g = x->frame->graph;
    uint32_t uses;

    for (size_t i = 0; i < x->n_writes; i++) {
        if (x->writes[i].path->n == 1 ||
            schema_of_root(g, x->writes[i].path) != NULL)
            return true;
    }
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (mortise_route_stands_on(&g->edges[n->out[i]]))
            return true;
    }
    return !mortise_size_is_small(x) || mortise_route_uses(g, n, &uses);
}

/* Put the entry's writes on the execution and fold them: x->after, unless that
 * may wait. */
int mortise_judge_writes(struct mortise_run *r, struct exec *x,
                         const struct mortise_entry *e, const char **code,
                         struct mortise_err *why, struct mortise_err *err)
{
    int rv = mortise_writes_put(r, x, e, err);

    if (rv != MORTISE_OK ||
        (mortise_view_may_wait(x) && !is_looked_at(x, mortise_exec_node(r, x))))
        return rv;
    rv = mortise_view_after(r, x, why);
    *code = "reducer";
    for (size_t i = 0; rv == MORTISE_OK && i < x->n_writes; i++) {
        *code = "schema";
        rv = mortise_judge_field_of(x->frame->graph, x->after,
                                    x->writes[i].path, why);
    }
    if (rv == MORTISE_OK) {
        *code = "limit";
        rv = mortise_size_check(r, x, why);
    }
    return mortise_judge_verdict(rv, err);
}

int mortise_judge_output(const struct mortise_node *n, const json_t *output,
                         struct mortise_err *why)
{
    int rv = MORTISE_OK;

    if (output == NULL)
        return MORTISE_OK; /* a router */
    if (n->op != NULL && n->op->output != NULL)
        rv = mortise_schema_check(n->op->output, output, why);
    if (rv == MORTISE_OK && n->output_schema != NULL)
        rv = mortise_schema_check(n->output_schema, output, why);
    return rv != MORTISE_OK ? mortise_doing(why, rv, "output of '%s'", n->id)
                            : rv;
}

/* The output as its schemas type it. */
static int type_output(const struct mortise_node *n, json_t **output,
                       struct mortise_err *err)
{
    const struct mortise_schema *by[2] = {n->op != NULL ? n->op->output : NULL,
                                          n->output_schema};

    for (size_t i = 0; i < 2 && *output != NULL; i++) {
        json_t *typed =
            by[i] != NULL ? mortise_schema_normal(by[i], *output) : NULL;

        if (by[i] == NULL)
            continue;
        if (typed == NULL)
            return mortise_nomem(err);
        json_decref(*output);
        *output = typed;
    }
    return MORTISE_OK;
}

/* Is any value of the entry too deep to be kept? */
int mortise_judge_depths(const struct mortise_entry *e, struct mortise_err *why)
{
    int rv = mortise_fold_check_depth(e->value, why);

    for (size_t i = 0; rv == MORTISE_OK && i < e->n_writes; i++) {
        if (e->writes[i].value != e->value)
            rv = mortise_fold_check_depth(e->writes[i].value, why);
    }
    return rv == MORTISE_OK ? rv : MORTISE_EINVAL;
}

/* Judge a success and make its entry; MORTISE_EINVAL with *code and `why` when
 * it is none after all. */
int mortise_judge_done(struct mortise_run *r, struct exec *x,
                       struct mortise_entry *e, json_t **grounds,
                       const char **code, struct mortise_err *why,
                       struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    int rv;

    *code = "schema";
    rv =
        e->how != DONE_ANSWERED
            ? mortise_judge_verdict(mortise_judge_output(n, e->value, why), err)
            : MORTISE_OK;
    if (rv != MORTISE_OK)
        return rv;
    if (e->how != DONE_ANSWERED && type_output(n, &e->value, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    *code = "reducer"; /* the view is there but for a reducer's failure */
    rv = mortise_judge_verdict(mortise_view_before(r, x, why), err);
    if (rv != MORTISE_OK)
        return rv;
    *code = "expression";
    rv = make_writes(r, x, e, why, err);
    if (rv == MORTISE_OK) {
        *code = "limit";
        rv = mortise_judge_depths(e, why);
    }
    if (rv == MORTISE_OK)
        rv = mortise_judge_writes(r, x, e, code, why, err);
    if (rv != MORTISE_OK)
        return rv;
    *code = "route";
    rv = mortise_route_choose(r, x, e, why, err);
    return rv == MORTISE_OK
               ? mortise_route_grounds(r, x, e, grounds, code, why, err)
               : rv;
}
