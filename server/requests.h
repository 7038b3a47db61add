/* requests.h -- requests to the engine (session.h lists them), wherever they
 * come from. */
#ifndef MORTISE_SERVER_REQUESTS_H
#define MORTISE_SERVER_REQUESTS_H

#include "core/engine/common/engine.h"

/* Whoever asked, and gets the answer: items, then one reply or one error. */
struct mortise_asker {
    /* Borrowed; nonzero: no more, and no reply either. */
    int (*item)(struct mortise_asker *a, json_t *item);
    void (*reply)(struct mortise_asker *a, json_t *reply);
    void (*error)(struct mortise_asker *a, const struct mortise_err *err);
    /* Is no room left for events?  mortise_requests_go_on() once there is some;
     * NULL: it takes all. */
    bool (*full)(struct mortise_asker *a);
    struct mortise_request *request; /* under way; NULL: none */
    bool greeted; /* it said hello: it understands {"alive": true} */
    /* Neither the engine's user nor root: a member of store.access, for whom
     * the engine opens no file by name. */
    bool member;
};

/* Serve one; the answer may come before this returns, or later. */
void mortise_requests_serve(struct mortise *m, json_t *request,
                            const char *actor, struct mortise_asker *a);
/* The asker is gone: nothing is told to it any more; what runs goes on. */
void mortise_requests_detach(struct mortise_asker *a);

/* Will what is under way go on for as long as the asker listens? */
bool mortise_requests_is_follow(const struct mortise_asker *a);

/* It has room again. */
void mortise_requests_go_on(struct mortise_asker *a);

/* "E_NOT_FOUND" -> MORTISE_ENOTFOUND; MORTISE_EIO for a word that is none. */
int mortise_requests_code(const char *name);

#endif
