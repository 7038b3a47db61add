/* mortise/ask.h -- typed wrappers for the functions of the host, so that you
 * need not build their JSON and strings by hand.
 *
 * Three parts: make a mortise_str; emit or fail in one line; and a pair of
 * functions for each method of host->ask().  This version has the methods
 *
 *   state.get/1      read a path of the run's state
 *   http.request/1   make an HTTP request
 *   process.run/1    run a program to its end
 *   process.spawn/1, process.write/1, process.end/1
 *                    start a program, write lines to it, end it
 *   interrupt.request/1              ask a person
 *   timer.wait/1                     sleep, durably
 *   kv.get/1, kv.put/1               read and store values of the plugin
 *   schema.check/1                   check a value against a JSON Schema
 *   graph.check/1                    check whether a graph can run
 *   secret.get/1                     get a secret of the deployment
 *   secret.keep/1, secret.kept/1     store and get secrets of the plugin
 *   model.call/1, model.embed/1      call a model of the deployment
 *   memory.read/1, memory.write/1    read and write the deployment's memory
 *   tool.list/1, tool.invoke/1       list and run the node's tools
 *   discovery.query/1                find tools, skills, extensions and nodes
 *   conversation.keep/1              store messages for other nodes
 *   journal.begin/1, journal.end/1   a step that the plugin performs itself
 *   spawn.claim/1, spawn.register/1, spawn.advance/1, spawn.settle/1
 *                    durable records of children that the plugin makes
 *   spawn.start/1, spawn.await/1     children that are runs
 *   spawn.list/1, spawn.message/1, spawn.cancel/1, spawn.report/1
 *                    list, message and cancel children; report progress
 *
 * Any other method gives MORTISE_S_UNSUPPORTED.  The manifest must list each
 * method that the plugin uses (`requires.methods`).  The arguments are always
 * the host, its table, the call, then those of the method.
 *
 * Use a _wait form only from [call] of a `blocking` interface.  Its answer is
 * lent until the call's next ask_wait(), or until the call ends. */
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

/* The string of a literal or of any NUL-terminated text; NULL is empty. */
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

/* {"scratch"?, "artifacts"?}: written into the state with the result. */
MORTISE_INLINE mortise_status mortise_emit_update(mortise_host *host,
                                                  const mortise_host_api *api,
                                                  mortise_call call,
                                                  mortise_str json)
{
    return api->emit(host, call, mortise_strz("update"), json);
}

/* The node at which the run continues: an id of the node's `targets`. */
MORTISE_INLINE mortise_status mortise_emit_goto(mortise_host *host,
                                                const mortise_host_api *api,
                                                mortise_call call,
                                                mortise_str id)
{
    return api->emit(host, call, mortise_strz("goto"), id);
}

/* {"model_calls"?, "input_tokens"?, "output_tokens"?, "usd"?, "model"? ...}
 * (plugin.h): what was used since the last "usage". */
MORTISE_INLINE mortise_status mortise_emit_usage(mortise_host *host,
                                                 const mortise_host_api *api,
                                                 mortise_call call,
                                                 mortise_str json)
{
    return api->emit(host, call, mortise_strz("usage"), json);
}

/* Set an error message and return the status:
 *
 *     return mortise_refuse(host, api, call, MORTISE_S_NOTFOUND, "permanent",
 *                           "not_found", "there is no such file");
 *
 * `klass` and `code` are those of fail() in plugin.h; either may be NULL. */
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
    /* in parentheses: a plugin's test library (Check) may define a macro `fail`
     */
    (api->fail)(host, call, mortise_strz(msg), detail);
    return status;
}

/* A JSON writer that emits its bytes as the call's output whenever its buffer
 * is full.  A large result needs little memory:
 *
 *     mortise_emitter out;
 *     char room[4096];
 *
 *     mortise_emitter_init(&out, host, api, request->call, room, sizeof room);
 *     mortise_jw_object(&out.w);
 *     ...
 *     return mortise_emitter_finish(&out);
 *
 * The emitter must not move between init and finish. */
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

/* Emit the rest.  Returns the first failure of the writer or of the host. */
MORTISE_INLINE mortise_status mortise_emitter_finish(mortise_emitter *e)
{
    mortise_str rest;
    mortise_status status = mortise_jw_finish(&e->w, &rest);

    return status == MORTISE_S_OK ? mortise_emitter_more(&e->w, e) : status;
}

/* ---- asking ------------------------------------------------------------ */

/* How each pair below ends: ask, unless the body could not be made. */
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

/* {"path": ...} into room, which is enough for paths of up to 512 bytes. */
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

/* Read the value at a path of the state, such as "scratch.label" or
 * "input.a.b", as the call sees it.  The answer is that value as JSON.
 *
 * MORTISE_S_NOTFOUND  The path has no value.
 * MORTISE_S_DENIED    The manifest's permissions.state does not list the path.
 * MORTISE_S_INVALID   The path is not UTF-8 or too long.
 *
 * Otherwise as host->ask(). */
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

/* A request.  Zero the struct (`= {0}`); only `url` is required.
 *
 * permissions.net of the manifest lists where a request may go.  "HOST:PORT" is
 * one place.  "config:PATH" is the value at that path of the plugin's config: a
 * place, a URL, or a list of them; nothing if the config has no value.  A URL
 * of the config may end in " private" (mortise-plugin(5)); cut that off before
 * you ask.  The host checks every redirect like the first URL.
 *
 * A method other than GET, HEAD and OPTIONS changes something on the server.
 * The host sends it once, unless `retries` allows more.  mortise_http_request()
 * describes what follows in an operation that has an effect. */
typedef struct mortise_http_ask {
    mortise_str method; /* empty: GET */
    mortise_str url;
    const mortise_str *headers; /* name, value, name, value ... */
    uint64_t n_headers;         /* pairs */
    /* At most one of: UTF-8 text, or any JSON value, sent as it is.  p NULL:
     * none. */
    mortise_str body, json;
    uint64_t timeout_ms;      /* for the whole request; 0: as the call */
    uint64_t idle_timeout_ms; /* without a byte; 0: 60 s */
    uint64_t max_body;        /* bytes, decompressed; 0: 16 MiB */
    int32_t no_redirects;     /* return redirects as answers */
    int32_t stream;           /* also deliver pieces: see below */
    /* Headers whose values are references to secrets: whole values, or behind a
     * blank at the end ("Bearer secret://NAME").  The host inserts the secrets
     * when it sends the request.  permissions.secrets of the manifest must
     * cover the names.  Records contain only the reference. */
    const mortise_str *secret_headers;
    uint64_t n_secret_headers; /* pairs */
    /* Basic authorization (RFC 7617); the host builds the header.  Each is a
     * text or a whole reference ("secret://NAME"); at least one is a reference.
     * The user must contain no colon.  p NULL: none. */
    mortise_str basic_user, basic_password;
    /* Retries of the request, 0 to 10, when another try may help: no
     * connection, a broken connection, or status 408, 425, 429, 500, 502, 503
     * or 504.
     *
     * A request that may not be repeated is sent once whatever `retries` is.
     * That is any method but GET, HEAD, OPTIONS, PUT and DELETE, in an
     * operation that is neither a read nor `idempotent`.
     *
     * The host waits up to 0.5 s, 1 s, 2 s ... 10 s between tries, or as long
     * as Retry-After asks, if that is at most one minute.  Waits count for
     * timeout_ms. All tries are one request with one answer, the last.  Not
     * with `stream`. */
    uint64_t retries;
    /* Instead of body and json: bytes that are not text, in base64 (RFC 4648).
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

/* Write the JSON of the request into room; MORTISE_S_NOMEM if it does not fit.
 */
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

/* Make the request.  Its JSON is written into `room`, which is yours again when
 * this function returns; MORTISE_S_NOMEM if it does not fit.  Enough room: the
 * size of h->json, six times the size of the texts, and 512 bytes.
 *
 * An HTTP answer with any status is MORTISE_S_OK and an object:
 *
 *   status          200 and so on
 *   url             the URL that answered
 *   headers         {name in lower case: value}
 *   body            text; or
 *   body_base64     bytes that are not UTF-8
 *   class           "transient" | "permanent": for a status from 400 on
 *   retry_after_ms  if the server sent it
 *
 * Without a whole answer, the status is one of these, and the answer a message:
 *
 *   MORTISE_S_IO       No connection, or it broke; another try may help.  With
 *                      `stream`: it broke, if the head had come.
 *   MORTISE_S_TIMEOUT  The time for the request or for the next byte passed.
 *   MORTISE_S_DENIED   permissions.net does not allow the place.
 *   MORTISE_S_INVALID  The request is invalid.
 *   MORTISE_S_FAILED   Another try would fail in the same way: TLS does not
 *                      verify, the body is too large, or the peer does not
 *                      speak HTTP.
 *
 * In doubt: the operation is `write` or `external` and not `idempotent`, and
 * the request is not GET, HEAD, OPTIONS, PUT or DELETE.  Then these outcomes
 * leave open whether the request took effect:
 *
 *   - the connection broke or the time ran out after a part was sent
 *   - the answer is cut, too large or not HTTP
 *   - the status is 408, 500, 502 or 504, or another from 500 on but 503
 *   - the request failed after a redirect that reports success (303)
 *
 * The answer is then MORTISE_S_SUSPENDED.  Suspend, as after a question.  The
 * engine re-enters the call when a person or your reconcile() has settled it.
 * The answer is then the person's, or the request is made again under the same
 * key.
 *
 * This holds for both values of `intent` in the manifest.  With `intent: call`
 * the engine also records an intent for each entry of the call, for effects
 * that the plugin makes itself.  With `intent: steps` the plugin promises to
 * have effects only by asking the host.
 *
 * With `stream`, on_answer first gets pieces with MORTISE_S_PENDING: the answer
 * without its body, then pieces of the body as they come, raw bytes, cut
 * anywhere. The last answer is still the whole one.  When the host answers from
 * its record (after a crash; never for model plugins), only the whole answer
 * comes. */
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

/* The error detail for a request that failed, or that was answered with a
 * status from 400 on.  It is written into room; 256 bytes are enough.  Codes:
 * "http.404" and so on; "http.unreachable", "http.timeout", "http.denied",
 * "http.invalid", "http.cancelled", "http.failed". */
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

/* A program, run to its end.  Zero the struct (`= {0}`); only `program` is
 * required.
 *
 * `program` is a name from the deployment's `programs`, which defines the file
 * and what it may access.  permissions.exec of the manifest lists the programs
 * that the plugin may run: names, "*" for all, or "config:PATH" for the names
 * at that path of the plugin's config.  The host uses no shell and passes
 * nothing of the engine's environment.
 *
 * The program counts as an effect unless `reads` is set.  The host refuses
 * `reads` unless the deployment also has `reads: true` for the program.  A
 * program that changes something is run once; mortise_http_request() describes
 * what follows in an operation that has an effect.  The program finds the
 * idempotency key of the step in MORTISE_IDEMPOTENCY_KEY. */
typedef struct mortise_process_ask {
    mortise_str program;
    const mortise_str *args;
    uint64_t n_args;
    /* At most one of: UTF-8 text, or any JSON value, sent as it is.  p NULL:
     * none. */
    mortise_str input, json;
    const mortise_str *env; /* name, value, name, value ... */
    uint64_t n_env;         /* pairs */
    /* Variables whose values are references to secrets ("secret://NAME"), as in
     * mortise_http_ask.  The host masks them in the program's output. */
    const mortise_str *secret_env;
    uint64_t n_secret_env; /* pairs */
    uint64_t timeout_ms;   /* 0: as the call */
    uint64_t max_output;   /* bytes of stdout; 0: 1 MiB */
    int32_t reads;
} mortise_process_ask;

/* Write the JSON of the request into room; MORTISE_S_NOMEM if it does not fit.
 */
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

/* Run the program.  Enough room: six times the size of the texts, and 256
 * bytes.
 *
 * The answer is {"exit", "stdout" | "stdout_base64", "stderr" |
 * "stderr_base64", "stderr_cut"?}, whatever the exit code is.  The host keeps
 * the first 64 KiB of stderr; if there was more, stderr_cut is true.
 *
 *   MORTISE_S_NOTFOUND     The program could not be started.  Nothing happened.
 *   MORTISE_S_DENIED       The program is not allowed.  Nothing happened.
 *   MORTISE_S_UNSUPPORTED  mortise-worker is not installed.
 *   MORTISE_S_TIMEOUT      The host killed it and all that it started.
 *   MORTISE_S_FAILED       The same, for more output than max_output.
 *   MORTISE_S_IO           A signal ended it, or its end is unknown.
 *
 * After the last three it may have had a part of its effect.  In an operation
 * that has an effect, the answer is then MORTISE_S_SUSPENDED instead, and a
 * person decides. */
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

/* {"NAME": name} and, if it is not 0, {"max_line"}, into room, which is enough
 * for names of up to 128 bytes. */
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

/* Start a program that runs beside the plugin, and receive its output by lines.
 *
 *   kind       `name` is one of the deployment's  permissions.exec has
 *   "program"  `programs`                         "NAME", or "*" for all
 *   "server"   `tools.mcp` with a `command`       "mcp:NAME", or "mcp:*"
 *
 * The deployment defines the file, its arguments and environment, and what it
 * may access.  max_line is in bytes; 0 is 16 MiB.
 *
 * on_answer is called with MORTISE_S_PENDING once the program has started, with
 * {"process": N}.  N is the number for the two functions below; only the same
 * call may use it.  Then on_answer is called with MORTISE_S_PENDING for each
 * line of its stdout: any bytes, without the line's end, with the deployment's
 * secrets masked.  The last call of on_answer has one of
 *
 *   MORTISE_S_OK           {"exit": code, "stderr": the last 4096 bytes of it}
 *   MORTISE_S_IO           A signal ended it, or its end is unknown.
 *   MORTISE_S_FAILED       A line was longer than max_line: it was killed.
 *   MORTISE_S_NOTFOUND, MORTISE_S_DENIED, MORTISE_S_UNSUPPORTED,
 *   MORTISE_S_NOMEM        It was not started; the message has the reason.
 *   MORTISE_S_CANCELLED    The call ends.
 *
 * Nothing of it is recorded: a call that suspends starts the program again when
 * it is re-entered.  To keep a program longer than a call, ask for it in the
 * background (plugin.h).  When its call ends, the host closes the program's
 * stdin, sends SIGTERM after 2 s, and SIGKILL after 2 s more. */
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

/* Write a line to its stdin: UTF-8 without a line's end, which the host
 * appends. `room` is yours again when this function returns; six times the text
 * and 64 bytes are enough, else MORTISE_S_NOMEM.  The answer is null when its
 * stdin has taken the whole line.  MORTISE_S_IO: the program can take no more.
 * MORTISE_S_DENIED: 64 MiB already wait to be written. */
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

/* End the program: the host closes its stdin, sends SIGTERM after 2 s, and
 * SIGKILL after 2 s more.  The answer is null.  The answer of process.spawn/1
 * has its exit code. */
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

/* A question to a person.  Zero the members that you do not need (`= {0}`). */
typedef struct mortise_question {
    mortise_str prompt;
    /* JSON, p NULL for none: what the person needs to see, and a schema that
     * the answer must fit. */
    mortise_str payload, schema;
    uint64_t for_ms;  /* ms to answer it; 0: no limit */
    uint64_t hold_ms; /* ms before it suspends, see below; 0: none */
    mortise_str step; /* its name (plugin.h); empty: by its order */
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

/* Ask a person.  The first answer is MORTISE_S_SUSPENDED: suspend (plugin.h).
 * When the engine re-enters the call and it asks the same, the answer is the
 * person's as JSON, or MORTISE_S_TIMEOUT if `for_ms` passed.
 *
 * A call that suspends loses its connections, for example to a server.  hold_ms
 * avoids that: the question is open at once, and its first answer comes when
 * the person answers, or is MORTISE_S_SUSPENDED after hold_ms.  hold_ms also
 * allows a question inside a step of the plugin's own (journal.begin/1).  The
 * step stays open.  If it may be repeated, end it as `undone` before you
 * suspend; otherwise the step is in doubt.
 *
 * If the schema has the property `approved`, the question can be settled by
 * `mortise approve` and `mortise reject`.  Its answer is then {"approved":
 * bool, "answer"?, "reason"?}.
 *
 * The JSON of the question is written into `room`, which is yours again when
 * this function returns; MORTISE_S_NOMEM if it does not fit. */
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

/* {"for_ms": N}, or {"until_ms": N} if `until` is not 0 */
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

/* Sleep for `ms` milliseconds (ten years at most), or until `ms` milliseconds
 * after 1970 (UTC).  A sleeping call needs only disk space, and the wait
 * continues across restarts.  The first answer is MORTISE_S_SUSPENDED: suspend.
 * When the engine re-enters the call, the same ask is answered with null.  If
 * the time has already passed, that happens as soon as the call suspends. */
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

/* Durable values of the plugin, in a namespace of its own in each tenant,
 * shared by all runs.  Limits:
 *
 *     key      1 to 512 bytes of UTF-8, also with NULs
 *     value    up to 1 MiB of JSON
 *     keys     65,536; a put of another key is refused (MORTISE_S_DENIED)
 *
 * Values stay until a put replaces or removes them.
 *
 * A put is answered when it is on disk, in the commit that records the put in
 * the journal.  After a crash it was made, or it is made again: never twice,
 * and never in doubt.  It stays if the execution fails; a new attempt makes its
 * puts again. If a key is put several times, by any run, the last put counts.
 *
 * A get sees all earlier puts of its own run, and those puts of other runs that
 * are on disk.  Its answer is journaled: a re-entered execution gets the same.
 * Guardrails may get but not put. */

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

/* Get the value of a key.  Read the answer with mortise_kv_value(). */
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

/* The value in the answer to a get; MORTISE_S_NOTFOUND if there is none. */
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

/* Store `value` (JSON; null is a value too) under a key.  p NULL removes the
 * key. The answer is null.  The JSON of the request is written into `room`,
 * which is yours again when this function returns.  It needs the value's size
 * and MORTISE_KV_KEY_ROOM; MORTISE_S_NOMEM if it does not fit. */
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

/* {"name": ...} into room, which is enough for the name of any secret. */
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

/* Get a secret of the deployment that permissions.secrets of the manifest
 * covers. The answer is {"value": text}.  It is never recorded: ask again when
 * the call is re-entered.  Do not show it in anything that is recorded: output,
 * updates, events and bodies of other asks.  To send a secret in a header, use
 * mortise_http_ask.secret_headers; then the plugin never sees it.
 *
 *   MORTISE_S_NOTFOUND  The deployment has no such secret.
 *   MORTISE_S_DENIED    This plugin may not have it.
 *   MORTISE_S_FAILED    Its source does not provide it. */
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

/* Store a secret that the plugin received, for example a token, for later
 * processes of this user: text of up to 64 KiB, under a name of up to 512
 * bytes. Other plugins cannot read it.  value.p NULL removes it.
 *
 * The secret is in no record and no store.  From now on the host masks it in
 * all that is shown and in all that the plugin receives, except answers to
 * http.request/1 in the background.
 *
 * The JSON is written into `room`; six times name and value and 64 bytes are
 * enough, else MORTISE_S_NOMEM.  The answer is null.  MORTISE_S_NOTFOUND,
 * _DENIED or _IO: this user's directory for secrets cannot be used; the message
 * has the reason. */
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

/* Get the secret of that name: {"value": text}.  MORTISE_S_NOTFOUND: none. */
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

/* Check a value against a JSON Schema (draft 2020-12).  The body is {"schema",
 * "value"}; make it with _body() in a writer of yours.
 *
 * The answer is {"valid": true}, or {"valid": false, "reason"} with the place
 * and the reason.  It is not recorded, because the same ask always has the same
 * answer.  MORTISE_S_INVALID: the schema is invalid, or the check takes too
 * many steps on this value; treat the value as unchecked.  The message has the
 * reason. */
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

/* Check whether a graph can run here.  The body is an object:
 *
 *     source   the graph's text, YAML or JSON
 *     path?    the file name to print in findings
 *     with?    an object that is laid over the graph and wins
 *     types?   a list: the node types that are allowed, at any depth
 *
 * The answer is {"valid": true, "graph", "picture"}, or {"valid": false,
 * "graph", "findings"}, as `mortise check` prints them.  "graph" is the text
 * that was checked; findings point into it.  The graph is not valid if it names
 * other files or refers to secrets: the author of the text, perhaps a model,
 * would choose them. */
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

/* Make one call of a model.  The body is one JSON object.  It has `alias`, a
 * name of the deployment's models ("default" if absent), and the members of a
 * chat (or embed) request in mortise/model.h.  `model` may be absent: it is the
 * deployment's.
 *
 * A conversation need not be sent again with each turn.  Give one of these:
 *
 *   messages         all messages
 *   after, append    "after" is the "step" of an earlier model call of this
 *                    call that had one and got a reply.  The messages are all
 *                    up to that reply, followed by "append".
 *   continue: true, append, messages?
 *                    the conversation of the node (the graph's
 *                    `conversation`), with "messages" in front of it and
 *                    "append" after it
 *
 * Also:
 *
 *   prune   0 < x < 1: leave out the oldest messages, so that this share of
 *           the bytes stays.  Leading system messages and the first user
 *           message stay, and no result is separated from its call.
 *   beyond  with prune, default 0: if no more than this many messages can be
 *           left out, send nothing and refuse the ask (MORTISE_S_NOTFOUND)
 *   tools: true   the tools that the node allows (tool.list/1)
 *
 * The answer is {"reply": {...}, "usage": {...}}, the reply as in
 * mortise/model.h (of embed: {"vectors": ...}).  It may also have
 *
 *   json       the value of a complete reply that had to be JSON (`response`);
 *              or
 *   invalid    a text: why the reply is not the JSON that was asked for
 *   told       messages that people sent to the node meanwhile (`mortise
 *              tell`); the model received them after all others
 *   more: true people have sent further messages since
 *   left_out   the number of messages that `prune` left out
 *
 * If the model plugin failed, the answer is {"error": {"code", "class",
 * "message", "retry_after_ms"?}, "usage"?, "left_out"?}.  Both kinds of answer
 * are recorded.  The usage counts for this call, which need not emit it.
 *
 * MORTISE_S_INVALID   The body is invalid; the message has the reason.
 * MORTISE_S_NOTFOUND  There is no such alias, or nothing can be left out.
 *
 * Otherwise as host->ask(). */
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

/* Find what the node may use that matches a text, with the deployment's
 * discovery plugins (mortise/discovery.h).  The body is {"query": text,
 * "kind"?: "tool", "extension", "skill", "node" or "any" (default), "max"?: 1
 * to 100 (default 8), "tokens"?: for all texts of the answer (default 4000),
 * "step"?}.
 *
 *     tools        those of the node (tool.list/1; the id is its `tool`)
 *     extensions   those of these tools that are operations of plugins
 *     nodes        those that the node may hand over to
 *     skills       those of the discovery plugins
 *
 * The answer is {"results": [{"id", "kind", "score", "text"?, "tier"?} ...],
 * "failed"?: [{"plugin", "code", "message"} ...]}, the best first.  `failed`
 * lists plugins that failed while others answered.  The answer is recorded, and
 * is the same when the call is re-entered.
 *
 *   MORTISE_S_NOTFOUND  The deployment has no discovery.
 *   MORTISE_S_FAILED    None of its plugins answered.
 *
 * Only for executors.  Otherwise as host->ask(). */
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

/* Read and write the deployment's memory, in the tenant of the run.  The bodies
 * are those of mortise/memory.h for read and write, without the members that
 * the host sets: `tenant`, `now`, and a trace's `id` and `created_at`.
 *
 *   read   {query?, types?, scope?, keys?, ids?, max_traces?, min_strength?,
 *          order?, after?}: max_traces is 8 by default.  Scopes with keys
 *          return only traces whose keys are in `keys`.
 *   write  {traces?: [{type, scope, key?, content, strength?, metadata?} ...],
 *          uses?}: strength is 0.5 by default
 *
 * The answers are those of the memory plugin.  A write also has `ids`, the ids
 * of the traces in their order.  `usage`, if there is any, counts for this
 * call.
 *
 * A read is journaled: a re-entered execution gets the same answer.  A write is
 * an effect of the operation; an operation without an effect gets
 * MORTISE_S_DENIED. A write may be made again.  The ids derive from its
 * idempotency key, so each trace is stored once.
 *
 * MORTISE_S_NOTFOUND  The deployment has no memory.
 * MORTISE_S_INVALID   The body is invalid; the message has the reason.
 * MORTISE_S_IO        The memory failed; another try may help.
 * MORTISE_S_FAILED    The memory failed; the message begins with its code.
 *
 * Otherwise as host->ask(). */
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

/* List the tools of the node (tool_allowlist, handoffs): {"tools": [{name,
 * description?, parameters, tool?, effect?} ...]}.  `name` is the name for
 * models, `tool` the name in graphs, `effect` the effect class.  A tool without
 * `tool` hands over to another node. */
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

/* Run a tool.  The body is {"tool": either of its names; "arguments": {...};
 * "tool_use_id"?: the model's id of this use, for people to see; "step"?}.  The
 * tool is an execution of the run, with the graph's settings for it: schema,
 * guardrails, approval, timeout, retries and record.  The answer is one of
 *
 *     {"output": any}
 *     {"text": ..., "cut": {"bytes", "of"}}
 *                      its JSON, or its text, is longer than max_output
 *     {"goto": node}   hand over: emit that `goto`, and end
 *     {"error": {code, class, message}}
 *                      it failed or was rejected, or the tool does not exist
 *                      (unknown_tool)
 *
 *   MORTISE_S_SUSPENDED  It waits for a person, or needs the `concurrency` slot
 *                        of this call: suspend.
 *   MORTISE_S_INVALID    The body is invalid; the message has the reason.
 *   MORTISE_S_DENIED     The node has no tools.
 *
 * Otherwise as host->ask(). */
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

/* {"after": the step of a model call; "append"?: messages}.  Store the messages
 * of this call up to that reply, and `append`, in the node's conversation when
 * the node succeeds.  The last ask of a call counts.  The answer is null.
 *
 * MORTISE_S_DENIED   The node has no conversation.
 * MORTISE_S_INVALID  There is no such reply, or a tool call has no result; the
 *                    message has the reason. */
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

/* Begin a step of the plugin's own: an effect that it makes without the host.
 * The body is an object:
 *
 *     step        the name of the step in this call
 *     arguments?  any JSON that identifies the step; people see it
 *     repeat?     true: done twice, it has the same effect as done once
 *
 * The engine records the intent and answers when it is on disk:
 *
 *     {"key": text}    Do it now, under that idempotency key, which is the same
 *                      however often the step is begun.  An operation that only
 *                      reads gets no key.
 *     {"result": any}  It was done before, with that result: do not do it.
 *
 * After the effect, call mortise_journal_end().  Asks in between are part of
 * the step and are not recorded: state.get/1, secret.get/1 and http.request/1.
 * http.request/1 answers MORTISE_S_DOUBT there instead of MORTISE_S_IO if a
 * part of the request was sent and it may have happened.
 *
 * Three methods are recorded as usual: interrupt.request/1 with hold_ms,
 * model.call/1 and model.embed/1.  They need a `step`, by which they are found
 * when this step is begun again; they do not count in the order of asks.  If a
 * budget is used up, a model gives MORTISE_S_DENIED there, so that no effect is
 * left in doubt.
 *
 * Steps neither nest nor overlap.  A call that ends inside a step leaves the
 * step in doubt.  The operation's effect class and on_in_doubt decide what
 * follows, unless `repeat` is true.  A person may then give the result, which
 * must fit `step_result` of the manifest, if there is one.
 *
 * MORTISE_S_INVALID: the body is invalid; the message has the reason.
 * Otherwise as host->ask(). */
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

/* {"step", "result": any}: the effect happened, with that result.  {"step",
 * "undone": true}: it did not happen, and may be begun again under the same
 * name. A cancelled call may ask this too.  The answer is null.  It is on disk
 * before anything that follows from it.  MORTISE_S_INVALID: no such step is
 * open; the message has the reason. */
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

/* Durable records of children that the plugin makes itself: sessions, jobs,
 * processes elsewhere.  Each child has a handle.  Claim the handle before you
 * make the child, register the child, advance the handle when the child has its
 * instructions and when it works, and settle the handle with the child's
 * result. After an interruption, claim again under the same `call`: the answer
 * has the progress so far.
 *
 * Each ask is answered when it is on disk, in the commit that records it in the
 * journal.  A refusal is MORTISE_S_DENIED.  It is journaled, and its message
 * begins with a code:
 *
 *     E_LIMIT               "E_LIMIT: limits.spawn.active is 16: ...", a cap
 *     E_DETERMINISM         the claim differs from the one before
 *     E_STALE_TOKEN         the handle was claimed again since
 *     E_ALREADY_SETTLED     the handle is settled or abandoned
 *     E_NOT_RUNNING         no child is registered
 *     E_ALREADY_REGISTERED  the handle or the child is taken
 *     E_NOT_FOUND           this run has no such handle
 *
 * When the run ends, its open handles are abandoned, unless they are detached.
 *
 * Bodies are JSON; texts in them have at most 128 bytes and no control
 * characters. */

/* {"call", "name", "task"?: any, "detached"?: bool, "native"?: bool, "token"?}.
 * `call` is unique in the execution and the same in a replay and in a later
 * attempt, so that a later attempt finds what an earlier one began.  The answer
 * is {"outcome", "handle", "name", "state", "token"?, "child"?,
 * "terminal_status"?, "terminal_result"?}; `outcome` is
 *
 *   claimed                the handle is new
 *   claimed_pending_child  it exists without a child: make or find the child
 *   already_running        continue with `child`; send its instructions only
 *                          if `state` is created
 *   already_settled        the child has ended; there is no token
 *
 * `native` (only in nodes of type gmi or leaf): the child is a run of the same
 * store; `child` of every claim has its id.  Its task is an object:
 *
 *   instructions     text: what the child is to do
 *   result_schema?   the schema of its result
 *   message_schema?  the schema of messages to it (spawn.message/1)
 *   seed?            the step of a model.call/1 of this call: the child begins
 *                    with the messages of that call
 *
 * spawn.start/1 starts a native child, and its end settles the handle:
 * register, advance and settle are E_NOT_ALLOWED. */
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

/* {"handle", "token", "child"}: register the child.  The answer is {"handle",
 * "name", "state"}, also of the next two functions. */
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

/* {"handle", "token", "state": "dispatched" | "running"}; the state never goes
 * back. */
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

/* {"handle", "token", "status", "result"?: any}: the child has ended.  `status`
 * is completed, failed, cancelled, timed_out, max_iterations, budget or
 * abandoned. The result has at most 1 MiB.  Repeating it with the same two is
 * allowed. */
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

/* {"handle", "token", "task"}: start a native child, or continue it if it was
 * started before.  `task` is that of the claim.  The child is an agent like the
 * node that asks, with the same model, tools, guardrails and limits.  The
 * answer is {"handle", "name", "state", "child", "terminal_status"?,
 * "terminal_result"?}.  A child that cannot start is settled as failed.
 *
 * When the asking run ends, the engine cancels its children that are not
 * detached, and their children.  It does the same for the children of an
 * execution that ended without an output of its own and is not tried again. */
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

/* {"handle"}: wait for the end of a child of the run, whichever node made it.
 * The answer is {"status", "child"?, "result"?}: the terminal status and the
 * result.  The result of a native child is {"output": artifacts}, in which
 * `result` is the agent's, or {"error"}.
 *
 * The call stays open while a native child works.  The answer is
 * MORTISE_S_SUSPENDED if the child stops without an end, if other calls queue
 * for this call's `concurrency` slot, or if the child is no run: return that
 * status. The engine re-enters the call when the child ends. */
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

/* {"handle"?}: list the run's children, or the child of that handle.  The
 * answer is {"tasks": [{"task", "name", "state", "attempt", "child"?,
 * "detached"?, "progress"?, "status"?}]}:
 *
 *     task      the handle
 *     state     queued, running, awaiting_input (a child run waits for people,
 *               is paused or is blocked), succeeded, failed or cancelled
 *     attempt   the child's current attempt at its task
 *     progress  the child's own report
 *     status    the terminal status of a child that has ended
 *
 * If a handle was given and its child has ended, there is also "result", or
 * "error" {"code", "message"}. */
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

/* {"step", "handle", "message": any, "attempt"?}: send a message to a child
 * run. Its model receives it with its next turn: a text as it is, any other
 * value as JSON.  The child receives it once, however often it is sent under
 * the same step; so a step name is required.  The answer is {"handle", "name",
 * "state"}.
 *
 * Refusals are MORTISE_S_DENIED, with a message that begins with a code:
 *
 *     E_INVALID          the message does not fit the task's message_schema
 *     E_STALE_ATTEMPT    the child does not make that attempt
 *     E_ALREADY_SETTLED  the child has ended
 *     E_NOT_RUNNING      the child has not started
 *     E_NOT_ALLOWED      the child is no run
 *     E_NOT_FOUND        there is no such handle */
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

/* {"step", "handle", "attempt"?}: cancel a child run and its children.  A child
 * that has ended stays as it is.  Answer and refusals are those of
 * spawn.message/1. */
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

/* {"progress"?: text, "attempt"?}: report the progress of this call's node, at
 * most 4096 bytes, to live subscribers and, if the run is a child, to its
 * parent. `attempt` is the call's own by default.  If a later attempt has
 * already reported, the report is refused: MORTISE_S_DENIED, "E_STALE_ATTEMPT:
 * ...". Without progress, only the attempt is reported.  The answer is
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
