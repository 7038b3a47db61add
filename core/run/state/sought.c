/* sought.c -- results of the discovery edges of an execution, for the code that
 * follows those edges (core/run/outcome/sought.c looks them up). */
#include "core/run/state/state.h"

/* The discovery edge of the node's outgoing edges that is looked up at that
 * position, from 0; NULL: none. */
static const struct mortise_edge_discovery *
find_discovery_edge(const struct exec *x, size_t place)
{
    const struct mortise_graph *g = x->frame->graph;
    const struct mortise_node *n = &g->nodes[x->node];

    for (uint32_t i = 0; i < n->n_out; i++) {
        const struct mortise_edge *e = &g->edges[n->out[i]];

        if (e->kind == MORTISE_EDGE_FALLBACK && e->discovery->nobody == NULL &&
            place-- == 0)
            return e->discovery;
    }
    return NULL;
}

const struct mortise_edge_discovery *
mortise_exec_get_next_discovery(const struct exec *x)
{
    return find_discovery_edge(x, json_array_size(x->sought));
}

const json_t *mortise_exec_get_discovery(const struct exec *x,
                                         const struct mortise_edge_discovery *d)
{
    const struct mortise_edge_discovery *one;

    for (size_t i = 0; (one = find_discovery_edge(x, i)) != NULL; i++)
        if (one == d)
            return json_array_get(x->sought, i);
    return NULL;
}

const char *
mortise_exec_get_discovered_node(const struct exec *x,
                                 const struct mortise_edge_discovery *d)
{
    const json_t *found = mortise_exec_get_discovery(x, d);
    const json_t *first = json_array_get(json_object_get(found, "results"), 0);

    return json_string_value(json_object_get(first, "id"));
}
