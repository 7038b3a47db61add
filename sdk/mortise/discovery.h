/* mortise/discovery.h -- what a discovery plugin implements: of many things that
 * could be used it says which ones a text is about, the best first.
 *
 *     static mortise_status discover(mortise_inst *i, const mortise_request *r)
 *     {
 *         ... read r->body, rank its candidates, and emit
 *         {"results": [{"id": "file/read", "kind": "tool", "score": 3.2}]}
 *     }
 *
 *     static const mortise_discovery discovery = {sizeof discovery, 0, discover,
 *                                                 NULL};
 *
 * which get_interface() gives for MORTISE_DISCOVERY_1.  Its manifest says
 * `provides: {discovery: {threading: async, concurrency: 4}}`.
 *
 * Who calls it: a deployment's `discovery: {plugins: [...]}` names such plugins,
 * in an order; each is asked, and what they find is made one list (below).  It
 * is used by a node's discovery_policy, by discovery edges, and by executors
 * that ask discovery.query/1 (mortise/ask.h).
 *
 * Threads    As the manifest's `threading` says, as for guardrails.  `inline`:
 *            discover() answers before it returns, and asks nothing.  `async`:
 *            it may return MORTISE_S_PENDING, ask(), and finish() later, from
 *            any thread.  `blocking`: the same with ask_wait(), on a thread of
 *            its own.  As many calls at once as `concurrency` says.
 * Asking     secret.get/1, and http.request/1 with any method; nothing else
 *            (MORTISE_S_UNSUPPORTED): it is never suspended, keeps nothing, and
 *            changes nothing.  Its asks are part of the one step that it serves:
 *            none is recorded, and after a crash the whole call is made again.
 *            What it found is recorded, whole, before anything uses it.
 * Errors     A negative status, and fail()'s or finish()'s words.  A plugin that
 *            fails, dies, takes too long or breaks the rules below has found
 *            nothing: what the others found counts, and where none answered the
 *            graph's `fallback` says what happens.
 * ABI        As in mortise/plugin.h.
 *
 * ---- the request -------------------------------------------------------------
 *
 * request->operation is empty, request->body one JSON object:
 *
 *     query        text, 1 to MORTISE_DISCOVERY_QUERY_MAX bytes: what is looked for
 *     kind         "tool", "skill", "extension", "node" or "any"
 *     max          integer from 1: no more results than that
 *     tokens       integer from 1: what the texts of all results may take
 *                  together, a token for each four bytes or part of that
 *     candidates   a list of {id, kind, name, description?, input_schema?}, the
 *                  tools, extensions and nodes that may be found; may be empty.
 *                  No two have the same id and kind.  A node's description is
 *                  its `capability`.
 *
 * A member that is not known here is to be passed over.
 *
 * ---- the answer --------------------------------------------------------------
 *
 * Emitted as "output", in as many pieces as you like, one JSON object:
 *
 *     results      a list, the best first, of no more than `max`:
 *       id         text, 1 to MORTISE_DISCOVERY_ID_MAX bytes.  Of a tool, an
 *                  extension or a node one of the candidates', with its kind:
 *                  what is not among them is not allowed, and is refused.  A
 *                  skill's is yours: it is found in what your config names.
 *       kind       "tool", "skill", "extension" or "node"; what was asked for,
 *                  unless that is "any"
 *       score      number, greater is better; a scale of your own, which is
 *                  shown, and compared with nobody else's
 *       text       what a model is shown of it; may be absent, and is, for a
 *                  skill, what joins the prompt
 *       tier       how much `text` is: "name", "summary" or "full"; there where
 *                  `text` is, and only there
 *
 * The same id and kind twice, a list that is longer than `max`, a member of
 * another kind, or an id that is none of the candidates': the answer is refused
 * as a whole, since who lies about one thing may lie about others.  Nothing to
 * be found is an empty list, and no error.
 *
 * Several plugins: each is asked the same, and what they found is fused by
 * reciprocal rank: what stands at place p (from 1) of a plugin's list gets
 * 1 / (60 + p) of each plugin that found it; equal sums stand in the order of
 * the deployment's plugins.  Texts are the first plugin's that gave one.  In the
 * order of the fused list texts are kept as long as `tokens` lasts; what comes
 * behind that is there without its text.
 *
 * ---- what is pinned ------------------------------------------------------------
 *
 * What others say of things may be something else tomorrow, and models read it.
 * So a plugin may use what it was told only as somebody saw it once.  It gets
 * `pins` in its config, a mapping of its keys to digests, which the host takes from
 * the deployment's lock; and list() says what there is now, for people to look at:
 * `mortise discovery pin` shows it and writes it down.
 *
 * Its request->operation is empty, its body {}.  Emitted as "output", one object:
 *
 *     entries      a list, in any order:
 *       key        text, 1 to MORTISE_DISCOVERY_KEY_MAX bytes, without a NUL; no
 *                  two have the same
 *       digest     64 digits of hexadecimal, lower case: of all that you would use
 *                  of it, so that an entry with this digest is this entry
 *       entry      any JSON: all that the digest is of, as people should see it
 *
 * An entry that breaks these rules: the answer is refused as a whole.
 */
#ifndef MORTISE_SDK_DISCOVERY_H
#define MORTISE_SDK_DISCOVERY_H

#include <mortise/json.h>

MORTISE_C_BEGIN
#ifdef __cplusplus
extern "C" {
#endif

#define MORTISE_DISCOVERY_1 "mortise.discovery/1"

/* Bytes, at most: of a query, and of an id. */
#define MORTISE_DISCOVERY_QUERY_MAX 65536
#define MORTISE_DISCOVERY_ID_MAX    256
#define MORTISE_DISCOVERY_KEY_MAX   512 /* of what is pinned */

typedef struct mortise_discovery {
    uint32_t size;
    uint32_t flags; /* 0 */

    /* Look for request->body's `query`; emit "output".  [call & created] */
    mortise_status (*discover)(mortise_inst *, const mortise_request *);

    /* What there is that is pinned (above); emit "output".  NULL, or beyond
     * `size`: nothing of it is.  [call & created] */
    mortise_status (*list)(mortise_inst *, const mortise_request *);
} mortise_discovery;

/* One result more of the list that is open in w; text NULL or tier NULL: it has
 * none.  `id`, `kind` and `tier` are NUL-terminated. */
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
