/* agent.c -- gmi nodes: a model is asked, and asked again where it has to be.
 *
 * Operations
 *   gmi  {args?, node}   -> a text, or the JSON that was asked for
 *
 *     node  the node's own keys (mortise-graph(5)): instructions, prompt, llm,
 *           execution_mode, max_internal_iterations, temperature, max_tokens,
 *           reasoning_effort, response, stream, cache, extra, output_schema.
 *           What is not there was not written.
 *     args  is not read
 *
 * `instructions` are the system message and `prompt` the user's; either may be
 * any value, whose JSON is its text then, and `prompt` a list of parts
 * (mortise/model.h).  `response` is json where there is an output_schema, unless
 * it is said.
 *
 * single_turn asks once.  react_bounded asks again, `max_internal_iterations`
 * times in all, where a reply that was to be JSON is not what was asked for: the
 * model is told why.  A server that pauses is asked to go on in either mode,
 * within that bound.
 *
 * Where a provider fails, the aliases of llm.fallback are asked, in their order;
 * the first that answers is asked from then on.  The last one's error is the
 * node's.
 *
 * Error codes
 *   model.*          the provider's, with its class: `retry_policy` and
 *                    Retry-After hold
 *   length           the reply was cut at max_tokens; nothing is made of it
 *   context          ... at the end of the model's window
 *   refusal, filter  the model, or its server, would not, or took something out
 *   schema           it is not the JSON that was asked for
 *   max_iterations   the bound was reached
 *   reply            it ended in a way that nobody knows, or with tool calls that
 *                    nobody offered
 *   no_memory        transient
 *
 * What it promises: it is a function of its request and of the answers, so a
 * call that is entered again after a crash goes on behind the replies that are
 * recorded; it asks for nothing else, and nothing waits here. */
#include <mortise/ask.h>

#include <stdlib.h>

#include "../../bytes.h"

struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
};

struct call {
    mortise_inst *inst;
    mortise_call id;
    mortise_jv node;       /* of the request, lent until the end */
    struct bytes messages; /* a list, closed */
    uint64_t tried;        /* aliases that failed */
    int64_t left;          /* calls of the model */
    int reacts, is_json;
};

/* ---- the end --------------------------------------------------------------- */

static void call_free(struct call *c)
{
    bytes_free(&c->messages);
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

static void end_as(struct call *c, mortise_status status)
{
    int nomem = status == MORTISE_S_NOMEM;

    end(c, status, mortise_strz(nomem ? no_memory : NULL),
        mortise_strz(nomem ? no_memory_detail : NULL));
}

/* Takes the call, which failed for good. */
static void fail(struct call *c, const char *code, mortise_str msg)
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

/* Takes the call: the provider's error is its own. */
static void fail_as(struct call *c, mortise_jv error)
{
    static const char *const members[] = {"code", "class", "retry_after_ms"};
    mortise_jv one, message = mortise_jv_get(error, "message");
    struct bytes words = {0};
    mortise_str detail;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        one = mortise_jv_get(error, members[i]);
        if (mortise_jv_type(one) == MORTISE_JV_NONE)
            continue;
        mortise_jw_key(&w, members[i]);
        mortise_jw_value(&w, one);
    }
    mortise_jw_end(&w);
    if (mortise_jw_finish(&w, &detail) == MORTISE_S_OK &&
        bytes_decode(&words, message) == MORTISE_S_OK)
        end(c, MORTISE_S_FAILED, bytes_str(&words), detail);
    else
        end_as(c, MORTISE_S_NOMEM);
    bytes_free(&words);
    free(w.p);
}

/* ---- messages -------------------------------------------------------------- */

/* One more, as JSON. */
static mortise_status add(struct call *c, mortise_str message)
{
    mortise_status status = bytes_room(&c->messages, message.n + 2);

    if (status != MORTISE_S_OK)
        return status;
    if (c->messages.n == 0)
        bytes_put(&c->messages, mortise_strz("["));
    else
        c->messages.p[c->messages.n - 1] = ','; /* the list goes on */
    bytes_put(&c->messages, message);
    return bytes_put(&c->messages, mortise_strz("]"));
}

/* A text is itself, any other value its JSON. */
static void write_text(mortise_jw *w, mortise_jv v)
{
    mortise_jw_object(w);
    mortise_jw_key(w, "type");
    mortise_jw_cstr(w, "text");
    mortise_jw_key(w, "text");
    if (mortise_jv_type(v) == MORTISE_JV_STRING)
        mortise_jw_value(w, v);
    else
        mortise_jw_string(w, mortise_strn(v.p, v.n));
    mortise_jw_end(w);
}

/* A list of objects, whose kind the host judges. */
static int is_parts(mortise_jv v)
{
    mortise_jv_iter it = mortise_jv_each(v);
    mortise_jv name, one;
    int any = 0;

    if (mortise_jv_type(v) != MORTISE_JV_ARRAY)
        return 0;
    while (mortise_jv_next(&it, &name, &one)) {
        any = 1;
        if (mortise_jv_type(mortise_jv_get(one, "type")) != MORTISE_JV_STRING)
            return 0;
    }
    return any;
}

static mortise_status add_of(struct call *c, const char *role, mortise_jv v)
{
    mortise_status status;
    mortise_str json;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "role");
    mortise_jw_cstr(&w, role);
    mortise_jw_key(&w, "parts");
    if (is_parts(v)) {
        mortise_jw_value(&w, v);
    } else {
        mortise_jw_array(&w);
        write_text(&w, v);
        mortise_jw_end(&w);
    }
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = add(c, json);
    free(w.p);
    return status;
}

/* Why the reply is not what was asked for, for the model. */
static mortise_status add_complaint(struct call *c, mortise_jv why)
{
    struct bytes text = {0};
    mortise_status status;
    mortise_str json;
    mortise_jw w;
    mortise_jv v;

    status = bytes_put(&text, mortise_strz("That is not what was asked for: "));
    if (status == MORTISE_S_OK)
        status = bytes_decode(&text, why);
    if (status == MORTISE_S_OK)
        status = bytes_put(&text, mortise_strz(". Reply with the JSON alone, "
                                               "and nothing around it."));
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_string(&w, bytes_str(&text));
    if (status == MORTISE_S_OK)
        status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK) {
        v.p = json.p;
        v.n = json.n;
        status = add_of(c, "user", v);
    }
    free(w.p);
    bytes_free(&text);
    return status;
}

/* ---- asking ---------------------------------------------------------------- */

/* The alias whose turn it is; none: they were all tried. */
static mortise_jv alias_of(const struct call *c)
{
    mortise_jv llm = mortise_jv_get(c->node, "llm"), name, one;
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(llm, "fallback"));

    if (c->tried == 0)
        return mortise_jv_get(llm, "provider_id");
    for (uint64_t i = 1; mortise_jv_next(&it, &name, &one); i++)
        if (i == c->tried)
            return one;
    return mortise_jv_none();
}

static void write_member(mortise_jw *w, const char *name, mortise_jv v)
{
    if (mortise_jv_type(v) == MORTISE_JV_NONE)
        return;
    mortise_jw_key(w, name);
    mortise_jw_value(w, v);
}

static void write_response(const struct call *c, mortise_jw *w)
{
    if (!c->is_json)
        return;
    mortise_jw_key(w, "response");
    mortise_jw_object(w);
    write_member(w, "schema", mortise_jv_get(c->node, "output_schema"));
    mortise_jw_end(w);
}

static void write_request(const struct call *c, mortise_jw *w)
{
    static const char *const members[] = {"temperature", "max_tokens",
                                          "reasoning_effort", "cache", "extra"};
    mortise_jv llm = mortise_jv_get(c->node, "llm"), messages;
    int32_t stream = 1;

    messages.p = c->messages.p;
    messages.n = c->messages.n;
    mortise_jv_bool(mortise_jv_get(c->node, "stream"), &stream);
    mortise_jw_object(w);
    write_member(w, "alias", alias_of(c));
    if (c->tried == 0)
        write_member(w, "model", mortise_jv_get(llm, "model"));
    mortise_jw_key(w, "messages");
    mortise_jw_value(w, messages);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        write_member(w, members[i], mortise_jv_get(c->node, members[i]));
    write_response(c, w);
    mortise_jw_key(w, "stream");
    mortise_jw_bool(w, stream);
    mortise_jw_end(w);
}

static void answered(void *ud, mortise_status status, mortise_str answer);

/* MORTISE_S_PENDING: answered() goes on. */
static mortise_status ask(struct call *c)
{
    mortise_status status;
    mortise_str body;
    mortise_jw w;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    write_request(c, &w);
    status = mortise_jw_finish(&w, &body);
    if (status == MORTISE_S_OK)
        status = mortise_model_call(c->inst->host, c->inst->api, c->id, body,
                                    answered, c);
    free(w.p);
    return status;
}

/* Takes the call, unless it goes on. */
static void ask_again(struct call *c, mortise_status status)
{
    if (status == MORTISE_S_OK && c->left == 0) {
        fail(c, "max_iterations",
             mortise_strz("max_internal_iterations is reached, and the reply "
                          "is not there"));
        return;
    }
    c->left--;
    if (status == MORTISE_S_OK)
        status = ask(c);
    if (status != MORTISE_S_PENDING)
        end_as(c, status);
}

/* ---- the reply ------------------------------------------------------------- */

/* Takes the call, whose output is all the text of the message. */
static void end_with_text(struct call *c, mortise_jv message)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(message, "parts"));
    mortise_jv name, part;
    struct bytes text = {0};
    mortise_status status = MORTISE_S_OK;
    mortise_str json;
    mortise_jw w;

    while (status == MORTISE_S_OK && mortise_jv_next(&it, &name, &part))
        if (mortise_jv_is(mortise_jv_get(part, "type"), mortise_strz("text")))
            status = bytes_decode(&text, mortise_jv_get(part, "text"));
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_string(&w, bytes_str(&text));
    if (status == MORTISE_S_OK)
        status = mortise_jw_finish(&w, &json);
    if (status == MORTISE_S_OK)
        status = mortise_emit_output(c->inst->host, c->inst->api, c->id, json);
    free(w.p);
    bytes_free(&text);
    end_as(c, status);
}

/* Takes the call: a whole reply. */
static void take_whole(struct call *c, mortise_jv answer, mortise_jv message)
{
    mortise_jv json = mortise_jv_get(answer, "json");
    mortise_jv invalid = mortise_jv_get(answer, "invalid");
    struct bytes words = {0};
    mortise_status status;

    if (!c->is_json) {
        end_with_text(c, message);
    } else if (mortise_jv_type(json) != MORTISE_JV_NONE) {
        end_as(c, mortise_emit_output(c->inst->host, c->inst->api, c->id,
                                      mortise_strn(json.p, json.n)));
    } else if (c->reacts) {
        status = add(c, mortise_strn(message.p, message.n));
        if (status == MORTISE_S_OK)
            status = add_complaint(c, invalid);
        ask_again(c, status);
    } else {
        status = bytes_decode(&words, invalid);
        if (status == MORTISE_S_OK)
            fail(c, "schema", bytes_str(&words));
        else
            end_as(c, status);
        bytes_free(&words);
    }
}

/* Takes the call. */
static void take_reply(struct call *c, mortise_jv answer)
{
    static const struct {
        const char *stop, *code, *words;
    } ends[] = {
        {"length", "length",
         "the reply was cut at max_tokens; give it more, or ask for less"},
        {"context", "context", "the model's window is full"},
        {"refusal", "refusal", "the model would not"},
        {"filter", "filter", "its server took something out of the reply"},
        {"tools", "reply", "the model called a tool that nobody offered"},
    };
    mortise_jv reply = mortise_jv_get(answer, "reply");
    mortise_jv message = mortise_jv_get(reply, "message");
    mortise_jv stop = mortise_jv_get(reply, "stop");

    if (mortise_jv_is(stop, mortise_strz("end"))) {
        take_whole(c, answer, message);
        return;
    }
    if (mortise_jv_is(stop, mortise_strz("pause"))) {
        ask_again(c, add(c, mortise_strn(message.p, message.n)));
        return;
    }
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        if (mortise_jv_is(stop, mortise_strz(ends[i].stop))) {
            fail(c, ends[i].code, mortise_strz(ends[i].words));
            return;
        }
    }
    fail(c, "reply",
         mortise_strz("the reply ended for a reason that nobody "
                      "knows"));
}

/* Takes the call, unless another alias is asked. */
static void take_error(struct call *c, mortise_jv error)
{
    uint64_t others = mortise_jv_count(
        mortise_jv_get(mortise_jv_get(c->node, "llm"), "fallback"));
    mortise_status status;

    if (c->tried == others) {
        fail_as(c, error);
        return;
    }
    c->tried++;
    status = ask(c);
    if (status != MORTISE_S_PENDING)
        end_as(c, status);
}

static void answered(void *ud, mortise_status status, mortise_str answer)
{
    struct call *c = (struct call *)ud;
    mortise_jv v, error;

    if (status == MORTISE_S_INVALID || status == MORTISE_S_NOTFOUND) {
        fail(c, "model.request", answer); /* the host's words */
        return;
    }
    if (status == MORTISE_S_OK)
        status = mortise_jv_parse(answer, &v);
    if (status != MORTISE_S_OK) {
        end_as(c, status);
        return;
    }
    error = mortise_jv_get(v, "error");
    if (mortise_jv_type(error) != MORTISE_JV_NONE)
        take_error(c, error);
    else
        take_reply(c, v);
}

/* ---- the call -------------------------------------------------------------- */

static int is_said(mortise_jv v, const char *word)
{
    return mortise_jv_is(v, mortise_strz(word));
}

static mortise_status begin(struct call *c)
{
    mortise_jv instructions = mortise_jv_get(c->node, "instructions");
    mortise_jv response = mortise_jv_get(c->node, "response");
    mortise_jv schema = mortise_jv_get(c->node, "output_schema");
    mortise_status status = MORTISE_S_OK;

    c->left = 10;
    mortise_jv_int(mortise_jv_get(c->node, "max_internal_iterations"),
                   &c->left);
    c->reacts =
        is_said(mortise_jv_get(c->node, "execution_mode"), "react_bounded");
    c->is_json = mortise_jv_type(response) == MORTISE_JV_NONE
                     ? mortise_jv_type(schema) != MORTISE_JV_NONE
                     : is_said(response, "json");
    if (mortise_jv_type(instructions) != MORTISE_JV_NONE)
        status = add_of(c, "system", instructions);
    if (status == MORTISE_S_OK)
        status = add_of(c, "user", mortise_jv_get(c->node, "prompt"));
    if (status != MORTISE_S_OK)
        return status;
    c->left--;
    return ask(c);
}

static mortise_status execute(mortise_inst *i, const mortise_request *r)
{
    struct call *c = (struct call *)calloc(1, sizeof *c);
    mortise_status status = c != NULL ? MORTISE_S_OK : MORTISE_S_NOMEM;
    mortise_jv body;

    if (status == MORTISE_S_OK) {
        c->inst = i;
        c->id = r->call;
        status = mortise_jv_parse(r->body, &body);
    }
    if (status == MORTISE_S_OK) {
        c->node = mortise_jv_get(body, "node");
        status = begin(c);
    }
    if (status == MORTISE_S_PENDING)
        return status;
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
