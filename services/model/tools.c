/* tools.c -- tool.list/1 and tool.invoke/1: the tools that a node may use.
 *
 *   tool.list/1    {}
 *   tool.invoke/1  {tool, arguments, tool_use_id?}, {planner: true, arguments}
 *
 * The list contains the tools that the graph allows (lang/graph/load/tools.c),
 * less those that discovery filtered out (core/run/outcome/discover.c).  It is
 * {tools: [{name, tool?, effect?, description?, parameters}]}: the fields for
 * the model, and the tool's real name and effect.  An entry without `tool` is a
 * handoff to a node.
 *
 * The run executes a tool as an execution of its own (core/run/flow/tools.c).
 * The answer is {output}, or {text, cut: {bytes, of}} if the output was too
 * long, {goto} for a handoff, or {error: {code, class, message}}.
 * `tool_use_id` is the model's id of the call; it is only displayed.  `planner`
 * calls the node's own planner (planner_controlled), which is not in the list.
 */
#include "core/engine/runs/call.h"

#include <string.h>

#include "services/model/methods.h"
#include "services/secrets/body.h"
#include "services/model/turns.h"

/* ---- list --------------------------------------------------------------- */

static int32_t check_tool_list(struct mortise_asked *a, char *words)
{
    return json_object_size(a->body) == 0
               ? MORTISE_S_OK
               : mortise_ask_format_error(words, MORTISE_S_INVALID,
                                          "a request of %s must be {}",
                                          a->method_name);
}

/* Put the real name and the effect of the i-th offered tool. */
static int put_tool_details(json_t *to, const struct mortise_graph *tools,
                            size_t i)
{
    if (i >= tools->n_offered)
        return 0;
    if (json_object_set_new(to, "tool", json_string(tools->offers[i].tool)))
        return -1;
    return tools->nodes[i].op == NULL
               ? 0
               : json_object_set_new(
                     to, "effect",
                     json_string(mortise_effect_name(tools->nodes[i].effect)));
}

/* Is the i-th tool offered to the caller, after discovery? */
static bool is_tool_offered(const struct mortise_asked *a,
                            const struct mortise_graph *tools, size_t i)
{
    const struct mortise_plugin_call *c = a->call;

    return i >= tools->n_offered || c->live == NULL || c->live->run == NULL ||
           mortise_run_is_tool_offered(c->live->run, a->run_call,
                                       tools->offers[i].tool);
}

/* Encode the list for models, with the details of each tool if `whole`.  NULL:
 * memory ran out. */
static json_t *encode_tool_list(const struct mortise_asked *a, bool whole)
{
    const struct mortise_graph *tools = a->call->node->tools;
    json_t *all = tools != NULL ? mortise_json_parse_trusted(tools->offered)
                                : json_array();
    json_t *list = json_array();
    int rv = all != NULL && list != NULL ? 0 : -1;

    MORTISE_JSON_EACH (one, i, all) {
        if (rv == 0 && whole)
            rv = put_tool_details(mortise_json_unconst(one), tools, i);
        if (rv == 0 && is_tool_offered(a, tools, i))
            rv = json_array_append(list, mortise_json_unconst(one));
    }
    json_decref(all);
    if (rv == 0)
        return list;
    json_decref(list);
    return NULL;
}

int mortise_tools_write(const struct mortise_asked *a, struct mortise_buf *text)
{
    const struct mortise_live *live = a->call->live;
    json_t *list;
    int rv;

    if (live == NULL || live->run == NULL ||
        !mortise_run_has_excluded_tools(live->run, a->run_call)) {
        mortise_buf_puts(text, a->call->node->tools->offered);
        return MORTISE_OK;
    }
    list = encode_tool_list(a, false);
    rv = list != NULL ? mortise_json_write(text, list) : MORTISE_ENOMEM;
    json_decref(list);
    return rv;
}

static void start_tool_list(struct mortise_asked *a)
{
    json_t *out = json_pack("{s:o}", "tools", encode_tool_list(a, true));

    mortise_host_call_answer(a, out != NULL ? MORTISE_S_OK : MORTISE_S_NOMEM,
                             out, out != NULL ? "" : "out of memory");
}

const struct mortise_host_call_method mortise_host_call_tool_list = {
    .effect = MORTISE_HOST_CALL_CHEAP_READ,
    .check = check_tool_list,
    .start = start_tool_list,
};

/* ---- invocation --------------------------------------------------------- */

static int32_t check_tool_invoke(struct mortise_asked *a, char *words)
{
    json_t *body = mortise_json_unconst(a->body);
    const json_t *id = json_object_get(body, "tool_use_id");
    bool plans = json_is_true(json_object_get(body, "planner"));

    if ((!plans && !mortise_body_is_text(json_object_get(body, "tool"))) ||
        !json_is_object(json_object_get(body, "arguments")) ||
        (id != NULL && !mortise_body_is_text(id)) ||
        json_object_size(body) != 2 + (size_t)(id != NULL))
        return mortise_ask_format_error(
            words, MORTISE_S_INVALID,
            "a request of %s must be {tool, arguments, tool_use_id?}",
            a->method_name);
    if (plans && mortise_graph_find_planner(a->call->node->tools) == NULL)
        return mortise_ask_format_error(words, MORTISE_S_DENIED,
                                        "the node has no planner");
    if (a->call->node->tools == NULL)
        return mortise_ask_format_error(words, MORTISE_S_DENIED,
                                        "the node has no tools");
    if (id != NULL &&
        mortise_turns_mark_invoked(a, json_string_value(id)) != MORTISE_OK)
        return mortise_ask_format_error(words, MORTISE_S_NOMEM,
                                        "out of memory");
    a->alias = json_incref(mortise_json_unconst(id));
    json_object_del(body, "tool_use_id"); /* not its identity */
    return MORTISE_S_OK;
}

const struct mortise_host_call_method mortise_host_call_tool_invoke = {
    .effect = MORTISE_HOST_CALL_TOOL,
    .check = check_tool_invoke,
};
