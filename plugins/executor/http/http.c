/* http.c -- HTTP requests.
 *
 * Operations
 *   get      {url, headers?, as?, any_status?, redirects?, max_body?,
 *             timeout_ms?}                -> {status, url, headers, body}
 *            Reads: made again after a crash.
 *   request  {url, method?, headers?, body? | json?, ...}      -> the same
 *            May change something: method is POST unless it says otherwise.
 *            When a crash, a lost connection, a timeout or a status of 408, 500,
 *            502 or 504 leaves it open whether it happened, the run is in doubt,
 *            and a person decides; but a PUT or DELETE is made again.  Neither
 *            retry_policy nor resume is a way around.
 *   submit   {url, method?, headers?, body? | json?, ...}      -> the same
 *            With the header Idempotency-Key, the same on every attempt of the
 *            node: for servers that promise to do a thing once for each key.
 *            After a crash or a lost connection it is sent again.
 *
 *   as          what body is: `json` (an answer that is none is the error
 *               `bad_json`), `text`, or `auto` (the default): JSON where the
 *               answer's Content-Type says so, else text.  Bytes that are no
 *               UTF-8 come as base64, whatever it says.
 *   any_status  true: a status from 400 on is a result like any other.
 *   redirects   false: a redirect is a result.  Else up to ten are followed.
 *   max_body    bytes, decompressed (16 MiB)
 *   headers     {name: value}.  In the output: names in lower case.  A value
 *               may refer to a secret: "Bearer secret://NAME".
 *
 * Config
 *   allow    where requests may go: a list of HOST:PORT or URLs.  The engine
 *            holds the plugin to it, at each redirect, too; without it no
 *            request is made.  "HOST:PORT private" is for a name that leads
 *            to a private network or to this machine.
 *   secrets  names of the deployment's secrets that headers may refer to.  The
 *            engine puts the values in on the way out: none comes in here.
 *
 * Error codes
 *   http.404 and so on    a status from 400 on (408, 425, 429 and from 500 on
 *                         are transient; Retry-After is honoured)
 *   http.unreachable*  http.timeout  http.denied  http.invalid  http.failed
 *   bad_json  invalid  no_memory*  cancelled               (* transient)
 * A request that is in doubt is none of these, unless the node says on_in_doubt:
 * retry.
 *
 * A deployment and a node
 *   plugins:
 *     config: {http: {allow: ["https://api.example.com"], secrets: [shop]}}
 *   secrets: {shop: {env: SHOP_TOKEN}}
 *
 *   fetch:
 *     type: tool
 *     tool: http/get
 *     args:
 *       url: "https://api.example.com/v1/orders"
 *       headers: {Authorization: "Bearer secret://shop"}
 *     retry_policy: {max_attempts: 4, backoff: exponential, delay: 500ms}
 *
 * What it promises: nothing waits here.  A call asks the host for the request
 * and ends when the answer comes; connections, TLS, limits and time are the
 * host's (engine/http.c); a cancelled call ends by the answer to its ask.  It
 * touches nothing else (`intent: steps`): a request in doubt is answered later,
 * as the host says (MORTISE_S_SUSPENDED), and the call is entered again. */
#include <mortise/ask.h>

#include <stdlib.h>
#include <strings.h>

struct mortise_inst {
    mortise_host *host;
    const mortise_host_api *api;
};

enum form { AUTO, TEXT, JSON };

struct call {
    mortise_inst *inst;
    mortise_call id;
    enum form form;
    int any_status;
};

/* ---- the answer ---------------------------------------------------------- */

static void finish(const struct call *c, mortise_status status, const char *msg,
                   mortise_str detail)
{
    c->inst->api->finish(c->inst->host, c->id, status, mortise_strz(msg),
                         detail);
}

static void no_memory(const struct call *c)
{
    finish(c, MORTISE_S_NOMEM, "out of memory",
           mortise_strz("{\"class\":\"transient\",\"code\":\"no_memory\"}"));
}

/* application/json, application/problem+json; charset=utf-8 ... */
static int says_json(mortise_jv headers)
{
    char type[256];
    char *end;

    if (mortise_jv_cstr(mortise_jv_get(headers, "content-type"), type,
                        sizeof type) != MORTISE_S_OK)
        return 0;
    end = type + strcspn(type, "; \t");
    *end = '\0';
    return strcasecmp(type, "application/json") == 0 ||
           (end - type > 5 && strcasecmp(end - 5, "+json") == 0);
}

/* A member that a person who settled a doubt may have left out. */
static void write_member(mortise_emitter *out, const char *name, mortise_jv v)
{
    mortise_jw_key(&out->w, name);
    if (mortise_jv_type(v) != MORTISE_JV_NONE) {
        mortise_jw_value(&out->w, v);
    } else if (strcmp(name, "status") == 0) {
        mortise_jw_int(&out->w, 200);
    } else if (strcmp(name, "headers") == 0) {
        mortise_jw_object(&out->w);
        mortise_jw_end(&out->w);
    } else {
        mortise_jw_cstr(&out->w, "");
    }
}

/* {status, url, headers, body}, the body last. */
static mortise_status emit(const struct call *c, mortise_jv answer,
                           mortise_jv body)
{
    static const char *const members[] = {"status", "url", "headers"};
    char room[4096];
    mortise_emitter out;

    mortise_emitter_init(&out, c->inst->host, c->inst->api, c->id, room,
                         sizeof room);
    mortise_jw_object(&out.w);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        write_member(&out, members[i], mortise_jv_get(answer, members[i]));
    write_member(&out, "body", body);
    mortise_jw_end(&out.w);
    return mortise_emitter_finish(&out);
}

static void give(const struct call *c, mortise_jv answer, mortise_jv body)
{
    mortise_status status = emit(c, answer, body);

    finish(c, status, status == MORTISE_S_OK ? "" : "the output was refused",
           mortise_str_empty());
}

/* The body as the JSON that it holds. */
static void give_json(const struct call *c, mortise_jv answer, mortise_jv text)
{
    char *room = malloc(text.n + 1);
    mortise_str plain;
    mortise_jv body;

    if (room == NULL) {
        no_memory(c);
        return;
    }
    if (mortise_jv_text(text, room, text.n + 1, &plain) == MORTISE_S_OK &&
        mortise_jv_parse(plain, &body) == MORTISE_S_OK)
        give(c, answer, body);
    else if (c->form == JSON)
        finish(c, MORTISE_S_FAILED, "the answer is not JSON",
               mortise_strz("{\"code\":\"bad_json\"}"));
    else
        give(c, answer, text);
    free(room);
}

static void answered(const struct call *c, mortise_str text)
{
    char detail[256], words[64];
    mortise_jv answer, body;
    int64_t status = 0;

    if (mortise_jv_parse(text, &answer) != MORTISE_S_OK) {
        finish(c, MORTISE_S_FAILED, "the host's answer is not JSON",
               mortise_str_empty());
        return;
    }
    mortise_jv_int(mortise_jv_get(answer, "status"), &status);
    if (status >= 400 && !c->any_status) {
        snprintf(words, sizeof words, "the server answered with status %d",
                 (int)status);
        finish(c, MORTISE_S_FAILED, words,
               mortise_http_detail(MORTISE_S_OK, text, detail, sizeof detail));
        return;
    }
    body = mortise_jv_get(answer, "body");
    if (mortise_jv_type(body) == MORTISE_JV_NONE)
        give(c, answer, mortise_jv_get(answer, "body_base64"));
    else if (mortise_jv_type(body) != MORTISE_JV_STRING)
        give(c, answer, body); /* JSON that a person gave */
    else if (c->form == JSON || (c->form == AUTO && body.n > 2 &&
                                 says_json(mortise_jv_get(answer, "headers"))))
        give_json(c, answer, body);
    else
        give(c, answer, body);
}

static void on_answer(void *ud, mortise_status status, mortise_str answer)
{
    struct call *c = ud;
    char detail[256], words[512];

    if (status == MORTISE_S_OK) {
        answered(c, answer);
    } else {
        snprintf(words, sizeof words, "%.*s",
                 (int)(answer.n < 500 ? answer.n : 500), answer.p);
        finish(c, status, words,
               mortise_http_detail(status, answer, detail, sizeof detail));
    }
    free(c);
}

/* ---- the request --------------------------------------------------------- */

/* The members that pass as they are. */
static void copy(mortise_jw *w, mortise_jv args, const char *name)
{
    mortise_jv v = mortise_jv_get(args, name);

    if (mortise_jv_type(v) == MORTISE_JV_NONE)
        return;
    mortise_jw_key(w, name);
    mortise_jw_value(w, v);
}

/* The host knows references to secrets by where they stand; in the arguments
 * it saw to it that they are the graph's. */
static int is_secret(mortise_jv value)
{
    static const char scheme[] = "secret://";

    return memmem(value.p, value.n, scheme, sizeof scheme - 1) != NULL;
}

/* Those with secrets, or those without.  The node's key goes with `submit`; a
 * header of that name would be a second opinion. */
static void copy_headers(mortise_jw *w, mortise_jv args, mortise_str key,
                         int secret)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(args, "headers"));
    mortise_jv name, value;

    while (mortise_jv_next(&it, &name, &value)) {
        char room[256];
        mortise_str text;

        if (is_secret(value) != secret ||
            mortise_jv_text(name, room, sizeof room, &text) != MORTISE_S_OK ||
            (key.n > 0 && text.n == 15 &&
             strncasecmp(text.p, "idempotency-key", 15) == 0))
            continue;
        mortise_jw_keyn(w, text);
        mortise_jw_value(w, value);
    }
}

static void write_headers(mortise_jw *w, mortise_jv args, mortise_str key)
{
    mortise_jw_key(w, "headers");
    mortise_jw_object(w);
    copy_headers(w, args, key, 0);
    if (key.n > 0) {
        mortise_jw_key(w, "Idempotency-Key");
        mortise_jw_string(w, key);
    }
    mortise_jw_end(w);
    if (!is_secret(mortise_jv_get(args, "headers")))
        return;
    mortise_jw_key(w, "secret_headers");
    mortise_jw_object(w);
    copy_headers(w, args, key, 1);
    mortise_jw_end(w);
}

static mortise_status write_request(const mortise_request *r, mortise_jv args,
                                    char *room, uint64_t cap, mortise_str *out)
{
    static const char *const same[] = {"url", "body", "json", "max_body",
                                       "timeout_ms"};
    int get = mortise_str_is(r->operation, "get");
    int submit = mortise_str_is(r->operation, "submit");
    int32_t follow = 1;
    mortise_jw w;

    mortise_jw_fixed(&w, room, cap);
    mortise_jw_object(&w);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        copy(&w, args, same[i]);
    if (mortise_jv_type(mortise_jv_get(args, "method")) != MORTISE_JV_NONE) {
        copy(&w, args, "method");
    } else if (!get) {
        mortise_jw_key(&w, "method");
        mortise_jw_cstr(&w, "POST");
    }
    write_headers(&w, args, submit ? r->idempotency_key : mortise_str_empty());
    mortise_jv_bool(mortise_jv_get(args, "redirects"), &follow);
    if (!follow) {
        mortise_jw_key(&w, "redirects");
        mortise_jw_int(&w, 0);
    }
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, out);
}

static enum form form_of(mortise_jv args)
{
    mortise_jv as = mortise_jv_get(args, "as");

    if (mortise_jv_is(as, mortise_strz("json")))
        return JSON;
    return mortise_jv_is(as, mortise_strz("text")) ? TEXT : AUTO;
}

static struct call *call_new(mortise_inst *inst, const mortise_request *r,
                             mortise_jv args)
{
    struct call *c = calloc(1, sizeof *c);
    int32_t any = 0;

    if (c == NULL)
        return NULL;
    mortise_jv_bool(mortise_jv_get(args, "any_status"), &any);
    c->inst = inst;
    c->id = r->call;
    c->form = form_of(args);
    c->any_status = any;
    return c;
}

static mortise_status ask(struct call *c, const mortise_request *r,
                          mortise_jv args)
{
    uint64_t cap = r->body.n + r->idempotency_key.n + 256;
    char *room = malloc(cap);
    mortise_str body;
    mortise_status status = MORTISE_S_NOMEM;

    if (room != NULL)
        status = write_request(r, args, room, cap, &body);
    if (status == MORTISE_S_OK)
        status = c->inst->api->ask(c->inst->host, r->call,
                                   mortise_strz(MORTISE_HTTP_REQUEST_1), body,
                                   on_answer, c);
    free(room);
    return status;
}

static mortise_status execute(mortise_inst *inst, const mortise_request *r)
{
    mortise_jv args;
    struct call *c;
    mortise_status status;

    if (mortise_jv_parse(r->body, &args) != MORTISE_S_OK)
        return mortise_refuse(inst->host, inst->api, r->call, MORTISE_S_INVALID,
                              "permanent", "invalid",
                              "the arguments are no JSON");
    c = call_new(inst, r, args);
    status = c != NULL ? ask(c, r, args) : MORTISE_S_NOMEM;
    if (status == MORTISE_S_PENDING)
        return status;
    free(c);
    if (status == MORTISE_S_NOMEM)
        return mortise_refuse(inst->host, inst->api, r->call, status,
                              "transient", "no_memory", "out of memory");
    return mortise_refuse(inst->host, inst->api, r->call, status, "permanent",
                          "invalid", "the host refused to ask");
}

/* ---- plugin and module --------------------------------------------------- */

static mortise_status create(mortise_host *host, const mortise_host_api *api,
                             mortise_str config, mortise_inst **out)
{
    mortise_inst *inst = calloc(1, sizeof *inst);

    (void)config; /* the host holds us to it */
    if (inst == NULL)
        return MORTISE_S_NOMEM;
    inst->host = host;
    inst->api = api;
    *out = inst;
    return MORTISE_S_OK;
}

static const void *get_interface(mortise_inst *inst, const char *id)
{
    static const mortise_executor executor = {.size = sizeof executor,
                                              .execute = execute};

    (void)inst;
    return strcmp(id, MORTISE_EXECUTOR_1) == 0 ? &executor : NULL;
}

static void destroy(mortise_inst *inst)
{
    free(inst);
}

static const mortise_plugin plugin = {
    .size = sizeof plugin,
    .id = "http",
    .version = "0.1.0",
    .create = create,
    .get_interface = get_interface,
    .destroy = destroy,
};

MORTISE_MODULE_OF(plugin);
