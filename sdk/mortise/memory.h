/* mortise/memory.h -- what a memory plugin implements: it stores traces (short
 * texts that runs and people want to remember) and finds them again.
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
 * The key `memory` of a deployment names one memory plugin and its config.  The
 * plugin is used in three ways.  The host reads traces before a node runs, and
 * writes the node's output as a trace.  Executors ask memory.read/1 and
 * memory.write/1 (mortise/ask.h).  People use the command `mortise memory`.
 *
 * Threads    As in the manifest's `threading`, as for executors.
 * Asking     secret.get/1, http.request/1 with any method, and model.embed/1.
 *            Other methods give MORTISE_S_UNSUPPORTED.  A call is never
 *            suspended.  The engine does not record the answers to its asks:
 *            after a crash, it makes the whole call again.
 * Repeats    read() must not change the results of later reads.  The host may
 *            call write() and forget() several times with the same request, for
 *            example after a crash.  A repeated call must have no further
 *            effect, even if other calls came in between.
 * Durability When write() succeeds, its traces must be on disk: they survive if
 *            the plugin, the process or the machine dies directly afterwards.
 *            When write() fails, each of its traces must be stored completely
 *            or not at all.
 * Errors     Return a negative status, and a message by fail() or finish() with
 *            a detail (plugin.h).  The code in the detail is one of
 *            MORTISE_MEMORY_... below.  The class decides whether the host
 *            tries again.
 * ABI        As in mortise/plugin.h.
 *
 * request->operation is empty.  request->body is one JSON object, which the
 * host has checked: it has all required members, no unknown members, and all
 * members have the right type.  Times are integers: milliseconds since 1970,
 * UTC, from 0 to MORTISE_MEMORY_TIME (the end of the year 9999).
 *
 * ---- traces -----------------------------------------------------------------
 *
 *   id          text, 1 to MORTISE_MEMORY_ID bytes: the permanent name of the
 *               trace, unique in its tenant.  The writer of the trace chooses
 *               the id; the host uses a hash of the trace's origin.
 *   type        "episodic" (an event), "semantic" (a fact), "procedural" (how
 *               to do something), "prospective" (a plan), "relational" (how
 *               two things or persons are related)
 *   scope       "global", "persona", "session" or "conversation"
 *   key         text, up to MORTISE_MEMORY_KEY bytes: the persona, session or
 *               conversation to which the trace belongs.  Absent if the
 *               scope is "global", required otherwise
 *   content     text, 1 to MORTISE_MEMORY_CONTENT bytes
 *   strength    number, 0 to 1: the strength at creation
 *   created_at  time
 *   metadata    an object, up to MORTISE_MEMORY_METADATA bytes of JSON;
 *               optional.  Only the writer of the trace interprets it.
 *
 * After a trace is written, its members never change.  Only its current
 * strength can change, as your plugin decides: for example, the strength decays
 * with time, and grows when a write reports a use of the trace.
 *
 * Every body has the member `tenant`, a text that the host sets.  A request of
 * one tenant must never show traces of another tenant, or whether they exist.
 *
 * ---- sequence numbers
 * ----------------------------------------------------------
 *
 * Each write() or forget() that changes something gets a sequence number, which
 * is larger than all earlier ones in the same tenant.  All changes of one call
 * become visible at the same time.  The member `seq` of an answer is the number
 * of the newest change that the answer includes, or 0 if there is no change.  A
 * read with `as_of` N returns the same as an earlier read whose answer had
 * `seq` N, including strengths (for the same `now`).  There is one exception:
 * no read returns a forgotten trace, whatever its `as_of`.
 *
 * ---- read: the request
 * ---------------------------------------------------------
 *
 *   tenant        text
 *   now           time: the strengths in the answer are as of this time
 *   max_traces    integer, 0 to MORTISE_MEMORY_TRACES: the maximum number of
 *                 traces; 0: the caller needs only `seq`
 *   query         text, not only blanks: the search text; absent: any trace
 *   types         a list of types; absent: all
 *   scope         a scope; absent: all
 *   keys          {persona?, session?, conversation?}: only traces with one of
 *                 these keys, and traces of the scope "global".  If a scope
 *                 has no key here, its traces are not results.  Absent (reads
 *                 by people): traces with any key
 *   ids           a list of ids: only the traces with these ids
 *   min_strength  number, 0 to 1: only traces with at least this strength at
 *                 the time `now`
 *   as_of         integer: see above; only if the manifest has `as_of`
 *   order         "rank" (the default): the best first, as the plugin ranks
 *                 query, strength and age; "time": the newest write first
 *   after         text: the `next` of an answer to the same read with
 *                 `order: time`; continue after that answer.  If a person
 *                 enters an invalid text, fail with MORTISE_MEMORY_REQUEST.
 *
 * ---- read: the answer
 * ----------------------------------------------------------
 *
 * Emit one JSON object as "output":
 *
 *   traces   a list of at most max_traces traces, each with its strength at
 *            the time `now`.  If the strength at creation was another, add it
 *            as `initial`.  If a query ranked the trace, add `score`: a
 *            number, greater is better, comparable only within one answer.
 *   seq      integer
 *   next     text, 1 to MORTISE_MEMORY_NEXT bytes: only with order "time", if
 *            more traces follow; the caller passes this text as `after`
 *   note     text for people: what this answer lacks and why, for example
 *            because no vectors were available; absent: nothing is missing
 *
 * The contents of all traces of an answer have at most MORTISE_MEMORY_ANSWER
 * bytes together.  If more traces match, end the list earlier, and with order
 * "time" add `next`.
 *
 * ---- write
 * -----------------------------------------------------------------------
 *
 *   tenant    text
 *   now       time
 *   traces    a list of up to MORTISE_MEMORY_TRACES traces; optional
 *   uses      a list of up to MORTISE_MEMORY_TRACES {id, by, at}; optional.
 *             The trace with this id was used at the time `at`, which may
 *             make it stronger.  `by`, 1 to MORTISE_MEMORY_ID bytes, names the
 *             use.  If several writes report the same `id` and `by`, count
 *             them once.  Ignore a use of a trace that does not exist.
 *   restore   true: write forgotten traces again, because a person asked for
 *             it; absent: false
 *
 * Emit {written, seq} as "output".  `written` is the number of new traces; they
 * are visible from `seq` on.  If a trace with the same id exists, do not change
 * it.  If a trace with the same id was forgotten, do not write it, unless
 * `restore` is true: otherwise a repeated write would bring back a trace that a
 * person removed.
 *
 * ---- forget
 * ----------------------------------------------------------------------
 *
 *   tenant    text
 *   now       time
 *   ids, types, scope, keys   conditions as in read
 *   before    time: only traces that were created before this time
 *   all       true: all traces of the tenant; only without other conditions
 *
 * Remove the traces that match all conditions, and emit {forgotten, seq} as
 * "output"; `forgotten` is the number of removed traces.  After that, no read
 * returns these traces, and no search finds their words.  Store nothing of them
 * but what you need to recognize their ids. */
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

/* Error codes, each with its usual class.  Use another class if you know that
 * it fits better. */
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
