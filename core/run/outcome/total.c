/* total.c -- a graph as a whole: its start and its final result. */
#include "core/run/outcome/outcome.h"

/* ---- the start ----------------------------------------------------------- */

/* Append the list of a map edge. */
static int add_start_list(const struct mortise_graph *g,
                          const struct mortise_edge *edge,
                          const struct mortise_expr_env *env,
                          struct mortise_beginning *b, struct mortise_err *err)
{
    json_t *list = NULL;
    int rv = MORTISE_OK;

    if (b->lists == NULL && (b->lists = json_array()) == NULL)
        return mortise_nomem(err);
    rv = mortise_route_eval_list(&g->regions[edge->map], "START", env, &list,
                                 &b->code, err);
    if (rv == MORTISE_OK && json_array_append(b->lists, list) != 0)
        rv = mortise_nomem(err);
    json_decref(list);
    return rv;
}

int mortise_total_choose_start(struct mortise_run *r,
                               const struct mortise_graph *g, json_t *input,
                               struct mortise_entry *e,
                               struct mortise_beginning *b,
                               struct mortise_err *err)
{
    json_t *empty = json_object();
    json_t *state = json_pack("{s:O, s:O, s:O}", "input", input, "scratch",
                              empty, "artifacts", empty);
    const json_t *values[MORTISE_IN_N] = {[MORTISE_IN_INPUT] = input,
                                          [MORTISE_IN_SCRATCH] = empty,
                                          [MORTISE_IN_ARTIFACTS] = empty,
                                          [MORTISE_IN_STATE] = state,
                                          [MORTISE_IN_RUN] = r->self};
    struct mortise_expr_env env = {values, g->expr_cost};
    int rv = state != NULL ? MORTISE_OK : mortise_nomem(err);

    *b = (struct mortise_beginning){.code = "expression"};
    for (uint32_t i = 0; rv == MORTISE_OK && i < g->n_start; i++) {
        const struct mortise_edge *edge = &g->edges[g->start[i]];
        bool take = edge->kind != MORTISE_EDGE_BUDGET;

        if (edge->kind == MORTISE_EDGE_WHEN)
            rv = mortise_expr_test(&edge->when, &env, &take, err);
        else if (edge->kind != MORTISE_EDGE_STATIC)
            take = edge->holds;
        if (rv == MORTISE_OK && take && mortise_edge_is_map(edge))
            rv = add_start_list(g, edge, &env, b, err);
        if (rv == MORTISE_OK && take)
            e->edges[e->n_edges++] = g->start[i];
    }
    json_decref(state);
    json_decref(empty);
    if (rv != MORTISE_OK)
        mortise_json_clear_ref(&b->lists);
    return rv;
}

int mortise_total_record_start(struct mortise_run *r, struct mortise_entry *e,
                               struct mortise_beginning *b,
                               struct mortise_err *err)
{
    struct mortise_entry lists = {.type = MORTISE_E_LISTS, .frame = e->frame};
    int rv = MORTISE_OK;

    if (b->lists != NULL)
        rv = mortise_run_record_value(r, &lists, b->lists, err);
    b->lists = NULL;
    return rv == MORTISE_OK ? mortise_run_record(r, e, err) : rv;
}

int mortise_total_check_input(const struct mortise_graph *g, json_t *input,
                              json_t **out, struct mortise_err *err)
{
    int rv;

    *out = NULL;
    if (!json_is_object(input))
        return mortise_fail(err, MORTISE_EINVAL, "input must be an object");
    rv = mortise_schema_check_with_limit(g->input, input, g->expr_cost, err);
    if (rv != MORTISE_OK)
        return mortise_err_prefix(err, rv, "input");
    *out = mortise_schema_normalize(g->input, input, g->expr_cost);
    return *out != NULL ? MORTISE_OK : mortise_nomem(err);
}

/* ---- the end ------------------------------------------------------------- */

static int check_state_schema(const struct mortise_graph *g,
                              const struct mortise_schema *s,
                              const json_t *state, const char *root,
                              struct mortise_err *why)
{
    int rv = mortise_schema_check_with_limit(s, json_object_get(state, root),
                                             g->expr_cost, why);

    return rv != MORTISE_OK
               ? mortise_err_prefix(why, rv, "%s at the end of the run", root)
               : rv;
}

/* Compute the final state: no conflict is allowed, and the schemas must
 * match. */
static int check_final_state(struct mortise_run *r, const struct frame *f,
                             json_t **state, const char **code,
                             struct mortise_err *why)
{
    int rv = mortise_view_fold_all(r, f, true, state, why);

    *code = rv == MORTISE_ECONFLICT ? "conflict" : "reducer";
    if (rv != MORTISE_OK)
        return rv;
    *code = "schema";
    rv =
        check_state_schema(f->graph, f->graph->scratch, *state, "scratch", why);
    if (rv == MORTISE_OK)
        rv = check_state_schema(f->graph, f->graph->artifacts, *state,
                                "artifacts", why);
    if (rv != MORTISE_OK)
        mortise_json_clear_ref(state);
    return rv;
}

int mortise_total_get_result(struct mortise_run *r, struct frame *f,
                             json_t **error, json_t **state,
                             struct mortise_err *err)
{
    struct mortise_err why;
    const char *code;
    int rv;

    assert(f == f->top); /* the frame of a graph */
    *error = *state = NULL;
    if (f == r->frames[0] && r->plan.error != NULL) {
        *error = json_incref(r->plan.error);
    } else if (f->scope->halt == LOSS_BUDGET) {
        *error = mortise_budget_make_error(f->scope);
    } else if (f->scope->halt == LOSS_TIME) {
        *error = mortise_error_new(NULL, "timeout", "timeout",
                                   "the run was active for longer than its "
                                   "limits.timeout");
    } else if (f->failed) {
        *error = mortise_failures_make_error(r, f);
    } else if (f->scope->loop_error != NULL) {
        *error = json_incref(f->scope->loop_error);
    } else {
        rv = check_final_state(r, f, state, &code, &why);
        if (rv == MORTISE_OK || rv == MORTISE_ENOMEM)
            return rv == MORTISE_OK ? rv : mortise_nomem(err);
        *error = mortise_error_new(NULL, code, "permanent", why.msg);
    }
    return *error != NULL ? MORTISE_OK : mortise_nomem(err);
}
