/* digest.c -- the digest of a graph file, which identifies the behaviour of the
 * graph.
 *
 * The digest covers every key except the ignored ones (x-...).  Inside `args`,
 * x- keys are data for the plugin, so the digest covers them.
 */
#include "lang/graph/load/files.h"

static bool restore_args(struct mortise_loader *ld, json_t *to,
                         const struct mortise_yaml *graph);

/* Replace the reference to another file by the digest of its content, so that
 * the location of the file does not matter. */
static bool set_file_digest(struct mortise_loader *ld, json_t *to,
                            const struct mortise_yaml *ref)
{
    const struct mortise_graph_file *f = mortise_load_find_file(ld, ref);
    char hex[2 * MORTISE_DIGEST + 1];

    if (f == NULL)
        return false;
    mortise_hex_encode(hex, f->digest, sizeof f->digest);
    return json_object_set_new(to, "graph",
                               json_pack("{s:s}", "digest", hex)) == 0;
}

/* Restore `args` in one node and in the graph inside it. */
static bool restore_node_args(struct mortise_loader *ld, json_t *to,
                              const struct mortise_yaml *node)
{
    const struct mortise_yaml *args = mortise_yaml_get(node, "args"),
                              *inner = mortise_yaml_get(node, "graph");

    if (args != NULL &&
        json_object_set_new(to, "args", mortise_yaml_to_json(args, false)) != 0)
        return false;
    if (inner == NULL)
        return true;
    return mortise_load_is_ref(inner)
               ? set_file_digest(ld, to, inner)
               : restore_args(ld, json_object_get(to, "graph"), inner);
}

/* The conversion to JSON dropped all x- keys.  Put the original `args` back, in
 * which x- keys are data.  The recursion is bounded by the nesting limit of the
 * YAML parser. */
static bool restore_args(struct mortise_loader *ld, json_t *to,
                         const struct mortise_yaml *graph)
{
    const struct mortise_yaml *nodes = mortise_yaml_get(graph, "nodes");
    json_t *map = json_object_get(to, "nodes"), *node;

    for (size_t i = 0; i < nodes->n; i++) {
        node = json_object_get(map, nodes->keys[i]->str);
        if (node != NULL && !restore_node_args(ld, node, nodes->items[i]))
            return false;
    }
    return true;
}

void mortise_load_digest(struct mortise_loader *ld, uint8_t *out,
                         const struct mortise_yaml *tree)
{
    json_t *v = mortise_yaml_to_json(tree, true);

    if (v == NULL || !restore_args(ld, v, tree) ||
        mortise_json_digest(out, v, ld->mem) != MORTISE_OK)
        ld->nomem = true;
    json_decref(v);
}
