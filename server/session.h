/* session.h -- one way to an engine: ours in this process, or the one that
 * holds the store, over its control socket.
 *
 * A client says what it wants as a JSON request and gets items (a stream, for
 * some) and one reply.  In-process the request is served directly; over the
 * socket the very same server function answers it in the engine's process.  So
 * the command line has one code path, and every command works while another
 * process runs the store.
 *
 * On the wire (SOCK_STREAM, STORE/control.sock, mode 0600): one JSON object a
 * line; docs/control.md has all of it.
 *
 * A session outlives the engine that it reached.  When that one goes away,
 * ended or killed, the store is held here or whoever holds it next is reached,
 * and what was asked is asked again: a follow after the last event that it
 * gave, so that none is told twice or not at all; a start under the id that it
 * had; a command under the id of its `order`, so that it is done once.  One
 * without such an id may have been recorded or not, and is not repeated here.
 *
 * One thread, the engine's. */
#ifndef MORTISE_SERVER_SESSION_H
#define MORTISE_SERVER_SESSION_H

#include <stdbool.h>

#include "core/json/value.h"
#include "core/mortise.h"

struct mortise_session;

enum {
    /* It serves nobody meanwhile: the command looks or decides, and ends. */
    MORTISE_SESSION_BRIEF = 1,
    /* Others may count on it until it is stopped. */
    MORTISE_SESSION_STAYS = 2,
    /* An engine that works under a deployment other than that of `options` is
     * refused (MORTISE_ECONFIG); without a file there, any will do. */
    MORTISE_SESSION_SAME = 4,
    /* It makes no store: MORTISE_ENOTFOUND where there is none. */
    MORTISE_SESSION_FINDS = 8
};

/* Open the store, or reach who holds it; MORTISE_EBUSY, naming the pid, only
 * when nobody answers there.  What `options` points to is lent until close.
 * *none: it failed since there is no store (MORTISE_SESSION_FINDS). */
int mortise_session_open(struct mortise_session **out,
                         const struct mortise_options *options, unsigned flags,
                         bool *none, struct mortise_err *err);
/* Where that failed because the store cannot be written, or is damaged: look at
 * a copy of it, for requests that only read. */
int mortise_session_look(struct mortise_session **out,
                         const struct mortise_options *options,
                         struct mortise_err *err);
/* Is that copy, as far as requests looked at it, less than the store was?  Then
 * *why has the words. */
bool mortise_session_lacks(struct mortise_session *l, struct mortise_err *why);
void mortise_session_close(struct mortise_session *l); /* NULL is fine */

/* The engine in this process, or NULL when it is another's. */
struct mortise *mortise_session_engine(struct mortise_session *l);
/* Does the other process stay until it is stopped, and not only for what it
 * does itself? */
bool mortise_session_stays(const struct mortise_session *l);
/* Wait until the other process lets go of the store, or there is something to
 * read at `until`; the session is of no use then but to be closed. */
void mortise_session_await_end(struct mortise_session *l);

/* Borrowed item; nonzero detaches: the call returns MORTISE_OK with no reply,
 * and what runs goes on.  A session with another process is of no use then. */
typedef int mortise_item_fn(void *ud, json_t *item);

/* Turns the loop until the reply is there.  *reply (may be NULL) is a new
 * reference; `fn` may be NULL.  An error reply becomes its code and words.
 * MORTISE_EBUSY: the engine says nothing, or it went away and this request may
 * not be repeated; the next call looks for another engine. */
int mortise_session_call(struct mortise_session *l, json_t *request,
                         mortise_item_fn *fn, void *ud, json_t **reply,
                         struct mortise_err *err);

/* From now on calls end early, with MORTISE_OK and without a reply, when there
 * is something to read at this descriptor (lent); -1: no more of that.  A
 * session with another process is of no use after a call that ended so. */
int mortise_session_until(struct mortise_session *l, int fd,
                          struct mortise_err *err);
/* Is there? */
bool mortise_session_is_over(const struct mortise_session *l);

#endif
