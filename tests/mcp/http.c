/* http.c -- mcpd_http: a scripted MCP server over streamable HTTP, at /mcp.
 *
 * It prints its port, and lives until its stdin ends or it is told to.
 *
 *   (1) A request of 2025-11-25 is answered by a stream, which survives its
 *       connection: what is said meanwhile is kept, and comes with a GET that
 *       has the id of the last event.  One of 2026-07-28 is answered by JSON
 *       unless something comes before the answer, and given up when its
 *       connection is.
 *   (2) Headers must be what each revision asks for; what is wrong with them is
 *       in the log, as is each request: "> METHOD PATH" and its headers.
 *   (3) It writes as a simple program does, and waits while nobody reads. */
#include "mcpd.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "httpd.h"

enum { CONNS = 1024 };

/* What a client has opened: 2025-11-25. */
struct client {
    struct client *next;
    struct mcpd_session session;
    char id[32];
    int calls;
};

/* Where what belongs to a request is said. */
struct stream {
    struct stream *next;
    struct conn *conn; /* NULL: it broke */
    struct client *client;
    bool modern, get;  /* get: the one that belongs to no request */
    bool begun, ended; /* its head was sent; its answer was said */
    bool in_line;      /* of raw bytes */
    int number, events;
    char **kept; /* each of its events */
};

struct conn {
    int fd;
    char *buf;
    size_t n, cap;
    struct stream *stream; /* that it is the end of */
    bool expected, over;   /* 100 was sent; it is to be closed */
};

static struct conn *conns[CONNS];
static struct client *clients;
static struct stream *streams;
static struct mcpd_session stateless; /* of 2026-07-28, and of nobody's */
static int port, n_clients, n_streams;
static volatile sig_atomic_t changed, forgetting;

int http_port(void)
{
    return port;
}

/* ---- bytes --------------------------------------------------------------- */

static void put(struct conn *c, const char *p, size_t n)
{
    while (n > 0 && !c->over) {
        ssize_t sent = send(c->fd, p, n, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0) {
            c->over = true;
            return;
        }
        p += sent;
        n -= (size_t)sent;
    }
}

static void put_text(struct conn *c, const char *text)
{
    put(c, text, strlen(text));
}

static void put_chunk(struct conn *c, const char *p, size_t n)
{
    char *all = malloc(n + 32);
    int head = sprintf(all, "%zx\r\n", n);

    memcpy(all + head, p, n);
    memcpy(all + head + (int)n, "\r\n", 2);
    put(c, all, (size_t)head + n + 2);
    free(all);
}

void http_answer(struct conn *c, int status, const char *headers,
                 const char *type, const char *body)
{
    char *text;

    if (asprintf(&text,
                 "HTTP/1.1 %d %s\r\n%s%s%s%sContent-Length: %zu\r\n\r\n%s",
                 status, status < 400 ? "OK" : "No", headers,
                 type != NULL ? "Content-Type: " : "", type != NULL ? type : "",
                 type != NULL ? "\r\n" : "", strlen(body), body) < 0)
        abort();
    put_text(c, text);
    free(text);
}

const char *http_header(const struct http *q, const char *name)
{
    static char values[8][4096];
    static unsigned turn;
    const char *line = q->head;
    size_t n = strlen(name);

    while (line != NULL && *line != '\r') {
        if (strncasecmp(line, name, n) == 0 && line[n] == ':') {
            char *out = values[turn++ % 8];

            line += n + 1;
            line += strspn(line, " \t");
            snprintf(out, sizeof values[0], "%.*s", (int)strcspn(line, "\r"),
                     line);
            return out;
        }
        line = strstr(line, "\r\n");
        line = line != NULL ? line + 2 : NULL;
    }
    return NULL;
}

/* ---- streams ------------------------------------------------------------- */

static struct stream *stream_new(struct conn *conn, struct client *client,
                                 bool modern)
{
    struct stream *s = calloc(1, sizeof *s);

    *s = (struct stream){.next = streams,
                         .conn = conn,
                         .client = client,
                         .modern = modern,
                         .number = ++n_streams};
    streams = s;
    conn->stream = s;
    return s;
}

static void stream_free(struct stream *s)
{
    struct stream **at = &streams;

    mcpd_gone(s);
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    if (s->conn != NULL)
        s->conn->stream = NULL;
    for (int i = 0; i < s->events; i++)
        free(s->kept[i]);
    free(s->kept);
    free(s);
}

/* It is in good order, and the connection may be used again. */
static void stream_end(struct stream *s)
{
    s->ended = true;
    if (s->conn == NULL)
        return;
    put_text(s->conn, "0\r\n\r\n");
    stream_free(s);
}

static void begin_events(struct stream *s)
{
    char head[512];

    if (s->begun || s->conn == NULL)
        return;
    s->begun = true;
    snprintf(head, sizeof head,
             "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
             "Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n"
             "%s%s%s\r\n",
             s->client != NULL && !mcpd.no_session ? "Mcp-Session-Id: " : "",
             s->client != NULL && !mcpd.no_session ? s->client->id : "",
             s->client != NULL && !mcpd.no_session ? "\r\n" : "");
    put_text(s->conn, head);
}

/* All that the format allows: other line ends, comments, fields that nobody
 * knows, data in two lines (which a blank of JSON's joins), no blanks. */
static int oddly(char **out, const struct stream *s, const char *text)
{
    int half = (int)strcspn(text, ",") + 1;

    return asprintf(out,
                    ":\r\n: comment: x\r\nnobody:knows\r\nid\r\nid: %d-%d\r"
                    "\nevent:message\r\ndata:%.*s\r\ndata: %s\r\n\r\n"
                    "event: ping\ndata\n\n",
                    s->number, s->events + 1, half, text, text + half);
}

static void event(struct stream *s, const char *text)
{
    char *out;
    int n;

    if (mcpd.odd_sse)
        n = oddly(&out, s, text);
    else if (s->modern)
        n = asprintf(&out, "data: %s\n\n", text);
    else
        n = asprintf(&out, "event: message\nid: %d-%d\ndata: %s\n\n", s->number,
                     s->events + 1, text);
    if (n < 0)
        abort();
    begin_events(s);
    if (s->conn != NULL)
        put_chunk(s->conn, out, (size_t)n);
    if (s->modern) {
        free(out);
        return;
    }
    s->kept = realloc(s->kept, sizeof *s->kept * (size_t)(s->events + 1));
    s->kept[s->events++] = out;
}

/* The status of an answer that is JSON. */
static int status_of(const struct stream *s, int code)
{
    if (!s->modern || code == 0)
        return 200;
    if (code == -32601)
        return 404;
    return code <= -32020 && code >= -32029 ? 400 : 200;
}

static void answer_json(struct stream *s, const char *text, int code)
{
    char session[64] = "";

    if (s->client != NULL && !mcpd.no_session)
        snprintf(session, sizeof session, "Mcp-Session-Id: %s\r\n",
                 s->client->id);
    if (s->conn != NULL)
        http_answer(s->conn, status_of(s, code), session, "application/json",
                    text);
    stream_free(s);
}

static struct stream *standing(const struct client *c)
{
    struct stream *s = streams;

    while (s != NULL && !(s->get && s->client == c && s->conn != NULL))
        s = s->next;
    return s;
}

static void say(void *to, const char *text, size_t n, enum mcpd_saying what,
                int code)
{
    struct stream *s = to;

    (void)n;
    if (s == NULL) {
        for (struct stream *g = streams; g != NULL; g = g->next)
            if (g->get)
                event(g, text);
        return;
    }
    if (what == MCPD_MESSAGE && mcpd.ask_on_get && !s->modern &&
        strstr(text, "\"id\":") != NULL && standing(s->client) != NULL) {
        event(standing(s->client), text);
        return;
    }
    if (what == MCPD_MESSAGE) {
        event(s, text);
        return;
    }
    if (!s->begun && (s->modern ? !mcpd.sse : mcpd.json)) {
        answer_json(s, text, code);
        return;
    }
    event(s, text);
    stream_end(s);
}

/* Lines become events; they have no ids and are not kept. */
static void raw(void *to, const char *bytes, size_t n)
{
    struct stream *s = to;

    if (s == NULL || s->conn == NULL)
        return;
    begin_events(s);
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t some = end != NULL ? (size_t)(end - bytes) : n;

        if (!s->in_line)
            put_chunk(s->conn, "data: ", 6);
        if (some > 0)
            put_chunk(s->conn, bytes, some);
        if (end != NULL)
            put_chunk(s->conn, "\n\n", 2);
        s->in_line = end == NULL;
        some += end != NULL;
        bytes += some;
        n -= some;
    }
}

static void cut(void *to)
{
    struct stream *s = to;

    if (s->conn != NULL)
        s->conn->over = true;
}

static void status(void *to, int code)
{
    struct stream *s = to;

    if (s->conn != NULL)
        http_answer(s->conn, code,
                    code == 429 || code == 503 ? "Retry-After: 1\r\n" : "",
                    "text/html", "<p>no</p>");
    stream_free(s);
}

static const struct mcpd_transport wire = {
    .say = say, .raw = raw, .cut = cut, .status = status, .http = true};
const struct mcpd_transport *mcpd_wire = &wire;

/* ---- clients ------------------------------------------------------------- */

static struct client *client_new(void)
{
    struct client *c = calloc(1, sizeof *c);

    snprintf(c->id, sizeof c->id, "session-%d-%d", (int)getpid(), ++n_clients);
    c->next = clients;
    return clients = c;
}

static struct client *client_of(const struct http *q)
{
    const char *id = http_header(q, "Mcp-Session-Id");
    struct client *c = clients;

    if (mcpd.no_session) {
        if (id != NULL)
            mcpd_object("a session id, where none was given");
        return c;
    }
    while (id != NULL && c != NULL && strcmp(c->id, id) != 0)
        c = c->next;
    return id != NULL ? c : NULL;
}

static void client_free(struct client *c)
{
    struct client **at = &clients;

    for (struct stream *s = streams, *next; s != NULL; s = next) {
        next = s->next;
        if (s->client == c) {
            if (s->conn != NULL)
                s->conn->over = true;
            stream_free(s);
        }
    }
    mcpd_session_finish(&c->session);
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    free(c);
}

/* ---- what a POST must have ----------------------------------------------- */

static void refuse(const struct http *q, int status_, int code, const char *why,
                   const json_t *id)
{
    json_t *m = json_pack("{s:s, s:O?, s:{s:i, s:s}}", "jsonrpc", "2.0", "id",
                          id, "error", "code", code, "message", why);
    char *text;

    if (id == NULL)
        json_object_set_new(m, "id", json_null());
    text = json_dumps(m, JSON_COMPACT);
    http_answer(q->conn, status_, "", "application/json", text);
    free(text);
    json_decref(m);
}

static bool is_wrapped(const char *s)
{
    return strncmp(s, "=?base64?", 9) == 0;
}

static int digit64(char c)
{
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstu"
                              "vwxyz0123456789+/";
    const char *at = c != '\0' ? strchr(all, c) : NULL;

    return at != NULL ? (int)(at - all) : -1;
}

/* What a header says, when it is =?base64?...?=. */
static void unwrap(const char *s, char *out, size_t cap)
{
    unsigned bits = 0;
    int n = 0;
    size_t k = 0;

    if (!is_wrapped(s)) {
        snprintf(out, cap, "%s", s);
        return;
    }
    for (s += 9; digit64(*s) >= 0 && k + 1 < cap; s++) {
        bits = bits << 6 | (unsigned)digit64(*s);
        n += 6;
        if (n >= 8)
            out[k++] = (char)(bits >> (n -= 8) & 255);
    }
    out[k] = '\0';
}

/* A header is there and says that, or is absent as it has to be. */
static bool says(const struct http *q, const char *name, const json_t *want)
{
    const char *is = http_header(q, name);
    char have[4096], *text;
    bool same;

    if (want == NULL || json_is_null(want)) {
        if (is != NULL)
            mcpd_object("header %s, where none belongs", name);
        return is == NULL;
    }
    text = json_is_string(want) ? strdup(json_string_value(want))
                                : json_dumps(want, JSON_ENCODE_ANY);
    unwrap(is != NULL ? is : "", have, sizeof have);
    same = is != NULL && strcmp(have, text) == 0;
    if (!same)
        mcpd_object("header %s: '%s', not '%s'", name,
                    is != NULL ? have : "none", text);
    free(text);
    return same;
}

static bool has_headed(const struct http *q, const json_t *params)
{
    const json_t *args = json_object_get(params, "arguments");

    return says(q, "Mcp-Param-Region", json_object_get(args, "region")) &&
           says(q, "Mcp-Param-N", json_object_get(args, "n")) &&
           says(q, "Mcp-Param-On",
                json_object_get(json_object_get(args, "deep"), "on"));
}

static bool has_modern_headers(const struct http *q, const json_t *m)
{
    const json_t *params = json_object_get(m, "params"),
                 *meta = json_object_get(params, "_meta"),
                 *method = json_object_get(m, "method"), *name = NULL;
    const char *word = json_string_value(method);

    if (strcmp(word, "tools/call") == 0 || strcmp(word, "prompts/get") == 0)
        name = json_object_get(params, "name");
    else if (strcmp(word, "resources/read") == 0)
        name = json_object_get(params, "uri");
    else if (strncmp(word, "tasks/", 6) == 0)
        name = json_object_get(params, "taskId");
    if (http_header(q, "Mcp-Session-Id") != NULL)
        mcpd_object("a session id, in " MCPD_MODERN);
    return says(q, "MCP-Protocol-Version",
                json_object_get(meta, MCPD_PREFIX "protocolVersion")) &&
           says(q, "Mcp-Method", method) && says(q, "Mcp-Name", name) &&
           (name == NULL || strcmp(json_string_value(name), "headed") != 0 ||
            has_headed(q, params));
}

static bool accepts(const struct http *q)
{
    const char *accept = http_header(q, "Accept"),
               *type = http_header(q, "Content-Type");

    if (accept == NULL || strstr(accept, "application/json") == NULL ||
        strstr(accept, "text/event-stream") == NULL) {
        mcpd_object("Accept without both types");
        refuse(q, 406, -32000, "Not Acceptable", NULL);
        return false;
    }
    if (type == NULL || strncmp(type, "application/json", 16) != 0) {
        mcpd_object("Content-Type is not application/json");
        refuse(q, 415, -32000, "Unsupported Media Type", NULL);
        return false;
    }
    return true;
}

/* ---- POST ---------------------------------------------------------------- */

/* The first word of a stream; with --drop-stream the last on this connection. */
static void prime(struct stream *s)
{
    char text[128];

    if (!mcpd.prime && !mcpd.drop_stream)
        return;
    begin_events(s);
    snprintf(text, sizeof text, "id: %d-0\n%sdata: \n\n", s->number,
             mcpd.drop_stream ? "retry: 200\n" : "");
    put_chunk(s->conn, text, strlen(text));
    if (!mcpd.drop_stream)
        return;
    put_text(s->conn, "0\r\n\r\n");
    s->conn->stream = NULL;
    s->conn = NULL;
}

static bool has_number(const struct stream *s, int number)
{
    return s->number == number;
}

static void hand_over(const struct http *q, struct client *c, bool modern,
                      const char *method)
{
    struct stream *s = stream_new(q->conn, c, modern);
    int number = s->number;
    enum mcpd_came came;

    if (!modern && method != NULL && strcmp(method, "tools/call") == 0)
        prime(s);
    came = mcpd_receive(c != NULL ? &c->session : &stateless, s, q->body, q->n);
    if (came == MCPD_REQUEST)
        return;
    for (s = streams; s != NULL && !has_number(s, number);)
        s = s->next;
    if (s != NULL)
        stream_free(s);
    http_answer(q->conn, came == MCPD_BAD ? 400 : 202, "", NULL, "");
}

static void post_modern(const struct http *q, const json_t *m,
                        const char *method)
{
    if (json_object_get(m, "id") != NULL && !has_modern_headers(q, m)) {
        refuse(q, 400, -32020, "Header mismatch", json_object_get(m, "id"));
        return;
    }
    hand_over(q, NULL, true, method);
}

/* The session is known, or is begun now; NULL: refused. */
static struct client *admit(const struct http *q, const json_t *m,
                            const char *method)
{
    const char *version = http_header(q, "MCP-Protocol-Version");
    struct client *c = client_of(q);
    bool begins = method != NULL && strcmp(method, "initialize") == 0;

    if (begins && http_header(q, "Mcp-Session-Id") != NULL)
        mcpd_object("initialize with a session id");
    if (begins)
        return client_new();
    if (c == NULL && http_header(q, "Mcp-Session-Id") == NULL) {
        refuse(q, 400, -32000, "Server not initialized", NULL);
        return NULL;
    }
    if (c != NULL && method != NULL && strcmp(method, "tools/call") == 0 &&
        mcpd.forget_after >= 0 && c->calls++ >= mcpd.forget_after) {
        client_free(c);
        c = NULL;
    }
    if (c == NULL) {
        refuse(q, 404, -32001, "Session not found", json_object_get(m, "id"));
        return NULL;
    }
    if (version == NULL || strcmp(version, mcpd.legacy_version) != 0) {
        mcpd_object("MCP-Protocol-Version: '%s', not '%s'",
                    version != NULL ? version : "none", mcpd.legacy_version);
        refuse(q, 400, -32000, "Unsupported protocol version", NULL);
        return NULL;
    }
    return c;
}

static bool is_modern(const json_t *m, const char *method)
{
    const json_t *meta = json_object_get(json_object_get(m, "params"), "_meta");

    return (mcpd.eras & MCPD_2026) != 0 &&
           (mcpd.eras == MCPD_2026 ||
            (method != NULL && strcmp(method, "server/discover") == 0) ||
            json_object_get(meta, MCPD_PREFIX "protocolVersion") != NULL);
}

static void post(const struct http *q)
{
    json_t *m = json_loadb(q->body, q->n, 0, NULL);
    const char *method = json_string_value(json_object_get(m, "method")),
               *tool = json_string_value(
                   json_object_get(json_object_get(m, "params"), "name"));

    if (!oauth_admits(q, method, tool) || !accepts(q)) {
        json_decref(m);
        return;
    }
    if (method != NULL && is_modern(m, method)) {
        post_modern(q, m, method);
    } else {
        struct client *c = admit(q, m, method);

        if (c != NULL)
            hand_over(q, c, false, method);
    }
    json_decref(m);
}

/* ---- GET, DELETE --------------------------------------------------------- */

static void resume(const struct http *q, const char *last)
{
    int number = 0, after = 0;
    struct stream *s = streams;

    sscanf(last, "%d-%d", &number, &after);
    while (s != NULL && s->number != number)
        s = s->next;
    if (s == NULL || s->conn != NULL) {
        mcpd_object("Last-Event-ID %s: of no stream that broke", last);
        http_answer(q->conn, 400, "", NULL, "");
        return;
    }
    s->conn = q->conn;
    q->conn->stream = s;
    s->begun = false;
    begin_events(s);
    for (int i = after; i < s->events; i++)
        put_chunk(s->conn, s->kept[i], strlen(s->kept[i]));
    if (s->ended)
        stream_end(s);
}

static void get(const struct http *q)
{
    const char *last = http_header(q, "Last-Event-ID"),
               *accept = http_header(q, "Accept");
    struct client *c = client_of(q);
    struct stream *s;

    if (mcpd.no_get || mcpd.eras == MCPD_2026) {
        http_answer(q->conn, 405, "Allow: POST\r\n", NULL, "");
        return;
    }
    if (accept == NULL || strstr(accept, "text/event-stream") == NULL)
        mcpd_object("GET that does not accept text/event-stream");
    if (c == NULL) {
        http_answer(q->conn, http_header(q, "Mcp-Session-Id") ? 404 : 400, "",
                    NULL, "");
        return;
    }
    if (last != NULL) {
        resume(q, last);
        return;
    }
    if (standing(c) != NULL) {
        mcpd_object("a second GET stream");
        http_answer(q->conn, 409, "", NULL, "");
        return;
    }
    s = stream_new(q->conn, c, false);
    s->get = true;
    begin_events(s);
    put_chunk(s->conn, ": hello\n\n", 9);
    if (mcpd.ask_at_start)
        mcpd_ask_at_start(s);
}

static void delete (const struct http *q)
{
    struct client *c = client_of(q);

    if (c != NULL)
        client_free(c);
    http_answer(q->conn, c != NULL ? 200 : 404, "", NULL, "");
}

/* ---- requests ------------------------------------------------------------ */

static void log_head(const struct http *q)
{
    size_t n = strlen(q->head), k = 0;
    char *text = malloc(n + 2200);

    k = (size_t)sprintf(text, "> %s %s ", q->method, q->path);
    for (size_t i = 0; i < n; i++)
        if (strncmp(q->head + i, "\r\n", 2) == 0) {
            text[k++] = '|';
            i++;
        } else {
            text[k++] = q->head[i];
        }
    mcpd_log(text, k);
    free(text);
    if (strcmp(q->path, "/mcp") != 0 && q->n > 0)
        mcpd_log(q->body, q->n);
}

static void serve(const struct http *q)
{
    log_head(q);
    if (oauth_takes(q))
        return;
    if (strcmp(q->path, "/mcp") != 0)
        http_answer(q->conn, 404, "", "text/plain", "nothing here");
    else if (strcmp(q->method, "POST") == 0)
        post(q);
    else if (!oauth_admits(q, NULL, NULL))
        return;
    else if (strcmp(q->method, "GET") == 0)
        get(q);
    else if (strcmp(q->method, "DELETE") == 0)
        delete (q);
    else
        http_answer(q->conn, 405, "", NULL, "");
}

/* A whole request of what came, if there is one and the last is answered. */
static bool take_request(struct conn *c)
{
    struct http q = {.conn = c};
    char *end, *line, keep;
    size_t head, n;

    if (c->n == 0 || c->stream != NULL)
        return false;
    end = memmem(c->buf, c->n, "\r\n\r\n", 4);
    line = memmem(c->buf, c->n, "\r\n", 2);
    if (end == NULL || sscanf(c->buf, "%15s %2047s", q.method, q.path) != 2)
        return false;
    head = (size_t)(end + 4 - c->buf);
    keep = end[3];
    q.head = line + 2;
    end[2] = '\0';
    n = http_header(&q, "Content-Length") != NULL
            ? (size_t)atol(http_header(&q, "Content-Length"))
            : 0;
    if (http_header(&q, "Expect") != NULL && !c->expected && c->n < head + n) {
        c->expected = true;
        put_text(c, "HTTP/1.1 100 Continue\r\n\r\n");
    }
    if (c->n >= head + n) {
        char *body = strndup(c->buf + head, n), *text = strdup(q.head);

        q.head = text;
        q.body = body;
        q.n = n;
        c->n -= head + n;
        memmove(c->buf, c->buf + head + n, c->n);
        c->expected = false;
        serve(&q);
        free(body);
        free(text);
        return true;
    }
    end[2] = '\r';
    end[3] = keep;
    return false;
}

static void conn_close(int i)
{
    struct conn *c = conns[i];
    struct stream *s = c->stream;

    if (s != NULL) {
        s->conn = NULL;
        if (s->modern || s->get)
            stream_free(s);
    }
    close(c->fd);
    free(c->buf);
    free(c);
    conns[i] = NULL;
}

/* Something is there to be read. */
static void conn_read(struct conn *c)
{
    ssize_t got;

    if (c->cap - c->n < 65536) {
        c->cap = 2 * c->cap + 65536;
        c->buf = realloc(c->buf, c->cap);
    }
    got = recv(c->fd, c->buf + c->n, c->cap - c->n - 1, 0);
    if (got <= 0) {
        c->over = true;
        return;
    }
    c->n += (size_t)got;
    c->buf[c->n] = '\0';
}

static void accept_one(int listener)
{
    int fd = accept(listener, NULL, NULL), one = 1, i = 0;

    while (i < CONNS && conns[i] != NULL)
        i++;
    if (fd < 0 || i == CONNS) {
        if (fd >= 0)
            close(fd);
        return;
    }
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    conns[i] = calloc(1, sizeof *conns[i]);
    conns[i]->fd = fd;
}

/* ---- the loop ------------------------------------------------------------ */

static int listen_at(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                            .sin_port = htons((unsigned short)mcpd.port)};
    socklen_t n = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) != 0 ||
        listen(fd, 1024) != 0) {
        perror("listen");
        exit(1);
    }
    getsockname(fd, (struct sockaddr *)&a, &n);
    port = ntohs(a.sin_port);
    return fd;
}

static void signalled(int sig)
{
    if (sig == SIGUSR1)
        changed = 1;
    else
        forgetting = 1;
}

static void heed_signals(void)
{
    if (changed)
        mcpd_announce();
    while (forgetting && clients != NULL)
        client_free(clients);
    changed = forgetting = 0;
}

static void loop(int listener)
{
    static struct pollfd p[CONNS + 2];
    static int of[CONNS + 2];

    for (;;) {
        nfds_t n = 2;

        p[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
        p[1] = (struct pollfd){.fd = listener, .events = POLLIN};
        for (int i = 0; i < CONNS; i++)
            if (conns[i] != NULL) {
                of[n] = i;
                p[n++] = (struct pollfd){.fd = conns[i]->fd, .events = POLLIN};
            }
        if (poll(p, n, mcpd_timeout()) > 0) {
            char byte[256];

            if (p[0].revents != 0 && read(STDIN_FILENO, byte, sizeof byte) <= 0)
                return;
            if (p[1].revents != 0)
                accept_one(listener);
            for (nfds_t k = 2; k < n; k++)
                if (p[k].revents != 0)
                    conn_read(conns[of[k]]);
        }
        heed_signals();
        mcpd_tick();
        for (int i = 0; i < CONNS; i++)
            if (conns[i] != NULL) {
                while (!conns[i]->over && take_request(conns[i]))
                    continue;
                if (conns[i]->over)
                    conn_close(i);
            }
    }
}

int main(int argc, char **argv)
{
    char text[32];
    int listener;

    mcpd_options_read(argc, argv);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR1, signalled);
    signal(SIGUSR2, signalled);
    listener = listen_at();
    snprintf(text, sizeof text, "%d", (int)getpid());
    if (mcpd.starts != NULL)
        mcpd_append(mcpd.starts, text);
    snprintf(text, sizeof text, "%d", port);
    if (mcpd.port_file != NULL)
        mcpd_append(mcpd.port_file, text);
    puts(text);
    fflush(stdout);
    loop(listener);
    for (int i = 0; i < CONNS; i++)
        if (conns[i] != NULL)
            conn_close(i);
    while (clients != NULL)
        client_free(clients);
    while (streams != NULL)
        stream_free(streams);
    mcpd_session_finish(&stateless);
    close(listener);
    oauth_finish();
    mcpd_finish();
    return 0;
}
