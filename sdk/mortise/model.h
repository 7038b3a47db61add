/* mortise/model.h -- what a plugin implements that is a way to models: one call
 * of one, from messages to a reply, or from texts to vectors.
 *
 *     static mortise_status chat(mortise_inst *i, const mortise_request *r)
 *     {
 *         ... ask http.request/1 with what r->body says, and return
 *         MORTISE_S_PENDING; when the answer is there, emit "output" and finish
 *     }
 *
 *     static const mortise_model model = {sizeof model, 0, chat, NULL};
 *
 * which get_interface() gives for MORTISE_MODEL_1.  Its manifest says
 * `provides: {model: {threading: async, concurrency: 0}}`.
 *
 * Who calls it: a deployment's `models` give aliases to such plugins, and each
 * alias is an instance of its own, whose config is what its mapping says beside
 * the keys of the deployment itself (`provider`, `model`, `price` ...).  Other
 * plugins ask model.call/1 and model.embed/1 (mortise/ask.h) with an alias; the
 * host checks, counts and records, and calls here.
 *
 * Threads    As the manifest's `threading` says, as for executors.
 * Asking     state.get/1, secret.get/1, and http.request/1 with any method;
 *            nothing else (MORTISE_S_UNSUPPORTED): it is never suspended, keeps
 *            nothing, and asks no other model.  Its asks are part of the one
 *            step that it serves: none is recorded, and after a crash the whole
 *            call is made again.
 * Once       One call is one try: it repeats nothing.  Whoever asked decides
 *            what to do about an error, by its class and its code.
 * Errors     A negative status, and fail()'s or finish()'s words with a detail
 *            (plugin.h) whose code is one of those below and whose class says
 *            whether another try may help; `retry_after_ms` where the server
 *            said when.
 * ABI        As in mortise/plugin.h.
 *
 * ---- chat: the request ----------------------------------------------------
 *
 * request->body is one JSON object.  What is not there was not said: it is left
 * to the server, and no value is made up for it.
 *
 *     model              text: what the server calls it
 *     messages           a list of one or more; see below
 *     tools              a list of {name, description?, parameters}: a name of
 *                        [A-Za-z0-9_-]{1,64}, and a JSON Schema of an object
 *     tool_choice        "auto", "none", "required", or {name}
 *     parallel_tools     bool: may one reply call several?
 *     temperature        number
 *     max_tokens         integer: of the reply, what it reasons included
 *     stop               a list of texts
 *     reasoning_effort   text, as the server has it ("low", "high" ...)
 *     response           {schema?, name?}: the reply's text is JSON, of that
 *                        schema if there is one; absent: text
 *     cache              bool: ask for the prefix to be kept, where that has to
 *                        be asked for
 *     stream             bool: emit deltas as they come
 *     extra              object: members of the server's own request, put in as
 *                        they are, over what the plugin makes
 *     timeout_ms         of it all; and
 *     idle_timeout_ms    without a byte
 *
 * ---- messages --------------------------------------------------------------
 *
 *     {"role": "system" | "user" | "assistant" | "tool", "parts": [PART ...]}
 *
 * A part is an object with a `type`:
 *
 *     text          {text}
 *     image         {url} or {media_type, data}, data in base64
 *     file          {url} or {media_type, data, name?}
 *     tool_call     {id, name, arguments}: assistant's.  arguments is an object;
 *                   or arguments_text, what the model wrote where that is none
 *     tool_result   {id, name?, parts, is_error?}: tool's; its parts are texts,
 *                   images and files
 *     reasoning     {text?}: assistant's
 *     refusal       {text}: assistant's
 *
 * and, on any part of the assistant's, `provider`: {issuer, data}, what only
 * that provider understands (reasoning items, signatures), which is recorded and
 * comes back as it was.  A plugin stamps what it makes with an issuer that says
 * where it is valid (protocol, server and whatever else binds it), takes back
 * only its own, and leaves a reasoning part of another issuer out.
 *
 * All results of one reply's calls stand behind it, each in a message or all in
 * one; an id is the call's, unique in its reply.
 *
 * ---- chat: the reply --------------------------------------------------------
 *
 * Emitted as "output", once, one JSON object:
 *
 *     message   of the assistant
 *     stop      why it ended:
 *               "end"      the model had said all; or a stop text came
 *               "tools"    there are tool calls to be run
 *               "length"   max_tokens: what there is is cut, tool calls too
 *               "context"  the window is full: the same
 *               "refusal"  the model, or the server, will not
 *               "filter"   the server took something out
 *               "pause"    the server wants the same again, with this reply
 *               "other"    for another reason
 *     stop_reason   text: the server's own word for that; may be absent
 *     model         text: as the server says; may be absent
 *     id            text: the server's name for the request; may be absent
 *
 * "tools" follows from the parts: a reply that was not cut and has tool calls is
 * one, whatever the server calls it.  A stream that ends before it said that it
 * does is no reply, but the error `model.stream`, transient.
 *
 * With `stream`, "delta" is emitted for each piece of text as it comes, and
 * "reasoning" for each of reasoning: UTF-8, for whoever watches; nothing is
 * made of them.
 *
 * ---- embed ------------------------------------------------------------------
 *
 * request->body {model, texts: [text ...], dimensions?, extra?, timeout_ms?};
 * "output" {vectors: [[number ...] ...], model?}, a vector for each text.
 *
 * ---- what it used -----------------------------------------------------------
 *
 * "usage" is emitted once the server said it, also of a call that fails
 * afterwards: {model_calls: 1, input_tokens, output_tokens, model?}, and of
 * those, as far as they are known, cached_tokens and cache_write_tokens (parts
 * of the input) and reasoning_tokens (of the output).  Input is all input, what
 * was cached included.  Dollars are the host's business, by the alias's
 * `price`.
 */
#ifndef MORTISE_SDK_MODEL_H
#define MORTISE_SDK_MODEL_H

#include <mortise/ask.h>

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
    /* The same of texts to vectors; NULL: it has none.  [call & created] */
    mortise_status (*embed)(mortise_inst *, const mortise_request *);
} mortise_model;

/* Codes of errors: what went wrong, and its class unless that is known better.
 */
#define MORTISE_MODEL_AUTH      "model.auth"      /* permanent: 401, 403 */
#define MORTISE_MODEL_NOT_FOUND "model.not_found" /* permanent: 404 */
#define MORTISE_MODEL_REQUEST   "model.request"   /* permanent: 400, 413, 422 */
#define MORTISE_MODEL_CONTEXT   "model.context" /* permanent: it is too long */
#define MORTISE_MODEL_QUOTA     "model.quota"   /* permanent: nothing is left */
#define MORTISE_MODEL_RATE      "model.rate_limit" /* transient: 429 */
#define MORTISE_MODEL_OVERLOAD  "model.overloaded" /* transient: 503, 529 */
#define MORTISE_MODEL_SERVER    "model.server"   /* transient: 500, 502, 504 */
#define MORTISE_MODEL_CONNECT   "model.connect"  /* transient: no connection */
#define MORTISE_MODEL_STREAM    "model.stream"   /* transient: it broke off */
#define MORTISE_MODEL_TIMEOUT   "model.timeout"  /* timeout */
#define MORTISE_MODEL_PROTOCOL  "model.protocol" /* permanent: no such reply */
/* permanent: what `provider` of a part of this issuer's holds is not taken back
 * (any more); the same without those may be */
#define MORTISE_MODEL_PROVIDER "model.provider"

/* Bytes that one "delta" or "reasoning" may have. */
#define MORTISE_MODEL_PIECE 65536

/* Text of any length, in as many pieces as it takes, none of them cut inside a
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

/* A piece of the reply's text, or of its reasoning, as it comes. */
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
#endif
