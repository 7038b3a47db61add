/* call.c -- what a call asks of its server, and what comes of it.
 *
 * A call of a tool (and likewise of a prompt, and of a resource) is one request,
 * in a step of its own:
 *
 *     step "call"    tools/call              -> a result: that is the output
 *                                            -> a task: task.c looks after it
 *                                            -> input_required: a person is asked
 *     step "call-2"  the same, with the answers, and the server's requestState
 *
 * and so on, ten times at most.  What the server says of what it did decides how
 * the step ends (step.c):
 *
 *   (1) A result has happened, also one that says isError.
 *   (2) An error that is a refusal (mcp_rpc_is_refusal()) says that nothing
 *       happened; any other leaves that open.
 *   (3) Of no answer, the transport knows whether it can have arrived.  Where it
 *       cannot, it is sent once more over another connection.
 *   (4) A server that forgot its own requestState (a refusal of -32602 of a
 *       request with answers) is asked anew, without, twice at most: it asks its
 *       questions again.
 *
 * In the legacy era, the error -32042 is a question of the same kind: a person is
 * to visit a URL, and then the request is made again.  All other questions of
 * that era come while the request is out (asked.c). */
#include "call.h"

#include "rpc.h"

static const char *method_of(const struct mcp_call *c)
{
    return c->op == MCP_OP_TOOL   ? "tools/call"
           : c->op == MCP_OP_READ ? "resources/read"
                                  : "prompts/get";
}

void mcp_call_put_error(const struct mcp_call *c, struct bytes *to,
                        mortise_jv error)
{
    char code[32];
    int64_t n = 0;

    if (mortise_jv_int(mortise_jv_get(error, "code"), &n) == MORTISE_S_OK) {
        snprintf(code, sizeof code, " (%lld)", (long long)n);
        bytes_put(to, mortise_strz(code));
    }
    if (c->held)
        return;
    bytes_put(to, mortise_strz(": "));
    mcp_rpc_words(to,
                  mortise_jv_type(error) == MORTISE_JV_STRING
                      ? error
                      : mortise_jv_get(error, "message"),
                  800);
}

/* ---- the connection ---------------------------------------------------------- */

static void ready(struct mcp_waiter *w, const struct mcp_trouble *why)
{
    struct mcp_call *c = MCP_OF(w, struct mcp_call, waiter);

    if (why == NULL)
        c->perform(c);
    else if (why->consent.n > 0)
        mcp_consent_record(c, why->consent);
    else if (c->unreachable != NULL)
        c->unreachable(c, why);
    else
        mcp_call_fail_with(c, why);
}

int mcp_call_wait(struct mcp_call *c, int wants_tools)
{
    if (!mcp_consent_is_told(c))
        return 0;
    if (mcp_server_is_ready(c->server, wants_tools))
        return 1;
    c->waiter.wants_tools = wants_tools;
    c->waiter.ready = ready;
    mcp_server_await(c->server, &c->waiter);
    return 0;
}

/* ---- the answer -------------------------------------------------------------- */

static int is_type(mortise_jv result, const char *type)
{
    return mortise_jv_is(mortise_jv_get(result, "resultType"),
                         mortise_strz(type));
}

/* Is it a result of the era that is spoken? */
static int is_valid(const struct mcp_call *c, mortise_jv result)
{
    if (mortise_jv_type(mortise_jv_get(result, "resultType")) ==
            MORTISE_JV_NONE ||
        is_type(result, "complete"))
        return c->op != MCP_OP_TOOL || mcp_output_is_result(result);
    if (c->server->agreed.era != MCP_ERA_MODERN)
        return 0;
    return is_type(result, "input_required") ||
           (is_type(result, "task") && c->op == MCP_OP_TOOL);
}

/* {"resultType": "input_required", "inputRequests": {...}} of the error -32042's
 * data; takes the call. */
static void take_urls(struct mcp_call *c, mortise_jv error)
{
    mortise_jv_iter it = mortise_jv_each(
        mortise_jv_get(mortise_jv_get(error, "data"), "elicitations"));
    mortise_status status;
    mortise_str result;
    mortise_jv one;
    char key[32];
    mortise_jw w;
    int n = 0;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "resultType");
    mortise_jw_cstr(&w, "input_required");
    mortise_jw_key(&w, "inputRequests");
    mortise_jw_object(&w);
    while (n < 10 && mortise_jv_next(&it, NULL, &one)) {
        snprintf(key, sizeof key, "%d", n++);
        mortise_jw_key(&w, key);
        mortise_jw_object(&w);
        mortise_jw_key(&w, "method");
        mortise_jw_cstr(&w, "elicitation/create");
        mortise_jw_key(&w, "params");
        mortise_jw_value(&w, one);
        mortise_jw_end(&w);
    }
    mortise_jw_end(&w);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &result);
    if (status == MORTISE_S_OK && n > 0)
        mcp_step_done(c, result);
    else
        mcp_call_fail(
            c, "mcp.refused", "permanent",
            mortise_strz(
                "the server requires a visit to a URL, but gave no URL"));
    free(w.p);
}

/* Takes the call: the same once more, over whatever there is then (3). */
static void again(struct mcp_call *c)
{
    c->retried = 1;
    c->sent = 0;
    c->perform(c);
}

/* Takes the call. */
static void take_error(struct mcp_call *c, const struct mcp_reply *reply)
{
    struct bytes words = {0};
    int refused = mcp_rpc_is_refusal(reply->code) ||
                  (c->op == MCP_OP_READ && reply->code == MCP_RPC_NO_RESOURCE);

    if (refused)
        c->sent = 0; /* (2) */
    if (reply->code == MCP_RPC_HEADERS && !c->retried) {
        mcp_tools_spoil(c->server); /* they are made of what it says of it */
        again(c);
    } else if (reply->code == MCP_RPC_URL_REQUIRED) {
        take_urls(c, reply->error);
    } else if (reply->code == MCP_RPC_BAD_PARAMS && c->state.n > 0) {
        mcp_step_done(c, mortise_strz(MCP_RESULT_EXPIRED)); /* (4) */
    } else {
        bytes_put(&words, mortise_strz("the server rejected the call"));
        mcp_call_put_error(c, &words, reply->error);
        mcp_call_fail(c, "mcp.refused", "permanent", bytes_str(&words));
        bytes_free(&words);
    }
}

/* Takes the call. */
static void take_trouble(struct mcp_call *c, const struct mcp_trouble *why)
{
    if (why->consent.n > 0)
        mcp_consent_record(c, why->consent);
    else if (why->answer.n > 0)
        mcp_step_done_badly(c, why->flaw, why->answer);
    else if (!why->arrived && !c->retried &&
             strcmp(why->code, "mcp.lost") == 0 &&
             !c->inst->api->cancelled(c->inst->host, c->id))
        again(c);
    else
        mcp_call_fail_with(c, why);
}

static void on_reply(struct mcp_request *r, const struct mcp_reply *reply)
{
    struct mcp_call *c = MCP_OF(r, struct mcp_call, request);
    mortise_str result;

    mcp_asked_drop(c);
    c->changed = reply->changed;
    switch (reply->kind) {
    case MCP_REPLY_RESULT:
        result = mortise_strn(reply->result.p, reply->result.n);
        if (is_valid(c, reply->result))
            mcp_step_done(c, result);
        else
            mcp_step_done_badly(c, "it is not a result", result);
        break;
    case MCP_REPLY_ERROR:
        take_error(c, reply);
        break;
    case MCP_REPLY_TROUBLE:
        take_trouble(c, reply->trouble);
        break;
    }
}

/* ---- the request ------------------------------------------------------------- */

static void write_member(mortise_jw *w, const char *name, mortise_str json)
{
    mortise_jv v = {json.p, json.n};

    if (json.n == 0)
        return;
    mortise_jw_key(w, name);
    mortise_jw_value(w, v);
}

static void write_params(const struct mcp_call *c, mortise_jw *w)
{
    write_member(w, c->op == MCP_OP_READ ? "uri" : "name",
                 bytes_str(&c->subject));
    if (c->arguments.n > 0)
        write_member(w, "arguments",
                     mortise_strn(c->arguments.p, c->arguments.n));
    else if (c->op == MCP_OP_TOOL)
        write_member(w, "arguments", mortise_strz("{}"));
    if (c->server->agreed.era != MCP_ERA_MODERN)
        return; /* a URL was visited, and nothing is to be said of that */
    write_member(w, "inputResponses", bytes_str(&c->answers));
    write_member(w, "requestState", bytes_str(&c->state));
}

/* Takes the call. */
static void send(struct mcp_call *c)
{
    struct mcp_server *s = c->server;
    const struct mcp_tool *tool =
        c->op == MCP_OP_TOOL ? mcp_tools_find(s, bytes_str(&c->name)) : NULL;
    struct mcp_message m = {.name = bytes_str(&c->name),
                            .arguments = c->arguments};
    mortise_status status;
    mortise_jw w;

    if (tool != NULL)
        m.schema = mortise_jv_get(tool->json, "inputSchema");
    c->request.call = c->id;
    c->request.timeout_ms = s->timeout_ms;
    c->request.is_legacy_ask = s->agreed.era == MCP_ERA_LEGACY;
    c->request.done = on_reply;
    mcp_request_begin(s, &c->request, &w, method_of(c));
    write_params(c, &w);
    c->sent = 1;
    status = mcp_request_send(s, &c->request, &w, method_of(c), &m);
    if (status == MORTISE_S_OK)
        return;
    c->sent = 0;
    if (status == MORTISE_S_NOMEM)
        mcp_call_end(c, status);
    else
        mcp_call_fail(c, "mcp.lost", "transient",
                      mortise_strz("the request could not be sent"));
}

static void perform(struct mcp_call *c)
{
    struct bytes why = {0};
    const char *code;

    if (!mcp_call_wait(c, c->op == MCP_OP_TOOL))
        return;
    if (c->op != MCP_OP_TOOL ||
        mcp_tools_judge(c->server, bytes_str(&c->name), &why, &code))
        send(c);
    else
        mcp_call_fail(c, code, "permanent", bytes_str(&why));
    bytes_free(&why);
}

/* {server, tool | uri | prompt, arguments?, answers?}: what people see of it, and
 * by which it is known again. */
static mortise_status write_arguments(const struct mcp_call *c, mortise_jw *w,
                                      mortise_str *text)
{
    static const char *const names[] = {[MCP_OP_TOOL] = "tool",
                                        [MCP_OP_READ] = "uri",
                                        [MCP_OP_PROMPT] = "prompt",
                                        [MCP_OP_LIST] = "list"};

    mortise_jw_growing(w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(w);
    mortise_jw_key(w, "server");
    mortise_jw_cstr(w, c->server->name);
    write_member(w, names[c->op], bytes_str(&c->subject));
    write_member(w, "arguments", mortise_strn(c->arguments.p, c->arguments.n));
    write_member(w, "answers", bytes_str(&c->answers));
    mortise_jw_end(w);
    return mortise_jw_finish(w, text);
}

void mcp_call_next(struct mcp_call *c)
{
    mortise_str arguments = mortise_str_empty();
    char name[MCP_STEP_ROOM] = "call";
    mortise_status made;
    mortise_jw w;

    c->n_calls++;
    if (c->n_calls > 1)
        snprintf(name, sizeof name, "call-%llu",
                 (unsigned long long)c->n_calls);
    c->retried = 0;
    c->perform = c->op == MCP_OP_LIST ? mcp_offers_perform : perform;
    c->take = mcp_call_take;
    made = write_arguments(c, &w, &arguments);
    mcp_step_begin(c, name, 0, made, arguments);
    free(w.p);
}

/* ---- what it gave -------------------------------------------------------------- */

/* Takes the call: the questions of its result. */
static void take_questions(struct mcp_call *c, mortise_jv result)
{
    mortise_jv state = mortise_jv_get(result, "requestState");
    mortise_status status = MORTISE_S_OK;

    bytes_free(&c->state);
    if (mortise_jv_type(state) == MORTISE_JV_STRING)
        status = bytes_put(&c->state, mortise_strn(state.p, state.n));
    if (status != MORTISE_S_OK)
        mcp_call_end(c, status);
    else if (++c->rounds > MCP_ROUNDS_MAX)
        mcp_call_fail(
            c, "mcp.protocol", "permanent",
            mortise_strz("the server asked for input more than ten times"));
    else
        mcp_inputs_ask(c, mcp_call_next);
}

/* Takes the call: from the start (4). */
static void take_expired(struct mcp_call *c)
{
    bytes_free(&c->answers);
    bytes_free(&c->state);
    if (++c->fresh > MCP_FRESH_MAX)
        mcp_call_fail(
            c, "mcp.refused", "permanent",
            mortise_strz(
                "the server rejected its own requestState repeatedly"));
    else
        mcp_call_next(c);
}

/* Takes the call: it was answered, and has no result. */
static void take_invalid(struct mcp_call *c, mortise_jv result)
{
    struct bytes words = {0};
    mortise_jv text = mortise_jv_get(result, "text");

    bytes_put(&words,
              mortise_strz("the server answered, so the effect happened, but "
                           "its answer cannot be stored ("));
    mcp_rpc_words(&words, mortise_jv_get(result, "why"), 200);
    bytes_put(&words, mortise_strz(")"));
    if (!c->held && text.n > 0) {
        bytes_put(&words, mortise_strz(": "));
        mcp_rpc_words(&words, text, 800);
    }
    mcp_call_fail(c, "mcp.protocol", "permanent", bytes_str(&words));
    bytes_free(&words);
}

void mcp_call_take(struct mcp_call *c)
{
    mortise_jv result = mortise_jv_of(bytes_str(&c->result));

    if (is_type(result, "input_required"))
        take_questions(c, result);
    else if (is_type(result, "task"))
        mcp_task_begin(c);
    else if (is_type(result, "consent"))
        mcp_consent_ask(c);
    else if (is_type(result, "expired"))
        take_expired(c);
    else if (is_type(result, "invalid"))
        take_invalid(c, result);
    else
        mcp_output_give(c, result);
}
