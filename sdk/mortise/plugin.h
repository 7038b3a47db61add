/* mortise/plugin.h -- what a Mortise plugin is: the ABI, version 1.
 *
 * A plugin is a shared object.  It exports one symbol, the constant data
 * mortise_module_v1, and imports no symbol of Mortise.  The engine reads this
 * data, calls create() of each plugin with a table of host functions, and then
 * calls the interfaces that the plugin's manifest declares.  "The host" is the
 * engine, as a plugin sees it.  The ABI also allows a host that runs the .so in
 * a child process.
 *
 * Threads    The comment of each function has one of these marks:
 *              [ctl]    the host makes one such call at a time for an instance
 *              [call]   up to the manifest's `concurrency` calls at once
 *              [inline] runs on the engine's thread: must be short and never
 *                       block
 *              [any]    runs on any thread, also on several at once
 *            The manifest's `threading` decides on which thread a [call]
 *            function runs.  `inline` and `async` calls run on the engine's
 *            thread and must never block; `async` calls may stay pending.
 *            `blocking` calls run on a thread of a pool and may block.
 * Ownership  Pointer arguments are valid ("lent") until your function returns.
 *            If you leave a call pending, its request, and everything that the
 *            request points to, is valid until you finish the call.  emit()
 *            copies your output into the host.  Neither side frees memory of
 *            the other side.
 * Errors     Return a negative mortise_status and give a message: call
 *            host->fail() before you return it, or pass the message to
 *            host->finish().  Programs read the status, people the message.
 *            The host treats a status that it does not know as
 *            MORTISE_S_FAILED.
 * ABI        New members are added only at the end of a struct.  The first
 *            member is `size`: the side that fills the struct sets it to the
 *            sizeof of the struct.  Before you read a member that is newer than
 *            ABI 1.0, check that `size` includes the member.  If the meaning of
 *            a member changes, the interface gets a new id.  LP64 only.  No
 *            enum, bool, bit-field, long, va_list, FILE*, time_t, errno or
 *            locale crosses the boundary, and no exception or longjmp may cross
 *            it.
 * Text       UTF-8.  Bodies, outputs, details and configs are JSON.  JSON that
 *            you pass to the host must follow some rules: no object has a
 *            duplicate name, and no name contains a NUL.  Whole numbers fit 64
 *            bits, other numbers a double.  Values are nested at most 64 deep.
 *            The reader in json.h accepts JSON that breaks these rules.
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
#define MORTISE_S_SUSPENDED   2  /* the call waits for an answer: see ask() */
#define MORTISE_S_FAILED      -1 /* any other error: see the message */
#define MORTISE_S_INVALID     -2 /* the request is invalid */
#define MORTISE_S_CANCELLED   -3 /* the call stopped: the host cancelled it */
#define MORTISE_S_DENIED      -4 /* a policy or permission denies it */
#define MORTISE_S_NOTFOUND    -5
#define MORTISE_S_NOMEM       -6
#define MORTISE_S_IO          -7
#define MORTISE_S_UNSUPPORTED -8  /* no such method, operation or kind */
#define MORTISE_S_STALE       -9  /* the call is not open, or has ended */
#define MORTISE_S_TIMEOUT     -10 /* the time limit passed */
#define MORTISE_S_DOUBT       -11 /* the effect may or may not have happened */

#define MORTISE_LEVEL_ERROR 1
#define MORTISE_LEVEL_WARN  2
#define MORTISE_LEVEL_INFO  3
#define MORTISE_LEVEL_DEBUG 4

typedef struct mortise_host
    mortise_host; /* the host, as one instance sees it */
typedef struct mortise_inst mortise_inst; /* yours; the host never reads it */

/* The callback for the answer to an ask.  [call]; the host never calls it from
 * inside ask().  `answer` is JSON if `status` is MORTISE_S_OK, otherwise an
 * error message.  The text is valid until you return. */
typedef void mortise_answer_fn(void *ud, mortise_status status,
                               mortise_str answer);

/* The functions of the host.  All are [any].  No function within `size` is
 * NULL. */
typedef struct mortise_host_api {
    uint32_t size;
    uint16_t abi_major, abi_minor;

    void (*log)(mortise_host *, int32_t level, mortise_str msg);

    /* Pass a piece of data to the host.  `kind` is one of:
     *
     * "output"  A piece of the result.  All pieces together are one JSON value.
     * "update"  A piece of {"scratch"?, "artifacts"?}.  All pieces together are
     *           one JSON value.  The engine writes each member into the run's
     *           state, with the graph's reducers.  For execute and reconcile.
     * "goto"    A piece of a node id from the `targets` of this node in the
     *           graph.  The run continues at that node instead of along the
     *           edges of this node.  For execute and reconcile.
     * "verdict" A piece of {"violation", "reason"?}.  All pieces together are
     *           one JSON value.  For check (mortise/guardrail.h).
     * "delta", "reasoning"
     *           A piece of UTF-8 text of a model's reply, for live subscribers.
     *           Never stored.  For chat (mortise/model.h).
     * "event"   One JSON object: progress for live subscribers.  Never stored.
     * "voice_session", "voice_transcript", "voice_turn_complete",
     * "voice_barge_in"
     *           One JSON object: an event of the type that `kind` names.  A
     *           voice session begins or ends; speech was heard or is spoken; a
     *           turn is complete; the user interrupted.  Never stored.
     * "usage"   One JSON object {"model_calls"?, "input_tokens"?,
     *           "output_tokens"?, "usd"?, "model"?}: the usage since the last
     *           "usage" of the call.  Counts are whole numbers, "usd" is a
     *           decimal number of dollars; no number is negative.  "model" has
     *           up to 128 bytes.  Optional members are also "cached_tokens" and
     *           "cache_write_tokens" (parts of the input tokens) and
     *           "reasoning_tokens" (a part of the output tokens).  The host
     *           adds up all usage and subtracts the sum from the graph's
     *           budgets, even if the call fails.  If a call is re-entered after
     *           a suspension, emit its earlier usage again; the host counts it
     *           once.  For execute, reconcile, chat and embed.
     *
     * Results other than MORTISE_S_OK:
     *
     * MORTISE_S_UNSUPPORTED  The host does not know the kind.
     * MORTISE_S_STALE        The call is not open.
     * MORTISE_S_INVALID      The data is too large or has an invalid format:
     *
     *   "output", "update"   more than 16 MiB in all: the call fails
     *   "verdict"            more than 64 KiB in all: the call fails
     *   "goto"               longer than any id, so it is no target
     *   "usage"              invalid, or more than 4 KiB: the host counts its
     *                        valid members, subtracts the whole reservation of
     *                        the call from the budget, and emits a `warning`
     *                        event
     *   any other            more than 64 KiB in one event or piece of text,
     *                        or text that is not UTF-8: the host drops this
     *                        piece, and the call continues
     *
     * If a call fails or suspends, the host uses only its "usage" and drops
     * everything else that the call emitted. */
    mortise_status (*emit)(mortise_host *, mortise_call, mortise_str kind,
                           mortise_str chunk);

    /* End a pending call, exactly once, from any thread.  `detail` is as in
     * fail().  A second finish() for the same call returns MORTISE_S_STALE and
     * changes nothing.  Only for `async` and `blocking` interfaces; an `inline`
     * call ends when its function returns, and finish() returns
     * MORTISE_S_INVALID. */
    mortise_status (*finish)(mortise_host *, mortise_call, mortise_status,
                             mortise_str msg, mortise_str detail);

    /* Set the message of the error that your function is about to return.  The
     * host uses the first kilobyte of the message.  `detail` is empty or a JSON
     * object:
     *
     * "class"    "transient", "permanent" (the default), "timeout" or
     *            "cancelled".  The class decides whether the engine retries.
     * "code"     An error code of your own, [a-z0-9_.]+.  Graphs can name it
     *            in `retry_on`.  If it is one of the engine's own codes
     *            (determinism, guardrail, in_doubt, rejected), the host puts it
     *            in front of the message and does not use it as the code.
     * "retry_after_ms"
     *            The earliest time for a retry, in ms from now; at most one
     *            day; 0: no such limit.
     * "exit_code", "status"
     *            Integers: the exit code of a program, the status of a server.
     *            The graph reads them as members of `error`. */
    void (*fail)(mortise_host *, mortise_call, mortise_str msg,
                 mortise_str detail);

    /* Return 1 if the call should stop, otherwise 0.  This function makes no
     * system call, so call it often.  It also shows that the call is not idle,
     * as emit() and ask() do: if a call uses none of these functions for the
     * time `idle` of the manifest, the host cancels the call. */
    int32_t (*cancelled)(mortise_host *, mortise_call);

    uint64_t (*now_ns)(mortise_host *); /* CLOCK_MONOTONIC */

    /* Send a request ("ask") to the host: a method id and a JSON body.  Use
     * only this function for requests, because the host applies policy and
     * records to them.  ask() returns MORTISE_S_PENDING, and the host calls
     * on_answer later, exactly once.  If the call is cancelled, the answer is
     * MORTISE_S_CANCELLED.  If ask() returns any other status, it has refused
     * the request, and on_answer is not called.  If the body asks for a stream,
     * the host also calls on_answer for each piece before the answer, with
     * MORTISE_S_PENDING.  Only calls of an `async` interface may use ask();
     * other calls get MORTISE_S_UNSUPPORTED.  mortise/ask.h has a wrapper for
     * each method.
     *
     * Replay: the engine stores the asks of execute() and check(), and their
     * answers, with the run.  When it re-enters the call after a crash or a
     * suspension, it does not perform these asks again: the same asks get the
     * same answers, up to the first ask without an answer.  Therefore, between
     * asks, your code must depend only on the request and on the answers.  If a
     * re-entered call asks something else than before, it fails with the code
     * "determinism".
     *
     * Limits: one call may have at most 4096 unanswered asks, with at most 64
     * MiB of bodies in all.  Beyond that, ask() returns MORTISE_S_DENIED: first
     * wait for answers.
     *
     * Order: the engine finds the answer of an ask by the order of the asks.
     * If the order of your asks can change, add a "step" to their bodies: a
     * name of 1 to 128 bytes, unique in the execution (otherwise
     * MORTISE_S_INVALID).  Names of steps are stored unmasked, so they must
     * contain no secret.
     *
     * Suspension: if the answer is MORTISE_S_SUSPENDED, the real answer comes
     * later, perhaps after days.  End the call with MORTISE_S_SUSPENDED; the
     * engine re-enters the call when the answer exists. */
    mortise_status (*ask)(mortise_host *, mortise_call, mortise_str method,
                          mortise_str body, mortise_answer_fn *on_answer,
                          void *ud);

    /* Like ask(), but wait for the answer and return its status.  Use it only
     * in a [call] function of a `blocking` interface; other calls get
     * MORTISE_S_UNSUPPORTED.  *answer is valid until the next ask_wait() of
     * this call, or until the call ends. */
    mortise_status (*ask_wait)(mortise_host *, mortise_call, mortise_str method,
                               mortise_str body, mortise_str *answer);
} mortise_host_api;

/* A flag of mortise_request.  Guardrails check the output of this node, or of a
 * node that contains its graph, and can withhold this output.  They do not
 * check the messages of fail() and finish().  So these messages must not quote
 * anything that the node found, received or produced. */
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
    mortise_str idempotency_key; /* the same in every attempt; empty: none */
    mortise_str trace_parent;    /* W3C traceparent; empty: none */
} mortise_request;

/* ---- interfaces ------------------------------------------------------- */

#define MORTISE_EXECUTOR_1 "mortise.executor/1"

typedef struct mortise_executor {
    uint32_t size;
    uint32_t flags; /* 0 */

    /* Perform the operation.  Emit "output" and return MORTISE_S_OK; or call
     * fail() and return an error; or, in an `async` or `blocking` plugin,
     * return MORTISE_S_PENDING and call finish() later.
     *
     * If an operation has an effect, return an error only if the effect did not
     * happen, also after cancel().  There are two exceptions: MORTISE_S_DOUBT
     * at any time, and MORTISE_S_CANCELLED or MORTISE_S_TIMEOUT after cancel(),
     * which report only that you stopped.  After them, the effect may have
     * happened: the call is in doubt, and the engine calls reconcile() or asks
     * a person.  For an `idempotent` operation, they are ordinary errors.
     * [call & created] */
    mortise_status (*execute)(mortise_inst *, const mortise_request *);

    /* Report whether an earlier execute() with the same request and idempotency
     * key had its effect.  Emit {"happened": true, "result": ...} or
     * {"happened": false} as "output".  NULL if no operation of the manifest
     * has `reconcile: true`.  [call & created] */
    mortise_status (*reconcile)(mortise_inst *, const mortise_request *);

    /* Start work of the instance that lives longer than a call, for example
     * connections.  Only for `async` plugins whose manifest has `background:
     * true`.  The host calls background() before the first call, without an
     * operation and with the body {}.  Save request->call and return
     * MORTISE_S_PENDING.
     *
     * Asks with this call handle belong to the instance and to no run.  They
     * are not recorded, and stay in flight until they are answered or the
     * instance ends.  Allowed methods are http.request/1, secret.get/1,
     * secret.keep/1, secret.kept/1, schema.check/1, timer.wait/1 (in memory;
     * answered when the time has passed), process.run/1, process.spawn/1,
     * process.write/1 and process.end/1.
     *
     * When the instance is about to end, the host calls cancel() with this
     * handle: stop the work, and call finish().  If you call finish() earlier,
     * the host calls background() again before the next call.  [call &
     * created] */
    mortise_status (*background)(mortise_inst *, const mortise_request *);
} mortise_executor;

/* ---- plugin and module ------------------------------------------------- */

typedef struct mortise_plugin {
    uint32_t size;
    uint32_t flags;      /* 0 */
    const char *id;      /* metadata.name of the manifest; NUL-terminated */
    const char *version; /* metadata.version */

    /* Make an instance.  `config` is the plugin's configuration in the
     * deployment, as JSON that fits the manifest's config_schema.  The host
     * does not insert a `default` of the schema.  `api` and `host` are valid
     * until destroy() returns.
     *
     * On an error, call api->fail(host, 0, ...) with the reason.  If the class
     * of the error is "transient", the call that needed the instance fails with
     * this error, and a retry of that call calls create() again.  An error of
     * any other class is permanent.  [ctl] */
    mortise_status (*create)(mortise_host *, const mortise_host_api *,
                             mortise_str config, mortise_inst **out);

    /* Return the struct of the interface with this id, or NULL if the plugin
     * does not have the interface.  [any & created] */
    const void *(*get_interface)(mortise_inst *, const char *id);

    /* The host cancels a call.  Let the call end soon with MORTISE_S_CANCELLED,
     * as the argument of finish() or as the result of its function.  If the
     * result of the call is already complete, end the call with the result
     * instead.  The host can call cancel() for a call that has just ended.
     * NULL: the calls use host->cancelled() to find out.  [any & created] */
    void (*cancel)(mortise_inst *, mortise_call);

    /* Stop the instance: the host will make no new call.  End all threads and
     * callbacks of the instance before deadline_ns (CLOCK_MONOTONIC).  Return
     * MORTISE_S_OK when no code of the instance runs any more.  If you return
     * another status, the host never calls destroy() and leaks the instance.
     * NULL: the instance never runs code outside a call.  [ctl & created] */
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

/* The only symbol that a module exports.  You define it:
 *   MORTISE_MODULE mortise_module_v1 = {sizeof(mortise_module), ...}; */
#define MORTISE_MODULE MORTISE_EXPORT const mortise_module
extern MORTISE_MODULE mortise_module_v1;

/* Define mortise_module_v1 for a module with one plugin, without init() and
 * fini().  Put this line at the end of the plugin's source file:
 * MORTISE_MODULE_OF(my_plugin); */
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

/* The layout of these structs must not change within an ABI version. */
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
