/* digest.c -- the digest of a graph's file, which names what the graph does: it
 * covers all but the keys that are ignored (x-...).  Inside `args` there are
 * none such: there an x- key is data, which the plugin sees.
 */
#include "lang/graph/load/files.h"

static bool restore(struct mortise_loader *ld, json_t *to,
                    const struct mortise_yaml *graph);

/* Another file's graph is named by its content, wherever it stands. */
static bool restore_file(struct mortise_loader *ld, json_t *to,
                         const struct mortise_yaml *ref)
{
    const struct mortise_graph_file *f = mortise_load_known_file(ld, ref);
    char hex[2 * MORTISE_DIGEST + 1];

    if (f == NULL)
        return false;
    mortise_hex(hex, f->digest, sizeof f->digest);
    return json_object_set_new(to, "graph",
                               json_pack("{s:s}", "digest", hex)) == 0;
}

/* One node's, and those of a graph inside it. */
static bool restore_node(struct mortise_loader *ld, json_t *to,
                         const struct mortise_yaml *node)
{
    const struct mortise_yaml *args = mortise_yaml_get(node, "args"),
                              *inner = mortise_yaml_get(node, "graph");

    if (args != NULL &&
        json_object_set_new(to, "args", mortise_yaml_json(args, false)) != 0)
        return false;
    if (inner == NULL)
        return true;
    return mortise_load_is_ref(inner)
               ? restore_file(ld, to, inner)
               : restore(ld, json_object_get(to, "graph"), inner);
}

/* x- keys are gone, but what stands in args is data (5).  Inner graphs are as
 * deep in each other as YAML allows. */
static bool restore(struct mortise_loader *ld, json_t *to,
                    const struct mortise_yaml *graph)
{
    const struct mortise_yaml *nodes = mortise_yaml_get(graph, "nodes");
    json_t *map = json_object_get(to, "nodes"), *node;

    for (size_t i = 0; i < nodes->n; i++) {
        node = json_object_get(map, nodes->keys[i]->str);
        if (node != NULL && !restore_node(ld, node, nodes->items[i]))
            return false;
    }
    return true;
}

void mortise_load_digest(struct mortise_loader *ld, uint8_t *out,
                         const struct mortise_yaml *tree)
{
    json_t *v = mortise_yaml_json(tree, true);

    if (v == NULL || !restore(ld, v, tree) ||
        mortise_json_digest(out, v, ld->mem) != MORTISE_OK)
        ld->nomem = true;
    json_decref(v);
}
