/* http_flow.h -- one way to a token at a time, for a server: inside http_auth. */
#ifndef MCP_HTTP_FLOW_H
#define MCP_HTTP_FLOW_H

#include "http_auth.h"
#include "http_exchange.h"
#include "http_keep.h"

struct answered { /* a person's word, that waits for its turn */
    struct answered *next;
    struct bytes consent, answer;
    void (*done)(void *ud, const struct mcp_trouble *why); /* NULL: left */
    void *ud;
};

enum http_doing {
    HTTP_NOTHING,
    HTTP_LOADS,  /* what another process left */
    HTTP_BEGINS, /* from a refusal */
    HTTP_RENEWS, /* with the refresh token */
    HTTP_REDEEMS /* the first of `answers` */
};

struct mcp_auth {
    struct mcp_server *server; /* NULL: forgotten */
    mortise_inst *inst;
    struct oauth_setup setup;
    struct oauth_keep keep;
    struct http_keep kept;
    struct bytes url, secret;
    unsigned which; /* tokens so far */
    int is_new;     /* the token was renewed, and not accepted yet */
    int is_loaded;  /* what was kept was looked for */
    /* http_flow.c: */
    enum http_doing doing;
    struct oauth flow;
    struct bytes challenge; /* of what it begins from */
    int has_flow;           /* `flow` has something in it */
    int gets, tells;        /* the host has an ask; we are telling */
    struct http_ask ask;
    struct mcp_timer
        again;        /* a request of `flow`, that was not answered well */
    unsigned repeats; /* ... so often */
    uint64_t
        later_ms; /* what the last one was answered with: not before that */
    /* http_auth.c: */
    struct http_waiter *waiters; /* those who are not told yet */
    struct answered *answers;
    struct mcp_timer turn; /* for the next of them */
};

/* Nothing is under way.  Who waits is told when it is over, maybe from inside. */
void http_flow_start(struct mcp_auth *a, enum http_doing what);
void http_flow_again(struct mcp_timer *t);
void http_answered_free(struct answered *p);
/* Of one that is forgotten, once nobody is in it any more; it may be gone. */
void http_flow_free_if_over(struct mcp_auth *a);

#endif
