/* mortise.h -- the embedding API: durable agent graphs in your own program.
 *
 * An engine (struct mortise) opens one store, loads graphs, runs them and
 * applies commands.  The whole core also uses this header for its result codes,
 * the error struct and the allocator, so it includes no other header of
 * Mortise.
 *
 * Threads    An engine belongs to the thread that opened it.  Every function
 *            that takes a `struct mortise *` is [loop]: call it from that
 *            thread only.  Inside an event callback you may call only
 *            mortise_free() and mortise_unsubscribe(); other calls are
 *            refused, and mortise_close() is refused with a message to `log`.
 *            One process may have several engines, each with its own thread
 *            and store.
 * Loop       The engine works only inside mortise_poll().  Call it in a loop
 *            of its own, or from your event loop (mortise_fd()).  The store
 *            thread and the workers call only your `log` and `mem`.
 * Ownership  The library copies arguments before a call returns.  A `char *`
 *            result is yours: free it with mortise_free().
 * Errors     A function returns 0 or a negative enum mortise_result.  The
 *            message goes into the caller's struct mortise_err, unless that is
 *            NULL.  A successful call leaves the struct unchanged.
 * ABI        Structs that you fill begin with `size`, the sizeof of the
 *            struct that you compiled, and grow only at the end.  Unknown
 *            flags are MORTISE_EINVAL.
 * Process    The library installs no signal handler, never exits, prints only
 *            through `log`, and raises no SIGPIPE.  It makes no lasting change
 *            to the locale, signal mask, directory or environment.  Its
 *            threads block signals; the store's thread may take the signals
 *            that the opener's thread takes.  Its descriptors are closed on
 *            exec.
 *            Under `ulimit -f`, ignore SIGXFSZ in your program: the write then
 *            fails as on a full disk, instead of ending the process.
 * Memory     A shortage is MORTISE_ENOMEM.  LevelDB, the library below the
 *            store, ends the process if it gets no memory or no thread.  So
 *            before each use of LevelDB the engine asks the system for 8 MiB
 *            and the default stack of a thread, and for more if it writes more.
 *            If your other threads take all that is left in the same moment,
 *            or a stored value is larger than 2 MiB, LevelDB may still end the
 *            process (std::bad_alloc, std::system_error).  docs/embedding.md
 *            has the details.
 *            After fork(), the child must not use the parent's engines, not
 *            even close them; it should call exec or _exit.
 *            The library reads the environment only in mortise_open():
 *            `${env:...}` of a deployment, the proxy variables, SSL_CERT_FILE
 *            and SSL_CERT_DIR. */
#ifndef MORTISE_H
#define MORTISE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header: MAJOR.MINOR.PATCH, as text and as a number, e.g.
 *     #if MORTISE_VERSION_NUMBER >= MORTISE_VERSION_OF(0, 2, 0) */
#define MORTISE_VERSION       "0.1.0"
#define MORTISE_VERSION_MAJOR 0
#define MORTISE_VERSION_MINOR 1
#define MORTISE_VERSION_PATCH 0
#define MORTISE_VERSION_OF(major, minor, patch)                                \
    ((major)*1000000 + (minor)*1000 + (patch))
#define MORTISE_VERSION_NUMBER                                                 \
    MORTISE_VERSION_OF(MORTISE_VERSION_MAJOR, MORTISE_VERSION_MINOR,           \
                       MORTISE_VERSION_PATCH)

#if defined(__GNUC__)
#define MORTISE_API           __attribute__((visibility("default")))
#define MORTISE_PRINTF(f, va) __attribute__((format(printf, f, va)))
#else
#define MORTISE_API
#define MORTISE_PRINTF(f, va)
#endif

/* Results.  There are few; a caller may act differently on each. */
enum mortise_result {
    MORTISE_OK = 0,
    MORTISE_ENOMEM = -1,         /* out of memory */
    MORTISE_EIO = -2,            /* the disk or the system failed */
    MORTISE_EINVAL = -3,         /* invalid argument or input */
    MORTISE_ENOTFOUND = -4,      /* no such run, checkpoint or file */
    MORTISE_ECHECK = -5,         /* the file has findings, which were
                                    reported */
    MORTISE_ECONFIG = -6,        /* the deployment does not work as written */
    MORTISE_EFORMAT = -7,        /* an unknown format */
    MORTISE_ECORRUPT = -8,       /* the store's content is damaged */
    MORTISE_EBUSY = -9,          /* another process uses the store */
    MORTISE_EDENIED = -10,       /* denied by trust, permission or actor */
    MORTISE_ECONFLICT = -11,     /* another command changed the run first */
    MORTISE_EEXISTS = -12,       /* a run with this id exists */
    MORTISE_EUNKNOWN_NODE = -13, /* goto to a node that does not exist */
    MORTISE_EMISMATCH = -14,     /* the decision fits no open request */
    MORTISE_EDECISION = -15,     /* the decision is invalid */
    MORTISE_EINDOUBT = -16,      /* an effect is in doubt: resolve it, after
                                    a RESUME if the run has ended */
    MORTISE_EBLOCKED = -17,      /* a plugin is missing or changed, or
                                    crashed the process */
    MORTISE_EUNAVAILABLE = -18,  /* not available in this build */
    MORTISE_EDETERMINISM = -19,  /* a replay asked for something else */
    MORTISE_ELIMIT = -20,        /* over a limit, or out of descriptors */
    MORTISE_ESTATE = -21,        /* not possible in the object's state */
    MORTISE_ENOSPC = -22,        /* the disk is full */
    /* For spawn handles. */
    MORTISE_ESTALE_TOKEN = -23,        /* the handle was claimed again since */
    MORTISE_EALREADY_SETTLED = -24,    /* settled with another value, or
                                          abandoned */
    MORTISE_ENOT_RUNNING = -25,        /* no child is registered */
    MORTISE_EALREADY_REGISTERED = -26, /* the handle has another child, or
                                          the child another handle */
    MORTISE_ESTALE_ATTEMPT = -27 /* the child already makes another attempt */
};

/* The MORTISE_VERSION of the library in use, which may be later than the
 * header's.  Static.  [any] */
MORTISE_API const char *mortise_version(void);

/* "E_NOT_FOUND" for MORTISE_ENOTFOUND and so on; "E_UNKNOWN" for others.
 * Static.  [any] */
MORTISE_API const char *mortise_result_name(int result);

/* An error code and its message.  You own it; its size is fixed, so that
 * running out of memory can be reported and threads do not share messages. */
struct mortise_err {
    int code;       /* enum mortise_result */
    char msg[1020]; /* NUL-terminated UTF-8, one or more lines, no final \n */
};

/* The allocator: one function, as in Lua.  new_size 0 frees and returns NULL;
 * ptr NULL allocates.  It is called from any thread. */
struct mortise_mem {
    void *(*realloc)(void *ud, void *ptr, size_t old_size, size_t new_size);
    void *ud;
};

enum mortise_log_level {
    MORTISE_LOG_ERROR = 1,
    MORTISE_LOG_WARN = 2,
    MORTISE_LOG_INFO = 3,
    MORTISE_LOG_DEBUG = 4
};

/* [any]: also called from workers and the store thread. */
typedef void mortise_log_fn(void *ud, int level, const char *msg);

/* ---- engine ---------------------------------------------------------- */

struct mortise;       /* an engine: one store, its runs and plugins */
struct mortise_graph; /* a checked graph, immutable */

/* For mortise_options.flags. */
enum mortise_open_flag {
    /* The user did not name `deployment`: your program found it, beside a graph
     * or in the working directory.  Then mortise_open() returns MORTISE_EDENIED
     * if the file decides what code runs or who gets secrets, unless the user
     * allowed it with `mortise config allow`. */
    MORTISE_OPEN_FOUND = 1 << 0,
    /* Accept plugins and trust files that are older than those seen before.
     * The downgrade is recorded. */
    MORTISE_OPEN_ALLOW_DOWNGRADE = 1 << 1,
    /* Listen on the store's control socket while the engine is open.  Then
     * `mortise approve`, `mortise inbox` and other commands of this user work
     * at the same time (docs/control.md).  Without it, they report that the
     * store is busy. */
    MORTISE_OPEN_LISTEN = 1 << 2
};

struct mortise_options {
    uint32_t size;
    uint32_t flags;                /* of enum mortise_open_flag; 0: none */
    const char *deployment;        /* path of a Deployment file; NULL: none */
    const char *store;             /* overrides store.path; NULL: as deployed */
    const struct mortise_mem *mem; /* NULL: the C heap; lent until all
                                      engines and graphs are closed */
    mortise_log_fn *log;           /* NULL: silent */
    void *log_ud;
};

/* Open the store and read the plugins' manifests.  A missing store is created
 * with mode 0700.  The message of MORTISE_EBUSY names the pid that uses the
 * store. Interrupted runs stay as they are until a command resumes them. */
MORTISE_API int mortise_open(struct mortise **out,
                             const struct mortise_options *options,
                             struct mortise_err *err);

/* Cancel what is in flight, wait for it (at most 10 s), and close the store.
 * Runs stay resumable.  NULL is allowed. */
MORTISE_API void mortise_close(struct mortise *m);

/* Turn the loop: handle what is ready.  If nothing is, wait up to timeout_ms
 * milliseconds (-1: no limit, 0: do not wait).  Returns 1 while runs are live,
 * 0 if none is.
 *
 * Negative: a write to the store failed.  The live runs are dropped from
 * memory, because it is unknown what of them is on disk; every waiting call got
 * an error. If the store could be opened again, the error comes once: resume
 * the runs. Otherwise it comes from every call: close the engine. */
MORTISE_API int mortise_poll(struct mortise *m, int timeout_ms,
                             struct mortise_err *err);

/* For an event loop of your own (epoll or any other):
 *
 * 1. Wait until mortise_fd() is readable, but no longer than mortise_timeout():
 *    milliseconds, 0 if there is work already, -1 for no limit.
 * 2. Call mortise_poll(m, 0).
 *
 * The descriptor belongs to the engine and never changes.  Every call of this
 * API may change the timeout, so get it right before you wait. */
MORTISE_API int mortise_fd(struct mortise *m);
MORTISE_API int mortise_timeout(struct mortise *m);

/* Free a `char *` that this API returned.  [any] */
MORTISE_API void mortise_free(struct mortise *m, char *text);

/* ---- graphs and runs ------------------------------------------------- */

/* Read, check and compile a graph file, as `mortise check` does.  `*report`
 * (may be NULL) gets the findings as text, in the format of the command line.
 * It is set with MORTISE_ECHECK; with MORTISE_EDENIED if trust refuses a
 * plugin; and with MORTISE_OK if there are warnings. */
MORTISE_API int mortise_load(struct mortise *m, const char *path,
                             struct mortise_graph **out, char **report,
                             struct mortise_err *err);
/* Close a graph before mortise_close().  Its runs keep what they need.  NULL is
 * allowed. */
MORTISE_API void mortise_graph_close(struct mortise_graph *g);

/* One event, as NUL-terminated JSON text; `len` is without the NUL.  Lent until
 * you return.  Return nonzero to end the subscription. */
typedef int mortise_event_fn(void *ud, const char *json, size_t len);

struct mortise_start_options {
    uint32_t size;
    uint32_t flags;     /* 0 */
    const char *tenant; /* NULL: "default" */
    const char *run;    /* id, [A-Za-z0-9._][A-Za-z0-9._-]{0,127}; NULL: a new
                           UUIDv7 */
    const char *input;  /* JSON text; NULL: {} */
    const char *actor;  /* recorded as the starter: 1 to 255 bytes of UTF-8
                           without control characters; NULL: this uid */
    /* A subscription like mortise_events() with FOLLOW, from the very first
     * event on, including live ones.  Events may come before mortise_start()
     * returns.  A `size` that ends before this member is allowed. */
    mortise_event_fn *event; /* NULL: none */
    void *event_ud;
    uint64_t *event_id; /* set to the id for mortise_unsubscribe(), 0 if the
                           start fails; may be NULL */
};

#define MORTISE_RUN_MAX 129 /* a run id with its NUL */

/* Start a run.  Returns, and fills run_id, after the run is on disk.  It
 * proceeds while the loop turns. */
MORTISE_API int mortise_start(struct mortise *m, struct mortise_graph *g,
                              const struct mortise_start_options *start,
                              char run_id[MORTISE_RUN_MAX],
                              struct mortise_err *err);

/* Commands.  Later versions may add kinds. */
enum mortise_command_kind {
    MORTISE_CMD_RESUME = 1,       /* resume the run from its current state. A
                                     failed run tries again what failed. A
                                     completed or cancelled run runs nothing,
                                     but asks about its effects in doubt
                                     (MORTISE_OK; only a GOTO continues it) */
    MORTISE_CMD_UPDATE = 2,       /* json: {scratch?, artifacts?} */
    MORTISE_CMD_GOTO = 3,         /* node: replaces all current nodes */
    MORTISE_CMD_APPROVE_TOOL = 4, /* id, decision approve | reject, reason,
                                     json: edited args, digest */
    MORTISE_CMD_ANSWER = 5,       /* id, json: the answer */
    MORTISE_CMD_RESOLVE = 6,      /* id, decision done | retry | fail, json:
                                     the result for done. Done again, with a
                                     RESUME, corrects the result of a step */
    MORTISE_CMD_CANCEL = 7,       /* reason: end the run; after that only a
                                     GOTO continues it */
    MORTISE_CMD_PAUSE = 8,        /* reason: cancel calls that only read,
                                     wait at most 10 s for effects and cancel
                                     them then. The run stays paused until a
                                     RESUME, or an UPDATE or GOTO without
                                     MORTISE_NO_CONTINUE. Decisions are
                                     recorded meanwhile */
    MORTISE_CMD_LIMIT = 9,        /* json: {steps?: N, visits?: N}, each
                                     above the current limit: a run that a
                                     limit paused continues */
    MORTISE_CMD_BUDGET = 10,      /* json: {tool_calls?, wall?, model_calls?,
                                     input_tokens?, output_tokens?, tokens?,
                                     usd?: N or "+N"}, each above the current
                                     budget; wall in ms, usd a decimal of
                                     dollars (counted in whole nano-dollars).
                                     A run that waits for budget continues.
                                     node: the path of the subgraph that has
                                     the budget, NULL: the run */
    MORTISE_CMD_TELL = 11,        /* json: a text of at most 1 MiB. A model
                                     receives it with its next turn, as a
                                     user message. node: whose model, NULL:
                                     the next that is called */
    MORTISE_CMD_STEER = 12        /* json: a diff of the run's graph, a list
                                     of operations, or {source, path?}: the
                                     text of one (docs/steering.md). It
                                     changes what has not begun. All
                                     operations apply, or none:
                                     MORTISE_ECHECK with the findings as
                                     message */
};

#define MORTISE_CMD_MERGE    1u /* UPDATE through the reducers */
#define MORTISE_CMD_FORCE    2u /* GOTO past interrupt_before */
#define MORTISE_CMD_SHUTDOWN 4u /* PAUSE until `mortise engine` is started */

struct mortise_command {
    uint32_t size;
    uint32_t kind;        /* enum mortise_command_kind */
    uint32_t flags;       /* MORTISE_CMD_... for its kind; others are an
                             error */
    const char *id;       /* the full id of the open request: a decision is
                             valid for this request only */
    const char *decision; /* see the kinds */
    const char *reason;
    const char *digest; /* digest of the approved arguments; NULL: not
                           compared */
    const char *json;
    const char *node;
};

/* Only record the commands.  The run stays as it is until it is resumed, or
 * until a later decision continues it. */
#define MORTISE_NO_CONTINUE 1u
/* Continue with changed plugins and changed definitions of MCP tools.  This is
 * recorded, so later commands need not repeat it.  Their calls that wait for
 * approval are asked about again. */
#define MORTISE_ACCEPT_PLUGINS 2u

/* Apply commands to a run as one, in the order decisions, update, goto,
 * continue. All commands are validated before anything is recorded.  Returns
 * after their commit is on disk.  tenant NULL: "default"; actor as in
 * struct mortise_start_options.
 *
 * MORTISE_EINVAL     A command breaks its rules, or a text is not UTF-8.
 * MORTISE_EMISMATCH  The request is already settled.  The message says how and
 *                    by whom.
 * MORTISE_ESTATE     PAUSE or CANCEL of a run that has ended.
 * MORTISE_EINDOUBT   UPDATE or GOTO while an effect is in flight that must not
 *                    be repeated; nothing is stopped.  Otherwise both cancel
 *                    what is in flight first.
 * MORTISE_EBLOCKED   A plugin of the run is missing or has changed.
 * MORTISE_EDENIED    Trust refuses a plugin of the run.
 *
 * The last two do not apply if there are only decisions, without edited
 * arguments (the plugin has to check those).  The decisions are recorded and
 * nothing runs; mortise_show() has the reason.  When the plugin is back, the
 * next long-running engine continues the run, or a RESUME does. */
MORTISE_API int mortise_apply(struct mortise *m, const char *tenant,
                              const char *run,
                              const struct mortise_command *commands,
                              size_t n_commands, uint32_t flags,
                              const char *actor, struct mortise_err *err);

enum mortise_run_status {
    MORTISE_RUN_ACCEPTED = 1,
    MORTISE_RUN_RUNNING = 2,
    MORTISE_RUN_WAITING = 3, /* for a person or a timer */
    MORTISE_RUN_PAUSED = 4,
    MORTISE_RUN_IN_DOUBT = 5,
    MORTISE_RUN_BLOCKED = 6, /* its plugins are missing, changed, or crashed
                                the process; see mortise_show() */
    MORTISE_RUN_COMPLETED = 7,
    MORTISE_RUN_FAILED = 8,
    MORTISE_RUN_CANCELLED = 9
};

/* "waiting" and so on; static.  [any] */
MORTISE_API const char *mortise_run_status_name(int status);

/* Turn the loop until the run can do no more without a person: it ended, waits,
 * is paused, blocked or in doubt.  `*status` is its status. */
MORTISE_API int mortise_wait(struct mortise *m, const char *tenant,
                             const char *run, int *status,
                             struct mortise_err *err);

/* ---- spawn handles --------------------------------------------------- */

/* For programs that make children for a run themselves: a session, a process, a
 * job elsewhere.  A handle is a durable record of one call of the run that
 * makes a child.  Use it in this order:
 *
 * 1. Claim the handle. 2. Make the child and register it. 3. Send the child its
 * instructions, and advance the handle. 4. Settle the handle with the child's
 * result.
 *
 * After an interruption, claim again with the same names: the answer has the
 * progress so far.  So no child is lost, and none is made twice.
 *
 *   Threads    [loop], as all functions of an engine.  Other processes get
 *              MORTISE_EBUSY from mortise_open().  Plugins have the same
 *              functions as `spawn.claim/1` and so on (<mortise/ask.h>).
 *   Durable    Each function returns after its change is on disk, in one batch
 *              with the counters of `limits.spawn`.  After a crash the change
 *              was made completely or not at all.
 *   Tokens     Claiming an open handle replaces its token.  Every call with an
 *              older token is MORTISE_ESTALE_TOKEN: another claimer has taken
 *              over.
 *   Run's end  When the run ends, its open handles are abandoned, unless they
 *              are detached. */

enum mortise_spawn_outcome {
    MORTISE_SPAWN_CLAIMED = 1, /* the handle is new */
    /* It exists, without a child: make the child, or find it. */
    MORTISE_SPAWN_CLAIMED_PENDING_CHILD = 2,
    /* It is open and has a child: continue with it.  The child needs its
     * instructions only if `state` is before DISPATCHED. */
    MORTISE_SPAWN_ALREADY_RUNNING = 3,
    /* It is settled: only its result is left to read. */
    MORTISE_SPAWN_ALREADY_SETTLED = 4
};

/* It only increases. */
enum mortise_spawn_state {
    MORTISE_SPAWN_PENDING = 1,    /* claimed, no child registered */
    MORTISE_SPAWN_CREATED = 2,    /* a child is registered */
    MORTISE_SPAWN_DISPATCHED = 3, /* the child has its instructions */
    MORTISE_SPAWN_RUNNING = 4,    /* the child works */
    MORTISE_SPAWN_SETTLED = 5,
    MORTISE_SPAWN_ABANDONED = 6 /* never to be settled */
};

/* How the child ended. */
enum mortise_spawn_status {
    MORTISE_SPAWN_UNENDED = 0,
    MORTISE_SPAWN_COMPLETED = 1,
    MORTISE_SPAWN_FAILED = 2,
    MORTISE_SPAWN_CANCELLED = 3,
    MORTISE_SPAWN_TIMED_OUT = 4,
    MORTISE_SPAWN_MAX_ITERATIONS = 5,
    MORTISE_SPAWN_BUDGET = 6,
    MORTISE_SPAWN_GIVEN_UP = 7 /* "abandoned": of that state */
};

/* "claimed", "pending", "completed" and so on; static.  NULL for an unknown
 * number.  [any] */
MORTISE_API const char *mortise_spawn_outcome_name(int outcome);
MORTISE_API const char *mortise_spawn_state_name(int state);
MORTISE_API const char *mortise_spawn_status_name(int status);

#define MORTISE_SPAWN_HANDLE_MAX 162 /* including the NUL */
#define MORTISE_SPAWN_TEXT_MAX   129 /* of a token and of a child's id */

/* The handle stays open when its run ends, and counts as detached. */
#define MORTISE_SPAWN_DETACHED 1u

/* A claim: which call of which execution of which run, and its purpose.
 * tenant, run, execution and call identify the handle.  The same four with
 * another name, task or lifetime are MORTISE_EDETERMINISM.  Texts are UTF-8
 * without control characters, at most 128 bytes; `execution` at most 639. */
struct mortise_spawn_claim {
    uint32_t size;
    uint32_t flags;        /* MORTISE_SPAWN_DETACHED, or 0 */
    const char *tenant;    /* NULL: "default" */
    const char *run;       /* of this store, not ended */
    const char *execution; /* as in events: "1.0/node#1"; NULL: none */
    const char *call;      /* unique in the execution, the same in a replay */
    const char *name;      /* for people */
    const char *task;      /* JSON; NULL: null. The store keeps a digest */
    const char *token;     /* the handle's token; NULL: make one */
};

/* The answer to a claim; free terminal_result with mortise_free(). */
struct mortise_spawn_claimed {
    uint32_t size;
    uint32_t outcome;         /* enum mortise_spawn_outcome */
    uint32_t state;           /* enum mortise_spawn_state */
    uint32_t terminal_status; /* enum mortise_spawn_status */
    char handle[MORTISE_SPAWN_HANDLE_MAX];
    char token[MORTISE_SPAWN_TEXT_MAX]; /* "" if ALREADY_SETTLED */
    char child[MORTISE_SPAWN_TEXT_MAX]; /* "": none registered */
    char *terminal_result;              /* JSON; NULL: none. mortise_free() */
};

/* Claim a handle.  On any error, `out` is zero after its size.
 *
 *   MORTISE_ENOTFOUND     There is no such run.
 *   MORTISE_ESTATE        The run has ended.
 *   MORTISE_ELIMIT        A cap of `limits.spawn`, which the message names, is
 *                         reached; no handle is made.
 *   MORTISE_EDETERMINISM  The claim differs from an earlier one (see above). */
MORTISE_API int mortise_try_claim_spawn(struct mortise *m,
                                        const struct mortise_spawn_claim *claim,
                                        struct mortise_spawn_claimed *out,
                                        struct mortise_err *err);

/* Register the child: an id of less than MORTISE_SPAWN_TEXT_MAX bytes.  The
 * same child again is allowed.
 *
 *   MORTISE_ENOTFOUND            There is no such handle.
 *   MORTISE_ESTALE_TOKEN         The handle was claimed again since.
 *   MORTISE_EALREADY_REGISTERED  The handle has another child, or the child
 *                                another handle.
 *   MORTISE_EALREADY_SETTLED     The handle was abandoned. */
MORTISE_API int
mortise_register_child_session(struct mortise *m, const char *tenant,
                               const char *handle, const char *token,
                               const char *child, struct mortise_err *err);

/* Advance the handle to `state`, DISPATCHED or RUNNING; a later state stays as
 * it is.  MORTISE_ENOTFOUND, MORTISE_ESTALE_TOKEN, MORTISE_EALREADY_SETTLED;
 * MORTISE_ENOT_RUNNING: no child is registered. */
MORTISE_API int mortise_advance_spawn(struct mortise *m, const char *tenant,
                                      const char *handle, const char *token,
                                      int state, struct mortise_err *err);

/* Settle the handle: `status`, and the child's result, JSON of at most 1 MiB
 * (NULL: none).  The same two again are allowed, others are
 * MORTISE_EALREADY_SETTLED. MORTISE_ENOTFOUND, MORTISE_ESTALE_TOKEN;
 * MORTISE_ENOT_RUNNING: no child is registered. */
MORTISE_API int mortise_settle_spawn(struct mortise *m, const char *tenant,
                                     const char *handle, const char *token,
                                     int status, const char *result,
                                     struct mortise_err *err);

/* ---- reading --------------------------------------------------------- */

/* Read the store.  Each returns JSON text; docs/json.md (installed below
 * share/doc/mortise) describes the members.  `after`: NULL for the first page,
 * else the "next" of the previous page.  `limit` is the number of entries of a
 * page, at most 1000; 0 means 50. */
MORTISE_API int mortise_runs(struct mortise *m, const char *tenant,
                             const char *after, size_t limit, char **json,
                             struct mortise_err *err);
MORTISE_API int mortise_inbox(struct mortise *m, const char *tenant,
                              const char *after, size_t limit, char **json,
                              struct mortise_err *err);
MORTISE_API int mortise_show(struct mortise *m, const char *tenant,
                             const char *run, char **json,
                             struct mortise_err *err);
MORTISE_API int mortise_history(struct mortise *m, const char *tenant,
                                const char *run, char **json,
                                struct mortise_err *err);

#define MORTISE_EVENTS_FOLLOW 1u /* continue with live events */

/* Deliver the events of a run with seq > after, oldest first, before this call
 * returns.  With FOLLOW, mortise_poll() then delivers later events, each after
 * its commit.  Live events (without `seq`) that happen from now on come in
 * their place among them; they are not stored, so an unsubscribed program never
 * gets them.  If more than 64 MiB of events are pending, a `missed` event has
 * the number of those left out.  *id (may be NULL) gets the subscription's id.
 */
MORTISE_API int mortise_events(struct mortise *m, const char *tenant,
                               const char *run, uint64_t after, uint32_t flags,
                               mortise_event_fn *fn, void *ud, uint64_t *id,
                               struct mortise_err *err);
/* End a subscription: it gets no more events.  An id that has already ended is
 * allowed. */
MORTISE_API void mortise_unsubscribe(struct mortise *m, uint64_t id);

#ifdef __cplusplus
}
#endif
#endif
