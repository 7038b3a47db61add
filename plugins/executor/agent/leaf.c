/* leaf.c -- leaves: workers who know their goal, and what those came to whom they
 * depend on.
 *
 * Messages, in this order, and nothing else:
 *
 *   system   the role, if there is one, an empty line, and the goal
 *   user     of each predecessor  `Result of ID:`, an empty line, and its output; of
 *            one that gave none    `Result of ID: none, it was STATUS.`
 *            of a team             `Goal of ID:`, an empty line, and its goal
 *   user     the goal
 *
 * Beside its tools a leaf is offered report_result {result}: to call it is to be
 * done, with that as the output.  A result that is not what output_schema asks for is
 * refused, and the model told why.  What else the reply calls is run first; a reply
 * that calls nothing is the output, as of gmi. */
#include "agent.h"

static const char report[] = "report_result";

/* ---- what it is told ---------------------------------------------------------- */

static mortise_status put(struct bytes *to, const char *text)
{
    return bytes_put(to, mortise_strz(text));
}

/* A text is itself, any other value its JSON. */
static mortise_status put_value(struct bytes *to, mortise_jv v)
{
    return mortise_jv_type(v) == MORTISE_JV_STRING
               ? bytes_decode(to, v)
               : bytes_put(to, mortise_strn(v.p, v.n));
}

static mortise_status add_system(struct call *c)
{
    mortise_jv role = mortise_jv_get(c->node, "role");
    struct bytes text = {0};
    mortise_status status = MORTISE_S_OK;

    if (mortise_jv_type(role) != MORTISE_JV_NONE) {
        status = bytes_decode(&text, role);
        if (status == MORTISE_S_OK)
            status = put(&text, "\n\n");
    }
    if (status == MORTISE_S_OK)
        status = put_value(&text, mortise_jv_get(c->node, "goal"));
    if (status == MORTISE_S_OK)
        status = agent_add_text(&c->ahead, "system", bytes_str(&text));
    bytes_free(&text);
    return status;
}

/* HEAD ID TAIL */
static mortise_status put_head(struct bytes *to, const char *head,
                               mortise_jv id, const char *tail)
{
    mortise_status status = put(to, head);

    if (status == MORTISE_S_OK)
        status = bytes_decode(to, id);
    return status == MORTISE_S_OK ? put(to, tail) : status;
}

static mortise_status put_predecessor(struct bytes *to, mortise_jv one)
{
    mortise_jv id = mortise_jv_get(one, "id");
    mortise_jv goal = mortise_jv_get(one, "goal");
    mortise_jv output = mortise_jv_get(one, "output");
    mortise_status status;

    if (mortise_jv_type(goal) != MORTISE_JV_NONE) {
        status = put_head(to, "Goal of ", id, ":\n\n");
        return status == MORTISE_S_OK ? put_value(to, goal) : status;
    }
    if (mortise_jv_type(output) != MORTISE_JV_NONE) {
        status = put_head(to, "Result of ", id, ":\n\n");
        return status == MORTISE_S_OK ? put_value(to, output) : status;
    }
    status = put_head(to, "Result of ", id, ": none, it was ");
    if (status == MORTISE_S_OK)
        status = bytes_decode(to, mortise_jv_get(one, "status"));
    return status == MORTISE_S_OK ? put(to, ".") : status;
}

static mortise_status add_predecessor(struct call *c, mortise_jv one)
{
    struct bytes text = {0};
    mortise_status status = put_predecessor(&text, one);

    if (status == MORTISE_S_OK)
        status = agent_add_text(&c->append, "user", bytes_str(&text));
    bytes_free(&text);
    return status;
}

static mortise_status add_messages(struct call *c, mortise_jv body)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(body, "predecessors"));
    mortise_status status = add_system(c);
    mortise_jv name, one;

    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &one))
        status = add_predecessor(c, one);
    return status == MORTISE_S_OK
               ? agent_add_of(&c->append, "user",
                              mortise_jv_get(c->node, "goal"))
               : status;
}

/* ---- what it is offered -------------------------------------------------------- */

static void write_key(mortise_jw *w, const char *key, const char *text)
{
    mortise_jw_key(w, key);
    mortise_jw_cstr(w, text);
}

static void write_report(const struct call *c, mortise_jw *w)
{
    mortise_jv schema = mortise_jv_get(c->node, "output_schema");

    mortise_jw_object(w);
    write_key(w, "name", report);
    write_key(w, "description",
              "Say that you are done, and what the result is. Nothing of your "
              "work but that is passed on.");
    mortise_jw_key(w, "parameters");
    mortise_jw_object(w);
    write_key(w, "type", "object");
    mortise_jw_key(w, "required");
    mortise_jw_array(w);
    mortise_jw_cstr(w, "result");
    mortise_jw_end(w);
    mortise_jw_key(w, "properties");
    mortise_jw_object(w);
    mortise_jw_key(w, "result");
    if (mortise_jv_type(schema) != MORTISE_JV_NONE) {
        mortise_jw_value(w, schema);
    } else {
        mortise_jw_object(w);
        write_key(w, "type", "string");
        mortise_jw_end(w);
    }
    mortise_jw_end(w);
    mortise_jw_end(w);
    mortise_jw_end(w);
}

/* A tool as models are told of it. */
static void write_tool(mortise_jw *w, mortise_jv tool)
{
    static const char *const members[] = {"name", "description", "parameters"};

    mortise_jw_object(w);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        mortise_jv v = mortise_jv_get(tool, members[i]);

        if (mortise_jv_type(v) == MORTISE_JV_NONE)
            continue;
        mortise_jw_key(w, members[i]);
        mortise_jw_value(w, v);
    }
    mortise_jw_end(w);
}

static mortise_status offer(struct call *c, mortise_jv tools)
{
    mortise_jv_iter it = mortise_jv_each(tools);
    mortise_status status;
    mortise_jv name, one;
    mortise_str json;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_array(&w);
    while (mortise_jv_next(&it, &name, &one))
        write_tool(&w, one);
    write_report(c, &w);
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
        status = offer(c, mortise_jv_get(v, "tools"));
    agent_go_on(c, status);
}

mortise_status agent_begin_leaf(struct call *c, mortise_jv body)
{
    c->reports = 1;
    c->mode = MODE_REACTS;
    return add_messages(c, body);
}

void agent_start_leaf(struct call *c)
{
    mortise_status status;

    if (!c->has_tools) {
        c->has_tools = 1; /* that one */
        agent_go_on(c, offer(c, mortise_jv_none()));
        return;
    }
    status = mortise_tool_list(c->inst->host, c->inst->api, c->id, listed, c);
    if (status != MORTISE_S_PENDING)
        agent_end_as(c, status);
}

/* ---- its report ----------------------------------------------------------------- */

int agent_is_report(const struct call *c, mortise_jv part)
{
    return c->reports &&
           mortise_jv_is(mortise_jv_get(part, "name"), mortise_strz(report));
}

static mortise_status refuse(struct result *r, mortise_str why)
{
    struct bytes words = {0};
    mortise_status status = put(&words, "That is no result: ");

    if (status == MORTISE_S_OK)
        status = bytes_put(&words, why);
    if (status == MORTISE_S_OK)
        status = agent_put_words(r, bytes_str(&words));
    r->is_error = 1;
    bytes_free(&words);
    return status;
}

/* The first that is one counts. */
static mortise_status take(struct result *r)
{
    mortise_jv result =
        mortise_jv_get(mortise_jv_get(r->call, "arguments"), "result");
    mortise_status status = MORTISE_S_OK;

    if (r->of->reported.n == 0)
        status = bytes_put(&r->of->reported, mortise_strn(result.p, result.n));
    return status == MORTISE_S_OK
               ? agent_put_words(r, mortise_strz("It is reported."))
               : status;
}

static mortise_status judge(struct result *r, mortise_str answer)
{
    struct bytes why = {0};
    mortise_jv v;
    mortise_status status = mortise_jv_parse(answer, &v);
    int32_t valid = 0;

    if (status != MORTISE_S_OK)
        return status;
    mortise_jv_bool(mortise_jv_get(v, "valid"), &valid);
    if (valid)
        return take(r);
    status = bytes_decode(&why, mortise_jv_get(v, "reason"));
    if (status == MORTISE_S_OK)
        status = refuse(r, bytes_str(&why));
    bytes_free(&why);
    return status;
}

static void judged(void *ud, mortise_status status, mortise_str answer)
{
    struct result *r = (struct result *)ud;

    if (status == MORTISE_S_INVALID) /* the host's words */
        status = refuse(r, answer);
    else if (status == MORTISE_S_OK)
        status = judge(r, answer);
    agent_result_is_there(r, status);
}

mortise_status agent_report(struct result *r)
{
    struct call *c = r->of;
    mortise_jv schema = mortise_jv_get(c->node, "output_schema");
    mortise_jv result =
        mortise_jv_get(mortise_jv_get(r->call, "arguments"), "result");
    mortise_status status;
    mortise_str body;
    mortise_jw w;

    if (mortise_jv_type(result) == MORTISE_JV_NONE)
        return refuse(r, mortise_strz("report_result takes {result}"));
    if (mortise_jv_type(schema) == MORTISE_JV_NONE)
        return take(r);
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    status = mortise_schema_fits_body(&w, schema, result, &body);
    if (status == MORTISE_S_OK)
        status = mortise_schema_fits(c->inst->host, c->inst->api, c->id, body,
                                     judged, r);
    free(w.p);
    return status;
}
