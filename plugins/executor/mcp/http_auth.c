/* http_auth.c -- the authorization of a server, shared by all its wires.
 *
 * One way to a token is under way at a time for a server (http_flow.c); who needs
 * one meanwhile waits for the same.
 *
 *   (1) Tokens are in no record: all that knows one is asked of the host with the
 *       background call's handle, or inside of a step.
 *   (2) A token that was refused is renewed first, if it can be, and once: one
 *       that has just been renewed and is refused all the same needs a person, or
 *       the grant, again.
 *   (3) So does a token that lacks a scope (403).  Whoever was refused with a
 *       token in hand three times for the same request is told that it does not
 *       help (oauth_try()).
 *   (4) Who waits may leave at any time; what is under way goes on for the
 *       others.  A server that is forgotten leaves what the host has of it to
 *       end by itself. */
#include "http_flow.h"

static void on_turn(struct mcp_timer *t);

/* ---- its memory ---------------------------------------------------------- */

static mortise_status read_setup(struct mcp_auth *a)
{
    mortise_jv url = mortise_jv_get(a->server->config, "url");
    mortise_status status = bytes_decode(&a->url, url);
    const char *blank;

    if (status != MORTISE_S_OK)
        return status;
    blank = a->url.n > 0 ? (const char *)memchr(a->url.p, ' ', a->url.n) : NULL;
    a->url.n = blank != NULL ? (uint64_t)(blank - a->url.p) : a->url.n;
    a->setup.name = a->server->name;
    a->setup.server = bytes_str(&a->url);
    a->setup.auth = mortise_jv_get(a->server->config, "auth");
    http_keep_init(&a->kept, a->inst, a->server->name, a->setup.server);
    return MORTISE_S_OK;
}

static struct mcp_auth *auth_of(struct mcp_server *s)
{
    struct mcp_auth *a = s->auth;

    if (a != NULL)
        return a;
    a = (struct mcp_auth *)calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    a->server = s;
    a->inst = s->inst;
    a->turn.fire = on_turn;
    a->again.fire = http_flow_again;
    if (read_setup(a) != MORTISE_S_OK) {
        bytes_free(&a->url);
        free(a);
        return NULL;
    }
    s->auth = a;
    return a;
}

void http_auth_forget(struct mcp_server *s)
{
    struct mcp_auth *a = s->auth;

    if (a == NULL)
        return;
    s->auth = NULL;
    a->server = NULL;
    mcp_timer_stop(&a->turn);
    mcp_timer_stop(&a->again);
    while (a->waiters != NULL) {
        struct http_waiter *w = a->waiters;

        a->waiters = w->next;
        w->waits = 0;
    }
    http_flow_free_if_over(a);
}

/* ---- who needs a token ----------------------------------------------------- */

mortise_status http_auth_bearer(struct mcp_server *s, struct bytes *out,
                                unsigned *which)
{
    const struct mcp_auth *a = s->auth;
    mortise_status status;

    *which = a != NULL ? a->which : 0;
    if (a == NULL || a->keep.access.n == 0)
        return MORTISE_S_OK;
    status = bytes_put(out, mortise_strz("Bearer "));
    return status == MORTISE_S_OK ? bytes_put(out, bytes_str(&a->keep.access))
                                  : status;
}

static mortise_status refuse(struct mcp_trouble *why, const char *code,
                             const char *words)
{
    memset(why, 0, sizeof *why);
    why->code = code;
    why->klass = "permanent";
    why->words = mortise_strz(words);
    return MORTISE_S_DENIED;
}

static void append(struct http_waiter **list, struct http_waiter *w)
{
    while (*list != NULL)
        list = &(*list)->next;
    w->next = NULL;
    w->waits = 1;
    *list = w;
}

mortise_status http_auth_ready(struct mcp_server *s, struct http_waiter *w)
{
    struct mcp_auth *a;

    if (mortise_jv_type(mortise_jv_get(s->config, "auth")) != MORTISE_JV_OBJECT)
        return MORTISE_S_OK;
    a = auth_of(s);
    if (a == NULL || a->is_loaded)
        return a == NULL ? MORTISE_S_NOMEM : MORTISE_S_OK;
    append(&a->waiters, w);
    if (a->doing == HTTP_NOTHING)
        http_flow_start(a, HTTP_LOADS);
    return MORTISE_S_PENDING;
}

mortise_status http_auth_need(struct mcp_server *s, struct http_waiter *w,
                              mortise_str challenge, int status, unsigned which,
                              mortise_str request, struct mcp_trouble *why)
{
    struct mcp_auth *a = auth_of(s);
    int renews;

    if (a == NULL)
        return refuse(why, "no_memory", "out of memory");
    if (mortise_jv_type(a->setup.auth) != MORTISE_JV_OBJECT &&
        http_says_authorization(s->config))
        return refuse(why, "mcp.auth",
                      "the server rejected the header Authorization that the "
                      "deployment sets");
    if (which != a->which && a->keep.access.n > 0)
        return MORTISE_S_OK;
    if (a->doing != HTTP_NOTHING) {
        append(&a->waiters, w);
        return MORTISE_S_PENDING;
    }
    renews = status == 401 && a->keep.refresh.n > 0 && !a->is_new;
    if (!renews && !oauth_try(&a->keep, request)) /* (3) */
        return refuse(why, "mcp.auth",
                      "the server rejected three authorizations");
    a->challenge.n = 0;
    if (bytes_put(&a->challenge, challenge) != MORTISE_S_OK)
        return refuse(why, "no_memory", "out of memory");
    append(&a->waiters, w);
    http_flow_start(a, renews ? HTTP_RENEWS : HTTP_BEGINS);
    return MORTISE_S_PENDING;
}

void http_auth_leave(struct mcp_server *s, struct http_waiter *w)
{
    struct http_waiter **at = s->auth != NULL ? &s->auth->waiters : NULL;

    while (at != NULL && *at != NULL && *at != w)
        at = &(*at)->next;
    if (at != NULL && *at != NULL)
        *at = w->next;
    w->waits = 0;
}

void http_auth_fine(struct mcp_server *s, mortise_str request, unsigned which)
{
    struct mcp_auth *a = s->auth;

    if (a == NULL || which != a->which)
        return;
    a->is_new = 0;
    oauth_accepted(&a->keep, request);
}

/* ---- a person's word ------------------------------------------------------- */

static void on_turn(struct mcp_timer *t)
{
    struct mcp_auth *a = MCP_OF(t, struct mcp_auth, turn);

    if (a->doing == HTTP_NOTHING && a->answers != NULL)
        http_flow_start(a, HTTP_REDEEMS);
}

mortise_status http_auth_consented(
    struct mcp_server *s, mortise_str consent, mortise_str answer,
    void (*done)(void *ud, const struct mcp_trouble *why), void *ud)
{
    struct mcp_auth *a = auth_of(s);
    struct answered *p = a != NULL ? (struct answered *)calloc(1, sizeof *p)
                                   : NULL,
                    **at;

    if (p == NULL)
        return MORTISE_S_NOMEM;
    if (bytes_put(&p->consent, consent) != MORTISE_S_OK ||
        bytes_put(&p->answer, answer) != MORTISE_S_OK) {
        http_answered_free(p);
        return MORTISE_S_NOMEM;
    }
    p->done = done;
    p->ud = ud;
    for (at = &a->answers; *at != NULL; at = &(*at)->next)
        ;
    *at = p;
    if (a->doing == HTTP_NOTHING)
        mcp_timer_set(a->inst, &a->turn, 0);
    return MORTISE_S_OK;
}

void http_auth_unconsent(struct mcp_server *s, void *ud)
{
    struct answered *p = s->auth != NULL ? s->auth->answers : NULL;

    for (; p != NULL; p = p->next)
        if (p->ud == ud)
            p->done = NULL;
}
