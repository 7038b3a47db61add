/* compare.c -- are nodes of two graphs written equally? */
#include "core/model/compare.h"
#include "lang/yaml/tree.h"

static json_t *make_node_json(const struct mortise_graph *g,
                              const struct mortise_node *n)
{
    return mortise_yaml_to_json(mortise_yaml_get(g->nodes_map, n->id), true);
}

int mortise_graph_compare_nodes(const struct mortise_graph *a,
                                const struct mortise_node *n,
                                const struct mortise_graph *b,
                                const struct mortise_node *m, bool shell,
                                bool *same, struct mortise_err *err)
{
    json_t *one = make_node_json(a, n), *two = make_node_json(b, m);
    int rv = one != NULL && two != NULL ? MORTISE_OK : mortise_nomem(err);

    if (rv == MORTISE_OK && shell) {
        json_object_del(one, "graph");
        json_object_del(two, "graph");
    }
    *same = rv == MORTISE_OK && json_equal(one, two) != 0;
    json_decref(one);
    json_decref(two);
    return rv;
}
