/* mortise/plugin.h -- what a Mortise plugin is: the ABI, version 1.
 *
 * A plugin is a shared object that exports one symbol, plain const data named
 * mortise_module_v1, and imports none of ours.  The engine reads that data,
 * creates each plugin with a table of its own functions, and calls the
 * interfaces that the plugin's manifest declares.  The same .so runs in the
 * engine or in a child process and cannot tell which.
 *
 * Threads    Each function says where it runs.
 *              [ctl]    never two at once for one instance
 *              [call]   as many at once as the manifest's `concurrency` says
 *              [inline] on the engine's thread: short, never blocks
 *              [any]    anywhere, also concurrently
 *            A manifest's `threading` decides where [call] runs: `inline` and
 *            `async` on the engine's thread (never block; async calls may stay
 *            pending), `blocking` on a thread of a pool.
 * Ownership  What you are handed is lent until you return; for a call that you
 *            leave pending, the request and all it points to until you finish
 *            it.  What you produce you emit() into the host, which copies it.
 *            Nobody frees the other side's memory.
 * Errors     A negative mortise_status plus words: host->fail() before an error
 *            return, or the message of host->finish().  Statuses are for
 *            programs, words for people.  A status that the host does not know
 *            means "failed".
 * ABI        Structs only grow at the end; `size` comes first and says how much
 *            the maker knew: look at it before any field that is newer than
 *            abi 1.0.  A changed meaning gets a new interface id.  LP64 only.
 *            No enum, bool, bit-field, long, va_list, FILE*, time_t, errno or
 *            locale crosses; no exception or longjmp either.
 * Text       UTF-8.  Bodies, outputs, details and configs are JSON.  What you
 *            emit and ask has no name twice in an object and no NUL in a name,
 *            whole numbers of 64 bits, others within doubles, and is nested up
 *            to 64 deep: json.h reads more than that.
 *
 * It is stable from 0.2.0 on: docs/compatibility.md says how it changes.
 */
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

/* n bytes at p; not NUL-terminated; p may be NULL when n is 0. */
typedef struct mortise_str {
    const char *p;
    uint64_t n;
} mortise_str;

typedef int32_t mortise_status; /* 0 ok, 1 pending, 2 suspended, < 0 error */
typedef uint64_t mortise_call;  /* a handle, never a pointer; 0: none; unique
                                   for the instance's life */

#define MORTISE_S_OK          0  /* done; what was emitted is the result */
#define MORTISE_S_PENDING     1  /* finish() will be called, exactly once */
#define MORTISE_S_SUSPENDED   2  /* waits for an answer: ask() below */
#define MORTISE_S_FAILED      -1 /* see the words */
#define MORTISE_S_INVALID     -2 /* the request breaks its rules */
#define MORTISE_S_CANCELLED   -3 /* let go because the host asked */
#define MORTISE_S_DENIED      -4 /* policy or permission says no */
#define MORTISE_S_NOTFOUND    -5
#define MORTISE_S_NOMEM       -6
#define MORTISE_S_IO          -7
#define MORTISE_S_UNSUPPORTED -8  /* no such method, operation or kind */
#define MORTISE_S_STALE       -9  /* that call is not open (any more) */
#define MORTISE_S_TIMEOUT     -10 /* the time for it is over */
#define MORTISE_S_DOUBT       -11 /* whether it happened is not known */

#define MORTISE_LEVEL_ERROR 1
#define MORTISE_LEVEL_WARN  2
#define MORTISE_LEVEL_INFO  3
#define MORTISE_LEVEL_DEBUG 4

typedef struct mortise_host
    mortise_host; /* the host, as one instance sees it */
typedef struct mortise_inst mortise_inst; /* yours; the host never looks in */

/* The answer to an ask.  [call], never from inside ask() itself.  `answer` is
 * JSON when status is MORTISE_S_OK, else words; lent until you return. */
typedef void mortise_answer_fn(void *ud, mortise_status status,
                               mortise_str answer);

/* What the host gives: all [any], none ever NULL up to `size`. */
typedef struct mortise_host_api {
    uint32_t size;
    uint16_t abi_major, abi_minor;

    void (*log)(mortise_host *, int32_t level, mortise_str msg);

    /* Stream into the host.  Kinds:
     *   "output"  a piece of the result; all pieces together are one JSON value
     *   "update"  a piece of {"scratch"?, "artifacts"?}, one JSON value likewise:
     *             each member is written as the graph's reducers say; execute
     *             and reconcile
     *   "goto"    a piece of a node's id, one of the graph's `targets` for this
     *             node: it is where the run goes on, instead of the edges that
     *             it would take; execute and reconcile
     *   "verdict" a piece of {"violation", "reason"?}, one JSON value likewise:
     *             check (mortise/guardrail.h)
     *   "delta", "reasoning"   a piece of UTF-8 text of a model's reply, for
     *             whoever watches; never stored: chat (mortise/model.h)
     *   "event"   one JSON object: progress for whoever watches; never stored
     *   "voice_session", "voice_transcript", "voice_turn_complete",
     *             "voice_barge_in"   likewise, an event of that type: who hears
     *             and speaks begins or ends, was heard or says something, has
     *             done with a turn, was spoken into
     *   "usage"   one JSON object, {"model_calls"?, "input_tokens"?,
     *             "output_tokens"?, "usd"?, "model"?}: what was used since the
     *             last such one: whole numbers, a decimal of dollars, both from
     *             0, and the model's name (to 128 bytes); and, parts of those,
     *             "cached_tokens"?, "cache_write_tokens"? (of the input) and
     *             "reasoning_tokens"? (of the output).  They add up, and
     *             count against the graph's budgets, also when the call fails.
     *             A call that is entered again after a suspension says again
     *             what it said before: that counts once; execute, reconcile,
     *             chat and embed
     * A kind that the host does not know gives MORTISE_S_UNSUPPORTED, a call
     * that is not open MORTISE_S_STALE, more than 16 MiB of output or of update
     * or 64 KiB of a verdict or in one event or piece of text MORTISE_S_INVALID
     * (and the call fails, but for those two), more than an id is long
     * MORTISE_S_INVALID (and no target has that name), usage that is none, or of
     * more than 4 KiB, MORTISE_S_INVALID (its valid members count, the budget
     * counts what it reserved for the call, and an event `warning` says so).  Of
     * a call that fails or suspends nothing else counts.
     */
    mortise_status (*emit)(mortise_host *, mortise_call, mortise_str kind,
                           mortise_str chunk);

    /* End a pending call, exactly once, from any thread; `detail` as in fail().
     * A second time gives MORTISE_S_STALE and changes nothing.  For async and
     * blocking interfaces: other calls end by returning (MORTISE_S_INVALID). */
    mortise_status (*finish)(mortise_host *, mortise_call, mortise_status,
                             mortise_str msg, mortise_str detail);

    /* Words for an error that the function is about to return; a kilobyte of
     * them is kept.  `detail` is empty or a JSON object: "class": "transient" |
     * "permanent" (when absent) | "timeout" | "cancelled" decides about retries;
     * "code": a word of your own ([a-z0-9_.]+) for `retry_on`; the engine's own
     * (determinism, guardrail, in_doubt, rejected) go ahead of the message; and
     * "retry_after_ms": not again before (a day at most; 0: none); integers that
     * `error` has, "exit_code" of a program and "status" of a server. */
    void (*fail)(mortise_host *, mortise_call, mortise_str msg,
                 mortise_str detail);

    /* 1 when the call should stop.  No system call: ask often, which is a sign
     * of life, too (a call that gives none for the manifest's `idle` is
     * cancelled; emit() and ask() are others). */
    int32_t (*cancelled)(mortise_host *, mortise_call);

    uint64_t (*now_ns)(mortise_host *); /* CLOCK_MONOTONIC */

    /* The one door out: a method id and a JSON body.  Returns MORTISE_S_PENDING
     * and calls on_answer later, exactly once, also when the call is
     * cancelled (MORTISE_S_CANCELLED); any other status: refused, on_answer
     * will not be called.  Where the body asks for a stream, on_answer is called
     * before that for each piece, with MORTISE_S_PENDING.  Only from calls of an
     * `async` interface (elsewhere MORTISE_S_UNSUPPORTED).  mortise/ask.h wraps
     * each method.
     *
     * What execute() and check() ask is kept with the run.  When one is entered
     * again, after a crash or a suspension, the same asks get the same answers
     * without being done again, and it runs forward to the first that has none.
     * The rule for that: between asks, be a function of your request and of the
     * answers.  One who asks something else than before fails (determinism).
     * One call may have 4096 asks, of 64 MiB of bodies in all, that have no
     * answer yet; one more gives MORTISE_S_DENIED: wait for answers first.
     * Asks that are issued in no fixed order carry a "step" in their body: a
     * name of 1 to 128 bytes, unique in the execution, with no secret in it
     * (it is kept as it is; MORTISE_S_INVALID).
     *
     * MORTISE_S_SUSPENDED as an answer: it comes later, in days perhaps.  Let
     * go: end the call with MORTISE_S_SUSPENDED, and you will be entered again
     * when it is there. */
    mortise_status (*ask)(mortise_host *, mortise_call, mortise_str method,
                          mortise_str body, mortise_answer_fn *on_answer,
                          void *ud);

    /* The same, waiting; only from [call] of a `blocking` interface
     * (elsewhere MORTISE_S_UNSUPPORTED).  *answer stays valid until the next
     * ask_wait of this call, or its end. */
    mortise_status (*ask_wait)(mortise_host *, mortise_call, mortise_str method,
                               mortise_str body, mortise_str *answer);
} mortise_host_api;

/* Host to plugin. */
/* Guardrails judge what comes of the node, or of one around it, and may keep it
 * back: nothing of what was found, heard or made for it may be in the words of
 * fail() and finish(), which none of them looks at. */
#define MORTISE_REQUEST_HELD 1u

typedef struct mortise_request {
    uint32_t size;
    uint32_t flags; /* MORTISE_REQUEST_...; bits that are not named here mean
                       nothing to you */
    mortise_call call;
    uint64_t deadline_ns;  /* CLOCK_MONOTONIC; 0: none */
    uint32_t attempt;      /* from 1 */
    uint32_t visit;        /* from 1 */
    mortise_str operation; /* as the manifest names it */
    mortise_str body;      /* the node's args, JSON, valid for its schema */
    mortise_str run_id, node_path;
    mortise_str idempotency_key; /* the same on every attempt; empty: none */
    mortise_str trace_parent;    /* W3C traceparent; empty: none */
} mortise_request;

/* ---- interfaces ------------------------------------------------------- */

#define MORTISE_EXECUTOR_1 "mortise.executor/1"

typedef struct mortise_executor {
    uint32_t size;
    uint32_t flags; /* 0 */

    /* Do the work.  Emit "output", return MORTISE_S_OK; or fail() and return an
     * error; or (async, blocking) return MORTISE_S_PENDING and finish() later.
     * An error of an operation that has an effect says that the effect did not
     * happen, also when it comes after cancel().  Two say that nobody knows:
     * MORTISE_S_DOUBT, whenever; and, after cancel(), MORTISE_S_CANCELLED and
     * MORTISE_S_TIMEOUT, which say no more than that you let go.  The call is in
     * doubt then, unless the operation is `idempotent`: reconcile() is asked, or
     * a person.
     * [call & created] */
    mortise_status (*execute)(mortise_inst *, const mortise_request *);

    /* Did the call with this request and idempotency key happen?  Emit
     * {"happened": true, "result": ...} or {"happened": false}.  NULL when no
     * operation of the manifest says `reconcile: true`.  [call & created] */
    mortise_status (*reconcile)(mortise_inst *, const mortise_request *);

    /* What the instance keeps beside its calls, connections for one; for `async`
     * plugins whose manifest says `background: true`.  Entered before the first
     * call, with no operation and a body of {}: keep request->call and return
     * MORTISE_S_PENDING.  What is asked with that handle is the instance's own:
     * of no run, recorded nowhere, under way until it is answered or the
     * instance ends.  It may ask http.request/1, secret.get/1 and the like, timer.wait/1
     * (in memory, and answered when it is due), process.run/1 and process.spawn/1
     * with what belongs to that.  When cancel() comes for
     * it the instance is about to end: let go, and finish it.  One that ends
     * sooner is entered again before the next call.
     * [call & created] */
    mortise_status (*background)(mortise_inst *, const mortise_request *);
} mortise_executor;

/* ---- plugin and module ------------------------------------------------- */

typedef struct mortise_plugin {
    uint32_t size;
    uint32_t flags;      /* 0 */
    const char *id;      /* metadata.name of the manifest; NUL-terminated */
    const char *version; /* metadata.version */

    /* Make an instance.  `config` is JSON, valid for the manifest's
     * config_schema, as the deployment has it: a `default` of the schema is for
     * who writes it, and none is filled in.  `api` and `host` stay valid until
     * destroy() returns.  On an error api->fail(host, 0, ...) says why: of the
     * class "transient" it is that of the call that needed it, which may be
     * made again, and then create() is, too; any other is for good.  [ctl] */
    mortise_status (*create)(mortise_host *, const mortise_host_api *,
                             mortise_str config, mortise_inst **out);

    /* The struct of an interface id, or NULL.  [any & created] */
    const void *(*get_interface)(mortise_inst *, const char *id);

    /* Stop a call soon: finish it, or return from it, with
     * MORTISE_S_CANCELLED (or with its result if that is there already).  May
     * come for a call that has just ended.  NULL: calls look at
     * host->cancelled() themselves.  [any & created] */
    void (*cancel)(mortise_inst *, mortise_call);

    /* No new call will come.  Let every thread and callback of yours end before
     * deadline_ns (CLOCK_MONOTONIC); MORTISE_S_OK when nothing of yours runs
     * any more, else you are leaked rather than destroyed.  NULL: nothing of
     * yours ever runs outside of a call.  [ctl & created] */
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

/* What a module exports, and all that it exports.  You define it:
 * MORTISE_MODULE mortise_module_v1 = {sizeof(mortise_module), ...}; */
#define MORTISE_MODULE MORTISE_EXPORT const mortise_module
extern MORTISE_MODULE mortise_module_v1;

/* The same for one plugin that needs no init() and fini(), at the end of its
 * file: MORTISE_MODULE_OF(my_plugin); */
#define MORTISE_MODULE_OF(my_plugin)                                           \
    static const mortise_plugin *const mortise_module_plugins_[] = {           \
        &(my_plugin)};                                                         \
    /* exported as declared; to say so twice makes g++ warn */                 \
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
