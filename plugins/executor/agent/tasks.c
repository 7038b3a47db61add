/* tasks.c -- an agent that has agents: the tools with which a model starts children,
 * hears of them, tells them something, waits for them and calls them off.
 *
 * A child is a run of its own (<mortise/ask.h>, spawn.claim/1 and what follows it).
 * A task is what one of them is to do; models call it by the child's handle.
 *
 *   spawn_agent   claim, start; in the foreground also what wait_task does
 *   wait_task     await, and then what get_task asks: how it ended
 *   get_task, list_tasks, message_task, cancel_task    one ask each
 *
 *   (1) The same call of the same reply has the same child, however often the node
 *       is entered again.  A later attempt, whose model may call something else
 *       there, finds the child of the earlier one where it is the same task, and has
 *       another where it is not: t3.1, t3.1~2 ... t3.1~9.
 *   (2) Each ask has a name of its own, of the reply and the place of the call in
 *       it, so tools that run side by side may ask in any order.
 *   (3) A result is one text, JSON.  A child that did not succeed is an error of the
 *       tool that waited for it; with tool_errors: fail it is the node's
 *       (task_failed), in the child's words.
 */
#include "agent.h"

#include <stdio.h>

enum { CLAIMS = 9 };

static mortise_jv argument(const struct result *r, const char *name)
{
    return mortise_jv_get(mortise_jv_get(r->call, "arguments"), name);
}

static int is_argument(const struct result *r, const char *name,
                       const char *word)
{
    return mortise_jv_is(argument(r, name), mortise_strz(word));
}

/* ---- results (3) ------------------------------------------------------------------ */

static mortise_status put_value(struct result *r, mortise_jv v)
{
    return agent_put_words(r, mortise_strn(v.p, v.n));
}

/* Of {handle, name, state}. */
static mortise_status put_task(struct result *r, mortise_jv answer)
{
    mortise_status status;
    mortise_str json;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    agent_write_member(&w, "task", mortise_jv_get(answer, "handle"));
    agent_write_member(&w, "name", mortise_jv_get(answer, "name"));
    agent_write_member(&w, "state", mortise_jv_get(answer, "state"));
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = agent_put_words(r, json);
    free(w.p);
    return status;
}

/* The one that was asked for by its handle. */
static mortise_jv only_task(mortise_jv answer)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(answer, "tasks"));
    mortise_jv one = mortise_jv_none();

    mortise_jv_next(&it, NULL, &one);
    return one;
}

static mortise_status put_only_task(struct result *r, mortise_jv answer)
{
    return put_value(r, only_task(answer));
}

/* "NAME failed: CODE: words" */
static mortise_status describe_end(struct bytes *to, mortise_jv task)
{
    mortise_jv error = mortise_jv_get(task, "error");
    const mortise_jv parts[] = {
        mortise_jv_get(task, "name"), mortise_jv_get(task, "state"),
        mortise_jv_get(error, "code"), mortise_jv_get(error, "message")};
    static const char *const ahead[] = {"", ": ", ": ", ": "};
    mortise_status status = MORTISE_S_OK;

    for (size_t i = 0;
         status == MORTISE_S_OK && i < sizeof parts / sizeof parts[0]; i++) {
        if (mortise_jv_type(parts[i]) != MORTISE_JV_STRING)
            continue;
        status = bytes_put(to, mortise_strz(ahead[i]));
        if (status == MORTISE_S_OK)
            status = bytes_decode(to, parts[i]);
    }
    return status;
}

static void write_error(mortise_jw *w, mortise_jv error)
{
    if (mortise_jv_type(error) == MORTISE_JV_NONE)
        return;
    mortise_jw_key(w, "error");
    mortise_jw_object(w);
    agent_write_member(w, "code", mortise_jv_get(error, "code"));
    agent_write_member(w, "message", mortise_jv_get(error, "message"));
    mortise_jw_end(w);
}

static mortise_status put_failed(struct result *r, mortise_jv task,
                                 mortise_str json)
{
    struct bytes words = {0};
    mortise_status status = describe_end(&words, task);

    if (status == MORTISE_S_OK)
        status = agent_tool_fail(r, "task_failed", bytes_str(&words), json);
    bytes_free(&words);
    return status;
}

/* It is over. */
static mortise_status put_end(struct result *r, mortise_jv answer)
{
    mortise_jv task = only_task(answer), state = mortise_jv_get(task, "state");
    mortise_status status;
    mortise_str json;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    agent_write_member(&w, "task", mortise_jv_get(task, "task"));
    agent_write_member(&w, "name", mortise_jv_get(task, "name"));
    agent_write_member(&w, "state", state);
    agent_write_member(&w, "result", mortise_jv_get(task, "result"));
    write_error(&w, mortise_jv_get(task, "error"));
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = mortise_jv_is(state, mortise_strz("succeeded"))
                     ? agent_put_words(r, json)
                     : put_failed(r, task, json);
    free(w.p);
    return status;
}

/* ---- waiting ------------------------------------------------------------------------ */

/* {step, handle}: of r's own child, or of the task that is named. */
static mortise_status ask_of(struct result *r, const char *method,
                             const char *part, take_fn *take)
{
    mortise_jv handle = r->handle.n > 0 ? mortise_jv_of(bytes_str(&r->handle))
                                        : argument(r, "task");
    mortise_status status;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    agent_write_step(&w, r, part);
    agent_write_member(&w, "handle", handle);
    mortise_jw_end(&w);
    status = agent_ask_host(r, method, &w, take, agent_refuse);
    free(w.p);
    return status;
}

static mortise_status ask_end(struct result *r, mortise_jv answer)
{
    (void)answer; /* the list tells all kinds of children in one way */
    return ask_of(r, MORTISE_SPAWN_LIST_1, ".end", put_end);
}

static mortise_status await(struct result *r)
{
    return ask_of(r, MORTISE_SPAWN_AWAIT_1, ".wait", ask_end);
}

static mortise_status wait_for(struct result *r)
{
    return agent_hold(r, await);
}

/* ---- starting ------------------------------------------------------------------------ */

static void write_task(mortise_jw *w, const struct result *r)
{
    char room[AGENT_STEP_ROOM];

    mortise_jw_key(w, "task");
    mortise_jw_object(w);
    agent_write_member(w, "instructions", argument(r, "instructions"));
    agent_write_member(w, "result_schema", argument(r, "result_schema"));
    agent_write_member(w, "message_schema", argument(r, "message_schema"));
    if (is_argument(r, "seed", "fork")) {
        mortise_jw_key(w, "seed");
        mortise_jw_string(w, agent_step(room, "m", r->of->after));
    }
    mortise_jw_end(w);
}

/* The child is there, or was: it is at work, or over. */
static mortise_status take_started(struct result *r, mortise_jv answer)
{
    if (!is_argument(r, "mode", "background"))
        return wait_for(r);
    if (mortise_jv_type(mortise_jv_get(answer, "terminal_status")) !=
        MORTISE_JV_NONE)
        return ask_end(r, answer);
    return put_task(r, answer);
}

static mortise_status start(struct result *r, mortise_jv claimed)
{
    mortise_status status;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    agent_write_step(&w, r, ".start");
    agent_write_member(&w, "handle", mortise_jv_get(claimed, "handle"));
    agent_write_member(&w, "token", mortise_jv_get(claimed, "token"));
    write_task(&w, r);
    mortise_jw_end(&w);
    status = agent_ask_host(r, MORTISE_SPAWN_START_1, &w, take_started,
                            agent_refuse);
    free(w.p);
    return status;
}

static mortise_status take_claimed(struct result *r, mortise_jv answer)
{
    mortise_jv handle = mortise_jv_get(answer, "handle");
    mortise_status status =
        bytes_put(&r->handle, mortise_strn(handle.p, handle.n));

    if (status != MORTISE_S_OK)
        return status;
    return mortise_jv_is(mortise_jv_get(answer, "outcome"),
                         mortise_strz("already_settled"))
               ? take_started(r, answer)
               : start(r, answer);
}

/* (1) */
static mortise_status claim(struct result *r);

static mortise_status refuse_claim(struct result *r, mortise_str words)
{
    static const char another[] = "E_DETERMINISM:";
    int is_of_another = words.n >= sizeof another - 1 &&
                        memcmp(words.p, another, sizeof another - 1) == 0;

    return is_of_another && r->claims < CLAIMS ? claim(r)
                                               : agent_refuse(r, words);
}

static mortise_status claim(struct result *r)
{
    char part[16] = "", call[AGENT_RESULT_ROOM];
    mortise_status status;
    mortise_jw w;

    if (++r->claims > 1)
        snprintf(part, sizeof part, "~%d", r->claims);
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    agent_write_step(&w, r, part);
    mortise_jw_key(&w, "call");
    mortise_jw_string(&w, agent_result_step(call, r, part));
    agent_write_member(&w, "name", argument(r, "name"));
    mortise_jw_key(&w, "native");
    mortise_jw_bool(&w, 1);
    mortise_jw_key(&w, "detached");
    mortise_jw_bool(&w, is_argument(r, "lifetime", "detached"));
    write_task(&w, r);
    mortise_jw_end(&w);
    status = agent_ask_host(r, MORTISE_SPAWN_CLAIM_1, &w, take_claimed,
                            refuse_claim);
    free(w.p);
    return status;
}

/* ---- the tools ---------------------------------------------------------------------- */

#define ARGUMENTS(required, properties)                                        \
    "{\"type\":\"object\",\"required\":[" required                             \
    "],\"properties\":{" properties "},\"additionalProperties\":false}"
#define TASK                                                                   \
    "\"task\":{\"type\":\"string\",\"minLength\":1,\"description\":\"The "     \
    "task, as spawn_agent or list_tasks calls it\"}"
#define ATTEMPT                                                                \
    "\"attempt\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"Only "  \
    "if the task is at this attempt\"}"

const struct tool agent_task_tools[AGENT_TASK_TOOLS] = {
    {.name = "spawn_agent",
     .of = AGENT_TASKS,
     .description =
         "Have another agent, with your model and tools, do a task. It knows "
         "its instructions and nothing else, unless seed is fork. In the "
         "foreground (the default) you wait and get what came of it; in the "
         "background you go on at once, with its task, for wait_task. What is "
         "in the background ends when you do, unless its lifetime is "
         "detached.",
     .parameters = ARGUMENTS(
         "\"name\",\"instructions\"",
         "\"name\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":128,"
         "\"description\":\"What to call it, for people\"},"
         "\"instructions\":{\"type\":\"string\",\"minLength\":1,"
         "\"description\":\"What it is to do, with all that it needs to "
         "know\"},"
         "\"mode\":{\"enum\":[\"background\",\"foreground\"],\"default\":"
         "\"foreground\"},"
         "\"lifetime\":{\"enum\":[\"linked\",\"detached\"],\"default\":"
         "\"linked\"},"
         "\"seed\":{\"enum\":[\"fresh\",\"fork\"],\"default\":\"fresh\","
         "\"description\":\"fork: it begins with all that you were told so "
         "far\"},"
         "\"result_schema\":{\"type\":\"object\",\"description\":\"A JSON "
         "Schema: what its result is to be\"},"
         "\"message_schema\":{\"type\":\"object\",\"description\":\"A JSON "
         "Schema: what it may be told by message_task\"}"),
     .run = claim},
    {.name = "list_tasks",
     .of = AGENT_TASKS,
     .description = "The tasks that you gave to agents, and how each stands.",
     .parameters = ARGUMENTS("", ""),
     .method = MORTISE_SPAWN_LIST_1,
     .take = put_value},
    {.name = "get_task",
     .of = AGENT_TASKS,
     .description =
         "How a task stands now: its state, its progress, and what came of it "
         "once it is over. To wait for that call wait_task.",
     .parameters = ARGUMENTS("\"task\"", TASK),
     .method = MORTISE_SPAWN_LIST_1,
     .take = put_only_task},
    {.name = "wait_task",
     .of = AGENT_TASKS,
     .description = "Wait until a task is over, and get what came of it.",
     .parameters = ARGUMENTS("\"task\"", TASK),
     .run = wait_for},
    {.name = "message_task",
     .of = AGENT_TASKS,
     .description = "Tell the agent of a task something while it works.",
     .parameters =
         ARGUMENTS("\"task\",\"message\"", TASK
                   ",\"message\":{\"description\":\"A text, or what the task's "
                   "message_schema asks for\"}," ATTEMPT),
     .method = MORTISE_SPAWN_MESSAGE_1,
     .take = put_task},
    {.name = "cancel_task",
     .of = AGENT_TASKS,
     .description = "Call a task off, with all that its agent has started.",
     .parameters = ARGUMENTS("\"task\"", TASK "," ATTEMPT),
     .method = MORTISE_SPAWN_CANCEL_1,
     .take = put_task}};
