/* requests.h -- requests to the engine (docs/control.md), from the socket or
 * from this process. */
#ifndef MORTISE_SERVER_REQUESTS_H
#define MORTISE_SERVER_REQUESTS_H

#include "core/engine/common/engine.h"

/* The sender of a request.  It receives items, then one reply or one error. */
struct mortise_asker {
    /* Borrowed item.  Nonzero: send no more items, and no reply. */
    int (*item)(struct mortise_asker *a, json_t *item);
    void (*reply)(struct mortise_asker *a, json_t *reply);
    void (*error)(struct mortise_asker *a, const struct mortise_err *err);
    /* Must events be held back?  mortise_requests_resume() resumes them.  NULL:
     * never. */
    bool (*full)(struct mortise_asker *a);
    struct mortise_request *request; /* in progress, or NULL */
    bool greeted; /* it sent hello, and therefore accepts {"alive": true} */
    /* A member of store.access, neither the engine's user nor root.  The
     * engine opens no files by name for it. */
    bool member;
};

/* Serve one request.  The answer may come before this returns, or later. */
void mortise_requests_serve(struct mortise *m, json_t *request,
                            const char *actor, struct mortise_asker *a);
/* The asker is gone: send it nothing more.  A started command continues. */
void mortise_requests_detach(struct mortise_asker *a);

/* Is the request in progress a watch, which lasts while the asker listens? */
bool mortise_requests_is_watching(const struct mortise_asker *a);

/* The asker accepts events again. */
void mortise_requests_resume(struct mortise_asker *a);

/* "E_NOT_FOUND" -> MORTISE_ENOTFOUND; MORTISE_EIO if the name is unknown. */
int mortise_requests_parse_code(const char *name);

#endif
