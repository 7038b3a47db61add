/* openai.h -- what the files of the `openai` model plugin share.
 *
 * openai.c has the plugin and its page; request.c what all requests have, and
 * call.c what becomes of one; chat_*.c, responses_*.c and embeddings.c one API
 * each, a row of `struct dialect`; reply.c, problem.c and fits.c what those are
 * made of. */
#ifndef OPENAI_H
#define OPENAI_H

#include "../../halves.h"
#include "../../prefix.h"
#include "../../sse.h"
#include "opaque.h"
#include "problem.h"
#include "reply.h"

struct call;
struct body;

/* One API: what is asked, and what is made of the answer. */
struct dialect {
    const char *path;   /* behind the base URL */
    const char *issuer; /* what its `provider` data starts with */
    /* The members of the request's JSON, in the object that is open. */
    void (*ask)(struct body *b);
    /* A whole answer, an object without `error`. */
    void (*whole)(struct call *c, mortise_jv body);
    /* An event of a stream: an object without `error`; NULL: it never streams.
     */
    void (*event)(struct call *c, mortise_jv data);
    /* The stream is over, as is said in c->ended; make what there is whole. */
    void (*end)(struct call *c);
    /* Emit the output. */
    mortise_status (*give)(struct call *c);
};

extern const struct dialect openai_chat, openai_responses, openai_embeddings;

/* But for `said` it is made by create(), and only read from then on. */
struct mortise_inst {
    mortise_host *host; /* lent until destroy(), as is the table */
    const mortise_host_api *api;
    const struct dialect *chat; /* the API of chat() */
    struct bytes base;          /* of a URL, no slash behind */
    struct bytes query;         /* with its question mark, or empty */
    struct bytes bearer;        /* "Bearer KEY", or empty */
    struct bytes organization, project;
    struct bytes headers; /* JSON of the deployment's own, or empty */
    char max_tokens[64];  /* the name of that member of a chat */
    bool alternate;       /* in a chat the user and the assistant take turns */
    struct bytes issuer;  /* of both, behind the dialect's word */
    struct prefixes said; /* what messages of chat became; its thread's alone */
};

enum { MEMBERS = 32 }; /* more than mortise/model.h has */

/* A request on its way. */
struct body {
    mortise_jw w;
    mortise_inst *inst;
    const struct dialect *dialect;
    /* Members of the request (mortise/model.h): it may be long, and is walked
     * over once. */
    mortise_jv names[MEMBERS], values[MEMBERS];
    size_t n_members;
    mortise_jv extra; /* its `extra` */
    bool stream;
    struct bytes room;   /* for what has to be decoded */
    struct problem why;  /* why it cannot be asked, if so */
    struct bytes issuer; /* of this dialect's `provider` */
};

struct call {
    mortise_inst *inst;
    mortise_call id;
    const struct dialect *dialect;
    bool stream; /* tell pieces of text as they come */
    /* What is known of the answer. */
    enum {
        FORM_NONE,   /* no byte of the body that says it */
        FORM_EVENTS, /* a stream of events */
        FORM_WHOLE   /* something else: it comes at the end */
    } form;
    int64_t status;   /* of its head; 0: it is not there yet */
    bool says_events; /* its Content-Type does */
    bool heard;       /* there was an event, */
    bool began;       /* and one that had something of the reply */
    bool over;        /* its last event: [DONE], or a terminal one */
    bool ended;       /* the reply is whole, as the server says */
    bool finished;    /* the call is; the host has not answered yet */
    struct sse sse;
    struct halves halves;
    struct problem problem;
    struct reply reply;
    struct bytes issuer; /* with a NUL behind */
    struct bytes room;   /* for what is only told */
    int64_t max_tokens;  /* of the request; 0: it says none */
    /* chat: what a message has beside all that is known; and where the server
     * put what was reasoned, NULL: nowhere */
    struct opaque beside;
    const char *reasoned_in;
    int64_t texts; /* embeddings: so many vectors are to come */
    /* responses: the items that are complete, by their place; JSON.
     * embeddings: the vectors, likewise. */
    struct bytes *items;
    size_t n_items, cap_items;
};

/* Where a chat's reasoning stood, of a content in parts. */
#define CHAT_THINKING "content/thinking"

/* ---- asking: request.c --------------------------------------------------- */

/* Take the members of a request, which is JSON. */
void request_take(struct body *b, mortise_str text);
mortise_jv request_get(const struct body *b, const char *name);
/* A list of what the messages become; write() does so for those that are new. */
void request_messages(struct body *b,
                      void (*write)(struct body *b, mortise_jv_iter it));
/* The name of a member of the request's JSON, whose value the caller writes
 * next; false: `extra` says something else there. */
bool request_member(struct body *b, const char *name);
/* A member of the request under this name, as it is; if it has one. */
void request_copy(struct body *b, const char *name, const char *from);
/* The members that all APIs have, and what `extra` has besides. */
void request_extra(struct body *b);
/* It cannot be asked: the first reason counts. */
__attribute__((format(printf, 2, 3))) void request_refuse(struct body *b,
                                                          const char *fmt, ...);

/* The content of a JSON string, lent until the next such call. */
mortise_str request_text(struct body *b, mortise_jv string);
/* A piece of a string that is open. */
void request_put(struct body *b, mortise_jv string);
bool request_is(mortise_jv object, const char *member, const char *word);

/* The texts of a message's or a result's parts as one string, a blank line in
 * between; "error: " before those of a result that is one. */
void request_joined(struct body *b, mortise_jv parts, bool is_error);
/* Each result of a tool's message, as its API has one. */
void request_results(struct body *b, mortise_jv parts,
                     void (*write)(struct body *b, mortise_jv part,
                                   bool is_error));
/* Do they have something besides texts, which has to be sent as it is? */
bool request_has_media(mortise_jv parts);
/* A part's URL, or its data as one. */
void request_url(struct body *b, mortise_jv part);
/* What a call has for arguments, as the string that servers take. */
void request_arguments(struct body *b, mortise_jv call);
/* A part's data, if its `provider` is this issuer; else none. */
mortise_jv request_own(const struct body *b, mortise_jv part);
/* {name, description?, parameters} of a tool, in the object that is open. */
void request_tool(struct body *b, mortise_jv tool);
/* {name, schema, strict} of `response`, in the object that is open. */
void request_schema(struct body *b, mortise_jv response);

/* Make the body of http.request/1.  false: see b->why. */
bool request_make(struct body *b, mortise_str *out);
void request_finish(struct body *b);

/* ---- a call under way: call.c -------------------------------------------- */

/* NULL: no memory.  call_free() is for one that was not asked for: it ends
 * itself with the answer. */
struct call *call_new(mortise_inst *inst, const mortise_request *r,
                      const struct body *b);
void call_free(struct call *c);
/* A mortise_answer_fn, of http.request/1. */
void call_on_answer(void *ud, mortise_status status, mortise_str text);

/* What the dialects make of it: */

/* A piece of a text of the reply: put behind it, and told. */
void call_text(struct call *c, enum part_kind kind, mortise_jv string);
/* Tell it to who watches, if anybody may. */
void call_tell(struct call *c, bool reasoning, mortise_str text);
/* Keep the JSON of v in the place `at` (-1: behind the others). */
void call_keep(struct call *c, int64_t at, mortise_jv v);

#endif
