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
 * `provides: {model: {threading: async, concurrency: 0}}`, with `embed: true`
 * where it has that, and `requires: {methods: [http.request/1]}`.  A whole one
 * is examples/plugin-model.
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
 *            call is made again.  So a POST is answered whatever became of it,
 *            and with `stream` all of an answer comes in pieces, too.
 * Once       One call is one try: it repeats nothing.  Whoever asked decides
 *            what to do about an error, by its class and its code.
 * Errors     A negative status, and fail()'s or finish()'s words with a detail
 *            (plugin.h) whose code is one of those below and whose class says
 *            whether another try may help; `retry_after_ms` where the server
 *            said when.  It is the code and the class that count: of statuses
 *            MORTISE_S_CANCELLED and MORTISE_S_NOMEM reach who asked, as what
 *            they are; all others are one, MORTISE_S_FAILED say, and become
 *            {"error": {code, class, message}}.  Without a code that is
 *            "model.failed", without a class permanent (timeout of
 *            MORTISE_S_TIMEOUT).
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
 *                        [A-Za-z0-9_-]{1,64}, and a JSON Schema with `type:
 *                        object` and `properties`, and none of allOf, anyOf,
 *                        oneOf, not, enum and $ref at its top
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
 *                        they are, over what the plugin makes: whole members,
 *                        so that one of theirs takes the place of one of its
 *                        own
 *     timeout_ms         of it all; and
 *     idle_timeout_ms    without a byte: both are for http.request/1, whose own
 *                        60 s without a byte are short for a model that is only
 *                        being loaded, or says nothing until it has said all
 *
 * The host has checked it: what stands here is there and of that kind, and
 * there is nothing else.
 *
 * A server may have no way for one of these.  What would be another request
 * without it is refused, before anything is sent: model.request, permanent,
 * with words that name it.  That is a tool_choice that demands a call, `stop`,
 * and any part of the user's or of a tool's that the server does not take.
 * What only asks for something better is left out: parallel_tools,
 * reasoning_effort, cache, and `response`, since the host judges itself whether
 * a reply is JSON of that schema (ask.h).  With tool_choice "none" no tools may
 * be offered at all.
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
 *     tool_call     {id, name, arguments}: assistant's.  arguments is an
 *                   object; or arguments_text, what the model wrote where that
 *                   is none (its result says so: a server that takes nothing
 *                   but objects may get an empty one)
 *     tool_result   {id, name?, parts, is_error?}: tool's; its parts are texts,
 *                   images and files.  Nodes always say the name; what else
 *                   asks may leave it to the call with that id
 *     reasoning     {text?}: assistant's
 *     refusal       {text}: assistant's
 *
 * and, on a text, tool_call, reasoning or refusal of the assistant's,
 * `provider`: {issuer, data}, what only that provider understands (reasoning
 * items, signatures), which is recorded and comes back as it was.  `issuer` is
 * a text, `data` any JSON, null where the stamp is all.  A plugin stamps what
 * it makes with an issuer that says where it is valid (protocol, server and
 * whatever else binds it), and takes back only its own: of another issuer a
 * text or a call goes without it, and a reasoning part is left out, as is one
 * without `provider`, which is for people to read.
 *
 * All results of one reply's calls stand behind it, each in a message or all in
 * one; an id is the call's, unique in its reply.  A server without ids for
 * calls gets none, and the plugin makes them.
 *
 * Texts that stand in one message are apart.  A server that has one text a
 * message gets them with a blank line in between; one that cannot be told that
 * a result is an error gets it with "error: " in front; one that knows no
 * refusals gets them as text.
 *
 * ---- chat: the reply --------------------------------------------------------
 *
 * Emitted as "output", in as many pieces as you like, one JSON object, with
 * what stands here and nothing else (or the host says model.protocol):
 *
 *     message   of the assistant; its parts may be none.  Texts are pieces of
 *               one: who wants the reply's text puts them behind each other,
 *               with nothing in between.  A reply that ends ("end") without a
 *               text, a call or a refusal becomes the error model.empty
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
 * "tools" follows from the parts: a reply that was not cut and has tool calls
 * is one, whatever the server calls it.  A stream that ends before it said that
 * it does is no reply, but the error `model.stream`, transient.
 *
 * What a model wrote is not always what the host takes (plugin.h, Text): an
 * `arguments` with a name twice fails the call as `bad_output`, unless you give
 * it as arguments_text.
 *
 * With `stream`, "delta" is emitted for each piece of text as it comes, and
 * "reasoning" for each of reasoning: UTF-8, for whoever watches; nothing is
 * made of them.  A plugin may have its server stream also where nobody watches.
 *
 * ---- embed ------------------------------------------------------------------
 *
 * request->body {model, texts: [text ...], dimensions?, extra?, timeout_ms?};
 * "output" {vectors: [[number ...] ...], model?}, a vector for each text.
 *
 * ---- what it used -----------------------------------------------------------
 *
 * "usage" is emitted when the server said it, once, since what is emitted adds
 * up: {model_calls: 1, input_tokens, output_tokens, model?}, and of those, as
 * far as they are known, cached_tokens and cache_write_tokens (parts of the
 * input) and reasoning_tokens (of the output).  Input is all input, what was
 * cached included.  Dollars are the host's business, by the alias's `price`.
 *
 * It counts also of a call that fails afterwards.  One that fails without it
 * has used nothing; a reply without it counts as one call of a model.
 */
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
    /* The same of texts to vectors; NULL: it has none.  [call & created] */
    mortise_status (*embed)(mortise_inst *, const mortise_request *);
} mortise_model;

/* Codes of errors: what went wrong, and its class unless that is known better.
 *
 * The numbers are those of an answer of http.request/1 whose body says no more
 * than that; others from 400 on are as 400, and from 500 on as 500.  Where no
 * answer came, MORTISE_S_TIMEOUT is model.timeout, MORTISE_S_DENIED
 * model.connect (permanent: it may not go there), MORTISE_S_INVALID
 * model.request and MORTISE_S_FAILED model.protocol.  MORTISE_S_IO is two
 * things: before the head of an answer came, model.connect; behind it,
 * model.stream.  What answers and is no such server at all (a proxy's page, a
 * redirect) is model.protocol.
 */
#define MORTISE_MODEL_AUTH      "model.auth"      /* permanent: 401, 403 */
#define MORTISE_MODEL_NOT_FOUND "model.not_found" /* permanent: 404 */
#define MORTISE_MODEL_REQUEST   "model.request"   /* permanent: 400, 413, 422 */
#define MORTISE_MODEL_CONTEXT   "model.context" /* permanent: it is too long */
#define MORTISE_MODEL_QUOTA     "model.quota" /* permanent: 402; nothing left */
#define MORTISE_MODEL_RATE      "model.rate_limit" /* transient: 429 */
#define MORTISE_MODEL_OVERLOAD  "model.overloaded" /* transient: 503, 529 */
#define MORTISE_MODEL_SERVER    "model.server"  /* transient: 500, 502, 504 */
#define MORTISE_MODEL_CONNECT   "model.connect" /* transient: no connection */
#define MORTISE_MODEL_STREAM    "model.stream"  /* transient: it broke off */
#define MORTISE_MODEL_TIMEOUT   "model.timeout" /* timeout: 408 */
#define MORTISE_MODEL_EMPTY                                                    \
    "model.empty" /* transient: the host's, of a reply with nothing in it */
#define MORTISE_MODEL_PROTOCOL "model.protocol" /* permanent: no such reply */
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
MORTISE_C_END
#endif
