/* mortise/ask.h -- typed wrappers for the functions of the host, so that you
 * need not build JSON and strings by hand.
 *
 * The header has three parts: functions that make a mortise_str; functions that
 * emit a result or an error; and a pair of functions for each method of
 * host->ask().  This version has the methods
 *
 *   state.get/1      read a path of the run's state
 *   http.request/1   make an HTTP request
 *   process.run/1    run a program to its end
 *   process.spawn/1, process.write/1, process.end/1
 *                    start a program, write lines to it, end it
 *   interrupt.request/1              ask a person
 *   timer.wait/1                     sleep, across restarts
 *   kv.get/1, kv.put/1               read and store values of the plugin
 *   schema.check/1                   check a value against a JSON Schema
 *   graph.check/1                    check whether a graph can run
 *   secret.get/1                     get a secret of the deployment
 *   secret.keep/1, secret.kept/1     store and get secrets of the plugin
 *   model.call/1, model.embed/1      call a model of the deployment
 *   memory.read/1, memory.write/1    read and write the deployment's memory
 *   tool.list/1, tool.invoke/1       list and run the node's tools
 *   discovery.query/1                find tools, skills, extensions and nodes
 *   conversation.keep/1              store messages in a conversation
 *   journal.begin/1, journal.end/1   record a step that the plugin performs
 *   spawn.claim/1, spawn.register/1, spawn.advance/1, spawn.settle/1
 *                    durable records of children that the plugin makes
 *   spawn.start/1, spawn.await/1     children that are runs
 *   spawn.list/1, spawn.message/1, spawn.cancel/1, spawn.report/1
 *                    list, message and cancel children; report progress
 *
 * Any other method gives MORTISE_S_UNSUPPORTED.  The manifest must list each
 * method that the plugin uses (`requires.methods`).  The first arguments of
 * each function are the host, its table of functions, and the call.
 *
 * Each method has two functions.  mortise_NAME() asks and returns at once, like
 * host->ask().  mortise_NAME_wait() waits for the answer, like
 * host->ask_wait(): use it only in a [call] function of a `blocking` interface.
 * Its answer is valid until the next ask_wait() of the call, or until the call
 * ends.
 *
 * In the bodies and answers below, a question mark after a member ("step"?)
 * means that it is optional. */
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

/* Return the string of a NUL-terminated text; NULL gives an empty string. */
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

/* Emit an "update": {"scratch"?, "artifacts"?}.  The engine writes these
 * members into the state together with the result of the call. */
MORTISE_INLINE mortise_status mortise_emit_update(mortise_host *host,
                                                  const mortise_host_api *api,
                                                  mortise_call call,
                                                  mortise_str json)
{
    return api->emit(host, call, mortise_strz("update"), json);
}

/* Emit a "goto": the id of the node at which the run continues.  It must be in
 * the `targets` of this node. */
MORTISE_INLINE mortise_status mortise_emit_goto(mortise_host *host,
                                                const mortise_host_api *api,
                                                mortise_call call,
                                                mortise_str id)
{
    return api->emit(host, call, mortise_strz("goto"), id);
}

/* Emit a "usage": {"model_calls"?, "input_tokens"?, "output_tokens"?, "usd"?,
 * "model"? ...}, the usage since the last "usage" (plugin.h). */
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
 * `klass` and `code` are the class and the code of fail() in plugin.h; each may
 * be NULL. */
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

/* A JSON writer that emits its bytes as the call's output when its buffer is
 * full.  So a large result needs only a small buffer:
 *
 *     mortise_emitter out;
 *     char room[4096];
 *
 *     mortise_emitter_init(&out, host, api, request->call, room, sizeof room);
 *     mortise_jw_object(&out.w);
 *     ...
 *     return mortise_emitter_finish(&out);
 *
 * Do not copy or move the emitter between init and finish. */
typedef struct mortise_emitter {
    mortise_jw w;
    mortise_host *host;
    const mortise_host_api *api;
    mortise_call call;
} mortise_emitter;

/* The `more` function of the emitter's writer. */
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

/* Emit the bytes that are still in the buffer.  Return the first failure of the
 * writer or of the host, or MORTISE_S_OK. */
MORTISE_INLINE mortise_status mortise_emitter_finish(mortise_emitter *e)
{
    mortise_str rest;
    mortise_status status = mortise_jw_finish(&e->w, &rest);

    return status == MORTISE_S_OK ? mortise_emitter_more(&e->w, e) : status;
}

/* ---- asking ------------------------------------------------------------ */

/* The common end of each pair of functions below: ask, unless making the body
 * failed. */
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

/* The size of the room for {"path": ...}, enough for paths of up to 512
 * bytes. */
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

/* Read the value at a path of the run's state, such as "scratch.label" or
 * "input.a.b".  The state is the one that the call's node reads.  The answer is
 * the value as JSON.
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
 * permissions.net of the manifest lists the servers to which a request may be
 * sent.  An entry "HOST:PORT" allows one server.  An entry "config:PATH" allows
 * the value at that path of the plugin's config: HOST:PORT, a URL, or a list of
 * them.  If the config has no value there, the entry allows nothing.  A URL in
 * the config may end in " private" (mortise-plugin(5)): remove this word before
 * you ask.  The host checks every redirect like the first URL.
 *
 * The host assumes that a request changes something on the server if its method
 * is not GET, HEAD or OPTIONS.  It sends such a request once, unless `retries`
 * allows more.  The comment of mortise_http_request() describes how such a
 * request can be in doubt. */
typedef struct mortise_http_ask {
    mortise_str method; /* empty: GET */
    mortise_str url;
    const mortise_str *headers; /* name, value, name, value ... */
    uint64_t n_headers;         /* pairs */
    /* The body of the request; set at most one of the two.  `body` is UTF-8
     * text; `json` is any JSON value, sent unchanged.  p NULL: none. */
    mortise_str body, json;
    uint64_t timeout_ms;      /* for the whole request; 0: the call's limit */
    uint64_t idle_timeout_ms; /* without a byte; 0: 60 s */
    uint64_t max_body;        /* bytes, decompressed; 0: 16 MiB */
    int32_t no_redirects;     /* 1: return a redirect as the answer */
    int32_t stream;           /* 1: also deliver pieces: see below */
    /* Headers whose values are, or end in, a reference to a secret:
     * "secret://NAME" or "Bearer secret://NAME".  The host replaces the
     * reference by the secret when it sends the request.  permissions.secrets
     * of the manifest must list the names.  Records contain only the
     * reference. */
    const mortise_str *secret_headers;
    uint64_t n_secret_headers; /* pairs */
    /* Basic authorization (RFC 7617); the host makes the header.  Each of the
     * two is a text or a reference ("secret://NAME"); at least one must be a
     * reference.  The user must not contain a colon.  p NULL: none. */
    mortise_str basic_user, basic_password;
    /* The maximum number of retries, 0 to 10.  The host retries if there was no
     * connection, if the connection broke, or after status 408, 425, 429, 500,
     * 502, 503 or 504.
     *
     * The host never retries a request that must not be repeated: a request
     * with another method than GET, HEAD, OPTIONS, PUT and DELETE, in an
     * operation that is neither a `read` nor `idempotent`.
     *
     * The host waits up to 0.5 s, 1 s, 2 s ... 10 s between tries, or as long
     * as the header Retry-After demands, if this is at most one minute.  These
     * waits are part of timeout_ms.  You get only the answer of the last try.
     * Not with `stream`. */
    uint64_t retries;
    /* Instead of body and json: a body of any bytes, in base64 (RFC 4648).  p
     * NULL: none. */
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

/* Make the request.  The function writes the JSON of the request into `room`,
 * which you can use again when the function returns.  If `room` is too small,
 * it returns MORTISE_S_NOMEM.  The size of h->json, plus six times the size of
 * the texts, plus 512 bytes is enough.
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
 * If there is no complete answer, the status is one of these, and the answer is
 * an error message:
 *
 *   MORTISE_S_IO       There was no connection, or the connection broke;
 *                      another try may help.  With `stream`, the connection
 *                      broke if the head of the answer had come.
 *   MORTISE_S_TIMEOUT  The time for the request or for the next byte passed.
 *   MORTISE_S_DENIED   permissions.net does not allow the server.
 *   MORTISE_S_INVALID  The request is invalid.
 *   MORTISE_S_FAILED   Another try would fail in the same way: TLS does not
 *                      verify, the body is too large, or the peer does not
 *                      speak HTTP.
 *
 * In doubt: a request can be in doubt if the operation is `write` or `external`
 * and not `idempotent`, and if the method is not GET, HEAD, OPTIONS, PUT or
 * DELETE.  It is in doubt if
 *
 *   - the connection broke or the time ran out after a part of the request was
 *     sent
 *   - the answer is incomplete, too large or not HTTP
 *   - the status is 408, or 500 or higher except 503
 *   - the request failed after a redirect that reports success (303)
 *
 * If a request is in doubt, the answer is MORTISE_S_SUSPENDED.  End the call
 * with this status.  A person or your reconcile() then decides whether the
 * request took effect, and the engine re-enters the call.  The same ask then
 * gets the result that the person entered, or the host makes the request again
 * under the same key.
 *
 * The value of `intent` in the manifest does not change this.  With `intent:
 * call`, the engine additionally records an intent each time that it enters the
 * call, because the plugin itself may change something.  With `intent: steps`,
 * the plugin promises to have effects only by asking the host.
 *
 * With `stream`, on_answer first gets the answer without its body, and then
 * pieces of the body when they arrive, all with MORTISE_S_PENDING.  Pieces are
 * raw bytes and can end anywhere, even inside a character.  The last answer is
 * again the whole answer.  After a crash, the host answers from its record, and
 * on_answer gets only the whole answer.  (This does not happen in model
 * plugins.) */
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

/* Make the `detail` for fail() from a request that failed, or that was answered
 * with a status from 400 on.  The detail is written into room; 256 bytes are
 * enough.  Its code is "http.404" and so on for a status, or
 * "http.unreachable", "http.timeout", "http.denied", "http.invalid",
 * "http.cancelled" or "http.failed". */
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

/* A program to run to its end.  Zero the struct (`= {0}`); only `program` is
 * required.
 *
 * `program` is a name in the deployment's `programs`.  The entry there defines
 * the file and what the program may access.  permissions.exec of the manifest
 * lists the programs that the plugin may run: names, "*" for all, or
 * "config:PATH" for the names at that path of the plugin's config.  The host
 * uses no shell, and passes no variable of the engine's environment to the
 * program.
 *
 * If `reads` is 0, the host assumes that the program changes something, and
 * runs it only once.  Such a program can be in doubt, like a request (see
 * mortise_http_request()).  Set `reads` to 1 if the program changes nothing;
 * the deployment must also have `reads: true` for it.  The environment variable
 * MORTISE_IDEMPOTENCY_KEY contains the idempotency key of the step. */
typedef struct mortise_process_ask {
    mortise_str program;
    const mortise_str *args;
    uint64_t n_args;
    /* The program's stdin; set at most one of the two.  `input` is UTF-8 text;
     * `json` is any JSON value, sent unchanged.  p NULL: none. */
    mortise_str input, json;
    const mortise_str *env; /* name, value, name, value ... */
    uint64_t n_env;         /* pairs */
    /* Variables whose values are references to secrets ("secret://NAME"), as in
     * mortise_http_ask.  The host masks them in the program's output. */
    const mortise_str *secret_env;
    uint64_t n_secret_env; /* pairs */
    uint64_t timeout_ms;   /* 0: the call's limit */
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

/* Run the program.  A `room` of six times the size of the texts, plus 256
 * bytes, is enough.
 *
 * The answer is {"exit", "stdout" | "stdout_base64", "stderr" |
 * "stderr_base64", "stderr_cut"?}, whatever the exit code is.  The answer has
 * the first 64 KiB of stderr; if there was more, stderr_cut is true.
 *
 *   MORTISE_S_NOTFOUND     The program could not be started.  Nothing happened.
 *   MORTISE_S_DENIED       The program is not allowed.  Nothing happened.
 *   MORTISE_S_UNSUPPORTED  mortise-worker is not installed.
 *   MORTISE_S_TIMEOUT      The time limit passed: the host killed the program
 *                          and all processes that it started.
 *   MORTISE_S_FAILED       The output was larger than max_output: the host
 *                          killed the program and all its processes.
 *   MORTISE_S_IO           A signal ended the program, or it is unknown how it
 *                          ended.
 *
 * In the last three cases, the program may have had a part of its effect.  In
 * an operation that has an effect, the answer is then MORTISE_S_SUSPENDED
 * instead, and a person decides. */
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

/* The size of the room for {"program" or "server": name, "max_line"?}, enough
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

/* Start a program that runs beside the plugin, and receive its output line by
 * line.
 *
 *   kind       `name` is one of the deployment's  permissions.exec has
 *   "program"  `programs`                         "NAME", or "*" for all
 *   "server"   `tools.mcp` with a `command`       "mcp:NAME", or "mcp:*"
 *
 * The deployment defines the file, its arguments and environment, and what the
 * program may access.  max_line is in bytes; 0 is 16 MiB.
 *
 * When the program has started, the host calls on_answer with MORTISE_S_PENDING
 * and {"process": N}.  Pass N to the two functions below; only the same call
 * can use this number.  Then the host calls on_answer with MORTISE_S_PENDING
 * for each line of the program's stdout: any bytes, without the line end, with
 * the deployment's secrets masked.  The last call of on_answer has one of
 *
 *   MORTISE_S_OK           The program exited: {"exit": code, "stderr": its
 *                          last 4096 bytes}
 *   MORTISE_S_IO           A signal ended the program, or it is unknown how it
 *                          ended.
 *   MORTISE_S_FAILED       A line was longer than max_line; the host killed the
 *                          program.
 *   MORTISE_S_NOTFOUND, MORTISE_S_DENIED, MORTISE_S_UNSUPPORTED,
 *   MORTISE_S_NOMEM        The program was not started; the message has the
 *                          reason.
 *   MORTISE_S_CANCELLED    The call ends.
 *
 * The host does not record these answers: if a call suspends, it starts the
 * program again when it is re-entered.  If a program must run longer than a
 * call, start it in background() (plugin.h).  When the call ends, the host
 * closes the program's stdin, sends SIGTERM after 2 s, and SIGKILL after 2 s
 * more. */
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

/* Write a line to the stdin of the program: UTF-8 without a line end, which the
 * host appends.  You can use `room` again when this function returns.  A room
 * of six times the text plus 64 bytes is enough; if it is too small, the
 * function returns MORTISE_S_NOMEM.  The answer is null, and comes when the
 * whole line is written.  MORTISE_S_IO: the program reads no more input.
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

/* A question to a person.  Zero the struct (`= {0}`), then set the members that
 * you need. */
typedef struct mortise_question {
    mortise_str prompt;
    /* JSON; p NULL: none.  `payload` is data that the person needs to see; the
     * answer must fit `schema`. */
    mortise_str payload, schema;
    uint64_t for_ms;  /* time for the answer, in ms; 0: no limit */
    uint64_t hold_ms; /* ms before the call suspends: see below; 0: none */
    mortise_str step; /* the "step" of the ask (plugin.h); empty: none */
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

/* Ask a person.  The first answer is MORTISE_S_SUSPENDED: end the call with
 * this status (plugin.h).  After the person has answered, the engine re-enters
 * the call.  The same ask then gets the person's answer as JSON, or
 * MORTISE_S_TIMEOUT if `for_ms` passed.
 *
 * A call that suspends loses its connections, for example to a server.  With
 * hold_ms, the call can stay open for some time: if the person answers within
 * hold_ms, the first answer is that of the person.  Otherwise it is
 * MORTISE_S_SUSPENDED, after hold_ms.  With hold_ms you can also ask a question
 * inside a step of the plugin (journal.begin/1).  The step stays open
 * meanwhile.  If the step may be repeated, end it as `undone` before you
 * suspend; otherwise the step is in doubt.
 *
 * If the schema has the property `approved`, people can also answer with
 * `mortise approve` and `mortise reject`.  The answer is then {"approved":
 * bool, "answer"?, "reason"?}.
 *
 * The JSON of the question is written into `room`, which you can use again when
 * this function returns.  If `room` is too small, the function returns
 * MORTISE_S_NOMEM. */
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

/* Make the body: {"for_ms": N}, or {"until_ms": N} if `until` is not 0. */
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

/* Sleep for `ms` milliseconds (ten years at most), or, if `until` is not 0,
 * until `ms` milliseconds after 1970 (UTC).  A sleeping call needs only disk
 * space, and the wait continues across restarts.  The first answer is
 * MORTISE_S_SUSPENDED: end the call with this status.  When the time has
 * passed, the engine re-enters the call, and the same ask is answered with
 * null.  If the time has already passed, the engine re-enters the call at
 * once. */
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

/* Durable values of the plugin.  All runs of a tenant share the values; other
 * plugins and other tenants cannot access them.  Limits:
 *
 *     key      1 to 512 bytes of UTF-8, also with NULs
 *     value    up to 1 MiB of JSON
 *     keys     65,536; a put of a further key is refused (MORTISE_S_DENIED)
 *
 * A value stays stored until a put replaces or removes it.
 *
 * A put is answered when it is on disk, in the commit that records the put in
 * the journal.  So after a crash, a put was made or is made again, but never
 * twice, and it is never in doubt.  If the execution fails, its puts are not
 * undone, and a new attempt makes its own puts.  If a key is put several times,
 * by any run, the last put is stored.
 *
 * A get returns all earlier puts of its own run, and the puts of other runs
 * that are on disk.  The answer is journaled: if the call is re-entered, it
 * gets the same answer.  Guardrails may ask kv.get/1, but not kv.put/1. */

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

/* Read the value in the answer to a get; MORTISE_S_NOTFOUND if the key has no
 * value. */
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

/* Store `value` under a key.  The value is JSON, and can be null; value.p NULL
 * removes the key.  The answer is null.  The JSON of the request is written
 * into `room`, which you can use again when this function returns.  The room
 * needs the size of the value plus MORTISE_KV_KEY_ROOM; if it is too small, the
 * function returns MORTISE_S_NOMEM. */
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

/* The size of the room for {"name": ...}, enough for the name of any secret. */
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

/* Get a secret of the deployment.  permissions.secrets of the manifest must
 * list the secret.  The answer is {"value": text}, and is never recorded: ask
 * again when the call is re-entered.  Do not put the value into anything that
 * is recorded: output, updates, events and bodies of other asks.  To send a
 * secret in a header, use mortise_http_ask.secret_headers; then the plugin
 * never sees the value.
 *
 *   MORTISE_S_NOTFOUND  The deployment has no such secret.
 *   MORTISE_S_DENIED    This plugin may not use the secret.
 *   MORTISE_S_FAILED    The source of the secret does not provide a value. */
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

/* Store a secret that the plugin received, for example a token, so that later
 * processes of this user can get it: a text of up to 64 KiB, under a name of up
 * to 512 bytes.  Other plugins cannot read the secret.  value.p NULL removes
 * it.
 *
 * The secret is stored in a directory of the user, not in the store, and never
 * recorded.  From now on, the host masks the secret in everything that it
 * shows, and in everything that it passes to the plugin, except answers to
 * http.request/1 in background().
 *
 * The JSON is written into `room`; six times the size of name and value, plus
 * 64 bytes, is enough.  If `room` is too small, the function returns
 * MORTISE_S_NOMEM.  The answer is null.  MORTISE_S_NOTFOUND, MORTISE_S_DENIED
 * or MORTISE_S_IO: this user's directory for secrets cannot be used; the
 * message has the reason. */
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

/* Get the secret that secret.keep/1 stored under this name.  The answer is
 * {"value": text}.  MORTISE_S_NOTFOUND: there is no such secret. */
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
 * "value"}; mortise_schema_fits_body() makes it with your writer.
 *
 * The answer is {"valid": true}, or {"valid": false, "reason"}; the reason
 * names the place in the value.  The answer is not recorded, because the same
 * ask always has the same answer.  MORTISE_S_INVALID: the schema is invalid, or
 * the check takes too many steps for this value; the message has the reason.
 * The value is then unchecked. */
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
 *     with?    an object that is merged into the graph; its members replace
 *              members of the graph
 *     types?   a list: the node types that are allowed, at any depth
 *
 * The answer is {"valid": true, "graph", "picture"}, or {"valid": false,
 * "graph", "findings"}.  "findings" are errors as `mortise check` prints them.
 * "graph" is the text that was checked, with the lines to which the findings
 * refer.  A graph that names other files or refers to secrets is not valid:
 * otherwise the author of the text, perhaps a model, could choose them. */
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
 * name in the deployment's `models` ("default" if absent), and the members of a
 * chat (or embed) request in mortise/model.h.  If `model` is absent, the
 * deployment's `model` is used.
 *
 * You need not send all messages of a conversation again with each turn.  Give
 * one of these:
 *
 *   messages         all messages
 *   after, append    "after" is the "step" of an earlier model.call/1 in this
 *                    call that got a reply.  The messages are all messages
 *                    up to that reply, followed by "append".
 *   continue: true, append, messages?
 *                    the messages are "messages", then the conversation of the
 *                    node (the graph's `conversation`), then "append"
 *
 * Further members:
 *
 *   prune   a number between 0 and 1: leave out the oldest messages, so that
 *           this share of the bytes remains.  System messages at the beginning
 *           and the first user message are never left out, and a tool result
 *           is never separated from its call.
 *   beyond  only with prune, default 0: if at most this number of messages can
 *           be left out, the host sends nothing and refuses the ask
 *           (MORTISE_S_NOTFOUND)
 *   tools: true   send the tools that the node allows (tool.list/1)
 *
 * The answer is {"reply": {...}, "usage": {...}}; the reply is as in
 * mortise/model.h (for embed: {"vectors": ...}).  The answer may also have
 *
 *   json       with `response`: the value of a complete reply, if it is JSON
 *              that fits; or
 *   invalid    with `response`: a text, why the reply is not such JSON
 *   told       messages that people sent to the node since its last model
 *              call (`mortise tell`); the model received them after all others
 *   more: true people have sent further messages during this call
 *   left_out   the number of messages that `prune` left out
 *
 * If the model plugin failed, the answer is {"error": {"code", "class",
 * "message", "retry_after_ms"?}, "usage"?, "left_out"?}.  Both kinds of answers
 * are recorded.  The host counts the usage for this call; do not emit it again.
 *
 * MORTISE_S_INVALID   The body is invalid; the message has the reason.
 * MORTISE_S_NOTFOUND  There is no such alias, or too few messages can be left
 *                     out (`beyond`).
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

/* Search with the deployment's discovery plugins (mortise/discovery.h) for
 * tools, extensions, nodes and skills that match a text and that the node may
 * use.  The body is {"query": text, "kind"?: "tool", "extension", "skill",
 * "node" or "any" (default), "max"?: 1 to 100 (default 8), "tokens"?: the limit
 * for all texts of the answer (default 4000), "step"?}.  The host searches in
 *
 *     tools        the tools of the node (tool.list/1); the id is the tool's
 *                  `tool`
 *     extensions   the tools of the node that are operations of plugins
 *     nodes        the nodes to which the node may hand over
 *     skills       the skills that the discovery plugins know
 *
 * The answer is {"results": [{"id", "kind", "score", "text"?, "tier"?} ...],
 * "failed"?: [{"plugin", "code", "message"} ...]}, with the best result first.
 * If some plugins failed, `failed` lists them.  The answer is recorded, and is
 * the same when the call is re-entered.
 *
 *   MORTISE_S_NOTFOUND  The deployment has no discovery.
 *   MORTISE_S_FAILED    No discovery plugin answered.
 *
 * Only executors may use this method.  Otherwise as host->ask(). */
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
 *          order?, after?}.  The default of max_traces is 8.  Traces of the
 *          scopes "persona", "session" and "conversation" are returned only
 *          if their key is in `keys`.
 *   write  {traces?: [{type, scope, key?, content, strength?, metadata?} ...],
 *          uses?}.  The default of strength is 0.5.
 *
 * The answers are those of the memory plugin.  The answer to a write also has
 * `ids`, the ids of the traces in the same order.  If an answer has `usage`,
 * the host counts it for this call.
 *
 * A read is journaled: if the call is re-entered, it gets the same answer.  A
 * write is an effect: if the operation is `pure` or `read`, the answer is
 * MORTISE_S_DENIED.  The host may repeat a write after a crash, but stores each
 * trace once, because the ids of traces derive from the idempotency key of the
 * write.
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

/* List the tools of the node (from its tool_allowlist and handoffs).  The
 * answer is {"tools": [{name, description?, parameters, tool?, effect?} ...]}.
 * `name` is the name for models, `tool` is the name in graphs, `effect` is the
 * declared effect.  A tool without `tool` hands over to another node. */
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

/* Run a tool.  The body is {"tool": its `name` or its `tool`; "arguments":
 * {...}; "tool_use_id"?: the model's id of this use, for people to see;
 * "step"?}.  The tool runs as an execution of the run.  The graph's settings
 * for the tool apply: schema, guardrails, approval, timeout and retries; and
 * the execution is recorded.  The answer is one of
 *
 *     {"output": any}
 *                      the output of the tool
 *     {"text": ..., "cut": {"bytes", "of"}}
 *                      the beginning of the output, which is longer than
 *                      max_output
 *     {"goto": node}   the tool hands over: emit this `goto`, and end the call
 *     {"error": {code, class, message}}
 *                      the tool failed or was rejected, or does not exist
 *                      (unknown_tool)
 *
 *   MORTISE_S_SUSPENDED  The tool waits for a person, or needs the
 *                        `concurrency` slot of this call: end the call with
 *                        this status.
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

/* Store messages in the node's conversation when the node succeeds.  The body
 * is {"after": the step of a model.call/1; "append"?: messages}.  The stored
 * messages are those of this call up to the reply of that step, and then
 * `append`.  If a call asks this several times, the last ask counts.  The
 * answer is null.
 *
 * MORTISE_S_DENIED   The node has no conversation.
 * MORTISE_S_INVALID  There is no such reply, or a tool call in the messages has
 *                    no result; the message has the reason. */
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

/* Begin a step: an effect that the plugin makes itself, without the host.  The
 * body is an object:
 *
 *     step        the name of the step in this call
 *     arguments?  any JSON that describes the step; people see it
 *     repeat?     true: performing the step twice has the effect of once
 *
 * The engine records the intent of the step, and answers when it is on disk:
 *
 *     {"key": text}    Perform the step now, under this idempotency key, which
 *                      is the same each time that the step is begun.  In an
 *                      operation that is `pure` or `read`, the answer has no
 *                      key.
 *     {"result": any}  The step was performed before, with this result: do not
 *                      perform it again.
 *
 * After the effect, call mortise_journal_end().  Between the two, you may ask
 * state.get/1, secret.get/1 and http.request/1.  These asks are part of the
 * step and are not recorded.  If a part of an HTTP request was sent and the
 * request may have taken effect, the answer inside a step is MORTISE_S_DOUBT
 * instead of MORTISE_S_IO.
 *
 * Inside a step you may also ask interrupt.request/1 with hold_ms, model.call/1
 * and model.embed/1, and these asks are recorded.  They need a `step`, by which
 * the engine finds their answers when this step is begun again; they do not
 * count in the order of asks.  If a budget is used up, a model call inside a
 * step gives MORTISE_S_DENIED and does not wait for more budget, so that no
 * effect is left in doubt.
 *
 * Steps must not nest or overlap.  If a call ends inside a step, the step is in
 * doubt, unless `repeat` is true.  The operation's effect and the node's
 * on_in_doubt decide what happens then.  If a person enters the result of the
 * step, it must fit `step_result` of the manifest, if there is one.
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

/* End a step.  The body is {"step", "result": any} if the effect happened, with
 * its result.  It is {"step", "undone": true} if the effect did not happen; you
 * may then begin a step with the same name again.  A cancelled call may ask
 * this too.  The answer is null.  The end of the step is on disk before
 * anything that follows from it.  MORTISE_S_INVALID: no such step is open; the
 * message has the reason. */
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

/* Durable records of children that the plugin makes itself, such as sessions,
 * jobs, or processes on another machine.  The record of a child is a handle.
 * Claim the handle before you make the child, and register the child with it.
 * Advance the handle when the child has its instructions, and when the child
 * works.  Settle the handle with the child's result.  After an interruption,
 * claim again under the same `call`: the answer has the progress so far.
 *
 * Each ask is answered when it is on disk, in the commit that records it in the
 * journal.  If the engine refuses an ask, the answer is MORTISE_S_DENIED, the
 * refusal is journaled too, and the message begins with a code:
 *
 *     E_LIMIT               a limit is reached, which the message names:
 *                           "E_LIMIT: limits.spawn.active is 16: ..."
 *     E_DETERMINISM         the claim differs from an earlier claim
 *     E_STALE_TOKEN         a later claim replaced the token
 *     E_ALREADY_SETTLED     the handle is settled or abandoned
 *     E_NOT_RUNNING         no child is registered
 *     E_ALREADY_REGISTERED  the handle has another child, or the child has
 *                           another handle
 *     E_NOT_FOUND           this run has no such handle
 *
 * When the run ends, the engine abandons its open handles, unless they are
 * detached.
 *
 * Bodies are JSON.  Texts in them must have at most 128 bytes and no control
 * characters. */

/* Claim a handle.  The body is
 * {"call", "name", "task"?: any, "detached"?: bool, "native"?: bool, "token"?}.
 * `call` is a name that is unique in the execution.  Use the same name in a
 * replay and in a later attempt, so that the later attempt finds the handle of
 * the earlier one.  The answer is {"outcome", "handle", "name", "state",
 * "token"?, "child"?, "terminal_status"?, "terminal_result"?}; `outcome` is
 *
 *   claimed                the handle is new
 *   claimed_pending_child  the handle exists, but has no child: make or find
 *                          the child
 *   already_running        continue with `child`; send its instructions only
 *                          if `state` is created
 *   already_settled        the child has ended; there is no token
 *
 * If `native` is true (only in nodes of type gmi or leaf), the child is a run
 * in the same store, and `child` of each answer is the id of this run.  The
 * task of a native child is an object:
 *
 *   instructions     text: the task of the child
 *   result_schema?   the schema of its result
 *   message_schema?  the schema of messages to it (spawn.message/1)
 *   seed?            the step of a model.call/1 of this call: the child begins
 *                    with the messages of that call
 *
 * Start a native child with spawn.start/1.  When the child ends, the engine
 * settles the handle.  The methods register, advance and settle are refused for
 * it with E_NOT_ALLOWED. */
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

/* Register a child with its handle.  The body is {"handle", "token", "child"}.
 * The answer is {"handle", "name", "state"}. */
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

/* Advance a handle.  The body is {"handle", "token", "state": "dispatched" |
 * "running"}.  An earlier state than the present one changes nothing.  The
 * answer is {"handle", "name", "state"}. */
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

/* Settle a handle, because the child has ended.  The body is {"handle",
 * "token", "status", "result"?: any}.  `status` is completed, failed,
 * cancelled, timed_out, max_iterations, budget or abandoned.  The result has at
 * most 1 MiB.  You may settle a handle again with the same status and result.
 * The answer is {"handle", "name", "state"}. */
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

/* Start a native child, or continue a child that was started before.  The body
 * is {"handle", "token", "task"}, with the same task as in the claim.  The
 * child is an agent like the node that asks, with the same model, tools,
 * guardrails and limits.  The answer is {"handle", "name", "state", "child",
 * "terminal_status"?, "terminal_result"?}.  If the child cannot start, its
 * handle is settled as failed.
 *
 * When the run that asks ends, the engine cancels all children of the run that
 * are not detached, and the children of these children.  If an execution ends
 * without an output of its own and is not tried again, the engine does the same
 * for the children of this execution. */
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

/* Wait for the end of a child of the run; any node may have made the child.
 * The body is {"handle"}.  The answer is {"status", "child"?, "result"?}: the
 * status with which the child ended, and its result.  The result of a native
 * child is {"error"}, or {"output": artifacts} with the artifacts of the
 * child's run; the artifact `result` is the result of the agent.
 *
 * While a native child works, the call stays open.  The answer is
 * MORTISE_S_SUSPENDED if the child stops before its end (for example, it waits
 * for a person), if other calls queue for this call's `concurrency` slot, or if
 * the child is not native.  End the call with this status; the engine re-enters
 * the call when the child ends. */
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

/* List the children of the run or, with {"handle"} as the body, only one child.
 * The answer is {"tasks": [{"task", "name", "state", "attempt", "child"?,
 * "detached"?, "progress"?, "status"?}]}:
 *
 *     task      the handle
 *     state     queued, running, awaiting_input (a child run waits for people,
 *               is paused or is blocked), succeeded, failed or cancelled
 *     attempt   the number of the child's current attempt at its task
 *     progress  the last progress that the child reported (spawn.report/1)
 *     status    the terminal status of a child that has ended
 *
 * If the body has a handle, and the child of this handle has ended, its entry
 * also has "result", or "error" {"code", "message"}. */
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

/* Send a message to a native child.  The body is {"step", "handle", "message":
 * any, "attempt"?}.  The child's model receives the message with its next call:
 * a text unchanged, any other value as JSON.  If a message is sent several
 * times under the same step, for example after a crash, the child receives it
 * once; therefore "step" is required.  The answer is {"handle", "name",
 * "state"}.
 *
 * Refusals are MORTISE_S_DENIED, with a message that begins with a code:
 *
 *     E_INVALID          the message does not fit the task's message_schema
 *     E_STALE_ATTEMPT    the child is not at the attempt `attempt`
 *     E_ALREADY_SETTLED  the child has ended
 *     E_NOT_RUNNING      the child has not started
 *     E_NOT_ALLOWED      the child is not native
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

/* Cancel a native child and the children of this child.  The body is {"step",
 * "handle", "attempt"?}.  If the child has ended, this changes nothing.  The
 * answer and the refusals are those of spawn.message/1. */
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

/* Report the progress of this call's node to live subscribers and, if the run
 * is a child, to its parent.  The body is {"progress"?: a text of at most 4096
 * bytes, "attempt"?}.  The default of `attempt` is the attempt of the call.  If
 * a later attempt has already reported, the report is refused:
 * MORTISE_S_DENIED, with a message that begins with E_STALE_ATTEMPT.  If the
 * body has no progress, only the attempt is reported.  The answer is
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
