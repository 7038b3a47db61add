/* http.c -- HTTP requests.
 *
 * Operations
 *   get      {url, headers?, auth?, as?, any_status?, redirects?, max_body?,
 *             timeout_ms?, retries?}             -> {status, url, headers, body}
 *            Reads: made again after a crash.
 *   pages    {url, headers?, auth?, items?, next?, max_pages?, max_items?,
 *             max_body?, timeout_ms?, retries?}  -> {items, pages, more}
 *            Reads a list that comes in pages, from the first to the last, each
 *            a step of its own: see below.
 *   request  {url, method?, headers?, auth?, body? | json?, ...}
 *                                              -> {status, url, headers, body}
 *            May change something: method is POST unless it says otherwise.
 *            When a crash, a lost connection, a timeout or a status of 408, 500,
 *            502 or 504 leaves it open whether it happened, the run is in doubt,
 *            and a person decides; but a PUT or DELETE is made again.  Neither
 *            retries, retry_policy nor resume is a way around.
 *   submit   {url, method?, headers?, auth?, body? | json?, idempotency_header?,
 *             ...}                             -> {status, url, headers, body}
 *            With a key in a header, Idempotency-Key unless it is said, the same
 *            on every try and attempt of the node: for servers that promise to
 *            do a thing once for each key.  After a crash or a lost connection
 *            it is sent again.
 *
 *   as          what body is: `json` (an answer that is none is the error
 *               `bad_json`), `text`, or `auto` (the default): JSON where the
 *               answer's Content-Type says so, else text.  Bytes that are no
 *               UTF-8 come as base64, whatever it says.  JSON that no value can
 *               hold (held.c) stays a text.  The member `note` says both.
 *   any_status  true: a status from 400 on is a result like any other.
 *   redirects   false: a redirect is a result.  Else up to ten are followed.
 *   max_body    bytes, decompressed (16 MiB); of `pages`, of each page.
 *   headers     {name: value}.  In the output: names in lower case.  A value
 *               may refer to a secret: "Bearer secret://NAME".
 *   auth        the header Authorization, as {bearer: "secret://NAME"} or
 *               {basic: {user, password}}, of which one or both are whole
 *               references to secrets.  An API key goes into a header of its own
 *               (X-Api-Key: "secret://NAME"), never into a URL: that stands in
 *               logs, of servers and of proxies.
 *   retries     how often a request is made again where another try may help (10
 *               at most): see below.  Where nobody says, 2 by `get` and `pages`,
 *               but 0 with any_status, where a status is no failure; and 0 by
 *               `request` and `submit`: an effect is made again because its
 *               author says so.
 *
 * Being made again
 *   By its method: GET, HEAD and OPTIONS change nothing; PUT and DELETE twice are
 *   as if once; the others are made again by `submit`, which has a key, and never
 *   by `request`.  Where no connection was made, or it broke, and with a status of
 *   408, 425, 429, 500, 502, 503 or 504.  The wait is anything up to 0.5 s, 1 s,
 *   2 s ... 10 s, on top of what Retry-After says, if that is no more than a
 *   minute; all of it counts for timeout_ms, and for the node's timeout.
 *   That is for hiccups.  An outage is for the node's retry_policy: its attempts
 *   wait on disk, for as long as it says or Retry-After does, also of a POST that
 *   was refused (429, 503) or never left; it begins the node anew, and each
 *   attempt has its `retries`.
 *
 * Pages
 *   items      the JSON pointer of the list in each answer ("", the answer is
 *              the list).  null is an empty one.
 *   next       how the next page is found, one of
 *                {link: true}       the Link header with rel="next" (RFC 8288);
 *                                   the default
 *                {url: POINTER}     of the next page's URL, or what is relative
 *                                   to the answer's
 *                {cursor: POINTER, query: NAME}
 *                                   of what the parameter NAME of the query is to
 *                                   be, text or a number
 *                {last: POINTER, query: NAME}
 *                                   the same, of the pointer in the last item
 *                {page: NAME, from?}    the parameter counts pages, from 1
 *                {offset: NAME, from?}  the parameter counts items, from 0
 *              It was the last page where nothing is there, or null, false or "";
 *              with `last`, `page` and `offset`, where it has no items.
 *   max_pages  no more than so many (1 to 10000).  Where it does not say, a list
 *              with more than 100 pages is the error `http.too_many`.
 *   max_items  no more than so many items.
 *   more       in the output: max_pages or max_items left something out, or may
 *              have.
 *   A page of another origin (scheme, host or port) than that of `url` is not
 *   asked for (http.other_origin), so that no header goes there; nor one that was
 *   there before (http.loop).  `retries` holds for each page; a Retry-After of
 *   more than a minute is waited for on disk.  After a crash a page is asked for
 *   again that was under way, or whose answer was not on disk yet.
 *
 * Config
 *   allow    where requests may go: a list of HOST:PORT or URLs.  The engine
 *            holds the plugin to it, at each redirect, too; without it no
 *            request is made.  "HOST:PORT private" is for a name that leads
 *            to a private network or to this machine.
 *   secrets  names of the deployment's secrets that headers and `auth` may refer
 *            to.  The engine puts the values in on the way out: none comes in
 *            here.
 *
 * Error codes
 *   http.404 and so on    a status from 400 on (408, 425, 429 and from 500 on
 *                         are transient; Retry-After is honoured)
 *   http.unreachable*  http.timeout  http.denied  http.invalid  http.failed
 *   http.no_items  http.too_many  http.loop  http.other_origin  (of `pages`)
 *   bad_json  invalid  no_memory*  cancelled               (* transient)
 * A request that is in doubt is none of these, unless the node says on_in_doubt:
 * retry.
 *
 * A deployment and nodes
 *   plugins:
 *     config: {http: {allow: ["https://api.example.com"], secrets: [shop]}}
 *   secrets: {shop: {env: SHOP_TOKEN}}
 *
 *   fetch:
 *     type: tool
 *     tool: http/get
 *     args:
 *       url: "https://api.example.com/v1/orders/17"
 *       auth: {bearer: "secret://shop"}
 *     retry_policy: {max_attempts: 4, backoff: exponential, delay: 1m}
 *   fetch_all:
 *     type: tool
 *     tool: http/pages
 *     args:
 *       url: "https://api.example.com/v1/orders?limit=100"
 *       auth: {bearer: "secret://shop"}
 *       items: /data
 *       next: {cursor: /next_cursor, query: cursor}
 *
 * What it promises: nothing waits here.  A call asks the host for the request
 * and ends when the answer comes; connections, TLS, limits, tries and time are
 * the host's (services/http/); a cancelled call ends by the answer to its ask.  It
 * touches nothing else (`intent: steps`): a request in doubt is answered later,
 * as the host says (MORTISE_S_SUSPENDED), and the call is entered again. */
#include "http.h"

#include <strings.h>

#include "../../holds.h"
#include "../../nomem.h"

enum form { AUTO, TEXT, JSON };

enum {
    KEY_HEADER_MAX = 64, /* bytes; the manifest's word */
    TOKEN_MAX = 4096     /* bytes, of one that JSON has to escape */
};

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

void http_no_memory(mortise_inst *inst, mortise_call call)
{
    inst->api->finish(
        inst->host, call, MORTISE_S_NOMEM, mortise_strz("out of memory"),
        mortise_strz("{\"class\":\"transient\",\"code\":\"no_memory\"}"));
}

int64_t http_status(mortise_jv answer)
{
    int64_t status = 0;

    mortise_jv_int(mortise_jv_get(answer, "status"), &status);
    return status;
}

void http_fail(mortise_inst *inst, mortise_call call, mortise_status status,
               mortise_str answer)
{
    char detail[256], words[512];
    mortise_jv v;

    if (status == MORTISE_S_OK && mortise_jv_parse(answer, &v) == status)
        snprintf(words, sizeof words, "the server answered with status %d",
                 (int)http_status(v));
    else
        snprintf(words, sizeof words, "%.*s",
                 (int)(answer.n < 500 ? answer.n : 500), answer.p);
    inst->api->finish(
        inst->host, call, status == MORTISE_S_OK ? MORTISE_S_FAILED : status,
        mortise_strz(words),
        mortise_http_detail(status, answer, detail, sizeof detail));
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

/* {status, url, headers, note?, body}, the body last. */
static mortise_status emit(const struct call *c, mortise_jv answer,
                           mortise_jv body, const char *note)
{
    static const char *const members[] = {"status", "url", "headers"};
    char room[4096];
    mortise_emitter out;

    mortise_emitter_init(&out, c->inst->host, c->inst->api, c->id, room,
                         sizeof room);
    mortise_jw_object(&out.w);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++)
        write_member(&out, members[i], mortise_jv_get(answer, members[i]));
    if (note != NULL) {
        mortise_jw_key(&out.w, "note");
        mortise_jw_cstr(&out.w, note);
    }
    write_member(&out, "body", body);
    mortise_jw_end(&out.w);
    return mortise_emitter_finish(&out);
}

static void give(const struct call *c, mortise_jv answer, mortise_jv body,
                 const char *note)
{
    mortise_status status = emit(c, answer, body, note);

    finish(c, status,
           status == MORTISE_S_OK ? "" : "the host rejected the output",
           mortise_str_empty());
}

/* The body as JSON; one that no value can hold stays a text, and is said to. */
static void give_held(const struct call *c, mortise_jv answer, mortise_jv text,
                      mortise_jv body)
{
    char note[256];
    mortise_status status = holds_note(
        body,
        "the body is JSON that cannot be stored, so it is given as text: ",
        note, sizeof note);

    if (status == MORTISE_S_NOMEM)
        http_no_memory(c->inst, c->id);
    else if (status == MORTISE_S_OK)
        give(c, answer, body, NULL);
    else
        give(c, answer, text, note);
}

/* The body as the JSON that it holds. */
static void give_json(const struct call *c, mortise_jv answer, mortise_jv text)
{
    char *room = malloc(text.n + 1);
    mortise_str plain;
    mortise_jv body;

    if (room == NULL) {
        http_no_memory(c->inst, c->id);
        return;
    }
    if (mortise_jv_text(text, room, text.n + 1, &plain) == MORTISE_S_OK &&
        mortise_jv_parse(plain, &body) == MORTISE_S_OK)
        give_held(c, answer, text, body);
    else if (c->form == JSON)
        finish(c, MORTISE_S_FAILED, "the answer is not JSON",
               mortise_strz("{\"code\":\"bad_json\"}"));
    else
        give(c, answer, text, NULL);
    free(room);
}

/* Bytes that are no text; or nothing, where a person gave the answer. */
static void give_bytes(const struct call *c, mortise_jv answer)
{
    mortise_jv body = mortise_jv_get(answer, "body_base64");

    give(c, answer, body,
         mortise_jv_type(body) == MORTISE_JV_STRING
             ? "the body is not UTF-8, so it is given in base64"
             : NULL);
}

static void answered(const struct call *c, mortise_str text)
{
    mortise_jv answer, body;

    if (mortise_jv_parse(text, &answer) != MORTISE_S_OK) {
        finish(c, MORTISE_S_FAILED, "the host's answer is not JSON",
               mortise_str_empty());
        return;
    }
    if (http_status(answer) >= 400 && !c->any_status) {
        http_fail(c->inst, c->id, MORTISE_S_OK, text);
        return;
    }
    body = mortise_jv_get(answer, "body");
    if (mortise_jv_type(body) == MORTISE_JV_NONE)
        give_bytes(c, answer);
    else if (mortise_jv_type(body) != MORTISE_JV_STRING)
        give(c, answer, body, NULL); /* JSON that a person gave */
    else if (c->form == JSON || (c->form == AUTO && body.n > 2 &&
                                 says_json(mortise_jv_get(answer, "headers"))))
        give_json(c, answer, body);
    else
        give(c, answer, body, NULL);
}

static void on_answer(void *ud, mortise_status status, mortise_str answer)
{
    struct call *c = ud;

    if (status == MORTISE_S_OK)
        answered(c, answer);
    else
        http_fail(c->inst, c->id, status, answer);
    free(c);
}

/* ---- what requests have in common ---------------------------------------- */

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

static int is_header(mortise_str name, mortise_str other)
{
    return name.n == other.n && strncasecmp(name.p, other.p, name.n) == 0;
}

static int has_header(mortise_jv headers, const char *name)
{
    mortise_jv_iter it = mortise_jv_each(headers);
    mortise_jv one, value;

    while (mortise_jv_next(&it, &one, &value)) {
        char room[256];
        mortise_str text;

        if (mortise_jv_text(one, room, sizeof room, &text) == MORTISE_S_OK &&
            is_header(text, mortise_strz(name)))
            return 1;
    }
    return 0;
}

/* What is wrong with the arguments that no schema finds, in words; or NULL. */
static const char *mistake(mortise_jv args)
{
    mortise_jv auth = mortise_jv_get(args, "auth");
    mortise_jv bearer = mortise_jv_get(auth, "bearer");
    char room[TOKEN_MAX];
    mortise_str token;

    if (mortise_jv_type(auth) != MORTISE_JV_NONE &&
        has_header(mortise_jv_get(args, "headers"), "authorization"))
        return "`auth` and a header Authorization cannot be used together";
    if (mortise_jv_type(bearer) != MORTISE_JV_NONE &&
        mortise_jv_text(bearer, room, sizeof room, &token) != MORTISE_S_OK)
        return "the bearer of `auth` is not a valid token";
    return NULL;
}

/* Those with secrets, or those without.  The node's key has a header of its own;
 * another of that name would be a second opinion. */
static void copy_headers(mortise_jw *w, mortise_jv args, mortise_str key_name,
                         int secret)
{
    mortise_jv_iter it = mortise_jv_each(mortise_jv_get(args, "headers"));
    mortise_jv name, value;

    while (mortise_jv_next(&it, &name, &value)) {
        char room[256];
        mortise_str text;

        if (is_secret(value) != secret ||
            mortise_jv_text(name, room, sizeof room, &text) != MORTISE_S_OK ||
            is_header(text, key_name))
            continue;
        mortise_jw_keyn(w, text);
        mortise_jw_value(w, value);
    }
}

/* A bearer's token, if it is one of these. */
static void write_bearer(mortise_jw *w, mortise_jv bearer, int secret)
{
    char room[TOKEN_MAX];
    mortise_str token;

    if (is_secret(bearer) != secret ||
        mortise_jv_text(bearer, room, sizeof room, &token) != MORTISE_S_OK)
        return;
    mortise_jw_key(w, "Authorization");
    mortise_jw_string_begin(w);
    mortise_jw_string_put(w, mortise_strz("Bearer "));
    mortise_jw_string_put(w, token);
    mortise_jw_string_end(w);
}

static void write_headers(mortise_jw *w, mortise_jv args, mortise_str key_name,
                          mortise_str key)
{
    mortise_jv auth = mortise_jv_get(args, "auth");
    mortise_jv bearer = mortise_jv_get(auth, "bearer");

    mortise_jw_key(w, "headers");
    mortise_jw_object(w);
    copy_headers(w, args, key_name, 0);
    write_bearer(w, bearer, 0);
    if (key_name.n > 0) {
        mortise_jw_keyn(w, key_name);
        mortise_jw_string(w, key);
    }
    mortise_jw_end(w);
    if (!is_secret(mortise_jv_get(args, "headers")) && !is_secret(bearer))
        return;
    mortise_jw_key(w, "secret_headers");
    mortise_jw_object(w);
    copy_headers(w, args, key_name, 1);
    write_bearer(w, bearer, 1);
    mortise_jw_end(w);
}

void http_write_common(mortise_jw *w, mortise_jv args, mortise_str key_name,
                       mortise_str key)
{
    static const char *const same[] = {"max_body", "timeout_ms"};
    mortise_jv auth = mortise_jv_get(args, "auth");

    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        copy(w, args, same[i]);
    write_headers(w, args, key_name, key);
    copy(w, auth, "basic");
}

int64_t http_retries(mortise_jv args, int64_t by_itself)
{
    int64_t retries = by_itself;

    mortise_jv_int(mortise_jv_get(args, "retries"), &retries);
    return retries;
}

/* ---- one request --------------------------------------------------------- */

static int is_get(const mortise_request *r)
{
    return mortise_str_is(r->operation, "get");
}

static void write_method(mortise_jw *w, const mortise_request *r,
                         mortise_jv args)
{
    if (mortise_jv_type(mortise_jv_get(args, "method")) != MORTISE_JV_NONE) {
        copy(w, args, "method");
    } else if (!is_get(r)) {
        mortise_jw_key(w, "method");
        mortise_jw_cstr(w, "POST");
    }
}

/* The header that has the key; empty: none has. */
static mortise_str key_header(const mortise_request *r, mortise_jv args,
                              char *room, uint64_t cap)
{
    mortise_jv name = mortise_jv_get(args, "idempotency_header");

    if (!mortise_str_is(r->operation, "submit"))
        return mortise_str_empty();
    return mortise_jv_cstr(name, room, cap) == MORTISE_S_OK
               ? mortise_strz(room)
               : mortise_strz("Idempotency-Key");
}

static mortise_status write_request(mortise_jw *w, const mortise_request *r,
                                    mortise_jv args, mortise_str *out)
{
    static const char *const same[] = {"url", "body", "json"};
    char name[KEY_HEADER_MAX + 1];
    int32_t follow = 1, any = 0;

    mortise_jw_object(w);
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        copy(w, args, same[i]);
    write_method(w, r, args);
    http_write_common(w, args, key_header(r, args, name, sizeof name),
                      r->idempotency_key);
    mortise_jv_bool(mortise_jv_get(args, "redirects"), &follow);
    if (!follow) {
        mortise_jw_key(w, "redirects");
        mortise_jw_int(w, 0);
    }
    mortise_jv_bool(mortise_jv_get(args, "any_status"), &any);
    mortise_jw_key(w, "retries"); /* any status is no failure */
    mortise_jw_int(w, http_retries(args, is_get(r) && !any ? HTTP_RETRIES : 0));
    mortise_jw_end(w);
    return mortise_jw_finish(w, out);
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
    mortise_jw w;
    mortise_str body;
    mortise_status status;

    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    status = write_request(&w, r, args, &body);
    if (status == MORTISE_S_OK)
        status = c->inst->api->ask(c->inst->host, r->call,
                                   mortise_strz(MORTISE_HTTP_REQUEST_1), body,
                                   on_answer, c);
    free(w.p);
    return status;
}

static mortise_status one(mortise_inst *inst, const mortise_request *r,
                          mortise_jv args)
{
    struct call *c = call_new(inst, r, args);
    mortise_status status = c != NULL ? ask(c, r, args) : MORTISE_S_NOMEM;

    if (status != MORTISE_S_PENDING)
        free(c);
    return status;
}

/* ---- operations ----------------------------------------------------------- */

static mortise_status execute(mortise_inst *inst, const mortise_request *r)
{
    const char *wrong = "the arguments are not JSON";
    mortise_jv args;
    mortise_status status = MORTISE_S_INVALID;

    if (mortise_jv_parse(r->body, &args) == MORTISE_S_OK)
        wrong = mistake(args);
    if (wrong == NULL) {
        wrong = "the host rejected the request";
        status = mortise_str_is(r->operation, "pages")
                     ? http_pages(inst, r, args)
                     : one(inst, r, args);
    }
    if (status == MORTISE_S_PENDING)
        return status;
    if (status == MORTISE_S_NOMEM)
        return nomem(inst->host, inst->api, r->call);
    return mortise_refuse(inst->host, inst->api, r->call, status, "permanent",
                          "invalid", wrong);
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
