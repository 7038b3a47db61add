/* client.h -- the client side of the control socket (docs/control.md).
 *
 * Connects to the engine that holds a store.  Single-threaded.  Every wait is
 * bounded: an engine that owes an answer and sends nothing for
 * MORTISE_SILENCE_MS is treated as stuck.
 */
#ifndef MORTISE_SERVER_CLIENT_H
#define MORTISE_SERVER_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "server/session.h"

enum {
    MORTISE_HELLO_MS = 10000,  /* maximum wait for the answer to `hello` */
    MORTISE_SILENCE_MS = 30000 /* between two lines from the engine */
};

/* Why a call ended without its answer. */
enum mortise_client_loss {
    MORTISE_CLIENT_CONNECTED = 0, /* the engine still answers */
    MORTISE_CLIENT_UNREAD, /* it closed before it read the whole request */
    MORTISE_CLIENT_GONE,   /* it left later; the outcome is unknown */
    MORTISE_CLIENT_STUCK   /* it is running but sends nothing */
};

struct mortise_client {
    const struct mortise_mem *mem; /* borrowed */
    int fd;
    pid_t pid;  /* the engine's */
    bool stays; /* the engine runs until it is stopped (`mortise engine`) */
    int until;  /* calls end when this descriptor is readable; -1: none */
    enum mortise_client_loss loss;
    struct mortise_buf in; /* received and not yet processed */
    size_t scanned;        /* bytes of `in` already searched for a line end */
    char *store;           /* its path, for messages */
};

/* Requirements on the engine that we connect to. */
struct mortise_client_requirements {
    const char *path;   /* the deployment file; NULL: any deployment */
    const char *digest; /* deploy_digest.h, in hex */
    /* The group that our deployment shares the store with (peer.h); NULL:
     * none. */
    const gid_t *group;
};

/* Connect and send `hello`.  Close with mortise_client_close() in any case.
 * Errors: MORTISE_ENOTFOUND: no engine listens.  MORTISE_EBUSY: the engine
 * went away meanwhile, or is stuck (loss: MORTISE_CLIENT_STUCK).
 * MORTISE_EDENIED: the store or the engine's process is not trusted (peer.h);
 * nothing was sent. MORTISE_ECONFIG: the engine has another deployment. */
int mortise_client_open(struct mortise_client *c, const struct mortise_mem *mem,
                        const char *store,
                        const struct mortise_client_requirements *must,
                        struct mortise_err *err);
void mortise_client_close(struct mortise_client *c); /* may be closed */

/* Like mortise_session_call(). */
int mortise_client_call(struct mortise_client *c, const json_t *request,
                        mortise_item_fn *fn, void *ud, json_t **reply,
                        struct mortise_err *err);

/* Wait until the engine closes the connection, or `until` is readable. */
void mortise_client_await_end(struct mortise_client *c);

#endif
