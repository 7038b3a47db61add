/* reply.h -- a reply of a model, as mortise/model.h has it, while it is put
 * together from what a server says. */
#ifndef OPENAI_REPLY_H
#define OPENAI_REPLY_H

#include <stdbool.h>

#include <mortise/model.h>

#include "../../bytes.h"
#include "../../count.h"
#include "opaque.h"

enum part_kind { PART_TEXT, PART_REASONING, PART_REFUSAL, PART_CALL };

struct part {
    enum part_kind kind;
    bool indexed;       /* a call's: `index` is the server's */
    int64_t index;      /* of a call */
    struct bytes text;  /* of a call: its arguments, as the server wrote them */
    struct bytes id;    /* of a call */
    struct bytes name;  /* of a call */
    struct bytes saved; /* JSON for `provider`; empty: it has none */
    struct opaque beside, within; /* of a call of a chat, and its function */
    /* Of a call, by reply_settle(): its arguments as an object, none for the
     * empty one; `broken`: they are no object that any host takes. */
    mortise_jv arguments;
    bool broken;
};

enum used {
    USED_INPUT,
    USED_OUTPUT,
    USED_CACHED,
    USED_CACHE_WRITE,
    USED_REASONING,
    USED_N
};

struct reply {
    struct part *parts;
    size_t n_parts, cap_parts;
    const char *stop; /* of model.h, as far as the server says; NULL: not yet */
    bool cut;         /* it says that this is not all, so no call is run */
    struct bytes stop_reason, model, id;
    int64_t used[USED_N]; /* or NOT_SAID, NO_COUNT */
    bool nomem;           /* something is missing for want of memory */
};

void reply_init(struct reply *r);
void reply_finish(struct reply *r);

/* A new part behind the others; NULL, and r->nomem: no memory.  Good until the
 * next one comes. */
struct part *reply_add(struct reply *r, enum part_kind kind);
/* The part of that kind, or a new one. */
struct part *reply_part(struct reply *r, enum part_kind kind);
void reply_remove(struct reply *r, struct part *p);
/* Put it behind what is there; r->nomem: there was no memory. */
void reply_put(struct reply *r, struct bytes *t, mortise_str s);
/* The same of the content of a JSON string (of anything else nothing), and in
 * the place of what is there. */
void reply_append(struct reply *r, struct bytes *t, mortise_jv string);
void reply_set(struct reply *r, struct bytes *t, mortise_jv string);
/* Keep the JSON of v for a part's `provider`, if any host takes it. */
void reply_save(struct reply *r, struct part *p, mortise_jv v);

/* A server's usage object, in any form; null, or one that says nothing, changes
 * nothing. */
void reply_usage(struct reply *r, mortise_jv usage);

/* All that was said is there: look at the arguments of calls, and see that each
 * has a name, and an id that no call before it has.  The `provider` data of one
 * that gets another id is gone: it knows the call by its own. */
void reply_settle(struct reply *r);
/* Why it ended, of one that is settled.  max_tokens: what the request allowed,
 * 0: it did not say. */
const char *reply_stop(const struct reply *r, int64_t max_tokens);

/* As the contract has it: an output and a usage. */
mortise_status reply_emit(const struct reply *r, const char *issuer,
                          int64_t max_tokens, mortise_host *host,
                          const mortise_host_api *api, mortise_call call);
void reply_emit_usage(const struct reply *r, mortise_host *host,
                      const mortise_host_api *api, mortise_call call);

#endif
