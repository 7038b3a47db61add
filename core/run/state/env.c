/* env.c -- the names that an expression of a graph can use.
 *
 * `state`, `node`, `index`, `diagnostics` and the `error` being handled are
 * built only if the expression uses them; few do.  All other values are
 * borrowed from the run.
 */
#include <string.h>

#include "core/run/state/state.h"

json_t *mortise_error_new(const char *node, const char *code, const char *class,
                          const char *message)
{
    return json_pack(
        "{s:s*, s:s, s:s, s:o}", "node", node, "code", code, "class",
        class != NULL && class[0] != '\0' ? class : "permanent", "message",
        mortise_json_make_string(message, strlen(message)));
}

json_t *mortise_env_make_error(const struct mortise_run *r,
                               const struct exec *x, const json_t *error)
{
    const struct mortise_exit_info ending = mortise_exit_info_get(error);
    json_t *seen = mortise_error_new(mortise_exec_node(r, x)->id,
                                     mortise_json_get_text(error, "code"),
                                     mortise_json_get_text(error, "class"),
                                     mortise_json_get_text(error, "message"));

    if (seen != NULL && mortise_exit_info_set(seen, &ending) != 0)
        mortise_json_clear_ref(&seen);
    return seen;
}

/* Null if no failure led to x. */
static json_t *build_handled_error(const struct mortise_run *r,
                                   const struct exec *x)
{
    const struct exec *of = r->execs[x->handles];

    return x->handles != 0 ? mortise_env_make_error(r, of, of->error)
                           : json_null();
}

static int build_env_values(struct env *env, const struct mortise_run *r,
                            const struct exec *x, const json_t *input,
                            const json_t *scratch, const json_t *artifacts,
                            uint32_t uses)
{
    const struct mortise_node *n = mortise_exec_node(r, x);
    const struct scope *at = x->frame->scope;
    bool state = uses & 1u << MORTISE_IN_STATE;
    bool node = uses & 1u << MORTISE_IN_NODE;
    bool index = uses & 1u << MORTISE_IN_INDEX && at->n_at > 0;
    bool handled = uses & 1u << MORTISE_IN_HANDLED;

    if (state)
        env->state = json_pack("{s:O, s:O, s:O}", "input", input, "scratch",
                               scratch, "artifacts", artifacts);
    if (node)
        env->node = json_pack(
            "{s:s, s:s, s:i, s:i, s:o}", "id", n->id, "type",
            mortise_node_type_name(n->type), "visit", (int)x->visit, "attempt",
            (int)x->attempt, "failed",
            x->caught != NULL ? json_incref(x->caught) : json_array());
    if (index)
        env->index = json_integer(at->at[at->n_at - 1]);
    if (handled)
        env->handled = build_handled_error(r, x);
    return (state && env->state == NULL) || (node && env->node == NULL) ||
                   (index && env->index == NULL) ||
                   (handled && env->handled == NULL)
               ? MORTISE_ENOMEM
               : MORTISE_OK;
}

/* The state is x->after only when the edges of x are chosen: then x has ended
 * and counts itself. */
static int build_env_diagnostics(struct env *env, struct mortise_run *r,
                                 const struct exec *x, const struct frame *at,
                                 const json_t *state, uint32_t uses,
                                 struct mortise_err *err)
{
    int rv = MORTISE_OK;

    if (uses & 1u << MORTISE_IN_DIAGNOSTICS)
        rv = mortise_diagnostics_make(r, x, at->top, state == x->after,
                                      &env->diagnostics, err);
    env->values[MORTISE_IN_DIAGNOSTICS] = env->diagnostics;
    return rv;
}

/* The member `name` of a state, if the expression uses it or the whole
 * state. */
static const json_t *get_used_root(const json_t *state, const char *name,
                                   enum mortise_scope_name in, uint32_t uses)
{
    return uses & (1u << in | 1u << MORTISE_IN_STATE)
               ? json_object_get(state, name)
               : NULL;
}

/* Build the names in the scope of `at`'s graph. */
static int init_env_in(struct env *env, struct mortise_run *r, struct exec *x,
                       const struct frame *at, const json_t *state,
                       uint32_t uses, struct mortise_err *err)
{
    const json_t *input = at->top->scope->input;
    const json_t *scratch =
        get_used_root(state, "scratch", MORTISE_IN_SCRATCH, uses);
    const json_t *artifacts =
        get_used_root(state, "artifacts", MORTISE_IN_ARTIFACTS, uses);
    int rv;

    memset(env, 0, sizeof *env);
    if (build_env_values(env, r, x, input, scratch, artifacts, uses) !=
        MORTISE_OK) {
        mortise_env_finish(env);
        return mortise_nomem(err);
    }
    env->values[MORTISE_IN_INPUT] = input;
    env->values[MORTISE_IN_SCRATCH] = scratch;
    env->values[MORTISE_IN_ARTIFACTS] = artifacts;
    env->values[MORTISE_IN_STATE] = env->state;
    env->values[MORTISE_IN_RUN] = r->self;
    env->values[MORTISE_IN_NODE] = env->node;
    env->values[MORTISE_IN_HANDLED] = env->handled;
    env->values[MORTISE_IN_MEMORY] =
        json_object_get(x->found[MORTISE_LOOKUP_RECALL], "traces");
    env->values[MORTISE_IN_DISCOVERY] = x->found[MORTISE_LOOKUP_DISCOVER];
    env->cel.values = env->values;
    env->cel.cost_limit = at->graph->expr_cost;
    rv = build_env_diagnostics(env, r, x, at, state, uses, err);
    if (rv != MORTISE_OK)
        mortise_env_finish(env);
    return rv;
}

int mortise_env_init(struct env *env, struct mortise_run *r, struct exec *x,
                     const json_t *state, const json_t *output,
                     const json_t *error, uint32_t uses,
                     struct mortise_err *err)
{
    int rv = init_env_in(env, r, x, x->frame, state, uses, err);

    env->values[MORTISE_IN_INDEX] = env->index;
    for (const struct scope *at = x->frame->scope; at->fan != NULL;
         at = at->outer)
        env->values[MORTISE_IN_ITEM + at->fan->map->level] =
            json_array_get(at->fan->list, at->at[at->n_at - 1]);
    env->values[MORTISE_IN_OUTPUT] = output;
    env->values[MORTISE_IN_ERROR] = error;
    return rv;
}

int mortise_env_init_child(struct env *env, struct mortise_run *r,
                           struct exec *x, uint32_t uses,
                           struct mortise_err *err)
{
    /* `output` is the child's artifacts. */
    int rv = init_env_in(env, r, x, x->child, x->child_state,
                         uses | 1u << MORTISE_IN_ARTIFACTS, err);

    env->values[MORTISE_IN_OUTPUT] = env->values[MORTISE_IN_ARTIFACTS];
    return rv;
}

void mortise_env_finish(struct env *env)
{
    mortise_json_clear_ref(&env->state);
    mortise_json_clear_ref(&env->node);
    mortise_json_clear_ref(&env->diagnostics);
    mortise_json_clear_ref(&env->index);
    mortise_json_clear_ref(&env->handled);
}
