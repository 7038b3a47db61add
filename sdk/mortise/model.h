/* mortise/model.h -- what a model plugin implements: one call of a model, from
 * messages to a reply, or from texts to vectors.
 *
 *     static mortise_status chat(mortise_inst *i, const mortise_request *r)
 *     {
 *         ... ask http.request/1 for what r->body describes, and return
 *         MORTISE_S_PENDING; on the answer, emit "output" and finish
 *     }
 *
 *     static const mortise_model model = {sizeof model, 0, chat, NULL};
 *
 * get_interface() returns that struct for MORTISE_MODEL_1.  The manifest has
 * `provides: {model: {threading: async, concurrency: 0}}`, `embed: true` if the
 * plugin has embed(), and `requires: {methods: [http.request/1]}`.
 * examples/plugin-model is a complete plugin.
 *
 * The key `models` of a deployment maps aliases to model plugins.  The host
 * makes one instance for each alias.  The instance's config is the alias's
 * mapping without the keys that the host uses (`provider`, `model`, `price`
 * ...).  Other plugins ask model.call/1 and model.embed/1 (mortise/ask.h) with
 * an alias.  The host checks each such ask against budgets and limits, calls
 * this interface, and records the reply.
 *
 * Threads    As in the manifest's `threading`, as for executors.
 * Asking     state.get/1, secret.get/1, and http.request/1 with any method.
 *            Other methods give MORTISE_S_UNSUPPORTED, so a model plugin cannot
 *            call another model.  A call is never suspended, and must not store
 *            anything.  The host does not record the answers to its asks: after
 *            a crash, it makes the whole call again.  Therefore the answer to a
 *            POST is never MORTISE_S_SUSPENDED, and with `stream` all of the
 *            answer comes in pieces.
 * One try    Send a request only once.  The caller of the model decides about
 *            retries, by the class and the code of the error.
 * Errors     Return a negative status, and a message by fail() or finish() with
 *            a detail (plugin.h).  The code in the detail is one of
 *            MORTISE_MODEL_... below; the class decides about retries.  If the
 *            server sent a time for a retry, give it as `retry_after_ms`.  The
 *            caller gets {"error": {code, class, message}}.  If you give no
 *            code, the code is "model.failed"; if you give no class, the error
 *            is permanent (for MORTISE_S_TIMEOUT: timeout).  If you return
 *            MORTISE_S_CANCELLED or MORTISE_S_NOMEM, the caller gets this
 *            status.  The host treats all other statuses like MORTISE_S_FAILED.
 * ABI        As in mortise/plugin.h.
 *
 * ---- chat: the request ----------------------------------------------------
 *
 * request->body is one JSON object.  If a member is absent, send no value for
 * it to the server, so that the server uses its default.
 *
 *   model              text: the server's name of the model
 *   messages           a list of one or more; see below
 *   tools              a list of {name, description?, parameters}: the name
 *                      matches [A-Za-z0-9_-]{1,64}; `parameters` is a JSON
 *                      Schema that has, at its top level, `type: object` and
 *                      `properties`, but none of allOf, anyOf, oneOf, not,
 *                      enum and $ref
 *   tool_choice        "auto", "none", "required", or {name}
 *   parallel_tools     bool: whether one reply may call several tools
 *   temperature        number
 *   max_tokens         integer: limit of the reply, including reasoning
 *   stop               a list of texts
 *   reasoning_effort   text: a value that the server knows ("low", "high" ...)
 *   response           {schema?, name?}: the reply's text must be JSON that
 *                      fits the schema, if there is one; absent: any text
 *   cache              bool: ask the server to cache the beginning of the
 *                      messages, if it does not do so anyway
 *   stream             bool: emit "delta" and "reasoning" while the reply
 *                      arrives
 *   extra              object: members to add to the request to the server,
 *                      unchanged.  Each replaces the whole member of the same
 *                      name in the request.
 *   timeout_ms         milliseconds for the whole call
 *   idle_timeout_ms    milliseconds without a byte from the server.  Pass both
 *                      timeouts to http.request/1: the default there, 60 s
 *                      without a byte, is too short for a model that is still
 *                      loading, or that sends nothing before the reply is
 *                      complete.
 *
 * The host has checked the body: all members have the right type, and there are
 * no unknown members.
 *
 * Perhaps your server does not support a member.  If the request without the
 * member would have another meaning, fail before you send anything: code
 * model.request, class permanent, with a message that names the member.  Do
 * this for:
 *
 *   - a tool_choice that demands a call
 *   - `stop`
 *   - any part of a user's or a tool's message that the server does not accept
 *
 * If the server does not support a member that only improves the reply, leave
 * it out: parallel_tools, reasoning_effort, cache, and `response` (the host
 * itself checks whether a reply is JSON that fits the schema; ask.h).  If
 * tool_choice is "none", you may send the request without tools.
 *
 * ---- messages --------------------------------------------------------------
 *
 *   {"role": "system" | "user" | "assistant" | "tool", "parts": [PART ...]}
 *
 * A part is an object with a `type`:
 *
 *   text          {text}
 *   image         {url} or {media_type, data}, data in base64
 *   file          {url} or {media_type, data, name?}
 *   tool_call     {id, name, arguments}: only from the assistant.  `arguments`
 *                 is an object.  If the model wrote something else, the part
 *                 has this text as `arguments_text` instead, and the
 *                 tool_result reports the error.  If the server accepts only
 *                 objects, you may send an empty object.
 *   tool_result   {id, name?, parts, is_error?}: only from a tool; `parts` are
 *                 texts, images and files.  Nodes always give the name of the
 *                 tool.  Other callers may omit it; then use the name in the
 *                 tool_call with the same id.
 *   reasoning     {text?}: only from the assistant
 *   refusal       {text}: only from the assistant
 *
 * A text, tool_call, reasoning or refusal part from the assistant may have the
 * member `provider`: {issuer, data}.  It has data that only one provider
 * understands (reasoning items, signatures).  Your plugin makes this member for
 * a reply; the host records it and passes it back unchanged in later requests.
 * `issuer` is a text.  `data` is any JSON; it is null if the issuer is enough.
 *
 * If you add `provider` to a part, the issuer must name everything that limits
 * the validity of the data (protocol, server and so on).  In a request, use the
 * data only if the issuer is your own.  If the issuer is another one, send a
 * text or a call without the data, and leave out a reasoning part.  Also leave
 * out a reasoning part without `provider`: only people read it.
 *
 * The results of all calls in one reply follow directly after that reply, in
 * one message or in several.  The id of a result is the id of its call, which
 * is unique in the reply.  If the server has no ids for calls, make ids in the
 * plugin, and send none to the server.
 *
 * Several text parts of one message are separate texts.  If the server cannot
 * represent something, send it as follows:
 *
 *   only one text in a message    join the texts with a blank line in between
 *   no mark for failed results    put "error: " in front of the result
 *   no refusals                   send the refusal as text
 *
 * ---- chat: the reply --------------------------------------------------------
 *
 * Emit one JSON object as "output", in any number of pieces, with these members
 * and no others (otherwise the call fails with model.protocol):
 *
 *   message   a message of the assistant; its list of parts may be empty.  The
 *             text parts of a reply are pieces of one text, with nothing in
 *             between.  If `stop` is "end" and the reply has no text, call or
 *             refusal, the call fails with model.empty.  This is so even if
 *             the reply has an image or a file, because nodes cannot use them.
 *             A text of blanks counts as no text.
 *   stop      why the reply ended:
 *             "end"      the model had finished, or wrote a text of `stop`
 *             "tools"    the reply has tool calls to run
 *             "length"   max_tokens is reached: the reply is cut, including its
 *                        tool calls
 *             "context"  the context window is full: the reply is cut
 *             "refusal"  the model or the server refused
 *             "filter"   the server removed something from the reply
 *             "pause"    the server expects the same request again, followed
 *                        by this reply
 *             "other"    any other reason
 *   stop_reason   text: the reason as the server wrote it; optional
 *   model         text: the model that the server reports; optional
 *   id            text: the server's id of the request; optional
 *
 * If a complete reply has tool calls, its `stop` is "tools", whatever reason
 * the server gives.  If it has a refusal and no calls, its `stop` is "refusal".
 * If you write "end" or "other" in these two cases, the host corrects it.  If a
 * stream ends before the server marked its end, there is no reply: fail with
 * model.stream, transient.
 *
 * The host does not accept all JSON that a model can write (plugin.h, Text).
 * For example, if `arguments` has a duplicate name, the call fails with
 * `bad_output`; give such arguments as arguments_text instead.
 *
 * With `stream`, emit "delta" for each piece of text when it arrives, and
 * "reasoning" for each piece of reasoning.  These pieces are UTF-8 for live
 * subscribers.  They are not a part of the reply, so the "output" must contain
 * the whole text again.  Even if `stream` is absent, you may request a stream
 * from the server.
 *
 * ---- embed ------------------------------------------------------------------
 *
 * request->body is {model, texts: [text ...], dimensions?, extra?,
 * timeout_ms?}.  Emit {vectors: [[number ...] ...], model?} as "output", with a
 * vector for each text, in the same order.
 *
 * ---- usage ------------------------------------------------------------------
 *
 * When the server has reported the usage, emit it once, because the host adds
 * up all usage of a call: {model_calls: 1, input_tokens, output_tokens,
 * model?}.  If you know them, add cached_tokens and cache_write_tokens (parts
 * of the input) and reasoning_tokens (a part of the output).  input_tokens is
 * all input, including cached input.  The host computes dollars from the
 * alias's `price`.
 *
 * Emitted usage counts even if the call fails later.  If a call fails without
 * usage, the host assumes that it used nothing.  If a reply has no usage, the
 * host counts one model call. */
#ifndef MORTISE_SDK_MODEL_H
#define MORTISE_SDK_MODEL_H

#include <mortise/ask.h>

MORTISE_C_BEGIN
#ifdef __cplusplus
extern "C" {
#endif

#define MORTISE_MODEL_1 "mortise.model/1"

typedef struct mortise_model {
    uint32_t size;
    uint32_t flags; /* 0 */

    /* Make one call of a model; request->operation is empty.  [call & created]
     */
    mortise_status (*chat)(mortise_inst *, const mortise_request *);
    /* Compute the vectors of texts.  NULL: the plugin cannot do this.  [call &
     * created] */
    mortise_status (*embed)(mortise_inst *, const mortise_request *);
} mortise_model;

/* Error codes, each with its usual class.  Use another class if you know that
 * it fits better.
 *
 * The numbers are HTTP statuses: use the code for such an answer of
 * http.request/1 if the body of the answer gives no better reason.  Treat other
 * statuses from 400 on as 400, and from 500 on as 500.  If http.request/1 gives
 * no answer, use:
 *
 *   MORTISE_S_TIMEOUT   model.timeout
 *   MORTISE_S_DENIED    model.connect, permanent: permissions.net denies it
 *   MORTISE_S_INVALID   model.request
 *   MORTISE_S_FAILED    model.protocol
 *   MORTISE_S_IO        model.connect if no head of an answer had come,
 *                       otherwise model.stream
 *
 * If the answer is not from a model server at all (a page of a proxy, a
 * redirect), use model.protocol. */
#define MORTISE_MODEL_AUTH      "model.auth"      /* permanent: 401, 403 */
#define MORTISE_MODEL_NOT_FOUND "model.not_found" /* permanent: 404 */
#define MORTISE_MODEL_REQUEST   "model.request"   /* permanent: 400, 413, 422 */
#define MORTISE_MODEL_CONTEXT   "model.context"   /* permanent: too long */
#define MORTISE_MODEL_QUOTA     "model.quota"   /* permanent: 402 */
#define MORTISE_MODEL_RATE      "model.rate_limit" /* transient: 429 */
#define MORTISE_MODEL_OVERLOAD  "model.overloaded" /* transient: 503, 529 */
#define MORTISE_MODEL_SERVER    "model.server"  /* transient: 500, 502, 504 */
#define MORTISE_MODEL_CONNECT   "model.connect" /* transient: no connection */
#define MORTISE_MODEL_STREAM    "model.stream"  /* transient: broken off */
#define MORTISE_MODEL_TIMEOUT   "model.timeout" /* timeout: 408 */
#define MORTISE_MODEL_EMPTY                                                    \
    "model.empty" /* transient: a reply without content; from the host */
#define MORTISE_MODEL_PROTOCOL "model.protocol" /* permanent: no valid reply */
/* permanent: the server no longer accepts the `provider` data of a part,
 * although the issuer is your own.  The same request without this data may
 * succeed. */
#define MORTISE_MODEL_PROVIDER "model.provider"

/* Maximum bytes of one "delta" or "reasoning". */
#define MORTISE_MODEL_PIECE 65536

/* Emit a text of any length in as many pieces as needed.  No character is split
 * over two pieces. */
MORTISE_INLINE mortise_status mortise_emit_pieces(mortise_host *host,
                                                  const mortise_host_api *api,
                                                  mortise_call call,
                                                  const char *kind,
                                                  mortise_str text)
{
    mortise_status status = MORTISE_S_OK;

    while (status == MORTISE_S_OK && text.n > 0) {
        mortise_str piece = text;

        if (text.n > MORTISE_MODEL_PIECE) {
            piece.n = MORTISE_MODEL_PIECE;
            while (piece.n > MORTISE_MODEL_PIECE - 4 &&
                   ((unsigned char)text.p[piece.n] & 0xC0) == 0x80)
                piece.n--;
        }
        status = api->emit(host, call, mortise_strz(kind), piece);
        text.p += piece.n;
        text.n -= piece.n;
    }
    return status;
}

/* Emit a piece of the reply's text, or of its reasoning, when it arrives. */
MORTISE_INLINE mortise_status mortise_emit_delta(mortise_host *host,
                                                 const mortise_host_api *api,
                                                 mortise_call call,
                                                 mortise_str text)
{
    return mortise_emit_pieces(host, api, call, "delta", text);
}

MORTISE_INLINE mortise_status
mortise_emit_reasoning(mortise_host *host, const mortise_host_api *api,
                       mortise_call call, mortise_str text)
{
    return mortise_emit_pieces(host, api, call, "reasoning", text);
}

MORTISE_STATIC_ASSERT(sizeof(mortise_model) == 24, "mortise_model");

#ifdef __cplusplus
}
#endif
MORTISE_C_END
#endif
