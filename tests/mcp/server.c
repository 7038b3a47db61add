/* server.c -- what both transports serve: the methods of two eras.
 *
 *   (1) A request is modern when its _meta names a version, or it is
 *       server/discover.  A server of one era answers the other as real ones do:
 *       -32601 to discover, -32022 to initialize.
 *   (2) As the official SDK does over stdio: the first request that is not modern
 *       makes the session legacy for good.
 *   (3) A request lives until it is answered, dropped, or nobody waits for it. */
#include "mcpd.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mcpd_request *requests;
static json_int_t next_ask; /* ids of what we ask: from 0 */

struct asked {
    struct asked *next;
    json_int_t id;
    struct mcpd_request *by; /* NULL: nobody's, or one that is gone */
};
static struct asked *asked;
static struct mcpd_request *listeners; /* subscriptions/listen */

/* ---- saying -------------------------------------------------------------- */

/* A string "@DIGITS" stands for a number that Jansson has no room for. */
static void bare_numbers(char *text)
{
    char *from = text, *to = text;

    while (*from != '\0') {
        size_t n =
            strncmp(from, "\"@", 2) == 0 ? strspn(from + 2, "0123456789") : 0;

        if (n > 0 && from[2 + n] == '"') {
            memmove(to, from + 2, n);
            to += n;
            from += n + 3;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

static void say(void *to, json_t *message, enum mcpd_saying what, int code)
{
    char *text = json_dumps(message, JSON_COMPACT | JSON_ENCODE_ANY);

    bare_numbers(text);
    mcpd_wire->say(to, text, strlen(text), what, code);
    free(text);
    json_decref(message);
}

static void unlink_request(struct mcpd_request **at, struct mcpd_request *r)
{
    while (*at != NULL && *at != r)
        at = &(*at)->next;
    if (*at != NULL)
        *at = r->next;
}

void mcpd_drop(struct mcpd_request *r)
{
    unlink_request(&requests, r);
    unlink_request(&listeners, r);
    mcpd_forget(r);
    for (struct asked *a = asked; a != NULL; a = a->next)
        if (a->by == r)
            a->by = NULL;
    json_decref(r->message);
    free(r);
}

static void server_info(json_t *result)
{
    json_t *meta = json_object_get(result, "_meta");

    if (meta == NULL) {
        meta = json_object();
        json_object_set_new(result, "_meta", meta);
    }
    json_object_set_new(
        meta, MCPD_PREFIX "serverInfo",
        json_pack("{s:s, s:s}", "name", "mcpd", "version", "1.0.0"));
}

/* The last word on a request: nothing of it is left when the transport hears. */
static void end_with(struct mcpd_request *r, json_t *message, int code)
{
    void *to = r->to;

    mcpd_drop(r);
    say(to, message, MCPD_ANSWER, code);
}

void mcpd_result(struct mcpd_request *r, json_t *result)
{
    json_t *m = json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", r->id,
                          "result", result);

    if (r->modern) {
        bool odd =
            mcpd.no_result_type && strcmp(r->method, "server/discover") != 0;

        if (json_object_get(result, "resultType") == NULL && !odd)
            json_object_set_new(result, "resultType", json_string("complete"));
        server_info(result);
    }
    end_with(r, m, 0);
}

void mcpd_error(struct mcpd_request *r, int code, const char *text,
                json_t *data)
{
    json_t *error = json_pack("{s:i, s:s}", "code", code, "message", text);

    if (data != NULL)
        json_object_set_new(error, "data", data);
    end_with(r,
             json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", r->id,
                       "error", error),
             code);
}

static void notify(void *to, const char *method, json_t *params)
{
    json_t *m = json_pack("{s:s, s:s}", "jsonrpc", "2.0", "method", method);

    if (params != NULL)
        json_object_set_new(m, "params", params);
    say(to, m, MCPD_MESSAGE, 0);
}

void mcpd_notify(struct mcpd_request *r, const char *method, json_t *params)
{
    notify(r->to, method, params);
}

static void ask(void *to, const char *method, json_t *params,
                struct mcpd_request *by)
{
    struct asked *a = calloc(1, sizeof *a);
    json_t *m = json_pack("{s:s, s:I, s:s}", "jsonrpc", "2.0", "id", next_ask,
                          "method", method);

    *a = (struct asked){asked, next_ask++, by};
    asked = a;
    if (params != NULL)
        json_object_set_new(m, "params", params);
    say(to, m, MCPD_MESSAGE, 0);
}

void mcpd_ask(struct mcpd_request *r, const char *method, json_t *params,
              void (*told)(struct mcpd_request *, json_t *))
{
    r->told = told;
    ask(r->to, method, params, r);
}

void mcpd_ask_at_start(void *to)
{
    ask(to, "ping", NULL, NULL);
    ask(to, "roots/list", NULL, NULL);
    ask(to, "sampling/createMessage",
        mcpd_json("{'messages': [], 'maxTokens': 1}"), NULL);
    ask(to, "no/such/thing", json_object(), NULL);
}

bool mcpd_can(const struct mcpd_request *r, const char *capability)
{
    return json_object_get(r->capabilities, capability) != NULL;
}

void mcpd_announce(void)
{
    notify(NULL, "notifications/tools/list_changed", NULL);
    for (struct mcpd_request *r = listeners; r != NULL; r = r->next)
        if (json_is_true(
                json_object_get(json_object_get(r->params, "notifications"),
                                "toolsListChanged")))
            mcpd_notify(r, "notifications/tools/list_changed",
                        json_pack("{s:{s:O}}", "_meta",
                                  MCPD_PREFIX "subscriptionId", r->id));
}

/* ---- methods ------------------------------------------------------------- */

static json_t *capabilities(const struct mcpd_request *r)
{
    json_t *out = mcpd_json("{'tools': {'listChanged': true}, "
                            "'resources': {}, 'prompts': {}, 'logging': {}}");

    if (r->modern)
        json_object_set_new(out, "extensions",
                            json_pack("{s:{}}", MCPD_PREFIX "tasks"));
    return out;
}

static void instructions(json_t *result)
{
    if (mcpd.instructions != NULL)
        json_object_set_new(result, "instructions",
                            json_string(mcpd.instructions));
}

static void discover(struct mcpd_request *r)
{
    json_t *result = json_pack(
        "{s:[s], s:o, s:i, s:s}", "supportedVersions", mcpd.modern_version,
        "capabilities", capabilities(r), "ttlMs", 1000, "cacheScope", "public");

    instructions(result);
    mcpd_result(r, result);
}

static void initialize(struct mcpd_request *r)
{
    json_t *result = json_pack(
        "{s:s, s:o, s:{s:s, s:s, s:s}}", "protocolVersion", mcpd.legacy_version,
        "capabilities", capabilities(r), "serverInfo", "name", "mcpd", "title",
        "Scripted", "version", "1.0.0");

    instructions(result);
    r->session->asked = true;
    json_decref(r->session->capabilities);
    r->session->capabilities =
        json_incref(json_object_get(r->params, "capabilities"));
    mcpd_result(r, result);
}

static void ping(struct mcpd_request *r)
{
    mcpd_result(r, json_object());
}

static void resources_list(struct mcpd_request *r)
{
    mcpd_result(r, mcpd_json("{'resources': [{'uri': 'mcpd://text', 'name': "
                             "'text', 'mimeType': 'text/plain'}, {'uri': "
                             "'mcpd://blob', 'name': 'blob'}], 'ttlMs': 0, "
                             "'cacheScope': 'public'}"));
}

static void templates_list(struct mcpd_request *r)
{
    mcpd_result(r, mcpd_json("{'resourceTemplates': [{'uriTemplate': "
                             "'mcpd://of/{name}', 'name': 'of'}], 'ttlMs': "
                             "0, 'cacheScope': 'public'}"));
}

static void resources_read(struct mcpd_request *r)
{
    const char *uri = json_string_value(json_object_get(r->params, "uri"));

    if (uri != NULL && strcmp(uri, "mcpd://blob") == 0)
        mcpd_result(r, mcpd_json("{'contents': [{'uri': 'mcpd://blob', "
                                 "'blob': 'AAEC/w=='}], 'ttlMs': 0, "
                                 "'cacheScope': 'private'}"));
    else if (uri != NULL && strncmp(uri, "mcpd://", 7) == 0)
        mcpd_result(r, json_pack("{s:[{s:s, s:s, s:s}], s:i, s:s}", "contents",
                                 "uri", uri, "mimeType", "text/plain", "text",
                                 uri + 7, "ttlMs", 0, "cacheScope", "private"));
    else
        mcpd_error(r, r->modern ? -32602 : -32002, "Resource not found",
                   json_pack("{s:s}", "uri", uri != NULL ? uri : ""));
}

static void prompts_list(struct mcpd_request *r)
{
    mcpd_result(r, mcpd_json("{'prompts': [{'name': 'greet', 'description': "
                             "'Greets somebody.', 'arguments': [{'name': "
                             "'who', 'required': true}]}], 'ttlMs': 0, "
                             "'cacheScope': 'public'}"));
}

static void prompts_get(struct mcpd_request *r)
{
    const char *name = json_string_value(json_object_get(r->params, "name")),
               *who = json_string_value(json_object_get(
                   json_object_get(r->params, "arguments"), "who"));

    if (name == NULL || strcmp(name, "greet") != 0 || who == NULL)
        mcpd_error(r, -32602, "no such prompt, or no argument 'who'", NULL);
    else
        mcpd_result(r, json_pack("{s:s, s:[{s:s, s:{s:s, s:s+}}]}",
                                 "description", "Greets somebody.", "messages",
                                 "role", "user", "content", "type", "text",
                                 "text", "Greet ", who));
}

static void nothing(struct mcpd_request *r)
{
    mcpd_result(r, json_object());
}

/* Its answer is the end of it: it is among the listeners until then. */
static void listen(struct mcpd_request *r)
{
    const json_t *wanted = json_object_get(r->params, "notifications");
    json_t *granted = json_object();

    if (json_is_true(json_object_get(wanted, "toolsListChanged")))
        json_object_set_new(granted, "toolsListChanged", json_true());
    unlink_request(&requests, r);
    r->next = listeners;
    listeners = r;
    mcpd_notify(r, "notifications/subscriptions/acknowledged",
                json_pack("{s:o, s:{s:O}}", "notifications", granted, "_meta",
                          MCPD_PREFIX "subscriptionId", r->id));
}

static const struct method {
    const char *name;
    int eras;
    void (*run)(struct mcpd_request *);
} methods[] = {
    {"server/discover", MCPD_2026, discover},
    {"initialize", MCPD_2025, initialize},
    {"ping", MCPD_2025, ping},
    {"logging/setLevel", MCPD_2025, nothing},
    {"tools/list", MCPD_2025 | MCPD_2026, mcpd_tools_list},
    {"tools/call", MCPD_2025 | MCPD_2026, mcpd_tools_call},
    {"resources/list", MCPD_2025 | MCPD_2026, resources_list},
    {"resources/templates/list", MCPD_2025 | MCPD_2026, templates_list},
    {"resources/read", MCPD_2025 | MCPD_2026, resources_read},
    {"prompts/list", MCPD_2025 | MCPD_2026, prompts_list},
    {"prompts/get", MCPD_2025 | MCPD_2026, prompts_get},
    {"subscriptions/listen", MCPD_2026, listen},
    {"tasks/get", MCPD_2026, mcpd_tasks_get},
    {"tasks/update", MCPD_2026, mcpd_tasks_update},
    {"tasks/cancel", MCPD_2026, mcpd_tasks_cancel},
};

/* ---- what comes ---------------------------------------------------------- */

static bool is_modern(const json_t *message, const char *method)
{
    const json_t *meta =
        json_object_get(json_object_get(message, "params"), "_meta");

    return (method != NULL && strcmp(method, "server/discover") == 0) ||
           json_object_get(meta, MCPD_PREFIX "protocolVersion") != NULL;
}

static bool is_version_known(const struct mcpd_request *r)
{
    const char *version = json_string_value(json_object_get(
        json_object_get(r->params, "_meta"), MCPD_PREFIX "protocolVersion"));

    return version != NULL && strcmp(version, mcpd.modern_version) == 0;
}

static void unsupported(struct mcpd_request *r, const char *requested)
{
    json_t *supported = json_array();

    json_array_append_new(supported, json_string(mcpd.modern_version));
    mcpd_error(r, -32022, "Unsupported protocol version",
               json_pack("{s:o, s:s?}", "supported", supported, "requested",
                         requested));
}

/* A server of the old era, and what is not of it. */
static void run_2025(struct mcpd_request *r)
{
    struct mcpd_session *s = r->session;

    if (!s->asked && strcmp(r->method, "initialize") != 0 &&
        strcmp(r->method, "ping") != 0 &&
        strcmp(r->method, "server/discover") != 0)
        mcpd_object("%s before initialize", r->method);
    else if (s->asked && !s->ready && strcmp(r->method, "ping") != 0)
        mcpd_object("%s before notifications/initialized", r->method);
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if ((methods[i].eras & MCPD_2025) != 0 &&
            strcmp(methods[i].name, r->method) == 0) {
            methods[i].run(r);
            return;
        }
    mcpd_error(r, -32601, "Method not found", NULL);
}

static void run_2026(struct mcpd_request *r)
{
    const json_t *meta = json_object_get(r->params, "_meta");

    if (!is_version_known(r)) {
        unsupported(r, json_string_value(json_object_get(meta, MCPD_PREFIX
                                                         "protocolVersion")));
        return;
    }
    if (!json_is_object(r->capabilities)) {
        mcpd_error(r, -32602, "no clientCapabilities", NULL);
        return;
    }
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if ((methods[i].eras & MCPD_2026) != 0 &&
            strcmp(methods[i].name, r->method) == 0) {
            methods[i].run(r);
            return;
        }
    mcpd_error(r, -32601, "Method not found", NULL);
}

static bool is_discover(const struct mcpd_request *r)
{
    return strcmp(r->method, "server/discover") == 0;
}

static void run(struct mcpd_request *r)
{
    struct mcpd_session *s = r->session;

    if (is_discover(r) && mcpd.exit_on_discover)
        exit(mcpd.exit_code);
    if (mcpd.silent || (is_discover(r) && mcpd.silent_on_discover)) {
        mcpd_drop(r);
        return;
    }
    if (mcpd.eras == MCPD_2025)
        r->modern = false;
    else if (mcpd.eras == MCPD_2026 && !r->modern &&
             strcmp(r->method, "initialize") == 0) {
        unsupported(r, json_string_value(
                           json_object_get(r->params, "protocolVersion")));
        return;
    } else if (mcpd.eras == MCPD_2026)
        r->modern = true;
    else if (s->modern && !r->modern) {
        mcpd_object("%s without _meta, after modern requests", r->method);
        unsupported(r, NULL);
        return;
    } else if (s->asked && r->modern) {
        mcpd_object("%s with _meta, after initialize", r->method);
        r->modern = false;
    }
    if (r->modern) {
        s->modern = s->modern || !is_discover(r);
        r->capabilities = json_object_get(json_object_get(r->params, "_meta"),
                                          MCPD_PREFIX "clientCapabilities");
        run_2026(r);
    } else {
        r->capabilities = s->capabilities;
        run_2025(r);
    }
}

static void answered(const json_t *message)
{
    const json_t *id = json_object_get(message, "id");

    for (struct asked **at = &asked; *at != NULL; at = &(*at)->next) {
        struct asked *a = *at;
        struct mcpd_request *by = a->by;

        if (!json_is_integer(id) || json_integer_value(id) != a->id)
            continue;
        *at = a->next;
        free(a);
        if (by != NULL) {
            json_t *result = json_object_get(message, "result");

            by->told(by, result != NULL ? result
                                        : json_object_get(message, "error"));
        }
        return;
    }
    mcpd_object("an answer to what was not asked");
}

static struct mcpd_request *find(struct mcpd_request *in, const json_t *id)
{
    while (in != NULL && !json_equal(in->id, id))
        in = in->next;
    return in;
}

static void cancelled(const json_t *params)
{
    const json_t *id = json_object_get(params, "requestId");
    struct mcpd_request *r = find(requests, id);

    if (r == NULL)
        r = find(listeners, id);
    if (r != NULL && r->late)
        mcpd_result(r, mcpd_text("too late"));
    else if (r != NULL)
        mcpd_drop(r);
}

static void notified(struct mcpd_session *s, const char *method,
                     const json_t *message)
{
    if (strcmp(method, "notifications/initialized") == 0) {
        if (!s->asked)
            mcpd_object("%s before initialize", method);
        s->ready = true;
    } else if (strcmp(method, "notifications/cancelled") == 0) {
        cancelled(json_object_get(message, "params"));
    }
}

enum mcpd_came mcpd_receive(struct mcpd_session *s, void *to, const char *text,
                            size_t n)
{
    json_error_t e;
    json_t *message = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
    const char *method = json_string_value(json_object_get(message, "method"));
    bool modern = mcpd.eras != MCPD_2025 && is_modern(message, method);
    enum mcpd_came came = MCPD_BAD;

    mcpd_log(text, n);
    if (!json_is_object(message)) {
        mcpd_object("not a JSON object: %s", message == NULL ? e.text : "");
    } else if (method == NULL) {
        mcpd_witness(message, s, s->modern);
        answered(message);
        came = MCPD_RESPONSE;
    } else if (json_object_get(message, "id") == NULL) {
        mcpd_witness(message, s, modern);
        notified(s, method, message);
        came = MCPD_NOTIFICATION;
    } else {
        struct mcpd_request *r = calloc(1, sizeof *r);

        mcpd_witness(message, s, modern || mcpd.eras == MCPD_2026);
        *r = (struct mcpd_request){.next = requests,
                                   .message = json_incref(message),
                                   .id = json_object_get(message, "id"),
                                   .params = json_object_get(message, "params"),
                                   .method = method,
                                   .modern = modern,
                                   .session = s,
                                   .to = to};
        requests = r;
        run(r);
        came = MCPD_REQUEST;
    }
    json_decref(message);
    return came;
}

/* ---- ends ---------------------------------------------------------------- */

static void drop_those(struct mcpd_request **from, const void *to,
                       const struct mcpd_session *of)
{
    for (struct mcpd_request *r = *from, *next; r != NULL; r = next) {
        next = r->next;
        if (r->to == to || (of != NULL && r->session == of))
            mcpd_drop(r);
    }
}

void mcpd_gone(const void *to)
{
    drop_those(&requests, to, NULL);
    drop_those(&listeners, to, NULL);
}

void mcpd_session_finish(struct mcpd_session *s)
{
    drop_those(&requests, s, s);
    drop_those(&listeners, s, s);
    json_decref(s->capabilities);
    *s = (struct mcpd_session){0};
}

void mcpd_finish(void)
{
    for (struct asked *a = asked, *next; a != NULL; a = next) {
        next = a->next;
        free(a);
    }
    asked = NULL;
    mcpd_tasks_finish();
    mcpd_witness_finish();
}
