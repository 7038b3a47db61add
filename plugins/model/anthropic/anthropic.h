/* anthropic.h -- what the files of the plugin share: the deployment's word, a
 * request as the host has it, a reply as it comes in, and one call.
 */
#ifndef ANTHROPIC_H
#define ANTHROPIC_H

#include <stdlib.h>
#include <string.h>

#include <mortise/model.h>

#include "../../bytes.h"
#include "../../count.h"
#include "../../halves.h"
#include "../../prefix.h"
#include "../../sse.h"

/* ---- config (anthropic.c) ------------------------------------------------ */

/* Written by create() alone. */
struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
    char *config; /* a copy, which the values point into */
    mortise_jv headers, thinking, cache_ttl;
    struct bytes url;     /* of messages */
    struct bytes issuer;  /* of what only this server understands */
    struct bytes version; /* of the protocol */
    struct bytes key;     /* the value of its header; none: no header */
    int bearer;           /* the header is Authorization, not x-api-key */
    int system_as_user;
    int64_t max_tokens;
    struct prefixes *said; /* what messages became; its thread's alone */
};

/* ---- request.c ----------------------------------------------------------- */

/* The members of a request, by their names in mortise/model.h; none: not said.
 */
struct asked {
    mortise_jv model, messages, tools, tool_choice, parallel_tools, temperature,
        max_tokens, stop, reasoning_effort, response, cache, stream, extra,
        timeout_ms, idle_timeout_ms;
};

mortise_status anthropic_asked_read(struct asked *a, mortise_str body);

/* The body of http.request/1 that asks it, into memory that the caller frees,
 * also when this fails. */
mortise_status anthropic_request_write(const mortise_inst *inst,
                                       const struct asked *a, char **room,
                                       mortise_str *body);

/* ---- blocks.c ------------------------------------------------------------ */

/* Does a member of that name stand in a list of names? */
int anthropic_is_among(mortise_jv name, const char *const *names);

/* A member of an object that is written, as it was read. */
void anthropic_member_put(mortise_jw *w, mortise_jv name, mortise_jv value);

/* ---- reply.c ------------------------------------------------------------- */

enum block_kind { BLOCK_TEXT, BLOCK_TOOL_USE, BLOCK_THINKING, BLOCK_OTHER };

/* A block of content: as it began, and what came to it. */
struct block {
    int64_t index; /* the server's */
    int64_t place; /* in the reply: the same, unless another block had it */
    int is_closed;
    enum block_kind kind;
    struct bytes copy;      /* of `began`, where that is the block's own */
    mortise_jv began;       /* as the server put it */
    struct bytes text;      /* of a text or of thinking, all of it */
    struct bytes input;     /* JSON that came in pieces */
    struct bytes signature; /* that came afterwards */
    struct bytes citations; /* that came afterwards: values and commas */
};

enum used {
    USED_INPUT,
    USED_CACHE_WRITE,
    USED_CACHE_READ,
    USED_OUTPUT,
    USED_THINKING,
    USED_N
};

struct reply {
    struct block *blocks;
    size_t n, cap;
    struct bytes id, model, details; /* JSON; empty: the server said none */
    struct bytes stop_reason;        /* text; the same */
    int64_t used[USED_N];            /* or NOT_SAID, NO_COUNT */
};

void anthropic_reply_init(struct reply *r);
void anthropic_reply_finish(struct reply *r);

/* The last block of that index, or NULL. */
struct block *anthropic_block_find(struct reply *r, int64_t index);

/* One that begins as `value` says, which is lent for as long as the reply
 * lives, or copied.  MORTISE_S_INVALID: it is none, its index has an open block,
 * or it is one too many. */
mortise_status anthropic_block_add(struct reply *r, int64_t index,
                                   mortise_jv value, int copy,
                                   struct block **out);

/* What a message says of itself beside its content; each that is there. */
mortise_status anthropic_reply_head(struct reply *r, mortise_jv message);
mortise_status anthropic_reply_stop(struct reply *r, mortise_jv delta);
void anthropic_reply_usage(struct reply *r, mortise_jv usage);

/* Emit it.  `request_id` is JSON, or none. */
mortise_status anthropic_reply_emit(const mortise_inst *inst, mortise_call call,
                                    struct reply *r, mortise_jv request_id);

/* ---- a call (anthropic.c) ------------------------------------------------ */

struct call {
    mortise_inst *inst;
    mortise_call id;
    int stream;     /* pieces are wanted */
    int has_pieces; /* the host gave some */
    int is_events;  /* and they are events, behind this */
    struct bytes head;
    int finished; /* the call is; the host has not answered yet */
    struct sse sse;
    struct halves halves;
    struct reply reply;
    /* By stream.c: what became of the events. */
    int begun, ended, closing;
    mortise_status failed;    /* MORTISE_S_OK: nothing did */
    const char *failed_words; /* why, unless it was for memory */
    struct bytes error;       /* the server's own event of one; JSON */
};

/* ---- stream.c ------------------------------------------------------------ */

/* A block begins, of a stream or of a whole message, and may have text. */
mortise_status anthropic_block_begin(struct call *c, int64_t index,
                                     mortise_jv value, int copy);

/* An event.  What is wrong is kept with the call. */
mortise_status anthropic_event(void *ud, mortise_str name, mortise_str data);

/* ---- usage, of a call that ends (reply.c) -------------------------------- */

/* What it used, if anything is known of that. */
void anthropic_usage_emit(const struct call *c);

/* ---- error.c: each ends the call ----------------------------------------- */

void anthropic_fail(const struct call *c, mortise_status status,
                    const char *klass, const char *code, const char *words);
void anthropic_fail_nomem(const struct call *c);
/* There is no answer: the host says why. */
void anthropic_fail_host(const struct call *c, mortise_status status,
                         mortise_str words);
/* The server said that it failed: with a status from 400 on, and perhaps JSON
 * that has an error in it, or with that alone (status 0). */
void anthropic_fail_server(const struct call *c, int64_t status,
                           mortise_jv answer, mortise_str body);

#endif
