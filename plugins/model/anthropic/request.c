/* request.c -- a request of mortise.model/1 as one of the Messages API, and as
 * the HTTP request that carries it.
 *
 * turns.c writes `messages` and `system`, blocks.c what is in them.  What was
 * not said is not sent, but for max_tokens, which the server demands.
 *
 *   (1) A member of `extra` replaces ours of the same name as a whole.
 *   (2) `cache` marks four places (turns.c); an `extra.cache_control` of the
 *       caller's would be one more, and is then the only one.
 *   (3) Without tools there is nothing to choose: a choice is not sent.
 */
#include <stddef.h>

#include "writing.h"

/* ---- reading ------------------------------------------------------------- */

#define MEMBER(name) #name, offsetof(struct asked, name)

mortise_status anthropic_asked_read(struct asked *a, mortise_str body)
{
    static const struct {
        const char *name;
        size_t at;
    } members[] = {
        {MEMBER(model)},
        {MEMBER(messages)},
        {MEMBER(tools)},
        {MEMBER(tool_choice)},
        {MEMBER(parallel_tools)},
        {MEMBER(temperature)},
        {MEMBER(max_tokens)},
        {MEMBER(stop)},
        {MEMBER(reasoning_effort)},
        {MEMBER(response)},
        {MEMBER(cache)},
        {MEMBER(stream)},
        {MEMBER(extra)},
        {MEMBER(timeout_ms)},
        {MEMBER(idle_timeout_ms)},
    };
    mortise_jv_iter it = mortise_jv_each(mortise_jv_of(body));
    mortise_jv name, value;

    memset(a, 0, sizeof *a);
    while (mortise_jv_next(&it, &name, &value))
        for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
            if (mortise_jv_is(name, mortise_strz(members[i].name)))
                *(mortise_jv *)(void *)((char *)a + members[i].at) = value;
    return mortise_jv_type(a->model) == MORTISE_JV_STRING &&
                   mortise_jv_type(a->messages) == MORTISE_JV_ARRAY &&
                   a->messages.n > 2
               ? MORTISE_S_OK
               : MORTISE_S_INVALID;
}

/* ---- the members --------------------------------------------------------- */

static void put_tools(struct writing *x)
{
    mortise_jv_iter it = mortise_jv_each(x->asked->tools);
    uint64_t n = mortise_jv_count(x->asked->tools);
    mortise_jv tool;

    if (n == 0)
        return;
    mortise_jw_key(&x->w, "tools");
    mortise_jw_array(&x->w);
    while (mortise_jv_next(&it, NULL, &tool)) {
        mortise_jw_object(&x->w);
        anthropic_value_put(&x->w, "name", mortise_jv_get(tool, "name"));
        anthropic_value_put(&x->w, "description",
                            mortise_jv_get(tool, "description"));
        anthropic_value_put(&x->w, "input_schema",
                            mortise_jv_get(tool, "parameters"));
        anthropic_block_end(x, x->cache && --n == 0);
    }
    mortise_jw_end(&x->w);
}

/* The server's word for a choice of tools that is no tool's name. */
static const char *choice_word(mortise_jv choice)
{
    if (mortise_jv_is(choice, mortise_strz("none")))
        return "none";
    return mortise_jv_is(choice, mortise_strz("required")) ? "any" : "auto";
}

/* Without tools there is nothing to choose, and saying so would be refused. */
static void put_tool_choice(struct writing *x)
{
    const struct asked *a = x->asked;
    mortise_jv name = mortise_jv_get(a->tool_choice, "name");
    int one = a->parallel_tools.n > 0 && !anthropic_is_true(a->parallel_tools);
    int named = name.n > 0;
    const char *word = named ? "tool" : choice_word(a->tool_choice);

    if ((a->tool_choice.n == 0 && !one) ||
        (mortise_jv_count(a->tools) == 0 &&
         mortise_jv_get(a->extra, "tools").n == 0))
        return;
    mortise_jw_key(&x->w, "tool_choice");
    mortise_jw_object(&x->w);
    anthropic_text_put(&x->w, "type", word);
    anthropic_value_put(&x->w, "name", name);
    if (one && strcmp(word, "none") != 0) {
        mortise_jw_key(&x->w, "disable_parallel_tool_use");
        mortise_jw_bool(&x->w, 1);
    }
    mortise_jw_end(&x->w);
}

static void put_messages(struct writing *x)
{
    mortise_jw_key(&x->w, "messages");
    anthropic_messages_put(x);
}

static void put_model(struct writing *x)
{
    anthropic_value_put(&x->w, "model", x->asked->model);
}

/* The server demands it. */
static void put_max_tokens(struct writing *x)
{
    mortise_jw_key(&x->w, "max_tokens");
    if (x->asked->max_tokens.n > 0)
        mortise_jw_value(&x->w, x->asked->max_tokens);
    else
        mortise_jw_int(&x->w, x->inst->max_tokens);
}

static void put_thinking(struct writing *x)
{
    anthropic_value_put(&x->w, "thinking", x->inst->thinking);
}

static void put_output_config(struct writing *x)
{
    mortise_jv schema = mortise_jv_get(x->asked->response, "schema");

    if (x->asked->reasoning_effort.n == 0 && schema.n == 0)
        return;
    mortise_jw_key(&x->w, "output_config");
    mortise_jw_object(&x->w);
    anthropic_value_put(&x->w, "effort", x->asked->reasoning_effort);
    if (schema.n > 0) {
        mortise_jw_key(&x->w, "format");
        mortise_jw_object(&x->w);
        anthropic_text_put(&x->w, "type", "json_schema");
        anthropic_value_put(&x->w, "schema", schema);
        mortise_jw_end(&x->w);
    }
    mortise_jw_end(&x->w);
}

static void put_stop_sequences(struct writing *x)
{
    if (mortise_jv_count(x->asked->stop) > 0)
        anthropic_value_put(&x->w, "stop_sequences", x->asked->stop);
}

static void put_temperature(struct writing *x)
{
    anthropic_value_put(&x->w, "temperature", x->asked->temperature);
}

static void put_stream(struct writing *x)
{
    if (anthropic_is_true(x->asked->stream))
        anthropic_value_put(&x->w, "stream", x->asked->stream);
}

/* The request of the Messages API. */
static void put_message_request(struct writing *x)
{
    static const struct {
        const char *name;
        void (*put)(struct writing *x); /* with its name, or not at all */
    } members[] = {
        {"model", put_model},
        {"max_tokens", put_max_tokens},
        {"system", anthropic_system_put},
        {"tools", put_tools},
        {"tool_choice", put_tool_choice},
        {"messages", put_messages},
        {"thinking", put_thinking},
        {"output_config", put_output_config},
        {"stop_sequences", put_stop_sequences},
        {"temperature", put_temperature},
        {"stream", put_stream},
    };
    mortise_jv extra = x->asked->extra, name, value;
    mortise_jv_iter it = mortise_jv_each(extra);

    mortise_jw_object(&x->w);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        if (mortise_jv_get(extra, members[i].name).n == 0)
            members[i].put(x);
    while (it.is_object && mortise_jv_next(&it, &name, &value))
        anthropic_member_put(&x->w, name, value);
    mortise_jw_end(&x->w);
}

/* ---- the request that carries it ----------------------------------------- */

static void put_headers(struct writing *x)
{
    mortise_jv_iter it = mortise_jv_each(x->inst->headers);
    mortise_jv name, value;

    mortise_jw_key(&x->w, "headers");
    mortise_jw_object(&x->w);
    mortise_jw_key(&x->w, "anthropic-version");
    mortise_jw_string(&x->w, bytes_str(&x->inst->version));
    if (x->inst->key.n > 0) {
        mortise_jw_key(&x->w, x->inst->bearer ? "authorization" : "x-api-key");
        mortise_jw_string(&x->w, bytes_str(&x->inst->key));
    }
    while (it.is_object && mortise_jv_next(&it, &name, &value))
        anthropic_member_put(&x->w, name, value);
    mortise_jw_end(&x->w);
}

/* A server that does not stream says nothing until all is said: it may take as
 * long as the whole, or as long as the vendor's own clients wait. */
static void put_times(struct writing *x)
{
    const struct asked *a = x->asked;
    int64_t whole_ms = 600000;

    anthropic_value_put(&x->w, "timeout_ms", a->timeout_ms);
    if (a->idle_timeout_ms.n > 0) {
        anthropic_value_put(&x->w, "idle_timeout_ms", a->idle_timeout_ms);
    } else if (!anthropic_is_true(a->stream)) {
        mortise_jv_int(a->timeout_ms, &whole_ms);
        mortise_jw_key(&x->w, "idle_timeout_ms");
        mortise_jw_int(&x->w, whole_ms);
    }
}

mortise_status anthropic_request_write(const mortise_inst *inst,
                                       const struct asked *a, char **room,
                                       mortise_str *body)
{
    struct writing x = {.status = MORTISE_S_OK, .inst = inst, .asked = a};
    mortise_status status;

    x.cache = anthropic_is_true(a->cache) &&
              mortise_jv_get(a->extra, "cache_control").n == 0;
    mortise_jw_growing(&x.w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&x.w);
    mortise_jw_key(&x.w, "url");
    mortise_jw_string(&x.w, bytes_str(&inst->url));
    anthropic_text_put(&x.w, "method", "POST");
    put_headers(&x);
    mortise_jw_key(&x.w, "json");
    put_message_request(&x);
    put_times(&x);
    put_stream(&x);
    mortise_jw_end(&x.w);
    status = mortise_jw_finish(&x.w, body);
    *room = x.w.p;
    return x.status != MORTISE_S_OK ? x.status : status;
}
