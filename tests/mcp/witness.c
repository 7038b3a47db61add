/* witness.c -- what a client sends is written down, and judged.
 *
 * The log has each message as it came, a line each.  What breaks a rule of the
 * protocol has a line "! why" behind it: a test that sees none has seen a client
 * that is in order, as far as these go:
 *
 *   (1) JSON-RPC 2.0: one object, "jsonrpc", ids that are texts or integers,
 *       never null, no id twice; a method, or else exactly one of result and
 *       error, and then an id that the server has asked with.
 *   (2) 2025-11-25: initialize first, with a version, capabilities and who the
 *       client is; then notifications/initialized, then the rest.
 *   (3) 2026-07-28: params in each request, and in its _meta the version and
 *       the client's capabilities; nothing of what that version took away.
 *   (4) Answers to what a person is asked have an action, content that is an
 *       object with `accept`, and none without. */
#include "mcpd.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static json_t *ids; /* that were used: text -> true */

static void append(const char *path, const char *text, size_t n)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0)
        return;
    (void)!write(fd, text, n);
    close(fd);
}

int mcpd_append(const char *path, const char *line)
{
    char text[1024];
    int n = 0, c;
    FILE *f;

    append(path, text, (size_t)snprintf(text, sizeof text, "%.1000s\n", line));
    f = fopen(path, "r");
    while (f != NULL && (c = getc(f)) != EOF)
        n += c == '\n';
    if (f != NULL)
        fclose(f);
    return n;
}

void mcpd_log(const char *text, size_t n)
{
    char *line;

    if (mcpd.log == NULL)
        return;
    line = malloc(n + 1);
    memcpy(line, text, n);
    line[n] = '\n';
    append(mcpd.log, line, n + 1);
    free(line);
}

void mcpd_object(const char *fmt, ...)
{
    char text[1024] = "! ";
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text + 2, sizeof text - 2, fmt, ap);
    va_end(ap);
    mcpd_log(text, strlen(text));
}

/* ---- (1) ----------------------------------------------------------------- */

/* Each client has ids of its own; a server without sessions cannot tell clients
 * apart, and does not judge. */
static void judge_id(const json_t *id, const struct mcpd_session *of,
                     bool modern)
{
    char *text, *key;

    if (!json_is_string(id) && !json_is_integer(id)) {
        mcpd_object("an id is neither a text nor an integer");
        return;
    }
    if (modern && mcpd_wire->http)
        return;
    text = json_dumps(id, JSON_ENCODE_ANY);
    if (asprintf(&key, "%p %s", (const void *)of, text) < 0)
        abort();
    if (ids == NULL)
        ids = json_object();
    if (json_object_get(ids, key) != NULL)
        mcpd_object("id %s was used before", text);
    json_object_set_new(ids, key, json_true());
    free(key);
    free(text);
}

void mcpd_witness_finish(void)
{
    json_decref(ids);
    ids = NULL;
}

static void judge_answer(const json_t *m)
{
    bool result = json_object_get(m, "result") != NULL;
    const json_t *error = json_object_get(m, "error");

    if (result == (error != NULL))
        mcpd_object("an answer has not exactly one of result and error");
    if (error != NULL && (!json_is_integer(json_object_get(error, "code")) ||
                          !json_is_string(json_object_get(error, "message"))))
        mcpd_object("an error without code or message");
}

/* ---- (2), (3) ------------------------------------------------------------ */

static bool has_person(const json_t *who)
{
    return json_string_length(json_object_get(who, "name")) > 0 &&
           json_string_length(json_object_get(who, "version")) > 0;
}

static void judge_2025(const char *method, const json_t *params)
{
    if (strcmp(method, "initialize") != 0)
        return;
    if (!json_is_string(json_object_get(params, "protocolVersion")) ||
        !json_is_object(json_object_get(params, "capabilities")) ||
        !has_person(json_object_get(params, "clientInfo")))
        mcpd_object("initialize without version, capabilities or clientInfo");
}

static void judge_2026(const char *method, const json_t *params)
{
    static const char *const gone[] = {"initialize",
                                       "notifications/initialized",
                                       "ping",
                                       "logging/setLevel",
                                       "resources/subscribe",
                                       "resources/unsubscribe",
                                       "notifications/roots/list_changed"};
    const json_t *meta = json_object_get(params, "_meta");

    if (!json_is_string(json_object_get(meta, MCPD_PREFIX "protocolVersion")))
        mcpd_object("%s: no protocolVersion in _meta", method);
    if (!json_is_object(
            json_object_get(meta, MCPD_PREFIX "clientCapabilities")))
        mcpd_object("%s: no clientCapabilities in _meta", method);
    if (!has_person(json_object_get(meta, MCPD_PREFIX "clientInfo")))
        mcpd_object("%s: no clientInfo in _meta", method);
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
        if (strcmp(method, gone[i]) == 0)
            mcpd_object("%s: there is no such thing in " MCPD_MODERN, method);
    if (json_object_get(params, "requestState") != NULL &&
        !json_is_string(json_object_get(params, "requestState")))
        mcpd_object("%s: requestState is no text", method);
}

void mcpd_witness(const json_t *m, const struct mcpd_session *of, bool modern)
{
    const json_t *method = json_object_get(m, "method"),
                 *id = json_object_get(m, "id"),
                 *params = json_object_get(m, "params");
    const char *version = json_string_value(json_object_get(m, "jsonrpc"));

    if (version == NULL || strcmp(version, "2.0") != 0)
        mcpd_object("jsonrpc is not 2.0");
    if (method == NULL) {
        judge_answer(m);
        if (id == NULL || json_is_null(id))
            mcpd_object("an answer without id");
        if (modern)
            mcpd_object("an answer, in " MCPD_MODERN);
        return;
    }
    if (!json_is_string(method)) {
        mcpd_object("a method is no text");
        return;
    }
    if (params != NULL && !json_is_object(params))
        mcpd_object("params is no object");
    if (id != NULL)
        judge_id(id, of, modern);
    if (!modern)
        judge_2025(json_string_value(method), params);
    else if (id != NULL)
        judge_2026(json_string_value(method), params);
}
