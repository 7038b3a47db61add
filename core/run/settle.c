/* settle.c -- a result, a failure, a timeout: which entries they become.
 *
 * A result is judged in full before anything is recorded: the output against
 * its schemas, its writes against the reducers and the schemas of the fields
 * they change, the conditions of the edges in the state after them.  Only then
 * does one `done` entry say all of it.  Whatever goes wrong on the way makes
 * it a failure of the node instead, with a code of its own, and leaves no trace
 * of the result.
 *
 * Codes that the core gives: determinism, suspended, expression, schema,
 * reducer, conflict, route, limit, guardrail, rejected, timeout, timeout.call,
 * timeout.unresponsive, in_doubt, and `failed` for a plugin that gave none.
 *
 * A `write` or `external` call whose result fails that judgement did happen.
 * A `result` entry keeps what it gave, so that nobody who tries the node again
 * makes it happen twice (R11).
 *
 * A failure is tried again where retry_policy says so (by code or by class),
 * then led on where on_error says so, and only then fails the run.  A permanent
 * one is never tried again, whatever the policy lists.  Expressions, schemas,
 * rejections, violations and waits that ran out are permanent: the same would
 * come out.
 */
#include <assert.h>
#include <string.h>

#include "mortise/plugin.h"
#include "run/internal.h"

/* ---- from a handle to its execution ------------------------------------- */

struct exec *exec_at(const struct mortise_run *r, uint64_t handle)
{
    uint64_t index = handle >> 32;
    struct exec *x = index < r->n_execs ? r->execs[index] : NULL;

    return x != NULL && x->serial == (uint32_t)handle ? x : NULL;
}

static bool call_is_out(const struct exec *x)
{
    return x->state == X_RUNNING || x->state == X_STOPPING;
}

int settle_verdict(int rv, struct mortise_err *err)
{
    if (rv == MORTISE_ENOMEM)
        return mortise_nomem(err);
    return rv == MORTISE_OK ? rv : MORTISE_EINVAL;
}

/* ---- writes ------------------------------------------------------------- */

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
static int add_write(const struct mortise_graph *g, struct mortise_entry *e,
                     uint16_t ref, const struct mortise_path *path,
                     json_t *value, struct mortise_err *err)
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
    const struct mortise_node *n = node_of(r, x);
    uint32_t uses = 0;
    struct env env;
    int rv;

    if (n->n_outputs == 0)
        return MORTISE_OK;
    for (size_t i = 0; i < n->n_outputs; i++)
        uses |= mortise_cel_uses(n->outputs[i].expr.cel);
    rv = env_init(&env, r, x, x->view, output, NULL, uses, err);
    if (rv != MORTISE_OK)
        return rv;
    for (size_t i = 0; rv == MORTISE_OK && i < n->n_outputs; i++) {
        json_t *value = NULL;

        rv = settle_verdict(
            mortise_expr_eval(&n->outputs[i].expr, &env.cel, &value, why), err);
        if (rv == MORTISE_OK)
            rv = add_write(x->frame->graph, e,
                           (uint16_t)(MORTISE_WRITE_OUTPUT + i),
                           &n->outputs[i].path, value, err);
        json_decref(value);
    }
    env_finish(&env);
    return rv;
}

/* `output_mapping`: each expression, over what the child ended with. */
static int add_mapping(struct mortise_run *r, struct exec *x,
                       struct mortise_entry *e, struct mortise_err *why,
                       struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    uint32_t uses = 0;
    struct env env;
    int rv;

    if (n->n_output_mapping == 0 || x->inner == NULL)
        return MORTISE_OK;
    for (size_t i = 0; i < n->n_output_mapping; i++)
        uses |= mortise_cel_uses(n->output_mapping[i].expr.cel);
    rv = env_init_child(&env, r, x, uses, err);
    if (rv != MORTISE_OK)
        return rv;
    for (size_t i = 0; rv == MORTISE_OK && i < n->n_output_mapping; i++) {
        const struct mortise_output *o = &n->output_mapping[i];
        json_t *value = NULL;

        rv = settle_verdict(mortise_expr_eval(&o->expr, &env.cel, &value, why),
                            err);
        if (rv == MORTISE_OK)
            rv = add_write(x->frame->graph, e,
                           (uint16_t)(MORTISE_WRITE_OUTPUT + n->n_outputs + i),
                           &o->path, value, err);
        json_decref(value);
    }
    env_finish(&env);
    return rv;
}

/* All writes of a success, into the entry. */
static int make_writes(struct mortise_run *r, struct exec *x,
                       struct mortise_entry *e, struct mortise_err *why,
                       struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    int rv = MORTISE_OK;

    if (e->value == NULL)
        return MORTISE_OK;
    if (n->output_as != NULL) {
        const struct artifact *as = artifact_of(r, x);

        rv = as != NULL ? add_write(x->frame->graph, e, MORTISE_WRITE_AS,
                                    as->path, e->value, err)
                        : mortise_nomem(err);
    }
    if (rv == MORTISE_OK && n->type == MORTISE_NODE_GUARDRAIL &&
        n->target_is_path && n->on_violation == MORTISE_VIOLATION_SANITIZE &&
        mortise_path_get(x->view, &n->target_path) != e->value)
        rv = add_write(x->frame->graph, e, MORTISE_WRITE_TARGET,
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

int settle_check_write(const struct mortise_graph *g, const json_t *after,
                       const struct mortise_path *path, struct mortise_err *why)
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

/* ---- trying ------------------------------------------------------------- */

/* Take back what a result would have written. */
static void unwrite(struct mortise_run *r, struct exec *x)
{
    size_forget(r, x);
    for (size_t i = 0; i < x->n_writes; i++)
        json_decref(x->writes[i].value);
    x->n_writes = 0;
    drop(&x->after);
}

/* Do the edges of a node depend on anything but its success?  Then which names
 * do their conditions use? */
static bool has_conditions(const struct mortise_graph *g,
                           const struct mortise_node *n, uint32_t *uses)
{
    bool any = n->by_condition;

    *uses = any ? mortise_cel_uses(n->condition.cel) : 0;
    for (uint32_t i = 0; i < n->n_out; i++) {
        const struct mortise_cel *when = g->edges[n->out[i]].when.cel;

        if (when == NULL)
            continue;
        any = true;
        *uses |= mortise_cel_uses(when);
    }
    return any;
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
        if (g->edges[n->out[i]].kind == MORTISE_EDGE_MAP)
            return true;
    }
    return !size_is_small(x) || has_conditions(g, n, &uses);
}

/* Put the entry's writes on the execution and fold them: x->after, unless that
 * may wait. */
static int try_writes(struct mortise_run *r, struct exec *x,
                      const struct mortise_entry *e, const char **code,
                      struct mortise_err *why, struct mortise_err *err)
{
    int rv = apply_writes(r, x, e, err);

    if (rv != MORTISE_OK ||
        (past_may_wait(x) && !is_looked_at(x, node_of(r, x))))
        return rv;
    rv = past_after(r, x, why);
    *code = "reducer";
    for (size_t i = 0; rv == MORTISE_OK && i < x->n_writes; i++) {
        *code = "schema";
        rv = settle_check_write(x->frame->graph, x->after, x->writes[i].path,
                                why);
    }
    if (rv == MORTISE_OK) {
        *code = "limit";
        rv = size_check(r, x, why);
    }
    return settle_verdict(rv, err);
}

/* ---- edges -------------------------------------------------------------- */

/* A router by condition: the id it gives must be one of its targets. */
static int find_target(struct mortise_run *r, struct exec *x,
                       const struct env *env, uint32_t *edge,
                       struct mortise_err *why, struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    const struct mortise_graph *g = x->frame->graph;
    json_t *id = NULL;
    int rv = mortise_expr_eval(&n->condition, &env->cel, &id, why);

    if (rv != MORTISE_OK)
        return settle_verdict(rv, err);
    *edge = UINT32_MAX;
    for (uint32_t i = 0; i < n->n_out && json_is_string(id); i++) {
        const struct mortise_edge *e = &g->edges[n->out[i]];
        const char *name = e->to == MORTISE_END ? "END" : g->nodes[e->to].id;

        if (e->kind == MORTISE_EDGE_TARGET &&
            strcmp(name, json_string_value(id)) == 0)
            *edge = n->out[i];
    }
    if (*edge == UINT32_MAX && json_is_string(id))
        mortise_fail(why, MORTISE_EINVAL,
                     "router '%s' chose '%s', which is not among its targets",
                     n->id, json_string_value(id));
    else if (*edge == UINT32_MAX)
        mortise_fail(why, MORTISE_EINVAL,
                     "router '%s' must choose a node id, a string", n->id);
    json_decref(id);
    return *edge != UINT32_MAX ? MORTISE_OK : MORTISE_EINVAL;
}

struct choice {      /* which of a node's edges a success takes */
    uint32_t target; /* edge of a router by condition */
    bool routed;     /* a ROUTE or ROUTE_ALL held */
};

static int takes_edge(const struct mortise_graph *g, uint32_t edge,
                      const struct env *env, struct choice *c, bool *out,
                      struct mortise_err *why)
{
    const struct mortise_edge *e = &g->edges[edge];
    int rv = MORTISE_OK;

    *out = false;
    switch (e->kind) {
    case MORTISE_EDGE_STATIC:
    case MORTISE_EDGE_MAP:
        *out = true;
        break;
    case MORTISE_EDGE_WHEN:
    case MORTISE_EDGE_ROUTE_ALL:
        rv = mortise_expr_test(&e->when, &env->cel, out, why);
        c->routed |= *out && e->kind == MORTISE_EDGE_ROUTE_ALL;
        break;
    case MORTISE_EDGE_ROUTE:
        if (!c->routed)
            rv = mortise_expr_test(&e->when, &env->cel, out, why);
        c->routed |= *out;
        break;
    case MORTISE_EDGE_DEFAULT: /* declared behind its routes */
        *out = !c->routed;
        break;
    case MORTISE_EDGE_TARGET:
        *out = edge == c->target;
        break;
    case MORTISE_EDGE_ERROR:
    case MORTISE_EDGE_TIMEOUT:
    case MORTISE_EDGE_REROUTE:
    case MORTISE_EDGE_GATHER:
        break;
    }
    return rv;
}

static int choose_edges(struct mortise_run *r, struct exec *x,
                        struct mortise_entry *e, struct mortise_err *why,
                        struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    struct choice c = {.target = UINT32_MAX};
    struct env env = {.state = NULL};
    uint32_t uses;
    int rv = MORTISE_OK;

    if (has_conditions(x->frame->graph, n, &uses))
        rv = env_init(&env, r, x, x->after, e->value, NULL, uses, err);
    if (rv != MORTISE_OK)
        return rv;
    if (n->by_condition)
        rv = find_target(r, x, &env, &c.target, why, err);
    for (uint32_t i = 0; rv == MORTISE_OK && i < n->n_out; i++) {
        bool take;

        rv = settle_verdict(
            takes_edge(x->frame->graph, n->out[i], &env, &c, &take, why), err);
        if (rv == MORTISE_OK && take)
            e->edges[e->n_edges++] = n->out[i];
    }
    env_finish(&env);
    return rv;
}

/* The lists of the map edges that the entry takes, in that order; NULL where it
 * takes none. */
static int find_lists(struct mortise_run *r, struct exec *x,
                      const struct mortise_entry *e, json_t **lists,
                      const char **code, struct mortise_err *why,
                      struct mortise_err *err)
{
    const struct mortise_graph *g = x->frame->graph;
    int rv = MORTISE_OK;

    for (size_t i = 0; rv == MORTISE_OK && i < e->n_edges; i++) {
        const struct mortise_edge *edge = &g->edges[e->edges[i]];
        const struct mortise_expr *over = &g->regions[edge->map].over;
        struct env env;
        json_t *list = NULL;

        if (edge->kind != MORTISE_EDGE_MAP)
            continue;
        if (*lists == NULL && (*lists = json_array()) == NULL)
            return mortise_nomem(err);
        *code = "expression";
        rv = env_init(&env, r, x, x->after, e->value, NULL,
                      mortise_cel_uses(over->cel), err);
        if (rv != MORTISE_OK)
            return rv;
        rv = settle_verdict(mortise_expr_eval(over, &env.cel, &list, why), err);
        env_finish(&env);
        if (rv == MORTISE_OK && !json_is_array(list)) {
            *code = "type";
            rv = mortise_fail(why, MORTISE_EINVAL,
                              "map.over of '%s' gives no list",
                              node_of(r, x)->id);
        }
        if (rv == MORTISE_OK &&
            mortise_fold_check_depth(list, why) != MORTISE_OK) {
            *code = "limit";
            rv = MORTISE_EINVAL;
        }
        if (rv == MORTISE_OK && json_array_append(*lists, list) != 0)
            rv = mortise_nomem(err);
        json_decref(list);
    }
    return rv;
}

/* The one edge of a kind, if the node has it, into the entry. */
static void choose_kind(struct mortise_run *r, const struct exec *x,
                        struct mortise_entry *e, enum mortise_edge_kind kind)
{
    const struct mortise_node *n = node_of(r, x);

    for (uint32_t i = 0; i < n->n_out; i++) {
        if (x->frame->graph->edges[n->out[i]].kind == kind) {
            e->edges[e->n_edges++] = n->out[i];
            return;
        }
    }
}

/* ---- success ------------------------------------------------------------ */

int settle_check_output(const struct mortise_node *n, const json_t *output,
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
static int check_depths(const struct mortise_entry *e, struct mortise_err *why)
{
    int rv = mortise_fold_check_depth(e->value, why);

    for (size_t i = 0; rv == MORTISE_OK && i < e->n_writes; i++) {
        if (e->writes[i].value != e->value)
            rv = mortise_fold_check_depth(e->writes[i].value, why);
    }
    return rv == MORTISE_OK ? rv : MORTISE_EINVAL;
}

/* Room for the arrays of an entry of this node. */
static int entry_room(const struct mortise_node *n, struct mortise_arena *a,
                      struct mortise_entry *e, struct mortise_err *err)
{
    e->edges = mortise_arena_alloc(a, n->n_out * sizeof e->edges[0]);
    e->writes = mortise_arena_alloc(
        a, (n->n_outputs + n->n_output_mapping + 2) * sizeof e->writes[0]);
    return e->edges != NULL && e->writes != NULL ? MORTISE_OK
                                                 : mortise_nomem(err);
}

struct mortise_entry entry_of(const struct mortise_run *r, const struct exec *x,
                              enum mortise_entry_type type)
{
    return (struct mortise_entry){.type = type,
                                  .frame = x->frame->index,
                                  .node = x->node,
                                  .visit = x->visit,
                                  .generation = x->generation,
                                  .attempt = x->attempt,
                                  .started_ms = x->started_ms,
                                  .at_ms = r->time_ms};
}

static int ask_after(struct mortise_run *r, struct exec *x,
                     struct mortise_err *err)
{
    return ask(r, x, MORTISE_ASK_AFTER, json_pack("{s:s}", "when", "after"), 0,
               err);
}

/* Judge a success and make its entry; MORTISE_EINVAL with *code and `why` when
 * it is none after all. */
static int judge(struct mortise_run *r, struct exec *x, struct mortise_entry *e,
                 json_t **lists, const char **code, struct mortise_err *why,
                 struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    int rv;

    *code = "schema";
    rv = e->how != DONE_ANSWERED
             ? settle_verdict(settle_check_output(n, e->value, why), err)
             : MORTISE_OK;
    if (rv != MORTISE_OK)
        return rv;
    if (e->how != DONE_ANSWERED && type_output(n, &e->value, err) != MORTISE_OK)
        return MORTISE_ENOMEM;
    *code = "reducer"; /* the view is there but for a reducer's failure */
    rv = settle_verdict(past_view(r, x, why), err);
    if (rv != MORTISE_OK)
        return rv;
    *code = "expression";
    rv = make_writes(r, x, e, why, err);
    if (rv == MORTISE_OK) {
        *code = "limit";
        rv = check_depths(e, why);
    }
    if (rv == MORTISE_OK)
        rv = try_writes(r, x, e, code, why, err);
    if (rv != MORTISE_OK)
        return rv;
    *code = "route";
    rv = choose_edges(r, x, e, why, err);
    return rv == MORTISE_OK ? find_lists(r, x, e, lists, code, why, err) : rv;
}

/* What was judged: the lists of map edges, then the success itself. */
static int record_done(struct mortise_run *r, struct exec *x,
                       struct mortise_entry *e, const json_t *lists,
                       struct mortise_err *err)
{
    const struct mortise_graph *g = x->frame->graph;
    int rv = MORTISE_OK;

    for (size_t i = 0, k = 0; rv == MORTISE_OK && i < e->n_edges; i++) {
        struct mortise_entry fan = entry_of(r, x, MORTISE_E_FAN);

        if (g->edges[e->edges[i]].kind != MORTISE_EDGE_MAP)
            continue;
        fan.edges = &e->edges[i];
        fan.n_edges = 1;
        fan.value = json_array_get(lists, k++);
        rv = record(r, &fan, err);
    }
    return rv == MORTISE_OK ? record(r, e, err) : rv;
}

/* The effect is acknowledged, whatever becomes of its node. */
static int keep_result(struct mortise_run *r, struct exec *x, json_t *output,
                       enum done_how how, struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_RESULT);
    int rv;

    if (node_of(r, x)->effect < MORTISE_WRITE ||
        (how != DONE_EXECUTED && how != DONE_RECONCILED &&
         how != DONE_RESOLVED))
        return MORTISE_OK;
    e.value = mortise_fold_check_depth(output, NULL) == MORTISE_OK
                  ? json_incref(output)
                  : json_null(); /* nobody could use it either */
    memcpy(e.digest, x->key, sizeof e.digest);
    rv = record(r, &e, err);
    json_decref(e.value);
    return rv;
}

int settle_done(struct mortise_run *r, struct exec *x, json_t *output,
                enum done_how how, struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_DONE);
    const char *code = "failed";
    json_t *lists = NULL; /* of map edges */
    struct mortise_arena a;
    struct mortise_err why;
    int rv;

    mortise_arena_init(&a, r->mem);
    e.how = (uint8_t)how;
    e.value = json_incref(output);
    e.note = json_incref(x->notes);
    rv = entry_room(node_of(r, x), &a, &e, err);
    if (rv == MORTISE_OK)
        rv = judge(r, x, &e, &lists, &code, &why, err);
    if (rv == MORTISE_OK) {
        rv = record_done(r, x, &e, lists, err);
        if (rv == MORTISE_OK && x->state == X_HELD)
            rv = ask_after(r, x, err);
    } else if (rv == MORTISE_EINVAL) {
        unwrite(r, x);
        rv = keep_result(r, x, output, how, err);
        if (rv == MORTISE_OK && how == DONE_ON_ERROR)
            rv = settle_lost(r, x, code, why.msg, false, err);
        else if (rv == MORTISE_OK)
            rv = settle_failed_err(r, x, code, &why, err);
    }
    mortise_entry_finish(&e);
    json_decref(lists);
    mortise_arena_finish(&a);
    return rv;
}

/* A violation that leads elsewhere: nothing is written. */
static int settle_reroute(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_DONE);
    uint32_t edge[1];
    int rv;

    e.edges = edge;
    e.note = x->notes;
    choose_kind(r, x, &e, MORTISE_EDGE_REROUTE);
    assert(e.n_edges == 1); /* graph/ lets no such node in without a target */
    rv = record(r, &e, err);
    if (rv == MORTISE_OK && x->state == X_HELD)
        rv = ask_after(r, x, err);
    return rv;
}

/* ---- failure ------------------------------------------------------------ */

/* {code, message, span}: a new reference. */
static json_t *error_json(const struct mortise_run *r, const struct exec *x,
                          const char *code, const char *message)
{
    struct mortise_buf at;
    json_t *error, *text;

    mortise_buf_init(&at, r->mem);
    mortise_span_text(node_of(r, x)->span, &at);
    text = at.failed ? NULL : mortise_json_strn(at.n != 0 ? at.p : "", at.n);
    mortise_buf_finish(&at);
    error =
        json_pack("{s:s, s:o, s:o}", "code", code, "message",
                  mortise_json_strn(message, strlen(message)), "span", text);
    return error;
}

/* A failure that says nothing of its class is permanent, too. */
static bool is_permanent(const char *class)
{
    return class[0] == '\0' || strcmp(class, "permanent") == 0;
}

static bool may_retry(const struct mortise_node *n, const struct exec *x,
                      const char *code, const char *class)
{
    if (x->attempt >= n->retry.max_attempts || is_permanent(class))
        return false;
    for (size_t i = 0; i < n->retry.n_retry_on; i++) {
        const char *on = n->retry.retry_on[i];

        if (strcmp(on, code) == 0 || strcmp(on, class) == 0)
            return true;
    }
    return false;
}

/* A number in [0, 1) that belongs to this attempt. */
static double chance(const struct mortise_run *r, const struct exec *x)
{
    uint8_t digest[MORTISE_DIGEST];
    struct mortise_hasher h;
    uint32_t u;

    mortise_hasher_init(&h);
    mortise_hasher_field(&h, r->seed, sizeof r->seed);
    mortise_hasher_u64(&h, x->index);
    mortise_hasher_u64(&h, x->generation);
    mortise_hasher_u64(&h, x->attempt);
    mortise_hasher_final(&h, digest);
    memcpy(&u, digest, sizeof u);
    return u / 4294967296.0;
}

/* The k-th retry waits b, b*k or b*2^(k-1), bounded, then jittered. */
static uint64_t backoff_ms(const struct mortise_run *r, const struct exec *x)
{
    const struct mortise_retry *p = &node_of(r, x)->retry;
    double wait = (double)p->delay_ms, k = x->attempt;

    if (p->backoff == MORTISE_BACKOFF_LINEAR)
        wait *= k;
    for (uint32_t i = 1; p->backoff == MORTISE_BACKOFF_EXPONENTIAL &&
                         i < x->attempt && wait < (double)p->max_delay_ms;
         i++)
        wait *= 2;
    if (wait > (double)p->max_delay_ms)
        wait = (double)p->max_delay_ms;
    wait *= 1 + p->jitter * (2 * chance(r, x) - 1);
    return (uint64_t)wait;
}

static int settle_retry(struct mortise_run *r, struct exec *x, const char *code,
                        const char *message, struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_RETRY);
    int rv;

    e.value = error_json(r, x, code, message);
    if (e.value == NULL)
        return mortise_nomem(err);
    e.at_ms = backoff_ms(r, x);
    if (e.at_ms < x->retry_after_ms)
        e.at_ms = x->retry_after_ms;
    e.at_ms += r->time_ms;
    x->retry_after_ms = 0;
    rv = record(r, &e, err);
    json_decref(e.value);
    if (rv != MORTISE_OK)
        return rv;
    x->serial++;
    return arm(r, x, x->next_ms, err);
}

/* The attempt that was about to be, or was stopped, does not count as one. */
int settle_not_done(struct mortise_run *r, struct exec *x,
                    struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_RETRY);
    int rv;

    e.attempt--;
    e.value = error_json(r, x, "cancelled", "stopped for a command");
    if (e.value == NULL)
        return mortise_nomem(err);
    rv = record(r, &e, err);
    json_decref(e.value);
    return rv != MORTISE_OK ? rv : exec_ready(r, x, err);
}

/* For good.  `open`: the effect never answered. */
int settle_lost(struct mortise_run *r, struct exec *x, const char *code,
                const char *message, bool open, struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_FAILED);
    uint32_t edge[1];
    int rv;

    e.value = error_json(r, x, code, message);
    if (e.value == NULL)
        return mortise_nomem(err);
    e.edges = edge;
    e.note = x->notes;
    e.how = open;
    if (x->expired_to_goto)
        choose_kind(r, x, &e, MORTISE_EDGE_TIMEOUT);
    else
        choose_kind(r, x, &e, MORTISE_EDGE_ERROR);
    rv = record(r, &e, err);
    json_decref(e.value);
    return rv;
}

/* on_error: {value}: that is the output, then. */
static int settle_value(struct mortise_run *r, struct exec *x, const char *code,
                        const char *message, struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    json_t *error = error_json(r, x, code, message), *value = NULL;
    struct mortise_err why, both;
    struct env env;
    int rv;

    if (error == NULL)
        return mortise_nomem(err);
    rv = past_view(r, x, &why);
    if (rv == MORTISE_OK) {
        rv = env_init(&env, r, x, x->view, NULL, error,
                      mortise_cel_uses(n->error_value.cel), err);
        if (rv != MORTISE_OK) {
            json_decref(error);
            return rv;
        }
        rv = mortise_expr_eval(&n->error_value, &env.cel, &value, &why);
        env_finish(&env);
    }
    json_decref(error);
    rv = settle_verdict(rv, err);
    if (rv == MORTISE_ENOMEM)
        return rv;
    if (rv != MORTISE_OK) {
        mortise_fail(&both, rv, "%.500s (on_error.value, after %s: %.400s)",
                     why.msg, code, message);
        return settle_lost(r, x, "expression", both.msg, false, err);
    }
    rv = settle_done(r, x, value, DONE_ON_ERROR, err);
    json_decref(value);
    return rv;
}

int settle_failed(struct mortise_run *r, struct exec *x, const char *code,
                  const char *class, const char *message,
                  struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    int rv = disarm(r, x, err);

    if (rv != MORTISE_OK)
        return rv;
    if (may_retry(n, x, code, class))
        return settle_retry(r, x, code, message, err);
    if (n->on_error_value)
        return settle_value(r, x, code, message, err);
    return settle_lost(r, x, code, message, step_in_doubt(r, x) != NULL, err);
}

int settle_failed_err(struct mortise_run *r, struct exec *x, const char *code,
                      const struct mortise_err *why, struct mortise_err *err)
{
    return settle_failed(r, x, code, "permanent", why->msg, err);
}

/* ---- maps --------------------------------------------------------------- */

/* artifacts.TO, which is written like any other. */
static int gather_writes(struct mortise_run *r, struct exec *x,
                         struct mortise_entry *e, struct mortise_arena *a,
                         const char **code, struct mortise_err *why,
                         struct mortise_err *err)
{
    struct mortise_path *path = mortise_arena_alloc(a, sizeof *path);
    struct mortise_buf text;
    int rv;

    e->writes = mortise_arena_alloc(a, sizeof *e->writes);
    mortise_buf_init(&text, r->mem);
    mortise_buf_printf(&text, "artifacts[\"%s\"]", node_of(r, x)->id);
    if (path == NULL || e->writes == NULL || text.failed)
        rv = mortise_nomem(err);
    else
        rv = mortise_path_parse(path, a, text.p, text.n, err);
    mortise_buf_finish(&text);
    if (rv != MORTISE_OK)
        return rv;
    rv = add_write(x->frame->graph, e, MORTISE_WRITE_SPELLED, path, e->value,
                   err);
    e->writes[0].text = path->text;
    e->writes[0].reduce = mortise_graph_reduce(x->frame->graph, path);
    /* Maps in elements of a map gather side by side: no conflict. */
    if (e->writes[0].reduce == MORTISE_REDUCE_DEFAULT)
        e->writes[0].reduce = MORTISE_REDUCE_LAST;
    *code = "limit";
    if (rv == MORTISE_OK)
        rv = check_depths(e, why);
    return rv == MORTISE_OK ? try_writes(r, x, e, code, why, err) : rv;
}

/* What a map came to breaks a schema, say: the map failed. */
static int gather_failed(struct mortise_run *r, struct exec *x,
                         const char *code, const struct mortise_err *why,
                         struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_FAILED);
    int rv;

    e.value = error_json(r, x, code, why->msg);
    if (e.value == NULL)
        return mortise_nomem(err);
    rv = record(r, &e, err);
    json_decref(e.value);
    return rv;
}

int settle_gathered(struct mortise_run *r, struct exec *x, json_t *value,
                    struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_GATHER);
    struct mortise_arena a;
    struct mortise_err why;
    const char *code = "reducer";
    int rv = past_view(r, x, &why);

    if (rv == MORTISE_ECONFLICT)
        code = "conflict";
    rv = settle_verdict(rv, err);
    mortise_arena_init(&a, r->mem);
    e.value = json_incref(value);
    if (rv == MORTISE_OK)
        rv = gather_writes(r, x, &e, &a, &code, &why, err);
    if (rv == MORTISE_OK)
        rv = record(r, &e, err);
    else if (rv == MORTISE_EINVAL) {
        unwrite(r, x);
        rv = gather_failed(r, x, code, &why, err);
    }
    mortise_entry_finish(&e);
    mortise_arena_finish(&a);
    return rv;
}

/* ---- guardrails --------------------------------------------------------- */

static int note_verdict(struct exec *x, const char *id, bool violation,
                        const char *reason, const char *action,
                        struct mortise_err *err)
{
    json_t *note = json_pack("{s:s, s:b, s:s}", "guardrail", id, "violation",
                             (int)violation, "action", action);

    if (x->notes == NULL)
        x->notes = json_array();
    if (note != NULL && violation)
        json_object_set_new(note, "reason",
                            mortise_json_strn(reason, strlen(reason)));
    return note != NULL && json_array_append_new(x->notes, note) == 0
               ? MORTISE_OK
               : mortise_nomem(err);
}

/* What becomes of a violation: "warn", "sanitize", "block" or "reroute". */
static const char *action_on(const struct mortise_node *n,
                             const json_t *replacement)
{
    switch (n->on_violation) {
    case MORTISE_VIOLATION_WARN:
        return "warn";
    case MORTISE_VIOLATION_REROUTE:
        return "reroute";
    case MORTISE_VIOLATION_SANITIZE:
        return replacement != NULL ? "sanitize" : "block";
    case MORTISE_VIOLATION_BLOCK:
        break;
    }
    return "block";
}

static int next_guard(struct mortise_run *r, struct exec *x,
                      struct mortise_err *err)
{
    if (++x->guard < node_of(r, x)->n_guardrails)
        return start_call(r, x, MORTISE_RUN_CHECK, err);
    return settle_done(r, x, x->subject, DONE_EXECUTED, err);
}

/* A guardrail answered; one that failed to is a violation (fail closed), and
 * what it may have offered as a replacement is not used. */
static int settle_check(struct mortise_run *r, struct exec *x,
                        const struct mortise_result_in *in, const char *failure,
                        struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    const char *id = n->guardrails[x->guard], *action = "pass";
    const char *reason = failure != NULL ? failure : in->message;
    bool violation = failure != NULL || in->violation;
    json_t *replacement = failure == NULL ? in->output : NULL;
    struct mortise_err words;
    int rv;

    if (violation)
        action = action_on(n, replacement);
    rv = note_verdict(x, id, violation, reason, action, err);
    if (rv != MORTISE_OK)
        return rv;
    if (strcmp(action, "reroute") == 0)
        return settle_reroute(r, x, err);
    if (strcmp(action, "block") == 0) {
        mortise_fail(&words, MORTISE_EINVAL, "guardrail '%s': %s", id, reason);
        return settle_failed_err(r, x, "guardrail", &words, err);
    }
    if (strcmp(action, "sanitize") == 0)
        hold(&x->subject, replacement);
    return next_guard(r, x, err);
}

/* ---- results ------------------------------------------------------------ */

/* "did it happen?" -> {happened, result}. */
static int settle_reconciled(struct mortise_run *r, struct exec *x,
                             const struct mortise_result_in *in,
                             struct mortise_err *err)
{
    const json_t *happened = json_object_get(in->output, "happened");

    if (in->status != 0 || !json_is_boolean(happened))
        return ask_doubt(r, x, err); /* it does not know: a person must */
    if (json_is_true(happened)) {
        json_t *result = json_object_get(in->output, "result");
        json_t *output = result != NULL ? json_incref(result) : json_null();
        int rv = settle_done(r, x, output, DONE_RECONCILED, err);

        json_decref(output);
        return rv;
    }
    return start_call(r, x, MORTISE_RUN_EXECUTE, err);
}

static int settle_broke(struct mortise_run *r, struct exec *x,
                        const char *words, struct mortise_err *err)
{
    return settle_failed(r, x, "determinism", "permanent", words, err);
}

static int settle_executed(struct mortise_run *r, struct exec *x,
                           const struct mortise_result_in *in,
                           struct mortise_err *err)
{
    json_t *output;
    int rv;

    x->retry_after_ms = in->retry_after_ms;
    if (x->broke != NULL)
        return settle_broke(r, x, json_string_value(x->broke), err);
    if (in->status == MORTISE_S_SUSPENDED)
        return step_let_go(r, x, err);
    if (in->status == MORTISE_S_OK && step_left_unasked(x))
        return settle_broke(r, x,
                            "E_DETERMINISM: it ended without asking all that "
                            "it had asked before",
                            err);
    if (in->status != MORTISE_S_OK)
        return settle_failed(
            r, x, in->error_code[0] != '\0' ? in->error_code : "failed",
            in->error_class, in->message, err);
    output = in->output != NULL ? json_incref(in->output) : json_null();
    rv = settle_done(r, x, output, DONE_EXECUTED, err);
    json_decref(output);
    return rv;
}

static int record_stopped(struct mortise_run *r, struct exec *x,
                          struct mortise_err *err)
{
    struct mortise_entry e = entry_of(r, x, MORTISE_E_STOPPED);

    return record(r, &e, err);
}

/* A call that was asked to stop has let go.  A `write` or `external` effect
 * that succeeded all the same did happen, and counts; anything else that came
 * too late changes nothing. */
static int settle_stopped(struct mortise_run *r, struct exec *x,
                          const struct mortise_result_in *in,
                          struct mortise_err *err)
{
    bool happened = in->status == 0 && x->call == MORTISE_RUN_EXECUTE &&
                    node_of(r, x)->effect >= MORTISE_WRITE;
    bool let_go = in->status == MORTISE_S_SUSPENDED && x->stop != STOP_RUN;

    if (x->loss != LOSS_NONE && x->stop != STOP_RUN)
        return race_lost(r, x, err);
    if (happened || let_go || x->stop == STOP_BROKE)
        return settle_executed(r, x, in, err);
    switch (x->stop) {
    case STOP_RUN:
        return record_stopped(r, x, err);
    case STOP_COMMAND:
        x->stop = STOP_NONE;
        return x->effect_open && x->call == MORTISE_RUN_EXECUTE
                   ? settle_not_done(r, x, err)
                   : exec_ready(r, x, err);
    case STOP_TIMEOUT:
    case STOP_RACE: /* it has lost */
    case STOP_BROKE:
    case STOP_NONE:
        break;
    }
    if (x->call == MORTISE_RUN_CHECK)
        return settle_check(r, x, in, "it did not answer in time", err);
    if (x->call == MORTISE_RUN_RECONCILE)
        return ask_doubt(r, x, err);
    return settle_failed(r, x, "timeout.call", "timeout",
                         "the attempt took longer than its timeout", err);
}

int settle_result(struct mortise_run *r, const struct mortise_result_in *in,
                  struct mortise_err *err)
{
    struct exec *x = exec_at(r, in->call);
    int rv;

    if (x == NULL || !call_is_out(x))
        return MORTISE_OK; /* it was ended without it */
    rv = disarm(r, x, err);
    if (rv != MORTISE_OK)
        return rv;
    x->serial++; /* a second answer is nobody's */
    if (x->state == X_STOPPING || x->loss != LOSS_NONE)
        return settle_stopped(r, x, in, err);
    switch (x->call) {
    case MORTISE_RUN_CHECK:
        return settle_check(r, x, in, in->status != 0 ? in->message : NULL,
                            err);
    case MORTISE_RUN_RECONCILE:
        return settle_reconciled(r, x, in, err);
    case MORTISE_RUN_EXECUTE:
        break;
    }
    return settle_executed(r, x, in, err);
}

int settle_unresponsive(struct mortise_run *r, uint64_t call,
                        struct mortise_err *err)
{
    struct exec *x = exec_at(r, call);
    bool open;
    int rv;

    if (x == NULL || !call_is_out(x))
        return MORTISE_OK;
    rv = disarm(r, x, err);
    if (rv != MORTISE_OK)
        return rv;
    open =
        x->call != MORTISE_RUN_CHECK && node_of(r, x)->effect >= MORTISE_WRITE;
    x->serial++;
    if (x->loss != LOSS_NONE)
        return race_lost(r, x, err);
    return settle_lost(r, x, "timeout.unresponsive",
                       "the plugin was asked to stop and did not let go", open,
                       err);
}

/* ---- time --------------------------------------------------------------- */

static json_t *decision(bool approved, const char *by)
{
    return json_pack("{s:b, s:s, s:s}", "approved", (int)approved, "reason",
                     "nobody answered in time", "decided_by", by);
}

int settle_expired(struct mortise_run *r, struct exec *x,
                   struct mortise_err *err)
{
    const struct mortise_node *n = node_of(r, x);
    struct mortise_entry e = entry_of(r, x, MORTISE_E_SETTLE);
    char id[REQUEST_ID];
    json_t *value;
    int rv;

    memcpy(id, x->request, sizeof id);
    e.how = MORTISE_SETTLE_EXPIRED;
    e.id = id;
    rv = record(r, &e, err);
    if (rv != MORTISE_OK)
        return rv;
    if (n->on_timeout == MORTISE_TIMEOUT_ERROR ||
        n->on_timeout == MORTISE_TIMEOUT_GOTO) {
        x->expired_to_goto = n->on_timeout == MORTISE_TIMEOUT_GOTO;
        return settle_failed(r, x, "timeout", "permanent",
                             "nobody answered in time", err);
    }
    value = n->on_timeout == MORTISE_TIMEOUT_ACCEPT
                ? decision(true, "timeout-accept")
                : decision(false, "timeout-reject");
    if (value == NULL)
        return mortise_nomem(err);
    rv = settle_done(r, x, value, DONE_ANSWERED, err);
    json_decref(value);
    return rv;
}

int settle_timer(struct mortise_run *r, uint64_t timer, struct mortise_err *err)
{
    struct exec *x = exec_at(r, timer);
    uint64_t due;

    if (x == NULL || !x->timer)
        return MORTISE_OK; /* it was disarmed, or fired already */
    x->timer = false;
    if (x->index == 0 || x->state == X_INSIDE)
        return clock_is_due(r, x, err);
    if (x->state == X_RUNNING)
        return cancel_call(
            r, x, command_gives_up(r, x) ? STOP_COMMAND : STOP_TIMEOUT, err);
    if (x->state == X_SUSPENDED)
        return step_expired(r, x, err);
    assert(x->state == X_BACKOFF || x->state == X_ASKED); /* who else arms */
    due = x->state == X_BACKOFF ? x->next_ms : x->deadline_ms;
    if (r->time_ms < due) /* the clock was set back */
        return arm(r, x, due, err);
    return x->state == X_BACKOFF ? exec_ready(r, x, err)
                                 : settle_expired(r, x, err);
}
