/* http_answer.c -- what comes of a message.
 *
 * Its answer is JSON, or a stream of events of which one is the answer, or, of
 * what is no request, nothing.
 *
 *   (1) An answer is a message with the request's id.  An error of JSON-RPC
 *       without an id, which is how servers say what is wrong before they have
 *       looked at the message, gets the id that it is about, on the way up.
 *   (2) Status 401, or 403 with a challenge (or where there is no token yet), is
 *       for http_auth.c: the turn waits, and goes once more with another token.
 *   (3) Where the server does not know the session any more, 404, or 400 with an
 *       error that has no id, the wire is lost, and none of what was refused so
 *       has happened.
 *   (4) Whether a message that failed can have arrived: no, where an answer says
 *       that it was refused (every 3xx, every 4xx but 408), or the host that none of
 *       it left; else it may have: of a 503 or 504, too, which a gateway says that lost
 *       patience with what goes on behind it. */
#include "http.h"
#include "rpc.h"

/* ---- troubles ------------------------------------------------------------ */

struct mcp_trouble http_trouble_of(const struct http_end *end)
{
    switch (end->status) {
    case MORTISE_S_OK:
        return mcp_trouble_of(
            "mcp.lost", "transient",
            mortise_strz("the stream ended before the answer"), 1);
    case MORTISE_S_IO:
        return mcp_trouble_of("mcp.lost", "transient", end->words, 0);
    case MORTISE_S_DOUBT: /* inside of a call's step */
        return mcp_trouble_of("mcp.lost", "transient", end->words, 1);
    case MORTISE_S_TIMEOUT:
        return mcp_trouble_of("mcp.timeout", "timeout", end->words, 1);
    case MORTISE_S_CANCELLED:
        return mcp_trouble_of("cancelled", "cancelled",
                              mortise_strz("it was cancelled"), 1);
    case MORTISE_S_NOMEM:
        return mcp_trouble_of("no_memory", "transient",
                              mortise_strz("out of memory"), 1);
    case MORTISE_S_DENIED:
    case MORTISE_S_INVALID:
        return mcp_trouble_of("mcp.refused", "permanent", end->words, 0);
    default:
        return mcp_trouble_of("mcp.protocol", "permanent", end->words, 1);
    }
}

/* ---- the session --------------------------------------------------------- */

int http_is_session_over(const struct http_turn *t, int status)
{
    return status == 404 && t->wire->era == MCP_ERA_LEGACY &&
           t->wire->session.n > 0;
}

/* Another request that the server may have acted upon. */
static struct http_turn *other_sent(const struct http_turn *t)
{
    struct http_turn *o = t->wire->turns;

    while (o != NULL && (o == t || o->kind != MCP_REQUEST ||
                         (o->state != HTTP_SENT && o->state != HTTP_PAUSES)))
        o = o->next;
    return o;
}

/* (3): what was refused ends with the wire, and did not happen; of the others
 * nothing is known. */
void http_session_over(struct http_turn *t)
{
    struct mcp_wire *wire = t->wire;
    struct mcp_trouble why = mcp_trouble_of(
        "mcp.lost", "transient",
        mortise_strz("the server no longer knows the session"), 1);
    struct http_turn *other;

    http_wire_enter(wire);
    while (!wire->closed && (other = other_sent(t)) != NULL)
        http_turn_fail(other, &why);
    why.arrived = 0;
    if (!wire->closed)
        wire->ear.lost(wire->ear.ud, &why);
    http_wire_leave(wire);
}

/* ---- hearing ------------------------------------------------------------- */

mortise_status http_turn_hear(struct http_turn *t, mortise_str json)
{
    struct mcp_wire *wire = t->wire;

    if (t->id != 0 && mcp_rpc_answers(json) == t->id)
        t->answered = 1;
    wire->ear.heard(wire->ear.ud, json, t->id);
    return t->wire != NULL ? MORTISE_S_OK : MORTISE_S_CANCELLED;
}

/* (1): NOTFOUND when there is no error in it, else as http_turn_hear(). */
static mortise_status hear_error(struct http_turn *t, mortise_str json)
{
    mortise_jv v, error;
    mortise_status status;
    mortise_str text;
    mortise_jw w;

    if (mortise_jv_parse(json, &v) != MORTISE_S_OK)
        return MORTISE_S_NOTFOUND;
    error = mortise_jv_get(v, "error");
    if (mortise_jv_type(mortise_jv_get(error, "code")) != MORTISE_JV_NUMBER ||
        mortise_jv_type(mortise_jv_get(v, "jsonrpc")) == MORTISE_JV_NONE)
        return MORTISE_S_NOTFOUND;
    if (mcp_rpc_answers(json) == t->id)
        return http_turn_hear(t, json);
    mortise_jw_growing(&w, NULL, 0, bytes_more, NULL);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "jsonrpc");
    mortise_jw_cstr(&w, "2.0");
    mortise_jw_key(&w, "id");
    mortise_jw_int(&w, t->id);
    mortise_jw_key(&w, "error");
    mortise_jw_value(&w, error);
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &text);
    if (status == MORTISE_S_OK)
        status = http_turn_hear(t, text);
    free(w.p);
    return status == MORTISE_S_NOTFOUND ? MORTISE_S_FAILED : status;
}

/* ---- the answer ---------------------------------------------------------- */

static int is_ok(int status)
{
    return status >= 200 && status < 300;
}

static int begins_with(mortise_str s, const char *what)
{
    uint64_t n = strlen(what);

    return s.n >= n && memcmp(s.p, what, n) == 0;
}

static void take_session(struct http_turn *t, mortise_jv headers)
{
    struct bytes *to = &t->wire->session;
    mortise_str id = http_header_of(headers, "mcp-session-id", to);

    for (uint64_t i = 0; i < id.n; i++)
        if (id.p[i] <= ' ' || id.p[i] > '~')
            to->n = 0; /* nothing that could be sent back */
}

void http_answer_head(struct http_ask *ask, int status, mortise_jv headers)
{
    struct http_turn *t = MCP_OF(ask, struct http_turn, ask);
    struct bytes type = {0};

    t->has_head = 1;
    if (t->wire == NULL)
        return;
    t->is_events = is_ok(status) &&
                   begins_with(http_header_of(headers, "content-type", &type),
                               "text/event-stream");
    bytes_free(&type);
    http_header_of(headers, "www-authenticate", &t->challenge);
    http_header_of(headers, "location", &t->moved);
    if (t->is_initialize && is_ok(status))
        take_session(t, headers);
    if (is_ok(status))
        http_auth_fine(t->wire->server, bytes_str(&t->name), t->token);
}

void http_answer_piece(struct http_ask *ask, mortise_str piece)
{
    struct http_turn *t = MCP_OF(ask, struct http_turn, ask);

    if (t->wire == NULL || t->broken != MORTISE_S_OK)
        return;
    if (t->is_events)
        http_stream_feed(t, piece);
    else
        t->broken = bytes_put(&t->body, piece);
}

/* (2) */
static int needs_token(const struct http_turn *t, int status)
{
    struct bytes bearer = {0};
    int has_token;
    unsigned which;

    if (status == 401)
        return 1;
    http_auth_bearer(t->wire->server, &bearer, &which);
    has_token = bearer.n > 0;
    bytes_free(&bearer);
    if (status != 403 || t->kind == MCP_RESPONSE)
        return 0;
    return t->challenge.n > 0 ||
           (!has_token &&
            mortise_jv_type(mortise_jv_get(t->wire->server->config, "auth")) ==
                MORTISE_JV_OBJECT);
}

static void authorize(struct http_turn *t, int status)
{
    struct mcp_trouble why;
    mortise_status need;

    t->state = HTTP_AUTHORIZES;
    need = http_auth_need(t->wire->server, &t->waiter, bytes_str(&t->challenge),
                          status, t->token, bytes_str(&t->name), &why);
    if (need == MORTISE_S_OK)
        http_turn_go_on(t);
    else if (need != MORTISE_S_PENDING)
        http_turn_fail(t, &why);
    /* else it was told, or will be: the turn may be gone */
}

/* A status that is no success, and of no token (3), (4). */
static void refused(struct http_turn *t, const struct http_end *end)
{
    int status = end->http, later = status == 408 || status == 425 ||
                                    status == 429 || status >= 500;
    int64_t wait = 0;
    char words[512];
    struct mcp_trouble why;
    mortise_jv v;

    if (status == 400 && t->wire->era == MCP_ERA_LEGACY &&
        t->wire->session.n > 0 &&
        mortise_jv_parse(bytes_str(&t->body), &v) == MORTISE_S_OK &&
        mortise_jv_type(mortise_jv_get(v, "error")) == MORTISE_JV_OBJECT &&
        mcp_rpc_answers(bytes_str(&t->body)) == 0) {
        http_session_over(t);
        return;
    }
    if (t->kind == MCP_REQUEST) {
        mortise_status heard = hear_error(t, bytes_str(&t->body));

        if (heard == MORTISE_S_OK)
            http_turn_end(t);
        if (heard == MORTISE_S_OK || t->wire == NULL)
            return;
    }
    if (t->moved.n > 0 && status >= 300 && status < 400)
        snprintf(words, sizeof words,
                 "the server answered with status %d and redirects to %.*s, "
                 "which is not followed; set its address in tools.mcp.%s.url",
                 status, (int)(t->moved.n < 300 ? t->moved.n : 300), t->moved.p,
                 t->wire->server->name);
    else
        snprintf(words, sizeof words, "the server answered with status %d",
                 status);
    why = mcp_trouble_of("mcp.refused", later ? "transient" : "permanent",
                         mortise_strz(words), status == 408 || status >= 500);
    why.http_status = status;
    mortise_jv_int(mortise_jv_get(end->answer, "retry_after_ms"), &wait);
    why.retry_after_ms = wait > 0 ? (uint64_t)wait : 0;
    http_turn_fail(t, &why);
}

/* A success whose body is no stream. */
static void succeeded(struct http_turn *t)
{
    struct mcp_trouble why = mcp_trouble_of(
        "mcp.protocol", "permanent",
        mortise_strz("the answer does not match the request"), 1);

    if (t->kind == MCP_REQUEST && t->body.n > 0 &&
        http_turn_hear(t, bytes_str(&t->body)) != MORTISE_S_OK)
        return;
    if (t->kind != MCP_REQUEST || t->answered)
        http_turn_end(t);
    else
        http_turn_fail(t, &why);
}

static void stream_ended(struct http_turn *t, const struct http_end *end)
{
    struct mcp_trouble why = http_trouble_of(end);

    if (t->kind != MCP_REQUEST || t->answered) {
        http_turn_end(t);
        return;
    }
    if (t->broken != MORTISE_S_OK)
        why = mcp_trouble_of("mcp.protocol", "permanent",
                             mortise_strz("the stream has an event that is too "
                                          "large"),
                             1);
    http_stream_broke(t, &why);
}

static void ended(struct http_turn *t, const struct http_end *end)
{
    struct mcp_trouble why = http_trouble_of(end);

    if (end->status == MORTISE_S_OK && needs_token(t, end->http) &&
        !t->is_own) {
        authorize(t, end->http);
    } else if (end->status == MORTISE_S_OK &&
               http_is_session_over(t, end->http)) {
        http_session_over(t);
    } else if (t->is_own) {
        http_own_ended(t, end);
    } else if (t->is_events) {
        stream_ended(t, end);
    } else if (t->resumes) {
        http_stream_refused(t, end);
    } else if (end->status != MORTISE_S_OK) {
        http_turn_fail(t, &why);
    } else if (t->broken != MORTISE_S_OK) {
        why = mcp_trouble_of("no_memory", "transient",
                             mortise_strz("out of memory"), 1);
        http_turn_fail(t, &why);
    } else if (is_ok(end->http)) {
        succeeded(t);
    } else {
        refused(t, end);
    }
}

void http_answer_done(struct http_ask *ask, const struct http_end *end)
{
    struct http_turn *t = MCP_OF(ask, struct http_turn, ask);

    if (t->wire != NULL) {
        t->inside = 1; /* whoever lets go of it leaves its memory to us */
        ended(t, end);
        t->inside = 0;
    }
    if (t->wire == NULL && !t->ask.is_pending)
        http_turn_free(t);
}
