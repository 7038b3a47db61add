/* child_graph.c -- the graph of a native child.
 *
 * A child is an agent of the same kind as who makes it: one node of type gmi, with
 * the model, the tools, the guardrails and the bounds that the asking node's file
 * says, told what to do by its run's input:
 *
 *     nodes: {agent: {type: gmi, prompt: "${input.instructions}", ...,
 *                     reports: true, output_as: result}}
 *
 * Where it begins with what its parent was told (`seed`) it has `messages:
 * "${input.messages}"` besides; where the task says what its result is to be, and
 * what it may be told, output_schema and message_schema.
 *
 *   (1) It may do no more than who makes it: keys are copied from the node, or from
 *       the graph around it, and none is the asker's to say.  What the node has by
 *       a role, or by its graph's state (a template), its child has not.
 *   (2) People decide there what they decide here: hitl_mode is the stricter of
 *       what the file says and what graphs around it do.
 *       What its budget would lead to is a node of the maker's: the child fails.
 *   (3) Equal nodes have equal graphs: what is the child's own, its instructions, is
 *       input.  So a thousand children of a node share one graph in the store. */
#include <stdio.h>
#include <string.h>

#include "core/engine/runs/children.h"

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

/* The graph, among those inside `g`, whose node that is. */
static const struct mortise_graph *around(const struct mortise_graph *g,
                                          const struct mortise_node *at)
{
    const struct mortise_graph *found = NULL;

    if (at >= g->nodes && at < g->nodes + g->n_nodes)
        return g;
    for (uint32_t i = 0; found == NULL && i < g->n_nodes; i++) {
        if (g->nodes[i].sub != NULL)
            found = around(g->nodes[i].sub, at);
        if (found == NULL && g->nodes[i].tools != NULL)
            found = around(g->nodes[i].tools, at);
    }
    return found;
}

static bool copy(json_t *to, const struct mortise_yaml *from,
                 const char *const *keys, size_t n)
{
    bool ok = true;

    for (size_t i = 0; ok && i < n; i++) {
        const struct mortise_yaml *one = mortise_yaml_get(from, keys[i]);

        ok = one == NULL || json_object_set_new(
                                to, keys[i], mortise_yaml_json(one, true)) == 0;
    }
    return ok;
}

/* What the task says of it. */
static bool put_task(json_t *node, const json_t *task)
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
static json_t *node_of(const struct mortise_graph *g,
                       const struct mortise_node *at, const json_t *task)
{
    json_t *node = json_pack("{s:s, s:s, s:b, s:s, s:s}", "type", "gmi",
                             "prompt", "${input.instructions}", "reports", 1,
                             "output_as", "result", "next", "END");
    const struct mortise_yaml *from = mortise_yaml_get(g->nodes_map, at->id);

    if (node != NULL && from != NULL &&
        copy(node, from, node_keys, N(node_keys)) && put_task(node, task)) {
        if (at->timeout != NULL) /* a template, of names that it lacks */
            json_object_del(node, "timeout");
        return node;
    }
    json_decref(node);
    return NULL;
}

/* (2) */
static const char *mode_of(const struct mortise_graph *g)
{
    return g->approve_tools   ? "approve_tools"
           : g->approve_nodes ? "approve_each_node"
                              : "none";
}

/* (1) */
static bool lead_nowhere(json_t *budget)
{
    return !json_is_object(json_object_get(budget, "on_exceeded")) ||
           json_object_set_new(budget, "on_exceeded", json_string("fail")) == 0;
}

static json_t *graph_of(const struct mortise_graph *all,
                        const struct mortise_graph *g,
                        const struct mortise_node *at, const char *name,
                        const json_t *task)
{
    json_t *out = json_pack(
        "{s:s, s:s, s:{s:s}, s:s, s:s, s:{s:o}}", "apiVersion", "mortise/v1",
        "kind", "Graph", "metadata", "name", name, "hitl_mode", mode_of(g),
        "start", "agent", "nodes", "agent", node_of(g, at, task));

    if (out != NULL && copy(out, all->tree, graph_keys, N(graph_keys)) &&
        lead_nowhere(json_object_get(out, "budget")))
        return out;
    json_decref(out);
    return NULL;
}

static int compile(struct mortise_live *live, const char *path,
                   const struct mortise_buf *text, struct mortise_graph **out,
                   struct mortise_err *err)
{
    struct mortise_source file = {path, text->p, text->n};
    struct mortise_buf report;
    int rv;

    mortise_buf_init(&report, live->m->mem);
    rv = mortise_graphs_derive(live->m, live->graph, &file, out, &report, err);
    if (rv == MORTISE_ECHECK && mortise_buf_cstr(&report) != NULL)
        mortise_fail(err, rv,
                     "the graph of a child of this node is not valid:\n%.400s",
                     report.p);
    mortise_buf_finish(&report);
    return rv;
}

int mortise_child_graph(struct mortise_live *live,
                        const struct mortise_node *at, const char *name,
                        const json_t *task, struct mortise_graph **out,
                        struct mortise_err *err)
{
    const struct mortise_graph *g = around(live->graph, at);
    json_t *graph = g != NULL ? graph_of(live->graph, g, at, name, task) : NULL;
    struct mortise_buf text, path;
    int rv;

    *out = NULL;
    mortise_buf_init(&text, live->m->mem);
    mortise_buf_init(&path, live->m->mem);
    mortise_buf_printf(&path, "%s#%s", live->graph->sources[0].path, at->id);
    rv = graph != NULL ? mortise_json_canonical(&text, graph)
                       : mortise_nomem(err);
    json_decref(graph);
    if (rv == MORTISE_OK && (mortise_buf_cstr(&path) == NULL || text.failed))
        rv = mortise_nomem(err);
    if (rv == MORTISE_OK)
        rv = compile(live, path.p, &text, out, err);
    mortise_buf_finish(&path);
    mortise_buf_finish(&text);
    return rv;
}
