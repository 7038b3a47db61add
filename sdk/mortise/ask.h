/* mortise/ask.h -- typed wrappers over what the host gives, so that nobody
 * writes its JSON or its strings by hand.
 *
 * Three parts: making a mortise_str; emitting and failing in one line; and one
 * pair of functions for each method of the one door, host->ask().  In this
 * build the door knows
 *
 *     state.get/1      read a path of the run's state
 *     http.request/1   make an HTTP request
 *     process.run/1    have a program run
 *     process.spawn/1, process.write/1, process.end/1   speak with one
 *     interrupt.request/1   ask a person
 *     timer.wait/1     sleep, durably
 *     kv.get/1, kv.put/1    keep values of the plugin's own
 *     schema.check/1   whether a value fits a JSON Schema
 *     graph.check/1    whether a graph could run
 *     secret.get/1     a secret of the deployment
 *     secret.keep/1, secret.kept/1   secrets of the plugin's own
 *     model.call/1, model.embed/1   ask a model of the deployment
 *     memory.read/1, memory.write/1 what the deployment's memory keeps
 *     tool.list/1, tool.invoke/1    what the graph lets the node use
 *     discovery.query/1             what of it all is a text about
 *     conversation.keep/1           what was said stays, for other nodes
 *     journal.begin/1, journal.end/1   a step that the plugin performs itself
 *     spawn.claim/1, spawn.register/1, spawn.advance/1, spawn.settle/1
 *                      children of the plugin's own, none lost, none made twice
 *     spawn.start/1, spawn.await/1     children that are runs
 *     spawn.list/1, spawn.message/1, spawn.cancel/1, spawn.report/1
 *                                      what is said to them, and by them
 *
 * and refuses every other method with MORTISE_S_UNSUPPORTED.  A method must be
 * named in the manifest (`requires.methods`).  The order of the arguments is
 * always host, its table, the call, then the method's own.
 *
 * Each _wait form may only be used from [call] of a `blocking` interface; its
 * answer is lent until the call's next ask_wait or its end.
 */
#ifndef MORTISE_SDK_ASK_H
#define MORTISE_SDK_ASK_H

#include <mortise/json.h>

MORTISE_C_BEGIN
#ifdef __cplusplus
extern "C" {
#endif

/* ---- strings ----------------------------------------------------------- */

MORTISE_INLINE mortise_str mortise_strn(const char *p, uint64_t n)
{
    mortise_str s;

    s.p = p;
    s.n = n;
    return s;
}

/* Of a literal or any string with a NUL behind; NULL is empty. */
MORTISE_INLINE mortise_str mortise_strz(const char *text)
{
    return mortise_strn(text, text != NULL ? strlen(text) : 0);
}

MORTISE_INLINE mortise_str mortise_str_empty(void)
{
    return mortise_strn(NULL, 0);
}

MORTISE_INLINE int mortise_str_is(mortise_str s, const char *text)
{
    size_t n = strlen(text);

    return s.n == n && (n == 0 || memcmp(s.p, text, n) == 0);
}

/* ---- results ----------------------------------------------------------- */

MORTISE_INLINE mortise_status mortise_emit_output(mortise_host *host,
                                                  const mortise_host_api *api,
                                                  mortise_call call,
                                                  mortise_str json)
{
    return api->emit(host, call, mortise_strz("output"), json);
}

/* {"scratch"?, "artifacts"?}, to be written with the result. */
MORTISE_INLINE mortise_status mortise_emit_update(mortise_host *host,
                                                  const mortise_host_api *api,
                                                  mortise_call call,
                                                  mortise_str json)
{
    return api->emit(host, call, mortise_strz("update"), json);
}

/* Where the run goes on: an id of the node's `targets`. */
MORTISE_INLINE mortise_status mortise_emit_goto(mortise_host *host,
                                                const mortise_host_api *api,
                                                mortise_call call,
                                                mortise_str id)
{
    return api->emit(host, call, mortise_strz("goto"), id);
}

/* {"model_calls"?, "input_tokens"?, "output_tokens"?, "usd"?, "model"? ...}
 * (plugin.h): what was used since the last one. */
MORTISE_INLINE mortise_status mortise_emit_usage(mortise_host *host,
                                                 const mortise_host_api *api,
                                                 mortise_call call,
                                                 mortise_str json)
{
    return api->emit(host, call, mortise_strz("usage"), json);
}

/* Words for an error, and its status to return:
 *
 *     return mortise_refuse(host, api, call, MORTISE_S_NOTFOUND, "permanent",
 *                           "not_found", "there is no such file");
 *
 * `klass` and `code` as plugin.h's fail() has them; either may be NULL. */
MORTISE_INLINE mortise_status mortise_refuse(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_status status, const char *klass, const char *code, const char *msg)
{
    char room[256];
    mortise_str detail;
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    if (klass != NULL) {
        mortise_jw_key(&w, "class");
        mortise_jw_cstr(&w, klass);
    }
    if (code != NULL) {
        mortise_jw_key(&w, "code");
        mortise_jw_cstr(&w, code);
    }
    mortise_jw_end(&w);
    if (mortise_jw_finish(&w, &detail) != MORTISE_S_OK)
        detail = mortise_str_empty();
    /* in parentheses: Check, for one, has a macro of that name */
    (api->fail)(host, call, mortise_strz(msg), detail);
    return status;
}

/* A writer whose bytes leave for the host as the call's output whenever the
 * buffer is full, so that a large result needs little memory:
 *
 *     mortise_emitter out;
 *     char room[4096];
 *
 *     mortise_emitter_init(&out, host, api, request->call, room, sizeof room);
 *     mortise_jw_object(&out.w);
 *     ...
 *     return mortise_emitter_finish(&out);
 *
 * The emitter must not move between the two. */
typedef struct mortise_emitter {
    mortise_jw w;
    mortise_host *host;
    const mortise_host_api *api;
    mortise_call call;
} mortise_emitter;

/* A mortise_jw_more_fn. */
MORTISE_INLINE mortise_status mortise_emitter_more(mortise_jw *w, void *ud)
{
    mortise_emitter *e = (mortise_emitter *)ud;
    mortise_status status = MORTISE_S_OK;

    if (w->n > 0)
        status = mortise_emit_output(e->host, e->api, e->call,
                                     mortise_strn(w->p, w->n));
    w->n = 0;
    return status;
}

MORTISE_INLINE void mortise_emitter_init(mortise_emitter *e, mortise_host *host,
                                         const mortise_host_api *api,
                                         mortise_call call, char *room,
                                         uint64_t cap)
{
    mortise_jw_growing(&e->w, room, cap, mortise_emitter_more, e);
    e->host = host;
    e->api = api;
    e->call = call;
}

/* Send what is left.  The first failure of all, the host's included. */
MORTISE_INLINE mortise_status mortise_emitter_finish(mortise_emitter *e)
{
    mortise_str rest;
    mortise_status status = mortise_jw_finish(&e->w, &rest);

    return status == MORTISE_S_OK ? mortise_emitter_more(&e->w, e) : status;
}

/* ---- asking ------------------------------------------------------------ */

/* How each pair below ends: ask, unless its body could not be made. */
MORTISE_INLINE mortise_status
mortise_ask_made(mortise_host *host, const mortise_host_api *api,
                 mortise_call call, mortise_status made, const char *method,
                 mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return made != MORTISE_S_OK ? made
                                : api->ask(host, call, mortise_strz(method),
                                           body, on_answer, ud);
}

MORTISE_INLINE mortise_status
mortise_wait_made(mortise_host *host, const mortise_host_api *api,
                  mortise_call call, mortise_status made, const char *method,
                  mortise_str body, mortise_str *answer)
{
    return made != MORTISE_S_OK
               ? made
               : api->ask_wait(host, call, mortise_strz(method), body, answer);
}

/* ---- state.get/1 ------------------------------------------------------- */

#define MORTISE_STATE_GET_1 "state.get/1"

/* {"path": ...} into room, which suffices for paths of up to 512 bytes. */
#define MORTISE_STATE_GET_ROOM (6 * 512 + 16)

MORTISE_INLINE mortise_status mortise_state_get_body(char *room,
                                                     mortise_str path,
                                                     mortise_str *body)
{
    mortise_jw w;

    mortise_jw_fixed(&w, room, MORTISE_STATE_GET_ROOM);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "path");
    mortise_jw_string(&w, path);
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, body) == MORTISE_S_OK ? MORTISE_S_OK
                                                       : MORTISE_S_INVALID;
}

/* The value at a path of the state, such as "scratch.label" or "input.a.b",
 * as the call sees it.  The answer is that value as JSON; MORTISE_S_NOTFOUND
 * when nothing is there; MORTISE_S_DENIED for a path that the manifest's
 * permissions.state does not list; MORTISE_S_INVALID for one that is not UTF-8
 * or too long.  Results as those of host->ask(). */
MORTISE_INLINE mortise_status mortise_state_get(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str path, mortise_answer_fn *on_answer, void *ud)
{
    char room[MORTISE_STATE_GET_ROOM];
    mortise_str body;
    mortise_status made = mortise_state_get_body(room, path, &body);

    return mortise_ask_made(host, api, call, made, MORTISE_STATE_GET_1, body,
                            on_answer, ud);
}

MORTISE_INLINE mortise_status
mortise_state_get_wait(mortise_host *host, const mortise_host_api *api,
                       mortise_call call, mortise_str path, mortise_str *answer)
{
    char room[MORTISE_STATE_GET_ROOM];
    mortise_str body;
    mortise_status made = mortise_state_get_body(room, path, &body);

    return mortise_wait_made(host, api, call, made, MORTISE_STATE_GET_1, body,
                             answer);
}

/* ---- http.request/1 ---------------------------------------------------- */

#define MORTISE_HTTP_REQUEST_1 "http.request/1"

/* A request: zero what you do not need (`= {0}`), url alone is enough.
 *
 * Where it may go is said by permissions.net of the manifest ("HOST:PORT", or
 * "config:PATH" for what the deployment's config of the plugin has there: such
 * a place, a URL, or a list of them; nothing where the config has none).  A
 * URL of the config may have " private" behind it (mortise-plugin(5)), which is
 * no part of what is asked here: cut it off.  Each redirect is judged like the
 * first.
 * What changes something there (any method but GET, HEAD and OPTIONS) is sent
 * once, unless `retries` says otherwise: mortise_http_request() says what follows
 * for an operation that has an effect. */
typedef struct mortise_http_ask {
    mortise_str method; /* empty: GET */
    mortise_str url;
    const mortise_str *headers; /* name, value, name, value ... */
    uint64_t n_headers;         /* pairs */
    /* At most one: UTF-8 text, or any JSON value as it is.  p NULL: none. */
    mortise_str body, json;
    uint64_t timeout_ms;      /* of it all; 0: the call's own alone */
    uint64_t idle_timeout_ms; /* without a byte; 0: 60 s */
    uint64_t max_body;        /* bytes, decompressed; 0: 16 MiB */
    int32_t no_redirects;     /* give a redirect back */
    int32_t stream;           /* tell pieces, too: see below */
    /* The same as headers, where the values are references to secrets: whole
     * or behind a blank at the end ("Bearer secret://NAME").  The host puts the
     * values in on the way out, for names that permissions.secrets of the
     * manifest comes to; no record has more than the reference. */
    const mortise_str *secret_headers;
    uint64_t n_secret_headers; /* pairs */
    /* Authorization by name and password (RFC 7617), which the host puts
     * together: texts, or whole references (again "secret://NAME"), and one of
     * them is such a reference.  The user has no colon.  p NULL: none. */
    mortise_str basic_user, basic_password;
    /* How often it is made again, 10 at most, where another try may help: there
     * was no connection, or it broke; or the status is 408, 425, 429, 500, 502,
     * 503 or 504.  What may not be made twice is made once all the same: any
     * method but GET, HEAD, OPTIONS, PUT and DELETE in an operation that is
     * neither a read nor `idempotent`.  The waits are short, up to 0.5 s, 1 s,
     * 2 s ... 10 s, and what Retry-After says if that is a minute at most; they
     * count for timeout_ms.  It is one request to you, with one answer, the
     * last.  Not with `stream`. */
    uint64_t retries;
    /* In place of body and json: bytes that are no text, in base64 (RFC 4648).
     * p NULL: none. */
    mortise_str body_base64;
} mortise_http_ask;

MORTISE_INLINE void mortise_http_headers(mortise_jw *w, const char *name,
                                         const mortise_str *pairs, uint64_t n)
{
    uint64_t i;

    if (n == 0)
        return;
    mortise_jw_key(w, name);
    mortise_jw_object(w);
    for (i = 0; i < n; i++) {
        mortise_jw_keyn(w, pairs[2 * i]);
        mortise_jw_string(w, pairs[2 * i + 1]);
    }
    mortise_jw_end(w);
}

/* Its JSON into room; MORTISE_S_NOMEM when it does not fit. */
MORTISE_INLINE mortise_status mortise_http_body(const mortise_http_ask *h,
                                                char *room, uint64_t cap,
                                                mortise_str *body)
{
    mortise_jw w;

    mortise_jw_fixed(&w, room, cap);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "url");
    mortise_jw_string(&w, h->url);
    if (h->method.n > 0) {
        mortise_jw_key(&w, "method");
        mortise_jw_string(&w, h->method);
    }
    mortise_http_headers(&w, "headers", h->headers, h->n_headers);
    mortise_http_headers(&w, "secret_headers", h->secret_headers,
                         h->n_secret_headers);
    if (h->basic_user.p != NULL) {
        mortise_jw_key(&w, "basic");
        mortise_jw_object(&w);
        mortise_jw_key(&w, "user");
        mortise_jw_string(&w, h->basic_user);
        mortise_jw_key(&w, "password");
        mortise_jw_string(&w, h->basic_password);
        mortise_jw_end(&w);
    }
    if (h->body.p != NULL) {
        mortise_jw_key(&w, "body");
        mortise_jw_string(&w, h->body);
    }
    if (h->body_base64.p != NULL) {
        mortise_jw_key(&w, "body_base64");
        mortise_jw_string(&w, h->body_base64);
    }
    if (h->json.p != NULL) {
        mortise_jv v;

        v.p = h->json.p;
        v.n = h->json.n;
        mortise_jw_key(&w, "json");
        mortise_jw_value(&w, v);
    }
    if (h->timeout_ms != 0) {
        mortise_jw_key(&w, "timeout_ms");
        mortise_jw_int(&w, (int64_t)h->timeout_ms);
    }
    if (h->idle_timeout_ms != 0) {
        mortise_jw_key(&w, "idle_timeout_ms");
        mortise_jw_int(&w, (int64_t)h->idle_timeout_ms);
    }
    if (h->max_body != 0) {
        mortise_jw_key(&w, "max_body");
        mortise_jw_int(&w, (int64_t)h->max_body);
    }
    if (h->no_redirects != 0) {
        mortise_jw_key(&w, "redirects");
        mortise_jw_int(&w, 0);
    }
    if (h->retries != 0) {
        mortise_jw_key(&w, "retries");
        mortise_jw_int(&w, (int64_t)h->retries);
    }
    if (h->stream != 0) {
        mortise_jw_key(&w, "stream");
        mortise_jw_bool(&w, 1);
    }
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, body);
}

/* Make it.  The JSON is written into `room`, which is yours again when this
 * returns; MORTISE_S_NOMEM when it does not fit: h->json as it is, texts up to
 * six times as long, and 512 bytes suffice.  An answer, whatever its status, is
 * MORTISE_S_OK and an object:
 *
 *     status          200 and so on
 *     url             where it came from
 *     headers         {name in small letters: value}
 *     body            text; or
 *     body_base64     bytes that are no UTF-8
 *     class           "transient" | "permanent": from a status of 400 on
 *     retry_after_ms  when the server said so
 *
 * Without a whole answer it is words, and
 *
 *     MORTISE_S_IO       nobody answered, or the connection was lost in the
 *                        middle: another try may help.  With `stream` it is the
 *                        latter if the head had come
 *     MORTISE_S_TIMEOUT  the time for it, or for the next byte, is over
 *     MORTISE_S_DENIED   it may not go there
 *     MORTISE_S_INVALID  that is no request
 *     MORTISE_S_FAILED   it would come out the same: TLS does not verify, the
 *                        body is too large, what answers speaks no HTTP
 *
 * In an operation that is `write` or `external` and not `idempotent`, a request
 * that changes something there (PUT and DELETE apart, which may be repeated)
 * may have an answer that leaves it open whether it happened: a connection lost
 * or a time run out once some of it had left, a cut answer, 408, 500, 502, 504.
 * Then you are told MORTISE_S_SUSPENDED: let go, as with a question, and you are
 * entered again when a person or your reconcile() has settled it.  The answer
 * is then what that person gave, or the request is made again under the same
 * key.  This holds for both intents of the manifest: with `intent: call` each
 * entry of yours has an intent besides, for what you do yourself; with `intent:
 * steps` you promise to do nothing but by asking.
 *
 * With `stream`, on_answer is called before that with MORTISE_S_PENDING: first
 * with the answer without its body, then with pieces of the body as they come,
 * raw bytes, cut anywhere.  The answer is whole all the same; when the host
 * answers from its record (after a crash; never for providers of models), it
 * comes alone. */
MORTISE_INLINE mortise_status
mortise_http_request(mortise_host *host, const mortise_host_api *api,
                     mortise_call call, const mortise_http_ask *h, char *room,
                     uint64_t cap, mortise_answer_fn *on_answer, void *ud)
{
    mortise_str body;
    mortise_status made = mortise_http_body(h, room, cap, &body);

    return mortise_ask_made(host, api, call, made, MORTISE_HTTP_REQUEST_1, body,
                            on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_http_request_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    const mortise_http_ask *h, char *room, uint64_t cap, mortise_str *answer)
{
    mortise_str body;
    mortise_status made = mortise_http_body(h, room, cap, &body);

    return mortise_wait_made(host, api, call, made, MORTISE_HTTP_REQUEST_1,
                             body, answer);
}

/* What a request that failed, or was answered with a status from 400 on, means
 * for the call that made it: the detail of an error, into room (256 bytes
 * suffice).  Codes: "http.404" and so on; "http.unreachable", "http.timeout",
 * "http.denied", "http.invalid", "http.cancelled", "http.failed". */
MORTISE_INLINE mortise_str mortise_http_detail(mortise_status status,
                                               mortise_str answer, char *room,
                                               uint64_t cap)
{
    const char *klass = "permanent", *code = "http.failed";
    char number[32];
    int64_t n = 0, wait = 0;
    mortise_jv v;
    mortise_str text;
    mortise_jw w;

    if (status == MORTISE_S_OK && mortise_jv_parse(answer, &v) == status) {
        mortise_jv_int(mortise_jv_get(v, "status"), &n);
        mortise_jv_int(mortise_jv_get(v, "retry_after_ms"), &wait);
        if (mortise_jv_is(mortise_jv_get(v, "class"),
                          mortise_strz("transient")))
            klass = "transient";
        snprintf(number, sizeof number, "http.%d", (int)n);
        code = number;
    } else if (status == MORTISE_S_IO) {
        klass = "transient";
        code = "http.unreachable";
    } else if (status == MORTISE_S_TIMEOUT) {
        klass = "timeout";
        code = "http.timeout";
    } else if (status == MORTISE_S_CANCELLED) {
        klass = "cancelled";
        code = "http.cancelled";
    } else if (status == MORTISE_S_DENIED) {
        code = "http.denied";
    } else if (status == MORTISE_S_INVALID) {
        code = "http.invalid";
    } else if (status == MORTISE_S_NOMEM) {
        klass = "transient";
    }
    mortise_jw_fixed(&w, room, cap);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "class");
    mortise_jw_cstr(&w, klass);
    mortise_jw_key(&w, "code");
    mortise_jw_cstr(&w, code);
    if (n != 0) {
        mortise_jw_key(&w, "status");
        mortise_jw_int(&w, n);
    }
    if (wait > 0) {
        mortise_jw_key(&w, "retry_after_ms");
        mortise_jw_int(&w, wait);
    }
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, &text) == MORTISE_S_OK ? text
                                                        : mortise_str_empty();
}

/* ---- process.run/1 ----------------------------------------------------- */

#define MORTISE_PROCESS_RUN_1 "process.run/1"

/* A program, run to its end: zero what you do not need (`= {0}`), program alone
 * is enough.
 *
 * It is one of the deployment's `programs`, by its name there, which says what
 * file that is, and what it may touch; permissions.exec of the manifest says
 * which of them the plugin may have run ("*" for all, or "config:PATH" for the
 * names that the deployment's config of the plugin has there).  No shell is
 * between, and of the engine's environment it gets nothing.
 *
 * It changes something unless `reads` is said, which is refused where the
 * deployment does not say so of the program, too (`reads: true`).  One that
 * changes something is run once: mortise_http_request() says what follows for
 * an operation that has an effect.  It finds the step's idempotency key in
 * MORTISE_IDEMPOTENCY_KEY. */
typedef struct mortise_process_ask {
    mortise_str program;
    const mortise_str *args;
    uint64_t n_args;
    /* At most one: UTF-8 text, or any JSON value as it is.  p NULL: none. */
    mortise_str input, json;
    const mortise_str *env; /* name, value, name, value ... */
    uint64_t n_env;         /* pairs */
    /* The same, where the values are references to secrets ("secret://NAME"),
     * as in mortise_http_ask.  What the program says comes with them covered. */
    const mortise_str *secret_env;
    uint64_t n_secret_env; /* pairs */
    uint64_t timeout_ms;   /* 0: the call's own alone */
    uint64_t max_output;   /* bytes of stdout; 0: 1 MiB */
    int32_t reads;
} mortise_process_ask;

/* Its JSON into room; MORTISE_S_NOMEM when it does not fit. */
MORTISE_INLINE mortise_status mortise_process_body(const mortise_process_ask *p,
                                                   char *room, uint64_t cap,
                                                   mortise_str *body)
{
    mortise_jw w;
    uint64_t i;

    mortise_jw_fixed(&w, room, cap);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "program");
    mortise_jw_string(&w, p->program);
    mortise_jw_key(&w, "args");
    mortise_jw_array(&w);
    for (i = 0; i < p->n_args; i++)
        mortise_jw_string(&w, p->args[i]);
    mortise_jw_end(&w);
    mortise_http_headers(&w, "env", p->env, p->n_env);
    mortise_http_headers(&w, "secret_env", p->secret_env, p->n_secret_env);
    if (p->input.p != NULL) {
        mortise_jw_key(&w, "stdin");
        mortise_jw_string(&w, p->input);
    }
    if (p->json.p != NULL) {
        mortise_jv v;

        v.p = p->json.p;
        v.n = p->json.n;
        mortise_jw_key(&w, "json");
        mortise_jw_value(&w, v);
    }
    if (p->timeout_ms != 0) {
        mortise_jw_key(&w, "timeout_ms");
        mortise_jw_int(&w, (int64_t)p->timeout_ms);
    }
    if (p->max_output != 0) {
        mortise_jw_key(&w, "max_output");
        mortise_jw_int(&w, (int64_t)p->max_output);
    }
    if (p->reads) {
        mortise_jw_key(&w, "reads");
        mortise_jw_bool(&w, 1);
    }
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, body);
}

/* Room: the texts, up to six times as long in JSON, and 256.
 *
 * Answer {"exit", "stdout" | "stdout_base64", "stderr" | "stderr_base64",
 * "stderr_cut"?}: whatever it exits with.  Of stderr the first 64 KiB are kept,
 * and stderr_cut is true.
 * MORTISE_S_NOTFOUND: it could not be started, and nothing happened;
 * MORTISE_S_DENIED: nor may it; MORTISE_S_UNSUPPORTED: mortise-worker is not
 * installed.  MORTISE_S_TIMEOUT and MORTISE_S_FAILED (more than max_output): it
 * was killed, with all that it had started; MORTISE_S_IO: a signal ended it, or
 * nobody knows what did.  After these three it may have happened in part: inside
 * of an operation that has an effect they are never answered, but
 * MORTISE_S_SUSPENDED is, and a person decides. */
MORTISE_INLINE mortise_status
mortise_process_run(mortise_host *host, const mortise_host_api *api,
                    mortise_call call, const mortise_process_ask *p, char *room,
                    uint64_t cap, mortise_answer_fn *on_answer, void *ud)
{
    mortise_str body;
    mortise_status made = mortise_process_body(p, room, cap, &body);

    return mortise_ask_made(host, api, call, made, MORTISE_PROCESS_RUN_1, body,
                            on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_process_run_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    const mortise_process_ask *p, char *room, uint64_t cap, mortise_str *answer)
{
    mortise_str body;
    mortise_status made = mortise_process_body(p, room, cap, &body);

    return mortise_wait_made(host, api, call, made, MORTISE_PROCESS_RUN_1, body,
                             answer);
}

/* ---- process.spawn/1, process.write/1, process.end/1 -------------------- */

#define MORTISE_PROCESS_SPAWN_1 "process.spawn/1"
#define MORTISE_PROCESS_WRITE_1 "process.write/1"
#define MORTISE_PROCESS_END_1   "process.end/1"

/* {"NAME": name} and, if it is not 0, {"max_line"}, into room, which suffices for
 * names of up to 128 bytes. */
#define MORTISE_PROCESS_SPAWN_ROOM (6 * 128 + 64)

MORTISE_INLINE mortise_status mortise_process_spawn_body(char *room,
                                                         const char *kind,
                                                         mortise_str name,
                                                         uint64_t max_line,
                                                         mortise_str *body)
{
    mortise_jw w;

    mortise_jw_fixed(&w, room, MORTISE_PROCESS_SPAWN_ROOM);
    mortise_jw_object(&w);
    mortise_jw_key(&w, kind);
    mortise_jw_string(&w, name);
    if (max_line != 0) {
        mortise_jw_key(&w, "max_line");
        mortise_jw_int(&w, (int64_t)max_line);
    }
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, body) == MORTISE_S_OK ? MORTISE_S_OK
                                                       : MORTISE_S_INVALID;
}

/* Start a program that goes on beside the plugin, and hear what it says, line by
 * line.  `kind` is "program", and `name` one of the deployment's `programs`, or
 * "server", and `name` one of its `tools.mcp` that has a `command`;
 * permissions.exec of the manifest lists it, as NAME or as "mcp:NAME" ("*" are
 * all programs, "mcp:*" all servers).  The deployment says which file that is,
 * its arguments and environment, and what it may touch.  max_line: bytes; 0 is
 * 16 MiB.
 *
 * on_answer is called with MORTISE_S_PENDING once it was started, with
 * {"process": N}, its number for the two functions below, which only the same
 * call may use; then, with MORTISE_S_PENDING, for each line of its stdout, as it
 * is but for secrets of the deployment, without its end, of any bytes; and at
 * last with
 *
 *     MORTISE_S_OK         {"exit": code, "stderr": the end of what it said there}
 *     MORTISE_S_IO         a signal ended it, or nobody knows what did
 *     MORTISE_S_FAILED     a line was longer than max_line: it was killed
 *     MORTISE_S_NOTFOUND   it was not started, nor with MORTISE_S_DENIED,
 *                          MORTISE_S_UNSUPPORTED and MORTISE_S_NOMEM; words
 *                          say why
 *     MORTISE_S_CANCELLED  the call ends
 *
 * Nothing of it is recorded, so a call that asks for it, and lets go, starts it
 * again when it is entered again; one that is to outlive calls is asked for in
 * the background (plugin.h).  When its call ends it is ended: its stdin is
 * closed, after 2 s it gets SIGTERM, after 2 s more SIGKILL.  */
MORTISE_INLINE mortise_status
mortise_process_spawn(mortise_host *host, const mortise_host_api *api,
                      mortise_call call, const char *kind, mortise_str name,
                      uint64_t max_line, mortise_answer_fn *on_answer, void *ud)
{
    char room[MORTISE_PROCESS_SPAWN_ROOM];
    mortise_str body;
    mortise_status made =
        mortise_process_spawn_body(room, kind, name, max_line, &body);

    return mortise_ask_made(host, api, call, made, MORTISE_PROCESS_SPAWN_1,
                            body, on_answer, ud);
}

/* Write a line to its stdin: UTF-8, without a line's end, which the host puts
 * behind it.  `room` is yours again when this returns; six times the text and 64
 * bytes suffice, else MORTISE_S_NOMEM.  The answer is null once its stdin took all
 * of it; MORTISE_S_IO: it did not, and never will; MORTISE_S_DENIED: 64 MiB wait
 * already. */
MORTISE_INLINE mortise_status mortise_process_write(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    int64_t process, mortise_str text, char *room, uint64_t cap,
    mortise_answer_fn *on_answer, void *ud)
{
    mortise_str body;
    mortise_status made;
    mortise_jw w;

    mortise_jw_fixed(&w, room, cap);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "process");
    mortise_jw_int(&w, process);
    mortise_jw_key(&w, "text");
    mortise_jw_string(&w, text);
    mortise_jw_end(&w);
    made = mortise_jw_finish(&w, &body);
    return mortise_ask_made(host, api, call, made, MORTISE_PROCESS_WRITE_1,
                            body, on_answer, ud);
}

/* No more will be written: its stdin is closed, after 2 s it gets SIGTERM, after
 * 2 s more SIGKILL.  The answer is null; how it ended is the spawn's. */
MORTISE_INLINE mortise_status mortise_process_end(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    int64_t process, mortise_answer_fn *on_answer, void *ud)
{
    char room[64];
    mortise_str body;
    mortise_status made;
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "process");
    mortise_jw_int(&w, process);
    mortise_jw_end(&w);
    made = mortise_jw_finish(&w, &body);
    return mortise_ask_made(host, api, call, made, MORTISE_PROCESS_END_1, body,
                            on_answer, ud);
}

/* ---- interrupt.request/1 ------------------------------------------------ */

#define MORTISE_INTERRUPT_REQUEST_1 "interrupt.request/1"

/* A question to a person: zero what you do not need (`= {0}`). */
typedef struct mortise_question {
    mortise_str prompt;
    /* JSON, p NULL for none: what the person needs to see; a schema of the
     * answer, which the host judges it by. */
    mortise_str payload, schema;
    uint64_t for_ms;  /* so long it can be answered; 0: for ever */
    uint64_t hold_ms; /* stay for so long: see below; 0: not */
    mortise_str step; /* its name (plugin.h); empty: its place tells it */
} mortise_question;

MORTISE_INLINE mortise_status mortise_interrupt_body(const mortise_question *q,
                                                     char *room, uint64_t cap,
                                                     mortise_str *body)
{
    mortise_jw w;
    mortise_jv v;

    mortise_jw_fixed(&w, room, cap);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "prompt");
    mortise_jw_string(&w, q->prompt);
    if (q->payload.p != NULL) {
        v.p = q->payload.p;
        v.n = q->payload.n;
        mortise_jw_key(&w, "payload");
        mortise_jw_value(&w, v);
    }
    if (q->schema.p != NULL) {
        v.p = q->schema.p;
        v.n = q->schema.n;
        mortise_jw_key(&w, "schema");
        mortise_jw_value(&w, v);
    }
    if (q->for_ms != 0) {
        mortise_jw_key(&w, "for_ms");
        mortise_jw_int(&w, (int64_t)q->for_ms);
    }
    if (q->hold_ms != 0) {
        mortise_jw_key(&w, "hold_ms");
        mortise_jw_int(&w, (int64_t)q->hold_ms);
    }
    if (q->step.n != 0) {
        mortise_jw_key(&w, "step");
        mortise_jw_string(&w, q->step);
    }
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, body);
}

/* Ask.  The first answer is MORTISE_S_SUSPENDED: let go (plugin.h).  When you
 * are entered again and ask the same, it is the person's answer, as JSON, or
 * MORTISE_S_TIMEOUT when nobody answered in time.
 *
 * Letting go loses what a server, say, keeps for as long as the connection stands:
 * with hold_ms the question is there at once, and its first answer comes only when
 * it is the person's, or after so long, MORTISE_S_SUSPENDED.  So it may be asked
 * inside a step of the plugin's own (journal.begin/1), too, which stays open: say
 * that it is undone before you let go where it may be made again, else whether it
 * happened is in doubt.
 *
 * A question whose schema has the property `approved` may be settled by yes or no
 * (mortise approve, reject); its answer is {"approved": bool, "answer"?,
 * "reason"?} then.
 *
 * The JSON of the question is written into `room`, which is yours again when this returns; MORTISE_S_NOMEM
 * when it does not fit. */
MORTISE_INLINE mortise_status mortise_interrupt_request(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    const mortise_question *q, char *room, uint64_t cap,
    mortise_answer_fn *on_answer, void *ud)
{
    mortise_str body;
    mortise_status made = mortise_interrupt_body(q, room, cap, &body);

    return mortise_ask_made(host, api, call, made, MORTISE_INTERRUPT_REQUEST_1,
                            body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_interrupt_request_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    const mortise_question *q, char *room, uint64_t cap, mortise_str *answer)
{
    mortise_str body;
    mortise_status made = mortise_interrupt_body(q, room, cap, &body);

    return mortise_wait_made(host, api, call, made, MORTISE_INTERRUPT_REQUEST_1,
                             body, answer);
}

/* ---- timer.wait/1 -------------------------------------------------------- */

#define MORTISE_TIMER_WAIT_1 "timer.wait/1"

#define MORTISE_TIMER_WAIT_ROOM 48

/* {"for_ms": N}, or {"until_ms": N} when `until` */
MORTISE_INLINE mortise_status mortise_timer_body(char *room, int32_t until,
                                                 uint64_t ms, mortise_str *body)
{
    mortise_jw w;

    mortise_jw_fixed(&w, room, MORTISE_TIMER_WAIT_ROOM);
    mortise_jw_object(&w);
    mortise_jw_key(&w, until ? "until_ms" : "for_ms");
    mortise_jw_int(&w, (int64_t)ms);
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, body);
}

/* Sleep for `ms` (ten years at most), or until `ms` milliseconds after 1970
 * (UTC).  It costs disk, nothing else, and goes on over restarts.  The first
 * answer is MORTISE_S_SUSPENDED: let go; entered again, the same ask is
 * answered with null.  A time that is over is answered as soon as you let go.
 */
MORTISE_INLINE mortise_status mortise_timer_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    int32_t until, uint64_t ms, mortise_answer_fn *on_answer, void *ud)
{
    char room[MORTISE_TIMER_WAIT_ROOM];
    mortise_str body;
    mortise_status made = mortise_timer_body(room, until, ms, &body);

    return mortise_ask_made(host, api, call, made, MORTISE_TIMER_WAIT_1, body,
                            on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_timer_wait_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    int32_t until, uint64_t ms, mortise_str *answer)
{
    char room[MORTISE_TIMER_WAIT_ROOM];
    mortise_str body;
    mortise_status made = mortise_timer_body(room, until, ms, &body);

    return mortise_wait_made(host, api, call, made, MORTISE_TIMER_WAIT_1, body,
                             answer);
}

/* ---- kv.get/1, kv.put/1 ---------------------------------------------------
 */

#define MORTISE_KV_GET_1 "kv.get/1"
#define MORTISE_KV_PUT_1 "kv.put/1"

/* A plugin has a namespace of its own in each tenant, durable, whatever run it
 * works for: keys of 1 to 512 bytes of UTF-8 (any, NULs too), values of up to
 * 1 MiB of JSON, 65,536 keys: a put of one more is refused (MORTISE_S_DENIED).
 * Nothing is ever taken out of it but by a put.
 *
 * A put is answered once it is on disk, in the same commit as the journal says
 * that it was made: after a crash it is there or it is made again, never twice
 * and never in doubt.  It stands whatever becomes of the execution, and a new
 * attempt makes it anew.  The last of several counts, over all runs.  A get
 * sees all that its own run asked to be put before, and of other runs what is
 * on disk; its answer is journaled, so an execution that is entered again gets
 * the same.  Guardrails may get, not put. */

#define MORTISE_KV_KEY_ROOM (6 * 512 + 16)

MORTISE_INLINE mortise_status mortise_kv_get_body(char *room, mortise_str key,
                                                  mortise_str *body)
{
    mortise_jw w;

    mortise_jw_fixed(&w, room, MORTISE_KV_KEY_ROOM);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "key");
    mortise_jw_string(&w, key);
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, body) == MORTISE_S_OK ? MORTISE_S_OK
                                                       : MORTISE_S_INVALID;
}

MORTISE_INLINE mortise_status mortise_kv_put_body(mortise_str key,
                                                  mortise_str value, char *room,
                                                  uint64_t cap,
                                                  mortise_str *body)
{
    mortise_jw w;
    mortise_jv v;

    mortise_jw_fixed(&w, room, cap);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "key");
    mortise_jw_string(&w, key);
    if (value.p != NULL) {
        v.p = value.p;
        v.n = value.n;
        mortise_jw_key(&w, "value");
        mortise_jw_value(&w, v);
    }
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, body);
}

/* What is under a key: mortise_kv_value() reads the answer. */
MORTISE_INLINE mortise_status mortise_kv_get(mortise_host *host,
                                             const mortise_host_api *api,
                                             mortise_call call, mortise_str key,
                                             mortise_answer_fn *on_answer,
                                             void *ud)
{
    char room[MORTISE_KV_KEY_ROOM];
    mortise_str body;
    mortise_status made = mortise_kv_get_body(room, key, &body);

    return mortise_ask_made(host, api, call, made, MORTISE_KV_GET_1, body,
                            on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_kv_get_wait(mortise_host *host,
                                                  const mortise_host_api *api,
                                                  mortise_call call,
                                                  mortise_str key,
                                                  mortise_str *answer)
{
    char room[MORTISE_KV_KEY_ROOM];
    mortise_str body;
    mortise_status made = mortise_kv_get_body(room, key, &body);

    return mortise_wait_made(host, api, call, made, MORTISE_KV_GET_1, body,
                             answer);
}

/* The value in the answer to a get; MORTISE_S_NOTFOUND when there is none. */
MORTISE_INLINE mortise_status mortise_kv_value(mortise_str answer,
                                               mortise_jv *value)
{
    mortise_jv v;
    mortise_status status = mortise_jv_parse(answer, &v);

    if (status != MORTISE_S_OK)
        return status;
    *value = mortise_jv_get(v, "value");
    return value->p != NULL ? MORTISE_S_OK : MORTISE_S_NOTFOUND;
}

/* Keep `value` (JSON; null is a value like any other) under a key, or with p
 * NULL nothing any more.  The answer is null.  The JSON of the request is
 * written into `room`, which is yours again when this returns and needs the
 * value's size and MORTISE_KV_KEY_ROOM; MORTISE_S_NOMEM when it does not
 * fit. */
MORTISE_INLINE mortise_status
mortise_kv_put(mortise_host *host, const mortise_host_api *api,
               mortise_call call, mortise_str key, mortise_str value,
               char *room, uint64_t cap, mortise_answer_fn *on_answer, void *ud)
{
    mortise_str body;
    mortise_status made = mortise_kv_put_body(key, value, room, cap, &body);

    return mortise_ask_made(host, api, call, made, MORTISE_KV_PUT_1, body,
                            on_answer, ud);
}

MORTISE_INLINE mortise_status
mortise_kv_put_wait(mortise_host *host, const mortise_host_api *api,
                    mortise_call call, mortise_str key, mortise_str value,
                    char *room, uint64_t cap, mortise_str *answer)
{
    mortise_str body;
    mortise_status made = mortise_kv_put_body(key, value, room, cap, &body);

    return mortise_wait_made(host, api, call, made, MORTISE_KV_PUT_1, body,
                             answer);
}

/* ---- secret.get/1 -------------------------------------------------------- */

#define MORTISE_SECRET_GET_1 "secret.get/1"

/* {"name": ...} into room, which suffices for any name there is. */
#define MORTISE_SECRET_GET_ROOM 512

MORTISE_INLINE mortise_status mortise_secret_get_body(char *room,
                                                      mortise_str name,
                                                      mortise_str *body)
{
    mortise_jw w;

    mortise_jw_fixed(&w, room, MORTISE_SECRET_GET_ROOM);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "name");
    mortise_jw_string(&w, name);
    mortise_jw_end(&w);
    return mortise_jw_finish(&w, body) == MORTISE_S_OK ? MORTISE_S_OK
                                                       : MORTISE_S_INVALID;
}

/* A secret of the deployment that permissions.secrets of the manifest comes to.
 * The answer is {"value": text}.  It is never recorded: entered again, ask
 * again; and what you make of it must not show it (output, updates, events and
 * bodies of other asks are recorded).  For a header of a request there is
 * mortise_http_ask.secret_headers, with which you need not know it.
 * MORTISE_S_NOTFOUND: the deployment has no such secret; MORTISE_S_DENIED: not
 * for this plugin; MORTISE_S_FAILED: where it comes from does not give it. */
MORTISE_INLINE mortise_status mortise_secret_get(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str name, mortise_answer_fn *on_answer, void *ud)
{
    char room[MORTISE_SECRET_GET_ROOM];
    mortise_str body;
    mortise_status status = mortise_secret_get_body(room, name, &body);

    if (status != MORTISE_S_OK)
        return status;
    return api->ask(host, call, mortise_strz(MORTISE_SECRET_GET_1), body,
                    on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_secret_get_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str name, mortise_str *answer)
{
    char room[MORTISE_SECRET_GET_ROOM];
    mortise_str body;
    mortise_status status = mortise_secret_get_body(room, name, &body);

    if (status != MORTISE_S_OK)
        return status;
    return api->ask_wait(host, call, mortise_strz(MORTISE_SECRET_GET_1), body,
                         answer);
}

/* ---- secret.keep/1, secret.kept/1 ---------------------------------------- */

#define MORTISE_SECRET_KEEP_1 "secret.keep/1"
#define MORTISE_SECRET_KEPT_1 "secret.kept/1"

/* Keep a secret that the plugin was given by somebody, a token for one, for this
 * user's later processes: text of up to 64 KiB, under a name of up to 512 bytes
 * that no other plugin finds it by.  value.p NULL: forget it.  It is in no record
 * and no store, and covered from now on wherever something is shown, and in what
 * the plugin hears, answers to its http.request/1 in the background apart.  The JSON is
 * written into `room`; six times name and value and 64 bytes suffice, else
 * MORTISE_S_NOMEM.  The answer is null; MORTISE_S_NOTFOUND, _DENIED or _IO: this
 * user has no place for it, in words. */
MORTISE_INLINE mortise_status mortise_secret_keep(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str name, mortise_str value, char *room, uint64_t cap,
    mortise_answer_fn *on_answer, void *ud)
{
    mortise_str body;
    mortise_status made;
    mortise_jw w;

    mortise_jw_fixed(&w, room, cap);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "name");
    mortise_jw_string(&w, name);
    mortise_jw_key(&w, "value");
    if (value.p != NULL)
        mortise_jw_string(&w, value);
    else
        mortise_jw_null(&w);
    mortise_jw_end(&w);
    made = mortise_jw_finish(&w, &body);
    return mortise_ask_made(host, api, call, made, MORTISE_SECRET_KEEP_1, body,
                            on_answer, ud);
}

/* What is kept under that name: {"value": text}.  MORTISE_S_NOTFOUND: nothing. */
MORTISE_INLINE mortise_status mortise_secret_kept(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str name, mortise_answer_fn *on_answer, void *ud)
{
    char room[6 * 512 + 64];
    mortise_str body;
    mortise_status made;
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "name");
    mortise_jw_string(&w, name);
    mortise_jw_end(&w);
    made = mortise_jw_finish(&w, &body);
    return mortise_ask_made(host, api, call, made, MORTISE_SECRET_KEPT_1, body,
                            on_answer, ud);
}

/* ---- schema.check/1 -------------------------------------------------------- */

#define MORTISE_SCHEMA_CHECK_1 "schema.check/1"

/* Does a value fit a JSON Schema (draft 2020-12)?  The body is {"schema",
 * "value"}, made by _body() in a writer of yours.
 *
 * The answer is {"valid": true}, or {"valid": false, "reason"} with where and
 * why, in the host's words.  It is recorded nowhere: the same ask has the same
 * answer.  MORTISE_S_INVALID: the schema is none, or takes too many steps on
 * this value, in words; then nobody has said that it fits. */
MORTISE_INLINE mortise_status mortise_schema_fits_body(mortise_jw *w,
                                                       mortise_jv schema,
                                                       mortise_jv value,
                                                       mortise_str *body)
{
    mortise_jw_object(w);
    mortise_jw_key(w, "schema");
    mortise_jw_value(w, schema);
    mortise_jw_key(w, "value");
    mortise_jw_value(w, value);
    mortise_jw_end(w);
    return mortise_jw_finish(w, body);
}

MORTISE_INLINE mortise_status mortise_schema_fits(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_SCHEMA_CHECK_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_schema_fits_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_SCHEMA_CHECK_1, body, answer);
}

/* ---- graph.check/1 --------------------------------------------------------- */

#define MORTISE_GRAPH_CHECK_1 "graph.check/1"

/* Could that graph run here?  The body is {"source": its text, YAML or JSON,
 * "path"?: what findings call it, "with"?: an object that is laid over it, "types"?:
 * the types that its nodes may have, at any depth}.
 *
 * The answer is {"valid": true, "graph", "picture"}, or {"valid": false, "graph",
 * "findings"}, as `mortise check` has them; "graph" is the text that was checked,
 * and that the findings point into.  It opens no other files, and refers to no
 * secrets: whoever had it written would choose them. */
MORTISE_INLINE mortise_status mortise_graph_check(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_GRAPH_CHECK_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_graph_check_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_GRAPH_CHECK_1, body, answer);
}

/* ---- model.call/1, model.embed/1 ------------------------------------------ */

#define MORTISE_MODEL_CALL_1  "model.call/1"
#define MORTISE_MODEL_EMBED_1 "model.embed/1"

/* One call of a model.  The body is one JSON object: `alias`, of the
 * deployment's models ("default" unless it is there), and what mortise/model.h
 * says of a request of chat (or embed), where `model` may be left out: it is the
 * deployment's then.
 *
 * A conversation need not be said again with each turn.  Of these there is one:
 *
 *     messages         all of it
 *     after, append    "after" is the "step" of an earlier call of a model (which
 *                      was given one, and a reply): all that was said up to that
 *                      reply, and the messages of "append" behind it
 *     continue: true, append, messages?   the conversation of the node (the
 *                      graph's `conversation`): "messages" ahead of what was
 *                      said in it, and "append" behind
 *
 * Besides:
 *
 *     prune   0 < x < 1: leave out the oldest of it, so that that part of its
 *             bytes stays.  System messages ahead of all and the first of the
 *             user stay, and a result is never parted from its call
 *     beyond  with prune: where no more than so many messages (0) can be left
 *             out, nothing is sent and the ask is refused (MORTISE_S_NOTFOUND)
 *     tools: true   those that the node allows (tool.list/1)
 *
 * The answer is {"reply": {...}, "usage": {...}}, the reply as mortise/model.h
 * has it (of embed: {"vectors": ...}); and, where there is anything to be said,
 *
 *     json       of one that was to be JSON (`response`) and came to its end:
 *                what it is; or
 *     invalid    a text that says why it is not what was asked for
 *     told       messages that somebody told the node meanwhile (`mortise tell`),
 *                which the model heard behind all others
 *     more: true somebody told it something since
 *     left_out   how many messages were, of a pruned one
 *
 * Where the provider gave none, it is {"error": {"code", "class", "message",
 * "retry_after_ms"?}, "usage"?, "left_out"?}.  It is recorded either way.  What
 * it used counts for this call, which need not emit it.  MORTISE_S_INVALID: the
 * body is no such request, in words; MORTISE_S_NOTFOUND: there is no such alias,
 * or nothing to be left out.  Results as those of host->ask(). */
MORTISE_INLINE mortise_status mortise_model_call(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK, MORTISE_MODEL_CALL_1,
                            body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_model_call_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_MODEL_CALL_1, body, answer);
}

MORTISE_INLINE mortise_status mortise_model_embed(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_MODEL_EMBED_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_model_embed_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_MODEL_EMBED_1, body, answer);
}

/* ---- discovery.query/1 ----------------------------------------------------- */

#define MORTISE_DISCOVERY_QUERY_1 "discovery.query/1"

/* Which of what the node may use is a text about, by the deployment's discovery
 * plugins (mortise/discovery.h)?  The body is {"query": text, "kind"?: "tool",
 * "extension", "skill", "node" or "any" (the default), "max"?: 1 to 100 (8),
 * "tokens"?: of all texts of the answer (4000), "step"?}.
 *
 * Tools are those that the graph lets the node use (tool.list/1: an id is the
 * `tool` there), extensions those of them that are operations of plugins, nodes
 * those that it may hand over to; nothing else is found, but for skills, which
 * are the plugins'.
 *
 * The answer is {"results": [{"id", "kind", "score", "text"?, "tier"?} ...],
 * "failed"?: [{"plugin", "code", "message"} ...]}, the best first; `failed` are
 * plugins that gave no answer, beside others that did.  It is recorded, and
 * comes back as it was when the call is entered again.  MORTISE_S_NOTFOUND: the
 * deployment has no discovery; MORTISE_S_FAILED: none of its plugins answered.
 * For executors alone.  Results as those of host->ask(). */
MORTISE_INLINE mortise_status mortise_discovery_query(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_DISCOVERY_QUERY_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_discovery_query_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_DISCOVERY_QUERY_1, body, answer);
}

/* ---- memory.read/1, memory.write/1 ----------------------------------------- */

#define MORTISE_MEMORY_READ_1  "memory.read/1"
#define MORTISE_MEMORY_WRITE_1 "memory.write/1"

/* The deployment's memory, within the tenant of the run.  The bodies are those
 * that mortise/memory.h has for read and write, without what the host says
 * itself: `tenant`, `now`, and a trace's `id` and `created_at`.
 *
 *     read   {query?, types?, scope?, keys?, ids?, max_traces?, min_strength?,
 *            order?, after?}: 8 traces unless max_traces says otherwise; of the
 *            scopes that have keys those alone that are named in `keys`
 *     write  {traces?: [{type, scope, key?, content, strength?, metadata?} ...],
 *            uses?}: strength 0.5 unless it is said
 *
 * and the answers are those of the memory, of a write with `ids` besides, what
 * the host called the traces, in their order; `usage`, where it cost something,
 * counts for this call.
 *
 * A read is journaled: an execution that is entered again is told the same.  A
 * write is an effect of your operation (one without an effect is denied:
 * MORTISE_S_DENIED), and may be made again: the ids are of its idempotency key, so
 * the traces are there once.  MORTISE_S_NOTFOUND: the deployment has no memory;
 * MORTISE_S_INVALID: that is no such body, in words; MORTISE_S_IO: the memory
 * failed, and another try may help; MORTISE_S_FAILED: it failed, in words that
 * begin with its code.  Results as those of host->ask(). */
MORTISE_INLINE mortise_status mortise_memory_read(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_MEMORY_READ_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_memory_read_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_MEMORY_READ_1, body, answer);
}

MORTISE_INLINE mortise_status mortise_memory_write(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_MEMORY_WRITE_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_memory_write_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_MEMORY_WRITE_1, body, answer);
}

/* ---- tool.list/1, tool.invoke/1 -------------------------------------------- */

#define MORTISE_TOOL_LIST_1   "tool.list/1"
#define MORTISE_TOOL_INVOKE_1 "tool.invoke/1"

/* What the graph lets the node use (tool_allowlist, handoffs): {"tools": [{name,
 * description?, parameters, tool?, effect?} ...]}, named as models are told,
 * with what each is called in graphs and its effect class beside it.  One
 * without `tool` hands over to another node. */
MORTISE_INLINE mortise_status mortise_tool_list(mortise_host *host,
                                                const mortise_host_api *api,
                                                mortise_call call,
                                                mortise_answer_fn *on_answer,
                                                void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK, MORTISE_TOOL_LIST_1,
                            mortise_strz("{}"), on_answer, ud);
}

MORTISE_INLINE mortise_status
mortise_tool_list_wait(mortise_host *host, const mortise_host_api *api,
                       mortise_call call, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK, MORTISE_TOOL_LIST_1,
                             mortise_strz("{}"), answer);
}

/* Have one of them run: {"tool": its name, or what graphs call it; "arguments":
 * {...}; "tool_use_id"?: what a model calls this use of it, for people to see;
 * "step"?}.  It is an execution of the run's, with what the graph says of it:
 * schema, guardrails, approval, timeout, retries and record.  The answer is
 *
 *     {"output": any}
 *     {"text": ..., "cut": {"bytes", "of"}}   its JSON, or the text that it is,
 *                                    is longer than max_output
 *     {"goto": node}                 hand over: end, and emit that `goto`
 *     {"error": {code, class, message}}   it failed, or was rejected; or there
 *                                    is no tool of that name (unknown_tool)
 *
 * and MORTISE_S_SUSPENDED where it waits for somebody, or for the place of this
 * call: let go.
 * MORTISE_S_INVALID, in words: that is no such request; MORTISE_S_DENIED: the
 * node has none.  Results as those of host->ask(). */
MORTISE_INLINE mortise_status mortise_tool_invoke(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_TOOL_INVOKE_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_tool_invoke_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_TOOL_INVOKE_1, body, answer);
}

/* ---- conversation.keep/1 --------------------------------------------------- */

#define MORTISE_CONVERSATION_KEEP_1 "conversation.keep/1"

/* {"after": the step of a call of a model; "append"?: messages}: what was said in
 * this call up to that reply, and those messages, stays in the node's
 * conversation when the node succeeds.  What is said of it last holds.  The
 * answer is null; MORTISE_S_DENIED: the node has no conversation;
 * MORTISE_S_INVALID, in words: there is no such reply, or a call of a tool
 * without its result. */
MORTISE_INLINE mortise_status mortise_conversation_keep(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_CONVERSATION_KEEP_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_conversation_keep_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_CONVERSATION_KEEP_1, body, answer);
}

/* ---- journal.begin/1, journal.end/1 ------------------------------------------ */

#define MORTISE_JOURNAL_BEGIN_1 "journal.begin/1"
#define MORTISE_JOURNAL_END_1   "journal.end/1"

/* A step of the plugin's own: something that it does in the world without the
 * host.  {"step": its name in this call; "arguments"?: any JSON, what makes it
 * this step and no other, and what people see of it; "repeat"?: true, done twice
 * it is as if done once}.  The answer, once its intent is on disk, is
 *
 *     {"key": text}    do it now, under that idempotency key, which is the same
 *                      however often it is begun; without a key where the
 *                      operation only reads
 *     {"result": any}  it was done before, and gave that: do it not
 *
 * and then mortise_journal_end() says what came of it.  What is asked in between
 * is part of it and recorded nowhere: state.get/1, http.request/1 (which says
 * MORTISE_S_DOUBT there in the place of MORTISE_S_IO where some of it had left, and
 * it may have happened) and secret.get/1.  Three are recorded as they are anywhere,
 * and found again by their `step`, which they must have, when this step is begun
 * again: interrupt.request/1 with hold_ms, model.call/1 and model.embed/1 (a used
 * up budget gives MORTISE_S_DENIED there, so that nothing is left in doubt for
 * money); in the order of asks they are not.  Steps neither nest nor overlap.  A call that ends in between
 * leaves the step in doubt: the operation's effect class and on_in_doubt say
 * what follows, unless `repeat`.  A person may then say the result, which is
 * judged by `step_result` of the manifest, if it has that.  MORTISE_S_INVALID, in words: that is no such
 * request.  Results as those of host->ask(). */
MORTISE_INLINE mortise_status mortise_journal_begin(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_JOURNAL_BEGIN_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_journal_begin_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_JOURNAL_BEGIN_1, body, answer);
}

/* {"step", "result": any} or {"step", "undone": true}: it happened, and gave
 * that; or it did not, and may be begun again.  Also of a call that is cancelled.
 * The answer is null, and that is on disk ahead of whatever follows from it.
 * MORTISE_S_INVALID, in words: no such step is under way.  What did not happen
 * may be begun again by the same name. */
MORTISE_INLINE mortise_status mortise_journal_end(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_JOURNAL_END_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_journal_end_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_JOURNAL_END_1, body, answer);
}

/* ---- spawn.claim/1, spawn.register/1, spawn.advance/1, spawn.settle/1,
 *      spawn.start/1, spawn.await/1, spawn.list/1, spawn.message/1,
 *      spawn.cancel/1, spawn.report/1 -------------------------------------- */

#define MORTISE_SPAWN_CLAIM_1    "spawn.claim/1"
#define MORTISE_SPAWN_REGISTER_1 "spawn.register/1"
#define MORTISE_SPAWN_ADVANCE_1  "spawn.advance/1"
#define MORTISE_SPAWN_SETTLE_1   "spawn.settle/1"
#define MORTISE_SPAWN_START_1    "spawn.start/1"
#define MORTISE_SPAWN_AWAIT_1    "spawn.await/1"
#define MORTISE_SPAWN_LIST_1     "spawn.list/1"
#define MORTISE_SPAWN_MESSAGE_1  "spawn.message/1"
#define MORTISE_SPAWN_CANCEL_1   "spawn.cancel/1"
#define MORTISE_SPAWN_REPORT_1   "spawn.report/1"

/* For an operation that has work done by children of its own: sessions, jobs,
 * processes elsewhere.  A handle is a durable record of one of them.  Claim it
 * before the child is made, register the child, say that it has its instructions
 * and that it works, settle the handle with what came of it.  Who is interrupted
 * in between claims again under the same `call`, and is told how far it was.
 *
 * Each is answered once it is on disk, in the same commit as the journal says that
 * it was done.  A refusal is MORTISE_S_DENIED, journaled, and its words begin with
 * a code: "E_LIMIT: limits.spawn.active is 16: ..." (a cap, which they name),
 * "E_DETERMINISM: ...", "E_STALE_TOKEN: ..." (somebody claimed it since),
 * "E_ALREADY_SETTLED: ...", "E_NOT_RUNNING: ..." (no child is registered),
 * "E_ALREADY_REGISTERED: ...", "E_NOT_FOUND: ..." (this run has no such handle).
 * Handles that are open when the run ends are abandoned, unless they are detached.
 *
 * Bodies are JSON; texts in them have 128 bytes at most and no control
 * characters. */

/* {"call", "name", "task"?: any, "detached"?: bool, "native"?: bool, "token"?}: `call` is unique
 * in the execution, the same in a replay and in a later attempt, which finds what
 * an earlier one began.  The answer is {"outcome", "handle", "name", "state",
 * "token"?, "child"?, "terminal_status"?, "terminal_result"?}; `outcome` is
 *
 *     claimed                it is made now
 *     claimed_pending_child  it was; no child is registered: make or find it
 *     already_running        go on with `child`; it needs its instructions only
 *                            where `state` is created
 *     already_settled        read how it ended; there is no token
 *
 * `native` (of nodes of type gmi or leaf alone): the child is a run of the same
 * store, whose id the answer has as `child` from the claim on.  Its task is
 * {"instructions": text, "result_schema"?: a schema, "message_schema"?: a schema,
 * "seed"?: step}: what it is to do; what its result is to be; what it may be told
 * (spawn.message/1); and a step of model.call/1 of this call, if the child is to
 * begin with all that the model was told there.  It is started by spawn.start/1, and its end settles the handle: register, advance and settle
 * are E_NOT_ALLOWED. */
MORTISE_INLINE mortise_status mortise_spawn_claim(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_SPAWN_CLAIM_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_spawn_claim_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_SPAWN_CLAIM_1, body, answer);
}

/* {"handle", "token", "child"}: the child is there.  The answer is {"handle",
 * "name", "state"}, as those of the next two. */
MORTISE_INLINE mortise_status mortise_spawn_register(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_SPAWN_REGISTER_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_spawn_register_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_SPAWN_REGISTER_1, body, answer);
}

/* {"handle", "token", "state": "dispatched" | "running"}; never back. */
MORTISE_INLINE mortise_status mortise_spawn_advance(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_SPAWN_ADVANCE_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_spawn_advance_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_SPAWN_ADVANCE_1, body, answer);
}

/* {"handle", "token", "status", "result"?: any}: it ended; `status` is completed,
 * failed, cancelled, timed_out, max_iterations, budget or abandoned, the result
 * 1 MiB at most.  Again with the same two is fine. */
MORTISE_INLINE mortise_status mortise_spawn_settle(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_SPAWN_SETTLE_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_spawn_settle_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_SPAWN_SETTLE_1, body, answer);
}

/* {"handle", "token", "task"}: a native child begins, or, where it was started
 * before, goes on; `task` is what it was claimed for.  It is an agent like the node
 * that asks, with its model, tools, guardrails and bounds.  The answer is {"handle",
 * "name", "state", "child", "terminal_status"?, "terminal_result"?}: one that cannot begin is settled
 * as failed.  When the asking run ends, children that are not detached are
 * cancelled, and theirs; so is one whose execution the run gave up for good. */
MORTISE_INLINE mortise_status mortise_spawn_start(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_SPAWN_START_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_spawn_start_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_SPAWN_START_1, body, answer);
}

/* {"handle"}: wait for the end of the child, whoever's it is.  The answer is
 * {"status", "child"?, "result"?}: the terminal status, and what came of it; of a
 * native child {"output": artifacts}, in which `result` is what its agent gave, or
 * {"error"}.  While a native child is at work the call stays; when that comes to
 * rest without an end, or other calls want the place of this one (the manifest's
 * `concurrency`), or where the child is no run, the status is
 * MORTISE_S_SUSPENDED: return it, and the call is entered again at the end. */
MORTISE_INLINE mortise_status mortise_spawn_await(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_SPAWN_AWAIT_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_spawn_await_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_SPAWN_AWAIT_1, body, answer);
}

/* {"handle"?}: how the run's children stand, all, or the one of that handle.  The
 * answer is {"tasks": [{"task", "name", "state", "attempt", "child"?, "detached"?,
 * "progress"?, "status"?}]}: `task` is the handle; `state` is queued, running,
 * awaiting_input (a child that is a run waits for people, or stands still),
 * succeeded, failed or cancelled, `status` the terminal status of one that is over;
 * `attempt` which attempt the child makes at its task, and `progress` how far that
 * is, as it says itself.  Of one that was asked for by its handle "result" or
 * "error" {"code", "message"} besides, once it is over. */
MORTISE_INLINE mortise_status mortise_spawn_list(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK, MORTISE_SPAWN_LIST_1,
                            body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_spawn_list_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_SPAWN_LIST_1, body, answer);
}

/* {"step", "handle", "message": any, "attempt"?}: a child that is a run hears that
 * with its model's next turn: a text as it is, any other value as JSON.  It hears it
 * once, however often it is asked for under the same step, which so must have a
 * name.  The answer is {"handle", "name", "state"}.  Refusals are MORTISE_S_DENIED,
 * in words that begin with a code: "E_INVALID" (it is not what the task's
 * message_schema allows), "E_STALE_ATTEMPT" (the child does not make that attempt),
 * "E_ALREADY_SETTLED", "E_NOT_RUNNING" (it has not begun), "E_NOT_ALLOWED" (it is no
 * run), "E_NOT_FOUND". */
MORTISE_INLINE mortise_status mortise_spawn_message(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_SPAWN_MESSAGE_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_spawn_message_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_SPAWN_MESSAGE_1, body, answer);
}

/* {"step", "handle", "attempt"?}: a child that is a run is cancelled, and its
 * children with it; one that is over stays as it is.  Answer and refusals as those
 * of spawn.message/1. */
MORTISE_INLINE mortise_status mortise_spawn_cancel(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_SPAWN_CANCEL_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_spawn_cancel_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_SPAWN_CANCEL_1, body, answer);
}

/* {"progress"?: text, "attempt"?}: how far this call's node is, 4096 bytes at most:
 * for whoever watches, and, where the run is a child, for its parent.  `attempt` is
 * the call's own unless it is said; of one that is over (a later one was heard of)
 * the report is refused as a whole: MORTISE_S_DENIED, "E_STALE_ATTEMPT: ...".
 * Without progress it says no more than which attempt is made.  The answer is
 * {"attempt", "progress"?, "handle"?, "name"?, "state"?}. */
MORTISE_INLINE mortise_status mortise_spawn_report(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_answer_fn *on_answer, void *ud)
{
    return mortise_ask_made(host, api, call, MORTISE_S_OK,
                            MORTISE_SPAWN_REPORT_1, body, on_answer, ud);
}

MORTISE_INLINE mortise_status mortise_spawn_report_wait(
    mortise_host *host, const mortise_host_api *api, mortise_call call,
    mortise_str body, mortise_str *answer)
{
    return mortise_wait_made(host, api, call, MORTISE_S_OK,
                             MORTISE_SPAWN_REPORT_1, body, answer);
}

#ifdef __cplusplus
}
#endif
MORTISE_C_END
#endif
