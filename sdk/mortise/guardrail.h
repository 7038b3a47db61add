/* mortise/guardrail.h -- what a guardrail plugin implements: check() judges a
 * value that enters a node, leaves a node, or passes along an edge.
 *
 *     static mortise_status check(mortise_inst *i, uint32_t stage,
 *                                 const mortise_request *r)
 *     {
 *         return mortise_emit_verdict(i->host, i->api, r->call,
 *                                     is_harmful(r->body), "it is harmful");
 *     }
 *
 *     static const mortise_guardrail guardrail = {sizeof guardrail, 0, check};
 *
 * get_interface() returns that struct for MORTISE_GUARDRAIL_2.
 *
 * Threads    As in the manifest's `threading`.
 *              `inline`    check() decides before it returns, and may not ask.
 *              `async`     check() may return MORTISE_S_PENDING, ask(), and
 *                          finish() later, from any thread.
 *              `blocking`  the same with ask_wait(), on a thread of a pool.
 *            Up to `concurrency` checks run at once.
 * Stage      The point at which the value is judged: MORTISE_STAGE_...
 *            Texts of tools have the stage MORTISE_STAGE_TOOL_RESULT.  They
 *            may try to give instructions to a model.
 * Verdict    Emitted as "verdict", one JSON object: {"violation": bool,
 *            "reason"?: text}.  A check without a verdict is a violation.
 * Errors     A negative status, and a message by fail() or finish().  Errors,
 *            crashes and timeouts are violations without a replacement.
 * Asking     A check only reads, and is never suspended.  It may ask
 *            state.get/1, kv.get/1, secret.get/1, schema.check/1 and
 *            http.request/1 with GET or HEAD.  It may also ask model.call/1
 *            and model.embed/1, which cost money.  An ask that changes
 *            something or stores a value is refused with MORTISE_S_DENIED; one
 *            that waits for a person or a time, with MORTISE_S_UNSUPPORTED.
 * Replay     A check that was in flight when the process died is made again.
 *            Its answers are stored with the run, as those of an executor.
 *            The same asks about the same value get the same answers without
 *            being performed again.  Therefore, between asks, your code must
 *            depend only on the request and on the answers.
 * ABI        As in mortise/plugin.h. */
#ifndef MORTISE_SDK_GUARDRAIL_H
#define MORTISE_SDK_GUARDRAIL_H

#include <mortise/json.h>

MORTISE_C_BEGIN
#ifdef __cplusplus
extern "C" {
#endif

#define MORTISE_GUARDRAIL_2 "mortise.guardrail/2"

#define MORTISE_STAGE_INPUT  1 /* the input of a node */
#define MORTISE_STAGE_OUTPUT 2 /* the output of a node */
#define MORTISE_STAGE_EDGE   3 /* a value that passes along an edge */
#define MORTISE_STAGE_NODE   4 /* the target of a guardrail node */
/* A tool's result, before the model that called the tool reads it.  Its author
 * is outside Mortise, and nobody has checked the text. */
#define MORTISE_STAGE_TOOL_RESULT 5
/* The arguments with which a model calls a tool, an object.  Checked before the
 * call is approved and before the tool runs. */
#define MORTISE_STAGE_TOOL_CALL 6
/* The traces that a node's memory returned, a list, before the node gets them.
 * Anyone may have written them, also a model that was manipulated. */
#define MORTISE_STAGE_MEMORY_READ 7
/* An output that is about to be stored as a trace. */
#define MORTISE_STAGE_MEMORY_WRITE 8

typedef struct mortise_guardrail {
    uint32_t size;
    uint32_t flags; /* 0 */

    /* Judge request->body; request->operation is empty.  Emit "verdict".  If
     * you can offer a harmless replacement of the whole body, emit it as
     * "output": the graph decides whether it is used.  [call & created] */
    mortise_status (*check)(mortise_inst *, uint32_t stage,
                            const mortise_request *);
} mortise_guardrail;

/* At most 1000 bytes of reason text; invalid UTF-8 is replaced. */
MORTISE_INLINE void mortise_jp_reason(mortise_jw *w, const char *reason)
{
    const char *p = reason, *end = p + strlen(p);
    mortise_str one;

    mortise_jw_string_begin(w);
    while (p < end && p - reason < 1000) {
        uint64_t n =
            (unsigned char)*p < 0x80 ? 1 : (uint64_t)mortise_jp_utf8(p, end);

        one.p = n > 0 ? p : "?";
        one.n = n > 0 ? n : 1;
        mortise_jw_string_put(w, one);
        p += one.n;
    }
    mortise_jw_string_end(w);
}

/* Emit a verdict, once per check.  `reason` is for people, NUL-terminated (""
 * or NULL: none), and cut to a kilobyte. */
MORTISE_INLINE mortise_status mortise_emit_verdict(mortise_host *host,
                                                   const mortise_host_api *api,
                                                   mortise_call call,
                                                   int violation,
                                                   const char *reason)
{
    char room[6144]; /* a byte takes at most six in JSON */
    mortise_str kind, json;
    mortise_status status;
    mortise_jw w;

    mortise_jw_fixed(&w, room, sizeof room);
    mortise_jw_object(&w);
    mortise_jw_key(&w, "violation");
    mortise_jw_bool(&w, violation != 0);
    if (reason != NULL && reason[0] != '\0') {
        mortise_jw_key(&w, "reason");
        mortise_jp_reason(&w, reason);
    }
    mortise_jw_end(&w);
    status = mortise_jw_finish(&w, &json);
    kind.p = "verdict";
    kind.n = 7;
    return status == MORTISE_S_OK ? api->emit(host, call, kind, json) : status;
}

MORTISE_STATIC_ASSERT(sizeof(mortise_guardrail) == 16, "mortise_guardrail");

#ifdef __cplusplus
}
#endif
MORTISE_C_END
#endif
