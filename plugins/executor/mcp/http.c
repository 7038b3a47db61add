/* http.c -- a server somewhere else: streamable HTTP, of both eras.
 *
 * Each message is a request of its own, made by the host, and there is nothing to
 * connect to: a wire is what the messages have in common.  Of the new era that is
 * next to nothing; of the old one a session, and the server's own stream.
 *
 *   (1) Of the old era nothing overtakes notifications/initialized.
 *   (2) A request is asked for with the handle of its call, so that the connection
 *       is closed when the call ends: in the new era that is how it is cancelled.
 *   (3) A session is ended with its wire (DELETE), as far as the host still makes
 *       requests for us: nobody waits for what comes of it.
 *   (4) A tool whose schema asks for headers that cannot be is not called. */
#include "http.h"

#include <assert.h>

#include "http_params.h"

/* ---- open and close ------------------------------------------------------ */

void http_wire_enter(struct mcp_wire *wire)
{
    wire->inside++;
}

int http_wire_leave(struct mcp_wire *wire)
{
    int closed = wire->closed;

    assert(wire->inside > 0);
    if (--wire->inside > 0 || !closed)
        return closed;
    bytes_free(&wire->url);
    bytes_free(&wire->session);
    free(wire);
    return 1;
}

/* Tokens are there, or whoever needs one will see. */
static void on_ready(struct http_waiter *w, const struct mcp_trouble *why)
{
    struct mcp_wire *wire = MCP_OF(w, struct mcp_wire, tokens);

    (void)why;
    wire->ear.opened(wire->ear.ud);
}

static void on_open(struct mcp_timer *t)
{
    struct mcp_wire *wire = MCP_OF(t, struct mcp_wire, opening);

    if (http_auth_ready(wire->server, &wire->tokens) != MORTISE_S_PENDING)
        wire->ear.opened(wire->ear.ud);
}

static mortise_status http_open(struct mcp_server *server,
                                const struct mcp_ear *ear,
                                struct mcp_wire **out)
{
    struct mcp_wire *w = (struct mcp_wire *)calloc(1, sizeof *w);
    mortise_status status;
    const char *blank;

    if (w == NULL)
        return MORTISE_S_NOMEM;
    status = bytes_decode(&w->url, mortise_jv_get(server->config, "url"));
    if (status != MORTISE_S_OK) {
        bytes_free(&w->url);
        free(w);
        return status;
    }
    /* a grant may have a word behind its URL, which is no part of it */
    blank = w->url.n > 0 ? (const char *)memchr(w->url.p, ' ', w->url.n) : NULL;
    w->url.n = blank != NULL ? (uint64_t)(blank - w->url.p) : w->url.n;
    w->server = server;
    w->ear = *ear;
    w->opening.fire = on_open;
    w->tokens.told = on_ready;
    mcp_timer_set(server->inst, &w->opening, 0);
    *out = w;
    return MORTISE_S_OK;
}

struct farewell {
    struct http_ask ask;
};

static void on_farewell(struct http_ask *ask, const struct http_end *end)
{
    (void)end;
    free(MCP_OF(ask, struct farewell, ask));
}

/* (3) */
static void end_session(struct mcp_wire *wire)
{
    struct http_turn as = {.wire = wire}; /* for its headers */
    struct http_headers headers = {0}, secret = {0};
    struct http_wish wish = {.method = "DELETE",
                             .url = bytes_str(&wire->url),
                             .headers = &headers,
                             .secret_headers = &secret,
                             .timeout_ms = 5000};
    struct farewell *f;

    if (wire->era != MCP_ERA_LEGACY || wire->session.n == 0 ||
        wire->server->inst->background == 0)
        return;
    f = (struct farewell *)calloc(1, sizeof *f);
    if (f == NULL)
        return;
    f->ask.done = on_farewell;
    if (http_headers_of(&as, &headers, &secret) != MORTISE_S_OK ||
        http_ask_send(wire->server->inst, &f->ask, &wish) != MORTISE_S_OK)
        free(f);
    http_headers_free(&headers);
    http_headers_free(&secret);
}

static void http_close(struct mcp_wire *wire)
{
    http_wire_enter(wire);
    mcp_timer_stop(&wire->opening);
    http_auth_leave(wire->server, &wire->tokens);
    while (wire->turns != NULL)
        http_turn_let_go(wire->turns);
    end_session(wire);
    wire->closed = 1;
    http_wire_leave(wire);
}

/* ---- messages ------------------------------------------------------------ */

static void http_agreed(struct mcp_wire *wire, enum mcp_era era,
                        const char *version)
{
    wire->era = era;
    snprintf(wire->version, sizeof wire->version, "%s", version);
}

/* (1): is it one that waits? */
static int waits(const struct mcp_wire *wire, const struct http_turn *t)
{
    return wire->era == MCP_ERA_LEGACY && !wire->initialized &&
           !t->is_initialize && !t->is_initialized;
}

void http_initialized(struct mcp_wire *wire)
{
    struct http_turn *t;

    wire->initialized = 1;
    http_wire_enter(wire);
    if (wire->era == MCP_ERA_LEGACY)
        http_own_begin(wire);
    do {
        for (t = wire->turns; t != NULL && t->state != HTTP_HELD; t = t->next)
            ;
        if (t != NULL) /* it may end all of them */
            http_turn_go_on(t);
    } while (t != NULL && !wire->closed);
    http_wire_leave(wire);
}

static mortise_status http_send(struct mcp_wire *wire,
                                const struct mcp_message *message)
{
    struct http_turn *t;
    mortise_status status = http_turn_new(wire, message, &t);

    if (status != MORTISE_S_OK)
        return status;
    t->state = HTTP_HELD;
    if (waits(wire, t))
        return MORTISE_S_OK;
    status = http_turn_go(t);
    if (status != MORTISE_S_OK)
        http_turn_let_go(t);
    return status;
}

static void http_cancel(struct mcp_wire *wire, int64_t id)
{
    struct http_turn *t = wire->turns;

    while (t != NULL && t->id != id)
        t = t->next;
    if (t != NULL)
        http_turn_let_go(t);
}

/* (4) */
static const char *http_refuses(mortise_jv tool)
{
    return http_params_refuse(mortise_jv_get(tool, "inputSchema"));
}

const struct mcp_transport mcp_http = {
    .silence_is_legacy = 0,
    .tells_cancel = 0,
    .is_remembered = 1,
    .open = http_open,
    .agreed = http_agreed,
    .send = http_send,
    .cancel = http_cancel,
    .refuses = http_refuses,
    .close = http_close,
    .consented = http_auth_consented,
    .leave = http_auth_unconsent,
    .forget = http_auth_forget,
};
