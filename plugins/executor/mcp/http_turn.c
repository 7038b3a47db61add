/* http_turn.c -- a message on its way.
 *
 * A message is a POST; of a stream that is asked for, or asked for anew, a GET.
 *
 *   (1) A turn ends once: its request is answered, or failed() is told, or the
 *       wire is lost with it.  The memory of one that was let go of before that
 *       goes with the host's last word.
 *   (2) Where it goes is the deployment's word: no redirect is followed, which
 *       could take tokens, arguments and answers to anybody. */
#include "http.h"

#include <assert.h>

enum { GRACE_MS = 2000, QUIET_MS = 3600000 };

/* ---- its memory ---------------------------------------------------------- */

static void on_timer(struct mcp_timer *timer)
{
    http_turn_go_on(MCP_OF(timer, struct http_turn, timer));
}

static void on_token(struct http_waiter *w, const struct mcp_trouble *why)
{
    struct http_turn *t = MCP_OF(w, struct http_turn, waiter);

    if (why == NULL)
        http_turn_go_on(t);
    else
        http_turn_fail(t, why);
}

void http_turn_free(struct http_turn *t)
{
    bytes_free(&t->json);
    bytes_free(&t->name);
    http_headers_free(&t->params);
    bytes_free(&t->challenge);
    bytes_free(&t->moved);
    bytes_free(&t->body);
    sse_finish(&t->sse);
    free(t);
}

static struct http_turn *turn_new(struct mcp_wire *wire)
{
    struct http_turn *t = (struct http_turn *)calloc(1, sizeof *t), **at;

    if (t == NULL)
        return NULL;
    t->waiter.told = on_token;
    t->timer.fire = on_timer;
    sse_init(&t->sse, SSE_EVENT_BYTES);
    t->wire = wire;
    for (at = &wire->turns; *at != NULL; at = &(*at)->next)
        ; /* in the order in which they came */
    t->at = at;
    *at = t;
    return t;
}

void http_turn_let_go(struct http_turn *t)
{
    assert(t->wire != NULL && t->at != NULL); /* once */
    *t->at = t->next;
    if (t->next != NULL)
        t->next->at = t->at;
    t->at = NULL;
    mcp_timer_stop(&t->timer);
    http_auth_leave(t->wire->server, &t->waiter);
    t->wire = NULL;
    if (!t->ask.is_pending && !t->inside)
        http_turn_free(t);
}

mortise_status http_turn_new_own(struct mcp_wire *wire, struct http_turn **out)
{
    *out = turn_new(wire);
    if (*out == NULL)
        return MORTISE_S_NOMEM;
    (*out)->is_own = 1;
    (*out)->kind = MCP_NOTIFICATION; /* nobody waits for an answer to it */
    return MORTISE_S_OK;
}

static mortise_status fill(struct http_turn *t, const struct mcp_message *m)
{
    mortise_status status = bytes_put(&t->json, m->json);

    t->kind = m->kind;
    t->id = m->kind == MCP_REQUEST ? m->id : 0;
    t->call = m->call;
    t->open_end = m->open_end;
    if (m->method == NULL)
        return status;
    t->is_initialize = strcmp(m->method, "initialize") == 0;
    t->is_initialized = strcmp(m->method, "notifications/initialized") == 0;
    t->n_method = strlen(m->method);
    if (status == MORTISE_S_OK)
        status = bytes_put(&t->name, mortise_strz(m->method));
    if (status == MORTISE_S_OK)
        status = bytes_put(&t->name, mortise_strz(" "));
    if (status == MORTISE_S_OK)
        status = bytes_put(&t->name, m->name);
    if (status == MORTISE_S_OK && t->wire->era != MCP_ERA_LEGACY)
        status = http_headers_of_call(m, &t->params);
    return status;
}

mortise_status http_turn_new(struct mcp_wire *wire, const struct mcp_message *m,
                             struct http_turn **out)
{
    struct http_turn *t = turn_new(wire);
    mortise_status status = MORTISE_S_NOMEM;

    if (t != NULL)
        status = fill(t, m);
    if (t != NULL && status != MORTISE_S_OK)
        http_turn_let_go(t);
    *out = status == MORTISE_S_OK ? t : NULL;
    return status;
}

/* ---- its end ------------------------------------------------------------- */

void http_turn_end(struct http_turn *t)
{
    struct mcp_wire *wire = t->wire;
    int initialized = t->is_initialized;

    http_turn_let_go(t);
    if (initialized)
        http_initialized(wire);
}

void http_turn_fail(struct http_turn *t, const struct mcp_trouble *why)
{
    struct mcp_wire *wire = t->wire;
    int64_t id = t->id;

    if (t->kind == MCP_REQUEST) {
        http_turn_let_go(t);
        wire->ear.failed(wire->ear.ud, id, why);
        return;
    }
    if (!t->is_own)
        mcp_log(wire->server, MORTISE_LEVEL_WARN,
                "a message was not delivered: %.*s",
                (int)(why->words.n < 500 ? why->words.n : 500),
                why->words.n > 0 ? why->words.p : "");
    http_turn_end(t);
}

/* ---- sending ------------------------------------------------------------- */

/* Without a byte: the protocol has a clock of its own for each request (of the
 * old era one that stands still while a person is asked), and this is behind it.
 * A stream that may be silent for good is opened anew from time to time. */
static uint64_t idle_of(const struct http_turn *t)
{
    const struct mcp_server *s = t->wire->server;

    if (t->is_own || t->open_end)
        return QUIET_MS;
    return s->timeout_ms + GRACE_MS +
           (t->wire->era == MCP_ERA_LEGACY ? s->hold_ms : 0);
}

static void forget_answer(struct http_turn *t)
{
    t->has_head = t->is_events = 0;
    t->broken = MORTISE_S_OK;
    t->challenge.n = t->moved.n = t->body.n = 0;
}

mortise_status http_turn_go(struct http_turn *t)
{
    struct http_headers headers = {0}, secret = {0};
    int gets = t->is_own || t->resumes;
    struct http_wish wish = {.call = t->call,
                             .method = gets ? "GET" : "POST",
                             .url = bytes_str(&t->wire->url),
                             .headers = &headers,
                             .secret_headers = &secret,
                             .idle_ms = idle_of(t),
                             .no_redirects = 1};
    mortise_status status = http_headers_of(t, &headers, &secret);

    if (!gets)
        wish.json = bytes_str(&t->json);
    forget_answer(t);
    t->state = HTTP_SENT;
    t->ask.head = http_answer_head;
    t->ask.piece = http_answer_piece;
    t->ask.done = http_answer_done;
    if (status == MORTISE_S_OK)
        status = http_ask_send(t->wire->server->inst, &t->ask, &wish);
    http_headers_free(&headers);
    http_headers_free(&secret);
    return status;
}

void http_turn_go_on(struct http_turn *t)
{
    mortise_status status = http_turn_go(t);
    struct mcp_trouble why;

    if (status == MORTISE_S_OK)
        return;
    /* what it was sent before for may have arrived, if it asks for the rest */
    why = mcp_trouble_of(
        status == MORTISE_S_NOMEM ? "no_memory" : "mcp.lost", "transient",
        mortise_strz("the request could not be sent"), t->resumes);
    http_turn_fail(t, &why);
}
