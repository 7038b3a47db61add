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
 * A deployment's `models` maps aliases to model plugins.  Each alias is an
 * instance of its own.  Its config is the alias's mapping without the keys of
 * the deployment itself (`provider`, `model`, `price` ...).  Other plugins ask
 * model.call/1 and model.embed/1 (mortise/ask.h) with an alias.  The host
 * checks, counts and records, and calls this interface.
 *
 * Threads    As in the manifest's `threading`, as for executors.
 * Asking     state.get/1, secret.get/1, and http.request/1 with any method.
 *            Everything else gives MORTISE_S_UNSUPPORTED.  A call is never
 *            suspended, must store nothing, and cannot ask another model.  Its
 *            asks are part of the step that it serves and are not recorded:
 *            after a crash the whole call is made again.  Therefore a POST
 *            always gets an answer, never MORTISE_S_SUSPENDED, and with
 *            `stream` the whole answer comes in pieces.
 * One try    Do not repeat a request.  The caller decides about retries, by
 *            the class and the code of the error.
 * Errors     A negative status, and a message by fail() or finish() with a
 *            detail (plugin.h).  Its code is one of those below; its class
 *            decides about retries; give `retry_after_ms` if the server sent
 *            it.  The caller gets {"error": {code, class, message}}.  Without
 *            a code it is "model.failed"; without a class it is permanent
 *            (timeout for MORTISE_S_TIMEOUT).  Two statuses reach the caller
 *            as they are: MORTISE_S_CANCELLED and MORTISE_S_NOMEM.  All other
 *            statuses are treated alike, as MORTISE_S_FAILED is.
 * ABI        As in mortise/plugin.h.
 *
 * ---- chat: the request ----------------------------------------------------
 *
 * request->body is one JSON object.  If a member is absent, leave the choice to
 * the server and send no value of your own.
 *
 *   model              text: the server's name of the model
 *   messages           a list of one or more; see below
 *   tools              a list of {name, description?, parameters}: a name of
 *                      [A-Za-z0-9_-]{1,64}, and a JSON Schema with `type:
 *                      object` and `properties`, and none of allOf, anyOf,
 *                      oneOf, not, enum and $ref at its top
 *   tool_choice        "auto", "none", "required", or {name}
 *   parallel_tools     bool: whether one reply may call several tools
 *   temperature        number
 *   max_tokens         integer: limit of the reply, reasoning included
 *   stop               a list of texts
 *   reasoning_effort   text, as the server has it ("low", "high" ...)
 *   response           {schema?, name?}: the reply's text is JSON, of that
 *                      schema if there is one; absent: text
 *   cache              bool: ask the server to cache the prefix, if the server
 *                      needs to be asked
 *   stream             bool: emit deltas as they come
 *   extra              object: members of the server's own request.  Put them
 *                      in unchanged, over the plugin's own: each replaces a
 *                      whole member of the same name.
 *   timeout_ms         milliseconds for the whole call
 *   idle_timeout_ms    milliseconds without a byte.  Pass both timeouts to
 *                      http.request/1: its default of 60 s without a byte is
 *                      too short for a model that is still loading, or that
 *                      sends nothing before the reply is complete.
 *
 * The host has checked the body: all members have the right type, and there are
 * no others.
 *
 * A server may not support a member.  If the request would mean something else
 * without the member, refuse it before you send anything: code model.request,
 * class permanent, with a message that names the member.  Refuse for:
 *
 *   - a tool_choice that demands a call
 *   - `stop`
 *   - any part of a user's or a tool's message that the server does not accept
 *
 * Leave out members that only improve the reply: parallel_tools,
 * reasoning_effort, cache, and `response` (the host itself checks whether a
 * reply is JSON of that schema; ask.h).  With tool_choice "none" you may offer
 * no tools at all.
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
 *   tool_call     {id, name, arguments}: of the assistant.  `arguments` is an
 *                 object.  If the model wrote something else, it is
 *                 `arguments_text` instead, and the result reports the error.
 *                 A server that accepts only objects may get an empty one.
 *   tool_result   {id, name?, parts, is_error?}: of a tool; its parts are
 *                 texts, images and files.  Nodes always give the name; other
 *                 callers may leave it to the call with that id.
 *   reasoning     {text?}: of the assistant
 *   refusal       {text}: of the assistant
 *
 * A text, tool_call, reasoning or refusal of the assistant may have `provider`:
 * {issuer, data}, which only that provider understands (reasoning items,
 * signatures).  It is recorded and comes back unchanged.  `issuer` is a text,
 * `data` any JSON; it is null if the issuer alone is enough.
 *
 * Mark the parts that you make with an issuer that names everything that limits
 * their validity (protocol, server and so on).  Accept only your own issuer.
 * If the issuer is another one, send a text or a call without `provider`, and
 * leave out a reasoning part.  Also leave out a reasoning part without
 * `provider`, which is for people to read.
 *
 * All results of one reply's calls follow that reply, each in a message or all
 * in one.  The id is that of the call, unique in its reply.  If a server has no
 * ids for calls, send none and make them in the plugin.
 *
 * Several texts of one message are separate texts.  If a server cannot
 * represent something, send it as follows:
 *
 *   one text a message     join the texts with a blank line in between
 *   no errors of results   put "error: " in front of the result
 *   no refusals            send the refusal as text
 *
 * ---- chat: the reply --------------------------------------------------------
 *
 * Emitted as "output", in any number of pieces, one JSON object with these
 * members and no others (otherwise the host gives the error model.protocol):
 *
 *   message   of the assistant; its parts may be empty.  The texts of a reply
 *             are pieces of one text: join them with nothing in between.  A
 *             reply that ends ("end") without a text, a call or a refusal
 *             becomes the error model.empty, also if it has an image or a
 *             file: nodes have no use for those.  Blank texts count as none.
 *   stop      why the reply ended:
 *             "end"      the model was finished, or a stop text came
 *             "tools"    there are tool calls to run
 *             "length"   max_tokens: the reply is cut, tool calls too
 *             "context"  the context window is full: the reply is cut
 *             "refusal"  the model or the server refuses
 *             "filter"   the server removed something
 *             "pause"    the server wants the same request again, with this
 *                        reply
 *             "other"    any other reason
 *   stop_reason   text: the server's own word for the reason; optional
 *   model         text: the model that the server reports; optional
 *   id            text: the server's name of the request; optional
 *
 * If a complete reply has tool calls, its `stop` is "tools", whatever the
 * server calls it.  If it has a refusal and no calls, its `stop` is "refusal".
 * The host corrects "end" and "other" of both.  If a stream ends before the server marked its end, that is
 * no reply but the error `model.stream`, transient.
 *
 * The host does not accept everything that a model can write (plugin.h, Text).
 * `arguments` with a duplicate name fail the call as `bad_output`; give them as
 * arguments_text instead.
 *
 * With `stream`, emit "delta" for each piece of text as it comes, and
 * "reasoning" for each piece of reasoning.  They are UTF-8, for live
 * subscribers, and no part of the reply.  You may let the server stream also
 * when `stream` is absent.
 *
 * ---- embed ------------------------------------------------------------------
 *
 * request->body {model, texts: [text ...], dimensions?, extra?, timeout_ms?};
 * "output" {vectors: [[number ...] ...], model?}, a vector for each text.
 *
 * ---- usage ------------------------------------------------------------------
 *
 * Emit "usage" once, when the server reported it, because usage adds up:
 * {model_calls: 1, input_tokens, output_tokens, model?}, and if they are known
 * cached_tokens and cache_write_tokens (parts of the input) and
 * reasoning_tokens (part of the output).  Input is all input, cached input
 * included.  The host computes dollars from the alias's `price`.
 *
 * Usage counts also if the call fails later.  A failed call without usage has
 * used nothing; a reply without usage counts as one model call. */
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
    /* Compute the vectors of texts.  NULL: the plugin has none.  [call &
     * created] */
    mortise_status (*embed)(mortise_inst *, const mortise_request *);
} mortise_model;

/* Codes of errors, with the usual class.  Give another class if you know
 * better.
 *
 * The numbers are statuses of an answer of http.request/1 whose body gives no
 * better reason.  Treat other statuses from 400 on as 400, from 500 on as 500.
 * Without an answer:
 *
 *   MORTISE_S_TIMEOUT   model.timeout
 *   MORTISE_S_DENIED    model.connect, permanent: permissions.net denies it
 *   MORTISE_S_INVALID   model.request
 *   MORTISE_S_FAILED    model.protocol
 *   MORTISE_S_IO        model.connect before the head of an answer came, else
 *                       model.stream
 *
 * If the answer is not from such a server at all (a proxy's page, a redirect),
 * the code is model.protocol. */
#define MORTISE_MODEL_AUTH      "model.auth"      /* permanent: 401, 403 */
#define MORTISE_MODEL_NOT_FOUND "model.not_found" /* permanent: 404 */
#define MORTISE_MODEL_REQUEST   "model.request"   /* permanent: 400, 413, 422 */
#define MORTISE_MODEL_CONTEXT   "model.context" /* permanent: it is too long */
#define MORTISE_MODEL_QUOTA     "model.quota"   /* permanent: 402 */
#define MORTISE_MODEL_RATE      "model.rate_limit" /* transient: 429 */
#define MORTISE_MODEL_OVERLOAD  "model.overloaded" /* transient: 503, 529 */
#define MORTISE_MODEL_SERVER    "model.server"  /* transient: 500, 502, 504 */
#define MORTISE_MODEL_CONNECT   "model.connect" /* transient: no connection */
#define MORTISE_MODEL_STREAM    "model.stream"  /* transient: it broke off */
#define MORTISE_MODEL_TIMEOUT   "model.timeout" /* timeout: 408 */
#define MORTISE_MODEL_EMPTY                                                    \
    "model.empty" /* transient: a reply without content; from the host */
#define MORTISE_MODEL_PROTOCOL "model.protocol" /* permanent: no valid reply */
/* permanent: the server no longer accepts the `provider` of a part that this
 * issuer made.  The request may succeed without those. */
#define MORTISE_MODEL_PROVIDER "model.provider"

/* Maximum bytes of one "delta" or "reasoning". */
#define MORTISE_MODEL_PIECE 65536

/* Emit a text of any length in as many pieces as needed.  No piece cuts a
 * character. */
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

/* Emit a piece of the reply's text, or of its reasoning, as it comes. */
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
