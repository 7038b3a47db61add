/* mortise/plugin.h -- what a Mortise plugin is: the ABI, version 1.
 *
 * A plugin is a shared object.  It exports one symbol, the constant data
 * mortise_module_v1, and imports no symbol of Mortise.  The engine reads that
 * data, creates each plugin with a table of host functions, and calls the
 * interfaces that the plugin's manifest declares.  The same .so runs in the
 * engine or in a child process and cannot tell which.
 *
 * Threads    Each function names the threads that it runs on.
 *              [ctl]    never two at once for one instance
 *              [call]   up to the manifest's `concurrency` at once
 *              [inline] on the engine's thread: short, never blocks
 *              [any]    any thread, also concurrently
 *            The manifest's `threading` decides where [call] runs.
 *            `inline` and `async` calls run on the engine's thread and must
 *            never block; `async` calls may stay pending.  `blocking` calls
 *            run on a thread of a pool.
 * Ownership  Arguments are lent until you return.  If you leave a call
 *            pending, its request and all that the request points to are
 *            lent until you finish the call.  emit() copies your output into
 *            the host.  Neither side frees the other side's memory.
 * Errors     Return a negative mortise_status and give a message: call
 *            host->fail() before you return it, or pass the message to
 *            host->finish().  Programs read the status, people the message.
 *            The host treats a status that it does not know as
 *            MORTISE_S_FAILED.
 * ABI        Structs grow only at the end.  `size` is the first member: the
 *            size of the struct that its maker compiled.  Compare it before
 *            you read a member that is newer than ABI 1.0.  If a meaning
 *            changes, the interface gets a new id.  LP64 only.  No enum,
 *            bool, bit-field, long, va_list, FILE*, time_t, errno or locale
 *            crosses the boundary, and no exception or longjmp.
 * Text       UTF-8.  Bodies, outputs, details and configs are JSON.  JSON
 *            that you emit or ask with must have no duplicate name in an
 *            object and no NUL in a name.  Whole numbers must fit 64 bits,
 *            other numbers a double.  It may be nested 64 deep.  The reader
 *            in json.h accepts more than that.
 *
 * The ABI is stable from 0.2.0 on; docs/compatibility.md describes how it may
 * change. */
#ifndef MORTISE_PLUGIN_H
#define MORTISE_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define MORTISE_STATIC_ASSERT(x, why) static_assert(x, why)
#else
#define MORTISE_STATIC_ASSERT(x, why) _Static_assert(x, why)
#endif

#define MORTISE_ABI_MAJOR 1
#define MORTISE_ABI_MINOR 0

/* `n` bytes at `p`, not NUL-terminated.  `p` may be NULL if `n` is 0. */
typedef struct mortise_str {
    const char *p;
    uint64_t n;
} mortise_str;

typedef int32_t mortise_status; /* 0 ok, 1 pending, 2 suspended, < 0 error */
typedef uint64_t mortise_call;  /* a handle, never a pointer; 0: none; unique
                                   for the instance's life */

#define MORTISE_S_OK          0  /* done; the emitted output is the result */
#define MORTISE_S_PENDING     1  /* finish() will follow, exactly once */
#define MORTISE_S_SUSPENDED   2  /* waits for an answer: see ask() */
#define MORTISE_S_FAILED      -1 /* any other error: see the message */
#define MORTISE_S_INVALID     -2 /* the request breaks its rules */
#define MORTISE_S_CANCELLED   -3 /* stopped because the host cancelled it */
#define MORTISE_S_DENIED      -4 /* a policy or permission denies it */
#define MORTISE_S_NOTFOUND    -5
#define MORTISE_S_NOMEM       -6
#define MORTISE_S_IO          -7
#define MORTISE_S_UNSUPPORTED -8  /* no such method, operation or kind */
#define MORTISE_S_STALE       -9  /* the call is not open, or no longer */
#define MORTISE_S_TIMEOUT     -10 /* the time limit passed */
#define MORTISE_S_DOUBT       -11 /* the effect may or may not have happened */

#define MORTISE_LEVEL_ERROR 1
#define MORTISE_LEVEL_WARN  2
#define MORTISE_LEVEL_INFO  3
#define MORTISE_LEVEL_DEBUG 4

typedef struct mortise_host
    mortise_host; /* the host, as one instance sees it */
typedef struct mortise_inst mortise_inst; /* yours; the host never reads it */

/* The answer to an ask.  [call], never from inside ask() itself.  `answer` is
 * JSON if `status` is MORTISE_S_OK, else an error message.  It is lent until
 * you return. */
typedef void mortise_answer_fn(void *ud, mortise_status status,
                               mortise_str answer);

/* The functions of the host.  All are [any]; none within `size` is NULL. */
typedef struct mortise_host_api {
    uint32_t size;
    uint16_t abi_major, abi_minor;

    void (*log)(mortise_host *, int32_t level, mortise_str msg);

    /* Stream data into the host.  `kind` is one of:
     *
     * "output"  A piece of the result.  All pieces together are one JSON value.
     * "update"  A piece of {"scratch"?, "artifacts"?}.  All pieces together are
     *           one JSON value.  The engine writes each member by the graph's
     *           reducers.  For execute and reconcile.
     * "goto"    A piece of a node id from the graph's `targets` of this node.
     *           The run continues there instead of along the node's edges.  For
     *           execute and reconcile.
     * "verdict" A piece of {"violation", "reason"?}.  All pieces together are
     *           one JSON value.  For check (mortise/guardrail.h).
     * "delta", "reasoning"
     *           A piece of UTF-8 text of a model's reply, for live subscribers.
     *           Never stored.  For chat (mortise/model.h).
     * "event"   One JSON object: progress for live subscribers.  Never stored.
     * "voice_session", "voice_transcript", "voice_turn_complete",
     * "voice_barge_in"
     *           One JSON object: an event of that type.  A voice session begins
     *           or ends; speech was heard or is spoken; a turn is complete; the
     *           user interrupted.  Never stored.
     * "usage"   One JSON object {"model_calls"?, "input_tokens"?,
     *           "output_tokens"?, "usd"?, "model"?}: what was used since the
     *           last "usage".  Counts are whole numbers, "usd" is a decimal
     *           number of dollars; neither is negative.  "model" has up to 128
     *           bytes.  It may also have "cached_tokens" and
     *           "cache_write_tokens" (parts of the input) and
     *           "reasoning_tokens" (part of the output).  Usage adds up and
     *           counts against the graph's budgets, also if the call fails.  A
     *           call that is re-entered after a suspension repeats its earlier
     *           usage; the host counts that once.  For execute, reconcile, chat
     *           and embed.
     *
     * Results other than MORTISE_S_OK:
     *
     * MORTISE_S_UNSUPPORTED  The host does not know the kind.
     * MORTISE_S_STALE        The call is not open.
     * MORTISE_S_INVALID      The kind's limit or format is broken:
     *
     *   "output", "update"   more than 16 MiB: the call fails
     *   "verdict"            more than 64 KiB: the call fails
     *   "goto"               longer than an id: it names no target
     *   "usage"              invalid, or more than 4 KiB: its valid members
     *                        count, the budget counts the call's whole
     *                        reservation, and a `warning` event is emitted
     *   any other            more than 64 KiB in one event or piece of text,
     *                        or text that is not UTF-8: it is dropped and the
     *                        call continues
     *
     * If a call fails or suspends, only its usage counts. */
    mortise_status (*emit)(mortise_host *, mortise_call, mortise_str kind,
                           mortise_str chunk);

    /* End a pending call, exactly once, from any thread; `detail` as in fail().
     * A second finish() gives MORTISE_S_STALE and changes nothing.  Only for
     * async and blocking interfaces: other calls end by returning
     * (MORTISE_S_INVALID). */
    mortise_status (*finish)(mortise_host *, mortise_call, mortise_status,
                             mortise_str msg, mortise_str detail);

    /* Set the message of the error that the function is about to return.  The
     * host keeps its first kilobyte.  `detail` is empty or a JSON object:
     *
     * "class"    "transient", "permanent" (the default), "timeout" or
     *            "cancelled": decides about retries.
     * "code"     An identifier of your own, [a-z0-9_.]+, for `retry_on`.  The
     *            engine's own codes (determinism, guardrail, in_doubt,
     *            rejected) are put in front of the message instead.
     * "retry_after_ms"
     *            Do not retry earlier; at most one day; 0: no such limit.
     * "exit_code", "status"
     *            Integers that `error` then has: the exit code of a program,
     *            the status of a server. */
    void (*fail)(mortise_host *, mortise_call, mortise_str msg,
                 mortise_str detail);

    /* Return 1 if the call should stop.  It makes no system call, so ask often.
     * Each use is also a sign of life, as emit() and ask() are: the host
     * cancels a call that gives none for the manifest's `idle`. */
    int32_t (*cancelled)(mortise_host *, mortise_call);

    uint64_t (*now_ns)(mortise_host *); /* CLOCK_MONOTONIC */

    /* Send a request to the host: a method id and a JSON body.  This is the
     * only way out of a plugin.  It returns MORTISE_S_PENDING and calls
     * on_answer later, exactly once, also if the call is cancelled
     * (MORTISE_S_CANCELLED).  Any other status is a refusal: on_answer is not
     * called.  If the body asks for a stream, on_answer is called before that
     * for each piece, with MORTISE_S_PENDING.  Only calls of an `async`
     * interface may use it (others: MORTISE_S_UNSUPPORTED). mortise/ask.h wraps
     * each method.
     *
     * Replay: the engine stores the asks of execute() and check() with the run.
     * When it re-enters the call after a crash or a suspension, the same asks
     * get the same answers without being performed again, up to the first ask
     * without an answer. Therefore, between asks, your code must depend only on
     * the request and on the answers.  A call that asks something else than
     * before fails (determinism).
     *
     * Limits: one call may have 4096 unanswered asks with 64 MiB of bodies in
     * all. The next ask gives MORTISE_S_DENIED: wait for answers first.
     *
     * Order: asks without a fixed order need a "step" in their body: a name of
     * 1 to 128 bytes, unique in the execution (else MORTISE_S_INVALID).  It is
     * stored unmasked, so it must contain no secret.
     *
     * Suspension: the answer MORTISE_S_SUSPENDED means that the answer comes
     * later, perhaps in days.  End the call with MORTISE_S_SUSPENDED; the
     * engine re-enters it when the answer is there. */
    mortise_status (*ask)(mortise_host *, mortise_call, mortise_str method,
                          mortise_str body, mortise_answer_fn *on_answer,
                          void *ud);

    /* Like ask(), but wait for the answer.  Only from [call] of a `blocking`
     * interface (others: MORTISE_S_UNSUPPORTED).  *answer is valid until the
     * next ask_wait() of this call, or until the call ends. */
    mortise_status (*ask_wait)(mortise_host *, mortise_call, mortise_str method,
                               mortise_str body, mortise_str *answer);
} mortise_host_api;

/* Host to plugin. */
/* Guardrails check the output of this node, or of a node around it, and may
 * withhold it.  They do not check the messages of fail() and finish(), so those
 * must quote nothing that the node found, received or produced. */
#define MORTISE_REQUEST_HELD 1u

typedef struct mortise_request {
    uint32_t size;
    uint32_t flags; /* MORTISE_REQUEST_...; ignore unknown bits */
    mortise_call call;
    uint64_t deadline_ns;  /* CLOCK_MONOTONIC; 0: none */
    uint32_t attempt;      /* from 1 */
    uint32_t visit;        /* from 1 */
    mortise_str operation; /* as the manifest names it */
    mortise_str body;      /* the node's args: JSON that fits its schema */
    mortise_str run_id, node_path;
    mortise_str idempotency_key; /* the same on every attempt; empty: none */
    mortise_str trace_parent;    /* W3C traceparent; empty: none */
} mortise_request;

/* ---- interfaces ------------------------------------------------------- */

#define MORTISE_EXECUTOR_1 "mortise.executor/1"

typedef struct mortise_executor {
    uint32_t size;
    uint32_t flags; /* 0 */

    /* Do the work.  Emit "output" and return MORTISE_S_OK; or call fail() and
     * return an error; or (async, blocking) return MORTISE_S_PENDING and call
     * finish() later.
     *
     * An error of an operation that has an effect means that the effect did not
     * happen, also after cancel().  Two cases mean that it may have happened:
     * MORTISE_S_DOUBT at any time; MORTISE_S_CANCELLED and MORTISE_S_TIMEOUT
     * after cancel(), which report only that you stopped.  The call is then in
     * doubt, unless the operation is `idempotent`: the engine asks reconcile()
     * or a person. [call & created] */
    mortise_status (*execute)(mortise_inst *, const mortise_request *);

    /* Report whether the call with this request and idempotency key happened.
     * Emit {"happened": true, "result": ...} or {"happened": false}.  NULL if
     * no operation of the manifest has `reconcile: true`.  [call & created] */
    mortise_status (*reconcile)(mortise_inst *, const mortise_request *);

    /* Work of the instance beside its calls, for example connections.  For
     * `async` plugins whose manifest has `background: true`.  The host calls it
     * before the first call, without an operation and with the body {}.  Keep
     * request->call and return MORTISE_S_PENDING.
     *
     * Asks with that handle belong to the instance and to no run.  They are not
     * recorded, and stay in flight until they are answered or the instance
     * ends.  It may ask http.request/1, secret.get/1, secret.keep/1,
     * secret.kept/1, schema.check/1, timer.wait/1 (in memory; answered when it
     * is due), process.run/1, process.spawn/1, process.write/1 and
     * process.end/1.
     *
     * cancel() for this handle means that the instance is about to end: stop,
     * and call finish().  If it finishes earlier, the host calls it again
     * before the next call.  [call & created] */
    mortise_status (*background)(mortise_inst *, const mortise_request *);
} mortise_executor;

/* ---- plugin and module ------------------------------------------------- */

typedef struct mortise_plugin {
    uint32_t size;
    uint32_t flags;      /* 0 */
    const char *id;      /* metadata.name of the manifest; NUL-terminated */
    const char *version; /* metadata.version */

    /* Make an instance.  `config` is the deployment's JSON, valid for the
     * manifest's config_schema.  The host fills in no `default` of the schema.
     * `api` and `host` are valid until destroy() returns.
     *
     * On an error, api->fail(host, 0, ...) gives the reason.  If its class is
     * "transient", the call that needed the instance fails with it; a retry of
     * that call calls create() again.  An error of any other class is
     * permanent.  [ctl] */
    mortise_status (*create)(mortise_host *, const mortise_host_api *,
                             mortise_str config, mortise_inst **out);

    /* Return the struct of an interface id, or NULL.  [any & created] */
    const void *(*get_interface)(mortise_inst *, const char *id);

    /* Stop a call soon: finish it with MORTISE_S_CANCELLED, or return that.  If
     * the result is already there, give the result instead.  cancel() may come
     * for a call that has just ended.  NULL: calls check host->cancelled()
     * themselves. [any & created] */
    void (*cancel)(mortise_inst *, mortise_call);

    /* No new call will come.  End all your threads and callbacks before
     * deadline_ns (CLOCK_MONOTONIC).  Return MORTISE_S_OK when nothing of the
     * instance runs any more.  Otherwise the host leaks the instance instead of
     * destroying it.  NULL: the instance never runs anything outside a call.
     * [ctl & created] */
    mortise_status (*quiesce)(mortise_inst *, uint64_t deadline_ns);

    void (*destroy)(mortise_inst *); /* [ctl & quiesced] */
} mortise_plugin;

typedef struct mortise_module {
    uint32_t size;
    uint16_t abi_major, abi_minor;
    uint32_t flags; /* 0 */
    uint32_t plugin_count;
    const mortise_plugin *const *plugins;
    mortise_status (*init)(void); /* once after loading, or NULL.  [ctl] */
    void (*fini)(void);           /* once at the end, or NULL.  [ctl] */
} mortise_module;

#if defined(__GNUC__)
#define MORTISE_EXPORT __attribute__((visibility("default")))
#else
#define MORTISE_EXPORT
#endif

/* The one symbol that a module exports.  You define it:
 *   MORTISE_MODULE mortise_module_v1 = {sizeof(mortise_module), ...}; */
#define MORTISE_MODULE MORTISE_EXPORT const mortise_module
extern MORTISE_MODULE mortise_module_v1;

/* The same for one plugin without init() and fini().  Put it at the end of its
 * file: MORTISE_MODULE_OF(my_plugin); */
#define MORTISE_MODULE_OF(my_plugin)                                           \
    static const mortise_plugin *const mortise_module_plugins_[] = {           \
        &(my_plugin)};                                                         \
    /* exported by its declaration; a second attribute makes g++ warn */       \
    const mortise_module mortise_module_v1 = {sizeof(mortise_module),          \
                                              MORTISE_ABI_MAJOR,               \
                                              MORTISE_ABI_MINOR,               \
                                              0,                               \
                                              1,                               \
                                              mortise_module_plugins_,         \
                                              NULL,                            \
                                              NULL}

/* The layout is the contract. */
MORTISE_STATIC_ASSERT(sizeof(void *) == 8, "LP64");
MORTISE_STATIC_ASSERT(sizeof(mortise_str) == 16, "mortise_str");
MORTISE_STATIC_ASSERT(sizeof(mortise_host_api) == 72, "mortise_host_api");
MORTISE_STATIC_ASSERT(offsetof(mortise_host_api, log) == 8, "log");
MORTISE_STATIC_ASSERT(offsetof(mortise_host_api, ask_wait) == 64, "ask_wait");
MORTISE_STATIC_ASSERT(offsetof(mortise_request, call) == 8, "call");
MORTISE_STATIC_ASSERT(offsetof(mortise_request, operation) == 32, "operation");
MORTISE_STATIC_ASSERT(sizeof(mortise_request) == 128, "mortise_request");
MORTISE_STATIC_ASSERT(sizeof(mortise_executor) == 32, "mortise_executor");
MORTISE_STATIC_ASSERT(sizeof(mortise_plugin) == 64, "mortise_plugin");
MORTISE_STATIC_ASSERT(sizeof(mortise_module) == 40, "mortise_module");

#ifdef __cplusplus
}
#endif
#endif
