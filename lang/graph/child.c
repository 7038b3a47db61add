/* child.c -- generate the graph of a native child.
 *
 * A child is an agent like its parent: one gmi node with the model, tools,
 * guardrails and limits of the asking node, and with its instructions from the
 * run's input:
 *
 *     nodes: {agent: {type: gmi, prompt: "${input.instructions}", ...,
 *                     reports: true, output_as: result}}
 *
 * If it starts with the parent's messages (`seed`), it also has `messages:
 * "${input.messages}"`.  If the task has schemas for its result or its
 * messages, it also has output_schema and message_schema.
 *
 *   (1) A child may do no more than its parent: keys are copied from the node,
 *       or from the graph around it, and the asker sets none of them.  Settings
 *       that the node gets from a role, or by templates from its graph's state,
 *       are not copied.
 *   (2) People decide in the child where they decide in the parent: hitl_mode
 *       is the stricter of the file's and the enclosing graphs'.  If its budget
 *       is exceeded, the child fails, because the node that `on_exceeded` names
 *       is in the parent's graph.
 *   (3) Equal nodes have equal graphs, since the instructions are input.  So a
 *       thousand children of a node share one graph in the store.
 */
#include "core/engine/language.h"
#include "lang/yaml/tree.h"

static const char *const node_keys[] = {"llm",
                                        "max_internal_iterations",
                                        "temperature",
                                        "max_tokens",
                                        "reasoning_effort",
                                        "cache",
                                        "extra",
                                        "parallel_tools",
                                        "tool_errors",
                                        "tool_allowlist",
                                        "subagents",
                                        "guardrail_policy",
                                        "retry_policy",
                                        "timeout"};
static const char *const graph_keys[] = {"limits", "budget", "defaults",
                                         "memory_consistency"};

#define N(list) (sizeof(list) / sizeof(list)[0])

/* The graph inside `g`, or `g` itself, that contains the node. */
static const struct mortise_graph *
find_enclosing_graph(const struct mortise_graph *g,
                     const struct mortise_node *at)
{
    const struct mortise_graph *found = NULL;

    if (at >= g->nodes && at < g->nodes + g->n_nodes)
        return g;
    for (uint32_t i = 0; found == NULL && i < g->n_nodes; i++) {
        if (g->nodes[i].sub != NULL)
            found = find_enclosing_graph(g->nodes[i].sub, at);
        if (found == NULL && g->nodes[i].tools != NULL)
            found = find_enclosing_graph(g->nodes[i].tools, at);
    }
    return found;
}

static bool copy_graph_keys(json_t *to, const struct mortise_yaml *from,
                            const char *const *keys, size_t n)
{
    bool ok = true;

    for (size_t i = 0; ok && i < n; i++) {
        const struct mortise_yaml *one = mortise_yaml_get(from, keys[i]);

        ok = one == NULL ||
             json_object_set_new(to, keys[i],
                                 mortise_yaml_to_json(one, true)) == 0;
    }
    return ok;
}

/* Add the schemas and messages of the task. */
static bool add_task_to_node(json_t *node, const json_t *task)
{
    static const char *const schemas[][2] = {
        {"result_schema", "output_schema"},
        {"message_schema", "message_schema"}};
    bool ok = true;

    for (size_t i = 0; ok && i < N(schemas); i++) {
        json_t *schema = json_object_get(task, schemas[i][0]);

        ok =
            schema == NULL || json_object_set(node, schemas[i][1], schema) == 0;
    }
    return ok && (json_object_get(task, "seed") == NULL ||
                  json_object_set_new(node, "messages",
                                      json_string("${input.messages}")) == 0);
}

/* (1) */
static json_t *make_child_node(const struct mortise_graph *g,
                               const struct mortise_node *at,
                               const json_t *task)
{
    json_t *node = json_pack("{s:s, s:s, s:b, s:s, s:s}", "type", "gmi",
                             "prompt", "${input.instructions}", "reports", 1,
                             "output_as", "result", "next", "END");
    const struct mortise_yaml *from = mortise_yaml_get(g->nodes_map, at->id);

    if (node != NULL && from != NULL &&
        copy_graph_keys(node, from, node_keys, N(node_keys)) &&
        add_task_to_node(node, task)) {
        if (at->timeout != NULL) /* a template, with names that the child
                                    lacks */
            json_object_del(node, "timeout");
        return node;
    }
    json_decref(node);
    return NULL;
}

/* (2) */
static const char *get_hitl_mode(const struct mortise_graph *g)
{
    return g->approve_tools   ? "approve_tools"
           : g->approve_nodes ? "approve_each_node"
                              : "none";
}

/* (2) */
static bool make_budget_fail(json_t *budget)
{
    return !json_is_object(json_object_get(budget, "on_exceeded")) ||
           json_object_set_new(budget, "on_exceeded", json_string("fail")) == 0;
}

static json_t *make_child_graph(const struct mortise_graph *all,
                                const struct mortise_graph *g,
                                const struct mortise_node *at, const char *name,
                                const json_t *task)
{
    json_t *out =
        json_pack("{s:s, s:s, s:{s:s}, s:s, s:s, s:{s:o}}", "apiVersion",
                  "mortise/v1", "kind", "Graph", "metadata", "name", name,
                  "hitl_mode", get_hitl_mode(g), "start", "agent", "nodes",
                  "agent", make_child_node(g, at, task));

    if (out != NULL &&
        copy_graph_keys(out, all->tree, graph_keys, N(graph_keys)) &&
        make_budget_fail(json_object_get(out, "budget")))
        return out;
    json_decref(out);
    return NULL;
}

int mortise_graph_write_child(struct mortise_buf *text,
                              const struct mortise_graph *g,
                              const struct mortise_node *at, const char *name,
                              const json_t *task, struct mortise_err *err)
{
    const struct mortise_graph *inner = find_enclosing_graph(g, at);
    json_t *graph =
        inner != NULL ? make_child_graph(g, inner, at, name, task) : NULL;
    int rv = graph != NULL ? mortise_json_write_canonical(text, graph)
                           : mortise_nomem(err);

    json_decref(graph);
    return rv == MORTISE_OK && text->failed ? mortise_nomem(err) : rv;
}
