/* reports.c -- an agent that says itself what came of its work, and how far that is.
 *
 *   (1) To call report_result {result} is to be done, with that as the output.  A
 *       result that is not what output_schema asks for is refused, and the model
 *       told why.  What else the same reply calls is run first; of several results
 *       the first that is one counts.
 *   (2) report_task_progress {progress} is told to who watches the run, and to the
 *       parent of a child.
 *   (3) Of a gmi node with an output_schema (`reports: true`) the output is what it
 *       reports and nothing else: a model that comes to an end without it is told so
 *       once, and the second time the node fails (no_result).  Without a schema what
 *       it says at its end is the output, and so it is of a leaf.
 *   (4) An attempt after the first says which one it is ahead of its first turn, so
 *       that nobody takes it for the one before.
 */
#include "agent.h"

/* ---- what is offered ------------------------------------------------------------ */

static void write_key(mortise_jw *w, const char *key, const char *text)
{
    mortise_jw_key(w, key);
    mortise_jw_cstr(w, text);
}

/* {result}, which is a text unless the node says something else. */
static void write_result_parameters(const struct call *c, mortise_jw *w)
{
    mortise_jv schema = mortise_jv_get(c->node, "output_schema");

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
}

/* ---- results (1) ---------------------------------------------------------------- */

static mortise_status refuse(struct result *r, mortise_str why)
{
    struct bytes words = {0};
    mortise_status status =
        bytes_put(&words, mortise_strz("That is no result: "));

    if (status == MORTISE_S_OK)
        status = bytes_put(&words, why);
    if (status == MORTISE_S_OK)
        status = agent_put_words(r, bytes_str(&words));
    r->is_error = 1;
    bytes_free(&words);
    return status;
}

static mortise_jv result_of(const struct result *r)
{
    return mortise_jv_get(mortise_jv_get(r->call, "arguments"), "result");
}

/* The first that is one counts. */
static mortise_status take(struct result *r, mortise_jv answer)
{
    mortise_jv result = result_of(r);
    mortise_status status = MORTISE_S_OK;

    (void)answer;
    if (r->of->reported.n == 0)
        status = bytes_put(&r->of->reported, mortise_strn(result.p, result.n));
    return status == MORTISE_S_OK
               ? agent_put_words(r, mortise_strz("It is reported."))
               : status;
}

static mortise_status report_result(struct result *r)
{
    mortise_jv schema = mortise_jv_get(r->of->node, "output_schema");
    mortise_jv result = result_of(r);

    if (mortise_jv_type(result) == MORTISE_JV_NONE)
        return refuse(r, mortise_strz("report_result needs {result}"));
    return mortise_jv_type(schema) == MORTISE_JV_NONE
               ? take(r, mortise_jv_none())
               : agent_judge(r, schema, result, take, refuse);
}

/* ---- progress (2) ----------------------------------------------------------------- */

static mortise_status take_progress(struct result *r, mortise_jv answer)
{
    (void)answer;
    return agent_put_words(r, mortise_strz("It is noted."));
}

/* ---- the tools ---------------------------------------------------------------------- */

const struct tool agent_report_tools[AGENT_REPORT_TOOLS] = {
    {.name = "report_result",
     .of = AGENT_REPORTS,
     .description = "Say that you are done, and what the result is. Nothing of "
                    "your work but that is passed on.",
     .write_parameters = write_result_parameters,
     .run = report_result},
    {.name = "report_task_progress",
     .of = AGENT_PROGRESS,
     .description = "Say how far you are, in a sentence or two, to who waits "
                    "for the result. It ends nothing.",
     .parameters =
         "{\"type\":\"object\",\"required\":[\"progress\"],\"properties\":{"
         "\"progress\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4096"
         "}},\"additionalProperties\":false}",
     .method = MORTISE_SPAWN_REPORT_1,
     .take = take_progress}};

/* ---- an end without a report (3) ---------------------------------------------------- */

void agent_take_unreported(struct call *c)
{
    if (c->is_reminded) {
        agent_fail(c, "no_result",
                   mortise_strz("the model ended without calling "
                                "report_result, even after a reminder"));
        return;
    }
    c->is_reminded = 1;
    agent_go_on(c, agent_add_text(
                       &c->append, "user",
                       mortise_strz("You have not called report_result. Call "
                                    "it with the result; without it nothing of "
                                    "your work is passed on.")));
}

/* ---- the attempt (4) ------------------------------------------------------------------ */

static void attempt_is_known(void *ud, mortise_status status,
                             mortise_str answer)
{
    struct call *c = (struct call *)ud;

    if (agent_is_refusal(status))
        agent_fail(c, "task", answer);
    else if (status != MORTISE_S_OK)
        agent_end_as(c, status);
    else
        agent_offer(c);
}

void agent_say_attempt(struct call *c)
{
    mortise_status status;
    mortise_str body;
    char room[64];
    mortise_jw w;

    if (c->attempt == 1 || (c->own & AGENT_PROGRESS) == 0) {
        agent_offer(c);
        return;
    }
    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    write_key(&w, "step", "attempt");
    mortise_jw_key(&w, "attempt");
    mortise_jw_int(&w, c->attempt);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &body);
    if (status == MORTISE_S_OK)
        status = mortise_spawn_report(c->inst->host, c->inst->api, c->id, body,
                                      attempt_is_known, c);
    if (status != MORTISE_S_PENDING)
        agent_end_as(c, status);
}
