/* mortise/memory.h -- what a memory plugin implements: it stores traces, short
 * texts that runs and people want to keep, and finds them again.
 *
 *     static mortise_status read(mortise_inst *i, const mortise_request *r)
 *     {
 *         ... search for what r->body asks, emit {"traces": [...], "seq": N}
 *         as "output", and return MORTISE_S_OK
 *     }
 *
 *     static const mortise_memory memory = {sizeof memory, 0, read, write,
 *                                           forget};
 *
 * get_interface() returns that struct for MORTISE_MEMORY_1.  The manifest has
 * `provides: {memory: {threading: blocking, concurrency: 4}}`, and `as_of:
 * true` if read() can answer for an earlier sequence number.
 *
 * A deployment's `memory` names one memory plugin, with its config.  Three use
 * it: the host reads before a node runs and writes its output; plugins ask
 * memory.read/1 and memory.write/1 (mortise/ask.h); people use `mortise
 * memory`.
 *
 * Threads    As in the manifest's `threading`, as for executors.
 * Asking     secret.get/1, http.request/1 with any method, and model.embed/1.
 *            Everything else gives MORTISE_S_UNSUPPORTED.  A call is never
 *            suspended.  Its asks are part of the call; after a crash the
 *            whole call is made again.
 * Repeats    read() changes nothing that another read can see.  The host calls
 *            write() and forget() at least once.  Repeating a call must have
 *            no further effect, also after a crash, and also if calls of
 *            others came in between.
 * Durability When write() succeeds, its traces are on disk: they survive the
 *            death of the plugin, the process or the machine at once after it.
 *            When write() does not succeed, each trace is stored completely or
 *            not at all.
 * Errors     A negative status, and a message by fail() or finish() with a
 *            detail (plugin.h).  Its code is one of those below; its class
 *            decides whether the host tries again.
 * ABI        As in mortise/plugin.h.
 *
 * request->operation is empty, request->body one JSON object.  The host has
 * checked it: required members are there, all have the right type, and there
 * are no others.  Times are integers: milliseconds since 1970, UTC, from 0 to
 * MORTISE_MEMORY_TIME, the end of the year 9999.
 *
 * ---- traces -----------------------------------------------------------------
 *
 *   id          text, 1 to MORTISE_MEMORY_ID bytes: the permanent name of the
 *               trace, unique in its tenant.  The writer makes it; the host
 *               makes it by a hash of the trace's origin.
 *   type        "episodic" (an event), "semantic" (a fact), "procedural" (how
 *               to do something), "prospective" (a plan), "relational" (how
 *               two are related)
 *   scope       "global", "persona", "session" or "conversation"
 *   key         text, up to MORTISE_MEMORY_KEY bytes: which persona, session
 *               or conversation; required with these scopes, absent with
 *               "global"
 *   content     text, 1 to MORTISE_MEMORY_CONTENT bytes
 *   strength    number, 0 to 1: the strength at creation
 *   created_at  time
 *   metadata    an object, up to MORTISE_MEMORY_METADATA bytes of JSON;
 *               optional.  Only its writer interprets it.
 *
 * A trace never changes.  The plugin decides how the strength changes: it may
 * decay with time, and grow when a write reports a use of the trace.
 *
 * Every body has `tenant`, a text that the host sets.  A tenant must never see
 * the traces of another tenant, nor whether they exist.
 *
 * ---- sequence numbers
 * ----------------------------------------------------------
 *
 * Each write() and each forget() that changes something has a sequence number,
 * larger than all earlier ones in that tenant.  All changes of one call become
 * visible at once.  `seq` of an answer is the newest number that it can see, 0
 * if there is none.  A read with `as_of` N sees the state of an answer with
 * `seq` N, strengths included (at the same `now`).  Forgotten traces are the
 * exception: no read ever sees them again, whatever its number.
 *
 * ---- read: the request
 * ---------------------------------------------------------
 *
 *   tenant        text
 *   now           time: the strengths in the answer are as of this time
 *   max_traces    integer, 0 to MORTISE_MEMORY_TRACES; 0: only `seq` is needed
 *   query         text, not only blanks: the search text; absent: any trace
 *   types         a list of types; absent: all
 *   scope         a scope; absent: all
 *   keys          {persona?, session?, conversation?}: only traces with these
 *                 keys, and traces of the scope "global".  A scope without a
 *                 key here has no results.  Absent (reads of people): any key
 *   ids           a list of ids: only these, if they exist
 *   min_strength  number, 0 to 1: no trace that is weaker at `now`
 *   as_of         integer: see above; only if the manifest has `as_of`
 *   order         "rank" (the default): the best first, as the plugin ranks
 *                 query, strength and age; "time": the newest write first
 *   after         text: the `next` of an answer to the same read with
 *                 `order: time`; continue after it.  People may give an
 *                 invalid one, which is MORTISE_MEMORY_REQUEST.
 *
 * ---- read: the answer
 * ----------------------------------------------------------
 *
 * Emitted as "output", one JSON object:
 *
 *   traces   a list of at most max_traces traces, each with its strength at
 *            `now`.  `initial` is the strength at creation, if it differs.
 *            `score`, if the trace was ranked by a query, is a number, greater
 *            is better, comparable within one answer only.
 *   seq      integer
 *   next     text, 1 to MORTISE_MEMORY_NEXT bytes: more traces follow (order
 *            "time"); absent: no more
 *   note     text for people: what this answer lacks and why, for example that
 *            no vectors were available; absent: nothing
 *
 * The contents of one answer have at most MORTISE_MEMORY_ANSWER bytes together.
 * End the list earlier if there is more, with `next` in order "time".
 *
 * ---- write
 * -----------------------------------------------------------------------
 *
 *   tenant    text
 *   now       time
 *   traces    a list of up to MORTISE_MEMORY_TRACES traces; optional
 *   uses      a list of up to MORTISE_MEMORY_TRACES {id, by, at}; optional.
 *             The trace was used at that time, which may make it stronger.
 *             `by`, 1 to MORTISE_MEMORY_ID bytes, names the use: count the
 *             same `id` and `by` once, however often they come.  Ignore a use
 *             of a trace that does not exist.
 *   restore   true: write forgotten traces again, because a person asked for
 *             it; absent: false
 *
 * "output" is {written, seq}: the number of traces that are new and visible
 * from `seq` on.  Leave a trace whose id already exists unchanged.  Do not
 * write a trace whose id was forgotten, unless `restore` is true: otherwise a
 * repeated delivery would bring back a trace that a person removed.
 *
 * ---- forget
 * ----------------------------------------------------------------------
 *
 *   tenant    text
 *   now       time
 *   ids, types, scope, keys   as in read: remove the traces that match all
 *             that are present
 *   before    time: traces that were created before it
 *   all       true: only if none of the others is present
 *
 * "output" is {forgotten, seq}.  After that, no read and no search returns the
 * traces or finds their words.  The plugin keeps only enough to recognize their
 * ids. */
#ifndef MORTISE_SDK_MEMORY_H
#define MORTISE_SDK_MEMORY_H

#include <mortise/ask.h>

MORTISE_C_BEGIN
#ifdef __cplusplus
extern "C" {
#endif

#define MORTISE_MEMORY_1 "mortise.memory/1"

/* Maximum bytes. */
#define MORTISE_MEMORY_ID       128
#define MORTISE_MEMORY_KEY      256
#define MORTISE_MEMORY_CONTENT  65536
#define MORTISE_MEMORY_METADATA 16384
#define MORTISE_MEMORY_NEXT     1024
#define MORTISE_MEMORY_TIME     INT64_C(253402300799999)
#define MORTISE_MEMORY_ANSWER   4194304 /* of all contents of one answer */
/* Maximum traces of one read, and traces and uses of one write. */
#define MORTISE_MEMORY_TRACES 1000

typedef struct mortise_memory {
    uint32_t size;
    uint32_t flags; /* 0 */

    /* As described above.  [call & created] */
    mortise_status (*read)(mortise_inst *, const mortise_request *);
    mortise_status (*write)(mortise_inst *, const mortise_request *);
    mortise_status (*forget)(mortise_inst *, const mortise_request *);
} mortise_memory;

/* Codes of errors, with the usual class.  Give another class if you know
 * better. */
#define MORTISE_MEMORY_BUSY    "memory.busy" /* transient: locked by others */
#define MORTISE_MEMORY_FULL    "memory.full" /* permanent: no space left */
#define MORTISE_MEMORY_IO      "memory.io"   /* transient: cannot be reached */
#define MORTISE_MEMORY_CORRUPT "memory.corrupt" /* permanent: unreadable data */
#define MORTISE_MEMORY_REQUEST                                                 \
    "memory.request" /* permanent: unsupported request */

MORTISE_STATIC_ASSERT(sizeof(mortise_memory) == 32, "mortise_memory");

#ifdef __cplusplus
}
#endif
MORTISE_C_END
#endif
