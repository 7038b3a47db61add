/* plan.c -- planner_controlled: who says whether there is more to be done.
 *
 * When the model has come to an end, without calling tools, the planner hears
 *
 *     {prompt, reply, turn, left}
 *
 * and says {done, message?}: the reply is the output, or the model goes on with
 * that message ("Go on." unless it is there).  It is an operation, run like a
 * tool of the node that models are not offered; or a model, asked about what was
 * said, of which the other one hears nothing.
 */
#include "agent.h"

/* ---- what it says ------------------------------------------------------------ */

static void fail(struct call *c)
{
    agent_fail(
        c, "planner",
        mortise_strz(
            "the planner did not return {done: true or false, message?}"));
}

/* Takes the call. */
static void take_plan(struct call *c, mortise_jv plan)
{
    mortise_jv message = mortise_jv_get(plan, "message");
    mortise_status status;
    int32_t done;

    if (mortise_jv_bool(mortise_jv_get(plan, "done"), &done) != MORTISE_S_OK) {
        fail(c);
        return;
    }
    if (done) {
        agent_succeed(c);
        return;
    }
    if (mortise_jv_type(message) == MORTISE_JV_NONE)
        status = agent_add_text(&c->append, "user", mortise_strz("Go on."));
    else
        status = agent_add_of(&c->append, "user", message);
    agent_go_on(c, status);
}

/* Of an operation: {output}; of a model: {json}. */
static void answered(void *ud, mortise_status status, mortise_str answer)
{
    struct call *c = (struct call *)ud;
    mortise_jv v, error, plan;

    if (status == MORTISE_S_INVALID || status == MORTISE_S_NOTFOUND) {
        agent_fail(c, "planner", answer);
        return;
    }
    if (status == MORTISE_S_OK)
        status = mortise_jv_parse(answer, &v);
    if (status != MORTISE_S_OK) {
        agent_end_as(c, status);
        return;
    }
    error = mortise_jv_get(v, "error");
    plan = mortise_jv_get(v, "json");
    if (mortise_jv_type(plan) == MORTISE_JV_NONE)
        plan = mortise_jv_get(v, "output");
    if (mortise_jv_type(error) != MORTISE_JV_NONE)
        agent_fail_as(c, error);
    else
        take_plan(c, plan);
}

/* ---- asking ------------------------------------------------------------------- */

static void write_seen(const struct call *c, mortise_jw *w)
{
    mortise_jv json;

    json.p = c->output.p;
    json.n = c->output.n;
    mortise_jw_object(w);
    agent_write_member(w, "prompt", mortise_jv_get(c->node, "prompt"));
    if (c->is_json) {
        agent_write_member(w, "reply", json);
    } else {
        mortise_jw_key(w, "reply");
        mortise_jw_string(w, bytes_str(&c->last));
    }
    mortise_jw_key(w, "turn");
    mortise_jw_int(w, c->n_turns);
    mortise_jw_key(w, "left");
    mortise_jw_int(w, c->left);
    mortise_jw_end(w);
}

static void write_step(const struct call *c, mortise_jw *w)
{
    char room[AGENT_STEP_ROOM];

    mortise_jw_key(w, "step");
    mortise_jw_string(w, agent_step(room, "p", c->after));
}

static mortise_status ask_operation(struct call *c, mortise_jw *w)
{
    mortise_status status;
    mortise_str body;

    mortise_jw_object(w);
    write_step(c, w);
    mortise_jw_key(w, "planner");
    mortise_jw_bool(w, 1);
    mortise_jw_key(w, "arguments");
    write_seen(c, w);
    mortise_jw_end(w);
    status = mortise_jw_finish(w, &body);
    return status == MORTISE_S_OK
               ? mortise_tool_invoke(c->inst->host, c->inst->api, c->id, body,
                                     answered, c)
               : status;
}

static const char question[] =
    "Is what was asked for done?  Reply {\"done\": true} if it is; otherwise "
    "{\"done\": false, \"message\": what is to be done next}.";
static const char schema[] =
    "{\"type\":\"object\",\"required\":[\"done\"],\"properties\":{\"done\":"
    "{\"type\":\"boolean\"},\"message\":{\"type\":\"string\"}},"
    "\"additionalProperties\":false}";

static mortise_status ask_model(struct call *c, mortise_jv alias, mortise_jw *w)
{
    struct bytes list = {0};
    mortise_status status =
        agent_add_text(&list, "user", mortise_strz(question));
    char room[AGENT_STEP_ROOM];
    mortise_jv v, shape;
    mortise_str body;

    v.p = list.p;
    v.n = list.n;
    if (status == MORTISE_S_OK)
        status = mortise_jv_parse(mortise_strz(schema), &shape);
    if (status == MORTISE_S_OK) {
        mortise_jw_object(w);
        write_step(c, w);
        agent_write_member(w, "alias", alias);
        mortise_jw_key(w, "after");
        mortise_jw_string(w, agent_step(room, "m", c->after));
        agent_write_member(w, "append", v);
        mortise_jw_key(w, "response");
        mortise_jw_object(w);
        agent_write_member(w, "schema", shape);
        mortise_jw_end(w);
        mortise_jw_end(w);
        status = mortise_jw_finish(w, &body);
    }
    if (status == MORTISE_S_OK)
        status = mortise_model_call(c->inst->host, c->inst->api, c->id, body,
                                    answered, c);
    bytes_free(&list);
    return status;
}

void agent_plan(struct call *c)
{
    mortise_jv planner = mortise_jv_get(c->node, "planner");
    mortise_jv alias = mortise_jv_get(planner, "alias");
    mortise_status status;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    status = mortise_jv_type(alias) == MORTISE_JV_NONE
                 ? ask_operation(c, &w)
                 : ask_model(c, alias, &w);
    free(w.p);
    if (status != MORTISE_S_PENDING)
        agent_end_as(c, status);
}
