/* control.h -- the control socket, both ends. */
#ifndef MORTISE_SERVER_CONTROL_H
#define MORTISE_SERVER_CONTROL_H

#include <sys/types.h>

#include "core/engine/common/engine.h"

enum {
    MORTISE_LINE_MAX = 64 << 20, /* of a reply, for a client */
    MORTISE_REQUEST_MAX = 16 << 20,
    MORTISE_PROTOCOL = 1 /* what `hello` compares */
};

/* Answer what is under way (the engine is closing), remove the socket.  The
 * handles are gone when the loop has turned. */
void mortise_control_close(struct mortise *m);

/* Serve others, as long as it is open.  An engine that cannot is closed, and
 * *m is NULL. */
int mortise_control_listen(struct mortise **m, struct mortise_err *err);

/* mortise_engine_open(), and serve others unless it holds its store for a
 * moment only. */
int mortise_control_serve(struct mortise **out,
                          const struct mortise_options *options,
                          enum mortise_holding holding,
                          struct mortise_settings *settings,
                          struct mortise_err *err);

/* Is somebody connected? */
bool mortise_control_is_used(const struct mortise *m);

/* A client's connection to the engine that holds `store`, which is shared with
 * `group` (NULL: with nobody), and its pid; nothing
 * is said yet, and the descriptor does not block.  MORTISE_ENOTFOUND when
 * nobody listens there, MORTISE_EDENIED when it is not to be trusted (peer.h),
 * MORTISE_EBUSY when it takes no connections now. */
int mortise_control_connect(const char *store, const gid_t *group, int *fd,
                            pid_t *pid, struct mortise_err *err);

/* Is there still a process of this pid?  A socket that was inherited answers to
 * connect() beyond the end of its engine. */
bool mortise_control_is_alive(pid_t pid);

#endif
