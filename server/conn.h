/* conn.h -- connections to the control socket and their limits.  [loop] */
#ifndef MORTISE_SERVER_CONN_H
#define MORTISE_SERVER_CONN_H

#include <sys/types.h>

#include "core/engine/common/engine.h"

struct mortise_conn;

struct mortise_conns {
    struct mortise *m;
    struct mortise_conn *first, *last; /* by last activity, oldest first */
    unsigned n;
    size_t held;      /* bytes of requests that were read and not yet served */
    unsigned starved; /* connections not read, because of `held` */
    struct mortise_timer tick;
};

void mortise_conns_init(struct mortise_conns *s, struct mortise *m);
/* Serve this connection of user `uid`, and close it in the end.
 * MORTISE_ELIMIT: all slots are taken and busy.  On error the caller keeps the
 * descriptor. */
int mortise_conns_add(struct mortise_conns *s, int fd, uid_t uid,
                      struct mortise_err *err);
/* Close the connection that was idle for longest; false if none is idle. */
bool mortise_conns_close_idle(struct mortise_conns *s);
/* Send this error to every connection that waits for an answer, and close all.
 * libuv frees their handles in the next turn of the loop. */
void mortise_conns_close(struct mortise_conns *s,
                         const struct mortise_err *why);

/* Send an error to a connection that is not served, and close it.  The message
 * may get lost. */
void mortise_conn_reject(int fd, const struct mortise_err *why);

#endif
