/* route.c -- the edges that an execution takes when it ends: stages of its
 * output (pipeline.c).
 *
 * Conditions see the state after the execution's writes.  A condition that
 * cannot be evaluated fails the node; it never counts as false.  graph.h
 * describes the kinds of edges; this file decides for each kind whether it is
 * taken, and finds the values that are recorded with some of them: the list of
 * a map edge, the findings of a discovery edge.
 */
#include <string.h>

#include "core/run/outcome/outcome.h"

bool mortise_route_has_conditions(const struct mortise_graph *g,
                                  const struct mortise_node *n, uint32_t *uses)
{
    bool any = n->by_condition;

    *uses = any ? mortise_expr_get_uses(&n->condition) : 0;
    for (uint32_t i = 0; i < n->n_out; i++) {
        const struct mortise_expr *when = &g->edges[n->out[i]].when;

        if (when->cel == NULL)
            continue;
        any = true;
        *uses |= mortise_expr_get_uses(when);
    }
    return any;
}

/* Find the edge to the target with this id. */
static int find_target_edge(const struct mortise_graph *g,
                            const struct mortise_node *n, const json_t *id,
                            uint32_t *edge, struct mortise_err *why)
{
    const char *type = mortise_node_type_name(n->type);
    bool route = mortise_node_gives(n) == MORTISE_GIVES_ROUTE;

    for (uint32_t i = 0; i < n->n_out && json_is_string(id); i++) {
        const struct mortise_edge *e = &g->edges[n->out[i]];
        const char *name = e->to == MORTISE_END ? "END" : g->nodes[e->to].id;

        if (e->kind == MORTISE_EDGE_TARGET &&
            strcmp(name, json_string_value(id)) == 0)
            *edge = n->out[i];
    }
    if (*edge == UINT32_MAX && json_is_string(id))
        mortise_fail(why, MORTISE_EINVAL,
                     "%s%s'%s' chose '%s', which is not one of its targets",
                     route ? type : "", route ? " " : "", n->id,
                     json_string_value(id));
    else if (*edge == UINT32_MAX)
        mortise_fail(why, MORTISE_EINVAL,
                     "%s '%s' must choose a node id, a string%s", type, n->id,
                     n->by_condition ? "" : ", or {to: ID}");
    return *edge != UINT32_MAX ? MORTISE_OK : MORTISE_EINVAL;
}

/* A `goto` names the target; else the node's kind may.  *edge stays unchanged
 * if neither does. */
static int find_named_target(struct outcome *o, const struct env *env,
                             uint32_t *edge, struct mortise_err *err)
{
    const struct node_kind *kind = mortise_exec_kind(o->r, o->x);
    json_t *id = json_incref(
        mortise_origin_get_member(o->x, (enum done_how)o->entry.how, "goto"));
    int rv = MORTISE_OK;

    if (id == NULL && kind->choose != NULL)
        rv = kind->choose(o->r, o->x, &o->entry, env, &id, &o->why, err);
    if (rv == MORTISE_OK && id != NULL)
        rv = find_target_edge(o->x->frame->graph, mortise_exec_node(o->r, o->x),
                              id, edge, &o->why);
    json_decref(id);
    return rv;
}

struct choice { /* which of a node's edges a success takes */
    /* The edge to the named target; UINT32_MAX: none is named. */
    uint32_t target;
    bool routed; /* a ROUTE or ROUTE_ALL was taken */
};

/* Does the discovery edge lead to the node that was found, or is it the
 * fallback and none was found? */
static bool is_discovered_target(const struct outcome *o,
                                 const struct mortise_edge *e)
{
    const struct mortise_graph *g = o->x->frame->graph;
    const char *first = mortise_exec_get_discovered_node(o->x, e->discovery);

    if (first == NULL)
        return e->kind == MORTISE_EDGE_FALLBACK;
    return e->kind == MORTISE_EDGE_FOUND &&
           strcmp(g->nodes[e->to].id, first) == 0;
}

static int takes_edge(struct outcome *o, uint32_t edge, const struct env *env,
                      struct choice *c, bool *out)
{
    const struct mortise_edge *e = &o->x->frame->graph->edges[edge];
    struct mortise_err *why = &o->why;
    int rv = MORTISE_OK;

    *out = c->target == edge;
    if (c->target != UINT32_MAX)
        return MORTISE_OK;
    switch (e->kind) {
    case MORTISE_EDGE_STATIC:
        *out = true;
        break;
    case MORTISE_EDGE_FALLBACK:
    case MORTISE_EDGE_FOUND:
        *out = is_discovered_target(o, e);
        break;
    case MORTISE_EDGE_ABOVE:
    case MORTISE_EDGE_BELOW:
        *out = e->holds;
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
    case MORTISE_EDGE_DEFAULT: /* declared after its routes */
        *out = !c->routed;
        break;
    case MORTISE_EDGE_TARGET:
    case MORTISE_EDGE_ERROR:
    case MORTISE_EDGE_TIMEOUT:
    case MORTISE_EDGE_REROUTE:
    case MORTISE_EDGE_BUDGET:
    case MORTISE_EDGE_GATHER:
    case MORTISE_EDGE_DETOUR:
        break;
    }
    return rv;
}

int mortise_stage_edges(struct outcome *o, struct mortise_err *err)
{
    const struct mortise_node *n = mortise_exec_node(o->r, o->x);
    const struct mortise_graph *g = o->x->frame->graph;
    struct mortise_entry *e = &o->entry;
    struct choice c = {.target = UINT32_MAX};
    struct env env; /* for edges with conditions */
    bool look;
    uint32_t uses;
    int rv = MORTISE_OK;

    assert(e->n_edges == 0 && o->x->n_chosen <= n->n_out);
    if (o->x->n_chosen > 0) { /* chosen before; their guardrails have passed */
        memcpy(e->edges, mortise_exec_get_taken_edges(o->x),
               o->x->n_chosen * sizeof e->edges[0]);
        e->n_edges = o->x->n_chosen;
        return MORTISE_OK;
    }
    look = mortise_route_has_conditions(g, n, &uses);
    if (look)
        rv = mortise_env_init(&env, o->r, o->x, o->x->after, e->value, NULL,
                              uses, err);
    if (rv != MORTISE_OK)
        return rv;
    rv = find_named_target(o, &env, &c.target, err);
    for (uint32_t i = 0; rv == MORTISE_OK && i < n->n_out; i++) {
        bool take;

        rv = mortise_judge_map_result(takes_edge(o, n->out[i], &env, &c, &take),
                                      err);
        if (rv == MORTISE_OK && take)
            e->edges[e->n_edges++] = n->out[i];
    }
    if (look)
        mortise_env_finish(&env);
    return rv;
}

/* Replace the list (taken) by {list, max_parallel}. */
static int add_max_parallel(const struct mortise_region *map,
                            const struct mortise_expr_env *env, json_t **list,
                            const char **code, struct mortise_err *why)
{
    json_t *most = NULL;
    int rv = mortise_tmpl_eval(map->parallel, env, &most, why);

    *code = "expression";
    if (rv == MORTISE_OK &&
        (!json_is_integer(most) || json_integer_value(most) < 1 ||
         json_integer_value(most) > MORTISE_MAX_PARALLEL)) {
        *code = "type";
        rv = mortise_judge_set_type_error(map->parallel, "max_parallel",
                                          "a whole number from 1 to 100000",
                                          most, why);
    }
    if (rv == MORTISE_OK) {
        *list = json_pack("{s:o, s:o}", "list", *list, "max_parallel", most);
        return *list != NULL ? MORTISE_OK : mortise_nomem(why);
    }
    json_decref(most);
    mortise_json_clear_ref(list);
    return rv;
}

int mortise_route_eval_list(const struct mortise_region *map, const char *from,
                            const struct mortise_expr_env *env, json_t **out,
                            const char **code, struct mortise_err *why)
{
    int rv = mortise_expr_eval(&map->over, env, out, why);

    *code = "expression";
    if (rv != MORTISE_OK)
        return rv;
    if (!json_is_array(*out)) {
        *code = "type";
        rv = mortise_fail(why, MORTISE_EINVAL,
                          "map.over of '%s' must be a list", from);
    } else {
        *code = "limit";
        rv = mortise_fold_check_depth(*out, why);
    }
    if (rv == MORTISE_OK)
        return map->parallel != NULL
                   ? add_max_parallel(map, env, out, code, why)
                   : MORTISE_OK;
    mortise_json_clear_ref(out);
    return mortise_expr_prefix_error(&map->over, rv, why);
}

int mortise_route_eval_query(struct outcome *o,
                             const struct mortise_edge_discovery *d,
                             json_t **query, struct mortise_err *err)
{
    struct env env;
    int rv = mortise_env_init(&env, o->r, o->x, o->x->after, o->entry.value,
                              NULL, mortise_tmpl_get_used_names(d->query), err);

    *query = NULL;
    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_judge_map_result(
        mortise_tmpl_eval(d->query, &env.cel, query, &o->why), err);
    mortise_env_finish(&env);
    o->code = "expression";
    if (rv == MORTISE_OK && !json_is_string(*query)) {
        mortise_json_clear_ref(query);
        o->code = "type";
        return mortise_fail(&o->why, MORTISE_EINVAL,
                            "discovery.query of '%s' must be a string",
                            mortise_exec_node(o->r, o->x)->id);
    }
    return rv;
}

/* For a discovery edge without a call: there is no discovery, or a goto named
 * the target. */
static json_t *make_empty_finding(const struct mortise_edge_discovery *d,
                                  json_t *query)
{
    json_t *error = NULL;

    if (d->nobody != NULL &&
        (error = json_pack("{s:s, s:s}", "code", "discovery.failed", "message",
                           d->nobody)) == NULL)
        return NULL;
    return json_pack("{s:O, s:s, s:[], s:o*}", "query", query, "kind", d->kind,
                     "results", "error", error);
}

/* The findings of a discovery edge: {query, kind, results, error?}. */
static int get_edge_finding(struct outcome *o,
                            const struct mortise_edge_discovery *d,
                            json_t **out, struct mortise_err *err)
{
    const json_t *sought = mortise_exec_get_discovery(o->x, d);
    json_t *query;
    int rv;

    if (sought != NULL) {
        *out = json_incref(mortise_json_unconst(sought));
        return MORTISE_OK;
    }
    rv = mortise_route_eval_query(o, d, &query, err);
    if (rv == MORTISE_OK && (*out = make_empty_finding(d, query)) == NULL)
        rv = mortise_nomem(err);
    json_decref(query);
    return rv;
}

bool mortise_route_needs_value(const struct mortise_edge *e)
{
    return mortise_edge_is_map(e) || e->discovery != NULL;
}

static int eval_map_list(struct outcome *o, const struct mortise_region *map,
                         json_t **out, struct mortise_err *err)
{
    struct env env;
    uint32_t uses =
        mortise_expr_get_uses(&map->over) |
        (map->parallel != NULL ? mortise_tmpl_get_used_names(map->parallel)
                               : 0);
    int rv = mortise_env_init(&env, o->r, o->x, o->x->after, o->entry.value,
                              NULL, uses, err);

    if (rv != MORTISE_OK)
        return rv;
    rv = mortise_judge_map_result(
        mortise_route_eval_list(map, mortise_exec_node(o->r, o->x)->id,
                                &env.cel, out, &o->code, &o->why),
        err);
    mortise_env_finish(&env);
    return rv;
}

/* Append the value to record with this edge. */
static int add_edge_value(struct outcome *o, const struct mortise_edge *edge,
                          struct mortise_err *err)
{
    json_t *one = NULL;
    int rv;

    if (o->grounds == NULL && (o->grounds = json_array()) == NULL)
        return mortise_nomem(err);
    rv = mortise_edge_is_map(edge)
             ? eval_map_list(o, &o->x->frame->graph->regions[edge->map], &one,
                             err)
             : get_edge_finding(o, edge->discovery, &one, err);
    if (rv == MORTISE_OK && json_array_append(o->grounds, one) != 0)
        rv = mortise_nomem(err);
    json_decref(one);
    return rv;
}

int mortise_stage_grounds(struct outcome *o, struct mortise_err *err)
{
    const struct mortise_edge *edges = o->x->frame->graph->edges;
    int rv = MORTISE_OK;

    assert(o->grounds == NULL);
    for (size_t i = 0; rv == MORTISE_OK && i < o->entry.n_edges; i++) {
        const struct mortise_edge *edge = &edges[o->entry.edges[i]];

        if (mortise_route_needs_value(edge))
            rv = add_edge_value(o, edge, err);
    }
    return rv;
}

void mortise_route_add_edge_of_kind(const struct exec *x,
                                    struct mortise_entry *e,
                                    enum mortise_edge_kind kind)
{
    const struct mortise_graph *g = x->frame->graph;
    const struct mortise_node *n = &g->nodes[x->node];

    assert(e->edges != NULL);
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (g->edges[n->out[i]].kind == kind) {
            e->edges[e->n_edges++] = n->out[i];
            return;
        }
    }
}
