/* guards.c -- which guardrails are asked now: of a node's stage, or of the edge
 * that is looked at.
 */
#include "run/outcome/outcome.h"

/* The edge that is looked at. */
const struct mortise_edge *mortise_guards_edge(const struct exec *x)
{
    return &x->frame->graph->edges[x->going[x->at]];
}

const struct mortise_edge_policy *mortise_guards_policy(const struct exec *x)
{
    return mortise_guards_edge(x)->policy;
}

const char *mortise_guards_to(const struct exec *x)
{
    const struct mortise_edge *e = mortise_guards_edge(x);

    return e->to == MORTISE_END ? "END" : x->frame->graph->nodes[e->to].id;
}

/* Those of the stage. */
static const struct mortise_guard_list *guards_of(const struct mortise_run *r,
                                                  const struct exec *x)
{
    return x->stage == MORTISE_GUARD_EDGE
               ? &mortise_guards_policy(x)->guards
               : &mortise_exec_node(r, x)->guards[x->stage];
}

const char *mortise_guard_id(const struct mortise_run *r, const struct exec *x)
{
    return guards_of(r, x)->ids[x->guard];
}
