/* mortise/discovery.h -- what a discovery plugin implements: discover() ranks
 * tools, skills, extensions and nodes by how well they match a text.
 *
 *     static mortise_status discover(mortise_inst *i, const mortise_request *r)
 *     {
 *         ... read r->body, rank its candidates, and emit
 *         {"results": [{"id": "file/read", "kind": "tool", "score": 3.2}]}
 *     }
 *
 *     static const mortise_discovery discovery = {
 *         sizeof discovery, 0, discover, NULL};
 *
 * get_interface() returns that struct for MORTISE_DISCOVERY_1.  The manifest
 * has `provides: {discovery: {threading: async, concurrency: 4}}`.
 *
 * A deployment lists discovery plugins in `discovery: {plugins: [...]}`.  The
 * engine asks each of them and merges the results (below).  Three things ask: a
 * node's discovery_policy, a discovery edge, and an executor's
 * discovery.query/1 (mortise/ask.h).
 *
 * Threads    As in the manifest's `threading`, as for guardrails.
 *              `inline`    discover() answers before it returns, and may not
 *                          ask.
 *              `async`     discover() may return MORTISE_S_PENDING, ask(), and
 *                          finish() later, from any thread.
 *              `blocking`  the same with ask_wait(), on a thread of a pool.
 *            Up to `concurrency` calls run at once.
 * Asking     secret.get/1, and http.request/1 with any method.  Everything
 *            else gives MORTISE_S_UNSUPPORTED.  A call is never suspended,
 *            and must store nothing and change nothing.  Its asks are part of
 *            the step that it serves and are not recorded: after a crash the
 *            whole call is made again.  The engine records the whole result
 *            before anything uses it.
 * Errors     A negative status, and a message by fail() or finish().  If a
 *            plugin fails, dies, times out or breaks the rules below, it has
 *            no results; the results of the other plugins count.  If none
 *            answers, the graph's `fallback` decides.
 * ABI        As in mortise/plugin.h.
 *
 * ---- the request
 * -------------------------------------------------------------
 *
 * request->operation is empty, request->body one JSON object:
 *
 *   query        text, 1 to MORTISE_DISCOVERY_QUERY_MAX bytes: the search text
 *   kind         "tool", "skill", "extension", "node" or "any"
 *   max          integer from 1: the maximum number of results
 *   tokens       integer from 1: the limit for the texts of all results
 *                together, in tokens of four bytes, rounded up for each text
 *   candidates   a list of {id, kind, name, description?, input_schema?}: the
 *                tools, extensions and nodes that may be found; may be empty.
 *                No two have the same id and kind.  A node's description is
 *                its `capability`.
 *
 * Ignore unknown members.
 *
 * ---- the answer
 * --------------------------------------------------------------
 *
 * Emitted as "output", in any number of pieces, one JSON object:
 *
 *   results      a list, the best first, of at most `max`:
 *     id         text, 1 to MORTISE_DISCOVERY_ID_MAX bytes.  For a tool, an
 *                extension or a node: the id of a candidate of that kind; the
 *                host refuses any other.  For a skill: an id of your own;
 *                skills are found in the places that your config names.
 *     kind       "tool", "skill", "extension" or "node": the requested kind,
 *                or any of them if `kind` is "any"
 *     score      number, greater is better, on a scale of your own.  The host
 *                shows it and compares it with no other plugin's scores.
 *     text       the text that a model sees; optional.  For a skill it is the
 *                text that is added to the prompt.
 *     tier       how much `text` contains: "name", "summary" or "full";
 *                required with `text`, and not allowed without it
 *
 * The host refuses the whole answer if any result breaks these rules: the same
 * id and kind twice, more than `max` results, a kind that was not requested, or
 * an id that is no candidate's.  An empty list is valid: nothing was found.
 *
 * Several plugins get the same request.  The host merges their lists by
 * reciprocal rank.  A result gets 1 / (60 + p) from each plugin that lists it
 * at place p (from 1).  Results with equal sums keep the order of the
 * deployment's plugins.  The text of a result is that of the first plugin that
 * gave one.  The host keeps texts in the order of the merged list until
 * `tokens` is used up; later results have no text.
 *
 * ---- pinned entries
 * --------------------------------------------------------------
 *
 * Descriptions from outside can change at any time, and models read them.  So a
 * plugin may use such a description only if it has the digest that a person
 * approved.  The host puts `pins` into the plugin's config: a mapping of its
 * keys to digests, from the deployment's lock file.  list() returns the current
 * entries: `mortise discovery pin` shows them to a person and writes their
 * digests.
 *
 * request->operation is empty, the body {}.  Emitted as "output", one object:
 *
 *   entries      a list, in any order:
 *     key        text, 1 to MORTISE_DISCOVERY_KEY_MAX bytes, without a NUL; no
 *                two have the same
 *     digest     64 lower-case hexadecimal digits: the digest of everything
 *                that you would use of the entry, so that two entries with the
 *                same digest are equal
 *     entry      any JSON: all that the digest covers, as people should see it
 *
 * If an entry breaks these rules, the host refuses the whole answer. */
#ifndef MORTISE_SDK_DISCOVERY_H
#define MORTISE_SDK_DISCOVERY_H

#include <mortise/json.h>

MORTISE_C_BEGIN
#ifdef __cplusplus
extern "C" {
#endif

#define MORTISE_DISCOVERY_1 "mortise.discovery/1"

/* Maximum bytes of a query, an id and a pinned key. */
#define MORTISE_DISCOVERY_QUERY_MAX 65536
#define MORTISE_DISCOVERY_ID_MAX    256
#define MORTISE_DISCOVERY_KEY_MAX   512 /* of a pinned entry */

typedef struct mortise_discovery {
    uint32_t size;
    uint32_t flags; /* 0 */

    /* Search for the `query` of request->body; emit "output".  [call & created]
     */
    mortise_status (*discover)(mortise_inst *, const mortise_request *);

    /* List the entries that can be pinned (above); emit "output".  NULL, or
     * beyond `size`: the plugin has none.  [call & created] */
    mortise_status (*list)(mortise_inst *, const mortise_request *);
} mortise_discovery;

/* Append one result to the list that is open in w.  If `text` or `tier` is
 * NULL, the result has no text.  `id`, `kind` and `tier` are NUL-terminated. */
MORTISE_INLINE void mortise_jw_found(mortise_jw *w, const char *id,
                                     const char *kind, double score,
                                     const mortise_str *text, const char *tier)
{
    mortise_jw_object(w);
    mortise_jw_key(w, "id");
    mortise_jw_cstr(w, id);
    mortise_jw_key(w, "kind");
    mortise_jw_cstr(w, kind);
    mortise_jw_key(w, "score");
    mortise_jw_double(w, score);
    if (text != NULL && tier != NULL) {
        mortise_jw_key(w, "text");
        mortise_jw_string(w, *text);
        mortise_jw_key(w, "tier");
        mortise_jw_cstr(w, tier);
    }
    mortise_jw_end(w);
}

MORTISE_STATIC_ASSERT(sizeof(mortise_discovery) == 24, "mortise_discovery");

#ifdef __cplusplus
}
#endif
MORTISE_C_END
#endif
