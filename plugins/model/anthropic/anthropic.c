/* anthropic.c -- models behind the Messages API: Anthropic's, or any server's
 * that speaks it.
 *
 * Config
 *   base_url    where the server is (https://api.anthropic.com); `/v1/messages`
 *               is put behind it, or `/messages` if it ends in /v1.  " private"
 *               behind it is for a name that leads to a private network.
 *   api_key     a secret; absent: none is sent
 *   auth        key (the default): as x-api-key; bearer: as Authorization
 *   version     of the protocol, as anthropic-version (2023-06-01).  From
 *               2026-10-21 on the server refuses a temperature.
 *   headers     {name: value}: more of them, such as anthropic-beta
 *   max_tokens  of a reply, when the request says none (4096): the server
 *               demands a number
 *   thinking    the server's member of that name, as it is: {type: adaptive},
 *               {type: enabled, budget_tokens: 2048}, {type: disabled} and so
 *               on.  It must not change while tools are being called.
 *   cache_ttl   5m or 1h: how long what a request with `cache` marks is kept
 *   system_turns  system (the default): a system message behind the first turn
 *               is sent as one; user: as the user's, for models and servers
 *               that know no other way
 *
 * Of a request (mortise/model.h)
 *   reasoning_effort  output_config.effort
 *   response    with a schema: output_config.format.  Without one there is no
 *               such mode, and nothing is sent: say it in the prompt.
 *   extra       replaces members of the same name as a whole
 * turns.c says how messages become turns, blocks.c what becomes of their
 * parts, reply.c what becomes of blocks and stop reasons, stream.c how events
 * are read, error.c what errors mean.
 *
 * A deployment that uses it
 *   secrets: {anthropic: {env: ANTHROPIC_API_KEY}}
 *   models:
 *     default:
 *       provider: anthropic
 *       model: claude-opus-5-5
 *       api_key: secret://anthropic
 *       thinking: {type: adaptive}
 *
 * What it promises
 *
 *   (1) One call is one request.  It repeats nothing and waits for nothing but
 *       the host's answer: connections, TLS and time are the host's.
 *   (2) Thinking, and what else only the server understands, is in the reply
 *       as `provider`, whole and in its place, and goes back as it came.  Its
 *       issuer is the protocol and the server's URL: another model of the same
 *       server gets it, too, and ignores what it cannot read; another server
 *       never does.  The server binds thinking to all that stands before it,
 *       so whoever rewrites an earlier message, or system or tools, must drop
 *       it from there on.
 *   (3) A reply is whole, or it is an error: with a stream message_stop came.
 *   (4) What it used is told once, as the server said it last, also when the
 *       call fails behind that.
 *
 * It makes no vectors: the server has none. */
#include "anthropic.h"

#include <strings.h>

#include "../../nomem.h"

/* ---- the answer ---------------------------------------------------------- */

static void call_free(struct call *c)
{
    sse_finish(&c->sse);
    halves_finish(&c->halves);
    anthropic_reply_finish(&c->reply);
    bytes_free(&c->error);
    bytes_free(&c->head);
    free(c);
}

/* Does the answer, or its head, say that its body is events?  One that does
 * not say what it is is what was asked for. */
static int is_event_stream(const struct call *c, mortise_jv answer)
{
    static const char events[] = "text/event-stream";
    mortise_jv type =
        mortise_jv_get(mortise_jv_get(answer, "headers"), "content-type");

    if (mortise_jv_type(type) != MORTISE_JV_STRING)
        return c->stream;
    return type.n > sizeof events &&
           strncasecmp(type.p + 1, events, sizeof events - 1) == 0;
}

static int64_t status_of(mortise_jv answer)
{
    int64_t status = 0;

    mortise_jv_int(mortise_jv_get(answer, "status"), &status);
    return status;
}

/* Read a piece of the events, unless they went wrong before. */
static void feed(struct call *c, mortise_str piece)
{
    if (c->failed == MORTISE_S_OK)
        c->failed = sse_feed(&c->sse, piece, anthropic_event, c);
}

/* The events are over, and the last one may have been cut. */
static void close_events(struct call *c)
{
    c->closing = 1;
    if (c->failed == MORTISE_S_OK)
        c->failed = sse_close(&c->sse, anthropic_event, c);
}

/* A whole message at once. */
static mortise_status read_message(struct call *c, mortise_jv message)
{
    mortise_jv content = mortise_jv_get(message, "content"), one;
    mortise_jv_iter it = mortise_jv_each(content);
    mortise_status status = anthropic_reply_head(&c->reply, message);
    int64_t index = 0;

    if (mortise_jv_type(content) != MORTISE_JV_ARRAY) {
        c->failed_words = "the server's answer is not a message";
        return MORTISE_S_INVALID;
    }
    while (status == MORTISE_S_OK && mortise_jv_next(&it, NULL, &one))
        status = anthropic_block_begin(c, index++, one, 0);
    c->ended = status == MORTISE_S_OK;
    return status;
}

static mortise_status read_json(struct call *c, mortise_str body)
{
    mortise_jv v;
    mortise_status status = halves_parse(&c->halves, body, 0, &v);

    if (status != MORTISE_S_OK) {
        c->failed_words = "the server's answer is not JSON";
        return status;
    }
    if (mortise_jv_is(mortise_jv_get(v, "type"), mortise_strz("error")))
        return bytes_put(&c->error, mortise_strn(v.p, v.n));
    return read_message(c, v);
}

/* The reply is whole: the call ends with it. */
static void give(struct call *c, mortise_jv answer)
{
    const mortise_inst *inst = c->inst;
    mortise_jv headers = mortise_jv_get(answer, "headers");
    mortise_status status = anthropic_reply_emit(
        inst, c->id, &c->reply, mortise_jv_get(headers, "request-id"));

    if (status != MORTISE_S_OK)
        anthropic_fail(c, status, "permanent", MORTISE_MODEL_PROTOCOL,
                       "the host rejected the output");
    else
        inst->api->finish(inst->host, c->id, status, mortise_str_empty(),
                          mortise_str_empty());
}

/* How the call ends, now that all is read.  `last` is what the host said: with
 * MORTISE_S_OK its answer, else words. */
static void conclude(struct call *c, mortise_status last, mortise_str words,
                     mortise_jv answer)
{
    int broke = last == MORTISE_S_OK || (last == MORTISE_S_IO && c->is_events);

    anthropic_usage_emit(c);
    if (c->failed == MORTISE_S_NOMEM)
        anthropic_fail_nomem(c);
    else if (c->error.n > 0)
        anthropic_fail_server(c, 0, answer, bytes_str(&c->error));
    else if (c->failed != MORTISE_S_OK)
        anthropic_fail(c, MORTISE_S_FAILED, "permanent", MORTISE_MODEL_PROTOCOL,
                       c->failed_words);
    else if (c->ended)
        give(c, answer);
    else if (broke)
        anthropic_fail(c, MORTISE_S_FAILED, "transient", MORTISE_MODEL_STREAM,
                       "the stream ended before the end of the reply");
    else
        anthropic_fail_host(c, last, words);
}

/* The body of an answer that has not been read in pieces.  What of the reply
 * points into it is of no use behind this. */
static void read_body(struct call *c, mortise_jv answer, mortise_str body)
{
    int64_t status = status_of(answer);

    if (status >= 400) {
        anthropic_fail_server(c, status, answer, body);
        return;
    }
    if (status != 200) {
        c->failed = MORTISE_S_INVALID;
        c->failed_words = "the server answered with neither 200 nor an error";
    } else if (is_event_stream(c, answer)) {
        c->is_events = 1;
        feed(c, body);
        close_events(c);
    } else {
        c->failed = read_json(c, body);
    }
    conclude(c, MORTISE_S_OK, mortise_str_empty(), answer);
}

/* The whole answer. */
static void answered(struct call *c, mortise_str text)
{
    struct bytes body = {NULL, 0, 0};
    mortise_jv answer, coded;
    mortise_status status = mortise_jv_parse(text, &answer);

    if (status == MORTISE_S_OK && c->is_events) {
        close_events(c);
        conclude(c, MORTISE_S_OK, mortise_str_empty(), answer);
        return;
    }
    coded = mortise_jv_get(answer, "body");
    if (status == MORTISE_S_OK && coded.n > 0)
        status = bytes_decode(&body, coded);
    if (status == MORTISE_S_OK)
        read_body(c, answer, bytes_str(&body));
    else if (status == MORTISE_S_NOMEM)
        anthropic_fail_nomem(c);
    else
        anthropic_fail(c, MORTISE_S_FAILED, "permanent", MORTISE_MODEL_PROTOCOL,
                       "the host's answer is invalid");
    bytes_free(&body);
}

/* Does a reply follow the head, in events? */
static void take_head(struct call *c, mortise_str text)
{
    mortise_jv head;

    c->has_pieces = 1;
    c->is_events = mortise_jv_parse(text, &head) == MORTISE_S_OK &&
                   status_of(head) == 200 && is_event_stream(c, head);
    if (c->is_events)
        c->failed = bytes_put(&c->head, text);
}

/* Read a piece of the body.  The last event of a message ends the call, though
 * the server may keep the connection open; so does an error. */
static void take_piece(struct call *c, mortise_str piece)
{
    if (!c->is_events || c->finished)
        return;
    feed(c, piece);
    if (!c->ended && c->error.n == 0 && c->failed == MORTISE_S_OK)
        return;
    c->finished = 1;
    conclude(c, MORTISE_S_OK, mortise_str_empty(),
             (mortise_jv){c->head.p, c->head.n});
}

static void on_answer(void *ud, mortise_status status, mortise_str answer)
{
    struct call *c = ud;

    if (status == MORTISE_S_PENDING) {
        if (c->has_pieces)
            take_piece(c, answer);
        else
            take_head(c, answer);
        return;
    }
    if (!c->finished && status == MORTISE_S_OK)
        answered(c, answer);
    else if (!c->finished)
        conclude(c, status, answer, mortise_jv_none());
    call_free(c); /* also of a call that ended before */
}

/* ---- the request --------------------------------------------------------- */

static mortise_status refuse(const mortise_inst *inst, const mortise_request *r,
                             mortise_status status)
{
    if (status == MORTISE_S_NOMEM)
        return nomem(inst->host, inst->api, r->call);
    if (status == MORTISE_S_INVALID)
        return mortise_refuse(inst->host, inst->api, r->call, status,
                              "permanent", MORTISE_MODEL_REQUEST,
                              "not a valid request of mortise.model/1");
    return mortise_refuse(inst->host, inst->api, r->call, status, "permanent",
                          MORTISE_MODEL_CONNECT,
                          "the host rejected the request");
}

static mortise_status ask(struct call *c, const struct asked *asked)
{
    const mortise_inst *inst = c->inst;
    char *room = NULL;
    mortise_str body;
    mortise_status status = anthropic_request_write(inst, asked, &room, &body);

    if (status == MORTISE_S_OK)
        status = inst->api->ask(inst->host, c->id,
                                mortise_strz(MORTISE_HTTP_REQUEST_1), body,
                                on_answer, c);
    free(room);
    return status;
}

static struct call *call_new(mortise_inst *inst, const mortise_request *r,
                             const struct asked *asked)
{
    struct call *c = calloc(1, sizeof *c);

    if (c == NULL)
        return NULL;
    c->inst = inst;
    c->id = r->call;
    mortise_jv_bool(asked->stream, &c->stream);
    sse_init(&c->sse, SSE_EVENT_BYTES);
    anthropic_reply_init(&c->reply);
    c->failed_words = "the stream has an event that is too large";
    return c;
}

static mortise_status chat(mortise_inst *inst, const mortise_request *r)
{
    struct asked asked;
    struct call *c;
    mortise_status status = anthropic_asked_read(&asked, r->body);

    if (status != MORTISE_S_OK)
        return refuse(inst, r, status);
    c = call_new(inst, r, &asked);
    status = c != NULL ? ask(c, &asked) : MORTISE_S_NOMEM;
    if (status == MORTISE_S_PENDING)
        return status;
    if (c != NULL)
        call_free(c);
    return refuse(inst, r, status);
}

/* ---- config -------------------------------------------------------------- */

/* The text of a member, or else what it is by default. */
static mortise_status take_text(struct bytes *to, mortise_jv v,
                                const char *otherwise)
{
    return v.n > 0 ? bytes_decode(to, v)
                   : bytes_put(to, mortise_strz(otherwise));
}

static int ends_in(const struct bytes *b, const char *end)
{
    size_t n = strlen(end);

    return b->n >= n && memcmp(b->p + b->n - n, end, n) == 0;
}

/* Where messages go, and the issuer, from the place alone: what stands behind
 * a blank is the host's. */
static mortise_status take_url(mortise_inst *inst, mortise_jv base_url)
{
    struct bytes *url = &inst->url;
    mortise_status status =
        take_text(url, base_url, "https://api.anthropic.com");
    char *blank;

    if (status != MORTISE_S_OK)
        return status;
    blank = url->n > 0 ? memchr(url->p, ' ', url->n) : NULL;
    url->n = blank != NULL ? (uint64_t)(blank - url->p) : url->n;
    while (ends_in(url, "/"))
        url->n--;
    status = bytes_put(&inst->issuer, mortise_strz("anthropic.messages "));
    if (status == MORTISE_S_OK)
        status = bytes_put(&inst->issuer, bytes_str(url));
    if (status == MORTISE_S_OK)
        status =
            bytes_put(url, mortise_strz(ends_in(url, "/v1") ? "/messages"
                                                            : "/v1/messages"));
    return status;
}

static mortise_status take_key(mortise_inst *inst, mortise_jv config)
{
    mortise_jv key = mortise_jv_get(config, "api_key");
    mortise_status status = MORTISE_S_OK;

    inst->bearer =
        mortise_jv_is(mortise_jv_get(config, "auth"), mortise_strz("bearer"));
    if (key.n > 0 && inst->bearer)
        status = bytes_put(&inst->key, mortise_strz("Bearer "));
    if (key.n > 0 && status == MORTISE_S_OK)
        status = bytes_decode(&inst->key, key);
    return status;
}

static mortise_status take_config(mortise_inst *inst, mortise_str text)
{
    mortise_jv config;
    mortise_status status = mortise_jv_parse(text, &config);

    if (status == MORTISE_S_OK)
        status = take_url(inst, mortise_jv_get(config, "base_url"));
    if (status == MORTISE_S_OK)
        status = take_key(inst, config);
    if (status == MORTISE_S_OK)
        status = take_text(&inst->version, mortise_jv_get(config, "version"),
                           "2023-06-01");
    inst->headers = mortise_jv_get(config, "headers");
    inst->thinking = mortise_jv_get(config, "thinking");
    inst->cache_ttl = mortise_jv_get(config, "cache_ttl");
    inst->system_as_user = mortise_jv_is(mortise_jv_get(config, "system_turns"),
                                         mortise_strz("user"));
    inst->max_tokens = 4096;
    mortise_jv_int(mortise_jv_get(config, "max_tokens"), &inst->max_tokens);
    return status;
}

/* ---- plugin and module --------------------------------------------------- */

static void destroy(mortise_inst *inst)
{
    if (inst->key.n > 0)
        explicit_bzero(inst->key.p, inst->key.n);
    bytes_free(&inst->url);
    bytes_free(&inst->issuer);
    bytes_free(&inst->version);
    bytes_free(&inst->key);
    if (inst->said != NULL)
        prefixes_free(inst->said);
    free(inst->said);
    free(inst->config);
    free(inst);
}

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_inst *inst = calloc(1, sizeof *inst);
    mortise_status status = MORTISE_S_NOMEM;

    if (inst != NULL) {
        inst->host = host;
        inst->api = api;
        inst->config = malloc(config.n + 1);
        inst->said = calloc(1, sizeof *inst->said);
    }
    if (inst != NULL && inst->config != NULL && inst->said != NULL) {
        if (config.n > 0)
            memcpy(inst->config, config.p, config.n);
        status = take_config(inst, mortise_strn(inst->config, config.n));
    }
    if (status == MORTISE_S_OK) {
        *out = inst;
        return status;
    }
    if (inst != NULL)
        destroy(inst);
    return status == MORTISE_S_NOMEM
               ? nomem(host, api, 0)
               : mortise_refuse(
                     host, api, 0, status, "permanent", "invalid",
                     "the config is not JSON, or does not match its schema");
}

static const void *get_interface(mortise_inst *inst, const char *id)
{
    static const mortise_model model = {.size = sizeof model, .chat = chat};

    (void)inst;
    return strcmp(id, MORTISE_MODEL_1) == 0 ? &model : NULL;
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "anthropic",
    .version = "0.1.0",
    .create = create,
    .get_interface = get_interface,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
