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
 * engine calls each of them and merges their results (see below).  It does so
 * for a node's discovery_policy, for a discovery edge, and for
 * discovery.query/1 of an executor (mortise/ask.h).
 *
 * Threads    As in the manifest's `threading`, as for guardrails.
 *              `inline`    discover() must answer before it returns, and
 *                          cannot use ask().
 *              `async`     discover() may return MORTISE_S_PENDING, ask(), and
 *                          finish() later, from any thread.
 *              `blocking`  the same with ask_wait() instead of ask(), on a
 *                          thread of a pool.
 *            Up to `concurrency` calls run at once.
 * Asking     secret.get/1, and http.request/1 with any method.  Other methods
 *            give MORTISE_S_UNSUPPORTED.  A call is never suspended, and must
 *            not store or change anything.  The engine does not record the
 *            answers to its asks: after a crash, it makes the whole call again.
 *            The engine records the result of discover() before anything uses
 *            it.
 * Errors     Return a negative status, and a message by fail() or finish().  If
 *            a plugin fails, dies, times out or breaks the rules below, the
 *            engine uses only the results of the other plugins.  If no plugin
 *            answers, the graph's `fallback` decides what happens.
 * ABI        As in mortise/plugin.h.
 *
 * ---- the request
 * -------------------------------------------------------------
 *
 * request->operation is empty.  request->body is one JSON object:
 *
 *   query        text, 1 to MORTISE_DISCOVERY_QUERY_MAX bytes: the search text
 *   kind         "tool", "skill", "extension", "node" or "any"
 *   max          integer from 1: the maximum number of results
 *   tokens       integer from 1: the limit for the texts of all results
 *                together, in tokens.  A token is four bytes; the size of each
 *                text is rounded up.
 *   candidates   a list of {id, kind, name, description?, input_schema?}: the
 *                tools, extensions and nodes that may be found; may be empty.
 *                No two candidates have the same id and kind.  The
 *                description of a node is its `capability`.
 *
 * Ignore unknown members.
 *
 * ---- the answer
 * --------------------------------------------------------------
 *
 * Emit one JSON object as "output", in any number of pieces:
 *
 *   results      a list of at most `max` results, the best first:
 *     id         text, 1 to MORTISE_DISCOVERY_ID_MAX bytes.  For a tool, an
 *                extension or a node: the id of a candidate of that kind.
 *                For a skill: an id that you choose, because skills are not
 *                among the candidates.  Your plugin finds skills in the
 *                places that its config names.
 *     kind       "tool", "skill", "extension" or "node": the requested kind,
 *                or any of them if `kind` is "any"
 *     score      number, greater is better, on a scale that you choose.  The
 *                host shows the score, but never compares it with scores of
 *                other plugins.
 *     text       the text that a model sees; optional.  For a skill, this
 *                text is added to the prompt.
 *     tier       how much `text` contains: "name", "summary" or "full";
 *                required with `text`, and not allowed without it
 *
 * The host refuses the whole answer if it breaks these rules, for example if it
 * has the same id and kind twice, more than `max` results, a kind that was not
 * requested, or an id that no candidate has.  An empty list is valid: nothing
 * was found.
 *
 * If the deployment has several plugins, they all get the same request.  The
 * host merges their lists by reciprocal rank: a result gets 1 / (60 + p) points
 * from each plugin that lists it at place p (from 1).  Results with equal
 * points have the order of the plugins in the deployment.  If several plugins
 * give a text for a result, the host uses the text of the first of these
 * plugins.  It includes texts in the order of the merged list until `tokens` is
 * used up; later results have no text.
 *
 * ---- pinned entries
 * --------------------------------------------------------------
 *
 * Some descriptions come from a server or another source outside, which can
 * change them at any time, and models read them.  A plugin must use such a
 * description only if a person has approved its digest.  The host adds `pins`
 * to the plugin's config: a mapping of keys to approved digests, from the
 * deployment's lock file.  list() returns the current entries.  `mortise
 * discovery pin` shows these entries to a person, and writes their digests into
 * the lock file.
 *
 * For list(), request->operation is empty, and request->body is {}.  Emit one
 * JSON object as "output":
 *
 *   entries      a list, in any order:
 *     key        text, 1 to MORTISE_DISCOVERY_KEY_MAX bytes, without a NUL; no
 *                two entries have the same key
 *     digest     64 lower-case hexadecimal digits: the digest of all parts of
 *                the entry that your plugin uses, so that two entries with
 *                the same digest have the same effect
 *     entry      any JSON: all parts that the digest covers, as people should
 *                see them
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

    /* List the entries that can be pinned (see above); emit "output".  NULL, or
     * beyond `size`: the plugin has no such entries.  [call & created] */
    mortise_status (*list)(mortise_inst *, const mortise_request *);
} mortise_discovery;

/* Append one result to the list `results`, which must be open in the writer w.
 * If `text` or `tier` is NULL, the result has no text.  `id`, `kind` and `tier`
 * are NUL-terminated. */
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
