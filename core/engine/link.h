/* link.h -- one way to an engine: ours in this process, or the one that holds
 * the store, over its control socket.
 *
 * A client says what it wants as a JSON request and gets items (a stream, for
 * some) and one reply.  In-process the request is served directly; over the
 * socket the very same server function answers it in the engine's process.  So
 * the command line has one code path, and every command works while another
 * process runs the store.
 *
 * On the wire (SOCK_STREAM, STORE/control.sock, mode 0600): one JSON object a
 * line.  Client: the request.  Engine: {"item": ...} any number of times, then
 * {"reply": ...} or {"error": {"code": "E_...", "message": "..."}}.  Who asks
 * is SO_PEERCRED's word, never the body's.  A request says what it wants in
 * `do`; docs/control.md has more words:
 *
 *   start    {graph: {path, source}, tenant?, run?, input?}
 *              items: {type: "report", text}, when the graph has findings
 *              -> {run}                      (after the admission is on disk)
 *   command  {tenant?, run, commands: [{kind: "resume" | "update" | "goto" |
 *             "approve_tool" | "answer" | "resolve" | "cancel" | "pause" |
 *             "limit" | "budget", id?, decision?, reason?, digest?, value?, node?, merge?, force?,
 *             shutdown?}],
 *             no_continue?, accept_plugins?}
 *              -> {run, status, reason}
 *   follow   {tenant?, run, after?, until: "now" | "idle" | "end"}
 *              items: events, as the event API gives them (with "now" the
 * stored ones; "idle" until nothing is left to do without a person; "end" until
 * the run has ended)
 *              -> {run, status, reason}
 *   runs     {tenant?, after?, limit?}   -> {runs: [...], next}
 *   inbox    {tenant?, after?, limit?}   -> {pending: [...], next}
 *   show     {tenant?, run}              -> mortise_show()'s object
 *   history  {tenant?, run}              -> {checkpoints: [...]}
 *   engine   {}                          -> {pid, version, store}
 *
 * One thread, the engine's. */
#ifndef MORTISE_ENGINE_LINK_H
#define MORTISE_ENGINE_LINK_H

#include <stdbool.h>

#include "json/value.h"
#include "mortise.h"

struct mortise_link;

/* Open the store, or reach who holds it; MORTISE_EBUSY, naming the pid, only
 * when nobody answers there. */
int mortise_link_open(struct mortise_link **out,
                      const struct mortise_options *options,
                      struct mortise_err *err);
void mortise_link_close(struct mortise_link *l); /* NULL is fine */

/* The engine in this process, or NULL when it is another's. */
struct mortise *mortise_link_engine(struct mortise_link *l);

/* Borrowed item; nonzero detaches: the call returns MORTISE_OK with no reply,
 * and what runs goes on.  A link to another process is of no use then. */
typedef int mortise_item_fn(void *ud, json_t *item);

/* Turns the loop until the reply is there.  *reply (may be NULL) is a new
 * reference; `fn` may be NULL.  An error reply becomes its code and words. */
int mortise_link_call(struct mortise_link *l, json_t *request,
                      mortise_item_fn *fn, void *ud, json_t **reply,
                      struct mortise_err *err);

/* From now on calls end early, with MORTISE_OK and without a reply, when there
 * is something to read at this descriptor (lent); -1: no more of that.  A link
 * to another process is of no use after a call that ended so. */
int mortise_link_until(struct mortise_link *l, int fd, struct mortise_err *err);
/* Is there? */
bool mortise_link_is_over(const struct mortise_link *l);

#endif
