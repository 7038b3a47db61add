/* mortise.h -- the embedding API: durable agent graphs in your own program.
 *
 * An engine (struct mortise) opens one store, loads and runs graphs, and
 * applies commands to runs.  The core of Mortise also uses this header for
 * result codes, the error struct and the allocator, so the header includes no
 * other header of Mortise.
 *
 * Threads    An engine belongs to the thread that opened it.  Call every
 *            function with a `struct mortise *` argument only from that thread
 *            ("[loop]").  Functions marked [any] may be called from any thread.
 *            Inside an event callback you may call only mortise_free() and
 *            mortise_unsubscribe().  Other functions return an error there;
 *            mortise_close() does nothing and writes a message to `log`.  One
 *            process may have several engines, each with its own thread and
 *            store.
 * Loop       The engine works only inside calls of this API, above all
 *            mortise_poll().  Call mortise_poll() in a loop, or from your event
 *            loop (mortise_fd()).  Other threads of the engine call only your
 *            `log` and `mem`.
 * Ownership  The library copies arguments before a call returns.  You own each
 *            `char *` that a function returns: free it with mortise_free().
 * Errors     A function returns 0 or a negative enum mortise_result.  On an
 *            error, it writes a message into the caller's struct mortise_err,
 *            unless this argument is NULL.  A successful call does not change
 *            the struct.
 * ABI        Each struct that you fill begins with `size`: set it to the sizeof
 *            of the struct.  Later versions add members only at the end.  A
 *            function returns MORTISE_EINVAL if a flag is unknown.
 * Process    The library installs no signal handler, prints only through `log`,
 *            and raises no SIGPIPE.  It never exits, except when a plugin
 *            leaves a process or thread of the engine (docs/embedding.md).  It makes no lasting change
 *            to the locale, signal mask, directory or environment.  Its
 *            threads block signals, except LevelDB's thread, which has the
 *            signal mask of the thread that started it.  Exec closes its
 *            descriptors.
 *            If a limit of file sizes is set (`ulimit -f`), ignore SIGXFSZ in
 *            your program.  A write over the limit then fails as on a full
 *            disk, instead of ending the process.
 *            After fork(), the child must not use the parent's engines, and
 *            must not close them; it should call exec or _exit.
 *            The library reads environment variables only in mortise_open():
 *            those in `${env:...}` of a deployment, the proxy variables,
 *            SSL_CERT_FILE and SSL_CERT_DIR.
 * Memory     A function that cannot allocate memory returns MORTISE_ENOMEM.
 *            The store uses LevelDB, which ends the process if it cannot
 *            allocate memory or start its thread.  So before each use of
 *            LevelDB, the engine tests whether the system can allocate 8 MiB
 *            and the default stack of a thread, or more for a large write.
 *            If other threads allocate the memory after the test, or if a
 *            stored value is larger than 2 MiB, LevelDB can still end the
 *            process (std::bad_alloc, std::system_error).  docs/embedding.md
 *            has the details. */
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

/* Results of functions. */
enum mortise_result {
    MORTISE_OK = 0,
    MORTISE_ENOMEM = -1,         /* out of memory */
    MORTISE_EIO = -2,            /* the disk or the system failed */
    MORTISE_EINVAL = -3,         /* invalid argument or input */
    MORTISE_ENOTFOUND = -4,      /* no such run, checkpoint or file */
    MORTISE_ECHECK = -5,         /* the file has errors; the report lists
                                    them */
    MORTISE_ECONFIG = -6,        /* the deployment has an error */
    MORTISE_EFORMAT = -7,        /* stored data has an unknown format */
    MORTISE_ECORRUPT = -8,       /* the store's content is damaged */
    MORTISE_EBUSY = -9,          /* another process uses the store */
    MORTISE_EDENIED = -10,       /* trust, permission or the actor's rights
                                    deny it */
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
    MORTISE_EDETERMINISM = -19,  /* a replay differs from the record */
    MORTISE_ELIMIT = -20,        /* a limit is reached, or no descriptor is
                                    free */
    MORTISE_ESTATE = -21,        /* not possible in the state of the run or
                                    store */
    MORTISE_ENOSPC = -22,        /* the disk is full */
    /* Results of the functions for spawn handles. */
    MORTISE_ESTALE_TOKEN = -23,        /* a later claim replaced it */
    MORTISE_EALREADY_SETTLED = -24,    /* the handle is settled with another
                                          value, or abandoned */
    MORTISE_ENOT_RUNNING = -25,        /* no child is registered */
    MORTISE_EALREADY_REGISTERED = -26, /* the handle has another child, or
                                          the child has another handle */
    MORTISE_ESTALE_ATTEMPT = -27       /* the child makes another attempt now */
};

/* Return the version of the library that is loaded, as text.  It may be later
 * than MORTISE_VERSION of this header.  Static.  [any] */
MORTISE_API const char *mortise_version(void);

/* Return the name of a result, such as "E_NOT_FOUND" for MORTISE_ENOTFOUND, or
 * "E_UNKNOWN" for an unknown number.  Static.  [any] */
MORTISE_API const char *mortise_result_name(int result);

/* An error code and its message.  You own the struct.  Its size is fixed, so
 * that the library can report a shortage of memory without allocating. */
struct mortise_err {
    int code;       /* enum mortise_result */
    char msg[1020]; /* NUL-terminated UTF-8, one or more lines, no final \n */
};

/* The allocator: one function, as in Lua.  If new_size is 0, it frees ptr and
 * returns NULL; if ptr is NULL, it allocates.  The library calls the function
 * from any thread. */
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
    /* The user did not name the `deployment`: your program found the file,
     * beside a graph or in the working directory.  If the file decides which
     * code runs or who gets secrets, mortise_open() returns MORTISE_EDENIED,
     * unless the user allowed the file with `mortise config allow`. */
    MORTISE_OPEN_FOUND = 1 << 0,
    /* Accept plugins and trust files that are older than those seen before.
     * The downgrade is recorded. */
    MORTISE_OPEN_ALLOW_DOWNGRADE = 1 << 1,
    /* Listen on the store's control socket while the engine is open.  Then
     * `mortise approve`, `mortise inbox` and other commands of this user work
     * at the same time (docs/control.md).  Without this flag, the commands
     * report that the store is busy. */
    MORTISE_OPEN_LISTEN = 1 << 2
};

struct mortise_options {
    uint32_t size;
    uint32_t flags;                /* of enum mortise_open_flag; 0: none */
    const char *deployment;        /* path of a Deployment file; NULL: none */
    const char *store;             /* overrides store.path; NULL: store.path */
    const struct mortise_mem *mem; /* NULL: the C heap; lent until all
                                      engines and graphs are closed */
    mortise_log_fn *log;           /* NULL: silent */
    void *log_ud;
};

/* Open the store and read the plugins' manifests.  If the store does not exist,
 * it is created with mode 0700.  The message of MORTISE_EBUSY has the pid of
 * the process that uses the store.  The engine does not continue an interrupted
 * run until a command resumes the run. */
MORTISE_API int mortise_open(struct mortise **out,
                             const struct mortise_options *options,
                             struct mortise_err *err);

/* Cancel all calls in flight, wait for them (at most 10 s), and close the
 * store.  You can resume the runs with the next engine.  NULL is allowed. */
MORTISE_API void mortise_close(struct mortise *m);

/* Let the engine process all work that is ready ("turn the loop").  If nothing
 * is ready, wait up to timeout_ms milliseconds for work (-1: no limit, 0: do
 * not wait).  Return 1 if the engine works on a run, or 0 if it works on none.
 *
 * A negative result means that a write to the store failed.  It is unknown
 * which records reached the disk, so the engine removes its runs from memory.
 * Every waiting call returns an error.  If the engine could open the store
 * again, it returns the error only once: resume the runs.  Otherwise every call
 * returns the error: close the engine. */
MORTISE_API int mortise_poll(struct mortise *m, int timeout_ms,
                             struct mortise_err *err);

/* For an event loop of your own (epoll or any other):
 *
 * 1. Wait until mortise_fd() is readable, but no longer than mortise_timeout():
 *    milliseconds, 0 if there is work already, -1 for no limit.
 * 2. Call mortise_poll(m, 0).
 *
 * The descriptor belongs to the engine and never changes.  Every call of this
 * API may change the timeout, so call mortise_timeout() directly before you
 * wait. */
MORTISE_API int mortise_fd(struct mortise *m);
MORTISE_API int mortise_timeout(struct mortise *m);

/* Free a `char *` that this API returned.  [any] */
MORTISE_API void mortise_free(struct mortise *m, char *text);

/* ---- graphs and runs ------------------------------------------------- */

/* Read, check and compile a graph file, as `mortise check` does.  If `report`
 * is not NULL, *report gets the errors and warnings as text, as the command
 * prints them.  The function sets it with MORTISE_ECHECK, with MORTISE_EDENIED
 * if trust refuses a plugin, and with MORTISE_OK if there are warnings. */
MORTISE_API int mortise_load(struct mortise *m, const char *path,
                             struct mortise_graph **out, char **report,
                             struct mortise_err *err);
/* Close a graph.  Do this before mortise_close().  Runs of the graph can
 * continue.  NULL is allowed. */
MORTISE_API void mortise_graph_close(struct mortise_graph *g);

/* The type of an event callback.  `json` is one event as NUL-terminated JSON
 * text; `len` does not count the NUL.  The text is valid until the callback
 * returns.  Return nonzero to end the subscription. */
typedef int mortise_event_fn(void *ud, const char *json, size_t len);

struct mortise_start_options {
    uint32_t size;
    uint32_t flags;     /* 0 */
    const char *tenant; /* NULL: "default" */
    const char *run;    /* id, [A-Za-z0-9._][A-Za-z0-9._-]{0,127}; NULL: a new
                           UUIDv7 */
    const char *input;  /* JSON text; NULL: {} */
    const char *actor;  /* who starts the run, for the record: 1 to 255 bytes
                           of UTF-8 without control characters; NULL: this
                           uid */
    /* Subscribe to all events of the run from the first on, including live
     * events, like mortise_events() with FOLLOW.  Events may arrive before
     * mortise_start() returns.  `size` may end before this member, if you need
     * no subscription. */
    mortise_event_fn *event; /* NULL: none */
    void *event_ud;
    uint64_t *event_id; /* set to the id for mortise_unsubscribe(), 0 if the
                           start fails; may be NULL */
};

#define MORTISE_RUN_MAX 129 /* a run id with its NUL */

/* Start a run.  The function returns, and fills run_id, after the start of the
 * run is on disk.  The run then makes progress during calls of
 * mortise_poll(). */
MORTISE_API int mortise_start(struct mortise *m, struct mortise_graph *g,
                              const struct mortise_start_options *start,
                              char run_id[MORTISE_RUN_MAX],
                              struct mortise_err *err);

/* Commands.  Later versions may add kinds. */
enum mortise_command_kind {
    MORTISE_CMD_RESUME = 1,       /* continue the run from its current state.
                                     A failed run tries its failed nodes
                                     again. A completed or cancelled run
                                     continues no node (only a GOTO does
                                     that), but asks about its effects in
                                     doubt. Returns MORTISE_OK */
    MORTISE_CMD_UPDATE = 2,       /* json: {scratch?, artifacts?} */
    MORTISE_CMD_GOTO = 3,         /* node: continue at this node instead of
                                     the current nodes */
    MORTISE_CMD_APPROVE_TOOL = 4, /* id, decision approve | reject, reason,
                                     json: edited args, digest */
    MORTISE_CMD_ANSWER = 5,       /* id, json: the answer */
    MORTISE_CMD_RESOLVE = 6,      /* id, decision done | retry | fail, json:
                                     the result, for done. If a result was
                                     wrong, a second done, with a RESUME,
                                     corrects it */
    MORTISE_CMD_CANCEL = 7,       /* reason: end the run; after that, only a
                                     GOTO can continue the run */
    MORTISE_CMD_PAUSE = 8,        /* reason: cancel calls that only read;
                                     wait at most 10 s for effects, then
                                     cancel them too. The run stays paused
                                     until a RESUME, or an UPDATE or GOTO
                                     without MORTISE_NO_CONTINUE. A paused
                                     run still records decisions */
    MORTISE_CMD_LIMIT = 9,        /* json: {steps?: N, visits?: N}: new
                                     limits, each higher than the current
                                     one. If the run is paused at a limit,
                                     it continues */
    MORTISE_CMD_BUDGET = 10,      /* json: {tool_calls?, wall?, model_calls?,
                                     input_tokens?, output_tokens?, tokens?,
                                     usd?: N or "+N"}: new limits, each
                                     higher than the current one. wall is in
                                     ms, usd a decimal number of dollars (in
                                     steps of a nano-dollar). If the run is
                                     paused at its budget, it continues.
                                     node: the path of the subgraph that has
                                     the budget; NULL: the run's budget */
    MORTISE_CMD_TELL = 11,        /* json: a text of at most 1 MiB. A model
                                     receives the text with its next call,
                                     as a user message. node: the node whose
                                     model receives it; NULL: the next model
                                     that the run calls */
    MORTISE_CMD_STEER = 12        /* change the parts of the run's graph that
                                     have not begun. json: a diff, which is
                                     a list of operations, or {source,
                                     path?}: the text of a diff
                                     (docs/steering.md). If the new graph
                                     has errors, no operation is applied:
                                     MORTISE_ECHECK, with the errors in the
                                     message */
};

#define MORTISE_CMD_MERGE    1u /* UPDATE through the reducers */
#define MORTISE_CMD_FORCE    2u /* GOTO past interrupt_before */
#define MORTISE_CMD_SHUTDOWN 4u /* PAUSE until `mortise engine` is started */

struct mortise_command {
    uint32_t size;
    uint32_t kind;        /* enum mortise_command_kind */
    uint32_t flags;       /* the MORTISE_CMD_... flags of this kind; another
                             flag is MORTISE_EINVAL */
    const char *id;       /* the full id of an open request: the decision is
                             valid only for this request */
    const char *decision; /* see the kinds */
    const char *reason;
    const char *digest; /* digest of the arguments that the person approves;
                           NULL: approve the current arguments */
    const char *json;
    const char *node;
};

/* Record the commands, but do not continue the run: a RESUME or a later
 * decision continues it. */
#define MORTISE_NO_CONTINUE 1u
/* Continue the run with plugins, or definitions of MCP tools, that have changed
 * since the run began.  The run records this, so later commands need not set
 * the flag again.  If a call of a changed tool waits for an approval, the
 * person is asked again. */
#define MORTISE_ACCEPT_PLUGINS 2u

/* Apply a list of commands to a run: all of them, or none.  The function
 * validates all commands before it records the first.  It applies decisions
 * first, then UPDATE, then GOTO, then continues the run.  It returns after the
 * commit of the commands is on disk.  tenant NULL: "default"; actor as in
 * struct mortise_start_options.
 *
 * MORTISE_EINVAL     A command is invalid, or a text is not UTF-8.
 * MORTISE_EMISMATCH  The request is already settled.  The message says how and
 *                    by whom.
 * MORTISE_ESTATE     PAUSE or CANCEL of a run that has ended.
 * MORTISE_EINDOUBT   UPDATE or GOTO while an effect is in flight that must not
 *                    be repeated; no call is stopped.  (If no such effect is
 *                    in flight, UPDATE and GOTO first cancel all calls.)
 * MORTISE_EBLOCKED   A plugin of the run is missing or has changed.
 * MORTISE_EDENIED    Trust refuses a plugin of the run.
 *
 * If the list has only decisions without edited arguments, the last two errors
 * do not occur, because no plugin has to check the arguments.  The decisions
 * are recorded, the run does not continue, and mortise_show() has the reason.
 * When the plugin can be loaded again, the next long-running engine or a RESUME
 * continues the run. */
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
    MORTISE_RUN_BLOCKED = 6, /* a plugin is missing, has changed, or crashed
                                the process: see mortise_show() */
    MORTISE_RUN_COMPLETED = 7,
    MORTISE_RUN_FAILED = 8,
    MORTISE_RUN_CANCELLED = 9
};

/* Return the name of a status, such as "waiting"; static.  [any] */
MORTISE_API const char *mortise_run_status_name(int status);

/* Turn the loop until the run has ended, or cannot continue without a person:
 * it waits, is paused, blocked or in doubt.  Set *status to the run's
 * status. */
MORTISE_API int mortise_wait(struct mortise *m, const char *tenant,
                             const char *run, int *status,
                             struct mortise_err *err);

/* ---- spawn handles --------------------------------------------------- */

/* For programs that start children for a run themselves, such as a session, a
 * process, or a job on another machine.  A handle is a durable record of a
 * child.  Use a handle in this order:
 *
 * 1. Claim the handle.
 * 2. Make the child, and register the child with the handle.
 * 3. Send the child its instructions, and advance the handle.
 * 4. Settle the handle with the child's result.
 *
 * After an interruption, claim the handle again with the same names: the answer
 * contains the progress so far.  So no child is lost, and none is made twice.
 *
 *   Threads    [loop], as all functions of an engine.  Plugins have the same
 *              functions as `spawn.claim/1` and so on (<mortise/ask.h>).
 *   Durable    Each function returns after its change is on disk, in one batch
 *              with the counters of `limits.spawn`.  If the process crashes
 *              before, the change was made completely or not at all.
 *   Tokens     If you claim an open handle again, its token changes.  A call
 *              with the older token then returns MORTISE_ESTALE_TOKEN, so that
 *              only the last claimer can change the handle.
 *   Run's end  When the run ends, the engine abandons its open handles, unless
 *              they are detached. */

enum mortise_spawn_outcome {
    MORTISE_SPAWN_CLAIMED = 1, /* the handle is new */
    /* The handle exists, but has no child: make the child, or find it. */
    MORTISE_SPAWN_CLAIMED_PENDING_CHILD = 2,
    /* The handle is open and has a child: continue with this child.  Send it
     * its instructions only if `state` is before DISPATCHED. */
    MORTISE_SPAWN_ALREADY_RUNNING = 3,
    /* The handle is settled: read its result. */
    MORTISE_SPAWN_ALREADY_SETTLED = 4
};

/* The state of a handle.  It never decreases. */
enum mortise_spawn_state {
    MORTISE_SPAWN_PENDING = 1,    /* claimed, no child registered */
    MORTISE_SPAWN_CREATED = 2,    /* a child is registered */
    MORTISE_SPAWN_DISPATCHED = 3, /* the child has its instructions */
    MORTISE_SPAWN_RUNNING = 4,    /* the child works */
    MORTISE_SPAWN_SETTLED = 5,
    MORTISE_SPAWN_ABANDONED = 6 /* cannot be settled any more */
};

/* The result status of a child. */
enum mortise_spawn_status {
    MORTISE_SPAWN_UNENDED = 0,
    MORTISE_SPAWN_COMPLETED = 1,
    MORTISE_SPAWN_FAILED = 2,
    MORTISE_SPAWN_CANCELLED = 3,
    MORTISE_SPAWN_TIMED_OUT = 4,
    MORTISE_SPAWN_MAX_ITERATIONS = 5,
    MORTISE_SPAWN_BUDGET = 6,
    MORTISE_SPAWN_GIVEN_UP = 7 /* "abandoned": the handle is in that state */
};

/* Return the name of an outcome, state or status, such as "claimed", or NULL
 * for an unknown number; static.  [any] */
MORTISE_API const char *mortise_spawn_outcome_name(int outcome);
MORTISE_API const char *mortise_spawn_state_name(int state);
MORTISE_API const char *mortise_spawn_status_name(int status);

#define MORTISE_SPAWN_HANDLE_MAX 162 /* including the NUL */
#define MORTISE_SPAWN_TEXT_MAX   129 /* of a token and of a child's id */

/* The handle stays open when its run ends, and counts as detached. */
#define MORTISE_SPAWN_DETACHED 1u

/* A claim of a handle.  The members tenant, run, execution and call identify
 * the handle.  If a later claim has the same four, but another name, task or
 * MORTISE_SPAWN_DETACHED, it returns MORTISE_EDETERMINISM.  Texts are UTF-8
 * without control characters, at most 128 bytes; `execution` at most 639. */
struct mortise_spawn_claim {
    uint32_t size;
    uint32_t flags;        /* MORTISE_SPAWN_DETACHED, or 0 */
    const char *tenant;    /* NULL: "default" */
    const char *run;       /* of this store, not ended */
    const char *execution; /* as in events: "1.0/node#1"; NULL: none */
    const char *call;      /* a name, unique in the execution, and the same
                              when the execution is repeated */
    const char *name;      /* for people */
    const char *task;      /* JSON; NULL: null. Only its digest is stored */
    const char *token;     /* the handle's token; NULL: make one */
};

/* The answer to a claim.  Free terminal_result with mortise_free(). */
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

/* Claim a handle.  On an error, all members of `out` but `size` are zero.
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

/* Register a child with its handle.  `child` is an id of less than
 * MORTISE_SPAWN_TEXT_MAX bytes.  You may register the same child again.
 *
 *   MORTISE_ENOTFOUND            There is no such handle.
 *   MORTISE_ESTALE_TOKEN         A later claim replaced the token.
 *   MORTISE_EALREADY_REGISTERED  The handle has another child, or the child
 *                                has another handle.
 *   MORTISE_EALREADY_SETTLED     The handle was abandoned. */
MORTISE_API int
mortise_register_child_session(struct mortise *m, const char *tenant,
                               const char *handle, const char *token,
                               const char *child, struct mortise_err *err);

/* Advance the handle to `state`, DISPATCHED or RUNNING.  If the handle has
 * reached a later state, this changes nothing.  Errors: MORTISE_ENOTFOUND,
 * MORTISE_ESTALE_TOKEN, MORTISE_EALREADY_SETTLED; MORTISE_ENOT_RUNNING: no
 * child is registered. */
MORTISE_API int mortise_advance_spawn(struct mortise *m, const char *tenant,
                                      const char *handle, const char *token,
                                      int state, struct mortise_err *err);

/* Settle the handle with the child's `status` and `result`, JSON of at most 1
 * MiB (NULL: none).  You may settle it again with the same two values; other
 * values are MORTISE_EALREADY_SETTLED.  Other errors: MORTISE_ENOTFOUND,
 * MORTISE_ESTALE_TOKEN; MORTISE_ENOT_RUNNING: no child is registered. */
MORTISE_API int mortise_settle_spawn(struct mortise *m, const char *tenant,
                                     const char *handle, const char *token,
                                     int status, const char *result,
                                     struct mortise_err *err);

/* ---- reading --------------------------------------------------------- */

/* Read the store.  Each function sets *json to a JSON text; docs/json.md
 * (installed below share/doc/mortise) describes the members.  `after` is NULL
 * for the first page, or the "next" of the previous page.  `limit` is the
 * maximum number of entries in a page, up to 1000; 0 means 50. */
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

/* Deliver the stored events of a run with seq > after, oldest first, before
 * this call returns.  With FOLLOW, mortise_poll() then delivers later events,
 * each after its commit.  It also delivers live events (without `seq`), in
 * order with the others.  Live events are not stored, so you get only those
 * that happen while you are subscribed.  If more than 64 MiB of events are
 * pending, live events are dropped, and a `missed` event has their number.  If
 * id is not NULL, *id is set to the id of the subscription. */
MORTISE_API int mortise_events(struct mortise *m, const char *tenant,
                               const char *run, uint64_t after, uint32_t flags,
                               mortise_event_fn *fn, void *ud, uint64_t *id,
                               struct mortise_err *err);
/* End a subscription: its callback gets no more events.  If the subscription
 * has already ended, this does nothing. */
MORTISE_API void mortise_unsubscribe(struct mortise *m, uint64_t id);

#ifdef __cplusplus
}
#endif
#endif
