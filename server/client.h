/* client.h -- a connection to the engine that holds a store, from the other
 * side of its control socket (docs/control.md).
 *
 * One thread.  Nothing here waits without bound: an engine that says nothing
 * for MORTISE_SILENCE_MS while it owes an answer counts as stuck. */
#ifndef MORTISE_SERVER_CLIENT_H
#define MORTISE_SERVER_CLIENT_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "server/session.h"

enum {
    MORTISE_HELLO_MS = 10000,  /* for the first answer */
    MORTISE_SILENCE_MS = 30000 /* between two signs of life */
};

/* What became of a call that did not end with its answer. */
enum mortise_client_loss {
    MORTISE_CLIENT_HERE = 0, /* it is not lost */
    MORTISE_CLIENT_UNHEARD,  /* the engine went before it had all of it */
    MORTISE_CLIENT_GONE,     /* the engine went: nobody knows */
    MORTISE_CLIENT_STUCK     /* the engine is there and says nothing */
};

struct mortise_client {
    const struct mortise_mem *mem; /* lent */
    int fd;
    pid_t pid;  /* the engine's */
    bool stays; /* the engine runs until somebody stops it (`mortise engine`) */
    int until;  /* calls end when it is readable; -1: none */
    enum mortise_client_loss loss;
    struct mortise_buf in; /* bytes of the engine's next lines */
    size_t scanned;        /* of in: without a line end */
    char *store;           /* as it is called in words */
};

/* The deployment that the engine must have, too. */
struct mortise_must {
    const char *path;   /* of the file; NULL: any deployment will do */
    const char *digest; /* deploy_digest.h, in hex */
    /* With which our deployment shares the store (peer.h); NULL: with none. */
    const gid_t *group;
};

/* Connect and say hello.  MORTISE_ENOTFOUND: nobody listens.  MORTISE_EBUSY:
 * it went away meanwhile, or (loss: MORTISE_CLIENT_STUCK) says nothing.
 * MORTISE_EDENIED: what is there is not to be trusted (peer.h), and nothing
 * was said to it.  MORTISE_ECONFIG: another deployment.  Closed in any case
 * with mortise_client_close(). */
int mortise_client_open(struct mortise_client *c, const struct mortise_mem *mem,
                        const char *store, const struct mortise_must *must,
                        struct mortise_err *err);
void mortise_client_close(struct mortise_client *c); /* closed is fine */

/* As mortise_session_call(). */
int mortise_client_call(struct mortise_client *c, const json_t *request,
                        mortise_item_fn *fn, void *ud, json_t **reply,
                        struct mortise_err *err);

/* Wait until the engine closes the connection, or there is something to read
 * at `until`. */
void mortise_client_await_end(struct mortise_client *c);

#endif
