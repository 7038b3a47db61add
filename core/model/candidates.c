/* candidates.c -- the tools of a node, as discovery plugins receive them. */
#include "core/model/graph.h"

#include <string.h>

/* True for an operation in a plugin's manifest; false for a graph, and for a
 * server's tool PLUGIN/SERVER/TOOL. */
static bool is_manifest_operation(const struct mortise_node *tool)
{
    return tool->op != NULL && strchr(tool->operation, '/') == NULL;
}

bool mortise_graph_is_candidate(const struct mortise_graph *tools, uint32_t i,
                                const char *kind)
{
    return strcmp(kind, "extension") == 0
               ? is_manifest_operation(&tools->nodes[i])
               : strcmp(kind, "tool") == 0 || strcmp(kind, "any") == 0;
}

static json_t *make_candidate(const struct mortise_offer *o, const char *kind)
{
    bool extension = strcmp(kind, "extension") == 0;

    return json_pack("{s:s, s:s, s:s, s:s*, s:o}", "id", o->tool, "kind",
                     extension ? kind : "tool", "name", o->name, "description",
                     o->description[0] != '\0' ? o->description : NULL,
                     "input_schema", mortise_json_parse_trusted(o->parameters));
}

json_t *mortise_graph_list_candidates(const struct mortise_graph *tools,
                                      const char *kind)
{
    json_t *list = json_array();

    for (uint32_t i = 0; list != NULL && tools != NULL && i < tools->n_offered;
         i++)
        if (mortise_graph_is_candidate(tools, i, kind) &&
            json_array_append_new(list,
                                  make_candidate(&tools->offers[i], kind)) != 0)
            mortise_json_clear_ref(&list);
    return list;
}
