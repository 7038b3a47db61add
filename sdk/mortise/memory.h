/* mortise/memory.h -- what a memory plugin implements: it keeps traces of what
 * runs and people found worth keeping, and finds them again.
 *
 *     static mortise_status read(mortise_inst *i, const mortise_request *r)
 *     {
 *         ... look for what r->body asks, emit {"traces": [...], "seq": N} as
 *         "output", and return MORTISE_S_OK
 *     }
 *
 *     static const mortise_memory memory = {sizeof memory, 0, read, write,
 *                                           forget};
 *
 * which get_interface() gives for MORTISE_MEMORY_1.  Its manifest says
 * `provides: {memory: {threading: blocking, concurrency: 4}}`, with
 * `as_of: true` where it can read as of a number.
 *
 * Who calls it: a deployment's `memory` names one such plugin, with its config.
 * The host reads for nodes before they run and writes what they leave, plugins
 * ask memory.read/1 and memory.write/1 (mortise/ask.h), and people look into it
 * with `mortise memory`.
 *
 * Threads    As the manifest's `threading` says, as for executors.
 * Asking     secret.get/1, http.request/1 with any method, and model.embed/1;
 *            nothing else (MORTISE_S_UNSUPPORTED): it is never suspended.  Its
 *            asks are part of the one call that it serves; after a crash the
 *            whole call is made again.
 * Once       read() changes nothing that a read can see.  write() and forget()
 *            come at least once: said twice, also after a crash, also in
 *            another order with others' calls, they are as said once.
 * Kept       What write() answered with success is there when the plugin, the
 *            process or the machine dies the moment after, whole; what it did
 *            not answer is there whole, or not at all, a trace at a time.
 * Errors     A negative status, and fail()'s or finish()'s words with a detail
 *            (plugin.h) whose code is one of those below, and whose class says
 *            whether another try may help.
 * ABI        As in mortise/plugin.h.
 *
 * request->operation is empty, request->body one JSON object.  The host has
 * checked it: what stands here is there and of that kind, and there is nothing
 * else.  Times are integers: milliseconds since 1970, UTC, from 0 to
 * MORTISE_MEMORY_TIME, the end of 9999.
 *
 * ---- traces -----------------------------------------------------------------
 *
 *     id          text, 1 to MORTISE_MEMORY_ID bytes: the trace's name in its
 *                 tenant, for good.  Whoever writes makes it, the host by a hash
 *                 of where the trace comes from
 *     type        "episodic" (what happened), "semantic" (what is so),
 *                 "procedural" (how something is done), "prospective" (what is
 *                 to be done), "relational" (who is what to whom)
 *     scope       "global", "persona", "session" or "conversation"
 *     key         text, up to MORTISE_MEMORY_KEY bytes: which persona, session
 *                 or conversation; of "global" there is none, of others always
 *     content     text, 1 to MORTISE_MEMORY_CONTENT bytes
 *     strength    number, 0 to 1: as it was when it was created
 *     created_at  time
 *     metadata    an object, up to MORTISE_MEMORY_METADATA bytes of JSON; may be
 *                 absent.  It is nobody's but who wrote it
 *
 * A trace is never changed.  What becomes of its strength is the plugin's: it
 * may decay with time, and grow again when the trace is said to have been used
 * (write, below).
 *
 * `tenant` stands in every body, a text that the host puts there.  What one
 * tenant wrote no other ever sees, nor whether it is there.
 *
 * ---- sequence numbers ----------------------------------------------------------
 *
 * Each write() and each forget() that changes something has a number, larger
 * than all before it in that tenant; what one such call changed becomes visible
 * at once.  `seq` of an answer is the newest number that it could see: 0 when
 * there was nothing yet.  A read `as_of` N sees what one that answered N saw,
 * strengths included (at the same `now`), except what was forgotten since:
 * forgetting is for good, and holds for older numbers, too.
 *
 * ---- read: the request ---------------------------------------------------------
 *
 *     tenant        text
 *     now           time: strengths are what they are by then
 *     max_traces    integer, 0 to MORTISE_MEMORY_TRACES.  With 0 nothing but
 *                   `seq` is asked
 *     query         text, not of blanks alone: what is looked for; absent:
 *                   anything
 *     types         a list of types; absent: all
 *     scope         a scope; absent: all
 *     keys          {persona?, session?, conversation?}: traces of these alone,
 *                   and of the scope "global"; of a scope without a key here,
 *                   none.  Absent (people's reads): of whatever key
 *     ids           a list of ids: those alone, as far as they are there
 *     min_strength  number, 0 to 1: none that is weaker by now
 *     as_of         integer: see above; only where the manifest says `as_of`
 *     order         "rank" (also where it is absent): the best first, as the
 *                   plugin judges by query, strength and age; "time": what was
 *                   written last first
 *     after         text: the `next` of the answer to the same read with
 *                   `order: time`: go on behind it.  People may give one that is
 *                   none, which is MORTISE_MEMORY_REQUEST
 *
 * ---- read: the answer ----------------------------------------------------------
 *
 * Emitted as "output", one JSON object:
 *
 *     traces   a list of traces, at most max_traces, each with its strength as
 *              of `now`; where that is not what it was created with, `initial`,
 *              which is; and, where it was ranked by a query, `score`, a number:
 *              more is better, and it compares within one answer only
 *     seq      integer
 *     next     text, 1 to MORTISE_MEMORY_NEXT bytes: there are more behind these
 *              (order "time"); absent: none
 *     note     text for people: what this answer lacks, and why (vectors that
 *              could not be asked for ...); absent: nothing
 *
 * Contents of one answer are up to MORTISE_MEMORY_ANSWER bytes together: the
 * list ends earlier where it would be more, with `next` in order "time".
 *
 * ---- write -----------------------------------------------------------------------
 *
 *     tenant    text
 *     now       time
 *     traces    a list of traces, up to MORTISE_MEMORY_TRACES; may be absent
 *     uses      a list of {id, by, at}, up to MORTISE_MEMORY_TRACES; may be
 *               absent: the trace was of use at that time, which may make it
 *               stronger.  `by`, 1 to MORTISE_MEMORY_ID bytes, names the use: the
 *               same `id` and `by` count once, whenever and however often they
 *               come.  Of a trace that is not there nothing becomes
 *     restore   true: what was forgotten may be written again, since a person
 *               says so; absent: false
 *
 * "output" {written, seq}: how many traces were not there before, by what is
 * visible from `seq` on.  A trace whose id is there already stays as it is,
 * whatever this one says.  One whose id was forgotten is not written, unless
 * `restore`: what is delivered again does not bring back what a person had
 * taken away.
 *
 * ---- forget ----------------------------------------------------------------------
 *
 *     tenant    text
 *     now       time
 *     ids, types, scope, keys   as in read: traces that all of those take which
 *               are there
 *     before    time: those that were created before it
 *     all       true: where none of the others is there
 *
 * "output" {forgotten, seq}.  Afterwards nothing of those traces can be read in
 * any way that this interface has, nor found by looking for its words, and the
 * plugin keeps of them what it takes to know the ids again, and no more.
 */
#ifndef MORTISE_SDK_MEMORY_H
#define MORTISE_SDK_MEMORY_H

#include <mortise/ask.h>

MORTISE_C_BEGIN
#ifdef __cplusplus
extern "C" {
#endif

#define MORTISE_MEMORY_1 "mortise.memory/1"

/* Bytes, at most. */
#define MORTISE_MEMORY_ID       128
#define MORTISE_MEMORY_KEY      256
#define MORTISE_MEMORY_CONTENT  65536
#define MORTISE_MEMORY_METADATA 16384
#define MORTISE_MEMORY_NEXT     1024
#define MORTISE_MEMORY_TIME     INT64_C(253402300799999)
#define MORTISE_MEMORY_ANSWER   4194304 /* of contents, in one answer */
/* Traces of one read, traces and uses of one write, at most. */
#define MORTISE_MEMORY_TRACES 1000

typedef struct mortise_memory {
    uint32_t size;
    uint32_t flags; /* 0 */

    /* Each as said above.  [call & created] */
    mortise_status (*read)(mortise_inst *, const mortise_request *);
    mortise_status (*write)(mortise_inst *, const mortise_request *);
    mortise_status (*forget)(mortise_inst *, const mortise_request *);
} mortise_memory;

/* Codes of errors: what went wrong, and its class unless that is known better.
 */
#define MORTISE_MEMORY_BUSY "memory.busy" /* transient: others are at it */
#define MORTISE_MEMORY_FULL "memory.full" /* permanent: there is no room */
#define MORTISE_MEMORY_IO   "memory.io"   /* transient: it cannot be reached */
#define MORTISE_MEMORY_CORRUPT                                                 \
    "memory.corrupt" /* permanent: not what it wrote */
#define MORTISE_MEMORY_REQUEST                                                 \
    "memory.request" /* permanent: it cannot do that */

MORTISE_STATIC_ASSERT(sizeof(mortise_memory) == 32, "mortise_memory");

#ifdef __cplusplus
}
#endif
MORTISE_C_END
#endif
