/* mortise/guardrail.h -- what a guardrail plugin implements: it judges values
 * that go into nodes, come out of them, or pass along edges.
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
 * which get_interface() gives for MORTISE_GUARDRAIL_2.
 *
 * Threads    As the manifest's `threading` says.  `inline`: check() decides
 *            before it returns, and asks nothing.  `async`: it may return
 *            MORTISE_S_PENDING, ask(), and finish() later, from any thread.
 *            `blocking`: the same with ask_wait(), on a thread of its own.  As
 *            many checks at once as `concurrency` says.
 * Stage      Where it is judged: MORTISE_STAGE_...  Texts of tools are known by
 *            MORTISE_STAGE_TOOL_RESULT, and may try to tell a model what to do.
 * Verdict    What is emitted as "verdict", one JSON object: {"violation": bool,
 *            "reason"?: text}.  A check that ends without one did not pass.
 * Errors     A negative status, and fail()'s or finish()'s words.  An error, a
 *            crash and a timeout are violations, without a replacement.
 * Asking     It may look, and no more: state.get/1, kv.get/1, secret.get/1,
 *            schema.check/1, http.request/1 with GET or HEAD, and, which costs
 *            what it costs, model.call/1 and model.embed/1.  What changes the
 *            world or keeps a value is denied (MORTISE_S_DENIED), and so is what
 *            waits for somebody or for a time (MORTISE_S_UNSUPPORTED): a check is
 *            `read`, and is never suspended.
 * Again      A check that was under way when the process died is made again.
 *            What it was answered is kept with the run, as an executor's is: the
 *            same asks of the same value get the same answers without being
 *            done again.  So the executor's rule holds: between asks, be a
 *            function of your request and of the answers.
 * ABI        As in mortise/plugin.h.
 */
#ifndef MORTISE_SDK_GUARDRAIL_H
#define MORTISE_SDK_GUARDRAIL_H

#include <mortise/json.h>

MORTISE_C_BEGIN
#ifdef __cplusplus
extern "C" {
#endif

#define MORTISE_GUARDRAIL_2 "mortise.guardrail/2"

#define MORTISE_STAGE_INPUT  1 /* what goes into a node */
#define MORTISE_STAGE_OUTPUT 2 /* what came out of one */
#define MORTISE_STAGE_EDGE   3 /* what passes along an edge */
#define MORTISE_STAGE_NODE   4 /* the target of a guardrail node */
/* What a tool gave to a model that called it: words of whoever is behind the tool,
 * which nobody here has seen. */
#define MORTISE_STAGE_TOOL_RESULT 5
/* What a model calls a tool with, before anybody approves it and before it runs:
 * an object, the tool's arguments. */
#define MORTISE_STAGE_TOOL_CALL 6
/* What a node's memory gave, before the node knows of it: a list of traces.  They
 * may have been written by anybody, also by a model that was told to. */
#define MORTISE_STAGE_MEMORY_READ 7
/* An output that is about to become a trace. */
#define MORTISE_STAGE_MEMORY_WRITE 8

typedef struct mortise_guardrail {
    uint32_t size;
    uint32_t flags; /* 0 */

    /* Judge request->body; request->operation is empty.  Emit "verdict", and,
     * where you can offer a harmless replacement of the whole body, "output":
     * the graph decides whether it is used.  [call & created] */
    mortise_status (*check)(mortise_inst *, uint32_t stage,
                            const mortise_request *);
} mortise_guardrail;

/* At most 1000 bytes of words for people, whatever they are made of. */
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

/* Emit a verdict, once; `reason` is for people, NUL-terminated ("" or NULL:
 * none), and cut to a kilobyte. */
MORTISE_INLINE mortise_status mortise_emit_verdict(mortise_host *host,
                                                   const mortise_host_api *api,
                                                   mortise_call call,
                                                   int violation,
                                                   const char *reason)
{
    char room[6144]; /* no byte takes more than six in JSON */
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
