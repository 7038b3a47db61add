/* http_auth.h -- the authorization of a server, shared by all its wires. */
#ifndef MCP_HTTP_AUTH_H
#define MCP_HTTP_AUTH_H

#include "server.h"

/* A request that was refused, and waits for a token.  Zeroed, but for `told`. */
struct http_waiter {
    struct http_waiter *next;
    int waits;
    /* NULL: send it once more.  Comes from an answer of the host. */
    void (*told)(struct http_waiter *w, const struct mcp_trouble *why);
};

/* "Bearer ..." behind what `out` has, or nothing; and which token that is: a
 * number that http_auth_need() wants to hear. */
mortise_status http_auth_bearer(struct mcp_server *s, struct bytes *out,
                                unsigned *which);

/* What another process left is there, as far as it is.  MORTISE_S_OK, or
 * MORTISE_S_PENDING: told() comes, whatever it says, maybe from inside. */
mortise_status http_auth_ready(struct mcp_server *s, struct http_waiter *w);

/* A server said `status`, 401 or 403, with that WWW-Authenticate (may be empty),
 * to a request sent with the token `which`; `request`: its name, for counting.
 * MORTISE_S_PENDING: told() comes, maybe from inside.  MORTISE_S_OK: there is another token already,
 * send it once more.  Else an error: *why says it. */
mortise_status http_auth_need(struct mcp_server *s, struct http_waiter *w,
                              mortise_str challenge, int status, unsigned which,
                              mortise_str request, struct mcp_trouble *why);
/* It waits no more. */
void http_auth_leave(struct mcp_server *s, struct http_waiter *w);
/* A request was accepted that had been refused, or never was. */
void http_auth_fine(struct mcp_server *s, mortise_str request, unsigned which);

/* Of struct mcp_transport. */
mortise_status http_auth_consented(
    struct mcp_server *s, mortise_str consent, mortise_str answer,
    void (*done)(void *ud, const struct mcp_trouble *why), void *ud);
void http_auth_unconsent(struct mcp_server *s, void *ud);
void http_auth_forget(struct mcp_server *s);

#endif
