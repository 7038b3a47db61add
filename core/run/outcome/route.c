/* route.c -- the edges that an execution takes when it has ended, which are
 * stages of its output (pipeline.c).
 *
 * Conditions see the state after its writes.  One that cannot be evaluated is
 * the node's failure, never "false".  Which edges a graph has for what is
 * graph.h's business; here each kind is taken or not, and what some of them
 * stand on is found, since it belongs to what is recorded: the list of a map
 * edge, what a discovery edge looked for.
 *
 * Discovery is decided before anything is recorded, so an answer that takes
 * time will have to be there when an execution ends.  In this build there is
 * nobody to ask: nothing is found.
 */
#include <string.h>

#include "run/outcome/outcome.h"

/* Do the edges of a node depend on anything but its success?  Then which names
 * do their conditions use? */
bool mortise_route_uses(const struct mortise_graph *g,
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

/* The edge to a target of the node, by its id. */
static int find_target(const struct mortise_graph *g,
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
                     "%s%s'%s' chose '%s', which is not among its targets",
                     route ? type : "", route ? " " : "", n->id,
                     json_string_value(id));
    else if (*edge == UINT32_MAX)
        mortise_fail(why, MORTISE_EINVAL,
                     "%s '%s' must choose a node id, a string%s", type, n->id,
                     n->by_condition ? "" : ", or {to: ID}");
    return *edge != UINT32_MAX ? MORTISE_OK : MORTISE_EINVAL;
}

/* Who names a target, does: a `goto`, then the kind of its node.  *edge stays as
 * it is when nobody does. */
static int name_target(struct outcome *o, const struct env *env, uint32_t *edge,
                       struct mortise_err *err)
{
    const struct node_kind *kind = mortise_exec_kind(o->r, o->x);
    json_t *id = json_incref(
        mortise_origin_said(o->x, (enum done_how)o->entry.how, "goto"));
    int rv = MORTISE_OK;

    if (id == NULL && kind->choose != NULL)
        rv = kind->choose(o->r, o->x, &o->entry, env, &id, &o->why, err);
    if (rv == MORTISE_OK && id != NULL)
        rv = find_target(o->x->frame->graph, mortise_exec_node(o->r, o->x), id,
                         edge, &o->why);
    json_decref(id);
    return rv;
}

struct choice { /* which of a node's edges a success takes */
    /* The one edge to a node that was named; UINT32_MAX: none was. */
    uint32_t target;
    bool routed; /* a ROUTE or ROUTE_ALL held */
};

static int takes_edge(const struct mortise_graph *g, uint32_t edge,
                      const struct env *env, struct choice *c, bool *out,
                      struct mortise_err *why)
{
    const struct mortise_edge *e = &g->edges[edge];
    int rv = MORTISE_OK;

    *out = c->target == edge;
    if (c->target != UINT32_MAX)
        return MORTISE_OK;
    switch (e->kind) {
    case MORTISE_EDGE_STATIC:
    case MORTISE_EDGE_MAP:
    case MORTISE_EDGE_FALLBACK: /* nothing is found */
        *out = true;
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
    case MORTISE_EDGE_DEFAULT: /* declared behind its routes */
        *out = !c->routed;
        break;
    case MORTISE_EDGE_TARGET:
    case MORTISE_EDGE_ERROR:
    case MORTISE_EDGE_TIMEOUT:
    case MORTISE_EDGE_REROUTE:
    case MORTISE_EDGE_BUDGET:
    case MORTISE_EDGE_GATHER:
    case MORTISE_EDGE_FOUND:
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
    struct env env; /* for those that look at something */
    bool look;
    uint32_t uses;
    int rv = MORTISE_OK;

    assert(e->n_edges == 0 && o->x->n_chosen <= n->n_out);
    if (o->x->n_chosen > 0) { /* before, and their guardrails asked */
        memcpy(e->edges, mortise_exec_going(o->x),
               o->x->n_chosen * sizeof e->edges[0]);
        e->n_edges = o->x->n_chosen;
        return MORTISE_OK;
    }
    look = mortise_route_uses(g, n, &uses);
    if (look)
        rv = mortise_env_init(&env, o->r, o->x, o->x->after, e->value, NULL,
                              uses, err);
    if (rv != MORTISE_OK)
        return rv;
    rv = name_target(o, &env, &c.target, err);
    for (uint32_t i = 0; rv == MORTISE_OK && i < n->n_out; i++) {
        bool take;

        rv = mortise_judge_verdict(
            takes_edge(g, n->out[i], &env, &c, &take, &o->why), err);
        if (rv == MORTISE_OK && take)
            e->edges[e->n_edges++] = n->out[i];
    }
    if (look)
        mortise_env_finish(&env);
    return rv;
}

/* The list of a map edge. */
static int list_of(struct outcome *o, const struct mortise_region *map,
                   const struct env *env, json_t **out, struct mortise_err *err)
{
    int rv = mortise_judge_verdict(
        mortise_expr_eval(&map->over, &env->cel, out, &o->why), err);

    o->code = "expression";
    if (rv == MORTISE_OK && !json_is_array(*out)) {
        o->code = "type";
        return mortise_fail(&o->why, MORTISE_EINVAL,
                            "map.over of '%s' gives no list",
                            mortise_exec_node(o->r, o->x)->id);
    }
    if (rv == MORTISE_OK &&
        mortise_fold_check_depth(*out, &o->why) != MORTISE_OK) {
        o->code = "limit";
        return MORTISE_EINVAL;
    }
    return rv;
}

/* What a discovery edge came to: {query, results}. */
static int found_of(struct outcome *o, const struct mortise_discovery *d,
                    const struct env *env, json_t **out,
                    struct mortise_err *err)
{
    json_t *query = NULL;
    int rv = mortise_judge_verdict(
        mortise_tmpl_eval(d->query, &env->cel, &query, &o->why), err);

    o->code = "expression";
    if (rv == MORTISE_OK && !json_is_string(query)) {
        o->code = "type";
        rv = mortise_fail(&o->why, MORTISE_EINVAL,
                          "discovery.query of '%s' gives no string",
                          mortise_exec_node(o->r, o->x)->id);
    }
    if (rv == MORTISE_OK &&
        (*out = json_pack("{s:O, s:s, s:i}", "query", query, "kind", d->kind,
                          "results", 0)) == NULL)
        rv = mortise_nomem(err);
    json_decref(query);
    return rv;
}

bool mortise_route_stands_on(const struct mortise_edge *e)
{
    return e->kind == MORTISE_EDGE_MAP || e->kind == MORTISE_EDGE_FALLBACK;
}

/* What such an edge stands on, behind what others do. */
static int add_ground(struct outcome *o, const struct mortise_edge *edge,
                      struct mortise_err *err)
{
    const struct mortise_region *map =
        edge->kind == MORTISE_EDGE_MAP ? &o->x->frame->graph->regions[edge->map]
                                       : NULL;
    json_t *one = NULL;
    struct env env;
    int rv;

    if (o->grounds == NULL && (o->grounds = json_array()) == NULL)
        return mortise_nomem(err);
    rv = mortise_env_init(&env, o->r, o->x, o->x->after, o->entry.value, NULL,
                          map != NULL
                              ? mortise_cel_uses(map->over.cel)
                              : mortise_tmpl_uses(edge->discovery->query),
                          err);
    if (rv != MORTISE_OK)
        return rv;
    rv = map != NULL ? list_of(o, map, &env, &one, err)
                     : found_of(o, edge->discovery, &env, &one, err);
    mortise_env_finish(&env);
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

        if (mortise_route_stands_on(edge))
            rv = add_ground(o, edge, err);
    }
    return rv;
}

/* The one edge of a kind, if the node has it, into the entry. */
void mortise_route_of_kind(const struct exec *x, struct mortise_entry *e,
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
