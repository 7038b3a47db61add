/* server.h -- a server of the deployment: the one connection to it that all
 * calls share, what is asked over it, and who waits for it.
 *
 *     server.c   the connection: from nothing to `ready`, and back
 *     request.c  what is asked and answered over it
 *     era.c      which protocol it speaks
 *     lists.c    lists, page by page; tools.c the tools, and their pins
 *     asked.c    what the server asks (the legacy era)
 */
#ifndef MCP_SERVER_H
#define MCP_SERVER_H

#include "asked.h"
#include "era.h"
#include "lists.h"
#include "tools.h"

struct mcp_asked; /* of asked.c */

/* Somebody who cannot go on before the server can be asked.  Zero it, set
 * `ready`. */
struct mcp_waiter {
    struct mcp_waiter *next, **at; /* at NULL: does not wait */
    int wants_tools;               /* ... before its tools are known, too */
    /* Told once, and waits no more: NULL, it can; or why not. */
    void (*ready)(struct mcp_waiter *w, const struct mcp_trouble *why);
};

enum mcp_state {
    MCP_IDLE,
    MCP_PAUSING, /* it failed a moment ago */
    MCP_OPENING,
    MCP_AGREEING, /* on an era */
    MCP_READY
};

struct mcp_server {
    mortise_inst *inst;
    /* From the configuration; lent for the instance's life. */
    char *name;        /* the deployment's; NUL-terminated */
    mortise_jv config; /* {command | url, headers, secret_headers, auth, ...} */
    const struct mcp_transport *transport;
    struct mcp_auth *auth; /* http_auth.c's, from the first need of it on; NULL
                              before; transport->forget() */
    enum mcp_protocol protocol; /* which may be spoken */
    uint64_t timeout_ms;        /* of one request that says nothing */
    uint64_t hold_ms;    /* of a call that asks a person, in the legacy era */
    mortise_jv pins;     /* {TOOL: digest}; none: nothing is pinned, and */
    int32_t unpinned;    /* its tools may be called all the same */
    mortise_jv sampling; /* {alias, max_tokens?}; none: no model is asked */
    mortise_jv roots;    /* [{uri, name}]; none: it is told of nothing */

    /* The connection: server.c writes these. */
    enum mcp_state state;
    struct mcp_wire *wire; /* NULL: none */
    struct mcp_timer pause;
    struct mcp_waiter *waiters;
    uint64_t failures; /* in succession */
    int is_useful;     /* a list or an answer came over it */

    /* What was agreed on: era.c writes these. */
    struct mcp_agreement agreed;

    /* request.c writes these. */
    int64_t last_id;
    struct mcp_request *requests; /* that have no answer */
    uint64_t junk;                /* heard in succession, for nobody */
    uint64_t moaned;              /* lines in the log about that */

    struct mcp_tools tools;  /* tools.c */
    struct mcp_asked *asked; /* asked.c: what the server wants to know */
    uint64_t n_asked;        /* so far, over all connections */
};

/* ---- server.c -------------------------------------------------------------- */

/* Sets it up; `name` and `config` as the instance has them. */
mortise_status mcp_server_init(struct mcp_server *s, mortise_inst *i,
                               mortise_jv name, mortise_jv config);
/* It is not to be reached any more: whoever waits is told. */
void mcp_server_close(struct mcp_server *s);
/* ... and its memory let go of, but for the struct. */
void mcp_server_finish(struct mcp_server *s);

/* Can it be asked right now? */
int mcp_server_is_ready(const struct mcp_server *s, int wants_tools);
/* Wait until it can; the connection is made where there is none.  Told later, or
 * from inside where nothing can be tried. */
void mcp_server_await(struct mcp_server *s, struct mcp_waiter *w);
void mcp_waiter_stop(struct mcp_waiter *w); /* also one that does not wait */

/* For the files of a connection: the era is agreed on; its tools are known; or
 * not, which ends what waits for that. */
void mcp_server_agreed(struct mcp_server *s);
void mcp_server_has_tools(struct mcp_server *s, const struct mcp_trouble *why);
/* Something came over the connection that a call wanted. */
void mcp_server_is_useful(struct mcp_server *s);
/* The connection is of no use: close it, and fail what is on it. */
void mcp_server_drop(struct mcp_server *s, const struct mcp_trouble *why);
/* ... and open another for the same waiters, which begins with `initialize`. */
void mcp_server_restart(struct mcp_server *s);

/* ---- request.c ------------------------------------------------------------- */

enum mcp_reply_kind { MCP_REPLY_RESULT, MCP_REPLY_ERROR, MCP_REPLY_TROUBLE };

/* What came of a request.  Lent until the function returns. */
struct mcp_reply {
    enum mcp_reply_kind kind;
    mortise_jv result; /* an object */
    mortise_jv error;  /* an object: {code, message, data} */
    int64_t code;
    unsigned changed; /* what was mended to read it: bits of mend.h */
    const struct mcp_trouble *trouble;
};

/* Zero it, set `done`; it must stay where it is until that. */
struct mcp_request {
    struct mcp_request *next, **at; /* at NULL: not under way */
    struct mcp_server *server;
    int64_t id;
    struct mcp_timer timer;
    uint64_t timeout_ms; /* 0: none; progress begins it anew */
    int held;            /* a person is asked: no time passes */
    int unsent;        /* the transport said so, of a connection that is gone */
    int is_legacy_ask; /* what may ask a person in the legacy era */
    mortise_call call; /* who asks, and hears of progress; 0: the connection */
    uint64_t said_ns;  /* when it heard of progress last */
    void (*done)(struct mcp_request *r, const struct mcp_reply *reply);
};

/* The request's JSON up to the members of its params, which are the caller's;
 * `_meta` is there already. */
void mcp_request_begin(struct mcp_server *s, struct mcp_request *r,
                       mortise_jw *w, const char *method);
/* Send it; takes what is in w, whatever comes of it.  `m` has what the transport
 * wants to know besides (name, schema, arguments, open_end).  An error: nothing
 * was sent, and `done` is not called. */
mortise_status mcp_request_send(struct mcp_server *s, struct mcp_request *r,
                                mortise_jw *w, const char *method,
                                struct mcp_message *m);
/* Nobody waits for it any more; the server is told.  Also one that is not under
 * way. */
void mcp_request_cancel(struct mcp_request *r);
/* A person is asked: its time stands still, or goes on. */
void mcp_request_hold(struct mcp_request *r, int hold);
/* A notification, likewise begun with mcp_rpc_begin(w, 0, method). */
void mcp_notify(struct mcp_server *s, mortise_jw *w, const char *method);
/* An answer to what the server asked; begun with one of mcp_rpc's. */
void mcp_respond(struct mcp_server *s, mortise_jw *w, mortise_status made,
                 mortise_str text);

/* For server.c, from the wire. */
void mcp_request_heard(struct mcp_server *s, mortise_str json, int64_t on);
void mcp_request_failed(struct mcp_server *s, int64_t id,
                        const struct mcp_trouble *why);
/* All of them: the connection is gone. */
void mcp_request_fail_all(struct mcp_server *s, const struct mcp_trouble *why);
/* The server said something of no use: it is told of, unless that happened often,
 * and counted.  The connection may be gone behind it. */
void mcp_request_useless(struct mcp_server *s, const char *what,
                         mortise_str about);
/* The one of that id; NULL: there is none, by now. */
struct mcp_request *mcp_request_find(const struct mcp_server *s, int64_t id);

#endif
