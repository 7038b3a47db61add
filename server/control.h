/* control.h -- the control socket, both ends. */
#ifndef MORTISE_SERVER_CONTROL_H
#define MORTISE_SERVER_CONTROL_H

#include <sys/types.h>

#include "core/engine/common/engine.h"

enum {
    MORTISE_LINE_MAX = 64 << 20, /* maximum reply that a client accepts */
    MORTISE_REQUEST_MAX = 16 << 20,
    MORTISE_PROTOCOL_VERSION =
        1 /* the protocol version that `hello` compares */
};

/* Answer pending requests with an error, because the engine closes, and remove
 * the socket.  libuv frees the handles in the next turn of the loop. */
void mortise_control_close(struct mortise *m);

/* Serve the control socket until the engine closes.  On failure the engine is
 * closed and *m is NULL. */
int mortise_control_listen(struct mortise **m, struct mortise_err *err);

/* mortise_engine_open(), then listen, unless the engine holds its store only
 * briefly. */
int mortise_control_serve(struct mortise **out,
                          const struct mortise_options *options,
                          enum mortise_engine_mode holding,
                          struct mortise_settings *settings,
                          struct mortise_err *err);

/* Is at least one client connected? */
bool mortise_control_has_clients(const struct mortise *m);

/* Connect to the engine that holds `store`, which is shared with `group`
 * (NULL: not shared).  Returns a non-blocking descriptor and the engine's pid;
 * nothing is sent yet.  MORTISE_ENOTFOUND: no engine listens.
 * MORTISE_EDENIED: it is not trusted (peer.h).  MORTISE_EBUSY: it does not
 * accept connections now. */
int mortise_control_connect(const char *store, const gid_t *group, int *fd,
                            pid_t *pid, struct mortise_err *err);

/* Does this process still exist?  An inherited socket accepts connections even
 * after its engine has exited. */
bool mortise_control_is_alive(pid_t pid);

#endif
