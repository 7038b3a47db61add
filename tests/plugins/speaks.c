/* speaks.c -- a model that does what the last message says:
 *
 *   say X    replies with X
 *   show     ... with the request, as it came
 *   key      ... with the length of config.api_key
 *   stream   ... with two pieces, and thoughts, and says what it used
 *   fetch    ... with what is at config.base_url
 *   keep, ask, wait   ... with the status of kv.put/1, model.call/1, timer.wait/1
 *   fail     fails, and says what it used; later helps
 *   none     gives nothing
 *   bad      ... what is no reply
 *   call     calls a tool, and says that it ended
 *   calls    ... calls two by one id
 *   stop     ... stops for tools, and calls none
 *   image, file       replies with nothing but that
 *   shown             ... with an image and a text
 *   blank, refuses    ... with a refusal of no text, or of one, and says that it ended
 *   hang     waits until it is cancelled
 *
 * embed: for each text its length. */
#include <mortise/model.h>
#include <stdio.h>

#include "simple.h"

static char key[256];

struct asking {
    mortise_inst *inst;
    mortise_call call;
};

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_jv c;

    if (mortise_jv_parse(config, &c) == MORTISE_S_OK)
        mortise_jv_cstr(mortise_jv_get(c, "api_key"), key, sizeof key);
    return simple_create(host, api, config, out);
}

/* The reply of this text, which is all of it. */
static mortise_status say(mortise_inst *i, mortise_call call, mortise_str text)
{
    static char room[1 << 16];
    mortise_str json;
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "message");
    mortise_jw_object(&w);
    mortise_jw_key(&w, "role");
    mortise_jw_cstr(&w, "assistant");
    mortise_jw_key(&w, "parts");
    mortise_jw_array(&w);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "type");
    mortise_jw_cstr(&w, "text");
    mortise_jw_key(&w, "text");
    mortise_jw_string(&w, text);
    mortise_jw_end(&w);
    mortise_jw_end(&w);
    mortise_jw_end(&w);
    mortise_jw_key(&w, "stop");
    mortise_jw_cstr(&w, "end");
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, &json) == MORTISE_S_OK
               ? mortise_emit_output(i->host, i->api, call, json)
               : MORTISE_S_FAILED;
}

static void answered(void *ud, mortise_status status, mortise_str answer)
{
    struct asking a = *(struct asking *)ud;
    char text[256];
    mortise_jv v;

    free(ud);
    if (status == MORTISE_S_UNSUPPORTED)
        snprintf(text, sizeof text, "%d %.*s", (int)status,
                 (int)(answer.n < 200 ? answer.n : 200), answer.p);
    else
        snprintf(text, sizeof text, "%d", (int)status);
    if (status == MORTISE_S_OK && mortise_jv_parse(answer, &v) == 0)
        mortise_jv_cstr(mortise_jv_get(v, "body"), text, sizeof text);
    say(a.inst, a.call, mortise_strz(text));
    a.inst->api->finish(a.inst->host, a.call,
                        status == MORTISE_S_CANCELLED ? status : MORTISE_S_OK,
                        mortise_str_empty(), mortise_str_empty());
}

static mortise_status ask(mortise_inst *i, const mortise_request *r,
                          const char *method, const char *body)
{
    struct asking *a = (struct asking *)malloc(sizeof *a);
    mortise_status status;

    if (a == NULL)
        return MORTISE_S_NOMEM;
    *a = (struct asking){i, r->call};
    status = i->api->ask(i->host, r->call, mortise_strz(method),
                         mortise_strz(body), answered, a);
    if (status != MORTISE_S_PENDING)
        free(a);
    return status;
}

static mortise_status fetch(mortise_inst *i, const mortise_request *r)
{
    char body[1200];

    snprintf(body, sizeof body, "{\"url\": \"%s\", \"method\": \"POST\"}",
             i->base_url);
    return ask(i, r, MORTISE_HTTP_REQUEST_1, body);
}

static void use(mortise_inst *i, const mortise_request *r)
{
    mortise_emit_usage(
        i->host, i->api, r->call,
        mortise_strz("{\"model_calls\": 1, \"input_tokens\": 1000, "
                     "\"output_tokens\": 100, \"cached_tokens\": 400, "
                     "\"cache_write_tokens\": 100, \"model\": "
                     "\"speaks-1\"}"));
}

static mortise_status stream(mortise_inst *i, const mortise_request *r)
{
    use(i, r);
    mortise_emit_reasoning(i->host, i->api, r->call, mortise_strz("hm"));
    mortise_emit_delta(i->host, i->api, r->call, mortise_strz("one "));
    mortise_emit_delta(i->host, i->api, r->call, mortise_strz("two"));
    return say(i, r->call, mortise_strz("one two"));
}

static mortise_status fail(mortise_inst *i, const mortise_request *r)
{
    use(i, r);
    (i->api->fail)(i->host, r->call, mortise_strz("not now"),
                   mortise_strz("{\"code\": \"model.rate_limit\", \"class\": "
                                "\"transient\", \"retry_after_ms\": 1500}"));
    return MORTISE_S_FAILED;
}

/* What the last message says. */
static void last_text(const mortise_request *r, char *out, uint64_t size)
{
    mortise_jv body, name, message, part;
    mortise_jv_iter messages, parts;

    out[0] = '\0';
    if (mortise_jv_parse(r->body, &body) != MORTISE_S_OK)
        return;
    messages = mortise_jv_each(mortise_jv_get(body, "messages"));
    while (mortise_jv_next(&messages, &name, &message)) {
        parts = mortise_jv_each(mortise_jv_get(message, "parts"));
        while (mortise_jv_next(&parts, &name, &part))
            mortise_jv_cstr(mortise_jv_get(part, "text"), out, size);
    }
}

static mortise_status chat(mortise_inst *i, const mortise_request *r)
{
    char what[64];

    last_text(r, what, sizeof what);
    if (strncmp(what, "say ", 4) == 0)
        return say(i, r->call, mortise_strz(what + 4));
    if (strcmp(what, "show") == 0)
        return say(i, r->call, r->body);
    if (strcmp(what, "key") == 0) {
        snprintf(what, sizeof what, "%d", (int)strlen(key));
        return say(i, r->call, mortise_strz(what));
    }
    if (strcmp(what, "stream") == 0)
        return stream(i, r);
    if (strcmp(what, "fetch") == 0)
        return fetch(i, r);
    if (strcmp(what, "keep") == 0)
        return ask(i, r, MORTISE_KV_PUT_1, "{\"key\": \"k\", \"value\": 1}");
    if (strcmp(what, "ask") == 0)
        return ask(i, r, MORTISE_MODEL_CALL_1, "{}");
    if (strcmp(what, "wait") == 0)
        return ask(i, r, MORTISE_TIMER_WAIT_1, "{\"ms\": 1}");
    if (strcmp(what, "fail") == 0)
        return fail(i, r);
    if (strcmp(what, "bad") == 0)
        return mortise_emit_output(i->host, i->api, r->call,
                                   mortise_strz("{\"text\": \"hi\"}"));
#define CALL                                                                   \
    "{\"type\": \"tool_call\", \"id\": \"1\", \"name\": \"f\", "               \
    "\"arguments\": {}}"
#define NAMELESS                                                               \
    "{\"type\": \"tool_call\", \"id\": \"1\", \"name\": \"f\\u0000\", "        \
    "\"arguments\": {}}"
#define CALLING(calls)                                                         \
    "{\"message\": {\"role\": \"assistant\", \"parts\": [" calls               \
    "]}, \"stop\": \"end\"}"
    if (strcmp(what, "call") == 0)
        return mortise_emit_output(i->host, i->api, r->call,
                                   mortise_strz(CALLING(CALL)));
    if (strcmp(what, "calls") == 0)
        return mortise_emit_output(i->host, i->api, r->call,
                                   mortise_strz(CALLING(CALL ", " CALL)));
    if (strcmp(what, "nul") == 0)
        return mortise_emit_output(i->host, i->api, r->call,
                                   mortise_strz(CALLING(NAMELESS)));
    if (strcmp(what, "stop") == 0)
        return mortise_emit_output(
            i->host, i->api, r->call,
            mortise_strz(
                "{\"message\": {\"role\": \"assistant\", \"parts\": []}, "
                "\"stop\": \"tools\"}"));
#define IMAGE                                                                  \
    "{\"type\": \"image\", \"media_type\": \"image/png\", \"data\": \"AAAA\"}"
    if (strcmp(what, "image") == 0)
        return mortise_emit_output(i->host, i->api, r->call,
                                   mortise_strz(CALLING(IMAGE)));
    if (strcmp(what, "file") == 0)
        return mortise_emit_output(
            i->host, i->api, r->call,
            mortise_strz(
                CALLING("{\"type\": \"reasoning\", \"text\": \"hm\"}, "
                        "{\"type\": \"file\", \"url\": \"http://x\"}")));
    if (strcmp(what, "shown") == 0)
        return mortise_emit_output(
            i->host, i->api, r->call,
            mortise_strz(
                CALLING(IMAGE ", {\"type\": \"text\", \"text\": \"a cat\"}")));
    if (strcmp(what, "blank") == 0)
        return mortise_emit_output(
            i->host, i->api, r->call,
            mortise_strz(CALLING("{\"type\": \"refusal\", \"text\": \" \"}")));
    if (strcmp(what, "refuses") == 0)
        return mortise_emit_output(
            i->host, i->api, r->call,
            mortise_strz(CALLING("{\"type\": \"refusal\", \"text\": \"no\"}")));
    return strcmp(what, "hang") == 0 ? MORTISE_S_PENDING : MORTISE_S_OK;
}

static mortise_status embed(mortise_inst *i, const mortise_request *r)
{
    char out[256];
    mortise_jv body, texts;
    int64_t n;

    mortise_jv_parse(r->body, &body);
    texts = mortise_jv_get(body, "texts");
    n = (int64_t)mortise_jv_count(texts);
    snprintf(out, sizeof out, "{\"vectors\": [[%d, 0.5]]}", (int)n);
    return mortise_emit_output(i->host, i->api, r->call, mortise_strz(out));
}

static void cancel(mortise_inst *i, mortise_call call)
{
    i->api->finish(i->host, call, MORTISE_S_CANCELLED, mortise_str_empty(),
                   mortise_str_empty());
}

static mortise_status nothing(mortise_inst *inst, const mortise_request *r)
{
    (void)inst;
    (void)r;
    return MORTISE_S_OK;
}

static const void *get_interface(mortise_inst *inst, const char *id)
{
    static const mortise_model model = {sizeof model, 0, chat, embed};
    static const mortise_executor executor = {.size = sizeof executor,
                                              .execute = nothing};

    (void)inst;
    if (strcmp(id, MORTISE_EXECUTOR_1) == 0)
        return &executor;
    return strcmp(id, MORTISE_MODEL_1) == 0 ? &model : NULL;
}

static const mortise_plugin plugin = {.size = sizeof plugin,
                                      .id = "speaks",
                                      .version = "1.0.0",
                                      .create = create,
                                      .get_interface = get_interface,
                                      .cancel = cancel,
                                      .quiesce = simple_quiesce,
                                      .destroy = simple_destroy};

MORTISE_MODULE_OF(plugin);
