/* conn.h -- the connections to a control socket: what they may cost.  [loop] */
#ifndef MORTISE_SERVER_CONN_H
#define MORTISE_SERVER_CONN_H

#include <sys/types.h>

#include "core/engine/common/engine.h"

struct mortise_conn;

struct mortise_conns {
    struct mortise *m;
    struct mortise_conn *first, *last; /* the longest without a word first */
    unsigned n;
    size_t held;      /* bytes of requests that were read and not served */
    unsigned starved; /* connections that are not read because of `held` */
    struct mortise_timer tick;
};

void mortise_conns_init(struct mortise_conns *s, struct mortise *m);
/* Serve this connection of `uid` and close it.  MORTISE_ELIMIT: there are too
 * many, all of them at work.  On an error it stays the caller's. */
int mortise_conns_add(struct mortise_conns *s, int fd, uid_t uid,
                      struct mortise_err *err);
/* Drop the one that has been idle for longest; false: none is. */
bool mortise_conns_drop_idle(struct mortise_conns *s);
/* Give all that wait for an answer this one, and close them.  Their handles
 * are gone when the loop has turned. */
void mortise_conns_close(struct mortise_conns *s,
                         const struct mortise_err *why);

/* To a connection that is not served; closes it.  The words may get lost. */
void mortise_conn_turn_away(int fd, const struct mortise_err *why);

#endif
