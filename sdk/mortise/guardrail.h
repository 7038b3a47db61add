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
 *              `inline`    check() must decide before it returns, and cannot
 *                          use ask().
 *              `async`     check() may return MORTISE_S_PENDING, ask(), and
 *                          finish() later, from any thread.
 *              `blocking`  the same with ask_wait() instead of ask(), on a
 *                          thread of a pool.
 *            Up to `concurrency` checks run at once.
 * Stage      The place in the run where the value is judged: one of
 *            MORTISE_STAGE_... below.  For example, results of tools have the
 *            stage MORTISE_STAGE_TOOL_RESULT.
 * Verdict    Emit one JSON object as "verdict": {"violation": bool, "reason"?:
 *            text}.  If a check emits no verdict, the value counts as a
 *            violation.
 * Errors     Return a negative status, and a message by fail() or finish().  If
 *            a check fails, crashes or times out, the value counts as a
 *            violation without a replacement.
 * Asking     A check must not change anything, and is never suspended.  It may
 *            ask state.get/1, kv.get/1, secret.get/1, schema.check/1 and
 *            http.request/1 with GET or HEAD.  It may also ask model.call/1 and
 *            model.embed/1, which cost money.  If an ask would change or store
 *            something, the host refuses it with MORTISE_S_DENIED.  If an ask
 *            would wait for a person or a time, the host refuses it with
 *            MORTISE_S_UNSUPPORTED.
 * Replay     If the process dies during a check, the engine makes the check
 *            again.  The answers to the asks of a check are stored with the
 *            run, as for executors.  So the same asks about the same value get
 *            the same answers, and are not performed again.  Therefore, between
 *            asks, your code must depend only on the request and on the
 *            answers.
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
/* The result of a tool, before the model that called the tool reads it.  The
 * text comes from outside and may try to give instructions to the model. */
#define MORTISE_STAGE_TOOL_RESULT 5
/* The arguments with which a model calls a tool: a JSON object.  The check is
 * made before a person approves the call and before the tool runs. */
#define MORTISE_STAGE_TOOL_CALL 6
/* The traces that the memory returned for a node: a JSON list, before the node
 * gets it.  A trace can be the text of any person, or of a model that was
 * manipulated. */
#define MORTISE_STAGE_MEMORY_READ 7
/* The output of a node that is about to be stored as a trace in the memory. */
#define MORTISE_STAGE_MEMORY_WRITE 8

typedef struct mortise_guardrail {
    uint32_t size;
    uint32_t flags; /* 0 */

    /* Judge request->body; request->operation is empty.  Emit "verdict".  If
     * you can offer a harmless replacement for the whole body, also emit the
     * replacement as "output".  The graph decides whether the run uses it.
     * [call & created] */
    mortise_status (*check)(mortise_inst *, uint32_t stage,
                            const mortise_request *);
} mortise_guardrail;

/* Write at most 1000 bytes of the reason; replace bytes that are not UTF-8. */
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

/* Emit the verdict of a check; call this once for each check.  `reason` is a
 * NUL-terminated text for people ("" or NULL: none), of which a kilobyte is
 * used. */
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
