/* http.h -- streamable HTTP: a wire of it, and what is under way on it.
 *
 *     http.c          the wire: struct mcp_transport
 *     http_turn.c     a message on its way
 *     http_answer.c   ... and what comes of it
 *     http_stream.c   streams of events: going on where one broke, the server's own
 *     http_headers.c  the headers of a message
 *     http_params.c   ... that a tool's schema asks for
 *     http_auth.c     tokens: who needs one; http_flow.c how it is got;
 *                     http_keep.c where it stays
 *     http_ask.c      a request that the host makes */
#ifndef MCP_HTTP_H
#define MCP_HTTP_H

#include "../../sse.h"
#include "http_ask.h"
#include "http_auth.h"
#include "server.h"

struct mcp_wire { /* http.c writes it, but for what others are named for */
    struct mcp_server *server;
    struct mcp_ear ear;
    enum mcp_era era;
    char version
        [MCP_VERSION_ROOM];    /* what MCP-Protocol-Version says; "": nothing
                                       is agreed on yet */
    struct bytes url, session; /* http_answer.c: the server's name for it */
    struct http_turn *turns;
    struct mcp_timer opening;
    struct http_waiter tokens; /* for those that another process left */
    unsigned inside; /* functions that go on with it behind the ear's */
    int closed;      /* it goes with the last of them */
    int initialized; /* that was said, and what waited for it has gone */
};

enum http_turn_state {
    HTTP_HELD,       /* behind notifications/initialized */
    HTTP_SENT,       /* the host has it */
    HTTP_AUTHORIZES, /* for a token */
    HTTP_PAUSES      /* until it goes on with its stream */
};

/* A message on its way, or the server's own stream. */
struct http_turn {
    struct http_turn *next, **at; /* of the wire; at NULL: let go of */
    struct mcp_wire *wire; /* NULL: let go of, and only waits for the host */
    struct http_ask ask;
    enum http_turn_state state;
    enum mcp_message_kind kind;
    int64_t id; /* of a request; else 0 */
    mortise_call call;
    int open_end, is_initialize, is_initialized;
    int is_own;        /* the server's own stream */
    struct bytes json; /* the message; none of the server's own stream */
    struct bytes name; /* method, a blank, what it is about: for headers, and to
                          count refusals by */
    uint64_t n_method; /* bytes of the method in it */
    struct http_headers params;

    unsigned token; /* which one it was sent with */
    struct http_waiter waiter;
    struct mcp_timer timer;

    /* Of the answer. */
    struct bytes challenge, moved, body; /* moved: Location */
    struct sse sse;
    int is_events; /* a stream of them */
    int has_head;
    int answered;          /* the message with its id was there */
    mortise_status broken; /* what reading it came to */
    unsigned failures;     /* in a row, of going on with a stream */
    int resumes;           /* it is asked for the rest, by GET */
    int inside;            /* its end is being looked at: not to be freed */
};

/* ---- http_turn.c ---------------------------------------------------------- */

mortise_status http_turn_new(struct mcp_wire *wire, const struct mcp_message *m,
                             struct http_turn **out);
/* The server's own stream. */
mortise_status http_turn_new_own(struct mcp_wire *wire, struct http_turn **out);
/* Send it, or what is to be sent next of it.  An error: it was not. */
mortise_status http_turn_go(struct http_turn *t);
/* ... and if it cannot be, say so. */
void http_turn_go_on(struct http_turn *t);
/* Nobody waits for it any more; its memory goes with the host's last word. */
void http_turn_let_go(struct http_turn *t);
/* It is over, and gone; what waits for the end of it goes on. */
void http_turn_end(struct http_turn *t);
/* ... without an answer. */
void http_turn_fail(struct http_turn *t, const struct mcp_trouble *why);
void http_turn_free(struct http_turn *t);

/* ---- http_answer.c -------------------------------------------------------- */

/* Of its struct http_ask. */
void http_answer_head(struct http_ask *ask, int status, mortise_jv headers);
void http_answer_piece(struct http_ask *ask, mortise_str piece);
void http_answer_done(struct http_ask *ask, const struct http_end *end);
/* What is said to the ear, as it came on the turn; the turn may have been let go
 * of in it: then MORTISE_S_CANCELLED. */
mortise_status http_turn_hear(struct http_turn *t, mortise_str json);
/* The server does not know the session any more. */
int http_is_session_over(const struct http_turn *t, int status);
void http_session_over(struct http_turn *t);
/* Why the host has no answer. */
struct mcp_trouble http_trouble_of(const struct http_end *end);

/* ---- http_stream.c -------------------------------------------------------- */

/* A piece of a stream of events. */
void http_stream_feed(struct http_turn *t, mortise_str piece);
/* The answer to a request broke off: go on with it, or say that it is lost. */
void http_stream_broke(struct http_turn *t, const struct mcp_trouble *why);
/* The answer to asking for the rest of it was this. */
void http_stream_refused(struct http_turn *t, const struct http_end *end);
/* The server's own ended, or was not to be had. */
void http_own_ended(struct http_turn *t, const struct http_end *end);
void http_own_begin(struct mcp_wire *wire);

/* ---- http_headers.c ------------------------------------------------------- */

/* Of a message, what is known with it: Mcp-Param-... */
mortise_status http_headers_of_call(const struct mcp_message *m,
                                    struct http_headers *out);
/* All others, and those; and what the deployment has with secrets in. */
mortise_status http_headers_of(struct http_turn *t, struct http_headers *out,
                               struct http_headers *secret);

/* ---- http.c --------------------------------------------------------------- */

/* Said and accepted: what waited goes on its way. */
void http_initialized(struct mcp_wire *wire);
/* A function goes on with the wire behind the ear's; leave() frees it if it was
 * closed meanwhile, and says so. */
void http_wire_enter(struct mcp_wire *wire);
int http_wire_leave(struct mcp_wire *wire);

#endif
