/* session.h -- one interface to an engine, in this process or over the socket.
 *
 * A client sends a JSON request and receives items (a stream, for some
 * requests) and one reply.  In-process the request is served directly.  Over
 * the control socket the same server function answers it in the engine's
 * process.  So the command line has one code path, and every command works
 * while another process runs the store.
 *
 * The wire format (SOCK_STREAM, STORE/control.sock, mode 0600) is one JSON
 * object a line; see docs/control.md.
 *
 * A session survives its engine.  When the engine exits or is killed, the
 * session connects to the next engine that holds the store, or opens the store
 * itself, and repeats the request:
 *   follow   after the last event that was delivered, so that no event is lost
 *            or delivered twice
 *   start    with its order id, so that one run starts
 *   command  with its order id, so that it is executed once
 * A command without an order id may have been recorded or not, and is not
 * repeated.
 *
 * A session belongs to the thread of its engine.
 */
#ifndef MORTISE_SERVER_SESSION_H
#define MORTISE_SERVER_SESSION_H

#include <stdbool.h>

#include "core/json/value.h"
#include "core/mortise.h"

struct mortise_session;

enum {
    /* Look or decide, then close; do not serve other processes meanwhile. */
    MORTISE_SESSION_BRIEF = 1,
    /* Serve other processes until stopped. */
    MORTISE_SESSION_PERSISTENT = 2,
    /* Fail with MORTISE_ECONFIG if a running engine has another deployment
     * than `options`.  Without a deployment file, any deployment is
     * accepted. */
    MORTISE_SESSION_SAME_DEPLOYMENT = 4,
    /* Do not create a store: MORTISE_ENOTFOUND if there is none. */
    MORTISE_SESSION_MUST_EXIST = 8
};

/* Open the store, or connect to the engine that holds it.  MORTISE_EBUSY, with
 * the pid, only if that engine does not answer.  `options` is borrowed until
 * close. *none: it failed because there is no store (MORTISE_SESSION_MUST_EXIST). */
int mortise_session_open(struct mortise_session **out,
                         const struct mortise_options *options, unsigned flags,
                         bool *none, struct mortise_err *err);
/* Open a copy of a store that cannot be written or is damaged, for requests
 * that only read. */
int mortise_session_open_copy(struct mortise_session **out,
                              const struct mortise_options *options,
                              struct mortise_err *err);
/* Did requests find that the copy lacks data of the store?  If so, *why has
 * the message. */
bool mortise_session_has_losses(struct mortise_session *l,
                                struct mortise_err *why);
void mortise_session_close(struct mortise_session *l); /* NULL is fine */

/* The engine in this process; NULL if another process holds the store. */
struct mortise *mortise_session_engine(struct mortise_session *l);
/* Does the other process serve until it is stopped, and not only while it does
 * its own work? */
bool mortise_session_is_persistent(const struct mortise_session *l);
/* Wait until the other process releases the store, or `until` is readable.
 * The session can then only be closed. */
void mortise_session_await_end(struct mortise_session *l);

/* Borrowed item.  Nonzero detaches: the call returns MORTISE_OK without a
 * reply, and the run continues.  A session with another process can then only
 * be closed. */
typedef int mortise_item_fn(void *ud, json_t *item);

/* Turn the loop until the reply arrives.  *reply (may be NULL) is a new
 * reference; `fn` may be NULL.  An error reply becomes its code and message.
 * MORTISE_EBUSY: the engine does not answer, or it went away and this request
 * cannot be repeated; the next call looks for another engine. */
int mortise_session_call(struct mortise_session *l, json_t *request,
                         mortise_item_fn *fn, void *ud, json_t **reply,
                         struct mortise_err *err);

/* From now on a call ends early, with MORTISE_OK and without a reply, when
 * this borrowed descriptor is readable; -1 turns this off.  A session with
 * another process cannot be used after a call that ended early. */
int mortise_session_set_until(struct mortise_session *l, int fd,
                              struct mortise_err *err);
/* Is that descriptor readable? */
bool mortise_session_is_interrupted(const struct mortise_session *l);

#endif
