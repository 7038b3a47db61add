/* tools.c -- the agent's own tools, which models know beside what the graph lets
 * their node use.
 *
 *   (1) What a model is offered is one list, however it comes about: tool.list's,
 *       those about children (tasks.c), those of who reports (reports.c).  A call by
 *       a name of ours is ours.
 *   (2) Arguments that do not fit the schema that the model was offered get no
 *       further: it is told why.  The host judges them, as it does for any tool.
 *   (3) What the host refuses is the tool's error, in the host's words; with
 *       tool_errors: fail it is the node's, with the code `task`.
 */
#include "agent.h"

#include <stdio.h>

static const struct {
    const struct tool *tools;
    size_t n;
} tables[] = {{agent_task_tools, AGENT_TASK_TOOLS},
              {agent_report_tools, AGENT_REPORT_TOOLS}};

/* The one behind `at`, which is NULL ahead of the first, of those that c offers. */
static const struct tool *next_tool(const struct call *c, const struct tool *at)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        for (size_t k = 0; k < tables[i].n; k++) {
            const struct tool *one = &tables[i].tools[k];

            if (at == NULL && (c->own & one->of) != 0)
                return one;
            if (at == one)
                at = NULL;
        }
    return NULL;
}

/* ---- what is offered (1) ------------------------------------------------------ */

static void write_own(const struct call *c, mortise_jw *w,
                      const struct tool *tool)
{
    mortise_jw_object(w);
    mortise_jw_key(w, "name");
    mortise_jw_cstr(w, tool->name);
    mortise_jw_key(w, "description");
    mortise_jw_cstr(w, tool->description);
    mortise_jw_key(w, "parameters");
    if (tool->parameters != NULL)
        mortise_jw_value(w, mortise_jv_of(mortise_strz(tool->parameters)));
    else
        tool->write_parameters(c, w);
    mortise_jw_end(w);
}

/* A tool of the graph's, as models are told of it. */
static void write_tool(mortise_jw *w, mortise_jv tool)
{
    static const char *const members[] = {"name", "description", "parameters"};

    mortise_jw_object(w);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        agent_write_member(w, members[i], mortise_jv_get(tool, members[i]));
    mortise_jw_end(w);
}

static mortise_status list(struct call *c, mortise_jv tools)
{
    mortise_jv_iter it = mortise_jv_each(tools);
    const struct tool *own = NULL;
    mortise_status status;
    mortise_str json;
    mortise_jv one;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_array(&w);
    while (mortise_jv_next(&it, NULL, &one))
        write_tool(&w, one);
    while ((own = next_tool(c, own)) != NULL)
        write_own(c, &w, own);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = bytes_put(&c->offered, json);
    free(w.p);
    return status;
}

static void listed(void *ud, mortise_status status, mortise_str answer)
{
    struct call *c = (struct call *)ud;
    mortise_jv v;

    if (status == MORTISE_S_OK)
        status = mortise_jv_parse(answer, &v);
    if (status == MORTISE_S_OK)
        status = list(c, mortise_jv_get(v, "tools"));
    agent_go_on(c, status);
}

void agent_offer(struct call *c)
{
    int of_graph = c->has_tools;
    mortise_status status;

    if (c->own == 0) { /* the host has the list, if there is one */
        agent_go_on(c, MORTISE_S_OK);
        return;
    }
    c->has_tools = 1;
    if (!of_graph) {
        agent_go_on(c, list(c, mortise_jv_none()));
        return;
    }
    status = mortise_tool_list(c->inst->host, c->inst->api, c->id, listed, c);
    if (status != MORTISE_S_PENDING)
        agent_end_as(c, status);
}

const struct tool *agent_tool_of(const struct call *c, mortise_jv name)
{
    const struct tool *own = NULL;

    while ((own = next_tool(c, own)) != NULL)
        if (mortise_jv_is(name, mortise_strz(own->name)))
            break;
    return own;
}

/* ---- what goes wrong ------------------------------------------------------------ */

int agent_is_refusal(mortise_status status)
{
    return status == MORTISE_S_DENIED || status == MORTISE_S_INVALID ||
           status == MORTISE_S_UNSUPPORTED;
}

/* (3) */
mortise_status agent_refuse(struct result *r, mortise_str words)
{
    return agent_tool_fail(r, "task", words, words);
}

static mortise_status refuse_arguments(struct result *r, mortise_str why)
{
    struct bytes words = {0};
    mortise_status status = bytes_put(&words, mortise_strz(r->tool->name));

    if (status == MORTISE_S_OK)
        status = bytes_put(&words, mortise_strz(" rejects these arguments: "));
    if (status == MORTISE_S_OK)
        status = bytes_put(&words, why);
    if (status == MORTISE_S_OK)
        status = agent_tool_fail(r, "arguments", bytes_str(&words),
                                 bytes_str(&words));
    bytes_free(&words);
    return status;
}

/* ---- asking the host ------------------------------------------------------------ */

/* A result that was pending is there, unless something else was asked for it. */
static void conclude(struct result *r, mortise_status status)
{
    if (status != MORTISE_S_PENDING)
        agent_result_is_there(r, status);
    else
        agent_result_is_held(r);
}

static void answered(void *ud, mortise_status status, mortise_str answer)
{
    struct result *r = (struct result *)ud;
    mortise_jv v;

    if (agent_is_refusal(status)) {
        conclude(r, r->refuse(r, answer));
        return;
    }
    if (status == MORTISE_S_OK)
        status = mortise_jv_parse(answer, &v);
    conclude(r, status == MORTISE_S_OK ? r->take(r, v) : status);
}

mortise_status agent_ask_host(struct result *r, const char *method,
                              mortise_jw *w, take_fn *take, refuse_fn *refuse)
{
    const struct mortise_inst *i = r->of->inst;
    mortise_str body;
    mortise_status status = mortise_jw_finish(w, &body);

    r->take = take;
    r->refuse = refuse;
    return mortise_ask_made(i->host, i->api, r->of->id, status, method, body,
                            answered, r);
}

void agent_write_step(mortise_jw *w, const struct result *r, const char *part)
{
    char step[AGENT_RESULT_ROOM];

    mortise_jw_key(w, "step");
    mortise_jw_string(w, agent_result_step(step, r, part));
}

/* {valid, reason?} */
static mortise_status take_verdict(struct result *r, mortise_jv answer)
{
    struct bytes why = {0};
    int32_t valid = 0;
    mortise_status status;

    mortise_jv_bool(mortise_jv_get(answer, "valid"), &valid);
    if (valid)
        return r->fits(r, answer);
    status = bytes_decode(&why, mortise_jv_get(answer, "reason"));
    if (status == MORTISE_S_OK)
        status = r->refuse(r, bytes_str(&why));
    bytes_free(&why);
    return status;
}

mortise_status agent_judge(struct result *r, mortise_jv schema,
                           mortise_jv value, take_fn *fits, refuse_fn *refuse)
{
    mortise_status status;
    mortise_str body;
    mortise_jw w;

    r->fits = fits;
    r->take = take_verdict;
    r->refuse = refuse;
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    status = mortise_schema_fits_body(&w, schema, value, &body);
    if (status == MORTISE_S_OK)
        status = mortise_schema_fits(r->of->inst->host, r->of->inst->api,
                                     r->of->id, body, answered, r);
    free(w.p);
    return status;
}

/* The arguments as they are, but that hosts call a task by its handle. */
static mortise_status write_arguments(mortise_jw *w, const struct result *r)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(r->call, "arguments"));
    mortise_status status = MORTISE_S_OK;
    mortise_jv name, one;
    char key[32];

    mortise_jw_object(w);
    agent_write_step(w, r, "");
    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &one)) {
        status = mortise_jv_cstr(name, key, sizeof key);
        mortise_jw_key(w, strcmp(key, "task") == 0 ? "handle" : key);
        mortise_jw_value(w, one);
    }
    mortise_jw_end(w);
    return status;
}

static mortise_status ask_with_arguments(struct result *r)
{
    mortise_status status;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    status = write_arguments(&w, r);
    if (status == MORTISE_S_OK)
        status =
            agent_ask_host(r, r->tool->method, &w, r->tool->take, agent_refuse);
    free(w.p);
    return status;
}

/* ---- running one (2) -------------------------------------------------------------- */

static mortise_status run(struct result *r)
{
    return r->tool->run != NULL ? r->tool->run(r) : ask_with_arguments(r);
}

static mortise_status take_valid(struct result *r, mortise_jv answer)
{
    (void)answer;
    return run(r);
}

mortise_status agent_run_tool(struct result *r)
{
    if (r->tool->parameters == NULL)
        return run(r);
    return agent_judge(r, mortise_jv_of(mortise_strz(r->tool->parameters)),
                       mortise_jv_get(r->call, "arguments"), take_valid,
                       refuse_arguments);
}
