/* control.h -- the control socket, both ends. */
#ifndef MORTISE_ENGINE_CONTROL_H
#define MORTISE_ENGINE_CONTROL_H

#include <sys/types.h>

#include "engine/engine.h"

enum { MORTISE_LINE_MAX = 64 << 20 }; /* of a reply, for a client */

/* Listen at STORE/control.sock. */
int mortise_control_open(struct mortise *m, struct mortise_err *err);
/* Answer what is under way (the engine is closing), remove the socket.  The
 * handles are gone when the loop has turned. */
void mortise_control_close(struct mortise *m);

/* A client's connection to the engine that holds `store`; MORTISE_ENOTFOUND
 * when nobody listens there. */
int mortise_control_connect(const char *store, int *fd,
                            struct mortise_err *err);

/* The name of a uid, or "uid N". */
void mortise_control_name(uid_t uid, char out[64]);

#endif
