/* agent.c -- gmi nodes and leaves: a model is asked, does what it has tools for, and
 * is asked again, until there is an output.
 *
 * Operations
 *   leaf     {node, predecessors?}    -> likewise (leaf.c)
 *   compact  {node, output, words}    -> a text (compact.c)
 *   judge    {node, prompt, criteria, schema?}
 *                        -> {approved, confidence, reason, answer?} (judge.c)
 *   proposal {text, with?, last?}
 *                        -> {valid, graph, picture | findings, again}
 *                        (proposal.c)
 *   gmi      {args?, node, memory?, skills?}
 *                        -> a text, or the JSON that was asked for
 *
 *     node  the node's own keys (mortise-graph(5)): instructions, prompt, messages,
 *           llm, execution_mode, max_internal_iterations, temperature, max_tokens,
 *           reasoning_effort, response, stream, cache, extra, parallel_tools,
 *           tool_choice, tool_errors, planner, conversation, output_schema,
 *           subagents, reports; and
 *           tools: true, where it has some; and persona {traits, mood,
 *           adapt_style}, where it or its graph says one.  What is not there was
 *           not written.
 *     args  is not read
 *     memory, skills  traces and texts, which join the system message (ahead.c)
 *
 * `instructions` are the system message and `prompt` the user's; either may be
 * any value, whose JSON is its text then, and `prompt` a list of parts
 * (mortise/model.h).  `messages`, a list of them, stand between the two.  `response`
 * is json where there is an output_schema, unless it is said.
 *
 *   single_turn         (without tools) asks once.  Of a reply that calls tools
 *                       the output is {text, tool_calls}: none is run.
 *   react_bounded       (with tools, subagents or reports) runs the tools that a reply calls, and asks
 *                       again; likewise where a reply that was to be JSON is not
 *                       what was asked for: the model is told why.
 *   planner_controlled  the same; but where the model has come to an end a
 *                       planner says whether there is more to be done (plan.c).
 *
 * With `subagents` the model is offered tools with which it has agents of its own
 * (tasks.c), with `reports` those by which it says what came of its work
 * (reports.c).  With both `reports` and an output_schema what it says is JSON by
 * that alone: `response` is not looked at, and a report ends the node whatever a
 * planner would say.
 *
 * A server that pauses is asked to go on in any mode.  All this within
 * `max_internal_iterations` replies.  Where a tool hands over (handoffs), the
 * node ends, and the run goes on there; its output is the reply's text, or null
 * where it was to be JSON.
 *
 * With a `conversation` the node goes on with what was said in it before, and
 * when it succeeds what was said stays.  Somebody may tell it something
 * meanwhile (`mortise tell`): the model hears that with its next turn, and gets
 * one more where it had already come to its end.
 *
 * Error codes
 *   model.*          the provider's, with its class: `retry_policy` and
 *                    Retry-After hold; where there are replies already that
 *                    would be lost, it waits and asks again itself (model.c)
 *   length           the reply was cut at max_tokens; nothing is made of it
 *   context          ... at the end of the model's window, and nothing was left
 *                    that could be left out
 *   refusal, filter  the model, or its server, would not, or took something out
 *   schema           it is not the JSON that was asked for
 *   max_iterations   the bound was reached
 *   loop             the same tools were called with the same arguments three
 *                    times in succession
 *   stagnation       three turns in succession came to what others had come to
 *                    before
 *   plan             the last graph that was proposed cannot run
 *   planner          the planner did not say whether there is more to be done
 *   no_result        with `reports` and an output_schema: the model came to its
 *                    end without a report, also when it was told so
 *   reply            the reply ended in a way that nobody knows, or with tool
 *                    calls where there are no tools
 *   no_memory        transient
 *   task             with tool_errors: fail, the host refused what was asked for
 *                    a child; always, the attempt of one that reports is over
 *   task_failed      with tool_errors: fail, a child that was waited for did not
 *                    succeed; the words have its own code
 *   arguments        with tool_errors: fail, those of a tool are none
 *   a tool's own     likewise
 *
 * What it promises: it is a function of its request and of the answers, so a
 * call that is entered again after a crash goes on behind the replies and
 * results that are recorded; and it holds no thread while it waits. */
#include "agent.h"

static int is_said(mortise_jv v, const char *word)
{
    return mortise_jv_is(v, mortise_strz(word));
}

/* ---- the end --------------------------------------------------------------- */

static void call_free(struct call *c)
{
    struct bytes *const held[] = {
        &c->ahead, &c->append,  &c->called,   &c->last,   &c->output,
        &c->heads, &c->offered, &c->reported, &c->schema, &c->window};

    for (size_t i = 0; i < sizeof held / sizeof held[0]; i++)
        bytes_free(held[i]);
    agent_batch_free(&c->batch);
    free(c);
}

/* Takes the call. */
static void end(struct call *c, mortise_status status, mortise_str msg,
                mortise_str detail)
{
    c->inst->api->finish(c->inst->host, c->id, status, msg, detail);
    call_free(c);
}

static const char no_memory[] = "out of memory",
                  no_memory_detail[] =
                      "{\"class\":\"transient\",\"code\":\"no_memory\"}";

void agent_end_as(struct call *c, mortise_status status)
{
    int nomem = status == MORTISE_S_NOMEM;

    end(c, status, mortise_strz(nomem ? no_memory : NULL),
        mortise_strz(nomem ? no_memory_detail : NULL));
}

void agent_fail(struct call *c, const char *code, mortise_str msg)
{
    char room[96];
    mortise_str detail;
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "code");
    mortise_jw_cstr(&w, code);
    mortise_jw_end(&w);
    if (mortise_jw_finish(&w, &detail) != MORTISE_S_OK)
        detail = mortise_str_empty();
    end(c, MORTISE_S_FAILED, msg, detail);
}

void agent_fail_as(struct call *c, mortise_jv error)
{
    static const char *const members[] = {"code", "class", "retry_after_ms"};
    mortise_jv message = mortise_jv_get(error, "message");
    struct bytes words = {0};
    mortise_status status;
    mortise_str detail;
    mortise_jw w;

    status =
        c->held
            ? bytes_put(&words,
                        mortise_strz(
                            "it failed; its error message is only in the run's "
                            "history, because no guardrail has checked it"))
            : bytes_decode(&words, message);
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        agent_write_member(&w, members[i], mortise_jv_get(error, members[i]));
    mortise_jw_end(&w);
    if (mortise_jw_finish(&w, &detail) == MORTISE_S_OK &&
        status == MORTISE_S_OK)
        end(c, MORTISE_S_FAILED, bytes_str(&words), detail);
    else
        agent_end_as(c, MORTISE_S_NOMEM);
    bytes_free(&words);
    free(w.p);
}

/* ---- turns ------------------------------------------------------------------ */

enum { PARTIAL_MAX = 4000 }; /* bytes, of what there was when time was up */

static void fail_at_bound(struct call *c)
{
    uint64_t n = c->held ? 0 : c->last.n;
    struct bytes words = {0};
    mortise_status status =
        bytes_put(&words, mortise_strz("max_internal_iterations is reached, "
                                       "but the model has not finished"));

    n = mortise_str_utf8(
        mortise_strn(c->last.p, n < PARTIAL_MAX ? n : PARTIAL_MAX));
    if (status == MORTISE_S_OK && n > 0)
        status = bytes_put(&words, mortise_strz("; so far: "));
    if (status == MORTISE_S_OK && n > 0)
        status = bytes_put(&words, mortise_strn(c->last.p, n));
    if (status == MORTISE_S_OK)
        agent_fail(c, "max_iterations", bytes_str(&words));
    else
        agent_end_as(c, status);
    bytes_free(&words);
}

/* Takes the call: the next turn. */
void agent_go_on(struct call *c, mortise_status status)
{
    if (status != MORTISE_S_OK) {
        agent_end_as(c, status);
    } else if (c->left == 0) {
        fail_at_bound(c);
    } else {
        c->left--;
        agent_ask(c);
    }
}

enum { STALE = 3 };

/* FNV-1a. */
static uint64_t hash(uint64_t h, mortise_str s)
{
    for (uint64_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* Is what the last turn came to, once more, nothing new? */
static int is_stale(struct call *c)
{
    uint64_t h = hash(UINT64_C(0xcbf29ce484222325), bytes_str(&c->last));

    if (c->batch.n > 0)
        h = hash(h, bytes_str(&c->called));
    for (uint64_t i = 0; i < c->batch.n; i++)
        h = hash(h, bytes_str(&c->batch.results[i].parts));
    for (uint64_t i = 0; i < c->n_seen; i++)
        if (c->seen[i] == h)
            return ++c->stale == STALE;
    c->stale = 0;
    if (c->n_seen < SEEN_MAX)
        c->seen[c->n_seen++] = h;
    return 0;
}

static void fail_stale(struct call *c)
{
    agent_fail(c, "stagnation",
               mortise_strz("three turns in a row brought no new results"));
}

/* ---- the output -------------------------------------------------------------- */

static void kept(void *ud, mortise_status status, mortise_str answer)
{
    struct call *c = (struct call *)ud;

    if (status == MORTISE_S_INVALID || status == MORTISE_S_DENIED)
        agent_fail(c, "conversation", answer);
    else
        agent_end_as(c, status);
}

/* Takes the call, whose output is there: what was said stays. */
static void succeed(struct call *c, mortise_status status)
{
    mortise_str body;
    mortise_jw w;

    if (status != MORTISE_S_OK || !c->keeps) {
        agent_end_as(c, status);
        return;
    }
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    agent_write_after(c, &w);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &body);
    if (status == MORTISE_S_OK)
        status = mortise_conversation_keep(c->inst->host, c->inst->api, c->id,
                                           body, kept, c);
    free(w.p);
    if (status != MORTISE_S_PENDING)
        agent_end_as(c, status);
}

static mortise_status emit(struct call *c, mortise_str json)
{
    return mortise_emit_output(c->inst->host, c->inst->api, c->id, json);
}

static mortise_status emit_text(struct call *c)
{
    mortise_status status;
    mortise_str json;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_string(&w, bytes_str(&c->last));
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = emit(c, json);
    free(w.p);
    return status;
}

/* Takes the call: the node that was chosen is next. */
static void hand_over(struct call *c)
{
    mortise_status status = c->is_json || c->must_report
                                ? emit(c, mortise_strz("null"))
                                : emit_text(c);

    if (status == MORTISE_S_OK)
        status = mortise_emit_goto(c->inst->host, c->inst->api, c->id,
                                   bytes_str(&c->heads));
    succeed(c, status);
}

/* Takes the call: {text, tool_calls}, of a reply whose tools are not run. */
static void succeed_with_calls(struct call *c, mortise_jv message)
{
    static const char *const members[] = {"id", "name", "arguments",
                                          "arguments_text"};
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(message, "parts"));
    mortise_jv name, part;
    mortise_status status;
    mortise_str json;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "text");
    mortise_jw_string(&w, bytes_str(&c->last));
    mortise_jw_key(&w, "tool_calls");
    mortise_jw_array(&w);
    while (mortise_jv_next(&it, &name, &part)) {
        if (!mortise_jv_is(mortise_jv_get(part, "type"),
                           mortise_strz("tool_call")))
            continue;
        mortise_jw_object(&w);
        for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
            agent_write_member(&w, members[i],
                               mortise_jv_get(part, members[i]));
        mortise_jw_end(&w);
    }
    mortise_jw_end(&w);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = emit(c, json);
    free(w.p);
    agent_end_as(c, status); /* calls without results are nothing to keep */
}

/* ---- a reply ----------------------------------------------------------------- */

/* Why the reply is not what was asked for, for the model. */
static mortise_status complain(struct call *c, mortise_jv why)
{
    struct bytes text = {0};
    mortise_status status =
        bytes_put(&text, mortise_strz("That is not what was asked for: "));

    if (status == MORTISE_S_OK)
        status = bytes_decode(&text, why);
    if (status == MORTISE_S_OK)
        status = bytes_put(&text, mortise_strz(". Reply with the JSON alone, "
                                               "and nothing around it."));
    if (status == MORTISE_S_OK)
        status = agent_add_text(&c->append, "user", bytes_str(&text));
    bytes_free(&text);
    return status;
}

/* Takes the call: the reply is no JSON as it was asked for. */
static void take_invalid(struct call *c, mortise_jv why)
{
    struct bytes words = {0};
    mortise_status status;

    if (c->mode != MODE_ONCE) {
        if (is_stale(c))
            fail_stale(c);
        else
            agent_go_on(c, complain(c, why));
        return;
    }
    status =
        c->held ? bytes_put(&words,
                            mortise_strz("the reply is not the requested JSON"))
                : bytes_decode(&words, why);
    if (status == MORTISE_S_OK)
        agent_fail(c, "schema", bytes_str(&words));
    else
        agent_end_as(c, status);
    bytes_free(&words);
}

/* Takes the call: a whole reply. */
static void take_whole(struct call *c, mortise_jv answer)
{
    mortise_jv json = mortise_jv_get(answer, "json");
    int32_t more = 0;

    c->n_turns++;
    mortise_jv_bool(mortise_jv_get(answer, "more"), &more);
    if (more && c->mode != MODE_ONCE && c->left > 0) {
        agent_go_on(c, MORTISE_S_OK); /* it is told */
    } else if (c->must_report) {
        agent_take_unreported(c);
    } else if (c->is_json && mortise_jv_type(json) == MORTISE_JV_NONE) {
        take_invalid(c, mortise_jv_get(answer, "invalid"));
    } else {
        mortise_status status =
            bytes_put(&c->output, mortise_strn(json.p, json.n));

        if (status != MORTISE_S_OK)
            agent_end_as(c, status);
        else if (c->mode == MODE_PLANNED)
            agent_plan(c);
        else
            agent_succeed(c);
    }
}

void agent_succeed(struct call *c)
{
    succeed(c, c->is_json ? emit(c, bytes_str(&c->output)) : emit_text(c));
}

/* It is used: what comes next goes on from it. */
static mortise_status take_in(struct call *c, mortise_jv answer,
                              mortise_jv message)
{
    c->after = c->asked;
    c->tried = c->waited = c->pruned = 0;
    c->left_out = 0;
    c->prunes = c->is_nudged = 0;
    bytes_free(&c->append);
    bytes_free(&c->last);
    bytes_free(&c->output);
    agent_batch_free(&c->batch);
    if (mortise_jv_type(mortise_jv_get(answer, "told")) != MORTISE_JV_NONE)
        c->stale = c->n_called = 0; /* that is new to it */
    return agent_text_of(&c->last, message);
}

/* Takes the call: its window is full. */
static void take_context(struct call *c, mortise_jv answer)
{
    static const char error[] =
        "{\"code\":\"context\",\"message\":\"the model's window is full\"}";
    mortise_jv v;
    mortise_status status = mortise_jv_parse(mortise_strz(error), &v);

    if (status == MORTISE_S_OK)
        agent_ask_shorter(c, answer, v);
    else
        agent_end_as(c, status);
}

/* The name of the first tool that a message calls. */
static const char *called(mortise_jv message, char room[65])
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(message, "parts"));
    mortise_jv part;

    room[0] = '\0';
    while (mortise_jv_next(&it, NULL, &part))
        if (is_said(mortise_jv_get(part, "type"), "tool_call")) {
            mortise_jv_cstr(mortise_jv_get(part, "name"), room, 65);
            break;
        }
    return room;
}

/* Takes the call. */
static void take_calls(struct call *c, mortise_jv message)
{
    char words[160], name[65];

    if (!c->has_tools) {
        snprintf(words, sizeof words,
                 "the model called the tool '%s', but the node offers no tools",
                 c->held ? "*" : called(message, name));
        agent_fail(c, "reply", mortise_strz(words));
    } else if (c->mode == MODE_ONCE)
        succeed_with_calls(c, message);
    else
        agent_run_batch(c, message);
}

static void fail_of(struct call *c, mortise_jv reply)
{
    static const struct {
        const char *stop, *words;
    } ends[] = {
        {"length", "the reply was cut at max_tokens; raise max_tokens, or ask "
                   "for a shorter reply"},
        {"refusal", "the model refused to answer"},
        {"filter", "the server removed a part of the reply"},
    };

    mortise_jv stop = mortise_jv_get(reply, "stop");
    char words[160], reason[65];

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (mortise_jv_is(stop, mortise_strz(ends[i].stop))) {
            agent_fail(c, ends[i].stop, mortise_strz(ends[i].words));
            return;
        }
    }
    if (mortise_jv_cstr(mortise_jv_get(reply, "stop_reason"), reason,
                        sizeof reason) != MORTISE_S_OK)
        strcpy(reason, "no reason given");
    snprintf(words, sizeof words, "the reply ended for an unknown reason (%s)",
             reason);
    agent_fail(c, "reply", mortise_strz(words));
}

void agent_take_reply(struct call *c, mortise_jv answer)
{
    mortise_jv reply = mortise_jv_get(answer, "reply");
    mortise_jv message = mortise_jv_get(reply, "message");
    mortise_jv stop = mortise_jv_get(reply, "stop");
    mortise_status status;

    if (mortise_jv_is(stop, mortise_strz("context"))) {
        take_context(c, answer);
        return;
    }
    status = take_in(c, answer, message);
    if (status != MORTISE_S_OK)
        agent_end_as(c, status);
    else if (mortise_jv_is(stop, mortise_strz("end")))
        take_whole(c, answer);
    else if (mortise_jv_is(stop, mortise_strz("tools")))
        take_calls(c, message);
    else if (mortise_jv_is(stop, mortise_strz("pause")))
        agent_go_on(c, MORTISE_S_OK);
    else
        fail_of(c, reply);
}

void agent_take_results(struct call *c)
{
    mortise_status status = agent_add_results(&c->append, &c->batch);

    if (status != MORTISE_S_OK)
        agent_end_as(c, status);
    else if (c->heads.n > 0)
        hand_over(c);
    else if (c->reported.n > 0)
        succeed(c, emit(c, bytes_str(&c->reported)));
    else if (is_stale(c))
        fail_stale(c);
    else
        agent_go_on(c, MORTISE_S_OK);
}

/* ---- the call -------------------------------------------------------------- */

static enum mode mode_of(const struct call *c)
{
    mortise_jv mode = mortise_jv_get(c->node, "execution_mode");

    if (is_said(mode, "planner_controlled"))
        return MODE_PLANNED;
    if (is_said(mode, "react_bounded") ||
        (mortise_jv_type(mode) == MORTISE_JV_NONE &&
         (c->has_tools || c->own != 0)))
        return MODE_REACTS;
    return MODE_ONCE;
}

static int has(const struct call *c, const char *key)
{
    return mortise_jv_type(mortise_jv_get(c->node, key)) != MORTISE_JV_NONE;
}

int agent_says(const struct call *c, const char *key)
{
    int32_t yes = 0;

    mortise_jv_bool(mortise_jv_get(c->node, key), &yes);
    return yes;
}

/* What the model says at its end is the output, or it is what it reports. */
static void choose_output(struct call *c)
{
    mortise_jv response = mortise_jv_get(c->node, "response");

    if (agent_says(c, "reports"))
        c->own |= AGENT_REPORTS | AGENT_PROGRESS;
    c->must_report = c->own & AGENT_REPORTS && c->is_json;
    if (c->must_report)
        c->is_json = 0;
    else if (mortise_jv_type(response) != MORTISE_JV_NONE)
        c->is_json = is_said(response, "json");
}

/* What was said before. */
static mortise_status add_messages(struct call *c)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(c->node, "messages"));
    mortise_status status = MORTISE_S_OK;
    mortise_jv one;

    while (status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &one))
        status = agent_add(&c->ahead, mortise_strn(one.p, one.n));
    return status;
}

static mortise_status begin_gmi(struct call *c, mortise_jv body)
{
    mortise_status status;

    if (agent_says(c, "subagents"))
        c->own |= AGENT_TASKS;
    choose_output(c);
    c->keeps = has(c, "conversation");
    c->mode = mode_of(c);
    status = agent_add_ahead(&c->ahead, c->node, body);
    if (status == MORTISE_S_OK)
        status = add_messages(c);
    return status == MORTISE_S_OK
               ? agent_add_of(&c->append, "user",
                              mortise_jv_get(c->node, "prompt"))
               : status;
}

static void start_gmi(struct call *c)
{
    mortise_jv messages = mortise_jv_get(c->node, "messages");

    if (mortise_jv_type(messages) != MORTISE_JV_NONE &&
        mortise_jv_type(messages) != MORTISE_JV_ARRAY)
        agent_fail(c, "model.request",
                   mortise_strz("'messages' is not a list of messages"));
    else
        agent_say_attempt(c);
}

static void start(struct call *c)
{
    agent_go_on(c, MORTISE_S_OK);
}

static const struct operation {
    const char *name;
    mortise_status (*begin)(struct call *c, mortise_jv body);
    void (*start)(struct call *c); /* takes the call */
} operations[] = {{"gmi", begin_gmi, start_gmi},
                  {"leaf", agent_begin_leaf, agent_offer},
                  {"compact", agent_begin_compact, start},
                  {"judge", agent_begin_judge, start},
                  {"proposal", agent_begin_proposal, agent_start_proposal}};

static const struct operation *operation_of(mortise_str name)
{
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (mortise_str_is(name, operations[i].name))
            return &operations[i];
    return NULL;
}

static mortise_status begin(struct call *c, const struct operation *op,
                            mortise_jv body)
{
    c->left = 10;
    c->mode = MODE_ONCE;
    mortise_jv_int(mortise_jv_get(c->node, "max_internal_iterations"),
                   &c->left);
    c->has_tools = has(c, "tools");
    c->is_json = has(c, "output_schema");
    return op->begin(c, body);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    const struct operation *op = operation_of(r->operation);
    struct call *c = (struct call *)calloc(1, sizeof *c);
    mortise_status status = c == NULL    ? MORTISE_S_NOMEM
                            : op == NULL ? MORTISE_S_NOTFOUND
                                         : MORTISE_S_OK;
    mortise_jv body;

    if (status == MORTISE_S_OK) {
        c->inst = i;
        c->id = r->call;
        c->attempt = r->attempt;
        c->held = (r->flags & MORTISE_REQUEST_HELD) != 0;
        status = mortise_jv_parse(r->body, &body);
    }
    if (status == MORTISE_S_OK) {
        c->node = mortise_jv_get(body, "node");
        status = begin(c, op, body);
    }
    if (status == MORTISE_S_OK) {
        op->start(c);
        return MORTISE_S_PENDING;
    }
    if (c != NULL)
        call_free(c);
    if (status == MORTISE_S_NOMEM)
        (i->api->fail)(i->host, r->call, mortise_strz(no_memory),
                       mortise_strz(no_memory_detail));
    return status;
}

/* ---- the plugin ------------------------------------------------------------ */

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_inst *i = (mortise_inst *)malloc(sizeof *i);

    (void)config;
    if (i == NULL)
        return MORTISE_S_NOMEM;
    i->host = host;
    i->api = api;
    *out = i;
    return MORTISE_S_OK;
}

static void destroy(mortise_inst *i)
{
    free(i);
}

static const void *get_interface(mortise_inst *inst, const char *id)
{
    static const mortise_executor executor = {.size = sizeof executor,
                                              .execute = execute};

    (void)inst;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static const mortise_plugin plugin = {.size = sizeof plugin,
                                      .id = "agent",
                                      .version = "0.1.0",
                                      .create = create,
                                      .get_interface = get_interface,
                                      .destroy = destroy};

MORTISE_MODULE_OF(plugin);
